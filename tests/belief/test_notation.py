"""Tests of texts of sets, for names with any characters."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evlearn.belief import FocalSets, MassFunction
from evlearn.belief.notation import format_name

HOSTILE = (
    "a,b",
    " a",
    "a}",
    "{a",
    "",
    " ",
    "Ω",
    "∅",
    '"',
    '"a"',
    "a\nb",
    "\x00",
    "$x^$",
    "0",
    "\\",
    "\u2028",
    "{}",
)

names = st.lists(st.text(), min_size=1, max_size=4, unique=True) | st.permutations(HOSTILE).map(
    lambda all: all[:4]
)


@pytest.mark.slow
@given(names)
def test_labels_are_read_as_their_sets_for_any_names(names):
    sets = FocalSets.full(names)
    assert len(set(sets.labels)) == len(sets)
    assert [sets.index(label) for label in sets.labels] == list(range(len(sets)))
    assert [sets.index([name]) for name in names] == sets.singleton_positions.tolist()
    assert FocalSets(sets.labels, names) == sets


@given(names)
@pytest.mark.slow
def test_mass_functions_are_printed_for_any_names(names):
    m = MassFunction(names)
    m[[names[0]]] = 0.5
    m["Ω"] = m["Ω"] + 0.5
    assert all(label in repr(m) for label in m)
    assert len(repr(m).split("\n")) == len(m)
    assert {label: m[label] for label in m}.keys() == set(m)
    assert m._repr_html_()


def test_only_ambiguous_names_are_quoted():
    ordinary = ["setosa", "New York", "5-7", "β", "x_1", "C:\\data", "l'eau", "50 %", "100\u00a0km", "$"]
    assert [format_name(name) for name in ordinary] == ordinary
    assert FocalSets.full(["a,b", "c", " d"]).labels[4:6] == ('{"a,b",c}', '{"a,b"," d"}')
    assert format_name("a\nb") == '"a\\nb"'


def test_unnecessary_quotes_are_accepted():
    sets = FocalSets.full(["a", "b,c", "d"])
    assert sets.index('"a"') == sets.index("a") == sets.index('{ "a" }')
    assert sets.index('a, "b,c"') == sets.index(["b,c", "a"]) == sets.index('{"b,c",a}')
    assert sets.index('{"a", "b,c", d}') == sets.index("Ω")
    assert FocalSets.full(["Ω", "x"]).index('"Ω"') == 1
    assert FocalSets.full(["Ω", "x"]).index("Ω") == 3


def test_duplicate_names_are_errors():
    with pytest.raises(ValueError, match="contains the name 'b' more than once; names must be different"):
        FocalSets.full(["a", "b", "c", "b"])


def test_many_names_are_read_in_one_pass():
    short_frame, long_frame = [str(k) for k in range(2_000)], [str(k) for k in range(16_000)]
    seconds = []
    for frame in (short_frame, long_frame):
        start = time.process_time()
        FocalSets([["0"], ["1"]], frame)
        seconds.append(time.process_time() - start)
    assert seconds[1] < 30 * max(
        seconds[0], 5e-3
    )  # 8 times the names; 64 times the work if the cost were quadratic
