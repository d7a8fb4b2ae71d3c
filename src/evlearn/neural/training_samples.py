"""Samples of a training set: their inputs to the network, and their target conflicts."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from evlearn.blocks import RowDataset
from evlearn.cluster.pairwise.pair_graph import Transform
from evlearn.neural.dissimilarity import Dissimilarity
from evlearn.neural.network import as_tensor
from evlearn.neural.reading import Reader, read_rows
from evlearn.utils.typing import BoolArray, FloatArray, IntArray

#: Largest distance from the center, in units of d0, for distances computed by products. Beyond it, the rounding of
#: products is not negligible, and distances are direct differences, which are several times slower.
_MAX_PRODUCT_DISTANCE = 18.0
_DIRECT_DISTANCES = "donot_use_mm_for_euclid_dist"


class NetworkInputs(NamedTuple):
    """Inputs of a network for a subset of the samples.

    Attributes
    ----------
    inputs : Tensor of shape (n, n_inputs)
        Inputs.
    scores : Tensor of shape (n,) or None
        Scores of the outlier model.
    """

    inputs: Tensor
    scores: Tensor | None


class TrainingSamples(ABC):
    """Samples of a training set."""

    def __init__(
        self, shape: tuple[int, int], dissimilarity: Dissimilarity, transform: Transform, reference: Tensor
    ) -> None:
        self.n_samples, self.n_features = shape
        self._dissimilarity, self._transform, self._reference = dissimilarity, transform, reference
        # All targets follow from one product of features.
        self._uses_products = dissimilarity.euclidean and transform.kind == "exponential"

    @abstractmethod
    def network_inputs(self, indices: IntArray) -> NetworkInputs:
        """Return the inputs of the network for a subset of the samples."""

    @abstractmethod
    def load(self, indices: IntArray) -> None:
        """Load samples, in increasing order, that contain most of those used next."""

    def targets(self, indices: IntArray) -> Tensor:
        """Return the target conflicts of all pairs of a subset of the samples."""
        if self._uses_products:
            return exponential_targets(self._features(indices), self._transform.d1 / self._transform.d0)
        distances = self._dissimilarity.square(indices, self._rows(indices))
        return as_tensor(self._transform(distances), self._reference)  # type: ignore[no-any-return]

    @abstractmethod
    def _rows(self, indices: IntArray) -> FloatArray:
        """Return the original rows."""

    @abstractmethod
    def _features(self, indices: IntArray) -> Tensor:
        """Return the features that are compared, centered, in units of d0."""

    def _scaled_features(self, rows: FloatArray) -> Tensor:
        features = self._dissimilarity.features(rows)
        # Centered, because small distances of large numbers are lost; with extreme rows on the median.
        scaled = (features - features.mean(axis=0)) / self._transform.d0
        largest = float(np.abs(scaled).max(initial=0))
        if largest > _MAX_PRODUCT_DISTANCE:
            scaled = (features - np.median(features, axis=0)) / self._transform.d0
            largest = float(np.abs(scaled).max(initial=0))
        if not largest < 0.1 * torch.finfo(self._reference.dtype).max ** 0.5:
            raise ValueError(
                f"X has samples that are {largest:.3g} times d0={self._transform.d0:.3g} away from the median, "
                "too far for squared distances; remove these samples, or raise d0."
            )
        return as_tensor(scaled, self._reference)  # type: ignore[no-any-return]


class ArraySamples(TrainingSamples):
    """Samples in memory, with inputs that are computed once."""

    def __init__(
        self,
        data: FloatArray,
        reader: Reader,
        dissimilarity: Dissimilarity,
        transform: Transform,
        reference: Tensor,
    ) -> None:
        super().__init__(data.shape, dissimilarity, transform, reference)
        self._data = data
        inputs = reader.inputs(data)
        self._inputs = as_tensor(inputs, reference)
        self._scores = as_tensor(reader.scores(inputs), reference)
        self._all_features = self._scaled_features(data) if self._uses_products else reference
        self._last_lookup: tuple[Any, Tensor] = (None, reference)

    def network_inputs(self, indices: IntArray) -> NetworkInputs:
        """Return the inputs of the network for a subset of the samples."""
        positions = self._positions(indices)
        return NetworkInputs(self._inputs[positions], None if self._scores is None else self._scores[positions])

    def load(self, indices: IntArray) -> None:
        """Do nothing, because all samples are in memory."""

    def _rows(self, indices: IntArray) -> FloatArray:
        return self._data[indices]

    def _features(self, indices: IntArray) -> Tensor:
        return self._all_features[self._positions(indices)]

    def _positions(self, indices: IntArray) -> Tensor:
        """Return the indices as a tensor, which is reused for the next call with the same indices."""
        if indices is not self._last_lookup[0]:
            self._last_lookup = (indices, torch.from_numpy(indices).to(self._reference.device))
        return self._last_lookup[1]


class RowSamples(TrainingSamples):
    """Samples of any dataset, which are read on demand, or in advance by `load`."""

    def __init__(
        self,
        rows: RowDataset,
        reader: Reader,
        dissimilarity: Dissimilarity,
        transform: Transform,
        reference: Tensor,
    ) -> None:
        super().__init__((len(rows), rows.n_features), dissimilarity, transform, reference)
        self._source, self._reader = rows, reader
        self._window = self._run_starts = np.empty(0, dtype=np.intp)
        self._window_samples: ArraySamples | None = None
        self._last_lookup: tuple[Any, Any] = (None, None)
        self._last_rows: tuple[IntArray, FloatArray] = (np.empty(0, dtype=np.intp), np.empty((0, 0)))

    def load(self, indices: IntArray) -> None:
        """Read samples, in increasing order."""
        if self._window_samples is None or not np.array_equal(indices, self._window):
            self._window_samples = None  # frees its memory first
            settings = (self._reader, self._dissimilarity, self._transform, self._reference)
            self._window, self._window_samples = indices, ArraySamples(read_rows(self._source, indices), *settings)
            self._run_starts = np.flatnonzero(
                np.diff(indices, prepend=-2) != 1
            )  # starts of runs of consecutive indices
            self._last_lookup = (None, None)

    def network_inputs(self, indices: IntArray) -> NetworkInputs:
        """Return the inputs of the network for a subset of the samples."""
        samples, positions, is_loaded = self._locate(indices)
        if samples is not None and is_loaded.all():
            return samples.network_inputs(positions)
        inputs = self._reader.inputs(self._rows(indices))
        return NetworkInputs(
            as_tensor(inputs, self._reference), as_tensor(self._reader.scores(inputs), self._reference)
        )

    def _rows(self, indices: IntArray) -> FloatArray:
        """Return the original rows; the first rows of the last call are not read again."""
        if np.array_equal(indices, self._last_rows[0][: len(indices)]):
            return self._last_rows[1][: len(indices)]
        samples, positions, is_loaded = self._locate(indices)
        if samples is None:
            rows = read_rows(self._source, indices)
        else:
            rows = samples._rows(positions)
            if not is_loaded.all():
                rows[~is_loaded] = read_rows(self._source, indices[~is_loaded])
        self._last_rows = (indices, rows)
        return rows

    def _features(self, indices: IntArray) -> Tensor:
        samples, positions, is_loaded = self._locate(indices)
        return (
            samples._features(positions)
            if samples is not None and is_loaded.all()
            else self._scaled_features(self._rows(indices))
        )

    def _locate(self, indices: IntArray) -> tuple[ArraySamples | None, IntArray, BoolArray]:
        """Return the loaded samples, the positions of samples in them, and True for those that are loaded."""
        if self._window_samples is None:
            return None, indices, np.zeros(len(indices), dtype=bool)
        if indices is not self._last_lookup[0]:
            starts = self._window[self._run_starts]
            runs = np.maximum(np.searchsorted(starts, indices, side="right") - 1, 0)
            positions = np.clip(indices - starts[runs] + self._run_starts[runs], 0, len(self._window) - 1)
            self._last_lookup = (indices, (positions, self._window[positions] == indices))
        return (self._window_samples, *self._last_lookup[1])


def exponential_targets(features: Tensor, d1: float = 0.0) -> Tensor:
    r"""Return the target conflicts of Euclidean distances, which are 0.95 at distance 1.

    They are :math:`1-0.05^{(d^2-d_1^2)_+/(1-d_1^2)}`, where :math:`d_1` is `d1`.
    """
    rate = float(np.log(0.05)) / (1 - d1 * d1)
    halves = (features * features).sum(dim=1) * rate
    # Far rows make the rounding of products larger than the distances of other rows.
    if not bool((halves >= rate * _MAX_PRODUCT_DISTANCE**2).all()):
        squares = torch.cdist(features, features, compute_mode=_DIRECT_DISTANCES).square_().mul_(rate)
        return squares.sub_(rate * d1 * d1).clamp_(max=0).expm1_().neg_()
    squares = torch.addmm(halves[:, None] + halves[None, :], features, features.T, alpha=-2 * rate)
    return squares.sub_(rate * d1 * d1).clamp_(max=0).expm1_().neg_()
