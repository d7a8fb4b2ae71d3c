"""Combination of partitions: statements about pairs are combined, and a partition is recovered from them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

from evlearn import belief
from evlearn.belief import FocalSets
from evlearn.belief.focal_sets import FocalSetsLike
from evlearn.cluster.focal_families import FocalFamily, kind_of, make_focal_sets
from evlearn.cluster.pairwise.irqp import SweepResult, stratified_indices
from evlearn.ensemble.recovery import (
    DOUBT_RULES,
    RULES,
    CombinationRule,
    Landmarks,
    pair_statements,
    recover_masses,
    stack_masses,
)
from evlearn.partition import CredalPartition, align_clusters
from evlearn.partition.alignment import check_sample_names
from evlearn.partition.estimators import as_credal
from evlearn.utils.convergence import Report, Trace, best_of, warn_if_unfinished
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.typing import FloatArray, RandomSeed
from evlearn.utils.validation import check_choice, check_integer, check_real

# Sweeps and samples of a first descent from each start, of which the best is continued.
_SCREENING_SWEEPS = 5
_SCREENING_SAMPLES = 500
# Other rules than the average combine each pair of a sample and a landmark separately.
_MAX_LANDMARKS_OF_PAIRWISE_RULES = 500
_MAX_CLUSTERS_FOR_ALL_SETS = 4
_MAX_CLUSTERS_FOR_PAIRS = 12


def combine_partitions(
    partitions: Sequence[Any],
    *,
    rule: CombinationRule = "average",
    n_clusters: int | None = None,
    focal_sets: Literal["auto", "simple", "pairs", "full"] | FocalFamily | FocalSetsLike = "auto",
    n_landmarks: int = 2000,
    n_init: int = 5,
    tol: float = 1e-4,
    max_iter: int = 200,
    random_state: RandomSeed = None,
) -> CredalPartition:
    r"""Combine partitions of the same samples into one.

    Partitions may have different numbers of clusters, in any order: they are compared by their masses on pairs of
    samples, "same cluster" or "different clusters". These statements are combined, and a credal partition with
    approximately the combined statements is returned.

    Parameters
    ----------
    partitions : sequence of CredalPartition or array-like
        Credal partitions, labels (-1 is noise if 0 occurs, too) or probabilities, with samples in the same order.
        Different names of samples are an error.
    rule : str, default="average"
        Rule of combination for statements. "average": each partition has one vote; "dempster": independent
        evidence, which accumulates; "cautious": shared evidence, which counts once; "conjunctive": Dempster's rule
        with conflict as mass on the empty set; "yager": with conflict as mass on ignorance; "dubois_prade": as
        "yager", but partition by partition, in the given order; "disjunctive": only statements that all partitions
        share remain.
    n_clusters : int or None, default=None
        Number of clusters of the result; None means the largest of the partitions.
    focal_sets : str, FocalFamily, FocalSets or list of sets, default="auto"
        Sets of clusters that may carry mass, besides the empty set. "auto" means all sets for up to 4 clusters;
        pairs for up to 12 clusters if a partition has masses on sets of clusters, or the rule may produce them;
        otherwise single clusters, and the set of all clusters.
    n_landmarks : int, default=2000
        Maximum number of samples whose pairs are all compared. From more samples, this number is drawn, and the
        masses of other samples follow from their pairs with these.
    n_init : int, default=5
        Number of initializations by k-means of all masses, in addition to the partitions with the same number of
        clusters as the result.
    tol : float, default=1e-4
        Relative decrease of the objective in a sweep below which the fit stops.
    max_iter : int, default=200
        Maximum number of sweeps.
    random_state : int, RandomState instance or None, default=None
        Random seed; an int makes results reproducible.

    Returns
    -------
    CredalPartition
        Combined partition. Clusters have the numbers of the first partition with the same number of clusters;
        otherwise, they are sorted by decreasing size.

    Examples
    --------
    >>> from evlearn.ensemble import combine_partitions
    >>> partitions = [0, 0, 0, 1, 1, 1], [1, 1, 0, 0, 0, 0]
    >>> combine_partitions(partitions, random_state=0).masses.round(2)
    array([[0. , 1. , 0. , 0. ],
           [0. , 1. , 0. , 0. ],
           [0. , 0.5, 0.5, 0. ],
           [0. , 0. , 1. , 0. ],
           [0. , 0. , 1. , 0. ],
           [0. , 0. , 1. , 0. ]])
    """
    check_parameters(rule, n_clusters, n_landmarks, n_init, tol, max_iter)
    members = [as_credal(partition, f"partitions[{number}]") for number, partition in enumerate(partitions)]
    _check_same_samples(members)
    sets = choose_focal_sets(members, focal_sets, n_clusters, rule)
    settings: dict[str, Any] = {
        "rule": rule,
        "n_landmarks": n_landmarks,
        "n_init": n_init,
        "tol": tol,
        "max_iter": max_iter,
    }
    combined = combine(members, sets, random=check_random_state(random_state), **settings)
    warn_if_unfinished(combined.trace, "the objective", max_iter=max_iter, steps="sweeps")
    names = next((member.sample_index for member in members if member.sample_index is not None), None)
    return CredalPartition(combined.masses, sets, names, validate=False)


def check_parameters(rule: Any, n_clusters: Any, n_landmarks: Any, n_init: Any, tol: Any, max_iter: Any) -> None:
    """Check parameters of `combine_partitions`."""
    check_choice("rule", rule, RULES)
    if n_clusters is not None:
        check_integer("n_clusters", n_clusters, 1)
    check_integer("n_landmarks", n_landmarks, 2)
    check_integer("n_init", n_init, 0)
    check_real("tol", tol, 0)
    check_integer("max_iter", max_iter, 1)


def choose_focal_sets(
    members: Sequence[CredalPartition], focal_sets: Any, n_clusters: int | None, rule: str
) -> FocalSets:
    """Return the focal sets of the combined partition."""
    number = max(member.n_clusters for member in members) if n_clusters is None else n_clusters
    if kind_of(focal_sets) == "auto":
        in_sets = rule in DOUBT_RULES or any((member.focal_sets.sizes > 1).any() for member in members)
        pairs = in_sets and number <= _MAX_CLUSTERS_FOR_PAIRS
        kind: Any = "full" if number <= _MAX_CLUSTERS_FOR_ALL_SETS else "pairs" if pairs else "simple"
        focal_sets = replace(focal_sets, kind=kind) if isinstance(focal_sets, FocalFamily) else kind
    return make_focal_sets(focal_sets, number)


@dataclass(frozen=True)
class Combined:
    """Masses of all samples, landmarks that determine them, and the descent of the landmarks."""

    masses: FloatArray
    landmarks: Landmarks
    trace: Trace[SweepResult]


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
    """Compute the masses whose statements about pairs approximate those of the members."""
    with one_blas_thread():
        landmark_members = _select_samples(members, n_landmarks, random)
        screening_members = _select_samples(landmark_members, _SCREENING_SAMPLES, random)
        statements = pair_statements(screening_members, rule)
        starts = _make_starts(screening_members, focal_sets, n_init, random)
        trace = best_of(
            recover_masses(statements, focal_sets, masses, tol=tol, max_iter=_SCREENING_SWEEPS)
            for masses in starts
        )
        if screening_members is not landmark_members or not (trace.interrupted or trace.converged):
            partition = CredalPartition(trace.state.masses, focal_sets, validate=False)
            start = (
                partition.masses
                if screening_members is landmark_members
                else _make_landmarks(screening_members, partition, rule, random).masses_of(landmark_members)
            )
            sweeps = 0 if trace.interrupted else max_iter
            last = recover_masses(
                pair_statements(landmark_members, rule), focal_sets, start, tol=tol, max_iter=sweeps, report=report
            )
            trace = replace(last, interrupted=last.interrupted or trace.interrupted)
        partition = numbered_like(
            CredalPartition(trace.state.masses, focal_sets, validate=False), landmark_members
        )
        landmarks = _make_landmarks(landmark_members, partition, rule, random)
        return Combined(
            partition.masses if landmark_members is members else landmarks.masses_of(members), landmarks, trace
        )


def numbered_like(partition: CredalPartition, members: Sequence[CredalPartition]) -> CredalPartition:
    """Renumber clusters as in the first member with the same number of clusters, or by decreasing size."""
    reference = next((member for member in members if member.n_clusters == partition.n_clusters), None)
    if reference is not None:
        return align_clusters(partition, reference)
    sizes = np.bincount(partition.to_hard(), minlength=partition.n_clusters)
    return partition.permute_clusters(np.argsort(-sizes, kind="stable"))


def _select_samples(
    members: Sequence[CredalPartition], size: int, random: np.random.RandomState
) -> Sequence[CredalPartition]:
    """Select at most `size` samples from all clusters; return `members` if there are no more samples."""
    if members[0].n_samples <= size:
        return members
    indices = stratified_indices(members[0].to_hard(), size, random)
    return [member[indices] for member in members]


def _make_landmarks(
    members: Sequence[CredalPartition], partition: CredalPartition, rule: str, random: np.random.RandomState
) -> Landmarks:
    """Select landmarks from a combined partition; fewer if the rule combines each pair separately."""
    size = partition.n_samples if rule == "average" else _MAX_LANDMARKS_OF_PAIRWISE_RULES
    indices = stratified_indices(partition.to_hard(), size, random)
    masses = np.ascontiguousarray(partition.mass_table[indices])
    return Landmarks(
        partitions=[member[indices] for member in members],
        masses=masses,
        focal_sets=partition.focal_sets,
        rule=rule,
    )


def _make_starts(
    members: Sequence[CredalPartition], focal_sets: FocalSets, n_init: int, random: np.random.RandomState
) -> list[FloatArray]:
    """Return initial masses: those of members, and k-means clusters of the masses of all members."""
    starts = [
        _convert_masses(member, focal_sets) for member in members if member.n_clusters == focal_sets.frame_size
    ]
    rows = stack_masses(members).toarray()
    n_clusters = min(focal_sets.frame_size, len(np.unique(rows, axis=0)))
    for _ in range(n_init if starts else max(n_init, 1)):
        seed = random.randint(np.iinfo(np.int32).max)
        labels = KMeans(n_clusters, n_init=1, random_state=seed).fit(rows).labels_
        starts.append(np.eye(len(focal_sets))[focal_sets.singleton_positions[labels]])
    return starts


def _convert_masses(partition: CredalPartition, focal_sets: FocalSets) -> FloatArray:
    """Convert masses to another family, or to probabilities if sets are missing."""
    masses = partition.masses / partition.masses.sum(axis=1, keepdims=True, dtype=np.float64)
    if all(subset in focal_sets for subset in partition.focal_sets):
        return belief.expand_masses(masses, partition.focal_sets, focal_sets)
    start = np.zeros((len(masses), len(focal_sets)))
    start[:, focal_sets.singleton_positions] = partition.to_fuzzy()
    return start


def _check_same_samples(members: Sequence[CredalPartition]) -> None:
    if not members:
        raise ValueError("partitions is empty; pass at least one partition.")
    sizes = [member.n_samples for member in members]
    if len(set(sizes)) > 1:
        raise ValueError(f"partitions have {sizes} samples; all must contain the same samples.")
    check_sample_names(members)
    if sizes[0] < 2:
        raise ValueError("partitions of 1 sample have no pairs to combine; pass partitions of at least 2 samples.")
