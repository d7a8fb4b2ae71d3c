"""
BootClus: doubt that can be checked
===================================

A mixture model gives each pair of samples a probability of being in the same cluster. How far can it be trusted?
`~evlearn.cluster.BootClus` fits the model again to many resamples of the data and looks how much the probability
wavers. The result promises something that can be checked: for about 90 % of all pairs the true probability lies
between belief and plausibility. Here data are generated, so that the truth is known. :doc:`/guide/bootclus` explains
how to read the intervals, and when the promise fails.
"""

import matplotlib.pyplot as plt
import numpy as np

from evlearn.cluster import BootClus
from evlearn.datasets import make_gaussian_mixture, same_cluster_probability
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.plotting import CredalPartitionDisplay, IntervalDisplay

# %%
# Three ellipses that overlap: Mixture 2 of :cite:t:`denoeux2020bootclus`. The Bayesian information criterion (BIC)
# chooses the model among fourteen, and finds that the ellipses are equal (EEE).

X, y, posterior = make_gaussian_mixture(2, 300, random_state=2)
model = BootClus(
    n_clusters=3, covariance_models="EEE", n_bootstrap=500, random_state=0
).fit(X)
print(model.mixture_.model_)
print(model.credal_partition_.summary())

# %%
# The partition, and how much mass each sample has on sets of two clusters. This mass is the doubt that comes from
# having few data: with ten times as many samples it is about a third, although clusters overlap as before. That
# they overlap is shown by masses on single clusters: 0.6 and 0.4, say, and more there is not to know.

many, _, _ = make_gaussian_mixture(2, 3000, random_state=2)
larger = BootClus(
    n_clusters=3, covariance_models="EEE", n_bootstrap=200, random_state=0
).fit(many)

figure, (first, *others) = plt.subplots(
    1, 3, figsize=(12.5, 4.4), layout="constrained", sharex=True, sharey=True
)
CredalPartitionDisplay.from_estimator(model, X, ax=first)
first.get_legend().remove()
first.set(title="sure (filled) and torn (rings)", xlabel="", ylabel="")
for axes, rows, fitted in zip(others, (X, many), (model, larger), strict=True):
    doubt = fitted.masses_[:, fitted.focal_sets_.sizes == 2].sum(axis=1)
    dots = axes.scatter(
        *rows.T, c=doubt, s=10, cmap="viridis_r", vmin=0, vmax=1, linewidths=0
    )
    axes.set_title(f"doubt, {len(rows)} samples")
figure.colorbar(dots, ax=others, label="mass on sets of two clusters")
plt.show()

# %%
# Four pairs of samples
# ---------------------
#
# What BootClus does, by hand: draw samples with replacement, fit the model again from where the first fit ended,
# and ask for the probability of *the same cluster*. That of a pair is spread as the histogram shows (Figure 8 of
# the paper). The interval of the pair runs between two percentiles. Belief and plausibility come from the mass
# functions of both samples, and are near to its bounds for most pairs. The truth would be unknown in practice.

intervals = model.intervals_
truth = same_cluster_probability(posterior, intervals.pairs)
targets = (0.02, 0.3, 0.6, 0.9)
wide = intervals.upper - intervals.lower > 0.08
chosen = [np.argmin(np.abs(truth - value) + ~wide) for value in targets]
first, second = intervals.pairs[chosen].T

random = np.random.default_rng(0)
start = model.mixture_.predict_proba(X)
same = []
for _ in range(300):
    rows = random.integers(len(X), size=len(X))
    again = ParsimoniousGaussianMixture(
        3, covariance_models="EEE", init=start[rows]
    ).fit(X[rows])
    shares = again.predict_proba(X)
    same.append((shares[first] * shares[second]).sum(axis=1))

figure, grid = plt.subplots(2, 2, figsize=(9, 6), layout="constrained")
for axes, pair, values in zip(grid.flat, chosen, np.array(same).T, strict=True):
    axes.hist(values, bins=30, color="0.8")
    for bounds, style, colour, name in (
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
                color=colour,
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
# Belief and plausibility against the bounds that they approximate (Figure 9 of the paper). There are 44,850 pairs,
# so their density is shown. Three hundred mass functions cannot meet all bounds, but come near.

IntervalDisplay.from_estimator(model)
plt.show()

# %%
# Against the truth (Figure 10 of the paper): belief should be below the diagonal and plausibility above. The
# coverage is the share of pairs for which both are so. The promise is 90 % on average over data sets. In a single
# one it is mostly more, and sometimes much less, for all pairs hang on the same few parameters, and are right or
# wrong together.

IntervalDisplay.from_estimator(model, probabilities=truth)
plt.show()

# %%
# The promise holds if the model is right. If one assumes balls (EII), it does not, although intervals are about as
# long. Nothing in the result warns of this. Take a model that is rich enough, such as VVV, or let BIC choose.

wrong = BootClus(
    n_clusters=3, covariance_models="EII", n_bootstrap=500, random_state=0
).fit(X)
IntervalDisplay.from_estimator(wrong, probabilities=truth)
plt.show()
