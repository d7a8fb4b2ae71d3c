"""
Out-of-core clustering with Parquet files and Dask
==================================================

ECM reads its data in blocks, so the data need not fit into memory: they may be in files, or in a Dask collection
that is distributed over several machines. This example shows all steps with small files: write Parquet files,
start a cluster of 2 processes, fit, predict to files, and plot the result. The last section lists the changes for
a real cluster.

Worker processes import the main program. Code that should run only once must therefore be protected by ``if
__name__ == "__main__"``, as always with multiprocessing in Python. This is not necessary in a notebook.
"""

import tempfile
from pathlib import Path

import dask.dataframe as dd
import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

from evlearn import CredalPartition
from evlearn.cluster import ECM
from evlearn.plotting import CredalPartitionDisplay

# %%
# The data consist of 4 Parquet files with 20,000 rows each. There are 4 clusters and 2 % outliers. Only one file
# is in memory at a time.


def make_frame(seed, n_rows=20_000):
    random = np.random.default_rng(seed)
    centers = np.array([[0, 0], [5, 0], [1, 5], [7, 6]])
    X = centers[random.integers(4, size=n_rows)] + random.normal(size=(n_rows, 2))
    is_outlier = random.random(n_rows) < 0.02
    X[is_outlier] = random.uniform([-12, -10], [18, 16], size=(is_outlier.sum(), 2))
    return pd.DataFrame(X.astype(np.float32), columns=["length", "width"])


if __name__ == "__main__":
    temporary = tempfile.TemporaryDirectory()  # removed at the end
    folder = Path(temporary.name)
    (folder / "data").mkdir()
    for number in range(4):
        make_frame(number).to_parquet(
            folder / "data" / f"part-{number}.parquet", index=False
        )
    files = list((folder / "data").iterdir())
    print(
        f"{len(files)} files, "
        f"{sum(file.stat().st_size for file in files) / 2**20:.0f} MB"
    )

# %%
# The simplest solution requires no cluster: pass the folder instead of an array. Its rows are copied once to a
# temporary file, which can be read fast and repeatedly, and several threads share the work. By default, a model of
# such data does not store the masses.

if __name__ == "__main__":
    model = ECM(n_clusters=4, delta=3.5, tol=1e-4, n_jobs=2, random_state=0).fit(
        folder / "data"
    )
    print(f"{model.n_iter_} iterations, features {list(model.feature_names_in_)}")
    print(model.cluster_centers_.round(2))

# %%
# Next, we start a cluster of 2 processes on this machine. ``joblib.parallel_config("dask")`` sends the blocks to
# its workers. Only the name of the temporary file, the prototypes and some sums are transferred. The result is
# identical.

if __name__ == "__main__":
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    )
    client = Client(cluster)
    with joblib.parallel_config("dask"):
        distributed = ECM(n_clusters=4, delta=3.5, tol=1e-4, random_state=0).fit(
            folder / "data"
        )
    print(
        "identical prototypes:",
        np.array_equal(distributed.cluster_centers_, model.cluster_centers_),
    )

# %%
# A Dask DataFrame is suitable for data that are distributed over the cluster: each worker reads and stores its own
# part, and no file is shared. The code is the same otherwise. The blocks are the partitions of the frame, so sums
# are rounded in a different order.

if __name__ == "__main__":
    frame = dd.read_parquet(folder / "data")
    on_cluster = ECM(n_clusters=4, delta=3.5, tol=1e-4, random_state=0).fit(frame)
    difference = np.abs(on_cluster.cluster_centers_ - model.cluster_centers_).max()
    print(
        f"{frame.npartitions} partitions, prototypes differ by at most {difference:.0e}"
    )
    print("labels, not computed yet:", on_cluster.labels_)
    print("samples by cluster:", np.bincount(on_cluster.labels_.compute()))

# %%
# The workers can write the masses to Parquet files, one file per partition. The columns are the focal sets.

if __name__ == "__main__":
    masses_folder = on_cluster.predict_mass(frame, out=folder / "masses.parquet")
    masses = dd.read_parquet(masses_folder)
    print(
        f"{len(list(masses_folder.iterdir()))} files with the columns", *masses.columns
    )
    outliers = (masses.idxmax(axis=1) == "∅").sum().compute()
    print(f"{outliers:,} outliers among {len(masses):,} samples")

# %%
# One partition is sufficient for a figure. The third file of masses corresponds to the third file of data.

if __name__ == "__main__":
    X = frame.partitions[2].compute()
    partition = CredalPartition(
        masses.partitions[2].compute().to_numpy(), on_cluster.focal_sets_
    )
    figure, axes = plt.subplots(figsize=(8.5, 5.6), layout="constrained")
    CredalPartitionDisplay.from_result(
        partition, X, ax=axes, max_points=4000, hulls=False
    )
    axes.set(aspect="equal")
    plt.show()
    client.close()
    cluster.close()
    temporary.cleanup()

# %%
# On a real cluster
# -----------------
#
# - Replace ``LocalCluster`` by ``Client("tcp://scheduler:8786")``, or by a cluster object of dask-jobqueue,
#   dask-kubernetes or a cloud provider. The remaining code is the same.
# - Install the same version of evidential-learn on all workers.
# - For Dask collections, store the data where all workers can read them, such as a shared file system or an object
#   store: ``dd.read_parquet("s3://...")``. A fit keeps the data in the memory of the workers, in single or double
#   precision, and needs some additional memory for the current tasks.
# - For a folder with ``joblib.parallel_config("dask")``, the temporary file must be accessible to all workers.
#   Open the data with ``open_dataset(path, folder="/shared/scratch")`` and fit the result; see
#   :doc:`/guide/large_data`.
# - Write masses to a folder that is accessible to all workers.
# - For fits of several hours, ``checkpoint="fit.npz"`` saves the state: after a crash, the same call resumes the
#   fit.
