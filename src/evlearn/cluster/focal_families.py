"""Which sets of clusters may carry mass: from a word to a family, and pairs chosen from a first fit."""

from collections.abc import Iterable, Sized
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from evlearn import belief
from evlearn.belief import FocalSets
from evlearn.partition import CredalPartition
from evlearn.partition.reading import as_credal
from evlearn.utils.memory import available_memory
from evlearn.utils.typing import FloatArray
from evlearn.utils.validation import check_integer

KINDS = ("simple", "pairs", "full", "neighbor_pairs")
#: How many pairs of neighbours "auto" takes for each cluster, on average and at most.
_PAIRS_EACH = 2
# Masses may take so many bytes, and beyond that so many times the memory of the data.
_FREE_BYTES, _TIMES_THE_DATA = 1 << 30, 64


@dataclass(frozen=True, eq=False, repr=False)
class NeighborPairs:
    """Pairs of neighbouring clusters; made by `neighbor_pairs`.

    Attributes
    ----------
    pairs : list of tuple of int
        The pairs, by their numbers of clusters.
    similarity : ndarray of shape (n_clusters, n_clusters)
        How much two clusters share samples: the sum over samples of the products of their plausibilities.
    focal_sets : FocalSets
        The sets of the partition, and the pairs: what the parameter `focal_sets` of a second fit takes.
    masses : ndarray of shape (n_samples, n_focal_sets)
        The masses of the partition, with zeros for new pairs: where a second fit can start.
    """

    pairs: list[tuple[int, int]]
    similarity: FloatArray
    focal_sets: FocalSets
    masses: FloatArray

    def __repr__(self) -> str:
        return f"NeighborPairs({self.pairs}, {len(self.similarity)} clusters)"


def neighbor_pairs(partition: CredalPartition | ArrayLike, *, n_neighbors: int = 1) -> NeighborPairs:
    """Choose the pairs of clusters that may carry mass, from a fit without pairs.

    With many clusters there are many pairs, and most are of clusters that are far apart. This is the choice
    of the papers: two clusters are a pair if each is among the other's most similar ones. A parameter
    ``focal_sets="neighbor_pairs"`` of an estimator does the same, and fits again.

    Parameters
    ----------
    partition : CredalPartition, labels or memberships
        What the first fit found.
    n_neighbors : int, default=1
        How many of its most similar clusters count as a cluster's neighbours.

    Returns
    -------
    NeighborPairs
        The pairs, similarities, and sets and masses for a second fit.

    See Also
    --------
    evlearn.cluster.EVCLUS : Takes the sets as `focal_sets`, and the masses as `init`.

    References
    ----------
    Denœux et al. (2016).

    Examples
    --------
    >>> from evlearn.cluster import neighbor_pairs
    >>> chosen = neighbor_pairs(
    ...     [[0.9, 0.1, 0.0], [0.5, 0.5, 0.0], [0.0, 0.2, 0.8], [0.0, 0.0, 1.0]]
    ... )
    >>> chosen.pairs
    [(0, 1)]
    >>> chosen.focal_sets.labels
    ('∅', '{0}', '{1}', '{2}', '{0,1}')
    """
    check_integer("n_neighbors", n_neighbors, 1)
    found = as_credal(partition)
    similarity = cluster_similarity(found)
    pairs = mutual_neighbors(similarity, n_neighbors)
    larger = found.focal_sets.with_sets(pairs)
    return NeighborPairs(pairs, similarity, larger, belief.expand(found.masses, found.focal_sets, larger))


def make_focal_sets(focal_sets: Any, n_clusters: int, *, include_omega: bool = True) -> FocalSets:
    """The family that the parameter `focal_sets` of an estimator stands for."""
    if isinstance(focal_sets, str):
        if focal_sets not in KINDS:
            raise ValueError(f"focal_sets must be one of {list(KINDS)} or a list of sets, got {focal_sets!r}.")
        if focal_sets == "full":
            return FocalSets.full(n_clusters)
        if focal_sets == "pairs":
            return FocalSets.pairs(n_clusters, include_omega=include_omega)
        return FocalSets.simple(n_clusters) if include_omega else FocalSets.singletons(n_clusters)
    if not isinstance(focal_sets, (FocalSets, Iterable)):
        raise ValueError(f"focal_sets must be one of {list(KINDS)} or a list of sets, got {focal_sets!r}.")
    family = focal_sets if isinstance(focal_sets, FocalSets) else FocalSets(focal_sets, n_clusters)
    if family.frame_size != n_clusters:
        raise ValueError(f"focal_sets is on {family.frame_size} clusters but n_clusters is {n_clusters}.")
    missing = np.flatnonzero(family.singleton_positions < 0)
    if len(missing):
        raise ValueError(
            f"focal_sets lacks the single cluster {missing[0]}; every cluster needs a set of its own, "
            f"so add ({missing[0]},)."
        )
    return family


def in_two_steps(focal_sets: Any) -> bool:
    """Whether pairs of neighbouring clusters are chosen after a fit without them."""
    return isinstance(focal_sets, str) and focal_sets == "neighbor_pairs"


def choose_focal_sets(focal_sets: Any, squares: FloatArray, weights: Any, *, include_omega: bool) -> FocalSets:
    """The family that the parameter `focal_sets` stands for, also where it is "auto"."""
    if isinstance(focal_sets, str) and focal_sets == "auto":
        return auto_focal_sets(squares, weights, include_omega=include_omega)
    return make_focal_sets(focal_sets, squares.shape[1], include_omega=include_omega)


def auto_focal_sets(squares: FloatArray, weights: Any, *, include_omega: bool) -> FocalSets:
    """The family that "auto" stands for: single clusters, and pairs of neighbours, whose number grows with theirs.

    Two clusters are neighbours if they are the nearest two of some row. Barycentres of others lie where other
    clusters are, and would pull these towards them.
    """
    n_clusters = squares.shape[1]
    family = make_focal_sets("simple", n_clusters, include_omega=include_omega)
    if n_clusters < 2:
        return family
    nearest = np.sort(np.argpartition(squares, 1, axis=1)[:, :2], axis=1)
    pairs, places = np.unique(nearest, axis=0, return_inverse=True)
    shared = np.bincount(places.ravel(), weights)
    most = np.argsort(-shared, kind="stable")[: _PAIRS_EACH * n_clusters]
    return family.with_sets([tuple(pair) for pair in pairs[np.sort(most)].tolist()])


def refuse_too_many_sets(
    focal_sets: Any, n_clusters: int, shape: tuple[int, int], itemsize: int = 8, *, instead: str
) -> None:
    """Raise if masses have no room in memory, or would take gigabytes and many times the memory of the data."""
    n_samples, n_features = shape
    n_sets = _least_sets(focal_sets, n_clusters)
    n_bytes = n_samples * n_sets * itemsize
    available = available_memory()
    too_many = available is not None and n_bytes > available
    if too_many or (n_bytes > _FREE_BYTES and n_sets > _TIMES_THE_DATA * n_features):
        given = f", focal_sets={focal_sets!r}" if isinstance(focal_sets, str) else ""
        raise ValueError(
            f"masses of {n_samples:,} samples x {n_sets:,} focal sets (n_clusters={n_clusters}{given}) would take "
            f"{n_bytes:,} bytes"
            + (f", and {available:,} are available" if too_many else "")
            + f". Give {instead}, or list the sets that you need."
        )


def _least_sets(focal_sets: Any, n_clusters: int) -> int:
    """How many sets there are at least, as far as it is known before a fit."""
    if not isinstance(focal_sets, str):
        return len(focal_sets) if isinstance(focal_sets, Sized) else 0
    numbers: dict[str, int] = {"full": 2**n_clusters, "pairs": n_clusters * (n_clusters + 1) // 2 + 1}
    return numbers.get(focal_sets, n_clusters + 1)


def cluster_similarity(partition: CredalPartition, weights: Any = None) -> FloatArray:
    """How much two clusters share samples: the sum of products of their plausibilities."""
    useful = partition.masses[:, 1:].sum(axis=1) > 0
    plausibility = partition.to_possibilistic(normalize=True)[useful].astype(np.float64, copy=False)
    weighted = plausibility if weights is None else plausibility * np.asarray(weights)[useful, None]
    return np.asarray(plausibility.T @ weighted)


class _Assigning(Protocol):
    """A model that gives masses to rows."""

    @property
    def focal_sets(self) -> FocalSets:
        """What the columns of the masses stand for."""

    def assign(self, rows: FloatArray) -> FloatArray:
        """The masses of rows."""


@dataclass(frozen=True)
class SimilarityOfRows:
    """From a block of rows to how much clusters share its samples."""

    model: _Assigning

    def __call__(self, rows: FloatArray, weights: Any = None) -> FloatArray:
        """The similarities of all pairs of clusters."""
        partition = CredalPartition(self.model.assign(rows), self.model.focal_sets, validate=False)
        return cluster_similarity(partition, weights)


def mutual_neighbors(similarity: FloatArray, n_neighbors: int) -> list[tuple[int, int]]:
    """Pairs of clusters of which each is among the other's most similar ones."""
    others = np.array(similarity, dtype=np.float64)
    np.fill_diagonal(others, -np.inf)
    n_clusters = len(others)
    nearest = np.argsort(-others, axis=1, kind="stable")[:, : min(n_neighbors, n_clusters - 1)]
    is_near = np.zeros((n_clusters, n_clusters), dtype=bool)
    np.put_along_axis(is_near, nearest, True, axis=1)
    first, second = np.nonzero(np.triu(is_near & is_near.T, k=1))
    return list(zip(first.tolist(), second.tolist(), strict=True))


def random_masses(n_samples: int, n_sets: int, random: np.random.RandomState) -> FloatArray:
    """Masses to start from that know nothing."""
    masses = random.uniform(size=(n_samples, n_sets))
    return np.asarray(masses / masses.sum(axis=1, keepdims=True))
