"""ONNX operators of ECM, CCM and BPEC: distances to prototypes, costs of sets, and the optimal masses."""

from typing import Any

import numpy as np

from evlearn.cluster.centroids.adaptive import AdaptiveModel
from evlearn.cluster.centroids.model import FARTHEST, EuclideanModel
from evlearn.cluster.outlier_rule import OutlierRule, Segments
from evlearn.export.onnx.graph import Graph, Output

#: Zero threshold and relative rounding error of a difference, as in the kernel.
_ZERO, _ROUNDING = 1e-200, 16 * float(np.finfo(np.float64).eps)


def write_prototypes(graph: Graph, clusterer: Any, rows: str) -> Output:
    """Write the masses of rows."""
    model: EuclideanModel | AdaptiveModel = clusterer._model
    centered = graph("Sub", rows, model.coordinates.center)
    coordinates = graph("Clip", graph("Mul", centered, float(model.coordinates.scale)), -FARTHEST, FARTHEST)
    if isinstance(model, EuclideanModel):
        squares = graph.squares(coordinates, model.prototypes)
        costs, empty = _costs(graph, model, squares), max(model.empty_cost, _ZERO)
    else:
        squares = _adaptive_squares(graph, model, coordinates)
        costs, empty = _adaptive_costs(graph, model, coordinates), model.empty_cost
    power = 1 / (float(model.costs.beta) - 1)
    if model.outliers is None:
        return Output(_masses(graph, costs, empty, power))
    scores = outlier_scores(graph, squares, model.outliers, model.segments)
    return Output(with_scores(graph, _masses(graph, costs, np.inf, power), scores))


def outlier_scores(graph: Graph, squares: str, rule: OutlierRule, segments: Segments) -> str:
    """Return the mass on the empty set, as a column."""
    ratios = graph.minimum(graph("Div", squares, rule.reaches**2))
    if len(segments.pairs):
        first, second = (graph("Gather", squares, graph.whole(segments.pairs[:, end]), axis=1) for end in (0, 1))
        step = graph("Sub", first, second)
        is_between = graph("Less", graph("Abs", step), segments.squares)
        foot = graph("Div", graph("Pow", graph("Add", step, segments.squares), 2.0), 4 * segments.squares)
        squared_distances = graph("Max", graph("Sub", first, foot), 0.0)
        reaches = rule.reaches[segments.pairs].min(axis=1)
        nearest = graph("Div", graph.only_where(is_between, squared_distances, np.inf), reaches**2)
        ratios = graph("Min", ratios, graph.minimum(nearest))
    return graph("Div", 1.0, graph("Add", graph("Pow", ratios, -rule.steepness / 2), 1.0))


def with_scores(graph: Graph, masses: str, scores: str) -> str:
    """Return masses with the scores on the empty set, which gets all mass if the others are not finite."""
    others = graph("Slice", masses, graph.whole([1]), graph.whole([np.iinfo(np.int64).max]), graph.whole([1]))
    nonempty = graph("Mul", others, graph("Sub", 1.0, scores))
    masses_with_scores = graph.concatenate(scores, nonempty)
    finite = graph("Less", graph.sum(graph("Abs", masses_with_scores), 1, keep=True), np.inf)
    all_empty = graph.after_zeros(graph("Mul", nonempty, 0.0))
    return graph.only_where(finite, masses_with_scores, all_empty)


def _costs(graph: Graph, model: EuclideanModel, squares: str) -> str:
    """Return the cost of each set, at least the zero threshold of the kernel."""
    sums = graph("MatMul", squares, model.costs.membership.T)
    products = graph("Mul", sums, model.costs.spread)
    differences = graph("Sub", products, model.costs.gain * model.costs.spreads(model.prototypes))
    bounds = graph("Max", graph("Mul", products, _ROUNDING), _ZERO)
    return graph.only_where(graph("Greater", differences, bounds), differences, _ZERO)


def _adaptive_costs(graph: Graph, model: AdaptiveModel, rows: str) -> str:
    """Return the cost of each set for adaptive metrics."""
    shares, images, constants = model._set_terms
    products = graph("MatMul", rows, model.metrics)  # (n_clusters, n_rows, n_features)
    squares = graph("Transpose", graph.sum(graph("Mul", products, rows), 2), perm=[1, 0])
    whole = graph("Add", graph("MatMul", squares, shares), constants)
    differences = graph("Sub", whole, graph("MatMul", rows, 2 * images.T))
    is_zero = graph("LessOrEqual", differences, graph("Mul", whole, _ROUNDING))
    return graph("Mul", graph.only_where(is_zero, 0.0, differences), model.costs.gain)


def _adaptive_squares(graph: Graph, model: AdaptiveModel, rows: str) -> str:
    """Return the squared distances to the prototypes, each in the metric of its cluster."""
    columns = []
    for prototype, metric in zip(model.prototypes, model.metrics, strict=True):
        differences = graph("Sub", rows, prototype)
        columns.append(graph.sum(graph("Mul", graph("MatMul", differences, metric), differences), 1, keep=True))
    return graph("Max", graph.concatenate(*columns), 0.0)


def _masses(graph: Graph, costs: str, empty: float, power: float) -> str:
    """Return the masses of least total cost; sets without cost share the mass equally."""
    smallest = graph("Min", graph.minimum(costs), empty)
    is_free = graph("LessOrEqual", smallest, 0.0)
    ratios = graph.concatenate(graph("Div", smallest, empty), graph("Div", smallest, costs))
    weights = ratios if power == 1 else graph("Pow", ratios, power)
    equal = graph.after_zeros(graph.numbers(graph("LessOrEqual", costs, 0.0)))
    return graph.shares(graph.only_where(is_free, equal, weights))


__all__ = ["write_prototypes"]
