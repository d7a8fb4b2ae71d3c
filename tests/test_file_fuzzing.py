"""Some mutants of every kind of file, read in separate processes; the benchmark of that name makes more."""

import sys

import pytest

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory and threads are read from /proc"),
    pytest.mark.filterwarnings("ignore"),
]
if sys.platform.startswith("linux"):
    from benchmarks.studies.robustness import fuzz_files
    from benchmarks.studies.robustness.fuzz_subjects import names
else:
    names = list

N_CASES = 200


@pytest.mark.parametrize("name", names())
@pytest.mark.slow
def test_a_mutated_file_is_refused_with_a_reason_or_used_and_does_no_harm(name):
    if "NN" in name:
        pytest.importorskip("torch")
    outcome = fuzz_files.run(name, N_CASES, seed=2)
    assert outcome["failures"] == []
    assert outcome["signals"] == 0
    assert outcome["refused"] > outcome["loaded"] > 0
    assert (
        outcome["refused"] + outcome["loaded"] + outcome["refused_in_use"] + outcome["not_finite_in_use"]
        == N_CASES
    )
