"""
Hard, probabilistic and rough partitions on one map
===================================================

Every kind of partition becomes a credal partition, so all kinds can be compared. One minus the credal Rand
index is a distance, and distances can be drawn as a map. A second picture asks of each partition how often it
contradicts the truth, and how much it leaves open.
"""

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from evlearn import CredalPartition
from evlearn.datasets import make_fourclass
from evlearn.metrics import consistency_index, credal_rand_index, nonspecificity_index

X, truth = make_fourclass(300, random_state=0)

# %%
# A rough partition from intervals of probabilities: the mixture is fitted to twenty resamples of the data,
# starting at the same means so that clusters keep their numbers. A cluster remains a candidate for an
# object if its largest probability is not below the smallest probability of any other.

mixture = GaussianMixture(4, covariance_type="spherical", random_state=0).fit(X)
random = np.random.default_rng(0)
probabilities = []
for _ in range(20):
    refit = GaussianMixture(4, covariance_type="spherical", means_init=mixture.means_, random_state=0)
    probabilities.append(refit.fit(X[random.integers(len(X), size=len(X))]).predict_proba(X))
smallest, largest = np.min(probabilities, axis=0), np.max(probabilities, axis=0)
candidates = largest >= smallest.max(axis=1, keepdims=True)

hard = {f"k-means, {k}": KMeans(k, n_init=5, random_state=0).fit_predict(X) for k in (3, 5, 8)}
hard["mixture, labels"] = mixture.predict(X)
partitions = {
    "truth": CredalPartition.from_hard(truth),
    **{name: CredalPartition.from_hard(labels) for name, labels in hard.items()},
    "mixture, probabilities": CredalPartition.from_fuzzy(mixture.predict_proba(X)),
    "mixture, rough": CredalPartition.from_rough(candidates),
}
kinds = {  # colours of Okabe and Ito
    "truth": (["truth"], "#000000", "*"),
    "hard": (list(hard), "#0072B2", "o"),
    "probabilistic": (["mixture, probabilities"], "#D55E00", "s"),
    "rough": (["mixture, rough"], "#009E73", "D"),
}

# %%
# Distances between all partitions, and a plane that keeps them as well as it can (metric scaling: start
# from the principal axes and improve with Guttman's transform).

n = len(partitions)
distances = np.zeros((n, n))
for i, j in combinations(range(n), 2):
    first, second = list(partitions.values())[i], list(partitions.values())[j]
    distances[i, j] = distances[j, i] = 1 - credal_rand_index(first, second)
centring = np.eye(n) - 1 / n
places = np.linalg.eigh(-centring @ distances**2 @ centring)[1][:, :-3:-1]
for _ in range(500):
    drawn = cdist(places, places) + np.eye(n)
    places = (np.diag((distances / drawn).sum(axis=1)) - distances / drawn) @ places / n

truth_partition = partitions["truth"]
quality = np.array([(nonspecificity_index(p), consistency_index(p, truth_partition)) for p in partitions.values()])

# %%
# On the map, the three readings of one mixture stand in line: labels, probabilities, and sets of
# candidates, which say less and less. In the second picture the upper left corner is best: never in
# contradiction with the truth, and nothing left open. The rough partition contradicts the truth least and
# pays with nonspecificity. Probabilities look worse than labels: where they are shared between two
# clusters, the shares conflict with the truth, while mass on the set of both clusters only leaves something
# open.

figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.8), layout="constrained")
for ax, points in ((left, places), (right, quality)):
    for kind, (names, colour, marker) in kinds.items():
        chosen = [list(partitions).index(name) for name in names]
        ax.scatter(*points[chosen].T, s=70, c=colour, marker=marker, label=kind, zorder=2)
    for name, point in zip(partitions, points, strict=True):
        ax.annotate(name, point, xytext=(7, -4), textcoords="offset points", fontsize=9)
    ax.margins(0.1)
    ax.set_xlim(right=ax.get_xlim()[1] + 0.05)  # room for the last name
left.set(title="map of 1 - credal Rand index", xlabel="first axis", ylabel="second axis", aspect="equal")
right.set(title="against the truth", xlabel="nonspecificity index", ylabel="consistency index")
right.legend(loc="lower right", frameon=False)
plt.show()
