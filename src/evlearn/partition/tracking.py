"""Cluster tracking: events between an old and a new model, and the numbers of the new clusters."""

import copy
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np

from evlearn.belief import FocalSets, reorder_masses
from evlearn.partition.alignment import check_sample_names
from evlearn.partition.credal_partition import CredalPartition
from evlearn.utils.formatting import join_first
from evlearn.utils.typing import BoolArray, ClustererLike, DataLike, FloatArray, IntArray

#: Minimum Dice coefficient of a cluster and its counterpart.
_KEPT_OVERLAP = 0.1
#: Minimum share of a cluster without counterpart in another cluster of which it is a part, and minimum share of
#: this part in the other cluster.
_CONTAINED, _MIN_PART = 0.5, 0.1
#: Ratio of the shares of rows in 2 data sets below which a cluster does not exist in one of them: in any case, and
#: if it has no counterpart.
_ABSENT_RATIO, _REDUCED_RATIO = 0.3, 0.75
#: Number of draws from the posterior distribution of the overlaps, and their seed.
_DRAWS, _SEED = 200, 0
#: Maximum number of events in a line of text.
_MAX_LISTED = 10
#: Kinds of events, in the order of the text.
_Kind: TypeAlias = Literal["kept", "split", "merged", "removed", "created"]
_KINDS: tuple[_Kind, ...] = ("kept", "split", "merged", "removed", "created")
_Result = TypeVar("_Result")
_Key: TypeAlias = tuple[_Kind, tuple[int, ...], tuple[int, ...]]


class ClusterEvent(NamedTuple):
    """Event of `ClusterTracking`.

    Attributes
    ----------
    kind : {"kept", "split", "merged", "removed", "created"}
        Kind of the event.
    old : tuple of int
        Clusters of the old model; empty for a created cluster.
    new : tuple of int
        Clusters of the new model, in its own numbers; empty for a removed cluster.
    confidence : float
        Probability that the event is the same for all samples of the population from which the rows were samples.
    """

    kind: _Kind
    old: tuple[int, ...]
    new: tuple[int, ...]
    confidence: float


@dataclass(frozen=True)
class ClusterTracking:
    """Result of `track_clusters`: kept, split, merged, removed and created clusters. Prints as text.

    Attributes
    ----------
    events : tuple of ClusterEvent
        Events that involve each old and each new cluster.
    numbers : ndarray of int of shape (n_new_clusters,)
        Number of each new cluster: that of its old cluster, or a number that no old cluster has. The largest part
        of a split or merged cluster determines its number. ``numbers[labels]`` renumbers labels of the new model.
    overlap : ndarray of shape (n_old_clusters + 1, n_new_clusters + 1)
        Number of rows in each pair of clusters, weighted by certainty. The last row and column are outliers.
    n_numbers : int
        Number of numbers that were ever used, including those of removed clusters.
    names : tuple of str or None
        Name of each number, if the clusters of a model have names.
    """

    events: tuple[ClusterEvent, ...]
    numbers: IntArray
    overlap: FloatArray
    n_numbers: int
    names: tuple[str, ...] | None

    def of_kind(self, kind: _Kind) -> tuple[ClusterEvent, ...]:
        """Return the events of a kind.

        Parameters
        ----------
        kind : {"kept", "split", "merged", "removed", "created"}
            Kind of events.

        Returns
        -------
        tuple of ClusterEvent
            Events of this kind.
        """
        if kind not in _KINDS:
            raise ValueError(f"kind must be one of {list(_KINDS)}, got {kind!r}.")
        return tuple(event for event in self.events if event.kind == kind)

    def renumber(self, result: _Result) -> _Result:
        """Return the new model, or a partition that it predicted, with the numbers of the old clusters.

        Parameters
        ----------
        result : CredalPartition or fitted estimator
            Partition; or a fitted `ECM`, `CCM`, `BPEC`, `SECM` or `CECM`, or a pipeline that ends with one.

        Returns
        -------
        CredalPartition or fitted estimator
            Renumbered copy. Its clusters keep the names of the old clusters. The numbers of removed clusters
            remain as clusters without samples and without mass, so that they are not used again.
        """
        renumbered: _Result = self._renumber(result)
        return renumbered

    def _renumber(self, result: Any) -> Any:
        if isinstance(result, CredalPartition):
            self._check_size(result.focal_sets)
            table = renumbered_table(result.focal_sets, self.numbers, self.n_numbers)
            masses, focal_sets = reorder_masses(result.masses, table, self._frame)
            return result._derive(masses, focal_sets, result.sample_index)
        if hasattr(result, "steps"):
            pipeline = copy.copy(result)
            name, clusterer = result.steps[-1]
            pipeline.steps = [*result.steps[:-1], (name, self._renumber(clusterer))]
            return pipeline
        if not hasattr(result, "_renumber"):
            raise TypeError(
                "result must be a CredalPartition, or a fitted ECM, CCM, BPEC, SECM or CECM, got "
                f"{type(result).__name__}; renumber its partitions, or its labels with `numbers[labels]`."
            )
        self._check_size(result.focal_sets_)
        return result._renumber(self.numbers, self._frame)

    @property
    def _frame(self) -> int | tuple[str, ...]:
        return self.n_numbers if self.names is None else self.names

    def _check_size(self, focal_sets: FocalSets) -> None:
        if focal_sets.frame_size != len(self.numbers):
            raise ValueError(
                f"result has {focal_sets.frame_size} clusters, but the new model has {len(self.numbers)}; pass "
                "the new model, or a partition that it predicted."
            )

    def to_frame(self) -> Any:
        """Return the events as a pandas data frame.

        Returns
        -------
        pandas.DataFrame
            One row per event: ``event``, ``old`` and ``new`` (clusters in the numbers of each model), ``number``
            (the numbers of the new clusters) and ``confidence``.
        """
        import pandas as pd

        columns = {
            "event": [event.kind for event in self.events],
            "old": [event.old for event in self.events],
            "new": [event.new for event in self.events],
            "number": [self._numbers_of(event) for event in self.events],
            "confidence": [event.confidence for event in self.events],
        }
        return pd.DataFrame(columns)

    def _numbers_of(self, event: ClusterEvent) -> tuple[int, ...]:
        return tuple(int(self.numbers[cluster]) for cluster in event.new)

    def _name(self, number: int) -> str:
        return str(number) if self.names is None else self.names[number]

    def _describe(self, event: ClusterEvent) -> str:
        numbers = event.old if event.kind == "removed" else self._numbers_of(event)
        text = ", ".join(self._name(number) for number in numbers)
        if event.kind == "split":
            text = f"{self._name(event.old[0])} into {text}"
        if event.kind == "merged":
            text = f"{', '.join(self._name(number) for number in event.old)} into {text}"
        return f"{text} ({event.confidence:.2f})"

    def __str__(self) -> str:
        n_old, n_new = (length - 1 for length in self.overlap.shape)
        lines = [f"{n_old} old and {n_new} new clusters, in the old numbers (confidence)"]
        for kind in _KINDS:
            texts = [self._describe(event) for event in self.of_kind(kind)]
            listing = join_first(texts, _MAX_LISTED) if texts else "none"
            lines.append(f"  {kind:<8} {len(texts):>4}   {listing}")
        return "\n".join(lines)

    __repr__ = __str__


def track_clusters(
    old: CredalPartition | ClustererLike,
    new: CredalPartition | ClustererLike,
    X: DataLike | None = None,
    *,
    X_old: DataLike | None = None,
) -> ClusterTracking:
    """Compare the clusters of a new model with those of an old model: kept, split, merged, removed or created.

    Parameters
    ----------
    old : CredalPartition or fitted estimator
        Model of an earlier date, or its partition of X. Its numbers are kept, so pass a renumbered model or
        partition if it was renumbered.
    new : CredalPartition or fitted estimator
        New model, or its partition of X. The numbers of clusters may differ.
    X : array-like of shape (n_samples, n_features), default=None
        New samples, usually those of the fit of `new`. None is possible for 2 partitions of the same samples, or
        2 models of the same training samples.
    X_old : array-like of shape (n_old_samples, n_features), default=None
        Old samples, usually those of the fit of `old`, if both are estimators. With them, a new group of samples
        that the old model assigned to one of its clusters is reported as a created cluster and not as a split.

    Returns
    -------
    ClusterTracking
        Events with their confidences, and the numbers of new clusters. Prints as text.

    See Also
    --------
    align_clusters : Best permutation of the clusters of a partition, without events.

    Notes
    -----
    The overlap of an old and a new cluster is the number of rows in both, by pignistic probabilities, where a row
    counts as much as the product of its largest pignistic probabilities in both models. Outliers have a separate
    row and column of this table.

    With `X_old`, an old cluster was removed if its share of the rows of X is less than 0.3 times its share of
    `X_old`, and a new cluster was created if its share of `X_old` is less than 0.3 times its share of X. The
    other clusters are matched one to one so that the sum of Dice coefficients ``2 n_ij / (n_i + n_j)`` is maximal;
    pairs with a coefficient of at least 0.1 have the same number. An old cluster without counterpart was merged
    into the new cluster that contains at least half of it, if it is at least a tenth of that cluster and, with
    `X_old`, if the ratio of its shares is at least 0.75; otherwise it was removed. With exchanged roles, a new
    cluster was split from an old one, or created.

    The confidence of an event is its share in 200 draws of the overlaps from their Dirichlet posterior
    distribution. It considers that the rows are a sample, and not that another fit may have other clusters.

    Examples
    --------
    >>> import numpy as np
    >>> from evlearn import CredalPartition
    >>> from evlearn.partition import track_clusters
    >>> old = CredalPartition.from_hard(np.repeat([0, 1, 2], [50, 40, 30]))
    >>> new = CredalPartition.from_hard(np.repeat([2, 3, 0, 1], [30, 20, 40, 30]))
    >>> tracking = track_clusters(old, new)
    >>> tracking
    3 old and 4 new clusters, in the old numbers (confidence)
      kept        2   1 (1.00), 2 (1.00)
      split       1   0 into 0, 3 (1.00)
      merged      0   none
      removed     0   none
      created     0   none
    >>> tracking.numbers
    array([1, 2, 0, 3])
    >>> tracking.renumber(new).to_hard()[[0, 40, 60, 100]]
    array([0, 3, 1, 2])
    """
    if X_old is not None and (X is None or isinstance(old, CredalPartition) or isinstance(new, CredalPartition)):
        raise ValueError(
            "X_old needs X and 2 fitted estimators; pass models instead of partitions, or omit X_old."
        )
    first, second = _partition_of(old, X), _partition_of(new, X)
    overlaps = [_overlap(first, second)]
    if X_old is not None:
        overlaps.append(_overlap(_partition_of(old, X_old), _partition_of(new, X_old)))
    old_sets, new_sets = first.focal_sets, second.focal_sets
    old_exists, new_exists = _existing(old_sets), _existing(new_sets)
    keys, counterparts = _find_events(overlaps, old_exists, new_exists)
    random, counts = np.random.default_rng(_SEED), Counter[Any]()
    for _ in range(_DRAWS):
        samples = [_draw(table, random) for table in overlaps]
        counts.update(map(_unordered, _find_events(samples, old_exists, new_exists)[0]))
    events = [ClusterEvent(*key, counts[_unordered(key)] / _DRAWS) for key in keys]
    numbers, n_numbers = _new_numbers(counterparts, old_exists, new_exists)
    names = _names_of(old_sets, new_sets, numbers, n_numbers)
    events.sort(key=lambda event: (_KINDS.index(event.kind), event.old, event.new))
    return ClusterTracking(tuple(events), numbers, np.sum(overlaps, axis=0), n_numbers, names)


def renumbered_table(focal_sets: FocalSets, numbers: IntArray, size: int) -> BoolArray:
    """Return the sets on a frame of `size` clusters in which cluster k has the number ``numbers[k]``, if any."""
    exists = numbers >= 0
    table = np.zeros((len(focal_sets), size), dtype=bool)
    table[:, numbers[exists]] = focal_sets.membership[:, exists]
    return table


def renumbered_sets(focal_sets: FocalSets, numbers: IntArray, frame: int | Sequence[str]) -> FocalSets:
    """Return the family of the sets with other numbers of the clusters."""
    size = frame if isinstance(frame, int) else len(frame)
    return FocalSets.from_membership(renumbered_table(focal_sets, numbers, size), frame)


def _existing(focal_sets: FocalSets) -> BoolArray:
    """Return False for numbers of removed clusters, which no focal set contains."""
    return np.asarray(focal_sets.membership.any(axis=0))


def _unordered(key: _Key) -> tuple[_Kind, frozenset[int], frozenset[int]]:
    kind, old, new = key
    return kind, frozenset(old), frozenset(new)


def _partition_of(result: Any, X: Any) -> CredalPartition:
    if isinstance(result, CredalPartition):
        return result
    from evlearn.partition.estimators import fitted_partition, predicted_partition  # loads scikit-learn

    return fitted_partition(result) if X is None else predicted_partition(result, X)


def _overlap(old: CredalPartition, new: CredalPartition) -> FloatArray:
    """Return the weighted numbers of rows in pairs of clusters; outliers are last."""
    if old.n_samples != new.n_samples:
        raise ValueError(
            f"old and new have {old.n_samples} and {new.n_samples} samples; pass X, or partitions of the same "
            "samples."
        )
    check_sample_names([old, new])
    labels, weights = zip(*(_certain_labels(partition) for partition in (old, new)), strict=True)
    table = np.zeros((old.n_clusters + 1, new.n_clusters + 1))
    np.add.at(table, labels, weights[0] * weights[1])
    return table


def _certain_labels(partition: CredalPartition) -> tuple[IntArray, FloatArray]:
    """Return the cluster of each sample, or the number of clusters for outliers, and its pignistic probability."""
    probabilities = partition.to_fuzzy("pignistic")
    labels = probabilities.argmax(axis=1)
    weights = probabilities.max(axis=1).astype(np.float64)
    outliers = partition.outliers()
    labels[outliers], weights[outliers] = partition.n_clusters, 1.0
    return labels, weights


def _draw(table: FloatArray, random: np.random.Generator) -> FloatArray:
    """Draw a table from the Dirichlet posterior, with a prior weight of 1 for each row."""
    shares = random.standard_gamma(table + 1 / table.shape[1])
    return np.asarray(shares * (table.sum() / shares.sum()))


def _find_events(
    overlaps: list[FloatArray], old_exists: BoolArray, new_exists: BoolArray
) -> tuple[list[_Key], IntArray]:
    """Return the events, and the old cluster for each new cluster, or -1."""
    from scipy.optimize import linear_sum_assignment

    table = np.sum(overlaps, axis=0)
    old_sizes, new_sizes = table.sum(axis=1)[:-1], table.sum(axis=0)[:-1]
    cells = table[:-1, :-1]
    old_ratios, new_ratios = _ratios(overlaps)
    old = np.flatnonzero(old_exists & (old_ratios >= _ABSENT_RATIO))
    new = np.flatnonzero(new_exists & (new_ratios >= _ABSENT_RATIO))
    sums = old_sizes[:, None] + new_sizes
    dice = 2 * cells / np.where(sums > 0, sums, 1)
    pairs = zip(*linear_sum_assignment(dice[np.ix_(old, new)], maximize=True), strict=True)
    matched = {int(old[i]): int(new[j]) for i, j in pairs if dice[old[i], new[j]] >= _KEPT_OVERLAP}
    targets = set(matched.values())
    merged = {
        int(i): _container(cells[i], old_sizes[i], new_sizes, new)
        for i in old[old_ratios[old] >= _REDUCED_RATIO]
        if i not in matched
    }
    split = {
        int(j): _container(cells[:, j], new_sizes[j], old_sizes, old)
        for j in new[new_ratios[new] >= _REDUCED_RATIO]
        if j not in targets
    }
    counterparts = np.full(len(new_exists), -1)
    for i, j in matched.items():
        counterparts[j] = i
    return _events_of(matched, merged, split, np.flatnonzero(old_exists), np.flatnonzero(new_exists)), counterparts


def _ratios(overlaps: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Return how much the shares of old clusters have decreased, and those of new clusters have increased."""
    if len(overlaps) == 1:
        return np.ones(overlaps[0].shape[0] - 1), np.ones(overlaps[0].shape[1] - 1)
    of_new_rows, of_old_rows = (table / max(float(table.sum()), 1e-300) for table in overlaps)
    old = of_new_rows.sum(axis=1)[:-1] / np.maximum(of_old_rows.sum(axis=1)[:-1], 1e-300)
    new = of_old_rows.sum(axis=0)[:-1] / np.maximum(of_new_rows.sum(axis=0)[:-1], 1e-300)
    return old, new


def _container(cells: FloatArray, size: float, sizes: FloatArray, candidates: IntArray) -> int:
    """Return the cluster that contains a cluster without counterpart, or -1."""
    if len(candidates) == 0 or size <= 0:
        return -1
    best = int(candidates[cells[candidates].argmax()])
    is_part = cells[best] >= _CONTAINED * size and cells[best] >= _MIN_PART * sizes[best]
    return best if is_part else -1


def _events_of(
    matched: dict[int, int], merged: dict[int, int], split: dict[int, int], old: IntArray, new: IntArray
) -> list[_Key]:
    sources = {j: i for i, j in matched.items()}
    events: list[_Key] = []
    for i in sorted({i for i in split.values() if i >= 0}):
        parts = [j for j, source in split.items() if source == i]
        events.append(("split", (i,), tuple([matched[i]] if i in matched else []) + tuple(parts)))
    for j in sorted({j for j in merged.values() if j >= 0}):
        parts = [i for i, target in merged.items() if target == j]
        events.append(("merged", tuple([sources[j]] if j in sources else []) + tuple(parts), (j,)))
    involved_old = {i for _, clusters, _ in events for i in clusters}
    involved_new = {j for _, _, clusters in events for j in clusters}
    events += [("kept", (i,), (j,)) for i, j in matched.items() if not (i in involved_old or j in involved_new)]
    events += [("removed", (int(i),), ()) for i in old if i not in matched and i not in involved_old]
    events += [("created", (), (int(j),)) for j in new if j not in sources and j not in involved_new]
    return events


def _new_numbers(counterparts: IntArray, old_exists: BoolArray, new_exists: BoolArray) -> tuple[IntArray, int]:
    """Return the number of each new cluster, -1 for those that do not exist, and the number of all numbers."""
    numbers, n_old = counterparts.copy(), len(old_exists)
    created = (numbers < 0) & new_exists
    numbers[created] = n_old + np.arange(created.sum())
    return numbers, n_old + int(created.sum())


def _names_of(old: FocalSets, new: FocalSets, numbers: IntArray, n_numbers: int) -> tuple[str, ...] | None:
    """Return the names of all numbers, if the clusters of a model have names."""
    if old.names is None and new.names is None:
        return None
    names = [*old.frame, *map(str, range(old.frame_size, n_numbers))]
    if new.names is not None:
        for name, number in zip(new.names, numbers, strict=True):
            if number >= old.frame_size and name not in old.frame:
                names[number] = name
    return tuple(names)
