"""Rows of Parquet files, copied once to a memory map for iterative fits, or read part by part on a cluster.

Reading a Parquet file takes longer than an iteration over its rows, so it is done once. On a cluster the files
stay in place: each worker reads different parts, and caches them on its disk for later passes. Parts that are lost
with a worker are read again by another one. A prediction, which is a single pass, caches nothing.
"""

import os
import re
import secrets
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from glob import glob
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from joblib import delayed

from evlearn.blocks.dask_dataset import Cluster, identity
from evlearn.blocks.dataset import ArrayDataset, Function, RowDataset, by_block, cut, write_results
from evlearn.blocks.scratch import MappedFile, Scratch, check_room
from evlearn.blocks.tables import BATCH_ROWS, Choice, Keys, Layout, cast_keys, key_schema, sample_names
from evlearn.blocks.targets import Target
from evlearn.utils.chunks import task_rows
from evlearn.utils.files import name_file_in_errors
from evlearn.utils.parallel import run_tasks
from evlearn.utils.progress import Count
from evlearn.utils.urls import RemotePath, import_pyarrow, is_url

_PATTERN = re.compile(r"[*?\[]")
_ENDINGS = (".parquet", ".pq")


def is_paths(X: Any) -> bool:
    """Return True if X is a path or a list of paths."""
    is_list = isinstance(X, (list, tuple)) and len(X) > 0
    return all(isinstance(path, (str, os.PathLike)) for path in (X if is_list else [X]))


@dataclass(frozen=True)
class Piece:
    """Row groups of a Parquet file that are read together.

    Attributes
    ----------
    file : str
        Name of the file in error messages.
    fragment : pyarrow fragment
        Row groups.
    first : int
        First row in the file.
    n_rows : int
        Number of rows.
    """

    file: str
    fragment: Any
    first: int
    n_rows: int

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[int, Any]]:
        """Yield the number of previous rows, and a batch of rows."""
        offset = 0
        batches = self.fragment.to_batches(columns=list(columns), batch_size=BATCH_ROWS)
        while True:
            with _explain_errors(self.fragment.path, self.fragment):
                batch = next(batches, None)
            if batch is None:
                return
            yield offset, batch
            offset += len(batch)


@dataclass(frozen=True)
class Files:
    """Parquet files that form a table.

    Attributes
    ----------
    pieces : list of Piece
        Row groups of all files, in order.
    layout : Layout
        Conversion to numbers.
    key_schema : pyarrow schema or None
        Columns that identify the samples.
    """

    pieces: list[Piece]
    layout: Layout
    key_schema: Any

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(piece.n_rows for piece in self.pieces)

    @property
    def identity(self) -> str:
        """Digest of names, sizes and modification times of the files; "" if these are unknown."""
        files = list(dict.fromkeys(piece.fragment.path for piece in self.pieces))
        infos = self.pieces[0].fragment.filesystem.get_file_info(files)
        entries = [(info.path, info.size, info.mtime_ns) for info in infos]
        if not all(all(entry) for entry in entries):
            return ""
        return sha256(repr((entries, self.layout)).encode()).hexdigest()[:16]


def list_files(X: Any, choice: Choice) -> Files:
    """List Parquet files, or all Parquet files of folders, sorted by name."""
    fragments: list[Any] = []
    for path in X if isinstance(X, (list, tuple)) else [X]:
        dataset = open_dataset(path)
        with _explain_errors(path):
            # Engines may write empty files, often without the types of the columns.
            fragments += [fragment for fragment in dataset.get_fragments() if fragment.metadata.num_rows]
    if not fragments:
        raise ValueError(f"{X!r} has no rows.")
    files = _display_names(fragments)
    schemas = [(file, fragment.physical_schema) for file, fragment in zip(files, fragments, strict=True)]
    layout = Layout.of(schemas, choice, lambda names: fragments[0].head(BATCH_ROWS, columns=names))
    pieces = [piece for file, fragment in zip(files, fragments, strict=True) for piece in _pieces(file, fragment)]
    return Files(pieces, layout, key_schema(schemas, choice.key) if choice.key else None)


def copy_files(
    files: Files, folder: str | os.PathLike[str] | None, n_jobs: int | None, block_rows: int | None
) -> ArrayDataset:
    """Copy the rows of Parquet files to a memory map."""
    layout, choice = files.layout, files.layout.choice
    starts = np.cumsum([0, *(piece.n_rows for piece in files.pieces)])
    resources: list[Any] = []
    try:
        n_bytes = files.n_rows * layout.n_features * layout.dtype.itemsize
        resources.append(scratch := Scratch(folder, n_bytes, "" if choice.others else files.identity))
        rows = MappedFile(scratch.path, layout.dtype.str, (files.n_rows, layout.n_features))
        weights = keys = None
        if choice.weight is not None:
            resources.append(second := Scratch(folder))
            column = MappedFile(second.path, "<f8", (files.n_rows, 1))
            weights = ArrayDataset(column, scratch=second)
        if choice.key:
            resources.append(keys := Keys(files.key_schema, folder))
        tasks = [
            delayed(_spill)(piece, layout, rows, None if weights is None else column, int(start))
            for piece, start in zip(files.pieces, starts[:-1], strict=True)
        ]
        if not scratch.is_complete:
            progress = Count("copy", "rows", files.n_rows)
            with scratch.filling():
                for piece, _ in zip(files.pieces, run_tasks(tasks, n_jobs), strict=True):
                    progress.add(piece.n_rows)
        if keys is not None:
            _copy_keys(files, keys)
    except BaseException:
        for resource in resources:
            resource.close()
        raise
    return ArrayDataset(
        rows,
        feature_names=layout.feature_names,
        scratch=scratch,
        keys=keys,
        weights=weights,
        block_rows=block_rows,
    )


def _copy_keys(files: Files, keys: Keys) -> None:
    for piece in files.pieces:
        for _, batch in piece.batches(files.layout.choice.key):
            keys.add(batch, piece.file)
    keys.finish()


def _pieces(file: str, fragment: Any) -> Iterator[Piece]:
    first = 0
    for part in fragment.split_by_row_group():
        # count_rows() would count the rows of the whole file.
        n_rows = sum(group.num_rows for group in part.row_groups)
        yield Piece(file, part, first, n_rows)
        first += n_rows


def _display_names(fragments: list[Any]) -> list[str]:
    """Return the names of files for error messages, or their paths if names are not unique."""
    names = [Path(fragment.path).name for fragment in fragments]
    return names if len(set(names)) == len(names) else [fragment.path for fragment in fragments]


def open_dataset(path: str | os.PathLike[str]) -> Any:
    """Open the Parquet files of a path as a pyarrow dataset."""
    pyarrow = import_pyarrow()
    filesystem, local_path = None, os.fspath(path)
    if is_url(path):
        place = RemotePath(path)
        filesystem, files = place.filesystem, _remote_files(place.filesystem, place.path)
    else:
        files = _local_files(local_path)
    if files is None:
        raise FileNotFoundError(_missing_path(os.fspath(path)))
    if not files:
        raise ValueError(f"the folder {Path(path).name!r} holds no files that end in .parquet.")
    with _explain_errors(path):
        try:
            return pyarrow.dataset.dataset(files, format="parquet", filesystem=filesystem)
        except pyarrow.ArrowInvalid:
            _check_unique_columns(files, filesystem)
            raise


def _missing_path(path: str) -> str:
    """Return the message about a path that does not exist."""
    server = ", or its server cannot be reached" if path.lower().startswith("http") else ""
    pattern = " In a URL, '?' begins the options: use '*' for patterns." if is_url(path) and "?" in path else ""
    return f"X is the path {path!r}, and there is no such file or folder{server}.{pattern}"


def _check_unique_columns(files: list[str], filesystem: Any) -> None:
    """Raise if a file has several columns of the same name, which pyarrow datasets do not support."""
    pyarrow = import_pyarrow()
    for file in files:
        names = pyarrow.parquet.read_schema(file, filesystem=filesystem).names
        for name in names:
            if (count := names.count(name)) > 1:
                raise ValueError(
                    f"{Path(file).name} has {count} columns with the name {name!r}; give each column a unique "
                    "name."
                )


def _local_files(path: str) -> list[str] | None:
    """Return the files that match a path or a pattern; None if there is no such file or folder."""
    places = [Path(path)]
    if not places[0].exists():
        places = sorted(map(Path, glob(path, recursive=True))) if _PATTERN.search(path) else []
    if not places:
        return None
    return [str(file) for place in places for file in ([place] if place.is_file() else _files(place))]


def _remote_files(filesystem: Any, path: str) -> list[str] | None:
    """Return the files that match a path or a pattern; None if there is no such file or folder."""
    kinds, select = import_pyarrow().fs.FileType, import_pyarrow().fs.FileSelector
    info = filesystem.get_file_info(path)
    if info.type == kinds.File:
        return [path]
    pattern = info.type == kinds.NotFound and _PATTERN.search(path)
    if info.type == kinds.NotFound and not pattern:
        return None
    folder = path[: pattern.start()].rpartition("/")[0] if pattern else path
    entries = filesystem.get_file_info(select(folder, recursive=True, allow_not_found=True))
    # Sorted by folder, like local paths, and not by the text of the whole path.
    paths = sorted(
        (entry.path for entry in entries if entry.type == kinds.File), key=lambda path: PurePosixPath(path).parts
    )
    if pattern:
        size = len(PurePosixPath(path).parts)
        paths = [
            file for file in paths if len(PurePosixPath(file).parts) == size and PurePosixPath(file).match(path)
        ]
        return paths or None
    inner = {file: PurePosixPath(file).parts[len(PurePosixPath(folder).parts) :] for file in paths}
    return [file for file in paths if file.endswith(_ENDINGS) and not any(part[0] in "._" for part in inner[file])]


def _files(folder: Path) -> list[Path]:
    # Engines write auxiliary files and folders whose names begin with a dot or an underscore.
    files = [file for ending in _ENDINGS for file in folder.rglob(f"*{ending}")]
    return sorted(
        file
        for file in files
        if file.is_file() and not any(part[0] in "._" for part in file.relative_to(folder).parts)
    )


def _spill(piece: Piece, layout: Layout, rows: MappedFile, weights: MappedFile | None, start: int) -> None:
    columns = [*layout.columns, *([] if weights is None else [str(layout.choice.weight)])]
    for offset, batch in piece.batches(columns):
        rows.write(start + offset, layout.numbers(batch, piece.file, piece.first + offset))
        if weights is not None:
            weights.write(start + offset, layout.weights(batch, piece.file, piece.first + offset))


@contextmanager
def _explain_errors(path: str | os.PathLike[str], fragment: Any = None) -> Iterator[None]:
    """Explain errors of pyarrow; with a fragment, which was opened before, check if its file has changed."""
    pyarrow = import_pyarrow()
    try:
        yield
    except (pyarrow.ArrowInvalid, OSError) as error:
        if fragment is not None and _has_changed(fragment):
            raise ValueError(
                f"{Path(path).name} was changed or removed after it had been opened; open the data again, and do "
                "not write to the files while they are read."
            ) from error
        raise ValueError(
            f"{Path(path).name} cannot be read as Parquet, the only supported file format of X; read other files "
            f"with pandas or polars and pass the frame. Message of Parquet: {error}"
        ) from error


def _has_changed(fragment: Any) -> bool:
    """Return True if the file of a fragment has changed since it was opened."""
    pyarrow = import_pyarrow()
    try:
        metadata = pyarrow.parquet.read_metadata(fragment.path, filesystem=fragment.filesystem)
    except (pyarrow.ArrowInvalid, OSError):
        return True
    return not metadata.equals(fragment.metadata)


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
