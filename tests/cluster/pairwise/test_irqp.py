"""Descent of EVCLUS: the penalty of constraints, its end, and stratified samples."""

import numpy as np
import pytest

from evlearn.belief import FocalSets
from evlearn.cluster.focal_families import random_masses
from evlearn.cluster.pairwise.irqp import stratified_indices, sweep_masses
from evlearn.cluster.pairwise.pair_graph import AllPairs
from evlearn.constraints import PairwiseConstraints
from evlearn.constraints.pairwise import Penalty

SETS = FocalSets.full(2)
FIRST, SECOND, EITHER = np.eye(4)[1:]


@pytest.mark.parametrize(
    ("rows", "kind", "expected"),
    [
        ([FIRST, SECOND], "must_link", 4.0),  # surely violated: Pl(different) + 1 - Pl(same) is 2
        ([FIRST, FIRST], "must_link", 0.0),
        ([FIRST, EITHER], "must_link", 2.0),  # both are plausible
        ([FIRST, FIRST], "cannot_link", 4.0),
        ([FIRST, SECOND], "cannot_link", 0.0),
        ([EITHER, EITHER], "cannot_link", 2.0),
    ],
)
def test_a_constraint_costs_4_times_as_much_as_in_the_paper(rows, kind, expected):
    # Equation 9 of Li et al. (2018) is xi / (2 n) times the sum of Pl(different) + 1 - Pl(same) over must-links,
    # plus the sum of Pl(same) + 1 - Pl(different) over cannot-links.
    xi = 0.3
    penalty = Penalty.of(PairwiseConstraints(**{kind: [(0, 1)]}), xi, SETS)
    assert penalty.value(np.array(rows)) == pytest.approx(expected * xi, abs=1e-15)


def test_the_penalty_is_a_mean_over_all_constraints():
    constraints = PairwiseConstraints(must_link=[(0, 1), (0, 2)], cannot_link=[(1, 2), (2, 3)])
    masses = np.array([FIRST, SECOND, FIRST, FIRST])
    # 2 of 4 constraints are violated: the must-link of 0 and 1, and the cannot-link of 2 and 3.
    assert Penalty.of(constraints, 1.0, SETS).value(masses) == pytest.approx(2.0)


def test_the_end_of_a_descent_does_not_depend_on_the_unit_of_the_objective():
    random = np.random.RandomState(0)
    delta = random.uniform(size=(30, 30))
    delta = np.triu(delta, k=1) + np.triu(delta, k=1).T
    start = random_masses(30, len(SETS), random)
    plain, *others = (
        sweep_masses(AllPairs(delta), start, SETS, eta=eta, tol=1e-4, max_iter=200)
        for eta in (1.0, 2.0**-20, 2.0**20)
    )
    assert 3 < plain.n_iter < 200
    for other, unit in zip(others, (2.0**-20, 2.0**20), strict=True):
        np.testing.assert_allclose(other.history, unit * np.array(plain.history), rtol=1e-9)


@pytest.mark.parametrize("counts", [[90, 10], [10, 90], [30, 60, 10], [1, 1, 98]])
def test_a_stratified_sample_contains_all_labels_in_proportion(counts):
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(len(counts)), counts))
    chosen = stratified_indices(labels, 20, np.random.RandomState(0))
    assert len(np.unique(chosen)) == 20
    shares = np.bincount(labels[chosen], minlength=len(counts))
    assert (np.abs(shares - 0.2 * np.array(counts)) <= 1).all()
