"""
Hard, probabilistic and rough partitions on one map
===================================================

Every kind of partition becomes a credal partition, so all kinds can be compared. One minus the credal Rand
index is a distance, and distances can be drawn as a map. A second picture asks of each partition how often it
contradicts the truth, and how much it leaves open.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from evlearn import CredalPartition
from evlearn.datasets import make_fourclass
from evlearn.metrics import compare_partitions
from evlearn.plotting import DominanceDisplay, PartitionMapDisplay

X, truth = make_fourclass(300, random_state=0)

# %%
# A rough partition from intervals of probabilities: the mixture is fitted to twenty resamples of the data,
# starting at the same means so that clusters keep their numbers. A cluster remains a candidate for an
# sample if its largest probability is not below the smallest probability of any other.

mixture = GaussianMixture(4, covariance_type="spherical", random_state=0).fit(X)
random = np.random.default_rng(0)
probabilities = []
for _ in range(20):
    refit = GaussianMixture(
        4, covariance_type="spherical", means_init=mixture.means_, random_state=0
    )
    probabilities.append(
        refit.fit(X[random.integers(len(X), size=len(X))]).predict_proba(X)
    )
smallest, largest = np.min(probabilities, axis=0), np.max(probabilities, axis=0)
candidates = largest >= smallest.max(axis=1, keepdims=True)

# %%
# Labels and probabilities can be given as they are; the rough partition is a table of candidates.

partitions = {
    "truth": truth,
    **{
        f"k-means, {k}": KMeans(k, n_init=5, random_state=0).fit_predict(X)
        for k in (3, 5, 8)
    },
    "mixture, labels": mixture.predict(X),
    "mixture, probabilities": mixture.predict_proba(X),
    "mixture, rough": CredalPartition.from_rough(candidates),
}
comparison = compare_partitions(partitions, truth)
print(comparison)

# %%
# On the map, the three readings of one mixture stand in line: labels, probabilities, and sets of
# candidates, which say less and less. The darker a point, the more is left open.

PartitionMapDisplay.from_comparison(comparison)
plt.show()

# %%
# In the second picture the upper left corner is best: never in contradiction with the truth, and nothing left
# open. The rough partition contradicts the truth least and pays with nonspecificity. Probabilities look worse than
# labels: where they are shared between two clusters, the shares conflict with the truth, while mass on the set of
# both clusters only leaves something open.

partitions["mixture, probabilities"] = CredalPartition.from_fuzzy(
    mixture.predict_proba(X)
)
DominanceDisplay.from_partitions(
    {name: one for name, one in partitions.items() if name != "truth"}, truth
)
plt.show()
