"""Cluster tracking: events of known changes, confidences with their stated meaning, and stable numbers."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from estimator_cases import NEW_POINTS, POINTS
from evlearn import CredalPartition, load_model, save_model, to_onnx, to_sql
from evlearn.belief import FocalSets
from evlearn.cluster import BPEC, CCM, ECM, EVCLUS
from evlearn.partition import track_clusters

CENTERS = np.array([[0, 0], [9, 0], [0, 9], [9, 9], [20, 4]], dtype=float)


def blobs(clusters, seed, size=60):
    """Return samples of some of the clusters."""
    random = np.random.default_rng(seed)
    return np.vstack([CENTERS[k] + random.normal(size=(size, 2)) for k in clusters])


def fit(clusters, seed, **parameters):
    """Return a model of some of the clusters, and its samples."""
    X = blobs(clusters, seed)
    return CCM(len(clusters), random_state=seed, **parameters).fit(X), X


def kinds(tracking):
    return sorted(event.kind for event in tracking.events)


def hard(*sizes):
    """Return a partition with clusters of the given sizes, from pairs of a cluster and a size."""
    return CredalPartition.from_hard(np.repeat([label for label, _ in sizes], [size for _, size in sizes]))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ([(0, 40), (1, 40)], [(1, 40), (0, 40)], [("kept", (0,), (1,)), ("kept", (1,), (0,))]),
        ([(0, 80), (1, 40)], [(1, 40), (2, 40), (0, 40)], [("kept", (1,), (0,)), ("split", (0,), (1, 2))]),
        ([(0, 50), (1, 30), (2, 40)], [(0, 80), (1, 40)], [("kept", (2,), (1,)), ("merged", (0, 1), (0,))]),
    ],
    ids=["exchanged", "split", "merged"],
)
def test_events_of_known_changes(old, new, expected):
    tracking = track_clusters(hard(*old), hard(*new))
    assert sorted(event[:3] for event in tracking.events) == expected
    assert all(event.confidence > 0.95 for event in tracking.events)


def test_clusters_that_become_outliers_are_removed_and_the_reverse_is_a_creation():
    old = CredalPartition.from_hard(np.repeat([0, 1, 2], 30))
    new = CredalPartition.from_hard(np.repeat([0, -1, 1], 30), noise_label=-1)
    assert track_clusters(old, new).of_kind("removed")[0].old == (1,)
    tracking = track_clusters(new, old)
    assert tracking.of_kind("created")[0].new == (1,)
    np.testing.assert_array_equal(tracking.numbers, [0, 2, 1])


def test_the_old_samples_distinguish_creation_and_removal_from_splits_and_merging():
    old, X_old = fit([0, 1, 2, 3], 0)
    new, X = fit([0, 2, 3, 4], 1)
    tracking = track_clusters(old, new, X, X_old=X_old)
    assert kinds(tracking) == ["created", "kept", "kept", "kept", "removed"]
    (removed,), (created,) = tracking.of_kind("removed"), tracking.of_kind("created")
    assert removed.old == (old.predict(CENTERS[[1]])[0],)
    assert created.new == (new.predict(CENTERS[[4]])[0],)
    assert min(removed.confidence, created.confidence) > 0.9
    numbered = tracking.renumber(new)
    common = CENTERS[[0, 2, 3]]
    np.testing.assert_array_equal(numbered.predict(common), old.predict(common))
    assert numbered.predict(CENTERS[[4]]) == [4]


def test_numbers_of_removed_clusters_are_not_used_again():
    nights = [[0, 1, 2], [0, 2], [0, 2, 3], [0, 2, 3]]
    old, X_old = fit(nights[0], 0)
    number_of_0 = old.predict(CENTERS[[0]])[0]
    for seed, clusters in enumerate(nights[1:], start=1):
        new, X = fit(clusters, seed)
        tracking = track_clusters(old, new, X, X_old=X_old)
        old, X_old = tracking.renumber(new), X
        assert old.predict(CENTERS[[0]])[0] == number_of_0
    assert tracking.n_numbers == 4
    assert kinds(tracking) == ["kept"] * 3
    assert old.predict(CENTERS[[3]]) == [3]


@pytest.mark.parametrize("estimator", [CCM(3), ECM(3), ECM(3, metric="adaptive"), BPEC(3)], ids=str)
def test_a_renumbered_model_has_the_same_masses_also_in_a_file(estimator, tmp_path):
    model = estimator.set_params(random_state=0).fit(POINTS)
    old = model.credal_partition_.permute_clusters([2, 0, 1]).split(0, np.arange(len(POINTS)) % 2)
    tracking = track_clusters(old[np.arange(30)], model.credal_partition_[np.arange(30)])
    renumbered = tracking.renumber(model)
    before, after = model.predict_mass(NEW_POINTS), renumbered.predict_mass(NEW_POINTS)
    np.testing.assert_array_equal(tracking.numbers[before.to_hard()], after.to_hard())
    np.testing.assert_allclose(tracking.renumber(before).masses, after.masses, atol=1e-12)
    np.testing.assert_allclose(after.outliers(), before.outliers())
    save_model(renumbered, tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").predict_mass(NEW_POINTS) == after
    with pytest.raises(AttributeError, match="the model was renumbered"):
        _ = renumbered.labels_
    assert model.predict_mass(NEW_POINTS) == before


def test_partial_fit_continues_with_the_numbers():
    old, X_old = fit([0, 1, 2], 0)
    new, X = fit([0, 2, 3], 1)
    model = track_clusters(old, new, X, X_old=X_old).renumber(new)
    labels, batch = model.predict(X), blobs([0, 2, 3], 2)
    continued = model.partial_fit(batch)
    np.testing.assert_array_equal(continued.predict(X), labels)
    np.testing.assert_allclose(
        continued.predict_proba(X)[:, np.unique(labels)],
        new.partial_fit(batch).predict_proba(X)[:, np.argsort(track_clusters(old, new, X, X_old=X_old).numbers)],
        atol=1e-6,
    )


def test_pipelines_are_renumbered():
    X = blobs([0, 1, 2], 0)
    old = make_pipeline(StandardScaler(), CCM(3, random_state=0)).fit(X)
    new = make_pipeline(StandardScaler(), CCM(3, random_state=5)).fit(X[::-1])
    renumbered = track_clusters(old, new, X).renumber(new)
    np.testing.assert_array_equal(renumbered.predict(X), old.predict(X))


def test_names_are_kept():
    old = hard((0, 40), (1, 40)).rename(cluster_names=["billing", "delivery"])
    new = hard((1, 40), (0, 30), (2, 10))
    tracking = track_clusters(old, new)
    assert tracking.renumber(new).cluster_names == ("billing", "delivery", "2")
    assert "delivery into delivery, 2" in str(tracking)


def test_the_order_of_the_rows_does_not_matter():
    random = np.random.default_rng(0)
    labels = random.integers(4, size=(2, 200))
    order = random.permutation(200)
    tracking = track_clusters(*(CredalPartition.from_hard(row) for row in labels))
    shuffled = track_clusters(*(CredalPartition.from_hard(row[order]) for row in labels))
    assert tracking.events == shuffled.events


def test_frame_and_text():
    tracking = track_clusters(hard((0, 80), (1, 40)), hard((1, 40), (2, 40), (0, 40)))
    frame = tracking.to_frame()
    assert frame["event"].tolist() == ["kept", "split"]
    assert frame["number"].tolist() == [(1,), (0, 2)]
    assert "split       1   0 into 0, 2" in repr(tracking)


@pytest.mark.slow
def test_confidence_is_the_probability_of_the_event_in_the_population():
    """For populations near the limit of an event, the share of agreement equals the mean confidence."""
    random = np.random.default_rng(0)
    confidences, agreements = [], []
    for _ in range(150):
        share, size = random.uniform(0.3, 0.7), random.integers(40, 200)
        # Part of cluster 1 is in new cluster 0, the rest are outliers; it is merged if the part is at least 0.5.
        table = np.array([[0.6, 0, 0], [0.3 * share, 0, 0.3 * (1 - share)], [0, 0.1, 0]])
        expected = "merged" if share >= 0.5 else "removed"
        counts = random.multinomial(size, table.ravel() / table.sum()).reshape(3, 3)
        old, new = (np.repeat(axis.ravel(), counts.ravel()) for axis in np.indices((3, 3)))
        partition = CredalPartition.from_hard(np.append(old, [0, 1, 2]))
        outcome = CredalPartition.from_hard(np.append(np.where(new == 2, -1, new), [0, 0, 1]), noise_label=-1)
        (event,) = [
            event for event in track_clusters(partition, outcome).events if 1 in event.old and event.kind != "kept"
        ]
        confidences.append(event.confidence)
        agreements.append(event.kind == expected)
    assert np.mean(agreements) == pytest.approx(np.mean(confidences), abs=0.06)


@pytest.mark.parametrize(
    ("old", "new", "options", "message"),
    [
        (hard((0, 5), (1, 5)), hard((0, 5), (1, 6)), {}, "have 10 and 11 samples"),
        (hard((0, 5)), hard((0, 5)), {"X_old": POINTS}, "X_old needs X and 2 fitted estimators"),
    ],
)
def test_unsuitable_arguments_are_rejected(old, new, options, message):
    with pytest.raises(ValueError, match=message):
        track_clusters(old, new, **options)


def test_unsuitable_results_are_rejected():
    partition = hard((0, 40), (1, 40))
    tracking = track_clusters(partition, partition)
    with pytest.raises(TypeError, match="got EVCLUS"):
        tracking.renumber(EVCLUS(2))
    with pytest.raises(ValueError, match="result has 3 clusters, but the new model has 2"):
        tracking.renumber(hard((0, 2), (1, 2), (2, 2)))
    with pytest.raises(ValueError, match="kind must be one of"):
        tracking.of_kind("died")


def test_merging_adds_masses():
    masses = [[0.1, 0.2, 0.1, 0, 0.3, 0, 0, 0.3]]
    partition = CredalPartition(masses, FocalSets.full(["a", "b", "c"]))
    merged = partition.merge([(2, 0)])
    assert merged.cluster_names == ("a", "b")
    sets = partition.focal_sets.membership
    coarse = np.stack([sets[:, 0] | sets[:, 2], sets[:, 1]], axis=1)
    expected = [
        sum(m for m, s in zip(masses[0], coarse, strict=True) if tuple(s) == tuple(t))
        for t in merged.focal_sets.membership
    ]
    np.testing.assert_allclose(merged.masses[0], expected)
    with pytest.raises(ValueError, match="groups must contain different clusters"):
        partition.merge([(0, 1), (1, 2)])
    with pytest.raises(ValueError, match="from 0 to 2"):
        partition.merge([(0, 7)])


def test_a_split_is_undone_by_merging():
    random = np.random.default_rng(0)
    partition = CredalPartition(random.dirichlet(np.ones(8), size=20), FocalSets.full(3))
    parts = random.integers(-1, 3, size=20)
    finer = partition.split(1, parts)
    assert finer.n_clusters == 5
    coarser = finer.merge([(1, 3, 4)])
    assert coarser.focal_sets == partition.focal_sets
    np.testing.assert_allclose(coarser.masses, partition.masses)
    renamed = partition.rename(cluster_names=["a", "b", "c"]).split(1, parts)
    assert renamed.cluster_names == ("a", "b", "c", "b 1", "b 2")
    with pytest.raises(ValueError, match="parts must be 20 integers"):
        partition.split(1, parts[:3])
    with pytest.raises(ValueError, match="cluster must be from 0 to 2"):
        partition.split(3, parts)


def test_queries_and_graphs_of_a_renumbered_model_have_its_numbers():
    duckdb, runtime = pytest.importorskip("duckdb"), pytest.importorskip("onnxruntime")
    old, X_old = fit([0, 1, 2, 3], 0)
    new, X = fit([0, 2, 3, 4], 1)
    model = track_clusters(old, new, X, X_old=X_old).renumber(new)
    expected = model.predict(X)
    with duckdb.connect() as database:
        rows = pd.DataFrame(X, columns=["a", "b"]).assign(id=np.arange(len(X)))
        database.register("given", rows)
        query = to_sql(model, "given", key="id", features=["a", "b"])
        result = database.sql(f"SELECT * FROM ({query}) AS result ORDER BY id").df()
    np.testing.assert_array_equal(result["cluster_number"], expected)
    session = runtime.InferenceSession(to_onnx(model), providers=["CPUExecutionProvider"])
    outputs = session.run(None, {session.get_inputs()[0].name: X})
    (labels,) = [values for values in outputs if values.shape == expected.shape and values.dtype == np.int64]
    np.testing.assert_array_equal(labels, expected)
