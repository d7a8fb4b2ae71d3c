"""Missing-value tokens and number formats of text cells."""

from datetime import datetime

import numpy as np
import pytest

from evlearn.utils.cells import (
    NumberFormat,
    find_date_order,
    find_number_format,
    is_missing_text,
    parse_date,
    split_unit,
)


@pytest.mark.parametrize(
    "cell", ["", "  ", "?", "NA", "na", "N/A", "NaN", "NULL", "null", "None", " none ", "<NA>"]
)
def test_missing_value_tokens_are_recognized_in_any_case(cell):
    assert is_missing_text(cell)


@pytest.mark.parametrize("cell", ["0", "-", "no", "nil", "NAN1", "nano"])
def test_other_text_is_not_missing(cell):
    assert not is_missing_text(cell)


@pytest.mark.parametrize(
    ("number_format", "cell", "value"),
    [
        (NumberFormat(), " 1.5 ", 1.5),
        (NumberFormat(), "-.5e3", -500.0),
        (NumberFormat(), "5.", 5.0),
        (NumberFormat(), "INF", float("inf")),
        (NumberFormat(","), "1,5", 1.5),
        (NumberFormat(",", "."), "1.234.567,5", 1234567.5),
        (NumberFormat(",", "."), "1234567,5", 1234567.5),
        (NumberFormat(".", ","), "12,345", 12345.0),
        (NumberFormat(".", "'"), "12'345.25", 12345.25),
        (NumberFormat(",", " "), "12 345,25", 12345.25),
    ],
)
def test_numbers_are_parsed_in_their_format(number_format, cell, value):
    assert number_format.parse(cell) == value


@pytest.mark.parametrize(
    ("number_format", "cell"),
    [
        (NumberFormat(), "12_3"),
        (NumberFormat(), "1,5"),
        (NumberFormat(), "\u0661\u0662"),
        (NumberFormat(), "0x10"),
        (NumberFormat(), ""),
        (NumberFormat(), "."),
        (NumberFormat(), "e5"),
        (NumberFormat(","), "1.091"),
        (NumberFormat(","), "1.5"),
        (NumberFormat(",", "."), "1.5"),
        (NumberFormat(",", "."), "12.34.567"),
        (NumberFormat(",", "."), "1,234.567"),
        (NumberFormat(".", ","), "1,23"),
        (NumberFormat(".", ","), "1234,567"),
    ],
)
def test_text_that_is_not_a_number_in_the_format_is_rejected(number_format, cell):
    assert number_format.parse(cell) is None


CELLS = [
    "1",
    "-2.5",
    "+.5",
    "3.",
    "1e5",
    "1E-3",
    "",
    " ",
    " 7 ",
    "NA",
    "?",
    "12_3",
    "x",
    "inf",
    "1,5",
    "1.5.2",
    "٣",
    None,
]


@pytest.mark.parametrize("number_format", [NumberFormat(), NumberFormat(","), NumberFormat(",", ".")])
def test_a_column_is_parsed_like_its_cells(number_format):
    random = np.random.default_rng(0)
    for _ in range(500):
        cells = [CELLS[k] for k in random.integers(len(CELLS), size=random.integers(1, 6))]
        numbers, place = number_format.parse_all(cells)
        expected = [None if cell is None else number_format.parse(cell) for cell in cells]
        wrong = [
            k
            for k, cell in enumerate(cells)
            if cell is not None and expected[k] is None and not is_missing_text(cell)
        ]
        assert place == (wrong[0] if wrong else None)
        stop = len(cells) if place is None else place
        values = [np.nan if number is None else number for number in expected[:stop]]
        assert np.array_equal(numbers[:stop], values, equal_nan=True)


@pytest.mark.parametrize(
    ("cell", "unit", "number"),
    [
        ("€ 1,234.50", "EUR", "1,234.50"),
        ("1234.50 EUR", "EUR", "1234.50"),
        ("€1,234", "EUR", "1,234"),
        ("-$5", "USD", "-5"),
        ("€ -500.00", "EUR", "-500.00"),
        ("\u22125 £", "GBP", "-5"),
        ("1.234,50 €", "EUR", "1.234,50"),
        ("CHF 1'234.50", "CHF", "1'234.50"),
        ("12.5%", "%", "12.5"),
        ("12,5 %", "%", "12,5"),
        ("7", None, "7"),
        ("% 5", None, ""),
        ("€ 5 EUR", None, ""),
        ("-€ -5", None, ""),
        ("5 apples", None, ""),
        ("12 EURO", None, ""),
        ("€", None, ""),
    ],
)
def test_units_are_split_from_numbers(cell, unit, number):
    assert split_unit(cell) == (unit, number)


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["€ 1,234.50", "1234.50 EUR", "€1,234", "7"], [1234.5, 1234.5, 1234, 7]),
        (["1.234,50 €", "5 €", "1 234,5 €"], [1234.5, 5, 1234.5]),
        (["€1,234", "€950"], [1234, 950]),
        (["1.234 €", "950 €"], [1234, 950]),
        (["€45,000", "€52,500"], [45000, 52500]),
        (["12.5%", "-3%", "1.125 %"], [12.5, -3, 1.125]),
        (["1,125%", "2,250%"], [1.125, 2.25]),
        (["12,5 %", "3 %"], [12.5, 3]),
    ],
)
def test_marks_of_amounts_and_percentages_are_read_from_the_whole_column(cells, values):
    number_format = find_number_format(cells)
    assert number_format is not None
    assert [number_format.parse(cell) for cell in cells] == values
    assert number_format == NumberFormat.of_unit(number_format.decimal, number_format.unit)
    assert find_number_format(cells[::-1]) == number_format


@pytest.mark.parametrize(
    "cells",
    [
        ["€1.799", "€1.859"],  # prices of fuel, or thousands
        ["$5", "€5"],
        ["5%", "0.05"],
        ["€ 1,234.50", "1.234,50 €"],
        ["€5", "call us"],
        ["1,234.50", "7"],
        [],
    ],
)
def test_columns_without_a_common_format_have_none(cells):
    assert find_number_format(cells) is None


def test_an_amount_in_another_currency_or_format_is_rejected():
    euros = NumberFormat.of_unit(".", "EUR")
    assert euros.parse("€ 5.50") == euros.parse("5.5") == 5.5
    assert euros.parse("$ 5.50") is None
    assert euros.parse("5,50 €") is None
    assert euros.parse("5%") is None
    assert NumberFormat.of_unit(".", "%").parse("5") is None
    assert NumberFormat.of_unit(".", None) == NumberFormat()


@pytest.mark.parametrize(
    ("cells", "order", "ambiguous"),
    [
        (["31/12/2025", "01/02/2025"], "day/month/year", False),
        (["12/31/2025", "01/02/2025"], "month/day/year", False),
        (["01/02/2025", "03/04/2025"], "day/month/year", True),
        (["03/01/2025", "04/01/2025"], "month/day/year", False),  # the first of each month
        (["01/03/2025", "01/04/2025"], "day/month/year", False),
        (["05/05/2025", "06/06/2025"], "day/month/year", False),
        (["01.02.2025", "03.04.2025"], "day/month/year", False),
        (["31-12-2025 14:30", "1-2-2025"], "day/month/year", False),
        (["31/12/2025", "12/31/2025"], None, False),
        (["31/12/2025", "soon"], None, False),
        (["31/02/2025"], None, False),
        (["31/12.2025"], None, False),
        ([], None, False),
    ],
)
def test_the_order_of_day_and_month_is_read_from_the_whole_column(cells, order, ambiguous):
    assert find_date_order(cells) == (order, ambiguous)


def test_dates_are_parsed_in_their_order():
    assert parse_date("1/2/2025", "day/month/year") == datetime(2025, 2, 1)
    assert parse_date("1/2/2025 06:07:08", "month/day/year") == datetime(2025, 1, 2, 6, 7, 8)
    assert parse_date("13/13/2025", "day/month/year") is None
