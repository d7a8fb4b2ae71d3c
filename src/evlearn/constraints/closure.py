"""Closure of pairwise constraints: must-links are transitive."""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from evlearn.constraints.pairs import LARGEST_LIST, distinct, keys_of_pairs, pairs_of_keys
from evlearn.utils.typing import IntArray

_LONGEST_CHAIN = 20
_CHAINS = 3


def closure(must_link: IntArray, cannot_link: IntArray) -> tuple[IntArray, IntArray]:
    """Return all pairs that the constraints imply.

    Returns
    -------
    must_link, cannot_link : ndarray of int of shape (n_pairs, 2)
        All pairs within groups that must-links connect, and all pairs between groups that a cannot-link separates.
    """
    # Only samples with constraints, so that the cost does not depend on the number of other samples.
    samples, places = np.unique(np.vstack([must_link, cannot_link]), return_inverse=True)
    places = places.reshape(-1, 2)
    graph = _graph(places[: len(must_link)], len(samples))
    _, groups = connected_components(graph, directed=False)
    _check_contradictions(graph, groups, samples, places[len(must_link) :])
    separated_groups = keys_of_pairs(groups[places[len(must_link) :]])
    pairs_of_groups = pairs_of_keys(distinct(separated_groups))
    sizes = np.bincount(groups, minlength=1)
    _check_size(sizes, pairs_of_groups)
    by_group = samples[np.argsort(groups, kind="stable")]
    return by_group[_places_within(sizes)], by_group[_places_between(sizes, pairs_of_groups)]


def _graph(edges: IntArray, n_nodes: int) -> csr_array:
    return csr_array((np.ones(len(edges), dtype=np.int8), (edges[:, 0], edges[:, 1])), shape=(n_nodes, n_nodes))


def _check_contradictions(graph: csr_array, groups: IntArray, samples: IntArray, separated: IntArray) -> None:
    broken = separated[groups[separated[:, 0]] == groups[separated[:, 1]]]
    if len(broken) == 0:
        return
    chains = [
        f"cannot_link holds {tuple(samples[pair].tolist())}, but must_link connects them: "
        + _chain(graph, samples, *pair.tolist())
        for pair in broken[:_CHAINS]
    ]
    remainder = f"; and {len(broken) - _CHAINS} more" if len(broken) > _CHAINS else ""
    raise ValueError(
        f"the constraints contradict each other: {'; '.join(chains)}{remainder}. "
        "Drop the cannot-link or a must-link of each chain."
    )


def _chain(graph: csr_array, samples: IntArray, start: int, end: int) -> str:
    """Return a shortest chain of must-links from one sample to another, as text."""
    _, predecessors = breadth_first_order(graph, start, directed=False)
    places = [end]
    while places[-1] != start:
        places.append(int(predecessors[places[-1]]))
    names = [str(number) for number in samples[places[::-1]].tolist()]
    if len(names) > _LONGEST_CHAIN:
        half = _LONGEST_CHAIN // 2
        names[half:-half] = [f"({len(names) - 2 * half} samples)"]
    return " - ".join(names)


def _check_size(sizes: IntArray, pairs_of_groups: IntArray) -> None:
    n_within = int((sizes * (sizes - 1) // 2).sum())
    n_between = int(sizes[pairs_of_groups].prod(axis=1).sum())
    if n_within + n_between > LARGEST_LIST:
        raise ValueError(
            f"the closure has {n_within:,} must-links and {n_between:,} cannot-links, more than {LARGEST_LIST:,} "
            "in total; use the constraints without closure, or fewer of them."
        )


def _places_within(sizes: IntArray) -> IntArray:
    """Return all pairs of positions in the same group; positions are ordered by group, with these group sizes."""
    ends = np.repeat(np.cumsum(sizes), sizes)
    places = np.arange(len(ends))
    following = ends - places - 1
    first = np.repeat(places, following)
    return np.column_stack([first, first + 1 + _count_up(following)])


def _places_between(sizes: IntArray, pairs_of_groups: IntArray) -> IntArray:
    """Return all pairs of a position in one group and a position in the other."""
    starts = np.cumsum(sizes) - sizes
    first, second = pairs_of_groups.T
    steps = sizes[first] * sizes[second]
    step, width = _count_up(steps), np.repeat(sizes[second], steps)
    return np.column_stack(
        [np.repeat(starts[first], steps) + step // width, np.repeat(starts[second], steps) + step % width]
    )


def _count_up(lengths: IntArray) -> IntArray:
    """Return 0, 1, 2, ... for each length in turn."""
    return np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
