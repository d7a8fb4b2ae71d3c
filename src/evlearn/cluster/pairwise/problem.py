"""What EVCLUS is asked: data, pairs of samples with target conflicts, and the scale of these; and its answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evlearn.belief import FocalSets
from evlearn.cluster.dissimilarities import distances_between
from evlearn.cluster.focal_families import in_two_steps
from evlearn.cluster.pairwise.irqp import Pairs, Swept, best_start, labels_of
from evlearn.cluster.pairwise.pair_graph import AllPairs, Transform, regular_graph, symmetrize
from evlearn.cluster.pairwise.partners import (
    ALL_PAIRS_UP_TO,
    MANY_OBJECTS_PARTNERS,
    draw_partners,
    partner_distances,
    read_partners,
    sample_rings,
)
from evlearn.constraints import PairwiseConstraints
from evlearn.partition.verdict import OUTLIER_MASS
from evlearn.utils.chunks import row_blocks
from evlearn.utils.convergence import Report, Trace
from evlearn.utils.typing import FloatArray, IntArray

_START_OBJECTS = 150
_PAPERS_QUANTILE = 0.9
# Of d0_quantile="auto": starts for each quantile, the share of a quantile below which there is no conflict (unless
# distances are the same there), the share of outliers that is no flaw, and what each share beyond it counts.
_SCAN_CANDIDATES = 4
_NEAR, _APART = 1 / 8, 1 - 1e-9
_FEW_OUTLIERS, _OUTLIER_COST = 0.02, 5.0
_QUANTILE_SAMPLE = 5_000_000


@dataclass(frozen=True)
class Problem:
    """What a solver needs.

    Attributes
    ----------
    settings : EVCLUS
        Its parameters.
    data : ndarray of shape (n_samples, n_features) or (n_samples, n_samples)
        Features, or dissimilarities.
    focal_sets : FocalSets
        The family to begin with.
    random : RandomState
        For all draws.
    constraints : PairwiseConstraints or None, default=None
        Pairs that must, or cannot, be in the same cluster.
    report : callable or None, default=None
        Told the number of every sweep and its objective.
    """

    settings: Any
    data: Any
    focal_sets: FocalSets
    random: np.random.RandomState
    constraints: PairwiseConstraints | None = None
    report: Report | None = None

    @property
    def precomputed(self) -> bool:
        """Whether the data are dissimilarities."""
        return isinstance(self.settings.metric, str) and self.settings.metric == "precomputed"

    @property
    def in_two_steps(self) -> bool:
        """Whether pairs of neighbouring clusters come after a fit without them."""
        return in_two_steps(self.settings.focal_sets)

    @property
    def start_size(self) -> int:
        """How many samples a start is looked for with."""
        return max(_START_OBJECTS, 20 * int(self.settings.n_clusters))

    @property
    def schedule(self) -> Sequence[float]:
        """The weights of constraints, one after the other."""
        if self.constraints is None or len(self.constraints) == 0:
            return [0.0]
        xi, given = self.settings.xi, self.settings.xi_schedule
        return sorted({0.0, min(0.05, xi), xi}) if given is None else given

    @property
    def n_partners(self) -> int | None:
        """The number of partners of each sample, or None for all."""
        given, n_samples = self.settings.n_partners, len(self.data)
        if np.ndim(given) == 2:
            return int(np.shape(given)[1])
        if isinstance(given, str):
            return None if given == "all" or n_samples <= ALL_PAIRS_UP_TO else MANY_OBJECTS_PARTNERS
        return None if given >= n_samples - 1 else int(given)

    def refuse_constraints(self, solver: str) -> None:
        """For solvers that cannot heed them."""
        if self.constraints is not None and len(self.constraints):
            raise ValueError(f"constraints need solver='exact', got solver={solver!r}.")

    def pose(self) -> tuple[Pairs, Transform]:
        """The pairs with their targets, and the transform that made them."""
        given = np.ndim(self.settings.n_partners) == 2
        n_partners = self.n_partners
        if n_partners is None:
            distances = self.square(np.arange(len(self.data)))
            used = distances[~np.eye(len(self.data), dtype=bool)]
            transform = self.transform_of(used)
            return AllPairs(targets_of(distances, transform)), transform
        own = self.settings.pair_update == "own"
        if given:
            partners = read_partners(self.settings.n_partners, len(self.data))
            distances = partner_distances(self.data, partners, self.settings.metric)
        elif own:
            partners = draw_partners(len(self.data), n_partners, self.random)
            distances = partner_distances(self.data, partners, self.settings.metric)
        else:
            partners, distances = sample_rings(self.data, n_partners, self.settings.metric, self.random)
        transform = self.transform_of(distances.reshape(-1))
        for block in row_blocks(len(distances)):
            distances[block] = transform(distances[block])
        if given and not own:
            return symmetrize(partners, distances), transform
        return regular_graph(partners, distances, symmetric=not own), transform

    def square(self, chosen: IntArray) -> FloatArray:
        """The dissimilarities of some samples with each other, in double precision."""
        if self.precomputed:
            return np.asarray(self.data[np.ix_(chosen, chosen)], dtype=np.float64)
        return distances_between(self.data[chosen], self.data[chosen], self.settings.metric)

    def transform_of(self, used: FloatArray) -> Transform:
        """From dissimilarities to target conflicts, with a scale that suits those of many pairs."""
        used = used[:: len(used) // _QUANTILE_SAMPLE + 1]
        kind = self.settings.dissimilarity_transform
        ranks = np.sort(used) if isinstance(kind, str) and kind == "rank" else None
        if self.settings.d0 is not None:
            return Transform(kind, float(self.settings.d0), ranks)
        if not isinstance(self.settings.d0_quantile, str):
            return Transform(kind, float(_quantile(used, self.settings.d0_quantile)), ranks)
        if kind == "exponential" or kind == "linear":
            return self._scan_d0(used)
        return Transform(kind, float(_quantile(used, _PAPERS_QUANTILE)), ranks)  # which does not count

    def _scan_d0(self, used: FloatArray) -> Transform:
        """The quantile, of ten, whose partition of a sample is the surest, with all clusters and few outliers."""
        chosen = self.random.permutation(len(self.data))[: self.start_size]
        distances = self.square(chosen)
        focal_sets = FocalSets.simple(self.settings.n_clusters)
        # Of c clusters of one size, a share 1/c of the pairs is within clusters; these must be below d0.
        quantiles = np.append(np.geomspace(min(1 / self.settings.n_clusters, 0.5), 0.9, 8), [0.95, 0.99])
        best = (np.inf, Transform("exponential", 1.0))
        for d0, near in _quantile(used, np.column_stack([quantiles, _NEAR * quantiles])).tolist():
            near = near if self.settings.dissimilarity_transform == "exponential" and near < _APART * d0 else 0.0
            transform = Transform(self.settings.dissimilarity_transform, d0, near=near)
            masses = best_start(
                targets_of(distances, transform), focal_sets, self.random, n_candidates=_SCAN_CANDIDATES
            )
            best = min(best, (_flaws(masses, focal_sets), transform), key=lambda one: one[0])
        return best[1]


@dataclass(frozen=True)
class Solution:
    """What a solver found.

    Attributes
    ----------
    trace : Trace
        The masses, and how it came to them.
    focal_sets : FocalSets
        What the columns of the masses stand for.
    transform : Transform
        From dissimilarities to target conflicts.
    pairs : AllPairs, PairGraph or None, default=None
        The pairs that were fitted; None if they changed all the time.
    """

    trace: Trace[Swept]
    focal_sets: FocalSets
    transform: Transform
    pairs: Pairs | None = None

    @property
    def masses(self) -> FloatArray:
        """The masses."""
        return self.trace.state.masses


def targets_of(distances: FloatArray, transform: Transform) -> FloatArray:
    """The target conflicts of all pairs of some samples."""
    delta = np.array(transform(distances), dtype=np.float64, order="C")
    np.fill_diagonal(delta, 0)
    return delta


def _quantile(distances: FloatArray, share: FloatArray | float) -> FloatArray:
    """Quantiles of dissimilarities, never zero."""
    found = np.quantile(distances, share)
    # More than this share of the pairs are duplicates: any positive scale tells them from the rest.
    return np.where(found > 0, found, float(distances.max(initial=0)) or 1.0)


def _flaws(masses: FloatArray, focal_sets: FocalSets) -> float:
    """What a partition of a sample lacks: belief in single clusters, clusters, and places for all but a few."""
    n_clusters = focal_sets.frame_size
    unsure = 1 - float(masses[:, focal_sets.singleton_positions].max(axis=1).mean())
    missing = n_clusters - len(np.unique(labels_of(masses, focal_sets)))
    outliers = float((masses[:, 0] >= OUTLIER_MASS).mean())
    return unsure + missing / n_clusters + _OUTLIER_COST * max(outliers - _FEW_OUTLIERS, 0)
