"""Tests of the mutants: they fit the source, and the recorded tests kill them without reference data."""

import pytest

from benchmarks.common import record
from benchmarks.studies.robustness import mutant_list, mutants
from benchmarks.studies.robustness.mutant_list import (
    CHOSEN_LATER,
    FROM_THE_REVIEW,
    FROM_THE_THIRD_REVIEW,
    MUTANTS,
    OF_ROBUST_DEFAULTS,
    OF_SEEDS_AND_TREES,
    TESTS,
    Mutant,
)


@pytest.fixture(scope="module")
def committed():
    return record.load("mutants")


def test_every_mutant_matches_the_source():
    for mutant in MUTANTS:
        assert mutants.mutated_source(mutant).count(mutant.old) == mutant.new.count(mutant.old)
        assert all((mutants.ROOT / name).exists() for name in mutant_list.tests_of(mutant.file))


def test_a_mutant_whose_line_has_changed_is_rejected():
    with pytest.raises(ValueError, match=r"out of date: 'import' stands \d+ times in utils/convergence.py"):
        mutants.mutated_source(Mutant("utils/convergence.py", "import", "export", "never"))


def test_there_are_mutants_in_every_package_and_kernel():
    files = {mutant.file for mutant in MUTANTS}
    assert all(any(file.startswith(name) for file in files) for name in TESTS)
    kernels = {path.stem for path in (mutants.ROOT / "src" / "evlearn" / "kernels").glob("*.pyx")}
    assert kernels <= {file.split("/")[-1].split(".")[0].removesuffix("_body") for file in files}


def test_the_record_contains_the_mutants_of_the_list(committed):
    assert [mutants.key(outcome) for outcome in committed["outcomes"]] == [
        mutants.key(outcome) for outcome in MUTANTS
    ]
    assert [outcome["equivalent"] for outcome in committed["outcomes"]] == [
        outcome.equivalent for outcome in MUTANTS
    ]


def test_at_least_90_percent_of_all_mutants_are_killed(committed):
    counts = mutants.summary(committed["outcomes"])
    assert counts["mutants"] >= 160
    assert counts["killed"] >= 0.9 * counts["mutants"]
    assert counts.items() <= committed.items()


@pytest.mark.parametrize(
    ("selected", "number", "min_share"),
    [
        (FROM_THE_REVIEW, 15, 1.0),
        pytest.param(FROM_THE_THIRD_REVIEW, 14, 1.0),
        (CHOSEN_LATER, 40, 0.9),
        (OF_ROBUST_DEFAULTS, 12, 0.9),
        pytest.param(OF_SEEDS_AND_TREES, 5, 0.9),
    ],
    ids=["first review", "third review", "chosen later", "robust defaults", "seeds and trees"],
)
def test_mutants_of_reviews_are_killed_and_at_least_90_percent_of_those_chosen_later(
    committed, selected, number, min_share
):
    assert len(selected) == number
    keys = {mutants.key(mutant) for mutant in selected if not mutant.equivalent}
    outcomes = [outcome for outcome in committed["outcomes"] if mutants.key(outcome) in keys]
    assert len(outcomes) == len(keys)
    assert sum(outcome["killed"] for outcome in outcomes) >= min_share * len(outcomes)
    assert all(
        outcome["from_the_review"] == (selected not in (CHOSEN_LATER, OF_ROBUST_DEFAULTS, OF_SEEDS_AND_TREES))
        for outcome in outcomes
    )
