"""
Figures of the lecture on evidential machine learning
=====================================================

Thierry Denœux's lecture *ML01: Evidential machine learning* (Compiègne, 2021) covers belief functions, classifiers
and clustering. This page shows examples and figures from all 3 parts. Its data about wheat seeds cannot be
distributed and are replaced by the Wine data: 178 wines from 3 growers.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from evlearn import CredalPartition
from evlearn.belief import FocalSets, MassFunction
from evlearn.classify import EvidentialNeuralClassifier
from evlearn.cluster import ECM, EVCLUS, Quantile
from evlearn.datasets import load_butterfly
from evlearn.plotting import (
    CredalPartitionDisplay,
    MassContourDisplay,
    MassesDisplay,
    PairsDisplay,
)
from evlearn.utils.parameters import with_switches

# %%
# Road scene analysis
# -------------------
#
# The object in front of a car may be grass (G), road (R), a tree (T), an obstacle (O) or the sky (S). A lidar
# reports "tree or obstacle", and is reliable with probability 0.9. A camera reports "grass or tree", and is
# reliable with probability 0.8. The remaining masses are on Ω, the set of all possibilities. Dempster's rule
# combines both sources. As on the slide, the result is 0.72 for tree, 0.18 for tree or obstacle, 0.08 for grass or
# tree, and 0.02 for Ω.

frame = ["G", "R", "T", "O", "S"]
lidar = MassFunction(frame, {"T,O": 0.9, "G,R,T,O,S": 0.1})
camera = MassFunction(frame, {"G,T": 0.8, "G,R,T,O,S": 0.2})
combination = lidar.combine(camera, "dempster")
combination

# %%
# Plot the masses as bars, one per source. The belief in a set is the mass that supports it, and the plausibility
# the mass that does not contradict it: the tree has a belief of 0.72 and a plausibility of 1.

sets = FocalSets(["T", "T,O", "G,T", "G,R,T,O,S"], frame)
sources = {"lidar": lidar, "camera": camera, "combination": combination}
table = CredalPartition(
    [source.to_array(sets) for source in sources.values()], sets, list(sources)
)
figure, axes = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
MassesDisplay.from_result(table, ax=axes)
axes.set(title="Road scene: two sources and their combination", xlabel="source")
plt.show()

print(
    f"tree: belief {combination.bel('T'):.2f}, plausibility {combination.pl('T'):.2f}"
)

# %%
# If the camera reports "grass or road" instead, the sources contradict each other. Their degree of conflict is
# 0.72, and the remaining masses are divided by 0.28. As on the slide, the result is 9/14, 4/14 and 1/14.

other = MassFunction(frame, {"G,R": 0.8, "G,R,T,O,S": 0.2})
print(f"conflict {lidar.conflict(other):.2f}")
combined = lidar.combine(other, "dempster")
print({name: f"{14 * combined[name]:.0f}/14" for name in combined})

# %%
# An evidential neural network on Iris
# ------------------------------------
#
# The slides show the output of the network in the plane of 2 features: the mass on each class, the mass on Ω, and
# the plausibility of each class. The text of the slides does not specify the features; we use those of the petals.
# The mass on each class is large in the region of its samples. Far away from all samples, the mass is on Ω, so
# each class is plausible. The loss is that of the slides, which compares plausibilities with labels.

iris = load_iris()
petals, names = iris.data[:, 2:], iris.target_names[iris.target]
network = EvidentialNeuralClassifier(6, tol=1e-4, random_state=0)
with_switches(network, loss_lambda=1, standardize=False)
network.fit(petals, names)
panels = [("mass", label) for label in network.focal_sets_.labels[1:]]
panels += [("plausibility", label) for label in network.focal_sets_.labels[1:4]]
figure, grid = plt.subplots(
    2, 4, figsize=(14, 6.4), layout="constrained", sharex=True, sharey=True
)
for axes, (quantity, label) in zip(grid.flat, panels, strict=False):
    MassContourDisplay.from_estimator(
        network,
        petals,
        of=quantity,
        sets=[label],
        eps=0.6,
        levels=np.arange(0.1, 1, 0.2),
        ax=axes,
        legend=False,
    )
    axes.set(xlabel="petal length (cm)", ylabel="petal width (cm)")
    axes.label_outer()
grid.flat[-1].set_axis_off()
plt.show()

# %%
# Butterfly dataset
# -----------------
#
# The slides show the masses of ECM and EVCLUS, and the Shepard diagram of EVCLUS. Sample 6 is torn between the
# wings, and sample 12 is an outlier, as in the papers. The text of the slides does not contain the values of the
# figures.

butterfly = load_butterfly()
ecm = ECM(
    n_clusters=2, focal_sets="full", alpha=1, beta=2, delta=4, random_state=0
).fit(butterfly.data)
evclus = EVCLUS(n_clusters=2, focal_sets="full", d0=11, random_state=0).fit(
    butterfly.data
)
figure, grid = plt.subplots(1, 3, figsize=(14, 4), layout="constrained")
for axes, name, model in zip(grid, ("ECM", "EVCLUS"), (ecm, evclus), strict=False):
    partition = model.credal_partition_.rename(sample_names=butterfly.sample_names)
    MassesDisplay.from_result(partition, ax=axes, legend=name == "EVCLUS")
    axes.set_title(f"Butterfly: masses by {name}")
PairsDisplay.from_estimator(evclus, ax=grid[2])
grid[2].set_title("Butterfly: Shepard diagram")
plt.show()

# %%
# Inner and outer approximations
# ------------------------------
#
# ECM and EVCLUS on feature data. The inner approximation (solid) contains the samples that surely belong to a
# cluster, the outer one (dashed) those that possibly do, and outliers "do not belong to any outer approximation".
# The parameters are those of the slides: single clusters and Ω, otherwise defaults. For the Wine data, the figure
# is similar to that of the slides. No sample is torn, so the inner and outer approximations are equal. Some
# outliers of EVCLUS are among the other samples in this plane, because they are remote in other directions.

X, y = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)
models = {
    "ECM": ECM(n_clusters=3, focal_sets="simple", alpha=1, beta=2, random_state=0).fit(
        X
    ),
    "EVCLUS": EVCLUS(n_clusters=3, d0=Quantile(0.9), random_state=0).fit(X),
}
figure, grid = plt.subplots(1, 2, figsize=(13, 4.6), layout="constrained", sharey=True)
for axes, (name, model) in zip(grid, models.items(), strict=True):
    CredalPartitionDisplay.from_result(
        model, X, rule="max_mass", ax=axes, legend=name == "EVCLUS"
    )
    axes.set_title(
        f"{name}: adjusted Rand index {adjusted_rand_score(y, model.labels_):.2f}"
    )
    axes.label_outer()
plt.show()
