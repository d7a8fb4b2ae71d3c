"""Contents of the model files of NNEVCLUS: the weights and biases of a network with ReLU layers."""

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import nn

from evlearn.belief import FocalSets
from evlearn.export.contents.contents import (
    DESCENT,
    N_FEATURES,
    POSITIVE,
    Contents,
    Part,
    any_of,
    check_features,
    check_sets,
    list_of,
)
from evlearn.neural import NNEVCLUS
from evlearn.neural.model import NeuralModel
from evlearn.neural.network import EvidentialNetwork, layers
from evlearn.neural.reading import Reader
from evlearn.neural.solver import SOLVERS, Solver
from evlearn.storage.fields import (
    array,
    check_length,
    flag,
    instance,
    number,
    optional,
    sentences,
    text,
    whole,
)


def _fields_of_network(network: EvidentialNetwork) -> dict[str, Any]:
    body = network.body
    parts: list[Any] = list(body) if isinstance(body, nn.Sequential) else []
    linear = parts[::2]
    if network.link is not None or not _is_plain(parts):
        raise TypeError(
            "a model file can hold only NNEVCLUS networks that are given as sizes of layers, without "
            "outlier_model; use joblib.dump for others."
        )
    return {
        "weights": [layer.weight.detach().cpu().numpy() for layer in linear],
        "biases": [layer.bias.detach().cpu().numpy() for layer in linear],
    }


def _is_plain(parts: list[Any]) -> bool:
    """Return True if a network consists of linear layers with biases and ReLU between them."""
    kinds = [nn.Linear, nn.ReLU] * (len(parts) // 2) + [nn.Linear]
    return [type(part) for part in parts] == kinds and all(part.bias is not None for part in parts[::2])


def _make_network(weights: Any, biases: Any) -> EvidentialNetwork:
    sizes = [weights[0].shape[1], *(len(weight) for weight in weights)]
    if len(weights) != len(biases) or len({values.dtype for values in (*weights, *biases)}) > 1 or min(sizes) < 1:
        raise ValueError("a network must have a bias for each layer, all of the same precision")
    for (before, after), weight, bias in zip(pairwise(sizes), weights, biases, strict=True):
        check_length("weights", weight, (after, before))
        check_length("biases", bias, (after,))
    with torch.random.fork_rng(devices=[]):  # new layers draw random weights
        body = layers(sizes[0], sizes[1:-1], sizes[-1])
    with torch.no_grad():
        body.to(dtype=torch.from_numpy(weights[0]).dtype)
        linear: list[Any] = list(body)[::2]
        for layer, weight, bias in zip(linear, weights, biases, strict=True):
            layer.weight.copy_(torch.from_numpy(weight))
            layer.bias.copy_(torch.from_numpy(bias))
    return EvidentialNetwork(body, None).eval()


def _validate(estimator: Any) -> None:
    check_sets(estimator)
    model = estimator._model
    reader = model.reader
    check_features(estimator, len(reader.mean))
    n_inputs = len(reader.mean) if reader.components is None else len(reader.components)
    check_length("components", reader.components, (n_inputs, len(reader.mean)))
    check_length("scale", reader.scale, (n_inputs,))
    if isinstance(reader.middle, np.ndarray):
        check_length("middle", reader.middle, (n_inputs,))
    weights = _fields_of_network(model.network)["weights"]
    if weights[0].shape[1] != n_inputs or len(weights[-1]) != len(model.focal_sets):
        raise ValueError(f"its network must have {n_inputs} inputs and {len(model.focal_sets)} outputs")


def _make(estimator: Any, state: dict[str, Any]) -> Any:
    for name, value in state.items():
        setattr(estimator, name, value)
    estimator.network_ = estimator._model.network
    estimator.outlier_model_ = None
    return estimator


PARTS = [
    Part(
        Solver,
        {
            "name": text(*SOLVERS),
            "batch_size": any_of(text("auto"), whole(2)),
            "learning_rate": any_of(text("auto"), number(0, above=True)),
            "validation_fraction": number(0, 1),
            "patience": whole(1),
        },
    ),
    Part(
        Reader,
        {
            "mean": array(1),
            "components": optional(array(2)),
            "scale": array(1, low=1e-300),
            "outlier_model": instance(type(None)),
            "middle": any_of(number(), array(1)),
            "reach": number(0, finite=False, above=True),
        },
    ),
    Part(
        EvidentialNetwork,
        {"weights": list_of(array(2), min_length=1), "biases": list_of(array(1), min_length=1)},
        _fields_of_network,
        _make_network,
    ),
    Part(
        NeuralModel,
        {
            "reader": instance(Reader),
            "network": instance(EvidentialNetwork),
            "focal_sets": instance(FocalSets),
        },
    ),
]
NEURAL = Contents(
    NNEVCLUS,
    N_FEATURES | {"focal_sets_": instance(FocalSets), "_model": instance(NeuralModel)},
    DESCENT | {"d0_": POSITIVE, "d1_": number(0), "_lacks_evidence": flag, "_problems": sentences},
    _validate,
    set_state=_make,
)

__all__ = ["NEURAL", "PARTS"]
