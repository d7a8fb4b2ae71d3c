"""Iterative row-wise quadratic programming: the descent that fits the masses of EVCLUS.

Given the masses of its partners, the optimal mass function of a sample solves a small quadratic program. A sweep
solves these programs for all samples in turn, which never increases the objective. Sweeps are repeated until
convergence.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from evlearn.belief import FocalSets
from evlearn.cluster.focal_families import random_masses
from evlearn.cluster.pairwise.pair_graph import AllPairs, PairGraph
from evlearn.constraints.pairwise import Penalty
from evlearn.kernels.simplex_qp import solve_shared
from evlearn.utils.convergence import Report, Trace, descend
from evlearn.utils.typing import FloatArray, IntArray

#: Objective below which a fit is perfect.
_PERFECT = 1e-10
#: Arrays for a sweep without constraints; see `Penalty.kernel_terms`.
_NO_TERMS = (np.zeros(1, np.intp), np.zeros(0, np.intp), np.zeros(0, np.uint8), np.zeros((2, 0, 0)), 0.0)

Pairs: TypeAlias = AllPairs | PairGraph


class Sweepable(Protocol):
    """Pairs with targets, in any form."""

    def sweep(
        self, M: FloatArray, Y: FloatArray, C: FloatArray, order: npt.NDArray[np.int32], constraints: Any
    ) -> float:
        """Update all rows in `order`, and return the change of half the sum of squares."""

    def residuals(self, M: FloatArray, Y: FloatArray) -> float:
        """Return the sum of squared differences between products and targets."""


@dataclass(frozen=True)
class SweepResult:
    """Masses after the sweeps, their objective without the penalty of constraints, and their sets."""

    masses: FloatArray
    stress: float
    focal_sets: FocalSets


def normalization(pairs: Pairs, loss: str) -> float:
    """Return the factor of the sum of squares.

    "stress" divides by the sum of the squared targets, and "mse" by the number of pairs.
    """
    total = pairs.squares() if loss == "stress" else pairs.n_pairs
    # If all samples are equal, any partition without conflict fits, and no scale is needed.
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
) -> Trace[SweepResult]:
    """Sweep until the relative decrease of the objective, in a sweep or on average, is less than `tol`."""
    forms = focal_sets.conflict_matrix[None] if forms is None else forms
    C = np.ascontiguousarray(forms).reshape(-1, forms.shape[-1])
    M: FloatArray = np.array(masses, dtype=np.float64, order="C")
    Y = np.concatenate(M @ forms)
    terms = _NO_TERMS if penalty is None else penalty.kernel_terms(len(M), 2 * eta)
    # In a symmetric graph, the changes of the rows add up to the change of the objective, which is computed once.
    is_additive = pairs.symmetric if isinstance(pairs, PairGraph) else True

    def compute_objective() -> float:
        return eta * pairs.residuals(M, Y) + (penalty.value(M) if penalty else 0.0)

    start = compute_objective()
    previous = start if is_additive else np.inf  # the criterion of other graphs compares 2 sweeps
    average = RunningAverage.of(pairs, eta, start) if stopping == "average" else None

    def step(M: FloatArray) -> tuple[FloatArray, float, bool]:
        nonlocal previous
        order = np.arange(len(M)) if random is None else random.permutation(len(M))
        row_total = (average.row_total,) if average else ()
        change = 2 * eta * pairs.sweep(M, Y, C, order.astype(np.int32), terms, *row_total)
        objective = previous + change if is_additive else compute_objective()
        decrease = abs(change if is_additive else previous - objective)
        previous = objective
        has_converged = decrease <= tol * objective if average is None else average.update() <= tol
        return M, objective, bool(has_converged or objective <= _PERFECT)

    end = descend(step, Trace(M, [start]), max_iter=max_iter, report=report)
    stress = end.objective - (penalty.value(M) if penalty else 0.0)
    return end.with_state(SweepResult(M, stress, focal_sets))


@dataclass
class RunningAverage:
    r"""Stopping rule of the papers: :math:`e_0=1`, :math:`e_t=\frac12e_{t-1}+\frac12|J_t-J_{t-1}|/J_{t-1}`.

    In their algorithms, :math:`J_t` is the sum of the objectives of the rows at their updates in sweep t. It
    differs from the objective, but decreases with it.

    Attributes
    ----------
    eta : float
        Factor of the sum of squares.
    squares : float
        Sum of squared targets.
    factor : float
        Factor of the sum over rows: 1 if each pair is in 2 rows, and 2 if it is in 1 row.
    total : float
        Sum of the last sweep; before the first sweep, the objective.
    row_total : ndarray of shape (1,)
        Sum of the objectives of rows in a sweep, which the sweep sets.
    value : float, default=1.0
        Average.
    """

    eta: float
    squares: float
    factor: float
    total: float
    row_total: FloatArray
    value: float = 1.0

    @classmethod
    def of(cls, pairs: Any, eta: float, start: float) -> "RunningAverage":
        """Return the average before the first sweep."""
        is_symmetric = not isinstance(pairs, PairGraph) or pairs.symmetric
        return cls(eta, pairs.squares(), 1.0 if is_symmetric else 2.0, start, np.zeros(1))

    def update(self) -> float:
        """Return the average after a sweep."""
        total = self.eta * (self.factor * float(self.row_total[0]) + self.squares)
        self.value = self.value / 2 + abs(total - self.total) / max(self.total, _PERFECT) / 2
        self.total = total
        return self.value


def seeded_masses(delta: FloatArray, focal_sets: FocalSets, random: np.random.RandomState) -> FloatArray:
    """Return masses that follow a few samples far from each other: each sample leans to the nearest seed."""
    n_samples = len(delta)
    seeds = [int(random.randint(n_samples))]
    for _ in range(1, focal_sets.frame_size):
        squares = delta[seeds].min(axis=0) ** 2
        total = squares.sum()
        draw = random.uniform() * total
        seed = int(np.searchsorted(np.cumsum(squares), draw)) if total > 0 else int(random.randint(n_samples))
        seeds.append(min(seed, n_samples - 1))
    closeness = 1 - delta[seeds].T
    masses = np.full((n_samples, len(focal_sets)), 0.1 / len(focal_sets))
    masses[:, focal_sets.singleton_positions] += closeness
    return np.asarray(masses / masses.sum(axis=1, keepdims=True))


def best_start(
    delta: FloatArray, focal_sets: FocalSets, random: np.random.RandomState, *, n_candidates: int
) -> FloatArray:
    """Return the best masses of several short descents over all pairs of a few samples."""
    pairs = AllPairs(delta)
    improve = partial(short_descent, pairs, focal_sets=focal_sets, random=random)
    starts = [
        random_masses(len(delta), len(focal_sets), random)
        if number % 2
        else seeded_masses(delta, focal_sets, random)
        for number in range(n_candidates)
    ]
    # Only the best starts after a few sweeps are continued.
    traces = sorted((improve(start, sweeps=5) for start in starts), key=lambda trace: trace.objective)
    traces = [improve(trace.state.masses, sweeps=20) for trace in traces[: max(1, n_candidates // 5)]]
    return min(traces, key=lambda trace: trace.objective).state.masses


def short_descent(
    pairs: AllPairs, masses: FloatArray, *, focal_sets: FocalSets, random: np.random.RandomState, sweeps: int
) -> Trace[SweepResult]:
    """Return the result of a few sweeps from given masses."""
    eta = normalization(pairs, "stress")
    return sweep_masses(pairs, masses, focal_sets, eta=eta, tol=1e-3, max_iter=sweeps, random=random)


def crisp_masses(clusters: IntArray, focal_sets: FocalSets) -> FloatArray:
    """Return masses that are nearly all on the cluster of each sample, or on the empty set for cluster -1."""
    masses = np.full((len(clusters), len(focal_sets)), 0.1 / len(focal_sets))
    columns = np.append(focal_sets.singleton_positions, 0)
    masses[np.arange(len(clusters)), columns[clusters]] += 0.9
    return masses


def rows_against(delta: FloatArray, masses: FloatArray, forms: FloatArray) -> FloatArray:
    """Return the optimal mass function for each row of targets, given the masses of the samples of the columns."""
    Y = np.concatenate(masses @ forms)
    return row_problems(Y.T @ Y, -(delta @ Y.astype(delta.dtype, copy=False)).astype(np.float64))


def row_problems(Q: FloatArray, linear: FloatArray) -> FloatArray:
    """Return the optimal mass function for each row of linear terms, with the same quadratic form for all rows."""
    solution = np.zeros_like(linear)
    solve_shared(Q, linear, solution)
    return solution


def stratified_indices(labels: IntArray, size: int, random: np.random.RandomState) -> IntArray:
    """Return the indices of a subset of the samples that is stratified by labels."""
    n_samples = len(labels)
    if n_samples <= size:
        return np.arange(n_samples)
    shuffled = random.permutation(n_samples)
    ordered = shuffled[np.argsort(labels[shuffled], kind="stable")]
    return np.sort(ordered[np.linspace(0, n_samples - 1, size).round().astype(np.intp)])


def labels_of(masses: FloatArray, focal_sets: FocalSets) -> IntArray:
    """Return the single cluster with the largest mass, for each sample."""
    return np.asarray(masses[:, focal_sets.singleton_positions].argmax(axis=1))
