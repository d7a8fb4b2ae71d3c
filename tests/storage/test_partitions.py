import io
import json
import pickle
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evlearn import CredalPartition
from evlearn.belief import FocalSets
from strategies import partitions

SUFFIXES = [".json", ".npz"]


@pytest.fixture
def partition():
    masses = np.random.default_rng(0).dirichlet(np.ones(8), size=50)
    return CredalPartition(masses, FocalSets.full(["ä", "b", "c"]), [f"sample {k}" for k in range(50)])


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_partitions_survive_the_round_trip_exactly(partition, tmp_path, suffix, dtype):
    original = CredalPartition(partition.masses.astype(dtype), partition.focal_sets, partition.sample_names)
    original.save(tmp_path / f"p{suffix}")
    loaded = CredalPartition.load(tmp_path / f"p{suffix}")
    assert loaded.masses.dtype == dtype
    np.testing.assert_array_equal(loaded.masses, original.masses)
    assert loaded.focal_sets == original.focal_sets
    assert loaded.sample_names == original.sample_names


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(partitions(3), st.sampled_from(SUFFIXES))
def test_every_partition_survives_the_round_trip(tmp_path, partition, suffix):
    partition.save(tmp_path / f"p{suffix}")
    loaded = CredalPartition.load(tmp_path / f"p{suffix}")
    np.testing.assert_array_equal(loaded.masses, partition.masses)
    assert loaded.focal_sets == partition.focal_sets
    assert loaded.sample_names is None


def test_masses_may_stay_on_disk_aligned_and_read_only(partition, tmp_path):
    partition.save(tmp_path / "p.npz")
    on_disk = CredalPartition.load(tmp_path / "p.npz", mmap=True)
    assert isinstance(on_disk.masses, np.memmap)
    assert on_disk.masses.ctypes.data % 64 == 0
    assert not on_disk.masses.flags.writeable
    np.testing.assert_array_equal(on_disk.masses, partition.masses)
    np.testing.assert_array_equal(on_disk.to_hard(), partition.to_hard())


def test_numpy_itself_can_read_the_file(partition, tmp_path):
    partition.save(tmp_path / "p.npz")
    with np.load(tmp_path / "p.npz", allow_pickle=False) as file:
        np.testing.assert_array_equal(file["masses"], partition.masses)
        assert json.loads(file["header"].tobytes())["version"] == 1


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_failed_write_leaves_the_old_file(partition, tmp_path, suffix, monkeypatch):
    path = tmp_path / f"p{suffix}"
    partition.save(path)
    before = path.read_bytes()

    def fail(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(json, "dumps", fail)
    with pytest.raises(KeyboardInterrupt):
        partition.save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_path_without_a_known_suffix_is_rejected(partition, tmp_path):
    with pytest.raises(ValueError, match=r"must end in \.npz or \.json, got 'p\.pkl'"):
        partition.save(tmp_path / "p.pkl")
    partition.save(tmp_path / "p.json")
    with pytest.raises(ValueError, match=r"mmap=True needs an \.npz file"):
        CredalPartition.load(tmp_path / "p.json", mmap=True)
    with pytest.raises(FileNotFoundError):
        CredalPartition.load(tmp_path / "missing.npz")
    with pytest.raises(FileNotFoundError, match="does not exist; create it first"):
        partition.save(tmp_path / "no" / "folder.npz")


def document(**changes):
    good = {
        "schema": "evlearn.CredalPartition",
        "version": 1,
        "dtype": "float64",
        "frame_size": 2,
        "cluster_names": None,
        "object_names": None,
        "focal_sets": [[], [0], [1], [0, 1]],
        "masses": [[0, 0.5, 0.25, 0.25]],
    }
    return json.dumps(good | changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"frame_size": 2**22, "focal_sets": [[]], "masses": [[1.0]]},
        {"frame_size": 2**28, "focal_sets": [[]], "masses": [[1.0]]},
        {"frame_size": 2**28, "focal_sets": [], "masses": [[]]},
        {"frame_size": 2**14, "focal_sets": [[], *([k] for k in range(9999))], "masses": [[1.0] + [0.0] * 9999]},
    ],
)
def test_json_that_claims_more_than_it_contains_allocates_no_memory(tmp_path, changes):
    (tmp_path / "bad.json").write_text(document(**changes))
    assert_rejected_without_memory(tmp_path / "bad.json", 20_000_000)


@pytest.mark.parametrize("shape", [(0, 2**22), (1, 2**22), (0, 2**40)])
def test_an_archive_that_claims_more_than_it_contains_allocates_no_memory(tmp_path, shape):
    header = HEADER | {"frame_size": shape[1]}
    empty = io.BytesIO()
    np.lib.format.write_array_header_1_0(empty, {"descr": "|u1", "fortran_order": False, "shape": shape})
    changes = {
        "header.npy": as_npy(np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)),
        "membership.npy": empty.getvalue(),
        "masses.npy": as_npy(np.ones((1, 1))),
    }
    archive(tmp_path / "bad.npz", GOOD | changes)
    assert_rejected_without_memory(tmp_path / "bad.npz", 1_000_000)


def assert_rejected_without_memory(path, max_bytes):
    tracemalloc.start()
    with pytest.raises(
        ValueError, match=rf"^{path.name} is not a credal partition.*(too large|claims|focal_sets)"
    ):
        CredalPartition.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < max_bytes


@pytest.mark.slow
def test_many_clusters_survive_the_round_trip(tmp_path):
    partition = CredalPartition.from_hard(np.arange(1500))
    for suffix in SUFFIXES:
        partition.save(tmp_path / f"p{suffix}")
        assert CredalPartition.load(tmp_path / f"p{suffix}") == partition


def test_a_table_too_large_to_be_read_from_json_is_not_written(tmp_path):
    partition = CredalPartition([[0.0, 1.0]], FocalSets([[0]], 20_000))
    with pytest.raises(ValueError, match=r"2 focal sets by 20000 clusters is too large"):
        partition.save(tmp_path / "p.json")
    partition.save(tmp_path / "p.npz")
    assert CredalPartition.load(tmp_path / "p.npz") == partition


def test_a_lack_of_memory_is_reported_as_an_error_of_the_file(tmp_path, monkeypatch, partition):
    partition.save(tmp_path / "p.json")

    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr(json, "loads", fail)
    with pytest.raises(ValueError, match=r"^p\.json is not a credal partition.*more memory than there is"):
        CredalPartition.load(tmp_path / "p.json")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Expecting value"),
        (document(masses=[["0", "1", "0", "0"]]), "numbers only"),
        (document(masses={"a": 1}), "rows of 4 numbers each"),
        (document(focal_sets=[[], ["0"], [1], [0, 1]]), "must contain cluster numbers"),
        (document(focal_sets=[[], [0], [1], [1, 0]]), "not sorted"),
        (document(focal_sets=[[], [0], [1], [0, 0, 1]]), "contains a cluster twice"),
        (document(focal_sets=[[], [0], [1], [2**70]]), "outside the frame"),
        (document(focal_sets={"0": []}), "focal_sets must be a list"),
        (document(more=1), "must not have 'more'"),
        (document()[:-1] + ', "masses": [[1, 0, 0, 0]]}', "occurs twice"),
        (document(object_names=["\ud800"]), "UTF-8"),
        ("[1, 2]", "its schema is not evlearn"),
        (document(schema="other"), "its schema is not evlearn"),
        (document(version=3), "schema version 3 and this release"),
        (document(dtype="object"), "dtype is 'object'"),
        (document(frame_size=-1), "frame_size"),
        (document(frame_size=True), "frame_size"),
        (document(frame_size=10**9), "too large"),
        (document(frame_size=10**400), "too large"),
        (document(cluster_names=["a"]), "1 cluster_names for 2 clusters"),
        (document(cluster_names=[1, 2]), "cluster_names is not a list of names"),
        (document(object_names={"a": 1}), "object_names is not a list of names"),
        (document(object_names=["a", "b"]), "2 names but there are 1 samples"),
        (document(focal_sets=[[], [0], [1], [0, 7]]), "outside the frame"),
        (document(focal_sets=[[0], [], [1], [0, 1]]), "not sorted"),
        (document(focal_sets=[[], [0], [0], [0, 1]]), "not sorted, or contains a set twice"),
        (document(focal_sets=7), "not a credal partition"),
        (document(masses=[[0, 1]]), "masses must be rows of 4 numbers each"),
        (document(masses=[]), "masses must be rows of 4 numbers each"),
        (document(masses=[[0, 1, 0, 0], [1]]), "not a credal partition"),
        (document(masses="x"), "not a credal partition"),
        (document(masses=[[0, float("nan"), 0, 1]]), "has nan at row 0"),
        (document(masses=[[0, 2, -1, 0]]), "must not be negative"),
        (document(masses=[[0, 10**400, 0, 0]]), "not a credal partition"),
        ("[" * 100_000, "structure is broken"),
        ('{"schema": "evlearn.CredalPartition", "version": 1, "frame_size": 2}', "structure is broken"),
    ],
)
def test_malicious_json_is_rejected_with_the_reason(tmp_path, text, reason):
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(ValueError, match=reason) as raised:
        CredalPartition.load(tmp_path / "bad.json")
    assert str(raised.value).startswith("bad.json")


def as_npy(array):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=True)
    return buffer.getvalue()


HEADER = {key: value for key, value in json.loads(document()).items() if key not in ("focal_sets", "masses")}
GOOD = {
    "header.npy": as_npy(np.frombuffer(json.dumps(HEADER).encode(), dtype=np.uint8)),
    "membership.npy": as_npy(FocalSets.full(2).membership.astype(np.uint8)),
    "masses.npy": as_npy(np.array([[0, 0.5, 0.25, 0.25]])),
}


def archive(path, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, content in members.items():
            file.writestr(name, content)


class Exploit:
    def __reduce__(self):
        return (pytest.fail, ("the file ran code",))


def array_with_false_shape(shape):
    """Return an array file whose header has a larger shape than its data."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return header.getvalue() + bytes(32)


def test_the_plain_archive_is_accepted(tmp_path):
    archive(tmp_path / "good.npz", GOOD)
    assert len(CredalPartition.load(tmp_path / "good.npz")) == 1


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"masses.npy": as_npy(np.array([[Exploit()] * 4]))}, "unexpected type"),
        ({"masses.npy": array_with_false_shape((10**15, 4))}, "does not have the size it claims"),
        ({"masses.npy": GOOD["masses.npy"] + bytes(8)}, "does not have the size it claims"),
        ({"masses.npy": array_with_false_shape((-1, -4))}, "unexpected type"),
        ({"masses.npy": as_npy(np.array([[0, 1, 0, 0]]))}, "unexpected type"),
        ({"masses.npy": as_npy(np.array([[0, np.nan, 0, 1]]))}, "has nan"),
        ({"masses.npy": as_npy(np.array([[0.0, 1, 0]]))}, "do not fit 4 focal sets"),
        ({"masses.npy": as_npy(np.asfortranarray(np.eye(4)))}, "unexpected type"),
        ({"masses.npy": b"not an array"}, "not a credal partition"),
        ({"masses.npy": b"\x93NUMPY\x09\x00" + bytes(200)}, "not a credal partition"),
        ({"membership.npy": as_npy(np.array([[0, 0], [2, 0]], dtype=np.uint8))}, "zeros and ones"),
        ({"membership.npy": as_npy(FocalSets.full(2).membership.astype(np.uint8)[::-1])}, "not sorted"),
        ({"header.npy": as_npy(np.frombuffer(b"{}", dtype=np.uint8))}, "schema"),
        ({"header.npy": as_npy(np.frombuffer(b"\xff\xfe{", dtype=np.uint8))}, "not a credal partition"),
        ({"more.npy": b""}, "instead of header, membership and masses"),
    ],
)
@pytest.mark.parametrize("mmap", [False, True])
def test_malicious_archives_are_rejected_with_the_reason(tmp_path, changes, reason, mmap):
    archive(tmp_path / "bad.npz", GOOD | changes)
    with pytest.raises(ValueError, match=reason) as raised:
        CredalPartition.load(tmp_path / "bad.npz", mmap=mmap)
    assert str(raised.value).startswith("bad.npz")


def test_compressed_archives_are_rejected_because_of_decompression_bombs(tmp_path):
    archive(tmp_path / "bomb.npz", GOOD, zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match="compressed or encrypted"):
        CredalPartition.load(tmp_path / "bomb.npz")


@pytest.mark.parametrize("content", [b"", b"PK", pickle.dumps({"a": 1}), b"\x00" * 100])
def test_files_that_are_not_archives_are_rejected(tmp_path, content):
    (tmp_path / "bad.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"bad\.npz is not a credal partition"):
        CredalPartition.load(tmp_path / "bad.npz")


@pytest.mark.slow
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_damaged_archive_gives_an_error_or_a_valid_partition(tmp_path, data):
    path = tmp_path / "damaged.npz"
    archive(path, GOOD)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(len(content) // 2, len(content)))])
    try:
        partition = CredalPartition.load(path)
    except ValueError as error:
        assert str(error).startswith("damaged.npz")  # noqa: PT017
    else:
        np.testing.assert_allclose(partition.masses.sum(axis=1), 1, atol=1e-6)
