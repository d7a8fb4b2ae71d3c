r"""What neighbours say together: masses by Dempster's rule, and the loss of their scales with its gradient.

A neighbour at distance d gives the share :math:`s=\alpha e^{-\gamma^2d^2}` of what its label says, and the rest to
the frame. With crisp labels the combination has a closed form; with soft ones commonalities are multiplied.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from evlearn.belief import FocalSets, commonality, expand
from evlearn.blocks.sparse import SparseBlock
from evlearn.classify.labels import Labels, singletons_and_frame
from evlearn.cluster.neighbors.label_search import weights_to_masses
from evlearn.kernels.neighbor_loss import loss
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import FloatArray
from evlearn.utils.validation import REMOTE, remoteness

_BLOCK = 1 << 18  # numbers in a block of work


class Evidence(Protocol):
    """The labels of training samples, ready to be combined."""

    @property
    def focal_sets(self) -> FocalSets:
        """The sets that carry mass."""

    @property
    def n_scales(self) -> int:
        """How many scales there are."""

    def masses(
        self, neighbors: npt.NDArray[np.int32], squares: FloatArray, gamma: FloatArray, alpha: float
    ) -> FloatArray:
        """The masses of samples."""

    def loss(
        self,
        neighbors: npt.NDArray[np.int32],
        squares: FloatArray,
        gamma: FloatArray,
        alpha: float,
        targets: FloatArray,
        share: float,
    ) -> tuple[float, FloatArray]:
        """The squared error of what the neighbours say, and its gradient.

        Returns
        -------
        loss : float
            Half the squared error of a sample, on average.
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
        self, neighbors: npt.NDArray[np.int32], squares: FloatArray, gamma: FloatArray, alpha: float
    ) -> FloatArray:
        """The masses of samples, see `Evidence`."""
        classes = self.codes[neighbors]
        supports = alpha * _fading((gamma**2)[classes], squares)
        masses = np.zeros((len(classes), len(self.focal_sets)))
        masses[:, 1:-1] = self._sum_by_class(-np.log1p(-supports), classes)
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
    ) -> tuple[float, FloatArray]:
        """The squared error and its gradient, see `Evidence`."""
        gradient = np.zeros(len(gamma))
        classes = self.codes[neighbors]
        work = np.empty((4, len(gamma)))
        value = loss(classes, squares, gamma, alpha, share, targets, gradient, work)
        return value / len(squares), gradient / len(squares)

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
        self, neighbors: npt.NDArray[np.int32], squares: FloatArray, gamma: FloatArray, alpha: float
    ) -> FloatArray:
        """The masses of samples, see `Evidence`."""
        masses = np.zeros((len(squares), len(self.focal_sets)))
        for rows in self._blocks(squares):
            masses[rows, 1:] = self._combine(neighbors[rows], squares[rows], gamma, alpha)[0]
        return masses

    def loss(
        self,
        neighbors: npt.NDArray[np.int32],
        squares: FloatArray,
        gamma: FloatArray,
        alpha: float,
        targets: FloatArray,
        share: float,
    ) -> tuple[float, FloatArray]:
        """The squared error and its gradient, see `Evidence`."""
        value, slope, table = 0.0, 0.0, self._shares(share)
        for rows in self._blocks(squares):
            masses, changes = self._combine(neighbors[rows], squares[rows], gamma, alpha)
            errors = masses @ table - targets[rows]
            value += float((errors**2).sum())
            slope += float((errors * (changes @ table)).sum())
        return value / (2 * len(squares)), np.array([slope / len(squares)])

    def _combine(
        self, neighbors: npt.NDArray[np.int32], squares: FloatArray, gamma: FloatArray, alpha: float
    ) -> tuple[FloatArray, FloatArray]:
        """Masses of the nonempty sets, and how they change with the scale."""
        supports = alpha * _fading(gamma[0] ** 2, squares)[:, :, None]
        denials = self.denials[neighbors]
        logs = np.log1p(-supports * denials).sum(axis=1)
        slopes = (2 * gamma[0] * squares[:, :, None] * supports * denials / (1 - supports * denials)).sum(axis=1)
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


def first_scales(labels: Labels, data: Any) -> npt.NDArray[np.float64]:
    """Scales to begin with: one over the root mean square distance of samples of a class, or of all samples.

    A few samples that are remote from all others do not count.
    """
    # One sample at a billion would make a scale for which all samples are near.
    near = np.ones(len(data), dtype=bool) if isinstance(data, SparseBlock) else remoteness(data) <= REMOTE
    overall = _mean_square(data[near])
    if labels.codes is None:
        means = np.array([overall])
    else:
        groups = [data[near & (labels.codes == k)] for k in range(len(labels.classes))]
        means = np.array([_mean_square(group) if len(group) > 1 else overall for group in groups])
    means = np.where(means > 0, means, overall)
    return 1 / np.sqrt(np.where(means > np.finfo(float).tiny, means, 1))


def _mean_square(group: Any) -> float:
    """The mean squared distance of two different samples: twice the sum of the variances."""
    if isinstance(group, SparseBlock):
        mean = np.asarray(group.matrix.mean(axis=0)).ravel()
        return float(2 * (group.squares.sum() - len(group) * mean @ mean) / (len(group) - 1))
    return float(2 * group.var(axis=0, ddof=1).sum())


def _fading(scales: Any, squares: FloatArray) -> FloatArray:
    """What is left of evidence at squared distances: nothing, where their product is beyond all numbers."""
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(-scales * squares))
