"""The scale of dissimilarities at which target conflicts are close to 1: given, a quantile, or selected."""

from collections.abc import Callable
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np

from evlearn.belief import FocalSets
from evlearn.cluster.pairwise.irqp import best_start, crisp_masses, labels_of, short_descent
from evlearn.cluster.pairwise.pair_graph import AllPairs, Transform, TransformKind
from evlearn.partition.verdict import OUTLIER_MASS
from evlearn.utils.typing import FloatArray, IntArray

_PAPERS_QUANTILE = 0.9
# Of d0_quantile="auto": starts for each quantile, the share of a quantile below which there is no conflict (unless
# distances are the same there), the share of outliers that is no flaw, and what each share beyond it counts.
_SCAN_CANDIDATES = 4
_NEAR, _APART = 1 / 8, 1 - 1e-9
_FEW_OUTLIERS, _OUTLIER_COST = 0.02, 5.0
# Multiples of the distance between the nearest 2 clusters, and the sweeps that begin with clusters.
_TIMES_GAP, _SWEEPS = (1.0, 1.25, 1.5), 25
_QUANTILE_SAMPLE = 5_000_000


def selects_d0(kind: TransformKind, d0: float | None, d0_quantile: float | Literal["auto"]) -> bool:
    """Return True if `d0` is selected by fits to a sample."""
    return d0 is None and isinstance(d0_quantile, str) and isinstance(kind, str) and kind != "rank"


class Scale(NamedTuple):
    """A transform, and the start that it was selected with.

    Attributes
    ----------
    transform : Transform
        From dissimilarities to target conflicts.
    from_clusters : bool
        True if fits from given crisp clusters decided, so that these are the start to choose.
    """

    transform: Transform
    from_clusters: bool = False


def select_scale(
    used: FloatArray,
    sample: Callable[[], tuple[FloatArray, IntArray | None]],
    *,
    kind: TransformKind,
    d0: float | None,
    d0_quantile: float | Literal["auto"],
    n_clusters: int,
    random: np.random.RandomState,
) -> Scale:
    """Return the transform from dissimilarities to target conflicts.

    Parameters
    ----------
    used : ndarray of shape (n_pairs,)
        The dissimilarities of many pairs, of which quantiles are taken.
    sample : callable
        A function that returns the square matrix of dissimilarities of a few samples, for fits with several
        scales, and clusters of these to start from or None. It is called only if `d0_quantile` is "auto" and
        decides.
    kind : str or callable
        "exponential", "linear", "rank", or a function onto [0, 1].
    d0 : float or None
        The scale; None means a quantile.
    d0_quantile : float or "auto"
        The quantile.
    n_clusters : int
        The number of clusters.
    random : RandomState
        For starts.

    Returns
    -------
    Scale
        The transform, and the start that it was selected with.
    """
    used = used[:: len(used) // _QUANTILE_SAMPLE + 1]
    if selects_d0(kind, d0, d0_quantile):
        return _select(used, *sample(), kind, n_clusters, random)
    ranks = np.sort(used) if isinstance(kind, str) and kind == "rank" else None
    if d0 is not None:
        return Scale(Transform(kind, float(d0), ranks))
    # The scale of ranks and functions does not count.
    quantile = _PAPERS_QUANTILE if isinstance(d0_quantile, str) else d0_quantile
    return Scale(Transform(kind, float(_quantile(used, quantile)), ranks))


def targets_of(distances: FloatArray, transform: Transform) -> FloatArray:
    """Return the target conflicts of all pairs of some samples."""
    delta = np.array(transform(distances), dtype=np.float64, order="C")
    np.fill_diagonal(delta, 0)
    return delta


def _select(
    used: FloatArray,
    distances: FloatArray,
    clusters: IntArray | None,
    kind: Any,
    n_clusters: int,
    random: np.random.RandomState,
) -> Scale:
    """Return the scale, of several, whose partition of a sample is the surest, with all clusters and few outliers.

    Scales are quantiles and, if there are clusters to start from, multiples of the distance between the nearest 2
    of these: where clusters have very different sizes, few pairs have such distances, and no quantile is near.
    """
    focal_sets = FocalSets.simple(n_clusters)
    # Of c clusters of one size, a share 1/c of the pairs is within clusters; these must be below d0.
    quantiles = np.append(np.geomspace(min(1 / n_clusters, 0.5), 0.9, 8), [0.95, 0.99])
    best = (np.inf, Scale(Transform("exponential", 1.0)))
    for d0, near in _quantile(used, np.column_stack([quantiles, _NEAR * quantiles])).tolist():
        transform = _transform(kind, d0, near)
        masses = best_start(targets_of(distances, transform), focal_sets, random, n_candidates=_SCAN_CANDIDATES)
        best = min(best, (_flaws(masses, focal_sets), Scale(transform)), key=lambda pair: pair[0])
    if clusters is None:
        return best[1]
    gap, near = _smallest_gap(distances, clusters), float(_quantile(used, _NEAR * _share_within(clusters)))
    for d0 in gap * np.array(_TIMES_GAP):
        transform = _transform(kind, float(d0), near)
        pairs, start = AllPairs(targets_of(distances, transform)), crisp_masses(clusters, focal_sets)
        trace = short_descent(pairs, start, focal_sets=focal_sets, random=random, sweeps=_SWEEPS)
        flaws = _flaws(trace.state.masses, focal_sets)
        best = min(best, (flaws, Scale(transform, True)), key=lambda pair: pair[0])
    return best[1]


def _transform(kind: Any, d0: float, near: float) -> Transform:
    """Return the transform with a scale, and without conflict below another scale if it can have that."""
    return Transform(kind, d0, near=near if kind == "exponential" and near < _APART * d0 else 0.0)


def _smallest_gap(distances: FloatArray, clusters: IntArray) -> float:
    """Return the median dissimilarity of pairs in 2 clusters, the smallest of all 2 clusters."""
    members = [np.flatnonzero(clusters == k) for k in np.unique(clusters)]
    return min(
        (float(np.median(distances[np.ix_(one, other)])) for one, other in combinations(members, 2)),
        default=float(distances.max()) or 1.0,
    )


def _share_within(clusters: IntArray) -> float:
    """Return the share of the pairs that are within clusters."""
    return float(((np.bincount(clusters) / len(clusters)) ** 2).sum())


def _quantile(distances: FloatArray, share: FloatArray | float) -> FloatArray:
    """Return quantiles of dissimilarities, never zero."""
    quantiles = np.quantile(distances, share)
    # More than this share of the pairs are duplicates: any positive scale tells them from the rest.
    return np.where(quantiles > 0, quantiles, float(distances.max(initial=0)) or 1.0)


def _flaws(masses: FloatArray, focal_sets: FocalSets) -> float:
    """Return what a partition of a sample lacks: belief in single clusters, clusters, and few outliers."""
    n_clusters = focal_sets.frame_size
    unsure = 1 - float(masses[:, focal_sets.singleton_positions].max(axis=1).mean())
    missing = n_clusters - len(np.unique(labels_of(masses, focal_sets)))
    outliers = float((masses[:, 0] >= OUTLIER_MASS).mean())
    return unsure + missing / n_clusters + _OUTLIER_COST * max(outliers - _FEW_OUTLIERS, 0)
