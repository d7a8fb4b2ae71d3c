"""Coordinates of samples in a plot: 2 features, or the first 2 principal components."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import PCA

from evlearn.utils.typing import BoolArray, FloatArray
from evlearn.utils.validation import EXTREME_RATIO, distance_ratios

# Distance of remote samples from the others, as a share of the plot.
_REMOTE_MARGIN = 0.15


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
    remark = f"{is_remote.sum()} remote sample{'s' if is_remote.sum() > 1 else ''} at the edge"
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
    examples = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
    raise ValueError(
        f"features has {feature!r}, which is not a column of X; pass numbers from 0 to {len(names) - 1}, "
        f"or unique names of columns: {examples}."
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
