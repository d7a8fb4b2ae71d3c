"""Methods for `answers.py`: each is given data, the number of clusters and a seed, and else has its defaults.

A method gives labels, a doubt about each of them, and where it has one, a verdict. Mixtures, fuzzy c-means and
hdbscan have a doubt of their own; other peers are given the one that suits them. An older version of this library
that has no verdict is read as it told its user then: by the largest mass, and by ratios of plausibilities. Masses
of other packages are read by the rule of ours; a package that is not installed is left out.
"""

import importlib
import inspect
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.metrics import pairwise_distances, pairwise_distances_argmin
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.neighbors import NearestNeighbors

from benchmarks.studies.peers import methods as peers_methods
from evlearn import cluster
from evlearn.cluster import CCM, ECM, EVCLUS, BootClus, EKNNClus
from evlearn.ensemble import CredalEnsemble
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.partition import CredalPartition

NEIGHBORS = 10
FUZZIFIER, STEPS, SMALL = 2.0, 300, 1e-5  # of fuzzy c-means
MOST_OF_BOOTCLUS = 600  # samples: it searches 14 models, for each resample some of them
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
    return most_probable(GaussianMixture(c, n_init=5, random_state=seed).fit(X).predict_proba(X))


def bayesian_mixture(X, c, seed):
    """Likewise; it may leave components without samples."""
    return most_probable(
        BayesianGaussianMixture(n_components=c, n_init=5, random_state=seed).fit(X).predict_proba(X)
    )


def most_probable(probabilities):
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
    return most_probable(degrees)


def of_package(name):
    """A method of another package that gives masses."""

    def call(X, c, seed):
        labels, said = peers_methods.CLUSTERERS[name].call(SimpleNamespace(X=X, D=None, n_clusters=c), seed)
        partition, invalid = peers_methods.read(said)
        if partition is None:
            raise ValueError(f"masses that are none: {invalid}")
        return told(partition)._replace(labels=labels)

    return call


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


def eknnclus(X, c, seed):
    """It finds the number of clusters itself."""
    return told(EKNNClus(random_state=seed).fit(X).credal_partition_)


def nn_evclus(X, c, seed):
    model = importlib.import_module("evlearn.neural").NNEVCLUS(c, random_state=seed)
    return told(model.fit(X).credal_partition_)


def conformal(X, c, seed):
    """Around ECM; sets hold what a replication would say in nine cases of ten."""
    model = importlib.import_module("evlearn.conformal").ConformalClusterer(ECM(c), random_state=seed).fit(X)
    return told(model.credal_partition_, level=model.coverage)


def bootclus(X, c, seed):
    return told(BootClus(c, random_state=seed).fit(X).credal_partition_)


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
    "Bayesian mixture": bayesian_mixture,
    "spectral": spectral,
    "Ward": ward,
    "hdbscan": hdbscan,
    "fuzzy c-means": fuzzy_c_means,
    "evclust ecm": of_package("evclust ecm"),
    "soft-clustering ECM": of_package("soft-clustering ECM"),
}
OURS = {
    "ECM": ecm,
    "CCM": ccm,
    "EVCLUS": evclus,
    "NNEVCLUS": nn_evclus,
    "EKNNClus": eknnclus,
    "mixture": mixture,
    "MergedMixture": merged_mixture,
    "BootClus": bootclus,
    "CredalEnsemble": ensemble,
    "ConformalClusterer": conformal,
}
METHODS = PEERS | OURS
OF_PACKAGES = ("evclust ecm", "soft-clustering ECM")
MISSING = {name for name in OF_PACKAGES if not peers_methods.CLUSTERERS[name].installed()}
if not hasattr(cluster, "MergedMixture"):  # an older version
    MISSING |= {"MergedMixture", "ConformalClusterer"}
BY_DEFAULT = tuple(name for name in METHODS if name not in MISSING)


def fits(method, n_samples):
    """Whether a method is tried on so many samples."""
    return method != "BootClus" or n_samples <= MOST_OF_BOOTCLUS


def told(partition, **level):
    """Labels, doubt and verdict of a credal partition."""
    labels = partition.to_hard()
    if hasattr(partition, "verdict"):
        verdict = partition.verdict(**level)
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
