"""
Clustering a million samples with outliers
==========================================

An iteration of `~evlearn.cluster.ECM` takes about as long as one of k-means, so a million samples take only some
seconds on a small machine. The figures show densities, because a million markers would hide each other.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LogNorm

from evlearn.cluster import ECM, FocalFamily

# %%
# The data consist of 6 clusters of different sizes, 2 bridges between clusters, and 20,000 outliers. Single
# precision is sufficient and halves the memory.

random = np.random.default_rng(0)
centers = np.array(
    [[0, 0], [6, 1], [3, 6], [-5, 5], [10, 7], [-4, -6]], dtype=np.float32
)
sizes = [300_000, 200_000, 150_000, 130_000, 100_000, 80_000]
parts = [
    center + random.normal(size=(size, 2))
    for center, size in zip(centers, sizes, strict=True)
]
for start, end in ((centers[0], centers[1]), (centers[2], centers[4])):
    parts.append(
        start
        + random.uniform(size=(10_000, 1)) * (end - start)
        + 0.3 * random.normal(size=(10_000, 2))
    )
parts.append(random.uniform([-16, -16], [20, 16], size=(20_000, 2)))
X = np.concatenate(parts).astype(np.float32)
random.shuffle(X)
print(f"{len(X):,} samples, {X.nbytes / 2**20:.0f} MB")

# %%
# There are 64 subsets of 6 clusters. The family "neighbor_pairs" is smaller: the first fit has single clusters, and
# the second adds pairs of clusters that are among the 3 nearest neighbors of each other. ``n_jobs=-1`` uses all
# processors. ``init="peaks"`` starts from peaks of belief in a subsample, which is robust to outliers; k-means++
# tends to select them.

begin = time.perf_counter()
model = ECM(
    n_clusters=6,
    focal_sets=FocalFamily("neighbor_pairs", n_neighbors=3),
    delta=4,
    init="peaks",
    n_jobs=-1,
    random_state=0,
).fit(X)
seconds = time.perf_counter() - begin
print(
    f"about {seconds:.0f} seconds, {model.n_iter_} iterations after the choice of "
    f"the pairs"
)
print("sets:", *model.focal_sets_.labels)
model.credal_partition_.summary()

# %%
# The masses have a million rows and one column per set, in single precision like the data.

print(
    model.masses_.shape, model.masses_.dtype, f"{model.masses_.nbytes / 2**20:.0f} MB"
)

# %%
# The densities of sure samples, torn samples and outliers, on a logarithmic scale. Samples outside all discs of
# radius ``delta`` around the clusters are outliers.

verdict = model.credal_partition_.verdict()
kinds = {"sure": verdict.sure, "torn": verdict.torn, "outliers": verdict.outlier}
window = {"bins": (270, 240), "range": [[-16, 20], [-16, 16]]}
figure, grid = plt.subplots(1, 3, figsize=(13, 4.4), layout="constrained", sharey=True)
for axes, (name, chosen) in zip(grid, kinds.items(), strict=True):
    *_, image = axes.hist2d(
        *X[chosen].T, **window, norm=LogNorm(1, 2000), cmap="viridis_r", rasterized=True
    )
    axes.scatter(
        *model.cluster_centers_.T,
        s=50,
        marker="*",
        color="#D55E00",
        edgecolors="white",
        linewidths=0.6,
    )
    axes.set(title=f"{chosen.sum():,} {name}", aspect="equal", xlabel="feature 0")
grid[0].set_ylabel("feature 1")
figure.colorbar(image, ax=grid, label="samples per cell", shrink=0.85)
plt.show()

# %%
# The distribution of the mass on the empty set. It is small for most samples; the outliers form a separate mode.

figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
axes.hist(model.masses_[:, 0], bins=100, color="0.35")
axes.set(yscale="log", xlabel="mass of the empty set", ylabel="samples")
plt.show()

# %%
# Larger data are processed in the same way. Data that do not fit into memory can be read from Parquet files or
# from Dask; see :doc:`plot_large_data`.
