r"""A prototype method is three functions of a block of rows: assign, collect and solve.

``assign`` gives the masses of rows, ``collect`` the statistics that add up over blocks, and ``solve`` the
prototypes that are best for the statistics. What a set of clusters costs at a row decides the method: with
:math:`r_j=\frac1{|A_j|}\sum_{k\in A_j}\|v_k-\bar v_j\|^2`,

.. math:: s_j(x)=p_j\sum_{k\in A_j}\|x-v_k\|^2-g_jr_j ,

which is :math:`|A_j|^\alpha\|x-\bar v_j\|^2` for ECM and a mean of distances to prototypes and barycentre for CCM.
Fuzzy c-means (single clusters only) and its noise cluster (the empty set) are special cases.

Models work in coordinates of their own, centred and scaled by a power of two: neither place nor unit of the data
matter.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.spatial.distance import cdist

import evlearn.kernels.prototypes as kernel
from evlearn.belief import FocalSets
from evlearn.blocks.sparse import Features, SparseBlock
from evlearn.cluster.outlier_rule import OutlierRule, Segments
from evlearn.cluster.set_costs import SetCosts, masses_of_costs, powers_of, solve_positive, total_cost
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import FloatArray
from evlearn.utils.validation import check_shape, remoteness

#: Data whose squares are numbers, with some room.
_SMALLEST, _LARGEST = 1e-150, 1e150
#: Rows that are so many times farther from the median than others have no say in where the origin is: it would be
#: far from all rows, and differences from it would lose digits.
_ORDINARY = 1e4
#: In units of a model: whatever is farther is an outlier all the same, and its square is a number.
FARTHEST = 1e100
#: The share of a sum of squares below which a difference of products is rounding.
_LOST = 1e-14
#: Differences between rows and prototypes that are in memory at a time.
_DIFFERENCES = 1 << 20
#: What single precision can be trusted with: scales, and prototypes in units of the model.
_SINGLE_SCALES, _SINGLE_FARTHEST = (1e-36, 1e36), 1e15
#: From so many features times clusters on, distances are matrix products, of so many rows at a time.
_MANY, _ROWS_OF_PRODUCTS = 1 << 13, 2048
#: Products are neither for rows so far away, in units of the model, nor for squared distances that are such a
#: share of the squares they are a difference of; nor for scales whose squares are beyond single precision.
_FAR_FOR_PRODUCTS, _NEAR_FOR_PRODUCTS, _SCALES_FOR_PRODUCTS = 1e6, 1e-3, (1e-12, 1e12)
#: Where what the kernel takes of sets begins among its arguments, behind centre, scale and prototypes.
_OF_SETS = 3
#: The position of the cost of the empty set among the arguments.
_EMPTY = 5


class Coordinates(NamedTuple):
    """Where a model lives: ``(x - centre) * scale``.

    Attributes
    ----------
    centre : ndarray of shape (n_features,)
        The origin.
    scale : float
        A power of two, so that scaling rounds nothing.
    """

    centre: FloatArray
    scale: float

    @classmethod
    def of(cls, sample: FloatArray) -> "Coordinates":
        """Coordinates in which a sample has mean zero and size one, but for what is far from all the rest."""
        near = remoteness(sample) <= _ORDINARY
        if not near.all():
            sample = sample[near]
        with np.errstate(over="ignore"):
            # Halves, because the sum of two of the largest numbers is not a number.
            centre = (sample * 0.5).mean(axis=0, dtype=np.float64) * 2
            spread = float(np.abs(sample - centre).max(initial=0))
        if spread == 0:
            return cls(centre, 1.0)
        if not _SMALLEST <= spread <= _LARGEST:
            raise ValueError(
                f"X has values that are up to {spread:.3g} away from their mean, and the squares of such numbers "
                f"cannot be computed with; rescale X to something between {_SMALLEST:g} and {_LARGEST:g}."
            )
        size = float(np.sqrt((((sample - centre) / spread) ** 2).sum(axis=1).mean()))
        return cls(centre, float(2.0 ** -np.round(np.log2(spread) + np.log2(size))))

    def enter(self, rows: FloatArray) -> FloatArray:
        """Rows in these coordinates, in double precision, and none of them farther than squares can tell."""
        with np.errstate(over="ignore"):
            inside = (np.asarray(rows, dtype=np.float64) - self.centre) * self.scale
        return np.clip(inside, -FARTHEST, FARTHEST, out=inside)

    def leave(self, rows: FloatArray) -> FloatArray:
        """The inverse of `enter`."""
        return rows / self.scale + self.centre


@dataclass(frozen=True)
class Statistics:
    """All that a block of rows tells about prototypes. Statistics of two blocks add up.

    Attributes
    ----------
    cost : float
        The objective at the current prototypes.
    powers : ndarray of shape (n_focal_sets,)
        The sums of the masses, raised to the power beta.
    sums : ndarray
        Sums of rows, weighted with these powers: by cluster, or by nonempty set if the metric is adaptive.
    scatter : ndarray of shape (n_clusters, n_features, n_features) or None
        Sums of outer products of rows, if the metric is adaptive.
    """

    cost: float
    powers: FloatArray
    sums: FloatArray
    scatter: FloatArray | None = None

    def __add__(self, other: "Statistics") -> "Statistics":
        scatter = None
        if self.scatter is not None and other.scatter is not None:
            scatter = self.scatter + other.scatter
        return Statistics(self.cost + other.cost, self.powers + other.powers, self.sums + other.sums, scatter)

    def __mul__(self, factor: float) -> "Statistics":
        scatter = None if self.scatter is None else self.scatter * factor
        return Statistics(self.cost * factor, self.powers * factor, self.sums * factor, scatter)


@dataclass(frozen=True)
class PrototypeModel:
    """Prototypes, and what sets of clusters cost; the models below say how far a row is from a prototype.

    Attributes
    ----------
    costs : SetCosts
        What the sets of clusters cost.
    coordinates : Coordinates
        Where the prototypes live.
    prototypes : ndarray of shape (n_clusters, n_features)
        The prototypes, in these coordinates.
    """

    costs: SetCosts
    coordinates: Coordinates
    prototypes: FloatArray
    #: The rule for outliers, with reaches in these coordinates; None if the cost of the empty set decides.
    outliers: OutlierRule | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_shape("prototypes", self.prototypes, (self.focal_sets.frame_size, self.n_features))
        if self.outliers is not None:
            check_shape("reaches", self.outliers.reaches, (self.focal_sets.frame_size,))

    @property
    def focal_sets(self) -> FocalSets:
        """The sets that carry mass."""
        return self.costs.focal_sets

    @property
    def n_features(self) -> int:
        """The number of features of a row."""
        return len(self.coordinates.centre)

    @property
    def centers(self) -> FloatArray:
        """The prototypes as the user knows them."""
        return self.coordinates.leave(self.prototypes)

    @property
    def empty_cost(self) -> float:
        """What the empty set costs, in squared units of the model."""
        return float(self.costs.empty * self.coordinates.scale**2)

    @property
    def _final_empty_cost(self) -> float:
        """The same for masses that are not used in a fit: no mass where there is a rule for outliers."""
        return self.empty_cost if self.outliers is None else np.inf

    def learn_outliers(self, sample: Features, weights: FloatArray, rate: float) -> Self:
        """Return the model with a rule for outliers that is learned from a sample of the rows."""
        squares = np.vstack([self._squares(sample[block]) for block in self._distance_blocks(len(sample))])
        return replace(self, outliers=OutlierRule.learn(np.sqrt(squares), weights, rate, self.segments))

    def assign(self, rows: Features, weights: Any = None) -> FloatArray:
        """Return the masses of rows."""
        if self.outliers is None or len(rows) == 0:
            return self._assign(rows)
        masses = self._assign(rows)
        for block in self._distance_blocks(len(rows)):
            masses[block] = self.outliers.apply(masses[block], self._squares(rows[block]), self.segments)
        return masses

    @cached_property
    def segments(self) -> Segments:
        """The segments between the prototypes of pairs; with adaptive metrics, in the mean of both."""
        squares = self._squares(self.centers)
        return Segments.of(self.focal_sets, (squares + squares.T) / 2)

    def _assign(self, rows: Any) -> FloatArray:
        """Return the masses of rows by the costs of the sets alone."""
        raise NotImplementedError

    def _distance_blocks(self, n_rows: int) -> Iterator[slice]:
        return row_blocks(n_rows, max(1, _DIFFERENCES // self.prototypes.size))

    def distances(self, rows: Features) -> FloatArray:
        """The distances of rows to the prototypes, in the user's unit."""
        out = np.empty((len(rows), len(self.prototypes)), dtype=rows.dtype)
        for block in self._distance_blocks(len(rows)):
            with np.errstate(over="ignore"):  # in single precision, of what is far from everything
                out[block] = np.sqrt(self._squares(rows[block])) / self.coordinates.scale
        return out

    def _squares(self, rows: Any) -> FloatArray:
        """Squared distances to the prototypes, in units of the model."""
        raise NotImplementedError


@dataclass(frozen=True)
class EuclideanModel(PrototypeModel):
    """Prototypes, and the squared Euclidean distance.

    Rows may have a column beyond the features: a distance that a sample has to all prototypes, besides.

    Attributes
    ----------
    costs : SetCosts
        What the sets of clusters cost.
    coordinates : Coordinates
        Where the prototypes live.
    prototypes : ndarray of shape (n_clusters, n_features)
        The prototypes, in these coordinates.
    fixed : bool, default=False
        Whether they stay where they are.
    """

    fixed: bool = False

    def assign(self, rows: Features, weights: Any = None) -> FloatArray:
        """Return the masses of rows."""
        return super().assign(rows) if isinstance(rows, SparseBlock) else self._assign(rows)

    def _assign(self, rows: Features) -> FloatArray:
        if isinstance(rows, SparseBlock):
            costs = self.costs_of(rows)
            costs[:, 0] = self._final_empty_cost
            return masses_of_costs(costs, self.costs.beta).astype(rows.dtype, copy=False)
        given = rows.dtype
        rows = self._computable(rows)
        out = np.empty((len(rows), len(self.costs.focal_sets)), dtype=rows.dtype)
        arguments = self._arguments(rows)
        if self.outliers is not None:
            arguments = (*arguments[:_EMPTY], np.inf, *arguments[_EMPTY + 1 :])
        for block, known in self._by_products(rows, arguments):
            if known is None:
                kernel.assign(rows[block], *arguments, out[block], *self._rule)
            else:
                kernel.assign_known(known.squares, *arguments[_OF_SETS:], out[block], *self._rule)
        return out.astype(given, copy=False)

    def collect(self, rows: Features, weights: Any = None) -> Statistics:
        """The statistics of rows, without keeping their masses."""
        if isinstance(rows, SparseBlock):
            return self.gather(rows, masses_of_costs(self.costs_of(rows), self.costs.beta), weights)
        rows = self._computable(rows)
        powers, sums = np.zeros(len(self.costs.focal_sets)), np.zeros((len(self.prototypes), rows.shape[1]))
        if weights is not None:
            weights = np.ascontiguousarray(weights, dtype=rows.dtype)
        cost, arguments = 0.0, self._arguments(rows)
        for block, known in self._by_products(rows, arguments):
            some = None if weights is None else weights[block]
            if known is None:
                cost += kernel.collect(rows[block], some, *arguments, powers, sums)
            else:
                shares = known.squares
                cost += kernel.collect_known(shares, some, *arguments[_OF_SETS:], powers)
                sums += self.coordinates.scale * (shares @ known.rows)
        return Statistics(cost / self.coordinates.scale**2, powers, sums[:, : self.n_features])

    def _by_products(self, rows: FloatArray, arguments: tuple[Any, ...]) -> Iterator[tuple[slice, Any]]:
        """Blocks of rows; where clusters and features are many, with their squared distances."""
        centre, scale, prototypes = arguments[:_OF_SETS]
        low, high = _SCALES_FOR_PRODUCTS
        if rows.shape[1] * len(self.prototypes) < _MANY or not low < scale < high:
            yield slice(0, len(rows)), None
            return
        n_rows = min(len(rows), _ROWS_OF_PRODUCTS)
        # With two columns more, for the squares of rows and of prototypes: one product does it all.
        inside = np.empty((n_rows, rows.shape[1] + 2), dtype=rows.dtype)
        wide = self._wide(prototypes)
        room = np.empty(len(prototypes) * n_rows, dtype=rows.dtype)
        for block in row_blocks(len(rows), _ROWS_OF_PRODUCTS):
            some = inside[: block.stop - block.start]
            with np.errstate(over="ignore", invalid="ignore"):
                np.subtract(rows[block], centre, out=some[:, :-2])
                squares = room[: len(prototypes) * len(some)].reshape(len(prototypes), len(some))
                yield block, _squares_by_products(some, scale, prototypes, wide, squares)

    def _wide(self, prototypes: FloatArray) -> FloatArray:
        """Prototypes with the scale and the two columns that complete a product to squared distances."""
        kind = prototypes.dtype, prototypes.shape
        if kind not in self._prepared:
            scale = prototypes.dtype.type(self.coordinates.scale)
            apart = np.einsum("ij,ij->i", prototypes, prototypes)
            self._prepared[kind] = np.column_stack([-2 * scale * prototypes, np.full_like(apart, scale**2), apart])
        found: FloatArray = self._prepared[kind]
        return found

    def costs_of(self, rows: Features) -> FloatArray:
        """The cost of every set at rows, in squared units of the model; zero where it is lost in rounding."""
        squares = self._squares(rows)
        whole = squares @ (self.costs.membership * self.costs.spread[:, None]).T
        left = whole - self._offsets
        left[left <= 16 * np.finfo(np.float64).eps * whole] = 0
        return np.hstack([np.full((len(rows), 1), self.empty_cost), left])

    def gather(self, rows: Features, masses: FloatArray, weights: Any = None) -> Statistics:
        """The statistics of rows whose masses are given."""
        powers = powers_of(masses, self.costs.beta, weights)
        cost = total_cost(powers, self.costs_of(rows)) / self.coordinates.scale**2
        shares = powers[:, 1:] @ (self.costs.membership * self.costs.spread[:, None])
        if isinstance(rows, SparseBlock):
            sums = (rows.matrix.T @ shares).T - np.outer(shares.sum(axis=0), self.coordinates.centre)
            return Statistics(cost, powers.sum(axis=0), sums * self.coordinates.scale)
        return Statistics(cost, powers.sum(axis=0), shares.T @ self.coordinates.enter(rows))

    def solve(self, statistics: Statistics) -> "EuclideanModel":
        """The model with the prototypes that are best for the statistics."""
        if self.fixed:
            return self
        costs = self.costs
        F, powers = costs.membership, statistics.powers[1:]
        matrix = F.T @ (F * (powers * costs.gain / costs.size**2)[:, None])
        matrix += np.diag(F.T @ (powers * (costs.spread - costs.gain / costs.size)))
        change = solve_positive(matrix, statistics.sums - matrix @ self.prototypes)
        return replace(self, prototypes=self.prototypes + change)

    def _squares(self, rows: Features) -> FloatArray:
        """Squared distances to the prototypes, in units of the model; by products where rows are sparse."""
        if not isinstance(rows, SparseBlock):
            return self._dense_squares(rows)
        centers = self.centers
        both = rows.squares[:, None] + (centers**2).sum(axis=1)
        squares = both - 2 * (rows.matrix @ centers.T)
        squares[squares <= _LOST * both] = 0
        return np.asarray(squares * self.coordinates.scale**2)

    def _dense_squares(self, rows: FloatArray) -> FloatArray:
        inside = self.coordinates.enter(rows[:, : self.n_features])
        squares = np.asarray(cdist(inside, self.prototypes, "sqeuclidean"))
        if rows.shape[1] > self.n_features:
            beyond = np.clip(rows[:, self.n_features :].astype(np.float64) * self.coordinates.scale, 0, FARTHEST)
            squares += (beyond**2).sum(axis=1, keepdims=True)
        return squares

    @cached_property
    def _rule(self) -> tuple[Any, ...]:
        """The rule for outliers as the kernel takes it; empty if there is none."""
        if self.outliers is None:
            return ()
        inverse, (pairs, lengths) = self.outliers.reaches**-2.0, self.segments
        ends = np.ascontiguousarray(pairs, dtype=np.int32)
        return inverse, ends, lengths, inverse[ends].max(axis=1), self.outliers.steepness / 2

    @cached_property
    def _offsets(self) -> FloatArray:
        return self.costs.gain * self.costs.spreads(self.prototypes)

    def _computable(self, rows: FloatArray) -> FloatArray:
        """The rows as the kernel takes them; in double precision where their unit is beyond single precision."""
        if rows.dtype == np.float32:
            low, high = _SINGLE_SCALES
            if not low < self.coordinates.scale < high or self._farthest > _SINGLE_FARTHEST:
                rows = rows.astype(np.float64)
        return np.ascontiguousarray(rows)

    @cached_property
    def _farthest(self) -> float:
        return float(np.abs(self.prototypes).max())

    @cached_property
    def _prepared(self) -> dict[Any, Any]:
        """What is made once for many calls, as of a service that predicts row by row."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_prepared"}

    def _arguments(self, rows: FloatArray) -> tuple[Any, ...]:
        """What the kernel takes, between the rows and the results."""
        kind = rows.dtype, rows.shape[1] - self.n_features
        if kind not in self._prepared:
            self._prepared[kind] = self._prepare(*kind)
        found: tuple[Any, ...] = self._prepared[kind]
        return found

    def _prepare(self, dtype: Any, beyond: int) -> tuple[Any, ...]:
        prototypes = np.pad(self.prototypes, ((0, 0), (0, beyond)))
        centre, scale = np.pad(self.coordinates.centre, (0, beyond)), self.coordinates.scale
        least = 1e-30 if dtype == np.float32 else 1e-200  # of the empty set too, as of the others in the kernel
        return (
            centre.astype(dtype),
            scale,
            prototypes.astype(dtype),
            self.costs.spread.astype(dtype),
            self._offsets.astype(dtype),
            max(self.empty_cost, least),
            float(self.costs.beta),
            *self.costs.lists,
        )


class _Known(NamedTuple):
    """Rows, centred, and their squared distances (c, n) to the prototypes in units of the model."""

    rows: FloatArray
    squares: FloatArray


def _squares_by_products(
    rows: FloatArray, scale: float, prototypes: FloatArray, wide: FloatArray, squares: FloatArray
) -> _Known | None:
    """By a matrix product, or by differences where that loses digits; None if rows are too far away for it."""
    inside, apart = rows[:, :-2], wide[:, -1]
    sizes = np.einsum("ij,ij->i", inside, inside)
    rows[:, -2], rows[:, -1] = sizes, 1
    sizes = sizes * wide[0, -2]
    if not sizes.max() < _FAR_FOR_PRODUCTS**2:
        return None
    np.matmul(wide, rows.T, out=squares)
    close = np.flatnonzero(squares.min(axis=0) < _NEAR_FOR_PRODUCTS * (sizes + apart.max()))
    which, row = np.nonzero(squares[:, close] < _NEAR_FOR_PRODUCTS * (sizes[close] + apart[:, None]))
    row, unit = close[row], rows.dtype.type(scale)
    for few in row_blocks(len(row), max(1, _DIFFERENCES // inside.shape[1])):
        squares[which[few], row[few]] = ((inside[row[few]] * unit - prototypes[which[few]]) ** 2).sum(axis=1)
    return _Known(inside, squares)
