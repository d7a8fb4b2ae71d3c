r"""Masses of samples near samples with known clusters, for the labels or probabilities of any clusterer.

The *support* :math:`s_k(i)` of cluster k for a landmark i is its probability according to the clusterer: 1 for the
label. Noise has no label, and its support follows from its nearest landmarks :math:`N(x)` other than itself,

.. math:: s_k(x)=\Bigl(1-\frac{1-c_k(x)}4\Bigr)n_k(x),\qquad n_k(x)=\frac1n\sum_{j\in N(x)}s_k(j),

so it is the solution of linear equations. The *resemblance* :math:`c_k(x)` is the cosine of the sample and the
mean of the cluster, both relative to the mean :math:`\mu` of all landmarks. Masses are averages of 2 kinds of
evidence, the support by neighbors and the resemblance to the cluster that they indicate,

.. math:: m_k(x)=(1-w)\,n_k(x)+w\,\max(c_k(x),0)\,\frac{n_k(x)}{\sum_l n_l(x)} ,

and the rest of the mass is on the set of all clusters. Neighbors of noise are often noise, too, and resemblance
ranks its errors better. But it is meaningless if clusters are not in different directions from :math:`\mu`. The
weight w is the largest for which nearly all clustered samples remain sure, so that clusters may have any shape.

The distance of a sample to its cluster, which decides whether it is an outlier, is the one to the middle neighbor,
relative to the same distance for its neighbors and for all landmarks.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Self

import numpy as np

from evlearn.belief import FocalSets
from evlearn.cluster.outlier_rule import OutlierRule, Segments
from evlearn.neighbors import BoxTree
from evlearn.storage import fields
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import FloatArray, IntArray
from evlearn.utils.validation import check_shape

#: Share of the support that noise loses by each step if it does not resemble the cluster.
_LOSS = 0.25
#: Constant that is added to products, in units of the mean square; the mean of a single cluster has no direction.
_CONSTANT = 1e-3
#: Mass that clustered samples lose at most by resemblance, except a share of them.
_MAX_LOSS, _SHARE = 0.395, 0.07
#: Expected share of ordinary samples that are outliers.
_OUTLIER_RATE = 1e-3
#: Share of equal support for all clusters, which decides about noise that has only noise as neighbors.
_EQUAL_SHARE = 1e-3
#: Difference by which the label of the clusterer is more probable than other clusters.
_LEAD = 1e-3
#: Ratio of distances by which a reach exceeds the largest distance, if there are no outliers.
_MARGIN = 1 + 1e-6
_TOLERANCE, _MAX_ITER, _BLOCK_ROWS = 1e-12, 10_000, 4096


@fields.stored
@dataclass(frozen=True, kw_only=True)
class SupportModel:
    """Landmarks with the support of each cluster, which determine the masses of rows.

    Attributes
    ----------
    tree : BoxTree
        Landmarks.
    supports : ndarray of shape (n_landmarks, n_clusters)
        Support of each cluster for each landmark.
    labels : ndarray of int of shape (n_landmarks,)
        Cluster of each landmark; -1 for noise.
    means : ndarray of shape (n_clusters, n_features)
        Means of the clusters, relative to `center`.
    center : ndarray of shape (n_features,)
        Mean of the landmarks.
    constant : float
        Constant that is added to products and squared norms.
    weight : float
        Weight of the resemblance.
    spacings : ndarray of shape (n_landmarks,)
        Distance of each landmark to its middle neighbor.
    n_neighbors : int
        Number of neighbors.
    focal_sets : FocalSets
        The empty set, single clusters, and the set of all clusters.
    outliers : OutlierRule or None, default=None
        Rule with the reach of each cluster; None if all clustered samples are equal.
    """

    tree: BoxTree
    supports: Annotated[FloatArray, fields.array(2, low=0, high=fields.LARGEST_MASS)]
    labels: Annotated[IntArray, fields.array(1, "i", low=-1)]
    means: fields.Matrix
    center: fields.Vector
    constant: fields.NonnegativeNumber
    weight: fields.Fraction
    spacings: Annotated[FloatArray, fields.array(1, low=0)]
    n_neighbors: fields.PositiveCount
    focal_sets: FocalSets
    outliers: OutlierRule | None = None

    def __post_init__(self) -> None:
        n_landmarks, n_clusters = self.supports.shape
        if not n_landmarks or self.focal_sets != FocalSets.simple(self.focal_sets.names or n_clusters):
            raise ValueError("supports must have a row for each landmark and a column for each cluster")
        if len(self.tree.samples) != n_landmarks:
            raise ValueError(f"there are {len(self.tree.samples)} landmarks, but supports has {n_landmarks} rows")
        check_shape("labels", self.labels, (n_landmarks,))
        check_shape("spacings", self.spacings, (n_landmarks,))
        if self.labels.max() >= n_clusters:
            raise ValueError(f"labels must be below {n_clusters}, got {self.labels.max()}")
        check_shape("means", self.means, (n_clusters, self.tree.points.shape[1]))
        check_shape("center", self.center, (self.tree.points.shape[1],))
        if self.outliers is not None:
            check_shape("reaches", self.outliers.reaches, (n_clusters,))

    @classmethod
    def of(
        cls,
        data: FloatArray,
        supports: FloatArray,
        n_neighbors: int,
        *,
        focal_sets: FocalSets,
        n_jobs: int | None,
    ) -> Self:
        """Return the model of landmarks.

        Parameters
        ----------
        data : ndarray of shape (n_landmarks, n_features)
            Landmarks.
        supports : ndarray of shape (n_landmarks, n_clusters)
            Support of each cluster for each landmark; noise has none.
        n_neighbors : int
            Number of neighbors.
        focal_sets : FocalSets
            The empty set, single clusters, and the set of all clusters.
        n_jobs : int or None
            Number of threads.

        Returns
        -------
        SupportModel
            Model.
        """
        labels = labels_of(supports)
        clustered = labels >= 0
        members = np.eye(supports.shape[1])[labels[clustered]]
        center = data.mean(axis=0)
        centered = data - center
        sizes = members.sum(axis=0)[:, None]
        model = cls(
            tree=BoxTree.of(data),
            supports=supports,
            labels=labels,
            means=members.T @ centered[clustered] / np.maximum(sizes, 1),
            center=center,
            constant=_CONSTANT * float((centered**2).sum(axis=1).mean()),
            weight=1.0,
            spacings=np.zeros(len(data)),
            n_neighbors=max(1, min(n_neighbors, len(data) - 1)),
            focal_sets=focal_sets,
        )
        neighbors, squares = model._neighbors(data, n_jobs)
        noise = np.flatnonzero(~clustered)
        supports = supports.copy()
        cosines = model._cosines(data)
        losses = 1 - np.maximum(cosines[clustered, labels[clustered]], 0)
        weight = _MAX_LOSS / max(float(np.quantile(losses, 1 - _SHARE)), _MAX_LOSS)
        resemblances = 1 - _LOSS * (1 - cosines[noise])
        for _ in range(_MAX_ITER):
            updated = resemblances * _means_of(supports, neighbors[noise])
            change = np.abs(updated - supports[noise]).max(initial=0)
            supports[noise] = updated
            if change <= _TOLERANCE:
                break
        spacings = np.sqrt(squares[:, squares.shape[1] // 2])
        model = replace(model, supports=supports, weight=weight, spacings=spacings)
        distances = model._distances(model._beliefs(data, neighbors), neighbors, squares)
        rule = OutlierRule.learn(distances, np.ones(len(data)), _OUTLIER_RATE, Segments.empty())
        return replace(model, outliers=rule)

    def with_share(self, rows: FloatArray, share: float, n_jobs: int | None) -> Self:
        """Return the model by which a share of the rows, or slightly less if there are ties, are outliers."""
        if self.outliers is None:
            return self
        parts = [
            self._distances(self._beliefs(rows[block], neighbors), neighbors, squares)
            for block in row_blocks(len(rows), _BLOCK_ROWS)
            for neighbors, squares in [self._neighbors(rows[block], n_jobs)]
        ]
        ratios = np.sort((np.concatenate(parts) / self.outliers.reaches).min(axis=1))[::-1]
        number = int(share * len(ratios) + 1e-9)
        while 0 < number < len(ratios) and ratios[number - 1] <= ratios[number] * _MARGIN:
            number -= 1
        factor = ratios[0] * _MARGIN if number == 0 else np.sqrt(ratios[number - 1] * ratios[number])
        if factor <= 0:
            return self
        return replace(self, outliers=replace(self.outliers, reaches=self.outliers.reaches * factor))

    def assign(self, rows: FloatArray, weights: object = None, *, n_jobs: int | None = None) -> FloatArray:
        """Return the masses of rows."""
        out = np.empty((len(rows), len(self.focal_sets)), dtype=rows.dtype)
        for block in row_blocks(len(rows), _BLOCK_ROWS):
            out[block] = self._masses(np.ascontiguousarray(rows[block], dtype=np.float64), n_jobs)
        return out

    def _masses(self, rows: FloatArray, n_jobs: int | None) -> FloatArray:
        neighbors, squares, equals = self._search(rows, n_jobs)
        beliefs = self._beliefs(rows, neighbors)
        masses: FloatArray = np.zeros((len(rows), len(self.focal_sets)))
        masses[:, 1 : beliefs.shape[1] + 1] = beliefs
        masses[:, -1] += np.maximum(1 - beliefs.sum(axis=1), 0)
        if self.outliers is not None:
            distances = self._distances(beliefs, neighbors, squares)
            masses = self.outliers.apply(masses, distances**2, Segments.empty())
        return with_labels(masses, np.where(equals >= 0, self.labels[equals], -1))

    def _search(self, rows: FloatArray, n_jobs: int | None) -> tuple[IntArray, FloatArray, IntArray]:
        """Return neighbors, squared distances, and the number of a landmark that is equal, or -1.

        A row that is equal to a landmark is treated as that landmark, which is not its own neighbor.
        """
        width = min(self.n_neighbors + 1, len(self.labels))
        nearest, squares = self.tree.nearest_of(rows, width, n_jobs=n_jobs)
        numbers: IntArray = nearest.astype(np.intp)
        equals = np.where(squares[:, 0] == 0, numbers[:, 0], -1)
        if width == 1:
            return numbers, squares, equals
        shifted = np.arange(width - 1) + (equals >= 0)[:, None]
        return np.take_along_axis(numbers, shifted, 1), np.take_along_axis(squares, shifted, 1), equals

    def _neighbors(self, rows: FloatArray, n_jobs: int | None) -> tuple[IntArray, FloatArray]:
        return self._search(rows, n_jobs)[:2]

    def _beliefs(self, rows: FloatArray, neighbors: IntArray) -> FloatArray:
        """Return the beliefs in single clusters."""
        means = _means_of(self.supports, neighbors)
        resemblances = np.maximum(self._cosines(rows), 0) / means.sum(axis=1, keepdims=True)
        return np.asarray(means * (1 - self.weight + self.weight * resemblances))

    def _cosines(self, rows: FloatArray) -> FloatArray:
        """Return the cosine of rows and the mean of each cluster, relative to the center."""
        with np.errstate(over="ignore", invalid="ignore"):
            centered = rows - self.center
            products = centered @ self.means.T + self.constant
            squares = (centered**2).sum(axis=1)[:, None] + self.constant
            norms = np.sqrt(squares) * np.sqrt((self.means**2).sum(axis=1) + self.constant)
            cosines = np.where(norms > 0, products / norms, 1.0)
        return np.clip(np.where(np.isfinite(cosines), cosines, -1.0), -1, 1)

    def _distances(self, beliefs: FloatArray, neighbors: IntArray, squares: FloatArray) -> FloatArray:
        """Return the distance of each row to its cluster, in units of typical distances; infinite for others."""
        middle = np.sqrt(squares[:, squares.shape[1] // 2])
        typical = np.median(self.spacings[neighbors], axis=1) + np.median(self.spacings)
        distances = np.full(beliefs.shape, np.inf)
        ratios = np.divide(middle, typical, out=middle.copy(), where=typical > 0)
        distances[np.arange(len(beliefs)), beliefs.argmax(axis=1)] = ratios
        return distances


def labels_of(supports: FloatArray) -> IntArray:
    """Return the cluster with the largest support for each row; -1 for rows without support."""
    return np.where(supports.any(axis=1), supports.argmax(axis=1), -1)


def with_labels(masses: FloatArray, labels: IntArray) -> FloatArray:
    """Return masses on single clusters and all clusters by which the labels, except -1, are most plausible."""
    rows = np.flatnonzero(labels >= 0)
    beliefs = masses[rows, 1 : max(2, masses.shape[1] - 1)]
    numbers = np.arange(len(rows))
    others = beliefs.copy()
    others[numbers, labels[rows]] = 0
    supports = masses[rows, 1:].sum(axis=1)
    # By this difference, the lead is exact after the division, so that a second call changes nothing.
    missing = others.max(axis=1) - beliefs[numbers, labels[rows]] + _LEAD * supports
    missing = np.where(missing > _TOLERANCE, missing / (1 - _LEAD), 0)
    result = masses.copy()
    result[rows, 1 + labels[rows]] += missing
    factors = np.divide(supports, supports + missing, out=np.ones_like(supports), where=supports > 0)
    result[rows, 1:] *= factors[:, None]
    return result


def _means_of(supports: FloatArray, neighbors: IntArray) -> FloatArray:
    """Return the mean support by neighbors, with a small equal share for each cluster."""
    means = np.zeros((len(neighbors), supports.shape[1]))
    for column in neighbors.T:  # a sum by column needs no array of all neighbors
        means += supports[column]
    means *= (1 - _EQUAL_SHARE) / neighbors.shape[1]
    return np.asarray(means + _EQUAL_SHARE / supports.shape[1])
