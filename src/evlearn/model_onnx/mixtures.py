"""Gaussian mixtures as operators: densities of components, and their shares."""

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from evlearn.cluster.outlier_rule import Segments
from evlearn.mixture.em import NOWHERE, Mixture
from evlearn.mixture.units import Units
from evlearn.model_onnx.graph import Graph, Said
from evlearn.model_onnx.prototypes import outlier_scores, with_scores
from evlearn.utils.validation import REMOTE

#: In units of the mixture: whatever is farther is unlike all components all the same, and its square is a number.
_FARTHEST = 1e150
#: Squared distances beyond this are not computed with.
_LARGEST = 1e299


def write_merged_mixture(graph: Graph, clusterer: Any, rows: str) -> Said:
    """Write the masses of rows: all on the set of all clusters far from all components, before outliers."""
    model = clusterer._model
    mixtures, focal_sets = model.mixture.mixtures, model.focal_sets
    logs, squares = _densities(graph, Mixture(*(part[0] for part in mixtures)), model.mixture.units, rows)
    clusters = np.zeros((len(model.components), len(focal_sets)))
    clusters[np.arange(len(clusters)), focal_sets.singleton_positions[model.components]] = 1
    masses = graph("MatMul", graph("Softmax", logs, axis=1), clusters)
    density = graph("ReduceLogSumExp", logs, axes=[1], keepdims=1)
    nothing = (np.arange(len(focal_sets)) == len(focal_sets) - 1).astype(np.float64)
    masses = graph.only_where(graph("Less", density, NOWHERE), nothing, masses)
    if model.outliers is None:
        return Said(masses)
    return Said(with_scores(graph, masses, outlier_scores(graph, squares, model.outliers, Segments.none())))


def write_mixture(graph: Graph, mixture: Any, rows: str) -> Said:
    """The probabilities of the components, as masses: equal ones where the mixture says nothing."""
    found = Mixture(mixture.weights_, mixture.means_, mixture.covariances_)
    units = Units(np.zeros(mixture.means_.shape[1]), 1.0)
    logs, squares = _densities(graph, found, units, rows)
    far = graph("Greater", graph.least(squares), REMOTE**2)
    equal = np.full(len(mixture.weights_), 1 / len(mixture.weights_))
    return Said(graph.after_zeros(graph.only_where(far, equal, graph("Softmax", logs, axis=1))))


def _densities(graph: Graph, mixture: Mixture, units: Units, rows: str) -> tuple[str, str]:
    """Log-densities of rows with the weights of components, and squared distances in their units."""
    n_features = mixture.means.shape[1]
    factors = np.linalg.cholesky(mixture.covariances)
    inverses = np.stack([solve_triangular(one, np.eye(n_features), lower=True) for one in factors])
    volumes = np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
    with np.errstate(divide="ignore"):  # a component may have no weight
        constants = np.log(mixture.weights) - volumes - n_features * np.log(2 * np.pi) / 2
    centred = graph("Div", graph("Sub", rows, units.centre), float(units.scale))
    inside = graph("Clip", centred, -_FARTHEST, _FARTHEST)
    apart = graph("Sub", inside, mixture.means[:, None, :])  # (n_components, n_rows, n_features)
    turned = graph("MatMul", apart, inverses.transpose(0, 2, 1))
    lengths = graph("ReduceSumSquare", turned, axes=[2], keepdims=0)
    squares = graph("Transpose", graph("Min", lengths, _LARGEST), perm=[1, 0])
    return graph("Sub", constants, graph("Mul", squares, 0.5)), squares


__all__ = ["write_merged_mixture", "write_mixture"]
