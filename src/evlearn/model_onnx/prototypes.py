"""ECM, CCM and BPEC as operators: distances to prototypes, costs of sets, and the masses that cost least."""

from typing import Any

import numpy as np

from evlearn.cluster.centroids.adaptive import AdaptiveModel
from evlearn.cluster.centroids.model import FARTHEST, EuclideanModel
from evlearn.cluster.outlier_rule import OutlierRule, Segments
from evlearn.model_onnx.graph import Graph, Said

#: As in the kernel: what counts as zero, and which share of a difference is rounding.
_ZERO, _LOST = 1e-200, 16 * float(np.finfo(np.float64).eps)


def write_prototypes(graph: Graph, clusterer: Any, rows: str) -> Said:
    """The masses of rows."""
    model: EuclideanModel | AdaptiveModel = clusterer._model
    centred = graph("Sub", rows, model.coordinates.centre)
    inside = graph("Clip", graph("Mul", centred, float(model.coordinates.scale)), -FARTHEST, FARTHEST)
    if isinstance(model, EuclideanModel):
        squares = graph.squares(inside, model.prototypes)
        costs, empty = _costs(graph, model, squares), max(model.empty_cost, _ZERO)
    else:
        squares = _adaptive_squares(graph, model, inside)
        costs, empty = _adaptive_costs(graph, model, inside), model.empty_cost
    power = 1 / (float(model.costs.beta) - 1)
    if model.outliers is None:
        return Said(_masses(graph, costs, empty, power))
    scores = outlier_scores(graph, squares, model.outliers, model.segments)
    return Said(with_scores(graph, _masses(graph, costs, np.inf, power), scores))


def outlier_scores(graph: Graph, squares: str, rule: OutlierRule, segments: Segments) -> str:
    """Return the mass on the empty set, as a column."""
    ratios = graph.least(graph("Div", squares, rule.reaches**2))
    if len(segments.pairs):
        first, second = (graph("Gather", squares, graph.whole(segments.pairs[:, end]), axis=1) for end in (0, 1))
        step = graph("Sub", first, second)
        between = graph("Less", graph("Abs", step), segments.squares)
        foot = graph("Div", graph("Pow", graph("Add", step, segments.squares), 2.0), 4 * segments.squares)
        apart = graph("Max", graph("Sub", first, foot), 0.0)
        reaches = rule.reaches[segments.pairs].min(axis=1)
        nearest = graph("Div", graph.only_where(between, apart, np.inf), reaches**2)
        ratios = graph("Min", ratios, graph.least(nearest))
    return graph("Div", 1.0, graph("Add", graph("Pow", ratios, -rule.steepness / 2), 1.0))


def with_scores(graph: Graph, masses: str, scores: str) -> str:
    """Return masses whose empty set has the scores; all of the mass where the others are not numbers."""
    others = graph("Slice", masses, graph.whole([1]), graph.whole([np.iinfo(np.int64).max]), graph.whole([1]))
    inside = graph("Mul", others, graph("Sub", 1.0, scores))
    everything = graph.beside(scores, inside)
    finite = graph("Less", graph.sum(graph("Abs", everything), 1, keep=True), np.inf)
    beyond = graph.after_zeros(graph("Mul", inside, 0.0))
    return graph.only_where(finite, everything, beyond)


def _costs(graph: Graph, model: EuclideanModel, squares: str) -> str:
    """What each set costs; zero where it is lost in rounding, and as little as the kernel takes for zero."""
    sums = graph("MatMul", squares, model.costs.membership.T)
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


def _adaptive_squares(graph: Graph, model: AdaptiveModel, rows: str) -> str:
    """Return the squared distances to the prototypes, each in the metric of its cluster."""
    columns = []
    for prototype, metric in zip(model.prototypes, model.metrics, strict=True):
        apart = graph("Sub", rows, prototype)
        columns.append(graph.sum(graph("Mul", graph("MatMul", apart, metric), apart), 1, keep=True))
    return graph("Max", graph.beside(*columns), 0.0)


def _masses(graph: Graph, costs: str, empty: float, power: float) -> str:
    """The masses that cost least; sets that cost nothing share the mass equally."""
    least = graph("Min", graph.least(costs), empty)
    free = graph("LessOrEqual", least, 0.0)
    ratios = graph.beside(graph("Div", least, empty), graph("Div", least, costs))
    weights = ratios if power == 1 else graph("Pow", ratios, power)
    equal = graph.after_zeros(graph.numbers(graph("LessOrEqual", costs, 0.0)))
    return graph.shares(graph.only_where(free, equal, weights))


__all__ = ["write_prototypes"]
