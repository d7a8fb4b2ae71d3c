"""Kinds of mass functions: by their definitions, and by what else is true of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evlearn import belief as bf
from evlearn.belief import FocalSets, MassFunction
from tests.strategies import mass_functions

KINDS = ["normal", "dogmatic", "vacuous", "logical", "bayesian", "simple", "consonant"]
EXAMPLES = {
    "a": {"normal", "dogmatic", "logical", "bayesian", "simple", "consonant"},
    "a,b": {"normal", "dogmatic", "logical", "simple", "consonant"},
    "Ω": {"normal", "vacuous", "logical", "simple", "consonant"},
    "": {"dogmatic", "logical", "simple", "consonant"},
    "a|b": {"normal", "dogmatic", "bayesian"},
    "a|Ω": {"normal", "simple", "consonant"},
    "a|a,b|Ω": {"normal", "consonant"},
    "|a|a,b": {"dogmatic", "consonant"},
    "a,b|b,c": {"normal", "dogmatic"},
    "a,b|b,c|Ω": {"normal"},
}


@pytest.mark.parametrize("sets", EXAMPLES)
def test_examples_of_the_books(sets):
    parts = sets.split("|")
    m = MassFunction(["a", "b", "c"], dict.fromkeys(parts, 1 / len(parts)))
    assert {kind for kind in KINDS if getattr(m, f"is_{kind}")()} == EXAMPLES[sets]
    # Rounding is no mass.
    sums = np.ones((2, 8)) * 1e-12 + m.to_array(FocalSets.full(["a", "b", "c"]))
    for kind in KINDS:
        found = getattr(bf, f"is_{kind}")(sums, FocalSets.full(["a", "b", "c"]))
        assert found.tolist() == [kind in EXAMPLES[sets]] * 2


@given(mass_functions())
def test_kinds_are_what_focal_sets_say(drawn):
    sets, masses = drawn
    members = [set(np.flatnonzero(row).tolist()) for row in sets.membership]
    frame = set(range(sets.frame_size))
    kinds = {kind: getattr(bf, f"is_{kind}")(masses, sets) for kind in KINDS}
    for number, row in enumerate(masses):
        focal = [one for one, mass in zip(members, row, strict=True) if mass > 0]
        expected = {
            "normal": set() not in focal,
            "dogmatic": frame not in focal,
            "vacuous": focal == [frame],
            "logical": len(focal) == 1,
            "bayesian": all(len(one) == 1 for one in focal),
            "simple": len([one for one in focal if one != frame]) <= 1,
            "consonant": all(one <= other or other <= one for one in focal for other in focal),
        }
        assert {kind: bool(found[number]) for kind, found in kinds.items()} == expected


@given(mass_functions(normal=True, full=True))
def test_bayesian_ones_have_one_number_for_belief_and_plausibility_and_consonant_ones_a_maximum(drawn):
    sets, masses = drawn
    bel, pl = bf.belief(masses, sets), bf.plausibility(masses, sets)
    same = np.isclose(bel, pl).all(axis=1)
    np.testing.assert_array_equal(bf.is_bayesian(masses, sets), same)
    largest = np.where(sets.membership, bf.contour(masses, sets)[:, None], 0).max(axis=2)
    np.testing.assert_array_equal(bf.is_consonant(masses, sets), np.isclose(pl, largest).all(axis=1))


@given(mass_functions(omega=True), st.floats(0.01, 0.99))
def test_doubt_ends_dogma(drawn, rate):
    sets, masses = drawn
    assert not bf.is_dogmatic(bf.discount(masses, sets, rate), sets).any()


def test_shapes_stay():
    masses = np.zeros((2, 3, 4))
    masses[..., 1] = 1
    for kind in KINDS:
        assert getattr(bf, f"is_{kind}")(masses, FocalSets.full(2)).shape == (2, 3)
        assert getattr(bf, f"is_{kind}")(masses[0, 0], FocalSets.full(2)).shape == ()
