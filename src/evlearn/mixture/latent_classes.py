r"""Latent class model: clusters within which all columns are independent, discrete ones with any distribution.

With :math:`\pi_k` the share of cluster k, a row x has the density

.. math:: \sum_k\pi_k\prod_{j\text{ discrete}}p_{kj}(x_j)
   \prod_{j\text{ other}}\mathcal N(x_j;\mu_{kj},\sigma_{kj}^2),

and the parameters are estimated by EM. Gaussian mixtures are unsuitable for discrete columns, because a component
may collapse to a single value.
"""

from dataclasses import dataclass

import numpy as np

from evlearn.mixture.discrete_columns import discrete_columns, levels_of
from evlearn.utils.convergence import Trace, best_of, descend
from evlearn.utils.typing import FloatArray, IntArray

#: Pseudo-count of each value in a cluster, and minimum variance in a cluster as a share of the total variance.
_PSEUDO_COUNT, _VARIANCE_SHARE = 0.5, 0.01
#: Tolerance of the relative change of the likelihood, and maximum number of iterations.
_TOL, _MAX_ITER = 1e-5, 200
#: Number of random starts, concentration of their memberships, and membership of a row in its given cluster.
_N_RANDOM, _CONCENTRATION, _MEMBERSHIP = 4, 0.3, 0.9


def fit_latent_classes(
    data: FloatArray, weights: FloatArray, labels: IntArray, n_clusters: int, random: np.random.RandomState
) -> IntArray:
    """Return the clusters of the latent class model with the largest likelihood, from several starts.

    Parameters
    ----------
    data : ndarray of shape (n, n_features)
        Rows.
    weights : ndarray of shape (n,)
        Weights of the rows.
    labels : ndarray of int of shape (n,)
        Clusters of the first start; the others are random.
    n_clusters : int
        Number of clusters.
    random : RandomState
        Random number generator.

    Returns
    -------
    ndarray of int of shape (n,)
        Most probable cluster of each row.
    """
    model = _Columns.of(data, weights)
    first = np.full((len(data), n_clusters), (1 - _MEMBERSHIP) / n_clusters)
    first[np.arange(len(data)), labels] += _MEMBERSHIP
    starts = [first]
    starts += [random.dirichlet(np.full(n_clusters, _CONCENTRATION), len(data)) for _ in range(_N_RANDOM)]
    traces = (descend(model.step, Trace(start, [np.inf]), max_iter=_MAX_ITER) for start in starts)
    return np.asarray(best_of(traces).state.argmax(axis=1))


@dataclass(frozen=True)
class _Columns:
    """Columns of the data in the form that EM needs.

    Attributes
    ----------
    indicators : list of ndarray of shape (n, n_levels)
        Indicators of the values of each discrete column.
    numbers : ndarray of shape (n, n_numbers)
        Other columns, with mean 0 and variance 1.
    weights : ndarray of shape (n,)
        Weights of the rows.
    """

    indicators: list[FloatArray]
    numbers: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, data: FloatArray, weights: FloatArray) -> "_Columns":
        discrete = discrete_columns(data)
        indicators = [(column[:, None] == levels_of(column)).astype(float) for column in data[:, discrete].T]
        numbers = data[:, ~discrete] - data[:, ~discrete].mean(axis=0)
        return cls(indicators, numbers / np.maximum(numbers.std(axis=0), np.finfo(float).tiny), weights)

    def step(self, memberships: FloatArray) -> tuple[FloatArray, float, bool]:
        """Return the next memberships, the negative log-likelihood before the step, and True if it converged."""
        weighted = memberships * self.weights[:, None]
        counts = weighted.sum(axis=0) + np.finfo(float).tiny
        logs = np.tile(np.log(counts / counts.sum()), (len(weighted), 1))
        for indicators in self.indicators:
            shares = weighted.T @ indicators + _PSEUDO_COUNT
            logs += indicators @ np.log(shares / shares.sum(axis=1, keepdims=True)).T
        if self.numbers.shape[1]:
            means = (weighted.T @ self.numbers) / counts[:, None]
            squares = (weighted.T @ self.numbers**2) / counts[:, None]
            variances = np.maximum(squares - means**2, _VARIANCE_SHARE)
            logs -= 0.5 * (self.numbers**2 @ (1 / variances).T - 2 * self.numbers @ (means / variances).T)
            logs -= 0.5 * (means**2 / variances + np.log(variances)).sum(axis=1)
        largest = logs.max(axis=1, keepdims=True)
        densities = np.exp(logs - largest)
        totals = densities.sum(axis=1, keepdims=True)
        objective = -float(self.weights @ (largest + np.log(totals))[:, 0])
        updated = densities / totals
        change = float(self.weights @ np.abs(updated - memberships).sum(axis=1)) / float(self.weights.sum())
        return updated, objective, change < _TOL
