"""Support of clusters by a fitted clusterer: masses, probabilities, shares of distances, or votes."""

from dataclasses import dataclass
from types import NoneType
from typing import Annotated, Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from evlearn.cluster.neighbors.search import find_nearest
from evlearn.partition.estimators import memberships_of, split_pipeline, transform_through_pipeline
from evlearn.storage import fields
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import FloatArray, IntArray

#: Maximum number of distances per block.
_BLOCK_SIZE = 1 << 20


@fields.stored
@dataclass(frozen=True)
class ClustererAdapter:
    """A fitted clusterer with a common method to predict the support of each cluster.

    Rows of support sum to 1, or to less if a part of the support is for noise.
    """

    estimator: Annotated[Any, fields.predictor, fields.NESTED]
    training_rows: Annotated[FloatArray | None, fields.instance(NoneType)]
    n_neighbors: fields.PositiveCount

    @property
    def is_soft(self) -> bool:
        """True if support consists of masses or probabilities, from which labels can be drawn."""
        clusterer = split_pipeline(self.estimator)[1]
        return hasattr(clusterer, "predict_mass") or hasattr(clusterer, "predict_proba")

    def support(self, X: FloatArray) -> FloatArray:
        """Return the support of clusters, of shape (n_samples, n_clusters)."""
        clusterer, rows = transform_through_pipeline(self.estimator, X)
        if hasattr(clusterer, "predict_mass"):
            return np.asarray(clusterer.predict_mass(rows).to_fuzzy("pignistic"), dtype=np.float64)
        if hasattr(clusterer, "predict_proba"):
            return np.asarray(clusterer.predict_proba(rows), dtype=np.float64)
        if self.training_rows is None:
            return _shares_of_distances(np.asarray(rows, dtype=np.float64), clusterer.cluster_centers_)
        return self._votes(clusterer.labels_, np.asarray(rows, dtype=np.float64))

    def _votes(self, labels: Any, rows: FloatArray) -> FloatArray:
        """Return the shares of clusters among the nearest training samples; noise does not vote."""
        votes = memberships_of(labels, labels)
        assert self.training_rows is not None
        n_neighbors = min(self.n_neighbors, len(self.training_rows))
        nearest = find_nearest(self.training_rows, rows, n_neighbors, metric="euclidean", n_jobs=None)
        return np.asarray(votes[nearest.indices.reshape(len(rows), n_neighbors)].mean(axis=1))


def fit_adapter(estimator: Any, X: FloatArray, n_neighbors: int) -> ClustererAdapter:
    """Fit a clusterer, and store the samples if their neighbors must vote."""
    estimator.fit(X)
    clusterer = split_pipeline(estimator)[1]
    if any(hasattr(clusterer, name) for name in ("predict_mass", "predict_proba")):
        return ClustererAdapter(estimator, None, n_neighbors)
    if not hasattr(clusterer, "labels_"):
        raise ValueError(
            f"estimator must be a clusterer with labels_, predict_proba or predict_mass after fit, got "
            f"{clusterer!r}."
        )
    centers = getattr(clusterer, "cluster_centers_", None)
    if hasattr(clusterer, "predict") and centers is not None and len(centers):
        return ClustererAdapter(estimator, None, n_neighbors)
    return ClustererAdapter(
        estimator, np.asarray(transform_through_pipeline(estimator, X)[1], dtype=np.float64), n_neighbors
    )


def best_clusters(support: FloatArray) -> IntArray:
    """Return the cluster with the largest support, or -1 if no cluster has support."""
    if support.shape[1] == 0:
        return np.full(len(support), -1, dtype=np.intp)
    return np.where(support.max(axis=1) > 0, support.argmax(axis=1), -1)


def match_columns(support: FloatArray, reference_labels: IntArray, n_clusters: int, rows: IntArray) -> FloatArray:
    """Reorder columns to match other clusters, by the number of common samples in the given rows.

    Missing clusters have no support, and a last column contains the support of clusters without a counterpart.
    """
    labels = best_clusters(support[rows])
    shared = np.zeros((n_clusters, support.shape[1]))
    is_labeled = (reference_labels[rows] >= 0) & (labels >= 0)
    np.add.at(shared, (reference_labels[rows][is_labeled], labels[is_labeled]), 1)
    columns, matches = linear_sum_assignment(shared, maximize=True)
    result = np.zeros((len(support), n_clusters + 1))
    result[:, columns] = support[:, matches]
    result[:, -1] = np.delete(support, matches, axis=1).sum(axis=1)
    return result


def _shares_of_distances(X: FloatArray, centers: FloatArray) -> FloatArray:
    """Return shares proportional to inverse squared distances, as in fuzzy c-means."""
    shares = np.empty((len(X), len(centers)))
    for block in row_blocks(len(X), max(1, _BLOCK_SIZE // len(centers))):
        distances = cdist(X[block], centers)
        nearest = distances.min(axis=1, keepdims=True)
        # A sample at a center has distance 0; its share is set to 1.
        shares[block] = (nearest / np.where(distances > 0, distances, 1)) ** 2
        shares[block][distances == 0] = 1
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
