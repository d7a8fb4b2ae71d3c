r"""Weights of evidence: what the features of a linear model say for and against each class.

A feature j with the weight :math:`w_{jk}` for class k is a simple mass function: for the class if the weight is
positive, against it if it is negative. Dempster's rule puts them together, and the plausibilities of the classes
are then proportional to the probabilities of the model. The masses tell what probabilities hide: whether there is
little evidence, or much that disagrees.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike
from scipy.special import expit, softmax
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from evlearn.belief import FocalSets
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import split_pipeline, with_names_of
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import ClassifierLike, FloatArray

_MOST_CLASSES = 12
_NEVER = -1e5  # the logarithm of nothing, which may still be multiplied by zero
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
    estimator : fitted classifier of scikit-learn
        A `~sklearn.linear_model.LogisticRegression`, a `~sklearn.neural_network.MLPClassifier`, or another model
        whose probabilities are the softmax of linear scores, alone or at the end of a pipeline.
    X : array-like of shape (n_samples, n_features)
        The samples.
    reference : array-like of shape (n_reference, n_features), default=None
        Where the mean of a feature is taken from, at which it says as little as possible: the training data. None
        takes X itself.

    Returns
    -------
    CredalPartition
        A mass function for each sample, on all sets of up to twelve classes. With more, on single classes and on
        all of them, where what belongs to sets in between is counted as mass on all.

    See Also
    --------
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
    means = features.mean(axis=0)
    if reference is not None:
        means = _last_layer(last, _transformed(before, reference))[0].mean(axis=0)
    weights = weights - weights.mean(axis=1, keepdims=True)
    constants = (intercepts - intercepts.mean() + means @ weights) / len(weights) - weights * means[:, None]
    names = [str(one) for one in last.classes_]
    return with_names_of(X, combine_evidence(features, weights, constants, names))


def combine_evidence(
    features: FloatArray, weights: FloatArray, constants: FloatArray, names: list[str]
) -> CredalPartition:
    """The masses of samples whose features say ``features[:, j] * weights[j, k] + constants[j, k]`` of class k."""
    focal_sets = sets_of_evidence(names)
    masses = [_masses(features[rows], weights, constants, focal_sets) for rows in row_blocks(len(features), 1024)]
    return CredalPartition(np.concatenate(masses), focal_sets, validate=False)


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


def _log_share(weights: FloatArray) -> FloatArray:
    """The logarithm of the mass that goes with a weight of evidence, 1 - exp(-weight)."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(np.log(-np.expm1(-weights)), _NEVER))


def _log_of_several(denial: FloatArray) -> FloatArray:
    """The logarithm of the mass of all sets of at least two classes, each class left out by its denial."""
    none, one, several = np.ones(len(denial)), np.zeros(len(denial)), np.zeros(len(denial))
    for left in np.exp(-denial).T:
        several += one * left
        one = one * (1 - left) + none * left
        none = none * (1 - left)
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(np.log(several), _NEVER))


def _transformed(before: Any, X: Any) -> Any:
    return X if before is None else before.transform(X)


def _last_layer(model: Any, data: Any) -> tuple[FloatArray, FloatArray, npt.NDArray[Any]]:
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
            f"estimator must be a logistic regression or a multilayer perceptron of scikit-learn, got {model!r}."
        )
    if weights.shape[1] == 1:  # two classes with one score between them
        weights, intercepts = np.hstack([-weights, weights]) / 2, np.concatenate([-intercepts, intercepts]) / 2
    return features, weights, intercepts


__all__ = ["masses_from_linear"]
