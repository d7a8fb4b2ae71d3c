r"""Default members of `CredalEnsemble`: clusterings of different kinds, and their reliability without labels.

No kind suits all data: k-means finds round clusters, mixtures find ellipsoids, and spectral clustering and merged
mixtures find clusters of any shape. If most of the variance is in discrete columns, mixtures and graphs of
neighbors are misleading, and the members are k-means and a latent class model.

The reliability of a member is its agreement with the neighborhoods of the data: the share of pairs of mutual
neighbors in the same cluster, corrected for chance,

.. math:: r=\frac{a-e}{1-e},\qquad a=\frac{\sum_{(i,j)}w_iw_j[l_i=l_j]}{\sum_{(i,j)}w_iw_j},\qquad
   e=\sum_kp_k^2,

with :math:`p_k` the share of cluster k. Discrete columns get Gaussian noise before the search for neighbors,
because all gaps between their values would look like boundaries between clusters. The weight of a member is
proportional to :math:`e^{r/\tau}`. The temperature :math:`\tau=\min(0.04,\;0.005+0.2\,\overline{1-r})` is lower
for dense data, in which boundaries separate few neighbors.
"""

import warnings
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from joblib import delayed
from sklearn.cluster import AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.mixture import GaussianMixture

from evlearn.cluster import MergedMixture
from evlearn.mixture.discrete_columns import discrete_columns
from evlearn.mixture.latent_classes import fit_latent_classes
from evlearn.utils.convergence import recording_problems
from evlearn.utils.parallel import run_jobs
from evlearn.utils.progress import Count, call_unreported
from evlearn.utils.typing import BoolArray, FloatArray, IntArray

Member: TypeAlias = Callable[[FloatArray, FloatArray, int, int], IntArray]

#: Share of the variance in discrete columns from which data are discrete.
_DISCRETE_SHARE = 0.5
#: Numbers of starts of k-means and of mixtures, and variance added to mixtures as a share of the mean variance.
_KMEANS_STARTS, _MIXTURE_STARTS, _RIDGE, _MERGED_RIDGE = 10, 3, 1e-3, 1e-6
#: Number of neighbors in the graph of spectral clustering.
_GRAPH_NEIGHBORS = 10
#: Number of rows below which mixtures and graphs have too few samples.
_FEW_ROWS = 20
#: Temperature without disagreement, its increase with the mean disagreement, and its maximum.
_TEMPERATURE, _SLOPE, _MAX_TEMPERATURE = 0.005, 0.2, 0.04


def fit_members(
    data: FloatArray,
    counts: FloatArray,
    n_clusters: int,
    random: np.random.RandomState,
    n_jobs: int | None,
    is_view: bool = False,
) -> dict[str, IntArray]:
    """Return the cluster of each row by each member.

    Parameters
    ----------
    data : ndarray of shape (n, n_features)
        Distinct rows without gross errors.
    counts : ndarray of shape (n,)
        Weights of the rows, for k-means and the latent class model.
    n_clusters : int
        Number of clusters.
    random : RandomState
        Random number generator.
    n_jobs : int or None
        Number of members that are fitted at the same time.
    is_view : bool, default=False
        Whether the columns are a view, which may be wide: members without covariance matrices are sufficient,
        because the views confirm each other.

    Returns
    -------
    dict of str to ndarray of int of shape (n,)
        Clusters by the name of the member.
    """
    if len(data) < _FEW_ROWS or n_clusters == 1:
        members = _MEMBERS_FOR_FEW_ROWS
    else:
        members = _DISCRETE_MEMBERS if _is_discrete(data) else _MEMBERS_OF_VIEWS if is_view else _MEMBERS
    seeds = random.randint(np.iinfo(np.int32).max, size=len(members))
    jobs = [
        delayed(_fit_quietly)(member, data, counts, n_clusters, int(seed))
        for member, seed in zip(members.values(), seeds, strict=True)
    ]
    labels, interrupted = run_jobs(jobs, n_jobs, Count("combination", "clustering", len(jobs)).set_done)
    if interrupted:
        raise KeyboardInterrupt
    return dict(zip(members, labels, strict=True))


def reliabilities(members: list[IntArray], counts: FloatArray, neighbors: IntArray) -> FloatArray:
    """Return the agreement of each member with mutual neighbors, which is 0 by chance and at most 1.

    Parameters
    ----------
    members : list of ndarray of int of shape (n,)
        Clusters of the rows.
    counts : ndarray of shape (n,)
        Weights of the rows.
    neighbors : ndarray of int of shape (n, n_neighbors)
        Neighbors of each row.

    Returns
    -------
    ndarray of shape (n_members,)
        Reliabilities.
    """
    first, second = _mutual_pairs(neighbors)
    products = counts[first] * counts[second]
    values = []
    for labels in members:
        shares = np.bincount(labels, counts) / counts.sum()
        chance = float(shares @ shares)
        agreement = float(products @ (labels[first] == labels[second])) / max(float(products.sum()), 1e-300)
        values.append((agreement - chance) / (1 - chance) if chance < 1 else 0.0)
    return np.array(values)


def weights_of(reliability: FloatArray) -> FloatArray:
    """Return the weights of members, which sum to 1."""
    temperature = min(_MAX_TEMPERATURE, _TEMPERATURE + _SLOPE * float((1 - reliability).mean()))
    weights = np.exp((reliability - reliability.max()) / temperature)
    return np.asarray(weights / weights.sum())


def _mutual_pairs(neighbors: IntArray) -> tuple[IntArray, IntArray]:
    """Return the pairs of rows that are neighbors of each other; all pairs of neighbors if there are none."""
    n_rows, n_neighbors = neighbors.shape
    first, second = np.repeat(np.arange(n_rows), n_neighbors), neighbors.ravel().astype(np.intp)
    mutual: BoolArray = np.isin(first * n_rows + second, second * n_rows + first)
    return (first[mutual], second[mutual]) if mutual.any() else (first, second)


def _is_discrete(data: FloatArray) -> bool:
    """Return True if most of the variance is in columns with few distinct values."""
    variances = data.var(axis=0)
    total = float(variances.sum())
    return total > 0 and float(variances[discrete_columns(data)].sum()) >= _DISCRETE_SHARE * total


def _fit_quietly(member: Member, data: FloatArray, counts: FloatArray, n_clusters: int, seed: int) -> IntArray:
    """Return the clusters of a member, numbered from 0 without gaps; its warnings do not concern the result."""
    if n_clusters == 1:
        return np.zeros(len(data), dtype=np.intp)
    with warnings.catch_warnings(), recording_problems():
        warnings.simplefilter("ignore")
        labels = call_unreported(member, data, counts, n_clusters, seed)
    return np.asarray(np.unique(labels, return_inverse=True)[1].ravel())


def _kmeans(data: FloatArray, counts: FloatArray, n_clusters: int, seed: int) -> IntArray:
    model = KMeans(n_clusters, n_init=_KMEANS_STARTS, random_state=seed)
    return np.asarray(model.fit_predict(data, sample_weight=counts))


def _mixture(kind: str) -> Member:
    def fit(data: FloatArray, counts: FloatArray, n_clusters: int, seed: int) -> IntArray:
        ridge = _RIDGE * float(data.var(axis=0).mean())
        settings = {"covariance_type": kind, "n_init": _MIXTURE_STARTS, "reg_covar": max(ridge, 1e-300)}
        return np.asarray(GaussianMixture(n_clusters, random_state=seed, **settings).fit_predict(data))

    return fit


def _spectral(data: FloatArray, counts: FloatArray, n_clusters: int, seed: int) -> IntArray:
    model = SpectralClustering(
        n_clusters,
        affinity="nearest_neighbors",
        n_neighbors=_GRAPH_NEIGHBORS,
        assign_labels="cluster_qr",
        random_state=seed,
    )
    return np.asarray(model.fit_predict(data))


def _ward(data: FloatArray, counts: FloatArray, n_clusters: int, seed: int) -> IntArray:
    return np.asarray(AgglomerativeClustering(n_clusters).fit_predict(data))


def _merged_mixture(data: FloatArray, counts: FloatArray, n_clusters: int, seed: int) -> IntArray:
    ridge = _MERGED_RIDGE * float(data.var(axis=0).mean())  # for linearly dependent columns
    settings = {"n_init": 1, "tol": 1e-3, "reg_covar": ridge}
    model = MergedMixture(n_clusters, mixture_params=settings, outlier_rate=0, random_state=seed)
    return np.asarray(model.fit(data).labels_)


def _latent_classes(data: FloatArray, counts: FloatArray, n_clusters: int, seed: int) -> IntArray:
    labels = _kmeans(data, counts, n_clusters, seed)
    return fit_latent_classes(data, counts, labels, n_clusters, np.random.RandomState(seed))


_MEMBERS: dict[str, Member] = {
    "k-means": _kmeans,
    "mixture, full covariances": _mixture("full"),
    "mixture, diagonal covariances": _mixture("diag"),
    "mixture, common covariance": _mixture("tied"),
    "spectral clustering": _spectral,
    "Ward clustering": _ward,
    "merged mixture": _merged_mixture,
}
_MEMBERS_OF_VIEWS = {name: _MEMBERS[name] for name in ("k-means", "spectral clustering", "Ward clustering")}
_MEMBERS_FOR_FEW_ROWS: dict[str, Member] = {"k-means": _kmeans, "Ward clustering": _ward}
_DISCRETE_MEMBERS: dict[str, Member] = {"k-means": _kmeans, "latent classes": _latent_classes}
