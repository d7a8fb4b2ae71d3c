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
from evlearn.utils.typing import BoolArray, FloatArray, IntArray

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

    def __init__(
        self, shape: tuple[int, int], dissimilarity: Dissimilarity, transform: Transform, like: Tensor
    ) -> None:
        self.n_samples, self.n_features = shape
        self._dissimilarity, self._transform, self._like = dissimilarity, transform, like
        # Then a product of features gives all targets.
        self._by_product = dissimilarity.euclidean and transform.kind == "exponential"

    @abstractmethod
    def see(self, indices: IntArray) -> Seen:
        """What the network sees of some samples."""

    @abstractmethod
    def hold(self, indices: IntArray) -> None:
        """Have some samples at hand, in increasing order: most of those that are asked for next are among them."""

    def targets(self, indices: IntArray) -> Tensor:
        """The target conflicts of some samples with each other."""
        if self._by_product:
            return exponential_targets(self._features(indices), self._transform.near / self._transform.d0)
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
        super().__init__(data.shape, dissimilarity, transform, like)
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

    def hold(self, indices: IntArray) -> None:
        """All samples are at hand."""

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
    """Samples anywhere; they are read when they are needed, many at once if it is known which these are."""

    def __init__(
        self, rows: Rows, reader: Reader, dissimilarity: Dissimilarity, transform: Transform, like: Tensor
    ) -> None:
        super().__init__((len(rows), rows.n_features), dissimilarity, transform, like)
        self._source, self._reader = rows, reader
        self._window = self._runs = np.empty(0, dtype=np.intp)
        self._held: ArrayObjects | None = None
        self._last: tuple[Any, Any] = (None, None)
        self._last_rows: tuple[IntArray, FloatArray] = (np.empty(0, dtype=np.intp), np.empty((0, 0)))

    def hold(self, indices: IntArray) -> None:
        """Read some samples, in increasing order."""
        if self._held is None or not np.array_equal(indices, self._window):
            self._held = None  # before others take its place in memory
            settings = (self._reader, self._dissimilarity, self._transform, self._like)
            self._window, self._held = indices, ArrayObjects(take(self._source, indices), *settings)
            self._runs = np.flatnonzero(
                np.diff(indices, prepend=-2) != 1
            )  # where numbers do not follow each other
            self._last = (None, None)

    def see(self, indices: IntArray) -> Seen:
        """What the network sees of some samples."""
        held, places, here = self._find(indices)
        if held is not None and here.all():
            return held.see(places)
        inputs = self._reader.inputs(self._rows(indices))
        return Seen(as_tensor(inputs, self._like), as_tensor(self._reader.scores(inputs), self._like))

    def _rows(self, indices: IntArray) -> FloatArray:
        """Rows as the user has them; those that the last call began with are not read again."""
        if np.array_equal(indices, self._last_rows[0][: len(indices)]):
            return self._last_rows[1][: len(indices)]
        held, places, here = self._find(indices)
        if held is None:
            rows = take(self._source, indices)
        else:
            rows = held._rows(places)
            if not here.all():
                rows[~here] = take(self._source, indices[~here])
        self._last_rows = (indices, rows)
        return rows

    def _features(self, indices: IntArray) -> Tensor:
        held, places, here = self._find(indices)
        return held._features(places) if held is not None and here.all() else self._compared(self._rows(indices))

    def _find(self, indices: IntArray) -> tuple[ArrayObjects | None, IntArray, BoolArray]:
        """What is at hand, where samples are in it, and which of them."""
        if self._held is None:
            return None, indices, np.zeros(len(indices), dtype=bool)
        if indices is not self._last[0]:
            starts = self._window[self._runs]
            run = np.maximum(np.searchsorted(starts, indices, side="right") - 1, 0)
            places = np.clip(indices - starts[run] + self._runs[run], 0, len(self._window) - 1)
            self._last = (indices, (places, self._window[places] == indices))
        return (self._held, *self._last[1])


def exponential_targets(features: Tensor, near: float = 0.0) -> Tensor:
    r"""Return target conflicts of Euclidean distances, which are 0.95 at distance 1.

    They are :math:`1-0.05^{(d^2-d_1^2)_+/(1-d_1^2)}`, where :math:`d_1` is `near`.
    """
    rate = float(np.log(0.05)) / (1 - near * near)
    half = (features * features).sum(dim=1) * rate
    # Products leave little of the differences of others, or nothing, where some are far away.
    if not bool((half >= rate * _FARTHEST**2).all()):
        squares = torch.cdist(features, features, compute_mode=_DIRECT).square_().mul_(rate)
        return squares.sub_(rate * near * near).clamp_(max=0).expm1_().neg_()
    squares = torch.addmm(half[:, None] + half[None, :], features, features.T, alpha=-2 * rate)
    return squares.sub_(rate * near * near).clamp_(max=0).expm1_().neg_()
