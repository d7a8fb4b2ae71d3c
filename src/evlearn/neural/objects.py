"""The samples of a training set: what the network sees of them, and their target conflicts."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from evlearn.blocks import Rows
from evlearn.cluster.pairwise.pair_graph import Transform
from evlearn.neural.dissimilarity import Dissimilarity
from evlearn.neural.model import as_tensor
from evlearn.neural.reading import Reader, take
from evlearn.utils.typing import FloatArray, IntArray

#: Times d0: beyond it, the rounding of products is no longer small beside the targets. Then distances are direct
#: differences, which take several times as long.
_FARTHEST = 18.0
_DIRECT = "donot_use_mm_for_euclid_dist"


class Seen(NamedTuple):
    """What a network sees of some samples.

    Attributes
    ----------
    inputs : Tensor of shape (n, n_inputs)
        The inputs.
    scores : Tensor of shape (n,) or None
        Scores of the outlier model.
    """

    inputs: Tensor
    scores: Tensor | None


class Objects(ABC):
    """The samples of a training set."""

    def __init__(self, n_samples: int, dissimilarity: Dissimilarity, transform: Transform, like: Tensor) -> None:
        self.n_samples = n_samples
        self._dissimilarity, self._transform, self._like = dissimilarity, transform, like
        # Then a product of features gives all targets.
        self._by_product = dissimilarity.euclidean and transform.kind == "exponential"

    @abstractmethod
    def see(self, indices: IntArray) -> Seen:
        """What the network sees of some samples."""

    def targets(self, indices: IntArray) -> Tensor:
        """The target conflicts of some samples with each other."""
        if self._by_product:
            return exponential_targets(self._features(indices))
        distances = self._dissimilarity.square(indices, self._rows(indices))
        return as_tensor(self._transform(distances), self._like)  # type: ignore[no-any-return]

    @abstractmethod
    def _rows(self, indices: IntArray) -> FloatArray:
        """Rows as the user has them."""

    @abstractmethod
    def _features(self, indices: IntArray) -> Tensor:
        """What is compared, centred, in units of d0."""

    def _compared(self, rows: FloatArray) -> Tensor:
        features = self._dissimilarity.features(rows)
        # Centred, because large numbers leave nothing of small distances; and where some are, not on their mean.
        apart = (features - features.mean(axis=0)) / self._transform.d0
        largest = float(np.abs(apart).max(initial=0))
        if largest > _FARTHEST:
            apart = (features - np.median(features, axis=0)) / self._transform.d0
            largest = float(np.abs(apart).max(initial=0))
        if not largest < 0.1 * torch.finfo(self._like.dtype).max ** 0.5:
            raise ValueError(
                f"X has samples that are {largest:.3g} times d0={self._transform.d0:.3g} away from the median, "
                "and the squares of such numbers are lost; remove these samples, or raise d0."
            )
        return as_tensor(apart, self._like)  # type: ignore[no-any-return]


class ArrayObjects(Objects):
    """Samples in memory; what the network sees of them is made once."""

    def __init__(
        self, data: FloatArray, reader: Reader, dissimilarity: Dissimilarity, transform: Transform, like: Tensor
    ) -> None:
        super().__init__(len(data), dissimilarity, transform, like)
        self._data = data
        inputs = reader.inputs(data)
        self._inputs = as_tensor(inputs, like)
        self._scores = as_tensor(reader.scores(inputs), like)
        self._all_features = self._compared(data) if self._by_product else like
        self._last: tuple[Any, Tensor] = (None, like)

    def see(self, indices: IntArray) -> Seen:
        """What the network sees of some samples."""
        chosen = self._positions(indices)
        return Seen(self._inputs[chosen], None if self._scores is None else self._scores[chosen])

    def _rows(self, indices: IntArray) -> FloatArray:
        return self._data[indices]

    def _features(self, indices: IntArray) -> Tensor:
        return self._all_features[self._positions(indices)]

    def _positions(self, indices: IntArray) -> Tensor:
        """The numbers as torch wants them; those of the last call are not sent again."""
        if indices is not self._last[0]:
            self._last = (indices, torch.from_numpy(indices).to(self._like.device))
        return self._last[1]


class RowObjects(Objects):
    """Samples anywhere; they are read when they are needed."""

    def __init__(
        self, rows: Rows, reader: Reader, dissimilarity: Dissimilarity, transform: Transform, like: Tensor
    ) -> None:
        super().__init__(len(rows), dissimilarity, transform, like)
        self._source, self._reader = rows, reader
        self._last: tuple[IntArray, FloatArray] = (np.empty(0, dtype=np.intp), np.empty((0, 0)))

    def see(self, indices: IntArray) -> Seen:
        """What the network sees of some samples."""
        inputs = self._reader.inputs(self._rows(indices))
        return Seen(as_tensor(inputs, self._like), as_tensor(self._reader.scores(inputs), self._like))

    def _rows(self, indices: IntArray) -> FloatArray:
        """Rows as the user has them; those that the last call began with are not read again."""
        if not np.array_equal(indices, self._last[0][: len(indices)]):
            self._last = (indices, take(self._source, indices))
        return self._last[1][: len(indices)]

    def _features(self, indices: IntArray) -> Tensor:
        return self._compared(self._rows(indices))


def exponential_targets(features: Tensor) -> Tensor:
    r"""Target conflicts :math:`1-0.05^{d^2}` of Euclidean distances, which are 0.95 at distance 1."""
    rate = float(np.log(0.05))
    half = (features * features).sum(dim=1) * rate
    # Products leave little of the differences of others, or nothing, where some are far away.
    if not bool((half >= rate * _FARTHEST**2).all()):
        return torch.cdist(features, features, compute_mode=_DIRECT).square_().mul_(rate).expm1_().neg_()
    squares = torch.addmm(half[:, None] + half[None, :], features, features.T, alpha=-2 * rate)
    return squares.clamp_(max=0).expm1_().neg_()
