"""Where samples lie in a picture: two of their features, or their first two principal components."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import PCA

from evlearn.utils.typing import BoolArray, FloatArray
from evlearn.utils.validation import REMOTE, remoteness

# Remote samples are drawn this share of the picture away from the others.
_EDGE = 0.15


class Plane(NamedTuple):
    """The plane of a picture in the space of the features.

    Attributes
    ----------
    origin : ndarray of shape (n_features,)
        Where it has its origin.
    axes : ndarray of shape (2, n_features)
        Its two directions.
    """

    origin: FloatArray
    axes: FloatArray

    def points(self, rows: FloatArray) -> FloatArray:
        """Where rows lie in the picture."""
        return np.asarray((rows - self.origin) @ self.axes.T)

    def covariances(self, full: FloatArray) -> FloatArray:
        """What becomes of covariance matrices in the picture."""
        return np.asarray(self.axes @ full @ self.axes.T)


def plane_of(X: Any, features: Sequence[int | str] | None) -> Plane:
    """The plane in which `place` places the samples."""
    table = X if hasattr(X, "shape") else np.asarray(X)
    n_features = table.shape[1]
    if features is None and n_features > 2:
        values = _numbers(table)
        components = _components(values[remoteness(values) <= REMOTE])
        return Plane(components.mean_, components.components_)
    chosen = _positions((0, 1) if features is None else features, _column_names(table))
    return Plane(np.zeros(n_features), np.eye(n_features)[list(chosen)])


def place(X: Any, features: Sequence[int | str] | None, n_samples: int) -> tuple[FloatArray, tuple[str, str]]:
    """Coordinates of the samples, and what to write on the axes.

    A few samples that are remote from all others are drawn at the edge, and an axis says so: to scale, they would
    be all that can be seen.

    Returns
    -------
    points : ndarray of shape (n_samples, 2)
        The coordinates.
    axis_labels : tuple of two str
        Names for the axes.
    """
    table = X if hasattr(X, "shape") else np.asarray(X)
    _check_shape(table.shape, n_samples)
    if features is None and table.shape[1] > 2:
        values = _numbers(table)
        far = remoteness(values) > REMOTE
        points, labels = _principal_components(_nearer(values, far), ~far)
    else:
        names = _column_names(table)
        first, second = _positions((0, 1) if features is None else features, names)
        values = _numbers(_columns(table, [first, second]))
        far = remoteness(values) > REMOTE
        points, labels = _nearer(values, far), (names[first], names[second])
    if not far.any():
        return points, labels
    low, high = points[~far].min(axis=0), points[~far].max(axis=0)
    room = _EDGE * (high - low)
    counted = f"{far.sum()} remote sample{'s' if far.sum() > 1 else ''} at the edge"
    return np.clip(points, low - room, high + room), (f"{counted}; {labels[0]}", labels[1])


def cut(X: Any, features: Sequence[int | str] | None) -> tuple[FloatArray, tuple[int, int], list[str]]:
    """All features, and the two that span a plane in their space.

    Returns
    -------
    values : ndarray of shape (n_samples, n_features)
        The features.
    axes : tuple of two int
        The numbers of the two.
    names : list of str
        The names of all features.
    """
    table = X if hasattr(X, "shape") else np.asarray(X)
    _check_shape(table.shape, table.shape[0] if table.shape else 0)
    if table.shape[0] == 0:
        raise ValueError("X has no rows; give the samples whose plane is to be shown.")
    names = _column_names(table)
    if features is None and len(names) > 2:
        raise ValueError(
            f"X has {len(names)} features and the plane has two; choose them with `features`, and the others "
            "are fixed at their means."
        )
    axes = _positions((0, 1) if features is None else features, names)
    if axes[0] == axes[1]:
        raise ValueError(f"features must name two different columns of X, got {features!r}.")
    return _numbers(table), axes, names


def _check_shape(shape: tuple[int, ...], n_samples: int) -> None:
    if len(shape) != 2:
        raise ValueError(
            f"X must have a row for each sample and a column for each feature, got shape {tuple(shape)}."
        )
    if shape[0] != n_samples:
        raise ValueError(
            f"X has {shape[0]} rows but the partition has {n_samples} samples; give the rows that it describes."
        )
    if shape[1] < 2:
        raise ValueError(f"X has {shape[1]} column and a picture needs two; add another feature.")


def _column_names(table: Any) -> list[str]:
    if hasattr(table, "columns"):
        return [str(name) for name in table.columns]
    return [f"feature {number}" for number in range(table.shape[1])]


def _positions(features: Sequence[int | str], names: list[str]) -> tuple[int, int]:
    if isinstance(features, str) or len(features) != 2:
        raise ValueError(f"features must name two columns of X, got {features!r}.")
    first, second = (_position(feature, names) for feature in features)
    return first, second


def _position(feature: int | str, names: list[str]) -> int:
    if isinstance(feature, (int, np.integer)):
        if 0 <= feature < len(names):
            return int(feature)
    elif names.count(str(feature)) == 1:  # a tuple names a column of several levels
        return names.index(str(feature))
    listed = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
    raise ValueError(
        f"features has {feature!r}, which is not a column of X; give numbers from 0 to {len(names) - 1}, "
        f"or names that occur once among: {listed}."
    )


def _columns(table: Any, positions: list[int]) -> Any:
    """Some columns, before anything is made of numbers: the others may hold text."""
    return table.iloc[:, positions] if hasattr(table, "iloc") else table[:, positions]


def _numbers(table: Any) -> FloatArray:
    try:
        values = np.asarray(table)
        values = values if values.dtype == np.float32 else values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"X must be a dense table of numbers in the columns that are drawn ({error}); "
            "choose two numeric columns with `features`."
        ) from error
    missing = ~np.isfinite(values).all(axis=1)
    if missing.any():
        raise ValueError(
            f"X has missing or infinite values in {missing.sum()} rows, the first of them row "
            f"{missing.argmax()}; fill them in, or leave these samples out of X and of the partition."
        )
    return values


def _nearer(values: FloatArray, far: BoolArray) -> FloatArray:
    """The same rows, with the far ones in the direction in which they are, and not so far that they overflow."""
    if not far.any():
        return values
    values, centre = values.copy(), np.median(values[~far], axis=0)
    apart = values[far] / 2 - centre / 2
    size = np.abs(values[~far] - centre).max()
    values[far] = centre + 100 * size * (apart / np.abs(apart).max(axis=1, keepdims=True))
    return values


def _principal_components(values: FloatArray, near: BoolArray) -> tuple[FloatArray, tuple[str, str]]:
    if len(values) < 2:
        raise ValueError("X has 1 row, which has no principal components; choose two columns with `features`.")
    components = _components(values[near])
    first, second = (
        f"principal component {number}" + (f" ({share:.0%} of the variance)" if np.isfinite(share) else "")
        for number, share in enumerate(components.explained_variance_ratio_, start=1)
    )
    return np.asarray(components.transform(values)), (first, second)


def _components(values: FloatArray) -> PCA:
    with np.errstate(invalid="ignore"):  # shares of no variance, where all samples are the same
        return PCA(n_components=2, random_state=0).fit(values)
