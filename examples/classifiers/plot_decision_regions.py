"""
Decision regions of evidential classifiers
==========================================

An ordinary classifier assigns each point of the plane to a class, even far away from all training samples. The
classifiers of ``evlearn.classify`` can predict several classes if the evidence is weak, and express complete
ignorance far away from the data.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch

from evlearn.classify import (
    EvidentialKNNClassifier,
    EvidentialNeuralClassifier,
    EvidentialRBFClassifier,
)

random = np.random.default_rng(0)
y = np.repeat([0, 1, 2], 60)
X = np.array([[0, 0], [3, 0], [1.5, 2.6]])[y] + random.standard_normal((180, 2)) * 0.8

models = [
    EvidentialKNNClassifier(n_neighbors=10),
    EvidentialNeuralClassifier(random_state=0),
    EvidentialRBFClassifier(random_state=0),
]
for model in models:
    model.fit(X, y)

# %%
# The upper row shows the predictions of ``predict_set``: pure colors denote a single class, mixed colors 2
# classes, and white all 3 classes. The lower row shows the mass on the set of all classes; darker means more
# ignorance. All 3 classifiers are ignorant far away from the data, but they differ in how far they extrapolate.

side = np.linspace(-8, 11, 160)
plane = np.stack(np.meshgrid(side, side - 0.6), axis=-1)
points = plane.reshape(-1, 2)
colors = np.array([to_rgb(name) for name in ("#0072B2", "#E69F00", "#009E73")])


def paint(sets):
    """Return the mean color of the classes of each set, lighter for 2 classes and white for 3."""
    size = sets.sum(axis=1, keepdims=True)
    average = sets @ colors / size
    return np.where(
        size == 3, 1.0, average + (1 - average) * np.where(size == 1, 0.25, 0.55)
    )


figure, axes = plt.subplots(
    2, 3, figsize=(9.5, 6.6), layout="constrained", sharex=True, sharey=True
)
extent = (plane[0, 0, 0], plane[-1, -1, 0], plane[0, 0, 1], plane[-1, -1, 1])
for model, (upper, lower) in zip(models, axes.T, strict=True):
    picture = paint(model.predict_set(points)).reshape(160, 160, 3)
    upper.imshow(picture, origin="lower", extent=extent)
    upper.set_title(type(model).__name__.removeprefix("Evidential"), fontsize=11)
    ignorance = model.predict_mass(points).masses[:, -1].reshape(160, 160)
    shade = lower.imshow(
        ignorance, origin="lower", extent=extent, cmap="Grays", vmin=0, vmax=1
    )
    for panel in (upper, lower):
        for k, marker in enumerate("os^"):
            panel.scatter(
                *X[y == k].T, s=9, marker=marker, color=0.7 * colors[k], linewidths=0
            )
axes[0, 0].set_ylabel("predicted sets")
axes[1, 0].set_ylabel("mass on all classes")
figure.colorbar(shade, ax=axes[1], shrink=0.8)
handles = [
    Patch(facecolor=paint(row[None])[0], edgecolor="gray")
    for row in np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1]])
]
figure.legend(
    handles,
    ["one class", "two classes", "all classes"],
    loc="outside lower center",
    ncols=3,
    frameon=False,
)
plt.show()

# %%
# ``decide`` returns a single class, or rejects the sample. Here a rejection costs 20 % of an error, and the
# pessimistic criterion counts mass on several classes against each of them.

model = models[0]
for point in ([0, 0], [3, 0], [9, 9]):
    print(point, model.decide([point], rejection_cost=0.2, criterion="pessimistic"))
