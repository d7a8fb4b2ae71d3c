"""Blocks of sparse masses on the few clusters that occur in them.

Samples are ordered by their largest mass, so that the samples of a block share clusters. Without the clusters and
the sets that have no mass in a block, its masses are a small table, to which the functions for arrays apply. A
cluster without mass is kept for all the others, so that ties are the same. If the set of all clusters has mass,
all clusters are kept.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from evlearn.belief import FocalSets
from evlearn.utils.sparse_rows import SparseRows
from evlearn.utils.typing import FloatArray, IntArray

# Numbers of rows per block, without and with mass on the set of all clusters.
_ROWS, _ROWS_WITH_ALL = 1024, 256


class LocalBlock(NamedTuple):
    """Masses of some samples on some clusters.

    Attributes
    ----------
    rows : ndarray of int of shape (n_rows,)
        Samples.
    clusters : ndarray of int of shape (n_local_clusters,)
        Clusters, in increasing order.
    sets : ndarray of int of shape (n_local_sets,)
        Positions of the sets in the family.
    masses : ndarray of shape (n_rows, n_local_sets)
        Masses on these sets.
    focal_sets : FocalSets
        Sets on these clusters, which have the names of the clusters.
    """

    rows: IntArray
    clusters: IntArray
    sets: IntArray
    masses: FloatArray
    focal_sets: FocalSets


def local_blocks(table: SparseRows, focal_sets: FocalSets) -> Iterator[LocalBlock]:
    """Yield blocks that contain each sample once."""
    largest = largest_columns(table)
    has_all = np.zeros(len(table), dtype=bool)
    if focal_sets.has_omega:  # a sample with all mass on the empty set is treated like ignorance
        has_all = (table[:, -1] > 0) | (table.sum_rows(np.minimum(np.arange(table.n_columns), 1.0)) <= 0)
    for selection, n_rows in ((~has_all, _ROWS), (has_all, _ROWS_WITH_ALL)):
        rows = np.flatnonzero(selection)
        rows = rows[np.argsort(largest[rows], kind="stable")]
        for start in range(0, len(rows), n_rows):
            yield local_block(table, focal_sets, rows[start : start + n_rows], bool(has_all[rows[0]]))


def local_block(table: SparseRows, focal_sets: FocalSets, rows: IntArray, with_all: bool = False) -> LocalBlock:
    """Return the masses of samples on the clusters that occur in them, or on all clusters."""
    part = table.take(rows)
    sets = np.union1d([0, len(focal_sets) - 1] if with_all else [0], part.columns).astype(np.intp)
    positions, members = focal_sets.members_of(sets)
    clusters = np.union1d([0], members).astype(np.intp)
    if len(clusters) < focal_sets.frame_size:
        is_absent = clusters != np.arange(len(clusters))
        absent = int(is_absent.argmax()) if is_absent.any() else len(clusters)
        clusters = np.union1d(clusters, [absent])
    membership = np.zeros((len(sets), len(clusters)), dtype=bool)
    membership[positions, np.searchsorted(clusters, members)] = True
    masses = np.zeros((len(part), len(sets)), dtype=table.dtype)
    masses[part.row_numbers, np.searchsorted(sets, part.columns)] = part.values
    names = [focal_sets.frame[k] for k in clusters]
    return LocalBlock(rows, clusters, sets, masses, FocalSets.from_membership(membership, names))


def largest_columns(table: SparseRows) -> IntArray:
    """Return the first position of the largest mass of each sample."""
    rows = table.row_numbers
    order = np.lexsort([-table.values, rows])  # stable, so that the first of equal masses is first
    first = np.searchsorted(rows, np.arange(len(table)))
    has_mass = np.diff(table.starts) > 0
    largest = np.zeros(len(table), dtype=np.intp)
    largest[has_mass] = table.columns[order[first[has_mass]]]
    return largest
