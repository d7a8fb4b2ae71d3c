import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.colors import to_rgb
from sklearn.datasets import load_iris

from evlearn import CredalPartition
from evlearn.belief import FocalSets
from evlearn.cluster import ECM, EVCLUS
from evlearn.datasets import load_butterfly, make_fourclass
from evlearn.plotting import MassContourDisplay, palette


class Ramp:
    """Estimator with cluster 0 on the left, cluster 1 on the right, Ω between them, and constant empty mass."""

    def predict_mass(self, X):
        self.asked = X
        x = np.asarray(X, dtype=float)[:, 0]
        right = np.clip(x, 0, 1)
        masses = np.column_stack([0.1 + 0 * x, 0.8 * (1 - right), 0.8 * right, 0.1 + 0 * x])
        return CredalPartition(masses, FocalSets.full(["left", "right"]))


SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 2.0]])


def draw(display):
    display.figure_.canvas.draw()
    return display


def corners(lines, level=0):
    return np.vstack([path.vertices for path in lines.get_paths()[level : level + 1]])


def entries(display):
    return [text.get_text() for text in display.legend_.get_texts()]


def test_contour_lines_follow_the_plausibility():
    display = draw(MassContourDisplay.from_estimator(Ramp(), SQUARE, eps=0, levels=[0.3, 0.5]))
    left, right = display.contours_
    # The plausibility of the left cluster is 0.9 - 0.8 x.
    np.testing.assert_array_equal(left.levels, [0.3, 0.5])
    np.testing.assert_allclose(corners(left, 0)[:, 0], 0.75, atol=1e-6)
    np.testing.assert_allclose(corners(left, 1)[:, 0], 0.5, atol=1e-6)
    np.testing.assert_allclose(corners(right, 0)[:, 0], 0.25, atol=1e-6)
    assert [to_rgb(artist.get_edgecolor()[0]) for artist in display.contours_] == [
        palette.cluster_shade(0),
        palette.cluster_shade(1),
    ]
    single = draw(MassContourDisplay.from_estimator(Ramp(), SQUARE, eps=0, sets=["left"], levels=[0.3, 0.5]))
    assert {text.get_text() for text in single.contours_[0].labelTexts} == {"0.3", "0.5"}
    assert display.ax_.get_title() == "plausibility of each cluster"


def test_lines_of_mass_are_those_of_the_chosen_sets_in_their_order():
    display = draw(MassContourDisplay.from_estimator(Ramp(), SQUARE, of="mass", sets=["right", ()], levels=[0.4]))
    right, empty = display.contours_
    np.testing.assert_allclose(corners(right)[:, 0], 0.5, atol=0.01)
    assert empty is None  # constant 0.1
    assert display.set_labels == ["{right}", "∅"]
    assert display.ax_.get_title() == "mass of {right}, ∅"
    assert entries(display) == ["left", "right", "no line: ∅", "decision boundary"]


def test_the_boundary_is_where_another_cluster_becomes_the_most_plausible():
    display = draw(MassContourDisplay.from_estimator(Ramp(), SQUARE))
    for boundary in display.boundaries_:
        np.testing.assert_allclose(corners(boundary)[:, 0], 0.5, atol=1e-6)
        assert np.ptp(corners(boundary)[:, 1]) == pytest.approx(2.4)  # spans the whole plot
    assert "decision boundary" in entries(display)


def test_the_boundary_separates_samples_of_different_clusters():
    X, _ = make_fourclass(200, random_state=0)
    model = ECM(n_clusters=4, random_state=0).fit(X)
    display = draw(MassContourDisplay.from_estimator(model, X))
    assert all(boundary is not None for boundary in display.boundaries_)
    winners = display.plausibilities.argmax(axis=0)
    for cluster, points in enumerate(display.points_):
        for x, y in points.get_offsets()[:5]:
            column, row = np.abs(display.x - x).argmin(), np.abs(display.y - y).argmin()
            assert cluster in winners[max(0, row - 1) : row + 2, max(0, column - 1) : column + 2]


def test_samples_are_drawn_with_color_and_marker_of_their_cluster():
    display = draw(MassContourDisplay.from_estimator(Ramp(), SQUARE))
    left, right = (np.asarray(artist.get_offsets()).tolist() for artist in display.points_)
    assert left == [[0, 0], [0, 2]]
    assert right == [[1, 0], [1, 2]]
    assert to_rgb(display.points_[1].get_facecolor()[0]) == to_rgb(palette.cluster_color(1))


def test_all_kinds_of_sets_are_in_the_legend():
    X = load_butterfly().data
    model = ECM(n_clusters=2, alpha=1, beta=2, random_state=0).fit(X)
    display = draw(MassContourDisplay.from_estimator(model, X, of="mass", levels=[0.1, 0.5]))
    assert display.set_labels == ["∅", "{0}", "{1}", "Ω"]
    assert all(lines is not None for lines in display.contours_)
    assert entries(display) == ["0", "1", "∅", "Ω", "decision boundary"]
    assert display.legend_.get_title().get_text() == "cluster"
    assert to_rgb(display.contours_[0].get_edgecolor()[0]) == to_rgb("black")
    assert MassContourDisplay.from_estimator(model, X, legend=False).legend_ is None


def test_bands_have_the_colors_of_their_clusters_which_mix_where_both_are_plausible():
    class Separated:
        """Estimator whose left cluster is plausible up to 0.6, the right one from 0.4."""

        def predict_mass(self, X):
            x = np.asarray(X)[:, 0]
            masses = np.zeros((len(x), 4))
            masses[np.arange(len(x)), np.select([x < 0.4, x > 0.6], [1, 2], 3)] = 1
            return CredalPartition(masses, FocalSets.full(2))

    display = draw(MassContourDisplay.from_estimator(Separated(), SQUARE, eps=0, max_points=0, levels=[0.5]))
    shade = display.shade_.get_array()
    tints = [1 - 0.6 * (1 - np.array(to_rgb(palette.cluster_color(cluster)))) for cluster in range(2)]
    across = shade[shade.shape[0] // 2, [20, 200, 380]]
    np.testing.assert_allclose(across, [tints[0], tints[0] * tints[1], tints[1]])


def test_the_shading_of_one_set_is_monotone_and_aligned_with_the_grid():
    display = draw(MassContourDisplay.from_estimator(Ramp(), SQUARE, sets=["left"], eps=0))
    shade = display.shade_.get_array()[0]
    assert (np.diff(shade[3:-3, 0]) > 0).all()  # less of the left cluster and its color
    left, right, bottom, top = display.shade_.get_extent()
    assert (left + right) / 2 == pytest.approx(0.5)
    assert (bottom + top) / 2 == pytest.approx(1)
    assert (right - left) / 400 == pytest.approx((display.x[1] - display.x[0]) / 4)
    assert display.ax_.get_xlim() == (0, 1)


def test_numbers_on_the_grid_are_those_of_predict_mass():
    X = load_butterfly().data
    model = EVCLUS(n_clusters=2, focal_sets="full", d0=11, random_state=0).fit(X)
    display = MassContourDisplay.from_estimator(model, X, of="mass", sets=["Ω"], grid_resolution=12, eps=0.2)
    assert display.x[[0, -1]] == pytest.approx([-8, 13])  # samples from -5 to 10
    places = np.column_stack([np.tile(display.x, 12), np.repeat(display.y, 12)])
    expected = model.predict_mass(places)
    np.testing.assert_allclose(display.heights[0].ravel(), expected.masses[:, 3])
    np.testing.assert_allclose(display.plausibilities.reshape(2, -1).T, expected.to_possibilistic())


def test_plausibilities_of_sets_of_several_clusters_can_be_drawn():
    display = MassContourDisplay.from_estimator(Ramp(), SQUARE, sets=[("left", "right")])
    np.testing.assert_allclose(display.heights, 0.9)
    assert display.contours_ == [None]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_other_features_of_a_frame_are_fixed_at_their_means(frame):
    irises = load_iris(as_frame=True).data
    model = Ramp()
    names = ["petal length (cm)", "sepal width (cm)"]
    display = draw(
        MassContourDisplay.from_estimator(model, frame(irises), features=names, grid_resolution=7, max_points=50)
    )
    assert isinstance(model.asked, frame)
    assert list(model.asked.columns) == list(irises.columns)
    inputs = np.asarray(model.asked)
    np.testing.assert_allclose(inputs[:, [0, 3]], np.tile(irises.mean().to_numpy()[[0, 3]], (49, 1)))
    np.testing.assert_allclose(np.unique(inputs[:, 2]), display.x)
    np.testing.assert_allclose(np.unique(inputs[:, 1]), display.y)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == tuple(names)
    assert display.ax_.get_title().endswith("(2 other features at the mean)")
    assert len(display.points) == 50


def test_max_points_0_draws_no_samples():
    display = draw(MassContourDisplay.from_estimator(Ramp(), SQUARE, max_points=0))
    assert sum(len(artist.get_offsets()) for artist in display.points_) == 0
    assert entries(display) == ["left", "right", "decision boundary"]


def test_one_cluster_has_no_boundary():
    class SingleCluster:
        def predict_mass(self, X):
            return CredalPartition.from_hard(np.zeros(len(X), dtype=int))

    display = draw(MassContourDisplay.from_estimator(SingleCluster(), SQUARE))
    assert display.boundaries_ == [None]
    assert entries(display) == ["0", "no line: {0}"]


def test_the_plot_can_be_drawn_again_on_given_axes():
    figure, ax = plt.subplots()
    display = MassContourDisplay.from_estimator(Ramp(), SQUARE)
    assert display.plot(ax, levels=[0.5]) is display
    assert display.ax_ is ax
    assert display.figure_ is figure
    np.testing.assert_array_equal(display.contours_[0].levels, [0.5])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"of": "belief"}, r"of must be one of \['plausibility', 'mass'\], got 'belief'"),
        ({"grid_resolution": 1}, "grid_resolution must be a whole number of at least 2"),
        ({"eps": -1}, "eps must be a number of at least 0, got -1"),
        ({"levels": [2]}, r"levels must be numbers between 0 and 1, got \[2\]"),
        ({"sets": []}, r"sets must be a list of sets such as \['∅', '\{0\}'\]"),
        ({"sets": ["∅"]}, "sets contains the empty set, whose plausibility is 0; use of="),
        ({"sets": ["up"]}, "the element 'up', which is outside the frame"),
        ({"features": [0, 0]}, "features must name 2 different columns"),
        ({"X": np.zeros((4, 3))}, "X has 3 features and the plane has 2; choose 2 with `features`"),
        ({"X": np.zeros((0, 2))}, "X has no rows"),
        ({"X": np.zeros(3)}, "X must have a row for each sample"),
        ({"estimator": object()}, "estimator must have predict_mass"),
    ],
)
def test_invalid_arguments_are_explained(arguments, message):
    with pytest.raises(ValueError, match=message):
        MassContourDisplay.from_estimator(**({"estimator": Ramp(), "X": SQUARE} | arguments))


def test_too_many_sets_are_refused():
    X = np.random.default_rng(0).random((40, 2))
    model = ECM(n_clusters=5, focal_sets="full", random_state=0).fit(X)
    with pytest.raises(
        ValueError, match="lines of 32 sets would be too many to distinguish; choose some with `sets`"
    ):
        MassContourDisplay.from_estimator(model, X, of="mass")
