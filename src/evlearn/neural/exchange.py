"""Several processes train one network: each judges a share of a mini-batch, and the masses are exchanged."""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


def n_processes() -> int:
    """How many processes train together."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def process_number() -> int:
    """Which of them this one is."""
    return dist.get_rank() if n_processes() > 1 else 0


def agree(number: int) -> int:
    """A number that all processes have: that of the first."""
    numbers = [number]
    if n_processes() > 1:
        dist.broadcast_object_list(numbers, src=0)
    return numbers[0]


class Gather(torch.autograd.Function):
    """The masses of all processes, in their order; what the loss of others says of ours comes back."""

    @staticmethod
    def forward(ctx: Any, masses: Tensor, sizes: list[int]) -> Tensor:
        """Collect the masses."""
        ctx.sizes = sizes
        # A sum, because processes have different numbers of samples, and gathering wants equal ones.
        everybody = masses.new_zeros((sum(sizes), masses.shape[1]))
        start = sum(sizes[: dist.get_rank()])
        everybody[start : start + len(masses)] = masses
        dist.all_reduce(everybody)
        return everybody

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """Collect the gradients of all processes, and keep ours.

        Returns
        -------
        gradient : Tensor of shape (n_own, n_focal_sets)
            The gradient of all losses.
        nothing : None
            For the sizes.
        """
        total = gradient.contiguous().clone()
        dist.all_reduce(total)
        start = sum(ctx.sizes[: dist.get_rank()])
        return total[start : start + ctx.sizes[dist.get_rank()]], None
