"""Tests of kinds of mass functions, by their definitions and properties."""

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
def test_examples(sets):
    parts = sets.split("|")
    m = MassFunction(["a", "b", "c"], dict.fromkeys(parts, 1 / len(parts)))
    assert {kind for kind in KINDS if getattr(m, f"is_{kind}")()} == EXAMPLES[sets]
    # Rounding errors do not count as mass.
    sums = np.ones((2, 8)) * 1e-12 + m.to_array(FocalSets.full(["a", "b", "c"]))
    for kind in KINDS:
        result = bf.is_kind(sums, FocalSets.full(["a", "b", "c"]), kind)
        assert result.tolist() == [kind in EXAMPLES[sets]] * 2


@given(mass_functions())
def test_kinds_follow_from_focal_sets(problem):
    sets, masses = problem
    members = [set(np.flatnonzero(row).tolist()) for row in sets.membership]
    frame = set(range(sets.frame_size))
    kinds = {kind: bf.is_kind(masses, sets, kind) for kind in KINDS}
    for number, row in enumerate(masses):
        focal = [subset for subset, mass in zip(members, row, strict=True) if mass > 0]
        expected = {
            "normal": set() not in focal,
            "dogmatic": frame not in focal,
            "vacuous": focal == [frame],
            "logical": len(focal) == 1,
            "bayesian": all(len(subset) == 1 for subset in focal),
            "simple": len([subset for subset in focal if subset != frame]) <= 1,
            "consonant": all(subset <= other or other <= subset for subset in focal for other in focal),
        }
        assert {kind: bool(result[number]) for kind, result in kinds.items()} == expected


@given(mass_functions(normal=True, full=True))
def test_bayesian_belief_equals_plausibility_and_consonant_plausibility_is_a_maximum(problem):
    sets, masses = problem
    bel, pl = bf.belief(masses, sets), bf.plausibility(masses, sets)
    is_equal = np.isclose(bel, pl).all(axis=1)
    np.testing.assert_array_equal(bf.is_kind(masses, sets, kind="bayesian"), is_equal)
    largest = np.where(sets.membership, bf.contour(masses, sets)[:, None], 0).max(axis=2)
    np.testing.assert_array_equal(bf.is_kind(masses, sets, kind="consonant"), np.isclose(pl, largest).all(axis=1))


@given(mass_functions(omega=True), st.floats(0.01, 0.99))
def test_discounted_mass_functions_are_not_dogmatic(problem, rate):
    sets, masses = problem
    assert not bf.is_kind(bf.discount(masses, sets, rate), sets, kind="dogmatic").any()


def test_shapes_are_preserved():
    masses = np.zeros((2, 3, 4))
    masses[..., 1] = 1
    for kind in KINDS:
        assert bf.is_kind(masses, FocalSets.full(2), kind).shape == (2, 3)
        assert bf.is_kind(masses[0, 0], FocalSets.full(2), kind).shape == ()
