"""
Which digit should one ask about?
=================================

There are many pictures of digits, and nobody has said yet which digit they show. Somebody can, but not for all.
`~evlearn.active.ActiveLabelling` asks about the pictures that the classifier doubts most.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from evlearn.active import ActiveLabelling
from evlearn.classify import EvidentialKNNClassifier

digits = load_digits()
X, y, images = digits.data[::2], digits.target[::2], digits.images[::2]
X_test, y_test = digits.data[1::2], digits.target[1::2]


def person(sample):
    """Here the true labels answer; where a 1 and an 8 look alike, somebody may say [1, 8], or None."""
    return int(y[sample])


learner = ActiveLabelling(
    EvidentialKNNClassifier(), range(10), batch_size=10, random_state=0
)
learner.start(X).run(person, n_queries=60)

# %%
# The next questions, after 60 answers. They are far from each other, so that one answer does not make the next
# question needless.

queries = []
while len(queries) < 10:
    query = learner.ask()
    queries.append(query)
    learner.answer(query, person(query.sample))
print(queries[0].why)

figure, axes = plt.subplots(2, 5, figsize=(8, 4), layout="constrained")
for ax, query in zip(axes.flat, queries, strict=True):
    ax.imshow(images[query.sample], cmap="gray_r")
    ax.set_title(f"{query.candidates[0]} or {query.candidates[1]}?", fontsize=11)
    ax.axis("off")
plt.show()

# %%
# Accuracy on other pictures, beside as many labels of pictures drawn at random. Thin lines are single runs.

counts = np.arange(20, 181, 20)
figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
for colour, strategy in zip(("C1", "C0"), ("margin", "random"), strict=True):
    curves = []
    for seed in range(3):
        learner = ActiveLabelling(
            EvidentialKNNClassifier(),
            range(10),
            strategy=strategy,
            batch_size=10,
            random_state=seed,
        ).start(X)
        curves.append(
            [
                learner.run(person, count - len(learner.history_)).estimator_.score(
                    X_test, y_test
                )
                for count in counts
            ]
        )
        ax.plot(counts, curves[-1], color=colour, linewidth=0.7, alpha=0.6)
    ax.plot(
        counts,
        np.mean(curves, axis=0),
        color=colour,
        linewidth=2.5,
        label=f'strategy="{strategy}"',
    )
ax.set(xlabel="labels asked for", ylabel="accuracy on other pictures")
ax.legend()
plt.show()
