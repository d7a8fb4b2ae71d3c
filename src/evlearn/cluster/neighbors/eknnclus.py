"""EK-NNclus, which repeatedly assigns samples to the cluster with the most support among their neighbors."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Event
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from evlearn.belief import FocalSets
from evlearn.cluster.base import EvidentialClusterer
from evlearn.cluster.dissimilarities import check_diagonal, check_dissimilarities
from evlearn.cluster.neighbors.label_search import (
    LabelArray,
    Support,
    combine_evidence,
    reverse_neighbors,
    search_labels,
)
from evlearn.neighbors import Neighbors, find_copies, find_nearest, find_neighbors, is_metric
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import with_names_of
from evlearn.storage import fields
from evlearn.utils.convergence import (
    Trace,
    atomic_fit,
    best_descent,
    publish_trace,
    warn_of_collapse,
)
from evlearn.utils.progress import Steps
from evlearn.utils.reading import read_numbers
from evlearn.utils.typing import FloatArray, IntArray, Metric, NumbersLike, RandomSeed
from evlearn.utils.validation import check_choice, check_integer, check_real, check_shape, check_sparse

#: Largest value whose square does not overflow, with a safety margin.
_LARGEST = 1e150
#: Maximum number of samples with distinct initial labels, and maximum number of random labels for more samples.
_MAX_DISTINCT_LABELS, _MAX_RANDOM_LABELS = 1000, 500
#: Share of clusters of 1 sample above which there is a warning.
_SINGLES_SHARE = 0.5


@fields.stored
class EKNNClus(EvidentialClusterer):
    r"""EK-NNclus: evidential clustering by nearest neighbors, which also determines the number of clusters.

    Initially, all samples have distinct labels or random labels. In each pass, samples are visited in random
    order, and each gets the label with the most support among its nearest neighbors, where near neighbors count
    more. When no label changes any more, the remaining labels are the clusters, which may have any shape. The mass
    functions represent the strength of the support: samples between clusters have mass on several clusters, and
    samples whose neighbors are far away have mass on the set of all clusters.

    The method is often sure of wrong labels, in particular with many features, so its doubt is not suitable for
    the selection of samples to review.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        Number of neighbors of each sample, at most all others; more neighbors give fewer clusters. "auto" is 3
        times the square root of the number of samples, where copies count as 1 sample. Not used if X is a sparse
        graph.
    q : float, default=0.9
        Quantile of the distances between neighbors at which support is 1/e. Larger values give fewer clusters; the
        default of the R package, 0.5, gives many.
    metric : str or callable, default="euclidean"
        Any metric of `sklearn.neighbors.NearestNeighbors` that needs no parameters, or "precomputed" for a square
        matrix of dissimilarities, or for a sparse matrix with the distances to the neighbors only, from
        `sklearn.neighbors.KNeighborsTransformer` or a library for approximate neighbors.
    graph : {"directed", "union"}, default="directed"
        Samples that support the label of a sample: its nearest neighbors, or also the samples of which it is a
        neighbor. With "union", every change increases the objective; with "directed", nearly every change does.
    y_init : "auto", int or array-like of int of shape (n_samples,), default="auto"
        Initial labels. "auto": distinct labels for up to 1000 samples, and random labels from 500 for more
        samples. A number: random labels from this number of labels.
    n_init : int, default=5
        Number of starts; the labels with the largest objective are kept, which usually have the fewest clusters.
    max_iter : int, default=200
        Maximum number of passes over the samples.
    random_state : int, RandomState instance or None, default=None
        Seed, for the order of visits and for random labels.
    n_jobs : int or None, default=None
        Number of threads for the neighbor search and for starts. The result does not depend on it.
    verbose : int, default=0
        Whether to report progress after each pass.

    Attributes
    ----------
    n_clusters_ : int
        Number of clusters.
    labels_ : ndarray of int of shape (n_samples,)
        Cluster of each sample.
    credal_partition_ : CredalPartition
        Credal partition.
    masses_ : ndarray of shape (n_samples, n_clusters + 2)
        Masses, read-only.
    focal_sets_ : FocalSets
        Sets of the columns of the masses: the empty set, single clusters, and the set of all clusters.
    scale_ : float
        Distance at which support is 1/e.
    objective_ : float
        Logarithm of the plausibility of the clusters, up to a constant: half the sum of the weights of neighbors
        in the same cluster. Larger is better. If there are copies, a weight is multiplied by the number of copies
        of each of the 2 samples, relative to the mean number.
    objective_history_ : ndarray of shape (n_iterations + 1,)
        Objective before the first and after each pass.
    n_iter_ : int
        Number of passes.
    converged_ : bool
        Whether the last pass changed no label.
    n_features_in_ : int
        Number of features, or of samples if `metric` is "precomputed".
    feature_names_in_ : ndarray of str
        Names of the features, if X has any.

    See Also
    --------
    belief_peaks : Search for centers of clusters, and for their number.
    BPEC : Clustering around such centers.

    References
    ----------
    Denœux et al. (2015), EK-NNclus: a clustering procedure based on the evidential
    K-nearest neighbor rule, Knowledge-Based Systems 88,
    doi:10.1016/j.knosys.2015.08.007.

    Examples
    --------
    >>> from evlearn.cluster import EKNNClus
    >>> from evlearn.datasets import make_fourclass
    >>> X, y = make_fourclass(400, random_state=0)
    >>> model = EKNNClus(n_neighbors=60, q=0.9, random_state=0).fit(X)
    >>> model.n_clusters_
    4
    """

    _model: "fields.Stored[NeighborModel]"
    n_clusters_: fields.StoredIfSet[fields.PositiveCount]
    scale_: fields.StoredIfSet[fields.PositiveNumber]

    # Exponent b of the support ``exp(-(d / s)**b)``, and lower bound of distances relative to the scale s.
    _switches = MappingProxyType({"power": 2.0, "min_distance": 1e-6})

    def __init__(
        self,
        n_neighbors: int | Literal["auto"] = "auto",
        *,
        q: float = 0.9,
        metric: Metric = "euclidean",
        graph: Literal["directed", "union"] = "directed",
        y_init: int | Literal["auto"] | NumbersLike = "auto",
        n_init: int = 5,
        max_iter: int = 200,
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.q = q
        self.metric = metric
        self.graph = graph
        self.y_init: Any = y_init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @atomic_fit
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Find the clusters, and the mass functions of the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or matrix of shape (n_samples, n_samples)
            Features; or dissimilarities, or a sparse graph of distances, if `metric` is "precomputed". In a
            sparse graph, every stored entry off the diagonal is a neighbor, also at distance 0. Equal rows of X
            are copies of 1 sample: they are in the same cluster, they are not neighbors of each other, and the
            weight of the sample is proportional to the number of copies. Dissimilarities and sparse graphs are
            used as they are; remove copies before computing these.
        y : None, default=None
            Not used; present for API consistency.

        Returns
        -------
        Self
            Fitted estimator.
        """
        self._check_parameters()
        data = self._read_data(X, reset=True)
        copies = _Copies.of(data, self.metric)
        distinct = copies.select_distinct(data)
        distances, width = self._neighbors(distinct)
        support, weights, trace = self._find_labels(distances, copies)
        publish_trace(self, trace, "the labels", max_iter=self.max_iter, steps="passes")
        final_labels, numbers = np.unique(trace.state, return_inverse=True)
        n_clusters = len(final_labels)
        labels: LabelArray = numbers.astype(np.int32)
        self._warn_of_collapse(copies.repeat(labels))
        focal_sets = FocalSets.simple(n_clusters)
        masses = copies.repeat(combine_evidence(weights, labels, n_clusters))
        self._publish(CredalPartition(masses, focal_sets, validate=False))
        self._name_samples(X)
        training = None if self._precomputed else np.array(distinct)
        self._model = NeighborModel(training, labels, support, width, self.metric, focal_sets, copies.shares)
        # The labels of the search resolve ties, where 2 clusters have the same support.
        self.labels_ = copies.repeat(numbers)
        self.n_clusters_ = n_clusters
        self.scale_ = support.scale
        return self

    @atomic_fit
    def _count_clusters(self, data: FloatArray, neighbors_of: Callable[[IntArray, int], Neighbors]) -> int:
        """Return the number of clusters of a fit, with a function that finds neighbors of some samples."""
        self._check_parameters()
        copies = _Copies.of(data, self.metric)
        distinct = copies.select_distinct(np.arange(len(data)))
        if len(distinct) == 1:
            return 1
        neighbors = neighbors_of(distinct, self._count_neighbors(len(distinct)))
        return len(np.unique(self._find_labels(neighbors.to_graph(), copies)[-1].state))

    def predict_mass(self, X: ArrayLike) -> CredalPartition:
        """Predict the mass functions of samples by the evidential k-nearest-neighbor rule.

        A sample that coincides with a training sample is treated as that sample: only its other neighbors count.
        The masses of training samples are therefore equal to `masses_`, if `graph` is "directed".

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or matrix of shape (n_samples, n_training_samples)
            Features; or dissimilarities to the training set, or a sparse graph of distances to its samples, if
            `metric` is "precomputed".

        Returns
        -------
        CredalPartition
            Mass function of each sample.
        """
        check_is_fitted(self)
        masses = self._model.assign(self._read_data(X, reset=False), n_jobs=self.n_jobs)
        return with_names_of(
            X, self._finalize_partition(CredalPartition(masses, self.focal_sets_, validate=False))
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._precomputed
        return tags

    # The data and the graph

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("n_neighbors", self.n_neighbors, 1, or_auto=True)
        check_real("q", self.q, 0, 1, open_low=True)
        check_choice("graph", self.graph, ("directed", "union"))
        if np.ndim(self.y_init) == 0:
            check_integer("y_init", self.y_init, 1, or_auto=True)
        if is_metric(self.metric, "seuclidean", "mahalanobis"):
            raise ValueError(
                f"metric={self.metric!r} needs parameters; scale X, or pass a matrix with metric='precomputed'."
            )

    def _read_data(self, X: Any, *, reset: bool) -> Any:
        check_sparse("X", X)  # before conversion to another format
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
            raise ValueError(f"X has values beyond {_LARGEST:g}, whose squares overflow; divide X by a constant.")
        return data

    def _neighbors(self, data: Any) -> tuple[csr_array, int | None]:
        """Return the distances to neighbors, and their number per sample, or None for a sparse graph."""
        if issparse(data):
            return data, None
        if len(data) == 1:  # all samples are equal
            return csr_array((1, 1)), 1
        width = self._count_neighbors(len(data))
        return find_neighbors(data, width, metric=self.metric, n_jobs=self.n_jobs, keep=True).to_graph(), width

    def _count_neighbors(self, n_samples: int) -> int:
        is_auto = isinstance(self.n_neighbors, str)
        n_neighbors = math.ceil(3 * math.sqrt(n_samples)) if is_auto else int(self.n_neighbors)
        return min(n_neighbors, n_samples - 1)

    # The search

    def _find_labels(
        self, distances: csr_array, copies: "_Copies"
    ) -> tuple[Support, csr_array, Trace[LabelArray]]:
        """Return the support of neighbors, the weights of their evidence, and the labels of distinct samples."""
        support = Support.of(distances, q=self.q, **self._switches)
        weights = support.weigh(distances)
        if self.graph == "union":
            weights = csr_array(weights.maximum(weights.T))
        weights = _multiply_shares(weights, copies.shares)
        # With factors of both samples, the objective is the sum over all pairs of samples, including copies.
        symmetric_weights = _multiply_shares(weights, copies.shares, of="rows")
        random = check_random_state(self.random_state)
        return support, weights, self._search(symmetric_weights, self._check_start(copies), random)

    def _search(
        self, weights: csr_array, init: LabelArray | None, random: np.random.RandomState
    ) -> Trace[LabelArray]:
        """Return the best result of all starts."""
        stop = Event()
        seeds = random.randint(np.iinfo(np.int32).max, size=self.n_init)

        report = Steps(self.max_iter, self.n_init, unit="pass")
        reverse = reverse_neighbors(weights)

        def run_start(seed: int) -> Trace[LabelArray]:
            generator = np.random.RandomState(seed)
            start = self._start(weights.shape[0], generator) if init is None else init
            orders = self._orders(weights.shape[0], generator)
            return search_labels(weights, reverse, start, orders, max_iter=self.max_iter, stop=stop, report=report)

        return best_descent(
            run_start,
            seeds,
            key=lambda trace: -trace.objective,
            start_is_result=False,
            n_jobs=self.n_jobs,
            stop=stop,
        )

    def _check_start(self, copies: "_Copies") -> LabelArray | None:
        """Return the labels of the distinct samples in `y_init`; None if it contains no labels."""
        if np.ndim(self.y_init) == 0:
            return None
        labels = np.asarray(self.y_init)
        check_shape("y_init", labels, (copies.n_samples,))
        if labels.dtype.kind not in "iu":
            raise ValueError(f"y_init must contain a whole number for each sample, got {labels.dtype}.")
        return _renumber(copies.select_distinct(labels))

    def _start(self, n_samples: int, random: np.random.RandomState) -> LabelArray:
        if isinstance(self.y_init, str) and n_samples <= _MAX_DISTINCT_LABELS:
            return np.arange(n_samples, dtype=np.int32)
        n_labels = min(_MAX_RANDOM_LABELS, n_samples // 2) if isinstance(self.y_init, str) else self.y_init
        # Unused labels need no memory, so their number is limited only by the type.
        upper = min(n_labels, np.iinfo(np.int64).max)
        return _renumber(random.randint(upper, size=n_samples, dtype=np.int64))

    def _orders(self, n_samples: int, random: np.random.RandomState) -> Iterator[LabelArray]:
        while True:
            yield random.permutation(n_samples).astype(np.int32)

    def _warn_of_collapse(self, labels: LabelArray) -> None:
        sizes = np.bincount(labels)
        if len(sizes) == 1:
            warn_of_collapse("all samples are in one cluster", "Lower n_neighbors or q to find more.")
        elif (single := int((sizes == 1).sum())) > _SINGLES_SHARE * len(sizes):
            warn_of_collapse(
                f"{single} of {len(sizes)} clusters hold one sample",
                "These are outliers, or n_neighbors and q are too small; raise them to find fewer clusters.",
            )

    def _after_loading(self) -> None:
        """Raise unless the attributes from a file are consistent."""
        super()._after_loading()
        model = self._model
        self._check_reach(model.metric, model.training, np.array([len(model.labels) - 1]))
        fields.check_features(self, len(model.labels) if model.training is None else model.training.shape[1])
        fields.check_count(self, "n_clusters_", model.focal_sets.frame_size)


@fields.stored
@dataclass(frozen=True)
class NeighborModel:
    """Labeled samples that support labels of new samples.

    Attributes
    ----------
    training : ndarray of shape (n_samples, n_features) or None
        Samples; None if only distances to them are used.
    labels : ndarray of int32 of shape (n_samples,)
        Clusters of the samples.
    support : Support
        Support of a neighbor as a function of its distance.
    n_neighbors : int or None
        Number of neighbors; None for all neighbors in a sparse graph.
    metric : str or callable
        Metric, as for `sklearn.neighbors.NearestNeighbors`.
    focal_sets : FocalSets
        Sets that may carry mass.
    shares : ndarray of shape (n_samples,) or None
        Factors of the weights of the samples, by the number of copies of each; 0 for a sample that is represented
        by another one. None if there are no copies.
    """

    training: fields.Matrix | None
    labels: Annotated[LabelArray, fields.array(1, "i", low=0)]
    support: Support
    n_neighbors: fields.PositiveCount | None
    metric: Annotated[Any, fields.text()]
    focal_sets: FocalSets
    shares: fields.NonnegativeVector | None = None

    def __post_init__(self) -> None:
        # Compiled code uses these arrays as indices without bounds checks.
        check_shape("labels", self.labels, (len(self.labels),))
        if self.labels.dtype != np.int32 or not len(self.labels):
            raise ValueError(
                f"labels must be a nonempty array of int32, got {len(self.labels)} of {self.labels.dtype}."
            )
        n_clusters = self.focal_sets.frame_size
        if self.labels.min() < 0 or self.labels.max() >= n_clusters:
            raise ValueError(
                f"labels must be from 0 to {n_clusters - 1}, got {self.labels.min()} to {self.labels.max()}."
            )
        if self.training is not None:
            check_shape("training", self.training, (len(self.labels), self.training.shape[-1]))
        if self.shares is not None:
            check_shape("shares", self.shares, self.labels.shape)
            if self.shares.min() < 0 or not self.shares.any():
                raise ValueError("shares must not be negative, and at least 1 share must be positive.")
        singles = np.array_equal(self.focal_sets.singleton_positions, np.arange(1, n_clusters + 1))
        n_sets = n_clusters + 2 if n_clusters > 1 else 2
        if not singles or not self.focal_sets.has_omega or len(self.focal_sets) != n_sets:
            raise ValueError(
                "focal_sets must consist of the empty set, single clusters, and the set of all clusters."
            )

    def assign(self, data: Any, *, n_jobs: int | None = None) -> FloatArray:
        """Return the masses of samples."""
        labels, shares = self.labels, self.shares
        if shares is not None and not shares.all():
            represented = np.flatnonzero(shares)
            labels, shares = labels[represented], shares[represented]
            data = data[:, represented]
        weights = self.support.weigh_others(self._graph(data, len(labels), n_jobs), self.n_neighbors)
        return combine_evidence(_multiply_shares(weights, shares), labels, self.focal_sets.frame_size)

    def _graph(self, data: Any, n_training: int, n_jobs: int | None) -> csr_array:
        if issparse(data):
            return data
        # An additional neighbor is needed, because a neighbor can be the sample itself.
        width = min((self.n_neighbors or n_training) + 1, n_training)
        return find_nearest(self.training, data, width, metric=self.metric, n_jobs=n_jobs)


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

    def select_distinct(self, values: Any) -> Any:
        """Return the values of the distinct samples."""
        return values if self.first is None else values[self.first]

    def repeat(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values of all samples, given those of the distinct samples."""
        return values if self.group is None else values[self.group]

    @property
    def shares(self) -> FloatArray | None:
        """Number of copies of each distinct sample, divided by the mean number."""
        if self.group is None:
            return None
        counts = np.bincount(self.group)
        return np.asarray(counts / counts.mean())


def _multiply_shares(
    weights: csr_array, shares: FloatArray | None, of: Literal["rows", "columns"] = "columns"
) -> csr_array:
    """Multiply weights by the shares of the neighbors (columns) or of the samples (rows)."""
    if shares is None:
        return weights
    factors = shares[weights.indices] if of == "columns" else np.repeat(shares, np.diff(weights.indptr))
    data = (weights.data * factors).astype(weights.dtype, copy=False)
    return csr_array((data, weights.indices, weights.indptr), shape=weights.shape)


def _renumber(labels: Any) -> LabelArray:
    """Renumber labels consecutively from 0, in the same order."""
    return np.unique(labels, return_inverse=True)[1].astype(np.int32)


def _check_graph(graph: csr_array, *, square: bool) -> csr_array:
    if square and graph.shape[0] != graph.shape[1]:
        raise ValueError(f"X must have a row and a column for each sample, got shape {graph.shape}.")
    if graph.nnz and graph.data.min() < 0:
        raise ValueError("X has negative distances; convert similarities to distances.")
    if square and graph.nnz:
        check_diagonal(graph)
    return graph
