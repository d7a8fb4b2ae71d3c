"""What EVCLUS is asked: data, pairs of samples with target conflicts, and the scale of these; and its answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evlearn.belief import FocalSets
from evlearn.cluster.dissimilarities import distances_between
from evlearn.cluster.focal_families import in_two_steps
from evlearn.cluster.isolation import CrispClusters, crisp_clusters
from evlearn.cluster.pairwise.irqp import Pairs, Swept, crisp_masses
from evlearn.cluster.pairwise.pair_graph import AllPairs, Transform, regular_graph, symmetrize
from evlearn.cluster.pairwise.partners import (
    ALL_PAIRS_UP_TO,
    MANY_OBJECTS_PARTNERS,
    draw_partners,
    partner_distances,
    read_partners,
    sample_rings,
)
from evlearn.cluster.pairwise.scales import Scale, select_scale, selects_d0, targets_of
from evlearn.constraints import PairwiseConstraints
from evlearn.utils.chunks import row_blocks
from evlearn.utils.convergence import Report, Trace
from evlearn.utils.typing import BoolArray, FloatArray, IntArray

_START_OBJECTS = 150


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

    def pose(self) -> tuple[Pairs, Scale]:
        """Return the pairs with their targets, and the scale of these."""
        given = np.ndim(self.settings.n_partners) == 2
        n_partners = self.n_partners
        if n_partners is None:
            distances = self.square(np.arange(len(self.data)))
            others = ~np.eye(len(self.data), dtype=bool)
            scale = self.scale_of(distances[others], self.ordinary_pairs(others))
            return AllPairs(targets_of(distances, scale.transform)), scale
        own = self.settings.pair_update == "own"
        if given:
            partners = read_partners(self.settings.n_partners, len(self.data))
            distances = partner_distances(self.data, partners, self.settings.metric)
        elif own:
            partners = draw_partners(len(self.data), n_partners, self.random)
            distances = partner_distances(self.data, partners, self.settings.metric)
        else:
            partners, distances = sample_rings(self.data, n_partners, self.settings.metric, self.random)
        scale = self.scale_of(distances.reshape(-1), self.ordinary_pairs(partners))
        for block in row_blocks(len(distances)):
            distances[block] = scale.transform(distances[block])
        if given and not own:
            return symmetrize(partners, distances), scale
        return regular_graph(partners, distances, symmetric=not own), scale

    def square(self, chosen: IntArray) -> FloatArray:
        """The dissimilarities of some samples with each other, in double precision."""
        if self.precomputed:
            return np.asarray(self.data[np.ix_(chosen, chosen)], dtype=np.float64)
        return distances_between(self.data[chosen], self.data[chosen], self.settings.metric)

    @property
    def selects_scale(self) -> bool:
        """True if the scale is selected, so that isolated rows must not count."""
        settings = self.settings
        return selects_d0(settings.dissimilarity_transform, settings.d0, settings.d0_quantile)

    @cached_property
    def crisp(self) -> CrispClusters:
        """Crisp clusters, and the rows that are isolated: far from all of them."""
        return crisp_clusters(self.data, int(self.settings.n_clusters), self.settings.metric)

    @property
    def ordinary(self) -> BoolArray:
        """The mask of the rows that select scales and starts: those that are not isolated."""
        return self.crisp.ordinary

    def crisp_start(self) -> FloatArray:
        """Return masses that are nearly all on crisp clusters, or on the empty set for isolated rows."""
        return crisp_masses(np.where(self.ordinary, self.crisp.labels, -1), self.focal_sets)

    def ordinary_pairs(self, partners: Any) -> BoolArray | None:
        """Return the mask of the pairs of ordinary rows, row by row; None for all pairs.

        Parameters
        ----------
        partners : ndarray of shape (n_samples, k)
            The positions of the partners of each row, or a mask of these if all rows are compared.

        Returns
        -------
        ndarray of bool of shape (n_pairs,) or None
            The mask.
        """
        if not self.selects_scale or self.ordinary.all():
            return None
        if partners.dtype == bool:
            return np.asarray(np.logical_and.outer(self.ordinary, self.ordinary)[partners])
        return np.asarray(self.ordinary[:, None] & self.ordinary[partners]).reshape(-1)

    def draw_ordinary(self, random: np.random.RandomState, size: int) -> IntArray:
        """Draw some of the ordinary rows, in random order."""
        order = random.permutation(len(self.data))
        return np.asarray(order[self.ordinary[order]][:size])

    def draw_ring(self, random: np.random.RandomState, size: int) -> IntArray:
        """Draw some of the rows whose pairs decide the scale."""
        return (
            self.draw_ordinary(random, size) if self.selects_scale else random.permutation(len(self.data))[:size]
        )

    def _sample(self) -> tuple[FloatArray, IntArray | None]:
        chosen = self.draw_ordinary(self.random, self.start_size)
        return self.square(chosen), self.crisp.labels[chosen] if self.crisp.unbalanced else None

    def scale_of(self, used: FloatArray, ordinary: BoolArray | None = None) -> Scale:
        """Return the transform from dissimilarities to target conflicts, with a scale that suits many pairs.

        Parameters
        ----------
        used : ndarray of shape (n_pairs,)
            The dissimilarities of the pairs.
        ordinary : ndarray of bool of shape (n_pairs,) or None, default=None
            The mask of the pairs of ordinary rows, for scales that are selected automatically; None for all pairs.

        Returns
        -------
        Scale
            The transform, and the start that it was selected with.
        """
        settings = self.settings
        kind, d0, d0_quantile = settings.dissimilarity_transform, settings.d0, settings.d0_quantile
        if ordinary is not None:
            used = used[ordinary]
        return select_scale(
            used,
            self._sample,
            kind=kind,
            d0=d0,
            d0_quantile=d0_quantile,
            n_clusters=int(settings.n_clusters),
            random=self.random,
        )


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
