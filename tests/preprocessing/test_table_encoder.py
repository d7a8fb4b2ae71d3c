"""TableEncoder: tables from all libraries, facts about columns, and new tables."""

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from evlearn.cluster import ECM
from evlearn.preprocessing import TableEncoder

N = 200


@pytest.fixture
def table():
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "customer": [f"C{k:04d}" for k in range(N)],
            "age": random.integers(18, 80, N).astype(float),
            "income": np.exp(random.normal(10, 1, N)),
            "city": random.choice(["Rome", "Paris", "Oslo"], N, p=[0.6, 0.3, 0.1]),
            "smoker": pd.array(random.random(N) < 0.3, dtype="boolean"),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 900, N), unit="D"),
            "size": pd.Categorical(
                random.choice(["small", "medium", "large"], N), ["small", "medium", "large"], ordered=True
            ),
            "country": "FR",
            "nothing": None,
        },
        index=pd.Index(np.arange(N) + 1000, name="row"),
    )
    for k, name in enumerate(["age", "income", "city", "smoker", "since", "size"]):
        frame.loc[1000 + k, name] = None
    return frame


def facts(encoder, column):
    return next(facts for facts in encoder.columns_ if facts["column"] == column)


@pytest.mark.parametrize("missing", ["keep", "impute"])
def test_scikit_learns_checks_pass(missing):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(TableEncoder(missing=missing))


def test_each_column_is_recognized(table):
    encoder = TableEncoder().fit(table)
    kinds = {facts["column"]: facts["kind"] for facts in encoder.columns_}
    assert kinds == {
        "customer": "left out",
        "age": "number",
        "income": "number",
        "city": "category",
        "smoker": "yes/no",
        "since": "date",
        "size": "ordered",
        "country": "left out",
        "nothing": "left out",
    }
    reasons = {facts["column"]: facts["reason"] for facts in encoder.columns_ if facts["kind"] == "left out"}
    assert reasons == {"customer": "identifier", "country": "constant", "nothing": "empty"}
    assert facts(encoder, "income")["transform"] == "log"
    assert facts(encoder, "age")["transform"] == "none"
    assert facts(encoder, "size")["categories"] == ["small", "medium", "large"]


def test_all_columns_have_the_same_weight(table):
    encoder = TableEncoder(scaling="standard").fit(table)
    features = encoder.transform(table)
    for column in ("age", "income", "city", "smoker", "since", "size"):
        block = features[:, encoder.feature_columns_ == column]
        assert np.nanvar(block, axis=0).sum() == pytest.approx(1, rel=1e-9), column


def test_features_do_not_depend_on_units(table):
    other = table.assign(age=table["age"] * 365 + 17, income=table["income"] / 1000)
    assert np.allclose(
        TableEncoder().fit_transform(table), TableEncoder().fit_transform(other), rtol=1e-9, equal_nan=True
    )


def test_a_weight_multiplies_squared_distances(table):
    plain = TableEncoder().fit_transform(table[["age", "city"]])
    heavy = TableEncoder(weights={"city": 4}).fit_transform(table[["age", "city"]])
    assert np.allclose(heavy[:, 0], plain[:, 0], equal_nan=True)
    assert np.allclose(heavy[:, 1:], 2 * plain[:, 1:], equal_nan=True)


def polars_of(frame):
    return pl.from_pandas(frame.assign(size=frame["size"].astype(object)))


LIBRARIES = {
    "polars": polars_of,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "objects": lambda frame: frame.astype(object),
    "arrow types": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "columns": lambda frame: {name: list(frame[name]) for name in frame},
    "other order": lambda frame: frame[frame.columns[::-1]].assign(more=1),
    "array": lambda frame: frame.to_numpy(dtype=object),
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_tables_from_all_libraries_have_the_same_features(table, library):
    encoder = TableEncoder().fit(table)
    features = encoder.transform(LIBRARIES[library](table))
    assert np.array_equal(features, encoder.transform(table), equal_nan=True)


@pytest.mark.parametrize("library", ["polars", "pyarrow", "arrow types"])
def test_a_fit_is_the_same_for_tables_from_all_libraries(table, library):
    if library == "polars":  # polars categories have no order
        table = table.assign(size=table["size"].astype(object))
    assert TableEncoder().fit(LIBRARIES[library](table)).columns_ == TableEncoder().fit(table).columns_


def test_a_file_that_was_read_as_text_gives_the_same_features(table):
    table = table.assign(size=table["size"].astype(object))
    text = {name: ["" if pd.isna(cell) else str(cell) for cell in table[name]] for name in table}
    encoder = TableEncoder().fit(text)
    assert facts(encoder, "since")["kind"] == "date"
    assert np.allclose(encoder.transform(text), TableEncoder().fit_transform(table), equal_nan=True)


def test_categories_of_polars_and_pyarrow_are_categories(table):
    text = table["city"].astype(object)
    expected = TableEncoder().fit(text.to_frame()).columns_
    frame = pl.DataFrame({"city": pl.Series(list(text.where(text.notna(), None)), dtype=pl.Categorical)})
    assert TableEncoder().fit(frame).columns_ == expected


def test_ordered_categories_are_ordered_in_tables_from_all_libraries(table):
    sizes = table[["size"]]
    values = [None if pd.isna(cell) else cell for cell in sizes["size"]]
    enumeration = pl.DataFrame({"size": pl.Series(values, dtype=pl.Enum(["small", "medium", "large", "huge"]))})
    arrow = pa.Table.from_pandas(sizes, preserve_index=False)
    expected = TableEncoder().fit(sizes)
    assert expected.columns_[0]["kind"] == "ordered"
    assert expected.columns_[0]["categories"] == ["small", "medium", "large"]
    frames = [enumeration, arrow]
    if tuple(map(int, pl.__version__.split(".")[:2])) >= (1, 40):  # which exports the order
        frames.append(enumeration.to_arrow())
    for other in (*frames, *({"size": frame["size"]} for frame in (sizes, enumeration, arrow))):
        encoder = TableEncoder().fit(other)
        assert encoder.columns_ == expected.columns_
        assert np.array_equal(encoder.transform(other), expected.transform(sizes), equal_nan=True)
    assert TableEncoder(categorical=["size"]).fit(enumeration).columns_[0]["kind"] == "category"


@pytest.mark.parametrize(
    ("orders", "expected"),
    [
        ([["low", "high"], ["low", "middle", "high"]], ["low", "middle", "high"]),
        ([["low", "middle"], ["low", "high"]], None),  # the order of middle and high is unknown
        ([["low", "high"], ["high", "low"]], None),
    ],
)
def test_parts_of_a_table_may_list_some_of_the_ordered_categories(orders, expected):
    chunks = [
        pa.DictionaryArray.from_arrays(pa.array(np.arange(18) % len(order)), order, ordered=True)
        for order in orders
    ]
    facts = TableEncoder().fit(pa.table({"grade": pa.chunked_array(chunks)})).columns_[0]
    assert facts["kind"] == ("category" if expected is None else "ordered")
    assert expected in (None, facts["categories"])


def test_time_zones_and_durations_are_read():
    moments = pd.date_range("2026-03-01", periods=30, freq="h", tz="Europe/Paris")
    frame = pd.DataFrame({"at": moments, "took": pd.to_timedelta(np.arange(30) % 7, unit="h")})
    encoder = TableEncoder().fit(frame)
    assert [facts["kind"] for facts in encoder.columns_] == ["date", "number"]
    naive = frame.assign(at=moments.tz_convert("UTC").tz_localize(None))
    assert np.array_equal(encoder.transform(frame), encoder.transform(naive))
    objects = encoder.transform(frame.astype(object))
    assert np.allclose(objects, encoder.transform(frame))


@pytest.mark.parametrize(("missing", "expected"), [("keep", np.nan), ("impute", 0.0)])
def test_a_missing_value_stays_or_becomes_zero_in_all_features_of_its_column(table, missing, expected):
    encoder = TableEncoder(missing=missing).fit(table)
    features = encoder.transform(table)
    for row, column in enumerate(["age", "income", "city", "smoker", "since", "size"]):
        block = features[row, encoder.feature_columns_ == column]
        assert np.array_equal(block, np.full(len(block), expected), equal_nan=True)
    assert np.isnan(features[6:]).sum() == 0


def test_an_unknown_category_is_equally_far_from_all_known_categories(table):
    table["plan"] = np.where(np.arange(N) % 3, "basic", "premium")
    for missing in ("keep", "impute"):
        encoder = TableEncoder(missing=missing).fit(table[["city", "plan", "size"]])
        known_features = encoder.transform(table[["city", "plan", "size"]].iloc[10:])
        new = pd.DataFrame({"city": ["Berlin"], "plan": ["new"], "size": ["huge"]})
        (features,) = encoder.transform(new)
        assert not features.any()
        for column in ("city", "plan"):
            block = known_features[:, encoder.feature_columns_ == column]
            assert np.ptp((block**2).sum(axis=1)) == pytest.approx(0, abs=1e-12)


def test_a_category_called_other_is_pooled_with_rare_ones():
    cells = [*["other"] * 50, *["a"] * 40, *["b"] * 30, "c", "d"]
    encoder = TableEncoder(max_categories=3).fit({"x": cells})
    assert facts(encoder, "x")["categories"] == ["a", "other"]
    assert facts(encoder, "x")["frequencies"] == pytest.approx([40 / 122, 82 / 122])


def test_rare_categories_share_a_feature_and_so_do_new_ones():
    cities = [f"city {k % 50}" if k % 2 else "capital" for k in range(400)]
    encoder = TableEncoder(max_categories=4).fit(pd.DataFrame({"city": cities}))
    assert facts(encoder, "city")["pooled"]
    assert encoder.feature_categories_[-1] == "other"
    assert len(encoder.feature_categories_) == 4
    (new,) = encoder.transform(pd.DataFrame({"city": ["city 999"]}))
    assert new[-1] > 0
    assert "(rare ones merged as 'other')" in encoder.describe()


def test_free_text_and_numbers_of_rows_are_left_out_of_tables_but_not_of_arrays():
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "remark": [f"remark {random.integers(60)}" for _ in range(60)],
            "customer_id": random.permutation(10_000)[:60],
            "row": np.arange(60),
            "amount": random.permutation(10_000)[:60],
        }
    )
    encoder = TableEncoder().fit(frame)
    assert [facts.get("reason") for facts in encoder.columns_] == ["text", "identifier", "identifier", None]
    assert TableEncoder().fit(frame[["row", "amount"]].to_numpy()).transform(np.zeros((1, 2))).shape == (1, 2)


def test_columns_can_be_dropped_and_codes_be_categories(table):
    frame = table[["age", "city"]].assign(code=np.arange(N) % 4)
    encoder = TableEncoder(drop=["age"], categorical=["code"]).fit(frame)
    assert facts(encoder, "age")["reason"] == "dropped"
    assert facts(encoder, "code")["categories"] == ["0", "1", "2", "3"]
    # Floats, because of missing values, and text are the same codes.
    for codes in ([1.0, np.nan], ["1", None]):
        features = encoder.transform(pd.DataFrame({"city": ["Rome", "Rome"], "code": codes}))
        assert features[0, encoder.get_feature_names_out() == "code=1"] > 0
        assert np.isnan(features[1, encoder.feature_columns_ == "code"]).all()


def test_a_few_wrong_numbers_do_not_change_the_scale():
    random = np.random.default_rng(0)
    ages = random.normal(40, 10, 500)
    wrong = np.where(np.arange(500) == 7, 4e6, ages)
    without_errors, with_errors = (TableEncoder().fit(pd.DataFrame({"age": values})) for values in (ages, wrong))
    assert facts(with_errors, "age")["scale"] == pytest.approx(facts(without_errors, "age")["scale"], rel=0.05)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_columns_in_which_only_a_few_values_differ_are_scaled_by_all_of_them(unit):
    values = np.full(1000, 5.0)
    values[[3, 400]] = 9
    features = TableEncoder().fit_transform(pd.DataFrame({"value": unit * values}))[:, 0]
    np.testing.assert_allclose(features, (values - values.mean()) / values.std(), rtol=1e-9)


def test_names_and_groups_of_features_identify_columns(table):
    encoder = TableEncoder().fit(table)
    names = encoder.get_feature_names_out().tolist()
    assert names == ["age", "income", "city=Oslo", "city=Paris", "city=Rome", "smoker=True", "since", "size"]
    assert encoder.feature_columns_.tolist() == ["age", "income", *["city"] * 3, "smoker", "since", "size"]
    assert encoder.feature_categories_ == [None, None, "Oslo", "Paris", "Rome", "True", None, None]


def test_features_are_converted_back_to_values(table):
    encoder = TableEncoder().fit(table)
    values = pd.DataFrame(encoder.inverse_transform(encoder.transform(table)), index=table.index)
    assert np.allclose(values["income"], table["income"], equal_nan=True)
    for column in ("city", "size"):
        assert (values[column] == table[column]).sum() == N - 1
        assert pd.isna(values[column]).sum() == 1
    assert (values["since"] == table["since"]).sum() == N - 1
    with pytest.raises(ValueError, match="X must have 8 features"):
        encoder.inverse_transform(np.zeros((2, 3)))


def test_facts_survive_the_round_trip_through_json(table):
    encoder = TableEncoder().fit(table)
    other = clone(encoder)
    other.columns_ = json.loads(json.dumps(encoder.columns_, allow_nan=False))
    other.n_features_in_, other.feature_names_in_ = encoder.n_features_in_, encoder.feature_names_in_
    assert np.array_equal(other.transform(table), encoder.transform(table), equal_nan=True)


def test_output_may_be_a_table_with_the_index_of_the_input(table):
    encoder = TableEncoder().set_output(transform="pandas").fit(table)
    features = encoder.transform(table)
    assert features.index.equals(table.index)
    assert features.columns.tolist() == encoder.get_feature_names_out().tolist()
    assert isinstance(encoder.set_output(transform="polars").transform(table), pl.DataFrame)


def test_a_pipeline_takes_the_table(table):
    pipeline = make_pipeline(TableEncoder(missing="impute"), ECM(2, random_state=0)).fit(table)
    assert pipeline.predict(table.tail(3)).shape == (3,)


def test_sentences_describe_the_encoding(table):
    sentences = TableEncoder(weights={"age": 2}).fit(table).describe().split("\n")
    assert sentences[0] == "6 columns of 9 encoded as 8 features."
    assert sentences[1].startswith("customer: left out, because all its values are different")
    assert "numbers from 18 to 79, divided by their spread (18.3); weight 2; 1 % missing." in sentences[2]
    assert "logarithms" in sentences[3]
    assert "yes or no, False (67 %)" in sentences[5]
    assert "dates from 2020-01-11 to 2022-06-18" in sentences[6]
    assert "small < medium < large" in sentences[7]


def bad_tables(table):
    yield table.drop(columns=["age", "city"]), "lacks columns .*'age', 'city'"
    yield table.assign(age="unknown"), "'age' contains 'unknown'"
    yield table.assign(since="yesterday"), "'since' contains 'yesterday', but had dates"
    yield table.assign(since=7), "'since' contains 7, but had dates"
    yield table.assign(smoker="perhaps"), "'smoker' contains 'perhaps', but had yes or no"
    yield table.assign(smoker=2.0), "'smoker' contains 2.0, but had yes or no"
    yield table.assign(age=pd.Timestamp("2020-01-01")), "'age' contains 2020-01-01.*, but had only numbers"
    yield table.assign(age=pd.Timedelta("1h")), "'age' contains .*, but had only numbers"
    yield table.assign(age=[pd.Timestamp("2020-01-01").date()] * N), "'age' contains 2020-01-01, but"
    yield table.assign(age="12_3"), "'age' contains '12_3'"
    yield table.assign(age=np.inf), "infinity, in the column 'age'"
    yield np.zeros((3, 2)), "expecting 9 features"
    yield table.iloc[:0], "0 sample"


def test_errors_name_the_columns_of_new_tables_that_do_not_fit(table):
    encoder = TableEncoder().fit(table)
    for bad, words in bad_tables(table):
        with pytest.raises(ValueError, match=words):
            encoder.transform(bad)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"missing": "drop"}, "missing must be one of"),
        ({"scaling": "robust"}, "scaling must be one of"),
        ({"max_categories": 1}, "max_categories must be a whole number of at least 2"),
        ({"drop": ["agee"]}, "drop contains columns that X does not have: \\['agee'\\]"),
        ({"categorical": "city"}, "categorical must be a list of column names"),
        ({"weights": {"age": 0}}, "weights\\['age'\\] must be a number above 0"),
    ],
)
def test_errors_name_invalid_parameters(table, parameters, words):
    with pytest.raises(ValueError, match=words):
        TableEncoder(**parameters).fit(table)


def test_a_table_without_usable_columns_is_rejected_with_the_reasons(table):
    with pytest.raises(ValueError, match=r"no column that distinguishes rows.*\n.*identifier"):
        TableEncoder().fit(table[["customer", "country", "nothing"]])
    with pytest.raises(ValueError, match="2 columns with the name 'age'"):
        TableEncoder().fit(table[["age", "age"]])


def test_a_failed_refit_preserves_the_old_fit(table):
    encoder = TableEncoder().fit(table)
    before = dict(vars(encoder))
    with pytest.raises(ValueError, match="infinity"):
        encoder.fit(pd.DataFrame({"a": [np.inf, 1.0]}))
    assert vars(encoder).keys() == before.keys()
    assert all(vars(encoder)[name] is before[name] for name in before)
