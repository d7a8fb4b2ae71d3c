"""Metrics of set-valued decisions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score

from evlearn.metrics import utility_discounted_accuracy


@given(st.integers(0, 10_000), st.sampled_from(["u65", "u80", "inverse"]))
def test_single_classes_have_the_ordinary_accuracy(seed, utility):
    random = np.random.default_rng(seed)
    truth, predictions = random.integers(4, size=(2, 30))
    sets = np.eye(4, dtype=bool)[predictions]
    assert utility_discounted_accuracy(truth, sets, utility=utility) == pytest.approx(
        accuracy_score(truth, predictions)
    )


def test_utilities_of_correct_pairs_match_their_names():
    sets, truth = np.array([[True, True, False]] * 3), np.array([0, 1, 0])
    assert utility_discounted_accuracy(truth, sets) == pytest.approx(0.65)
    assert utility_discounted_accuracy(truth, sets, utility="u80") == pytest.approx(0.8)
    assert utility_discounted_accuracy(truth, sets, utility="inverse") == pytest.approx(0.5)
    assert utility_discounted_accuracy(truth, sets, utility=lambda r: np.ones(len(r))) == 1
    assert utility_discounted_accuracy([2, 2, 2], sets) == 0


@given(st.integers(0, 10_000))
def test_the_three_utilities_are_ordered_and_below_coverage(seed):
    random = np.random.default_rng(seed)
    truth, sets = random.integers(5, size=40), random.uniform(size=(40, 5)) < 0.5
    values = [utility_discounted_accuracy(truth, sets, utility=name) for name in ("inverse", "u65", "u80")]
    coverage = sets[np.arange(40), truth].mean()
    assert 0 <= values[0] <= values[1] <= values[2] <= coverage


def test_columns_may_have_names_and_unknown_classes_are_never_covered():
    sets = np.array([[True, False], [False, True], [True, True]])
    names = ["ash", "oak"]
    assert utility_discounted_accuracy(["ash", "ash", "elm"], sets, classes=names) == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: utility_discounted_accuracy([0], [[0.2, 0.8]]), "sets must be boolean"),
        (lambda: utility_discounted_accuracy([0, 1], [[True, False]]), "sets must be boolean"),
        (lambda: utility_discounted_accuracy([0], [[True, False]], utility="u50"), "utility must be"),
        (
            lambda: utility_discounted_accuracy([0], [[True, False]], classes=["a"]),
            "classes must name the 2 columns",
        ),
    ],
)
def test_errors_name_invalid_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
