"""Dissimilarities of samples, and their transform to target conflicts."""

from typing import Any, Literal

import numpy as np

from evlearn.belief import FocalSets
from evlearn.blocks import RowDataset
from evlearn.cluster import EVCLUS, Quantile
from evlearn.cluster.dissimilarities import distances_between, symmetric_dissimilarities
from evlearn.cluster.pairwise.pair_graph import Transform
from evlearn.cluster.pairwise.problem import Problem as ScaleProblem
from evlearn.neural.reading import draw_indices, read_rows
from evlearn.utils.typing import FloatArray, IntArray
from evlearn.utils.validation import check_range

#: Maximum number of samples from which the transform is selected.
_SCALE_SAMPLE = 2000


class Dissimilarity:
    """Dissimilarity of samples: a matrix, a metric, a function, or the distance of transformed features.

    Attributes
    ----------
    source : object
        Value of the parameter ``dissimilarities``, which identifies a training in checkpoints.
    """

    def __init__(self, source: Any, metric: Any) -> None:
        self.source = source
        self._transformer = source if hasattr(source, "transform") else None
        self._function = source if callable(source) and self._transformer is None else None
        self._matrix = source if self._transformer is None and self._function is None else None
        self._metric = metric

    @property
    def euclidean(self) -> bool:
        """True if the dissimilarity is the Euclidean distance of `features`."""
        return (
            self._matrix is None
            and self._function is None
            and (self._transformer is not None or (isinstance(self._metric, str) and self._metric == "euclidean"))
        )

    def features(self, rows: FloatArray) -> FloatArray:
        """Return the features that are compared."""
        return rows if self._transformer is None else np.asarray(self._transformer.transform(rows))

    def square(self, indices: IntArray, rows: FloatArray) -> FloatArray:
        """Return the dissimilarities of all pairs of a subset of the samples."""
        if self._matrix is not None:
            return np.asarray(self._matrix[np.ix_(indices, indices)], dtype=np.float64)
        if self._function is not None:
            square = np.asarray(self._function(rows, rows), dtype=np.float64)
            if square.shape != (len(rows), len(rows)) or not (np.isfinite(square) & (square >= 0)).all():
                raise ValueError(
                    "dissimilarities must be a function that returns a matrix of nonnegative numbers for 2 sets "
                    f"of rows, got shape {square.shape} for {len(rows)} rows."
                )
            return square
        features = self.features(rows)
        return distances_between(features, features, "euclidean" if self.euclidean else self._metric)


def make_dissimilarity(rows: RowDataset, dissimilarities: Any, metric: Any) -> Dissimilarity:
    """Return the dissimilarity for the parameters of a fit."""
    if dissimilarities is None and isinstance(metric, str) and metric == "precomputed":
        return Dissimilarity(read_rows(rows, np.arange(len(rows))), metric)
    if dissimilarities is None or callable(dissimilarities) or hasattr(dissimilarities, "transform"):
        return Dissimilarity(dissimilarities, metric)
    matrix = np.asarray(dissimilarities)
    if matrix.shape != (len(rows), len(rows)):
        raise ValueError(
            f"dissimilarities must be a square matrix of the {len(rows)} samples, a function of 2 sets of "
            f"rows or a fitted transformer, got an array of shape {matrix.shape}."
        )
    if matrix.dtype.kind not in "fiub" or not np.isfinite(matrix).all():
        raise ValueError("dissimilarities has values that are missing, infinite or not numbers; fix these first.")
    return Dissimilarity(symmetric_dissimilarities(matrix), metric)


def make_transform(
    rows: RowDataset,
    dissimilarity: Dissimilarity,
    *,
    kind: Any,
    d0: float | Quantile | Literal["auto"],
    n_clusters: int,
    random: np.random.RandomState,
) -> Transform:
    """Return the transform from dissimilarities to target conflicts that EVCLUS selects from a subset."""
    indices = draw_indices(len(rows), _SCALE_SAMPLE, random)
    sample = read_rows(rows, indices)
    check_range("X", np.asarray(sample, dtype=np.float64), fitting=True)
    square = dissimilarity.square(indices, sample)
    settings = EVCLUS(n_clusters, metric="precomputed", dissimilarity_transform=kind, d0=d0)
    problem = ScaleProblem(settings, square, FocalSets.simple(n_clusters), random)
    off_diagonal = ~np.eye(len(indices), dtype=bool)
    return problem.scale_of(square[off_diagonal], problem.ordinary_pairs(off_diagonal)).transform
