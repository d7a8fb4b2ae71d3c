"""EK-NNclus: clusters of any number and shape, by votes of neighbors."""

import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from evlearn.kernels.label_search import agreement, sweep
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_circles
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.neighbors import KNeighborsTransformer, NearestNeighbors, kneighbors_graph
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from evlearn import belief as bf
from evlearn import watching
from evlearn.belief import FocalSets
from evlearn.cluster import EKNNClus
from evlearn.cluster.neighbors.label_search import Support, combine_evidence, reverse_neighbors, search_labels
from evlearn.datasets import make_fourclass
from evlearn.exceptions import CollapseWarning
from evlearn.export.models import load_model, save_model
from evlearn.utils.parameters import with_switches

ignore_single_cluster = pytest.mark.filterwarnings("ignore:all samples are in one cluster:UserWarning")
seeds = st.integers(0, 10_000)


@parametrize_with_checks([EKNNClus(), EKNNClus(n_neighbors=10, graph="union", n_init=2)])
@ignore_single_cluster
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def fourclass():
    return make_fourclass(400, random_state=0)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs([80, 120], centers=[[0, 0], [20, 0]], random_state=0)


def make_samples(seed, n_samples=60):
    random = np.random.default_rng(seed)
    return random.standard_normal((n_samples, 2)) + 5 * random.integers(3, size=(n_samples, 1))


def make_graph(seed, n_samples=40, n_neighbors=6):
    """Return a graph of random neighbors and weights, and the random state."""
    random = np.random.default_rng(seed)
    steps = np.array([random.permutation(n_samples - 1)[:n_neighbors] + 1 for _ in range(n_samples)])
    indices = ((np.arange(n_samples)[:, None] + steps) % n_samples).astype(np.int32)
    starts = np.arange(n_samples + 1, dtype=np.int32) * n_neighbors
    weights = random.gamma(1, size=indices.size)
    return csr_array((weights, indices.reshape(-1), starts), shape=(n_samples, n_samples)), random


def draw_orders(random, n_samples, n_passes=200):
    return (random.permutation(n_samples).astype(np.int32) for _ in range(n_passes))


# Clusters


def test_two_distant_blobs_are_two_clusters(blobs):
    X, y = blobs
    for seed in range(20):
        model = EKNNClus(60, q=0.9, n_init=5, random_state=seed).fit(X)
        assert model.n_clusters_ == 2
        assert adjusted_rand_score(y, model.labels_) == 1
    assert model.converged_
    assert len(model.objective_history_) == model.n_iter_ + 1
    assert model.objective_ == model.objective_history_[-1]


def test_four_overlapping_clusters_are_found_by_most_seeds(fourclass):
    X, y = fourclass
    fits = [EKNNClus(60, q=0.9, graph="union", random_state=seed).fit(X) for seed in range(10)]
    numbers = [model.n_clusters_ for model in fits]
    assert numbers.count(4) >= 8
    assert set(numbers) <= {3, 4, 5}
    best = max(fits, key=lambda model: model.n_clusters_ == 4)
    assert adjusted_rand_score(y, best.labels_) > 0.65


def test_concentric_clusters_are_not_mixed():
    X, y = make_circles(600, factor=0.4, noise=0.04, random_state=0)
    model = EKNNClus(60, q=0.9, random_state=0).fit(X)
    assert all(len(set(y[model.labels_ == k])) == 1 for k in range(model.n_clusters_))


def test_more_neighbors_or_a_larger_quantile_give_fewer_clusters(fourclass):
    X, _ = fourclass

    def count(**parameters):
        return np.mean([EKNNClus(**parameters, random_state=seed).fit(X).n_clusters_ for seed in range(5)])

    assert count(n_neighbors=10) > count(n_neighbors=30) > count(n_neighbors=90)
    assert count(n_neighbors=40, q=0.1) > count(n_neighbors=40, q=0.9)


def test_masses_distinguish_torn_and_remote_samples():
    X, _ = make_blobs([80, 80], centers=[[0, 0], [8, 0]], random_state=0)
    model = EKNNClus(30, q=0.9, random_state=0).fit(X)
    assert model.n_clusters_ == 2
    new = model.predict_mass([[0, 0], [4, 0], [4, 400]])
    assert new.masses[0].max() > 0.999
    assert new.masses[1, 1:3].min() > 0.01
    assert new.masses[2, 3] > 0.999
    np.testing.assert_array_equal(model.predict_set([[0, 0], [4, 400]]).sum(axis=1), [1, 2])
    np.testing.assert_allclose(model.predict_proba([[4, 400]]), [[0.5, 0.5]], atol=1e-3)


# Properties


@settings(max_examples=30)
@given(seeds, st.sampled_from([1.0, 2.0, 3.0]))
def test_masses_are_those_of_dempsters_rule(seed, power):
    X = make_samples(seed, 25)
    random = np.random.default_rng(seed)
    distances, indices = NearestNeighbors(n_neighbors=5).fit(X).kneighbors()
    graph = csr_array((distances.ravel(), indices.ravel(), np.arange(26) * 5), shape=(25, 25))
    support = Support.of(graph, q=0.5, power=power, min_distance=1e-6)
    labels = random.integers(3, size=25).astype(np.int32)
    focal_sets = FocalSets.simple(3)
    alpha = np.clip(np.exp(-((distances / support.scale) ** power)), 1e-6, 1 - 1e-12)
    sources = np.zeros((5, 25, len(focal_sets)))
    for k in range(5):
        sources[k, np.arange(25), 1 + labels[indices[:, k]]] = alpha[:, k]
        sources[k, :, -1] = 1 - alpha[:, k]
    expected = bf.combine(sources, focal_sets, rule="dempster")
    np.testing.assert_allclose(combine_evidence(support.weigh(graph), labels, 3), expected, rtol=1e-9, atol=1e-13)


@settings(max_examples=30)
@given(seeds)
def test_in_a_symmetric_graph_every_change_increases_the_objective(seed):
    graph, random = make_graph(seed)
    graph = csr_array(graph.maximum(graph.T))
    arrays = (graph.indptr, graph.indices, graph.data)
    labels = np.arange(40, dtype=np.int32)
    state = np.ones(40, dtype=np.uint8), np.empty(40)
    before = agreement(labels, *arrays, *state)
    for k in range(200):
        order = np.array([k % 40], dtype=np.int32)
        changed, gain = sweep(labels, *arrays, order, 40, *reverse_neighbors(graph), *state)
        after = agreement(labels, *arrays, *state)
        assert changed == (after > before)
        assert after - before == pytest.approx(2 * gain, abs=1e-9)
        before = after
    trace = search_labels(
        graph, reverse_neighbors(graph), np.arange(40, dtype=np.int32), draw_orders(random, 40), max_iter=200
    )
    assert trace.converged
    assert (np.diff(trace.history) >= 0).all()


@settings(max_examples=30)
@given(seeds, st.booleans())
def test_at_convergence_each_sample_has_the_label_with_the_most_votes(seed, union):
    graph, random = make_graph(seed)
    graph = csr_array(graph.maximum(graph.T)) if union else graph
    trace = search_labels(
        graph,
        reverse_neighbors(graph),
        random.integers(10, size=40).astype(np.int32),
        draw_orders(random, 40),
        max_iter=200,
    )
    if not trace.converged:
        assert not union  # labels of a directed graph may cycle
        return
    votes = np.zeros((40, 10))
    for i in range(40):
        row = slice(graph.indptr[i], graph.indptr[i + 1])
        np.add.at(votes[i], trace.state[graph.indices[row]], graph.data[row])
    np.testing.assert_allclose(votes[np.arange(40), trace.state], votes.max(axis=1), rtol=1e-12)
    equal_labels = trace.state[:, None] == trace.state
    assert trace.objective == pytest.approx((graph.toarray() * equal_labels).sum() / 2, rel=1e-12)


@settings(max_examples=20)
@given(seeds, st.sampled_from(["directed", "union"]))
def test_masses_and_labels_are_consistent(seed, graph):
    X = make_samples(seed)
    model = EKNNClus(8, graph=graph, random_state=seed).fit(X)
    np.testing.assert_allclose(model.masses_.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert (model.masses_ >= 0).all()
    assert (model.masses_[:, 0] == 0).all()
    assert sorted(set(model.labels_)) == list(range(model.n_clusters_))
    if model.converged_:
        np.testing.assert_array_equal(model.masses_[:, 1:-1].argmax(axis=1), model.labels_)


@settings(max_examples=20)
@given(seeds, st.sampled_from(["euclidean", "manhattan", "chebyshev"]))
def test_prediction_of_training_samples_is_the_fit(seed, metric):
    X = make_samples(seed)
    model = EKNNClus(8, metric=metric, random_state=seed).fit(X)
    np.testing.assert_allclose(model.predict_mass(X).masses, model.masses_, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert np.abs(model.predict_mass(X + 1e-3).masses - model.masses_).max() < 1


@settings(max_examples=20)
@given(seeds, st.sampled_from([1e-100, 1e-3, 1e3, 1e100]))
def test_location_and_unit_change_nothing(seed, unit):
    X = make_samples(seed)
    plain = EKNNClus(8, random_state=seed).fit(X)
    other = EKNNClus(8, random_state=seed).fit(unit * (X + np.array([100, -50])))
    np.testing.assert_array_equal(other.labels_, plain.labels_)
    np.testing.assert_allclose(other.masses_, plain.masses_, rtol=0, atol=1e-6)
    assert other.scale_ == pytest.approx(unit * plain.scale_, rel=1e-9)


def test_the_scale_is_a_quantile_of_the_distances_of_neighbors(fourclass):
    X, _ = fourclass
    distances = NearestNeighbors(n_neighbors=20).fit(X).kneighbors()[0]
    for q, power in ((0.5, 2.0), (0.9, 1.0), (0.3, 3.0)):
        model = with_switches(EKNNClus(20, q=q, random_state=0), power=power).fit(X)
        assert model.scale_**power == pytest.approx(np.quantile(distances**power, q), rel=1e-10)


def test_searches_with_equal_votes_converge():
    grid = np.stack(np.meshgrid(np.arange(12.0), np.arange(12.0)), axis=-1).reshape(-1, 2)
    for seed in range(5):
        assert EKNNClus(8, graph="union", random_state=seed).fit(grid).converged_


# Equivalent computations


def test_features_dissimilarities_and_graphs_give_the_same_result(fourclass):
    X, _ = fourclass
    plain = EKNNClus(30, random_state=0).fit(X)
    D = pairwise_distances(X)
    square = EKNNClus(30, metric="precomputed", random_state=0).fit(D)
    graph = kneighbors_graph(X, 30, mode="distance")
    sparse = EKNNClus(metric="precomputed", random_state=0).fit(graph)
    self_graph = KNeighborsTransformer(n_neighbors=30, mode="distance").fit_transform(X)
    assert self_graph.nnz == 31 * len(X)
    pipeline = EKNNClus(metric="precomputed", random_state=0).fit(self_graph)
    for other in (square, sparse, pipeline):
        np.testing.assert_array_equal(other.labels_, plain.labels_)
        np.testing.assert_allclose(other.masses_, plain.masses_, rtol=0, atol=1e-9)
        assert other.objective_ == pytest.approx(plain.objective_, rel=1e-9)
    np.testing.assert_allclose(square.predict_mass(D).masses, plain.masses_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(pipeline.predict_mass(self_graph).masses, plain.masses_, rtol=0, atol=1e-9)
    new = X[:50] + 0.01
    expected = plain.predict_mass(new).masses
    to_old = NearestNeighbors(n_neighbors=30).fit(X).kneighbors_graph(new, mode="distance")
    np.testing.assert_allclose(sparse.predict_mass(to_old).masses, expected, rtol=0, atol=1e-9)
    to_all = pairwise_distances(new, X)
    np.testing.assert_allclose(square.predict_mass(to_all).masses, expected, rtol=0, atol=1e-9)


def test_neighbors_can_be_searched_by_another_step_of_a_pipeline(fourclass):
    X, _ = fourclass
    search = KNeighborsTransformer(n_neighbors=30, mode="distance")
    pipeline = make_pipeline(search, EKNNClus(metric="precomputed", random_state=0)).fit(X)
    plain = EKNNClus(30, random_state=0).fit(X)
    np.testing.assert_array_equal(pipeline.predict(X), plain.labels_)
    np.testing.assert_array_equal(
        make_pipeline(StandardScaler(), EKNNClus(30, random_state=0)).fit(X[:, [0, 1]] * 100).predict(X * 100),
        EKNNClus(30, random_state=0).fit(StandardScaler().fit_transform(X)).labels_,
    )


def test_neighbors_in_many_features_are_searched_without_a_tree():
    X, y = make_blobs(150, n_features=30, centers=3, random_state=0)
    model = EKNNClus(20, random_state=0).fit(X + 1e5)
    assert adjusted_rand_score(y, model.labels_) == 1
    np.testing.assert_allclose(model.predict_mass(X + 1e5).masses, model.masses_, rtol=0, atol=1e-9)


@pytest.mark.parametrize("graph", ["directed", "union"])
def test_the_result_does_not_depend_on_the_number_of_threads(fourclass, graph):
    X, _ = fourclass
    fits = [EKNNClus(30, graph=graph, n_init=3, n_jobs=n_jobs, random_state=3).fit(X) for n_jobs in (None, 2, 3)]
    for other in (*fits[1:], clone(fits[0]).fit(X)):
        np.testing.assert_array_equal(other.masses_, fits[0].masses_)
        np.testing.assert_array_equal(other.labels_, fits[0].labels_)
    np.testing.assert_array_equal(fits[1].predict_mass(X[:77]).masses, fits[0].predict_mass(X[:77]).masses)


def test_more_starts_are_never_worse(fourclass):
    X, _ = fourclass
    objectives = [EKNNClus(30, n_init=n, random_state=0).fit(X).objective_ for n in (1, 5)]
    assert objectives[1] >= objectives[0]


def test_single_precision_is_enough(fourclass):
    X, _ = fourclass
    plain = EKNNClus(60, q=0.9, random_state=0).fit(X)
    single = EKNNClus(60, q=0.9, random_state=0).fit(X.astype(np.float32))
    assert adjusted_rand_score(plain.labels_, single.labels_) > 0.95
    graph = kneighbors_graph(X, 60, mode="distance").astype(np.float32)
    sparse = EKNNClus(q=0.9, metric="precomputed", random_state=0).fit(graph)
    np.testing.assert_allclose(sparse.masses_, plain.masses_, rtol=0, atol=1e-4)


# Starts


def test_initial_labels_are_distinct_random_or_specified(fourclass):
    X, y = fourclass
    model = EKNNClus(60, q=0.9, y_init=y + 7, random_state=0).fit(X)
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(model.labels_, y) > 0.65
    np.testing.assert_array_equal(
        EKNNClus(60, y_init=np.arange(400), random_state=0).fit(X).masses_,
        EKNNClus(60, random_state=0).fit(X).masses_,
    )
    assert EKNNClus(10, y_init=2, random_state=0).fit(X).n_clusters_ == 2
    for n_labels in (2**31, 2**32, 2**63, 10**30):  # as if each sample had its own label
        assert EKNNClus(60, q=0.9, y_init=n_labels, random_state=0).fit(X).n_clusters_ == 4
    numbers = y.astype(np.int64) * 2**40 - 2**50
    np.testing.assert_array_equal(
        EKNNClus(60, q=0.9, y_init=numbers, random_state=0).fit(X).masses_, model.masses_
    )
    X_large, _ = make_fourclass(1200, random_state=0)
    assert 4 <= EKNNClus(q=0.9, random_state=0).fit(X_large).n_clusters_ <= 8


# Degenerate data


@ignore_single_cluster
@pytest.mark.parametrize("graph", ["directed", "union"])
@pytest.mark.parametrize(
    "X",
    [
        np.zeros((10, 2)),
        np.repeat([[0.0, 0.0], [5.0, 5.0]], 10, axis=0),
        np.repeat(np.random.default_rng(0).standard_normal((20, 2)), 5, axis=0),
        np.array([[0.0], [1.0]]),
        np.vstack([np.random.default_rng(0).standard_normal((40, 2)), [[1e6, 0]]]),
        np.random.default_rng(0).standard_normal((40, 2)) * 1e149,
        np.random.default_rng(0).standard_normal((40, 2)) * 1e-200,
        np.random.default_rng(0).standard_normal((40, 2)) * [1e149, 1e-200],
    ],
    ids=["one place", "two places", "copies", "two samples", "far out", "huge", "tiny", "both"],
)
def test_degenerate_data_give_valid_masses(X, graph):
    for n_neighbors in (1, 3, "auto"):
        model = EKNNClus(n_neighbors, graph=graph, random_state=0).fit(X)
        assert np.isfinite(model.masses_).all()
        np.testing.assert_allclose(model.masses_.sum(axis=1), 1, rtol=0, atol=1e-12)
        assert np.isfinite(model.predict_mass(X).masses).all()
        assert np.isfinite(model.objective_)
        assert model.scale_ > 0


# Copies


def inputs_of(X, new, metric):
    """Return training and new data: points, or dissimilarities to the training points."""
    if metric == "precomputed":
        return cdist(X, X), cdist(new, X)
    return X, new


@pytest.mark.parametrize("n_copies", [2, 3, 6])
@pytest.mark.parametrize("graph", ["directed", "union"])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_copies_of_all_samples_change_neither_clusters_nor_masses(fourclass, metric, graph, n_copies):
    X, new = fourclass[0][:120], fourclass[0][120:160]
    data, new_data = inputs_of(X, new, metric)
    copied, new_copied = inputs_of(np.tile(X, (n_copies, 1)), new, metric)
    model = EKNNClus(metric=metric, graph=graph, random_state=0).fit(data)
    other = EKNNClus(metric=metric, graph=graph, random_state=0).fit(copied)
    assert other.scale_ == model.scale_
    np.testing.assert_array_equal(other.labels_, np.tile(model.labels_, n_copies))
    np.testing.assert_allclose(other.masses_, np.tile(model.masses_, (n_copies, 1)), rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        other.predict_mass(new_copied).masses, model.predict_mass(new_data).masses, rtol=0, atol=1e-12
    )
    if graph == "directed":
        np.testing.assert_allclose(other.predict_mass(copied).masses, other.masses_, rtol=0, atol=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_votes_of_a_sample_count_for_each_of_its_copies(metric):
    # The neighbors of the first sample are 2 samples at the same distance, in different clusters.
    places = np.array([[0.0], [-1.0], [-1.1], [-1.2], [1.0], [1.1], [1.2]])
    rows = [0, 1, 2, 3, 4, 5, 6, 1, 1]
    data, new = inputs_of(places[rows], places[:1], metric)
    model = EKNNClus(2, metric=metric, y_init=[1, 0, 0, 0, 1, 1, 1, 0, 0], random_state=0).fit(data)
    np.testing.assert_array_equal(model.labels_, [0, 0, 0, 0, 1, 1, 1, 0, 0])
    weight = Support(model.scale_, 2.0, 1e-6)(np.array([1.0]))[0] / (9 / 7)  # the mean number of copies is 9/7
    powers = np.array([*np.expm1([3 * weight, weight]), 1])
    np.testing.assert_allclose(model.masses_[0, 1:], powers / powers.sum(), rtol=1e-9)
    np.testing.assert_allclose(model.predict_mass(new).masses[0, 1:], powers / powers.sum(), rtol=1e-9)


def test_the_objective_never_falls_with_copies_in_a_symmetric_graph():
    random = np.random.default_rng(0)
    X = random.integers(8, size=(300, 2)).astype(float)
    for seed in range(10):
        model = EKNNClus(8, graph="union", random_state=seed).fit(X)
        assert (np.diff(model.objective_history_) >= -1e-9).all()


def test_rounded_features_give_the_clusters_of_the_features():
    X, y = make_blobs(300, centers=3, cluster_std=0.8, random_state=1)
    rounded = np.round(X / 0.5) * 0.5
    assert len(np.unique(rounded, axis=0)) < 170
    model = EKNNClus(random_state=0).fit(rounded)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(y, model.labels_) > 0.95


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_samples_that_are_all_equal_are_one_cluster(metric):
    data, new = inputs_of(np.ones((20, 2)), np.zeros((1, 2)), metric)
    with pytest.warns(CollapseWarning, match="all samples are in one cluster"):
        model = EKNNClus(metric=metric, random_state=0).fit(data)
    assert model.n_clusters_ == 1
    np.testing.assert_array_equal(model.predict(new), [0])


def test_copies_are_one_sample_for_any_initial_labels():
    X = np.repeat([[0.0], [1.0], [8.0], [9.0]], 2, axis=0)
    model = EKNNClus(1, y_init=[0, 5, 0, 5, 1, 5, 1, 5], random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, [0, 0, 0, 0, 1, 1, 1, 1])
    with pytest.raises(ValueError, match="y_init"):
        EKNNClus(1, y_init=[0, 1, 2, 3]).fit(X)


def test_models_with_copies_are_saved_and_loaded(tmp_path, fourclass):
    rows = np.random.default_rng(0).integers(100, size=200)
    for metric in ("euclidean", "manhattan"):
        data, new = inputs_of(fourclass[0][rows], fourclass[0][100:120], metric)
        model = EKNNClus(metric=metric, random_state=0).fit(data)
        save_model(model, tmp_path / "model.json")
        loaded = load_model(tmp_path / "model.json")
        np.testing.assert_array_equal(loaded.predict_mass(new).masses, model.predict_mass(new).masses)


def test_one_cluster_is_returned_with_a_warning(blobs):
    X = blobs[0][:50]
    with pytest.warns(CollapseWarning, match="all samples are in one cluster. Lower n_neighbors or q"):
        model = EKNNClus(49, q=1, random_state=0, y_init=np.zeros(50, dtype=int)).fit(X)
    assert model.n_clusters_ == 1
    assert model.focal_sets_ == FocalSets.simple(1)
    np.testing.assert_array_equal(model.masses_, [[0, 1]] * 50)
    np.testing.assert_array_equal(model.predict(X[:3]), [0, 0, 0])
    np.testing.assert_array_equal(model.predict_mass(X[:3]).masses, [[0, 1]] * 3)


def test_samples_without_neighbors_have_all_mass_on_the_set_of_all_clusters():
    D = np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0.0]])
    model = EKNNClus(metric="precomputed", random_state=0).fit(csr_array(D))
    assert model.n_clusters_ == 2
    np.testing.assert_array_equal(model.masses_[3], [0, 0, 0, 1])
    assert model.labels_[2] == model.labels_[3]
    empty_graph = csr_array((2, 4))
    np.testing.assert_array_equal(model.predict_mass(empty_graph).masses, [[0, 0, 0, 1]] * 2)
    with pytest.raises(ValueError, match="negative distances"):
        EKNNClus(metric="precomputed").fit(csr_array(-D))
    with pytest.raises(ValueError, match=r"a row and a column for each sample, got shape \(3, 4\)"):
        EKNNClus(metric="precomputed").fit(csr_array(D[:3]))


# Frames, messages, interrupts


def test_frames_of_any_kind_are_accepted(fourclass):
    X = fourclass[0][:60]
    plain = EKNNClus(10, random_state=0).fit(X)
    for frame in (pd.DataFrame(X, columns=["a", "b"]), pl.DataFrame(X, schema=["a", "b"])):
        model = EKNNClus(10, random_state=0).fit(frame)
        np.testing.assert_array_equal(model.masses_, plain.masses_)
        assert model.feature_names_in_.tolist() == ["a", "b"]
        np.testing.assert_array_equal(model.predict(frame), plain.labels_)
    names = [f"row {k}" for k in range(60)]
    model = EKNNClus(10, random_state=0).fit(pd.DataFrame(X, index=names, columns=["a", "b"]))
    assert model.credal_partition_.sample_names[3] == "row 3"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors must be 'auto' or a whole number of at least 1, got 0"),
        ({"q": 0}, "q must be a number above 0 and at most 1, got 0"),
        ({"graph": "mutual"}, r"graph must be one of \['directed', 'union'\], got 'mutual'"),
        ({"y_init": "random"}, "y_init must be 'auto' or a whole number of at least 1, got 'random'"),
        ({"y_init": [0.5] * 12}, "y_init must contain a whole number for each sample, got float64"),
        ({"y_init": [2**80] * 12}, "y_init must contain a whole number for each sample, got object"),
        ({"y_init": [0, 1]}, r"y_init must have shape \(12,\), got \(2,\)"),
        ({"n_init": 0}, "n_init must be a whole number of at least 1, got 0"),
        ({"max_iter": 0}, "max_iter must be a whole number of at least 1, got 0"),
        ({"metric": "mahalanobis"}, "metric='mahalanobis' needs parameters"),
        ({"metric": "precomputed"}, r"X must be a square matrix if metric='precomputed', got shape \(12, 2\)"),
    ],
)
def test_invalid_parameters_are_reported_with_allowed_values(settings, message):
    with pytest.raises(ValueError, match=message):
        EKNNClus(**settings).fit(np.random.default_rng(0).standard_normal((12, 2)))


def test_invalid_data_are_refused():
    X = np.random.default_rng(0).standard_normal((12, 2))
    with pytest.raises(ValueError, match="values beyond 1e\\+150, whose squares overflow"):
        EKNNClus().fit(1e200 * X)
    with pytest.raises(ValueError, match="negative dissimilarities"):
        EKNNClus(metric="precomputed").fit(X @ X.T)
    with pytest.raises(ValueError, match="minimum of 2"):
        EKNNClus().fit(X[:1])
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        EKNNClus().fit(csr_array(X))
    with pytest.raises(NotFittedError):
        EKNNClus().predict(X)


def test_a_search_without_convergence_is_reported(fourclass):
    with pytest.warns(ConvergenceWarning, match="the labels still changed after max_iter=1 passes"):
        model = EKNNClus(30, max_iter=1, random_state=0).fit(fourclass[0])
    assert not model.converged_
    assert model.n_iter_ == 1


def test_progress_is_reported_pass_by_pass(fourclass, capsys):
    model = EKNNClus(30, n_init=1, verbose=1, random_state=0).fit(fourclass[0])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    assert lines[-1].startswith(f"EKNNClus pass {model.n_iter_:>4}   objective ")


def test_an_interrupt_keeps_the_labels_so_far(fourclass):
    passes = []

    def stop(progress):
        passes.append(progress.n_done)
        if progress.n_done == 2:
            raise KeyboardInterrupt

    with watching(stop), pytest.warns(ConvergenceWarning, match="interrupted after 2 passes"):
        model = EKNNClus(30, n_init=1, random_state=0).fit(fourclass[0])
    assert passes == [1, 2]
    assert model.n_iter_ == 2
    assert not model.converged_
    other = EKNNClus(30, n_init=1, max_iter=2, random_state=0)
    with pytest.warns(ConvergenceWarning):
        np.testing.assert_array_equal(other.fit(fourclass[0]).labels_, model.labels_)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
def test_control_c_ends_a_long_fit_with_a_result():
    program = """
import signal, threading, warnings, os
import numpy as np
from evlearn import watching
from evlearn.cluster import EKNNClus
warnings.simplefilter("ignore")
X = np.random.default_rng(0).random((20_000, 2))
def report(progress):
    if progress.n_done == 1:
        print("going", flush=True)
with watching(report):
    print(EKNNClus(30, n_init=1000, random_state=0).fit(X).converged_)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "going\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read().splitlines()[-1] in ("True", "False")
        assert process.wait(timeout=60) == 0


@pytest.mark.slow
def test_clear_clusters_are_split_into_few_clusters_by_default():
    random = np.random.RandomState(0)
    y = np.repeat(np.arange(3), 700)
    X = np.array([(0, 0), (7, 0), (0, 7)])[y] + random.standard_normal((len(y), 2))
    numbers = [EKNNClus(random_state=seed).fit(X).n_clusters_ for seed in range(3)]
    assert 3 <= np.mean(numbers) <= 6
    assert np.mean(numbers) < EKNNClus(q=0.5, n_init=1, random_state=0).fit(X).n_clusters_


def test_many_clusters_of_one_sample_are_reported():
    distances = np.zeros((20, 20))
    distances[:10, :10] = 1 - np.eye(10)  # 10 mutual neighbors, and 10 samples without neighbors
    with pytest.warns(CollapseWarning, match="10 of 11 clusters hold one sample"):
        EKNNClus(metric="precomputed", random_state=0).fit(csr_array(distances))
