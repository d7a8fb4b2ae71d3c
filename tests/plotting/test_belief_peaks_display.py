import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import make_blobs

from evlearn.cluster import BeliefPeaks, belief_peaks
from evlearn.datasets import make_fourclass
from evlearn.plotting import BeliefPeaksDisplay
from evlearn.plotting.palette import cluster_color


@pytest.fixture
def graph():
    return belief_peaks(make_fourclass(400, random_state=0)[0], n_neighbors=50)


def boxes(display):
    """Return the boxes of the numbers of the peaks, in pixels."""
    display.figure_.canvas.draw()
    renderer = display.figure_.canvas.get_renderer()
    return [label.get_window_extent(renderer) for label in display.labels_]


def test_every_peak_has_a_colored_mark_and_a_number_that_points_at_it(graph):
    display = BeliefPeaksDisplay.from_delta_bel(graph)
    display.figure_.canvas.draw()
    assert len(display.peak_points_) == len(display.labels_) == 4
    for number, (peak, mark, label) in enumerate(
        zip(graph.peaks(), display.peak_points_, display.labels_, strict=True)
    ):
        place = (graph.bel[peak], graph.delta[peak])
        np.testing.assert_array_equal(mark.get_offsets(), [place])
        np.testing.assert_allclose(mark.get_facecolor()[0], plt.matplotlib.colors.to_rgba(cluster_color(number)))
        assert label.get_text() == str(number)
        assert label.xy == place
        assert label.arrow_patch is not None
        assert mark in display.ax_.collections
        assert label in display.ax_.texts


def test_all_other_samples_are_gray_points(graph):
    display = BeliefPeaksDisplay.from_delta_bel(graph)
    others = np.setdiff1d(np.arange(400), graph.peaks())
    np.testing.assert_array_equal(display.drawn_, others)
    np.testing.assert_array_equal(
        display.points_.get_offsets(), np.column_stack([graph.bel[others], graph.delta[others]])
    )
    red, green, blue, _ = display.points_.get_facecolor()[0]
    assert red == green == blue


def test_axes_and_title_say_what_is_seen(graph):
    display = BeliefPeaksDisplay.from_delta_bel(graph)
    assert "Bel" in display.ax_.get_xlabel()
    assert "δ" in display.ax_.get_ylabel()
    assert display.ax_.get_title() == "δ-Bel graph: 4 peaks marked among 400 samples"
    single = BeliefPeaksDisplay.from_delta_bel(graph, n_peaks=1)
    assert single.ax_.get_title() == "δ-Bel graph: 1 peak marked among 400 samples"


def test_all_samples_and_numbers_are_inside_the_axes(graph):
    display = BeliefPeaksDisplay.from_delta_bel(graph)
    (left, right), (bottom, top) = display.ax_.get_xlim(), display.ax_.get_ylim()
    assert left < graph.bel.min()
    assert graph.bel.max() < right
    assert bottom < 0
    assert graph.delta.max() < top
    frame = display.ax_.get_window_extent()
    for box in boxes(display):
        assert frame.x0 <= box.x0 <= box.x1 <= frame.x1
        assert frame.y0 <= box.y0 <= box.y1 <= frame.y1


@pytest.mark.parametrize("n_peaks", [2, 4, 12, 25, 26, 50, 60])
def test_numbers_do_not_cover_each_other(n_peaks):
    # Worst case: all peaks coincide.
    bel, delta = np.linspace(0.1, 0.5, 200), np.full(200, 0.1)
    delta[-n_peaks:] = 3
    graph = BeliefPeaks(bel, delta, 10)
    for ax in (None, plt.subplots()[1]):
        display = BeliefPeaksDisplay.from_delta_bel(graph, n_peaks=n_peaks, ax=ax)
        assert len(display.peak_points_) == n_peaks
        texts = [label.get_text() for label in display.labels_]
        assert texts == [str(number) for number in range(min(n_peaks, 50))]
        places = [(label.xyann, label.get_fontsize()) for label in display.labels_]
        height = display.ax_.get_window_extent().height / display.figure_.dpi * 72
        for number, ((x, y), size) in enumerate(places):
            assert 0 < y < 1
            for (other_x, other_y), _ in places[:number]:
                # The height of digits is about 75 % of the font size.
                assert x != other_x or abs(y - other_y) * height > 0.75 * size


def test_a_number_stands_at_the_height_of_its_peak_where_there_is_room(graph):
    X, _ = make_blobs(200, centers=[(0, 0), (9, 0), (0, 25)], cluster_std=0.5, random_state=0)
    display = BeliefPeaksDisplay.from_data(X)
    display.figure_.canvas.draw()
    low, high = display.ax_.get_ylim()
    heights = [label.xyann[1] for label in display.labels_]
    targets = (display.delta[display.peaks] - low) / (high - low)
    assert len(heights) == 3
    assert heights[2] == pytest.approx(targets[2])
    assert sorted(heights, reverse=True) == heights


def test_thresholds_are_drawn_and_select_the_peaks(graph):
    display = BeliefPeaksDisplay.from_delta_bel(graph, min_bel=0.3, min_delta=1)
    vertical, horizontal = display.threshold_lines_
    assert set(vertical.get_xdata()) == {0.3}
    assert set(horizontal.get_ydata()) == {1}
    np.testing.assert_array_equal(display.peaks, graph.peaks(min_bel=0.3, min_delta=1))
    assert BeliefPeaksDisplay.from_delta_bel(graph).threshold_lines_ == []


def test_from_data_draws_the_graph_of_the_data():
    X, _ = make_fourclass(100, random_state=1)
    display = BeliefPeaksDisplay.from_data(X, n_neighbors=20, q=0.5, metric="manhattan", n_peaks=5)
    graph = belief_peaks(X, n_neighbors=20, q=0.5, metric="manhattan")
    np.testing.assert_array_equal(display.bel, graph.bel)
    np.testing.assert_array_equal(display.delta, graph.delta)
    np.testing.assert_array_equal(display.peaks, graph.peaks(n_peaks=5))


@pytest.mark.slow
def test_of_very_many_samples_those_that_stand_out_are_drawn_and_a_sample_of_the_rest():
    random = np.random.default_rng(0)
    graph = BeliefPeaks(random.random(1_000_000), random.exponential(size=1_000_000), 100)
    display = BeliefPeaksDisplay.from_delta_bel(graph, n_peaks=3, max_points=1000)
    assert len(display.drawn_) == len(set(display.drawn_)) == 1000
    farthest = np.argsort(-graph.delta)[:500]
    assert np.isin(farthest, np.append(display.drawn_, display.peaks)).all()
    assert not np.isin(display.peaks, display.drawn_).any()
    assert display.ax_.get_title().endswith("\nA subset: 1,000 of 999,997 other samples")
    redrawn = display.plot(max_points=1000)
    np.testing.assert_array_equal(redrawn.drawn_, display.drawn_)


def test_objects_that_all_coincide_can_be_drawn():
    display = BeliefPeaksDisplay.from_data(np.ones((20, 2)))
    display.figure_.canvas.draw()
    assert len(display.labels_) == 1


def test_the_graph_can_be_drawn_again_on_given_axes(graph):
    figure, ax = plt.subplots()
    display = BeliefPeaksDisplay.from_delta_bel(graph)
    assert display.plot(ax=ax) is display
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert len(ax.texts) == 4


def test_invalid_input_is_explained(graph):
    with pytest.raises(TypeError, match=r"graph must be the result of belief_peaks.*, got ndarray; use from_data"):
        BeliefPeaksDisplay.from_delta_bel(np.ones((3, 2)))
    with pytest.raises(ValueError, match="max_points must be a whole number of at least 1, got 0"):
        BeliefPeaksDisplay.from_delta_bel(graph, max_points=0)
