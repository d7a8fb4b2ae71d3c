"""Selection of the number of clusters or another parameter by a criterion on subsamples.

A criterion of a subsample is a curve over the values of the parameter.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from joblib import delayed
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, pairwise_distances, silhouette_score
from sklearn.utils import check_random_state

from evlearn.cluster import EVCLUS, BootClus, EKNNClus, belief_peaks
from evlearn.cluster.neighbors.belief_peaks import count_neighbors, graph_of
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.model_selection.selection import NUMBERS, VOTES, ParameterSelection, Rule, check_enough, choose
from evlearn.model_selection.subsamples import Subsample, draw_subsamples, share_neighbors
from evlearn.partition.estimators import split_pipeline
from evlearn.utils.convergence import warn_caller
from evlearn.utils.parallel import run_jobs
from evlearn.utils.progress import Count, reporting_as
from evlearn.utils.typing import ClustererLike, DataLike, FloatArray, RandomSeed
from evlearn.utils.validation import check_choice, check_integer, check_real

# Maximum number of samples for silhouettes and held-out pairs.
_MAX_SAMPLES = 2000
# The quantile with the most correct numbers of clusters; see the guide.
_EKNNCLUS_Q = 0.9
_NOT_IN_MEMORY = (
    "use an estimator of evlearn.cluster. For data not in memory, credal_partition_ requires store_masses; "
    'criterion="objective" does not.'
)
_OTHERS = 'use criterion="stability" or "silhouette", which require only labels.'
_ADVICE = {
    "nonspecificity": f"{_NOT_IN_MEMORY} Or {_OTHERS}",
    "objective": f"use an estimator of evlearn.cluster, or {_OTHERS}",
    "bic": f"use a mixture or BootClus, or {_OTHERS}",
    "silhouette": "use a clusterer.",
    "stability": "use a clusterer.",
}
#: Criteria that vote on the number of clusters by default.
_VOTERS = ("peaks", "eknnclus")


@dataclass(frozen=True)
class Criterion:
    """A criterion for the values of a parameter.

    Attributes
    ----------
    label : str
        Description of its values.
    rule : {"smallest", "largest", "last_largest", "elbow"}
        Rule that selects the suggested value.
    fewest : int
        Smallest number of clusters that it supports.
    by_value : callable or None
        Criterion of one value: a function of the subsample, the name of the parameter and its value.
    at_once : callable or None
        Criterion of all numbers of clusters: a function of the subsample and the numbers.
    """

    label: str
    rule: Rule
    min_clusters: int
    by_value: Callable[[Subsample, str, Any], float] | None = None
    at_once: Callable[[Subsample, Sequence[int]], FloatArray] | None = None


def nonspecificity(sample: Subsample, name: str, value: object) -> float:
    """Return the mean nonspecificity of the partition."""
    fitted = sample.fit(**{name: value})
    return float(_fitted_attribute(fitted, "credal_partition_", "nonspecificity").nonspecificity())


def objective(sample: Subsample, name: str, value: object) -> float:
    """Return the objective of the estimator."""
    return float(_fitted_attribute(sample.fit(**{name: value}), "objective_", "objective"))


def bic(sample: Subsample, name: str, value: object) -> float:
    """Return the Bayesian information criterion of a mixture."""
    return float(_fitted_attribute(sample.fit(**{name: value}), "bic", "bic")(sample.data))


def silhouette(sample: Subsample, name: str, value: object) -> float:
    """Return the mean silhouette of samples."""
    labels = _labels(sample, name, value, "silhouette")
    if labels is None or not 2 <= len(np.unique(labels)) < len(labels):
        return float("nan")
    size = min(_MAX_SAMPLES, len(labels))
    data = np.array(sample.data, dtype=np.float64)
    if sample.pairwise:
        np.fill_diagonal(data, 0.0)
    return float(silhouette_score(data, labels, metric=sample.metric, sample_size=size, random_state=sample.seed))


def stability(sample: Subsample, name: str, value: object) -> float:
    """Return the adjusted Rand index between the clusters of 2 subsamples, for their common samples."""
    twin = sample.twin()
    first, second = (_labels(subsample, name, value, "stability") for subsample in (sample, twin))
    if first is None or second is None:
        return float("nan")
    _, in_first, in_second = np.intersect1d(sample.rows, twin.rows, assume_unique=True, return_indices=True)
    shared = (first[in_first], second[in_second])
    if any(not 2 <= len(np.unique(labels)) < len(labels) for labels in shared):
        return float("nan")
    return float(adjusted_rand_score(*shared))


def held_out_stress(sample: Subsample, name: str, value: object) -> float:
    """Return the stress of predicted masses for samples outside the subsample."""
    if not isinstance(sample.estimator, EVCLUS):
        raise ValueError(f'criterion="stress" requires EVCLUS, got {sample.estimator!r}; use EVCLUS, or {_OTHERS}')
    others = sample.excluded[:_MAX_SAMPLES]
    if len(others) < 2:
        raise ValueError(
            'criterion="stress" requires samples outside the subsamples; use a sample_size below 1.0.'
        )
    fitted = sample.fit(**{name: value})
    masses = fitted.predict_mass(sample.take(others, sample.rows)).masses
    distances = (
        sample.take(others) if sample.pairwise else pairwise_distances(sample.take(others), metric=sample.metric)
    )
    pairs = np.triu_indices(len(others), k=1)
    targets = fitted._model.transform(distances[pairs])
    conflicts = (masses @ fitted.focal_sets_.conflict_matrix @ masses.T)[pairs]
    return float(((conflicts - targets) ** 2).sum() / (targets**2).sum())


def peaks(sample: Subsample, numbers: Sequence[int]) -> FloatArray:
    """Return the gaps of the scores of the δ-Bel graph after each number of peaks."""
    if sample.neighbors is None:
        graph = belief_peaks(sample.data, metric=sample.metric)
    else:
        graph = graph_of(sample.neighbors.select(sample.rows, count_neighbors("auto", len(sample.rows))))
    gaps = graph.gaps
    positive = np.where(gaps > 0, gaps, np.nan)
    return np.array([positive[number - 1] if number <= len(positive) else np.nan for number in numbers])


def eknnclus(sample: Subsample, numbers: Sequence[int]) -> FloatArray:
    """Return a vote for the number of clusters that EK-NNclus finds."""
    is_eknnclus = isinstance(sample.estimator, EKNNClus)
    model = clone(sample.estimator) if is_eknnclus else EKNNClus(q=_EKNNCLUS_Q, n_init=1, metric=sample.metric)
    model.set_params(random_state=sample.seed)
    if sample.neighbors is not None:
        all_neighbors, row_numbers = sample.neighbors, sample.rows
        n_clusters = model._count_clusters(
            all_neighbors.data[row_numbers], lambda rows, count: all_neighbors.select(row_numbers[rows], count)
        )
    else:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="all samples are in one cluster")
            n_clusters = model.fit(sample.data).n_clusters_
    return _vote(np.equal(numbers, n_clusters))


def vote(criterion: Criterion, sample: Subsample, numbers: Sequence[int]) -> FloatArray:
    """Return a vote for the number that a criterion suggests."""
    assert criterion.at_once is not None
    chosen = choose(np.asarray(numbers), criterion.at_once(sample, numbers), criterion.rule)
    return _vote([place == chosen for place in range(len(numbers))])


def _labels(sample: Subsample, name: str, value: Any, criterion: str) -> Any:
    """Return the labels of a fit; None if there are fewer clusters than requested."""
    labels = np.asarray(_fitted_attribute(sample.fit(**{name: value}), "labels_", criterion))
    return None if name in NUMBERS and len(np.unique(labels)) < value else labels


def _vote(chosen: Any) -> FloatArray:
    return np.asarray(chosen, dtype=np.float64) if np.any(chosen) else np.full(len(chosen), np.nan)


def _fitted_attribute(fitted: Any, attribute: str, criterion: str) -> Any:
    if hasattr(fitted, attribute):
        return getattr(fitted, attribute)
    raise ValueError(
        f"criterion={criterion!r} needs an estimator with {attribute} after its fit, got {fitted!r}; "
        f"{_ADVICE[criterion]}"
    )


CRITERIA = {
    "nonspecificity": Criterion("average nonspecificity", "smallest", 2, nonspecificity),
    "objective": Criterion("objective", "elbow", 1, objective),
    "stress": Criterion("held-out stress", "elbow", 1, held_out_stress),
    # Merged clusters can be equally stable, but are less informative.
    "stability": Criterion("stability", "last_largest", 2, stability),
    "silhouette": Criterion("silhouette", "largest", 2, silhouette),
    "bic": Criterion("BIC", "smallest", 1, bic),
    "peaks": Criterion("gap of log scores", "largest", 1, at_once=peaks),
    "eknnclus": Criterion(VOTES, "largest", 1, at_once=eknnclus),
}


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
    """Select the number of clusters, and measure its reliability.

    The criterion selects a number of clusters for each of several subsamples. The most frequent number is
    suggested, and its share of the subsamples measures its reliability.

    Parameters
    ----------
    estimator : estimator
        Clusterer or mixture of evlearn or scikit-learn, or a pipeline that ends with one, whose other steps are
        fitted once to all samples. Clones are fitted; it is not modified.
    X : array-like or any input of its ``fit``
        Data, or dissimilarities. Iterators are not supported.
    n_clusters : iterable of int, default=range(2, 11)
        Candidate numbers.
    criterion : str, default="auto"
        "auto": a vote of "peaks" and "eknnclus", which do not use the estimator. "peaks": the gap of the scores of
        the δ-Bel graph after this number of peaks. "eknnclus": the number of clusters that EK-NNclus finds. The
        other criteria fit the estimator. "stability": the similarity of the clusters of 2 subsamples.
        "silhouette": the mean silhouette. "nonspecificity": the mean nonspecificity of the partition. "bic": the
        Bayesian information criterion of mixtures and `BootClus`. "stress": the elbow of the stress of `EVCLUS`
        for samples outside the subsample. "objective": the elbow of the objective of the estimator.
    n_repeats : int, default=20
        Number of subsamples.
    sample_size : "auto", float or int, default="auto"
        Number of samples of a subsample, or their share. "auto" is 80 %, but at most 5000 samples; 1.0 uses all
        samples each time.
    fit_params : mapping or None, default=None
        Additional arguments of ``fit``, such as constraints. They require ``sample_size=1.0``.
    random_state : int, RandomState instance or None, default=None
        Seed of the subsamples and of the estimator. None uses new random subsamples and does not change the seed
        of the estimator.
    n_jobs : int or None, default=None
        Number of parallel jobs over fits; see ``joblib.parallel_config``. The result does not depend on it.
    verbose : int, default=0
        Whether to report progress.

    Returns
    -------
    ParameterSelection
        The curves, the selected value, and its share of the subsamples.

    See Also
    --------
    select_parameter : Select other parameters.
    evlearn.cluster.belief_peaks : Compute the graph whose peaks are counted.

    Notes
    -----
    Ctrl-C stops the search; the result contains the subsamples that are complete, if any.

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
    """Select the value of a parameter by a criterion, and measure its reliability.

    Parameters
    ----------
    estimator : estimator
        Clusterer, as in `select_n_clusters`.
    X : array-like or any input of its ``fit``
        The data, or dissimilarities.
    name : str
        Name of a parameter of the clusterer, such as "delta" or "d0".
    values : iterable of float
        Candidate values.
    criterion : str, default="nonspecificity"
        Criterion, as in `select_n_clusters`. "auto", "peaks" and "eknnclus" are only for numbers of clusters.
    n_repeats : int, default=20
        Number of subsamples.
    sample_size : "auto", float or int, default="auto"
        Number of samples of a subsample, or their share. "auto" is 80 %, but at most 5000 samples; 1.0 uses all
        samples each time.
    fit_params : mapping or None, default=None
        Additional arguments of ``fit``, such as constraints. They require ``sample_size=1.0``.
    random_state : int, RandomState instance or None, default=None
        Seed of the subsamples and of the estimator. None uses new random subsamples and does not change the seed
        of the estimator.
    n_jobs : int or None, default=None
        Number of parallel jobs over fits; see ``joblib.parallel_config``. The result does not depend on it.
    verbose : int, default=0
        Whether to report progress.

    Returns
    -------
    ParameterSelection
        The curves, the selected value, and its share of the subsamples.

    See Also
    --------
    select_n_clusters : Select the number of clusters.

    Examples
    --------
    >>> from evlearn.cluster import EVCLUS, Quantile
    >>> from evlearn.datasets import load_butterfly
    >>> from evlearn.model_selection import select_parameter
    >>> X = load_butterfly().data
    >>> model = EVCLUS(n_clusters=2, d0=Quantile(0.9), random_state=0)
    >>> select_parameter(
    ...     model, X, "d0__level", [0.5, 0.7, 0.9], n_repeats=1, sample_size=1.0
    ... ).best
    0.7
    """
    check_choice("criterion", criterion, ["auto", *CRITERIA])
    check_integer("n_repeats", n_repeats, 1)
    before, clusterer = _split(estimator)
    data = X if before is None else clone(before).fit_transform(X)
    if criterion == "bic":
        clusterer, name = _mixture_behind(clusterer, name)
    criteria = [CRITERIA[key] for key in (_VOTERS if criterion == "auto" else (criterion,))]
    _check_parameter(clusterer, name, criterion)
    candidates = np.sort(check_values(values, name, max(item.min_clusters for item in criteria)))
    check_enough(range(len(candidates)), criteria[0].rule, candidates, name)
    samples = draw_subsamples(
        clusterer,
        data,
        n_repeats=n_repeats,
        sample_size=sample_size,
        fit_params=fit_params or {},
        random=check_random_state(random_state),
        reseed=random_state is not None,
    )
    if criteria[0].at_once is not None:
        samples = share_neighbors(samples, n_jobs)
    parts = _run(_tasks(samples, name, candidates.tolist(), criteria), n_jobs, name, verbose)
    curves = _whole_curves(parts, len(candidates))
    label = criteria[0].label if len(criteria) == 1 else VOTES
    return ParameterSelection(name, candidates, curves, label, criteria[0].rule)


def _tasks(samples: list[Subsample], name: str, values: list[Any], criteria: list[Criterion]) -> list[Any]:
    """Return delayed calls that compute a curve or one of its points, in the order of subsamples."""
    if len(criteria) > 1:
        return [delayed(vote)(criterion, sample, values) for sample in samples for criterion in criteria]
    (criterion,) = criteria
    if criterion.at_once is not None:
        return [delayed(criterion.at_once)(sample, values) for sample in samples]
    return [delayed(criterion.by_value)(sample, name, value) for sample in samples for value in values]


def _run(tasks: list[Any], n_jobs: int | None, name: str, verbose: int) -> list[Any]:
    """Return the results of the calls, up to an interruption."""
    with reporting_as(f"select {name}", verbose):
        results, interrupted = run_jobs(tasks, n_jobs, Count("search", "task", len(tasks)).set_done)
    if interrupted:
        warn_caller(
            "the search was interrupted; the result contains the completed subsamples.", ConvergenceWarning
        )
    return results


def _whole_curves(parts: list[Any], n_values: int) -> FloatArray:
    points = np.hstack([np.empty(0), *parts]).astype(np.float64)
    n_curves = len(points) // n_values
    if not n_curves:
        raise KeyboardInterrupt  # no curve is complete
    return np.asarray(points[: n_curves * n_values].reshape(n_curves, n_values))


def _split(estimator: Any) -> tuple[Any, Any]:
    """Split an estimator into the steps before the clusterer, and the clusterer."""
    before, clusterer = split_pipeline(estimator)
    if isinstance(clusterer, type) or not hasattr(clusterer, "get_params"):
        raise ValueError(f"estimator must be an estimator such as ECM(), got {estimator!r}.")
    return before, clusterer


def _number_parameter(estimator: Any) -> str:
    """Return the name of the parameter for the number of clusters; "n_clusters" if there is none."""
    params = _split(estimator)[1].get_params(deep=False)
    return "n_components" if "n_components" in params and "n_clusters" not in params else "n_clusters"


def _mixture_behind(clusterer: Any, name: str) -> tuple[Any, str]:
    """Replace BootClus by its mixture, because BIC does not depend on the resamples."""
    if not (isinstance(clusterer, BootClus) and name == "n_clusters"):
        return clusterer, name
    if clusterer.mixture is not None:
        return clusterer.mixture, "n_components"
    mixture = ParsimoniousGaussianMixture(
        covariance_models=clusterer.covariance_models,
        n_init=clusterer._switches["n_init"],
        random_state=clusterer.random_state,
    )
    return mixture, "n_components"


def _check_parameter(clusterer: Any, name: str, criterion: str) -> None:
    counts = criterion == "auto" or CRITERIA[criterion].at_once is not None
    if counts and name not in NUMBERS:
        raise ValueError(
            f"criterion={criterion!r} counts clusters and does not depend on {name}; use "
            'criterion="nonspecificity", "stability" or "silhouette".'
        )
    if not counts and name not in clusterer.get_params():
        raise ValueError(
            f"estimator must have a parameter {name}, got {clusterer!r}; use an estimator of evlearn.cluster or "
            "sklearn.cluster."
        )


def check_values(values: Any, name: str, minimum: int) -> Any:
    """Return the values of a parameter as an array; raise if they are invalid."""
    examples = "whole numbers, such as range(2, 9)" if name in NUMBERS else "numbers, such as [1, 2, 5]"
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ValueError(f"{name} must be the numbers to compare, got {values!r}; give several {examples}.")
    candidates = list(values)
    if not candidates:
        raise ValueError(f"{name} must be the numbers to compare, got none; give several {examples}.")
    for value in candidates:
        if name in NUMBERS:
            check_integer(f"each of {name}", value, minimum)
        else:
            check_real(f"each of {name}", value, -np.inf, or_infinity=True)
    if len(set(candidates)) < len(candidates):
        raise ValueError(f"{name} must be different numbers, got {candidates}.")
    return np.array(candidates)
