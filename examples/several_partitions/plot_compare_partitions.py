"""
Comparing hard, probabilistic and rough partitions
==================================================

All kinds of partitions can be converted to credal partitions, and then compared. One minus the credal Rand index
is a distance, so partitions can be shown as a map. A second figure shows how often each partition contradicts the
true classes, and its nonspecificity."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from evlearn import CredalPartition
from evlearn.datasets import make_fourclass
from evlearn.metrics import compare_partitions
from evlearn.plotting import ComparisonDisplay

X, truth = make_fourclass(300, random_state=0)

# %%
# Create a rough partition from intervals of probabilities: the mixture is fitted to 20 bootstrap samples, starting
# from the same means so that the clusters keep their numbers. A cluster remains a candidate for a sample if its
# largest probability is not below the smallest probability of any other cluster.

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
# Labels and probabilities can be passed directly; the rough partition is a table of candidates.

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
# On the map, the 3 versions of the mixture are on a line: labels, probabilities and sets of candidates, with
# increasing nonspecificity. Darker points have a higher nonspecificity.

ComparisonDisplay.from_comparison(comparison)
plt.show()

# %%
# In the second figure, the upper left corner is best: no contradictions with the true classes, and no
# nonspecificity. The rough partition has the fewest contradictions and the highest nonspecificity. Probabilities
# are worse than labels: if they are divided between 2 clusters, both shares conflict with the true classes,
# whereas mass on the set of both clusters is only nonspecific.

partitions["mixture, probabilities"] = CredalPartition.from_fuzzy(
    mixture.predict_proba(X)
)
ComparisonDisplay.from_partitions(
    {name: partition for name, partition in partitions.items() if name != "truth"},
    truth,
)
plt.show()
