"""Methods of the study with default parameters, and scikit-learn's detectors and clusterers for comparison."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.ensemble import IsolationForest
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import LocalOutlierFactor

from evlearn.cluster import CCM, ECM, EVCLUS, RECM, BootClus, MergedMixture
from evlearn.ensemble import CredalEnsemble

#: Evidential methods by name: a function of the number of clusters and the seed.
METHODS = {
    "CCM": lambda c, seed: CCM(c, random_state=seed),
    "ECM": lambda c, seed: ECM(c, random_state=seed),
    "EVCLUS": lambda c, seed: EVCLUS(c, random_state=seed),
    "RECM": lambda c, seed: RECM(c, random_state=seed),
    "MergedMixture": lambda c, seed: MergedMixture(c, random_state=seed),
    "BootClus": lambda c, seed: BootClus(c, random_state=seed),
    "CredalEnsemble": lambda c, seed: CredalEnsemble(n_clusters=c, random_state=seed),
}
FAST = ("CCM", "ECM", "EVCLUS", "CredalEnsemble")
SLOW = tuple(name for name in METHODS if name not in FAST)


class Answer(NamedTuple):
    """Labels, and for evidential methods the verdict, the mass on the empty set and the messages of warnings."""

    labels: Any
    sure: Any = None
    torn: Any = None
    outlier: Any = None
    score: Any = None
    messages: tuple = ()


def evidential(name, X, n_clusters, seed=0):
    """Fit an evidential method; rejected data result in one cluster without outliers."""
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        try:
            model = METHODS[name](n_clusters, seed).fit(X)
        except ValueError as error:
            no_sample = np.zeros(len(X), dtype=bool)
            return Answer(
                no_sample.astype(int),
                no_sample,
                no_sample,
                no_sample,
                no_sample.astype(float),
                (f"refused: {error}",),
            )
    return answer_of(model.credal_partition_, records)


def answer_of(partition, records=()):
    """Return the answer of a credal partition and the warnings of its fit."""
    verdict, is_empty = partition.verdict(), partition.focal_sets.sizes == 0
    return Answer(
        labels=partition.to_hard(),
        sure=verdict.sure,
        torn=verdict.torn,
        outlier=verdict.outlier,
        score=np.asarray(partition.masses)[:, is_empty].sum(axis=1),
        messages=tuple(str(warning.message) for warning in records),
    )


def k_means(X, n_clusters, seed=0):
    """Fit k-means with 10 starts."""
    return Answer(KMeans(n_clusters, n_init=10, random_state=seed).fit(X).labels_)


def trimmed_k_means(X, n_clusters, seed=0, share=0.1, n_init=10):
    """Fit k-means without the rows farthest from their centers in each step; return the best start."""
    random, best = np.random.default_rng(seed), (np.inf, None)
    n_retained = len(X) - int(share * len(X))
    for _ in range(n_init):
        centers = X[random.choice(len(X), n_clusters, replace=False)]
        for _ in range(50):
            distances = pairwise_distances(X, centers, metric="sqeuclidean")
            labels, nearest = distances.argmin(axis=1), distances.min(axis=1)
            retained = np.argpartition(nearest, n_retained - 1)[:n_retained]
            new_centers = centers.copy()
            for k in np.unique(labels[retained]):
                new_centers[k] = X[retained[labels[retained] == k]].mean(axis=0)
            if np.allclose(new_centers, centers):
                break
            centers = new_centers
        best = min(best, (nearest[retained].sum(), labels), key=lambda pair: pair[0])
    return Answer(best[1])


#: Clusterers for comparison.
PLAIN = {"k-means": k_means, "trimmed k-means": trimmed_k_means}


def isolation_forest(X, seed=0):
    """Return outlier scores of an isolation forest, larger for outliers."""
    return -IsolationForest(random_state=seed).fit(X).score_samples(X)


def local_outlier_factor(X, seed=0):
    """Return the local outlier factors."""
    return -LocalOutlierFactor().fit(X).negative_outlier_factor_


DETECTORS = {"isolation forest": isolation_forest, "local outlier factor": local_outlier_factor}
