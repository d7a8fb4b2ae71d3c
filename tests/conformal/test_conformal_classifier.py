"""Conformal sets of classes: coverage, classes, soft labels, rejection, unseen classes, order and batches."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from evlearn import CredalPartition
from evlearn.belief import FocalSets
from evlearn.classify import EvidentialForestClassifier, EvidentialKNNClassifier
from evlearn.classify.labels import read_labels
from evlearn.conformal import ConformalClassifier, UnseenClassDetector
from evlearn.conformal.class_scores import ClassScores, aps_scores, lac_scores, row_order, row_uniforms
from evlearn.conformal.selective_risk import SelectiveRisk

N_CLASSES = 4
CENTERS = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.5], [3.0, 3.0]])
SHARES = np.array([0.5, 0.3, 0.15, 0.05])


def draw(n_samples, seed):
    """Return samples of overlapping classes of different size."""
    random = np.random.default_rng(seed)
    y = random.choice(N_CLASSES, n_samples, p=SHARES)
    return CENTERS[y] + random.normal(size=(n_samples, 2)), y


X, Y = draw(400, 0)
NEW, NEW_Y = draw(2000, 1)
FITTED = GaussianNB().fit(*draw(300, 2))


def frozen(seed, n_samples=200, labels=None, **options):
    """Return conformal sets around a fitted classifier, calibrated on other samples."""
    samples, y = draw(n_samples, 1000 + seed)
    y = y if labels is None else labels(y, np.random.default_rng(seed))
    return ConformalClassifier(FrozenEstimator(FITTED), random_state=seed, **options).fit(samples, y)


def coverage(model, level=None, classes=slice(None)):
    hits = model.predict_set(NEW, confidence_level=level)[np.arange(len(NEW)), NEW_Y]
    return hits.mean() if classes == slice(None) else hits[classes == NEW_Y].mean()


@parametrize_with_checks(
    [
        ConformalClassifier(LogisticRegression(), cv=2, random_state=0),
        ConformalClassifier(GaussianNB(), conformity_score="aps", per_class=True, cv=0.5, random_state=0),
    ]
)
@pytest.mark.slow
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# Coverage


@pytest.mark.slow
@pytest.mark.parametrize("score", ["lac", "aps"])
@pytest.mark.parametrize("level", [0.8, 0.9])
def test_the_mean_coverage_over_calibration_samples_is_the_confidence_level(score, level):
    values = [coverage(frozen(seed, conformity_score=score), level) for seed in range(60)]
    # The standard error of the mean over 60 sets of 200 calibration samples is below 0.004.
    assert level - 0.012 < np.mean(values) < level + 1 / 201 + 0.012


@pytest.mark.slow
@pytest.mark.parametrize("classes", range(N_CLASSES))
def test_the_coverage_of_each_class_is_the_confidence_level(classes):
    values = [coverage(frozen(seed, per_class=True), classes=classes) for seed in range(60)]
    n_samples = 200 * SHARES[classes]
    margin = 3 * np.sqrt(0.09 / n_samples / 60)
    assert 0.9 - margin < np.mean(values) < 0.9 + 2.2 / n_samples + margin


@pytest.mark.slow
def test_classes_are_covered_unequally_without_per_class():
    shares = [np.mean([coverage(frozen(seed), classes=k) for seed in range(20)]) for k in range(N_CLASSES)]
    assert min(shares) < 0.87


@pytest.mark.slow
@pytest.mark.parametrize("cv", [0.4, 2, 10])
@pytest.mark.parametrize("classifier", [GaussianNB(), LinearDiscriminantAnalysis()])
def test_folds_and_shares_have_the_confidence_level(cv, classifier):
    values = [
        coverage(ConformalClassifier(classifier, cv=cv, random_state=seed).fit(*draw(200, 500 + seed)))
        for seed in range(20)
    ]
    assert 0.87 < np.mean(values) < 0.93


def test_the_p_values_are_shares_of_calibration_samples():
    samples, y = draw(99, 5)
    model = ConformalClassifier(FrozenEstimator(FITTED)).fit(samples, y)
    reference = FITTED.predict_proba(samples)[np.arange(99), y]
    probabilities = FITTED.predict_proba(NEW[:50])
    expected = (1 + (reference[None, None] <= probabilities[:, :, None]).sum(axis=2)) / 100
    np.testing.assert_allclose(model.predict_p_values(NEW[:50]), expected)
    assert model.n_calibration_ == 99


@pytest.mark.parametrize("score", ["lac", "aps"])
@pytest.mark.parametrize("per_class", [True, False])
def test_sets_are_nested_and_the_verdict_of_the_masses_is_the_set(score, per_class):
    model = frozen(0, conformity_score=score, per_class=per_class)
    sets = [model.predict_set(NEW, confidence_level=level) for level in (0.5, 0.8, 0.9, 0.99)]
    assert all((small <= large).all() for small, large in pairwise(sets))
    partition = model.predict_mass(NEW)
    np.testing.assert_array_equal(partition.verdict(0.9).candidates, sets[2])
    plausible = partition.to_possibilistic()
    assert (plausible >= model.predict_p_values(NEW) - 1e-9).all()


def test_masses_of_many_classes_have_fixed_columns():
    random = np.random.default_rng(0)
    centers = 3 * random.normal(size=(12, 2))
    y = np.arange(600) % 12
    samples = centers[y] + random.normal(size=(600, 2))
    model = ConformalClassifier(GaussianNB(), cv=3, random_state=0).fit(samples, y)
    sets, partition = model.predict_set(samples), model.predict_mass(samples)
    assert partition.focal_sets == model.focal_sets_ == model.predict_mass(samples[:1]).focal_sets
    assert (partition.verdict(0.9).candidates >= sets).all()


# Order, batches, containers


@pytest.mark.parametrize("score", ["lac", "aps"])
def test_results_depend_neither_on_the_order_of_rows_nor_on_the_container(score):
    options = {"conformity_score": score, "cv": 4, "random_state": 3}
    expected = ConformalClassifier(GaussianNB(), **options).fit(X, Y).predict_p_values(NEW[:99])
    order = np.random.default_rng(0).permutation(len(X))
    model = ConformalClassifier(GaussianNB(), **options).fit(X[order], Y[order])
    np.testing.assert_allclose(model.predict_p_values(NEW[:99]), expected)
    np.testing.assert_allclose(model.predict_p_values(NEW[50:99]), expected[50:])
    frame = ConformalClassifier(GaussianNB(), **options).fit(pd.DataFrame(X, columns=["a", "b"]), Y)
    np.testing.assert_allclose(frame.predict_p_values(pd.DataFrame(NEW[:99], columns=["a", "b"])), expected)


def test_row_uniforms_are_uniform_and_depend_on_all_values():
    values = row_uniforms(np.arange(20000.0).reshape(-1, 2), 7)
    assert abs(values.mean() - 0.5) < 0.01
    assert np.abs(np.histogram(values, 10, (0, 1))[0] - 1000).max() < 120
    table = pd.DataFrame({"a": ["x", "yy", "x", None], "b": [1.0, 0.0, 1.0, np.nan]})
    single = row_uniforms(table, 7)
    assert single[0] == single[2]
    assert len(set(single)) == 3
    np.testing.assert_array_equal(row_uniforms(table[:1], 7), single[:1])
    np.testing.assert_array_equal(row_uniforms(np.array([[0.0, np.nan]]), 1), row_uniforms([[-0.0, -np.nan]], 1))
    assert row_uniforms(table, 8)[0] != single[0]


def test_the_order_of_rows_with_text_and_missing_values():
    table = pd.DataFrame({"a": ["y", "x", "x"], "b": [0.0, np.nan, 1.0]})
    assert row_order(table, np.zeros(3, dtype=int)).tolist() == [0, 2, 1]


# Scores


def test_scores_by_hand():
    support = np.array([[0.5, 0.2, 0.3], [0.25, 0.5, 0.25], [0.1, 0.0, 0.1]])
    scores = aps_scores(support, np.array([0.5, 1.0, 0.0]))
    np.testing.assert_allclose(scores, [[0.25, 0.9, 0.65], [0.75, 0.5, 0.75], [0.8, 1.0, 0.8]])
    assert (np.diff(lac_scores(np.array([[0.0, 1e-30, 0.1, 1.0]]))) < 0).all()


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=40, deadline=None)
def test_sets_of_labels_give_the_largest_p_values_of_their_classes(seed, per_class):
    random = np.random.default_rng(seed)
    scores, y = random.normal(size=(12, 3)), random.integers(3, size=12)
    sets = np.eye(3)[y]
    sets[random.random((12, 3)) < 0.3] = 1
    new = random.normal(size=(30, 3))
    upper, exact = (
        ClassScores.of(scores, read_labels(label, scores, "test"), per_class=per_class).p_values(new)
        for label in (sets, CredalPartition.from_fuzzy(np.eye(3)[y]))
    )
    assert (upper >= exact - 1e-12).all()


# Soft labels


def sets_of_labels(y, random):
    labels = np.eye(N_CLASSES)[y]
    doubtful = random.random(len(y)) < 0.3
    labels[doubtful, random.integers(N_CLASSES, size=len(y))[doubtful]] = 1
    return labels


def probabilities_of_labels(y, random):
    """Return calibrated probabilities: with probability w, the class with weight w is right."""
    others = (y + random.integers(1, N_CLASSES, size=len(y))) % N_CLASSES
    weights = random.choice([0.6, 0.8, 0.95], size=len(y))
    is_first = random.random(len(y)) < weights
    first, second = np.where(is_first, y, others), np.where(is_first, others, y)
    table = weights[:, None] * np.eye(N_CLASSES)[first] + (1 - weights)[:, None] * np.eye(N_CLASSES)[second]
    return CredalPartition.from_fuzzy(table)


@pytest.mark.slow
@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("labels", [sets_of_labels, probabilities_of_labels])
def test_true_classes_are_covered_if_labels_are_uncertain(labels, per_class):
    values = [coverage(frozen(seed, labels=labels, per_class=per_class)) for seed in range(20)]
    assert np.mean(values) > 0.89


def test_wrong_labels_reduce_the_coverage_by_at_most_their_share():
    def wrong(y, random):
        # The worst case: wrong labels are the most likely ones, and hide difficult samples.
        return np.where(random.random(len(y)) < 0.1, 0, y)

    values = [coverage(frozen(seed, labels=wrong)) for seed in range(20)]
    assert np.mean(values) > 0.8


def test_mass_on_all_classes_compensates_for_wrong_labels():
    def discounted(y, random):
        wrong = np.where(random.random(len(y)) < 0.1, 0, y)
        masses = np.zeros((len(y), N_CLASSES + 2))
        masses[np.arange(len(y)), 1 + wrong], masses[:, -1] = 0.9, 0.1
        return CredalPartition(masses, FocalSets.simple(N_CLASSES))

    assert np.mean([coverage(frozen(seed, labels=discounted)) for seed in range(20)]) > 0.9


def test_labels_without_information_give_sets_of_nearly_all_classes():
    model = frozen(0, labels=lambda y, random: np.ones((len(y), N_CLASSES)))
    assert model.predict_set(NEW).mean() > 0.9
    assert (model.decide_at_risk(NEW, 0.2) == "refused").all()


@pytest.mark.parametrize("classifier", [GaussianNB(), EvidentialKNNClassifier(9)])
def test_classifiers_are_fitted_to_soft_labels_or_to_the_most_probable_classes(classifier):
    labels = sets_of_labels(Y, np.random.default_rng(0))
    model = ConformalClassifier(classifier, cv=3, random_state=0).fit(X, labels)
    assert coverage(model) > 0.88
    assert model.score(NEW, NEW_Y) > 0.6


def test_labels_must_have_the_classes_of_a_frozen_classifier():
    samples, y = draw(60, 3)
    with pytest.raises(ValueError, match=r"not fitted to: \[7\]"):
        ConformalClassifier(FrozenEstimator(FITTED)).fit(samples, np.append(y[1:], 7))
    with pytest.raises(ValueError, match="same order"):
        ConformalClassifier(FrozenEstimator(FITTED)).fit(samples, np.ones((60, 3)))
    rows = y < 2
    model = ConformalClassifier(FrozenEstimator(FITTED)).fit(samples[rows], y[rows])
    assert model.predict_set(NEW).shape == (len(NEW), N_CLASSES)


# Rejection


@pytest.mark.slow
@pytest.mark.parametrize(("risk", "share"), [(0.05, 0), (0.1, 0.3), (0.15, 0.6)])
def test_the_error_rate_of_accepted_samples_is_below_the_risk_in_nearly_all_cases(risk, share):
    new, y = draw(20000, 9)
    accepted, errors = [], []
    for seed in range(60):
        decisions = frozen(seed, n_samples=400).decide_at_risk(new, risk, rejected_label=-1)
        rows = decisions >= 0
        accepted.append(rows.mean())
        errors.append((decisions[rows] != y[rows]).mean() if rows.any() else 0)
    # At most 10 % are expected; 17 % are 2 standard deviations of 60 cases.
    assert np.mean(np.array(errors) > risk) < 0.17
    assert np.mean(accepted) > share


@pytest.mark.parametrize("errors_of", ["any confidence", "low confidence", "high confidence"])
def test_the_risk_holds_for_any_relation_of_errors_to_confidence(errors_of):
    random, risk, larger = np.random.default_rng(0), 0.1, 0
    for _ in range(300):
        confidences = random.random(200)
        rates = {"any confidence": 0.12 + 0 * confidences, "low confidence": 0.3 * (1 - confidences)}.get(
            errors_of, 0.3 * confidences
        )
        limit = SelectiveRisk.of(confidences, 1.0 * (random.random(200) < rates)).threshold(risk, 0.9)
        limit = max(limit, 0)
        true_rate = {"any confidence": 0.12, "low confidence": 0.3 * (1 - limit) / 2}.get(
            errors_of, 0.3 * (1 + limit) / 2
        )
        larger += limit < 1 and true_rate > risk
    assert larger < 0.1 * 300 + 3 * np.sqrt(300 * 0.09)


def test_thresholds_of_extreme_cases():
    certain = SelectiveRisk.of(np.linspace(0, 1, 200), np.zeros(200))
    assert certain.threshold(0.05, 0.9) == -np.inf
    assert SelectiveRisk.of(np.ones(200), np.ones(200)).threshold(0.05, 0.9) == np.inf
    assert SelectiveRisk.of(np.ones(5), np.zeros(5)).threshold(0.05, 0.9) == np.inf
    half = SelectiveRisk.of(np.repeat([0.9, 0.4], 500), np.repeat([0.0, 1.0], 500))
    assert half.threshold(0.05, 0.9) == 0.4


# Unseen classes and missing values


def test_sets_of_unseen_classes_are_empty_around_a_detector():
    unseen = np.random.default_rng(0).normal((9.0, -6.0), size=(200, 2))
    detector = UnseenClassDetector(LinearDiscriminantAnalysis(), cv=4)
    model, plain = (
        ConformalClassifier(classifier, cv=0.5, random_state=0).fit(X, Y)
        for classifier in (detector, LinearDiscriminantAnalysis())
    )
    assert (~model.predict_set(unseen).any(axis=1)).mean() > 0.9
    assert model.predict_mass(unseen).outliers().mean() > 0.9
    assert (model.decide_at_risk(unseen, 0.1) == "refused").mean() > 0.9
    assert (~plain.predict_set(unseen).any(axis=1)).mean() < 0.1
    assert coverage(model) > 0.86


@pytest.mark.slow
@pytest.mark.parametrize(
    "classifier",
    [
        make_pipeline(SimpleImputer(), GaussianNB()),
        HistGradientBoostingClassifier(max_iter=10, random_state=0),
        EvidentialKNNClassifier(9),
    ],
    ids=["imputer", "boosting", "evidential neighbors"],
)
def test_samples_with_missing_values_are_covered(classifier):
    random, values = np.random.default_rng(0), []
    new = np.where(random.random(NEW.shape) < 0.3, np.nan, NEW)
    for seed in range(8):
        samples, y = draw(400, 40 + seed)
        samples[random.random(samples.shape) < 0.3] = np.nan
        model = ConformalClassifier(classifier, cv=0.4, random_state=seed).fit(samples, y)
        values.append(model.predict_set(new)[np.arange(len(new)), NEW_Y].mean())
    assert 0.87 < np.mean(values) < 0.95


def test_a_table_with_text_is_passed_to_a_pipeline():
    table = pd.DataFrame({"word": np.array(["a", "b", None, "d"], dtype=object)[Y], "number": X[:, 0]})
    encoder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["word"]), remainder="passthrough")
    model = ConformalClassifier(
        make_pipeline(encoder, LogisticRegression()), conformity_score="aps", cv=3, random_state=0
    ).fit(table, Y)
    assert model.predict_set(table)[np.arange(len(Y)), Y].mean() > 0.85
    assert model.predict_mass(table[10:12]).sample_names == ("10", "11")


# Parameters


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"confidence_level": 0.3}, "at least 0.5"),
        ({"confidence_level": 1.0}, "below 1"),
        ({"conformity_score": "raps"}, "conformity_score"),
        ({"per_class": "yes"}, "per_class"),
        ({"cv": 1}, "cv"),
        ({"cv": 1.5}, "cv"),
        ({"cv": 1.0}, "several classes"),
        ({"cv": 0.001}, "at least 1 calibration sample"),
    ],
)
def test_invalid_parameters_are_named(options, text):
    with pytest.raises(ValueError, match=text):
        ConformalClassifier(GaussianNB(), **options).fit(X, Y)


@pytest.mark.parametrize("estimator", [LinearSVC(), GaussianNB, None])
def test_the_estimator_must_have_probabilities(estimator):
    with pytest.raises(TypeError, match="estimator must have predict_proba or predict_mass"):
        ConformalClassifier(estimator).fit(X, Y)


def test_invalid_arguments_of_predictions_are_named():
    model = frozen(0)
    with pytest.raises(ValueError, match="confidence_level"):
        model.predict_set(NEW, confidence_level=0)
    with pytest.raises(ValueError, match="risk"):
        model.decide_at_risk(NEW, 0)
    with pytest.raises(ValueError, match="rejected_label"):
        model.decide_at_risk(NEW, 0.5, rejected_label=0)


def test_a_class_of_1_sample_has_no_support_in_its_fold():
    y = Y.copy()
    y[0] = 9
    model = ConformalClassifier(LinearDiscriminantAnalysis(), cv=3, random_state=0).fit(X, y)
    assert model.predict_set(NEW).shape == (len(NEW), N_CLASSES + 1)


def test_a_frozen_classifier_is_not_changed():
    inner = make_pipeline(SimpleImputer(), EvidentialForestClassifier(4)).fit(X, Y)
    model = ConformalClassifier(FrozenEstimator(inner), random_state=0).fit(X, Y)
    assert model.estimator_ is inner
    assert inner[-1].random_state is None
    np.testing.assert_allclose(model.predict_proba(NEW), inner.predict_proba(NEW))
