"""
Contours: what is said about every place
========================================

A fitted method says something about every place of the plane, not only about the samples.
`~evlearn.plotting.MassContourDisplay` draws it as lines of equal plausibility or mass, with the decision boundary,
on whose two sides different clusters are the most plausible.
"""

import matplotlib.pyplot as plt
import numpy as np

from evlearn.cluster import ECM, EVCLUS
from evlearn.plotting import MassContourDisplay

random = np.random.default_rng(3)
centres = np.repeat([[0, 0], [6, 0], [3, 5]], 60, axis=0)
X = np.vstack([centres + random.standard_normal((180, 2)), [[10, 8], [-4, 7]]])

# %%
# The plausibility of each cluster, by `~evlearn.cluster.EVCLUS`. It is high around the samples of the cluster and
# falls from there, so that far from all samples no cluster is plausible.

model = EVCLUS(n_clusters=3, random_state=0).fit(X)
display = MassContourDisplay.from_estimator(model, X, eps=0.3)
display.ax_.set_aspect("equal")
plt.show()

# %%
# Masses say more. Here is `~evlearn.cluster.ECM`, with one picture for each kind of set: a cluster, two clusters,
# all of them, and none. Two clusters have their mass between them, all three in the middle, and the empty set
# around everything: the further a sample is from all prototypes, the more it looks like an outlier.

model = ECM(n_clusters=3, delta=4, random_state=0).fit(X)
figure, grid = plt.subplots(
    2, 2, figsize=(9, 7), layout="constrained", sharex=True, sharey=True
)
for axes, chosen in zip(grid.flat, [(0,), (0, 1), (0, 1, 2), ()], strict=True):
    MassContourDisplay.from_estimator(
        model, X, of="mass", sets=[chosen], eps=0.3, ax=axes, legend=False
    )
    axes.set_aspect("equal")
    axes.label_outer()
plt.show()
