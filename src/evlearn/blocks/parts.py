"""Rows of Parquet files that nobody copies to one place.

Each worker of a cluster reads parts of its own, and keeps them on its own disk for the passes that follow; parts
that are lost with a worker are read again by another. A prediction, which is one pass, keeps nothing.
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

from evlearn.blocks.cluster import Cluster, itself
from evlearn.blocks.parquet import Files, Piece
from evlearn.blocks.rows import Function, Rows, by_block, cut, put_rows
from evlearn.blocks.scratch import MappedFile, check_room
from evlearn.blocks.tables import Layout, cast_keys, sample_names
from evlearn.blocks.targets import Target
from evlearn.utils.chunks import task_rows
from evlearn.utils.files import naming
from evlearn.utils.parallel import run_tasks
from evlearn.utils.places import need_pyarrow


@dataclass(frozen=True)
class Part:
    """Some consecutive rows of the files, and where a worker keeps them.

    Attributes
    ----------
    pieces : tuple of Piece
        What is read.
    layout : Layout
        How it becomes numbers.
    name : str
        The name of the copy on the disk of a worker.
    key_schema : pyarrow schema or None
        The columns that identify the samples, with types that hold the values of all files.
    """

    pieces: tuple[Piece, ...]
    layout: Layout
    name: str
    key_schema: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return sum(piece.n_rows for piece in self.pieces), self.layout.n_features

    def numbers(self) -> Any:
        """The features, read from the files."""
        found = np.empty(self.shape, self.layout.dtype)
        for start, piece, batch in self._batches(self.layout.columns):
            found[start : start + len(batch)] = self.layout.numbers(batch, *piece)
        return found

    def kept(self) -> Any:
        """The features, mapped from the disk of this worker, which reads the files if it has not done so yet.

        Who is no worker of Dask reads them each time.
        """
        folder = _own_folder()
        if folder is None:
            return self.numbers()
        path = folder / self.name
        if not path.exists():
            check_room(path.parent, self.shape[0] * self.shape[1] * self.layout.dtype.itemsize)
            temporary = path.with_name(f"{self.name}.{secrets.token_hex(4)}")
            try:
                with naming(path), open(temporary, "wb") as file:
                    for _, piece, batch in self._batches(self.layout.columns):
                        file.write(np.ascontiguousarray(self.layout.numbers(batch, *piece)).data)
                # Several threads of a worker may do this at once: each is whole, and they are the same.
                temporary.replace(path)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
        return MappedFile(str(path), self.layout.dtype.str, self.shape).read(0, self.shape[0])

    def weights(self) -> Any:
        """The weights, read from the files."""
        columns = [str(self.layout.choice.weight)]
        return np.concatenate(
            [self.layout.weights(batch, *piece)[:, 0] for _, piece, batch in self._batches(columns)]
        )

    def keys(self) -> Any:
        """Return the key columns, read from the files, as a table of Arrow; None if there is no key."""
        if self.key_schema is None:
            return None
        columns = self.key_schema.names
        tables = [cast_keys(batch, self.key_schema, file) for _, (file, _), batch in self._batches(columns)]
        return need_pyarrow().concat_tables(tables)

    def _batches(self, columns: Sequence[str]) -> Iterator[tuple[int, tuple[str, int], Any]]:
        start = 0
        for piece in self.pieces:
            for done, batch in piece.batches(columns):
                yield start + done, (piece.file, piece.first + done), batch
            start += piece.n_rows


class PartKeys:
    """Key columns of Parquet files in parts, which are read when they are needed.

    Parameters
    ----------
    rows : PartRows
        The rows that the keys belong to.
    schema : pyarrow schema
        The columns.
    """

    def __init__(self, rows: "PartRows", schema: Any) -> None:
        self._rows, self._schema = rows, schema

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._schema.names)

    def read(self, start: int, stop: int) -> Any:
        """Return the keys of the rows from `start` to `stop` as a table of Arrow."""
        tables = list(self._rows.run_on_parts(Part.keys))
        return need_pyarrow().concat_tables(tables).slice(start, stop - start)

    def names(self) -> list[str] | None:
        """Return the names of all samples, or None if there is more than one key column."""
        return sample_names(self.read(0, len(self._rows))) if len(self._schema) == 1 else None


class PartRows(Rows):
    """Rows of Parquet files in parts.

    Parameters
    ----------
    files : Files
        The files.
    cluster : Cluster or None
        The workers that keep parts of them; without it joblib runs the tasks.
    block_rows : int or None, default=None
        How many rows a part has, at least: it is made of row groups. None leaves it to the size of the data.
    """

    in_memory = False

    def __init__(self, files: Files, cluster: Cluster | None, block_rows: int | None = None) -> None:
        layout = files.layout
        self.n_rows, self.n_features, self.dtype = files.n_rows, layout.n_features, layout.dtype
        self.feature_names = layout.feature_names
        self._cluster = cluster
        self._token = f"evlearn-{secrets.token_hex(6)}"
        least = block_rows or task_rows(self.n_rows, self.n_features * self.dtype.itemsize)
        self._parts = [
            Part(pieces, layout, f"{self._token}-{k}.rows", files.key_schema)
            for k, pieces in enumerate(_groups(files.pieces, least))
        ]
        self._starts = np.concatenate([[0], np.cumsum([part.shape[0] for part in self._parts])])
        self._named = layout.choice.weight is not None
        if files.key_schema is not None:
            self.keys = PartKeys(self, files.key_schema)

    @cached_property
    def weights(self) -> Any:
        """How much each sample counts, where a column says it."""
        return np.concatenate(list(self.run_on_parts(Part.weights))) if self._named else None

    def run_on_parts(self, task: Function) -> Iterator[Any]:
        """Return the results of a task for all parts, in order."""
        return self._run(task, self._parts)

    def align(self, weights: Any) -> Any:
        """Weights in pieces that belong to the parts."""
        return [np.array(own) for own in cut(np.asarray(weights, dtype=self.dtype), self._starts)]

    def map(self, function: Function, weights: Any = None, *, n_jobs: int | None = None) -> Iterator[Any]:
        """Call ``function(block, weights of the block)`` for all parts."""
        yield from self._run(_apply, *self._with(function, weights), n_jobs=n_jobs)

    def add(self, function: Function, weights: Any = None, *, n_jobs: int | None = None) -> Any:
        """Call ``function(block, weights of the block)`` for all parts, and add up the results."""
        if self._cluster is None:
            return super().add(function, weights, n_jobs=n_jobs)
        return self._cluster.total(self._begin(_apply, *self._with(function, weights)))

    def write(self, function: Function, target: Target, *, n_jobs: int | None = None) -> None:
        """Call ``function(block)`` for all parts, and put the results where they belong."""
        n, starts = len(self._parts), self._starts[:-1].tolist()
        if self._cluster is None or not target.in_memory:
            functions, parts, _ = self._with(function, None)
            for _ in self._run(_put, functions, parts, starts, [target] * n, n_jobs=n_jobs):
                pass
            return
        results = self._run(_read_and_apply, *self._with(function, None))
        for start, values in zip(starts, results, strict=True):
            target.put(start, values)

    def take(self, indices: Any) -> Any:
        """Some rows, in memory."""
        asked, wanted = by_block(indices, self._starts)
        return np.concatenate(list(self._run(_take, [self._there[k] for k in asked], wanted, which=asked)))

    def close(self) -> None:
        """Let the workers remove their copies."""
        self.__dict__.pop("_there", None)
        if self._cluster is not None:
            self._cluster.client.run(_forget, self._token, on_error="ignore")

    def _with(self, function: Function, weights: Any) -> tuple[Any, Any, Any]:
        n = len(self._parts)
        functions = [function] * n if self._cluster is None else self._cluster.shared(function, n)
        return functions, self._there, [None] * n if weights is None else weights

    @cached_property
    def _there(self) -> list[Any]:
        """The parts, sent to their homes once for all passes."""
        if self._cluster is None:
            return self._parts
        return self._cluster.start(itself, self._parts, homes=self._cluster.homes(range(len(self._parts))))

    def _run(
        self, task: Function, *lists: Any, which: Iterable[int] | None = None, n_jobs: int | None = None
    ) -> Iterator[Any]:
        """The results of a task for all parts, or for those that are named."""
        if self._cluster is None:
            return run_tasks([delayed(task)(*one) for one in zip(*lists, strict=True)], n_jobs)
        return self._cluster.results(self._begin(task, *lists, which=which))

    def _begin(self, task: Function, *lists: Any, which: Iterable[int] | None = None) -> list[Any]:
        assert self._cluster is not None
        homes = self._cluster.homes(range(len(self._parts)) if which is None else which)
        return self._cluster.start(task, *lists, homes=homes)


def _groups(pieces: Sequence[Piece], least: int) -> Iterator[tuple[Piece, ...]]:
    """Consecutive row groups that have so many rows together, or are the last."""
    group: list[Piece] = []
    for piece in pieces:
        group.append(piece)
        if sum(one.n_rows for one in group) >= least:
            yield tuple(group)
            group = []
    if group:
        yield tuple(group)


def _own_folder() -> Path | None:
    """The folder of this worker, which Dask removes, also after a worker that was killed; None of no worker."""
    distributed = sys.modules.get("distributed")
    try:
        return Path(distributed.get_worker().local_directory) if distributed else None
    except ValueError:
        return None


def _apply(function: Function, part: Part, weights: Any) -> Any:
    return function(part.kept(), weights)


def _read_and_apply(function: Function, part: Part, weights: Any) -> Any:
    return function(part.numbers(), weights)


def _take(part: Part, indices: Any) -> Any:
    return np.array(part.kept()[indices])


def _put(function: Function, part: Part, start: int, target: Target) -> None:
    put_rows(function, part.numbers(), part.keys(), start, target)


def _forget(token: str, dask_worker: Any) -> None:
    for path in Path(dask_worker.local_directory).glob(f"{token}-*"):
        path.unlink(missing_ok=True)
