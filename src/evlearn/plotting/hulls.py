"""Convex hulls of the lower and upper approximations of clusters."""

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from evlearn.utils.typing import BoolArray, FloatArray, IntArray


def cluster_hulls(points: FloatArray, candidates: BoolArray) -> tuple[list[FloatArray], list[FloatArray]]:
    """Return the convex hulls of the lower and the upper approximation of each cluster.

    Each sample enters a single hull, that of all samples with the same candidates; the hull of an approximation is
    computed from these hulls. The cost is therefore linear in the number of samples.

    Returns
    -------
    lower, upper : list of ndarray of shape (n_corners, 2)
        Corners of the hulls, see `convex_hull`.
    """
    groups = _group_by_candidates(candidates)
    sets = candidates[[group[0] for group in groups]]
    hulls = [convex_hull(points[group]) for group in groups]
    corners = np.concatenate(hulls)
    owners = np.repeat(np.arange(len(groups)), [len(hull) for hull in hulls])
    sure = sets.sum(axis=1) == 1
    lower = [corners[(sets[:, cluster] & sure)[owners]] for cluster in range(candidates.shape[1])]
    upper = [convex_hull(corners[sets[owners, cluster]]) for cluster in range(candidates.shape[1])]
    return lower, upper


def convex_hull(points: FloatArray) -> FloatArray:
    """Return the corners of the convex hull, in order."""
    if len(points) < 2:
        return points
    low, spread = points.min(axis=0), np.ptp(points, axis=0)
    if len(points) > 2 and (spread > 0).all():
        try:
            # Rescale both features, because Qhull treats a feature of much smaller range as flat.
            corners: IntArray = ConvexHull((points - low) / spread).vertices
            return points[corners]
        except QhullError:  # collinear points
            pass
    return _endpoints(points)


def _group_by_candidates(candidates: BoolArray) -> list[IntArray]:
    """Return groups of samples with equal sets of candidates."""
    n_samples, n_clusters = candidates.shape
    # Pack 64 clusters into a word, because words are fast to sort.
    packed = np.zeros((n_samples, 8 * -(-n_clusters // 64)), dtype=np.uint8)
    packed[:, : -(-n_clusters // 8)] = np.packbits(candidates, axis=1)
    words = packed.view(np.uint64)
    order = np.lexsort(words.T)
    changes = (words[order[1:]] != words[order[:-1]]).any(axis=1)
    return np.split(order, np.flatnonzero(changes) + 1)


def _endpoints(points: FloatArray) -> FloatArray:
    """Return both endpoints of collinear points, or a single point if all are equal."""
    first = points[_farthest(points, points.mean(axis=0))]
    second = points[_farthest(points, first)]
    return np.stack([first] if (first == second).all() else [first, second])


def _farthest(points: FloatArray, center: FloatArray) -> int:
    return int(((points - center) ** 2).sum(axis=1).argmax())
