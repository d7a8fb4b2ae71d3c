"""ONNX operators of Gaussian mixtures: densities of components, and their posterior probabilities."""

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from evlearn.cluster.outlier_rule import Segments
from evlearn.export.onnx.graph import Graph, Output
from evlearn.export.onnx.prototypes import outlier_scores, with_scores
from evlearn.mixture.em import NOWHERE, Mixture
from evlearn.mixture.units import Units
from evlearn.utils.validation import EXTREME_RATIO

#: Largest coordinate, in units of the mixture; its square does not overflow.
_FARTHEST = 1e150
#: Largest squared distance.
_LARGEST = 1e299


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
    return Output(with_scores(graph, masses, outlier_scores(graph, squares, model.outliers, Segments.empty())))


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
    coordinates = graph("Clip", centered, -_FARTHEST, _FARTHEST)
    differences = graph("Sub", coordinates, mixture.means[:, None, :])  # (n_components, n_rows, n_features)
    whitened = graph("MatMul", differences, inverses.transpose(0, 2, 1))
    lengths = graph("ReduceSumSquare", whitened, axes=[2], keepdims=0)
    squares = graph("Transpose", graph("Min", lengths, _LARGEST), perm=[1, 0])
    return graph("Sub", constants, graph("Mul", squares, 0.5)), squares


__all__ = ["write_merged_mixture", "write_mixture"]
