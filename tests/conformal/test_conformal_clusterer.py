"""Conformal sets of clusters, around any clusterer."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import evlearn
from evlearn import CredalPartition
from evlearn.belief import is_kind
from evlearn.cluster import ECM, EVCLUS, RECM
from evlearn.conformal import ConformalClusterer
from evlearn.conformal.nested_sets import shorten_contour
from evlearn.conformal.p_values import contour

CENTERS = [[0, 0], [3, 0], [0, 8]]


def blobs(n, seed):
    return make_blobs(n, 2, centers=CENTERS, random_state=seed)


@pytest.fixture(scope="module")
def fitted():
    return ConformalClusterer(GaussianMixture(3, n_init=2), confidence_level=0.97, random_state=0).fit(
        blobs(400, 0)[0]
    )


@parametrize_with_checks(
    [ConformalClusterer(KMeans(2, n_init=1), n_splits=1), ConformalClusterer(ECM(2), method="split")]
)
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
@pytest.mark.filterwarnings("ignore::evlearn.exceptions.CollapseWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.slow_cells("check_fit_idempotent")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "clusterer",
    [
        KMeans(3),
        GaussianMixture(3),
        ECM(3),
        EVCLUS(3, n_init=1),
        HDBSCAN(min_cluster_size=15, copy=True),
        AgglomerativeClustering(3),
        make_pipeline(StandardScaler(), PCA(2), KMeans(3)),
    ],
    ids=lambda clusterer: type(clusterer).__name__,
)
def test_clusterers_of_all_kinds_get_sets(clusterer):
    X, y = make_blobs(240, 2, centers=[[0, 0], [7, 0], [0, 9]], random_state=0)
    model = ConformalClusterer(clusterer, n_splits=2, random_state=0).fit(X)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(y, model.labels_) > 0.95
    fresh, _ = make_blobs(100, 2, centers=[[0, 0], [7, 0], [0, 9]], random_state=1)
    sets = model.predict_set(fresh)
    assert sets.shape == (100, 3)
    assert (sets.sum(axis=1) == 1).mean() > 0.9
    assert model.coverage_ > 0.9


def test_samples_between_clusters_are_torn_central_ones_sure_and_remote_ones_outliers(fitted):
    sets = fitted.predict_set([[1.5, 0], [0, 8], [-2, 0], [40, 40]])
    assert sets.sum(axis=1).tolist() == [2, 1, 1, 0]
    masses = fitted.predict_mass([[40.0, 40]]).masses
    assert masses[0, 0] > 0.85


def test_the_verdict_at_the_confidence_level_is_the_set(fitted):
    X, _ = blobs(300, 5)
    for level in (0.5, 0.8, 0.9, 0.95):
        np.testing.assert_array_equal(
            fitted.predict_mass(X).verdict(level).candidates, fitted.predict_set(X, confidence_level=level)
        )
    np.testing.assert_array_equal(fitted.credal_partition_.verdict(0.97).candidates, fitted.doubt_.sets)


def test_sets_grow_with_the_confidence_level(fitted):
    X, _ = blobs(300, 6)
    small, middle, large = (fitted.predict_set(X, confidence_level=level) for level in (0.8, 0.9, 0.98))
    assert (small <= middle).all()
    assert (middle <= large).all()
    assert small.sum() < large.sum()


def test_the_function_predict_set_passes_the_level_as_confidence_level(fitted):
    X, _ = blobs(300, 6)
    np.testing.assert_array_equal(
        evlearn.predict_set(fitted, X, level=0.8), fitted.predict_set(X, confidence_level=0.8)
    )
    np.testing.assert_array_equal(evlearn.predict_set(fitted, X), fitted.predict_set(X))


def test_masses_are_consonant_and_the_plausibility_of_the_best_cluster_is_1_except_for_outliers(fitted):
    partition = fitted.credal_partition_
    plausible = partition.to_possibilistic()
    outliers = fitted.outlier_p_values_ <= 0.01
    np.testing.assert_allclose(plausible.max(axis=1)[~outliers], 1)
    assert (plausible.max(axis=1)[outliers] <= 0.5 + 1e-12).all()
    np.testing.assert_allclose(partition.masses[:, 0], 1 - plausible.max(axis=1), atol=1e-12)
    for row in partition.masses[::40]:
        sets = partition.focal_sets.membership[1:][row[1:] > 0]
        nested = sets[np.argsort(sets.sum(axis=1))].astype(int)
        assert (np.diff(nested, axis=0) >= 0).all()


@pytest.mark.slow
def test_labels_of_replications_are_covered_at_the_confidence_level():
    shares = {0.8: [], 0.9: []}
    for seed in range(12):
        X = blobs(200, seed)[0]
        model = ConformalClusterer(GaussianMixture(3), n_splits=2, random_state=seed).fit(X)
        other = GaussianMixture(3, random_state=seed).fit(blobs(100, 100 + seed)[0])
        fresh = blobs(400, 200 + seed)[0]
        sums = other.predict_proba(fresh).cumsum(axis=1)
        labels = (np.random.RandomState(seed).uniform(size=(400, 1)) > sums[:, :2]).sum(axis=1)
        order = [np.argmin(((np.array(CENTERS) - mean) ** 2).sum(axis=1)) for mean in other.means_]
        model_order = [
            np.argmin(((np.array(CENTERS) - mean) ** 2).sum(axis=1)) for mean in model.estimator_.means_
        ]
        if len(set(order)) < 3 or len(set(model_order)) < 3:  # a fit with other clusters
            continue
        labels = np.array([model_order.index(center) for center in order])[labels]
        p_values = model.predict_p_values(fresh)[np.arange(400), labels]
        for level, values in shares.items():
            values.append((p_values > 1 - level).mean())
    assert len(shares[0.8]) >= 8
    assert 0.74 < np.mean(shares[0.8]) < 0.88
    assert 0.86 < np.mean(shares[0.9]) < 0.96


def test_drawn_labels_see_clusters_that_overlap_and_hard_ones_do_not():
    X, _ = make_blobs(600, 2, centers=[[0, 0], [2.0, 0]], random_state=0)
    mixture = GaussianMixture(2, n_init=3, covariance_type="spherical")
    soft_model, hard_model = (
        ConformalClusterer(mixture, labels=labels, n_splits=3, random_state=0).fit(X)
        for labels in ("drawn", "hard")
    )
    assert soft_model.doubt_.counts()["overlap"] > 50
    assert hard_model.doubt_.counts()["overlap"] == hard_model.doubt_.counts()["replication"] == 0


def test_outlier_p_values_are_valid_and_planted_outliers_are_detected(fitted):
    p_values = np.concatenate([fitted.predict_outlier_p_values(blobs(500, seed)[0]) for seed in range(20, 24)])
    for level in (0.01, 0.05, 0.1, 0.3):
        assert (p_values <= level).mean() < level + 0.03
    assert fitted.predict_outlier_p_values([[10, 10], [-9, -9], [8, 3]]).max() < 0.01
    # The share of training samples is bounded.
    assert (fitted.outlier_p_values_ <= 0.01).mean() <= 0.01


@pytest.mark.slow
def test_outliers_are_relative_to_the_spacing_of_their_cluster():
    random = np.random.default_rng(0)
    dense, sparse = random.normal(size=(1300, 2)) * 0.2, random.normal(size=(1300, 2)) * 2 + [12, 0]
    X = np.vstack([dense[:300], sparse[:300]])
    model = ConformalClusterer(KMeans(2, n_init=1), n_splits=1, random_state=0).fit(X)
    for cluster in (dense, sparse):
        assert (model.predict_outlier_p_values(cluster[300:]) <= 0.01).mean() < 0.03
    rows = [[2, 0], [-2, 0], [0, 2], [0, -2]]
    assert model.predict_outlier_p_values(rows).max() <= 0.01


def test_a_cluster_of_one_far_sample_is_an_outlier():
    X = np.vstack([blobs(200, 0)[0], [[90.0, 90]]])
    model = ConformalClusterer(KMeans(4, n_init=3), n_splits=1, random_state=0).fit(X)
    assert (model.labels_ == model.labels_[200]).sum() == 1
    assert model.doubt_.kinds[200] == "outlier"


def test_there_are_no_outliers_at_level_0():
    model = ConformalClusterer(KMeans(3), n_splits=1, outlier_level=0, random_state=0).fit(blobs(90, 0)[0])
    assert model.predict_set([[500.0, 500]]).any()
    assert model.masses_[:, 0].max() == 0


def test_the_result_does_not_depend_on_the_number_of_workers():
    X, _ = blobs(120, 0)
    serial, parallel = (
        ConformalClusterer(KMeans(3), n_splits=2, random_state=0, n_jobs=n_jobs).fit(X) for n_jobs in (1, 2)
    )
    assert serial.credal_partition_ == parallel.credal_partition_
    np.testing.assert_array_equal(serial.p_values_, parallel.p_values_)


def test_the_split_method_calibrates_with_samples_that_no_model_was_fitted_to():
    X, _ = blobs(300, 0)
    model = ConformalClusterer(GaussianMixture(3), method="split", random_state=0).fit(X)
    assert model.n_calibration_ == 100
    assert model.p_values_.min() >= 1 / 101


@pytest.mark.parametrize(("method", "n_compared"), [("split", 200), ("cross", 300)])
def test_remote_samples_are_compared_with_samples_that_the_model_was_not_fitted_to_if_there_are_any(
    method, n_compared
):
    model = ConformalClusterer(KMeans(3, n_init=1), method=method, n_splits=1, random_state=0)
    model.fit(blobs(300, 0)[0])
    assert model.predict_outlier_p_values([[1e4, 1e4]]) == pytest.approx([1 / (n_compared + 1)])


def test_sets_compensate_for_errors_by_outliers():
    best = np.array([[True, False, False]] * 2)
    plausible = contour(np.array([[0.8, 0.095, 0.995]] * 2), best, np.array([0.5, 0.01]), level=0.01)
    np.testing.assert_allclose(plausible, [[1, 0.105, 1], [0.5, 0.5 * 1.105 / 2, 0.5]])


@pytest.mark.slow
def test_p_values_of_the_split_method_are_valid_for_any_number_of_samples():
    random = np.random.default_rng(0)
    p_values, outlier_p_values = [], []
    for seed in range(200):
        X = random.normal(size=(31, 2)) * [2, 1]
        model = ConformalClusterer(KMeans(2, n_init=1), method="split", random_state=seed).fit(X[:30])
        # The label by the model of the second third, reproduced as in `fit`.
        parts = np.random.RandomState(seed)
        seeds = parts.randint(np.iinfo(np.int32).max, size=2)
        first, second, _ = np.array_split(parts.permutation(30), 3)
        model_seed = np.random.RandomState(seeds[1]).randint(np.iinfo(np.int32).max)
        other = KMeans(2, n_init=1, random_state=model_seed).fit(X[second])
        rows = np.concatenate([first, second])
        agreed = (other.predict(X[rows]) == model.predict(X[rows])).mean()
        label = other.predict(X[30:])[0] if agreed >= 0.5 else 1 - other.predict(X[30:])[0]
        p_values.append(model.predict_p_values(X[30:])[0, label])
        outlier_p_values.append(model.predict_outlier_p_values(X[30:])[0])
    for level in (0.1, 0.2, 0.3, 0.5):
        tolerance = 3 * (level * (1 - level) / 200) ** 0.5
        assert np.mean(np.array(p_values) <= level) <= level + tolerance
        assert np.mean(np.array(outlier_p_values) <= level) <= level + tolerance


def test_replications_with_other_clusters_make_sets_larger():
    X = np.random.default_rng(0).normal(size=(300, 2))
    unstable = ConformalClusterer(KMeans(4, n_init=1), n_splits=4, random_state=0).fit(X)
    stable = ConformalClusterer(KMeans(3, n_init=3), n_splits=4, random_state=0).fit(blobs(300, 0)[0])
    assert unstable.predict_set(X).sum(axis=1).mean() > 1.5
    assert unstable.doubt_.replication.mean() > 3 * stable.doubt_.replication.mean()


class FinerOnHalves(ClusterMixin, BaseEstimator):
    """Clusterer with 2 clusters for many samples, and 4 for fewer."""

    def fit(self, X, y=None):
        self.labels_ = KMeans(2 if len(X) > 150 else 4, n_init=2, random_state=0).fit_predict(X)
        return self


def test_a_cluster_without_a_counterpart_is_covered_by_no_set():
    X, _ = make_blobs(200, 2, centers=[[0, 0], [4, 0], [0, 20], [4, 20]], random_state=0)
    model = ConformalClusterer(FinerOnHalves(), n_splits=2, random_state=0).fit(X)
    assert model.n_clusters_ == 2
    assert 0.3 < model.coverage_ < 0.7
    # Half of all labels have an infinite score, so that no cluster can be excluded.
    assert (model.predict_set(X).sum(axis=1) == 2).mean() > 0.95


def test_noise_is_not_used_for_calibration_and_has_no_label():
    X = np.vstack([make_blobs(150, 2, centers=[[0, 0], [9, 0]], random_state=0)[0], [[60.0, 60]] * 1])
    scattered = np.random.default_rng(0).uniform(20, 200, size=(14, 2))
    model = ConformalClusterer(
        HDBSCAN(min_cluster_size=20, copy=True), n_splits=2, n_neighbors=5, random_state=0
    ).fit(np.vstack([X, scattered]))
    assert model.n_clusters_ == 2
    assert model.labels_[-1] == -1
    assert set(np.unique(model.labels_[:150])) == {0, 1}


def test_with_many_clusters_there_are_few_nested_sets():
    X, _ = make_blobs(600, 2, centers=14, cluster_std=2.5, random_state=0)
    model = ConformalClusterer(KMeans(14, n_init=1), n_splits=2, random_state=0).fit(X)
    assert set(np.unique(model.focal_sets_.sizes)) <= {0, 1, 2, 3, 14}
    sets = model.predict_set(X)
    assert (sets <= model.predict_mass(X).verdict(0.9).candidates).all()


def test_names_of_rows_and_columns_are_preserved():
    frame = pd.DataFrame(blobs(90, 0)[0], columns=["a", "b"], index=[f"s{k}" for k in range(90)])
    model = ConformalClusterer(KMeans(3), n_splits=1, random_state=0).fit(frame)
    assert model.credal_partition_.sample_names[0] == "s0"
    assert model.predict_mass(frame[5:7]).sample_names == ("s5", "s6")
    assert list(model.feature_names_in_) == ["a", "b"]


def test_doubt_is_described_in_plain_text(fitted):
    doubt = fitted.doubt_
    texts = {kind: doubt.describe(int(np.flatnonzero(doubt.kinds == kind)[0])) for kind in ("sure", "overlap")}
    assert "is in cluster" in texts["sure"]
    assert "is torn between the clusters" in texts["overlap"]
    assert "More samples would not help" in texts["overlap"]
    model = ConformalClusterer(KMeans(3), n_splits=1, random_state=0).fit(
        np.vstack([blobs(200, 0)[0], [[30, 30]]])
    )
    assert model.doubt_.describe(200).startswith("Sample 200 is an outlier: 0.5 % of the samples")
    assert sum(model.doubt_.counts().values()) == 201


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"confidence_level": 0.995}, r"confidence_level must be below 1 - outlier_level = 0.99, got 0.995"),
        ({"confidence_level": 0}, "confidence_level must be a number above 0"),
        ({"method": "jackknife"}, "method must be one of"),
        ({"labels": "soft"}, "labels must be one of"),
        ({"labels": "drawn"}, "labels='drawn' needs an estimator with predict_mass or predict_proba"),
        ({"n_splits": 0}, "n_splits must be a whole number of at least 1"),
        ({"outlier_level": 0.5}, "outlier_level must be a number"),
        ({"estimator": KMeans}, "estimator must be a clusterer such as"),
        ({"estimator": StandardScaler()}, "estimator must be a clusterer with .*, got StandardScaler"),
        ({"estimator": RECM(3, metric="precomputed")}, "estimator must accept features"),
        ({"estimator": HDBSCAN(min_cluster_size=80, copy=True)}, "labels all samples as noise"),
    ],
)
def test_invalid_parameters_are_rejected(parameters, message):
    with pytest.raises(ValueError, match=message):
        ConformalClusterer(**{"estimator": KMeans(3), **parameters}).fit(blobs(90, 0)[0])


def test_data_on_disk_are_rejected():
    with pytest.raises(ValueError, match="needs data in memory"):
        ConformalClusterer(KMeans(3)).fit("data.parquet")


@pytest.mark.parametrize("n_clusters", [2, 4, 8, 12])
def test_masses_of_chunks_can_be_stacked(n_clusters):
    rows, _ = make_blobs(300, centers=n_clusters, cluster_std=2.0, random_state=0)
    model = ConformalClusterer(KMeans(n_clusters, n_init=1, random_state=0), n_splits=2, random_state=0)
    model.fit(rows[:200])
    whole = model.predict_mass(rows[180:])
    for size in (1, 23):
        parts = [model.predict_mass(rows[start : start + size]) for start in range(180, 300, size)]
        assert all(part.focal_sets == model.focal_sets_ for part in (whole, *parts))
        np.testing.assert_allclose(np.vstack([part.masses for part in parts]), whole.masses, atol=1e-12)


@pytest.mark.parametrize("n_clusters", [8, 12])
def test_masses_of_sets_that_did_not_occur_in_fit_are_cautious(n_clusters):
    rows, _ = make_blobs(600, centers=n_clusters, cluster_std=3.0, random_state=0)
    model = ConformalClusterer(KMeans(n_clusters, n_init=1, random_state=0), n_splits=2, random_state=0)
    model.fit(rows[:60])
    assert {(k,) for k in range(n_clusters)} | {tuple(range(n_clusters))} <= set(model.focal_sets_)
    exact = CredalPartition.from_possibilistic(shorten_contour(model._plausible(rows[60:])))
    unseen = model.focal_sets_.positions(exact.focal_sets.membership) < 0
    changed = (exact.masses[:, unseen] > 0).any(axis=1)
    assert 0.05 < changed.mean() < 1
    masses = model.predict_mass(rows[60:])
    np.testing.assert_allclose(masses.masses.sum(axis=1), 1)
    gained = masses.to_possibilistic() - exact.to_possibilistic()
    assert gained.min() > -1e-12
    assert (gained[changed].max(axis=1) > 0).all()
    np.testing.assert_allclose(gained[~changed], 0, atol=1e-12)
    assert is_kind(masses.masses, masses.focal_sets, kind="consonant").all()
    np.testing.assert_allclose(masses.outliers(), exact.outliers())
