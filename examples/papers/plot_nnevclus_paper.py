"""
Figures of the NN-EVCLUS paper
==============================

:cite:t:`denoeux2021nnevclus` explains EVCLUS before replacing it by a neural network. This page shows the figures
about EVCLUS, the number of clusters, constraints, and the comparison of methods. Those about the network have
separate pages: Figures 8 to 13 are in :doc:`/gallery/features/plot_nn_evclus`, Figures 18 to 21 in
:doc:`/gallery/knowledge/plot_nn_evclus_ring`, and Figures 16, 17 and 20b in
:doc:`/gallery/knowledge/plot_metric_learning`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from evlearn import CredalPartition
from evlearn.cluster import BPEC, CCM, ECM, EVCLUS, FocalFamily, Quantile
from evlearn.constraints import PairwiseConstraints
from evlearn.datasets import load_butterfly, make_core_and_ring, make_fourclass
from evlearn.plotting import (
    BeliefPeaksDisplay,
    ComparisonDisplay,
    ConstraintsDisplay,
    CredalPartitionDisplay,
    MassesDisplay,
    ObjectiveDisplay,
    PairsDisplay,
)

# %%
# Figure 1: the butterfly
# -----------------------
#
# For each of 12 samples, EVCLUS computes masses of the empty set (∅), of 2 clusters, and of the set of both (Ω).
# In the paper, sample 6 "has the largest mass assigned to Ω", and sample 12, "which is an outlier, has the largest
# mass assigned to the empty set". Our result is the same; the masses agree with Table 1 of the paper within 0.01.
# (The caption of the figure mentions ECM, but text and table are about EVCLUS.) The paper does not specify ``d0``,
# the distance from which on 2 samples are considered to be in different clusters. A value of 11 reproduces its
# table.

butterfly = load_butterfly()
model = EVCLUS(n_clusters=2, focal_sets="full", d0=11, random_state=0).fit(
    butterfly.data
)
partition = model.credal_partition_.rename(sample_names=butterfly.sample_names)

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.4), layout="constrained")
CredalPartitionDisplay.from_result(partition, butterfly.data, rule="max_mass", ax=left)
MassesDisplay.from_result(partition, ax=right)
left.set_title("Figure 1a: partition by EVCLUS")
right.set_title("Figure 1b: masses")
plt.show()

# %%
# Print the samples by the set with the largest mass (Example 2 of the paper lists the same sets):

for name, members in zip(
    partition.cluster_names, partition.to_rough(kind="lower").T, strict=True
):
    print(
        f"surely in cluster {name}: "
        f"{', '.join(np.array(partition.sample_names)[members])}"
    )
torn = partition.to_rough().all(axis=1)
print(f"torn between both: {', '.join(np.array(partition.sample_names)[torn])}")
print(
    f"outliers: "
    f"{', '.join(np.array(partition.sample_names)[~partition.to_rough().any(axis=1)])}"
)

# %%
# Figures 2 and 3: four classes
# -----------------------------
#
# The data are 400 samples in 4 groups with Student distributions. Figure 2 shows the hulls of the samples that
# surely belong to a cluster (solid) and of those that possibly do (dashed), and the outliers. Ours has the same 4
# pairs of hulls, and outliers all around. Our data are another random draw. Colors are the clusters; in the paper
# they are the true classes. The paper draws 100 partners for each sample, which is also a partner of about 100
# others; ``n_partners`` counts both.

X, y = make_fourclass(400, random_state=0)
settings = {
    "focal_sets": "pairs",
    "d0": Quantile(0.9),
    "n_partners": 200,
    "loss": "mse",
    "init": "random",
    "n_init": 5,
}
model = EVCLUS(n_clusters=4, **settings, random_state=0).fit(X)

figure, axes = plt.subplots(figsize=(8, 6), layout="constrained")
CredalPartitionDisplay.from_result(model, X, rule="max_mass", ax=axes)
axes.set(aspect="equal", title="Figure 2: lower and upper approximations")
plt.show()

# %%
# According to the paper, the fit (Figure 3a) "converges in a few dozens of iterations", with a final loss of
# 0.00475. So does ours, with a final loss of 0.0041 for these data. Figure 3b is the Shepard diagram, with one
# point per pair of samples: its transformed dissimilarity and its degree of conflict. The points are close to the
# diagonal. Our diagram shows their density.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
ObjectiveDisplay.from_estimator(model, ax=left)
PairsDisplay.from_estimator(model, ax=right)
left.set_title("Figure 3a: loss")
right.set_title("Figure 3b: Shepard diagram")
plt.show()

# %%
# Figure 7: number of clusters
# ----------------------------
#
# The δ-Bel graph with 50 neighbors. In the paper, "the four cluster centers correspond to the four points in the
# upper-right corner of the graph". Ours has 4 peaks, too.

figure, axes = plt.subplots(figsize=(7, 4.6), layout="constrained")
display = BeliefPeaksDisplay.from_data(X, n_neighbors=50, ax=axes)
axes.set_title(f"Figure 7: {len(display.peaks)} peaks")
plt.show()

# %%
# Figure 15: constraints on a ring and its core
# ---------------------------------------------
#
# The data are a round cluster inside a ring, with constraints on 50 pairs of samples. In the paper there are 22
# must-links and 28 cannot-links; the titles contain the numbers of our draw. Colors are the true clusters.

X, y = make_core_and_ring(500, random_state=0)
constraints = PairwiseConstraints.sample(y, 50, random_state=0)
parts = {
    f"Figure 15a: {constraints.n_must_link} must-links": PairwiseConstraints(
        must_link=constraints.must_link
    ),
    f"Figure 15b: {constraints.n_cannot_link} cannot-links": PairwiseConstraints(
        cannot_link=constraints.cannot_link
    ),
}
figure, grid = plt.subplots(1, 2, figsize=(10, 4.8), layout="constrained", sharey=True)
for axes, (title, part) in zip(grid, parts.items(), strict=True):
    CredalPartitionDisplay.from_result(
        CredalPartition.from_hard(y), X, ax=axes, hulls=False, legend=False
    )
    ConstraintsDisplay.from_constraints(part, X, ax=axes, legend=False)
    axes.set(title=title, aspect="equal")
    axes.label_outer()
plt.show()

# %%
# Constraints are necessary, because opposite points of the ring are far away from each other, although they are in
# the same cluster. Distances alone do not reveal the ring. EVCLUS satisfies all 50 constraints, but they hardly
# affect the other samples. The paper explains that constraints "do not naturally propagate to neighboring
# samples". It therefore transforms the distances and adds a network, as in
# :doc:`/gallery/knowledge/plot_nn_evclus_ring`.

for name, pairs in {"no constraints": None, "50 constraints": constraints}.items():
    model = EVCLUS(
        n_clusters=2, focal_sets="full", d0=Quantile(0.9), random_state=0
    ).fit(X, constraints=pairs)
    violated = len(constraints.violations(model.labels_))
    print(
        f"{name}: {violated} violated, adjusted Rand index "
        f"{adjusted_rand_score(y, model.labels_):.2f}"
    )

# %%
# Figures 22 and 23: comparison of partitions
# -------------------------------------------
#
# Figure 22 explains the partial order: a partition dominates another one if it is more consistent with the true
# classes and less nonspecific. Partitions to the lower left or upper right of *M* are not comparable with it.

display = ComparisonDisplay(
    names=[
        "M",
        "dominates M",
        "dominated by M",
        "not comparable",
        "not comparable either",
    ],
    nonspecificities=np.array([0.5, 0.3, 0.7, 0.25, 0.75]),
    consistencies=np.array([0.5, 0.7, 0.3, 0.2, 0.8]),
)
figure, axes = plt.subplots(figsize=(6.5, 4.6), layout="constrained")
display.plot(ax=axes, legend=False)
axes.set_title("Figure 22: partial order")
plt.show()

# %%
# Figures 23a and 23b compare methods on Wine and Iris. We show the methods that are in the library. The paper does
# not specify whether features were standardized. Standardized features reproduce its numbers, except for EVCLUS on
# Iris, which requires raw features and ``d0`` at the 0.6-quantile. The numbers of BPEC are reproduced with round
# clusters, not with the adaptive metric named in the paper. ECM and CCM with belief peaks as initialization have
# the same results as without, and are omitted.

data = {"Wine": load_wine(), "Iris": load_iris()}
published = {
    "Wine": {"EVCLUS": 0.91, "ECM": 0.85, "CCM": 0.45, "BPEC": 0.80},
    "Iris": {"EVCLUS": 0.77, "ECM": 0.62, "CCM": 0.63, "BPEC": 0.64},
}
figure, grid = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
for axes, (name, (raw, y)) in zip(
    grid,
    ((name, (dataset.data, dataset.target)) for name, dataset in data.items()),
    strict=True,
):
    X = StandardScaler().fit_transform(raw)
    evclus = EVCLUS(
        n_clusters=3, focal_sets="full", d0=Quantile(0.9), n_init=2, random_state=0
    )
    common = {"n_clusters": 3, "delta": 5, "random_state": 0}
    with_omega = FocalFamily("pairs", include_omega=True)
    without_omega = FocalFamily("pairs", include_omega=False)
    models = {
        "EVCLUS": evclus.fit(X)
        if name == "Wine"
        else evclus.set_params(d0=Quantile(0.6)).fit(raw),
        "ECM": ECM(**common, focal_sets=without_omega, alpha=1, beta=2).fit(X),
        "CCM": CCM(**common, focal_sets=with_omega, beta=2).fit(X),
        "BPEC": BPEC(
            **common,
            focal_sets=without_omega,
            alpha=1,
            beta=2,
            n_neighbors=30,
            metric="euclidean",
        ).fit(X),
    }
    partitions = {method: model.credal_partition_ for method, model in models.items()}
    ComparisonDisplay.from_partitions(partitions, y, ax=axes, legend=False)
    axes.set_title("Figure 23a: Wine" if name == "Wine" else "Figure 23b: Iris")
    for method, model in models.items():
        score = adjusted_rand_score(y, model.labels_)
        print(
            f"{name}, {method}: adjusted Rand index {score:.2f}, in Table 3 "
            f"{published[name][method]:.2f}"
        )
plt.show()

# %%
# Points on the dashed line are not dominated. EVCLUS has the lowest nonspecificity and the lowest consistency with
# the classes, partly because mass on ∅ is not consistent with any class; CCM has the highest nonspecificity, and
# on Wine BPEC is dominated by ECM (hollow). The text of the paper does not discuss these methods on Wine and Iris,
# but NN-EVCLUS and Bootclus. CCM on Wine is worse here than in the paper: 2 of its prototypes coincide, which
# results in a warning. The default ``beta`` avoids this problem, with an adjusted Rand index of 0.91.
