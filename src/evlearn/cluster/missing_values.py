r"""Missing values as doubt: masses of samples with missing values.

Completions :math:`x^{(1)},\dots,x^{(S)}` of a sample are drawn by `evlearn.mixture.missing_values`. With
:math:`m_s` the masses of completion s and :math:`p_s` their pignistic probabilities, the masses of the sample are

.. math:: m=(1-a)\,\frac1S\sum_sm_s+a\,m_\Omega,\qquad a=\frac1{S^2}\sum_{s,t}\tfrac12\|p_s-p_t\|_1 .

Belief in a cluster is linear in the masses and its maximum is convex, so a sample is at most as sure as its
completions are on average. A sample is an outlier only if all of its completions are: the mass of the empty set is
the smallest :math:`m_s(\emptyset)` instead of the mean, and the other masses are rescaled. Without missing values,
all completions equal the sample, and nothing changes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from evlearn import belief
from evlearn.belief import FocalSets
from evlearn.mixture.missing_values import Gaps
from evlearn.partition import CredalPartition
from evlearn.utils.chunks import row_blocks
from evlearn.utils.reading import Numbers
from evlearn.utils.typing import FloatArray

Assign = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class GapModel:
    """Row model for samples with missing values, based on a row model for complete samples.

    Attributes
    ----------
    model : RowModel
        Model for complete samples.
    gaps : Gaps
        Model of missing values.
    """

    model: Any
    gaps: Gaps

    @property
    def focal_sets(self) -> FocalSets:
        """Sets that may carry mass, which include the set of all clusters."""
        family: FocalSets = self.model.focal_sets
        return family.with_omega()

    def assign(self, rows: Any, weights: Any = None) -> FloatArray:
        """Return the masses of rows."""
        return masses_with_gaps(self.gaps, rows, self.model.assign, self.model.focal_sets)


def masses_with_gaps(gaps: Gaps, rows: FloatArray, assign: Assign, focal_sets: FocalSets) -> FloatArray:
    """Compute the masses of samples on the family with the set of all clusters."""
    family = focal_sets.with_omega()
    incomplete = np.isnan(rows).any(axis=1)
    out = np.zeros((len(rows), len(family)), dtype=rows.dtype)
    if not incomplete.all():
        out[~incomplete] = belief.expand_masses(assign(rows[~incomplete]), focal_sets, family)
    for block in row_blocks(int(incomplete.sum()), gaps.rows_at_a_time):
        positions = np.flatnonzero(incomplete)[block]
        out[positions] = _average_masses(gaps.completions(rows[positions]), assign, focal_sets)
        out[positions[np.isnan(rows[positions]).all(axis=1)]] = np.arange(len(family)) == len(family) - 1
    return out


def partition_with_gaps(
    numbers: Numbers, assign: Assign, focal_sets: FocalSets, get_gaps: Callable[[], Gaps]
) -> CredalPartition:
    """Return the partition of samples; `get_gaps` is called only if there are missing values."""
    if not numbers.has_gaps:
        return CredalPartition(assign(numbers.data), focal_sets, validate=False)
    masses = masses_with_gaps(get_gaps(), numbers.data, assign, focal_sets)
    return CredalPartition(masses, focal_sets.with_omega(), validate=False)


def mean_with_gaps(gaps: Gaps, rows: FloatArray, function: Assign) -> FloatArray:
    """Apply a function to samples; for those with missing values, average it over their completions."""
    incomplete = np.isnan(rows).any(axis=1)
    complete = function(rows[~incomplete])
    out = np.empty((len(rows), complete.shape[1]), dtype=complete.dtype)
    out[~incomplete] = complete
    for block in row_blocks(int(incomplete.sum()), gaps.rows_at_a_time):
        positions = np.flatnonzero(incomplete)[block]
        completions = gaps.completions(rows[positions])
        values = function(np.ascontiguousarray(completions.reshape(-1, rows.shape[1])))
        out[positions] = values.reshape(*completions.shape[:2], -1).mean(axis=0)
    return out


def _average_masses(completions: FloatArray, assign: Assign, focal_sets: FocalSets) -> FloatArray:
    """Compute the masses of samples from completions of shape (n_completions, n_rows, n_features)."""
    number, n_rows, n_features = completions.shape
    all_masses = assign(np.ascontiguousarray(completions.reshape(-1, n_features)))
    probabilities = CredalPartition(all_masses, focal_sets, validate=False).to_fuzzy("pignistic")
    ignorance = _disagreement(probabilities.reshape(number, n_rows, -1))
    means = _with_least_outlier_mass(all_masses.reshape(number, n_rows, -1), focal_sets)
    masses = belief.expand_masses(means, focal_sets, focal_sets.with_omega()) * (1 - ignorance)[:, None]
    masses[:, -1] += ignorance
    return np.asarray(masses)


def _with_least_outlier_mass(all_masses: FloatArray, focal_sets: FocalSets) -> FloatArray:
    """Return the mean masses of completions, with the smallest instead of the mean mass on the empty set."""
    means = np.asarray(all_masses.mean(axis=0))
    if focal_sets.sizes[0] > 0:
        return means
    nonempty = 1 - means[:, :1]
    smallest = np.where(nonempty > 0, all_masses[:, :, :1].min(axis=0), 1)
    scaled = means * ((1 - smallest) / np.where(nonempty > 0, nonempty, 1))
    scaled[:, :1] = smallest
    return np.asarray(scaled)


def _disagreement(probabilities: FloatArray) -> FloatArray:
    """Return mean distances of the probabilities of 2 completions; shape (n_completions, n_rows, n_clusters)."""
    number = len(probabilities)
    # In the sum of all differences, the factor of a value is the number of smaller minus that of larger values.
    ranks = 2 * np.arange(number) - number + 1
    return np.asarray(np.einsum("s,snk->n", ranks, np.sort(probabilities, axis=0)) / number**2)
