"""A clusterer at the end of a pipeline."""

from typing import Any

from sklearn.pipeline import Pipeline


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
