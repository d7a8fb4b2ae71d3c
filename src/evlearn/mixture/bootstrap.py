"""The bootstrap of a mixture: the same model fitted to many resamples of the data, to see how much it wavers."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from joblib import delayed
from scipy.linalg import solve_triangular
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from evlearn.mixture.em import NOWHERE, Fitted, Mixture, posterior, run_em, runs_at_a_time
from evlearn.mixture.parsimonious_gaussian_mixture import ParsimoniousGaussianMixture
from evlearn.mixture.search import bic, simplest
from evlearn.mixture.units import Units
from evlearn.utils.chunks import row_blocks
from evlearn.utils.convergence import Trace, warn_caller
from evlearn.utils.parallel import one_blas_thread, run_jobs
from evlearn.utils.typing import FloatArray
from evlearn.utils.validation import check_shape

# How many samples are drawn for one to which the model can be fitted, before that is given up.
_DRAWS = 100
_ESTIMATORS_AT_A_TIME = 10
# Evidence against a model that counts as very strong (Kass and Raftery 1995): it is not tried again.
RIVALS = 10.0

Report = Callable[[int], None]


class Replicates(Protocol):
    """Mixtures fitted to resamples."""

    def __len__(self) -> int:
        """How many there are."""

    def posterior(self, X: FloatArray) -> FloatArray:
        """The probabilities of the components under each of them."""


@dataclass(frozen=True)
class GaussianReplicates:
    """Gaussian mixtures fitted to resamples.

    Attributes
    ----------
    mixtures : Mixture
        The mixtures, with a leading axis.
    units : Units
        What they are measured in.
    """

    mixtures: Mixture
    units: Units

    def __post_init__(self) -> None:
        # Compiled code reads these without looking.
        number, c, d = self.mixtures.means.shape
        check_shape("weights", self.mixtures.weights, (number, c))
        check_shape("covariances", self.mixtures.covariances, (number, c, d, d))
        check_shape("centre", self.units.centre, (d,))
        if not number * c * d:
            raise ValueError(f"means must not be empty, got shape {self.mixtures.means.shape}.")

    def __len__(self) -> int:
        """How many there are."""
        return len(self.mixtures.weights)

    def posterior(self, X: FloatArray) -> FloatArray:
        """The probabilities of the components under each of them; see `Replicates`."""
        check_shape("X", X, (len(X), len(self.units.centre)))
        with one_blas_thread():
            logs, shares = posterior(self.units.to(X), self.mixtures)
        shares[np.broadcast_to((logs < NOWHERE)[:, None], shares.shape)] = 0
        return _samples_first(shares)

    def squared_distances(self, X: FloatArray) -> FloatArray:
        """Return the squared Mahalanobis distances of samples to the components of the first mixture."""
        coordinates = self.units.to(X)
        squares = np.empty((len(X), self.mixtures.means.shape[1]))
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
            for k, factor in enumerate(np.linalg.cholesky(self.mixtures.covariances[0])):
                inverse = solve_triangular(factor, np.eye(len(factor)), lower=True)
                squares[:, k] = (((coordinates - self.mixtures.means[0, k]) @ inverse.T) ** 2).sum(axis=1)
        return np.where(np.isnan(squares), np.inf, squares)


@dataclass(frozen=True)
class FittedReplicates:
    """Estimators fitted to resamples.

    Attributes
    ----------
    estimators : sequence of estimator
        Each with `predict_proba`.
    """

    estimators: Sequence[Any]

    def __len__(self) -> int:
        """How many there are."""
        return len(self.estimators)

    def posterior(self, X: FloatArray) -> FloatArray:
        """The probabilities of the components under each of them; see `Replicates`."""
        return _samples_first(np.stack([_shares(estimator, X) for estimator in self.estimators]))


def bootstrap(
    mixture: Any,
    X: FloatArray,
    n_bootstrap: int,
    random: np.random.RandomState,
    *,
    n_jobs: int | None = None,
    report: Report | None = None,
) -> tuple[Replicates, FloatArray]:
    """Fit a mixture again to samples drawn from its data, each from where the first fit ended.

    If our mixture chose its covariance model, each sample chooses again, among models that were nearly as good.

    Returns
    -------
    replicates : Replicates
        The mixtures: fewer than asked for if the user interrupted, after the first results.
    probabilities : ndarray of float32 of shape (n_samples, n_components, n_replicates)
        The probabilities of the components under each of them, for the original samples.
    """
    if isinstance(mixture, ParsimoniousGaussianMixture):
        units = Units.of(X)
        models = _rivals(mixture)
        arguments = (units.to(X), mixture.predict_proba(X), models, _settings(mixture, units))
        size = runs_at_a_time(len(X), mixture.n_components_)
        parts = _collect(_gaussian_part, arguments, n_bootstrap, size, random, n_jobs, report)
        arrays = zip(*(part[0] for part in parts), strict=True)
        found: Replicates = GaussianReplicates(Mixture(*map(np.concatenate, arrays)), units)
        _warn_of_refused(sum(part[2] for part in parts), sum(len(part[1]) for part in parts), models)
        return found, _samples_first(np.concatenate([part[1] for part in parts]))
    start = _from_here(mixture)
    parts = _collect(_fitted_part, (start, X), n_bootstrap, _ESTIMATORS_AT_A_TIME, random, n_jobs, report)
    found = FittedReplicates([estimator for part in parts for estimator in part])
    return found, found.posterior(X)


def _collect(
    work: Callable[..., Any],
    arguments: tuple[Any, ...],
    n_bootstrap: int,
    size: int,
    random: np.random.RandomState,
    n_jobs: int | None,
    report: Report | None,
) -> list[Any]:
    """The results of parts, each with chance of its own; of those that were ready if the user interrupted."""
    slices = list(row_blocks(n_bootstrap, size))
    seeds = random.randint(np.iinfo(np.int32).max, size=len(slices))
    jobs = [
        delayed(work)(*arguments, some.stop - some.start, seed) for some, seed in zip(slices, seeds, strict=True)
    ]
    parts, _ = run_jobs(jobs, n_jobs, (lambda number: report(slices[number - 1].stop)) if report else None)
    if not parts:
        raise KeyboardInterrupt
    return parts


def _rivals(mixture: ParsimoniousGaussianMixture) -> list[str]:
    """The covariance models that a resample may prefer, the best first.

    A model that was chosen once and then taken for the truth makes intervals too short: the choice wavers too.
    """
    column = mixture.bic_table_[:, mixture.component_numbers_.index(mixture.n_components_)]
    near = [i for i in column.argsort(kind="stable") if column[i] <= mixture.bic_ + RIVALS]
    names = [mixture.model_, *(mixture.covariance_models_[i] for i in near)]
    return list(dict.fromkeys(simplest(name, mixture.n_components_) for name in names))


def _gaussian_part(
    X: FloatArray, start: FloatArray, models: list[str], settings: dict[str, Any], number: int, seed: int
) -> tuple[Mixture, FloatArray, int]:
    """Some mixtures, the probabilities (n_replicates, n_components, n_samples), and how many samples it took."""
    random, drawn = np.random.RandomState(seed), 0
    found: list[Any] = [None] * number
    missing = list(range(number))
    with one_blas_thread():
        for _ in range(_DRAWS):
            weights = np.array([_counts(random, len(X)) for _ in missing])
            drawn += len(missing)
            starts = np.broadcast_to(start, (len(missing), *start.shape))
            fitted = [run_em(X, starts, model, weights=weights, **settings) for model in models]
            for place, *outcomes in zip(missing, *fitted, strict=True):
                found[place] = _best_fit(outcomes, models, len(X))
            missing = [place for place in missing if found[place].problem]
            if not missing:
                mixture = Mixture(
                    *(np.stack(arrays) for arrays in zip(*(one.mixture for one in found), strict=True))
                )
                return mixture, np.stack([one.responsibilities.T for one in found]).astype(np.float32), drawn
    raise ValueError(
        f"the model {models[0]} with {start.shape[1]} components could not be fitted to {_DRAWS} resamples in "
        f"turn: {found[missing[0]].problem}. Some clusters have too few samples for it; try fewer clusters "
        "or a simpler covariance model such as 'EII' or 'EEE'."
    )


def _best_fit(outcomes: Sequence[Trace[Fitted]], models: Sequence[str], n_samples: int) -> Fitted:
    """The fit of lowest BIC, or one that failed if all did."""

    def criterion(pair: tuple[Trace[Fitted], str]) -> float:
        outcome, model = pair
        fitted = outcome.state
        return np.inf if fitted.problem else bic(outcome.objective, model, fitted.mixture, n_samples)

    return min(zip(outcomes, models, strict=True), key=criterion)[0].state


def _warn_of_refused(drawn: int, fitted: int, models: Sequence[str]) -> None:
    if drawn > 2 * fitted:
        warn_caller(
            f"the model {models[0]} could be fitted to {fitted} of {drawn} resamples only, because some clusters "
            "are too small for it; intervals are those of these resamples, and may be too narrow. Try fewer "
            "clusters or a simpler covariance model such as 'EII' or 'EEE'."
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
    return [_refitted(estimator, X, random) for _ in range(number)]


def _refitted(estimator: Any, X: FloatArray, random: np.random.RandomState) -> Any:
    problem: Exception | None = None
    for _ in range(_DRAWS):
        again = clone(estimator)
        if "random_state" in again.get_params():
            again.set_params(random_state=random.randint(np.iinfo(np.int32).max))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                return again.fit(X[random.randint(len(X), size=len(X))])
        except ValueError as error:  # a covariance that has shrunk to nothing, as a rule
            problem = error
    raise ValueError(
        f"mixture={estimator!r} could not be fitted to {_DRAWS} resamples in turn: {problem}. Try fewer "
        "components or a simpler model."
    )


def _from_here(mixture: Any) -> Any:
    """A scikit-learn mixture that starts where this one ended, if it can; else one that starts as it did."""
    again = clone(mixture)
    known = again.get_params()
    starts = {"weights_init": "weights_", "means_init": "means_", "precisions_init": "precisions_"}
    if all(name in known for name in starts):
        again.set_params(n_init=1, **{name: getattr(mixture, found) for name, found in starts.items()})
    return again


def _shares(estimator: Any, X: FloatArray) -> FloatArray:
    with np.errstate(all="ignore"):  # of samples that are nowhere
        shares = np.array(estimator.predict_proba(X).T, dtype=np.float64)
        if hasattr(estimator, "score_samples"):
            shares[:, ~(estimator.score_samples(X) >= NOWHERE)] = 0
    return shares


def _samples_first(shares: FloatArray) -> FloatArray:
    """From (n_replicates, n_components, n_samples) to the layout in which two samples are compared."""
    return np.ascontiguousarray(shares.transpose(2, 1, 0), dtype=np.float32)


__all__ = ["FittedReplicates", "GaussianReplicates", "Replicates", "bootstrap"]
