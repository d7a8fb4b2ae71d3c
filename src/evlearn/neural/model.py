"""From rows to masses: a trained network with its reader."""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from evlearn.belief import FocalSets
from evlearn.neural.network import EvidentialNetwork
from evlearn.neural.reading import Reader
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import FloatArray

_BLOCK_ROWS = 8192


@dataclass(frozen=True)
class NeuralModel:
    """A trained network with its reader.

    Attributes
    ----------
    reader : Reader
        What the network sees of a row.
    network : EvidentialNetwork
        The network.
    focal_sets : FocalSets
        What its outputs stand for.
    """

    reader: Reader
    network: EvidentialNetwork
    focal_sets: FocalSets

    def assign(self, rows: FloatArray, weights: Any = None) -> FloatArray:
        """Return the masses of rows."""
        out = np.empty((len(rows), len(self.focal_sets)), dtype=rows.dtype)
        network = in_double_precision(self.network)
        like = next(network.parameters())
        for block in row_blocks(len(rows), _BLOCK_ROWS):
            inputs = self.reader.inputs(rows[block])
            far = self.reader.are_far(inputs)
            if far.any():
                inputs[far] = 0.0
            with torch.inference_mode():
                masses = network(as_tensor(inputs, like), as_tensor(self.reader.scores(inputs), like))
            found = masses.cpu().numpy().astype(np.float64)
            found /= found.sum(axis=1, keepdims=True)
            if far.any():
                found[far] = np.arange(found.shape[1]) == 0  # all mass on the empty set
            out[block] = found
        return out


def in_double_precision(network: EvidentialNetwork) -> EvidentialNetwork:
    """Return a network whose outputs for a row do not depend on the other rows, up to 1e-9.

    Products of single precision round differently in blocks of other sizes. Modules of a user keep their
    precision, because their code may rely on it, and so does everything on devices without double precision.
    """
    weights = next(network.parameters())
    if weights.dtype == torch.float64 or weights.device.type == "mps" or not _is_plain(network.body):
        return network
    return deepcopy(network).double()


def _is_plain(body: nn.Module) -> bool:
    return type(body) is nn.Sequential and all(type(layer) in (nn.Linear, nn.ReLU) for layer in body)


def as_tensor(values: Any, like: Tensor) -> Any:
    """An array as a tensor, where another one lives and in its precision."""
    if values is None:
        return None
    writable = values if values.flags.writeable else values.copy()  # torch knows no other arrays
    return torch.as_tensor(writable, dtype=like.dtype, device=like.device)
