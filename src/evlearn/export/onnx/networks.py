"""ONNX operators of NNEVCLUS: layers of a network, and mass on the empty set for outliers."""

from typing import Any

import numpy as np
import torch
from sklearn.svm import OneClassSVM
from torch import Tensor, nn

from evlearn.export.onnx.graph import Graph, Output
from evlearn.neural.network import EvidentialNetwork, OutlierLink
from evlearn.neural.reading import Reader
from evlearn.utils.typing import FloatArray

#: Layers that map to one ONNX operator.
_OPERATORS: dict[type[nn.Module], str] = {nn.ReLU: "Relu", nn.Tanh: "Tanh", nn.Sigmoid: "Sigmoid"}
#: Layers without an effect on rows of features in a trained network.
_IDENTITIES = (nn.Identity, nn.Dropout, nn.Flatten)


def write_network(graph: Graph, clusterer: Any, rows: str) -> Output:
    """Write the masses of rows; rows too far from the training set have all mass on the empty set."""
    reader: Reader = clusterer._model.reader
    network: EvidentialNetwork = clusterer._model.network
    centered = graph("Sub", rows, reader.mean)
    if reader.components is not None:
        centered = graph("MatMul", centered, reader.components.T)
    inputs = graph("Div", centered, reader.scale)
    is_close = graph("And", *_bounds(graph, reader, inputs))
    is_inlier = graph("Greater", graph.minimum(graph.numbers(is_close)), 0.5)
    selected = graph.only_where(is_inlier, inputs, 0.0)
    empty = (np.arange(len(clusterer._model.focal_sets)) == 0).astype(np.float64)
    masses = graph("Softmax", _layers(graph, network.body, selected), axis=1)
    if network.link is not None and reader.outlier_model is not None:
        masses = _transfer_mass(graph, network.link, masses, _scores(graph, reader.outlier_model, selected), empty)
    return Output(graph.only_where(is_inlier, graph.shares(masses), empty))


def _bounds(graph: Graph, reader: Reader, inputs: str) -> tuple[str, str]:
    low, high = (np.asarray(reader.middle + side * reader.reach, dtype=np.float64) for side in (-1, 1))
    return graph("GreaterOrEqual", inputs, low), graph("LessOrEqual", inputs, high)


def _layers(graph: Graph, layer: nn.Module, values: str) -> str:
    """Write a layer."""
    if isinstance(layer, nn.Sequential):
        for part in layer:
            values = _layers(graph, part, values)
        return values
    if isinstance(layer, nn.Linear):
        product = graph("MatMul", values, _array(layer.weight).T)
        return product if layer.bias is None else graph("Add", product, _array(layer.bias))
    if isinstance(layer, nn.LeakyReLU):
        # The LeakyRelu operator stores its slope in single precision.
        negative = graph("Mul", graph("Min", values, 0.0), float(layer.negative_slope))
        return graph("Add", graph("Max", values, 0.0), negative)
    if isinstance(layer, _IDENTITIES):
        return values
    for kind, operator in _OPERATORS.items():
        if isinstance(layer, kind):
            return graph(operator, values)
    raise ValueError(
        "to_onnx supports networks of Linear, ReLU, LeakyReLU, Tanh, Sigmoid, Dropout, Flatten and Identity "
        f"layers in Sequential, got {type(layer).__name__}; export network_ with torch.onnx, or score with "
        "predict_mass."
    )


def _transfer_mass(graph: Graph, link: OutlierLink, masses: str, scores: str, empty: FloatArray) -> str:
    """Transfer part of the masses to the empty set."""
    first, slope = _array(link.beta).tolist()
    values = graph("Add", graph("Mul", scores, slope), first)
    # log(1 + exp(values)) without overflow.
    rest = graph("Log", graph("Add", graph("Exp", graph("Neg", graph("Abs", values))), 1.0))
    eta = graph("Add", graph("Max", values, 0.0), rest)
    part = graph("Div", eta if link.kind == "r" else 1.0, graph("Add", eta, 1.0))
    discounted = graph("Mul", masses, graph("Sub", 1.0, part))
    return graph("Add", discounted, graph("Mul", part, empty))


def _scores(graph: Graph, model: Any, inputs: str) -> str:
    """Write the scores of the outlier model; higher scores are closer to the training set."""
    if type(model) is not OneClassSVM or model.kernel != "rbf" or isinstance(model.gamma, str):
        raise ValueError(
            "to_onnx supports NNEVCLUS without an outlier model, or with a OneClassSVM whose kernel is 'rbf' and "
            f"whose gamma is a number, got {model!r}; score with predict_mass."
        )
    squares = graph.squares(inputs, model.support_vectors_)
    similarities = graph("Exp", graph("Mul", squares, -float(model.gamma)))
    return graph("Add", graph("MatMul", similarities, model.dual_coef_.T), float(model.intercept_[0]))


def _array(parameter: Tensor) -> Any:
    return parameter.detach().cpu().to(torch.float64).numpy()
