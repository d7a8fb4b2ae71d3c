"""Rows of Parquet files: read once, and kept as a memory map for as long as an iterative fit needs them.

Reading a Parquet file costs more than an iteration over its rows, so it is done once. Workers read their own
parts.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from glob import glob
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from joblib import delayed

from evlearn.blocks.rows import ArrayRows, run_tasks
from evlearn.blocks.scratch import MappedFile, Scratch
from evlearn.blocks.tables import BATCH_ROWS, Choice, Keys, Layout
from evlearn.blocks.targets import need_pyarrow
from evlearn.utils.progress import Count

_URL = re.compile("[A-Za-z][A-Za-z0-9+.-]+://")
_PATTERN = re.compile(r"[*?\[]")
_ENDINGS = (".parquet", ".pq")


def is_paths(X: Any) -> bool:
    """Whether X names files: one path, or a list of them."""
    several = isinstance(X, (list, tuple)) and len(X) > 0
    return all(isinstance(one, (str, os.PathLike)) for one in (X if several else [X]))


def open_parquet(X: Any, choice: Choice, folder: str | os.PathLike[str] | None, n_jobs: int | None) -> ArrayRows:
    """Rows of Parquet files, or of all Parquet files of folders, in the order of their names."""
    fragments: list[Any] = []
    for path in X if isinstance(X, (list, tuple)) else [X]:
        dataset = open_dataset(path)
        with _explaining(path):
            # Empty files, as engines write them, often know nothing of the types of their columns.
            fragments += [one for one in dataset.get_fragments() if one.metadata.num_rows]
    if not fragments:
        raise ValueError(f"{X!r} has no rows.")
    return copy_fragments(fragments, choice, folder, n_jobs)


def copy_fragments(
    fragments: list[Any], choice: Choice, folder: str | os.PathLike[str] | None, n_jobs: int | None
) -> ArrayRows:
    """Rows of Parquet files, in the order given."""
    files = _files_of(fragments)
    schemas = [(file, fragment.physical_schema) for file, fragment in zip(files, fragments, strict=True)]
    layout = Layout.of(schemas, choice, lambda names: fragments[0].head(BATCH_ROWS, columns=names))
    parts = [part for file, fragment in zip(files, fragments, strict=True) for part in _parts(file, fragment)]
    starts = np.cumsum([0, *(part.n_rows for part in parts)])
    n_rows = int(starts[-1])
    made: list[Any] = []
    try:
        made.append(scratch := Scratch(folder))
        rows = MappedFile(scratch.path, layout.dtype.str, (n_rows, layout.n_features))
        weights = keys = None
        if choice.weight is not None:
            made.append(second := Scratch(folder))
            column = MappedFile(second.path, "<f8", (n_rows, 1))
            weights = ArrayRows(column, scratch=second)
        if choice.key:
            made.append(keys := Keys(_key_schema(schemas, choice), folder))
        tasks = [
            delayed(_spill)(part, layout, rows, None if weights is None else column, int(start))
            for part, start in zip(parts, starts[:-1], strict=True)
        ]
        copied = Count("copy", "rows", n_rows)
        for part, _ in zip(parts, run_tasks(tasks, n_jobs), strict=True):
            copied.add(part.n_rows)
        if keys is not None:
            for fragment in fragments:
                for batch in fragment.to_batches(columns=list(choice.key), batch_size=BATCH_ROWS):
                    keys.add(batch)
            keys.finish()
    except BaseException:
        for one in made:
            one.close()
        raise
    return ArrayRows(rows, feature_names=layout.feature_names, scratch=scratch, keys=keys, weights=weights)


@dataclass(frozen=True)
class _Part:
    """Row groups of a file that are read together."""

    file: str
    fragment: Any
    first: int
    n_rows: int


def _parts(file: str, fragment: Any) -> Iterator[_Part]:
    first = 0
    for part in fragment.split_by_row_group():
        # Not count_rows(), which counts the whole file.
        n_rows = sum(group.num_rows for group in part.row_groups)
        yield _Part(file, part, first, n_rows)
        first += n_rows


def _files_of(fragments: list[Any]) -> list[str]:
    """What errors call the files: by their names, or by their paths where names are not enough."""
    names = [Path(fragment.path).name for fragment in fragments]
    return names if len(set(names)) == len(names) else [fragment.path for fragment in fragments]


def _key_schema(schemas: list[tuple[str, Any]], choice: Choice) -> Any:
    """The columns of the key, of types that hold what all files hold."""
    pyarrow = need_pyarrow()
    own = [pyarrow.schema([schema.field(name) for name in choice.key]) for _, schema in schemas]
    try:
        return pyarrow.unify_schemas(own, promote_options="permissive")
    except pyarrow.ArrowException as error:
        raise ValueError(f"the key has different types in the Parquet files: {error}") from error


def open_dataset(path: str | os.PathLike[str]) -> Any:
    """The Parquet files of a path, as a dataset of pyarrow."""
    pyarrow = need_pyarrow()
    filesystem, found = None, os.fspath(path)
    if _URL.match(found):
        filesystem, found = _filesystem(found)
        files = _remote_files(filesystem, found)
    else:
        files = _local_files(found)
    if files is None:
        raise FileNotFoundError(f"X is the path {os.fspath(path)!r}, and there is no such file or folder.")
    if not files:
        raise ValueError(f"the folder {Path(path).name!r} holds no files that end in .parquet.")
    with _explaining(path):
        return pyarrow.dataset.dataset(files, format="parquet", filesystem=filesystem)


def _local_files(path: str) -> list[str] | None:
    """The files that a path or a pattern means; None if there is no such file or folder."""
    places = [Path(path)]
    if not places[0].exists():
        places = [Path(one) for one in sorted(glob(path, recursive=True))] if _PATTERN.search(path) else []
    if not places:
        return None
    return [str(file) for place in places for file in ([place] if place.is_file() else _files(place))]


def _filesystem(url: str) -> tuple[Any, str]:
    """Where a URL leads, and the path there: by pyarrow, or else by fsspec, which knows more kinds."""
    pyarrow = need_pyarrow()
    try:
        filesystem, path = pyarrow.fs.FileSystem.from_uri(url)
        return filesystem, str(path)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError) as error:
        try:
            other, path = import_module("fsspec").core.url_to_fs(url)
        except (ImportError, ValueError) as reason:
            raise ValueError(f"X is the URL {url!r}, which cannot be read: {error}; {reason}.") from reason
    return pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(other)), str(path)


def _remote_files(filesystem: Any, path: str) -> list[str] | None:
    """The files that a path or a pattern means; None if there is no such file or folder."""
    kinds, select = need_pyarrow().fs.FileType, need_pyarrow().fs.FileSelector
    info = filesystem.get_file_info(path)
    if info.type == kinds.File:
        return [path]
    pattern = info.type == kinds.NotFound and _PATTERN.search(path)
    if info.type == kinds.NotFound and not pattern:
        return None
    folder = path[: pattern.start()].rpartition("/")[0] if pattern else path
    below = filesystem.get_file_info(select(folder, recursive=True, allow_not_found=True))
    found = sorted(one.path for one in below if one.type == kinds.File)
    if pattern:
        size = len(PurePosixPath(path).parts)
        found = [one for one in found if len(PurePosixPath(one).parts) == size and PurePosixPath(one).match(path)]
        return found or None
    inner = {one: PurePosixPath(one).parts[len(PurePosixPath(folder).parts) :] for one in found}
    return [one for one in found if one.endswith(_ENDINGS) and not any(part[0] in "._" for part in inner[one])]


def _files(folder: Path) -> list[Path]:
    # Names of files and folders that begin with a dot or an underscore are what engines leave beside the data.
    found = [file for ending in _ENDINGS for file in folder.rglob(f"*{ending}")]
    return sorted(
        file
        for file in found
        if file.is_file() and not any(part[0] in "._" for part in file.relative_to(folder).parts)
    )


def _spill(part: _Part, layout: Layout, rows: MappedFile, weights: MappedFile | None, start: int) -> None:
    wanted = [*layout.columns, *([] if weights is None else [layout.choice.weight])]
    batches = part.fragment.to_batches(columns=wanted, batch_size=BATCH_ROWS)
    done = 0
    while True:
        with _explaining(part.fragment.path):
            batch = next(batches, None)
        if batch is None:
            return
        rows.write(start + done, layout.numbers(batch, part.file, part.first + done))
        if weights is not None:
            weights.write(start + done, layout.weights(batch, part.file, part.first + done))
        done += len(batch)


@contextmanager
def _explaining(path: str | os.PathLike[str]) -> Iterator[None]:
    pyarrow = need_pyarrow()
    try:
        yield
    except (pyarrow.ArrowInvalid, OSError) as error:
        raise ValueError(
            f"{Path(path).name} cannot be read as Parquet, the only kind of file that X may name; read others "
            f"with pandas or polars and give the frame. Parquet's own words: {error}"
        ) from error
