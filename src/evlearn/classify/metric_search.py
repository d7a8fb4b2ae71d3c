"""Nearest neighbors by scikit-learn's search, for sparse rows and other metrics, or by precomputed distances."""

from dataclasses import dataclass
from functools import cached_property
from types import NoneType
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from evlearn.blocks.sparse import SparseBlock
from evlearn.storage import fields
from evlearn.utils.typing import FloatArray, Metric


@fields.stored
@dataclass(frozen=True)
class MetricSearch:
    """Neighbor search with the interface of `evlearn.classify.box_tree.BoxTree`, for any metric.

    Attributes
    ----------
    samples : SparseBlock or ndarray of shape (n_samples, n_features)
        Samples.
    metric : str or callable
        Distance of samples.
    """

    samples: Annotated[Any, fields.array(2, low=-1e150, high=1e150)]
    metric: Annotated[Metric, fields.text()]

    def nearest_others(
        self, n_neighbors: int, *, n_jobs: int | None = None
    ) -> tuple[npt.NDArray[np.int32], FloatArray]:
        """Return the nearest other samples of each sample, and squared distances."""
        return self._nearest(None, n_neighbors, n_jobs)

    def nearest_of(
        self, rows: Any, n_neighbors: int, *, n_jobs: int | None = None
    ) -> tuple[npt.NDArray[np.int32], FloatArray]:
        """Return the nearest samples of rows, and squared distances."""
        if isinstance(self.samples, SparseBlock) and not isinstance(rows, SparseBlock):
            rows = SparseBlock(rows)
        return self._nearest(plain_rows(rows), n_neighbors, n_jobs)

    def _nearest(
        self, queries: Any, n_neighbors: int, n_jobs: int | None
    ) -> tuple[npt.NDArray[np.int32], FloatArray]:
        self._search.set_params(n_jobs=n_jobs)
        distances, indices = self._search.kneighbors(queries, n_neighbors)
        return indices.astype(np.int32), np.asarray(distances**2)

    @cached_property
    def _search(self) -> Any:
        from sklearn.neighbors import NearestNeighbors  # slow import

        algorithm = "brute" if isinstance(self.samples, SparseBlock) else "auto"
        search = NearestNeighbors(metric=self.metric, algorithm=algorithm)
        return search.fit(plain_rows(self.samples))


def plain_rows(rows: Any) -> Any:
    """Convert rows for scikit-learn metrics: sparse rows have 32-bit indices."""
    if not isinstance(rows, SparseBlock):
        return rows
    matrix = rows.matrix
    parts = (matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32))
    return csr_matrix(parts, shape=matrix.shape)


@fields.stored
@dataclass(frozen=True)
class GivenDistances:
    """Neighbor search by precomputed distances; ties are sorted by number. Rows of new samples contain distances.

    Attributes
    ----------
    distances : ndarray of shape (n_samples, n_samples) or None
        Distances between the samples, which are required only for a fit.
    """

    distances: Annotated[FloatArray | None, fields.instance(NoneType)]

    def nearest_others(
        self, n_neighbors: int, *, n_jobs: int | None = None
    ) -> tuple[npt.NDArray[np.int32], FloatArray]:
        """Return the nearest other samples of each sample, and squared distances."""
        others = np.array(self.distances)
        np.fill_diagonal(others, np.inf)
        return self.nearest_of(others, n_neighbors, n_jobs=n_jobs)

    def nearest_of(
        self, rows: FloatArray, n_neighbors: int, *, n_jobs: int | None = None
    ) -> tuple[npt.NDArray[np.int32], FloatArray]:
        """Return the nearest samples of rows, and squared distances."""
        nearest = np.argsort(rows, axis=1, kind="stable")[:, :n_neighbors]
        return nearest.astype(np.int32), np.take_along_axis(rows, nearest, axis=1) ** 2
