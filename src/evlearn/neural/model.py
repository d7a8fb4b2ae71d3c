"""Trained network that maps rows to masses."""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from evlearn.belief import FocalSets
from evlearn.neural.network import EvidentialNetwork
from evlearn.neural.reading import Reader
from evlearn.storage import fields
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import FloatArray

#: Maximum number of rows per block.
_BLOCK_ROWS = 8192


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
