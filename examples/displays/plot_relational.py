"""
Pairs of samples: the relational representation
===============================================

Two partitions may number their clusters differently, so partitions are compared through pairs of samples. For
every pair, a credal partition gives masses to *same cluster*, *different clusters*, *unknown*, and *one of
the two belongs nowhere*. As matrices, with the samples in order, these show the whole partition at once.
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
# A simple credal partition from a fitted mixture. The possibility of a cluster is its probability relative
# to that of the best cluster, and falls to zero for samples among the one percent most remote from all
# clusters. `~evlearn.CredalPartition.from_possibilistic` turns degrees of possibility into masses; what is
# possible nowhere goes to the empty set.

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
# Order the samples: cluster by cluster, outliers last, and within a cluster the vague ones last.

order = np.lexsort(
    [partition.nonspecificities(), partition.to_hard(), partition.outliers()]
)
ordered = partition[order]
pairs = ordered.relational()

figure, axes = plt.subplots(
    1, 4, figsize=(10.5, 3.3), layout="constrained", sharey=True
)
titles = {
    "same": "same cluster",
    "different": "different clusters",
    "unknown": "unknown",
    "empty": "one belongs nowhere",
}
for ax, (part, title) in zip(axes, titles.items(), strict=True):
    image = ax.imshow(getattr(pairs, part), cmap="viridis", vmin=0, vmax=1)
    ax.set(title=title, xlabel="sample", xticks=[0, 100, 199], yticks=[0, 100, 199])
axes[0].set_ylabel("sample")
figure.colorbar(image, ax=axes, label="mass", shrink=0.8)
plt.show()

# %%
# Four blocks of *same cluster* stand on the diagonal. The stripes of *unknown* are samples between two
# clusters: nothing is known of their pairs with either. The last stripe belongs to the outliers.
#
# The four masses of a pair sum to one.

np.allclose(sum(pairs), 1)

# %%
# `~evlearn.plotting.RelationalDisplay` draws such matrices in the same order: how plausible it is that two samples
# are in one cluster, and how strongly it is believed. Distances may stand beside them. What is near in the first
# matrix should be together in the second. Bright in the second and dark in the third is unknown.

RelationalDisplay.from_partition(partition, dissimilarities=pairwise_distances(X))
plt.show()
