"""Buffer of samples from the beginning of a stream, whose first batch may not be representative."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils import check_random_state

from evlearn.blocks import ArrayDataset, RowDataset
from evlearn.cluster.centroids.fit import summarize_data
from evlearn.cluster.centroids.kmeans import squared_distances
from evlearn.cluster.centroids.model import Coordinates
from evlearn.cluster.centroids.robust_kmeans import kmeans_solutions
from evlearn.cluster.neighbors.search import find_neighbors
from evlearn.storage import fields
from evlearn.utils.typing import FloatArray

#: Size of the buffer, or size per cluster if that is larger.
_SIZE, _SIZE_EACH = 1000, 20
#: Number of rows during which a stream without forgetting is checked, as a multiple of the size of the buffer.
_WARMUP_FACTOR = 100
#: Factor between distances, or between squared distances to prototypes, beyond which a stream is refitted.
_REFIT_FACTOR = 1.5
#: Share of rows that are ignored as possible outliers, and the number of neighbors that determines their
#: isolation.
_ISOLATED_SHARE, _N_NEIGHBORS = 0.05, 5


@fields.stored
@dataclass(frozen=True)
class WarmupBuffer:
    """Random sample of the rows of a stream, against which its prototypes are checked.

    Without forgetting, all rows so far are equally likely to be in the buffer. With a finite `half_life`, the
    probability that a row is still in the buffer halves with every ``half_life / 2`` further rows. The buffer
    forgets faster than the statistics, so that it reveals prototypes that lag behind a drift.

    Attributes
    ----------
    rows : ndarray of shape (n, n_features)
        Sample.
    weights : ndarray of shape (n,)
        Weights of the rows.
    n_seen_at_check : int, default=0
        Number of rows seen at the last check.
    """

    rows: fields.Matrix
    weights: fields.NonnegativeVector
    n_seen_at_check: int = 0

    @classmethod
    def of(cls, rows: RowDataset, weights: FloatArray | None, limits: "BufferLimits") -> "WarmupBuffer | None":
        """Return the buffer of a new stream, or None if its first batch is large enough."""
        empty = cls(np.empty((0, rows.n_features), dtype=rows.dtype), np.empty(0), len(rows))
        return empty.with_rows(rows, weights, 0, limits)

    def with_rows(
        self, rows: RowDataset, weights: FloatArray | None, n_seen: int, limits: "BufferLimits"
    ) -> "WarmupBuffer | None":
        """Return the buffer after further rows, or None if the warm-up is over."""
        if n_seen + len(rows) >= limits.n_warmup:
            return None
        # The parameters of the stream may have changed since the last call.
        before = min(len(self.rows), limits.size)
        n_rows = min(limits.size, before + len(rows))
        positions = np.arange(len(rows))
        # Random numbers depend on the position in the stream alone, so that model files contain the whole state.
        uniforms = np.random.RandomState(n_seen % 2**32).random_sample(len(rows))
        slots = (uniforms * np.clip(n_seen + positions + 1, limits.size, limits.n_represented)).astype(np.intp)
        slots = np.where(before + positions < limits.size, before + positions, slots)
        inserted = np.flatnonzero(slots < limits.size)
        sample = np.empty((n_rows, rows.n_features), dtype=np.result_type(self.rows, rows.dtype))
        counts = np.ones(n_rows)
        sample[:before], counts[:before] = self.rows[:before], self.weights[:before]
        sample[slots[inserted]] = rows.take(inserted)
        counts[slots[inserted]] = 1.0 if weights is None else weights[inserted]
        return replace(self, rows=sample, weights=counts)

    def is_due(self, n_seen: int, n_clusters: int, limits: "BufferLimits") -> bool:
        """Return True if the rows since the last check are as many as before it, or as the buffer represents."""
        n_new = n_seen - self.n_seen_at_check
        return (
            n_new >= min(self.n_seen_at_check, limits.n_represented)
            and int((self.weights > 0).sum()) >= n_clusters
        )

    def checked_at(self, n_seen: int) -> Self:
        """Return the same buffer with the number of rows at this check."""
        return replace(self, n_seen_at_check=n_seen)

    def without_isolated_rows(self, n_clusters: int) -> Self:
        """Return the buffer without the 5 % of its rows that are farthest from their neighbors."""
        indices = np.flatnonzero(self.weights > 0)
        n_isolated = min(int(_ISOLATED_SHARE * len(indices)), len(indices) - n_clusters)
        if n_isolated <= 0:
            return self
        rows = self.rows[indices]
        points = Coordinates.of(rows).transform(rows)
        n_neighbors = min(_N_NEIGHBORS, len(rows) - 1)
        neighbors = find_neighbors(points, n_neighbors, metric="euclidean", n_jobs=None, keep=True)
        isolation = np.asarray(neighbors.distances).max(axis=1)
        remaining = indices[np.sort(np.argsort(isolation, kind="stable")[:-n_isolated])]
        return replace(self, rows=self.rows[remaining], weights=self.weights[remaining])

    def needs_refit(self, method: Any, centers: FloatArray, delta: float) -> bool:
        """Return True if k-means finds much better centers, or if the scale of distances differs."""
        random = check_random_state(method.random_state)
        summary = summarize_data(ArrayDataset(self.rows), self.weights, method.delta, random)
        if not 1 / _REFIT_FACTOR <= summary.delta / delta <= _REFIT_FACTOR and isinstance(method.delta, str):
            return True
        if not isinstance(method.init, str):
            return False
        best = kmeans_solutions(len(centers), summary.sample, summary.counts, random, n_init=1)[0]
        return self.sum_of_squares(centers) > _REFIT_FACTOR * self.sum_of_squares(best)

    def sum_of_squares(self, centers: FloatArray) -> float:
        """Return the weighted sum of the squared distances of the rows to the nearest centers."""
        coordinates = Coordinates.of(self.rows)
        squares = squared_distances(coordinates.transform(self.rows), coordinates.transform(centers))
        return float(self.weights @ squares.min(axis=1))


class BufferLimits(NamedTuple):
    """Size and duration of the buffer of a stream.

    Attributes
    ----------
    size : int
        Number of rows in the buffer.
    n_represented : float
        Number of rows that the buffer represents; infinity if it represents all rows.
    n_warmup : float
        Number of rows after which no buffer is kept; infinity if the stream forgets.
    """

    size: int
    n_represented: float
    n_warmup: float

    @classmethod
    def of(cls, half_life: float | None, n_clusters: int) -> "BufferLimits":
        """Return the limits for a half-life and a number of clusters."""
        size = max(_SIZE, _SIZE_EACH * n_clusters)
        if half_life is None or half_life == np.inf:
            return cls(size, np.inf, _WARMUP_FACTOR * size)
        # The sum of 2 ** (-age / (half_life / 2)) over all rows.
        n_represented = half_life / 2 / np.log(2)
        size = int(np.clip(n_represented, _SIZE_EACH * n_clusters, size))
        return cls(size, max(n_represented, size), np.inf)
