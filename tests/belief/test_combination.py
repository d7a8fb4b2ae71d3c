from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given

from evlearn import belief as bf
from evlearn.belief import FocalSets, MassFunction
from strategies import mass_functions

TIGHT = {"rtol": 0, "atol": 1e-12}
COMMUTATIVE = ["conjunctive", "dempster", "disjunctive", "yager", "dubois_prade", "cautious", "bold", "average"]
ASSOCIATIVE = ["conjunctive", "dempster", "disjunctive", "cautious", "bold"]


def combine_by_hand(first, second, focal_sets, target):
    """Sum products of masses over all pairs of sets; `target` returns the set of a product."""
    result = np.zeros_like(first)
    for k, a in enumerate(focal_sets):
        for j, b in enumerate(focal_sets):
            position = focal_sets.index(target(set(a), set(b)))
            result[:, position] += first[:, k] * second[:, j]
    return result


@given(mass_functions(2, full=True))
def test_rules_equal_sums_over_pairs_of_sets(problem):
    focal_sets, first, second = problem
    sources = [first, second]
    np.testing.assert_allclose(
        bf.combine(sources, focal_sets, rule="conjunctive"),
        combine_by_hand(first, second, focal_sets, set.__and__),
        **TIGHT,
    )
    np.testing.assert_allclose(
        bf.combine(sources, focal_sets, rule="disjunctive"),
        combine_by_hand(first, second, focal_sets, set.__or__),
        **TIGHT,
    )
    np.testing.assert_allclose(
        bf.combine(sources, focal_sets, rule="dubois_prade"),
        combine_by_hand(first, second, focal_sets, lambda a, b: a & b or a | b),
        **TIGHT,
    )


@given(mass_functions(2))
@pytest.mark.slow
def test_rules_on_restricted_families_equal_those_on_the_full_one(problem):
    focal_sets, first, second = problem
    closed = focal_sets.closure("intersection").closure("union").with_omega()
    full = FocalSets.full(focal_sets.frame_size)
    for name in ("conjunctive", "disjunctive", "yager", "dubois_prade", "average"):
        rule = partial(bf.combine, rule=name)
        narrow = rule([bf.expand_masses(m, focal_sets, closed) for m in (first, second)], closed)
        wide = rule([bf.expand_masses(m, focal_sets, full) for m in (first, second)], full)
        np.testing.assert_allclose(bf.expand_masses(narrow, closed, full), wide, err_msg=name, **TIGHT)


@given(mass_functions(2, full=True, positive=True))
@pytest.mark.slow
def test_rules_are_commutative(problem):
    focal_sets, first, second = problem
    for name in COMMUTATIVE:
        rule = partial(bf.combine, rule=name)
        np.testing.assert_allclose(
            rule([first, second], focal_sets), rule([second, first], focal_sets), err_msg=name, rtol=0, atol=1e-10
        )


@given(mass_functions(3, max_size=3, full=True, positive=True))
@pytest.mark.slow
def test_associative_rules_may_be_folded_from_either_side_or_applied_at_once(problem):
    focal_sets, first, second, third = problem
    for name in ASSOCIATIVE:
        rule = partial(bf.combine, rule=name)
        left = rule([rule([first, second], focal_sets), third], focal_sets)
        right = rule([first, rule([second, third], focal_sets)], focal_sets)
        at_once = rule([first, second, third], focal_sets)
        np.testing.assert_allclose(left, right, err_msg=name, rtol=0, atol=1e-9)
        np.testing.assert_allclose(left, at_once, err_msg=name, rtol=0, atol=1e-9)


@given(mass_functions(1, full=True, normal=True))
def test_a_source_that_knows_nothing_changes_nothing(problem):
    focal_sets, masses = problem
    vacuous = np.zeros_like(masses)
    vacuous[:, -1] = 1
    for name in ("conjunctive", "dempster", "yager", "dubois_prade"):
        combined = bf.combine([masses, vacuous], focal_sets, name)
        np.testing.assert_allclose(combined, masses, err_msg=name, **TIGHT)


@given(mass_functions(1, full=True))
def test_mass_on_the_empty_set_is_neutral_for_the_disjunctive_rule(problem):
    focal_sets, masses = problem
    empty = np.zeros_like(masses)
    empty[:, 0] = 1
    np.testing.assert_allclose(bf.combine([masses, empty], focal_sets, rule="disjunctive"), masses, **TIGHT)


@given(mass_functions(1, full=True, positive=True))
def test_cautious_and_bold_rules_are_idempotent(problem):
    focal_sets, masses = problem
    for rule in ("cautious", "bold"):
        np.testing.assert_allclose(bf.combine([masses, masses], focal_sets, rule), masses, rtol=0, atol=1e-11)


@given(mass_functions(2, full=True))
def test_dempster_multiplies_contour_functions(problem):
    focal_sets, first, second = problem
    conflict = bf.combine([first, second], focal_sets, rule="conjunctive")[:, 0]
    assume((conflict < 0.999).all())
    combined = bf.contour(bf.combine([first, second], focal_sets), focal_sets)
    product = bf.contour(first, focal_sets) * bf.contour(second, focal_sets)
    np.testing.assert_allclose(combined, product / (1 - conflict)[:, None], rtol=0, atol=1e-11)


@given(mass_functions(2, full=True))
def test_conflict_is_the_bilinear_form_of_the_conflict_matrix(problem):
    focal_sets, first, second = problem
    direct = np.einsum("ij,jk,ik->i", first, focal_sets.conflict_matrix, second)
    np.testing.assert_allclose(bf.combine([first, second], focal_sets, rule="conjunctive")[:, 0], direct, **TIGHT)


@given(mass_functions(2, full=True))
def test_combination_gives_mass_functions(problem):
    focal_sets, *sources = problem
    for name in ("conjunctive", "disjunctive", "yager", "dubois_prade", "average"):
        bf.check_masses(bf.combine(sources, focal_sets, name), focal_sets)


@given(mass_functions(2, full=True))
def test_de_morgan_links_the_conjunctive_and_the_disjunctive_rule(problem):
    focal_sets, first, second = problem
    negation = focal_sets.positions(~focal_sets.membership)
    negated = bf.combine([first[:, negation], second[:, negation]], focal_sets, rule="conjunctive")[:, negation]
    np.testing.assert_allclose(bf.combine([first, second], focal_sets, rule="disjunctive"), negated, **TIGHT)


def test_1000_sources_and_nearly_total_conflict_do_not_underflow():
    focal_sets = FocalSets.full(2)
    sources = np.tile([0, 0.6, 0.3, 0.1], (1000, 1, 1))
    combined = bf.combine(sources, focal_sets)
    assert combined[0, 1] == pytest.approx(1)
    weak = 1e-200
    left, right = [0, 1 - weak, 0, weak], [0, 0, 1 - weak, weak]
    np.testing.assert_allclose(bf.combine([left, right], focal_sets), [0, 0.5, 0.5, 0], atol=1e-12)


def test_total_conflict_gives_a_row_of_nan_and_leaves_the_others_alone():
    focal_sets = FocalSets.full(2)
    combined = bf.combine(
        [[[0, 1, 0, 0], [0, 1, 0, 0]], [[0, 0, 1, 0], [0, 1, 0, 0]]], focal_sets, rule="dempster"
    )
    assert np.isnan(combined[0]).all()
    np.testing.assert_array_equal(combined[1], [0, 1, 0, 0])


def read_masses(frame, masses, focal_sets):
    return MassFunction(
        frame, {subset: float(Fraction(0) + parse_fraction(mass)) for subset, mass in masses.items()}
    ).to_array(focal_sets)


def parse_fraction(value):
    if isinstance(value, str):
        top, bottom = value.split("/")
        return Fraction(top) / Fraction(bottom)
    return Fraction(str(value))


@pytest.mark.parametrize("name", ["ml01_dempster_no_conflict", "ml01_dempster_conflict", "ml01_dempster_three"])
def test_dempster_examples_of_the_slides(seed_examples, name):
    example = seed_examples[name]
    frame, focal_sets = example["frame"], FocalSets.full(example["frame"])
    sources = [read_masses(frame, example[key], focal_sets) for key in ("m1", "m2")]
    conjunction = bf.combine(sources, focal_sets, rule="conjunctive")
    assert conjunction[0] == pytest.approx(example["kappa"], abs=1e-14)
    result = read_masses(frame, example["result"], focal_sets)
    np.testing.assert_allclose(bf.combine(sources, focal_sets), result, rtol=0, atol=1e-14)
    if "conjunctive" in example:
        np.testing.assert_allclose(conjunction, read_masses(frame, example["conjunctive"], focal_sets), atol=1e-14)


def test_sensor_example_is_a_discounted_certainty(seed_examples):
    example = seed_examples["ml01_sensor"]
    certain = MassFunction(example["frame"], {"T,O": 1.0})
    assert certain.discount(0.1) == MassFunction(example["frame"], example["m"])


def test_conflict_of_nnevclus_example_1(seed_examples):
    example = seed_examples["nnevclus_example1_conflict"]
    m1, m2, m3 = (MassFunction(example["frame"], example["masses"][key]) for key in ("m1", "m2", "m3"))
    assert m1.conflict(m2) == pytest.approx(example["kappa_12"], abs=1e-14)
    assert m1.conflict(m3) == pytest.approx(example["kappa_13"], abs=1e-14)


def combine_exactly(sources, family):
    """Compute the unnormalized conjunctive combination with fractions."""
    sets = [frozenset(first) for first in family]
    combined = {sets[-1] if family.has_omega else frozenset(range(family.frame_size)): Fraction(1)}
    for source in sources:
        step = {}
        for first, mass in combined.items():
            for second, factor in zip(sets, source, strict=True):
                if factor:
                    step[first & second] = step.get(first & second, 0) + mass * Fraction(factor)
        combined = step
    return [combined.get(first, Fraction(0)) for first in sets]


@pytest.mark.parametrize("n_elements", [3, 10])
@pytest.mark.parametrize("kind", ["pairs", "simple", "singletons"])
def test_hundreds_of_sources_are_combined_on_any_family(kind, n_elements):
    family = getattr(FocalSets, kind)(n_elements)
    sources = np.zeros((900, len(family)))
    singles = family.singleton_positions
    sources[:, singles] = np.random.default_rng(0).dirichlet(np.full(n_elements, 5.0), len(sources))
    logs = np.log(sources[:, singles]).sum(axis=0)
    assert logs.max() < np.log(np.finfo(float).tiny)  # masses of the conjunctive rule underflow
    expected = np.zeros(len(family))
    expected[singles] = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    np.testing.assert_allclose(bf.combine(list(sources), family), expected, rtol=1e-9, atol=1e-300)
    total = bf.combine(list(sources), family, rule="conjunctive")
    np.testing.assert_allclose(total, np.eye(len(family))[0], atol=1e-12)
    if family.has_omega:
        np.testing.assert_allclose(
            bf.combine(list(sources), family, rule="yager"), np.eye(len(family))[-1], atol=1e-12
        )


@pytest.mark.parametrize("kind", ["pairs", "simple", "full"])
@pytest.mark.parametrize("n_sources", [3, 40])
@pytest.mark.slow_cells("40-full", "40-pairs")
def test_rules_agree_with_exact_fractions(kind, n_sources):
    random = np.random.default_rng(n_sources)
    family = getattr(FocalSets, kind)(4)
    for power in (1, 20, 100):
        sources = random.dirichlet(np.ones(len(family)), n_sources) ** power
        sources[:, 0] = 0
        sources /= sources.sum(axis=1, keepdims=True)
        truth = combine_exactly(sources, family)
        conflict = truth[0] / sum(truth)
        np.testing.assert_allclose(
            bf.combine(list(sources), family, rule="conjunctive"),
            [float(value) for value in truth],
            rtol=1e-9,
            atol=1e-12,
        )
        remaining = sum(truth[1:])
        assert conflict < 1
        normal = [0.0, *(float(value / remaining) for value in truth[1:])]
        np.testing.assert_allclose(bf.combine(list(sources), family), normal, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bf.combine([], FocalSets.full(2)), "sources is empty"),
        (
            lambda: bf.combine([[0, 1, 0.5, 0]], FocalSets.full(2)),
            r"sources\[0\] must sum to 1.*row 0",
        ),
        (
            lambda: bf.combine([np.eye(4)[:2], np.eye(4)[:3]], FocalSets.full(2)),
            r"broadcast together.*\(2, 4\), \(3, 4\)",
        ),
        (
            lambda: bf.combine([[0, 0.5, 0.5]], FocalSets([(0, 1), (1, 2)], 3), rule="conjunctive"),
            r"lacks the set of elements \[1\].*closure\('intersection'\)",
        ),
        (
            lambda: bf.combine([[0, 0.5, 0.5]], FocalSets.singletons(2), rule="disjunctive"),
            r"elements \[0, 1\].*closure\('union'\)",
        ),
        (lambda: bf.combine([[0, 0.5, 0.5]], FocalSets.singletons(2), rule="yager"), "with_omega"),
        (
            lambda: bf.combine([[0, 1, 0], [0, 0, 1]], FocalSets.singletons(2), rule="dubois_prade"),
            r"with_sets\(\[\[0, 1\]\]\)",
        ),
        (lambda: bf.combine([[0, 1, 0, 0]], FocalSets.full(2), rule="bold"), "some mass on the empty set"),
        (lambda: bf.combine([[0.5, 0.5, 0]], FocalSets.singletons(2), rule="bold"), "all subsets"),
        (lambda: bf.combine([[0, 1, 0, 0]], FocalSets.full(2), rule="cautious"), "discount"),
    ],
)
def test_errors_contain_a_remedy(call, message):
    with pytest.raises(ValueError, match=message):
        call()
