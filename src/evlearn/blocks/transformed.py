"""Rows transformed by a scikit-learn transformer, block by block, and a scaler that is fitted in blocks."""

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from evlearn.blocks.dataset import Function, RowDataset
from evlearn.blocks.moments import Moments, MomentsFrom
from evlearn.blocks.targets import Target
from evlearn.utils.typing import IntArray


class TransformedDataset(RowDataset):
    """Rows of another dataset after a transformation.

    Parameters
    ----------
    rows : RowDataset
        Rows to transform.
    transformer : scikit-learn transformer
        A fitted transformer that treats each sample separately.
    """

    def __init__(self, rows: RowDataset, transformer: Any) -> None:
        self._rows = rows
        # The columns are in order, but arrays have no names: without this, each block would cause a warning.
        self._transformer = copy(transformer)
        self._transformer.__dict__.pop("feature_names_in_", None)
        first = self.take(np.zeros(1, dtype=np.intp))
        self.n_features, self.dtype = first.shape[1], first.dtype
        self.feature_names = None
        self.in_memory = rows.in_memory
        self.keys, self.weights = rows.keys, rows.weights

    @property
    def key_names(self) -> tuple[str, ...]:
        """Names of the columns that identify the samples."""
        return self._rows.key_names

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        """Number of rows."""
        return len(self._rows)

    def align(self, weights: Any) -> Any:
        """Bring weights to the location of the rows."""
        return self._rows.align(weights)

    def map(self, function: Function, weights: Any = None, *, n_jobs: int | None = None) -> Iterator[Any]:
        """Call ``function(block, weights of the block)`` for all transformed blocks."""
        yield from self._rows.map(_TransformedFunction(function, self._transformer), weights, n_jobs=n_jobs)

    def add(self, function: Function, weights: Any = None, *, n_jobs: int | None = None) -> Any:
        """Call ``function(block, weights of the block)`` for all transformed blocks, and return the sum."""
        return self._rows.add(_TransformedFunction(function, self._transformer), weights, n_jobs=n_jobs)

    def write(self, function: Function, target: Target, *, n_jobs: int | None = None) -> None:
        """Call ``function(block)`` for all transformed blocks, and write the results to the target."""
        self._rows.write(_TransformedFunction(function, self._transformer), target, n_jobs=n_jobs)

    def take(self, indices: IntArray) -> Any:
        """Return selected rows, transformed, in memory."""
        return _as_rows(self._transformer, self._rows.take(indices))

    def close(self) -> None:
        """Remove temporary files."""
        self._rows.close()


def fit_scaler(rows: RowDataset, n_jobs: int | None) -> StandardScaler:
    """Fit a scaler to mean 0 and standard deviation 1 in one pass over blocks."""
    if not len(rows):
        raise ValueError("X has no rows.")
    # The reference point is a row of the data, so that squares of large numbers do not lose digits.
    point = np.asarray(rows.take(np.zeros(1, dtype=np.intp))[0], dtype=np.float64)
    moments: Moments = rows.add(MomentsFrom(point), n_jobs=n_jobs)
    scaler = StandardScaler()
    scaler.mean_ = moments.mean + point
    scaler.var_ = moments.variance
    # A feature that is constant up to rounding is not scaled.
    constant = scaler.var_ <= 10 * np.finfo(np.float64).eps * moments.squares / moments.count
    scaler.scale_ = np.where(constant, 1.0, np.sqrt(scaler.var_))
    scaler.n_samples_seen_ = moments.count
    scaler.n_features_in_ = rows.n_features
    if rows.feature_names is not None:
        scaler.feature_names_in_ = rows.feature_names
    return scaler


class _TransformedFunction:
    """Function of rows that is applied after a transformer."""

    def __init__(self, function: Function, transformer: Any) -> None:
        self._function, self._transformer = function, transformer

    def __call__(self, rows: Any, weights: Any = None) -> Any:
        return self._function(_as_rows(self._transformer, rows), weights)


def _as_rows(transformer: Any, rows: Any) -> Any:
    values = np.asarray(transformer.transform(rows))
    return np.ascontiguousarray(values if values.dtype in (np.float32, np.float64) else values.astype(np.float64))
