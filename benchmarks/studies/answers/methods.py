"""Methods for `answers.py`: each is given data, the number of clusters and a seed, and else has its defaults.

A method gives labels, a doubt about each of them, and where it has one, a verdict. Mixtures, fuzzy c-means and
hdbscan have a doubt of their own; other peers are given the one that suits them. An older version of this library
that has no verdict is read as it told its user then: by the largest mass, and by ratios of plausibilities.
"""

import inspect
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.metrics import pairwise_distances, pairwise_distances_argmin
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestNeighbors

from evlearn import cluster
from evlearn.cluster import CCM, ECM, EVCLUS, BootClus
from evlearn.ensemble import CredalEnsemble
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.partition import CredalPartition

NEIGHBORS = 10
FUZZIFIER, STEPS, SMALL = 2.0, 300, 1e-5  # of fuzzy c-means
MOST_OF_ENSEMBLE = 600  # samples: it costs by pairs
FULL_UP_TO = 10  # clusters that an older version had all sets for; beyond, it did not end


class Answer(NamedTuple):
    """What a method says of each sample; `sure`, `torn` and `outlier` are None for methods without a verdict."""

    labels: Any
    doubt: Any
    sure: Any = None
    torn: Any = None
    outlier: Any = None


def k_means(X, c, seed):
    """The ratio of the distances to the nearest and the second nearest centre."""
    model = KMeans(c, n_init=10, random_state=seed).fit(X)
    return Answer(model.labels_, ratio_of_two(model.transform(X)))


def gaussian_mixture(X, c, seed):
    """One minus the largest posterior probability."""
    model = GaussianMixture(c, n_init=5, random_state=seed).fit(X)
    probabilities = model.predict_proba(X)
    return Answer(probabilities.argmax(axis=1), 1 - probabilities.max(axis=1))


def spectral(X, c, seed):
    """On the graph of neighbours; the share of neighbours that are in other clusters."""
    model = SpectralClustering(c, affinity="nearest_neighbors", random_state=seed).fit(X)
    return Answer(model.labels_, among_others(X, model.labels_))


def ward(X, c, seed):
    """The ratio of the distances to the mean of its cluster and to the nearest other one."""
    labels = AgglomerativeClustering(c).fit_predict(X)
    means = np.array([X[labels == k].mean(axis=0) for k in range(c)])
    distances = pairwise_distances(X, means)
    own = distances[np.arange(len(X)), labels]
    distances[np.arange(len(X)), labels] = np.inf
    return Answer(labels, own / np.maximum(distances.min(axis=1), np.finfo(float).tiny))


def hdbscan(X, c, seed):
    """With clusters of two samples in a hundred at the least; noise goes to the nearest cluster, in full doubt."""
    model = HDBSCAN(min_cluster_size=max(5, len(X) // 50), copy=True).fit(X)
    labels, noise = model.labels_.copy(), model.labels_ < 0
    if noise.all():
        return Answer(np.zeros(len(X), dtype=int), np.ones(len(X)))
    if noise.any():
        inside = np.flatnonzero(~noise)
        labels[noise] = labels[inside[pairwise_distances_argmin(X[noise], X[inside])]]
    return Answer(labels, 1 - model.probabilities_)


def fuzzy_c_means(X, c, seed):
    """One minus the largest degree of membership."""
    centres = KMeans(c, n_init=1, random_state=seed).fit(X).cluster_centers_
    for _ in range(STEPS):
        squares = np.maximum(pairwise_distances(X, centres, metric="sqeuclidean"), 1e-300)
        # Divided by the smallest of a row, so that nothing overflows.
        degrees = (squares / squares.min(axis=1, keepdims=True)) ** (-1 / (FUZZIFIER - 1))
        degrees /= degrees.sum(axis=1, keepdims=True)
        weights = degrees**FUZZIFIER
        before, centres = centres, weights.T @ X / weights.sum(axis=0)[:, np.newaxis]
        if np.abs(centres - before).max() < SMALL:
            break
    return Answer(degrees.argmax(axis=1), 1 - degrees.max(axis=1))


def ecm(X, c, seed):
    return told(ECM(c, random_state=seed, **sets_of_old(ECM, c)).fit(X).credal_partition_)


def ccm(X, c, seed):
    return told(CCM(c, random_state=seed, **sets_of_old(CCM, c)).fit(X).credal_partition_)


def evclus(X, c, seed):
    return told(EVCLUS(c, random_state=seed).fit(X).credal_partition_)


def mixture(X, c, seed):
    model = ParsimoniousGaussianMixture(c, random_state=seed).fit(X)
    return told(CredalPartition.from_fuzzy(model.predict_proba(X)))


def merged_mixture(X, c, seed):
    return told(cluster.MergedMixture(c, random_state=seed).fit(X).credal_partition_)


def bootclus(X, c, seed):
    """With fifty resamples, which are many fewer than its default."""
    return told(BootClus(c, n_bootstrap=50, random_state=seed).fit(X).credal_partition_)


def ensemble(X, c, seed):
    """Four methods that see different things."""
    members = [
        KMeans(c, n_init=10, random_state=seed),
        GaussianMixture(c, n_init=5, random_state=seed),
        AgglomerativeClustering(c),
        ECM(c, random_state=seed, **sets_of_old(ECM, c)),
    ]
    return told(CredalEnsemble(members, n_clusters=c, random_state=seed).fit(X).credal_partition_)


PEERS = {
    "k-means": k_means,
    "Gaussian mixture": gaussian_mixture,
    "spectral": spectral,
    "Ward": ward,
    "hdbscan": hdbscan,
    "fuzzy c-means": fuzzy_c_means,
}
OURS = {
    "ECM": ecm,
    "CCM": ccm,
    "EVCLUS": evclus,
    "mixture": mixture,
    "MergedMixture": merged_mixture,
    "CredalEnsemble": ensemble,
    "BootClus": bootclus,
}
METHODS = PEERS | OURS
#: BootClus takes long, and older versions have no merged mixtures.
LEFT_OUT = {"BootClus"} if hasattr(cluster, "MergedMixture") else {"BootClus", "MergedMixture"}
BY_DEFAULT = tuple(name for name in METHODS if name not in LEFT_OUT)


def fits(method, n_samples):
    """Whether a method is tried on so many samples."""
    return method != "CredalEnsemble" or n_samples <= MOST_OF_ENSEMBLE


def told(partition):
    """Labels, doubt and verdict of a credal partition."""
    labels = partition.to_hard()
    if hasattr(partition, "verdict"):
        verdict = partition.verdict()
        return Answer(labels, partition.doubt(), verdict.sure, verdict.torn, verdict.outlier)
    n_candidates = partition.to_rough().sum(axis=1)
    possible = np.sort(partition.to_possibilistic().astype(float), axis=1)
    second = possible[:, -2] if possible.shape[1] > 1 else np.zeros(len(possible))
    ratios = np.divide(second, possible[:, -1], out=np.ones(len(possible)), where=possible[:, -1] > 0)
    return Answer(labels, ratios, n_candidates == 1, n_candidates > 1, n_candidates == 0)


def sets_of_old(estimator, c):
    """Pairs for many clusters, where a version has all sets by default and does not end."""
    default = inspect.signature(estimator).parameters["focal_sets"].default
    return {"focal_sets": "pairs"} if default == "full" and c > FULL_UP_TO else {}


def ratio_of_two(distances):
    two = np.partition(distances, 1, axis=1)[:, :2] if distances.shape[1] > 1 else np.ones((len(distances), 2))
    return two[:, 0] / np.maximum(two[:, 1], np.finfo(float).tiny)


def among_others(X, labels):
    neighbors = NearestNeighbors(n_neighbors=min(NEIGHBORS, len(X) - 1)).fit(X).kneighbors(return_distance=False)
    return (labels[neighbors] != labels[:, np.newaxis]).mean(axis=1)
