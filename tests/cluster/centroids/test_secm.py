"""Properties of spatial evidential c-means, and effects of neighbors."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.feature_extraction.image import grid_to_graph
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from evlearn.belief import FocalSets
from evlearn.cluster import CCM, ECM, SECM, FocalFamily
from evlearn.cluster.centroids.secm import Neighborhoods

pytestmark = pytest.mark.filterwarnings(
    "ignore:the objective still changed:sklearn.exceptions.ConvergenceWarning"  # a given number of iterations
)
seeds = st.integers(0, 10_000)
shares = st.sampled_from([0.1, 0.5, 0.8, 1.0])
betas = st.sampled_from([1.2, 1.5, 2.0, 3.0])
kinds = st.sampled_from(["ecm", "ccm"])


@parametrize_with_checks([SECM(2, random_state=0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def make_samples(seed, n_samples=30, n_features=2):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_samples, n_features)) + 4 * random.integers(3, size=(n_samples, 1))
    graph = sparse.csr_array(sparse.random(n_samples, n_samples, density=0.1, random_state=random))
    return X, X[random.choice(n_samples, 3, replace=False)] + 0.1, graph


def all_shares(graph, share):
    """Return a dense matrix with the share of each sample in the average of each sample."""
    table = graph.toarray()
    np.fill_diagonal(table, 0)
    total = table.sum(axis=1, keepdims=True)
    table = share * table / np.where(total > 0, total, 1)
    return table + np.diag(1 - table.sum(axis=1))


def averaged_costs(model, X, graph, share):
    """Return the cost of each set for each sample, averaged over neighbors, by the formula of the papers."""
    F = model.focal_sets_.membership[1:].astype(float)
    size = F.sum(axis=1)
    V = model.cluster_centers_
    to_prototypes, to_barycenters = cdist(X, V) ** 2, cdist(X, F @ V / size[:, None]) ** 2
    if model.cost == "ecm":
        costs = size**model.alpha_ * to_barycenters
    else:
        costs = (to_prototypes @ F.T + model.gamma * to_barycenters) / (size + model.gamma)
    empty = np.full((len(X), 1), model.delta_**2)
    return np.hstack([empty, all_shares(graph, share) @ costs])


@settings(max_examples=25)
@given(seeds, shares, betas, kinds, st.sampled_from(["pairs", "full"]))
def test_masses_and_objective_are_those_of_averaged_distances(seed, share, beta, cost, family):
    X, V, graph = make_samples(seed)
    options = {
        "alpha": 1.5,
        "gamma": 0.7,
        "beta": beta,
        "delta": 3,
        "focal_sets": family,
        "init": V,
        "max_iter": 4,
    }
    model = SECM(3, connectivity=graph, neighbor_share=share, cost=cost, **options).fit(X)
    costs = averaged_costs(model, X, graph, share)
    relative = costs ** (-1 / (beta - 1))
    np.testing.assert_allclose(model.masses_, relative / relative.sum(axis=1, keepdims=True), atol=1e-9)
    assert model.objective_ == pytest.approx((model.masses_**beta * costs).sum(), rel=1e-9)


@settings(max_examples=25)
@given(seeds, shares, betas, kinds)
@pytest.mark.slow
def test_masses_and_prototypes_are_optimal(seed, share, beta, cost):
    X, V, graph = make_samples(seed)
    options = {"alpha": 1.0, "beta": beta, "delta": 4, "init": V, "tol": 0, "max_iter": 2000}
    model = SECM(3, connectivity=graph, neighbor_share=share, cost=cost, **options).fit(X)
    random, masses = np.random.default_rng(seed), model.masses_
    for size in (1e-3, 1e-1):
        others = np.abs(masses + size * random.standard_normal(masses.shape))
        others /= others.sum(axis=1, keepdims=True)
        costs = averaged_costs(model, X, graph, share)
        assert ((others**beta) * costs).sum() >= model.objective_ * (1 - 1e-12)
    best = model.cluster_centers_.copy()
    for _ in range(5):
        model.cluster_centers_ = best + 1e-2 * random.standard_normal(best.shape)
        assert (masses**beta * averaged_costs(model, X, graph, share)).sum() >= model.objective_ * (1 - 1e-5)


@settings(max_examples=25)
@given(seeds, st.sampled_from([0.3, 1.0, "auto"]), kinds, st.sampled_from([1.5, "auto"]))
@pytest.mark.slow
def test_the_objective_never_increases(seed, share, cost, beta):
    X, V, graph = make_samples(seed)
    model = SECM(3, connectivity=graph, neighbor_share=share, cost=cost, beta=beta, init=V, tol=0).fit(X)
    assert (np.diff(model.objective_history_) <= 0).all()
    assert len(model.objective_history_) == model.n_iter_ + 1


@pytest.mark.parametrize("no_neighbors", [{"neighbor_share": 0}, {"connectivity": sparse.csr_array((30, 30))}])
@pytest.mark.parametrize(("cost", "kind"), [("ecm", ECM), ("ccm", CCM)])
def test_without_neighbors_it_is_ecm_or_ccm(no_neighbors, cost, kind):
    X, V, graph = make_samples(3)
    model = SECM(3, cost=cost, init=V, random_state=0, **({"connectivity": graph} | no_neighbors)).fit(X)
    expected = kind(3, focal_sets=FocalFamily(include_omega=False), init=V, random_state=0).fit(X)
    assert model.neighbor_share_ == 0
    assert np.array_equal(model.masses_, expected.masses_)
    assert np.array_equal(model.cluster_centers_, expected.cluster_centers_)
    assert model.objective_ == expected.objective_


@settings(max_examples=20)
@given(seeds, shares)
def test_means_and_spreads_are_the_averaged_squares(seed, share):
    X, V, graph = make_samples(seed)
    averaged = Neighborhoods.of(graph, X).average(X, share)
    squares = cdist(averaged[:, :-1], V) ** 2 + averaged[:, -1:] ** 2
    np.testing.assert_allclose(squares, all_shares(graph, share) @ cdist(X, V) ** 2, rtol=1e-9)


def test_a_remote_origin_loses_no_digits():
    X, _, graph = make_samples(0)
    spreads, shifted_spreads = (
        Neighborhoods.of(graph, rows).average(rows, 0.5)[:, -1] for rows in (X, X + 2.0**30)
    )
    np.testing.assert_allclose(spreads, shifted_spreads, atol=1e-6)


def test_the_share_follows_the_noise():
    random = np.random.default_rng(0)
    steps = np.repeat([[0.0, 1.0]], 32, axis=1) * np.ones((64, 1))
    graph, noise = grid_to_graph(64, 64), random.standard_normal((64, 64))
    of = {
        size: Neighborhoods.of(graph, np.empty((64**2, 1))).best_share((steps + size * noise).reshape(-1, 1))
        for size in (0.0, 0.02, 0.1, 10.0)
    }
    assert of[0.0] == 0 < of[0.02] < of[0.1] < of[10.0]
    assert of[10.0] == pytest.approx(0.8, abs=0.05)  # 4 neighbors and the pixel itself, with equal weights


def two_levels(noise, seed=0, side=64):
    random = np.random.default_rng(seed)
    rows, columns = np.mgrid[:side, :side]
    truth = ((rows - side / 2) ** 2 + (columns - side / 2) ** 2 < (side / 3) ** 2).astype(int)
    return truth + noise * random.standard_normal(truth.shape), truth


@pytest.mark.parametrize("cost", ["ecm", "ccm"])
def test_neighbors_separate_levels_in_noise(cost):
    image, truth = two_levels(0.6)
    X, y = image.reshape(-1, 1), truth.ravel()
    ecm_score = adjusted_rand_score(y, ECM(2, random_state=0).fit(X).labels_)
    model = SECM(2, connectivity=grid_to_graph(*image.shape), cost=cost, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > ecm_score + 0.2
    # Doubt is at the edge of the disc.
    edge = np.abs(np.hypot(*(np.mgrid[:64, :64] - 32)) - 64 / 3).ravel() < 1.5
    doubt = model.credal_partition_.doubt()
    assert doubt[edge].mean() > 1.5 * doubt[~edge].mean()


@pytest.mark.parametrize("init", ["kmeans", "random", "k-means++"])
def test_clusters_go_from_dark_to_bright(init):
    image, truth = two_levels(0.3)
    model = SECM(2, connectivity=grid_to_graph(64, 64), init=init, random_state=1).fit(image.reshape(-1, 1))
    assert model.cluster_centers_[0] < model.cluster_centers_[1]
    assert (model.labels_ == truth.ravel()).mean() > 0.95


def test_all_kinds_of_graphs_give_the_same_result():
    X, _, _ = make_samples(1)
    graph = kneighbors_graph(X, 4)
    graphs = [graph, sparse.coo_array(graph), graph.toarray(), lambda rows: kneighbors_graph(rows, 4)]
    fits = [SECM(3, connectivity=connectivity, random_state=0).fit(X) for connectivity in graphs]
    for fit in fits[1:]:
        assert np.array_equal(fit.masses_, fits[0].masses_)
    with_itself = SECM(3, connectivity=graph + sparse.eye_array(len(X)), random_state=0).fit(X)
    assert np.array_equal(with_itself.masses_, fits[0].masses_)


def test_predictions_with_the_graph_are_those_of_the_fit():
    X, _, graph = make_samples(2)
    model = SECM(3, connectivity=graph, random_state=0).fit(X)
    assert np.array_equal(model.predict_mass(X, connectivity=graph).masses, model.masses_)
    plain = model.predict_mass(X)
    assert not np.allclose(plain.masses, model.masses_)
    without_neighbors = model.predict_mass(X, connectivity=sparse.csr_array((30, 30)))
    np.testing.assert_allclose(plain.masses, without_neighbors.masses)
    assert np.array_equal(model.predict(X), plain.to_hard())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.slow
def test_workers_and_names_change_nothing(dtype):
    image, _ = two_levels(0.3, side=96)
    X, graph = image.reshape(-1, 1).astype(dtype), grid_to_graph(96, 96)
    first = SECM(2, connectivity=graph, random_state=0).fit(X)
    assert first.masses_.dtype == dtype
    other = SECM(2, connectivity=graph, random_state=0, n_jobs=2).fit(X)
    assert np.array_equal(first.masses_, other.masses_)
    frame = pd.DataFrame(X, columns=["gray"], index=[f"pixel {k}" for k in range(len(X))])
    model = SECM(2, connectivity=graph, random_state=0).fit(frame)
    assert np.array_equal(first.masses_, model.masses_)
    assert model.credal_partition_.sample_names[0] == "pixel 0"
    assert model.predict_mass(frame, connectivity=graph).sample_names[-1] == f"pixel {len(X) - 1}"


def test_it_works_in_a_pipeline():
    image, truth = two_levels(0.3)
    X = image.reshape(-1, 1)
    steps = make_pipeline(StandardScaler(), SECM(2, connectivity=grid_to_graph(64, 64), random_state=0)).fit(X)
    assert adjusted_rand_score(truth.ravel(), steps[-1].labels_) > 0.9
    assert adjusted_rand_score(truth.ravel(), steps.predict(X)) > 0.7


@pytest.mark.parametrize("cost", ["ecm", "ccm"])
@pytest.mark.parametrize("weights", [[1, 0, 1, 1], [1, 2, 1], [3, 0, 1]])
def test_a_weight_is_the_number_of_copies_also_as_a_neighbor(weights, cost):
    X, _, _ = make_samples(4, n_samples=60)
    graph = kneighbors_graph(X, 4).tocsr()
    weights = np.resize(weights, len(X)).astype(float)
    X[weights == 0] += 9  # these rows must not influence the result
    indices = np.repeat(np.arange(len(X)), weights.astype(int))
    options = {"cost": cost, "tol": 1e-12, "max_iter": 2000, "random_state": 0}
    weighted = SECM(3, connectivity=graph, **options).fit(X, sample_weight=weights)
    copies = SECM(3, connectivity=graph[indices][:, indices], **options).fit(X[indices])
    np.testing.assert_allclose(weighted.masses_[indices], copies.masses_, rtol=0, atol=1e-7)
    np.testing.assert_allclose(weighted.cluster_centers_, copies.cluster_centers_, rtol=0, atol=1e-6)
    np.testing.assert_allclose(weighted.neighbor_share_, copies.neighbor_share_, rtol=1e-9)
    np.testing.assert_allclose(weighted.delta_, copies.delta_, rtol=1e-9)


def test_a_remote_pixel_and_its_neighbors_are_outliers():
    image, truth = two_levels(0.1)
    image[0, 0] = 1e300
    model = SECM(2, connectivity=grid_to_graph(64, 64), random_state=0).fit(image.reshape(-1, 1))
    assert model.credal_partition_.outliers()[0]
    assert np.abs(np.sort(model.cluster_centers_.ravel()) - [0, 1]).max() < 0.1
    assert adjusted_rand_score(truth.ravel()[100:], model.labels_[100:]) > 0.9


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        (np.ones((3, 3)), "graph of the 30 samples"),
        (sparse.csr_array(-np.ones((30, 30))), "not negative"),
        (np.full((30, 30), np.nan), "finite"),
    ],
)
def test_invalid_graphs_are_refused(graph, words):
    X, _, _ = make_samples(0)
    with pytest.raises(ValueError, match=words):
        SECM(3, connectivity=graph).fit(X)


@pytest.mark.parametrize(
    ("name", "value"), [("neighbor_share", 1.5), ("neighbor_share", "all"), ("cost", "fcm"), ("gamma", -1)]
)
def test_invalid_parameters_are_refused(name, value):
    with pytest.raises(ValueError, match=name):
        SECM(3, **{name: value}).fit(np.zeros((9, 1)))


def test_a_graph_requires_data_in_memory(tmp_path):
    X, _, graph = make_samples(0)
    pd.DataFrame(X, columns=["a", "b"]).to_parquet(tmp_path / "X.parquet")
    with pytest.raises(ValueError, match="connectivity needs data in memory"):
        SECM(3, connectivity=graph).fit(tmp_path / "X.parquet")
    on_disk = SECM(3, random_state=0).fit(tmp_path / "X.parquet")
    in_memory = SECM(3, random_state=0).fit(X)
    np.testing.assert_allclose(on_disk.cluster_centers_, in_memory.cluster_centers_)


def test_explicit_focal_sets_are_used():
    X, V, graph = make_samples(5)
    model = SECM(3, connectivity=graph, init=V, focal_sets=FocalSets.full(3)).fit(X)
    assert model.masses_.shape == (30, 8)


def test_pairs_of_neighboring_clusters_are_selected_by_averaged_masses():
    random = np.random.default_rng(0)
    levels = np.repeat([0.0, 1.0, 2.0, 3.0], 16)
    image = levels + 0.4 * random.standard_normal((48, 64))
    options = {"connectivity": grid_to_graph(48, 64), "random_state": 0}
    model = SECM(4, focal_sets="neighbor_pairs", **options).fit(image.reshape(-1, 1))
    pairs = {focal_set for focal_set in model.focal_sets_ if len(focal_set) == 2}
    assert pairs
    assert pairs <= {(0, 1), (1, 2), (2, 3)}
    assert (np.diff(model.objective_history_) <= 0).all()
