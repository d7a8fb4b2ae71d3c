"""Rows of Parquet files: read once, and kept as a memory map for as long as an iterative fit needs them.

Reading a Parquet file costs more than an iteration over its rows, so it is done once. Workers read their own
parts.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from joblib import delayed

from evlearn.blocks.rows import ArrayRows, run_tasks
from evlearn.blocks.scratch import MappedFile, Scratch
from evlearn.blocks.targets import need_pyarrow

_BATCH_ROWS = 1 << 16


def open_parquet(
    path: str | os.PathLike[str], folder: str | os.PathLike[str] | None, n_jobs: int | None
) -> ArrayRows:
    """Rows of a Parquet file, or of all Parquet files of a folder, in the order of their names."""
    dataset = open_dataset(path)
    with _explaining(path):
        # Empty files, as engines write them, often know nothing of the types of their columns.
        fragments = [one for one in dataset.get_fragments() if one.metadata.num_rows]
        if not fragments:
            raise ValueError(f"{Path(path).name} has no rows.")
        names, dtype = _columns(fragments)
        parts = [part for fragment in fragments for part in fragment.split_by_row_group()]
    # Not count_rows(), which counts the whole file.
    counts = [sum(group.num_rows for group in part.row_groups) for part in parts]
    scratch = Scratch(folder)
    file = MappedFile(scratch.path, dtype.str, (sum(counts), len(names)))
    starts = np.cumsum([0, *counts[:-1]])
    tasks = [delayed(_spill)(part, names, file, int(start)) for part, start in zip(parts, starts, strict=True)]
    try:
        run_tasks(tasks, n_jobs)
    except BaseException:
        scratch.close()
        raise
    return ArrayRows(file, feature_names=np.array(names, dtype=object), scratch=scratch)


def open_dataset(path: str | os.PathLike[str]) -> Any:
    """The Parquet files of a path, as a dataset of pyarrow."""
    pyarrow = need_pyarrow()
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"X is the path {str(path)!r}, and there is no such file or folder.")
    files = [path] if path.is_file() else _files(path)
    if not files:
        raise ValueError(f"the folder {path.name!r} holds no files that end in .parquet.")
    with _explaining(path):
        return pyarrow.dataset.dataset([str(file) for file in files], format="parquet")


def _files(folder: Path) -> list[Path]:
    # Names of files and folders that begin with a dot or an underscore are what engines leave beside the data.
    found = [file for pattern in ("*.parquet", "*.pq") for file in folder.rglob(pattern)]
    return sorted(
        file
        for file in found
        if file.is_file() and not any(part[0] in "._" for part in file.relative_to(folder).parts)
    )


def _columns(fragments: list[Any]) -> tuple[list[str], np.dtype[Any]]:
    """The columns that all files have, and the precision that holds what all of them hold."""
    names = _numeric_columns(fragments[0])
    for fragment in fragments[1:]:
        others = _numeric_columns(fragment)
        if set(others) != set(names):
            raise ValueError(
                f"the Parquet files have different columns: {names} in {Path(fragments[0].path).name}, and "
                f"{others} in {Path(fragment.path).name}; write files with the same columns."
            )
    single = all(_is_single(fragment.physical_schema.field(name).type) for fragment in fragments for name in names)
    return names, np.dtype(np.float32 if single else np.float64)


def _numeric_columns(fragment: Any) -> list[str]:
    """All columns of a file but the index of a pandas frame; they must hold numbers."""
    types = need_pyarrow().types
    schema = fragment.physical_schema
    index = [one for one in (schema.pandas_metadata or {}).get("index_columns", []) if isinstance(one, str)]
    names = [name for name in schema.names if name not in index]
    for name in names:
        kind = schema.field(name).type
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
            raise ValueError(
                f"column {name!r} holds {kind} in {Path(fragment.path).name}, and not numbers; write a file with "
                "the numeric columns only."
            )
    if not names:
        raise ValueError(f"{Path(fragment.path).name} has no columns.")
    return names


def _is_single(kind: Any) -> bool:
    return str(kind) in ("float", "halffloat")


def _spill(part: Any, names: list[str], file: MappedFile, start: int) -> None:
    batches = part.to_batches(columns=names, batch_size=_BATCH_ROWS)
    while True:
        with _explaining(part.path):
            batch = next(batches, None)
        if batch is None:
            return
        file.write(start, _to_array(batch, file.dtype))
        start += len(batch)


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


def _to_array(batch: Any, dtype: Any) -> Any:
    rows = np.empty((batch.num_rows, batch.num_columns), dtype=dtype)
    for k, (name, column) in enumerate(zip(batch.schema.names, batch.columns, strict=True)):
        # Booleans with missing values are samples.
        rows[:, k] = np.asarray(column).astype(np.float64, copy=False)
        # A sum is not finite if one of its terms is not.
        if not np.isfinite(rows[:, k].sum(dtype=np.float64)) and not np.isfinite(rows[:, k]).all():
            raise ValueError(f"column {name!r} has missing or infinite values; fill or drop these rows first.")
    return rows
