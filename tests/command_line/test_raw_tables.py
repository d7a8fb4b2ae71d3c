"""The command `evlearn` with raw tables: categories, dates, missing values, and a result for every row."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.impute import SimpleImputer
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import evlearn
from evlearn.cluster import CCM, CECM
from evlearn.command_line import commands, main, tables
from evlearn.constraints import PairwiseConstraints
from evlearn.model_selection import ParameterSelection
from evlearn.preprocessing import TableEncoder

N_ODD = 40


def customers(n, seed):
    """Return customers of 4 segments, with missing values; the first N_ODD customers have random values."""
    random = np.random.default_rng(seed)
    segment = random.integers(4, size=n)
    plans = np.array(["basic", "plus", "pro", "max"], dtype=object)
    frame = pd.DataFrame(
        {
            "customer_id": [f"C{seed}-{k:05d}" for k in range(n)],
            "income": np.exp(random.normal(9.5 + 0.6 * segment, 0.2)).round(),
            "age": (30 + 10 * (segment % 3) + random.normal(0, 4, n)).round(),
            "orders": random.poisson(3 + 4 * (segment % 2)),
            "basket": (20 + 15 * segment + random.normal(0, 5, n)).round(2),
            "plan": plans[np.where(random.random(n) < 0.85, segment, random.integers(4, size=n))],
            "region": random.choice(np.array(["north", "south", "east"], dtype=object), n),
            "newsletter": random.random(n) < 0.2 + 0.2 * (segment % 2),
            "since": np.datetime64("2020-01-01") + random.integers(2000, size=n).astype("timedelta64[D]"),
        }
    )
    for column, low, high in (("age", 18, 120), ("orders", 0, 40), ("basket", 5, 200), ("income", 1e5, 4e5)):
        frame.loc[: N_ODD - 1, column] = random.integers(low, high, size=N_ODD)
    for column in ("income", "age", "plan", "region", "basket"):
        frame.loc[random.random(n) < 0.05, column] = np.nan
    return frame, segment


def run(*arguments):
    return main([str(argument) for argument in arguments])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_raw_table_is_encoded_and_described(folder, capsys):
    table, _ = customers(200, 0)
    table.to_csv("table.csv", index=False)
    assert (
        run("cluster", "table.csv", "-m", "ccm", "-k", 3, "--names", "customer_id", "--model", "model.json") == 0
    )
    messages = capsys.readouterr().err
    assert "evlearn: plan: 4 categories" in messages
    assert "evlearn: since: dates from" in messages
    model = evlearn.load_model("model.json")
    expected = make_pipeline(TableEncoder(), CCM(3, random_state=0)).fit(table.drop(columns="customer_id"))
    assert np.array_equal(model.predict(table), expected.predict(table))
    table.to_parquet("table.parquet")
    assert run("predict", "model.json", "table.parquet", "-q", "--out", "from_parquet.csv") == 0
    assert run("predict", "model.json", "table.csv", "-q", "--out", "from_csv.csv") == 0
    pd.testing.assert_frame_equal(pd.read_csv("from_parquet.csv"), pd.read_csv("from_csv.csv"))


def test_ordered_categories_of_parquet_files_keep_their_order(folder, monkeypatch):
    monkeypatch.setattr("evlearn.command_line.tables._CHUNK_ROWS", 30)
    random = np.random.default_rng(0)
    names = ["low", "middle", "high", "never"]
    codes = random.integers(3, size=100)
    codes[::9] = -1
    grades = pd.Categorical.from_codes(codes, names, ordered=True)
    table = pd.DataFrame({"value": codes + random.normal(size=100), "grade": grades})
    (folder / "parts").mkdir()
    for part, rows, categories in (("a", slice(0, 50), names), ("b", slice(50, 100), names[:3])):
        frame = table[rows].assign(grade=grades[rows].set_categories(categories))
        frame.to_parquet(f"parts/{part}.parquet", index=False)
    assert run("cluster", "parts", "-m", "ccm", "-k", 2, "-q", "--model", "model.json") == 0
    model = evlearn.load_model("model.json")
    expected = make_pipeline(TableEncoder(), CCM(2, random_state=0)).fit(table)
    assert model[0].columns_ == expected[0].columns_
    assert model[0].columns_[1]["kind"] == "ordered"
    assert model[0].columns_[1]["categories"] == names[:3]
    assert run("predict", "model.json", "parts", "-q", "--out", "predicted.csv") == 0
    np.testing.assert_array_equal(pd.read_csv("predicted.csv")["cluster"], expected.predict(table))


def test_an_undeclared_identifier_is_left_out(folder, capsys):
    table, _ = customers(100, 0)
    table.assign(customer_id=np.arange(100)).to_csv("table.csv", index=False)
    assert run("cluster", "table.csv", "-k", 2) == 0
    assert "customer_id: left out" in capsys.readouterr().err


def test_columns_of_results_have_plain_names(folder):
    table, _ = customers(200, 0)
    table.to_csv("table.csv", index=False)
    assert run("cluster", "table.csv", "-k", 3, "-q", "--set", "focal_sets=full", "--out", "plain.csv") == 0
    masses = ["none", "0", "1", "2", "0_1", "0_2", "1_2", "any"]
    plain = pd.read_csv("plain.csv")
    assert list(plain) == [
        "sample",
        "cluster",
        "assignment",
        "doubt",
        "outlier_score",
        *(f"mass_{name}" for name in masses),
    ]
    assert (folder / "plain.csv").read_text(encoding="utf-8").isascii()
    arguments = ["-k", 3, "-q", "--set", "focal_sets=full", "--notation", "sets", "--out", "sets.csv"]
    assert run("cluster", "table.csv", *arguments) == 0
    sets = pd.read_csv("sets.csv")
    assert np.array_equal(sets.iloc[:, 3:], plain.iloc[:, 3:])
    words = {"Ω": "any", "outlier": "outlier"}
    assignments = [words.get(text, text.strip("{}").replace(",", "|")) for text in sets["assignment"]]
    assert assignments == plain["assignment"].tolist()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_rows_that_the_model_does_not_accept_are_unknown(folder, ending, capsys):
    holes = pd.DataFrame(load_iris().data, columns=list("abcd"))
    evlearn.save_model(CECM(3, random_state=0).fit(holes), "model.json")
    holes.iloc[[0, 1, 149], 2] = np.nan
    holes.to_csv("holes.csv", index=False)
    assert run("predict", "model.json", "holes.csv", "--out", f"result.{ending}") == 0
    assert "unknown         3" in capsys.readouterr().err
    result = pd.read_csv("result.csv") if ending == "csv" else pd.read_parquet("result.parquet")
    assert len(result) == 150
    assert np.flatnonzero(result["assignment"] == "unknown").tolist() == [0, 1, 149]
    assert result.loc[[0, 1, 149], ["cluster", "doubt", "mass_none"]].isna().all().all()
    assert result["cluster"].notna().sum() == 147
    holes.iloc[:, 2] = np.nan
    holes.to_csv("holes.csv", index=False)
    assert run("predict", "model.json", "holes.csv", "-q", "--out", f"nothing.{ending}") == 0
    all_missing = pd.read_csv("nothing.csv") if ending == "csv" else pd.read_parquet("nothing.parquet")
    assert all_missing["assignment"].tolist() == ["unknown"] * 150


def test_unknown_rows_keep_their_position_in_any_chunk(folder, monkeypatch):
    X = load_iris().data
    evlearn.save_model(CECM(3, random_state=0).fit(X), "model.json")
    holes = pd.DataFrame(X, columns=list("abcd"))
    holes.iloc[[*range(70), 149], 2] = np.nan
    holes.to_csv("holes.csv", index=False)
    assert run("predict", "model.json", "holes.csv", "-q", "--out", "once.csv") == 0
    monkeypatch.setattr("evlearn.command_line.tables._CHUNK_ROWS", 32)
    assert run("predict", "model.json", "holes.csv", "-q", "--out", "chunks.csv") == 0
    pd.testing.assert_frame_equal(pd.read_csv("once.csv"), pd.read_csv("chunks.csv"))
    assert len(pd.read_csv("once.csv")) == 150


def test_a_pipeline_of_scikit_learn_scores_a_file(folder):
    table, _ = customers(300, 0)
    numbers = ["income", "age", "orders", "basket"]
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore"), ["plan", "newsletter"]),
    )
    table.to_csv("table.csv", index=False)
    frame = pd.read_csv("table.csv")
    model = make_pipeline(columns, CCM(4, random_state=0)).fit(frame)
    evlearn.save_model(model, "model.json")
    assert run("predict", "model.json", "table.csv", "-q", "--out", "result.csv") == 0
    assert pd.read_csv("result.csv")["cluster"].tolist() == model.predict(frame).tolist()


@pytest.mark.slow
def test_the_number_of_clusters_is_selected_with_auto(folder, capsys):
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 3)) + 8 * random.integers(3, size=300)[:, None]
    pd.DataFrame(X, columns=["a", "b", "c"]).to_csv("table.csv", index=False)
    assert run("cluster", "table.csv", "-m", "ccm", "--n-clusters", "auto") == 0
    captured = capsys.readouterr()
    assert "300 samples, 3 clusters" in captured.out
    assert "evlearn: 3 clusters, with" in captured.err


def decide_on(monkeypatch, votes):
    """Set the votes for 2, 3 and 4 clusters in --n-clusters auto."""
    curves = np.eye(3)[np.repeat(np.arange(3), votes)] if sum(votes) else np.full((2, 3), np.nan)
    selection = ParameterSelection("n_clusters", np.arange(2, 5), curves, "share of votes", "largest")
    monkeypatch.setattr(commands, "select_n_clusters", lambda *_, **__: selection)


@pytest.mark.slow
def test_a_weak_vote_is_the_first_line_of_the_result_the_report_and_of_predictions(folder, capsys, monkeypatch):
    pd.DataFrame(load_iris().data, columns=list("abcd")).to_csv("iris.csv", index=False)
    decide_on(monkeypatch, [7, 8, 5])
    options = ["-m", "ccm", "--n-clusters", "auto", "--model", "model.json", "--report", "report.html"]
    assert run("cluster", "iris.csv", *options) == 0
    expected = "Warning: The number of clusters is uncertain: 3 got 40 %, 2 got 35 %, 4 got 25 % of the votes."
    assert capsys.readouterr().out.startswith(expected)
    assert expected in (folder / "report.html").read_text(encoding="utf-8").replace("&nbsp;", " ")
    assert run("predict", "model.json", "iris.csv", "--out", "result.csv") == 0
    lines = capsys.readouterr().err.splitlines()
    place = lines.index("150 samples, 3 clusters")
    assert lines[place - 1].startswith(expected)
    decide_on(monkeypatch, [1, 9, 0])
    assert run("cluster", "iris.csv", *options) == 0
    assert capsys.readouterr().out.startswith("150 samples, 3 clusters")


def test_auto_without_votes_is_an_error(folder, capsys, monkeypatch):
    pd.DataFrame(load_iris().data, columns=list("abcd")).to_csv("iris.csv", index=False)
    decide_on(monkeypatch, [0, 0, 0])
    assert run("cluster", "iris.csv", "-m", "ccm", "--n-clusters", "auto") == 1
    assert "--n-clusters auto: no subsample of the rows supports a number" in capsys.readouterr().err


def test_a_collapse_is_reported_once_in_the_first_line(folder, capsys):
    (folder / "few.csv").write_text("a,b\n0,0\n1,1\n5,5\n")
    assert run("cluster", "few.csv", "-k", 3, "--as-is") == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("Warning: n_samples=3 is not more than n_clusters=3")
    assert "n_samples=3" not in captured.err


def test_one_cluster_with_nearly_all_rows_is_reported_for_rows_in_chunks(folder, capsys, monkeypatch):
    monkeypatch.setattr(tables, "_CHUNK_ROWS", 100)
    random = np.random.default_rng(0)
    X = np.concatenate([random.normal(size=(970, 2)), random.normal(30, size=(30, 2))])
    pd.DataFrame(X, columns=["a", "b"]).to_csv("table.csv", index=False)
    assert run("cluster", "table.csv", "-k", 2, "--as-is") == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert re.match(r"Warning: Cluster \d contains 9\d\d of (1,000|99\d) samples \(97\.\d %\)", first)
    assert "If this is unexpected, check the data" in first


def test_constraints_come_from_a_file_by_name_or_by_number(folder, capsys):
    iris = load_iris()
    table = pd.DataFrame(iris.data, columns=list("abcd"))
    table.insert(0, "name", [f"flower {k}" for k in range(150)])
    table.to_csv("iris.csv", index=False)
    constraints = PairwiseConstraints.sample(iris.target, 30, random_state=0)
    pairs = [
        (*pair, word) for word in ("must", "cannot") for pair in getattr(constraints, f"{word}_link").tolist()
    ]
    lines = [f"flower {a};flower {b};{word}" for a, b, word in pairs]
    (folder / "named.csv").write_text("first;second;kind\n" + "\n".join(lines))
    (folder / "numbered.csv").write_text("\n".join(f"{a},{b},{word}" for a, b, word in pairs))
    expected = CECM(3, random_state=0).fit(iris.data, constraints=constraints).labels_.tolist()
    options = ["-k", 3, "-m", "cecm", "--as-is", "--out", "result.csv"]
    assert run("cluster", "iris.csv", *options, "--names", "name", "--constraints", "named.csv") == 0
    assert pd.read_csv("result.csv")["cluster"].tolist() == expected
    assert f"PairwiseConstraints({constraints.n_must_link} must-link" in capsys.readouterr().err
    assert run("cluster", "iris.csv", *options, "--without", "name", "--constraints", "numbered.csv") == 0
    assert pd.read_csv("result.csv")["cluster"].tolist() == expected


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("0,1,perhaps\n1,2,maybe\n", ["-m", "cecm"], "line 2: must have 2 rows and the word must or cannot"),
        ("0,1\n", ["-m", "cecm"], "line 1: must have 2 rows and the word must or cannot"),
        ("0,x,must\n", ["-m", "evclus"], "'x' is not the name of a row"),
        ("0,1,must\n", ["-m", "ccm"], "--constraints needs --method cecm or evclus, got ccm"),
        (None, ["-m", "cecm"], "the file 'pairs.csv' does not exist"),
    ],
)
def test_invalid_constraints_are_reported(text, options, message, folder, capsys):
    pd.DataFrame(load_iris().data, columns=list("abcd")).to_csv("iris.csv", index=False)
    if text is not None:
        (folder / "pairs.csv").write_text(text)
    assert run("cluster", "iris.csv", "-k", 3, *options, "--constraints", "pairs.csv") == 1
    assert message in capsys.readouterr().err


def written_customers(n, seed):
    """Return customers of 3 groups as people write them, with 4 wrong cells, and their groups."""
    random = np.random.default_rng(seed)
    group = random.integers(3, size=n)
    spend = np.exp(random.normal(np.array([4, 6, 8])[group], 0.3))
    spend[:2] = 999_999
    age = random.normal(np.array([25, 45, 65])[group], 4).round()
    age[2:4] = -3
    last = pd.Timestamp("2026-10-31") - pd.to_timedelta(random.integers(0, 300, n), unit="D")
    channel = np.array(["web", "store", "app"], dtype=object)[group]
    channel[::9] = [random.choice([name.upper(), f" {name}", name.title()]) for name in channel[::9]]
    forms = [lambda v: f"€ {v:,.2f}", lambda v: f"{v:.2f} EUR", lambda v: f"€{v:,.0f}"]
    frame = pd.DataFrame(
        {
            "spend": [forms[random.integers(3)](value) for value in spend],
            "age": age.astype(int),
            "returns": [f"{value:.1f}%" for value in 100 * random.beta(2, np.array([10, 30, 90])[group])],
            "last": last.strftime("%d/%m/%Y"),
            "channel": channel,
        }
    )
    frame[random.random(frame.shape) < 0.03] = None
    return frame, group


def test_amounts_percentages_dates_and_spellings_of_a_file_are_read_as_in_python(folder, monkeypatch, capsys):
    monkeypatch.setattr("evlearn.command_line.tables._CHUNK_ROWS", 70)
    table, _ = written_customers(300, 0)
    table.to_csv("table.csv", index=False)
    assert run("cluster", "table.csv", "-k", 3, "--model", "model.json") == 0
    lines = capsys.readouterr().err.splitlines()
    assert any(line.startswith("evlearn: spend: amounts in EUR from ") for line in lines)
    assert any(line.startswith("evlearn: returns: percentages from ") for line in lines)
    assert any(line.startswith("evlearn: last: dates (day/month/year) from ") for line in lines)
    assert any(line.startswith("evlearn: channel: 3 categories, ") for line in lines)
    assert any(
        line.startswith("evlearn: Check spend: ") and "far above all others (999,999)" in line for line in lines
    )
    assert any(line.startswith("evlearn: Check age: ") and "negative values (-3)" in line for line in lines)
    model = evlearn.load_model("model.json")
    assert model[0].columns_ == TableEncoder().fit(table).columns_
    later, _ = written_customers(200, 1)
    later.to_csv("later.csv", index=False)
    assert run("predict", "model.json", "later.csv", "-q", "--notation", "sets", "--out", "result.csv") == 0
    expected = evlearn.predict_mass(model, later)
    np.testing.assert_allclose(pd.read_csv("result.csv")["doubt"], expected.doubt(), atol=1e-9)
    single_row = evlearn.predict_mass(model, later.iloc[[5]])
    np.testing.assert_allclose(single_row.doubt(), expected.doubt()[[5]], atol=1e-9)


@pytest.mark.parametrize("seed", [0, 1])
def test_nonsense_in_2_percent_of_raw_rows_hides_neither_clusters_nor_itself(folder, seed):
    def soiled(n, seed):
        table, group = written_customers(n, seed)
        random = np.random.default_rng(seed + 50)
        wrong = random.random(n) < 0.02
        wrong[:4] = True  # which have other wrong cells
        nonsense = {
            "spend": ["€ 999,999.00", "€ -500.00", "€ 123,456,789.00"],
            "returns": ["400%", "-90%", "999%"],
        }
        for column, values in nonsense.items():
            table.loc[wrong, column] = random.choice(values, wrong.sum())
        days = pd.to_timedelta(900 * group + random.integers(0, 90, n), unit="D")
        since = (pd.Timestamp("2020-01-01") + days).strftime("%d/%m/%Y")
        return table[["spend", "returns"]].assign(since=since), group, wrong

    def check(result, group, wrong):
        result = pd.read_csv(result)
        assert adjusted_rand_score(group[~wrong], result["cluster"][~wrong]) >= 0.85
        assert (result["assignment"] == "outlier")[wrong].mean() >= 0.9
        assert (result["assignment"] == "outlier")[~wrong].mean() <= 0.02

    table, group, wrong = soiled(1000, seed)
    table.to_csv("table.csv", index=False)
    assert run("cluster", "table.csv", "--clusters", 3, "-q", "--out", "result.csv", "--model", "model.json") == 0
    check("result.csv", group, wrong)
    table, group, wrong = soiled(400, seed + 10)
    table.to_csv("later.csv", index=False)
    assert run("predict", "model.json", "later.csv", "-q", "--out", "predicted.csv") == 0
    check("predicted.csv", group, wrong)


def test_suspicious_columns_are_listed_also_in_wide_tables(folder, capsys):
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.normal(size=(120, 30)), columns=[f"c{k}" for k in range(30)])
    table.loc[7, "c29"] = 1e6
    table.to_csv("table.csv", index=False)
    assert run("cluster", "table.csv", "-k", 2) == 0
    messages = capsys.readouterr().err
    assert "evlearn: c29: numbers" not in messages
    assert "evlearn: Check c29: 1 value far above all others (1,000,000)." in messages


def test_a_few_amounts_among_plain_numbers_are_amounts_and_other_text_is_an_error(folder, capsys):
    random = np.random.default_rng(0)
    table = pd.DataFrame({"price": random.normal(50, 9, 100).round(2), "size": random.normal(size=100)}).astype(
        str
    )
    table.loc[60, "price"] = "€ 51.00"
    table.to_csv("table.csv", index=False)
    assert run("cluster", "table.csv", "-k", 2, "--model", "model.json") == 0
    assert "evlearn: price: amounts in EUR from" in capsys.readouterr().err
    assert run("predict", "model.json", "table.csv", "-q", "--out", "result.csv") == 0
    table.loc[80, "price"] = "ask"
    table.to_csv("table.csv", index=False)
    assert run("cluster", "table.csv", "-k", 2) == 1
    assert "'ask' in column 'price' is not a number" in capsys.readouterr().err
