"""Tests of the quick ``python -m benchmarks.studies.peers.nn_constraints``: constraints on Iris, 2 draws."""

import pytest

pytest.importorskip("torch")

from benchmarks.studies.peers import nn_constraints

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("cells of constraints")]


@pytest.fixture(scope="module")
def cells():
    return {(entry["n_constraints"], entry["method"]): entry for entry in nn_constraints.quick()[0]}


@pytest.mark.parametrize("method", ["EVCLUS", "NN-EVCLUS", "CECM", "EVCLUS+PCCA", "NN-EVCLUS+PCCA", "CECM+PCCA"])
def test_200_constraints_are_better_than_50(cells, method):
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
