"""
Kinds of noise of HDBSCAN
=========================

HDBSCAN finds clusters of 1797 handwritten digits, and labels about a third of them as noise. This example shows which
of these belong to a cluster, and which are torn between clusters.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import HDBSCAN
from sklearn.datasets import load_digits

from evlearn.cluster import CredalClusterer

images, truth = load_digits(return_X_y=True)
clusterer = HDBSCAN(min_cluster_size=35, min_samples=5, copy=True)
model = CredalClusterer(clusterer).fit(images)
noise = model.clusterer_.labels_ == -1
print(model.credal_partition_[noise].summary())

# %%
# Clusters have no names. Here each one gets the most frequent digit among its samples, without the noise, so that the
# clusters of noise can be compared with the true digits.
digits = np.array(
    [
        np.bincount(truth[model.clusterer_.labels_ == k]).argmax()
        for k in range(model.n_clusters_)
    ]
)
frame = model.predict_frame(images)[noise]
frame["right"] = digits[frame["cluster"]] == truth[noise]
print(frame.groupby("verdict")["right"].agg(["mean", "size"]).round(2))

# %%
# The noise with the least doubt is easy to read. The noise with the most doubt resembles several digits; the titles are
# the digits of the 2 most plausible clusters.
order = frame["doubt"].sort_values(kind="stable").index
fig, axes = plt.subplots(2, 8, figsize=(9, 3), layout="constrained")
for ax, number in zip(axes.ravel(), [*order[:8], *order[-8:]], strict=True):
    row = frame.loc[number]
    ax.imshow(images[number].reshape(8, 8), cmap="gray_r")
    ax.set_title(
        f"{digits[row['cluster']]}"
        if row["verdict"] == "sure"
        else f"{digits[row['cluster']]} or {digits[row['second_cluster']]}"
    )
    ax.set_axis_off()
fig.suptitle("noise with the least doubt (top) and the most doubt (bottom)")
plt.show()
