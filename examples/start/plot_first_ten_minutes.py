"""
The first ten minutes
=====================

This example clusters the Iris data with a typo by `~evlearn.cluster.CCM`. The page :doc:`/guide/first_ten_minutes`
explains it step by step.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from evlearn.cluster import CCM
from evlearn.plotting import CredalPartitionDisplay

X = load_iris(as_frame=True).data
X.iloc[0, 0] = 1.5  # instead of 5.1
model = CCM(n_clusters=3, random_state=0).fit(X)
print(model.credal_partition_.summary())

# %%
# Filled markers are sure, rings torn, and crosses outliers. The plane is that of the first 2 principal components.

figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
CredalPartitionDisplay.from_result(model, X, ax=axes)
axes.set_title("Iris data with a typo")
plt.show()
