"""ParsimoniousGaussianMixture: Gaussian mixtures whose covariances share what the data let them share."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from evlearn.mixture.covariance_models import MULTIVARIATE, ONE_DIMENSIONAL, n_free_parameters
from evlearn.mixture.em import Fitted, Mixture, posterior
from evlearn.mixture.gaps import Gaps
from evlearn.mixture.search import Candidate, Settings, bic, least_variances, search
from evlearn.mixture.starts import first_partitions
from evlearn.mixture.units import Units
from evlearn.utils.callbacks import CallbackSupportMixin
from evlearn.utils.convergence import Trace, warn_if_unfinished, warn_of_collapse, whole_or_nothing
from evlearn.utils.progress import say
from evlearn.utils.reading import read_numbers
from evlearn.utils.typing import FloatArray, NumbersLike, RandomSeed
from evlearn.utils.validation import check_choice, check_integer, check_range, check_real, refuse_remote


class ParsimoniousGaussianMixture(DensityMixin, CallbackSupportMixin, BaseEstimator):
    r"""Gaussian mixture with a choice of fourteen covariance models, by the Bayesian information criterion.

    The clusters of a Gaussian mixture are ellipsoids: each has a volume, a shape and an orientation. These may be
    equal in all components or vary from one to the other, and what is equal need not be learned again. Fourteen
    models between equal balls and unrelated ellipsoids are fitted by EM, with one or several numbers of
    components, and BIC chooses.

    Data in which a few samples are a million times farther away than the others are refused: beside them, the
    others could not be told apart. Of new samples as far as that from all components, in standard deviations,
    nothing is known, and their probabilities are equal.

    Missing values (NaN) are taken: mixtures are fitted to samples that were completed at random, given what is
    there, and `bic_`, `bic_table_` and the likelihood are about these. Probabilities and densities of a sample
    with gaps are those of its features that are there; where nothing is there, the probabilities are `weights_`.

    Parameters
    ----------
    n_components : int or sequence of int, default=1
        The number of components, or numbers among which BIC chooses, such as ``range(1, 10)``.
    covariance_models : "auto", str or list of str, default="auto"
        Covariance models, of which BIC chooses one: "EII", "VII", "EEI", "VEI", "EVI", "VVI", "EEE", "VEE", "EVE",
        "VVE", "EEV", "VEV", "EVV", "VVV", or "auto" for all of them. The letters say whether volume, shape and
        orientation are equal (E) or vary (V); "II" are balls, and a last "I" means axes along the features. With
        one feature there are "E" and "V", equal and different variances, and of other names the first letter
        counts.
    tol : float, default=1e-6
        An iteration that raises the mean log-likelihood of a sample by less than this is the last.
    max_iter : int, default=500
        The largest number of iterations of EM.
    n_init : int, default=4
        How many starts; the one of largest likelihood is kept. The first three are partitions by Ward's method, of
        the data as they are, standardised, and half whitened, and the others by k-means.
    init : "auto" or array-like, default="auto"
        Where to start instead: labels of shape (n_samples,), or probabilities of the components of shape
        (n_samples, n_components).
    reg_covar : float, default=0.0
        What is added to all variances.
    variance_floor : float, default=0.01
        The smallest variance of a component in any direction, as a share of the variances of the features within
        the clusters of the starts. A component that is thinner than that fits rounding, ties or a formula behind
        the features, and BIC would prefer it to all others. 0 allows it, as R's mclust does: then only models that
        are singular are left out.
    random_state : int, RandomState instance or None, default=None
        The seed, for results that can be repeated.
    n_jobs : int or None, default=None
        How many models are fitted at the same time, by processes or what ``joblib.parallel_config`` says. The
        result does not depend on it.
    verbose : int, default=0
        Whether to print the criterion of each model.

    Attributes
    ----------
    model_ : str
        The name of the covariance model that was chosen.
    n_components_ : int
        The number of components that was chosen.
    weights_ : ndarray of shape (n_components,)
        The share of each component.
    means_ : ndarray of shape (n_components, n_features)
        The centres of the components.
    covariances_ : ndarray of shape (n_components, n_features, n_features)
        The covariance matrices of the components.
    variance_floor_ : ndarray of shape (n_features,)
        The smallest variance that a component could have along each feature.
    n_parameters_ : int
        The number of free parameters.
    bic_ : float
        The Bayesian information criterion of the result, ``nu * log(n) - 2 * l``, with scikit-learn's sign:
        lower is better. R's mclust gives the negative, and there higher is better.
    bic_table_ : ndarray of shape (n_models, n_numbers)
        The criterion of all models with all numbers of components, in the same sign; infinite where a model
        failed, because a covariance became singular.
    covariance_models_ : list of str
        The models that were tried: the rows of `bic_table_`.
    component_numbers_ : list of int
        The numbers of components that were tried: the columns of `bic_table_`.
    lower_bound_ : float
        The mean log-likelihood of a sample.
    log_likelihood_history_ : ndarray of shape (n_iterations + 1,)
        The log-likelihood of all samples after each iteration; and before the first a lower bound of it, which is
        that of the responsibilities of the start.
    n_iter_ : int
        The number of iterations of the best start.
    converged_ : bool
        Whether it settled.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str
        The names of the features, where X has any.

    See Also
    --------
    sklearn.mixture.GaussianMixture : Four of these models ("VVV", "EEE", "VVI" and "VII") without a choice.

    References
    ----------
    Celeux and Govaert (1995), Fraley and Raftery (2002).

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

    @whole_or_nothing
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Fit all models, and keep the one that the Bayesian information criterion prefers.

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
        refuse_remote("X", data)
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
        """Fit, and give the most probable component of each sample.

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
        """The most probable component of each sample.

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
        """The probabilities of the components, for each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The probabilities; equal ones a million standard deviations and more from all components.
        """
        return self._posterior(X)[1]

    def score_samples(self, X: ArrayLike) -> FloatArray:
        """The log-density of each sample.

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
        """The mean log-density of the samples.

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
        """The Bayesian information criterion: lower is better, as everywhere in scikit-learn.

        R's mclust gives the negative of it.

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
        """Akaike's information criterion: lower is better.

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
            How many.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            The samples, component after component.
        y : ndarray of shape (n_samples,)
            The components they were drawn from.
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
            made = first_partitions(coordinates, possible, self.n_init, random)
            return {number: made.get(number, []) for number in self.component_numbers_}
        if len(self.component_numbers_) > 1:
            raise ValueError(
                f"init holds one start, but n_components={self.n_components!r} asks for several numbers of "
                "components; give one number, or init='auto'."
            )
        (number,) = self.component_numbers_
        return {number: [_given_responsibilities(self.init, len(coordinates), number)]}

    def _choose(
        self, candidates: dict[tuple[str, int], Candidate], n_samples: int, offset: float
    ) -> Trace[Fitted]:
        """The outcome of lowest BIC; `offset` leads back to the units of the data."""
        shape = len(self.covariance_models_), len(self.component_numbers_)
        self.bic_table_ = np.full(shape, np.inf)
        for i, model in enumerate(self.covariance_models_):
            for j, number in enumerate(self.component_numbers_):
                outcome, reason = candidates[model, number]
                if outcome is not None:
                    likelihood = outcome.objective - offset
                    self.bic_table_[i, j] = bic(likelihood, model, outcome.state.mixture, n_samples)
                value = reason if outcome is None else f"BIC {self.bic_table_[i, j]:.3f}"
                say(f"{model}, {number} components: {value}")
        # Of equal values the one with the fewest components.
        column, row = np.unravel_index(self.bic_table_.T.argmin(), shape[::-1])
        self.model_, self.n_components_ = self.covariance_models_[row], self.component_numbers_[column]
        self.bic_ = float(self.bic_table_[row, column])
        best, reason = candidates[self.model_, self.n_components_]
        if best is None:
            self._refuse(reason)
        return replace(best, history=[one - offset for one in best.history])

    def _refuse(self, reason: str) -> NoReturn:
        raise ValueError(
            f"no mixture could be fitted with covariance_models={self.covariance_models!r} and "
            f"n_components={self.n_components!r}: {reason}. Remove constant features and sums of others, or try "
            "fewer components, a simpler model such as 'EII', or reg_covar=1e-6 times the variance of the data."
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
        """Say so if a component is one sample at most, or if components are the values of a feature."""
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
                f"some components are the samples with one value of a feature each: {_names_of(self, features)}",
                "A Gaussian mixture takes the values of a discrete feature for clusters; leave such features out.",
            )

    def _posterior(self, X: Any) -> tuple[FloatArray, FloatArray]:
        check_is_fitted(self)
        data, has_gaps = read_numbers(self, X, reset=False, takes_gaps=True, dtype=np.float64)
        check_range("X", np.nan_to_num(data) if has_gaps else data, fitting=False)
        return self._posterior_of_gaps(data) if has_gaps else self._posterior_of(data)

    def _posterior_of_gaps(self, data: FloatArray) -> tuple[FloatArray, FloatArray]:
        """By what is there: the features of a normal distribution that are left have a normal distribution too."""
        logs, shares = np.zeros(len(data)), np.tile(self.weights_, (len(data), 1))
        patterns, places = np.unique(~np.isnan(data), axis=0, return_inverse=True)
        for number, there in enumerate(patterns):
            rows = np.flatnonzero(places.ravel() == number)
            if there.any():
                left = Mixture(self.weights_, self.means_[:, there], self.covariances_[:, there][:, :, there])
                logs[rows], shares[rows] = _posterior_under(left, data[np.ix_(rows, there)])
        return logs, shares

    def _posterior_of(self, data: FloatArray) -> tuple[FloatArray, FloatArray]:
        return _posterior_under(self._mixture(), data)

    def _mixture(self) -> Mixture:
        return Mixture(self.weights_, self.means_, self.covariances_)


def _posterior_under(mixture: Mixture, data: FloatArray) -> tuple[FloatArray, FloatArray]:
    logs, shares = posterior(data, Mixture(*(array[None] for array in mixture)))
    return logs[0], shares[0].T


def _names_of(estimator: Any, features: Iterable[Any]) -> str:
    names = getattr(estimator, "feature_names_in_", None)
    return ", ".join(f"feature {j}" if names is None else repr(str(names[j])) for j in features)


def _numbers(n_components: Any, n_samples: int) -> list[int]:
    several = isinstance(n_components, Iterable) and not isinstance(n_components, str)
    numbers = list(n_components) if several else [n_components]
    if not numbers:
        raise ValueError("n_components holds no number; give at least one.")
    for number in numbers:
        check_integer("n_components", number, 1)
    if min(numbers) > n_samples:
        raise ValueError(f"n_components={n_components!r} is more than the {n_samples} samples; give fewer.")
    return list(dict.fromkeys(int(number) for number in numbers))


def _models(covariance_models: Any, n_features: int) -> list[str]:
    """The names of the models; with one feature only their first letter matters."""
    if isinstance(covariance_models, str) and covariance_models == "auto":
        return list(ONE_DIMENSIONAL if n_features == 1 else MULTIVARIATE)
    names = list(covariance_models) if isinstance(covariance_models, (list, tuple, set)) else [covariance_models]
    if not names:
        raise ValueError("covariance_models holds no name; give at least one, or 'auto'.")
    allowed = [*MULTIVARIATE, *(ONE_DIMENSIONAL if n_features == 1 else ())]
    for name in names:
        check_choice("covariance_models", name, ["auto", *allowed] if len(names) == 1 else allowed)
    return list(dict.fromkeys(name[0] if n_features == 1 else name for name in names))


def _given_responsibilities(init: Any, n_samples: int, number: int) -> FloatArray:
    given = check_array(init, ensure_2d=False, dtype=None, input_name="init")
    if given.ndim == 1:
        names, labels = np.unique(given, return_inverse=True)
        if len(given) == n_samples and len(names) == number:
            return np.eye(number)[labels]
    elif given.shape == (n_samples, number):
        shares: FloatArray = given.astype(np.float64)
        if (shares >= 0).all() and np.allclose(shares.sum(axis=1), 1, rtol=0, atol=1e-6):
            return shares
    raise ValueError(
        f"init must be labels of {n_samples} samples in {number} clusters, or probabilities of shape "
        f"{(n_samples, number)} that are not negative and add up to one in each row, got shape {given.shape}."
    )


__all__ = ["ParsimoniousGaussianMixture"]
