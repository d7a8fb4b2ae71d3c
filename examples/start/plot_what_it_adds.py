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
from evlearn.cluster import CCM
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
# Both methods get the number of clusters. k-means starts from the centers of CCM, so that the clusters have the same
# numbers. All other parameters have their default values.

ccm = CCM(n_clusters=3, random_state=0).fit(X)
kmeans = KMeans(n_clusters=3, init=ccm.cluster_centers_).fit(X)
ccm.credal_partition_.summary()

# %%
# The figure shows both results. Rings are torn between the clusters of their 2 colors; crosses are outliers.

labels = CredalPartition.from_hard(kmeans.labels_)
figure, axes = plt.subplots(
    1, 2, figsize=(10, 5), layout="constrained", sharex=True, sharey=True
)
CredalPartitionDisplay.from_result(labels, X, hulls=False, legend=False, ax=axes[0])
display = CredalPartitionDisplay.from_result(
    ccm, X, hulls=False, legend=False, ax=axes[1]
)
for points in [*display.torn_points_, display.outlier_points_]:
    points.set_sizes([120])
axes[0].set_title("k-means: a label for each sample", fontsize=17)
axes[1].set_title("CCM: sure, torn, outliers", fontsize=17)
for word, position, target in (
    ("sure", (4.8, 7.3), (2.5, 6.5)),
    ("torn", (1.6, 3), (1.65, 1.1)),
    ("outliers", (6.0, 2.6), (7.4, 4.6)),
):
    arrow = {"arrowstyle": "->", "linewidth": 1.5}
    axes[1].annotate(word, target, position, ha="center", fontsize=17, arrowprops=arrow)
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
