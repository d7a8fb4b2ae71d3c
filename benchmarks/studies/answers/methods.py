"""Methods of the study; each gets data, the number of clusters and a seed, and uses its defaults otherwise.

A method returns labels, the doubt about each of them and possibly a verdict. Mixtures, fuzzy c-means and hdbscan
define a doubt; the other methods get a suitable one. For an older version of this library without verdicts, the
verdict is derived as documented at that time: from the largest mass and from ratios of plausibilities. Masses of
other packages get our verdict; packages that are not installed are skipped.
"""

import inspect
from functools import partial
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
from evlearn.conformal import ConformalClusterer
from evlearn.ensemble import CredalEnsemble
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.partition import CredalPartition

NEIGHBORS = 10
FUZZIFIER, STEPS, SMALL = 2.0, 300, 1e-5  # of fuzzy c-means
MAX_BOOTCLUS_SAMPLES = 600  # it searches 14 models, some of them for each resample
MAX_CLUSTERS_FULL = (
    10  # maximum number of clusters with all focal sets in an older version, which is too slow with more
)


class Answer(NamedTuple):
    """Result of a method; `sure`, `torn` and `outlier` are None for methods without a verdict."""

    labels: Any
    doubt: Any
    sure: Any = None
    torn: Any = None
    outlier: Any = None


def k_means(X, c, seed):
    """Fit k-means; the doubt is the ratio of the distances to the 2 nearest centers."""
    model = KMeans(c, n_init=10, random_state=seed).fit(X)
    return Answer(model.labels_, ratio_of_two(model.transform(X)))


def gaussian_mixture(X, c, seed, covariance_type="full"):
    """Fit a Gaussian mixture; the doubt is 1 minus the largest posterior probability."""
    model = GaussianMixture(c, covariance_type=covariance_type, n_init=5, random_state=seed)
    return most_probable(model.fit(X).predict_proba(X))


def bayesian_mixture(X, c, seed):
    """Fit a Bayesian mixture, which may leave components empty; the doubt is that of `gaussian_mixture`."""
    return most_probable(
        BayesianGaussianMixture(n_components=c, n_init=5, random_state=seed).fit(X).predict_proba(X)
    )


def most_probable(probabilities):
    return Answer(probabilities.argmax(axis=1), 1 - probabilities.max(axis=1))


def spectral(X, c, seed):
    """Fit spectral clustering on the neighbor graph; the doubt is the share of neighbors in other clusters."""
    model = SpectralClustering(c, affinity="nearest_neighbors", random_state=seed).fit(X)
    return Answer(model.labels_, among_others(X, model.labels_))


def ward(X, c, seed):
    """Fit Ward's method; the doubt is the ratio of the distances to the own and the nearest other mean."""
    labels = AgglomerativeClustering(c).fit_predict(X)
    means = np.array([X[labels == k].mean(axis=0) for k in range(c)])
    distances = pairwise_distances(X, means)
    own_distances = distances[np.arange(len(X)), labels]
    distances[np.arange(len(X)), labels] = np.inf
    return Answer(labels, own_distances / np.maximum(distances.min(axis=1), np.finfo(float).tiny))


def hdbscan(X, c, seed):
    """Fit HDBSCAN with clusters of at least 2 % of the samples; noise goes to the nearest one, with doubt 1."""
    model = HDBSCAN(min_cluster_size=max(5, len(X) // 50), copy=True).fit(X)
    labels, noise = model.labels_.copy(), model.labels_ < 0
    if noise.all():
        return Answer(np.zeros(len(X), dtype=int), np.ones(len(X)))
    if noise.any():
        clustered = np.flatnonzero(~noise)
        labels[noise] = labels[clustered[pairwise_distances_argmin(X[noise], X[clustered])]]
    return Answer(labels, 1 - model.probabilities_)


def fuzzy_c_means(X, c, seed):
    """Fit fuzzy c-means; the doubt is 1 minus the largest degree of membership."""
    centers = KMeans(c, n_init=1, random_state=seed).fit(X).cluster_centers_
    for _ in range(STEPS):
        squares = np.maximum(pairwise_distances(X, centers, metric="sqeuclidean"), 1e-300)
        # Division by the row minimum avoids overflow.
        degrees = (squares / squares.min(axis=1, keepdims=True)) ** (-1 / (FUZZIFIER - 1))
        degrees /= degrees.sum(axis=1, keepdims=True)
        weights = degrees**FUZZIFIER
        previous, centers = centers, weights.T @ X / weights.sum(axis=0)[:, np.newaxis]
        if np.abs(centers - previous).max() < SMALL:
            break
    return most_probable(degrees)


def of_package(name):
    """Return a method of another package that computes masses."""

    def method(X, c, seed):
        labels, masses = peers_methods.CLUSTERERS[name].call(SimpleNamespace(X=X, D=None, n_clusters=c), seed)
        partition, invalid = peers_methods.to_partition(masses)
        if partition is None:
            raise ValueError(f"invalid masses: {invalid}")
        return to_answer(partition)._replace(labels=labels)

    return method


def ecm(X, c, seed):
    return to_answer(ECM(c, random_state=seed, **legacy_focal_sets(ECM, c)).fit(X).credal_partition_)


def ccm(X, c, seed):
    return to_answer(CCM(c, random_state=seed, **legacy_focal_sets(CCM, c)).fit(X).credal_partition_)


def evclus(X, c, seed):
    return to_answer(EVCLUS(c, random_state=seed).fit(X).credal_partition_)


def mixture(X, c, seed):
    model = ParsimoniousGaussianMixture(c, random_state=seed).fit(X)
    return to_answer(CredalPartition.from_fuzzy(model.predict_proba(X)))


def merged_mixture(X, c, seed):
    return to_answer(cluster.MergedMixture(c, random_state=seed).fit(X).credal_partition_)


def eknnclus(X, c, seed):
    """Fit EKNNClus, which estimates the number of clusters."""
    return to_answer(EKNNClus(random_state=seed).fit(X).credal_partition_)


def nn_evclus(X, c, seed):
    from evlearn.neural import NNEVCLUS  # loads torch

    return to_answer(NNEVCLUS(c, random_state=seed).fit(X).credal_partition_)


def conformal(X, c, seed):
    """Fit a conformal clusterer around ECM, with sets that contain 90 % of the labels of replications."""
    model = ConformalClusterer(ECM(c), random_state=seed).fit(X)
    return to_answer(model.credal_partition_, level=model.confidence_level)


def bootclus(X, c, seed):
    return to_answer(BootClus(c, random_state=seed).fit(X).credal_partition_)


def ensemble(X, c, seed):
    """Fit an ensemble of the default members."""
    return to_answer(CredalEnsemble(n_clusters=c, random_state=seed).fit(X).credal_partition_)


def ensemble_of_four(X, c, seed):
    """Fit an ensemble of 4 different methods with equal weights."""
    estimators = [
        KMeans(c, n_init=10, random_state=seed),
        GaussianMixture(c, n_init=5, random_state=seed),
        AgglomerativeClustering(c),
        ECM(c, random_state=seed, **legacy_focal_sets(ECM, c)),
    ]
    return to_answer(CredalEnsemble(estimators, n_clusters=c, random_state=seed).fit(X).credal_partition_)


PEERS = {
    "k-means": k_means,
    "Gaussian mixture": gaussian_mixture,
    "diagonal mixture": partial(gaussian_mixture, covariance_type="diag"),
    "tied mixture": partial(gaussian_mixture, covariance_type="tied"),
    "Bayesian mixture": bayesian_mixture,
    "spectral": spectral,
    "Ward": ward,
    "hdbscan": hdbscan,
    "fuzzy c-means": fuzzy_c_means,
    "evclust ecm": of_package("evclust ecm"),
    "soft-clustering ECM": of_package("soft-clustering ECM"),
}
LIBRARY_METHODS = {
    "ECM": ecm,
    "CCM": ccm,
    "EVCLUS": evclus,
    "NNEVCLUS": nn_evclus,
    "EKNNClus": eknnclus,
    "mixture": mixture,
    "MergedMixture": merged_mixture,
    "BootClus": bootclus,
    "CredalEnsemble": ensemble,
    "CredalEnsemble of 4": ensemble_of_four,
    "ConformalClusterer": conformal,
}
METHODS = PEERS | LIBRARY_METHODS
PACKAGE_METHODS = ("evclust ecm", "soft-clustering ECM")
MISSING = {name for name in PACKAGE_METHODS if not peers_methods.CLUSTERERS[name].installed()}
if not hasattr(cluster, "MergedMixture"):  # an older version
    MISSING |= {"MergedMixture", "ConformalClusterer"}
BY_DEFAULT = tuple(name for name in METHODS if name not in MISSING)


def fits(method, n_samples):
    """Return True if a method is run on this number of samples."""
    return method != "BootClus" or n_samples <= MAX_BOOTCLUS_SAMPLES


def to_answer(partition, **level):
    """Return labels, doubt and verdict of a credal partition."""
    labels = partition.to_hard()
    if hasattr(partition, "verdict"):
        verdict = partition.verdict(**level)
        return Answer(labels, partition.doubt(), verdict.sure, verdict.torn, verdict.outlier)
    n_candidates = partition.to_rough().sum(axis=1)
    possible = np.sort(partition.to_possibilistic().astype(float), axis=1)
    second = possible[:, -2] if possible.shape[1] > 1 else np.zeros(len(possible))
    ratios = np.divide(second, possible[:, -1], out=np.ones(len(possible)), where=possible[:, -1] > 0)
    return Answer(labels, ratios, n_candidates == 1, n_candidates > 1, n_candidates == 0)


def legacy_focal_sets(estimator, c):
    """Return pairs for many clusters in versions that would use all sets by default."""
    default = inspect.signature(estimator).parameters["focal_sets"].default
    return {"focal_sets": "pairs"} if default == "full" and c > MAX_CLUSTERS_FULL else {}


def ratio_of_two(distances):
    nearest = np.partition(distances, 1, axis=1)[:, :2] if distances.shape[1] > 1 else np.ones((len(distances), 2))
    return nearest[:, 0] / np.maximum(nearest[:, 1], np.finfo(float).tiny)


def among_others(X, labels):
    neighbors = NearestNeighbors(n_neighbors=min(NEIGHBORS, len(X) - 1)).fit(X).kneighbors(return_distance=False)
    return (labels[neighbors] != labels[:, np.newaxis]).mean(axis=1)
