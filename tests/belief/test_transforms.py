import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evlearn import belief as bf
from evlearn.belief import FocalSets
from strategies import families, mass_functions

TIGHT = {"rtol": 0, "atol": 1e-13}


@given(mass_functions())
def test_transforms_follow_their_definitions(problem):
    focal_sets, masses = problem
    sets = [set(subset) for subset in focal_sets]
    empty = np.array([not subset for subset in sets])
    for column, a in enumerate(sets):
        is_subset = np.array([b <= a for b in sets])
        is_intersecting = np.array([bool(b & a) for b in sets])
        is_superset = np.array([b >= a for b in sets])
        b = masses[:, is_subset].sum(axis=1)
        np.testing.assert_allclose(bf.implicability(masses, focal_sets)[:, column], b, **TIGHT)
        np.testing.assert_allclose(
            bf.belief(masses, focal_sets)[:, column], masses[:, is_subset & ~empty].sum(axis=1), **TIGHT
        )
        np.testing.assert_allclose(
            bf.plausibility(masses, focal_sets)[:, column], masses[:, is_intersecting].sum(axis=1), **TIGHT
        )
        np.testing.assert_allclose(
            bf.commonality(masses, focal_sets)[:, column], masses[:, is_superset].sum(axis=1), **TIGHT
        )


@given(mass_functions())
def test_masses_come_back_from_implicability_belief_and_commonality_on_any_family(problem):
    focal_sets, masses = problem
    for transform in (bf.implicability, bf.belief, bf.commonality):
        values = transform(masses, focal_sets)
        np.testing.assert_allclose(bf.masses_from(transform.__name__, values, focal_sets), masses, **TIGHT)


@given(mass_functions(full=True))
def test_masses_come_back_from_plausibility_on_full_families(problem):
    focal_sets, masses = problem
    back = bf.masses_from("plausibility", bf.plausibility(masses, focal_sets), focal_sets)
    np.testing.assert_allclose(back, masses, **TIGHT)


@given(mass_functions(full=True, positive=True))
def test_masses_come_back_from_canonical_weights(problem):
    focal_sets, masses = problem
    weights = bf.canonical_weights(masses, focal_sets)
    np.testing.assert_allclose(bf.masses_from("weights", weights, focal_sets), masses, rtol=0, atol=1e-11)


def test_the_canonical_weights_of_a_simple_mass_function_are_known():
    # Mass 0.3 on {1} and 0.7 on the frame: the weight of {1} is 0.7, and all others are 1.
    weights = bf.canonical_weights([0, 0, 0.3, 0.7], FocalSets.full(2))
    np.testing.assert_allclose(weights, [1, 1, 0.7, 1], **TIGHT)


@given(mass_functions(full=True))
def test_masses_come_back_in_single_precision_too(problem):
    focal_sets, masses = problem
    single = masses.astype(np.float32)
    for transform in (bf.implicability, bf.plausibility, bf.commonality):
        result = bf.masses_from(transform.__name__, transform(single, focal_sets), focal_sets)
        assert result.dtype == np.float32
        np.testing.assert_allclose(result, single, rtol=0, atol=2e-6)


@given(mass_functions(full=True))
def test_plausibility_is_total_belief_minus_belief_of_the_complement(problem):
    focal_sets, masses = problem
    complements = focal_sets.positions(~focal_sets.membership)
    total_belief = bf.belief(masses, focal_sets)[:, -1:]
    np.testing.assert_allclose(
        bf.plausibility(masses, focal_sets),
        total_belief - bf.belief(masses, focal_sets)[:, complements],
        **TIGHT,
    )


@given(mass_functions(normal=True))
def test_pignistic_probability_lies_between_belief_and_plausibility(problem):
    focal_sets, masses = problem
    elements = FocalSets.singletons(focal_sets.frame_size)
    low = bf.belief(masses, focal_sets, at=elements)[:, 1:]
    high = bf.plausibility(masses, focal_sets, at=elements)[:, 1:]
    middle = bf.pignistic(masses, focal_sets)
    assert (low <= middle + 1e-12).all()
    assert (middle <= high + 1e-12).all()


@given(mass_functions())
def test_contour_is_the_plausibility_and_the_commonality_of_singletons(problem):
    focal_sets, masses = problem
    elements = FocalSets.singletons(focal_sets.frame_size)
    contour = bf.contour(masses, focal_sets)
    np.testing.assert_allclose(contour, bf.plausibility(masses, focal_sets, at=elements)[:, 1:], **TIGHT)
    np.testing.assert_allclose(contour, bf.commonality(masses, focal_sets, at=elements)[:, 1:], **TIGHT)


@given(mass_functions(), families())
def test_values_at_other_sets_agree_with_the_full_family(problem, other):
    focal_sets, masses = problem
    at = FocalSets.full(focal_sets.frame_size)
    wide = bf.expand_masses(masses, focal_sets, at)
    for transform in (bf.implicability, bf.belief, bf.plausibility, bf.commonality):
        np.testing.assert_allclose(
            transform(masses, focal_sets, at=at), transform(wide, at), err_msg=transform.__name__, **TIGHT
        )


@given(st.integers(1, 5), st.data())
def test_consonant_plausibility_of_a_union_is_the_larger_plausibility(size, data):
    order = np.array(data.draw(st.permutations(range(size))))
    full = FocalSets.full(size)
    steps = np.array(data.draw(st.lists(st.integers(1, 5), min_size=size, max_size=size)), dtype=float)
    nested = [order[: k + 1] for k in range(size)]
    masses, sets = bf.reorder_masses(steps / steps.sum(), nested, size)
    plausibility = bf.plausibility(bf.expand_masses(masses, sets, full), full)
    a, b = data.draw(st.tuples(*[st.integers(0, len(full) - 1)] * 2))
    union = full.positions((full.membership[a] | full.membership[b])[None])[0]
    assert plausibility[union] == pytest.approx(max(plausibility[a], plausibility[b]), abs=1e-12)


@given(mass_functions(max_size=3))
def test_leading_axes_and_single_precision_are_kept(problem):
    focal_sets, masses = problem
    stacked = np.stack([masses, masses])
    for transform in (bf.implicability, bf.belief, bf.plausibility, bf.commonality, bf.contour, bf.pignistic):
        row = transform(masses[0], focal_sets)
        table = transform(stacked, focal_sets)
        single = transform(masses.astype(np.float32), focal_sets)
        assert row.ndim == 1
        np.testing.assert_allclose(table[1, 0], row, **TIGHT)
        assert single.dtype == np.float32
        np.testing.assert_allclose(single[0], row, atol=1e-6)


def test_values_of_no_mass_function_are_errors():
    with pytest.raises(ValueError, match=r"one of the masses would be -0\.5"):
        bf.masses_from("belief", [0, 0.75, 0.75, 1], FocalSets.full(2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bf.canonical_weights([0, 1, 0, 0], FocalSets.full(2)), "discount the others first"),
        (lambda: bf.canonical_weights([0, 0.5, 0.5], FocalSets.singletons(2)), "needs all subsets"),
        (lambda: bf.masses_from("plausibility", [0, 0.5, 0.5], FocalSets.singletons(2)), "needs all subsets"),
        (lambda: bf.masses_from("weights", [1, 0, 1, 1], FocalSets.full(2)), "weights must be positive"),
        (
            lambda: bf.expand_masses([0, 1, 0, 0], FocalSets.full(2), FocalSets.singletons(2)),
            "all sets of focal_sets",
        ),
        (lambda: bf.belief([0, 1], FocalSets.full(2)), "each of the 4 focal sets.* but has 2"),
        (lambda: bf.belief(1.0, FocalSets.full(2)), "each of the 4 focal sets.* but has 1"),
        (lambda: bf.belief(["a"] * 4, FocalSets.full(2)), "a table of numbers"),
        (lambda: bf.belief([[0, 1], [1]], FocalSets.singletons(1)), "rows of the same length"),
    ],
)
def test_errors_contain_a_remedy(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_focal_sets_of_the_wrong_type_are_errors():
    with pytest.raises(TypeError, match=r"must be a FocalSets, got int.*FocalSets\.full"):
        bf.contour([[0, 1]], 2)


@pytest.mark.parametrize("kind", ["full", "simple"])
def test_no_rows_have_no_values(kind):
    family = getattr(FocalSets, kind)(3)
    empty = np.empty((0, len(family)))
    for function in (bf.belief, bf.plausibility, bf.commonality, bf.implicability):
        assert function(empty, family).shape == (0, len(family))
    for form in ("belief", "commonality", "implicability"):
        assert bf.masses_from(form, empty, family).shape == (0, len(family))
