r"""Missing values as doubt: the masses that gaps leave a sample.

Some completions :math:`x^{(1)},\dots,x^{(S)}` of a sample are drawn (`evlearn.mixture.gaps`). With :math:`m_s` the
masses of the s-th and :math:`p_s` their pignistic probabilities, the sample gets

.. math:: m=(1-a)\,\frac1S\sum_sm_s+a\,m_\Omega,\qquad a=\frac1{S^2}\sum_{s,t}\tfrac12\|p_s-p_t\|_1 .

Belief in one cluster is linear in masses and its maximum is convex: a sample is at most as sure as its completions
are on average. Where nothing is missing all completions are the sample itself, and nothing changes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from evlearn import belief
from evlearn.belief import FocalSets
from evlearn.mixture.gaps import Gaps
from evlearn.partition import CredalPartition
from evlearn.utils.chunks import row_blocks
from evlearn.utils.reading import Numbers
from evlearn.utils.typing import FloatArray

Assign = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class GapModel:
    """A row model for samples with gaps, made of one for complete samples.

    Attributes
    ----------
    model : RowModel
        The model for complete samples.
    gaps : Gaps
        What is known about missing cells.
    """

    model: Any
    gaps: Gaps

    @property
    def focal_sets(self) -> FocalSets:
        """The sets that carry mass: the set of all clusters is always one of them."""
        family: FocalSets = self.model.focal_sets
        return family.with_omega()

    def assign(self, rows: Any, weights: Any = None) -> FloatArray:
        """The masses of rows."""
        return masses_with_gaps(self.gaps, rows, self.model.assign, self.model.focal_sets)


def masses_with_gaps(gaps: Gaps, rows: FloatArray, assign: Assign, focal_sets: FocalSets) -> FloatArray:
    """The masses of samples, on the family with the set of all clusters, from those of complete ones."""
    family = focal_sets.with_omega()
    torn = np.isnan(rows).any(axis=1)
    out = np.zeros((len(rows), len(family)), dtype=rows.dtype)
    if not torn.all():
        out[~torn] = belief.expand(assign(rows[~torn]), focal_sets, family)
    for block in row_blocks(int(torn.sum()), gaps.rows_at_a_time):
        some = np.flatnonzero(torn)[block]
        out[some] = _averaged(gaps.completions(rows[some]), assign, focal_sets)
        out[some[np.isnan(rows[some]).all(axis=1)]] = np.arange(len(family)) == len(family) - 1
    return out


def partition_with_gaps(
    numbers: Numbers, assign: Assign, focal_sets: FocalSets, known: Callable[[], Gaps]
) -> CredalPartition:
    """What is said of samples, complete or not; `known` gives what is known about gaps, if there are any."""
    if not numbers.has_gaps:
        return CredalPartition(assign(numbers.data), focal_sets, validate=False)
    masses = masses_with_gaps(known(), numbers.data, assign, focal_sets)
    return CredalPartition(masses, focal_sets.with_omega(), validate=False)


def mean_with_gaps(gaps: Gaps, rows: FloatArray, function: Assign) -> FloatArray:
    """What a function says of samples; of those with gaps, its mean over their completions."""
    torn = np.isnan(rows).any(axis=1)
    complete = function(rows[~torn])
    out = np.empty((len(rows), complete.shape[1]), dtype=complete.dtype)
    out[~torn] = complete
    for block in row_blocks(int(torn.sum()), gaps.rows_at_a_time):
        some = np.flatnonzero(torn)[block]
        completed = gaps.completions(rows[some])
        each = function(np.ascontiguousarray(completed.reshape(-1, rows.shape[1])))
        out[some] = each.reshape(*completed.shape[:2], -1).mean(axis=0)
    return out


def _averaged(completed: FloatArray, assign: Assign, focal_sets: FocalSets) -> FloatArray:
    """The masses of samples from those of their completions, (n_completions, n_rows, n_features)."""
    number, n_rows, n_features = completed.shape
    each = assign(np.ascontiguousarray(completed.reshape(-1, n_features)))
    chances = CredalPartition(each, focal_sets, validate=False).to_fuzzy("pignistic")
    ignorance = _disagreement(chances.reshape(number, n_rows, -1))
    means = each.reshape(number, n_rows, -1).mean(axis=0)
    masses = belief.expand(means, focal_sets, focal_sets.with_omega()) * (1 - ignorance)[:, None]
    masses[:, -1] += ignorance
    return np.asarray(masses)


def _disagreement(chances: FloatArray) -> FloatArray:
    """How far the probabilities of two completions are apart on average, (n_completions, n_rows, n_clusters)."""
    number = len(chances)
    # The sum of differences of all pairs: a number counts as often as others are below, less as others are above.
    ranks = 2 * np.arange(number) - number + 1
    return np.asarray(np.einsum("s,snk->n", ranks, np.sort(chances, axis=0)) / number**2)


__all__ = ["Assign", "GapModel", "masses_with_gaps", "mean_with_gaps", "partition_with_gaps"]
