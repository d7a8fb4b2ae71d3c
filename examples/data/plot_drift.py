"""
Drift of handwritten digits
===========================

A model of the clusters of handwritten digits is monitored. The images are in the order of the people who wrote them,
so later batches differ from the earlier ones, in ways that are visible in few of the pixels.
"""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from evlearn.cluster import CredalClusterer
from evlearn.conformal import DriftMonitor
from evlearn.plotting import DriftDisplay

images = load_digits(as_frame=True).data
early, late = images[:1200], images[1200:]

# %%
# Of the first 1200 images, 300 are for k-means with doubt, and 600 are the reference, which the model has not seen.
# The remaining images arrive in batches of 100, first random ones of the same people, and then those of others.
order = np.random.default_rng(0).permutation(len(early))
model = CredalClusterer(KMeans(10, n_init=3, random_state=0)).fit(
    early.iloc[order[:300]]
)
monitor = DriftMonitor(model, early.iloc[order[300:900]])
batches = {f"early {k + 1}": early.iloc[order[900 + 100 * k :][:100]] for k in range(3)}
batches |= {f"late {k + 1}": late[100 * k : 100 * k + 100] for k in range(5)}
frame = monitor.test_batches(batches)
DriftDisplay.from_frame(frame)

# %%
# The false alarm rate is 5 % for batches from the same people. The diagnosis contains the largest changes:
for name, diagnosis in zip(frame["batch"], frame["diagnosis"], strict=True):
    print(f"{name}: {diagnosis or 'no drift'}")

# %%
# All statistics of one batch, with p-values that are valid for each of them:
print(monitor.test(batches["late 2"]))
