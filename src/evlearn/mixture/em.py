"""EM for Gaussian mixtures: from responsibilities to a mixture of largest likelihood, for one covariance model.

Several runs go side by side, from several starts or with several weights of the same samples: what a run costs
besides arithmetic is paid once for all of them.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import rel_entr

from evlearn.kernels.gaussian import expectations, moments
from evlearn.mixture.covariance_models import BALLS, MODELS, raised
from evlearn.utils.chunks import row_blocks
from evlearn.utils.convergence import Trace
from evlearn.utils.typing import BoolArray, FloatArray, IntArray
from evlearn.utils.validation import REMOTE

# What is left of a feature is rounding below this share of its variance in the component, given the others, and
# below the square of this share of its range among all samples.
SINGULAR = 1e-12
# Responsibilities of the runs side by side.
_NUMBERS_AT_A_TIME = 1 << 20
# Squared distances beyond this are not computed with.
_FARTHEST = 1e299
#: Log-densities below this are those of samples about which a mixture says nothing.
NOWHERE = -(REMOTE**2) / 2


class Mixture(NamedTuple):
    """A Gaussian mixture, or several of them in leading axes.

    Attributes
    ----------
    weights : ndarray of shape (n_components,)
        How much of the data each component has.
    means : ndarray of shape (n_components, n_features)
        The centres.
    covariances : ndarray of shape (n_components, n_features, n_features)
        The covariance matrices.
    """

    weights: FloatArray
    means: FloatArray
    covariances: FloatArray


class Fitted(NamedTuple):
    """What a run of EM has found.

    Attributes
    ----------
    mixture : Mixture
        The mixture.
    responsibilities : ndarray of shape (n_samples, n_components)
        The probabilities of the components, for each sample.
    problem : str
        Why it failed: the likelihood has no maximum where a component shrinks to fewer dimensions than the data
        have. Empty if it did not.
    """

    mixture: Mixture
    responsibilities: FloatArray
    problem: str


def run_em(
    X: FloatArray,
    responsibilities: FloatArray,
    model: str,
    *,
    weights: FloatArray | None = None,
    tol: float = 1e-6,
    max_iter: int = 500,
    reg_covar: float = 0.0,
    floor: FloatArray | None = None,
) -> list[Trace[Fitted]]:
    """Raise the likelihoods of mixtures until they settle, each from given responsibilities.

    Nothing is checked, so that it can be called many times. Give data that are centred and neither tiny nor huge.
    With `weights`, rows of weight zero have no influence, and get responsibilities all the same: with the counts
    of a bootstrap sample as weights the result has those of all samples.
    """
    n_runs = len(responsibilities)
    if floor is not None and model in BALLS:
        floor = np.full_like(floor, floor.mean())
    side_by_side = _Runs(X, responsibilities, np.ones((1, len(X))) if weights is None else weights, floor)
    histories: list[list[float]] = [[] for _ in range(n_runs)]
    problems = [""] * n_runs
    converged = np.zeros(n_runs, dtype=bool)
    runs, state = np.arange(n_runs), None

    def drop(failed: BoolArray, problem: str) -> None:
        nonlocal runs, state
        for run in runs[failed]:
            problems[run] = problem
        runs, state = runs[~failed], None if state is None else state[~failed]

    with np.errstate(all="ignore"):  # what is not finite is found as a singular matrix
        for _ in range(max_iter):
            drop(side_by_side.vanished(runs), "a component has lost all its samples")
            if not len(runs):
                break
            state = side_by_side.maximise(runs, model, state, reg_covar)
            given = None if any(histories) else side_by_side.shares[runs]
            singular, values = side_by_side.expect(runs, reg_covar)
            if given is not None:
                bounds = values - side_by_side.divergence(runs, given)
                for run, bound in zip(runs[~singular], bounds[~singular], strict=True):
                    histories[run].append(bound)
            values = values[~singular]
            drop(singular, "a covariance matrix is singular")
            for run, value in zip(runs, values, strict=True):
                history = histories[run]
                converged[run] = len(history) > 1 and value - history[-1] < tol * side_by_side.totals[run]
                history.append(value)
            drop(converged[runs], "")
    return [
        Trace(
            Fitted(
                Mixture(*(array[run] for array in side_by_side.mixtures)),
                side_by_side.shares[run].T,
                problems[run],
            ),
            histories[run] or [-np.inf],
            bool(converged[run]),
        )
        for run in range(n_runs)
    ]


class _Runs:
    """Runs side by side: the arrays of all of them, and steps for some."""

    def __init__(
        self, X: FloatArray, responsibilities: FloatArray, weights: FloatArray, floor: FloatArray | None
    ) -> None:
        n_runs, n, c = responsibilities.shape
        d = X.shape[1]
        self.Xt = np.ascontiguousarray(X.T)
        self.shares = np.array(responsibilities.swapaxes(1, 2), dtype=np.float64, order="C")
        self.weights = np.ascontiguousarray(weights, dtype=np.float64)
        self.totals = np.broadcast_to(self.weights.sum(axis=1), n_runs)
        self.counts, self.scatter = np.empty((n_runs, c)), np.empty((n_runs, c, d, d))
        self.mixtures = Mixture(np.empty((n_runs, c)), np.empty((n_runs, c, d)), np.empty((n_runs, c, d, d)))
        self.logs, self.singular = np.empty((n_runs, n)), np.zeros(n_runs, dtype=np.uint8)
        self.ranges = np.ptp(X, axis=0)
        # A constant feature stays one, and is found as such.
        self.floor = floor if floor is not None and floor.min() > 0 else None

    def vanished(self, runs: IntArray) -> BoolArray:
        """Sum up the components, and say which runs have lost one."""
        moments(self.Xt, self.shares, self.weights, runs, self.counts, self.mixtures.means, self.scatter)
        return np.asarray(~(self.counts[runs].min(axis=1) > 1e-10 * self.totals[runs]))

    def maximise(
        self, runs: IntArray, model: str, state: FloatArray | None, reg_covar: float
    ) -> FloatArray | None:
        """The mixtures of largest likelihood for the responsibilities; where inner iterations ended."""
        counts, scatter = self.counts[runs], self.scatter[runs]
        if reg_covar:
            scatter += (reg_covar * counts)[..., None, None] * np.eye(len(self.Xt))
        ended: FloatArray | None
        covariances, ended = MODELS[model].step(scatter, counts, state)
        self.mixtures.covariances[runs] = covariances if self.floor is None else raised(covariances, self.floor)
        self.mixtures.weights[runs] = counts / self.totals[runs, None]
        return ended

    def expect(self, runs: IntArray, reg_covar: float) -> tuple[BoolArray, FloatArray]:
        """The responsibilities for the mixtures; which runs have a singular one, and log-likelihoods."""
        floor = np.square(SINGULAR * self.ranges)
        expectations(
            self.Xt, self.shares, self.logs, *self.mixtures, runs, floor, SINGULAR, self.singular, _FARTHEST
        )
        # Where volumes are equal, a component that is flat in one direction is endless in others.
        variances = np.diagonal(self.mixtures.covariances[runs], axis1=2, axis2=3)
        endless = ~(variances.max(axis=(1, 2)) <= 1e4 * np.square(self.ranges.max()) + reg_covar)
        values = (self.logs[runs] * (self.weights if len(self.weights) == 1 else self.weights[runs])).sum(axis=1)
        return endless | self.singular[runs].astype(bool), values

    def divergence(self, runs: IntArray, before: FloatArray) -> FloatArray:
        """How far the responsibilities of runs are from others, as Kullback and Leibler measure it."""
        terms = rel_entr(before, np.maximum(self.shares[runs], np.finfo(float).tiny)).sum(axis=1)
        return np.asarray((terms * (self.weights if len(self.weights) == 1 else self.weights[runs])).sum(axis=1))


def runs_at_a_time(n_samples: int, n_components: int) -> int:
    """How many runs to give to `run_em`: as many as stay near the processor."""
    return max(1, min(50, _NUMBERS_AT_A_TIME // (n_samples * n_components)))


def posterior(X: FloatArray, mixtures: Mixture) -> tuple[FloatArray, FloatArray]:
    """The log-density of each sample, and the probabilities of the components, under each of several mixtures.

    Samples that are a million standard deviations and more from all components get equal probabilities.

    Returns
    -------
    logs : ndarray of shape (n_mixtures, n_samples)
        The log-densities.
    responsibilities : ndarray of shape (n_mixtures, n_components, n_samples)
        The probabilities.
    """
    n_mixtures, c, d = mixtures.means.shape
    logs, shares = np.empty((n_mixtures, len(X))), np.empty((n_mixtures, c, len(X)))
    runs, floor, singular = np.arange(n_mixtures), np.zeros(d), np.zeros(n_mixtures, dtype=np.uint8)
    arrays = [np.ascontiguousarray(array) for array in mixtures]
    for rows in row_blocks(len(X)):
        Xt = np.ascontiguousarray(X[rows].T, dtype=np.float64)
        some, some_logs = np.empty((n_mixtures, c, Xt.shape[1])), np.empty((n_mixtures, Xt.shape[1]))
        expectations(Xt, some, some_logs, *arrays, runs, floor, 0.0, singular, REMOTE**2)
        if singular.any():  # of such a mixture nothing is computed
            raise ValueError("a covariance matrix of the mixture is singular; fit it again.")
        logs[:, rows], shares[:, :, rows] = some_logs, some
    return logs, shares


__all__ = ["NOWHERE", "Fitted", "Mixture", "posterior", "run_em", "runs_at_a_time"]
