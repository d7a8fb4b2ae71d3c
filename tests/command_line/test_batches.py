"""The command line returns the same masses for a row in any chunk, in any order, alone, and as Python."""

import csv

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import evlearn
from evlearn.cluster import CCM, CECM, EVCLUS
from evlearn.command_line import main
from evlearn.preprocessing import GowerDistances, TableEncoder

MISSING = ["", "NA", "na", "N/A", "NULL", "null", "none", "None", "NaN", "?"]
POOLS = {
    "shop": ["01", "02", "A1", "1.0", "007", "1e3", "NULL-1"],
    "plan": ["basic", "pro", "12_3", "-"],
    "since": ["2020-01-01", "2021-06-30T12:00:00", "2019-02-03"],
    "seen": ["2020-01-01", "2020-01-02", "unknown"],
    "paid": ["true", "FALSE", "True"],
    "answer": ["yes", "no", "1", "0", "true"],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def text_table(n_rows, seed, missing=0.08):
    """Return a table of text that looks like numbers, dates, booleans and missing values, sorted by shop."""
    random = np.random.default_rng(seed)
    group = random.integers(2, size=n_rows)
    table = {"amount": [f"{value:.4f}" for value in random.normal(5 * group)]}
    table["units"] = [str(value) for value in random.integers(20, 40, size=n_rows)]
    for name, pool in POOLS.items():
        shares = np.array([random.dirichlet(np.ones(len(pool))) for _ in range(2)])
        table[name] = [random.choice(pool, p=shares[k]) for k in group]
    order = np.argsort(table["shop"], kind="stable")
    table = {name: [cells[k] for k in order] for name, cells in table.items()}
    for cells in table.values():
        for k in np.flatnonzero(random.random(n_rows) < missing):
            cells[k] = MISSING[random.integers(len(MISSING))]
    return table


def write(path, table, rows=None):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        for k in range(len(table["amount"])) if rows is None else rows:
            writer.writerow([cells[k] for cells in table.values()])


def run(*arguments):
    assert main([str(argument) for argument in arguments]) == 0


def predicted(model, data):
    """Return masses and assignments of the command line; Parquet files have all digits."""
    run("predict", model, data, "-q", "--out", "predicted.parquet")
    result = pd.read_parquet("predicted.parquet")
    return result.filter(like="mass_").to_numpy(dtype=float), result["assignment"].to_numpy()


def take_rows(table, rows):
    return {name: [cells[k] for k in rows] for name, cells in table.items()}


CONTAINERS = {
    "dict": lambda table: table,
    "pandas": lambda table: pd.read_csv("data.csv", dtype=str, keep_default_na=False),
    "inferred": lambda table: pd.read_csv("data.csv", low_memory=False),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}


@pytest.mark.slow
def test_predictions_of_10_000_rows_do_not_depend_on_chunks_and_order(folder, monkeypatch):
    table = text_table(10_000, 0)
    write("data.csv", table)
    model = make_pipeline(TableEncoder(), CCM(2, random_state=0)).fit(take_rows(table, range(0, 10_000, 5)))
    evlearn.save_model(model, "model.json")
    expected = evlearn.predict_mass(model, table).masses
    for container, make in CONTAINERS.items():
        masses = evlearn.predict_mass(evlearn.load_model("model.json"), make(table)).masses
        assert np.abs(masses - expected).max() <= 1e-9, container
    order = np.random.default_rng(1).permutation(10_000)
    write("shuffled.csv", table, order)
    for n_rows in (50_000, 300):
        monkeypatch.setattr("evlearn.command_line.tables._CHUNK_ROWS", n_rows)
        assert np.abs(predicted("model.json", "data.csv")[0] - expected).max() <= 1e-9
        assert np.abs(predicted("model.json", "shuffled.csv")[0] - expected[order]).max() <= 1e-9
    selection = np.arange(0, 10_000, 100)
    write("few.csv", table, selection)
    monkeypatch.setattr("evlearn.command_line.tables._CHUNK_ROWS", 1)
    assert np.abs(predicted("model.json", "few.csv")[0] - expected[selection]).max() <= 1e-9
    for k in selection[::10]:  # files with a single row
        write("alone.csv", table, [k])
        assert np.abs(predicted("model.json", "alone.csv")[0] - expected[[k]]).max() <= 1e-9


@pytest.mark.parametrize(
    "steps",
    [
        lambda: (GowerDistances(), EVCLUS(2, metric="precomputed", random_state=0)),
        lambda: (TableEncoder(), CECM(2, random_state=0)),
    ],
    ids=["GowerDistances", "a clusterer that rejects missing values"],
)
@pytest.mark.slow
def test_other_models_of_tables_predict_alike_in_any_chunk(folder, monkeypatch, steps):
    complete = text_table(150, 2, missing=0)
    model = make_pipeline(*steps()).fit(complete)
    evlearn.save_model(model, "model.json")
    table = text_table(150, 2)
    write("data.csv", table)
    expected, verdicts = predicted("model.json", "data.csv")
    order = np.random.default_rng(1).permutation(150)
    write("shuffled.csv", table, order)
    for n_rows in (100, 7):
        monkeypatch.setattr("evlearn.command_line.tables._CHUNK_ROWS", n_rows)
        for path, rows in (("data.csv", np.arange(150)), ("shuffled.csv", order)):
            masses, assignments = predicted("model.json", path)
            assert np.allclose(masses, expected[rows], rtol=0, atol=1e-9, equal_nan=True)
            assert assignments.tolist() == verdicts[rows].tolist()
    write("data.csv", complete)
    expected = evlearn.predict_mass(model, complete).masses
    assert np.abs(predicted("model.json", "data.csv")[0] - expected).max() <= 1e-9


@pytest.mark.slow
def test_a_wrong_cell_in_a_row_with_a_missing_one_is_an_error_in_any_chunk(folder, monkeypatch, capsys):
    table = text_table(100, 3)
    evlearn.save_model(make_pipeline(TableEncoder(), CCM(2, random_state=0)).fit(table), "model.json")
    table["since"][50], table["units"][50] = "yesterday", ""
    write("data.csv", table)
    for n_rows in (1000, 1):
        monkeypatch.setattr("evlearn.command_line.tables._CHUNK_ROWS", n_rows)
        assert main(["predict", "model.json", "data.csv", "-q", "--out", "out.csv"]) == 1
        assert "the column 'since' contains 'yesterday', but had dates" in capsys.readouterr().err
    table["since"][50], table["units"][50] = "2020-01-01", "12_3"
    write("data.csv", table)
    assert main(["predict", "model.json", "data.csv", "-q", "--out", "out.csv"]) == 1
    assert "data.csv, line 52: '12_3' in column 'units' is not a number" in capsys.readouterr().err


# Fits


CLUSTER = ("cluster", "data.csv", "-m", "ccm", "-k", 2)


@pytest.mark.slow
def test_a_column_that_is_text_in_some_chunks_only_is_text_in_all(folder, monkeypatch):
    # Clusters and chunks must differ.
    random = np.random.default_rng(0)
    group = np.r_[np.zeros(50, int), np.ones(50, int), random.integers(2, size=1100)]
    shops = ["A1"] * 50 + ["B2"] * 50 + ["01"] * 1100
    table = {"shop": shops, "amount": [f"{value:.3f}" for value in random.normal(10 * group)]}
    for order in (np.arange(1200), np.arange(1200)[::-1]):
        write("data.csv", table, order)
        expected = make_pipeline(TableEncoder(), CCM(2, random_state=0)).fit(take_rows(table, order))
        for n_rows in (50_000, 500, 90):
            monkeypatch.setattr("evlearn.command_line.tables._CHUNK_ROWS", n_rows)
            run(*CLUSTER, "-q", "--model", "model.json", "--out", "result.parquet")
            model = evlearn.load_model("model.json")
            assert model[0].columns_ == expected[0].columns_
            masses = pd.read_parquet("result.parquet").filter(like="mass_").to_numpy()
            assert np.abs(masses - expected[-1].masses_).max() <= 1e-9


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.slow
def test_a_fit_is_the_same_by_the_command_and_by_python(folder, monkeypatch, seed):
    table = text_table(400, seed)
    write("data.csv", table)
    expected = make_pipeline(TableEncoder(), CCM(2, random_state=0)).fit(table)
    for n_rows in (50_000, 60):
        monkeypatch.setattr("evlearn.command_line.tables._CHUNK_ROWS", n_rows)
        run(*CLUSTER, "-q", "--model", "model.json", "--out", "result.parquet")
        assert evlearn.load_model("model.json")[0].columns_ == expected[0].columns_
        masses = pd.read_parquet("result.parquet").filter(like="mass_").to_numpy()
        assert np.abs(masses - expected[-1].masses_).max() <= 1e-9


@pytest.mark.parametrize("place", [3, 1100])
def test_text_in_a_column_of_numbers_is_an_error_that_names_the_line(folder, monkeypatch, capsys, place):
    monkeypatch.setattr("evlearn.command_line.tables._CHUNK_ROWS", 500)
    table = text_table(1200, 5, missing=0)
    table["amount"][place] = "1.5.2"
    write("data.csv", table)
    assert main(["cluster", "data.csv", "-k", "2", "-q"]) == 1
    assert f"data.csv, line {place + 2}: '1.5.2' in column 'amount' is not a number" in capsys.readouterr().err
    monkeypatch.setattr("evlearn.command_line.commands._MAX_LEARNING_ROWS", 5)  # a sample without that row
    assert main(["cluster", "data.csv", "-k", "2", "-q"]) == 1
    assert "'1.5.2' in column 'amount' is not a number" in capsys.readouterr().err


def test_codes_that_were_numbers_in_python_are_found_in_files(folder):
    frame = pd.DataFrame({"code": [1.0, 2.5, np.nan, 3.0] * 30, "amount": np.sin(np.arange(120.0))})
    model = make_pipeline(TableEncoder(categorical=["code"]), CCM(2, random_state=0)).fit(frame)
    evlearn.save_model(model, "model.json")
    expected = evlearn.predict_mass(model, frame).masses
    frame.to_csv("data.csv", index=False)
    frame.to_csv("comma.csv", index=False, sep=";", decimal=",")
    assert np.abs(predicted("model.json", "data.csv")[0] - expected).max() <= 1e-9
    run("predict", "model.json", "comma.csv", "--decimal", ",", "-q", "--out", "comma.parquet")
    masses = pd.read_parquet("comma.parquet").filter(like="mass_").to_numpy()
    assert np.abs(masses - expected).max() <= 1e-9


# Models without a TableEncoder


def pipelines():
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    words = OneHotEncoder(handle_unknown="ignore")
    filled = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    ranks = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
    return {
        "one-hot": make_column_transformer(
            (numbers, ["amount", "units"]), (words, ["shop", "plan", "paid", "code"])
        ),
        "imputed": make_column_transformer((numbers, ["amount"]), (filled, ["shop", "answer"])),
        "ranks": make_column_transformer((numbers, ["units"]), (ranks, ["plan", "paid", "seen"])),
        "encoder": make_column_transformer(
            (numbers, ["amount"]), (TableEncoder(missing="impute"), ["shop", "since"])
        ),
    }


@pytest.mark.parametrize("name", list(pipelines()))
@pytest.mark.slow
def test_pipelines_of_scikit_learn_predict_like_python_in_any_chunk(folder, monkeypatch, name):
    table = text_table(300, 7)
    table["code"] = [["3", "5", "8"][k % 3] for k in range(300)]
    for name_of_numbers in ("amount", "units"):  # pandas reads some tokens as text
        table[name_of_numbers] = ["" if cell in MISSING else cell for cell in table[name_of_numbers]]
    write("data.csv", table)
    frame = pd.read_csv("data.csv")  # pandas reads "none" and "?" as categories, and "NULL" as missing
    model = make_pipeline(pipelines()[name], CCM(2, random_state=0)).fit(frame)
    evlearn.save_model(model, "model.json")
    expected = evlearn.predict_mass(model, frame).masses
    order = np.random.default_rng(1).permutation(300)
    write("shuffled.csv", table, order)
    for n_rows in (50_000, 20):
        monkeypatch.setattr("evlearn.command_line.tables._CHUNK_ROWS", n_rows)
        assert np.abs(predicted("model.json", "data.csv")[0] - expected).max() <= 1e-9
        assert np.abs(predicted("model.json", "shuffled.csv")[0] - expected[order]).max() <= 1e-9
    for k in range(0, 300, 60):
        write("alone.csv", table, [k])
        assert np.abs(predicted("model.json", "alone.csv")[0] - expected[[k]]).max() <= 1e-9


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_rows_without_masses_at_the_end_have_all_columns(folder, monkeypatch, ending):
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(40, 2)), columns=["a", "b"])
    evlearn.save_model(CECM(2, random_state=0).fit(frame), "model.json")
    frame.loc[30:, "a"] = np.nan
    frame.to_csv("data.csv", index=False)
    monkeypatch.setattr("evlearn.command_line.tables._CHUNK_ROWS", 10)
    run("predict", "model.json", "data.csv", "-q", "--out", f"result.{ending}")
    result = pd.read_csv("result.csv") if ending == "csv" else pd.read_parquet("result.parquet")
    assert (result["assignment"] == "unknown").tolist() == [k >= 30 for k in range(40)]
    assert result["cluster"].isna().tolist() == result["doubt"].isna().tolist() == [k >= 30 for k in range(40)]


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.slow
def test_models_of_plain_numbers_predict_alike_in_any_chunk(folder, monkeypatch, header):
    random = np.random.default_rng(0)
    table = {name: [f"{value:.3f}" for value in random.normal(size=200)] for name in ("amount", "b")}
    for k in range(0, 200, 7):
        table["b"][k] = MISSING[k % len(MISSING)]
    write("data.csv", table)
    run("cluster", "data.csv", "-k", 2, "-q", "--as-is", "--model", "model.json", "--out", "result.parquet")
    expected = pd.read_parquet("result.parquet").filter(like="mass_").to_numpy()
    options = []
    if not header:
        options = ["--no-header"]
        write("named.csv", table)
        with open("named.csv", encoding="utf-8") as source, open("data.csv", "w", encoding="utf-8") as file:
            file.writelines(source.readlines()[1:])
    for n_rows in (50_000, 30, 1):
        monkeypatch.setattr("evlearn.command_line.tables._CHUNK_ROWS", n_rows)
        run("predict", "model.json", "data.csv", *options, "-q", "--out", "again.parquet")
        masses = pd.read_parquet("again.parquet").filter(like="mass_").to_numpy()
        assert np.abs(masses - expected).max() <= 1e-6  # the fit has converged
    with open("data.csv", encoding="utf-8") as source:
        lines = source.readlines()
    with open("alone.csv", "w", encoding="utf-8") as file:  # a column in which all cells are missing
        file.writelines([*lines[:1], lines[8]] if header else lines[7:8])
    run("predict", "model.json", "alone.csv", *options, "-q", "--out", "alone.parquet")
    single_row = pd.read_parquet("alone.parquet").filter(like="mass_").to_numpy()
    assert np.abs(single_row - masses[[7]]).max() <= 1e-9
