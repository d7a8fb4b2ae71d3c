r"""What neighbours say about clusters: the evidence of the evidential k-nearest-neighbour rule, and labels for it.

A neighbour at distance :math:`d` supports "we are in the same cluster" with mass :math:`\alpha=e^{-(d/s)^b}`, that
is, with the weight of evidence :math:`w=-\log(1-\alpha)`. Weights of neighbours that agree add up. Graphs are
sparse matrices in CSR form, with a row for each sample.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from threading import Event
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from evlearn.kernels.label_search import add_evidence, agreement, sweep
from evlearn.utils.chunks import row_blocks
from evlearn.utils.convergence import Report, Trace, descend
from evlearn.utils.typing import FloatArray
from evlearn.utils.validation import check_shape

LabelArray = npt.NDArray[np.int32]

_LEAST_SUPPORT, _LEAST_DOUBT = 1e-6, 1e-12
#: Distances that the scale is a quantile of: enough for four digits.
_QUANTILE_SAMPLE = 5_000_000
_BLOCK_ROWS = 1 << 13


@dataclass(frozen=True)
class Support:
    """How much a neighbour supports that one is in the same cluster.

    Attributes
    ----------
    scale : float
        The distance at which the support has fallen to 1/e.
    power : float
        The exponent of distances.
    min_distance : float
        The share of the scale that all distances have at least.
    """

    scale: float
    power: float
    min_distance: float

    @classmethod
    def of(cls, graph: csr_array, *, q: float, power: float, min_distance: float) -> "Support":
        """The support whose scale is a quantile of the distances in a graph."""
        step = graph.nnz // _QUANTILE_SAMPLE + 1
        some = graph if step == 1 else graph[::step]
        far = some.data[some.indices != step * _rows_of(some)]
        largest = float(far.max(initial=0)) or 1.0
        quantile = float(np.quantile((far / largest) ** power, q)) if len(far) else 1.0
        # More than a share q of the neighbours coincide: any positive scale tells them from the rest.
        return cls(largest * (quantile ** (1 / power) or 1.0), power, min_distance)

    def __call__(self, distances: FloatArray) -> FloatArray:
        """Weights of evidence, all positive."""
        nearest = max(self.min_distance, _LEAST_DOUBT ** (1 / self.power))
        farthest = (-np.log(_LEAST_SUPPORT)) ** (1 / self.power)
        relative = np.clip(np.divide(distances, self.scale, dtype=np.float64), nearest, farthest)
        return np.asarray(-np.log(-np.expm1(-(relative**self.power))))

    def weigh(self, graph: csr_array) -> csr_array:
        """The graph with weights instead of distances, and 0 for samples that are their own neighbours."""
        weights = np.empty_like(graph.data)
        for rows in row_blocks(graph.shape[0], _BLOCK_ROWS):
            starts = graph.indptr[rows.start : rows.stop + 1]
            entries = slice(starts[0], starts[-1])
            itself = graph.indices[entries] == np.repeat(np.arange(rows.start, rows.stop), np.diff(starts))
            weights[entries] = np.where(itself, 0, self(graph.data[entries]))
        return csr_array((weights, graph.indices, graph.indptr), shape=graph.shape)

    def weigh_others(self, graph: csr_array, n_neighbors: int | None) -> csr_array:
        """As `weigh`, for new samples: one that coincides with a sample of the training set is taken for it."""
        weights = self(graph.data)
        rows = _rows_of(graph)
        order = np.lexsort((graph.data, rows))
        rank = np.empty(len(order), dtype=np.intp)
        rank[order] = np.arange(len(order)) - graph.indptr[rows]
        nearest = order[graph.indptr[:-1][np.diff(graph.indptr) > 0]]
        itself = np.zeros(graph.shape[0], dtype=bool)
        itself[rows[nearest]] = graph.data[nearest] <= self.min_distance * self.scale
        dropped = itself[rows] & (rank == 0)
        if n_neighbors is not None:
            dropped |= rank >= n_neighbors + itself[rows]
        weights[dropped] = 0
        return csr_array((weights, graph.indices, graph.indptr), shape=graph.shape)


def search_labels(
    weights: csr_array,
    labels: LabelArray,
    orders: Iterable[LabelArray],
    *,
    max_iter: int,
    stop: Event | None = None,
    report: Report | None = None,
) -> Trace[LabelArray]:
    r"""Give samples the label that their neighbours give the most weight to, until nothing changes.

    The objective is half the sum of the weights of neighbours with the same label. In a symmetric graph, every
    change increases it; in others, usually.
    """
    graph = (weights.indptr, weights.indices, weights.data)
    n_labels = int(labels.max()) + 1
    visits = iter(orders)

    def step(labels: LabelArray) -> tuple[LabelArray, float, bool]:
        labels = labels.copy()
        n_changed, _ = sweep(labels, *graph, next(visits), n_labels)
        return labels, agreement(labels, *graph) / 2, n_changed == 0

    start = Trace(labels, [agreement(labels, *graph) / 2])
    return descend(step, start, max_iter=max_iter, stop=stop, report=report)


def combine_evidence(weights: csr_array, labels: LabelArray, n_clusters: int) -> FloatArray:
    r"""The masses of samples: what their neighbours support, combined by Dempster's rule.

    With :math:`W_k` the sum of the weights of the neighbours in cluster k, the masses are proportional to
    :math:`e^{W_k}-1` for the clusters and to 1 for the set of all of them.
    """
    check_shape("labels", labels, (weights.shape[1],))
    if len(labels) and not 0 <= labels.min() <= labels.max() < n_clusters:
        raise ValueError(f"labels must be from 0 to {n_clusters - 1}, got {labels.min()} to {labels.max()}.")
    masses = np.zeros((weights.shape[0], n_clusters + 2))
    add_evidence(labels, weights.indptr, weights.indices, weights.data, masses[:, 1:-1])
    for rows in row_blocks(len(masses), _BLOCK_ROWS):
        weights_to_masses(masses[rows, 1:])
    return masses if n_clusters > 1 else np.array([[0.0, 1.0]]).repeat(len(masses), axis=0)


def weights_to_masses(table: FloatArray) -> None:
    r"""Replace weights of evidence by masses, by Dempster's rule."""
    most = table.max(axis=1, keepdims=True)
    # Divided by the largest power, and without the difference of nearly equal numbers.
    table[:, :-1] = -np.expm1(-table[:, :-1]) * np.exp(table[:, :-1] - most)
    table[:, -1:] = np.exp(-most)
    table /= table.sum(axis=1, keepdims=True)


def _rows_of(graph: csr_array) -> npt.NDArray[Any]:
    """The row of each entry."""
    return np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
