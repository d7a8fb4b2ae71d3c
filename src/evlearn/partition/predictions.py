"""Masses, sets and decisions from fitted estimators and pipelines."""

from collections.abc import Sequence
from inspect import signature
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from evlearn.partition.credal_partition import REJECTED, UNKNOWN, CredalPartition
from evlearn.partition.estimators import (
    predicted_partition,
    split_pipeline,
    transform_through_pipeline,
    verdict_frame,
    with_names_of,
)
from evlearn.partition.verdict import SURE_LEVEL
from evlearn.utils.typing import BoolArray, EstimatorLike, IntArray


def predict_mass(estimator: EstimatorLike, X: ArrayLike) -> CredalPartition:
    """Predict the mass functions of samples, with an estimator or a pipeline that ends in one.

    A scikit-learn pipeline does not expose ``predict_mass`` of its last step. This function applies the other
    steps to the samples first.

    Parameters
    ----------
    estimator : object
        Fitted evlearn estimator, pipeline that ends in one, or fitted search over one of these, such as
        ``GridSearchCV``. Probabilities of scikit-learn's estimators become masses on single clusters or classes.
    X : array-like
        Samples in the form that the first step expects, for example a frame with text and missing values.

    Returns
    -------
    CredalPartition
        One mass function per sample, with the index of X if it is a pandas frame.

    See Also
    --------
    predict_set : Candidate clusters or classes of each sample.
    decide : Decisions with a reject option.
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
    """Predict the set of clusters or classes that each sample may belong to, with an estimator or a pipeline.

    Parameters
    ----------
    estimator : object
        Fitted estimator, pipeline or search, as for `predict_mass`.
    X : array-like
        Samples in the form that the first step expects.
    level : float or None, default=None
        Minimum belief of the candidates of a sample; for `ConformalClusterer`, the confidence level. None means
        the default of the estimator.

    Returns
    -------
    ndarray of bool of shape (n_samples, n_clusters)
        True if the cluster is a candidate: one for sure samples, several for torn ones, none for outliers.

    See Also
    --------
    predict_mass : Mass functions of the samples, with an example.
    """
    options = {} if level is None else {"level": level}
    last, features = transform_through_pipeline(estimator, X)
    if hasattr(last, "predict_set"):
        if level is not None and "confidence_level" in signature(last.predict_set).parameters:
            options = {"confidence_level": level}
        candidates: BoolArray = last.predict_set(features, **options)
        return candidates
    return predicted_partition(last, features).verdict(**options).candidates


def predict_frame(
    estimator: EstimatorLike,
    X: ArrayLike,
    *,
    library: Literal["pandas", "polars"] | None = None,
    level: float = SURE_LEVEL,
) -> Any:
    """Predict clusters or classes with verdicts, as a data frame, with an estimator or a pipeline.

    The columns do not depend on the number of clusters, as model servers and database tables require. For masses,
    use ``predict_mass(estimator, X).to_frame()``.

    Parameters
    ----------
    estimator : object
        Fitted estimator, pipeline or search, as for `predict_mass`.
    X : array-like
        Samples in the form that the first step expects.
    library : {"pandas", "polars"} or None, default=None
        Library of the frame; None means polars if X is a polars frame, and pandas otherwise.
    level : float, default=0.6
        Belief in one cluster from which a sample is sure, see `evlearn.CredalPartition.verdict`.

    Returns
    -------
    pandas.DataFrame or polars.DataFrame
        One row per sample. ``cluster``: most plausible cluster or class; ``second_cluster``: the next one, missing
        if there is only one cluster; ``verdict``: sure, torn or outlier; ``doubt``: from 0 to 1; and
        ``outlier_score``: mass of the empty set, at least 0.5 for outliers. A pandas frame has the index of X; a
        polars frame has names of samples, if any, in the column ``sample``.

    See Also
    --------
    CredalPartition.to_frame : Frame with all masses.

    Examples
    --------
    >>> import evlearn
    >>> from evlearn.cluster import ECM
    >>> from evlearn.datasets import load_butterfly
    >>> X = load_butterfly().data
    >>> model = ECM(2, random_state=0).fit(X)
    >>> evlearn.predict_frame(model, X[[0, 5, 11]])["verdict"].tolist()
    ['sure', 'torn', 'outlier']
    """
    return verdict_frame(predict_mass(estimator, X), X, library, level)


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
    """Return the decision with the smallest expected loss for each sample, with an estimator or a pipeline.

    Parameters
    ----------
    estimator : object
        Fitted estimator, pipeline or search, as for `predict_mass`.
    X : array-like
        Samples in the form that the first step expects.
    rejection_cost : float, default=None
        Loss of rejecting a sample, without a decision. None means that rejection is not allowed.
    unknown_cost : float, default=None
        Loss of the decision "unknown" for a sample of a known class. None means that it is not allowed.
    criterion : {"pessimistic", "optimistic", "hurwicz", "pignistic", "plausibility"}, default="pignistic"
        Weighting of mass on several classes, see `evlearn.belief.expected_loss`.
    rho : float, default=0.5
        Optimism index of "hurwicz", between 0 and 1.
    rejected_label : object, default="refused"
        Label of rejected samples, for a classifier. It must differ from all classes.
    unknown_label : object, default="unknown"
        Label of samples of an unknown class, for a classifier. It must differ from all classes.

    Returns
    -------
    ndarray of shape (n_samples,)
        For a classifier, classes, `rejected_label` and `unknown_label`; an array of dtype object if their types
        differ. For a clusterer, cluster numbers, -1 for rejected samples, and -2 for samples of an unknown
        cluster.

    See Also
    --------
    CredalPartition.decide : Decisions from the masses of a partition.
    """
    positions = predict_mass(estimator, X).decide(
        rejection_cost=rejection_cost, unknown_cost=unknown_cost, criterion=criterion, rho=rho
    )
    classes = getattr(split_pipeline(estimator)[1], "classes_", None)
    if classes is None:
        return positions
    rejected_labels = [] if rejection_cost is None else [rejected_label]
    unknown_labels = [] if unknown_cost is None else [unknown_label]
    return decisions_as_classes(positions, classes, rejected_labels=rejected_labels, unknown_labels=unknown_labels)


def decisions_as_classes(
    decisions: IntArray,
    classes: npt.NDArray[Any],
    *,
    rejected_labels: Sequence[Any],
    unknown_labels: Sequence[Any],
) -> npt.NDArray[Any]:
    """Replace positions by classes, and `REJECTED` and `UNKNOWN` by their labels.

    `rejected_labels` and `unknown_labels` contain one label, or none if the decision is not allowed. The type of
    the result depends on all labels, also on those that do not occur: text, numbers, or objects if types are
    mixed.
    """
    for name, label in [("rejected_label", value) for value in rejected_labels] + [
        ("unknown_label", value) for value in unknown_labels
    ]:
        if label in classes.tolist():
            raise ValueError(f"{name} must not be the name of a class, got {label!r}; choose another label.")
    if rejected_labels and unknown_labels and rejected_labels[0] == unknown_labels[0]:
        raise ValueError(f"rejected_label and unknown_label must differ, but both are {unknown_labels[0]!r}.")
    positions = np.where(decisions == REJECTED, len(classes), decisions)
    positions[decisions == UNKNOWN] = len(classes) + len(rejected_labels)
    return _concatenate(classes, [*rejected_labels, *unknown_labels])[positions]


def _concatenate(classes: npt.NDArray[Any], labels: list[Any]) -> npt.NDArray[Any]:
    """Concatenate classes and labels, without converting numbers to text."""
    if not labels:
        return classes
    values = np.empty(len(classes) + len(labels), dtype=object)
    values[:] = [*classes.tolist(), *labels]
    kinds = {np.asarray(label).dtype.kind for label in labels} | {classes.dtype.kind}
    return np.array(values.tolist()) if len(kinds) == 1 and kinds <= set("iufUb") else values
