r"""The pairs of objects that EVCLUS looks at, and their dissimilarities.

All pairs are a square matrix. A sample is a graph in which every object has the same number of partners: objects
are laid out on random rings, and neighbours on a ring are partners, so that each ring gives every object two of
them, and both ends of a pair know it. Dissimilarities become target conflicts

.. math::

   \delta_{ij}=\varphi(d_{ij}),\qquad \varphi(d)=1-e^{-\gamma(d^2-d_1^2)_+},\quad \gamma=-\log(0.05)/(d_0^2-d_1^2),

where the papers have :math:`d_1=0`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances

from evlearn.belief.types import FloatArray, IntArray
from evlearn.endings import warn_caller
from evlearn.kernels.evclus import residuals_graph, sweep_all_pairs, sweep_graph
from evlearn.parameters import check_choice, check_integer
from evlearn.slices import row_blocks

TRANSFORMS = ("exponential", "linear", "rank")
#: Above this many pairs the targets are kept in single precision.
_MANY_PAIRS = 20_000_000
_RING_CHUNK = 16
#: A diagonal below this share of the largest dissimilarity is meant to be zero: products leave the root of a
#: rounding error there, in double and in single precision.
_ZERO, _ZERO_SINGLE = 1e-6, 1e-3
#: How many objects are compared all with all, and with how many partners each if there are more.
ALL_PAIRS_UP_TO = 2000
MANY_OBJECTS_PARTNERS = 200


@dataclass(frozen=True)
class Transform:
    """From dissimilarities to target conflicts.

    Attributes
    ----------
    kind : str or callable
        "exponential", "linear", "rank", or a function onto [0, 1].
    d0 : float
        The dissimilarity from which two objects are almost surely in different clusters.
    ranks : ndarray or None
        Sorted dissimilarities that "rank" compares with.
    near : float
        Of "exponential": the dissimilarity up to which there is no conflict at all, less than `d0`. In many
        dimensions no two objects are near, and what all squares have in common tells nothing.
    """

    kind: str | Callable[[FloatArray], FloatArray]
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
    """Every pair of objects.

    Attributes
    ----------
    delta : ndarray of shape (n_objects, n_objects)
        Target conflicts, symmetric, zero on the diagonal. If there are targets for several forms: such matrices
        side by side.
    """

    delta: FloatArray

    @property
    def n_objects(self) -> int:
        """The number of objects."""
        return len(self.delta)

    @property
    def n_pairs(self) -> float:
        """The number of pairs in the objective."""
        return self.n_objects * (self.n_objects - 1) / 2

    def squares(self) -> float:
        """The sum of the squared targets."""
        return float(np.einsum("ij,ij->", self.delta, self.delta)) / 2

    def sweep(
        self, M: FloatArray, Y: FloatArray, C: FloatArray, order: npt.NDArray[np.int32], constraints: Any
    ) -> float:
        """Update all rows in `order`; the change of half the sum of squares."""
        return float(sweep_all_pairs(M, Y, C, self.delta, order, *constraints))

    def residuals(self, M: FloatArray, Y: FloatArray) -> float:
        """The sum of squared differences of conflicts and targets."""
        total = 0.0
        for rows in row_blocks(self.n_objects, 1024):
            apart = M[rows] @ Y.T - self.delta[rows]
            for first in range(0, len(Y), self.n_objects):
                apart[np.arange(len(apart)), first + np.arange(rows.start, rows.stop)] = 0
            total += float(np.einsum("ij,ij->", apart, apart))
        return total / 2

    def conflicts(self, M: FloatArray, Y: FloatArray, most: int) -> tuple[FloatArray, FloatArray]:
        """The conflict and the target of pairs i < j, all or every so many."""
        first, second = np.triu_indices(self.n_objects, k=1)
        every = len(first) // most + 1
        first, second = first[::every], second[::every]
        return _conflicts(M, Y, first, second), self.delta[first, second]


@dataclass(frozen=True)
class PairGraph:
    """Sampled pairs, as lists of partners.

    Attributes
    ----------
    indptr : ndarray of int of shape (n_objects + 1,)
        Where the partners of each object begin.
    indices : ndarray of int32
        The partners. If there are targets for several forms, object j has the number ``j + n_objects`` for the
        second of them, and so on.
    delta : ndarray
        Their target conflicts.
    symmetric : bool
        Whether both objects of a pair list each other.
    """

    indptr: IntArray
    indices: npt.NDArray[np.int32]
    delta: FloatArray
    symmetric: bool = True

    @property
    def n_objects(self) -> int:
        """The number of objects."""
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
        self, M: FloatArray, Y: FloatArray, C: FloatArray, order: npt.NDArray[np.int32], constraints: Any
    ) -> float:
        """Update all rows in `order`; the change of half the sum of squares, where the graph is symmetric."""
        return float(sweep_graph(M, Y, C, self.indptr, self.indices, self.delta, order, *constraints))

    def residuals(self, M: FloatArray, Y: FloatArray) -> float:
        """The sum of squared differences of conflicts and targets."""
        total = float(residuals_graph(M, Y, self.indptr, self.indices, self.delta))
        return total / (2 if self.symmetric else 1)

    def conflicts(self, M: FloatArray, Y: FloatArray, most: int) -> tuple[FloatArray, FloatArray]:
        """The conflict and the target of pairs, all or every so many."""
        kept = np.arange(0, len(self.indices), len(self.indices) // most + 1)
        first = np.searchsorted(self.indptr, kept, side="right") - 1
        return _conflicts(M, Y, first, self.indices[kept]), self.delta[kept].astype(np.float64)


def ring_distances(X: FloatArray, ring: npt.NDArray[Any], metric: Any) -> FloatArray:
    """The dissimilarity of every object on a ring to the next one.

    Parameters
    ----------
    X : ndarray
        Attribute vectors, or a square matrix if `metric` is "precomputed".
    ring : ndarray of int
        The objects in the order of the ring.
    metric : str or callable
        As for `sklearn.metrics.pairwise_distances`.

    Returns
    -------
    ndarray of shape (n_objects,)
        Dissimilarities.
    """
    following = np.roll(ring, -1)
    if metric == "precomputed":
        return np.asarray(X[ring, following], dtype=np.float64)
    distances = np.empty(len(ring))
    if isinstance(metric, str) and metric == "euclidean":
        for block in row_blocks(len(ring)):
            # Differences first: a squared norm by products loses all digits far from the origin.
            rows = X[np.append(ring[block], following[block.stop - 1])].astype(np.float64, copy=False)
            apart = rows[1:] - rows[:-1]
            distances[block] = np.sqrt(np.einsum("ij,ij->i", apart, apart))
        return distances
    # Any metric that only knows matrices: short stretches of the ring, of which one diagonal is kept.
    for block in row_blocks(len(ring), _RING_CHUNK):
        stretch = np.r_[ring[block], following[block.stop - 1]]
        distances[block] = np.diagonal(pairwise_distances(X[stretch], metric=metric), offset=1)
    return distances


def sample_rings(
    X: FloatArray, n_partners: int, metric: Any, random: np.random.RandomState
) -> tuple[npt.NDArray[np.int32], FloatArray]:
    """Partners of every object, from random rings, with their dissimilarities.

    Parameters
    ----------
    X : ndarray
        Attribute vectors, or a square matrix if `metric` is "precomputed".
    n_partners : int
        Partners of each object; an odd number is rounded up.
    metric : str or callable
        As for `sklearn.metrics.pairwise_distances`.
    random : RandomState
        Where random numbers come from.

    Returns
    -------
    partners : ndarray of int32 of shape (n_objects, n_partners)
        The partners: on each ring the next object and the one before.
    distances : ndarray of shape (n_objects, n_partners)
        Their dissimilarities, in single precision where there are very many.
    """
    n_objects, n_rings = len(X), (n_partners + 1) // 2
    dtype = np.float32 if 2 * n_objects * n_rings > _MANY_PAIRS else np.float64
    partners = np.empty((n_objects, 2 * n_rings), dtype=np.int32)
    distances = np.empty((n_objects, 2 * n_rings), dtype=dtype)
    # Rings are written along memory, some at a time, and then turned.
    for some in row_blocks(n_rings, 16):
        columns = np.empty((2 * (some.stop - some.start), n_objects), dtype=np.int32)
        apart = np.empty(columns.shape, dtype=dtype)
        for number in range(0, len(columns), 2):
            ring = random.permutation(n_objects).astype(np.int32)
            following = np.roll(ring, -1)
            steps = ring_distances(X, ring, metric)
            columns[number, ring], apart[number, ring] = following, steps
            columns[number + 1, following], apart[number + 1, following] = ring, steps
        partners[:, 2 * some.start : 2 * some.stop] = columns.T
        distances[:, 2 * some.start : 2 * some.stop] = apart.T
    return partners, distances


def check_partners(n_partners: Any) -> None:
    """Raise unless `n_partners` can be given to `choose_pairs`.

    Parameters
    ----------
    n_partners : object
        What the user gave.
    """
    if isinstance(n_partners, str):
        check_choice("n_partners", n_partners, ("auto", "all"))
    else:
        check_integer("n_partners", n_partners, 1)


def choose_pairs(n_objects: int, n_partners: Any, random: np.random.RandomState) -> IntArray:
    """Pairs of objects: all of them, or neighbours on random rings, each of which gives every object two partners.

    Parameters
    ----------
    n_objects : int
        How many objects there are.
    n_partners : int, "auto" or "all"
        How many partners each object has. "auto" means all of up to 2000 objects, and 200 beyond.
    random : RandomState
        Draws the rings.

    Returns
    -------
    ndarray of int of shape (n_pairs, 2)
        The pairs.
    """
    if isinstance(n_partners, str):
        everything = n_partners == "all" or n_objects <= ALL_PAIRS_UP_TO
        n_partners = n_objects if everything else MANY_OBJECTS_PARTNERS
    if n_partners >= n_objects - 1:
        return np.column_stack(np.triu_indices(n_objects, k=1))
    rings = [random.permutation(n_objects) for _ in range((n_partners + 1) // 2)]
    return np.concatenate([np.column_stack([ring, np.roll(ring, -1)]) for ring in rings])


def pairs_with_targets(pairs: IntArray, targets: FloatArray, n_objects: int) -> "AllPairs | PairGraph":
    """Listed pairs, ready for a descent.

    Parameters
    ----------
    pairs : ndarray of int of shape (n_pairs, 2)
        The pairs, in any order; all pairs are recognised by their number.
    targets : ndarray of shape (n_forms, n_pairs)
        The targets of the pairs, for each symmetric form.
    n_objects : int
        How many objects there are.

    Returns
    -------
    AllPairs or PairGraph
        The pairs: a matrix if they are all there, else lists.
    """
    first, second = pairs.T
    if len(pairs) == n_objects * (n_objects - 1) // 2:
        delta = np.zeros((len(targets), n_objects, n_objects))
        for matrix, values in zip(delta, targets, strict=True):
            matrix[first, second] = matrix[second, first] = values
        return AllPairs(np.hstack(list(delta)))
    left = np.tile(np.concatenate([first, second]).astype(np.int32), len(targets))
    order = np.argsort(left, kind="stable")
    both = np.concatenate([second, first])
    partners = np.concatenate([both + form * n_objects for form in range(len(targets))]).astype(np.int32)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(left, minlength=n_objects))]).astype(np.intp)
    delta = np.concatenate([np.tile(values, 2) for values in targets])
    return PairGraph(indptr, partners[order], delta[order])


def draw_partners(n_objects: int, n_partners: int, random: np.random.RandomState) -> npt.NDArray[np.int32]:
    """Partners that every object draws for itself, as R's package does.

    Parameters
    ----------
    n_objects, n_partners : int
        How many objects there are, and how many partners each of them draws.
    random : RandomState
        Where random numbers come from.

    Returns
    -------
    ndarray of int32 of shape (n_objects, n_partners)
        Different partners for each object, never itself.
    """
    partners = np.empty((n_objects, n_partners), dtype=np.int32)
    for number in range(n_objects):
        drawn = random.choice(n_objects - 1, size=n_partners, replace=False)
        partners[number] = drawn + (drawn >= number)
    return partners


def read_partners(partners: npt.ArrayLike, n_objects: int) -> npt.NDArray[np.int32]:
    """Partners that the user names.

    Parameters
    ----------
    partners : array-like of int of shape (n_objects, n_partners)
        For each object, the numbers of its partners.
    n_objects : int
        How many objects there are.

    Returns
    -------
    ndarray of int32 of shape (n_objects, n_partners)
        The partners.
    """
    numbers = np.asarray(partners)
    right_shape = numbers.ndim == 2 and len(numbers) == n_objects and np.issubdtype(numbers.dtype, np.integer)
    if not right_shape or numbers.min(initial=0) < 0 or numbers.max(initial=0) >= n_objects:
        raise ValueError(
            f"n_partners, as an array, must hold object numbers from 0 to {n_objects - 1}, a row for each of the "
            f"{n_objects} objects, got shape {numbers.shape}."
        )
    if (numbers == np.arange(n_objects)[:, None]).any():
        raise ValueError("n_partners names an object as its own partner; leave it out.")
    return numbers.astype(np.int32)


def partner_distances(X: FloatArray, partners: npt.NDArray[np.int32], metric: Any) -> FloatArray:
    """The dissimilarities of all objects to their partners.

    Parameters
    ----------
    X : ndarray
        Attribute vectors, or a square matrix if `metric` is "precomputed".
    partners : ndarray of int32 of shape (n_objects, n_partners)
        The partners of each object.
    metric : str or callable
        As for `sklearn.metrics.pairwise_distances`.

    Returns
    -------
    ndarray of shape (n_objects, n_partners)
        Dissimilarities.
    """
    if metric == "precomputed":
        return np.take_along_axis(X, partners, axis=1).astype(np.float64)
    distances = np.empty(partners.shape)
    for number, chosen in enumerate(partners):
        distances[number] = distances_between(X[number : number + 1], X[chosen], metric)[0]
    return distances


def check_dissimilarities(X: FloatArray, *, square: bool) -> None:
    """Raise unless dissimilarities can be such.

    Parameters
    ----------
    X : ndarray
        What the user gave with ``metric="precomputed"``.
    square : bool
        Whether they are those of the objects with each other; else those of new objects with old ones.
    """
    if square and X.shape[0] != X.shape[1]:
        raise ValueError(f"X must be a square matrix if metric='precomputed', got shape {X.shape}.")
    if (X < 0).any():
        raise ValueError("X has negative dissimilarities; with metric='precomputed' they must not be negative.")
    if square:
        check_diagonal(X)


def check_diagonal(X: Any) -> None:
    """Raise if objects are far from themselves: then X holds similarities, and clusters of them would be nonsense.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n_objects, n_objects)
        Dissimilarities.
    """
    worst = float(X.diagonal().max())
    if worst > (_ZERO_SINGLE if X.dtype == np.float32 else _ZERO) * X.max():
        raise ValueError(
            f"X has {worst:g} on its diagonal; with metric='precomputed' an object has dissimilarity 0 to itself. "
            "Turn similarities into dissimilarities first."
        )


def symmetric_dissimilarities(D: FloatArray) -> FloatArray:
    """A symmetric matrix with the dissimilarities of D, which may differ a little across the diagonal.

    Parameters
    ----------
    D : ndarray of shape (n_objects, n_objects)
        Dissimilarities.

    Returns
    -------
    ndarray of shape (n_objects, n_objects)
        D itself, or the mean of D and its transpose, with a warning.
    """
    if np.array_equal(D, D.T):
        return D
    if not np.allclose(D, D.T, rtol=1e-8, atol=0):
        warn_caller("X is not symmetric; the mean of both dissimilarities of each pair is used.")
    return (D + D.T) / 2


def regular_graph(partners: npt.NDArray[np.int32], delta: FloatArray, *, symmetric: bool) -> PairGraph:
    """A graph in which every object has the same number of partners.

    Parameters
    ----------
    partners : ndarray of int32 of shape (n_objects, n_partners)
        The partners of each object.
    delta : ndarray of shape (n_objects, n_partners)
        Their target conflicts.
    symmetric : bool
        Whether both objects of a pair list each other.

    Returns
    -------
    PairGraph
        The graph; the arrays are shared.
    """
    n_objects, n_partners = partners.shape
    indptr = np.arange(0, n_objects * n_partners + 1, n_partners, dtype=np.intp)
    return PairGraph(indptr, partners.reshape(-1), delta.reshape(-1), symmetric)


def symmetrize(partners: npt.NDArray[np.int32], delta: FloatArray) -> PairGraph:
    """The graph in which both objects of every listed pair know it.

    Parameters
    ----------
    partners : ndarray of int32 of shape (n_objects, n_partners)
        The partners that each object chose.
    delta : ndarray of shape (n_objects, n_partners)
        Their target conflicts.

    Returns
    -------
    PairGraph
        Every pair stands in the lists of both objects; a pair chosen twice stands there twice.
    """
    n_objects, n_partners = partners.shape
    first = np.repeat(np.arange(n_objects, dtype=np.int32), n_partners)
    second = partners.reshape(-1)
    left, right = np.r_[first, second], np.r_[second, first]
    order = np.argsort(left, kind="stable")
    indptr = np.r_[0, np.cumsum(np.bincount(left, minlength=n_objects))].astype(np.intp)
    return PairGraph(indptr, right[order], np.tile(delta.reshape(-1), 2)[order])


def squared_distances(block: FloatArray, landmarks: FloatArray, landmark_squares: FloatArray) -> FloatArray:
    """Squared Euclidean distances of rows to landmarks, by one product; both must be centred.

    Parameters
    ----------
    block : ndarray of shape (n_rows, n_features)
        Rows.
    landmarks : ndarray of shape (n_landmarks, n_features)
        Landmarks.
    landmark_squares : ndarray of shape (n_landmarks,)
        Their squared norms.

    Returns
    -------
    ndarray of shape (n_rows, n_landmarks)
        Squared distances, not negative.
    """
    squares = block @ landmarks.T
    squares *= -2
    squares += landmark_squares
    squares += np.einsum("ij,ij->i", block, block)[:, None]
    return np.maximum(squares, 0, out=squares)


def distances_between(X: FloatArray, others: FloatArray, metric: Any) -> FloatArray:
    """Dissimilarities of all rows of X to all rows of others, in double precision.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Rows.
    others : ndarray of shape (n_others, n_features)
        Other rows.
    metric : str or callable
        As for `sklearn.metrics.pairwise_distances`.

    Returns
    -------
    ndarray of shape (n_rows, n_others)
        Dissimilarities.
    """
    if isinstance(metric, str) and metric == "euclidean":
        return np.asarray(cdist(X.astype(np.float64, copy=False), others.astype(np.float64, copy=False)))
    return np.asarray(pairwise_distances(X, others, metric=metric), dtype=np.float64)


def _conflicts(M: FloatArray, Y: FloatArray, first: npt.NDArray[Any], second: npt.NDArray[Any]) -> FloatArray:
    return np.asarray(np.einsum("ij,ij->i", M[first], Y[second]))


def _float64_blocks(values: FloatArray) -> Any:
    for block in row_blocks(len(values), 1 << 20):
        yield values[block].astype(np.float64, copy=False)
