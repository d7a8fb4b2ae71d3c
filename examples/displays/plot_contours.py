"""
Contours of plausibility and mass
=================================

A fitted method can predict masses at each point of the plane, not only for the samples.
`~evlearn.plotting.MassContourDisplay` shows lines of equal plausibility or mass, and the decision boundary between
regions with different most plausible clusters.
"""

import matplotlib.pyplot as plt
import numpy as np

from evlearn.cluster import ECM, EVCLUS
from evlearn.plotting import MassContourDisplay

random = np.random.default_rng(3)
centers = np.repeat([[0, 0], [6, 0], [3, 5]], 60, axis=0)
X = np.vstack([centers + random.standard_normal((180, 2)), [[10, 8], [-4, 7]]])

# %%
# The first figure shows the plausibility of each cluster, by `~evlearn.cluster.EVCLUS`. It is high around the
# samples of the cluster and decreases with the distance, so no cluster is plausible far away from all samples.

model = EVCLUS(n_clusters=3, random_state=0).fit(X)
display = MassContourDisplay.from_estimator(model, X, eps=0.3)
display.ax_.set_aspect("equal")
plt.show()

# %%
# The second figure shows the masses of `~evlearn.cluster.ECM`, with one panel for each kind of set: a cluster, 2
# clusters, all clusters, and the empty set. A pair of clusters has mass between the clusters, the set of all 3 in
# the center, and the empty set far away from all prototypes, where samples are outliers.

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
