"""Tests of reports."""

import html
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise_distances
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

import evlearn
from evlearn import CredalPartition
from evlearn.belief import FocalSets
from evlearn.cluster import ECM, EVCLUS, RECM
from evlearn.datasets import load_butterfly
from evlearn.partition.credal_partition import with_problems
from evlearn.reporting.report import write_report
from evlearn.reporting.samples import Samples
from evlearn.utils.formatting import format_rounded


class Reader(HTMLParser):
    """Parser of a page: texts, texts before the appendix, plots and all references."""

    def __init__(self, text):
        super().__init__()
        self.open, self.headings, self.cells, self.pictures, self.fetched = [], [], [], [], []
        self.texts, self.main, self.folded = [], [], False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.folded |= tag == "details"
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)
        if tag == "img":
            self.pictures.append(attributes["alt"])
        self.fetched += [attributes[name] for name in ("src", "href") if name in attributes]
        assert tag not in ("script", "link", "iframe")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        data = data.replace("\xa0", " ")  # which prevents line breaks between numbers and units
        if self.open and self.open[-1] not in ("style", "title"):
            self.texts.append(data)
            self.main += [] if self.folded else [data]
        if self.open and self.open[-1] in ("h1", "h2", "h3", "summary"):
            self.headings.append(data)
        if self.open and self.open[-1] in ("td", "th"):
            self.cells.append(data)


@pytest.fixture(scope="module")
def iris():
    frame = load_iris(as_frame=True).data
    frame.index = [f"flower <{number}> & co" for number in range(len(frame))]
    return frame


@pytest.fixture(scope="module")
def model(iris):
    return ECM(3, delta=3, random_state=0).fit(iris)


@pytest.fixture(scope="module")
def text(model, iris, tmp_path_factory):
    path = evlearn.report(model, iris, tmp_path_factory.mktemp("report") / "iris.html", title="Irises & <more>")
    return path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_page_is_complete_and_has_no_external_resources(text):
    reader = Reader(text)
    assert not reader.open
    assert len(text) < 3e6
    assert reader.fetched
    assert all(source.startswith(("data:image/png;base64,", "data:text/csv;base64,")) for source in reader.fetched)
    assert not re.search(r"https?:|url\(|@import", text)


def test_all_parts_are_present(text):
    reader = Reader(text)
    assert reader.headings == [
        "Irises & <more>",
        "Summary",
        "The clusters",
        "Cluster 0",
        "Cluster 1",
        "Cluster 2",
        "Side by side",
        "Map of the samples",
        "Samples to review",
        "Torn between clusters",
        "Fit no cluster",
        "Technical appendix",
        "Clusters in numbers",
        "Doubt in numbers",
        "Parameters and versions",
    ]
    assert len(reader.pictures) == 4
    for name in ("sepal length (cm)", "petal width (cm)", "n_clusters", "random_state"):
        assert name in reader.cells
    assert evlearn.__version__ in text


def test_the_most_doubtful_torn_samples_are_listed_by_name(model, text):
    reader = Reader(text)
    partition = model.credal_partition_
    torn = np.flatnonzero(partition.verdict().torn)
    doubtful = torn[np.argsort(-partition.doubt()[torn], kind="stable")]
    names = [cell for cell in reader.cells if cell.startswith("flower")]
    # Once with supporting values, and once with numbers.
    assert names == 2 * [f"flower <{number}> & co" for number in doubtful[:20]]
    assert "doubt" in reader.cells
    reasons = [cell for cell in reader.cells if cell.startswith("For cluster")]
    assert len(reasons) == len(doubtful[:20]) > 10
    assert all("petal" in reason or "sepal" in reason for reason in reasons)


@pytest.mark.slow
def test_the_level_determines_the_sure_samples_and_is_on_the_page(model, iris, tmp_path):
    partition = model.credal_partition_
    level = partition.find_level(torn_share=0.1)
    text = evlearn.report(model, iris, tmp_path / "iris.html", level=level).read_text(encoding="utf-8")
    summary = partition.summary(level)
    assert summary.n_torn <= 15
    assert f"Of 150 samples, {summary.n_sure} " in text
    assert f"at least {100 * level:.3g}&nbsp;% of the evidence supports that cluster alone" in text
    counts = partition.verdict(level).candidates.sum(axis=0)
    cells = Reader(text).cells
    rows = [cells.index(name, cells.index("possible")) for name in ("0", "1", "2")]
    assert [int(cells[row + 2]) for row in rows] == counts.tolist()
    with pytest.raises(ValueError, match="level must be a number above 0 and at most 1, got 2"):
        evlearn.report(model, iris, tmp_path / "iris.html", level=2)


def test_samples_may_be_torn_between_clusters_without_a_focal_set(tmp_path):
    memberships = [[0.4, 0.3, 0.3, 0], [0, 0, 0.5, 0.5]]
    partition = CredalPartition.from_fuzzy(memberships, cluster_names=["a", "b", "c", "d"])
    samples = Samples.from_table(partition, np.zeros((2, 1)), np.zeros((2, 1)))
    text = write_report(EVCLUS(4), samples, tmp_path / "x.html").read_text(encoding="utf-8")
    assert "1 between a, b and c" in text
    assert "1 between c and d" in text


def test_the_summary_has_counts_in_sentences(tmp_path):
    candidates = [[1, 0, 0]] * 5 + [[1, 0, 1]] * 2 + [[1, 1, 1]]
    samples = Samples.from_table(CredalPartition.from_rough(candidates), np.zeros((8, 1)), np.zeros((8, 1)))
    text = write_report(EVCLUS(3), samples, tmp_path / "x.html").read_text(encoding="utf-8")
    assert "Of 8 samples, 5 (62&nbsp;%) clearly belong to one of 3 clusters" in text
    assert "3 (38&nbsp;%) are torn: 2 between clusters 0 and 2; 1 between all clusters." in text
    assert "No sample is an outlier." in text


def test_problems_of_the_fit_come_first(tmp_path):
    problem = "The number of clusters is uncertain: 2 got 35 % of the votes."
    partition = with_problems(CredalPartition.from_hard(np.arange(300) > 298), (problem,))
    path = evlearn.report(partition, np.zeros((300, 1)), tmp_path / "x.html")
    reader = Reader(path.read_text(encoding="utf-8"))
    subtitle, largest, fit, heading = [text for text in reader.texts if text.strip()][1:5]
    assert subtitle.startswith("300 samples")
    assert largest.startswith("Warning: Cluster 0 contains 299 of 300 samples (99.7 %). If this is unexpected")
    assert fit == f"Warning: {problem}"
    assert heading == "Summary"


@pytest.mark.slow
def test_outliers_are_listed(tmp_path):
    X = load_butterfly().data
    path = evlearn.report(ECM(2, delta=5, random_state=0).fit(X), X, tmp_path / "butterfly.html", n_rows=3)
    reader = Reader(path.read_text(encoding="utf-8"))
    assert any("outliers, which fit no cluster" in part for part in reader.texts)
    assert any(cell.startswith("Unusual: feature 1 is ") for cell in reader.cells)
    assert "11" in reader.cells
    assert "feature 1" in reader.cells


@pytest.mark.parametrize("library", [pd, pl, np])
@pytest.mark.slow
def test_arrays_and_frames_of_both_libraries_are_reported(library, iris, tmp_path):
    data = {pd: iris, pl: pl.DataFrame(iris.reset_index(drop=True)), np: iris.to_numpy()}[library]
    path = evlearn.report(ECM(3, random_state=0).fit(data), data, tmp_path / "x.html")
    name = "feature 0" if library is np else "sepal length (cm)"
    assert name in Reader(path.read_text(encoding="utf-8")).cells


@pytest.mark.slow
def test_dissimilarities_have_no_features_to_show(iris, tmp_path):
    D = pairwise_distances(iris)
    for model in (EVCLUS(3, metric="precomputed", random_state=0), RECM(3, metric="precomputed", random_state=0)):
        path = evlearn.report(model.fit(D), D, tmp_path / "d.html")
        reader = Reader(path.read_text(encoding="utf-8"))
        assert not any("feature" in cell for cell in reader.cells)
        assert len(reader.pictures) >= 2


@pytest.mark.slow
def test_new_samples_and_a_single_feature_are_reported(model, iris, tmp_path):
    path = evlearn.report(model, iris[:40], tmp_path / "new.html")
    assert "Of 40 samples" in path.read_text(encoding="utf-8")
    column = iris.to_numpy()[:, 2:3]
    path = evlearn.report(ECM(2, random_state=0).fit(column), column, tmp_path / "one.html")
    assert "Of 150 samples" in path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_report_needs_a_fitted_estimator_and_an_existing_folder(model, iris, tmp_path):
    with pytest.raises(NotFittedError):
        evlearn.report(ECM(3), iris, tmp_path / "x.html")
    with pytest.raises(FileNotFoundError, match="create it first"):
        evlearn.report(model, iris, tmp_path / "nothing" / "x.html")
    with pytest.raises(ValueError, match="n_rows must be a whole number"):
        evlearn.report(model, iris, tmp_path / "x.html", n_rows=0)
    assert not list(tmp_path.iterdir())


def test_the_package_has_no_other_names():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        evlearn.nothing  # noqa: B018


@pytest.mark.slow
def test_a_pipeline_is_reported_in_the_original_units(iris, tmp_path):
    pipeline = make_pipeline(StandardScaler(), ECM(3, random_state=0)).fit(iris)
    reader = Reader(evlearn.report(pipeline, iris, tmp_path / "iris.html").read_text(encoding="utf-8"))
    assert "3 clusters" in reader.headings
    assert "ECM" in reader.cells
    assert "StandardScaler()" in reader.cells
    centers = pipeline[0].inverse_transform(pipeline[1].cluster_centers_)
    assert {format_rounded(value) for value in centers.ravel()} <= set(reader.cells)


@pytest.mark.slow
def test_prototypes_without_inverse_transform_are_omitted(iris, tmp_path):
    pipeline = make_pipeline(Normalizer(), ECM(3, random_state=0)).fit(iris)
    reader = Reader(evlearn.report(pipeline, iris, tmp_path / "iris.html").read_text(encoding="utf-8"))
    first = reader.cells.index("possible")
    assert reader.cells[first - 2 : first + 2] == ["cluster", "sure", "possible", "0"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [ECM, EVCLUS])
def test_new_samples_are_predicted_even_if_they_are_as_many_as_the_training_samples(tmp_path, kind):
    random = np.random.RandomState(0)
    old = np.vstack([random.normal(size=(20, 2)), random.normal(size=(20, 2)) + 8])
    new = old + 0.01
    new[:5] = 1000
    model = kind(2, random_state=0).fit(old)
    n_outliers = int(model.predict_mass(new).outliers().sum())
    page = evlearn.report(model, new, tmp_path / "new.html").read_text(encoding="utf-8")
    smaller_page = evlearn.report(model, new[:-1], tmp_path / "fewer.html").read_text(encoding="utf-8")
    assert n_outliers == 5
    assert "5 (12&nbsp;%) are outliers, which fit no cluster" in page
    assert "5 (13&nbsp;%) are outliers, which fit no cluster" in smaller_page


HOSTILE = [
    "$x^$",
    "a,b",
    " a}",
    "",
    "Ω",
    "<script>alert(1)</script>",
    "_under",
    "x" * 300,
    "a\nb",
    "%s {0} {name}",
]


def hostile_frame(n_columns):
    random = np.random.RandomState(0)
    values = np.vstack(
        [random.normal(size=(12, n_columns)), random.normal(size=(12, n_columns)) + 4, [[2] * n_columns]]
    )
    return pd.DataFrame(values, columns=HOSTILE[:n_columns], index=[f"{HOSTILE[k % 10]} {k}" for k in range(25)])


@pytest.mark.parametrize("n_columns", [2, 10])
@pytest.mark.slow
def test_names_of_columns_rows_and_clusters_may_contain_any_character(tmp_path, n_columns):
    frame = hostile_frame(n_columns)
    model = ECM(2, delta=50, random_state=0).fit(frame)
    partition = model.credal_partition_.rename(cluster_names=["a,b", "$x^$"])
    samples = Samples.from_table(partition, frame, frame)
    page = write_report(model, samples, tmp_path / "hostile.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert page.count("data:image/png") == 4
    reader = Reader(page)
    assert len(reader.pictures) == 4
    assert {"a,b", "$x^$", *HOSTILE[: n_columns - 1]} <= {*reader.cells, ""}


@pytest.mark.slow
def test_cluster_names_with_commas_are_quoted(tmp_path):
    masses = np.zeros((3, 8))
    masses[:, FocalSets.full(3).index((0, 1))] = 1
    partition = CredalPartition(masses, FocalSets.full(["a,b", "c", "d"]))
    X = np.random.RandomState(0).normal(size=(3, 2))
    model = ECM(3, random_state=0).fit(np.vstack([X, X + 5, X + 9]))
    page = write_report(model, Samples.from_table(partition, X, X), tmp_path / "words.html").read_text(
        encoding="utf-8"
    )
    assert "3 between &quot;a,b&quot; and c." in page
    assert "a,b or c</td>" in page


@pytest.mark.parametrize(
    "columns", [[0, 1], [("a", 1), ("a", 2)], [1.5, None]], ids=["numbers", "levels", "others"]
)
@pytest.mark.slow
def test_column_names_may_be_other_types_than_text(tmp_path, columns):
    frame = hostile_frame(2).set_axis(pd.Index(columns), axis=1)
    path = evlearn.report(ECM(2, random_state=0).fit(frame.to_numpy()), frame, tmp_path / "x.html")
    assert f"<th>{html.escape(str(columns[0]))}</th>" in path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_report_without_matplotlib_explains_how_to_install_it(tmp_path):
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import evlearn; from evlearn.cluster import ECM; from evlearn.datasets import load_butterfly\n"
        "X = load_butterfly().data\n"
        f"evlearn.report(ECM(2, delta=5, random_state=0).fit(X), X, {str(tmp_path / 'x.html')!r})"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert "data:image/png" not in page
    assert "pip install &quot;evidential-learn[plot]&quot;" in page
    assert "Of 12 samples" in page
    assert "Torn between clusters" in page
