"""Starts of EM: hard partitions by Ward's method and by k-means, of the data in several scales."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin

from evlearn.utils.typing import FloatArray, IntArray

# Maximum number of samples for Ward's method, which compares all pairs; the others join the nearest mean.
WARD_SAMPLES = 2000


def first_partitions(
    X: FloatArray, numbers: Sequence[int], n_init: int, random: np.random.RandomState
) -> dict[int, list[IntArray]]:
    """Return the partitions to start from, for each number of components."""
    spaces = _spaces(X)
    multiple = [number for number in numbers if number > 1]
    partitions: dict[int, list[IntArray]] = {number: [] for number in multiple}
    for start in range(n_init if multiple else 0):
        space = spaces[start % len(spaces)]
        labelings = _ward(space, multiple, random) if start < len(spaces) else _k_means(space, multiple, random)
        for number, labels in labelings.items():
            partitions[number].append(labels)
    if 1 in numbers:
        partitions[1] = [np.zeros(len(X), dtype=np.intp)]
    return partitions


def _spaces(X: FloatArray) -> list[FloatArray]:
    deviations = X.std(axis=0)
    standardized = X / np.where(deviations > 0, deviations, 1.0)
    # A compromise between original and whitened scales (Scrucca and Raftery 2015).
    variances, axes = np.linalg.eigh(standardized.T @ standardized / len(X))
    is_positive = variances > 1e-12 * variances[-1]
    half_whitened = standardized @ (axes[:, is_positive] * variances[is_positive] ** -0.25)
    return [X, standardized, half_whitened if is_positive.any() else standardized]


def _ward(X: FloatArray, numbers: Sequence[int], random: np.random.RandomState) -> dict[int, IntArray]:
    # Imported here to keep the import of evlearn fast.
    from scipy.cluster.hierarchy import linkage

    n = len(X)
    size = max(WARD_SAMPLES, max(numbers))
    chosen = np.arange(n) if n <= size else np.sort(random.choice(n, size, replace=False))
    tree = linkage(X[chosen], "ward")
    partitions = {number: _cut(tree, number) for number in numbers}
    if len(chosen) == n:
        return partitions
    return {number: _nearest_mean(X, chosen, labels, number) for number, labels in partitions.items()}


def _cut(tree: FloatArray, number: int) -> IntArray:
    """Cut a tree into clusters, numbered in the order of their first samples."""
    from scipy.cluster.hierarchy import cut_tree, fcluster

    labels = fcluster(tree, number, criterion="maxclust")
    if labels.max() < number:  # ties, which only the slower function can cut
        labels = cut_tree(tree, n_clusters=number)[:, 0]
    first, inverse = np.unique(labels, return_index=True, return_inverse=True)[1:]
    return np.asarray(first.argsort().argsort()[inverse], dtype=np.intp)


def _nearest_mean(X: FloatArray, chosen: IntArray, labels: IntArray, number: int) -> IntArray:
    means = np.array([X[chosen[labels == k]].mean(axis=0) for k in range(number)])
    nearest: IntArray = pairwise_distances_argmin(X, means)
    return nearest


def _k_means(X: FloatArray, numbers: Sequence[int], random: Any) -> dict[int, IntArray]:
    with warnings.catch_warnings():
        # Fewer distinct samples than clusters: the empty cluster is detected later.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return {
            number: KMeans(number, n_init=1, random_state=random).fit(X).labels_.astype(np.intp)
            for number in numbers
        }
