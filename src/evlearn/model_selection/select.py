"""One mechanism for numbers of clusters and for other parameters: subsamples, values, a criterion."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np
from joblib import delayed
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from evlearn.cluster import BootClus
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.model_selection.criteria import CRITERIA, Criterion, vote
from evlearn.model_selection.selection import NUMBERS, VOTES, ParameterSelection, check_enough
from evlearn.model_selection.subsamples import Subsample, draw_subsamples
from evlearn.partition.estimators import split_pipeline
from evlearn.utils.convergence import warn_caller
from evlearn.utils.parallel import run_jobs
from evlearn.utils.progress import Count, at_work
from evlearn.utils.typing import ClustererLike, DataLike, FloatArray, RandomSeed
from evlearn.utils.validation import check_choice, check_integer, check_real

#: What votes on the number of clusters if nobody says otherwise.
_VOTERS = ("peaks", "eknnclus")


def select_n_clusters(
    estimator: ClustererLike,
    X: DataLike,
    n_clusters: Iterable[int] = range(2, 11),
    *,
    criterion: str = "auto",
    n_repeats: int = 20,
    sample_size: float | int | Literal["auto"] = "auto",
    fit_params: Mapping[str, Any] | None = None,
    random_state: RandomSeed = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> ParameterSelection:
    """How many clusters there are, and how sure that is.

    Subsamples of the data are drawn, and each chooses a number. The number that most of them chose is suggested;
    the share of subsamples that chose it says how far to rely on it.

    Parameters
    ----------
    estimator : estimator
        The clusterer, or the mixture, for which a number is looked for: ours or scikit-learn's; also at the end of
        a pipeline, whose other steps are fitted once to all samples. Clones are fitted; it is not changed.
    X : array-like or whatever its ``fit`` takes
        The data, or dissimilarities. An iterator can be read only once and is refused.
    n_clusters : iterable of int, default=range(2, 11)
        The numbers to try.
    criterion : str, default="auto"
        "auto": a vote of the next two, which look at the data alone. "peaks": how far the scores of the δ-Bel
        graph fall after so many peaks. "eknnclus": the number of clusters that EK-NNclus finds. The others fit the
        estimator: "stability": how alike the clusters of two subsamples are; "silhouette": how much nearer samples
        are to their own cluster than to the next; "nonspecificity": how much the partition leaves open;
        "bic": the Bayesian information criterion of mixtures and `BootClus`; "stress": how well `EVCLUS` explains
        dissimilarities between samples that it has not seen, at its elbow; "objective": the elbow of what the
        method minimises.
    n_repeats : int, default=20
        How many subsamples.
    sample_size : "auto", float or int, default="auto"
        How many samples a subsample has, or which share of all. "auto" is four of five, but at most 5000; 1.0 uses
        all samples each time.
    fit_params : mapping or None, default=None
        More arguments of ``fit``, such as constraints, with ``sample_size=1.0``.
    random_state : int, RandomState instance or None, default=None
        The seed of subsamples, and of the estimator in each. None draws afresh, and leaves the estimator its own.
    n_jobs : int or None, default=None
        How many fits at the same time, by processes or what ``joblib.parallel_config`` says. The result does not
        depend on it.
    verbose : int, default=0
        Whether to report progress.

    Returns
    -------
    ParameterSelection
        The curves, the choice, and how many subsamples agree.

    See Also
    --------
    select_parameter : The same for other parameters.
    evlearn.cluster.delta_bel : The graph whose peaks are counted.

    Notes
    -----
    Ctrl-C ends the search; subsamples that are complete by then are kept, if there are any.

    Examples
    --------
    >>> from evlearn.cluster import ECM
    >>> from evlearn.datasets import make_fourclass
    >>> from evlearn.model_selection import select_n_clusters
    >>> X, y = make_fourclass(400, random_state=0)
    >>> selection = select_n_clusters(ECM(), X, random_state=0)
    >>> selection.best
    4
    """
    name = _number_parameter(estimator)
    return select_parameter(
        estimator,
        X,
        name,
        n_clusters,
        criterion=criterion,
        n_repeats=n_repeats,
        sample_size=sample_size,
        fit_params=fit_params,
        random_state=random_state,
        n_jobs=n_jobs,
        verbose=verbose,
    )


def select_parameter(
    estimator: ClustererLike,
    X: DataLike,
    name: str,
    values: Iterable[Any],
    *,
    criterion: str = "nonspecificity",
    n_repeats: int = 20,
    sample_size: float | int | Literal["auto"] = "auto",
    fit_params: Mapping[str, Any] | None = None,
    random_state: RandomSeed = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> ParameterSelection:
    """Which value of a parameter a criterion prefers, and how sure that is.

    Parameters
    ----------
    estimator : estimator
        The clusterer, as for `select_n_clusters`.
    X : array-like or whatever its ``fit`` takes
        The data, or dissimilarities.
    name : str
        A parameter of the clusterer, such as "delta" or "d0".
    values : iterable of float
        The values to try.
    criterion : str, default="nonspecificity"
        As for `select_n_clusters`. "auto", "peaks" and "eknnclus" are for numbers of clusters only.
    n_repeats : int, default=20
        How many subsamples.
    sample_size : "auto", float or int, default="auto"
        How many samples a subsample has, or which share of all. "auto" is four of five, but at most 5000; 1.0 uses
        all samples each time.
    fit_params : mapping or None, default=None
        More arguments of ``fit``, such as constraints, with ``sample_size=1.0``.
    random_state : int, RandomState instance or None, default=None
        The seed of subsamples, and of the estimator in each. None draws afresh, and leaves the estimator its own.
    n_jobs : int or None, default=None
        How many fits at the same time, by processes or what ``joblib.parallel_config`` says. The result does not
        depend on it.
    verbose : int, default=0
        Whether to report progress.

    Returns
    -------
    ParameterSelection
        The curves, the choice, and how many subsamples agree.

    See Also
    --------
    select_n_clusters : For the number of clusters.

    Examples
    --------
    >>> from evlearn.cluster import EVCLUS
    >>> from evlearn.datasets import load_butterfly
    >>> from evlearn.model_selection import select_parameter
    >>> X = load_butterfly().data
    >>> model = EVCLUS(n_clusters=2, random_state=0)
    >>> select_parameter(
    ...     model, X, "d0_quantile", [0.5, 0.7, 0.9], n_repeats=1, sample_size=1.0
    ... ).best
    0.7
    """
    check_choice("criterion", criterion, ["auto", *CRITERIA])
    check_integer("n_repeats", n_repeats, 1)
    before, clusterer = _split(estimator)
    data = X if before is None else clone(before).fit_transform(X)
    if criterion == "bic":
        clusterer, name = _mixture_behind(clusterer, name)
    asked = [CRITERIA[one] for one in (_VOTERS if criterion == "auto" else (criterion,))]
    _check_parameter(clusterer, name, criterion)
    tried = np.sort(check_values(values, name, max(one.fewest for one in asked)))
    check_enough(range(len(tried)), asked[0].rule, tried, name)
    samples = draw_subsamples(
        clusterer,
        data,
        n_repeats=n_repeats,
        sample_size=sample_size,
        fit_params=fit_params or {},
        random=check_random_state(random_state),
        reseed=random_state is not None,
    )
    parts = _run(_tasks(samples, name, tried.tolist(), asked), n_jobs, name, verbose)
    curves = _whole_curves(parts, len(tried))
    label = asked[0].label if len(asked) == 1 else VOTES
    return ParameterSelection(name, tried, curves, label, asked[0].rule)


def _tasks(samples: list[Subsample], name: str, values: list[Any], asked: list[Criterion]) -> list[Any]:
    """Calls that each give a whole curve, or one point of it, subsample after subsample."""
    if len(asked) > 1:
        return [delayed(vote)(one, sample, values) for sample in samples for one in asked]
    (one,) = asked
    if one.at_once is not None:
        return [delayed(one.at_once)(sample, values) for sample in samples]
    return [delayed(one.by_value)(sample, name, value) for sample in samples for value in values]


def _run(tasks: list[Any], n_jobs: int | None, name: str, verbose: int) -> list[Any]:
    """What the calls give, up to an interruption."""
    with at_work(f"select {name}", verbose):
        done, interrupted = run_jobs(tasks, n_jobs, Count("search", "task", len(tasks)).reach)
    if interrupted:
        warn_caller("the search was interrupted; what is complete is kept.", ConvergenceWarning)
    return done


def _whole_curves(parts: list[Any], n_values: int) -> FloatArray:
    found = np.hstack([np.empty(0), *parts]).astype(np.float64)
    whole = len(found) // n_values
    if not whole:
        raise KeyboardInterrupt  # before there was anything to keep
    return np.asarray(found[: whole * n_values].reshape(whole, n_values))


def _split(estimator: Any) -> tuple[Any, Any]:
    """What comes before the clusterer, and the clusterer."""
    before, clusterer = split_pipeline(estimator)
    if isinstance(clusterer, type) or not hasattr(clusterer, "get_params"):
        raise ValueError(f"estimator must be an estimator such as ECM(), got {estimator!r}.")
    return before, clusterer


def _number_parameter(estimator: Any) -> str:
    """What an estimator calls its number of clusters; "n_clusters" also where it finds that itself."""
    found = _split(estimator)[1].get_params(deep=False)
    return "n_components" if "n_components" in found and "n_clusters" not in found else "n_clusters"


def _mixture_behind(clusterer: Any, name: str) -> tuple[Any, str]:
    """BootClus without its resamples, of which BIC says nothing."""
    if not (isinstance(clusterer, BootClus) and name == "n_clusters"):
        return clusterer, name
    if clusterer.mixture is not None:
        return clusterer.mixture, "n_components"
    mixture = ParsimoniousGaussianMixture(
        covariance_models=clusterer.covariance_models,
        n_init=clusterer.n_init,
        random_state=clusterer.random_state,
    )
    return mixture, "n_components"


def _check_parameter(clusterer: Any, name: str, criterion: str) -> None:
    counts = criterion == "auto" or CRITERIA[criterion].at_once is not None
    if counts and name not in NUMBERS:
        raise ValueError(
            f"criterion={criterion!r} counts clusters and says nothing about {name}; use "
            'criterion="nonspecificity", "stability" or "silhouette".'
        )
    if not counts and name not in clusterer.get_params(deep=False):
        raise ValueError(
            f"estimator must have a parameter {name}, got {clusterer!r}; give an estimator of evlearn.cluster or "
            "sklearn.cluster."
        )


def check_values(values: Any, name: str, fewest: int) -> Any:
    """The values of a parameter as an array, or an error that says what is wrong with them."""
    such_as = "whole numbers, such as range(2, 9)" if name in NUMBERS else "numbers, such as [1, 2, 5]"
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ValueError(f"{name} must be the numbers to compare, got {values!r}; give several {such_as}.")
    tried = list(values)
    if not tried:
        raise ValueError(f"{name} must be the numbers to compare, got none; give several {such_as}.")
    for value in tried:
        if name in NUMBERS:
            check_integer(f"each of {name}", value, fewest)
        else:
            check_real(f"each of {name}", value, -np.inf, or_infinity=True)
    if len(set(tried)) < len(tried):
        raise ValueError(f"{name} must be different numbers, got {tried}.")
    return np.array(tried)


__all__ = ["select_n_clusters", "select_parameter"]
