"""
Labels from people who are not sure
===================================

Four people look at handwritten digits. They are right more or less often, name two digits where they hesitate, say
how sure they are, and skip half of the pictures. Zoe guesses, and never doubts. What is lost if the best guess
becomes *the* label?
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

# Digits as a person without glasses sees them: every second row and column.
digits = load_digits()
X = digits.images[:, ::2, ::2].reshape(len(digits.target), -1)
y = digits.target
blurred = make_pipeline(StandardScaler(), LogisticRegression(C=0.01))
clear = cross_val_predict(
    blurred, X, y, cv=3, method="predict_proba"
)  # how clear each picture is

# %%
# A table of answers, as one gets it from a form. Who hesitates between two digits names both.

random = np.random.default_rng(0)
rows = []
for person, skill in {"Ann": 2.0, "Ben": 1.0, "Eve": 0.5, "Zoe": 0.0}.items():
    seen = (
        np.log(clear + 0.02) + skill * np.eye(10)[y] + random.gumbel(size=clear.shape)
    )
    shares = np.exp(seen) / np.exp(seen).sum(axis=1, keepdims=True)
    for sample in np.flatnonzero(random.random(len(y)) < 0.5):
        first, second = np.argsort(-shares[sample])[:2]
        sure = person == "Zoe" or shares[sample, first] > 0.5
        confidence = (
            0.9
            if person == "Zoe"
            else shares[sample, first] + (0 if sure else shares[sample, second])
        )
        rows.append(
            (sample, person, f"{first}" if sure else f"{first}|{second}", confidence)
        )
table = pd.DataFrame(rows, columns=["sample", "annotator", "answer", "confidence"])
print(table.head())

# %%
# `~evlearn.classify.Annotations` finds how far each of them can be trusted, from how well they agree, and combines
# what they said into a mass function for each picture. Pictures that nobody spoke about may show any digit.

answers = Annotations(table)
for person, reliability in answers.reliabilities().items():
    print(f"{person} {reliability:.2f}")
labels = answers.to_partition(samples=range(len(y)))
print(labels[:400].summary())

# %%
# Classifiers learn from the first 400 pictures, and are judged by the true digits of the others. "best guess" is
# the most plausible digit of each picture.

train, test = slice(0, 400), slice(400, None)
guess = labels.to_hard()[train]
told = labels.masses[train, -1] < 1  # somebody spoke about it
probabilities = labels.to_fuzzy("pignistic")[train]
copies, classes = np.nonzero(probabilities)
models = {
    "forest, best guess": RandomForestClassifier(random_state=0).fit(
        X[train][told], guess[told]
    ),
    "forest, weighted by probabilities": RandomForestClassifier(random_state=0).fit(
        X[train][copies], classes, sample_weight=probabilities[copies, classes]
    ),
    "evidential forest, best guess": EvidentialForestClassifier(
        100, random_state=0
    ).fit(X[train][told], guess[told]),
    "evidential forest, masses": EvidentialForestClassifier(100, random_state=0).fit(
        X[train], labels[train]
    ),
}
right = {
    name: (model.predict(X[test]).astype(int) == y[test]).mean()
    for name, model in models.items()
}
right = {"the best guesses themselves": (guess == y[train])[told].mean()} | right

figure, ax = plt.subplots(figsize=(7.5, 3), layout="constrained")
bars = ax.barh(list(right), list(right.values()), color=["0.7", "C0", "C0", "C1", "C1"])
ax.bar_label(bars, fmt="%.3f", padding=3)
ax.set(xlim=(0, 1), xlabel="share that is right")
ax.invert_yaxis()
plt.show()
