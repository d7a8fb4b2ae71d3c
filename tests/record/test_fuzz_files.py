"""What is on record about mutated files: every kind that the library reads, and none of them bites."""

import pytest

pytest.importorskip("torch")

from benchmarks.common import record
from benchmarks.studies.robustness import fuzz_subjects


def test_a_thousand_mutants_and_more_of_every_kind_of_file_did_no_harm():
    found = record.read("fuzz_files")
    assert set(found["kinds"]) == set(fuzz_subjects.names())
    for kind in found["kinds"].values():
        assert kind["cases"] >= 1_000
        assert kind["signals"] == kind["other_failures"] == 0
        assert kind["worst_memory_mb"] < 100
