"""
Consistency and nonspecificity of partitions
============================================

Partitions differ in their errors and in their imprecision. They are measured by the consistency with the true
classes, which decreases with each pair of samples that contradicts them, and by the nonspecificity, which
increases with each pair of unknown relation. `~evlearn.plotting.ComparisonDisplay` shows both.
"""

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from evlearn import CredalPartition
from evlearn.cluster import CCM, ECM, EVCLUS
from evlearn.datasets import make_fourclass
from evlearn.plotting import ComparisonDisplay

X, truth = make_fourclass(300, random_state=0)

# %%
# Compute partitions of all kinds: hard, probabilistic, credal and rough ones. Rough partitions are derived from
# credal ones, and contain the set of possible clusters for each sample.

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
display = ComparisonDisplay.from_partitions(partitions, truth)
plt.show()

# %%
# A partition is dominated if another one is more consistent and less nonspecific. The other partitions are on the
# dashed line: they are different compromises between precision and errors, and the choice between them depends on
# the costs of errors.

[
    name
    for name, dominated in zip(display.names, display.dominated_, strict=True)
    if not dominated
]
