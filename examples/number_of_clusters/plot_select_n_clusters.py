"""
How many clusters? A vote, and how sure it is
=============================================

`~evlearn.model_selection.select_n_clusters` draws samples of the data and lets each choose a number of clusters.
The number that most of them chose is suggested, and the share of samples that agree says how far to rely on it.
This example shows the recommended vote, all criteria beside each other, with clusters and without, and a scan over
another parameter.
"""

import matplotlib.pyplot as plt
import numpy as np

from evlearn.cluster import ECM, EVCLUS
from evlearn.datasets import make_fourclass
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.model_selection import select_n_clusters, select_parameter
from evlearn.plotting import ClusterNumberDisplay

data = {
    "four clusters": make_fourclass(300, random_state=0)[0],
    "no clusters": np.random.default_rng(0).uniform(-3, 6, size=(300, 2)),
}

# %%
# The default is a vote of two methods that look at the data alone: peaks of the δ-Bel graph, and EK-NNclus. Twenty
# subsamples of four samples in five give forty votes.

selection = select_n_clusters(ECM(), data["four clusters"], random_state=0)
print(selection)

# %%
# Where there are clusters, the votes agree. Where there are none, something is suggested as well, but few agree.
# So look at the share of votes, not at the number alone.

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
# All criteria on both data sets. The band is one standard deviation between samples. Peaks and EK-NNclus look at
# the data; the others at what a method makes of them: ECM, a mixture for BIC, and EVCLUS for the stress of pairs
# that it has not seen.
#
# Without clusters, BIC, silhouette, objective and stress say four as well, all samples alike: the square has four
# quarters. Nonspecificity says two in both cases, and would say four with other parameters of ECM (see
# :doc:`/gallery/number_of_clusters/plot_cluster_number`). That is why the vote does without them.

ecm = ECM(n_init=1, tol=1e-3)
mixture = ParsimoniousGaussianMixture(
    covariance_models=["EII", "VVV"], n_init=1, tol=1e-4
)
asked = {
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
for ax, (criterion, model) in zip(axes.flat, asked.items(), strict=True):
    for title, X in data.items():
        selection = select_n_clusters(
            model, X, range(2, 7), criterion=criterion, n_repeats=3, random_state=0
        )
        ClusterNumberDisplay.from_selection(selection, name=title.split()[0], ax=ax)
    ax.set_title(criterion)
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + 0.35 * (high - low))  # room for the legend
plt.show()

# %%
# Other parameters are scanned in the same way. EVCLUS asks from which distance on two samples are in different
# clusters. With a small ``d0`` nearly all samples are outliers, with a large one they could be anywhere:
# nonspecificity has its minimum between.

scan = select_parameter(
    EVCLUS(n_clusters=4, tol=1e-3),
    data["four clusters"],
    "d0_quantile",
    [0.1, 0.3, 0.5, 0.7, 0.9, 0.99],
    n_repeats=3,
    random_state=0,
)
figure, ax = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
ClusterNumberDisplay.from_selection(scan, name="EVCLUS", ax=ax)
plt.show()
