"""
Credal partition of the butterfly data
======================================

These 12 samples show the possibilities of a credal partition. The 2 wings are clusters. Sample 6 lies between
them, and sample 12 is far away from both. A hard partition has to assign both to a cluster; a credal partition
describes their uncertainty.

The masses are those of Table 1 in :cite:t:`denoeux2021nnevclus`, computed by EVCLUS.
"""

import matplotlib.pyplot as plt
import numpy as np

from evlearn import CredalPartition
from evlearn.belief import FocalSets
from evlearn.datasets import load_butterfly

# Columns: the empty set, {right}, {left}, and both.
published = np.array(
    [
        [0.110, 0.000, 0.890, 0.00],
        [0.082, 0.000, 0.750, 0.17],
        [0.000, 0.000, 0.830, 0.17],
        [0.082, 0.000, 0.750, 0.17],
        [0.000, 0.077, 0.560, 0.36],
        [0.000, 0.290, 0.300, 0.42],
        [0.000, 0.550, 0.079, 0.37],
        [0.082, 0.730, 0.000, 0.18],
        [0.000, 0.810, 0.000, 0.19],
        [0.082, 0.730, 0.000, 0.18],
        [0.110, 0.870, 0.000, 0.02],
        [0.970, 0.030, 0.000, 0.00],
    ]
)
# The values of the table are rounded to 2 digits, so the sums of the rows differ slightly from 1.
masses = published / published.sum(axis=1, keepdims=True)

butterfly = load_butterfly()
partition = CredalPartition(
    masses, FocalSets.full(["right", "left"]), butterfly.sample_names
)
partition.summary()

# %%
# Each sample has a verdict. Here a sample is sure if its belief in one wing is more than 0.5; the default is 0.6.
# With more than half of its mass on the empty set, it is an outlier.

verdict = partition.verdict(level=0.5)
groups = {  # name: (samples, color, marker); colors of Okabe and Ito
    "sure: left": (verdict.sure & verdict.candidates[:, 1], "#0072B2", "o"),
    "sure: right": (verdict.sure & verdict.candidates[:, 0], "#D55E00", "s"),
    "torn between both": (verdict.torn, "#009E73", "D"),
    "outlier": (verdict.outlier, "#000000", "X"),
}
figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
for name, (chosen, color, marker) in groups.items():
    axes.scatter(*butterfly.data[chosen].T, s=90, c=color, marker=marker, label=name)
for number, point in zip(butterfly.sample_names, butterfly.data, strict=True):
    axes.annotate(number, point, xytext=(7, 6), textcoords="offset points")
axes.set(
    xlabel="$x_1$",
    ylabel="$x_2$",
    xlim=(-6.5, 11.5),
    ylim=(-3.5, 11.5),
    title="Verdicts of the partition",
)
axes.legend(loc="upper left", frameon=False)
plt.show()

# %%
# The mass moves from *left* over *both* to *right* along the butterfly; only sample 12 has nearly all its mass on
# the empty set ∅.

colors = {"∅": "#000000", "{right}": "#D55E00", "{left}": "#0072B2", "Ω": "#009E73"}
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
bottom = np.zeros(len(partition))
for label in ("{left}", "Ω", "{right}", "∅"):
    column = partition.masses[:, partition.focal_sets.index(label)]
    name = {"Ω": "both, Ω", "∅": "none, ∅"}.get(label, label)
    axes.bar(
        partition.sample_names,
        column,
        bottom=bottom,
        color=colors[label],
        edgecolor="white",
        label=name,
    )
    bottom += column
axes.set(
    xlabel="sample",
    ylabel="mass",
    ylim=(0, 1),
    title="One mass function per sample",
)
axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
plt.show()

# %%
# The same masses as a table, with the most plausible cluster of each sample.

partition.to_frame().round(2)
