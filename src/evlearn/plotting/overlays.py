"""Optional parts of plots: true classes, prototypes, ellipses of mixtures, and marker sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2

from evlearn.partition import CredalPartition
from evlearn.plotting.plane import projection_plane
from evlearn.utils.typing import FloatArray, IntArray
from evlearn.utils.validation import check_choice

#: Probability of a Gaussian component inside its ellipse.
_ELLIPSE_SHARE = 0.9
_CORNERS = 100


def true_classes(y_true: npt.ArrayLike | None, n_samples: int) -> tuple[IntArray | None, list[str]]:
    """Return the number of the true class of each sample, and the names of the classes."""
    if y_true is None:
        return None, []
    values = np.asarray(y_true)
    if values.shape != (n_samples,):
        raise ValueError(f"y_true must have a class for each of {n_samples} samples, got shape {values.shape}.")
    names, codes = np.unique(values, return_inverse=True)
    return codes, [str(name) for name in names]


def sizes_of(partition: CredalPartition, size: str | None) -> FloatArray | None:
    """Return plausibilities or beliefs of the most plausible clusters, for marker sizes."""
    if size is None:
        return None
    check_choice("size", size, ("plausibility", "belief"))
    if size == "plausibility":
        return np.asarray(partition.to_possibilistic().max(axis=1))
    singletons = partition.focal_sets.singleton_positions[partition.to_hard()]
    return np.where(singletons < 0, 0.0, partition.masses[np.arange(len(singletons)), singletons])


def place_prototypes(
    prototypes: npt.ArrayLike | None, X: Any, features: Sequence[int | str] | None, n_clusters: int
) -> FloatArray | None:
    """Return the coordinates of prototypes in the plot."""
    if prototypes is None:
        return None
    values = np.asarray(prototypes, dtype=np.float64)
    plane = projection_plane(X, features)
    if values.shape != (n_clusters, len(plane.origin)):
        raise ValueError(
            f"prototypes must have shape {(n_clusters, len(plane.origin))}, a row for each cluster in the space "
            f"of X, got {values.shape}."
        )
    return plane.points(values)


def ellipses_of(
    mixture: Any, X: Any, features: Sequence[int | str] | None, n_clusters: int
) -> list[FloatArray] | None:
    """Return the ellipse of each component of a Gaussian mixture, as a closed line."""
    if mixture is None:
        return None
    if not (hasattr(mixture, "means_") and hasattr(mixture, "covariances_")):
        raise ValueError(
            f"mixture must be a fitted Gaussian mixture, with means_ and covariances_, got {mixture!r}."
        )
    plane = projection_plane(X, features)
    means, covariances = np.asarray(mixture.means_), _full_covariances(mixture)
    if means.shape != (n_clusters, len(plane.origin)):
        raise ValueError(
            f"mixture must have {n_clusters} components in the space of X, with {len(plane.origin)} features, got "
            f"means of shape {means.shape}."
        )
    angles = np.linspace(0, 2 * np.pi, _CORNERS)
    circle = np.sqrt(chi2.ppf(_ELLIPSE_SHARE, 2)) * np.stack([np.cos(angles), np.sin(angles)])
    values, vectors = np.linalg.eigh(plane.covariances(covariances))
    roots = vectors * np.sqrt(np.maximum(values, 0))[:, None]
    return [center + (root @ circle).T for center, root in zip(plane.points(means), roots, strict=True)]


def _full_covariances(mixture: Any) -> FloatArray:
    """Return the covariance matrices of components, for all types of covariances."""
    covariances, (n_components, n_features) = np.asarray(mixture.covariances_), mixture.means_.shape
    structure = getattr(mixture, "covariance_type", "full")
    if structure == "tied":
        return np.broadcast_to(covariances, (n_components, n_features, n_features))
    if structure in ("diag", "spherical"):
        return np.reshape(covariances, (n_components, -1, 1)) * np.eye(n_features)
    return covariances
