"""
What does 90 % mean?
====================

k-means gives every digit a cluster, and says nothing about how sure it is.
`~evlearn.conformal.ConformalClusterer` fits it again to halves of the data, and gives each digit the set of
clusters that contains the label of such a replication in 90 % of all cases. Who has several clusters in the set is
torn, and who has none is an outlier.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from evlearn.conformal import ConformalClusterer
from evlearn.plotting import KindsOfDoubtDisplay

X, y = load_digits(return_X_y=True)
clusterer = make_pipeline(PCA(20, random_state=0), KMeans(10, n_init=3))
model = ConformalClusterer(clusterer, coverage=0.9, random_state=0).fit(X)
doubt = model.doubt_
print(doubt.counts())

# %%
# Where the doubt comes from. k-means has a sharp border, so that overlap is not seen; what is seen is where the
# border moves when the samples change.
display = KindsOfDoubtDisplay.from_estimator(model, X)
display.ax_.set_title("Handwritten digits, coverage 90 %")
plt.show()

# %%
# The classes are known here, and were not used. Digits that are not the majority of their cluster are rarer among
# the sure ones.
majority = np.array([np.bincount(y[model.labels_ == k]).argmax() for k in range(10)])
wrong = majority[model.labels_] != y
for kind in ("sure", "replication", "outlier"):
    print(
        f"{kind:<12} {100 * wrong[doubt.kinds == kind].mean():5.1f} % are not the "
        f"majority of their cluster"
    )

# %%
# Some digits that replications disagree about, and what is said about one of them.
torn = np.flatnonzero(doubt.kinds == "replication")
torn = torn[np.argsort(-doubt.replication[torn], kind="stable")][:10]
print(doubt.describe(torn[0]))
figure, axes = plt.subplots(1, 10, figsize=(9, 1.4), layout="constrained")
for one, ax in zip(torn, axes, strict=True):
    ax.imshow(X[one].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"{y[one]}", fontsize=9)
    ax.set_axis_off()
plt.show()
