"""
From Parquet files to a cluster, and back
=========================================

ECM reads its data block after block, so they need not fit into memory: files will do, or a Dask collection whose
parts are on several machines. This example goes all the way with files that are small enough to be made here:
write Parquet files, start a cluster of two processes, fit, predict to files, and look at the result. At the end
it says what changes on a real cluster.

Worker processes begin by reading the program that started them. So everything that should happen once stands
behind ``if __name__ == "__main__"``, as always with processes in Python. In a notebook that is not needed.
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
# The data: four Parquet files of 20,000 rows each. Four clusters, and two strays in a hundred rows. No more than
# one file is in memory at a time.


def some_rows(seed, n_rows=20_000):
    random = np.random.default_rng(seed)
    centres = np.array([[0, 0], [5, 0], [1, 5], [7, 6]])
    X = centres[random.integers(4, size=n_rows)] + random.normal(size=(n_rows, 2))
    strays = random.random(n_rows) < 0.02
    X[strays] = random.uniform([-12, -10], [18, 16], size=(strays.sum(), 2))
    return pd.DataFrame(X.astype(np.float32), columns=["length", "width"])


if __name__ == "__main__":
    keeper = tempfile.TemporaryDirectory()  # removed at the end
    folder = Path(keeper.name)
    (folder / "data").mkdir()
    for number in range(4):
        some_rows(number).to_parquet(
            folder / "data" / f"part-{number}.parquet", index=False
        )
    files = list((folder / "data").iterdir())
    print(
        f"{len(files)} files, "
        f"{sum(file.stat().st_size for file in files) / 2**20:.0f} MB"
    )

# %%
# The simplest way needs no cluster at all: the folder takes the place of the array. Its rows are copied once to a
# temporary file, in a form that can be read quickly and again and again, and threads share the work. The model
# keeps no masses of such data unless told where.

if __name__ == "__main__":
    model = ECM(n_clusters=4, delta=3.5, tol=1e-4, n_jobs=2, random_state=0).fit(
        folder / "data"
    )
    print(f"{model.n_iter_} iterations, features {list(model.feature_names_in_)}")
    print(model.cluster_centers_.round(2))

# %%
# Now a cluster, of two processes on this machine. ``joblib.parallel_config("dask")`` sends the blocks to its
# workers. Only the name of the temporary file and the prototypes travel, and some sums come back. The result is
# the same, to the last bit.

if __name__ == "__main__":
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    )
    client = Client(cluster)
    with joblib.parallel_config("dask"):
        same = ECM(n_clusters=4, delta=3.5, tol=1e-4, random_state=0).fit(
            folder / "data"
        )
    print(
        "same prototypes:",
        np.array_equal(same.cluster_centers_, model.cluster_centers_),
    )

# %%
# A Dask DataFrame is for data that live on the cluster: every worker reads its own part and keeps it, and no file
# is shared. Nothing else is different. The blocks are now the partitions of the frame, so sums are rounded in
# another order.

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
# The masses can be written to Parquet files, by the workers themselves, one file for each partition. The columns
# are the focal sets.

if __name__ == "__main__":
    written = on_cluster.predict_mass(frame, out=folder / "masses.parquet")
    masses = dd.read_parquet(written)
    print(f"{len(list(written.iterdir()))} files with the columns", *masses.columns)
    outliers = (masses.idxmax(axis=1) == "∅").sum().compute()
    print(f"{outliers:,} outliers among {len(masses):,} samples")

# %%
# For a picture, one part is enough. The third file of masses belongs to the third file of data.

if __name__ == "__main__":
    X = frame.partitions[2].compute()
    partition = CredalPartition(
        masses.partitions[2].compute().to_numpy(), on_cluster.focal_sets_
    )
    figure, axes = plt.subplots(figsize=(8.5, 5.6), layout="constrained")
    CredalPartitionDisplay.from_partition(
        partition, X, ax=axes, max_points=4000, hulls=False
    )
    axes.set(aspect="equal")
    plt.show()
    client.close()
    cluster.close()
    keeper.cleanup()

# %%
# On a real cluster
# -----------------
#
# - ``Client("tcp://scheduler:8786")``, or a cluster sample of dask-jobqueue, dask-kubernetes or a provider, takes
#   the place of ``LocalCluster``. All else stays as it is.
# - evidential-learn must be installed on the workers, in the same version.
# - With Dask collections, data must be where all workers can read them, such as a shared file system or a sample
#   store: ``dd.read_parquet("s3://...")``. A fit keeps them in the memory of the workers; together they need as
#   much as the data in single or double precision, and some more for the tasks at hand.
# - With a folder under ``joblib.parallel_config("dask")``, the temporary file must be seen by all workers. Open
#   the data with ``open_rows(path, folder="/shared/scratch")`` and fit the result; see :doc:`/guide/large_data`.
# - Files of masses must go to a folder that all workers see.
# - For fits of hours, ``checkpoint="fit.npz"`` keeps the state: after a crash, the same call goes on from there.
