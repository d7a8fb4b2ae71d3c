"""Metrics of set-valued decisions of classifiers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from evlearn.belief.decision import make_utility
from evlearn.utils.typing import BoolArray, FloatArray, IntArray


def utility_discounted_accuracy(
    y_true: npt.ArrayLike,
    sets: npt.ArrayLike,
    *,
    utility: Literal["u65", "u80", "inverse"] | Callable[[IntArray], FloatArray] = "u65",
    classes: npt.ArrayLike | None = None,
) -> float:
    """Compute the accuracy of set-valued predictions, with smaller utilities for larger sets.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True classes.
    sets : array-like of bool of shape (n_samples, n_classes)
        Predicted sets, as returned by ``predict_set``. An empty set has utility 0.
    utility : {"u65", "u80", "inverse"} or callable, default="u65"
        Utility of a set of r classes that contains the true class: 1.6/r - 0.6/r^2, which is 0.65 for 2 classes;
        2.2/r - 1.2/r^2, which is 0.8 for 2 classes; 1/r, the accuracy of a random choice from the set; or a
        function of the sizes.
    classes : array-like of shape (n_classes,), default=None
        Classes of the columns of `sets`, the ``classes_`` of a classifier. None means the numbers from 0.

    Returns
    -------
    float
        Between 0 and 1. Equal to the accuracy if all sets contain a single class.

    Examples
    --------
    >>> from evlearn.metrics import utility_discounted_accuracy
    >>> utility_discounted_accuracy([0, 1], [[True, False], [True, True]])
    0.825
    """
    is_member, is_covered = _check_sets(y_true, sets, classes)
    sizes = is_member.sum(axis=1)
    utilities = make_utility(utility)(np.maximum(sizes, 1))
    return float(np.where(is_covered, utilities, 0).mean())


@dataclass(frozen=True)
class SetSummary:
    """Summary of set-valued predictions.

    Attributes
    ----------
    coverage : float
        Share of samples whose set contains the true class.
    mean_size : float
        Mean number of classes per set.
    sizes : ndarray of int of shape (n_classes + 1,)
        Numbers of sets with 0, 1, 2 ... classes.
    single_accuracy : float
        Accuracy of the sets with a single class; NaN if there are none.
    """

    coverage: float
    mean_size: float
    sizes: IntArray
    single_accuracy: float


def summarize_sets(
    y_true: npt.ArrayLike, sets: npt.ArrayLike, *, classes: npt.ArrayLike | None = None
) -> SetSummary:
    """Summarize sizes and accuracy of predicted sets.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True classes.
    sets : array-like of bool of shape (n_samples, n_classes)
        Predicted sets, as returned by ``predict_set``.
    classes : array-like of shape (n_classes,), default=None
        Classes of the columns of `sets`, the ``classes_`` of a classifier. None means the numbers from 0.

    Returns
    -------
    SetSummary
        Coverage, sizes, and accuracy of sets with a single class.

    Examples
    --------
    >>> from evlearn.metrics.decisions import summarize_sets
    >>> summarize_sets([0, 1, 1], [[True, False], [True, True], [True, False]])
    SetSummary(coverage=0.666..., mean_size=1.333..., sizes=array([0, 2, 1]),
    single_accuracy=0.5)
    """
    is_member, is_covered = _check_sets(y_true, sets, classes)
    sizes = is_member.sum(axis=1)
    is_single = sizes == 1
    return SetSummary(
        coverage=float(is_covered.mean()),
        mean_size=float(sizes.mean()),
        sizes=np.bincount(sizes, minlength=is_member.shape[1] + 1),
        single_accuracy=float(is_covered[is_single].mean()) if is_single.any() else float("nan"),
    )


def _check_sets(y_true: Any, sets: Any, classes: Any) -> tuple[BoolArray, BoolArray]:
    """Return the sets as an array, and True for sets that contain the true class."""
    truth, is_member = np.asarray(y_true), np.asarray(sets)
    if is_member.ndim != 2 or is_member.dtype != np.bool_ or truth.shape != is_member.shape[:1] or not truth.size:
        raise ValueError(
            "sets must be boolean, with one row per entry of y_true and one column per class; got type "
            f"{is_member.dtype} and shape {is_member.shape} for y_true of shape {truth.shape}."
        )
    columns = np.arange(is_member.shape[1]) if classes is None else np.asarray(classes)
    if columns.shape != is_member.shape[1:]:
        raise ValueError(f"classes must name the {is_member.shape[1]} columns of sets, got shape {columns.shape}.")
    # A class that the classifier was not trained on is in no set.
    return is_member, np.asarray((is_member & (truth[:, None] == columns)).any(axis=1))
