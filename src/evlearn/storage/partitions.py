"""Files of credal partitions, without pickle: readable JSON and compact npz.

An ``.npz`` file is an archive of three arrays (`evlearn.storage.archives`): ``header`` (JSON as bytes),
``membership`` (the focal sets) and ``masses``, which can be read in place as a memory map.

Files are not trusted: names, types, shapes and sizes are checked before memory is allocated, then the values.
"""

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from evlearn.belief import FocalSets
from evlearn.storage.archives import header_array, read_archive, write_archive
from evlearn.storage.codec import (
    check_size,
    describe_errors,
    read_focal_sets,
    read_json,
    sorted_sets,
    table_of,
)
from evlearn.storage.fields import check_keys, check_names, sentences, shortened
from evlearn.utils.files import atomic_write
from evlearn.utils.typing import FloatArray

SCHEMA = "evlearn.CredalPartition"
VERSION = 1
_PROBLEMS = "problems"  # this key is absent if there are no problems
_HEADER = ("schema", "version", "dtype", "frame_size", "cluster_names", "object_names")


class Stored(NamedTuple):
    """Contents of a file.

    Attributes
    ----------
    masses : ndarray
        Masses, possibly a memory map.
    focal_sets : FocalSets
        Focal sets, with the names of the clusters.
    sample_names : list of str or None
        Names of the samples.
    problems : tuple of str, default=()
        Sentences that describe problems of the fit.
    """

    masses: FloatArray
    focal_sets: FocalSets
    sample_names: list[str] | None
    problems: tuple[str, ...] = ()


def write_file(path: Path, stored: Stored) -> None:
    """Write a JSON or npz file, depending on its suffix. An existing file is replaced atomically."""
    writer = {".json": _write_json, ".npz": _write_npz}[_format(path)]
    with atomic_write(path) as file:
        writer(file, stored)


def read_file(path: Path, mmap: bool) -> Stored:
    """Read a file written by `write_file`."""
    if _format(path) == ".npz":
        return _read_npz(path, mmap)
    if mmap:
        raise ValueError(f"mmap=True needs an .npz file, got {path.name}; save the partition as .npz.")
    return _read_json(path)


def _format(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in (".json", ".npz"):
        raise ValueError(f"path must end in .npz or .json, got {path.name!r}.")
    return suffix


def _header(stored: Stored) -> dict[str, Any]:
    names = stored.focal_sets.names
    header = {
        "schema": SCHEMA,
        "version": VERSION,
        "dtype": stored.masses.dtype.name,
        "frame_size": stored.focal_sets.frame_size,
        "cluster_names": None if names is None else list(names),
        "object_names": None if stored.sample_names is None else list(stored.sample_names),
    }
    return header | ({_PROBLEMS: list(stored.problems)} if stored.problems else {})


def _write_json(file: IO[bytes], stored: Stored) -> None:
    document, sets = _header(stored), stored.focal_sets
    check_size(sets.frame_size, len(sets), n_values=stored.masses.size + int(sets.sizes.sum()))
    document["focal_sets"] = [list(members) for members in sets]
    # The conversion of float32 to float and back is exact.
    document["masses"] = stored.masses.tolist()
    file.write(json.dumps(document, ensure_ascii=False, allow_nan=False).encode())


def _write_npz(file: IO[bytes], stored: Stored) -> None:
    membership = stored.focal_sets.membership.astype(np.uint8)
    arrays = {"header": header_array(_header(stored)), "membership": membership, "masses": stored.masses}
    write_archive(file, arrays)


def _read_json(path: Path) -> Stored:
    with _explaining(path):
        document = read_json(path.read_bytes())
        header = _check_header(document, "focal_sets", "masses")
        dtype = _check_dtype(header["dtype"])
        sets, frame = document["focal_sets"], header["cluster_names"] or header["frame_size"]
        if not isinstance(sets, list):
            raise ValueError(f"focal_sets must be a list, got {shortened(sets)}")
        masses = table_of("masses", document["masses"], len(sets))
        focal_sets = read_focal_sets(sets, frame, n_values=masses.size)
        with np.errstate(over="ignore"):  # an overflow gives an infinite mass, which is invalid
            return Stored(masses.astype(dtype), focal_sets, header["object_names"], _problems(header))


def _read_npz(path: Path, mmap: bool) -> Stored:
    with _explaining(path), path.open("rb") as file:
        arrays = read_archive(
            file,
            ("|u1", "<f4", "<f8"),
            names=("header", "membership", "masses"),
            memory_map="masses" if mmap else None,
        )
        membership, masses = arrays["membership"], arrays["masses"]
        for name, kind, ndim in (("header", "u", 1), ("membership", "u", 2), ("masses", "f", 2)):
            if arrays[name].dtype.kind != kind or arrays[name].ndim != ndim:
                raise ValueError(f"{name} has an unexpected type")
        header = _check_header(read_json(arrays["header"].tobytes()))
        check_size(header["frame_size"], len(membership), n_values=membership.size)
        focal_sets = sorted_sets(membership, header["cluster_names"] or header["frame_size"])
        if masses.shape[1] != len(focal_sets):
            raise ValueError(f"masses of shape {masses.shape} do not fit {len(focal_sets)} focal sets")
        return Stored(masses, focal_sets, header["object_names"], _problems(header))


def _explaining(path: Path) -> AbstractContextManager[None]:
    return describe_errors(path.name, "a credal partition", "Write such files with CredalPartition.save.")


def _check_header(header: Any, *others: str) -> dict[str, Any]:
    if not isinstance(header, dict) or header.get("schema") != SCHEMA:
        raise ValueError(f"its schema is not {SCHEMA}")
    if header.get("version") != VERSION:
        raise ValueError(
            f"it has schema version {shortened(header.get('version'))} and this release of evlearn reads "
            f"version {VERSION}"
        )
    check_keys("the file", header, (*_HEADER, *others), (_PROBLEMS,))
    sentences(_PROBLEMS, header.get(_PROBLEMS, []))
    size = header["frame_size"]
    if type(size) is not int or size < 1:
        raise ValueError(f"frame_size must be a positive whole number, got {shortened(size)}")
    for key in ("cluster_names", "object_names"):
        if header[key] is not None:
            check_names(key, header[key])
    if header["cluster_names"] is not None and len(header["cluster_names"]) != size:
        raise ValueError(f"there are {len(header['cluster_names'])} cluster_names for {shortened(size)} clusters")
    return header


def _problems(header: dict[str, Any]) -> tuple[str, ...]:
    return tuple(header.get(_PROBLEMS, ()))


def _check_dtype(name: Any) -> "np.dtype[np.float32] | np.dtype[np.float64]":
    if name not in ("float32", "float64"):
        raise ValueError(f"dtype is {shortened(name)}, but must be float32 or float64")
    return np.dtype(np.float32) if name == "float32" else np.dtype(np.float64)
