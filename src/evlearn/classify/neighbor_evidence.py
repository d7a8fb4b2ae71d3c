r"""Evidence of neighbors: masses by Dempster's rule, and the loss of their scales with its gradient.

A neighbor at distance d contributes the masses of its label, multiplied by :math:`s=\alpha e^{-\gamma^2d^2}`, and
the remaining mass on the frame. For crisp labels the combination has a closed form; for soft labels commonalities
are multiplied.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.metrics import pairwise_distances

from evlearn.belief import FocalSets, commonality, expand_masses
from evlearn.blocks.sparse import SparseBlock
from evlearn.classify.labels import Labels, singletons_and_frame
from evlearn.cluster.neighbors.label_search import weights_to_masses
from evlearn.kernels.neighbor_loss import loss
from evlearn.neighbors import plain_rows
from evlearn.storage import fields
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import BoolArray, FloatArray, IntArray, Metric
from evlearn.utils.validation import EXTREME_RATIO, distance_ratios

_BLOCK = 1 << 18  # maximum size of arrays per block
_MAX_PAIRED = 500  # maximum number of samples for all pairs


class Evidence(Protocol):
    """Labels of training samples as evidence."""

    @property
    def focal_sets(self) -> FocalSets:
        """Focal sets."""

    @property
    def n_scales(self) -> int:
        """Number of scales."""

    def masses(
        self,
        neighbors: npt.NDArray[np.int32],
        squares: FloatArray,
        gamma: FloatArray,
        alpha: float,
        counts: FloatArray | None = None,
    ) -> FloatArray:
        """Return the masses of samples, with the counts of neighbors as weights; None means 1."""

    def loss(
        self,
        neighbors: npt.NDArray[np.int32],
        squares: FloatArray,
        gamma: FloatArray,
        alpha: float,
        targets: FloatArray,
        share: float,
        counts: FloatArray | None = None,
        importance: FloatArray | None = None,
    ) -> tuple[float, FloatArray]:
        """Return the squared error of the predictions, and its gradient.

        Returns
        -------
        loss : float
            Mean of half the squared errors, weighted by importance; None means equal weights.
        gradient : ndarray of shape (n_scales,)
            Derivatives with respect to the scales.
        """


def make_evidence(labels: Labels) -> "CrispEvidence | SoftEvidence":
    """Create the evidence of crisp or soft labels."""
    if labels.codes is not None:
        return CrispEvidence(singletons_and_frame(labels), labels.codes.astype(np.int32))
    assert labels.partition is not None
    family = labels.partition.focal_sets.closure("intersection").with_names(labels.names)
    masses = expand_masses(labels.partition.masses, labels.partition.focal_sets, family)
    return SoftEvidence(family, 1 - commonality(masses, family)[:, 1:])


@fields.stored
@dataclass(frozen=True)
class CrispEvidence:
    r"""Evidence of crisp labels.

    With the weight :math:`w_k=-\sum\log(1-s_i)` over the neighbors of class k, masses are proportional to
    :math:`e^{w_k}-1` for a class, and to 1 for the frame.

    Attributes
    ----------
    focal_sets : FocalSets
        Empty set, single classes, and the frame.
    codes : ndarray of int32 of shape (n_samples,)
        Class of each training sample.
    """

    focal_sets: FocalSets
    codes: Annotated[npt.NDArray[np.int32], fields.array(1, "i", low=0)]

    @property
    def n_scales(self) -> int:
        """Number of scales: one for each class."""
        return self.focal_sets.frame_size

    def masses(
        self,
        neighbors: npt.NDArray[np.int32],
        squares: FloatArray,
        gamma: FloatArray,
        alpha: float,
        counts: FloatArray | None = None,
    ) -> FloatArray:
        """Return the masses of samples, see `Evidence`."""
        classes = self.codes[neighbors]
        supports = alpha * _decay((gamma**2)[classes], squares)
        masses = np.zeros((len(classes), len(self.focal_sets)))
        weights = -np.log1p(-supports)
        masses[:, 1:-1] = self._sum_by_class(weights if counts is None else counts * weights, classes)
        weights_to_masses(masses[:, 1:])
        return masses

    def loss(
        self,
        neighbors: npt.NDArray[np.int32],
        squares: FloatArray,
        gamma: FloatArray,
        alpha: float,
        targets: FloatArray,
        share: float,
        counts: FloatArray | None = None,
        importance: FloatArray | None = None,
    ) -> tuple[float, FloatArray]:
        """Return the squared error and its gradient, see `Evidence`."""
        gradient = np.zeros(len(gamma))
        classes = self.codes[neighbors]
        work = np.empty((4, len(gamma)))
        multiplicities = np.empty((0, 0)) if counts is None else counts
        row_weights = np.empty(0) if importance is None else importance
        value = loss(classes, squares, gamma, alpha, share, targets, multiplicities, row_weights, gradient, work)
        total = len(squares) if importance is None else importance.sum()
        return value / total, gradient / total

    def _sum_by_class(self, values: FloatArray, classes: npt.NDArray[np.int32]) -> FloatArray:
        n_rows, n_classes = len(values), self.focal_sets.frame_size
        cells = classes if n_rows == 1 else classes + n_classes * np.arange(n_rows)[:, None]
        sums: FloatArray = np.bincount(cells.ravel(), values.ravel(), n_rows * n_classes).astype(
            np.float64, copy=False
        )
        return sums.reshape(n_rows, n_classes)


@fields.stored
@dataclass(frozen=True)
class SoftEvidence:
    r"""Evidence of soft labels.

    The commonality of a set is the product of :math:`1-s_i(1-q_i)` over the neighbors, where :math:`q_i` is the
    commonality of a neighbor's label. The empty set is excluded, so that masses are normalized.

    Attributes
    ----------
    focal_sets : FocalSets
        Sets of the labels and their intersections.
    denials : ndarray of shape (n_samples, n_focal_sets - 1)
        1 minus the commonality of the label, for each training sample and nonempty set.
    """

    focal_sets: FocalSets
    denials: Annotated[FloatArray, fields.array(2, low=-1e-6, high=fields.LARGEST_MASS)]

    @property
    def n_scales(self) -> int:
        """Number of scales: 1."""
        return 1

    def masses(
        self,
        neighbors: npt.NDArray[np.int32],
        squares: FloatArray,
        gamma: FloatArray,
        alpha: float,
        counts: FloatArray | None = None,
    ) -> FloatArray:
        """Return the masses of samples, see `Evidence`."""
        masses = np.zeros((len(squares), len(self.focal_sets)))
        multiplicities = _fill_counts(counts, squares)
        for rows in self._blocks(squares):
            masses[rows, 1:] = self._combine(neighbors[rows], squares[rows], gamma, alpha, multiplicities[rows])[0]
        return masses

    def loss(
        self,
        neighbors: npt.NDArray[np.int32],
        squares: FloatArray,
        gamma: FloatArray,
        alpha: float,
        targets: FloatArray,
        share: float,
        counts: FloatArray | None = None,
        importance: FloatArray | None = None,
    ) -> tuple[float, FloatArray]:
        """Return the squared error and its gradient, see `Evidence`."""
        value, slope, table = 0.0, 0.0, self._shares(share)
        multiplicities = _fill_counts(counts, squares)
        weights = np.ones(len(squares)) if importance is None else importance
        for rows in self._blocks(squares):
            masses, changes = self._combine(neighbors[rows], squares[rows], gamma, alpha, multiplicities[rows])
            errors = masses @ table - targets[rows]
            value += float((weights[rows] * (errors**2).sum(axis=1)).sum())
            slope += float((weights[rows] * (errors * (changes @ table)).sum(axis=1)).sum())
        return value / (2 * weights.sum()), np.array([slope / weights.sum()])

    def _combine(
        self,
        neighbors: npt.NDArray[np.int32],
        squares: FloatArray,
        gamma: FloatArray,
        alpha: float,
        counts: FloatArray,
    ) -> tuple[FloatArray, FloatArray]:
        """Return the masses of nonempty sets, and their derivatives with respect to the scale."""
        supports = alpha * _decay(gamma[0] ** 2, squares)[:, :, None]
        denials = self.denials[neighbors]
        reductions = supports * denials
        logs = (counts[:, :, None] * np.log1p(-reductions)).sum(axis=1)
        slopes = (2 * gamma[0] * squares * counts)[:, :, None] * reductions / (1 - reductions)
        slopes = slopes.sum(axis=1)
        # Relative to the largest value, to avoid underflow.
        common = np.exp(logs - logs.max(axis=1, keepdims=True))
        inverse = self._inverse
        masses = np.maximum(common @ inverse, 0)
        changes = (common * slopes) @ inverse
        totals = masses.sum(axis=1, keepdims=True)
        masses /= totals
        changes = (changes - masses * changes.sum(axis=1, keepdims=True)) / totals
        return masses, changes

    @property
    def _inverse(self) -> FloatArray:
        """Matrix that transforms commonalities of nonempty sets to masses."""
        return self.focal_sets.moebius_matrix[1:, 1:].T

    def _shares(self, share: float) -> FloatArray:
        """Return the share of the mass on each set that counts for each class: 1, or an equal part."""
        members = self.focal_sets.membership[1:].astype(float)
        return members if share == 1 else members / members.sum(axis=1, keepdims=True)

    def _blocks(self, squares: FloatArray) -> list[slice]:
        per_row = squares.shape[1] * self.denials.shape[1]
        return list(row_blocks(len(squares), max(_BLOCK // per_row, 1)))


def default_scales(
    labels: Labels, data: Any, counts: FloatArray | None = None, metric: Metric = "euclidean"
) -> npt.NDArray[np.float64]:
    """Compute default scales: inverse root mean square distances between samples of a class, or of all samples.

    Extremely remote samples are excluded.
    """
    # A single sample at 1e9 would result in a scale for which all distances are small.
    is_euclidean = metric == "euclidean" and not isinstance(data, SparseBlock)
    is_ordinary = distance_ratios(data) <= EXTREME_RATIO if is_euclidean else np.ones(len(data), dtype=bool)
    multiplicities = np.ones(len(data)) if counts is None else counts
    is_ordinary &= multiplicities > 0
    overall = _mean_square(data, is_ordinary, multiplicities, metric)
    if labels.codes is None:
        means = np.array([overall])
    else:
        groups = [is_ordinary & (labels.codes == k) for k in range(len(labels.classes))]
        means = np.array([_mean_square(data, group, multiplicities, metric) for group in groups])
    means = np.where(means > 0, means, overall)
    return 1 / np.sqrt(np.where(means > np.finfo(float).tiny, means, 1))


def _mean_square(data: Any, is_selected: BoolArray, counts: FloatArray, metric: Metric) -> float:
    """Return the mean squared distance of 2 different samples, weighted by counts; 0 for a single sample."""
    members = np.flatnonzero(is_selected)
    if metric != "euclidean":  # all pairs of a subset
        members = members[np.linspace(0, len(members) - 1, min(len(members), _MAX_PAIRED)).astype(int)]
    multiplicities = counts[members]
    pairs = float(multiplicities.sum() ** 2 - (multiplicities * np.minimum(multiplicities, 1)).sum())
    if not len(members) or pairs <= 0:
        return 0.0
    return float(multiplicities.sum() ** 2 * _mean_square_of_all(data, members, multiplicities, metric) / pairs)


def _mean_square_of_all(data: Any, members: IntArray, counts: FloatArray, metric: Metric) -> float:
    """Return the mean squared distance of all pairs, including those of a sample with itself."""
    shares = counts / counts.sum()
    if metric == "precomputed":
        return float(shares @ data[np.ix_(members, members)] ** 2 @ shares)
    group = data[members]
    if metric != "euclidean":
        return float(shares @ pairwise_distances(plain_rows(group), metric=metric) ** 2 @ shares)
    if isinstance(group, SparseBlock):
        mean = np.asarray(group.matrix.T @ shares).ravel()
        return float(2 * (shares @ group.squares - mean @ mean))
    mean = shares @ group
    return float(2 * (shares @ (group - mean) ** 2).sum())


def _fill_counts(counts: FloatArray | None, squares: FloatArray) -> FloatArray:
    return np.ones_like(squares) if counts is None else counts


def _decay(scales: Any, squares: FloatArray) -> FloatArray:
    """Return exp(-scales * squares), which is 0 if the product overflows."""
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(-scales * squares))
