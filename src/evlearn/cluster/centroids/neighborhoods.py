r"""Samples that have neighbours, such as the voxels of an image: distances averaged over a neighbourhood.

With shares :math:`w_{it}` that sum to one over a sample and its neighbours, their mean
:math:`\tilde x_i=\sum_tw_{it}x_t` and their spread :math:`u_i^2=\sum_tw_{it}\|x_t-\tilde x_i\|^2`,

.. math:: \sum_tw_{it}\|x_t-v\|^2=\|\tilde x_i-v\|^2+u_i^2\quad\text{for every point }v .

So the averaged cost of every set of clusters is its cost at a row :math:`(\tilde x_i,u_i)` whose last column is
zero in all prototypes: one product with the graph before a fit, and nothing in its iterations.
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
#: Half of the numbers of a normal distribution are nearer to zero than this many standard deviations.
_HALF = 0.6744897501960817


@dataclass(frozen=True)
class Neighborhoods:
    """Who is beside whom, and how much each neighbour counts.

    Attributes
    ----------
    weights : csr_array of shape (n_samples, n_samples)
        The shares of the neighbours of each sample, without itself; they sum to one, or to zero if there are none.
    counts : ndarray of shape (n_samples,)
        The weight of each sample.
    """

    weights: Any
    counts: FloatArray

    @classmethod
    def of(cls, connectivity: GraphLike, rows: FloatArray, sample_weight: Any = None) -> "Neighborhoods":
        """Return the neighborhoods of a graph, given as such or by a function of the rows.

        A neighbor of weight 2 counts like 2 neighbors, and one of weight 0 does not count.
        """
        given: Any = connectivity(rows) if callable(connectivity) else connectivity
        check_sparse("connectivity", given)
        given = given if sparse.issparse(given) else np.asarray(given)
        shape = (len(rows), len(rows))
        if given.shape != shape:
            raise ValueError(
                f"connectivity must be a graph of the {len(rows)} samples of X, of shape {shape}, "
                f"got {given.shape}."
            )
        graph = sparse.csr_array(given, dtype=np.float64, copy=True)
        if not np.isfinite(graph.data).all() or (graph.data < 0).any():
            raise ValueError("connectivity must hold finite weights that are not negative.")
        graph.sum_duplicates()
        source = _sources(graph)
        graph.data[source == graph.indices] = 0  # grid_to_graph makes every pixel its own neighbour
        counts = np.ones(len(rows)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        graph.data *= counts[graph.indices]
        graph.eliminate_zeros()
        total = np.asarray(graph.sum(axis=1)).ravel()
        graph.data /= total[_sources(graph)]
        return cls(graph, counts)

    def best_share(self, rows: FloatArray) -> float:
        r"""The share of the neighbours with which averages are, by expectation, nearest to rows without noise.

        With noise of variance :math:`s^2` and a mean squared distance :math:`R` of rows to the mean of their
        neighbours, a share r errs by :math:`r^2R+2s^2(1-r)`, but for a constant: Stein's estimate of risk. The
        noise is that of the nearer half of the differences, because at edges there is more than noise.
        """
        source, n_rows = _sources(self.weights), len(rows)
        some = self._have_neighbors & (self.counts > 0)
        if not some.any():
            return 0.0
        counts = self.counts[some]
        rows = np.asarray(rows, dtype=np.float64)
        apart = (rows - self.weights @ rows)[some]
        # The mean has noise of its own; that of a neighbor of weight 2 is the noise of 2 neighbors.
        squares = self.weights.data**2 / self.counts[self.weights.indices]
        beside = np.bincount(source, squares, n_rows)[some]
        steps = np.abs(apart) / np.sqrt(1 + beside)[:, None]
        if (counts == 1).all():
            middle = np.median(steps, axis=0)
        else:
            times = counts / min(1.0, counts.min())
            middle = np.array([weighted_quantile(column, times, 0.5) for column in steps.T])
        with np.errstate(over="ignore"):
            noise = float(((middle / _HALF) ** 2).sum())
            whole = float(np.average(apart**2, axis=0, weights=counts).sum())
        return min(noise / whole, 1 / (1 + float(np.average(beside, weights=counts)))) if whole > 0 else 0.0

    def average(self, rows: FloatArray, share: float) -> FloatArray:
        """Rows of means over the neighbourhoods, and a last column of spreads, in the precision of the rows."""
        shares = np.where(self._have_neighbors, share, 0.0)
        out = np.empty((len(rows), rows.shape[1] + 1), dtype=rows.dtype)
        for block in row_blocks(len(rows), _BLOCK_ROWS):
            with np.errstate(over="ignore", invalid="ignore"):
                out[block] = _average(self.weights[block], rows, rows[block], shares[block])
            lost = ~np.isfinite(out[block]).all(axis=1)
            out[block][lost, :-1], out[block][lost, -1] = rows[block][lost], np.finfo(rows.dtype).max
        return out

    @property
    def _have_neighbors(self) -> BoolArray:
        return np.asarray(np.diff(self.weights.indptr) > 0)


def _average(graph: Any, rows: FloatArray, own: FloatArray, shares: FloatArray) -> FloatArray:
    """Means and spreads of some rows, from differences, so that nothing of the place of the data is lost."""
    source = _sources(graph)
    steps = np.asarray(rows[graph.indices], dtype=np.float64) - own[source]
    shift = np.column_stack([np.bincount(source, graph.data * one, len(own)) for one in steps.T]) * shares[:, None]
    squares = graph.data * ((steps - shift[source]) ** 2).sum(axis=1)
    spread = shares * np.bincount(source, squares, len(own)) + (1 - shares) * (shift**2).sum(axis=1)
    return np.column_stack([own + shift, np.sqrt(spread)])


def _sources(graph: Any) -> Any:
    """The row of each stored number."""
    return np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
