"""What training samples say of each other, each left out once: so scales are learned, and the rest is chosen."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from evlearn.belief import contour
from evlearn.classify.neighbor_evidence import Evidence
from evlearn.utils.convergence import Trace
from evlearn.utils.lbfgs import lower_by_lbfgs
from evlearn.utils.progress import Count
from evlearn.utils.typing import FloatArray, IntArray

_GRADIENT = 1e-9
_ASKED = 1000  # samples by which settings are compared
_LEAST = 1e-12


class Neighborhoods(NamedTuple):
    """The nearest others of samples, squared distances, and how often they count; None is once."""

    neighbors: npt.NDArray[np.int32]
    squares: FloatArray
    counts: FloatArray | None

    def of(self, rows: IntArray) -> "Neighborhoods":
        """Those of some samples."""
        counts = None if self.counts is None else self.counts[rows]
        return Neighborhoods(self.neighbors[rows], self.squares[rows], counts)


class Setting(NamedTuple):
    """How many neighbours speak, and how much one at distance zero says."""

    n_neighbors: int
    alpha: float


@dataclass(frozen=True)
class LeaveOneOut:
    """Training samples that ask the others.

    Attributes
    ----------
    evidence : Evidence
        What neighbours say.
    nearest : callable
        From a number of neighbours to `Neighborhoods`.
    targets : ndarray of shape (n_samples, n_classes)
        What should be said of the classes.
    truth : ndarray of shape (n_samples, n_classes)
        The probabilities of the classes by the labels.
    share : float
        The share of the mass on the frame that counts for each class.
    importance : ndarray of shape (n_samples,) or None
        How much the error of each sample counts; None is once.
    start : ndarray of shape (n_scales,)
        The scales to begin with.
    floor : ndarray of shape (n_scales,)
        The smallest factors of these.
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
        """The setting with the smallest log-loss."""
        rows = np.unique(np.linspace(0, len(self.truth) - 1, _ASKED).astype(np.intp))

        tried = Count("search", "setting", len(settings))

        def log_loss(setting: Setting) -> float:
            near = self.nearest(setting.n_neighbors).of(rows)
            scales = self._learn(setting, near, rows, optimize=optimize, **limits).state * self.start
            masses = self.evidence.masses(near.neighbors, near.squares, scales, setting.alpha, near.counts)
            said = contour(masses, self.evidence.focal_sets)
            right = (said * self.truth[rows]).sum(axis=1) / said.sum(axis=1)
            weights = None if self.importance is None else self.importance[rows]
            tried.add(1)
            return -float(np.average(np.log(np.maximum(right, _LEAST)), weights=weights))

        return min(settings, key=log_loss)

    def learn(self, setting: Setting, *, optimize: bool, **limits: Any) -> Trace[FloatArray]:
        """The factors by which the scales change from the start, which do not depend on units."""
        rows = np.arange(len(self.truth))
        return self._learn(setting, self.nearest(setting.n_neighbors), rows, optimize=optimize, **limits)

    def _learn(
        self, setting: Setting, near: Neighborhoods, rows: IntArray, *, optimize: bool, **limits: Any
    ) -> Trace[FloatArray]:
        targets = self.targets[rows]
        importance = None if self.importance is None else self.importance[rows]

        def evaluate(factors: FloatArray) -> tuple[float, FloatArray]:
            scales = factors * self.start
            told = (near.neighbors, near.squares, scales, setting.alpha, targets, self.share)
            loss, slopes = self.evidence.loss(*told, near.counts, importance)
            return loss, slopes * self.start

        ones = np.ones(len(self.start))
        if not optimize:
            return Trace(ones, [evaluate(ones)[0]], converged=True)
        return lower_by_lbfgs(evaluate, ones, lower=self.floor, gradient_tol=_GRADIENT, **limits)
