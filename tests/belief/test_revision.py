import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evlearn import belief as bf
from evlearn.belief import FocalSets
from strategies import mass_functions

TIGHT = {"rtol": 0, "atol": 1e-12}
RATES = st.floats(0, 1)


@given(mass_functions(omega=True), RATES, RATES)
def test_discounting_twice_is_discounting_once_by_both_rates(problem, first, second):
    focal_sets, masses = problem
    sequential = bf.discount(bf.discount(masses, focal_sets, first), focal_sets, second)
    combined = bf.discount(masses, focal_sets, 1 - (1 - first) * (1 - second))
    np.testing.assert_allclose(sequential, combined, **TIGHT)


@given(mass_functions(omega=True))
def test_discounting_by_0_changes_nothing_and_by_1_gives_ignorance(problem):
    focal_sets, masses = problem
    np.testing.assert_array_equal(bf.discount(masses, focal_sets, 0), masses)
    np.testing.assert_array_equal(bf.discount(masses, focal_sets, 1)[:, -1], 1)


def test_each_mass_function_may_have_its_own_rate():
    discounted = bf.discount([[0, 1.0, 0, 0], [0, 1.0, 0, 0]], FocalSets.full(2), [0, 0.5])
    np.testing.assert_array_equal(discounted, [[0, 1, 0, 0], [0, 0.5, 0, 0.5]])


@given(mass_functions(full=True), st.data())
def test_conditioning_is_combination_with_certainty(problem, data):
    focal_sets, masses = problem
    position = data.draw(st.integers(1, len(focal_sets) - 1))
    certain = np.zeros_like(masses)
    certain[:, position] = 1
    on = focal_sets[position]
    np.testing.assert_allclose(
        bf.condition(masses, focal_sets, on, normalize=False),
        bf.combine([masses, certain], focal_sets, rule="conjunctive"),
        **TIGHT,
    )
    np.testing.assert_allclose(
        bf.condition(masses, focal_sets, on), bf.combine([masses, certain], focal_sets, rule="dempster"), **TIGHT
    )


def test_conditioning_on_the_impossible_gives_nan():
    assert np.isnan(bf.condition([0, 1.0, 0, 0], FocalSets.full(2), (1,))).all()


@pytest.mark.parametrize("name", ["normalize_c3_full", "normalize_c3_simple_noOmega"])
def test_normalization_agrees_with_r(reference, name):
    arrays = reference(name).arrays
    masses, focal_sets = bf.reorder_masses(arrays["mass_in"], arrays["F"], 3)
    expected, same_sets = bf.reorder_masses(arrays["mass_d"], arrays["F_d_int"], 3)
    assert same_sets == focal_sets
    np.testing.assert_allclose(bf.normalize(masses, focal_sets), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(bf.contour(expected, focal_sets), arrays["pl_d"], rtol=0, atol=1e-12)
    expected, with_omega = bf.reorder_masses(arrays["mass_y"], arrays["F_y_int"], 3)
    assert with_omega == focal_sets.with_omega()
    wide = bf.expand_masses(masses, focal_sets, with_omega)
    np.testing.assert_allclose(bf.normalize(wide, with_omega, "yager"), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(bf.contour(expected, with_omega), arrays["pl_y"], rtol=0, atol=1e-12)


@given(mass_functions(omega=True), st.sampled_from(["dempster", "yager"]))
def test_normalizing_gives_normal_mass_functions_and_is_idempotent(problem, method):
    focal_sets, masses = problem
    normalized = bf.normalize(masses, focal_sets, method)
    assert (normalized[:, 0] == 0).all()
    bf.check_masses(normalized, focal_sets)
    np.testing.assert_allclose(bf.normalize(normalized, focal_sets, method), normalized, **TIGHT)


def test_contradictory_mass_functions_become_vacuous_and_uniform():
    masses, focal_sets = np.array([[1.0, 0, 0, 0], [0, 0.4, 0.6, 0]]), FocalSets.full(2)
    np.testing.assert_array_equal(bf.is_kind(masses, focal_sets, "contradictory"), [True, False])
    np.testing.assert_array_equal(bf.normalize(masses, focal_sets), [[0, 0, 0, 1], [0, 0.4, 0.6, 0]])
    np.testing.assert_array_equal(bf.pignistic(masses, focal_sets)[0], [0.5, 0.5])
    np.testing.assert_array_equal(bf.plausibility_transform(masses, focal_sets)[0], [0.5, 0.5])


def test_nearly_contradictory_masses_within_the_tolerance_normalize_to_masses():
    rounded, focal_sets = np.array([[1 - 5e-7, 0, 0, 0], [1 - 5e-7, 0, 5e-7, 0]]), FocalSets.full(2)
    np.testing.assert_array_equal(bf.normalize(rounded, focal_sets), [[0, 0, 0, 1], [0, 0, 1, 0]])


@given(mass_functions())
def test_probability_transforms_give_probabilities_and_keep_bayesian_masses(problem):
    focal_sets, masses = problem
    for transform in (bf.pignistic, bf.plausibility_transform):
        np.testing.assert_allclose(transform(masses, focal_sets).sum(axis=1), 1, **TIGHT)
    singletons = FocalSets.singletons(focal_sets.frame_size)
    bayesian = np.column_stack([np.zeros(len(masses)), bf.pignistic(masses, focal_sets)])
    for transform in (bf.pignistic, bf.plausibility_transform):
        np.testing.assert_allclose(transform(bayesian, singletons), bayesian[:, 1:], **TIGHT)


@given(mass_functions(normal=True, omega=True))
def test_normalizing_does_not_change_probability_transforms(problem):
    focal_sets, masses = problem
    tainted = masses * 0.6
    tainted[:, 0] = 0.4
    for transform in (bf.pignistic, bf.plausibility_transform):
        np.testing.assert_allclose(transform(tainted, focal_sets), transform(masses, focal_sets), **TIGHT)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bf.discount([0, 1, 0], FocalSets.singletons(2), 0.1), "whole frame for `discount`.*with_omega"),
        (lambda: bf.discount([0, 1, 0, 0], FocalSets.full(2), 1.5), "rate must lie between 0 and 1, got 1.5"),
        (lambda: bf.normalize([0, 1, 0], FocalSets.singletons(2), "smets"), "method must be .* got 'smets'"),
        (lambda: bf.normalize([0, 1, 0], FocalSets.singletons(2), "yager"), "with_omega"),
        (lambda: bf.normalize([1, 0, 0], FocalSets.singletons(2)), "with_omega"),
        (lambda: bf.condition([0, 1], FocalSets([(0, 1)], 3), (1, 2)), r"set \[0, 1\] with on=\(1, 2\)"),
    ],
)
def test_errors_contain_a_remedy(call, message):
    with pytest.raises(ValueError, match=message):
        call()
