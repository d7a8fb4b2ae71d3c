"""
CECM: which clusters do you mean?
=================================

Four groups of samples, and two clusters wanted. Left and right, or bottom and top? The data do not say, but a few
pairs of samples that belong together, or do not, can. `~evlearn.cluster.CECM` is evidential c-means that listens
to such constraints.
"""

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
wishes = {
    "left and right": np.repeat([0, 1, 0, 1], 50),
    "bottom and top": np.repeat([0, 0, 1, 1], 50),
}

# %%
# Ten pairs for each of the two wishes, drawn at random, of 19,900 pairs:

constraints = {
    name: PairwiseConstraints.sample(wish, 10, random_state=0)
    for name, wish in wishes.items()
}
for name, given in constraints.items():
    print(f"{name}: {given}")

# %%
# With ``metric="adaptive"`` clusters may be long, which both wishes need. Several starts help to find what the
# constraints mean, because the first one does not know them. Solid lines are must-links and dashed ones
# cannot-links; one that is violated would be thick and red. Stars are prototypes, and ellipses show the metrics:
# points on them are all as far from the star.


def show_metric(model, axes, size=1.2):
    for centre, metric in zip(model.cluster_centers_, model.metrics_, strict=True):
        values, vectors = np.linalg.eigh(metric)
        width, height = 2 * size / np.sqrt(values)
        angle = np.degrees(np.arctan2(vectors[1, 0], vectors[0, 0]))
        axes.add_patch(
            Ellipse(centre, width, height, angle=angle, fill=False, linewidth=1.5)
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
for axes, (name, given) in zip(grid, cases.items(), strict=True):
    model = CECM(n_clusters=2, metric="adaptive", n_init=10, random_state=0).fit(
        X, constraints=given
    )
    CredalPartitionDisplay.from_estimator(model, X, ax=axes, hulls=False, legend=False)
    show_metric(model, axes)
    if given is not None:
        ConstraintsDisplay.from_constraints(
            given, X, labels=model.labels_, ax=axes, legend=False
        )
    axes.set(title=name, aspect="equal")
    axes.label_outer()
plt.show()

# %%
# Masses say more than labels. Samples in constraints become surer than their distances make them, and the others
# follow the prototypes. Ten constraints were enough for nearly all of the 200 samples:

for name, given in constraints.items():
    model = CECM(n_clusters=2, metric="adaptive", n_init=10, random_state=0).fit(
        X, constraints=given
    )
    print(
        f"{name}: adjusted Rand index "
        f"{adjusted_rand_score(wishes[name], model.labels_):.2f}"
    )
    print(model.credal_partition_.summary(), "\n")

# %%
# How many constraints does it take? Fisher's irises have three species, two of which touch. Half of the flowers
# are for fitting, with constraints among them; the others are new, and their species is predicted. Lines are means
# of five draws of flowers and constraints.

irises = load_iris()
flowers, species = StandardScaler().fit_transform(irises.data), irises.target
counts = [0, 10, 20, 40, 60, 80, 100]
figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
for metric, colour in (("euclidean", "#E69F00"), ("adaptive", "#0072B2")):
    scores = np.empty((2, len(counts), 5))
    for draw in range(5):
        order = np.random.default_rng(draw).permutation(150)
        old, new = order[:75], order[75:]
        for place, count in enumerate(counts):
            given = PairwiseConstraints.sample(species[old], count, random_state=draw)
            model = CECM(n_clusters=3, metric=metric, random_state=0).fit(
                flowers[old], constraints=given
            )
            scores[0, place, draw] = adjusted_rand_score(species[old], model.labels_)
            scores[1, place, draw] = adjusted_rand_score(
                species[new], model.predict(flowers[new])
            )
    for part, style, who in (
        (scores[0], "o-", "in the fit"),
        (scores[1], "s--", "new"),
    ):
        axes.plot(
            counts, part.mean(axis=1), style, color=colour, label=f"{metric}, {who}"
        )
axes.set(xlabel="constraints", ylabel="adjusted Rand index", ylim=(0.4, 1.01))
axes.legend(frameon=False, loc="lower right")
plt.show()

# %%
# With round clusters, constraints are met by their own samples, but hardly change what is said about new ones: the
# border between two prototypes is straight and halfway, wherever they are. With adaptive metrics they show how the
# clusters lie, and new samples profit.
