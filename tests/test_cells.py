"""Missing-value tokens and number formats of text cells."""

import numpy as np
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
