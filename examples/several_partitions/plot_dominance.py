"""
Saying much, or saying nothing wrong
====================================

A partition may be wrong, or leave open what it does not know. Two numbers measure both: consistency with
the true classes, which falls with every pair of samples that is said wrongly, and nonspecificity, which grows with
every pair of which nothing is said. `~evlearn.plotting.DominanceDisplay` draws one against the other.
"""

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from evlearn import CredalPartition
from evlearn.cluster import CCM, ECM, EVCLUS
from evlearn.datasets import make_fourclass
from evlearn.plotting import DominanceDisplay

X, truth = make_fourclass(300, random_state=0)

# %%
# Partitions of all kinds: hard ones, probabilities, credal ones, and rough ones made of these, which keep for each
# sample the set of clusters that it may belong to.

ecm = ECM(n_clusters=4, random_state=0).fit(X).credal_partition_
ccm = CCM(n_clusters=4, random_state=0).fit(X).credal_partition_
evclus = EVCLUS(n_clusters=4, random_state=0).fit(X).credal_partition_
mixture = GaussianMixture(4, random_state=0).fit(X)
partitions = {
    "k-means": KMeans(4, n_init=5, random_state=0).fit_predict(X),
    "k-means, 3 clusters": KMeans(3, n_init=5, random_state=0).fit_predict(X),
    "mixture": CredalPartition.from_fuzzy(mixture.predict_proba(X)),
    "mixture, labels": mixture.predict(X),
    "ECM": ecm,
    "ECM, rough": CredalPartition.from_rough(ecm.to_rough()),
    "CCM": ccm,
    "EVCLUS": evclus,
    "EVCLUS, rough": CredalPartition.from_rough(evclus.to_rough()),
}
display = DominanceDisplay.from_partitions(partitions, truth)
plt.show()

# %%
# A partition is dominated if another one is more consistent and leaves less open. Those that are not are on the
# dashed line: among them one has to choose between saying much and saying nothing wrong. Which of them is best
# depends on what a wrong statement costs.

[
    name
    for name, dominated in zip(display.names, display.dominated_, strict=True)
    if not dominated
]
