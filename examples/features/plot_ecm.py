"""
ECM: k-means with doubt and outliers
====================================

k-means puts every sample into one cluster. `~evlearn.cluster.ECM`, evidential c-means, works in the same way,
with a centre for each cluster, but a sample between clusters may belong to a *set* of clusters, and a sample
far from all to none. This example needs k-means only; what a "mass" is comes along the way.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from evlearn.cluster import ECM
from evlearn.plotting import CredalPartitionDisplay

# %%
# The data: three round clusters of 150 samples, twenty samples along the way from each cluster to the next, and
# six far from everything.

random = np.random.default_rng(5)
corners = np.array([[0, 0], [6, 0], [3, 5]])
clusters = [corner + 0.7 * random.normal(size=(150, 2)) for corner in corners]
bridges = [
    start
    + random.uniform(0.25, 0.75, (20, 1)) * (end - start)
    + 0.15 * random.normal(size=(20, 2))
    for start, end in zip(corners, np.roll(corners, -1, axis=0), strict=True)
]
strays = np.array([[-4, 5], [-3, 6], [9.5, 5.5], [10, 4], [-4, -3.5], [10, -3.5]])
X = np.vstack([*clusters, *bridges, strays])

# %%
# First k-means. Every sample gets a cluster, the six strays as well, and nothing tells them from the others.

labels = KMeans(3, n_init=10, random_state=0).fit_predict(X)
figure, axes = plt.subplots(figsize=(6.5, 4.6), layout="constrained")
axes.scatter(
    *X.T, s=14, c=np.array(["#0072B2", "#E69F00", "#009E73"])[labels], linewidths=0
)
axes.set(aspect="equal", title="k-means", xlabel="feature 0", ylabel="feature 1")
plt.show()

# %%
# Now ECM. It is used like any scikit-learn estimator, and needs one thing more: how far from all
# centres is an outlier? The clusters have a radius of about two; we say 3. The result is a credal partition.

model = ECM(n_clusters=3, delta=3, random_state=0).fit(X)
model.credal_partition_.summary()

# %%
# Filled markers are sure of their cluster. Rings are torn: the bridges. Black crosses are outliers. Solid
# lines surround the samples that surely belong to a cluster, dashed lines those that possibly do.

figure, axes = plt.subplots(figsize=(9, 4.8), layout="constrained")
CredalPartitionDisplay.from_estimator(model, X, ax=axes)
axes.set(aspect="equal", title="ECM")
plt.show()

# %%
# Where does this come from? A sample has one unit of mass, which it shares out among sets of clusters. A set gets
# the more the nearer the sample is to its centre. The centre of a single cluster is its prototype; that of two
# clusters is the point halfway between their prototypes; the empty set ∅, for outliers, is at the same distance
# ``delta`` from everyone. Three samples: in a cluster, on a bridge, far out.

frame = model.credal_partition_.to_frame()
frame.iloc[[0, 450, 510]].round(2)

# %%
# Without ``delta``, the distance is taken that 95 of 100 pairs of samples do not exceed. That is on the safe side:
# here it is more than the distance between two clusters, and nobody is an outlier. If it is too low, the rims of
# the clusters are lost. Starting from the centres that we have, clusters keep their numbers and colours.

figure, grid = plt.subplots(1, 3, figsize=(12, 3.9), layout="constrained", sharey=True)
for axes, delta in zip(grid, ("auto", 3, 1), strict=True):
    other = ECM(
        n_clusters=3, delta=delta, init=model.cluster_centers_, random_state=0
    ).fit(X)
    CredalPartitionDisplay.from_estimator(other, X, ax=axes, legend=False)
    n_outliers = other.credal_partition_.outliers().sum()
    axes.set(
        aspect="equal",
        title=f"delta = {other.delta_:.1f}: {n_outliers} outliers",
        ylabel="",
    )
plt.show()

# %%
# ``alpha`` says how much it costs to be torn: with a larger one, fewer samples are.

for alpha in (0.5, 1, 2, 4):
    other = ECM(n_clusters=3, delta=3, alpha=alpha, random_state=0).fit(X)
    print(
        f"alpha {alpha:<3}: {other.credal_partition_.summary().n_torn:>3} of "
        f"{len(X)} samples are torn"
    )

# %%
# New samples are judged by the same rule, so the model maps the whole plane: the share of mass that is on single
# clusters, on several clusters, and on none.

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
