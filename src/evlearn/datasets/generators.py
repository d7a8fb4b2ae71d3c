"""Generators of the data of the papers, with the true clusters, and the butterfly data."""

from types import MappingProxyType

import numpy as np
import numpy.typing as npt
from sklearn.utils import Bunch, check_random_state

from evlearn.utils.typing import FloatArray, IntArray, RandomSeed

_ROUND = [[1.0, 0.0], [0.0, 1.0]]
_TILTED = [[1.0, 0.5], [0.5, 1.0]]
#: Means and covariances of the 3 mixtures of the Bootclus paper; the components have equal weights.
_MIXTURES = MappingProxyType(
    {
        1: ([[0, 0], [0, 3], [3, 0]], [_ROUND, _ROUND, _ROUND]),
        2: ([[0, 0], [0, 2.5], [2.5, 0]], [_TILTED, _TILTED, _TILTED]),
        3: ([[0, 0], [0, 3], [3, 0]], [_TILTED, [[1.5, -0.75], [-0.75, 1.5]], _ROUND]),
    }
)
_DESCRIPTION = """\
Butterfly data

2 clusters of 5 samples each, the wings; a sixth sample in the middle, torn between them; and a sample far
from both, which belongs to neither. Samples are numbered 1 to 12 in the papers. The first 11 go back to
M. P. Windham, "Numerical classification of proximity data with assignment measures", Journal of Classification 2
(1985); the outlier was added in the literature on evidential clustering.
"""


def make_fourclass(
    n_samples: int = 400, *, degrees_of_freedom: float = 5.0, random_state: RandomSeed = None
) -> tuple[FloatArray, IntArray]:
    """Generate 4 clusters with heavy tails: bivariate Student distributions at the corners of a square.

    The distribution of the ``fourclass`` data of Denœux (2021). Because of the tails, some samples
    are between clusters, and some are far from all of them.

    Parameters
    ----------
    n_samples : int, default=400
        Number of samples, equally distributed over the clusters.
    degrees_of_freedom : float, default=5.0
        Degrees of freedom; smaller values give heavier tails.
    random_state : int, RandomState instance or None, default=None
        Seed for reproducible data.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Samples, ordered by cluster.
    y : ndarray of int of shape (n_samples,)
        True clusters.

    Examples
    --------
    >>> from evlearn.datasets import make_fourclass
    >>> X, y = make_fourclass(random_state=0)
    >>> X.shape, [int((y == k).sum()) for k in range(4)]
    ((400, 2), [100, 100, 100, 100])
    """
    random = check_random_state(random_state)
    if not degrees_of_freedom > 0:
        raise ValueError(f"degrees_of_freedom must be positive, got {degrees_of_freedom}.")
    centers = np.array([[0.0, 0.0], [0.0, 4.0], [4.0, 0.0], [4.0, 4.0]])
    y = _shared_labels(n_samples, np.full(4, 0.25))
    spread = np.sqrt(degrees_of_freedom / random.chisquare(degrees_of_freedom, size=(n_samples, 1)))
    return centers[y] + spread * random.standard_normal((n_samples, 2)), y


def make_bananas(
    n_samples: int = 200, *, radius: float = 5.0, noise: float = 1.0, random_state: RandomSeed = None
) -> tuple[FloatArray, IntArray]:
    """Generate 2 intertwined bananas: circular segments with normal noise.

    The data of Li et al. (2018). Without constraints, methods for compact clusters do not find them.

    Parameters
    ----------
    n_samples : int, default=200
        Number of samples, half of them in each cluster.
    radius : float, default=5.0
        Radius of the segments.
    noise : float, default=1.0
        Standard deviation of the noise.
    random_state : int, RandomState instance or None, default=None
        Seed for reproducible data.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Samples, ordered by cluster.
    y : ndarray of int of shape (n_samples,)
        True clusters.
    """
    random = check_random_state(random_state)
    y = _shared_labels(n_samples, np.full(2, 0.5))
    # Each segment is 5/8 of a circle; the second is the first one, rotated and shifted.
    angle = np.pi * (0.125 + 1.25 * random.uniform(size=n_samples))
    angle = np.where(y == 0, angle, angle + np.pi)
    segments = radius * np.column_stack([np.sin(angle), np.cos(angle)]) - 0.75 * radius * y[:, None]
    return segments + noise * random.standard_normal((n_samples, 2)), y


def make_core_and_ring(
    n_samples: int = 500,
    *,
    radius: float = 5.0,
    core_noise: float = 0.8,
    ring_noise: float = 0.5,
    random_state: RandomSeed = None,
) -> tuple[FloatArray, IntArray]:
    """Generate a round cluster inside a ring.

    The data of Example 5 of Denœux (2021): 2/5 of the samples in the middle, 3/5 on the ring. The paper shows
    them in a figure only; the radius and the noise are our choice. Samples on opposite sides of the ring are
    far apart but in the same cluster: finding it requires constraints, labels or another metric.

    Parameters
    ----------
    n_samples : int, default=500
        Number of samples.
    radius : float, default=5.0
        Radius of the ring.
    core_noise : float, default=0.8
        Standard deviation of the round cluster.
    ring_noise : float, default=0.5
        Standard deviation across the ring.
    random_state : int, RandomState instance or None, default=None
        Seed for reproducible data.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Samples, the round cluster first.
    y : ndarray of int of shape (n_samples,)
        0 in the middle, 1 on the ring.
    """
    random = check_random_state(random_state)
    y = _shared_labels(n_samples, np.array([0.4, 0.6]))
    core = core_noise * random.standard_normal((n_samples, 2))
    angle = random.uniform(0, 2 * np.pi, size=n_samples)
    distance = radius + ring_noise * random.standard_normal(n_samples)
    ring = distance[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return np.where(y[:, None] == 0, core, ring), y


def make_gaussian_mixture(
    mixture: int = 1, n_samples: int = 300, *, random_state: RandomSeed = None
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Generate one of the 3 Gaussian mixtures for the calibration of Bootclus, with the true probabilities.

    3 components in the plane with equal weights, from Denœux (2020): spherical (1), with a
    common tilted covariance (2), and with 3 different covariances (3).

    Parameters
    ----------
    mixture : {1, 2, 3}, default=1
        Number of the mixture. The models that fit them are EII, EEE and VVV.
    n_samples : int, default=300
        Number of samples.
    random_state : int, RandomState instance or None, default=None
        Seed for reproducible data.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Generated samples.
    y : ndarray of int of shape (n_samples,)
        Component of each sample.
    posterior : ndarray of shape (n_samples, 3)
        True probability of each component given the sample; see `same_cluster_probability`.
    """
    if mixture not in _MIXTURES:
        raise ValueError(f"mixture must be 1, 2 or 3, got {mixture!r}.")
    means, covariances = (np.asarray(part, dtype=float) for part in _MIXTURES[mixture])
    random = check_random_state(random_state)
    y = random.randint(3, size=_read_count(n_samples))
    roots = np.linalg.cholesky(covariances)
    X = means[y] + np.einsum("nij,nj->ni", roots[y], random.standard_normal((n_samples, 2)))
    return X, y, _posterior(X, means, covariances)


def same_cluster_probability(posterior: npt.ArrayLike, pairs: npt.ArrayLike | None = None) -> FloatArray:
    """Return the probability that two samples come from the same component.

    Parameters
    ----------
    posterior : array-like of shape (n_samples, n_components)
        Probability of each component for each sample.
    pairs : array-like of int of shape (n_pairs, 2), default=None
        Pairs of samples; None means all pairs, as a square matrix.

    Returns
    -------
    ndarray of shape (n_pairs,) or (n_samples, n_samples)
        Probabilities. On the diagonal of the matrix, a sample is compared with an independent sample at its place.
    """
    values = np.asarray(posterior, dtype=float)
    if pairs is None:
        return np.asarray(values @ values.T)
    left, right = np.asarray(pairs).T
    return np.asarray(np.einsum("ij,ij->i", values[left], values[right]))


def _posterior(X: FloatArray, means: FloatArray, covariances: FloatArray) -> FloatArray:
    offsets = X[:, None] - means
    squared = np.einsum("nki,kij,nkj->nk", offsets, np.linalg.inv(covariances), offsets)
    logs = -0.5 * (squared + np.log(np.linalg.det(covariances)))
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _shared_labels(n_samples: int, shares: FloatArray) -> IntArray:
    """Return labels ordered by cluster, with these proportions up to rounding."""
    bounds = np.rint(np.cumsum(shares) * _read_count(n_samples)).astype(np.intp)
    return np.searchsorted(bounds, np.arange(n_samples), side="right")


def _read_count(n_samples: int) -> int:
    if not isinstance(n_samples, (int, np.integer)) or n_samples < 1:
        raise ValueError(f"n_samples must be a positive whole number, got {n_samples!r}.")
    return int(n_samples)


def load_butterfly() -> Bunch:
    """Load the 12 samples of the butterfly data: 2 wings, a sample between them, and an outlier.

    Returns
    -------
    Bunch
        Dictionary with attributes: ``data`` (12 by 2), ``feature_names``, ``sample_names`` ("1" to "12", as in
        the papers) and ``DESCR``. There are no labels, because 2 samples belong to no single cluster.

    Examples
    --------
    >>> from evlearn.datasets import load_butterfly
    >>> butterfly = load_butterfly()
    >>> butterfly.data[[0, 5, 11]]
    array([[-5.,  0.],
           [ 0.,  0.],
           [10., 10.]])
    """
    tip, middle, inner, height = 5.0, 3.34, 1.67, 1.67
    left = [(-tip, 0.0), (-middle, height), (-middle, 0.0), (-middle, -height), (-inner, 0.0)]
    right = [(-x, y) for x, y in reversed(left)]
    return Bunch(
        data=np.array([*left, (0.0, 0.0), *right, (10.0, 10.0)]),
        feature_names=["x1", "x2"],
        sample_names=[str(number) for number in range(1, 13)],
        DESCR=_DESCRIPTION,
    )
