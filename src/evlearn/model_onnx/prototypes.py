"""ECM, CCM and BPEC as operators: distances to prototypes, costs of sets, and the masses that cost least."""

from typing import Any

import numpy as np

from evlearn.cluster.centroids.adaptive import AdaptiveModel
from evlearn.cluster.centroids.model import FARTHEST, EuclideanModel
from evlearn.model_onnx.graph import Graph, Said

#: As in the kernel: what counts as zero, and which share of a difference is rounding.
_ZERO, _LOST = 1e-200, 16 * float(np.finfo(np.float64).eps)


def write_prototypes(graph: Graph, clusterer: Any, rows: str) -> Said:
    """The masses of rows."""
    model: EuclideanModel | AdaptiveModel = clusterer._model
    centred = graph("Sub", rows, model.coordinates.centre)
    inside = graph("Clip", graph("Mul", centred, float(model.coordinates.scale)), -FARTHEST, FARTHEST)
    if isinstance(model, EuclideanModel):
        costs, empty = _costs(graph, model, inside), max(model.empty_cost, _ZERO)
    else:
        costs, empty = _adaptive_costs(graph, model, inside), model.empty_cost
    return Said(_masses(graph, costs, empty, 1 / (float(model.costs.beta) - 1)))


def _costs(graph: Graph, model: EuclideanModel, rows: str) -> str:
    """What each set costs; zero where it is lost in rounding, and as little as the kernel takes for zero."""
    sums = graph("MatMul", graph.squares(rows, model.prototypes), model.costs.membership.T)
    whole = graph("Mul", sums, model.costs.spread)
    left = graph("Sub", whole, model.costs.gain * model.costs.spreads(model.prototypes))
    lost = graph("Max", graph("Mul", whole, _LOST), _ZERO)
    return graph.only_where(graph("Greater", left, lost), left, _ZERO)


def _adaptive_costs(graph: Graph, model: AdaptiveModel, rows: str) -> str:
    """The same for adaptive metrics."""
    shares, images, constants = model._of_sets
    turned = graph("MatMul", rows, model.metrics)  # (n_clusters, n_rows, n_features)
    squares = graph("Transpose", graph.sum(graph("Mul", turned, rows), 2), perm=[1, 0])
    whole = graph("Add", graph("MatMul", squares, shares), constants)
    left = graph("Sub", whole, graph("MatMul", rows, 2 * images.T))
    lost = graph("LessOrEqual", left, graph("Mul", whole, _LOST))
    return graph("Mul", graph.only_where(lost, 0.0, left), model.costs.gain)


def _masses(graph: Graph, costs: str, empty: float, power: float) -> str:
    """The masses that cost least; sets that cost nothing share the mass equally."""
    least = graph("Min", graph.least(costs), empty)
    free = graph("LessOrEqual", least, 0.0)
    ratios = graph.beside(graph("Div", least, empty), graph("Div", least, costs))
    weights = ratios if power == 1 else graph("Pow", ratios, power)
    equal = graph.after_zeros(graph.numbers(graph("LessOrEqual", costs, 0.0)))
    return graph.shares(graph.only_where(free, equal, weights))


__all__ = ["write_prototypes"]
