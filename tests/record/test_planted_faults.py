"""The planted faults fit the source, and all were detected by the checks that should detect them."""

import re

import pytest

from benchmarks.common import record
from benchmarks.studies.robustness import planted_faults
from benchmarks.studies.robustness.planted_faults import FAULTS


@pytest.fixture(scope="module")
def outcomes():
    return {outcome["kind"]: outcome for outcome in record.load("planted_faults")["outcomes"]}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.kind)
def test_a_fault_fits_the_source_and_was_detected(fault, outcomes):
    text = planted_faults.path_of(fault).read_text(encoding="utf-8")
    assert planted_faults.with_fault(fault, text) != text
    outcome = outcomes[fault.kind]
    assert outcome["tier"] == fault.tier
    assert outcome["caught"]
    assert re.search(fault.message, outcome["by"])


def test_there_are_at_least_12_kinds_in_all_tiers():
    assert len({fault.kind for fault in FAULTS}) == len(FAULTS) >= 12
    assert {fault.tier for fault in FAULTS} == {"smoke", "test", "test-all", "lint", "types", "layers", "docs"}


def test_commands_of_tiers_are_targets_or_existing_tests():
    makefile = (planted_faults.ROOT / "Makefile").read_text()
    for fault in FAULTS:
        assert re.search(rf"^{fault.tier}:", makefile, re.MULTILINE)
        assert bool(fault.tests) == (fault.tier in planted_faults.MARKERS)
        expanded = makefile.replace("$(FREQUENT)", planted_faults.FREQUENT)
        assert all(f'-m "{markers}"' in expanded for markers in planted_faults.MARKERS.values())


def test_a_fault_whose_line_has_changed_is_rejected():
    with pytest.raises(ValueError, match="out of date: 'never' is not in"):
        planted_faults.with_fault(FAULTS[0]._replace(old="never"), "text")
