"""Focal sets: the subsets of the frame that may carry mass, as a membership table.

A family of f focal sets on a frame of c elements is a 0/1 table with f rows and c columns. Row 0 is the empty
set; the others follow by size, then lexicographically, so that the frame is last if it is in the family. Bit masks
are not used because a frame may have hundreds of elements.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from evlearn.belief.notation import Frame, SetLike, format_set, read_frame, read_set, read_table
from evlearn.utils.typing import BoolArray, FloatArray, IntArray

_Kind = TypeVar("_Kind", bound=np.generic)
_MAX_FRAME_SIZE_OF_FULL = 20
#: Maximum number of entries of a matrix, 2 GiB in double precision.
_MAX_MATRIX_ENTRIES = 1 << 28


class FocalSets:
    """Family of subsets of a frame, including the empty set, in a fixed order.

    The empty set is number 0; other sets follow by size and, within a size, lexicographically. Elements are
    numbered from 0, like cluster labels in scikit-learn. Families are immutable, comparable and hashable.

    Parameters
    ----------
    sets : iterable of sets
        Sets, each as element numbers, element names, or a string of names such as ``"T,O"``. In such a string,
        names with commas, braces, or leading or trailing blanks are in double quotes: ``'"a,b",c'``. The order
        does not matter, repeated sets count once, and the empty set is added.
    frame : int or sequence of str
        Number of elements of the frame, or their names, which may contain any character.

    See Also
    --------
    MassFunction : One mass function, for teaching and examples.

    Examples
    --------
    >>> from evlearn.belief import FocalSets
    >>> FocalSets.full(2)
    FocalSets(∅, {0}, {1}, Ω; 2 elements)
    >>> sets = FocalSets([("b", "c"), ("a",)], frame=["a", "b", "c"])
    >>> sets.labels
    ('∅', '{a}', '{b,c}')
    >>> sets.index("b,c")
    2
    """

    def __init__(self, sets: Iterable[SetLike], frame: Frame) -> None:
        names, size = read_frame(frame)
        rows = [read_set(subset, names, size) for subset in sets]
        self._build(np.array(rows, dtype=bool).reshape(-1, size), names)

    def _build(self, membership: BoolArray, names: tuple[str, ...] | None) -> None:
        if membership.any(axis=1).all():
            membership = np.vstack([np.zeros((1, membership.shape[1]), dtype=bool), membership])
        keys = _order_keys(membership)
        order = np.argsort(keys, kind="stable")
        order = order[np.r_[True, keys[order[1:]] != keys[order[:-1]]]]
        in_order = len(order) == len(membership) and np.array_equal(order, np.arange(len(order)))
        self._membership = _make_read_only(np.ascontiguousarray(membership if in_order else membership[order]))
        self._names = names

    # Common families

    @classmethod
    def full(cls, frame: Frame) -> FocalSets:
        """Return the family of all 2^c subsets of the frame (at most 20 elements).

        Parameters
        ----------
        frame : int or sequence of str
            Number of elements of the frame, or their names.

        Returns
        -------
        FocalSets
            Family in the order of `FocalSets`.
        """
        _, size = read_frame(frame)
        if size > _MAX_FRAME_SIZE_OF_FULL:
            raise ValueError(
                f"frame has {size} elements, so `full` would list 2^{size} sets; at most "
                f"{_MAX_FRAME_SIZE_OF_FULL} elements are possible. Use `FocalSets.pairs` or `FocalSets.simple`."
            )
        codes = np.arange(1 << size)
        return cls.from_membership((codes[:, None] >> np.arange(size)) & 1, frame)

    @classmethod
    def singletons(cls, frame: Frame) -> FocalSets:
        """Return the family of hard and fuzzy partitions: the empty set and the singletons.

        Parameters
        ----------
        frame : int or sequence of str
            Number of elements of the frame, or their names.

        Returns
        -------
        FocalSets
            Family in the order of `FocalSets`.
        """
        return cls.from_membership(np.eye(read_frame(frame)[1], dtype=bool), frame)

    @classmethod
    def simple(cls, frame: Frame) -> FocalSets:
        """Return the empty set, the singletons and the frame.

        Parameters
        ----------
        frame : int or sequence of str
            Number of elements of the frame, or their names.

        Returns
        -------
        FocalSets
            Family in the order of `FocalSets`.
        """
        size = read_frame(frame)[1]
        return cls.from_membership(np.vstack([np.eye(size, dtype=bool), np.ones((1, size), dtype=bool)]), frame)

    @classmethod
    def pairs(
        cls, frame: Frame, pairs: Iterable[SetLike] | None = None, *, include_omega: bool = True
    ) -> FocalSets:
        """Return the empty set, the singletons, pairs of elements, and the frame.

        Parameters
        ----------
        frame : int or sequence of str
            Number of elements of the frame, or their names.
        pairs : iterable of sets, default=None
            Pairs to include; None means all pairs.
        include_omega : bool, default=True
            Whether the whole frame is a focal set.

        Returns
        -------
        FocalSets
            Family in the order of `FocalSets`.
        """
        names, size = read_frame(frame)
        subsets = combinations(range(size), 2) if pairs is None else pairs
        rows = [read_set(pair, names, size) for pair in subsets]
        not_pairs = [row for row in rows if row.sum() != 2]
        if not_pairs:
            raise ValueError(
                f"pairs must be sets of 2 different elements, got {format_set(not_pairs[0], names)}; "
                "for sets of other sizes use `FocalSets(sets, frame)`."
            )
        table = [np.eye(size, dtype=bool), np.array(rows, dtype=bool).reshape(-1, size)]
        if include_omega:
            table.append(np.ones((1, size), dtype=bool))
        return cls.from_membership(np.vstack(table), frame)

    @classmethod
    def from_membership(cls, table: npt.ArrayLike, frame: Frame | None = None) -> FocalSets:
        """Return the family of a 0/1 table with a row per set and a column per element.

        Parameters
        ----------
        table : array-like of shape (n_sets, n_elements)
            ``table[k, e]`` is 1 if set k contains element e. Rows may have any order.
        frame : int or sequence of str, default=None
            The frame; with None, elements are numbered.

        Returns
        -------
        FocalSets
            Family in the order of `FocalSets`.
        """
        membership = read_table(table)
        names, size = read_frame(membership.shape[1] if frame is None else frame)
        if membership.shape[1] != size:
            raise ValueError(f"table has {membership.shape[1]} columns but frame has {size} elements.")
        family = cls.__new__(cls)
        family._build(membership, names)
        return family

    # Sets and elements

    @property
    def membership(self) -> BoolArray:
        """Membership table, read-only, with a row per set and a column per element."""
        return self._membership

    @property
    def frame_size(self) -> int:
        """Number of elements of the frame."""
        return int(self._membership.shape[1])

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the elements, or None if they are numbered."""
        return self._names

    @cached_property
    def frame(self) -> tuple[str, ...]:
        """Names of the elements, or their numbers as text."""
        return self._names or tuple(str(element) for element in range(self.frame_size))

    @cached_property
    def sizes(self) -> IntArray:
        """Number of elements of each set."""
        return _make_read_only(np.asarray(self._membership.sum(axis=1), dtype=np.intp))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Label of each set, which `index` accepts: ``∅``, ``{0,2}``, and ``Ω`` for the frame.

        Names with special characters, such as commas or braces, are JSON strings: ``{"a,b",c}``.
        """
        return tuple(format_set(row, self._names) for row in self._membership)

    @property
    def is_full(self) -> bool:
        """True if the family contains all subsets of the frame."""
        return self.frame_size <= _MAX_FRAME_SIZE_OF_FULL and len(self) == 1 << self.frame_size

    @property
    def has_omega(self) -> bool:
        """True if the family contains the whole frame, as its last set."""
        return bool(self.sizes[-1] == self.frame_size)

    @cached_property
    def singleton_positions(self) -> IntArray:
        """Position of each singleton in the family, -1 if it is missing."""
        positions = np.full(self.frame_size, -1, dtype=np.intp)
        (rows,) = np.nonzero(self.sizes == 1)
        positions[self._membership[rows].argmax(axis=1)] = rows
        return _make_read_only(positions)

    # Lookup

    def index(self, subset: SetLike) -> int:
        """Return the position of a set in the family.

        Parameters
        ----------
        subset : set
            Element numbers or names, or a string such as ``"T,O"``; ``""`` is the empty set.

        Returns
        -------
        int
            Position of the set.
        """
        row = read_set(subset, self._names, self.frame_size)
        position = int(self.positions(row[None])[0])
        if position < 0:
            raise ValueError(
                f"{format_set(row, self._names)} is not one of the {len(self)} focal sets; "
                "add it with `focal_sets.with_sets([...])`."
            )
        return position

    def positions(self, table: npt.ArrayLike) -> IntArray:
        """Return the positions of several sets, -1 for sets that are not in the family.

        Parameters
        ----------
        table : array-like of shape (n_sets, n_elements)
            Membership rows of the sets to look up.

        Returns
        -------
        ndarray of shape (n_sets,)
            Positions in the family.
        """
        keys, order = self._sorted_keys
        table_keys = _lookup_keys(np.asarray(table, dtype=bool))
        matches = np.searchsorted(keys, table_keys).clip(max=len(keys) - 1)
        return np.where(keys[matches] == table_keys, order[matches], -1)

    @cached_property
    def _sorted_keys(self) -> tuple[npt.NDArray[Any], IntArray]:
        keys = _lookup_keys(self._membership)
        order = np.argsort(keys)
        return keys[order], order

    # Derived families

    def with_sets(self, sets: Iterable[SetLike]) -> FocalSets:
        """Return the family with additional sets.

        Parameters
        ----------
        sets : iterable of sets
            Sets to add.

        Returns
        -------
        FocalSets
            Larger family.
        """
        rows = [read_set(subset, self._names, self.frame_size) for subset in sets]
        return self._make_family(np.vstack([self._membership, *[row[None] for row in rows]]))

    def with_omega(self) -> FocalSets:
        """Return the family with the whole frame."""
        return self if self.has_omega else self.with_sets([range(self.frame_size)])

    def with_names(self, names: Sequence[str] | None) -> FocalSets:
        """Return the same sets on a frame with other names of elements.

        Parameters
        ----------
        names : sequence of str or None
            Name of each element; None removes the names.

        Returns
        -------
        FocalSets
            Family with the new names.
        """
        return FocalSets.from_membership(self._membership, self.frame_size if names is None else names)

    def closure(self, operation: Literal["intersection", "union"]) -> FocalSets:
        """Return the closure of the family under intersection, or union.

        Parameters
        ----------
        operation : {"intersection", "union"}
            Operation of the closure.

        Returns
        -------
        FocalSets
            Closed family.
        """
        operations = {"intersection": np.logical_and, "union": np.logical_or}
        if operation not in operations:
            raise ValueError(f"operation must be 'intersection' or 'union', got {operation!r}.")
        combine = operations[operation]
        family = self
        while True:
            sets = family._membership
            larger = self._make_family(combine(sets[:, None], sets[None]).reshape(-1, self.frame_size))
            if len(larger) == len(family):
                return family
            family = larger

    @cached_property
    def intersection_gap(self) -> tuple[int, ...] | None:
        """Set that the closure under intersection would add, or None if the family is closed."""
        return self._gap(np.logical_and)

    @cached_property
    def union_gap(self) -> tuple[int, ...] | None:
        """Set that the closure under union would add, or None if the family is closed."""
        return self._gap(np.logical_or)

    def _gap(self, operation: np.ufunc) -> tuple[int, ...] | None:
        if self.is_full:
            return None
        for row in self._membership:
            results = operation(row, self._membership)
            missing = self.positions(results) < 0
            if missing.any():
                return tuple(np.flatnonzero(results[missing.argmax()]).tolist())
        return None

    def _make_family(self, table: BoolArray) -> FocalSets:
        return FocalSets.from_membership(table, self._names or self.frame_size)

    # Structure matrices

    @cached_property
    def conflict_matrix(self) -> FloatArray:
        """Matrix C: 1 where 2 sets are disjoint (the empty set is disjoint from all sets)."""
        return self._make_matrix(self._overlaps(self) == 0)

    @cached_property
    def emptiness_matrix(self) -> FloatArray:
        """Matrix E: 1 where at least one of 2 sets is empty."""
        empty = self.sizes == 0
        return self._make_matrix(empty[:, None] | empty)

    @cached_property
    def same_singleton_matrix(self) -> FloatArray:
        """Matrix S: 1 where both sets are the same singleton."""
        return self._make_matrix(np.diag(self.sizes == 1))

    @cached_property
    def jaccard_matrix(self) -> FloatArray:
        """Matrix J: Jaccard index of 2 sets; 1 for 2 empty sets."""
        overlap = self._overlaps(self)
        union = self.sizes[:, None] + self.sizes - overlap
        return self._make_matrix(np.divide(overlap, union, out=np.ones_like(overlap), where=union > 0))

    def subset_matrix(self, at: FocalSets | None = None) -> FloatArray:
        """Return 1 where a set of this family (row) is a subset of a set of `at` (column).

        Parameters
        ----------
        at : FocalSets, default=None
            Sets of the columns; None means this family.

        Returns
        -------
        ndarray of shape (len(self), len(at))
            Zeros and ones.
        """
        return self._make_matrix(self._overlaps(at or self) == self.sizes[:, None])

    def intersects_matrix(self, at: FocalSets | None = None) -> FloatArray:
        """Return 1 where a set of this family (row) intersects a set of `at` (column).

        Parameters
        ----------
        at : FocalSets, default=None
            Sets of the columns; None means this family.

        Returns
        -------
        ndarray of shape (len(self), len(at))
            Zeros and ones.
        """
        return self._make_matrix(self._overlaps(at or self) > 0)

    @cached_property
    def moebius_matrix(self) -> FloatArray:
        """Inverse of `subset_matrix`, from sums over subsets in the family to masses."""
        # The order of the family makes the matrix unitriangular, so its inverse has integer entries.
        return self._make_matrix(np.rint(np.linalg.inv(self.subset_matrix())))

    @cached_property
    def bit_codes(self) -> IntArray:
        """Codes of the sets as integers, with bit e for element e (full families)."""
        return _make_read_only(np.asarray(self._membership @ (1 << np.arange(self.frame_size)), dtype=np.intp))

    def _overlaps(self, other: FocalSets) -> FloatArray:
        if other.frame_size != self.frame_size:
            raise ValueError(
                f"the families have frames of {self.frame_size} and {other.frame_size} elements; "
                "they must have the same frame."
            )
        if len(self) * len(other) > _MAX_MATRIX_ENTRIES:
            raise ValueError(
                f"a matrix of {len(self)} by {len(other)} focal sets does not fit in memory; use fewer focal sets."
            )
        return np.asarray(self._membership.astype(float) @ other._membership.T.astype(float))

    @staticmethod
    def _make_matrix(table: npt.NDArray[Any]) -> FloatArray:
        return _make_read_only(table.astype(float))

    # Sequence of tuples

    def __len__(self) -> int:
        return int(self._membership.shape[0])

    def __getitem__(self, position: int) -> tuple[int, ...]:
        if not isinstance(position, (int, np.integer)):
            raise TypeError(
                f"the position of a focal set must be an integer, got {position!r}; use list(focal_sets)[...]."
            )
        return tuple(np.flatnonzero(self._membership[position]).tolist())

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return (self[position] for position in range(len(self)))

    def __contains__(self, subset: SetLike) -> bool:
        row = read_set(subset, self._names, self.frame_size)
        return bool(self.positions(row[None])[0] >= 0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FocalSets):
            return NotImplemented
        return self._names == other._names and np.array_equal(self._membership, other._membership)

    def __hash__(self) -> int:
        return hash((self._names, self._membership.shape, self._membership.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        return FocalSets.from_membership, (np.array(self._membership), self._names or self.frame_size)

    def __repr__(self) -> str:
        ends = [*range(6), *range(len(self) - 2, len(self))]
        texts = [
            format_set(self._membership[k], self._names) for k in (range(len(self)) if len(self) <= 12 else ends)
        ]
        if len(self) > 12:
            texts.insert(6, "...")
        count = f"{len(self)} sets on " if len(self) > 12 else ""
        return f"FocalSets({', '.join(texts)}; {count}{self.frame_size} elements)"


def _make_read_only(array: npt.NDArray[_Kind]) -> npt.NDArray[_Kind]:
    """Make an array read-only, because cached arrays are returned many times."""
    array.flags.writeable = False
    return array


def _order_keys(membership: BoolArray) -> npt.NDArray[Any]:
    """Return sort keys of rows: by size, then element 0 present before absent, then element 1, ..."""
    n_sets, n_elements = membership.shape
    width = -(-n_elements // 8)
    keys = np.zeros((n_sets, 4 + max(4, width)), dtype=np.uint8)
    keys[:, :4].view(">u4")[:, 0] = membership.sum(axis=1)
    np.invert(np.packbits(membership, axis=1), out=keys[:, 4 : 4 + width])
    if keys.shape[1] == 8:  # integers are sorted faster than bytes
        return keys.view(">u8").astype(np.uint64)[:, 0]
    return keys.view(np.dtype((np.void, keys.shape[1])))[:, 0]


def _lookup_keys(membership: BoolArray) -> npt.NDArray[Any]:
    """Return keys of rows for lookup."""
    packed = np.ascontiguousarray(np.packbits(membership, axis=1))
    return packed.view(np.dtype((np.void, packed.shape[1]))).ravel()


#: A family, or its sets as element numbers; no names, because a string would be a list of letters.
FocalSetsLike: TypeAlias = FocalSets | Iterable[Iterable[int]]
