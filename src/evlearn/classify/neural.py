"""EvidentialNeuralClassifier: prototypes that are pieces of evidence."""

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logit

from evlearn.classify.labels import Labels, read_share, singletons_and_frame
from evlearn.classify.prototype_classifier import PrototypeClassifier, cell_table, centres_of, scales_of, shares_of
from evlearn.classify.prototype_networks import MOST, ENNLoss, ENNParameters
from evlearn.partition import CredalPartition
from evlearn.utils.convergence import whole_or_nothing
from evlearn.utils.typing import FloatArray, RandomSeed
from evlearn.utils.validation import check_flag, check_integer, check_real

_BLUR = 0.1
#: What "auto" means: samples for a prototype, and prototypes of a class.
_SAMPLES, _OF_CLASS = 10, (2, 10)
_FIRM = 30.0  # logits beyond are one or nothing


class EvidentialNeuralClassifier(PrototypeClassifier):
    r"""An evidential neural network: a few prototypes say what they know about the class of a sample.

    Each prototype supports classes, more so the nearer the sample is, and leaves the rest open. Dempster's rule
    combines what they say, so that far from all prototypes nothing is known. Where prototypes are, what they say
    and how far they see is learned from the data.

    Data in which a few samples are a million times farther away than the others are refused: beside them, the
    others could not be told apart.

    Parameters
    ----------
    n_prototypes : int or "auto", default="auto"
        The number of prototypes of all classes together. "auto": one for 10 samples, from 2 to 10 for each class.
        With 2 or 3, a network may end with all samples in one class.
    per_class : bool, default=True
        Whether training begins with an equal number of prototypes in each class, where there are enough of them.
        Otherwise prototypes are spread over all samples, and begin with the shares of the classes around them.
    loss_lambda : "pignistic" or float, default="pignistic"
        The share of the mass on all classes that counts for each of them, in the error that is made small:
        "pignistic" is one divided by the number of classes, 1 compares plausibilities with labels, and 0 degrees
        of belief.
    mu : float, default=0.0
        The price of what prototypes say: raise it to silence those that are not needed.
    optimize_prototypes : bool, default=True
        Whether prototypes move.
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
    tol : float, default=3e-3
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
    memberships_ : ndarray of shape (n_prototypes, n_classes)
        The shares of the classes in what each prototype says.
    strengths_ : ndarray of shape (n_prototypes,)
        How much each prototype says of a sample at its place.
    focal_sets_ : FocalSets
        The sets that carry mass: single classes, and all of them.
    objective_ : float
        The loss.
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
    EvidentialKNNClassifier : All training samples speak.
    EvidentialRBFClassifier : Prototypes that may also speak against a class.

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

    def __init__(
        self,
        n_prototypes: int | Literal["auto"] = "auto",
        *,
        per_class: bool = True,
        loss_lambda: float | Literal["pignistic"] = "pignistic",
        mu: float = 0.0,
        optimize_prototypes: bool = True,
        standardize: bool = True,
        init: Mapping[str, ArrayLike] | Literal["kmeans"] = "kmeans",
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        n_init: int = 1,
        max_iter: int = 1000,
        tol: float = 3e-3,
        random_state: RandomSeed = None,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.per_class = per_class
        self.loss_lambda = loss_lambda
        self.mu = mu
        self.optimize_prototypes = optimize_prototypes
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
        for name in ("per_class", "optimize_prototypes"):
            check_flag(name, getattr(self, name))
        self._check_init("scales", "memberships", "strengths")
        super()._check_parameters()

    def _make_loss(self, data: FloatArray, labels: Labels, weights: FloatArray) -> ENNLoss:
        share = read_share(self.loss_lambda, len(labels.classes))
        fixed = not self.optimize_prototypes
        return ENNLoss(data, labels.targets(share), share, float(self.mu), fixed, shares_of(weights))

    def _start(
        self, data: FloatArray, labels: Labels, weights: FloatArray, random: np.random.RandomState
    ) -> ENNParameters:
        targets, beta = labels.targets(0), None
        number = self._number(weights, targets)
        groups = np.unique(targets.argmax(axis=1))
        given = self._given_prototypes(data.shape[1])
        if given is not None:
            prototypes = given
        elif self.per_class and number >= len(groups):
            prototypes, beta = self._centres_by_class(data, targets, weights, number, random)
        else:
            prototypes, _ = centres_of(data, number, weights, random)
        squares, cells = cell_table(data, prototypes)
        cells *= weights[:, None]
        n_prototypes = len(prototypes)
        if beta is None:
            memberships = self._given("memberships", (n_prototypes, targets.shape[1]), low=0)
            totals = np.maximum(cells.sum(axis=0), np.finfo(float).tiny)[:, None]
            beta = np.sqrt(cells.T @ targets / totals if memberships is None else memberships)
        scales = self._given("scales", (n_prototypes,), low=0)
        strengths = self._given("strengths", (n_prototypes,), low=0, high=MOST)
        eta = scales_of(squares, cells + 1e-9) if scales is None else scales  # a little of all, for empty cells
        xi = np.zeros(n_prototypes) if strengths is None else np.clip(logit(strengths / MOST), -_FIRM, _FIRM)
        return ENNParameters(prototypes, eta, beta, xi)

    def _number(self, weights: FloatArray, targets: FloatArray) -> int:
        """Return the number of prototypes of all classes together."""
        if not isinstance(self.n_prototypes, str):
            return int(self.n_prototypes)
        n_classes = int(targets.shape[1])
        return n_classes * int(np.clip(weights.sum() / (_SAMPLES * n_classes), *_OF_CLASS))

    def _centres_by_class(
        self,
        data: FloatArray,
        targets: FloatArray,
        weights: FloatArray,
        n_prototypes: int,
        random: np.random.RandomState,
    ) -> tuple[FloatArray, FloatArray]:
        """Return prototypes, divided equally among the classes, and what they say of the classes."""
        nearest = targets.argmax(axis=1)
        sizes = np.bincount(nearest, weights, minlength=targets.shape[1])
        groups = np.flatnonzero(sizes)
        shares = np.full(len(groups), n_prototypes // len(groups))
        shares[np.argsort(-sizes[groups], kind="stable")[: n_prototypes % len(groups)]] += 1
        centres = [
            centres_of(data[nearest == k], number, weights[nearest == k], random)[0]
            for k, number in zip(groups, shares.tolist(), strict=True)
        ]
        owners = np.repeat(groups, [len(some) for some in centres])
        return np.concatenate(centres), np.eye(targets.shape[1])[owners] + _BLUR

    def _probabilities(self, network: ENNParameters, data: FloatArray) -> FloatArray:
        masses = network.masses(data)
        return np.asarray(masses[:, :-1] + masses[:, -1:] / (masses.shape[1] - 1))

    def _masses(self, rows: FloatArray) -> FloatArray:
        masses = self._network.masses(self._enter(rows))
        return np.column_stack([np.zeros(len(rows)), masses])


__all__ = ["EvidentialNeuralClassifier"]
