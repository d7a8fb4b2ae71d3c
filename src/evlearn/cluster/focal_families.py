"""Families of focal sets: specifications, and selection of pairs of clusters after a first fit."""

import os
import re
from collections.abc import Iterable, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from evlearn import belief
from evlearn.belief import FocalSets
from evlearn.belief.focal_sets import FocalSetsLike
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import as_credal
from evlearn.storage import fields
from evlearn.utils.parameters import Specification
from evlearn.utils.typing import FloatArray
from evlearn.utils.validation import check_choice, check_flag, check_integer

KINDS = ("simple", "pairs", "full", "neighbor_pairs")
#: Maximum mean number of pairs of neighbors per cluster in the family "auto".
_PAIRS_EACH = 2
# Memory of masses that is always accepted, in bytes, and maximum ratio of larger memory to that of the data.
_FREE_BYTES, _TIMES_THE_DATA = 1 << 30, 64
#: Size of masses that are never refused, so that small fits do not read the state of the machine.
_NEGLIGIBLE_BYTES = 1 << 24
_MACHINE, _CONTAINER = Path("/proc/meminfo"), Path("/sys/fs/cgroup")


@fields.stored
@dataclass
class FocalFamily(Specification):
    """Specification of a family of focal sets, for the parameter `focal_sets` of clusterers.

    A name such as ``focal_sets="pairs"`` is short for ``FocalFamily("pairs")``.

    Parameters
    ----------
    kind : {"auto", "simple", "pairs", "full", "neighbor_pairs"}, default="auto"
        Sets of clusters that may carry mass, besides the empty set; see the parameter `focal_sets` of the
        estimator.
    include_omega : bool or None, default=None
        Whether the set of all clusters belongs to "auto", "simple", "pairs" and "neighbor_pairs". None means True,
        and False in CCM, SECM and BootClus.
    n_neighbors : int, default=1
        Number of most similar clusters that are neighbors of a cluster, for "neighbor_pairs".

    Examples
    --------
    >>> from evlearn.cluster import ECM, FocalFamily
    >>> from evlearn.datasets import load_butterfly
    >>> family = FocalFamily("pairs", include_omega=False)
    >>> model = ECM(3, focal_sets=family, random_state=0).fit(load_butterfly().data)
    >>> model.focal_sets_.labels
    ('∅', '{0}', '{1}', '{2}', '{0,1}', '{0,2}', '{1,2}')
    """

    kind: Literal["auto", "simple", "pairs", "full", "neighbor_pairs"] = "auto"
    include_omega: bool | None = None
    n_neighbors: int = 1

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, ("auto", *KINDS))
        if self.include_omega is not None:
            check_flag("include_omega", self.include_omega)
        check_integer("n_neighbors", self.n_neighbors, 1)


@dataclass(frozen=True, eq=False, repr=False)
class NeighborPairs:
    """Pairs of neighboring clusters, returned by `neighbor_pairs`.

    Attributes
    ----------
    pairs : list of tuple of int
        Pairs of cluster numbers.
    similarity : ndarray of shape (n_clusters, n_clusters)
        Similarities of clusters: sums over samples of the products of their plausibilities.
    focal_sets : FocalSets
        Sets of the partition, and the pairs, for the parameter `focal_sets` of a second fit.
    masses : ndarray of shape (n_samples, n_focal_sets)
        Masses of the partition, with zeros for new pairs, from which a second fit can start.
    """

    pairs: list[tuple[int, int]]
    similarity: FloatArray
    focal_sets: FocalSets
    masses: FloatArray

    def __repr__(self) -> str:
        return f"NeighborPairs({self.pairs}, {len(self.similarity)} clusters)"


def neighbor_pairs(partition: CredalPartition | ArrayLike, *, n_neighbors: int = 1) -> NeighborPairs:
    """Select the pairs of clusters that may carry mass, from a fit without pairs.

    With many clusters there are many pairs, and most of them consist of distant clusters. As in the papers, 2
    clusters are a pair if each is among the clusters most similar to the other. With
    ``focal_sets="neighbor_pairs"``, an estimator does the same and is fitted again.

    Parameters
    ----------
    partition : CredalPartition, labels or memberships
        Result of the first fit.
    n_neighbors : int, default=1
        Number of most similar clusters that are neighbors of a cluster.

    Returns
    -------
    NeighborPairs
        Pairs, similarities, and sets and masses for a second fit.

    See Also
    --------
    evlearn.cluster.EVCLUS : An estimator with the parameters `focal_sets` and `init` for the sets and masses.

    References
    ----------
    Denœux et al. (2016), Evidential clustering of large dissimilarity data,
    Knowledge-Based Systems 106, doi:10.1016/j.knosys.2016.05.043.

    Examples
    --------
    >>> from evlearn.cluster import neighbor_pairs
    >>> selection = neighbor_pairs(
    ...     [[0.9, 0.1, 0.0], [0.5, 0.5, 0.0], [0.0, 0.2, 0.8], [0.0, 0.0, 1.0]]
    ... )
    >>> selection.pairs
    [(0, 1)]
    >>> selection.focal_sets.labels
    ('∅', '{0}', '{1}', '{2}', '{0,1}')
    """
    check_integer("n_neighbors", n_neighbors, 1)
    credal = as_credal(partition)
    similarity = cluster_similarity(credal)
    pairs = mutual_neighbors(similarity, n_neighbors)
    family = credal.focal_sets.with_sets(pairs)
    masses = belief.expand_masses(credal.masses, credal.focal_sets, family)
    return NeighborPairs(pairs, similarity, family, masses)


def pairs_after_fit(focal_sets: Any, masses: FloatArray, family: FocalSets) -> NeighborPairs:
    """Return the pairs for the second fit with "neighbor_pairs" in the parameter `focal_sets`."""
    partition = CredalPartition(masses, family, validate=False)
    return neighbor_pairs(partition, n_neighbors=n_pair_neighbors(focal_sets))


#: Types of the parameter `focal_sets` of methods with the default "auto", and of other methods.
SelectedSetsLike: TypeAlias = (
    Literal["auto", "full", "pairs", "simple", "neighbor_pairs"] | FocalFamily | FocalSetsLike
)
FamilyLike: TypeAlias = Literal["full", "pairs", "simple", "neighbor_pairs"] | FocalFamily | FocalSetsLike


def kind_of(focal_sets: Any) -> str | None:
    """Return the kind of family that the parameter `focal_sets` names, or None if it lists the sets."""
    if isinstance(focal_sets, FocalFamily):
        return focal_sets.kind
    return focal_sets if isinstance(focal_sets, str) else None


def n_pair_neighbors(focal_sets: Any) -> int:
    """Return the number of most similar clusters that are neighbors of a cluster."""
    return focal_sets.n_neighbors if isinstance(focal_sets, FocalFamily) else 1


def make_focal_sets(focal_sets: Any, n_clusters: int, *, include_omega: bool = True) -> FocalSets:
    """Return the family that the parameter `focal_sets` of an estimator specifies.

    The set of all clusters belongs to it by default if `include_omega` is True.
    """
    kind = kind_of(focal_sets)
    if kind is not None:
        if kind not in KINDS:
            raise ValueError(f"focal_sets must be one of {list(KINDS)} or a list of sets, got {focal_sets!r}.")
        if kind == "full":
            return FocalSets.full(n_clusters)
        if isinstance(focal_sets, FocalFamily) and focal_sets.include_omega is not None:
            include_omega = focal_sets.include_omega
        if kind == "pairs":
            return FocalSets.pairs(n_clusters, include_omega=include_omega)
        return FocalSets.simple(n_clusters) if include_omega else FocalSets.singletons(n_clusters)
    if not isinstance(focal_sets, (FocalSets, Iterable)):
        raise ValueError(f"focal_sets must be one of {list(KINDS)} or a list of sets, got {focal_sets!r}.")
    family = focal_sets if isinstance(focal_sets, FocalSets) else FocalSets(focal_sets, n_clusters)
    if family.frame_size != n_clusters:
        raise ValueError(
            f"focal_sets is on {family.frame_size} clusters but n_clusters is {n_clusters}; use the same number."
        )
    missing = np.flatnonzero(family.singleton_positions < 0)
    if len(missing):
        raise ValueError(
            f"focal_sets lacks the single cluster {missing[0]}; every cluster must be a focal set, so "
            f"add ({missing[0]},)."
        )
    return family


def has_two_steps(focal_sets: Any) -> bool:
    """Return True if pairs of neighboring clusters are selected after a fit without them."""
    return kind_of(focal_sets) == "neighbor_pairs"


def choose_focal_sets(
    focal_sets: Any, squares: FloatArray, weights: Any, *, include_omega: bool = True
) -> FocalSets:
    """Return the family that the parameter `focal_sets` specifies, which may be "auto"."""
    if kind_of(focal_sets) != "auto":
        return make_focal_sets(focal_sets, squares.shape[1], include_omega=include_omega)
    if isinstance(focal_sets, FocalFamily) and focal_sets.include_omega is not None:
        include_omega = focal_sets.include_omega
    return auto_focal_sets(squares, weights, include_omega=include_omega)


def auto_focal_sets(squares: FloatArray, weights: Any, *, include_omega: bool) -> FocalSets:
    """Return the family "auto": single clusters, and pairs of neighbors, whose number is limited.

    Two clusters are neighbors if they are the nearest 2 of some row. The barycenters of other pairs can be near
    other clusters, which would be attracted to them.
    """
    n_clusters = squares.shape[1]
    family = make_focal_sets("simple", n_clusters, include_omega=include_omega)
    if n_clusters < 2:
        return family
    first, second = np.argpartition(squares, 1, axis=1)[:, :2].T
    codes, positions = np.unique(
        np.minimum(first, second) * n_clusters + np.maximum(first, second), return_inverse=True
    )  # faster than pairs
    counts = np.bincount(positions, weights)
    selected = np.argsort(-counts, kind="stable")[: _PAIRS_EACH * n_clusters]
    pairs = np.column_stack(np.divmod(codes[np.sort(selected)], n_clusters))
    return family.with_sets([tuple(pair) for pair in pairs.tolist()])


def refuse_too_many_sets(
    focal_sets: Any,
    n_clusters: int,
    shape: tuple[int, int],
    itemsize: int = 8,
    *,
    instead: str,
    row_bytes: float | None = None,
) -> None:
    """Raise an error if masses exceed the memory, or need gigabytes and many times the memory of the data.

    `row_bytes` is the number of bytes of a row, if it is not that of an array.
    """
    n_samples, n_features = shape
    n_sets = _min_number_of_sets(focal_sets, n_clusters)
    row_bytes = n_sets * itemsize if row_bytes is None else row_bytes
    n_bytes = int(n_samples * row_bytes)
    if n_bytes <= _NEGLIGIBLE_BYTES:
        return
    available = available_memory()
    too_many = available is not None and n_bytes > available
    if too_many or (n_bytes > _FREE_BYTES and row_bytes > _TIMES_THE_DATA * n_features * itemsize):
        family = f", focal_sets={focal_sets!r}" if kind_of(focal_sets) is not None else ""
        raise ValueError(
            f"masses of {n_samples:,} samples x {n_sets:,} focal sets (n_clusters={n_clusters}{family}) would "
            f"take {n_bytes:,} bytes"
            + (f", and {available:,} are available" if too_many else "")
            + f". Use {instead}, or list the sets that you need."
        )


def _min_number_of_sets(focal_sets: Any, n_clusters: int) -> int:
    """Return a lower bound of the number of sets before a fit."""
    kind = kind_of(focal_sets)
    if kind is None:
        return len(focal_sets) if isinstance(focal_sets, Sized) else 0
    numbers: dict[str, int] = {"full": 2**n_clusters, "pairs": n_clusters * (n_clusters + 1) // 2 + 1}
    return numbers.get(kind, n_clusters + 1)


def cluster_similarity(partition: CredalPartition, weights: Any = None) -> FloatArray:
    """Compute similarities of clusters: sums over samples of the products of their plausibilities."""
    nonempty = partition.supports() > 0
    plausibility = partition.to_possibilistic(normalize=True)[nonempty].astype(np.float64, copy=False)
    weighted = plausibility if weights is None else plausibility * np.asarray(weights)[nonempty, None]
    return np.asarray(plausibility.T @ weighted)


class _Assigning(Protocol):
    """Model that assigns masses to rows."""

    @property
    def focal_sets(self) -> FocalSets:
        """Sets of the columns of the masses."""

    def assign(self, rows: FloatArray) -> FloatArray:
        """Return the masses of rows."""


@dataclass(frozen=True)
class SimilarityOfRows:
    """Function from a block of rows to the similarities of clusters."""

    model: _Assigning

    def __call__(self, rows: FloatArray, weights: Any = None) -> FloatArray:
        """Return the similarities of all pairs of clusters."""
        partition = CredalPartition(self.model.assign(rows), self.model.focal_sets, validate=False)
        return cluster_similarity(partition, weights)


def mutual_neighbors(similarity: FloatArray, n_neighbors: int) -> list[tuple[int, int]]:
    """Return pairs of clusters, each of which is among the clusters most similar to the other."""
    others = np.array(similarity, dtype=np.float64)
    np.fill_diagonal(others, -np.inf)
    n_clusters = len(others)
    nearest = np.argsort(-others, axis=1, kind="stable")[:, : min(n_neighbors, n_clusters - 1)]
    is_near = np.zeros((n_clusters, n_clusters), dtype=bool)
    np.put_along_axis(is_near, nearest, True, axis=1)
    first, second = np.nonzero(np.triu(is_near & is_near.T, k=1))
    return list(zip(first.tolist(), second.tolist(), strict=True))


def given_masses(init: Any, n_samples: int, focal_sets: FocalSets) -> FloatArray:
    """Return initial masses that the user passed."""
    masses = belief.check_masses(init, focal_sets, name="init")
    if masses.shape != (n_samples, len(focal_sets)):
        raise ValueError(
            f"init must have shape {(n_samples, len(focal_sets))}, with masses of each sample on each focal set, "
            f"got shape {masses.shape}."
        )
    return masses


def random_masses(n_samples: int, n_sets: int, random: np.random.RandomState) -> FloatArray:
    """Draw random initial masses."""
    masses = random.uniform(size=(n_samples, n_sets))
    return np.asarray(masses / masses.sum(axis=1, keepdims=True))


def available_memory() -> int | None:
    """Return the number of bytes that this process can still use, of the machine or of its container.

    Returns
    -------
    int or None
        Number of bytes; the total memory of the machine if the amount in use is unknown, and None if nothing is
        known.
    """
    sizes = [size for size in (_of_machine(), _of_container()) if size is not None]
    return min(sizes, default=None)


def _of_machine() -> int | None:
    available = re.search(r"^MemAvailable: *(\d+) kB", _text(_MACHINE), re.MULTILINE)
    if available:
        return 1024 * int(available[1])
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows has no sysconf; some systems lack these names
        return None


def _of_container() -> int | None:
    limit = _text(_CONTAINER / "memory.max").strip()
    # Pages of cached files are not counted, because the system frees them when memory is short.
    in_use = re.search(r"^anon (\d+)", _text(_CONTAINER / "memory.stat"), re.MULTILINE)
    return max(int(limit) - int(in_use[1]), 0) if limit.isdigit() and in_use else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
