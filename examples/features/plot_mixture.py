"""
Choosing the covariance model of a Gaussian mixture
===================================================

The clusters of a Gaussian mixture are ellipses, whose volume, shape and orientation may be equal for all clusters
or not. `~evlearn.mixture.ParsimoniousGaussianMixture` fits 14 models, from equal spheres to unrelated ellipses,
and selects a model and the number of clusters by the Bayesian information criterion (BIC).
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse

from evlearn.mixture import ParsimoniousGaussianMixture

random = np.random.default_rng(0)
centers = np.array([[0.0, 0.0], [4.5, 1.0], [1.0, 5.0]])
sizes, angles = np.array([0.6, 1.0, 1.5]), np.deg2rad([10, 60, 120])
y = np.repeat([0, 1, 2], [60, 80, 100])
points = random.standard_normal((240, 2)) * [1.2, 0.4] * sizes[y, None]
turns = np.array(
    [[np.cos(angles), -np.sin(angles)], [np.sin(angles), np.cos(angles)]]
).transpose(2, 0, 1)
X = centers[y] + (turns[y] @ points[:, :, None])[:, :, 0]

# %%
# There are 3 clusters of the same shape with different sizes and orientations, which corresponds to the model VEV.
# All models are fitted with 1 to 6 components. Lower values of BIC are better.

search = ParsimoniousGaussianMixture(range(1, 7), random_state=0).fit(X)
print(f"{search.model_} with {search.n_components_} components, BIC {search.bic_:.1f}")

figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
families = {"II": "#999999", "I": "#E69F00", "E": "#56B4E9", "V": "#0072B2"}
markers = dict(zip(search.covariance_models_, "osos^vos^vos^v", strict=True))
for name, values in zip(search.covariance_models_, search.bic_table_, strict=True):
    family = "II" if name.endswith("II") else name[2]
    axes.plot(
        search.component_numbers_,
        values,
        marker=markers[name],
        color=families[family],
        label=name,
    )
axes.plot(
    search.n_components_,
    search.bic_,
    "o",
    markersize=16,
    fillstyle="none",
    color="#D55E00",
    label="chosen",
)
axes.set(
    xlabel="number of components",
    ylabel="BIC (lower is better)",
    title="14 models",
)
axes.legend(ncols=1, loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()

# %%
# Each panel shows the best mixture of 3 components of a model; the ellipses contain 90 % of a component.


def draw(axes, mixture):
    labels = mixture.predict(X)
    for k, color in zip(
        np.argsort(mixture.means_[:, 0]), ("#0072B2", "#E69F00", "#009E73"), strict=True
    ):
        axes.scatter(*X[labels == k].T, s=8, color=color, linewidths=0)
        values, vectors = np.linalg.eigh(mixture.covariances_[k])
        width, height = 2 * np.sqrt(4.605 * values)
        angle = np.rad2deg(np.arctan2(*vectors[::-1, 0]))
        axes.add_patch(
            Ellipse(
                mixture.means_[k],
                width,
                height,
                angle=angle,
                fill=False,
                color=color,
                linewidth=2,
            )
        )
    axes.set(
        title=f"{mixture.model_}: BIC {mixture.bic_:.0f}",
        aspect="equal",
        xticks=[],
        yticks=[],
    )


figure, grid = plt.subplots(
    2, 3, figsize=(10, 7), layout="constrained", sharex=True, sharey=True
)
for axes, name in zip(
    grid.ravel(), ["EII", "VII", "VVI", "EEE", "VEV", "VVV"], strict=True
):
    draw(
        axes,
        ParsimoniousGaussianMixture(3, covariance_models=name, random_state=0).fit(X),
    )
plt.show()

# %%
# The models are equal spheres (EII), spheres of different sizes (VII), ellipses parallel to the axes (VVI), equal
# ellipses (EEE), ellipses of equal shape (VEV), and unrelated ellipses (VVV). VVV results in nearly the same
# ellipses as VEV, with 2 additional parameters.

for name in ("VEV", "VVV"):
    mixture = ParsimoniousGaussianMixture(
        3, covariance_models=name, random_state=0
    ).fit(X)
    likelihood = mixture.log_likelihood_history_[-1]
    print(
        f"{name}: log-likelihood {likelihood:.1f}, {mixture.n_parameters_} "
        f"parameters, BIC {mixture.bic_:.1f}"
    )
