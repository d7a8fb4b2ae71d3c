"""Scale of dissimilarities at which target conflicts are close to 1: a number, a quantile, or selected by fits."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np

from evlearn.belief import FocalSets
from evlearn.cluster.pairwise.irqp import best_start, crisp_masses, labels_of, short_descent
from evlearn.cluster.pairwise.pair_graph import AllPairs, Transform, TransformKind
from evlearn.constraints import PairwiseConstraints
from evlearn.partition.verdict import OUTLIER_MASS
from evlearn.storage import fields
from evlearn.utils.parameters import Specification
from evlearn.utils.typing import FloatArray, IntArray
from evlearn.utils.validation import check_real

#: Quantile of the papers.
_PAPERS_QUANTILE = 0.9
#: Number of starts for each scale in the selection of d0="auto".
_SCAN_CANDIDATES = 4
#: Level of the quantile without conflict, relative to that of the scale, and the maximum ratio of these quantiles.
_LOWER_SHARE, _MAX_RATIO = 1 / 8, 1 - 1e-9
#: Share of outliers that is not a flaw, and the weight of larger shares.
_FREE_OUTLIERS, _OUTLIER_COST = 0.02, 5.0
#: Minimum number of constraints in the sample whose violations count in the selection.
_MIN_CONSTRAINTS = 20
#: Scales relative to the distance between the nearest 2 clusters, and the number of sweeps from crisp clusters.
_SEPARATION_FACTORS, _SWEEPS = (1.0, 1.25, 1.5), 25
#: Maximum number of dissimilarities for quantiles.
_QUANTILE_SAMPLE = 5_000_000


@fields.stored
@dataclass
class Quantile(Specification):
    """Quantile of the dissimilarities, for the parameter `d0`.

    Parameters
    ----------
    level : float
        Level of the quantile, above 0 and at most 1. The papers use 0.9.

    Examples
    --------
    >>> from evlearn.cluster import EVCLUS, Quantile
    >>> from evlearn.datasets import load_butterfly
    >>> model = EVCLUS(2, d0=Quantile(0.9), random_state=0).fit(load_butterfly().data)
    >>> model.labels_.shape
    (12,)
    """

    level: float

    def __post_init__(self) -> None:
        check_real("level", self.level, 0, 1, open_low=True)


def check_d0(d0: Any) -> None:
    """Raise unless the parameter `d0` is valid."""
    if isinstance(d0, Quantile):
        return
    check_real("d0", d0, 0, open_low=True, or_auto=True)


def selects_d0(kind: TransformKind, d0: float | Quantile | Literal["auto"]) -> bool:
    """Return True if `d0` is selected by fits to a sample."""
    return isinstance(d0, str) and isinstance(kind, str) and kind != "rank"


class Scale(NamedTuple):
    """Transform, and the kind of start from which it was selected.

    Attributes
    ----------
    transform : Transform
        Transform of dissimilarities to target conflicts.
    from_clusters : bool
        Whether it was selected by a fit from crisp clusters, which are then the best start.
    """

    transform: Transform
    from_clusters: bool = False


class ScaleSample(NamedTuple):
    """Samples for fits with several scales.

    Attributes
    ----------
    distances : ndarray of shape (n, n)
        Dissimilarities.
    clusters : ndarray of int of shape (n,) or None
        Crisp clusters for a start.
    constraints : PairwiseConstraints or None
        Constraints between these samples.
    """

    distances: FloatArray
    clusters: IntArray | None
    constraints: PairwiseConstraints | None = None


def select_scale(
    dissimilarities: FloatArray,
    sample: Callable[[], ScaleSample],
    *,
    kind: TransformKind,
    d0: float | Quantile | Literal["auto"],
    n_clusters: int,
    random: np.random.RandomState,
) -> Scale:
    """Return the transform of dissimilarities to target conflicts.

    Parameters
    ----------
    dissimilarities : ndarray of shape (n_pairs,)
        Dissimilarities of many pairs, for quantiles.
    sample : callable
        Function that returns a few samples for fits with several scales. It is called only if `d0` is "auto" and
        the transform has a scale.
    kind : str or callable
        "exponential", "linear", "rank", or a function onto [0, 1].
    d0 : float, Quantile or "auto"
        Scale.
    n_clusters : int
        Number of clusters.
    random : RandomState
        Generator for starts.

    Returns
    -------
    Scale
        Transform, and the kind of start from which it was selected.
    """
    dissimilarities = dissimilarities[:: len(dissimilarities) // _QUANTILE_SAMPLE + 1]
    if selects_d0(kind, d0):
        return _select(dissimilarities, sample(), kind, n_clusters, random)
    ranks = np.sort(dissimilarities) if isinstance(kind, str) and kind == "rank" else None
    if not isinstance(d0, (str, Quantile)):
        return Scale(Transform(kind, float(d0), ranks))
    # Ranks and functions do not depend on the scale.
    quantile = d0.level if isinstance(d0, Quantile) else _PAPERS_QUANTILE
    return Scale(Transform(kind, float(_quantile(dissimilarities, quantile)), ranks))


def targets_of(distances: FloatArray, transform: Transform) -> FloatArray:
    """Return the target conflicts of all pairs of samples, with a zero diagonal."""
    delta = np.array(transform(distances), dtype=np.float64, order="C")
    np.fill_diagonal(delta, 0)
    return delta


def _select(
    dissimilarities: FloatArray,
    sample: ScaleSample,
    kind: Any,
    n_clusters: int,
    random: np.random.RandomState,
) -> Scale:
    """Return the scale with the surest partition of a sample that has all clusters and few outliers.

    Scales are quantiles and, if there are crisp clusters, multiples of the distance between the nearest 2
    clusters: if clusters have very different sizes, few pairs have such distances, and no quantile is close to
    them. These fits ignore constraints, but the share of violated constraints counts as much as doubt.
    """
    distances, clusters, constraints = sample
    focal_sets = FocalSets.simple(n_clusters)
    # With c clusters of equal size, a share 1/c of the pairs is within clusters, with dissimilarities below d0.
    quantiles = np.append(np.geomspace(min(1 / n_clusters, 0.5), 0.9, 8), [0.95, 0.99])
    best = (np.inf, Scale(Transform("exponential", 1.0)))
    for d0, d1 in _quantile(dissimilarities, np.column_stack([quantiles, _LOWER_SHARE * quantiles])).tolist():
        transform = _make_transform(kind, d0, d1)
        masses = best_start(targets_of(distances, transform), focal_sets, random, n_candidates=_SCAN_CANDIDATES)
        flaws = _flaws(masses, focal_sets, constraints)
        best = min(best, (flaws, Scale(transform)), key=lambda pair: pair[0])
    if clusters is None:
        return best[1]
    separation = _min_separation(distances, clusters)
    share_within = float(((np.bincount(clusters) / len(clusters)) ** 2).sum())  # of the pairs in the same cluster
    d1 = float(_quantile(dissimilarities, _LOWER_SHARE * share_within))
    for d0 in separation * np.array(_SEPARATION_FACTORS):
        transform = _make_transform(kind, float(d0), d1)
        pairs, start = AllPairs(targets_of(distances, transform)), crisp_masses(clusters, focal_sets)
        trace = short_descent(pairs, start, focal_sets=focal_sets, random=random, sweeps=_SWEEPS)
        flaws = _flaws(trace.state.masses, focal_sets, constraints)
        best = min(best, (flaws, Scale(transform, True)), key=lambda pair: pair[0])
    return best[1]


def _make_transform(kind: Any, d0: float, d1: float) -> Transform:
    """Return the transform with scale `d0`, and without conflict below `d1` if it is exponential."""
    return Transform(kind, d0, d1=d1 if kind == "exponential" and d1 < _MAX_RATIO * d0 else 0.0)


def _min_separation(distances: FloatArray, clusters: IntArray) -> float:
    """Return the median dissimilarity between members of different clusters, for the nearest 2 clusters."""
    members = [np.flatnonzero(clusters == k) for k in np.unique(clusters)]
    return min(
        (float(np.median(distances[np.ix_(first, second)])) for first, second in combinations(members, 2)),
        default=float(distances.max()) or 1.0,
    )


def _quantile(distances: FloatArray, share: FloatArray | float) -> FloatArray:
    """Return quantiles of dissimilarities, all of them positive."""
    quantiles = np.quantile(distances, share)
    # If more than this share of the pairs are duplicates, any positive scale separates them from the rest.
    return np.where(quantiles > 0, quantiles, float(distances.max(initial=0)) or 1.0)


def _flaws(masses: FloatArray, focal_sets: FocalSets, constraints: PairwiseConstraints | None) -> float:
    """Return a penalty of doubt, missing clusters, many outliers and violations in a partition of a sample."""
    n_clusters = focal_sets.frame_size
    doubt = 1 - float(masses[:, focal_sets.singleton_positions].max(axis=1).mean())
    labels = labels_of(masses, focal_sets)
    n_missing = n_clusters - len(np.unique(labels))
    outlier_share = float((masses[:, 0] >= OUTLIER_MASS).mean())
    violated_share = 0.0
    if constraints is not None and len(constraints) >= _MIN_CONSTRAINTS:
        violated_share = len(constraints.violations(labels)) / len(constraints)
    return doubt + violated_share + n_missing / n_clusters + _OUTLIER_COST * max(outlier_share - _FREE_OUTLIERS, 0)
