"""
RECM on sets: birds, mammals, fish, and a platypus
==================================================

An animal is a set of traits here. Two animals are the more alike the more of their traits they share. That is all
`~evlearn.cluster.RECM` needs: dissimilarities of pairs, and no coordinates. It finds a prototype for each kind of
animal, and says who is between two kinds, and who is of none.
"""

import matplotlib.pyplot as plt
import numpy as np

from evlearn.cluster import RECM
from evlearn.plotting import CredalPartitionDisplay

table = """
hen         feathers wings flies beak eggs two_legs warm lungs backbone
sparrow     feathers wings flies beak eggs two_legs warm lungs backbone sings
eagle       feathers wings flies beak eggs two_legs warm lungs backbone hunts claws
gull        feathers wings flies beak eggs two_legs warm lungs backbone swims hunts
owl         feathers wings flies beak eggs two_legs warm lungs backbone hunts claws night
swan        feathers wings flies beak eggs two_legs warm lungs backbone swims
ostrich     feathers wings beak eggs two_legs warm lungs backbone runs
penguin     feathers wings beak eggs two_legs warm lungs backbone swims hunts flippers
cat         fur milk four_legs teeth warm lungs backbone tail hunts claws runs
dog         fur milk four_legs teeth warm lungs backbone tail hunts claws runs
horse       fur milk four_legs teeth warm lungs backbone tail hooves runs
cow         fur milk four_legs teeth warm lungs backbone tail hooves horns
mouse       fur milk four_legs teeth warm lungs backbone tail night
bear        fur milk four_legs teeth warm lungs backbone hunts claws
bat         fur milk wings flies teeth warm lungs backbone night hunts
seal        fur milk flippers teeth warm lungs backbone tail hunts swims
dolphin     milk flippers fins teeth warm lungs backbone tail hunts swims
platypus    fur milk eggs beak four_legs warm lungs backbone tail swims claws
trout       scales fins gills eggs swims teeth backbone tail
herring     scales fins gills eggs swims backbone tail
carp        scales fins gills eggs swims backbone tail
pike        scales fins gills eggs swims teeth backbone tail hunts
tuna        scales fins gills eggs swims teeth backbone tail hunts
cod         scales fins gills eggs swims teeth backbone tail hunts
shark       fins gills swims teeth tail hunts backbone
eel         fins gills eggs swims teeth backbone night
ant         six_legs eggs stings
jellyfish   stings swims
"""
traits = {
    name: set(others) for name, *others in map(str.split, table.strip().splitlines())
}
names = list(traits)


# %%
# The dissimilarity of Jaccard is the share of traits that only one of two animals has.


def jaccard(first, second):
    return 1 - len(first & second) / len(first | second)


D = np.array(
    [[jaccard(traits[first], traits[second]) for second in names] for first in names]
)
print(
    f"cat and dog {D[8, 9]:.2f}, cat and hen {D[8, 0]:.2f}, cat and platypus "
    f"{D[8, 17]:.2f}"
)

# %%
# RECM thinks of dissimilarities as distances between points that nobody sees. Jaccard's are no distances between
# points, but their square roots are. So the matrix holds *squared* distances, and ``squared_input`` says so. With
# ``nonmetric="shift"``, ``shift_`` says how far a matrix is from distances of points; 0 means that it holds such.

for squared in (False, True):
    tried = RECM(
        3,
        alpha=0.3,
        beta=1.3,
        metric="precomputed",
        squared_input=squared,
        nonmetric="shift",
        random_state=0,
    ).fit(D)
    print(f"squared_input={squared!s:<6} shift_ {tried.shift_:.3f}")

# %%
# Three clusters. With a small ``alpha``, sets of two clusters are nearly as welcome as single ones, and who is
# farther than ``delta`` from all is an outlier. With the default ``beta`` a warning would say that so few animals
# might be one cloud as well; we know that they are not, and give a number. Clusters have numbers too; a hen,
# a cat and a trout give them names.

model = RECM(
    n_clusters=3,
    alpha=0.3,
    beta=1.3,
    delta=0.65,
    metric="precomputed",
    squared_input=True,
    random_state=0,
).fit(D)
kinds = ["bird", "mammal", "fish"]
order = model.labels_[[names.index(name) for name in ("hen", "cat", "trout")]]
partition = model.credal_partition_.permute_clusters(order).rename(
    cluster_names=kinds, sample_names=names
)
partition.summary()

# %%
# Torn animals and outliers by name:

for name, candidates in zip(names, partition.verdict().candidates, strict=True):
    if candidates.sum() != 1:
        print(
            f"{name:<10}", " or ".join(np.array(kinds)[candidates]) or "none of these"
        )

# %%
# A map of the animals. Points whose distances are about as large as the dissimilarities say come from the two
# largest eigenvalues of the centred matrix (classical scaling). RECM has not seen them.

products = -0.5 * (D - D.mean(axis=0) - D.mean(axis=1)[:, None] + D.mean())
values, vectors = np.linalg.eigh(products)
points = vectors[:, [-1, -2]] * np.sqrt(values[[-1, -2]])

figure, axes = plt.subplots(figsize=(8.5, 6), layout="constrained")
CredalPartitionDisplay.from_partition(partition, points, ax=axes)
for name in ("penguin", "ant", "jellyfish", "shark", "dolphin", "seal"):
    axes.annotate(
        name, points[names.index(name)], xytext=(8, -3), textcoords="offset points"
    )
for name in ("bat", "eel"):
    axes.annotate(
        name,
        points[names.index(name)],
        xytext=(-8, -3),
        textcoords="offset points",
        ha="right",
    )
axes.annotate(
    "platypus",
    points[names.index("platypus")],
    xytext=(0, 9),
    textcoords="offset points",
)
axes.set_aspect("equal", adjustable="datalim")
axes.set(xlabel="first dimension", ylabel="second dimension")
plt.show()

# %%
# The masses of some of them. The largest mass of the dolphin is on the set of mammals and fish: its traits leave
# both open.

shown = [
    "hen",
    "penguin",
    "cat",
    "seal",
    "bat",
    "platypus",
    "dolphin",
    "trout",
    "eel",
    "ant",
    "jellyfish",
]
masses = partition.masses[[names.index(name) for name in shown]]
figure, axes = plt.subplots(figsize=(7.5, 5), layout="constrained")
axes.imshow(masses, cmap="Blues", vmin=0, vmax=1, aspect="auto")
for (row, column), mass in np.ndenumerate(masses):
    if mass >= 0.05:
        axes.text(
            column,
            row,
            f"{mass:.2f}",
            ha="center",
            va="center",
            color="white" if mass > 0.6 else "black",
        )
labels = [
    label.strip("{}").replace(",", " or ") for label in partition.focal_sets.labels
]
axes.set_xticks(
    range(len(labels)), labels, rotation=40, ha="right", rotation_mode="anchor"
)
axes.set_yticks(range(len(shown)), shown)
plt.show()

# %%
# Prototypes are weighted means of animals. The typical ones have the largest weights.

for kind, weights in zip(kinds, model.prototype_weights_[order], strict=True):
    typical = np.argsort(-weights, kind="stable")[:3]
    print(f"{kind:<7}", ", ".join(f"{names[k]} {weights[k]:.2f}" for k in typical))

# %%
# New animals are compared with the known ones: `~evlearn.cluster.RECM.predict_mass` takes their dissimilarities to
# all of these, squared or not as in the fit.

new = {
    "duck": {
        "feathers",
        "wings",
        "flies",
        "beak",
        "eggs",
        "two_legs",
        "warm",
        "lungs",
        "backbone",
        "swims",
    },
    "whale": {
        "milk",
        "flippers",
        "fins",
        "warm",
        "lungs",
        "backbone",
        "tail",
        "swims",
        "hunts",
    },
    "spider": {"eight_legs", "eggs", "hunts"},
}
to_known = np.array(
    [[jaccard(some, traits[name]) for name in names] for some in new.values()]
)
predicted = model.predict_mass(to_known).permute_clusters(order)
predicted.rename(cluster_names=kinds, sample_names=list(new)).to_frame()[
    ["cluster", "assignment"]
]
