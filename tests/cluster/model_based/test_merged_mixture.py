import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import evlearn
from evlearn.cluster import MergedMixture
from evlearn.cluster.model_based.merged_mixture import leave_one_out_squares, merge
from evlearn.datasets import make_bananas
from evlearn.exceptions import CollapseWarning


@pytest.mark.filterwarnings("ignore:clusters .* have one sample at most")
@parametrize_with_checks([MergedMixture(2), MergedMixture(2, component_numbers=3, covariance_models="EII")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def moons():
    return make_moons(300, noise=0.06, random_state=3)


@pytest.fixture(scope="module")
def fitted(moons):
    return MergedMixture(2, random_state=0).fit(moons[0])


@pytest.mark.slow
def test_bent_clusters_are_found_if_kmeans_fails():
    for X, y in (
        make_moons(400, noise=0.07, random_state=0),
        make_circles(400, noise=0.05, factor=0.4, random_state=0),
        make_bananas(2000, random_state=1)[:2],
    ):
        score = adjusted_rand_score(y, MergedMixture(2, random_state=0).fit(X).labels_)
        kmeans_score = adjusted_rand_score(y, KMeans(2, n_init=10, random_state=0).fit_predict(X))
        assert score > 0.8
        assert score > kmeans_score + 0.25


def test_ellipsoidal_clusters_are_not_merged():
    X, y = load_iris(return_X_y=True)
    model = MergedMixture(3, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.85
    assert model.mixture_.n_components_ == 3
    np.testing.assert_array_equal(model.components_, [0, 1, 2])
    assert model.overlaps_.shape == (0,)


def test_masses_are_sums_of_probabilities_of_components(fitted, moons):
    shares = fitted.mixture_.predict_proba(moons[0])
    for k in range(2):
        expected = shares[:, fitted.components_ == k].sum(axis=1) * (1 - fitted.masses_[:, 0])
        np.testing.assert_allclose(fitted.masses_[:, 1 + k], expected, atol=1e-5)
    assert (fitted.masses_[:, -1] == 0).all()
    assert np.median(fitted.masses_[:, 0]) < 0.01
    np.testing.assert_allclose(fitted.masses_.sum(axis=1), 1, rtol=1e-6)


def test_the_two_components_with_the_largest_overlap_are_merged_first():
    shares = np.array([[0.6, 0.4, 0, 0], [0.4, 0.6, 0, 0], [0, 0, 0.9, 0.1], [0, 0, 0.2, 0.8], [0, 0, 1, 0]])
    clusters, overlaps = merge(shares, 2)
    np.testing.assert_array_equal(clusters, [0, 0, 1, 1])
    np.testing.assert_allclose(overlaps, [0.4, 0.2 / 2.1])  # the smaller of 0.2 / 2.1 and 0.1 / 0.9
    np.testing.assert_array_equal(merge(shares, 1)[0], 0)
    np.testing.assert_array_equal(merge(shares, 4)[0], np.arange(4))


def test_remote_samples_have_all_mass_on_the_empty_set_or_on_the_set_of_all_clusters(fitted, moons):
    np.testing.assert_array_equal(fitted.predict(moons[0]), fitted.labels_)
    np.testing.assert_array_equal(fitted.predict_mass(moons[0]).masses, fitted.masses_)
    np.testing.assert_allclose(fitted.predict_mass([[1e8, 1e8]]).masses, [[1, 0, 0, 0]], atol=1e-12)
    assert not fitted.predict_set([[1e8, 1e8]]).any()
    model = MergedMixture(2, outlier_rate=0, random_state=0).fit(moons[0])
    np.testing.assert_array_equal(model.predict_mass([[1e8, 1e8]]).masses, [[0, 0, 0, 1]])
    assert model.predict_set([[1e8, 1e8]]).all()
    assert (model.masses_[:, 0] == 0).all()


@pytest.mark.slow
def test_workers_do_not_change_the_result(fitted, moons):
    model = MergedMixture(2, random_state=0, n_jobs=2).fit(moons[0])
    np.testing.assert_array_equal(model.masses_, fitted.masses_)


def test_a_loaded_model_predicts_the_same_bits(fitted, moons, tmp_path):
    evlearn.save_model(fitted, tmp_path / "model.json")
    loaded = evlearn.load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict_mass(moons[0]).masses, fitted.masses_)
    np.testing.assert_array_equal(loaded.components_, fitted.components_)
    assert not hasattr(loaded, "mixture_")


def test_frames_keep_their_names(moons):
    frame = pd.DataFrame(moons[0], columns=["a", "b"], index=[f"row {i}" for i in range(300)])
    model = MergedMixture(2, random_state=0).fit(frame)
    assert list(model.feature_names_in_) == ["a", "b"]
    assert model.credal_partition_.sample_names[3] == "row 3"


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_units_do_not_matter(fitted, moons, scale):
    other = MergedMixture(2, random_state=0).fit(scale * moons[0])
    np.testing.assert_allclose(other.masses_, fitted.masses_, atol=1e-4)


def test_a_cluster_of_one_sample_is_reported():
    # With fewer than 5 samples per cluster, no sample counts as a gross error.
    X = np.vstack([make_blobs(8, centers=1, random_state=0)[0], [[60.0, 60.0]]])
    with pytest.warns(CollapseWarning, match=r"clusters \[\d\] of 2 have one sample at most"):
        MergedMixture(2, random_state=0).fit(X)


def separated(n=400, d=8, n_clusters=5, seed=0):
    """Return Gaussian clusters with unit variances that lie far apart, and their labels."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % n_clusters
    return 8 * random.normal(size=(n_clusters, d))[y] + random.normal(size=(n, d)), y


@pytest.mark.parametrize("distance", [1, 1e3, 1e8])
@pytest.mark.slow
def test_outliers_do_not_capture_components(distance):
    X, y = separated()
    random = np.random.default_rng(1)
    errors = random.uniform(-60, 60, size=(12, 8)) * distance
    model = MergedMixture(5, random_state=0).fit(np.vstack([X, errors]))
    assert adjusted_rand_score(y, model.labels_[:400]) > 0.99
    assert np.abs(model.mixture_.means_).max() < 60
    assert (model.masses_[400:, 0] > 0.5).all()
    assert (model.masses_[:400, 0] > 0.5).mean() < 0.01
    # The fit is that of the other samples.
    np.testing.assert_array_equal(model.mixture_.means_, MergedMixture(5, random_state=0).fit(X).mixture_.means_)


def test_new_samples_of_components_with_few_samples_are_not_outliers():
    # With 40 samples per covariance matrix of 15 features, the mean square of new samples is 1.8 times as large.
    X, _ = separated(400, 15)
    model = MergedMixture(5, component_numbers=5, random_state=0).fit(X[:200])
    assert (model.predict_mass(X[200:]).masses[:, 0] > 0.5).mean() < 0.03


def test_distances_to_components_without_a_sample():
    X = np.random.default_rng(0).normal(size=(20, 3))
    centered = X - X.mean(axis=0)
    squares = np.einsum("ij,jk,ik->i", centered, np.linalg.inv(np.cov(X.T, bias=True)), centered)
    result = leave_one_out_squares(squares[:, None], np.ones((20, 1)), np.array([20.0]))
    for i in range(20):
        others = np.delete(X, i, axis=0)
        difference = X[i] - others.mean(axis=0)
        assert result[i, 0] == pytest.approx(difference @ np.linalg.inv(np.cov(others.T, bias=True)) @ difference)
    # The sample determines the extent of component 0, is not in component 1, and is the only one in component 2.
    extreme = leave_one_out_squares(
        np.array([[19.0, 5.0, 0.0]]), np.array([[1.0, 0.0, 1.0]]), np.array([20.0, 20.0, 1.0])
    )
    np.testing.assert_array_equal(extreme, [[np.inf, 5, np.inf]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be a whole number of at least 1, got 0"),
        ({"n_clusters": 400}, "more than n_samples=300"),
        ({"component_numbers": 1}, "component_numbers must be"),
        ({"component_numbers": "many"}, "component_numbers must be"),
        ({"covariance_models": "VVX"}, "covariance_models must be one of"),
        ({"mixture_params": {"variance_floor": 2}}, "variance_floor must be"),
        ({"outlier_rate": 0.6}, "outlier_rate must be"),
    ],
)
def test_invalid_parameters_are_refused(moons, options, message):
    with pytest.raises(ValueError, match=message):
        MergedMixture(**{"n_clusters": 2, **options}).fit(moons[0])


def test_data_that_are_not_in_memory_are_refused(tmp_path):
    with pytest.raises(ValueError, match="MergedMixture needs data in memory"):
        MergedMixture(2).fit(str(tmp_path / "data.parquet"))
