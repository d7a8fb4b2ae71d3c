"""Risk-coverage curves, which show if doubt detects errors, the areas under them, and errors by verdict."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evlearn.partition import SURE_LEVEL, CredalPartition
from evlearn.utils.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class RiskCoverageCurve:
    """Errors among the samples with the least doubt.

    Attributes
    ----------
    coverage : ndarray of shape (n_points,)
        Share of samples that are retained, in ascending order; the last is 1.
    risk : ndarray of shape (n_points,)
        Share of errors among the retained samples.
    generalized_risk : ndarray of shape (n_points,)
        Retained errors as a share of all samples: the risk times the coverage. It never decreases.
    threshold : ndarray of shape (n_points,)
        Largest doubt that is retained, in ascending order.
    """

    coverage: FloatArray
    risk: FloatArray
    generalized_risk: FloatArray
    threshold: FloatArray


def risk_coverage_curve(
    y_true: npt.ArrayLike,
    y_pred: npt.ArrayLike,
    doubt: npt.ArrayLike,
    *,
    sample_weight: npt.ArrayLike | None = None,
) -> RiskCoverageCurve:
    """Compute the error rates among the samples with the least doubt, for all thresholds of doubt.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True classes.
    y_pred : array-like of shape (n_samples,)
        Predicted classes. For clusters, the most frequent class of each cluster.
    doubt : array-like of shape (n_samples,)
        Doubt about each prediction: any score that is larger for likely errors, such as 1 minus the largest
        probability.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each sample. None means 1.

    Returns
    -------
    RiskCoverageCurve
        One point per distinct doubt; samples with equal doubt are retained together.

    See Also
    --------
    aurc_score, augrc_score : Areas under the curve.

    Examples
    --------
    >>> from evlearn.metrics import risk_coverage_curve
    >>> curve = risk_coverage_curve([0, 1, 1, 0], [0, 1, 0, 1], doubt=[0.1, 0.2, 0.7, 0.4])
    >>> curve.coverage, curve.risk.round(2)
    (array([0.25, 0.5 , 0.75, 1.  ]), array([0.  , 0.  , 0.33, 0.5 ]))
    """
    is_wrong, scores, weights = _check_predictions(y_true, y_pred, doubt, sample_weight)
    thresholds, positions = np.unique(scores, return_inverse=True)
    n_retained = np.bincount(positions, weights).cumsum()
    n_errors = np.bincount(positions, weights * is_wrong).cumsum()
    return RiskCoverageCurve(
        n_retained / n_retained[-1], n_errors / n_retained, n_errors / n_retained[-1], thresholds
    )


def aurc_score(
    y_true: npt.ArrayLike,
    y_pred: npt.ArrayLike,
    doubt: npt.ArrayLike,
    *,
    normalize: bool = False,
    sample_weight: npt.ArrayLike | None = None,
) -> float:
    r"""Compute the area under the risk-coverage curve: the mean error rate over all coverages.

    Smaller is better. The area depends only on the order of the doubts.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True classes.
    y_pred : array-like of shape (n_samples,)
        Predicted classes. For clusters, the most frequent class of each cluster.
    doubt : array-like of shape (n_samples,)
        Doubt about each prediction; larger values mean that errors are more likely.
    normalize : bool, default=False
        Whether to scale the area so that 0 is the best order, with all errors last, and 1 a random order. The
        result is NaN if all predictions are correct or all are wrong, because all orders are then equally good.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each sample. None means 1.

    Returns
    -------
    float
        Area.

    See Also
    --------
    augrc_score : Area in which all errors have the same weight.
    risk_coverage_curve : Risk-coverage curve.

    Notes
    -----
    The area is the integral of ``G(c) / c`` from 0 to 1, in closed form, where G(c) is the number of errors among
    the share c of samples with the least doubt, divided by the number of all samples. Among samples with equal
    doubt, G is linear, which is its expected value over their orders. So a random order, or the same doubt for all
    samples, has the area e, the error rate, and the best order has ``e + (1 - e) * ln(1 - e)``, see Geifman et al.
    (2019). The area does not change if all samples are repeated. The mean of the risks after each sample, a common
    definition, has the same limit for many samples.

    Examples
    --------
    >>> from evlearn.metrics import aurc_score
    >>> truth, predictions = [0, 1, 1, 0], [0, 1, 0, 1]
    >>> round(aurc_score(truth, predictions, doubt=[0.1, 0.2, 0.7, 0.4]), 3)
    0.153
    >>> round(aurc_score(truth, predictions, doubt=[0.1, 0.7, 0.2, 0.4], normalize=True), 2)
    0.62
    >>> aurc_score(truth, predictions, doubt=[0.5, 0.5, 0.5, 0.5])
    0.5
    """
    curve = risk_coverage_curve(y_true, y_pred, doubt, sample_weight=sample_weight)
    ends, risks = curve.coverage, curve.generalized_risk
    starts, start_risks = np.append(0.0, ends[:-1]), np.append(0.0, risks[:-1])
    widths = ends - starts
    slopes = (risks - start_risks) / widths
    # Integral of (start_risk + slope (c - start)) / c. The first piece has no logarithm, because it starts at 0.
    logarithms = np.log(ends[1:] / starts[1:])
    area = float((slopes * widths).sum() + ((start_risks - slopes * starts)[1:] * logarithms).sum())
    error = float(risks[-1])
    best = error + (1 - error) * float(np.log1p(-error)) if error < 1 else 1.0
    return _normalize(area, best, error) if normalize else area


def augrc_score(
    y_true: npt.ArrayLike,
    y_pred: npt.ArrayLike,
    doubt: npt.ArrayLike,
    *,
    normalize: bool = False,
    sample_weight: npt.ArrayLike | None = None,
) -> float:
    r"""Compute the area under the generalized risk-coverage curve: the mean share of undetected errors.

    Smaller is better. The area depends only on the order of the doubts.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True classes.
    y_pred : array-like of shape (n_samples,)
        Predicted classes. For clusters, the most frequent class of each cluster.
    doubt : array-like of shape (n_samples,)
        Doubt about each prediction; larger values mean that errors are more likely.
    normalize : bool, default=False
        Whether to scale the area so that 0 is the best order, with all errors last, and 1 a random order. The
        result is NaN if all predictions are correct or all are wrong, because all orders are then equally good.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each sample. None means 1.

    Returns
    -------
    float
        Area.

    See Also
    --------
    aurc_score : Area in which errors with the least doubt have the largest weights.
    risk_coverage_curve : Risk-coverage curve.

    Notes
    -----
    The generalized risk is the share of samples that are retained *and* wrong. The selective risk of `aurc_score`
    is the share of errors among the retained samples, so that a single error with little doubt has a large weight,
    see Traub et al. (2024). With the error rate e and the area A under the ROC curve of the doubt as a detector of
    errors, the area is ``e * (1 - e) * (1 - A) + e**2 / 2``: it is ``e / 2`` for a random order and ``e**2 / 2``
    for the best order, and ``2 * (1 - A)`` after normalization. For samples with equal doubt, it is the expected
    value over their orders.

    Examples
    --------
    >>> from evlearn.metrics import augrc_score
    >>> truth, predictions = [0, 1, 1, 0], [0, 1, 0, 1]
    >>> augrc_score(truth, predictions, doubt=[0.1, 0.2, 0.7, 0.4])
    0.125
    >>> augrc_score(truth, predictions, doubt=[0.5, 0.5, 0.5, 0.5])
    0.25
    """
    curve = risk_coverage_curve(y_true, y_pred, doubt, sample_weight=sample_weight)
    ends, risks = np.append(0.0, curve.coverage), np.append(0.0, curve.generalized_risk)
    area = float(((risks[1:] + risks[:-1]) / 2 * np.diff(ends)).sum())
    error = float(risks[-1])
    return _normalize(area, error**2 / 2, error / 2) if normalize else area


def majority_classes(y_true: npt.ArrayLike, labels: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return the most frequent class of the cluster of each sample, for use as a predicted class.

    Clusters are not matched with classes, so their numbers may differ. Partitions with many clusters have fewer
    errors: with one sample per cluster there are none.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True classes.
    labels : array-like of shape (n_samples,)
        Cluster labels. Noise (-1) is treated as a cluster.

    Returns
    -------
    ndarray of shape (n_samples,)
        Predicted classes. Of equally frequent classes, the first in sorted order is predicted.

    Examples
    --------
    >>> from evlearn.metrics.risk_coverage import majority_classes
    >>> majority_classes(["ash", "ash", "oak", "oak"], [1, 1, 1, 0])
    array(['ash', 'ash', 'ash', 'oak'], dtype='<U3')
    """
    truth, clusters = np.asarray(y_true), np.asarray(labels)
    if truth.shape != clusters.shape or truth.ndim != 1 or not truth.size:
        raise ValueError(
            f"y_true and labels must have one entry for each sample, got shapes {truth.shape} and "
            f"{clusters.shape}."
        )
    classes, codes = np.unique(truth, return_inverse=True)
    cluster_codes = np.unique(clusters, return_inverse=True)[1]
    return np.asarray(classes[majorities(codes, cluster_codes)[cluster_codes]])


def majorities(class_codes: IntArray, cluster_codes: IntArray, n_clusters: int = 0) -> IntArray:
    """Return the most frequent class of each cluster."""
    shape = max(n_clusters, int(cluster_codes.max()) + 1), int(class_codes.max()) + 1
    counts = np.bincount(cluster_codes * shape[1] + class_codes, minlength=shape[0] * shape[1])
    return np.asarray(counts.reshape(shape).argmax(axis=1))


def _check_predictions(
    y_true: Any, y_pred: Any, doubt: Any, sample_weight: Any
) -> tuple[BoolArray, FloatArray, FloatArray]:
    """Return errors, doubts and weights of the samples with positive weights."""
    truth, predictions, scores = np.asarray(y_true), np.asarray(y_pred), np.asarray(doubt, dtype=float)
    weights = np.ones(truth.shape) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    if not (truth.shape == predictions.shape == scores.shape == weights.shape and truth.ndim == 1 and truth.size):
        raise ValueError(
            "y_true, y_pred, doubt and sample_weight must have one entry for each sample, got shapes "
            f"{truth.shape}, {predictions.shape}, {scores.shape} and {weights.shape}."
        )
    if np.isnan(scores).any():
        raise ValueError("doubt contains NaN; pass a number for each sample.")
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise ValueError("sample_weight must be finite and at least 0, with a positive sum.")
    has_weight = weights > 0
    return (truth != predictions)[has_weight], scores[has_weight], weights[has_weight]


def _normalize(area: float, best: float, random_order: float) -> float:
    return (area - best) / (random_order - best) if random_order > best else float("nan")


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
