"""Some samples of a stream while it is young: its first portion need not show what is to come."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from evlearn.blocks import ArrayRows, Rows
from evlearn.cluster.centroids.fit import look_at
from evlearn.cluster.centroids.starts import kmeans_solutions, squared_distances
from evlearn.utils.typing import FloatArray

#: So many samples are kept, or so many for each cluster, if that is more.
_ROWS, _ROWS_EACH = 1000, 20
#: A stream is young until so many times as many have come.
_YOUTH = 100
#: Distances, or squared distances to prototypes, that differ by more than this factor are a surprise.
_SURPRISING = 1.5


@dataclass(frozen=True)
class YoungStream:
    """An even sample of all rows so far.

    Attributes
    ----------
    rows : ndarray of shape (n, n_features)
        The sample.
    weights : ndarray of shape (n,)
        How much its rows count.
    looked_at : int, default=0
        How many rows had come when the sample was last looked at.
    """

    rows: FloatArray
    weights: FloatArray
    looked_at: int = 0

    @staticmethod
    def size(n_clusters: int) -> int:
        """How many rows are kept."""
        return max(_ROWS, _ROWS_EACH * n_clusters)

    @classmethod
    def of(cls, rows: Rows, weights: FloatArray | None, n_clusters: int) -> "YoungStream | None":
        """The sample of a stream that begins; None if so many rows come at once that these need no second look."""
        nothing = cls(np.empty((0, rows.n_features), dtype=rows.dtype), np.empty(0), len(rows))
        return nothing.with_rows(rows, weights, 0, n_clusters)

    def with_rows(
        self, rows: Rows, weights: FloatArray | None, n_seen: int, n_clusters: int
    ) -> "YoungStream | None":
        """The sample after some more rows, or None if the stream is not young any more."""
        size = self.size(n_clusters)
        places = np.arange(n_seen, n_seen + len(rows))
        if n_seen + len(rows) >= _YOUTH * size:
            return None
        # Chance depends on the place in the stream alone, so that a model file holds all there is to know.
        random = np.random.RandomState(n_seen)
        slots = np.where(places < size, places, (random.random_sample(len(places)) * (places + 1)).astype(np.intp))
        kept = np.flatnonzero(slots < size)
        n_rows = min(size, n_seen + len(rows))
        sample = np.empty((n_rows, rows.n_features), dtype=np.result_type(self.rows, rows.dtype))
        counts = np.ones(n_rows)
        sample[: len(self.rows)], counts[: len(self.rows)] = self.rows, self.weights
        sample[slots[kept]] = rows.take(kept)
        counts[slots[kept]] = 1.0 if weights is None else weights[kept]
        return replace(self, rows=sample, weights=counts)

    def is_due(self, n_seen: int, n_clusters: int) -> bool:
        """Whether there are twice as many rows as when the sample was last looked at."""
        return n_seen >= 2 * self.looked_at and int((self.weights > 0).sum()) >= n_clusters

    def seen_at(self, n_seen: int) -> "YoungStream":
        """The same, and that it has been looked at."""
        return replace(self, looked_at=n_seen)

    def surprises(self, method: Any, centers: FloatArray, delta: float) -> bool:
        """Whether the sample shows clusters elsewhere, or distances of another size, than are known."""
        random = check_random_state(method.random_state)
        seen = look_at(ArrayRows(self.rows), self.weights, method.delta, random)
        if not 1 / _SURPRISING <= seen.delta / delta <= _SURPRISING and isinstance(method.delta, str):
            return True
        if not isinstance(method.init, str):
            return False
        best = kmeans_solutions(len(centers), seen.sample, seen.counts, random, n_init=1)[0]
        rows = seen.coordinates.enter(seen.sample)
        known, found = (
            seen.counts @ squared_distances(rows, seen.coordinates.enter(one)).min(axis=1)
            for one in (centers, best)
        )
        return bool(known > _SURPRISING * found)
