"""
Relational representation of a credal partition
===============================================

Two partitions may number their clusters differently, so they are compared by pairs of samples. For each pair, a
credal partition defines masses of *same cluster*, *different clusters*, *unknown*, and *one sample is an outlier*.
Matrices of these masses, with sorted samples, visualize the whole partition.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import chi2
from sklearn.metrics import pairwise_distances
from sklearn.mixture import GaussianMixture

from evlearn import CredalPartition
from evlearn.datasets import make_fourclass
from evlearn.plotting import RelationalDisplay

X, _ = make_fourclass(200, random_state=3)

# %%
# Create a credal partition from a fitted mixture. The possibility of a cluster is its probability relative to that
# of the best cluster; it is reduced for the 1 % of the samples most remote from all clusters.
# `~evlearn.CredalPartition.from_possibilistic` converts degrees of possibility into masses; samples with small
# possibilities of all clusters have mass on the empty set.

mixture = GaussianMixture(4, covariance_type="tied", random_state=0).fit(X)
probabilities = mixture.predict_proba(X)
squared = [
    ((X - mean) @ mixture.precisions_ * (X - mean)).sum(axis=1)
    for mean in mixture.means_
]
typical = np.minimum(1, chi2.sf(np.min(squared, axis=0), df=2) / 0.01)
possibilities = (
    probabilities / probabilities.max(axis=1, keepdims=True) * typical[:, None]
)
partition = CredalPartition.from_possibilistic(possibilities)
partition.summary()

# %%
# Sort the samples by cluster, with outliers last, and by nonspecificity within each cluster.

order = np.lexsort(
    [
        partition.nonspecificity(per_sample=True),
        partition.to_hard(),
        partition.outliers(),
    ]
)
ordered = partition[order]
pairs = ordered.relational()

figure, axes = plt.subplots(
    1, 4, figsize=(10.5, 3.3), layout="constrained", sharey=True
)
titles = {
    "same_cluster": "same cluster",
    "different": "different clusters",
    "unknown": "unknown",
    "empty": "one is an outlier",
}
for ax, (part, title) in zip(axes, titles.items(), strict=True):
    image = ax.imshow(getattr(pairs, part), cmap="viridis", vmin=0, vmax=1)
    ax.set(title=title, xlabel="sample", xticks=[0, 100, 199], yticks=[0, 100, 199])
axes[0].set_ylabel("sample")
figure.colorbar(image, ax=axes, label="mass", shrink=0.8)
plt.show()

# %%
# The 4 diagonal blocks of *same cluster* are the clusters. The stripes of *unknown* are samples between 2
# clusters, whose relation to the samples of both is unknown. The last stripe contains the outliers.
#
# The four masses of a pair sum to one.

np.allclose(sum(pairs), 1)

# %%
# `~evlearn.plotting.RelationalDisplay` shows such matrices in the same order: the plausibility and the belief that
# 2 samples are in the same cluster, optionally together with their distances. Small distances should correspond to
# high plausibilities. Pairs with a high plausibility and a low belief are unknown.

RelationalDisplay.from_result(partition, dissimilarities=pairwise_distances(X))
plt.show()
