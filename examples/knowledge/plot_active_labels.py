"""
Active learning of digits
=========================

There are many unlabeled images of digits, but labeling all of them is too expensive.
`~evlearn.active.ActiveLabeling` queries the images with the largest doubt of the classifier.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from evlearn.active import ActiveLabeling
from evlearn.classify import EvidentialKNNClassifier

digits = load_digits()
X, y, images = digits.data[::2], digits.target[::2], digits.images[::2]
X_test, y_test = digits.data[1::2], digits.target[1::2]


def oracle(sample):
    """Return the true label; a person could also return [1, 8] for similar digits, or None."""
    return int(y[sample])


learner = ActiveLabeling(
    EvidentialKNNClassifier(), range(10), batch_size=10, random_state=0
)
learner.start(X).run(oracle, n_queries=60)

# %%
# The next queries after 60 answers. They are far away from each other, so that they are not redundant.

queries = []
while len(queries) < 10:
    query = learner.ask()
    queries.append(query)
    learner.answer(query, oracle(query.sample))
print(queries[0].reason)

figure, axes = plt.subplots(2, 5, figsize=(8, 4), layout="constrained")
for ax, query in zip(axes.flat, queries, strict=True):
    ax.imshow(images[query.sample], cmap="gray_r")
    ax.set_title(f"{query.candidates[0]} or {query.candidates[1]}?", fontsize=11)
    ax.axis("off")
plt.show()

# %%
# Accuracy on other images, compared with an equal number of random queries. Thin lines are single runs.

counts = np.arange(20, 181, 20)
figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
for color, strategy in zip(("C1", "C0"), ("margin", "random"), strict=True):
    curves = []
    for seed in range(3):
        learner = ActiveLabeling(
            EvidentialKNNClassifier(),
            range(10),
            strategy=strategy,
            batch_size=10,
            random_state=seed,
        ).start(X)
        curves.append(
            [
                learner.run(oracle, count - len(learner.history_)).estimator_.score(
                    X_test, y_test
                )
                for count in counts
            ]
        )
        ax.plot(counts, curves[-1], color=color, linewidth=0.7, alpha=0.6)
    ax.plot(
        counts,
        np.mean(curves, axis=0),
        color=color,
        linewidth=2.5,
        label=f'strategy="{strategy}"',
    )
ax.set(xlabel="number of labels", ylabel="accuracy on other images")
ax.legend()
plt.show()
