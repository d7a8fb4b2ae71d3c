"""Rows that pass through a scikit-learn transformer, block by block, and a scaler that is fitted in blocks."""

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from evlearn.blocks.moments import Moments, MomentsFrom
from evlearn.blocks.rows import Function, Rows
from evlearn.blocks.targets import Target
from evlearn.utils.typing import IntArray


class ThroughRows(Rows):
    """Rows as a transformer makes them of others.

    Parameters
    ----------
    rows : Rows
        The others.
    transformer : scikit-learn transformer
        A fitted transformer that treats each sample by itself.
    """

    def __init__(self, rows: Rows, transformer: Any) -> None:
        self._rows = rows
        # The rows have their columns in order, and no names: that is no reason to warn of each block.
        self._transformer = copy(transformer)
        self._transformer.__dict__.pop("feature_names_in_", None)
        first = self.take(np.zeros(1, dtype=np.intp))
        self.n_features, self.dtype = first.shape[1], first.dtype
        self.feature_names = None
        self.in_memory = rows.in_memory
        self.keys, self.weights = rows.keys, rows.weights

    @property
    def key_names(self) -> tuple[str, ...]:
        """The names of the columns that identify the samples."""
        return self._rows.key_names

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        """The number of rows."""
        return len(self._rows)

    def align(self, weights: Any) -> Any:
        """Bring weights to where the rows are."""
        return self._rows.align(weights)

    def map(self, function: Function, weights: Any = None, *, n_jobs: int | None = None) -> Iterator[Any]:
        """Call ``function(block, weights of the block)`` for all transformed blocks."""
        yield from self._rows.map(_Through(function, self._transformer), weights, n_jobs=n_jobs)

    def add(self, function: Function, weights: Any = None, *, n_jobs: int | None = None) -> Any:
        """Call ``function(block, weights of the block)`` for all transformed blocks, and add up the results."""
        return self._rows.add(_Through(function, self._transformer), weights, n_jobs=n_jobs)

    def write(self, function: Function, target: Target, *, n_jobs: int | None = None) -> None:
        """Call ``function(block)`` for all transformed blocks, and put the results where they belong."""
        self._rows.write(_Through(function, self._transformer), target, n_jobs=n_jobs)

    def take(self, indices: IntArray) -> Any:
        """Some transformed rows, in memory."""
        return _as_rows(self._transformer, self._rows.take(indices))

    def close(self) -> None:
        """Remove temporary files."""
        self._rows.close()


def fit_scaler(rows: Rows, *, n_jobs: int | None = None) -> StandardScaler:
    """A scikit-learn scaler that brings all features to mean 0 and deviation 1, fitted in one pass over blocks.

    The rows are of any size. Use it for the rows with `Rows.through`, and for new samples as usual: a pipeline of
    the scaler and the fitted model takes, and stores, what any pipeline does.

    Parameters
    ----------
    rows : Rows
        The samples, as `open_rows` gives them.
    n_jobs : int or None, default=None
        How many workers; see joblib. Not used where Dask holds the rows.

    Returns
    -------
    StandardScaler
        The fitted scaler.

    Examples
    --------
    >>> import numpy as np
    >>> from evlearn.blocks import fit_scaler, open_rows
    >>> from evlearn.cluster import ECM
    >>> from evlearn.datasets import load_butterfly
    >>> X = load_butterfly().data * [1, 1000]
    >>> with open_rows(iter(np.array_split(X, 3))) as rows:
    ...     scaler = fit_scaler(rows)
    ...     model = ECM(2, random_state=0).fit(rows.through(scaler))
    >>> np.allclose(scaler.mean_, X.mean(axis=0))
    True
    """
    if not len(rows):
        raise ValueError("X has no rows.")
    # From a row of the data, so that squares of large numbers lose no digits.
    point = np.asarray(rows.take(np.zeros(1, dtype=np.intp))[0], dtype=np.float64)
    moments: Moments = rows.add(MomentsFrom(point), n_jobs=n_jobs)
    scaler = StandardScaler()
    scaler.mean_ = moments.mean + point
    scaler.var_ = moments.variance
    # A feature that is constant but for rounding stays as it is.
    constant = scaler.var_ <= 10 * np.finfo(np.float64).eps * moments.squares / moments.count
    scaler.scale_ = np.where(constant, 1.0, np.sqrt(scaler.var_))
    scaler.n_samples_seen_ = moments.count
    scaler.n_features_in_ = rows.n_features
    if rows.feature_names is not None:
        scaler.feature_names_in_ = rows.feature_names
    return scaler


class _Through:
    """A function of rows, after a transformer."""

    def __init__(self, function: Function, transformer: Any) -> None:
        self._function, self._transformer = function, transformer

    def __call__(self, rows: Any, weights: Any = None) -> Any:
        return self._function(_as_rows(self._transformer, rows), weights)


def _as_rows(transformer: Any, rows: Any) -> Any:
    found = np.asarray(transformer.transform(rows))
    return np.ascontiguousarray(found if found.dtype in (np.float32, np.float64) else found.astype(np.float64))
