"""The one result object of evidential clustering."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from evlearn import belief
from evlearn.belief import FocalSets
from evlearn.belief.revision import support
from evlearn.partition import conversions, storage
from evlearn.partition.relational import PairMasses, check_pairs, masses_of_block, masses_of_pairs
from evlearn.partition.summary import PartitionSummary, counted, summarize
from evlearn.partition.verdict import OUTLIER_MASS, SURE_LEVEL, Verdict, doubts, judge, level_for
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import BoolArray, FloatArray, IntArray

_PAIRS_PER_BLOCK = 1 << 21
#: What `CredalPartition.decide` answers besides the number of a cluster.
REFUSED, UNKNOWN = -1, -2
#: What partitions made from another one, and copies, have in common with it.
_INHERITED = ("_noun", "_problems", "_is_subset")
_Result = TypeVar("_Result")


class CredalPartition:
    """What is known about the cluster of each sample: one mass function per sample.

    Mass on a single cluster says the sample is sure to belong there, mass on several that it is torn between them,
    and mass on the empty set that it belongs to none. Every question about a result is asked of this object, and
    every evlearn estimator publishes one as ``credal_partition_``.

    Parameters
    ----------
    masses : array-like of shape (n_samples, n_focal_sets)
        A row for each sample and a column for each focal set. float32, float64 and memory-mapped arrays are kept
        as they are, without a copy: do not write to them afterwards.
    focal_sets : FocalSets
        What the columns stand for, with the names of the clusters if they have any.
    sample_names : sequence of str or pandas.Index, default=None
        A name for each sample. The index of a frame is kept as it is, so that `to_frame` gives it back.
    validate : bool, default=True
        Whether to check the masses, in one pass. Switch it off only for masses that are right by construction.

    See Also
    --------
    evlearn.belief.arrange : Bring masses on any list of sets into the order that is needed here.

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
        read = belief.check_masses if validate else belief.validation.as_mass_array
        values = read(masses, focal_sets)
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

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"a CredalPartition does not change; {name} cannot be set. Make another one.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a CredalPartition does not change; {name} cannot be removed.")

    def __reduce__(self) -> tuple[Any, ...]:
        # Through __init__, so that a copy does not change either.
        state = {name: self.__dict__[name] for name in _INHERITED}
        return type(self), (self.masses, self.focal_sets, self._index, False), state

    @cached_property
    def sample_names(self) -> tuple[str, ...] | None:
        """The names of the samples, or None where they are only numbered."""
        # Made when they are asked for: of many rows, text takes longer than their masses.
        return None if self._index is None else tuple(str(name) for name in self._index)

    @property
    def problems(self) -> tuple[str, ...]:
        """Sentences on what is wrong with the fit that the masses come from; `summary` shows them first."""
        return self._problems

    @property
    def sample_index(self) -> Any:
        """The index of the frame that the samples came from, or else their names, or None."""
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
        """A credal partition in which every sample is sure.

        Parameters
        ----------
        labels : array-like of shape (n_samples,)
            The label of each sample, numbers or text. Clusters follow the sorted labels.
        noise_label : object, default=None
            The label of samples that belong to no cluster, such as -1 in DBSCAN; they become outliers.
        cluster_names : sequence of str, default=None
            Names of the clusters, in the order of the sorted labels; None means the labels.
        sample_names : sequence of str or pandas.Index, default=None
            A name for each sample.

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
        """A credal partition from fuzzy memberships or class probabilities.

        Parameters
        ----------
        memberships : array-like of shape (n_samples, n_clusters)
            Degrees of membership; what a row lacks to one becomes mass on the empty set.
        cluster_names : sequence of str, default=None
            Names of the clusters.
        sample_names : sequence of str or pandas.Index, default=None
            A name for each sample.

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
        """A credal partition with these plausibilities, on nested sets.

        Parameters
        ----------
        possibilities : array-like of shape (n_samples, n_clusters)
            Degrees of possibility between 0 and 1.
        cluster_names : sequence of str, default=None
            Names of the clusters.
        sample_names : sequence of str or pandas.Index, default=None
            A name for each sample.

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
        """A credal partition that knows for each sample which clusters are possible, and no more.

        Parameters
        ----------
        candidates : array-like of bool of shape (n_samples, n_clusters)
            Whether each cluster is possible for each sample; a row without any is an outlier.
        cluster_names : sequence of str, default=None
            Names of the clusters.
        sample_names : sequence of str or pandas.Index, default=None
            A name for each sample.

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
        """One cluster for each sample.

        Parameters
        ----------
        rule : {"plausibility", "belief", "pignistic"}, default="plausibility"
            Choose the cluster with the largest plausibility, degree of belief, or pignistic probability.
        outlier_label : int or None, default=None
            The label of samples that belong to no cluster, see `outliers`; -1 is what scikit-learn clusterers
            give to noise. None gives outliers their best cluster too.

        Returns
        -------
        ndarray of int of shape (n_samples,)
            Cluster numbers from 0; the lowest of equals.

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
        """Degrees of membership that sum to one.

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
        """The plausibility of each cluster for each sample.

        Parameters
        ----------
        normalize : bool, default=False
            Whether to divide by what is not on the empty set; where nothing is left, every cluster is possible.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            Plausibilities.
        """
        plausibilities = belief.contour(self.masses, self.focal_sets)
        if normalize:
            supported = support(self.masses)
            plausibilities /= np.where(supported > 0, supported, 1)[:, None]
            plausibilities[supported <= 0] = 1
        return plausibilities

    def to_rough(self, rule: Literal["max_mass", "interval_dominance"] = "max_mass") -> BoolArray:
        """The rough partition of the papers: a set of clusters for each sample. For verdicts see `verdict`.

        Parameters
        ----------
        rule : {"max_mass", "interval_dominance"}, default="max_mass"
            The set with the largest mass, which is empty for outliers; or every cluster that is at least as
            plausible as the best cluster is certain, which is never empty.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_clusters)
            Whether the cluster is a candidate.
        """
        return _choose(rule, {"max_mass": self._largest_sets, "interval_dominance": self._undominated})

    def lower_approximation(self, rule: Literal["max_mass", "interval_dominance"] = "max_mass") -> BoolArray:
        """Return the samples with a single candidate by the papers' rule, for each cluster.

        This is the lower approximation of the rough partition `to_rough`. The rule is not that of `verdict`: with
        "max_mass", a sample is in it if the set with the largest mass is a single cluster, however small that mass
        is, while `verdict` requires a belief of `level`. For the samples that are sure, use ``verdict().sure``.

        Parameters
        ----------
        rule : {"max_mass", "interval_dominance"}, default="max_mass"
            How candidates are chosen, see `to_rough`.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_clusters)
            Whether the sample is in the cluster's lower approximation.
        """
        candidates = self.to_rough(rule)
        return np.asarray(candidates & (candidates.sum(axis=1, keepdims=True) == 1))

    def upper_approximation(self, rule: Literal["max_mass", "interval_dominance"] = "max_mass") -> BoolArray:
        """Return the samples with each cluster among their candidates by the papers' rule, see `to_rough`.

        For the candidates by the rule of the library, use ``verdict().candidates``.

        Parameters
        ----------
        rule : {"max_mass", "interval_dominance"}, default="max_mass"
            How candidates are chosen, see `to_rough`.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_clusters)
            Whether the sample is in the cluster's upper approximation.
        """
        return self.to_rough(rule)

    def _assigned(self) -> IntArray:
        """For each sample, the position of the set with the largest mass."""
        assigned = np.empty(self.n_samples, dtype=np.intp)
        for block in row_blocks(self.n_samples):
            assigned[block] = self.masses[block].argmax(axis=1)
        return assigned

    def _largest_sets(self) -> BoolArray:
        return self.focal_sets.membership[self._assigned()]

    def _undominated(self) -> BoolArray:
        plausibilities = self.to_possibilistic()
        # A plausibility is a sum that begins with the belief, so it may fall below it by rounding only.
        rounding = 8 * np.finfo(plausibilities.dtype).eps
        return np.asarray(plausibilities >= self._beliefs().max(axis=1, keepdims=True) - rounding)

    def _beliefs(self) -> FloatArray:
        positions = self.focal_sets.singleton_positions
        return np.where(positions >= 0, self.masses[:, positions], 0).astype(self.masses.dtype, copy=False)

    def _pignistic(self) -> FloatArray:
        return belief.pignistic(self.masses, self.focal_sets)

    def _relative_plausibilities(self) -> FloatArray:
        return belief.plausibility_transform(self.masses, self.focal_sets)

    # One verdict on each sample

    def verdict(self, level: float = SURE_LEVEL) -> Verdict:
        """Which clusters each sample may belong to: sure of one, torn between some, or an outlier.

        This is the one rule of the library: `summary`, `to_frame`, `predict_set`, reports, pictures and the
        command line follow it.

        Parameters
        ----------
        level : float, default=0.6
            The belief that a sample's candidates must have together, above 0 and at most 1. Belief is the
            least that the masses support, so 0.6 in one cluster is more than a probability of 0.6. `level_leaving`
            finds the level that leaves as many samples to a person as you have time for.

        Returns
        -------
        Verdict
            The candidates of each sample, and whether it is `sure`, `torn` or an `outlier`.

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
        """Return one minus the belief in the most plausible cluster, for each sample.

        A sample is torn if its doubt is above ``1 - level``, or if two clusters are equally plausible. Mass on the
        empty set does not count, so that the doubt of an outlier may be 0, and sorting by doubt can put outliers
        last. For the samples that somebody should look at, use `evlearn.active.review`, which orders them by the
        risk of an error, or look at `outliers` as well.

        Returns
        -------
        ndarray of shape (n_samples,)
            From 0 (all belief in one cluster) to 1 (none in it, or nothing is known).
        """
        return doubts(self.masses, self.focal_sets)

    def level_leaving(self, share: float) -> float:
        """The level at which about this share of the samples is torn, and left to a person.

        Parameters
        ----------
        share : float
            For example 0.05, for one sample in twenty. Outliers do not count.

        Returns
        -------
        float
            For `verdict`, `summary` and the like. Samples in equal doubt are torn together or not at all, so that
            there may be fewer. There are more only if more have no belief in any single cluster, or two clusters
            that are equally plausible.

        Examples
        --------
        >>> from evlearn import CredalPartition
        >>> partition = CredalPartition.from_fuzzy(
        ...     [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.4, 0.6]]
        ... )
        >>> level = partition.level_leaving(0.25)
        >>> partition.verdict(level).torn
        array([False, False, False,  True])
        """
        return level_for(self.doubt()[~self.outliers()], share)

    def outliers(self) -> BoolArray:
        """The samples that have at least half of their mass on the empty set: they belong to no cluster.

        Returns
        -------
        ndarray of bool of shape (n_samples,)
            Whether the sample is an outlier.
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
        """The decision with the smallest expected loss for each sample, where a wrong cluster costs 1.

        Parameters
        ----------
        rejection_cost : float, default=None
            The loss of refusing to decide; None does not allow it.
        unknown_cost : float, default=None
            The loss of saying "none of these" of a sample that belongs to one; None does not allow it.
        criterion : {"pessimistic", "optimistic", "hurwicz", "pignistic", "plausibility"}, default="pignistic"
            How mass on several clusters is weighed, see `evlearn.belief.expected_loss`.
        rho : float, default=0.5
            The optimism of "hurwicz", between 0 and 1.

        Returns
        -------
        ndarray of int of shape (n_samples,)
            Cluster numbers; -1 where the decision is refused, and -2 for none of the clusters.

        Examples
        --------
        >>> from evlearn import CredalPartition
        >>> partition = CredalPartition.from_fuzzy([[0.95, 0.05], [0.6, 0.4]])
        >>> partition.decide(rejection_cost=0.2)
        array([ 0, -1])
        """
        losses = belief.loss_matrix(self.n_clusters, rejection_cost=rejection_cost, unknown_cost=unknown_cost)
        acts = [REFUSED] * (rejection_cost is not None) + [UNKNOWN] * (unknown_cost is not None)
        chosen = belief.decide(self.masses, self.focal_sets, losses, criterion=criterion, rho=rho)
        return np.concatenate([np.arange(self.n_clusters), acts]).astype(np.intp)[chosen]

    # Pairs of samples

    def relational(self, pairs: npt.ArrayLike | None = None) -> PairMasses:
        """What is known about pairs of samples: same cluster, different clusters, unknown.

        Parameters
        ----------
        pairs : array-like of int of shape (n_pairs, 2), default=None
            The pairs; None means all, as square matrices (see `relational_blocks` for many samples).

        Returns
        -------
        PairMasses
            ``empty``, ``same``, ``different`` and ``unknown``: arrays of shape (n_pairs,) for given pairs, and
            (n_samples, n_samples) otherwise; then the diagonal compares a sample with an independent twin.
        """
        if pairs is None:
            return masses_of_block(self.masses, self.masses, self.focal_sets)
        chosen = check_pairs(pairs, self.n_samples)
        blocks = [
            masses_of_pairs(self.masses[chosen[block, 0]], self.masses[chosen[block, 1]], self.focal_sets)
            for block in row_blocks(len(chosen))
        ]
        parts = zip(*blocks, strict=True) if blocks else [[np.empty(0, self.masses.dtype)]] * 4
        return PairMasses(*(np.concatenate(part) for part in parts))

    def relational_blocks(self, block_rows: int | None = None) -> Iterator[tuple[slice, PairMasses]]:
        """All pairs, some rows of the square matrices at a time.

        Parameters
        ----------
        block_rows : int, default=None
            How many rows at a time; None keeps a matrix of a block near 16 MB.

        Yields
        ------
        rows : slice
            The samples of the rows.
        pairs : PairMasses
            Arrays of shape (n_rows, n_samples).
        """
        rows = max(1, _PAIRS_PER_BLOCK // self.n_samples) if block_rows is None else block_rows
        for block in row_blocks(self.n_samples, rows):
            yield block, masses_of_block(self.masses[block], self.masses, self.focal_sets)

    # How vague it is, in numbers and words

    def nonspecificity(self) -> float:
        """The average nonspecificity of the samples, divided by its largest possible value.

        Returns
        -------
        float
            From 0 (all mass on single clusters) to 1 (nothing is known).
        """
        if self.n_clusters == 1:
            return 0.0
        total = self.masses.sum(axis=0, dtype=np.float64)
        largest = self.n_samples * np.log2(self.n_clusters)
        return float(belief.nonspecificity(total, self.focal_sets) / largest)

    def nonspecificities(self) -> FloatArray:
        """The nonspecificity of each sample, in bits.

        Returns
        -------
        ndarray of shape (n_samples,)
            From 0 to log2 of the number of clusters.
        """
        return belief.nonspecificity(self.masses, self.focal_sets)

    def summary(self, level: float = SURE_LEVEL) -> PartitionSummary:
        """Count the samples that are sure, torn between clusters, or outliers.

        The first lines of the text are warnings, if the fit reported problems or one cluster contains nearly all
        samples.

        Parameters
        ----------
        level : float, default=0.6
            A sample with at least this belief in one cluster is sure, see `verdict`.

        Returns
        -------
        PartitionSummary
            Counts that print as text.
        """
        summary = summarize(self.verdict(level), self.focal_sets, self.nonspecificity(), self._noun)
        return replace(summary, fit_problems=self._problems, is_subset=self._is_subset)

    # Other partitions made from this one

    def normalize(self, method: Literal["dempster", "yager"] = "dempster") -> CredalPartition:
        """The partition without mass on the empty set.

        Parameters
        ----------
        method : {"dempster", "yager"}, default="dempster"
            Share that mass out in proportion, or give it to the set of all clusters, which is added to the focal
            sets if need be. A sample with all its mass on the empty set may then belong to any cluster.

        Returns
        -------
        CredalPartition
            The normalised partition.
        """
        needed = method == "yager" or belief.is_contradictory(self.masses).any()
        focal_sets = self.focal_sets.with_omega() if needed else self.focal_sets
        masses = self.masses
        if focal_sets is not self.focal_sets:
            masses = belief.expand(masses, self.focal_sets, focal_sets)
        return self._like(belief.normalize(masses, focal_sets, method), focal_sets, self._index)

    def rename(
        self, *, cluster_names: Sequence[str] | None = None, sample_names: npt.ArrayLike | None = None
    ) -> CredalPartition:
        """The same partition with other names.

        Parameters
        ----------
        cluster_names : sequence of str, default=None
            A name for each cluster; None keeps what there is.
        sample_names : sequence of str or pandas.Index, default=None
            A name for each sample; None keeps what there is.

        Returns
        -------
        CredalPartition
            The renamed partition; the masses are shared.
        """
        focal_sets = self.focal_sets if cluster_names is None else self.focal_sets.with_names(cluster_names)
        names = self._index if sample_names is None else sample_names
        return self._like(self.masses, focal_sets, names)

    def permute_clusters(self, order: npt.ArrayLike) -> CredalPartition:
        """The same partition with its clusters numbered in another order.

        Parameters
        ----------
        order : array-like of int of shape (n_clusters,)
            ``order[k]`` is the present number of the cluster that becomes number k.

        Returns
        -------
        CredalPartition
            The renumbered partition.
        """
        numbers = np.asarray(order)
        if not np.array_equal(np.sort(numbers), np.arange(self.n_clusters)):
            raise ValueError(f"order must hold each number from 0 to {self.n_clusters - 1} once, got {numbers}.")
        names = None if self.focal_sets.names is None else [self.focal_sets.names[number] for number in numbers]
        sets = self.focal_sets.membership[:, numbers]
        masses, focal_sets = belief.arrange(self.masses, sets, self.n_clusters if names is None else names)
        return self._like(masses, focal_sets, self._index)

    def __getitem__(self, objects: Any) -> CredalPartition:
        if isinstance(objects, tuple):
            raise IndexError(f"a partition has one index, for its samples, got {len(objects)}: use its masses.")
        rows = np.atleast_2d(self.masses[objects])
        if len(rows) == 0:
            raise IndexError("no sample is chosen; a partition has at least one.")
        other = self._like(rows, self.focal_sets, self._names_of(objects))
        other.__dict__["_is_subset"] |= len(rows) != self.n_samples
        return other

    def _like(self, masses: FloatArray, focal_sets: FocalSets, sample_names: Any) -> CredalPartition:
        """Return another partition, of clusters or classes as this one, with the same problems of the fit."""
        other = CredalPartition(masses, focal_sets, sample_names, validate=False)
        other.__dict__.update({name: self.__dict__[name] for name in _INHERITED})
        return other

    def _names_of(self, objects: Any) -> Any:
        if self._index is None or isinstance(objects, slice):
            return None if self._index is None else self._index[objects]
        chosen = np.atleast_1d(np.arange(self.n_samples)[objects])
        return self._index.take(chosen) if _is_index(self._index) else [self._index[k] for k in chosen]

    # Files and frames

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the partition to a file, without pickle.

        Parameters
        ----------
        path : str or path
            Ends in ``.npz`` (compact, can be read as a memory map) or ``.json`` (readable by anything).
        """
        names = None if self.sample_names is None else list(self.sample_names)
        storage.write(Path(path), storage.Stored(self.masses, self.focal_sets, names, self._problems))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, mmap: bool = False) -> CredalPartition:
        """Read a partition that `save` wrote. Files from strangers are safe to open: nothing in them is run.

        Parameters
        ----------
        path : str or path
            The file, ``.npz`` or ``.json``.
        mmap : bool, default=False
            Whether to leave the masses on disk, as a read-only memory map (``.npz`` only).

        Returns
        -------
        CredalPartition
            The partition, checked.
        """
        stored = storage.read(Path(path), mmap)
        names = None if stored.sample_names is None else tuple(stored.sample_names)
        try:
            return with_problems(cls(stored.masses, stored.focal_sets, names), stored.problems)
        except ValueError as error:
            raise ValueError(f"{Path(path).name} does not hold a credal partition: {error}") from error

    def to_columns(self, level: float = SURE_LEVEL) -> dict[str, Any]:
        """The partition as named columns, for tables of any kind.

        Parameters
        ----------
        level : float, default=0.6
            A sample with at least this belief in one cluster is sure, see `verdict`.

        Returns
        -------
        dict from str to ndarray
            ``cluster`` is the most plausible cluster, ``assignment`` the clusters that the sample may belong to
            (``outlier`` if there are none), ``doubt`` the doubt between clusters, see `doubt`, and
            ``outlier_score`` the mass on the empty set: from 0.5 on, the sample is an outlier. The masses of all
            focal sets follow.
        """
        clusters = self.to_hard()
        named = np.array(self.focal_sets.names, dtype=object)[clusters] if self.focal_sets.names else clusters
        assignment = self.verdict(level).labels(self.focal_sets.names)
        columns: dict[str, Any] = {"cluster": named, "assignment": assignment, "doubt": self.doubt()}
        columns["outlier_score"] = self.masses[:, 0]
        return columns | {name: self.masses[:, k] for k, name in enumerate(self.focal_sets.labels)}

    def to_frame(self, library: Literal["pandas", "polars"] = "pandas", *, level: float = SURE_LEVEL) -> Any:
        """Return the partition as a data frame: cluster, assignment, doubt, outlier score, and all masses.

        Parameters
        ----------
        library : {"pandas", "polars"}, default="pandas"
            Which kind of frame; the library must be installed.
        level : float, default=0.6
            A sample with at least this belief in one cluster is sure, see `verdict`.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            A row for each sample, with the columns of `to_columns`. In pandas it has the index of the frame that
            the samples came from, whatever its kind, so that ``df["cluster"] = partition.to_frame()["cluster"]``
            puts every cluster where it belongs; or else the names of the samples as its index. In polars names
            are a first column ``sample``.
        """
        if library not in ("pandas", "polars"):
            raise ValueError(f"library must be 'pandas' or 'polars', got {library!r}.")
        try:
            frames = importlib.import_module(library)
        except ImportError:
            raise ImportError(
                f"to_frame({library!r}) needs {library}; install it with `pip install {library}`."
            ) from None
        columns, names = self.to_columns(level), self._index
        if library == "pandas":
            return frames.DataFrame(columns, index=list(names) if isinstance(names, tuple) else names)
        names = None if self.sample_names is None else list(self.sample_names)
        return frames.DataFrame(columns if names is None else {"sample": names} | columns)

    # Size and text

    @property
    def n_samples(self) -> int:
        """The number of samples."""
        return int(self.masses.shape[0])

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return self.focal_sets.frame_size

    @property
    def cluster_names(self) -> tuple[str, ...]:
        """The names of the clusters, or their numbers as text."""
        return self.focal_sets.frame

    def __len__(self) -> int:
        return self.n_samples

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CredalPartition):
            return NotImplemented
        if self.focal_sets != other.focal_sets or not np.array_equal(self.masses, other.masses):
            return False
        return _same_index(self._index, other._index) or self.sample_names == other.sample_names

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"CredalPartition({counted(self.n_samples, 'sample')}, {counted(self.n_clusters, self._noun)}, "
            f"{counted(len(self.focal_sets), 'focal set')}, {self.masses.dtype})"
        )

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


def _read_names(names: Any) -> Any:
    """The index of a frame as it is, anything else as text; None where samples are only numbered."""
    if names is None or _is_index(names):
        return names
    return tuple(str(name) for name in names)


def _is_index(names: Any) -> bool:
    # Known by what it can do, so that pandas is not needed.
    return hasattr(names, "get_indexer")


def _same_index(one: Any, other: Any) -> bool:
    """Whether two are the same at a glance; if not, their names may still be."""
    return one is other or (_is_index(one) and _is_index(other) and bool(one.equals(other)))


def _choose(rule: str, options: dict[str, Callable[[], _Result]]) -> _Result:
    if rule not in options:
        raise ValueError(f"rule must be one of {list(options)}, got {rule!r}.")
    return options[rule]()


def of_classes(partition: CredalPartition) -> CredalPartition:
    """The same, whose text speaks of classes, as classifiers do."""
    other = partition[:]
    other.__dict__["_noun"] = "class"
    return other


def with_problems(partition: CredalPartition, problems: tuple[str, ...]) -> CredalPartition:
    """Return the same partition with these sentences on the fit, instead of its own."""
    if partition.problems == problems:
        return partition
    other = partition[:]
    other.__dict__["_problems"] = problems
    return other
