"""
Classifiers that know what they do not know
===========================================

An ordinary classifier gives every place of the plane to some class, also places where it has never seen a sample.
The classifiers of ``evlearn.classify`` can answer with several classes where evidence is thin, and say far from
the data that they know nothing.
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
# In the upper row, colours are the classes that ``predict_set`` leaves: one, a mixture of two colours for two, and
# white for all three. In the lower row, the mass on all classes together: the darker, the less is known. All three
# know nothing far away. They differ in how far they dare to go.

side = np.linspace(-8, 11, 160)
plane = np.stack(np.meshgrid(side, side - 0.6), axis=-1)
places = plane.reshape(-1, 2)
colours = np.array([to_rgb(name) for name in ("#0072B2", "#E69F00", "#009E73")])


def paint(sets):
    """The mean colour of the classes of each set, lighter for two and white for all."""
    size = sets.sum(axis=1, keepdims=True)
    mean = sets @ colours / size
    return np.where(size == 3, 1.0, mean + (1 - mean) * np.where(size == 1, 0.25, 0.55))


figure, axes = plt.subplots(
    2, 3, figsize=(9.5, 6.6), layout="constrained", sharex=True, sharey=True
)
extent = (plane[0, 0, 0], plane[-1, -1, 0], plane[0, 0, 1], plane[-1, -1, 1])
for model, (upper, lower) in zip(models, axes.T, strict=True):
    picture = paint(model.predict_set(places)).reshape(160, 160, 3)
    upper.imshow(picture, origin="lower", extent=extent)
    upper.set_title(type(model).__name__.removeprefix("Evidential"), fontsize=11)
    ignorance = model.predict_mass(places).masses[:, -1].reshape(160, 160)
    shade = lower.imshow(
        ignorance, origin="lower", extent=extent, cmap="Greys", vmin=0, vmax=1
    )
    for panel in (upper, lower):
        for k, marker in enumerate("os^"):
            panel.scatter(
                *X[y == k].T, s=9, marker=marker, color=0.7 * colours[k], linewidths=0
            )
axes[0, 0].set_ylabel("predicted sets")
axes[1, 0].set_ylabel("mass on all classes")
figure.colorbar(shade, ax=axes[1], shrink=0.8)
handles = [
    Patch(facecolor=paint(row[None])[0], edgecolor="grey")
    for row in np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1]])
]
figure.legend(
    handles,
    ["one class", "one of two", "nothing known"],
    loc="outside lower center",
    ncols=3,
    frameon=False,
)
plt.show()

# %%
# A user who wants one answer, or none, asks ``decide``. Here refusing costs a fifth of an error, and mass on
# several classes counts against each of them.

model = models[0]
for place in ([0, 0], [3, 0], [9, 9]):
    print(place, model.decide([place], rejection_cost=0.2, criterion="pessimistic"))
