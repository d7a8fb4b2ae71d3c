"""Leave-one-out estimation of the scales of neighbors, and choice of their number and alpha."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from evlearn.belief import contour
from evlearn.classify.neighbor_evidence import Evidence
from evlearn.utils.convergence import Trace, minimize_lbfgs
from evlearn.utils.progress import Count
from evlearn.utils.typing import FloatArray, IntArray

_GRADIENT = 1e-9
_N_COMPARED = 1000  # samples to compare settings
_TINY = 1e-12


class Neighborhoods(NamedTuple):
    """Nearest other samples, squared distances and weights; None means weights of 1."""

    neighbors: npt.NDArray[np.int32]
    squares: FloatArray
    counts: FloatArray | None

    def of(self, rows: IntArray) -> "Neighborhoods":
        """Return the neighborhoods of some samples."""
        counts = None if self.counts is None else self.counts[rows]
        return Neighborhoods(self.neighbors[rows], self.squares[rows], counts)


class Setting(NamedTuple):
    """Number of neighbors, and the mass of a neighbor at distance 0."""

    n_neighbors: int
    alpha: float


@dataclass(frozen=True)
class LeaveOneOut:
    """Leave-one-out problem of training samples.

    Attributes
    ----------
    evidence : Evidence
        Evidence of neighbors.
    nearest : callable
        Function of the number of neighbors that returns `Neighborhoods`.
    targets : ndarray of shape (n_samples, n_classes)
        Targets of the classes.
    truth : ndarray of shape (n_samples, n_classes)
        Probabilities of the classes by the labels.
    share : float
        Share of the mass on the frame that counts for each class.
    importance : ndarray of shape (n_samples,) or None
        Weight of the error of each sample; None means weights of 1.
    start : ndarray of shape (n_scales,)
        Initial scales.
    floor : ndarray of shape (n_scales,)
        Minimum factors of the initial scales.
    """

    evidence: Evidence
    nearest: Callable[[int], Neighborhoods]
    targets: FloatArray
    truth: FloatArray
    share: float
    importance: FloatArray | None
    start: FloatArray
    floor: FloatArray

    def choose(self, settings: Sequence[Setting], *, optimize: bool, **limits: Any) -> Setting:
        """Return the setting with the smallest log-loss."""
        rows = np.unique(np.linspace(0, len(self.truth) - 1, _N_COMPARED).astype(np.intp))

        progress = Count("search", "setting", len(settings))

        def log_loss(setting: Setting) -> float:
            neighborhoods = self.nearest(setting.n_neighbors).of(rows)
            scales = (
                self._fit_factors(setting, neighborhoods, rows, optimize=optimize, **limits).state * self.start
            )
            masses = self.evidence.masses(
                neighborhoods.neighbors, neighborhoods.squares, scales, setting.alpha, neighborhoods.counts
            )
            plausibilities = contour(masses, self.evidence.focal_sets)
            likelihoods = (plausibilities * self.truth[rows]).sum(axis=1) / plausibilities.sum(axis=1)
            weights = None if self.importance is None else self.importance[rows]
            progress.add(1)
            return -float(np.average(np.log(np.maximum(likelihoods, _TINY)), weights=weights))

        return min(settings, key=log_loss)

    def fit(self, setting: Setting, *, optimize: bool, **limits: Any) -> Trace[FloatArray]:
        """Fit the factors of the initial scales, which do not depend on units."""
        rows = np.arange(len(self.truth))
        return self._fit_factors(setting, self.nearest(setting.n_neighbors), rows, optimize=optimize, **limits)

    def _fit_factors(
        self, setting: Setting, neighborhoods: Neighborhoods, rows: IntArray, *, optimize: bool, **limits: Any
    ) -> Trace[FloatArray]:
        targets = self.targets[rows]
        importance = None if self.importance is None else self.importance[rows]

        def evaluate(factors: FloatArray) -> tuple[float, FloatArray]:
            scales = factors * self.start
            arguments = (
                neighborhoods.neighbors,
                neighborhoods.squares,
                scales,
                setting.alpha,
                targets,
                self.share,
            )
            loss, slopes = self.evidence.loss(*arguments, neighborhoods.counts, importance)
            return loss, slopes * self.start

        initial = np.ones(len(self.start))
        if not optimize:
            return Trace(initial, [evaluate(initial)[0]], converged=True)
        return minimize_lbfgs(evaluate, initial, lower=self.floor, gradient_tol=_GRADIENT, **limits)
