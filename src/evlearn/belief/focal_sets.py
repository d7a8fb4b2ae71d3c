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
from evlearn.belief.trees import Tree, read_tree
from evlearn.utils.typing import BoolArray, FloatArray, IntArray

_Kind = TypeVar("_Kind", bound=np.generic)
_MAX_FRAME_SIZE_OF_FULL = 20
#: Maximum number of entries of a matrix, 2 GiB in double precision.
_MAX_MATRIX_ENTRIES = 1 << 28
#: Number of entries of a membership table, 64 MiB, above which a family stores the members of its sets instead.
_MAX_TABLE_ENTRIES = 1 << 26


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

    _table: BoolArray | None

    def __init__(self, sets: Iterable[SetLike], frame: Frame) -> None:
        names, size = read_frame(frame)
        members = [np.flatnonzero(read_set(subset, names, size)) for subset in sets]
        self._build_from_lists(*_concatenate(members), size, names)

    def _build_from_lists(
        self, begin: IntArray, members: IntArray, size: int, names: tuple[str, ...] | None
    ) -> None:
        """Build the family from the sorted members of each set, which are stored if a table would be too large."""
        if (len(begin) - 1) * size <= _MAX_TABLE_ENTRIES:
            membership = np.zeros((len(begin) - 1, size), dtype=bool)
            membership[np.repeat(np.arange(len(begin) - 1), np.diff(begin)), members] = True
            self._build(membership, names)
            return
        self._set_lists(*_sorted_lists(begin, members), size, names)

    def _set_lists(self, begin: IntArray, members: IntArray, size: int, names: tuple[str, ...] | None) -> None:
        self.__dict__["lists"] = _make_read_only(begin), _make_read_only(members)
        self._shape, self._names, self._table = (len(begin) - 1, size), names, None

    def _build(self, membership: BoolArray, names: tuple[str, ...] | None) -> None:
        if membership.any(axis=1).all():
            membership = np.vstack([np.zeros((1, membership.shape[1]), dtype=bool), membership])
        keys = _order_keys(membership)
        order = np.argsort(keys, kind="stable")
        order = order[np.r_[True, keys[order[1:]] != keys[order[:-1]]]]
        in_order = len(order) == len(membership) and np.array_equal(order, np.arange(len(order)))
        table = np.ascontiguousarray(membership if in_order else membership[order])
        if table.size > _MAX_TABLE_ENTRIES:
            self._set_lists(*_lists_of(table), table.shape[1], names)
            return
        self._table = _make_read_only(table)
        self._shape, self._names = table.shape, names

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
        names, size = read_frame(frame)
        return cls._from_lists(np.arange(size + 1), np.arange(size), size, names)

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
        return cls.singletons(frame).with_omega()

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
        all_members = [np.flatnonzero(read_set(pair, names, size)) for pair in subsets]
        not_pairs = [members for members in all_members if len(members) != 2]
        if not_pairs:
            raise ValueError(
                f"pairs must be sets of 2 different elements, got "
                f"{format_set(np.isin(np.arange(size), not_pairs[0]), names)}; "
                "for sets of other sizes use `FocalSets(sets, frame)`."
            )
        sets = [*np.arange(size)[:, None], *all_members, *([np.arange(size)] if include_omega else [])]
        return cls._from_lists(*_concatenate(sets), size, names)

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

    @classmethod
    def from_tree(cls, tree: Tree, frame: Frame | None = None) -> FocalSets:
        """Return the empty set, the singletons, the inner nodes of a tree, and the frame.

        The set of an inner node contains the elements below it, for example the subtypes of a type of cells.

        Parameters
        ----------
        tree : mapping or sequence
            Names with their children, ``{"T": {"CD4": ["naive", "memory"], "CD8": None}, "B": None}``; or lists of
            lists, such as ``[[0, 1], [2, 3]]`` for cluster numbers; or the parent of each node,
            ``{"naive": "CD4", "memory": "CD4", "CD4": "T", "CD8": "T"}``.
        frame : int or sequence of str, default=None
            The frame; with None, the leaves in the order of the tree. If it contains only some nodes, such as the
            ``classes_`` of a classifier, the other nodes are ignored; if it contains an inner node, this is also
            an element.

        Returns
        -------
        FocalSets
            Family in the order of `FocalSets`.

        Examples
        --------
        >>> from evlearn.belief import FocalSets
        >>> tree = {"T": {"CD4": ["naive", "memory"], "CD8": None}, "B": None}
        >>> FocalSets.from_tree(tree).labels[5:]
        ('{naive,memory}', '{naive,memory,CD8}', 'Ω')
        >>> FocalSets.from_tree([[0, 1], [2, 3]]).labels[5:]
        ('{0,1}', '{2,3}', 'Ω')
        """
        leaves, ancestors = read_tree(tree)
        if frame is None:
            has_names = any(isinstance(leaf, str) for leaf in leaves)
            frame = [str(leaf) for leaf in leaves] if has_names else max(map(int, leaves)) + 1
        names, size = read_frame(frame)
        sets: dict[Any, list[int]] = {}
        for element, name in enumerate(names or range(size)):
            if name not in ancestors:
                raise ValueError(f"tree lacks {name!r}, which is in the frame; add it to the tree.")
            for node in ancestors[name]:
                sets.setdefault(node, []).append(element)
        return cls.simple(size).with_sets(sets.values()).with_names(names)

    @classmethod
    def from_lists(cls, begin: IntArray, members: IntArray, frame: Frame) -> FocalSets:
        """Return the family of sets in CSR form, as in `lists`.

        Parameters
        ----------
        begin : ndarray of int of shape (n_sets + 1,)
            Position of the first member of each set.
        members : ndarray of int of shape (n_members,)
            Sorted element numbers of each set.
        frame : int or sequence of str
            Number of elements of the frame, or their names.

        Returns
        -------
        FocalSets
            Family in the order of `FocalSets`.
        """
        names, size = read_frame(frame)
        return cls._from_lists(np.asarray(begin, dtype=np.intp), np.asarray(members, dtype=np.intp), size, names)

    @classmethod
    def _from_lists(
        cls, begin: IntArray, members: IntArray, size: int, names: tuple[str, ...] | None
    ) -> FocalSets:
        """Return the family of the sets with these sorted members, in any order."""
        family = cls.__new__(cls)
        family._build_from_lists(begin, members, size, names)
        return family

    # Sets and elements

    @property
    def membership(self) -> BoolArray:
        """Membership table, read-only, with a row per set and a column per element.

        A table of more than 64 MiB is not stored, but computed from `lists` in each call.
        """
        return self.rows(np.arange(len(self))) if self._table is None else self._table

    @cached_property
    def lists(self) -> tuple[IntArray, IntArray]:
        """Elements of all sets, one after the other, in CSR form: where the sets begin, and the elements."""
        begin, members = _lists_of(self.membership)
        return _make_read_only(begin), _make_read_only(members)

    def rows(self, positions: npt.ArrayLike) -> BoolArray:
        """Return rows of the membership table, read-only.

        Parameters
        ----------
        positions : array-like of int of shape (n,)
            Positions of sets.

        Returns
        -------
        ndarray of bool of shape (n, n_elements)
            Rows of the table.
        """
        numbers = np.asarray(positions, dtype=np.intp)
        if self._table is not None:
            return _make_read_only(self._table[numbers])
        (sets, members), table = self.members_of(numbers), np.zeros((len(numbers), self.frame_size), dtype=bool)
        table[sets, members] = True
        return _make_read_only(table)

    def members_of(self, positions: IntArray) -> tuple[IntArray, IntArray]:
        """Return the members of sets as pairs of indices.

        Parameters
        ----------
        positions : ndarray of shape (n,)
            Positions of sets.

        Returns
        -------
        ndarray of shape (n_pairs,)
            Index in `positions`.
        ndarray of shape (n_pairs,)
            Index of an element of this set.
        """
        begin, members = self.lists
        sizes = begin[positions + 1] - begin[positions]
        sets = np.repeat(np.arange(len(positions)), sizes)
        offsets = np.arange(len(sets)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return sets, members[np.repeat(begin[positions], sizes) + offsets]

    @property
    def frame_size(self) -> int:
        """Number of elements of the frame."""
        return int(self._shape[1])

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
        sizes = np.diff(self.lists[0]) if self._table is None else self._table.sum(axis=1)
        return _make_read_only(np.asarray(sizes, dtype=np.intp))

    @cached_property
    def _members_by_size(self) -> list[tuple[slice, IntArray]]:
        """Positions of the nonempty sets of each size, which follow each other, and their members."""
        begin, members = self.lists
        sizes, first = np.unique(self.sizes, return_index=True)
        ends = [*first[1:], len(self)]
        return [
            (slice(start, stop), members[begin[start] : begin[stop]].reshape(stop - start, size))
            for size, start, stop in zip(sizes[1:], first[1:], ends[1:], strict=True)
        ]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Label of each set, which `index` accepts: ``∅``, ``{0,2}``, and ``Ω`` for the frame.

        Names with special characters, such as commas or braces, are JSON strings: ``{"a,b",c}``.
        """
        return tuple(self._format(position) for position in range(len(self)))

    def _format(self, position: int) -> str:
        return format_set(self.rows([position])[0], self._names)

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
        positions[self.members_of(rows)[1]] = rows
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
        keys = _lookup_keys(self.membership)
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
        added = [np.flatnonzero(read_set(subset, self._names, self.frame_size)) for subset in sets]
        begin, members = self.lists
        more_begin, more_members = _concatenate(added)
        all_begin, all_members = np.r_[begin, begin[-1] + more_begin[1:]], np.r_[members, more_members]
        return FocalSets._from_lists(all_begin, all_members, self.frame_size, self._names)

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
        new_names, size = read_frame(self.frame_size if names is None else names)
        if size != self.frame_size:
            raise ValueError(f"table has {self.frame_size} columns but frame has {size} elements.")
        return FocalSets._from_lists(*self.lists, self.frame_size, new_names)

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
            sets = family.membership
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
        table = self.membership
        for row in table:
            results = operation(row, table)
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
        return _make_read_only(np.asarray(self.membership @ (1 << np.arange(self.frame_size)), dtype=np.intp))

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
        return np.asarray(self.membership.astype(float) @ other.membership.T.astype(float))

    @staticmethod
    def _make_matrix(table: npt.NDArray[Any]) -> FloatArray:
        return _make_read_only(table.astype(float))

    # Sequence of tuples

    def __len__(self) -> int:
        return int(self._shape[0])

    def __getitem__(self, position: int) -> tuple[int, ...]:
        if not isinstance(position, (int, np.integer)):
            raise TypeError(
                f"the position of a focal set must be an integer, got {position!r}; use list(focal_sets)[...]."
            )
        begin, members = self.lists
        number = range(len(self))[position]
        return tuple(members[begin[number] : begin[number + 1]].tolist())

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return (self[position] for position in range(len(self)))

    def __contains__(self, subset: SetLike) -> bool:
        row = read_set(subset, self._names, self.frame_size)
        return bool(self.positions(row[None])[0] >= 0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FocalSets):
            return NotImplemented
        if self._names != other._names or self._shape != other._shape:
            return False
        if self._table is not None and other._table is not None:
            return np.array_equal(self._table, other._table)
        return all(np.array_equal(mine, others) for mine, others in zip(self.lists, other.lists, strict=True))

    def __hash__(self) -> int:
        content = self.lists[1] if self._table is None else self._table
        return hash((self._names, self._shape, content.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        if self._table is None:
            return FocalSets._from_lists, (*map(np.array, self.lists), self.frame_size, self._names)
        return FocalSets.from_membership, (np.array(self._table), self._names or self.frame_size)

    def __repr__(self) -> str:
        ends = [*range(6), *range(len(self) - 2, len(self))]
        texts = [self._format(k) for k in (range(len(self)) if len(self) <= 12 else ends)]
        if len(self) > 12:
            texts.insert(6, "...")
        count = f"{len(self)} sets on " if len(self) > 12 else ""
        return f"FocalSets({', '.join(texts)}; {count}{self.frame_size} elements)"


def _make_read_only(array: npt.NDArray[_Kind]) -> npt.NDArray[_Kind]:
    """Make an array read-only, because cached arrays are returned many times."""
    array.flags.writeable = False
    return array


def _lists_of(membership: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the members of the sets of a table in CSR form."""
    begin = np.concatenate([[0], np.cumsum(membership.sum(axis=1))])
    return begin.astype(np.intp), np.nonzero(membership)[1]


def _concatenate(members: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """Return the sorted members of sets in CSR form."""
    begin = np.cumsum([0, *(len(elements) for elements in members)])
    return begin.astype(np.intp), np.concatenate([np.empty(0, dtype=np.intp), *members])


def _sorted_lists(begin: IntArray, members: IntArray) -> tuple[IntArray, IntArray]:
    """Return different sets with the empty set in CSR form, in the order of a family."""
    sizes = np.diff(begin)
    tables = [np.empty((1, 0), dtype=np.intp)]
    for size in np.unique(sizes[sizes > 0]):
        first = begin[:-1][sizes == size]
        tables.append(np.unique(members[first[:, None] + np.arange(size)], axis=0))
    ordered_sizes = np.concatenate([np.full(len(table), table.shape[1]) for table in tables])
    return np.concatenate([[0], np.cumsum(ordered_sizes)]), np.concatenate([table.ravel() for table in tables])


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
