"""
A million samples with outliers
===============================

An iteration of `~evlearn.cluster.ECM` takes about as long as one of k-means: some seconds are enough for a
million samples on a small machine. A million markers would be a blot, so the pictures show densities.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LogNorm

from evlearn.cluster import ECM

# %%
# Six clusters of different sizes, two bridges, and 20,000 strays all over the place; in single precision, which
# takes half of the memory and is precise enough.

random = np.random.default_rng(0)
centres = np.array(
    [[0, 0], [6, 1], [3, 6], [-5, 5], [10, 7], [-4, -6]], dtype=np.float32
)
sizes = [300_000, 200_000, 150_000, 130_000, 100_000, 80_000]
parts = [
    centre + random.normal(size=(size, 2))
    for centre, size in zip(centres, sizes, strict=True)
]
for start, end in ((centres[0], centres[1]), (centres[2], centres[4])):
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
# With six clusters there are 64 sets. ``focal_sets="neighbor_pairs"`` asks for less: a first fit without pairs,
# and then another one with the pairs of clusters that turn out to be neighbours. ``n_jobs=-1`` uses all
# processors. Peaks of belief in a sample are a good start where strays are: k-means++ likes to begin with these.

begin = time.perf_counter()
model = ECM(
    n_clusters=6,
    focal_sets="neighbor_pairs",
    n_pair_neighbors=3,
    delta=4,
    init="peaks",
    n_jobs=-1,
    random_state=0,
).fit(X)
seconds = time.perf_counter() - begin
print(
    f"about {seconds:.0f} seconds, {model.n_iter_} iterations after the pairs were "
    f"chosen"
)
print("sets:", *model.focal_sets_.labels)
model.credal_partition_.summary()

# %%
# The masses are a million rows, a column for each set, and in single precision as the data are.

print(
    model.masses_.shape, model.masses_.dtype, f"{model.masses_.nbytes / 2**20:.0f} MB"
)

# %%
# Where are the sure, the torn and the outliers? Darker is denser; the scale is logarithmic, or only the clusters
# would be seen. Around each cluster there is a disc of radius ``delta``; outside of all of them samples are
# outliers.

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
figure.colorbar(image, ax=grid, label="samples in a cell", shrink=0.85)
plt.show()

# %%
# The same from the side: how many samples have how much mass on the empty set? Most have little; the strays make a
# hump of their own.

figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
axes.hist(model.masses_[:, 0], bins=100, color="0.35")
axes.set(yscale="log", xlabel="mass of the empty set", ylabel="samples")
plt.show()

# %%
# Ten or a hundred million samples are no different, but for the time: data larger than memory are read from
# Parquet files or from Dask; see :doc:`plot_large_data`.
