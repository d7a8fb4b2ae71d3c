"""Rows of Parquet files: read once, and kept as a memory map for as long as an iterative fit needs them.

Reading a Parquet file costs more than an iteration over its rows, so it is done once. Workers read their own
parts.
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

from evlearn.blocks.rows import ArrayRows
from evlearn.blocks.scratch import MappedFile, Scratch
from evlearn.blocks.tables import BATCH_ROWS, Choice, Keys, Layout, key_schema
from evlearn.utils.parallel import run_tasks
from evlearn.utils.places import Place, is_url, need_pyarrow
from evlearn.utils.progress import Count

_PATTERN = re.compile(r"[*?\[]")
_ENDINGS = (".parquet", ".pq")


def is_paths(X: Any) -> bool:
    """Whether X names files: one path, or a list of them."""
    several = isinstance(X, (list, tuple)) and len(X) > 0
    return all(isinstance(one, (str, os.PathLike)) for one in (X if several else [X]))


@dataclass(frozen=True)
class Piece:
    """Row groups of a Parquet file that are read together.

    Attributes
    ----------
    file : str
        What errors call the file.
    fragment : pyarrow fragment
        The row groups.
    first : int
        The row of the file at which they begin.
    n_rows : int
        How many rows they have.
    """

    file: str
    fragment: Any
    first: int
    n_rows: int

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[int, Any]]:
        """Some rows after the other: how many came before, and the batch."""
        done = 0
        batches = self.fragment.to_batches(columns=list(columns), batch_size=BATCH_ROWS)
        while True:
            with _explaining(self.fragment.path, self.fragment):
                batch = next(batches, None)
            if batch is None:
                return
            yield done, batch
            done += len(batch)


@dataclass(frozen=True)
class Files:
    """Parquet files that are one table.

    Attributes
    ----------
    pieces : list of Piece
        Their row groups, in order.
    layout : Layout
        How they become numbers.
    key_schema : pyarrow schema or None
        The columns that say who the samples are.
    """

    pieces: list[Piece]
    layout: Layout
    key_schema: Any

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return sum(piece.n_rows for piece in self.pieces)

    @property
    def identity(self) -> str:
        """A short name for the numbers, by names, sizes and times of the files; "" where these are not known."""
        files = list(dict.fromkeys(piece.fragment.path for piece in self.pieces))
        found = self.pieces[0].fragment.filesystem.get_file_info(files)
        known = [(one.path, one.size, one.mtime_ns) for one in found]
        if not all(all(one) for one in known):
            return ""
        return sha256(repr((known, self.layout)).encode()).hexdigest()[:16]


def list_files(X: Any, choice: Choice) -> Files:
    """Parquet files, or all Parquet files of folders, in the order of their names."""
    fragments: list[Any] = []
    for path in X if isinstance(X, (list, tuple)) else [X]:
        dataset = open_dataset(path)
        with _explaining(path):
            # Empty files, as engines write them, often know nothing of the types of their columns.
            fragments += [one for one in dataset.get_fragments() if one.metadata.num_rows]
    if not fragments:
        raise ValueError(f"{X!r} has no rows.")
    files = _files_of(fragments)
    schemas = [(file, fragment.physical_schema) for file, fragment in zip(files, fragments, strict=True)]
    layout = Layout.of(schemas, choice, lambda names: fragments[0].head(BATCH_ROWS, columns=names))
    pieces = [piece for file, fragment in zip(files, fragments, strict=True) for piece in _pieces(file, fragment)]
    return Files(pieces, layout, key_schema(schemas, choice.key) if choice.key else None)


def copy_files(
    files: Files, folder: str | os.PathLike[str] | None, n_jobs: int | None, block_rows: int | None
) -> ArrayRows:
    """Rows of Parquet files, copied to a memory map."""
    layout, choice = files.layout, files.layout.choice
    starts = np.cumsum([0, *(piece.n_rows for piece in files.pieces)])
    made: list[Any] = []
    try:
        n_bytes = files.n_rows * layout.n_features * layout.dtype.itemsize
        made.append(scratch := Scratch(folder, n_bytes, "" if choice.others else files.identity))
        rows = MappedFile(scratch.path, layout.dtype.str, (files.n_rows, layout.n_features))
        weights = keys = None
        if choice.weight is not None:
            made.append(second := Scratch(folder))
            column = MappedFile(second.path, "<f8", (files.n_rows, 1))
            weights = ArrayRows(column, scratch=second)
        if choice.key:
            made.append(keys := Keys(files.key_schema, folder))
        tasks = [
            delayed(_spill)(piece, layout, rows, None if weights is None else column, int(start))
            for piece, start in zip(files.pieces, starts[:-1], strict=True)
        ]
        if not scratch.whole:
            copied = Count("copy", "rows", files.n_rows)
            with scratch.filling():
                for piece, _ in zip(files.pieces, run_tasks(tasks, n_jobs), strict=True):
                    copied.add(piece.n_rows)
        if keys is not None:
            for piece in files.pieces:
                for _, batch in piece.batches(choice.key):
                    keys.add(batch, piece.file)
            keys.finish()
    except BaseException:
        for one in made:
            one.close()
        raise
    return ArrayRows(
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
        # Not count_rows(), which counts the whole file.
        n_rows = sum(group.num_rows for group in part.row_groups)
        yield Piece(file, part, first, n_rows)
        first += n_rows


def _files_of(fragments: list[Any]) -> list[str]:
    """What errors call the files: by their names, or by their paths where names are not enough."""
    names = [Path(fragment.path).name for fragment in fragments]
    return names if len(set(names)) == len(names) else [fragment.path for fragment in fragments]


def open_dataset(path: str | os.PathLike[str]) -> Any:
    """The Parquet files of a path, as a dataset of pyarrow."""
    pyarrow = need_pyarrow()
    filesystem, found = None, os.fspath(path)
    if is_url(path):
        place = Place(path)
        filesystem, files = place.filesystem, _remote_files(place.filesystem, place.path)
    else:
        files = _local_files(found)
    if files is None:
        raise FileNotFoundError(_not_there(os.fspath(path)))
    if not files:
        raise ValueError(f"the folder {Path(path).name!r} holds no files that end in .parquet.")
    with _explaining(path):
        try:
            return pyarrow.dataset.dataset(files, format="parquet", filesystem=filesystem)
        except pyarrow.ArrowInvalid:
            _refuse_equal_names(files, filesystem)
            raise


def _not_there(path: str) -> str:
    """Return the message about a path that leads nowhere."""
    server = ", or its server cannot be reached" if path.lower().startswith("http") else ""
    pattern = " In a URL, '?' begins the options: use '*' for patterns." if is_url(path) and "?" in path else ""
    return f"X is the path {path!r}, and there is no such file or folder{server}.{pattern}"


def _refuse_equal_names(files: list[str], filesystem: Any) -> None:
    """Raise if a file has several columns of one name, which a dataset of pyarrow cannot have."""
    pyarrow = need_pyarrow()
    for file in files:
        names = pyarrow.parquet.read_schema(file, filesystem=filesystem).names
        for name in names:
            if (count := names.count(name)) > 1:
                raise ValueError(
                    f"{Path(file).name} has {count} columns with the name {name!r}; give each its own name."
                )


def _local_files(path: str) -> list[str] | None:
    """The files that a path or a pattern means; None if there is no such file or folder."""
    places = [Path(path)]
    if not places[0].exists():
        places = sorted(map(Path, glob(path, recursive=True))) if _PATTERN.search(path) else []
    if not places:
        return None
    return [str(file) for place in places for file in ([place] if place.is_file() else _files(place))]


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
    # Folder by folder, as local paths are sorted, and not by the text of the whole path.
    found = sorted((one.path for one in below if one.type == kinds.File), key=lambda one: PurePosixPath(one).parts)
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


def _spill(piece: Piece, layout: Layout, rows: MappedFile, weights: MappedFile | None, start: int) -> None:
    wanted = [*layout.columns, *([] if weights is None else [str(layout.choice.weight)])]
    for done, batch in piece.batches(wanted):
        rows.write(start + done, layout.numbers(batch, piece.file, piece.first + done))
        if weights is not None:
            weights.write(start + done, layout.weights(batch, piece.file, piece.first + done))


@contextmanager
def _explaining(path: str | os.PathLike[str], fragment: Any = None) -> Iterator[None]:
    """Explain errors of pyarrow; a fragment has been opened before, so that its file may have changed since."""
    pyarrow = need_pyarrow()
    try:
        yield
    except (pyarrow.ArrowInvalid, OSError) as error:
        if fragment is not None and _has_changed(fragment):
            raise ValueError(
                f"{Path(path).name} was changed or removed after it had been opened; open the data again, and do "
                "not write to the files while they are read."
            ) from error
        raise ValueError(
            f"{Path(path).name} cannot be read as Parquet, the only kind of file that X may name; read others "
            f"with pandas or polars and give the frame. Parquet's own words: {error}"
        ) from error


def _has_changed(fragment: Any) -> bool:
    """Return True if the file of a fragment is not the one that was opened."""
    pyarrow = need_pyarrow()
    try:
        now = pyarrow.parquet.read_metadata(fragment.path, filesystem=fragment.filesystem)
    except (pyarrow.ArrowInvalid, OSError):
        return True
    return not now.equals(fragment.metadata)
