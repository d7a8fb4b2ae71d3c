"""Rows of Dask collections, which stay on the workers of the cluster."""

import os
import sys
from typing import Any

import numpy as np

from evlearn.blocks.rows import ArrayRows, Function, Rows, check_finite
from evlearn.blocks.scratch import MappedFile, Scratch
from evlearn.blocks.targets import Target


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array or DataFrame, without importing Dask."""
    # Not a delayed object, which seems to have every attribute.
    return hasattr(X, "__dask_graph__") and isinstance(getattr(X, "ndim", None), int)


def open_dask(X: Any, folder: str | os.PathLike[str] | None) -> Rows:
    """Rows of a Dask array or DataFrame: on the workers of the active cluster, else in a temporary file."""
    array, names = _as_array(X)
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"X must have rows and columns, got a Dask collection of shape {array.shape}.")
    if not array.shape[0]:
        raise ValueError("X has no rows.")
    client = _active_client()
    return _spill(array, names, folder) if client is None else DaskRows(array, names, client)


class DaskRows(Rows):
    """Rows of a Dask array, held by the workers of a cluster; only small results come back."""

    def __init__(self, array: Any, feature_names: Any, client: Any) -> None:
        self.array = array
        self.n_rows, self.n_features = array.shape
        self.dtype = np.dtype(array.dtype)
        self.feature_names = feature_names
        self.in_memory = False
        self._client = client
        # Kept by the workers: a fit asks for every block many times. Dask knows how to make those again that are
        # lost.
        self._sizes = np.array(array.chunks[0])
        self._parts = self._compute(array)
        self._starts = np.concatenate([[0], np.cumsum(self._sizes[self._sizes > 0])])
        self.map(check_finite)

    def align(self, weights: Any) -> Any:
        """Send weights to where the rows are."""
        if is_dask(weights):
            column = _as_array(weights)[0].rechunk((self.array.chunks[0],))
            return self._compute(column)
        pieces = [np.array(weights[a:b]) for a, b in zip(self._starts[:-1], self._starts[1:], strict=True)]
        # Not scattered: what is scattered is lost with its worker.
        return self._client.map(np.asarray, pieces, pure=False)

    def map(self, function: Function, weights: Any = None, *, n_jobs: int | None = None) -> list[Any]:
        """Call ``function(block, weights of the block)`` for all blocks, where they are."""
        aligned = [None] * len(self._parts) if weights is None else weights
        return self._run(function, self._parts, aligned)

    def write(self, function: Function, target: Target, *, n_jobs: int | None = None) -> None:
        """Call ``function(block)`` for all blocks, and put the results where they belong."""
        self._run(_put, self._parts, self._starts[:-1].tolist(), function=function, target=target)

    def take(self, indices: Any) -> Any:
        """Some rows, in memory."""
        ends = np.searchsorted(indices, self._starts)
        wanted = [indices[a:b] - start for a, b, start in zip(ends[:-1], ends[1:], self._starts[:-1], strict=True)]
        return np.concatenate(self._run(_take, self._parts, wanted))

    def lazy(self, function: Function, n_columns: int | None, dtype: Any) -> Any:
        """The results of ``function(block)`` as a Dask array that is not computed yet."""
        if n_columns is None:
            return self.array.map_blocks(function, dtype=dtype, chunks=(self.array.chunks[0],), drop_axis=1)
        return self.array.map_blocks(function, dtype=dtype, chunks=(self.array.chunks[0], (n_columns,)))

    def close(self) -> None:
        """Let the workers forget the rows."""
        self._parts = []

    def _compute(self, collection: Any) -> Any:
        """The chunks that have rows, on the workers: what is filtered often has others."""
        parts = list(collection.to_delayed().ravel())
        return self._client.compute([part for part, size in zip(parts, self._sizes, strict=True) if size])

    def _run(self, task: Function, *arguments: Any, **shared: Any) -> list[Any]:
        return list(self._client.gather(self._client.map(task, *arguments, pure=False, **shared)))


def _as_array(X: Any) -> tuple[Any, Any]:
    """A Dask array of known chunks, each with all columns, in single or double precision, and the column names."""
    names = None
    if hasattr(X, "to_dask_array"):
        for name, kind in getattr(X, "dtypes", {}).items() if X.ndim == 2 else []:
            if kind.kind not in "fiub":
                raise ValueError(f"column {name!r} holds {kind} and not numbers; give the numeric columns only.")
        names = np.array([str(name) for name in X.columns], dtype=object) if X.ndim == 2 else None
        single = all(kind == np.float32 for kind in X.dtypes) if X.ndim == 2 else X.dtype == np.float32
        X = X.astype(np.float32 if single else np.float64).to_dask_array(lengths=True)
    if X.dtype.kind not in "fiub":
        raise ValueError(f"X holds {X.dtype} and not numbers.")
    if np.isnan(X.shape[0]):
        X = X.compute_chunk_sizes()
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    return (X.rechunk({1: -1}) if X.ndim == 2 else X), names


def _active_client() -> Any:
    # Where distributed has not been imported, nobody has made a client.
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.get_client()
    except ValueError:
        return None


def _spill(array: Any, names: Any, folder: str | os.PathLike[str] | None) -> ArrayRows:
    scratch = Scratch(folder)
    file = MappedFile(scratch.path, np.dtype(array.dtype).str, array.shape)
    start = 0
    try:
        for part in array.to_delayed().ravel():
            block = part.compute()
            check_finite(block)
            file.write(start, block)
            start += len(block)
    except BaseException:
        scratch.close()
        raise
    return ArrayRows(file, feature_names=names, scratch=scratch)


def _put(block: Any, start: int, *, function: Function, target: Target) -> None:
    target.put(start, function(block))


def _take(block: Any, indices: Any) -> Any:
    return np.asarray(block[indices])
