"""
EVCLUS with constraints: the bananas
====================================

Two intertwined clusters that are not compact. Distances alone do not show them. Constraints do: pairs of samples
known to be in the same cluster (must-link), or in different ones (cannot-link).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from evlearn.cluster import EVCLUS
from evlearn.constraints import PairwiseConstraints
from evlearn.datasets import make_bananas
from evlearn.plotting import ConstraintsDisplay, CredalPartitionDisplay

X, y = make_bananas(400, random_state=0)
constraints = PairwiseConstraints.sample(y, 100, random_state=0)
constraints

# %%
# A hundred pairs, of 79,800. `~evlearn.constraints.PairwiseConstraints.expand` hands each constraint on to the
# five nearest pairs that have none. Some of these guesses are wrong, where the bananas touch:

expanded = constraints.expand(X, n_neighbors=5)
print(
    f"{len(constraints)} constraints, {len(expanded)} expanded, "
    f"{len(expanded.violations(y))} of them wrong"
)

# %%
# The same model with no constraints, with all, and with the expanded ones. The first picture shows the
# constraints: solid lines are must-links, dashed ones cannot-links, and red ones are violated by the model that
# knows none.

cases = {
    "no constraints": None,
    "100 constraints": constraints,
    f"{len(expanded)} expanded": expanded,
}
figure, axes = plt.subplots(
    2, 2, figsize=(9.5, 8), layout="constrained", sharex=True, sharey=True
)
for ax, (name, given) in zip(axes.flat[1:], cases.items(), strict=True):
    model = EVCLUS(n_clusters=2, focal_sets="full", random_state=0).fit(
        X, constraints=given
    )
    CredalPartitionDisplay.from_estimator(
        model, X, ax=ax, hulls=False, legend=ax is axes[0, 1]
    )
    ax.set(
        title=f"{name}: adjusted Rand index {adjusted_rand_score(y, model.labels_):.2f}"
    )
    ax.label_outer()
    if given is None:
        ConstraintsDisplay.from_constraints(
            constraints, X, labels=model.labels_, ax=axes[0, 0], legend=False
        )
axes[0, 0].scatter(*X.T, s=12, c="0.75", linewidths=0)
axes[0, 0].set(title="the constraints", ylabel="feature 1")
axes[0, 0].legend(loc="lower right", fontsize="small", framealpha=0.8)
plt.show()

# %%
# More constraints help more, and so does expansion. Dots are five draws of constraints
# each, lines their medians.

counts = [50, 100, 200, 400]
figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
for expand, colour, marker in ((False, "#0072B2", "o"), (True, "#D55E00", "s")):
    scores = np.empty((len(counts), 5))
    for (row, seed), _ in np.ndenumerate(scores):
        given = PairwiseConstraints.sample(y, counts[row], random_state=seed)
        given = given.expand(X) if expand else given
        model = EVCLUS(n_clusters=2, focal_sets="full", random_state=0)
        scores[row, seed] = adjusted_rand_score(
            y, model.fit(X, constraints=given).labels_
        )
    name = "expanded" if expand else "given"
    axes.plot(
        counts, np.median(scores, axis=1), color=colour, marker=marker, label=name
    )
    axes.scatter(np.repeat(counts, 5), scores, s=9, color=colour, alpha=0.5)
axes.set(
    xlabel="constraints given", ylabel="adjusted Rand index", ylim=(0, 1), xscale="log"
)
axes.set_xticks(counts, counts)
axes.minorticks_off()
axes.legend(frameon=False, loc="lower right")
plt.show()
