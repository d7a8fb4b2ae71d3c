"""Files that are written completely or not at all, with unchanged permissions."""

import os
import stat
import sys

import numpy as np
import pytest

import evlearn
from evlearn.blocks.targets import make_target
from evlearn.cluster import ECM
from evlearn.utils.files import atomic_write, is_inside, same_file

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="permissions are those of POSIX")

X = np.random.default_rng(0).normal(size=(30, 2))


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def write(path):
    with atomic_write(path) as file:
        file.write(b"new")


def fill_target(path):
    target = make_target(path, len(X), ["a", "b"], float)
    target.write_rows(0, X)
    target.finish()


@pytest.mark.parametrize("before", [0o600, 0o640, 0o664])
def test_writing_over_a_file_keeps_its_permissions(tmp_path, before):
    path = tmp_path / "x.npy"
    path.write_bytes(b"old")
    path.chmod(before)
    write(path)
    assert path.read_bytes() != b"old"
    assert mode(path) == before
    assert [file.name for file in tmp_path.iterdir()] == ["x.npy"]


def test_a_model_saved_over_a_private_file_stays_private(tmp_path):
    path = tmp_path / "model.json"
    path.write_text("")
    path.chmod(0o600)
    evlearn.save_model(ECM(2, random_state=0).fit(X), path)
    assert mode(path) == 0o600


@pytest.mark.parametrize("writer", [write, fill_target])
def test_a_new_file_has_the_permissions_of_new_files_and_the_mask_is_not_touched(tmp_path, writer, monkeypatch):
    (tmp_path / "plain").write_text("")

    def touched(mask):
        raise AssertionError("another thread would see this mask")

    monkeypatch.setattr(os, "umask", touched)
    writer(tmp_path / "x.npy")
    assert mode(tmp_path / "x.npy") == mode(tmp_path / "plain")


def test_a_new_folder_has_the_permissions_of_new_folders(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "plain").mkdir()
    fill_target(tmp_path / "x.parquet")
    assert mode(tmp_path / "x.parquet") == mode(tmp_path / "plain")


def test_a_private_file_is_private_while_it_is_written(tmp_path):
    path = tmp_path / "x"
    path.write_text("old")
    path.chmod(0o600)
    with atomic_write(path):
        assert {mode(file) for file in tmp_path.iterdir()} == {0o600}


def test_same_file_follows_links_and_compares_files_that_do_not_exist_yet(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("a")
    (tmp_path / "equal.csv").write_text("a")
    (tmp_path / "folder").mkdir()
    (tmp_path / "soft.csv").symlink_to("data.csv")
    (tmp_path / "dangling.csv").symlink_to("new.csv")
    (tmp_path / "shortcut").symlink_to("folder")
    os.link("data.csv", "hard.csv")
    for path in ("data.csv", "./folder/../data.csv", "soft.csv", "hard.csv", (tmp_path / "data.csv").as_uri()):
        assert same_file("data.csv", path), path
        assert same_file(path, tmp_path / "data.csv"), path
    assert same_file("new.csv", tmp_path / "new.csv")
    assert same_file("new.csv", "dangling.csv")
    assert same_file("shortcut/new.csv", "folder/new.csv")
    assert same_file("s3://bucket/a.csv", "s3://bucket/a.csv")
    for path in ("equal.csv", "new.csv", "folder/data.csv", "s3://bucket/data.csv"):
        assert not same_file("data.csv", path), path
        assert not same_file(path, "data.csv"), path


def test_is_inside_follows_links_to_the_folder_and_to_its_files(tmp_path):
    folder = tmp_path / "folder"
    (folder / "part=1").mkdir(parents=True)
    (folder / "part=1" / "a.parquet").write_text("a")
    (tmp_path / "shortcut").symlink_to(folder)
    os.link(folder / "part=1" / "a.parquet", tmp_path / "hard.parquet")
    (tmp_path / "soft.parquet").symlink_to(folder / "part=1" / "a.parquet")
    contained = (
        "folder/new.parquet",
        "shortcut/new.parquet",
        "folder/part=1/a.parquet",
        "hard.parquet",
        "soft.parquet",
    )
    for path in contained:
        assert is_inside(tmp_path / path, folder), path
    for path in ("new.parquet", "folder.parquet", "folder"):
        assert not is_inside(tmp_path / path, folder), path
    assert not is_inside(folder / "b", tmp_path / "missing")
    assert is_inside("s3://bucket/folder/a.csv", "s3://bucket/folder")
    assert not is_inside("s3://bucket/folder2/a.csv", "s3://bucket/folder")
