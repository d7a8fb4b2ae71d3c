"""How rows are read: what a network sees of them, and how some of them are taken."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.svm import OneClassSVM
from sklearn.utils.random import sample_without_replacement

from evlearn.blocks import Rows
from evlearn.blocks.moments import Moments, MomentsFrom
from evlearn.cluster.base import with_seed
from evlearn.utils.typing import BoolArray, FloatArray, IntArray
from evlearn.utils.validation import REMOTE, check_choice

_OUTLIER_SAMPLE = 5000
_MIDDLE_ROWS = 200  # that tell what is remote
_FAR = 1e6  # deviations; among fewer than a million million rows, none is so far from the mean
_LOST = 1e-10  # of the largest: a component that is rounding


@dataclass(frozen=True)
class Reader:
    """What a network sees of a row.

    Attributes
    ----------
    mean : ndarray of shape (n_features,)
        What is subtracted from a row first.
    components : ndarray of shape (n_inputs, n_features) or None
        Rows are projected to these; None takes them as they are.
    scale : ndarray of shape (n_inputs,)
        What inputs are divided by.
    outlier_model : object or None, default=None
        Its ``decision_function`` of the inputs is the score of a row.
    middle : ndarray of shape (n_inputs,) or float, default=0.0
        The mean of the inputs of the training set.
    reach : float, default=inf
        Inputs that are farther from the middle say nothing to the network.
    """

    mean: FloatArray
    components: FloatArray | None
    scale: FloatArray
    outlier_model: Any = None
    middle: Any = 0.0
    reach: float = float("inf")

    def inputs(self, rows: FloatArray) -> FloatArray:
        """What the network sees."""
        with np.errstate(over="ignore", invalid="ignore"):  # of rows that are far away, see `are_far`
            centred = np.subtract(rows, self.mean, dtype=np.float64, order="C")
            return (centred if self.components is None else centred @ self.components.T) / self.scale

    def are_far(self, inputs: FloatArray) -> BoolArray:
        """Which rows are so far from the training set that a network can only guess."""
        low, high = self.middle - self.reach, self.middle + self.reach
        # As a rule none is, and that is seen without tables as large as the inputs. NaN is never within.
        if len(inputs) and np.max(low) <= inputs.min() and inputs.max() <= np.min(high):
            return np.zeros(len(inputs), dtype=bool)
        return ~np.asarray(((inputs >= low) & (inputs <= high)).all(axis=1))

    def scores(self, inputs: FloatArray) -> FloatArray | None:
        """How much rows are like the training set: positive among it, negative far from it."""
        if self.outlier_model is None:
            return None
        return np.asarray(self.outlier_model.decision_function(inputs), dtype=np.float64).reshape(-1)


def make_reader(
    rows: Rows,
    *,
    n_components: int | None,
    standardize: bool,
    outlier_model: Any,
    random: np.random.RandomState,
    n_jobs: int | None,
) -> Reader:
    """The reader that suits a training set."""
    mean, deviation = _moments(rows, n_jobs)
    components = None
    if n_components is not None:
        centred = take(rows, np.arange(len(rows))) - mean
        _, strengths, components = np.linalg.svd(centred, full_matrices=False)
        components = components[: max(1, min(n_components, int((strengths > _LOST * strengths[0]).sum())))]
        deviation = (centred @ components.T).std(axis=0)
    middle: Any = 0.0
    reach = _FAR
    if not standardize:
        reach *= float(deviation.max()) or 1.0
        deviation = np.ones(len(deviation))
        if components is None:
            mean, middle = np.zeros(len(mean)), mean
    reader = Reader(mean, components, np.where(deviation > 0, deviation, 1.0), middle=middle, reach=reach)
    if outlier_model is None:
        return reader
    inputs = reader.inputs(take(rows, some(len(rows), _OUTLIER_SAMPLE, random)))
    return replace(reader, outlier_model=with_seed(_make_outlier_model(outlier_model), random).fit(inputs))


def _make_outlier_model(given: Any) -> Any:
    if isinstance(given, str):
        check_choice("outlier_model", given, ("svm",))
        return OneClassSVM(nu=0.2, gamma=0.2)
    if not hasattr(type(given), "decision_function"):
        raise TypeError(f"outlier_model must have a decision_function, got {given!r}.")
    return clone(given)


def some(n_samples: int, size: int, random: np.random.RandomState) -> IntArray:
    """The numbers of some samples, in order; all of them if they are few."""
    if n_samples <= size:
        return np.arange(n_samples)
    return np.sort(sample_without_replacement(n_samples, size, random_state=random)).astype(np.intp)


def take(rows: Rows, indices: IntArray) -> FloatArray:
    """Rows as the user has them, in double precision."""
    order = np.argsort(indices, kind="stable")
    found = np.empty((len(indices), rows.n_features))
    found[order] = rows.take(indices[order])
    return found


class _MomentsByRows(MomentsFrom):
    """Moments of blocks in C order: sums over columns that lie together in memory are rounded differently."""

    def __call__(self, rows: Any, weights: Any = None) -> Moments:
        return super().__call__(np.ascontiguousarray(rows), weights)


def _moments(rows: Rows, n_jobs: int | None) -> tuple[FloatArray, FloatArray]:
    """The mean of rows as the user has them, and their deviation; a few that are remote do not count."""
    few = np.asarray(rows.take(np.arange(0, len(rows), -(-len(rows) // _MIDDLE_ROWS))), dtype=np.float64)
    centre = np.median(few, axis=0)
    # The first of them, but for one that is remote: of all rows the point is subtracted.
    with np.errstate(over="ignore"):
        sizes = np.abs(few - centre).max(axis=1)
    unit = float(np.median(sizes[sizes > 0])) if sizes.any() else np.inf
    point = few[np.flatnonzero(sizes <= REMOTE * unit)[0]]
    for limit in (REMOTE * unit, np.inf):
        found: Moments = rows.add(_MomentsByRows(point, limit), n_jobs=n_jobs)
        if found.count >= 0.95 * len(rows):
            break
    return np.asarray(found.mean + point), np.sqrt(found.variance)
