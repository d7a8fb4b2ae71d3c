"""Loss function of PCCA, and its minimization: must-links should be shorter than 1, and cannot-links longer."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array, dia_array
from scipy.special import expit

from evlearn.constraints import PairwiseConstraints
from evlearn.metric_learning.directions import span
from evlearn.utils.convergence import Report, Trace, best_of, minimize_lbfgs
from evlearn.utils.typing import FloatArray, IntArray

#: Root mean square of the lengths of pairs at a start.
_START_LENGTH = 1e-3
#: Share of a random start in the first start.
_NOISE = 1e-2
#: Tolerance of the gradient per pair.
_GRADIENT_TOL = 1e-10
#: Relative bound of rounding errors.
_ROUNDING = 64 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class PairLoss:
    """Loss of a linear map of samples with pairwise constraints."""

    coordinates: FloatArray
    differences: csr_array
    signs: FloatArray
    beta: float

    @classmethod
    def of(cls, coordinates: FloatArray, constraints: PairwiseConstraints, beta: float) -> "PairLoss":
        """Create the loss of samples with these coordinates."""
        pairs = np.vstack([constraints.must_link, constraints.cannot_link])
        rows = np.repeat(np.arange(len(pairs)), 2)
        values = np.tile([1.0, -1.0], len(pairs))
        differences = csr_array((values, (rows, pairs.ravel())), shape=(len(pairs), len(coordinates)))
        signs = np.repeat([1.0, -1.0], [constraints.n_must_link, constraints.n_cannot_link])
        return cls(coordinates, differences, signs, beta)

    def evaluate(self, components: FloatArray) -> tuple[float, FloatArray]:
        """Compute the loss and its gradient.

        Returns
        -------
        loss : float
            Value of the loss.
        gradient : ndarray of shape (n_components, n_coordinates)
            Partial derivatives.
        """
        gaps = self.differences @ (self.coordinates @ components.T)
        excess = self.beta * self.signs * ((gaps**2).sum(axis=1) - 1)
        loss = np.logaddexp(0, excess).sum() / self.beta
        pulls = (self.signs * expit(excess))[:, None] * gaps
        return float(loss), 2 * (self.differences.T @ pulls).T @ self.coordinates

    def random_start(self, n_components: int, random: np.random.RandomState) -> FloatArray:
        """Return a small random map, because zero is a stationary point."""
        mixture = random.standard_normal((n_components, len(self.signs)))
        return self._shrink((self.differences.T @ mixture.T).T @ self.coordinates)

    def steepest_start(self, n_components: int) -> FloatArray:
        """Return a small map in the directions in which the loss decreases fastest from zero.

        A descent in tiny steps from a tiny random map would first turn into these directions.
        """
        pulls = self.signs * expit(-self.beta * self.signs)
        weights = self.differences.T @ (dia_array((pulls[None], [0]), shape=2 * pulls.shape) @ self.differences)
        n_coordinates = self.coordinates.shape[1]
        n_directions = min(n_components, n_coordinates)
        start = np.zeros((n_components, n_coordinates))
        if n_directions > 0:
            slopes = self.coordinates.T @ (weights @ self.coordinates)
            start[:n_directions] = eigh(slopes, subset_by_index=[0, n_directions - 1])[1].T
        return self._shrink(start)

    def _shrink(self, components: FloatArray) -> FloatArray:
        lengths = np.sqrt(((self.differences @ (self.coordinates @ components.T)) ** 2).mean(axis=0))
        # Lengths below this bound are rounding errors in a direction in which no pair differs, and not scaled up.
        noise = _ROUNDING * np.abs(self.coordinates).max(initial=0) * np.linalg.norm(components, axis=1)
        is_significant = lengths > noise
        return np.asarray(
            _START_LENGTH * components * (is_significant / np.where(is_significant, lengths, 1))[:, None]
        )


def lower_pair_loss(
    loss: PairLoss,
    start: FloatArray,
    *,
    tol: float,
    max_iter: int,
    report: Report | None = None,
) -> Trace[FloatArray]:
    """Minimize the loss by L-BFGS."""

    def evaluate(values: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = loss.evaluate(values.reshape(start.shape))
        return value, gradient.ravel()

    gradient_tol = _GRADIENT_TOL * len(loss.signs)
    trace = minimize_lbfgs(
        evaluate, start.ravel(), tol=tol, max_iter=max_iter, gradient_tol=gradient_tol, report=report
    )
    return trace.with_state(trace.state.reshape(start.shape))


def best_descent(
    coordinates: FloatArray,
    constraints: PairwiseConstraints,
    random: np.random.RandomState,
    *,
    beta: float,
    n_components: int,
    n_init: int,
    tol: float,
    max_iter: int,
    report: Report | None = None,
) -> Trace[FloatArray]:
    """Return the best of several descents from different starts."""
    centered, basis = span(coordinates)
    # Equal samples may differ by rounding errors after centering, which must not separate them.
    largest = np.abs(coordinates).max() if basis is not None else np.abs(coordinates).max(axis=0)
    centered = np.where(np.abs(centered) > _ROUNDING * largest, centered, 0.0)
    # In units of the typical length of a pair, the first step of L-BFGS is neither tiny nor huge.
    unit = float(np.abs(centered).max(initial=0)) or 1.0
    unit *= _typical_length(PairLoss.of(centered / unit, constraints, beta)) or 1.0
    loss = PairLoss.of(centered / unit, constraints, beta)
    traces: list[Trace[FloatArray]] = []
    for _ in range(n_init):
        start = loss.random_start(n_components, random)
        if not traces:
            start = loss.steepest_start(n_components) + _NOISE * start
        traces.append(lower_pair_loss(loss, start, tol=tol, max_iter=max_iter, report=report))
        if traces[-1].interrupted:
            break
    best = best_of(traces)
    return best.with_state(best.state / unit if basis is None else best.state / unit @ basis.T)


def constrained_samples(constraints: PairwiseConstraints) -> tuple[IntArray, PairwiseConstraints]:
    """Return the samples that have constraints, and the constraints with these samples numbered from 0.

    Returns
    -------
    samples : ndarray of int of shape (n_constrained,)
        Indices of the samples, in increasing order.
    constraints : PairwiseConstraints
        The same constraints on positions in `samples`.
    """
    pairs = np.vstack([constraints.must_link, constraints.cannot_link])
    samples, positions = np.unique(pairs, return_inverse=True)
    positions = positions.reshape(-1, 2)
    n_must = constraints.n_must_link
    return samples, PairwiseConstraints(positions[:n_must], positions[n_must:])


def _typical_length(loss: PairLoss) -> float:
    """Return the root mean square of the lengths of pairs, without an array of all their differences."""
    squares = loss.coordinates * (loss.differences.T @ loss.differences @ loss.coordinates)
    return float(np.sqrt(max(squares.sum(), 0) / len(loss.signs)))
