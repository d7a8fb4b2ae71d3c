"""Sparse features: the same answers as of dense ones, in little memory, or a word on what to do."""

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
from evlearn.cluster.centroids.sparse_starts import Isometry, distinct_rows
from evlearn.ensemble import CredalEnsemble
from evlearn.metric_learning import FDA, KernelFDA
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.neural import NNEVCLUS


@pytest.fixture(scope="module")
def texts():
    """Counts of words: four kinds of documents, each with words of its own."""
    random = np.random.default_rng(0)
    kinds = np.arange(240) % 4
    rates = np.where(np.arange(60) % 4 == kinds[:, None], 0.7, 0.1)
    return TfidfTransformer().fit_transform(sparse.csr_matrix(random.poisson(rates))), kinds


@pytest.mark.parametrize("method", [ECM, CCM])
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_and_dense_prototypes_are_the_same(texts, method, weighted):
    X, y = texts
    weights = 1 + np.arange(240) % 3 if weighted else None
    dense = method(4, random_state=0).fit(X.toarray(), sample_weight=weights)
    thin = method(4, random_state=0).fit(X, sample_weight=weights)
    assert thin.objective_ == pytest.approx(dense.objective_, rel=1e-5)
    assert adjusted_rand_score(dense.labels_, thin.labels_) == 1
    assert adjusted_rand_score(y, thin.labels_) > 0.9
    # A model takes rows of either kind, whatever it was fitted to.
    for model in (dense, thin):
        assert np.allclose(model.predict_mass(X).masses, model.masses_, atol=1e-6)
        assert np.allclose(model.predict_mass(X.toarray()).masses, model.masses_, atol=1e-6)


@pytest.mark.parametrize("kind", [sparse.csc_array, sparse.coo_matrix, sparse.lil_array])
def test_all_forms_of_sparse_matrices_are_taken(texts, kind):
    X, _ = texts
    expected = ECM(4, random_state=0).fit(X)
    assert np.array_equal(ECM(4, random_state=0).fit(kind(X)).masses_, expected.masses_)


@pytest.mark.parametrize(
    "parameters", [{"init": "k-means++", "n_init": 2}, {"focal_sets": "neighbor_pairs"}, {"delta": np.inf}]
)
def test_parameters_mean_the_same_for_sparse_features(texts, parameters):
    X, _ = texts
    thin = ECM(4, random_state=0, **parameters).fit(X)
    dense = ECM(4, random_state=0, **parameters).fit(X.toarray())
    assert thin.objective_ == pytest.approx(dense.objective_, rel=0.02)


def test_prototypes_can_be_given_and_learn_portion_by_portion(texts):
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


def test_many_sparse_rows_start_from_some_of_them():
    random = np.random.default_rng(0)
    y = np.arange(1800) % 3
    X = sparse.csr_array((random.random((1800, 30)) < np.where(np.arange(30) % 3 == y[:, None], 0.5, 0.1)) * 1.0)
    model = ECM(3, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.8
    assert np.array_equal(model.masses_, ECM(3, random_state=0, n_jobs=2).fit(X).masses_)


def test_coordinates_keep_distances_and_lead_back():
    X = sparse.random_array((30, 500), density=0.05, rng=np.random.default_rng(0), format="csr")
    rows, weights = distinct_rows(SparseBlock(sparse.vstack([X, X[:5]])), np.r_[np.ones(33), 0, 2])
    assert weights.tolist().count(2) == 3
    assert weights.max() == 3
    space = Isometry.of(rows)
    dense = rows.matrix.toarray()
    apart = np.linalg.norm(dense[:, None] - dense, axis=2)
    assert np.allclose(np.linalg.norm(space.coordinates[:, None] - space.coordinates, axis=2), apart)
    assert np.allclose(space.leave(space.coordinates), dense)
    assert np.allclose(space.enter(dense), space.coordinates)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"n_partners": 50}, {"solver": "stochastic"}, {"solver": "landmark", "n_landmarks": 100}],
    ids=str,
)
def test_evclus_says_the_same_of_sparse_and_dense_features(texts, metric, parameters):
    X, _ = texts
    thin = EVCLUS(4, metric=metric, random_state=0, **parameters).fit(X)
    dense = EVCLUS(4, metric=metric, random_state=0, **parameters).fit(X.toarray())
    assert np.allclose(thin.masses_, dense.masses_, atol=1e-4)
    assert np.allclose(thin.predict_mass(X[:30]).masses, dense.predict_mass(X[:30].toarray()).masses, atol=1e-4)
    assert np.allclose(thin.predict_mass(X[:30].toarray()).masses, dense.predict_mass(X[:30]).masses, atol=1e-4)
    drawn = {"n_pairs": 500, "random_state": 0}
    assert thin.stress(X, **drawn) == pytest.approx(dense.stress(X.toarray(), **drawn), abs=1e-6)


@pytest.mark.parametrize("soft", [False, True])
def test_neighbours_say_the_same_of_sparse_and_dense_features(texts, soft):
    X, y = texts
    labels = np.eye(4)[y] * 0.9 + 0.1 if soft else y
    thin, dense = EvidentialKNNClassifier().fit(X, labels), EvidentialKNNClassifier().fit(X.toarray(), labels)
    assert np.allclose(thin.gamma_, dense.gamma_, rtol=1e-3)
    expected = dense.predict_mass(X.toarray()).masses
    for model in (thin, dense):
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


REFUSING = [
    *(BPEC(2), CECM(2), ECM(2, metric="adaptive"), EVCLUS(2, metric="manhattan"), RECM(2), ECMdd(2), EKNNClus(5)),
    SECM(2),
    *(BootClus(2), MergedMixture(2), NNEVCLUS(2), ParsimoniousGaussianMixture(2), CredalEnsemble([ECM(2)])),
    *(EvidentialNeuralClassifier(), EvidentialRBFClassifier(), FDA(1), KernelFDA(1)),
]


@pytest.mark.parametrize("model", REFUSING, ids=lambda one: type(one).__name__)
def test_others_name_what_turns_sparse_features_into_dense_ones(model, texts):
    with pytest.raises(TypeError, match=r"does not take sparse features.*TruncatedSVD.*or take ECM"):
        model.fit(*texts)


def test_sparse_matrices_whose_numbers_are_wrong_are_refused(texts):
    broken = texts[0].copy()
    broken.indices[3] = 10_000
    for model in (ECM(2), EVCLUS(2), EvidentialKNNClassifier()):
        with pytest.raises(ValueError, match="X is not a valid sparse matrix"):
            model.fit(broken, texts[1])


IN_LITTLE_MEMORY = """
import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from evlearn.cluster import ECM
n, d = 4_000, 50_000
random = np.random.default_rng(0)
kinds = np.arange(n) % 5
words = (d ** random.random((n, 80))).astype(int) - 1
own = random.random((n, 80)) < 0.3
words[own] = (words[own] * 7919 + 1009 * (1 + kinds[:, None] + 0 * words)[own]) % d
counts = sparse.coo_matrix((np.ones(n * 80), (np.repeat(np.arange(n), 80), words.ravel())), shape=(n, d))
X = TfidfTransformer().fit_transform(counts.tocsr())
model = ECM(5, random_state=0).fit(X)
# What getrusage tells may be the peak of the process that started this one.
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM:"))
print(peak, len(np.unique(model.labels_)))
"""


@pytest.mark.slow
def test_many_terms_take_little_memory():
    told = subprocess.run(
        [sys.executable, "-c", IN_LITTLE_MEMORY], capture_output=True, text=True, check=True
    ).stdout
    kilobytes, n_clusters = map(int, told.split())
    # As a dense matrix they would take 1.6 GB.
    assert kilobytes < 800_000
    assert n_clusters == 5
