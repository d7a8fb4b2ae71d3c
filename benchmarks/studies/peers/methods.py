"""Methods of the study, called as by a user: with the number of clusters, a seed, and defaults otherwise.

A clusterer is a function of the data and a seed. It returns labels and a description of the samples: labels again,
probabilities, a credal partition, or unchecked masses. Packages are imported in the calls, so methods of missing
packages are skipped. For other packages, only the documentation was used, not the source code.
"""

from importlib import import_module, metadata
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import pairwise_distances

from evlearn import papers
from evlearn.belief import FocalSets
from evlearn.classify import EvidentialKNNClassifier, EvidentialNeuralClassifier, EvidentialRBFClassifier
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import as_credal

SQUARE = 5_000  # maximum number of samples for methods that store a matrix of all pairs
PAIRS_FROM, SIMPLE_FROM = (
    6,
    11,
)  # minimum numbers of clusters for smaller families of focal sets, as recommended in our guide
PARTNERS = 100  # for evclust's kevclus, whose default is all pairs; the recorded runs of R use the same number
LIBRARY = "evidential-learn"
PEERS = ("hdbscan", "scikit-fuzzy", "evclust", "soft-clustering", "evtools-dst")


class Masses(NamedTuple):
    """Masses from another package, with a membership table of its focal sets."""

    values: Any
    sets: Any


class Method(NamedTuple):
    """A method: its package, its call, whether it uses dissimilarities, and whether it stores all of them."""

    package: str
    call: Any
    relational: bool = False
    square: bool = False

    def installed(self):
        """Return True if the package is installed."""
        try:
            return bool(metadata.version(self.package))
        except metadata.PackageNotFoundError:
            return False


def to_partition(result):
    """Return a partition if the masses are valid; otherwise None and the shares of invalid rows."""
    if not isinstance(result, Masses):
        return as_credal(result), {}
    values = np.asarray(result.values, dtype=float)
    rows = np.column_stack([~np.isfinite(values).all(1), (values < -1e-9).any(1), abs(values.sum(1) - 1) > 1e-6])
    if rows.any():
        names = ("rows_not_finite", "rows_negative", "rows_not_one")
        return None, dict(zip(names, map(float, rows.mean(axis=0)), strict=True)) | {"smallest_mass": values.min()}
    family = FocalSets.from_membership(result.sets)
    masses = np.zeros((len(values), len(family)))
    masses[:, family.positions(result.sets)] = np.maximum(values, 0)
    return CredalPartition(masses / masses.sum(axis=1, keepdims=True), family), {}


def kind_of_sets(data):
    return "full" if data.n_clusters < PAIRS_FROM else "pairs" if data.n_clusters < SIMPLE_FROM else "simple"


def rows_or_pairs(data):
    """Return the features or the dissimilarities, with the metric."""
    return (data.X, "euclidean") if data.D is None else (data.D, "precomputed")


def library_method(make, sets=False, relational=False, square=False, **settings):
    """Return an estimator of this library; with `sets`, its focal sets depend on the number of clusters.

    This study uses the parameters of the papers; `answers` compares our defaults.
    """

    def call(data, seed):
        X, metric = rows_or_pairs(data)
        options = {"random_state": seed, **settings}
        if make is not papers.eknnclus:  # which estimates the number of clusters
            options["n_clusters"] = data.n_clusters
        if sets:
            options["focal_sets"] = kind_of_sets(data)
        if relational:
            options["metric"] = metric
        model = make(**options).fit(X)
        return model.labels_, model.credal_partition_

    return Method(LIBRARY, call, relational, square)


def neural_method(**options):
    """Return NNEVCLUS with its defaults."""
    from evlearn.neural import NNEVCLUS

    return NNEVCLUS(**options)


def k_means(data, seed):
    labels = import_module("sklearn.cluster").KMeans(data.n_clusters, random_state=seed).fit_predict(data.X)
    return labels, labels


def mixture(name):
    def call(data, seed):
        model = getattr(import_module("sklearn.mixture"), name)(n_components=data.n_clusters, random_state=seed)
        return most_probable(model.fit(data.X).predict_proba(data.X))

    return Method("scikit-learn", call)


def most_probable(probabilities):
    return probabilities.argmax(axis=1), probabilities


def hdbscan(data, seed):
    """Return clusters of at least 2 % of the samples; the default of 5 samples results in too many clusters."""
    X, metric = rows_or_pairs(data)
    smallest = max(5, len(data.y) // 50)
    model = import_module("hdbscan").HDBSCAN(min_cluster_size=smallest, metric=metric, core_dist_n_jobs=1)
    labels = model.fit_predict(X)
    return labels, labels


def fuzzy_c_means(data, seed):
    cmeans = import_module("skfuzzy.cluster").cmeans
    return most_probable(cmeans(data.X.T, data.n_clusters, m=2, error=1e-5, maxiter=300, seed=seed)[1].T)


def evclust(name, relational=False):
    """Return a function of evclust, which uses NumPy's global random generator."""

    def call(data, seed):
        np.random.seed(seed)  # noqa: NPY002
        values, options = data.X, {"type": kind_of_sets(data)}
        if name == "kevclus":
            values, options = None, {"D": data.D} if data.X is None else {"x": data.X, "k": partners(data)}
        elif relational:
            values = pairwise_distances(data.X) if data.D is None else data.D
        rows = () if values is None else (values,)
        result = getattr(import_module(f"evclust.{name}"), name)(*rows, c=data.n_clusters, disp=False, **options)
        masses = Masses(np.asarray(result["mass"], dtype=float), np.asarray(result["F"]) > 0)
        return np.asarray(result["y_pl"]).astype(int), masses

    return Method("evclust", call, relational, relational and name != "kevclus")


def partners(data):
    return min(PARTNERS, len(data.y) - 1)


def soft_ecm(data, seed):
    """Return masses on singletons, with the empty set in the last column."""
    np.random.seed(seed)  # noqa: NPY002
    model = import_module("soft_clustering").ECM(data.n_clusters)
    model.fit(data.X)
    sets = np.vstack([np.eye(data.n_clusters), np.zeros(data.n_clusters)]) > 0
    return np.asarray(model.labels_), Masses(np.asarray(model.mass), sets)


def soft_evclus(data, seed):
    """Return masses on singletons, with the frame in the last column."""
    X, metric = rows_or_pairs(data)
    model = import_module("soft_clustering").EVCLUS(data.n_clusters, metric=metric, random_state=seed)
    model.fit(X)
    sets = np.vstack([np.eye(data.n_clusters), np.ones(data.n_clusters)]) > 0
    return np.asarray(model.labels_), Masses(np.asarray(model.masses_), sets)


def soft(name):
    """Return a fuzzy method of soft-clustering."""

    def call(data, seed):
        model = getattr(import_module("soft_clustering"), name)(random_state=seed)
        return most_probable(model.fit_predict(data.X, data.n_clusters))

    return Method("soft-clustering", call)


def soft_rough_k_means(data, seed):
    model = import_module("soft_clustering").RoughKMeans(data.n_clusters, random_state=seed)
    possible = np.asarray(model.fit_predict(data.X)["upper_approx"])
    return np.asarray(model.labels_), CredalPartition.from_rough(possible)


CLUSTERERS = {
    "ECM": library_method(papers.ecm, sets=True),
    "CCM": library_method(papers.ccm),
    "BPEC": library_method(papers.bpec, sets=True),
    "EVCLUS": library_method(papers.evclus, relational=True),
    "NNEVCLUS": library_method(neural_method, relational=True),
    "EKNNClus": library_method(papers.eknnclus, relational=True),
    "BootClus": library_method(papers.bootclus, n_bootstrap=500),
    "RECM": library_method(papers.recm, sets=True, relational=True, square=True),
    "ECMdd": library_method(papers.ecmdd, sets=True, relational=True, square=True),
    "KMeans": Method("scikit-learn", k_means),
    "GaussianMixture": mixture("GaussianMixture"),
    "BayesianGaussianMixture": mixture("BayesianGaussianMixture"),
    "hdbscan": Method("hdbscan", hdbscan, relational=True),
    "scikit-fuzzy cmeans": Method("scikit-fuzzy", fuzzy_c_means),
    "evclust ecm": evclust("ecm"),
    "evclust ccm": evclust("ccm"),
    "evclust egmm": evclust("egmm"),
    "evclust kevclus": evclust("kevclus", relational=True),
    "evclust recm": evclust("recm", relational=True),
    "evclust ecmdd": evclust("ecmdd", relational=True),
    "soft-clustering ECM": Method("soft-clustering", soft_ecm),
    "soft-clustering EVCLUS": Method("soft-clustering", soft_evclus, relational=True, square=True),
    "soft-clustering FCM": soft("FCM"),
    "soft-clustering GK": soft("GK"),
    "soft-clustering RoughKMeans": Method("soft-clustering", soft_rough_k_means),
}


def library_classifier(kind, seeded=True):
    """Return a classifier of this library with its defaults; the call returns the estimator."""
    return Method(LIBRARY, lambda seed: kind(random_state=seed) if seeded else kind())


def classifier(package, module, name, seeded=True):
    """Return a classifier of another package with its defaults; the call returns the estimator."""

    def call(seed):
        options = {"random_state": seed} if seeded else {}
        return getattr(import_module(module), name)(**options)

    return Method(package, call)


CLASSIFIERS = {
    "EvidentialKNNClassifier": library_classifier(EvidentialKNNClassifier, seeded=False),
    "EvidentialNeuralClassifier": library_classifier(EvidentialNeuralClassifier),
    "EvidentialRBFClassifier": library_classifier(EvidentialRBFClassifier),
    "evtools EkNN": classifier("evtools-dst", "evtools.classifiers", "EkNN", seeded=False),
    "evtools ENN": classifier("evtools-dst", "evtools.classifiers", "ENN"),
    "KNeighborsClassifier": classifier("scikit-learn", "sklearn.neighbors", "KNeighborsClassifier", seeded=False),
    "RandomForestClassifier": classifier("scikit-learn", "sklearn.ensemble", "RandomForestClassifier"),
}
