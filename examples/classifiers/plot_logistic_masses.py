"""
Mass functions of a logistic regression
=======================================

A logistic regression returns a probability of 0.5 in 2 different situations: without evidence for either class,
and with strong evidence for both. `~evlearn.classify.masses_from_linear` distinguishes them. It uses a fitted
scikit-learn model, and its plausibilities are proportional to the probabilities of the model.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from evlearn.classify import masses_from_linear

random = np.random.default_rng(0)
y = np.repeat([0, 1], 100)
X = np.where(y[:, None] == 1, 1.0, -1.0) + random.standard_normal((200, 2)) * 1.4
model = LogisticRegression().fit(X, y)

# %%
# Large values of both features support class 1, small values class 0. On the dashed line, the probability is 0.5.
# In the center, both features have average values and provide little evidence: the mass on both classes,
# "ignorance", is large. In the corners, the features support different classes with equal strength: half of the
# mass is on each single class.

side = np.linspace(-5, 5, 120)
plane = np.stack(np.meshgrid(side, side), axis=-1)
partition = masses_from_linear(model, plane.reshape(-1, 2), reference=X)
probability = model.predict_proba(plane.reshape(-1, 2))[:, 1]
quantities = {
    "probability of class 1": probability,
    "mass on {0}": partition.masses[:, 1],
    "mass on {1}": partition.masses[:, 2],
    "mass on {0, 1}: ignorance": partition.masses[:, 3],
}

figure, axes = plt.subplots(
    2, 2, figsize=(8, 7), layout="constrained", sharex=True, sharey=True
)
for panel, (title, values) in zip(axes.flat, quantities.items(), strict=True):
    shade = panel.contourf(
        side,
        side,
        values.reshape(120, 120),
        levels=np.linspace(0, 1, 11),
        cmap="cividis",
    )
    panel.contour(
        side,
        side,
        probability.reshape(120, 120),
        levels=[0.5],
        colors="white",
        linestyles="dashed",
    )
    for k, marker in enumerate("o^"):
        panel.scatter(
            *X[y == k].T,
            s=10,
            marker=marker,
            color="white",
            edgecolors="black",
            linewidths=0.4,
        )
    panel.set_title(title, fontsize=11)
    panel.set(aspect="equal", xlim=(-5, 5), ylim=(-5, 5))
figure.colorbar(shade, ax=axes, shrink=0.7)
plt.show()

# %%
# Two points on the dashed line in numbers:

(first, second), (constant,) = model.coef_[0], model.intercept_
for name, height in {"center": 0.0, "corner": -5.0}.items():
    point = [[-(constant + second * height) / first, height]]
    estimate, masses = (
        model.predict_proba(point)[0, 1],
        masses_from_linear(model, point, reference=X).masses[0],
    )
    print(
        f"{name}: probability {estimate:.2f}, {{0}} {masses[1]:.2f}, {{1}} "
        f"{masses[2]:.2f}, both {masses[3]:.2f}"
    )
