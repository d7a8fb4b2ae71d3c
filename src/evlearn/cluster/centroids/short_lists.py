r"""Masses of rows on the sets of near clusters, for models with very many clusters.

The mass of a set is at most :math:`(s_{\min}/s)^{1/(\beta-1)}`, so a set has a negligible mass if its cost exceeds
:math:`r\,s_{\min}` for some ratio r. The cost of a pair is at least :math:`(p-g/2)(d_k^2+d_l^2)`, and
:math:`p(d_k^2+d_l^2)-q` by definition, so one of its clusters is near if the pair is. Therefore the costs of the
sets of near clusters suffice: other masses are less than 1e-13 together, and are omitted.
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from evlearn.belief import FocalSets
from evlearn.cluster.outlier_rule import OutlierRule, Segments
from evlearn.cluster.set_costs import SetCosts
from evlearn.utils.sparse_rows import NEGLIGIBLE, SparseRows
from evlearn.utils.typing import FloatArray, IntArray

#: Share of near clusters from which a list is not shorter than an array.
_MAX_SHARE = 0.1
#: Smallest cost, relative to the square of the unit of the model.
_SMALLEST_COST = 1e-30


class Entries(NamedTuple):
    """Masses of rows on sets, sorted by row and set.

    Attributes
    ----------
    rows, sets : ndarray of int of shape (n,)
        Rows, and positions of sets.
    costs, masses : ndarray of shape (n,)
        Costs and masses of the sets.
    """

    rows: IntArray
    sets: IntArray
    costs: FloatArray
    masses: FloatArray


class ShortLists:
    """Single clusters and pairs with their costs.

    Parameters
    ----------
    costs : SetCosts
        Costs of sets of at most 2 clusters.
    offsets : ndarray of shape (n_focal_sets - 1,)
        Numbers :math:`q_j` that are subtracted from the costs.
    """

    def __init__(self, costs: SetCosts, offsets: FloatArray) -> None:
        self._costs, self._offsets = costs, offsets

    @staticmethod
    def supports(focal_sets: FocalSets) -> bool:
        """Return True if there are only single clusters and pairs, and all single clusters."""
        return bool(focal_sets.sizes[-1] <= 2 and (focal_sets.singleton_positions > 0).all())

    def entries(
        self,
        squares: FloatArray,
        empty_cost: float,
        supports: FloatArray | None = None,
        *,
        for_sums: bool = False,
    ) -> Entries | None:
        """Return masses for squared distances of shape (n_clusters, n_rows); None if most clusters are near.

        `supports` are the masses of all nonempty sets together; without it, the cost of the empty set decides. For
        sums over rows, masses that are small relative to that of the empty set are negligible, too. Otherwise they
        are not, so that outliers have the same most plausible cluster.
        """
        n_rows = squares.shape[1]
        smallest = np.maximum(squares.min(axis=0), _SMALLEST_COST).astype(np.float64)
        bounds = self._bounds(np.minimum(smallest, empty_cost) if for_sums else smallest)
        if supports is not None:
            bounds = np.where(supports > 0, bounds, smallest * (1 + 1e-5))
        near_clusters = squares <= bounds.astype(squares.dtype)
        if np.count_nonzero(near_clusters) > _MAX_SHARE * near_clusters.size:
            return None
        clusters, rows = np.divmod(np.flatnonzero(near_clusters), n_rows)
        rows, sets = self._sets_of(rows, clusters)
        first, second = self._ends[:, sets]
        spread, offsets = self._costs.spread[sets - 1], self._offsets[sets - 1]
        totals = squares[first, rows] + np.where(first == second, 0, squares[second, rows]).astype(np.float64)
        set_costs = np.maximum(spread * totals - offsets, _SMALLEST_COST)
        if np.isfinite(empty_cost):
            rows, sets = np.r_[np.arange(n_rows), rows], np.r_[np.zeros(n_rows, dtype=np.intp), sets]
            set_costs = np.r_[np.full(n_rows, empty_cost), set_costs]
            order = np.argsort(rows, kind="stable")
            rows, sets, set_costs = rows[order], sets[order], set_costs[order]
        masses = self._masses(rows, sets, set_costs, n_rows, for_sums=for_sums)
        if supports is not None:
            masses *= supports[rows]
        selection = masses > 0
        return Entries(rows[selection], sets[selection], set_costs[selection], masses[selection])

    def _masses(
        self, rows: IntArray, sets: IntArray, set_costs: FloatArray, n_rows: int, *, for_sums: bool
    ) -> FloatArray:
        """Return the masses for costs that are sorted by row, 0 if they are negligible."""
        begin, power = np.searchsorted(rows, np.arange(n_rows)), 1 / (self._costs.beta - 1)
        minimum = np.minimum.reduceat(set_costs, begin)
        masses = (minimum[rows] / set_costs) ** power
        if for_sums:
            masses[masses < self._negligible] = 0
        else:
            minimum = np.minimum.reduceat(np.where(sets > 0, set_costs, np.inf), begin)
            masses[(sets > 0) & ((minimum[rows] / set_costs) ** power < self._negligible)] = 0
        return np.asarray(masses / np.add.reduceat(masses, begin)[rows])

    def scores(self, squares: FloatArray, rule: OutlierRule, segments: Segments) -> FloatArray:
        """Return the masses of the empty set by the rule for outliers, in the precision of the distances."""
        n_rows = squares.shape[1]
        smallest = np.maximum(squares.min(axis=0), _SMALLEST_COST)
        bounds = (rule.reaches.max() / rule.reaches.min()) ** 2 * smallest + segments.squares.max(initial=0) / 4
        near_clusters = squares <= (bounds * (1 + 1e-5)).astype(squares.dtype)
        clusters, rows = np.divmod(np.flatnonzero(near_clusters), n_rows)
        ratios = np.full(n_rows, np.inf)
        np.minimum.at(ratios, rows, squares[clusters, rows] / rule.reaches[clusters] ** 2)
        if len(segments.pairs):
            row, pair = _expand(rows, clusters, *_pairs_of_clusters(segments.pairs, len(squares)))
            first, second = segments.pairs[pair].T
            length, to_first = segments.squares[pair], squares[first, row].astype(np.float64)
            step = to_first - squares[second, row]
            to_segment = np.maximum(to_first - (step + length) ** 2 / (4 * length), 0)
            reach = np.minimum(rule.reaches[first], rule.reaches[second])
            is_beside = np.abs(step) < length
            np.minimum.at(ratios, row[is_beside], (to_segment / reach**2)[is_beside])
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(1 / (1 + ratios ** (-rule.steepness / 2)), dtype=squares.dtype)

    def with_scores(self, entries: Entries, scores: FloatArray) -> Entries:
        """Return masses with those of the empty set."""
        rows = np.r_[np.arange(len(scores)), entries.rows]
        sets = np.r_[np.zeros(len(scores), dtype=np.intp), entries.sets]
        masses = np.r_[scores, entries.masses]
        order = np.argsort(rows, kind="stable")
        order = order[masses[order] > 0]
        return Entries(rows[order], sets[order], np.zeros(len(order)), masses[order])

    def shares(self, entries: Entries, powers: FloatArray, n_rows: int) -> csr_matrix:
        """Return the factors of rows in the sums of clusters, of shape (n_clusters, n_rows)."""
        nonempty = entries.sets > 0
        sets, rows = entries.sets[nonempty], entries.rows[nonempty]
        values = powers[nonempty] * self._costs.spread[sets - 1]
        first, second = self._ends[:, sets]
        pairs = first != second
        clusters = np.r_[first, second[pairs]]
        shape = self._costs.focal_sets.frame_size, n_rows
        return csr_matrix((np.r_[values, values[pairs]], (clusters, np.r_[rows, rows[pairs]])), shape=shape)

    def system(self, powers: FloatArray) -> csr_matrix:
        """Return the matrix of the equations for the prototypes, from sums of the powers of masses."""
        costs, (first, second) = self._costs, self._ends[:, 1:]
        product = powers * costs.gain / costs.focal_sets.sizes[1:] ** 2
        diagonal = powers * (costs.spread - costs.gain / costs.focal_sets.sizes[1:]) + product
        pairs = first != second
        rows = np.r_[first, second[pairs], first[pairs], second[pairs]]
        columns = np.r_[first, second[pairs], second[pairs], first[pairs]]
        values = np.r_[diagonal, diagonal[pairs], product[pairs], product[pairs]]
        return csr_matrix((values, (rows, columns)), shape=(costs.focal_sets.frame_size,) * 2)

    def to_rows(self, entries: Entries, n_rows: int, dtype: np.dtype[np.floating]) -> SparseRows:
        """Return the masses as rows of the family."""
        shape = n_rows, len(self._costs.focal_sets)
        return SparseRows.from_entries(entries.rows, entries.sets, entries.masses.astype(dtype), shape)

    @property
    def _negligible(self) -> float:
        return NEGLIGIBLE / len(self._costs.focal_sets)

    def _bounds(self, smallest: FloatArray) -> FloatArray:
        """Return the squared distance of each row up to which a cluster is near."""
        limits = smallest * self._negligible ** (1 - self._costs.beta)
        pairs = self._costs.focal_sets.sizes[1:] == 2
        if not pairs.any():
            return np.asarray(limits * (1 + 1e-5))
        spread, gain = self._costs.spread[pairs], self._costs.gain[pairs]
        factor = 2 * float((spread - gain / 2).min())
        bounds = limits / (2 * spread.min()) + float((self._offsets[pairs] / (2 * spread)).max())
        if factor > 1e-9:
            bounds = np.minimum(limits / factor, bounds)
        return np.asarray(np.maximum(limits, bounds) * (1 + 1e-5))

    @cached_property
    def _ends(self) -> IntArray:
        """First and last cluster of each set, of shape (2, n_focal_sets)."""
        begin, members = self._costs.focal_sets.lists
        ends = np.zeros((2, len(begin) - 1), dtype=np.intp)
        ends[0, 1:], ends[1, 1:] = members[begin[1:-1]], members[begin[2:] - 1]
        return ends

    @cached_property
    def _sets_of_clusters(self) -> tuple[IntArray, IntArray]:
        sets = np.arange(1, len(self._costs.focal_sets))
        pairs = sets[self._ends[0, 1:] != self._ends[1, 1:]]
        clusters = np.r_[self._ends[0, 1:], self._ends[1, pairs]]
        order = np.argsort(clusters, kind="stable")
        begin = np.searchsorted(clusters[order], np.arange(self._costs.focal_sets.frame_size + 1))
        return begin, np.r_[sets, pairs][order]

    def _sets_of(self, rows: IntArray, clusters: IntArray) -> tuple[IntArray, IntArray]:
        """Return the sets of near clusters, sorted by row and set."""
        n_sets = len(self._costs.focal_sets)
        row, sets = _expand(rows, clusters, *self._sets_of_clusters)
        keys = np.sort(row * n_sets + sets)  # np.unique is slower for these numbers
        return np.divmod(keys[np.diff(keys, prepend=-1) > 0], n_sets)


def _expand(rows: IntArray, clusters: IntArray, begin: IntArray, numbers: IntArray) -> tuple[IntArray, IntArray]:
    """Return each row with all numbers of its cluster, which are in CSR form."""
    counts = begin[clusters + 1] - begin[clusters]
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(rows, counts), numbers[np.repeat(begin[clusters], counts) + offsets]


def _pairs_of_clusters(pairs: IntArray, n_clusters: int) -> tuple[IntArray, IntArray]:
    """Return the numbers of the pairs of each cluster in CSR form."""
    ends = pairs.T.ravel()
    order = np.argsort(ends, kind="stable")
    return np.searchsorted(ends[order], np.arange(n_clusters + 1)), order % len(pairs)
