"""What a picture may show besides samples: true classes, prototypes, ellipses of mixtures, and sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2

from evlearn.partition import CredalPartition
from evlearn.plotting.plane import plane_of
from evlearn.utils.typing import FloatArray, IntArray
from evlearn.utils.validation import check_choice

#: The share of a Gaussian component that its ellipse holds.
_SHARE = 0.9
_CORNERS = 100


def true_classes(y_true: npt.ArrayLike | None, n_samples: int) -> tuple[IntArray | None, list[str]]:
    """The true class of each sample as a number, and the names of classes."""
    if y_true is None:
        return None, []
    values = np.asarray(y_true)
    if values.shape != (n_samples,):
        raise ValueError(f"y_true must have a class for each of {n_samples} samples, got shape {values.shape}.")
    names, codes = np.unique(values, return_inverse=True)
    return codes, [str(name) for name in names]


def sizes_of(partition: CredalPartition, size: str | None) -> FloatArray | None:
    """How sure each sample is of its most plausible cluster, for the size of its marker."""
    if size is None:
        return None
    check_choice("size", size, ("plausibility", "belief"))
    if size == "plausibility":
        return np.asarray(partition.to_possibilistic().max(axis=1))
    own = partition.focal_sets.singleton_positions[partition.to_hard()]
    return np.where(own < 0, 0.0, partition.masses[np.arange(len(own)), own])


def place_prototypes(
    prototypes: npt.ArrayLike | None, X: Any, features: Sequence[int | str] | None, n_clusters: int
) -> FloatArray | None:
    """Where prototypes lie in the picture."""
    if prototypes is None:
        return None
    values = np.asarray(prototypes, dtype=np.float64)
    plane = plane_of(X, features)
    if values.shape != (n_clusters, len(plane.origin)):
        raise ValueError(
            f"prototypes must have shape {(n_clusters, len(plane.origin))}, a row for each cluster in the space "
            f"of X, got {values.shape}."
        )
    return plane.points(values)


def ellipses_of(
    mixture: Any, X: Any, features: Sequence[int | str] | None, n_clusters: int
) -> list[FloatArray] | None:
    """The ellipse of each component of a Gaussian mixture, as a closed line."""
    if mixture is None:
        return None
    if not (hasattr(mixture, "means_") and hasattr(mixture, "covariances_")):
        raise ValueError(
            f"mixture must be a fitted Gaussian mixture, with means_ and covariances_, got {mixture!r}."
        )
    plane = plane_of(X, features)
    means, covariances = np.asarray(mixture.means_), _full(mixture)
    if means.shape != (n_clusters, len(plane.origin)):
        raise ValueError(
            f"mixture must have {n_clusters} components in the space of X, with {len(plane.origin)} features, got "
            f"means of shape {means.shape}."
        )
    turns = np.linspace(0, 2 * np.pi, _CORNERS)
    circle = np.sqrt(chi2.ppf(_SHARE, 2)) * np.stack([np.cos(turns), np.sin(turns)])
    values, vectors = np.linalg.eigh(plane.covariances(covariances))
    roots = vectors * np.sqrt(np.maximum(values, 0))[:, None]
    return [centre + (root @ circle).T for centre, root in zip(plane.points(means), roots, strict=True)]


def _full(mixture: Any) -> FloatArray:
    """The covariances of components as matrices, in whatever form scikit-learn has them."""
    found, (number, size) = np.asarray(mixture.covariances_), mixture.means_.shape
    kind = getattr(mixture, "covariance_type", "full")
    if kind == "tied":
        return np.broadcast_to(found, (number, size, size))
    if kind in ("diag", "spherical"):
        return np.reshape(found, (number, -1, 1)) * np.eye(size)
    return found
