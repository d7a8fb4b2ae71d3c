r"""Evidence of the evidential k-nearest-neighbor rule, and a search for labels that agree with it.

A neighbor at distance :math:`d` supports that both samples are in the same cluster, with mass
:math:`\alpha=e^{-(d/s)^b}`, that is, with the weight of evidence :math:`w=-\log(1-\alpha)`. Weights of neighbors
in the same cluster are added. Graphs are sparse matrices in CSR form, with a row for each sample.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from threading import Event
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from evlearn.kernels.label_search import add_evidence, agreement, sweep
from evlearn.storage import fields
from evlearn.utils.chunks import row_blocks
from evlearn.utils.convergence import Report, Trace, descend
from evlearn.utils.typing import FloatArray
from evlearn.utils.validation import check_shape

LabelArray = npt.NDArray[np.int32]
#: Samples of which each sample is a neighbor, in CSR form.
ReverseNeighbors = tuple[npt.NDArray[Any], npt.NDArray[Any]]

#: Minimum support of a neighbor, and minimum difference of the support from 1.
_MIN_SUPPORT, _MIN_DOUBT = 1e-6, 1e-12
#: Approximate number of distances for the quantile that is the scale, which is accurate to 4 digits.
_QUANTILE_SAMPLE = 5_000_000
_BLOCK_ROWS = 1 << 13


@fields.stored
@dataclass(frozen=True)
class Support:
    """Support of a neighbor for the same cluster, as a function of its distance.

    Attributes
    ----------
    scale : float
        Distance at which the support is 1/e.
    power : float
        Exponent of distances.
    min_distance : float
        Lower bound of distances, relative to the scale.
    """

    scale: fields.PositiveNumber
    power: Annotated[float, fields.number(0, 100, above=True)]
    min_distance: fields.Fraction

    @classmethod
    def of(cls, graph: csr_array, *, q: float, power: float, min_distance: float) -> "Support":
        """Return the support whose scale is a quantile of the distances in a graph."""
        step = graph.nnz // _QUANTILE_SAMPLE + 1
        sample = graph if step == 1 else graph[::step]
        distances = sample.data[sample.indices != step * _rows_of(sample)]
        largest = float(distances.max(initial=0)) or 1.0
        powers = (distances / largest) ** power
        quantile = float(np.quantile(powers, q, overwrite_input=True)) if len(distances) else 1.0
        # If more than a share q of the neighbors coincide, any positive scale distinguishes them from the others.
        return cls(largest * (quantile ** (1 / power) or 1.0), power, min_distance)

    def __call__(self, distances: FloatArray) -> FloatArray:
        """Return the weights of evidence, all positive."""
        nearest = max(self.min_distance, _MIN_DOUBT ** (1 / self.power))
        farthest = (-np.log(_MIN_SUPPORT)) ** (1 / self.power)
        relative = np.clip(np.divide(distances, self.scale, dtype=np.float64), nearest, farthest)
        return np.asarray(-np.log(-np.expm1(-(relative**self.power))))

    def weigh(self, graph: csr_array) -> csr_array:
        """Return the graph with weights instead of distances, and 0 on the diagonal."""
        weights = np.empty_like(graph.data)
        for rows in row_blocks(graph.shape[0], _BLOCK_ROWS):
            starts = graph.indptr[rows.start : rows.stop + 1]
            entries = slice(starts[0], starts[-1])
            diagonal = graph.indices[entries] == np.repeat(np.arange(rows.start, rows.stop), np.diff(starts))
            weights[entries] = np.where(diagonal, 0, self(graph.data[entries]))
        return csr_array((weights, graph.indices, graph.indptr), shape=graph.shape)

    def weigh_others(self, graph: csr_array, n_neighbors: int | None) -> csr_array:
        """Return weights for new samples; those that coincide with training samples are treated as these."""
        weights = self(graph.data)
        rows = _rows_of(graph)
        order = np.lexsort((graph.data, rows))
        rank = np.empty(len(order), dtype=np.intp)
        rank[order] = np.arange(len(order)) - graph.indptr[rows]
        nearest = order[graph.indptr[:-1][np.diff(graph.indptr) > 0]]
        is_training = np.zeros(graph.shape[0], dtype=bool)
        is_training[rows[nearest]] = graph.data[nearest] <= self.min_distance * self.scale
        dropped = is_training[rows] & (rank == 0)
        if n_neighbors is not None:
            dropped |= rank >= n_neighbors + is_training[rows]
        weights[dropped] = 0
        return csr_array((weights, graph.indices, graph.indptr), shape=graph.shape)


def search_labels(
    weights: csr_array,
    reverse: ReverseNeighbors,
    labels: LabelArray,
    orders: Iterable[LabelArray],
    *,
    max_iter: int,
    stop: Event | None = None,
    report: Report | None = None,
) -> Trace[LabelArray]:
    r"""Assign to samples the label with the largest weight among their neighbors, until no label changes.

    The objective is half the sum of the weights of neighbors with the same label. In a symmetric graph, every
    change increases it; in other graphs, most changes do. `reverse` contains the `reverse_neighbors`, which
    are computed once for several starts.
    """
    graph = (weights.indptr, weights.indices, weights.data)
    n_labels = int(labels.max()) + 1
    visits = iter(orders)
    pending, agreements = np.ones(len(labels), dtype=np.uint8), np.empty(len(labels))

    def step(labels: LabelArray) -> tuple[LabelArray, float, bool]:
        labels = labels.copy()
        n_changed, _ = sweep(labels, *graph, next(visits), n_labels, *reverse, pending, agreements)
        return labels, agreement(labels, *graph, pending, agreements) / 2, n_changed == 0

    start = Trace(labels, [agreement(labels, *graph, pending, agreements) / 2])
    return descend(step, start, max_iter=max_iter, stop=stop, report=report)


def reverse_neighbors(graph: csr_array) -> ReverseNeighbors:
    """Return the samples of which each sample is a neighbor, in CSR form: where those of each begin, and all."""
    pattern = csr_array((np.zeros(graph.nnz, dtype=np.int8), graph.indices, graph.indptr), shape=graph.shape)
    columns = pattern.tocsc()
    dtype = graph.indptr.dtype
    return columns.indptr.astype(dtype, copy=False), columns.indices.astype(dtype, copy=False)


def combine_evidence(weights: csr_array, labels: LabelArray, n_clusters: int) -> FloatArray:
    r"""Combine the evidence of neighbors by Dempster's rule into the masses of samples.

    With :math:`W_k` the sum of the weights of the neighbors in cluster k, the masses are proportional to
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
    largest = table.max(axis=1, keepdims=True)
    # Division by the largest power prevents overflow, and `expm1` prevents cancellation.
    table[:, :-1] = -np.expm1(-table[:, :-1]) * np.exp(table[:, :-1] - largest)
    table[:, -1:] = np.exp(-largest)
    table /= table.sum(axis=1, keepdims=True)


def _rows_of(graph: csr_array) -> npt.NDArray[Any]:
    """Return the row of each entry."""
    return np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
