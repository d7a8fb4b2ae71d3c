"""
RECM on sets of traits
======================

In this example, animals are sets of traits, and the dissimilarity of 2 animals depends on the traits that they
share. `~evlearn.cluster.RECM` requires only dissimilarities of pairs, and no coordinates. It finds a prototype for
each kind of animal, and identifies animals between 2 kinds and outliers."""

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
    name: set(members) for name, *members in map(str.split, table.strip().splitlines())
}
names = list(traits)


# %%
# The Jaccard dissimilarity is the fraction of traits that only one of 2 animals has.


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
# RECM interprets dissimilarities as distances between unknown points. The Jaccard dissimilarities are not such
# distances, but their square roots are. The matrix therefore contains *squared* distances, which is specified by
# ``squared_input``. With ``nonmetric="shift"``, ``shift_`` measures how far the matrix is from distances of
# points; 0 means that it contains such distances.

for squared in (False, True):
    model = RECM(
        3,
        alpha=0.3,
        beta=1.3,
        metric="precomputed",
        squared_input=squared,
        nonmetric="shift",
        random_state=0,
    ).fit(D)
    print(f"squared_input={squared!s:<6} shift_ {model.shift_:.3f}")

# %%
# Fit 3 clusters. A small ``alpha`` reduces the cost of sets of 2 clusters, and animals with a distance larger than
# ``delta`` from all clusters are outliers. The default of ``beta`` would result in a warning that so few animals
# might form a single cluster, so we set a value. The clusters are named after the kinds of a hen, a cat and a
# trout.

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
# Print the torn animals and the outliers.

for name, candidates in zip(names, partition.verdict().candidates, strict=True):
    if candidates.sum() != 1:
        print(
            f"{name:<10}", " or ".join(np.array(kinds)[candidates]) or "none of these"
        )

# %%
# Plot the animals. The coordinates are computed by classical scaling, from the 2 largest eigenvalues of the
# centered matrix; RECM does not use them.

products = -0.5 * (D - D.mean(axis=0) - D.mean(axis=1)[:, None] + D.mean())
values, vectors = np.linalg.eigh(products)
points = vectors[:, [-1, -2]] * np.sqrt(values[[-1, -2]])

figure, axes = plt.subplots(figsize=(8.5, 6), layout="constrained")
CredalPartitionDisplay.from_result(partition, points, ax=axes)
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
# Plot the masses of some animals. The largest mass of the dolphin is on the set of mammals and fish, because its
# traits are compatible with both.

selected = [
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
masses = partition.masses[[names.index(name) for name in selected]]
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
axes.set_yticks(range(len(selected)), selected)
plt.show()

# %%
# The prototypes are weighted means of animals. Typical animals have the largest weights.

for kind, weights in zip(kinds, model.prototype_weights_[order], strict=True):
    typical = np.argsort(-weights, kind="stable")[:3]
    print(f"{kind:<7}", ", ".join(f"{names[k]} {weights[k]:.2f}" for k in typical))

# %%
# New animals are compared with the training animals: `~evlearn.cluster.RECM.predict_mass` requires their
# dissimilarities to all of these, squared or not as in the fit.

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
dissimilarities = np.array(
    [[jaccard(members, traits[name]) for name in names] for members in new.values()]
)
predicted = model.predict_mass(dissimilarities).permute_clusters(order)
predicted.rename(cluster_names=kinds, sample_names=list(new)).to_frame()[
    ["cluster", "assignment"]
]
