"""How unlike samples are, and the target conflicts that follow from it."""

from typing import Any, Literal

import numpy as np

from evlearn.belief import FocalSets
from evlearn.blocks import Rows
from evlearn.cluster import EVCLUS
from evlearn.cluster.dissimilarities import distances_between, symmetric_dissimilarities
from evlearn.cluster.pairwise.pair_graph import Transform
from evlearn.cluster.pairwise.problem import Problem as ScaleProblem
from evlearn.neural.reading import some, take
from evlearn.utils.typing import FloatArray, IntArray
from evlearn.utils.validation import check_range

_SCALE_SAMPLE = 2000


class Dissimilarity:
    """How unlike samples are: a matrix, a metric, a function, or the distance of what a transformer makes of them.

    Attributes
    ----------
    given : object
        What was given, to tell one training from another.
    """

    def __init__(self, given: Any, metric: Any) -> None:
        self.given = given
        self._transformer = given if hasattr(given, "transform") else None
        self._function = given if callable(given) and self._transformer is None else None
        self._matrix = given if self._transformer is None and self._function is None else None
        self._metric = metric

    @property
    def euclidean(self) -> bool:
        """Whether it is the Euclidean distance of `features`."""
        return (
            self._matrix is None
            and self._function is None
            and (self._transformer is not None or (isinstance(self._metric, str) and self._metric == "euclidean"))
        )

    def features(self, rows: FloatArray) -> FloatArray:
        """What is compared."""
        return rows if self._transformer is None else np.asarray(self._transformer.transform(rows))

    def square(self, indices: IntArray, rows: FloatArray) -> FloatArray:
        """The dissimilarities of some samples with each other."""
        if self._matrix is not None:
            return np.asarray(self._matrix[np.ix_(indices, indices)], dtype=np.float64)
        if self._function is not None:
            found = np.asarray(self._function(rows, rows), dtype=np.float64)
            if found.shape != (len(rows), len(rows)) or not (np.isfinite(found) & (found >= 0)).all():
                raise ValueError(
                    "dissimilarities must be a function from two sets of rows to a matrix of numbers that are not "
                    f"negative, got shape {found.shape} for {len(rows)} rows."
                )
            return found
        features = self.features(rows)
        return distances_between(features, features, "euclidean" if self.euclidean else self._metric)


def make_dissimilarity(rows: Rows, given: Any, metric: Any) -> Dissimilarity:
    """The dissimilarity that a user asks for."""
    if given is None and isinstance(metric, str) and metric == "precomputed":
        return Dissimilarity(take(rows, np.arange(len(rows))), metric)
    if given is None or callable(given) or hasattr(given, "transform"):
        return Dissimilarity(given, metric)
    matrix = np.asarray(given)
    if matrix.shape != (len(rows), len(rows)):
        raise ValueError(
            f"dissimilarities must be a square matrix of the {len(rows)} samples, a function of two sets of "
            f"rows or a fitted transformer, got an array of shape {matrix.shape}."
        )
    if matrix.dtype.kind not in "fiub" or not np.isfinite(matrix).all():
        raise ValueError("dissimilarities has values that are missing, infinite or no numbers; fix these first.")
    return Dissimilarity(symmetric_dissimilarities(matrix), metric)


def make_transform(
    rows: Rows,
    dissimilarity: Dissimilarity,
    *,
    kind: Any,
    d0: float | None,
    d0_quantile: float | Literal["auto"],
    n_clusters: int,
    random: np.random.RandomState,
) -> Transform:
    """Return the transform from dissimilarities to target conflicts, as EVCLUS selects it from some samples."""
    chosen = some(len(rows), _SCALE_SAMPLE, random)
    sample = take(rows, chosen)
    check_range("X", np.asarray(sample, dtype=np.float64), fitting=True)
    square = dissimilarity.square(chosen, sample)
    settings = EVCLUS(
        n_clusters, metric="precomputed", dissimilarity_transform=kind, d0=d0, d0_quantile=d0_quantile
    )
    problem = ScaleProblem(settings, square, FocalSets.simple(n_clusters), random)
    others = ~np.eye(len(chosen), dtype=bool)
    return problem.scale_of(square[others], problem.ordinary_pairs(others)).transform
