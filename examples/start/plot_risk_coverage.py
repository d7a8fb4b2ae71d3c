"""
Does doubt find the errors?
===========================

569 biopsies of the breast, described by 30 measurements of cell nuclei, are clustered in two without looking at the
diagnoses. Samples near the border may be in the wrong cluster, and doubt should say so. Keep the samples of least
doubt, first a few and then more: how many of those that are kept are wrong? That is a risk-coverage curve, see
:ref:`doubt_and_errors`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from evlearn.cluster import ECM
from evlearn.metrics import errors_by_verdict, majority_classes
from evlearn.plotting import RiskCoverageDisplay

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
model = ECM(2, n_init=3, random_state=0).fit(X)

# %%
# Labels of k-means are about as good as those of ECM, but it has no doubt of its own. The distance to the nearest
# centre, over that to the second nearest, can stand for one.

k_means = KMeans(2, n_init=10, random_state=0).fit(X)
classes = majority_classes(y, k_means.labels_)
nearest, second = np.sort(k_means.transform(X), axis=1)[:, :2].T

# %%
# Both curves begin low and rise at their end: where there is little doubt, there are few errors. Thin lines are
# the best curves that such labels can have, dotted ones are those of a random order. The mark shows the samples
# that ECM calls sure.

display = RiskCoverageDisplay.from_partition(model.credal_partition_, y, name="ECM")
RiskCoverageDisplay.from_predictions(
    y, classes, nearest / second, name="k-means", ax=display.ax_
)
display.ax_.set_title("Errors among the samples of least doubt")
plt.show()

# %%
# The numbers behind the mark: sure samples are wrong much less often than torn ones.

errors_by_verdict(y, model.credal_partition_)
