"""Explanation of a clustering by the user's table."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from evlearn.explain.explanation import Explanation
from evlearn.explain.profiles import profiles
from evlearn.explain.table import informative_columns
from evlearn.partition import SURE_LEVEL, CredalPartition
from evlearn.partition.estimators import partition_for
from evlearn.utils.typing import EstimatorLike, FloatArray, TableLike
from evlearn.utils.validation import check_integer


def explain_clusters(
    clustering: CredalPartition | EstimatorLike,
    X: TableLike,
    *,
    cluster_names: Sequence[str] | None = None,
    level: float = SURE_LEVEL,
    n_features: int = 5,
    n_samples: int = 3,
) -> Explanation:
    """Describe each cluster and each doubtful sample in sentences.

    Samples are weighted by their degrees of membership, so outliers hardly count. Differences between a cluster
    and all other samples are ranked by an effect size without units, see `Difference`.

    Parameters
    ----------
    clustering : CredalPartition or fitted estimator
        A partition, an evlearn or scikit-learn clusterer, or a pipeline that ends in one.
    X : pandas, polars or pyarrow table, dict of columns, or array-like of shape (n_samples, n_columns)
        Samples in their original form: numbers, categories, flags, dates and missing values. For an estimator, the
        table that it accepts; for a partition, any table with a row for each of its samples.
    cluster_names : sequence of str or None, default=None
        Names of the clusters; None uses those of the partition, or "cluster" and a number.
    level : float, default=0.6
        A sample with at least this belief in one cluster is sure, see `evlearn.CredalPartition.verdict`.
    n_features : int, default=5
        Maximum number of differences per cluster.
    n_samples : int, default=3
        Maximum number of typical samples, and of border samples, per cluster.

    Returns
    -------
    Explanation
        Profiles of the clusters, and reasons for torn samples and outliers. Prints as text.

    See Also
    --------
    evlearn.report : The same as an HTML page, with plots.

    Examples
    --------
    >>> import numpy as np
    >>> from evlearn import CredalPartition
    >>> from evlearn.explain import explain_clusters
    >>> incomes = np.repeat([30_000, 52_000], 50) + np.tile(np.arange(-500, 500, 20), 2)
    >>> contracts = np.repeat(["monthly", "yearly"], 50)
    >>> table = np.array([incomes, contracts], dtype=object).T
    >>> partition = CredalPartition.from_hard(np.repeat(["Thrifty", "Loyal"], 50))
    >>> for profile in explain_clusters(partition, table).clusters:
    ...     print(profile.name, profile.sentences)
    Loyal ['feature 0: typically 52,000 (all: 41,000)',
           'feature 1: 100 % yearly (all: 50 %)']
    Thrifty ['feature 0: typically 30,000 (all: 41,000)',
             'feature 1: 100 % monthly (all: 50 %)']
    """
    check_integer("n_features", n_features, 1)
    check_integer("n_samples", n_samples, 0)
    partition = partition_for(clustering, X)
    if cluster_names is not None:
        partition = partition.rename(cluster_names=cluster_names)
    return explain_table(partition, X, level=level, n_features=n_features, n_samples=n_samples)


def explain_table(
    partition: CredalPartition,
    X: Any,
    names: Sequence[object] | None = None,
    *,
    level: float = SURE_LEVEL,
    n_features: int = 5,
    n_samples: int = 3,
) -> Explanation:
    """Explain a partition by a table; `names` replaces the names of its columns."""
    weights = _memberships(partition)
    columns, excluded = informative_columns(X, weights, names)
    verdict = partition.verdict(level)
    clusters = profiles(partition, verdict, columns, weights, n_features, n_samples)
    return Explanation(partition, verdict, clusters, tuple(columns), excluded)


def _memberships(partition: CredalPartition) -> FloatArray:
    """Return the weight of each sample in each cluster, without its mass on the empty set."""
    nonempty = 1 - np.asarray(partition.masses[:, :1], dtype=np.float64)
    shares = np.asarray(partition.to_fuzzy("pignistic"), dtype=np.float64)
    return np.clip(np.where(nonempty > 0, nonempty * shares, 0), 0, 1)
