"""Credal partitions from fitted estimators of evlearn and scikit-learn, from pipelines, and from arguments."""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from evlearn.blocks.open import needs_blocks
from evlearn.partition.credal_partition import CredalPartition, frame_of
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import FloatArray

#: Maximum number of values for which a check of all of them is faster than that of a transformer.
_SMALL_SIZE = 10_000


def split_pipeline(estimator: Any) -> tuple[Pipeline | None, Any]:
    """Return the transformers before the clusterer, or None, and the clusterer."""
    estimator = getattr(estimator, "best_estimator_", estimator)  # for a parameter search
    if not isinstance(estimator, Pipeline):
        return None, estimator
    return (estimator[:-1] if len(estimator) > 1 else None), estimator[-1]


def predicts_masses(estimator: Any) -> bool:
    """Return True if an estimator, or the last step of a pipeline, has ``predict_mass``."""
    return hasattr(split_pipeline(estimator)[1], "predict_mass")


def partition_of(estimator: Any, X: Any) -> CredalPartition:
    """Return the partition of training samples or new samples, from an evlearn estimator or a pipeline.

    If X equals the training data, the masses are those of the fit; otherwise they are predicted. If X is a frame,
    the partition has its index.
    """
    clusterer, samples = transform_through_pipeline(estimator, X)
    digest = getattr(clusterer, "_fitted_to", None)
    fitted = getattr(clusterer, "credal_partition_", None)
    if digest is not None and fitted is not None and digest == digest_of_data(samples):
        return with_names_of(X, fitted)
    return with_names_of(X, clusterer.predict_mass(samples))


def partition_for(result: Any, X: Any) -> CredalPartition:
    """Return the partition of the rows of a table.

    A partition is returned unchanged, with the index of X if it has no sample names. A fitted estimator or
    pipeline is passed to `partition_of`, or its predictions or labels are converted; without X, the result is the
    partition of its training samples.
    """
    if isinstance(result, CredalPartition):
        if X is None:
            return result
        if n_rows_of(X) != result.n_samples:
            raise ValueError(
                f"X has {n_rows_of(X)} rows but the partition has {result.n_samples} samples; pass the table of "
                "these samples."
            )
        return result if result.sample_index is not None else with_names_of(X, result)
    if X is None:
        return fitted_partition(result)
    check_is_fitted(result)
    if predicts_masses(result):
        return partition_of(result, X)
    clusterer = split_pipeline(result)[1]
    predicts = hasattr(clusterer, "predict") or hasattr(clusterer, "predict_proba")
    return with_names_of(X, predicted_partition(result, X) if predicts else fitted_partition(result, X))


def n_rows_of(X: Any) -> int:
    """Return the number of rows of an array, a list, or a table from any library."""
    column = next(iter(X.values()), ()) if isinstance(X, Mapping) else X
    return int(column.shape[0]) if hasattr(column, "shape") else len(column)


def fitted_partition(estimator: Any, X: Any = None) -> CredalPartition:
    """Return the partition of the training samples of a fitted clusterer.

    It is made from masses, probabilities or labels, in this order of preference; without X, from masses only.
    """
    partition = getattr(split_pipeline(estimator)[1], "credal_partition_", None)
    if isinstance(partition, CredalPartition):
        return partition
    if X is None:
        raise ValueError(
            f"estimator must be fitted and have a credal_partition_, got {estimator!r}; "
            "call fit first, or pass a CredalPartition."
        )
    clusterer, samples = transform_through_pipeline(estimator, X)
    if hasattr(clusterer, "predict_mass") or hasattr(clusterer, "predict_proba"):
        return predicted_partition(clusterer, samples)
    if hasattr(clusterer, "labels_"):
        memberships = memberships_of(clusterer.labels_, clusterer.labels_)
        if memberships.shape[1] == 0:
            raise ValueError(
                f"{clusterer!r} labels all samples as noise; change its parameters, or remove it from the "
                "ensemble."
            )
        return CredalPartition.from_fuzzy(memberships)
    raise ValueError(
        f"{clusterer!r} is not a clusterer: after fit, it has none of labels_, predict_proba and predict_mass."
    )


def predicted_partition(estimator: Any, X: Any) -> CredalPartition:
    """Return the predicted partition of new samples, with the focal sets of `fitted_partition`."""
    clusterer, samples = transform_through_pipeline(estimator, X)
    if hasattr(clusterer, "predict_mass"):
        partition: CredalPartition = clusterer.predict_mass(samples)
        return partition
    if hasattr(clusterer, "predict_proba"):
        return CredalPartition.from_fuzzy(clusterer.predict_proba(samples))
    if hasattr(clusterer, "predict"):
        return CredalPartition.from_fuzzy(memberships_of(clusterer.predict(samples), clusterer.labels_))
    raise ValueError(
        f"{clusterer!r} cannot predict clusters of new samples: it has no predict_mass, predict_proba or predict; "
        "use another estimator."
    )


def with_names_of(X: Any, partition: CredalPartition) -> CredalPartition:
    """Return a partition with the index of a pandas frame, unless it is the default index."""
    index = getattr(X, "index", None) if hasattr(X, "iloc") else None
    if index is None or _is_default_index(index):
        return partition
    return partition.rename(sample_names=index)


def verdict_frame(partition: CredalPartition, X: Any, library: str | None, level: float) -> Any:
    """Return clusters, second clusters, verdicts, doubt and outlier scores as a frame, like X by default."""
    if library is None:
        library = "polars" if type(X).__module__.partition(".")[0] == "polars" else "pandas"
    names = partition.focal_sets.names
    labels = np.arange(partition.n_clusters) if names is None else np.array(names, dtype=object)
    is_single = partition.n_clusters == 1
    columns = {
        "cluster": labels[partition.to_hard()],
        "second_cluster": [None] * len(partition) if is_single else labels[partition.second_clusters()],
        "verdict": partition.verdict_names(level),
        "doubt": partition.doubt(),
        "outlier_score": partition.mass_table[:, 0],
    }
    return frame_of(columns, partition, library)


def digest_of_data(X: Any) -> str | None:
    """Return a digest of data, which does not depend on their container, precision and memory order.

    It is used to recognize training data. None if the data are not in memory or not numeric.
    """
    if needs_blocks(X):
        return None
    arrays = [X]
    if issparse(X):
        rows = X.tocsr(copy=True)
        rows.sum_duplicates()
        arrays = [rows.indptr, rows.indices, rows.data]
    digest = hashlib.sha256()
    try:
        for array in arrays:
            _update_digest(digest, np.asarray(array))
    except (TypeError, ValueError):
        return None
    return digest.hexdigest()


def transform_through_pipeline(estimator: Any, X: Any) -> tuple[Any, Any]:
    """Return the clusterer, and the samples after the transformers before it."""
    estimator = getattr(estimator, "best_estimator_", estimator)  # for a parameter search
    if not isinstance(estimator, Pipeline):
        return estimator, X
    # Step by step, because a copy and the checks of a pipeline take longer than scaling a row.
    *transformers, (_, clusterer) = estimator.steps
    for _, step in transformers:
        if step is not None and step != "passthrough":
            X = _scale(step, X) if _can_scale(step, X, clusterer) else step.transform(X)
    return clusterer, X


def _can_scale(step: Any, X: Any, clusterer: Any) -> bool:
    """Return True if a step is a scaler that would return a few rows without a warning.

    Its checks take longer than the prediction of a row.
    """
    if type(step) is not StandardScaler or type(X) is not np.ndarray or X.dtype != np.float64 or X.ndim != 2:
        return False
    # Estimators with feature names warn about arrays, and a scaler may return frames.
    if hasattr(step, "feature_names_in_") or hasattr(clusterer, "feature_names_in_"):
        return False
    is_small = 0 < X.size <= _SMALL_SIZE and X.shape[1] == getattr(step, "n_features_in_", None)
    return is_small and not np.isinf(X).any()


def _scale(scaler: StandardScaler, X: FloatArray) -> FloatArray:
    """Return rows as the scaler would."""
    rows = X.copy()
    if scaler.with_mean:
        rows -= scaler.mean_
    if scaler.with_std:
        rows /= scaler.scale_
    return rows


def memberships_of(labels: Any, fitted_labels: Any) -> FloatArray:
    """Return memberships of 1 in the cluster of each sample, and of 0 for noise (-1)."""
    classes = np.unique(fitted_labels)
    return np.asarray(np.asarray(labels)[:, None] == classes[classes != -1], dtype=np.float64)


def _is_default_index(index: Any) -> bool:
    return type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)


def _update_digest(digest: Any, values: Any) -> None:
    digest.update(repr(values.shape).encode())
    for block in row_blocks(len(values)):
        digest.update(np.ascontiguousarray(values[block], dtype=np.float64))


def as_credal(partition: CredalPartition | ArrayLike, name: str = "partition") -> CredalPartition:
    """Convert labels or probabilities to a credal partition.

    Parameters
    ----------
    partition : CredalPartition or array-like
        Credal partition, which is returned; labels of shape (n_samples,), where -1 means noise if 0 occurs too, as
        in scikit-learn's clusterers; or probabilities of shape (n_samples, n_clusters).
    name : str, default="partition"
        Name of the argument in error messages.

    Returns
    -------
    CredalPartition
        Credal partition.

    Examples
    --------
    >>> from evlearn.partition.estimators import as_credal
    >>> as_credal([0, 0, 1, -1]).outliers()
    array([False, False, False,  True])
    """
    if isinstance(partition, CredalPartition):
        return partition
    values = np.asarray(partition)
    if values.ndim == 1:
        return CredalPartition.from_hard(values, noise_label=-1 if _marks_noise(values) else None)
    if values.ndim == 2:
        return CredalPartition.from_fuzzy(values)
    raise ValueError(
        f"{name} must be a CredalPartition, labels of shape (n_samples,) or probabilities of shape (n_samples, "
        f"n_clusters), got shape {values.shape}."
    )


def _marks_noise(labels: npt.NDArray[Any]) -> bool:
    """Return True if -1 means noise: if 0 occurs too, unlike in the classes -1 and 1."""
    return bool(np.issubdtype(labels.dtype, np.integer) and (labels == -1).any() and (labels == 0).any())
