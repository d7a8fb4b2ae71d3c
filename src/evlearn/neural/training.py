"""Training on all samples at once, or on mini-batches of samples with all their pairs.

If several processes train together, each computes the masses of a part of a mini-batch.
"""

import copy
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from evlearn.neural.losses import Losses, SideInformation
from evlearn.neural.network import EvidentialNetwork
from evlearn.neural.training_samples import TrainingSamples
from evlearn.storage import fields
from evlearn.storage.checkpoints import Checkpoint
from evlearn.utils.convergence import Report, Trace, descend
from evlearn.utils.parameters import Specification
from evlearn.utils.typing import IntArray
from evlearn.utils.validation import check_choice, check_integer, check_real, check_shape

SOLVERS = ("auto", "lbfgs", "adam", "rmsprop")
#: Parameters of RMSprop in the paper.
_RHO, _EPS = 0.9, 1e-8
#: Number of L-BFGS or Adam iterations between checks of convergence.
_STEPS_PER_CALL = 10
_LBFGS_MEMORY = 50
#: Share of the patience after which the learning rate is halved.
_PLATEAU_SHARE = 0.3
#: Share of the initial learning rate below which the training ends.
_MIN_RATE_SHARE = 1 / 64
#: Number of batches for one batch of the loss before the first epoch.
_BATCHES_PER_FIRST_LOSS = 10
#: Maximum number of held-out samples whose loss is computed.
_MAX_HELD_OUT = 2000
#: Numbers of values of the window from which mini-batches are drawn, and of contiguous segments of a window.
_WINDOW, _SEGMENTS_PER_WINDOW = 1 << 23, 64
_TORCH_RANDOM_LOCK = threading.RLock()


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


@fields.stored
@dataclass
class Solver(Specification):
    """Optimizer of `NNEVCLUS`, with its options.

    Parameters
    ----------
    name : {"auto", "lbfgs", "adam", "rmsprop"}, default="auto"
        "lbfgs" and "adam" use all samples at once; "rmsprop" uses mini-batches. "auto" is "lbfgs" for up to 1000
        samples, and "rmsprop" for more.
    batch_size : int or "auto", default="auto"
        Number of samples of a mini-batch, all pairs of which are compared. "auto" is 10 % of the samples, and at
        most 250.
    learning_rate : float or "auto", default="auto"
        Step of "adam" and "rmsprop"; the latter halves it when the loss no longer falls. "auto" is 0.005, and
        0.001 for a given `network`.
    validation_fraction : float, default=0.0
        Share of samples that "rmsprop" holds out; the weights with the smallest loss of their pairs are kept. With
        0, the training loss decides.
    patience : int, default=20
        Number of epochs without a smaller loss after which "rmsprop" stops.

    Examples
    --------
    >>> from evlearn.datasets import make_fourclass
    >>> from evlearn.neural import NNEVCLUS, Solver
    >>> X, _ = make_fourclass(200, random_state=0)
    >>> solver = Solver("rmsprop", batch_size=50)
    >>> model = NNEVCLUS(4, solver=solver, max_iter=20, tol=1.0, random_state=0).fit(X)
    >>> model.labels_.shape
    (200,)
    """

    name: Literal["auto", "lbfgs", "adam", "rmsprop"] = "auto"
    batch_size: int | Literal["auto"] = "auto"
    learning_rate: float | Literal["auto"] = "auto"
    validation_fraction: float = 0.0
    patience: int = 20

    def __post_init__(self) -> None:
        check_choice("name", self.name, SOLVERS)
        check_integer("batch_size", self.batch_size, 2, or_auto=True)
        check_real("learning_rate", self.learning_rate, 0, open_low=True, or_auto=True)
        check_real("validation_fraction", self.validation_fraction, 0, 1)
        check_integer("patience", self.patience, 1)


@dataclass(frozen=True)
class Best:
    """Best weights of a training so far, and their loss."""

    weights: dict[str, Any]
    objective: float = float("inf")

    @classmethod
    def from_network(cls, network: nn.Module, objective: float = float("inf")) -> "Best":
        """Return the current weights of a network."""
        return cls(copy.deepcopy(network.state_dict()), objective)

    def updated(self, network: nn.Module, value: float) -> "Best":
        """Return the current weights of a network if their loss is lower, or these weights otherwise."""
        return Best.from_network(network, value) if value < self.objective else self


def total_loss(
    masses: Tensor, stress: Tensor, network: EvidentialNetwork, losses: Losses, side_information: SideInformation
) -> Tensor:
    """Return the total loss: that of pairs, of side information, and of large weights."""
    labeled, first, second = side_information.split_masses(masses)
    if len(labeled):
        clusters = torch.from_numpy(side_information.clusters).to(masses.device)
        stress = (1 - losses.label_weight) * stress + losses.label_weight * losses.labels(labeled, clusters)
    if len(first) and losses.constraint_weight > 0:
        stress = stress + losses.constraints(
            first, second, torch.from_numpy(side_information.is_must_link).to(masses.device)
        )
    total: Tensor = stress + losses.weights(network.body)
    return total


@contextmanager
def torch_seed(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch within a context, and restore its random state at the end."""
    # All threads share one random state.
    with _TORCH_RANDOM_LOCK, torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        seed_torch(seed, device)
        yield


def seed_torch(seed: int, device: torch.device) -> None:
    """Seed the random generators of torch on the CPU and on the device."""
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.manual_seed(seed)


# All samples at once


def train_on_all_pairs(
    network: EvidentialNetwork,
    loss: Callable[[], Tensor],
    *,
    solver: str,
    learning_rate: float,
    max_iter: int,
    tol: float,
    report: Report | None,
) -> Trace[Best]:
    """Train on a loss of all samples."""
    step = make_lbfgs(network, loss) if solver == "lbfgs" else _adam(network, loss, learning_rate)
    history = [float(loss().detach())]

    def make_steps(best: Best) -> tuple[Best, float, bool]:
        losses = step(min(_STEPS_PER_CALL, max_iter + 1 - len(history)))
        with torch.no_grad():
            value = float(loss())
        history.extend([*losses, value])
        return best.updated(network, value), value, best.objective - value <= tol * best.objective

    def report_loss(_: int, value: float) -> None:
        if report is not None:
            report(len(history) - 1, value)

    start = Trace(Best.from_network(network, history[0]), history[:])
    report_loss(0, history[0])
    end = descend(make_steps, start, max_iter=-(-max_iter // _STEPS_PER_CALL), report=report_loss)
    network.load_state_dict(end.state.weights)
    return replace(end, history=history)


def make_lbfgs(network: nn.Module, loss: Callable[[], Tensor]) -> Callable[[int], list[float]]:
    """Return a function that runs a number of L-BFGS iterations."""
    optimizer = torch.optim.LBFGS(
        network.parameters(),
        history_size=_LBFGS_MEMORY,
        tolerance_grad=0,
        tolerance_change=0,
        line_search_fn="strong_wolfe",
    )

    state = optimizer.state[optimizer.param_groups[0]["params"][0]]
    evaluations: list[tuple[int, Tensor]] = []

    def closure() -> Tensor:
        optimizer.zero_grad()
        value = loss()
        value.backward()  # type: ignore[no-untyped-call]
        evaluations.append((state.get("n_iter", 0), value.detach()))
        return evaluations[-1][1]

    def step(n_steps: int) -> list[float]:
        evaluations.clear()
        before = state.get("n_iter", 0)
        optimizer.param_groups[0].update(max_iter=n_steps, max_eval=2 * n_steps + 5)
        optimizer.step(closure)  # type: ignore[no-untyped-call]
        losses = [float(evaluations[0][1])] * n_steps
        for number, value in evaluations[1:]:
            position = number - before - 1
            losses[position:] = [min(losses[position], float(value))] * (n_steps - position)
        return losses[:-1]

    return step


def _adam(network: nn.Module, loss: Callable[[], Tensor], learning_rate: float) -> Callable[[int], list[float]]:
    optimizer = torch.optim.Adam(network.parameters(), lr=learning_rate)

    def step(n_steps: int) -> list[float]:
        losses = []
        for _ in range(n_steps):
            optimizer.zero_grad()
            value = loss()
            value.backward()  # type: ignore[no-untyped-call]
            losses.append(value.detach())
            optimizer.step()
        return [float(value) for value in losses[1:]]

    return step


# Mini-batches


@dataclass(frozen=True)
class Batches:
    """Parameters of the training with mini-batches.

    Attributes
    ----------
    size : int
        Approximate number of samples of a mini-batch.
    validation_fraction : float
        Share of samples that are held out for early stopping.
    learning_rate : float
        Initial learning rate of RMSprop.
    max_iter : int
        Maximum number of epochs.
    patience : int
        Maximum number of epochs without a better loss.
    tol : float
        Relative decrease of the loss that counts as better.
    seed : int
        Random seed.
    has_random_layers : bool
        Whether the network may draw random numbers, as dropout does; these are seeded in each epoch.
    """

    size: int
    validation_fraction: float
    learning_rate: float
    max_iter: int
    patience: int
    tol: float
    seed: int
    has_random_layers: bool

    def divide(self, n_samples: int) -> tuple[IntArray | range, IntArray]:
        """Divide the samples into those to train with and those that are held out.

        Returns
        -------
        train : ndarray of int or range
            Indices of samples.
        held_out : ndarray of int
            Indices of samples.
        """
        n_held = min(round(self.validation_fraction * n_samples), n_samples - 2)
        if n_held < 2:
            return range(n_samples), np.empty(0, dtype=np.intp)
        order = np.random.RandomState([self.seed, 2**31 - 1]).permutation(n_samples)
        return np.sort(order[n_held:]), np.sort(order[:n_held][:_MAX_HELD_OUT])


def train_in_batches(
    network: EvidentialNetwork,
    samples: TrainingSamples,
    losses: Losses,
    side_information: SideInformation,
    batches: Batches,
    *,
    checkpoint: Checkpoint | None,
    report: Report | None,
) -> Trace[Best]:
    """Train with RMSprop on mini-batches, in one process or in all processes of a torch process group."""
    run = BatchTraining(network, samples, losses, side_information, batches)
    if checkpoint is not None:
        checkpoint.load(run.restore)
    if not run.history:
        run.record_first_loss()
    first = process_rank() == 0

    def step(_: Best) -> tuple[Best, float, bool]:
        value = run.run_epoch()
        if checkpoint is not None and first:
            checkpoint.save(run.to_arrays())
        return run.best, value, run.converged

    start = Trace(run.best, run.history[:], run.converged)
    end = descend(step, start, max_iter=batches.max_iter, report=report if first else None)
    network.load_state_dict(end.state.weights)
    return end


class BatchTraining:
    """State of a training with mini-batches."""

    def __init__(
        self,
        network: EvidentialNetwork,
        samples: TrainingSamples,
        losses: Losses,
        side_information: SideInformation,
        batches: Batches,
    ) -> None:
        self.best, self.history, self.converged = Best.from_network(network), list[float](), False
        self._network, self._samples, self._losses = network, samples, losses
        self._side_information, self._batches = side_information, batches
        self._n_processes = count_processes()
        self._parallel_network: Any = DistributedDataParallel(network) if self._n_processes > 1 else network
        self._optimizer = torch.optim.RMSprop(network.parameters(), lr=batches.learning_rate, alpha=_RHO, eps=_EPS)
        self._train, self._held_out = batches.divide(samples.n_samples)
        self._n_windows = -(-len(self._train) * samples.n_features // _WINDOW)
        self._n_parts = self._n_windows * max(1, round(len(self._train) / self._n_windows / batches.size))
        self._since_best = self._since_halved = 0

    @property
    def _n_iter(self) -> int:
        return max(len(self.history) - 1, 0)

    def record_first_loss(self) -> None:
        """Record the loss before the first epoch: that of held-out samples, or of a few batches."""
        if len(self._held_out):
            self.history.append(self._compute_held_out_loss())
            return
        random = np.random.RandomState([self._batches.seed, 2**31 - 2])  # differs from the seeds of epochs
        parts = islice(self._make_batches(random), max(1, self._n_parts // _BATCHES_PER_FIRST_LOSS))
        self._network.eval()
        with torch.no_grad():
            losses = [
                float(self._loss(part, side_information)) for part, side_information in parts if len(part) > 1
            ]
        self._network.train()
        self.history.append(self._average(sum(losses) / max(len(losses), 1)))

    def _make_batches(self, random: np.random.RandomState) -> Iterator[tuple[IntArray, SideInformation]]:
        """Yield the mini-batches of an epoch, each with side information."""
        side_information: Iterator[SideInformation] | None = None
        for window in self._shuffled_windows(random):
            self._samples.load(window)
            mixed = window[random.permutation(len(window))]
            side_information = side_information or iter(self._side_information.divide(self._n_parts, random))
            for part in np.array_split(mixed, self._n_parts // self._n_windows):
                yield part, next(side_information)

    def _shuffled_windows(self, random: np.random.RandomState) -> Iterator[IntArray]:
        """Yield windows of random contiguous segments, in increasing order, so that each segment is read once."""
        n_segments = self._n_windows * _SEGMENTS_PER_WINDOW if self._n_windows > 1 else 1
        edges = len(self._train) * np.arange(n_segments + 1) // n_segments
        for segments in np.array_split(random.permutation(n_segments), self._n_windows):
            yield np.concatenate([_slice_samples(self._train, *edges[k : k + 2]) for k in np.sort(segments)])

    def _average(self, value: float) -> float:
        return _average_over_processes(value, self._losses.conflict.device) if self._n_processes > 1 else value

    def run_epoch(self) -> float:
        """Train on all samples once, and return the loss."""
        random = np.random.RandomState([self._batches.seed, self._n_iter])
        if self._batches.has_random_layers:
            seed_torch(self._batches.seed + self._n_iter, self._losses.conflict.device)
        total: Any = 0.0
        for part, side_information in self._make_batches(random):
            if len(part) > 1:
                self._optimizer.zero_grad()
                loss = self._loss(part, side_information)
                loss.backward()
                self._optimizer.step()
                total = total + loss.detach()
        value = (
            self._compute_held_out_loss() if len(self._held_out) else self._average(float(total) / self._n_parts)
        )
        self._record_loss(value)
        return value

    def _loss(self, part: IntArray, side_information: SideInformation) -> Any:
        local_parts = [part] if self._n_processes == 1 else np.array_split(part, self._n_processes)
        local_part = local_parts[process_rank()]
        known_samples, sizes = side_information.samples, [len(share) for share in local_parts]
        if len(known_samples) == 0:  # avoids slices of masses, which are copied in the backward pass
            stress = self._compute_stress(
                self._parallel_network(*self._samples.network_inputs(local_part)), part, sizes
            )
            return stress + self._losses.weights(self._network.body)
        masses = self._parallel_network(*self._samples.network_inputs(np.concatenate([local_part, known_samples])))
        stress = self._compute_stress(masses[: len(local_part)], part, sizes)
        return total_loss(masses[len(local_part) :], stress, self._network, self._losses, side_information)

    def _compute_stress(self, masses: Tensor, part: IntArray, sizes: list[int]) -> Tensor:
        targets = self._samples.targets(part)
        if len(sizes) == 1:
            return self._losses.all_pairs(masses, targets)
        start = sum(sizes[: process_rank()])
        gathered = GatherMasses.apply(masses, sizes)  # type: ignore[no-untyped-call]
        loss = self._losses.share_of_pairs(masses, gathered, targets[start : start + len(masses)], start)
        return loss * len(sizes)  # gradients of processes are averaged

    def _compute_held_out_loss(self) -> float:
        """Return the loss of held-out samples, without penalties."""
        self._network.eval()
        with torch.no_grad():
            masses = self._network(*self._samples.network_inputs(self._held_out))
            self._network.train()
            return float(self._losses.all_pairs(masses, self._samples.targets(self._held_out)))

    def _record_loss(self, value: float) -> None:
        batches = self._batches
        is_better = value < self.best.objective * (1 - batches.tol)
        self.best = self.best.updated(self._network, value)
        self.history.append(value)
        self._since_best = 0 if is_better else self._since_best + 1
        self._since_halved = 0 if is_better else self._since_halved + 1
        if self._since_halved >= max(1, _PLATEAU_SHARE * batches.patience):
            self._set_rate(self._rate / 2)
            self._since_halved = 0
        is_slow = self._rate < _MIN_RATE_SHARE * batches.learning_rate
        self.converged = is_slow or self._since_best >= batches.patience

    @property
    def _rate(self) -> float:
        return float(self._optimizer.param_groups[0]["lr"])

    def _set_rate(self, rate: float) -> None:
        self._optimizer.param_groups[0]["lr"] = rate

    # Checkpoints

    def to_arrays(self) -> dict[str, Any]:
        """Return the state as NumPy arrays."""
        counts = [self._since_best, self._since_halved, self._n_iter, int(self.converged)]
        arrays: dict[str, Any] = {
            "counts": np.array(counts),
            "rate": np.array(self._rate),
            "history": np.array(self.history),
            "objective": np.array(self.best.objective),
        }
        for name, weights in self._network.state_dict().items():
            arrays[f"now_{name}"] = weights.cpu().numpy()
            arrays[f"best_{name}"] = self.best.weights[name].cpu().numpy()
        for k, weights in enumerate(self._network.parameters()):
            # Weights that are not trained have no state.
            state = self._optimizer.state.get(weights, {})
            arrays[f"squares_{k}"] = state.get("square_avg", torch.zeros_like(weights)).detach().cpu().numpy()
            arrays[f"step_{k}"] = np.asarray(float(state.get("step", 0.0)))
        return arrays

    def restore(self, arrays: dict[str, Any]) -> None:
        """Continue from a state. Raise an error, without changes, if the arrays do not fit this training."""
        self._check(arrays)
        weight = next(self._network.parameters())

        def state(prefix: str) -> dict[str, Any]:
            return {
                name: torch.as_tensor(arrays[f"{prefix}_{name}"], dtype=old.dtype, device=old.device).clone()
                for name, old in self._network.state_dict().items()
            }

        self._since_best, self._since_halved, _, converged = (int(count) for count in arrays["counts"])
        self._network.load_state_dict(state("now"))
        for k, weights in enumerate(self._network.parameters()):
            squares = torch.as_tensor(arrays[f"squares_{k}"], dtype=weight.dtype, device=weight.device).clone()
            self._optimizer.state[weights] = {
                "square_avg": squares,
                "step": torch.tensor(float(arrays[f"step_{k}"]), dtype=torch.float32),
            }
        self._set_rate(float(arrays["rate"]))
        self.best = Best(state("best"), float(arrays["objective"]))
        self.history, self.converged = arrays["history"].tolist(), bool(converged)

    def _check(self, arrays: dict[str, Any]) -> None:
        shapes = {name: values.shape for name, values in self.to_arrays().items()}
        counts = arrays.get("counts", np.empty(0))
        shapes["history"] = (int(counts[2]) + 1 if counts.shape == (4,) else 1,)
        fields.check_keys("the state", arrays, shapes)
        for name, shape in shapes.items():
            may_be_infinite = name in ("objective", "history")  # for weights that diverged
            minimum = 0.0 if name.startswith(("counts", "rate", "squares", "step")) else -np.inf
            fields.array(len(shape), "iu" if name == "counts" else "fiu", low=minimum, finite=not may_be_infinite)(
                name, arrays[name]
            )
            check_shape(name, arrays[name], shape)
        if not 0 < float(arrays["rate"]) <= self._batches.learning_rate:  # it is only halved
            raise ValueError(
                f"rate must be above 0 and at most {self._batches.learning_rate}, got {arrays['rate']}"
            )


def _slice_samples(samples: IntArray | range, start: int, stop: int) -> IntArray:
    # Ranges need no memory, unlike the indices of 10^8 samples.
    return np.arange(start, stop) if isinstance(samples, range) else samples[start:stop]


def _average_over_processes(value: float, device: torch.device) -> float:
    total = torch.tensor([value], dtype=torch.float64, device=device)
    torch.distributed.all_reduce(total)
    return float(total) / count_processes()
