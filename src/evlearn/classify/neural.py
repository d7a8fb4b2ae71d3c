"""Evidential neural networks with prototypes as pieces of evidence."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logit

from evlearn.classify.base import check_simple
from evlearn.classify.labels import Labels, read_share, singletons_and_frame
from evlearn.classify.prototype_classifier import PrototypeClassifier, cell_table, centers_of, scales_of, shares_of
from evlearn.classify.prototype_networks import MAX_STRENGTH, ENNLoss, ENNParameters
from evlearn.partition import CredalPartition
from evlearn.storage import fields
from evlearn.utils.convergence import atomic_fit
from evlearn.utils.typing import FloatArray, RandomSeed
from evlearn.utils.validation import check_integer, check_real, check_shape

_INITIAL_SHARE = 0.1  # of other classes in a prototype
#: Meaning of "auto": number of samples per prototype, and range of the number of prototypes per class.
_SAMPLES_PER_PROTOTYPE, _PER_CLASS = 10, (2, 10)
_MAX_LOGIT = 30.0


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
    Denœux (2000).

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


__all__ = ["EvidentialNeuralClassifier"]
