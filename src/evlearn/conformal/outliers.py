"""Outlier scores: distances to neighbors relative to the cluster, and their p-values."""

from dataclasses import dataclass

import numpy as np

from evlearn.cluster.neighbors.search import find_nearest, find_neighbors
from evlearn.conformal.p_values import Scores
from evlearn.storage import fields
from evlearn.utils.typing import FloatArray, IntArray


@fields.stored
@dataclass(frozen=True)
class OutlierScorer:
    """Reference samples, the median distance to a neighbor in each cluster, and reference scores.

    The last median is for samples without a cluster.
    """

    samples: fields.Matrix
    medians: fields.NonnegativeVector
    scores: Scores
    n_neighbors: fields.PositiveCount

    @classmethod
    def fit(
        cls, samples: FloatArray, best: IntArray, n_clusters: int, fitted: IntArray, n_neighbors: int
    ) -> tuple["OutlierScorer", FloatArray]:
        """Fit to samples and their clusters; return the scorer and the p-values of these samples.

        Medians are those of the samples that the model was fitted to. The reference scores are those of all other
        samples, if there are any, because these are exchangeable with new samples.
        """
        n_neighbors = min(n_neighbors, len(samples) - 1)
        nearest = find_neighbors(samples, n_neighbors, metric="euclidean", n_jobs=None, keep=True)
        distances = np.asarray(nearest.distances).max(axis=1)
        medians = _median_distances(distances[fitted], best[fitted], n_clusters, n_neighbors)
        ratios = distances / medians[best]
        others = np.setdiff1d(np.arange(len(samples)), fitted)
        references = others if len(others) else fitted
        scores = Scores.of(ratios[references], references)
        p_values = scores.p_values(ratios)
        # A sample that is its own reference counts once.
        p_values[references] += (p_values[references] - 1) / len(references)
        return cls(samples, medians, scores, n_neighbors), p_values

    def p_values(self, rows: FloatArray, best: IntArray) -> FloatArray:
        """Return the shares of reference scores that are at least as large as those of samples."""
        nearest = find_nearest(self.samples, rows, self.n_neighbors, metric="euclidean", n_jobs=None)
        distances = nearest.data.reshape(len(rows), self.n_neighbors).max(axis=1)
        return self.scores.p_values(distances / self.medians[best])


def _median_distances(distances: FloatArray, best: IntArray, n_clusters: int, n_neighbors: int) -> FloatArray:
    """Return the median distance in each cluster, and of all samples, also used for small clusters."""
    overall = float(np.median(distances)) or float(distances.mean()) or 1.0
    members = [distances[best == k] for k in range(n_clusters)]
    medians = [float(np.median(values)) if len(values) > n_neighbors else 0.0 for values in members]
    return np.array([*(values or overall for values in medians), overall])
