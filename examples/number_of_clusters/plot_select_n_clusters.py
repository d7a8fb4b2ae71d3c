"""
Choosing the number of clusters by a vote
=========================================

`~evlearn.model_selection.select_n_clusters` draws subsamples of the data and selects a number of clusters for
each. The most frequent number is suggested, and the share of subsamples that agree measures its reliability. This
example shows the recommended vote, all criteria for data with and without clusters, and a scan over another
parameter."""

import matplotlib.pyplot as plt
import numpy as np

from evlearn.cluster import ECM, EVCLUS, Quantile
from evlearn.datasets import make_fourclass
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.model_selection import select_n_clusters, select_parameter
from evlearn.plotting import ClusterNumberDisplay

data = {
    "four clusters": make_fourclass(300, random_state=0)[0],
    "no clusters": np.random.default_rng(0).uniform(-3, 6, size=(300, 2)),
}

# %%
# The default is a vote of 2 criteria that depend only on the data: peaks of the δ-Bel graph, and EK-NNclus. For 20
# subsamples of 80 % of the samples, there are 40 votes.

selection = select_n_clusters(ECM(), data["four clusters"], random_state=0)
print(selection)

# %%
# With clusters, the votes agree. Without clusters, there is also a suggestion, but few votes agree. Always
# consider the share of votes in addition to the number.

figure, axes = plt.subplots(
    1, 3, figsize=(11, 3.6), layout="constrained", width_ratios=[1, 1, 1.6]
)
for ax, (title, X) in zip(axes, data.items(), strict=False):
    ax.scatter(*X.T, s=8, color="0.35", linewidths=0)
    ax.set(title=title, aspect="equal", xticks=[], yticks=[])
ClusterNumberDisplay.from_selection(selection, name="four clusters", ax=axes[2])
selection = select_n_clusters(ECM(), data["no clusters"], random_state=0)
ClusterNumberDisplay.from_selection(selection, name="no clusters", ax=axes[2])
axes[2].set_ylim(-0.03, 1.2)
plt.show()

# %%
# The figure shows all criteria on both data sets. The band is one standard deviation over subsamples. Peaks and
# EK-NNclus depend only on the data, the other criteria on a method: ECM, a mixture for BIC, and EVCLUS for the
# stress of held-out pairs.
#
# Without clusters, BIC, silhouette, objective and stress also suggest 4 clusters, for all subsamples: the square
# has 4 quarters. Nonspecificity suggests 2 in both cases, and would suggest 4 with other parameters of ECM (see
# :doc:`/gallery/number_of_clusters/plot_cluster_number`). The default vote therefore excludes these criteria.

ecm = ECM(n_init=1, tol=1e-3)
mixture = ParsimoniousGaussianMixture(
    covariance_models=["EII", "VVV"], n_init=1, tol=1e-4
)
criteria = {
    "peaks": ecm,
    "eknnclus": ecm,
    "bic": mixture,
    "silhouette": ecm,
    "stability": ecm,
    "nonspecificity": ecm,
    "objective": ecm,
    "stress": EVCLUS(tol=1e-3),
}
figure, axes = plt.subplots(2, 4, figsize=(14, 6.6), layout="constrained")
for ax, (criterion, model) in zip(axes.flat, criteria.items(), strict=True):
    for title, X in data.items():
        selection = select_n_clusters(
            model, X, range(2, 7), criterion=criterion, n_repeats=3, random_state=0
        )
        ClusterNumberDisplay.from_selection(selection, name=title.split()[0], ax=ax)
    ax.set_title(criterion)
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + 0.35 * (high - low))  # space for the legend
plt.show()

# %%
# Other parameters are scanned in the same way. ``d0`` of EVCLUS is the distance from which on 2 samples are in
# different clusters. With a small value, nearly all samples are outliers, with a large one, their clusters are
# uncertain: nonspecificity has its minimum between both.

scan = select_parameter(
    EVCLUS(n_clusters=4, d0=Quantile(0.9), tol=1e-3),
    data["four clusters"],
    "d0__level",
    [0.1, 0.3, 0.5, 0.7, 0.9, 0.99],
    n_repeats=3,
    random_state=0,
)
figure, ax = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
ClusterNumberDisplay.from_selection(scan, name="EVCLUS", ax=ax)
plt.show()
