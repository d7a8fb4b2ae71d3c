"""Masses of samples that an estimator was not fitted to: each fold is judged by a fit to the others."""

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
    """The mass function of each sample, from a fit to other samples.

    The samples are split into folds, and those of each fold are judged by a clone that was fitted to the others.
    So the masses say how sure the estimator is of samples that it has not seen, and can be compared with labels.

    Parameters
    ----------
    estimator : estimator
        A classifier or clusterer, ours or scikit-learn's, or a pipeline that ends in one. It is not changed.
    X : array-like
        The samples, or dissimilarities between them.
    y : array-like of shape (n_samples,) or None, default=None
        The classes, for classifiers; clusterers get it as well, if it is given.
    cv : int, splitter, iterable of splits or None, default=None
        How to split, as in scikit-learn: None means five folds, stratified for classifiers. Every sample must be
        in one test set.
    groups : array-like of shape (n_samples,) or None, default=None
        Groups of samples that a splitter such as ``GroupKFold`` keeps together.
    params : mapping or None, default=None
        More arguments of ``fit``. Of arrays with a value for each sample a fit gets those of its own samples, and
        of `PairwiseConstraints` those between them.
    n_jobs : int or None, default=None
        How many folds at the same time. The result does not depend on it.

    Returns
    -------
    CredalPartition
        The masses, with the index of a pandas frame. The clusters of all folds have the numbers of a fit to all
        samples, of whose clusters theirs share the most with.

    See Also
    --------
    evlearn.predict_mass : The masses from one fitted estimator.
    evlearn.metrics.risk_coverage_curve : How doubt and errors go together.

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
    known = None if reference is None else fitted_partition(reference, X)
    jobs = [delayed(_judge)(estimator, data, train, test, known) for train, test in splits]
    parts = Parallel(n_jobs=n_jobs)(jobs)
    _check_same([classes for _, classes in parts], "classes")
    _check_same([part.n_clusters for part, _ in parts], "numbers of clusters")
    joined = _joined([part for part, _ in parts])
    order = np.argsort(np.concatenate([test for _, test in splits]), kind="stable")
    return with_names_of(X, joined[order])


class _Data:
    """Samples, labels and what else a fit gets, of which a fold takes its rows."""

    def __init__(self, X: Any, y: Any, params: dict[str, Any], pairwise: bool) -> None:
        self.X = X
        self.y = y
        self.params = params
        self.pairwise = pairwise

    def rows(self, samples: IntArray | None, known: IntArray | None) -> Any:
        """Some samples, all for None; as dissimilarities to those that a fit knows, if these are what X holds."""
        if not self.pairwise:
            return take(self.X, samples)
        every = np.arange(n_samples(self.X))
        matrix = self.X if issparse(self.X) else np.asarray(self.X)
        return matrix[np.ix_(every if samples is None else samples, every if known is None else known)]

    def arguments(self, samples: IntArray | None) -> dict[str, Any]:
        """What `fit` gets besides the samples."""
        found = {name: self._of(value, samples) for name, value in self.params.items()}
        return found if self.y is None else {"y": take(self.y, samples)} | found

    def _of(self, value: Any, samples: IntArray | None) -> Any:
        if samples is None:
            return value
        if isinstance(value, PairwiseConstraints):
            return value.take(samples)
        counted = hasattr(value, "shape") or isinstance(value, (list, tuple))
        return take(value, samples) if counted and n_samples(value) == n_samples(self.X) else value


def take(values: Any, samples: IntArray | None) -> Any:
    """Some rows of an array, a list, a frame or a sparse matrix; all for None."""
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
    found = [(np.asarray(train), np.asarray(test)) for train, test in splits]
    if not np.array_equal(np.sort(np.concatenate([test for _, test in found])), np.arange(total)):
        raise ValueError(
            "cv must put each sample into exactly one test set, so that each has one mass function; use KFold or "
            "StratifiedKFold, or an int."
        )
    return found


def _fitted(estimator: Any, data: _Data, samples: IntArray | None) -> Any:
    return without_files(clone(estimator)).fit(data.rows(samples, samples), **data.arguments(samples))


def _judge(
    estimator: Any, data: _Data, train: IntArray, test: IntArray, reference: CredalPartition | None
) -> tuple[CredalPartition, Any]:
    """What a fit to some samples says of others, and the classes that it knows."""
    model = _fitted(estimator, data, train)
    if reference is None:
        return predicted_partition(model, data.rows(test, train)), list(getattr(model, "classes_", ()))
    everything = predicted_partition(model, data.rows(None, train))
    if everything.n_clusters != reference.n_clusters:
        raise ValueError(
            f"a fit to some of the samples has {everything.n_clusters} clusters, and one to all has "
            f"{reference.n_clusters}; give the estimator their number."
        )
    return align_clusters(everything, reference)[test], []


def _check_same(values: Sequence[Any], what: str) -> None:
    for k, value in enumerate(values):
        if value != values[0]:
            raise ValueError(
                f"the fits have different {what}: {values[0]} in fold 0 and {value} in fold {k}; give fewer "
                "folds, or folds with samples of every class."
            )


def _joined(parts: list[CredalPartition]) -> CredalPartition:
    """Partitions of some samples after another, on the sets of all of them."""
    sets = reduce(lambda one, other: one if one == other else one.with_sets(other), (p.focal_sets for p in parts))
    dtype = np.result_type(*(part.masses.dtype for part in parts))
    masses = np.zeros((sum(map(len, parts)), len(sets)), dtype=dtype)
    start = 0
    for part in parts:
        masses[start : start + len(part), sets.positions(part.focal_sets.membership)] = part.masses
        start += len(part)
    return CredalPartition(masses, sets, validate=False)


__all__ = ["cross_val_mass"]
