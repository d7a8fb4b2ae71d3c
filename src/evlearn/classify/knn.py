"""Evidential k-nearest neighbors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from evlearn.belief import contour
from evlearn.blocks.sparse import SparseBlock
from evlearn.classify.base import EvidentialClassifier, check_simple
from evlearn.classify.labels import Labels, read_share
from evlearn.classify.neighbor_evidence import CrispEvidence, Evidence, SoftEvidence, default_scales, make_evidence
from evlearn.classify.samples import SampleWeights, read_weights
from evlearn.cluster.dissimilarities import check_dissimilarities
from evlearn.neighbors import BoxTree, GivenDistances, MetricSearch
from evlearn.partition import CredalPartition
from evlearn.storage import fields
from evlearn.utils.convergence import Trace, atomic_fit, minimize_lbfgs, publish_trace
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.progress import Count, Steps, expect_tasks
from evlearn.utils.typing import FloatArray, IntArray, Metric, NumbersLike
from evlearn.utils.validation import check_flag, check_integer, check_real, check_shape

_FLOOR = 0.1  # of scales, relative to their default
#: Candidates of "auto".
_NUMBERS = (5, 10, 20, 40)
_ALPHAS = (0.1, 0.3, 0.6, 0.95)
_GRADIENT = 1e-9
_N_COMPARED = 1000  # samples to compare settings
_TINY = 1e-12
_Search = Callable[[int], tuple[npt.NDArray[np.int32], FloatArray]]


class Neighborhoods(NamedTuple):
    """Nearest other samples, squared distances and weights; None means weights of 1."""

    neighbors: npt.NDArray[np.int32]
    squares: FloatArray
    counts: FloatArray | None

    def of(self, rows: IntArray) -> "Neighborhoods":
        """Return the neighborhoods of some samples."""
        counts = None if self.counts is None else self.counts[rows]
        return Neighborhoods(self.neighbors[rows], self.squares[rows], counts)


class Setting(NamedTuple):
    """Number of neighbors, and the mass of a neighbor at distance 0."""

    n_neighbors: int
    alpha: float


@dataclass(frozen=True)
class LeaveOneOut:
    """Leave-one-out problem of training samples.

    Attributes
    ----------
    evidence : Evidence
        Evidence of neighbors.
    nearest : callable
        Function of the number of neighbors that returns `Neighborhoods`.
    targets : ndarray of shape (n_samples, n_classes)
        Targets of the classes.
    truth : ndarray of shape (n_samples, n_classes)
        Probabilities of the classes by the labels.
    share : float
        Share of the mass on the frame that counts for each class.
    importance : ndarray of shape (n_samples,) or None
        Weight of the error of each sample; None means weights of 1.
    start : ndarray of shape (n_scales,)
        Initial scales.
    floor : ndarray of shape (n_scales,)
        Minimum factors of the initial scales.
    """

    evidence: Evidence
    nearest: Callable[[int], Neighborhoods]
    targets: FloatArray
    truth: FloatArray
    share: float
    importance: FloatArray | None
    start: FloatArray
    floor: FloatArray

    def choose(self, settings: Sequence[Setting], *, optimize: bool, **limits: Any) -> Setting:
        """Return the setting with the smallest log-loss."""
        rows = np.unique(np.linspace(0, len(self.truth) - 1, _N_COMPARED).astype(np.intp))

        progress = Count("search", "setting", len(settings))

        def log_loss(setting: Setting) -> float:
            neighborhoods = self.nearest(setting.n_neighbors).of(rows)
            scales = (
                self._fit_factors(setting, neighborhoods, rows, optimize=optimize, **limits).state * self.start
            )
            masses = self.evidence.masses(
                neighborhoods.neighbors, neighborhoods.squares, scales, setting.alpha, neighborhoods.counts
            )
            plausibilities = contour(masses, self.evidence.focal_sets)
            likelihoods = (plausibilities * self.truth[rows]).sum(axis=1) / plausibilities.sum(axis=1)
            weights = None if self.importance is None else self.importance[rows]
            progress.add(1)
            return -float(np.average(np.log(np.maximum(likelihoods, _TINY)), weights=weights))

        return min(settings, key=log_loss)

    def fit(self, setting: Setting, *, optimize: bool, **limits: Any) -> Trace[FloatArray]:
        """Fit the factors of the initial scales, which do not depend on units."""
        rows = np.arange(len(self.truth))
        return self._fit_factors(setting, self.nearest(setting.n_neighbors), rows, optimize=optimize, **limits)

    def _fit_factors(
        self, setting: Setting, neighborhoods: Neighborhoods, rows: IntArray, *, optimize: bool, **limits: Any
    ) -> Trace[FloatArray]:
        targets = self.targets[rows]
        importance = None if self.importance is None else self.importance[rows]

        def evaluate(factors: FloatArray) -> tuple[float, FloatArray]:
            scales = factors * self.start
            arguments = (
                neighborhoods.neighbors,
                neighborhoods.squares,
                scales,
                setting.alpha,
                targets,
                self.share,
            )
            loss, slopes = self.evidence.loss(*arguments, neighborhoods.counts, importance)
            return loss, slopes * self.start

        initial = np.ones(len(self.start))
        if not optimize:
            return Trace(initial, [evaluate(initial)[0]], converged=True)
        return minimize_lbfgs(evaluate, initial, lower=self.floor, gradient_tol=_GRADIENT, **limits)


def nearest_by_weight(
    search: _Search, n_samples: int, n_neighbors: int, weights: FloatArray, own_weights: FloatArray | None = None
) -> tuple[npt.NDArray[np.int32], FloatArray, FloatArray]:
    """Return the nearest samples with a total weight of `n_neighbors`, or all samples.

    Parameters
    ----------
    search : callable
        Function of k that returns the k nearest samples of each row, and squared distances.
    n_samples : int
        Number of samples.
    n_neighbors : int
        Total weight of the neighbors; the last neighbor may count partially.
    weights : ndarray of shape (n_samples,)
        Weights of the samples.
    own_weights : ndarray of shape (n_rows,) or None
        Remaining weights of the rows themselves, if they are the samples.

    Returns
    -------
    numbers, squares, counts : ndarray of shape (n_rows, width)
        Samples, squared distances, and the weight of each neighbor, 0 if fewer neighbors are needed.
    """
    width = min(n_neighbors, n_samples)
    while True:
        numbers, squares = search(width)
        neighbor_weights = weights[numbers]
        if own_weights is not None:
            numbers = np.column_stack([np.arange(len(own_weights), dtype=np.int32), numbers])
            squares, neighbor_weights = (
                np.column_stack([np.zeros(len(own_weights)), squares]),
                np.column_stack([own_weights, neighbor_weights]),
            )
        sums = neighbor_weights.cumsum(axis=1)
        if width == n_samples or (sums[:, -1] >= n_neighbors).all():
            break
        width = min(2 * width, n_samples)
    counts = np.clip(n_neighbors - (sums - neighbor_weights), 0, neighbor_weights)
    is_used = np.append(True, counts[:, 1:].any(axis=0))
    neighbors = np.ascontiguousarray(numbers[:, is_used])
    return neighbors, np.ascontiguousarray(squares[:, is_used]), np.ascontiguousarray(counts[:, is_used])


@fields.stored
class EvidentialKNNClassifier(EvidentialClassifier):
    r"""Evidential k-nearest neighbors, with evidence that decreases with the distance.

    Each neighbor is a mass function with mass on its own class, which decreases with its distance, and on the set
    of all classes. Dempster's rule combines these mass functions. So a sample far from all training samples has
    mass on all classes instead of a single class. The decay rates of the classes are learned by leave-one-out.

    The masses of a sample with missing values (NaN) are averages over its completions, with additional mass on the
    set of all classes.

    Parameters
    ----------
    n_neighbors : "auto" or int, default="auto"
        Number of neighbors, at most the number of training samples. "auto": 5, 10, 20 or 40, by the smallest
        leave-one-out log-loss.
    alpha : "auto" or float, default="auto"
        Mass of a neighbor at distance 0 on its class, between 0 and 1. With 0.95, as in the papers, a single
        neighbor nearly determines the class, even if labels are noisy. "auto": 0.1, 0.3, 0.6 or 0.95, by the same
        log-loss.
    gamma : float, array-like of shape (n_classes,) or None, default=None
        Scales: the mass of a neighbor of class k at distance d is ``alpha * exp(-gamma_k**2 * d**2)``. With
        `optimize`, these are initial values. None means the inverse root mean square distance between samples of
        the class.
    optimize : bool, default=True
        Whether to learn the scales. They are at least 10 % of the default initial values, so that remote neighbors
        never have an influence.
    metric : str or callable, default="euclidean"
        "precomputed" for a square matrix of dissimilarities, or any metric of
        `sklearn.metrics.pairwise_distances`.
    class_weight : "balanced", dict or None, default=None
        Weights of the classes. "balanced" gives all classes the same total weight. It requires crisp labels.
    max_iter : int, default=300
        Maximum number of iterations.
    tol : float, default=1e-6
        Relative decrease of the loss in 10 iterations below which the optimization stops.
    n_jobs : int or None, default=None
        Threads for the neighbor search. The result does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes.
    n_neighbors_ : int
        Number of neighbors.
    alpha_ : float
        Mass of a neighbor at distance 0 on its class.
    gamma_ : ndarray of shape (n_classes,) or (1,)
        Scales; a single one for soft labels.
    focal_sets_ : FocalSets
        Focal sets: single classes and the set of all classes or, with soft labels, the sets of the labels and
        their intersections.
    objective_ : float
        Mean of half the squared leave-one-out errors.
    objective_history_ : ndarray of shape (n_iterations + 1,)
        Objective before the first and after each iteration.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the optimization converged.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X has names.

    See Also
    --------
    EvidentialNeuralClassifier : A few prototypes instead of all training samples; faster in prediction.
    EvidentialRBFClassifier : Prototypes with evidence for and against classes.

    Notes
    -----
    Scale features of different units first. The search is exact. If the metric is Euclidean or the distances are
    precomputed, ties are sorted by the order of the training data. With ``metric="precomputed"``, `fit` expects
    the distances between training samples, of shape (n_samples, n_samples), and predictions expect those of new
    samples to them, of shape (n_new, n_samples).

    A neighbor with weight 2 counts as 2 of the `n_neighbors`, and one with weight 0.5 as half a neighbor. So
    weights are counts, and their mean should be close to 1.

    References
    ----------
    Denœux (1995); Zouhal and Denœux (1998) for the scales.

    - Denœux (1995), A k-nearest neighbor classification rule based on Dempster-Shafer
      theory, IEEE Transactions on Systems, Man, and Cybernetics 25,
      doi:10.1109/21.376493.
    - Zouhal and Denœux (1998), An evidence-theoretic k-NN rule with parameter
      optimization, IEEE Transactions on Systems, Man, and Cybernetics, Part C 28,
      doi:10.1109/5326.669565.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from evlearn.classify import EvidentialKNNClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = EvidentialKNNClassifier().fit(X, y)
    >>> model.predict(X[[0, 60, 120]])
    array([0, 1, 2])

    An iris with petals of 1 m belongs to none of these classes:

    >>> model.predict_mass([[5, 3, 100, 100]]).masses.round(2)
    array([[0., 0., 0., 0., 1.]])
    """

    _evidence: fields.Stored[CrispEvidence | SoftEvidence]
    _n_samples: fields.Stored[fields.PositiveCount]
    gamma_: fields.Stored[fields.NonnegativeVector]
    n_neighbors_: fields.Stored[fields.PositiveCount]
    alpha_: fields.Stored[fields.Fraction]

    _tree: fields.Stored[BoxTree | MetricSearch | GivenDistances]
    _counts: fields.StoredIfSet[fields.NonnegativeVector | None] = None

    # Share of the mass on all classes that counts for each of them in the loss; 1 compares plausibilities with
    # labels.
    _switches = MappingProxyType({"loss_lambda": "pignistic"})

    def __init__(
        self,
        n_neighbors: int | Literal["auto"] = "auto",
        *,
        alpha: float | Literal["auto"] = "auto",
        gamma: float | NumbersLike | None = None,
        optimize: bool = True,
        metric: Metric = "euclidean",
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        max_iter: int = 300,
        tol: float = 1e-6,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.gamma = gamma
        self.optimize = optimize
        self.metric = metric
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs

    @atomic_fit
    def fit(self, X: ArrayLike, y: ArrayLike | CredalPartition, sample_weight: ArrayLike | None = None) -> Self:
        """Store the samples, and learn the scales.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,) or (n_samples, n_classes), or CredalPartition
            Their classes, of any type; plausibilities of the classes; or mass functions, for soft labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each sample.

        Returns
        -------
        EvidentialKNNClassifier
            The fitted estimator.
        """
        self._check_parameters()
        data, labels, counts, _ = self._read_training(X, y, sample_weight)
        weights = read_weights(counts, self.class_weight, labels, data)
        self._evidence = make_evidence(labels)
        self._tree = self._make_search(data)
        self._n_samples = len(data)
        self._counts = None if weights is None else weights.total
        defaults = default_scales(labels, data, None if weights is None else weights.counts, self.metric)
        start = self._initial_scales(defaults)
        # Without a floor, scales of some classes may become 0, and their mass 1 at any distance.
        floor = np.minimum(_FLOOR * defaults / start, 1)
        with one_blas_thread():
            problem = self._make_leave_one_out(labels, weights, start, floor)
            limits: dict[str, Any] = {"optimize": self.optimize, "tol": self.tol, "max_iter": self.max_iter}
            settings = self._settings()
            expect_tasks(1 + (len(settings) > 1))
            setting = settings[0] if len(settings) == 1 else problem.choose(settings, **limits)
            trace = problem.fit(setting, report=Steps(self.max_iter), **limits)
        self.n_neighbors_, self.alpha_ = setting
        if self._precomputed:
            self._tree = GivenDistances(None)
        self.gamma_ = trace.state * start
        self.focal_sets_ = self._evidence.focal_sets
        publish_trace(self, trace, "the loss", max_iter=self.max_iter)
        return self

    def _check_parameters(self) -> None:
        check_integer("n_neighbors", self.n_neighbors, 1, or_auto=True)
        check_real("alpha", self.alpha, 0, 1, open_low=True, or_auto=True)
        if self.alpha == 1:
            raise ValueError("alpha must be less than 1, got 1; a single neighbor would determine the class.")
        check_integer("max_iter", self.max_iter, 1)
        check_real("tol", self.tol, 0)
        check_flag("optimize", self.optimize)
        if not (isinstance(self.metric, str) or callable(self.metric)):
            raise TypeError(f"metric must be the name of a distance or a function, got {self.metric!r}.")

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    @property
    def _takes_sparse(self) -> bool:
        return not self._precomputed

    @property
    def _takes_gaps(self) -> bool:
        return not self._precomputed

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        return tags

    def _make_search(self, data: Any) -> BoxTree | MetricSearch | GivenDistances:
        if self._precomputed:
            check_dissimilarities(data, square=True)
            return GivenDistances(data)
        if isinstance(data, SparseBlock) or self.metric != "euclidean":
            return MetricSearch(data, self.metric)
        return BoxTree.of(data)

    def _initial_scales(self, defaults: FloatArray) -> FloatArray:
        if self.gamma is None:
            return defaults
        values = np.asarray(self.gamma)
        n_scales = self._evidence.n_scales
        if values.ndim > 0:
            check_shape("gamma", values, (n_scales,))
        if not (values.dtype.kind in "iuf" and np.isfinite(values).all() and (values > 0).all()):
            raise ValueError(f"gamma must be above 0 and finite, got {self.gamma!r}.")
        return np.full(n_scales, values)

    def _settings(self) -> list[Setting]:
        """Return the candidates of n_neighbors and alpha."""
        numbers = [self.n_neighbors]
        if isinstance(self.n_neighbors, str):
            numbers = [number for number in _NUMBERS if number < self._n_samples] or [_NUMBERS[0]]
        alphas = _ALPHAS if isinstance(self.alpha, str) else (self.alpha,)
        return [Setting(int(number), float(alpha)) for number in numbers for alpha in alphas]

    def _make_leave_one_out(
        self, labels: Labels, weights: SampleWeights | None, start: FloatArray, floor: FloatArray
    ) -> LeaveOneOut:
        share = read_share(self._switches["loss_lambda"], len(labels.classes))
        n_others = self._n_samples - 1

        @cache
        def search(width: int) -> tuple[npt.NDArray[np.int32], FloatArray]:
            return self._tree.nearest_others(width, n_jobs=self.n_jobs)

        widest = min(max(setting.n_neighbors for setting in self._settings()), n_others)

        def nearest(number: int) -> Neighborhoods:
            if weights is None:
                neighbors, squares = search(widest)
                return Neighborhoods(
                    np.ascontiguousarray(neighbors[:, :number]), np.ascontiguousarray(squares[:, :number]), None
                )
            return Neighborhoods(
                *nearest_by_weight(search, n_others, number, weights.total, weights.leave_one_out)
            )

        importance = None if weights is None else weights.total
        targets = labels.targets(share), labels.targets(0)
        return LeaveOneOut(self._evidence, nearest, *targets, share, importance, start, floor)

    def _masses(self, rows: Any) -> FloatArray:
        if isinstance(rows, SparseBlock) and isinstance(self._tree, BoxTree):
            rows = rows.matrix.toarray()
        search = partial(self._tree.nearest_of, rows, n_jobs=self.n_jobs)
        if self._counts is None:
            neighbors, squares = search(min(self.n_neighbors_, self._n_samples))
            return self._evidence.masses(neighbors, squares, self.gamma_, self.alpha_)
        neighbors, squares, counts = nearest_by_weight(search, self._n_samples, self.n_neighbors_, self._counts)
        return self._evidence.masses(neighbors, squares, self.gamma_, self.alpha_, counts)

    def _after_loading(self) -> None:
        """Raise unless the attributes from a file are consistent."""
        super()._after_loading()
        self._check_parameters()
        evidence, sets = self._evidence, self.focal_sets_
        n_samples, n_features = self._size_of_search()
        fields.check_features(self, n_features)
        fields.check_count(self, "_n_samples", n_samples)
        check_shape("_counts", self._counts, (n_samples,))
        if evidence.focal_sets != sets or sets.frame_size != len(self.classes_):
            raise ValueError("its labels and focal_sets_ have different sets")
        check_shape("gamma_", self.gamma_, (evidence.n_scales,))
        if isinstance(evidence, SoftEvidence):
            check_shape("denials", evidence.denials, (n_samples, len(sets) - 1))
            return
        check_simple(sets)
        check_shape("codes", evidence.codes, (n_samples,))
        if evidence.codes.max() >= sets.frame_size or evidence.codes.dtype != np.int32:
            raise ValueError("codes must be class indices of 32 bits")

    def _size_of_search(self) -> tuple[int, int]:
        """Return the numbers of training samples and of features of the neighbor search."""
        search = self._tree
        if isinstance(search, BoxTree):
            matches, shape = self.metric == "euclidean", search.samples.shape
        elif isinstance(search, MetricSearch):
            matches, shape = search.metric == self.metric, search.samples.shape
        else:
            matches, shape = self.metric == "precomputed", 2 * (self.n_features_in_,)
        if not matches:
            raise ValueError("its metric does not match its neighbor search")
        return int(shape[0]), int(shape[1])
