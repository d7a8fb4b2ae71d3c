"""Arrays in ``.npz`` archives, stored without compression, so that the data are not larger than the file.

An archive is a zip file of NumPy arrays, without compression and without pickle. The data of each array start at
a multiple of 64 bytes, so that they can be read in place as a memory map. Files are not trusted: claimed types,
shapes and sizes are checked against the file before memory is allocated.
"""

import hashlib
import json
import math
import os
import re
import struct
from collections.abc import Iterable, Mapping
from io import BufferedReader
from typing import IO, Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np
import numpy.typing as npt

_ALIGNMENT = 64
_PADDING_FIELD = 0x7665  # a private extra field of the zip format
_LOCAL_HEADER = 30  # number of bytes before the name of a member
_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(
    rb"\{'descr': '([^']{1,8})', 'fortran_order': False, 'shape': \(((?:[0-9]{1,18}, ?){0,7}[0-9]{0,18})\), \} *\n"
)


def write_archive(file: IO[bytes], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write arrays to a file."""
    with ZipFile(file, "w", ZIP_STORED) as archive:
        for name, values in arrays.items():
            info = ZipInfo(f"{name}.npy")
            # A local header has 30 bytes, the name, the 20 bytes of a large-file record, and this field.
            start = file.tell() + _LOCAL_HEADER + len(info.filename) + 20 + 4
            padding = -start % _ALIGNMENT
            info.extra = struct.pack("<HH", _PADDING_FIELD, padding) + bytes(padding)
            stored = values.astype(values.dtype.newbyteorder("<"), copy=False)
            with archive.open(info, "w", force_zip64=True) as member:
                np.lib.format.write_array(
                    member, np.asarray(stored, order="C"), version=(1, 0), allow_pickle=False
                )


def read_archive(
    file: BufferedReader,
    types: Iterable[str],
    *,
    names: Iterable[str] | None = None,
    alternative: Iterable[str] = (),
    memory_map: Iterable[str] = (),
) -> dict[str, npt.NDArray[Any]]:
    """Read the arrays of a file, which have the given names, or those of an alternative kind of file."""
    size = file.seek(0, os.SEEK_END)
    try:
        with ZipFile(file) as archive:
            members = archive.infolist()
    except (BadZipFile, NotImplementedError, struct.error, OSError, EOFError) as error:
        raise ValueError(f"it is not an archive of arrays, or is cut off ({error})") from error
    stored_names = [info.filename.removesuffix(".npy") for info in members]
    if len(set(stored_names)) != len(stored_names):
        raise ValueError("an array occurs twice")
    if names is not None and set(stored_names) != set(alternative):
        _check_names(stored_names, names)
    for info in members:
        if info.compress_type != ZIP_STORED or info.file_size != info.compress_size or info.flag_bits & 1:
            raise ValueError(f"{info.filename} is compressed or encrypted; only plain arrays are read")
    if sum(info.file_size for info in members) > size:
        raise ValueError("its arrays together do not have the size they claim")
    return {
        name: _read_member(file, info, size, frozenset(types), name in memory_map)
        for name, info in zip(stored_names, members, strict=True)
    }


def _check_names(stored_names: Iterable[str], names: Iterable[str]) -> None:
    """Raise a ValueError unless an archive contains the arrays with these names."""
    if set(stored_names) != set(names):
        *others, last = names
        raise ValueError(f"it holds {sorted(stored_names)[:5]} instead of {', '.join(others)} and {last}")


def header_array(document: Any) -> npt.NDArray[np.uint8]:
    """Return JSON as an array of bytes, to be stored beside other arrays."""
    return np.frombuffer(json.dumps(document).encode(), dtype=np.uint8)


def digest_of_arrays(arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """Return a digest of the names, types, shapes and values of arrays."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _read_member(
    file: BufferedReader, info: ZipInfo, size: int, types: frozenset[str], memory_map: bool
) -> npt.NDArray[Any]:
    """Read an array of the archive, or map it from its position in the file."""
    name = info.filename
    start = _start(file, info, size)
    stop = start + info.file_size
    if stop > size:
        raise ValueError(f"{name} is cut off")
    kind, shape, begin = _read_header(file, name, start, stop)
    if kind not in types:
        raise ValueError(f"{name} has an unexpected type")
    dtype = np.dtype(kind)
    empty_and_large = 0 in shape and math.prod(n or 1 for n in shape) > size
    if begin + math.prod(shape) * dtype.itemsize != stop or empty_and_large:
        raise ValueError(f"{name} does not have the size it claims")
    if memory_map and stop > begin:
        return np.memmap(file, dtype=dtype, mode="r", offset=begin, shape=shape)
    values = np.empty(shape, dtype=dtype)
    file.seek(begin)
    content = values.reshape(-1).view(np.uint8)
    if file.readinto(content.data) != stop - begin:
        raise ValueError(f"{name} is cut off")
    if dtype == np.bool_ and content.max(initial=0) > 1:
        raise ValueError(f"{name} must hold true or false only")
    return values


def _start(file: IO[bytes], info: ZipInfo, size: int) -> int:
    """Return the offset of the content of a member."""
    if not 0 <= info.header_offset <= size - _LOCAL_HEADER:
        raise ValueError(f"{info.filename} has no valid entry")
    file.seek(info.header_offset)
    local = file.read(_LOCAL_HEADER)
    if len(local) < _LOCAL_HEADER or local[:4] != b"PK\x03\x04":
        raise ValueError(f"{info.filename} has no valid entry")
    name_length, extra_length = struct.unpack("<HH", local[26:30])
    return int(info.header_offset + _LOCAL_HEADER + name_length + extra_length)


def _read_header(file: IO[bytes], name: str, start: int, stop: int) -> tuple[str, tuple[int, ...], int]:
    """Return the type and the shape that an array claims, and the offset of its data."""
    file.seek(start)
    opening = file.read(min(10, stop - start))
    if len(opening) < 10 or opening[:8] != _MAGIC:
        raise ValueError(f"{name} is not an array, or has an unknown array format")
    begin = start + 10 + int(struct.unpack("<H", opening[8:])[0])
    if begin > stop:
        raise ValueError(f"{name} is cut off")
    claimed = _HEADER.fullmatch(file.read(begin - start - 10))
    if claimed is None:
        raise ValueError(f"{name} has an unexpected type or shape")
    shape = tuple(int(size) for size in claimed[2].replace(b",", b" ").split())
    return claimed[1].decode("ascii", "replace"), shape, begin
