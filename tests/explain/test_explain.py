"""What makes clusters different, and why samples are torn, in the words of the table."""

import datetime
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from customers import make_customers
from evlearn import CredalPartition
from evlearn.cluster import ECM
from evlearn.explain import explain_clusters
from evlearn.explain.plain import number, percent

FRAME, KINDS = make_customers(600, n_between=60, n_odd=12, random_state=1)


def partition_by_kind(kinds=KINDS):
    """The truth as a partition: customers between two segments are torn, and odd ones are outliers."""
    names = sorted({*kinds} - {"between", "odd"})
    memberships = np.array([[float(kind == name) for name in names] for kind in kinds])
    memberships[kinds == "between", :2] = 0.55, 0.45
    return CredalPartition.from_fuzzy(memberships, cluster_names=names)


def all_sentences(explanation):
    told = [one for profile in explanation.clusters for one in profile.sentences]
    return told + [one.text for one in (*explanation.torn, *explanation.outliers)]


@pytest.fixture(scope="module")
def explanation():
    return explain_clusters(partition_by_kind(), FRAME)


def test_clusters_are_told_by_what_they_were_made_of(explanation):
    told = {profile.name: profile for profile in explanation.clusters}
    students, pensioners = told["students"].sentences, told["pensioners"].sentences
    assert any(re.fullmatch(r"contract: \d\d % monthly \(all: \d\d %\)", one) for one in students)
    assert any(re.fullmatch(r"age: typically 2[345] \(all: 3\d\)", one) for one in students)
    assert any(re.fullmatch(r"joined: typically \w+ 201\d \(all: \w+ 20\d\d\)", one) for one in pensioners)
    assert any(
        re.fullmatch(r"income: typically 8\d,000 \(all: \d\d,000\)", one)
        for one in told["professionals"].sentences
    )


def test_numbers_of_a_crisp_partition_are_those_of_a_grouped_frame():
    random = np.random.default_rng(0)
    labels = random.integers(3, size=200)
    frame = pd.DataFrame(
        {"x": random.integers(0, 90, size=200) + 100 * labels, "word": random.choice(list("ab"), 200)}
    )
    found = explain_clusters(CredalPartition.from_hard(labels), frame)
    column, words = found.columns
    medians = frame.groupby(labels)["x"].median()
    np.testing.assert_array_equal(column.median, [*medians, frame["x"].median()])
    shares = (frame["word"] == "b").groupby(labels).mean()
    np.testing.assert_allclose(words.shares[1], [*shares, (frame["word"] == "b").mean()])


def test_the_effect_is_the_largest_difference_between_a_cluster_and_the_others():
    values = np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0], [8.0]] * 10)
    labels = (values[:, 0] > 6).astype(int)
    labels[0:80:8] = 1  # a fourth of the second cluster... is as low as can be
    found = explain_clusters(CredalPartition.from_hard(labels), values)
    own, others = values[labels == 1, 0], values[labels == 0, 0]
    borders = np.unique(values)
    expected = max(abs((own <= one).mean() - (others <= one).mean()) for one in borders)
    for profile in found.clusters:
        assert profile.differences[0].effect == pytest.approx(expected)


def test_a_cluster_in_the_middle_is_told_by_its_range():
    X = load_iris(as_frame=True).data
    partition = CredalPartition.from_hard(load_iris().target, cluster_names=["setosa", "versicolor", "virginica"])
    middle = explain_clusters(partition, X).clusters[1]
    assert "petal length (cm): mostly 3.5 to 4.8 (all: 1.4 to 5.8)" in middle.sentences


def test_numbers_that_are_mostly_the_same_are_told_by_their_average():
    children = np.array([0] * 60 + [3] * 40 + [0] * 90 + [3] * 10)
    partition = CredalPartition.from_hard(np.repeat([0, 1], 100))
    first, second = explain_clusters(partition, children[:, None]).clusters
    assert first.sentences == ["feature 0: 1.2 on average (all: 0.8)"]
    assert second.sentences == ["feature 0: 0.3 on average (all: 0.8)"]


def test_torn_samples_are_told_what_speaks_for_each_cluster():
    rows = [[10.0, "red"]] * 50 + [[20.0, "blue"]] * 50 + [[11.0, "blue"]]
    spread = np.random.default_rng(0).normal(size=101)
    table = np.array(
        [[value + noise, word] for (value, word), noise in zip(rows, spread, strict=True)], dtype=object
    )
    table[-1, 0] = 11.0
    memberships = np.vstack([np.repeat([[1, 0]], 50, axis=0), np.repeat([[0, 1]], 50, axis=0), [[0.5, 0.5]]])
    partition = CredalPartition.from_fuzzy(memberships, cluster_names=["A", "B"])
    (torn,) = explain_clusters(partition, table).torn
    assert torn.position == 100
    assert torn.clusters == ("A", "B")
    assert torn.doubt == 0.5
    assert torn.reasons["A"][0].startswith("feature 0 is 11 (typical: ")
    assert torn.reasons["B"] == ("feature 1 is blue (1 % of A, 100 % of B)",)
    assert torn.text.startswith("May be in A or B. For A: feature 0 is 11 (")


def test_what_is_unusual_about_outliers_is_told(explanation):
    assert len(explanation.outliers) == 12
    for one in explanation.outliers:
        assert one.clusters == ()
        if "Missing: income" in one.text:  # which may be what was unusual
            continue
        assert one.text.startswith("Fits no cluster. Unusual: ")
        assert re.search(r"(income|orders) is [\d,]+ \(all: mostly [\d,]+ to [\d,]+\)", one.text)


def test_gaps_are_told_of_clusters_and_of_samples():
    frame = pd.DataFrame({"x": np.arange(100.0), "y": np.arange(100.0) % 7})
    frame.loc[:39, "y"] = np.nan
    memberships = np.repeat([[1.0, 0], [0, 1.0]], 50, axis=0)
    memberships[3] = 0.5, 0.5
    found = explain_clusters(CredalPartition.from_fuzzy(memberships), frame)
    assert "y: 80 % missing (all: 40 %)" in found.clusters[0].sentences
    assert found.torn[0].text.endswith("Missing: y.")


def test_the_profile_of_one_cluster_with_everything_is_that_of_all():
    partition = CredalPartition.from_hard(np.zeros(len(FRAME), dtype=int))
    found = explain_clusters(partition, FRAME)
    assert found.clusters[0].differences == ()
    assert found.clusters[0].sentences == ["No column sets this cluster apart."]
    for column in found.columns:
        assert column.typical(0) == column.typical(-1)
        assert column.differences(0) == []


def test_clusters_that_all_samples_share_equally_have_no_differences():
    partition = CredalPartition.from_fuzzy(np.full((len(FRAME), 3), 1 / 3))
    found = explain_clusters(partition, FRAME)
    for profile in found.clusters:
        assert profile.differences == ()


@pytest.mark.parametrize("seed", [0, 1])
def test_the_order_of_samples_changes_nothing(explanation, seed):
    order = np.random.default_rng(seed).permutation(len(FRAME))
    other = explain_clusters(partition_by_kind(KINDS[order]), FRAME.iloc[order])
    for one, same in zip(explanation.clusters, other.clusters, strict=True):
        assert one.sentences == same.sentences
        assert [FRAME.index[row] for row in one.typical] == [FRAME.index[order[row]] for row in same.typical]
    assert {one.sample: one.text for one in explanation.torn} == {one.sample: one.text for one in other.torn}


def test_the_order_of_columns_and_of_clusters_changes_no_sentence(explanation):
    other = explain_clusters(partition_by_kind().permute_clusters([2, 0, 3, 1]), FRAME[FRAME.columns[::-1]])
    for profile in explanation.clusters:
        (same,) = [one for one in other.clusters if one.name == profile.name]
        assert sorted(profile.sentences) == sorted(same.sentences)


def test_the_same_table_in_other_units_has_the_same_effects(explanation):
    other = explain_clusters(partition_by_kind(), FRAME.assign(income=FRAME["income"] * 1e-3))
    for profile, same in zip(explanation.clusters, other.clusters, strict=True):
        assert [one.effect for one in profile.differences] == pytest.approx(
            [one.effect for one in same.differences]
        )


CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.floats(allow_infinity=False),
    st.integers(-(10**30), 10**30),
    st.text(max_size=5).filter(lambda text: "inf" not in text.lower()),  # which is refused, as a number is
    st.dates(datetime.date(1, 1, 1)),
    st.just(pd.NA),
    st.just(pd.NaT),
)


@given(
    table=hnp.arrays(object, st.tuples(st.integers(2, 8), st.integers(1, 3)), elements=CELLS),
    seed=st.integers(0, 99),
)
def test_whatever_is_in_a_table_no_sentence_has_an_exponent_or_a_nan(table, seed):
    random = np.random.default_rng(seed)
    masses = random.dirichlet(np.full(4, 0.3), size=len(table))
    partition = CredalPartition.from_fuzzy(masses[:, :3])
    for told in all_sentences(explain_clusters(partition, table)):
        assert "<NA>" not in told
        assert not re.search(r"\d[eE][+-]?\d{2}|\bnan\b|\binf\b", _without_words(told, table)), told


def _without_words(told, table):
    """A sentence without the user's own words, which may be anything."""
    for word in sorted({str(one) for one in table.ravel() if isinstance(one, str)}, key=len, reverse=True):
        told = told.replace(" ".join(word.split()), "") if word.strip() else told
    return told


@given(
    values=hnp.arrays(
        np.float64,
        st.tuples(st.integers(2, 30), st.just(2)),
        elements=st.floats(allow_nan=True, allow_infinity=False),
    ),
    seed=st.integers(0, 99),
)
def test_columns_of_any_floats_are_told_plainly(values, seed):
    partition = CredalPartition.from_hard(np.random.default_rng(seed).integers(3, size=len(values)))
    found = explain_clusters(partition, values)
    for told in [*all_sentences(found), str(found)]:
        assert not re.search(r"\d[eE][+-]?\d|\bnan\b|\binf\b", told), told


@pytest.mark.parametrize(
    ("value", "step", "told"),
    [
        (52341.0, 1000, "52,000"),
        (2.923e6, 0, "2,923,000"),
        (0.00012345, 0, "0.0001234"),
        (-0.04, 0.1, "0"),
        (1e20, 0, "above 1,000,000,000,000,000"),
        (float("nan"), 1, "unknown"),
        (12.0, 0.01, "12"),
    ],
)
def test_numbers_are_written_as_people_write_them(value, step, told):
    assert number(value, step) == told


def test_shares_that_are_not_nothing_are_not_called_so():
    assert [percent(share) for share in (0, 0.001, 0.25, 0.999, 1)] == [
        "0 %",
        "under 1 %",
        "25 %",
        "over 99 %",
        "100 %",
    ]


@pytest.mark.parametrize("kind", ["polars", "pyarrow", "objects", "nullable", "lists", "dict", "categorical"])
def test_tables_of_all_kinds_say_the_same(kind):
    frame = FRAME.reset_index(drop=True)[["income", "contract", "newsletter", "joined"]]
    plain = {
        "polars": lambda: pl.from_pandas(frame),
        "pyarrow": lambda: pa.Table.from_pandas(frame),
        "objects": lambda: frame.astype(object).set_axis(frame.columns, axis=1),
        "nullable": lambda: frame.convert_dtypes(),
        "lists": lambda: frame.to_numpy(dtype=object).tolist(),
        "dict": lambda: {name: frame[name].to_numpy() for name in frame},
        "categorical": lambda: frame.astype({"contract": "category"}),
    }[kind]()
    partition = partition_by_kind()
    expected = [profile.sentences for profile in explain_clusters(partition, frame).clusters]
    found = [profile.sentences for profile in explain_clusters(partition, plain).clusters]
    if kind == "lists":
        for k, name in enumerate(frame.columns):
            found = [[told.replace(f"feature {k}:", f"{name}:") for told in one] for one in found]
    assert found == expected


def test_numbers_that_the_user_calls_categories_are_categories():
    codes = pd.Series(np.repeat([12345, 12346], 50)).astype("category")
    found = explain_clusters(CredalPartition.from_hard(np.repeat([0, 1], 50)), pd.DataFrame({"code": codes}))
    assert found.clusters[0].sentences == ["code: 100 % 12345 (all: 50 %)"]


def test_years_have_no_comma_and_durations_are_days():
    frame = pd.DataFrame({"built": np.repeat([1990, 2015], 50) + np.arange(100) % 3})
    frame["rest"] = pd.to_timedelta(np.repeat([2, 9], 50) + np.arange(100) % 2, unit="D")
    first = explain_clusters(CredalPartition.from_hard(np.repeat([0, 1], 50)), frame).clusters[0]
    assert sorted(first.sentences) == [
        "built: typically 1991 (all: 2004)",
        "rest: typically 2 (all: 6)",
    ]


def test_columns_that_say_nothing_are_left_out_with_a_reason():
    frame = FRAME.assign(name=[f"customer {k}" for k in range(len(FRAME))], country="here", nothing=np.nan)
    found = explain_clusters(partition_by_kind(), frame)
    assert found.left_out == {"name": "names or free text", "country": "the same for all", "nothing": "no values"}


def test_typical_samples_are_sure_and_those_at_the_border_in_doubt(explanation):
    verdict, doubt = explanation.verdict, explanation.partition.doubt()
    for k, profile in enumerate(explanation.clusters):
        assert len(profile.typical) == 3
        assert verdict.candidates[list(profile.typical)].sum(axis=1).tolist() == [1, 1, 1]
        assert verdict.candidates[list(profile.typical), k].all()
        assert (doubt[list(profile.border)] > 0).all()
        ages = FRAME["age"].iloc[list(profile.typical)]
        own = FRAME["age"][profile.name == KINDS]
        assert (abs(ages - own.median()) <= own.std()).all()


def test_estimators_pipelines_and_clusterers_of_scikit_learn_are_explained():
    X = load_iris(as_frame=True).data
    models = [
        ECM(3, random_state=0),
        make_pipeline(StandardScaler(), ECM(3, random_state=0)),
        KMeans(3, n_init=3, random_state=0),
        GaussianMixture(3, random_state=0),
        make_pipeline(StandardScaler(), KMeans(3, n_init=3, random_state=0)),
        DBSCAN(0.8),
    ]
    for model in models:
        found = explain_clusters(model.fit(X), X)
        assert any("petal length (cm): typically 1." in told for told in all_sentences(found))
    with pytest.raises(NotFittedError):
        explain_clusters(ECM(3), X)


def test_names_of_clusters_and_samples_are_those_of_the_user():
    X = load_iris(as_frame=True).data
    X.index = [f"flower {k}" for k in range(150)]
    found = explain_clusters(ECM(3, random_state=0).fit(X), X, cluster_names=["a", "b", "c"])
    assert [profile.name for profile in found.clusters] == ["a", "b", "c"]
    assert all(one.sample.startswith("flower ") for one in found.torn)
    assert all(re.match(r"May be in [abc](, [abc])? or [abc]\.", one.text) for one in found.torn)
    with pytest.raises(ValueError, match="2"):
        explain_clusters(ECM(3, random_state=0).fit(X), X, cluster_names=["a", "b"])


def test_the_frames_hold_what_is_said(explanation):
    frame = explanation.to_frame()
    assert list(frame.columns) == ["cluster", "feature", "kind", "value", "overall", "effect", "text"]
    assert frame["text"].tolist() == [one.text for profile in explanation.clusters for one in profile.differences]
    samples = explanation.to_frame("samples", library="polars")
    assert samples["verdict"].to_list() == ["torn"] * 60 + ["outlier"] * 12
    assert FRAME.index[samples["position"].to_numpy()].tolist() == samples["sample"].to_list()
    with pytest.raises(ValueError, match="of must be one of"):
        explanation.to_frame("nothing")


def test_the_text_names_clusters_and_samples(explanation):
    told = str(explanation)
    for profile in explanation.clusters:
        assert f"{profile.name}: {profile.n_sure} sure, " in told
        assert all(f"  {sentence}" in told for sentence in profile.sentences)
    assert "Torn: 60, the first 5" in told
    assert f"  {explanation.outliers[0]}" in told


def test_tables_that_do_not_fit_are_refused():
    partition = partition_by_kind()
    with pytest.raises(ValueError, match="X has 599 rows but the partition has 600 samples"):
        explain_clusters(partition, FRAME[1:])
    with pytest.raises(ValueError, match="X is sparse"):
        explain_clusters(partition, csr_array(np.eye(600)))
    with pytest.raises(ValueError, match=r"shape \(600,\)"):
        explain_clusters(partition, FRAME["age"].to_numpy())
    with pytest.raises(ValueError, match="n_features must be a whole number"):
        explain_clusters(partition, FRAME, n_features=0)


def test_an_empty_cluster_is_told_to_have_nothing():
    partition = CredalPartition.from_fuzzy(np.repeat([[1.0, 0, 0], [0, 1.0, 0]], 20, axis=0))
    found = explain_clusters(partition, np.arange(40.0)[:, None])
    assert found.clusters[2].n_possible == 0
    assert found.clusters[2].sentences == ["No column sets this cluster apart."]
    assert found.clusters[2].typical == ()


def test_names_that_are_the_same_when_shortened_are_told_apart():
    partition = CredalPartition.from_hard(np.repeat([0, 1], 20), cluster_names=["a\nb", "a b"])
    found = explain_clusters(partition, np.arange(40.0)[:, None])
    assert [profile.name for profile in found.clusters] == ["a b (0)", "a b (1)"]
