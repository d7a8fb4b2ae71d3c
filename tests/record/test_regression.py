"""The small set of cases against regressions: every case is found, and each kind of figure is a number."""

import pytest

from benchmarks.regression import __main__ as regression


def test_every_method_has_its_time_its_memory_and_its_objective():
    found = regression.cases()
    for method in ("ECM", "CCM", "BPEC", "CECM", "RECM", "ECMdd", "EVCLUS", "EKNNClus", "BootClus"):
        for figure in ("time_fit", "peakmem_fit", "track_objective"):
            assert f"cluster.Fits {method}: {figure}" in found


@pytest.mark.parametrize("figure", ["time_fit", "peakmem_fit", "track_objective"])
def test_each_kind_of_figure_is_a_number(figure):
    kind, name, values = regression.cases()[f"cluster.Fits ECMdd: {figure}"]
    case = kind()
    case.setup(*values)
    assert regression.measure(name, getattr(case, name), values) > 0
