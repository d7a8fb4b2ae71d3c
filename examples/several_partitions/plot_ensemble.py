"""
Combining several partitions
============================

Three methods result in 3 partitions of the same samples. Their clusters have different numbers, but they can be
compared by pairs of samples, which are in the same cluster or not. `~evlearn.ensemble` combines the information
about pairs, and computes a credal partition that represents it. Samples are sure if the methods agree, and torn
otherwise."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.mixture import GaussianMixture

from evlearn.datasets import make_fourclass
from evlearn.ensemble import CredalEnsemble, combine_partitions
from evlearn.metrics import compare_partitions
from evlearn.plotting import (
    ComparisonDisplay,
    CredalPartitionDisplay,
)

X, y = make_fourclass(300, random_state=0)
labels = {
    "k-means": KMeans(4, n_init=5, random_state=0).fit_predict(X),
    "Ward": AgglomerativeClustering(4).fit_predict(X),
    "mixture": GaussianMixture(4, random_state=0).fit_predict(X),
}
figure, grid = plt.subplots(
    1, 3, figsize=(10, 3.6), layout="constrained", sharex=True, sharey=True
)
for axes, (name, predictions) in zip(grid, labels.items(), strict=True):
    for cluster, color in zip(
        range(4), ("#0072B2", "#E69F00", "#009E73", "#CC79A7"), strict=True
    ):
        axes.scatter(*X[predictions == cluster].T, s=9, color=color, linewidths=0)
    axes.set(title=name, aspect="equal", xticks=[], yticks=[])
plt.show()

# %%
# Combination rules
# -----------------
#
# With "average", each method has a vote, and the majority wins. With "dubois_prade", the most cautious rule, the
# relation of a pair is unknown if 2 methods contradict each other. The third rule, "dempster", treats the methods
# as independent sources of evidence. For hard labels that contradict each other, it is undefined and replaced by
# the votes.

combined = {
    rule: combine_partitions(list(labels.values()), rule=rule, random_state=0)
    for rule in ("average", "dubois_prade")
}
figure, grid = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
for axes, (rule, partition) in zip(grid, combined.items(), strict=True):
    CredalPartitionDisplay.from_result(partition, X, ax=axes)
    axes.set_title(rule)
plt.show()

# %%
# Compare the combinations with the single partitions. The map shows their similarities: Ward's partition differs
# from all others.

comparison = compare_partitions({**labels, **combined}, y)
print(comparison)
ComparisonDisplay.from_comparison(comparison)
plt.show()

# %%
# Compared with the true classes, the cautious combination has fewer contradictions than all single partitions, and
# a higher nonspecificity.

ComparisonDisplay.from_partitions({**labels, **combined}, y)
plt.show()

# %%
# As an estimator
# ---------------
#
# `~evlearn.ensemble.CredalEnsemble` fits clusterers and combines their partitions. It predicts masses of new
# samples if all clusterers support predictions.

ensemble = CredalEnsemble(
    [KMeans(4, n_init=5), GaussianMixture(4), KMeans(5, n_init=5)], random_state=0
).fit(X)
new = np.array([[0.0, 0.0], [6.0, 6.0]])
print(ensemble.predict(new), ensemble.predict_mass(new).masses.max(axis=1).round(2))
