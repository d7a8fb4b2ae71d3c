"""Rows of Dask collections, which remain on the workers of the cluster; and the cluster as a task runner."""

import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial, reduce
from operator import add
from typing import Any

import numpy as np

from evlearn.blocks.dataset import Function, RowDataset, by_block, check_finite, cut, write_results
from evlearn.blocks.streams import as_table
from evlearn.blocks.tables import BATCH_ROWS, NAME_FEATURES, Choice, cast_keys, check_no_ids, key_schema
from evlearn.blocks.targets import Target
from evlearn.utils.chunks import row_blocks

# Maximum number of results on their way to the client, and number of summands that a worker adds.
_MAX_PENDING = 16
_GROUP = 32
# Interval of checks of the workers while there is no result, and maximum time without progress, in seconds.
_CHECK_INTERVAL, _MAX_IDLE = 30, 120


class Cluster:
    """Workers of a Dask client.

    Parameters
    ----------
    client : distributed.Client
        Dask client.
    """

    def __init__(self, client: Any) -> None:
        self.client = client

    @classmethod
    def active(cls) -> "Cluster | None":
        """Return the cluster that the user has connected to, or that runs this process; None if there is none."""
        # Without an import of distributed, there is no client.
        distributed = sys.modules.get("distributed")
        if distributed is None:
            return None
        try:
            return cls(distributed.get_client())
        except ValueError:
            return None

    def start(self, task: Callable[..., Any], *lists: Any, homes: Any = None) -> list[Any]:
        """Start ``task(a, b, ...)`` for all a, b, ... of the lists, each on its home worker."""
        if homes is None:
            return list(self.client.map(task, *lists, pure=False))
        by_home: dict[str, list[int]] = {}
        for k, home in enumerate(homes):
            by_home.setdefault(home, []).append(k)
        futures: list[Any] = [None] * len(lists[0])
        for home, numbers in by_home.items():
            arguments = [[values[k] for k in numbers] for values in lists]
            task_futures = self.client.map(task, *arguments, pure=False, workers=[home], allow_other_workers=True)
            for k, future in zip(numbers, task_futures, strict=True):
                futures[k] = future
        return futures

    def shared(self, value: object, times: int) -> list[Any]:
        """Return a value for many tasks. Each worker requests it once; it is recomputed if its holder is lost."""
        return [self.client.submit(identity, value, pure=False)] * times

    def results(self, futures: list[Any]) -> Iterator[Any]:
        """Yield results in order; each is released afterwards."""
        for batch in row_blocks(len(futures), _MAX_PENDING):
            pending = futures[batch]
            futures[batch] = [None] * len(pending)
            self.wait(pending)
            yield from self.client.gather(pending)

    def total(self, futures: list[Any]) -> Any:
        """Return the sum of all results. Workers add groups; the order depends only on the number of results."""
        groups = [futures[group] for group in row_blocks(len(futures), _GROUP)]
        if len(groups) > 1:
            futures[:] = []
            groups = [[self.client.submit(_sum, summands, pure=False)] for summands in groups]
        return reduce(add, self.results([future for summands in groups for future in summands]))

    def wait(self, futures: list[Any]) -> None:
        """Wait for results; raise an error if the cluster is stalled, and report if it is slow."""
        wait = sys.modules["distributed"].wait
        idle, n_done = 0, -1
        while True:
            try:
                wait(futures, timeout=_CHECK_INTERVAL)
                return
            except TimeoutError:
                n_before, n_done = n_done, sum(future.done() for future in futures)
                idle = _CHECK_INTERVAL if n_done > n_before else idle + _CHECK_INTERVAL
                workers = self._states()
            is_stalled = workers.keys() <= {"paused"}
            if idle >= _MAX_IDLE and is_stalled:
                reason = "it has no workers. Start workers, or close the client to compute without the cluster."
                if workers:
                    reason = (
                        f"its workers are {_join_counts(workers)}. A paused worker has used up its memory: give "
                        "workers more memory, or pass smaller parts of the data."
                    )
                raise RuntimeError(
                    f"the Dask cluster has done nothing for {idle} seconds: {reason} With checkpoint=... a fit is "
                    "resumed where it was."
                )
            # A pass over large blocks may take longer than the interval.
            logging.getLogger("evlearn").log(
                logging.WARNING if is_stalled or idle >= _MAX_IDLE else logging.INFO,
                "Waiting for the Dask cluster: no result for %d seconds; workers: %s.",
                idle,
                _join_counts(workers),
            )

    def homes(self, parts: Iterable[int]) -> list[str] | None:
        """Return a worker for each part, the same one in every pass while the workers remain the same."""
        workers = sorted(self._workers())
        return [workers[k % len(workers)] for k in parts] if workers else None

    def _workers(self) -> dict[str, Any]:
        workers: dict[str, Any] = self.client.scheduler_info(n_workers=-1)["workers"]
        return workers

    def _states(self) -> dict[str, int]:
        states = [worker.get("status", "running") for worker in self._workers().values()]
        return {state: states.count(state) for state in states}


def is_dask(X: Any) -> bool:
    """Return True if X is a Dask array or DataFrame, without importing Dask."""
    # Delayed objects are excluded by the type of `ndim`, because they seem to have every attribute.
    return hasattr(X, "__dask_graph__") and isinstance(getattr(X, "ndim", None), int)


def open_dask(X: Any, choice: Choice, cluster: Cluster) -> "DaskDataset":
    """Open a Dask array or DataFrame, on the workers of a cluster. Nothing is computed before it is needed."""
    return DaskDataset(
        _features(X, choice),
        cluster,
        keys=X[list(choice.key)] if choice.key else None,
        weights=None if choice.weight is None else X[choice.weight],
        may_be_ids=choice.columns is None,
    )


def chunks_of(X: Any, choice: Choice) -> Iterator[Any]:
    """Return the computed partitions of a Dask collection one by one, if there is no cluster."""
    features = _features(X, choice)
    if not choice and not hasattr(X, "columns"):
        X = features.rechunk({1: -1})
    return (part.compute() for part in np.ravel(X.to_delayed()))


class DaskDataset(RowDataset):
    """Rows of a Dask collection on the workers of a cluster; only small results are sent back.

    Parameters
    ----------
    collection : dask array or DataFrame
        Rows of the dataset.
    cluster : Cluster
        Cluster that computes the collection.
    keys : dask DataFrame or None, default=None
        Columns that identify the samples.
    weights : dask Series or None, default=None
        Sample weights.
    may_be_ids : bool, default=False
        Whether the features were not chosen by name, so that one of them may contain ids of samples.
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
        """Names of the columns that identify the samples."""
        return () if self._key_columns is None else tuple(self._key_columns.columns)

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        """Number of rows, which is unknown before they are computed."""
        return int(self._starts[-1])

    def align(self, weights: Any) -> Any:
        """Send weights to the workers that hold the rows."""
        if is_dask(weights):
            column = _as_array(weights)
            if np.isnan(column.shape[0]):
                column = column.compute_chunk_sizes()
            column = column.rechunk((tuple(int(size) for size in self._sizes),))
            return self._compute(column, self._sizes)
        # Not scattered, because scattered data are lost with their worker.
        return self._cluster.start(identity, [np.array(values) for values in cut(weights, self._starts)])

    def map(self, function: Function, weights: Any = None, *, n_jobs: int | None = None) -> Iterator[Any]:
        """Call ``function(block, weights of the block)`` for all blocks, on the workers that hold them."""
        yield from self._cluster.results(self._begin(function, weights))

    def add(self, function: Function, weights: Any = None, *, n_jobs: int | None = None) -> Any:
        """Call ``function(block, weights of the block)`` for all blocks; workers add up the results."""
        return self._cluster.total(self._begin(function, weights))

    def write(self, function: Function, target: Target, *, n_jobs: int | None = None) -> None:
        """Call ``function(block)`` for all blocks, and write the results to the target."""
        if target.in_memory:
            for start, values in zip(self._starts[:-1].tolist(), self.map(function), strict=True):
                target.write_rows(start, values)
            return
        n, schema = len(self._parts), None
        keys: list[Any] = [None] * n
        if self._key_columns is not None:
            keys = self._compute(self._key_columns, self._sizes)
            # Object columns may have other types in other partitions, such as null if all keys are missing.
            schemas = self._cluster.results(self._cluster.start(_schema, keys))
            named_schemas = [(f"partition {k} of X", entry) for k, entry in enumerate(schemas)]
            schema = key_schema(named_schemas, self.key_names)
        functions, starts = self._cluster.shared(function, n), self._starts[:-1].tolist()
        futures = self._cluster.start(
            _write_block, functions, self._parts, starts, keys, [schema] * n, [target] * n
        )
        for _ in self._cluster.results(futures):
            pass

    def take(self, indices: Any) -> Any:
        """Return selected rows, in memory."""
        numbers, positions = by_block(indices, self._starts)
        futures = self._cluster.start(_take, [self._parts[k] for k in numbers], positions)
        return np.concatenate(list(self._cluster.results(futures)))

    def lazy(self, function: Function, columns: Any, dtype: Any) -> Any:
        """Return the results of ``function(block)``, not computed yet: an array, or a frame with the same index.

        ``columns`` contains the names of the columns of a matrix, or is None for a single number per row.
        """
        checked = _CheckedFunction(function)
        if self._frame is not None:
            return self._frame.map_partitions(_FrameFunction(checked, columns, self.dtype))
        if columns is None:
            return self._array.map_blocks(checked, dtype=dtype, chunks=(self._array.chunks[0],), drop_axis=1)
        return self._array.map_blocks(checked, dtype=dtype, chunks=(self._array.chunks[0], (len(columns),)))

    def close(self) -> None:
        """Release the rows on the workers."""
        for name in ("_parts", "_computed"):
            self.__dict__.pop(name, None)

    def _begin(self, function: Function, weights: Any) -> list[Any]:
        n = len(self._parts)
        aligned = [None] * n if weights is None else weights
        return self._cluster.start(_apply, self._cluster.shared(function, n), self._parts, aligned)

    @cached_property
    def _computed(self) -> tuple[Any, Any]:
        """All partitions, stored on the workers for several passes, and their numbers of rows."""
        parts = self._compute(self._array, None)
        sizes = np.array(list(self._cluster.results(self._cluster.start(_checked_length, parts))))
        if not sizes.sum():
            raise ValueError("X has no rows.")
        return parts, sizes

    @cached_property
    def _parts(self) -> Any:
        # Filtered data often have partitions without rows.
        parts = [part for part, size in zip(*self._computed, strict=True) if size]
        if self._frame is not None and self._may_be_ids:
            is_integer = np.array([kind.kind in "iu" for kind in self._frame.dtypes])
            if is_integer.any():
                (first,) = self._cluster.results(self._cluster.start(_take, parts[:1], [slice(BATCH_ROWS)]))
                check_no_ids(self.feature_names[is_integer], first[:, is_integer])
        return parts

    @property
    def _sizes(self) -> Any:
        return self._computed[1]

    @property
    def _starts(self) -> Any:
        return np.concatenate([[0], np.cumsum(self._sizes[self._sizes > 0])])

    def _compute(self, collection: Any, sizes: Any) -> Any:
        """Compute the partitions with rows, on the workers. Dask can recompute partitions that are lost."""
        parts = list(np.ravel(collection.to_delayed()))
        selected = parts if sizes is None else [part for part, size in zip(parts, sizes, strict=True) if size]
        return self._cluster.client.compute(selected)


class _CheckedFunction:
    """Function of rows that rejects rows that are not finite."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def __call__(self, rows: Any) -> Any:
        check_finite(rows)
        return self._function(rows)


class _FrameFunction:
    """Function of frames that returns a frame with the same index."""

    def __init__(self, function: _CheckedFunction, columns: Any, dtype: Any) -> None:
        self._function, self._columns, self._dtype = function, columns, dtype
        self.__name__ = function.__name__

    def __call__(self, frame: Any) -> Any:
        import pandas as pd

        values = self._function(frame.to_numpy(dtype=self._dtype))
        constructor = pd.Series if self._columns is None else partial(pd.DataFrame, columns=list(self._columns))
        return constructor(values, index=frame.index)


def _as_array(X: Any) -> Any:
    """Return a Dask array in floating point whose chunks have all columns; its rows are not counted."""
    if hasattr(X, "to_dask_array"):
        kinds = list(X.dtypes) if X.ndim == 2 else [X.dtype]
        X = X.astype(np.float32 if all(kind == np.float32 for kind in kinds) else np.float64).to_dask_array()
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    return X.rechunk({1: -1}) if X.ndim == 2 and len(X.chunks[1]) > 1 else X


def _features(X: Any, choice: Choice) -> Any:
    """Return the feature columns, after a check of their types."""
    if choice:
        X = X[_feature_names(X, choice)]
    if X.ndim != 2 or X.shape[1] == 0:
        raise ValueError(f"X must have rows and columns, got a Dask collection of shape {X.shape}.")
    for name, kind in X.dtypes.items() if hasattr(X, "columns") else [(None, X.dtype)]:
        if kind.kind not in "fiub":
            raise ValueError(
                f"X holds {kind} and not numbers."
                if name is None
                else f"column {name!r} holds {kind} and not numbers; {NAME_FEATURES}."
            )
    return X


def _feature_names(X: Any, choice: Choice) -> list[str]:
    """Return the chosen columns, or all except the key and the weight."""
    if not hasattr(X, "columns") or X.ndim != 2:
        raise ValueError("columns, key and weight are names of columns, and X has none; pass a Dask DataFrame.")
    names = list(X.columns)
    for name in (*(choice.columns or ()), *choice.others):
        if name not in names:
            raise ValueError(f"X has no column {name!r}; its columns are {names}.")
    return (
        [name for name in names if name not in choice.others] if choice.columns is None else list(choice.columns)
    )


def _apply(function: Function, block: Any, weights: Any) -> Any:
    return function(block, weights)


def _write_block(function: Function, block: Any, start: int, keys: Any, schema: Any, target: Target) -> None:
    table = None if keys is None else cast_keys(as_table(keys), schema, "a partition of X")
    write_results(function, block, table, start, target)


def _schema(keys: Any) -> Any:
    return as_table(keys).schema


def _take(block: Any, indices: Any) -> Any:
    return np.asarray(block[indices])


def _checked_length(block: Any) -> int:
    check_finite(block)
    return len(block)


def _join_counts(states: dict[str, int]) -> str:
    return ", ".join(f"{count} {state}" for state, count in states.items()) or "none"


def identity(value: object) -> Any:
    """Return the value; as a task, so that a worker stores it and recomputes it if it is lost."""
    return value


def _sum(values: list[Any]) -> Any:
    return reduce(add, values)
