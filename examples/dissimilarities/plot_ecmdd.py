"""
Clustering words by their edit distances
========================================

Words have no coordinates, but their dissimilarity can be measured by the number of letters to change.
`~evlearn.cluster.ECMdd` requires only these dissimilarities. It finds a medoid for each cluster, a word that is
similar to all others in it, and medoids for sets of clusters.
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
    """Return the number of letters to insert, delete or replace (Levenshtein distance)."""
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
# Find 3 clusters. With ``n_init``, the best of several starts is used, because medoid algorithms often converge to
# local minima.

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
# The medoids name the clusters. Sets of clusters have medoids as well: words with similar dissimilarities to the
# clusters of the set, which are as small as possible.

for label, medoid in zip(
    partition.focal_sets.labels[1:], model.medoid_indices_, strict=True
):
    print(f"{label:<28} {words[medoid]}")

# %%
# Plot the masses of all words.

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
# Predict the masses of new words from their dissimilarities to the training words.

new = ["nationals", "clack", "xylophone"]
to_known = np.array(
    [[edits(word, training_word) for training_word in words] for word in new],
    dtype=float,
)
predicted = model.predict_mass(to_known).rename(sample_names=new, cluster_names=names)
predicted.to_frame()[["cluster", "assignment"]]
