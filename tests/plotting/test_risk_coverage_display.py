import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evlearn import CredalPartition
from evlearn.classify import EvidentialKNNClassifier
from evlearn.cluster import ECM
from evlearn.datasets import make_fourclass
from evlearn.metrics import augrc_score, aurc_score, errors_by_verdict, risk_coverage_curve
from evlearn.plotting import RiskCoverageDisplay

X, Y = make_fourclass(200, random_state=0)
WRONG, DOUBT = np.array([0, 1, 0, 0, 1]), np.array([0.1, 0.2, 0.3, 0.4, 0.5])


def points(line):
    return dict(zip(line.get_xdata().round(3).tolist(), line.get_ydata(), strict=True))


@pytest.mark.parametrize("generalized", [False, True])
def test_the_line_goes_through_the_points_of_the_curve(generalized):
    display = RiskCoverageDisplay.from_predictions(np.zeros(5), WRONG, DOUBT, generalized=generalized)
    curve = risk_coverage_curve(np.zeros(5), WRONG, DOUBT)
    heights = points(display.line_)
    expected = curve.generalized_risk if generalized else curve.risk
    assert [heights[coverage] for coverage in curve.coverage.round(3).tolist()] == pytest.approx(list(expected))
    assert display.aurc == aurc_score(np.zeros(5), WRONG, DOUBT)
    assert display.augrc == augrc_score(np.zeros(5), WRONG, DOUBT)
    assert ("all samples" in display.ax_.get_ylabel()) is generalized


@pytest.mark.parametrize("generalized", [False, True])
def test_areas_between_the_lines_are_those_of_the_best_and_of_a_random_order(generalized):
    display = RiskCoverageDisplay.from_predictions(np.zeros(5), WRONG, DOUBT, generalized=generalized)
    best, curve_area, random = (
        line.get_ydata().mean() for line in (display.best_, display.line_, display.random_)
    )
    assert best < curve_area < random
    assert curve_area == pytest.approx(display.augrc if generalized else display.aurc, abs=0.005)
    assert random == pytest.approx(0.2 if generalized else 0.4, abs=0.002)


def test_within_ties_the_line_is_the_mean_over_their_orders():
    display = RiskCoverageDisplay.from_predictions([0, 0, 0, 0], [0, 0, 1, 1], [1, 1, 2, 2])
    assert points(display.line_)[0.75] == pytest.approx(1 / 3)


def test_the_sure_samples_of_a_partition_are_marked():
    model = ECM(4, alpha=2, beta=2, delta=20**0.5, n_init=3, random_state=0).fit(X)
    display = RiskCoverageDisplay.from_result(model, Y, X=X)
    summary = errors_by_verdict(Y, model.credal_partition_)
    assert display.mark_.get_xydata()[0] == pytest.approx([summary.n_sure / 200, summary.sure_error])
    assert [text.get_text().partition(":")[0] for text in display.legend_.get_texts()] == ["ECM", "sure"]
    assert display.aurc < 0.7 * display.curve.risk[-1]
    assert RiskCoverageDisplay.from_result(model, Y).aurc == display.aurc


def test_without_sure_samples_there_is_no_mark():
    partition = CredalPartition.from_rough([[1, 1]] * 4)
    display = RiskCoverageDisplay.from_result(partition, [0, 0, 1, 1])
    assert display.mark_ is None
    assert display.aurc == pytest.approx(0.5)


def test_classifiers_of_evlearn_and_scikit_learn_use_their_classes():
    names = np.array(["a", "b", "c", "d"])[Y]
    evidential = make_pipeline(StandardScaler(), EvidentialKNNClassifier(9)).fit(X[::2], names[::2])
    logistic = LogisticRegression().fit(X[::2], names[::2])
    first = RiskCoverageDisplay.from_result(evidential, names[1::2], X=X[1::2])
    second = RiskCoverageDisplay.from_result(logistic, names[1::2], X=X[1::2], ax=first.ax_)
    assert second.ax_ is first.ax_
    for display, model in ((first, evidential), (second, logistic)):
        assert display.curve.risk[-1] == pytest.approx((model.predict(X[1::2]) != names[1::2]).mean())
    assert first.line_.get_color() != second.line_.get_color()
    assert [text.get_text().split(":")[0] for text in second.legend_.get_texts()] == [
        "EvidentialKNNClassifier",
        "sure",
        "LogisticRegression",
    ]


def test_an_estimator_without_masses_and_probabilities_is_refused():
    with pytest.raises(ValueError, match="estimator must have predict_mass or predict_proba"):
        RiskCoverageDisplay.from_result(KMeans(2, n_init=1).fit(X), Y, X=X)


def test_the_plot_can_be_drawn_again_on_given_axes():
    display = RiskCoverageDisplay.from_predictions(np.zeros(5), WRONG, DOUBT)
    figure, ax = plt.subplots()
    assert display.plot(ax, legend=False) is display
    assert display.figure_ is figure
    assert display.legend_ is None
