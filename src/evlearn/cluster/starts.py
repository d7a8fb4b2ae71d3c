"""Where prototypes start: a sample of the rows, its scale, and some of its points."""

from typing import Any

import numpy as np
from sklearn.utils.random import sample_without_replacement

from evlearn.belief.types import FloatArray, IntArray
from evlearn.blocks import Rows
from evlearn.cluster.belief_peaks import delta_bel
from evlearn.parameters import REMOTE, check_choice, remoteness

STARTS = ("kmeans", "random", "peaks")
_SAMPLE_ROWS = 20_000
_PEAK_ROWS = 5_000
_PAIRS = 100_000
_NEAR_AND_FAR = 0.95
# Weights beyond this are brought down, so that their products are numbers.
_HEAVIEST = 1e100


def draw(rows: Rows, weights: FloatArray | None, random: np.random.RandomState) -> tuple[FloatArray, FloatArray]:
    """Some rows, all of them if there are few: each once, in order, and how much it counts.

    Sorted, so that what follows from them does not depend on the order of the rows, and a row of weight two is
    the same as two rows. Without the few that are remote from all others: they would be all that is seen of the
    sample, and are outliers in any case.

    Parameters
    ----------
    rows : Rows
        All rows.
    weights : ndarray of shape (n_rows,) or None
        Their weights.
    random : RandomState
        The source of randomness.

    Returns
    -------
    sample : ndarray of shape (n, n_features)
        The distinct rows, in double precision, as the user has them.
    weights : ndarray of shape (n,)
        Their weights.
    """
    chosen = _choose(rows, random)
    sample = rows.take(chosen).astype(np.float64) + rows.origin
    counts = np.ones(len(chosen)) if weights is None else np.asarray(weights, dtype=np.float64)[chosen]
    counts = counts * min(1.0, _HEAVIEST / counts.max(initial=1.0))
    distinct, places = np.unique(sample[counts > 0], axis=0, return_inverse=True)
    counts = np.asarray(np.bincount(places.ravel(), counts[counts > 0]), dtype=np.float64)
    near = remoteness(distinct) <= REMOTE
    return (distinct, counts) if near.all() else (distinct[near], counts[near])


def draw_plain(rows: Rows, random: np.random.RandomState) -> FloatArray:
    """Some rows as they are, all of them if there are few, without the few that are remote from all others.

    Parameters
    ----------
    rows : Rows
        All rows.
    random : RandomState
        The source of randomness.

    Returns
    -------
    ndarray of shape (n, n_features)
        The rows, in double precision, as the user has them.
    """
    some = np.asarray(rows.take(_choose(rows, random)).astype(np.float64) + rows.origin)
    near = remoteness(some) <= REMOTE
    return some if near.all() else some[near]


def _choose(rows: Rows, random: np.random.RandomState) -> IntArray:
    if len(rows) <= _SAMPLE_ROWS:
        return np.arange(len(rows))
    return np.asarray(np.sort(sample_without_replacement(len(rows), _SAMPLE_ROWS, random_state=random)))


def typical_distance(sample: FloatArray, weights: FloatArray, random: np.random.RandomState) -> float:
    """The distance that 95 of 100 pairs of objects do not exceed, as the default for outliers.

    Parameters
    ----------
    sample : ndarray of shape (n, n_features)
        Some rows.
    weights : ndarray of shape (n,)
        Their weights: two is as if a row were there twice.
    random : RandomState
        The source of randomness, for samples of more than a hundred thousand pairs.

    Returns
    -------
    float
        The distance; 1 if all rows are the same.
    """
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
    difference = sample[first] - sample[second]
    unit = float(np.abs(difference).max(initial=0))
    if not (unit > 0 and times.sum() > 0):
        return 1.0
    squares = ((difference / unit) ** 2).sum(axis=1)
    quantile = _weighted_quantile(squares, times, _NEAR_AND_FAR)
    # More than 95 of 100 pairs are duplicates: any positive scale tells them from the rest.
    return unit * float(np.sqrt(quantile if quantile > 0 else squares.max()))


def make_prototypes(
    init: Any, n_clusters: int, sample: FloatArray, weights: FloatArray, random: np.random.RandomState
) -> FloatArray:
    """Prototypes to start from.

    Parameters
    ----------
    init : {"kmeans", "random", "peaks"} or array-like of shape (n_clusters, n_features)
        Points spread by k-means++, points drawn at random, peaks of belief, or given points.
    n_clusters : int
        How many.
    sample : ndarray of shape (n, n_features)
        Some rows.
    weights : ndarray of shape (n,)
        Their weights.
    random : RandomState
        The source of randomness.

    Returns
    -------
    ndarray of shape (n_clusters, n_features)
        The prototypes.
    """
    if not isinstance(init, str):
        try:
            given = np.array(init, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"init must be one of {list(STARTS)} or an array of numbers, got {init!r}."
            ) from error
        if given.shape != (n_clusters, sample.shape[1]) or not np.isfinite(given).all():
            raise ValueError(
                f"init must have shape ({n_clusters}, {sample.shape[1]}), a prototype for each of n_clusters="
                f"{n_clusters} clusters, and finite numbers; got shape {given.shape}."
            )
        return given
    check_choice("init", init, STARTS)
    if len(sample) <= n_clusters:
        return np.resize(sample, (n_clusters, sample.shape[1]))
    if init == "random":
        return sample[random.choice(len(sample), n_clusters, replace=False, p=weights / weights.sum())]
    if init == "peaks":
        some = sample
        if len(sample) > _PEAK_ROWS:
            some = sample[np.sort(random.permutation(len(sample))[:_PEAK_ROWS])]
        return some[delta_bel(some).peaks(n_peaks=n_clusters)]
    return _spread(n_clusters, sample, weights, random)


def _spread(n_clusters: int, sample: FloatArray, weights: FloatArray, random: np.random.RandomState) -> FloatArray:
    from sklearn.cluster import kmeans_plusplus  # here, because it takes as long to import as all the rest

    unit = float(np.abs(sample - sample[0]).max(initial=0)) or 1.0
    moved = (sample - sample[0]) / unit
    chosen = kmeans_plusplus(moved, n_clusters, sample_weight=weights, random_state=random)[1]
    return np.asarray(sample[chosen])


def _weighted_quantile(values: FloatArray, times: FloatArray, q: float) -> float:
    """The quantile, with linear interpolation, of values that are there several times each."""
    order = np.argsort(values, kind="stable")
    values, ends = values[order], np.cumsum(times[order])
    place = q * (ends[-1] - 1)
    if place <= 0:
        return float(values[times[order] > 0][0])
    low = values[min(np.searchsorted(ends, np.floor(place), side="right"), len(values) - 1)]
    high = values[min(np.searchsorted(ends, np.floor(place) + 1, side="right"), len(values) - 1)]
    return float(low + (place - np.floor(place)) * (high - low))
