"""Training of a network by several processes: each computes the masses of a part of a mini-batch."""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


def count_processes() -> int:
    """Return the number of processes that train together."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def process_rank() -> int:
    """Return the rank of this process."""
    return dist.get_rank() if count_processes() > 1 else 0


def share_number(number: int) -> int:
    """Return the number of the first process, in all processes."""
    numbers = [number]
    if count_processes() > 1:
        dist.broadcast_object_list(numbers, src=0)
    return numbers[0]


class GatherMasses(torch.autograd.Function):
    """Masses of all processes, in their order; gradients of all losses are returned to each process."""

    @staticmethod
    def forward(ctx: Any, masses: Tensor, sizes: list[int]) -> Tensor:
        """Gather the masses of all processes."""
        ctx.sizes = sizes
        # A sum, because `all_gather` requires equal numbers of samples in all processes.
        gathered = masses.new_zeros((sum(sizes), masses.shape[1]))
        start = sum(sizes[: dist.get_rank()])
        gathered[start : start + len(masses)] = masses
        dist.all_reduce(gathered)
        return gathered

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """Sum the gradients of all processes, and return the part of this process.

        Returns
        -------
        gradient : Tensor of shape (n_samples_of_process, n_focal_sets)
            Gradient of the sum of all losses.
        none : None
            Gradient with respect to the sizes.
        """
        total = gradient.contiguous().clone()
        dist.all_reduce(total)
        start = sum(ctx.sizes[: dist.get_rank()])
        return total[start : start + ctx.sizes[dist.get_rank()]], None
