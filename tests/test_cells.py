"""Missing-value tokens and number formats of text cells."""

import pytest

from evlearn.utils.cells import NumberFormat, is_missing_text


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
    ],
)
def test_text_that_is_not_a_number_in_the_format_is_rejected(number_format, cell):
    assert number_format.parse(cell) is None
