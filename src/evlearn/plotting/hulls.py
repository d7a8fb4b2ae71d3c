"""Convex hulls of the lower and upper approximations of clusters."""

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from evlearn.utils.typing import BoolArray, FloatArray, IntArray


def cluster_hulls(points: FloatArray, candidates: BoolArray) -> tuple[list[FloatArray], list[FloatArray]]:
    """The hulls of the lower and of the upper approximation of each cluster.

    Each sample goes through one hull only, that of the samples with the same candidates; the hull of an
    approximation is the hull of such hulls. So the cost grows with the samples, however many are torn.

    Returns
    -------
    lower, upper : list of ndarray of shape (n_corners, 2)
        The corners of the hulls, see `convex_hull`.
    """
    groups = _groups(candidates)
    sets = candidates[[group[0] for group in groups]]
    hulls = [convex_hull(points[group]) for group in groups]
    corners = np.concatenate(hulls)
    owners = np.repeat(np.arange(len(groups)), [len(hull) for hull in hulls])
    sure = sets.sum(axis=1) == 1
    lower = [corners[(sets[:, cluster] & sure)[owners]] for cluster in range(candidates.shape[1])]
    upper = [convex_hull(corners[sets[owners, cluster]]) for cluster in range(candidates.shape[1])]
    return lower, upper


def convex_hull(points: FloatArray) -> FloatArray:
    """The corners of the convex hull, in order around it."""
    if len(points) < 2:
        return points
    low, spread = points.min(axis=0), np.ptp(points, axis=0)
    if len(points) > 2 and (spread > 0).all():
        try:
            # Both features on one scale, because Qhull takes for flat what is small beside the larger one.
            corners: IntArray = ConvexHull((points - low) / spread).vertices
            return points[corners]
        except QhullError:  # all on a line
            pass
    return _ends(points)


def _groups(candidates: BoolArray) -> list[IntArray]:
    """The samples, grouped by their set of candidates."""
    n_samples, n_clusters = candidates.shape
    # 64 clusters in a word, because comparing words is what sorts quickly.
    packed = np.zeros((n_samples, 8 * -(-n_clusters // 64)), dtype=np.uint8)
    packed[:, : -(-n_clusters // 8)] = np.packbits(candidates, axis=1)
    words = packed.view(np.uint64)
    order = np.lexsort(words.T)
    changes = (words[order[1:]] != words[order[:-1]]).any(axis=1)
    return np.split(order, np.flatnonzero(changes) + 1)


def _ends(points: FloatArray) -> FloatArray:
    """The two ends of points on a line, or the one point that all are."""
    first = points[_farthest(points, points.mean(axis=0))]
    second = points[_farthest(points, first)]
    return np.stack([first] if (first == second).all() else [first, second])


def _farthest(points: FloatArray, centre: FloatArray) -> int:
    return int(((points - centre) ** 2).sum(axis=1).argmax())
