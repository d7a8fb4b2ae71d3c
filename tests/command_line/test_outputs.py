"""Results of the command line never replace an input, another result or another file."""

import os
import shutil

import numpy as np
import pandas as pd
import pytest

import evlearn
from evlearn.classify import EvidentialKNNClassifier
from evlearn.command_line import main

TABLE = "a,b\n1,2\n3,4\n5,7\n9,9\n1,3\n8,9\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with a table, constraints, a model and links to the table."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text(TABLE)
    (tmp_path / "pairs.csv").write_text("0,1,must\n0,3,cannot\n")
    assert main(["cluster", "data.csv", "-k", "2", "-q", "--model", "model.json"]) == 0
    (tmp_path / "soft.csv").symlink_to("data.csv")
    (tmp_path / "soft.html").symlink_to("data.csv")
    (tmp_path / "soft.json").symlink_to("data.csv")
    (tmp_path / "model.csv").symlink_to("model.json")
    os.link("data.csv", "hard.csv")
    (tmp_path / "sub").mkdir()
    (tmp_path / "shortcut").symlink_to("sub")
    return tmp_path


def contents(folder):
    """Return the content of each file."""
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def rejection(capsys, *arguments):
    """Return the message of a command that fails."""
    capsys.readouterr()
    assert main([str(argument) for argument in arguments]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err.rstrip().splitlines()[-1]


CLUSTER = ("cluster", "data.csv", "-k", 2, "-q")
PREDICT = ("predict", "model.json", "data.csv", "-q")
CLASHES = [
    (CLUSTER, ["--out", "data.csv"], "the data", "--out"),
    (CLUSTER, ["--out", "./sub/../data.csv"], "the data", "--out"),
    (CLUSTER, ["--out", "soft.csv"], "the data", "--out"),
    (CLUSTER, ["--out", "hard.csv"], "the data", "--out"),
    (CLUSTER, ["--review", "data.csv"], "the data", "--review"),
    (CLUSTER, ["--report", "soft.html"], "the data", "--report"),
    (CLUSTER, ["--model", "soft.json"], "the data", "--model"),
    (CLUSTER, ["--out", "r.csv", "--review", "r.csv"], "--out", "--review"),
    (CLUSTER, ["--out", "sub/r.csv", "--review", "shortcut/r.csv"], "--out", "--review"),
    ((*CLUSTER, "-m", "cecm"), ["--constraints", "pairs.csv", "--out", "pairs.csv"], "--constraints", "--out"),
    ((*CLUSTER, "-m", "cecm"), ["--constraints", "data.csv"], "the data", "--constraints"),
    (PREDICT, ["--out", "data.csv"], "the data", "--out"),
    (PREDICT, ["--out", "model.csv"], "the saved model", "--out"),
    (PREDICT, ["--review", "model.csv"], "the saved model", "--review"),
    (PREDICT, ["--out", "r.csv", "--review", "./r.csv"], "--out", "--review"),
]


@pytest.mark.parametrize(("command", "options", "first", "second"), CLASHES)
def test_a_clash_of_files_is_rejected_before_anything_is_written(folder, capsys, command, options, first, second):
    before = contents(folder)
    message = rejection(capsys, *command, *options)
    assert f"{first} and {second} are the same file" in message
    assert f"choose another name for {second}" in message
    assert contents(folder) == before


def test_a_clash_is_rejected_before_the_data_are_read(folder, capsys):
    (folder / "data.csv").write_text("not a table")
    assert "are the same file" in rejection(capsys, *CLUSTER, "--out", "data.csv")
    assert "are the same file" in rejection(capsys, *PREDICT, "--out", "data.csv")


@pytest.mark.parametrize(
    "out", ["parts/result.parquet", "parts/sub/result.csv", "parts/b.parquet", "hard.parquet"]
)
def test_results_are_not_written_into_a_folder_of_inputs(folder, capsys, out):
    (folder / "parts" / "sub").mkdir(parents=True)
    table = pd.read_csv("data.csv")
    for name in ("a", "b"):
        table.to_parquet(f"parts/{name}.parquet")
    os.link("parts/a.parquet", "hard.parquet")
    before = contents(folder)
    message = rejection(capsys, "cluster", "parts", "-k", 2, "-q", "--out", out)
    assert f"--out {out!r} is inside 'parts', the folder of the data" in message
    assert contents(folder) == before
    assert main(["cluster", "parts", "-k", "2", "-q", "--out", "result.parquet"]) == 0


def test_the_archive_of_a_model_replaces_no_other_file(folder, capsys):
    np.savez("mine.npz", a=np.arange(3))
    before = contents(folder)
    message = rejection(capsys, *CLUSTER, "--model", "mine.json")
    assert "written to mine.npz" in message
    assert "choose another name for the model" in message
    (folder / "mine.json").write_text("[]")
    assert "written to mine.npz" in rejection(capsys, *CLUSTER, "--model", "mine.json")
    (folder / "mine.json").unlink()
    assert contents(folder) == before
    X = np.random.RandomState(0).normal(size=(30_000, 4))
    large = EvidentialKNNClassifier(5, alpha=0.5).fit(X, np.arange(30_000) % 2)
    with pytest.raises(FileExistsError, match=r"mine\.npz"):
        evlearn.save_model(large, "mine.json")
    assert contents(folder) == before
    evlearn.save_model(large, "large.json")
    assert (folder / "large.npz").exists()
    evlearn.save_model(large, "large.json")  # over its own archive
    assert main([*map(str, CLUSTER), "--model", "large.json"]) == 0


def test_the_archive_of_the_saved_model_is_an_input(folder, capsys):
    shutil.copy("data.csv", "model.npz")
    (folder / "out.csv").symlink_to("model.npz")
    message = rejection(capsys, *PREDICT, "--out", "out.csv")
    assert "the file with the arrays of the saved model and --out are the same file" in message


@pytest.mark.parametrize(("option", "ending"), [("--out", "csv"), ("--review", "csv"), ("--report", "html")])
def test_an_output_that_is_a_folder_or_has_none_is_rejected_before_the_data_are_read(
    folder, capsys, option, ending
):
    (folder / f"folder.{ending}").mkdir()
    (folder / "data.csv").write_text("not a table")
    for command in (CLUSTER, PREDICT):
        assert "is a folder; choose another name" in rejection(capsys, *command, option, f"folder.{ending}")
        assert "does not exist; create it first" in rejection(capsys, *command, option, f"missing/x.{ending}")
        assert "does not exist; create it first" in rejection(capsys, *command, option, f"data.csv/x.{ending}")
