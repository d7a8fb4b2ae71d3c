"""What fitted estimators say about samples, as partitions: ours, pipelines that end in one, and scikit-learn's."""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from evlearn.blocks.open import is_elsewhere
from evlearn.partition.credal_partition import CredalPartition
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import FloatArray


def split_pipeline(estimator: Any) -> tuple[Pipeline | None, Any]:
    """What comes before the clusterer (None if nothing does), and the clusterer itself."""
    estimator = getattr(estimator, "best_estimator_", estimator)  # of a search over parameters
    if not isinstance(estimator, Pipeline):
        return None, estimator
    return (estimator[:-1] if len(estimator) > 1 else None), estimator[-1]


def predicts_masses(estimator: Any) -> bool:
    """Whether an estimator, or the last step of a pipeline, says masses of new samples."""
    return hasattr(split_pipeline(estimator)[1], "predict_mass")


def partition_of(estimator: Any, X: Any) -> CredalPartition:
    """What an estimator of ours, or a pipeline that ends in one, says about samples, old or new.

    Masses are those that the fit found, if X holds the very numbers that the estimator was fitted to; else those
    that it predicts. They have the index of X, if that is a frame.
    """
    clusterer, seen = reached(estimator, X)
    known = getattr(clusterer, "_fitted_to", None)
    fitted = getattr(clusterer, "credal_partition_", None)
    if known is not None and fitted is not None and known == digest_of_data(seen):
        return with_names_of(X, fitted)
    return with_names_of(X, clusterer.predict_mass(seen))


def partition_for(result: Any, X: Any) -> CredalPartition:
    """Return the partition that a result makes of the rows of a table.

    A partition is returned as it is, with the index of X if it has no names of samples. For a fitted
    estimator, ours or scikit-learn's, or a pipeline that ends in one, it is that of `partition_of`, or made of
    predictions or labels.
    """
    if isinstance(result, CredalPartition):
        if X is None:
            return result
        if n_rows_of(X) != result.n_samples:
            raise ValueError(
                f"X has {n_rows_of(X)} rows but the partition has {result.n_samples} samples; give the table that "
                "it describes."
            )
        return result if result.sample_index is not None else with_names_of(X, result)
    check_is_fitted(result)
    if predicts_masses(result):
        return partition_of(result, X)
    clusterer = split_pipeline(result)[1]
    predicts = hasattr(clusterer, "predict") or hasattr(clusterer, "predict_proba")
    return with_names_of(X, predicted_partition(result, X) if predicts else fitted_partition(result, X))


def n_rows_of(X: Any) -> int:
    """Return the number of rows of an array, a list, or a table of any library."""
    column = next(iter(X.values()), ()) if isinstance(X, Mapping) else X
    return int(column.shape[0]) if hasattr(column, "shape") else len(column)


def fitted_partition(estimator: Any, X: Any = None) -> CredalPartition:
    """What a fitted clusterer says about the samples that it was fitted to.

    From its masses, probabilities or labels, in this order of preference; without the samples X, from its masses.
    """
    found = getattr(split_pipeline(estimator)[1], "credal_partition_", None)
    if isinstance(found, CredalPartition):
        return found
    if X is None:
        raise ValueError(
            f"estimator must be fitted and have a credal_partition_, got {estimator!r}; "
            "call its fit first, or use from_partition."
        )
    clusterer, seen = reached(estimator, X)
    if hasattr(clusterer, "predict_mass") or hasattr(clusterer, "predict_proba"):
        return predicted_partition(clusterer, seen)
    if hasattr(clusterer, "labels_"):
        memberships = memberships_of(clusterer.labels_, clusterer.labels_)
        if memberships.shape[1] == 0:
            raise ValueError(
                f"{clusterer!r} labels all samples as noise; change its parameters, or leave it out of the "
                "ensemble."
            )
        return CredalPartition.from_fuzzy(memberships)
    raise ValueError(
        f"{clusterer!r} is no clusterer: after its fit it has neither labels_ nor predict_proba nor predict_mass."
    )


def predicted_partition(estimator: Any, X: Any) -> CredalPartition:
    """What a fitted clusterer predicts of new samples, with the focal sets of `fitted_partition`."""
    clusterer, seen = reached(estimator, X)
    if hasattr(clusterer, "predict_mass"):
        found: CredalPartition = clusterer.predict_mass(seen)
        return found
    if hasattr(clusterer, "predict_proba"):
        return CredalPartition.from_fuzzy(clusterer.predict_proba(seen))
    if hasattr(clusterer, "predict"):
        return CredalPartition.from_fuzzy(memberships_of(clusterer.predict(seen), clusterer.labels_))
    raise ValueError(
        f"{clusterer!r} cannot predict clusters of new samples: it has no predict_mass, predict_proba or predict; "
        "take another estimator."
    )


def with_names_of(X: Any, partition: CredalPartition) -> CredalPartition:
    """A partition with the index of a pandas frame, where it has any but the plain numbers of rows."""
    index = getattr(X, "index", None) if hasattr(X, "iloc") else None
    if index is None or _counts_rows(index):
        return partition
    return partition.rename(sample_names=index)


def digest_of_data(X: Any) -> str | None:
    """A short name for data, the same for the same numbers in arrays, lists and frames of any precision and order.

    None if the data are not in memory, or are no numbers. It tells whether data are those of a fit: by their
    numbers, not by how many there are.
    """
    if is_elsewhere(X):
        return None
    parts = [X]
    if issparse(X):
        rows = X.tocsr(copy=True)
        rows.sum_duplicates()
        parts = [rows.indptr, rows.indices, rows.data]
    digest = hashlib.sha256()
    try:
        for part in parts:
            _add(digest, np.asarray(part))
    except (TypeError, ValueError):
        return None
    return digest.hexdigest()


def reached(estimator: Any, X: Any) -> tuple[Any, Any]:
    """The clusterer, and the samples as it sees them."""
    before, clusterer = split_pipeline(estimator)
    if before is not None:
        # Step by step: what a pipeline asks besides takes longer than to scale a row.
        for _, step in before.steps:
            if step is not None and step != "passthrough":
                X = step.transform(X)
    return clusterer, X


def memberships_of(labels: Any, fitted_labels: Any) -> FloatArray:
    """One where a sample has a label, and nothing for -1, which scikit-learn's clusterers give to noise."""
    classes = np.unique(fitted_labels)
    return np.asarray(np.asarray(labels)[:, None] == classes[classes != -1], dtype=np.float64)


def _counts_rows(index: Any) -> bool:
    return type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)


def _add(digest: Any, values: Any) -> None:
    digest.update(repr(values.shape).encode())
    for block in row_blocks(len(values)):
        digest.update(np.ascontiguousarray(values[block], dtype=np.float64))
