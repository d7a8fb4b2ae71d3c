"""δ-Bel graph: comparison with R and with the definition, and properties."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs

from benchmarks.common.measuring import peak_bytes
from evlearn.cluster import BeliefPeaks, belief_peaks
from evlearn.cluster.neighbors.belief_peaks import graph_of
from evlearn.datasets import load_butterfly, make_fourclass
from evlearn.neighbors import Neighbors


def read_table(reference_file, name):
    table = np.genfromtxt(reference_file(f"data/{name}.csv"), delimiter=",", names=True)
    # Columns of text are read as NaN.
    columns = [column for column in table.dtype.names if column != "y" and not np.isnan(table[column]).any()]
    return np.column_stack([table[column] for column in columns]), table["y"] if "y" in table.dtype.names else None


# Comparison with R and with the published graph


@pytest.mark.parametrize(
    ("name", "source"), [("butterfly_K4", "butterfly"), ("fourclass_K100", "fourclass"), ("iris_K50", "iris")]
)
def test_the_neighbors_of_r_give_the_beliefs_deltas_and_peaks_of_r(reference_file, reference, name, source):
    case = reference(f"delta_Bel_{name}_q0.9").arrays
    click = json.loads(reference_file(f"delta_Bel_{name}_q0.9.json").read_text())["parameters"]
    X, _ = read_table(reference_file, source)
    neighbors = (case["nn_index_1b"] - 1).astype(np.int32)
    self_neighbor = (neighbors == np.arange(len(X))[:, None]).any(axis=1)
    assert self_neighbor.sum() == (source == "iris")
    if source == "iris":
        # Samples 101 and 142 are equal, and R removes 101 from the neighbors of 142, instead of 142.
        np.testing.assert_array_equal(X[142], X[101])
        neighbors[142][neighbors[142] == 142] = 101
    graph = graph_of(Neighbors(X, "euclidean", neighbors), 0.9)
    np.testing.assert_allclose(graph.bel, case["BelC"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(graph.delta, case["delta"], rtol=0, atol=1e-12)
    peaks = graph.peaks(min_bel=click["click_bel"], min_delta=click["click_delta"])
    np.testing.assert_array_equal(np.sort(peaks), case["ii_1b"].ravel() - 1)
    np.testing.assert_array_equal(X[np.sort(peaks)], case["g0"])


@pytest.mark.parametrize(
    ("name", "source", "K"), [("butterfly_K4", "butterfly", 4), ("fourclass_K100", "fourclass", 100)]
)
def test_the_graph_is_that_of_r_if_no_distances_are_equal(reference_file, reference, name, source, K):
    case = reference(f"delta_Bel_{name}_q0.9").arrays
    graph = belief_peaks(read_table(reference_file, source)[0], n_neighbors=K)
    np.testing.assert_allclose(graph.bel, case["BelC"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(graph.delta, case["delta"], rtol=0, atol=1e-12)


def test_fourclass_has_the_four_peaks_of_the_published_graph(reference_file):
    X, y = read_table(reference_file, "fourclass")
    graph = belief_peaks(X, n_neighbors=50, q=0.9)
    peaks = graph.peaks()
    assert sorted(y[peaks]) == [1, 2, 3, 4]
    np.testing.assert_allclose(graph.bel[peaks], [0.515, 0.514, 0.509, 0.509], atol=0.0005)
    np.testing.assert_allclose(graph.delta[peaks], [4.46, 4.46, 4.13, 3.00], atol=0.005)
    next_best = graph.peaks(n_peaks=5)[4]
    assert graph.delta[next_best] == pytest.approx(0.99, abs=0.005)


# Comparison with the definition


def compute_by_definition(D, n_neighbors, q):
    """Return beliefs and deltas, computed with loops from a matrix of distances without ties."""
    n = len(D)
    neighbors = [[j for j in np.argsort(D[i], kind="stable") if j != i][:n_neighbors] for i in range(n)]
    scale = [1.0 if q is None else np.quantile(D[j, neighbors[j]], q) for j in range(n)]
    bel = np.array(
        [
            1 - np.prod([1 - np.exp(-((D[i, j] / scale[j]) ** 2)) / n_neighbors for j in neighbors[i]])
            for i in range(n)
        ]
    )
    higher = [[j for j in range(n) if bel[j] > bel[i] or (bel[j] == bel[i] and j < i)] for i in range(n)]
    delta = np.array([min(D[i, others], default=0) for i, others in enumerate(higher)])
    delta[delta.argmin()] = delta.max()
    return bel, delta


@pytest.mark.parametrize("q", [0.9, 0.5, 1.0, None])
@pytest.mark.parametrize("n_neighbors", [1, 7, 39])
@pytest.mark.parametrize("n_features", [2, 20])
def test_belief_and_delta_are_those_of_the_definition(n_features, n_neighbors, q):
    X = np.random.default_rng(n_features).normal(size=(40, n_features))
    graph = belief_peaks(X, n_neighbors=n_neighbors, q=q)
    bel, delta = compute_by_definition(cdist(X, X), n_neighbors, q)
    np.testing.assert_allclose(graph.bel, bel, rtol=0, atol=1e-14)
    np.testing.assert_allclose(graph.delta, delta, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    "metric", ["euclidean", "l2", "minkowski", "manhattan", "chebyshev", "cosine", "sqeuclidean"]
)
def test_a_matrix_of_distances_gives_the_same_graph_as_the_features(metric):
    X = np.random.default_rng(0).normal(size=(300, 4))
    name = {"l2": "euclidean", "manhattan": "cityblock", "minkowski": "euclidean"}.get(metric, metric)
    from_matrix = belief_peaks(cdist(X, X, name), metric="precomputed")
    from_attributes = belief_peaks(X, metric=metric)
    np.testing.assert_allclose(from_attributes.bel, from_matrix.bel, rtol=0, atol=1e-12)
    np.testing.assert_allclose(from_attributes.delta, from_matrix.delta, rtol=0, atol=1e-12)


def test_a_function_can_be_the_metric():
    X = np.random.default_rng(0).normal(size=(40, 2))
    graph = belief_peaks(X, metric=lambda x, y: np.abs(x - y).sum())
    np.testing.assert_allclose(graph.bel, belief_peaks(X, metric="manhattan").bel, rtol=0, atol=1e-14)


# Properties


def blobs(seed, n_samples=60):
    return make_blobs(n_samples, centers=[(0, 0), (4, 1), (1, 5)], random_state=seed)[0]


@given(st.integers(0, 10_000), st.integers(1, 70))
def test_permuted_samples_have_permuted_beliefs_and_deltas(seed, n_neighbors):
    X = blobs(seed)
    order = np.random.default_rng(seed).permutation(len(X))
    graph, permuted = (belief_peaks(data, n_neighbors=n_neighbors) for data in (X, X[order]))
    np.testing.assert_allclose(permuted.bel, graph.bel[order], rtol=0, atol=1e-13)
    # With one neighbor, two mutual neighbors have the same belief up to rounding, and their order may change.
    if n_neighbors > 1:
        np.testing.assert_allclose(permuted.delta, graph.delta[order], rtol=0, atol=1e-13)
        np.testing.assert_array_equal(order[permuted.peaks()], graph.peaks())


@given(st.integers(0, 10_000), st.integers(-30, 30))
def test_belief_does_not_depend_on_the_unit_of_length_and_delta_is_proportional_to_it(seed, exponent):
    X, unit = blobs(seed), 2.0**exponent
    graph, scaled = belief_peaks(X), belief_peaks(unit * X)
    np.testing.assert_array_equal(scaled.bel, graph.bel)
    np.testing.assert_array_equal(scaled.delta, unit * graph.delta)
    np.testing.assert_array_equal(scaled.peaks(), graph.peaks())


@pytest.mark.parametrize("n_features", [2, 20])
@pytest.mark.parametrize("n_neighbors", [5, 59])
def test_far_from_the_origin_the_graph_is_the_same(n_features, n_neighbors):
    # Coordinates are exact at both locations.
    X = np.round(np.random.default_rng(0).normal(size=(60, n_features)) * 2**20) / 2**20
    expected, graph = (belief_peaks(data, n_neighbors=n_neighbors) for data in (X, X + 2.0**30))
    np.testing.assert_allclose(graph.bel, expected.bel, rtol=0, atol=1e-13)
    np.testing.assert_allclose(graph.delta, expected.delta, rtol=0, atol=1e-13)


@given(
    hnp.arrays(np.int64, st.tuples(st.integers(2, 25), st.integers(1, 3)), elements=st.integers(0, 3)),
    st.integers(1, 30),
    st.sampled_from([None, 0.5, 0.9, 1.0]),
)
def test_graphs_of_ties_and_duplicates_are_valid(X, n_neighbors, q):
    graph = belief_peaks(X, n_neighbors=n_neighbors, q=q)
    assert graph.n_neighbors == min(n_neighbors, len(X) - 1)
    assert ((graph.bel >= 0) & (graph.bel <= 1)).all()
    order = np.argsort(-graph.bel, kind="stable")
    D = cdist(X, X)
    for rank, sample in enumerate(order[1:], start=1):
        assert graph.delta[sample] == pytest.approx(D[sample, order[:rank]].min(), abs=1e-14)
    assert graph.delta[order[0]] == graph.delta.max()
    assert np.isfinite(graph.scores).all()
    peaks = graph.peaks()
    assert 1 <= len(peaks) <= max(1, len(X) // 2)
    assert len(set(peaks)) == len(peaks)
    assert graph.scores[peaks[0]] == graph.scores.max()
    assert (np.diff(graph.scores[peaks]) <= 0).all()


@given(st.integers(0, 10_000), st.integers(2, 40), st.sampled_from([2, 20]))
def test_at_most_one_of_equal_samples_is_a_peak(seed, n_copies, n_features):
    random = np.random.default_rng(seed)
    X = random.normal(size=(30, n_features))
    X = random.permutation(np.vstack([X, np.repeat(X[:3], n_copies, axis=0)]))
    graph = belief_peaks(X, n_neighbors=10)
    _, group, sizes = np.unique(X, axis=0, return_inverse=True, return_counts=True)
    positive = np.bincount(group.ravel(), weights=graph.delta > 0)
    assert (positive <= 1).all()
    assert sizes.max() == n_copies + 1


def test_three_locations_with_many_samples_each_have_three_peaks():
    graph = belief_peaks(np.repeat([[0.0, 0], [1, 0], [7, 7]], 30, axis=0))
    assert graph.peaks().tolist() == [0, 60, 30]
    np.testing.assert_allclose(graph.bel, 1 - (1 - 1 / 10) ** 10, atol=1e-15)


def test_equal_samples_have_one_peak():
    graph = belief_peaks(np.ones((300, 2)))
    assert graph.peaks().tolist() == [0]
    assert graph.delta.max() == 0
    assert graph.peaks(n_peaks=2).tolist() == [0, 1]


@pytest.mark.slow
def test_many_equal_samples_do_not_slow_the_search():
    X = np.vstack([np.zeros((30_000, 2)), np.random.default_rng(0).normal(size=(1000, 2))])
    graph = belief_peaks(X)
    assert graph.peaks(n_peaks=1).tolist() == [0]
    assert (graph.delta[1:30_000] == 0).all()


# Input data and selection of peaks


def test_the_number_of_neighbors_depends_on_the_number_of_samples_within_bounds():
    random = np.random.default_rng(0)
    sizes = {5: 4, 12: 10, 101: 11, 333: 34, 2000: 100}
    assert {n: belief_peaks(random.normal(size=(n, 2))).n_neighbors for n in sizes} == sizes


def test_frames_and_arrays_give_the_same_graph():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X = make_fourclass(60, random_state=0)[0]
    expected = belief_peaks(X)
    for frame in (
        pandas.DataFrame(X, columns=["a", "b"], index=[f"row {i}" for i in range(60)]),
        polars.DataFrame(X, schema=["a", "b"]),
        X.tolist(),
        np.asfortranarray(X),
    ):
        graph = belief_peaks(frame)
        np.testing.assert_array_equal(graph.bel, expected.bel)
        np.testing.assert_array_equal(graph.delta, expected.delta)


def test_threads_do_not_change_the_result():
    X = make_fourclass(400, random_state=0)[0]
    np.testing.assert_array_equal(belief_peaks(X, n_jobs=2).bel, belief_peaks(X).bel)


def test_a_matrix_that_is_not_symmetric_is_averaged_with_a_warning():
    D = np.random.default_rng(0).random((20, 20)) * (1 - np.eye(20))
    with pytest.warns(UserWarning, match="not symmetric"):
        graph = belief_peaks(D, metric="precomputed")
    np.testing.assert_array_equal(graph.bel, belief_peaks((D + D.T) / 2, metric="precomputed").bel)


def test_peaks_can_be_chosen_by_number_or_by_thresholds():
    graph = belief_peaks(load_butterfly().data, n_neighbors=4)
    order = np.argsort(-graph.scores, kind="stable")
    np.testing.assert_array_equal(graph.peaks(n_peaks=5), order[:5])
    np.testing.assert_array_equal(graph.peaks(n_peaks=12), order)
    np.testing.assert_array_equal(np.sort(graph.peaks(min_bel=0.2)), np.flatnonzero(graph.bel > 0.2))
    np.testing.assert_array_equal(np.sort(graph.peaks(min_delta=2)), np.flatnonzero(graph.delta > 2))
    peaks = graph.peaks(min_bel=0.3, min_delta=2)
    np.testing.assert_array_equal(peaks, [k for k in order if graph.bel[k] > 0.3 and graph.delta[k] > 2])


def test_scores_are_scaled_belief_times_delta():
    graph = BeliefPeaks(np.array([0.2, 0.6, 0.4]), np.array([1.0, 3.0, 2.0]), 2)
    np.testing.assert_allclose(graph.scores, [0, 3, 1])
    assert repr(graph) == "BeliefPeaks(3 samples, n_neighbors=2)"
    np.testing.assert_array_equal(BeliefPeaks(np.full(3, 0.2), np.array([1.0, 3, 2]), 2).scores, [1, 3, 2])


@pytest.mark.parametrize("n_clusters", [2, 3, 4, 6])
@pytest.mark.parametrize("n_samples", [60, 300, 2000])
def test_separate_clusters_have_one_peak_each(n_samples, n_clusters):
    centers = [(6 * (k % 3), 6 * (k // 3)) for k in range(n_clusters)]
    for seed in range(3):
        X, y = make_blobs(n_samples, centers=centers, cluster_std=0.8, random_state=seed)
        peaks = belief_peaks(X).peaks()
        assert sorted(y[peaks]) == list(range(n_clusters))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors must be 'auto' or a whole number of at least 1, got 0"),
        ({"n_neighbors": 2.5}, "n_neighbors must be 'auto' or a whole number of at least 1, got 2.5"),
        ({"n_neighbors": "all"}, "n_neighbors must be 'auto' or a whole number of at least 1, got 'all'"),
        ({"q": 0}, "q must be a number above 0 and at most 1, got 0"),
        ({"q": 1.5}, "q must be a number above 0 and at most 1, got 1.5"),
        ({"metric": "taxi"}, "'metric' parameter"),
        ({"metric": "mahalanobis"}, "metric='mahalanobis' needs parameters"),
        ({"metric": "precomputed"}, r"X must be a square matrix if metric='precomputed', got shape \(12, 2\)"),
        ({"metric": lambda x, y: np.inf}, "gives distances between rows of X that are not finite"),
    ],
)
def test_invalid_parameters_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        belief_peaks(load_butterfly().data, **settings)


@pytest.mark.parametrize(
    ("X", "settings", "message"),
    [
        ([[1.0, 2.0]], {}, "minimum of 2 is required"),
        ([[1.0], [np.nan]], {}, "NaN"),
        ([[1e200], [0.0]], {}, r"X has values beyond 1e\+150"),
        ([[0, -1], [-1, 0]], {"metric": "precomputed"}, "X has negative dissimilarities"),
    ],
)
def test_invalid_data_are_refused(X, settings, message):
    with pytest.raises(ValueError, match=message):
        belief_peaks(X, **settings)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"n_peaks": 0}, "n_peaks must be 'auto' or a whole number of at least 1, got 0"),
        ({"n_peaks": 13}, "n_peaks must be at most 12, the number of samples, got 13"),
        ({"n_peaks": "some"}, "n_peaks must be 'auto' or a whole number of at least 1, got 'some'"),
        ({"n_peaks": 2, "min_bel": 0.3}, "give n_peaks or thresholds, not both; got n_peaks=2"),
        ({"min_bel": -1}, "min_bel must be a number at least 0, got -1"),
        (
            {"min_bel": 0.9, "min_delta": 1},
            "no sample lies above min_bel=0.9 and min_delta=1; the largest belief is",
        ),
    ],
)
def test_invalid_selections_of_peaks_are_refused(choice, message):
    graph = belief_peaks(load_butterfly().data, n_neighbors=4)
    with pytest.raises(ValueError, match=message):
        graph.peaks(**choice)


# Memory


@pytest.mark.slow
def test_100000_samples_need_less_than_100_mb():
    X, y = make_blobs(100_000, centers=[(0, 0), (8, 0), (0, 8)], random_state=0)
    graphs = []
    assert peak_bytes(lambda: graphs.append(belief_peaks(X))) < 100e6
    assert sorted(y[graphs[0].peaks(n_peaks=3)]) == [0, 1, 2]
