"""Credal partition: the result of evidential clustering and classification."""

from __future__ import annotations

import importlib
import operator
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeVar, overload

import numpy as np
import numpy.typing as npt

from evlearn import belief
from evlearn.belief import FocalSets
from evlearn.belief.revision import total_support
from evlearn.belief.validation import check_sparse_masses
from evlearn.partition import conversions
from evlearn.partition.local_blocks import LocalBlock, largest_columns, local_block, local_blocks
from evlearn.partition.relational import PairMasses, check_pairs, masses_of_block, masses_of_pairs
from evlearn.partition.summary import PartitionSummary, VerdictCounts, count_verdicts, summarize
from evlearn.partition.verdict import OUTLIER_MASS, SURE_LEVEL, Verdict, doubts, judge, level_of_share, risks
from evlearn.storage import fields, partitions
from evlearn.utils.chunks import BLOCK_ROWS, row_blocks
from evlearn.utils.formatting import format_count
from evlearn.utils.sparse_rows import BLOCK_ENTRIES, MIN_COLUMNS, SparseRows, is_smaller_sparse
from evlearn.utils.typing import BoolArray, FloatArray, IntArray
from evlearn.utils.validation import check_real

_PAIRS_PER_BLOCK = 1 << 21
#: Number of pairs of samples per block if masses are sparse.
_SPARSE_PAIRS = 1 << 9
#: Results of `CredalPartition.decide` that are not cluster numbers.
REJECTED, UNKNOWN = -1, -2
#: Attributes that copies and derived partitions inherit.
_INHERITED = ("_noun", "_problems", "_is_subset")
_Result = TypeVar("_Result")


@fields.stored_as(masses=fields.array(2, low=0, high=fields.LARGEST_MASS), focal_sets=fields.instance(FocalSets))
class CredalPartition:
    """Credal partition: one mass function per sample, on sets of clusters.

    Mass on a single cluster is evidence for this cluster, mass on several clusters leaves the sample torn between
    them, and mass on the empty set is evidence that the sample is an outlier. Every evlearn estimator stores its
    result as ``credal_partition_``. The most useful methods are:

    =====================================================  ================================
    Task                                                   Method
    =====================================================  ================================
    Count sure samples, torn samples and outliers.         `summary`
    Get the candidate clusters of each sample.             `verdict`
    Rank samples by uncertainty.                           `doubt`
    Find samples that belong to no cluster.                `outliers`
    Find the level at which 5 % of the samples are torn.   `find_level`
    Get a frame with one row per sample.                   `to_frame`
    Get one label per sample.                              `to_hard`
    Get memberships that sum to 1.                         `to_fuzzy`
    Write to a file, and read it.                          `save`, `load`
    =====================================================  ================================

    Parameters
    ----------
    masses : array-like of shape (n_samples, n_focal_sets)
        One row per sample and one column per focal set. float32, float64 and memory-mapped arrays are not copied:
        do not write to them afterwards. Arrays with more than 256 columns, most of which are 0, are converted to
        lists of masses, which take less memory; all results are the same.
    focal_sets : FocalSets
        Sets of clusters that correspond to the columns, with the names of the clusters, if any.
    sample_names : sequence of str or pandas.Index, default=None
        Names of the samples. The index of a frame is not converted, and `to_frame` returns it.
    validate : bool, default=True
        Whether to check the masses, in one pass. Use False only if the masses are valid by construction.

    See Also
    --------
    evlearn.belief.reorder_masses : Reorder masses on any list of sets for this class.

    Examples
    --------
    >>> from evlearn import CredalPartition
    >>> from evlearn.belief import FocalSets
    >>> masses = [[0, 1, 0, 0], [0, 0.1, 0.9, 0], [0, 0.2, 0.2, 0.6], [0.9, 0, 0.1, 0]]
    >>> partition = CredalPartition(masses, FocalSets.full(["small", "large"]))
    >>> partition.summary()
    4 samples, 2 clusters
      sure             2   (50.0 %)   small: 1, large: 1
      torn             1   (25.0 %)   Ω (any cluster): 1
      outliers         1   (25.0 %)
      sure: a belief of 0.60 or more in one cluster
    >>> partition.to_hard()
    array([0, 1, 0, 1])
    """

    focal_sets: FocalSets
    _table: FloatArray | SparseRows
    _index: Any
    _noun: Literal["cluster", "class"]
    _problems: tuple[str, ...]
    _is_subset: bool

    def __init__(
        self,
        masses: npt.ArrayLike | SparseRows,
        focal_sets: FocalSets,
        sample_names: npt.ArrayLike | None = None,
        validate: bool = True,
    ) -> None:
        table = _read_masses(masses, focal_sets, validate)
        index = _read_names(sample_names)
        if index is not None and len(index) != len(table):
            raise ValueError(f"sample_names has {len(index)} names but there are {len(table)} samples.")
        self.__dict__.update(
            _table=table, focal_sets=focal_sets, _index=index, _noun="cluster", _problems=(), _is_subset=False
        )

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(
            f"CredalPartition is immutable; {name} cannot be set. Create another partition instead."
        )

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"CredalPartition is immutable; {name} cannot be deleted.")

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies are created by __init__, so that they are immutable, too.
        state = {name: self.__dict__[name] for name in _INHERITED}
        return type(self), (self._table, self.focal_sets, self._index, False), state

    @property
    def masses(self) -> FloatArray:
        """Masses, read-only, with a row for each sample and a column for each focal set.

        If they are stored as lists, each access creates an array of all masses.
        """
        if not isinstance(self._table, SparseRows):
            return self._table
        masses = self._table.toarray()
        masses.flags.writeable = False
        return masses

    @property
    def mass_table(self) -> FloatArray | SparseRows:
        """Masses as they are stored: an array, or lists that are indexed like an array."""
        return self._table

    @cached_property
    def sample_names(self) -> tuple[str, ...] | None:
        """Names of the samples, or None if the samples are only numbered."""
        # Computed lazily, because the conversion to text may take longer than the computation of the masses.
        return None if self._index is None else tuple(str(name) for name in self._index)

    @property
    def problems(self) -> tuple[str, ...]:
        """Sentences that describe problems of the fit; `summary` lists them first."""
        return self._problems

    @property
    def sample_index(self) -> Any:
        """Index of the frame of the samples, or names of the samples, or None."""
        return self._index

    # From other kinds of partition

    @classmethod
    def from_hard(
        cls,
        labels: npt.ArrayLike,
        *,
        noise_label: object = None,
        cluster_names: Sequence[str] | None = None,
        sample_names: npt.ArrayLike | None = None,
    ) -> CredalPartition:
        """Create a partition from labels, in which every sample is sure.

        Parameters
        ----------
        labels : array-like of shape (n_samples,)
            Label of each sample, a number or text. Clusters are in the order of the sorted labels.
        noise_label : object, default=None
            Label of samples that belong to no cluster, such as -1 in DBSCAN. They become outliers.
        cluster_names : sequence of str, default=None
            Names of the clusters, in the order of the sorted labels; None means the labels.
        sample_names : sequence of str or pandas.Index, default=None
            Names of the samples.

        Returns
        -------
        CredalPartition
            All mass on single clusters.
        """
        return cls._of(conversions.hard_masses(labels, noise_label, cluster_names), sample_names)

    @classmethod
    def from_fuzzy(
        cls,
        memberships: npt.ArrayLike,
        *,
        cluster_names: Sequence[str] | None = None,
        sample_names: npt.ArrayLike | None = None,
    ) -> CredalPartition:
        """Create a partition from fuzzy memberships or class probabilities.

        Parameters
        ----------
        memberships : array-like of shape (n_samples, n_clusters)
            Degrees of membership. The difference between 1 and the sum of a row is assigned to the empty set.
        cluster_names : sequence of str, default=None
            Names of the clusters.
        sample_names : sequence of str or pandas.Index, default=None
            Names of the samples.

        Returns
        -------
        CredalPartition
            Masses on single clusters and the empty set.
        """
        return cls._of(conversions.fuzzy_masses(memberships, cluster_names), sample_names)

    @classmethod
    def from_possibilistic(
        cls,
        possibilities: npt.ArrayLike,
        *,
        cluster_names: Sequence[str] | None = None,
        sample_names: npt.ArrayLike | None = None,
    ) -> CredalPartition:
        """Create a partition from possibility degrees, with mass on nested sets.

        Parameters
        ----------
        possibilities : array-like of shape (n_samples, n_clusters)
            Degrees of possibility between 0 and 1.
        cluster_names : sequence of str, default=None
            Names of the clusters.
        sample_names : sequence of str or pandas.Index, default=None
            Names of the samples.

        Returns
        -------
        CredalPartition
            Consonant masses on the sets that occur.
        """
        return cls._of(conversions.possibilistic_masses(possibilities, cluster_names), sample_names)

    @classmethod
    def from_rough(
        cls,
        candidates: npt.ArrayLike,
        *,
        cluster_names: Sequence[str] | None = None,
        sample_names: npt.ArrayLike | None = None,
    ) -> CredalPartition:
        """Create a partition from the set of possible clusters of each sample.

        Parameters
        ----------
        candidates : array-like of bool of shape (n_samples, n_clusters)
            True for the clusters that are possible for a sample. A row without True is an outlier.
        cluster_names : sequence of str, default=None
            Names of the clusters.
        sample_names : sequence of str or pandas.Index, default=None
            Names of the samples.

        Returns
        -------
        CredalPartition
            All mass of each sample on one set.
        """
        return cls._of(conversions.rough_masses(candidates, cluster_names), sample_names)

    @classmethod
    def _of(cls, parts: tuple[FloatArray, FocalSets], sample_names: Any) -> CredalPartition:
        masses, focal_sets = parts
        return cls(masses, focal_sets, sample_names, validate=False)

    # To other kinds of partition

    def to_hard(
        self,
        rule: Literal["plausibility", "belief", "pignistic"] = "plausibility",
        *,
        outlier_label: int | None = None,
    ) -> IntArray:
        """Return one cluster for each sample.

        Parameters
        ----------
        rule : {"plausibility", "belief", "pignistic"}, default="plausibility"
            Choose the cluster with the largest plausibility, degree of belief, or pignistic probability.
        outlier_label : int or None, default=None
            Label of samples that belong to no cluster, see `outliers`, for example -1 as in scikit-learn. None
            assigns outliers to their best cluster.

        Returns
        -------
        ndarray of int of shape (n_samples,)
            Cluster numbers from 0. The smallest number wins a tie.

        Examples
        --------
        >>> from evlearn import CredalPartition
        >>> from evlearn.belief import FocalSets
        >>> partition = CredalPartition([[0, 1, 0, 0], [0.9, 0, 0.1, 0]], FocalSets.full(2))
        >>> partition.to_hard(outlier_label=-1)
        array([ 0, -1])
        """
        if self._is_sparse:
            labels = self._clusters_by_block(lambda part: part.to_hard(rule))
        else:
            scores = {
                "plausibility": self.to_possibilistic,
                "belief": self._beliefs,
                "pignistic": self._pignistic,
            }
            labels = np.asarray(_choose(rule, scores).argmax(axis=1))
        if outlier_label is not None:
            labels[self.outliers()] = outlier_label
        return labels

    def to_fuzzy(self, rule: Literal["plausibility", "pignistic"] = "plausibility") -> FloatArray:
        """Return degrees of membership that sum to 1.

        Parameters
        ----------
        rule : {"plausibility", "pignistic"}, default="plausibility"
            Plausibilities divided by their sum, or pignistic probabilities.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            Memberships.
        """
        transforms = {"plausibility": self._relative_plausibilities, "pignistic": self._pignistic}
        return _choose(rule, transforms)

    def to_possibilistic(self, *, normalize: bool = False) -> FloatArray:
        """Return the plausibility of each cluster for each sample.

        Parameters
        ----------
        normalize : bool, default=False
            Whether to divide by 1 minus the mass of the empty set. If this is 0, all plausibilities are 1.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            Plausibilities.
        """
        if isinstance(self._table, SparseRows):
            plausibilities: FloatArray = self._columns_by_block(
                lambda part: part.to_possibilistic(), self._table.dtype
            )
        else:
            plausibilities = belief.contour(self._table, self.focal_sets)
        if normalize:
            supported = self.supports()
            plausibilities /= np.where(supported > 0, supported, 1)[:, None]
            plausibilities[supported <= 0] = 1
        return plausibilities

    def to_rough(
        self,
        rule: Literal["max_mass", "interval_dominance"] = "max_mass",
        *,
        kind: Literal["upper", "lower"] = "upper",
    ) -> BoolArray:
        """Convert to the rough partition of the papers: a set of clusters for each sample.

        The rule differs from that of `verdict`: with "max_mass", a sample is in a lower approximation if the set
        with the largest mass is a single cluster, even if this mass is small, while `verdict` requires a belief of
        `level`.

        Parameters
        ----------
        rule : {"max_mass", "interval_dominance"}, default="max_mass"
            Rule for the candidates of a sample: the set with the largest mass, which is empty for outliers; or all
            clusters with a plausibility of at least the largest belief in a cluster, which is never empty.
        kind : {"upper", "lower"}, default="upper"
            "upper": all candidates of each sample, the upper approximations of the clusters; "lower": only samples
            with a single candidate, the lower approximations.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_clusters)
            True if the sample is in the approximation of the cluster.
        """
        candidates = _choose(
            rule, {"max_mass": self._largest_sets, "interval_dominance": self._nondominated_clusters}
        )
        if kind not in ("upper", "lower"):
            raise ValueError(f'kind must be "upper" or "lower", got {kind!r}.')
        is_single = candidates.sum(axis=1, keepdims=True) == 1
        return candidates if kind == "upper" else np.asarray(candidates & is_single)

    def _largest_positions(self) -> IntArray:
        """Return the position of the set with the largest mass, for each sample."""
        if isinstance(self._table, SparseRows):
            return largest_columns(self._table)
        assigned = np.empty(self.n_samples, dtype=np.intp)
        for block in row_blocks(self.n_samples):
            assigned[block] = self._table[block].argmax(axis=1)
        return assigned

    def _largest_sets(self) -> BoolArray:
        return np.array(self.focal_sets.rows(self._largest_positions()))

    def _nondominated_clusters(self) -> BoolArray:
        plausibilities = self.to_possibilistic()
        # Plausibilities are sums that include the belief, so they are smaller only because of rounding.
        rounding = 8 * np.finfo(plausibilities.dtype).eps
        return np.asarray(plausibilities >= self._beliefs().max(axis=1, keepdims=True) - rounding)

    def _beliefs(self) -> FloatArray:
        if isinstance(self._table, SparseRows):
            beliefs: FloatArray = self._columns_by_block(lambda part: part._beliefs(), self._table.dtype)
            return beliefs
        positions = self.focal_sets.singleton_positions
        return np.where(positions >= 0, self._table[:, positions], 0).astype(self._table.dtype, copy=False)

    def _pignistic(self) -> FloatArray:
        if isinstance(self._table, SparseRows):
            return self._probabilities_by_block("pignistic")
        return belief.pignistic(self._table, self.focal_sets)

    def _relative_plausibilities(self) -> FloatArray:
        if isinstance(self._table, SparseRows):
            return self._probabilities_by_block("plausibility")
        return belief.plausibility_transform(self._table, self.focal_sets)

    def supports(self) -> FloatArray:
        """Return the mass of each sample outside the empty set.

        Returns
        -------
        ndarray of shape (n_samples,)
            Masses.
        """
        if not isinstance(self._table, SparseRows):
            return total_support(self._table)
        return self._table.sum_rows(np.minimum(np.arange(len(self.focal_sets)), 1.0)).astype(self._table.dtype)

    # Sparse masses

    @property
    def _is_sparse(self) -> bool:
        return isinstance(self._table, SparseRows)

    def _parts(self) -> Iterator[tuple[LocalBlock, CredalPartition]]:
        """Yield blocks of samples on few clusters, each with its partition."""
        assert isinstance(self._table, SparseRows)
        for block in local_blocks(self._table, self.focal_sets):
            yield block, _dense_partition(block.masses, block.focal_sets)

    def _values_by_block(self, function: Callable[[CredalPartition], Any], dtype: Any) -> Any:
        """Apply a function that returns a value for each sample."""
        values = np.empty(self.n_samples, dtype=dtype)
        for block, part in self._parts():
            values[block.rows] = function(part)
        return values

    def _clusters_by_block(self, function: Callable[[CredalPartition], IntArray]) -> IntArray:
        """Apply a function that returns a cluster for each sample, or a negative number."""
        clusters = np.empty(self.n_samples, dtype=np.intp)
        for block, part in self._parts():
            numbers = function(part)
            clusters[block.rows] = np.where(numbers < 0, numbers, block.clusters[np.maximum(numbers, 0)])
        return clusters

    def _columns_by_block(self, function: Callable[[CredalPartition], Any], dtype: Any) -> Any:
        """Apply a function that returns a value for each sample and cluster; 0 for clusters without mass."""
        columns = np.zeros((self.n_samples, self.n_clusters), dtype=dtype)
        for block, part in self._parts():
            columns[block.rows[:, None], block.clusters] = function(part)
        return columns

    def _probabilities_by_block(self, rule: Literal["plausibility", "pignistic"]) -> FloatArray:
        probabilities: FloatArray = self._columns_by_block(lambda part: part.to_fuzzy(rule), self._table.dtype)
        probabilities[self.supports() <= 0] = 1 / self.n_clusters
        return probabilities

    # Verdicts and decisions

    def verdict(self, level: float = SURE_LEVEL) -> Verdict:
        """Return the candidate clusters of each sample: it is sure, torn between clusters, or an outlier.

        The same rule is used by `summary`, `to_frame`, `predict_set`, reports, plots and the command line.

        Parameters
        ----------
        level : float, default=0.6
            Belief that the candidates of a sample must have together, above 0 and at most 1. Belief is a lower
            bound of probability, so a belief of 0.6 is stricter than a probability of 0.6. `find_level` returns
            the level for a given share of torn samples.

        Returns
        -------
        Verdict
            Candidates of each sample, with the masks `sure`, `torn` and `outlier`.

        Examples
        --------
        >>> from evlearn import CredalPartition
        >>> from evlearn.belief import FocalSets
        >>> masses = [[0, 0.9, 0.1, 0], [0, 0.5, 0.3, 0.2], [0.9, 0, 0.1, 0]]
        >>> partition = CredalPartition(masses, FocalSets.full(2))
        >>> partition.verdict().candidates
        array([[ True, False],
               [ True,  True],
               [False, False]])
        >>> partition.verdict(level=0.4).sure
        array([ True,  True, False])
        """
        if isinstance(self._table, SparseRows):
            check_real("level", level, 0, 1, open_low=True)
            return Verdict(self._columns_by_block(lambda part: part.verdict(level).candidates, bool), float(level))
        return judge(self._table, self.focal_sets, level)

    def doubt(self) -> FloatArray:
        """Return 1 minus the belief in the most plausible cluster, for each sample.

        A sample is torn if its doubt is above ``1 - level``, or if 2 clusters are equally plausible. Mass on the
        empty set is ignored: an outlier can have doubt 0, and be the last in the order of doubt. To select samples
        for review, use `evlearn.active.review_queue`, which orders samples by the risk of an error, or combine
        doubt with `outliers`.

        Returns
        -------
        ndarray of shape (n_samples,)
            From 0 (all belief in one cluster) to 1 (no belief in it, or no information).
        """
        if isinstance(self._table, SparseRows):
            return self._values_by_block(lambda part: part.doubt(), float)  # type: ignore[no-any-return]
        return doubts(self._table, self.focal_sets)

    def risks(self) -> FloatArray:
        """Return the pignistic probability that each sample is not in its most plausible cluster.

        Mass on the empty set counts as an error, so that outliers have a large risk, even if their doubt is 0.

        Returns
        -------
        ndarray of shape (n_samples,)
            Risks of errors, between 0 and 1.
        """
        if isinstance(self._table, SparseRows):
            return self._values_by_block(lambda part: part.risks(), float)  # type: ignore[no-any-return]
        return risks(self._table, self.focal_sets)

    def find_level(self, torn_share: float) -> float:
        """Find the level at which about the given share of the samples is torn, for review by a person.

        Parameters
        ----------
        torn_share : float
            Share of torn samples, for example 0.05. Outliers are not counted.

        Returns
        -------
        float
            Level for `verdict`, `summary` and other methods. The share may be smaller, because samples with equal
            doubt are either all torn or all sure. It may be larger if more samples have no belief in any single
            cluster, or 2 equally plausible clusters.

        Examples
        --------
        >>> from evlearn import CredalPartition
        >>> partition = CredalPartition.from_fuzzy(
        ...     [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.4, 0.6]]
        ... )
        >>> level = partition.find_level(torn_share=0.25)
        >>> partition.verdict(level).torn
        array([False, False, False,  True])
        """
        return level_of_share(self.doubt()[~self.outliers()], torn_share)

    def outliers(self) -> BoolArray:
        """Return True for samples with at least half of their mass on the empty set: they belong to no cluster.

        Returns
        -------
        ndarray of bool of shape (n_samples,)
            True if the sample is an outlier.
        """
        return np.asarray(self._table[:, 0] >= OUTLIER_MASS)

    def decide(
        self,
        *,
        rejection_cost: float | None = None,
        unknown_cost: float | None = None,
        criterion: Literal["pessimistic", "optimistic", "hurwicz", "pignistic", "plausibility"] = "pignistic",
        rho: float = 0.5,
    ) -> IntArray:
        """Return the decision with the smallest expected loss for each sample; a wrong cluster costs 1.

        Parameters
        ----------
        rejection_cost : float, default=None
            Loss of rejecting a sample, without a decision. None means that rejection is not allowed.
        unknown_cost : float, default=None
            Loss of the decision "no cluster" for a sample that belongs to one. None means that it is not allowed.
        criterion : {"pessimistic", "optimistic", "hurwicz", "pignistic", "plausibility"}, default="pignistic"
            Weighting of mass on several clusters, see `evlearn.belief.expected_loss`.
        rho : float, default=0.5
            Optimism index of "hurwicz", between 0 and 1.

        Returns
        -------
        ndarray of int of shape (n_samples,)
            Cluster numbers; -1 for rejected samples, and -2 for no cluster.

        Examples
        --------
        >>> from evlearn import CredalPartition
        >>> partition = CredalPartition.from_fuzzy([[0.95, 0.05], [0.6, 0.4]])
        >>> partition.decide(rejection_cost=0.2)
        array([ 0, -1])
        """
        if self._is_sparse:
            costs: dict[str, Any] = {"rejection_cost": rejection_cost, "unknown_cost": unknown_cost}
            return self._clusters_by_block(lambda part: part.decide(**costs, criterion=criterion, rho=rho))
        losses = belief.loss_matrix(self.n_clusters, rejection_cost=rejection_cost, unknown_cost=unknown_cost)
        acts = [REJECTED] * (rejection_cost is not None) + [UNKNOWN] * (unknown_cost is not None)
        positions = belief.decide(self.masses, self.focal_sets, losses, criterion=criterion, rho=rho)
        return np.concatenate([np.arange(self.n_clusters), acts]).astype(np.intp)[positions]

    # Pairs of samples

    def relational(self, pairs: npt.ArrayLike | None = None) -> PairMasses:
        """Return the mass functions of pairs of samples: same cluster, different clusters, or unknown.

        Parameters
        ----------
        pairs : array-like of int of shape (n_pairs, 2), default=None
            Pairs of samples. None means all pairs, as square matrices (see `relational_blocks` for many samples).

        Returns
        -------
        PairMasses
            ``empty``, ``same``, ``different`` and ``unknown``: arrays of shape (n_pairs,) for given pairs, and
            (n_samples, n_samples) otherwise. The diagonal compares each sample with an independent copy.
        """
        if pairs is None:
            return self._pairs_of_rows(np.arange(self.n_samples))
        numbers = check_pairs(pairs, self.n_samples)
        slices = row_blocks(len(numbers), _SPARSE_PAIRS if self._is_sparse else BLOCK_ROWS)
        blocks = [self._masses_of_pairs(numbers[block]) for block in slices]
        parts = zip(*blocks, strict=True) if blocks else [[np.empty(0, self._table.dtype)]] * 4
        return PairMasses(*(np.concatenate(part) for part in parts))

    def relational_blocks(self, block_rows: int | None = None) -> Iterator[tuple[slice, PairMasses]]:
        """Yield the mass functions of all pairs, in blocks of rows of the square matrices.

        Parameters
        ----------
        block_rows : int, default=None
            Number of rows per block. None means blocks of about 16 MB per matrix.

        Yields
        ------
        rows : slice
            Samples of the rows.
        pairs : PairMasses
            Arrays of shape (n_rows, n_samples).
        """
        rows = max(1, _PAIRS_PER_BLOCK // self.n_samples) if block_rows is None else block_rows
        for block in row_blocks(self.n_samples, rows):
            yield block, self._pairs_of_rows(np.arange(self.n_samples)[block])

    def _masses_of_pairs(self, pairs: IntArray) -> PairMasses:
        table, focal_sets = self._table, self.focal_sets
        if isinstance(table, SparseRows):
            rows, places = np.unique(pairs, return_inverse=True)
            block, pairs = local_block(table, focal_sets, rows), places.reshape(pairs.shape)
            table, focal_sets = block.masses, block.focal_sets
        return masses_of_pairs(table[pairs[:, 0]], table[pairs[:, 1]], focal_sets)

    def _pairs_of_rows(self, rows: IntArray) -> PairMasses:
        """Return the masses of the pairs of some samples with all samples."""
        table, samples = self._table, np.arange(self.n_samples)
        if not isinstance(table, SparseRows):
            return masses_of_block(table[rows[0] : rows[-1] + 1], table, self.focal_sets)
        result = PairMasses(*(np.empty((len(rows), len(samples)), dtype=table.dtype) for _ in range(4)))
        for first in row_blocks(len(rows), _SPARSE_PAIRS):
            for second in row_blocks(len(samples), _SPARSE_PAIRS):
                block = local_block(table, self.focal_sets, np.r_[rows[first], samples[second]])
                n_first = first.stop - first.start
                tile = masses_of_block(block.masses[:n_first], block.masses[n_first:], block.focal_sets)
                for name in ("empty", "same_cluster", "different", "unknown"):
                    getattr(result, name)[first, second] = getattr(tile, name)
        return result

    # Nonspecificity and summary

    @overload
    def nonspecificity(self, *, per_sample: Literal[False] = False) -> float: ...

    @overload
    def nonspecificity(self, *, per_sample: Literal[True]) -> FloatArray: ...

    def nonspecificity(self, *, per_sample: bool = False) -> float | FloatArray:
        """Compute the nonspecificity of the partition, or of each sample.

        Parameters
        ----------
        per_sample : bool, default=False
            If True, return the nonspecificity of each sample in bits, from 0 to log2 of the number of clusters.

        Returns
        -------
        float or ndarray of shape (n_samples,)
            Mean over the samples, divided by its largest possible value: from 0 (all mass on single clusters) to 1
            (all mass on the set of all clusters). With `per_sample`, an array.
        """
        table = self._table
        if per_sample and isinstance(table, SparseRows):
            sizes = np.where(self.focal_sets.sizes == 0, self.n_clusters, self.focal_sets.sizes)
            return table.sum_rows(np.log2(sizes)).astype(table.dtype)
        if per_sample:
            return belief.nonspecificity(self.masses, self.focal_sets)
        if self.n_clusters == 1:
            return 0.0
        total = table.sum_columns() if isinstance(table, SparseRows) else table.sum(axis=0, dtype=np.float64)
        largest = self.n_samples * np.log2(self.n_clusters)
        return float(belief.nonspecificity(total, self.focal_sets) / largest)

    def summary(self, level: float = SURE_LEVEL) -> PartitionSummary:
        """Count the samples that are sure, torn between clusters, or outliers.

        The text starts with warnings if the fit reported problems or one cluster contains nearly all samples.

        Parameters
        ----------
        level : float, default=0.6
            Belief in one cluster from which a sample is sure, see `verdict`.

        Returns
        -------
        PartitionSummary
            Counts that print as text.
        """
        counts = self._verdict_counts(level) if self._is_sparse else count_verdicts(self.verdict(level))
        summary = summarize(counts, self.focal_sets, self.nonspecificity(), self._noun, float(level))
        return replace(summary, fit_problems=self._problems, is_subset=self._is_subset)

    def _verdict_counts(self, level: float) -> VerdictCounts:
        """Count the verdicts of sparse masses without a table of all candidates."""
        check_real("level", level, 0, 1, open_low=True)
        total = VerdictCounts(np.zeros(self.n_clusters, dtype=np.intp), {}, 0)
        for block, part in self._parts():
            total = total.add(count_verdicts(part.verdict(level)), block.clusters)
        return total

    # Derived partitions

    def normalize(self, method: Literal["dempster", "yager"] = "dempster") -> CredalPartition:
        """Return a partition without mass on the empty set.

        Parameters
        ----------
        method : {"dempster", "yager"}, default="dempster"
            Distribute the mass of the empty set proportionally, or assign it to the set of all clusters, which is
            added to the focal sets if necessary. If all mass of a sample is on the empty set, both methods assign
            it to the set of all clusters.

        Returns
        -------
        CredalPartition
            Normalized partition.
        """
        table = self._table
        if isinstance(table, SparseRows):
            return self._normalize_sparse(table, method)
        needs_omega = method == "yager" or belief.is_kind(table, self.focal_sets, "contradictory").any()
        focal_sets = self.focal_sets.with_omega() if needs_omega else self.focal_sets
        masses = table
        if focal_sets is not self.focal_sets:
            masses = belief.expand_masses(masses, self.focal_sets, focal_sets)
        return self._derive(belief.normalize(masses, focal_sets, method), focal_sets, self._index)

    def _normalize_sparse(self, table: SparseRows, method: Literal["dempster", "yager"]) -> CredalPartition:
        if method not in ("dempster", "yager"):
            raise ValueError(f"method must be 'dempster' or 'yager', got {method!r}.")
        outside, supports = table[:, 0], self.supports()
        sums = np.column_stack([outside, supports])
        contradictory = belief.is_kind(sums, FocalSets.singletons(1), "contradictory")
        needs_omega = method == "yager" or contradictory.any()
        focal_sets = self.focal_sets.with_omega() if needs_omega else self.focal_sets
        divisors = np.ones_like(supports) if method == "yager" else np.where(contradictory, 1, supports)
        added = outside if method == "yager" else contradictory.astype(table.dtype)
        rows, selection, targets = table.row_numbers, table.columns > 0, np.flatnonzero(added)
        all_rows = np.r_[rows[selection], targets]
        columns = np.r_[table.columns[selection].astype(np.intp), np.full(len(targets), len(focal_sets) - 1)]
        values = np.r_[(table.values / divisors[rows])[selection], added[targets]]
        order = np.lexsort([columns, all_rows])
        shape = len(table), len(focal_sets)
        normalized = SparseRows.from_entries(all_rows[order], columns[order], values[order], shape)
        return self._derive(normalized, focal_sets, self._index)

    def rename(
        self, *, cluster_names: Sequence[str] | None = None, sample_names: npt.ArrayLike | None = None
    ) -> CredalPartition:
        """Return the partition with other names.

        Parameters
        ----------
        cluster_names : sequence of str, default=None
            Names of the clusters. None keeps the current names.
        sample_names : sequence of str or pandas.Index, default=None
            Names of the samples. None keeps the current names.

        Returns
        -------
        CredalPartition
            Renamed partition, which shares the masses.
        """
        focal_sets = self.focal_sets if cluster_names is None else self.focal_sets.with_names(cluster_names)
        names = self._index if sample_names is None else sample_names
        return self._derive(self._table, focal_sets, names)

    def permute_clusters(self, order: npt.ArrayLike) -> CredalPartition:
        """Return the partition with its clusters in another order.

        Parameters
        ----------
        order : array-like of int of shape (n_clusters,)
            ``order[k]`` is the current number of the cluster that becomes number k.

        Returns
        -------
        CredalPartition
            Renumbered partition.
        """
        numbers = np.asarray(order)
        if not np.array_equal(np.sort(numbers), np.arange(self.n_clusters)):
            raise ValueError(
                f"order must contain each number from 0 to {self.n_clusters - 1} once, got {numbers}."
            )
        names = None if self.focal_sets.names is None else [self.focal_sets.names[number] for number in numbers]
        sets = self.focal_sets.membership[:, numbers]
        if isinstance(self._table, SparseRows):
            return self._with_sets(self._table, sets, names)
        masses, focal_sets = belief.reorder_masses(self._table, sets, self.n_clusters if names is None else names)
        return self._derive(masses, focal_sets, self._index)

    def merge(self, groups: Iterable[Iterable[int]]) -> CredalPartition:
        """Return the partition with merged clusters.

        Parameters
        ----------
        groups : iterable of tuples of int
            Groups of clusters, such as ``[(0, 3)]``. A group has the place and name of its smallest number, and
            the following clusters move up, in the same order.

        Returns
        -------
        CredalPartition
            Coarser partition. Mass on several clusters of a group supports the merged cluster, so samples that
            were torn between them may become sure.

        Examples
        --------
        >>> from evlearn import CredalPartition
        >>> partition = CredalPartition.from_hard([0, 1, 2, 3])
        >>> partition.merge([(0, 3)]).to_hard()
        array([0, 1, 2, 0])
        """
        target = np.arange(self.n_clusters)
        merged: set[int] = set()
        for group in groups:
            members = {operator.index(cluster) for cluster in group}
            if not members or not members <= set(range(self.n_clusters)) - merged:
                raise ValueError(
                    f"groups must contain different clusters from 0 to {self.n_clusters - 1}, got "
                    f"{sorted(members)}; list each cluster once."
                )
            merged |= members
            target[list(members)] = min(members)
        first, numbers = np.unique(target, return_inverse=True)
        coarser = np.zeros((len(self.focal_sets), len(first)), dtype=bool)
        rows, elements = self.focal_sets.members_of(np.arange(len(self.focal_sets)))
        coarser[rows, numbers.ravel()[elements]] = True
        names = self.focal_sets.names
        return self._with_sets(self._table, coarser, None if names is None else [names[k] for k in first])

    def split(self, cluster: int, parts: npt.ArrayLike) -> CredalPartition:
        """Return the partition with a cluster that is split into parts.

        Parameters
        ----------
        cluster : int
            Number of the cluster.
        parts : array-like of int of shape (n_samples,)
            Part of each sample, from 0, for example predicted by a clusterer for the samples of the cluster; -1 if
            it is unknown. Part 0 keeps the number and the name of the cluster, and the other parts are the last
            clusters.

        Returns
        -------
        CredalPartition
            Finer partition. All mass on sets with the cluster is on sets with the part of the sample, or with all
            parts if it is unknown.

        Examples
        --------
        >>> from evlearn import CredalPartition
        >>> partition = CredalPartition.from_hard([0, 0, 1, 1])
        >>> partition.split(0, [0, 1, -1, -1]).to_hard()
        array([0, 2, 1, 1])
        """
        labels = np.asarray(parts)
        if not 0 <= operator.index(cluster) < self.n_clusters:
            raise ValueError(f"cluster must be from 0 to {self.n_clusters - 1}, got {cluster}.")
        if labels.shape != (self.n_samples,) or labels.dtype.kind not in "iu" or labels.min() < -1:
            raise ValueError(
                f"parts must be {self.n_samples} integers of at least -1, one for each sample, got shape "
                f"{labels.shape} and type {labels.dtype}."
            )
        n_added = max(int(labels.max()), 0)
        places = np.r_[cluster, self.n_clusters + np.arange(n_added)]
        membership = np.pad(self.focal_sets.membership, ((0, 0), (0, n_added)))
        has_cluster = membership[:, cluster].copy()
        membership[:, cluster] = False
        names = self.focal_sets.names
        if names is not None:
            names = (*names, *(f"{names[cluster]} {part}" for part in range(1, n_added + 1)))
        tables = [membership[~has_cluster]]
        for part in np.unique(labels):
            sets = membership[has_cluster]
            sets[:, places if part < 0 else places[part]] = True
            tables.append(sets)
        if isinstance(self._table, SparseRows):
            return self._with_sets(_split_columns(self._table, has_cluster, labels), np.vstack(tables), names)
        masses = [self._table[:, ~has_cluster]]
        masses += [
            np.where((labels == part)[:, None], self._table[:, has_cluster], 0) for part in np.unique(labels)
        ]
        return self._with_sets(np.hstack(masses), np.vstack(tables), names)

    def _with_sets(
        self, masses: FloatArray | SparseRows, table: BoolArray, names: Sequence[str] | None
    ) -> CredalPartition:
        """Return a partition with the masses on the sets of a table; the masses of equal sets are added."""
        focal_sets = FocalSets.from_membership(table, names)
        if isinstance(masses, SparseRows):
            totals_by_set = masses.move_columns(focal_sets.positions(table), len(focal_sets))
            return self._derive(totals_by_set, focal_sets, self._index)
        totals = np.zeros((len(masses), len(focal_sets)), dtype=masses.dtype)
        for column, position in enumerate(focal_sets.positions(table)):
            totals[:, position] += masses[:, column]
        return self._derive(totals, focal_sets, self._index)

    def __getitem__(self, samples: Any) -> CredalPartition:
        if isinstance(samples, tuple):
            raise IndexError(
                f"a partition is indexed by samples only, got {len(samples)} indices; index its masses instead."
            )
        if isinstance(self._table, SparseRows):
            rows: Any = self._table.take(
                [samples] if np.ndim(samples) == 0 and not isinstance(samples, slice) else samples
            )
        else:
            rows = np.atleast_2d(self._table[samples])
        if len(rows) == 0:
            raise IndexError("the index selects no sample; a partition needs at least one.")
        other = self._derive(rows, self.focal_sets, self._names_of(samples))
        other.__dict__["_is_subset"] |= len(rows) != self.n_samples
        return other

    def _derive(
        self, masses: FloatArray | SparseRows, focal_sets: FocalSets, sample_names: Any
    ) -> CredalPartition:
        """Return another partition with the inherited attributes of this one."""
        other = CredalPartition(masses, focal_sets, sample_names, validate=False)
        other.__dict__.update({name: self.__dict__[name] for name in _INHERITED})
        return other

    def _names_of(self, samples: Any) -> Any:
        if self._index is None or isinstance(samples, slice):
            return None if self._index is None else self._index[samples]
        numbers = np.atleast_1d(np.arange(self.n_samples)[samples])
        return self._index.take(numbers) if _is_index(self._index) else [self._index[k] for k in numbers]

    # Files and frames

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the partition to a file, without pickle.

        Parameters
        ----------
        path : str or path
            Path with suffix ``.npz`` (compact, can be memory-mapped) or ``.json`` (readable text).
        """
        names = None if self.sample_names is None else list(self.sample_names)
        partitions.write_file(Path(path), partitions.Stored(self._table, self.focal_sets, names, self._problems))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, mmap: bool = False) -> CredalPartition:
        """Read a partition written by `save`. Files from untrusted sources are safe: they cannot run code.

        Parameters
        ----------
        path : str or path
            Path of an ``.npz`` or ``.json`` file.
        mmap : bool, default=False
            Whether to memory-map the masses, read-only (``.npz`` only).

        Returns
        -------
        CredalPartition
            Validated partition.
        """
        stored = partitions.read_file(Path(path), mmap)
        names = None if stored.sample_names is None else tuple(stored.sample_names)
        try:
            masses: Any = stored.masses
            return with_problems(cls(masses, stored.focal_sets, names), stored.problems)
        except ValueError as error:
            raise ValueError(f"{Path(path).name} does not contain a valid credal partition: {error}") from error

    def to_columns(self, level: float = SURE_LEVEL) -> dict[str, Any]:
        """Return the partition as named columns, for any table library.

        Parameters
        ----------
        level : float, default=0.6
            Belief in one cluster from which a sample is sure, see `verdict`.

        Returns
        -------
        dict from str to ndarray
            ``cluster`` (the most plausible cluster), ``assignment`` (the candidate clusters, or ``outlier``),
            ``doubt`` (see `doubt`), ``outlier_score`` (the mass of the empty set; outliers have at least 0.5), and
            the masses of all focal sets.
        """
        clusters = self.to_hard()
        cluster_names = (
            np.array(self.focal_sets.names, dtype=object)[clusters] if self.focal_sets.names else clusters
        )
        columns: dict[str, Any] = {"cluster": cluster_names, "assignment": self._assignments(level)}
        columns |= {"doubt": self.doubt(), "outlier_score": self._table[:, 0]}
        masses = self.masses
        return columns | {name: masses[:, k] for k, name in enumerate(self.focal_sets.labels)}

    def second_clusters(self) -> IntArray:
        """Return the second most plausible cluster of each sample.

        Returns
        -------
        ndarray of int of shape (n_samples,)
            Cluster numbers.
        """
        if self._is_sparse:
            return self._clusters_by_block(lambda part: part.second_clusters())
        plausibilities = self.to_possibilistic()
        plausibilities[np.arange(len(self)), plausibilities.argmax(axis=1)] = -1
        return np.asarray(plausibilities.argmax(axis=1))

    def verdict_names(self, level: float = SURE_LEVEL) -> Any:
        """Return the verdict on each sample as a word, see `verdict`.

        Parameters
        ----------
        level : float, default=0.6
            Belief in one cluster from which a sample is sure.

        Returns
        -------
        ndarray of str of shape (n_samples,)
            "sure", "torn" or "outlier", as an array of dtype object.
        """
        if self._is_sparse:
            return self._values_by_block(lambda part: part.verdict_names(level), object)
        n_candidates = self.verdict(level).candidates.sum(axis=1)
        return np.array(["outlier", "sure", "torn"], dtype=object)[np.minimum(n_candidates, 2)]

    def _assignments(self, level: float) -> Any:
        """Return the candidates of each sample as text."""
        if not self._is_sparse:
            return self.verdict(level).labels(self.focal_sets.names)
        return self._values_by_block(lambda part: part._assignments(level), object)

    def to_frame(self, library: Literal["pandas", "polars"] = "pandas", *, level: float = SURE_LEVEL) -> Any:
        """Return the partition as a data frame: cluster, assignment, doubt, outlier score, and all masses.

        Parameters
        ----------
        library : {"pandas", "polars"}, default="pandas"
            Library of the frame; it must be installed.
        level : float, default=0.6
            Belief in one cluster from which a sample is sure, see `verdict`.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            One row per sample, with the columns of `to_columns`. A pandas frame has the index of the frame of the
            samples, so that ``df["cluster"] = partition.to_frame()["cluster"]`` is aligned; or else the sample
            names as its index. A polars frame has the sample names in the first column, ``sample``.
        """
        return frame_of(self.to_columns(level), self, library)

    # Size and text

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self._table)

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return self.focal_sets.frame_size

    @property
    def cluster_names(self) -> tuple[str, ...]:
        """Names of the clusters, or their numbers as text."""
        return self.focal_sets.frame

    def __len__(self) -> int:
        return self.n_samples

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CredalPartition):
            return NotImplemented
        if self.focal_sets != other.focal_sets or not _is_same_table(self._table, other._table):
            return False
        return _is_same_index(self._index, other._index) or self.sample_names == other.sample_names

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"CredalPartition({format_count(self.n_samples, 'sample')}, "
            f"{format_count(self.n_clusters, self._noun)}, "
            f"{format_count(len(self.focal_sets), 'focal set')}, {self._table.dtype})"
        )

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


def _dense_partition(masses: FloatArray, focal_sets: FocalSets) -> CredalPartition:
    """Return a partition with an array of masses, even if they are mostly 0."""
    partition = object.__new__(CredalPartition)
    partition.__dict__.update(_table=masses, focal_sets=focal_sets, _index=None, _noun="cluster")
    partition.__dict__.update(_problems=(), _is_subset=False)
    return partition


def _read_masses(masses: Any, focal_sets: FocalSets, validate: bool) -> FloatArray | SparseRows:
    """Return masses as an array or as lists, whichever is smaller, after a check."""
    if isinstance(masses, SparseRows):
        if len(masses) == 0 or masses.n_columns != len(focal_sets):
            raise ValueError(f"masses of shape {masses.shape} do not fit {len(focal_sets)} focal sets.")
        if validate:
            check_sparse_masses(masses, focal_sets)
        is_smaller = masses.nbytes < len(masses) * masses.n_columns * masses.dtype.itemsize
        return masses if masses.n_columns >= MIN_COLUMNS and is_smaller else _read_only(masses.toarray())
    to_array = belief.check_masses if validate else belief.validation.as_mass_array
    values = to_array(masses, focal_sets)
    if values.ndim != 2 or len(values) == 0:
        raise ValueError(
            f"masses must have a row for each sample and a column for each set, got shape {values.shape}."
        )
    return SparseRows.of(values) if is_smaller_sparse(values) else _read_only(values)


def _read_only(values: FloatArray) -> FloatArray:
    view = values.view()
    view.flags.writeable = False
    return view


def _is_same_table(table: Any, other: Any) -> bool:
    """Return True if masses are equal, also if only one of them is sparse."""
    if table is other:
        return True
    if table.shape != other.shape:
        return False
    if isinstance(table, SparseRows) and isinstance(other, SparseRows):
        return table.equals(other)
    blocks = row_blocks(len(table), max(1, BLOCK_ENTRIES // table.shape[1]))
    return all(np.array_equal(table[block], other[block]) for block in blocks)


def _split_columns(table: SparseRows, is_split: BoolArray, labels: IntArray) -> SparseRows:
    """Return the columns that are not split, and then a copy of the others for each of the sorted labels."""
    n_kept, n_split = int((~is_split).sum()), int(is_split.sum())
    parts, places = np.unique(labels, return_inverse=True)
    rows, columns = table.row_numbers, table.columns
    ranks = np.where(is_split, np.cumsum(is_split), np.cumsum(~is_split)) - 1
    targets = ranks[columns] + is_split[columns] * (n_kept + n_split * places.ravel()[rows])
    order = np.lexsort([targets, rows])
    shape = len(table), n_kept + n_split * len(parts)
    return SparseRows.from_entries(rows[order], targets[order], table.values[order], shape)


def _read_names(names: Any) -> Any:
    """Return the index of a frame unchanged, other names as text, and None unchanged."""
    if names is None or _is_index(names):
        return names
    return tuple(str(name) for name in names)


def _is_index(names: Any) -> bool:
    # Duck typing avoids the import of pandas.
    return hasattr(names, "get_indexer")


def _is_same_index(index: Any, other: Any) -> bool:
    """Return True if 2 indices are equal by a cheap test; if not, their names may still be equal."""
    return index is other or (_is_index(index) and _is_index(other) and bool(index.equals(other)))


def _choose(rule: str, options: dict[str, Callable[[], _Result]]) -> _Result:
    if rule not in options:
        raise ValueError(f"rule must be one of {list(options)}, got {rule!r}.")
    return options[rule]()


def frame_of(columns: dict[str, Any], partition: CredalPartition, library: str) -> Any:
    """Return columns for the samples of a partition as a data frame, with their names."""
    if library not in ("pandas", "polars"):
        raise ValueError(f"library must be 'pandas' or 'polars', got {library!r}.")
    try:
        frames = importlib.import_module(library)
    except ImportError:
        raise ImportError(
            f"to_frame({library!r}) needs {library}; install it with `pip install {library}`."
        ) from None
    index = partition.sample_index
    if library == "pandas":
        return frames.DataFrame(columns, index=list(index) if isinstance(index, tuple) else index)
    names = None if partition.sample_names is None else list(partition.sample_names)
    return frames.DataFrame(columns if names is None else {"sample": names} | columns)


def of_classes(partition: CredalPartition) -> CredalPartition:
    """Return the partition with the noun "class" in its text, for classifiers."""
    other = object.__new__(CredalPartition)
    other.__dict__.update(partition.__dict__, _noun="class")
    return other


def concatenation(partitions: Sequence[CredalPartition], positions: IntArray) -> CredalPartition:
    """Return samples of partitions one after the other, which have the same focal sets."""
    tables = [partition.mass_table for partition in partitions]
    if any(isinstance(table, SparseRows) for table in tables):
        lists = [table if isinstance(table, SparseRows) else SparseRows.of(table) for table in tables]
        selected: Any = SparseRows.concatenate(lists).take(positions)
    else:
        selected = np.concatenate([np.asarray(table) for table in tables])[positions]
    return CredalPartition(selected, partitions[0].focal_sets, validate=False)


def with_problems(partition: CredalPartition, problems: tuple[str, ...]) -> CredalPartition:
    """Return the partition with other problems of the fit."""
    if partition.problems == problems:
        return partition
    other = partition._derive(partition._table, partition.focal_sets, partition._index)
    other.__dict__["_problems"] = problems
    return other
