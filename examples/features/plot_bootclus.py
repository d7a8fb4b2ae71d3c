"""
BootClus with calibrated belief and plausibility
================================================

A mixture model defines the probability that 2 samples are in the same cluster. `~evlearn.cluster.BootClus`
quantifies the uncertainty of this probability by fitting the model to many bootstrap samples of the data. The
result is calibrated: for about 90 % of all pairs, the true probability is between belief and plausibility. Here
the data are generated, so that the true probabilities are known. :doc:`/guide/mixtures` explains how to interpret
the intervals, and when they are not calibrated.
"""

import matplotlib.pyplot as plt
import numpy as np

from evlearn.cluster import BootClus
from evlearn.datasets import make_gaussian_mixture, same_cluster_probability
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.plotting import CredalPartitionDisplay, PairsDisplay

# %%
# The data consist of 3 overlapping ellipses: Mixture 2 of :cite:t:`denoeux2020bootclus`. The Bayesian information
# criterion (BIC) selects one of 14 models, that of equal ellipses (EEE).

X, y, posterior = make_gaussian_mixture(2, 300, random_state=2)
model = BootClus(
    n_clusters=3, covariance_models="EEE", n_bootstrap=500, random_state=0
).fit(X)
print(model.mixture_.model_)
print(model.credal_partition_.summary())

# %%
# The first panel shows the partition, the others the mass of each sample on sets of 2 clusters. This mass is the
# doubt due to the limited number of samples: with 10 times as many samples, it is about a third, although the
# clusters overlap as before. The overlap itself is represented by masses on single clusters, such as 0.6 and 0.4,
# which additional data do not change.

X_large, _, _ = make_gaussian_mixture(2, 3000, random_state=2)
larger = BootClus(
    n_clusters=3, covariance_models="EEE", n_bootstrap=200, random_state=0
).fit(X_large)

figure, (first, *others) = plt.subplots(
    1, 3, figsize=(12.5, 4.4), layout="constrained", sharex=True, sharey=True
)
CredalPartitionDisplay.from_result(model, X, ax=first)
first.get_legend().remove()
first.set(title="sure (filled) and torn (rings)", xlabel="", ylabel="")
for axes, rows, fitted in zip(others, (X, X_large), (model, larger), strict=True):
    doubt = fitted.masses_[:, fitted.focal_sets_.sizes == 2].sum(axis=1)
    dots = axes.scatter(
        *rows.T, c=doubt, s=10, cmap="viridis_r", vmin=0, vmax=1, linewidths=0
    )
    axes.set_title(f"doubt, {len(rows)} samples")
figure.colorbar(dots, ax=others, label="mass on sets of 2 clusters")
plt.show()

# %%
# Four pairs of samples
# ---------------------
#
# We repeat the computation of BootClus: draw samples with replacement, fit the model again from the end of the
# first fit, and compute the probability of *the same cluster*. The histograms show its distribution for 4 pairs
# (Figure 8 of the paper). The interval of a pair is bounded by 2 percentiles. Belief and plausibility follow from
# the mass functions of both samples, and approximate the bounds for most pairs. In practice, the true probability
# is unknown.

intervals = model.intervals_
truth = same_cluster_probability(posterior, intervals.pairs)
targets = (0.02, 0.3, 0.6, 0.9)
wide = intervals.upper - intervals.lower > 0.08
chosen = [np.argmin(np.abs(truth - value) + ~wide) for value in targets]
first, second = intervals.pairs[chosen].T

random = np.random.default_rng(0)
start = model.mixture_.predict_proba(X)
probabilities = []
for _ in range(300):
    rows = random.integers(len(X), size=len(X))
    refitted = ParsimoniousGaussianMixture(
        3, covariance_models="EEE", init=start[rows]
    ).fit(X[rows])
    shares = refitted.predict_proba(X)
    probabilities.append((shares[first] * shares[second]).sum(axis=1))

figure, grid = plt.subplots(2, 2, figsize=(9, 6), layout="constrained")
for axes, pair, values in zip(
    grid.flat, chosen, np.array(probabilities).T, strict=True
):
    axes.hist(values, bins=30, color="0.8")
    for bounds, style, color, name in (
        (
            (intervals.lower[pair], intervals.upper[pair]),
            "--",
            "black",
            "confidence interval",
        ),
        (
            (intervals.belief[pair], intervals.plausibility[pair]),
            "-.",
            "#0072B2",
            "belief, plausibility",
        ),
        ((truth[pair],), "-", "#D55E00", "truth"),
    ):
        for number, bound in enumerate(bounds):
            axes.axvline(
                bound,
                color=color,
                linestyle=style,
                label=name if number == 0 else None,
            )
    axes.set(title="samples {} and {}".format(*intervals.pairs[pair]), yticks=[])
    axes.set_xlabel("probability of the same cluster")
grid[0, 0].legend(fontsize="small")
plt.show()

# %%
# All pairs
# ---------
#
# The figure compares belief and plausibility with the bounds that they approximate (Figure 9 of the paper). It
# shows the density of the 44,850 pairs. The 300 mass functions cannot match all bounds, but approximate them.

PairsDisplay.from_estimator(model)
plt.show()

# %%
# Compared with the true probabilities (Figure 10 of the paper), belief should be below the diagonal and
# plausibility above it. The coverage is the fraction of pairs that satisfy both. It should be 90 % on average over
# data sets. For a single data set it is often higher, and sometimes much lower, because all pairs depend on the
# same few parameters.

PairsDisplay.from_estimator(model, probabilities=truth)
plt.show()

# %%
# The calibration requires a correct model. With spheres (EII), the coverage is too low, although the intervals are
# about as long. The result does not reveal this problem, so use a model that is flexible enough, such as VVV, or
# choose the model by BIC.

misspecified = BootClus(
    n_clusters=3, covariance_models="EII", n_bootstrap=500, random_state=0
).fit(X)
PairsDisplay.from_estimator(misspecified, probabilities=truth)
plt.show()
