"""Reading of rows, and their transform to inputs of a network."""

from dataclasses import dataclass, replace
from types import NoneType
from typing import Annotated, Any

import numpy as np
from sklearn.base import clone
from sklearn.svm import OneClassSVM
from sklearn.utils.random import sample_without_replacement

from evlearn.blocks import RowDataset
from evlearn.blocks.dataset import Moments, MomentsFrom
from evlearn.cluster.base import with_seed
from evlearn.storage import fields
from evlearn.utils.typing import BoolArray, FloatArray, IntArray
from evlearn.utils.validation import EXTREME_RATIO, check_choice

#: Maximum number of rows that an outlier model is fitted to.
_OUTLIER_SAMPLE = 5000
#: Maximum number of rows from which the center is computed, to detect extreme rows.
_CENTER_SAMPLE = 200
#: Reach of a network in standard deviations: no row of fewer than 10^12 is farther from the mean.
_MAX_DEVIATIONS = 1e6
#: Components whose singular value is smaller, relative to the largest, are rounding errors.
_MIN_RELATIVE_STRENGTH = 1e-10


@fields.stored
@dataclass(frozen=True)
class Reader:
    """Transform of rows to inputs of a network.

    Attributes
    ----------
    mean : ndarray of shape (n_features,)
        Subtracted from each row first.
    components : ndarray of shape (n_inputs, n_features) or None
        Directions on which rows are projected; None for no projection.
    scale : ndarray of shape (n_inputs,)
        Divisors of the inputs.
    outlier_model : object or None, default=None
        Outlier model; its ``decision_function`` of the inputs is the score of a row.
    middle : ndarray of shape (n_inputs,) or float, default=0.0
        Mean of the inputs of the training set.
    reach : float, default=inf
        Rows with an input farther from the middle are outliers for the network.
    """

    mean: fields.Vector
    components: fields.Matrix | None
    scale: fields.ScaleVector
    outlier_model: Annotated[Any, fields.instance(NoneType)] = None
    middle: Annotated[Any, fields.any_of(fields.number(), fields.array(1))] = 0.0
    reach: fields.PositiveExtendedNumber = float("inf")

    def inputs(self, rows: FloatArray) -> FloatArray:
        """Return the inputs of the network."""
        with np.errstate(over="ignore", invalid="ignore"):  # for far rows, see `find_far_rows`
            centered = np.subtract(rows, self.mean, dtype=np.float64, order="C")
            return (centered if self.components is None else centered @ self.components.T) / self.scale

    def find_far_rows(self, inputs: FloatArray) -> BoolArray:
        """Return True for rows too far from the training set for a prediction by the network."""
        low, high = self.middle - self.reach, self.middle + self.reach
        # Usually no row is far, which needs no tables as large as the inputs. NaN fails the comparison.
        if len(inputs) and np.max(low) <= inputs.min() and inputs.max() <= np.min(high):
            return np.zeros(len(inputs), dtype=bool)
        return ~np.asarray(((inputs >= low) & (inputs <= high)).all(axis=1))

    def scores(self, inputs: FloatArray) -> FloatArray | None:
        """Return the similarity of rows to the training set: positive inside it, negative far from it."""
        if self.outlier_model is None:
            return None
        return np.asarray(self.outlier_model.decision_function(inputs), dtype=np.float64).reshape(-1)


def make_reader(
    rows: RowDataset,
    *,
    n_components: int | None,
    standardize: bool,
    outlier_model: Any,
    random: np.random.RandomState,
    n_jobs: int | None,
) -> Reader:
    """Return the reader for a training set."""
    mean, deviation = _compute_moments(rows, n_jobs)
    components = None
    if n_components is not None:
        centered = read_rows(rows, np.arange(len(rows))) - mean
        _, strengths, components = np.linalg.svd(centered, full_matrices=False)
        components = components[
            : max(1, min(n_components, int((strengths > _MIN_RELATIVE_STRENGTH * strengths[0]).sum())))
        ]
        deviation = (centered @ components.T).std(axis=0)
    middle: Any = 0.0
    reach = _MAX_DEVIATIONS
    if not standardize:
        reach *= float(deviation.max()) or 1.0
        deviation = np.ones(len(deviation))
        if components is None:
            mean, middle = np.zeros(len(mean)), mean
    reader = Reader(mean, components, np.where(deviation > 0, deviation, 1.0), middle=middle, reach=reach)
    if outlier_model is None:
        return reader
    inputs = reader.inputs(read_rows(rows, draw_indices(len(rows), _OUTLIER_SAMPLE, random)))
    return replace(reader, outlier_model=with_seed(_make_outlier_model(outlier_model), random).fit(inputs))


def _make_outlier_model(outlier_model: Any) -> Any:
    if isinstance(outlier_model, str):
        check_choice("outlier_model", outlier_model, ("svm",))
        return OneClassSVM(nu=0.2, gamma=0.2)
    if not hasattr(type(outlier_model), "decision_function"):
        raise TypeError(f"outlier_model must have a decision_function, got {outlier_model!r}.")
    return clone(outlier_model)


def draw_indices(n_samples: int, size: int, random: np.random.RandomState) -> IntArray:
    """Draw at most `size` sample indices, in increasing order."""
    if n_samples <= size:
        return np.arange(n_samples)
    return np.sort(sample_without_replacement(n_samples, size, random_state=random)).astype(np.intp)


def read_rows(rows: RowDataset, indices: IntArray) -> FloatArray:
    """Read rows in double precision."""
    order = np.argsort(indices, kind="stable")
    values = np.empty((len(indices), rows.n_features))
    values[order] = rows.take(indices[order])
    return values


class _RowMajorMoments(MomentsFrom):
    """Moments of blocks in C order, because the rounding of sums depends on the order in memory."""

    def __call__(self, rows: Any, weights: Any = None) -> Moments:
        return super().__call__(np.ascontiguousarray(rows), weights)


def _compute_moments(rows: RowDataset, n_jobs: int | None) -> tuple[FloatArray, FloatArray]:
    """Compute the mean and the standard deviation of rows, without at most 5 % extreme rows."""
    sample = np.asarray(rows.take(np.arange(0, len(rows), -(-len(rows) // _CENTER_SAMPLE))), dtype=np.float64)
    center = np.median(sample, axis=0)
    # The first row that is not extreme is subtracted from all rows.
    with np.errstate(over="ignore"):
        sizes = np.abs(sample - center).max(axis=1)
    unit = float(np.median(sizes[sizes > 0])) if sizes.any() else np.inf
    point = sample[np.flatnonzero(sizes <= EXTREME_RATIO * unit)[0]]
    for limit in (EXTREME_RATIO * unit, np.inf):
        moments: Moments = rows.add(_RowMajorMoments(point, limit), n_jobs=n_jobs)
        if moments.count >= 0.95 * len(rows):
            break
    return np.asarray(moments.mean + point), np.sqrt(moments.variance)
