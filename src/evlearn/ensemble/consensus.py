r"""Combination of clusterings of landmarks: consensus clusters, and the masses of rows near the landmarks.

Each member r has a weight :math:`w_r`. The consensus clusters are those of k-means for the weighted indicators
:math:`\sqrt{w_r}[l_r(i)=a]` of all clusters a of all members, in which 2 landmarks are near each other if the
members with large weights have them in the same cluster. The *support* of consensus cluster k for a landmark is

.. math:: s_k(i)\propto\sum_rw_r\,\frac{\#\{j\in k:l_r(j)=l_r(i)\}}{\#k},

the mean of the members' statements "i and j are in the same cluster", discounted by reliability, over the
landmarks j of the cluster. With :math:`\delta_1` and :math:`\delta_2` the distances of x to the 2 nearest
landmarks, a row x gets a mean of the support for the nearest landmark, with the weight
:math:`0.75\,(1-\delta_1^2/\delta_2^2)`, and for the next 20. This is combined with the distances
:math:`d_k` to the means of the clusters, as an additional source of weight 0.3,

.. math:: p_k(x)=0.7\,s_k(x)+0.3\,\frac{d_k^{-2}}{\sum_ld_l^{-2}},

which may cause doubt, but does not change the cluster. The masses are the least committed ones with the pignistic
probabilities p (Dubois et al., 2008): for the sorted probabilities :math:`p_1\ge p_2\ge\dots`, the best cluster
has the mass :math:`p_1-p_2`, the best 2 clusters have :math:`2(p_2-p_3)`, and the rest is on the set of all
clusters. So a sample is sure if its best cluster is more probable than any other by the level of the verdict.
"""

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from sklearn.cluster import KMeans

from evlearn.belief import FocalSets
from evlearn.cluster.centroids.kmeans import rows_to_fit
from evlearn.cluster.outlier_rule import OutlierRule, Segments
from evlearn.ensemble.members import fit_members, reliabilities, weights_of
from evlearn.mixture.discrete_columns import blur_discrete_columns
from evlearn.neighbors import BoxTree
from evlearn.storage import fields
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import FloatArray, IntArray
from evlearn.utils.validation import check_shape

#: Number of neighbors of a row that count, besides the nearest landmark, and their largest share.
N_NEIGHBORS, _NEIGHBOR_SHARE = 20, 0.25
#: Weights of a landmark for itself, relative to its neighbors, and of the distances to the means of the clusters.
_NEAREST_WEIGHT, _DISTANCE_WEIGHT = 0.75, 0.3
#: Rank of the landmark whose distance is that of a row to its cluster; the nearest one has rank 0.
DISTANCE_RANK = 5
#: Range of the exponent of the tail of these distances, which is heavier than that of distances to a prototype.
EXPONENTS = (-1.0, 2.0)
#: Lead of the cluster of a row over clusters whose means are nearer.
_LEAD = 1e-3
#: Number of clusters above which only pairs that occur among the landmarks are focal sets.
_MAX_CLUSTERS_FOR_PAIRS = 12
_BLOCK_ROWS, _N_INIT = 4096, 10


def n_neighbors_for(n_rows: int) -> int:
    """Return the number of neighbors of each row, if there are few rows."""
    return max(1, min(N_NEIGHBORS, int(_NEIGHBOR_SHARE * n_rows)))


def consensus(
    members: list[IntArray], weights: FloatArray, counts: FloatArray, n_clusters: int, seed: int
) -> tuple[IntArray, int]:
    """Return the consensus clusters of weighted members, sorted by decreasing size, and the iterations."""
    parts = [
        np.sqrt(weight) * np.eye(labels.max() + 1)[labels] for labels, weight in zip(members, weights, strict=True)
    ]
    distinct, positions = np.unique(np.hstack(parts), axis=0, return_inverse=True)
    totals = np.bincount(positions.ravel(), counts)
    model = KMeans(min(n_clusters, len(distinct)), n_init=_N_INIT, random_state=seed)
    labels = model.fit_predict(distinct, sample_weight=totals)[positions.ravel()]
    ranks = np.argsort(np.argsort(-np.bincount(labels, counts, minlength=n_clusters), kind="stable"))
    return np.asarray(ranks[labels]), int(model.n_iter_)


def supports(
    members: list[IntArray], weights: FloatArray, counts: FloatArray, labels: IntArray, n_clusters: int
) -> FloatArray:
    """Return the support of each consensus cluster for each row; rows sum to 1."""
    indicators = np.eye(n_clusters)[labels] * counts[:, None]
    shares = indicators / np.maximum(indicators.sum(axis=0), np.finfo(float).tiny)
    total = np.zeros(indicators.shape)
    for member, weight in zip(members, weights, strict=True):
        table = np.zeros((member.max() + 1, n_clusters))
        np.add.at(table, member, shares)
        total += weight * table[member]
    return np.asarray(total / total.sum(axis=1, keepdims=True))


def focal_sets_for(row_supports: FloatArray) -> FocalSets:
    """Return single clusters, pairs and the set of all clusters; of many clusters, only pairs that occur."""
    n_clusters, pairs = row_supports.shape[1], None
    if n_clusters > _MAX_CLUSTERS_FOR_PAIRS:
        best = np.sort(np.argsort(-row_supports, axis=1, kind="stable")[:, :2], axis=1)
        pairs = np.unique(best, axis=0).tolist()
    return FocalSets.pairs(n_clusters, pairs)


def least_committed_masses(probabilities: FloatArray, focal_sets: FocalSets) -> FloatArray:
    """Return masses on the best cluster, on the best 2 clusters, and on all clusters."""
    n_rows, n_clusters = probabilities.shape
    masses = np.zeros((n_rows, len(focal_sets)))
    if n_clusters == 1:
        masses[:, -1] = 1
        return masses
    numbers = np.arange(n_rows)
    order = np.argsort(-probabilities, axis=1, kind="stable")[:, :3]
    best = np.take_along_axis(probabilities, order, axis=1)
    masses[numbers, focal_sets.singleton_positions[order[:, 0]]] = best[:, 0] - best[:, 1]
    pairs = _pair_positions(focal_sets)[order[:, 0], order[:, 1]]
    third = best[:, 2] if n_clusters > 2 else np.zeros(n_rows)
    masses[numbers, pairs] += 2 * (best[:, 1] - third)
    masses[:, -1] += 1 - masses.sum(axis=1)
    return np.maximum(masses, 0)


def _pair_positions(focal_sets: FocalSets) -> IntArray:
    """Return the position of each pair of clusters among the focal sets; that of all clusters if it is missing."""
    n_clusters = focal_sets.frame_size
    positions = np.full((n_clusters, n_clusters), len(focal_sets) - 1)
    pairs = np.flatnonzero(focal_sets.sizes == 2)
    first, second = np.nonzero(focal_sets.membership[pairs])[1].reshape(len(pairs), 2).T
    positions[first, second] = positions[second, first] = pairs
    return positions


@fields.stored
@dataclass(frozen=True, kw_only=True)
class ConsensusModel:
    """Landmarks with the support of each cluster, which determine the masses of rows.

    Attributes
    ----------
    tree : BoxTree
        Landmarks.
    supports : ndarray of shape (n_landmarks, n_clusters)
        Support of each cluster for each landmark.
    means : ndarray of shape (n_clusters, n_features)
        Means of the clusters.
    focal_sets : FocalSets
        The empty set, single clusters, pairs, and the set of all clusters.
    outliers : OutlierRule or None, default=None
        Rule with the reach of each cluster; None if there are no outliers.
    """

    tree: BoxTree
    supports: Annotated[FloatArray, fields.array(2, low=0, high=fields.LARGEST_MASS)]
    means: fields.Matrix
    focal_sets: FocalSets
    outliers: OutlierRule | None = None

    def __post_init__(self) -> None:
        n_landmarks, n_clusters = self.supports.shape
        if not n_landmarks or self.focal_sets.frame_size != n_clusters or not self.focal_sets.has_omega:
            raise ValueError("supports must have a row for each landmark and a column for each cluster")
        check_shape("means", self.means, (n_clusters, self.tree.points.shape[1]))
        if len(self.tree.samples) != n_landmarks:
            raise ValueError(f"there are {len(self.tree.samples)} landmarks, but supports has {n_landmarks} rows")
        if self.outliers is not None:
            check_shape("reaches", self.outliers.reaches, (n_clusters,))

    @classmethod
    def of(cls, data: FloatArray, counts: FloatArray, row_supports: FloatArray, outlier_rate: float) -> Self:
        """Return the model of landmarks; its outlier rule is learned from the landmarks.

        Parameters
        ----------
        data : ndarray of shape (n_landmarks, n_features)
            Landmarks.
        counts : ndarray of shape (n_landmarks,)
            Weights of the landmarks.
        row_supports : ndarray of shape (n_landmarks, n_clusters)
            Support of each cluster for each landmark.
        outlier_rate : float
            Expected share of ordinary samples that are outliers; 0 for no outliers.

        Returns
        -------
        ConsensusModel
            Model.
        """
        n_clusters = row_supports.shape[1]
        members = np.eye(n_clusters)[row_supports.argmax(axis=1)] * counts[:, None]
        sizes = members.sum(axis=0)[:, None]
        overall = np.average(data, axis=0, weights=counts)
        means = np.where(sizes > 0, members.T @ data / np.where(sizes > 0, sizes, 1), overall)
        sets = focal_sets_for(row_supports)
        model = cls(tree=BoxTree.of(data), supports=row_supports, means=means, focal_sets=sets)
        if not outlier_rate:
            return model
        distances = model._distances(*model._nearest(data), first=1)  # the nearest is the landmark itself
        outliers = OutlierRule.learn(distances, counts, outlier_rate, Segments.empty(), EXPONENTS)
        return cls(
            tree=model.tree, supports=row_supports, means=means, focal_sets=model.focal_sets, outliers=outliers
        )

    def assign(self, rows: FloatArray, weights: object = None) -> FloatArray:
        """Return the masses of rows."""
        out = np.empty((len(rows), len(self.focal_sets)), dtype=rows.dtype)
        for block in row_blocks(len(rows), _BLOCK_ROWS):
            out[block] = self._masses(np.ascontiguousarray(rows[block], dtype=np.float64))
        return out

    def _masses(self, rows: FloatArray) -> FloatArray:
        indices, squares = self._nearest(rows)
        masses = least_committed_masses(self._probabilities(rows, indices, squares), self.focal_sets)
        if self.outliers is None:
            return masses
        return self.outliers.apply(masses, self._distances(indices, squares) ** 2, Segments.empty())

    def _nearest(self, rows: FloatArray) -> tuple[IntArray, FloatArray]:
        n_neighbors = min(len(self.supports), n_neighbors_for(len(self.supports)) + 1)
        indices, squares = self.tree.nearest_of(rows, n_neighbors)
        return indices.astype(np.intp), squares

    def _distances(self, indices: IntArray, squares: FloatArray, first: int = 0) -> FloatArray:
        """Return the distance of each row to its cluster, without the `first` nearest landmarks.

        The other clusters are infinitely far.
        """
        rank = min(DISTANCE_RANK + first, squares.shape[1] - 1)
        distances = np.full((len(indices), self.supports.shape[1]), np.inf)
        labels = self._neighborhood(indices, squares).argmax(axis=1)
        distances[np.arange(len(indices)), labels] = np.sqrt(squares[:, rank])
        return distances

    def _neighborhood(self, indices: IntArray, squares: FloatArray) -> FloatArray:
        """Return the support of the clusters for rows, from those of their nearest landmarks."""
        nearest = self.supports[indices[:, 0]]
        if indices.shape[1] == 1:
            return nearest
        others = self.supports[indices[:, 1:]].mean(axis=1)
        with np.errstate(invalid="ignore"):
            ratios = squares[:, 0] / np.maximum(squares[:, 1], np.finfo(float).tiny)
        weight = _NEAREST_WEIGHT * (1 - np.where(np.isfinite(ratios), ratios, 1.0))[:, None]
        return np.asarray(weight * nearest + (1 - weight) * others)

    def _probabilities(self, rows: FloatArray, indices: IntArray, squares_to_landmarks: FloatArray) -> FloatArray:
        """Return the probabilities of the clusters."""
        supported = self._neighborhood(indices, squares_to_landmarks)
        labels, numbers = supported.argmax(axis=1), np.arange(len(rows))
        with np.errstate(over="ignore", invalid="ignore"):
            squares = ((rows[:, None] - self.means) ** 2).sum(axis=2)
            smallest = squares.min(axis=1, keepdims=True)
            inverse = np.where(squares > smallest, smallest / squares, 1.0)
        inverse[~np.isfinite(inverse)] = 1.0
        proximities = inverse / inverse.sum(axis=1, keepdims=True)
        mixed = (1 - _DISTANCE_WEIGHT) * supported + _DISTANCE_WEIGHT * proximities
        support = mixed[numbers, labels]
        mixed[numbers, labels] = 0
        mixed[numbers, labels] = np.maximum(support, mixed.max(axis=1) + _LEAD)
        return np.asarray(mixed / mixed.sum(axis=1, keepdims=True))


class FittedConsensus(NamedTuple):
    """Model of the default members, with their names, weights and reliabilities, and iterations of k-means.

    The reliabilities of views are None if there are no views.
    """

    model: Any
    names: list[str]
    weights: FloatArray
    reliabilities: FloatArray
    n_iter: int
    view_reliabilities: FloatArray | None = None


def fit_consensus(
    sample: FloatArray,
    counts: FloatArray,
    n_clusters: int,
    n_landmarks: int,
    outlier_rate: float,
    random: np.random.RandomState,
    n_jobs: int | None,
) -> FittedConsensus:
    """Fit the default members to landmarks, and combine them.

    Parameters
    ----------
    sample : ndarray of shape (n, n_features)
        Distinct rows.
    counts : ndarray of shape (n,)
        Weights of the rows.
    n_clusters : int
        Number of clusters.
    n_landmarks : int
        Maximum number of landmarks.
    outlier_rate : float
        Expected share of ordinary samples that are outliers.
    random : RandomState
        Random number generator.
    n_jobs : int or None
        Number of members that are fitted at the same time.

    Returns
    -------
    FittedConsensus
        Model, and the members.
    """
    ordinary = rows_to_fit(sample, n_clusters)
    data, counts = draw_landmarks(sample[ordinary], counts[ordinary], n_landmarks, random)
    n_found = min(n_clusters, len(data))
    labels = fit_members(data, counts, n_found, random, n_jobs)
    members = list(labels.values())
    scores: FloatArray = np.zeros(len(members))
    if len(data) > 1:
        tree = BoxTree.of(blur_discrete_columns(data, random))
        neighbors = tree.nearest_others(n_neighbors_for(len(data)))[0].astype(np.intp)
        scores = reliabilities(members, counts, neighbors)
    weights = weights_of(scores)
    clusters, n_iter = consensus(members, weights, counts, n_found, random.randint(np.iinfo(np.int32).max))
    model = ConsensusModel.of(data, counts, supports(members, weights, counts, clusters, n_clusters), outlier_rate)
    return FittedConsensus(model, list(labels), weights, scores, n_iter)


def draw_landmarks(
    data: FloatArray, counts: FloatArray, n_landmarks: int, random: np.random.RandomState
) -> tuple[FloatArray, FloatArray]:
    """Return at most `n_landmarks` rows and their weights."""
    if len(data) <= n_landmarks:
        return data, counts
    chosen = np.sort(random.choice(len(data), n_landmarks, replace=False, p=counts / counts.sum()))
    return data[chosen], np.ones(n_landmarks)
