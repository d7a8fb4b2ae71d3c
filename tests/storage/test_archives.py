"""Archives of arrays: reading restores the written arrays, and needs no more memory than the size of the file."""

import io
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

from evlearn.storage.archives import read_archive, write_archive

TYPES = ("|u1", "|b1", "<i8", "<f4", "<f8")
ARRAYS = {
    "header": np.arange(7, dtype=np.uint8),
    "number": np.array(2.5),
    "flags": np.array([True, False]),
    "table": np.random.default_rng(0).normal(size=(3, 4)),
    "single": np.ones((2, 0, 3), dtype=np.float32),
    "whole": np.arange(5)[::2],
}


def npy(array):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array)
    return buffer.getvalue()


def claiming(text, content=bytes(32)):
    header = text.encode() + b" " * (-(10 + len(text) + 1) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + content


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.npz"


def read_file(path, **options):
    with path.open("rb") as file:
        return read_archive(file, TYPES, **options)


def test_arrays_come_back_as_they_were_and_can_be_written_to(path):
    with path.open("wb") as file:
        write_archive(file, ARRAYS)
    arrays = read_file(path)
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].flags.writeable
        np.testing.assert_array_equal(arrays[name], array)
    with np.load(path) as plain:
        np.testing.assert_array_equal(plain["table"], ARRAYS["table"])


def test_other_byte_orders_and_layouts_are_written_plainly(path):
    with path.open("wb") as file:
        write_archive(file, {"a": np.asfortranarray(ARRAYS["table"]).astype(">f8")})
    np.testing.assert_array_equal(read_file(path)["a"], ARRAYS["table"])


GOOD = npy(np.arange(4.0))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (claiming("{'descr': '<f8', 'fortran_order': False, 'shape': (4, 1000000000000), }"), "size it claims"),
        (
            claiming("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 1000000000000), }", b""),
            "size it claims",
        ),
        (claiming("{'descr': '<f8', 'fortran_order': True, 'shape': (4,), }"), "unexpected type or shape"),
        (claiming("{'descr': '<f8', 'fortran_order': False, 'shape': (-4,), }"), "unexpected type or shape"),
        (claiming("{'descr': '|O', 'fortran_order': False, 'shape': (4,), }"), "unexpected type"),
        (claiming("{'descr': '<f8', 'fortran_order': False, 'shape': (" + "1" * 90 + "!), }"), "unexpected type"),
        (claiming("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", b"\x01\x07"), "true or false only"),
        (GOOD[:9], "not an array"),
        (GOOD[:60], "cut off"),
        (b"", "not an array"),
    ],
)
def test_an_array_with_a_false_header_is_refused(path, content, reason):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a.npy", content)
    with pytest.raises(ValueError, match=reason):
        read_file(path)


def test_a_compressed_archive_is_refused_before_it_unfolds(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a.npy", npy(np.zeros(1 << 20)))
    tracemalloc.start()
    with pytest.raises(ValueError, match="compressed or encrypted"):
        read_file(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


def test_members_that_share_their_bytes_are_refused(path):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a.npy", npy(np.zeros(1000)))
        for k in range(20):  # a directory with several names for the same position
            file.filelist.append(zipfile.ZipInfo(f"b{k}.npy"))
            for name in ("header_offset", "file_size", "compress_size", "CRC", "compress_type"):
                setattr(file.filelist[-1], name, getattr(file.filelist[0], name))
        file._didModify = True
    with pytest.raises(ValueError, match="together do not have the size"):
        read_file(path)


def test_names_are_those_asked_for(path):
    with path.open("wb") as file:
        write_archive(file, {"a": np.ones(2), "b": np.ones(2)})
    assert read_file(path, names=("a", "b"))
    with pytest.raises(ValueError, match=r"holds \['a', 'b'\] instead of a and c"):
        read_file(path, names=("a", "c"))


@pytest.mark.parametrize("content", [b"", b"PK", b"PK\x05\x06" + bytes(18), bytes(100)])
def test_other_files_than_archives_are_refused(path, content):
    path.write_bytes(content)
    if content.startswith(b"PK\x05"):
        assert read_file(path) == {}
        return
    with pytest.raises(ValueError, match="not an archive of arrays"):
        read_file(path)


def test_a_memory_map_is_aligned(path):
    with path.open("wb") as file:
        write_archive(file, ARRAYS)
    table = read_file(path, memory_map="table")["table"]
    assert isinstance(table, np.memmap)
    assert table.ctypes.data % 64 == 0
