"""How much training samples count, and which neighbours speak if some count more than others."""

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
    """How much samples count.

    Attributes
    ----------
    counts : ndarray of shape (n_samples,)
        How many times each sample is there.
    by_class : ndarray of shape (n_samples,)
        How much its class counts.
    """

    counts: FloatArray
    by_class: FloatArray

    @property
    def total(self) -> FloatArray:
        """How much each sample counts."""
        return np.asarray(self.counts * self.by_class)

    @property
    def others_alike(self) -> FloatArray:
        """What remains of each sample, if it is left out once."""
        return np.asarray(np.maximum(self.counts - 1, 0) * self.by_class)


def read_weights(counts: FloatArray | None, class_weight: Any, labels: Labels, data: Any) -> SampleWeights | None:
    """Return the weights of samples and of their classes, or None if all samples count once."""
    if class_weight is None:
        return None if counts is None else SampleWeights(counts, np.ones(len(data)))
    if labels.codes is None:
        raise ValueError(f"class_weight={class_weight!r} needs crisp labels; give sample_weight to fit.")
    counts = np.ones(len(data)) if counts is None else counts
    if isinstance(class_weight, str) and class_weight == "balanced":
        shares = np.bincount(labels.codes, counts)
        class_weight = {
            one: counts.sum() / (len(shares) * share)
            for one, share in zip(labels.classes.tolist(), shares, strict=True)
            if share > 0
        }
    by_class = compute_sample_weight(class_weight, labels.classes[labels.codes])
    return SampleWeights(counts, np.asarray(by_class, dtype=np.float64))


def nearest_by_weight(
    search: _Search, n_samples: int, n_neighbors: int, weights: FloatArray, own: FloatArray | None = None
) -> tuple[npt.NDArray[np.int32], FloatArray, FloatArray]:
    """The nearest samples that weigh `n_neighbors` together, or all.

    Parameters
    ----------
    search : callable
        Gives as many nearest samples of each row as it is told, and squared distances.
    n_samples : int
        How many it can give.
    n_neighbors : int
        What neighbours weigh together; of the last one, only a part may count.
    weights : ndarray of shape (n_samples,)
        What the samples weigh.
    own : ndarray of shape (n_rows,) or None
        What remains of the rows themselves, which are the samples.

    Returns
    -------
    numbers, squares, counts : ndarray of shape (n_rows, width)
        The samples, squared distances, and what each counts: nothing, where fewer are needed.
    """
    width = min(n_neighbors, n_samples)
    while True:
        numbers, squares = search(width)
        heavy = weights[numbers]
        if own is not None:
            numbers = np.column_stack([np.arange(len(own), dtype=np.int32), numbers])
            squares, heavy = np.column_stack([np.zeros(len(own)), squares]), np.column_stack([own, heavy])
        sums = heavy.cumsum(axis=1)
        if width == n_samples or (sums[:, -1] >= n_neighbors).all():
            break
        width = min(2 * width, n_samples)
    counts = np.clip(n_neighbors - (sums - heavy), 0, heavy)
    used = np.append(True, counts[:, 1:].any(axis=0))
    kept = np.ascontiguousarray(numbers[:, used])
    return kept, np.ascontiguousarray(squares[:, used]), np.ascontiguousarray(counts[:, used])
