"""What pairwise constraints imply: being in one cluster is transitive."""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from evlearn.constraints.pairs import LARGEST_LIST, distinct, keys_of_pairs, pairs_of_keys
from evlearn.utils.typing import IntArray

_LONGEST_CHAIN = 20
_CHAINS = 3


def closure(must_link: IntArray, cannot_link: IntArray) -> tuple[IntArray, IntArray]:
    """All pairs that the constraints imply.

    Returns
    -------
    must_link, cannot_link : ndarray of int of shape (n_pairs, 2)
        All pairs within groups that must-links connect, and all pairs between groups that a cannot-link separates.
    """
    # Only samples with constraints count, however many others there are.
    objects, places = np.unique(np.vstack([must_link, cannot_link]), return_inverse=True)
    places = places.reshape(-1, 2)
    graph = _graph(places[: len(must_link)], len(objects))
    _, groups = connected_components(graph, directed=False)
    _refuse_contradictions(graph, groups, objects, places[len(must_link) :])
    apart = keys_of_pairs(groups[places[len(must_link) :]])
    pairs_of_groups = pairs_of_keys(distinct(apart))
    sizes = np.bincount(groups, minlength=1)
    _refuse_many(sizes, pairs_of_groups)
    by_group = objects[np.argsort(groups, kind="stable")]
    return by_group[_places_within(sizes)], by_group[_places_between(sizes, pairs_of_groups)]


def _graph(edges: IntArray, n_nodes: int) -> csr_array:
    return csr_array((np.ones(len(edges), dtype=np.int8), (edges[:, 0], edges[:, 1])), shape=(n_nodes, n_nodes))


def _refuse_contradictions(graph: csr_array, groups: IntArray, objects: IntArray, apart: IntArray) -> None:
    broken = apart[groups[apart[:, 0]] == groups[apart[:, 1]]]
    if len(broken) == 0:
        return
    told = [
        f"cannot_link holds {tuple(objects[pair].tolist())}, but must_link connects them: "
        + _chain(graph, objects, *pair.tolist())
        for pair in broken[:_CHAINS]
    ]
    more = f"; and {len(broken) - _CHAINS} more" if len(broken) > _CHAINS else ""
    raise ValueError(
        f"the constraints contradict each other: {'; '.join(told)}{more}. "
        "Drop the cannot-link or a must-link of each chain."
    )


def _chain(graph: csr_array, objects: IntArray, start: int, end: int) -> str:
    """A shortest chain of must-links from one sample to another."""
    _, before = breadth_first_order(graph, start, directed=False)
    places = [end]
    while places[-1] != start:
        places.append(int(before[places[-1]]))
    names = [str(number) for number in objects[places[::-1]].tolist()]
    if len(names) > _LONGEST_CHAIN:
        half = _LONGEST_CHAIN // 2
        names[half:-half] = [f"({len(names) - 2 * half} samples)"]
    return " - ".join(names)


def _refuse_many(sizes: IntArray, pairs_of_groups: IntArray) -> None:
    n_within = int((sizes * (sizes - 1) // 2).sum())
    n_between = int(sizes[pairs_of_groups].prod(axis=1).sum())
    if n_within + n_between > LARGEST_LIST:
        raise ValueError(
            f"the closure has {n_within:,} must-links and {n_between:,} cannot-links, more than {LARGEST_LIST:,} "
            "in total; use the constraints as they are, or fewer of them."
        )


def _places_within(sizes: IntArray) -> IntArray:
    """All pairs of places in one group, where groups of these sizes lie one after the other."""
    ends = np.repeat(np.cumsum(sizes), sizes)
    places = np.arange(len(ends))
    following = ends - places - 1
    first = np.repeat(places, following)
    return np.column_stack([first, first + 1 + _count_up(following)])


def _places_between(sizes: IntArray, pairs_of_groups: IntArray) -> IntArray:
    """All pairs of a place in one group and a place in the other."""
    starts = np.cumsum(sizes) - sizes
    one, other = pairs_of_groups.T
    steps = sizes[one] * sizes[other]
    step, width = _count_up(steps), np.repeat(sizes[other], steps)
    return np.column_stack(
        [np.repeat(starts[one], steps) + step // width, np.repeat(starts[other], steps) + step % width]
    )


def _count_up(lengths: IntArray) -> IntArray:
    """0, 1, 2, ... up to each length in turn."""
    return np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
