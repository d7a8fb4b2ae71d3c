"""One credal partition from several: what they say about pairs is combined, and a partition recovered from it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

from evlearn import belief
from evlearn.belief import FocalSets
from evlearn.belief.focal_sets import FocalSetsLike
from evlearn.cluster.focal_families import make_focal_sets
from evlearn.cluster.pairwise.irqp import Swept, stratified
from evlearn.ensemble.fusion import ADDING_DOUBT, RULES, CombinationRule
from evlearn.ensemble.products import side_by_side
from evlearn.ensemble.recovery import Landmarks, recover, stated
from evlearn.partition import CredalPartition, align_clusters, as_credal
from evlearn.partition.alignment import refuse_other_names
from evlearn.utils.convergence import Report, Trace, best_of, warn_if_unfinished
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.typing import FloatArray, RandomSeed
from evlearn.utils.validation import check_choice, check_integer, check_real

# A few sweeps over a few samples show which starts lead nowhere.
_FIRST_SWEEPS = 5
_FIRST_SAMPLES = 500
# Of a rule other than the average every pair of a sample and a landmark has to be combined by itself.
_ASKED_ONE_BY_ONE = 500
_ALL_SETS_UP_TO = 4
_ALL_PAIRS_OF_CLUSTERS_UP_TO = 12


def combine_partitions(
    partitions: Sequence[Any],
    *,
    rule: CombinationRule = "average",
    n_clusters: int | None = None,
    focal_sets: Literal["auto", "simple", "pairs", "full"] | FocalSetsLike = "auto",
    include_omega: bool = True,
    n_landmarks: int = 2000,
    n_init: int = 5,
    tol: float = 1e-4,
    max_iter: int = 200,
    random_state: RandomSeed = None,
) -> CredalPartition:
    r"""Combine partitions of the same samples into one.

    Clusters need not have the same numbers in all partitions, nor need there be equally many: partitions are
    compared through what they say about pairs of samples, the same cluster or not. These statements are combined,
    and the credal partition is found that says nearly the same.

    Parameters
    ----------
    partitions : sequence of CredalPartition or array-like
        The partitions: credal ones, labels, or probabilities; see `as_credal`. All have the samples in the same
        order; partitions with names of samples that differ are refused.
    rule : str, default="average"
        How statements about a pair are combined. "average": every partition has one vote; "dempster": independent
        pieces of evidence, which become sure together; "cautious": the same for evidence that is shared, which
        counts once; "conjunctive": as Dempster's rule, but contradictions stay, as mass on the empty set; "yager":
        they become "nothing is known"; "dubois_prade": so, pair by pair of partitions, in their order;
        "disjunctive": only what all agree on is known.
    n_clusters : int or None, default=None
        The number of clusters of the result; None means the largest of the partitions.
    focal_sets : {"auto", "simple", "pairs", "full"}, FocalSets or list of sets, default="auto"
        The sets of clusters that may carry mass, besides the empty set. "auto" means all sets of up to 4 clusters;
        of up to 12, pairs where some partition has masses on sets of clusters or the rule makes such; else single
        clusters.
    include_omega : bool, default=True
        Whether the set of all clusters belongs to "simple" and "pairs".
    n_landmarks : int, default=2000
        How many samples are compared all with all. Of more samples so many are drawn, and the masses of all follow
        from what is said about them and these.
    n_init : int, default=5
        How many starts by k-means of what the partitions say, besides the partitions that have as many clusters as
        the result.
    tol : float, default=1e-4
        A sweep that lowers the objective by less than this share of it is the last.
    max_iter : int, default=200
        The largest number of sweeps.
    random_state : int, RandomState instance or None, default=None
        The seed, for results that can be repeated.

    Returns
    -------
    CredalPartition
        The combined partition, numbered like the first of the partitions that has as many clusters; if there is
        none, the largest cluster is the first.

    Examples
    --------
    >>> from evlearn.ensemble import combine_partitions
    >>> one, other = [0, 0, 0, 1, 1, 1], [1, 1, 0, 0, 0, 0]
    >>> combine_partitions([one, other], random_state=0).masses.round(2)
    array([[0. , 1. , 0. , 0. ],
           [0. , 1. , 0. , 0. ],
           [0. , 0.5, 0.5, 0. ],
           [0. , 0. , 1. , 0. ],
           [0. , 0. , 1. , 0. ],
           [0. , 0. , 1. , 0. ]])
    """
    check_combination(rule, n_clusters, n_landmarks, n_init, tol, max_iter)
    members = [as_credal(partition, f"partitions[{number}]") for number, partition in enumerate(partitions)]
    _require_same_samples(members)
    sets = choose_sets(members, focal_sets, n_clusters, include_omega, rule)
    settings: dict[str, Any] = {
        "rule": rule,
        "n_landmarks": n_landmarks,
        "n_init": n_init,
        "tol": tol,
        "max_iter": max_iter,
    }
    combined = combine(members, sets, random=check_random_state(random_state), **settings)
    warn_if_unfinished(combined.trace, "the objective", max_iter=max_iter, steps="sweeps")
    names = next((one.sample_index for one in members if one.sample_index is not None), None)
    return CredalPartition(combined.masses, sets, names, validate=False)


def check_combination(rule: Any, n_clusters: Any, n_landmarks: Any, n_init: Any, tol: Any, max_iter: Any) -> None:
    """Raise unless these are parameters of `combine_partitions`."""
    check_choice("rule", rule, RULES)
    if n_clusters is not None:
        check_integer("n_clusters", n_clusters, 1)
    check_integer("n_landmarks", n_landmarks, 2)
    check_integer("n_init", n_init, 0)
    check_real("tol", tol, 0)
    check_integer("max_iter", max_iter, 1)


def choose_sets(
    members: Sequence[CredalPartition], focal_sets: Any, n_clusters: int | None, include_omega: bool, rule: str
) -> FocalSets:
    """The family of the combined partition."""
    number = max(one.n_clusters for one in members) if n_clusters is None else n_clusters
    if isinstance(focal_sets, str) and focal_sets == "auto":
        in_sets = rule in ADDING_DOUBT or any((one.focal_sets.sizes > 1).any() for one in members)
        pairs = in_sets and number <= _ALL_PAIRS_OF_CLUSTERS_UP_TO
        focal_sets = "full" if number <= _ALL_SETS_UP_TO else "pairs" if pairs else "simple"
    return make_focal_sets(focal_sets, number, include_omega=include_omega)


@dataclass(frozen=True)
class Combined:
    """The masses of all samples, the landmarks they follow from, and the descent that gave these theirs."""

    masses: FloatArray
    landmarks: Landmarks
    trace: Trace[Swept]


def combine(
    members: Sequence[CredalPartition],
    focal_sets: FocalSets,
    *,
    rule: str,
    n_landmarks: int,
    n_init: int,
    tol: float,
    max_iter: int,
    random: np.random.RandomState,
    report: Report | None = None,
) -> Combined:
    """The masses that say about pairs of samples what the members say together."""
    with one_blas_thread():
        known = _some(members, n_landmarks, random)
        few = _some(known, _FIRST_SAMPLES, random)
        said, starts = stated(few, rule), _starts(few, focal_sets, n_init, random)
        trace = best_of(recover(said, focal_sets, one, tol=tol, max_iter=_FIRST_SWEEPS) for one in starts)
        if few is not known or not (trace.interrupted or trace.converged):
            found = CredalPartition(trace.state.masses, focal_sets, validate=False)
            start = found.masses if few is known else _landmarks(few, found, rule, random).masses_of(known)
            sweeps = 0 if trace.interrupted else max_iter
            last = recover(stated(known, rule), focal_sets, start, tol=tol, max_iter=sweeps, report=report)
            trace = replace(last, interrupted=last.interrupted or trace.interrupted)
        found = numbered_like(CredalPartition(trace.state.masses, focal_sets, validate=False), known)
        landmarks = _landmarks(known, found, rule, random)
        return Combined(found.masses if known is members else landmarks.masses_of(members), landmarks, trace)


def numbered_like(partition: CredalPartition, members: Sequence[CredalPartition]) -> CredalPartition:
    """The partition with its clusters numbered as in the first member that has as many, or the largest first."""
    like = next((one for one in members if one.n_clusters == partition.n_clusters), None)
    if like is not None:
        return align_clusters(partition, like)
    sizes = np.bincount(partition.to_hard(), minlength=partition.n_clusters)
    return partition.permute_clusters(np.argsort(-sizes, kind="stable"))


def _some(
    members: Sequence[CredalPartition], size: int, random: np.random.RandomState
) -> Sequence[CredalPartition]:
    """What members say about some samples, from all of their clusters; the same list if there are not more."""
    if members[0].n_samples <= size:
        return members
    chosen = stratified(members[0].to_hard(), size, random)
    return [one[chosen] for one in members]


def _landmarks(
    known: Sequence[CredalPartition], found: CredalPartition, rule: str, random: np.random.RandomState
) -> Landmarks:
    """Samples with what members say about them and the masses that were found; fewer if each has to be asked."""
    size = found.n_samples if rule == "average" else _ASKED_ONE_BY_ONE
    chosen = stratified(found.to_hard(), size, random)
    masses = np.ascontiguousarray(found.masses[chosen])
    return Landmarks(known=[one[chosen] for one in known], masses=masses, focal_sets=found.focal_sets, rule=rule)


def _starts(
    members: Sequence[CredalPartition], focal_sets: FocalSets, n_init: int, random: np.random.RandomState
) -> list[FloatArray]:
    """Masses to begin with: those of members, and clusters of what all members say about each sample."""
    starts = [_as_start(one, focal_sets) for one in members if one.n_clusters == focal_sets.frame_size]
    rows = side_by_side(members).toarray()
    n_clusters = min(focal_sets.frame_size, len(np.unique(rows, axis=0)))
    for _ in range(n_init if starts else max(n_init, 1)):
        seed = random.randint(np.iinfo(np.int32).max)
        labels = KMeans(n_clusters, n_init=1, random_state=seed).fit(rows).labels_
        starts.append(np.eye(len(focal_sets))[focal_sets.singleton_positions[labels]])
    return starts


def _as_start(partition: CredalPartition, focal_sets: FocalSets) -> FloatArray:
    """The masses of a partition in another family, or its probabilities where they do not fit."""
    masses = partition.masses / partition.masses.sum(axis=1, keepdims=True, dtype=np.float64)
    if all(subset in focal_sets for subset in partition.focal_sets):
        return belief.expand(masses, partition.focal_sets, focal_sets)
    start = np.zeros((len(masses), len(focal_sets)))
    start[:, focal_sets.singleton_positions] = partition.to_fuzzy()
    return start


def _require_same_samples(members: Sequence[CredalPartition]) -> None:
    if not members:
        raise ValueError("partitions is empty; give at least one partition.")
    sizes = [one.n_samples for one in members]
    if len(set(sizes)) > 1:
        raise ValueError(f"partitions have {sizes} samples; all must describe the same samples.")
    refuse_other_names(members)
    if sizes[0] < 2:
        raise ValueError("partitions of one sample have no pairs to combine; at least two samples are needed.")


__all__ = ["combine", "combine_partitions"]
