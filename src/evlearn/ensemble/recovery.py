r"""Recovery of a credal partition from statements about pairs of samples.

The squared distance of Jousselme between the masses of a partition and a statement on a pair is a quadratic form
of their differences. The sum of these is 0, so 3 of them suffice,

.. math:: d_{ij}^2=\tfrac12\Delta_{ij}^TJ\Delta_{ij}=\tfrac12\|L^T\Delta_{ij}\|^2,\qquad
   \Delta_{ij}=\bigl(m_i^TEm_j,\ m_i^TSm_j,\ m_i^T(C-E)m_j\bigr)-m^*_{ij},

and each entry of :math:`L^T\Delta_{ij}` is a bilinear form of 2 mass functions minus a target: the partition is
computed by sweeps of row problems, as in EVCLUS.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, TypeAlias

import numpy as np

from evlearn.belief import FocalSets
from evlearn.cluster.pairwise.irqp import SweepResult, row_problems, sweep_masses
from evlearn.cluster.pairwise.pair_graph import AllPairs
from evlearn.ensemble.fusion import PAIR_FRAME, RULES, combine_statements
from evlearn.ensemble.products import Products, stack_masses
from evlearn.partition import CredalPartition
from evlearn.partition.relational import PairMasses, masses_of_block, pair_forms
from evlearn.storage import fields
from evlearn.utils.chunks import BLOCK_ROWS, row_blocks
from evlearn.utils.convergence import Report, Trace
from evlearn.utils.typing import FloatArray

# Maximum number of pairs per block.
_MAX_PAIRS_PER_BLOCK = 1 << 16

Statements: TypeAlias = AllPairs | Products


def _weight_factor() -> FloatArray:
    """Return the factor L: Jaccard weights with the mass of ignorance replaced by 1 minus the others."""
    contrast = np.vstack([np.eye(3), -np.ones(3)])
    return np.asarray(np.linalg.cholesky(contrast.T @ PAIR_FRAME.jaccard_matrix @ contrast))


def make_pair_forms(focal_sets: FocalSets) -> FloatArray:
    """Return the 3 forms of 2 mass functions whose squared errors add up to the distance."""
    forms = np.stack(pair_forms(focal_sets, np.empty(0))[:3])
    return np.asarray(np.tensordot(_weight_factor().T, forms, axes=1))


def make_targets(statements: PairMasses) -> FloatArray:
    """Return the targets of these forms."""
    return np.asarray(np.tensordot(_weight_factor().T, np.stack(statements[:3]), axes=1))


def pair_statements(members: Sequence[CredalPartition], rule: str) -> Statements:
    """Return the combined statements of members about all pairs of samples."""
    if rule == "average":
        return _average_targets(members)
    n_samples = members[0].n_samples
    targets = np.empty((n_samples, 3, n_samples))
    for block in row_blocks(n_samples, max(1, _MAX_PAIRS_PER_BLOCK // n_samples)):
        targets[block] = _targets_between([member[block] for member in members], members, rule)
        rows = np.arange(block.start, block.stop)
        targets[rows, :, rows] = 0
    return AllPairs(targets.reshape(n_samples, -1))


def recover_masses(
    statements: Statements,
    focal_sets: FocalSets,
    start: FloatArray,
    *,
    tol: float,
    max_iter: int,
    report: Report | None = None,
) -> Trace[SweepResult]:
    """Compute the masses whose statements about pairs are nearest to given statements."""
    return sweep_masses(
        statements,
        start,
        focal_sets,
        eta=0.5 / statements.n_pairs,
        tol=tol,
        max_iter=max_iter,
        forms=make_pair_forms(focal_sets),
        report=report,
    )


@fields.stored
@dataclass(frozen=True, kw_only=True)
class Landmarks:
    """Samples with known masses, which determine the masses of other samples, each separately.

    Attributes
    ----------
    partitions : sequence of CredalPartition
        Partitions of the landmarks by each member.
    masses : ndarray of shape (n_landmarks, n_focal_sets)
        Masses of the landmarks.
    focal_sets : FocalSets
        Sets of the columns of the masses.
    rule : str
        Rule of combination for statements.
    """

    partitions: Annotated[
        Sequence[CredalPartition], fields.list_of(fields.instance(CredalPartition), min_length=1)
    ]
    masses: fields.Masses
    focal_sets: FocalSets
    rule: Annotated[str, fields.text(*RULES)]

    def masses_of(self, partitions: Sequence[CredalPartition]) -> FloatArray:
        """Return the masses of samples from their partitions by each member."""
        n_samples, n_landmarks = partitions[0].n_samples, len(self.masses)
        masses = np.empty((n_samples, len(self.focal_sets)))
        block_size = BLOCK_ROWS if self.rule == "average" else max(1, _MAX_PAIRS_PER_BLOCK // n_landmarks)
        for block in row_blocks(n_samples, block_size):
            block_partitions = [partition[block] for partition in partitions]
            masses[block] = row_problems(self._gram, self._linear(block_partitions))
        return masses

    def _linear(self, partitions: Sequence[CredalPartition]) -> FloatArray:
        if self.rule == "average":
            return -np.asarray(stack_masses(partitions) @ self._weighted_targets)
        targets = _targets_between(partitions, self.partitions, self.rule)
        return -np.asarray(targets.reshape(len(targets), -1) @ self._form_products)

    @cached_property
    def _form_products(self) -> FloatArray:
        return np.concatenate(self.masses.astype(np.float64, copy=False) @ make_pair_forms(self.focal_sets))

    @cached_property
    def _gram(self) -> FloatArray:
        return np.asarray(self._form_products.T @ self._form_products)

    @cached_property
    def _weighted_targets(self) -> FloatArray:
        return _average_targets(self.partitions).weighted_targets(self._form_products)


def _average_targets(members: Sequence[CredalPartition]) -> Products:
    return Products.of(members, [make_pair_forms(member.focal_sets) for member in members])


def _targets_between(
    first_partitions: Sequence[CredalPartition], second_partitions: Sequence[CredalPartition], rule: str
) -> FloatArray:
    """Return the targets of pairs of first and second samples, with the forms on the middle axis."""
    sources = [
        masses_of_block(first.masses, second.masses, second.focal_sets)
        for first, second in zip(first_partitions, second_partitions, strict=True)
    ]
    return np.moveaxis(make_targets(combine_statements(sources, rule)), 0, 1)


__all__ = ["Landmarks", "make_pair_forms", "make_targets", "pair_statements", "recover_masses"]
