r"""Weights of evidence: what the features of a linear model say for and against each class.

A feature j with the weight :math:`w_{jk}` for class k is a simple mass function: for the class if the weight is
positive, against it if it is negative. Dempster's rule puts them together, and the plausibilities of the classes
are then proportional to the probabilities of the model. The masses show what probabilities hide: whether there is
little evidence, or much that disagrees.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, softmax
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from evlearn.belief import FocalSets
from evlearn.partition import CredalPartition
from evlearn.partition.credal_partition import of_classes
from evlearn.partition.estimators import split_pipeline, with_names_of
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import ClassifierLike, FloatArray
from evlearn.utils.validation import check_shape

_MOST_CLASSES = 12
_CERTAIN = 30.0  # weights beyond leave products without meaning
#: The logarithm of nothing, which may still be multiplied by zero.
NEVER = -1e5
_ACTIVATIONS = {
    "identity": lambda values: values,
    "logistic": expit,
    "tanh": np.tanh,
    "relu": lambda values: np.maximum(values, 0),
}


def masses_from_linear(
    estimator: ClassifierLike, X: ArrayLike, *, reference: ArrayLike | None = None
) -> CredalPartition:
    """The mass functions behind the probabilities of a logistic regression or a multilayer perceptron.

    Every feature is a piece of evidence for or against each class. Divided by their sum, the plausibilities of the
    classes are the probabilities of the model.

    Parameters
    ----------
    estimator : fitted scikit-learn classifier
        A `~sklearn.linear_model.LogisticRegression`, a `~sklearn.neural_network.MLPClassifier`, or another model
        whose probabilities are the softmax of linear scores, alone or at the end of a pipeline.
    X : array-like of shape (n_samples, n_features)
        The samples.
    reference : array-like of shape (n_reference, n_features), default=None
        Where the mean of a feature is taken from, at which it says as little as possible: the training data. None
        means the samples themselves.

    Returns
    -------
    CredalPartition
        A mass function for each sample, on all sets of up to twelve classes. With more, on single classes and on
        all of them, where what belongs to sets in between is counted as mass on all.

    See Also
    --------
    evidence_from_weights : The same for the last layer of any network, with what each feature says.
    EvidentialRBFClassifier : A network whose evidence fades far from the data, which that of a line does not.

    References
    ----------
    Denœux (2019b).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from evlearn.classify import masses_from_linear
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression(max_iter=1000).fit(X, y)
    >>> partition = masses_from_linear(model, X)
    >>> bool(abs(partition.to_fuzzy() - model.predict_proba(X)).max() < 1e-9)
    True
    """
    before, last = split_pipeline(estimator)
    check_is_fitted(last)
    features, weights, intercepts = _last_layer(last, _transformed(before, X))
    scores = features @ weights + intercepts
    if np.abs(softmax(scores, axis=1) - estimator.predict_proba(X)).max() > 1e-6:
        raise ValueError(
            f"estimator must be a model whose probabilities are the softmax of linear scores, as those of a "
            f"logistic regression with one loss for all classes are; those of {last!r} are not."
        )
    known = features if reference is None else _last_layer(last, _transformed(before, reference))[0]
    weights, constants = _shared_out(weights, intercepts, known.mean(axis=0))
    names = [str(one) for one in last.classes_]
    return with_names_of(X, combine_evidence(features, weights, constants, names))


@dataclass(frozen=True)
class LayerEvidence:
    """What the features of a last layer say about the classes of samples.

    Attributes
    ----------
    features : ndarray of shape (n_samples, n_features)
        The features.
    slopes : ndarray of shape (n_features, n_classes)
        What one unit of each feature says for or against each class.
    constants : ndarray of shape (n_features, n_classes)
        What each feature says if it is zero.
    classes : tuple of str
        The names of the classes.
    """

    features: FloatArray
    slopes: FloatArray
    constants: FloatArray
    classes: tuple[str, ...]

    @property
    def partition(self) -> CredalPartition:
        """The mass functions of the samples: all that features say, by Dempster's rule."""
        return combine_evidence(self.features, self.slopes, self.constants, list(self.classes))

    @property
    def weights(self) -> FloatArray:
        """Weights of evidence, of shape (n_samples, n_features, n_classes): above zero for a class, or against."""
        return np.asarray(self.features[:, :, None] * self.slopes + self.constants)

    @property
    def conflict(self) -> FloatArray:
        """The degree of conflict, from 0 to 1, of shape (n_samples,).

        With two classes, between all that speaks for one and all that speaks for the other; with more, between all
        that speaks for classes and all that speaks against some.
        """
        parts = [
            _conflict(self.features[rows, :, None] * self.slopes + self.constants)
            for rows in row_blocks(len(self.features), 1024)
        ]
        return np.concatenate(parts)


def evidence_from_weights(
    features: ArrayLike,
    weights: ArrayLike,
    biases: ArrayLike | None = None,
    *,
    reference: ArrayLike | None = None,
    classes: Sequence[str] | None = None,
) -> LayerEvidence:
    """What the features of a network's last layer say: masses, weights of evidence, and their conflict.

    Use it for any network that ends in a linear layer and a softmax, or a sigmoid, whatever it was trained with.
    Every feature that enters this layer is a piece of evidence for or against each class.

    Parameters
    ----------
    features : array-like of shape (n_samples, n_features)
        What enters the last layer, for each sample.
    weights : array-like of shape (n_features, n_classes) or (n_features,)
        The weights of the layer: ``kernel`` in Keras, the transpose of ``weight`` in torch. One column is the
        score of the second of two classes, whose probability is a sigmoid.
    biases : array-like of shape (n_classes,) or float, default=None
        The biases of the layer; None for none.
    reference : array-like of shape (n_reference, n_features), default=None
        Where the mean of a feature is taken from, at which it says as little as possible: the training data. None
        means the samples themselves.
    classes : sequence of str, default=None
        The names of the classes; None numbers them.

    Returns
    -------
    LayerEvidence
        Its `partition` holds the mass functions, `weights` what each feature says of each class, and `conflict`
        how much of it contradicts the rest.

    See Also
    --------
    masses_from_linear : The masses of scikit-learn models, in one step.

    References
    ----------
    Denœux (2019b).

    Examples
    --------
    Nothing speaks for either class in the first sample, and much speaks for both in the second:

    >>> from evlearn.classify import evidence_from_weights
    >>> evidence = evidence_from_weights([[0, 0], [5, 5]], [2, -2], reference=[[0, 0]])
    >>> evidence.partition.to_fuzzy()
    array([[0.5, 0.5],
           [0.5, 0.5]])
    >>> evidence.conflict.round(2)
    array([0., 1.])
    >>> evidence.weights[1]
    array([[-5.,  5.],
           [ 5., -5.]])
    """
    entered: FloatArray = check_array(features, dtype=np.float64, input_name="features")
    slopes: FloatArray = check_array(weights, dtype=np.float64, input_name="weights", ensure_2d=False)
    slopes = slopes[:, None] if slopes.ndim == 1 else slopes
    if len(slopes) != entered.shape[1]:
        raise ValueError(
            f"weights must have a row for each of the {entered.shape[1]} features, got shape {slopes.shape}; "
            "transpose them if they have a row for each class."
        )
    given = np.zeros(slopes.shape[1]) if biases is None else biases
    offsets: FloatArray = np.atleast_1d(np.asarray(given, dtype=np.float64))
    check_shape("biases", offsets, (slopes.shape[1],))
    slopes, offsets = _for_each_class(slopes, offsets)
    known: FloatArray = (
        entered if reference is None else check_array(reference, dtype=np.float64, input_name="reference")
    )
    check_shape("reference", known, (len(known), entered.shape[1]))
    names = tuple(str(one) for one in (range(len(offsets)) if classes is None else classes))
    if len(names) != len(offsets):
        raise ValueError(f"classes has {len(names)} names, but weights are about {len(offsets)} classes.")
    slopes, constants = _shared_out(slopes, offsets, known.mean(axis=0))
    return LayerEvidence(entered, slopes, constants, names)


def combine_evidence(
    features: FloatArray, weights: FloatArray, constants: FloatArray, names: list[str]
) -> CredalPartition:
    """The masses of samples whose features say ``features[:, j] * weights[j, k] + constants[j, k]`` of class k."""
    focal_sets = sets_of_evidence(names)
    masses = masses_of_evidence(features, weights, constants, focal_sets)
    return of_classes(CredalPartition(masses, focal_sets, validate=False))


def masses_of_evidence(
    features: FloatArray, weights: FloatArray, constants: FloatArray, focal_sets: FocalSets
) -> FloatArray:
    """The same as an array, on sets that are known."""
    masses = [_masses(features[rows], weights, constants, focal_sets) for rows in row_blocks(len(features), 1024)]
    return np.concatenate(masses)


def sets_of_evidence(names: list[str]) -> FocalSets:
    """The sets that weights of evidence give mass to."""
    return FocalSets.full(names) if len(names) <= _MOST_CLASSES else FocalSets.simple(names)


def _masses(features: FloatArray, weights: FloatArray, constants: FloatArray, focal_sets: FocalSets) -> FloatArray:
    said = features[:, :, None] * weights + constants
    support, denial = np.maximum(said, 0).sum(axis=1), np.maximum(-said, 0).sum(axis=1)
    # Logarithms throughout: much evidence that disagrees makes all products tiny.
    denied = _log_share(denial)
    others_denied = denied.sum(axis=1, keepdims=True) - denied
    logs = np.empty((len(features), len(focal_sets) - 1))
    logs[:, : len(weights[0])] = np.logaddexp(support + _log_share(support), others_denied) - denial
    if focal_sets.is_full:
        members = focal_sets.membership[1 + len(weights[0]) :].T.astype(float)
        logs[:, len(weights[0]) :] = denied @ (1 - members) - denial @ members
    else:
        logs[:, -1] = _log_of_several(denial)
    return np.column_stack([np.zeros(len(features)), softmax(logs, axis=1)])


def _conflict(said: FloatArray) -> FloatArray:
    """The mass on the empty set, if all that is for classes meets all that is against some."""
    support, denial = np.maximum(said, 0).sum(axis=1), np.maximum(-said, 0).sum(axis=1)
    if said.shape[2] == 2:  # what is against one class is for the other
        return np.asarray(np.prod(-np.expm1(-support - denial[:, ::-1]), axis=1))
    strongest = support.max(axis=1, keepdims=True)
    open_mass = np.exp(-strongest)
    for_class = np.exp(support - strongest) - open_mass
    for_class /= for_class.sum(axis=1, keepdims=True) + open_mass
    # What remains plausible of a class, relative to the one that is denied least; nothing here may underflow.
    least = denial.min(axis=1, keepdims=True)
    relative = np.exp(least - denial)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        whole = -np.expm1(np.log1p(-np.exp(-denial)).sum(axis=1, keepdims=True)) * np.exp(least)
    plausible = relative / np.where(least > _CERTAIN, relative.sum(axis=1, keepdims=True), whole)
    return np.asarray(np.clip((for_class * (1 - plausible)).sum(axis=1), 0, 1))


def _log_share(weights: FloatArray) -> FloatArray:
    """The logarithm of the mass that goes with a weight of evidence, 1 - exp(-weight)."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(np.log(-np.expm1(-weights)), NEVER))


def _log_of_several(denial: FloatArray) -> FloatArray:
    """The logarithm of the mass of all sets of at least two classes, each class left out by its denial."""
    none, one, several = np.ones(len(denial)), np.zeros(len(denial)), np.zeros(len(denial))
    for left in np.exp(-denial).T:
        several += one * left
        one = one * (1 - left) + none * left
        none = none * (1 - left)
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(np.log(several), NEVER))


def _transformed(before: Any, X: Any) -> Any:
    return X if before is None else before.transform(X)


def _last_layer(model: Any, data: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The features of a model's last layer, with weights and an intercept for each class."""
    features: FloatArray = check_array(data, dtype=np.float64, input_name="X")
    if hasattr(model, "coefs_"):
        for weights, intercepts in zip(model.coefs_[:-1], model.intercepts_[:-1], strict=True):
            features = _ACTIVATIONS[model.activation](features @ weights + intercepts)
        weights, intercepts = model.coefs_[-1], model.intercepts_[-1]
    elif hasattr(model, "coef_") and hasattr(model, "predict_proba"):
        weights, intercepts = np.asarray(model.coef_).T, np.broadcast_to(model.intercept_, len(model.coef_))
    else:
        raise ValueError(
            f"estimator must be a scikit-learn logistic regression or multilayer perceptron, got {model!r}."
        )
    return features, *_for_each_class(weights, intercepts)


def _for_each_class(weights: FloatArray, intercepts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A score for each class, also for two classes with one score between them."""
    if weights.shape[1] > 1:
        return weights, intercepts
    return np.hstack([-weights, weights]) / 2, np.concatenate([-intercepts, intercepts]) / 2


def _shared_out(weights: FloatArray, intercepts: FloatArray, means: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weights with sum zero over the classes, and what each feature says at zero."""
    weights = weights - weights.mean(axis=1, keepdims=True)
    constants = (intercepts - intercepts.mean() + means @ weights) / len(weights) - weights * means[:, None]
    return weights, constants


__all__ = ["LayerEvidence", "evidence_from_weights", "masses_from_linear"]
