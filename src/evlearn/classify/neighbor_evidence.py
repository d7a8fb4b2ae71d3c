r"""What neighbours say together: masses by Dempster's rule, and the loss of their scales with its gradient.

A neighbour at distance d gives the share :math:`s=\alpha e^{-\gamma^2d^2}` of what its label says, and the rest to
the frame. With crisp labels the combination has a closed form; with soft ones commonalities are multiplied.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.metrics import pairwise_distances

from evlearn.belief import FocalSets, commonality, expand
from evlearn.blocks.sparse import SparseBlock
from evlearn.classify.labels import Labels, singletons_and_frame
from evlearn.classify.metric_search import plain_rows
from evlearn.cluster.neighbors.label_search import weights_to_masses
from evlearn.kernels.neighbor_loss import loss
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import BoolArray, FloatArray, IntArray, Metric
from evlearn.utils.validation import REMOTE, remoteness

_BLOCK = 1 << 18  # numbers in a block of work
_PAIRED = 500  # samples of which all pairs are compared


class Evidence(Protocol):
    """The labels of training samples, ready to be combined."""

    @property
    def focal_sets(self) -> FocalSets:
        """The sets that carry mass."""

    @property
    def n_scales(self) -> int:
        """How many scales there are."""

    def masses(
        self,
        neighbors: npt.NDArray[np.int32],
        squares: FloatArray,
        gamma: FloatArray,
        alpha: float,
        counts: FloatArray | None = None,
    ) -> FloatArray:
        """The masses of samples; neighbours speak as often as they count, None is once."""

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
        """The squared error of what the neighbours say, and its gradient.

        Returns
        -------
        loss : float
            Half the squared error of a sample, on average by importance; None is the same for all.
        gradient : ndarray of shape (n_scales,)
            Its derivatives by the scales.
        """


def make_evidence(labels: Labels) -> Evidence:
    """The evidence of labels, crisp or soft."""
    if labels.codes is not None:
        return CrispEvidence(singletons_and_frame(labels), labels.codes.astype(np.int32))
    assert labels.partition is not None
    family = labels.partition.focal_sets.closure("intersection").with_names(labels.names)
    masses = expand(labels.partition.masses, labels.partition.focal_sets, family)
    return SoftEvidence(family, 1 - commonality(masses, family)[:, 1:])


@dataclass(frozen=True)
class CrispEvidence:
    r"""Labels that are sure.

    With the weight :math:`w_k=-\sum\log(1-s_i)` over the neighbours of class k, masses are proportional to
    :math:`e^{w_k}-1` for a class, and to 1 for the frame.

    Attributes
    ----------
    focal_sets : FocalSets
        The empty set, the classes, and the frame.
    codes : ndarray of int32 of shape (n_samples,)
        The class of each training sample.
    """

    focal_sets: FocalSets
    codes: npt.NDArray[np.int32]

    @property
    def n_scales(self) -> int:
        """One for each class."""
        return self.focal_sets.frame_size

    def masses(
        self,
        neighbors: npt.NDArray[np.int32],
        squares: FloatArray,
        gamma: FloatArray,
        alpha: float,
        counts: FloatArray | None = None,
    ) -> FloatArray:
        """The masses of samples, see `Evidence`."""
        classes = self.codes[neighbors]
        supports = alpha * _fading((gamma**2)[classes], squares)
        masses = np.zeros((len(classes), len(self.focal_sets)))
        voices = -np.log1p(-supports)
        masses[:, 1:-1] = self._sum_by_class(voices if counts is None else counts * voices, classes)
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
        """The squared error and its gradient, see `Evidence`."""
        gradient = np.zeros(len(gamma))
        classes = self.codes[neighbors]
        work = np.empty((4, len(gamma)))
        often = np.empty((0, 0)) if counts is None else counts
        weights = np.empty(0) if importance is None else importance
        value = loss(classes, squares, gamma, alpha, share, targets, often, weights, gradient, work)
        total = len(squares) if importance is None else importance.sum()
        return value / total, gradient / total

    def _sum_by_class(self, values: FloatArray, classes: npt.NDArray[np.int32]) -> FloatArray:
        n_rows, n_classes = len(values), self.focal_sets.frame_size
        cells = classes + n_classes * np.arange(n_rows)[:, None]
        sums: FloatArray = np.bincount(cells.ravel(), values.ravel(), n_rows * n_classes).astype(
            np.float64, copy=False
        )
        return sums.reshape(n_rows, n_classes)


@dataclass(frozen=True)
class SoftEvidence:
    r"""Labels with doubt.

    The commonality of a set is the product of :math:`1-s_i(1-q_i)` over the neighbours, where :math:`q_i` is that
    of a neighbour's label. The empty set has no part in it, so that conflict is given up from the start.

    Attributes
    ----------
    focal_sets : FocalSets
        The sets of the labels and their intersections.
    denials : ndarray of shape (n_samples, n_focal_sets - 1)
        For each training sample and nonempty set, one less the commonality of its label.
    """

    focal_sets: FocalSets
    denials: FloatArray

    @property
    def n_scales(self) -> int:
        """One for all."""
        return 1

    def masses(
        self,
        neighbors: npt.NDArray[np.int32],
        squares: FloatArray,
        gamma: FloatArray,
        alpha: float,
        counts: FloatArray | None = None,
    ) -> FloatArray:
        """The masses of samples, see `Evidence`."""
        masses = np.zeros((len(squares), len(self.focal_sets)))
        often = _once(counts, squares)
        for rows in self._blocks(squares):
            masses[rows, 1:] = self._combine(neighbors[rows], squares[rows], gamma, alpha, often[rows])[0]
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
        """The squared error and its gradient, see `Evidence`."""
        value, slope, table = 0.0, 0.0, self._shares(share)
        often = _once(counts, squares)
        weights = np.ones(len(squares)) if importance is None else importance
        for rows in self._blocks(squares):
            masses, changes = self._combine(neighbors[rows], squares[rows], gamma, alpha, often[rows])
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
        """Masses of the nonempty sets, and how they change with the scale."""
        supports = alpha * _fading(gamma[0] ** 2, squares)[:, :, None]
        denials = self.denials[neighbors]
        said = supports * denials
        logs = (counts[:, :, None] * np.log1p(-said)).sum(axis=1)
        slopes = (2 * gamma[0] * squares * counts)[:, :, None] * said / (1 - said)
        slopes = slopes.sum(axis=1)
        # Relative to the largest, so that products of many small numbers stay numbers.
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
        """From commonalities of nonempty sets to their masses."""
        return self.focal_sets.moebius_matrix[1:, 1:].T

    def _shares(self, share: float) -> FloatArray:
        """What mass on a set counts for each class: all of it, or an equal part."""
        members = self.focal_sets.membership[1:].astype(float)
        return members if share == 1 else members / members.sum(axis=1, keepdims=True)

    def _blocks(self, squares: FloatArray) -> list[slice]:
        per_row = squares.shape[1] * self.denials.shape[1]
        return list(row_blocks(len(squares), max(_BLOCK // per_row, 1)))


def first_scales(
    labels: Labels, data: Any, counts: FloatArray | None = None, metric: Metric = "euclidean"
) -> npt.NDArray[np.float64]:
    """Scales to begin with: one over the root mean square distance of samples of a class, or of all samples.

    A few samples that are remote from all others do not count.
    """
    # One sample at a billion would make a scale for which all samples are near.
    plain = metric == "euclidean" and not isinstance(data, SparseBlock)
    near = remoteness(data) <= REMOTE if plain else np.ones(len(data), dtype=bool)
    often = np.ones(len(data)) if counts is None else counts
    near &= often > 0
    overall = _mean_square(data, near, often, metric)
    if labels.codes is None:
        means = np.array([overall])
    else:
        groups = [near & (labels.codes == k) for k in range(len(labels.classes))]
        means = np.array([_mean_square(data, group, often, metric) for group in groups])
    means = np.where(means > 0, means, overall)
    return 1 / np.sqrt(np.where(means > np.finfo(float).tiny, means, 1))


def _mean_square(data: Any, chosen: BoolArray, counts: FloatArray, metric: Metric) -> float:
    """The mean squared distance of two different samples, of which some may be there several times; 0 for one."""
    members = np.flatnonzero(chosen)
    if metric != "euclidean":  # all pairs of some samples
        members = members[np.linspace(0, len(members) - 1, min(len(members), _PAIRED)).astype(int)]
    often = counts[members]
    pairs = float(often.sum() ** 2 - (often * np.minimum(often, 1)).sum())
    if not len(members) or pairs <= 0:
        return 0.0
    return float(often.sum() ** 2 * _mean_square_of_all(data, members, often, metric) / pairs)


def _mean_square_of_all(data: Any, members: IntArray, counts: FloatArray, metric: Metric) -> float:
    """The same if samples may be paired with themselves: twice the sum of the variances, if it is Euclidean."""
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


def _once(counts: FloatArray | None, squares: FloatArray) -> FloatArray:
    return np.ones_like(squares) if counts is None else counts


def _fading(scales: Any, squares: FloatArray) -> FloatArray:
    """What is left of evidence at squared distances: nothing, where their product is beyond all numbers."""
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(-scales * squares))
