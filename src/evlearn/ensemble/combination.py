"""One credal partition from several: what they say about pairs is combined, and a partition recovered from it."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from evlearn import belief
from evlearn.belief import FocalSets
from evlearn.belief.focal_sets import FocalSetsLike
from evlearn.cluster.focal_families import make_focal_sets, random_masses
from evlearn.cluster.pairwise.irqp import Swept
from evlearn.cluster.pairwise.partners import ALL_PAIRS_UP_TO, check_partners, choose_pairs
from evlearn.ensemble.fusion import RULES, fuse
from evlearn.ensemble.recovery import recover
from evlearn.partition import CredalPartition, PairMasses, align_clusters, as_credal
from evlearn.utils.chunks import row_blocks
from evlearn.utils.convergence import Report, Trace, warn_if_unfinished
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.typing import FloatArray, IntArray, RandomSeed
from evlearn.utils.validation import check_choice, check_integer, check_real

# A few sweeps show which starts lead nowhere.
_FIRST_SWEEPS = 5
_ALL_SETS_UP_TO = 4
_ALL_PAIRS_OF_CLUSTERS_UP_TO = 12
_PAIRS_AT_A_TIME = 1 << 17


def combine_partitions(
    partitions: Sequence[Any],
    *,
    rule: Literal["average", "dempster", "dubois_prade"] = "average",
    n_clusters: int | None = None,
    focal_sets: Literal["auto", "simple", "pairs", "full"] | FocalSetsLike = "auto",
    include_omega: bool = True,
    n_partners: int | Literal["auto", "all"] = "auto",
    n_init: int = 5,
    tol: float = 1e-6,
    max_iter: int = 200,
    random_state: RandomSeed = None,
) -> CredalPartition:
    r"""Combine partitions of the same objects into one.

    Clusters need not have the same numbers in all partitions, nor need there be equally many: partitions are
    compared through what they say about pairs of objects, the same cluster or not. These statements are combined,
    and the credal partition is found that says nearly the same.

    Parameters
    ----------
    partitions : sequence of CredalPartition or array-like
        The partitions: credal ones, labels, or probabilities; see `as_credal`.
    rule : {"average", "dempster", "dubois_prade"}, default="average"
        How statements about a pair are combined. "average": every partition has one vote; "dempster": independent
        pieces of evidence, which become sure together; "dubois_prade": where they contradict each other, nothing
        is known. The last depends on the order of the partitions if there are more than two.
    n_clusters : int or None, default=None
        The number of clusters of the result; None takes the largest of the partitions.
    focal_sets : {"auto", "simple", "pairs", "full"}, FocalSets or list of sets, default="auto"
        The sets of clusters that may carry mass, besides the empty set. "auto" means all sets of up to 4 clusters,
        pairs of up to 12, and single clusters beyond.
    include_omega : bool, default=True
        Whether the set of all clusters belongs to "simple" and "pairs".
    n_partners : int, "auto" or "all", default="auto"
        How many other objects each object is compared with. "auto" means all of up to 2000 objects, and 200 drawn
        at random beyond.
    n_init : int, default=5
        How many random starts, besides the partitions themselves; of more than 2000 objects only where no
        partition has as many clusters as the result.
    tol : float, default=1e-6
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
    check_combination(rule, n_clusters, n_partners, n_init, tol, max_iter)
    members = [as_credal(partition, f"partitions[{number}]") for number, partition in enumerate(partitions)]
    _require_same_samples(members)
    sets = choose_sets(members, focal_sets, n_clusters, include_omega)
    settings: dict[str, Any] = {
        "rule": rule,
        "n_partners": n_partners,
        "n_init": n_init,
        "tol": tol,
        "max_iter": max_iter,
    }
    trace = combine(members, sets, random=check_random_state(random_state), **settings)
    warn_if_unfinished(trace, "the objective", max_iter=max_iter, steps="sweeps")
    names = next((one.sample_index for one in members if one.sample_index is not None), None)
    return numbered_like(CredalPartition(trace.state.masses, sets, names, validate=False), members)


def check_combination(rule: Any, n_clusters: Any, n_partners: Any, n_init: Any, tol: Any, max_iter: Any) -> None:
    """Raise unless these are parameters of `combine_partitions`."""
    check_choice("rule", rule, RULES)
    if n_clusters is not None:
        check_integer("n_clusters", n_clusters, 1)
    check_partners(n_partners)
    check_integer("n_init", n_init, 0)
    check_real("tol", tol, 0)
    check_integer("max_iter", max_iter, 1)


def choose_sets(
    members: Sequence[CredalPartition], focal_sets: Any, n_clusters: int | None, include_omega: bool
) -> FocalSets:
    """The family of the combined partition."""
    number = max(one.n_clusters for one in members) if n_clusters is None else n_clusters
    if isinstance(focal_sets, str) and focal_sets == "auto":
        small, medium = number <= _ALL_SETS_UP_TO, number <= _ALL_PAIRS_OF_CLUSTERS_UP_TO
        focal_sets = "full" if small else "pairs" if medium else "simple"
    return make_focal_sets(focal_sets, number, include_omega=include_omega)


def combine(
    members: Sequence[CredalPartition],
    focal_sets: FocalSets,
    *,
    rule: str,
    n_partners: Any,
    n_init: int,
    tol: float,
    max_iter: int,
    random: np.random.RandomState,
    report: Report | None = None,
) -> Trace[Swept]:
    """The masses that say about pairs of objects what the members say together."""
    n_samples = members[0].n_samples
    pairs = choose_pairs(n_samples, n_partners, random)
    statements = _statements(members, pairs, rule)
    starts = [_as_start(one, focal_sets) for one in members if one.n_clusters == focal_sets.frame_size]
    needed = max(n_init, 1) if not starts else n_init if n_samples <= ALL_PAIRS_UP_TO else 0
    starts += [random_masses(n_samples, len(focal_sets), random) for _ in range(needed)]
    with one_blas_thread():
        first = [recover(pairs, statements, focal_sets, one, tol=tol, max_iter=_FIRST_SWEEPS) for one in starts]
        best = min(first, key=lambda one: one.objective)
        if best.interrupted or best.converged:
            return best
        return recover(pairs, statements, focal_sets, best.state.masses, tol=tol, max_iter=max_iter, report=report)


def numbered_like(partition: CredalPartition, members: Sequence[CredalPartition]) -> CredalPartition:
    """The partition with its clusters numbered as in the first member that has as many, or the largest first."""
    like = next((one for one in members if one.n_clusters == partition.n_clusters), None)
    if like is not None:
        return align_clusters(partition, like)
    sizes = np.bincount(partition.to_hard(), minlength=partition.n_clusters)
    return partition.permute_clusters(np.argsort(-sizes, kind="stable"))


def _statements(members: Sequence[CredalPartition], pairs: IntArray, rule: str) -> PairMasses:
    found = np.empty((4, len(pairs)))
    for block in row_blocks(len(pairs), _PAIRS_AT_A_TIME):
        found[:, block] = fuse([one.relational(pairs[block]) for one in members], rule)
    return PairMasses(*found)


def _as_start(partition: CredalPartition, focal_sets: FocalSets) -> FloatArray:
    """The masses of a partition in another family, or its probabilities where they do not fit."""
    masses = partition.masses.astype(np.float64, copy=False)
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
        raise ValueError(f"partitions have {sizes} objects; all must describe the same objects.")
    if sizes[0] < 2:
        raise ValueError("partitions of one object have no pairs to combine; at least two objects are needed.")


__all__ = ["combine", "combine_partitions"]
