"""Which samples are drawn when there are too many to see."""

import numpy as np
import numpy.typing as npt

from evlearn.utils.typing import IntArray

#: How many samples each cluster keeps in a subset, as far as it has them, so that no small cluster is lost.
_FEWEST = 20
#: The part of a subset that each kind of sample may take before the rest is shared in proportion.
_RESERVED = 40


def share_out(size: int, counts: npt.ArrayLike) -> IntArray:
    """How many samples of each kind a subset takes: all of them where they are few, else in proportion.

    Examples
    --------
    >>> from evlearn.plotting.sampling import share_out
    >>> share_out(1000, [90_000, 10_000, 7])
    array([874, 119,   7])
    """
    wanted = np.asarray(counts)
    if wanted.sum() <= size:
        return wanted
    first = np.minimum(wanted, size // _RESERVED)
    # The largest kind takes what rounding leaves.
    shares = first + (wanted - first) * (size - first.sum()) // (wanted - first).sum()
    shares[wanted.argmax()] += size - shares.sum()
    return np.asarray(shares)


def sample(objects: IntArray, size: int, clusters: IntArray, random: np.random.RandomState) -> IntArray:
    """A random sample without repetition, in ascending order."""
    if size >= len(objects):
        return objects
    shuffle = random.permutation(len(objects))
    by_cluster = shuffle[np.argsort(clusters[shuffle], kind="stable")]
    sizes = np.bincount(clusters)
    ranks = np.arange(len(objects)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    first = by_cluster[ranks < _FEWEST]
    rest = random.permutation(by_cluster[ranks >= _FEWEST])
    return np.sort(objects[np.concatenate([random.permutation(first), rest])[:size]])
