"""
Two sensors, one of which fails
===============================

Two sensors look at the same thing, one of two classes: the first gives five numbers, the second three. In the
laboratory both work. In the field the first picks up noise that nobody has seen before. This is the example of
data fusion in Denœux's lectures, with 60 samples to learn from.

`~evlearn.classify.FusionClassifier` has a classifier for each sensor, and combines what they say. Far from what it
has seen, an evidential classifier puts its mass on all classes, and leaves the word to the other.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from evlearn.classify import EvidentialRBFClassifier, FusionClassifier

FIRST, SECOND = slice(0, 5), slice(5, 8)


def draw(n_samples, random, noise=0.0):
    y = random.integers(2, size=n_samples)
    X = random.normal(size=(n_samples, 8)) + np.where(y == 1, 0.65, -0.65)[:, None]
    X[:, FIRST] += noise * random.normal(size=(n_samples, 5))
    return X, y


def sensor(columns):
    """A classifier that looks at its own columns."""
    return make_pipeline(
        make_column_transformer(("passthrough", columns)),
        EvidentialRBFClassifier(random_state=0),
    )


models = {
    "first sensor": sensor(FIRST),
    "second sensor": sensor(SECOND),
    "all numbers in one classifier": EvidentialRBFClassifier(random_state=0),
    "all numbers, logistic regression": LogisticRegression(),
    "fusion": FusionClassifier([("first", sensor(FIRST)), ("second", sensor(SECOND))]),
}

# %%
# Errors by the noise in the field, in units of the spread of the numbers, over five training sets:

noises = np.array([0, 0.5, 1, 2, 4, 8, 16])
errors = {name: np.zeros(len(noises)) for name in models}
for seed in range(5):
    random = np.random.default_rng(seed)
    X, y = draw(60, random)
    fields = [draw(1000, random, noise) for noise in noises]
    for name, model in models.items():
        model.fit(X, y)
        errors[name] += [(1 - model.score(*field)) / 5 for field in fields]

figure, ax = plt.subplots(figsize=(7, 4.4), layout="constrained")
for (name, values), style in zip(
    errors.items(), (":", ":", "--", "--", "-"), strict=True
):
    ax.plot(
        noises,
        values,
        style,
        marker="o",
        label=name,
        linewidth=2.5 if name == "fusion" else 1.5,
    )
ax.set(
    xscale="symlog",
    xlabel="noise of the first sensor",
    ylabel="share of errors",
    ylim=(0, 0.5),
)
ax.set_xticks(noises, [f"{one:g}" for one in noises])
ax.legend()
plt.show()

# %%
# How far each sensor is believed, about each class. A sensor that is far off, or missing, loses its say.

print(models["fusion"].reliabilities_.round(2))
missing = fields[0][0].copy()
missing[:, FIRST] = np.nan
print(
    f"{1 - models['fusion'].score(missing, fields[0][1]):.2f} errors without the "
    f"first sensor"
)
