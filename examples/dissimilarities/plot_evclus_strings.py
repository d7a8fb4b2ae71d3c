"""
EVCLUS on dissimilarities only: misspelt words
==============================================

Words have no coordinates. But one can count how many letters have to be changed, added or dropped to turn one
word into another. `~evlearn.cluster.EVCLUS` needs no more than a matrix of such numbers, and it need not be a
metric.
"""

import matplotlib.pyplot as plt
import numpy as np

from evlearn.cluster import EVCLUS


def edit_distance(first, second):
    """How many letters to change, add or drop (Levenshtein)."""
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
# Three families: a word and 15 ways to misspell it, each by one to three edits at random. Then three words that
# stand between two families, and three that have nothing to do with any.

random = np.random.default_rng(0)


def misspell(correct):
    word = correct
    for _ in range(random.integers(1, 4)):
        place = random.integers(len(word))
        new = "abcdefghijklmnopqrstuvwxyz"[random.integers(26)]
        dropped, changed, added = "", new, new + word[place]
        word = (
            word[:place]
            + (dropped, changed, added)[random.integers(3)]
            + word[place + 1 :]
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
# In the matrix the families are three dark blocks. The last six words are far from most.

figure, axes = plt.subplots(figsize=(5.6, 4.6), layout="constrained")
image = axes.imshow(distances, cmap="viridis")
axes.set(title="edit distances", xticks=[0, 16, 32, 48], yticks=[0, 16, 32, 48])
axes.set_xticklabels(
    [*heads, "others"], rotation=20, ha="left", rotation_mode="anchor", fontsize=8
)
axes.xaxis.tick_top()
axes.set_yticklabels([*heads, "others"], fontsize=8)
figure.colorbar(image, label="edits")
plt.show()

# %%
# Words of different families are about ten edits apart, which is a good value for ``d0``. The best of five starts
# is kept. Clusters have numbers; the three heads give them names.


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
# All misspelt words are where they belong. The words between two families are about five edits from both, which
# is half of ``d0``. So the target is a conflict of about one half with either family, and they count as outliers.
#
# Squares tell near from far more sharply: half of the distance is a quarter of its square. But squares are no
# metric. A word between two others can be nearer to both than the triangle inequality allows:

squares = distances**2
detour = (squares[:, :, None] + squares[None]).min(
    axis=1
)  # the shortest way through a third word
print(f"{(squares > detour).mean():.0%} of the pairs break the triangle inequality")

# %%
# EVCLUS does not mind. With the squares, only the three strangers are outliers.

model, partition = cluster(squares, d0=100)
partition.summary()

# %%
# Torn words and outliers by name.

verdict = partition.verdict()
for word, candidates in zip(words, verdict.candidates, strict=True):
    if candidates.sum() > 1:
        print(f"{word:<12} torn between {' and '.join(np.array(heads)[candidates])}")
print("outliers:   ", ", ".join(np.array(words)[verdict.outlier]))

# %%
# The masses of the heads and of the last six words, from the edit distances and from their squares.

shown = [0, 16, 32, *range(48, len(words))]
figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained", sharey=True)
for ax, one, title in zip(
    axes, (plain, partition), ("edit distances", "their squares"), strict=True
):
    masses = one.masses[shown]
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
    labels = [label.strip("{}").replace(",", "\n") for label in one.focal_sets.labels]
    ax.set_xticks(
        range(len(labels)),
        labels,
        fontsize=8,
        rotation=40,
        ha="right",
        rotation_mode="anchor",
    )
    ax.set_yticks(range(len(shown)), [words[number] for number in shown])
    ax.set_title(title)
plt.show()

# %%
# New words are compared with those of the training set. `~evlearn.cluster.EVCLUS.predict_mass` takes their
# dissimilarities to all of these: squared, as in the fit.

new = ["mathemagics", "filosofy", "philomatics", "kangaroo"]
to_training = (
    np.array([[edit_distance(word, known) for known in words] for word in new]) ** 2.0
)
predicted = model.predict_mass(to_training).permute_clusters(model.labels_[[0, 16, 32]])
predicted.rename(cluster_names=heads, sample_names=new).to_frame()[
    ["cluster", "assignment"]
]
