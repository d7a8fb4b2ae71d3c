"""EvidentialRBFClassifier: prototypes that speak for and against classes."""

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from evlearn.classify.labels import Labels
from evlearn.classify.prototype_classifier import PrototypeClassifier, cell_table, centres_of, scales_of, shares_of
from evlearn.classify.prototype_networks import RBFLoss, RBFParameters
from evlearn.classify.weights_of_evidence import masses_of_evidence, sets_of_evidence
from evlearn.partition import CredalPartition
from evlearn.utils.convergence import whole_or_nothing
from evlearn.utils.typing import FloatArray, RandomSeed
from evlearn.utils.validation import check_integer, check_real

#: What "auto" means: prototypes for each class, and the price of weights beside the likelihood of all samples.
_OF_CLASS, _PRICE = 5, 0.1
_RIDGE = 1e-3


class EvidentialRBFClassifier(PrototypeClassifier):
    r"""A radial basis function network with weights of evidence: prototypes speak for and against classes.

    The probabilities of the classes are those of an ordinary network of bumps around prototypes, trained by
    maximum likelihood. What each prototype says is a weight of evidence for or against each class, which fades
    with the distance; Dempster's rule combines them. The masses tell apart what a probability cannot: no evidence,
    far from the data, and evidence that disagrees. They may be on any set of classes.

    Data in which a few samples are a million times farther away than the others are refused: beside them, the
    others could not be told apart.

    Parameters
    ----------
    n_prototypes : int or "auto", default="auto"
        The number of prototypes of all classes together; "auto" is 5 for each class.
    l2 : float or "auto", default="auto"
        The price of squared weights: raise it for less evidence. "auto" is 0.1 divided by the number of samples.
    standardize : bool, default=True
        Whether to measure distances in units of the standard deviation of each feature.
    init : "kmeans" or dict, default="kmeans"
        Where training begins: prototypes by k-means, or values that are given by the names of the fitted ones
        without the last underscore. "prototypes" must be among them, in the units of X; what is missing is made
        for them. Then there is one start, and their number does not follow from `n_prototypes`.
    class_weight : "balanced", dict or None, default=None
        How much samples of each class count. "balanced": all classes alike. Labels must be crisp for that.
    n_init : int, default=1
        The number of starts; the best result is kept. If it is no better than the shares of the classes, there are
        five more, and then a warning.
    max_iter : int, default=1000
        The largest number of iterations of a start.
    tol : float, default=1e-3
        Ten iterations that together lower the loss by less than this share of it are the last.
    random_state : int, RandomState instance or None, default=None
        The seed of the starts.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    prototypes_ : ndarray of shape (n_prototypes, n_features)
        The prototypes.
    scales_ : ndarray of shape (n_prototypes,)
        How fast what a prototype says falls with the distance d, by ``exp(-scales_**2 * d**2)``; d is in units of
        standard deviations, if `standardize`.
    weights_ : ndarray of shape (n_prototypes, n_classes)
        What each prototype says of each class, for a sample at its place; weights sum to zero over the classes.
    focal_sets_ : FocalSets
        The sets that carry mass: all, for up to twelve classes. With more, single classes and all of them
        together, and what belongs to sets in between is counted as mass on all.
    objective_ : float
        The loss: the mean negative log-likelihood, and the price of the weights.
    objective_history_ : ndarray of shape (n_iterations + 1,)
        The loss before the first and after each iteration.
    n_iter_ : int
        The number of iterations.
    converged_ : bool
        Whether the loss settled.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str
        The names of the features, where X has any.

    See Also
    --------
    masses_from_linear : The same for any logistic regression or multilayer perceptron.
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

    def __init__(
        self,
        n_prototypes: int | Literal["auto"] = "auto",
        *,
        l2: float | Literal["auto"] = "auto",
        standardize: bool = True,
        init: Mapping[str, ArrayLike] | Literal["kmeans"] = "kmeans",
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        n_init: int = 1,
        max_iter: int = 1000,
        tol: float = 1e-3,
        random_state: RandomSeed = None,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.l2 = l2
        self.standardize = standardize
        self.init = init
        self.class_weight = class_weight
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @whole_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike | CredalPartition, sample_weight: ArrayLike | None = None) -> Self:
        """Train the network.

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
        EvidentialRBFClassifier
            The fitted estimator.
        """
        labels = self._fit(X, y, sample_weight)
        weights = self._network.weights
        self.weights_ = weights - weights.mean(axis=1, keepdims=True)
        self.focal_sets_ = sets_of_evidence(labels.names)
        return self

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probabilities of the classes, those of the network; they are proportional to plausibilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`; equal ones where nothing is known.
        """
        check_is_fitted(self)
        return np.asarray(softmax(self._active(self._read(X, reset=False).data) @ self.weights_, axis=1))

    def _check_parameters(self) -> None:
        check_integer("n_prototypes", self.n_prototypes, 1, or_auto=True)
        check_real("l2", self.l2, 0, or_auto=True)
        self._check_init("scales", "weights")
        super()._check_parameters()

    def _make_loss(self, data: FloatArray, labels: Labels, weights: FloatArray) -> RBFLoss:
        price = _PRICE / float(weights.sum()) if isinstance(self.l2, str) else float(self.l2)
        return RBFLoss(data, labels.plausibilities(), price, shares_of(weights))

    def _start(
        self, data: FloatArray, labels: Labels, weights: FloatArray, random: np.random.RandomState
    ) -> RBFParameters:
        given = self._given_prototypes(data.shape[1])
        prototypes = self._centres(data, labels, weights, random) if given is None else given
        squares, _ = cell_table(data, prototypes)
        scales = self._given("scales", (len(prototypes),), low=0)
        gamma = (
            scales_of(squares, np.repeat(weights[:, None], len(prototypes), 1))
            if scales is None
            else scales * np.sqrt(2)
        )
        parts = self._given("weights", (len(prototypes), len(labels.classes)))
        if parts is None:
            # Least squares, with a little ridge: else bumps that are nearly the same get huge weights.
            active = np.exp(-(gamma**2) * squares / 2)
            ridge = _RIDGE * weights.sum() * np.eye(len(prototypes))
            products = (active.T * weights) @ active + ridge
            parts = np.linalg.solve(products, (active.T * weights) @ labels.targets(0))
        return RBFParameters(prototypes, gamma, parts)

    def _centres(
        self, data: FloatArray, labels: Labels, weights: FloatArray, random: np.random.RandomState
    ) -> FloatArray:
        n_prototypes = _OF_CLASS * len(labels.classes) if isinstance(self.n_prototypes, str) else self.n_prototypes
        prototypes, cells = centres_of(data, n_prototypes, weights, random)
        # One sample is no evidence about its surroundings, unless it counts for several.
        crowded = np.bincount(cells, np.ceil(weights), minlength=len(prototypes)) > 1
        prototypes = prototypes[crowded] if crowded.any() else prototypes
        return np.asarray(prototypes)

    def _probabilities(self, network: RBFParameters, data: FloatArray) -> FloatArray:
        return np.asarray(softmax(network.activations(data)[0] @ network.weights, axis=1))

    def _active(self, data: FloatArray) -> FloatArray:
        active: FloatArray = self._network.activations(self._enter(data))[0]
        return active

    def _masses(self, rows: FloatArray) -> FloatArray:
        constants = np.zeros_like(self.weights_)
        return masses_of_evidence(self._active(rows), self.weights_, constants, self.focal_sets_)


__all__ = ["EvidentialRBFClassifier"]
