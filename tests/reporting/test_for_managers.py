"""Tests of reports for readers who do not program: names, sentences, plain numbers and samples to review."""

import base64
import csv
import io
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import evlearn
from customers import make_customers
from evlearn import CredalPartition
from evlearn.belief import FocalSets
from evlearn.cluster import CCM, ECM
from evlearn.explain import explain_clusters
from evlearn.preprocessing import TableEncoder
from evlearn.reporting import pictures
from evlearn.reporting.samples import Samples, review_table
from reporting.test_report import HOSTILE, Reader

FRAME, KINDS = make_customers(800, n_between=40, n_odd=12, random_state=2)
NAMES = ["Students", "Families", "Pensioners", "Professionals"]


def name_clusters(model, frame, kinds):
    """Return names for the clusters of a model: the kind of most of their customers."""
    table = pd.crosstab(kinds, model[-1].labels_).drop(["between", "odd"])
    return [table[k].idxmax().capitalize() for k in range(4)]


def columns():
    return make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), ["income", "age", "orders"]),
        (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), ["contract", "region"]),
        ("passthrough", ["newsletter"]),
        sparse_threshold=0,
    )


@pytest.fixture(scope="module")
def model():
    return make_pipeline(TableEncoder(missing="impute"), CCM(4, random_state=0)).fit(FRAME)


@pytest.fixture(scope="module")
def files(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("managers")
    names = name_clusters(model, FRAME, KINDS)
    page = evlearn.report(
        model, FRAME, folder / "customers.html", cluster_names=names, review_path=folder / "look.csv"
    )
    return page, folder / "look.csv"


@pytest.fixture(scope="module")
def reader(files):
    return Reader(files[0].read_text(encoding="utf-8"))


def test_the_main_part_has_no_technical_terms(reader):
    main = " ".join(reader.main).lower()
    for word in (
        "prototype",
        "nonspecific",
        "approximation",
        "mass",
        "belief",
        "plausib",
        "focal",
        "objective",
        "∅",
        "pl(",
    ):
        assert word not in main, word
    assert "mass" in " ".join(reader.texts).lower()  # in the appendix


def test_no_number_has_an_exponent_and_nothing_is_nan(reader):
    for text in reader.main:
        assert not re.search(r"\d[eE][+-]?\d", text), text
        assert not re.search(r"\bnan\b|\bNone\b|NaT|<NA>|\binf\b", text), text
    assert any(re.search(r"\d\d,\d00\b", text) for text in reader.main)


def test_clusters_have_names_and_differences_in_the_terms_of_the_table(reader):
    assert set(NAMES) <= set(reader.headings)
    text = "".join(reader.main)
    assert re.search(r"contract: 8\d % monthly \(all: \d\d %\)", text)
    assert re.search(r"age: typically (6|7)\d \(all: 3\d\)", text)
    assert re.search(r"joined: (typically|mostly) \w+ 20\d\d", text)


def test_torn_customers_and_outliers_have_reasons(reader, model):
    verdict = evlearn.partition.estimators.partition_of(model, FRAME).verdict()
    assert f"{verdict.torn.sum()}" in reader.main
    reasons = [text for text in reader.main if text.startswith("For ")]
    assert len(reasons) == min(20, verdict.torn.sum())
    unusual = [text for text in reader.main if text.startswith("Unusual: ")]
    n_combinations = reader.main.count("No single value is unusual, but the combination is.")
    assert len(unusual) + n_combinations == verdict.outlier.sum() > 5
    assert n_combinations <= 2


def test_the_review_table_is_in_the_page_and_in_its_own_file(files, reader):
    (link,) = [source for source in reader.fetched if source.startswith("data:text/csv")]
    embedded = base64.b64decode(link.partition("base64,")[2])
    assert embedded == files[1].read_bytes()
    assert embedded.startswith(b"\xef\xbb\xbf")  # spreadsheets recognize UTF-8 by it
    rows = list(csv.DictReader(io.StringIO(embedded.decode("utf-8-sig"), newline="")))
    assert list(rows[0]) == ["sample", "verdict", "may be in", "doubt", "outlier score", "why", *FRAME.columns]
    for row in rows:
        customer = FRAME.loc[row["sample"]]
        assert row["joined"] == str(customer["joined"].date())
        assert row["income"] == ("" if np.isnan(customer["income"]) else f"{customer['income']:.0f}")
        assert row["contract"] == ("" if pd.isna(customer["contract"]) else customer["contract"])
        assert row["why"].startswith("May be in " if row["verdict"] == "torn" else "Fits no cluster.")


def test_outliers_with_doubt_0_come_first_and_are_not_cut_by_a_limit():
    masses = [[0, 0.1, 0.1, 0.8], [0, 0.5, 0.4, 0.1], [0.95, 0.05, 0, 0], [0, 0.2, 0.2, 0.6], [0.99, 0, 0.01, 0]]
    samples = Samples.from_table(CredalPartition(masses, FocalSets.full(2)), None, None)
    assert (CredalPartition(masses, FocalSets.full(2)).doubt()[[2, 4]] == 0).all()

    def read_table(limit):
        text = review_table(samples, limit).decode("utf-8-sig")
        return [(row["sample"], row["verdict"]) for row in csv.DictReader(io.StringIO(text, newline=""))]

    outliers = [("4", "outlier"), ("2", "outlier")]
    assert read_table(None) == [*outliers, ("0", "torn"), ("3", "torn"), ("1", "torn")]
    assert read_table(3) == [*outliers, ("0", "torn")]
    assert read_table(2) == outliers
    assert read_table(1) == outliers[:1]


@pytest.mark.slow
def test_no_cell_of_the_review_table_is_a_formula(tmp_path):
    frame = pd.DataFrame(
        {"=cmd": ["=1+2", "+x", "-3", "@y"] * 5, "x": np.arange(20.0)}, index=["=HYPERLINK()"] * 20
    )
    partition = CredalPartition.from_fuzzy(np.full((20, 2), 0.5))
    evlearn.report(partition, frame, tmp_path / "x.html", review_path=tmp_path / "x.csv")
    head, *rows = csv.reader(io.StringIO((tmp_path / "x.csv").read_text(encoding="utf-8-sig"), newline=""))
    assert "'=cmd" in head
    assert {row[0] for row in rows} == {"'=HYPERLINK()"}
    assert {row[6] for row in rows} == {"'=1+2", "'+x", "-3", "'@y"}


@pytest.mark.slow
def test_a_column_transformer_does_not_affect_the_text(tmp_path):
    model = make_pipeline(columns(), ECM(4, random_state=0)).fit(FRAME)
    reader = Reader(evlearn.report(model, FRAME, tmp_path / "x.html").read_text(encoding="utf-8"))
    text = "".join(reader.main)
    assert "contract" in text
    assert re.search(r"income: (typically|mostly) \d\d,000", text)
    assert "onehotencoder" not in text
    assert len(reader.pictures) >= 3


@pytest.mark.slow
def test_a_partition_is_reported_with_any_table(tmp_path):
    kinds = np.where(np.isin(KINDS, ["between", "odd"]), "students", KINDS.astype(str))
    reader = Reader(
        evlearn.report(CredalPartition.from_hard(kinds), FRAME, tmp_path / "x.html").read_text(encoding="utf-8")
    )
    assert {name.capitalize() for name in kinds} <= set(reader.headings)
    assert "None: no sample is torn or an outlier." in reader.main
    assert any("The map shows" in caption for caption in reader.pictures)
    assert "method" not in reader.cells


def test_a_partition_alone_is_reported_without_profiles(tmp_path):
    partition = CredalPartition.from_fuzzy([[0.9, 0.1], [0.5, 0.5], [0, 1], [0, 0]], sample_names=list("abcd"))
    reader = Reader(evlearn.report(partition, None, tmp_path / "x.html").read_text(encoding="utf-8"))
    assert "Map of the samples" not in reader.headings
    assert "Side by side" not in reader.headings
    assert "b" in reader.cells
    assert "Fit no cluster" in reader.headings


def test_clusterers_of_scikit_learn_are_reported(tmp_path):
    X = FRAME[["age", "orders"]].fillna(0)
    model = make_pipeline(StandardScaler(), KMeans(3, n_init=2, random_state=0)).fit(X)
    reader = Reader(evlearn.report(model, X, tmp_path / "x.html").read_text(encoding="utf-8"))
    assert "KMeans" in reader.cells
    assert "800" in reader.main


@pytest.mark.slow
def test_hostile_names_and_categories_are_text_everywhere(tmp_path):
    random = np.random.default_rng(0)
    labels = np.repeat([0, 1], 30)
    frame = pd.DataFrame(
        {
            "<img src=x onerror=alert(1)>": np.where(labels, "<script>alert(2)</script>", "</td></table>"),
            "</style><script>alert(3)</script>": labels * 5 + random.normal(size=60),
            HOSTILE[0]: random.normal(size=60) + labels,
        },
        index=[f"{HOSTILE[k % 10]}<b>{k}</b>" for k in range(60)],
    )
    memberships = np.column_stack([1 - labels, labels]).astype(float)
    memberships[:5] = 0.5
    memberships[5:8] = 0
    partition = CredalPartition.from_fuzzy(memberships, cluster_names=['"><script>alert(4)</script>', "&amp;"])
    text = evlearn.report(partition, frame, tmp_path / "x.html", title="</title><script>").read_text(
        encoding="utf-8"
    )
    reader = Reader(text)  # fails for script tags and wrong nesting
    assert not reader.open
    assert not re.search(r"<script|<img src=x", text)
    assert any("<script>alert(2)</script>" in text_part for text_part in reader.main)
    assert "&amp;" in reader.headings


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"path": "x.pdf"},
            r"path must end in \.html or \.htm, got '.*x\.pdf'; for a PDF, open the page in a browser",
        ),
        ({"path": "x.html", "review_path": "x.xlsx"}, r"review_path must end in \.csv"),
        ({"path": "x.html", "cluster_names": ["a"]}, "1"),
    ],
)
def test_invalid_arguments_are_refused_before_writing(tmp_path, arguments, message):
    options = {name: tmp_path / value if name.endswith("path") else value for name, value in arguments.items()}
    with pytest.raises(ValueError, match=message):
        evlearn.report(CredalPartition.from_hard([0, 1, 1]), None, **options)
    assert not list(tmp_path.iterdir())


def view_of(values, partition):
    samples = Samples.from_table(partition, None, values)
    points, _, _ = pictures._project(values, None, samples.verdict.outlier)
    low, high = pictures._view_limits(points, samples.verdict.outlier)
    return points, low, high


@pytest.mark.parametrize("is_outlier", [True, False], ids=["outliers", "members"])
def test_outliers_do_not_determine_the_view_of_the_map(is_outlier):
    random = np.random.default_rng(0)
    values = random.normal(size=(1000, 6))
    values[:10] *= 1e6
    memberships = np.ones((1000, 1))
    memberships[:10] = 0 if is_outlier else 1
    points, low, high = view_of(values, CredalPartition.from_fuzzy(memberships))
    bulk = points[10:]
    is_visible = ((points >= low) & (points <= high)).all(axis=1)
    assert is_visible[10:].mean() > 0.98
    # They fill most of the map.
    assert (np.ptp(bulk, axis=0) > 0.5 * (high - low)).all()
    assert not is_visible[:10].all()


def test_the_map_contains_all_samples_if_none_is_extreme():
    values = np.random.default_rng(0).uniform(size=(500, 3))
    points, low, high = view_of(values, CredalPartition.from_hard(np.zeros(500, dtype=int)))
    assert ((points >= low) & (points <= high)).all()


def test_the_caption_counts_samples_at_the_edge(tmp_path):
    X = np.random.default_rng(0).normal(size=(200, 2))
    X[0] = 50, 50
    memberships = np.ones((200, 1))
    memberships[0] = 0
    partition = CredalPartition.from_fuzzy(memberships)
    reader = Reader(evlearn.report(partition, X, tmp_path / "x.html").read_text(encoding="utf-8"))
    assert any("1 sample is outside the map; it is drawn" in caption for caption in reader.pictures)


def test_missing_values_do_not_prevent_the_map(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 4))
    X[::7, 1] = np.nan
    X[:, 3] = np.nan
    partition = CredalPartition.from_hard(np.repeat([0, 1], 30))
    reader = Reader(evlearn.report(partition, X, tmp_path / "x.html").read_text(encoding="utf-8"))
    assert any("The map shows" in caption for caption in reader.pictures)
    assert "feature 3" in reader.cells  # with the reason for its exclusion
    assert "no values" in reader.cells


@pytest.mark.slow
def test_five_thousand_customers_from_a_raw_table_to_a_report(tmp_path):
    frame, kinds = make_customers(5000)
    model = make_pipeline(TableEncoder(missing="impute"), CCM(4, random_state=0)).fit(frame)
    partition = model[-1].credal_partition_
    clear, verdict = ~np.isin(kinds, ["between", "odd"]), partition.verdict()
    assert adjusted_rand_score(kinds[clear], partition.to_hard()[clear]) > 0.9
    assert verdict.outlier[kinds == "odd"].mean() > 0.8
    assert verdict.outlier[clear].mean() < 0.02
    assert verdict.torn[kinds == "between"].mean() > 5 * verdict.torn[clear].mean()
    names = name_clusters(model, frame, kinds)
    assert sorted(names) == sorted(NAMES)
    explanation = explain_clusters(model, frame, cluster_names=names)
    assert len(explanation.torn) == verdict.torn.sum()
    page = evlearn.report(model, frame, tmp_path / "c.html", cluster_names=names, review_path=tmp_path / "c.csv")
    reader = Reader(page.read_text(encoding="utf-8"))
    assert set(names) <= set(reader.headings)
    assert page.stat().st_size < 3e6
    review = pd.read_csv(tmp_path / "c.csv", index_col="sample")
    assert set(review.index) == set(frame.index[~verdict.sure])
    following, _ = make_customers(500, random_state=9)
    scored = evlearn.predict_mass(model, following).to_frame()
    assert scored.index.equals(following.index)
