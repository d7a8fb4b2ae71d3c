r"""Weights of evidence of the features of a linear model for and against each class.

A feature j with the weight :math:`w_{jk}` for class k is a simple mass function: for the class if the weight is
positive, against it if it is negative. Dempster's rule combines them, and the plausibilities of the classes are
then proportional to the probabilities of the model. Unlike probabilities, the masses distinguish a lack of
evidence from conflicting evidence.
"""

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

_MAX_CLASSES = 12  # for masses on all sets
#: Finite substitute for the logarithm of 0, so that products with 0 are 0.
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
    """Compute mass functions from a logistic regression or a multilayer perceptron.

    Each feature is a piece of evidence for or against each class. Normalized to the sum 1, the plausibilities of
    the classes are the probabilities of the model.

    Parameters
    ----------
    estimator : fitted scikit-learn classifier
        A `~sklearn.linear_model.LogisticRegression`, a `~sklearn.neural_network.MLPClassifier`, or another model
        whose probabilities are the softmax of linear scores, alone or at the end of a pipeline.
    X : array-like of shape (n_samples, n_features)
        Samples.
    reference : array-like of shape (n_reference, n_features), default=None
        Training data. At the mean of a feature in these samples, its evidence is minimal. None means the samples
        themselves.

    Returns
    -------
    CredalPartition
        Mass functions on all sets of up to 12 classes. With more classes, the focal sets are single classes and
        the set of all classes, which receives the mass of all other sets.

    See Also
    --------
    EvidentialRBFClassifier : Network with evidence that vanishes far from the data.

    References
    ----------
    Denœux (2019b), Logistic regression, neural networks and Dempster-Shafer theory: a
    new perspective, Knowledge-Based Systems 176, doi:10.1016/j.knosys.2019.03.030.

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
            f"estimator must be a model whose probabilities are the softmax of linear scores, such as a "
            f"logistic regression with a common loss for all classes, got {last!r}."
        )
    reference_features = features if reference is None else _last_layer(last, _transformed(before, reference))[0]
    weights, constants = _center_evidence(weights, intercepts, reference_features.mean(axis=0))
    names = [str(name) for name in last.classes_]
    return with_names_of(X, combine_evidence(features, weights, constants, names))


def combine_evidence(
    features: FloatArray, weights: FloatArray, constants: FloatArray, names: list[str]
) -> CredalPartition:
    """Return the masses of samples from evidence ``features[:, j] * weights[j, k] + constants[j, k]``."""
    focal_sets = sets_of_evidence(names)
    masses = masses_of_evidence(features, weights, constants, focal_sets)
    return of_classes(CredalPartition(masses, focal_sets, validate=False))


def masses_of_evidence(
    features: FloatArray, weights: FloatArray, constants: FloatArray, focal_sets: FocalSets
) -> FloatArray:
    """Return the masses of samples as an array, on given focal sets."""
    masses = [_masses(features[rows], weights, constants, focal_sets) for rows in row_blocks(len(features), 1024)]
    return np.concatenate(masses)


def sets_of_evidence(names: list[str]) -> FocalSets:
    """Return the focal sets of weights of evidence."""
    return FocalSets.full(names) if len(names) <= _MAX_CLASSES else FocalSets.simple(names)


def _masses(features: FloatArray, weights: FloatArray, constants: FloatArray, focal_sets: FocalSets) -> FloatArray:
    evidence = features[:, :, None] * weights + constants
    support, denial = np.maximum(evidence, 0).sum(axis=1), np.maximum(-evidence, 0).sum(axis=1)
    # Logarithms avoid underflow with strong conflicting evidence.
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
    """Return the logarithm of the mass 1 - exp(-weight) of a weight of evidence."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(np.log(-np.expm1(-weights)), NEVER))


def _log_of_several(denial: FloatArray) -> FloatArray:
    """Return the logarithm of the mass of all sets of at least 2 classes, by the evidence against each class."""
    no_class, single_class, more_classes = np.ones(len(denial)), np.zeros(len(denial)), np.zeros(len(denial))
    for share in np.exp(-denial).T:
        more_classes += single_class * share
        single_class = single_class * (1 - share) + no_class * share
        no_class = no_class * (1 - share)
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(np.log(more_classes), NEVER))


def _transformed(before: Any, X: Any) -> Any:
    return X if before is None else before.transform(X)


def _last_layer(model: Any, data: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the inputs of a model's last layer, with weights and an intercept for each class."""
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
    """Return weights and intercepts for each class, also for binary models with a single score."""
    if weights.shape[1] > 1:
        return weights, intercepts
    return np.hstack([-weights, weights]) / 2, np.concatenate([-intercepts, intercepts]) / 2


def _center_evidence(
    weights: FloatArray, intercepts: FloatArray, means: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return weights with the sum 0 over the classes, and the evidence of each feature with value 0."""
    weights = weights - weights.mean(axis=1, keepdims=True)
    constants = (intercepts - intercepts.mean() + means @ weights) / len(weights) - weights * means[:, None]
    return weights, constants


def masses_of_logs(logs: FloatArray, focal_sets: FocalSets) -> FloatArray:
    """Compute normalized masses from sums of logarithms of commonalities.

    Parameters
    ----------
    logs : ndarray of shape (n_samples, n_focal_sets - 1)
        Sums for the nonempty sets.
    focal_sets : FocalSets
        Empty set and nonempty sets, closed under intersection.

    Returns
    -------
    ndarray of shape (n_samples, n_focal_sets)
        Masses, without mass on the empty set.
    """
    # Relative to the largest value, to avoid underflow.
    common = np.exp(logs - logs.max(axis=1, keepdims=True))
    masses: FloatArray = np.zeros((len(logs), len(focal_sets)))
    masses[:, 1:] = np.maximum(common @ focal_sets.moebius_matrix[1:, 1:].T, 0)
    return np.asarray(masses / masses.sum(axis=1, keepdims=True))
