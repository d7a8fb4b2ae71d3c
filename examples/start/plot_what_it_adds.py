"""
Comparing k-means and evidential clustering
===========================================

k-means assigns a label to each sample, including samples between clusters and outliers. Evidential clustering
shows which labels are reliable.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from evlearn import CredalPartition
from evlearn.cluster import ECM
from evlearn.plotting import CredalPartitionDisplay

# %%
# The data consist of 3 clusters of 120 samples, 2 of which overlap, and 7 outliers.

random = np.random.default_rng(3)
centers = np.array([[0, 0], [3.2, 0.4], [1.2, 6]])
outliers = np.array(
    [
        [-4.2, 5.4],
        [-3.6, 4.4],
        [7.6, 5.6],
        [6.9, 6.4],
        [8.3, -2.2],
        [-5, -1.6],
        [7.7, 4.9],
    ]
)
X = np.vstack(
    [*(center + 0.85 * random.normal(size=(120, 2)) for center in centers), outliers]
)

# %%
# Both methods get the number of clusters, and ECM starts from the centers of k-means, so that the clusters have
# the same numbers. The other parameters have their default values.

kmeans = KMeans(n_clusters=3, n_init=10, random_state=0).fit(X)
ecm = ECM(n_clusters=3, init=kmeans.cluster_centers_).fit(X)
ecm.credal_partition_.summary()

# %%
# The figure shows both results. Rings are torn between the clusters of their 2 colors; crosses are outliers.

figure, axes = plt.subplots(
    1, 2, figsize=(11, 4.7), layout="constrained", sharex=True, sharey=True
)
labels = CredalPartition.from_hard(kmeans.labels_)
CredalPartitionDisplay.from_result(labels, X, hulls=False, legend=False, ax=axes[0])
CredalPartitionDisplay.from_result(ecm, X, hulls=False, legend=False, ax=axes[1])
axes[0].set_title("k-means: a label for each sample", fontsize="x-large")
axes[1].set_title("ECM: sure, torn, outliers", fontsize="x-large")
for word, position, target in (
    ("sure", (4.6, 7.3), (2.5, 6.5)),
    ("torn", (1.6, 2.7), (1.65, 0.9)),
    ("outliers", (6.3, 2.9), (7.4, 4.6)),
):
    axes[1].annotate(
        word,
        target,
        position,
        ha="center",
        fontsize="x-large",
        arrowprops={"arrowstyle": "->"},
    )
for ax in axes:
    ax.set(
        aspect="equal",
        xlim=(-6, 9.5),
        ylim=(-3.4, 8.6),
        xlabel="",
        ylabel="",
        xticks=[],
        yticks=[],
    )
plt.show()
