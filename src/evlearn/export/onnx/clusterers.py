"""ONNX operators of ECM, CCM and BPEC: distances to prototypes, costs of sets, and the optimal masses."""

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from evlearn.cluster.centroids.adaptive import AdaptiveModel
from evlearn.cluster.centroids.model import FARTHEST, EuclideanModel
from evlearn.cluster.outlier_rule import OutlierRule, Segments
from evlearn.export.onnx.graph import Graph, Output
from evlearn.mixture.em import NOWHERE, Mixture, Units
from evlearn.utils.validation import EXTREME_RATIO

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
    scores = _outlier_scores(graph, squares, model.outliers, model.segments)
    return Output(_with_scores(graph, _masses(graph, costs, np.inf, power), scores))


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


#: Largest coordinate, in units of the mixture; its square does not overflow.
_FARTHEST_OF_MIXTURES = 1e150


#: Largest squared distance.
_LARGEST = 1e299


def _outlier_scores(graph: Graph, squares: str, rule: OutlierRule, segments: Segments) -> str:
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


def _with_scores(graph: Graph, masses: str, scores: str) -> str:
    """Return masses with the scores on the empty set, which gets all mass if the others are not finite."""
    others = graph("Slice", masses, graph.whole([1]), graph.whole([np.iinfo(np.int64).max]), graph.whole([1]))
    nonempty = graph("Mul", others, graph("Sub", 1.0, scores))
    masses_with_scores = graph.concatenate(scores, nonempty)
    finite = graph("Less", graph.sum(graph("Abs", masses_with_scores), 1, keep=True), np.inf)
    all_empty = graph.after_zeros(graph("Mul", nonempty, 0.0))
    return graph.only_where(finite, masses_with_scores, all_empty)


def write_merged_mixture(graph: Graph, clusterer: Any, rows: str) -> Output:
    """Write the masses of rows; the set of all clusters has all mass far from all components."""
    model = clusterer._model
    mixtures, focal_sets = model.mixture.mixtures, model.focal_sets
    logs, squares = _densities(graph, Mixture(*(part[0] for part in mixtures)), model.mixture.units, rows)
    clusters = np.zeros((len(model.components), len(focal_sets)))
    clusters[np.arange(len(clusters)), focal_sets.singleton_positions[model.components]] = 1
    masses = graph("MatMul", graph("Softmax", logs, axis=1), clusters)
    density = graph("ReduceLogSumExp", logs, axes=[1], keepdims=1)
    ignorance = (np.arange(len(focal_sets)) == len(focal_sets) - 1).astype(np.float64)
    masses = graph.only_where(graph("Less", density, NOWHERE), ignorance, masses)
    if model.outliers is None:
        return Output(masses)
    return Output(_with_scores(graph, masses, _outlier_scores(graph, squares, model.outliers, Segments.empty())))


def write_mixture(graph: Graph, mixture: Any, rows: str) -> Output:
    """Write the probabilities of the components as masses; they are equal far from all components."""
    parameters = Mixture(mixture.weights_, mixture.means_, mixture.covariances_)
    units = Units(np.zeros(mixture.means_.shape[1]), 1.0)
    logs, squares = _densities(graph, parameters, units, rows)
    is_far = graph("Greater", graph.minimum(squares), EXTREME_RATIO**2)
    equal = np.full(len(mixture.weights_), 1 / len(mixture.weights_))
    return Output(graph.after_zeros(graph.only_where(is_far, equal, graph("Softmax", logs, axis=1))))


def _densities(graph: Graph, mixture: Mixture, units: Units, rows: str) -> tuple[str, str]:
    """Return the weighted log-densities of rows, and their squared Mahalanobis distances."""
    n_features = mixture.means.shape[1]
    factors = np.linalg.cholesky(mixture.covariances)
    inverses = np.stack([solve_triangular(factor, np.eye(n_features), lower=True) for factor in factors])
    volumes = np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
    with np.errstate(divide="ignore"):  # weights can be 0
        constants = np.log(mixture.weights) - volumes - n_features * np.log(2 * np.pi) / 2
    centered = graph("Div", graph("Sub", rows, units.center), float(units.scale))
    coordinates = graph("Clip", centered, -_FARTHEST_OF_MIXTURES, _FARTHEST_OF_MIXTURES)
    differences = graph("Sub", coordinates, mixture.means[:, None, :])  # (n_components, n_rows, n_features)
    whitened = graph("MatMul", differences, inverses.transpose(0, 2, 1))
    lengths = graph("ReduceSumSquare", whitened, axes=[2], keepdims=0)
    squares = graph("Transpose", graph("Min", lengths, _LARGEST), perm=[1, 0])
    return graph("Sub", constants, graph("Mul", squares, 0.5)), squares
