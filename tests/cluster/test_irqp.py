"""The descent of EVCLUS: what constraints cost, and which objects stand for the others."""

import numpy as np
import pytest

from evlearn.belief import FocalSets
from evlearn.cluster.irqp import Penalty
from evlearn.constraints import PairwiseConstraints

SETS = FocalSets.full(2)
FIRST, SECOND, EITHER = np.eye(4)[1:]


@pytest.mark.parametrize(
    ("rows", "kind", "expected"),
    [
        ([FIRST, SECOND], "must_link", 4.0),  # broken for sure: Pl(different) + 1 - Pl(same) is two
        ([FIRST, FIRST], "must_link", 0.0),
        ([FIRST, EITHER], "must_link", 2.0),  # both are plausible
        ([FIRST, FIRST], "cannot_link", 4.0),
        ([FIRST, SECOND], "cannot_link", 0.0),
        ([EITHER, EITHER], "cannot_link", 2.0),
    ],
)
def test_a_constraint_costs_four_times_what_the_paper_prints(rows, kind, expected):
    # Equation 9 of Li et al. (2018): xi / (2 n) times the sum of Pl(different) + 1 - Pl(same) over must-links, and
    # the other way round over cannot-links.
    xi = 0.3
    penalty = Penalty.of(PairwiseConstraints(**{kind: [(0, 1)]}), xi, SETS)
    assert penalty.value(np.array(rows)) == pytest.approx(expected * xi, abs=1e-15)


def test_the_penalty_is_a_mean_over_all_constraints():
    constraints = PairwiseConstraints(must_link=[(0, 1), (0, 2)], cannot_link=[(1, 2), (2, 3)])
    masses = np.array([FIRST, SECOND, FIRST, FIRST])
    # Broken are the must-link of 0 and 1 and the cannot-link of 2 and 3: two of four.
    assert Penalty.of(constraints, 1.0, SETS).value(masses) == pytest.approx(2.0)
