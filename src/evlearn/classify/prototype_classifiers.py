"""Evidential neural and radial basis function networks, with prototypes as pieces of evidence.

Their base class scales features, initializes prototypes by k-means, and restarts the training.
"""

import warnings
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike
from scipy.special import logit, softmax
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from evlearn.classify.base import LARGEST, EvidentialClassifier, check_simple
from evlearn.classify.labels import Labels, read_share, singletons_and_frame
from evlearn.classify.prototype_networks import (
    MAX_STRENGTH,
    ENNLoss,
    ENNParameters,
    RBFLoss,
    RBFParameters,
    pack,
    squared_distances,
    unpack,
)
from evlearn.classify.samples import distinct_rows, read_weights
from evlearn.classify.weights_of_evidence import masses_of_evidence, sets_of_evidence
from evlearn.partition import CredalPartition
from evlearn.storage import fields
from evlearn.utils.convergence import (
    Trace,
    atomic_fit,
    best_of,
    minimize_lbfgs,
    publish_trace,
    warn_caller,
    warn_of_collapse,
)
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.progress import Steps
from evlearn.utils.typing import FloatArray, RandomSeed
from evlearn.utils.validation import (
    check_choice,
    check_integer,
    check_no_extreme_rows,
    check_real,
    check_shape,
)

_GRADIENT = 1e-8
#: Number of additional starts if the error is not reduced sufficiently, and the required reduction.
_RESTARTS = 5
_MIN_REDUCTION = 0.01
#: Required reduction if all samples are assigned to the same class, unless its share exceeds the limit below.
_MIN_REDUCTION_ONE_CLASS = 0.5
_DOMINANT_SHARE = 0.9
_INITIAL_SHARE = 0.1  # of other classes in a prototype
#: Meaning of "auto": number of samples per prototype, and range of the number of prototypes per class.
_SAMPLES_PER_PROTOTYPE, _PER_CLASS = 10, (2, 10)
_MAX_LOGIT = 30.0
#: Meaning of "auto": prototypes per class, and penalty on weights relative to the likelihood of all samples.
_RBF_PER_CLASS, _PENALTY = 5, 0.1
_RIDGE = 1e-3  # of the initial weights


class PrototypeClassifier(EvidentialClassifier):
    """Base class: subclasses define `_start` and `_make_loss`, which are used for training."""

    _center: fields.Stored[fields.Vector]
    _unit: fields.Stored[fields.ScaleVector]
    prototypes_: fields.Stored[fields.Matrix]
    scales_: fields.StoredIfSet[fields.Vector]

    n_prototypes: int | str
    init: Any
    class_weight: Any
    n_init: int
    max_iter: int
    tol: float
    random_state: Any

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Labels:
        self._check_parameters()
        data, labels, counts, _ = self._read_training(X, y, sample_weight)
        sample_weights = read_weights(counts, self.class_weight, labels, data)
        weights = np.ones(len(data)) if sample_weights is None else sample_weights.total
        if not weights.all():
            data, labels, weights = data[weights > 0], labels.take(weights > 0), weights[weights > 0]
        check_no_extreme_rows("X", data)
        data, labels, weights = _merge_equal(data, labels, weights)
        self._warn_of_many_prototypes(len(data))
        shares = weights / weights.sum()
        self._center = shares @ data
        spread = (
            np.sqrt(shares @ (data - self._center) ** 2)
            if self._switches["standardize"]
            else np.ones(data.shape[1])
        )
        self._unit = np.where(spread > 0, spread, 1)
        with one_blas_thread():
            trace, is_successful = self._train(self._scale(data), labels, weights)
        self._network = trace.state
        self.prototypes_ = trace.state.prototypes * self._unit + self._center
        self.scales_ = trace.state.scales
        publish_trace(self, trace, "the loss", max_iter=self.max_iter)
        if not is_successful:
            warn_of_collapse(
                f"after {_RESTARTS} more starts, {type(self).__name__} hardly predicts training samples better "
                "than the shares of the classes, or assigns all to one class",
                "Use more prototypes, a larger n_init or other features; X may be independent of y.",
            )
        return labels

    def _warn_of_many_prototypes(self, n_distinct: int) -> None:
        """Warn of overfitting if there are too many prototypes."""
        if isinstance(self.n_prototypes, str) or not isinstance(self.init, str):
            return
        if 2 * self.n_prototypes > n_distinct:
            warn_caller(
                f"n_prototypes={self.n_prototypes} exceeds half of the {n_distinct} distinct training samples: "
                "predictions for new samples may be poor. It is the total number for all classes; use at most "
                f"{n_distinct // 2}, or 'auto'."
            )

    def _check_parameters(self) -> None:
        check_integer("n_init", self.n_init, 1)
        check_integer("max_iter", self.max_iter, 1)
        check_real("tol", self.tol, 0)

    def _scale(self, data: FloatArray) -> FloatArray:
        """Return scaled samples, clipped so that squares do not overflow."""
        return np.asarray(np.clip((data - self._center) / self._unit, -LARGEST, LARGEST))

    def _train(self, data: FloatArray, labels: Labels, weights: FloatArray) -> tuple[Trace[Any], bool]:
        """Train the network, with more starts if required; return the best result and its success."""
        random = check_random_state(self.random_state)
        loss = self._make_loss(data, labels, weights)
        traces: list[Trace[Any]] = []
        is_successful, is_fixed = False, not isinstance(self.init, str)
        n_init, max_starts = (1, 1) if is_fixed else (self.n_init, self.n_init + _RESTARTS)
        report = Steps(self.max_iter, max_starts)
        while len(traces) < n_init or (not is_successful and len(traces) < max_starts):
            start = self._start(data, labels, weights, random)

            def evaluate(values: FloatArray, start: Any = start) -> tuple[float, FloatArray]:
                value, gradient = loss.evaluate(unpack(values, start))
                return value, pack(gradient)

            limits: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter, "gradient_tol": _GRADIENT}
            trace = minimize_lbfgs(evaluate, pack(start), report=report, **limits)
            traces.append(trace.with_state(unpack(trace.state, start)))
            best = best_of(traces)
            is_successful = self._beats_baseline(best.state, data, labels, weights)
            if best.interrupted:
                break
        return best, is_successful

    def _beats_baseline(self, network: Any, data: FloatArray, labels: Labels, weights: FloatArray) -> bool:
        """Return True if the squared error is sufficiently below that of the shares of the classes."""
        if labels.codes is None or len(np.unique(labels.codes)) < 2:
            return True  # the error is not informative for soft labels
        truth = labels.targets(0)
        probabilities = self._probabilities(network, data)
        class_shares = weights @ truth / weights.sum()
        is_diverse = np.ptp(probabilities.argmax(axis=1)) > 0 or class_shares.max() > _DOMINANT_SHARE
        min_reduction = _MIN_REDUCTION if is_diverse else _MIN_REDUCTION_ONE_CLASS
        error, baseline = (
            weights @ np.square(prediction - truth).sum(axis=1) for prediction in (probabilities, class_shares)
        )
        return bool(error < (1 - min_reduction) * baseline)

    def _probabilities(self, network: Any, data: FloatArray) -> FloatArray:
        """Return the probabilities of scaled samples."""
        raise NotImplementedError

    def _start(self, data: FloatArray, labels: Labels, weights: FloatArray, random: np.random.RandomState) -> Any:
        """Return initial parameters."""
        raise NotImplementedError

    def _make_loss(self, data: FloatArray, labels: Labels, weights: FloatArray) -> Any:
        """Return the training loss."""
        raise NotImplementedError

    def _read_init(self, name: str, shape: tuple[int, ...], **limits: float) -> FloatArray | None:
        """Return an entry of `init`, or None if it is missing."""
        values = None if isinstance(self.init, str) else self.init.get(name)
        if values is None:
            return None
        array = np.asarray(values, dtype=np.float64)
        check_shape(f"init[{name!r}]", array, shape)
        low, high = limits.get("low", -np.inf), limits.get("high", np.inf)
        if not np.isfinite(array).all() or array.min() < low or array.max() > high:
            raise ValueError(f"init[{name!r}] must be finite numbers from {low:g} to {high:g}.")
        return array

    def _read_init_prototypes(self, n_features: int) -> FloatArray | None:
        """Return the scaled prototypes of `init`, or None."""
        if isinstance(self.init, str):
            return None
        return self._scale(np.asarray(self._read_init("prototypes", (len(self.init["prototypes"]), n_features))))

    def _check_init(self, *optional: str) -> None:
        if isinstance(self.init, str):
            check_choice("init", self.init, ("kmeans",))
            return
        names = ("prototypes", *optional)
        if not isinstance(self.init, Mapping) or "prototypes" not in self.init or not set(self.init) <= set(names):
            raise ValueError(
                f"init must be 'kmeans' or a dict with the key 'prototypes', and optional keys {list(optional)}; "
                f"got {self.init!r}."
            )

    def _after_loading(self) -> None:
        """Raise unless the attributes from a file are consistent."""
        super()._after_loading()
        self._check_parameters()
        network, n_classes = self._network, len(self.classes_)
        n_prototypes, n_features = network.prototypes.shape
        fields.check_features(self, n_features)
        for name in ("_center", "_unit"):
            check_shape(name, getattr(self, name), (n_features,))
        check_shape("prototypes_", self.prototypes_, (n_prototypes, n_features))
        if n_prototypes == 0 or self.focal_sets_.frame_size != n_classes:
            raise ValueError("its network does not match classes_")


def _merge_equal(data: FloatArray, labels: Labels, weights: FloatArray) -> tuple[FloatArray, Labels, FloatArray]:
    """Merge equal samples and their weights, in sorted order.

    So initialization by k-means, which depends on the order and number of rows, is the same for weights and
    copies.
    """
    label_values = labels.plausibilities() if labels.partition is None else labels.partition.masses
    first, inverse = distinct_rows(np.hstack([data, label_values]))
    return data[first], labels.take(first), np.asarray(np.bincount(inverse, weights), dtype=np.float64)


def shares_of(weights: FloatArray) -> FloatArray | None:
    """Return weights with the sum 1; None if they are equal."""
    return None if np.ptp(weights) == 0 else weights / weights.sum()


def centers_of(
    data: FloatArray, n_centers: int, weights: FloatArray, random: np.random.RandomState
) -> tuple[FloatArray, npt.NDArray[np.int32]]:
    """Compute centers by k-means, at most one per sample.

    Returns
    -------
    centers : ndarray of shape (n_centers, n_features)
        Centers.
    cells : ndarray of int of shape (n_samples,)
        Nearest center of each sample.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # centers coincide if there are fewer distinct samples
        kmeans = KMeans(min(n_centers, len(data)), n_init=1, random_state=random).fit(data, sample_weight=weights)
    return kmeans.cluster_centers_, kmeans.labels_


def scales_of(squares: FloatArray, weights: FloatArray) -> FloatArray:
    """Return inverse root mean square distances of samples to each center."""
    means = (weights * squares).sum(axis=0) / weights.sum(axis=0)
    tiny = float(np.finfo(float).tiny)
    means = np.where(means > tiny, means, squares.mean())
    return np.asarray(1 / np.sqrt(np.where(means > tiny, means, 1)))


def cell_table(data: FloatArray, centers: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return squared distances to centers, and indicators of the nearest center.

    Returns
    -------
    squares, cells : ndarray of shape (n_samples, n_centers)
        Squared distances and indicators.
    """
    squares = squared_distances(data, centers)
    return squares, np.eye(len(centers))[squares.argmin(axis=1)]


@fields.stored
class EvidentialNeuralClassifier(PrototypeClassifier):
    r"""Evidential neural network with prototypes as pieces of evidence.

    Each prototype is a mass function with mass on classes, which decreases with its distance, and on the set of
    all classes. Dempster's rule combines these mass functions, so that samples far from all prototypes have mass
    on all classes. The prototypes, their masses and their decay rates are learned from the data.

    Data in which a few samples are a million times farther away than the others are rejected, because the others
    would be numerically equal.

    Parameters
    ----------
    n_prototypes : int or "auto", default="auto"
        Total number of prototypes of all classes. "auto": one per 10 samples, with 2 to 10 for each class. With 2
        or 3, the network may assign all samples to the same class.
    mu : float, default=0.0
        Penalty on the strengths of prototypes; larger values remove the influence of unnecessary prototypes.
    init : "kmeans" or dict, default="kmeans"
        Initialization: prototypes by k-means, or a dict of values of fitted attributes, with their names without
        the last underscore. It must contain "prototypes", in the units of X; missing entries are computed from
        them. Then there is one start, and `n_prototypes` is ignored.
    class_weight : "balanced", dict or None, default=None
        Weights of the classes. "balanced" gives all classes the same total weight. It requires crisp labels.
    n_init : int, default=1
        Number of starts, of which the best result is used. If it is no better than the shares of the classes,
        there are 5 more starts, and then a warning.
    max_iter : int, default=1000
        Maximum number of iterations of a start.
    tol : float, default=3e-3
        Relative decrease of the loss in 10 iterations below which the optimization stops.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes.
    prototypes_ : ndarray of shape (n_prototypes, n_features)
        Prototypes.
    scales_ : ndarray of shape (n_prototypes,)
        Decay rates of the evidence of each prototype with the distance d, by ``exp(-scales_**2 * d**2)``; d is in
        units of standard deviations.
    memberships_ : ndarray of shape (n_prototypes, n_classes)
        Shares of the classes in the mass of each prototype.
    strengths_ : ndarray of shape (n_prototypes,)
        Total mass of each prototype on classes, at distance 0.
    focal_sets_ : FocalSets
        Focal sets: single classes, and the set of all classes.
    objective_ : float
        Loss.
    objective_history_ : ndarray of shape (n_iterations + 1,)
        Loss before the first and after each iteration.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the loss converged.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X has names.

    See Also
    --------
    EvidentialKNNClassifier : Evidence of training samples instead of prototypes.
    EvidentialRBFClassifier : Prototypes with evidence for and against classes.

    References
    ----------
    Denœux (2000), A neural network classifier based on Dempster-Shafer theory, IEEE
    Transactions on Systems, Man, and Cybernetics, Part A 30, doi:10.1109/3468.833094.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from evlearn.classify import EvidentialNeuralClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = EvidentialNeuralClassifier(9, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    >>> model.predict_mass([[5, 3, 100, 100]]).masses.round(2)
    array([[0., 0., 0., 0., 1.]])
    """

    _network: fields.Stored[ENNParameters]
    memberships_: fields.StoredIfSet[fields.Matrix]
    strengths_: fields.StoredIfSet[fields.Vector]

    # "per_class": prototypes begin with equal numbers in each class, or spread over all samples. "loss_lambda":
    # share of the mass on all classes that counts for each of them in the loss; "pignistic", 1 (plausibilities) or
    # 0 (belief).
    _switches = MappingProxyType(
        {"per_class": True, "loss_lambda": "pignistic", "optimize_prototypes": True, "standardize": True}
    )

    def __init__(
        self,
        n_prototypes: int | Literal["auto"] = "auto",
        *,
        mu: float = 0.0,
        init: Mapping[str, ArrayLike] | Literal["kmeans"] = "kmeans",
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        n_init: int = 1,
        max_iter: int = 1000,
        tol: float = 3e-3,
        random_state: RandomSeed = None,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.mu = mu
        self.init = init
        self.class_weight = class_weight
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @atomic_fit
    def fit(self, X: ArrayLike, y: ArrayLike | CredalPartition, sample_weight: ArrayLike | None = None) -> Self:
        """Train the network.

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
        EvidentialNeuralClassifier
            The fitted estimator.
        """
        labels = self._fit(X, y, sample_weight)
        self.memberships_ = self._network.memberships
        self.strengths_ = self._network.strengths
        self.focal_sets_ = singletons_and_frame(labels)
        return self

    def _check_parameters(self) -> None:
        check_integer("n_prototypes", self.n_prototypes, 1, or_auto=True)
        check_real("mu", self.mu, 0)
        self._check_init("scales", "memberships", "strengths")
        super()._check_parameters()

    def _make_loss(self, data: FloatArray, labels: Labels, weights: FloatArray) -> ENNLoss:
        share = read_share(self._switches["loss_lambda"], len(labels.classes))
        fixed = not self._switches["optimize_prototypes"]
        return ENNLoss(data, labels.targets(share), share, float(self.mu), fixed, shares_of(weights))

    def _start(
        self, data: FloatArray, labels: Labels, weights: FloatArray, random: np.random.RandomState
    ) -> ENNParameters:
        targets, beta = labels.targets(0), None
        number = self._total_prototypes(weights, targets)
        groups = np.unique(targets.argmax(axis=1))
        init_prototypes = self._read_init_prototypes(data.shape[1])
        if init_prototypes is not None:
            prototypes = init_prototypes
        elif self._switches["per_class"] and number >= len(groups):
            prototypes, beta = self._centers_by_class(data, targets, weights, number, random)
        else:
            prototypes, _ = centers_of(data, number, weights, random)
        squares, cells = cell_table(data, prototypes)
        cells *= weights[:, None]
        n_prototypes = len(prototypes)
        if beta is None:
            memberships = self._read_init("memberships", (n_prototypes, targets.shape[1]), low=0)
            totals = np.maximum(cells.sum(axis=0), np.finfo(float).tiny)[:, None]
            beta = np.sqrt(cells.T @ targets / totals if memberships is None else memberships)
        scales = self._read_init("scales", (n_prototypes,), low=0)
        strengths = self._read_init("strengths", (n_prototypes,), low=0, high=MAX_STRENGTH)
        eta = (
            scales_of(squares, cells + 1e-9) if scales is None else scales
        )  # small weights of all samples, for empty cells
        xi = (
            np.zeros(n_prototypes)
            if strengths is None
            else np.clip(logit(strengths / MAX_STRENGTH), -_MAX_LOGIT, _MAX_LOGIT)
        )
        return ENNParameters(prototypes, eta, beta, xi)

    def _total_prototypes(self, weights: FloatArray, targets: FloatArray) -> int:
        """Return the total number of prototypes."""
        if not isinstance(self.n_prototypes, str):
            return int(self.n_prototypes)
        n_classes = int(targets.shape[1])
        return n_classes * int(np.clip(weights.sum() / (_SAMPLES_PER_PROTOTYPE * n_classes), *_PER_CLASS))

    def _centers_by_class(
        self,
        data: FloatArray,
        targets: FloatArray,
        weights: FloatArray,
        n_prototypes: int,
        random: np.random.RandomState,
    ) -> tuple[FloatArray, FloatArray]:
        """Return prototypes, divided equally among the classes, and their initial memberships."""
        nearest = targets.argmax(axis=1)
        sizes = np.bincount(nearest, weights, minlength=targets.shape[1])
        groups = np.flatnonzero(sizes)
        shares = np.full(len(groups), n_prototypes // len(groups))
        shares[np.argsort(-sizes[groups], kind="stable")[: n_prototypes % len(groups)]] += 1
        centers = [
            centers_of(data[nearest == k], number, weights[nearest == k], random)[0]
            for k, number in zip(groups, shares.tolist(), strict=True)
        ]
        owners = np.repeat(groups, [len(class_centers) for class_centers in centers])
        return np.concatenate(centers), np.eye(targets.shape[1])[owners] + _INITIAL_SHARE

    def _probabilities(self, network: ENNParameters, data: FloatArray) -> FloatArray:
        masses = network.masses(data)
        return np.asarray(masses[:, :-1] + masses[:, -1:] / (masses.shape[1] - 1))

    def _masses(self, rows: FloatArray) -> FloatArray:
        masses = self._network.masses(self._scale(rows))
        return np.column_stack([np.zeros(len(rows)), masses])

    def _after_loading(self) -> None:
        """Raise unless the attributes from a file are consistent."""
        super()._after_loading()
        network, shape = self._network, (len(self._network.prototypes), len(self.classes_))
        check_shape("beta", network.beta, shape)
        for name in ("eta", "xi"):
            check_shape(name, getattr(network, name), shape[:1])
        check_simple(self.focal_sets_)


@fields.stored
class EvidentialRBFClassifier(PrototypeClassifier):
    r"""Radial basis function network with weights of evidence.

    The probabilities of the classes are those of an ordinary radial basis function network, trained by maximum
    likelihood. Each prototype has weights of evidence for or against each class, which decrease with the distance;
    Dempster's rule combines them. Unlike probabilities, the masses distinguish a lack of evidence, far from the
    data, from conflicting evidence. They may be on any set of classes.

    Data in which a few samples are a million times farther away than the others are rejected, because the others
    would be numerically equal.

    Parameters
    ----------
    n_prototypes : int or "auto", default="auto"
        Total number of prototypes; "auto" means 5 per class.
    l2 : float or "auto", default="auto"
        Penalty on squared weights; larger values reduce the evidence. "auto" is 0.1 divided by the number of
        samples.
    init : "kmeans" or dict, default="kmeans"
        Initialization: prototypes by k-means, or a dict of values of fitted attributes, with their names without
        the last underscore. It must contain "prototypes", in the units of X; missing entries are computed from
        them. Then there is one start, and `n_prototypes` is ignored.
    class_weight : "balanced", dict or None, default=None
        Weights of the classes. "balanced" gives all classes the same total weight. It requires crisp labels.
    n_init : int, default=1
        Number of starts, of which the best result is used. If it is no better than the shares of the classes,
        there are 5 more starts, and then a warning.
    max_iter : int, default=1000
        Maximum number of iterations of a start.
    tol : float, default=1e-3
        Relative decrease of the loss in 10 iterations below which the optimization stops.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes.
    prototypes_ : ndarray of shape (n_prototypes, n_features)
        Prototypes.
    scales_ : ndarray of shape (n_prototypes,)
        Decay rates of the evidence of each prototype with the distance d, by ``exp(-scales_**2 * d**2)``; d is in
        units of standard deviations.
    weights_ : ndarray of shape (n_prototypes, n_classes)
        Weights of evidence of each prototype at distance 0; their sum over the classes is 0.
    focal_sets_ : FocalSets
        Focal sets: all sets for up to 12 classes. With more classes, single classes and the set of all classes,
        which receives the mass of all other sets.
    objective_ : float
        Loss: mean negative log-likelihood, with the penalty on weights.
    objective_history_ : ndarray of shape (n_iterations + 1,)
        Loss before the first and after each iteration.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the loss converged.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X has names.

    See Also
    --------
    masses_from_linear : Masses of any logistic regression or multilayer perceptron.
    EvidentialNeuralClassifier : Prototypes that only support classes.

    References
    ----------
    - Denœux (2019b), Logistic regression, neural networks and Dempster-Shafer theory: a
      new perspective, Knowledge-Based Systems 176, doi:10.1016/j.knosys.2019.03.030.
    - Huang et al. (2022), Lymphoma segmentation from 3D PET-CT images using a deep
      evidential network, International Journal of Approximate Reasoning 149,
      doi:10.1016/j.ijar.2022.06.007.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from evlearn.classify import EvidentialRBFClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = EvidentialRBFClassifier(random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    >>> model.predict_mass([[5, 3, 100, 100]]).masses.round(2)
    array([[0., 0., 0., 0., 0., 0., 0., 1.]])
    """

    _network: fields.Stored[RBFParameters]
    weights_: fields.Stored[fields.Matrix]

    _switches = MappingProxyType({"standardize": True})

    def __init__(
        self,
        n_prototypes: int | Literal["auto"] = "auto",
        *,
        l2: float | Literal["auto"] = "auto",
        init: Mapping[str, ArrayLike] | Literal["kmeans"] = "kmeans",
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        n_init: int = 1,
        max_iter: int = 1000,
        tol: float = 1e-3,
        random_state: RandomSeed = None,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.l2 = l2
        self.init = init
        self.class_weight = class_weight
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @atomic_fit
    def fit(self, X: ArrayLike, y: ArrayLike | CredalPartition, sample_weight: ArrayLike | None = None) -> Self:
        """Train the network.

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
        EvidentialRBFClassifier
            The fitted estimator.
        """
        labels = self._fit(X, y, sample_weight)
        weights = self._network.weights
        self.weights_ = weights - weights.mean(axis=1, keepdims=True)
        self.focal_sets_ = sets_of_evidence(labels.names)
        return self

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Predict the probabilities of the network, which are proportional to plausibilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`; equal without any evidence.
        """
        check_is_fitted(self)
        return np.asarray(
            softmax(self._activations(self._read_features(X, reset=False).data) @ self.weights_, axis=1)
        )

    def _check_parameters(self) -> None:
        check_integer("n_prototypes", self.n_prototypes, 1, or_auto=True)
        check_real("l2", self.l2, 0, or_auto=True)
        self._check_init("scales", "weights")
        super()._check_parameters()

    def _make_loss(self, data: FloatArray, labels: Labels, weights: FloatArray) -> RBFLoss:
        penalty = _PENALTY / float(weights.sum()) if isinstance(self.l2, str) else float(self.l2)
        return RBFLoss(data, labels.plausibilities(), penalty, shares_of(weights))

    def _start(
        self, data: FloatArray, labels: Labels, weights: FloatArray, random: np.random.RandomState
    ) -> RBFParameters:
        init_prototypes = self._read_init_prototypes(data.shape[1])
        prototypes = self._centers(data, labels, weights, random) if init_prototypes is None else init_prototypes
        squares, _ = cell_table(data, prototypes)
        scales = self._read_init("scales", (len(prototypes),), low=0)
        gamma = (
            scales_of(squares, np.repeat(weights[:, None], len(prototypes), 1))
            if scales is None
            else scales * np.sqrt(2)
        )
        output_weights = self._read_init("weights", (len(prototypes), len(labels.classes)))
        if output_weights is None:
            # Least squares with a ridge, to avoid huge weights of similar prototypes.
            active = np.exp(-(gamma**2) * squares / 2)
            ridge = _RIDGE * weights.sum() * np.eye(len(prototypes))
            products = (active.T * weights) @ active + ridge
            output_weights = np.linalg.solve(products, (active.T * weights) @ labels.targets(0))
        return RBFParameters(prototypes, gamma, output_weights)

    def _centers(
        self, data: FloatArray, labels: Labels, weights: FloatArray, random: np.random.RandomState
    ) -> FloatArray:
        n_prototypes = (
            _RBF_PER_CLASS * len(labels.classes) if isinstance(self.n_prototypes, str) else self.n_prototypes
        )
        prototypes, cells = centers_of(data, n_prototypes, weights, random)
        # A single sample does not justify a prototype, unless its weight exceeds 1.
        crowded = np.bincount(cells, np.ceil(weights), minlength=len(prototypes)) > 1
        prototypes = prototypes[crowded] if crowded.any() else prototypes
        return np.asarray(prototypes)

    def _probabilities(self, network: RBFParameters, data: FloatArray) -> FloatArray:
        return np.asarray(softmax(network.activations(data)[0] @ network.weights, axis=1))

    def _activations(self, data: FloatArray) -> FloatArray:
        active: FloatArray = self._network.activations(self._scale(data))[0]
        return active

    def _masses(self, rows: FloatArray) -> FloatArray:
        constants = np.zeros_like(self.weights_)
        return masses_of_evidence(self._activations(rows), self.weights_, constants, self.focal_sets_)

    def _after_loading(self) -> None:
        """Raise unless the attributes from a file are consistent."""
        super()._after_loading()
        network, shape = self._network, (len(self._network.prototypes), len(self.classes_))
        check_shape("gamma", network.gamma, shape[:1])
        check_shape("weights", network.weights, shape)
        check_shape("weights_", self.weights_, shape)
        if self.focal_sets_ != sets_of_evidence(list(self.focal_sets_.frame)):
            raise ValueError("its sets must be those of weights of evidence")
