"""
Several clusterings, one answer
===============================

Three methods give three partitions of the same samples. Which samples do they agree about? Clusters have other
numbers in each of them, but "are these two in the same cluster?" has an answer in all. `~evlearn.ensemble`
combines these answers, and finds the credal partition that gives them again. Where the methods agree it is sure;
where they do not, it is torn.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.mixture import GaussianMixture

from evlearn.datasets import make_fourclass
from evlearn.ensemble import CredalEnsemble, combine_partitions
from evlearn.metrics import compare_partitions
from evlearn.plotting import (
    CredalPartitionDisplay,
    DominanceDisplay,
    PartitionMapDisplay,
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
for axes, (name, found) in zip(grid, labels.items(), strict=True):
    for cluster, colour in zip(
        range(4), ("#0072B2", "#E69F00", "#009E73", "#CC79A7"), strict=True
    ):
        axes.scatter(*X[found == cluster].T, s=9, color=colour, linewidths=0)
    axes.set(title=name, aspect="equal", xticks=[], yticks=[])
plt.show()

# %%
# Three ways to combine
# ---------------------
#
# With "average" every method has a vote, and what most of them say wins. With "dubois_prade" nothing is known
# about a pair as soon as two methods contradict each other: the most careful. The third, "dempster", takes methods
# for independent pieces of evidence. Sure labels that contradict each other leave it without an answer, and the
# votes decide.

combined = {
    rule: combine_partitions(list(labels.values()), rule=rule, random_state=0)
    for rule in ("average", "dubois_prade")
}
figure, grid = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
for axes, (rule, partition) in zip(grid, combined.items(), strict=True):
    CredalPartitionDisplay.from_partition(partition, X, ax=axes)
    axes.set_title(rule)
plt.show()

# %%
# Are they better than their members? A map shows who resembles whom: Ward's partition is the odd one out.

comparison = compare_partitions({**labels, **combined}, y)
print(comparison)
PartitionMapDisplay.from_comparison(comparison)
plt.show()

# %%
# And against the true classes: the careful combination contradicts them less often than any of its members, and
# pays for it with what it leaves open.

DominanceDisplay.from_partitions({**labels, **combined}, y)
plt.show()

# %%
# As an estimator
# ---------------
#
# `~evlearn.ensemble.CredalEnsemble` takes unfitted clusterers, fits them, and predicts for new samples, if all of
# its members can.

ensemble = CredalEnsemble(
    [KMeans(4, n_init=5), GaussianMixture(4), KMeans(5, n_init=5)], random_state=0
).fit(X)
new = np.array([[0.0, 0.0], [6.0, 6.0]])
print(ensemble.predict(new), ensemble.predict_mass(new).masses.max(axis=1).round(2))
