"""What fitted estimators say of samples, also at the end of a pipeline, which hides all but labels."""

from typing import Any, Literal

import numpy.typing as npt
from numpy.typing import ArrayLike

from evlearn.partition.credal_partition import CredalPartition
from evlearn.partition.decisions import called_by_class
from evlearn.partition.estimators import predicted_partition, reached, split_pipeline, with_names_of
from evlearn.utils.typing import BoolArray, EstimatorLike


def predict_mass(estimator: EstimatorLike, X: ArrayLike) -> CredalPartition:
    """The mass functions of samples, from an estimator or from a pipeline that ends in one.

    A scikit-learn pipeline hides ``predict_mass`` of its last step. This function lets the other steps
    transform the samples first.

    Parameters
    ----------
    estimator : object
        A fitted evlearn estimator, a pipeline that ends in one, or a fitted search such as ``GridSearchCV``
        over one of these. Probabilities of scikit-learn's estimators are masses on single clusters or classes.
    X : array-like
        The samples, as the first step expects them: also a frame with text and gaps.

    Returns
    -------
    CredalPartition
        A mass function for each sample, with the index of a pandas frame.

    See Also
    --------
    predict_set : The clusters or classes that each sample may belong to.
    decide : Decisions, with the choice to refuse.
    evlearn.model_selection.cross_val_mass : Masses of samples that the estimator was not fitted to.

    Examples
    --------
    >>> import evlearn
    >>> from evlearn.classify import EvidentialKNNClassifier
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_iris(return_X_y=True)
    >>> pipeline = make_pipeline(StandardScaler(), EvidentialKNNClassifier()).fit(X, y)
    >>> evlearn.predict_mass(pipeline, X)
    CredalPartition(150 samples, 3 classes, 5 focal sets, float64)
    """
    return with_names_of(X, predicted_partition(estimator, X))


def predict_set(estimator: EstimatorLike, X: ArrayLike, *, level: float | None = None) -> BoolArray:
    """The clusters or classes that each sample may belong to, from an estimator or a pipeline that ends in one.

    Parameters
    ----------
    estimator : object
        A fitted estimator, a pipeline or a search, as for `predict_mass`.
    X : array-like
        The samples, as the first step expects them.
    level : float or None, default=None
        The belief that the candidates of a sample must have together; the coverage for `ConformalClusterer`. None
        is the default of the estimator.

    Returns
    -------
    ndarray of bool of shape (n_samples, n_clusters)
        Whether the cluster is a candidate: one for sure samples, several for torn ones, none for outliers.

    See Also
    --------
    predict_mass : All that is known, with an example.
    """
    options = {} if level is None else {"level": level}
    last, seen = reached(estimator, X)
    if hasattr(last, "predict_set"):
        found: BoolArray = last.predict_set(seen, **options)
        return found
    return predicted_partition(last, seen).verdict(**options).candidates


def decide(
    estimator: EstimatorLike,
    X: ArrayLike,
    *,
    rejection_cost: float | None = None,
    unknown_cost: float | None = None,
    criterion: Literal["pessimistic", "optimistic", "hurwicz", "pignistic", "plausibility"] = "pignistic",
    rho: float = 0.5,
    rejected_label: object = "refused",
    unknown_label: object = "unknown",
) -> npt.NDArray[Any]:
    """The decision with the smallest expected loss for each sample, from an estimator or a pipeline.

    Parameters
    ----------
    estimator : object
        A fitted estimator, a pipeline or a search, as for `predict_mass`.
    X : array-like
        The samples, as the first step expects them.
    rejection_cost : float, default=None
        The loss of refusing to decide; None does not allow it.
    unknown_cost : float, default=None
        The loss of saying "none of the known ones" of a sample of a known class; None does not allow it.
    criterion : {"pessimistic", "optimistic", "hurwicz", "pignistic", "plausibility"}, default="pignistic"
        How mass on several classes is weighed, see `evlearn.belief.expected_loss`.
    rho : float, default=0.5
        The optimism of "hurwicz", between 0 and 1.
    rejected_label : object, default="refused"
        What a classifier answers where it refuses. No class may be called so.
    unknown_label : object, default="unknown"
        What a classifier answers for a class that is not among the known ones. No class may be called so.

    Returns
    -------
    ndarray of shape (n_samples,)
        Of a classifier, classes as they were called in the labels, `rejected_label` and `unknown_label`; an array
        of objects, if these are of different types. Of a clusterer, numbers of clusters, -1 where the decision is
        refused, and -2 for none of the known ones.

    See Also
    --------
    CredalPartition.decide : The same for masses that are there already.
    """
    positions = predict_mass(estimator, X).decide(
        rejection_cost=rejection_cost, unknown_cost=unknown_cost, criterion=criterion, rho=rho
    )
    classes = getattr(split_pipeline(estimator)[1], "classes_", None)
    if classes is None:
        return positions
    refused = [] if rejection_cost is None else [rejected_label]
    unknown = [] if unknown_cost is None else [unknown_label]
    return called_by_class(positions, classes, refused=refused, unknown=unknown)


__all__ = ["decide", "predict_mass", "predict_set"]
