"""The stochastic solver: what a sweep changes, early and late."""

import numpy as np

from evlearn.belief import FocalSets
from evlearn.cluster.focal_families import random_masses
from evlearn.cluster.pairwise.pair_graph import Transform
from evlearn.cluster.pairwise.stochastic import descend_stochastic
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


def test_the_noise_of_the_draws_fades_as_the_sweeps_go_on():
    X, _ = make_fourclass(200, random_state=0)
    focal_sets = FocalSets.simple(4)
    start = random_masses(200, len(focal_sets), np.random.RandomState(1))

    def change_of_sweep(number):
        before, after = (masses_after(sweeps, X, start, focal_sets) for sweeps in (number - 1, number))
        return np.abs(after - before).mean()

    early, late = (np.mean([change_of_sweep(one) for one in some]) for some in ((8, 9, 10), (148, 149, 150)))
    # After t sweeps beyond the first ten a row weighs t / 20 times the mean curvature: seven times, in the end.
    assert late < early / 5


def test_partners_come_from_outside_the_block():
    focal_sets, X = FocalSets.simple(2), np.arange(12.0)[:, None]
    compared = []

    def apart(one, other):
        compared.append((one[0], other[0]))
        return abs(one[0] - other[0])

    descend_stochastic(
        X,
        random_masses(12, len(focal_sets), np.random.RandomState(0)),
        focal_sets,
        Transform("exponential", 5.0),
        apart,
        n_partners=4,
        block_size=5,
        tol=0,
        max_iter=10,
        random=np.random.RandomState(0),
    )
    assert len(compared) == 5 * 4 + 10 * 12 * 4  # a block before the first sweep, and all in each sweep
    assert all(one != other for one, other in compared)
    assert {other for _, other in compared} == set(X[:, 0])
