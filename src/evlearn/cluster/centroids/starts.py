"""Where prototypes start: a sample of the rows, its scale, and some of its points."""

from typing import Any

import numpy as np
from sklearn.utils.random import sample_without_replacement

from evlearn.blocks import Rows
from evlearn.cluster.centroids.kmeans import seeds
from evlearn.cluster.centroids.robust_kmeans import kmeans_solutions
from evlearn.cluster.neighbors.belief_peaks import delta_bel
from evlearn.utils.chunks import row_blocks
from evlearn.utils.quantiles import weighted_quantile
from evlearn.utils.typing import FloatArray, IntArray
from evlearn.utils.validation import REMOTE, check_choice, remoteness

STARTS = ("kmeans", "k-means++", "random", "peaks")
#: The number of samples that are looked at, or that for each cluster if it is more; runs of k-means.
_SAMPLE_ROWS, _ROWS_EACH, _N_KMEANS = 20_000, 50, 10
_PEAK_ROWS = 5_000
_PAIRS, _PAIRS_PER_BLOCK = 100_000, 4096
_NEAR_AND_FAR = 0.95
# Weights beyond this are brought down, so that their products are numbers.
_HEAVIEST = 1e100


def draw(
    rows: Rows, weights: FloatArray | None, random: np.random.RandomState, n_clusters: int = 1
) -> tuple[FloatArray, FloatArray]:
    """Some rows, all of them if there are few: each once, in order, and how much it counts.

    Sorted, so that what follows from them does not depend on the order of the rows, and a row of weight two is
    the same as two rows. Without the few that are remote from all others: they would be all that is seen of the
    sample, and are outliers in any case.

    Returns
    -------
    sample : ndarray of shape (n, n_features)
        The distinct rows, in double precision, as the user has them.
    weights : ndarray of shape (n,)
        Their weights.
    """
    chosen = _choose(rows, random, n_clusters)
    sample = rows.take(chosen).astype(np.float64)
    counts = np.ones(len(chosen)) if weights is None else np.asarray(weights, dtype=np.float64)[chosen]
    counts = counts * min(1.0, _HEAVIEST / counts.max(initial=1.0))
    distinct, places = np.unique(sample[counts > 0], axis=0, return_inverse=True)
    counts = np.asarray(np.bincount(places.ravel(), counts[counts > 0]), dtype=np.float64)
    near = remoteness(distinct) <= REMOTE
    return (distinct, counts) if near.all() else (distinct[near], counts[near])


def draw_plain(rows: Rows, random: np.random.RandomState) -> FloatArray:
    """Some rows as they are, all of them if there are few, without the few that are remote from all others."""
    some = np.asarray(rows.take(_choose(rows, random)).astype(np.float64))
    near = remoteness(some) <= REMOTE
    return some if near.all() else some[near]


def _choose(rows: Rows, random: np.random.RandomState, n_clusters: int = 1) -> IntArray:
    n_rows = max(_SAMPLE_ROWS, _ROWS_EACH * n_clusters)
    if len(rows) <= n_rows:
        return np.arange(len(rows))
    return np.asarray(np.sort(sample_without_replacement(len(rows), n_rows, random_state=random)))


def typical_distance(sample: FloatArray, weights: FloatArray, random: np.random.RandomState) -> float:
    """The distance that 95 of 100 pairs of samples do not exceed, as the default for outliers."""
    n = len(sample)
    if n * n <= 2 * _PAIRS:
        first, second = np.divmod(np.arange(n * n), n)
    else:
        first, second = random.randint(n, size=_PAIRS), random.randint(n - 1, size=_PAIRS)
        second += second >= first
    # Weights that are shares rather than numbers, as those that sum to one, are numbers in the same proportions.
    weights = weights * max(1.0, n / weights.sum())
    # A row that counts twice makes a pair with itself.
    times = weights[first] * np.where(first == second, np.maximum(weights[first] - 1, 0), weights[second])
    unit = float(np.ptp(sample, axis=0).max(initial=0))
    if not (unit > 0 and times.sum() > 0):
        return 1.0
    scaled, squares = sample / unit, np.empty(len(first))
    for block in row_blocks(len(first), _PAIRS_PER_BLOCK):
        squares[block] = ((scaled[first[block]] - scaled[second[block]]) ** 2).sum(axis=1)
    quantile = weighted_quantile(squares, times, _NEAR_AND_FAR)
    # More than 95 of 100 pairs are duplicates: any positive scale tells them from the rest.
    return unit * float(np.sqrt(quantile if quantile > 0 else squares.max()))


def make_prototypes(
    init: Any, n_clusters: int, sample: FloatArray, weights: FloatArray, random: np.random.RandomState
) -> FloatArray:
    """Prototypes to start from."""
    if not isinstance(init, str):
        return given_prototypes(init, n_clusters, sample.shape[1])
    check_choice("init", init, STARTS)
    if len(sample) <= n_clusters:
        return np.resize(sample, (n_clusters, sample.shape[1]))
    if init == "kmeans":
        return kmeans_solutions(n_clusters, sample, weights, random, n_init=_N_KMEANS)[0]
    if init == "random":
        return sample[random.choice(len(sample), n_clusters, replace=False, p=weights / weights.sum())]
    if init == "peaks":
        some = sample
        if len(sample) > _PEAK_ROWS:
            some = sample[np.sort(random.permutation(len(sample))[:_PEAK_ROWS])]
        return some[delta_bel(some).peaks(n_peaks=n_clusters)]
    return sample[seeds(n_clusters, sample, weights, random)]


def given_prototypes(init: Any, n_clusters: int, n_features: int) -> FloatArray:
    """Prototypes that the user gives."""
    try:
        given = np.array(init, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"init must be one of {list(STARTS)} or an array of numbers, got {init!r}.") from error
    if given.shape != (n_clusters, n_features) or not np.isfinite(given).all():
        raise ValueError(
            f"init must have shape ({n_clusters}, {n_features}), a prototype for each of n_clusters={n_clusters} "
            f"clusters, and finite numbers; got shape {given.shape}."
        )
    return given
