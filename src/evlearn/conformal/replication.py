"""Clusterers fitted to disjoint parts of the data: labels of one, scored by the other.

The support of clusters by a clusterer consists of masses, probabilities, shares of distances, or votes.
"""

import warnings
from dataclasses import dataclass
from types import NoneType
from typing import Annotated, Any

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from evlearn.cluster.base import with_seed, without_files
from evlearn.conformal.p_values import nonconformity
from evlearn.neighbors import find_nearest
from evlearn.partition.estimators import memberships_of, split_pipeline, transform_through_pipeline
from evlearn.storage import fields
from evlearn.utils.chunks import row_blocks
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.typing import FloatArray, IntArray

#: Maximum number of distances per block.
_BLOCK_SIZE = 1 << 20
_MAX_SEED = np.iinfo(np.int32).max


@fields.stored
@dataclass(frozen=True)
class ClustererAdapter:
    """A fitted clusterer with a common method to predict the support of each cluster.

    Rows of support sum to 1, or to less if a part of the support is for noise.
    """

    estimator: Annotated[Any, fields.predictor, fields.NESTED]
    training_rows: Annotated[FloatArray | None, fields.instance(NoneType)]
    n_neighbors: fields.PositiveCount

    @property
    def is_soft(self) -> bool:
        """True if support consists of masses or probabilities, from which labels can be drawn."""
        clusterer = split_pipeline(self.estimator)[1]
        return hasattr(clusterer, "predict_mass") or hasattr(clusterer, "predict_proba")

    def support(self, X: FloatArray) -> FloatArray:
        """Return the support of clusters, of shape (n_samples, n_clusters)."""
        clusterer, rows = transform_through_pipeline(self.estimator, X)
        if hasattr(clusterer, "predict_mass"):
            return np.asarray(clusterer.predict_mass(rows).to_fuzzy("pignistic"), dtype=np.float64)
        if hasattr(clusterer, "predict_proba"):
            return np.asarray(clusterer.predict_proba(rows), dtype=np.float64)
        if self.training_rows is None:
            return _shares_of_distances(np.asarray(rows, dtype=np.float64), clusterer.cluster_centers_)
        return self._votes(clusterer.labels_, np.asarray(rows, dtype=np.float64))

    def _votes(self, labels: Any, rows: FloatArray) -> FloatArray:
        """Return the shares of clusters among the nearest training samples; noise does not vote."""
        votes = memberships_of(labels, labels)
        assert self.training_rows is not None
        n_neighbors = min(self.n_neighbors, len(self.training_rows))
        nearest = find_nearest(self.training_rows, rows, n_neighbors, metric="euclidean", n_jobs=None)
        return np.asarray(votes[nearest.indices.reshape(len(rows), n_neighbors)].mean(axis=1))


def fit_adapter(estimator: Any, X: FloatArray, n_neighbors: int) -> ClustererAdapter:
    """Fit a clusterer, and store the samples if their neighbors must vote."""
    estimator.fit(X)
    clusterer = split_pipeline(estimator)[1]
    if any(hasattr(clusterer, name) for name in ("predict_mass", "predict_proba")):
        return ClustererAdapter(estimator, None, n_neighbors)
    if not hasattr(clusterer, "labels_"):
        raise ValueError(
            f"estimator must be a clusterer with labels_, predict_proba or predict_mass after fit, got "
            f"{clusterer!r}."
        )
    centers = getattr(clusterer, "cluster_centers_", None)
    if hasattr(clusterer, "predict") and centers is not None and len(centers):
        return ClustererAdapter(estimator, None, n_neighbors)
    return ClustererAdapter(
        estimator, np.asarray(transform_through_pipeline(estimator, X)[1], dtype=np.float64), n_neighbors
    )


def best_clusters(support: FloatArray) -> IntArray:
    """Return the cluster with the largest support, or -1 if no cluster has support."""
    if support.shape[1] == 0:
        return np.full(len(support), -1, dtype=np.intp)
    return np.where(support.max(axis=1) > 0, support.argmax(axis=1), -1)


def match_columns(support: FloatArray, reference_labels: IntArray, n_clusters: int, rows: IntArray) -> FloatArray:
    """Reorder columns to match other clusters, by the number of common samples in the given rows.

    Missing clusters have no support, and a last column contains the support of clusters without a counterpart.
    """
    labels = best_clusters(support[rows])
    shared = np.zeros((n_clusters, support.shape[1]))
    is_labeled = (reference_labels[rows] >= 0) & (labels >= 0)
    np.add.at(shared, (reference_labels[rows][is_labeled], labels[is_labeled]), 1)
    columns, matches = linear_sum_assignment(shared, maximize=True)
    result = np.zeros((len(support), n_clusters + 1))
    result[:, columns] = support[:, matches]
    result[:, -1] = np.delete(support, matches, axis=1).sum(axis=1)
    return result


def _shares_of_distances(X: FloatArray, centers: FloatArray) -> FloatArray:
    """Return shares proportional to inverse squared distances, as in fuzzy c-means."""
    shares = np.empty((len(X), len(centers)))
    for block in row_blocks(len(X), max(1, _BLOCK_SIZE // len(centers))):
        distances = cdist(X[block], centers)
        nearest = distances.min(axis=1, keepdims=True)
        # A sample at a center has distance 0; its share is set to 1.
        shares[block] = (nearest / np.where(distances > 0, distances, 1)) ** 2
        shares[block][distances == 0] = 1
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class Calibration:
    """Scores of the labels of replications, and their disagreement with the reference model.

    `scores` are those of `samples`, which have a label of a replication. `disagreement` is the share of
    replications that assign each sample to another cluster, and `fitted` are the training samples of the
    reference.
    """

    reference: ClustererAdapter
    fitted: IntArray
    is_drawn: bool
    scores: FloatArray
    samples: IntArray
    disagreement: FloatArray


def cross_calibrate(
    estimator: Any, X: FloatArray, n: int, labels: str, n_neighbors: int, n_jobs: int | None, random: Any
) -> Calibration:
    """Fit the clusterer to all samples, and calibrate it by pairs of halves that score each other's labels."""
    reference = _fit_clone(estimator, X, random.randint(_MAX_SEED), n_neighbors)
    support = reference.support(X)
    best, is_drawn = _check_labeled(best_clusters(support)), _uses_drawn_labels(labels, reference)
    seeds = random.randint(_MAX_SEED, size=n)
    pairs = Parallel(n_jobs=n_jobs)(
        delayed(_calibrate_halves)(estimator, X, best, support.shape[1], is_drawn, n_neighbors, seed)
        for seed in seeds
    )
    disagreement = np.mean([pair.disagreement for pair in pairs], axis=0)
    scores, samples = (np.concatenate([getattr(pair, name) for pair in pairs]) for name in ("scores", "samples"))
    return Calibration(reference, np.arange(len(X)), is_drawn, scores, samples, disagreement)


def split_calibrate(estimator: Any, X: FloatArray, labels: str, n_neighbors: int, random: Any) -> Calibration:
    """Fit a model and a model for labels to 2 parts of the samples, and calibrate with a third part."""
    seeds = random.randint(_MAX_SEED, size=2)
    for_model, for_labels, calibration_rows = np.array_split(random.permutation(len(X)), 3)
    reference = _fit_clone(estimator, X[for_model], seeds[0], n_neighbors)
    support = reference.support(X)
    best, is_drawn = _check_labeled(best_clusters(support)), _uses_drawn_labels(labels, reference)
    other = _fit_clone(estimator, X[for_labels], seeds[1], n_neighbors, quiet=True)
    # Clusters are matched without the calibration samples, so that the calibration is exact.
    fitted_rows = np.concatenate([for_model, for_labels])
    label_support = match_columns(other.support(X), best, support.shape[1], fitted_rows)
    scores, samples = _score_labels(support, label_support, calibration_rows, is_drawn, random)
    return Calibration(reference, for_model, is_drawn, scores, samples, _disagreement(label_support, best))


def _calibrate_halves(
    estimator: Any, X: FloatArray, best: IntArray, n_clusters: int, is_drawn: bool, n_neighbors: int, seed: int
) -> Calibration:
    random = np.random.RandomState(seed)
    halves = np.array_split(random.permutation(len(X)), 2)
    adapters = [
        _fit_clone(estimator, X[half], random.randint(_MAX_SEED), n_neighbors, quiet=True) for half in halves
    ]
    rows = np.arange(len(X))
    supports = [match_columns(adapter.support(X), best, n_clusters, rows) for adapter in adapters]
    results = [
        _score_labels(supports[1 - half][:, :n_clusters], supports[half], halves[half], is_drawn, random)
        for half in (0, 1)
    ]
    scores, samples = (np.concatenate(part) for part in zip(*results, strict=True))
    disagreement = np.mean([_disagreement(support, best) for support in supports], axis=0)
    return Calibration(adapters[0], halves[0], is_drawn, scores, samples, disagreement)


def _fit_clone(
    estimator: Any, X: FloatArray, seed: int, n_neighbors: int, quiet: bool = False
) -> ClustererAdapter:
    model = with_seed(without_files(clone(estimator)), np.random.RandomState(seed))
    # Threads change the order of sums; the result must not depend on their number.
    with one_blas_thread(), threadpool_limits(1, user_api="openmp"), warnings.catch_warnings():
        if quiet:  # the fit to all samples has issued the same warnings
            warnings.simplefilter("ignore")
        return fit_adapter(model, X, n_neighbors)


def _score_labels(
    support: FloatArray, label_support: FloatArray, rows: IntArray, is_drawn: bool, random: Any
) -> tuple[FloatArray, IntArray]:
    """Return the scores of the labels of one model by another model, and the labeled rows."""
    labels = _choose_labels(label_support[rows], is_drawn, random)
    labeled, labels = rows[labels >= 0], labels[labels >= 0]
    scores = nonconformity(support[labeled])
    # No set of the other model contains a cluster without a counterpart.
    scores = np.column_stack([scores, np.full(len(scores), np.inf)])
    return scores[np.arange(len(labels)), labels], labeled


def _choose_labels(support: FloatArray, is_drawn: bool, random: Any) -> IntArray:
    """Return drawn or best labels; -1 for samples without a cluster."""
    if not is_drawn:
        return best_clusters(support)
    sums = support.cumsum(axis=1)
    labels = (random.uniform(size=(len(support), 1)) * sums[:, -1:] >= sums).sum(axis=1)
    return np.where(sums[:, -1] > 0, np.minimum(labels, support.shape[1] - 1), -1)


def _disagreement(support: FloatArray, best: IntArray) -> FloatArray:
    return np.asarray(best_clusters(support) != best, dtype=np.float64)


def _uses_drawn_labels(labels: str, reference: ClustererAdapter) -> bool:
    if labels == "drawn" and not reference.is_soft:
        raise ValueError(
            "labels='drawn' needs an estimator with predict_mass or predict_proba; use labels='auto'."
        )
    return labels != "hard" and reference.is_soft


def _check_labeled(best: IntArray) -> IntArray:
    if best.max() < 0:
        raise ValueError("estimator labels all samples as noise; change its parameters.")
    return best
