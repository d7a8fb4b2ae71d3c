import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evlearn import CredalPartition
from evlearn.metrics import consistency_index, nonspecificity_index
from evlearn.plotting import ComparisonDisplay

TRUTH = [0, 0, 0, 1, 1, 1]
PARTITIONS = {
    "hard": [0, 0, 1, 1, 1, 1],
    "worse": [0, 1, 1, 1, 1, 0],
    "rough": CredalPartition.from_rough([[1, 0], [1, 0], [1, 1], [0, 1], [0, 1], [0, 1]]),
    "open": CredalPartition.from_rough([[1, 1]] * 6),
}


def draw(display):
    display.figure_.canvas.draw()
    return display


def offsets(points):
    return np.asarray(points.get_offsets()).reshape(-1, 2)


def test_points_are_at_the_indices_of_the_partitions():
    display = draw(ComparisonDisplay.from_partitions(PARTITIONS, TRUTH))
    expected = {
        name: (nonspecificity_index(partition), consistency_index(partition, TRUTH))
        for name, partition in PARTITIONS.items()
    }
    assert display.names == list(PARTITIONS)
    # The rough partition is as consistent as the vacuous one, and more specific.
    assert display.dominated_.tolist() == [False, True, False, True]
    np.testing.assert_allclose(offsets(display.points_), [expected["hard"], expected["rough"]])
    np.testing.assert_allclose(offsets(display.dominated_points_), [expected["worse"], expected["open"]])
    assert display.ax_.get_xlabel().startswith("nonspecificity")
    assert display.ax_.get_ylabel().startswith("consistency")


def test_points_have_their_names_and_marks_a_legend():
    display = draw(ComparisonDisplay.from_partitions(PARTITIONS, TRUTH))
    assert [label.get_text() for label in display.labels_] == list(PARTITIONS)
    for label, x, y in zip(display.labels_, display.nonspecificities, display.consistencies, strict=True):
        assert label.xy == (x, y)
        assert label in display.ax_.texts
    assert [text.get_text() for text in display.legend_.get_texts()] == ["not dominated", "dominated"]
    assert ComparisonDisplay.from_partitions(PARTITIONS, TRUTH, legend=False).legend_ is None
    single = ComparisonDisplay.from_partitions({"one": TRUTH}, TRUTH)
    assert [text.get_text() for text in single.legend_.get_texts()] == ["not dominated"]


def test_a_step_line_connects_the_points_that_are_not_dominated():
    display = draw(ComparisonDisplay.from_partitions(PARTITIONS, TRUTH))
    line = display.front_.get_xydata()
    np.testing.assert_allclose(line[1:-1], offsets(display.points_))
    assert display.front_.get_drawstyle() == "steps-post"
    assert line[-1, 0] == display.ax_.get_xlim()[1]


def test_dominated_points_are_hollow():
    display = draw(ComparisonDisplay.from_partitions(PARTITIONS, TRUTH))
    assert display.points_.get_facecolor()[0].tolist() != [1, 1, 1, 1]
    assert display.dominated_points_.get_facecolor()[0].tolist() == [1, 1, 1, 1]


def test_names_do_not_overlap():
    random = np.random.default_rng(0)
    display = draw(
        ComparisonDisplay(
            names=[f"partition {number}" for number in range(12)],
            nonspecificities=random.random(12),
            consistencies=random.random(12),
        ).plot()
    )
    boxes = [label.get_window_extent() for label in display.labels_]
    assert not any(box.overlaps(other) for place, box in enumerate(boxes) for other in boxes[:place])


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12))
@pytest.mark.slow
def test_a_partition_is_dominated_if_another_one_is_better(points):
    x, y = np.array(points, dtype=float).T
    display = ComparisonDisplay(names=[""] * len(x), nonspecificities=x, consistencies=y)
    for index, (left, up) in enumerate(points):
        better = [a <= left and b >= up and (a, b) != (left, up) for a, b in points]
        assert display.dominated_[index] == any(better)


def test_the_reference_may_be_a_credal_partition():
    reference = PARTITIONS["rough"]
    display = ComparisonDisplay.from_partitions({"hard": PARTITIONS["hard"]}, reference)
    assert display.consistencies[0] == consistency_index(PARTITIONS["hard"], reference)


def test_the_plot_can_be_drawn_again_on_given_axes():
    figure, ax = plt.subplots()
    display = ComparisonDisplay.from_partitions(PARTITIONS, TRUTH)
    assert display.plot(ax) is display
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert display.legend_ is not None


@pytest.mark.parametrize(
    ("partitions", "message"),
    [
        ([TRUTH], "partitions must be a dictionary of partitions by name.*got list"),
        ({}, "got dict without entries"),
        ({"short": [0, 1]}, "the partition 'short' cannot be compared with the reference"),
    ],
)
def test_invalid_partitions_are_explained(partitions, message):
    with pytest.raises(ValueError, match=message):
        ComparisonDisplay.from_partitions(partitions, TRUTH)
