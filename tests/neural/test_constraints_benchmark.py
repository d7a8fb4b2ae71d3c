"""The quick version of ``python benchmarks/nn_constraints.py``: constraints on Iris, two draws."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "nn_constraints.py"


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    if not SCRIPT.exists():
        pytest.skip("benchmarks are not here")
    path = tmp_path_factory.mktemp("constraints") / "quick.json"
    command = [sys.executable, str(SCRIPT), "--quick", "--json", str(path)]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    return {(one["n_constraints"], one["method"]): one for one in json.loads(path.read_text())["cells"]}


@pytest.mark.parametrize("method", ["EVCLUS", "NN-EVCLUS", "CECM", "EVCLUS+PCCA", "NN-EVCLUS+PCCA", "CECM+PCCA"])
def test_two_hundred_constraints_are_better_than_fifty(cells, method):
    assert cells[200, method]["ari"] > cells[50, method]["ari"]
    assert cells[200, method]["ari"] > 0.88


def test_a_network_learns_from_constraints_as_much_as_free_masses_do(cells):
    for count in (50, 200):
        assert cells[count, "NN-EVCLUS"]["ari"] > cells[count, "EVCLUS"]["ari"] - 0.03


def test_learned_features_help_where_constraints_are_few(cells):
    for method in ("EVCLUS", "NN-EVCLUS"):
        assert cells[50, f"{method}+PCCA"]["ari"] > cells[50, method]["ari"] - 0.01


def test_free_masses_have_a_lower_loss_than_a_network(cells):
    for count in (50, 200):
        for suffix in ("", "+PCCA"):
            free, network = cells[count, f"EVCLUS (17){suffix}"], cells[count, f"NN-EVCLUS{suffix}"]
            assert free["loss_17"] < network["loss_17"]
