"""Where results go."""

import os
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow.parquet as pq
import pytest

from evlearn.blocks.targets import MemoryTarget, make_target
from evlearn.cluster import ECM

VALUES = np.random.default_rng(0).random((1000, 4))
COLUMNS = ["∅", "{0}", "{1}", "Ω"]


def fill(target):
    starts = range(0, 1000, 300)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda start: target.put(start, VALUES[start : start + 300]), starts))
    return target.finish()


def test_memory_and_files_hold_the_same_numbers(tmp_path):
    np.testing.assert_array_equal(fill(make_target(None, len(VALUES), COLUMNS, float)), VALUES)
    mapped = fill(make_target(tmp_path / "m.npy", len(VALUES), COLUMNS, float))
    assert isinstance(mapped, np.memmap)
    np.testing.assert_array_equal(mapped, VALUES)
    folder = fill(make_target(tmp_path / "m.parquet", len(VALUES), COLUMNS, float))
    table = pq.read_table(folder)
    assert table.column_names == COLUMNS
    np.testing.assert_array_equal(np.column_stack([table[name] for name in COLUMNS]), VALUES)


def test_a_block_without_rows_does_not_take_the_place_of_another(tmp_path):
    target = make_target(tmp_path / "m.parquet", len(VALUES), COLUMNS, float)
    target.put(0, VALUES)
    target.put(0, VALUES[:0])
    assert pq.read_table(target.finish()).num_rows == len(VALUES)


def test_an_array_in_memory_is_filled_by_other_processes_through_a_file():
    target = MemoryTarget(VALUES.shape, float)
    there = pickle.loads(pickle.dumps(target))
    pickle.loads(pickle.dumps(there)).put(0, VALUES[:500])
    there.put(500, VALUES[500:])
    np.testing.assert_array_equal(target.finish(), VALUES)


@pytest.mark.parametrize("name", ["m.npy", "m.parquet"])
def test_a_result_that_is_not_finished_has_no_name_and_can_be_abandoned(name, tmp_path):
    target = make_target(tmp_path / name, len(VALUES), COLUMNS, float)
    target.put(0, VALUES[:10])
    assert not (tmp_path / name).exists()
    target.abandon()
    assert not os.listdir(tmp_path)


def test_a_result_does_not_replace_a_folder(tmp_path):
    (tmp_path / "m.parquet").mkdir()
    with pytest.raises(FileExistsError, match=r"m.parquet exists already"):
        make_target(tmp_path / "m.parquet", len(VALUES), COLUMNS, float)


def test_names_of_other_kinds_and_folders_that_are_not_there_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"out must be None or a path that ends in .npy or .parquet, got 'm.csv'"):
        make_target("m.csv", len(VALUES), COLUMNS, float)
    with pytest.raises(FileNotFoundError, match="make it first"):
        make_target(tmp_path / "nothing" / "m.npy", len(VALUES), COLUMNS, float)


def test_a_full_disk_is_an_error_and_leaves_nothing_behind(tmp_path):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full on this system")
    from evlearn.blocks.scratch import MappedFile

    with pytest.raises(OSError, match="No space left"):
        MappedFile("/dev/full", "<f8", VALUES.shape).write(0, VALUES)


@pytest.mark.skipif(os.name == "nt", reason="limits on files are of Unix")
@pytest.mark.parametrize("name", ["m.npy", "m.parquet"])
def test_masses_for_which_there_is_no_room_are_an_error_that_names_the_file(name, tmp_path):
    import resource

    model = ECM(3, random_state=0).fit(np.random.default_rng(0).random((100, 2)))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
    try:
        with pytest.raises(OSError, match=rf"{name} could not be written: .*") as caught:
            model.predict_mass(np.random.default_rng(1).random((20_000, 2)), out=tmp_path / name)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.__cause__ is not None
    assert not os.listdir(tmp_path)
