"""Which samples are drawn when there are too many to see."""

import numpy as np
import numpy.typing as npt

from evlearn.utils.typing import IntArray

#: How many samples each kind and each cluster keeps in a subset, as far as it has them, so that none is lost. More
#: would make rare ones look common.
_FEWEST = 20
#: The part of a small subset that each kind may keep.
_RESERVED = 40


def share_out(size: int, counts: npt.ArrayLike) -> IntArray:
    """How many samples of each kind a subset has: in proportion, but for a few of each that are always there.

    Examples
    --------
    >>> from evlearn.plotting.sampling import share_out
    >>> share_out(1000, [90_000, 10_000, 7])
    array([893, 100,   7])
    """
    wanted = np.asarray(counts)
    if wanted.sum() <= size:
        return wanted
    fewest = np.minimum(wanted, min(_FEWEST, size // _RESERVED))
    shares = np.maximum(fewest, np.diff(np.cumsum(wanted) * size // wanted.sum(), prepend=0))
    shares[wanted.argmax()] -= shares.sum() - size
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
