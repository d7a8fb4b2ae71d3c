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
from evlearn.partition import conversions
from evlearn.partition.relational import PairMasses, check_pairs, masses_of_block, masses_of_pairs
from evlearn.partition.summary import PartitionSummary, summarize
from evlearn.partition.verdict import OUTLIER_MASS, SURE_LEVEL, Verdict, doubts, judge, level_of_share
from evlearn.storage import fields, partitions
from evlearn.utils.chunks import row_blocks
from evlearn.utils.formatting import format_count
from evlearn.utils.typing import BoolArray, FloatArray, IntArray

_PAIRS_PER_BLOCK = 1 << 21
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
        do not write to them afterwards.
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

    masses: FloatArray
    focal_sets: FocalSets
    _index: Any
    _noun: Literal["cluster", "class"]
    _problems: tuple[str, ...]
    _is_subset: bool

    def __init__(
        self,
        masses: npt.ArrayLike,
        focal_sets: FocalSets,
        sample_names: npt.ArrayLike | None = None,
        validate: bool = True,
    ) -> None:
        to_array = belief.check_masses if validate else belief.validation.as_mass_array
        values = to_array(masses, focal_sets)
        if values.ndim != 2 or len(values) == 0:
            raise ValueError(
                f"masses must have a row for each sample and a column for each set, got shape {values.shape}."
            )
        values = values.view()
        values.flags.writeable = False
        index = _read_names(sample_names)
        if index is not None and len(index) != len(values):
            raise ValueError(f"sample_names has {len(index)} names but there are {len(values)} samples.")
        self.__dict__.update(masses=values, focal_sets=focal_sets, _index=index, _noun="cluster")
        self.__dict__.update(_problems=(), _is_subset=False)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(
            f"CredalPartition is immutable; {name} cannot be set. Create another partition instead."
        )

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"CredalPartition is immutable; {name} cannot be deleted.")

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies are created by __init__, so that they are immutable, too.
        state = {name: self.__dict__[name] for name in _INHERITED}
        return type(self), (self.masses, self.focal_sets, self._index, False), state

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
        scores = {"plausibility": self.to_possibilistic, "belief": self._beliefs, "pignistic": self._pignistic}
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
        plausibilities = belief.contour(self.masses, self.focal_sets)
        if normalize:
            supported = total_support(self.masses)
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
        assigned = np.empty(self.n_samples, dtype=np.intp)
        for block in row_blocks(self.n_samples):
            assigned[block] = self.masses[block].argmax(axis=1)
        return assigned

    def _largest_sets(self) -> BoolArray:
        return self.focal_sets.membership[self._largest_positions()]

    def _nondominated_clusters(self) -> BoolArray:
        plausibilities = self.to_possibilistic()
        # Plausibilities are sums that include the belief, so they are smaller only because of rounding.
        rounding = 8 * np.finfo(plausibilities.dtype).eps
        return np.asarray(plausibilities >= self._beliefs().max(axis=1, keepdims=True) - rounding)

    def _beliefs(self) -> FloatArray:
        positions = self.focal_sets.singleton_positions
        return np.where(positions >= 0, self.masses[:, positions], 0).astype(self.masses.dtype, copy=False)

    def _pignistic(self) -> FloatArray:
        return belief.pignistic(self.masses, self.focal_sets)

    def _relative_plausibilities(self) -> FloatArray:
        return belief.plausibility_transform(self.masses, self.focal_sets)

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
        return judge(self.masses, self.focal_sets, level)

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
        return doubts(self.masses, self.focal_sets)

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
        return np.asarray(self.masses[:, 0] >= OUTLIER_MASS)

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
            return masses_of_block(self.masses, self.masses, self.focal_sets)
        numbers = check_pairs(pairs, self.n_samples)
        blocks = [
            masses_of_pairs(self.masses[numbers[block, 0]], self.masses[numbers[block, 1]], self.focal_sets)
            for block in row_blocks(len(numbers))
        ]
        parts = zip(*blocks, strict=True) if blocks else [[np.empty(0, self.masses.dtype)]] * 4
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
            yield block, masses_of_block(self.masses[block], self.masses, self.focal_sets)

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
        if per_sample:
            return belief.nonspecificity(self.masses, self.focal_sets)
        if self.n_clusters == 1:
            return 0.0
        total = self.masses.sum(axis=0, dtype=np.float64)
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
        summary = summarize(self.verdict(level), self.focal_sets, self.nonspecificity(), self._noun)
        return replace(summary, fit_problems=self._problems, is_subset=self._is_subset)

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
        needs_omega = method == "yager" or belief.is_kind(self.masses, self.focal_sets, "contradictory").any()
        focal_sets = self.focal_sets.with_omega() if needs_omega else self.focal_sets
        masses = self.masses
        if focal_sets is not self.focal_sets:
            masses = belief.expand_masses(masses, self.focal_sets, focal_sets)
        return self._derive(belief.normalize(masses, focal_sets, method), focal_sets, self._index)

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
        return self._derive(self.masses, focal_sets, names)

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
        masses, focal_sets = belief.reorder_masses(self.masses, sets, self.n_clusters if names is None else names)
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
        for cluster, number in enumerate(numbers):
            coarser[:, number] |= self.focal_sets.membership[:, cluster]
        names = self.focal_sets.names
        return self._with_sets(self.masses, coarser, None if names is None else [names[k] for k in first])

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
        tables, masses = [membership[~has_cluster]], [self.masses[:, ~has_cluster]]
        for part in np.unique(labels):
            sets = membership[has_cluster]
            sets[:, places if part < 0 else places[part]] = True
            tables.append(sets)
            masses.append(np.where((labels == part)[:, None], self.masses[:, has_cluster], 0))
        names = self.focal_sets.names
        if names is not None:
            names = (*names, *(f"{names[cluster]} {part}" for part in range(1, n_added + 1)))
        return self._with_sets(np.hstack(masses), np.vstack(tables), names)

    def _with_sets(self, masses: FloatArray, table: BoolArray, names: Sequence[str] | None) -> CredalPartition:
        """Return a partition with the masses on the sets of a table; the masses of equal sets are added."""
        focal_sets = FocalSets.from_membership(table, names)
        totals = np.zeros((len(masses), len(focal_sets)), dtype=masses.dtype)
        for column, position in enumerate(focal_sets.positions(table)):
            totals[:, position] += masses[:, column]
        return self._derive(totals, focal_sets, self._index)

    def __getitem__(self, samples: Any) -> CredalPartition:
        if isinstance(samples, tuple):
            raise IndexError(
                f"a partition is indexed by samples only, got {len(samples)} indices; index its masses instead."
            )
        rows = np.atleast_2d(self.masses[samples])
        if len(rows) == 0:
            raise IndexError("the index selects no sample; a partition needs at least one.")
        other = self._derive(rows, self.focal_sets, self._names_of(samples))
        other.__dict__["_is_subset"] |= len(rows) != self.n_samples
        return other

    def _derive(self, masses: FloatArray, focal_sets: FocalSets, sample_names: Any) -> CredalPartition:
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
        partitions.write_file(Path(path), partitions.Stored(self.masses, self.focal_sets, names, self._problems))

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
            return with_problems(cls(stored.masses, stored.focal_sets, names), stored.problems)
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
        assignment = self.verdict(level).labels(self.focal_sets.names)
        columns: dict[str, Any] = {"cluster": cluster_names, "assignment": assignment, "doubt": self.doubt()}
        columns["outlier_score"] = self.masses[:, 0]
        return columns | {name: self.masses[:, k] for k, name in enumerate(self.focal_sets.labels)}

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
        return int(self.masses.shape[0])

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
        if self.focal_sets != other.focal_sets or not np.array_equal(self.masses, other.masses):
            return False
        return _is_same_index(self._index, other._index) or self.sample_names == other.sample_names

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"CredalPartition({format_count(self.n_samples, 'sample')}, "
            f"{format_count(self.n_clusters, self._noun)}, "
            f"{format_count(len(self.focal_sets), 'focal set')}, {self.masses.dtype})"
        )

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


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
    other = partition[:]
    other.__dict__["_noun"] = "class"
    return other


def with_problems(partition: CredalPartition, problems: tuple[str, ...]) -> CredalPartition:
    """Return the partition with other problems of the fit."""
    if partition.problems == problems:
        return partition
    other = partition._derive(partition.masses, partition.focal_sets, partition._index)
    other.__dict__["_problems"] = problems
    return other
