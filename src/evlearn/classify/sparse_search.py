"""Nearest neighbours of sparse rows, by the search of scikit-learn."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from evlearn.blocks.sparse import SparseBlock
from evlearn.utils.typing import FloatArray


class SparseSearch(NamedTuple):
    """Sparse samples, with the questions that `evlearn.classify.box_tree.BoxTree` answers for dense ones.

    Attributes
    ----------
    samples : SparseBlock
        The samples.
    """

    samples: SparseBlock

    def nearest_others(
        self, n_neighbors: int, *, n_jobs: int | None = None
    ) -> tuple[npt.NDArray[np.int32], FloatArray]:
        """The nearest neighbours of each sample among the others, and squared distances."""
        return self._nearest(None, n_neighbors, n_jobs)

    def nearest_of(
        self, rows: Any, n_neighbors: int, *, n_jobs: int | None = None
    ) -> tuple[npt.NDArray[np.int32], FloatArray]:
        """The nearest samples of rows, and squared distances."""
        return self._nearest(SparseBlock(getattr(rows, "matrix", rows)).matrix, n_neighbors, n_jobs)

    def _nearest(
        self, asking: Any, n_neighbors: int, n_jobs: int | None
    ) -> tuple[npt.NDArray[np.int32], FloatArray]:
        from sklearn.neighbors import NearestNeighbors  # here, because it takes long to import

        search = NearestNeighbors(n_neighbors=n_neighbors, algorithm="brute", n_jobs=n_jobs)
        distances, indices = search.fit(self.samples.matrix).kneighbors(asking)
        return indices.astype(np.int32), np.asarray(distances**2)
