"""Directions in which classes are apart: scatter matrices, their eigenvectors, and coordinates of kernels."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg import eigh

from evlearn.utils.typing import FloatArray, IntArray
from evlearn.utils.validation import check_integer

#: Makes scatter matrices between and within classes.
Scatter: TypeAlias = Callable[[FloatArray, IntArray], tuple[FloatArray, FloatArray]]
_LEAST_EIGENVALUE = 1e-8


def number_of_features(n_components: Any, classes: IntArray, n_attributes: int, *, several: bool = False) -> int:
    """The number of features that a user wants, or one less than there are classes."""
    by_classes = min(int(classes.max()), n_attributes)
    if n_components is None:
        return by_classes
    check_integer("n_components", n_components, 1)
    most = min(n_attributes, len(classes)) if several else by_classes
    if n_components > most:
        counts = f"{len(classes)} labelled samples" if several else f"{classes.max() + 1} classes"
        raise ValueError(
            f"n_components must be at most {most}, because there are {counts} and {n_attributes} features; "
            f"got {n_components}."
        )
    return int(n_components)


def class_scatter(X: FloatArray, classes: IntArray) -> tuple[FloatArray, FloatArray]:
    """Covariance matrices between and within classes; their sum is that of all samples.

    Returns
    -------
    between, within : ndarray of shape (n_features, n_features)
        The matrices, divided by the number of samples.
    """
    counts = np.bincount(classes)
    means = np.stack([X[classes == one].mean(axis=0) for one in range(len(counts))])
    apart = (means - X.mean(axis=0)) * np.sqrt(counts / len(X))[:, None]
    inside = (X - means[classes]) / np.sqrt(len(X))
    return apart.T @ apart, inside.T @ inside


def linear_features(
    X: FloatArray, classes: IntArray, scatter: Scatter, n_components: int, reg: float
) -> tuple[FloatArray, FloatArray]:
    """Weights of attributes such that classes are far apart.

    Returns
    -------
    components : ndarray of shape (n_components, n_features)
        The weights, the best first; the largest weight of each is positive.
    ratios : ndarray of shape (n_components,)
        Variances between classes over those within.
    """
    coordinates, basis = span(X)
    reg *= coordinates.shape[1] / X.shape[1]
    directions, ratios = best_directions(*scatter(coordinates, classes), n_components, reg)
    components = directions if basis is None else directions @ basis.T
    return with_signs(components), ratios


def with_signs(rows: FloatArray) -> FloatArray:
    """Rows whose largest weight is positive: eigenvectors may have either sign."""
    largest = np.take_along_axis(rows, np.abs(rows).argmax(axis=1)[:, None], axis=1)
    return np.asarray(rows * np.where(largest < 0, -1, 1))


def span(X: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """Samples in as few coordinates as they need.

    Returns
    -------
    coordinates : ndarray of shape (n_samples, n_coordinates)
        The samples, centred. Distances are what they were, and there are not more coordinates than samples.
    basis : ndarray of shape (n_features, n_coordinates) or None
        An orthogonal basis of these coordinates, or None if they are the attributes.
    """
    centred = X - X.mean(axis=0)
    if X.shape[1] <= len(X):
        return centred, None
    basis = np.linalg.qr(centred.T)[0]
    return centred @ basis, basis


def best_directions(
    between: FloatArray, within: FloatArray, n_components: int, reg: float
) -> tuple[FloatArray, FloatArray]:
    """Directions in which samples are far apart between classes and near within.

    Returns
    -------
    directions : ndarray of shape (n_components, n_features)
        The best first. Each has variance one within classes, with what was added.
    ratios : ndarray of shape (n_components,)
        Variances between classes over those within.
    """
    n_features = len(within)
    size = float(np.trace(between) + np.trace(within)) / max(n_features, 1)
    if not size > 0:  # all samples are the same
        return np.zeros((n_components, n_features)), np.zeros(n_components)
    regularised = within / size + max(reg, n_features * np.finfo(float).eps) * np.eye(n_features)
    ratios, vectors = eigh(
        between / size, regularised, subset_by_index=[n_features - n_components, n_features - 1]
    )
    directions = vectors.T[::-1] / np.sqrt(size)
    return directions, np.maximum(ratios[::-1], 0)


def kernel_coordinates(kernel: FloatArray, size: float) -> tuple[FloatArray, FloatArray]:
    """Coordinates whose products are the values of a kernel.

    Returns
    -------
    coordinates : ndarray of shape (n_samples, n_coordinates)
        The coordinates; directions with less than 1e-8 of the largest variance are left out.
    to_dual : ndarray of shape (n_samples, n_coordinates)
        The values of the kernel with all samples, times this matrix, are the coordinates of a sample.
    """
    values, vectors = eigh(kernel)
    kept = values > max(_LEAST_EIGENVALUE * values[-1], len(kernel) * np.finfo(float).eps * size)
    roots = np.sqrt(values[kept])
    return vectors[:, kept] * roots, vectors[:, kept] / roots
