"""
CECM with pairwise constraints
==============================

The data consist of 4 groups of samples, which can be divided into 2 clusters in 2 ways: left and right, or bottom
and top. Constraints on a few pairs of samples determine the desired clusters. `~evlearn.cluster.CECM` is a variant
of evidential c-means with such constraints."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from evlearn.cluster import CECM
from evlearn.constraints import PairwiseConstraints
from evlearn.plotting import ConstraintsDisplay, CredalPartitionDisplay

random = np.random.default_rng(0)
corners = np.array([[0, 0], [5, 0], [0, 4], [5, 4]])
X = np.repeat(corners, 50, axis=0) + 0.8 * random.standard_normal((200, 2))
targets = {
    "left and right": np.repeat([0, 1, 0, 1], 50),
    "bottom and top": np.repeat([0, 0, 1, 1], 50),
}

# %%
# Draw 10 pairs at random for each target, out of 19,900 pairs:

constraints = {
    name: PairwiseConstraints.sample(target, 10, random_state=0)
    for name, target in targets.items()
}
for name, pairs in constraints.items():
    print(f"{name}: {pairs}")

# %%
# With ``metric="adaptive"``, clusters may be elongated, which is necessary for both targets. Several starts are
# useful, because the initialization ignores the constraints. Solid lines are must-links and dashed lines
# cannot-links; violated ones would be thick and red. Stars are prototypes, and the ellipses show the metrics: all
# points of an ellipse have the same distance from the prototype.


def show_metric(model, axes, size=1.2):
    for center, metric in zip(model.cluster_centers_, model.metrics_, strict=True):
        values, vectors = np.linalg.eigh(metric)
        width, height = 2 * size / np.sqrt(values)
        angle = np.degrees(np.arctan2(vectors[1, 0], vectors[0, 0]))
        axes.add_patch(
            Ellipse(center, width, height, angle=angle, fill=False, linewidth=1.5)
        )
    axes.scatter(
        *model.cluster_centers_.T,
        s=130,
        marker="*",
        color="black",
        edgecolors="white",
        zorder=5,
    )


figure, grid = plt.subplots(
    1, 3, figsize=(12, 4.6), layout="constrained", sharex=True, sharey=True
)
cases = {"no constraints": None, **constraints}
for axes, (name, pairs) in zip(grid, cases.items(), strict=True):
    model = CECM(n_clusters=2, metric="adaptive", n_init=10, random_state=0).fit(
        X, constraints=pairs
    )
    CredalPartitionDisplay.from_result(model, X, ax=axes, hulls=False, legend=False)
    show_metric(model, axes)
    if pairs is not None:
        ConstraintsDisplay.from_constraints(
            pairs, X, labels=model.labels_, ax=axes, legend=False
        )
    axes.set(title=name, aspect="equal")
    axes.label_outer()
plt.show()

# %%
# Masses contain more information than labels. Samples in constraints are more certain than their distances imply,
# and the other samples follow the prototypes. Constraints on 10 pairs determine the clusters of nearly all of the
# 200 samples:

for name, pairs in constraints.items():
    model = CECM(n_clusters=2, metric="adaptive", n_init=10, random_state=0).fit(
        X, constraints=pairs
    )
    print(
        f"{name}: adjusted Rand index "
        f"{adjusted_rand_score(targets[name], model.labels_):.2f}"
    )
    print(model.credal_partition_.summary(), "\n")

# %%
# The last experiment studies the number of constraints on the Iris data, with 3 species, 2 of which overlap. Half
# of the samples are used to fit with constraints, and the species of the others are predicted. Lines are means
# over 5 draws of samples and constraints.

iris = load_iris()
flowers, species = StandardScaler().fit_transform(iris.data), iris.target
counts = [0, 10, 20, 40, 60, 80, 100]
figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
for metric, color in (("euclidean", "#E69F00"), ("adaptive", "#0072B2")):
    scores = np.empty((2, len(counts), 5))
    for draw in range(5):
        order = np.random.default_rng(draw).permutation(150)
        train, test = order[:75], order[75:]
        for column, count in enumerate(counts):
            pairs = PairwiseConstraints.sample(species[train], count, random_state=draw)
            model = CECM(n_clusters=3, metric=metric, random_state=0).fit(
                flowers[train], constraints=pairs
            )
            scores[0, column, draw] = adjusted_rand_score(species[train], model.labels_)
            scores[1, column, draw] = adjusted_rand_score(
                species[test], model.predict(flowers[test])
            )
    for part, style, samples in (
        (scores[0], "o-", "training samples"),
        (scores[1], "s--", "test samples"),
    ):
        axes.plot(
            counts, part.mean(axis=1), style, color=color, label=f"{metric}, {samples}"
        )
axes.set(xlabel="constraints", ylabel="adjusted Rand index", ylim=(0.4, 1.01))
axes.legend(frameon=False, loc="lower right")
plt.show()

# %%
# With the Euclidean metric, constraints determine the clusters of their samples, but hardly affect predictions,
# because the boundary between 2 prototypes is straight and halfway between them. With adaptive metrics,
# constraints determine the shapes of the clusters, and predictions improve.
