r"""Recovery of a credal partition from statements about pairs of samples.

The squared distance of Jousselme between the masses of a partition and a statement on a pair is a quadratic form
of their differences. The sum of these is 0, so 3 of them suffice,

.. math:: d_{ij}^2=\tfrac12\Delta_{ij}^TJ\Delta_{ij}=\tfrac12\|L^T\Delta_{ij}\|^2,\qquad
   \Delta_{ij}=\bigl(m_i^TEm_j,\ m_i^TSm_j,\ m_i^T(C-E)m_j\bigr)-m^*_{ij},

and each entry of :math:`L^T\Delta_{ij}` is a bilinear form of 2 mass functions minus a target: the partition is
computed by sweeps of row problems, as in EVCLUS. The statements of several partitions about a pair are combined
before, by one of the `RULES`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack

from evlearn import belief
from evlearn.belief import FocalSets
from evlearn.cluster.pairwise.irqp import SweepResult, row_problems, sweep_masses
from evlearn.cluster.pairwise.pair_graph import AllPairs
from evlearn.kernels.evclus import sweep_products
from evlearn.partition import CredalPartition
from evlearn.partition.relational import PairMasses, masses_of_block, pair_forms
from evlearn.storage import fields
from evlearn.utils.chunks import BLOCK_ROWS, row_blocks
from evlearn.utils.convergence import Report, Trace
from evlearn.utils.typing import FloatArray, IntArray

#: Frame of a pair: same cluster, or different clusters. Its sets are the fields of `PairMasses`.
PAIR_FRAME = FocalSets.full(2)
#: Discount rate before the cautious rule, which needs some mass on the frame.
_DISCOUNT_RATE = 1e-9
CombinationRule: TypeAlias = Literal[
    "average", "dempster", "cautious", "conjunctive", "yager", "dubois_prade", "disjunctive"
]
#: Rules that replace conflict by ignorance, so that focal sets of several clusters are needed.
DOUBT_RULES = ("yager", "dubois_prade", "disjunctive")
# Smaller masses are dropped, so that rows are sparse also for mixtures.
_MIN_MASS = 1e-9
# Maximum number of pairs per block.
_MAX_PAIRS_PER_BLOCK = 1 << 16


def _dempster(sources: Sequence[FloatArray], focal_sets: FocalSets) -> FloatArray:
    """Apply Dempster's rule, or the mean where sources exclude each other."""
    combined = belief.combine(sources, focal_sets, rule="dempster")
    return np.where(np.isnan(combined), belief.combine(sources, focal_sets, rule="average"), combined)


def _cautious(sources: Sequence[FloatArray], focal_sets: FocalSets) -> FloatArray:
    """Apply the normalized cautious rule to slightly discounted statements."""
    discounted = [belief.discount(source, focal_sets, _DISCOUNT_RATE) for source in sources]
    combined = belief.combine(discounted, focal_sets, rule="cautious")
    support = 1 - combined[..., :1]
    with np.errstate(invalid="ignore", divide="ignore"):
        normalized = combined / support
    normalized[..., 0] = 0
    # Only the discounted mass remains where sources exclude each other.
    return np.where(support > 2 * _DISCOUNT_RATE, normalized, belief.combine(sources, focal_sets, rule="average"))


RULES: dict[str, Callable[[Sequence[FloatArray], FocalSets], FloatArray]] = {
    "average": partial(belief.combine, rule="average"),
    "dempster": _dempster,
    "cautious": _cautious,
    "conjunctive": partial(belief.combine, rule="conjunctive"),
    "yager": partial(belief.combine, rule="yager"),
    "dubois_prade": partial(belief.combine, rule="dubois_prade"),
    "disjunctive": partial(belief.combine, rule="disjunctive"),
}


def combine_statements(sources: Sequence[PairMasses], rule: str) -> PairMasses:
    """Combine the statements of several sources about the same pairs."""
    stacked = [_normalize_rows(np.stack(source, axis=-1)) for source in sources]
    return PairMasses(*np.moveaxis(RULES[rule](stacked, PAIR_FRAME), -1, 0))


def _normalize_rows(masses: FloatArray) -> FloatArray:
    """Normalize masses of pairs, because products double the rounding errors of the sums of rows."""
    masses /= masses.sum(axis=-1, keepdims=True)
    return masses


def stack_masses(members: Sequence[CredalPartition]) -> Any:
    """Stack the masses of all members as sparse rows; those of each member sum to 1."""
    return hstack([_make_sparse(member.masses) for member in members], format="csr")


@dataclass(frozen=True)
class Products:
    r"""Average statements of members about all pairs of samples, without a list of pairs.

    The average statement of R members about a pair is a bilinear form of the masses of its 2 samples,

    .. math:: t^k_{ij}=\frac1R\sum_r(m_i^r)^TF_k^rm_j^r=a_i^TW_ka_j,

    where :math:`a_i` contains the masses of all members and :math:`W_k` has a block for each member. Therefore,
    the linear term of a sample follows from a sum over all samples, and the cost of a sweep over all pairs is
    proportional to the number of samples.

    Attributes
    ----------
    rows : sparse array of shape (n_samples, n_columns)
        Stacked masses of the members.
    forms : sequence of ndarray of shape (n_forms, n_focal_sets, n_focal_sets)
        Forms of each member, divided by the number of members.
    """

    rows: Any
    forms: Sequence[FloatArray]

    @classmethod
    def of(cls, members: Sequence[CredalPartition], forms: Sequence[FloatArray]) -> Self:
        """Return the average targets of members, each with separate forms."""
        return cls(stack_masses(members), [form / len(members) for form in forms])

    @property
    def n_pairs(self) -> float:
        """Number of pairs of samples."""
        n_samples: int = self.rows.shape[0]
        return n_samples * (n_samples - 1) / 2

    def sweep(
        self, M: FloatArray, Y: FloatArray, C: FloatArray, order: npt.NDArray[np.int32], constraints: Any
    ) -> float:
        """Update all rows in `order`, and return the change of half the sum of squares."""
        return float(
            sweep_products(M, Y, C, *self._compiled, self._self_targets, Y.T @ Y, self.weighted_targets(Y), order)
        )

    def residuals(self, M: FloatArray, Y: FloatArray) -> float:
        """Return the sum of squared differences between products and targets."""
        all_products = (
            np.vdot(M @ (Y.T @ Y), M) - 2 * np.vdot(self.rows @ self.weighted_targets(Y), M) + self._squares
        )
        self_residuals = np.einsum("ia,kia->ik", M, Y.reshape(-1, *M.shape)) - self._self_targets
        return max(float(all_products - np.vdot(self_residuals, self_residuals)) / 2, 0.0)

    def weighted_targets(self, Y: FloatArray) -> FloatArray:
        """Return the matrix whose product with a row is the sum of targets times y over all samples."""
        sums = np.stack([self.rows.T @ part for part in np.split(Y, len(self.forms[0]))])
        return np.asarray(self._multiply(sums).sum(axis=0))

    @cached_property
    def _blocks(self) -> list[slice]:
        """Columns of each member."""
        ends = np.cumsum([form.shape[-1] for form in self.forms])
        return [slice(end - form.shape[-1], end) for end, form in zip(ends, self.forms, strict=True)]

    @cached_property
    def _self_targets(self) -> FloatArray:
        """Targets of each sample with itself, which are not pairs."""
        targets = np.zeros((self.rows.shape[0], len(self.forms[0])))
        for block, forms in zip(self._blocks, self.forms, strict=True):
            masses = self.rows[:, block].toarray()
            targets += np.einsum("kia,ia->ik", masses @ forms, masses)
        return targets

    @cached_property
    def _squares(self) -> float:
        """Sum of all squared targets, including those of samples with themselves."""
        gram = (self.rows.T @ self.rows).toarray()
        transformed = self._multiply(np.broadcast_to(gram, (len(self.forms[0]), *gram.shape)))
        return float(np.einsum("kab,kba->", transformed, transformed))

    @cached_property
    def _compiled(self) -> tuple[IntArray, npt.NDArray[np.int32], FloatArray, FloatArray, npt.NDArray[np.int32]]:
        """Rows and forms for compiled code."""
        widest = max(form.shape[-1] for form in self.forms)
        W = np.zeros((len(self.forms[0]), self.rows.shape[1], widest))
        bounds = np.empty((self.rows.shape[1], 2), dtype=np.int32)
        for block, forms in zip(self._blocks, self.forms, strict=True):
            W[:, block, : forms.shape[-1]] = forms
            bounds[block] = block.start, block.stop
        rows = self.rows
        return rows.indptr.astype(np.intp), rows.indices.astype(np.int32), rows.data, W, bounds

    def _multiply(self, values: FloatArray) -> FloatArray:
        """Return the product of each W with a matrix."""
        parts = [forms @ values[:, block] for block, forms in zip(self._blocks, self.forms, strict=True)]
        return np.concatenate(parts, axis=1)


def _make_sparse(masses: FloatArray) -> Any:
    thresholded = np.where(masses > _MIN_MASS, masses, 0).astype(np.float64, copy=False)
    return csr_array(thresholded / thresholded.sum(axis=1, keepdims=True))


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
