r"""Networks whose outputs are mass functions.

The last layer has one output for each focal set, and a softmax converts these outputs to masses. An outlier link
moves mass to the empty set for rows unlike the training set: with the score :math:`s(x)` of an outlier model,
which is positive inside the data,

.. math:: \eta=\log(1+e^{\beta_0+\beta_1s(x)}),\qquad\gamma=\frac\eta{1+\eta},

and :math:`m^*=(1-\gamma)m+\gamma m_\emptyset` as in the R package, or with :math:`\gamma` and :math:`1-\gamma`
exchanged as in the paper.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import pad, softplus

from evlearn.belief import FocalSets
from evlearn.neural.reading import Reader
from evlearn.storage import fields
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import FloatArray
from evlearn.utils.validation import check_shape

#: Maximum number of rows per block.
_BLOCK_ROWS = 8192


class OutlierLink(nn.Module):
    """Link that moves mass to the empty set where scores are low."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.beta = nn.Parameter(torch.tensor([0.0, -1.0 if kind == "r" else 1.0]))

    def forward(self, masses: Tensor, scores: Tensor) -> Tensor:
        """Return the masses, with a part of each mass function moved to the empty set."""
        eta = softplus(self.beta[0] + self.beta[1] * scores)[:, None]
        empty = eta / (1 + eta) if self.kind == "r" else 1 / (1 + eta)
        return masses * (1 - empty) + pad(empty, (0, masses.shape[1] - 1))


@fields.stored_as(
    weights=fields.list_of(fields.array(2), min_length=1), biases=fields.list_of(fields.array(1), min_length=1)
)
class EvidentialNetwork(nn.Module):
    """Network whose outputs are masses."""

    def __init__(self, body: nn.Module, link: OutlierLink | None) -> None:
        super().__init__()
        self.body = body
        self.link = link

    def forward(self, inputs: Tensor, scores: Tensor | None) -> Tensor:
        """Return the masses of rows."""
        masses = torch.softmax(self.body(inputs), dim=1)
        return masses if self.link is None or scores is None else self.link(masses, scores)

    def to_stored(self) -> dict[str, Any]:
        """Return the weights and biases of a network with ReLU layers."""
        body = self.body
        parts: list[Any] = list(body) if isinstance(body, nn.Sequential) else []
        linear = parts[::2]
        if self.link is not None or not _is_plain(parts):
            raise TypeError(
                "a model file can hold only NNEVCLUS networks that are given as sizes of layers, without "
                "outlier_model; use joblib.dump for others."
            )
        return {
            "weights": [layer.weight.detach().cpu().numpy() for layer in linear],
            "biases": [layer.bias.detach().cpu().numpy() for layer in linear],
        }

    @classmethod
    def from_stored(cls, weights: Any, biases: Any) -> "EvidentialNetwork":
        """Build a network with ReLU layers from weights and biases."""
        sizes = [weights[0].shape[1], *(len(weight) for weight in weights)]
        if (
            len(weights) != len(biases)
            or len({values.dtype for values in (*weights, *biases)}) > 1
            or min(sizes) < 1
        ):
            raise ValueError("a network must have a bias for each layer, all of the same precision")
        for (before, after), weight, bias in zip(pairwise(sizes), weights, biases, strict=True):
            check_shape("weights", weight, (after, before))
            check_shape("biases", bias, (after,))
        with torch.random.fork_rng(devices=[]):  # new layers draw random weights
            body = layers(sizes[0], sizes[1:-1], sizes[-1])
        with torch.no_grad():
            body.to(dtype=torch.from_numpy(weights[0]).dtype)
            linear: list[Any] = list(body)[::2]
            for layer, weight, bias in zip(linear, weights, biases, strict=True):
                layer.weight.copy_(torch.from_numpy(weight))
                layer.bias.copy_(torch.from_numpy(bias))
        return cls(body, None).eval()


def layers(n_inputs: int, hidden_layer_sizes: Sequence[int], n_outputs: int) -> nn.Sequential:
    """Return the network of the paper: hidden layers with ReLU, and a linear output layer."""
    sizes = [n_inputs, *hidden_layer_sizes]
    parts: list[nn.Module] = []
    for before, after in pairwise(sizes):
        parts += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*parts, nn.Linear(sizes[-1], n_outputs))


def draw_weights(network: nn.Module) -> None:
    """Draw all weights again; those of linear and convolutional layers as in the paper."""
    for part in network.modules():
        reset: Any = getattr(part, "reset_parameters", None)
        if isinstance(part, (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)):
            bound = (part.weight[0].numel() + 1) ** -0.5
            for parameter in part.parameters(recurse=False):
                nn.init.uniform_(parameter, -bound, bound)
        elif callable(reset):
            reset()


def mean_square_of_weights(network: nn.Module) -> Tensor:
    """Return the sum over layers of the mean square of their weights, including biases."""
    total = torch.zeros(())
    for part in network.modules():
        weights = list(part.parameters(recurse=False))
        if weights:
            count = sum(values.numel() for values in weights)
            total = total.to(weights[0]) + sum((values**2).sum() for values in weights) / count
    return total


@fields.stored
@dataclass(frozen=True)
class NeuralModel:
    """Trained network with its reader.

    Attributes
    ----------
    reader : Reader
        Transform of rows to inputs.
    network : EvidentialNetwork
        Network.
    focal_sets : FocalSets
        Sets of its outputs.
    """

    reader: Reader
    network: EvidentialNetwork
    focal_sets: FocalSets

    def assign(self, rows: FloatArray, weights: Any = None) -> FloatArray:
        """Return the masses of rows."""
        out = np.empty((len(rows), len(self.focal_sets)), dtype=rows.dtype)
        network = in_double_precision(self.network)
        reference = next(network.parameters())
        for block in row_blocks(len(rows), _BLOCK_ROWS):
            inputs = self.reader.inputs(rows[block])
            is_far = self.reader.find_far_rows(inputs)
            if is_far.any():
                inputs[is_far] = 0.0
            with torch.inference_mode():
                masses = network(as_tensor(inputs, reference), as_tensor(self.reader.scores(inputs), reference))
            normalized = masses.cpu().numpy().astype(np.float64)
            normalized /= normalized.sum(axis=1, keepdims=True)
            if is_far.any():
                normalized[is_far] = np.arange(normalized.shape[1]) == 0  # all mass on the empty set
            out[block] = normalized
        return out


def in_double_precision(network: EvidentialNetwork) -> EvidentialNetwork:
    """Return a network whose outputs for a row do not depend on the other rows, up to 1e-9.

    Products in single precision round differently in blocks of other sizes. Custom modules keep their precision,
    because their code may depend on it, as do all networks on devices without double precision.
    """
    weights = next(network.parameters())
    if (
        weights.dtype == torch.float64
        or weights.device.type == "mps"
        or not _is_multilayer_perceptron(network.body)
    ):
        return network
    return deepcopy(network).double()


def _is_multilayer_perceptron(body: nn.Module) -> bool:
    return type(body) is nn.Sequential and all(type(layer) in (nn.Linear, nn.ReLU) for layer in body)


def as_tensor(values: Any, reference: Tensor) -> Any:
    """Return an array as a tensor with the device and precision of another tensor."""
    if values is None:
        return None
    writable = values if values.flags.writeable else values.copy()  # torch requires writable arrays
    return torch.as_tensor(writable, dtype=reference.dtype, device=reference.device)


def _is_plain(parts: list[Any]) -> bool:
    """Return True if a network consists of linear layers with biases and ReLU between them."""
    kinds = [nn.Linear, nn.ReLU] * (len(parts) // 2) + [nn.Linear]
    return [type(part) for part in parts] == kinds and all(part.bias is not None for part in parts[::2])
