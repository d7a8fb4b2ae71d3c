"""Some samples of a stream while it is young: its first portion need not show what is to come."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils import check_random_state

from evlearn.blocks import ArrayRows, Rows
from evlearn.cluster.centroids.fit import look_at
from evlearn.cluster.centroids.kmeans import squared_distances
from evlearn.cluster.centroids.model import Coordinates
from evlearn.cluster.centroids.robust_kmeans import kmeans_solutions
from evlearn.cluster.neighbors.search import find_neighbors
from evlearn.utils.typing import FloatArray

#: The size of the sample, or its size per cluster if that is more.
_ROWS, _ROWS_EACH = 1000, 20
#: A stream without forgetting is young until this multiple of the sample size has come.
_YOUTH = 100
#: Distances, or squared distances to prototypes, that differ by more than this factor are a surprise.
_SURPRISING = 1.5
#: The share of rows that are left out as possible outliers: the farthest from this number of neighbors.
_ISOLATED, _N_NEIGHBORS = 0.05, 5


@dataclass(frozen=True)
class YoungStream:
    """A random sample of the rows of a stream, against which its prototypes are checked.

    Without forgetting, all rows so far are equally likely to be in the sample. With a finite `half_life`, the
    probability that a row is still in the sample halves with every ``half_life / 2`` further rows. The sample
    forgets faster than the statistics, so that it reveals prototypes that lag behind a drift.

    Attributes
    ----------
    rows : ndarray of shape (n, n_features)
        The sample.
    weights : ndarray of shape (n,)
        The weights of its rows.
    looked_at : int, default=0
        The number of rows that had come at the last look at the sample.
    """

    rows: FloatArray
    weights: FloatArray
    looked_at: int = 0

    @classmethod
    def of(cls, rows: Rows, weights: FloatArray | None, memory: "Memory") -> "YoungStream | None":
        """Return the sample of a stream that begins, or None if its first portion is large enough."""
        nothing = cls(np.empty((0, rows.n_features), dtype=rows.dtype), np.empty(0), len(rows))
        return nothing.with_rows(rows, weights, 0, memory)

    def with_rows(
        self, rows: Rows, weights: FloatArray | None, n_seen: int, memory: "Memory"
    ) -> "YoungStream | None":
        """Return the sample after some more rows, or None if the stream is not young any more."""
        if n_seen + len(rows) >= memory.youth:
            return None
        # The parameters of the stream may have changed since the last call.
        before = min(len(self.rows), memory.size)
        n_rows = min(memory.size, before + len(rows))
        places = np.arange(len(rows))
        # Chance depends on the place in the stream alone, so that a model file holds everything that matters.
        chance = np.random.RandomState(n_seen % 2**32).random_sample(len(rows))
        slots = (chance * np.clip(n_seen + places + 1, memory.size, memory.n_rows)).astype(np.intp)
        slots = np.where(before + places < memory.size, before + places, slots)
        kept = np.flatnonzero(slots < memory.size)
        sample = np.empty((n_rows, rows.n_features), dtype=np.result_type(self.rows, rows.dtype))
        counts = np.ones(n_rows)
        sample[:before], counts[:before] = self.rows[:before], self.weights[:before]
        sample[slots[kept]] = rows.take(kept)
        counts[slots[kept]] = 1.0 if weights is None else weights[kept]
        return replace(self, rows=sample, weights=counts)

    def is_due(self, n_seen: int, n_clusters: int, memory: "Memory") -> bool:
        """Return True if as many rows have come since the last look as before it, or as are remembered."""
        n_new = n_seen - self.looked_at
        return n_new >= min(self.looked_at, memory.n_rows) and int((self.weights > 0).sum()) >= n_clusters

    def seen_at(self, n_seen: int) -> Self:
        """Return the same sample with the number of rows at this look."""
        return replace(self, looked_at=n_seen)

    def without_isolated_rows(self, n_clusters: int) -> Self:
        """Return the sample without the 5 % of its rows that are farthest from their neighbors."""
        counted = np.flatnonzero(self.weights > 0)
        n_isolated = min(int(_ISOLATED * len(counted)), len(counted) - n_clusters)
        if n_isolated <= 0:
            return self
        rows = self.rows[counted]
        inside = Coordinates.of(rows).enter(rows)
        n_neighbors = min(_N_NEIGHBORS, len(rows) - 1)
        neighbors = find_neighbors(inside, n_neighbors, metric="euclidean", n_jobs=None, keep=True)
        isolation = np.asarray(neighbors.distances).max(axis=1)
        kept = counted[np.sort(np.argsort(isolation, kind="stable")[:-n_isolated])]
        return replace(self, rows=self.rows[kept], weights=self.weights[kept])

    def surprises(self, method: Any, centers: FloatArray, delta: float) -> bool:
        """Return True if k-means finds much better centers, or if distances have another size."""
        random = check_random_state(method.random_state)
        seen = look_at(ArrayRows(self.rows), self.weights, method.delta, random)
        if not 1 / _SURPRISING <= seen.delta / delta <= _SURPRISING and isinstance(method.delta, str):
            return True
        if not isinstance(method.init, str):
            return False
        best = kmeans_solutions(len(centers), seen.sample, seen.counts, random, n_init=1)[0]
        return self.sum_of_squares(centers) > _SURPRISING * self.sum_of_squares(best)

    def sum_of_squares(self, centers: FloatArray) -> float:
        """Return the weighted sum of the squared distances of the rows to the nearest centers."""
        coordinates = Coordinates.of(self.rows)
        squares = squared_distances(coordinates.enter(self.rows), coordinates.enter(centers))
        return float(self.weights @ squares.min(axis=1))


class Memory(NamedTuple):
    """The extent of the sample of a stream.

    Attributes
    ----------
    size : int
        The number of rows in the sample.
    n_rows : float
        The number of rows that the sample represents; infinity if it represents all rows.
    youth : float
        The number of rows after which no sample is kept; infinity if the stream forgets.
    """

    size: int
    n_rows: float
    youth: float

    @classmethod
    def of(cls, half_life: float | None, n_clusters: int) -> "Memory":
        """Return the extent of the sample for a number of clusters."""
        size = max(_ROWS, _ROWS_EACH * n_clusters)
        if half_life is None or half_life == np.inf:
            return cls(size, np.inf, _YOUTH * size)
        # The sum of 2 ** (-age / (half_life / 2)) over all rows.
        n_rows = half_life / 2 / np.log(2)
        size = int(np.clip(n_rows, _ROWS_EACH * n_clusters, size))
        return cls(size, max(n_rows, size), np.inf)
