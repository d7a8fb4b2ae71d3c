"""Bootstrap of a mixture: fits of the same model to resamples of the data, to measure its variation."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from joblib import delayed
from scipy.linalg import solve_triangular
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from evlearn.mixture.em import NOWHERE, Fitted, Mixture, Units, posterior, run_em, runs_per_call
from evlearn.mixture.parsimonious_gaussian_mixture import ParsimoniousGaussianMixture
from evlearn.mixture.search import bic, simplest
from evlearn.storage import fields
from evlearn.utils.chunks import row_blocks
from evlearn.utils.convergence import Trace, warn_caller
from evlearn.utils.parallel import one_blas_thread, run_jobs
from evlearn.utils.typing import FloatArray
from evlearn.utils.validation import check_shape

# Maximum number of resamples drawn to find one to which the model can be fitted.
_DRAWS = 100
_ESTIMATORS_PER_JOB = 10
# Difference of BIC that is very strong evidence against a model (Kass and Raftery 1995): it is not tried again.
RIVALS = 10.0

Report = Callable[[int], None]


class Replicates(Protocol):
    """Mixtures fitted to resamples."""

    def __len__(self) -> int:
        """Return the number of mixtures."""

    def posterior(self, X: FloatArray) -> FloatArray:
        """Return the probabilities of the components under each mixture."""


@fields.stored
@dataclass(frozen=True)
class GaussianReplicates:
    """Gaussian mixtures fitted to resamples.

    Attributes
    ----------
    mixtures : Mixture
        The mixtures, with a leading axis.
    units : Units
        Units of the coordinates.
    """

    mixtures: Mixture
    units: Units

    def __post_init__(self) -> None:
        # Compiled code does not check the bounds of these arrays.
        number, c, d = self.mixtures.means.shape
        check_shape("weights", self.mixtures.weights, (number, c))
        check_shape("covariances", self.mixtures.covariances, (number, c, d, d))
        check_shape("center", self.units.center, (d,))
        if not number * c * d:
            raise ValueError(f"means must not be empty, got shape {self.mixtures.means.shape}.")

    def __getstate__(self) -> dict[str, Any]:
        return {"mixtures": self.mixtures, "units": self.units}  # without factors, which can be computed again

    def __len__(self) -> int:
        """Return the number of mixtures."""
        return len(self.mixtures.weights)

    def posterior(self, X: FloatArray) -> FloatArray:
        """Return the probabilities of the components under each mixture; see `Replicates`."""
        check_shape("X", X, (len(X), len(self.units.center)))
        with one_blas_thread():
            logs, shares = posterior(self.units.to(X), self.mixtures)
        shares[np.broadcast_to((logs < NOWHERE)[:, None], shares.shape)] = 0
        return _samples_first(shares)

    def squared_distances(self, X: FloatArray) -> FloatArray:
        """Return the squared Mahalanobis distances of samples to the components of the first mixture."""
        coordinates = self.units.to(X)
        squares = np.empty((len(X), self.mixtures.means.shape[1]))
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
            for k, inverse in enumerate(self._inverse_factors):
                squares[:, k] = (((coordinates - self.mixtures.means[0, k]) @ inverse.T) ** 2).sum(axis=1)
        return np.where(np.isnan(squares), np.inf, squares)

    @cached_property
    def _inverse_factors(self) -> list[FloatArray]:
        """Inverse Cholesky factors of the covariance matrices of the first mixture."""
        factors = np.linalg.cholesky(self.mixtures.covariances[0])
        return [solve_triangular(factor, np.eye(len(factor)), lower=True) for factor in factors]


@dataclass(frozen=True)
class FittedReplicates:
    """Estimators fitted to resamples.

    Attributes
    ----------
    estimators : sequence of estimator
        Estimators with `predict_proba`.
    """

    estimators: Sequence[Any]

    def __len__(self) -> int:
        """Return the number of mixtures."""
        return len(self.estimators)

    def posterior(self, X: FloatArray) -> FloatArray:
        """Return the probabilities of the components under each mixture; see `Replicates`."""
        return _samples_first(np.stack([_shares(estimator, X) for estimator in self.estimators]))


def bootstrap(
    mixture: Any,
    X: FloatArray,
    n_bootstrap: int,
    random: np.random.RandomState,
    *,
    reselect: bool = True,
    n_jobs: int | None = None,
    report: Report | None = None,
) -> tuple[Replicates, FloatArray]:
    """Fit a mixture again to resamples of its data, each starting from the result of the first fit.

    For a `ParsimoniousGaussianMixture`, the covariance model is selected again for each resample, among models of
    nearly equal BIC, unless `reselect` is False.

    Returns
    -------
    replicates : Replicates
        The mixtures; fewer than `n_bootstrap` if the user interrupted the computation.
    probabilities : ndarray of float32 of shape (n_samples, n_components, n_replicates)
        The probabilities of the components under each of them, for the original samples.
    """
    if isinstance(mixture, ParsimoniousGaussianMixture):
        units = Units.of(X)
        models = _rivals(mixture, RIVALS if reselect else 0.0)
        arguments = (units.to(X), mixture.predict_proba(X), models, _settings(mixture, units))
        size = runs_per_call(len(X), mixture.n_components_)
        parts = _collect(_gaussian_part, arguments, n_bootstrap, size, random, n_jobs, report)
        arrays = zip(*(part[0] for part in parts), strict=True)
        replicates: Replicates = GaussianReplicates(Mixture(*map(np.concatenate, arrays)), units)
        _warn_of_failures(sum(part[2] for part in parts), sum(len(part[1]) for part in parts), models)
        return replicates, _samples_first(np.concatenate([part[1] for part in parts]))
    start = _warm_started(mixture)
    parts = _collect(_fitted_part, (start, X), n_bootstrap, _ESTIMATORS_PER_JOB, random, n_jobs, report)
    replicates = FittedReplicates([estimator for part in parts for estimator in part])
    return replicates, replicates.posterior(X)


def _collect(
    work: Callable[..., Any],
    arguments: tuple[Any, ...],
    n_bootstrap: int,
    size: int,
    random: np.random.RandomState,
    n_jobs: int | None,
    report: Report | None,
) -> list[Any]:
    """Return the results of independently seeded parts; only the completed ones after an interruption."""
    slices = list(row_blocks(n_bootstrap, size))
    seeds = random.randint(np.iinfo(np.int32).max, size=len(slices))
    jobs = [
        delayed(work)(*arguments, part.stop - part.start, seed) for part, seed in zip(slices, seeds, strict=True)
    ]
    parts, _ = run_jobs(jobs, n_jobs, (lambda number: report(slices[number - 1].stop)) if report else None)
    if not parts:
        raise KeyboardInterrupt
    return parts


def _rivals(mixture: ParsimoniousGaussianMixture, excess: float) -> list[str]:
    """Return the covariance models that a resample can select, the best first.

    Intervals would be too narrow if the selected model were fixed, because the selection varies, too.
    """
    column = mixture.bic_table_[:, mixture.component_numbers_.index(mixture.n_components_)]
    candidates = [i for i in column.argsort(kind="stable") if column[i] <= mixture.bic_ + excess]
    names = [mixture.model_, *(mixture.covariance_models_[i] for i in candidates)]
    return list(dict.fromkeys(simplest(name, mixture.n_components_) for name in names))


def _gaussian_part(
    X: FloatArray, start: FloatArray, models: list[str], settings: dict[str, Any], number: int, seed: int
) -> tuple[Mixture, FloatArray, int]:
    """Return mixtures, probabilities (n_replicates, n_components, n_samples), and the number of draws."""
    random, n_drawn = np.random.RandomState(seed), 0
    fits: list[Any] = [None] * number
    missing = list(range(number))
    with one_blas_thread():
        for _ in range(_DRAWS):
            weights = np.array([_counts(random, len(X)) for _ in missing])
            n_drawn += len(missing)
            starts = np.broadcast_to(start, (len(missing), *start.shape))
            fitted = [run_em(X, starts, model, weights=weights, **settings) for model in models]
            for place, *outcomes in zip(missing, *fitted, strict=True):
                fits[place] = _best_fit(outcomes, models, len(X))
            missing = [place for place in missing if fits[place].problem]
            if not missing:
                mixture = Mixture(
                    *(np.stack(arrays) for arrays in zip(*(fit.mixture for fit in fits), strict=True))
                )
                return mixture, np.stack([fit.responsibilities.T for fit in fits]).astype(np.float32), n_drawn
    raise ValueError(
        f"the model {models[0]} with {start.shape[1]} components could not be fitted to {_DRAWS} resamples in "
        f"turn: {fits[missing[0]].problem}. Some clusters have too few samples for it; try fewer clusters "
        "or a simpler covariance model such as 'EII' or 'EEE'."
    )


def _best_fit(outcomes: Sequence[Trace[Fitted]], models: Sequence[str], n_samples: int) -> Fitted:
    """Return the fit of lowest BIC, or a failed one if all failed."""

    def criterion(pair: tuple[Trace[Fitted], str]) -> float:
        outcome, model = pair
        fitted = outcome.state
        return np.inf if fitted.problem else bic(outcome.objective, model, fitted.mixture, n_samples)

    return min(zip(outcomes, models, strict=True), key=criterion)[0].state


def _warn_of_failures(n_drawn: int, n_fitted: int, models: Sequence[str]) -> None:
    if n_drawn > 2 * n_fitted:
        warn_caller(
            f"the model {models[0]} could be fitted only to {n_fitted} of {n_drawn} resamples, because "
            "some clusters are too small for it. Intervals are based on these resamples and may be too narrow. "
            "Try fewer clusters or a simpler covariance model such as 'EII' or 'EEE'."
        )


def _counts(random: np.random.RandomState, n_samples: int) -> FloatArray:
    return np.bincount(random.randint(n_samples, size=n_samples), minlength=n_samples).astype(np.float64)


def _settings(mixture: ParsimoniousGaussianMixture, units: Units) -> dict[str, Any]:
    return {
        "tol": mixture.tol,
        "max_iter": mixture.max_iter,
        "reg_covar": mixture.reg_covar / units.scale**2,
        "floor": mixture.variance_floor_ / units.scale**2,
    }


def _fitted_part(estimator: Any, X: FloatArray, number: int, seed: int) -> list[Any]:
    random = np.random.RandomState(seed)
    return [_fit_resample(estimator, X, random) for _ in range(number)]


def _fit_resample(estimator: Any, X: FloatArray, random: np.random.RandomState) -> Any:
    problem: Exception | None = None
    for _ in range(_DRAWS):
        copy = clone(estimator)
        if "random_state" in copy.get_params():
            copy.set_params(random_state=random.randint(np.iinfo(np.int32).max))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                return copy.fit(X[random.randint(len(X), size=len(X))])
        except ValueError as error:  # usually a singular covariance matrix
            problem = error
    raise ValueError(
        f"mixture={estimator!r} could not be fitted to {_DRAWS} resamples in turn: {problem}. Try fewer "
        "components or a simpler model."
    )


def _warm_started(mixture: Any) -> Any:
    """Return a clone of a mixture that starts from its fitted parameters, if it supports this."""
    copy = clone(mixture)
    parameters = copy.get_params()
    starts = {"weights_init": "weights_", "means_init": "means_", "precisions_init": "precisions_"}
    if all(name in parameters for name in starts):
        copy.set_params(n_init=1, **{name: getattr(mixture, attribute) for name, attribute in starts.items()})
    return copy


def _shares(estimator: Any, X: FloatArray) -> FloatArray:
    with np.errstate(all="ignore"):  # samples far from all components
        shares = np.array(estimator.predict_proba(X).T, dtype=np.float64)
        if hasattr(estimator, "score_samples"):
            shares[:, ~(estimator.score_samples(X) >= NOWHERE)] = 0
    return shares


def _samples_first(shares: FloatArray) -> FloatArray:
    """Transpose (n_replicates, n_components, n_samples), so that samples are contiguous."""
    return np.ascontiguousarray(shares.transpose(2, 1, 0), dtype=np.float32)
