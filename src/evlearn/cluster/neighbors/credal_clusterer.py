"""CredalClusterer: masses for the result of any clusterer."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from evlearn.belief import FocalSets
from evlearn.blocks.open import needs_blocks
from evlearn.cluster.base import with_seed, without_files
from evlearn.cluster.neighbors.support_model import SupportModel, labels_of, with_labels
from evlearn.cluster.row_clusterer import RowwiseClusterer
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import fitted_partition, memberships_of
from evlearn.storage import fields
from evlearn.utils.convergence import atomic_fit
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.typing import ClustererLike, FloatArray, IntArray, NumbersLike, RandomSeed
from evlearn.utils.validation import check_integer, check_no_extreme_rows, check_range, check_real


@fields.stored
class CredalClusterer(RowwiseClusterer):
    """Doubt for any clusterer: which of its labels are sure, and what its noise is.

    A sample is sure if the clusterer has put its nearest neighbors in one cluster, and if it resembles the mean of
    this cluster. It is torn if its neighbors are in several clusters, or if it resembles none; and it is an
    outlier if it is much farther from its neighbors than these are from theirs. Noise of HDBSCAN or DBSCAN is a
    member of a cluster, torn or an outlier, too. Clustered samples keep their labels.

    Predictions do not need the clusterer, which may be unable to predict, and is not part of a model file.

    Missing values (NaN) are accepted: the clusterer is fitted to completed samples, and samples with missing
    values have additional mass on the set of all clusters.

    Parameters
    ----------
    clusterer : estimator or array-like
        Clusterer, of which a clone is fitted; or a fitted one, whose result for the samples is used. Or a result:
        labels of shape (n_samples,), in which negative numbers are noise, such as the topics of BERTopic; or
        probabilities of shape (n_samples, n_clusters), in which the sum of a row may be less than 1.
    outlier_share : float or None, default=None
        Share of the training samples, from 0 to 0.5, that are labeled -1 because they are farthest from their
        neighbors, relative to the distances of these; new samples at least as far are labeled -1, too. None:
        outliers are farther than nearly all samples, and are labeled by their most plausible cluster.
    n_neighbors : int, default=10
        Number of neighbors.
    n_landmarks : int, default=5000
        Maximum number of samples among which neighbors are searched. From more samples, the same share of each
        cluster is drawn.
    random_state : int, RandomState instance or None, default=None
        Seed for the landmarks, and for a clusterer without a seed.
    n_jobs : int or None, default=None
        Number of threads for the neighbor search. The result does not depend on it.

    Attributes
    ----------
    credal_partition_ : CredalPartition
        Result.
    labels_ : ndarray of int of shape (n_samples,)
        Cluster of each sample; -1 for outliers if `outlier_share` is given. If the labels of the clusterer are not
        0, 1, 2, ..., they are names of the clusters, and these are their positions in ascending order.
    probabilities_ : ndarray of shape (n_samples, n_clusters)
        Probabilities of the clusters, which sum to 1, as from `predict_proba`.
    masses_ : ndarray of shape (n_samples, n_clusters + 2)
        Masses, read-only.
    focal_sets_ : FocalSets
        Sets of the columns of the masses: the empty set, single clusters, and the set of all clusters.
    clusterer_ : estimator
        Fitted clusterer, if `clusterer` is one.
    n_clusters_ : int
        Number of clusters.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X has any.

    See Also
    --------
    evlearn.ensemble.CredalEnsemble : Doubt by disagreement of several clusterers.
    evlearn.conformal.ConformalClusterer : Doubt by fits to parts of the data, with guaranteed coverage.
    evlearn.CredalPartition.from_fuzzy : Probabilities as masses, without the samples.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import HDBSCAN
    >>> from evlearn.cluster import CredalClusterer
    >>> left, right = np.random.default_rng(0).normal(
    ...     [[[-2, 0]], [[2, 0]]], 0.8, size=(2, 100, 2)
    ... )
    >>> X = np.vstack([left, right, [[0, 0], [0, 40]]])
    >>> model = CredalClusterer(HDBSCAN(min_cluster_size=20, copy=True)).fit(X)
    >>> model.clusterer_.labels_[-2:]
    array([-1, -1])
    >>> print(*model.credal_partition_.verdict().labels()[-2:])
    Ω outlier
    """

    _model: fields.Stored[SupportModel]
    n_clusters_: fields.StoredIfSet[fields.PositiveCount]

    _takes_gaps = True

    def __init__(
        self,
        clusterer: ClustererLike | NumbersLike,
        outlier_share: float | None = None,
        *,
        n_neighbors: int = 10,
        n_landmarks: int = 5000,
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
    ) -> None:
        self.clusterer: Any = clusterer
        self.outlier_share = outlier_share
        self.n_neighbors = n_neighbors
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.n_jobs = n_jobs

    @atomic_fit
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Fit the clusterer unless it is fitted, and compute the masses of its result.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples; for a fitted clusterer or a result, the samples that it is about.
        y : None, default=None
            Not used; present for API consistency.

        Returns
        -------
        CredalClusterer
            Fitted estimator.
        """
        self._check_parameters()
        if needs_blocks(X):
            raise ValueError(
                f"CredalClusterer needs data in memory, but X is {type(X).__name__}; use an array or a frame."
            )
        random = check_random_state(self.random_state)
        with one_blas_thread(), self._open_rows(X, reset=True) as rows:
            complete: Any = self._without_gaps(rows, 1)
            data = np.asarray(complete.read_rows(0, len(rows)), dtype=np.float64)
            check_range("X", data, fitting=True)
            partition = self._cluster(data, random)
            supports = partition.to_fuzzy("pignistic") * (1 - partition.mass_table[:, 0][:, None])
            labels = labels_of(supports)
            landmarks = _draw(labels, self.n_landmarks, random)
            focal_sets = FocalSets.simple(partition.focal_sets.names or partition.n_clusters)
            model = SupportModel.of(
                data[landmarks],
                supports[landmarks],
                self.n_neighbors,
                focal_sets=focal_sets,
                n_jobs=self.n_jobs,
            )
            if self.outlier_share is not None:
                model = model.with_share(data, self.outlier_share, self.n_jobs)
            self._model, self.focal_sets_ = model, focal_sets
            self.n_clusters_ = focal_sets.frame_size
            self._check_evidence(len(data), self.n_clusters_)
            masses = with_labels(self._masses(rows, None).masses, labels)
            self._publish(CredalPartition(masses, focal_sets, validate=False))
            self.labels_ = self.credal_partition_.to_hard(outlier_label=self._outlier_label).astype(np.intp)
            self._learn_gaps_of(rows, self.n_clusters_)
        self._name_samples(X)
        return self

    @property
    def _outlier_label(self) -> int | None:  # type: ignore[override]
        return None if self.outlier_share is None else -1

    def _check_parameters(self) -> None:
        if isinstance(self.clusterer, Pipeline):
            raise ValueError(
                "clusterer must not be a pipeline, because neighbors are searched after the transformers; put "
                "CredalClusterer at the end of the pipeline: make_pipeline(*transformers, CredalClusterer(...))."
            )
        if self.outlier_share is not None:
            check_real("outlier_share", self.outlier_share, 0, 0.5)
        check_integer("n_neighbors", self.n_neighbors, 1)
        check_integer("n_landmarks", self.n_landmarks, 2)

    def _cluster(self, data: FloatArray, random: np.random.RandomState) -> CredalPartition:
        """Return the result of the clusterer for the samples; noise has its mass on the empty set."""
        self.__dict__.pop("clusterer_", None)
        result: Any = self.clusterer
        if hasattr(result, "fit") or hasattr(result, "labels_"):
            if isinstance(result, type):
                raise ValueError(f"clusterer must be an estimator and not a class; use {result.__name__}().")
            if not _is_fitted(result):
                check_no_extreme_rows("X", data)  # most clusterers have no outliers
                result = with_seed(without_files(clone(result)), random).fit(data)
            self.clusterer_ = result
            has_masses = hasattr(result, "predict_mass") or hasattr(result, "predict_proba")
            result = fitted_partition(result, data) if has_masses else getattr(result, "labels_", result)
        if not isinstance(result, CredalPartition):
            result = _partition_of(result)
        if len(result) != len(data):
            raise ValueError(
                f"clusterer has a result for {len(result)} samples, but X has {len(data)}; pass these samples, or "
                "an unfitted clusterer."
            )
        partition: CredalPartition = result
        return partition


def _is_fitted(clusterer: Any) -> bool:
    if hasattr(clusterer, "labels_"):
        return True
    try:
        check_is_fitted(clusterer)
    except (TypeError, ValueError):  # NotFittedError is a ValueError
        return False
    return True


def _partition_of(result: Any) -> CredalPartition:
    """Return labels or probabilities as a partition."""
    values = np.asarray(result.toarray() if issparse(result) else result)
    if values.ndim == 2:
        if not np.asarray(values > 0).any():
            raise ValueError("clusterer has no positive probability; pass probabilities of clusters, or labels.")
        return CredalPartition.from_fuzzy(values)
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise ValueError(
            "clusterer must be a clusterer, integer labels of shape (n_samples,) with noise below 0, or "
            f"probabilities of shape (n_samples, n_clusters); got {result!r}."
        )
    labels = np.where(values < 0, -1, values)
    present = np.unique(labels[labels >= 0])
    if not len(present):
        raise ValueError("clusterer labels all samples as noise; change its parameters.")
    names = None if np.array_equal(present, np.arange(len(present))) else [str(label) for label in present]
    return CredalPartition.from_fuzzy(memberships_of(labels, labels), cluster_names=names)


def _draw(labels: IntArray, number: int, random: np.random.RandomState) -> IntArray:
    """Return numbers of landmarks: all, or the same share of each cluster and of noise."""
    if len(labels) <= number:
        return np.arange(len(labels))
    order = random.permutation(len(labels))
    by_cluster = order[np.argsort(labels[order], kind="stable")]
    places = np.linspace(0, len(labels) - 1, number).round().astype(np.intp)
    return np.sort(by_cluster[places])
