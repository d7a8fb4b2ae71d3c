"""Problem and solution of EVCLUS: data, pairs with target conflicts, their scale, and masses."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evlearn.belief import FocalSets
from evlearn.cluster.dissimilarities import distances_between
from evlearn.cluster.isolation import CrispClusters, crisp_clusters
from evlearn.cluster.pairwise.irqp import Pairs, SweepResult, crisp_masses
from evlearn.cluster.pairwise.pair_graph import (
    DEFAULT_PARTNERS,
    MAX_SAMPLES_OF_ALL_PAIRS,
    AllPairs,
    Transform,
    draw_partners,
    partner_distances,
    read_partners,
    regular_graph,
    sample_rings,
    symmetrize,
)
from evlearn.cluster.pairwise.scales import Scale, ScaleSample, select_scale, selects_d0, targets_of
from evlearn.constraints import PairwiseConstraints
from evlearn.utils.chunks import row_blocks
from evlearn.utils.convergence import Report, Trace
from evlearn.utils.typing import BoolArray, FloatArray, IntArray

#: Minimum number of samples for the selection of a start.
_MIN_START_SAMPLES = 150


@dataclass(frozen=True)
class Problem:
    """Problem for a solver.

    Attributes
    ----------
    settings : EVCLUS
        Estimator with the parameters.
    data : ndarray of shape (n_samples, n_features) or (n_samples, n_samples)
        Features, or dissimilarities.
    focal_sets : FocalSets
        Family of the first fit.
    random : RandomState
        Generator for all draws.
    constraints : PairwiseConstraints or None, default=None
        Pairs that must, or cannot, be in the same cluster.
    report : callable or None, default=None
        Function of the number of every sweep and its objective.
    """

    settings: Any
    data: Any
    focal_sets: FocalSets
    random: np.random.RandomState
    constraints: PairwiseConstraints | None = None
    report: Report | None = None

    @property
    def precomputed(self) -> bool:
        """True if the data are dissimilarities."""
        return isinstance(self.settings.metric, str) and self.settings.metric == "precomputed"

    @property
    def start_size(self) -> int:
        """Number of samples for the selection of a start."""
        return max(_MIN_START_SAMPLES, 20 * int(self.settings.n_clusters))

    @property
    def schedule(self) -> Sequence[float]:
        """Weights of the constraints in consecutive descents."""
        if self.constraints is None or len(self.constraints) == 0:
            return [0.0]
        weight, schedule = self.settings.constraint_weight, self.settings._switches["constraint_schedule"]
        return sorted({0.0, min(0.05, weight), weight}) if schedule is None else schedule

    @property
    def n_partners(self) -> int | None:
        """Number of partners of each sample, or None for all."""
        value, n_samples = self.settings.n_partners, len(self.data)
        if np.ndim(value) == 2:
            return int(np.shape(value)[1])
        if isinstance(value, str):
            return None if value == "all" or n_samples <= MAX_SAMPLES_OF_ALL_PAIRS else DEFAULT_PARTNERS
        return None if value >= n_samples - 1 else int(value)

    def refuse_constraints(self, solver: str) -> None:
        """Raise if there are constraints, which only the exact solver supports."""
        if self.constraints is not None and len(self.constraints):
            raise ValueError(f"constraints need solver='exact', got solver={solver!r}.")

    def make_pairs(self) -> tuple[Pairs, Scale]:
        """Return the pairs with their targets, and the scale of the targets."""
        has_partners = np.ndim(self.settings.n_partners) == 2
        n_partners = self.n_partners
        if n_partners is None:
            distances = self.square(np.arange(len(self.data)))
            off_diagonal = ~np.eye(len(self.data), dtype=bool)
            scale = self.scale_of(distances[off_diagonal], self.ordinary_pairs(off_diagonal))
            return AllPairs(targets_of(distances, scale.transform)), scale
        is_one_sided = self.settings._switches["pair_update"] == "own"
        if has_partners:
            partners = read_partners(self.settings.n_partners, len(self.data))
            distances = partner_distances(self.data, partners, self.settings.metric)
        elif is_one_sided:
            partners = draw_partners(len(self.data), n_partners, self.random)
            distances = partner_distances(self.data, partners, self.settings.metric)
        else:
            partners, distances = sample_rings(self.data, n_partners, self.settings.metric, self.random)
        scale = self.scale_of(distances.reshape(-1), self.ordinary_pairs(partners))
        for block in row_blocks(len(distances)):
            distances[block] = scale.transform(distances[block])
        if has_partners and not is_one_sided:
            return symmetrize(partners, distances), scale
        return regular_graph(partners, distances, symmetric=not is_one_sided), scale

    def square(self, chosen: IntArray) -> FloatArray:
        """Return the dissimilarities of all pairs of a subset of the samples, in double precision."""
        if self.precomputed:
            return np.asarray(self.data[np.ix_(chosen, chosen)], dtype=np.float64)
        return distances_between(self.data[chosen], self.data[chosen], self.settings.metric)

    @cached_property
    def selects_scale(self) -> bool:
        """True if the scale is selected, so that isolated samples must not count."""
        settings = self.settings
        return selects_d0(settings.dissimilarity_transform, settings.d0)

    @cached_property
    def crisp(self) -> CrispClusters:
        """Crisp clusters, and isolated samples, which are far from all clusters."""
        return crisp_clusters(self.data, int(self.settings.n_clusters), self.settings.metric)

    def crisp_start(self) -> FloatArray:
        """Return masses that are nearly all on crisp clusters, or on the empty set for isolated samples."""
        return crisp_masses(np.where(self.crisp.ordinary, self.crisp.labels, -1), self.focal_sets)

    def ordinary_pairs(self, partners: Any) -> BoolArray | None:
        """Return the mask of the pairs of ordinary samples, sample by sample; None for all pairs.

        Parameters
        ----------
        partners : ndarray of shape (n_samples, k)
            Indices of the partners of each sample, or their mask if all samples are compared.

        Returns
        -------
        ndarray of bool of shape (n_pairs,) or None
            Mask.
        """
        if not self.selects_scale or self.crisp.ordinary.all():
            return None
        if partners.dtype == bool:
            return np.asarray(np.logical_and.outer(self.crisp.ordinary, self.crisp.ordinary)[partners])
        return np.asarray(self.crisp.ordinary[:, None] & self.crisp.ordinary[partners]).reshape(-1)

    def draw_ordinary(self, random: np.random.RandomState, size: int) -> IntArray:
        """Draw at most `size` ordinary samples, in random order."""
        order = random.permutation(len(self.data))
        return np.asarray(order[self.crisp.ordinary[order]][:size])

    def draw_ring(self, random: np.random.RandomState, size: int) -> IntArray:
        """Draw at most `size` of the samples whose pairs determine the scale."""
        return (
            self.draw_ordinary(random, size) if self.selects_scale else random.permutation(len(self.data))[:size]
        )

    def _draw_sample(self) -> ScaleSample:
        chosen = self.draw_ordinary(self.random, self.start_size)
        clusters = self.crisp.labels[chosen] if self.crisp.unbalanced else None
        return ScaleSample(
            self.square(chosen), clusters, None if self.constraints is None else self.constraints.take(chosen)
        )

    def scale_of(self, dissimilarities: FloatArray, ordinary: BoolArray | None = None) -> Scale:
        """Return the transform of dissimilarities to target conflicts, with a scale that suits given pairs.

        Parameters
        ----------
        dissimilarities : ndarray of shape (n_pairs,)
            Dissimilarities of the pairs.
        ordinary : ndarray of bool of shape (n_pairs,) or None, default=None
            Mask of the pairs of ordinary samples, for scales that are selected automatically; None for all pairs.

        Returns
        -------
        Scale
            Transform, and the kind of start from which it was selected.
        """
        settings = self.settings
        if ordinary is not None:
            dissimilarities = dissimilarities[ordinary]
        return select_scale(
            dissimilarities,
            self._draw_sample,
            kind=settings.dissimilarity_transform,
            d0=settings.d0,
            n_clusters=int(settings.n_clusters),
            random=self.random,
        )


@dataclass(frozen=True)
class Solution:
    """Solution of a problem.

    Attributes
    ----------
    trace : Trace
        Masses, and the history of the descent.
    transform : Transform
        Transform of dissimilarities to target conflicts.
    pairs : AllPairs, PairGraph or None, default=None
        Pairs of the fit; None if they changed in every sweep.
    """

    trace: Trace[SweepResult]
    transform: Transform
    pairs: Pairs | None = None

    @property
    def masses(self) -> FloatArray:
        """Masses."""
        return self.trace.state.masses

    @property
    def focal_sets(self) -> FocalSets:
        """Sets of the columns of the masses."""
        return self.trace.state.focal_sets
