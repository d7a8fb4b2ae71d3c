import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evlearn.cluster import ECM, BootClus
from evlearn.cluster.model_based.intervals import PairIntervals
from evlearn.datasets import make_gaussian_mixture, same_cluster_probability
from evlearn.plotting import PairsDisplay

X, _, POSTERIOR = make_gaussian_mixture(2, 60, random_state=0)


@pytest.fixture(scope="module")
def model():
    return BootClus(3, covariance_models="EEE", n_bootstrap=60, random_state=0).fit(X)


@pytest.fixture(scope="module")
def truth(model):
    return same_cluster_probability(POSTERIOR, model.intervals_.pairs)


def offsets(display):
    return [np.asarray(points.get_offsets()) for points in display.points_]


def test_belief_is_plotted_against_the_lower_bound_and_plausibility_against_the_upper(model):
    display, intervals = PairsDisplay.from_estimator(model), model.intervals_
    display.figure_.canvas.draw()
    left, right = offsets(display)
    np.testing.assert_array_equal(left, np.column_stack([intervals.lower, intervals.belief]))
    np.testing.assert_array_equal(right, np.column_stack([intervals.upper, intervals.plausibility]))
    assert [panel.get_ylabel() for panel in display.axes_] == [
        "belief of the same cluster",
        "plausibility of the same cluster",
    ]
    for diagonal in display.diagonals_:
        np.testing.assert_array_equal(diagonal.get_xydata(), [[0, 0], [1, 1]])
    assert display.densities_ == display.colorbars_ == [None, None]
    assert display.legend_ is None


def test_titles_show_the_root_mean_squared_differences_of_the_objective(model):
    display = PairsDisplay.from_estimator(model)
    differences = [float(panel.get_title().rpartition(" ")[2].rstrip(")")) for panel in display.axes_]
    assert sum(value**2 for value in differences) == pytest.approx(model.objective_, rel=0.02)


def test_with_true_probabilities_the_title_shows_the_coverage(model, truth):
    display, intervals = PairsDisplay.from_estimator(model, probabilities=truth), model.intervals_
    left, right = offsets(display)
    np.testing.assert_array_equal(left, np.column_stack([truth, intervals.belief]))
    np.testing.assert_array_equal(right, np.column_stack([truth, intervals.plausibility]))
    coverage = ((left[:, 1] <= left[:, 0]) & (right[:, 0] <= right[:, 1])).mean()
    assert intervals.coverage(truth) == coverage
    assert 0.5 < coverage < 1
    for panel in display.axes_:
        assert panel.get_xlabel() == "true probability of the same cluster"
        assert f"coverage {coverage:.3f}" in panel.get_title()


def test_many_pairs_are_counted_in_cells(model, truth):
    display = PairsDisplay.from_estimator(model, probabilities=truth, max_points=100)
    assert display.points_ == [None, None]
    for density, bar in zip(display.densities_, display.colorbars_, strict=True):
        assert np.ma.filled(density.get_array(), 0).sum() == len(truth)
        assert bar.ax.get_ylabel() == "pairs"


def test_the_intervals_of_a_pipeline_are_drawn(model):
    pipeline = make_pipeline(StandardScaler(), model)
    assert PairsDisplay.from_estimator(pipeline).panels[0].y is model.intervals_.belief


def test_the_plot_can_be_drawn_again_on_given_axes(model):
    display = PairsDisplay.from_intervals(model.intervals_)
    figure, panels = plt.subplots(1, 2)
    assert display.plot(panels) is display
    assert display.figure_ is figure
    with pytest.raises(ValueError, match="ax has 1 axes but there are 2 panels"):
        display.plot(panels[0])


def test_invalid_inputs_are_explained(model, truth):
    with pytest.raises(ValueError, match=r"must be fitted and have .*intervals_ as BootClus has, got ECM\(\)"):
        PairsDisplay.from_estimator(ECM())
    with pytest.raises(ValueError, match=r"probabilities has 3 pairs and intervals has 1770"):
        PairsDisplay.from_estimator(model, probabilities=truth[:3])
    with pytest.raises(ValueError, match=r"probabilities must be one number per pair, got shape \(60, 60\)"):
        PairsDisplay.from_estimator(model, probabilities=same_cluster_probability(POSTERIOR))


def test_a_single_pair_can_be_drawn():
    value = np.array([0.25])
    display = PairsDisplay.from_intervals(PairIntervals(np.array([[0, 1]]), value, value, value, value))
    assert [panel.get_title() for panel in display.axes_] == [
        "belief (root mean squared difference 0)",
        "plausibility (root mean squared difference 0)",
    ]
