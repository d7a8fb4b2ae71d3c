"""Nonconformity scores of clusters, outlier scores, and their p-values and plausibilities."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from evlearn.neighbors import find_nearest, find_neighbors
from evlearn.storage import fields
from evlearn.utils.typing import BoolArray, FloatArray, IntArray


def nonconformity(support: FloatArray) -> FloatArray:
    """Return nonconformity scores of clusters: negative for the best cluster, and minus log support for others.

    So no other cluster enters a set before every sample has its best one. Logarithms distinguish clusters with
    very little support; with ties among them, sets would often contain all clusters.
    """
    best = support >= support.max(axis=1, keepdims=True, initial=0)
    return np.asarray(np.where(best, -support, -np.log(np.maximum(support, np.finfo(np.float64).tiny))))


@fields.stored
@dataclass(frozen=True)
class Scores:
    """Sorted reference scores, possibly several per sample."""

    values: Annotated[FloatArray, fields.ascending]
    n_samples: fields.PositiveCount

    @classmethod
    def of(cls, values: FloatArray, samples: IntArray) -> "Scores":
        """Return the reference scores of samples, which may be repeated."""
        return cls(np.sort(values), len(np.unique(samples)))

    def p_values(self, values: FloatArray) -> FloatArray:
        """Return the shares of samples, including the new one, whose scores are at least as large."""
        larger = 1 - np.searchsorted(self.values, values, side="left") / len(self.values)
        return np.asarray((1 + self.n_samples * larger) / (self.n_samples + 1))


def contour(p_values: FloatArray, best: BoolArray, outlier_p_values: FloatArray, level: float) -> FloatArray:
    """Return valid plausibilities of clusters, which are 1 for the best cluster of samples that are not outliers.

    `level`, the rate of errors by outliers, is added to the p-values, so that the total error rate is valid. The
    plausibilities of outliers, whose p-values are at most `level`, are at most 0.5.
    """
    plausible = np.where(best, 1, np.minimum(p_values + level, 1))
    is_outlier = outlier_p_values <= level
    plausible[is_outlier] = (
        (outlier_p_values[is_outlier] / (2 * level))[:, None] * (1 + plausible[is_outlier]) / 2 if level > 0 else 0
    )
    return np.asarray(plausible)


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
        return self.scores.p_values(self.ratios(rows, best))

    def ratios(self, rows: FloatArray, best: IntArray) -> FloatArray:
        """Return the distances of samples to their neighbors, relative to the median in their clusters."""
        nearest = find_nearest(self.samples, rows, self.n_neighbors, metric="euclidean", n_jobs=None)
        distances = nearest.data.reshape(len(rows), self.n_neighbors).max(axis=1)
        return np.asarray(distances / self.medians[best])


def _median_distances(distances: FloatArray, best: IntArray, n_clusters: int, n_neighbors: int) -> FloatArray:
    """Return the median distance in each cluster, and of all samples, also used for small clusters."""
    overall = float(np.median(distances)) or float(distances.mean()) or 1.0
    members = [distances[best == k] for k in range(n_clusters)]
    medians = [float(np.median(values)) if len(values) > n_neighbors else 0.0 for values in members]
    return np.array([*(values or overall for values in medians), overall])
