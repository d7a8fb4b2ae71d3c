r"""Neighborhoods of samples, such as the voxels of an image: distances averaged over neighbors.

With shares :math:`w_{it}` that sum to 1 over a sample and its neighbors, their mean
:math:`\tilde x_i=\sum_tw_{it}x_t` and their spread :math:`u_i^2=\sum_tw_{it}\|x_t-\tilde x_i\|^2`,

.. math:: \sum_tw_{it}\|x_t-v\|^2=\|\tilde x_i-v\|^2+u_i^2\quad\text{for every point }v .

So the averaged cost of every set of clusters is its cost for a row :math:`(\tilde x_i,u_i)` whose last column is 0
in all prototypes. This requires one product with the graph before a fit, and no additional work in its iterations.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from evlearn.utils.chunks import row_blocks
from evlearn.utils.quantiles import weighted_quantile
from evlearn.utils.typing import BoolArray, FloatArray, GraphLike
from evlearn.utils.validation import check_sparse

_BLOCK_ROWS = 1 << 16
#: Median absolute value of a standard normal distribution.
_NORMAL_MEDIAN = 0.6744897501960817


@dataclass(frozen=True)
class Neighborhoods:
    """Neighbors of samples, and their shares.

    Attributes
    ----------
    weights : csr_array of shape (n_samples, n_samples)
        Shares of the neighbors of each sample, without the sample itself. They sum to 1, or to 0 if there are
        none.
    counts : ndarray of shape (n_samples,)
        Weight of each sample.
    """

    weights: Any
    counts: FloatArray

    @classmethod
    def of(cls, connectivity: GraphLike, rows: FloatArray, sample_weight: Any = None) -> "Neighborhoods":
        """Return the neighborhoods of a graph, or of a function that returns a graph of the rows.

        A neighbor of weight 2 counts like 2 neighbors, and a neighbor of weight 0 does not count.
        """
        matrix: Any = connectivity(rows) if callable(connectivity) else connectivity
        check_sparse("connectivity", matrix)
        matrix = matrix if sparse.issparse(matrix) else np.asarray(matrix)
        shape = (len(rows), len(rows))
        if matrix.shape != shape:
            raise ValueError(
                f"connectivity must be a graph of the {len(rows)} samples of X, of shape {shape}, "
                f"got {matrix.shape}."
            )
        graph = sparse.csr_array(matrix, dtype=np.float64, copy=True)
        if not np.isfinite(graph.data).all() or (graph.data < 0).any():
            raise ValueError("connectivity must contain finite weights that are not negative.")
        graph.sum_duplicates()
        source = _sources(graph)
        graph.data[source == graph.indices] = 0  # grid_to_graph connects every pixel with itself
        counts = np.ones(len(rows)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        graph.data *= counts[graph.indices]
        graph.eliminate_zeros()
        total = np.asarray(graph.sum(axis=1)).ravel()
        graph.data /= total[_sources(graph)]
        return cls(graph, counts)

    def best_share(self, rows: FloatArray) -> float:
        """Return the share of the neighbors for which averages are, in expectation, nearest to rows without noise.

        With noise of variance :math:`s^2` and a mean squared distance :math:`R` of rows to the mean of their
        neighbors, the expected error for a share r is :math:`r^2R+2s^2(1-r)` up to a constant (Stein's unbiased
        risk estimate). The noise is estimated from the smaller half of the differences, because differences at
        edges are not only noise.
        """
        source, n_rows = _sources(self.weights), len(rows)
        is_used = self._have_neighbors & (self.counts > 0)
        if not is_used.any():
            return 0.0
        counts = self.counts[is_used]
        rows = np.asarray(rows, dtype=np.float64)
        differences = (rows - self.weights @ rows)[is_used]
        # The mean of the neighbors is noisy, too; a neighbor of weight 2 has the noise of 2 neighbors.
        squares = self.weights.data**2 / self.counts[self.weights.indices]
        mean_variances = np.bincount(source, squares, n_rows)[is_used]
        steps = np.abs(differences) / np.sqrt(1 + mean_variances)[:, None]
        if (counts == 1).all():
            middle = np.median(steps, axis=0)
        else:
            times = counts / min(1.0, counts.min())
            middle = np.array([weighted_quantile(column, times, 0.5) for column in steps.T])
        with np.errstate(over="ignore"):
            noise = float(((middle / _NORMAL_MEDIAN) ** 2).sum())
            total = float(np.average(differences**2, axis=0, weights=counts).sum())
        return (
            min(noise / total, 1 / (1 + float(np.average(mean_variances, weights=counts)))) if total > 0 else 0.0
        )

    def average(self, rows: FloatArray, share: float) -> FloatArray:
        """Return rows of neighborhood means with a last column of spreads, in the precision of the rows."""
        shares = np.where(self._have_neighbors, share, 0.0)
        out = np.empty((len(rows), rows.shape[1] + 1), dtype=rows.dtype)
        for block in row_blocks(len(rows), _BLOCK_ROWS):
            with np.errstate(over="ignore", invalid="ignore"):
                out[block] = _average(self.weights[block], rows, rows[block], shares[block])
            has_overflow = ~np.isfinite(out[block]).all(axis=1)
            out[block][has_overflow, :-1], out[block][has_overflow, -1] = (
                rows[block][has_overflow],
                np.finfo(rows.dtype).max,
            )
        return out

    @property
    def _have_neighbors(self) -> BoolArray:
        return np.asarray(np.diff(self.weights.indptr) > 0)


def _average(graph: Any, rows: FloatArray, centers: FloatArray, shares: FloatArray) -> FloatArray:
    """Return means and spreads of rows, computed from differences so that no digits are lost."""
    source = _sources(graph)
    steps = np.asarray(rows[graph.indices], dtype=np.float64) - centers[source]
    shift = (
        np.column_stack([np.bincount(source, graph.data * column, len(centers)) for column in steps.T])
        * shares[:, None]
    )
    squares = graph.data * ((steps - shift[source]) ** 2).sum(axis=1)
    spread = shares * np.bincount(source, squares, len(centers)) + (1 - shares) * (shift**2).sum(axis=1)
    return np.column_stack([centers + shift, np.sqrt(spread)])


def _sources(graph: Any) -> Any:
    """Return the row of each stored value."""
    return np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
