"""Radial basis function networks with weights of evidence."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from evlearn.classify.labels import Labels
from evlearn.classify.prototype_classifier import PrototypeClassifier, cell_table, centers_of, scales_of, shares_of
from evlearn.classify.prototype_networks import RBFLoss, RBFParameters
from evlearn.classify.weights_of_evidence import masses_of_evidence, sets_of_evidence
from evlearn.partition import CredalPartition
from evlearn.storage import fields
from evlearn.utils.convergence import atomic_fit
from evlearn.utils.typing import FloatArray, RandomSeed
from evlearn.utils.validation import check_integer, check_real, check_shape

#: Meaning of "auto": prototypes per class, and penalty on weights relative to the likelihood of all samples.
_PER_CLASS, _PENALTY = 5, 0.1
_RIDGE = 1e-3  # of the initial weights


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
    Denœux (2019b); Huang et al. (2022).

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
            _PER_CLASS * len(labels.classes) if isinstance(self.n_prototypes, str) else self.n_prototypes
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


__all__ = ["EvidentialRBFClassifier"]
