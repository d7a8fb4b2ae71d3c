"""Metrics of set-valued decisions: accuracy of predicted sets, and errors of sure, torn and outlying samples."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from evlearn.belief.decision import make_utility
from evlearn.metrics.risk_coverage import majorities
from evlearn.partition import SURE_LEVEL, CredalPartition
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


@dataclass(frozen=True)
class VerdictErrors:
    """Numbers and error rates of sure samples, torn samples and outliers. Prints as a table.

    Attributes
    ----------
    n_sure : int
        Number of sure samples.
    n_torn : int
        Number of torn samples.
    n_outliers : int
        Number of outliers.
    sure_error : float
        Share of errors among sure samples, by the most plausible cluster or class; NaN if there are none.
    torn_error : float
        Share of errors among torn samples, computed in the same way.
    outlier_error : float
        Share of errors among outliers, computed in the same way.
    torn_covered : float
        Share of torn samples with the right cluster or class among their candidates; NaN if no sample is torn.
    """

    n_sure: int
    n_torn: int
    n_outliers: int
    sure_error: float
    torn_error: float
    outlier_error: float
    torn_covered: float

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.n_sure + self.n_torn + self.n_outliers

    def __str__(self) -> str:
        rows = [
            ("sure", self.n_sure, self.sure_error, ""),
            ("torn", self.n_torn, self.torn_error, f"   {_percent(self.torn_covered)} with the right candidate"),
            ("outliers", self.n_outliers, self.outlier_error, ""),
        ]
        lines = [f"{self.n_samples} samples".ljust(19) + f"{'share':>9}{'wrong':>9}"]
        for name, count, error, note in rows:
            share = _percent(count / self.n_samples)
            lines.append(f"  {name:<9}{count:>8}{share:>9}{_percent(error):>9}{note if count else ''}".rstrip())
        return "\n".join(lines)

    __repr__ = __str__


def errors_by_verdict(
    y_true: npt.ArrayLike,
    partition: CredalPartition,
    *,
    classes: npt.ArrayLike | None = None,
    level: float = SURE_LEVEL,
) -> VerdictErrors:
    """Compute the error rates of sure samples, torn samples and outliers.

    A useful doubt gives a much lower error rate for sure samples than for torn samples.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True classes.
    partition : CredalPartition
        ``credal_partition_`` of a clusterer, or result of ``predict_mass``.
    classes : array-like of shape (n_clusters,), default=None
        Classes of the clusters of the partition, the ``classes_`` of a classifier. None means the most frequent
        class of each cluster.
    level : float, default=0.6
        Belief in one cluster from which a sample is sure, see `evlearn.CredalPartition.verdict`.

    Returns
    -------
    VerdictErrors
        Numbers and error rates.

    See Also
    --------
    aurc_score, augrc_score : Quality of the doubt without a verdict.

    Examples
    --------
    >>> from evlearn import CredalPartition
    >>> from evlearn.metrics import errors_by_verdict
    >>> partition = CredalPartition.from_rough([[1, 0]] * 5 + [[1, 1]] * 2 + [[0, 1]] * 3)
    >>> errors_by_verdict([0, 0, 0, 0, 1, 1, 0, 1, 1, 1], partition)
    10 samples             share    wrong
      sure            8   80.0 %   12.5 %
      torn            2   20.0 %   50.0 %   100.0 % with the right candidate
      outliers        0    0.0 %        -
    """
    truth, labels = np.asarray(y_true), partition.to_hard()
    if truth.shape != labels.shape:
        raise ValueError(
            f"y_true must have one entry for each of the {len(labels)} samples of the partition, got shape "
            f"{truth.shape}."
        )
    is_right = _is_right_cluster(truth, labels, partition.n_clusters, classes)
    is_wrong = ~is_right[np.arange(len(truth)), labels]
    verdict = partition.verdict(level)
    sure, torn, outlier = verdict.sure, verdict.torn, verdict.outlier
    return VerdictErrors(
        n_sure=int(sure.sum()),
        n_torn=int(torn.sum()),
        n_outliers=int(outlier.sum()),
        sure_error=_share_of(is_wrong, sure),
        torn_error=_share_of(is_wrong, torn),
        outlier_error=_share_of(is_wrong, outlier),
        torn_covered=_share_of(np.any(is_right & verdict.candidates, axis=1), torn),
    )


def _is_right_cluster(truth: npt.NDArray[Any], labels: IntArray, n_clusters: int, classes: Any) -> BoolArray:
    """Return True for the clusters that represent the class of each sample; an empty cluster represents none."""
    if classes is None:
        all_classes, codes = np.unique(truth, return_inverse=True)
        cluster_classes = all_classes[majorities(codes, labels, n_clusters)]
        is_occupied = np.bincount(labels, minlength=n_clusters) > 0
        return np.asarray((truth[:, np.newaxis] == cluster_classes) & is_occupied)
    column_classes = np.asarray(classes)
    if column_classes.shape != (n_clusters,):
        raise ValueError(
            f"classes must name the {n_clusters} clusters of the partition, got shape {column_classes.shape}."
        )
    return np.asarray(truth[:, np.newaxis] == column_classes)


def _share_of(mask: BoolArray, selection: BoolArray) -> float:
    return float(mask[selection].mean()) if selection.any() else float("nan")


def _percent(share: float) -> str:
    return "-" if np.isnan(share) else f"{100 * share:.1f} %"
