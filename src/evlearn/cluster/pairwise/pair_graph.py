r"""The pairs of samples that EVCLUS looks at, and their dissimilarities.

All pairs are a square matrix. Some of them are a graph in which every sample has the same number of partners.
Samples are laid out on random rings, and neighbours on a ring are partners, so that each ring gives every sample
two of them, and both ends of a pair know it. Dissimilarities become target conflicts

.. math::

   \delta_{ij}=\varphi(d_{ij}),\qquad \varphi(d)=1-e^{-\gamma(d^2-d_1^2)_+},\quad \gamma=-\log(0.05)/(d_0^2-d_1^2),

where the papers have :math:`d_1=0`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from evlearn.kernels.evclus import residuals_graph, sweep_all_pairs, sweep_graph
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import FloatArray, IntArray

TRANSFORMS = ("exponential", "linear", "rank")
#: How dissimilarities become target conflicts.
TransformKind: TypeAlias = Literal["exponential", "linear", "rank"] | Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Transform:
    """From dissimilarities to target conflicts.

    Attributes
    ----------
    kind : str or callable
        "exponential", "linear", "rank", or a function onto [0, 1].
    d0 : float
        The dissimilarity from which two samples are almost surely in different clusters.
    ranks : ndarray or None
        Sorted dissimilarities that "rank" compares with.
    near : float
        Of "exponential": the dissimilarity up to which there is no conflict at all, less than `d0`. In many
        dimensions no two samples are near, and what all squares have in common tells nothing.
    """

    kind: TransformKind
    d0: float
    ranks: FloatArray | None = None
    near: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.near < self.d0:
            raise ValueError(f"near must be from 0 to less than d0={self.d0:g}, got {self.near:g}.")
        if isinstance(self.kind, str) and self.kind == "rank" and (self.ranks is None or not len(self.ranks)):
            raise ValueError("ranks must hold dissimilarities to compare with.")

    def __call__(self, distances: FloatArray) -> FloatArray:
        """The target conflicts of dissimilarities."""
        if callable(self.kind):
            targets = np.asarray(self.kind(distances), dtype=distances.dtype)
            if targets.shape != distances.shape or not ((targets >= 0) & (targets <= 1)).all():
                raise ValueError(
                    "dissimilarity_transform must return values between 0 and 1, one for each dissimilarity."
                )
            return targets
        if self.kind == "linear":
            return np.asarray(np.minimum(distances / self.d0, 1))
        if self.kind == "rank":
            assert self.ranks is not None
            return np.asarray(np.searchsorted(self.ranks, distances, side="right") / len(self.ranks))
        return self.of_squares(distances * distances)

    @property
    def width(self) -> float:
        """The squares that "exponential" spreads over its range, from no conflict to 0.95."""
        return self.d0**2 - self.near**2

    def of_squares(self, squares: FloatArray) -> FloatArray:
        """The target conflicts of squared dissimilarities, in place ("exponential" only)."""
        if self.near:
            squares -= self.near**2
            np.maximum(squares, 0, out=squares)
        squares *= np.log(0.05) / self.width
        np.expm1(squares, out=squares)
        return np.negative(squares, out=squares)


@dataclass(frozen=True)
class AllPairs:
    """Every pair of samples.

    Attributes
    ----------
    delta : ndarray of shape (n_samples, n_samples)
        Target conflicts, symmetric, zero on the diagonal. If there are targets for several forms: such matrices
        side by side.
    """

    delta: FloatArray

    @property
    def n_samples(self) -> int:
        """The number of samples."""
        return len(self.delta)

    @property
    def n_pairs(self) -> float:
        """The number of pairs in the objective."""
        return self.n_samples * (self.n_samples - 1) / 2

    def squares(self) -> float:
        """The sum of the squared targets."""
        return float(np.einsum("ij,ij->", self.delta, self.delta)) / 2

    def sweep(
        self,
        M: FloatArray,
        Y: FloatArray,
        C: FloatArray,
        order: npt.NDArray[np.int32],
        constraints: Any,
        reached: FloatArray | None = None,
    ) -> float:
        """Update all rows in `order`; the change of half the sum of squares."""
        return float(sweep_all_pairs(M, Y, C, self.delta, order, *constraints, reached))

    def residuals(self, M: FloatArray, Y: FloatArray) -> float:
        """The sum of squared differences of conflicts and targets."""
        total = 0.0
        for rows in row_blocks(self.n_samples, 1024):
            apart = M[rows] @ Y.T - self.delta[rows]
            for first in range(0, len(Y), self.n_samples):
                apart[np.arange(len(apart)), first + np.arange(rows.start, rows.stop)] = 0
            total += float(np.einsum("ij,ij->", apart, apart))
        return total / 2

    def conflicts(self, M: FloatArray, Y: FloatArray, most: int) -> tuple[FloatArray, FloatArray]:
        """The conflict and the target of pairs i < j, all or every so many."""
        first, second = np.triu_indices(self.n_samples, k=1)
        every = len(first) // most + 1
        first, second = first[::every], second[::every]
        return _conflicts(M, Y, first, second), self.delta[first, second]


@dataclass(frozen=True)
class PairGraph:
    """Sampled pairs, as lists of partners.

    Attributes
    ----------
    indptr : ndarray of int of shape (n_samples + 1,)
        Where the partners of each sample begin.
    indices : ndarray of int32
        The partners. If there are targets for several forms, sample j has the number ``j + n_samples`` for the
        second of them, and so on.
    delta : ndarray
        Their target conflicts.
    symmetric : bool
        Whether both samples of a pair list each other.
    """

    indptr: IntArray
    indices: npt.NDArray[np.int32]
    delta: FloatArray
    symmetric: bool = True

    @property
    def n_samples(self) -> int:
        """The number of samples."""
        return len(self.indptr) - 1

    @property
    def n_pairs(self) -> float:
        """The number of pairs in the objective."""
        return len(self.indices) / (2 if self.symmetric else 1)

    def squares(self) -> float:
        """The sum of the squared targets."""
        total = sum(float(np.vdot(part, part)) for part in _float64_blocks(self.delta))
        return total / (2 if self.symmetric else 1)

    def sweep(
        self,
        M: FloatArray,
        Y: FloatArray,
        C: FloatArray,
        order: npt.NDArray[np.int32],
        constraints: Any,
        reached: FloatArray | None = None,
    ) -> float:
        """Update all rows in `order`; the change of half the sum of squares, where the graph is symmetric."""
        return float(sweep_graph(M, Y, C, self.indptr, self.indices, self.delta, order, *constraints, reached))

    def residuals(self, M: FloatArray, Y: FloatArray) -> float:
        """The sum of squared differences of conflicts and targets."""
        total = float(residuals_graph(M, Y, self.indptr, self.indices, self.delta))
        return total / (2 if self.symmetric else 1)

    def conflicts(self, M: FloatArray, Y: FloatArray, most: int) -> tuple[FloatArray, FloatArray]:
        """The conflict and the target of pairs, all or every so many."""
        kept = np.arange(0, len(self.indices), len(self.indices) // most + 1)
        first = np.searchsorted(self.indptr, kept, side="right") - 1
        return _conflicts(M, Y, first, self.indices[kept]), self.delta[kept].astype(np.float64)


def pairs_with_targets(pairs: IntArray, targets: FloatArray, n_samples: int) -> "AllPairs | PairGraph":
    """Listed pairs, ready for a descent."""
    first, second = pairs.T
    if len(pairs) == n_samples * (n_samples - 1) // 2:
        delta = np.zeros((len(targets), n_samples, n_samples))
        for matrix, values in zip(delta, targets, strict=True):
            matrix[first, second] = matrix[second, first] = values
        return AllPairs(np.hstack(list(delta)))
    left = np.tile(np.concatenate([first, second]).astype(np.int32), len(targets))
    order = np.argsort(left, kind="stable")
    both = np.concatenate([second, first])
    partners = np.concatenate([both + form * n_samples for form in range(len(targets))]).astype(np.int32)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(left, minlength=n_samples))]).astype(np.intp)
    delta = np.concatenate([np.tile(values, 2) for values in targets])
    return PairGraph(indptr, partners[order], delta[order])


def regular_graph(partners: npt.NDArray[np.int32], delta: FloatArray, *, symmetric: bool) -> PairGraph:
    """A graph in which every sample has the same number of partners."""
    n_samples, n_partners = partners.shape
    indptr = np.arange(0, n_samples * n_partners + 1, n_partners, dtype=np.intp)
    return PairGraph(indptr, partners.reshape(-1), delta.reshape(-1), symmetric)


def symmetrize(partners: npt.NDArray[np.int32], delta: FloatArray) -> PairGraph:
    """The graph in which both samples of every listed pair know it."""
    n_samples, n_partners = partners.shape
    first = np.repeat(np.arange(n_samples, dtype=np.int32), n_partners)
    second = partners.reshape(-1)
    left, right = np.r_[first, second], np.r_[second, first]
    order = np.argsort(left, kind="stable")
    indptr = np.r_[0, np.cumsum(np.bincount(left, minlength=n_samples))].astype(np.intp)
    return PairGraph(indptr, right[order], np.tile(delta.reshape(-1), 2)[order])


def _conflicts(M: FloatArray, Y: FloatArray, first: npt.NDArray[Any], second: npt.NDArray[Any]) -> FloatArray:
    return np.asarray(np.einsum("ij,ij->i", M[first], Y[second]))


def _float64_blocks(values: FloatArray) -> Any:
    for block in row_blocks(len(values), 1 << 20):
        yield values[block].astype(np.float64, copy=False)
