"""Initial prototypes: a sample of the rows, its scale, and starts from the sample."""

from typing import Any

import numpy as np
from sklearn.utils.random import sample_without_replacement

from evlearn.blocks import RowDataset
from evlearn.cluster.centroids.kmeans import seeds
from evlearn.cluster.centroids.robust_kmeans import kmeans_solutions
from evlearn.cluster.neighbors.belief_peaks import belief_peaks
from evlearn.utils.chunks import row_blocks
from evlearn.utils.quantiles import weighted_quantile
from evlearn.utils.typing import FloatArray, IntArray
from evlearn.utils.validation import EXTREME_RATIO, check_choice, distance_ratios

STARTS = ("kmeans", "k-means++", "random", "peaks")
#: Maximum size of the sample, or size per cluster if that is larger; number of runs of k-means.
_SAMPLE_ROWS, _ROWS_EACH, _N_KMEANS = 20_000, 50, 10
_PEAK_ROWS = 5_000
_PAIRS, _PAIRS_PER_BLOCK = 100_000, 4096
_DELTA_QUANTILE = 0.95
# Maximum weight; larger ones are scaled so that products do not overflow.
_MAX_WEIGHT = 1e100


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
    distinct, positions = np.unique(sample[counts > 0], axis=0, return_inverse=True)
    counts = np.asarray(np.bincount(positions.ravel(), counts[counts > 0]), dtype=np.float64)
    is_ordinary = distance_ratios(distinct) <= EXTREME_RATIO
    return (distinct, counts) if is_ordinary.all() else (distinct[is_ordinary], counts[is_ordinary])


def draw_rows(rows: RowDataset, random: np.random.RandomState) -> FloatArray:
    """Draw rows, or all rows if there are few, in their original order and without extreme rows."""
    sample = np.asarray(rows.take(_draw_indices(rows, random)).astype(np.float64))
    is_ordinary = distance_ratios(sample) <= EXTREME_RATIO
    return sample if is_ordinary.all() else sample[is_ordinary]


def _draw_indices(rows: RowDataset, random: np.random.RandomState, n_clusters: int = 1) -> IntArray:
    n_rows = max(_SAMPLE_ROWS, _ROWS_EACH * n_clusters)
    if len(rows) <= n_rows:
        return np.arange(len(rows))
    return np.asarray(np.sort(sample_without_replacement(len(rows), n_rows, random_state=random)))


def typical_distance(sample: FloatArray, weights: FloatArray, random: np.random.RandomState) -> float:
    """Return the distance that 95 % of the pairs of samples do not exceed, the default of `delta`."""
    n = len(sample)
    if n * n <= 2 * _PAIRS:
        first, second = np.divmod(np.arange(n * n), n)
    else:
        first, second = random.randint(n, size=_PAIRS), random.randint(n - 1, size=_PAIRS)
        second += second >= first
    # Weights that sum to 1 are scaled to counts with the same proportions.
    weights = weights * max(1.0, n / weights.sum())
    # A row of weight 2 forms a pair with itself.
    times = weights[first] * np.where(first == second, np.maximum(weights[first] - 1, 0), weights[second])
    unit = float(np.ptp(sample, axis=0).max(initial=0))
    if not (unit > 0 and times.sum() > 0):
        return 1.0
    scaled, squares = sample / unit, np.empty(len(first))
    for block in row_blocks(len(first), _PAIRS_PER_BLOCK):
        squares[block] = ((scaled[first[block]] - scaled[second[block]]) ** 2).sum(axis=1)
    quantile = weighted_quantile(squares, times, _DELTA_QUANTILE)
    # More than 95 % of the pairs are duplicates: any positive scale separates them from the others.
    return unit * float(np.sqrt(quantile if quantile > 0 else squares.max()))


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
