"""ParsimoniousGaussianMixture: Gaussian mixtures with constrained covariance matrices."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from evlearn.mixture.covariance_models import MULTIVARIATE, ONE_DIMENSIONAL, n_free_parameters
from evlearn.mixture.em import Fitted, Mixture, Units, posterior
from evlearn.mixture.missing_values import Gaps
from evlearn.mixture.search import Candidate, Settings, bic, first_partitions, least_variances, search
from evlearn.storage import fields
from evlearn.utils.convergence import CallbackSupportMixin, Trace, atomic_fit, warn_if_unfinished, warn_of_collapse
from evlearn.utils.progress import report_message
from evlearn.utils.reading import read_numbers
from evlearn.utils.typing import FloatArray, NumbersLike, RandomSeed
from evlearn.utils.validation import (
    check_choice,
    check_integer,
    check_no_extreme_rows,
    check_range,
    check_real,
    check_shape,
)


@fields.stored
class ParsimoniousGaussianMixture(DensityMixin, CallbackSupportMixin, BaseEstimator):
    r"""Gaussian mixture with 14 covariance models, selected by the Bayesian information criterion.

    The clusters of a Gaussian mixture are ellipsoids with a volume, a shape and an orientation. Each of these can
    be equal in all components or vary between components, which determines the number of free parameters. 14
    models, from equal spheres to unrelated ellipsoids, are fitted by EM with one or several numbers of components,
    and BIC selects one of them.

    Data in which a few samples are a million times farther away than the others are not accepted, because the
    others would be indistinguishable. New samples that are as far away from all components, in standard
    deviations, get equal probabilities.

    Missing values (NaN) are supported. Mixtures are fitted to samples that are completed at random, given their
    observed values, and `bic_`, `bic_table_` and the likelihood refer to the completed samples. Probabilities and
    densities of an incomplete sample are those of its observed features. If all features are missing, the
    probabilities are `weights_`.

    Parameters
    ----------
    n_components : int or sequence of int, default=1
        Number of components, or candidates from which BIC selects, such as ``range(1, 10)``.
    covariance_models : "auto", str or list of str, default="auto"
        Covariance models, from which BIC selects one: "EII", "VII", "EEI", "VEI", "EVI", "VVI", "EEE", "VEE",
        "EVE", "VVE", "EEV", "VEV", "EVV", "VVV", or "auto" for all of them. The letters state whether volume,
        shape and orientation are equal (E) or vary (V); "II" are spheres, and a final "I" means axes parallel to
        the features. With one feature, the models are "E" and "V", equal and different variances, and only the
        first letter of other names is used.
    tol : float, default=1e-6
        Convergence threshold: EM stops if the mean log-likelihood per sample increases by less.
    max_iter : int, default=500
        Maximum number of EM iterations.
    n_init : int, default=4
        Number of starts; the result with the largest likelihood is used. The first 3 starts are partitions by
        Ward's method of the original, standardized and half-whitened data; the others are partitions by k-means.
    init : "auto" or array-like, default="auto"
        Initialization instead: labels of shape (n_samples,), or probabilities of the components of shape
        (n_samples, n_components).
    reg_covar : float, default=0.0
        Regularization that is added to all variances.
    variance_floor : float, default=0.01
        Smallest variance of a component in any direction, as a share of the variances of the features within the
        clusters of the starts. Thinner components fit rounding errors, ties or linear relations between features,
        and BIC would prefer them. 0 allows them, as in R's mclust: then only singular models are excluded.
    random_state : int, RandomState instance or None, default=None
        Seed for reproducible results.
    n_jobs : int or None, default=None
        Number of parallel jobs over models; see ``joblib.parallel_config``. The result does not depend on it.
    verbose : int, default=0
        Whether to print the criterion of each model.

    Attributes
    ----------
    model_ : str
        Name of the selected covariance model.
    n_components_ : int
        Selected number of components.
    weights_ : ndarray of shape (n_components,)
        Weights of the components.
    means_ : ndarray of shape (n_components, n_features)
        Means of the components.
    covariances_ : ndarray of shape (n_components, n_features, n_features)
        Covariance matrices of the components.
    variance_floor_ : ndarray of shape (n_features,)
        Smallest allowed variance of a component along each feature.
    n_parameters_ : int
        Number of free parameters.
    bic_ : float
        Bayesian information criterion of the result, ``nu * log(n) - 2 * l``, with scikit-learn's sign: lower is
        better. R's mclust has the opposite sign.
    bic_table_ : ndarray of shape (n_models, n_numbers)
        Criterion of all models with all numbers of components, with the same sign; infinite if a model failed
        because a covariance matrix became singular.
    covariance_models_ : list of str
        Candidate models: the rows of `bic_table_`.
    component_numbers_ : list of int
        Candidate numbers of components: the columns of `bic_table_`.
    lower_bound_ : float
        Mean log-likelihood per sample.
    log_likelihood_history_ : ndarray of shape (n_iterations + 1,)
        Log-likelihood of all samples after each iteration. The first value is the lower bound for the initial
        responsibilities.
    n_iter_ : int
        Number of iterations of the best start.
    converged_ : bool
        Whether EM converged.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X has any.

    See Also
    --------
    sklearn.mixture.GaussianMixture : Four of these models ("VVV", "EEE", "VVI" and "VII") without selection.

    References
    ----------
    - Celeux and Govaert (1995), Gaussian parsimonious clustering models, Pattern
      Recognition 28, doi:10.1016/0031-3203(94)00125-6.
    - Fraley and Raftery (2002), Model-based clustering, discriminant analysis, and
      density estimation, Journal of the American Statistical Association 97,
      doi:10.1198/016214502760047131.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from evlearn.mixture import ParsimoniousGaussianMixture
    >>> X = load_iris().data
    >>> mixture = ParsimoniousGaussianMixture(n_components=3, random_state=0).fit(X)
    >>> mixture.model_
    'VEV'
    >>> mixture.predict_proba(X[:1]).round(3)
    array([[1., 0., 0.]])
    """

    n_features_in_: fields.Stored[fields.PositiveCount]
    feature_names_in_: fields.StoredIfSet[fields.FeatureNames]
    weights_: fields.Stored[Annotated[FloatArray, fields.array(1, low=0, high=fields.LARGEST_MASS)]]
    means_: fields.Stored[fields.Matrix]
    covariances_: fields.Stored[Annotated[FloatArray, fields.array(3)]]
    model_: fields.StoredIfSet[Annotated[str, fields.text(*MULTIVARIATE, *ONE_DIMENSIONAL)]]
    n_components_: fields.StoredIfSet[fields.PositiveCount]
    variance_floor_: fields.StoredIfSet[fields.NonnegativeVector]
    n_parameters_: fields.StoredIfSet[fields.PositiveCount]
    bic_: fields.StoredIfSet[fields.ExtendedNumber]
    bic_table_: fields.StoredIfSet[Annotated[FloatArray, fields.array(2, finite=False)]]
    covariance_models_: fields.StoredIfSet[Annotated[list[str], fields.list_of(fields.text(), min_length=1)]]
    component_numbers_: fields.StoredIfSet[Annotated[list[int], fields.list_of(fields.whole(1), min_length=1)]]
    lower_bound_: fields.StoredIfSet[fields.ExtendedNumber]
    log_likelihood_history_: fields.StoredIfSet[fields.ExtendedVector]
    n_iter_: fields.StoredIfSet[int]
    converged_: fields.StoredIfSet[bool]
    _interrupted: fields.StoredIfSet[bool]

    def __init__(
        self,
        n_components: int | Sequence[int] = 1,
        *,
        covariance_models: str | Sequence[str] = "auto",
        tol: float = 1e-6,
        max_iter: int = 500,
        n_init: int = 4,
        init: Literal["auto"] | NumbersLike = "auto",
        reg_covar: float = 0.0,
        variance_floor: float = 0.01,
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.covariance_models = covariance_models
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.init = init
        self.reg_covar = reg_covar
        self.variance_floor = variance_floor
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @atomic_fit
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Fit all models, and select the one with the lowest Bayesian information criterion.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : object, default=None
            Not used; there for pipelines.

        Returns
        -------
        ParsimoniousGaussianMixture
            The fitted estimator.
        """
        self._check_parameters()
        data, has_gaps = read_numbers(self, X, reset=True, takes_gaps=True, dtype=np.float64, ensure_min_samples=2)
        self.component_numbers_ = _numbers(self.n_components, len(data))
        if has_gaps:
            data = Gaps.learn(data, max(self.component_numbers_)).fill(data)
        check_no_extreme_rows("X", data)
        self.covariance_models_ = _models(self.covariance_models, data.shape[1])
        units = Units.of(data)
        coordinates = units.to(data)
        settings = Settings(self.tol, self.max_iter, self.reg_covar / units.scale**2, self.variance_floor)
        starts = self._starts(coordinates)
        candidates = search(coordinates, self.covariance_models_, starts, settings, self.n_jobs)
        best = self._choose(candidates, len(data), data.size * np.log(units.scale))
        self._publish(best, len(data), units)
        floor = least_variances(coordinates, starts[self.n_components_], self.variance_floor)
        self.variance_floor_ = floor * units.scale**2
        warn_if_unfinished(best, "the likelihood", max_iter=self.max_iter)
        self._warn_of_components(data)
        return self

    def fit_predict(self, X: ArrayLike, y: object = None) -> NDArray[np.intp]:
        """Fit, and return the most probable component of each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : object, default=None
            Not used; there for pipelines.

        Returns
        -------
        ndarray of shape (n_samples,)
            The components.
        """
        return self.fit(X).predict(X)

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
        """Return the most probable component of each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            The components.
        """
        labels: NDArray[np.intp] = self.predict_proba(X).argmax(axis=1)
        return labels

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the probabilities of the components for each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The probabilities, which are equal at least a million standard deviations from all components.
        """
        return self._posterior(X)[1]

    def score_samples(self, X: ArrayLike) -> FloatArray:
        """Return the log-density of each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            The log-densities.
        """
        return self._posterior(X)[0]

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Return the mean log-density of the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : object, default=None
            Not used; there for pipelines.

        Returns
        -------
        float
            The mean.
        """
        return float(self.score_samples(X).mean())

    def bic(self, X: ArrayLike) -> float:
        """Return the Bayesian information criterion: lower is better, as in scikit-learn.

        R's mclust has the opposite sign.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        float
            The criterion.
        """
        logs = self.score_samples(X)
        return bic(float(logs.sum()), self.model_, self._mixture(), len(logs))

    def aic(self, X: ArrayLike) -> float:
        """Return Akaike's information criterion: lower is better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        float
            The criterion.
        """
        return float(2 * self.n_parameters_ - 2 * self.score_samples(X).sum())

    def sample(self, n_samples: int = 1) -> tuple[FloatArray, NDArray[np.intp]]:
        """Draw samples from the mixture.

        Parameters
        ----------
        n_samples : int, default=1
            Number of samples.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            The samples, component after component.
        y : ndarray of shape (n_samples,)
            The component of each sample.
        """
        check_is_fitted(self)
        check_integer("n_samples", n_samples, 1)
        random = check_random_state(self.random_state)
        y = np.repeat(np.arange(self.n_components_), random.multinomial(n_samples, self.weights_))
        noise = random.standard_normal((n_samples, self.n_features_in_, 1))
        factors = np.linalg.cholesky(self.covariances_)
        return self.means_[y] + (factors[y] @ noise)[:, :, 0], y

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _check_parameters(self) -> None:
        check_real("tol", self.tol, 0)
        check_integer("max_iter", self.max_iter, 1)
        check_integer("n_init", self.n_init, 1)
        check_real("reg_covar", self.reg_covar, 0)
        check_real("variance_floor", self.variance_floor, 0, 1)

    def _starts(self, coordinates: FloatArray) -> dict[int, list[Any]]:
        if isinstance(self.init, str):
            check_choice("init", self.init, ["auto"])
            random = check_random_state(self.random_state)
            possible = [number for number in self.component_numbers_ if number <= len(coordinates)]
            partitions = first_partitions(coordinates, possible, self.n_init, random)
            return {number: partitions.get(number, []) for number in self.component_numbers_}
        if len(self.component_numbers_) > 1:
            raise ValueError(
                f"init contains one start, but n_components={self.n_components!r} contains several "
                "numbers of components; pass one number, or init='auto'."
            )
        (number,) = self.component_numbers_
        return {number: [_read_responsibilities(self.init, len(coordinates), number)]}

    def _choose(
        self, candidates: dict[tuple[str, int], Candidate], n_samples: int, offset: float
    ) -> Trace[Fitted]:
        """Return the result of lowest BIC; `offset` converts likelihoods to the units of the data."""
        shape = len(self.covariance_models_), len(self.component_numbers_)
        self.bic_table_ = np.full(shape, np.inf)
        for i, model in enumerate(self.covariance_models_):
            for j, number in enumerate(self.component_numbers_):
                outcome, reason = candidates[model, number]
                if outcome is not None:
                    likelihood = outcome.objective - offset
                    self.bic_table_[i, j] = bic(likelihood, model, outcome.state.mixture, n_samples)
                value = reason if outcome is None else f"BIC {self.bic_table_[i, j]:.3f}"
                report_message(f"{model}, {number} components: {value}")
        # Ties are resolved in favor of fewer components.
        column, row = np.unravel_index(self.bic_table_.T.argmin(), shape[::-1])
        self.model_, self.n_components_ = self.covariance_models_[row], self.component_numbers_[column]
        self.bic_ = float(self.bic_table_[row, column])
        best, reason = candidates[self.model_, self.n_components_]
        if best is None:
            self._raise_no_mixture(reason)
        return replace(best, history=[value - offset for value in best.history])

    def _raise_no_mixture(self, reason: str) -> NoReturn:
        raise ValueError(
            f"no mixture could be fitted with covariance_models={self.covariance_models!r} and "
            f"n_components={self.n_components!r}: {reason}. Remove constant or linearly dependent features, or "
            "try fewer components, a simpler model such as 'EII', or reg_covar=1e-6 times the variance of the "
            "data."
        )

    def _publish(self, best: Trace[Fitted], n_samples: int, units: Units) -> None:
        self.weights_, self.means_, self.covariances_ = units.mixture_from(best.state.mixture)
        self.n_parameters_ = n_free_parameters(self.model_, *self.means_.shape)
        self.log_likelihood_history_ = np.array(best.history)
        self.lower_bound_ = float(best.objective / n_samples)
        self.n_iter_ = best.n_iter
        self.converged_ = best.converged
        self._interrupted = best.interrupted

    def _warn_of_components(self, data: FloatArray) -> None:
        """Warn if a component has at most one sample, or if components are the values of a feature."""
        labels = self._posterior_of(data)[1].argmax(axis=1)
        groups = [data[labels == k] for k in range(self.n_components_)]
        small = [k for k, group in enumerate(groups) if len(group) < 2]
        if small and len(small) < len(groups):
            warn_of_collapse(
                f"components {small} of {len(groups)} have one sample at most",
                "Try fewer components, or remove outliers first.",
            )
        values = np.array([group[0] for group in groups if len(group) > 1])
        single = np.array([(group == group[0]).all(axis=0) for group in groups if len(group) > 1])
        features = [
            j for j in np.flatnonzero(single.sum(axis=0) > 1) if len(np.unique(values[single[:, j], j])) > 1
        ]
        if features:
            warn_of_collapse(
                f"in some components, all samples have the same value of a feature: {_names_of(self, features)}",
                "A Gaussian mixture fits the values of a discrete feature as clusters; remove such features.",
            )

    def _posterior(self, X: Any) -> tuple[FloatArray, FloatArray]:
        check_is_fitted(self)
        data, has_gaps = read_numbers(self, X, reset=False, takes_gaps=True, dtype=np.float64)
        check_range("X", np.nan_to_num(data) if has_gaps else data, fitting=False)
        return self._posterior_of_gaps(data) if has_gaps else self._posterior_of(data)

    def _posterior_of_gaps(self, data: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return log-densities and probabilities from the marginal distributions of the observed features."""
        logs, shares = np.zeros(len(data)), np.tile(self.weights_, (len(data), 1))
        patterns, places = np.unique(~np.isnan(data), axis=0, return_inverse=True)
        for number, mask in enumerate(patterns):
            rows = np.flatnonzero(places.ravel() == number)
            if mask.any():
                marginal = Mixture(self.weights_, self.means_[:, mask], self.covariances_[:, mask][:, :, mask])
                logs[rows], shares[rows] = _posterior_under(marginal, data[np.ix_(rows, mask)])
        return logs, shares

    def _posterior_of(self, data: FloatArray) -> tuple[FloatArray, FloatArray]:
        return _posterior_under(self._mixture(), data)

    def _mixture(self) -> Mixture:
        return Mixture(self.weights_, self.means_, self.covariances_)

    def _after_loading(self) -> None:
        """Raise unless the attributes from a file are consistent."""
        n_components, n_features = self.means_.shape
        fields.check_features(self, n_features)
        check_shape("weights_", self.weights_, (n_components,))
        check_shape("covariances_", self.covariances_, (n_components, n_features, n_features))
        check_shape("variance_floor_", self.__dict__.get("variance_floor_"), (n_features,))
        fields.check_count(self, "n_components_", n_components)
        self.predict_proba(self.means_)  # raises if a covariance matrix is singular


def _posterior_under(mixture: Mixture, data: FloatArray) -> tuple[FloatArray, FloatArray]:
    logs, shares = posterior(data, Mixture(*(array[None] for array in mixture)))
    return logs[0], shares[0].T


def _names_of(estimator: Any, features: Iterable[Any]) -> str:
    names = getattr(estimator, "feature_names_in_", None)
    return ", ".join(f"feature {j}" if names is None else repr(str(names[j])) for j in features)


def _numbers(n_components: Any, n_samples: int) -> list[int]:
    is_sequence = isinstance(n_components, Iterable) and not isinstance(n_components, str)
    numbers = list(n_components) if is_sequence else [n_components]
    if not numbers:
        raise ValueError("n_components is empty; pass at least one number.")
    for number in numbers:
        check_integer("n_components", number, 1)
    if min(numbers) > n_samples:
        raise ValueError(f"n_components={n_components!r} is more than the {n_samples} samples; choose fewer.")
    return list(dict.fromkeys(int(number) for number in numbers))


def _models(covariance_models: Any, n_features: int) -> list[str]:
    """Return the names of the models; with one feature, only their first letter is used."""
    if isinstance(covariance_models, str) and covariance_models == "auto":
        return list(ONE_DIMENSIONAL if n_features == 1 else MULTIVARIATE)
    names = list(covariance_models) if isinstance(covariance_models, (list, tuple, set)) else [covariance_models]
    if not names:
        raise ValueError("covariance_models is empty; pass at least one name, or 'auto'.")
    allowed = [*MULTIVARIATE, *(ONE_DIMENSIONAL if n_features == 1 else ())]
    for name in names:
        check_choice("covariance_models", name, ["auto", *allowed] if len(names) == 1 else allowed)
    return list(dict.fromkeys(name[0] if n_features == 1 else name for name in names))


def _read_responsibilities(init: Any, n_samples: int, number: int) -> FloatArray:
    values = check_array(init, ensure_2d=False, dtype=None, input_name="init")
    if values.ndim == 1:
        names, labels = np.unique(values, return_inverse=True)
        if len(values) == n_samples and len(names) == number:
            return np.eye(number)[labels]
    elif values.shape == (n_samples, number):
        shares: FloatArray = values.astype(np.float64)
        if (shares >= 0).all() and np.allclose(shares.sum(axis=1), 1, rtol=0, atol=1e-6):
            return shares
    raise ValueError(
        f"init must be labels of {n_samples} samples in {number} clusters, or probabilities of shape "
        f"{(n_samples, number)} that are nonnegative and sum to 1 in each row, got shape {values.shape}."
    )
