"""
Conformal clustering of digits
==============================

k-means assigns each digit to a cluster without quantifying the uncertainty.
`~evlearn.conformal.ConformalClusterer` fits it to random halves of the data, and computes a set of clusters for
each digit, which contains the label of such a replication in 90 % of all cases. A digit with several clusters in
its set is torn, and one with an empty set is an outlier.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from evlearn.conformal import ConformalClusterer
from evlearn.plotting import DoubtDisplay

X, y = load_digits(return_X_y=True)
clusterer = make_pipeline(PCA(20, random_state=0), KMeans(10, n_init=3))
model = ConformalClusterer(clusterer, confidence_level=0.9, random_state=0).fit(X)
doubt = model.doubt_
print(doubt.counts())

# %%
# The figure shows the sources of doubt. The boundaries of k-means are sharp, so there is no doubt due to overlap;
# there is doubt where the boundaries differ between replications.
display = DoubtDisplay.from_sources(model, X)
display.ax_.set_title("Handwritten digits, confidence level 90 %")
plt.show()

# %%
# The true classes were not used. Digits that differ from the majority of their cluster are rarer among sure
# samples.
majority = np.array([np.bincount(y[model.labels_ == k]).argmax() for k in range(10)])
wrong = majority[model.labels_] != y
for kind in ("sure", "replication", "outlier"):
    print(
        f"{kind:<12} {100 * wrong[doubt.kinds == kind].mean():5.1f} % are not the "
        f"majority of their cluster"
    )

# %%
# Plot some digits with different labels in replications, and describe one of them.
torn = np.flatnonzero(doubt.kinds == "replication")
torn = torn[np.argsort(-doubt.replication[torn], kind="stable")][:10]
print(doubt.describe(torn[0]))
figure, axes = plt.subplots(1, 10, figsize=(9, 1.4), layout="constrained")
for sample, ax in zip(torn, axes, strict=True):
    ax.imshow(X[sample].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"{y[sample]}", fontsize=9)
    ax.set_axis_off()
plt.show()
