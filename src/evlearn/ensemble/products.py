r"""What members say on average about all pairs of samples, without a list of pairs.

The average of what R members say about a pair is a bilinear form of what they say about its two samples,

.. math:: t^k_{ij}=\frac1R\sum_r(m_i^r)^TF_k^rm_j^r=a_i^TW_ka_j,

where :math:`a_i` has the masses of all members side by side and :math:`W_k` one block for each of them. So what a
sample hears from all others follows from a sum over all samples, and a sweep over all pairs costs in proportion to
the number of samples.
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

# Masses below this are left out, so that rows are sparse: mixtures give some to every cluster.
_NOTHING = 1e-9


def side_by_side(members: Sequence[CredalPartition]) -> Any:
    """The masses of all members, as sparse rows; each member's sum to one."""
    return hstack([_sparse(member.masses) for member in members], format="csr")


@dataclass(frozen=True)
class Products:
    """Targets for all pairs of samples: products of what members say about each of the two.

    Attributes
    ----------
    rows : sparse array of shape (n_samples, n_columns)
        What members say, side by side.
    forms : sequence of ndarray of shape (n_forms, n_focal_sets, n_focal_sets)
        The forms of each member, divided by the number of members.
    """

    rows: Any
    forms: Sequence[FloatArray]

    @classmethod
    def of(cls, members: Sequence[CredalPartition], forms: Sequence[FloatArray]) -> Self:
        """The targets that members state on average; each has forms of its own."""
        return cls(side_by_side(members), [form / len(members) for form in forms])

    @property
    def n_pairs(self) -> float:
        """The number of pairs of samples."""
        n_samples: int = self.rows.shape[0]
        return n_samples * (n_samples - 1) / 2

    def sweep(
        self, M: FloatArray, Y: FloatArray, C: FloatArray, order: npt.NDArray[np.int32], constraints: Any
    ) -> float:
        """Update all rows in `order`; the change of half the sum of squares. There are no constraints."""
        return float(sweep_products(M, Y, C, *self._compiled, self._own, Y.T @ Y, self.heard(Y), order))

    def residuals(self, M: FloatArray, Y: FloatArray) -> float:
        """The sum of squared differences of products and targets."""
        everyone = np.vdot(M @ (Y.T @ Y), M) - 2 * np.vdot(self.rows @ self.heard(Y), M) + self._squares
        alone = np.einsum("ia,kia->ik", M, Y.reshape(-1, *M.shape)) - self._own
        return max(float(everyone - np.vdot(alone, alone)) / 2, 0.0)

    def heard(self, Y: FloatArray) -> FloatArray:
        """What a row is multiplied with for the sum of targets times y over all samples."""
        sums = np.stack([self.rows.T @ part for part in np.split(Y, len(self.forms[0]))])
        return np.asarray(self._times(sums).sum(axis=0))

    @cached_property
    def _blocks(self) -> list[slice]:
        """The columns of each member."""
        ends = np.cumsum([form.shape[-1] for form in self.forms])
        return [slice(end - form.shape[-1], end) for end, form in zip(ends, self.forms, strict=True)]

    @cached_property
    def _own(self) -> FloatArray:
        """The targets of each sample with itself, which are no pairs."""
        found = np.zeros((self.rows.shape[0], len(self.forms[0])))
        for block, forms in zip(self._blocks, self.forms, strict=True):
            own = self.rows[:, block].toarray()
            found += np.einsum("kia,ia->ik", own @ forms, own)
        return found

    @cached_property
    def _squares(self) -> float:
        """The sum of all squared targets, also of those that are no pairs."""
        gram = (self.rows.T @ self.rows).toarray()
        turned = self._times(np.broadcast_to(gram, (len(self.forms[0]), *gram.shape)))
        return float(np.einsum("kab,kba->", turned, turned))

    @cached_property
    def _compiled(self) -> tuple[IntArray, npt.NDArray[np.int32], FloatArray, FloatArray, npt.NDArray[np.int32]]:
        """Rows and forms as compiled code reads them."""
        widest = max(form.shape[-1] for form in self.forms)
        W = np.zeros((len(self.forms[0]), self.rows.shape[1], widest))
        bounds = np.empty((self.rows.shape[1], 2), dtype=np.int32)
        for block, forms in zip(self._blocks, self.forms, strict=True):
            W[:, block, : forms.shape[-1]] = forms
            bounds[block] = block.start, block.stop
        rows = self.rows
        return rows.indptr.astype(np.intp), rows.indices.astype(np.int32), rows.data, W, bounds

    def _times(self, values: FloatArray) -> FloatArray:
        """The product of each W with a matrix."""
        parts = [forms @ values[:, block] for block, forms in zip(self._blocks, self.forms, strict=True)]
        return np.concatenate(parts, axis=1)


def _sparse(masses: FloatArray) -> Any:
    kept = np.where(masses > _NOTHING, masses, 0).astype(np.float64, copy=False)
    return csr_array(kept / kept.sum(axis=1, keepdims=True))


__all__ = ["Products", "side_by_side"]
