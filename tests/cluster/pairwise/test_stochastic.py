"""Stochastic solver: changes of early and late sweeps, and draws of partners."""

import numpy as np
import pytest

from evlearn.belief import FocalSets
from evlearn.cluster.focal_families import random_masses
from evlearn.cluster.pairwise.pair_graph import Transform
from evlearn.cluster.pairwise.solvers import descend_stochastic
from evlearn.datasets import make_fourclass


def masses_after(n_sweeps, X, start, focal_sets):
    trace = descend_stochastic(
        X,
        start,
        focal_sets,
        Transform("exponential", 5.0),
        "euclidean",
        n_partners=20,
        block_size=50,
        tol=0,
        max_iter=n_sweeps,
        random=np.random.RandomState(0),
    )
    return trace.state.masses


@pytest.mark.slow
def test_the_noise_of_draws_decreases_with_the_number_of_sweeps():
    X, _ = make_fourclass(200, random_state=0)
    focal_sets = FocalSets.simple(4)
    start = random_masses(200, len(focal_sets), np.random.RandomState(1))

    def change_of_sweep(number):
        before, after = (masses_after(sweeps, X, start, focal_sets) for sweeps in (number - 1, number))
        return np.abs(after - before).mean()

    early, late = (
        np.mean([change_of_sweep(number) for number in numbers]) for numbers in ((8, 9, 10), (148, 149, 150))
    )
    # After 10 + t sweeps, the weight of a sample is t / 20 times the mean curvature: 7 times, at the end.
    assert late < early / 5


def test_partners_come_from_outside_the_block():
    focal_sets, X = FocalSets.simple(2), np.arange(12.0)[:, None]
    pairs = []

    def distance(x, y):
        pairs.append((x[0], y[0]))
        return abs(x[0] - y[0])

    descend_stochastic(
        X,
        random_masses(12, len(focal_sets), np.random.RandomState(0)),
        focal_sets,
        Transform("exponential", 5.0),
        distance,
        n_partners=4,
        block_size=5,
        tol=0,
        max_iter=10,
        random=np.random.RandomState(0),
    )
    assert len(pairs) == 5 * 4 + 10 * 12 * 4  # a block before the first sweep, and all samples in each sweep
    assert all(x != y for x, y in pairs)
    assert {y for _, y in pairs} == set(X[:, 0])
