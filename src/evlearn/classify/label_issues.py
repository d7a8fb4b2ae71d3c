"""Samples whose labels are probably wrong, ambiguous, or do not apply."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import NearestNeighbors

from evlearn.belief.notation import format_set
from evlearn.classify.labels import Labels, check_same_samples, read_labels
from evlearn.classify.samples import in_units, usual_values
from evlearn.partition import CredalPartition
from evlearn.partition.credal_partition import of_classes
from evlearn.partition.estimators import (
    n_rows_of,
    predicted_partition,
    predicts_masses,
    split_pipeline,
    with_names_of,
)
from evlearn.utils.reading import select_rows
from evlearn.utils.typing import BoolArray, ClassifierLike, FloatArray, IntArray
from evlearn.utils.validation import check_not_container, read_budget

#: Names of the kinds of issues.
WRONG, AMBIGUOUS, NO_CLASS, NO_ISSUE = "wrong label", "ambiguous", "no class", "no issue"
_FOLDS = 5
#: Probability that is added to those in a score, because a forest with small leaves may return 0.
_FLOOR = 0.05
#: Difference of the probabilities of another class and the given class from which a label is not used for fits.
_CONTRADICTION = 0.4
#: Score from which samples are listed without a budget, and minimum score of samples of no class.
_LEVEL = 0.5
#: Belief in the plausible classes together. Classifiers are sharper without contradicted labels, so the level is
#: above that of verdicts.
_CANDIDATES_LEVEL = 0.7
_NEIGHBOR = 5  # rank of the neighbor whose distance is large for samples of no class
#: Remoteness at which the mass of the empty set begins, and at which it is 1.
_REMOTE, _MOST_REMOTE = 2.0, 3.0
_MAX_EMPTY_MASS = 0.95
#: Minimum spread of logarithms of distances, for example in a regular grid.
_MIN_SPREAD = 0.05


@dataclass(frozen=True)
class LabelIssues:
    """Samples whose labels should be checked, in decreasing order of the score; created by `find_label_issues`.

    Attributes
    ----------
    samples : ndarray of int of shape (n_issues,)
        Numbers of the samples.
    labels : tuple of str
        Given class of each sample, or the set of its given classes.
    suggestions : tuple of str
        Most plausible class of each sample with a wrong label, set of plausible classes of an ambiguous sample,
        such as ``{a,b}``, and "" for no class.
    kinds : ndarray of str of shape (n_issues,)
        "wrong label" if the given class is not among the plausible classes; "ambiguous" if it is one of several;
        "no class" for samples far from all others; "no issue" if only the given class is plausible.
    scores : ndarray of shape (n_issues,)
        Scores from 0 to 1. From 0.5, another class, or none, is more plausible than the given class.
    partition : CredalPartition
        Mass functions of the true classes of these samples, in the same order.
    n_samples : int
        Number of all samples.
    expected_errors : float
        Sum of the scores of all samples. It exceeds the number of wrong labels if the classes overlap.
    """

    samples: IntArray
    labels: tuple[str, ...]
    suggestions: tuple[str, ...]
    kinds: npt.NDArray[Any]
    scores: FloatArray
    partition: CredalPartition
    n_samples: int
    expected_errors: float

    def __len__(self) -> int:
        return len(self.samples)

    def to_frame(self) -> Any:
        """Return the issues as a table.

        Returns
        -------
        pandas.DataFrame
            A row for each issue, with the number of the sample, its label, the suggestion, the kind and the
            score. The index contains the names of the samples, if X has names.
        """
        import pandas as pd

        columns = {
            "sample": self.samples,
            "label": list(self.labels),
            "suggestion": list(self.suggestions),
            "kind": self.kinds,
            "score": self.scores,
        }
        index = self.partition.sample_index
        return pd.DataFrame(columns, index=None if index is None else pd.Index(index))


def find_label_issues(
    estimator: ClassifierLike,
    X: ArrayLike,
    y: ArrayLike | CredalPartition,
    *,
    budget: int | float | None = None,
) -> LabelIssues:
    """Find samples whose labels are probably wrong, ambiguous, or do not apply.

    Each sample is compared with the predictions of classifiers that are fitted without it. The label is *wrong* if
    its class is not plausible; the plausible class is suggested. A sample is *ambiguous* if several classes are
    plausible, and of *no class* if it is far from all others.

    Parameters
    ----------
    estimator : classifier
        Classifier of evlearn or scikit-learn with probabilities, or a pipeline that ends in one. Clones of it are
        fitted.
    X : array-like of shape (n_samples, n_features)
        Samples; a frame is passed to the estimator unchanged.
    y : array-like of shape (n_samples,) or (n_samples, n_classes), or CredalPartition
        Their classes, of any type; plausibilities of the classes; or mass functions, for soft labels, if the
        estimator accepts them.
    budget : int, float or None, default=None
        Number of samples to list or, as a float, their share of all samples. None means all samples whose labels
        have a score of at least 0.5.

    Returns
    -------
    LabelIssues
        Samples in decreasing order of the score.

    See Also
    --------
    evlearn.active.review_queue : Tasks for annotators, from the issues, also for Label Studio.
    Annotations : Labels from several annotators.

    Notes
    -----
    Probabilities are predicted out of fold, in 5 folds, and are means of 2 rounds: classifiers of the second are
    fitted without samples for which, in the first, the probability of another class exceeds that of the given
    class by more than 0.4. With p the probability of the given class and q the largest probability of another
    class, the score is (q + 0.05) / (p + q + 0.1), and at least 0.5 for samples of no class. The plausible classes
    are the candidates of the verdict with ``level=0.7``, see `evlearn.CredalPartition.verdict`. The distance of a
    sample from its fifth neighbor, by numeric features in robust units, determines the mass on the empty set, if
    it is much larger than usual.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from evlearn.classify import find_label_issues
    >>> X, y = load_iris(return_X_y=True)
    >>> y[[3, 90]] = 2
    >>> forest = RandomForestClassifier(50, min_samples_leaf=3, random_state=0)
    >>> issues = find_label_issues(forest, X, y, budget=2)
    >>> print(issues.to_frame()[["sample", "label", "suggestion", "kind"]])
       sample label suggestion         kind
    0       3     2          0  wrong label
    1      90     2          1  wrong label
    """
    _check_estimator(estimator)
    check_not_container(X)
    data: Any = X if hasattr(X, "iloc") or issparse(X) else np.asarray(X)
    check_same_samples(y, data)
    labels = read_labels(y, data, "find_label_issues")
    if labels.codes is None and not predicts_masses(estimator):
        raise ValueError(
            "y contains soft labels, which only evidential classifiers accept; pass an evidential classifier."
        )
    contours = labels.plausibilities()
    probabilities = _out_of_fold(estimator, data, labels, contours)
    empty = _empty_masses(estimator, data, labels)
    masses = CredalPartition.from_fuzzy(probabilities * (1 - empty)[:, None], cluster_names=labels.names)
    partition = with_names_of(X, of_classes(masses))
    of_label, outside = _best_probabilities(probabilities, contours)
    scores = (outside + _FLOOR) / (of_label + outside + 2 * _FLOOR)
    scores = np.where(partition.verdict().outlier, np.maximum(scores, _LEVEL), scores)
    n_listed = read_budget(budget, len(scores), int((scores >= _LEVEL).sum()))
    order = np.lexsort((np.arange(len(scores)), -empty, -scores))[:n_listed]
    candidates = partition[order].verdict(_CANDIDATES_LEVEL).candidates
    kinds = _kinds(candidates, contours[order])
    best = np.eye(len(labels.classes), dtype=bool)[probabilities[order].argmax(axis=1)]
    suggested = np.where((kinds == WRONG)[:, None], best, candidates)
    return LabelIssues(
        samples=order,
        labels=_texts(contours[order] == 1, labels.names),
        suggestions=_texts(suggested, labels.names),
        kinds=kinds,
        scores=scores[order],
        partition=partition[order],
        n_samples=len(scores),
        expected_errors=float(scores.sum()),
    )


def _check_estimator(estimator: Any) -> None:
    if not (predicts_masses(estimator) or hasattr(split_pipeline(estimator)[1], "predict_proba")):
        raise TypeError(
            f"estimator must have predict_mass or predict_proba, got {estimator!r}; use another classifier, or "
            "wrap it in sklearn.calibration.CalibratedClassifierCV."
        )


def _out_of_fold(estimator: Any, X: Any, labels: Labels, contours: FloatArray) -> FloatArray:
    """Return probabilities of the classes, by classifiers that are fitted without the sample.

    They are means of 2 rounds: classifiers of the second are fitted without samples whose labels the first
    contradicts.
    """
    folds = list(_folds(contours))
    first = _predictions(estimator, X, labels, folds, np.ones(len(contours), dtype=bool))
    of_label, outside = _best_probabilities(first, contours)
    second = _predictions(estimator, X, labels, folds, outside - of_label <= _CONTRADICTION)
    return (first + second) / 2


def _best_probabilities(probabilities: FloatArray, contours: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the largest probability of the given classes, and of the other classes, of each sample."""
    return (probabilities * contours).max(axis=1), (probabilities * (1 - contours)).max(axis=1)


def _folds(contours: FloatArray) -> Iterator[tuple[IntArray, IntArray]]:
    best = contours.argmax(axis=1)
    smallest = np.bincount(best)[np.unique(best)].min()
    splitter, max_folds = (KFold, len(best)) if smallest < 2 else (StratifiedKFold, int(smallest))
    yield from splitter(min(_FOLDS, max_folds), shuffle=True, random_state=0).split(best[:, None], best)


def _predictions(
    estimator: Any, X: Any, labels: Labels, folds: list[tuple[IntArray, IntArray]], reliable: BoolArray
) -> FloatArray:
    """Return probabilities of the samples of each fold, by classifiers of the reliable samples of other folds."""
    contours = labels.plausibilities()
    probabilities: FloatArray = np.zeros(contours.shape)
    for train, test in folds:
        selected = train[reliable[train]]
        if len(np.unique(contours[selected].argmax(axis=1))) < 2:  # most labels are contradicted
            selected = train
        fitted = clone(estimator).fit(select_rows(X, selected), _targets(labels, selected))
        partition = predicted_partition(fitted, select_rows(X, test))
        columns = np.array([labels.names.index(str(name)) for name in split_pipeline(fitted)[1].classes_])
        probabilities[np.ix_(test, columns)] = partition.to_fuzzy()
    return probabilities


def _targets(labels: Labels, rows: IntArray) -> Any:
    if labels.codes is not None:
        return labels.classes[labels.codes[rows]]
    assert labels.partition is not None
    return labels.partition[rows]


def _empty_masses(estimator: Any, X: Any, labels: Labels) -> FloatArray:
    """Return the mass of the empty set: large for samples far from all others, relative to usual distances."""
    transformers = split_pipeline(estimator)[0]
    if transformers is not None:
        X = clone(transformers).fit_transform(X, _targets(labels, np.arange(n_rows_of(X))))
    distances = _log_distances(X)
    middle, upper = np.quantile(distances, [0.5, 0.9])
    remoteness = (distances - middle) / max(upper - middle, _MIN_SPREAD)
    return np.asarray(np.clip((remoteness - _REMOTE) / (_MOST_REMOTE - _REMOTE), 0, _MAX_EMPTY_MASS))


def _log_distances(X: Any) -> FloatArray:
    """Return logarithms of the distances between samples and their fifth neighbors, by numeric features."""
    if not issparse(X):
        numbers = np.asarray(X.select_dtypes("number") if hasattr(X, "select_dtypes") else X, dtype=np.float64)
        numbers = numbers[:, ~np.isnan(numbers).all(axis=0)]
        if not numbers.size:
            return np.zeros(len(X))
        complete = np.where(np.isnan(numbers), np.nanmedian(numbers, axis=0), numbers)
        X = in_units(complete, *usual_values(complete))
    n_neighbors = min(_NEIGHBOR, X.shape[0] - 1)
    distances = NearestNeighbors(n_neighbors=n_neighbors).fit(X).kneighbors()[0][:, -1]
    unit = np.median(distances) or distances.max() or 1.0
    return np.asarray(np.log(distances / unit + _MIN_SPREAD))


def _kinds(candidates: BoolArray, contours: FloatArray) -> npt.NDArray[Any]:
    """Return the kinds of issues, by the candidates of the verdict and the plausibilities of given classes."""
    is_given = candidates & (contours > 0)
    conditions = [~candidates.any(axis=1), ~is_given.any(axis=1), (candidates & ~is_given).any(axis=1)]
    return np.select(conditions, [NO_CLASS, WRONG, AMBIGUOUS], NO_ISSUE).astype(object)


def _texts(candidates: BoolArray, names: list[str]) -> tuple[str, ...]:
    """Return sets of classes as text: the name of a single class, "" for none."""
    best = [names[row.argmax()] if row.any() else "" for row in candidates]
    are_sets = candidates.sum(axis=1) > 1
    return tuple(
        format_set(row, tuple(names)) if is_set else text
        for row, is_set, text in zip(candidates, are_sets, best, strict=True)
    )
