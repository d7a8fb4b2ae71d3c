"""Sums of agreements with landmarks: equal to those of NumPy, and independent of the other rows."""

import numpy as np
import pytest
from evlearn.kernels.agreements import PADDED, sum_agreements


def sums_of(points, exponents, factors, largest=np.inf):
    result = np.empty((len(points), len(factors)))
    sum_agreements(points, exponents, factors, largest, result)
    return result


@pytest.mark.parametrize(("n", "n_landmarks", "d"), [(1, 8, 1), (70, 40, 3), (200, 104, 12)])
def test_sums_are_equal_to_those_of_numpy_and_do_not_depend_on_other_rows(n, n_landmarks, d):
    random = np.random.default_rng(n)
    points, exponents = random.standard_normal((n, d)), 4 * random.standard_normal((n_landmarks, d))
    factors = random.random((PADDED, n_landmarks))
    result = sums_of(points, exponents, factors)
    np.testing.assert_allclose(result, np.exp2(points @ exponents.T) @ factors.T, rtol=1e-13)
    np.testing.assert_array_equal(sums_of(points[n // 2 :].copy(), exponents, factors), result[n // 2 :])
    capped = np.exp2(np.minimum(points @ exponents.T, 0)) @ factors.T
    np.testing.assert_allclose(sums_of(points, exponents, factors, 0.0), capped, rtol=1e-13)


def test_powers_are_exact_to_2_units_in_the_last_place_and_vanish_for_values_that_are_not_finite():
    x = np.r_[np.linspace(-60, 10, 5001), -1000, -1e300, -np.inf, np.nan]
    factors = np.zeros((PADDED, PADDED))
    factors[0, 0] = 1
    powers = sums_of(x[:, None], np.ones((PADDED, 1)), factors)[:, 0]
    np.testing.assert_array_max_ulp(powers[:5001], np.exp2(x[:5001]), 2)
    assert (powers[5001:] < 1e-300).all()


@pytest.mark.parametrize(
    ("points", "exponents", "factors"),
    [((3, 2), (8, 3), (8, 8)), ((3, 2), (8, 2), (8, 16)), ((3, 2), (7, 2), (8, 7)), ((3, 2), (8, 2), (7, 8))],
    ids=["features", "landmarks", "padding of landmarks", "padding of factors"],
)
def test_incompatible_shapes_raise_an_error(points, exponents, factors):
    with pytest.raises(ValueError, match=r"compatible shapes|padded to multiples of 8"):
        sums_of(np.ones(points), np.ones(exponents), np.ones(factors))
