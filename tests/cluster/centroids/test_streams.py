"""Streams: first batches that are not representative, batches of any size, and forgetting."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

import evlearn
from evlearn.cluster import CCM, ECM
from evlearn.cluster.centroids import online
from evlearn.cluster.centroids.online import WarmupBuffer

METHODS = {"ECM": (ECM, {}), "adaptive": (ECM, {"metric": "adaptive"}), "CCM": (CCM, {})}
methods = pytest.mark.parametrize("method", METHODS)
CENTERS = 5 * np.array([[0.0, 0, 0], [2, 0, 0], [0, 2, 0], [0, 0, 2]])


def make(method, **settings):
    kind, method_settings = METHODS[method]
    return kind(4, **({"random_state": 0} | method_settings | settings))


def make_samples(n_samples, seed=0, shift=0.0):
    random = np.random.default_rng(seed)
    y = random.integers(4, size=n_samples)
    return CENTERS[y] + shift + random.standard_normal((n_samples, 3)), y


def learn(model, X, size=500):
    for start in range(0, len(X), size):
        model.partial_fit(X[start : start + size])
    return model


# First batches


@methods
@pytest.mark.parametrize("n_first", [50, 3000])
@pytest.mark.slow
def test_a_first_batch_of_one_cluster_is_corrected(method, n_first):
    X, y = make_samples(9000)
    first_batch = CENTERS[0] + np.random.default_rng(1).standard_normal((n_first, 3))
    model = make(method).partial_fit(first_batch)
    assert adjusted_rand_score(y, model.predict(X)) < 0.7
    partition = learn(model, X).predict_mass(X)
    assert partition.outliers().mean() < 0.02
    assert adjusted_rand_score(y, partition.to_hard()) > 0.97
    assert model.delta_ == pytest.approx(make(method).fit(X).delta_, rel=0.3)


@pytest.mark.slow
def test_clusters_of_sorted_samples_are_found():
    X, y = make_samples(8000)
    model = learn(make("ECM"), X[np.argsort(y, kind="stable")])
    assert adjusted_rand_score(y, model.predict(X)) > 0.95


def test_outliers_at_the_beginning_do_not_determine_the_scale():
    model = make("ECM").partial_fit(50 * np.random.default_rng(1).standard_normal((60, 3)))
    assert model.delta_ > 100
    assert learn(model, make_samples(9000)[0]).delta_ < 20


@methods
def test_a_representative_first_batch_is_not_corrected(method, monkeypatch):
    X, _ = make_samples(6000)
    checked_model = learn(make(method), X)
    monkeypatch.setattr(WarmupBuffer, "of", lambda *arguments: None)
    unchecked_model = learn(make(method), X)
    np.testing.assert_array_equal(checked_model.cluster_centers_, unchecked_model.cluster_centers_)
    assert checked_model.delta_ == unchecked_model.delta_


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.sampled_from(list(METHODS)), st.integers(0, 3))
@settings(max_examples=10)
@pytest.mark.slow
def test_batches_of_any_size_are_learned(sizes, method, seed):
    X, _ = make_samples(sum(sizes), seed)
    model, start = make(method), 0
    for size in sizes:
        model.partial_fit(X[start : start + size])
        start += size
    if not start:
        with pytest.raises(NotFittedError):
            model.predict(CENTERS)
        return
    assert model.n_samples_seen_ == start
    assert np.isfinite(model.cluster_centers_).all()
    np.testing.assert_allclose(model.predict_mass(X).masses.sum(axis=1), 1)


@pytest.mark.slow
def test_samples_one_by_one_lead_to_the_clusters():
    X, y = make_samples(400)
    assert adjusted_rand_score(y, learn(make("ECM"), X, size=1).predict(X)) > 0.95


@pytest.mark.parametrize("empty", [np.empty((0, 3)), [], pd.DataFrame({"a": [], "b": [], "c": []})])
def test_an_empty_batch_changes_nothing(empty):
    X, _ = make_samples(300)
    model = make("ECM").partial_fit(empty)
    assert not hasattr(model, "n_samples_seen_")
    before = dict(vars(model.partial_fit(X)))
    assert vars(model.partial_fit(empty)) == before


def test_initial_prototypes_keep_their_order():
    first_batch = CENTERS[0] + np.random.default_rng(1).standard_normal((100, 3))
    model = make("ECM", init=CENTERS + 0.5).partial_fit(first_batch)
    learn(model, make_samples(5000)[0])
    assert np.abs(model.cluster_centers_ - CENTERS).max() < 0.5  # in their order
    assert model.delta_ > 8


# Warm-up buffer


def test_the_sample_is_uniform_and_dropped_after_the_warm_up(monkeypatch):
    monkeypatch.setattr(online, "_SIZE", 100)
    monkeypatch.setattr(online, "_SIZE_EACH", 1)
    X = np.column_stack([np.arange(9999.0), np.random.default_rng(0).standard_normal((9999, 2))])
    model = learn(make("ECM", delta=1.0, init=X[:4]), X, size=333)
    times = model._warmup_buffer.rows[:, 0]
    assert len(times) == len(set(times)) == 100
    assert abs(times.mean() - 5000) < 4 * 10_000 / np.sqrt(12 * 100)
    assert model.partial_fit(X[:1])._warmup_buffer is None
    assert model.partial_fit(X[:1])._warmup_buffer is None


def test_samples_keep_their_weights():
    X, _ = make_samples(3000)
    weights = np.where(X[:, 0] > 5, 2.0, 1.0)
    model = make("ECM")
    for start in range(0, 3000, 300):
        model.partial_fit(X[start : start + 300], sample_weight=weights[start : start + 300])
    assert len(model._warmup_buffer.rows) == 1000
    np.testing.assert_array_equal(
        model._warmup_buffer.weights, np.where(model._warmup_buffer.rows[:, 0] > 5, 2.0, 1.0)
    )


@methods
@pytest.mark.parametrize("half_life", [None, 700.0])
@pytest.mark.slow
def test_a_stream_continues_from_a_file_to_the_bit(method, half_life, tmp_path):
    X, _ = make_samples(4000)
    model = make(method, half_life=half_life).partial_fit(CENTERS[0] + 0.1 * X[:50])
    other = make(method, half_life=half_life).partial_fit(CENTERS[0] + 0.1 * X[:50])
    for start in range(0, 4000, 400):
        model.partial_fit(X[start : start + 400])
        evlearn.save_model(other, tmp_path / "model.json")
        other = evlearn.load_model(tmp_path / "model.json").partial_fit(X[start : start + 400])
        np.testing.assert_array_equal(model.cluster_centers_, other.cluster_centers_)
        assert (model.delta_, model._seen_weight) == (other.delta_, other._seen_weight)
    assert model.delta_ > 8  # the parameters were selected again in between


def test_a_file_without_a_buffer_continues(tmp_path):
    X, _ = make_samples(1000)
    path = tmp_path / "model.json"
    evlearn.save_model(make("ECM").partial_fit(X[:500]), path)
    document = json.loads(path.read_text())
    (step,) = document["steps"]
    assert step["learned"].pop("_warmup_buffer") is not None
    assert step["parameters"].pop("half_life") is None
    path.write_text(json.dumps(document))
    model = evlearn.load_model(path)
    assert model.half_life is None
    assert model.partial_fit(X[500:]).n_samples_seen_ == 1000
    assert model.__dict__.get("_warmup_buffer") is None


# Forgetting


@methods
def test_with_an_infinite_half_life_all_samples_have_equal_weight(method, monkeypatch):
    X, _ = make_samples(3000)
    alike = learn(make(method, half_life=np.inf), X)
    monkeypatch.setattr(online, "_FORGETTING_EXPONENT", 1.0)
    np.testing.assert_allclose(alike.cluster_centers_, learn(make(method), X).cluster_centers_, rtol=1e-12)
    assert alike._seen_weight == 3000


@given(st.floats(1, 1e6), st.lists(st.integers(1, 50), min_size=1, max_size=4))
@settings(max_examples=15)
@pytest.mark.slow
def test_forgetting_does_not_depend_on_the_size_of_batches(half_life, sizes):
    X, _ = make_samples(4 + sum(sizes))
    parts = make("ECM", half_life=half_life, init=CENTERS, delta=5.0).partial_fit(X[:4])
    start = 4
    for size in sizes:
        parts.partial_fit(X[start : start + size])
        start += size
    whole = make("ECM", half_life=half_life, init=CENTERS, delta=5.0).partial_fit(X)
    assert parts._seen_weight == pytest.approx(whole._seen_weight)
    fit = make("ECM", half_life=half_life, init=CENTERS, delta=5.0, max_iter=1000).fit(X)
    assert fit._seen_weight == pytest.approx(whole._seen_weight)


@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.parametrize("n_before", [5000, 40_000])
@pytest.mark.slow_cells("40000-False")
def test_after_a_half_life_prototypes_are_halfway_to_moved_clusters(n_before, fitted):
    before, after = make_samples(n_before)[0], make_samples(1000, 1, shift=0.5)[0]
    model = make("ECM", half_life=1000)
    model = model.fit(before) if fitted else learn(model, before)
    start = model.cluster_centers_
    shifts = learn(model, after, 100).cluster_centers_ - start
    assert 0.2 < shifts.mean() < 0.3


@pytest.mark.slow
def test_a_half_life_does_not_depend_on_units_of_weights():
    X, _ = make_samples(2000)
    weights = np.random.default_rng(0).uniform(1, 2, 2000)
    models = [make("ECM", half_life=500), make("ECM", half_life=500)]
    for start in range(0, 2000, 200):
        for model, unit in zip(models, (1, 1e-9), strict=True):
            model.partial_fit(X[start : start + 200], sample_weight=unit * weights[start : start + 200])
    np.testing.assert_allclose(models[0].cluster_centers_, models[1].cluster_centers_, rtol=1e-9)


# Drift


class WeightedKMeans:
    """Exponentially weighted k-means, the standard of comparison for streams that drift."""

    def __init__(self, n_clusters, half_life):
        self.n_clusters, self.half_life, self.counts = n_clusters, half_life, None

    def partial_fit(self, X):
        if self.counts is None:
            self.centers = KMeans(self.n_clusters, n_init=10, random_state=0).fit(X).cluster_centers_
            self.counts, self.sums = np.zeros(self.n_clusters), np.zeros_like(self.centers)
        hard = np.eye(self.n_clusters)[self.predict(X)]
        retained = 2 ** (-len(X) / self.half_life)
        self.counts = self.counts * retained + hard.sum(axis=0)
        self.sums = self.sums * retained + hard.T @ X
        self.centers = self.sums / np.maximum(self.counts, 1e-12)[:, None]
        return self

    def predict(self, X):
        return ((X[:, None] - self.centers) ** 2).sum(axis=2).argmin(axis=1)


DRIFTING = np.array([[0.0, 0, 0], [8, 0, 0], [0, 8, 3]])


def drift(n_samples, speed, seed):
    """Return 3 moving clusters in the order of time, and new samples at their final positions."""
    random = np.random.default_rng(seed)
    y = random.integers(3, size=n_samples + 1000)
    X = DRIFTING[y] + random.normal(size=(len(y), 3))
    X[:, 0] += np.minimum(np.arange(len(y)), n_samples) * speed
    return X[:n_samples], X[n_samples:], y[n_samples:]


def check_drift(kind, speed, half_life, seed, n_samples=8000):
    X, newest, y = drift(n_samples, speed, seed)
    model = learn(kind(3, random_state=0, half_life=half_life), X, 100)
    return adjusted_rand_score(y, model.predict(newest))


@pytest.mark.parametrize("kind", [ECM, CCM])
@pytest.mark.parametrize(("speed", "half_life"), [(0.001, 200), (0.0033, 100), (0.0033, 200)])
@pytest.mark.slow
def test_clusters_that_drift_are_not_lost(kind, speed, half_life):
    assert check_drift(kind, speed, half_life, 0, 7000) > 0.97


@pytest.mark.slow
@pytest.mark.parametrize("kind", [ECM, CCM])
@pytest.mark.parametrize("half_life", [100, 200])
@pytest.mark.parametrize("speed", [0.001, 0.002, 0.0033, 0.01])
def test_drifting_clusters_are_followed_as_by_weighted_kmeans(kind, speed, half_life):
    scores = [check_drift(kind, speed, half_life, seed) for seed in range(5)]
    assert np.mean(scores) > 0.97
    assert min(scores) > (0.9 if speed * half_life > 1 else 0.97)
    X, newest, y = drift(8000, speed, 0)
    reference = learn(WeightedKMeans(3, half_life), X, 100)
    assert scores[0] > adjusted_rand_score(y, reference.predict(newest)) - 0.01


@pytest.mark.parametrize("kind", [ECM, CCM])
@pytest.mark.slow
def test_clusters_that_jump_are_found_again(kind):
    X, y = make_samples(6000)
    X[3000:] += [30, 0, 0]
    model = learn(kind(4, random_state=0, half_life=200), X, 100)
    assert adjusted_rand_score(y[-1000:], model.predict(X[-1000:])) > 0.97
    assert model.predict_mass(X[-1000:]).outliers().mean() < 0.02


def test_a_stream_that_forgets_is_always_checked(monkeypatch):
    monkeypatch.setattr(online, "_WARMUP_FACTOR", 1)  # without forgetting, the warm-up would end after 1000 rows
    X, y = make_samples(4000)
    late = np.concatenate([X[:3000][y[:3000] != 3], X[3000:]])
    model = learn(make("ECM", half_life=200), late, 100)
    assert adjusted_rand_score(y[3000:], model.predict(X[3000:])) > 0.97


@pytest.mark.slow
def test_clusters_keep_their_numbers_after_a_refit(monkeypatch):
    X, _ = make_samples(4000)
    model = learn(make("ECM", half_life=300), X[:2000], 100)
    before = model.cluster_centers_
    monkeypatch.setattr(WarmupBuffer, "needs_refit", lambda *arguments: True)
    model.random_state = 5
    after = learn(model, X[2000:], 100).cluster_centers_
    assert np.abs(after - before).max() < 1


@pytest.mark.slow
def test_the_sample_of_a_stream_that_forgets_contains_the_newest_rows():
    X = np.column_stack([np.arange(20_000.0), np.random.default_rng(0).standard_normal((20_000, 2))])
    for half_life, size in ((100, 80), (1000, 721), (4000, 1000)):
        model = learn(make("ECM", half_life=half_life, delta=1.0, init=X[:4]), X, 333)
        ages = 20_000 - model._warmup_buffer.rows[:, 0]
        assert len(ages) == size
        mean = max(half_life / 2 / np.log(2), size)
        assert abs(ages.mean() - mean) < 5 * mean / np.sqrt(size)


@pytest.mark.parametrize("lives", [(None, 100), (100, None), (4000, 100), (100, 4000)])
@pytest.mark.slow
def test_a_half_life_can_change_during_a_stream(lives):
    X, y = make_samples(8000)
    model = learn(make("ECM", half_life=lives[0]), X[:4000], 200).set_params(half_life=lives[1])
    learn(model, X[4000:], 200)
    assert set(map(tuple, model._warmup_buffer.rows)) <= set(map(tuple, X))
    assert len(model._warmup_buffer.rows) == len(model._warmup_buffer.weights) == (80 if lives[1] == 100 else 1000)
    assert adjusted_rand_score(y, model.predict(X)) > 0.97


# Outliers


def with_outliers(n_samples, seed):
    """Return samples of 4 clusters, of which 3 % are outliers far away, their clusters, and the outliers."""
    random = np.random.default_rng(seed)
    y = random.integers(4, size=n_samples)
    X = 8 * np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]])[y] + random.standard_normal((n_samples, 2))
    outliers = random.random(n_samples) < 0.03
    X[outliers] = 25 * random.standard_normal((outliers.sum(), 2))
    return X, y, outliers


@pytest.mark.parametrize("kind", [ECM, CCM])
@pytest.mark.parametrize(("size", "half_life"), [(10, 100), (100, None), (1000, 500)])
@pytest.mark.slow_cells("10-100-CCM", "10-100-ECM")
def test_outliers_do_not_mislead_the_check(kind, size, half_life, monkeypatch):
    X, y, outliers = with_outliers(3000, 1)

    def score():
        model = learn(kind(4, random_state=0, half_life=half_life), X, size)
        return adjusted_rand_score(y[~outliers], model.predict(X[~outliers]))

    checked_score = score()
    monkeypatch.setattr(WarmupBuffer, "of", lambda *arguments: None)
    assert checked_score > max(0.97, score() - 0.02)


def test_isolated_rows_are_mostly_outliers():
    X, _, outliers = with_outliers(1000, 0)
    is_remote = np.abs(X - 4).max(axis=1) > 16
    assert is_remote[outliers].mean() > 0.5
    weights = np.where(np.arange(1000) % 10, 1.0, 0.0)
    ordinary = WarmupBuffer(X, weights).without_isolated_rows(4)
    assert len(ordinary.rows) == 855  # 95 % of the rows with a weight
    assert (ordinary.weights == 1).all()
    is_ordinary = (X[:, None] == ordinary.rows).all(axis=2).any(axis=1)
    assert not (is_ordinary & is_remote).any()
    assert len(WarmupBuffer(X[:40], np.ones(40)).without_isolated_rows(39).rows) == 39
    assert len(WarmupBuffer(X[:40], np.ones(40)).without_isolated_rows(40).rows) == 40


@pytest.mark.slow
def test_a_refit_that_is_worse_is_rejected(monkeypatch):
    X, _ = make_samples(4000)
    model = learn(make("ECM", half_life=300), X[:2000], 100)
    monkeypatch.setattr(WarmupBuffer, "needs_refit", lambda *arguments: True)
    model.set_params(init="random", max_iter=1)
    for seed in range(5):
        model.set_params(random_state=seed)
        learn(model, X[2000 + 400 * seed : 2400 + 400 * seed], 100)
        assert np.sort(squared(model.cluster_centers_).min(axis=0))[-1] < 1


def squared(centers):
    return ((centers[:, None] - CENTERS) ** 2).sum(axis=2)


@pytest.mark.parametrize("half_life", [0, -1, np.nan, "long", True])
def test_invalid_half_lives_are_refused(half_life):
    for method in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match="half_life must be"):
            getattr(make("ECM", half_life=half_life), method)(make_samples(100)[0])
