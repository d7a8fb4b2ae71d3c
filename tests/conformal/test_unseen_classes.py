"""Detection of unseen classes: false alarms, detection rate, rehearsals, verdicts and shift."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from evlearn import CredalPartition
from evlearn.classify import (
    EvidentialForestClassifier,
    EvidentialKNNClassifier,
    EvidentialNeuralClassifier,
    EvidentialRBFClassifier,
)
from evlearn.conformal import UnseenClassDetector
from evlearn.conformal.nonconformity import CRITERIA, Strangeness, fit_weights, surprisal

SMALL = EvidentialForestClassifier(20, effective_n_estimators=1, min_samples_split=2, reach=None)
CLASSIFIERS = [
    SMALL,
    EvidentialKNNClassifier(),
    EvidentialNeuralClassifier(6, max_iter=200),
    EvidentialRBFClassifier(max_iter=300),
    make_pipeline(StandardScaler(), LogisticRegression()),
]


def groups(n_samples, random_state, centers=4):
    points = np.random.default_rng(0).uniform(-9, 9, size=(centers, 3))
    return make_blobs(n_samples, centers=points, cluster_std=2.5, random_state=random_state)


@parametrize_with_checks([UnseenClassDetector(EvidentialKNNClassifier(3), cv=2, random_state=0)])
@pytest.mark.slow_cells(
    "check_classifiers_classes",
    "check_classifiers_train",
    "check_classifiers_train(readonly_memmap=True)",
    "check_classifiers_train(readonly_memmap=True,X_dtype=float32)",
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda classifier: type(classifier).__name__)
def test_the_false_alarm_rate_holds_and_unseen_classes_are_detected(classifier):
    X, y = groups(1200, 1)
    mask = y[:600] != 3
    for rate in (0.05, 0.2):
        model = UnseenClassDetector(classifier, false_alarm_rate=rate, random_state=0)
        model.fit(X[:600][mask], y[:600][mask])
        alarms, is_unseen = model.is_unseen(X[600:]), y[600:] == 3
        # 450 new samples of known classes, and as many training samples: 3 standard deviations.
        assert rate / 3 < alarms[~is_unseen].mean() < rate + 3 * np.sqrt(2 * rate * (1 - rate) / 450)
        assert alarms[is_unseen].mean() > 2 * rate


@pytest.mark.slow
def test_a_digit_absent_from_training_is_detected():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    train, new = order[:900], order[900:]
    train = train[y[train] != 4]
    model = UnseenClassDetector(SMALL, random_state=0).fit(X[train], y[train])
    assert model.n_rehearsals_ == 9
    alarms, is_unseen = model.is_unseen(X[new]), y[new] == 4
    assert 0.02 < alarms[~is_unseen].mean() < 0.08
    assert alarms[is_unseen].mean() > 0.7


def alarms_with_copies(copies, seed, rate=0.1):
    """Return alarms for new samples, and their classes, after copying training samples."""
    X, y = groups(150, seed, centers=3)
    rows = np.repeat(np.arange(150), copies if np.ndim(copies) == 0 else np.asarray(copies)[y])
    model = UnseenClassDetector(EvidentialKNNClassifier(5), false_alarm_rate=rate, random_state=0)
    new, truth = groups(300, 100 + seed, centers=3)
    return model.fit(X[rows], y[rows]).is_unseen(new), truth


@pytest.mark.parametrize("copies", [1, 2, 6, (1, 1, 5)])
@pytest.mark.slow
def test_copies_of_samples_do_not_change_the_rate_of_false_alarms(copies):
    alarms, truth = map(np.concatenate, zip(*(alarms_with_copies(copies, seed) for seed in range(4)), strict=True))
    assert 0.05 < alarms.mean() < 0.15
    assert max(alarms[truth == k].mean() for k in range(3)) < 0.2


def test_copies_of_all_samples_change_no_p_value():
    X, y = groups(60, 0, centers=3)
    new = X + 0.5
    originals, copies = (
        UnseenClassDetector(LinearDiscriminantAnalysis(), random_state=0).fit(X[rows], y[rows]).p_values(new)
        for rows in (np.arange(60), np.tile(np.arange(60), 3))
    )
    np.testing.assert_allclose(copies, originals, atol=0.05)
    assert originals.min() >= 1 / 61
    assert copies.min() >= 1 / 61


@pytest.mark.parametrize("n_samples", [2, 3, 8])
def test_fewer_samples_than_parts_are_rejected(n_samples):
    X, y = np.random.default_rng(0).normal(size=(n_samples, 3)), np.arange(n_samples) % 2
    with pytest.raises(ValueError, match=f"cv=10 needs at least 10 distinct samples, got {n_samples} among"):
        UnseenClassDetector().fit(X, y)
    with pytest.raises(ValueError, match=f"got {n_samples} among n_samples = {5 * n_samples}: add samples"):
        UnseenClassDetector().fit(np.tile(X, (5, 1)), np.tile(y, 5))


@pytest.mark.parametrize("y", [[0, 1], [0, 0, 1], [0] * 11 + [1]], ids=len)
@pytest.mark.parametrize("estimator", [None, EvidentialKNNClassifier(), LinearDiscriminantAnalysis()])
def test_a_class_of_one_sample_is_rejected_with_2_classes(y, estimator):
    X = np.random.default_rng(0).normal(size=(len(y), 3))
    with pytest.raises(ValueError, match="at least 2 classes with 2 or more distinct samples each"):
        UnseenClassDetector(estimator, cv=2).fit(X, y)


@pytest.mark.parametrize("y", [[0, 0, 1, 1], [0] * 10 + [1, 2], [0, 0, 0, 1, 1, 1]], ids=len)
def test_small_data_may_be_enough(y):
    X = np.random.default_rng(0).normal(size=(len(y), 3))
    p_values = UnseenClassDetector(EvidentialKNNClassifier(1), cv=2, random_state=0).fit(X, y).p_values(X)
    assert (p_values > 0).all()
    assert (p_values <= 1).all()


@pytest.fixture(scope="module")
def fitted():
    X, y = groups(300, 0)
    return UnseenClassDetector(SMALL, random_state=0).fit(X, y)


def test_verdicts_call_the_same_samples_outliers(fitted):
    X = np.random.default_rng(1).uniform(-25, 25, size=(200, 3))
    alarms = fitted.is_unseen(X)
    assert 0 < alarms.mean() < 1
    partition = fitted.predict_mass(X)
    np.testing.assert_array_equal(partition.verdict().outlier, alarms)
    np.testing.assert_allclose(partition.masses.sum(axis=1), 1)
    np.testing.assert_array_equal(fitted.predict_set(X).any(axis=1), ~alarms)
    assert set(fitted.predict(X)) <= set(fitted.classes_)  # the most plausible of the known classes


def test_far_samples_have_the_smallest_p_value(fitted):
    rows = np.array([[1e3, 0, 0], [-1e9, 1e9, 0], [1e100, 0, 1]])
    np.testing.assert_allclose(fitted.p_values(rows), 1 / 301)


def test_samples_that_arrive_one_at_a_time_have_the_same_p_values(fitted):
    X, _ = groups(40, 5)
    np.testing.assert_array_equal(fitted.p_values(X), [fitted.p_values(row[None])[0] for row in X])


def test_a_shift_is_detected_without_false_alarms(fitted):
    X, _ = groups(200, 7)
    assert fitted.shift_p_value(X) > 0.001
    assert fitted.shift_p_value(X + 4.0) < 1e-6


@pytest.mark.slow
def test_the_result_depends_on_the_seed_but_not_on_n_jobs():
    X, y = groups(150, 2)
    serial, parallel = (
        UnseenClassDetector(EvidentialKNNClassifier(), n_jobs=n, random_state=3).fit(X, y).p_values(X + 0.5)
        for n in (None, 2)
    )
    np.testing.assert_array_equal(serial, parallel)


@pytest.mark.slow
def test_names_of_classes_and_searches():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = UnseenClassDetector(EvidentialKNNClassifier(), random_state=0).fit(X, names)
    assert model.predict_mass(X).focal_sets.names == ("setosa", "versicolor", "virginica")
    assert (model.predict(X) == names).mean() > 0.9
    assert sum(model.weights_.values()) == pytest.approx(1)
    search = GridSearchCV(model, {"estimator__n_neighbors": [3, 9]}, cv=3).fit(X, names)
    assert search.predict_mass(X[:2]).n_samples == 2 if hasattr(search, "predict_mass") else True


@pytest.mark.slow
def test_with_two_classes_there_are_no_rehearsals_and_all_criteria_have_equal_weights():
    X, y = groups(60, 0, centers=2)
    model = UnseenClassDetector(EvidentialKNNClassifier(), random_state=0).fit(X, y)
    assert model.n_rehearsals_ == 0
    np.testing.assert_allclose(list(model.weights_.values()), 1 / len(CRITERIA))


numbers = st.lists(st.floats(-5, 5), min_size=2, max_size=20)


@given(usual=numbers, new=numbers)
@settings(deadline=None, max_examples=50)
def test_surprisal_increases_with_strangeness_and_gives_valid_p_values(usual, new):
    references, scores = np.sort(usual)[:, None], np.sort(new)[:, None]
    surprisals = surprisal(scores, references)[:, 0]
    assert (np.diff(surprisals) >= 0).all()
    assert (surprisals >= 0).all()
    # At most a share p of the references has a p-value of p or less.
    shares = np.exp(-surprisal(references, references, are_included=True)[:, 0])
    assert all((shares <= p + 1e-9).mean() <= p + 1e-9 for p in shares)


def test_the_criterion_that_separates_unseen_classes_has_the_largest_weight():
    random = np.random.default_rng(0)
    others, strangers = random.exponential(size=(2, 400, len(CRITERIA)))
    strangers[:, 2] += 3
    weights = fit_weights([(strangers, others)])
    assert weights.argmax() == 2
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)


def test_strangers_count_as_much_as_others_however_many_they_are():
    random = np.random.default_rng(0)
    others, strangers = random.exponential(size=(2, 60, len(CRITERIA)))
    strangers[:, 2] += 1
    weights = fit_weights([(strangers, others)])
    repeated = fit_weights([(np.repeat(strangers, 9, axis=0), others)])
    np.testing.assert_allclose(repeated, weights, atol=1e-3)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (UnseenClassDetector(false_alarm_rate=0), "false_alarm_rate must be"),
        (UnseenClassDetector(false_alarm_rate=0.7), "false_alarm_rate must be"),
        (UnseenClassDetector(cv=1), "cv must be a whole number of at least 2"),
    ],
)
def test_errors_name_the_parameter(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit([[0.0], [1.0]], [0, 1])


def test_soft_labels_are_rejected():
    X, y = groups(30, 0)
    with pytest.raises(ValueError, match="y must contain a single class for each sample"):
        UnseenClassDetector().fit(X, CredalPartition.from_fuzzy(np.eye(4)[y]))


def test_samples_have_the_smallest_p_value_beyond_twice_the_largest_distance():
    # The largest distance between a training sample and the nearest other one is 80: that of 120, which is also
    # the sample with the largest doubt.
    X = np.concatenate([np.arange(40.0), [120], np.arange(200.0, 240)])[:, None]
    y = np.repeat([0, 1], [40, 41])
    model = UnseenClassDetector(LinearDiscriminantAnalysis(), random_state=0).fit(X, y)
    new = 80 * np.array([[-2.5], [-2.2], [-1.8], [-1.1]])
    np.testing.assert_allclose(model.p_values(new), np.array([1, 1, 2, 2]) / 82)


TRAINING_ROWS: list[np.ndarray] = []  # row numbers of the training samples of each fit of a Recorder


class Recorder(EvidentialKNNClassifier):
    """Classifier that records the row numbers of its training samples, stored in the first feature."""

    def fit(self, X, y, sample_weight=None):
        TRAINING_ROWS.append(np.sort(np.asarray(X)[:, 0]).astype(int))
        return super().fit(X, y, sample_weight)


def test_each_rehearsal_leaves_out_another_part():
    X, y = groups(80, 0)
    X[:, 0] = np.arange(80)
    TRAINING_ROWS.clear()
    UnseenClassDetector(Recorder(3), cv=4, random_state=0).fit(X, y)
    rehearsals = [rows for rows in TRAINING_ROWS if len(np.unique(y[rows])) == 3]
    assert len(rehearsals) == 4
    assert len(TRAINING_ROWS) == 4 + 4 + 1  # rehearsals, parts, and all samples
    omitted = [np.setdiff1d(np.flatnonzero(np.isin(y, y[rows])), rows) for rows in rehearsals]
    assert [len(rows) for rows in omitted] == [15] * 4
    assert len(np.unique(np.concatenate(omitted))) > 40  # different samples, most of them


def test_distances_count_by_what_is_usual_in_their_place():
    points = np.random.default_rng(0).normal(size=(60, 2))
    offset = np.array([1e4, 0])
    X, y = np.vstack([points, offset + 100 * points]), np.repeat([0, 1], 60)
    strangeness = Strangeness.fit(LinearDiscriminantAnalysis(), X, y)
    new = np.random.default_rng(1).uniform(-5, 5, size=(20, 2))
    criterion = CRITERIA.index("far_for_its_place")
    dense, sparse = (strangeness.score(rows)[:, criterion] for rows in (new, offset + 100 * new))
    np.testing.assert_allclose(dense, sparse, atol=0.05)
    # A distance that is usual in the sparse class is large close to the dense class.
    assert (strangeness.score(new + np.array([100, 0]))[:, criterion] > dense.max()).all()
    assert np.corrcoef(dense, strangeness.score(new)[:, CRITERIA.index("far_within_classes")])[0, 1] > 0.9
