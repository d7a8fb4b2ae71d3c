"""Archives of arrays: what is read is what was written, and no file takes more memory than its size."""

import io
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

from evlearn.utils.archives import read_archive, write_archive

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


def read(path, **options):
    with path.open("rb") as file:
        return read_archive(file, TYPES, **options)


def test_arrays_come_back_as_they_were_and_can_be_written_to(path):
    with path.open("wb") as file:
        write_archive(file, ARRAYS)
    found = read(path)
    assert list(found) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert found[name].dtype == array.dtype
        assert found[name].flags.writeable
        np.testing.assert_array_equal(found[name], array)
    with np.load(path) as plain:
        np.testing.assert_array_equal(plain["table"], ARRAYS["table"])


def test_other_byte_orders_and_layouts_are_written_plainly(path):
    with path.open("wb") as file:
        write_archive(file, {"a": np.asfortranarray(ARRAYS["table"]).astype(">f8")})
    np.testing.assert_array_equal(read(path)["a"], ARRAYS["table"])


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
def test_an_array_that_claims_what_it_does_not_bring_is_refused(path, content, reason):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a.npy", content)
    with pytest.raises(ValueError, match=reason):
        read(path)


def test_a_compressed_archive_is_refused_before_it_unfolds(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a.npy", npy(np.zeros(1 << 20)))
    tracemalloc.start()
    with pytest.raises(ValueError, match="compressed or encrypted"):
        read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


def test_members_that_share_their_bytes_are_refused(path):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a.npy", npy(np.zeros(1000)))
        for k in range(20):  # a directory with more names for the same place
            file.filelist.append(zipfile.ZipInfo(f"b{k}.npy"))
            for name in ("header_offset", "file_size", "compress_size", "CRC", "compress_type"):
                setattr(file.filelist[-1], name, getattr(file.filelist[0], name))
        file._didModify = True
    with pytest.raises(ValueError, match="together do not have the size"):
        read(path)


def test_names_are_those_asked_for(path):
    with path.open("wb") as file:
        write_archive(file, {"a": np.ones(2), "b": np.ones(2)})
    assert read(path, names=("a", "b"))
    with pytest.raises(ValueError, match=r"holds \['a', 'b'\] instead of a and c"):
        read(path, names=("a", "c"))


@pytest.mark.parametrize("content", [b"", b"PK", b"PK\x05\x06" + bytes(18), bytes(100)])
def test_what_is_no_archive_is_refused(path, content):
    path.write_bytes(content)
    if content.startswith(b"PK\x05"):
        assert read(path) == {}
        return
    with pytest.raises(ValueError, match="not an archive of arrays"):
        read(path)


def test_a_memory_map_is_aligned(path):
    with path.open("wb") as file:
        write_archive(file, ARRAYS)
    table = read(path, mapped="table")["table"]
    assert isinstance(table, np.memmap)
    assert table.ctypes.data % 64 == 0
