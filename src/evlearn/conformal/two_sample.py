"""Comparison of a batch with reference samples: rank statistics, and permutations of the rows of both.

If the batch and the reference samples come from the same distribution, every subset of the pooled rows is equally
likely to be the batch. So p-values from random subsets are valid for any data and any dependence of the
statistics.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import rankdata

from evlearn.utils.typing import FloatArray, IntArray

_SEED = 0
_BLOCK_SIZE = 1 << 21  # sums in memory
_ROUNDING = 1e-9


def rank_scores(values: FloatArray) -> FloatArray:
    """Return the centered ranks of each column, as shares; ties have their mean rank."""
    return np.asarray((rankdata(values, axis=0) - 0.5) / len(values) - 0.5)


def standardize(scores: FloatArray) -> FloatArray:
    """Return columns with mean 0 and variance 1; constant columns become 0."""
    centered = scores - scores.mean(axis=0)
    deviations = centered.std(axis=0)
    return np.asarray(centered / np.where(deviations > _ROUNDING, deviations, np.inf))


def standardized_sums(sums: FloatArray, size: int | IntArray, n_samples: int | IntArray) -> FloatArray:
    """Return sums of standardized scores over subsets of samples, in units of their standard deviation.

    Subsets without samples, or with all of them, have the value 0.
    """
    variance = size * (n_samples - size) / np.maximum(np.subtract(n_samples, 1), 1)
    return np.asarray(sums / np.sqrt(np.where(variance > 0, variance, np.inf)))


def rank_deviation(batch: FloatArray, references: FloatArray) -> float:
    """Return the standardized rank sum of a batch (Mann-Whitney statistic), positive for larger values."""
    scores = standardize(rank_scores(np.concatenate([references, batch])[:, None]))
    sums = scores[len(references) :, 0].sum()
    return float(standardized_sums(sums, len(batch), len(scores)))


@dataclass(frozen=True)
class PooledScores:
    """Scores of reference samples followed by those of a batch.

    Attributes
    ----------
    labels : ndarray of int of shape (n_samples,)
        Cluster of each sample.
    overall : dict of str to ndarray of shape (n_samples, n_scores)
        Scores that are averaged over all samples of a batch, for each statistic.
    per_cluster : dict of str to ndarray of shape (n_samples, n_scores)
        Scores that are averaged over the samples of each cluster.
    """

    labels: IntArray
    overall: Mapping[str, FloatArray]
    per_cluster: Mapping[str, FloatArray]


@dataclass(frozen=True)
class PermutationTest:
    """Result of `permutation_test`.

    Attributes
    ----------
    p_value : float
        P-value of all statistics together.
    p_values : dict of str to float
        P-value of each statistic: the shares of clusters ("sizes"), and those of `PooledScores`.
    deviations : dict of str to ndarray
        Standardized deviations of the batch from the mean of its permutations: of each cluster for "sizes";
        otherwise of each score overall, and then of each score within each cluster.
    adjusted : dict of str to ndarray
        P-value of each deviation, valid for all deviations of its statistic together.
    """

    p_value: float
    p_values: Mapping[str, float]
    deviations: Mapping[str, FloatArray]
    adjusted: Mapping[str, FloatArray]


def permutation_test(pool: PooledScores, n_batch: int, n_draws: int) -> PermutationTest:
    """Compare a batch with reference samples by the largest deviation of each statistic.

    Parameters
    ----------
    pool : PooledScores
        Scores of the reference samples and of the batch.
    n_batch : int
        Number of samples in the batch.
    n_draws : int
        Number of random subsets.

    Returns
    -------
    PermutationTest
        P-values. The smallest p-value of the statistics is compared with that of each subset, so the common
        p-value is valid, too.
    """
    blocks = []
    observed: dict[str, FloatArray] = {}
    for deviations in _deviations(pool, n_batch, n_draws):
        observed = observed or {name: values[0] for name, values in deviations.items()}
        blocks.append(np.column_stack([np.abs(values).max(axis=1) for values in deviations.values()]))
    largest = np.concatenate(blocks).round(9)  # equal sums in another order are equal
    shares = np.column_stack([_shares_above(column, column) for column in largest.T])
    smallest = shares.min(axis=1)
    names = list(observed)
    adjusted = [
        _shares_above(np.abs(observed[name]).round(9), column)
        for name, column in zip(names, largest.T, strict=True)
    ]
    return PermutationTest(
        p_value=float((smallest <= smallest[0]).mean()),
        p_values=dict(zip(names, shares[0].tolist(), strict=True)),
        deviations=observed,
        adjusted=dict(zip(names, adjusted, strict=True)),
    )


def _deviations(pool: PooledScores, n_batch: int, n_draws: int) -> Iterator[dict[str, FloatArray]]:
    """Yield the standardized deviations of the batch and then of random subsets, in blocks."""
    n_samples, random = len(pool.labels), np.random.default_rng(_SEED)
    clusters, labels, sizes = np.unique(pool.labels, return_inverse=True, return_counts=True)
    n_overall = sum(part.shape[1] for part in pool.overall.values())
    inner_scores = np.hstack([_standardize_within(part, labels) for part in pool.per_cluster.values()])
    order = np.argsort(labels, kind="stable")  # sorted members of a subset are grouped by cluster
    scores = np.hstack([*(standardize(part) for part in pool.overall.values()), inner_scores])[order]
    batch = np.flatnonzero(order >= n_samples - n_batch)
    shares = sizes / n_samples
    step = max(1, _BLOCK_SIZE // (len(clusters) * scores.shape[1]))
    for start in range(0, n_draws + 1, step):
        members = np.array(
            [
                random.choice(n_samples, n_batch, replace=False, shuffle=False) if draw else batch
                for draw in range(start, min(start + step, n_draws + 1))
            ]
        )
        sums, counts = _sums_by_cluster(scores, np.sort(members, axis=1), np.cumsum(sizes))
        excess = (counts - n_batch * shares) / np.sqrt(np.maximum(shares * (1 - shares), 1 / n_samples**2))
        overall = standardized_sums(sums[:, :, :n_overall].sum(axis=1), n_batch, n_samples)
        inner = standardized_sums(sums[:, :, n_overall:], counts[:, :, None], sizes[:, None])
        result = {"sizes": standardized_sums(excess, n_batch, n_samples)}
        for parts, values in ((pool.overall, overall), (pool.per_cluster, inner)):
            ends = np.cumsum([part.shape[1] for part in parts.values()])[:-1]
            for name, columns in zip(parts, np.split(values, ends, axis=-1), strict=True):
                flat = columns.reshape(len(columns), -1)
                result[name] = np.hstack([result[name], flat]) if name in result else flat
        yield result


def _sums_by_cluster(scores: FloatArray, members: IntArray, ends: IntArray) -> tuple[FloatArray, IntArray]:
    """Return the sums of scores over the members of each subset in each cluster, and their numbers.

    Samples are sorted by cluster, so members in ascending order are sorted, too.
    """
    n_subsets, size = members.shape
    counts = np.stack([np.searchsorted(row, ends) for row in members])
    starts = np.append(0, (counts + size * np.arange(n_subsets)[:, None]).ravel())
    table = csr_array((np.ones(members.size), members.ravel(), starts), shape=(counts.size, len(scores)))
    return (table @ scores).reshape(n_subsets, len(ends), -1), np.diff(counts, axis=1, prepend=0)


def _standardize_within(scores: FloatArray, labels: IntArray) -> FloatArray:
    """Return the ranks of scores within each cluster, standardized."""
    result = np.zeros(scores.shape)
    for cluster in range(labels.max() + 1):
        rows = labels == cluster
        result[rows] = standardize(rank_scores(scores[rows]))
    return result


def _shares_above(values: FloatArray, draws: FloatArray) -> FloatArray:
    """Return the shares of draws that are at least as large as values; the observed value is a draw, too."""
    return np.asarray((len(draws) - np.searchsorted(np.sort(draws), values)) / len(draws))
