"""How far samples are from the others, beside what is usual in their cluster, and p-values of that."""

from dataclasses import dataclass

import numpy as np

from evlearn.cluster.neighbors.search import find_neighbors, nearest_among
from evlearn.conformal.p_values import Scores
from evlearn.utils.typing import FloatArray, IntArray


@dataclass(frozen=True)
class Remoteness:
    """Known samples, what distance to a neighbour is usual in each cluster, and ratios to which others compare.

    The last of the usual distances is that of samples without a cluster.
    """

    known: FloatArray
    usual: FloatArray
    scores: Scores
    n_neighbors: int

    @classmethod
    def of(
        cls, known: FloatArray, best: IntArray, n_clusters: int, fitted: IntArray, n_neighbors: int
    ) -> tuple["Remoteness", FloatArray]:
        """Learn from samples and their clusters; p-values of these samples beside it.

        What is usual is learned from samples that the model was fitted to. All others are compared with, if there
        are any: they are exchangeable with new samples, whatever the model has learned.
        """
        n_neighbors = min(n_neighbors, len(known) - 1)
        nearest = find_neighbors(known, n_neighbors, metric="euclidean", n_jobs=None, keep=True)
        distances = np.asarray(nearest.distances).max(axis=1)
        usual = _usual(distances[fitted], best[fitted], n_clusters, n_neighbors)
        ratios = distances / usual[best]
        others = np.setdiff1d(np.arange(len(known)), fitted)
        compared = others if len(others) else fitted
        scores = Scores.of(ratios[compared], compared)
        p_values = scores.p_values(ratios)
        # A sample that is among those compared with counts once.
        p_values[compared] += (p_values[compared] - 1) / len(compared)
        return cls(known, usual, scores, n_neighbors), p_values

    def p_values(self, seen: FloatArray, best: IntArray) -> FloatArray:
        """The share of samples that are at least as far from others, by the measure of their clusters."""
        nearest = nearest_among(self.known, seen, self.n_neighbors, metric="euclidean", n_jobs=None)
        distances = nearest.data.reshape(len(seen), self.n_neighbors).max(axis=1)
        return self.scores.p_values(distances / self.usual[best])


def _usual(distances: FloatArray, best: IntArray, n_clusters: int, n_neighbors: int) -> FloatArray:
    """The median distance in each cluster, and of all: that is for clusters with too few neighbours."""
    middle = float(np.median(distances)) or float(distances.mean()) or 1.0
    members = [distances[best == k] for k in range(n_clusters)]
    medians = [float(np.median(one)) if len(one) > n_neighbors else 0.0 for one in members]
    return np.array([*(one or middle for one in medians), middle])
