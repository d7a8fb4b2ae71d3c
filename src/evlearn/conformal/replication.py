"""Clusterers fitted to disjoint parts of the data: the label of one, held against what the other says."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from evlearn.cluster.base import with_seed, without_files
from evlearn.conformal.p_values import nonconformity
from evlearn.conformal.support import Speaker, best_clusters, fit_speaker, matched_columns
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.typing import FloatArray, IntArray

_LARGEST_SEED = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Calibration:
    """What replications taught: how strange their labels are to each other, and how often they agree.

    The scores are those of samples to which a replication gave a label, `samples` says of which. `moved` is the
    share of replications that put each sample elsewhere, and `fitted` are the samples that the reference has seen.
    """

    reference: Speaker
    fitted: IntArray
    drawn: bool
    scores: FloatArray
    samples: IntArray
    moved: FloatArray


def cross_calibrate(
    estimator: Any, X: FloatArray, n: int, labels: str, n_neighbors: int, n_jobs: int | None, random: Any
) -> Calibration:
    """The clusterer fitted to all samples, and to halves that give each other labels and scores."""
    reference = _fitted(estimator, X, random.randint(_LARGEST_SEED), n_neighbors)
    support = reference.support(X)
    best, drawn = _checked(best_clusters(support)), _draws(labels, reference)
    seeds = random.randint(_LARGEST_SEED, size=n)
    pairs = Parallel(n_jobs=n_jobs)(
        delayed(_halves)(estimator, X, best, support.shape[1], drawn, n_neighbors, seed) for seed in seeds
    )
    moved = np.mean([one.moved for one in pairs], axis=0)
    scores, samples = (np.concatenate([getattr(one, name) for one in pairs]) for name in ("scores", "samples"))
    return Calibration(reference, np.arange(len(X)), drawn, scores, samples, moved)


def split_calibrate(estimator: Any, X: FloatArray, labels: str, n_neighbors: int, random: Any) -> Calibration:
    """Three parts: one for the model, one for a model that gives labels, and one that neither has seen."""
    seeds = random.randint(_LARGEST_SEED, size=2)
    for_model, for_labels, unseen = np.array_split(random.permutation(len(X)), 3)
    reference = _fitted(estimator, X[for_model], seeds[0], n_neighbors)
    support = reference.support(X)
    best, drawn = _checked(best_clusters(support)), _draws(labels, reference)
    other = _fitted(estimator, X[for_labels], seeds[1], n_neighbors, quiet=True)
    # Numbered by samples that take no part in the calibration, which is exact for that reason.
    seen = np.concatenate([for_model, for_labels])
    said = matched_columns(other.support(X), best, support.shape[1], seen)
    scores, samples = _scores(support, said, unseen, drawn, random)
    return Calibration(reference, for_model, drawn, scores, samples, _moved(said, best))


def _halves(
    estimator: Any, X: FloatArray, best: IntArray, n_clusters: int, drawn: bool, n_neighbors: int, seed: int
) -> Calibration:
    random = np.random.RandomState(seed)
    halves = np.array_split(random.permutation(len(X)), 2)
    speakers = [
        _fitted(estimator, X[half], random.randint(_LARGEST_SEED), n_neighbors, quiet=True) for half in halves
    ]
    everyone = np.arange(len(X))
    said = [matched_columns(one.support(X), best, n_clusters, everyone) for one in speakers]
    found = [_scores(said[1 - one][:, :n_clusters], said[one], halves[one], drawn, random) for one in (0, 1)]
    scores, samples = (np.concatenate(part) for part in zip(*found, strict=True))
    moved = np.mean([_moved(one, best) for one in said], axis=0)
    return Calibration(speakers[0], halves[0], drawn, scores, samples, moved)


def _fitted(estimator: Any, X: FloatArray, seed: int, n_neighbors: int, quiet: bool = False) -> Speaker:
    one = with_seed(without_files(clone(estimator)), np.random.RandomState(seed))
    # Threads add up in an order of their own, and the result is not to depend on how many there are.
    with one_blas_thread(), threadpool_limits(1, user_api="openmp"), warnings.catch_warnings():
        if quiet:  # the fit to all samples has said it
            warnings.simplefilter("ignore")
        return fit_speaker(one, X, n_neighbors)


def _scores(
    support: FloatArray, said: FloatArray, rows: IntArray, drawn: bool, random: Any
) -> tuple[FloatArray, IntArray]:
    """How strange the labels that one model gives to samples are to another that has not seen them."""
    labels = _labels(said[rows], drawn, random)
    labelled, labels = rows[labels >= 0], labels[labels >= 0]
    scores = nonconformity(support[labelled])
    # A cluster without a counterpart is in no set of the other model.
    scores = np.column_stack([scores, np.full(len(scores), np.inf)])
    return scores[np.arange(len(labels)), labels], labelled


def _labels(said: FloatArray, drawn: bool, random: Any) -> IntArray:
    """Labels that are drawn, or the best; -1 for samples that are in no cluster."""
    if not drawn:
        return best_clusters(said)
    sums = said.cumsum(axis=1)
    labels = (random.uniform(size=(len(said), 1)) * sums[:, -1:] >= sums).sum(axis=1)
    return np.where(sums[:, -1] > 0, np.minimum(labels, said.shape[1] - 1), -1)


def _moved(said: FloatArray, best: IntArray) -> FloatArray:
    return np.asarray(best_clusters(said) != best, dtype=np.float64)


def _draws(labels: str, reference: Speaker) -> bool:
    if labels == "drawn" and not reference.is_soft:
        raise ValueError(
            "labels='drawn' needs an estimator with predict_mass or predict_proba; use labels='auto'."
        )
    return labels != "hard" and reference.is_soft


def _checked(best: IntArray) -> IntArray:
    if best.max() < 0:
        raise ValueError("estimator labels all samples as noise; change its parameters.")
    return best
