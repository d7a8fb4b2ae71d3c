r"""Prototype models, which assign masses, collect statistics and solve for prototypes.

``assign`` returns the masses of rows, ``collect`` returns statistics that add up over blocks, and ``solve``
returns the best prototypes for the statistics. A method is defined by the costs of the sets of clusters for a row:
with :math:`r_j=\frac1{|A_j|}\sum_{k\in A_j}\|v_k-\bar v_j\|^2`,

.. math:: s_j(x)=p_j\sum_{k\in A_j}\|x-v_k\|^2-g_jr_j ,

which is :math:`|A_j|^\alpha\|x-\bar v_j\|^2` for ECM and a mean of squared distances to the prototypes and the
barycenter for CCM. Fuzzy c-means (single clusters only) and its noise cluster (the empty set) are special cases.

Models have internal coordinates, centered and scaled by a power of 2, so the results depend neither on the
location nor on the unit of the data.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from scipy.spatial.distance import cdist

import evlearn.kernels.prototypes as kernel
from evlearn.belief import FocalSets
from evlearn.blocks.sparse import Features, SparseBlock
from evlearn.cluster.centroids.short_lists import Entries, ShortLists
from evlearn.cluster.outlier_rule import OutlierRule, Segments
from evlearn.cluster.set_costs import (
    SetCosts,
    masses_of_costs,
    powers_of,
    renumbered_positions,
    solve_positive,
    solve_sparse,
    total_cost,
)
from evlearn.storage import fields
from evlearn.utils.chunks import row_blocks
from evlearn.utils.sparse_rows import BLOCK_ENTRIES, MIN_COLUMNS, SparseRows, without_negligible
from evlearn.utils.typing import FloatArray, IntArray
from evlearn.utils.validation import check_shape, distance_ratios

#: Range of values whose squares neither overflow nor underflow, with a safety margin.
_SMALLEST, _LARGEST = 1e-150, 1e150
#: Ratio of distances to the median beyond which a row does not influence the origin. Otherwise the origin could be
#: far from all rows, and differences from it would lose digits.
_MAX_CENTER_RATIO = 1e4
#: Bound of coordinates in units of a model. Farther samples are outliers in any case, and squares remain finite.
FARTHEST = 1e100
#: Share of a sum of squares below which a difference of products is only rounding error.
_ROUNDING_SHARE = 1e-14
#: Maximum number of differences between rows and prototypes in memory.
_DIFFERENCES = 1 << 20
#: Ranges for single precision: scales, and coordinates of prototypes in units of the model.
_SINGLE_SCALES, _SINGLE_MAX = (1e-36, 1e36), 1e15
#: Minimum number of features times clusters for distances by matrix products, and their number of rows per block.
_MIN_PRODUCT_SIZE, _PRODUCT_ROWS = 1 << 13, 2048
#: Number of clusters from which a fit uses lists of masses and a sparse system of equations.
_MANY_CLUSTERS = 1000
#: Limits of products: maximum coordinate of rows in units of the model, minimum ratio of a squared distance to the
#: squares of which it is a difference, and scales whose squares are in the range of single precision.
_PRODUCT_MAX, _PRODUCT_MIN_RATIO, _PRODUCT_SCALES = 1e6, 1e-3, (1e-12, 1e12)
#: Position of the first argument about sets, after center, scale and prototypes, among the arguments of the
#: kernel.
_FIRST_SET_ARGUMENT = 3
#: Position of the cost of the empty set among these arguments.
_EMPTY_COST = 5


@fields.stored
class Coordinates(NamedTuple):
    """Coordinates of a model: ``(x - center) * scale``.

    Attributes
    ----------
    center : ndarray of shape (n_features,)
        Origin.
    scale : float
        Power of 2, so that scaling is exact.
    """

    center: fields.Vector
    scale: fields.SquarableNumber

    @classmethod
    def of(cls, sample: FloatArray) -> "Coordinates":
        """Return coordinates in which a sample without extreme rows has mean 0 and a mean square of about 1."""
        is_central = distance_ratios(sample) <= _MAX_CENTER_RATIO
        if not is_central.all():
            sample = sample[is_central]
        with np.errstate(over="ignore"):
            # Halves, because the sum of 2 huge numbers may overflow.
            center = (sample * 0.5).mean(axis=0, dtype=np.float64) * 2
            spread = float(np.abs(sample - center).max(initial=0))
        if spread == 0:
            return cls(center, 1.0)
        if not _SMALLEST <= spread <= _LARGEST:
            raise ValueError(
                f"X has values up to {spread:.3g} away from their mean, whose squares overflow or underflow; "
                f"rescale X to values between {_SMALLEST:g} and {_LARGEST:g}."
            )
        size = float(np.sqrt((((sample - center) / spread) ** 2).sum(axis=1).mean()))
        return cls(center, float(2.0 ** -np.round(np.log2(spread) + np.log2(size))))

    def transform(self, rows: FloatArray) -> FloatArray:
        """Return rows in these coordinates, in double precision, clipped so that their squares are finite."""
        with np.errstate(over="ignore"):
            points = (np.asarray(rows, dtype=np.float64) - self.center) * self.scale
        return np.clip(points, -FARTHEST, FARTHEST, out=points)

    def inverse_transform(self, rows: FloatArray) -> FloatArray:
        """Return rows in the coordinates of the data."""
        return rows / self.scale + self.center


@fields.stored
@dataclass(frozen=True)
class Statistics:
    """Sums over a block of rows that determine better prototypes. Statistics of 2 blocks can be added.

    Attributes
    ----------
    cost : float
        Objective at the current prototypes.
    powers : ndarray of shape (n_focal_sets,)
        Sums of the masses, raised to the power beta.
    sums : ndarray
        Sums of rows, weighted with these powers: for each cluster, or for each nonempty set with adaptive metrics.
    scatter : ndarray of shape (n_clusters, n_features, n_features) or None
        Sums of outer products of rows, if the metric is adaptive.
    """

    cost: fields.ExtendedNumber
    powers: fields.NonnegativeVector
    sums: fields.Matrix
    scatter: Annotated[FloatArray, fields.array(3)] | None = None

    def __add__(self, other: "Statistics") -> "Statistics":
        scatter = None
        if self.scatter is not None and other.scatter is not None:
            scatter = self.scatter + other.scatter
        return Statistics(self.cost + other.cost, self.powers + other.powers, self.sums + other.sums, scatter)

    def __mul__(self, factor: float) -> "Statistics":
        scatter = None if self.scatter is None else self.scatter * factor
        return Statistics(self.cost * factor, self.powers * factor, self.sums * factor, scatter)

    def renumber(self, old: FocalSets, new: FocalSets, numbers: IntArray) -> "Statistics":
        """Return the statistics on a frame in which cluster k has the number ``numbers[k]``."""
        sets = renumbered_positions(old, new, numbers)
        powers = np.zeros(len(new))
        powers[sets] = self.powers
        exists = numbers >= 0
        if self.scatter is not None:  # sums for each nonempty set
            sums = np.zeros((len(new) - 1, self.sums.shape[1]))
            sums[sets[1:] - 1] = self.sums
            scatter = np.zeros((new.frame_size, *self.scatter.shape[1:]))
            scatter[numbers[exists]] = self.scatter[exists]
            return Statistics(self.cost, powers, sums, scatter)
        sums = np.zeros((new.frame_size, self.sums.shape[1]))
        sums[numbers[exists]] = self.sums[exists]
        return Statistics(self.cost, powers, sums)


@dataclass(frozen=True)
class PrototypeModel:
    """Base class of models: prototypes and costs of the focal sets. Subclasses define the distances.

    Attributes
    ----------
    costs : SetCosts
        Costs of the focal sets.
    coordinates : Coordinates
        Coordinates of the prototypes.
    prototypes : ndarray of shape (n_clusters, n_features)
        Prototypes in these coordinates.
    outliers : OutlierRule or None, default=None
        Rule for outliers, with reaches in these coordinates; None if the cost of the empty set decides.
    """

    costs: SetCosts
    coordinates: Coordinates
    prototypes: Annotated[FloatArray, fields.array(2, low=-FARTHEST, high=FARTHEST)]
    outliers: OutlierRule | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_shape("prototypes", self.prototypes, (self.focal_sets.frame_size, self.n_features))
        if self.outliers is not None:
            check_shape("reaches", self.outliers.reaches, (self.focal_sets.frame_size,))

    @property
    def focal_sets(self) -> FocalSets:
        """Focal sets."""
        return self.costs.focal_sets

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return len(self.coordinates.center)

    @property
    def centers(self) -> FloatArray:
        """Prototypes in the coordinates of the data."""
        return self.coordinates.inverse_transform(self.prototypes)

    @property
    def empty_cost(self) -> float:
        """Cost of the empty set in squared units of the model."""
        return float(self.costs.empty * self.coordinates.scale**2)

    def renumber(self, numbers: IntArray, frame: int | Sequence[str]) -> Self:
        """Return the model on a frame in which cluster k has the number ``numbers[k]``; -1 omits it.

        Numbers without a cluster are in no focal set. Their prototypes equal that of another cluster, so that they
        influence neither masses nor outliers.
        """
        size = frame if isinstance(frame, int) else len(frame)
        exists = numbers >= 0
        clusters = np.full(size, np.flatnonzero(exists)[0])
        clusters[numbers[exists]] = np.flatnonzero(exists)
        outliers = self.outliers and replace(self.outliers, reaches=self.outliers.reaches[clusters])
        costs, changes = self.costs.renumber(numbers, frame), self._cluster_arrays(clusters)
        return replace(self, costs=costs, prototypes=self.prototypes[clusters], outliers=outliers, **changes)

    def _cluster_arrays(self, clusters: IntArray) -> dict[str, Any]:
        """Return other arrays with a row for each cluster."""
        return {}

    @property
    def _final_empty_cost(self) -> float:
        """Cost of the empty set after the fit: infinite if there is a rule for outliers."""
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
        """Segments between the prototypes of pairs; with adaptive metrics, in the mean of both metrics."""
        squares = self._squares(self.centers)
        return Segments.of(self.focal_sets, (squares + squares.T) / 2)

    def _assign(self, rows: Any) -> FloatArray:
        """Return the masses of rows by the costs of the sets, without the rule for outliers."""
        raise NotImplementedError

    def _distance_blocks(self, n_rows: int) -> Iterator[slice]:
        return row_blocks(n_rows, max(1, _DIFFERENCES // self.prototypes.size))

    def distances(self, rows: Features) -> FloatArray:
        """Return the distances of rows to the prototypes, in the unit of the data."""
        out = np.empty((len(rows), len(self.prototypes)), dtype=rows.dtype)
        for block in self._distance_blocks(len(rows)):
            with np.errstate(over="ignore"):  # remote rows in single precision
                out[block] = np.sqrt(self._squares(rows[block])) / self.coordinates.scale
        return out

    def _squares(self, rows: Any) -> FloatArray:
        """Return squared distances to the prototypes, in squared units of the model."""
        raise NotImplementedError


@fields.stored
@dataclass(frozen=True)
class EuclideanModel(PrototypeModel):
    """Model with squared Euclidean distances.

    Rows may have one more column than features: an offset, the distance of a row to all prototypes in one more
    dimension.

    Attributes
    ----------
    costs : SetCosts
        Costs of the focal sets.
    coordinates : Coordinates
        Coordinates of the prototypes.
    prototypes : ndarray of shape (n_clusters, n_features)
        Prototypes in these coordinates.
    fixed : bool, default=False
        Whether the prototypes are fixed.
    """

    fixed: bool = False

    def assign(self, rows: Features, weights: Any = None) -> FloatArray:
        """Return the masses of rows."""
        return super().assign(rows) if isinstance(rows, SparseBlock) else self._assign(rows)

    @cached_property
    def segments(self) -> Segments:
        """Segments between the prototypes of pairs."""
        if len(self.prototypes) < _MANY_CLUSTERS:
            return super().segments
        return Segments.of_prototypes(self.focal_sets, self.prototypes)

    def _assign(self, rows: Features) -> FloatArray:
        if isinstance(rows, SparseBlock):
            costs = self.costs_of(rows)
            costs[:, 0] = self._final_empty_cost
            return masses_of_costs(costs, self.costs.beta).astype(rows.dtype, copy=False)
        dtype = rows.dtype
        rows = self._kernel_rows(rows)
        out = np.empty((len(rows), len(self.costs.focal_sets)), dtype=rows.dtype)
        arguments = self._kernel_arguments(rows)
        if self.outliers is not None:
            arguments = (*arguments[:_EMPTY_COST], np.inf, *arguments[_EMPTY_COST + 1 :])
        for block, distances in self._blocks_with_products(rows, arguments):
            if distances is None:
                kernel.assign(rows[block], *arguments, out[block], *self._outlier_arguments)
            else:
                kernel.assign_known(
                    distances.squares, *arguments[_FIRST_SET_ARGUMENT:], out[block], *self._outlier_arguments
                )
        return out.astype(dtype, copy=False)

    def assign_sparse(self, rows: FloatArray) -> SparseRows:
        """Return the masses of rows as lists, without negligible masses."""
        dtype, rows = rows.dtype, self._kernel_rows(rows)
        parts = []
        for block, distances in self._blocks_with_products(rows, self._kernel_arguments(rows)):
            entries = scores = None
            if distances is not None and self._has_short_lists:
                squares = distances.squares
                if self.outliers is not None:
                    scores = self._short_lists.scores(squares, self.outliers, self.segments)
                supports = None if scores is None else 1 - scores
                entries = self._short_lists.entries(squares, self._final_empty_cost, supports)
            if entries is None:
                parts.extend(self._sparse_parts(rows[block], dtype))
                continue
            if scores is not None:
                entries = self._short_lists.with_scores(entries, scores)
            parts.append(self._short_lists.to_rows(entries, len(distances.rows), dtype))
        return SparseRows.concatenate(parts or self._sparse_parts(rows, dtype))

    def _sparse_parts(self, rows: FloatArray, dtype: Any) -> list[SparseRows]:
        """Return such masses of a few rows at a time, from arrays."""
        n_sets, parts = len(self.focal_sets), []
        for block in row_blocks(max(len(rows), 1), max(1, BLOCK_ENTRIES // n_sets)):
            masses = self._assign(rows[block]).astype(dtype, copy=False)
            parts.append(without_negligible(masses))
        return parts

    @cached_property
    def _has_short_lists(self) -> bool:
        return len(self.focal_sets) >= MIN_COLUMNS and ShortLists.supports(self.focal_sets)

    @cached_property
    def _short_lists(self) -> ShortLists:
        return ShortLists(self.costs, self._offsets)

    def collect(self, rows: Features, weights: Any = None) -> Statistics:
        """Return the statistics of rows without storing their masses."""
        if isinstance(rows, SparseBlock):
            return self.statistics_of(rows, masses_of_costs(self.costs_of(rows), self.costs.beta), weights)
        rows = self._kernel_rows(rows)
        powers, sums = np.zeros(len(self.costs.focal_sets)), np.zeros((len(self.prototypes), rows.shape[1]))
        if weights is not None:
            weights = np.ascontiguousarray(weights, dtype=rows.dtype)
        cost, arguments = 0.0, self._kernel_arguments(rows)
        for block, distances in self._blocks_with_products(rows, arguments):
            block_weights = None if weights is None else weights[block]
            entries = None
            if distances is not None and self._has_short_lists and len(self.prototypes) >= _MANY_CLUSTERS:
                entries = self._short_lists.entries(distances.squares, self.empty_cost, for_sums=True)
            if entries is not None:
                cost += self._add_entries(entries, distances, block_weights, powers, sums)
            elif distances is None:
                cost += kernel.collect(rows[block], block_weights, *arguments, powers, sums)
            else:
                shares = distances.squares
                cost += kernel.collect_known(shares, block_weights, *arguments[_FIRST_SET_ARGUMENT:], powers)
                sums += self.coordinates.scale * (shares @ distances.rows)
        return Statistics(cost / self.coordinates.scale**2, powers, sums[:, : self.n_features])

    def _add_entries(
        self, entries: Entries, distances: "_BlockDistances", weights: Any, powers: FloatArray, sums: FloatArray
    ) -> float:
        """Add the statistics of lists of masses to the sums of a block, and return their cost."""
        raised = powers_of(entries.masses, self.costs.beta, None)
        if weights is not None:
            raised = raised * weights[entries.rows]
        powers += np.bincount(entries.sets, raised, len(powers))
        shares = self._short_lists.shares(entries, raised, len(distances.rows))
        sums += self.coordinates.scale * (shares @ distances.rows)
        return float(raised @ entries.costs)

    def _blocks_with_products(self, rows: FloatArray, arguments: tuple[Any, ...]) -> Iterator[tuple[slice, Any]]:
        """Yield blocks of rows; for many clusters and features, with their squared distances."""
        center, scale, prototypes = arguments[:_FIRST_SET_ARGUMENT]
        low, high = _PRODUCT_SCALES
        if not uses_products(prototypes) or not low < scale < high:
            yield slice(0, len(rows)), None
            return
        n_rows = min(len(rows), _PRODUCT_ROWS)
        # 2 additional columns, for the squares of rows and of prototypes, so that one product suffices.
        buffer = np.empty((n_rows, rows.shape[1] + 2), dtype=rows.dtype)
        extended_prototypes = self._extended_prototypes(prototypes)
        squares_buffer = np.empty(len(prototypes) * n_rows, dtype=rows.dtype)
        for block in row_blocks(len(rows), _PRODUCT_ROWS):
            extended_rows = buffer[: block.stop - block.start]
            with np.errstate(over="ignore", invalid="ignore"):
                np.subtract(rows[block], center, out=extended_rows[:, :-2])
                block_squares = squares_buffer[: len(prototypes) * len(extended_rows)].reshape(
                    len(prototypes), len(extended_rows)
                )
                yield (
                    block,
                    _squares_by_products(extended_rows, scale, prototypes, extended_prototypes, block_squares),
                )

    def _extended_prototypes(self, prototypes: FloatArray) -> FloatArray:
        """Return scaled prototypes with the 2 columns that extend products to squared distances."""
        key = prototypes.dtype, prototypes.shape
        if key not in self._cache:
            scale = prototypes.dtype.type(self.coordinates.scale)
            squared_norms = np.einsum("ij,ij->i", prototypes, prototypes)
            self._cache[key] = np.column_stack(
                [-2 * scale * prototypes, np.full_like(squared_norms, scale**2), squared_norms]
            )
        extended: FloatArray = self._cache[key]
        return extended

    def costs_of(self, rows: Features) -> FloatArray:
        """Return the cost of each set for each row, in squared units of the model."""
        squares = self._squares(rows)
        total = squares @ (self.costs.membership * self.costs.spread[:, None]).T
        differences = total - self._offsets
        differences[differences <= 16 * np.finfo(np.float64).eps * total] = 0
        return np.hstack([np.full((len(rows), 1), self.empty_cost), differences])

    def statistics_of(self, rows: Features, masses: FloatArray, weights: Any = None) -> Statistics:
        """Return the statistics of rows with given masses."""
        powers = powers_of(masses, self.costs.beta, weights)
        cost = total_cost(powers, self.costs_of(rows)) / self.coordinates.scale**2
        shares = powers[:, 1:] @ (self.costs.membership * self.costs.spread[:, None])
        if isinstance(rows, SparseBlock):
            sums = (rows.matrix.T @ shares).T - np.outer(shares.sum(axis=0), self.coordinates.center)
            return Statistics(cost, powers.sum(axis=0), sums * self.coordinates.scale)
        return Statistics(cost, powers.sum(axis=0), shares.T @ self.coordinates.transform(rows))

    def solve(self, statistics: Statistics) -> "EuclideanModel":
        """Return the model with the best prototypes for the statistics."""
        if self.fixed:
            return self
        costs = self.costs
        if len(self.prototypes) >= _MANY_CLUSTERS and self._has_short_lists:
            matrix = self._short_lists.system(statistics.powers[1:])
            right = statistics.sums - matrix @ self.prototypes
            return replace(self, prototypes=self.prototypes + solve_sparse(matrix, right))
        F, powers = costs.membership, statistics.powers[1:]
        matrix = F.T @ (F * (powers * costs.gain / costs.size**2)[:, None])
        matrix += np.diag(F.T @ (powers * (costs.spread - costs.gain / costs.size)))
        change = solve_positive(matrix, statistics.sums - matrix @ self.prototypes)
        return replace(self, prototypes=self.prototypes + change)

    def _squares(self, rows: Features) -> FloatArray:
        """Return squared distances to the prototypes, in units of the model; by products for sparse rows."""
        if isinstance(rows, SparseBlock):
            centers = self.centers
            sums = rows.squares[:, None] + (centers**2).sum(axis=1)
            products = sums - 2 * (rows.matrix @ centers.T)
            products[products <= _ROUNDING_SHARE * sums] = 0
            return np.asarray(products * self.coordinates.scale**2)
        points = self.coordinates.transform(rows[:, : self.n_features])
        squares = np.asarray(cdist(points, self.prototypes, "sqeuclidean"))
        if rows.shape[1] > self.n_features:
            offsets = np.clip(rows[:, self.n_features :].astype(np.float64) * self.coordinates.scale, 0, FARTHEST)
            squares += (offsets**2).sum(axis=1, keepdims=True)
        return squares

    @cached_property
    def _outlier_arguments(self) -> tuple[Any, ...]:
        """Rule for outliers as arguments of the kernel; empty if there is none."""
        if self.outliers is None:
            return ()
        inverse, (pairs, lengths) = self.outliers.reaches**-2.0, self.segments
        ends = np.ascontiguousarray(pairs, dtype=np.int32)
        return inverse, ends, lengths, inverse[ends].max(axis=1), self.outliers.steepness / 2

    @cached_property
    def _offsets(self) -> FloatArray:
        return self.costs.gain * self.costs.spreads(self.prototypes)

    def _kernel_rows(self, rows: FloatArray) -> FloatArray:
        """Return rows for the kernel, in double precision if single precision has not enough range."""
        if rows.dtype == np.float32:
            low, high = _SINGLE_SCALES
            if not low < self.coordinates.scale < high or self._largest_coordinate > _SINGLE_MAX:
                rows = rows.astype(np.float64)
        return np.ascontiguousarray(rows)

    @cached_property
    def _largest_coordinate(self) -> float:
        return float(np.abs(self.prototypes).max())

    @cached_property
    def _cache(self) -> dict[Any, Any]:
        """Arguments for the kernel, computed once for many calls with few rows."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_cache", "_short_lists")}

    def _kernel_arguments(self, rows: FloatArray) -> tuple[Any, ...]:
        """Return the arguments of the kernel between the rows and the results."""
        dtype, n_offsets = key = rows.dtype, rows.shape[1] - self.n_features
        if key not in self._cache:
            prototypes, center = self.prototypes, self.coordinates.center
            if n_offsets:
                prototypes = np.pad(prototypes, ((0, 0), (0, n_offsets)))
                center = np.pad(center, (0, n_offsets))
            # The kernel has the same bound for the other sets.
            smallest_cost = 1e-30 if dtype == np.float32 else 1e-200
            spread, beta, *lists = self.costs.kernel_arguments(dtype)
            self._cache[key] = (
                center.astype(dtype),
                self.coordinates.scale,
                np.ascontiguousarray(prototypes, dtype=dtype),
                spread,
                self._offsets.astype(dtype),
                max(self.empty_cost, smallest_cost),
                beta,
                *lists,
            )
        arguments: tuple[Any, ...] = self._cache[key]
        return arguments


def uses_products(prototypes: FloatArray) -> bool:
    """Return True if there are so many clusters and features that distances are matrix products."""
    return prototypes.size >= _MIN_PRODUCT_SIZE


class _BlockDistances(NamedTuple):
    """Centered rows and their squared distances (c, n) to the prototypes, in squared units of the model."""

    rows: FloatArray
    squares: FloatArray


def _squares_by_products(
    rows: FloatArray, scale: float, prototypes: FloatArray, extended_prototypes: FloatArray, squares: FloatArray
) -> _BlockDistances | None:
    """Return squared distances by products, or by differences for close rows; None for remote rows."""
    centered_rows, prototype_norms = rows[:, :-2], extended_prototypes[:, -1]
    sizes = np.einsum("ij,ij->i", centered_rows, centered_rows)
    rows[:, -2], rows[:, -1] = sizes, 1
    sizes = sizes * extended_prototypes[0, -2]
    if not sizes.max() < _PRODUCT_MAX**2:
        return None
    np.matmul(extended_prototypes, rows.T, out=squares)
    close = np.flatnonzero(squares.min(axis=0) < _PRODUCT_MIN_RATIO * (sizes + prototype_norms.max()))
    cluster, row = np.nonzero(squares[:, close] < _PRODUCT_MIN_RATIO * (sizes[close] + prototype_norms[:, None]))
    row, unit = close[row], rows.dtype.type(scale)
    for block in row_blocks(len(row), max(1, _DIFFERENCES // centered_rows.shape[1])):
        squares[cluster[block], row[block]] = (
            (centered_rows[row[block]] * unit - prototypes[cluster[block]]) ** 2
        ).sum(axis=1)
    return _BlockDistances(centered_rows, squares)
