"""
Learning from doubtful labels
=============================

Four annotators label handwritten digits. Their accuracy varies, they name 2 digits in case of doubt, report their
confidence, and skip half of the images. Zoe always guesses, with high confidence. This example shows the loss of
accuracy if the best guesses are used as labels.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evlearn.classify import Annotations, EvidentialForestClassifier

# Use every second row and column, so that the images are hard to recognize.
digits = load_digits()
X = digits.images[:, ::2, ::2].reshape(len(digits.target), -1)
y = digits.target
blurred = make_pipeline(StandardScaler(), LogisticRegression(C=0.01))
clear = cross_val_predict(
    blurred, X, y, cv=3, method="predict_proba"
)  # how recognizable each image is

# %%
# Create a table of answers. Two digits are given in case of doubt.

random = np.random.default_rng(0)
rows = []
for annotator, skill in {"Ann": 2.0, "Ben": 1.0, "Eve": 0.5, "Zoe": 0.0}.items():
    scores = (
        np.log(clear + 0.02) + skill * np.eye(10)[y] + random.gumbel(size=clear.shape)
    )
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    for sample in np.flatnonzero(random.random(len(y)) < 0.5):
        first, second = np.argsort(-shares[sample])[:2]
        sure = annotator == "Zoe" or shares[sample, first] > 0.5
        confidence = (
            0.9
            if annotator == "Zoe"
            else shares[sample, first] + (0 if sure else shares[sample, second])
        )
        rows.append(
            (sample, annotator, f"{first}" if sure else f"{first}|{second}", confidence)
        )
table = pd.DataFrame(rows, columns=["sample", "annotator", "answer", "confidence"])
print(table.head())

# %%
# `~evlearn.classify.Annotations` estimates the confusions of each annotator from the agreement of all, and combines
# the answers into a mass function for each image. Images without an answer have all their mass on the set of all
# digits. The mean probability of a right answer shows the skills.

answers = Annotations(table)
for annotator, matrix in answers.confusions().items():
    print(f"{annotator} {matrix.diagonal().mean():.2f}")
labels = answers.to_partition(samples=range(len(y)))
print(labels[:400].summary())

# Classifiers are trained on the first 400 images, and evaluated on the true digits of the others. The "best guess"
# is the most plausible digit of each image.

train, test = slice(0, 400), slice(400, None)
guess = labels.to_hard()[train]
has_answer = labels.masses[train, -1] < 1  # images with an answer
probabilities = labels.to_fuzzy("pignistic")[train]
copies, classes = np.nonzero(probabilities)
models = {
    "forest, best guess": RandomForestClassifier(random_state=0).fit(
        X[train][has_answer], guess[has_answer]
    ),
    "forest, weighted by probabilities": RandomForestClassifier(random_state=0).fit(
        X[train][copies], classes, sample_weight=probabilities[copies, classes]
    ),
    "evidential forest, best guess": EvidentialForestClassifier(
        100, random_state=0
    ).fit(X[train][has_answer], guess[has_answer]),
    "evidential forest, masses": EvidentialForestClassifier(100, random_state=0).fit(
        X[train], labels[train]
    ),
}
accuracies = {
    name: (model.predict(X[test]).astype(int) == y[test]).mean()
    for name, model in models.items()
}
accuracies = {"best guesses": (guess == y[train])[has_answer].mean()} | accuracies

figure, ax = plt.subplots(figsize=(7.5, 3), layout="constrained")
bars = ax.barh(
    list(accuracies), list(accuracies.values()), color=["0.7", "C0", "C0", "C1", "C1"]
)
ax.bar_label(bars, fmt="%.3f", padding=3)
ax.set(xlim=(0, 1), xlabel="accuracy")
ax.invert_yaxis()
plt.show()
