"""
Gaussian mixtures: which ellipses?
==================================

The clusters of a Gaussian mixture are ellipses: with a volume, a shape and an orientation that are equal in all
clusters or not. `~evlearn.mixture.ParsimoniousGaussianMixture` fits fourteen models between equal balls and
unrelated ellipses, and the Bayesian information criterion (BIC) chooses one, and the number of clusters.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse

from evlearn.mixture import ParsimoniousGaussianMixture

random = np.random.default_rng(0)
centres = np.array([[0.0, 0.0], [4.5, 1.0], [1.0, 5.0]])
sizes, angles = np.array([0.6, 1.0, 1.5]), np.deg2rad([10, 60, 120])
y = np.repeat([0, 1, 2], [60, 80, 100])
points = random.standard_normal((240, 2)) * [1.2, 0.4] * sizes[y, None]
turns = np.array(
    [[np.cos(angles), -np.sin(angles)], [np.sin(angles), np.cos(angles)]]
).transpose(2, 0, 1)
X = centres[y] + (turns[y] @ points[:, :, None])[:, :, 0]

# %%
# Three clusters of one shape, in different sizes and orientations: in the language of the models, VEV. All models
# are tried with one to six components. BIC has scikit-learn's sign: lower is better.

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
    title="Fourteen models",
)
axes.legend(ncols=1, loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()

# %%
# What the letters mean. Each picture has the best mixture of three components of its model; ellipses hold 90 %
# of a component.


def draw(axes, mixture):
    labels = mixture.predict(X)
    for k, colour in zip(
        np.argsort(mixture.means_[:, 0]), ("#0072B2", "#E69F00", "#009E73"), strict=True
    ):
        axes.scatter(*X[labels == k].T, s=8, color=colour, linewidths=0)
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
                color=colour,
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
# Equal balls (EII), balls of different sizes (VII), ellipses along the features (VVI), equal ellipses (EEE),
# equal shapes only (VEV), and ellipses with nothing in common (VVV). VVV fits nearly the same ellipses as VEV, and
# pays for two parameters more.

for name in ("VEV", "VVV"):
    mixture = ParsimoniousGaussianMixture(
        3, covariance_models=name, random_state=0
    ).fit(X)
    likelihood = mixture.log_likelihood_history_[-1]
    print(
        f"{name}: log-likelihood {likelihood:.1f}, {mixture.n_parameters_} "
        f"parameters, BIC {mixture.bic_:.1f}"
    )
