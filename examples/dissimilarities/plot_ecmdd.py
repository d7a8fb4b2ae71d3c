"""
ECMdd: words that stand for groups of words
===========================================

Words have no coordinates, but one can count how many letters must change to turn one into another. That is all
`~evlearn.cluster.ECMdd` needs. It finds a medoid for each cluster, a word that is near to all others in it, and
words that stand for sets of clusters.
"""

import matplotlib.pyplot as plt
import numpy as np

from evlearn.cluster import ECMdd

words = [
    *(
        "station",
        "stations",
        "stationed",
        "stationary",
        "static",
        "nation",
        "national",
        "nations",
        "notion",
        "ration",
    ),
    *(
        "winter",
        "winters",
        "winner",
        "printer",
        "sprinter",
        "painter",
        "pointer",
        "wander",
        "wonder",
    ),
    *("black", "blacks", "blank", "block", "clock", "flock", "lack", "slack"),
]


def edits(first, second):
    """The number of letters to add, remove or replace (Levenshtein)."""
    row = np.arange(len(second) + 1)
    for i, letter in enumerate(first, start=1):
        previous, row = row, np.empty_like(row)
        row[0] = i
        for j, other in enumerate(second, start=1):
            row[j] = min(
                previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (letter != other)
            )
    return row[-1]


D = np.array(
    [[edits(first, second) for second in words] for first in words], dtype=float
)

# %%
# Three clusters. ``n_init`` tries several starts, because medoids move in steps and easily get stuck.

model = ECMdd(
    n_clusters=3,
    metric="precomputed",
    alpha=1,
    beta=1.7,
    delta=2.2,
    n_init=20,
    random_state=0,
).fit(D)
names = [words[k] for k in model.medoid_indices_[:3]]
partition = model.credal_partition_.rename(sample_names=words, cluster_names=names)
partition.summary()

# %%
# The medoids name the clusters. Sets of clusters have medoids too: words that are about as far from both, and not
# farther than need be.

for label, medoid in zip(
    partition.focal_sets.labels[1:], model.medoid_indices_, strict=True
):
    print(f"{label:<28} {words[medoid]}")

# %%
# The masses of all words.

order = np.lexsort((-partition.masses.max(axis=1), model.labels_))
figure, axes = plt.subplots(figsize=(8, 7), layout="constrained")
masses = partition.masses[order]
image = axes.imshow(masses, cmap="Blues", vmin=0, vmax=1, aspect="auto")
axes.set_yticks(range(len(words)), [words[k] for k in order])
labels = [
    label.strip("{}").replace(",", " or ") for label in partition.focal_sets.labels
]
axes.set_xticks(
    range(len(labels)), labels, rotation=30, ha="right", rotation_mode="anchor"
)
for (row, column), mass in np.ndenumerate(masses):
    if mass >= 0.2:
        axes.text(
            column,
            row,
            f"{mass:.1f}",
            ha="center",
            va="center",
            color="white" if mass > 0.6 else "black",
        )
plt.show()

# %%
# New words are compared with the known ones.

new = ["nationals", "clack", "xylophone"]
to_known = np.array(
    [[edits(word, known) for known in words] for word in new], dtype=float
)
predicted = model.predict_mass(to_known).rename(sample_names=new, cluster_names=names)
predicted.to_frame()[["cluster", "assignment"]]
