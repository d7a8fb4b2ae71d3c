"""Weights of training samples, and weighted nearest neighbors."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.class_weight import compute_sample_weight

from evlearn.classify.labels import Labels
from evlearn.utils.typing import FloatArray

_Search = Callable[[int], tuple[npt.NDArray[np.int32], FloatArray]]


@dataclass(frozen=True)
class SampleWeights:
    """Weights of samples and of their classes.

    Attributes
    ----------
    counts : ndarray of shape (n_samples,)
        Multiplicity of each sample.
    by_class : ndarray of shape (n_samples,)
        Weight of the class of each sample.
    """

    counts: FloatArray
    by_class: FloatArray

    @property
    def total(self) -> FloatArray:
        """Total weight of each sample."""
        return np.asarray(self.counts * self.by_class)

    @property
    def leave_one_out(self) -> FloatArray:
        """Remaining weight of each sample if one copy of it is left out."""
        return np.asarray(np.maximum(self.counts - 1, 0) * self.by_class)


def read_weights(counts: FloatArray | None, class_weight: Any, labels: Labels, data: Any) -> SampleWeights | None:
    """Return the weights of samples and of their classes, or None if all samples count once."""
    if class_weight is None:
        return None if counts is None else SampleWeights(counts, np.ones(len(data)))
    if labels.codes is None:
        raise ValueError(f"class_weight={class_weight!r} requires crisp labels; pass sample_weight to fit.")
    counts = np.ones(len(data)) if counts is None else counts
    if isinstance(class_weight, str) and class_weight == "balanced":
        shares = np.bincount(labels.codes, counts)
        class_weight = {
            name: counts.sum() / (len(shares) * share)
            for name, share in zip(labels.classes.tolist(), shares, strict=True)
            if share > 0
        }
    by_class = compute_sample_weight(class_weight, labels.classes[labels.codes])
    return SampleWeights(counts, np.asarray(by_class, dtype=np.float64))


def nearest_by_weight(
    search: _Search, n_samples: int, n_neighbors: int, weights: FloatArray, own_weights: FloatArray | None = None
) -> tuple[npt.NDArray[np.int32], FloatArray, FloatArray]:
    """Return the nearest samples with a total weight of `n_neighbors`, or all samples.

    Parameters
    ----------
    search : callable
        Function of k that returns the k nearest samples of each row, and squared distances.
    n_samples : int
        Number of samples.
    n_neighbors : int
        Total weight of the neighbors; the last neighbor may count partially.
    weights : ndarray of shape (n_samples,)
        Weights of the samples.
    own_weights : ndarray of shape (n_rows,) or None
        Remaining weights of the rows themselves, if they are the samples.

    Returns
    -------
    numbers, squares, counts : ndarray of shape (n_rows, width)
        Samples, squared distances, and the weight of each neighbor, 0 if fewer neighbors are needed.
    """
    width = min(n_neighbors, n_samples)
    while True:
        numbers, squares = search(width)
        neighbor_weights = weights[numbers]
        if own_weights is not None:
            numbers = np.column_stack([np.arange(len(own_weights), dtype=np.int32), numbers])
            squares, neighbor_weights = (
                np.column_stack([np.zeros(len(own_weights)), squares]),
                np.column_stack([own_weights, neighbor_weights]),
            )
        sums = neighbor_weights.cumsum(axis=1)
        if width == n_samples or (sums[:, -1] >= n_neighbors).all():
            break
        width = min(2 * width, n_samples)
    counts = np.clip(n_neighbors - (sums - neighbor_weights), 0, neighbor_weights)
    is_used = np.append(True, counts[:, 1:].any(axis=0))
    neighbors = np.ascontiguousarray(numbers[:, is_used])
    return neighbors, np.ascontiguousarray(squares[:, is_used]), np.ascontiguousarray(counts[:, is_used])
