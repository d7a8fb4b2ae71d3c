"""BootClus: properties of intervals and masses, kinds of mixtures, workers, and degenerate data."""

import signal
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.utils.estimator_checks import parametrize_with_checks

from benchmarks.common.measuring import peak_bytes
from evlearn.belief import FocalSets
from evlearn.cluster import BootClus
from evlearn.cluster.model_based.bootclus import masses_from_intervals, masses_of_probabilities
from evlearn.cluster.model_based.intervals import percentile_intervals
from evlearn.datasets import make_gaussian_mixture, same_cluster_probability
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.mixture import bootstrap as bootstrap_module
from evlearn.mixture.bootstrap import bootstrap
from evlearn.partition import CredalPartition
from evlearn.utils.parallel import run_jobs
from evlearn.utils.parameters import with_switches


@parametrize_with_checks([BootClus(n_clusters=2, n_bootstrap=20, covariance_models=["EII", "VVV"])])
@pytest.mark.filterwarnings("ignore:the objective still changed:sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(90, 2, centers=[[0, 0], [4, 0], [0, 9]], random_state=0)


@pytest.fixture(scope="module")
def fitted(blobs):
    return BootClus(3, n_bootstrap=60, random_state=0).fit(blobs[0])


def all_pairs(n):
    return np.column_stack(np.triu_indices(n, k=1))


def draw_probabilities(seed, n=12, c=3, n_replicates=25):
    random = np.random.default_rng(seed)
    return random.dirichlet(np.full(c, 0.5), size=(n, n_replicates)).transpose(0, 2, 1).astype(np.float32).copy()


def misfit(masses, sets, pairs, bounds):
    relation = CredalPartition(masses, sets).relational(pairs)
    return ((relation.same_cluster - bounds[0]) ** 2 + (relation.plausibility_same - bounds[1]) ** 2).mean()


# Gross errors


@pytest.mark.parametrize("options", [{"n_clusters": 3}, {"mixture": GaussianMixture(3)}])
@pytest.mark.parametrize("distance", [1e3, 1e8])
def test_gross_errors_do_not_change_the_masses_of_other_samples(blobs, options, distance):
    X = np.insert(blobs[0], [10, 50], distance * np.array([[1.0, -1.0], [-2.0, 1.0]]), axis=0)
    others = np.delete(np.arange(92), [10, 51])
    expected = BootClus(n_bootstrap=20, random_state=0, **options).fit(blobs[0])
    model = BootClus(n_bootstrap=20, random_state=0, **options).fit(X)
    np.testing.assert_array_equal(model.masses_[others], expected.masses_)
    np.testing.assert_array_equal(model.intervals_.pairs, others[expected.intervals_.pairs])
    np.testing.assert_allclose(model.masses_[[10, 51]].sum(axis=1), 1)


# Intervals


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.5, 0.9, 0.95, 1.0]), st.integers(2, 40))
def test_intervals_are_the_quantiles_of_the_pairwise_probabilities(seed, confidence, n_replicates):
    T = draw_probabilities(seed, n_replicates=n_replicates)
    pairs = all_pairs(len(T))
    lower, upper = percentile_intervals(T, T, pairs, confidence)
    probabilities = np.einsum("ikb,jkb->ijb", T.astype(float), T.astype(float))[pairs[:, 0], pairs[:, 1]]
    levels = [(1 - confidence) / 2, (1 + confidence) / 2]
    np.testing.assert_allclose([lower, upper], np.quantile(probabilities, levels, axis=1), rtol=0, atol=1e-6)


@given(st.integers(0, 10_000))
def test_the_order_of_clusters_in_a_replicate_does_not_matter(seed):
    T = draw_probabilities(seed)
    permuted = T.copy()
    random = np.random.default_rng(seed)
    for replicate in range(T.shape[2]):
        permuted[:, :, replicate] = T[:, random.permutation(3), replicate]
    pairs = all_pairs(len(T))
    np.testing.assert_allclose(
        percentile_intervals(permuted, permuted, pairs, 0.9), percentile_intervals(T, T, pairs, 0.9), rtol=1e-5
    )


def test_a_higher_confidence_level_gives_wider_intervals(blobs):
    widths = []
    for confidence in (0.5, 0.9, 0.99):
        model = BootClus(3, confidence_level=confidence, n_bootstrap=60, random_state=0).fit(blobs[0])
        assert (model.intervals_.lower <= model.intervals_.upper).all()
        widths.append(
            ((model.intervals_.upper - model.intervals_.lower).mean(), model.credal_partition_.nonspecificity())
        )
    assert np.all(np.diff(widths, axis=0) > 0)


def test_threads_do_not_change_intervals():
    T = draw_probabilities(0, n=150, n_replicates=200)
    pairs = all_pairs(150)
    expected, bounds = (percentile_intervals(T, T, pairs, 0.9, n_jobs=n_jobs) for n_jobs in (1, 2))
    np.testing.assert_array_equal(expected, bounds)


# From intervals to masses


@given(st.integers(0, 10_000), st.integers(2, 4))
def test_identical_replicates_reproduce_their_probabilities(seed, c):
    # Lower and upper bounds are equal, and masses on single clusters reproduce them, so there is no doubt.
    shares = np.random.default_rng(seed).dirichlet(np.full(c, 0.3), size=15)
    sets, pairs = FocalSets.pairs(c, include_omega=False), all_pairs(15)
    probability = same_cluster_probability(shares, pairs)
    trace = masses_from_intervals(
        pairs, probability, probability, masses_of_probabilities(shares, sets), sets, tol=0, max_iter=5
    )
    assert trace.objective < 1e-20
    np.testing.assert_allclose(trace.state.masses, masses_of_probabilities(shares, sets), atol=1e-12)


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.integers(2, 4), st.booleans())
def test_sweeps_never_increase_the_objective_and_end_at_a_minimum(seed, c, include_omega):
    random = np.random.default_rng(seed)
    sets, pairs = FocalSets.pairs(c, include_omega=include_omega), all_pairs(14)
    bounds = np.sort(random.random((2, len(pairs))), axis=0)
    start = np.zeros((14, len(sets)))
    start[:, 1:] = random.dirichlet(np.ones(len(sets) - 1), size=14)
    values = []
    trace = masses_from_intervals(
        pairs, *bounds, start, sets, tol=1e-9, max_iter=200, report=lambda sweep, value: values.append(value)
    )
    assert (np.diff(values) <= 1e-12).all()
    expected = misfit(trace.state.masses, sets, pairs, bounds)
    assert trace.objective == pytest.approx(expected, rel=1e-9)
    assert (trace.state.masses >= 0).all()
    np.testing.assert_allclose(trace.state.masses.sum(axis=1), 1)
    assert (trace.state.masses[:, 0] == 0).all()
    # No change of a single sample decreases the objective.
    for row in range(14):
        for corner in range(1, len(sets)):
            changed = trace.state.masses.copy()
            changed[row] = 0.999 * changed[row]
            changed[row, corner] += 0.001
            assert misfit(changed, sets, pairs, bounds) > expected - 1e-7


def test_a_list_of_pairs_gives_the_same_masses_as_the_matrix_of_all_pairs():
    random = np.random.default_rng(0)
    sets, pairs = FocalSets.pairs(3, include_omega=False), all_pairs(30)
    lower, upper = np.sort(random.random((2, len(pairs))), axis=0)
    start = masses_of_probabilities(random.dirichlet(np.ones(3), size=30), sets)
    expected = masses_from_intervals(pairs, lower, upper, start, sets, tol=1e-12)
    # Repeated pairs define the same problem, but are not recognized as all pairs.
    repeated_pairs = np.vstack([pairs, pairs[:, ::-1]])
    trace = masses_from_intervals(repeated_pairs, np.tile(lower, 2), np.tile(upper, 2), start, sets, tol=1e-12)
    np.testing.assert_allclose(trace.state.masses, expected.state.masses, atol=1e-9)
    assert trace.objective == pytest.approx(expected.objective)


def test_sampled_pairs_lead_to_nearly_the_same_masses():
    X, _, _ = make_gaussian_mixture(1, 400, random_state=0)
    settings = {"covariance_models": "EII", "n_bootstrap": 100, "random_state": 0}
    expected, model = (BootClus(3, n_partners=n_partners, **settings).fit(X) for n_partners in ("all", 60))
    assert len(expected.intervals_.pairs) == 400 * 399 // 2
    assert len(model.intervals_.pairs) == 400 * 30
    assert np.abs(expected.masses_ - model.masses_).mean() < 0.005
    assert adjusted_rand_score(expected.labels_, model.labels_) > 0.98


# The result


def test_clusters_are_the_components_of_the_mixture(fitted, blobs):
    shares = fitted.mixture_.predict_proba(blobs[0])
    sure = shares.max(axis=1) > 0.9
    np.testing.assert_array_equal(fitted.labels_[sure], shares.argmax(axis=1)[sure])
    assert adjusted_rand_score(blobs[1], fitted.labels_) > 0.9


@pytest.mark.parametrize(("mixture", "model"), [(1, "EII"), (2, "EEE")])
@pytest.mark.slow
def test_the_coverage_of_intervals_is_about_the_confidence_level(mixture, model):
    shares = []
    for seed in range(6):
        X, _, posterior = make_gaussian_mixture(mixture, 300, random_state=seed)
        intervals = BootClus(3, covariance_models=model, n_bootstrap=100, random_state=0).fit(X).intervals_
        shares.append(intervals.coverage(same_cluster_probability(posterior, intervals.pairs)))
    assert np.mean(shares) == pytest.approx(0.9, abs=0.1)


def test_intervals_of_a_wrong_model_have_a_low_coverage():
    shares = []
    for seed in range(3):
        X, _, posterior = make_gaussian_mixture(2, 300, random_state=seed)
        intervals = BootClus(3, covariance_models="EII", n_bootstrap=100, random_state=0).fit(X).intervals_
        shares.append(intervals.coverage(same_cluster_probability(posterior, intervals.pairs)))
    assert np.mean(shares) < 0.75


def test_the_number_of_clusters_is_selected_by_bic(blobs):
    model = BootClus(covariance_models=["EII", "VVV"], n_bootstrap=20, random_state=0).fit(blobs[0])
    assert model.n_clusters_ == 3
    assert model.mixture_.component_numbers_ == list(range(1, 10))


def test_one_cluster_is_returned_with_a_warning():
    X = np.random.default_rng(0).standard_normal((60, 2))
    with pytest.warns(UserWarning, match="a single component"):
        model = BootClus(covariance_models=["EII", "VVV"], n_bootstrap=20, random_state=0).fit(X)
    assert model.n_clusters_ == 1
    np.testing.assert_array_equal(model.masses_, np.tile([0.0, 1.0], (60, 1)))
    np.testing.assert_array_equal(model.predict(X[:3]), 0)


def test_neighboring_clusters_share_a_set():
    X, _ = make_blobs(200, 2, centers=[[0, 0], [4, 0], [20, 0], [24, 0]], random_state=0)
    model = BootClus(4, focal_sets="neighbor_pairs", n_bootstrap=30, random_state=0).fit(X)
    pairs = {frozenset(subset) for subset in model.focal_sets_ if len(subset) == 2}
    order = np.argsort(model.mixture_.means_[:, 0])
    assert pairs == {frozenset(order[:2].tolist()), frozenset(order[2:].tolist())}


@pytest.mark.parametrize("focal_sets", ["simple", "full", [(0,), (1,), (2,), (0, 1)]])
def test_families_of_focal_sets_can_be_selected(blobs, focal_sets):
    model = BootClus(3, focal_sets=focal_sets, n_bootstrap=30, random_state=0).fit(blobs[0])
    assert (model.masses_[:, 0] == 0).all()
    assert adjusted_rand_score(blobs[1], model.labels_) > 0.9


def test_samples_of_overlapping_clusters_are_doubtful(fitted, blobs):
    # Clusters 0 and 1 overlap, and both are far from cluster 2.
    doubt = fitted.credal_partition_.nonspecificity(per_sample=True)
    assert doubt[blobs[1] == 2].max() < doubt[blobs[1] != 2].max() / 5


@pytest.mark.slow
def test_the_coverage_is_high_if_bic_selects_the_model():
    # With the model of the first fit for all resamples the mean is 0.73.
    shares = []
    for seed in range(100, 106):
        X, _, posterior = make_gaussian_mixture(2, 100, random_state=seed)
        intervals = BootClus(3, random_state=0).fit(X).intervals_
        shares.append(intervals.coverage(same_cluster_probability(posterior, intervals.pairs)))
    assert np.mean(shares) > 0.82


# New samples


def test_prediction_of_training_samples_is_close_to_their_masses(fitted, blobs):
    partition = fitted.predict_mass(blobs[0])
    assert np.abs(partition.masses - fitted.masses_).mean() < 0.01
    assert (partition.to_hard() == fitted.labels_).mean() > 0.98
    np.testing.assert_array_equal(fitted.predict(blobs[0]), partition.to_hard())


def test_the_middle_between_two_clusters_is_doubtful(fitted, blobs):
    means = fitted.mixture_.means_
    neighbors = np.argsort(((means - blobs[0][blobs[1] == 0].mean(axis=0)) ** 2).sum(axis=1))[:2]
    middle = fitted.predict_mass(means[neighbors].mean(axis=0, keepdims=True))
    centers = fitted.predict_mass(means)
    assert middle.nonspecificity(per_sample=True)[0] > 10 * centers.nonspecificity(per_sample=True).max()


def test_predictions_in_memory_in_blocks_from_parquet_and_on_dask_are_the_same(fitted, tmp_path):
    da = pytest.importorskip("dask.array")
    X = np.random.default_rng(1).uniform(-3, 10, size=(700, 2))
    whole = fitted.predict_mass(X).masses
    parts = np.vstack([fitted.predict_mass(X[rows]).masses for rows in (slice(0, 300), slice(300, 700))])
    np.testing.assert_allclose(parts, whole, atol=1e-10)
    pd.DataFrame(X, columns=["a", "b"]).to_parquet(tmp_path / "data.parquet")
    np.testing.assert_allclose(fitted.predict_mass(str(tmp_path / "data.parquet")).masses, whole, atol=1e-6)
    lazy = fitted.predict_mass(da.from_array(X, chunks=(350, 2)))
    masses = lazy.masses if isinstance(lazy, CredalPartition) else lazy.compute()
    np.testing.assert_allclose(masses, whole, atol=1e-6)


# Other mixtures


@pytest.mark.parametrize(
    "mixture",
    [
        GaussianMixture(3, covariance_type="tied", n_init=5),
        GaussianMixture(3, random_state=7, n_init=5),
        BayesianGaussianMixture(n_components=3, covariance_type="spherical", n_init=3),
    ],
    ids=["tied", "full", "bayesian"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.slow
def test_any_mixture_can_be_calibrated(mixture):
    X, y = make_blobs(90, 2, centers=[[0, 0], [7, 0], [0, 9]], random_state=0)
    models = [BootClus(mixture=mixture, n_bootstrap=25, random_state=0, n_jobs=n).fit(X) for n in (1, 2)]
    np.testing.assert_array_equal(models[0].masses_, models[1].masses_)
    assert adjusted_rand_score(y, models[0].labels_) > 0.9
    assert (models[0].predict(X) == models[0].labels_).mean() > 0.97
    assert not hasattr(mixture, "means_")


@pytest.mark.slow
def test_a_tied_gaussian_mixture_gives_the_intervals_of_a_parsimonious_mixture(blobs):
    X = blobs[0]
    expected = BootClus(3, covariance_models="EEE", n_bootstrap=300, random_state=0).fit(X)
    model = BootClus(
        mixture=GaussianMixture(3, covariance_type="tied", n_init=5, tol=1e-6, max_iter=1000, reg_covar=0),
        n_bootstrap=300,
        random_state=0,
    ).fit(X)
    # Bounds differ by chance, because the resamples differ.
    assert np.abs(expected.intervals_.lower - model.intervals_.lower).mean() < 0.01
    assert np.abs(expected.intervals_.upper - model.intervals_.upper).mean() < 0.01


def test_settings_of_a_parsimonious_mixture_are_used(blobs):
    mixture = ParsimoniousGaussianMixture(3, covariance_models="VVI", reg_covar=0.5)
    model = BootClus(mixture=mixture, n_bootstrap=20, random_state=0).fit(blobs[0])
    assert model.mixture_.model_ == "VVI"
    assert np.diagonal(model._model.replicates.mixtures.covariances, axis1=2, axis2=3).min() > 0.4 / (
        model._model.replicates.units.scale**2
    )


def test_resamples_with_each_sample_once_reproduce_the_mixture(blobs, monkeypatch):
    # If each sample is drawn once, a replicate is the fit of all samples.
    monkeypatch.setattr("evlearn.mixture.bootstrap._counts", lambda random, n: np.ones(n))
    mixture = ParsimoniousGaussianMixture(3, random_state=0, tol=1e-10).fit(blobs[0])
    replicates, probabilities = bootstrap(mixture, blobs[0], 3, np.random.RandomState(0))
    expected = mixture.predict_proba(blobs[0])
    for number in range(3):
        np.testing.assert_allclose(probabilities[:, :, number], expected, atol=1e-4)
    np.testing.assert_allclose(replicates.posterior(blobs[0]), probabilities, atol=1e-6)


# Workers


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_workers_do_not_change_the_result(fitted, blobs, backend):
    with joblib.parallel_config(backend=backend):
        model = BootClus(3, n_bootstrap=60, random_state=0, n_jobs=2).fit(blobs[0])
    np.testing.assert_array_equal(model.masses_, fitted.masses_)
    np.testing.assert_array_equal(model.intervals_.lower, fitted.intervals_.lower)


@pytest.mark.slow
@pytest.mark.xdist_group("a cluster of processes")
@pytest.mark.filterwarnings("ignore")
def test_resamples_can_be_fitted_on_a_dask_cluster(fitted, blobs):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        model = BootClus(3, n_bootstrap=60, random_state=0).fit(blobs[0])
    np.testing.assert_array_equal(model.masses_, fitted.masses_)


@pytest.mark.slow
def test_an_interrupted_fit_uses_the_resamples_before_the_interruption():
    code = (
        "import numpy as np\n"
        "from evlearn.cluster import BootClus\n"
        "X = np.random.default_rng(0).standard_normal((300, 2)) + 5 * (np.arange(300) % 2)[:, None]\n"
        "model = BootClus(2, n_bootstrap=100000, random_state=0, verbose=1).fit(X)\n"
        "print('kept', model.n_bootstrap_, np.isfinite(model.objective_), len(model.labels_))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/"
    )
    for line in process.stdout:
        if "resample  100" in line:
            process.send_signal(signal.SIGINT)
            break
    out, err = process.communicate(timeout=60)
    n_resamples = int(out.splitlines()[-1].split()[1])
    assert 100 <= n_resamples < 100_000
    assert "True 300" in out.splitlines()[-1]
    assert f"interrupted after {n_resamples} of n_bootstrap=100000 resamples" in err


def test_an_interruption_before_enough_resamples_is_not_caught(blobs, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("evlearn.mixture.bootstrap.run_em", interrupted)
    with pytest.raises(KeyboardInterrupt):
        BootClus(3, n_bootstrap=60, random_state=0).fit(blobs[0])


def test_an_interruption_of_the_selection_of_mixtures_is_passed_on(blobs, monkeypatch):
    model = BootClus(3, covariance_models="EII", n_bootstrap=60, random_state=0).fit(blobs[0])
    before = dict(vars(model))

    def first_only(jobs, *others):
        return run_jobs(jobs[:1], *others)[0], True

    monkeypatch.setattr("evlearn.mixture.search.run_jobs", first_only)
    for mixture in (None, ParsimoniousGaussianMixture(3, covariance_models=["EII", "VVV"])):
        model.set_params(n_clusters=None, covariance_models="auto", mixture=mixture)
        with pytest.raises(KeyboardInterrupt, match="while the mixture was selected, before the first resample"):
            model.fit(blobs[0])
    changed = {"n_clusters", "covariance_models", "mixture"}
    assert all(vars(model)[name] is before[name] for name in before.keys() - changed)
    with pytest.warns(ConvergenceWarning, match="interrupted after"):  # a fit of a mixture has a result
        ParsimoniousGaussianMixture(3, covariance_models=["EII", "VVV"], random_state=0).fit(blobs[0])


def test_progress_is_printed(blobs, capsys):
    BootClus(3, covariance_models="EII", n_bootstrap=60, random_state=0, verbose=1).fit(blobs[0])
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["BootClus mixture EII", "BootClus resample   50 of 60", "BootClus resample   60 of 60"]
    assert lines[3].startswith("BootClus sweep    1   objective 0.")


# Degenerate data and invalid parameters


def make_mixture_without_floor(n_components):
    return ParsimoniousGaussianMixture(n_components, covariance_models="VVV", variance_floor=0)


def test_three_samples_are_a_cluster_in_every_resample():
    random = np.random.default_rng(0)
    X = np.vstack([random.standard_normal((40, 2)), [[50, 50], [51, 50], [50, 51]]])
    model = BootClus(2, covariance_models="VVV", n_bootstrap=50, random_state=0).fit(X)
    assert len(set(model.labels_[40:])) == 1


def test_frames_keep_their_names(blobs):
    frame = pd.DataFrame(blobs[0], columns=["a", "b"], index=[f"row {i}" for i in range(90)])
    model = BootClus(3, n_bootstrap=20, random_state=0).fit(frame)
    assert list(model.feature_names_in_) == ["a", "b"]
    assert model.credal_partition_.sample_names[3] == "row 3"
    assert model.predict_mass(frame[:5]).sample_names[4] == "row 4"


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (np.zeros((20, 2)), {"n_clusters": 2}, "Remove constant or linearly dependent features"),
        (
            np.tile([[0.0, 1.0], [2.0, 3.0]], (10, 1)),
            {"n_clusters": 2},
            "no mixture could be fitted with .* n_clusters=2",
        ),
        (np.repeat(np.arange(20.0)[:, None], 2, axis=1), {"mixture": make_mixture_without_floor(2)}, "simpler"),
        (np.arange(8.0).reshape(4, 2) ** 1.5, {"mixture": make_mixture_without_floor(3)}, "simpler model"),
        (np.arange(6.0).reshape(3, 2), {"n_clusters": 5}, "n_clusters=5 is more than n_samples=3"),
        (np.array([[0.0, np.inf], [1, 2]]), {}, "infinity"),
    ],
    ids=["constant", "two points", "collinear", "too few", "fewer than clusters", "infinite"],
)
def test_degenerate_data_raise_an_error_with_a_remedy(X, options, message):
    with pytest.raises(ValueError, match=message):
        BootClus(n_bootstrap=20, random_state=0, **options).fit(X)


def test_a_cluster_that_is_degenerate_in_most_resamples_is_fitted_to_the_others_with_a_warning():
    # The cluster of 3 samples can be fitted, but most resamples contain fewer than 3 different samples of it.
    random = np.random.default_rng(0)
    X = np.vstack([random.standard_normal((40, 2)), [[50, 50], [51, 50], [50, 51]]])
    with pytest.warns(UserWarning, match=r"VVV could be fitted only to 50 of \d+ resamples.*simpler covariance"):
        model = BootClus(mixture=make_mixture_without_floor(2), n_bootstrap=50, random_state=0).fit(X)
    assert np.isfinite(model.masses_).all()
    assert len(set(model.labels_[40:]) | set(model.labels_[:40])) == 2


def test_a_cluster_that_is_degenerate_in_all_resamples_raises_an_error(monkeypatch):
    monkeypatch.setattr(bootstrap_module, "_DRAWS", 2)
    random = np.random.default_rng(0)
    X = np.vstack([random.standard_normal((40, 2)), [[50, 50], [51, 50], [50, 51]]])
    with pytest.raises(ValueError, match=r"could not be fitted to 2 resamples in turn.*simpler covariance model"):
        BootClus(mixture=make_mixture_without_floor(2), n_bootstrap=50, random_state=0).fit(X)


def test_duplicates_are_accepted():
    X = np.repeat(np.random.default_rng(0).standard_normal((30, 2)), 3, axis=0)
    X[45:] += 6
    model = BootClus(2, n_bootstrap=30, random_state=0).fit(X)
    assert np.isfinite(model.masses_).all()
    np.testing.assert_allclose(model.masses_[::3], model.masses_[1::3], atol=1e-7)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_units_do_not_matter(blobs, scale):
    expected = BootClus(3, covariance_models="EEE", n_bootstrap=30, random_state=0).fit(blobs[0])
    model = BootClus(3, covariance_models="EEE", n_bootstrap=30, random_state=0).fit(scale * blobs[0])
    np.testing.assert_allclose(model.masses_, expected.masses_, atol=1e-4)
    np.testing.assert_allclose(
        model.predict_mass(scale * blobs[0][:9]).masses, expected.predict_mass(blobs[0][:9]).masses, atol=1e-4
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be a whole number of at least 1, got 0"),
        ({"confidence_level": 1.5}, "confidence_level must be a number at least 0 and at most 1, got 1.5"),
        ({"n_bootstrap": 1}, "n_bootstrap must be a whole number of at least 2, got 1"),
        ({"n_partners": "many"}, "n_partners must be one of"),
        ({"n_partners": 0}, "n_partners must be a whole number of at least 1, got 0"),
        ({"mixture": GaussianMixture(2), "n_clusters": 2}, "leave n_clusters=None"),
        ({"focal_sets": "some"}, "focal_sets must be one of"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": -1}, "tol"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_invalid_parameters_are_refused(blobs, options, message):
    with pytest.raises(ValueError, match=message):
        BootClus(**{"n_clusters": 3 if "mixture" not in options else None, "n_bootstrap": 20, **options}).fit(
            blobs[0]
        )


def test_data_that_are_not_in_memory_are_refused(tmp_path):
    with pytest.raises(ValueError, match="BootClus needs data in memory"):
        BootClus(2).fit(str(tmp_path / "data.parquet"))


def test_too_few_sweeps_are_reported(blobs):
    with pytest.warns(ConvergenceWarning, match="after max_iter=1 sweeps"):
        BootClus(3, max_iter=1, n_bootstrap=20, random_state=0).fit(blobs[0])


@pytest.mark.slow
def test_memory_does_not_grow_with_pairs_times_resamples():
    X, _ = make_blobs(3000, 2, centers=3, random_state=0)
    model = BootClus(3, covariance_models="EII", n_bootstrap=50, n_partners=40, random_state=0)
    peak = peak_bytes(lambda: model.fit(X))
    # The probabilities of all pairs under all resamples would need 900 MB in single precision.
    assert peak < 60e6


def test_intervals_are_quantiles_of_the_probabilities_of_pairs():
    X, _, _ = make_gaussian_mixture(2, 60, random_state=0)
    model = BootClus(3, covariance_models="EEE", n_bootstrap=40, random_state=0).fit(X)
    intervals = model.intervals_
    probabilities = model.pair_probabilities(X, intervals.pairs)
    assert probabilities.shape == (len(intervals.pairs), 40)
    assert probabilities.dtype == np.float32
    lower, upper = np.quantile(probabilities, [0.05, 0.95], axis=1)
    np.testing.assert_allclose(lower, intervals.lower, atol=1e-6)
    np.testing.assert_allclose(upper, intervals.upper, atol=1e-6)
    # Any pair of samples is accepted, in any order.
    probabilities = model.pair_probabilities(X[10:], [(0, 5), (5, 0)])
    np.testing.assert_array_equal(probabilities[0], probabilities[1])
    np.testing.assert_allclose(probabilities[0], model.pair_probabilities(X, [(10, 15)])[0], atol=1e-6)
    assert model.pair_probabilities(X, np.empty((0, 2), dtype=int)).shape == (0, 40)
    with pytest.raises(ValueError, match="pairs contains sample 60, but samples are numbered 0 to 59"):
        model.pair_probabilities(X, [(0, 60)])
    with pytest.raises(ValueError, match="X has missing values"):
        model.pair_probabilities([[np.nan, 1.0], [0.0, 0.0]], [(0, 1)])


def test_the_average_of_the_papers_takes_more_sweeps():
    X, _, _ = make_gaussian_mixture(2, 60, random_state=0)
    settings = {"covariance_models": "EEE", "n_bootstrap": 20, "random_state": 0}
    last = BootClus(3, **settings).fit(X)
    average = with_switches(BootClus(3, **settings), stopping="average").fit(X)
    assert (
        average.n_iter_ >= 14 > last.n_iter_
    )  # the average starts at 1, at most halves, and must fall below 1e-4
    assert average.objective_ <= last.objective_
