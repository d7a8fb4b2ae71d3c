"""Volumes and the common shape of components: the fixed point is optimal."""

import numpy as np
import pytest
from evlearn.kernels.gaussian import settle_volumes
from hypothesis import given
from hypothesis import strategies as st


def fit_volumes(spreads, counts, max_iter=1000, tol=1e-12):
    volumes = spreads.sum(axis=-1) / (counts * spreads.shape[-1])
    shape = np.empty((len(spreads), spreads.shape[-1]))
    settle_volumes(spreads, counts, volumes, shape, max_iter, tol)
    return volumes, shape


def problem(seed, n_runs=3, c=4, d=3):
    random = np.random.default_rng(seed)
    return random.gamma(2.0, 3.0, (n_runs, c, d)), random.uniform(5, 50, (n_runs, c))


def cost(spreads, counts, shape):
    """Return twice the negative log-likelihood up to constants, with the optimal volumes for a shape."""
    d = spreads.shape[-1]
    return (counts * d * np.log((spreads / shape[:, None, :]).sum(axis=-1) / (d * counts))).sum(axis=1)


@given(st.integers(0, 10**6))
def test_no_other_shape_near_by_is_better(seed):
    spreads, counts = problem(seed)
    volumes, shape = fit_volumes(spreads, counts)
    np.testing.assert_allclose(shape.prod(axis=1), 1)
    np.testing.assert_allclose(volumes, (spreads / shape[:, None, :]).sum(axis=-1) / (3 * counts))
    others = shape * np.exp(np.random.default_rng(seed).normal(0, 0.1, shape.shape))
    others /= np.exp(np.log(others).mean(axis=1))[:, None]
    assert (cost(spreads, counts, shape) <= cost(spreads, counts, others) + 1e-9).all()


def test_a_run_does_not_depend_on_those_beside_it():
    spreads, counts = problem(0)
    joint_results = fit_volumes(spreads, counts, tol=1e-8)
    for run in range(3):
        results = fit_volumes(spreads[run : run + 1], counts[run : run + 1], tol=1e-8)
        for joint, separate in zip(joint_results, results, strict=True):
            np.testing.assert_array_equal(joint[run], separate[0])


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf])
def test_a_flat_or_unbounded_component_returns_nan_and_terminates(value):
    spreads, counts = problem(0)
    whole = fit_volumes(spreads, counts)
    spreads[1, :, 2] = value
    volumes, shape = fit_volumes(spreads, counts)
    assert not np.isfinite([*volumes[1], *shape[1]]).all()
    np.testing.assert_array_equal(volumes[[0, 2]], whole[0][[0, 2]])
