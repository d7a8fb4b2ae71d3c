"""
Figures of the lecture on clustering
====================================

Thierry Denœux's lecture *Workshop on belief functions: Clustering* (Chiang Mai, 2017) is a tour of evidential
clustering. This page shows its figures about credal partitions, ECM, CECM and EVCLUS. They have no numbers, so our
titles contain the title of the slide. Statements of the slides about their figures are quoted.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from evlearn import CredalPartition
from evlearn.belief import FocalSets
from evlearn.cluster import CECM, ECM, EVCLUS, Quantile
from evlearn.constraints import PairwiseConstraints
from evlearn.datasets import load_butterfly, make_fourclass
from evlearn.plotting import (
    ConstraintsDisplay,
    CredalPartitionDisplay,
    MassesDisplay,
    ObjectiveDisplay,
    PairsDisplay,
)

# %%
# Example of a credal partition
# -----------------------------
#
# The example contains 4 samples of the butterfly. Sample 3 is surely in the first cluster; sample 5 has half of
# its mass on this cluster and half on the set of both; sample 6 has all its mass on the set of both, and sample 12
# nearly all its mass on the empty set. The masses are those of the slide.

masses = [[0, 1, 0, 0], [0, 0.5, 0, 0.5], [0, 0, 0, 1], [0.9, 0, 0.1, 0]]
example = CredalPartition(masses, FocalSets.full(["ω₁", "ω₂"]), ["3", "5", "6", "12"])
figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
MassesDisplay.from_result(example, ax=axes)
axes.set_title("Credal partition: example")
plt.show()

# %%
# Butterfly dataset by ECM and EVCLUS
# -----------------------------------
#
# With both methods, sample 6 is torn between the wings, and sample 12 is an outlier. The text of the slides does
# not contain the values of the figures; we chose ``delta`` and ``d0``.

butterfly = load_butterfly()
models = {
    "Butterfly dataset (ECM)": ECM(
        n_clusters=2, focal_sets="full", alpha=1, beta=2, delta=4, random_state=0
    ).fit(butterfly.data),
    "Butterfly example (EVCLUS)": EVCLUS(
        n_clusters=2, focal_sets="full", d0=11, random_state=0
    ).fit(butterfly.data),
}
figure, grid = plt.subplots(1, 2, figsize=(12, 4), layout="constrained", sharey=True)
for axes, (title, model) in zip(grid, models.items(), strict=True):
    partition = model.credal_partition_.rename(sample_names=butterfly.sample_names)
    MassesDisplay.from_result(partition, ax=axes, legend=axes is grid[1])
    axes.set_title(title)
    axes.label_outer()
plt.show()

# %%
# The Shepard diagram of the EVCLUS fit. "Larger degrees of conflict correspond to larger dissimilarities": the 66
# pairs are close to the diagonal.

figure, axes = plt.subplots(figsize=(5.5, 4.6), layout="constrained")
PairsDisplay.from_estimator(models["Butterfly example (EVCLUS)"], ax=axes)
axes.set_title("Butterfly example: Shepard diagram")
plt.show()

# %%
# 4-class data set by ECM
# -----------------------
#
# ECM with all 16 sets of clusters. Our data are another random draw, and we chose the parameters, because the
# slide does not contain any.

X, y = make_fourclass(400, random_state=0)
model = ECM(
    n_clusters=4, focal_sets="full", alpha=2, beta=2, delta=20**0.5, random_state=0
).fit(X)
figure, axes = plt.subplots(figsize=(8, 6), layout="constrained")
CredalPartitionDisplay.from_result(model, X, rule="max_mass", ax=axes)
axes.set(aspect="equal", title="4-class data set (ECM)")
plt.show()

# %%
# Determining the number of groups
# --------------------------------
#
# "If c is too small or too high, the mass will be distributed to subsets with higher cardinality or to ∅", so
# nonspecificity is large. It should be smallest at the true number, which is 4, and our result agrees. It is not
# reliable on its own: with ``delta=10`` the minimum is at 2.

numbers = range(2, 7)
values = [
    ECM(
        number,
        focal_sets="full",
        alpha=2,
        beta=2,
        delta=20**0.5,
        init="k-means++",
        n_init=3,
        random_state=0,
    )
    .fit(X)
    .credal_partition_.nonspecificity()
    for number in numbers
]
figure, axes = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
axes.plot(numbers, values, "o-", color="#0072B2")
axes.set(
    title="Results for the 4-class dataset",
    xlabel="number of clusters, c",
    ylabel="nonspecificity, N*(c)",
)
axes.set_xticks(numbers)
plt.show()

# %%
# Constrained evidential c-means: results
# ---------------------------------------
#
# The slides choose pairs for queries: the first sample is "classified with high uncertainty", the second "with low
# uncertainty". The answer is a must-link or a cannot-link. The text does not contain the data and the values of
# the figure. We use the Iris data: in each round, the 4 samples with the largest doubt are paired with the surest
# sample of each cluster.

iris = load_iris()
X, y = StandardScaler().fit_transform(iris.data), iris.target
queries, scores = [], []
for _ in range(5):
    constraints = PairwiseConstraints(
        must_link=[pair for pair in queries if y[pair[0]] == y[pair[1]]],
        cannot_link=[pair for pair in queries if y[pair[0]] != y[pair[1]]],
    )
    model = CECM(n_clusters=3, metric="adaptive", random_state=0).fit(
        X, constraints=constraints
    )
    scores.append(adjusted_rand_score(y, model.labels_))
    doubt = model.credal_partition_.nonspecificity(per_sample=True)
    surest = [
        np.where(model.labels_ == cluster, doubt, np.inf).argmin()
        for cluster in range(3)
    ]
    doubt[
        [number for pair in queries for number in pair] + surest
    ] = -1  # excludes repetitions
    queries += [
        (number, center) for number in np.argsort(-doubt)[:4] for center in surest
    ]
figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
CredalPartitionDisplay.from_result(model, X, rule="max_mass", hulls=False, ax=axes)
ConstraintsDisplay.from_constraints(
    constraints, X, labels=model.labels_, ax=axes, legend=False
)
axes.set_title(f"CECM: {len(constraints)} pairs, selected by doubt")
plt.show()

# %%
# The index increases with the number of answers. An equal number of random pairs has the same effect here:

random_pairs = PairwiseConstraints.sample(y, len(constraints), random_state=0)
model = CECM(n_clusters=3, metric="adaptive", random_state=0).fit(
    X, constraints=random_pairs
)
print(
    "adjusted Rand index after each round:",
    ", ".join(f"{score:.2f}" for score in scores),
)
print(f"{len(random_pairs)} random pairs: {adjusted_rand_score(y, model.labels_):.2f}")

# %%
# Example with a four-class dataset (2000 samples)
# ------------------------------------------------
#
# EVCLUS without pairs of clusters: the focal sets are single clusters, the set of all clusters, and the empty set.
# The Shepard diagram shows 2 million pairs.

X, y = make_fourclass(2000, random_state=0)
model = EVCLUS(n_clusters=4, d0=Quantile(0.9), n_partners="all", random_state=0).fit(X)
figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5), layout="constrained")
CredalPartitionDisplay.from_result(model, X, rule="max_mass", ax=left)
PairsDisplay.from_estimator(model, ax=right)
left.set(title="Four-class dataset: lower and upper approximations", aspect="equal")
right.set_title("Four-class dataset: Shepard diagram")
plt.show()

# %%
# Experiment 2: simulated data, n = 200
# -------------------------------------
#
# The slides show 20 fits of EVCLUS from random starts, with an early algorithm and with IRQP, which is also the
# algorithm of the library. The stress decreases within a few sweeps. The figure shows 5 starts, by sweeps instead
# of seconds. One of them converges to a local minimum with a higher stress; therefore the default initialization
# is the best of several short fits.

X, y = make_fourclass(200, random_state=0)
figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
for seed in range(5):
    model = EVCLUS(
        n_clusters=4, d0=Quantile(0.9), init="random", random_state=seed
    ).fit(X)
    ObjectiveDisplay.from_estimator(model, name=f"start {seed}", ax=axes)
axes.set(title="Experiment 2: stress of 5 starts", xlabel="sweep", ylabel="stress")
plt.show()

# %%
# Sampling dissimilarities
# ------------------------
#
# EVCLUS on 10,000 samples, with k distances per sample instead of all. "There is usually some redundancy in a
# dissimilarity matrix": about 50 distances are sufficient for these data. The slides also show computing times,
# which are in our benchmarks.

X, y = make_fourclass(10000, random_state=0)
ks = [5, 10, 20, 50, 100]
scores = [
    adjusted_rand_score(
        y,
        EVCLUS(n_clusters=4, d0=Quantile(0.9), n_partners=k, random_state=0)
        .fit(X)
        .labels_,
    )
    for k in ks
]
figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
axes.plot(ks, scores, "o-", color="black")
axes.set(
    title="Simulated data, n = 10,000",
    xlabel="distances per sample, k",
    ylabel="adjusted Rand index",
)
axes.set_xscale("log")
axes.set_xticks(ks, ks)
axes.minorticks_off()
plt.show()

# %%
# Carefully selecting the focal sets
# ----------------------------------
#
# For 15 clusters, there are 105 pairs. "Idea: assign masses only to pairs of contiguous clusters." The first fit
# uses single clusters only; then pairs of mutual nearest neighbors are added, and the fit continues. The slides
# use the S2 data, which we replace by 15 round clusters. In the first panel, a sample between 2 clusters can only
# have mass on the set of all clusters; in the second panel, it can be torn between the 2.

random = np.random.default_rng(0)
centers = np.argwhere(np.ones((5, 3))) * 4 + random.uniform(-0.9, 0.9, (15, 2))
X, y = make_blobs(1500, centers=centers, cluster_std=0.9, random_state=0)
settings = {
    "n_clusters": 15,
    "n_partners": 100,
    "d0": Quantile(0.2),
    "n_init": 2,
    "random_state": 0,
}
first = EVCLUS(**settings, focal_sets="simple").fit(X)
final = EVCLUS(**settings, focal_sets="neighbor_pairs").fit(X)
figure, grid = plt.subplots(1, 2, figsize=(13, 5), layout="constrained", sharey=True)
for axes, (title, model) in zip(
    grid,
    {
        "Initial credal partition": first,
        "Final credal partition (q = 1)": final,
    }.items(),
    strict=True,
):
    CredalPartitionDisplay.from_result(model, X, rule="max_mass", ax=axes, legend=False)
    axes.set_title(title)
    axes.label_outer()
plt.show()
