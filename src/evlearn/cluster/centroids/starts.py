"""Initial prototypes: a sample of the rows, its scale, and starts from the sample.

For sparse features, a sample of rows is mapped, with all distances, to a space with few dimensions.
The rows of the sample span at most as many dimensions as there are rows. In coordinates of that space, starts and
parameters are selected as for dense features. Prototypes are weighted means of these rows, so the same weights map
them back to the features.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.utils.random import sample_without_replacement

from evlearn.blocks import RowDataset
from evlearn.blocks.sparse import SparseBlock
from evlearn.cluster.centroids.kmeans import kmeans_solutions, ordinary_rows, seeds
from evlearn.cluster.centroids.model import Coordinates
from evlearn.cluster.neighbors.belief_peaks import belief_peaks
from evlearn.utils.chunks import row_blocks
from evlearn.utils.quantiles import weighted_quantile
from evlearn.utils.typing import FloatArray, IntArray, NumbersLike
from evlearn.utils.validation import EXTREME_RATIO, check_choice, distance_ratios

STARTS = ("kmeans", "k-means++", "random", "peaks")
#: Maximum size of the sample, or size per cluster if that is larger; number of runs of k-means.
_SAMPLE_ROWS, _ROWS_EACH, _N_KMEANS = 20_000, 50, 10
#: Maximum number of distances between the rows of the sample and prototypes, 1 GB in double precision.
_MAX_DISTANCES = 1 << 27
_PEAK_ROWS = 5_000
_PAIRS, _PAIRS_PER_BLOCK = 100_000, 4096
_DELTA_QUANTILE = 0.95
# Maximum weight; larger ones are scaled so that products do not overflow.
_MAX_WEIGHT = 1e100
_ROUNDING_ERROR = 1e-12


@dataclass(frozen=True)
class DataSummary:
    """Sample of the data, weights of its rows, coordinates, and pairs of rows or a given value for `delta`."""

    sample: FloatArray
    counts: FloatArray
    coordinates: Coordinates
    pairs: tuple[IntArray, IntArray] | float

    @cached_property
    def delta(self) -> float:
        """Distance to the empty set."""
        return distance_of(self.sample, self.counts, self.pairs) if isinstance(self.pairs, tuple) else self.pairs

    def without_gross_errors(
        self, prototypes: FloatArray, delta: float | None, random: np.random.RandomState
    ) -> "DataSummary":
        """Return the summary without rows that are far from all prototypes, which would dominate scales."""
        is_ordinary = ordinary_rows(self.sample, self.counts, prototypes)
        if is_ordinary.all():
            return self
        return _summary_of(self.sample[is_ordinary], self.counts[is_ordinary], delta, random)


def summarize_data(
    rows: RowDataset, weights: Any, delta: float | None, random: np.random.RandomState, n_clusters: int = 1
) -> DataSummary:
    """Draw a sample of the data, whose size increases with the number of clusters, and summarize it."""
    return _summary_of(*draw(rows, weights, random, n_clusters), delta, random)


def _summary_of(
    sample: FloatArray, counts: FloatArray, delta: float | None, random: np.random.RandomState
) -> DataSummary:
    pairs = draw_pairs(len(sample), random) if delta is None else delta
    return DataSummary(sample, counts, Coordinates.of(sample), pairs)


def draw(
    rows: RowDataset, weights: FloatArray | None, random: np.random.RandomState, n_clusters: int = 1
) -> tuple[FloatArray, FloatArray]:
    """Draw rows, or all rows if there are few, and return the distinct rows in sorted order with their weights.

    With sorted rows, results do not depend on the order of the data, and a row of weight 2 is equivalent to 2
    equal rows. Rows that are extremely far from the others are left out: they would dominate all scales, and are
    outliers in any case.

    Returns
    -------
    sample : ndarray of shape (n, n_features)
        Distinct rows in double precision, in the coordinates of the data.
    weights : ndarray of shape (n,)
        Weights of the rows.
    """
    indices = _draw_indices(rows, random, n_clusters)
    sample = rows.take(indices).astype(np.float64)
    counts = np.ones(len(indices)) if weights is None else np.asarray(weights, dtype=np.float64)[indices]
    counts = counts * min(1.0, _MAX_WEIGHT / counts.max(initial=1.0))
    distinct, totals = _merge_copies(sample[counts > 0], counts[counts > 0])
    is_ordinary = distance_ratios(distinct) <= EXTREME_RATIO
    return (distinct, totals) if is_ordinary.all() else (distinct[is_ordinary], totals[is_ordinary])


def _merge_copies(sample: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the distinct rows in sorted order, and their total counts."""
    order = np.argsort(sample[:, 0])
    first = sample[order, 0]
    if (first[1:] > first[:-1]).all():  # usually, and sorting rows takes much longer than sorting numbers
        return sample[order], counts[order]
    distinct, positions = np.unique(sample, axis=0, return_inverse=True)
    return distinct, np.bincount(positions.ravel(), counts).astype(np.float64)


def draw_rows(rows: RowDataset, random: np.random.RandomState) -> FloatArray:
    """Draw rows, or all rows if there are few, in their original order and without extreme rows."""
    sample = np.asarray(rows.take(_draw_indices(rows, random)).astype(np.float64))
    is_ordinary = distance_ratios(sample) <= EXTREME_RATIO
    return sample if is_ordinary.all() else sample[is_ordinary]


def _draw_indices(rows: RowDataset, random: np.random.RandomState, n_clusters: int = 1) -> IntArray:
    n_rows = min(max(_SAMPLE_ROWS, _ROWS_EACH * n_clusters), max(_MAX_DISTANCES // n_clusters, n_clusters))
    if len(rows) <= n_rows:
        return np.arange(len(rows))
    return np.asarray(np.sort(sample_without_replacement(len(rows), n_rows, random_state=random)))


def typical_distance(sample: FloatArray, weights: FloatArray, random: np.random.RandomState) -> float:
    """Return the distance that 95 % of the pairs of samples do not exceed, the default of `delta`."""
    return distance_of(sample, weights, draw_pairs(len(sample), random))


def draw_pairs(n: int, random: np.random.RandomState) -> tuple[IntArray, IntArray]:
    """Return all ordered pairs of n samples, or random pairs of different samples if there are many."""
    if n * n <= 2 * _PAIRS:
        return np.divmod(np.arange(n * n), n)
    first, second = random.randint(n, size=_PAIRS), random.randint(n - 1, size=_PAIRS)
    second += second >= first
    return first, second


def distance_of(sample: FloatArray, weights: FloatArray, pairs: tuple[IntArray, IntArray]) -> float:
    """Return the distance that 95 % of given pairs of samples do not exceed."""
    n, (first, second) = len(sample), pairs
    if (weights == 1).all():
        times = (first != second).astype(np.float64)
    else:
        # Weights that sum to 1 are scaled to counts with the same proportions.
        weights = weights * max(1.0, n / weights.sum())
        # A row of weight 2 forms a pair with itself.
        times = weights[first] * np.where(first == second, np.maximum(weights[first] - 1, 0), weights[second])
    unit = float(np.ptp(sample, axis=0).max(initial=0))
    if not (unit > 0 and times.sum() > 0):
        return 1.0
    if not times.all():
        first, second, times = first[times > 0], second[times > 0], times[times > 0]
    scaled, squares = sample / unit, np.empty(len(first))
    for block in row_blocks(len(first), _PAIRS_PER_BLOCK):
        differences = scaled.take(first[block], axis=0)
        differences -= scaled.take(second[block], axis=0)
        squares[block] = np.square(differences, out=differences).sum(axis=1)
    quantile = weighted_quantile(squares, times, _DELTA_QUANTILE)
    # More than 95 % of the pairs are duplicates: any positive scale separates them from the others.
    return unit * float(np.sqrt(quantile if quantile > 0 else squares.max()))


@dataclass(frozen=True)
class Starts:
    """Initial prototypes of the descents of a fit.

    Attributes
    ----------
    init : str or array-like of shape (n_clusters, n_features)
        Kind of initial prototypes, or the prototypes.
    n_clusters : int or None
        Number of clusters; None if it follows from the data.
    n_init : int, default=1
        Number of starts.
    """

    init: str | NumbersLike
    n_clusters: int | None
    n_init: int = 1

    def draw(
        self, rows: RowDataset, sample: FloatArray, counts: FloatArray, random: np.random.RandomState
    ) -> list[FloatArray]:
        """Return the initial prototypes of each start, with the same number of clusters."""
        assert self.n_clusters is not None
        if is_kmeans(self.init):
            return kmeans_solutions(self.n_clusters, sample, counts, random, n_init=self.n_init)
        n_init = n_different_starts(self.init, self.n_init)
        return [make_prototypes(self.init, self.n_clusters, sample, counts, random) for _ in range(n_init)]


def is_kmeans(init: str | NumbersLike) -> bool:
    """Return True if prototypes start at solutions of k-means."""
    return isinstance(init, str) and init == "kmeans"


def n_different_starts(init: str | NumbersLike, n_init: int) -> int:
    """Return the number of starts, which is 1 if the initial prototypes are not random."""
    return n_init if isinstance(init, str) and init != "peaks" else 1


def make_prototypes(
    init: Any, n_clusters: int, sample: FloatArray, weights: FloatArray, random: np.random.RandomState
) -> FloatArray:
    """Return initial prototypes."""
    if not isinstance(init, str):
        return check_prototypes(init, n_clusters, sample.shape[1])
    check_choice("init", init, STARTS)
    if len(sample) <= n_clusters:
        return np.resize(sample, (n_clusters, sample.shape[1]))
    if init == "kmeans":
        return kmeans_solutions(n_clusters, sample, weights, random, n_init=_N_KMEANS)[0]
    if init == "random":
        return sample[random.choice(len(sample), n_clusters, replace=False, p=weights / weights.sum())]
    if init == "peaks":
        subsample = sample
        if len(sample) > _PEAK_ROWS:
            subsample = sample[np.sort(random.permutation(len(sample))[:_PEAK_ROWS])]
        return subsample[belief_peaks(subsample).peaks(n_peaks=n_clusters)]
    return sample[seeds(n_clusters, sample, weights, random)]


def check_prototypes(init: Any, n_clusters: int, n_features: int) -> FloatArray:
    """Check initial prototypes that the user passed, and return them as an array."""
    try:
        prototypes = np.array(init, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"init must be one of {list(STARTS)} or an array of numbers, got {init!r}.") from error
    if prototypes.shape != (n_clusters, n_features) or not np.isfinite(prototypes).all():
        raise ValueError(
            f"init must have shape ({n_clusters}, {n_features}), a prototype for each of n_clusters={n_clusters} "
            f"clusters, and finite numbers; got shape {prototypes.shape}."
        )
    return prototypes


def distinct_rows(rows: SparseBlock, weights: FloatArray) -> tuple[SparseBlock, FloatArray]:
    """Return distinct rows with positive weights, and their total weights.

    The order depends on the rows alone.
    """
    matrix = rows.matrix[weights > 0]
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    keys = [
        matrix.indices[start:end].astype(np.int64).tobytes() + matrix.data[start:end].tobytes()
        for start, end in pairwise(matrix.indptr)
    ]
    _, first, positions = np.unique(np.array(keys, dtype=object), return_index=True, return_inverse=True)
    return SparseBlock(matrix[first]), np.bincount(positions, weights[weights > 0]).astype(np.float64)


@dataclass(frozen=True)
class Isometry:
    """Sparse rows, and coordinates in which they have the same distances.

    Attributes
    ----------
    rows : SparseBlock
        Rows.
    mean : ndarray of shape (n_features,)
        Mean of the rows, where the coordinates are 0.
    coordinates : ndarray of shape (n_rows, n_dimensions)
        Coordinates of the rows.
    vectors : ndarray of shape (n_rows, n_dimensions)
        Weights of the rows in each direction.
    """

    rows: SparseBlock
    mean: FloatArray
    coordinates: FloatArray
    vectors: FloatArray

    @classmethod
    def of(cls, rows: SparseBlock) -> "Isometry":
        """Return an isometry from products of rows, whose number does not depend on the number of features."""
        matrix = rows.matrix.astype(np.float64)
        products = (matrix @ matrix.T).toarray()
        centered = products - products.mean(axis=0) - products.mean(axis=1)[:, None] + products.mean()
        values, vectors = eigh(centered)
        is_positive = values > max(_ROUNDING_ERROR * len(rows) * values[-1], 0.0)
        is_positive[-1] = True  # equal rows have a single direction of length 0
        lengths = np.sqrt(np.maximum(values[is_positive], 0.0))
        inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        mean = np.asarray(matrix.mean(axis=0)).ravel()
        return cls(rows, mean, vectors[:, is_positive] * lengths, vectors[:, is_positive] * inverse)

    def transform(self, points: FloatArray) -> FloatArray:
        """Return the coordinates of the projections of points to the space of the rows."""
        differences = points - self.mean
        products = (self.rows.matrix @ differences.T).T - (differences @ self.mean)[:, None]
        return np.asarray(products @ self.vectors)

    def inverse_transform(self, points: FloatArray) -> FloatArray:
        """Return points with coordinates as points with features."""
        weights = points @ self.vectors.T
        return np.asarray((self.rows.matrix.T @ weights.T).T + (1 - weights.sum(axis=1))[:, None] * self.mean)
