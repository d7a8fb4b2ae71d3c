"""Risk-coverage curves, areas under them, and errors of sure and torn samples."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import roc_auc_score

from evlearn import CredalPartition
from evlearn.metrics import (
    augrc_score,
    aurc_score,
    errors_by_verdict,
    risk_coverage_curve,
)
from evlearn.metrics.risk_coverage import majority_classes

AREAS = (aurc_score, augrc_score)


@st.composite
def predictions_with_doubt(draw, max_size=30):
    """Draw classes, predictions and rounded doubts, so that ties occur."""
    n = draw(st.integers(1, max_size))
    truth, predictions = draw(hnp.arrays(np.int64, (2, n), elements=st.integers(0, 2)))
    return truth, predictions, draw(hnp.arrays(np.int64, n, elements=st.integers(0, 8))) / 8


def test_five_samples_computed_by_hand():
    wrong, doubt = np.array([0, 1, 0, 0, 1]), [0.1, 0.2, 0.3, 0.4, 0.5]
    curve = risk_coverage_curve(np.zeros(5), wrong, doubt)
    np.testing.assert_allclose(curve.coverage, [0.2, 0.4, 0.6, 0.8, 1])
    np.testing.assert_allclose(curve.risk, [0, 1 / 2, 1 / 3, 1 / 4, 2 / 5])
    np.testing.assert_allclose(curve.generalized_risk, [0, 0.2, 0.2, 0.2, 0.4])
    np.testing.assert_array_equal(curve.threshold, doubt)
    # Trapezoids of width 0.2: 0, .02, .04, .04, .06.
    assert augrc_score(np.zeros(5), wrong, doubt) == pytest.approx(0.16)
    # (c - .2) / c from .2 to .4, then .2 / c up to .8, then (c - .6) / c.
    area = (0.2 - 0.2 * np.log(2)) + 0.2 * np.log(2) + (0.2 - 0.6 * np.log(5 / 4))
    assert aurc_score(np.zeros(5), wrong, doubt) == pytest.approx(area)


@given(predictions_with_doubt())
def test_points_are_the_error_rates_of_the_retained_samples(case):
    truth, predictions, doubt = case
    curve = risk_coverage_curve(truth, predictions, doubt)
    for share, risk, generalized_risk, threshold in zip(
        curve.coverage, curve.risk, curve.generalized_risk, curve.threshold, strict=True
    ):
        is_retained = doubt <= threshold
        assert share == pytest.approx(is_retained.mean())
        assert risk == pytest.approx((truth != predictions)[is_retained].mean())
        assert generalized_risk == pytest.approx(((truth != predictions) & is_retained).mean())
    assert len(curve.threshold) == len(np.unique(doubt))


@given(predictions_with_doubt())
@pytest.mark.slow
def test_the_same_doubt_for_all_is_a_random_order(case):
    truth, predictions, _ = case
    error = (truth != predictions).mean()
    doubt = np.full(len(truth), 0.3)
    assert aurc_score(truth, predictions, doubt) == pytest.approx(error)
    assert augrc_score(truth, predictions, doubt) == pytest.approx(error / 2)
    if 0 < error < 1:
        assert [area(truth, predictions, doubt, normalize=True) for area in AREAS] == pytest.approx([1, 1])


@given(predictions_with_doubt())
def test_an_order_by_the_true_errors_is_the_best(case):
    truth, predictions, doubt = case
    wrong = truth != predictions
    error = wrong.mean()
    best = error + (1 - error) * np.log1p(-error) if error < 1 else 1
    assert aurc_score(truth, predictions, wrong) == pytest.approx(best)
    assert augrc_score(truth, predictions, wrong) == pytest.approx(error**2 / 2)
    for area in AREAS:
        assert (
            area(truth, predictions, wrong)
            <= area(truth, predictions, doubt) + 1e-12
            <= area(truth, predictions, ~wrong) + 2e-12
        )
    if 0 < error < 1:
        assert [area(truth, predictions, wrong, normalize=True) for area in AREAS] == pytest.approx(
            [0, 0], abs=1e-12
        )


@given(predictions_with_doubt())
def test_areas_depend_only_on_the_order_of_doubts(case):
    truth, predictions, doubt = case
    for area in AREAS:
        assert area(truth, predictions, np.exp(3 * doubt) - 100) == area(truth, predictions, doubt)


@given(predictions_with_doubt(), st.data())
def test_areas_do_not_depend_on_the_order_of_samples(case, data):
    truth, predictions, doubt = case
    order = data.draw(st.permutations(range(len(truth))))
    for area in AREAS:
        assert area(truth[order], predictions[order], doubt[order]) == pytest.approx(
            area(truth, predictions, doubt)
        )


@given(predictions_with_doubt(), st.data())
def test_integer_weights_equal_repetitions(case, data):
    truth, predictions, doubt = case
    times = data.draw(hnp.arrays(np.int64, len(truth), elements=st.integers(0, 3)).filter(np.any))
    for area in AREAS:
        repeated = area(*(np.repeat(values, times) for values in case))
        assert area(truth, predictions, doubt, sample_weight=times) == pytest.approx(repeated)
        assert area(truth, predictions, doubt, sample_weight=times / 7) == pytest.approx(repeated)


@pytest.mark.slow
@given(predictions_with_doubt())
def test_the_generalized_area_is_a_function_of_that_under_the_roc_curve(case):
    truth, predictions, doubt = case
    wrong = truth != predictions
    error = wrong.mean()
    if 0 < error < 1:
        missed = 1 - roc_auc_score(wrong, doubt)
        assert augrc_score(truth, predictions, doubt) == pytest.approx(error * (1 - error) * missed + error**2 / 2)
        assert augrc_score(truth, predictions, doubt, normalize=True) == pytest.approx(2 * missed)


def test_ties_count_with_the_mean_over_their_orders():
    wrong, doubt = np.array([0, 1, 0, 1, 1, 0]), np.array([1, 2, 2, 2, 3, 3])
    orders = [order for order in permutations(range(6)) if (np.diff(doubt[list(order)]) >= 0).all()]
    errors = np.array([wrong[list(order)] for order in orders]).cumsum(axis=1) / 6
    generalized = np.column_stack([np.zeros(len(orders)), errors])
    mean = ((generalized[:, 1:] + generalized[:, :-1]) / 12).sum(axis=1).mean()
    assert augrc_score(np.zeros(6), wrong, doubt) == pytest.approx(mean)
    # The other area is the mean of the risks at small steps of the coverage.
    coverages = np.linspace(0, 1, 100_001)[1:]
    risks = np.interp(coverages, np.arange(7) / 6, generalized.mean(axis=0))
    assert aurc_score(np.zeros(6), wrong, doubt) == pytest.approx((risks / coverages).mean(), abs=1e-4)


def test_the_area_is_the_mean_of_risks_for_many_samples():
    random = np.random.default_rng(0)
    doubt = random.random(20_000)
    wrong = random.random(20_000) < doubt / 2
    risks = wrong[np.argsort(doubt)].cumsum() / np.arange(1, 20_001)
    assert aurc_score(np.zeros(20_000), wrong, doubt) == pytest.approx(risks.mean(), abs=1e-4)


@pytest.mark.parametrize("predictions", [[0, 0, 0], [1, 1, 1]])
def test_the_normalized_area_is_nan_if_all_orders_are_equally_good(predictions):
    for area in AREAS:
        assert np.isnan(area([0, 0, 0], predictions, [1, 2, 3], normalize=True))
        assert np.isfinite(area([0, 0, 0], predictions, [1, 2, 3]))


def test_clusters_represent_the_class_of_their_majority():
    truth = np.array(["oak", "ash", "ash", "oak", "oak", "elm"])
    labels = [5, 5, 5, -1, -1, -1]
    assert majority_classes(truth, labels).tolist() == ["ash"] * 3 + ["oak"] * 3
    assert majority_classes(["b", "a"], [0, 0]).tolist() == ["a", "a"]


@given(hnp.arrays(np.int64, (2, 20), elements=st.integers(0, 3)), st.permutations(range(4)))
def test_majority_classes_do_not_depend_on_cluster_numbers(case, order):
    truth, labels = case
    assert (majority_classes(truth, labels) == majority_classes(truth, np.array(order)[labels])).all()
    assert (majority_classes(truth, truth) == truth).all()


def test_errors_are_counted_among_sure_torn_and_outliers():
    candidates = [[1, 0, 0]] * 4 + [[0, 1, 0]] * 3 + [[1, 1, 0]] * 2 + [[0, 1, 1]] + [[0, 0, 0]] * 2
    truth = ["a"] * 3 + ["b"] + ["b"] * 3 + ["a", "b"] + ["c"] + ["a", "c"]
    errors = errors_by_verdict(truth, CredalPartition.from_rough(candidates))
    assert (errors.n_sure, errors.n_torn, errors.n_outliers, errors.n_samples) == (7, 3, 2, 12)
    assert errors.sure_error == pytest.approx(1 / 7)
    # Samples torn between "a" and "b" are assigned to "a". The third cluster is empty and represents no class.
    assert errors.torn_error == pytest.approx(2 / 3)
    assert errors.torn_covered == pytest.approx(2 / 3)
    assert errors.outlier_error == pytest.approx(1 / 2)
    text = str(errors)
    assert text.splitlines()[1].split() == ["sure", "7", "58.3", "%", "14.3", "%"]
    assert text == repr(errors)


def test_the_level_determines_which_samples_are_sure():
    partition = CredalPartition.from_fuzzy([[0.9, 0.1], [0.7, 0.3], [0.5, 0.5], [0.1, 0.9]])
    counts = [errors_by_verdict([0, 0, 0, 1], partition, level=level).n_sure for level in (0.5, 2 / 3, 0.8, 1)]
    assert counts == [3, 3, 2, 0]  # a tie is torn at any level
    assert errors_by_verdict([0, 0, 0, 1], partition).n_sure == 3


def test_classes_of_a_classifier_are_not_matched():
    partition = CredalPartition.from_rough([[1, 0], [1, 0], [0, 1]])
    assert errors_by_verdict([1, 1, 1], partition).sure_error == 0
    assert errors_by_verdict([1, 1, 1], partition, classes=[0, 1]).sure_error == pytest.approx(2 / 3)


def test_errors_of_empty_groups_are_nan():
    errors = errors_by_verdict([0, 1], CredalPartition.from_hard([0, 1]))
    assert np.isnan([errors.torn_error, errors.torn_covered, errors.outlier_error]).all()
    assert "nan" not in str(errors)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: risk_coverage_curve([0, 1], [0, 1], [0.5]), "must have one entry for each sample"),
        (lambda: risk_coverage_curve([], [], []), "must have one entry for each sample"),
        (lambda: aurc_score([0, 1], [0, 1], [0.5, np.nan]), "doubt contains NaN"),
        (lambda: aurc_score([0, 1], [0, 1], [0.5, 1], sample_weight=[0, 0]), "sample_weight must be"),
        (lambda: aurc_score([0, 1], [0, 1], [0.5, 1], sample_weight=[-1, 2]), "sample_weight must be"),
        (lambda: majority_classes([0, 1], [0]), "y_true and labels must have one entry"),
        (lambda: errors_by_verdict([0], CredalPartition.from_hard([0, 1])), "each of the 2 samples"),
        (
            lambda: errors_by_verdict([0, 1], CredalPartition.from_hard([0, 1]), classes=[1]),
            "classes must name the 2 clusters",
        ),
    ],
)
def test_errors_name_invalid_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
