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
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

from evlearn.cluster import CCM
from evlearn.metrics import errors_by_verdict
from evlearn.metrics.risk_coverage import majority_classes
from evlearn.plotting import RiskCoverageDisplay

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
model = CCM(2, random_state=0).fit(X)

# %%
# A Gaussian mixture has better labels on these data. Its doubt is 1 minus the largest probability of a sample, which is
# near 0 for nearly all of them. k-means does not quantify doubt: we use the ratio of the distances to the nearest and
# the second nearest center.

p = GaussianMixture(2, n_init=5, random_state=0).fit(X).predict_proba(X)
k_means = KMeans(2, n_init=10, random_state=0).fit(X)
nearest, second = np.sort(k_means.transform(X), axis=1)[:, :2].T
others = {
    "GaussianMixture": (p.argmax(axis=1), 1 - p.max(axis=1)),
    "k-means": (k_means.labels_, nearest / second),
}

# %%
# Both curves start low and increase at the end: samples with little doubt have few errors. Thin lines are the best
# possible curves for the same labels, dotted lines those of a random order. The mark shows the sure samples of
# CCM. The ratio of k-means ranks nearly as well. The mixture has fewer errors, but some of them have little doubt.

display = RiskCoverageDisplay.from_result(model, y, name="CCM")
for name, (labels, doubt) in others.items():
    classes = majority_classes(y, labels)
    RiskCoverageDisplay.from_predictions(y, classes, doubt, name=name, ax=display.ax_)
display.ax_.set_title("Errors among the samples with the least doubt")
plt.show()

# %%
# The error rates by verdict: sure samples have far fewer errors than torn ones.

errors_by_verdict(y, model.credal_partition_)
