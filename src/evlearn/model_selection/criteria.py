"""Criteria for a subsample: curves over the values of a parameter."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score, pairwise_distances, silhouette_score

from evlearn.cluster import EVCLUS, EKNNClus, belief_peaks
from evlearn.model_selection.selection import NUMBERS, VOTES, Rule, choose
from evlearn.model_selection.subsamples import Subsample
from evlearn.utils.typing import FloatArray

# Maximum number of samples for silhouettes and held-out pairs.
_MAX_SAMPLES = 2000
# The quantile with the most correct numbers of clusters; see the guide.
_EKNNCLUS_Q = 0.9


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
    gaps = belief_peaks(sample.data, metric=sample.metric).gaps
    positive = np.where(gaps > 0, gaps, np.nan)
    return np.array([positive[number - 1] if number <= len(positive) else np.nan for number in numbers])


def eknnclus(sample: Subsample, numbers: Sequence[int]) -> FloatArray:
    """Return a vote for the number of clusters that EK-NNclus finds."""
    is_eknnclus = isinstance(sample.estimator, EKNNClus)
    model = clone(sample.estimator) if is_eknnclus else EKNNClus(q=_EKNNCLUS_Q, n_init=1, metric=sample.metric)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="all samples are in one cluster")
        n_clusters = model.set_params(random_state=sample.seed).fit(sample.data).n_clusters_
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
