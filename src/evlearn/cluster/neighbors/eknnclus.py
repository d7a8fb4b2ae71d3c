"""EK-NNclus: samples join the cluster that their neighbours speak for, as long as any does."""

from collections.abc import Iterator
from dataclasses import dataclass
from threading import Event
from typing import Any, Literal, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from evlearn.belief import FocalSets
from evlearn.cluster.base import EvidentialClusterer
from evlearn.cluster.dissimilarities import check_diagonal, check_dissimilarities
from evlearn.cluster.neighbors.label_search import LabelArray, Support, combine_evidence, search_labels
from evlearn.cluster.neighbors.search import find_copies, find_neighbors, is_metric, nearest_among
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import with_names_of
from evlearn.utils.convergence import (
    Trace,
    best_of,
    publish_trace,
    warn_of_collapse,
    whole_or_nothing,
)
from evlearn.utils.progress import Steps
from evlearn.utils.reading import read_numbers
from evlearn.utils.typing import FloatArray, IntArray, Metric, NumbersLike, RandomSeed
from evlearn.utils.validation import check_choice, check_integer, check_real, check_shape, check_sparse

_LARGEST = 1e150
_OWN_LABELS_UP_TO = 1000
_MOST_LABELS = 500
_MANY_SINGLES = 0.5


class EKNNClus(EvidentialClusterer):
    r"""EK-NNclus: evidential clustering by nearest neighbours, which finds the number of clusters itself.

    Every sample starts with a label of its own, or a random one. Then samples take turns: each asks its nearest
    neighbours, near ones count more, and it takes the label that has the most support. Labels die out, and when no
    sample changes any more, the labels that are left are the clusters. They may have any shape. The mass functions
    say how strong the support is: samples between clusters have mass on several of them, and samples whose
    neighbours are far away have mass on the set of all clusters, "could be any".

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        Number of neighbors of each sample, at most all others. More give fewer clusters. "auto" is 3 times the
        square root of the number of samples. Copies of a sample count as 1 sample here. Not used if X is a sparse
        graph.
    q : float, default=0.9
        The quantile of the distances between neighbours at which support has fallen to 1/e. Larger values give
        fewer clusters; R's package has 0.5, which finds rather many.
    distance_power : float, default=2.0
        The exponent b of the support ``exp(-(d / s)**b)`` at distance d.
    metric : str or callable, default="euclidean"
        Any metric of `sklearn.neighbors.NearestNeighbors` that needs no parameters, or "precomputed" for a square
        matrix of dissimilarities, or for a sparse matrix with the distances to the neighbours alone, as
        `sklearn.neighbors.KNeighborsTransformer` and libraries of approximate neighbours give it.
    graph : {"directed", "union"}, default="directed"
        Whom a sample asks: its own nearest neighbours, or also those that it is a neighbour of. With "union"
        every change increases the objective; with "directed" nearly every one.
    y_init : "auto", int or array-like of int of shape (n_samples,), default="auto"
        The labels to start from. "auto": a label of its own for each of up to 1000 samples, and beyond random ones
        of 500 labels. A number: random ones of that many labels.
    n_init : int, default=5
        How many times to start; the labels with the largest objective are kept, which tend to be those with the
        fewest clusters.
    min_distance : float, default=1e-06
        Neighbours that are nearer than this share of the scale count as if they were so far, so that no neighbour
        is beyond doubt.
    max_iter : int, default=200
        The largest number of passes over the samples.
    random_state : int, RandomState instance or None, default=None
        The seed, for the order in which samples take turns, and for random labels.
    n_jobs : int or None, default=None
        Threads for the neighbour search, and for starts. The result does not depend on it.
    verbose : int, default=0
        Whether to report progress, pass by pass.

    Attributes
    ----------
    n_clusters_ : int
        The number of clusters that was found.
    labels_ : ndarray of int of shape (n_samples,)
        The cluster of each sample.
    credal_partition_ : CredalPartition
        The result.
    masses_ : ndarray of shape (n_samples, n_clusters + 2)
        The masses, read-only.
    focal_sets_ : FocalSets
        What the columns of the masses stand for: single clusters, and all of them together.
    scale_ : float
        The distance at which support has fallen to 1/e.
    objective_ : float
        The logarithm of the plausibility of the clusters, up to a constant: half the sum of the weights of
        neighbours in the same cluster. Larger is better. If there are copies, a weight is multiplied by the number
        of copies of each of the 2 samples, relative to the mean number.
    objective_history_ : ndarray of shape (n_iterations + 1,)
        The objective before the first pass, and after each.
    n_iter_ : int
        The number of passes.
    converged_ : bool
        Whether the last pass changed nothing.
    n_features_in_ : int
        The number of features, or of samples if `metric` is "precomputed".
    feature_names_in_ : ndarray of str
        The names of the features, where X has any.

    See Also
    --------
    delta_bel : Looks for centres of clusters, and says how many there may be.
    BPEC : Clusters around such centres.

    References
    ----------
    Denœux et al. (2015).

    Examples
    --------
    >>> from evlearn.cluster import EKNNClus
    >>> from evlearn.datasets import make_fourclass
    >>> X, y = make_fourclass(400, random_state=0)
    >>> model = EKNNClus(n_neighbors=60, q=0.9, random_state=0).fit(X)
    >>> model.n_clusters_
    4
    """

    def __init__(
        self,
        n_neighbors: int | Literal["auto"] = "auto",
        *,
        q: float = 0.9,
        distance_power: float = 2.0,
        metric: Metric = "euclidean",
        graph: Literal["directed", "union"] = "directed",
        y_init: int | Literal["auto"] | NumbersLike = "auto",
        n_init: int = 5,
        min_distance: float = 1e-6,
        max_iter: int = 200,
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.q = q
        self.distance_power = distance_power
        self.metric = metric
        self.graph = graph
        self.y_init: Any = y_init
        self.n_init = n_init
        self.min_distance = min_distance
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @whole_or_nothing
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Find the clusters, and the mass functions of the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or matrix of shape (n_samples, n_samples)
            Features; or dissimilarities, or a sparse graph of distances, if `metric` is "precomputed". In a
            sparse graph an entry that is stored is a neighbour, also at distance 0, but for the sample itself.
            Equal rows of X are copies of 1 sample: they are in the same cluster, they are no neighbors of each
            other, and the sample counts more for others the more copies it has. Dissimilarities and sparse
            graphs are used as they are; remove copies before these are computed.
        y : None, default=None
            Not used; present for scikit-learn's conventions.

        Returns
        -------
        EKNNClus
            The fitted estimator.
        """
        self._check_parameters()
        data = self._read(X, reset=True)
        random = check_random_state(self.random_state)
        copies = _Copies.of(data, self.metric)
        distinct = copies.distinct(data)
        distances, width = self._neighbors(distinct)
        support = Support.of(
            distances, q=self.q, power=float(self.distance_power), min_distance=float(self.min_distance)
        )
        weights = support.weigh(distances)
        if self.graph == "union":
            weights = csr_array(weights.maximum(weights.T))
        weights = _multiplied(weights, copies.shares)
        # With factors of both samples, the objective is the sum over all pairs of samples, copies included.
        both = _multiplied(weights, copies.shares, of="rows")
        trace = self._search(both, self._check_start(copies), random)
        publish_trace(self, trace, "the labels", max_iter=self.max_iter, steps="passes")
        kept, numbers = np.unique(trace.state, return_inverse=True)
        labels: LabelArray = numbers.astype(np.int32)
        self._warn_of_collapse(copies.repeated(labels))
        focal_sets = FocalSets.simple(len(kept))
        masses = copies.repeated(combine_evidence(weights, labels, len(kept)))
        self._publish(CredalPartition(masses, focal_sets, validate=False))
        self._name_samples(X)
        training = None if self._precomputed else np.array(distinct)
        self._model = NeighborModel(training, labels, support, width, self.metric, focal_sets, copies.shares)
        # Where two clusters have the same support, the label says in which of them the sample is.
        self.labels_ = copies.repeated(numbers)
        self.n_clusters_ = len(kept)
        self.scale_ = support.scale
        return self

    def predict_mass(self, X: ArrayLike) -> CredalPartition:
        """The mass functions of samples by the evidential k-nearest-neighbour rule.

        A sample that coincides with one of the training set is taken for it and judged by its other neighbours.
        So samples of the training set get their `masses_`, if `graph` is "directed".

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or matrix of shape (n_samples, n_training_samples)
            Features; or dissimilarities to the training set, or a sparse graph of distances to neighbours in
            it, if `metric` is "precomputed".

        Returns
        -------
        CredalPartition
            A mass function for each sample.
        """
        check_is_fitted(self)
        masses = self._model.assign(self._read(X, reset=False), n_jobs=self.n_jobs)
        return with_names_of(X, self._supported(CredalPartition(masses, self.focal_sets_, validate=False)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._precomputed
        return tags

    # The data and the graph

    def _check_parameters(self) -> None:
        check_integer("n_neighbors", self.n_neighbors, 1, or_auto=True)
        check_real("q", self.q, 0, 1, open_low=True)
        check_real("distance_power", self.distance_power, 0, 100, open_low=True)
        check_choice("graph", self.graph, ("directed", "union"))
        check_integer("n_init", self.n_init, 1)
        check_real("min_distance", self.min_distance, 0, 1)
        check_integer("max_iter", self.max_iter, 1)
        if np.ndim(self.y_init) == 0:
            check_integer("y_init", self.y_init, 1, or_auto=True)
        if is_metric(self.metric, "seuclidean", "mahalanobis"):
            raise ValueError(
                f"metric={self.metric!r} needs parameters; scale X first, or give a matrix as 'precomputed'."
            )

    def _read(self, X: Any, *, reset: bool) -> Any:
        check_sparse("X", X)  # before it is turned into another format
        data: Any = read_numbers(
            self,
            X,
            reset=reset,
            accept_sparse="csr" if self._precomputed else False,
            dtype=[np.float64, np.float32],
            ensure_min_samples=2 if reset else 1,
        ).data
        if issparse(data):
            return _check_graph(csr_array(data), square=reset)
        if self._precomputed:
            check_dissimilarities(data, square=reset)
        elif float(np.abs(data).max()) > _LARGEST:
            raise ValueError(f"X has values beyond {_LARGEST:g}, whose squares overflow; divide it by a constant.")
        return data

    def _neighbors(self, data: Any) -> tuple[csr_array, int | None]:
        """The distances to neighbours, and how many each sample has if that was not given."""
        if issparse(data):
            return data, None
        n_neighbors = (
            int(np.ceil(3 * np.sqrt(len(data)))) if isinstance(self.n_neighbors, str) else self.n_neighbors
        )
        if len(data) == 1:  # all samples are copies of each other
            return csr_array((1, 1)), 1
        width = min(int(n_neighbors), len(data) - 1)
        return find_neighbors(data, width, metric=self.metric, n_jobs=self.n_jobs, keep=True).to_graph(), width

    # The search

    def _search(
        self, weights: csr_array, given: LabelArray | None, random: np.random.RandomState
    ) -> Trace[LabelArray]:
        """The best of all starts."""
        stop = Event()
        seeds = random.randint(np.iinfo(np.int32).max, size=self.n_init)

        report = Steps(self.max_iter, self.n_init, unit="pass")

        def go(seed: int) -> Trace[LabelArray]:
            own = np.random.RandomState(seed)
            start = self._start(weights.shape[0], own) if given is None else given
            orders = self._orders(weights.shape[0], own)
            return search_labels(weights, start, orders, max_iter=self.max_iter, stop=stop, report=report)

        run = Parallel(n_jobs=self.n_jobs, prefer="threads")
        return best_of(run(delayed(go)(seed) for seed in seeds), lambda one: -one.objective)

    def _check_start(self, copies: "_Copies") -> LabelArray | None:
        """Return the labels of the distinct samples in `y_init`; None if there are none."""
        if np.ndim(self.y_init) == 0:
            return None
        given = np.asarray(self.y_init)
        check_shape("y_init", given, (copies.n_samples,))
        if given.dtype.kind not in "iu":
            raise ValueError(f"y_init must hold whole numbers, one for each sample, got {given.dtype}.")
        return _counted(copies.distinct(given))

    def _start(self, n_samples: int, random: np.random.RandomState) -> LabelArray:
        if isinstance(self.y_init, str) and n_samples <= _OWN_LABELS_UP_TO:
            return np.arange(n_samples, dtype=np.int32)
        n_labels = min(_MOST_LABELS, n_samples // 2) if isinstance(self.y_init, str) else self.y_init
        # A label that nobody has costs nothing, however many there are.
        most = min(n_labels, np.iinfo(np.int64).max)
        return _counted(random.randint(most, size=n_samples, dtype=np.int64))

    def _orders(self, n_samples: int, random: np.random.RandomState) -> Iterator[LabelArray]:
        while True:
            yield random.permutation(n_samples).astype(np.int32)

    def _warn_of_collapse(self, labels: LabelArray) -> None:
        sizes = np.bincount(labels)
        if len(sizes) == 1:
            warn_of_collapse("all samples are in one cluster", "Lower n_neighbors or q to find more.")
        elif (single := int((sizes == 1).sum())) > _MANY_SINGLES * len(sizes):
            warn_of_collapse(
                f"{single} of {len(sizes)} clusters hold one sample",
                "These are outliers, or n_neighbors and q are too small; raise them to find fewer clusters.",
            )


@dataclass(frozen=True)
class NeighborModel:
    """Labelled samples that speak for new ones.

    Attributes
    ----------
    training : ndarray of shape (n_samples, n_features) or None
        The samples; None if only distances to them are given.
    labels : ndarray of int32 of shape (n_samples,)
        Their clusters.
    support : Support
        What a neighbour counts.
    n_neighbors : int or None
        The number of neighbours; None for all in a given graph.
    metric : str or callable
        As for `sklearn.neighbors.NearestNeighbors`.
    focal_sets : FocalSets
        The sets that carry mass.
    shares : ndarray of shape (n_samples,) or None
        Factors of the weights of the samples, by the number of copies of each; 0 for a sample that is represented
        by another one. None if there are no copies.
    """

    training: FloatArray | None
    labels: LabelArray
    support: Support
    n_neighbors: int | None
    metric: Any
    focal_sets: FocalSets
    shares: FloatArray | None = None

    def __post_init__(self) -> None:
        # Compiled code reads and writes by these without looking.
        check_shape("labels", self.labels, (len(self.labels),))
        if self.labels.dtype != np.int32 or not len(self.labels):
            raise ValueError(f"labels must be an array of int32, and not empty, got {self.labels.dtype}.")
        n_clusters = self.focal_sets.frame_size
        if self.labels.min() < 0 or self.labels.max() >= n_clusters:
            raise ValueError(f"labels must be numbers of the {n_clusters} clusters, from 0.")
        if self.training is not None:
            check_shape("training", self.training, (len(self.labels), self.training.shape[-1]))
        if self.shares is not None:
            check_shape("shares", self.shares, self.labels.shape)
            if self.shares.min() < 0 or not self.shares.any():
                raise ValueError("shares must not be negative, and some must be positive.")
        singles = np.array_equal(self.focal_sets.singleton_positions, np.arange(1, n_clusters + 1))
        n_sets = n_clusters + 2 if n_clusters > 1 else 2
        if not singles or not self.focal_sets.has_omega or len(self.focal_sets) != n_sets:
            raise ValueError("focal_sets must be the single clusters, and all of them together.")

    def assign(self, data: Any, *, n_jobs: int | None = None) -> FloatArray:
        """Return the masses of samples."""
        labels, shares = self.labels, self.shares
        if shares is not None and not shares.all():
            represented = np.flatnonzero(shares)
            labels, shares = labels[represented], shares[represented]
            data = data[:, represented]
        weights = self.support.weigh_others(self._graph(data, len(labels), n_jobs), self.n_neighbors)
        return combine_evidence(_multiplied(weights, shares), labels, self.focal_sets.frame_size)

    def _graph(self, data: Any, n_training: int, n_jobs: int | None) -> csr_array:
        if issparse(data):
            return data
        # One more, which may turn out to be the sample itself.
        width = min((self.n_neighbors or n_training) + 1, n_training)
        return nearest_among(self.training, data, width, metric=self.metric, n_jobs=n_jobs)


@dataclass(frozen=True)
class _Copies:
    """Distinct samples, and the samples that are copies of them.

    Attributes
    ----------
    n_samples : int
        Number of samples.
    first : ndarray of int of shape (n_distinct,) or None
        Positions of the distinct samples; None if all are distinct.
    group : ndarray of int of shape (n_samples,) or None
        For each sample, the number of the distinct sample that it equals.
    """

    n_samples: int
    first: IntArray | None = None
    group: IntArray | None = None

    @classmethod
    def of(cls, data: Any, metric: Any) -> Self:
        """Return the copies among rows of features; dissimilarities and sparse graphs are used as they are."""
        if issparse(data) or is_metric(metric, "precomputed"):
            return cls(data.shape[0])
        first, group = find_copies(data)
        return cls(len(data)) if len(first) == len(data) else cls(len(data), first, group)

    def distinct(self, values: Any) -> Any:
        """Return the values of the distinct samples."""
        return values if self.first is None else values[self.first]

    def repeated(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values of all samples, given those of the distinct ones."""
        return values if self.group is None else values[self.group]

    @property
    def shares(self) -> FloatArray | None:
        """Number of copies of each distinct sample, divided by the mean number."""
        if self.group is None:
            return None
        counts = np.bincount(self.group)
        return np.asarray(counts / counts.mean())


def _multiplied(
    weights: csr_array, shares: FloatArray | None, of: Literal["rows", "columns"] = "columns"
) -> csr_array:
    """Return weights, multiplied by the shares of the neighbors (columns) or of the samples (rows)."""
    if shares is None:
        return weights
    factors = shares[weights.indices] if of == "columns" else np.repeat(shares, np.diff(weights.indptr))
    data = (weights.data * factors).astype(weights.dtype, copy=False)
    return csr_array((data, weights.indices, weights.indptr), shape=weights.shape)


def _counted(labels: Any) -> LabelArray:
    """Labels numbered from 0 without gaps, in the same order."""
    return np.unique(labels, return_inverse=True)[1].astype(np.int32)


def _check_graph(graph: csr_array, *, square: bool) -> csr_array:
    if square and graph.shape[0] != graph.shape[1]:
        raise ValueError(f"X must have a row and a column for each sample, got shape {graph.shape}.")
    if graph.nnz and graph.data.min() < 0:
        raise ValueError("X has negative distances; a graph of similarities must be turned into one of distances.")
    if square and graph.nnz:
        check_diagonal(graph)
    return graph


__all__ = ["EKNNClus"]
