"""Checks of values that were read from a file: kind, shape, range and size."""

import math

import numpy as np
import pytest

from evlearn.storage.codec import array_of, describe_errors, read_json, table_of
from evlearn.storage.fields import (
    array,
    check_keys,
    flag,
    instance,
    number,
    optional,
    quadratic_forms,
    shortened,
    text,
    whole,
)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"a": 1, "a": 2}', "a name occurs twice"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not text in UTF-8"),
        (b'"\\ud800"', "not text in UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b"9" * 5000, "a number that is too large"),
    ],
)
def test_invalid_json_is_refused(content, reason):
    with pytest.raises(ValueError, match=f"^x is not a thing that can be read: .*{reason}.*Do this.$"):  # noqa: SIM117
        with describe_errors("x", "a thing", "Do this."):
            read_json(content)


def test_json_with_a_byte_order_mark_is_read():
    assert read_json(b'\xef\xbb\xbf{"\xc3\xa4": [1]}') == {"ä": [1]}


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MemoryError(), "more memory than there is"),
        (KeyError("a"), "its structure is broken"),
        (OverflowError("x"), "a number that is too large"),
        (ValueError("so it is."), "so it is. Do this."),
    ],
)
def test_any_error_becomes_a_value_error_with_the_name_of_the_file(error, reason):
    with (
        pytest.raises(ValueError, match=f"^x is not a thing.*{reason}"),
        describe_errors("x", "a thing", "Do this."),
    ):
        raise error


def stored(kind, shape, values):
    return {"type": kind, "shape": shape, "values": values}


@pytest.mark.parametrize(
    "content",
    [
        stored("float64", [2, 2], [1.0, 2, 3, 4]),
        stored("float32", [2], ["inf", "1.5"]),
        stored("int32", [3], [1, 2, 3]),
        stored("bool", [1], [True]),
        stored("str", [2], ["a", "ä"]),
        stored("float64", [0, 20], []),
    ],
)
def test_an_array_is_read(content):
    assert list(array_of("x", content).shape) == content["shape"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (7, "object with names"),
        ({"type": "float64", "shape": [1]}, "lacks 'values'"),
        (stored("float64", [1], [1.0]) | {"more": 1}, "must not have 'more'"),
        (stored("object", [1], [1]), "must be an array of one of"),
        (stored(["float64"], [1], [1]), "must be an array of one of"),
        (stored("float64", 1, [1.0]), "no valid shape"),
        (stored("float64", [1.0], [1.0]), "no valid shape"),
        (stored("float64", [True], [1.0]), "no valid shape"),
        (stored("float64", [1] * 5, [1.0]), "no valid shape"),
        (stored("float64", [-1, -1], [1.0]), "claims the shape"),
        (stored("float64", [10**12], [1.0]), "claims the shape .* and brings 1 values"),
        (stored("float64", [0, 10**12], []), "empty and claims the shape"),
        (stored("float64", [2], [[1.0], [2.0]]), "values of another kind"),
        (stored("float64", [2], [1.0, None]), "values of another kind"),
        (stored("float64", [2], [1.0, "2"]), "values of another kind"),
        (stored("int64", [1], [1.5]), "values of another kind"),
        (stored("int64", [2], [1, "2"]), "values of another kind"),
        (stored("int64", [1], ["1"]), "values of another kind"),
        (stored("float64", [2], ["1", 2.0]), "values of another kind"),
        (stored("bool", [1], [2]), "values of another kind"),
        (stored("float64", [1], "x"), "no list of values"),
    ],
)
def test_an_array_with_false_claims_is_refused(content, reason):
    with pytest.raises(ValueError, match=reason):
        array_of("x", content)


@pytest.mark.parametrize("value", [2**70, 10**400])
def test_a_number_outside_of_the_type_is_refused(value):
    with pytest.raises(ValueError, match="too large"), describe_errors("x", "a thing", ""):
        array_of("x", stored("int64", [1], [value]))


def test_a_table_has_rows_of_numbers():
    assert table_of("x", [[1, 2.5]], 2).tolist() == [[1, 2.5]]
    for rows in ([], [[1]], [[1, 2], [1]], [1, 2], "ab", None, {"a": 1}):
        with pytest.raises(ValueError, match="rows of 2 numbers each"):
            table_of("x", rows, 2)
    with pytest.raises(ValueError, match="numbers only"):
        table_of("x", [["1", 2]], 2)


HUGE = 10**400
ACCEPTED_AND_REFUSED = {
    "number": (number(), [0, 1.5, -3], ["1", None, True, math.inf, math.nan, HUGE]),
    "positive": (number(0, above=True), [1e-300], [0, -1]),
    "bounded": (number(0, 1), [0, 1, 0.5], [1.1, math.nan]),
    "endless": (number(0, finite=False), [math.inf, 2**63 - 1], [-math.inf, math.nan, 2**63, HUGE]),
    "whole": (whole(1), [1, 5], [0, 1.0, True, "1", None, 2**63]),
    "flag": (flag, [True, False], [0, 1, None, "true"]),
    "text": (text(), ["a"], [1, None, ["a"]]),
    "choice": (text("a", "b"), ["a"], ["c", "", None]),
    "array": (
        array(1),
        [np.ones(2), np.empty(0)],
        [np.ones((1, 1)), np.array([np.nan]), np.array([np.inf]), [1.0]],
    ),
    "any array": (array(1, finite=False), [np.array([np.nan, np.inf])], [np.arange(3)]),
    "indices": (array(1, "i", low=0), [np.arange(3)], [np.array([-1]), np.ones(2)]),
    "single precision": (array(1, low=1e-100), [np.ones(1, np.float32)], [np.zeros(1, np.float32)]),
    "optional": (optional(flag), [None, True], [1]),
    "instance": (instance(dict), [{}], [[], None]),
}


@pytest.mark.parametrize("name", ACCEPTED_AND_REFUSED)
def test_a_check_rejects_invalid_values_and_names_the_place(name):
    check, accepted, rejected = ACCEPTED_AND_REFUSED[name]
    for value in accepted:
        check("here", value)
    for value in rejected:
        with pytest.raises(ValueError, match=r"^here must "):
            check("here", value)


def test_keys_and_short_words_for_long_values():
    check_keys("x", {"a": 1, "b": 2}, ["a"], ["b"])
    assert len(shortened("x" * 10_000)) < 60
    assert shortened(10**5000) == "a number of more than 40 digits"
    assert shortened(np.ones((2, 3))) == "an array of shape (2, 3) and type float64"


@pytest.mark.parametrize(
    ("matrix", "reason"),
    [
        ([[1.0, 2.0], [0.0, 1.0]], "symmetric"),
        ([[1.0, 2.0], [2.0, 1.0]], "positive semi-definite"),
        ([[1e200, 0.0], [0.0, 1.0]], "of at most 1e"),
        ([[1.0, float("nan")], [float("nan"), 1.0]], "finite"),
    ],
)
def test_metrics_are_those_of_squared_distances(matrix, reason):
    quadratic_forms("metrics", np.array([[[2.0, 1.0], [1.0, 2.0]], [[1.0, 0.0], [0.0, 0.0]]]))
    with pytest.raises(ValueError, match=f"metrics must hold .*{reason}"):
        quadratic_forms("metrics", np.array([matrix]))
