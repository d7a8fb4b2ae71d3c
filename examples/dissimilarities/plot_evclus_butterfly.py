"""
EVCLUS on the butterfly data
============================

`~evlearn.cluster.EVCLUS` finds mass functions such that the degree of conflict between 2 samples matches their
dissimilarity. The 12 samples of this example form 2 wings, with a sample between them and an outlier.
"""

import matplotlib.pyplot as plt

from evlearn.cluster import EVCLUS
from evlearn.datasets import load_butterfly
from evlearn.plotting import CredalPartitionDisplay, PairsDisplay

butterfly = load_butterfly()
model = EVCLUS(n_clusters=2, focal_sets="full", d0=11, random_state=0).fit(
    butterfly.data
)
partition = model.credal_partition_
partition.summary()

# %%
# Filled markers are sure, the ring is torn between both clusters, and the cross is an outlier. Solid lines enclose
# the samples that surely belong to a cluster, dashed lines those that possibly do.

figure, axes = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
display = CredalPartitionDisplay.from_result(model, butterfly.data, ax=axes)
for number, point in zip(butterfly.sample_names, butterfly.data, strict=True):
    axes.annotate(
        number,
        point,
        xytext=(0, 8),
        textcoords="offset points",
        ha="center",
        fontsize=9,
    )
axes.set(
    aspect="equal", xlim=(-6.5, 11.5), ylim=(-3.5, 11.5), xlabel="$x_1$", ylabel="$x_2$"
)
plt.show()

# %%
# The mass moves from one wing to the other along the butterfly. The samples in the center have more mass on Ω, the
# set of both clusters. Sample 12 has nearly all its mass on the empty set ∅.

styles = {
    "∅": ("#000000", "x"),
    "{0}": ("#0072B2", "o"),
    "{1}": ("#E69F00", "s"),
    "Ω": ("#009E73", "D"),
}
figure, axes = plt.subplots(figsize=(7.5, 3.8), layout="constrained")
for label, column in zip(partition.focal_sets.labels, partition.masses.T, strict=True):
    color, marker = styles[label]
    axes.plot(
        butterfly.sample_names,
        column,
        color=color,
        marker=marker,
        markersize=7,
        label=f"m({label})",
    )
axes.set(xlabel="sample", ylabel="mass", ylim=(-0.03, 1.03))
axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
plt.show()

# %%
# The Shepard diagram shows the agreement of conflicts and dissimilarities. Each point is a pair of samples; points
# on the diagonal are reproduced exactly. Here 12 mass functions on 4 sets represent 66 pairs.

PairsDisplay.from_estimator(model)
plt.show()

# %%
# With ``d0=11``, samples at a distance of 11 are almost surely in different clusters. With a value of 5, sample 6
# is too far away from both wings and becomes an outlier. With 20, half of the samples are torn.

for d0 in (5, 11, 20):
    other = EVCLUS(n_clusters=2, focal_sets="full", d0=d0, random_state=0).fit(
        butterfly.data
    )
    summary = other.credal_partition_.summary()
    print(
        f"d0={d0:<3} sure {summary.n_sure:>2}, torn {summary.n_torn}, outliers "
        f"{summary.n_outliers}"
    )

# %%
# The masses as a table, with the sample names of the papers. Table 1 of :cite:t:`denoeux2021nnevclus` contains the
# same masses, rounded to 2 digits.

partition.rename(sample_names=butterfly.sample_names).to_frame().round(3)
