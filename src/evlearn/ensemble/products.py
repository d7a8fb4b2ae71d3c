r"""Average statements of members about all pairs of samples, without a list of pairs.

The average statement of R members about a pair is a bilinear form of the masses of its 2 samples,

.. math:: t^k_{ij}=\frac1R\sum_r(m_i^r)^TF_k^rm_j^r=a_i^TW_ka_j,

where :math:`a_i` contains the masses of all members and :math:`W_k` has a block for each member. Therefore, the
linear term of a sample follows from a sum over all samples, and the cost of a sweep over all pairs is proportional
to the number of samples.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack

from evlearn.kernels.evclus import sweep_products
from evlearn.partition import CredalPartition
from evlearn.utils.typing import FloatArray, IntArray

# Smaller masses are dropped, so that rows are sparse also for mixtures.
_MIN_MASS = 1e-9


def stack_masses(members: Sequence[CredalPartition]) -> Any:
    """Stack the masses of all members as sparse rows; those of each member sum to 1."""
    return hstack([_make_sparse(member.masses) for member in members], format="csr")


@dataclass(frozen=True)
class Products:
    """Targets for all pairs of samples, as products of the masses of both samples.

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
