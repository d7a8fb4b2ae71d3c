"""Extreme values never lead to confident results: they become outliers, ignorance, or errors."""

import warnings

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from evlearn.active import ActiveClustering, PairOracle
from evlearn.classify import (
    EvidentialForestClassifier,
    EvidentialKNNClassifier,
    EvidentialNeuralClassifier,
    EvidentialRBFClassifier,
    FusionClassifier,
)
from evlearn.cluster import BPEC, CCM, CECM, ECM, EVCLUS, RECM, SECM, BootClus, ECMdd, EKNNClus, MergedMixture
from evlearn.cluster.pairwise.irqp import rows_against
from evlearn.conformal import ConformalClassifier, UnseenClassDetector
from evlearn.constraints import PairwiseConstraints
from evlearn.ensemble import CredalEnsemble
from evlearn.metric_learning import FDA, PCCA, LocalFDA
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.neighbors import find_nearest, find_neighbors

SINGLE = (1e10, 1e18, 1e20, 3.4e38)  # squares of the last two overflow
DOUBLE = (1e10, 1e20, 1e38, 1e154, 1e200, 1.7e308)
CASES = [("float32", scale) for scale in SINGLE] + [("float64", scale) for scale in DOUBLE]
OUTLIER, N_SAMPLES = 11, 80


def chain_graph(rows):
    """Return a graph in which each sample has the next one as its neighbor."""
    return np.eye(len(rows), k=1)


CLUSTERERS = {
    "ECM": lambda: ECM(2, random_state=0),
    "ECM, beta 1.5": lambda: ECM(2, beta=1.5, random_state=0),
    "ECM, no outliers": lambda: ECM(2, delta=np.inf, random_state=0),
    "ECM, adaptive": lambda: ECM(2, metric="adaptive", random_state=0),
    "ECM, peaks": lambda: ECM(2, init="peaks", random_state=0),
    "CCM": lambda: CCM(2, random_state=0),
    "SECM": lambda: SECM(2, connectivity=chain_graph, random_state=0),
    "CECM": lambda: CECM(2, random_state=0),
    "BPEC": lambda: BPEC(2, random_state=0),
    "EVCLUS": lambda: EVCLUS(2, random_state=0),
    "EVCLUS, landmarks": lambda: EVCLUS(2, solver="landmark", n_landmarks=40, random_state=0),
    "EVCLUS, linear": lambda: EVCLUS(2, dissimilarity_transform="linear", random_state=0),
    "RECM": lambda: RECM(2, random_state=0),
    "RECM, kmeans": lambda: RECM(2, init="kmeans", random_state=0),
    "ECMdd": lambda: ECMdd(2, random_state=0),
    "ECMdd, weighted": lambda: ECMdd(2, medoids="weighted", random_state=0),
    "ECMdd, median": lambda: ECMdd(2, medoids="median", random_state=0),
    "EKNNClus": lambda: EKNNClus(n_neighbors=39, random_state=0),
    "BootClus": lambda: BootClus(2, covariance_models="VVV", n_bootstrap=20, random_state=0),
    "MergedMixture": lambda: MergedMixture(2, random_state=0),
    "CredalEnsemble": lambda: CredalEnsemble([ECM(2), RECM(2)], random_state=0),
    "ActiveClustering": lambda: ActiveClustering(CECM(2, random_state=0), random_state=0),
}
WITH_OUTLIERS = [
    *("ECM", "ECM, beta 1.5", "ECM, adaptive", "ECM, peaks", "CCM", "SECM", "CECM", "BPEC", "ActiveClustering"),
    *("EVCLUS", "EVCLUS, landmarks", "EVCLUS, linear", "RECM", "RECM, kmeans", "ECMdd", "ECMdd, weighted"),
    "ECMdd, median",
]
CLASSIFIERS = {
    "EvidentialForestClassifier": lambda: EvidentialForestClassifier(20, random_state=0),
    "ConformalClassifier": lambda: ConformalClassifier(EvidentialKNNClassifier(), cv=2, random_state=0),
    "UnseenClassDetector": lambda: UnseenClassDetector(EvidentialKNNClassifier(), cv=2, random_state=0),
    "EvidentialKNNClassifier": lambda: EvidentialKNNClassifier(),
    "EvidentialNeuralClassifier": lambda: EvidentialNeuralClassifier(random_state=0),
    "EvidentialRBFClassifier": lambda: EvidentialRBFClassifier(random_state=0),
    "FusionClassifier": lambda: FusionClassifier([("near", EvidentialKNNClassifier())]),
}
TRANSFORMERS = {
    "FDA": lambda: FDA(),
    "LocalFDA": lambda: LocalFDA(),
    "kernel FDA": lambda: FDA(kernel="rbf"),
    "PCCA": lambda: PCCA(n_components=1, random_state=0),
    "kernel PCCA": lambda: PCCA(n_components=1, kernel="rbf", random_state=0),
}
OTHERS = {
    "ParsimoniousGaussianMixture": lambda: ParsimoniousGaussianMixture(2, covariance_models="VVV", random_state=0)
}
ALL = CLUSTERERS | CLASSIFIERS | TRANSFORMERS | OTHERS

FITTED = {}


def blobs(dtype, n_features=3):
    random = np.random.RandomState(3)
    data = random.randn(N_SAMPLES, n_features)
    data[N_SAMPLES // 2 :] += 6
    return data.astype(dtype), np.repeat([0, 1], N_SAMPLES // 2)


def fit(name, X, y):
    model = ALL[name]()
    if name == "ActiveClustering":
        return model.start(X).run(PairOracle(y), 3).estimator_
    if "PCCA" in name:
        return model.fit(X, constraints=PairwiseConstraints.sample(y, 30, random_state=0))
    return model.fit(X, y) if name in CLASSIFIERS or name in TRANSFORMERS else model.fit(X)


def fitted(name, dtype):
    if (name, dtype) not in FITTED:
        FITTED[name, dtype] = fit(name, *blobs(dtype))
    return FITTED[name, dtype]


def labels_without_outlier(name, dtype):
    """Return the labels of a fit to the other samples."""
    if (name, dtype, "without") not in FITTED:
        X, y = (np.delete(values, OUTLIER, axis=0) for values in blobs(dtype))
        FITTED[name, dtype, "without"] = fit(name, X, y).predict(X)
    return FITTED[name, dtype, "without"]


def far_rows(value, dtype):
    """Return extreme rows: all values or a single value, with both signs."""
    rows = np.full((4, 3), value, dtype=dtype)
    rows[1] *= -1
    rows[2:, 1:] = 1
    rows[3, 0] *= -1
    return rows


def single_beliefs(partition):
    masses, focal_sets = partition.masses, partition.focal_sets
    assert np.isfinite(masses).all()
    np.testing.assert_allclose(masses.sum(axis=1), 1, atol=1e-5)
    return masses[:, focal_sets.singleton_positions]


def same_labels(labels, expected):
    """Return the proportion of samples with the same of two labels, up to renaming."""
    table = np.zeros((labels.max() + 1, expected.max() + 1))
    np.add.at(table, (labels, expected), 1)
    return table[linear_sum_assignment(-table)].sum() / len(labels)


def check_refusal(error):
    """Check that an error is our own message about the value."""
    text = str(error)
    assert any(word in text for word in ("values", "range", "finite", "squares", "far", "infinity")), text


@pytest.mark.parametrize(("dtype", "value"), CASES)
@pytest.mark.parametrize("name", CLUSTERERS | CLASSIFIERS)
def test_a_new_extreme_sample_has_no_confident_result(name, dtype, value):
    model = fitted(name, dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for row in far_rows(value, dtype):
            try:
                partition = model.predict_mass(row[None])
                model.predict(row[None])
                shares = model.predict_proba(row[None])
            except ValueError as error:
                check_refusal(error)
                continue
            assert single_beliefs(partition).max() <= 0.501, row
            assert name not in WITH_OUTLIERS or partition.masses[0, 0] > 0.9, row
            assert np.isfinite(shares).all()
            assert shares.max() <= 0.75, row


@pytest.mark.parametrize(("dtype", "value"), CASES)
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("name", CLUSTERERS | CLASSIFIERS)
def test_an_extreme_sample_does_not_affect_a_fit(name, whole, dtype, value):
    X, y = blobs(dtype)
    X[OUTLIER, slice(None) if whole else 1] = value
    others = np.arange(N_SAMPLES) != OUTLIER
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        try:
            model = fit(name, X, y)
        except ValueError as error:
            check_refusal(error)
            return
        partition = model.predict_mass(X) if name in CLASSIFIERS else model.credal_partition_
        labels = model.predict(X)
    assert not [record for record in records if issubclass(record.category, RuntimeWarning)]
    beliefs = single_beliefs(partition)
    assert name not in WITH_OUTLIERS or partition.masses[OUTLIER, 0] > 0.9
    if name not in CLASSIFIERS:  # whose training data are valid
        assert beliefs[OUTLIER].max() <= 0.501
    if not records:
        assert same_labels(labels[others], labels_without_outlier(name, dtype)) >= 0.95
        assert np.median(beliefs[others].max(axis=1)) > 0.4


@pytest.mark.parametrize(("dtype", "value"), CASES)
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_features_of_extreme_samples_are_finite_or_refused(name, dtype, value):
    model = fitted(name, dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for row in far_rows(value, dtype):
            try:
                assert np.isfinite(model.transform(row[None])).all()
            except ValueError as error:
                check_refusal(error)
        X, y = blobs(dtype)
        X[OUTLIER] = value
        with pytest.raises(ValueError, match="values of up to"):
            fit(name, X, y)


@pytest.mark.parametrize(("dtype", "value"), CASES)
def test_a_mixture_is_ignorant_about_extreme_samples(dtype, value):
    model = fitted("ParsimoniousGaussianMixture", dtype)
    X, y = blobs(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for row in far_rows(value, dtype):
            try:
                shares, logs = model.predict_proba(row[None]), model.score_samples(row[None])
            except ValueError as error:
                check_refusal(error)
                continue
            np.testing.assert_allclose(shares, 0.5)
            assert np.isfinite(logs).all()
        X[OUTLIER] = value
        with pytest.raises(ValueError, match="values of up to"):
            fit("ParsimoniousGaussianMixture", X, y)


@pytest.mark.parametrize("place", [4, 12345])  # outside and inside of the sample of 20,000 rows
@pytest.mark.parametrize(("dtype", "value"), [("float32", 1e25), ("float32", -3e38), ("float64", 1e200)])
def test_an_extreme_sample_among_many_does_not_move_the_centers(dtype, value, place):
    random = np.random.RandomState(0)
    X = np.concatenate([random.randn(15000, 2), random.randn(15000, 2) + 9]).astype(dtype)
    before = ECM(2, random_state=1).fit(X).cluster_centers_
    X[place] = value
    model = ECM(2, random_state=1).fit(X)
    assert np.isfinite(model.objective_)
    assert model.masses_[place, 0] == 1
    shifts = np.abs(model.cluster_centers_[:, None] - before).max(axis=2).min(axis=1)
    assert shifts.max() < 0.01


@pytest.mark.parametrize("value", [1e10, 1e25, 3.4e38])
@pytest.mark.parametrize("place", [3, 70])
def test_extreme_samples_do_not_affect_data_in_chunks(value, place):
    X, y = blobs("float32")
    X[place] = value
    model = ECM(2, random_state=0).fit(iter([X[:40], X[40:]]))
    masses = model.predict_mass(iter([X[:40], X[40:]])).masses
    assert masses[place, 0] > 0.99
    assert same_labels(np.delete(masses[:, 1:3].argmax(axis=1), place), np.delete(y, place)) == 1


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_without_an_empty_set_extreme_samples_are_refused(learn):
    X, _ = blobs("float64")
    model = ECM(2, delta=np.inf, random_state=0)
    getattr(model, learn)(X)
    before = model.cluster_centers_
    X[OUTLIER] = 1e12
    with pytest.raises(ValueError, match=r"values up to .* delta=inf"):
        getattr(model, learn)(X)
    np.testing.assert_array_equal(model.cluster_centers_, before)


def test_without_an_empty_set_masses_converge_where_squares_overflow():
    for dtype, values in (("float32", (1e12, 1e25, 3.4e38)), ("float64", (1e12, 1e160, 1.7e308))):
        for beta in (1.5, 2.0):
            model = ECM(3, delta=np.inf, beta=beta, random_state=0).fit(blobs(dtype)[0])
            typical, *extremes = (
                model.predict_mass(np.full((1, 3), value, dtype=dtype)).masses for value in values
            )
            for value in extremes:
                np.testing.assert_allclose(value, typical, rtol=1e-5)


def test_data_tiny_in_single_precision_have_the_masses_of_others():
    X, _ = blobs("float32")
    masses = ECM(2, random_state=0).fit(X).masses_
    np.testing.assert_allclose(ECM(2, random_state=0).fit(X * np.float32(2.0**-130)).masses_, masses, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("factor", [1e-300, 1e-50, 1e50, 1e290])
def test_weights_may_have_any_unit(dtype, factor):
    X, _ = blobs(dtype)
    weights = 0.2 + np.random.RandomState(0).rand(N_SAMPLES)
    weights *= N_SAMPLES / weights.sum() * (1e6 if factor > 1 else 0.5)
    model = ECM(2, random_state=0).fit(X, sample_weight=weights)
    other = ECM(2, random_state=0).fit(X, sample_weight=weights * factor)
    assert other.delta_ == pytest.approx(model.delta_, rel=1e-5)
    assert other.objective_ / factor == pytest.approx(model.objective_, rel=1e-5)
    np.testing.assert_allclose(other.cluster_centers_, model.cluster_centers_, rtol=1e-4)
    np.testing.assert_allclose(other.objective_history_ / factor, model.objective_history_, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("factor", [1e-60, 1e60])
def test_weights_of_several_portions_stay_comparable(dtype, factor):
    X, _ = blobs(dtype)
    first, second = ECM(2, delta=15, random_state=0), ECM(2, delta=15, random_state=0)
    for part, weight in zip((X[::3], X[1::3], X[2::3]), (1.0, 1e-8, 300.0), strict=True):
        first.partial_fit(part, sample_weight=weight)
        second.partial_fit(part, sample_weight=weight * factor)
    np.testing.assert_allclose(second.cluster_centers_, first.cluster_centers_, rtol=1e-4)


@pytest.mark.parametrize(("dtype", "value"), [("float32", 1e6), ("float32", 1e9), ("float64", 1e10)])
@pytest.mark.parametrize("solver", ["exact", "landmark"])
def test_an_extreme_reference_does_not_affect_distances_in_evclus(dtype, value, solver):
    X = np.random.RandomState(0).randn(301, 2).astype(dtype)
    X[150:] += 4
    X[0] = value
    model = EVCLUS(2, d0=6, solver=solver, n_landmarks=301, random_state=0).fit(X)
    internal = model._model
    targets = internal.transform(cdist(X.astype(float), internal.landmarks.astype(float)))
    expected = rows_against(targets, internal.masses, internal.focal_sets.conflict_matrix[None])
    np.testing.assert_allclose(model.predict_mass(X).masses, expected, atol=2e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("value", [1e6, 1e9, 1e12])
def test_neighbors_with_many_features_equal_those_of_direct_differences(dtype, value):
    X = np.random.RandomState(0).randn(200, 20).astype(dtype)
    X[7:9] = value
    X[8, 0] *= 1.01
    neighbors = find_neighbors(X, 5, metric="euclidean", n_jobs=None).indices
    distances = cdist(X.astype(float), X.astype(float))
    np.fill_diagonal(distances, np.inf)
    nearest = np.sort(distances, axis=1)[:, :5]
    np.testing.assert_allclose(
        np.sort(np.take_along_axis(distances, neighbors, axis=1), axis=1), nearest, rtol=1e-6
    )
    graph = find_nearest(X, X, 5, metric="sqeuclidean", n_jobs=None)
    np.fill_diagonal(distances, 0)
    np.testing.assert_allclose(
        np.sort(graph.data.reshape(200, 5), axis=1), np.sort(distances, axis=1)[:, :5] ** 2, rtol=1e-4, atol=1e-8
    )


def test_adaptive_metrics_are_unaffected_by_an_extreme_sample():
    X, _ = blobs("float64")
    start = X[[0, -1]]
    without_outlier = ECM(2, metric="adaptive", delta=20, init=start, tol=1e-13).fit(np.delete(X, OUTLIER, axis=0))
    X[OUTLIER] = 1e9
    with_outlier = ECM(2, metric="adaptive", delta=20, init=start, tol=1e-13).fit(X)
    np.testing.assert_allclose(
        np.delete(with_outlier.masses_, OUTLIER, axis=0), without_outlier.masses_, atol=1e-7
    )
    np.testing.assert_allclose(with_outlier.metrics_, without_outlier.metrics_, atol=1e-6)


def test_an_extreme_training_sample_does_not_make_a_classifier_overconfident():
    X, y = blobs("float64")
    X[OUTLIER] = 1e10
    model = EvidentialKNNClassifier().fit(X, y)
    assert model.score(np.delete(X, OUTLIER, axis=0), np.delete(y, OUTLIER)) == 1
    assert model.predict_mass(np.full((1, 3), 1e4)).masses[0, -1] > 0.99


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"standardize": False}, {"outlier_model": "svm"}], ids=str)
def test_a_network_is_ignorant_about_extreme_samples(settings):
    neural = pytest.importorskip("evlearn.neural", exc_type=ImportError)
    for dtype, values in (("float32", SINGLE), ("float64", DOUBLE)):
        model = neural.NNEVCLUS(2, random_state=0, **settings).fit(blobs(dtype)[0])
        for value in values:
            for row in far_rows(value, dtype):
                np.testing.assert_array_equal(model.predict_mass(row[None]).masses, [[1, 0, 0, 0]])


@pytest.mark.parametrize(("dtype", "value"), [("float32", 1e10), ("float32", 3.4e38), ("float64", 1e100)])
@pytest.mark.parametrize("place", [0, OUTLIER])
@pytest.mark.slow
def test_a_network_learns_with_an_extreme_sample(dtype, value, place):
    neural = pytest.importorskip("evlearn.neural", exc_type=ImportError)
    X, y = blobs(dtype)
    X[place] = value
    model = neural.NNEVCLUS(2, random_state=0).fit(X)
    assert model.masses_[place, 0] == 1
    assert same_labels(np.delete(model.labels_, place), np.delete(y, place)) == 1


def test_a_network_refuses_values_whose_squares_overflow():
    neural = pytest.importorskip("evlearn.neural", exc_type=ImportError)
    for value in (1e154, 1.7e308):
        X, _ = blobs("float64")
        X[OUTLIER] = value
        with pytest.raises(ValueError, match="values of up to"):
            neural.NNEVCLUS(2, random_state=0).fit(X)
