"""Subsets of samples, for plots of many samples."""

import numpy as np
import numpy.typing as npt

from evlearn.utils.typing import IntArray

#: Minimum number of samples of each kind and of each cluster in a subset, if there are as many. A larger number
#: would overrepresent rare kinds.
_MIN_PER_KIND = 20
#: In small subsets, each kind has at least 1 / 40 of the size.
_MIN_SIZE_RATIO = 40


def allocate(size: int, counts: npt.ArrayLike) -> IntArray:
    """Return the number of samples of each kind in a subset: proportional, with a minimum for each.

    Examples
    --------
    >>> from evlearn.plotting.sampling import allocate
    >>> allocate(1000, [90_000, 10_000, 7])
    array([893, 100,   7])
    """
    available = np.asarray(counts)
    if available.sum() <= size:
        return available
    minimums = np.minimum(available, min(_MIN_PER_KIND, size // _MIN_SIZE_RATIO))
    shares = np.maximum(minimums, np.diff(np.cumsum(available) * size // available.sum(), prepend=0))
    shares[available.argmax()] -= shares.sum() - size
    return np.asarray(shares)


def draw_subset(samples: IntArray, size: int, clusters: IntArray, random: np.random.RandomState) -> IntArray:
    """Draw a random subset without replacement, in ascending order."""
    if size >= len(samples):
        return samples
    shuffle = random.permutation(len(samples))
    by_cluster = shuffle[np.argsort(clusters[shuffle], kind="stable")]
    sizes = np.bincount(clusters)
    ranks = np.arange(len(samples)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    first = by_cluster[ranks < _MIN_PER_KIND]
    rest = random.permutation(by_cluster[ranks >= _MIN_PER_KIND])
    return np.sort(samples[np.concatenate([random.permutation(first), rest])[:size]])
