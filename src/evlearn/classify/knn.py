"""EvidentialKNNClassifier: each neighbour is a piece of evidence."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from evlearn.blocks.sparse import SparseBlock
from evlearn.classify.base import EvidentialClassifier
from evlearn.classify.box_tree import BoxTree
from evlearn.classify.labels import Labels, read_share
from evlearn.classify.leave_one_out import LeaveOneOut, Neighborhoods, Setting
from evlearn.classify.metric_search import GivenDistances, MetricSearch
from evlearn.classify.neighbor_evidence import first_scales, make_evidence
from evlearn.classify.sample_weights import SampleWeights, nearest_by_weight, read_weights
from evlearn.cluster.dissimilarities import check_dissimilarities
from evlearn.partition import CredalPartition
from evlearn.utils.convergence import publish_trace, whole_or_nothing
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.progress import Steps, expect
from evlearn.utils.typing import FloatArray, Metric, NumbersLike
from evlearn.utils.validation import check_flag, check_integer, check_real, check_shape

_FLOOR = 0.1
#: What "auto" chooses from.
_NUMBERS = (5, 10, 20, 40)
_ALPHAS = (0.1, 0.3, 0.6, 0.95)


class EvidentialKNNClassifier(EvidentialClassifier):
    r"""Evidential k-nearest neighbours: near neighbours say much about the class, far ones little.

    Each of the nearest training samples supports its own class, more so the nearer it is, and leaves the rest
    open. Dempster's rule combines what they say. So a sample far from all training samples is not forced into a
    class: nothing is known about it. How fast support falls with distance is learned, for each class, by
    leave-one-out.

    Missing values (NaN) become doubt: the masses of a sample with gaps are those that it would have on average,
    and what remains open is mass on the set of all classes.

    Parameters
    ----------
    n_neighbors : "auto" or int, default="auto"
        The number of neighbours; all, if there are fewer training samples. "auto": 5, 10, 20 or 40, by which
        training samples that are left out have the smallest log-loss.
    alpha : "auto" or float, default="auto"
        What a neighbour at distance zero gives to its class, between 0 and 1. With 0.95, as in the papers, a
        single neighbour nearly settles the matter, also where labels are noisy. "auto": 0.1, 0.3, 0.6 or 0.95, by
        the same log-loss.
    gamma : float, array-like of shape (n_classes,) or None, default=None
        The scales: a neighbour of class k at distance d gives
        ``alpha * exp(-gamma_k**2 * d**2)``. With `optimize`, where learning begins. None is one over the root mean
        square distance between samples of the class.
    optimize : bool, default=True
        Whether to learn the scales. None falls below a tenth of where it would begin by itself, so that neighbours
        far away always fall silent.
    loss_lambda : "pignistic" or float, default="pignistic"
        The share of the mass on all classes that counts for each of them, in the error that is made small:
        "pignistic" is one divided by the number of classes, 1 compares plausibilities with labels, and 0 degrees
        of belief.
    metric : str or callable, default="euclidean"
        "precomputed" for a square matrix of dissimilarities, or any metric of
        `sklearn.metrics.pairwise_distances`.
    class_weight : "balanced", dict or None, default=None
        How much samples of each class count. "balanced": all classes alike. Labels must be crisp for that.
    max_iter : int, default=300
        The largest number of iterations.
    tol : float, default=1e-6
        Ten iterations that together lower the error by less than this share of it are the last.
    n_jobs : int or None, default=None
        Threads for the neighbour search. The result does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_neighbors_ : int
        The number of neighbours.
    alpha_ : float
        What a neighbour at distance zero gives to its class.
    gamma_ : ndarray of shape (n_classes,) or (1,)
        The scales; a single one if labels are soft.
    focal_sets_ : FocalSets
        The sets that carry mass: single classes and all of them, or, with soft labels, the sets of the labels and
        their intersections.
    objective_ : float
        Half the squared error of a sample left out, on average.
    objective_history_ : ndarray of shape (n_iterations + 1,)
        The same before the first and after each iteration.
    n_iter_ : int
        The number of iterations.
    converged_ : bool
        Whether the error settled.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str
        The names of the features, where X has any.

    See Also
    --------
    EvidentialNeuralClassifier : A few prototypes in place of all training samples; faster in prediction.
    EvidentialRBFClassifier : Prototypes that may also speak against a class.

    Notes
    -----
    Scale features of different units first. The search is exact. Of equally distant neighbours, those that come
    first in the training data are taken, if the metric is Euclidean or the distances are given. With
    ``metric="precomputed"``, `fit` takes the distances between training samples, of shape (n_samples, n_samples),
    and predictions take those of new samples to them, of shape (n_new, n_samples).

    A neighbour with the weight 2 is two of the `n_neighbors`, and one with the weight 1/2 half a neighbour. So
    weights are counts: give some with a mean near 1.

    References
    ----------
    Denœux (1995); Zouhal and Denœux (1998) for the scales.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from evlearn.classify import EvidentialKNNClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = EvidentialKNNClassifier().fit(X, y)
    >>> model.predict(X[[0, 60, 120]])
    array([0, 1, 2])

    An iris with petals of one metre is none of these:

    >>> model.predict_mass([[5, 3, 100, 100]]).masses.round(2)
    array([[0., 0., 0., 0., 1.]])
    """

    _tree: BoxTree | MetricSearch | GivenDistances
    _counts: FloatArray | None = None

    def __init__(
        self,
        n_neighbors: int | Literal["auto"] = "auto",
        *,
        alpha: float | Literal["auto"] = "auto",
        gamma: float | NumbersLike | None = None,
        optimize: bool = True,
        loss_lambda: float | Literal["pignistic"] = "pignistic",
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
        self.loss_lambda = loss_lambda
        self.metric = metric
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs

    @whole_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike | CredalPartition, sample_weight: ArrayLike | None = None) -> Self:
        """Keep the samples, and learn the scales.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training samples.
        y : array-like of shape (n_samples,) or (n_samples, n_classes), or CredalPartition
            Their classes, of any type; or plausibilities of the classes; or mass functions, if classes are known
            with doubt.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts.

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
        usual = first_scales(labels, data, None if weights is None else weights.counts, self.metric)
        start = self._first_scales(usual)
        # Without a floor some classes learn that they reach everywhere, and nothing is unknown any more.
        floor = np.minimum(_FLOOR * usual / start, 1)
        with one_blas_thread():
            asked = self._ask_each_other(labels, weights, start, floor)
            limits: dict[str, Any] = {"optimize": self.optimize, "tol": self.tol, "max_iter": self.max_iter}
            settings = self._settings()
            expect(1 + (len(settings) > 1))
            chosen = settings[0] if len(settings) == 1 else asked.choose(settings, **limits)
            trace = asked.learn(chosen, report=Steps(self.max_iter), **limits)
        self.n_neighbors_, self.alpha_ = chosen
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
            raise ValueError("alpha must be less than 1, got 1; one neighbour would silence all others.")
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

    def _first_scales(self, usual: FloatArray) -> FloatArray:
        if self.gamma is None:
            return usual
        given = np.asarray(self.gamma)
        n_scales = self._evidence.n_scales
        if given.ndim > 0:
            check_shape("gamma", given, (n_scales,))
        if not (given.dtype.kind in "iuf" and np.isfinite(given).all() and (given > 0).all()):
            raise ValueError(f"gamma must be above 0 and finite, got {self.gamma!r}.")
        return np.full(n_scales, given)

    def _settings(self) -> list[Setting]:
        """What to choose from."""
        numbers = [self.n_neighbors]
        if isinstance(self.n_neighbors, str):
            numbers = [number for number in _NUMBERS if number < self._n_samples] or [_NUMBERS[0]]
        alphas = _ALPHAS if isinstance(self.alpha, str) else (self.alpha,)
        return [Setting(int(number), float(alpha)) for number in numbers for alpha in alphas]

    def _ask_each_other(
        self, labels: Labels, weights: SampleWeights | None, start: FloatArray, floor: FloatArray
    ) -> LeaveOneOut:
        share = read_share(self.loss_lambda, len(labels.classes))
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
            return Neighborhoods(*nearest_by_weight(search, n_others, number, weights.total, weights.others_alike))

        importance = None if weights is None else weights.total
        targets = labels.targets(share), labels.targets(0)
        return LeaveOneOut(self._evidence, nearest, *targets, share, importance, start, floor)

    def _masses(self, rows: Any) -> FloatArray:
        if isinstance(rows, SparseBlock) and isinstance(self._tree, BoxTree):
            rows = rows.matrix.toarray()

        def search(width: int) -> tuple[npt.NDArray[np.int32], FloatArray]:
            return self._tree.nearest_of(rows, width, n_jobs=self.n_jobs)

        if self._counts is None:
            neighbors, squares = search(min(self.n_neighbors_, self._n_samples))
            return self._evidence.masses(neighbors, squares, self.gamma_, self.alpha_)
        neighbors, squares, counts = nearest_by_weight(search, self._n_samples, self.n_neighbors_, self._counts)
        return self._evidence.masses(neighbors, squares, self.gamma_, self.alpha_, counts)


__all__ = ["EvidentialKNNClassifier"]
