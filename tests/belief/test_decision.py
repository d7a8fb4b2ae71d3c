from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from evlearn import belief as bf
from evlearn.belief import FocalSets
from evlearn.belief.decision import CRITERIA
from strategies import mass_functions

R_RULES = {"upper": "pessimistic", "lower": "optimistic", "pignistic": "pignistic", "hurwicz": "hurwicz"}


@st.composite
def problems(draw, **kinds):
    focal_sets, masses = draw(mass_functions(normal=True, **kinds))
    n_acts = draw(st.integers(1, 4))
    loss = draw(hnp.arrays(np.int64, (focal_sets.frame_size, n_acts), elements=st.integers(0, 5)))
    return focal_sets, masses, loss.astype(float)


@given(problems())
def test_expected_losses_follow_their_definitions(problem):
    focal_sets, masses, loss = problem
    for criterion, summary in (("pessimistic", np.max), ("optimistic", np.min), ("pignistic", np.mean)):
        by_hand = np.zeros((len(masses), loss.shape[1]))
        for k, subset in enumerate(focal_sets):
            if subset:
                by_hand += masses[:, [k]] * summary(loss[list(subset)], axis=0)
        np.testing.assert_allclose(
            bf.expected_loss(masses, focal_sets, loss, criterion=criterion), by_hand, atol=1e-12
        )
    probabilities = bf.plausibility_transform(masses, focal_sets)
    np.testing.assert_allclose(
        bf.expected_loss(masses, focal_sets, loss, criterion="plausibility"), probabilities @ loss, atol=1e-12
    )


@given(problems())
def test_lower_expectation_is_below_every_other_and_upper_above(problem):
    focal_sets, masses, loss = problem
    low = bf.expected_loss(masses, focal_sets, loss, criterion="optimistic")
    high = bf.expected_loss(masses, focal_sets, loss, criterion="pessimistic")
    for criterion in ("pignistic", "hurwicz"):
        losses = bf.expected_loss(masses, focal_sets, loss, criterion=criterion, rho=0.3)
        assert (low <= losses + 1e-12).all()
        assert (losses <= high + 1e-12).all()


@given(problems(), st.floats(0, 1))
def test_hurwicz_is_a_weighted_mean_of_both_expectations(problem, rho):
    focal_sets, masses, loss = problem
    low = bf.expected_loss(masses, focal_sets, loss, criterion="optimistic")
    high = bf.expected_loss(masses, focal_sets, loss, criterion="pessimistic")
    mixed = bf.expected_loss(masses, focal_sets, loss, criterion="hurwicz", rho=rho)
    np.testing.assert_allclose(mixed, rho * low + (1 - rho) * high, atol=1e-12)


@given(mass_functions(normal=True), st.data())
def test_all_rules_agree_on_bayesian_masses(problem, data):
    focal_sets, masses = problem
    probabilities = bf.pignistic(masses, focal_sets)
    bayesian = np.column_stack([np.zeros(len(masses)), probabilities])
    singletons = FocalSets.singletons(focal_sets.frame_size)
    loss = data.draw(hnp.arrays(np.int64, (singletons.frame_size, 3), elements=st.integers(0, 5))).astype(float)
    for criterion in CRITERIA:
        expected = bf.expected_loss(bayesian, singletons, loss, criterion=criterion)
        np.testing.assert_allclose(expected, probabilities @ loss, atol=1e-12)


@given(problems())
def test_maximal_acts_are_undominated_and_neither_set_is_empty(problem):
    focal_sets, masses, loss = problem
    maximal = bf.maximality(masses, focal_sets, loss)
    undominated = bf.interval_dominance(masses, focal_sets, loss)
    assert (maximal <= undominated).all()
    assert maximal.any(axis=1).all()
    rows = np.arange(len(masses))
    for criterion in ("pignistic", "pessimistic"):
        chosen = bf.decide(masses, focal_sets, loss, criterion=criterion)
        assert undominated[rows, chosen].all()


@given(mass_functions(normal=True))
def test_optimism_takes_the_most_plausible_and_pessimism_the_most_believed_element(problem):
    focal_sets, masses = problem
    elements = FocalSets.singletons(focal_sets.frame_size)
    plausibility = bf.contour(masses, focal_sets)
    believed = bf.belief(masses, focal_sets, at=elements)[:, 1:]
    rows = np.arange(len(masses))
    optimist = bf.decide(masses, focal_sets, criterion="optimistic")
    pessimist = bf.decide(masses, focal_sets, criterion="pessimistic")
    np.testing.assert_allclose(plausibility[rows, optimist], plausibility.max(axis=1), atol=1e-12)
    np.testing.assert_allclose(believed[rows, pessimist], believed.max(axis=1), atol=1e-12)


@given(mass_functions(normal=True))
def test_interval_dominance_with_0_1_loss_compares_belief_with_plausibility(problem):
    focal_sets, masses = problem
    elements = FocalSets.singletons(focal_sets.frame_size)
    plausibility = bf.contour(masses, focal_sets)
    best = bf.belief(masses, focal_sets, at=elements)[:, 1:].max(axis=1, keepdims=True)
    np.testing.assert_array_equal(bf.interval_dominance(masses, focal_sets), plausibility >= best - 1e-13)


def test_decisions_agree_with_r(reference):
    arrays = reference("decision").arrays
    masses = np.column_stack([np.zeros(len(arrays["m"])), arrays["m"]])
    focal_sets = FocalSets.simple(3)
    losses = {"01": None, "reject": arrays["L_reject"], "unknown": arrays["L_unknown"]}
    checked = 0
    for key, expected in arrays.items():
        if key.startswith("dec_"):
            _, problem, rule, *extra = key.removesuffix("_1b").split("_")
            rho = float(extra[0].removeprefix("rho")) if extra else 0.5
            decided = bf.decide(masses, focal_sets, losses[problem], criterion=R_RULES[rule], rho=rho)
            np.testing.assert_array_equal(decided, expected - 1, err_msg=key)
            checked += 1
    assert checked == 13


def test_rejection_and_unknown_class_as_in_the_decision_example():
    masses = [[0, 0.9, 0.1, 0], [0, 0.4, 0.6, 0], [0, 0.1, 0.1, 0.8]]
    losses = bf.loss_matrix(2, rejection_cost=0.2, unknown_cost=0.25)
    first, reject, unknown = 0, 2, 3
    focal_sets = FocalSets.full(2)
    pessimistic = bf.decide(masses, focal_sets, losses, criterion="pessimistic")
    np.testing.assert_array_equal(pessimistic, [first, reject, reject])
    optimistic = bf.decide(masses, focal_sets, losses, criterion="optimistic")
    np.testing.assert_array_equal(optimistic, [first, reject, unknown])


def test_a_sure_mass_function_is_assigned_alone_and_a_torn_one_to_the_pair():
    focal_sets = FocalSets.full(3)
    sure, torn = np.zeros(8), np.zeros(8)
    sure[1] = 1
    torn[focal_sets.index((0, 2))] = 1
    for criterion in ("pignistic", "pessimistic", "plausibility"):
        for utility in ("u65", "u80"):
            chosen = bf.partial_assignment([sure, torn], focal_sets, criterion=criterion, utility=utility)
            np.testing.assert_array_equal(chosen, [[1, 0, 0], [1, 0, 1]])


@pytest.mark.parametrize(("utility", "worth"), [("u65", 0.65), ("u80", 0.8)])
def test_a_pair_is_chosen_until_one_class_is_more_probable_than_a_right_pair_is_worth(utility, worth):
    for likely in (worth - 0.01, worth + 0.01):
        chosen = bf.partial_assignment([0, likely, 1 - likely, 0], FocalSets.full(2), utility=utility)
        np.testing.assert_array_equal(chosen, [True, likely < worth])


@given(mass_functions(normal=True, max_size=3))
def test_more_forgiving_utilities_never_choose_smaller_sets(problem):
    focal_sets, masses = problem
    sizes = [
        bf.partial_assignment(masses, focal_sets, utility=utility).sum(axis=1)
        for utility in ("inverse", "u65", "u80", lambda r: np.ones(len(r)) - 1e-6 * r)
    ]
    for smaller, larger in pairwise(sizes):
        assert (smaller <= larger).all()


def test_mass_on_the_empty_set_does_not_count():
    focal_sets = FocalSets.full(2)
    for criterion in CRITERIA:
        plain = bf.expected_loss([0, 0.5, 0.25, 0.25], focal_sets, criterion=criterion)
        tainted = bf.expected_loss([0.5, 0.25, 0.125, 0.125], focal_sets, criterion=criterion)
        np.testing.assert_allclose(plain, tainted)
        contradictory = bf.expected_loss([1, 0, 0, 0], focal_sets, criterion=criterion)
        vacuous = bf.expected_loss([0, 0, 0, 1], focal_sets, criterion=criterion)
        np.testing.assert_allclose(contradictory, vacuous)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bf.decide([0, 1, 0], FocalSets.singletons(2), criterion="best"), "criterion must be one of"),
        (lambda: bf.decide([0, 1, 0], FocalSets.singletons(2), criterion="hurwicz", rho=2), "rho must lie"),
        (lambda: bf.decide([0, 1, 0], FocalSets.singletons(2), np.eye(4)), r"loss must be .* 2 rows.*\(4, 4\)"),
        (lambda: bf.decide([1, 0, 0], FocalSets.singletons(2)), "counts as vacuous.*with_omega"),
        (lambda: bf.partial_assignment([0, 1, 0], FocalSets.singletons(2), utility="u50"), "utility must be"),
        (lambda: bf.partial_assignment(np.eye(12)[1], FocalSets.singletons(11)), "pass the sets to choose from"),
    ],
)
def test_errors_contain_a_remedy(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_acts_may_be_given_for_large_frames():
    focal_sets = FocalSets.simple(11)
    chosen = bf.partial_assignment(np.eye(13)[[3, 12]], focal_sets, acts=FocalSets.pairs(11))
    assert chosen[0].nonzero()[0].tolist() == [2]
    assert chosen[1].all()  # 1.6/11 - 0.6/121 is more than 0.65 * 2/11


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "change", [(1e-15, 0), (1e-60, 0), (1e60, 0), (1e300, 0), (1e-15, -1e-15), (1, 1e14), (1, -1e14)]
)
def test_dominance_depends_on_neither_unit_nor_origin_of_the_losses(dtype, change):
    unit, origin = change
    masses = np.array([[0, 0.7, 0.2, 0.1], [0, 0.3, 0.3, 0.4], [0.5, 0.1, 0.1, 0.3]], dtype=dtype)
    losses = np.array([[0, 1, 0.25, 2], [1, 0, 0.25, 2]])
    for rule in (bf.interval_dominance, bf.maximality):
        expected = rule(masses, FocalSets.full(2), losses)
        assert not expected.all()
        np.testing.assert_array_equal(rule(masses, FocalSets.full(2), unit * losses + origin), expected)
