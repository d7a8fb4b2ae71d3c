"""Features of a row do not depend on other rows, chunks and order, also if text looks like numbers or dates."""

import io
import time
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.pipeline import make_pipeline

from evlearn.cluster import ECM, EVCLUS
from evlearn.preprocessing import GowerDistances, TableEncoder, gower_distances

N_ROWS = 200
MISSING = ["", "NA", "na", "N/A", "n/a", "NULL", "null", "none", "None", "NaN", "?", " ", None, np.nan]
#: Pools of cells; a column is drawn from one of them.
POOLS = {
    "codes": ["01", "1", "1.0", "A1", "B2", "007", " 7", "7 ", "1e3", "inf", "0x10"],
    "numbers only": ["01", "2", "3.50", "-4e1", "+5", ".5", "6.", "1e-3"],
    "dates": ["2020-01-01", "2021-12-31T10:00:00", "1999-06-30 12:30", "2020-01-01T00:00:00+02:00"],
    "dates and words": ["2020-01-01", "2020-01-02", "unknown", "2020-13-45", "01.02.2020"],
    "yes and no": ["true", "False", "TRUE"],
    "yes, no and words": ["yes", "no", "true", "False", "1", "0", "perhaps"],
    "words": ["red", "Red", "nan1", "nil", "-", "no", "12_3", "٣", "1,5"],
    "objects": [1, 1.0, 2, 2.5, "1", "2.5", "x", True, date(2020, 1, 1), datetime(2020, 1, 1, 5), Decimal("1.50")],
    "whole numbers": [1, 2.0, 3, np.int64(4), np.float32(0.1), 2**60 + 1, 2**60 + 3],
    "flags": [True, False, np.True_],
    "moments": [date(2020, 1, 1), datetime(2021, 5, 5, 12), np.datetime64("2022-02-02"), pd.Timestamp("2023")],
}


def random_table(random, n_rows, pools=tuple(POOLS), missing=0.1):
    """Return a table with a column from each of several pools, and a column of numbers as text."""
    table = {"number": [repr(float(value)) for value in random.normal(size=n_rows)]}
    for name in random.choice(pools, size=min(5, len(pools)), replace=False):
        pool = POOLS[name]
        # Rare cells make chunks in which a column looks like another type.
        shares = random.dirichlet(np.full(len(pool), 0.7))
        table[name] = [pool[k] for k in random.choice(len(pool), size=n_rows, p=shares)]
    for cells in table.values():
        for k in np.flatnonzero(random.random(n_rows) < missing):
            cells[k] = MISSING[random.integers(len(MISSING))]
    return table


def rows_of(table, rows):
    return {name: [cells[k] for k in rows] for name, cells in table.items()}


def in_chunks(function, table, random):
    """Return the concatenated results of chunks of random sizes."""
    n_rows = len(table["number"])
    borders = [0, *sorted(random.choice(np.arange(1, n_rows), 7, replace=False)), n_rows]
    chunks = [range(a, b) for a, b in pairwise(borders)]
    return np.concatenate([function(rows_of(table, rows)) for rows in chunks])


ESTIMATORS = {
    "TableEncoder": (TableEncoder, 50),
    "GowerDistances": (GowerDistances, 50),
    "few categories": (lambda: TableEncoder(max_categories=3, missing="impute"), 5),
    "categorical": (lambda: TableEncoder(categorical=["number"]), 5),
}


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.slow
def test_rows_have_the_same_features_alone_in_chunks_and_in_any_order(name):
    make, n_tables = ESTIMATORS[name]
    random = np.random.default_rng(list(ESTIMATORS).index(name))
    n_differences = 0
    for _ in range(n_tables):
        table = random_table(random, N_ROWS)
        encoder = make().fit(table)
        whole = encoder.transform(table)
        single_rows = np.concatenate([encoder.transform(rows_of(table, [k])) for k in range(N_ROWS)])
        order = random.permutation(N_ROWS)
        shuffled = encoder.transform(rows_of(table, order))
        chunks = in_chunks(encoder.transform, table, random)
        for other, expected in ((single_rows, whole), (chunks, whole), (shuffled, whole[order])):
            n_differences += int((~np.isclose(other, expected, rtol=0, atol=1e-9, equal_nan=True)).sum())
    assert n_differences == 0


CONTAINERS = {
    "list of records": lambda table: pd.DataFrame(
        [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    ),
    "objects of pandas": lambda table: pd.DataFrame(table, dtype=object),
    "array": lambda table: np.array([*table.values()], dtype=object).T,
    "lists": lambda table: [list(row) for row in zip(*table.values(), strict=True)],
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.slow
def test_a_single_row_has_the_same_features_in_every_container(container):
    random = np.random.default_rng(5)
    for _ in range(10):
        table = random_table(random, 60)
        encoder = TableEncoder().fit(table)
        whole = encoder.transform(table)
        assert np.array_equal(encoder.transform(CONTAINERS[container](table)), whole, equal_nan=True)
        for k in range(60):
            features = encoder.transform(CONTAINERS[container](rows_of(table, [k])))
            assert np.array_equal(features, whole[[k]], equal_nan=True), rows_of(table, [k])


TEXTS = ["codes", "numbers only", "dates", "dates and words", "yes and no", "yes, no and words", "words"]


@pytest.mark.slow
def test_text_tables_of_all_libraries_are_fitted_and_transformed_alike():
    random = np.random.default_rng(6)
    for _ in range(20):
        table = random_table(random, 100, TEXTS)
        table = {
            name: [None if cell is None or cell != cell else cell for cell in cells]
            for name, cells in table.items()
        }
        encoder = TableEncoder().fit(table)
        whole = encoder.transform(table)
        for other in (pd.DataFrame(table), pl.DataFrame(table), pa.table(table)):
            assert TableEncoder().fit(other).columns_ == encoder.columns_
            assert np.array_equal(encoder.transform(other), whole, equal_nan=True)
            assert np.array_equal(encoder.transform(other[:1]), whole[:1], equal_nan=True)


def test_a_file_that_pandas_reads_row_by_row_has_the_same_categories():
    # pandas turns 01 into 1, TRUE into True and 1e3 into 1000.0 if a whole column allows it.
    random = np.random.default_rng(7)
    pools = {
        "code": ["01", "007", "A1", "1e3", "2.50"],
        "flag": ["TRUE", "FALSE", "unknown"],
        "day": ["2020-01-01", "2020-05-05", "never"],
        "answer": ["true", "false"],
    }
    table = {name: random.choice(pool, 80).tolist() for name, pool in pools.items()}
    encoder = TableEncoder().fit(table)
    whole = encoder.transform(table)
    for k in range(80):
        text = ",".join(table) + "\n" + ",".join(cells[k] for cells in table.values())
        assert np.array_equal(encoder.transform(pd.read_csv(io.StringIO(text))), whole[[k]])
    dates = pd.read_csv(io.StringIO("code,flag,day,answer\n01,TRUE,2020-05-05,true"), parse_dates=["day"])
    expected = {"code": ["01"], "flag": ["TRUE"], "day": ["2020-05-05"], "answer": ["true"]}
    assert np.array_equal(encoder.transform(dates), encoder.transform(expected))


@pytest.mark.slow
def test_pipelines_give_a_row_the_same_masses_alone():
    random = np.random.default_rng(8)
    for _ in range(5):
        table = random_table(random, N_ROWS)
        model = make_pipeline(TableEncoder(), ECM(2, max_iter=10, tol=1e-1, random_state=0)).fit(table)
        whole = masses(model, table)
        single_rows = np.concatenate([masses(model, rows_of(table, [k])) for k in range(N_ROWS)])
        assert np.abs(single_rows - whole).max() <= 1e-9


def test_relational_pipelines_give_a_row_the_same_masses_alone():
    random = np.random.default_rng(9)
    table = random_table(random, 100)
    model = make_pipeline(GowerDistances(), EVCLUS(2, metric="precomputed", random_state=0)).fit(table)
    whole = masses(model, table)
    single_rows = np.concatenate([masses(model, rows_of(table, [k])) for k in range(0, 100, 5)])
    assert np.abs(single_rows - whole[::5]).max() <= 1e-9


def masses(model, table):
    return model[-1].predict_mass(model[:-1].transform(table)).masses


def test_rows_of_text_that_looks_like_numbers_are_at_distance_0_from_themselves():
    table = {"code": ["01", "1.0", "A1", "2020-01-01"] * 10, "x": np.random.default_rng(0).normal(size=40)}
    transformer = GowerDistances().fit(table)
    for k in range(4):
        assert transformer.transform(rows_of(table, [k]))[0, k] == 0
    assert gower_distances(table)[0, 4:].min() > 0


# Types of the fit


@pytest.mark.parametrize(
    "cells", [[1, 0, None], [1.0, 0.0, np.nan], ["true", "false", "NA"], ["TRUE", "no", ""], ["1", "0", None]]
)
def test_yes_and_no_may_be_written_in_other_ways_later(cells):
    encoder = TableEncoder().fit(pd.DataFrame({"smoker": [True, False, True]}))
    expected = encoder.transform(pd.DataFrame({"smoker": [True, False, None]}))
    assert np.array_equal(encoder.transform(pd.DataFrame({"smoker": cells})), expected, equal_nan=True)
    assert np.array_equal(encoder.transform({"smoker": cells}), expected, equal_nan=True)


@pytest.mark.parametrize(
    "cells", [np.array([1, 2]), np.array([1.0, 0.5]), ["yes", 2], ["1", "2"], ["no", "maybe"]]
)
def test_cells_that_are_not_boolean_are_an_error(cells):
    encoder = TableEncoder().fit({"smoker": [True, False, True]})
    with pytest.raises(ValueError, match=r"'smoker' contains .* had yes or no"):
        encoder.transform({"smoker": cells})


def test_a_number_matches_a_text_category_only_if_it_is_unique():
    unique, ambiguous = (
        TableEncoder().fit({"shop": [*texts] * 9}) for texts in (("01", "A1", "B"), ("01", "1.0", "B"))
    )
    number = {"shop": np.array([1])}
    assert np.array_equal(unique.transform(number), unique.transform({"shop": ["01"]}))
    assert not ambiguous.transform(number).any()
    assert ambiguous.transform({"shop": ["01"]}).any()


@pytest.mark.parametrize("token", ["NULL", "na", "none", "n/a", "#N/A", "nan", "?"])
def test_a_missing_value_token_does_not_change_the_type_of_a_column(token):
    random = np.random.default_rng(0)
    cells = [repr(float(value)) for value in random.normal(size=60)]
    cells[7] = token
    encoder = TableEncoder().fit({"a": cells})
    assert encoder.columns_[0]["kind"] == "number"
    assert np.isnan(encoder.transform({"a": cells})[:, 0]).tolist() == [k == 7 for k in range(60)]


def test_a_column_with_a_typing_error_is_left_out_with_a_warning():
    random = np.random.default_rng(0)
    table = {"a": [*map(repr, random.normal(size=59).tolist()), "1.2.3"], "b": random.normal(size=60)}
    with pytest.warns(
        UserWarning, match=r"'a' is left out, .* 1 other value\(s\) such as '1.2.3'"
    ) as warnings_raised:
        encoder = TableEncoder().fit(table)
    assert warnings_raised[0].filename == __file__
    assert encoder.columns_[0]["reason"] == "mixed"
    assert "most of its values are numbers, but not all" in encoder.describe()
    underscores = {"a": ["12_3", *table["a"][:59]], "b": table["b"]}
    with pytest.warns(UserWarning, match="'12_3'"):
        TableEncoder().fit(underscores)


def test_codes_that_were_numbers_are_found_in_text_and_keep_all_digits():
    codes = [2**60 + 1, 2**60 + 3, 7]
    frame = pd.DataFrame({"code": pd.array([*codes, None] * 3, dtype="Int64")})
    encoder = TableEncoder(categorical=["code"]).fit(frame)
    assert encoder.columns_[0]["categories"] == [str(code) for code in sorted(codes, key=str)]
    whole = encoder.transform(frame)
    for other in (
        frame[:3],
        {"code": [str(code) for code in codes]},
        {"code": codes},
        pl.DataFrame({"code": [*codes, None]}),
    ):
        assert np.array_equal(encoder.transform(other)[:3], whole[:3])
    assert np.array_equal(encoder.transform({"code": ["7.0", "007", 7.0, np.float32(7)]}), whole[[2] * 4])


def test_declared_categories_stay_text():
    for table in (
        pl.DataFrame({"zip": pl.Series(["01", "02", "10"] * 4, dtype=pl.Categorical)}),
        pd.DataFrame({"zip": pd.Categorical(["01", "02", "10"] * 4)}),
        pa.table({"zip": pa.array(["01", "02", "10"] * 4).dictionary_encode()}),
    ):
        encoder = TableEncoder().fit(table)
        assert encoder.columns_[0]["categories"] == ["01", "02", "10"]
        assert not encoder.transform({"zip": ["1"]}).any()
    text = {"zip": ["01", "02", "10"] * 4}
    assert TableEncoder(categorical=["zip"]).fit(text).columns_[0]["categories"] == ["01", "02", "10"]


def test_a_declared_category_that_is_a_missing_value_token_is_missing_as_in_text():
    cells = ["none", "basic", "pro", "NULL"] * 5
    text, frame = {"plan": cells}, pd.DataFrame({"plan": pd.Categorical(cells)})
    encoder = TableEncoder().fit(frame)
    assert encoder.columns_[0]["categories"] == ["basic", "pro"]
    assert np.array_equal(encoder.transform(frame), TableEncoder().fit_transform(text), equal_nan=True)


@pytest.mark.parametrize(
    "kind", [pa.date32(), pa.date64(), pa.timestamp("ns"), pa.timestamp("us", "Europe/Paris")]
)
def test_dates_of_arrow_may_have_missing_cells(kind):
    days = pa.array([date(2020, 1, 1), None, date(2021, 1, 1)] * 5).cast(pa.timestamp("us")).cast(kind)
    frame = pd.DataFrame({"day": pd.Series(days, dtype=pd.ArrowDtype(kind))})
    encoder = TableEncoder().fit(frame)
    assert encoder.columns_[0]["kind"] == "date"
    assert np.array_equal(encoder.transform(frame), encoder.transform(pa.table({"day": days})), equal_nan=True)
    assert np.array_equal(encoder.transform(frame[1:]), encoder.transform(frame)[1:], equal_nan=True)


def test_durations_are_not_numbers_of_another_unit():
    frame = pd.DataFrame({"took": pd.to_timedelta(np.arange(30) % 7, unit="h")})
    encoder = TableEncoder().fit(frame)
    assert np.array_equal(encoder.transform(frame.astype(object)[:1]), encoder.transform(frame)[:1])
    with pytest.raises(ValueError, match=r"'took' contains 3\.0, but had durations"):
        encoder.transform({"took": [3.0]})


def test_whole_numbers_that_count_rows_are_an_identifier_in_every_container():
    for cells in (
        np.arange(30),
        np.arange(30.0),
        [str(k) for k in range(30)],
        pd.array([*range(29), None], "Int64"),
    ):
        encoder = TableEncoder().fit(pd.DataFrame({"row": cells, "x": np.sin(np.arange(30))}))
        assert encoder.columns_[0].get("reason") == "identifier"


def seconds_of_fit(n_categories):
    frame = pd.DataFrame({"a": pd.Categorical([f"c{k}" for k in range(n_categories)] * 2)})
    best = np.inf
    for _ in range(3):
        start = time.process_time()
        encoder = TableEncoder().fit(frame)
        encoder.transform(frame)
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.slow
def test_time_grows_in_proportion_to_the_number_of_categories():
    # 8 times as many: 64 times as long if it were quadratic.
    assert seconds_of_fit(16_000) < 30 * seconds_of_fit(2_000)
