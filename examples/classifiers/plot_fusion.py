"""
Fusion of two sensors, one of which fails
=========================================

Two sensors measure samples of 2 classes: the first sensor yields 5 numbers, the second one 3. Both work in the
laboratory. In the field, the first sensor is affected by noise that did not occur in the training data. This is
the data fusion example of Denœux's lectures, with 60 training samples.

`~evlearn.classify.FusionClassifier` fits a classifier for each sensor, and combines their masses. Far away from
its training data, an evidential classifier assigns its mass to the set of all classes, so that the result depends
on the other classifier.
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
    """Return a classifier for some of the columns."""
    return make_pipeline(
        make_column_transformer(("passthrough", columns)),
        EvidentialRBFClassifier(random_state=0),
    )


models = {
    "first sensor": sensor(FIRST),
    "second sensor": sensor(SECOND),
    "all features, one classifier": EvidentialRBFClassifier(random_state=0),
    "all features, logistic regression": LogisticRegression(),
    "fusion": FusionClassifier([("first", sensor(FIRST)), ("second", sensor(SECOND))]),
}

# %%
# The errors depend on the noise in the field, in units of the standard deviation; means over 5 training sets:

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
    ylabel="error rate",
    ylim=(0, 0.5),
)
ax.set_xticks(noises, [f"{noise:g}" for noise in noises])
ax.legend()
plt.show()

# %%
# The reliability of each sensor for each class. A sensor with unusual or missing values has little influence.

print(models["fusion"].reliabilities_.round(2))
missing = fields[0][0].copy()
missing[:, FIRST] = np.nan
print(
    f"{1 - models['fusion'].score(missing, fields[0][1]):.2f} error rate without the "
    f"first sensor"
)
