"""Checks of parameters and of the range of numbers: accepted values and messages."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans

from evlearn.classify import EvidentialKNNClassifier, EvidentialRBFClassifier
from evlearn.cluster import ECM, EVCLUS, RECM, BootClus, EKNNClus
from evlearn.constraints import PairwiseConstraints
from evlearn.ensemble import CredalEnsemble
from evlearn.metric_learning import FDA, LocalFDA
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.neural import NNEVCLUS
from evlearn.utils.validation import check_flag, check_range, check_real, check_sparse

y = np.arange(30) % 3
X = np.array([[0.0, 0], [9, 0], [0, 9]])[y] + np.random.default_rng(0).normal(size=(30, 2))


def test_infinity_is_accepted_only_where_it_is_meaningful():
    check_real("delta", np.inf, 0, or_infinity=True)
    with pytest.raises(ValueError, match=r"tol must be a number at least 0 and finite, got inf"):
        check_real("tol", np.inf, 0)
    assert np.isfinite(ECM(3, delta=np.inf, random_state=0).fit(X).masses_).all()
    with pytest.raises(ValueError, match=r"beta must be 'auto' or a number above 1 and finite, got inf"):
        ECM(3, beta=np.inf).fit(X)


@pytest.mark.parametrize("value", [None, 1, "no", np.eye(2)])
def test_a_flag_is_true_or_false(value):
    check_flag("shuffle", np.False_)
    with pytest.raises(ValueError, match="shuffle must be True or False, got"):
        check_flag("shuffle", value)
    with pytest.raises(ValueError, match="standardize must be True or False, got"):
        NNEVCLUS(3, standardize=value).fit(X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_are_refused_exactly_when_their_squares_overflow_or_underflow(dtype):
    limits = np.finfo(dtype)
    for value in (dtype(0), dtype(1), 0.005 * limits.max**0.5, 200 * limits.tiny**0.5):
        check_range("X", np.array([[value]], dtype=dtype), fitting=True)
    for value in (limits.max, -limits.max, limits.tiny):
        with pytest.raises(ValueError, match=r"X has values of up to .* rescale X"):
            check_range("X", np.array([[value]], dtype=dtype), fitting=True)
    check_range("X", np.array([[limits.tiny]]), fitting=False)


@pytest.mark.parametrize(
    "model",
    [EVCLUS(3), RECM(3, metric="precomputed"), FDA(), LocalFDA(), CredalEnsemble([KMeans(3)])],
    ids=lambda estimator: type(estimator).__name__,
)
def test_data_whose_squares_overflow_are_refused(model):
    data = np.abs(X @ X.T) if getattr(model, "metric", "") == "precomputed" else X
    with pytest.raises(ValueError, match=r"X has values of up to .* rescale X"):
        model.fit(data * 1e300, y)


def test_the_place_of_the_decimal_point_does_not_matter_to_evclus():
    labels = EVCLUS(3, random_state=0).fit(X).labels_
    for factor in (1e150, 1e-150):
        np.testing.assert_array_equal(EVCLUS(3, random_state=0).fit(X * factor).labels_, labels)


def test_an_extreme_row_is_an_outlier():
    extreme = np.array([[1e300, -1e300]])
    masses = ECM(3, metric="adaptive", random_state=0).fit(X).predict_mass(extreme).masses
    assert masses[0, 0] > 0.999
    with pytest.raises(ValueError, match="rescale X"):
        ParsimoniousGaussianMixture(3, random_state=0).fit(X).predict_proba(extreme)


@pytest.mark.parametrize("value", [None, 3, object()])
def test_models_must_be_names(value):
    for model in (ParsimoniousGaussianMixture(3, covariance_models=value), BootClus(3, covariance_models=value)):
        with pytest.raises(ValueError, match="covariance_models must be one of"):
            model.fit(X)


@pytest.mark.parametrize("value", ["a", object(), -1, [1, 2, np.nan]])
def test_scales_must_be_numbers(value):
    with pytest.raises(ValueError, match="gamma must"):
        EvidentialKNNClassifier(gamma=value).fit(X, y)


def test_a_checkpoint_is_a_path():
    with pytest.raises(ValueError, match="checkpoint must be None or the path of a file, got 3"):
        ECM(3, checkpoint=3).fit(X)


def test_partners_are_a_number_or_a_table():
    with pytest.raises(ValueError, match="n_partners must be a whole number"):
        EVCLUS(3, n_partners=[]).fit(X)


def test_clusterers_have_no_names():
    with pytest.raises(
        ValueError, match=r"clusterers must be estimators such as ECM\(3\), without names, got \('a', ECM\(\)\)"
    ):
        CredalEnsemble([("a", ECM(3))]).fit(X)


def test_an_ensemble_fitted_in_double_precision_predicts_in_single():
    model = CredalEnsemble([KMeans(3, n_init=1), ECM(3)], random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X.astype(np.float32)), model.predict(X))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_labels_that_cannot_be_learned_overflow_nowhere():
    model = EvidentialRBFClassifier(random_state=0).fit(X[:, :1] * [[1e3]], np.arange(30))
    assert np.isfinite(model.objective_)


def test_neighbors_of_very_different_scales_overflow_nowhere():
    rows = np.array([1e-150] * 8 + [2e-150] * 3 + [0, 1e8, 1e-150])[:, None]
    labels = np.array([0, 0, 1, 0, 1, 0, 2, 1, 0, 0, 2, 2, 2, 0])
    model = EvidentialKNNClassifier().fit(rows, labels)
    assert np.isfinite(model.predict_mass(rows).masses).all()


def broken(kind, number):
    """Return a sparse matrix with an invalid column index."""
    matrix = kind(np.arange(1.0, 37).reshape(6, 6))
    indices = matrix.row if matrix.format == "coo" else matrix.indices
    indices[-1] = number
    return matrix


@pytest.mark.parametrize("number", [6, -1, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix, sparse.bsr_array, sparse.coo_array])
def test_indices_outside_a_sparse_matrix_are_refused(kind, number):
    matrix = broken(kind, number)
    with pytest.raises(ValueError, match=r"X is not a valid sparse matrix: .*ind"):
        EKNNClus(metric="precomputed", random_state=0).fit(matrix)
    with pytest.raises(ValueError, match="X is not a valid sparse matrix"):
        PairwiseConstraints([(0, 1)]).expand(matrix, 2)


@pytest.mark.parametrize("starts", [[0, 9, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4, 5, 99], [-9, 1, 2, 3, 4, 5, 6]])
def test_invalid_row_pointers_are_refused(starts):
    matrix = sparse.csr_array(np.eye(6))
    matrix.indptr[:] = starts
    with pytest.raises(ValueError, match="X is not a valid sparse matrix"):
        EKNNClus(metric="precomputed").fit(matrix)


def test_new_samples_are_checked_and_valid_matrices_are_unchanged():
    D = np.abs(X[:, :1] - X[:, 0])
    for kind in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array, sparse.lil_array, sparse.dok_array):
        check_sparse("X", kind(D))
    check_sparse("X", D)
    model = EKNNClus(10, metric="precomputed", random_state=0).fit(sparse.csr_array(D))
    new = sparse.csr_array(D[:3])
    before = (new.indices, new.indptr, new.data)
    model.predict_mass(new)
    assert all(first is second for first, second in zip((new.indices, new.indptr, new.data), before, strict=True))
    new.indices[0] = 30
    with pytest.raises(ValueError, match="X is not a valid sparse matrix"):
        model.predict_mass(new)
