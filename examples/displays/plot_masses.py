"""
Masses, doubts, and how the fit went
====================================

Three pictures that need no features: the masses of each sample, which samples are torn between which clusters, and how
the objective fell.
"""

import matplotlib.pyplot as plt

from evlearn.cluster import ECM, EVCLUS
from evlearn.datasets import load_butterfly, make_fourclass
from evlearn.plotting import DoubtDisplay, MassesDisplay, ObjectiveDisplay

# %%
# Few samples are bars. Along the butterfly mass moves from one wing to the other; in between more of it is on
# both, Ω. Sample 12 has nearly all mass on the empty set: it is an outlier.

butterfly = load_butterfly()
model = EVCLUS(n_clusters=2, focal_sets="full", d0=11, random_state=0).fit(
    butterfly.data
)
partition = model.credal_partition_.rename(sample_names=butterfly.sample_names)
MassesDisplay.from_partition(partition)
plt.show()

# %%
# Many samples are the rows of a heat map, sorted by their most plausible cluster. From top to bottom of each
# cluster the mass goes from the cluster alone to sets of several: to which ones says where the sample lies.

X, _ = make_fourclass(2000, random_state=0)
model = ECM(n_clusters=4, focal_sets="full", random_state=0).fit(X)
MassesDisplay.from_estimator(model)
plt.show()

# %%
# The same in ten numbers. On the diagonal is the mass that is sure of a cluster, below it the mass that is torn
# between two. Clusters that are neighbours share more mass than those that lie across from each other.

DoubtDisplay.from_estimator(model)
plt.show()

# %%
# How the fit went, with all sets and with pairs of clusters only. Objectives of different families of sets cannot
# be compared, but the ways down can: on a logarithmic scale both are nearly straight, so that each iteration
# removes about the same part of what is left.

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
fits = {
    "all sets": model,
    "pairs": ECM(n_clusters=4, focal_sets="pairs", random_state=0).fit(X),
}
for ax, kind in zip(axes, ("objective", "distance"), strict=True):
    for name, fit in fits.items():
        ObjectiveDisplay.from_estimator(fit, name=name, kind=kind, ax=ax)
plt.show()
