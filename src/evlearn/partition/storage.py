"""Credal partitions in files, without pickle: JSON for people, npz for size.

An ``.npz`` file is a zip archive, stored without compression, of three NumPy arrays: ``header`` (JSON as bytes),
``membership`` (the focal sets) and ``masses``. Because nothing is compressed, a file cannot unfold into more than
its own size, and the masses can be read in place as a memory map; they start at a multiple of 64 bytes for that.

Reading trusts nothing: names, types, shapes and sizes are checked before memory is taken, then the values.
"""

import json
import math
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np
import numpy.typing as npt

from evlearn.belief import FocalSets
from evlearn.belief.types import FloatArray
from evlearn.files import replacing

SCHEMA = "evlearn.CredalPartition"
VERSION = 1
_ALIGNMENT = 64
_PADDING_FIELD = 0x7665  # a private extra field of the zip format
_LARGEST_TABLE = 1 << 28  # entries of the membership table that a few characters of JSON may ask for
_MASS_TYPES = ("<f4", "<f8")


class Stored(NamedTuple):
    """What a file holds.

    Attributes
    ----------
    masses : ndarray
        The masses, possibly a memory map.
    focal_sets : FocalSets
        The focal sets, with the names of the clusters.
    object_names : list of str or None
        The names of the objects.
    """

    masses: FloatArray
    focal_sets: FocalSets
    object_names: list[str] | None


def write(path: Path, stored: Stored) -> None:
    """Write a file, JSON or npz by its suffix; an existing file is replaced only once the new one is whole.

    Parameters
    ----------
    path : Path
        Where to write; the suffix is ``.json`` or ``.npz``.
    stored : Stored
        What to write.
    """
    writer = {".json": _write_json, ".npz": _write_npz}[_format(path)]
    with replacing(path) as file:
        writer(file, stored)


def read(path: Path, mmap: bool) -> Stored:
    """Read a file that `write` made.

    Parameters
    ----------
    path : Path
        The file.
    mmap : bool
        Whether to leave the masses on disk, as a memory map (npz only).

    Returns
    -------
    Stored
        What the file holds. The values of the masses are still to be checked.
    """
    if _format(path) == ".npz":
        return _read_npz(path, mmap)
    if mmap:
        raise ValueError(f"mmap=True needs an .npz file, got {path.name}; save the partition as .npz.")
    return _read_json(path)


def read_focal_sets(sets: list[list[int]], frame: Any) -> FocalSets:
    """Focal sets from what JSON holds of them, without trust.

    Parameters
    ----------
    sets : list of list of int
        The sets, in the order of `FocalSets`.
    frame : int or list of str
        The number of clusters, or their names.

    Returns
    -------
    FocalSets
        The focal sets.
    """
    size = frame if isinstance(frame, int) else len(frame)
    if size * len(sets) > _LARGEST_TABLE:
        raise ValueError(f"a table of {len(sets)} focal sets by {size} clusters is too large")
    focal_sets = FocalSets(sets, frame)
    if [list(one) for one in focal_sets] != sets:
        raise ValueError("focal_sets is not in order, or lists a set twice")
    return focal_sets


def _format(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in (".json", ".npz"):
        raise ValueError(f"path must end in .npz or .json, got {path.name!r}.")
    return suffix


def _header(stored: Stored) -> dict[str, Any]:
    names = stored.focal_sets.names
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "dtype": stored.masses.dtype.name,
        "frame_size": stored.focal_sets.frame_size,
        "cluster_names": None if names is None else list(names),
        "object_names": None if stored.object_names is None else list(stored.object_names),
    }


def _write_json(file: IO[bytes], stored: Stored) -> None:
    document = _header(stored)
    document["focal_sets"] = [list(one) for one in stored.focal_sets]
    # float() of a single precision number and back is exact.
    document["masses"] = stored.masses.tolist()
    file.write(json.dumps(document, ensure_ascii=False, allow_nan=False).encode())


def _write_npz(file: IO[bytes], stored: Stored) -> None:
    masses = stored.masses.astype(stored.masses.dtype.newbyteorder("<"), copy=False)
    header = np.frombuffer(json.dumps(_header(stored)).encode(), dtype=np.uint8)
    members = {"header": header, "membership": stored.focal_sets.membership.astype(np.uint8), "masses": masses}
    with ZipFile(file, "w", ZIP_STORED) as archive:
        for name, array in members.items():
            info = ZipInfo(f"{name}.npy")
            # A local header has 30 bytes, the name, the 20 bytes of a large-file record, and this field.
            start = file.tell() + 30 + len(info.filename) + 20 + 4
            padding = -start % _ALIGNMENT
            info.extra = struct.pack("<HH", _PADDING_FIELD, padding) + bytes(padding)
            with archive.open(info, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)


def _read_json(path: Path) -> Stored:
    with _explaining(path):
        document = json.loads(path.read_bytes())
        header = _check_header(document)
        dtype = _check_dtype(header["dtype"])
        focal_sets = read_focal_sets(document["focal_sets"], header["cluster_names"] or header["frame_size"])
        masses: FloatArray = np.array(document["masses"], dtype=np.float64).astype(dtype)
        return _check(masses, focal_sets, header["object_names"])


def _read_npz(path: Path, mmap: bool) -> Stored:
    with _explaining(path), path.open("rb") as file, ZipFile(file) as archive:
        infos = {info.filename: info for info in archive.infolist()}
        if len(infos) != len(archive.infolist()) or set(infos) != {"header.npy", "membership.npy", "masses.npy"}:
            raise ValueError(f"it holds {sorted(infos)[:5]} instead of header, membership and masses")
        arrays = {
            name: _member(file, infos[f"{name}.npy"], types, mmap and name == "masses")
            for name, types in (("header", ("|u1",)), ("membership", ("|u1",)), ("masses", _MASS_TYPES))
        }
        header = _check_header(json.loads(arrays["header"].tobytes()))
        frame = header["cluster_names"] or header["frame_size"]
        focal_sets = FocalSets.from_membership(arrays["membership"], frame)
        if not np.array_equal(focal_sets.membership, arrays["membership"]):
            raise ValueError("the focal sets are not in order, or one is listed twice")
        return _check(arrays["masses"], focal_sets, header["object_names"])


def _member(file: IO[bytes], info: ZipInfo, types: tuple[str, ...], mmap: bool) -> npt.NDArray[Any]:
    """One array of the archive, read or mapped from where it lies in the file."""
    if info.compress_type != ZIP_STORED or info.file_size != info.compress_size or info.flag_bits & 1:
        raise ValueError(f"{info.filename} is compressed or encrypted; only plain arrays are read")
    file.seek(info.header_offset)
    local = file.read(30)
    if len(local) < 30 or local[:4] != b"PK\x03\x04":
        raise ValueError(f"{info.filename} has no valid entry")
    name_length, extra_length = struct.unpack("<HH", local[26:30])
    start = info.header_offset + 30 + name_length + extra_length
    file.seek(start)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError(f"{info.filename} has an unknown array format")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    length = math.prod(shape) * dtype.itemsize
    if dtype.str not in types or fortran or any(size < 0 for size in shape):
        raise ValueError(f"{info.filename} has an unexpected type")
    if file.tell() + length != start + info.file_size:
        raise ValueError(f"{info.filename} does not have the size it claims")
    if mmap and length:
        return np.memmap(file, dtype=dtype, mode="r", offset=file.tell(), shape=shape)
    content = file.read(length)
    if len(content) != length:
        raise ValueError(f"{info.filename} is cut off")
    return np.frombuffer(content, dtype=dtype).reshape(shape)


@contextmanager
def _explaining(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except (
        ValueError,
        KeyError,
        TypeError,
        OverflowError,
        RecursionError,
        BadZipFile,
        NotImplementedError,
    ) as error:
        reason = "its structure is broken" if isinstance(error, (KeyError, RecursionError)) else str(error)
        raise ValueError(
            f"{path.name} is not a credal partition that can be read: {reason}. "
            "Write such files with CredalPartition.save."
        ) from error


def _check_header(header: Any) -> dict[str, Any]:
    if not isinstance(header, dict) or header.get("schema") != SCHEMA:
        raise ValueError(f"it does not carry the schema {SCHEMA}")
    if header.get("version") != VERSION:
        raise ValueError(
            f"it has schema version {header.get('version')!r} and this release of evlearn reads version {VERSION}"
        )
    size = header.get("frame_size")
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise ValueError("frame_size is not a positive number")
    for key in ("cluster_names", "object_names"):
        names = header[key]
        if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
            raise ValueError(f"{key} is not a list of names")
    if header["cluster_names"] is not None and len(header["cluster_names"]) != size:
        raise ValueError(f"there are {len(header['cluster_names'])} cluster_names for {size} clusters")
    return header


def _check_dtype(name: Any) -> "np.dtype[np.float32] | np.dtype[np.float64]":
    if name not in ("float32", "float64"):
        raise ValueError(f"dtype is {name!r} and not float32 or float64")
    return np.dtype(np.float32) if name == "float32" else np.dtype(np.float64)


def _check(masses: FloatArray, focal_sets: FocalSets, object_names: list[str] | None) -> Stored:
    if masses.ndim != 2 or masses.shape[1] != len(focal_sets):
        raise ValueError(f"masses of shape {masses.shape} do not fit {len(focal_sets)} focal sets")
    return Stored(masses, focal_sets, object_names)
