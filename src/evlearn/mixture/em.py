"""EM algorithm for Gaussian mixtures with one covariance model, from responsibilities to the largest likelihood.

Several runs are computed together, from several starts or with several weights of the same samples, so that they
share the overhead. Data are converted to units in which squares neither underflow nor overflow.
"""

from typing import Annotated, NamedTuple

import numpy as np
from scipy.special import rel_entr

from evlearn.kernels.gaussian import expectations, moments
from evlearn.mixture.covariance_models import BALLS, MODELS, raise_to_floor
from evlearn.storage import fields
from evlearn.utils.chunks import row_blocks
from evlearn.utils.convergence import Trace
from evlearn.utils.typing import BoolArray, FloatArray, IntArray
from evlearn.utils.validation import EXTREME_RATIO

# Threshold of rounding errors of a conditional variance: a share of the variance in the component, and the square
# of this share of the range.
SINGULAR = 1e-12
# Maximum number of responsibilities of runs that are computed together.
_MAX_RESPONSIBILITIES = 1 << 20
# Largest squared distance.
_FARTHEST = 1e299
#: Log-density below which samples are too far from all components of a mixture.
NOWHERE = -(EXTREME_RATIO**2) / 2


@fields.stored
class Mixture(NamedTuple):
    """A Gaussian mixture, or several of them in leading axes.

    Attributes
    ----------
    weights : ndarray of shape (n_components,)
        Weights of the components.
    means : ndarray of shape (n_components, n_features)
        Means of the components.
    covariances : ndarray of shape (n_components, n_features, n_features)
        Covariance matrices of the components.
    """

    weights: fields.Masses
    means: Annotated[FloatArray, fields.array(3)]
    covariances: Annotated[FloatArray, fields.array(4)]


class Fitted(NamedTuple):
    """Result of a run of EM.

    Attributes
    ----------
    mixture : Mixture
        The mixture.
    responsibilities : ndarray of shape (n_samples, n_components)
        The probabilities of the components, for each sample.
    problem : str
        Reason of a failure, or empty: the likelihood has no maximum if a component shrinks to fewer dimensions
        than the data.
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
    """Maximize the likelihoods of mixtures until convergence, each from initial responsibilities.

    Parameters are not checked. Data must be centered, and neither tiny nor huge. With `weights`, rows of weight 0
    have no influence, but do get responsibilities: if the weights are the counts of a bootstrap sample, the result
    contains all samples.
    """
    if floor is not None and model in BALLS:
        floor = np.full_like(floor, floor.mean())
    em = _ParallelRuns(X, responsibilities, np.ones((1, len(X))) if weights is None else weights, floor)
    runs, state = np.arange(len(responsibilities)), None

    def drop(failed: BoolArray, problem: str) -> None:
        nonlocal runs, state
        for run in runs[failed]:
            em.problems[run] = problem
        runs, state = runs[~failed], None if state is None else state[~failed]

    with np.errstate(all="ignore"):  # values that are not finite are detected as singular matrices
        for _ in range(max_iter):
            drop(em.vanished(runs), "a component has lost all its samples")
            if not len(runs):
                break
            state = em.maximize(runs, model, state, reg_covar)
            previous = None if any(em.histories) else em.shares[runs]
            singular, values = em.expect(runs, reg_covar)
            if previous is not None:
                bounds = values - em.divergence(runs, previous)
                for run, bound in zip(runs[~singular], bounds[~singular], strict=True):
                    em.histories[run].append(bound)
            values = values[~singular]
            drop(singular, "a covariance matrix is singular")
            for run, value in zip(runs, values, strict=True):
                history = em.histories[run]
                em.converged[run] = len(history) > 1 and value - history[-1] < tol * em.totals[run]
                history.append(value)
            drop(em.converged[runs], "")
    return em.traces()


class _ParallelRuns:
    """Arrays and histories of several runs, and the steps of EM for some of them."""

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
        self.histories: list[list[float]] = [[] for _ in range(n_runs)]
        self.problems = [""] * n_runs
        self.converged = np.zeros(n_runs, dtype=bool)
        # A constant feature stays constant, and is detected as singular.
        self.floor = floor if floor is not None and floor.min() > 0 else None

    def vanished(self, runs: IntArray) -> BoolArray:
        """Compute the moments of the components, and return a mask of the runs that have lost a component."""
        moments(self.Xt, self.shares, self.weights, runs, self.counts, self.mixtures.means, self.scatter)
        return np.asarray(~(self.counts[runs].min(axis=1) > 1e-10 * self.totals[runs]))

    def maximize(
        self, runs: IntArray, model: str, state: FloatArray | None, reg_covar: float
    ) -> FloatArray | None:
        """Maximize the likelihood for the responsibilities, and return the state of inner iterations."""
        counts, scatter = self.counts[runs], self.scatter[runs]
        if reg_covar:
            scatter += (reg_covar * counts)[..., None, None] * np.eye(len(self.Xt))
        next_state: FloatArray | None
        covariances, next_state = MODELS[model].step(scatter, counts, state)
        self.mixtures.covariances[runs] = (
            covariances if self.floor is None else raise_to_floor(covariances, self.floor)
        )
        self.mixtures.weights[runs] = counts / self.totals[runs, None]
        return next_state

    def expect(self, runs: IntArray, reg_covar: float) -> tuple[BoolArray, FloatArray]:
        """Update the responsibilities; return a mask of the runs with a singular mixture, and log-likelihoods."""
        floor = np.square(SINGULAR * self.ranges)
        expectations(
            self.Xt, self.shares, self.logs, *self.mixtures, runs, floor, SINGULAR, self.singular, _FARTHEST
        )
        # With equal volumes, a component that is flat in one direction is unbounded in others.
        variances = np.diagonal(self.mixtures.covariances[runs], axis1=2, axis2=3)
        unbounded = ~(variances.max(axis=(1, 2)) <= 1e4 * np.square(self.ranges.max()) + reg_covar)
        values = (self.logs[runs] * (self.weights if len(self.weights) == 1 else self.weights[runs])).sum(axis=1)
        return unbounded | self.singular[runs].astype(bool), values

    def divergence(self, runs: IntArray, before: FloatArray) -> FloatArray:
        """Return the Kullback-Leibler divergence of the responsibilities of runs from previous ones."""
        terms = rel_entr(before, np.maximum(self.shares[runs], np.finfo(float).tiny)).sum(axis=1)
        return np.asarray((terms * (self.weights if len(self.weights) == 1 else self.weights[runs])).sum(axis=1))

    def traces(self) -> list[Trace[Fitted]]:
        """Return the results of all runs."""
        return [
            Trace(
                Fitted(Mixture(*(array[run] for array in self.mixtures)), self.shares[run].T, self.problems[run]),
                history or [-np.inf],
                bool(self.converged[run]),
            )
            for run, history in enumerate(self.histories)
        ]


def runs_per_call(n_samples: int, n_components: int) -> int:
    """Return the number of runs per call of `run_em`, so that their arrays fit into the cache."""
    return max(1, min(50, _MAX_RESPONSIBILITIES // (n_samples * n_components)))


def posterior(X: FloatArray, mixtures: Mixture) -> tuple[FloatArray, FloatArray]:
    """Return the log-densities of samples, and the probabilities of the components, under each mixture.

    Samples at least a million standard deviations from all components get equal probabilities.

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
        block, block_logs = np.empty((n_mixtures, c, Xt.shape[1])), np.empty((n_mixtures, Xt.shape[1]))
        expectations(Xt, block, block_logs, *arrays, runs, floor, 0.0, singular, EXTREME_RATIO**2)
        if singular.any():  # no result for such a mixture
            raise ValueError("a covariance matrix of the mixture is singular; fit it again.")
        logs[:, rows], shares[:, :, rows] = block_logs, block
    return logs, shares


@fields.stored
class Units(NamedTuple):
    """Origin and scale of coordinates.

    Attributes
    ----------
    center : ndarray of shape (n_features,)
        Origin, which is subtracted.
    scale : float
        Divisor, a power of 2, so that division is exact.
    """

    center: fields.Vector
    scale: fields.PositiveNumber

    @classmethod
    def of(cls, data: FloatArray) -> "Units":
        """Compute the units for data."""
        data = data.astype(np.float64, copy=False)
        scale = _power_of_two(data)
        constant = (data == data[0]).all(axis=0)
        # Exact for a constant feature, whose variance must be 0.
        return cls(np.where(constant, data[0], data.mean(axis=0)), scale)

    def to(self, data: FloatArray) -> FloatArray:
        """Convert data to coordinates in these units."""
        with np.errstate(over="ignore"):
            return np.asarray((data.astype(np.float64, copy=False) - self.center) / self.scale)

    def mixture_to(self, mixture: Mixture) -> Mixture:
        """Convert a mixture of data to these coordinates."""
        means = (mixture.means - self.center) / self.scale
        return Mixture(mixture.weights, means, mixture.covariances / self.scale**2)

    def mixture_from(self, mixture: Mixture) -> Mixture:
        """Convert a mixture in these coordinates to the units of the data."""
        means = mixture.means * self.scale + self.center
        return Mixture(mixture.weights, means, mixture.covariances * self.scale**2)


def _power_of_two(data: FloatArray) -> float:
    """Return a power of 2 close to the range of the data."""
    with np.errstate(over="ignore"):
        spread = float(np.ptp(data, axis=0).max())
    if spread == 0:
        return 1.0
    if not 1e-140 < spread < 1e140:
        raise ValueError(f"X has a range of {spread:g}, whose square overflows or underflows; change its units.")
    return float(2.0 ** np.round(np.log2(spread)))
