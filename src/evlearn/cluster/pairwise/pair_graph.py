r"""Pairs of samples that EVCLUS compares, and the transform of their dissimilarities.

All pairs form a square matrix. A subset of the pairs forms a graph in which every sample has the same number of
partners: samples are arranged on random rings, and neighbors on a ring are partners. Each ring adds 2 partners to
every sample, and both samples of a pair list it. Dissimilarities are transformed to target conflicts

.. math::

   \delta_{ij}=\varphi(d_{ij}),\qquad \varphi(d)=1-e^{-\gamma(d^2-d_1^2)_+},\quad \gamma=-\log(0.05)/(d_0^2-d_1^2),

with :math:`d_1=0` in the papers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from evlearn.blocks.sparse import Features, SparseBlock
from evlearn.cluster.dissimilarities import distances_between, row_distances
from evlearn.kernels.evclus import residuals_graph, sweep_all_pairs, sweep_graph
from evlearn.storage import fields
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import FloatArray, IntArray
from evlearn.utils.validation import check_choice, check_integer

TRANSFORMS = ("exponential", "linear", "rank")
#: Type of the parameter `dissimilarity_transform`.
TransformKind: TypeAlias = Literal["exponential", "linear", "rank"] | Callable[[FloatArray], FloatArray]
#: Number of pairs above which targets are in single precision.
_MANY_PAIRS = 20_000_000
#: Number of consecutive samples of a ring whose dissimilarities are computed as a matrix.
_RING_CHUNK = 16
#: Maximum number of samples for which all pairs are compared.
MAX_SAMPLES_OF_ALL_PAIRS = 2000
#: Number of partners of each sample if there are more samples.
DEFAULT_PARTNERS = 200


@fields.stored
@dataclass(frozen=True)
class Transform:
    """Transform of dissimilarities to target conflicts.

    Attributes
    ----------
    kind : str or callable
        "exponential", "linear", "rank", or a function onto [0, 1].
    d0 : float
        Dissimilarity beyond which 2 samples are almost surely in different clusters.
    ranks : ndarray or None
        Sorted dissimilarities for the comparisons of "rank".
    d1 : float
        For "exponential": dissimilarity up to which there is no conflict, less than `d0`. In many dimensions no 2
        samples are near, and the smallest square is part of all squares without information.
    """

    kind: Annotated[TransformKind, fields.text(*TRANSFORMS)]
    d0: fields.SquarableNumber
    ranks: fields.Vector | None = None
    d1: fields.NonnegativeNumber = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.d1 < self.d0:
            raise ValueError(f"d1 must be at least 0 and less than d0={self.d0:g}, got {self.d1:g}.")
        if isinstance(self.kind, str) and self.kind == "rank" and (self.ranks is None or not len(self.ranks)):
            raise ValueError(f"ranks must contain sorted dissimilarities for kind='rank', got {self.ranks!r}.")

    def __call__(self, distances: FloatArray) -> FloatArray:
        """Return the target conflicts of dissimilarities."""
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
        """Range of squares from no conflict to conflict 0.95, for "exponential"."""
        return self.d0**2 - self.d1**2

    @property
    def slope(self) -> float:
        """Derivative of the logarithm of the complement of the conflict with respect to the square."""
        return float(np.log(0.05) / self.width)

    def of_squares(self, squares: FloatArray) -> FloatArray:
        """Transform squared dissimilarities to target conflicts in place, for "exponential"."""
        if self.d1:
            squares -= self.d1**2
            np.maximum(squares, 0, out=squares)
        squares *= self.slope
        np.expm1(squares, out=squares)
        return np.negative(squares, out=squares)


@dataclass(frozen=True)
class AllPairs:
    """All pairs of samples.

    Attributes
    ----------
    delta : ndarray of shape (n_samples, n_samples)
        Target conflicts: a symmetric matrix with a zero diagonal. With targets for several bilinear forms, such
        matrices side by side.
    """

    delta: FloatArray

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.delta)

    @property
    def n_pairs(self) -> float:
        """Number of pairs in the objective."""
        return self.n_samples * (self.n_samples - 1) / 2

    def squares(self) -> float:
        """Return the sum of the squared targets."""
        return float(np.einsum("ij,ij->", self.delta, self.delta)) / 2

    def sweep(
        self,
        M: FloatArray,
        Y: FloatArray,
        C: FloatArray,
        order: npt.NDArray[np.int32],
        constraints: Any,
        row_total: FloatArray | None = None,
    ) -> float:
        """Update all rows in `order`, and return the change of half the sum of squares."""
        return float(sweep_all_pairs(M, Y, C, self.delta, order, *constraints, row_total))

    def residuals(self, M: FloatArray, Y: FloatArray) -> float:
        """Return the sum of squared differences between conflicts and targets."""
        total = 0.0
        for rows in row_blocks(self.n_samples, 1024):
            residuals = M[rows] @ Y.T - self.delta[rows]
            for first in range(0, len(Y), self.n_samples):
                residuals[np.arange(len(residuals)), first + np.arange(rows.start, rows.stop)] = 0
            total += float(np.einsum("ij,ij->", residuals, residuals))
        return total / 2

    def conflicts(self, M: FloatArray, Y: FloatArray, max_pairs: int) -> tuple[FloatArray, FloatArray]:
        """Return the conflicts and targets of at most `max_pairs` pairs i < j, at regular steps."""
        first, second = np.triu_indices(self.n_samples, k=1)
        step = len(first) // max_pairs + 1
        first, second = first[::step], second[::step]
        return _conflicts(M, Y, first, second), self.delta[first, second]


@dataclass(frozen=True)
class PairGraph:
    """Subset of the pairs, as lists of partners.

    Attributes
    ----------
    indptr : ndarray of int of shape (n_samples + 1,)
        Positions in `indices` of the first partner of each sample.
    indices : ndarray of int32
        Partners. With targets for several bilinear forms, sample j has the index ``j + n_samples`` for the second
        form, and so on.
    delta : ndarray
        Target conflicts of the partners.
    symmetric : bool
        Whether both samples of a pair list each other.
    """

    indptr: IntArray
    indices: npt.NDArray[np.int32]
    delta: FloatArray
    symmetric: bool = True

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.indptr) - 1

    @property
    def n_pairs(self) -> float:
        """Number of pairs in the objective."""
        return len(self.indices) / (2 if self.symmetric else 1)

    def squares(self) -> float:
        """Return the sum of the squared targets."""
        total = sum(float(np.vdot(part, part)) for part in _float64_blocks(self.delta))
        return total / (2 if self.symmetric else 1)

    def sweep(
        self,
        M: FloatArray,
        Y: FloatArray,
        C: FloatArray,
        order: npt.NDArray[np.int32],
        constraints: Any,
        row_total: FloatArray | None = None,
    ) -> float:
        """Update all rows in `order`, and return the change of half the sum of squares of a symmetric graph."""
        return float(sweep_graph(M, Y, C, self.indptr, self.indices, self.delta, order, *constraints, row_total))

    def residuals(self, M: FloatArray, Y: FloatArray) -> float:
        """Return the sum of squared differences between conflicts and targets."""
        total = float(residuals_graph(M, Y, self.indptr, self.indices, self.delta))
        return total / (2 if self.symmetric else 1)

    def conflicts(self, M: FloatArray, Y: FloatArray, max_pairs: int) -> tuple[FloatArray, FloatArray]:
        """Return the conflicts and targets of at most `max_pairs` pairs, at regular steps."""
        positions = np.arange(0, len(self.indices), len(self.indices) // max_pairs + 1)
        first = np.searchsorted(self.indptr, positions, side="right") - 1
        return _conflicts(M, Y, first, self.indices[positions]), self.delta[positions].astype(np.float64)


def pairs_with_targets(pairs: IntArray, targets: FloatArray, n_samples: int) -> "AllPairs | PairGraph":
    """Return a list of pairs as a matrix or a graph with targets."""
    first, second = pairs.T
    if len(pairs) == n_samples * (n_samples - 1) // 2:
        delta = np.zeros((len(targets), n_samples, n_samples))
        for matrix, values in zip(delta, targets, strict=True):
            matrix[first, second] = matrix[second, first] = values
        return AllPairs(np.hstack(list(delta)))
    left = np.tile(np.concatenate([first, second]).astype(np.int32), len(targets))
    order = np.argsort(left, kind="stable")
    right = np.concatenate([second, first])
    partners = np.concatenate([right + form * n_samples for form in range(len(targets))]).astype(np.int32)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(left, minlength=n_samples))]).astype(np.intp)
    delta = np.concatenate([np.tile(values, 2) for values in targets])
    return PairGraph(indptr, partners[order], delta[order])


def regular_graph(partners: npt.NDArray[np.int32], delta: FloatArray, *, symmetric: bool) -> PairGraph:
    """Return a graph in which every sample has the same number of partners."""
    n_samples, n_partners = partners.shape
    indptr = np.arange(0, n_samples * n_partners + 1, n_partners, dtype=np.intp)
    return PairGraph(indptr, partners.reshape(-1), delta.reshape(-1), symmetric)


def symmetrize(partners: npt.NDArray[np.int32], delta: FloatArray) -> PairGraph:
    """Return the graph in which both samples of every pair list it."""
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


def ring_distances(X: Features, ring: npt.NDArray[Any], metric: Any) -> FloatArray:
    """Return the dissimilarity of every sample on a ring to the next sample."""
    following = np.roll(ring, -1)
    distances = np.empty(len(ring))
    if isinstance(X, SparseBlock):
        for block in row_blocks(len(ring)):
            distances[block] = row_distances(X[ring[block]], X[following[block]], metric)
        return distances
    if metric == "precomputed":
        return np.asarray(X[ring, following], dtype=np.float64)
    if isinstance(metric, str) and metric == "euclidean":
        for block in row_blocks(len(ring)):
            # Distances follow from differences, because products lose all digits far from the origin.
            rows = X[np.append(ring[block], following[block.stop - 1])].astype(np.float64, copy=False)
            differences = rows[1:] - rows[:-1]
            distances[block] = np.sqrt(np.einsum("ij,ij->i", differences, differences))
        return distances
    from sklearn.metrics import pairwise_distances  # slow to import, and most fits do not need it

    # Other metrics return matrices, which are computed for short sections of the ring; only a diagonal is used.
    for block in row_blocks(len(ring), _RING_CHUNK):
        section = np.r_[ring[block], following[block.stop - 1]]
        distances[block] = np.diagonal(pairwise_distances(X[section], metric=metric), offset=1)
    return distances


def sample_rings(
    X: Features, n_partners: int, metric: Any, random: np.random.RandomState
) -> tuple[npt.NDArray[np.int32], FloatArray]:
    """Return the partners of every sample on random rings, and their dissimilarities.

    Returns
    -------
    partners : ndarray of int32 of shape (n_samples, n_partners)
        Partners: the next and the previous sample on each ring.
    distances : ndarray of shape (n_samples, n_partners)
        Dissimilarities of the partners, in single precision if there are very many.
    """
    n_samples, n_rings = len(X), (n_partners + 1) // 2
    dtype = np.float32 if 2 * n_samples * n_rings > _MANY_PAIRS else np.float64
    partners = np.empty((n_samples, 2 * n_rings), dtype=np.int32)
    distances = np.empty((n_samples, 2 * n_rings), dtype=dtype)
    # Blocks of rings are written in the order of memory and then transposed, which is faster.
    for block in row_blocks(n_rings, 16):
        columns = np.empty((2 * (block.stop - block.start), n_samples), dtype=np.int32)
        distance_columns = np.empty(columns.shape, dtype=dtype)
        for number in range(0, len(columns), 2):
            ring = random.permutation(n_samples).astype(np.int32)
            following = np.roll(ring, -1)
            steps = ring_distances(X, ring, metric)
            columns[number, ring], distance_columns[number, ring] = following, steps
            columns[number + 1, following], distance_columns[number + 1, following] = ring, steps
        partners[:, 2 * block.start : 2 * block.stop] = columns.T
        distances[:, 2 * block.start : 2 * block.stop] = distance_columns.T
    return partners, distances


def check_partners(n_partners: Any) -> None:
    """Raise unless `n_partners` is a valid argument of `choose_pairs`."""
    if isinstance(n_partners, str):
        check_choice("n_partners", n_partners, ("auto", "all"))
    else:
        check_integer("n_partners", n_partners, 1)


def choose_pairs(n_samples: int, n_partners: Any, random: np.random.RandomState) -> IntArray:
    """Return all pairs of samples, or neighbors on random rings, each of which adds 2 partners to every sample."""
    if isinstance(n_partners, str):
        uses_all = n_partners == "all" or n_samples <= MAX_SAMPLES_OF_ALL_PAIRS
        n_partners = n_samples if uses_all else DEFAULT_PARTNERS
    if n_partners >= n_samples - 1:
        return np.column_stack(np.triu_indices(n_samples, k=1))
    rings = [random.permutation(n_samples) for _ in range((n_partners + 1) // 2)]
    return np.concatenate([np.column_stack([ring, np.roll(ring, -1)]) for ring in rings])


def draw_partners(n_samples: int, n_partners: int, random: np.random.RandomState) -> npt.NDArray[np.int32]:
    """Draw partners independently for every sample, as the R package does."""
    partners = np.empty((n_samples, n_partners), dtype=np.int32)
    for number in range(n_samples):
        draws = random.choice(n_samples - 1, size=n_partners, replace=False)
        partners[number] = draws + (draws >= number)
    return partners


def read_partners(partners: npt.ArrayLike, n_samples: int) -> npt.NDArray[np.int32]:
    """Check the partners that the parameter `n_partners` lists, and return them as integers."""
    indices = np.asarray(partners)
    has_shape = indices.ndim == 2 and len(indices) == n_samples and np.issubdtype(indices.dtype, np.integer)
    if not has_shape or indices.min(initial=0) < 0 or indices.max(initial=0) >= n_samples:
        raise ValueError(
            f"n_partners, as an array, must contain sample indices from 0 to {n_samples - 1}, with a row for each "
            f"of the {n_samples} samples, got an array of {indices.dtype} of shape {indices.shape}."
        )
    is_self = (indices == np.arange(n_samples)[:, None]).any(axis=1)
    if is_self.any():
        raise ValueError(f"n_partners lists sample {is_self.argmax()} as a partner of itself; remove it.")
    return indices.astype(np.int32)


def partner_distances(X: FloatArray, partners: npt.NDArray[np.int32], metric: Any) -> FloatArray:
    """Return the dissimilarities of all samples to their partners."""
    if metric == "precomputed":
        return np.take_along_axis(X, partners, axis=1).astype(np.float64)
    distances = np.empty(partners.shape)
    for number, chosen in enumerate(partners):
        distances[number] = distances_between(X[number : number + 1], X[chosen], metric)[0]
    return distances
