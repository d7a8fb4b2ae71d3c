"""Iterative row-wise quadratic programming: the descent that fits the masses of EVCLUS.

Given the masses of the partners, the best mass function of a sample is one small quadratic programme. A sweep
solves it for every sample in turn, which never increases the objective; sweeps go on until they do not help.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from evlearn.belief import FocalSets
from evlearn.cluster.focal_families import random_masses
from evlearn.cluster.pairwise.pair_graph import AllPairs, PairGraph
from evlearn.constraints import PairwiseConstraints
from evlearn.constraints.penalty import Penalty
from evlearn.kernels.simplex_qp import solve_many
from evlearn.utils.convergence import Report, Trace, descend
from evlearn.utils.typing import FloatArray, IntArray

#: Which change `tol` judges: the last, or an average in which earlier ones count less and less.
STOPPING = ("last", "average")
#: An objective this small is a perfect fit: there is nothing left to lower.
_PERFECT = 1e-10

Pairs: TypeAlias = AllPairs | PairGraph


class Sweepable(Protocol):
    """Pairs with targets, whatever form these have."""

    def sweep(
        self, M: FloatArray, Y: FloatArray, C: FloatArray, order: npt.NDArray[np.int32], constraints: Any
    ) -> float:
        """Update all rows in `order`; the change of half the sum of squares."""

    def residuals(self, M: FloatArray, Y: FloatArray) -> float:
        """The sum of squared differences of products and targets."""


@dataclass(frozen=True)
class Swept:
    """Masses that sweeps ended with, and their objective without the penalty of constraints."""

    masses: FloatArray
    stress: float


def normalisation(pairs: Pairs, loss: str) -> float:
    """The factor of the sum of squares: "stress" divides by the squared targets, "mse" by the number of pairs."""
    total = pairs.squares() if loss == "stress" else pairs.n_pairs
    # All samples are the same: any partition without conflict fits, and no scale is needed.
    return 1 / total if total > 0 else 1.0


def sweep_masses(
    pairs: Sweepable,
    masses: FloatArray,
    focal_sets: FocalSets,
    *,
    eta: float,
    tol: float,
    max_iter: int,
    stopping: str = "last",
    forms: FloatArray | None = None,
    penalty: Penalty | None = None,
    random: np.random.RandomState | None = None,
    report: Report | None = None,
) -> Trace[Swept]:
    """Sweep until a sweep, or sweeps on average, lower the objective by less than `tol` of itself."""
    forms = focal_sets.conflict_matrix[None] if forms is None else forms
    C = np.ascontiguousarray(forms).reshape(-1, forms.shape[-1])
    M: FloatArray = np.array(masses, dtype=np.float64, order="C")
    Y = np.concatenate(M @ forms)
    n_samples = len(M)
    terms = (penalty or Penalty.of(PairwiseConstraints(), 0, focal_sets)).kernel_terms(n_samples, 2 * eta)
    # In a symmetric graph the rows' changes add up to that of the objective: one pass is enough to know it always.
    additive = pairs.symmetric if isinstance(pairs, PairGraph) else True

    def exact() -> float:
        return eta * pairs.residuals(M, Y) + (penalty.value(M) if penalty else 0.0)

    start = exact()
    before = start if additive else np.inf  # in others, two sweeps must agree
    average = RunningAverage.of(pairs, eta, start) if stopping == "average" else None

    def step(M: FloatArray) -> tuple[FloatArray, float, bool]:
        nonlocal before
        order = np.arange(n_samples) if random is None else random.permutation(n_samples)
        reached = (average.reached,) if average else ()
        change = 2 * eta * pairs.sweep(M, Y, C, order.astype(np.int32), terms, *reached)
        objective = before + change if additive else exact()
        lowered = abs(change if additive else before - objective)
        before = objective
        settled = lowered <= tol * objective if average is None else average.after_sweep() <= tol
        return M, objective, bool(settled or objective <= _PERFECT)

    end = descend(step, Trace(M, [start]), max_iter=max_iter, report=report)
    stress = end.objective - (penalty.value(M) if penalty else 0.0)
    return end.at(Swept(M, stress))


@dataclass
class RunningAverage:
    r"""The stopping rule of the papers: :math:`e_0=1`, :math:`e_t=\frac12e_{t-1}+\frac12|J_t-J_{t-1}|/J_{t-1}`.

    In their algorithms :math:`J_t` adds up what each row cost when it was updated in sweep t, which is the
    objective at no point, but falls with it.

    Attributes
    ----------
    eta : float
        The factor of the sum of squares.
    squares : float
        The sum of squared targets.
    times : float
        What the sum over rows is multiplied with: 1 if each pair is in two rows, and 2 if it is in one.
    total : float
        The sum of the last sweep; at first the objective.
    reached : ndarray of shape (1,)
        Where a sweep notes what rows cost.
    value : float, default=1.0
        The average.
    """

    eta: float
    squares: float
    times: float
    total: float
    reached: FloatArray
    value: float = 1.0

    @classmethod
    def of(cls, pairs: Any, eta: float, start: float) -> "RunningAverage":
        """Before the first sweep."""
        twice = not isinstance(pairs, PairGraph) or pairs.symmetric
        return cls(eta, pairs.squares(), 1.0 if twice else 2.0, start, np.zeros(1))

    def after_sweep(self) -> float:
        """The average after a sweep has told what rows cost."""
        total = self.eta * (self.times * float(self.reached[0]) + self.squares)
        self.value = self.value / 2 + abs(total - self.total) / max(self.total, _PERFECT) / 2
        self.total = total
        return self.value


def seeded_masses(delta: FloatArray, focal_sets: FocalSets, random: np.random.RandomState) -> FloatArray:
    """Masses to start from that follow a few samples far apart: each leans to the nearest seed."""
    n_samples = len(delta)
    seeds = [int(random.randint(n_samples))]
    for _ in range(1, focal_sets.frame_size):
        apart = delta[seeds].min(axis=0) ** 2
        total = apart.sum()
        draw = random.uniform() * total
        chosen = int(np.searchsorted(np.cumsum(apart), draw)) if total > 0 else int(random.randint(n_samples))
        seeds.append(min(chosen, n_samples - 1))
    closeness = 1 - delta[seeds].T
    masses = np.full((n_samples, len(focal_sets)), 0.1 / len(focal_sets))
    masses[:, focal_sets.singleton_positions] += closeness
    return np.asarray(masses / masses.sum(axis=1, keepdims=True))


def best_start(
    delta: FloatArray, focal_sets: FocalSets, random: np.random.RandomState, *, n_candidates: int
) -> FloatArray:
    """The best of several short descents over all pairs of a few samples."""
    pairs = AllPairs(delta)
    improve = partial(short_descent, pairs, focal_sets=focal_sets, random=random)
    starts = [
        random_masses(len(delta), len(focal_sets), random)
        if number % 2
        else seeded_masses(delta, focal_sets, random)
        for number in range(n_candidates)
    ]
    # A few sweeps show which starts lead nowhere; the better ones go on.
    traces = sorted((improve(start, sweeps=5) for start in starts), key=lambda one: one.objective)
    traces = [improve(trace.state.masses, sweeps=20) for trace in traces[: max(1, n_candidates // 5)]]
    return min(traces, key=lambda one: one.objective).state.masses


def short_descent(
    pairs: AllPairs, masses: FloatArray, *, focal_sets: FocalSets, random: np.random.RandomState, sweeps: int
) -> Trace[Swept]:
    """Return where a few sweeps lead from some masses."""
    eta = normalisation(pairs, "stress")
    return sweep_masses(pairs, masses, focal_sets, eta=eta, tol=1e-3, max_iter=sweeps, random=random)


def crisp_masses(clusters: IntArray, focal_sets: FocalSets) -> FloatArray:
    """Return masses of which nearly all is on the cluster of each sample, or on the empty set where that is -1."""
    masses = np.full((len(clusters), len(focal_sets)), 0.1 / len(focal_sets))
    places = np.append(focal_sets.singleton_positions, 0)
    masses[np.arange(len(clusters)), places[clusters]] += 0.9
    return masses


def rows_against(delta: FloatArray, masses: FloatArray, forms: FloatArray) -> FloatArray:
    """The best mass function of each row of targets against samples whose masses are known."""
    Y = np.concatenate(masses @ forms)
    return row_problems(Y.T @ Y, -(delta @ Y.astype(delta.dtype, copy=False)).astype(np.float64))


def row_problems(Q: FloatArray, linear: FloatArray) -> FloatArray:
    """The best mass function of each row of linear terms, beside one matrix that all rows share."""
    solution = np.zeros_like(linear)
    solve_many(Q[None], linear, solution)
    return solution


def stratified(labels: IntArray, size: int, random: np.random.RandomState) -> IntArray:
    """Some samples, with every label in its share."""
    n_samples = len(labels)
    if n_samples <= size:
        return np.arange(n_samples)
    shuffled = random.permutation(n_samples)
    ordered = shuffled[np.argsort(labels[shuffled], kind="stable")]
    return np.sort(ordered[np.linspace(0, n_samples - 1, size).round().astype(np.intp)])


def labels_of(masses: FloatArray, focal_sets: FocalSets) -> IntArray:
    """The single cluster with the largest mass, for each sample."""
    return np.asarray(masses[:, focal_sets.singleton_positions].argmax(axis=1))
