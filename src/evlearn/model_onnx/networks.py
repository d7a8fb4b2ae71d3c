"""NNEVCLUS as operators: layers of a network, and mass for the empty set where rows are unlike all others."""

from typing import Any

import numpy as np
import torch
from sklearn.svm import OneClassSVM
from torch import Tensor, nn

from evlearn.model_onnx.graph import Graph, Said
from evlearn.neural.network import EvidentialNetwork, OutlierLink
from evlearn.neural.reading import Reader
from evlearn.utils.typing import FloatArray

#: Layers that are one operator, and what tells how they do it.
_OPERATORS: dict[type[nn.Module], str] = {nn.ReLU: "Relu", nn.Tanh: "Tanh", nn.Sigmoid: "Sigmoid"}
#: Layers that do nothing to rows of features once a network is trained.
_NOTHING = (nn.Identity, nn.Dropout, nn.Flatten)


def write_network(graph: Graph, clusterer: Any, rows: str) -> Said:
    """The masses of rows; all on the empty set where they are too far from the training set."""
    reader: Reader = clusterer._model.reader
    network: EvidentialNetwork = clusterer._model.network
    centred = graph("Sub", rows, reader.mean)
    if reader.components is not None:
        centred = graph("MatMul", centred, reader.components.T)
    inputs = graph("Div", centred, reader.scale)
    near = graph("And", *_within(graph, reader, inputs))
    together = graph("Greater", graph.least(graph.numbers(near)), 0.5)
    seen = graph.only_where(together, inputs, 0.0)
    empty = (np.arange(len(clusterer._model.focal_sets)) == 0).astype(np.float64)
    masses = graph("Softmax", _layers(graph, network.body, seen), axis=1)
    if network.link is not None and reader.outlier_model is not None:
        masses = _linked(graph, network.link, masses, _scores(graph, reader.outlier_model, seen), empty)
    return Said(graph.only_where(together, graph.shares(masses), empty))


def _within(graph: Graph, reader: Reader, inputs: str) -> tuple[str, str]:
    low, high = (np.asarray(reader.middle + side * reader.reach, dtype=np.float64) for side in (-1, 1))
    return graph("GreaterOrEqual", inputs, low), graph("LessOrEqual", inputs, high)


def _layers(graph: Graph, layer: nn.Module, values: str) -> str:
    """What a layer makes of values."""
    if isinstance(layer, nn.Sequential):
        for one in layer:
            values = _layers(graph, one, values)
        return values
    if isinstance(layer, nn.Linear):
        product = graph("MatMul", values, _array(layer.weight).T)
        return product if layer.bias is None else graph("Add", product, _array(layer.bias))
    if isinstance(layer, nn.LeakyReLU):
        # The operator of this name has its slope in single precision.
        falling = graph("Mul", graph("Min", values, 0.0), float(layer.negative_slope))
        return graph("Add", graph("Max", values, 0.0), falling)
    if isinstance(layer, _NOTHING):
        return values
    for kind, operator in _OPERATORS.items():
        if isinstance(layer, kind):
            return graph(operator, values)
    raise ValueError(
        "to_onnx writes networks of Linear, ReLU, LeakyReLU, Tanh, Sigmoid, Dropout, Flatten and Identity layers "
        f"in Sequential ones, got a {type(layer).__name__}; export network_ with torch.onnx, or score with "
        "predict_mass."
    )


def _linked(graph: Graph, link: OutlierLink, masses: str, scores: str, empty: FloatArray) -> str:
    """The masses, with part of them on the empty set."""
    first, slope = _array(link.beta).tolist()
    values = graph("Add", graph("Mul", scores, slope), first)
    # The logarithm of one plus a power, of which neither may be too large for a number.
    rest = graph("Log", graph("Add", graph("Exp", graph("Neg", graph("Abs", values))), 1.0))
    eta = graph("Add", graph("Max", values, 0.0), rest)
    part = graph("Div", eta if link.kind == "r" else 1.0, graph("Add", eta, 1.0))
    kept = graph("Mul", masses, graph("Sub", 1.0, part))
    return graph("Add", kept, graph("Mul", part, empty))


def _scores(graph: Graph, model: Any, inputs: str) -> str:
    """How much rows are like the training set."""
    if type(model) is not OneClassSVM or model.kernel != "rbf" or isinstance(model.gamma, str):
        raise ValueError(
            "to_onnx writes NNEVCLUS without an outlier model, or with a OneClassSVM whose kernel is 'rbf' and "
            f"whose gamma is a number, got {model!r}; score with predict_mass."
        )
    squares = graph.squares(inputs, model.support_vectors_)
    near = graph("Exp", graph("Mul", squares, -float(model.gamma)))
    return graph("Add", graph("MatMul", near, model.dual_coef_.T), float(model.intercept_[0]))


def _array(parameter: Tensor) -> Any:
    return parameter.detach().cpu().to(torch.float64).numpy()


__all__ = ["write_network"]
