"""How good set-valued decisions of classifiers are."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from evlearn.belief.decision import utility_of_sizes
from evlearn.utils.typing import BoolArray, FloatArray, IntArray


def utility_discounted_accuracy(
    y_true: npt.ArrayLike,
    sets: npt.ArrayLike,
    *,
    utility: Literal["u65", "u80", "inverse"] | Callable[[IntArray], FloatArray] = "u65",
    classes: npt.ArrayLike | None = None,
) -> float:
    """The accuracy of set-valued predictions, where a large right set is worth less than a small one.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true classes.
    sets : array-like of bool of shape (n_samples, n_classes)
        The predicted sets, as from ``predict_set``. An empty set is never right.
    utility : {"u65", "u80", "inverse"} or callable, default="u65"
        The worth of a right set of size r: 1.6/r - 0.6/r^2, which is 0.65 for two classes; 2.2/r - 1.2/r^2, which
        is 0.8; 1/r, which is what a random choice from the set gets; or a function of sizes.
    classes : array-like of shape (n_classes,), default=None
        What the columns of `sets` stand for, the ``classes_`` of a classifier; None for the numbers from 0.

    Returns
    -------
    float
        Between 0 and 1; the plain accuracy if all sets are single classes.

    Examples
    --------
    >>> from evlearn.metrics import utility_discounted_accuracy
    >>> utility_discounted_accuracy([0, 1], [[True, False], [True, True]])
    0.825
    """
    chosen, right = _read(y_true, sets, classes)
    sizes = chosen.sum(axis=1)
    worth = utility_of_sizes(utility)(np.maximum(sizes, 1))
    return float(np.where(right, worth, 0).mean())


@dataclass(frozen=True)
class SetSummary:
    """What set-valued predictions are like.

    Attributes
    ----------
    coverage : float
        The share of samples whose set holds the truth.
    mean_size : float
        The mean number of classes in a set.
    sizes : ndarray of int of shape (n_classes + 1,)
        How many sets have 0, 1, 2 ... classes.
    single_accuracy : float
        The share of right ones among sets of one class; NaN if there are none.
    """

    coverage: float
    mean_size: float
    sizes: IntArray
    single_accuracy: float


def summarize_sets(
    y_true: npt.ArrayLike, sets: npt.ArrayLike, *, classes: npt.ArrayLike | None = None
) -> SetSummary:
    """How large predicted sets are, and how often they hold the truth.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true classes.
    sets : array-like of bool of shape (n_samples, n_classes)
        The predicted sets, as from ``predict_set``.
    classes : array-like of shape (n_classes,), default=None
        What the columns of `sets` stand for, the ``classes_`` of a classifier; None for the numbers from 0.

    Returns
    -------
    SetSummary
        Coverage, sizes, and the accuracy of sets of one class.

    Examples
    --------
    >>> from evlearn.metrics import summarize_sets
    >>> summarize_sets([0, 1, 1], [[True, False], [True, True], [True, False]])
    SetSummary(coverage=0.666..., mean_size=1.333..., sizes=array([0, 2, 1]),
    single_accuracy=0.5)
    """
    chosen, right = _read(y_true, sets, classes)
    sizes = chosen.sum(axis=1)
    single = sizes == 1
    return SetSummary(
        coverage=float(right.mean()),
        mean_size=float(sizes.mean()),
        sizes=np.bincount(sizes, minlength=chosen.shape[1] + 1),
        single_accuracy=float(right[single].mean()) if single.any() else float("nan"),
    )


def _read(y_true: Any, sets: Any, classes: Any) -> tuple[BoolArray, BoolArray]:
    """The sets, and whether each holds the truth."""
    truth, chosen = np.asarray(y_true), np.asarray(sets)
    if chosen.ndim != 2 or chosen.dtype != np.bool_ or truth.shape != chosen.shape[:1] or not truth.size:
        raise ValueError(
            "sets must be true or false, with a row for each entry of y_true and a column for each class; got "
            f"type {chosen.dtype} and shape {chosen.shape} for {truth.shape} true classes."
        )
    columns = np.arange(chosen.shape[1]) if classes is None else np.asarray(classes)
    if columns.shape != chosen.shape[1:]:
        raise ValueError(f"classes must name the {chosen.shape[1]} columns of sets, got shape {columns.shape}.")
    # A true class that the classifier has never seen is in no set.
    return chosen, np.asarray((chosen & (truth[:, None] == columns)).any(axis=1))
