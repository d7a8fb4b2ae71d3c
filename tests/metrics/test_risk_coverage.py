"""Whether doubt finds errors: curves, areas under them, and errors of sure and torn samples."""

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
    majority_classes,
    risk_coverage_curve,
)

AREAS = (aurc_score, augrc_score)


@st.composite
def judged(draw, max_size=30):
    """Truth, predictions and doubts in steps, so that ties occur."""
    n = draw(st.integers(1, max_size))
    truth, said = draw(hnp.arrays(np.int64, (2, n), elements=st.integers(0, 2)))
    return truth, said, draw(hnp.arrays(np.int64, n, elements=st.integers(0, 8))) / 8


def test_five_samples_computed_by_hand():
    wrong, doubt = np.array([0, 1, 0, 0, 1]), [0.1, 0.2, 0.3, 0.4, 0.5]
    curve = risk_coverage_curve(np.zeros(5), wrong, doubt)
    np.testing.assert_allclose(curve.coverage, [0.2, 0.4, 0.6, 0.8, 1])
    np.testing.assert_allclose(curve.risk, [0, 1 / 2, 1 / 3, 1 / 4, 2 / 5])
    np.testing.assert_allclose(curve.generalized_risk, [0, 0.2, 0.2, 0.2, 0.4])
    np.testing.assert_array_equal(curve.threshold, doubt)
    # Trapezes of height .2: 0, .02, .04, .04, .06.
    assert augrc_score(np.zeros(5), wrong, doubt) == pytest.approx(0.16)
    # (c - .2) / c from .2 to .4, then .2 / c up to .8, then (c - .6) / c.
    area = (0.2 - 0.2 * np.log(2)) + 0.2 * np.log(2) + (0.2 - 0.6 * np.log(5 / 4))
    assert aurc_score(np.zeros(5), wrong, doubt) == pytest.approx(area)


@given(judged())
def test_points_are_the_errors_of_what_is_kept(case):
    truth, said, doubt = case
    curve = risk_coverage_curve(truth, said, doubt)
    for share, risk, kept_wrong, threshold in zip(
        curve.coverage, curve.risk, curve.generalized_risk, curve.threshold, strict=True
    ):
        kept = doubt <= threshold
        assert share == pytest.approx(kept.mean())
        assert risk == pytest.approx((truth != said)[kept].mean())
        assert kept_wrong == pytest.approx(((truth != said) & kept).mean())
    assert len(curve.threshold) == len(np.unique(doubt))


@given(judged())
def test_the_same_doubt_for_all_is_a_random_order(case):
    truth, said, _ = case
    error = (truth != said).mean()
    same = np.full(len(truth), 0.3)
    assert aurc_score(truth, said, same) == pytest.approx(error)
    assert augrc_score(truth, said, same) == pytest.approx(error / 2)
    if 0 < error < 1:
        assert [area(truth, said, same, normalize=True) for area in AREAS] == pytest.approx([1, 1])


@given(judged())
def test_an_order_that_knows_the_errors_is_the_best(case):
    truth, said, doubt = case
    wrong = truth != said
    error = wrong.mean()
    best = error + (1 - error) * np.log1p(-error) if error < 1 else 1
    assert aurc_score(truth, said, wrong) == pytest.approx(best)
    assert augrc_score(truth, said, wrong) == pytest.approx(error**2 / 2)
    for area in AREAS:
        assert area(truth, said, wrong) <= area(truth, said, doubt) + 1e-12 <= area(truth, said, ~wrong) + 2e-12
    if 0 < error < 1:
        assert [area(truth, said, wrong, normalize=True) for area in AREAS] == pytest.approx([0, 0], abs=1e-12)


@given(judged())
def test_only_the_order_of_doubts_counts(case):
    truth, said, doubt = case
    for area in AREAS:
        assert area(truth, said, np.exp(3 * doubt) - 100) == area(truth, said, doubt)


@given(judged(), st.data())
def test_the_order_of_samples_does_not_count(case, data):
    truth, said, doubt = case
    order = data.draw(st.permutations(range(len(truth))))
    for area in AREAS:
        assert area(truth[order], said[order], doubt[order]) == pytest.approx(area(truth, said, doubt))


@given(judged(), st.data())
def test_weights_are_repetitions(case, data):
    truth, said, doubt = case
    times = data.draw(hnp.arrays(np.int64, len(truth), elements=st.integers(0, 3)).filter(np.any))
    for area in AREAS:
        repeated = area(*(np.repeat(one, times) for one in case))
        assert area(truth, said, doubt, sample_weight=times) == pytest.approx(repeated)
        assert area(truth, said, doubt, sample_weight=times / 7) == pytest.approx(repeated)


@pytest.mark.slow
@given(judged())
def test_the_generalized_area_is_told_by_that_of_the_roc_curve(case):
    truth, said, doubt = case
    wrong = truth != said
    error = wrong.mean()
    if 0 < error < 1:
        missed = 1 - roc_auc_score(wrong, doubt)
        assert augrc_score(truth, said, doubt) == pytest.approx(error * (1 - error) * missed + error**2 / 2)
        assert augrc_score(truth, said, doubt, normalize=True) == pytest.approx(2 * missed)


def test_ties_count_with_the_mean_over_their_orders():
    wrong, doubt = np.array([0, 1, 0, 1, 1, 0]), np.array([1, 2, 2, 2, 3, 3])
    orders = [order for order in permutations(range(6)) if (np.diff(doubt[list(order)]) >= 0).all()]
    errors = np.array([wrong[list(order)] for order in orders]).cumsum(axis=1) / 6
    generalized = np.column_stack([np.zeros(len(orders)), errors])
    mean = ((generalized[:, 1:] + generalized[:, :-1]) / 12).sum(axis=1).mean()
    assert augrc_score(np.zeros(6), wrong, doubt) == pytest.approx(mean)
    # For the other area, with every sample split into many parts in a row: the mean of risks at fine steps.
    coverages = np.linspace(0, 1, 100_001)[1:]
    kept = np.interp(coverages, np.arange(7) / 6, generalized.mean(axis=0))
    assert aurc_score(np.zeros(6), wrong, doubt) == pytest.approx((kept / coverages).mean(), abs=1e-4)


def test_the_area_is_the_mean_of_risks_for_many_samples():
    random = np.random.default_rng(0)
    doubt = random.random(20_000)
    wrong = random.random(20_000) < doubt / 2
    risks = wrong[np.argsort(doubt)].cumsum() / np.arange(1, 20_001)
    assert aurc_score(np.zeros(20_000), wrong, doubt) == pytest.approx(risks.mean(), abs=1e-4)


@pytest.mark.parametrize("said", [[0, 0, 0], [1, 1, 1]])
def test_where_all_orders_are_as_good_there_is_no_normalized_area(said):
    for area in AREAS:
        assert np.isnan(area([0, 0, 0], said, [1, 2, 3], normalize=True))
        assert np.isfinite(area([0, 0, 0], said, [1, 2, 3]))


def test_clusters_stand_for_the_class_of_their_majority():
    truth = np.array(["oak", "ash", "ash", "oak", "oak", "elm"])
    labels = [5, 5, 5, -1, -1, -1]
    assert majority_classes(truth, labels).tolist() == ["ash"] * 3 + ["oak"] * 3
    assert majority_classes(["b", "a"], [0, 0]).tolist() == ["a", "a"]


@given(hnp.arrays(np.int64, (2, 20), elements=st.integers(0, 3)), st.permutations(range(4)))
def test_the_numbers_of_clusters_do_not_count(case, order):
    truth, labels = case
    assert (majority_classes(truth, labels) == majority_classes(truth, np.array(order)[labels])).all()
    assert (majority_classes(truth, truth) == truth).all()


def test_errors_are_counted_among_sure_torn_and_outliers():
    candidates = [[1, 0, 0]] * 4 + [[0, 1, 0]] * 3 + [[1, 1, 0]] * 2 + [[0, 1, 1]] + [[0, 0, 0]] * 2
    truth = ["a"] * 3 + ["b"] + ["b"] * 3 + ["a", "b"] + ["c"] + ["a", "c"]
    found = errors_by_verdict(truth, CredalPartition.from_rough(candidates))
    assert (found.n_sure, found.n_torn, found.n_outliers, found.n_samples) == (7, 3, 2, 12)
    assert found.sure_error == pytest.approx(1 / 7)
    # To be torn between "a" and "b" is to be in the first; the third cluster is nobody's, and stands for no class.
    assert found.torn_error == pytest.approx(2 / 3)
    assert found.torn_covered == pytest.approx(2 / 3)
    assert found.outlier_error == pytest.approx(1 / 2)
    text = str(found)
    assert text.splitlines()[1].split() == ["sure", "7", "58.3", "%", "14.3", "%"]
    assert text == repr(found)


def test_the_level_decides_who_is_sure():
    partition = CredalPartition.from_fuzzy([[0.9, 0.1], [0.7, 0.3], [0.5, 0.5], [0.1, 0.9]])
    counts = [errors_by_verdict([0, 0, 0, 1], partition, level=level).n_sure for level in (0.5, 2 / 3, 0.8, 1)]
    assert counts == [3, 3, 2, 0]  # of two equals nobody is sure
    assert errors_by_verdict([0, 0, 0, 1], partition).n_sure == 3


def test_classes_of_a_classifier_are_taken_as_they_are():
    partition = CredalPartition.from_rough([[1, 0], [1, 0], [0, 1]])
    assert errors_by_verdict([1, 1, 1], partition).sure_error == 0
    assert errors_by_verdict([1, 1, 1], partition, classes=[0, 1]).sure_error == pytest.approx(2 / 3)


def test_kinds_that_nobody_is_of_have_no_errors():
    found = errors_by_verdict([0, 1], CredalPartition.from_hard([0, 1]))
    assert np.isnan([found.torn_error, found.torn_covered, found.outlier_error]).all()
    assert "nan" not in str(found)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: risk_coverage_curve([0, 1], [0, 1], [0.5]), "must have one entry for each sample"),
        (lambda: risk_coverage_curve([], [], []), "must have one entry for each sample"),
        (lambda: aurc_score([0, 1], [0, 1], [0.5, np.nan]), "doubt has NaN"),
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
def test_errors_say_what_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()
