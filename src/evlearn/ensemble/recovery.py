r"""From statements about pairs of samples back to a credal partition.

The squared distance of Jousselme between what a partition and a statement say about a pair is a quadratic form of
the differences in mass. These add up to zero, so that three of them are enough,

.. math:: d_{ij}^2=\tfrac12\Delta_{ij}^TJ\Delta_{ij}=\tfrac12\|L^T\Delta_{ij}\|^2,\qquad
   \Delta_{ij}=\bigl(m_i^TEm_j,\ m_i^TSm_j,\ m_i^T(C-E)m_j\bigr)-m^*_{ij},

and each entry of :math:`L^T\Delta_{ij}` is a bilinear form of two mass functions minus a target: sweeps of row
problems find the partition, as in EVCLUS.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from evlearn.belief import FocalSets
from evlearn.cluster.pairwise.irqp import Swept, row_problems, sweep_masses
from evlearn.cluster.pairwise.pair_graph import AllPairs
from evlearn.ensemble.fusion import PAIR_FRAME, fuse
from evlearn.ensemble.products import Products, side_by_side
from evlearn.partition import CredalPartition, PairMasses
from evlearn.partition.relational import masses_of_block, pair_forms
from evlearn.utils.chunks import BLOCK_ROWS, row_blocks
from evlearn.utils.convergence import Report, Trace
from evlearn.utils.typing import FloatArray

# Statements about pairs that are made at a time.
_PAIRS_AT_A_TIME = 1 << 16

Statements: TypeAlias = AllPairs | Products


def _weights() -> FloatArray:
    """The factor L: Jaccard weights with the mass of "unknown" replaced by what the others lack to one."""
    lack = np.vstack([np.eye(3), -np.ones(3)])
    return np.asarray(np.linalg.cholesky(lack.T @ PAIR_FRAME.jaccard_matrix @ lack))


def pair_forms_of(focal_sets: FocalSets) -> FloatArray:
    """The three forms of two mass functions whose squared misfits make the distance."""
    forms = np.stack(pair_forms(focal_sets, np.empty(0))[:3])
    return np.asarray(np.tensordot(_weights().T, forms, axes=1))


def targets_of(statements: PairMasses) -> FloatArray:
    """The targets of these forms."""
    return np.asarray(np.tensordot(_weights().T, np.stack(statements[:3]), axes=1))


def stated(members: Sequence[CredalPartition], rule: str) -> Statements:
    """What members say together about all pairs of samples."""
    if rule == "average":
        return _products(members)
    n_samples = members[0].n_samples
    targets = np.empty((n_samples, 3, n_samples))
    for block in row_blocks(n_samples, max(1, _PAIRS_AT_A_TIME // n_samples)):
        targets[block] = _targets_between([one[block] for one in members], members, rule)
        rows = np.arange(block.start, block.stop)
        targets[rows, :, rows] = 0
    return AllPairs(targets.reshape(n_samples, -1))


def recover(
    statements: Statements,
    focal_sets: FocalSets,
    start: FloatArray,
    *,
    tol: float,
    max_iter: int,
    report: Report | None = None,
) -> Trace[Swept]:
    """The masses whose statements about pairs are nearest to the given ones."""
    return sweep_masses(
        statements,
        start,
        focal_sets,
        eta=0.5 / statements.n_pairs,
        tol=tol,
        max_iter=max_iter,
        forms=pair_forms_of(focal_sets),
        report=report,
    )


@dataclass(frozen=True, kw_only=True)
class Landmarks:
    """Samples of known masses, from which those of others follow, each for itself.

    Attributes
    ----------
    known : sequence of CredalPartition
        What each member says about the landmarks.
    masses : ndarray of shape (n_landmarks, n_focal_sets)
        Their masses.
    focal_sets : FocalSets
        What the columns of the masses stand for.
    rule : str
        How statements are combined.
    """

    known: Sequence[CredalPartition]
    masses: FloatArray
    focal_sets: FocalSets
    rule: str

    def masses_of(self, said: Sequence[CredalPartition]) -> FloatArray:
        """The masses of samples from what each member says about them."""
        n_samples, n_known = said[0].n_samples, len(self.masses)
        found = np.empty((n_samples, len(self.focal_sets)))
        at_a_time = BLOCK_ROWS if self.rule == "average" else max(1, _PAIRS_AT_A_TIME // n_known)
        for block in row_blocks(n_samples, at_a_time):
            some = [one[block] for one in said]
            found[block] = row_problems(self._gram, self._linear(some))
        return found

    def _linear(self, said: Sequence[CredalPartition]) -> FloatArray:
        if self.rule == "average":
            return -np.asarray(side_by_side(said) @ self._heard)
        targets = _targets_between(said, self.known, self.rule)
        return -np.asarray(targets.reshape(len(targets), -1) @ self._products)

    @cached_property
    def _products(self) -> FloatArray:
        return np.concatenate(self.masses.astype(np.float64, copy=False) @ pair_forms_of(self.focal_sets))

    @cached_property
    def _gram(self) -> FloatArray:
        return np.asarray(self._products.T @ self._products)

    @cached_property
    def _heard(self) -> FloatArray:
        return _products(self.known).heard(self._products)


def _products(members: Sequence[CredalPartition]) -> Products:
    return Products.of(members, [pair_forms_of(one.focal_sets) for one in members])


def _targets_between(ones: Sequence[CredalPartition], others: Sequence[CredalPartition], rule: str) -> FloatArray:
    """The targets of each of some samples with each of others, the forms in the middle."""
    sources = [
        masses_of_block(one.masses, other.masses, other.focal_sets)
        for one, other in zip(ones, others, strict=True)
    ]
    return np.moveaxis(targets_of(fuse(sources, rule)), 0, 1)


__all__ = ["Landmarks", "pair_forms_of", "recover", "stated", "targets_of"]
