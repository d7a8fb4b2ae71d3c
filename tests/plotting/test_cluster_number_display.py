from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evlearn import papers
from evlearn.cluster import BPEC, CCM, CECM, ECM, EVCLUS, RECM, Quantile
from evlearn.constraints import PairwiseConstraints
from evlearn.datasets import make_fourclass
from evlearn.model_selection import ParameterSelection, select_n_clusters, select_parameter
from evlearn.plotting import ClusterNumberDisplay


@pytest.fixture(scope="module")
def data():
    return make_fourclass(400, random_state=0)


def texts(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def painted(artist, figure):
    """Return True if the plot changes when the artist is hidden."""
    pictures = []
    for visible in (True, False):
        artist.set_visible(visible)
        figure.canvas.draw()
        pictures.append(np.array(figure.canvas.buffer_rgba()))
    artist.set_visible(True)
    return (pictures[0] != pictures[1]).any()


@pytest.mark.slow
def test_curve_mark_and_legend_are_in_the_plot(data):
    model = papers.ecm(alpha=2, delta=20**0.5, n_init=3, random_state=0)
    display = ClusterNumberDisplay.from_estimator(model, data[0], n_clusters=range(2, 7))
    expected = [
        papers.ecm(number, alpha=2, delta=20**0.5, n_init=3, random_state=0)
        .fit(data[0])
        .credal_partition_.nonspecificity()
        for number in range(2, 7)
    ]
    np.testing.assert_array_equal(display.line_.get_xdata(), range(2, 7))
    np.testing.assert_array_equal(display.line_.get_ydata(), expected)
    np.testing.assert_array_equal(display.mark_.get_xydata(), [[4, min(expected)]])
    assert display.line_ in display.ax_.lines
    assert display.mark_ in display.ax_.lines
    assert texts(display) == ["ECM: 4 clusters suggested"]
    assert display.ax_.get_xlabel() == "number of clusters"
    assert display.ax_.get_ylabel() == "average nonspecificity"
    assert all(float(tick).is_integer() for tick in display.ax_.get_xticks())
    for artist in (display.line_, display.mark_, display.legend_):
        assert painted(artist, display.figure_), artist
    assert not hasattr(model, "credal_partition_")
    assert model.n_clusters == 3


def test_the_mark_is_filled_and_larger_than_the_hollow_markers_of_the_curve():
    display = ClusterNumberDisplay.from_values([2, 3, 4], [3, 1, 2])
    assert to_rgba(display.line_.get_markerfacecolor()) == to_rgba("white")
    assert to_rgba(display.mark_.get_markerfacecolor()) != to_rgba("white")
    assert display.mark_.get_markersize() > 1.5 * display.line_.get_markersize()
    assert display.mark_.get_zorder() > display.line_.get_zorder()


@pytest.mark.slow
def test_the_nonspecificity_of_fourclass_depends_on_the_parameters(data):
    # As specified: 4 with alpha=2 and delta²=20, and 2 with the defaults of the paper.
    for model, suggested in (
        (papers.ecm(alpha=2, delta=20**0.5, n_init=3, random_state=0), 4),
        (papers.ecm(n_init=3, random_state=0), 2),
    ):
        display = ClusterNumberDisplay.from_estimator(model, data[0], n_clusters=range(2, 7))
        assert display.suggested == suggested, model


@pytest.mark.slow
def test_the_elbow_of_the_objective_is_at_four_for_fourclass(data):
    for model in (ECM(n_init=3, random_state=0), EVCLUS(d0=Quantile(0.9), random_state=0)):
        display = ClusterNumberDisplay.from_estimator(
            model, data[0], criterion="objective", n_clusters=range(2, 8)
        )
        assert display.suggested == 4
        assert (np.diff(display.values) < 1e-3).all()
        assert display.ax_.get_ylabel() == "objective"


@pytest.mark.parametrize("criterion", ["nonspecificity", "objective"])
@pytest.mark.parametrize(
    "model", [BPEC(), CCM(), CECM(), ECM(), EVCLUS(), RECM()], ids=lambda model: type(model).__name__
)
def test_all_estimators_are_supported(data, model, criterion):
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    display = ClusterNumberDisplay.from_estimator(
        model, data[0][:60], n_clusters=range(2, 5), criterion=criterion, name="mine"
    )
    assert np.isfinite(display.values).all()
    assert texts(display)[0].startswith("mine: ")


def test_dissimilarities_and_constraints_reach_the_fit(data):
    X, y = data[0][:80], data[1][:80]
    constraints = PairwiseConstraints.sample(y, 40, random_state=0)
    model = EVCLUS(d0=Quantile(0.9), metric="precomputed", constraint_weight=0.9, random_state=0)
    dissimilarities = pairwise_distances(X)
    free, bound = (
        ClusterNumberDisplay.from_estimator(model, dissimilarities, n_clusters=[3, 4], fit_params=params)
        for params in (None, {"constraints": constraints})
    )
    assert (free.values != bound.values).all()


def test_a_selection_shows_its_mean_its_spread_and_its_agreement(data):
    selection = select_n_clusters(ECM(), data[0], range(2, 8), criterion="peaks", n_repeats=4, random_state=0)
    display = ClusterNumberDisplay.from_selection(selection, name="fourclass")
    np.testing.assert_array_equal(display.line_.get_ydata(), selection.curve)
    assert texts(display) == [f"fourclass: {selection.best} clusters suggested by {selection.confidence:.0%}"]
    (band,) = display.ax_.collections
    assert painted(band, display.figure_)
    votes = select_n_clusters(ECM(), data[0], range(2, 8), n_repeats=4, random_state=0)
    display = ClusterNumberDisplay.from_selection(votes)
    assert display.ax_.get_ylabel() == "share of votes"
    assert not display.ax_.collections


def test_the_curve_of_votes_agrees_with_the_legend_if_there_are_empty_votes():
    curves = np.array([[0, 1.0], [np.nan] * 2, [0, 1.0], [np.nan] * 2])
    display = ClusterNumberDisplay.from_selection(
        ParameterSelection("n_clusters", np.array([2, 3]), curves, "share of votes", "largest")
    )
    assert display.mark_.get_ydata() == [0.5]
    assert "3 clusters suggested by 50%" in texts(display)[0]


def test_another_parameter_is_named_on_its_axis_and_in_the_legend(data):
    model = ECM(n_clusters=4, random_state=0)
    selection = select_parameter(model, data[0][:80], "delta", [1.5, 3.0, 6.0], n_repeats=1, sample_size=1.0)
    display = ClusterNumberDisplay.from_selection(selection)
    assert display.ax_.get_xlabel() == "delta"
    assert texts(display)[0].startswith(f"delta = {selection.best:g} suggested")


@pytest.mark.slow
def test_pipelines_are_fitted_as_a_whole(data):
    scaled = StandardScaler().fit_transform(data[0])
    model = ECM(random_state=0)
    piped, plain = (
        ClusterNumberDisplay.from_estimator(estimator, X, n_clusters=[2, 3])
        for estimator, X in ((make_pipeline(StandardScaler(), model), data[0]), (model, scaled))
    )
    np.testing.assert_array_equal(piped.values, plain.values)


def test_the_smallest_the_largest_or_the_elbow_is_suggested():
    numbers, values = [2, 3, 4, 5, 6], [9, 2, 1.5, 3, 0.5]
    for rule, suggested in (("smallest", 6), ("largest", 2), ("last_largest", 2), ("elbow", 3)):
        assert ClusterNumberDisplay.from_values(numbers, values, rule=rule).suggested == suggested
    assert ClusterNumberDisplay.from_values(numbers, values, suggested=4).suggested == 4
    assert ClusterNumberDisplay.from_values([2, 3, 4], [1, 1, 2]).suggested == 2
    assert ClusterNumberDisplay.from_values([2, 3, 4], [2, 2, 1], rule="largest").suggested == 2
    assert ClusterNumberDisplay.from_values([2, 3, 4], [2, 2, 1], rule="last_largest").suggested == 3
    # Numbers need not be consecutive: 10 is farthest below the line from (2, 9) to (34, 1).
    assert ClusterNumberDisplay.from_values([2, 6, 10, 34], [9, 6, 3, 1], rule="elbow").suggested == 10


def test_a_curve_without_an_elbow_has_no_suggestion():
    for values in ([1, 1, 1], [3, 2, 1], [1, 3, 2]):
        display = ClusterNumberDisplay.from_values([2, 3, 4], values, rule="elbow", name="mine")
        display.figure_.canvas.draw()
        assert display.suggested is None
        assert len(display.mark_.get_xdata()) == 0
        assert texts(display) == ["mine: no number suggested"]


def test_a_suggestion_at_the_end_of_the_range_is_mentioned():
    for numbers, values, text in (
        ([2, 3, 4], [3, 2, 1], "4 clusters suggested, the largest number tested"),
        ([5, 6, 7], [1, 2, 3], "5 clusters suggested, the smallest number tested"),
        ([2, 3, 4], [1, 2, 3], "2 clusters suggested"),
        ([1, 2, 3], [1, 2, 3], "1 cluster suggested"),
    ):
        assert texts(ClusterNumberDisplay.from_values(numbers, values)) == [text]


def test_values_come_in_any_order_and_some_may_be_unknown():
    display = ClusterNumberDisplay.from_values([5, 2, 4, 3], [np.nan, 3, 2, 1], criterion="BIC", name="mixture")
    display.figure_.canvas.draw()
    np.testing.assert_array_equal(display.line_.get_xydata(), [[2, 3], [3, 1], [4, 2], [5, np.nan]])
    assert display.suggested == 3
    assert display.ax_.get_ylabel() == "BIC"
    assert texts(display) == ["mixture: 3 clusters suggested"]


def test_several_curves_on_the_same_axes_differ_and_are_all_in_the_legend():
    figure, ax = plt.subplots()
    ax.plot([2, 3], [2, 2])  # a line from other code
    displays = [
        ClusterNumberDisplay.from_values([2, 3, 4], [3 + shift, 1, 2], name=name, ax=ax)
        for shift, name in enumerate(("first", "second", "third"))
    ]
    figure.canvas.draw()
    for artist in ("line_", "mark_"):
        for look in ("get_color", "get_linestyle", "get_marker"):
            looks = {str(getattr(getattr(display, artist), look)()) for display in displays}
            assert len(looks) == (2 if look == "get_linestyle" else 3), (artist, look)
    single = ClusterNumberDisplay.from_values([2, 3, 4], [3, 1, 2])
    assert displays[0].line_.get_color() == single.line_.get_color()
    assert [text.split(":")[0] for text in texts(displays[-1])] == ["first", "second", "third"]


def test_thirty_numbers_have_legible_ticks():
    numbers = range(2, 32)
    display = ClusterNumberDisplay.from_values(numbers, np.linspace(2, 1, 30))
    display.figure_.canvas.draw()
    boxes = [
        label.get_window_extent()
        for tick, label in zip(display.ax_.get_xticks(), display.ax_.get_xticklabels(), strict=True)
        if 2 <= tick <= 31
    ]
    assert len(boxes) >= 8
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_the_plot_can_be_drawn_again_on_given_axes_without_a_legend():
    figure, ax = plt.subplots()
    display = ClusterNumberDisplay.from_values([2, 3, 4], [3, 1, 2])
    assert display.plot(ax, legend=False) is display
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert display.legend_ is None
    assert ax.get_legend() is None
    assert len(ax.lines) == 2


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (ECM, r"estimator must be an estimator such as ECM\(\), got <class"),
        (StandardScaler(), r"must have a parameter n_clusters, got StandardScaler\(\)"),
        (
            KMeans(),
            r"criterion='nonspecificity' needs an estimator with credal_partition_ after its fit, got KMeans",
        ),
        (BPEC(min_bel=0.5), r"with n_clusters=2: give n_clusters or thresholds, not both.*Change the estimator"),
        (ECM(init=np.eye(2)), r"with n_clusters=3: init must have shape \(3, 2\)"),
    ],
)
def test_invalid_estimators_are_explained(data, estimator, message):
    with pytest.raises(ValueError, match=message):
        ClusterNumberDisplay.from_estimator(estimator, data[0][:60])


def test_invalid_numbers_and_values_are_explained(data):
    model, X = ECM(random_state=0), data[0][:60]
    for wrong, message in (
        (3, r"must be the numbers to compare, got 3; give several whole numbers, such as range\(2, 9\)"),
        ("3", "must be the numbers to compare, got '3'"),
        ([], "must be the numbers to compare, got none"),
        ([2, 2.5], "each of n_clusters must be a whole number of at least 2, got 2.5"),
        ([1, 2], "each of n_clusters must be a whole number of at least 2, got 1"),
        ([2, 3, 2], r"must be different numbers, got \[2, 3, 2\]"),
    ):
        with pytest.raises(ValueError, match=message):
            ClusterNumberDisplay.from_estimator(model, X, n_clusters=wrong)
    with pytest.raises(ValueError, match=r"criterion must be one of \['auto', 'nonspecificity', .*\], got 'best'"):
        ClusterNumberDisplay.from_estimator(model, X, criterion="best")
    with pytest.raises(ValueError, match=r"at least 3 numbers .* for an elbow, got \[2, 3\]"):
        ClusterNumberDisplay.from_estimator(model, X, criterion="objective", n_clusters=[2, 3])
    with pytest.raises(ValueError, match=r"X is an iterator, .* only once"):
        ClusterNumberDisplay.from_estimator(model, iter([X]))
    with pytest.raises(ValueError, match=r"rule must be one of .*, got 'best'"):
        ClusterNumberDisplay.from_values([2, 3], [1, 2], rule="best")
    with pytest.raises(ValueError, match=r"one number for each of the 2 n_clusters, got shape \(3,\)"):
        ClusterNumberDisplay.from_values([2, 3], [1, 2, 3])
    with pytest.raises(ValueError, match=r"values must be finite numbers, or NaN .*, got \[1.0, inf\]"):
        ClusterNumberDisplay.from_values([2, 3], [1, np.inf])
    with pytest.raises(ValueError, match=r"values must be finite numbers"):
        ClusterNumberDisplay.from_values([2, 3], [np.nan, np.nan])
    with pytest.raises(ValueError, match=r"suggested must be one of n_clusters, \[2, 3\], got 5"):
        ClusterNumberDisplay.from_values([2, 3], [1, 2], suggested=5)
    with pytest.raises(ValueError, match=r"got \[2, 4\]; add numbers"):
        ClusterNumberDisplay.from_values([2, 3, 4], [1, np.nan, 2], rule="elbow")
