"""Estimate of the number of clusters by a vote of criteria with learned weights."""

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_random_state

from evlearn.belief import MassFunction
from evlearn.cluster.centroids.kmeans import rows_to_fit
from evlearn.cluster.centroids.model import Coordinates
from evlearn.mixture.discrete_columns import blur_discrete_columns
from evlearn.model_selection.number_criteria import compute_criteria
from evlearn.model_selection.number_features import compute_features
from evlearn.utils.formatting import format_count
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.typing import FloatArray, RandomSeed
from evlearn.utils.validation import check_integer

#: Largest number of clusters that the weights were learned for.
MAX_CLUSTERS = 12
#: Minimum number of distinct rows for criteria, and for each cluster.
_FEWEST_ROWS, _ROWS_EACH = 20, 4
#: Maximum number of rows, and number of rows that are sorted.
_MAX_ROWS, _SORTED_ROWS = 800, 20_000
#: Probability from which another number is part of the description.
_WORTH_MENTIONING, _MAX_OTHERS = 0.05, 2
_WEIGHTS_FILE = "number_weights.json"


@dataclass(frozen=True, eq=False, repr=False)
class ClusterNumberEstimate:
    """Probabilities of the numbers of clusters, returned by `estimate_n_clusters`.

    Attributes
    ----------
    probabilities : ndarray of shape (max_clusters,)
        Probabilities of 1, 2, ... clusters, which sum to 1.

    See Also
    --------
    estimate_n_clusters : Estimate the number of clusters.
    """

    probabilities: FloatArray

    @property
    def best(self) -> int:
        """Most probable number of clusters, the smallest of ties."""
        return int(self.probabilities.argmax()) + 1

    @property
    def confidence(self) -> float:
        """Probability of the best number."""
        return float(self.probabilities.max())

    @property
    def runner_up(self) -> int | None:
        """Second most probable number of clusters; None if no other number is possible."""
        second = self._order[1:2]
        return int(second[0]) + 1 if len(second) and self.probabilities[second[0]] > 0 else None

    @property
    def mass_function(self) -> MassFunction:
        """Least committed mass function with these pignistic probabilities, on sets of numbers such as {3,4}.

        The sets are nested: they contain the 1, 2, ... most probable numbers.
        """
        sorted_probabilities = self.probabilities[self._order]
        sizes = np.arange(1, len(sorted_probabilities) + 1)
        masses = sizes * (sorted_probabilities - np.append(sorted_probabilities[1:], 0))
        masses /= masses.sum()
        names = [str(number) for number in sizes]
        sets = [tuple(names[place] for place in sorted(self._order[:size].tolist())) for size in sizes]
        positive = {members: mass for members, mass in zip(sets, masses.tolist(), strict=True) if mass > 0}
        return MassFunction(names, positive)

    def describe(self) -> str:
        """Return the best number and up to 2 others, with their probabilities.

        Returns
        -------
        str
            A phrase such as "4 clusters (probability 0.72), or 3 (0.19)".
        """
        others = [place for place in self._order[1:] if self.probabilities[place] >= _WORTH_MENTIONING]
        texts = [f", or {place + 1} ({self.probabilities[place]:.2f})" for place in others[:_MAX_OTHERS]]
        return f"{format_count(self.best, 'cluster')} (probability {self.confidence:.2f}){''.join(texts)}"

    def __str__(self) -> str:
        return self.describe()

    def __repr__(self) -> str:
        return f"ClusterNumberEstimate({self.describe()})"

    @property
    def _order(self) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        return np.argsort(-self.probabilities, kind="stable")


def estimate_n_clusters(
    X: ArrayLike, *, max_clusters: int = MAX_CLUSTERS, random_state: RandomSeed = None
) -> ClusterNumberEstimate:
    """Estimate the number of clusters, with the probability of each number from 1.

    About 30 criteria are computed for 1 to 12 clusters: information criteria of mixtures, eigenvalues of graphs of
    neighbors, silhouettes, stability, agreement between clusterings and with neighborhoods, and comparisons with
    k-means for a single Gaussian. A multinomial logistic regression, fitted once to generated problems, turns them
    into probabilities.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples, without missing values. Scales of features matter, as for k-means.
    max_clusters : int, default=12
        Largest possible number of clusters, at most 12. The probabilities are conditional on this bound.
    random_state : int, RandomState instance or None, default=None
        Seed; an int makes results reproducible.

    Returns
    -------
    ClusterNumberEstimate
        The probabilities, the best number, and a mass function on sets of numbers.

    See Also
    --------
    select_n_clusters : Select the number of clusters for an estimator by a single criterion.

    Notes
    -----
    At most 800 distinct samples are used, drawn at random, without gross errors, which are far from all others.
    The order of the samples has no influence. Columns with few frequent values get noise, because the gaps between
    these values would look like boundaries between clusters. If there are fewer than 20 distinct samples, all
    numbers that are possible have the same probability.

    Examples
    --------
    >>> from evlearn.datasets import make_fourclass
    >>> from evlearn.model_selection import estimate_n_clusters
    >>> X, y = make_fourclass(400, random_state=0)
    >>> estimate = estimate_n_clusters(X, random_state=0)
    >>> estimate.best
    4
    """
    check_integer("max_clusters", max_clusters, 1)
    if max_clusters > MAX_CLUSTERS:
        raise ValueError(
            f"max_clusters must be at most {MAX_CLUSTERS}, the largest number in the training data, got "
            f"{max_clusters}; use select_n_clusters for larger numbers."
        )
    data = np.asarray(check_array(X, dtype=np.float64, input_name="X"))
    random = check_random_state(random_state)
    with one_blas_thread():
        rows = draw_rows(data, random)
        probabilities = _probabilities(rows, int(random.randint(2**31 - 1)))[:max_clusters]
    return ClusterNumberEstimate(probabilities / probabilities.sum())


def draw_rows(X: FloatArray, random: np.random.RandomState) -> FloatArray:
    """Return at most 800 distinct rows without gross errors, independent of their order, and with noise."""
    varies = np.ptp(X, axis=0) > 0
    if not varies.any():
        return X[:1]
    rows = Coordinates.of(X[:, varies]).transform(X[:, varies])
    if len(rows) > _SORTED_ROWS:  # sorting the columns of many rows would be slow
        order = np.argsort((rows * random.standard_normal(rows.shape[1])).sum(axis=1), kind="stable")
        rows = rows[order[random.permutation(len(rows))[:_SORTED_ROWS]]]
    rows = np.unique(rows, axis=0)
    if len(rows) > _MAX_ROWS:
        rows = rows[np.sort(random.permutation(len(rows))[:_MAX_ROWS])]
    return blur_discrete_columns(rows[rows_to_fit(rows, MAX_CLUSTERS)], random)


def _probabilities(rows: FloatArray, seed: int) -> FloatArray:
    """Return the probabilities of 1 to 12 clusters."""
    probabilities = np.zeros(MAX_CLUSTERS)
    if len(rows) < _FEWEST_ROWS:
        probabilities[: len(rows)] = 1 / min(len(rows), MAX_CLUSTERS)
        return probabilities
    largest = min(MAX_CLUSTERS, len(rows) // _ROWS_EACH)
    features = compute_features(compute_criteria(rows, largest, seed))
    scores = sum(weight * features[name] for name, weight in _weights().items())
    shares = np.exp(scores - np.max(scores))
    probabilities[:largest] = shares / shares.sum()
    return probabilities


@cache
def _weights() -> dict[str, float]:
    """Return the weights of the features, learned by ``benchmarks.studies.answers.train_n_clusters``."""
    text = (resources.files(__package__) / _WEIGHTS_FILE).read_text(encoding="utf-8")
    return {name: float(weight) for name, weight in json.loads(text)["weights"].items()}
