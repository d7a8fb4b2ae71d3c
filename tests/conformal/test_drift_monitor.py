import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evlearn import tabular_clusterer
from evlearn.classify import EvidentialKNNClassifier
from evlearn.cluster import CCM, ECM, EVCLUS, CredalClusterer
from evlearn.conformal import DriftMonitor, drift_monitor
from evlearn.ensemble import CredalEnsemble

CENTERS = np.array([[0.0, 0.0, 0.0], [6.0, 1.0, 0.0], [1.0, 7.0, 2.0]])


def draw(n_samples, seed, shares=(0.4, 0.3, 0.3)):
    random = np.random.default_rng(seed)
    labels = random.choice(3, n_samples, p=shares)
    return CENTERS[labels] + random.normal(size=(n_samples, 3)), labels


TRAINING, REFERENCE, BATCH = draw(200, 0)[0], draw(800, 1)[0], draw(200, 2)[0]


@pytest.fixture(scope="module")
def monitor():
    """Return a monitor of a model with the clusters in the order of the centers."""
    return DriftMonitor(CCM(3, init=CENTERS).fit(TRAINING), REFERENCE)


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch):
    monkeypatch.setattr(drift_monitor, "_MIN_DRAWS", 199)
    monkeypatch.setattr(drift_monitor, "_DRAWS_BELOW", 1)


def test_a_batch_like_the_reference_has_no_alarm(monitor):
    result = monitor.test(BATCH)
    assert not result.alarm
    assert result.diagnosis == ""
    assert result.n_samples == 200
    assert monitor.n_reference == 640
    assert list(result.p_values) == list(drift_monitor.STATISTICS)
    assert str(result).startswith("no drift in 200 samples, p-value 0.")


def outlying(X):
    return np.vstack([X[:-12], np.random.default_rng(0).normal(scale=30, size=(12, 3))])


CHANGES = {
    "columns": (lambda X: X + np.array([0.6, 0, 0]), None, "x0", "x0: +0."),
    "sizes": (lambda X: draw(200, 3, (0.1, 0.45, 0.45))[0], "0", None, "share of cluster 0: "),
    "positions": (lambda X: X + 1.2 * (X[:, :1] > 3) * np.array([0, 0, 1]), "1", "x2", "x2 in cluster 1: +1."),
    "outliers": (outlying, "outliers", None, "share of outliers: 0.3 % -> 6"),
}


@pytest.mark.parametrize("statistic", CHANGES)
def test_changes_are_detected_and_described(statistic, monitor):
    change, cluster, column, text = CHANGES[statistic]
    statistic = "sizes" if cluster == "outliers" else statistic
    result = monitor.test(change(BATCH))
    assert result.alarm
    assert result.p_values[statistic] <= 0.01
    subjects = [(part.cluster, part.column) for part in result.changes]
    assert (cluster, column) in subjects
    assert text in result.diagnosis
    assert str(result).startswith("drift in 200 samples")


def test_doubt_is_a_statistic(monitor):
    doubtful = (CENTERS[0] + CENTERS[1]) / 2 + 0.3 * np.random.default_rng(0).normal(size=(20, 3))
    result = monitor.test(np.vstack([BATCH[:180], doubtful]))
    assert result.p_values["doubt"] <= 0.01


def test_the_order_of_rows_does_not_matter(monitor):
    expected, result = monitor.test(BATCH), monitor.test(BATCH[::-1])
    assert result == expected


def test_batches_are_rows_of_a_table(monitor):
    frame = monitor.test_batches({"monday": BATCH, "tuesday": BATCH + 1})
    assert frame["batch"].tolist() == ["monday", "tuesday"]
    assert frame["size"].tolist() == [200, 200]
    assert frame["alarm"].tolist() == [False, True]
    assert frame["diagnosis"][0] == ""
    assert frame["diagnosis"][1].count(";") == 2
    assert "standard deviations" in frame["diagnosis"][1]
    numbered = monitor.test_batches([BATCH, BATCH + 1])
    pd.testing.assert_frame_equal(numbered.assign(batch=frame["batch"]), frame)
    assert list(monitor.test_batches([]).columns) == list(frame.columns)


ESTIMATORS = {
    "EVCLUS": EVCLUS(3, random_state=0),
    "labels with doubt": CredalClusterer(KMeans(3, n_init=3, random_state=0)),
    "ensemble": CredalEnsemble([KMeans(3, n_init=3), ECM(3)], random_state=0),
    "pipeline": make_pipeline(StandardScaler(), ECM(3, random_state=0)),
    "k-means": KMeans(3, n_init=3, random_state=0),
    "mixture": GaussianMixture(3, random_state=0),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_all_clusterers_are_supported(name):
    monitor = DriftMonitor(ESTIMATORS[name].fit(TRAINING), REFERENCE)
    assert not monitor.test(BATCH).alarm
    assert monitor.test(BATCH + np.array([1, 0, 0])).alarm


def test_classifiers_are_supported():
    X, y = draw(200, 0)
    monitor = DriftMonitor(
        EvidentialKNNClassifier(5, optimize=False).fit(X, np.array(["a", "b", "c"])[y]), REFERENCE
    )
    changes = monitor.test(draw(200, 3, (0.05, 0.45, 0.5))[0]).changes
    assert "a" in {change.cluster for change in changes}


def table(n_samples, seed, share=0.5):
    X, _ = draw(n_samples, seed)
    random = np.random.default_rng(seed + 100)
    frame = pd.DataFrame(X, columns=["income", "age", "visits"])
    frame["city"] = random.choice(np.array(["Oslo", "Bern"], dtype=object), n_samples, p=[share, 1 - share])
    frame.loc[random.random(n_samples) < 0.1, "age"] = np.nan
    return frame


@pytest.mark.slow
def test_tables_with_text_and_missing_values_are_supported():
    monitor = DriftMonitor(tabular_clusterer(3, random_state=0).fit(table(200, 0)), table(600, 1))
    quiet = table(200, 2)
    assert not monitor.test(quiet).alarm
    assert monitor.test(table(200, 2, 0.9)).diagnosis.startswith("city=")
    gaps = quiet.assign(age=quiet["age"].where(np.arange(200) % 2 == 0))
    assert "age: missing values 10 % -> 5" in monitor.test(gaps).diagnosis


def test_the_rate_of_false_alarms_is_the_given_one(monkeypatch):
    monkeypatch.setattr(drift_monitor, "_MIN_DRAWS", 79)
    model, alarms = CCM(3, random_state=0).fit(TRAINING), 0
    for seed in range(40):
        monitor = DriftMonitor(model, draw(200, 1000 + seed)[0], false_alarm_rate=0.1)
        alarms += sum(monitor.test(draw(40, 2000 + 3 * seed + k)[0]).alarm for k in range(3))
    assert 0.03 <= alarms / 120 <= 0.19


def test_large_data_are_reduced_to_random_subsets(monkeypatch):
    monkeypatch.setattr(drift_monitor, "_MAX_REFERENCES", 300)
    monkeypatch.setattr(drift_monitor, "_MAX_BATCH", 100)
    monitor = DriftMonitor(CCM(3, random_state=0).fit(TRAINING), REFERENCE)
    assert monitor.n_reference == 240
    result = monitor.test(BATCH)
    assert result.n_samples == 200
    assert not result.alarm


def test_a_batch_of_a_single_sample_can_be_tested(monitor):
    assert monitor.test(BATCH[:1]).p_value > 0.01


def test_a_monitor_can_be_pickled(monitor):
    assert pickle.loads(pickle.dumps(monitor)).test(BATCH) == monitor.test(BATCH)


def test_unsuitable_input_is_explained(monitor):
    model = monitor.estimator
    with pytest.raises(
        ValueError, match=r"reference contains the samples that the estimator was fitted to.*pass other"
    ):
        DriftMonitor(model, TRAINING)
    with pytest.raises(ValueError, match=r"reference must contain at least 50 samples, got 49; add samples"):
        DriftMonitor(model, REFERENCE[:49])
    with pytest.raises(ValueError, match=r"false_alarm_rate must be .*, got 0.9"):
        DriftMonitor(model, REFERENCE, false_alarm_rate=0.9)
    with pytest.raises(ValueError, match=r"X must contain at least one sample, got 0"):
        monitor.test(BATCH[:0])
    with pytest.raises(ValueError, match=r"not fitted"):
        DriftMonitor(CCM(3), REFERENCE)
