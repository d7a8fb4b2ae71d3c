"""EK-NNclus compared with the R package, with its neighbors, its start and its order of visits."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score

from evlearn.cluster import EKNNClus
from evlearn.cluster.neighbors.label_search import Support, combine_evidence, reverse_neighbors, search_labels
from evlearn.neighbors import find_neighbors

CASES = {
    "EkNNclus_fourclass_K60": {"q": 0.9, "power": 2},
    "EkNNclus_iris_K30": {"q": 0.5, "power": 2},
    "EkNNclus_protein_D_K20": {"q": 0.5, "power": 1},
}


@pytest.fixture
def s2(reference_file):
    return np.genfromtxt(reference_file("data/s2.csv"), delimiter=",", skip_header=1)[:, :2]


@pytest.fixture
def fourclass(reference_file):
    table = np.genfromtxt(reference_file("data/fourclass.csv"), delimiter=",", skip_header=1)
    return table[:, :2], table[:, -1]


def visits(case):
    return [order.astype(np.int32) for order in case.arrays["perms_1b"] - 1]


def from_zero(labels):
    return (labels - 1).astype(np.int32)


def graph_of(case):
    indices = case.arrays["nn_index_1b"] - 1
    n, k = indices.shape
    return csr_array((case.arrays["nn_dist"].ravel(), indices.ravel(), np.arange(n + 1) * k), shape=(n, n))


@pytest.mark.parametrize("name", CASES)
def test_the_same_visits_give_the_labels_passes_and_masses_of_r(reference, name):
    case, parameters = reference(name), CASES[name]
    graph = graph_of(case)
    scale = Support.of(graph, min_distance=1e-6, **parameters).scale
    support = Support(scale, parameters["power"], 1e-6 / scale)  # the minimum distance of R is not relative
    assert scale ** -parameters["power"] == pytest.approx(case.scalars["gamma"], rel=1e-12)
    # For duplicates, R loses digits of 1 - exp(-x), which is 3e-12.
    np.testing.assert_allclose(support(graph.data), case.arrays["W"].ravel(), rtol=1e-6)
    weights = csr_array((case.arrays["W"].ravel(), graph.indices, graph.indptr), shape=graph.shape)
    orders = visits(case)
    trace = search_labels(
        weights, reverse_neighbors(weights), from_zero(case.arrays["y0_1b"]), orders, max_iter=len(orders)
    )
    assert trace.converged
    assert trace.n_iter == case.scalars["iterations"]
    labels = np.unique(trace.state, return_inverse=True)[1]
    np.testing.assert_array_equal(labels, case.arrays["y_pl_1b"] - 1)
    masses = combine_evidence(weights, labels.astype(np.int32), case.scalars["n_clusters"])
    np.testing.assert_allclose(masses, case.arrays["mass"], rtol=0, atol=1e-12)


def test_the_same_visits_give_the_labels_of_r_in_s2(reference, s2):
    case = reference("EkNNclus_s2_K200")
    graph = find_neighbors(s2, 200, metric="euclidean", n_jobs=None, keep=True).to_graph()
    weights = Support.of(graph, q=0.9, power=2, min_distance=1e-6).weigh(graph)
    orders = visits(case)
    trace = search_labels(
        weights, reverse_neighbors(weights), from_zero(case.arrays["y0_1b"]), orders, max_iter=len(orders)
    )
    labels = np.unique(trace.state, return_inverse=True)[1]
    np.testing.assert_array_equal(labels, case.arrays["y_pl_1b"] - 1)
    assert trace.converged
    assert trace.n_iter == case.scalars["iterations"]
    np.testing.assert_allclose(
        combine_evidence(weights, from_zero(case.arrays["y_pl_1b"]), 15), case.arrays["mass"], rtol=0, atol=1e-10
    )


def test_four_clusters_of_fourclass_by_most_seeds(fourclass):
    X, y = fourclass
    fits = [EKNNClus(60, q=0.9, random_state=seed).fit(X) for seed in range(20)]
    numbers = [model.n_clusters_ for model in fits]
    assert numbers.count(4) >= 13
    assert set(numbers) <= {4, 5}
    assert np.median([adjusted_rand_score(y, model.labels_) for model in fits]) == pytest.approx(0.72, abs=0.01)


@pytest.mark.slow
def test_fifteen_clusters_of_s2_by_most_seeds_with_an_objective_like_that_of_r(reference, s2):
    case = reference("EkNNclus_s2_K200")
    fits = [EKNNClus(200, q=0.9, random_state=seed).fit(s2) for seed in range(4)]
    assert [model.n_clusters_ for model in fits].count(15) >= 3
    of_r = EKNNClus(200, q=0.9, y_init=case.arrays["y_pl_1b"], random_state=0).fit(s2)
    assert of_r.n_iter_ == 1  # no label changes at the result of R
    assert max(model.objective_ for model in fits) >= of_r.objective_ * (1 - 1e-12)
