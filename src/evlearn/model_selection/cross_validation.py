"""Cross-validated masses: the masses of each fold are predicted by a fit to the other folds."""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv

from evlearn.cluster.base import without_files
from evlearn.constraints import PairwiseConstraints
from evlearn.model_selection.subsamples import is_pairwise, n_samples
from evlearn.partition import CredalPartition, align_clusters
from evlearn.partition.estimators import fitted_partition, predicted_partition, split_pipeline, with_names_of
from evlearn.utils.typing import EstimatorLike, IntArray


def cross_val_mass(
    estimator: EstimatorLike,
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    cv: int | Iterable[Any] | None = None,
    groups: ArrayLike | None = None,
    params: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
) -> CredalPartition:
    """Return the mass function of each sample, predicted by a fit to other samples.

    The samples are split into folds, and the masses of each fold are predicted by a clone that is fitted to the
    other folds. They measure the uncertainty of the estimator for new samples, and can be compared with labels.

    Parameters
    ----------
    estimator : estimator
        Classifier or clusterer of evlearn or scikit-learn, or a pipeline that ends with one. It is not modified.
    X : array-like
        The samples, or dissimilarities between them.
    y : array-like of shape (n_samples,) or None, default=None
        Class labels for classifiers; also passed to clusterers if not None.
    cv : int, splitter, iterable of splits or None, default=None
        Splitting strategy, as in scikit-learn: None uses 5 folds, stratified for classifiers. Each sample must be
        in exactly one test set.
    groups : array-like of shape (n_samples,) or None, default=None
        Groups of samples for splitters such as ``GroupKFold``.
    params : mapping or None, default=None
        Additional arguments of ``fit``. Arrays with a value for each sample and `PairwiseConstraints` are
        restricted to the samples of each fit.
    n_jobs : int or None, default=None
        Number of parallel jobs over folds; see joblib. The result does not depend on it.

    Returns
    -------
    CredalPartition
        The masses, with the index of a pandas frame. The clusters of each fold are matched to those of a fit to
        all samples.

    See Also
    --------
    evlearn.predict_mass : Predict the masses with one fitted estimator.
    evlearn.metrics.risk_coverage_curve : Compute the error rate of the least doubtful samples.

    Examples
    --------
    >>> from evlearn.classify import EvidentialKNNClassifier
    >>> from evlearn.model_selection import cross_val_mass
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> partition = cross_val_mass(EvidentialKNNClassifier(10, alpha=0.3), X, y)
    >>> sure = partition.verdict().sure
    >>> (partition.to_hard() == y)[sure].mean() > (partition.to_hard() == y)[~sure].mean()
    np.True_
    """
    classifies = is_classifier(estimator)
    splits = _read_splits(check_cv(cv, y, classifier=classifies).split(X, y, groups), n_samples(X))
    data = _Data(X, y, dict(params or {}), is_pairwise(split_pipeline(estimator)[1]))
    reference = None if classifies else _fitted(estimator, data, None)
    reference_partition = None if reference is None else fitted_partition(reference, X)
    jobs = [delayed(_fit_and_predict)(estimator, data, train, test, reference_partition) for train, test in splits]
    parts = Parallel(n_jobs=n_jobs)(jobs)
    _check_same([classes for _, classes in parts], "classes")
    _check_same([part.n_clusters for part, _ in parts], "numbers of clusters")
    partition = _concatenate([part for part, _ in parts])
    order = np.argsort(np.concatenate([test for _, test in splits]), kind="stable")
    return with_names_of(X, partition[order])


class _Data:
    """Samples, labels and other arguments of a fit, which can be restricted to a fold."""

    def __init__(self, X: Any, y: Any, params: dict[str, Any], pairwise: bool) -> None:
        self.X = X
        self.y = y
        self.params = params
        self.pairwise = pairwise

    def rows(self, samples: IntArray | None, training: IntArray | None) -> Any:
        """Return some samples, or all for None; dissimilarities are those to the training samples."""
        if not self.pairwise:
            return take(self.X, samples)
        indices = np.arange(n_samples(self.X))
        matrix = self.X if issparse(self.X) else np.asarray(self.X)
        return matrix[np.ix_(indices if samples is None else samples, indices if training is None else training)]

    def arguments(self, samples: IntArray | None) -> dict[str, Any]:
        """Return the other arguments of `fit`."""
        params = {name: self._of(value, samples) for name, value in self.params.items()}
        return params if self.y is None else {"y": take(self.y, samples)} | params

    def _of(self, value: object, samples: IntArray | None) -> Any:
        if samples is None:
            return value
        if isinstance(value, PairwiseConstraints):
            return value.take(samples)
        is_sequence = hasattr(value, "shape") or isinstance(value, (list, tuple))
        return take(value, samples) if is_sequence and n_samples(value) == n_samples(self.X) else value


def take(values: Any, samples: IntArray | None) -> Any:
    """Return some rows of an array, list, frame or sparse matrix, or all for None."""
    if samples is None:
        return values
    if isinstance(values, CredalPartition):
        return values[samples]
    if hasattr(values, "iloc"):
        return values.iloc[samples]
    if issparse(values):
        return values.tocsr()[samples]
    return values[samples] if hasattr(values, "__dataframe__") else np.asarray(values)[samples]


def _read_splits(splits: Iterable[Any], total: int) -> list[tuple[IntArray, IntArray]]:
    pairs = [(np.asarray(train), np.asarray(test)) for train, test in splits]
    if not np.array_equal(np.sort(np.concatenate([test for _, test in pairs])), np.arange(total)):
        raise ValueError(
            "cv must put each sample into exactly one test set, because each sample has one mass function; use "
            "KFold or StratifiedKFold, or an int."
        )
    return pairs


def _fitted(estimator: Any, data: _Data, samples: IntArray | None) -> Any:
    return without_files(clone(estimator)).fit(data.rows(samples, samples), **data.arguments(samples))


def _fit_and_predict(
    estimator: Any, data: _Data, train: IntArray, test: IntArray, reference: CredalPartition | None
) -> tuple[CredalPartition, Any]:
    """Return the masses of test samples from a fit to training samples, and its classes."""
    model = _fitted(estimator, data, train)
    if reference is None:
        return predicted_partition(model, data.rows(test, train)), list(getattr(model, "classes_", ()))
    partition = predicted_partition(model, data.rows(None, train))
    if partition.n_clusters != reference.n_clusters:
        raise ValueError(
            f"a fit to some of the samples has {partition.n_clusters} clusters, but a fit to all has "
            f"{reference.n_clusters}; set the number of clusters of the estimator."
        )
    return align_clusters(partition, reference)[test], []


def _check_same(values: Sequence[Any], name: str) -> None:
    for k, value in enumerate(values):
        if value != values[0]:
            raise ValueError(
                f"the fits have different {name}: {values[0]} in fold 0 and {value} in fold {k}; use fewer "
                "folds, or folds with samples of all classes."
            )


def _concatenate(parts: list[CredalPartition]) -> CredalPartition:
    """Concatenate partitions, on the union of their focal sets."""
    sets = reduce(
        lambda first, second: first if first == second else first.with_sets(second), (p.focal_sets for p in parts)
    )
    dtype = np.result_type(*(part.masses.dtype for part in parts))
    masses = np.zeros((sum(map(len, parts)), len(sets)), dtype=dtype)
    start = 0
    for part in parts:
        masses[start : start + len(part), sets.positions(part.focal_sets.membership)] = part.masses
        start += len(part)
    return CredalPartition(masses, sets, validate=False)
