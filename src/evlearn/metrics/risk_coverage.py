"""Whether doubt finds errors: risk-coverage curves, and the areas under them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evlearn.utils.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class RiskCoverageCurve:
    """The errors that are left when only the samples of least doubt are kept.

    Attributes
    ----------
    coverage : ndarray of shape (n_points,)
        The share of samples that are kept, ascending; the last is 1.
    risk : ndarray of shape (n_points,)
        The share of errors among the samples that are kept.
    generalized_risk : ndarray of shape (n_points,)
        Errors that are kept as a share of all samples: the risk times the coverage. It never falls.
    threshold : ndarray of shape (n_points,)
        The largest doubt that is kept, ascending.
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
    """How errors grow when samples of more and more doubt are kept.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true classes.
    y_pred : array-like of shape (n_samples,)
        The predicted classes. For clusters, see `majority_classes`.
    doubt : array-like of shape (n_samples,)
        The doubt about each prediction: any number that is larger for those more likely to be wrong, such as one
        minus the largest probability.
    sample_weight : array-like of shape (n_samples,), default=None
        How many times each sample counts; None is once.

    Returns
    -------
    RiskCoverageCurve
        A point for each different doubt; samples of equal doubt are kept together.

    See Also
    --------
    aurc_score, augrc_score : The area under the curve, in one number.

    Examples
    --------
    >>> from evlearn.metrics import risk_coverage_curve
    >>> curve = risk_coverage_curve([0, 1, 1, 0], [0, 1, 0, 1], doubt=[0.1, 0.2, 0.7, 0.4])
    >>> curve.coverage, curve.risk.round(2)
    (array([0.25, 0.5 , 0.75, 1.  ]), array([0.  , 0.  , 0.33, 0.5 ]))
    """
    wrong, scores, weights = _read(y_true, y_pred, doubt, sample_weight)
    thresholds, places = np.unique(scores, return_inverse=True)
    kept = np.bincount(places, weights).cumsum()
    errors = np.bincount(places, weights * wrong).cumsum()
    return RiskCoverageCurve(kept / kept[-1], errors / kept, errors / kept[-1], thresholds)


def aurc_score(
    y_true: npt.ArrayLike,
    y_pred: npt.ArrayLike,
    doubt: npt.ArrayLike,
    *,
    normalize: bool = False,
    sample_weight: npt.ArrayLike | None = None,
) -> float:
    r"""The area under the risk-coverage curve: the mean error rate over all shares of samples that may be kept.

    Smaller is better. It depends on the order of the doubts only.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true classes.
    y_pred : array-like of shape (n_samples,)
        The predicted classes. For clusters, see `majority_classes`.
    doubt : array-like of shape (n_samples,)
        The doubt about each prediction, larger where an error is likelier.
    normalize : bool, default=False
        Whether to put it on a scale on which 0 is the best order, all errors last, and 1 a random one. Then it is
        NaN if all predictions are right, or all wrong, because every order is as good.
    sample_weight : array-like of shape (n_samples,), default=None
        How many times each sample counts; None is once.

    Returns
    -------
    float
        The area.

    See Also
    --------
    augrc_score : The area that gives every error the same weight.
    risk_coverage_curve : The curve itself.

    Notes
    -----
    With G(c) the errors among the share c of least doubt, as a share of all samples, it is the integral of
    ``G(c) / c`` from 0 to 1, in closed form. Among samples of equal doubt G is a straight line, its expected value
    over their orders. So a random order, or the same doubt for all, has the error rate e, and the best order has
    ``e + (1 - e) * ln(1 - e)``, see Geifman et al. (2019). Repeating every sample changes nothing. The mean of the
    risks after each sample, which is often taken for the area, comes to the same for many samples.

    Examples
    --------
    >>> from evlearn.metrics import aurc_score
    >>> truth, said = [0, 1, 1, 0], [0, 1, 0, 1]
    >>> round(aurc_score(truth, said, doubt=[0.1, 0.2, 0.7, 0.4]), 3)
    0.153
    >>> round(aurc_score(truth, said, doubt=[0.1, 0.7, 0.2, 0.4], normalize=True), 2)
    0.62
    >>> aurc_score(truth, said, doubt=[0.5, 0.5, 0.5, 0.5])
    0.5
    """
    curve = risk_coverage_curve(y_true, y_pred, doubt, sample_weight=sample_weight)
    ends, kept = curve.coverage, curve.generalized_risk
    starts, before = np.append(0.0, ends[:-1]), np.append(0.0, kept[:-1])
    widths = ends - starts
    slopes = (kept - before) / widths
    # The integral of (before + slope (c - start)) / c; the first piece has no logarithm, for it begins at 0.
    logarithms = np.log(ends[1:] / starts[1:])
    area = float((slopes * widths).sum() + ((before - slopes * starts)[1:] * logarithms).sum())
    error = float(kept[-1])
    best = error + (1 - error) * float(np.log1p(-error)) if error < 1 else 1.0
    return _normalized(area, best, error) if normalize else area


def augrc_score(
    y_true: npt.ArrayLike,
    y_pred: npt.ArrayLike,
    doubt: npt.ArrayLike,
    *,
    normalize: bool = False,
    sample_weight: npt.ArrayLike | None = None,
) -> float:
    r"""The area under the generalized risk-coverage curve: the mean share of errors that pass unnoticed.

    Smaller is better. It depends on the order of the doubts only.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true classes.
    y_pred : array-like of shape (n_samples,)
        The predicted classes. For clusters, see `majority_classes`.
    doubt : array-like of shape (n_samples,)
        The doubt about each prediction, larger where an error is likelier.
    normalize : bool, default=False
        Whether to put it on a scale on which 0 is the best order, all errors last, and 1 a random one. Then it is
        NaN if all predictions are right, or all wrong, because every order is as good.
    sample_weight : array-like of shape (n_samples,), default=None
        How many times each sample counts; None is once.

    Returns
    -------
    float
        The area.

    See Also
    --------
    aurc_score : The area in which errors of the least doubt weigh most.
    risk_coverage_curve : The curve itself.

    Notes
    -----
    The generalized risk is the share of samples that are kept *and* wrong; the selective risk of `aurc_score` is
    the share of errors among those that are kept, so that one error of little doubt counts for much, see
    Traub et al. (2024). With the error rate e and the area A under the ROC curve of the doubt as a detector of
    errors, it is ``e * (1 - e) * (1 - A) + e**2 / 2``: a random order has ``e / 2``, the best one ``e**2 / 2``,
    and on the normalized scale it is ``2 * (1 - A)``. Samples of equal doubt count with the expected value over
    their orders.

    Examples
    --------
    >>> from evlearn.metrics import augrc_score
    >>> truth, said = [0, 1, 1, 0], [0, 1, 0, 1]
    >>> augrc_score(truth, said, doubt=[0.1, 0.2, 0.7, 0.4])
    0.125
    >>> augrc_score(truth, said, doubt=[0.5, 0.5, 0.5, 0.5])
    0.25
    """
    curve = risk_coverage_curve(y_true, y_pred, doubt, sample_weight=sample_weight)
    ends, kept = np.append(0.0, curve.coverage), np.append(0.0, curve.generalized_risk)
    area = float(((kept[1:] + kept[:-1]) / 2 * np.diff(ends)).sum())
    error = float(kept[-1])
    return _normalized(area, error**2 / 2, error / 2) if normalize else area


def majority_classes(y_true: npt.ArrayLike, labels: npt.ArrayLike) -> npt.NDArray[Any]:
    """The class that most samples of each sample's cluster have: labels of clusters as predicted classes.

    The metrics of classifiers then take them. A sample is wrong if its class is not that of the majority of its
    cluster. This needs no pairing of clusters with classes, so that there may be more of the ones than of the
    others, and one cluster more or less does not make errors elsewhere. Many clusters flatter: where each sample
    has its own, none is wrong.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true classes.
    labels : array-like of shape (n_samples,)
        The clusters. Noise, -1, is a cluster like any other.

    Returns
    -------
    ndarray of shape (n_samples,)
        Classes; of two that are equally frequent, the first in sorted order.

    Examples
    --------
    >>> from evlearn.metrics import majority_classes
    >>> majority_classes(["ash", "ash", "oak", "oak"], [1, 1, 1, 0])
    array(['ash', 'ash', 'ash', 'oak'], dtype='<U3')
    """
    truth, said = np.asarray(y_true), np.asarray(labels)
    if truth.shape != said.shape or truth.ndim != 1 or not truth.size:
        raise ValueError(
            f"y_true and labels must have one entry for each sample, got shapes {truth.shape} and {said.shape}."
        )
    classes, codes = np.unique(truth, return_inverse=True)
    clusters = np.unique(said, return_inverse=True)[1]
    return np.asarray(classes[majorities(codes, clusters)[clusters]])


def majorities(codes: IntArray, clusters: IntArray, n_clusters: int = 0) -> IntArray:
    """The most frequent class of each cluster."""
    shape = max(n_clusters, int(clusters.max()) + 1), int(codes.max()) + 1
    counts = np.bincount(clusters * shape[1] + codes, minlength=shape[0] * shape[1])
    return np.asarray(counts.reshape(shape).argmax(axis=1))


def _read(y_true: Any, y_pred: Any, doubt: Any, sample_weight: Any) -> tuple[BoolArray, FloatArray, FloatArray]:
    """Who is wrong, doubts, and weights; samples of no weight are left out."""
    truth, said, scores = np.asarray(y_true), np.asarray(y_pred), np.asarray(doubt, dtype=float)
    weights = np.ones(truth.shape) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    if not (truth.shape == said.shape == scores.shape == weights.shape and truth.ndim == 1 and truth.size):
        raise ValueError(
            "y_true, y_pred, doubt and sample_weight must have one entry for each sample, got shapes "
            f"{truth.shape}, {said.shape}, {scores.shape} and {weights.shape}."
        )
    if np.isnan(scores).any():
        raise ValueError("doubt has NaN; give a number for each sample.")
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise ValueError("sample_weight must be finite, at least 0, and more than 0 for some samples.")
    counted = weights > 0
    return (truth != said)[counted], scores[counted], weights[counted]


def _normalized(area: float, best: float, random: float) -> float:
    return (area - best) / (random - best) if random > best else float("nan")
