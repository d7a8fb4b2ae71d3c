"""
Merging mixture components into curved clusters
===============================================

The shape of 2 moons is not ellipsoidal. `~evlearn.cluster.MergedMixture` fits several components of a Gaussian
mixture to each of them, and merges components that overlap. On real data the method is often sure of wrong labels; see
:doc:`/guide/which_method`.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse
from sklearn.cluster import KMeans
from sklearn.datasets import make_moons

from evlearn.cluster import MergedMixture

X, y = make_moons(400, noise=0.08, random_state=0)
model = MergedMixture(n_clusters=2, random_state=0).fit(X)
print(
    f"{model.mixture_.n_components_} components with the clusters: {model.components_}"
)

# %%
# The ellipses represent 2 standard deviations of the components, in the color of their cluster.

colors = np.array(["#0072B2", "#E69F00"])
figure, (left, right) = plt.subplots(
    1, 2, figsize=(9, 3.6), sharey=True, layout="constrained"
)
left.scatter(*X.T, s=10, c=colors[KMeans(2, n_init=10, random_state=0).fit_predict(X)])
left.set_title("k-means")
right.scatter(*X.T, s=10, c=colors[model.labels_])
for mean, covariance, cluster in zip(
    model.mixture_.means_, model.mixture_.covariances_, model.components_, strict=True
):
    values, axes = np.linalg.eigh(covariance)
    angle = np.rad2deg(np.arctan2(axes[1, 1], axes[0, 1]))
    width, height = 4 * np.sqrt(values[::-1])
    right.add_patch(
        Ellipse(mean, width, height, angle=angle, fill=False, color=colors[cluster])
    )
right.set_title("merged components")
plt.show()
