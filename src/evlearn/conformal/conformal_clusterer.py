"""Conformal sets of clusters around any clusterer, and sources of doubt."""

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from evlearn.cluster.base import EvidentialClusterer, read_in_memory
from evlearn.conformal.nested_sets import columns_of, project_masses, shorten_contour
from evlearn.conformal.p_values import OutlierScorer, Scores, contour, nonconformity
from evlearn.conformal.replication import (
    Calibration,
    ClustererAdapter,
    best_clusters,
    cross_calibrate,
    split_calibrate,
)
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import split_pipeline, transform_through_pipeline, with_names_of
from evlearn.storage import fields
from evlearn.utils.convergence import atomic_fit, record_problems
from evlearn.utils.typing import BoolArray, ClustererLike, FloatArray, IntArray, RandomSeed
from evlearn.utils.validation import check_choice, check_integer, check_real, check_shape


@dataclass(frozen=True)
class DoubtSources:
    """Sources of doubt about each sample: overlap, replication and outliers.

    Overlap remains with more samples; another feature may remove it. Disagreement of replications vanishes with
    more samples, or shows that there are other clusters. Outliers are problems of single samples.

    Attributes
    ----------
    sets : ndarray of bool of shape (n_samples, n_clusters)
        Clusters that each sample may belong to.
    best : ndarray of int of shape (n_samples,)
        Best cluster of each sample, or -1.
    overlap : ndarray of shape (n_samples,)
        Probability of clusters other than the best one in the model of all samples; 0 if labels are hard.
    replication : ndarray of shape (n_samples,)
        Share of replications with another best cluster.
    outlier : ndarray of shape (n_samples,)
        Outlier p-value: share of samples with at least the same outlier score.
    """

    sets: BoolArray
    best: IntArray
    overlap: FloatArray
    replication: FloatArray
    outlier: FloatArray

    @property
    def kinds(self) -> npt.NDArray[np.str_]:
        """The kind of each sample: "sure", "outlier", or for torn samples, "overlap" or "replication".

        This is the larger of both doubts; for hard labels it is always "replication".
        """
        n_candidates = self.sets.sum(axis=1)
        torn = np.where(self.overlap > self.replication, "overlap", "replication")
        return np.where(n_candidates == 0, "outlier", np.where(n_candidates == 1, "sure", torn))

    def counts(self) -> dict[str, int]:
        """Count the samples of each kind.

        Returns
        -------
        dict from str to int
            Numbers of "sure", "overlap", "replication" and "outlier" samples.
        """
        kinds = self.kinds
        return {kind: int((kinds == kind).sum()) for kind in ("sure", "overlap", "replication", "outlier")}

    def describe(self, sample: int) -> str:
        """Describe the doubt about a sample.

        Parameters
        ----------
        sample : int
            Number of the sample.

        Returns
        -------
        str
            Plain text of a few sentences.
        """
        kind, share = self.kinds[sample], f"{100 * self.replication[sample]:.0f} %"
        members = [str(cluster) for cluster in np.flatnonzero(self.sets[sample])]
        if kind == "outlier":
            return (
                f"Sample {sample} is an outlier: {100 * self.outlier[sample]:.2g} % of the samples are as far "
                f"from others, relative to their clusters. The nearest cluster is {self.best[sample]}."
            )
        if kind == "sure":
            return f"Sample {sample} is in cluster {members[0]}; {share} of the replications assign another one."
        text = f"Sample {sample} is torn between the clusters {', '.join(members[:-1])} and {members[-1]}. "
        if kind == "overlap":
            return text + (
                f"They overlap there: the model gives {100 * self.overlap[sample]:.0f} % to clusters other than "
                f"{self.best[sample]}, and {share} of the replications assign it to another cluster. More "
                "samples would not help."
            )
        return text + (
            f"The clustering itself is unstable there: {share} of the replications assign it to a cluster other "
            f"than {self.best[sample]}. More samples or another number of clusters may help."
        )


@fields.stored
class ConformalClusterer(EvidentialClusterer):
    """Conformal sets of clusters, around any clusterer.

    Each set contains the label that a replication of the clustering gives to the sample, with a probability of
    `confidence_level`. The clusterer is fitted to all samples, and several times to 2 random halves of them, whose
    clusters are matched. The labels of one half are used as the truth for the other half, which was fitted without
    these samples. Nonconformity scores of these labels set the threshold for including a cluster.

    A sample with one cluster in its set is sure, one with several clusters is torn between them, and one without
    clusters is an outlier: its distance to other samples is extreme.

    Parameters
    ----------
    estimator : estimator
        Clusterer or mixture of evlearn or scikit-learn, or a pipeline that ends in one. Clones of it are fitted.
        If it cannot predict, such as `sklearn.cluster.HDBSCAN`, the nearest training samples vote.
    confidence_level : float, default=0.9
        Probability that a set contains the cluster that a replication gives to a sample; above 0, and below
        1 - `outlier_level`.
    method : {"cross", "split"}, default="cross"
        "cross" uses all samples for fitting and calibration. "split" fits the clusterer to a third of the samples,
        and its guarantee for new samples is proven; see the notes.
    labels : {"auto", "drawn", "hard"}, default="auto"
        Labels used as the truth: drawn from the masses or probabilities of the clusterer, so that sets reflect the
        overlap of clusters, or those of the best clusters. "auto" means "drawn" if the clusterer has masses or
        probabilities, and "hard" otherwise.
    n_splits : int, default=10
        Number of random splits into halves; not used by "split".
    outlier_level : float, default=0.01
        Share of ordinary samples that may be labeled outliers, from 0 (no outliers) to 0.25. With n samples,
        levels below 1 / n flag no sample.
    n_neighbors : int, default=10
        Number of neighbors for the distance of a sample to others, and for the votes if the clusterer cannot
        predict.
    random_state : int, RandomState instance or None, default=None
        Seed for reproducible results. It is also passed to clusterers without a seed.
    n_jobs : int or None, default=None
        Number of parallel jobs. The result does not depend on it.

    Attributes
    ----------
    credal_partition_ : CredalPartition
        Consonant masses, whose plausibilities are valid p-values. Its verdict at the level
        `confidence_level` is `predict_set`.
    labels_ : ndarray of int of shape (n_samples,)
        Best cluster of each sample by `estimator_`; -1 if its neighbors are all noise.
    masses_ : ndarray of shape (n_samples, n_focal_sets)
        Masses, read-only.
    focal_sets_ : FocalSets
        Columns of the masses, also for new samples. They are all sets for up to 6 clusters. For more, they are the
        empty set, the single clusters, the set of all clusters, and the sets that occur among the training
        samples.
    estimator_ : estimator
        Fitted clusterer; it determines the numbers of the clusters.
    p_values_ : ndarray of shape (n_samples, n_clusters)
        Share of labels of replications with at least the nonconformity score of each cluster.
    outlier_p_values_ : ndarray of shape (n_samples,)
        Share of samples with at least the outlier score of each sample. The score is the distance to neighbor
        number `n_neighbors`, divided by the median of this distance in the cluster.
    coverage_ : float
        Share of labels of replications that were in the sets of the other half. It exceeds `confidence_level` if
        the single best clusters alone are replicated more often than that.
    doubt_ : DoubtSources
        Sources of doubt about each sample.
    n_calibration_ : int
        Number of samples that the p-values are based on.
    n_clusters_ : int
        Number of clusters.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X has names.

    See Also
    --------
    evlearn.ensemble.CredalEnsemble : Combination of several clusterers, with their disagreement.

    Notes
    -----
    The sets cover the label that the same clusterer, fitted to other samples from the same distribution, gives to
    a sample: drawn or hard, after matching the clusters, and excluding noise. This label is not the true class,
    and coverage does not mean that the number of clusters is right.

    With ``method="split"``, the set of a new sample contains that label with a probability of at least
    `confidence_level`, for any number of samples, if samples are exchangeable. The probability is over all
    samples, and the label is that of the model fitted to the second third. With ``method="cross"`` there is no
    such proof, because the model is fitted to all samples and calibrated on halves; its coverage was measured.

    With "split", the outlier p-value is valid in the same way: for a new sample from the same distribution, it is
    at most a with a probability of at most a. With "cross" this was measured, too.

    References
    ----------
    - Cella and Martin (2022), Validity, consonant plausibility measures, and conformal
      prediction, International Journal of Approximate Reasoning 141,
      doi:10.1016/j.ijar.2021.07.013.
    - Vovk et al. (2022), Algorithmic learning in a random world, Springer,
      doi:10.1007/978-3-031-06649-8.

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
    >>> model = ConformalClusterer(mixture, confidence_level=0.9, random_state=0).fit(
    ...     load_wine().data
    ... )
    >>> model.predict_set(load_wine().data[:2])
    array([[False, False,  True],
           [False, False,  True]])
    """

    _adapter: fields.Stored[ClustererAdapter]
    _scores: fields.Stored[Scores]
    _outlier_scorer: fields.Stored[OutlierScorer]
    n_clusters_: fields.Stored[fields.PositiveCount]
    n_calibration_: fields.StoredIfSet[fields.PositiveCount]
    coverage_: fields.StoredIfSet[fields.Fraction | None]

    def __init__(
        self,
        estimator: ClustererLike,
        confidence_level: float = 0.9,
        *,
        method: Literal["cross", "split"] = "cross",
        labels: Literal["auto", "drawn", "hard"] = "auto",
        n_splits: int = 10,
        outlier_level: float = 0.01,
        n_neighbors: int = 10,
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator: Any = estimator
        self.confidence_level = confidence_level
        self.method = method
        self.labels = labels
        self.n_splits = n_splits
        self.outlier_level = outlier_level
        self.n_neighbors = n_neighbors
        self.random_state = random_state
        self.n_jobs = n_jobs

    @atomic_fit
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Fit the clusterer, and calibrate its sets by replications.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : None, default=None
            Not used; present for API consistency.

        Returns
        -------
        ConformalClusterer
            The fitted estimator.
        """
        self._check_parameters()
        data = read_in_memory(self, X, reset=True)
        calibration = self._calibrate(data, check_random_state(self.random_state))
        self._adapter, self.estimator_ = calibration.reference, calibration.reference.estimator
        self._scores = Scores.of(calibration.scores, calibration.samples)
        self.n_calibration_ = self._scores.n_samples
        self._publish_sets(data, calibration)
        self._name_samples(X)
        record_problems(getattr(split_pipeline(self.estimator_)[1], "_problems", ()))
        return self

    def predict_mass(self, X: ArrayLike) -> CredalPartition:
        """Predict the mass functions of samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        CredalPartition
            Consonant masses with the columns `focal_sets_`, and with the row names of a pandas frame. With more
            than 6 clusters, a set that did not occur in `fit` has no column: its mass goes to the next larger set
            of the same sample that has one, or else to the set of all clusters. So the masses are more cautious
            than `predict_set`, which uses all sets. With more than 10 clusters, masses are on sets of the 3 most
            plausible clusters, and on the set of all clusters.
        """
        partition = CredalPartition.from_possibilistic(shorten_contour(self._plausible(X)))
        return with_names_of(X, self._finalize_partition(project_masses(self.focal_sets_, partition)))

    def predict(self, X: ArrayLike) -> IntArray:
        """Predict the best cluster of each sample, also of outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of int of shape (n_samples,)
            Cluster numbers; -1 if all neighbors that vote for a sample are noise.
        """
        check_is_fitted(self)
        return best_clusters(self._adapter.support(read_in_memory(self, X, reset=False)))

    def predict_set(  # type: ignore[override]
        self, X: ArrayLike, *, confidence_level: float | None = None
    ) -> BoolArray:
        """Predict the set of clusters that each sample may belong to.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        confidence_level : float or None, default=None
            Confidence level of the sets, below 1 - `outlier_level`. None means `confidence_level` of the
            estimator.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_clusters)
            True for the clusters in the set: one for sure samples, several for torn ones, and none for outliers.
        """
        level = self.confidence_level if confidence_level is None else confidence_level
        self._check_confidence_level(level)
        return self._sets(self._plausible(X), level)

    def predict_p_values(self, X: ArrayLike) -> FloatArray:
        """Predict p-values of the clusters: shares of labels of replications with at least the same score.

        Sets of all clusters with a p-value above 1 - `confidence_level` may be empty. `predict_set` adds the best
        cluster of every sample, and lowers the threshold by `outlier_level` to compensate for outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            P-values.
        """
        check_is_fitted(self)
        return self._scores.p_values(nonconformity(self._adapter.support(read_in_memory(self, X, reset=False))))

    def predict_outlier_p_values(self, X: ArrayLike) -> FloatArray:
        """Predict outlier p-values: shares of training samples with at least the same outlier score.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New samples. Training samples would be their own neighbors.

        Returns
        -------
        ndarray of shape (n_samples,)
            P-values, small for outliers, and at least 1 / (n + 1) for n training samples.
        """
        check_is_fitted(self)
        data = read_in_memory(self, X, reset=False)
        return self._outlier_scorer.p_values(self._transformed(data), best_clusters(self._adapter.support(data)))

    def _calibrate(self, data: FloatArray, random: np.random.RandomState) -> Calibration:
        if self.method == "split":
            calibration = split_calibrate(self.estimator, data, self.labels, self.n_neighbors, random)
        else:
            calibration = cross_calibrate(
                self.estimator, data, self.n_splits, self.labels, self.n_neighbors, self.n_jobs, random
            )
        if not len(calibration.scores):
            raise ValueError("estimator labels all samples of its replications as noise; change its parameters.")
        return calibration

    def _publish_sets(self, data: FloatArray, calibration: Calibration) -> None:
        support = self._adapter.support(data)
        self.n_clusters_ = support.shape[1]
        self.p_values_ = self._scores.p_values(nonconformity(support))
        best = best_clusters(support)
        self._outlier_scorer, self.outlier_p_values_ = OutlierScorer.fit(
            self._transformed(data), best, self.n_clusters_, calibration.fitted, self.n_neighbors
        )
        plausible = self._contour(support, self.outlier_p_values_)
        partition = CredalPartition.from_possibilistic(shorten_contour(plausible))
        self._publish(project_masses(columns_of(partition), partition))
        self.labels_ = best  # outliers have labels, too; -1 is noise
        self.coverage_ = self._measure_coverage(calibration)
        shares = support.max(axis=1) / np.maximum(support.sum(axis=1), np.finfo(float).tiny)
        self.doubt_ = DoubtSources(
            sets=self._sets(plausible, self.confidence_level),
            best=self.labels_,
            overlap=1 - shares if calibration.is_drawn else np.zeros(len(data)),
            replication=calibration.disagreement,
            outlier=self.outlier_p_values_,
        )

    def _measure_coverage(self, calibration: Calibration) -> float:
        """Return the share of calibration labels that are in the sets."""
        p_values = self._scores.p_values(calibration.scores)
        is_member = (calibration.scores <= 0) | (p_values + self.outlier_level > 1 - self.confidence_level)
        ordinary = self.outlier_p_values_[calibration.samples] > self.outlier_level
        matched = np.isfinite(calibration.scores)  # no set contains a cluster without a counterpart
        return float((is_member & ordinary & matched).mean())

    def _plausible(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        data = read_in_memory(self, X, reset=False)
        support = self._adapter.support(data)
        return self._contour(
            support, self._outlier_scorer.p_values(self._transformed(data), best_clusters(support))
        )

    def _contour(self, support: FloatArray, outlier: FloatArray) -> FloatArray:
        scores = nonconformity(support)
        return contour(self._scores.p_values(scores), scores <= 0, outlier, self.outlier_level)

    def _transformed(self, data: FloatArray) -> FloatArray:
        return np.asarray(transform_through_pipeline(self.estimator_, data)[1], dtype=np.float64)

    def _sets(self, plausible: FloatArray, level: float) -> BoolArray:
        ordinary = plausible.max(axis=1, keepdims=True) > 0.5
        return np.asarray((plausible > 1 - level) & ordinary)

    def _check_parameters(self) -> None:
        if not hasattr(self.estimator, "fit") or isinstance(self.estimator, type):
            raise ValueError(f"estimator must be a clusterer such as KMeans(3), got {self.estimator!r}.")
        if get_tags(self.estimator).input_tags.pairwise:
            raise ValueError(
                f"estimator must accept features, got {self.estimator!r}, which expects dissimilarities."
            )
        check_choice("method", self.method, ("cross", "split"))
        check_choice("labels", self.labels, ("auto", "drawn", "hard"))
        check_integer("n_splits", self.n_splits, 1)
        check_integer("n_neighbors", self.n_neighbors, 1)
        check_real("outlier_level", self.outlier_level, 0, 0.25)
        self._check_confidence_level(self.confidence_level)

    def _check_confidence_level(self, value: Any) -> None:
        check_real("confidence_level", value, 0, 1, open_low=True)
        if value >= 1 - self.outlier_level:
            raise ValueError(
                f"confidence_level must be below 1 - outlier_level = {1 - self.outlier_level:g}, got {value!r}; "
                "decrease confidence_level or outlier_level."
            )

    def _after_loading(self) -> None:
        """Set the estimator, and raise unless the attributes from a file are consistent."""
        super()._after_loading()
        self._check_parameters()
        self.estimator_ = self._adapter.estimator
        adapter, scorer = self._adapter, self._outlier_scorer
        fields.check_features(adapter.estimator, self.n_features_in_)
        check_shape("medians", scorer.medians, (self.n_clusters_ + 1,))
        if not len(self._scores.values) or not len(scorer.scores.values):
            raise ValueError("it has no scores to compare with")
        if scorer.n_neighbors > len(scorer.samples):
            raise ValueError("it needs more neighbors than there are samples")
        origin = np.zeros((1, self.n_features_in_))
        if adapter.support(origin).shape[1] != self.n_clusters_:
            raise ValueError("its estimator has a different number of clusters")
        check_shape("samples", scorer.samples, (len(scorer.samples), self._transformed(origin).shape[1]))
