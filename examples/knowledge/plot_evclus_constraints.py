"""
EVCLUS with pairwise constraints
================================

The data consist of 2 intertwined clusters that are not compact, so distances alone do not separate them.
Constraints do: pairs of samples that are known to be in the same cluster (must-link), or in different clusters
(cannot-link).
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
# We draw 100 of 79,800 pairs. `~evlearn.constraints.PairwiseConstraints.expand` copies each constraint to the 5
# nearest unconstrained pairs. Some of the new constraints are wrong, where the bananas touch:

expanded = constraints.expand(X, n_neighbors=5)
print(
    f"{len(constraints)} constraints, {len(expanded)} expanded, "
    f"{len(expanded.violations(y))} of them wrong"
)

# %%
# We fit the same model without constraints, with constraints, and with expanded constraints. The first panel shows
# the constraints: solid lines are must-links, dashed ones cannot-links, and red ones are violated by the
# unconstrained model.

cases = {
    "no constraints": None,
    "100 constraints": constraints,
    f"{len(expanded)} expanded": expanded,
}
figure, axes = plt.subplots(
    2, 2, figsize=(9.5, 8), layout="constrained", sharex=True, sharey=True
)
for ax, (name, pairs) in zip(axes.flat[1:], cases.items(), strict=True):
    model = EVCLUS(n_clusters=2, focal_sets="full", random_state=0).fit(
        X, constraints=pairs
    )
    CredalPartitionDisplay.from_result(
        model, X, ax=ax, hulls=False, legend=ax is axes[0, 1]
    )
    ax.set(
        title=f"{name}: adjusted Rand index {adjusted_rand_score(y, model.labels_):.2f}"
    )
    ax.label_outer()
    if pairs is None:
        ConstraintsDisplay.from_constraints(
            constraints, X, labels=model.labels_, ax=axes[0, 0], legend=False
        )
axes[0, 0].scatter(*X.T, s=12, c="0.75", linewidths=0)
axes[0, 0].set(title="the constraints", ylabel="feature 1")
axes[0, 0].legend(loc="lower right", fontsize="small", framealpha=0.8)
plt.show()

# %%
# The result improves with the number of constraints, and with expansion. Dots are 5 draws of constraints each,
# lines their medians.

counts = [50, 100, 200, 400]
figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
for expand, color, marker in ((False, "#0072B2", "o"), (True, "#D55E00", "s")):
    scores = np.empty((len(counts), 5))
    for (row, seed), _ in np.ndenumerate(scores):
        pairs = PairwiseConstraints.sample(y, counts[row], random_state=seed)
        pairs = pairs.expand(X) if expand else pairs
        model = EVCLUS(n_clusters=2, focal_sets="full", random_state=0)
        scores[row, seed] = adjusted_rand_score(
            y, model.fit(X, constraints=pairs).labels_
        )
    name = "expanded" if expand else "original"
    axes.plot(counts, np.median(scores, axis=1), color=color, marker=marker, label=name)
    axes.scatter(np.repeat(counts, 5), scores, s=9, color=color, alpha=0.5)
axes.set(
    xlabel="number of constraints",
    ylabel="adjusted Rand index",
    ylim=(0, 1),
    xscale="log",
)
axes.set_xticks(counts, counts)
axes.minorticks_off()
axes.legend(frameon=False, loc="lower right")
plt.show()
