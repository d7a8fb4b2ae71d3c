r"""Networks whose outputs are mass functions.

The last layer has one output for each focal set, and a softmax converts these outputs to masses. An outlier link
moves mass to the empty set for rows unlike the training set: with the score :math:`s(x)` of an outlier model,
which is positive inside the data,

.. math:: \eta=\log(1+e^{\beta_0+\beta_1s(x)}),\qquad\gamma=\frac\eta{1+\eta},

and :math:`m^*=(1-\gamma)m+\gamma m_\emptyset` as in the R package, or with :math:`\gamma` and :math:`1-\gamma`
exchanged as in the paper.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad, softplus

LINKS = ("r", "paper")


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
