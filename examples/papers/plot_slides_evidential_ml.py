"""
Figures of the lecture on evidential machine learning
=====================================================

Thierry Denœux's lecture *ML01: Evidential machine learning* (Compiègne, 2021) begins with belief functions and
ends with clustering; classifiers are in between. These are its examples and figures about all three. Its data
about wheat seeds cannot be shipped, so that wines stand in for them: 178 wines from three growers.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from evlearn import CredalPartition
from evlearn.belief import FocalSets, MassFunction
from evlearn.classify import EvidentialNeuralClassifier
from evlearn.cluster import ECM, EVCLUS
from evlearn.datasets import load_butterfly
from evlearn.plotting import (
    CredalPartitionDisplay,
    MassContourDisplay,
    MassesDisplay,
    ShepardDisplay,
)

# %%
# Road scene analysis
# -------------------
#
# What is in front of the car: grass, road, tree, obstacle or sky? A lidar says "tree or obstacle", and works with
# probability 0.9. A camera says "grass or tree", and works with probability 0.8. What they do not say stays with
# Ω, which is "anything". Dempster's rule puts both together. The slide finds 0.72 for tree, 0.18 for tree or
# obstacle, 0.08 for grass or tree and 0.02 for anything. So do we.

frame = ["G", "R", "T", "O", "S"]
lidar = MassFunction(frame, {"T,O": 0.9, "G,R,T,O,S": 0.1})
camera = MassFunction(frame, {"G,T": 0.8, "G,R,T,O,S": 0.2})
both = lidar.combine(camera, "dempster")
both

# %%
# As bars, one for each source. Belief in a set is what supports it, and plausibility what does not speak against
# it: the tree has belief 0.72 and plausibility 1.

sets = FocalSets(["T", "T,O", "G,T", "G,R,T,O,S"], frame)
sources = {"lidar": lidar, "camera": camera, "both": both}
table = CredalPartition(
    [source.to_array(sets) for source in sources.values()], sets, list(sources)
)
figure, axes = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
MassesDisplay.from_partition(table, ax=axes)
axes.set(title="Road scene: two sources and their combination", xlabel="source")
plt.show()

print(f"tree: belief {both.bel('T'):.2f}, plausibility {both.pl('T'):.2f}")

# %%
# If the camera says "grass or road" instead, both cannot be right. They are in conflict with degree 0.72, and
# what is left is divided by 0.28: the slide finds 9/14, 4/14 and 1/14. So do we.

other = MassFunction(frame, {"G,R": 0.8, "G,R,T,O,S": 0.2})
print(f"conflict {lidar.conflict(other):.2f}")
combined = lidar.combine(other, "dempster")
print({name: f"{14 * combined[name]:.0f}/14" for name in combined})

# %%
# An evidential neural network on Iris
# ------------------------------------
#
# The slides show what the network says over the plane of two features: the mass on each class, the mass on Ω, and
# the plausibility of each class. Which features they are is not in the text that we have; these are the petals.
# Each class has the mass where its samples are. Far from all of them it goes to Ω, so that there every class is
# plausible. The loss is that of the slides, which compares plausibilities with labels.

iris = load_iris()
petals, names = iris.data[:, 2:], iris.target_names[iris.target]
network = EvidentialNeuralClassifier(
    6, loss_lambda=1, standardize=False, tol=1e-4, random_state=0
)
network.fit(petals, names)
pictures = [("mass", label) for label in network.focal_sets_.labels[1:]]
pictures += [("plausibility", label) for label in network.focal_sets_.labels[1:4]]
figure, grid = plt.subplots(
    2, 4, figsize=(14, 6.4), layout="constrained", sharex=True, sharey=True
)
for axes, (of, label) in zip(grid.flat, pictures, strict=False):
    MassContourDisplay.from_estimator(
        network,
        petals,
        of=of,
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
# The slides show the masses found by ECM and by EVCLUS, and the Shepard diagram of EVCLUS. Sample 6 is left open
# between the wings, and sample 12 belongs nowhere, as in the other papers. The values of the slides are not in
# the text that we have.

butterfly = load_butterfly()
ecm = ECM(
    n_clusters=2, focal_sets="full", alpha=1, beta=2, delta=4, random_state=0
).fit(butterfly.data)
evclus = EVCLUS(n_clusters=2, focal_sets="full", d0=11, random_state=0).fit(
    butterfly.data
)
figure, grid = plt.subplots(1, 3, figsize=(14, 4), layout="constrained")
for axes, name, model in zip(grid, ("ECM", "EVCLUS"), (ecm, evclus), strict=False):
    named = model.credal_partition_.rename(sample_names=butterfly.sample_names)
    MassesDisplay.from_partition(named, ax=axes, legend=name == "EVCLUS")
    axes.set_title(f"Butterfly: masses by {name}")
ShepardDisplay.from_estimator(evclus, ax=grid[2])
grid[2].set_title("Butterfly: Shepard diagram")
plt.show()

# %%
# Inner and outer approximations
# ------------------------------
#
# ECM and EVCLUS on feature data. The inner approximation (solid) holds the samples that surely belong to a
# cluster, the outer one (dashed) those that possibly do, and outliers "do not belong to any outer approximation".
# Settings are those of the slides: single clusters and Ω, otherwise defaults. Ours shows the same kind of
# picture, for wines. No wine is torn, so that inner and outer approximations are the same. EVCLUS has outliers;
# several of them lie among the others in this plane, because they are far out in directions that it does not
# show.

X, y = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)
models = {
    "ECM": ECM(n_clusters=3, focal_sets="simple", alpha=1, beta=2, random_state=0).fit(
        X
    ),
    "EVCLUS": EVCLUS(n_clusters=3, d0_quantile=0.9, random_state=0).fit(X),
}
figure, grid = plt.subplots(1, 2, figsize=(13, 4.6), layout="constrained", sharey=True)
for axes, (name, model) in zip(grid, models.items(), strict=True):
    CredalPartitionDisplay.from_estimator(
        model, X, rule="max_mass", ax=axes, legend=name == "EVCLUS"
    )
    axes.set_title(
        f"{name}: adjusted Rand index {adjusted_rand_score(y, model.labels_):.2f}"
    )
    axes.label_outer()
plt.show()
