"""What a fitted clusterer says for each cluster, as shares: of masses, probabilities, distances or votes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from evlearn.cluster.neighbors.search import nearest_among
from evlearn.partition.estimators import memberships_of, reached, split_pipeline
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import FloatArray, IntArray

_BLOCK_NUMBERS = 1 << 20


@dataclass(frozen=True)
class Speaker:
    """A fitted clusterer that gives every sample, old or new, a share of support for each of its clusters.

    Rows sum to one, or to less where a part of the support is for no cluster.
    """

    estimator: Any
    known: FloatArray | None
    n_neighbors: int

    @property
    def is_soft(self) -> bool:
        """Whether the shares are masses or probabilities, from which labels can be drawn."""
        clusterer = split_pipeline(self.estimator)[1]
        return hasattr(clusterer, "predict_mass") or hasattr(clusterer, "predict_proba")

    def support(self, X: FloatArray) -> FloatArray:
        """The shares of samples, in columns by cluster."""
        clusterer, seen = reached(self.estimator, X)
        if hasattr(clusterer, "predict_mass"):
            return np.asarray(clusterer.predict_mass(seen).to_fuzzy("pignistic"), dtype=np.float64)
        if hasattr(clusterer, "predict_proba"):
            return np.asarray(clusterer.predict_proba(seen), dtype=np.float64)
        if self.known is None:
            return _shares_of_distances(np.asarray(seen, dtype=np.float64), clusterer.cluster_centers_)
        return self._votes(clusterer.labels_, np.asarray(seen, dtype=np.float64))

    def _votes(self, labels: Any, seen: FloatArray) -> FloatArray:
        """How many of the nearest fitted samples each cluster has; noise has none."""
        votes = memberships_of(labels, labels)
        assert self.known is not None
        n_neighbors = min(self.n_neighbors, len(self.known))
        nearest = nearest_among(self.known, seen, n_neighbors, metric="euclidean", n_jobs=None)
        return np.asarray(votes[nearest.indices.reshape(len(seen), n_neighbors)].mean(axis=1))


def fit_speaker(estimator: Any, X: FloatArray, n_neighbors: int) -> Speaker:
    """Fit a clusterer, and keep the samples where neighbours must speak for it."""
    estimator.fit(X)
    clusterer = split_pipeline(estimator)[1]
    if any(hasattr(clusterer, name) for name in ("predict_mass", "predict_proba")):
        return Speaker(estimator, None, n_neighbors)
    if not hasattr(clusterer, "labels_"):
        raise ValueError(
            f"estimator must be a clusterer, got {clusterer!r}, which after its fit has neither labels_ nor "
            "predict_proba nor predict_mass."
        )
    centers = getattr(clusterer, "cluster_centers_", None)
    if hasattr(clusterer, "predict") and centers is not None and len(centers):
        return Speaker(estimator, None, n_neighbors)
    return Speaker(estimator, np.asarray(reached(estimator, X)[1], dtype=np.float64), n_neighbors)


def best_clusters(support: FloatArray) -> IntArray:
    """The cluster with most support, or -1 where no cluster has any."""
    if support.shape[1] == 0:
        return np.full(len(support), -1, dtype=np.intp)
    return np.where(support.max(axis=1) > 0, support.argmax(axis=1), -1)


def matched_columns(support: FloatArray, wanted: IntArray, n_clusters: int, rows: IntArray) -> FloatArray:
    """Columns in the order of other clusters with which they share most samples of some rows.

    Clusters that are missing have no support, and a last column holds that for clusters without a counterpart.
    """
    found = best_clusters(support[rows])
    shared = np.zeros((n_clusters, support.shape[1]))
    both = (wanted[rows] >= 0) & (found >= 0)
    np.add.at(shared, (wanted[rows][both], found[both]), 1)
    own, other = linear_sum_assignment(shared, maximize=True)
    result = np.zeros((len(support), n_clusters + 1))
    result[:, own] = support[:, other]
    result[:, -1] = np.delete(support, other, axis=1).sum(axis=1)
    return result


def _shares_of_distances(X: FloatArray, centers: FloatArray) -> FloatArray:
    """Shares in proportion to one over the squared distance, as in fuzzy c-means."""
    shares = np.empty((len(X), len(centers)))
    for block in row_blocks(len(X), max(1, _BLOCK_NUMBERS // len(centers))):
        distances = cdist(X[block], centers)
        nearest = distances.min(axis=1, keepdims=True)
        # One where a sample is at the centre, which has no distance to divide by.
        shares[block] = (nearest / np.where(distances > 0, distances, 1)) ** 2
        shares[block][distances == 0] = 1
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
