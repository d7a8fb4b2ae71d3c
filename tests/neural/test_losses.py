"""Tests of the terms of the loss and of their gradients."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evlearn.belief import FocalSets
from evlearn.cluster.pairwise.pair_graph import Transform
from evlearn.neural.losses import Losses
from evlearn.neural.network import EvidentialNetwork, OutlierLink, layers
from evlearn.neural.training_samples import exponential_targets

SETS = FocalSets.pairs(3)
REFERENCE = torch.zeros((), dtype=torch.float64)


def make(link, seed=0):
    torch.manual_seed(seed)
    body = layers(4, [6, 5], len(SETS))
    return EvidentialNetwork(body, None if link is None else OutlierLink(link)).double()


def terms(seed=0):
    random = np.random.RandomState(seed)
    targets = torch.from_numpy(random.uniform(size=(9, 9)))
    partners = torch.from_numpy(random.randint(9, size=(9, 4)))
    clusters = torch.from_numpy(random.randint(3, size=9))
    is_must_link = torch.from_numpy(random.uniform(size=9) < 0.5)
    losses = Losses.of(SETS, REFERENCE, constraint_weight=0.7, label_weight=0.3, l2=0.4)
    return {
        "all pairs": lambda m, n: losses.all_pairs(m, targets),
        "some pairs": lambda m, n: losses.partner_pairs(m, partners, targets[:, :4]),
        "weighted pairs": lambda m, n: losses.weighted_pairs(m, targets, targets / targets.sum()),
        "constraints": lambda m, n: losses.constraints(m, m.flip(0), is_must_link),
        "labels": lambda m, n: losses.labels(m, clusters),
        "weights": lambda m, n: losses.weights(n.body),
    }


@pytest.mark.parametrize("link", [None, "r", "paper"])
@pytest.mark.parametrize("name", terms())
def test_gradients_are_those_of_finite_differences(name, link):
    network = make(link)
    random = np.random.RandomState(1)
    X, scores = torch.from_numpy(random.normal(size=(9, 4))), torch.from_numpy(random.normal(size=9))

    def loss():
        return terms()[name](network(X, scores), network)

    loss().backward()
    step = 1e-6
    for weights in network.parameters():
        gradient = torch.zeros_like(weights) if weights.grad is None else weights.grad
        flat = weights.data.view(-1)
        for k in range(0, len(flat), 7):
            values = []
            for sign in (1, -1):
                flat[k] += sign * step
                values.append(loss().item())
                flat[k] -= sign * step
            assert (values[0] - values[1]) / (2 * step) == pytest.approx(gradient.view(-1)[k].item(), abs=1e-7)


@given(st.integers(0, 2**31 - 1))
@settings(max_examples=25, deadline=None)
def test_weights_that_count_pairs_are_the_same_as_a_list_of_pairs(seed):
    random = np.random.RandomState(seed)
    masses = torch.from_numpy(random.dirichlet(np.ones(len(SETS)), size=7))
    targets = torch.from_numpy(random.uniform(size=(7, 7)))
    partners = torch.from_numpy(random.randint(7, size=(7, 3)))
    losses = Losses.of(SETS, REFERENCE)
    counts = torch.zeros(7, 7, dtype=torch.float64).scatter_add_(
        1, partners, torch.ones(7, 3, dtype=torch.float64)
    )
    expected = losses.partner_pairs(masses, partners, targets.gather(1, partners))
    assert losses.weighted_pairs(masses, targets, counts / 21).item() == pytest.approx(expected.item(), rel=1e-12)
    all_partners = torch.tensor([[j for j in range(7) if j != i] for i in range(7)])
    whole = losses.partner_pairs(masses, all_partners, targets.gather(1, all_partners))
    assert losses.all_pairs(masses, targets).item() == pytest.approx(whole.item(), rel=1e-12)


@given(st.integers(0, 2**31 - 1))
@settings(max_examples=25, deadline=None)
def test_penalties_are_those_of_plausibilities(seed):
    """Check Equations 16 to 18 of the paper for each pair."""
    random = np.random.RandomState(seed)
    m = random.dirichlet(np.ones(len(SETS)), size=6)
    must = random.uniform(size=6) < 0.5
    first, second = m, m[::-1]
    pl_same = 1 - np.einsum("ij,jk,ik->i", first, SETS.conflict_matrix, second)
    single = SETS.singleton_positions
    empty = first[:, 0], second[:, 0]
    pl_different = (
        1 - empty[0] - empty[1] + empty[0] * empty[1] - (first[:, single] * second[:, single]).sum(axis=1)
    )
    expected = (
        0.7
        / 12
        * np.where(
            must,
            pl_different + 1 - pl_same,
            pl_same + 1 - pl_different,
        ).sum()
    )
    losses = Losses.of(SETS, REFERENCE, constraint_weight=0.7)
    penalty = losses.constraints(torch.from_numpy(first), torch.from_numpy(second.copy()), torch.from_numpy(must))
    assert penalty.item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("link", ["r", "paper"])
def test_mass_goes_to_the_empty_set_where_scores_are_low(link):
    network = make(link)
    X = torch.zeros(2, 4, dtype=torch.float64)
    with torch.no_grad():
        masses = network(X, torch.tensor([-1e4, 1e4], dtype=torch.float64))
        plain = torch.softmax(network.body(X), dim=1)
    assert masses[0, 0].item() == pytest.approx(1, abs=1e-3)
    np.testing.assert_allclose(masses[1], plain[1], rtol=0, atol=1e-3)
    np.testing.assert_allclose(masses.sum(dim=1), 1, rtol=0, atol=1e-14)


@given(st.integers(0, 2**31 - 1), st.floats(-6, 6), st.sampled_from([0.0, 0.8]))
@settings(max_examples=25, deadline=None)
def test_targets_are_those_of_evclus_wherever_the_data_are(seed, exponent, d1):
    X = np.random.RandomState(seed).normal(size=(8, 3))
    expected = Transform("exponential", 1.7, d1=d1)(np.linalg.norm(X[:, None] - X[None], axis=2))
    translated = X + 10.0**exponent
    targets = exponential_targets(torch.from_numpy((translated - translated.mean(axis=0)) / 1.7), d1 / 1.7)
    np.testing.assert_allclose(targets, expected, rtol=0, atol=1e-8)


def test_targets_of_rows_far_away_are_those_of_evclus():
    X = np.random.RandomState(0).normal(size=(8, 3))
    X[0] += 100
    expected = Transform("exponential", 1.7, d1=0.8)(np.linalg.norm(X[:, None] - X[None], axis=2))
    np.testing.assert_allclose(exponential_targets(torch.from_numpy(X / 1.7), 0.8 / 1.7), expected, atol=1e-12)


@pytest.mark.parametrize("cuts", [[9], [4, 9], [2, 3, 9]])
def test_shares_of_all_pairs_add_up_and_leave_out_each_object_with_itself(cuts):
    random = np.random.RandomState(0)
    masses = torch.from_numpy(random.dirichlet(np.ones(len(SETS)), size=9))
    targets = torch.from_numpy(random.uniform(size=(9, 9)))
    losses, starts = Losses.of(SETS, REFERENCE), [0, *cuts[:-1]]
    shares = [
        losses.share_of_pairs(masses[start:stop], masses, targets[start:stop], start)
        for start, stop in zip(starts, cuts, strict=True)
    ]
    conflicts = masses.numpy() @ SETS.conflict_matrix @ masses.numpy().T
    others = ~np.eye(9, dtype=bool)
    expected = np.square(conflicts - targets.numpy())[others].mean()
    assert sum(shares).item() == pytest.approx(expected, rel=1e-12)
