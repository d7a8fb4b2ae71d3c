from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given

from evlearn import belief as bf
from evlearn.belief import FocalSets, MassFunction
from strategies import mass_functions

TIGHT = {"rtol": 0, "atol": 1e-12}
COMMUTATIVE = ["conjunctive", "dempster", "disjunctive", "yager", "dubois_prade", "cautious", "bold", "average"]
ASSOCIATIVE = ["conjunctive", "dempster", "disjunctive", "cautious", "bold"]


def by_hand(first, second, focal_sets, target):
    """Sum products of masses over all pairs of sets; `target` says where a product goes."""
    result = np.zeros_like(first)
    for k, a in enumerate(focal_sets):
        for j, b in enumerate(focal_sets):
            where = focal_sets.index(target(set(a), set(b)))
            result[:, where] += first[:, k] * second[:, j]
    return result


@given(mass_functions(2, full=True))
def test_rules_equal_sums_over_pairs_of_sets(problem):
    focal_sets, first, second = problem
    both = [first, second]
    np.testing.assert_allclose(
        bf.conjunctive(both, focal_sets), by_hand(first, second, focal_sets, set.__and__), **TIGHT
    )
    np.testing.assert_allclose(
        bf.disjunctive(both, focal_sets), by_hand(first, second, focal_sets, set.__or__), **TIGHT
    )
    np.testing.assert_allclose(
        bf.dubois_prade(both, focal_sets),
        by_hand(first, second, focal_sets, lambda a, b: a & b or a | b),
        **TIGHT,
    )


@given(mass_functions(2))
def test_rules_on_restricted_families_equal_those_on_the_full_one(problem):
    focal_sets, first, second = problem
    closed = focal_sets.closure("intersection").closure("union").with_omega()
    full = FocalSets.full(focal_sets.frame_size)
    for name in ("conjunctive", "disjunctive", "yager", "dubois_prade", "average"):
        rule = getattr(bf, name)
        narrow = rule([bf.expand(m, focal_sets, closed) for m in (first, second)], closed)
        wide = rule([bf.expand(m, focal_sets, full) for m in (first, second)], full)
        np.testing.assert_allclose(bf.expand(narrow, closed, full), wide, err_msg=name, **TIGHT)


@given(mass_functions(2, full=True, positive=True))
def test_rules_are_commutative(problem):
    focal_sets, first, second = problem
    for name in COMMUTATIVE:
        rule = getattr(bf, name)
        np.testing.assert_allclose(
            rule([first, second], focal_sets), rule([second, first], focal_sets), err_msg=name, rtol=0, atol=1e-10
        )


@given(mass_functions(3, max_size=3, full=True, positive=True))
def test_associative_rules_may_be_folded_from_either_side_or_applied_at_once(problem):
    focal_sets, first, second, third = problem
    for name in ASSOCIATIVE:
        rule = getattr(bf, name)
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
        combined = getattr(bf, name)([masses, vacuous], focal_sets)
        np.testing.assert_allclose(combined, masses, err_msg=name, **TIGHT)


@given(mass_functions(1, full=True))
def test_a_source_that_is_always_wrong_is_neutral_for_the_disjunctive_rule(problem):
    focal_sets, masses = problem
    wrong = np.zeros_like(masses)
    wrong[:, 0] = 1
    np.testing.assert_allclose(bf.disjunctive([masses, wrong], focal_sets), masses, **TIGHT)


@given(mass_functions(1, full=True, positive=True))
def test_cautious_and_bold_rules_are_idempotent(problem):
    focal_sets, masses = problem
    for rule in (bf.cautious, bf.bold):
        np.testing.assert_allclose(rule([masses, masses], focal_sets), masses, rtol=0, atol=1e-11)


@given(mass_functions(2, full=True))
def test_dempster_multiplies_contour_functions(problem):
    focal_sets, first, second = problem
    conflict = bf.conjunctive([first, second], focal_sets)[:, 0]
    assume((conflict < 0.999).all())
    combined = bf.contour(bf.dempster([first, second], focal_sets), focal_sets)
    product = bf.contour(first, focal_sets) * bf.contour(second, focal_sets)
    np.testing.assert_allclose(combined, product / (1 - conflict)[:, None], rtol=0, atol=1e-11)


@given(mass_functions(2, full=True))
def test_conflict_is_the_bilinear_form_of_the_conflict_matrix(problem):
    focal_sets, first, second = problem
    direct = np.einsum("ij,jk,ik->i", first, focal_sets.conflict_matrix, second)
    np.testing.assert_allclose(bf.conjunctive([first, second], focal_sets)[:, 0], direct, **TIGHT)


@given(mass_functions(2, full=True))
def test_combination_gives_mass_functions(problem):
    focal_sets, *sources = problem
    for name in ("conjunctive", "disjunctive", "yager", "dubois_prade", "average"):
        bf.check_masses(getattr(bf, name)(sources, focal_sets), focal_sets)


@given(mass_functions(2, full=True))
def test_de_morgan_links_the_conjunctive_and_the_disjunctive_rule(problem):
    focal_sets, first, second = problem
    negation = focal_sets.positions(~focal_sets.membership)
    negated = bf.conjunctive([first[:, negation], second[:, negation]], focal_sets)[:, negation]
    np.testing.assert_allclose(bf.disjunctive([first, second], focal_sets), negated, **TIGHT)


def test_a_thousand_sources_and_nearly_total_conflict_do_no_harm():
    focal_sets = FocalSets.full(2)
    many = np.tile([0, 0.6, 0.3, 0.1], (1000, 1, 1))
    combined = bf.dempster(many, focal_sets)
    assert combined[0, 1] == pytest.approx(1)
    weak = 1e-200
    left, right = [0, 1 - weak, 0, weak], [0, 0, 1 - weak, weak]
    np.testing.assert_allclose(bf.dempster([left, right], focal_sets), [0, 0.5, 0.5, 0], atol=1e-12)


def test_total_conflict_gives_a_row_of_nan_and_leaves_the_others_alone():
    focal_sets = FocalSets.full(2)
    combined = bf.dempster([[[0, 1, 0, 0], [0, 1, 0, 0]], [[0, 0, 1, 0], [0, 1, 0, 0]]], focal_sets)
    assert np.isnan(combined[0]).all()
    np.testing.assert_array_equal(combined[1], [0, 1, 0, 0])


def read(frame, masses, focal_sets):
    return MassFunction(frame, {one: float(Fraction(0) + _number(mass)) for one, mass in masses.items()}).to_array(
        focal_sets
    )


def _number(value):
    if isinstance(value, str):
        top, bottom = value.split("/")
        return Fraction(top) / Fraction(bottom)
    return Fraction(str(value))


@pytest.mark.parametrize("name", ["ml01_dempster_no_conflict", "ml01_dempster_conflict", "ml01_dempster_three"])
def test_dempster_examples_of_the_slides(seed_examples, name):
    example = seed_examples[name]
    frame, focal_sets = example["frame"], FocalSets.full(example["frame"])
    sources = [read(frame, example[key], focal_sets) for key in ("m1", "m2")]
    conjunction = bf.conjunctive(sources, focal_sets)
    assert conjunction[0] == pytest.approx(example["kappa"], abs=1e-14)
    result = read(frame, example["result"], focal_sets)
    np.testing.assert_allclose(bf.dempster(sources, focal_sets), result, rtol=0, atol=1e-14)
    if "conjunctive" in example:
        np.testing.assert_allclose(conjunction, read(frame, example["conjunctive"], focal_sets), atol=1e-14)


def test_sensor_example_is_a_discounted_certainty(seed_examples):
    example = seed_examples["ml01_sensor"]
    certain = MassFunction(example["frame"], {"T,O": 1.0})
    assert certain.discount(0.1) == MassFunction(example["frame"], example["m"])


def test_conflict_of_nnevclus_example_1(seed_examples):
    example = seed_examples["nnevclus_example1_conflict"]
    m1, m2, m3 = (MassFunction(example["frame"], example["masses"][key]) for key in ("m1", "m2", "m3"))
    assert m1.conflict(m2) == pytest.approx(example["kappa_12"], abs=1e-14)
    assert m1.conflict(m3) == pytest.approx(example["kappa_13"], abs=1e-14)


def exact(sources, family):
    """The unnormalised conjunctive combination, in fractions."""
    sets = [frozenset(one) for one in family]
    combined = {sets[-1] if family.has_omega else frozenset(range(family.frame_size)): Fraction(1)}
    for source in sources:
        step = {}
        for one, mass in combined.items():
            for other, more in zip(sets, source, strict=True):
                if more:
                    step[one & other] = step.get(one & other, 0) + mass * Fraction(more)
        combined = step
    return [combined.get(one, Fraction(0)) for one in sets]


@pytest.mark.parametrize("n_elements", [3, 10])
@pytest.mark.parametrize("kind", ["pairs", "simple", "singletons"])
def test_hundreds_of_sources_are_combined_on_any_family(kind, n_elements):
    family = getattr(FocalSets, kind)(n_elements)
    sources = np.zeros((900, len(family)))
    singles = family.singleton_positions
    sources[:, singles] = np.random.default_rng(0).dirichlet(np.full(n_elements, 5.0), len(sources))
    logs = np.log(sources[:, singles]).sum(axis=0)
    assert logs.max() < np.log(np.finfo(float).tiny)  # no mass of the conjunctive rule is a number above 0
    expected = np.zeros(len(family))
    expected[singles] = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    np.testing.assert_allclose(bf.dempster(list(sources), family), expected, rtol=1e-9, atol=1e-300)
    total = bf.conjunctive(list(sources), family)
    np.testing.assert_allclose(total, np.eye(len(family))[0], atol=1e-12)
    if family.has_omega:
        np.testing.assert_allclose(bf.yager(list(sources), family), np.eye(len(family))[-1], atol=1e-12)


@pytest.mark.parametrize("kind", ["pairs", "simple", "full"])
@pytest.mark.parametrize("n_sources", [3, 40])
def test_rules_agree_with_exact_fractions(kind, n_sources):
    random = np.random.default_rng(n_sources)
    family = getattr(FocalSets, kind)(4)
    for power in (1, 20, 100):
        sources = random.dirichlet(np.ones(len(family)), n_sources) ** power
        sources[:, 0] = 0
        sources /= sources.sum(axis=1, keepdims=True)
        truth = exact(sources, family)
        conflict = truth[0] / sum(truth)
        np.testing.assert_allclose(
            bf.conjunctive(list(sources), family), [float(one) for one in truth], rtol=1e-9, atol=1e-12
        )
        left = sum(truth[1:])
        assert conflict < 1
        normal = [0.0, *(float(one / left) for one in truth[1:])]
        np.testing.assert_allclose(bf.dempster(list(sources), family), normal, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bf.dempster([], FocalSets.full(2)), "sources is empty"),
        (lambda: bf.dempster([[0, 1, 0.5, 0]], FocalSets.full(2)), r"sources\[0\] must sum to 1.*row 0"),
        (
            lambda: bf.dempster([np.eye(4)[:2], np.eye(4)[:3]], FocalSets.full(2)),
            r"fit together.*\(2, 4\), \(3, 4\)",
        ),
        (
            lambda: bf.conjunctive([[0, 0.5, 0.5]], FocalSets([(0, 1), (1, 2)], 3)),
            r"lacks the set of elements \[1\].*closure\('intersection'\)",
        ),
        (
            lambda: bf.disjunctive([[0, 0.5, 0.5]], FocalSets.singletons(2)),
            r"elements \[0, 1\].*closure\('union'\)",
        ),
        (lambda: bf.yager([[0, 0.5, 0.5]], FocalSets.singletons(2)), "with_omega"),
        (lambda: bf.dubois_prade([[0, 1, 0], [0, 0, 1]], FocalSets.singletons(2)), r"with_sets\(\[\[0, 1\]\]\)"),
        (lambda: bf.bold([[0, 1, 0, 0]], FocalSets.full(2)), "some mass on the empty set"),
        (lambda: bf.bold([[0.5, 0.5, 0]], FocalSets.singletons(2)), "all subsets"),
        (lambda: bf.cautious([[0, 1, 0, 0]], FocalSets.full(2)), "discount"),
    ],
)
def test_errors_say_what_to_do(call, message):
    with pytest.raises(ValueError, match=message):
        call()
