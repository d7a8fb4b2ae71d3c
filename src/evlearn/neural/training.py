"""Training: all samples at once, or mini-batches of samples with all pairs among them."""

import copy
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from evlearn.neural.exchange import Gather, n_processes, process_number
from evlearn.neural.losses import Losses
from evlearn.neural.network import EvidentialNetwork
from evlearn.neural.objects import Objects
from evlearn.neural.side_information import Known
from evlearn.utils.checkpoints import Checkpoint
from evlearn.utils.convergence import Report, Trace, descend
from evlearn.utils.stored_values import array, check_keys, check_length
from evlearn.utils.typing import IntArray

_RHO, _EPS = 0.9, 1e-8  # those of RMSprop in the paper
_CHUNK, _LBFGS_MEMORY = 10, 50
_PLATEAU = 0.3  # of the patience: then the learning rate is halved
_SLOWEST = 1 / 64  # of the learning rate: then the training ends
_PARTS_PER_LOOK = 10
_JUDGED = 2000  # samples that are held out, and judged at once
#: Numbers of the rows that mini-batches are drawn from at a time, and in how many places these rows lie.
_WINDOW, _PLACES = 1 << 23, 64

_DRAWING = threading.RLock()


@dataclass(frozen=True)
class Best:
    """The best weights of a training so far, and their loss."""

    weights: dict[str, Any]
    objective: float = float("inf")

    @classmethod
    def of(cls, network: nn.Module, objective: float = float("inf")) -> "Best":
        """The weights that a network has now."""
        return cls(copy.deepcopy(network.state_dict()), objective)

    def or_now(self, network: nn.Module, value: float) -> "Best":
        """The weights that a network has now if their loss is lower, or else these."""
        return Best.of(network, value) if value < self.objective else self


def known_loss(masses: Tensor, stress: Tensor, network: EvidentialNetwork, losses: Losses, known: Known) -> Tensor:
    """The whole loss, from that of pairs and from what is known."""
    labelled, first, second = known.split(masses)
    if len(labelled):
        clusters = torch.from_numpy(known.clusters).to(masses.device)
        stress = (1 - losses.label_weight) * stress + losses.label_weight * losses.labels(labelled, clusters)
    if len(first) and losses.xi > 0:
        stress = stress + losses.constraints(first, second, torch.from_numpy(known.must).to(masses.device))
    total: Tensor = stress + losses.weights(network.body)
    return total


@contextmanager
def own_draws(seed: int, device: torch.device) -> Iterator[None]:
    """Let torch draw from a seed of our own for a while; what the user draws afterwards does not change."""
    # There is one source for all threads.
    with _DRAWING, torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        reseed(seed, device)
        yield


def reseed(seed: int, device: torch.device) -> None:
    """Seed what torch draws from on the CPU and on the device, and nothing else."""
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.manual_seed(seed)


# All samples at once


def train_whole(
    network: EvidentialNetwork,
    loss: Callable[[], Tensor],
    *,
    solver: str,
    learning_rate: float,
    max_iter: int,
    tol: float,
    report: Report | None,
) -> Trace[Best]:
    """Train on a loss that looks at all samples."""
    step = make_lbfgs(network, loss) if solver == "lbfgs" else _adam(network, loss, learning_rate)
    history = [float(loss().detach())]

    def some_steps(best: Best) -> tuple[Best, float, bool]:
        losses = step(min(_CHUNK, max_iter + 1 - len(history)))
        with torch.no_grad():
            value = float(loss())
        history.extend([*losses, value])
        return best.or_now(network, value), value, best.objective - value <= tol * best.objective

    def tell(_: int, value: float) -> None:
        if report is not None:
            report(len(history) - 1, value)

    start = Trace(Best.of(network, history[0]), history[:])
    tell(0, history[0])
    end = descend(some_steps, start, max_iter=-(-max_iter // _CHUNK), report=tell)
    network.load_state_dict(end.state.weights)
    return replace(end, history=history)


def make_lbfgs(network: nn.Module, loss: Callable[[], Tensor]) -> Callable[[int], list[float]]:
    """A function that makes some steps of L-BFGS."""
    optimizer = torch.optim.LBFGS(
        network.parameters(),
        history_size=_LBFGS_MEMORY,
        tolerance_grad=0,
        tolerance_change=0,
        line_search_fn="strong_wolfe",
    )

    state = optimizer.state[optimizer.param_groups[0]["params"][0]]
    seen: list[tuple[int, Tensor]] = []

    def closure() -> Tensor:
        optimizer.zero_grad()
        value = loss()
        value.backward()  # type: ignore[no-untyped-call]
        seen.append((state.get("n_iter", 0), value.detach()))
        return seen[-1][1]

    def step(n_steps: int) -> list[float]:
        seen.clear()
        before = state.get("n_iter", 0)
        optimizer.param_groups[0].update(max_iter=n_steps, max_eval=2 * n_steps + 5)
        optimizer.step(closure)  # type: ignore[no-untyped-call]
        losses = [float(seen[0][1])] * n_steps
        for number, value in seen[1:]:
            place = number - before - 1
            losses[place:] = [min(losses[place], float(value))] * (n_steps - place)
        return losses[:-1]

    return step


def _adam(network: nn.Module, loss: Callable[[], Tensor], learning_rate: float) -> Callable[[int], list[float]]:
    optimizer = torch.optim.Adam(network.parameters(), lr=learning_rate)

    def step(n_steps: int) -> list[float]:
        seen = []
        for _ in range(n_steps):
            optimizer.zero_grad()
            value = loss()
            value.backward()  # type: ignore[no-untyped-call]
            seen.append(value.detach())
            optimizer.step()
        return [float(value) for value in seen[1:]]

    return step


# Mini-batches


@dataclass(frozen=True)
class Batches:
    """How mini-batches are made and used.

    Attributes
    ----------
    size : int
        How many samples each has, about.
    held_out : float
        The share of samples that is held out, to tell when to stop.
    learning_rate : float
        That of RMSprop, at first.
    max_iter : int
        The largest number of epochs.
    patience : int
        How many epochs may pass without a better loss.
    tol : float
        By what share a loss must be lower to be better.
    seed : int
        The seed.
    draws : bool
        Whether the network may draw numbers itself, as a dropout does: these depend on no earlier epoch either.
    """

    size: int
    held_out: float
    learning_rate: float
    max_iter: int
    patience: int
    tol: float
    seed: int
    draws: bool

    def divide(self, n_samples: int) -> tuple[IntArray | range, IntArray]:
        """The samples to train with, and those that are held out.

        Returns
        -------
        train : ndarray of int or range
            Numbers of samples.
        held_out : ndarray of int
            Numbers of samples.
        """
        n_held = min(round(self.held_out * n_samples), n_samples - 2)
        if n_held < 2:
            return range(n_samples), np.empty(0, dtype=np.intp)
        order = np.random.RandomState([self.seed, 2**31 - 1]).permutation(n_samples)
        return np.sort(order[n_held:]), np.sort(order[:n_held][:_JUDGED])


def train_in_batches(
    network: EvidentialNetwork,
    objects: Objects,
    losses: Losses,
    known: Known,
    batches: Batches,
    *,
    checkpoint: Checkpoint | None,
    report: Report | None,
) -> Trace[Best]:
    """Train with RMSprop on mini-batches, by one process or by all of torch's process group."""
    run = _Run(network, objects, losses, known, batches)
    if checkpoint is not None:
        checkpoint.load(run.restore)
    if not run.history:
        run.look()
    first = process_number() == 0

    def step(_: Best) -> tuple[Best, float, bool]:
        value = run.epoch()
        if checkpoint is not None and first:
            checkpoint.save(run.to_arrays())
        return run.best, value, run.converged

    start = Trace(run.best, run.history[:], run.converged)
    end = descend(step, start, max_iter=batches.max_iter, report=report if first else None)
    network.load_state_dict(end.state.weights)
    return end


class _Run:
    """A training with mini-batches under way."""

    def __init__(
        self, network: EvidentialNetwork, objects: Objects, losses: Losses, known: Known, batches: Batches
    ) -> None:
        self.best, self.history, self.converged = Best.of(network), list[float](), False
        self._network, self._objects, self._losses = network, objects, losses
        self._known, self._batches = known, batches
        self._n_processes = n_processes()
        self._call: Any = DistributedDataParallel(network) if self._n_processes > 1 else network
        self._optimizer = torch.optim.RMSprop(network.parameters(), lr=batches.learning_rate, alpha=_RHO, eps=_EPS)
        self._train, self._held = batches.divide(objects.n_samples)
        self._n_windows = -(-len(self._train) * objects.n_features // _WINDOW)
        self._n_parts = self._n_windows * max(1, round(len(self._train) / self._n_windows / batches.size))
        self._since_best = self._since_slower = 0

    @property
    def _n_iter(self) -> int:
        return max(len(self.history) - 1, 0)

    def look(self) -> None:
        """Note the loss before the first epoch: that of what is held out, or of a few batches."""
        if len(self._held):
            self.history.append(self._judge())
            return
        random = np.random.RandomState([self._batches.seed, 2**31 - 2])  # not that of any epoch
        parts = islice(self._parts(random), max(1, self._n_parts // _PARTS_PER_LOOK))
        self._network.eval()
        with torch.no_grad():
            losses = [float(self._loss(part, known)) for part, known in parts if len(part) > 1]
        self._network.train()
        self.history.append(self._of_all_processes(sum(losses) / max(len(losses), 1)))

    def _parts(self, random: np.random.RandomState) -> Iterator[tuple[IntArray, Known]]:
        """The mini-batches of an epoch, and what each is told."""
        known: Iterator[Known] | None = None
        for window in self._shuffled_windows(random):
            self._objects.hold(window)
            mixed = window[random.permutation(len(window))]
            known = known or iter(self._known.parts(self._n_parts, random))
            for part in np.array_split(mixed, self._n_parts // self._n_windows):
                yield part, next(known)

    def _shuffled_windows(self, random: np.random.RandomState) -> Iterator[IntArray]:
        """Samples in increasing order, those of some places at a time: each place is read once, end to end."""
        n_places = self._n_windows * _PLACES if self._n_windows > 1 else 1
        edges = len(self._train) * np.arange(n_places + 1) // n_places
        for places in np.array_split(random.permutation(n_places), self._n_windows):
            yield np.concatenate([_between(self._train, *edges[k : k + 2]) for k in np.sort(places)])

    def _of_all_processes(self, value: float) -> float:
        return _mean_of_processes(value, self._losses.conflict.device) if self._n_processes > 1 else value

    def epoch(self) -> float:
        """Look at all samples once, and return the loss."""
        random = np.random.RandomState([self._batches.seed, self._n_iter])
        if self._batches.draws:
            reseed(self._batches.seed + self._n_iter, self._losses.conflict.device)
        total: Any = 0.0
        for part, known in self._parts(random):
            if len(part) > 1:
                self._optimizer.zero_grad()
                loss = self._loss(part, known)
                loss.backward()
                self._optimizer.step()
                total = total + loss.detach()
        value = self._judge() if len(self._held) else self._of_all_processes(float(total) / self._n_parts)
        self._note(value)
        return value

    def _loss(self, part: IntArray, known: Known) -> Any:
        shares = [part] if self._n_processes == 1 else np.array_split(part, self._n_processes)
        own = shares[process_number()]
        extra, sizes = known.objects, [len(share) for share in shares]
        if len(extra) == 0:  # slices of masses would be copied on the way back
            stress = self._stress(self._call(*self._objects.see(own)), part, sizes)
            return stress + self._losses.weights(self._network.body)
        masses = self._call(*self._objects.see(np.concatenate([own, extra])))
        stress = self._stress(masses[: len(own)], part, sizes)
        return known_loss(masses[len(own) :], stress, self._network, self._losses, known)

    def _stress(self, own: Tensor, part: IntArray, sizes: list[int]) -> Tensor:
        targets = self._objects.targets(part)
        if len(sizes) == 1:
            return self._losses.all_pairs(own, targets)
        start = sum(sizes[: process_number()])
        everybody = Gather.apply(own, sizes)  # type: ignore[no-untyped-call]
        share = self._losses.share_of_pairs(own, everybody, targets[start : start + len(own)], start)
        return share * len(sizes)  # gradients of processes are averaged

    def _judge(self) -> float:
        """The loss of what is held out, without penalties."""
        self._network.eval()
        with torch.no_grad():
            masses = self._network(*self._objects.see(self._held))
            self._network.train()
            return float(self._losses.all_pairs(masses, self._objects.targets(self._held)))

    def _note(self, value: float) -> None:
        batches = self._batches
        clearly = value < self.best.objective * (1 - batches.tol)
        self.best = self.best.or_now(self._network, value)
        self.history.append(value)
        self._since_best = 0 if clearly else self._since_best + 1
        self._since_slower = 0 if clearly else self._since_slower + 1
        if self._since_slower >= max(1, _PLATEAU * batches.patience):
            self._set_rate(self._rate / 2)
            self._since_slower = 0
        slow = self._rate < _SLOWEST * batches.learning_rate
        self.converged = slow or self._since_best >= batches.patience

    @property
    def _rate(self) -> float:
        return float(self._optimizer.param_groups[0]["lr"])

    def _set_rate(self, rate: float) -> None:
        self._optimizer.param_groups[0]["lr"] = rate

    # Checkpoints

    def to_arrays(self) -> dict[str, Any]:
        """The state as plain arrays."""
        counts = [self._since_best, self._since_slower, self._n_iter, int(self.converged)]
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
        """Go on from a state; raises, and changes nothing, if the arrays cannot be those of this training."""
        self._check(arrays)
        like = next(self._network.parameters())

        def state(prefix: str) -> dict[str, Any]:
            return {
                name: torch.as_tensor(arrays[f"{prefix}_{name}"], dtype=old.dtype, device=old.device).clone()
                for name, old in self._network.state_dict().items()
            }

        self._since_best, self._since_slower, _, converged = (int(one) for one in arrays["counts"])
        self._network.load_state_dict(state("now"))
        for k, weights in enumerate(self._network.parameters()):
            squares = torch.as_tensor(arrays[f"squares_{k}"], dtype=like.dtype, device=like.device).clone()
            self._optimizer.state[weights] = {
                "square_avg": squares,
                "step": torch.tensor(float(arrays[f"step_{k}"]), dtype=torch.float32),
            }
        self._set_rate(float(arrays["rate"]))
        self.best = Best(state("best"), float(arrays["objective"]))
        self.history, self.converged = arrays["history"].tolist(), bool(converged)

    def _check(self, arrays: dict[str, Any]) -> None:
        now = self._network.state_dict()
        shapes = {f"{prefix}_{name}": tuple(old.shape) for prefix in ("now", "best") for name, old in now.items()}
        parameters = list(enumerate(self._network.parameters()))
        shapes |= {f"squares_{k}": tuple(weights.shape) for k, weights in parameters}
        shapes |= {f"step_{k}": () for k, _ in parameters}
        shapes |= {"counts": (4,), "rate": (), "objective": (), "history": (self._count(arrays) + 1,)}
        check_keys("the state", arrays, shapes)
        for name, shape in shapes.items():
            endless = name in ("objective", "history")  # of weights that are no good
            least = 0.0 if name.startswith(("counts", "rate", "squares", "step")) else -np.inf
            array(len(shape), "iu" if name == "counts" else "fiu", low=least, finite=not endless)(
                name, arrays[name]
            )
            check_length(name, arrays[name], shape)
        if not 0 < float(arrays["rate"]) <= self._batches.learning_rate:  # it is only ever halved
            raise ValueError(
                f"rate must be above 0 and at most {self._batches.learning_rate}, got {arrays['rate']}"
            )

    def _count(self, arrays: dict[str, Any]) -> int:
        """How many epochs there were."""
        counts = arrays.get("counts", np.empty(0))
        return int(counts[2]) if counts.shape == (4,) else 0


def _between(samples: IntArray | range, start: int, stop: int) -> IntArray:
    # A range of a hundred million samples takes no memory, and their numbers would.
    return np.arange(start, stop) if isinstance(samples, range) else samples[start:stop]


def _mean_of_processes(value: float, device: torch.device) -> float:
    total = torch.tensor([value], dtype=torch.float64, device=device)
    torch.distributed.all_reduce(total)
    return float(total) / n_processes()
