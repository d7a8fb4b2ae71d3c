r"""Loss of the training of a network.

The loss of a set of samples is the mean, over its pairs, of :math:`(m_i^TCm_j-\delta_{ij})^2`, the squared
differences between conflicts and their targets. Constraints add
:math:`\frac\xi{2(|ML|+|CL|)}[\sum_{ML}m_i^TQm_j+\sum_{CL}(2-m_i^TQm_j)]`, labels add
:math:`\nu\sum_l(pl_{il}-y_{il})^2` and multiply the loss of pairs by :math:`1-\nu`, and large weights add
:math:`\frac\lambda2` times their mean square.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from evlearn.belief import FocalSets
from evlearn.cluster import EVCLUS, belief_peaks
from evlearn.constraints import PairwiseConstraints
from evlearn.constraints.pairs import label_codes
from evlearn.neural.network import mean_square_of_weights
from evlearn.utils.typing import BoolArray, FloatArray, IntArray

#: Minimum number of labels, and of constraints, of a mini-batch that does not use all of them.
_MIN_PER_BATCH = 10


@dataclass(frozen=True)
class Losses:
    """Terms of the loss.

    Attributes
    ----------
    conflict : Tensor of shape (n_focal_sets, n_focal_sets)
        1 where 2 sets are disjoint.
    apart : Tensor of shape (n_focal_sets, n_focal_sets)
        Matrix Q of constraints.
    contour : Tensor of shape (n_focal_sets, n_clusters)
        1 where a set contains a cluster.
    constraint_weight : float
        Weight of constraints.
    label_weight : float
        Weight of labels.
    l2 : float
        Weight of the mean square of the weights.
    """

    conflict: Tensor
    separation: Tensor
    contour: Tensor
    constraint_weight: float = 0.0
    label_weight: float = 0.0
    l2: float = 0.0

    @classmethod
    def of(cls, focal_sets: FocalSets, reference: Tensor, **settings: float) -> "Losses":
        """Return the terms for a family of focal sets."""

        def tensor(table: object) -> Tensor:
            return torch.as_tensor(table, dtype=reference.dtype, device=reference.device)

        conflict = tensor(focal_sets.conflict_matrix.copy())
        separation = 1 + conflict - tensor(focal_sets.emptiness_matrix.copy())
        separation = separation - tensor(focal_sets.same_singleton_matrix.copy())
        return cls(conflict, separation, tensor(focal_sets.membership.copy()), **settings)

    def all_pairs(self, masses: Tensor, targets: Tensor) -> Tensor:
        """Return the mean over all pairs."""
        return self.share_of_pairs(masses, masses, targets, 0)

    def share_of_pairs(self, part: Tensor, masses: Tensor, targets: Tensor, start: int) -> Tensor:
        """Return the contribution of a part of the samples, from number `start`, to the mean over all pairs."""
        n = len(masses)
        squares = (part @ self.conflict @ masses.T - targets) ** 2
        return (squares.sum() - squares.diagonal(offset=start).sum()) / (n * (n - 1))

    def partner_pairs(self, masses: Tensor, partners: Tensor, targets: Tensor) -> Tensor:
        """Return the mean over the pairs of each sample and its partners."""
        conflicts = ((masses @ self.conflict)[:, None, :] * masses[partners]).sum(dim=2)
        return ((conflicts - targets) ** 2).mean()

    def weighted_pairs(self, masses: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
        """Return the weighted mean over all pairs; equal to `partner_pairs` if the weights count these pairs."""
        return ((masses @ self.conflict @ masses.T - targets) ** 2 * weights).sum()

    def constraints(self, first: Tensor, second: Tensor, is_must_link: Tensor) -> Tensor:
        """Return the penalty of constraints."""
        values = ((first @ self.separation) * second).sum(dim=1)
        return (
            self.constraint_weight / (2 * len(is_must_link)) * torch.where(is_must_link, values, 2 - values).sum()
        )

    def labels(self, masses: Tensor, clusters: Tensor) -> Tensor:
        """Return the mean squared difference between plausibilities and labels."""
        memberships = torch.zeros(len(masses), self.contour.shape[1], dtype=masses.dtype, device=masses.device)
        memberships[torch.arange(len(masses), device=masses.device), clusters] = 1
        return ((masses @ self.contour - memberships) ** 2).sum() / len(masses)

    def weights(self, network: nn.Module) -> Tensor | float:
        """Return the penalty of large weights."""
        return 0.5 * self.l2 * mean_square_of_weights(network) if self.l2 > 0 else 0.0


@dataclass(frozen=True)
class SideInformation:
    """Labels and constraints of samples.

    Attributes
    ----------
    labeled : ndarray of int of shape (n_labeled,)
        Indices of samples with a label.
    clusters : ndarray of int of shape (n_labeled,)
        Their clusters.
    pairs : ndarray of int of shape (n_pairs, 2)
        Pairs of samples with a constraint.
    is_must_link : ndarray of bool of shape (n_pairs,)
        True for must-links, False for cannot-links.
    """

    labeled: IntArray
    clusters: IntArray
    pairs: IntArray
    is_must_link: BoolArray

    @cached_property
    def samples(self) -> IntArray:
        """Samples with labels or constraints, in the order of `split_masses`."""
        return np.concatenate([self.labeled, self.pairs[:, 0], self.pairs[:, 1]])

    def split_masses(self, masses: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Split the masses of `samples` into those of labeled samples, and of both samples of each pair.

        Returns
        -------
        labeled, first, second : Tensor
            Masses.
        """
        start, stop = len(self.labeled), len(self.labeled) + len(self.pairs)
        return masses[:start], masses[start:stop], masses[stop:]

    def divide(self, n_parts: int, random: np.random.RandomState) -> list["SideInformation"]:
        """Divide the side information among mini-batches; each uses all of it if parts would be small."""
        if len(self.labeled) + len(self.pairs) == 0:
            return [self] * n_parts
        label_parts = _divide_indices(len(self.labeled), n_parts, random)
        pair_parts = _divide_indices(len(self.pairs), n_parts, random)
        return [
            SideInformation(self.labeled[a], self.clusters[a], self.pairs[b], self.is_must_link[b])
            for a, b in zip(label_parts, pair_parts, strict=True)
        ]


def _divide_indices(n: int, n_parts: int, random: np.random.RandomState) -> list[IntArray]:
    if n < _MIN_PER_BATCH * n_parts:
        return [np.arange(n)] * n_parts
    return list(np.array_split(random.permutation(n), n_parts))


def read_side_information(
    labels: Any, constraints: PairwiseConstraints | None, n_samples: int, n_clusters: int
) -> SideInformation:
    """Return the side information of the parameters of a fit."""
    codes = np.empty(0, dtype=np.intp) if labels is None else label_codes(labels, -1, "labels")
    if labels is not None and len(codes) != n_samples:
        raise ValueError(f"labels has {len(codes)} entries for {n_samples} samples.")
    if codes.max(initial=-1) >= n_clusters:
        raise ValueError(f"labels has {codes.max() + 1} classes, but n_clusters={n_clusters}; raise n_clusters.")
    labeled = np.flatnonzero(codes >= 0)
    no_pairs = np.empty((0, 2), dtype=np.intp)
    must = no_pairs if constraints is None else constraints.must_link
    cannot = no_pairs if constraints is None else constraints.cannot_link
    pairs = np.concatenate([must, cannot]).astype(np.intp)
    return SideInformation(labeled, codes[labeled].astype(np.int64), pairs, np.arange(len(pairs)) < len(must))


def find_guides(sample: FloatArray, n_clusters: int, kind: str, **settings: Any) -> IntArray:
    """Return the index of one sample for each cluster."""
    if kind == "peaks":
        return belief_peaks(sample, metric=settings["metric"]).peaks(n_peaks=n_clusters)
    fitted = EVCLUS(n_clusters, **settings).fit(sample)
    return np.asarray(fitted.credal_partition_.to_possibilistic().argmax(axis=0))
