"""The plane of a plot: coordinates of samples, hulls of clusters, prototypes, ellipses and marker sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial import ConvexHull, QhullError
from scipy.stats import chi2
from sklearn.decomposition import PCA

from evlearn.partition import CredalPartition
from evlearn.utils.formatting import format_count, join_first
from evlearn.utils.typing import BoolArray, FloatArray, IntArray
from evlearn.utils.validation import EXTREME_RATIO, check_choice, distance_ratios

# Distance of remote samples from the others, as a share of the plot.
_REMOTE_MARGIN = 0.15
#: Probability of a Gaussian component inside its ellipse.
_ELLIPSE_SHARE = 0.9
_CORNERS = 100


class Plane(NamedTuple):
    """Plane of a plot in the space of the features.

    Attributes
    ----------
    origin : ndarray of shape (n_features,)
        Origin of the plane.
    axes : ndarray of shape (2, n_features)
        Directions of both axes.
    """

    origin: FloatArray
    axes: FloatArray

    def points(self, rows: FloatArray) -> FloatArray:
        """Project rows to the plane."""
        return np.asarray((rows - self.origin) @ self.axes.T)

    def covariances(self, full: FloatArray) -> FloatArray:
        """Project covariance matrices to the plane."""
        return np.asarray(self.axes @ full @ self.axes.T)


def projection_plane(X: Any, features: Sequence[int | str] | None) -> Plane:
    """Return the plane that `coordinates` uses."""
    table = X if hasattr(X, "shape") else np.asarray(X)
    n_features = table.shape[1]
    if features is None and n_features > 2:
        values = _numbers(table)
        components = _components(values[distance_ratios(values) <= EXTREME_RATIO])
        return Plane(components.mean_, components.components_)
    chosen = _positions((0, 1) if features is None else features, _column_names(table))
    return Plane(np.zeros(n_features), np.eye(n_features)[list(chosen)])


def coordinates(
    X: Any, features: Sequence[int | str] | None, n_samples: int
) -> tuple[FloatArray, tuple[str, str]]:
    """Return the coordinates of the samples, and the labels of the axes.

    Samples that are remote from all others are drawn at the edge, and an axis label mentions them: at their true
    distance, they would hide the structure of the others.

    Returns
    -------
    points : ndarray of shape (n_samples, 2)
        Coordinates of the samples.
    axis_labels : tuple of 2 str
        Labels of the axes.
    """
    table = X if hasattr(X, "shape") else np.asarray(X)
    _check_shape(table.shape, n_samples)
    if features is None and table.shape[1] > 2:
        values = _numbers(table)
        is_remote = distance_ratios(values) > EXTREME_RATIO
        points, labels = _principal_components(_pull_in(values, is_remote), ~is_remote)
    else:
        names = _column_names(table)
        first, second = _positions((0, 1) if features is None else features, names)
        values = _numbers(_columns(table, [first, second]))
        is_remote = distance_ratios(values) > EXTREME_RATIO
        points, labels = _pull_in(values, is_remote), (names[first], names[second])
    if not is_remote.any():
        return points, labels
    low, high = points[~is_remote].min(axis=0), points[~is_remote].max(axis=0)
    margin = _REMOTE_MARGIN * (high - low)
    remark = f"{format_count(int(is_remote.sum()), 'remote sample')} at the edge"
    return np.clip(points, low - margin, high + margin), (f"{remark}; {labels[0]}", labels[1])


def feature_plane(X: Any, features: Sequence[int | str] | None) -> tuple[FloatArray, tuple[int, int], list[str]]:
    """Return all features, and the 2 that span the plane.

    Returns
    -------
    values : ndarray of shape (n_samples, n_features)
        Features of the samples.
    axes : tuple of 2 int
        Positions of both features.
    names : list of str
        Names of all features.
    """
    table = X if hasattr(X, "shape") else np.asarray(X)
    _check_shape(table.shape, table.shape[0] if table.shape else 0)
    if table.shape[0] == 0:
        raise ValueError("X has no rows; pass the samples to show.")
    names = _column_names(table)
    if features is None and len(names) > 2:
        raise ValueError(
            f"X has {len(names)} features and the plane has 2; choose 2 with `features`. The others are "
            "fixed at their means."
        )
    axes = _positions((0, 1) if features is None else features, names)
    if axes[0] == axes[1]:
        raise ValueError(f"features must name 2 different columns of X, got {features!r}.")
    return _numbers(table), axes, names


def _check_shape(shape: tuple[int, ...], n_samples: int) -> None:
    if len(shape) != 2:
        raise ValueError(
            f"X must have a row for each sample and a column for each feature, got shape {tuple(shape)}."
        )
    if shape[0] != n_samples:
        raise ValueError(
            f"X has {shape[0]} rows but the partition has {n_samples} samples; pass the rows of these samples."
        )
    if shape[1] < 2:
        raise ValueError(f"X has {shape[1]} column and a plot needs 2; add another feature.")


def _column_names(table: Any) -> list[str]:
    if hasattr(table, "columns"):
        return [str(name) for name in table.columns]
    return [f"feature {number}" for number in range(table.shape[1])]


def _positions(features: Sequence[int | str], names: list[str]) -> tuple[int, int]:
    if isinstance(features, str) or len(features) != 2:
        raise ValueError(f"features must name 2 columns of X, got {features!r}.")
    first, second = (_position(feature, names) for feature in features)
    return first, second


def _position(feature: int | str, names: list[str]) -> int:
    if isinstance(feature, (int, np.integer)):
        if 0 <= feature < len(names):
            return int(feature)
    elif names.count(str(feature)) == 1:  # a tuple is the name of a column with several levels
        return names.index(str(feature))
    raise ValueError(
        f"features has {feature!r}, which is not a column of X; pass numbers from 0 to {len(names) - 1}, "
        f"or unique names of columns: {join_first(names, 10, '...')}."
    )


def _columns(table: Any, positions: list[int]) -> Any:
    """Select columns before the conversion to numbers, because the others may contain text."""
    return table.iloc[:, positions] if hasattr(table, "iloc") else table[:, positions]


def _numbers(table: Any) -> FloatArray:
    try:
        values = np.asarray(table)
        values = values if values.dtype == np.float32 else values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"X must be a dense table with numbers in the columns to draw ({error}); "
            "choose 2 numeric columns with `features`."
        ) from error
    missing = ~np.isfinite(values).all(axis=1)
    if missing.any():
        raise ValueError(
            f"X has missing or infinite values in {missing.sum()} rows, first in row "
            f"{missing.argmax()}; impute them, or remove these samples from X and from the partition."
        )
    return values


def _pull_in(values: FloatArray, is_remote: BoolArray) -> FloatArray:
    """Move remote rows closer, in the same direction, so that computations do not overflow."""
    if not is_remote.any():
        return values
    values, center = values.copy(), np.median(values[~is_remote], axis=0)
    directions = values[is_remote] / 2 - center / 2
    radius = np.abs(values[~is_remote] - center).max()
    values[is_remote] = center + 100 * radius * (directions / np.abs(directions).max(axis=1, keepdims=True))
    return values


def _principal_components(values: FloatArray, is_near: BoolArray) -> tuple[FloatArray, tuple[str, str]]:
    if len(values) < 2:
        raise ValueError("X has 1 row, which has no principal components; choose 2 columns with `features`.")
    components = _components(values[is_near])
    first, second = (
        f"principal component {number}" + (f" ({share:.0%} of the variance)" if np.isfinite(share) else "")
        for number, share in enumerate(components.explained_variance_ratio_, start=1)
    )
    return np.asarray(components.transform(values)), (first, second)


def _components(values: FloatArray) -> PCA:
    with np.errstate(invalid="ignore"):  # variances are 0 if all samples are equal
        return PCA(n_components=2, random_state=0).fit(values)


def cluster_hulls(points: FloatArray, candidates: BoolArray) -> tuple[list[FloatArray], list[FloatArray]]:
    """Return the convex hulls of the lower and the upper approximation of each cluster.

    Each sample enters a single hull, that of all samples with the same candidates; the hull of an approximation is
    computed from these hulls. The cost is therefore linear in the number of samples.

    Returns
    -------
    lower, upper : list of ndarray of shape (n_corners, 2)
        Corners of the hulls, see `convex_hull`.
    """
    groups = _group_by_candidates(candidates)
    sets = candidates[[group[0] for group in groups]]
    hulls = [convex_hull(points[group]) for group in groups]
    corners = np.concatenate(hulls)
    owners = np.repeat(np.arange(len(groups)), [len(hull) for hull in hulls])
    sure = sets.sum(axis=1) == 1
    lower = [corners[(sets[:, cluster] & sure)[owners]] for cluster in range(candidates.shape[1])]
    upper = [convex_hull(corners[sets[owners, cluster]]) for cluster in range(candidates.shape[1])]
    return lower, upper


def convex_hull(points: FloatArray) -> FloatArray:
    """Return the corners of the convex hull, in order."""
    if len(points) < 2:
        return points
    low, spread = points.min(axis=0), np.ptp(points, axis=0)
    if len(points) > 2 and (spread > 0).all():
        try:
            # Rescale both features, because Qhull treats a feature of much smaller range as flat.
            corners: IntArray = ConvexHull((points - low) / spread).vertices
            return points[corners]
        except QhullError:  # collinear points
            pass
    return _endpoints(points)


def _group_by_candidates(candidates: BoolArray) -> list[IntArray]:
    """Return groups of samples with equal sets of candidates."""
    n_samples, n_clusters = candidates.shape
    # Pack 64 clusters into a word, because words are fast to sort.
    packed = np.zeros((n_samples, 8 * -(-n_clusters // 64)), dtype=np.uint8)
    packed[:, : -(-n_clusters // 8)] = np.packbits(candidates, axis=1)
    words = packed.view(np.uint64)
    order = np.lexsort(words.T)
    changes = (words[order[1:]] != words[order[:-1]]).any(axis=1)
    return np.split(order, np.flatnonzero(changes) + 1)


def _endpoints(points: FloatArray) -> FloatArray:
    """Return both endpoints of collinear points, or a single point if all are equal."""
    first = points[_farthest(points, points.mean(axis=0))]
    second = points[_farthest(points, first)]
    return np.stack([first] if (first == second).all() else [first, second])


def _farthest(points: FloatArray, center: FloatArray) -> int:
    return int(((points - center) ** 2).sum(axis=1).argmax())


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
    return np.where(singletons < 0, 0.0, partition.mass_table[np.arange(len(singletons)), singletons])


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
            f"ellipses must be a fitted Gaussian mixture, with means_ and covariances_, got {mixture!r}."
        )
    plane = projection_plane(X, features)
    means, covariances = np.asarray(mixture.means_), _full_covariances(mixture)
    if means.shape != (n_clusters, len(plane.origin)):
        raise ValueError(
            f"ellipses must have {n_clusters} components in the space of X, with {len(plane.origin)} features, "
            f"got means of shape {means.shape}."
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
