"""Seeds of k-means++ compared with a NumPy implementation."""

import numpy as np
import pytest
from evlearn.kernels.seeds import BLOCK, choose_seeds
from scipy.spatial.distance import cdist


def seeds(points, weights, first, draws):
    """Return the seeds by matrices of distances."""
    chosen, smallest = [first], cdist(points, points[[first]], "sqeuclidean")[:, 0]
    for numbers in draws:
        ends = np.cumsum(weights * smallest)
        candidates = np.searchsorted(ends, numbers * ends[-1]).clip(max=len(points) - 1)
        squares = np.minimum(smallest[:, None], cdist(points, points[candidates], "sqeuclidean"))
        best = (weights @ squares).argmin()
        chosen.append(candidates[best])
        smallest = squares[:, best]
    return chosen


def blocks(points):
    """Return points as the columns of blocks, padded with zeros."""
    padded = np.pad(points, ((0, -len(points) % BLOCK), (0, 0)))
    return np.ascontiguousarray(padded.reshape(-1, BLOCK, points.shape[1]).transpose(0, 2, 1))


@pytest.mark.parametrize(("n", "d", "c"), [(2, 1, 2), (30, 3, 5), (200, 8, 20)])
def test_seeds_are_those_of_matrices_of_distances(n, d, c):
    random = np.random.default_rng(n)
    points, weights, draws = random.normal(size=(n, d)), random.uniform(0, 2, n), random.random((c - 1, 4))
    chosen = np.zeros(c, dtype=np.intp)
    choose_seeds(blocks(points), weights, draws, chosen)
    np.testing.assert_array_equal(chosen, seeds(points, weights, 0, draws))


def test_equal_points_and_weights_of_0_have_seeds():
    chosen = np.zeros(3, dtype=np.intp)
    choose_seeds(blocks(np.ones((5, 2))), np.array([0.0, 1, 0, 1, 0]), np.full((2, 3), 0.9), chosen)
    assert ((chosen >= 0) & (chosen < 5)).all()
