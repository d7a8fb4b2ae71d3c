"""Names of elements may hold any character, and the text of a set is read back as that set."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evlearn.belief import FocalSets, MassFunction
from evlearn.belief.notation import written

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
def test_every_label_is_read_back_as_its_set_whatever_the_names(names):
    sets = FocalSets.full(names)
    assert len(set(sets.labels)) == len(sets)
    assert [sets.index(label) for label in sets.labels] == list(range(len(sets)))
    assert [sets.index([name]) for name in names] == sets.singleton_positions.tolist()
    assert FocalSets(sets.labels, names) == sets


@given(names)
def test_a_mass_function_prints_whatever_the_names(names):
    m = MassFunction(names)
    m[[names[0]]] = 0.5
    m["Ω"] = m["Ω"] + 0.5
    assert all(label in repr(m) for label in m)
    assert len(repr(m).split("\n")) == len(m)
    assert {label: m[label] for label in m}.keys() == set(m)
    assert m._repr_html_()


def test_ordinary_names_stand_as_they_are_and_others_in_quotes():
    ordinary = ["setosa", "New York", "5-7", "β", "x_1", "C:\\data", "l'eau", "50 %", "100\u00a0km", "$"]
    assert [written(name) for name in ordinary] == ordinary
    assert FocalSets.full(["a,b", "c", " d"]).labels[4:6] == ('{"a,b",c}', '{"a,b"," d"}')
    assert written("a\nb") == '"a\\nb"'


def test_a_set_may_be_written_with_quotes_where_they_are_not_needed():
    sets = FocalSets.full(["a", "b,c", "d"])
    assert sets.index('"a"') == sets.index("a") == sets.index('{ "a" }')
    assert sets.index('a, "b,c"') == sets.index(["b,c", "a"]) == sets.index('{"b,c",a}')
    assert sets.index('{"a", "b,c", d}') == sets.index("Ω")
    assert FocalSets.full(["Ω", "x"]).index('"Ω"') == 1
    assert FocalSets.full(["Ω", "x"]).index("Ω") == 3


def test_a_name_that_is_there_twice_is_refused_by_name():
    with pytest.raises(ValueError, match="has the name 'b' twice; names must be different"):
        FocalSets.full(["a", "b", "c", "b"])


def test_many_names_are_read_in_one_pass():
    many, more = [str(k) for k in range(2_000)], [str(k) for k in range(16_000)]
    spent = []
    for frame in (many, more):
        start = time.process_time()
        FocalSets([["0"], ["1"]], frame)
        spent.append(time.process_time() - start)
    assert spent[1] < 30 * max(spent[0], 5e-3)  # eight times the names; 64 times the work if each looks at all
