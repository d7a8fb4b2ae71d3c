"""Sparse features: the results of dense features, in little memory, or an error with a remedy."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline

from evlearn.blocks.sparse import SparseBlock
from evlearn.classify import EvidentialKNNClassifier, EvidentialNeuralClassifier, EvidentialRBFClassifier
from evlearn.cluster import BPEC, CCM, CECM, ECM, EVCLUS, RECM, SECM, BootClus, ECMdd, EKNNClus, MergedMixture
from evlearn.cluster.centroids.starts import Isometry, distinct_rows
from evlearn.ensemble import CredalEnsemble
from evlearn.metric_learning import FDA
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.neural import NNEVCLUS


@pytest.fixture(scope="module")
def texts():
    """Return word frequencies of 4 kinds of documents, each with characteristic words, and the kinds."""
    random = np.random.default_rng(0)
    kinds = np.arange(240) % 4
    rates = np.where(np.arange(60) % 4 == kinds[:, None], 0.7, 0.1)
    return TfidfTransformer().fit_transform(sparse.csr_matrix(random.poisson(rates))), kinds


@pytest.mark.parametrize("method", [ECM, CCM])
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_and_dense_prototypes_are_the_same(texts, method, weighted):
    X, y = texts
    weights = 1 + np.arange(240) % 3 if weighted else None
    dense_model = method(4, random_state=0).fit(X.toarray(), sample_weight=weights)
    sparse_model = method(4, random_state=0).fit(X, sample_weight=weights)
    assert sparse_model.objective_ == pytest.approx(dense_model.objective_, rel=1e-5)
    assert adjusted_rand_score(dense_model.labels_, sparse_model.labels_) == 1
    assert adjusted_rand_score(y, sparse_model.labels_) > 0.9
    # A model accepts sparse and dense rows, regardless of the kind of its training data.
    for model in (dense_model, sparse_model):
        assert np.allclose(model.predict_mass(X).masses, model.masses_, atol=1e-6)
        assert np.allclose(model.predict_mass(X.toarray()).masses, model.masses_, atol=1e-6)


@pytest.mark.parametrize("kind", [sparse.csc_array, sparse.coo_matrix, sparse.lil_array])
def test_all_kinds_of_sparse_matrices_are_accepted(texts, kind):
    X, _ = texts
    expected = ECM(4, random_state=0).fit(X)
    assert np.array_equal(ECM(4, random_state=0).fit(kind(X)).masses_, expected.masses_)


@pytest.mark.parametrize(
    "parameters", [{"init": "k-means++", "n_init": 2}, {"focal_sets": "neighbor_pairs"}, {"delta": np.inf}]
)
def test_parameters_have_the_same_effect_for_sparse_features(texts, parameters):
    X, _ = texts
    sparse_model = ECM(4, random_state=0, **parameters).fit(X)
    dense_model = ECM(4, random_state=0, **parameters).fit(X.toarray())
    assert sparse_model.objective_ == pytest.approx(dense_model.objective_, rel=0.02)


def test_prototypes_can_be_initialized_and_updated_in_batches(texts):
    X, y = texts
    centers = np.array([np.asarray(X[y == k].mean(axis=0)).ravel() for k in range(4)])
    fitted = ECM(4, init=centers, random_state=0).fit(X)
    assert np.linalg.norm(fitted.cluster_centers_ - centers) < 0.5
    online = ECM(4, random_state=0).partial_fit(X[:120]).partial_fit(X[120:])
    assert adjusted_rand_score(y, online.predict(X)) > 0.8
    with pytest.raises(ValueError, match=r"init must have shape \(4, 60\)"):
        ECM(4, init=centers[:, :5]).fit(X)
    with pytest.raises(ValueError, match=r"checkpoint=.* needs dense features"):
        ECM(4, checkpoint="state.npz").fit(X)


@pytest.mark.slow
def test_the_start_for_many_sparse_samples_uses_a_subset_of_them():
    random = np.random.default_rng(0)
    y = np.arange(1800) % 3
    X = sparse.csr_array((random.random((1800, 30)) < np.where(np.arange(30) % 3 == y[:, None], 0.5, 0.1)) * 1.0)
    model = ECM(3, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.8
    assert np.array_equal(model.masses_, ECM(3, random_state=0, n_jobs=2).fit(X).masses_)


def test_coordinates_preserve_distances_and_can_be_inverted():
    X = sparse.csr_array(sparse.random(30, 500, density=0.05, random_state=np.random.default_rng(0)))
    rows, weights = distinct_rows(SparseBlock(sparse.vstack([X, X[:5]])), np.r_[np.ones(33), 0, 2])
    assert weights.tolist().count(2) == 3
    assert weights.max() == 3
    space = Isometry.of(rows)
    dense = rows.matrix.toarray()
    distances = np.linalg.norm(dense[:, None] - dense, axis=2)
    assert np.allclose(np.linalg.norm(space.coordinates[:, None] - space.coordinates, axis=2), distances)
    assert np.allclose(space.inverse_transform(space.coordinates), dense)
    assert np.allclose(space.transform(dense), space.coordinates)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"n_partners": 50}, {"solver": "stochastic"}, {"solver": "landmark", "n_landmarks": 100}],
    ids=str,
)
@pytest.mark.slow_cells(
    "{'n_partners': 50}-cosine", "{'solver': 'stochastic'}-cosine", "{'solver': 'stochastic'}-euclidean"
)
def test_evclus_gives_the_same_masses_for_sparse_and_dense_features(texts, metric, parameters):
    X, _ = texts
    sparse_model = EVCLUS(4, metric=metric, random_state=0, **parameters).fit(X)
    dense_model = EVCLUS(4, metric=metric, random_state=0, **parameters).fit(X.toarray())
    assert np.allclose(sparse_model.masses_, dense_model.masses_, atol=1e-4)
    assert np.allclose(
        sparse_model.predict_mass(X[:30]).masses, dense_model.predict_mass(X[:30].toarray()).masses, atol=1e-4
    )
    assert np.allclose(
        sparse_model.predict_mass(X[:30].toarray()).masses, dense_model.predict_mass(X[:30]).masses, atol=1e-4
    )
    options = {"n_pairs": 500, "random_state": 0}
    assert sparse_model.stress(X, **options) == pytest.approx(dense_model.stress(X.toarray(), **options), abs=1e-6)


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.slow
def test_neighbors_give_the_same_masses_for_sparse_and_dense_features(texts, soft):
    X, y = texts
    labels = np.eye(4)[y] * 0.9 + 0.1 if soft else y
    sparse_model, dense_model = (
        EvidentialKNNClassifier().fit(X, labels),
        EvidentialKNNClassifier().fit(X.toarray(), labels),
    )
    assert np.allclose(sparse_model.gamma_, dense_model.gamma_, rtol=1e-3)
    expected = dense_model.predict_mass(X.toarray()).masses
    for model in (sparse_model, dense_model):
        for rows in (X, X.toarray()):
            assert np.allclose(model.predict_mass(rows).masses, expected, atol=1e-3)


def test_a_pipeline_clusters_and_classifies_texts():
    texts = [
        "a cat and a dog",
        "cats, dogs and a mouse",
        "a dog bites",
        "red wine",
        "white wine, red grapes",
        "grapes",
    ] * 5
    kinds = np.array([0, 0, 0, 1, 1, 1] * 5)
    clusters = make_pipeline(TfidfVectorizer(), ECM(2, random_state=0)).fit_predict(texts)
    assert len(clusters) == 30
    assert make_pipeline(TfidfVectorizer(), EvidentialKNNClassifier(3)).fit(texts, kinds).score(texts, kinds) == 1


DENSE_ONLY = [
    *(BPEC(2), CECM(2), ECM(2, metric="adaptive"), EVCLUS(2, metric="manhattan"), RECM(2), ECMdd(2), EKNNClus(5)),
    SECM(2),
    *(BootClus(2), MergedMixture(2), NNEVCLUS(2), ParsimoniousGaussianMixture(2), CredalEnsemble([ECM(2)])),
    *(EvidentialNeuralClassifier(), EvidentialRBFClassifier(), FDA(1), FDA(1, kernel="rbf")),
]


@pytest.mark.parametrize("model", DENSE_ONLY, ids=lambda model: type(model).__name__)
def test_other_estimators_reject_sparse_features_with_a_remedy(model, texts):
    with pytest.raises(TypeError, match=r"does not take sparse features.*TruncatedSVD.*or use ECM"):
        model.fit(*texts)


def test_invalid_sparse_matrices_are_refused(texts):
    broken = texts[0].copy()
    broken.indices[3] = 10_000
    for model in (ECM(2), EVCLUS(2), EvidentialKNNClassifier()):
        with pytest.raises(ValueError, match="X is not a valid sparse matrix"):
            model.fit(broken, texts[1])


PROGRAM = """
import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from evlearn.cluster import ECM
n, d = 4_000, 50_000
random = np.random.default_rng(0)
kinds = np.arange(n) % 5
words = (d ** random.random((n, 80))).astype(int) - 1
topical = random.random((n, 80)) < 0.3
words[topical] = (words[topical] * 7919 + 1009 * (1 + kinds[:, None] + 0 * words)[topical]) % d
counts = sparse.coo_matrix((np.ones(n * 80), (np.repeat(np.arange(n), 80), words.ravel())), shape=(n, d))
X = TfidfTransformer().fit_transform(counts.tocsr())
model = ECM(5, random_state=0).fit(X)
# The result of getrusage may be the peak of the parent process.
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM:"))
print(peak, len(np.unique(model.labels_)))
"""


@pytest.mark.slow
def test_many_terms_need_little_memory():
    output = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout
    kilobytes, n_clusters = map(int, output.split())
    # A dense matrix would need 1.6 GB.
    assert kilobytes < 800_000
    assert n_clusters == 5
