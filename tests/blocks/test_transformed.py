"""Transformed rows, and a scaler fitted in blocks."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from hypothesis import given
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import evlearn
from evlearn import open_dataset
from evlearn.cluster import ECM

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(40_000, 3)) * [1, 1000, 1e-4] + 5 * RANDOM.integers(2, size=40_000)[:, None]
FRAME = pd.DataFrame(X, columns=["x", "y", "z"])


@given(st.integers(0, 100), st.floats(-1e6, 1e6), st.floats(1e-3, 1e3), st.integers(1, 7))
def test_a_scaler_in_blocks_equals_that_of_scikit_learn(seed, center, spread, n_blocks):
    data = center + spread * np.random.default_rng(seed).normal(size=(200, 2))
    data[:, 1] = center
    with open_dataset(iter(np.array_split(data, n_blocks)), block_rows=30) as rows:
        scaler = rows.fit_scaler()
    expected = StandardScaler().fit(data)
    np.testing.assert_allclose(scaler.mean_, expected.mean_, rtol=1e-12, atol=1e-12 * spread)
    np.testing.assert_allclose(scaler.scale_, expected.scale_, rtol=1e-7)
    assert scaler.scale_[1] == 1
    assert scaler.n_samples_seen_ == expected.n_samples_seen_ == 200


@pytest.mark.slow
def test_a_fit_through_a_transformer_equals_a_fit_to_transformed_samples(tmp_path):
    FRAME.to_parquet(tmp_path / "table.parquet")
    with open_dataset(tmp_path / "table.parquet") as rows:
        scaler = rows.fit_scaler()
        model = ECM(2, random_state=0).fit(rows.transform(scaler))
        masses = model.predict_mass(rows.transform(scaler), out=tmp_path / "masses.npy")
        reduced = rows.transform(make_pipeline(StandardScaler().fit(X), PCA(2).fit(scaler.transform(FRAME))))
        assert (len(reduced), reduced.n_features) == (*X.shape[:1], 2)
    expected = ECM(2, random_state=0).fit(scaler.transform(FRAME))
    np.testing.assert_allclose(model.cluster_centers_, expected.cluster_centers_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(masses.masses, expected.masses_, rtol=0, atol=1e-7)
    pipeline = make_pipeline(scaler, model)
    np.testing.assert_array_equal(pipeline.predict(FRAME), expected.labels_)
    evlearn.save_model(pipeline, tmp_path / "model.json")
    loaded = evlearn.load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(FRAME), expected.labels_)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.xdist_group("a cluster of processes")
def test_workers_transform_their_rows(tmp_path):
    FRAME.to_parquet(tmp_path / "table.parquet", row_group_size=5000)
    expected = StandardScaler().fit(FRAME)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        for data in (tmp_path / "table.parquet", da.from_array(X, chunks=(5000, 3))):
            with open_dataset(data) as rows:
                scaler = rows.fit_scaler()
                model = ECM(2, random_state=0).fit(rows.transform(scaler))
                labels = model.predict(rows.transform(scaler))
            np.testing.assert_allclose(scaler.scale_, expected.scale_, rtol=1e-9)
            np.testing.assert_array_equal(labels, ECM(2, random_state=0).fit(expected.transform(FRAME)).labels_)
