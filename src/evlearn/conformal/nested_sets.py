"""Masses on nested sets of clusters or classes, from plausibilities, with the same columns in all calls."""

import numpy as np

from evlearn.belief import FocalSets
from evlearn.partition import CredalPartition
from evlearn.utils.typing import FloatArray

#: Maximum number of clusters or classes for which masses have columns for all sets.
MAX_FULL = 6
#: Maximum number of clusters with masses on all nested sets, and number of most plausible clusters with nested
#: sets beyond.
MAX_DISTINCT, MAX_NESTED_SETS = 10, 3


def shorten_contour(plausible: FloatArray) -> FloatArray:
    """Return plausibilities with few distinct values: of many clusters, the least plausible become equal."""
    if plausible.shape[1] <= MAX_DISTINCT:
        return plausible
    rest = -np.partition(-plausible, MAX_NESTED_SETS, axis=1)[:, MAX_NESTED_SETS, None]
    return np.maximum(plausible, rest)


def columns_of(partition: CredalPartition) -> FocalSets:
    """Return the columns of masses: all sets of up to 6 clusters, else simple sets and those of a partition."""
    if partition.n_clusters <= MAX_FULL:
        return FocalSets.full(partition.n_clusters)
    simple = FocalSets.simple(partition.n_clusters)
    return FocalSets.from_membership(np.vstack([simple.membership, partition.focal_sets.membership]))


def project_masses(columns: FocalSets, partition: CredalPartition) -> CredalPartition:
    """Convert consonant masses to other columns.

    The mass of a set without a column goes to the next larger set of the same sample that has one, or else to the
    set of all clusters. The masses remain consonant, and plausibilities can only grow.
    """
    positions = columns.positions(partition.focal_sets.membership)
    samples, sets = np.nonzero(partition.masses)
    # The focal sets of a sample are nested and sorted by size.
    targets = np.full(partition.masses.shape, len(columns) - 1)
    targets[samples, sets] = np.where(positions[sets] < 0, len(columns) - 1, positions[sets])
    targets = np.minimum.accumulate(targets[:, ::-1], axis=1)[:, ::-1]
    masses = np.zeros((len(targets), len(columns)), dtype=partition.masses.dtype)
    np.add.at(masses, (samples, targets[samples, sets]), partition.masses[samples, sets])
    return CredalPartition(masses, columns, validate=False)
