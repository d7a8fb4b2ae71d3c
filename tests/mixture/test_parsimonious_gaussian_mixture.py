import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, confusion_matrix
from sklearn.mixture import GaussianMixture
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from evlearn.exceptions import CollapseWarning
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.mixture.covariance_models import MODELS, MULTIVARIATE, n_free_parameters
from evlearn.mixture.em import Mixture, posterior, run_em
from evlearn.mixture.search import first_partitions

ROTATABLE = [name for name in MULTIVARIATE if not name.endswith("I") or name.endswith("II")]
# Models for which EM from the true labels converges to the optimum of mclust.
SAME_OPTIMUM = ["EII", "VII", "EEI", "VEI", "EEE", "VEE", "VEV", "VVV"]


@parametrize_with_checks(
    [
        ParsimoniousGaussianMixture(),
        ParsimoniousGaussianMixture(2, covariance_models=["VVI", "EEE"], n_init=1),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def iris(reference_file):
    table = pd.read_csv(reference_file("data/iris.csv"))
    return table.iloc[:, :4].to_numpy(), table["y"].to_numpy() - 1


@pytest.fixture(scope="module")
def iris_fit(iris):
    return ParsimoniousGaussianMixture(3, variance_floor=0, random_state=0).fit(iris[0])


def blobs(seed, n=90, d=3, c=3):
    random = np.random.default_rng(seed)
    y = np.arange(n) % c
    mixing = random.standard_normal((c, d, d))
    X = 4 * random.standard_normal((c, d))[y] + np.einsum("ijk,ik->ij", mixing[y], random.standard_normal((n, d)))
    return X, y


def one_run(X, start, model, *, weights=None, **settings):
    (outcome,) = run_em(X, start[None], model, weights=None if weights is None else weights[None], **settings)
    return outcome


# Published numbers


def test_parameters_are_counted_as_in_the_table(seed_examples):
    # Weights and means of 3 components in 4 dimensions have 14 parameters; the others are in the last column of
    # the table.
    expected = [1, 3, 4, 6, 10, 12, 10, 12, 16, 18, 22, 24, 28, 30]
    assert [n_free_parameters(name, 3, 4) - 14 for name in MULTIVARIATE] == expected
    assert list(seed_examples["mclust_reference_iris_c3"]["bic"]) == list(MULTIVARIATE)
    assert [n_free_parameters(name, 2, 1) for name in ("E", "V")] == [4, 5]


@pytest.mark.slow
@pytest.mark.parametrize("name", MULTIVARIATE)
def test_parameters_are_as_many_as_directions_in_which_covariances_can_move(name):
    random = np.random.default_rng(0)
    half = random.standard_normal((2, 3, 3, 3))
    scatter = half @ half.swapaxes(2, 3)
    counts = np.array([10.0, 20.0])

    def covariances(change):
        step = (change.reshape(2, 3, 3) + change.reshape(2, 3, 3).swapaxes(1, 2)) * 1e-3
        shifted, state = scatter[0, :2] + step, None
        for _ in range(300):  # until the inner iterations converge
            result, state = MODELS[name].step(shifted, counts, state)
        return result.ravel()

    slopes = [covariances(e) - covariances(-e) for e in np.eye(18)]
    values = np.linalg.svd(slopes, compute_uv=False)
    count = MODELS[name].n_parameters(2, 3)
    assert count == 18 - 6 or values[count - 1] > 100 * values[count]


@pytest.mark.parametrize("name", ["EVE", "VVE"])
@pytest.mark.parametrize("d", [2, 3, 7])
def test_common_axes_never_lose_likelihood_and_end_where_no_turn_gains(name, d):
    half = np.random.default_rng(d).standard_normal((3, d, 2 * d))
    scatter, counts = half @ half.swapaxes(1, 2), np.array([10.0, 20.0, 40.0])
    covariances, axes = MODELS[name].step(scatter, counts, None)
    losses = [loss(scatter, counts, covariances)]
    for _ in range(200):
        covariances, axes = MODELS[name].step(scatter, counts, axes)
        losses.append(loss(scatter, counts, covariances))
    assert (np.diff(losses) <= 1e-10 * abs(losses[0])).all()
    np.testing.assert_allclose(axes.T @ axes, np.eye(d), atol=1e-10)
    random = np.random.default_rng(0)
    for _ in range(20):
        turn = 1e-4 * random.standard_normal((d, d))
        other = np.linalg.qr(np.eye(d) + turn - turn.T)[0]
        assert loss(scatter, counts, other @ covariances @ other.T) >= losses[-1] - 1e-9


def loss(scatter, counts, covariances):
    """Return a loss that is minimal at the largest likelihood."""
    traces = np.trace(np.linalg.solve(covariances, scatter), axis1=1, axis2=2)
    return (counts * np.linalg.slogdet(covariances)[1] + traces).sum()


@pytest.mark.parametrize("name", SAME_OPTIMUM)
def test_iris_from_the_true_labels_has_the_bic_of_mclust(iris, seed_examples, name):
    X, y = iris
    model = ParsimoniousGaussianMixture(3, covariance_models=name, init=y, tol=1e-8, variance_floor=0).fit(X)
    expected = seed_examples["mclust_reference_iris_c3"]["bic"][name]
    assert -model.bic_ == pytest.approx(expected, abs=0.01)


def test_iris_from_default_starts_is_not_worse_than_mclust(iris_fit, seed_examples):
    expected = seed_examples["mclust_reference_iris_c3"]["bic"]
    assert iris_fit.covariance_models_ == list(expected)
    for name, value in zip(iris_fit.covariance_models_, iris_fit.bic_table_[:, 0], strict=True):
        assert -value > expected[name] - 0.01, name


def test_iris_selects_vev_with_5_errors(iris, iris_fit):
    X, y = iris
    assert iris_fit.model_ == "VEV"
    assert -iris_fit.bic_ == pytest.approx(-562.552, abs=0.01)
    table = confusion_matrix(y, iris_fit.predict(X))
    assert table.max(axis=1).sum() == 145
    assert adjusted_rand_score(y, iris_fit.predict(X)) == pytest.approx(0.90, abs=0.005)


def test_diabetes_is_vvv_with_the_published_table(reference_file):
    table = pd.read_csv(reference_file("data/diabetes_mclust.csv"))
    published = pd.read_csv(reference_file("seed_tables/bootclus_table09.csv"), index_col=0)
    X, y = table.iloc[:, :3].to_numpy(), table["y"]
    model = ParsimoniousGaussianMixture(3, variance_floor=0, random_state=0).fit(X)
    assert model.model_ == "VVV"
    assert -model.bic_ == pytest.approx(-4751.316, abs=0.01)
    crosstab = pd.crosstab(y, model.predict(X)).to_numpy()
    assert sorted(crosstab.T.tolist()) == sorted(published.to_numpy().T.tolist())
    assert adjusted_rand_score(y, model.predict(X)) == pytest.approx(0.66, abs=0.005)


def test_faithful_has_the_mixture_of_the_reference(reference_file, reference):
    X = pd.read_csv(reference_file("data/faithful.csv")).to_numpy()[:100]
    case = reference("bootclus_faithful100_G2_B200")
    model = ParsimoniousGaussianMixture(2, tol=1e-9, variance_floor=0, random_state=0).fit(X)
    assert model.model_ == "VVV"
    assert -model.bic_ == pytest.approx(case.scalars["bic"], abs=1e-4)
    order = np.argsort(-model.weights_)
    np.testing.assert_allclose(model.means_[order], case.arrays["gmm_mean"].T, rtol=1e-3)
    np.testing.assert_allclose(model.predict_proba(X)[:, order], case.arrays["gmm_z"], rtol=0, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "covariance_type"), [("VVV", "full"), ("EEE", "tied"), ("VVI", "diag"), ("VII", "spherical")]
)
@pytest.mark.parametrize("seed", [0, 1])
def test_four_models_are_those_of_scikit_learn(name, covariance_type, seed):
    X, y = blobs(seed)
    model = ParsimoniousGaussianMixture(
        3, covariance_models=name, init=y, tol=1e-14, max_iter=3000, variance_floor=0
    ).fit(X)
    start = one_run(X, np.eye(3)[y], name, max_iter=1).state.mixture
    precisions = np.linalg.inv(start.covariances)
    precisions = {
        "full": precisions,
        "tied": precisions[0],
        "diag": np.diagonal(precisions, axis1=1, axis2=2),
        "spherical": precisions[:, 0, 0],
    }[covariance_type]
    other = GaussianMixture(
        3,
        covariance_type=covariance_type,
        tol=1e-14,
        max_iter=3000,
        reg_covar=0,
        weights_init=start.weights,
        means_init=start.means,
        precisions_init=precisions,
    ).fit(X)
    np.testing.assert_allclose(model.means_, other.means_, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), rtol=0, atol=1e-6)
    np.testing.assert_allclose(model.score_samples(X), other.score_samples(X), rtol=1e-6, atol=1e-6)
    assert model.bic(X) == pytest.approx(other.bic(X), rel=1e-6)
    assert model.aic(X) == pytest.approx(other.aic(X), rel=1e-6)


# Laws


@pytest.mark.slow
@pytest.mark.parametrize("name", MULTIVARIATE)
@settings(max_examples=15)
@given(st.integers(0, 2**31), st.integers(2, 4), st.integers(2, 4), st.booleans())
def test_the_likelihood_never_falls(name, seed, d, c, weighted):
    X, _ = blobs(seed, n=100, d=d, c=c)
    random = np.random.default_rng(seed)
    start = random.dirichlet(np.ones(c), size=100)
    weights = random.integers(4, size=100).astype(float) if weighted else None
    history = one_run(X - X.mean(axis=0), start, name, weights=weights, tol=0, max_iter=60).history
    # Covariances of 5 points in 4 dimensions are nearly singular, so rounding errors are visible.
    assert (np.diff(history) >= -1e-7 * np.abs(history[1:])).all()


@pytest.mark.parametrize("name", MULTIVARIATE)
@pytest.mark.slow_cells("VVI")
def test_the_likelihood_never_falls_on_iris(iris, name):
    X, y = iris
    history = one_run(X, np.eye(3)[y], name, tol=0, max_iter=100).history
    assert (np.diff(history) >= -1e-9 * np.abs(history[1:])).all()


@pytest.mark.parametrize("name", MULTIVARIATE)
def test_covariances_share_what_the_name_says(iris, name):
    X, y = iris
    covariances = one_run(X, np.eye(3)[y], name).state.mixture.covariances
    values = np.linalg.eigvalsh(covariances)
    volumes = np.exp(np.log(values).mean(axis=1))
    shapes = values / volumes[:, None]
    assert (np.ptp(volumes) < 1e-8) == (name[0] == "E")
    assert (np.ptp(shapes, axis=0).max() < 1e-6) == (name[1] in "EI")
    if name[1] == "I":
        np.testing.assert_allclose(shapes, 1, rtol=1e-10)
    products = covariances[0] @ covariances[1] - covariances[1] @ covariances[0]
    assert (np.abs(products).max() < 1e-8) == (name[2] in "EI")
    if name[2] == "I":
        assert (covariances * (1 - np.eye(4)) == 0).all()


# Common axes are improved in each step, but need not be optimal.
@pytest.mark.parametrize("name", [name for name in MULTIVARIATE if name not in ("EVE", "VVE")])
def test_a_step_beats_other_covariances_of_its_model(iris, name):
    X, y = iris
    z = one_run(X, np.eye(3)[y], name, max_iter=3).state.responsibilities

    def value(covariances):
        W = np.array([np.cov(X.T, aweights=z[:, k], ddof=0) for k in range(3)])
        counts = z.sum(axis=0)
        return counts @ (np.linalg.slogdet(covariances)[1] + (np.linalg.inv(covariances) * W).sum(axis=(1, 2)))

    best = value(one_run(X, z, name, max_iter=1).state.mixture.covariances)
    for seed in range(20):  # steps for slightly other data are covariances of the same model
        random = np.random.default_rng(seed)
        perturbed = X + 0.03 * random.standard_normal(X.shape)
        assert value(one_run(perturbed, z, name, max_iter=1).state.mixture.covariances) > best - 1e-9 * abs(best)


@pytest.mark.parametrize("name", MULTIVARIATE)
@settings(max_examples=5)
@given(st.integers(0, 2**31))
def test_moving_the_data_moves_the_means_only(name, seed):
    X, y = blobs(seed)
    before = ParsimoniousGaussianMixture(3, covariance_models=name, init=y, max_iter=20, tol=0)
    shift = np.random.default_rng(seed).uniform(-1000, 1000, size=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        after = clone(before).fit(X + shift)
        before.fit(X)
    np.testing.assert_allclose(after.means_ - shift, before.means_, rtol=0, atol=1e-5)
    np.testing.assert_allclose(after.covariances_, before.covariances_, rtol=0, atol=1e-4)
    assert after.bic_ == pytest.approx(before.bic_, abs=1e-5)


@pytest.mark.parametrize("name", ROTATABLE)
@settings(max_examples=5)
@given(st.integers(0, 2**31))
def test_rotated_data_have_rotated_covariances(name, seed):
    X, y = blobs(seed)
    rotation = np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))[0]
    before = one_run(X, np.eye(3)[y], name, tol=-1, max_iter=10)
    after = one_run(X @ rotation.T, np.eye(3)[y], name, tol=-1, max_iter=10)
    np.testing.assert_allclose(after.history, before.history, rtol=1e-6)
    expected = rotation @ before.state.mixture.covariances @ rotation.T
    np.testing.assert_allclose(after.state.mixture.covariances, expected, rtol=0, atol=1e-3)


@pytest.mark.parametrize("name", MULTIVARIATE)
def test_the_names_of_components_do_not_matter(iris, name):
    X, y = iris
    reference, permuted = (one_run(X, np.eye(3)[labels], name) for labels in (y, np.array([2, 0, 1])[y]))
    assert permuted.history[-1] == pytest.approx(reference.history[-1], abs=1e-6)
    np.testing.assert_allclose(
        permuted.state.responsibilities[:, [2, 0, 1]], reference.state.responsibilities, rtol=0, atol=1e-5
    )


@pytest.mark.parametrize("scale", [1e-100, 1e-6, 1e6, 1e100])
def test_the_unit_of_the_data_does_not_matter(iris, scale):
    X = iris[0]
    before = ParsimoniousGaussianMixture(3, covariance_models=["VEV", "VVI"], random_state=0).fit(X)
    after = clone(before).fit(scale * X)
    np.testing.assert_allclose(after.means_, scale * before.means_, rtol=1e-6)
    np.testing.assert_allclose(after.predict_proba(scale * X), before.predict_proba(X), rtol=0, atol=1e-6)
    assert after.bic_ == pytest.approx(before.bic_ + 2 * 600 * np.log(scale), rel=1e-8)
    assert after.bic(scale * X) == pytest.approx(after.bic_, rel=1e-10)


@pytest.mark.parametrize("name", MULTIVARIATE)
def test_weights_count_like_repeated_rows(iris, name):
    X, y = iris
    times = np.random.default_rng(0).integers(1, 4, size=150)
    weighted = one_run(X, np.eye(3)[y], name, weights=times.astype(float))
    repeated = one_run(np.repeat(X, times, axis=0), np.eye(3)[np.repeat(y, times)], name)
    assert weighted.history[-1] == pytest.approx(repeated.history[-1], rel=1e-9)
    np.testing.assert_allclose(
        np.repeat(weighted.state.responsibilities, times, axis=0),
        repeated.state.responsibilities,
        rtol=0,
        atol=1e-6,
    )


def test_many_rows_are_processed_in_blocks(iris):
    X, y = iris
    repeated = np.tile(X, (300, 1))
    single, all_rows = one_run(X, np.eye(3)[y], "VVV"), one_run(repeated, np.eye(3)[np.tile(y, 300)], "VVV")
    assert all_rows.history[-1] == pytest.approx(300 * single.history[-1], rel=1e-9)


# One model with inner iterations in the fast tier.
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "VEE" else pytest.mark.slow) for name in MULTIVARIATE]
)
@settings(max_examples=5)
@given(st.integers(0, 2**31))
def test_a_run_does_not_depend_on_those_beside_it(name, seed):
    X, _ = blobs(seed, n=60, d=3)
    random = np.random.default_rng(seed)
    starts = random.dirichlet(np.ones(3), size=(6, 60))
    starts[3, :, 0] = 0  # a component without samples: this run fails
    weights = random.integers(4, size=(6, 60)).astype(float)
    outcomes = run_em(X, starts, name, weights=weights, max_iter=50)
    assert outcomes[3].state.problem == "a component has lost all its samples"
    for start, weight, outcome in zip(starts, weights, outcomes, strict=True):
        single = one_run(X, start, name, weights=weight, max_iter=50)
        assert outcome.state.problem == single.state.problem
        np.testing.assert_allclose(outcome.history, single.history, rtol=1e-12)
        np.testing.assert_allclose(
            outcome.state.responsibilities, single.state.responsibilities, rtol=0, atol=1e-9
        )


# Choosing


@pytest.mark.slow
def test_bic_chooses_the_model_and_the_number():
    random = np.random.default_rng(0)
    X = random.standard_normal((200, 2)) + 8 * np.eye(3)[np.arange(200) % 3, :2]
    model = ParsimoniousGaussianMixture(range(1, 5), random_state=0, n_init=3).fit(X)
    assert (model.model_, model.n_components_) == ("EII", 3)
    assert model.bic_table_.shape == (14, 4)
    assert model.component_numbers_ == [1, 2, 3, 4]
    assert model.bic_ == model.bic_table_.min() == model.bic_table_[0, 2]
    assert model.bic(X) == pytest.approx(model.bic_, rel=1e-10)
    assert model.score(X) == pytest.approx(model.lower_bound_, rel=1e-10)
    assert model.log_likelihood_history_[-1] == pytest.approx(200 * model.lower_bound_)
    assert len(model.log_likelihood_history_) == model.n_iter_ + 1
    np.testing.assert_array_equal(model.fit_predict(X), model.predict(X))


def test_one_component_has_the_moments_of_the_data(iris):
    X = iris[0]
    model = ParsimoniousGaussianMixture().fit(X)
    assert model.model_ == "EEE"
    np.testing.assert_allclose(model.means_[0], X.mean(axis=0))
    np.testing.assert_allclose(model.covariances_[0], np.cov(X.T, ddof=0))
    column = model.bic_table_[:, 0]
    assert len(np.unique(column)) == 3


def test_one_feature_has_two_models():
    random = np.random.default_rng(0)
    X = np.concatenate([random.normal(0, 0.3, 100), random.normal(5, 2, 100)])[:, None]
    model = ParsimoniousGaussianMixture(range(1, 4), random_state=0).fit(X)
    assert model.covariance_models_ == ["E", "V"]
    assert (model.model_, model.n_components_) == ("V", 2)
    renamed = ParsimoniousGaussianMixture(2, covariance_models=["VVV", "VEV"], random_state=0).fit(X)
    assert renamed.covariance_models_ == ["V"]
    assert renamed.bic_ == model.bic_


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bits_for_any_n_jobs(iris):
    models = ["VEI", "EVE", "VEV"]
    sequential = ParsimoniousGaussianMixture([2, 3], covariance_models=models, n_init=5, random_state=3)
    parallel = clone(sequential).set_params(n_jobs=2).fit(iris[0])
    sequential.fit(iris[0])
    for name in ("bic_table_", "weights_", "means_", "covariances_", "log_likelihood_history_"):
        np.testing.assert_array_equal(getattr(parallel, name), getattr(sequential, name))


@pytest.mark.slow
def test_ward_starts_use_a_subsample_of_large_data():
    X, y = blobs(0, n=2500, d=2)
    partitions = first_partitions(X, [1, 3], 2, np.random.RandomState(0))
    assert [len(partitions[number]) for number in (1, 3)] == [1, 2]
    assert partitions[3][0].shape == (2500,)
    assert adjusted_rand_score(y, partitions[3][0]) > 0.5


def test_given_labels_and_probabilities_are_starts(iris):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    labeled = ParsimoniousGaussianMixture(3, covariance_models="VEV", init=names).fit(X)
    probabilistic = ParsimoniousGaussianMixture(3, covariance_models="VEV", init=np.eye(3)[y].tolist()).fit(X)
    np.testing.assert_array_equal(labeled.means_, probabilistic.means_)


# Degenerate cases


@pytest.mark.slow
def test_functional_relations_of_features_do_not_determine_the_clusters():
    # Areas, perimeters and their ratios: thin components fit their surface and have a low BIC.
    random = np.random.default_rng(1)
    y = np.repeat(np.arange(3), 70)
    latent = random.normal(size=(210, 3)) + 3 * np.eye(3)[y]
    length, width = 5 + 0.3 * latent[:, 0], 3 + 0.2 * latent[:, 1]
    noise = 1 + 0.001 * random.normal(size=(2, 210))
    area, perimeter = length * width * noise[0], 2 * (length + width) * noise[1]
    X = np.column_stack([area, perimeter, area / perimeter**2, length, width, latent[:, 2]])
    thin, default = (
        adjusted_rand_score(y, ParsimoniousGaussianMixture(3, random_state=0, **floor).fit_predict(X))
        for floor in ({"variance_floor": 0}, {})
    )
    assert default > 0.9
    assert thin < 0.6


def test_the_floor_holds_in_all_directions_and_depends_on_the_feature():
    X, y = blobs(0)
    X[:, 2] = X[:, 0] + 1e-3 * X[:, 1]
    for name in ("VVV", "EEE", "EVI", "VII"):
        model = ParsimoniousGaussianMixture(3, covariance_models=name, variance_floor=0.05, init=y).fit(X)
        unit = np.sqrt(model.variance_floor_)
        unit = np.full(3, np.sqrt(np.mean(unit**2))) if name == "VII" else unit
        variances = np.linalg.eigvalsh(model.covariances_ / unit[:, None] / unit)
        assert variances.min() > 1 - 1e-9
    free = ParsimoniousGaussianMixture(3, covariance_models="VVI", variance_floor=0, init=y).fit(X)
    floored = ParsimoniousGaussianMixture(3, covariance_models="VVI", init=y).fit(X)
    np.testing.assert_array_equal(floored.covariances_, free.covariances_)  # an inactive floor has no effect


def test_close_clusters_are_separated_despite_a_distant_cluster():
    random = np.random.default_rng(0)
    y = np.arange(300) % 3
    X = random.normal(size=(300, 2)) + np.array([[0, 0], [7, 0], [2000, 2000]])[y]
    assert adjusted_rand_score(y, ParsimoniousGaussianMixture(3, random_state=0).fit_predict(X)) == 1


def test_clusters_that_are_the_values_of_a_discrete_feature_are_reported():
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {"size": random.normal(size=200), "smoker": np.arange(200) % 5 == 0, "age": random.normal(size=200)}
    )
    with pytest.warns(CollapseWarning, match="the same value of a feature: 'smoker'.*remove such features"):
        ParsimoniousGaussianMixture(2, random_state=0).fit(X.astype(float))


def test_a_component_of_one_sample_is_reported():
    X = np.vstack([np.random.default_rng(0).normal(size=(50, 2)), [[30.0, 30.0]]])
    with pytest.warns(CollapseWarning, match=r"components \[\d\] of 2 have one sample at most"):
        ParsimoniousGaussianMixture(2, covariance_models="EEE", random_state=0).fit(X)


@pytest.mark.parametrize("weight", [1.0, 7.0])
def test_reg_covar_does_not_depend_on_the_number_of_samples(weight):
    X, _ = blobs(0)
    outcome = one_run(X, np.ones((90, 1)), "VVV", weights=np.full(90, weight), reg_covar=0.5, max_iter=2)
    expected = np.cov(X.T, bias=True) + 0.5 * np.eye(3)
    np.testing.assert_allclose(outcome.state.mixture.covariances[0], expected, rtol=1e-10)


@pytest.mark.parametrize("name", ["EVI", "EVV", "EVE"])
def test_a_flat_component_of_unbounded_length_is_not_accepted(name):
    # Equal volumes: a component that is thinner by a factor of 1e8 is longer than the data by the same factor.
    random = np.random.default_rng(0)
    X, start = random.standard_normal((60, 2)), np.repeat(np.eye(2), 30, axis=0)
    for thin, problem in ((1e-2, ""), (1e-8, "a covariance matrix is singular")):
        X[30:] = random.standard_normal((30, 2)) * [1, thin] + [10, 0]
        outcome = one_run(X, start, name, max_iter=20, tol=1e-3)
        assert outcome.state.problem == problem
    assert (
        np.diagonal(outcome.state.mixture.covariances, axis1=1, axis2=2).max() > 1e4 * np.ptp(X, axis=0).max() ** 2
    )


def test_models_that_fail_are_infinite_in_the_table():
    random = np.random.default_rng(0)
    X = random.standard_normal((40, 3))
    X[:, 2] = X[:, 0] + X[:, 1]  # singular, except for spheres and axes parallel to the features
    model = ParsimoniousGaussianMixture([1, 2, 50], variance_floor=0, random_state=0).fit(X)
    failed = np.isinf(model.bic_table_)
    assert failed[6:].all()
    assert failed[:, 2].all()
    assert not failed[:6, :2].any()
    assert not np.isnan(model.bic_table_).any()


@pytest.mark.parametrize("name", MULTIVARIATE)
def test_collapsed_components_raise_an_error_with_a_remedy(name):
    X = np.repeat([[0.0, 0.0], [1.0, 5.0], [3.0, 1.0]], 10, axis=0)
    with pytest.raises(ValueError, match=r"singular.*reg_covar"):
        ParsimoniousGaussianMixture(3, covariance_models=name, random_state=0).fit(X)
    model = ParsimoniousGaussianMixture(3, covariance_models=name, reg_covar=1e-3, random_state=0)
    with pytest.warns(CollapseWarning, match="same value of a feature: feature 0, feature 1"):
        model.fit(X)
    assert len(np.unique(model.predict(X))) == 3
    np.testing.assert_allclose(model.weights_, 1 / 3)


@pytest.mark.parametrize("name", MULTIVARIATE)
def test_a_constant_feature_allows_only_spheres(name):
    X = np.column_stack([np.random.default_rng(0).standard_normal((60, 2)), np.full(60, 0.1)])
    model = ParsimoniousGaussianMixture(2, covariance_models=name, random_state=0)
    if name.endswith("II"):
        assert np.isfinite(model.fit(X).score_samples(X)).all()
    else:
        with pytest.raises(ValueError, match="Remove constant or linearly dependent features"):
            model.fit(X)


@pytest.mark.parametrize("c", [2, 5])
def test_identical_samples_raise_an_error(c):
    with pytest.raises(ValueError, match="no mixture could be fitted"):
        ParsimoniousGaussianMixture(c, random_state=0).fit(np.ones((10, 2)))


@pytest.mark.parametrize("name", MULTIVARIATE)
def test_distant_clusters_are_supported(name):
    random = np.random.default_rng(0)
    X = random.standard_normal((60, 2)) + 1e7 * (np.arange(60) % 2)[:, None]
    model = ParsimoniousGaussianMixture(2, covariance_models=name, random_state=0).fit(X)
    assert adjusted_rand_score(np.arange(60) % 2, model.predict(X)) == 1
    assert np.diagonal(model.covariances_, axis1=1, axis2=2).max() < 3


@pytest.mark.filterwarnings("ignore:in some components, all samples have the same value")
@pytest.mark.parametrize("name", MULTIVARIATE)
def test_no_component_is_flat_or_unbounded_on_a_grid(name):
    X = np.random.default_rng(0).integers(3, size=(100, 2))
    model = ParsimoniousGaussianMixture(3, covariance_models=[name, "EII"], random_state=0).fit(X)
    values = np.linalg.eigvalsh(model.covariances_)
    assert values.min() > 1e-6
    assert values.max() < 10


@pytest.mark.parametrize("scale", [1e-200, 1e200, 1e308])
def test_data_whose_squares_overflow_or_underflow_raise_an_error(scale):
    X = scale * np.array([[-1.0, 0.0], [1.0, 1.0], [0.0, 0.5], [0.3, 0.3]])
    with pytest.raises(ValueError, match="change its units"):
        ParsimoniousGaussianMixture().fit(X)


def test_identical_samples_have_identical_probabilities(iris, iris_fit):
    X = np.repeat(iris[0][::10], 2, axis=0)
    probabilities = iris_fit.predict_proba(X)
    np.testing.assert_array_equal(probabilities[::2], probabilities[1::2])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-12)
    distant = iris_fit.predict_proba(1e6 + X)
    assert np.isfinite(distant).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components must be a whole number of at least 1, got 0"),
        ({"n_components": []}, "n_components is empty"),
        ({"n_components": "three"}, "n_components must be a whole number"),
        ({"n_components": 200}, "more than the 150 samples"),
        ({"covariance_models": "VVX"}, "covariance_models must be one of"),
        ({"covariance_models": ["VVV", "auto"]}, "covariance_models must be one of"),
        ({"covariance_models": "V"}, "covariance_models must be one of"),
        ({"covariance_models": []}, "covariance_models is empty"),
        ({"init": "random"}, "init must be one of"),
        ({"init": np.zeros(150)}, "init must be labels of 150 samples in 3 clusters"),
        ({"init": np.full((150, 3), 0.5)}, "sum to 1"),
        ({"init": np.full((150, 2), 0.5)}, r"got shape \(150, 2\)"),
        ({"init": np.arange(150) % 3, "n_components": [2, 3]}, "contains several numbers"),
        ({"tol": -1}, "tol must be a number of"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"n_init": 0}, "n_init must be"),
        ({"reg_covar": -1.0}, "reg_covar must be"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    model = ParsimoniousGaussianMixture(**{"n_components": 3, **parameters})
    message = message.replace("a number of", "a number")
    with pytest.raises(ValueError, match=message):
        model.fit(load_iris().data)


def test_a_fit_that_did_not_converge_warns(iris):
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        model = ParsimoniousGaussianMixture(3, covariance_models="VVV", max_iter=2, random_state=0).fit(iris[0])
    assert not model.converged_
    assert model.n_iter_ == 2


# As an estimator


def test_samples_come_from_the_mixture(iris_fit):
    X, y = iris_fit.sample(20_000)
    np.testing.assert_allclose(np.bincount(y) / 20_000, iris_fit.weights_, atol=0.02)
    for k in range(3):
        np.testing.assert_allclose(X[y == k].mean(axis=0), iris_fit.means_[k], atol=0.05)
        np.testing.assert_allclose(np.cov(X[y == k].T), iris_fit.covariances_[k], atol=0.03)
    with pytest.raises(ValueError, match="n_samples"):
        iris_fit.sample(0)


def test_frames_and_single_precision_are_supported(iris, iris_fit):
    X, _ = iris
    names = ["a", "b", "c", "d"]
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = ParsimoniousGaussianMixture(3, covariance_models="VEV", random_state=0).fit(frame)
        assert model.feature_names_in_.tolist() == names
        np.testing.assert_array_equal(model.means_, iris_fit.means_)
        np.testing.assert_array_equal(model.predict(frame), iris_fit.predict(X))
    single = clone(model).fit(X.astype(np.float32))
    np.testing.assert_allclose(single.means_, iris_fit.means_, rtol=1e-4)
    assert single.means_.dtype == np.float64


def test_a_pickled_mixture_predicts_the_same(iris, iris_fit):
    copy = pickle.loads(pickle.dumps(iris_fit))
    np.testing.assert_array_equal(copy.predict_proba(iris[0]), iris_fit.predict_proba(iris[0]))


def test_verbose_prints_the_criterion_of_each_model(capsys):
    X = np.random.default_rng(0).standard_normal((30, 2))
    X[:, 1] = 0
    ParsimoniousGaussianMixture([1, 2], covariance_models=["EII", "VVV"], random_state=0, verbose=1).fit(X)
    printed = capsys.readouterr().out.splitlines()
    assert printed[3] == "ParsimoniousGaussianMixture model    4 of 4"
    assert len(printed) == 8
    assert printed[4].startswith("ParsimoniousGaussianMixture EII, 1 components: BIC ")
    assert printed[7] == "ParsimoniousGaussianMixture VVV, 2 components: a covariance matrix is singular"


def test_the_responsibilities_of_em_are_those_of_its_mixture(iris):
    X, y = iris
    outcome = one_run(X, np.eye(3)[y], "VEV")
    logs, responsibilities = posterior(X, Mixture(*(array[None] for array in outcome.state.mixture)))
    np.testing.assert_array_equal(responsibilities[0].T, outcome.state.responsibilities)
    assert logs.sum() == pytest.approx(outcome.history[-1])


# Missing values


def with_holes(X, share, seed=0):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


def test_incomplete_samples_have_the_density_of_observed_features():
    X = load_iris().data
    model = ParsimoniousGaussianMixture(3, random_state=0).fit(X)
    holes = with_holes(X, 0.4)
    parts = []
    for row in holes:
        observed = ~np.isnan(row)
        block = np.ix_(observed, observed)
        parts.append(
            [
                weight
                * (multivariate_normal.pdf(row[observed], mean[observed], S[block]) if observed.any() else 1)
                for weight, mean, S in zip(model.weights_, model.means_, model.covariances_, strict=True)
            ]
        )
    np.testing.assert_allclose(model.score_samples(holes), np.log(np.sum(parts, axis=1)), atol=1e-9)
    expected = np.array(parts) / np.sum(parts, axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(holes), expected, atol=1e-10)
    np.testing.assert_allclose(model.predict_proba(np.full((1, 4), np.nan)), model.weights_[None])
    whole = ~np.isnan(holes).any(axis=1)
    np.testing.assert_array_equal(model.predict_proba(holes)[whole], model.predict_proba(X[whole]))


def test_missing_values_increase_doubt_and_keep_the_components():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(1).random(X.shape)
    model = ParsimoniousGaussianMixture(3, covariance_models=["EEE", "VVV"], random_state=0)
    assert get_tags(model).input_tags.allow_nan
    assert adjusted_rand_score(y, model.fit_predict(np.where(order < 0.2, np.nan, X))) > 0.7
    chances = [model.predict_proba(np.where(order < share, np.nan, X)) for share in (0, 0.2, 0.4, 0.6, 1)]
    assert (np.diff([probabilities.max(axis=1).mean() for probabilities in chances]) < 0).all()
    with pytest.raises(ValueError, match="NaN only in 1 of 4 features"):
        model.fit(np.where(np.arange(4) == 2, np.nan, X))
