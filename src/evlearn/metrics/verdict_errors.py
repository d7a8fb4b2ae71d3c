"""Whether verdicts are right: errors among sure samples, torn ones and outliers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evlearn.metrics.risk_coverage import majorities
from evlearn.partition import SURE_LEVEL, CredalPartition
from evlearn.utils.typing import BoolArray, IntArray


@dataclass(frozen=True)
class VerdictErrors:
    """How many samples are sure, torn and outliers, and how often they are wrong. Prints as a table.

    Attributes
    ----------
    n_sure : int
        How many samples are sure.
    n_torn : int
        How many samples are torn.
    n_outliers : int
        How many samples are outliers.
    sure_error : float
        The share of errors among the sure, judged by the most plausible cluster or class; NaN if there are none.
    torn_error : float
        The share of errors among the torn, judged in the same way.
    outlier_error : float
        The share of errors among outliers, judged in the same way.
    torn_covered : float
        The share of torn samples for which the right answer is among those they are torn between; NaN if none is
        torn.
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
        """How many samples there are."""
        return self.n_sure + self.n_torn + self.n_outliers

    def __str__(self) -> str:
        rows = [
            ("sure", self.n_sure, self.sure_error, ""),
            ("torn", self.n_torn, self.torn_error, f"   {_percent(self.torn_covered)} hold the right one"),
            ("outliers", self.n_outliers, self.outlier_error, ""),
        ]
        lines = [f"{self.n_samples} samples".ljust(19) + f"{'share':>9}{'wrong':>9}"]
        for name, count, error, more in rows:
            share = _percent(count / self.n_samples)
            lines.append(f"  {name:<9}{count:>8}{share:>9}{_percent(error):>9}{more if count else ''}".rstrip())
        return "\n".join(lines)

    __repr__ = __str__


def errors_by_verdict(
    y_true: npt.ArrayLike,
    partition: CredalPartition,
    *,
    classes: npt.ArrayLike | None = None,
    level: float = SURE_LEVEL,
) -> VerdictErrors:
    """How often sure and torn samples are wrong.

    Sure samples should be wrong much less often than torn ones: that is what doubt is for.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true classes.
    partition : CredalPartition
        The ``credal_partition_`` of a clusterer, or what ``predict_mass`` gave.
    classes : array-like of shape (n_clusters,), default=None
        What the clusters of the partition stand for, the ``classes_`` of a classifier. None means the class that
        most samples of each cluster have, as `majority_classes` does.
    level : float, default=0.6
        The belief that makes sure, see `evlearn.CredalPartition.verdict`.

    Returns
    -------
    VerdictErrors
        Numbers and error rates.

    See Also
    --------
    aurc_score, augrc_score : How well the doubt finds errors, without any verdict.

    Examples
    --------
    >>> from evlearn import CredalPartition
    >>> from evlearn.metrics import errors_by_verdict
    >>> partition = CredalPartition.from_rough([[1, 0]] * 5 + [[1, 1]] * 2 + [[0, 1]] * 3)
    >>> errors_by_verdict([0, 0, 0, 0, 1, 1, 0, 1, 1, 1], partition)
    10 samples             share    wrong
      sure            8   80.0 %   12.5 %
      torn            2   20.0 %   50.0 %   100.0 % hold the right one
      outliers        0    0.0 %        -
    """
    truth, labels = np.asarray(y_true), partition.to_hard()
    if truth.shape != labels.shape:
        raise ValueError(
            f"y_true must have one entry for each of the {len(labels)} samples of the partition, got shape "
            f"{truth.shape}."
        )
    right = _right_clusters(truth, labels, partition.n_clusters, classes)
    wrong = ~right[np.arange(len(truth)), labels]
    verdict = partition.verdict(level)
    sure, torn, outlier = verdict.sure, verdict.torn, verdict.outlier
    return VerdictErrors(
        n_sure=int(sure.sum()),
        n_torn=int(torn.sum()),
        n_outliers=int(outlier.sum()),
        sure_error=_share(wrong, sure),
        torn_error=_share(wrong, torn),
        outlier_error=_share(wrong, outlier),
        torn_covered=_share(np.any(right & verdict.candidates, axis=1), torn),
    )


def _right_clusters(truth: npt.NDArray[Any], labels: IntArray, n_clusters: int, classes: Any) -> BoolArray:
    """Which clusters stand for the class of each sample; an empty one stands for none."""
    if classes is None:
        known, codes = np.unique(truth, return_inverse=True)
        of_clusters = known[majorities(codes, labels, n_clusters)]
        peopled = np.bincount(labels, minlength=n_clusters) > 0
        return np.asarray((truth[:, np.newaxis] == of_clusters) & peopled)
    given = np.asarray(classes)
    if given.shape != (n_clusters,):
        raise ValueError(f"classes must name the {n_clusters} clusters of the partition, got shape {given.shape}.")
    return np.asarray(truth[:, np.newaxis] == given)


def _share(what: BoolArray, among: BoolArray) -> float:
    return float(what[among].mean()) if among.any() else float("nan")


def _percent(share: float) -> str:
    return "-" if np.isnan(share) else f"{100 * share:.1f} %"
