"""
ECM compared with k-means
=========================

k-means assigns each sample to one cluster. `~evlearn.cluster.ECM` (evidential c-means) also has a center for each
cluster, but a sample between clusters may belong to a *set* of clusters, and a sample far away from all clusters
to none. This example requires only knowledge of k-means; mass functions are explained on the way.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from evlearn.cluster import ECM
from evlearn.plotting import CredalPartitionDisplay

# %%
# The data consist of 3 round clusters with 150 samples each, 20 samples on a bridge between each pair of clusters,
# and 6 outliers.

random = np.random.default_rng(5)
corners = np.array([[0, 0], [6, 0], [3, 5]])
clusters = [corner + 0.7 * random.normal(size=(150, 2)) for corner in corners]
bridges = [
    start
    + random.uniform(0.25, 0.75, (20, 1)) * (end - start)
    + 0.15 * random.normal(size=(20, 2))
    for start, end in zip(corners, np.roll(corners, -1, axis=0), strict=True)
]
outliers = np.array([[-4, 5], [-3, 6], [9.5, 5.5], [10, 4], [-4, -3.5], [10, -3.5]])
X = np.vstack([*clusters, *bridges, outliers])

# %%
# k-means assigns all samples to a cluster, including the 6 outliers.

labels = KMeans(3, n_init=10, random_state=0).fit_predict(X)
figure, axes = plt.subplots(figsize=(6.5, 4.6), layout="constrained")
axes.scatter(
    *X.T, s=14, c=np.array(["#0072B2", "#E69F00", "#009E73"])[labels], linewidths=0
)
axes.set(aspect="equal", title="k-means", xlabel="feature 0", ylabel="feature 1")
plt.show()

# %%
# ECM is used like any scikit-learn estimator. Its parameter ``delta`` is the distance from all centers beyond
# which samples are outliers. The radius of the clusters is about 2, and we choose 3. The result is a credal
# partition.

model = ECM(n_clusters=3, delta=3, random_state=0).fit(X)
model.credal_partition_.summary()

# %%
# Filled markers are sure of their cluster, rings are torn samples on the bridges, and black crosses are outliers.
# Solid lines enclose the samples that surely belong to a cluster, dashed lines those that possibly do.

figure, axes = plt.subplots(figsize=(9, 4.8), layout="constrained")
CredalPartitionDisplay.from_result(model, X, ax=axes)
axes.set(aspect="equal", title="ECM")
plt.show()

# %%
# A sample distributes one unit of mass over sets of clusters, with more mass on sets with close centers. The
# center of a single cluster is its prototype; that of 2 clusters is the mean of their prototypes; the empty set ∅,
# for outliers, has the same distance ``delta`` from all samples. The table shows a sample in a cluster, one on a
# bridge, and an outlier.

frame = model.credal_partition_.to_frame()
frame.iloc[[0, 450, 510]].round(2)

# %%
# By default, ``delta`` is the 95 % quantile of the distances between samples. This is a conservative choice: here
# it is larger than the distance between 2 clusters, and there are no outliers. If ``delta`` is too small, samples
# at the edges of the clusters become outliers. The fits start from the centers of the first fit, so the clusters
# keep their numbers and colors.

figure, grid = plt.subplots(1, 3, figsize=(12, 3.9), layout="constrained", sharey=True)
for axes, delta in zip(grid, ("auto", 3, 1), strict=True):
    other = ECM(
        n_clusters=3, delta=delta, init=model.cluster_centers_, random_state=0
    ).fit(X)
    CredalPartitionDisplay.from_result(other, X, ax=axes, legend=False)
    n_outliers = other.credal_partition_.outliers().sum()
    axes.set(
        aspect="equal",
        title=f"delta = {other.delta_:.1f}: {n_outliers} outliers",
        ylabel="",
    )
plt.show()

# %%
# ``alpha`` controls the cost of sets of clusters: larger values result in fewer torn samples.

for alpha in (0.5, 1, 2, 4):
    other = ECM(n_clusters=3, delta=3, alpha=alpha, random_state=0).fit(X)
    print(
        f"alpha {alpha:<3}: {other.credal_partition_.summary().n_torn:>3} of "
        f"{len(X)} samples are torn"
    )

# %%
# The masses of new samples are computed in the same way, so the model can be evaluated in the whole plane. The
# panels show the mass on single clusters, on several clusters, and on the empty set.

horizontal, vertical = np.meshgrid(np.linspace(-6, 12, 180), np.linspace(-6, 9, 150))
plane = np.column_stack([horizontal.ravel(), vertical.ravel()])
masses = model.predict_mass(plane).masses
sizes = model.focal_sets_.sizes
figure, grid = plt.subplots(1, 3, figsize=(12, 3.9), layout="constrained", sharey=True)
for axes, kind, title in zip(
    grid, (sizes == 1, sizes > 1, sizes == 0), ("sure", "torn", "outlier"), strict=True
):
    share = masses[:, kind].sum(axis=1).reshape(horizontal.shape)
    image = axes.pcolormesh(
        horizontal, vertical, share, cmap="Blues", vmin=0, vmax=1, rasterized=True
    )
    axes.scatter(*X.T, s=3, color="0.25", linewidths=0)
    axes.scatter(
        *model.cluster_centers_.T,
        s=60,
        marker="*",
        color="#D55E00",
        edgecolors="white",
        linewidths=0.6,
    )
    axes.set(title=title, aspect="equal")
figure.colorbar(image, ax=grid, label="mass", shrink=0.8)
plt.show()
