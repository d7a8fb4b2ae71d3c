"""Whether some data are those that an estimator was fitted to: by their numbers, not by how many there are."""

import hashlib
from typing import Any

import numpy as np
from scipy.sparse import issparse

from evlearn.blocks.open import is_elsewhere
from evlearn.slices import row_blocks


def digest_of_data(X: Any) -> str | None:
    """A short name for data, the same for the same numbers in arrays, lists and frames of any precision and order.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data.

    Returns
    -------
    str or None
        The name; None if the data are not in memory, or are no numbers.
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


def _add(digest: Any, values: Any) -> None:
    digest.update(repr(values.shape).encode())
    for block in row_blocks(len(values)):
        digest.update(np.ascontiguousarray(values[block], dtype=np.float64))
