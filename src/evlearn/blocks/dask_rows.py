"""Rows of Dask collections, which stay on the workers of the cluster."""

from collections.abc import Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np

from evlearn.blocks.cluster import Cluster, itself
from evlearn.blocks.rows import Function, Rows, by_block, check_finite, cut, put_rows
from evlearn.blocks.streams import as_table
from evlearn.blocks.tables import BATCH_ROWS, NAME_THEM, Choice, cast_keys, key_schema, refuse_ids
from evlearn.blocks.targets import Target


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array or DataFrame, without importing Dask."""
    # Not a delayed object, which seems to have every attribute.
    return hasattr(X, "__dask_graph__") and isinstance(getattr(X, "ndim", None), int)


def open_dask(X: Any, choice: Choice, cluster: Cluster) -> "DaskRows":
    """Rows of a Dask array or DataFrame, on the workers of a cluster. Nothing is computed before it is needed."""
    return DaskRows(
        _features(X, choice),
        cluster,
        keys=X[list(choice.key)] if choice.key else None,
        weights=None if choice.weight is None else X[choice.weight],
        may_be_ids=choice.columns is None,
    )


def chunks_of(X: Any, choice: Choice) -> Iterator[Any]:
    """The partitions of a Dask collection, one after the other, for where there is no cluster."""
    features = _features(X, choice)
    if not choice and not hasattr(X, "columns"):
        X = features.rechunk({1: -1})
    return (part.compute() for part in np.ravel(X.to_delayed()))


class DaskRows(Rows):
    """Rows of a Dask collection, held by the workers of a cluster; only small results come back.

    Parameters
    ----------
    collection : dask array or DataFrame
        The rows.
    cluster : Cluster
        The workers.
    keys : dask DataFrame or None, default=None
        The columns that say who the samples are.
    weights : dask Series or None, default=None
        How much each sample counts.
    may_be_ids : bool, default=False
        Whether nobody has said which columns are features, so that one may hold numbers of samples.
    """

    in_memory = False

    def __init__(
        self, collection: Any, cluster: Cluster, *, keys: Any = None, weights: Any = None, may_be_ids: bool = False
    ) -> None:
        self._cluster, self._key_columns, self._may_be_ids = cluster, keys, may_be_ids
        self.weights = weights
        self.n_features = collection.shape[1]
        self.feature_names = None
        self._frame = collection if hasattr(collection, "to_dask_array") else None
        if self._frame is not None:
            self.feature_names = np.array([str(name) for name in collection.columns], dtype=object)
        self._array = _as_array(collection)
        self.dtype = np.dtype(self._array.dtype)

    @property
    def key_names(self) -> tuple[str, ...]:
        """The names of the columns that identify the samples."""
        return () if self._key_columns is None else tuple(self._key_columns.columns)

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        """The number of rows, which is not known before they are computed."""
        return int(self._starts[-1])

    def align(self, weights: Any) -> Any:
        """Send weights to where the rows are."""
        if is_dask(weights):
            column = _as_array(weights)
            if np.isnan(column.shape[0]):
                column = column.compute_chunk_sizes()
            column = column.rechunk((tuple(int(size) for size in self._sizes),))
            return self._compute(column, self._sizes)
        # Not scattered: what is scattered is lost with its worker.
        return self._cluster.start(itself, [np.array(own) for own in cut(weights, self._starts)])

    def map(self, function: Function, weights: Any = None, *, n_jobs: int | None = None) -> Iterator[Any]:
        """Call ``function(block, weights of the block)`` for all blocks, where they are."""
        yield from self._cluster.results(self._begin(function, weights))

    def add(self, function: Function, weights: Any = None, *, n_jobs: int | None = None) -> Any:
        """Call ``function(block, weights of the block)`` for all blocks; workers add up the results."""
        return self._cluster.total(self._begin(function, weights))

    def write(self, function: Function, target: Target, *, n_jobs: int | None = None) -> None:
        """Call ``function(block)`` for all blocks, and put the results where they belong."""
        if target.in_memory:
            for start, values in zip(self._starts[:-1].tolist(), self.map(function), strict=True):
                target.put(start, values)
            return
        n, schema = len(self._parts), None
        keys: list[Any] = [None] * n
        if self._key_columns is not None:
            keys = self._compute(self._key_columns, self._sizes)
            # Columns of objects have another type in each partition, such as null where all keys are missing.
            schemas = self._cluster.results(self._cluster.start(_schema, keys))
            numbered = [(f"partition {k} of X", one) for k, one in enumerate(schemas)]
            schema = key_schema(numbered, self.key_names)
        functions, starts = self._cluster.shared(function, n), self._starts[:-1].tolist()
        begun = self._cluster.start(_put, functions, self._parts, starts, keys, [schema] * n, [target] * n)
        for _ in self._cluster.results(begun):
            pass

    def take(self, indices: Any) -> Any:
        """Some rows, in memory."""
        asked, wanted = by_block(indices, self._starts)
        begun = self._cluster.start(_take, [self._parts[k] for k in asked], wanted)
        return np.concatenate(list(self._cluster.results(begun)))

    def lazy(self, function: Function, columns: Any, dtype: Any) -> Any:
        """The results of ``function(block)``, not computed yet: an array, or of a frame one with its index.

        ``columns`` are the names of the columns of a matrix, or None for one number a row.
        """
        checked = _Checked(function)
        if self._frame is not None:
            return self._frame.map_partitions(_Framed(checked, columns, self.dtype))
        if columns is None:
            return self._array.map_blocks(checked, dtype=dtype, chunks=(self._array.chunks[0],), drop_axis=1)
        return self._array.map_blocks(checked, dtype=dtype, chunks=(self._array.chunks[0], (len(columns),)))

    def close(self) -> None:
        """Let the workers forget the rows."""
        for name in ("_parts", "_held"):
            self.__dict__.pop(name, None)

    def _begin(self, function: Function, weights: Any) -> list[Any]:
        n = len(self._parts)
        aligned = [None] * n if weights is None else weights
        return self._cluster.start(_apply, self._cluster.shared(function, n), self._parts, aligned)

    @cached_property
    def _held(self) -> tuple[Any, Any]:
        """All partitions, which the workers keep for many passes, and how many rows they have."""
        parts = self._compute(self._array, None)
        sizes = np.array(list(self._cluster.results(self._cluster.start(_checked_length, parts))))
        if not sizes.sum():
            raise ValueError("X has no rows.")
        return parts, sizes

    @cached_property
    def _parts(self) -> Any:
        # What is filtered often has partitions without rows.
        parts = [part for part, size in zip(*self._held, strict=True) if size]
        if self._frame is not None and self._may_be_ids:
            whole = np.array([kind.kind in "iu" for kind in self._frame.dtypes])
            if whole.any():
                (first,) = self._cluster.results(self._cluster.start(_take, parts[:1], [slice(BATCH_ROWS)]))
                refuse_ids(self.feature_names[whole], first[:, whole])
        return parts

    @property
    def _sizes(self) -> Any:
        return self._held[1]

    @property
    def _starts(self) -> Any:
        return np.concatenate([[0], np.cumsum(self._sizes[self._sizes > 0])])

    def _compute(self, collection: Any, sizes: Any) -> Any:
        """The partitions that have rows, on the workers. Dask knows how to make those again that are lost."""
        parts = list(np.ravel(collection.to_delayed()))
        kept = parts if sizes is None else [part for part, size in zip(parts, sizes, strict=True) if size]
        return self._cluster.client.compute(kept)


class _Checked:
    """A function of rows that refuses those that are not finite."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def __call__(self, rows: Any) -> Any:
        check_finite(rows)
        return self._function(rows)


class _Framed:
    """From a frame to a frame with the same index."""

    def __init__(self, function: _Checked, columns: Any, dtype: Any) -> None:
        self._function, self._columns, self._dtype = function, columns, dtype
        self.__name__ = function.__name__

    def __call__(self, frame: Any) -> Any:
        import pandas as pd

        found = self._function(frame.to_numpy(dtype=self._dtype))
        make = pd.Series if self._columns is None else partial(pd.DataFrame, columns=list(self._columns))
        return make(found, index=frame.index)


def _as_array(X: Any) -> Any:
    """A Dask array in single or double precision, whose chunks have all columns; nobody counts its rows."""
    if hasattr(X, "to_dask_array"):
        kinds = list(X.dtypes) if X.ndim == 2 else [X.dtype]
        X = X.astype(np.float32 if all(kind == np.float32 for kind in kinds) else np.float64).to_dask_array()
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    return X.rechunk({1: -1}) if X.ndim == 2 and len(X.chunks[1]) > 1 else X


def _features(X: Any, choice: Choice) -> Any:
    """The columns that are features, checked."""
    if choice:
        X = X[_chosen(X, choice)]
    if X.ndim != 2 or X.shape[1] == 0:
        raise ValueError(f"X must have rows and columns, got a Dask collection of shape {X.shape}.")
    for name, kind in X.dtypes.items() if hasattr(X, "columns") else [(None, X.dtype)]:
        if kind.kind not in "fiub":
            raise ValueError(
                f"X holds {kind} and not numbers."
                if name is None
                else f"column {name!r} holds {kind} and not numbers; {NAME_THEM}."
            )
    return X


def _chosen(X: Any, choice: Choice) -> list[str]:
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


def _apply(function: Function, block: Any, weights: Any) -> Any:
    return function(block, weights)


def _put(function: Function, block: Any, start: int, keys: Any, schema: Any, target: Target) -> None:
    table = None if keys is None else cast_keys(as_table(keys), schema, "a partition of X")
    put_rows(function, block, table, start, target)


def _schema(keys: Any) -> Any:
    return as_table(keys).schema


def _take(block: Any, indices: Any) -> Any:
    return np.asarray(block[indices])


def _checked_length(block: Any) -> int:
    check_finite(block)
    return len(block)
