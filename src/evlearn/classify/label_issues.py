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
from evlearn.classify.confusions import prior_matrix
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
WRONG, AMBIGUOUS, NO_CLASS = "wrong label", "ambiguous", "no class"
_FOLDS = 5
#: Probability that is added to each class, because a forest with small leaves may return 0.
_FLOOR = 0.01
#: Weight of the prior confusion matrix, in labels per class.
_PRIOR_LABELS = 5.0
_MAX_STEPS, _TOLERANCE = 200, 1e-6
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
    given : tuple of str
        Given class of each sample, or the set of its given classes.
    kinds : ndarray of str of shape (n_issues,)
        "wrong label", "ambiguous" or "no class".
    scores : ndarray of shape (n_issues,)
        Probabilities that the given labels are wrong.
    partition : CredalPartition
        Mass functions of the true classes of these samples, in the same order.
    n_samples : int
        Number of all samples.
    expected_errors : float
        Expected number of wrong labels: the sum of the scores of all samples.
    """

    samples: IntArray
    given: tuple[str, ...]
    kinds: npt.NDArray[Any]
    scores: FloatArray
    partition: CredalPartition
    n_samples: int
    expected_errors: float

    def __len__(self) -> int:
        return len(self.samples)

    @property
    def suggestions(self) -> tuple[str, ...]:
        """Most plausible class; the candidates of ambiguous samples, such as ``{a,b}``; "" for "no class"."""
        names = self.partition.cluster_names
        best, texts = self.partition.to_hard(), self.partition.verdict().labels(names)
        return tuple(
            {WRONG: names[label], AMBIGUOUS: text, NO_CLASS: ""}[kind]
            for kind, label, text in zip(self.kinds, best, texts, strict=True)
        )

    def to_frame(self) -> Any:
        """Return the issues as a table.

        Returns
        -------
        pandas.DataFrame
            A row for each issue, with the number of the sample, its given class, the suggestion, the kind and the
            score. The index contains the names of the samples, if X has names.
        """
        import pandas as pd

        columns = {
            "sample": self.samples,
            "given": list(self.given),
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

    Each sample is compared with classifiers that are fitted without it. A *wrong label* contradicts the evidence
    for another class, which is suggested. An *ambiguous* sample has several plausible classes. A sample of *no
    class* is far from all others.

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
        are more probably wrong than right.

    Returns
    -------
    LabelIssues
        Samples in decreasing order of the probability that their labels are wrong.

    See Also
    --------
    evlearn.active.review_queue : Tasks for annotators, from the issues, also for Label Studio.
    Annotations : Labels from several annotators.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from evlearn.classify import find_label_issues
    >>> X, y = load_iris(return_X_y=True)
    >>> y[[3, 90]] = 2
    >>> forest = RandomForestClassifier(50, min_samples_leaf=3, random_state=0)
    >>> issues = find_label_issues(forest, X, y, budget=2)
    >>> print(issues.to_frame()[["sample", "given", "suggestion", "kind"]])
       sample given suggestion         kind
    0       3     2          0  wrong label
    1      90     2          1  wrong label
    """
    _check_estimator(estimator)
    check_not_container(X)
    data = X if hasattr(X, "iloc") or issparse(X) else np.asarray(X)
    check_same_samples(y, data)
    labels = read_labels(y, data, "find_label_issues")
    if labels.codes is None and not predicts_masses(estimator):
        raise ValueError(
            "y contains soft labels, which only evidential classifiers accept; pass an evidential classifier."
        )
    contours = labels.plausibilities()
    probabilities = _out_of_fold(estimator, data, labels, contours)
    posterior = _combine(probabilities, contours)
    empty = _empty_masses(estimator, data, labels)
    masses = CredalPartition.from_fuzzy(posterior * (1 - empty)[:, None], cluster_names=labels.names)
    partition = with_names_of(X, of_classes(masses))
    scores = 1 - (1 - empty) * (posterior * contours).sum(axis=1)
    n_listed = read_budget(budget, len(scores), int((scores > 0.5).sum()))
    order = np.lexsort((np.arange(len(scores)), -scores))[:n_listed]
    listed = partition[order]
    return LabelIssues(
        samples=order,
        given=_given(labels, order),
        kinds=_kinds(listed),
        scores=scores[order],
        partition=listed,
        n_samples=len(scores),
        expected_errors=float(scores.sum()),
    )


def _check_estimator(estimator: Any) -> None:
    if not (predicts_masses(estimator) or hasattr(split_pipeline(estimator)[1], "predict_proba")):
        raise TypeError(
            f"estimator must have predict_mass or predict_proba, got {estimator!r}; use another classifier, or wrap "
            "it in sklearn.calibration.CalibratedClassifierCV."
        )


def _out_of_fold(estimator: Any, X: Any, labels: Labels, contours: FloatArray) -> FloatArray:
    """Return probabilities of the classes, by classifiers that are fitted without the sample.

    A second round is fitted without the samples whose labels the first round contradicts.
    """
    folds = list(_folds(contours))
    reliable = np.ones(len(contours), dtype=bool)
    first = _predictions(estimator, X, labels, folds, reliable)
    given = (first * contours).max(axis=1)
    return _predictions(estimator, X, labels, folds, given >= first.max(axis=1))


def _folds(contours: FloatArray) -> Iterator[tuple[IntArray, IntArray]]:
    best = contours.argmax(axis=1)
    smallest = np.bincount(best)[np.unique(best)].min()
    splitter, max_folds = (KFold, len(best)) if smallest < 2 else (StratifiedKFold, int(smallest))
    yield from splitter(min(_FOLDS, max_folds), shuffle=True, random_state=0).split(best[:, None], best)


def _predictions(
    estimator: Any, X: Any, labels: Labels, folds: list[tuple[IntArray, IntArray]], reliable: BoolArray
) -> FloatArray:
    """Return predicted probabilities of each fold, by classifiers that are fitted to reliable samples of the others."""
    probabilities: FloatArray = np.zeros((len(reliable), len(labels.classes)))
    for train, test in folds:
        selected = train[reliable[train]]
        targets, names = _targets(labels, selected), labels.names
        if labels.codes is not None and len(np.unique(targets)) < 2:
            selected = train
            targets = _targets(labels, train)
        fitted = clone(estimator).fit(select_rows(X, selected), targets)
        partition = predicted_partition(fitted, select_rows(X, test))
        known = [names.index(str(name)) for name in split_pipeline(fitted)[1].classes_]
        probabilities[np.ix_(test, known)] = partition.to_fuzzy()
    probabilities += _FLOOR
    return probabilities / probabilities.sum(axis=1, keepdims=True)


def _targets(labels: Labels, rows: IntArray) -> Any:
    if labels.codes is not None:
        return labels.classes[labels.codes[rows]]
    assert labels.partition is not None
    return labels.partition[rows]


def _combine(probabilities: FloatArray, contours: FloatArray) -> FloatArray:
    """Return the probabilities of true classes, given the out-of-fold probabilities and the given labels.

    The given labels are answers of an annotator, whose confusion matrix maximizes their likelihood.
    """
    prior = _PRIOR_LABELS * prior_matrix(contours.shape[1])
    matrix = prior / prior.sum(axis=1, keepdims=True)
    for _ in range(_MAX_STEPS):
        likelihoods = contours @ matrix.T
        posterior = probabilities * likelihoods
        posterior /= posterior.sum(axis=1, keepdims=True)
        counts = prior + matrix * ((posterior / likelihoods).T @ contours)
        previous, matrix = matrix, counts / counts.sum(axis=1, keepdims=True)
        if np.abs(matrix - previous).max() < _TOLERANCE:
            break
    return np.asarray(posterior)


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


def _kinds(partition: CredalPartition) -> npt.NDArray[Any]:
    verdict = partition.verdict()
    return np.select([verdict.outlier, verdict.torn], [NO_CLASS, AMBIGUOUS], WRONG).astype(object)


def _given(labels: Labels, samples: IntArray) -> tuple[str, ...]:
    if labels.codes is not None:
        return tuple(labels.names[code] for code in labels.codes[samples])
    assert labels.partition is not None
    candidates = labels.partition[samples].verdict().candidates
    return tuple(
        labels.names[row.argmax()] if row.sum() == 1 else format_set(row, tuple(labels.names)) for row in candidates
    )
