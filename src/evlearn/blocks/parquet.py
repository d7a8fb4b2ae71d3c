"""Rows of Parquet files, copied once to a memory map for iterative fits.

Reading a Parquet file takes longer than an iteration over its rows, so it is done once. Each worker reads a
different part.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from glob import glob
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from joblib import delayed

from evlearn.blocks.dataset import ArrayDataset
from evlearn.blocks.scratch import MappedFile, Scratch
from evlearn.blocks.tables import BATCH_ROWS, Choice, Keys, Layout, key_schema
from evlearn.utils.parallel import run_tasks
from evlearn.utils.places import RemotePath, import_pyarrow, is_url
from evlearn.utils.progress import Count

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
            for piece in files.pieces:
                for _, batch in piece.batches(choice.key):
                    keys.add(batch, piece.file)
            keys.finish()
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
