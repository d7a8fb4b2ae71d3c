"""Files of credal partitions, without pickle: readable JSON and compact npz.

An ``.npz`` file is an archive of three arrays (`evlearn.storage.archives`): ``header`` (JSON as bytes),
``membership`` (the focal sets) and ``masses``, which can be read in place as a memory map. If masses are sparse,
the version is 2, and there are 2 lists of lists in CSR form instead: the members of the sets, and for each sample,
the positions of sets and the masses on them.

Files are not trusted: names, types, shapes and sizes are checked before memory is allocated, then the values.
"""

import json
from contextlib import AbstractContextManager
from itertools import accumulate, chain
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
from evlearn.utils.sparse_rows import MIN_COLUMNS, SparseRows
from evlearn.utils.typing import FloatArray

SCHEMA = "evlearn.CredalPartition"
VERSION, SPARSE_VERSION = 1, 2
#: Arrays of an archive of sparse masses, and their types.
_SPARSE_ARRAYS = {"begin": "i", "members": "i", "starts": "i", "columns": "iu", "values": "f"}
_PROBLEMS = "problems"  # this key is absent if there are no problems
_HEADER = ("schema", "version", "dtype", "frame_size", "cluster_names", "object_names")


class Stored(NamedTuple):
    """Contents of a file.

    Attributes
    ----------
    masses : ndarray or SparseRows
        Masses, possibly a memory map.
    focal_sets : FocalSets
        Focal sets, with the names of the clusters.
    sample_names : list of str or None
        Names of the samples.
    problems : tuple of str, default=()
        Sentences that describe problems of the fit.
    """

    masses: FloatArray | SparseRows
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
        "version": SPARSE_VERSION if isinstance(stored.masses, SparseRows) else VERSION,
        "dtype": stored.masses.dtype.name,
        "frame_size": stored.focal_sets.frame_size,
        "cluster_names": None if names is None else list(names),
        "object_names": None if stored.sample_names is None else list(stored.sample_names),
    }
    return header | ({_PROBLEMS: list(stored.problems)} if stored.problems else {})


def _write_json(file: IO[bytes], stored: Stored) -> None:
    document, sets, masses = _header(stored), stored.focal_sets, stored.masses
    document["focal_sets"] = [list(members) for members in sets]
    # The conversion of float32 to float and back is exact.
    if isinstance(masses, SparseRows):
        document["masses"] = {name: getattr(masses, name).tolist() for name in ("starts", "columns", "values")}
    else:
        check_size(sets.frame_size, len(sets), n_values=masses.size + int(sets.sizes.sum()))
        document["masses"] = masses.tolist()
    file.write(json.dumps(document, ensure_ascii=False, allow_nan=False).encode())


def _write_npz(file: IO[bytes], stored: Stored) -> None:
    arrays: dict[str, Any] = {"header": header_array(_header(stored))}
    if isinstance(stored.masses, SparseRows):
        begin, members = stored.focal_sets.lists
        arrays |= {"begin": begin.astype(np.int64), "members": members.astype(np.int64)}
        arrays |= {name: getattr(stored.masses, name) for name in ("starts", "columns", "values")}
    else:
        arrays |= {"membership": stored.focal_sets.membership.astype(np.uint8), "masses": stored.masses}
    write_archive(file, arrays)


def _read_json(path: Path) -> Stored:
    with _explaining(path):
        document = read_json(path.read_bytes())
        header = _check_header(document, "focal_sets", "masses")
        dtype = _check_dtype(header["dtype"])
        sets, frame = document["focal_sets"], header["cluster_names"] or header["frame_size"]
        if not isinstance(sets, list):
            raise ValueError(f"focal_sets must be a list, got {shortened(sets)}")
        if header["version"] == SPARSE_VERSION:
            return _sparse_from_json(header, sets, document["masses"], dtype)
        masses = table_of("masses", document["masses"], len(sets))
        focal_sets = read_focal_sets(sets, frame, n_values=masses.size)
        with np.errstate(over="ignore"):  # an overflow gives an infinite mass, which is invalid
            return Stored(masses.astype(dtype), focal_sets, header["object_names"], _problems(header))


def _read_npz(path: Path, mmap: bool) -> Stored:
    with _explaining(path), path.open("rb") as file:
        arrays = read_archive(
            file,
            ("|u1", "<u2", "<i4", "<i8", "<f4", "<f8"),
            names=("header", "membership", "masses"),
            alternative=("header", *_SPARSE_ARRAYS),
            memory_map=("masses", "values") if mmap else (),
        )
        if "starts" in arrays:
            return _sparse_from_arrays(arrays)
        membership, masses = arrays["membership"], arrays["masses"]
        for name, kind, ndim in (("header", "u", 1), ("membership", "u", 2), ("masses", "f", 2)):
            if arrays[name].dtype.kind != kind or arrays[name].ndim != ndim:
                raise ValueError(f"{name} has an unexpected type")
        header = _header_of(arrays, VERSION)
        check_size(header["frame_size"], len(membership), n_values=membership.size)
        focal_sets = sorted_sets(membership, header["cluster_names"] or header["frame_size"])
        if masses.shape[1] != len(focal_sets):
            raise ValueError(f"masses of shape {masses.shape} do not fit {len(focal_sets)} focal sets")
        return Stored(masses, focal_sets, header["object_names"], _problems(header))


def _sparse_from_arrays(arrays: dict[str, Any]) -> Stored:
    """Return the contents of an archive of sparse masses."""
    for name, kinds in {"header": "u", **_SPARSE_ARRAYS}.items():
        if arrays[name].dtype.kind not in kinds or arrays[name].ndim != 1:
            raise ValueError(f"{name} has an unexpected type")
    return _sparse_from_lists(_header_of(arrays, SPARSE_VERSION), arrays)


def _sparse_from_json(header: dict[str, Any], sets: list[Any], masses: Any, dtype: Any) -> Stored:
    """Return the contents of a document of sparse masses."""
    if not isinstance(masses, dict):
        raise ValueError(f"masses must be an object, got {shortened(masses)}")
    check_keys("masses", masses, ("starts", "columns", "values"))
    if not sets or set(map(type, sets)) != {list}:
        raise ValueError("focal_sets must be a list of lists")
    lists = {"begin": list(accumulate(map(len, sets), initial=0)), "members": list(chain.from_iterable(sets))}
    arrays: dict[str, Any] = {}
    for name, values in (lists | {name: masses[name] for name in ("starts", "columns")}).items():
        if not isinstance(values, list) or not set(map(type, values)) <= {int}:
            raise ValueError(f"{name} must be a list of whole numbers")
        if any(not 0 <= value < 1 << 62 for value in values):
            raise ValueError(f"{name} has a number that is out of range")
        arrays[name] = np.array(values, dtype=np.int64)
    values = masses["values"]
    if not isinstance(values, list) or not set(map(type, values)) <= {float, int}:
        raise ValueError("values must be a list of numbers")
    with np.errstate(over="ignore"):
        arrays["values"] = np.array(values, dtype=np.float64).astype(dtype)
    return _sparse_from_lists(header, arrays)


def _sparse_from_lists(header: dict[str, Any], arrays: dict[str, Any]) -> Stored:
    """Return sparse masses after a check of all positions, whose number is limited by the file."""
    size = header["frame_size"]
    check_size(size, 1, n_values=len(arrays["members"]))
    _check_lists("focal_sets", arrays["begin"], arrays["members"], size)
    focal_sets = FocalSets.from_lists(arrays["begin"], arrays["members"], header["cluster_names"] or size)
    if not all(map(np.array_equal, focal_sets.lists, (arrays["begin"], arrays["members"]))):
        raise ValueError("focal_sets is not sorted, or contains a set twice")
    if len(focal_sets) < MIN_COLUMNS:
        raise ValueError(f"lists of masses need at least {MIN_COLUMNS} focal sets, got {len(focal_sets)}")
    starts, columns, values = arrays["starts"], arrays["columns"], arrays["values"]
    _check_lists("masses", starts, columns, len(focal_sets))
    if len(values) != len(columns):
        raise ValueError(f"there are {len(values)} values for {len(columns)} columns")
    masses = SparseRows(starts, columns, values, len(focal_sets))
    return Stored(masses, focal_sets, header["object_names"], _problems(header))


def _check_lists(name: str, begin: Any, members: Any, size: int) -> None:
    """Raise a ValueError unless lists in CSR form contain increasing numbers below `size`."""
    if len(begin) < 2 or begin[0] != 0 or begin[-1] != len(members) or (np.diff(begin) < 0).any():
        raise ValueError(f"the lists of {name} have invalid positions")
    if len(members) == 0:
        return
    if members.min() < 0 or members.max() >= size:
        raise ValueError(f"the lists of {name} contain a number outside 0 to {size - 1}")
    is_first = np.zeros(len(members) + 1, dtype=bool)
    is_first[begin] = True
    if not ((np.diff(members.astype(np.int64)) > 0) | is_first[1:-1]).all():
        raise ValueError(f"a list of {name} is not sorted, or contains a number twice")


def _explaining(path: Path) -> AbstractContextManager[None]:
    return describe_errors(path.name, "a credal partition", "Write such files with CredalPartition.save.")


def _header_of(arrays: dict[str, Any], version: int) -> dict[str, Any]:
    """Return the header of an archive whose arrays are those of a schema version."""
    header = _check_header(read_json(arrays["header"].tobytes()))
    if header["version"] != version:
        raise ValueError(f"its arrays are those of version {version}, but it has version {header['version']}")
    return header


def _check_header(header: Any, *others: str) -> dict[str, Any]:
    if not isinstance(header, dict) or header.get("schema") != SCHEMA:
        raise ValueError(f"its schema is not {SCHEMA}")
    if type(header.get("version")) is not int or header["version"] not in (VERSION, SPARSE_VERSION):
        raise ValueError(
            f"it has schema version {shortened(header.get('version'))} and this release of evlearn reads "
            f"versions {VERSION} and {SPARSE_VERSION}"
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
