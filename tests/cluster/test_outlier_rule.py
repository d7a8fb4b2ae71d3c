"""Outlier rule: its rate, its breakdown, samples between clusters, and equal results of all computations."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import evlearn
from evlearn.belief import FocalSets
from evlearn.cluster import BPEC, CCM, ECM, SECM
from evlearn.cluster.outlier_rule import OutlierRule, Segments


def blobs(seed, d, n=1000, gap=8.0, n_clusters=4):
    """Draw Gaussian clusters of different sizes and widths."""
    random = np.random.default_rng(seed)
    centers = random.normal(size=(n_clusters, d))
    distances = np.linalg.norm(centers[:, None] - centers, axis=2)[np.triu_indices(n_clusters, 1)]
    y = random.choice(n_clusters, size=n, p=[0.4, 0.3, 0.2, 0.1])
    widths = np.array([1.0, 0.7, 1.3, 0.8])[y, None]
    return (centers * gap / distances.min())[y] + widths * random.normal(size=(n, d)), random


@pytest.mark.parametrize("d", [2, 20])
@pytest.mark.parametrize("method", [CCM, ECM])
@pytest.mark.slow
def test_few_ordinary_samples_and_most_planted_outliers_are_outliers(method, d):
    X, random = blobs(0, d)
    clean = method(4, random_state=0).fit(X).credal_partition_.verdict().outlier
    assert clean.mean() <= 0.01
    low, high = X.min(axis=0), X.max(axis=0)
    planted = random.uniform(low - 0.15 * (high - low), high + 0.15 * (high - low), size=(50, d))
    outlier = method(4, random_state=0).fit(np.vstack([X, planted])).credal_partition_.verdict().outlier
    assert outlier[: len(X)].mean() <= 0.01
    assert outlier[len(X) :].mean() >= 0.55


@pytest.mark.slow
def test_the_share_of_outliers_among_ordinary_samples_is_the_rate():
    X, _ = blobs(1, 5, n=20_000)
    for rate in (0.003, 0.02, 0.05):
        outlier = CCM(4, outlier_rate=rate, random_state=0).fit(X).credal_partition_.verdict().outlier
        assert 0.4 * rate <= outlier.mean() <= 1.6 * rate


def test_a_numeric_delta_determines_outliers_as_in_the_papers():
    X, _ = blobs(2, 2)
    model = CCM(4, delta=3.0, random_state=0).fit(X)
    other = CCM(4, delta=3.0, outlier_rate=0.2, random_state=0).fit(X)
    np.testing.assert_array_equal(model.masses_, other.masses_)
    assert model._model.outliers is None


@pytest.mark.parametrize("rate", [0, -0.1, 0.6])
def test_an_invalid_rate_is_refused(rate):
    with pytest.raises(ValueError, match="outlier_rate"):
        CCM(2, outlier_rate=rate).fit(np.zeros((5, 2)))


def test_samples_halfway_between_clusters_are_torn_and_remote_samples_are_outliers():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 2))
    X[200:, 0] += 12
    model = CCM(2, random_state=0).fit(X)
    middle, side, end = model.predict_mass([[6.0, 0.0], [6.0, 8.0], [-9.0, 0.0]]).verdict().candidates
    assert middle.sum() == 2
    assert side.sum() == end.sum() == 0


def test_the_distance_to_a_segment_is_that_to_its_nearest_point():
    random = np.random.default_rng(0)
    ends, points = random.normal(size=(2, 3)), random.normal(size=(50, 3)) * 3
    squares = ((points[:, None] - ends) ** 2).sum(axis=2)
    segments = Segments.of(FocalSets.full(2), ((ends[:, None] - ends) ** 2).sum(axis=2))
    places = np.linspace(0, 1, 2001)[:, None]
    line = ends[0] + places * (ends[1] - ends[0])
    expected = ((points[:, None] - line) ** 2).sum(axis=2).min(axis=1)
    ratios = np.minimum(segments.ratios(squares, np.ones(2)), squares.min(axis=1))
    np.testing.assert_allclose(ratios, expected, rtol=1e-4, atol=1e-6)


def test_masses_of_clusters_keep_their_proportions():
    random = np.random.default_rng(0)
    masses = random.dirichlet(np.ones(4), size=20)
    rule = OutlierRule(np.array([1.0, 2.0]), 6.0)
    squares = random.uniform(0, 9, size=(20, 2))
    segments = Segments.of(FocalSets.singletons(2), np.ones((2, 2)))
    changed = rule.apply(masses, squares, segments)
    np.testing.assert_allclose(changed.sum(axis=1), 1)
    np.testing.assert_allclose(
        changed[:, 1:] * masses[:, 1:].sum(axis=1)[:, None], masses[:, 1:] * (1 - changed[:, :1])
    )
    outlier = (np.sqrt(squares) >= [1, 2]).all(axis=1)
    np.testing.assert_array_equal(changed[:, 0] >= 0.5, outlier)


def test_weights_are_numbers_of_repetitions():
    random = np.random.default_rng(0)
    distances, weights = random.gamma(2, size=(60, 3)), random.integers(0, 4, size=60)
    rule = OutlierRule.learn(distances, weights.astype(float), 0.01, Segments.empty())
    repeated = OutlierRule.learn(
        np.repeat(distances, weights, axis=0), np.ones(weights.sum()), 0.01, Segments.empty()
    )
    np.testing.assert_allclose(rule.reaches, repeated.reaches)
    assert rule.steepness == pytest.approx(repeated.steepness)


def test_samples_at_their_prototypes_have_no_rule():
    assert OutlierRule.learn(np.zeros((10, 2)), np.ones(10), 0.01, Segments.empty()) is None


@pytest.mark.parametrize("method", [CCM, ECM, BPEC, SECM])
def test_single_rows_float32_and_model_files_have_the_same_outliers(method, tmp_path):
    X, random = blobs(3, 3, n=300)
    new = np.vstack([X[:50], random.normal(size=(50, 3)) * 12])
    model = method(4, random_state=0).fit(X)
    masses = model.predict_mass(new).masses
    assert (masses[:, 0] >= 0.5).any()
    row_masses = np.vstack([model.predict_mass(row[None]).masses for row in new])
    np.testing.assert_allclose(row_masses, masses, atol=1e-12)
    evlearn.save_model(model, tmp_path / "model.json")
    np.testing.assert_array_equal(evlearn.load_model(tmp_path / "model.json").predict_mass(new).masses, masses)
    single = method(4, random_state=0).fit(X.astype(np.float32)).predict_mass(new.astype(np.float32)).masses
    assert ((single[:, 0] >= 0.5) == (masses[:, 0] >= 0.5)).mean() >= 0.97


def test_a_pipeline_and_a_stream_have_outliers():
    X, _ = blobs(4, 3, n=2000)
    outlier = np.full((1, 3), 60.0)
    model = make_pipeline(StandardScaler(), CCM(4, random_state=0)).fit(X)
    assert evlearn.predict_mass(model, outlier).verdict().outlier.all()
    stream = CCM(4, random_state=0)
    for part in np.array_split(X, 10):
        stream.partial_fit(part)
    assert stream.predict_mass(outlier).verdict().outlier.all()
    assert stream.predict_mass(X).verdict().outlier.mean() <= 0.02


def test_few_distinct_distances_make_few_outliers():
    random = np.random.default_rng(0)
    X = (random.random((400, 10)) < np.repeat([[0.1], [0.9]], 200, axis=0)).astype(float)
    assert CCM(2, random_state=0).fit(X).credal_partition_.verdict().outlier.mean() <= 0.03


def test_clusters_of_similar_width_have_equal_reaches_and_wide_clusters_larger_ones():
    random = np.random.default_rng(0)
    width = np.repeat([1.0, 1.05, 0.95], 1000)
    distances = np.full((3000, 3), 50.0)
    distances[np.arange(3000), np.repeat([0, 1, 2], 1000)] = width * np.sqrt(random.chisquare(10, size=3000))
    similar = OutlierRule.learn(distances, np.ones(3000), 0.003, Segments.empty())
    assert np.ptp(similar.reaches) == 0
    distances[:1000, 0] *= 2
    wide = OutlierRule.learn(distances, np.ones(3000), 0.003, Segments.empty())
    assert wide.reaches[0] > 1.8 * wide.reaches[1]
    # Quantiles of all samples do not reveal a wide cluster of 60 samples.
    subset = np.r_[np.arange(60), np.arange(1000, 3000)]
    small = OutlierRule.learn(distances[subset], np.ones(len(subset)), 0.003, Segments.empty())
    assert (distances[:60, 0] > small.reaches[0]).mean() < 0.1


@pytest.mark.slow
def test_samples_close_to_segments_count_in_the_share_of_outliers():
    random = np.random.default_rng(0)
    centers = random.normal(size=(20, 60)) * 0.5
    X = centers[random.integers(20, size=20_000)] + random.normal(size=(20_000, 60))
    squares = ((X[:, None, :] - centers) ** 2).sum(axis=2)
    lengths = ((centers[:, None] - centers) ** 2).sum(axis=2)
    pairs = np.array([(i, j) for i in range(20) for j in range(i)])
    segments = Segments(pairs, lengths[pairs[:, 0], pairs[:, 1]])
    shares = [
        (
            OutlierRule.learn(np.sqrt(squares), np.ones(len(X)), 0.02, training_segments).scores(squares, segments)
            > 0.5
        ).mean()
        for training_segments in (segments, Segments.empty())
    ]
    np.testing.assert_allclose(shares[0], 0.02, atol=0.005)
    assert shares[1] < 0.75 * shares[0]


@pytest.mark.parametrize("method", [CCM, ECM])
def test_the_ends_of_a_single_feature_are_outliers_and_its_middle_is_not(method):
    random = np.random.default_rng(0)
    X = np.r_[random.normal(size=500), 10 + random.normal(size=500), 5.0, -8.0, 18.0][:, None]
    verdict = method(2, random_state=0).fit(X).credal_partition_.verdict()
    assert verdict.outlier[-3:].tolist() == [False, True, True]
    assert verdict.outlier[:-3].mean() <= 0.01


def test_samples_too_far_for_the_masses_of_clusters_are_outliers():
    rule = OutlierRule(np.array([1.0, 1.0]), 8.0)
    masses = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    result = rule.apply(masses, np.array([[np.inf, np.inf], [0.01, 9.0]]), Segments.empty())
    assert result[0].tolist() == [1, 0, 0]
    assert result[1, 1] > 0.99
