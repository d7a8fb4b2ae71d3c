"""Gaussian clusters with outliers in Parquet files, generated once per folder."""

import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from evlearn.utils.chunks import row_blocks

FILE_ROWS = 1_000_000
OUTLIERS = 0.02


def sample(seed, n, n_features, n_clusters=4):
    """Return samples of Gaussian clusters in single precision and their clusters; 2 % are outliers (-1)."""
    random = np.random.default_rng(seed)
    centers = np.random.default_rng(12345).normal(scale=3, size=(n_clusters, n_features))
    y = random.integers(n_clusters, size=n)
    X = (centers[y] + random.normal(size=(n, n_features))).astype(np.float32)
    is_outlier = random.random(n) < OUTLIERS
    X[is_outlier] *= 8
    y[is_outlier] = -1
    return X, y


def generate(folder, n_rows, n_features, n_clusters=4):
    """Return a folder of Parquet files with a million rows each; block i is ``sample(i, ...)``."""
    data = folder / f"gauss_{n_rows}x{n_features}"
    if data.exists():
        return data
    partial = folder / f".gauss_{n_rows}x{n_features}"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for number, block in enumerate(row_blocks(n_rows, FILE_ROWS)):
        X, _ = sample(number, block.stop - block.start, n_features, n_clusters)
        table = pa.table({f"x{k}": X[:, k] for k in range(n_features)})
        pq.write_table(table, partial / f"part-{number:05d}.parquet", row_group_size=FILE_ROWS // 4)
    partial.rename(data)
    return data
