"""Rows of Dask collections, which stay on the workers of the cluster."""

import os
import sys
from typing import Any

import numpy as np

from evlearn.blocks.rows import ArrayRows, Function, Rows, check_finite
from evlearn.blocks.scratch import MappedFile, Scratch
from evlearn.blocks.streams import as_table
from evlearn.blocks.tables import BATCH_ROWS, NAME_THEM, Choice, Keys, refuse_ids
from evlearn.blocks.targets import Target


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array or DataFrame, without importing Dask."""
    # Not a delayed object, which seems to have every attribute.
    return hasattr(X, "__dask_graph__") and isinstance(getattr(X, "ndim", None), int)


def open_dask(X: Any, choice: Choice, folder: str | os.PathLike[str] | None) -> Rows:
    """Rows of a Dask array or DataFrame: on the workers of the active cluster, else in a temporary file."""
    table = X
    if choice:
        X = X[_features(X, choice)]
    array, names = _as_array(X)
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"X must have rows and columns, got a Dask collection of shape {array.shape}.")
    if not array.shape[0]:
        raise ValueError("X has no rows.")
    client = _active_client()
    keys = table[list(choice.key)] if choice.key else None
    rows = _spill(array, names, keys, folder) if client is None else DaskRows(array, names, client, keys)
    try:
        if names is not None and choice.columns is None:
            whole = np.array([kind.kind in "iu" for kind in X.dtypes])
            if whole.any():
                refuse_ids(names[whole], rows.take(np.arange(min(len(rows), BATCH_ROWS)))[:, whole])
    except BaseException:
        rows.close()
        raise
    if choice.weight is not None:
        weights = table[choice.weight]
        # Of a collection without a cluster, a column is computed, as its rows are.
        rows.weights = rows.align(weights.compute()) if client is None else weights
    return rows


class DaskRows(Rows):
    """Rows of a Dask array, held by the workers of a cluster; only small results come back."""

    def __init__(self, array: Any, feature_names: Any, client: Any, keys: Any = None) -> None:
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
        self._keys = [None] * len(self._parts) if keys is None else self._compute(keys)
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
        self._run(_put, self._parts, self._starts[:-1].tolist(), self._keys, function=function, target=target)

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
        self._parts = self._keys = []

    def _compute(self, collection: Any) -> Any:
        """The chunks that have rows, on the workers: what is filtered often has others."""
        parts = list(np.ravel(collection.to_delayed()))
        return self._client.compute([part for part, size in zip(parts, self._sizes, strict=True) if size])

    def _run(self, task: Function, *arguments: Any, **shared: Any) -> list[Any]:
        return list(self._client.gather(self._client.map(task, *arguments, pure=False, **shared)))


def _as_array(X: Any) -> tuple[Any, Any]:
    """A Dask array of known chunks, each with all columns, in single or double precision, and the column names."""
    names = None
    if hasattr(X, "to_dask_array"):
        for name, kind in getattr(X, "dtypes", {}).items() if X.ndim == 2 else []:
            if kind.kind not in "fiub":
                raise ValueError(f"column {name!r} holds {kind} and not numbers; {NAME_THEM}.")
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


def _spill(array: Any, names: Any, key: Any, folder: str | os.PathLike[str] | None) -> ArrayRows:
    scratch = Scratch(folder)
    keys: Keys | None = None
    file = MappedFile(scratch.path, np.dtype(array.dtype).str, array.shape)
    start = 0
    try:
        for part in array.to_delayed().ravel():
            block = part.compute()
            check_finite(block)
            file.write(start, block)
            start += len(block)
        for part in [] if key is None else key.to_delayed():
            table = as_table(part.compute())
            if table.num_rows:
                keys = Keys(table.schema, folder) if keys is None else keys
                keys.add(table)
    except BaseException:
        scratch.close()
        if keys is not None:
            keys.close()
        raise
    if keys is not None:
        keys.finish()
    return ArrayRows(file, feature_names=names, scratch=scratch, keys=keys)


def _features(X: Any, choice: Choice) -> list[str]:
    """The columns that were named, or all but the key and the weight."""
    if not hasattr(X, "columns") or X.ndim != 2:
        raise ValueError("columns, key and weight are names of columns, and X has none; give a Dask DataFrame.")
    names = list(X.columns)
    for name in (*(choice.columns or ()), *choice.others):
        if name not in names:
            raise ValueError(f"X has no column {name!r}; its columns are {names}.")
    return (
        [name for name in names if name not in choice.others] if choice.columns is None else list(choice.columns)
    )


def _put(block: Any, start: int, keys: Any, *, function: Function, target: Target) -> None:
    target.put(start, function(block), None if keys is None else as_table(keys))


def _take(block: Any, indices: Any) -> Any:
    return np.asarray(block[indices])
