"""
Risk-coverage curves: doubt and errors
======================================

The data are 569 breast biopsies, described by 30 measurements of cell nuclei. They are clustered into 2 clusters
without the diagnoses. Samples near the boundary may be in the wrong cluster, and their doubt should be large. A
risk-coverage curve shows the error rate among the samples with the least doubt, as a function of their share; see
:ref:`doubt_and_errors`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from evlearn.cluster import ECM
from evlearn.metrics import errors_by_verdict
from evlearn.metrics.risk_coverage import majority_classes
from evlearn.plotting import RiskCoverageDisplay

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
model = ECM(2, n_init=3, random_state=0).fit(X)

# %%
# The labels of k-means are about as accurate as those of ECM, but k-means does not quantify doubt. We use the
# ratio of the distances to the nearest and the second nearest center.

k_means = KMeans(2, n_init=10, random_state=0).fit(X)
classes = majority_classes(y, k_means.labels_)
nearest, second = np.sort(k_means.transform(X), axis=1)[:, :2].T

# %%
# Both curves start low and increase at the end: samples with little doubt have few errors. Thin lines are the best
# possible curves for the same labels, dotted lines those of a random order. The mark shows the sure samples of
# ECM.

display = RiskCoverageDisplay.from_result(model, y, name="ECM")
RiskCoverageDisplay.from_predictions(
    y, classes, nearest / second, name="k-means", ax=display.ax_
)
display.ax_.set_title("Errors among the samples with the least doubt")
plt.show()

# %%
# The error rates by verdict: sure samples have far fewer errors than torn ones.

errors_by_verdict(y, model.credal_partition_)
