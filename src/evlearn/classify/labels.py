"""Crisp and soft labels of training samples."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from evlearn.belief import FocalSets, contour, normalize, pignistic
from evlearn.partition import CredalPartition
from evlearn.utils.typing import BoolArray, FloatArray, IntArray
from evlearn.utils.validation import check_real


@dataclass(frozen=True)
class Labels:
    """Labels of samples, crisp or soft.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Classes.
    codes : ndarray of int of shape (n_samples,) or None
        Class number of each sample; None for soft labels.
    partition : CredalPartition or None
        Mass functions of the samples, without mass on the empty set; None for crisp labels.
    """

    classes: npt.NDArray[Any]
    codes: IntArray | None
    partition: CredalPartition | None = None

    @property
    def names(self) -> list[str]:
        """Names of the classes in focal sets."""
        return [str(name) for name in self.classes]

    def take(self, rows: BoolArray | IntArray) -> "Labels":
        """Return the labels of some samples."""
        if self.partition is None:
            assert self.codes is not None
            return Labels(self.classes, self.codes[rows])
        return Labels(self.classes, None, self.partition[rows])

    def plausibilities(self) -> FloatArray:
        """Return the plausibilities of classes, of shape (n_samples, n_classes)."""
        if self.partition is None:
            return np.asarray(np.eye(len(self.classes))[self.codes])
        return contour(self.partition.masses, self.partition.focal_sets)

    def targets(self, share: float) -> FloatArray:
        """Return the targets of a classifier, of shape (n_samples, n_classes)."""
        if self.partition is None or share == 1:
            return self.plausibilities()
        return pignistic(self.partition.masses, self.partition.focal_sets)


def read_labels(y: Any, X: npt.NDArray[Any], name: str) -> Labels:
    """Convert y to labels."""
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    if not isinstance(y, CredalPartition):
        values = np.asarray(y)
        if values.ndim != 2 or values.shape[1] < 2:
            return _read_crisp(y, X, name)
        y = _from_plausibilities(values)
    if y.n_samples != len(X):
        raise ValueError(f"y has labels of {y.n_samples} samples, but X has {len(X)} rows.")
    focal_sets = y.focal_sets.with_omega()
    _check_classes(focal_sets.frame_size, name)
    masses: FloatArray = np.zeros((len(X), len(focal_sets)))
    masses[:, focal_sets.positions(y.focal_sets.membership)] = y.masses
    masses = normalize(masses, focal_sets)
    classes = np.arange(focal_sets.frame_size) if y.focal_sets.names is None else np.array(y.focal_sets.names)
    return Labels(classes, None, CredalPartition(masses, focal_sets, validate=False))


def check_same_samples(y: Any, X: Any) -> None:
    """Raise if labels have sample names that differ from those of the rows of a frame."""
    names = y.sample_index if isinstance(y, CredalPartition) else None
    index = getattr(X, "index", None) if hasattr(X, "iloc") else None
    if names is None or index is None or len(names) != len(index):
        return
    if list(map(str, names)) != list(map(str, index)):
        raise ValueError(
            "y has other samples than X, or another order, by its sample_names and the index of X. "
            "Annotations.to_partition(samples=X.index) sorts answers."
        )


def read_share(loss_lambda: Any, n_classes: int) -> float:
    """Return the share of the mass on the frame that counts for each class in the loss."""
    if isinstance(loss_lambda, str):
        if loss_lambda != "pignistic":
            raise ValueError(
                f"loss_lambda must be 'pignistic' or a number from 0 to 1, got {loss_lambda!r}; 1 compares "
                "plausibilities with labels, and 0 degrees of belief."
            )
        return 1 / n_classes
    check_real("loss_lambda", loss_lambda, 0, 1)
    return float(loss_lambda)


def _read_crisp(y: Any, X: npt.NDArray[Any], name: str) -> Labels:
    values = column_or_1d(y, warn=True)
    if values.dtype.kind == "f":
        assert_all_finite(values, input_name="y")
    check_classification_targets(values)
    check_consistent_length(X, values)
    classes, codes = np.unique(values, return_inverse=True)
    _check_classes(len(classes), name)
    return Labels(classes, codes.astype(np.intp, copy=False))


def _from_plausibilities(plausibilities: npt.NDArray[Any]) -> CredalPartition:
    values = plausibilities.astype(np.float64)
    assert_all_finite(values, input_name="y")
    if values.min() < 0 or values.max() > 1 or (values.max(axis=1) < 1 - 1e-9).any():
        raise ValueError(
            "y with several columns must contain plausibilities of classes, between 0 and 1 with a 1 in every "
            f"row; its values are between {values.min():g} and {values.max():g}, and the smallest maximum of a "
            f"row is {values.max(axis=1).min():g}. For probabilities, pass CredalPartition.from_fuzzy(y)."
        )
    return CredalPartition.from_possibilistic(values)


def _check_classes(n_classes: int, name: str) -> None:
    if n_classes < 2:
        raise ValueError(f"{name} requires labels of at least 2 classes, but y has {n_classes} class.")


def singletons_and_frame(labels: Labels) -> FocalSets:
    """Return the focal sets of a classifier with crisp labels."""
    return FocalSets.simple(labels.names)
