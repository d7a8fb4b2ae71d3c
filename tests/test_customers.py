"""Complete workflow: from a table of customers to clusters, a report, and next month's scores."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline

import evlearn
from customers import make_customers
from evlearn.cluster import CCM, ECM
from evlearn.preprocessing import TableEncoder

CLEAR = 0.9  # adjusted Rand index of customers that are not between segments


def this_month(n_samples):
    return make_customers(n_samples, n_between=n_samples // 25, n_odd=n_samples // 100)


def next_month(n_samples):
    """Return further customers, some with unseen categories, and one without any values."""
    table, kinds = make_customers(n_samples, n_between=n_samples // 25, n_odd=n_samples // 100, random_state=1)
    table.index = pd.Index([f"N-{number:05d}" for number in range(n_samples)], name="customer")
    table.iloc[3, table.columns.get_loc("contract")] = "trial"
    table.iloc[4, table.columns.get_loc("region")] = "abroad"
    table["newsletter"] = table["newsletter"].astype(object)
    table.iloc[5] = None
    return table[table.columns[::-1]], kinds


def evlearn_command(folder, *arguments):
    command = [sys.executable, "-m", "evlearn", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)


def check_verdicts(assignments, kinds):
    """Return True if customers that are odd or between segments are distinguished from the others."""
    clear = ~np.isin(kinds, ["between", "odd"])
    odd = assignments == "outlier"
    torn = assignments.str.contains("|", regex=False) | (assignments == "any")
    assert odd[kinds == "odd"].mean() > 0.7
    assert odd[clear].mean() < 0.02
    assert torn[kinds == "between"].mean() > 2 * torn[clear].mean()
    return torn | odd


@pytest.mark.slow
@pytest.mark.parametrize("n_samples", [400, 5000])
def test_by_the_command_line(n_samples, tmp_path):
    table, kinds = this_month(n_samples)
    later, later_kinds = next_month(n_samples // 4)
    table.to_csv(tmp_path / "customers.csv")
    later.to_csv(tmp_path / "next_month.csv")
    files = ["--out", "result.csv", "--report", "report.html", "--review", "review.csv", "--model", "model.json"]
    output = evlearn_command(tmp_path, "cluster", "customers.csv", "-k", 4, "--names", "customer", *files)
    assert f"{n_samples} samples, 4 clusters" in output.stdout
    assert "contract: 3 categories" in output.stderr
    result = pd.read_csv(tmp_path / "result.csv")
    assert result["sample"].tolist() == table.index.tolist()
    clear = ~np.isin(kinds, ["between", "odd"])
    assert adjusted_rand_score(kinds[clear], result["cluster"][clear]) > CLEAR
    to_look_at = check_verdicts(result["assignment"], kinds)
    review = pd.read_csv(tmp_path / "review.csv")
    assert set(review["sample"]) == set(result["sample"][to_look_at])
    assert "income" in (tmp_path / "report.html").read_text(encoding="utf-8")
    options = ["--names", "customer", "--out", "scores.csv", "--report", "next.html", "--review", "next.csv"]
    evlearn_command(tmp_path, "predict", "model.json", "next_month.csv", *options)
    scores = pd.read_csv(tmp_path / "scores.csv")
    assert scores["sample"].tolist() == later.index.tolist()
    assert not (scores["assignment"] == "unknown").any()
    clear = ~np.isin(later_kinds, ["between", "odd"])
    clear[5] = False
    assert adjusted_rand_score(later_kinds[clear], scores["cluster"][clear]) > CLEAR
    assert scores["assignment"][5] == "any"  # a customer without any values
    check_verdicts(scores["assignment"].drop(5), np.delete(later_kinds, 5))


SCORE = """
import sys
import pandas as pd
import evlearn

model, table, out = sys.argv[1:]
later = pd.read_csv(table, index_col="customer")
evlearn.predict_mass(evlearn.load_model(model), later).save(out)
"""


def test_every_customer_of_next_month_gets_one_row(tmp_path):
    table, _ = this_month(250)
    later, _ = next_month(60)
    model = make_pipeline(TableEncoder(), CCM(4, random_state=0)).fit(table)
    evlearn.save_model(model, tmp_path / "model.json")
    scores = evlearn.predict_mass(evlearn.load_model(tmp_path / "model.json"), later)
    frame = scores.to_frame()
    assert frame.index.equals(later.index)
    assert frame["cluster"].notna().all()
    assert scores[5].verdict().candidates.all()  # a customer without any values
    assert np.array_equal(scores.masses, evlearn.predict_mass(model, later).masses)


@pytest.mark.slow
@pytest.mark.parametrize("n_samples", [400, 5000])
def test_in_python(n_samples, tmp_path):
    table, kinds = this_month(n_samples)
    later, _ = next_month(n_samples // 4)
    model = make_pipeline(TableEncoder(), CCM(4, random_state=0)).fit(table)
    partition = evlearn.predict_mass(model, table)
    assert np.array_equal(partition.masses, model[-1].masses_)
    clear = ~np.isin(kinds, ["between", "odd"])
    assert adjusted_rand_score(kinds[clear], partition.to_hard()[clear]) > CLEAR
    verdict = partition.verdict()
    review = tmp_path / "review.csv"
    page = evlearn.report(model, table, tmp_path / "report.html", review_path=review)
    assert page.stat().st_size < 3e6
    assert set(pd.read_csv(review)["sample"]) == set(table.index[~verdict.sure])
    evlearn.save_model(model, tmp_path / "model.json")
    later.to_csv(tmp_path / "next_month.csv")
    files = [tmp_path / name for name in ("model.json", "next_month.csv", "masses.npz")]
    subprocess.run([sys.executable, "-c", SCORE, *map(str, files)], check=True)
    loaded = evlearn.CredalPartition.load(files[-1])
    expected = evlearn.predict_mass(model, pd.read_csv(files[1], index_col="customer"))
    assert loaded.sample_names == tuple(later.index)
    assert np.array_equal(loaded.masses, expected.masses)
    assert len(loaded) == len(later)
    assert loaded[5].verdict().candidates.all()


def polars_of(frame):
    return pl.from_pandas(frame.reset_index())


def arrow_of(frame):
    return pa.Table.from_pandas(frame.reset_index(), preserve_index=False)


@pytest.mark.slow
@pytest.mark.parametrize("convert", [polars_of, arrow_of], ids=["polars", "pyarrow"])
def test_tables_of_other_libraries_lead_to_the_same_clusters_and_page(convert, tmp_path):
    table, _ = this_month(300)
    later, _ = next_month(80)
    later["newsletter"] = later["newsletter"].astype("boolean")
    later["joined"] = pd.to_datetime(later["joined"])
    model = make_pipeline(TableEncoder(), ECM(4, random_state=0))
    expected = evlearn.predict_mass(model.fit(table.reset_index()), later.reset_index())
    other = make_pipeline(TableEncoder(), ECM(4, random_state=0)).fit(convert(table))
    assert np.array_equal(evlearn.predict_mass(other, convert(later)).masses, expected.masses)
    assert evlearn.predict_mass(other, convert(table)) == other[-1].credal_partition_
    pages = [
        evlearn.report(estimator, frame, tmp_path / "x.html", review_path=tmp_path / f"{k}.csv")
        for k, (estimator, frame) in enumerate([(model, table.reset_index()), (other, convert(table))])
    ]
    assert "contract" in pages[1].read_text(encoding="utf-8")
    first, second = (pd.read_csv(tmp_path / f"{k}.csv") for k in range(2))
    assert len(first) == len(second) > 0
    pd.testing.assert_frame_equal(first, second)
