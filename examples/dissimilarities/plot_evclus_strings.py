"""
EVCLUS on edit distances of misspelled words
============================================

Words have no coordinates, but their dissimilarity can be measured by the number of letters to change, insert or
delete. `~evlearn.cluster.EVCLUS` requires only a matrix of dissimilarities, which need not be a metric."""

import matplotlib.pyplot as plt
import numpy as np

from evlearn.cluster import EVCLUS


def edit_distance(first, second):
    """Return the number of letters to change, insert or delete (Levenshtein distance)."""
    row = list(range(len(second) + 1))
    for i, letter in enumerate(first, start=1):
        before, row[0] = row[0], i
        for j, other in enumerate(second, start=1):
            before, row[j] = (
                row[j],
                min(row[j] + 1, row[j - 1] + 1, before + (letter != other)),
            )
    return row[-1]


# %%
# There are 3 families, each with a word and 15 misspellings of 1 to 3 random edits. In addition, there are 3 words
# between 2 families and 3 unrelated words.

random = np.random.default_rng(0)


def misspell(correct):
    word = correct
    for _ in range(random.integers(1, 4)):
        position = random.integers(len(word))
        letter = "abcdefghijklmnopqrstuvwxyz"[random.integers(26)]
        dropped, changed, added = "", letter, letter + word[position]
        word = (
            word[:position]
            + (dropped, changed, added)[random.integers(3)]
            + word[position + 1 :]
        )
    return word if word != correct else misspell(correct)


heads = ["mathematics", "philosophy", "literature"]
special = ["mathesophy", "litermatics", "philoature", "jazz", "xylophone", "zzyzx"]
words = [
    word for head in heads for word in [head, *(misspell(head) for _ in range(15))]
] + special
distances = np.array(
    [[edit_distance(first, second) for second in words] for first in words], dtype=float
)
print(", ".join(words[:6]), "...")

# %%
# The families are 3 dark blocks in the matrix. The last 6 words are far away from most others.

figure, axes = plt.subplots(figsize=(5.6, 4.6), layout="constrained")
image = axes.imshow(distances, cmap="viridis")
axes.set(title="edit distances", xticks=[0, 16, 32, 48], yticks=[0, 16, 32, 48])
axes.set_xticklabels(
    [*heads, "other words"], rotation=20, ha="left", rotation_mode="anchor", fontsize=8
)
axes.xaxis.tick_top()
axes.set_yticklabels([*heads, "other words"], fontsize=8)
figure.colorbar(image, label="edits")
plt.show()

# %%
# Words of different families differ by about 10 edits, which is a suitable value for ``d0``. The best of 5 starts
# is used. The clusters are named after the 3 correct words.


def cluster(dissimilarities, d0):
    model = EVCLUS(
        n_clusters=3,
        focal_sets="full",
        metric="precomputed",
        d0=d0,
        n_init=5,
        random_state=0,
    )
    model.fit(dissimilarities)
    order = model.labels_[[0, 16, 32]]
    return model, model.credal_partition_.permute_clusters(order).rename(
        cluster_names=heads, sample_names=words
    )


plain_model, plain = cluster(distances, d0=10)
plain.summary()

# %%
# All misspelled words are in the correct cluster. The words between 2 families are about 5 edits away from both,
# which is half of ``d0``. Their conflict with each family should therefore be about 0.5, which makes them
# outliers.
#
# Squared distances separate small and large distances more sharply: half the distance becomes a quarter. They are
# not a metric, however. A word between 2 others can be closer to both than the triangle inequality allows:

squares = distances**2
detour = (squares[:, :, None] + squares[None]).min(
    axis=1
)  # shortest path through a third word
print(f"{(squares > detour).mean():.0%} of the pairs break the triangle inequality")

# %%
# EVCLUS does not require a metric. With squared distances, only the 3 unrelated words are outliers.

model, partition = cluster(squares, d0=100)
partition.summary()

# %%
# Print the torn words and the outliers.

verdict = partition.verdict()
for word, candidates in zip(words, verdict.candidates, strict=True):
    if candidates.sum() > 1:
        print(f"{word:<12} torn between {' and '.join(np.array(heads)[candidates])}")
print("outliers:   ", ", ".join(np.array(words)[verdict.outlier]))

# %%
# Plot the masses of the 3 correct words and of the last 6 words, for edit distances and squared distances.

indices = [0, 16, 32, *range(48, len(words))]
figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained", sharey=True)
for ax, credal_partition, title in zip(
    axes, (plain, partition), ("edit distances", "squared edit distances"), strict=True
):
    masses = credal_partition.masses[indices]
    ax.imshow(masses, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for (row, column), mass in np.ndenumerate(masses):
        if mass >= 0.05:
            ax.text(
                column,
                row,
                f"{mass:.2f}",
                ha="center",
                va="center",
                color="white" if mass > 0.6 else "black",
            )
    labels = [
        label.strip("{}").replace(",", "\n")
        for label in credal_partition.focal_sets.labels
    ]
    ax.set_xticks(
        range(len(labels)),
        labels,
        fontsize=8,
        rotation=40,
        ha="right",
        rotation_mode="anchor",
    )
    ax.set_yticks(range(len(indices)), [words[number] for number in indices])
    ax.set_title(title)
plt.show()

# %%
# New words are compared with the training words. `~evlearn.cluster.EVCLUS.predict_mass` requires their
# dissimilarities to all training words, squared as in the fit.

new = ["mathemagics", "filosofy", "philomatics", "kangaroo"]
to_training = (
    np.array(
        [
            [edit_distance(word, training_word) for training_word in words]
            for word in new
        ]
    )
    ** 2.0
)
predicted = model.predict_mass(to_training).permute_clusters(model.labels_[[0, 16, 32]])
predicted.rename(cluster_names=heads, sample_names=new).to_frame()[
    ["cluster", "assignment"]
]
