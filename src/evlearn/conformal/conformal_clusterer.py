"""ConformalClusterer: sets of clusters that hold what a replication would say, as often as one asks for."""

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from evlearn.belief import FocalSets
from evlearn.cluster.base import EvidentialClusterer, read_in_memory
from evlearn.conformal.kinds_of_doubt import KindsOfDoubt
from evlearn.conformal.outliers import Remoteness
from evlearn.conformal.p_values import Scores, contour, nonconformity, shortened
from evlearn.conformal.replication import Calibration, cross_calibrate, split_calibrate
from evlearn.conformal.support import best_clusters
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import reached, split_pipeline, with_names_of
from evlearn.utils.convergence import record_problems, whole_or_nothing
from evlearn.utils.typing import BoolArray, ClustererLike, FloatArray, IntArray, RandomSeed
from evlearn.utils.validation import check_choice, check_integer, check_real

#: The largest number of clusters for which masses have columns for all sets of clusters.
_FEW_CLUSTERS = 6


class ConformalClusterer(EvidentialClusterer):
    """Sets of clusters, around any clusterer, that contain what a replication would say as often as you ask.

    The clusterer is fitted to all samples, and again and again to two random halves of them, whose clusters are
    matched. The label that one half gives to a sample plays the truth for the other half, which has not seen that
    sample. How strange such labels are says which clusters must be in a set, so that it contains the label of a
    replication in 90 % of all cases, or whatever `coverage` asks for.

    A sample with one cluster in its set is sure, one with several is torn between them, and one with none is an
    outlier: it is farther from all others than nearly any sample is.

    Parameters
    ----------
    estimator : estimator
        A clusterer or mixture, ours or scikit-learn's, or a pipeline that ends in one. Clones of it are
        fitted. For clusterers that cannot predict, such as `sklearn.cluster.HDBSCAN`, neighbours speak.
    coverage : float, default=0.9
        How often a set should contain the cluster that a replication gives to a sample; above 0, and below one
        minus `outlier_level`.
    method : {"cross", "split"}, default="cross"
        "cross" uses all samples for everything. "split" fits the clusterer to one third of the samples only, and
        its promise for new samples has a proof; see the notes.
    labels : {"auto", "drawn", "hard"}, default="auto"
        What plays the truth: a label drawn from the masses or probabilities of the clusterer, so that overlap of
        clusters is seen, or the label of its best cluster. "auto" draws where there are masses or probabilities.
    n_replications : int, default=10
        How many times the samples are halved; "split" does not use it.
    outlier_level : float, default=0.01
        The share of ordinary samples that may be called outliers, from 0 (nobody is) to 0.25. With n samples,
        nobody can be called an outlier at a level below 1 / n.
    n_neighbors : int, default=10
        How many neighbours say how far a sample is from the others, and speak for clusterers that cannot predict.
    random_state : int, RandomState instance or None, default=None
        The seed, for results that can be repeated; also for clusterers that have none of their own.
    n_jobs : int or None, default=None
        How many replications are made at the same time. The result does not depend on it.

    Attributes
    ----------
    credal_partition_ : CredalPartition
        Consonant masses, whose plausibilities are valid p-values. Its verdict at the level `coverage` is
        `predict_set`.
    labels_ : ndarray of int of shape (n_samples,)
        The best cluster of each sample by `estimator_`; -1 if its neighbours are all noise.
    masses_ : ndarray of shape (n_samples, n_focal_sets)
        The masses, read-only.
    focal_sets_ : FocalSets
        The columns of the masses, also of new samples: all sets of up to 6 clusters; of more, the empty set, the
        single clusters, the set of all, and the sets that occur among the samples of the fit.
    estimator_ : estimator
        The fitted clusterer, which numbers the clusters.
    p_values_ : ndarray of shape (n_samples, n_clusters)
        For each cluster, the share of labels of replications that were at least as strange.
    outlier_p_values_ : ndarray of shape (n_samples,)
        The share of samples that are at least as far from the others: the distance to the neighbour number
        `n_neighbors`, over its median in the cluster.
    coverage_ : float
        The share of labels of replications that were in the sets of the other half. It is above `coverage` where
        even the single best clusters are replicated more often than that.
    doubt_ : KindsOfDoubt
        Where the doubt about each sample comes from.
    n_calibration_ : int
        How many samples the p-values are shares of.
    n_clusters_ : int
        The number of clusters.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str
        The names of the features, where X has any.

    See Also
    --------
    evlearn.ensemble.CredalEnsemble : Several clusterers, and where they disagree.

    Notes
    -----
    What is covered is the label that the same clusterer, fitted to other samples of the same kind, gives to a
    sample: drawn or hard, after its clusters have been matched, and if it gives one. It is not the true class, and
    it is no sign that the number of clusters is right.

    With ``method="split"``, the set of a new sample contains that label with a probability of at least
    `coverage`, for any number of samples, if samples are exchangeable; probability is over all samples, and the
    label is that of the model fitted to the second third. With ``method="cross"`` there is no such proof, because
    the model is fitted to all samples and calibrated by halves; what it covers was measured.

    With "split", the p-value of outliers is valid in the same way: a new sample of the same kind has one of a or
    less with a probability of at most a. With "cross" that was measured too.

    References
    ----------
    Cella and Martin (2022); Vovk et al. (2022).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.mixture import GaussianMixture
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from evlearn.conformal import ConformalClusterer
    >>> mixture = make_pipeline(
    ...     StandardScaler(), GaussianMixture(3, covariance_type="diag")
    ... )
    >>> model = ConformalClusterer(mixture, coverage=0.9, random_state=0).fit(
    ...     load_wine().data
    ... )
    >>> model.predict_set(load_wine().data[:2])
    array([[False, False,  True],
           [False, False,  True]])
    """

    def __init__(
        self,
        estimator: ClustererLike,
        coverage: float = 0.9,
        *,
        method: Literal["cross", "split"] = "cross",
        labels: Literal["auto", "drawn", "hard"] = "auto",
        n_replications: int = 10,
        outlier_level: float = 0.01,
        n_neighbors: int = 10,
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator: Any = estimator
        self.coverage = coverage
        self.method = method
        self.labels = labels
        self.n_replications = n_replications
        self.outlier_level = outlier_level
        self.n_neighbors = n_neighbors
        self.random_state = random_state
        self.n_jobs = n_jobs

    @whole_or_nothing
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Fit the clusterer, and replications of it that calibrate its sets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : None, default=None
            Not used; present for scikit-learn's conventions.

        Returns
        -------
        ConformalClusterer
            The fitted estimator.
        """
        self._check_parameters()
        data = read_in_memory(self, X, reset=True)
        calibration = self._calibrate(data, check_random_state(self.random_state))
        self._speaker, self.estimator_ = calibration.reference, calibration.reference.estimator
        self._scores = Scores.of(calibration.scores, calibration.samples)
        self.n_calibration_ = self._scores.n_samples
        self._publish_sets(data, calibration)
        self._name_samples(X)
        record_problems(getattr(split_pipeline(self.estimator_)[1], "_problems", ()))
        return self

    def predict_mass(self, X: ArrayLike) -> CredalPartition:
        """The mass functions of samples, new or old.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        CredalPartition
            Consonant masses with the columns `focal_sets_`, whatever the samples, and with the row names of a
            pandas frame. Of more than 6 clusters, a set that did not occur in `fit` has no column: its mass goes
            to the next larger set of the same sample that has one, at worst to the set of all clusters. So the
            masses are more cautious than `predict_set`, which uses all sets. Masses of more than 10 clusters are
            on sets of the 3 most plausible ones, and on all.
        """
        partition = CredalPartition.from_possibilistic(shortened(self._plausible(X)))
        return with_names_of(X, self._supported(_onto(self.focal_sets_, partition)))

    def predict(self, X: ArrayLike) -> IntArray:
        """The best cluster of each sample, also of outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of int of shape (n_samples,)
            Cluster numbers; -1 if all neighbours of a sample, which speak for it, are noise.
        """
        check_is_fitted(self)
        return best_clusters(self._speaker.support(read_in_memory(self, X, reset=False)))

    def predict_set(self, X: ArrayLike, *, level: float | None = None) -> BoolArray:
        """The clusters that each sample may belong to.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        level : float or None, default=None
            Another coverage than `coverage`, below one minus `outlier_level`.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_clusters)
            Whether the cluster is in the set: one cluster for sure samples, several for torn ones, and none for
            outliers.
        """
        level = self.coverage if level is None else level
        self._check_coverage("level", level)
        return self._sets(self._plausible(X), level)

    def predict_p_values(self, X: ArrayLike) -> FloatArray:
        """A p-value for each cluster: the share of labels of replications that are at least as strange.

        Sets of all clusters with a p-value above 1 - `coverage` may be empty. `predict_set` adds the best cluster
        of every sample, and asks for a little more, which pays for outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            p-values.
        """
        check_is_fitted(self)
        return self._scores.p_values(nonconformity(self._speaker.support(read_in_memory(self, X, reset=False))))

    def predict_outlier_p_values(self, X: ArrayLike) -> FloatArray:
        """The share of samples that are at least as far from the others, by the measure of their clusters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples; new ones, because a sample of the fit is its own neighbour here.

        Returns
        -------
        ndarray of shape (n_samples,)
            p-values, small for outliers, and at least 1 / (n + 1) for n samples of the fit.
        """
        check_is_fitted(self)
        data = read_in_memory(self, X, reset=False)
        return self._remoteness.p_values(self._seen(data), best_clusters(self._speaker.support(data)))

    def _calibrate(self, data: FloatArray, random: np.random.RandomState) -> Calibration:
        if self.method == "split":
            found = split_calibrate(self.estimator, data, self.labels, self.n_neighbors, random)
        else:
            found = cross_calibrate(
                self.estimator, data, self.n_replications, self.labels, self.n_neighbors, self.n_jobs, random
            )
        if not len(found.scores):
            raise ValueError("estimator labels all samples of its replications as noise; change its parameters.")
        return found

    def _publish_sets(self, data: FloatArray, calibration: Calibration) -> None:
        support = self._speaker.support(data)
        self.n_clusters_ = support.shape[1]
        self.p_values_ = self._scores.p_values(nonconformity(support))
        best = best_clusters(support)
        self._remoteness, self.outlier_p_values_ = Remoteness.of(
            self._seen(data), best, self.n_clusters_, calibration.fitted, self.n_neighbors
        )
        plausible = self._contour(support, self.outlier_p_values_)
        partition = CredalPartition.from_possibilistic(shortened(plausible))
        self._publish(_onto(_columns(partition), partition))
        self.labels_ = best  # also of outliers, and -1 for noise
        self.coverage_ = self._covered(calibration)
        shares = support.max(axis=1) / np.maximum(support.sum(axis=1), np.finfo(float).tiny)
        self.doubt_ = KindsOfDoubt(
            sets=self._sets(plausible, self.coverage),
            best=self.labels_,
            overlap=1 - shares if calibration.drawn else np.zeros(len(data)),
            replication=calibration.moved,
            outlier=self.outlier_p_values_,
        )

    def _covered(self, calibration: Calibration) -> float:
        """How many labels are in sets: those of a best cluster, and others whose p-values are large enough."""
        p_values = self._scores.p_values(calibration.scores)
        inside = (calibration.scores <= 0) | (p_values + self.outlier_level > 1 - self.coverage)
        ordinary = self.outlier_p_values_[calibration.samples] > self.outlier_level
        matched = np.isfinite(calibration.scores)  # a cluster without a counterpart is in no set
        return float((inside & ordinary & matched).mean())

    def _plausible(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        data = read_in_memory(self, X, reset=False)
        support = self._speaker.support(data)
        return self._contour(support, self._remoteness.p_values(self._seen(data), best_clusters(support)))

    def _contour(self, support: FloatArray, outlier: FloatArray) -> FloatArray:
        scores = nonconformity(support)
        return contour(self._scores.p_values(scores), scores <= 0, outlier, self.outlier_level)

    def _seen(self, data: FloatArray) -> FloatArray:
        return np.asarray(reached(self.estimator_, data)[1], dtype=np.float64)

    def _sets(self, plausible: FloatArray, level: float) -> BoolArray:
        ordinary = plausible.max(axis=1, keepdims=True) > 0.5
        return np.asarray((plausible > 1 - level) & ordinary)

    def _check_parameters(self) -> None:
        if not hasattr(self.estimator, "fit") or isinstance(self.estimator, type):
            raise ValueError(f"estimator must be a clusterer such as KMeans(3), got {self.estimator!r}.")
        if get_tags(self.estimator).input_tags.pairwise:
            raise ValueError(
                f"estimator must take rows of features, got {self.estimator!r}, which takes dissimilarities."
            )
        check_choice("method", self.method, ("cross", "split"))
        check_choice("labels", self.labels, ("auto", "drawn", "hard"))
        check_integer("n_replications", self.n_replications, 1)
        check_integer("n_neighbors", self.n_neighbors, 1)
        check_real("outlier_level", self.outlier_level, 0, 0.25)
        self._check_coverage("coverage", self.coverage)

    def _check_coverage(self, name: str, value: Any) -> None:
        check_real(name, value, 0, 1, open_low=True)
        if value >= 1 - self.outlier_level:
            raise ValueError(
                f"{name} must be below 1 - outlier_level = {1 - self.outlier_level:g}, got {value!r}; ask for "
                "less coverage, or for fewer outliers."
            )


def _columns(partition: CredalPartition) -> FocalSets:
    """Return all sets of few clusters; of many, the singletons, the set of all, and the sets of a partition."""
    if partition.n_clusters <= _FEW_CLUSTERS:
        return FocalSets.full(partition.n_clusters)
    return FocalSets.simple(partition.n_clusters).with_sets(partition.focal_sets)


def _onto(columns: FocalSets, partition: CredalPartition) -> CredalPartition:
    """Return consonant masses on given columns.

    The mass of a set without a column goes to the next larger set of the same sample that has one, at worst to the
    set of all clusters. The masses stay consonant, and plausibilities can only grow.
    """
    positions = columns.positions(partition.focal_sets.membership)
    samples, sets = np.nonzero(partition.masses)
    # The focal sets of a sample are nested, and sets are in the order of their size.
    targets = np.full(partition.masses.shape, len(columns) - 1)
    targets[samples, sets] = np.where(positions[sets] < 0, len(columns) - 1, positions[sets])
    targets = np.minimum.accumulate(targets[:, ::-1], axis=1)[:, ::-1]
    masses = np.zeros((len(targets), len(columns)), dtype=partition.masses.dtype)
    np.add.at(masses, (samples, targets[samples, sets]), partition.masses[samples, sets])
    return CredalPartition(masses, columns, validate=False)


__all__ = ["ConformalClusterer"]
