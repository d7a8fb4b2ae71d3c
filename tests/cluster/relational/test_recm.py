import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.utils.estimator_checks import parametrize_with_checks

from evlearn import cluster, papers
from evlearn.belief import FocalSets
from evlearn.cluster import FocalFamily
from evlearn.cluster.centroids.model import Coordinates, EuclideanModel
from evlearn.cluster.isolation import crisp_clusters
from evlearn.cluster.relational.weighted_means import RelationalModel, Squares, euclidean_shift
from evlearn.cluster.set_costs import SetCosts
from evlearn.datasets import load_butterfly, make_fourclass

cut_off = pytest.mark.filterwarnings("ignore:the masses still changed:sklearn.exceptions.ConvergenceWarning")
clipping = pytest.mark.filterwarnings("ignore:squared distances to prototypes were negative")
seeds = st.integers(0, 10_000)


@parametrize_with_checks(
    [cluster.RECM(n_clusters=2), papers.recm(n_clusters=2), cluster.RECM(n_clusters=2, nonmetric="shift")]
)
@pytest.mark.slow_cells("check_dtype_object")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def blobs():
    return make_fourclass(400, random_state=0)


def make_samples(seed, n_samples=30):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_samples, 3)) + 4 * random.integers(3, size=(n_samples, 1))
    return X, random.dirichlet(np.ones(8), size=n_samples)


@pytest.mark.parametrize("init", ["random", "kmeans"])
@pytest.mark.parametrize("focal_sets", ["full", "pairs", "simple", "neighbor_pairs"])
def test_a_fit_finds_the_clusters_and_sets_its_attributes(blobs, focal_sets, init):
    X, y = blobs
    model = papers.recm(4, focal_sets=focal_sets, init=init, n_init=3, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.65
    assert model.credal_partition_.n_clusters == 4
    np.testing.assert_allclose(model.masses_.sum(axis=1), 1, rtol=0, atol=1e-10)
    assert (model.masses_ >= 0).all()
    assert model.converged_
    assert len(model.objective_history_) == model.n_iter_ + 1
    assert model.objective_ == model.objective_history_[-1]
    assert model.shift_ == 0
    np.testing.assert_allclose(model.prototype_weights_.sum(axis=1), 1, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X[:5]), model.labels_[:5])


def test_the_objective_matches_its_formula(blobs):
    X = blobs[0]
    model = papers.recm(4, alpha=0.7, beta=1.8, delta=3, random_state=0).fit(X)
    prototypes = model.prototype_weights_ @ X
    F = model.focal_sets_.membership[1:].astype(float)
    size = F.sum(axis=1)
    squares = cdist(X, F @ prototypes / size[:, None]) ** 2
    powers = model.masses_**1.8
    objective = (size**0.7 * powers[:, 1:] * squares).sum() + 9 * powers[:, 0].sum()
    assert model.objective_ == pytest.approx(objective, rel=1e-10)


def test_the_distance_to_the_empty_set_is_a_quantile_of_the_dissimilarities(blobs):
    X = blobs[0]
    D = pairwise_distances(X)
    ordinary = crisp_clusters(X, 4, "euclidean").ordinary
    squares = D[np.ix_(ordinary, ordinary)][np.triu_indices(ordinary.sum(), k=1)] ** 2
    reach = crisp_clusters(D, 4, "precomputed").reach
    expected = min(np.sqrt(np.quantile(squares, 0.95)), 1.25 * reach)
    assert papers.recm(4, random_state=0).fit(X).delta_ == pytest.approx(expected, rel=1e-9)
    assert papers.recm(4, delta=2, random_state=0).fit(X).delta_ == 2


@cut_off
@settings(max_examples=20)
@given(seeds, st.sampled_from([1.2, 1.5, 2.0]), st.sampled_from([0.0, 1.0, 2.0]))
@pytest.mark.slow
def test_with_euclidean_dissimilarities_it_is_evidential_c_means(seed, beta, alpha):
    X, masses = make_samples(seed)
    costs = SetCosts.ecm(FocalSets.full(3), alpha=alpha, beta=beta, delta=5)
    model = EuclideanModel(costs, Coordinates.of(X), np.zeros((3, 3)))
    expected = masses
    for _ in range(10):
        model = model.solve(model.statistics_of(X, expected))
        expected = model.assign(X)
    relational = papers.recm(3, alpha=alpha, beta=beta, delta=5, init=masses, tol=0, max_iter=10).fit(X)
    np.testing.assert_allclose(relational.masses_, expected, rtol=0, atol=1e-8)
    np.testing.assert_allclose(relational.prototype_weights_ @ X, model.centers, rtol=0, atol=1e-8)
    assert relational.objective_ == pytest.approx(model.collect(X).cost, rel=1e-9)


@settings(max_examples=20)
@given(seeds, st.sampled_from([1.1, 1.5, 2.0, 3.0]))
@pytest.mark.slow
def test_the_objective_never_increases_with_euclidean_dissimilarities(seed, beta):
    X, masses = make_samples(seed)
    history = papers.recm(3, beta=beta, init=masses, max_iter=5000).fit(X).objective_history_
    assert (np.diff(history) <= 1e-9 * history[:-1]).all()


@cut_off
@settings(max_examples=20)
@given(seeds)
@pytest.mark.slow
def test_permuting_samples_permutes_the_result(seed):
    X, masses = make_samples(seed)
    order = np.random.default_rng(seed).permutation(len(X))
    plain = papers.recm(3, init=masses, max_iter=20).fit(X)
    permuted = papers.recm(3, init=masses[order], max_iter=20).fit(X[order])
    np.testing.assert_allclose(permuted.masses_, plain.masses_[order], rtol=0, atol=1e-7)


@cut_off
@settings(max_examples=20)
@given(seeds)
@pytest.mark.slow
def test_location_unit_and_constant_features_change_nothing(seed):
    X, masses = make_samples(seed)
    rotation = np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))[0]
    plain = papers.recm(3, delta=5, init=masses, max_iter=20).fit(X)
    wider = papers.recm(3, delta=5, init=masses, max_iter=20).fit(np.column_stack([X, np.full(len(X), 7.0)]))
    np.testing.assert_array_equal(wider.masses_, plain.masses_)
    rotated = papers.recm(3, delta=5, init=masses, max_iter=20).fit(X @ rotation + 100)
    np.testing.assert_allclose(rotated.masses_, plain.masses_, rtol=0, atol=1e-6)
    larger = papers.recm(3, delta=5000, init=masses, max_iter=20).fit(1000 * X)
    np.testing.assert_allclose(larger.masses_, plain.masses_, rtol=0, atol=1e-7)
    assert larger.objective_ == pytest.approx(1e6 * plain.objective_, rel=1e-9)


@clipping
@settings(max_examples=20)
@given(seeds, st.sampled_from(["clip", "shift"]))
@pytest.mark.slow
def test_identical_samples_have_identical_masses(seed, nonmetric):
    X, _ = make_samples(seed, 15)
    X = np.abs(np.repeat(X, 3, axis=0))
    model = papers.recm(3, metric="manhattan", nonmetric=nonmetric, max_iter=5000, random_state=0).fit(X)
    copies = model.masses_.reshape(15, 3, -1)
    np.testing.assert_allclose(np.ptp(copies, axis=1), 0, atol=1e-9)


@pytest.mark.parametrize("factor", [1e-100, 1e100, 1e150])
def test_extreme_units_have_the_same_result(blobs, factor):
    X = blobs[0]
    plain = papers.recm(4, random_state=0).fit(X)
    model = papers.recm(4, random_state=0).fit(factor * X)
    np.testing.assert_allclose(model.masses_, plain.masses_, rtol=0, atol=1e-9)
    assert model.delta_ == pytest.approx(factor * plain.delta_, rel=1e-12)
    squares = papers.recm(4, metric="precomputed", squared_input=True, random_state=0).fit(
        pairwise_distances(X) ** 2 * factor
    )
    np.testing.assert_allclose(squares.masses_, plain.masses_, rtol=0, atol=1e-9)
    assert squares.delta_ == pytest.approx(factor**0.5 * plain.delta_, rel=1e-9)


def test_data_far_from_the_origin_have_the_same_result(blobs):
    X = blobs[0]
    plain = papers.recm(4, random_state=0).fit(X)
    other = papers.recm(4, random_state=0).fit(X + 1e6 * X.std())
    np.testing.assert_allclose(other.masses_, plain.masses_, rtol=0, atol=1e-5)


@pytest.mark.parametrize("init", ["random", "kmeans"])
@pytest.mark.parametrize("nonmetric", ["clip", "shift"])
@pytest.mark.parametrize(
    ("X", "n_clusters"),
    [
        (np.zeros((10, 2)), 3),
        (np.repeat([[0.0, 0.0], [5.0, 5.0]], 10, axis=0), 3),
        (np.column_stack([np.arange(12.0), np.ones(12)]), 3),
        (np.array([[0.0], [1.0]]), 2),
        (np.random.default_rng(0).standard_normal((7, 2)), 7),
        (np.random.default_rng(0).standard_normal((40, 2)), 1),
        (np.vstack([np.random.default_rng(0).standard_normal((40, 2)), [[1e6, 0]]]), 3),
    ],
    ids=["one place", "two places", "a constant column", "two samples", "all alone", "one cluster", "far out"],
)
def test_degenerate_data_give_valid_masses(X, n_clusters, nonmetric, init):
    model = papers.recm(n_clusters, nonmetric=nonmetric, init=init, random_state=0, max_iter=5000).fit(X)
    assert np.isfinite(model.masses_).all()
    np.testing.assert_allclose(model.masses_.sum(axis=1), 1, rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.predict_mass(X).masses, model.masses_, rtol=0, atol=1e-9)
    assert model.delta_ > 0


def test_with_as_many_clusters_as_samples_each_sample_is_a_cluster():
    X = np.random.default_rng(0).standard_normal((6, 2))
    model = papers.recm(6, focal_sets="simple", init="kmeans", random_state=0).fit(X)
    assert sorted(model.labels_) == list(range(6))
    assert model.objective_ == pytest.approx(0, abs=1e-12)


def test_a_cluster_without_mass_has_valid_weights():
    X, _ = make_samples(0)
    masses = np.zeros((len(X), 5))
    masses[:, 1] = 1
    model = papers.recm(3, focal_sets="simple", beta=1.1, init=masses, random_state=0).fit(X)
    np.testing.assert_allclose(model.prototype_weights_.sum(axis=1), 1)
    assert np.isfinite(model.masses_).all()


def test_with_an_infinite_delta_no_sample_is_an_outlier():
    model = papers.recm(2, delta=np.inf, random_state=0).fit(load_butterfly().data)
    assert (model.masses_[:, 0] == 0).all()
    assert np.isfinite(model.objective_)


@clipping
@pytest.mark.parametrize("nonmetric", ["clip", "shift"])
@pytest.mark.parametrize("squared", [False, True])
def test_prediction_of_training_samples_is_the_fit(blobs, nonmetric, squared):
    X = np.repeat(blobs[0][::4], 2, axis=0)
    direct = papers.recm(4, metric="manhattan", nonmetric=nonmetric, random_state=0).fit(X)
    np.testing.assert_allclose(direct.predict_mass(X).masses, direct.masses_, rtol=0, atol=1e-12)
    D = cdist(X, X, "cityblock")
    model = papers.recm(4, metric="precomputed", squared_input=squared, nonmetric=nonmetric, random_state=0).fit(D)
    np.testing.assert_allclose(model.predict_mass(D).masses, model.masses_, rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.predict_mass(D[3:4]).masses, model.masses_[3:4], rtol=0, atol=1e-12)
    if not squared:
        np.testing.assert_allclose(model.masses_, direct.masses_, rtol=0, atol=1e-12)


def test_many_samples_are_predicted_in_blocks(blobs, monkeypatch):
    X = blobs[0]
    model = papers.recm(4, random_state=0).fit(X)
    monkeypatch.setattr("evlearn.cluster.dissimilarities._BLOCK_SIZE", 7 * len(X))
    np.testing.assert_allclose(model.predict_mass(X).masses, model.masses_, rtol=0, atol=1e-12)


def test_rounded_cosine_dissimilarities_of_training_samples_give_the_masses_of_the_fit(blobs):
    # Computed from 2 arrays, the dissimilarity of a sample to itself is not exactly 0.
    X = np.random.default_rng(0).standard_normal((60, 5))
    model = papers.recm(3, metric="cosine", nonmetric="shift", random_state=0).fit(X)
    assert model.shift_ > 0
    np.testing.assert_allclose(model.predict_mass(X.copy()).masses, model.masses_, rtol=0, atol=1e-9)


def test_masses_of_new_samples_are_plausible():
    model = papers.recm(2, delta=5, random_state=0).fit(load_butterfly().data)
    new = model.predict_mass([[-3.5, 0.1], [0, 0.2], [3.5, -0.1], [40, 40]])
    rough = new.to_rough()
    assert rough[0].sum() == rough[2].sum() == 1
    assert (rough[0] != rough[2]).all()
    assert rough[1].all()
    assert new.outliers().tolist() == [False, False, False, True]


def test_negative_squared_distances_are_clipped_with_a_warning():
    X = np.random.default_rng(0).standard_normal((40, 2))
    D = pairwise_distances(X) ** 2  # squares of squares: far from Euclidean
    with pytest.warns(UserWarning, match="were negative.*squared_input=True; nonmetric='shift'"):
        model = papers.recm(3, metric="precomputed", random_state=0).fit(D)
    assert np.isfinite(model.masses_).all()
    np.testing.assert_allclose(model.predict_mass(D).masses, model.masses_, rtol=0, atol=1e-9)


@given(seeds)
def test_a_shift_is_as_small_as_possible(seed):
    D = np.triu(np.random.default_rng(seed).uniform(size=(12, 12)), 1)
    D = D + D.T
    unit, squares = Squares.of(D, squared=False, shifted=True)
    assert euclidean_shift(squares) < 1e-12
    assert euclidean_shift(squares - 0.001 * unit.shift * (D > 0)) > 0


@pytest.mark.slow
@settings(max_examples=20)
@given(seeds, st.booleans())
def test_a_shift_makes_any_dissimilarities_euclidean(seed, duplicates):
    random = np.random.default_rng(seed)
    D = random.uniform(size=(12, 12))
    D = np.triu(D, 1) + np.triu(D, 1).T
    if duplicates:
        D = np.repeat(np.repeat(D, 2, axis=0), 2, axis=1)
    model = papers.recm(3, metric="precomputed", nonmetric="shift", random_state=0, max_iter=20_000).fit(D)
    history = model.objective_history_
    assert (np.diff(history) <= 1e-9 * history[:-1]).all()
    shifted = D**2 + model.shift_ * (D > 0)
    assert euclidean_shift(shifted) < 1e-12
    if not duplicates:
        assert euclidean_shift(D**2 + 0.999 * model.shift_ * (D > 0)) > 0
    other = papers.recm(3, metric="precomputed", squared_input=True, random_state=0, max_iter=20_000).fit(shifted)
    np.testing.assert_allclose(other.masses_, model.masses_, rtol=0, atol=1e-6)


def test_euclidean_dissimilarities_are_not_shifted(blobs):
    X = blobs[0]
    clipped, shifted = (
        papers.recm(4, nonmetric=nonmetric, random_state=0).fit(X) for nonmetric in ("clip", "shift")
    )
    assert shifted.shift_ == 0
    np.testing.assert_array_equal(shifted.masses_, clipped.masses_)


def test_squares_and_roots_give_the_same_masses(blobs):
    D = pairwise_distances(blobs[0])
    plain = papers.recm(4, metric="precomputed", random_state=0).fit(D)
    squares = papers.recm(4, metric="precomputed", squared_input=True, random_state=0).fit(D**2)
    np.testing.assert_allclose(squares.masses_, plain.masses_, rtol=0, atol=1e-12)
    assert squares.delta_ == pytest.approx(plain.delta_)
    np.testing.assert_allclose(
        squares.predict_mass(D[:3] ** 2).masses, plain.predict_mass(D[:3]).masses, rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("init", ["random", "kmeans"])
@pytest.mark.slow
def test_the_result_does_not_depend_on_the_number_of_threads(blobs, init):
    X, _ = blobs
    fits = [papers.recm(4, init=init, n_init=3, n_jobs=n_jobs, random_state=3).fit(X) for n_jobs in (None, 2)]
    for other in fits[1:]:
        np.testing.assert_array_equal(other.masses_, fits[0].masses_)
        np.testing.assert_array_equal(other.objective_history_, fits[0].objective_history_)
    copy = clone(fits[0]).fit(X)
    np.testing.assert_array_equal(copy.masses_, fits[0].masses_)


def test_more_starts_are_never_worse(blobs):
    X, _ = blobs
    objectives = [
        papers.recm(8, focal_sets="simple", n_init=n, random_state=0).fit(X[::4]).objective_ for n in (1, 5)
    ]
    assert objectives[1] <= objectives[0]


def test_neighboring_clusters_are_found_and_paired():
    random = np.random.default_rng(0)
    X = np.column_stack([np.repeat([0.0, 4, 8, 12], 60), np.zeros(240)]) + random.standard_normal((240, 2)) * 0.8
    model = papers.recm(
        4, focal_sets=FocalFamily("neighbor_pairs", n_neighbors=2), init="kmeans", random_state=0
    ).fit(X)
    pairs = {frozenset(subset) for subset in model.focal_sets_ if len(subset) == 2}
    order = np.argsort([X[model.labels_ == k, 0].mean() for k in range(4)])
    assert pairs == {frozenset(map(int, order[k : k + 2])) for k in range(3)}
    assert len(model.objective_history_) == model.n_iter_ + 1
    np.testing.assert_allclose(model.predict_mass(X).masses, model.masses_, rtol=0, atol=1e-12)


def test_frames_of_any_kind_are_accepted(blobs):
    X = blobs[0][:60]
    plain = papers.recm(4, random_state=0).fit(X)
    for frame in (pd.DataFrame(X, columns=["a", "b"]), pl.DataFrame(X, schema=["a", "b"])):
        model = papers.recm(4, random_state=0).fit(frame)
        np.testing.assert_array_equal(model.masses_, plain.masses_)
        assert model.feature_names_in_.tolist() == ["a", "b"]
        np.testing.assert_array_equal(model.predict(frame), plain.labels_)
    names = [f"row {k}" for k in range(60)]
    D = pd.DataFrame(pairwise_distances(X), index=names, columns=names)
    model = papers.recm(4, metric="precomputed", random_state=0).fit(D)
    assert model.credal_partition_.sample_names[3] == "row 3"
    assert model.predict_mass(D).sample_names[3] == "row 3"
    single = papers.recm(4, random_state=0).fit(X.astype(np.float32))
    np.testing.assert_allclose(single.masses_, plain.masses_, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be a whole number of at least 1, got 0"),
        ({"n_clusters": 13}, "n_clusters=13 is larger than n_samples=12"),
        ({"alpha": -1}, "alpha must be 'auto' or a number at least 0 and at most 100, got -1"),
        ({"beta": 1}, "beta must be 'auto' or a number above 1, got 1"),
        ({"delta": 0}, "delta must be 'auto' or a number above 0, got 0"),
        ({"delta": "large"}, r"delta must be 'auto' or a number above 0, got 'large'"),
        ({"focal_sets": "half"}, "focal_sets must be one of .* got 'half'"),
        ({"nonmetric": "ignore"}, r"nonmetric must be one of \['clip', 'shift'\], got 'ignore'"),
        ({"squared_input": True}, "squared_input=True needs metric='precomputed', got metric='euclidean'"),
        ({"init": "guess"}, r"init must be one of \['kmeans', 'k-means\+\+', 'random'\], got 'guess'"),
        ({"init": np.eye(4)}, r"init must have shape \(12, 4\), .* got shape \(4, 4\)"),
        ({"tol": -1}, "tol must be a number at least 0"),
        ({"max_iter": 0}, "max_iter must be a whole number of at least 1"),
        ({"n_init": 0}, "n_init must be a whole number of at least 1"),
    ],
)
def test_invalid_parameters_are_reported_with_allowed_values(settings, message):
    with pytest.raises(ValueError, match=message):
        papers.recm(**({"n_clusters": 2} | settings)).fit(load_butterfly().data)


def test_invalid_data_are_refused_with_the_reason():
    X = load_butterfly().data
    D = pairwise_distances(X)
    model = papers.recm(2, metric="precomputed")
    with pytest.raises(ValueError, match=r"square matrix if metric='precomputed', got shape \(12, 2\)"):
        model.fit(np.abs(X))
    with pytest.raises(ValueError, match="negative dissimilarities"):
        model.fit(-D)
    with pytest.raises(ValueError, match=r"1 on its diagonal; .* Convert similarities to dissimilarities"):
        model.fit(np.exp(-D))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((3, 3), np.nan))
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.full((3, 3), np.inf))
    with pytest.raises(ValueError, match="not finite numbers; rescale"), np.errstate(over="ignore"):
        papers.recm(2).fit(X * 1e200)
    with pytest.raises(NotFittedError):
        model.predict(D)
    model.fit(D)
    with pytest.raises(ValueError, match="12 features"):
        model.predict(D[:, :5])
    with pytest.raises(ValueError, match="negative dissimilarities"):
        model.predict(-D)


def test_asymmetric_dissimilarities_are_averaged_with_a_warning():
    D = pairwise_distances(load_butterfly().data)
    skewed = D * (1 + 0.1 * np.triu(np.ones_like(D)))
    with pytest.warns(UserWarning, match="not symmetric"):
        model = papers.recm(2, metric="precomputed", random_state=0).fit(skewed)
    expected = papers.recm(2, metric="precomputed", random_state=0).fit((skewed + skewed.T) / 2)
    np.testing.assert_array_equal(model.masses_, expected.masses_)


def test_progress_is_reported_when_asked_for(blobs, capsys):
    model = papers.recm(4, random_state=0, verbose=1).fit(blobs[0])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    assert lines[0].startswith("RECM iteration    1   objective ")
    assert float(lines[-1].split()[-1]) == pytest.approx(model.objective_, rel=1e-8)


def test_too_few_iterations_are_reported(blobs):
    with pytest.warns(ConvergenceWarning, match="after max_iter=2 iterations; raise max_iter or tol"):
        model = papers.recm(4, max_iter=2, random_state=0).fit(blobs[0])
    assert not model.converged_
    assert model.n_iter_ == 2


def interrupt_at(monkeypatch, number):
    """Simulate Ctrl-C in the iteration with this number, counted over all starts."""
    from evlearn.cluster.relational import recm

    calls = iter(range(1, 1000))
    plain = recm.RelationalModel.solve

    def solve(self, masses, squares):
        if next(calls) == number:
            raise KeyboardInterrupt
        return plain(self, masses, squares)

    monkeypatch.setattr(recm.RelationalModel, "solve", solve)


def test_an_interrupt_ends_all_starts_and_keeps_the_best(blobs, monkeypatch):
    first = papers.recm(4, random_state=0).fit(blobs[0])
    interrupt_at(monkeypatch, first.n_iter_ + 2)
    with pytest.warns(ConvergenceWarning, match=f"interrupted after {first.n_iter_} iterations"):
        model = papers.recm(4, n_init=100, random_state=0).fit(blobs[0])
    assert model.n_iter_ == first.n_iter_


def test_an_interrupt_before_the_first_result_is_passed_on(blobs, monkeypatch):
    interrupt_at(monkeypatch, 1)
    with pytest.raises(KeyboardInterrupt):
        papers.recm(4, random_state=0).fit(blobs[0])


def test_an_interrupt_before_the_pairs_keeps_the_simple_fit(blobs, monkeypatch):
    simple = papers.recm(4, focal_sets="simple", random_state=0).fit(blobs[0])
    interrupt_at(monkeypatch, simple.n_iter_ + 1)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = papers.recm(4, focal_sets="neighbor_pairs", random_state=0).fit(blobs[0])
    np.testing.assert_array_equal(model.masses_, simple.masses_)


@pytest.mark.slow
def test_4000_samples_are_clustered():
    random = np.random.default_rng(0)
    y = random.integers(5, size=4000)
    X = random.standard_normal((4000, 10)) + 6 * np.eye(10)[y]
    model = papers.recm(5, init="kmeans", random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.9


def test_a_negative_square_is_replaced_by_a_very_small_square_and_not_by_0():
    # The distance of samples 0 and 1 is 4, and sample 2 has distance 1 to each of them. Its squared distance to
    # their mean is 1 - 16 / 4 = -3.
    squares = np.array([[0.0, 16, 1], [16, 0, 1], [1, 1, 0]])
    costs = SetCosts.ecm(FocalSets.singletons(2), alpha=1.0, beta=3.0, delta=1.0)
    weights = np.array([[0.5, 0.5, 0], [0, 0, 1]])
    model, means = RelationalModel.at_mean(costs, squares).move(weights, squares)
    result, clipped = model.costs_at(means)
    assert clipped
    assert 0 < result[2, 1] <= 1e-9 * squares.mean()
    np.testing.assert_allclose(result[:2], [[1, 4, 1], [1, 4, 1]])  # these squares are not clipped
    assert result[2, 2] == 0  # sample 2 coincides with the second prototype, and belongs to it
    np.testing.assert_array_equal(model.assign(squares)[2], [0, 0, 1])
