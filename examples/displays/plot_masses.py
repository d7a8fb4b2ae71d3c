"""
Masses, doubt and convergence
=============================

This example shows 3 displays that do not require features: the masses of each sample, the doubt between clusters,
and the convergence of the objective.
"""

import matplotlib.pyplot as plt

from evlearn.cluster import ECM, EVCLUS
from evlearn.datasets import load_butterfly, make_fourclass
from evlearn.plotting import DoubtDisplay, MassesDisplay, ObjectiveDisplay

# %%
# A small number of samples is shown as bars. Along the butterfly, the mass moves from one wing to the other; in
# the center, more of it is on Ω, the set of both. Sample 12 has nearly all its mass on the empty set, so it is an
# outlier.

butterfly = load_butterfly()
model = EVCLUS(n_clusters=2, focal_sets="full", d0=11, random_state=0).fit(
    butterfly.data
)
partition = model.credal_partition_.rename(sample_names=butterfly.sample_names)
MassesDisplay.from_result(partition)
plt.show()

# %%
# Many samples are shown as the rows of a heat map, sorted by their most plausible cluster. Within each cluster,
# the mass moves from the cluster alone to sets of several clusters, which indicate the position of the sample.

X, _ = make_fourclass(2000, random_state=0)
model = ECM(n_clusters=4, focal_sets="full", random_state=0).fit(X)
MassesDisplay.from_result(model)
plt.show()

# %%
# The same information is summarized by 10 numbers. The diagonal shows the mass on single clusters, the other cells
# the mass on pairs. Neighboring clusters share more mass than opposite ones.

DoubtDisplay.from_result(model)
plt.show()

# %%
# Convergence of the objective with all sets and with pairs of clusters only. The objectives of different families
# of sets are not comparable, but their rates of convergence are: both curves are nearly straight on a logarithmic
# scale, so each iteration removes about the same fraction of the remaining difference.

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
fits = {
    "all sets": model,
    "pairs": ECM(n_clusters=4, focal_sets="pairs", random_state=0).fit(X),
}
for ax, kind in zip(axes, ("objective", "distance"), strict=True):
    for name, fit in fits.items():
        ObjectiveDisplay.from_estimator(fit, name=name, kind=kind, ax=ax)
plt.show()
