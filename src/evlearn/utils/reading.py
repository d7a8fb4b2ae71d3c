"""Conversion of arrays and frames to numeric arrays, and treatment of missing values."""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from evlearn.utils.typing import FloatArray
from evlearn.utils.validation import (
    check_not_container,
    check_sparse,
    check_unique_names,
    column_names,
)

#: Maximum number of values for which a check of all of them is faster than `validate_data`.
_SMALL_SIZE = 10_000
#: Estimators that accept missing values.
_ACCEPT_MISSING = (
    "ECM, CCM, EVCLUS, RECM, BootClus, MergedMixture, ParsimoniousGaussianMixture and EvidentialKNNClassifier"
)


class Numbers(NamedTuple):
    """Rows of numbers, and whether there are missing values."""

    data: FloatArray
    has_gaps: bool


def check_fitted(estimator: Any) -> None:
    """Raise unless an estimator is fitted, like `check_is_fitted`, which takes longer to read the tags."""
    if not estimator.__sklearn_is_fitted__():
        check_is_fitted(estimator)


def read_numbers(estimator: Any, X: Any, *, reset: bool, takes_gaps: bool = False, **options: Any) -> Numbers:
    """Validate X as `validate_data` does; accept missing values if possible, and extend error messages."""
    if not reset and _is_plain(estimator, X, **options):
        return Numbers(X, False)
    check_not_container(X)
    if not options.get("accept_sparse"):
        _check_not_sparse(X, type(estimator).__name__)
    check_sparse("X", X)
    check_unique_names(X)
    try:
        return Numbers(validate_data(estimator, X, reset=reset, **options), False)
    except ValueError as error:
        if "could not convert string" in str(error):
            raise ValueError(f"{error}{_advice_on_text(estimator, X)}") from None
        # Data are scanned again only if values are missing, so complete data are scanned once.
        if "contains NaN" not in str(error):
            raise
        if not takes_gaps or issparse(X):
            raise ValueError(_advice(estimator)) from None
    data = validate_data(estimator, X, reset=reset, ensure_all_finite="allow-nan", **options)
    if reset:
        _refuse_empty_columns(estimator, data)
    return Numbers(data, True)


def read_table(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Check samples that an estimator passes on to others: a frame is unchanged, and values may be missing."""
    check_not_container(X)
    check_unique_names(X)
    if hasattr(X, "columns"):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return X
    return validate_data(estimator, X, reset=reset, ensure_all_finite="allow-nan")


def _check_not_sparse(X: Any, method: str) -> None:
    """Raise if features are sparse, and name estimators that accept them."""
    if issparse(X):
        raise TypeError(
            f"{method} does not take sparse features, and X is a sparse matrix of shape {X.shape}: put "
            "sklearn.decomposition.TruncatedSVD before it, or use ECM, CCM, EVCLUS (metric "
            "'euclidean' or 'cosine') or EvidentialKNNClassifier."
        )


def select_rows(X: Any, rows: Any) -> Any:
    """Return the selected rows of an array, a frame or a list."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "schema") and hasattr(X, "take"):  # pyarrow table
        return X.take(np.arange(len(X))[rows])
    return X[rows] if hasattr(X, "shape") else [X[int(k)] for k in rows]


def _is_plain(estimator: Any, X: Any, **options: Any) -> bool:
    """Return True if X is a small array that `validate_data` would return unchanged and without a warning.

    The type checks of `validate_data` take longer than the prediction of a row.
    """
    if type(X) is not np.ndarray or X.ndim != 2 or not 0 < X.size <= _SMALL_SIZE or not X.flags.c_contiguous:
        return False
    kinds = options.get("dtype")
    if X.dtype not in (kinds if isinstance(kinds, list) else [kinds]):
        return False
    attributes = estimator.__dict__
    # An estimator with feature names warns about arrays, which have none.
    if X.shape[1] != attributes.get("n_features_in_") or "feature_names_in_" in attributes:
        return False
    return len(X) >= options.get("ensure_min_samples", 1) and bool(np.isfinite(X).all())


def _advice(estimator: Any) -> str:
    if get_tags(estimator).input_tags.pairwise:
        return (
            f"Input X contains NaN. {type(estimator).__name__} needs all dissimilarities if metric='precomputed': "
            "pass features with missing values to EVCLUS or RECM, or use evlearn.preprocessing.GowerDistances, "
            "which compares samples by their common features."
        )
    return (
        f"Input X contains NaN. {type(estimator).__name__} needs complete samples here: put an imputer such as "
        "sklearn.impute.KNNImputer before it, or use an estimator that accepts missing values "
        f"({_ACCEPT_MISSING})."
    )


def _advice_on_text(estimator: Any, X: Any) -> str:
    """Return advice on the first feature that contains text."""
    names = column_names(X)
    if names is not None:
        columns = [(f"Column {name!r}", X[name]) for name in names]
    else:
        features = np.atleast_2d(np.asarray(X, dtype=object)).T
        columns = [(f"Feature number {place}", feature) for place, feature in enumerate(features)]
    for label, values in columns:
        try:
            np.asarray(values, dtype=float)
        except (TypeError, ValueError):
            return (
                f". {label} contains values that are not numbers. Remove it, or put "
                f"evlearn.preprocessing.TableEncoder() before {type(estimator).__name__} in a Pipeline: it turns "
                "text and dates into features."
            )
    return ""


def _refuse_empty_columns(estimator: Any, data: FloatArray) -> None:
    empty = np.flatnonzero(np.isnan(data).all(axis=0))
    if len(empty):
        names = getattr(estimator, "feature_names_in_", None)
        labels = [f"number {place}" if names is None else repr(str(names[place])) for place in empty[:5]]
        ellipsis = ", ..." if len(empty) > 5 else ""
        raise ValueError(
            f"Input X contains NaN only in {len(empty)} of {data.shape[1]} features "
            f"({', '.join(labels)}{ellipsis}): remove them, because they contain no information."
        )
