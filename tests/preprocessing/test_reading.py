"""Columns of text that are amounts of money, percentages and dates: their types, and later tables."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import evlearn
from evlearn.preprocessing import GowerDistances, TableEncoder

N = 120


@pytest.fixture
def table():
    """Return a table of text, and the numbers and dates that are written in it."""
    random = np.random.default_rng(0)
    spend = np.exp(random.normal(7, 1, N)).round(2)
    rate = (100 * random.beta(2, 20, N)).round(1)
    days = np.datetime64("2024-01-01") + random.integers(0, 600, N)
    forms = [lambda v: f"€ {v:,.2f}", lambda v: f"{v:.2f} EUR", lambda v: f"€{v:,.2f}", str]
    text = pd.DataFrame(
        {
            "spend": [forms[k % 4](value) for k, value in enumerate(spend)],
            "german": [f"{v:,.2f} €".translate(str.maketrans(",.", ".,")) for v in spend],
            "rate": [f"{value}%" for value in rate],
            "day": [date.strftime("%d/%m/%Y") for date in pd.to_datetime(days)],
            "month": [date.strftime("%m/%d/%Y") for date in pd.to_datetime(days)],
            "point": [date.strftime("%d.%m.%Y") for date in pd.to_datetime(days)],
        }
    )
    values = pd.DataFrame(
        {"spend": spend, "german": spend, "rate": rate, "day": days, "month": days, "point": days}
    )
    for frame in (text, values):
        frame.loc[3, ["spend", "rate", "day"]] = None
    return text, values


def facts(encoder, column):
    return next(facts for facts in encoder.columns_ if facts["column"] == column)


def test_text_has_the_features_of_its_values(table):
    text, values = table
    encoder = TableEncoder().fit(text)
    sources = {facts["column"]: facts["source"] for facts in encoder.columns_}
    assert sources == {
        "spend": "amount",
        "german": "amount",
        "rate": "percentage",
        "day": "day/month/year",
        "month": "month/day/year",
        "point": "day/month/year",
    }
    assert [facts(encoder, name)["decimal"] for name in ("spend", "german")] == [".", ","]
    assert facts(encoder, "spend")["currency"] == "EUR"
    np.testing.assert_allclose(encoder.transform(text), TableEncoder().fit_transform(values), rtol=1e-12)
    np.testing.assert_allclose(
        GowerDistances().fit_transform(text), GowerDistances().fit_transform(values), rtol=1e-9, atol=1e-12
    )


def test_a_row_has_the_same_features_alone_and_in_every_library(table):
    text, _ = table
    encoder = TableEncoder().fit(text)
    features = encoder.transform(text)
    # A single cell could also be an amount in another format, or a date in another order.
    for k in (0, 1, 2, 3, 17):
        np.testing.assert_array_equal(encoder.transform(text.iloc[[k]]), features[[k]])
        np.testing.assert_array_equal(encoder.transform(pl.from_pandas(text.iloc[[k]])), features[[k]])
    np.testing.assert_array_equal(encoder.transform(text[::-1]), features[::-1])


def test_facts_are_stored_in_the_model_file(table, tmp_path):
    text, _ = table
    encoder = TableEncoder(missing="impute").fit(text)
    evlearn.save_model(encoder, tmp_path / "encoder.json")
    loaded = evlearn.load_model(tmp_path / "encoder.json")
    assert loaded.columns_ == encoder.columns_
    np.testing.assert_array_equal(loaded.transform(text), encoder.transform(text))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"currency": "EUR"', '"currency": "XYZ"'),
        ('"currency": "EUR"', '"currency": null'),
        ('"source": "percentage"', '"source": "amount"'),
        ('"source": "day/month/year"', '"source": "year"'),
        ('"decimal": ","', '"decimal": "]"'),
    ],
)
def test_a_model_file_with_a_wrong_format_is_rejected(table, tmp_path, old, new):
    evlearn.save_model(TableEncoder().fit(table[0]), tmp_path / "encoder.json")
    content = (tmp_path / "encoder.json").read_text(encoding="utf-8")
    assert old in content
    (tmp_path / "encoder.json").write_text(content.replace(old, new), encoding="utf-8")
    with pytest.raises(ValueError, match=r"encoder\.json is not a model that can be read"):
        evlearn.load_model(tmp_path / "encoder.json")


@pytest.mark.parametrize(
    ("column", "cell", "words"),
    [
        ("spend", "$ 5.00", "amounts of money in 1 currency"),
        ("spend", "5,00 €", "amounts of money in 1 currency"),
        ("german", "€ 1,234.50", "amounts of money in 1 currency"),
        ("rate", "0.05", "percentages"),
        ("rate", 0.05, "percentages"),
        ("day", "12/31/2025", "dates with the day first"),
        ("month", "31/12/2025", "dates with the month first"),
    ],
)
def test_later_cells_in_another_format_are_errors(table, column, cell, words):
    text, _ = table
    encoder = TableEncoder().fit(text)
    later = text.iloc[:2].astype(object)
    later.loc[1, column] = cell
    with pytest.raises(ValueError, match=f"the column '{column}' contains .*{words}"):
        encoder.transform(later)


def test_later_cells_may_be_numbers_and_dates(table):
    text, values = table
    encoder = TableEncoder().fit(text)
    later = values.assign(rate=text["rate"], point=text["day"].str.replace("/", "."))
    expected = encoder.transform(text)
    expected[3, list(encoder.get_feature_names_out()).index("point")] = np.nan
    np.testing.assert_allclose(encoder.transform(later), expected, rtol=1e-12)


def test_ambiguous_dates_are_reported():
    random = np.random.default_rng(0)
    dates = [f"{day:02d}/{month:02d}/2025" for day, month in random.integers(1, 13, (50, 2))]
    encoder = TableEncoder().fit({"date": dates, "value": random.normal(size=50)})
    assert facts(encoder, "date")["source"] == "day/month/year"
    assert "Check date: all dates could be month/day/year as well as day/month/year." in encoder.describe()
    encoder = TableEncoder().fit({"date": [*dates[1:], "31/01/2025"], "value": random.normal(size=50)})
    assert "Check date" not in encoder.describe()


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ([f"${k}.50" for k in range(25)] + [f"€{k}.50" for k in range(25)], "formats"),
        ([f"€1.{k:03d}" for k in range(50)], "formats"),
        ([f"€ {k}.50" for k in range(49)] + ["ask"], "mixed"),
        ([f"{k}%" for k in range(49)] + ["0.3"], "formats"),
        ([f"{k + 1:02d}/{13 + k}/2025" for k in range(10)] * 3 + ["31/12/2025"], "dates"),
    ],
)
def test_columns_in_several_formats_are_left_out_with_a_warning(cells, reason):
    values = np.random.default_rng(0).normal(size=len(cells))
    with pytest.warns(UserWarning, match="the column 'x' is left out"):
        encoder = TableEncoder().fit({"x": cells, "value": values})
    assert facts(encoder, "x")["reason"] == reason
