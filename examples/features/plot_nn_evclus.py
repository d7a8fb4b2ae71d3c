"""
NN-EVCLUS: evidential clustering by a neural network
====================================================

`~evlearn.neural.NNEVCLUS` trains a neural network that maps each sample to a mass function, so it identifies
clusters, torn samples and outliers. The trained network can be applied to new samples immediately. This is Example
4 of :cite:t:`denoeux2021nnevclus`, with the same network and outlier model, and another random draw of the data.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from evlearn.cluster import EVCLUS
from evlearn.datasets import make_fourclass
from evlearn.neural import NNEVCLUS
from evlearn.plotting import CredalPartitionDisplay, MassContourDisplay, PairsDisplay

X, y = make_fourclass(400, random_state=0)
network = NNEVCLUS(
    n_clusters=4,
    focal_sets="pairs",  # a sample may be torn between 2 clusters
    network=(20,),
    outlier_model="svm",  # identifies samples that differ from the data
    tol=2e-3,
    random_state=0,
).fit(X)
network.credal_partition_.summary()

# %%
# The partition corresponds to Figure 10 of the paper. Filled markers are sure samples, rings are torn, and crosses
# are outliers. Solid lines enclose the samples that surely belong to a cluster, dashed lines those that possibly
# do.

figure, axes = plt.subplots(figsize=(8, 6), layout="constrained")
CredalPartitionDisplay.from_result(network, X, ax=axes)
axes.set(aspect="equal", title="400 training samples")
plt.show()

# %%
# Loss of the network
# -------------------
#
# The loss measures the difference between the conflicts of pairs of samples and their transformed distances.
# EVCLUS chooses the masses of each sample freely, so its loss is lower than that of any network; both are means
# over all pairs. The training starts from weights that imitate EVCLUS on 200 samples. From random weights, as in
# the paper, it takes longer; here it reaches the same loss, but some random starts end in a poor minimum. The
# figure corresponds to Figures 9a and 9b. The losses in the paper are 0.0056, and 0.0048 for EVCLUS, with another
# draw of the data and 100 partners per sample.

evclus = EVCLUS(
    n_clusters=4, focal_sets="pairs", loss="mse", d0=network.d0_, random_state=0
).fit(X)
random_start = NNEVCLUS(**network.get_params()).set_params(init="random").fit(X)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
for name, model, color in (
    ("from EVCLUS of 200 samples", network, "#0072B2"),
    ("from random weights", random_start, "#E69F00"),
):
    left.plot(
        model.objective_history_, color=color, label=f"{name}: {model.objective_:.4f}"
    )
left.axhline(
    evclus.objective_,
    color="black",
    linestyle="--",
    label=f"EVCLUS: {evclus.objective_:.4f}",
)
left.set(title="learning curve", xlabel="iteration", ylabel="loss", ylim=(0.0035, 0.01))
left.legend(title="final loss")
PairsDisplay.from_estimator(network, ax=right)
plt.show()

# %%
# New samples
# -----------
#
# We generate 1000 new samples of the same distribution, and 20 samples far away from all others. Their masses are
# computed in one pass (Figure 11).

new, truth = make_fourclass(1000, random_state=1)
angle = np.linspace(0, 2 * np.pi, 20, endpoint=False)
remote = 2 + 13 * np.column_stack([np.cos(angle), np.sin(angle)])
samples = np.vstack([new, remote])
partition = network.predict_mass(samples)

figure, axes = plt.subplots(figsize=(9.5, 6), layout="constrained")
CredalPartitionDisplay.from_result(partition, samples, ax=axes)
axes.set(aspect="equal", title="1000 new samples, and 20 outliers on a circle")
plt.show()

# %%
# All remote samples are outliers. The labels of new samples are as accurate as those of the training samples:

print(f"detected outliers: {partition.outliers()[1000:].sum()} of 20")
print(
    f"smallest mass of the empty set of an outlier: {partition.masses[1000:, 0].min():.2f}"
)
print(f"outliers among the other samples: {partition.outliers()[:1000].sum()} of 1000")
print(
    f"adjusted Rand index, training set: {adjusted_rand_score(y, network.labels_):.2f}"
)
print(
    f"adjusted Rand index, new samples: "
    f"{adjusted_rand_score(truth, partition.to_hard()[:1000]):.2f}"
)

# %%
# Masses in the plane
# -------------------
#
# The one-class support vector machine returns a score for each point, which is positive in the region of the data
# (left). The network learns a threshold of the score below which the mass of the empty set increases (right). This
# is Figure 8 of the paper.

X_center = X[
    (np.abs(X - 2) < 6.5).all(axis=1)
]  # without remote samples, to show details
figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4.8), layout="constrained", sharex=True, sharey=True
)
display = MassContourDisplay.from_estimator(
    network, X_center, of="mass", sets=["∅"], ax=right, legend=False
)
points = np.stack(np.meshgrid(display.x, display.y), axis=-1)
standardized = (points.reshape(-1, 2) - X.mean(axis=0)) / X.std(
    axis=0
)  # as in the network
scores = network.outlier_model_.decision_function(standardized).reshape(
    points.shape[:2]
)
image = left.contourf(
    display.x,
    display.y,
    scores,
    levels=np.arange(-24, 7, 3),
    cmap="PuOr_r",
    extend="min",
)
left.contour(display.x, display.y, scores, levels=[0], colors="black", linewidths=1.5)
left.scatter(*X_center.T, s=5, color="black", alpha=0.4, linewidths=0)
figure.colorbar(image, ax=left, label="score, with a line at 0")
left.set(
    title="score of the outlier model",
    aspect="equal",
    xlabel="feature 0",
    ylabel="feature 1",
)
right.set(aspect="equal")
plt.show()

# %%
# The masses of each single cluster, and of the 4 pairs of neighboring clusters (Figure 12). The mass of a cluster
# is largest on its outer side, far away from the other clusters. The mass of a pair is largest between its 2
# clusters.

singles = ["{0}", "{1}", "{2}", "{3}"]
focal_sets = network.focal_sets_
mean_masses = np.where(focal_sets.sizes == 2, network.masses_.mean(axis=0), 0)
pairs = [
    focal_sets.labels[k] for k in np.argsort(-mean_masses)[:4]
]  # pairs with the largest mass
figure, grid = plt.subplots(
    2, 4, figsize=(12, 6.2), layout="constrained", sharex=True, sharey=True
)
for axes, name in zip(grid.flat, singles + pairs, strict=True):
    settings = {
        "levels": (0.1, 0.3, 0.5, 0.7),
        "grid_resolution": 60,
        "max_points": 0,
        "legend": False,
    }
    MassContourDisplay.from_estimator(
        network, X_center, of="mass", sets=[name], ax=axes, **settings
    )
    axes.set(aspect="equal")
    axes.label_outer()
plt.show()

# %%
# The plausibility of each cluster, which includes the masses of all sets that contain it, and the decision
# boundary (Figure 13). Far away from the data, no cluster is plausible.

figure, axes = plt.subplots(figsize=(8, 6), layout="constrained")
MassContourDisplay.from_estimator(network, X_center, ax=axes)
axes.set(aspect="equal")
plt.show()
