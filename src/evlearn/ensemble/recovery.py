r"""From statements about pairs of objects back to a credal partition.

The squared distance of Jousselme between what a partition and a statement say about a pair is a quadratic form of
the differences in mass. These add up to zero, so that three of them are enough,

.. math:: d_{ij}^2=\tfrac12\Delta_{ij}^TJ\Delta_{ij}=\tfrac12\|L^T\Delta_{ij}\|^2,\qquad
   \Delta_{ij}=\bigl(m_i^TEm_j,\ m_i^TSm_j,\ m_i^T(C-E)m_j\bigr)-m^*_{ij},

and each entry of :math:`L^T\Delta_{ij}` is a bilinear form of two mass functions minus a target: sweeps of row
problems find the partition, as in EVCLUS.
"""

import numpy as np

from evlearn.belief import FocalSets
from evlearn.cluster.pairwise.irqp import Swept, rows_against, sweep_masses
from evlearn.cluster.pairwise.pair_graph import pairs_with_targets
from evlearn.ensemble.fusion import PAIR_FRAME
from evlearn.partition import PairMasses
from evlearn.partition.relational import pair_forms
from evlearn.utils.convergence import Report, Trace
from evlearn.utils.typing import FloatArray, IntArray


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


def recover(
    pairs: IntArray,
    statements: PairMasses,
    focal_sets: FocalSets,
    start: FloatArray,
    *,
    tol: float,
    max_iter: int,
    report: Report | None = None,
) -> Trace[Swept]:
    """The masses whose statements about pairs are nearest to the given ones."""
    return sweep_masses(
        pairs_with_targets(pairs, targets_of(statements), len(start)),
        start,
        focal_sets,
        eta=0.5 / len(pairs),
        tol=tol,
        max_iter=max_iter,
        forms=pair_forms_of(focal_sets),
        report=report,
    )


def recover_rows(statements: PairMasses, masses: FloatArray, focal_sets: FocalSets) -> FloatArray:
    """The masses of new objects from statements about them and objects whose masses are known."""
    return rows_against(np.hstack(list(targets_of(statements))), masses, pair_forms_of(focal_sets))


__all__ = ["pair_forms_of", "recover", "recover_rows", "targets_of"]
