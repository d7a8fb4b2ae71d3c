"""Arrays and frames of a user as arrays of numbers, and what to do where cells are missing."""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import get_tags
from sklearn.utils.validation import validate_data

from evlearn.utils.typing import FloatArray
from evlearn.utils.validation import (
    check_sparse,
    column_names,
    refuse_containers,
    refuse_equal_names,
    refuse_sparse,
)

#: Numbers of which it is faster to look at them than to ask what kind of data they are.
_FEW = 10_000
#: Estimators to which missing values are doubt.
_THESE = "ECM, CCM, EVCLUS, RECM, BootClus, MergedMixture, ParsimoniousGaussianMixture and EvidentialKNNClassifier"


class Numbers(NamedTuple):
    """Rows of numbers, and whether some cells are missing."""

    data: FloatArray
    has_gaps: bool


def read_numbers(estimator: Any, X: Any, *, reset: bool, takes_gaps: bool = False, **options: Any) -> Numbers:
    """What scikit-learn's `validate_data` gives; gaps and sparse rows where they are taken, or words that help."""
    if not reset and _is_plain(estimator, X, **options):
        return Numbers(X, False)
    refuse_containers(X)
    if not options.get("accept_sparse"):
        refuse_sparse(X, type(estimator).__name__)
    check_sparse("X", X)
    refuse_equal_names(X)
    try:
        return Numbers(validate_data(estimator, X, reset=reset, **options), False)
    except ValueError as error:
        if "could not convert string" in str(error):
            raise ValueError(f"{error}{_advice_on_text(estimator, X)}") from None
        # Complete data are not looked at twice: only when something is missing the other way is taken.
        if "contains NaN" not in str(error):
            raise
        if not takes_gaps or issparse(X):
            raise ValueError(_advice(estimator)) from None
    data = validate_data(estimator, X, reset=reset, ensure_all_finite="allow-nan", **options)
    if reset:
        _refuse_empty_columns(estimator, data)
    return Numbers(data, True)


def rows_of(X: Any, rows: Any) -> Any:
    """Return some rows of an array, a frame or a list."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "schema") and hasattr(X, "take"):  # of pyarrow
        return X.take(np.arange(len(X))[rows])
    return X[rows] if hasattr(X, "shape") else [X[int(k)] for k in rows]


def _is_plain(estimator: Any, X: Any, **options: Any) -> bool:
    """Whether X is a small array in which `validate_data` would find nothing to say, and change nothing.

    Its questions, whether X is a frame and of which library, take longer than to predict a row.
    """
    if type(X) is not np.ndarray or X.ndim != 2 or not 0 < X.size <= _FEW or not X.flags.c_contiguous:
        return False
    kinds = options.get("dtype")
    if X.dtype not in (kinds if isinstance(kinds, list) else [kinds]):
        return False
    known = estimator.__dict__
    # An estimator that knows names of features warns of arrays, which have none.
    if X.shape[1] != known.get("n_features_in_") or "feature_names_in_" in known:
        return False
    return len(X) >= options.get("ensure_min_samples", 1) and bool(np.isfinite(X).all())


def _advice(estimator: Any) -> str:
    if get_tags(estimator).input_tags.pairwise:
        return (
            f"Input X contains NaN. {type(estimator).__name__} needs all dissimilarities if metric='precomputed': "
            "give features with their gaps to EVCLUS or RECM, or take evlearn.preprocessing.GowerDistances, which "
            "compares samples by what both have."
        )
    return (
        f"Input X contains NaN. {type(estimator).__name__} needs complete samples here: put an imputer such as "
        f"sklearn.impute.KNNImputer before it, or take an estimator that turns gaps into doubt ({_THESE})."
    )


def _advice_on_text(estimator: Any, X: Any) -> str:
    """Where the first text is, and what turns it into numbers."""
    names = column_names(X)
    if names is not None:
        columns = [(f"Column {name!r}", X[name]) for name in names]
    else:
        turned = np.atleast_2d(np.asarray(X, dtype=object)).T
        columns = [(f"Feature number {place}", one) for place, one in enumerate(turned)]
    for named, values in columns:
        try:
            np.asarray(values, dtype=float)
        except (TypeError, ValueError):
            return (
                f". {named} is not all numbers. Leave it out, or put evlearn.preprocessing.TableEncoder() before "
                f"{type(estimator).__name__} in a Pipeline: it turns text and dates into features."
            )
    return ""


def _refuse_empty_columns(estimator: Any, data: FloatArray) -> None:
    empty = np.flatnonzero(np.isnan(data).all(axis=0))
    if len(empty):
        names = getattr(estimator, "feature_names_in_", None)
        named = [f"number {place}" if names is None else repr(str(names[place])) for place in empty[:5]]
        more = ", ..." if len(empty) > 5 else ""
        raise ValueError(
            f"Input X contains NaN only in {len(empty)} of {data.shape[1]} features ({', '.join(named)}{more}): "
            "nothing can be learned from them, so leave them out."
        )


__all__ = ["Numbers", "read_numbers", "rows_of"]
