"""A clusterer at the end of a pipeline."""

from typing import Any

from sklearn.pipeline import Pipeline

from evlearn.cluster.base import with_names_of
from evlearn.cluster.training_data import digest_of_data
from evlearn.partition import CredalPartition


def split_pipeline(estimator: Any) -> tuple[Pipeline | None, Any]:
    """What comes before the clusterer, and the clusterer.

    Parameters
    ----------
    estimator : object
        A pipeline, or a clusterer.

    Returns
    -------
    before : Pipeline or None
        What transforms the data first.
    clusterer : object
        The last step, or the estimator itself.
    """
    if not isinstance(estimator, Pipeline):
        return None, estimator
    return (estimator[:-1] if len(estimator) > 1 else None), estimator[-1]


def partition_of(estimator: Any, X: Any) -> CredalPartition:
    """What an estimator, or a pipeline that ends in one, says about objects, old or new.

    Parameters
    ----------
    estimator : fitted estimator of evlearn
        Its last step has ``predict_mass``.
    X : array-like or data frame of shape (n_objects, n_attributes)
        The objects.

    Returns
    -------
    CredalPartition
        The masses that the fit found, if X holds the very numbers that the estimator was fitted to; else those
        that it predicts. With the index of X, if that is a frame.
    """
    before, clusterer = split_pipeline(estimator)
    seen = X if before is None else before.transform(X)
    known = getattr(clusterer, "_fitted_to", None)
    fitted = getattr(clusterer, "credal_partition_", None)
    if known is not None and fitted is not None and known == digest_of_data(seen):
        return with_names_of(X, fitted)
    return with_names_of(X, clusterer.predict_mass(seen))


def predicted_partition(estimator: Any, X: Any) -> CredalPartition:
    """What an estimator, or a pipeline that ends in one, predicts of objects.

    Parameters
    ----------
    estimator : fitted estimator of evlearn
        Its last step has ``predict_mass``.
    X : array-like or data frame of shape (n_objects, n_attributes)
        The objects.

    Returns
    -------
    CredalPartition
        The partition.
    """
    before, clusterer = split_pipeline(estimator)
    said: CredalPartition = clusterer.predict_mass(X if before is None else before.transform(X))
    return said
