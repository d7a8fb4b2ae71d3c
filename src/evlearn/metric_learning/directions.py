"""Directions that separate classes: scatter matrices, their eigenvectors, and coordinates of kernels."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg import eigh

from evlearn.utils.typing import FloatArray, IntArray
from evlearn.utils.validation import check_integer

#: Function that computes scatter matrices between and within classes.
Scatter: TypeAlias = Callable[[FloatArray, IntArray], tuple[FloatArray, FloatArray]]
#: Smallest eigenvalue of a kernel matrix that is used, as a share of the largest.
_MIN_EIGENVALUE = 1e-8


def number_of_features(n_components: Any, classes: IntArray, n_features: int, *, allow_more: bool = False) -> int:
    """Return `n_components` if it is valid; if it is None, the number of classes minus 1.

    With `allow_more`, the maximum depends on the number of samples instead of the number of classes.
    """
    class_limit = min(int(classes.max()), n_features)
    if n_components is None:
        return class_limit
    check_integer("n_components", n_components, 1)
    limit = min(n_features, len(classes)) if allow_more else class_limit
    if n_components > limit:
        counts = f"{len(classes)} labeled samples" if allow_more else f"{classes.max() + 1} classes"
        raise ValueError(
            f"n_components must be at most {limit}, because there are {counts} and {n_features} features; "
            f"got {n_components}."
        )
    return int(n_components)


def class_scatter(X: FloatArray, classes: IntArray) -> tuple[FloatArray, FloatArray]:
    """Compute covariance matrices between and within classes, whose sum is the covariance matrix of all samples.

    Returns
    -------
    between, within : ndarray of shape (n_features, n_features)
        Matrices, divided by the number of samples.
    """
    counts = np.bincount(classes)
    means = np.stack([X[classes == label].mean(axis=0) for label in range(len(counts))])
    mean_offsets = (means - X.mean(axis=0)) * np.sqrt(counts / len(X))[:, None]
    residuals = (X - means[classes]) / np.sqrt(len(X))
    return mean_offsets.T @ mean_offsets, residuals.T @ residuals


def linear_features(
    X: FloatArray, classes: IntArray, scatter: Scatter, n_components: int, reg: float
) -> tuple[FloatArray, FloatArray]:
    """Compute weights of features such that classes are far apart.

    Returns
    -------
    components : ndarray of shape (n_components, n_features)
        Weights, in decreasing order of `ratios`; the largest weight of each component is positive.
    ratios : ndarray of shape (n_components,)
        Variances between classes divided by those within.
    """
    coordinates, basis = span(X)
    reg *= coordinates.shape[1] / X.shape[1]
    directions, ratios = best_directions(*scatter(coordinates, classes), n_components, reg)
    components = directions if basis is None else directions @ basis.T
    return with_signs(components), ratios


def with_signs(rows: FloatArray) -> FloatArray:
    """Return rows whose largest weight is positive, because the sign of an eigenvector is arbitrary."""
    largest = np.take_along_axis(rows, np.abs(rows).argmax(axis=1)[:, None], axis=1)
    return np.asarray(rows * np.where(largest < 0, -1, 1))


def span(X: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """Reduce samples to at most as many coordinates as there are samples.

    Returns
    -------
    coordinates : ndarray of shape (n_samples, n_coordinates)
        Centered samples, with the same distances.
    basis : ndarray of shape (n_features, n_coordinates) or None
        Orthogonal basis of these coordinates, or None if they are the original features.
    """
    centered = X - X.mean(axis=0)
    if X.shape[1] <= len(X):
        return centered, None
    basis = np.linalg.qr(centered.T)[0]
    return centered @ basis, basis


def best_directions(
    between_scatter: FloatArray, within_scatter: FloatArray, n_components: int, reg: float
) -> tuple[FloatArray, FloatArray]:
    """Compute directions of large variance between classes and small variance within classes.

    Returns
    -------
    directions : ndarray of shape (n_components, n_features)
        Directions, in decreasing order of `ratios`, with unit regularized variance within classes.
    ratios : ndarray of shape (n_components,)
        Variances between classes divided by those within.
    """
    n_features = len(within_scatter)
    size = float(np.trace(between_scatter) + np.trace(within_scatter)) / max(n_features, 1)
    if not size > 0:  # all samples are equal
        return np.zeros((n_components, n_features)), np.zeros(n_components)
    regularized = within_scatter / size + max(reg, n_features * np.finfo(float).eps) * np.eye(n_features)
    ratios, vectors = eigh(
        between_scatter / size, regularized, subset_by_index=[n_features - n_components, n_features - 1]
    )
    directions = vectors.T[::-1] / np.sqrt(size)
    return directions, np.maximum(ratios[::-1], 0)


def kernel_coordinates(kernel: FloatArray, size: float) -> tuple[FloatArray, FloatArray]:
    """Compute coordinates whose scalar products are the values of a kernel.

    Returns
    -------
    coordinates : ndarray of shape (n_samples, n_coordinates)
        Coordinates, without directions of less than 1e-8 of the largest variance.
    to_dual : ndarray of shape (n_samples, n_coordinates)
        Matrix that maps the kernel values of a sample with all samples to its coordinates.
    """
    values, vectors = eigh(kernel)
    is_large = values > max(_MIN_EIGENVALUE * values[-1], len(kernel) * np.finfo(float).eps * size)
    roots = np.sqrt(values[is_large])
    return vectors[:, is_large] * roots, vectors[:, is_large] / roots
