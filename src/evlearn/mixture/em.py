"""EM for Gaussian mixtures: from responsibilities to a mixture of largest likelihood, for one covariance model."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from evlearn.belief.types import FloatArray
from evlearn.mixture.covariance_models import MODELS
from evlearn.slices import row_blocks

# What is left of an attribute is rounding below this share of its variance in the component, given the others, and
# below the square of this share of its range among all objects.
SINGULAR = 1e-12


class SingularCovariance(ValueError):  # noqa: N818
    """A component has shrunk to fewer dimensions than the data, or to nothing: the likelihood has no maximum."""


class Mixture(NamedTuple):
    """A Gaussian mixture.

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


class Outcome(NamedTuple):
    """Where EM ended.

    Attributes
    ----------
    mixture : Mixture
        The mixture.
    responsibilities : ndarray of shape (n_samples, n_components)
        The probabilities of the components, for each object.
    history : ndarray of shape (n_iterations,)
        The log-likelihood after each iteration.
    converged : bool
        Whether it settled.
    interrupted : bool
        Always False: an interruption is not caught.
    """

    mixture: Mixture
    responsibilities: FloatArray
    history: FloatArray
    converged: bool
    interrupted: bool = False


def run_em(
    X: FloatArray,
    responsibilities: FloatArray,
    model: str,
    *,
    weights: FloatArray | None = None,
    tol: float = 1e-6,
    max_iter: int = 500,
    reg_covar: float = 0.0,
) -> Outcome:
    """Raise the likelihood of a mixture until it settles, from given responsibilities.

    Nothing is checked, so that it can be called many times. Give data that are centred and neither tiny nor huge.
    With `weights`, rows of weight zero have no influence, and get responsibilities all the same: with the counts
    of a bootstrap sample as weights the result has those of all objects.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The objects.
    responsibilities : ndarray of shape (n_samples, n_components)
        Where to start.
    model : str
        A name of `MODELS`.
    weights : ndarray of shape (n_samples,), default=None
        How often each object counts; once if None.
    tol : float, default=1e-6
        An iteration that raises the mean log-likelihood of an object by less than this is the last.
    max_iter : int, default=500
        The largest number of iterations.
    reg_covar : float, default=0.0
        What is added to the variances of each component before they are made those of the model.

    Returns
    -------
    Outcome
        Where it ended.

    Raises
    ------
    SingularCovariance
        If a covariance becomes singular, or a component vanishes.
    """
    state = None
    ranges = np.ptp(X, axis=0)
    floor = np.square(SINGULAR * ranges)
    # Where volumes are equal, a component that is flat in one direction is endless in others.
    ceiling = 1e4 * np.square(ranges.max()) + reg_covar
    total = float(len(X)) if weights is None else float(weights.sum())
    shares = np.ascontiguousarray(responsibilities.T)
    history: list[float] = []
    converged = False
    with np.errstate(all="ignore"):  # what is not finite is found by the Cholesky factors
        while not converged and len(history) < max_iter:
            counts, means, scatter = _moments(X, shares if weights is None else shares * weights)
            if not counts.min() > 1e-10 * total:
                raise SingularCovariance("a component has lost all its objects")
            if reg_covar:
                scatter += (reg_covar * counts)[:, None, None] * np.eye(X.shape[1])
            covariances, state = _step(model, scatter, counts, state)
            mixture = Mixture(counts / total, means, covariances)
            variances = np.diagonal(covariances, axis1=1, axis2=2)
            if not variances.max() <= ceiling:
                raise SingularCovariance("a covariance matrix is singular")
            logs, shares = _posterior(joint_logs(X, mixture, floor + SINGULAR * variances))
            history.append(float(logs.sum() if weights is None else logs @ weights))
            converged = len(history) > 1 and history[-1] - history[-2] < tol * total
    return Outcome(mixture, shares.T, np.array(history), converged)


def _step(model: str, scatter: FloatArray, counts: FloatArray, state: Any) -> tuple[FloatArray, Any]:
    try:
        return MODELS[model].step(scatter, counts, state)
    except np.linalg.LinAlgError:  # eigenvalues of what is not finite
        raise SingularCovariance("a covariance matrix is singular") from None


def joint_logs(X: FloatArray, mixture: Mixture, floor: FloatArray | float = 0.0) -> FloatArray:
    """Log-densities of the components, times their weights.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The objects.
    mixture : Mixture
        The mixture.
    floor : ndarray of shape (n_components, n_features) or float, default=0.0
        What the variance of an attribute, given those before it, has to exceed.

    Returns
    -------
    ndarray of shape (n_components, n_samples)
        The logarithms.
    """
    try:
        factors = np.linalg.cholesky(mixture.covariances)
    except np.linalg.LinAlgError:
        raise SingularCovariance("a covariance matrix is singular") from None
    deviations = np.diagonal(factors, axis1=1, axis2=2)
    if not (np.square(deviations) > floor).all():
        raise SingularCovariance("a covariance matrix is singular")
    whitening = np.linalg.inv(factors).swapaxes(1, 2)
    constants = np.log(mixture.weights) - np.log(deviations).sum(axis=1) - X.shape[1] / 2 * np.log(2 * np.pi)
    logs = np.empty((len(whitening), len(X)))
    for rows in _blocks(X, len(whitening)):
        whitened = (X[rows] - mixture.means[:, None]) @ whitening
        logs[:, rows] = constants[:, None] - 0.5 * np.einsum("kij,kij->ki", whitened, whitened)
    return logs


def posterior(X: FloatArray, mixture: Mixture) -> tuple[FloatArray, FloatArray]:
    """The log-density of each object, and the probabilities of the components.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The objects.
    mixture : Mixture
        The mixture.

    Returns
    -------
    logs : ndarray of shape (n_samples,)
        The log-densities.
    responsibilities : ndarray of shape (n_samples, n_components)
        The probabilities.
    """
    logs, shares = _posterior(joint_logs(X, mixture))
    return logs, shares.T


def _posterior(joint: FloatArray) -> tuple[FloatArray, FloatArray]:
    largest = joint.max(axis=0)
    shares = np.exp(joint - largest)
    sums = shares.sum(axis=0)
    return largest + np.log(sums), shares / sums


def _moments(X: FloatArray, shares: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Counts, means and scatter matrices of the components."""
    counts = shares.sum(axis=1)
    means = shares @ X / counts[:, None]
    scatter = np.zeros((len(shares), X.shape[1], X.shape[1]))
    for rows in _blocks(X, len(shares)):
        differences = X[rows] - means[:, None]
        scatter += (differences * shares[:, rows, None]).swapaxes(1, 2) @ differences
    return counts, means, scatter


def _blocks(X: FloatArray, n_components: int) -> Iterator[slice]:
    """Rows whose differences to all means fit into the cache."""
    return row_blocks(len(X), max(1, 2**17 // (n_components * X.shape[1])))


__all__ = ["Mixture", "Outcome", "SingularCovariance", "joint_logs", "posterior", "run_em"]
