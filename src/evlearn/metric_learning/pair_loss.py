"""What PCCA minimises: must-links should be shorter than one, and cannot-links longer."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array, dia_array
from scipy.special import expit

from evlearn.constraints import PairwiseConstraints
from evlearn.metric_learning.directions import span
from evlearn.utils.convergence import Report, Trace, best_of
from evlearn.utils.lbfgs import lower_by_lbfgs
from evlearn.utils.typing import FloatArray, IntArray

_START = 1e-3
_NOISE = 1e-2
_GRADIENT = 1e-10
_ROUNDING = 64 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class PairLoss:
    """The loss of a linear map of samples, given constraints on pairs of them."""

    coordinates: FloatArray
    differences: csr_array
    signs: FloatArray
    beta: float

    @classmethod
    def of(cls, coordinates: FloatArray, constraints: PairwiseConstraints, beta: float) -> "PairLoss":
        """The loss of samples with these coordinates."""
        pairs = np.vstack([constraints.must_link, constraints.cannot_link])
        rows = np.repeat(np.arange(len(pairs)), 2)
        values = np.tile([1.0, -1.0], len(pairs))
        differences = csr_array((values, (rows, pairs.ravel())), shape=(len(pairs), len(coordinates)))
        signs = np.repeat([1.0, -1.0], [constraints.n_must_link, constraints.n_cannot_link])
        return cls(coordinates, differences, signs, beta)

    def evaluate(self, components: FloatArray) -> tuple[float, FloatArray]:
        """The loss and its gradient.

        Returns
        -------
        loss : float
            The loss.
        gradient : ndarray of shape (n_components, n_coordinates)
            Its derivatives.
        """
        gaps = self.differences @ (self.coordinates @ components.T)
        excess = self.beta * self.signs * ((gaps**2).sum(axis=1) - 1)
        loss = np.logaddexp(0, excess).sum() / self.beta
        pulls = (self.signs * expit(excess))[:, None] * gaps
        return float(loss), 2 * (self.differences.T @ pulls).T @ self.coordinates

    def random_start(self, n_components: int, random: np.random.RandomState) -> FloatArray:
        """A small random map; zero would be a stationary point."""
        mixture = random.standard_normal((n_components, len(self.signs)))
        return self._small((self.differences.T @ mixture.T).T @ self.coordinates)

    def steepest_start(self, n_components: int) -> FloatArray:
        """A small map in the directions in which the loss falls fastest from zero.

        A descent in tiny steps from a tiny random map turns into these before anything else happens.
        """
        pulls = self.signs * expit(-self.beta * self.signs)
        weights = self.differences.T @ (dia_array((pulls[None], [0]), shape=2 * pulls.shape) @ self.differences)
        n_coordinates = self.coordinates.shape[1]
        n_found = min(n_components, n_coordinates)
        start = np.zeros((n_components, n_coordinates))
        if n_found > 0:
            slopes = self.coordinates.T @ (weights @ self.coordinates)
            start[:n_found] = eigh(slopes, subset_by_index=[0, n_found - 1])[1].T
        return self._small(start)

    def _small(self, components: FloatArray) -> FloatArray:
        lengths = np.sqrt(((self.differences @ (self.coordinates @ components.T)) ** 2).mean(axis=0))
        # Shorter than that is rounding, of a direction in which no pair differs; it would be blown up.
        noise = _ROUNDING * np.abs(self.coordinates).max(initial=0) * np.linalg.norm(components, axis=1)
        known = lengths > noise
        return np.asarray(_START * components * (known / np.where(known, lengths, 1))[:, None])


def lower_pair_loss(
    loss: PairLoss,
    start: FloatArray,
    *,
    tol: float,
    max_iter: int,
    report: Report | None = None,
) -> Trace[FloatArray]:
    """Minimise the loss by L-BFGS."""

    def evaluate(values: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = loss.evaluate(values.reshape(start.shape))
        return value, gradient.ravel()

    gradient_tol = _GRADIENT * len(loss.signs)
    trace = lower_by_lbfgs(
        evaluate, start.ravel(), tol=tol, max_iter=max_iter, gradient_tol=gradient_tol, report=report
    )
    return trace.at(trace.state.reshape(start.shape))


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
    """The best of several descents from random starts."""
    centred, basis = span(coordinates)
    # Samples in one place differ by rounding only once they are centred, and would be told apart by that.
    largest = np.abs(coordinates).max() if basis is not None else np.abs(coordinates).max(axis=0)
    centred = np.where(np.abs(centred) > _ROUNDING * largest, centred, 0.0)
    # In units of the typical length of a pair, the first step of L-BFGS is neither tiny nor huge.
    unit = float(np.abs(centred).max(initial=0)) or 1.0
    unit *= _typical_length(PairLoss.of(centred / unit, constraints, beta)) or 1.0
    loss = PairLoss.of(centred / unit, constraints, beta)
    traces: list[Trace[FloatArray]] = []
    for _ in range(n_init):
        start = loss.random_start(n_components, random)
        if not traces:
            start = loss.steepest_start(n_components) + _NOISE * start
        traces.append(lower_pair_loss(loss, start, tol=tol, max_iter=max_iter, report=report))
        if traces[-1].interrupted:
            break
    best = best_of(traces)
    return best.at(best.state / unit if basis is None else best.state / unit @ basis.T)


def only_constrained(constraints: PairwiseConstraints) -> tuple[IntArray, PairwiseConstraints]:
    """The samples that have constraints, and the constraints with these samples numbered from 0.

    Returns
    -------
    samples : ndarray of int of shape (n_constrained,)
        Their numbers, ascending.
    constraints : PairwiseConstraints
        The same constraints on places in `objects`.
    """
    pairs = np.vstack([constraints.must_link, constraints.cannot_link])
    objects, places = np.unique(pairs, return_inverse=True)
    places = places.reshape(-1, 2)
    n_must = constraints.n_must_link
    return objects, PairwiseConstraints(places[:n_must], places[n_must:])


def _typical_length(loss: PairLoss) -> float:
    """The root mean square of the lengths of pairs, without a table of all their differences."""
    squares = loss.coordinates * (loss.differences.T @ loss.differences @ loss.coordinates)
    return float(np.sqrt(max(squares.sum(), 0) / len(loss.signs)))
