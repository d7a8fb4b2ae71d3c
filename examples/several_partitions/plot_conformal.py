"""
Conformal sets of clusters
==========================

k-means assigns each sample to a cluster without quantifying the uncertainty.
`~evlearn.conformal.ConformalClusterer` fits it to random halves of the data, and computes a set of clusters for
each sample, which contains the label of such a replication in 95 % of all cases. Samples with several clusters in
their set are torn; samples with an empty set are outliers.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_blobs
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from evlearn.conformal import ConformalClusterer
from evlearn.plotting import DoubtDisplay

# %%
# The data are 3 clusters and 3 outliers. With 4 clusters, k-means has to divide the large one.

X, _ = make_blobs(
    [300, 150, 150],
    centers=[[0, 0], [9, 4], [9, -4]],
    cluster_std=[2, 0.8, 0.8],
    random_state=0,
)
X = np.vstack([X, [[14, 0], [13.5, 1], [-8, 6]]])
model = ConformalClusterer(
    KMeans(4, n_init=3), confidence_level=0.95, random_state=0
).fit(X)
print(model.doubt_.counts())

# %%
# This boundary is arbitrary. It would be another in another sample, so the samples near it are torn (orange). The
# boundaries between the 3 clusters are the same in all replications.

figure, ax = plt.subplots(figsize=(8, 4.8), layout="constrained")
display = DoubtDisplay.from_sources(model, X, ax=ax)
for kind, size in (("replication", 45), ("outlier", 90)):
    display.points_[kind].set_sizes([size])
ax.legend(fontsize=13, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
ax.set_title("k-means with 4 clusters, confidence level 95 %", fontsize=15)
plt.show()

# %%
# The same for handwritten digits. Digits that differ from the majority of their cluster are rarer among sure
# samples. The true classes were used only here.

X, y = load_digits(return_X_y=True)
clusterer = make_pipeline(PCA(20, random_state=0), KMeans(10, n_init=3))
model = ConformalClusterer(clusterer, confidence_level=0.9, random_state=0).fit(X)
doubt = model.doubt_
majority = np.array([np.bincount(y[model.labels_ == k]).argmax() for k in range(10)])
wrong = majority[model.labels_] != y
for kind in ("sure", "replication", "outlier"):
    chosen = doubt.kinds == kind
    print(
        f"{kind:<12} {chosen.sum():4} digits, {100 * wrong[chosen].mean():.1f} % wrong"
    )

# %%
# Plot some digits with different labels in replications, and describe one of them.
torn = np.flatnonzero(doubt.kinds == "replication")
torn = torn[np.argsort(-doubt.replication[torn], kind="stable")][:10]
print(doubt.describe(torn[0]))
figure, axes = plt.subplots(1, 10, figsize=(9, 1.4), layout="constrained")
for sample, ax in zip(torn, axes, strict=True):
    ax.imshow(X[sample].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"{y[sample]}", fontsize=9)
    ax.set_axis_off()
plt.show()
