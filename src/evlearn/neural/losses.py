r"""What a network is trained for.

The loss of a set of samples is the mean, over its pairs, of :math:`(m_i^TCm_j-\delta_{ij})^2`: how far conflicts
are from their targets. Constraints add :math:`\frac\xi{2(|ML|+|CL|)}[\sum_{ML}m_i^TQm_j+\sum_{CL}(2-m_i^TQm_j)]`,
labels share the loss with :math:`\nu\sum_l(pl_{il}-y_{il})^2`, and :math:`\frac\lambda2` times the size of the
weights holds these back.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from evlearn.belief import FocalSets
from evlearn.neural.network import size_of_weights


@dataclass(frozen=True)
class Losses:
    """The terms of the loss.

    Attributes
    ----------
    conflict : Tensor of shape (n_focal_sets, n_focal_sets)
        1 where two sets have nothing in common.
    apart : Tensor of shape (n_focal_sets, n_focal_sets)
        The matrix Q of constraints.
    contour : Tensor of shape (n_focal_sets, n_clusters)
        Which clusters a set has.
    xi : float
        The weight of constraints.
    label_weight : float
        The weight of labels.
    l2 : float
        The weight of the size of the weights.
    """

    conflict: Tensor
    apart: Tensor
    contour: Tensor
    xi: float = 0.0
    label_weight: float = 0.0
    l2: float = 0.0

    @classmethod
    def of(cls, focal_sets: FocalSets, like: Tensor, **settings: float) -> "Losses":
        """The terms for given focal sets."""

        def tensor(table: object) -> Tensor:
            return torch.as_tensor(table, dtype=like.dtype, device=like.device)

        conflict = tensor(focal_sets.conflict_matrix.copy())
        apart = 1 + conflict - tensor(focal_sets.emptiness_matrix.copy())
        apart = apart - tensor(focal_sets.same_singleton_matrix.copy())
        return cls(conflict, apart, tensor(focal_sets.membership.copy()), **settings)

    def all_pairs(self, masses: Tensor, targets: Tensor) -> Tensor:
        """The mean over all pairs."""
        return self.share_of_pairs(masses, masses, targets, 0)

    def share_of_pairs(self, own: Tensor, everybody: Tensor, targets: Tensor, start: int) -> Tensor:
        """The share that some samples have in the mean over all pairs."""
        n = len(everybody)
        squares = (own @ self.conflict @ everybody.T - targets) ** 2
        return (squares.sum() - squares.diagonal(offset=start).sum()) / (n * (n - 1))

    def some_pairs(self, masses: Tensor, partners: Tensor, targets: Tensor) -> Tensor:
        """The mean over some pairs."""
        conflicts = ((masses @ self.conflict)[:, None, :] * masses[partners]).sum(dim=2)
        return ((conflicts - targets) ** 2).mean()

    def weighted_pairs(self, masses: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
        """The weighted mean over all pairs; the same as `some_pairs`, where weights count the pairs."""
        return ((masses @ self.conflict @ masses.T - targets) ** 2 * weights).sum()

    def constraints(self, first: Tensor, second: Tensor, must: Tensor) -> Tensor:
        """The penalty of constraints."""
        apart = ((first @ self.apart) * second).sum(dim=1)
        return self.xi / (2 * len(must)) * torch.where(must, apart, 2 - apart).sum()

    def labels(self, masses: Tensor, clusters: Tensor) -> Tensor:
        """How far plausibilities are from labels."""
        known = torch.zeros(len(masses), self.contour.shape[1], dtype=masses.dtype, device=masses.device)
        known[torch.arange(len(masses), device=masses.device), clusters] = 1
        return ((masses @ self.contour - known) ** 2).sum() / len(masses)

    def weights(self, network: nn.Module) -> Tensor | float:
        """The penalty of large weights."""
        return 0.5 * self.l2 * size_of_weights(network) if self.l2 > 0 else 0.0
