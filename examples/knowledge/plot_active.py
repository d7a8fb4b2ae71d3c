"""
Active clustering by queries of pairs
=====================================

Without labels, a person may still be able to decide whether 2 samples belong to the same cluster.
`~evlearn.active.ActiveClustering` chooses the queries, and asks about samples with doubtful clusters.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from evlearn.active import ActiveClustering, PairOracle
from evlearn.cluster import EVCLUS
from evlearn.constraints import PairwiseConstraints
from evlearn.datasets import make_bananas
from evlearn.plotting import ConstraintsDisplay, CredalPartitionDisplay

X, y = make_bananas(200, random_state=0)
learner = ActiveClustering(EVCLUS(2, focal_sets="full"), random_state=0).start(X)

# %%
# The first query with its reason:

print(learner.ask().reason)

# %%
# In this example, the true labels answer the queries. The figure shows the result after 0, 25 and 50 queries with
# its adjusted Rand index, and the queries: solid lines were answered "same", dashed ones "different". One end of a
# line is the doubtful sample, the other one represents a cluster. The first queries are at the border where the
# initial clusters divide the bananas.

figure, axes = plt.subplots(
    1, 3, figsize=(13, 4), layout="constrained", sharex=True, sharey=True
)
for ax, n_queries in zip(axes, (0, 25, 50), strict=True):
    learner.run(PairOracle(y), n_queries - len(learner.history_))
    labels = learner.estimator_.labels_
    CredalPartitionDisplay.from_result(
        learner.estimator_, X, ax=ax, hulls=False, legend=ax is axes[2]
    )
    ConstraintsDisplay.from_constraints(
        learner.constraints_, X, labels=labels, ax=ax, legend=ax is axes[2]
    )
    ax.set(title=f"{n_queries} queries: index {adjusted_rand_score(y, labels):.2f}")
    ax.label_outer()
plt.show()

# %%
# The same comparison on other data sets, with an equal number of random pairs, which are expanded to their
# neighbors like the answers. Thin lines are single data sets, thick lines their means.

counts = np.arange(0, 51, 5)


def active_scores(X, y, seed):
    learner = ActiveClustering(EVCLUS(2, focal_sets="full"), random_state=seed).start(X)
    for count in counts:
        learner.run(PairOracle(y), count - len(learner.history_))
        yield adjusted_rand_score(y, learner.estimator_.labels_)


def random_scores(X, y, seed):
    for count in counts:
        constraints = (
            PairwiseConstraints.sample(y, count, random_state=seed).closure().expand(X)
        )
        yield adjusted_rand_score(
            y,
            EVCLUS(2, focal_sets="full", random_state=seed)
            .fit(X, constraints=constraints)
            .labels_,
        )


figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
for name, scores_of, color in (
    ("active queries", active_scores, "#D55E00"),
    ("random pairs", random_scores, "#0072B2"),
):
    scores = [
        list(scores_of(*make_bananas(200, random_state=seed), seed))
        for seed in range(1, 4)
    ]
    ax.plot(counts, np.transpose(scores), color=color, linewidth=0.6, alpha=0.6)
    ax.plot(counts, np.mean(scores, axis=0), color=color, linewidth=2.2, label=name)
ax.set(xlabel="queries", ylabel="adjusted Rand index", ylim=(0, 1.02))
ax.legend(frameon=False, loc="lower right")
plt.show()
