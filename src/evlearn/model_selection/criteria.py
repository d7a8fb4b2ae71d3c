"""What may be asked of a subsample: curves over the values of a parameter."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score, pairwise_distances, silhouette_score

from evlearn.cluster import EVCLUS, EKNNClus, delta_bel
from evlearn.model_selection.selection import NUMBERS, VOTES, Rule, choose
from evlearn.model_selection.subsamples import Subsample
from evlearn.utils.typing import FloatArray

# Of more samples, silhouettes and held-out pairs are those of so many.
_MOST_OBJECTS = 2000
# The quantile that found the right numbers most often; see the guide.
_EKNNCLUS_Q = 0.9


@dataclass(frozen=True)
class Criterion:
    """A way to tell good values of a parameter from bad ones.

    Attributes
    ----------
    label : str
        What its values are, in words.
    rule : {"smallest", "largest", "last_largest", "elbow"}
        Which value is suggested.
    fewest : int
        The smallest number of clusters that it can judge.
    by_value : callable or None
        What a subsample says about one value: a function of the subsample, the parameter's name and its value.
    at_once : callable or None
        What a subsample says about all numbers of clusters: a function of the subsample and the numbers.
    """

    label: str
    rule: Rule
    fewest: int
    by_value: Callable[[Subsample, str, Any], float] | None = None
    at_once: Callable[[Subsample, Sequence[int]], FloatArray] | None = None


def nonspecificity(sample: Subsample, name: str, value: Any) -> float:
    """How much the partition leaves open, on average."""
    fitted = sample.fit(**{name: value})
    return float(_needed(fitted, "credal_partition_", "nonspecificity").nonspecificity())


def objective(sample: Subsample, name: str, value: Any) -> float:
    """What the method minimises."""
    return float(_needed(sample.fit(**{name: value}), "objective_", "objective"))


def bic(sample: Subsample, name: str, value: Any) -> float:
    """The Bayesian information criterion of a mixture."""
    return float(_needed(sample.fit(**{name: value}), "bic", "bic")(sample.data))


def silhouette(sample: Subsample, name: str, value: Any) -> float:
    """How much nearer samples are to their own cluster than to the next one, on average."""
    labels = _labels(sample, name, value, "silhouette")
    if labels is None or not 2 <= len(np.unique(labels)) < len(labels):
        return float("nan")
    size = min(_MOST_OBJECTS, len(labels))
    data = np.array(sample.data, dtype=np.float64)
    if sample.pairwise:
        np.fill_diagonal(data, 0.0)
    return float(silhouette_score(data, labels, metric=sample.metric, sample_size=size, random_state=sample.seed))


def stability(sample: Subsample, name: str, value: Any) -> float:
    """How alike the clusters of two subsamples are: the adjusted Rand index of the samples that are in both."""
    twin = sample.twin()
    first, second = (_labels(one, name, value, "stability") for one in (sample, twin))
    if first is None or second is None:
        return float("nan")
    _, in_first, in_second = np.intersect1d(sample.rows, twin.rows, assume_unique=True, return_indices=True)
    shared = (first[in_first], second[in_second])
    if any(not 2 <= len(np.unique(labels)) < len(labels) for labels in shared):
        return float("nan")
    return float(adjusted_rand_score(*shared))


def held_out_stress(sample: Subsample, name: str, value: Any) -> float:
    """How well masses predicted for samples outside the subsample explain the dissimilarities between these."""
    if not isinstance(sample.estimator, EVCLUS):
        raise ValueError(
            f'criterion="stress" is that of EVCLUS, got {sample.estimator!r}; give EVCLUS, or {_OTHERS}'
        )
    others = sample.left_out[:_MOST_OBJECTS]
    if len(others) < 2:
        raise ValueError(
            'criterion="stress" needs samples that are left out of the subsamples; give a sample_size below 1.0.'
        )
    fitted = sample.fit(**{name: value})
    masses = fitted.predict_mass(sample.take(others, sample.rows)).masses
    apart = (
        sample.take(others) if sample.pairwise else pairwise_distances(sample.take(others), metric=sample.metric)
    )
    pairs = np.triu_indices(len(others), k=1)
    targets = fitted._model.transform(apart[pairs])
    conflicts = (masses @ fitted.focal_sets_.conflict_matrix @ masses.T)[pairs]
    return float(((conflicts - targets) ** 2).sum() / (targets**2).sum())


def peaks(sample: Subsample, numbers: Sequence[int]) -> FloatArray:
    """How far the scores of the δ-Bel graph fall after each number of peaks."""
    gaps = delta_bel(sample.data, metric=sample.metric).gaps
    told = np.where(gaps > 0, gaps, np.nan)
    return np.array([told[number - 1] if number <= len(told) else np.nan for number in numbers])


def eknnclus(sample: Subsample, numbers: Sequence[int]) -> FloatArray:
    """The number of clusters that nearest neighbours agree on."""
    given = isinstance(sample.estimator, EKNNClus)
    model = clone(sample.estimator) if given else EKNNClus(q=_EKNNCLUS_Q, n_init=1, metric=sample.metric)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="all samples are in one cluster")
        found = model.set_params(random_state=sample.seed).fit(sample.data).n_clusters_
    return _vote(np.equal(numbers, found))


def vote(criterion: Criterion, sample: Subsample, numbers: Sequence[int]) -> FloatArray:
    """What a criterion chooses, and no more."""
    assert criterion.at_once is not None
    chosen = choose(np.asarray(numbers), criterion.at_once(sample, numbers), criterion.rule)
    return _vote([place == chosen for place in range(len(numbers))])


def _labels(sample: Subsample, name: str, value: Any, criterion: str) -> Any:
    """The labels of a fit; None if there are fewer clusters than it was to find."""
    labels = np.asarray(_needed(sample.fit(**{name: value}), "labels_", criterion))
    return None if name in NUMBERS and len(np.unique(labels)) < value else labels


def _vote(chosen: Any) -> FloatArray:
    return np.asarray(chosen, dtype=np.float64) if np.any(chosen) else np.full(len(chosen), np.nan)


def _needed(fitted: Any, attribute: str, criterion: str) -> Any:
    if hasattr(fitted, attribute):
        return getattr(fitted, attribute)
    raise ValueError(
        f"criterion={criterion!r} needs an estimator with {attribute} after its fit, got {fitted!r}; "
        f"{_ADVICE[criterion]}"
    )


_NOT_IN_MEMORY = (
    "give an estimator of evlearn.cluster. Data that are not in memory have a credal_partition_ with masses_file "
    'only; criterion="objective" does without.'
)
_OTHERS = 'use criterion="stability" or "silhouette", which need labels only.'
_ADVICE = {
    "nonspecificity": f"{_NOT_IN_MEMORY} Or {_OTHERS}",
    "objective": f"give an estimator of evlearn.cluster, or {_OTHERS}",
    "bic": f"give a mixture or BootClus, or {_OTHERS}",
    "silhouette": "give a clusterer.",
    "stability": "give a clusterer.",
}

CRITERIA = {
    "nonspecificity": Criterion("average nonspecificity", "smallest", 2, nonspecificity),
    "objective": Criterion("objective", "elbow", 1, objective),
    "stress": Criterion("held-out stress", "elbow", 1, held_out_stress),
    # Halves of four clusters may be as stable as these, which say more.
    "stability": Criterion("stability", "last_largest", 2, stability),
    "silhouette": Criterion("silhouette", "largest", 2, silhouette),
    "bic": Criterion("BIC", "smallest", 1, bic),
    "peaks": Criterion("gap of log scores", "largest", 1, at_once=peaks),
    "eknnclus": Criterion(VOTES, "largest", 1, at_once=eknnclus),
}
