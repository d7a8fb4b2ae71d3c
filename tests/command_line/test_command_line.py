"""The command `evlearn`: options, results, messages and exit codes."""

import csv
import io
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.preprocessing import StandardScaler

import evlearn
from evlearn import CredalPartition
from evlearn.cluster import BPEC, CCM, EVCLUS
from evlearn.command_line import commands, main
from evlearn.command_line.main import METHODS, make_parser
from evlearn.command_line.results import CsvWriter, ResultFormat
from evlearn.command_line.tables import Chunk, Sample, open_table
from evlearn.ensemble import CredalEnsemble

IRIS = load_iris(as_frame=True)
FEATURES = ["sepal length", "sepal width", "petal length", "petal width"]


@pytest.fixture
def iris(tmp_path, monkeypatch):
    """Write the Iris data to a CSV file with names, text and numbers."""
    monkeypatch.chdir(tmp_path)
    frame = IRIS.data.set_axis(FEATURES, axis=1)
    frame.insert(0, "flower", [f"flower {number}" for number in range(150)])
    frame["species"] = IRIS.target_names[IRIS.target]
    frame.to_csv("iris.csv", index=False)
    return frame


def run(*arguments):
    return main([str(argument) for argument in arguments])


def plain(*arguments):
    """Run a command with unscaled numbers, and results in the notation of the papers."""
    return run(*arguments, *(["--as-is"] if arguments[0] == "cluster" else []), "--notation", "sets")


def fails(capsys, *arguments):
    """Return the message of a command that must fail."""
    capsys.readouterr()
    assert plain(*arguments) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.rstrip().splitlines()[-1].startswith("evlearn: ")
    return captured.err.rstrip().splitlines()[-1].removeprefix("evlearn: ")


# Cluster


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_becomes_labels_and_masses(iris, ending, capsys):
    out = f"result.{ending}"
    assert plain("cluster", "iris.csv", "-m", "ccm", "--n-clusters", 3, "--names", "flower", "--out", out) == 0
    model = CCM(3, random_state=0).fit(iris[FEATURES].to_numpy())
    # polars, because older versions of pandas lose the last digit of numbers in CSV files.
    result = pl.read_csv(out).to_pandas() if ending == "csv" else pd.read_parquet(out)
    expected = model.credal_partition_.to_frame()
    assert result["sample"].tolist() == iris["flower"].tolist()
    assert result["cluster"].tolist() == model.labels_.tolist()
    assert result["assignment"].tolist() == expected["assignment"].tolist()
    assert np.array_equal(result["doubt"], expected["doubt"])
    assert np.array_equal(result[list(model.focal_sets_.labels)].to_numpy(), model.masses_)
    captured = capsys.readouterr()
    assert captured.out.strip() == str(model.credal_partition_.summary())
    assert "left out, because they contain text: species" in captured.err
    assert "CCM iteration" in captured.err


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_level_is_set_directly_or_by_the_share_of_torn_rows(iris, ending, capsys):
    out, method = f"result.{ending}", ("-m", "ccm", "-k", 3)
    partition = CCM(3, random_state=0).fit(iris[FEATURES].to_numpy()).credal_partition_
    for options, level in (
        (["--level", 0.9], 0.9),
        (["--leave", "10%"], partition.find_level(torn_share=0.1)),
        (["--leave", 0.1], partition.find_level(torn_share=0.1)),
    ):
        assert plain("cluster", "iris.csv", *method, "-q", *options, "--report", "r.html", "--out", out) == 0
        result = pd.read_csv(out) if ending == "csv" else pd.read_parquet(out)
        assert result["assignment"].tolist() == partition.verdict(level).labels().tolist()
        assert capsys.readouterr().out.strip() == str(partition.summary(level))
        assert f"at least {100 * level:.3g}&nbsp;% of the evidence" in Path("r.html").read_text(encoding="utf-8")


def test_levels_apply_to_new_rows_in_chunks(iris, monkeypatch, capsys):
    assert plain("cluster", "iris.csv", "-k", 3, "-q", "--model", "model.json") == 0
    monkeypatch.setattr("evlearn.command_line.tables._CHUNK_ROWS", 32)
    partition = evlearn.load_model("model.json").predict_mass(iris[FEATURES])
    for options, level in ((["--level", 0.8], 0.8), (["--leave", "20%"], partition.find_level(torn_share=0.2))):
        capsys.readouterr()
        assert plain("predict", "model.json", "iris.csv", *options, "--out", "result.csv") == 0
        assert str(partition.summary(level)) in capsys.readouterr().err
        assert pd.read_csv("result.csv")["assignment"].tolist() == partition.verdict(level).labels().tolist()


def test_outliers_are_not_counted_in_the_share_of_torn_rows(iris):
    assert plain("cluster", "iris.csv", "-k", 3, "-q", "--model", "model.json") == 0
    new = iris[FEATURES].copy()
    new.iloc[:60] += 1000
    new.to_csv("new.csv", index=False)
    partition = evlearn.load_model("model.json").predict_mass(new)
    level = partition.find_level(torn_share=0.2)
    assert partition.outliers().sum() == 60
    assert plain("predict", "model.json", "new.csv", "--leave", "20%", "--out", "result.csv", "-q") == 0
    assert pd.read_csv("result.csv")["assignment"].tolist() == partition.verdict(level).labels().tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--level", "2"], "must be a number above 0 and at most 1, such as 0.9, got '2'"),
        (["--level", "high"], "such as 0.9, got 'high'"),
        (["--leave", "5"], "must be a share, such as 5% or 0.05, got '5'"),
        (["--leave", "few"], "such as 5% or 0.05, got 'few'"),
        (["--leave", "5%", "--level", "0.9"], "not allowed with argument"),
    ],
)
def test_invalid_levels_and_shares_are_rejected(options, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        plain("cluster", "iris.csv", "-k", 3, *options)
    assert message in capsys.readouterr().err


def test_quiet_prints_only_the_summary(iris, capsys):
    assert plain("cluster", "iris.csv", "-k", 3, "-q") == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.startswith("150 samples, 3 clusters\n")


def test_a_report_has_the_names_of_rows_and_columns(iris):
    assert (
        plain("cluster", "iris.csv", "-k", 3, "--names", "flower", "--report", "r.html", "--title", "Irises") == 0
    )
    with open("r.html", encoding="utf-8") as file:
        text = file.read()
    assert "<h1>Irises</h1>" in text
    assert len(set(re.findall(r"<td[^>]*>(flower \d+)</td>", text))) > 5
    assert "petal width" in text


def test_the_help_lists_all_methods():
    assert tuple(commands.METHODS) == METHODS
    for method in METHODS:
        assert f"\n  {method} " in make_parser()._subparsers._group_actions[0].choices["cluster"].description


@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs(iris, method):
    number = () if method == "bpec" else ("-k", 3)
    assert plain("cluster", "iris.csv", *number, "-m", method, "--out", "result.csv", "--model", "model.json") == 0
    assert len(pd.read_csv("result.csv")) == 150
    assert plain("predict", "model.json", "iris.csv", "--out", "again.csv") == 0
    first, second = pd.read_csv("result.csv"), pd.read_csv("again.csv")
    assert (first["cluster"] == second["cluster"]).mean() > 0.97


def test_parameters_are_set_by_name(iris):
    settings = ["--set", "n_neighbors=40", "--set", "metric=euclidean", "--set", "delta=9"]
    assert plain("cluster", "iris.csv", "-m", "bpec", *settings, "--out", "result.csv") == 0
    model = BPEC(n_neighbors=40, metric="euclidean", delta=9, random_state=0).fit(iris[FEATURES].to_numpy())
    assert pd.read_csv("result.csv")["cluster"].tolist() == model.labels_.tolist()


@pytest.mark.slow
def test_dissimilarities_are_clustered_and_predicted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X = IRIS.data.to_numpy()
    np.savetxt("distances.csv", pairwise_distances(X), delimiter=",")
    np.savetxt("new.csv", pairwise_distances(X[:20] + 0.01, X), delimiter=",")
    options = ["-k", 3, "-m", "evclus", "--set", "metric=precomputed", "--report", "r.html", "--model", "m.json"]
    assert plain("cluster", "distances.csv", *options) == 0
    assert plain("predict", "m.json", "new.csv", "--out", "new_result.csv") == 0
    model = EVCLUS(3, metric="precomputed", random_state=0).fit(pairwise_distances(X))
    assert pd.read_csv("new_result.csv")["cluster"].tolist() == model.labels_[:20].tolist()
    assert "--standardize" in fails(capsys, "cluster", "distances.csv", *options, "--standardize")


def test_standardized_data_are_those_of_a_standard_scaler(iris):
    options = ["--without", "species,flower", "--standardize", "--model", "model.json", "--out", "result.csv"]
    assert run("cluster", "iris.csv", "-m", "ccm", "-k", 3, "-q", *options) == 0
    X = iris[FEATURES].to_numpy()
    model = CCM(3, random_state=0).fit(StandardScaler().fit_transform(X))
    assert adjusted_rand_score(pd.read_csv("result.csv")["cluster"], model.labels_) == 1
    assert run("predict", "model.json", "iris.csv", "--out", "again.csv") == 0
    assert pd.read_csv("again.csv")["cluster"].tolist() == pd.read_csv("result.csv")["cluster"].tolist()


def test_a_fit_that_has_not_converged_is_written_with_a_warning(iris, capsys):
    assert plain("cluster", "iris.csv", "-m", "ccm", "-k", 3, "--set", "max_iter=1", "--out", "result.csv") == 3
    assert "evlearn: the objective still changed after max_iter=1 iterations" in capsys.readouterr().err
    assert os.path.exists("result.csv")


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_data_larger_than_memory_give_the_same_results(iris, ending, monkeypatch):
    source = "iris.csv"
    if ending == "parquet":
        source = "iris.parquet"
        iris.to_parquet(source)
    assert plain("cluster", source, "-k", 3, "--out", "memory.csv", "--model", "memory.json") == 0
    monkeypatch.setattr(commands, "_MAX_NUMBERS_IN_MEMORY", 100)
    monkeypatch.setattr("evlearn.command_line.tables._CHUNK_ROWS", 32)
    monkeypatch.setattr(commands, "_MAX_REPORT_ROWS", 40)
    options = ["--out", "blocks.csv", "--model", "blocks.json", "--report", "r.html"]
    assert plain("cluster", source, "-k", 3, *options) == 0
    memory, blocks = pd.read_csv("memory.csv"), pd.read_csv("blocks.csv")
    assert memory["sample"].tolist() == blocks["sample"].tolist()
    # Rounded in the files.
    assert np.allclose(memory.iloc[:, 3:], blocks.iloc[:, 3:], atol=1e-8)
    with open("r.html", encoding="utf-8") as file:
        assert "These are a random subset of 150 samples." in file.read()
    assert list(evlearn.load_model("blocks.json").feature_names_in_) == FEATURES


def test_methods_that_need_memory_raise_an_error(iris, monkeypatch, capsys):
    monkeypatch.setattr(commands, "_MAX_NUMBERS_IN_MEMORY", 100)
    monkeypatch.setattr("evlearn.command_line.tables._CHUNK_ROWS", 32)
    message = fails(capsys, "cluster", "iris.csv", "-k", 3, "-m", "evclus")
    assert message.endswith("use solver='landmark'.")
    assert plain("cluster", "iris.csv", "-k", 3, "-m", "evclus", "--set", "solver=landmark") == 0


# Predict


def test_prediction_matches_columns_by_name_and_prints_to_the_screen(iris, capsys):
    assert plain("cluster", "iris.csv", "-k", 3, "--model", "model.json", "--names", "flower") == 0
    iris[["species", *reversed(FEATURES)]].head(10).to_csv("new.csv", index=False)
    capsys.readouterr()
    assert plain("predict", "model.json", "new.csv") == 0
    captured = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(captured.out)))
    assert [row["sample"] for row in rows] == [str(number) for number in range(10)]
    model = evlearn.load_model("model.json")
    assert [int(row["cluster"]) for row in rows] == model.predict(iris[FEATURES].head(10)).tolist()
    assert "10 samples, 3 clusters" in captured.err


def test_prediction_rejects_other_columns(iris, capsys):
    assert plain("cluster", "iris.csv", "-k", 3, "--model", "model.json") == 0
    capsys.readouterr()
    iris.drop(columns="petal width").to_csv("new.csv", index=False)
    assert fails(capsys, "predict", "model.json", "new.csv") == (
        "new.csv has no column 'petal width', which the model was fitted to."
    )
    np.savetxt("bare.csv", np.ones((3, 3)), delimiter=",")
    assert "bare.csv has 3 features, but the model was fitted to 4" in fails(
        capsys, "predict", "model.json", "bare.csv"
    )


def test_a_damaged_model_is_rejected(iris, capsys):
    with open("model.json", "w") as file:
        file.write("{")
    assert "is not a model that can be read" in fails(capsys, "predict", "model.json", "iris.csv")
    message = fails(capsys, "predict", "none.json", "iris.csv")
    assert "there is no model file 'none.json'; write one with `evlearn cluster --model`" in message
    message = fails(capsys, "predict", "iris.csv", "model.json")
    assert (
        "'iris.csv' is not a model file, which ends in .json. The order of arguments is `evlearn predict"
        in message
    )


# Mistakes


MISTAKES = {
    "--columns contains 'nonsense', which is not a column of iris.csv; it has flower, ": ["--columns", "nonsense"],
    "--columns contains 'species', which has text in iris.csv": ["--columns", "sepal width,species"],
    "--names contains 'id', which is not a column": ["--names", "id"],
    "--set nonsense: ccm has the parameters beta, ": ["--set", "nonsense=1"],
    "--set needs NAME=VALUE, for example --set alpha=2; got 'alpha'": ["--set", "alpha"],
    "gamma must be a number at least 0 and at most 1e+100, got 'much'": ["--set", "gamma=much"],
    "--out must be a file name that ends in .csv or .tsv or .txt or .parquet or .pq, got 'x.pickle'": [
        "--out",
        "x.pickle",
    ],
    "--report: the folder of 'none/r.html' does not exist; create it first.": ["--report", "none/r.html"],
    "--model must be a file name that ends in .json, got 'm.pkl'": ["--model", "m.pkl"],
    "iris.csv has no column of numbers among": ["--columns", "flower", "--without", "flower"],
    "n_clusters=200 is more than n_samples=150": ["--n-clusters", "200"],
}


@pytest.mark.parametrize("message", MISTAKES)
def test_an_error_has_a_message_of_one_line_and_leaves_no_file(iris, message, capsys):
    assert message in fails(capsys, "cluster", "iris.csv", "-m", "ccm", "-k", 3, *MISTAKES[message])
    assert os.listdir() == ["iris.csv"]


def test_the_number_of_clusters_is_required(iris, capsys):
    assert "--n-clusters is required by ccm: use a number or auto, or --method ensemble." in fails(
        capsys, "cluster", "iris.csv", "-m", "ccm"
    )


def test_the_error_names_a_missing_file(capsys):
    assert fails(capsys, "cluster", "nowhere.csv", "-k", 3) == "the file 'nowhere.csv' does not exist."


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["cluster"], ["cluster", "x.csv", "--nonsense"]])
def test_an_invalid_command_exits_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        run(*arguments)
    assert end.value.code == 2
    assert "usage: evlearn" in capsys.readouterr().err


# Tables

BROKEN = {
    "": "data.csv has no rows.",
    "a,b\n": "data.csv has a header and no rows.",
    "a,a\n1,2\n": "data.csv has several columns with the name 'a'; rename them.",
    "a,b\n1,2\n3\n": "data.csv, line 3, has 1 cell instead of 2, with the delimiter ','.",
    "a,b\n1,2\n3,x\n4,5\n": "data.csv, line 3: 'x' in column 'b' is not a number.",
    "a,b\n1,2\n3,inf\n4,5\n": "data.csv: column 'b' has a missing or infinite value in row 1 (counted from 0).",
    "a,b\nu,v\nw,x\n": "data.csv has no column of numbers among a, b.",
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_table_is_refused_with_the_place(text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text(text)
    assert BROKEN[text] in fails(capsys, "cluster", "data.csv", "-k", 2)


def test_a_file_that_is_no_text_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_bytes(b"a,b\n1,\xff\xfe\n")
    message = fails(capsys, "cluster", "data.csv", "-k", 2)
    assert "data.csv, line 2: byte 0xff at position 6 is not UTF-8" in message
    assert "--encoding cp1252" in message
    (tmp_path / "data.parquet").write_bytes(b"PAR1 and nothing else")
    assert "data.parquet cannot be read as Parquet" in fails(capsys, "cluster", "data.parquet", "-k", 2)


def test_rows_with_missing_values_can_be_left_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("a;b\n1,5;2\n3;NA\n\n4;5,25\n?;1\n0;0\n")
    options = ["--decimal", ",", "--drop-missing"]
    assert plain("cluster", "data.csv", "-k", 2, *options, "--out", "result.csv", "--model", "model.json") == 0
    result = pd.read_csv("result.csv")
    assert result["sample"].tolist() == [0, 1, 2, 3, 4]
    assert (result["assignment"] == "unknown").tolist() == [False, True, False, True, False]
    assert result["cluster"].isna().tolist() == [False, True, False, True, False]
    table = open_table("data.csv", decimal=",")
    (chunk,) = table.chunks(["b", "a"])
    assert chunk.complete.tolist() == [True, False, True, False, True]
    assert chunk.take(chunk.complete).values.tolist() == [[2, 1.5], [5.25, 4], [0, 0]]


def test_a_table_without_names_has_columns_all_the_same(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.tsv").write_text("1\t2\n3\t4\n5\t7\n")
    assert plain("cluster", "data.tsv", "-k", 2, "--model", "model.json") == 0
    assert "features: x0, x1" in capsys.readouterr().err
    assert not hasattr(evlearn.load_model("model.json"), "feature_names_in_")


def iris_rows(first=None):
    """Return the Iris data in the format of the UCI repository: no header, and the species last."""
    lines = [",".join(map(str, row)) for row in np.column_stack([IRIS.data, IRIS.target_names[IRIS.target]])]
    return "\n".join([*([] if first is None else [first]), *lines]) + "\n"


@pytest.mark.parametrize("missing", ["", "?", "NA"], ids=["an empty cell", "a question mark", "NA"])
def test_a_headerless_table_keeps_its_first_sample(tmp_path, monkeypatch, capsys, missing):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "iris.data").write_text(iris_rows())
    assert plain("cluster", "iris.data", "-k", 3, "--out", "result.csv") == 0
    captured = capsys.readouterr()
    assert "150 samples" in captured.out
    assert (
        "iris.data: line 1 is a sample, and columns are named x0, x1, ...; if line 1 contains their names"
        in captured.err
    )
    assert "--header" in captured.err
    assert "left out, because they contain text: x4" in captured.err
    (tmp_path / "hole.data").write_text(iris_rows().replace("5.1,3.5,", f"{missing},3.5,", 1))
    assert plain("cluster", "hole.data", "-k", 3, "--drop-missing") == 0
    assert "149 samples" in capsys.readouterr().out
    assert plain("cluster", "hole.data", "-k", 3) == 0
    assert "150 samples" in capsys.readouterr().out
    message = fails(capsys, "cluster", "hole.data", "-k", 3, "-m", "cecm")
    assert "column 'x0' has a missing or infinite value in row 0" in message


def test_a_header_of_years_is_detected_and_reported(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = "".join(
        f"{a},{b},{c}\n" for a, b, c in [(1, 5, 2), (2, 4, 2), (1, 4, 1), (80, 85, 90), (79, 85, 92), (81, 8, 9)]
    )
    (tmp_path / "years.csv").write_text("2019,2020,2021\n" + rows)
    assert plain("cluster", "years.csv", "-k", 2, "--model", "model.json") == 0
    captured = capsys.readouterr()
    assert "6 samples" in captured.out
    assert "line 1 (2019, 2020, 2021) is a header" in captured.err
    assert "--no-header" in captured.err
    assert plain("cluster", "years.csv", "-k", 2, "--no-header") == 0
    captured = capsys.readouterr()
    assert "7 samples" in captured.out
    assert "line 1" not in captured.err
    (tmp_path / "new.csv").write_text("2021,2019,2020\n" + rows)
    assert plain("predict", "model.json", "new.csv", "--out", "judged.csv") == 0
    assert len(pd.read_csv("judged.csv")) == 6


TABLES = {
    "names": ("a,b\n1,2\n3,4\n5,9\n", True, False),
    "names over numbers and text": ("a,b\n1,x\n3,y\n5,z\n", True, False),
    "a name and years": ("country,2019,2020,2021\nFrance,1,5,2\nSpain,2,4,2\nItaly,1,4,1\n", True, True),
    "a name over numbers beside years": ("id,2019,2020\n1,5,2\n2,4,2\n3,4,1\n", True, True),
    "wavelengths": ("400.5,401,401.5,402\n0.1,0.7,0.3,0.9\n0.2,0.1,0.2,0.3\n0.4,0.2,0.8,0.1\n", True, True),
    "an empty name": (",a,b\n0,1,2\n1,3,4\n2,5,9\n", True, False),
    "samples": ("1.5,2\n3,4\n5,9\n0,1\n", False, True),
    "samples that count": ("1,2,3\n4,5,6\n7,8,9\n10,11,12\n", False, True),
    "a sample that counts": ("1,2,3\n0,5,1\n7,1,4\n2,0,9\n", False, True),
    "an outlier first": ("900,40,7000\n0.1,0.7,0.3\n0.2,0.1,0.2\n0.4,0.2,0.8\n", False, True),
    "samples and text": ("1,x\n3,y\n5,z\n", False, True),
    "a sample with a hole": (",2\n3,4\n5,9\n", False, True),
    "distances": ("0,1,2\n1,0,1\n2,1,0\n", False, True),
    "one sample": ("1,2\n", False, False),
}


@pytest.mark.parametrize("kind", TABLES)
def test_the_first_line_is_compared_with_those_below_it(tmp_path, kind):
    text, names, doubtful = TABLES[kind]
    (tmp_path / "table.csv").write_text(text)
    table = open_table(tmp_path / "table.csv")
    assert table.has_names == names
    assert bool(table.remark) == doubtful
    for header in (True, False):
        if kind != "one sample":
            table_with_option = open_table(tmp_path / "table.csv", header=header)
            assert (table_with_option.has_names, table_with_option.remark) == (header, "")


def test_columns_with_commas_in_their_names_are_selected_in_quotes_or_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text('"length, cm",b,c\n1,2,3\n3,4,0\n5,7,1\n9,9,2\n')
    for option, columns in (
        ('"length, cm",b', '"length, cm", b'),
        ("length, cm", '"length, cm"'),
        ("b, c", "b, c"),
    ):
        assert plain("cluster", "data.csv", "-k", 2, "--columns", option) == 0
        assert f"features: {columns}\n" in capsys.readouterr().err
    assert "--columns contains 'x'" in fails(capsys, "cluster", "data.csv", "-k", 2, "--columns", "x,b")
    assert "--columns contains 'b\\nc'" in fails(capsys, "cluster", "data.csv", "-k", 2, "--columns", "b\nc")


def test_formulas_are_written_as_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ["=1+1", '=HYPERLINK("http://x","y")', "+1+1", "-2+3", "@SUM(A1)", "-1.5", "+7", "plain", "\t=1"]
    frame = pd.DataFrame({"name": names, "a": [1, 1, 1, 2, 8, 8, 8, 9, 9], "b": [1, 2, 1, 2, 8, 8, 9, 9, 8]})
    frame.to_csv("data.csv", index=False)
    plain("cluster", "data.csv", "-k", 2, "--names", "name", "--out", "result.csv")
    expected = [name if name in ("-1.5", "+7", "plain") else f"'{name}" for name in names]
    assert pd.read_csv("result.csv", dtype=str)["sample"].tolist() == expected
    writer_file = io.StringIO()
    partition = CredalPartition.from_hard([0, 1] * 4 + [0], cluster_names=["=1+1", "-b"])
    CsvWriter(writer_file, ResultFormat()).write(names, partition, np.ones(9, dtype=bool))
    assert {row["cluster"] for row in csv.DictReader(io.StringIO(writer_file.getvalue()))} == {"'=1+1", "'-b"}
    plain("cluster", "data.csv", "-k", 2, "--names", "name", "--out", "raw.csv", "--keep-formulas")
    assert pd.read_csv("raw.csv", dtype=str)["sample"].tolist() == names
    plain("cluster", "data.csv", "-k", 2, "--names", "name", "--out", "result.parquet")
    assert pd.read_parquet("result.parquet")["sample"].tolist() == names


def test_a_file_that_changes_while_it_is_read_is_rejected(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "data.csv"
    path.write_text("a,b\n1,2\n3,4\n5,7\n9,9\n")
    fit = CredalEnsemble.fit

    def meanwhile(self, X):
        path.write_text("a,b\n9,9\n5,7\n3,4\n1,20\n")
        return fit(self, X)

    monkeypatch.setattr(CredalEnsemble, "fit", meanwhile)
    assert "data.csv was changed while it was read" in fails(
        capsys, "cluster", "data.csv", "-k", 2, "-o", "out.csv"
    )
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.slow
def test_without_matplotlib_a_report_is_written_without_pictures(iris):
    code = "import sys; sys.modules['matplotlib'] = None; from evlearn.command_line import main; sys.exit(main())"
    typed = ["cluster", "iris.csv", "-k", "3", "--report", "iris.html"]
    outcome = subprocess.run([sys.executable, "-c", code, *typed], capture_output=True, text=True, check=True)
    assert 'pip install "evidential-learn[plot]"' in outcome.stderr
    assert "pip install &quot;evidential-learn[plot]&quot;" in Path("iris.html").read_text(encoding="utf-8")


def test_parquet_keeps_single_precision_and_names(iris, tmp_path):
    iris.astype(dict.fromkeys(FEATURES, np.float32)).to_parquet("iris.parquet")
    table = open_table("iris.parquet")
    assert dict(zip(table.columns, table.numeric, strict=True)) == {
        "flower": False,
        **dict.fromkeys(FEATURES, True),
        "species": False,
    }
    (chunk,) = table.chunks(FEATURES, "flower")
    assert chunk.values.dtype == np.float32
    assert chunk.names == iris["flower"].tolist()


def test_a_sample_of_a_stream_is_fair_and_in_order():
    partition = CredalPartition.from_hard([0] * 5 + [1] * 5)
    counts = np.zeros(1000)
    for seed in range(60):
        sample = Sample(50)
        sample._random = np.random.RandomState(seed)
        for start in range(0, 1000, 10):
            values = np.arange(start, start + 10.0)
            sample.add(Chunk([str(int(value)) for value in values], {"x": values}), partition)
        chunk, masses = sample.rows()
        sampled_rows = chunk.values[:, 0].astype(int)
        assert len(sampled_rows) == len(masses) == 50
        assert (np.diff(sampled_rows) > 0).all()
        assert chunk.names == [str(number) for number in sampled_rows]
        assert np.array_equal(masses.masses, partition.masses[sampled_rows % 10])
        counts[sampled_rows] += 1
    # 60 samples of 5 %: 3 expected per row, and 1500 per half, with a tolerance of 4 standard deviations.
    assert abs(counts[:500].sum() - 1500) < 4 * np.sqrt(60 * 50 / 4)
    assert counts.max() <= 14


# Subprocesses


def command(*arguments, **options):
    return subprocess.Popen([sys.executable, "-m", "evlearn", *map(str, arguments)], text=True, **options)


@pytest.mark.slow
def test_help_explains_verdicts_and_loads_neither_scikit_learn_nor_matplotlib():
    code = (
        "import sys; from evlearn.command_line import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print({'sklearn', 'matplotlib'} & set(sys.modules), file=sys.stderr)"
    )
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "sure" in outcome.stdout
    assert "torn" in outcome.stdout
    assert "outlier" in outcome.stdout
    assert "evlearn cluster data.csv --out result.csv" in outcome.stdout
    assert "exit codes:" in outcome.stdout
    assert outcome.stderr.strip() == "set()"


@pytest.mark.slow
def test_a_command_without_a_report_does_not_load_matplotlib(iris):
    code = (
        "import sys; from evlearn.command_line import main\n"
        "main(['cluster', 'iris.csv', '-k', '3', '-q', '--out', 'result.csv'])\n"
        "print('matplotlib' in sys.modules)"
    )
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert outcome.stdout.split()[-1] == "False"


@pytest.mark.slow
def test_ctrl_c_writes_the_best_result(tmp_path):
    np.savetxt(tmp_path / "data.csv", np.random.RandomState(0).uniform(size=(100_000, 2)), delimiter=",")
    arguments = [
        "-m",
        "ccm",
        "-k",
        6,
        "--set",
        "tol=0",
        "--set",
        "max_iter=100000",
        "--out",
        tmp_path / "result.csv",
    ]
    with command(
        "cluster", tmp_path / "data.csv", *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        for line in process.stderr:
            if "CCM iteration" in line:
                time.sleep(0.3)  # wait for more iterations
                process.send_signal(signal.SIGINT)
                break
        message = process.stderr.read()
        assert process.stdout.read().startswith("100000 samples, 6 clusters")
    assert process.returncode == 3, message
    assert "interrupted after" in message
    with open(tmp_path / "result.csv", encoding="utf-8") as file:
        assert sum(1 for _ in file) == 100_001


@pytest.mark.slow
def test_progress_is_one_line_on_a_terminal(iris):
    controller, terminal = os.openpty()
    with command(
        "cluster", "iris.csv", "-m", "ccm", "-k", 3, "--as-is", stdout=subprocess.PIPE, stderr=terminal
    ) as process:
        assert process.stdout.read().startswith("150 samples")
    os.close(terminal)
    message = os.read(controller, 100_000).decode()
    os.close(controller)
    assert process.returncode == 0
    assert "\rCCM" not in message.splitlines()[-1]
    # The lines about the columns remain; those of the iterations were overwritten.
    stays = [line.rpartition("\r")[2] for line in message.replace("\r\n", "\n").split("\n")]
    assert [line for line in stays if line.strip()] == [
        "evlearn: left out, because they contain text: flower, species",
        "evlearn: features: sepal length, sepal width, petal length, petal width",
    ]
    assert "CCM iteration" in message


@pytest.mark.slow
def test_ctrl_c_before_there_is_a_result_exits_with_130(tmp_path):
    np.savetxt(tmp_path / "data.csv", np.random.RandomState(0).uniform(size=(300_000, 4)), delimiter=",")
    with command(
        "cluster", tmp_path / "data.csv", "-k", 3, "--as-is", "--no-header", stderr=subprocess.PIPE
    ) as process:
        assert "features" in process.stderr.readline()
        time.sleep(0.1)  # while the file is read
        process.send_signal(signal.SIGINT)
        message = process.stderr.read()
    assert process.returncode == 130, message
    assert message.strip() == "evlearn: interrupted."


@pytest.mark.slow
def test_a_closed_pipe_is_not_an_error(iris, tmp_path):
    assert plain("cluster", "iris.csv", "-k", 3, "--model", "model.json") == 0
    pd.concat([iris] * 200).to_csv("many.csv", index=False)
    with command("predict", "model.json", "many.csv", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline().startswith("sample,cluster,assignment,doubt")
        process.stdout.close()
        message = process.stderr.read()
    assert process.returncode == 141
    assert "Traceback" not in message
    assert "Exception" not in message


def test_the_command_is_installed():
    from importlib.metadata import entry_points

    (script,) = entry_points(group="console_scripts", name="evlearn")
    assert script.load() is main


@pytest.mark.slow
def test_the_commands_of_the_guide_run_as_written(iris, capsys):
    guide = Path(__file__).parents[2] / "docs" / "guide" / "command_line.rst"
    text = guide.read_text(encoding="utf-8").replace("\\\n", "")
    typed = re.findall(r"^   \$ evlearn (.*)$", text, flags=re.MULTILINE)
    assert len(typed) == 11
    Path("pairs.csv").write_text("flower 0,flower 7,must\nflower 0,flower 60,cannot\n")
    for line in typed:
        assert run(*shlex.split(line)) == 0, line
    assert {"result.csv", "iris.html", "look_at.csv", "iris.json", "judged.csv"} <= set(os.listdir())
    # The summary in the guide must be the printed one.
    capsys.readouterr()
    run(*shlex.split(typed[0]))
    summary = [line.strip() for line in capsys.readouterr().out.strip().splitlines()]
    guide_lines = [line.strip() for line in guide.read_text(encoding="utf-8").splitlines()]
    assert guide_lines[guide_lines.index(summary[0]) :][: len(summary)] == summary
