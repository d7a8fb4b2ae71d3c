"""
Asking about pairs in doubt
===========================

Nobody has labels, but somebody can say of two samples whether they belong together. Which two should one ask?
`~evlearn.active.ActiveClustering` asks about samples that the clusterer cannot place.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from evlearn.active import ActiveClustering, LabelOracle
from evlearn.cluster import EVCLUS
from evlearn.constraints import PairwiseConstraints
from evlearn.datasets import make_bananas
from evlearn.plotting import ConstraintsDisplay, CredalPartitionDisplay

X, y = make_bananas(200, random_state=0)
learner = ActiveClustering(EVCLUS(2, focal_sets="full"), random_state=0).start(X)

# %%
# The first question, and why it is asked:

print(learner.ask().why)

# %%
# Here the true labels answer. The pictures show the result after 0, 25 and 50 questions, with its adjusted Rand
# index and what was asked: solid lines were answered "same", dashed ones "different". One end of a line is the
# sample in doubt, the other stands for a cluster. Questions begin where distances cut the bananas in two.

figure, axes = plt.subplots(
    1, 3, figsize=(13, 4), layout="constrained", sharex=True, sharey=True
)
for ax, asked in zip(axes, (0, 25, 50), strict=True):
    learner.run(LabelOracle(y), asked - len(learner.history_))
    labels = learner.estimator_.labels_
    CredalPartitionDisplay.from_estimator(
        learner.estimator_, X, ax=ax, hulls=False, legend=ax is axes[2]
    )
    ConstraintsDisplay.from_constraints(
        learner.constraints_, X, labels=labels, ax=ax, legend=ax is axes[2]
    )
    ax.set(title=f"{asked} questions: index {adjusted_rand_score(y, labels):.2f}")
    ax.label_outer()
plt.show()

# %%
# The same with other data, beside as many pairs drawn at random, which are expanded to their neighbours like the
# answers. Thin lines are single data sets, thick ones their means.

counts = np.arange(0, 51, 5)


def active_scores(X, y, seed):
    learner = ActiveClustering(EVCLUS(2, focal_sets="full"), random_state=seed).start(X)
    for count in counts:
        learner.run(LabelOracle(y), count - len(learner.history_))
        yield adjusted_rand_score(y, learner.estimator_.labels_)


def random_scores(X, y, seed):
    for count in counts:
        drawn = (
            PairwiseConstraints.sample(y, count, random_state=seed).closure().expand(X)
        )
        yield adjusted_rand_score(
            y,
            EVCLUS(2, focal_sets="full", random_state=seed)
            .fit(X, constraints=drawn)
            .labels_,
        )


figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
for name, scores_of, colour in (
    ("asked", active_scores, "#D55E00"),
    ("random pairs", random_scores, "#0072B2"),
):
    scores = [
        list(scores_of(*make_bananas(200, random_state=seed), seed))
        for seed in range(1, 4)
    ]
    ax.plot(counts, np.transpose(scores), color=colour, linewidth=0.6, alpha=0.6)
    ax.plot(counts, np.mean(scores, axis=0), color=colour, linewidth=2.2, label=name)
ax.set(xlabel="questions", ylabel="adjusted Rand index", ylim=(0, 1.02))
ax.legend(frameon=False, loc="lower right")
plt.show()
