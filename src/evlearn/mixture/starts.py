"""Where EM starts: hard partitions by Ward's method and by k-means, of the data in several scales."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin

from evlearn.utils.typing import FloatArray, IntArray

# Ward's method looks at all pairs: of so many samples at most, and the others follow the nearest mean.
WARD_OBJECTS = 2000


def first_partitions(
    X: FloatArray, numbers: Sequence[int], n_init: int, random: np.random.RandomState
) -> dict[int, list[IntArray]]:
    """Partitions to start from, for each number of components."""
    spaces = _spaces(X)
    several = [number for number in numbers if number > 1]
    found: dict[int, list[IntArray]] = {number: [] for number in several}
    for start in range(n_init if several else 0):
        space = spaces[start % len(spaces)]
        made = _ward(space, several, random) if start < len(spaces) else _k_means(space, several, random)
        for number, labels in made.items():
            found[number].append(labels)
    if 1 in numbers:
        found[1] = [np.zeros(len(X), dtype=np.intp)]
    return found


def _spaces(X: FloatArray) -> list[FloatArray]:
    deviations = X.std(axis=0)
    standardised = X / np.where(deviations > 0, deviations, 1.0)
    # Between trusting long directions only and trusting all alike (Scrucca and Raftery 2015).
    variances, axes = np.linalg.eigh(standardised.T @ standardised / len(X))
    kept = variances > 1e-12 * variances[-1]
    half_whitened = standardised @ (axes[:, kept] * variances[kept] ** -0.25)
    return [X, standardised, half_whitened if kept.any() else standardised]


def _ward(X: FloatArray, numbers: Sequence[int], random: np.random.RandomState) -> dict[int, IntArray]:
    # Imported here, so that those who need no mixture need not wait for it.
    from scipy.cluster.hierarchy import linkage

    n = len(X)
    size = max(WARD_OBJECTS, max(numbers))
    chosen = np.arange(n) if n <= size else np.sort(random.choice(n, size, replace=False))
    tree = linkage(X[chosen], "ward")
    partitions = {number: _cut(tree, number) for number in numbers}
    if len(chosen) == n:
        return partitions
    return {number: _nearest_mean(X, chosen, labels, number) for number, labels in partitions.items()}


def _cut(tree: FloatArray, number: int) -> IntArray:
    """Clusters numbered in the order of their first samples."""
    from scipy.cluster.hierarchy import cut_tree, fcluster

    labels = fcluster(tree, number, criterion="maxclust")
    if labels.max() < number:  # samples that are equally far apart: only the slower way cuts between them
        labels = cut_tree(tree, n_clusters=number)[:, 0]
    first, inverse = np.unique(labels, return_index=True, return_inverse=True)[1:]
    return np.asarray(first.argsort().argsort()[inverse], dtype=np.intp)


def _nearest_mean(X: FloatArray, chosen: IntArray, labels: IntArray, number: int) -> IntArray:
    means = np.array([X[chosen[labels == k]].mean(axis=0) for k in range(number)])
    nearest: IntArray = pairwise_distances_argmin(X, means)
    return nearest


def _k_means(X: FloatArray, numbers: Sequence[int], random: Any) -> dict[int, IntArray]:
    with warnings.catch_warnings():
        # Fewer distinct samples than clusters: the empty cluster is noticed later.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return {
            number: KMeans(number, n_init=1, random_state=random).fit(X).labels_.astype(np.intp)
            for number in numbers
        }


__all__ = ["first_partitions"]
