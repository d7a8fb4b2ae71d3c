"""Rows of Parquet files that stay in place, without a central copy.

Each worker of a cluster reads different parts of the files, and caches them on its disk for later passes. Parts
that are lost with a worker are read again by another one. A prediction, which is a single pass, caches nothing.
"""

import secrets
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from joblib import delayed

from evlearn.blocks.cluster import Cluster, identity
from evlearn.blocks.dataset import Function, RowDataset, by_block, cut, write_results
from evlearn.blocks.parquet import Files, Piece
from evlearn.blocks.scratch import MappedFile, check_room
from evlearn.blocks.tables import Layout, cast_keys, sample_names
from evlearn.blocks.targets import Target
from evlearn.utils.chunks import task_rows
from evlearn.utils.files import name_file_in_errors
from evlearn.utils.parallel import run_tasks
from evlearn.utils.places import import_pyarrow


@dataclass(frozen=True)
class Part:
    """Consecutive rows of the files, with the name of their cached copy on a worker.

    Attributes
    ----------
    pieces : tuple of Piece
        Row groups to read.
    layout : Layout
        Conversion to numbers.
    name : str
        Name of the cached copy on the disk of a worker.
    key_schema : pyarrow schema or None
        Columns that identify the samples, with types that hold the values of all files.
    """

    pieces: tuple[Piece, ...]
    layout: Layout
    name: str
    key_schema: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and features."""
        return sum(piece.n_rows for piece in self.pieces), self.layout.n_features

    def numbers(self) -> Any:
        """Read the features from the files."""
        features = np.empty(self.shape, self.layout.dtype)
        for start, piece, batch in self._batches(self.layout.columns):
            features[start : start + len(batch)] = self.layout.numbers(batch, *piece)
        return features

    def cached(self) -> Any:
        """Return the features, mapped from the disk of this worker, which reads the files at the first call.

        Processes that are not Dask workers read the files at each call.
        """
        folder = _worker_folder()
        if folder is None:
            return self.numbers()
        path = folder / self.name
        if not path.exists():
            check_room(path.parent, self.shape[0] * self.shape[1] * self.layout.dtype.itemsize)
            temporary = path.with_name(f"{self.name}.{secrets.token_hex(4)}")
            try:
                with name_file_in_errors(path), open(temporary, "wb") as file:
                    for _, piece, batch in self._batches(self.layout.columns):
                        file.write(np.ascontiguousarray(self.layout.numbers(batch, *piece)).data)
                # If several threads of a worker do this at once, each file is complete, and they are equal.
                temporary.replace(path)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
        return MappedFile(str(path), self.layout.dtype.str, self.shape).read_rows(0, self.shape[0])

    def weights(self) -> Any:
        """Read the weights from the files."""
        columns = [str(self.layout.choice.weight)]
        return np.concatenate(
            [self.layout.weights(batch, *piece)[:, 0] for _, piece, batch in self._batches(columns)]
        )

    def keys(self) -> Any:
        """Read the key columns from the files, as an Arrow table; None if there is no key."""
        if self.key_schema is None:
            return None
        columns = self.key_schema.names
        tables = [cast_keys(batch, self.key_schema, file) for _, (file, _), batch in self._batches(columns)]
        return import_pyarrow().concat_tables(tables)

    def _batches(self, columns: Sequence[str]) -> Iterator[tuple[int, tuple[str, int], Any]]:
        start = 0
        for piece in self.pieces:
            for offset, batch in piece.batches(columns):
                yield start + offset, (piece.file, piece.first + offset), batch
            start += piece.n_rows


class PartKeys:
    """Key columns of Parquet files in parts, read on demand.

    Parameters
    ----------
    rows : PartDataset
        Rows that the keys identify.
    schema : pyarrow schema
        Schema of the key columns.
    """

    def __init__(self, rows: "PartDataset", schema: Any) -> None:
        self._rows, self._schema = rows, schema

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self._schema.names)

    def read_rows(self, start: int, stop: int) -> Any:
        """Return the keys of the rows from `start` to `stop` as an Arrow table."""
        tables = list(self._rows.run_on_parts(Part.keys))
        return import_pyarrow().concat_tables(tables).slice(start, stop - start)

    def names(self) -> list[str] | None:
        """Return the names of all samples, or None if there is more than one key column."""
        return sample_names(self.read_rows(0, len(self._rows))) if len(self._schema) == 1 else None


class PartDataset(RowDataset):
    """Rows of Parquet files in parts.

    Parameters
    ----------
    files : Files
        Files to read.
    cluster : Cluster or None
        Workers that cache parts of the files; if None, joblib runs the tasks.
    block_rows : int or None, default=None
        Minimum number of rows per part, which consists of row groups; if None, it depends on the size of the data.
    """

    in_memory = False

    def __init__(self, files: Files, cluster: Cluster | None, block_rows: int | None = None) -> None:
        layout = files.layout
        self.n_rows, self.n_features, self.dtype = files.n_rows, layout.n_features, layout.dtype
        self.feature_names = layout.feature_names
        self._cluster = cluster
        self._token = f"evlearn-{secrets.token_hex(6)}"
        min_rows = block_rows or task_rows(self.n_rows, self.n_features * self.dtype.itemsize)
        self._parts = [
            Part(pieces, layout, f"{self._token}-{k}.rows", files.key_schema)
            for k, pieces in enumerate(_groups(files.pieces, min_rows))
        ]
        self._starts = np.concatenate([[0], np.cumsum([part.shape[0] for part in self._parts])])
        self._has_weights = layout.choice.weight is not None
        if files.key_schema is not None:
            self.keys = PartKeys(self, files.key_schema)

    @cached_property
    def weights(self) -> Any:
        """Sample weights, if a column contains them."""
        return np.concatenate(list(self.run_on_parts(Part.weights))) if self._has_weights else None

    def run_on_parts(self, task: Function) -> Iterator[Any]:
        """Return the results of a task for all parts, in order."""
        return self._run(task, self._parts)

    def align(self, weights: Any) -> Any:
        """Return weights in pieces that belong to the parts."""
        return [np.array(piece) for piece in cut(np.asarray(weights, dtype=self.dtype), self._starts)]

    def map(self, function: Function, weights: Any = None, *, n_jobs: int | None = None) -> Iterator[Any]:
        """Call ``function(block, weights of the block)`` for all parts."""
        yield from self._run(_apply, *self._with(function, weights), n_jobs=n_jobs)

    def add(self, function: Function, weights: Any = None, *, n_jobs: int | None = None) -> Any:
        """Call ``function(block, weights of the block)`` for all parts, and return the sum of the results."""
        if self._cluster is None:
            return super().add(function, weights, n_jobs=n_jobs)
        return self._cluster.total(self._begin(_apply, *self._with(function, weights)))

    def write(self, function: Function, target: Target, *, n_jobs: int | None = None) -> None:
        """Call ``function(block)`` for all parts, and write the results to the target."""
        n, starts = len(self._parts), self._starts[:-1].tolist()
        if self._cluster is None or not target.in_memory:
            functions, parts, _ = self._with(function, None)
            for _ in self._run(_write_part, functions, parts, starts, [target] * n, n_jobs=n_jobs):
                pass
            return
        results = self._run(_read_and_apply, *self._with(function, None))
        for start, values in zip(starts, results, strict=True):
            target.write_rows(start, values)

    def take(self, indices: Any) -> Any:
        """Return selected rows, in memory."""
        numbers, positions = by_block(indices, self._starts)
        return np.concatenate(
            list(self._run(_take, [self._remote_parts[k] for k in numbers], positions, numbers=numbers))
        )

    def close(self) -> None:
        """Remove the copies on the workers."""
        self.__dict__.pop("_remote_parts", None)
        if self._cluster is not None:
            self._cluster.client.run(_remove_copies, self._token, on_error="ignore")

    def _with(self, function: Function, weights: Any) -> tuple[Any, Any, Any]:
        n = len(self._parts)
        functions = [function] * n if self._cluster is None else self._cluster.shared(function, n)
        return functions, self._remote_parts, [None] * n if weights is None else weights

    @cached_property
    def _remote_parts(self) -> list[Any]:
        """Parts, sent to their workers once for all passes."""
        if self._cluster is None:
            return self._parts
        return self._cluster.start(identity, self._parts, homes=self._cluster.homes(range(len(self._parts))))

    def _run(
        self, task: Function, *lists: Any, numbers: Iterable[int] | None = None, n_jobs: int | None = None
    ) -> Iterator[Any]:
        """Return the results of a task for all parts, or for the parts with these numbers."""
        if self._cluster is None:
            return run_tasks([delayed(task)(*arguments) for arguments in zip(*lists, strict=True)], n_jobs)
        return self._cluster.results(self._begin(task, *lists, numbers=numbers))

    def _begin(self, task: Function, *lists: Any, numbers: Iterable[int] | None = None) -> list[Any]:
        assert self._cluster is not None
        homes = self._cluster.homes(range(len(self._parts)) if numbers is None else numbers)
        return self._cluster.start(task, *lists, homes=homes)


def _groups(pieces: Sequence[Piece], min_rows: int) -> Iterator[tuple[Piece, ...]]:
    """Group consecutive row groups to at least `min_rows` rows; the last group may be smaller."""
    group: list[Piece] = []
    for piece in pieces:
        group.append(piece)
        if sum(member.n_rows for member in group) >= min_rows:
            yield tuple(group)
            group = []
    if group:
        yield tuple(group)


def _worker_folder() -> Path | None:
    """Return the folder of this worker, which Dask removes even if the worker is killed; None if not a worker."""
    distributed = sys.modules.get("distributed")
    try:
        return Path(distributed.get_worker().local_directory) if distributed else None
    except ValueError:
        return None


def _apply(function: Function, part: Part, weights: Any) -> Any:
    return function(part.cached(), weights)


def _read_and_apply(function: Function, part: Part, weights: Any) -> Any:
    return function(part.numbers(), weights)


def _take(part: Part, indices: Any) -> Any:
    return np.array(part.cached()[indices])


def _write_part(function: Function, part: Part, start: int, target: Target) -> None:
    write_results(function, part.numbers(), part.keys(), start, target)


def _remove_copies(token: str, dask_worker: Any) -> None:
    for path in Path(dask_worker.local_directory).glob(f"{token}-*"):
        path.unlink(missing_ok=True)
