"""Tests of explanations."""

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
from evlearn.utils.formatting import format_rounded, format_share

FRAME, KINDS = make_customers(600, n_between=60, n_odd=12, random_state=1)


def partition_by_kind(kinds=KINDS):
    """Return the true partition: customers between 2 segments are torn, and odd ones are outliers."""
    names = sorted({*kinds} - {"between", "odd"})
    memberships = np.array([[float(kind == name) for name in names] for kind in kinds])
    memberships[kinds == "between", :2] = 0.55, 0.45
    return CredalPartition.from_fuzzy(memberships, cluster_names=names)


def all_sentences(explanation):
    sentences = [item for profile in explanation.clusters for item in profile.sentences]
    return sentences + [item.text for item in (*explanation.torn, *explanation.outliers)]


@pytest.fixture(scope="module")
def explanation():
    return explain_clusters(partition_by_kind(), FRAME)


def test_sentences_describe_how_the_clusters_were_generated(explanation):
    profiles = {profile.name: profile for profile in explanation.clusters}
    students, pensioners = profiles["students"].sentences, profiles["pensioners"].sentences
    assert any(re.fullmatch(r"contract: \d\d % monthly \(all: \d\d %\)", sentence) for sentence in students)
    assert any(re.fullmatch(r"age: typically 2[345] \(all: 3\d\)", sentence) for sentence in students)
    assert any(
        re.fullmatch(r"joined: typically \w+ 201\d \(all: \w+ 20\d\d\)", sentence) for sentence in pensioners
    )
    assert any(
        re.fullmatch(r"income: typically 8\d,000 \(all: \d\d,000\)", sentence)
        for sentence in profiles["professionals"].sentences
    )


def test_numbers_of_a_crisp_partition_are_those_of_a_grouped_frame():
    random = np.random.default_rng(0)
    labels = random.integers(3, size=200)
    frame = pd.DataFrame(
        {"x": random.integers(0, 90, size=200) + 100 * labels, "word": random.choice(list("ab"), 200)}
    )
    explanation = explain_clusters(CredalPartition.from_hard(labels), frame)
    column, words = explanation.columns
    medians = frame.groupby(labels)["x"].median()
    np.testing.assert_array_equal(column.median, [*medians, frame["x"].median()])
    shares = (frame["word"] == "b").groupby(labels).mean()
    np.testing.assert_allclose(words.shares[1], [*shares, (frame["word"] == "b").mean()])


def test_the_effect_is_the_largest_difference_between_a_cluster_and_the_others():
    values = np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0], [8.0]] * 10)
    labels = (values[:, 0] > 6).astype(int)
    labels[0:80:8] = 1  # some members of cluster 1 have the smallest value
    explanation = explain_clusters(CredalPartition.from_hard(labels), values)
    own_values, others = values[labels == 1, 0], values[labels == 0, 0]
    borders = np.unique(values)
    expected = max(abs((own_values <= border).mean() - (others <= border).mean()) for border in borders)
    for profile in explanation.clusters:
        assert profile.differences[0].effect == pytest.approx(expected)


def test_a_cluster_in_the_middle_is_described_by_its_range():
    X = load_iris(as_frame=True).data
    partition = CredalPartition.from_hard(load_iris().target, cluster_names=["setosa", "versicolor", "virginica"])
    middle = explain_clusters(partition, X).clusters[1]
    assert "petal length (cm): mostly 3.5 to 4.8 (all: 1.4 to 5.8)" in middle.sentences


def test_numbers_that_are_mostly_equal_are_described_by_their_mean():
    children = np.array([0] * 60 + [3] * 40 + [0] * 90 + [3] * 10)
    partition = CredalPartition.from_hard(np.repeat([0, 1], 100))
    first, second = explain_clusters(partition, children[:, None]).clusters
    assert first.sentences == ["feature 0: 1.2 on average (all: 0.8)"]
    assert second.sentences == ["feature 0: 0.3 on average (all: 0.8)"]


def test_torn_samples_list_the_values_that_support_each_cluster():
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


def test_outliers_list_their_unusual_values(explanation):
    assert len(explanation.outliers) == 12
    for outlier in explanation.outliers:
        assert outlier.clusters == ()
        if "Missing: income" in outlier.text:  # the unusual value may be missing
            continue
        assert outlier.text.startswith("Fits no cluster. Unusual: ")
        assert re.search(r"(income|orders) is [\d,]+ \(all: mostly [\d,]+ to [\d,]+\)", outlier.text)


def test_missing_values_of_clusters_and_samples_are_described():
    frame = pd.DataFrame({"x": np.arange(100.0), "y": np.arange(100.0) % 7})
    frame.loc[:39, "y"] = np.nan
    memberships = np.repeat([[1.0, 0], [0, 1.0]], 50, axis=0)
    memberships[3] = 0.5, 0.5
    explanation = explain_clusters(CredalPartition.from_fuzzy(memberships), frame)
    assert "y: 80 % missing (all: 40 %)" in explanation.clusters[0].sentences
    assert explanation.torn[0].text.endswith("Missing: y.")


def test_a_single_cluster_has_the_profile_of_all_samples():
    partition = CredalPartition.from_hard(np.zeros(len(FRAME), dtype=int))
    explanation = explain_clusters(partition, FRAME)
    assert explanation.clusters[0].differences == ()
    assert explanation.clusters[0].sentences == ["No feature distinguishes this cluster."]
    for column in explanation.columns:
        assert column.typical(0) == column.typical(-1)
        assert column.differences(0) == []


def test_clusters_with_equal_memberships_have_no_differences():
    partition = CredalPartition.from_fuzzy(np.full((len(FRAME), 3), 1 / 3))
    explanation = explain_clusters(partition, FRAME)
    for profile in explanation.clusters:
        assert profile.differences == ()


@pytest.mark.parametrize("seed", [0, 1])
def test_the_order_of_samples_changes_nothing(explanation, seed):
    order = np.random.default_rng(seed).permutation(len(FRAME))
    other = explain_clusters(partition_by_kind(KINDS[order]), FRAME.iloc[order])
    for profile, permuted in zip(explanation.clusters, other.clusters, strict=True):
        assert profile.sentences == permuted.sentences
        assert [FRAME.index[row] for row in profile.typical] == [
            FRAME.index[order[row]] for row in permuted.typical
        ]
    assert {sample.sample: sample.text for sample in explanation.torn} == {
        sample.sample: sample.text for sample in other.torn
    }


def test_the_order_of_columns_and_of_clusters_changes_no_sentence(explanation):
    other = explain_clusters(partition_by_kind().permute_clusters([2, 0, 3, 1]), FRAME[FRAME.columns[::-1]])
    for profile in explanation.clusters:
        (match,) = [candidate for candidate in other.clusters if candidate.name == profile.name]
        assert sorted(profile.sentences) == sorted(match.sentences)


def test_the_same_table_in_other_units_has_the_same_effects(explanation):
    other = explain_clusters(partition_by_kind(), FRAME.assign(income=FRAME["income"] * 1e-3))
    for profile, scaled in zip(explanation.clusters, other.clusters, strict=True):
        assert [difference.effect for difference in profile.differences] == pytest.approx(
            [difference.effect for difference in scaled.differences]
        )


CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.floats(allow_infinity=False),
    st.integers(-(10**30), 10**30),
    st.text(max_size=5).filter(lambda text: "inf" not in text.lower()),  # refused, like infinite numbers
    st.dates(datetime.date(1, 1, 1)),
    st.just(pd.NA),
    st.just(pd.NaT),
)


@given(
    table=hnp.arrays(object, st.tuples(st.integers(2, 8), st.integers(1, 3)), elements=CELLS),
    seed=st.integers(0, 99),
)
def test_no_sentence_has_an_exponent_or_a_nan_for_any_table(table, seed):
    random = np.random.default_rng(seed)
    masses = random.dirichlet(np.full(4, 0.3), size=len(table))
    partition = CredalPartition.from_fuzzy(masses[:, :3])
    for sentence in all_sentences(explain_clusters(partition, table)):
        assert "<NA>" not in sentence
        assert not re.search(r"\d[eE][+-]?\d{2}|\bnan\b|\binf\b", _without_user_words(sentence, table)), sentence


def _without_user_words(sentence, table):
    """Remove the words of the user from a sentence."""
    for word in sorted({str(cell) for cell in table.ravel() if isinstance(cell, str)}, key=len, reverse=True):
        sentence = sentence.replace(" ".join(word.split()), "") if word.strip() else sentence
    return sentence


@given(
    values=hnp.arrays(
        np.float64,
        st.tuples(st.integers(2, 30), st.just(2)),
        elements=st.floats(allow_nan=True, allow_infinity=False),
    ),
    seed=st.integers(0, 99),
)
def test_columns_of_any_floats_are_described_plainly(values, seed):
    partition = CredalPartition.from_hard(np.random.default_rng(seed).integers(3, size=len(values)))
    explanation = explain_clusters(partition, values)
    for sentence in [*all_sentences(explanation), str(explanation)]:
        assert not re.search(r"\d[eE][+-]?\d|\bnan\b|\binf\b", sentence), sentence


@pytest.mark.parametrize(
    ("value", "step", "text"),
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
def test_numbers_are_written_plainly(value, step, text):
    assert format_rounded(value, step) == text


def test_only_exact_shares_are_0_or_100_percent():
    assert [format_share(share) for share in (0, 0.001, 0.25, 0.999, 1)] == [
        "0 %",
        "less than 1 %",
        "25 %",
        "more than 99 %",
        "100 %",
    ]


@pytest.mark.parametrize("kind", ["polars", "pyarrow", "objects", "nullable", "lists", "dict", "categorical"])
def test_tables_of_all_types_have_equal_explanations(kind):
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
    sentences = [profile.sentences for profile in explain_clusters(partition, plain).clusters]
    if kind == "lists":
        for k, name in enumerate(frame.columns):
            sentences = [[text.replace(f"feature {k}:", f"{name}:") for text in group] for group in sentences]
    assert sentences == expected


def test_numbers_that_the_user_calls_categories_are_categories():
    codes = pd.Series(np.repeat([12345, 12346], 50)).astype("category")
    explanation = explain_clusters(CredalPartition.from_hard(np.repeat([0, 1], 50)), pd.DataFrame({"code": codes}))
    assert explanation.clusters[0].sentences == ["code: 100 % 12345 (all: 50 %)"]


def test_years_have_no_comma_and_durations_are_days():
    frame = pd.DataFrame({"built": np.repeat([1990, 2015], 50) + np.arange(100) % 3})
    frame["rest"] = pd.to_timedelta(np.repeat([2, 9], 50) + np.arange(100) % 2, unit="D")
    first = explain_clusters(CredalPartition.from_hard(np.repeat([0, 1], 50)), frame).clusters[0]
    assert sorted(first.sentences) == [
        "built: typically 1991 (all: 2004)",
        "rest: typically 2 (all: 6)",
    ]


def test_uninformative_columns_are_excluded_with_a_reason():
    frame = FRAME.assign(name=[f"customer {k}" for k in range(len(FRAME))], country="here", nothing=np.nan)
    explanation = explain_clusters(partition_by_kind(), frame)
    assert explanation.omitted_columns == {
        "name": "names or free text",
        "country": "the same value everywhere",
        "nothing": "no values",
    }


def test_typical_samples_are_sure_and_those_at_the_border_in_doubt(explanation):
    verdict, doubt = explanation.verdict, explanation.partition.doubt()
    for k, profile in enumerate(explanation.clusters):
        assert len(profile.typical) == 3
        assert verdict.candidates[list(profile.typical)].sum(axis=1).tolist() == [1, 1, 1]
        assert verdict.candidates[list(profile.typical), k].all()
        assert (doubt[list(profile.border)] > 0).all()
        ages = FRAME["age"].iloc[list(profile.typical)]
        members = FRAME["age"][profile.name == KINDS]
        assert (abs(ages - members.median()) <= members.std()).all()


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
        explanation = explain_clusters(model.fit(X), X)
        assert any("petal length (cm): typically 1." in sentence for sentence in all_sentences(explanation))
    with pytest.raises(NotFittedError):
        explain_clusters(ECM(3), X)


def test_names_of_clusters_and_samples_are_those_of_the_user():
    X = load_iris(as_frame=True).data
    X.index = [f"flower {k}" for k in range(150)]
    explanation = explain_clusters(ECM(3, random_state=0).fit(X), X, cluster_names=["a", "b", "c"])
    assert [profile.name for profile in explanation.clusters] == ["a", "b", "c"]
    assert all(sample.sample.startswith("flower ") for sample in explanation.torn)
    assert all(re.match(r"May be in [abc](, [abc])? or [abc]\.", sample.text) for sample in explanation.torn)
    with pytest.raises(ValueError, match="2"):
        explain_clusters(ECM(3, random_state=0).fit(X), X, cluster_names=["a", "b"])


def test_frames_contain_the_sentences(explanation):
    frame = explanation.to_frame()
    assert list(frame.columns) == ["cluster", "feature", "kind", "value", "overall", "effect", "text"]
    assert frame["text"].tolist() == [
        difference.text for profile in explanation.clusters for difference in profile.differences
    ]
    samples = explanation.to_frame("samples", library="polars")
    assert samples["verdict"].to_list() == ["torn"] * 60 + ["outlier"] * 12
    assert FRAME.index[samples["position"].to_numpy()].tolist() == samples["sample"].to_list()
    with pytest.raises(ValueError, match="of must be one of"):
        explanation.to_frame("nothing")


def test_the_text_names_clusters_and_samples(explanation):
    text = str(explanation)
    for profile in explanation.clusters:
        assert f"{profile.name}: {profile.n_sure} sure, " in text
        assert all(f"  {sentence}" in text for sentence in profile.sentences)
    assert "Torn: 60, the first 5" in text
    assert f"  {explanation.outliers[0]}" in text


def test_invalid_tables_are_refused():
    partition = partition_by_kind()
    with pytest.raises(ValueError, match="X has 599 rows but the partition has 600 samples"):
        explain_clusters(partition, FRAME[1:])
    with pytest.raises(ValueError, match="X is sparse"):
        explain_clusters(partition, csr_array(np.eye(600)))
    with pytest.raises(ValueError, match=r"shape \(600,\)"):
        explain_clusters(partition, FRAME["age"].to_numpy())
    with pytest.raises(ValueError, match="n_features must be a whole number"):
        explain_clusters(partition, FRAME, n_features=0)


def test_an_empty_cluster_has_no_differences():
    partition = CredalPartition.from_fuzzy(np.repeat([[1.0, 0, 0], [0, 1.0, 0]], 20, axis=0))
    explanation = explain_clusters(partition, np.arange(40.0)[:, None])
    assert explanation.clusters[2].n_possible == 0
    assert explanation.clusters[2].sentences == ["No feature distinguishes this cluster."]
    assert explanation.clusters[2].typical == ()


def test_equal_shortened_names_are_numbered():
    partition = CredalPartition.from_hard(np.repeat([0, 1], 20), cluster_names=["a\nb", "a b"])
    explanation = explain_clusters(partition, np.arange(40.0)[:, None])
    assert [profile.name for profile in explanation.clusters] == ["a b (0)", "a b (1)"]
