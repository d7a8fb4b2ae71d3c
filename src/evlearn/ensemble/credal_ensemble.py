"""CredalEnsemble: combination of several clusterers."""

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from evlearn.belief import FocalSets, check_masses
from evlearn.belief.focal_sets import FocalSetsLike
from evlearn.blocks.dataset import check_weights
from evlearn.cluster.base import read_in_memory, with_seed, without_files
from evlearn.cluster.centroids.kmeans import rows_to_fit
from evlearn.cluster.centroids.starts import draw
from evlearn.cluster.fit_warnings import count_samples, warn_of_small_clusters
from evlearn.cluster.focal_families import FocalFamily
from evlearn.cluster.outlier_rule import OUTLIER_RATE
from evlearn.cluster.row_clusterer import RowwiseClusterer
from evlearn.ensemble.combination import check_parameters, choose_focal_sets, combine
from evlearn.ensemble.consensus import ConsensusModel, fit_consensus
from evlearn.ensemble.recovery import CombinationRule, Landmarks
from evlearn.ensemble.views import ViewsModel, columns_of, fit_views, in_one_unit
from evlearn.model_selection import estimate_n_clusters
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import fitted_partition, predicted_partition, split_pipeline
from evlearn.storage import fields
from evlearn.utils.chunks import row_blocks
from evlearn.utils.convergence import atomic_fit, publish_trace, record_problems
from evlearn.utils.formatting import format_count
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.progress import Steps, expect_tasks
from evlearn.utils.reading import Numbers
from evlearn.utils.typing import BoolArray, ClustererLike, DataLike, FloatArray, IntArray, RandomSeed
from evlearn.utils.validation import EXTREME_RATIO, check_integer, check_real, check_shape, distance_ratios

#: Reach of an ensemble, relative to the largest distance of a training sample from the center.
_RELATIVE_REACH = 1e6
#: Probability of the number of clusters below which it is uncertain.
_MIN_CONFIDENCE = 0.5


@fields.stored
class CredalEnsemble(RowwiseClusterer):
    """Combination of several clusterers: samples are sure where they agree, and torn where they do not.

    By default, the members are clusterings of different kinds, because no kind suits all data: k-means, 3 Gaussian
    mixtures, spectral clustering, Ward's method and a merged mixture; or k-means and a latent class model if most
    of the variance is in discrete columns. They are fitted to at most `n_landmarks` samples. The weight of a
    member depends on its reliability, the share of neighbors that it has in the same cluster. The masses of a
    sample follow from the clusters of the nearest of these samples, and from its distances to the means of the
    clusters.

    Other clusterers may be evidential ones, mixtures, or any scikit-learn clusterers, with different numbers of
    clusters. Their statements about pairs of samples, "same cluster" or "different clusters", are combined, and a
    credal partition is recovered from them. A list of clusterers is fitted to all samples. Clones of a single
    clusterer are fitted to parts of the data, so that doubt shows the effect of sampling. Clones with more
    clusters than the result find clusters of any shape.

    A few samples very far from all clusters are treated as gross errors: clusterers that can predict, and the
    default members, are fitted without them. With other clusterers, data with a few samples that are a million
    times farther away than the others are an error.

    Missing values (NaN) are accepted with the default members. They increase doubt: the masses of a sample with
    missing values are averages over its completions, with additional mass on the set of all clusters.

    Parameters
    ----------
    clusterers : "auto", list of estimators, or estimator, default="auto"
        Clusterers, or pipelines that end in one; clones are fitted. A single clusterer, which must have a predict
        method, is fitted `n_estimators` times. "auto": default members.
    n_clusters : int or "auto", default="auto"
        Number of clusters of the result. "auto": with the default members, the most probable number according to
        `evlearn.model_selection.estimate_n_clusters`, at most 12; otherwise, the largest number of the members.
    views : list of lists, or None, default=None
        Names or indices of the columns of each view, for the default members: separate sources, such as sensors,
        questionnaires or distance matrices. k-means, spectral clustering and Ward's method are fitted to each
        view, and the more the other views confirm its clusters, the larger is the influence of a view. Columns in
        no view are not used. None: all columns together.
    n_estimators : int, default=10
        Number of clones of a single clusterer; not used for a list.
    max_samples : float or int, default=0.5
        Share (float) or number (int) of samples that each clone of a single clusterer is fitted to, drawn without
        replacement. Clusterers of a list are fitted to all samples.
    rule : str, default="average"
        Rule of combination for statements about pairs; see `combine_partitions`. Not used by the default members.
    focal_sets : str, FocalFamily, FocalSets or list of sets, default="auto"
        Sets of clusters that may carry mass, besides the empty set. "auto" means all sets for up to 4 clusters;
        pairs for up to 12 clusters if a partition has masses on sets of clusters, or the rule may produce them;
        otherwise single clusters, and the set of all clusters. With the default members, pairs and the set of all
        clusters.
    n_landmarks : int, default=2000
        Maximum number of samples whose pairs are all compared, and to which the default members are fitted. From
        more samples, this number is drawn, and the masses of other samples follow from these.
    outlier_rate : float, default=0.003
        Expected share of ordinary samples that are outliers, at most 0.5, for the default members. Outliers are
        samples farther from the nearest samples of a cluster than all but this share of its own samples.
    n_init : int, default=5
        Number of initializations by k-means of all masses, in addition to the members with the same number of
        clusters as the result.
    tol : float, default=1e-4
        Relative decrease of the objective in a sweep below which the fit stops.
    max_iter : int, default=200
        Maximum number of sweeps.
    random_state : int, RandomState instance or None, default=None
        Random seed, also for clusterers without one; an int makes results reproducible.
    n_jobs : int or None, default=None
        Number of clusterers that are fitted at the same time, and number of threads for predictions. The result
        does not depend on it.
    verbose : int, default=0
        Whether to report the progress of each sweep.

    Attributes
    ----------
    credal_partition_ : CredalPartition
        Result.
    labels_ : ndarray of int of shape (n_samples,)
        Most plausible cluster of each sample.
    masses_ : ndarray of shape (n_samples, n_focal_sets)
        Masses, read-only.
    focal_sets_ : FocalSets
        Sets of the columns of the masses.
    member_names_ : list of str
        Names of the default members, or classes of the clusterers.
    weights_ : ndarray of shape (n_members,)
        Weights of the members, which sum to 1; those of given clusterers are equal.
    reliabilities_ : ndarray of shape (n_members,)
        Agreement of the default members with neighborhoods, with `views` those of the other views: 0 by chance,
        and at most 1. Only with the default members.
    view_reliabilities_ : ndarray of shape (n_views,)
        Reliability of each view: the mean reliability of its members by their weights, at least 0. Only with
        `views`.
    clusterers_ : list of estimators
        Fitted clusterers; not for the default members.
    partitions_ : list of CredalPartition
        Partitions of the clusterers; not for the default members.
    n_clusters_ : int
        Number of clusters.
    n_clusters_estimate_ : ClusterNumberEstimate
        Probabilities of the numbers of clusters, if the default members have ``n_clusters="auto"``.
    objective_ : float
        Mean squared distance, over pairs of landmarks, between the statements of the result and the combined
        statements of the members; not for the default members.
    objective_history_ : ndarray of shape (n_iterations + 1,)
        Objective before the first sweep, and after each; not for the default members.
    n_iter_ : int
        Number of sweeps; with the default members, number of iterations of k-means for the combination.
    converged_ : bool
        Whether the objective converged within `tol`; not for the default members.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X has any.

    See Also
    --------
    combine_partitions : Combine existing partitions.

    References
    ----------
    Denœux et al. (2018), Evaluating and comparing soft partitions: an approach based on
    Dempster-Shafer theory, IEEE Transactions on Fuzzy Systems 26,
    doi:10.1109/TFUZZ.2017.2718484.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from evlearn.cluster import ECM
    >>> from evlearn.datasets import make_fourclass
    >>> from evlearn.ensemble import CredalEnsemble
    >>> X, y = make_fourclass(200, random_state=0)
    >>> model = CredalEnsemble(n_clusters=4, random_state=0).fit(X)
    >>> model.member_names_[int(model.weights_.argmax())]
    'spectral clustering'

    Combine other clusterers:

    >>> ensemble = CredalEnsemble(
    ...     [KMeans(4), ECM(4, focal_sets="pairs")], random_state=0
    ... ).fit(X)
    >>> ensemble.n_clusters_
    4

    Combine 10 k-means fits with more clusters than the result, each of another half of the samples:

    >>> ensemble = CredalEnsemble(KMeans(8), n_clusters=4, random_state=0).fit(X)
    >>> len(ensemble.clusterers_)
    10
    """

    _model: "fields.Stored[EnsembleModel | ConsensusModel | ViewsModel]"
    n_clusters_: fields.StoredIfSet[fields.PositiveCount]
    member_names_: fields.StoredIfSet[list[str]]
    weights_: fields.StoredIfSet[fields.NonnegativeVector]
    reliabilities_: fields.StoredIfSet[fields.Vector]
    view_reliabilities_: fields.StoredIfSet[fields.NonnegativeVector]

    def __init__(
        self,
        clusterers: Literal["auto"] | ClustererLike | Sequence[ClustererLike] = "auto",
        n_clusters: int | Literal["auto"] = "auto",
        *,
        views: Sequence[Sequence[str | int]] | None = None,
        n_estimators: int = 10,
        max_samples: float = 0.5,
        rule: CombinationRule = "average",
        focal_sets: Literal["auto", "simple", "pairs", "full"] | FocalFamily | FocalSetsLike = "auto",
        n_landmarks: int = 2000,
        outlier_rate: float = OUTLIER_RATE,
        n_init: int = 5,
        tol: float = 1e-4,
        max_iter: int = 200,
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.clusterers: Any = clusterers
        self.n_clusters = n_clusters
        self.views: Any = views
        self.n_estimators = n_estimators
        self.max_samples: Any = max_samples
        self.rule = rule
        self.focal_sets = focal_sets
        self.n_landmarks = n_landmarks
        self.outlier_rate = outlier_rate
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @atomic_fit
    def fit(self, X: DataLike, y: object = None, *, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the clusterers, and combine them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, dask collection or iterable of arrays
            Samples; for given clusterers, an array or a frame.
        y : None, default=None
            Not used; present for scikit-learn's conventions.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, for the default members only. They count for k-means, the latent class model,
            reliabilities, and the combination; a sample of weight 0 has no influence.

        Returns
        -------
        CredalEnsemble
            Fitted estimator.
        """
        self._check_parameters()
        if self._has_default_members:
            return self._fit_default_members(X, sample_weight)
        if sample_weight is not None:
            raise ValueError(
                "sample_weight is only for clusterers='auto'; remove it, or set it in clusterers that support it."
            )
        data = self._read_data(X, reset=True).data
        random = check_random_state(self.random_state)
        self._fit_members(data, random)
        self.member_names_ = [type(split_pipeline(member)[1]).__name__ for member in self.clusterers_]
        self.weights_ = np.full(len(self.clusterers_), 1 / len(self.clusterers_))
        n_clusters = None if isinstance(self.n_clusters, str) else self.n_clusters
        sets = choose_focal_sets(self.partitions_, self.focal_sets, n_clusters, self.rule)
        combined = combine(
            self.partitions_,
            sets,
            rule=self.rule,
            n_landmarks=self.n_landmarks,
            n_init=self.n_init,
            tol=self.tol,
            max_iter=self.max_iter,
            random=random,
            report=Steps(self.max_iter, unit="sweep"),
        )
        self._check_evidence(len(data), sets.frame_size)
        self._publish(CredalPartition(combined.masses, sets, validate=False))
        self.n_clusters_ = sets.frame_size
        self._model = EnsembleModel(self.clusterers_, combined.landmarks, *_measure_extent(data))
        self._name_samples(X)
        publish_trace(self, combined.trace, "the objective", max_iter=self.max_iter, steps="sweeps")
        return self

    def describe(self) -> str:
        """Return a description of the members and of their weights.

        Returns
        -------
        str
            A line for each member, the member with the largest weight first.
        """
        check_is_fitted(self)
        order = np.argsort(-self.weights_, kind="stable")
        scores = self.__dict__.get("reliabilities_")
        estimate = self.__dict__.get("n_clusters_estimate_")
        number = format_count(self.n_clusters_, "cluster") if estimate is None else f"{estimate},"
        lines = [f"{number} from {format_count(len(order), 'clustering')}:"]
        for k in order.tolist():
            reliability = "" if scores is None else f", reliability {scores[k]:.2f}"
            lines.append(f"  {self.member_names_[k]}: weight {self.weights_[k]:.2f}{reliability}")
        for view, reliability in enumerate(self.__dict__.get("view_reliabilities_", ())):
            lines.append(f"  view {view}: reliability {reliability:.2f}")
        return "\n".join(lines)

    @property
    def _has_default_members(self) -> bool:
        return isinstance(self.clusterers, str) and self.clusterers == "auto"

    @property
    def _takes_gaps(self) -> bool:  # type: ignore[override]
        return self._has_default_members

    def _fit_default_members(self, X: Any, sample_weight: Any) -> Self:
        """Fit the default members to landmarks, and publish the masses of all rows."""
        random = check_random_state(self.random_state)
        with one_blas_thread(), self._open_rows(X, reset=True) as rows:
            self._check_size(len(rows))
            weights = check_weights(sample_weight, rows)
            n_components = 1 if isinstance(self.n_clusters, str) else self.n_clusters
            sample, counts = draw(*self._complete_rows(rows, n_components, weights), random)
            views = self._read_views()
            self.n_clusters_ = self._count_clusters(in_one_unit(sample, views) if views else sample, random)
            settings = (self.n_landmarks, self.outlier_rate, random, self.n_jobs)
            fitted = (
                fit_views(sample, counts, self.n_clusters_, views, *settings)
                if views
                else fit_consensus(sample, counts, self.n_clusters_, *settings)
            )
            self._model, self.focal_sets_ = fitted.model, fitted.model.focal_sets
            self.member_names_, self.weights_ = fitted.names, fitted.weights
            self.reliabilities_, self.n_iter_ = fitted.reliabilities, fitted.n_iter
            if fitted.view_reliabilities is not None:
                self.view_reliabilities_ = fitted.view_reliabilities
            self._check_evidence(count_samples(len(rows), weights), self.n_clusters_)
            self._publish_masses(rows)
            self._learn_gaps_of(rows, self.n_clusters_, weights)
        labels = self.__dict__.get("labels_")
        if isinstance(labels, np.ndarray):
            warn_of_small_clusters(labels, self.n_clusters_)
        self._name_samples(X)
        return self

    def _read_views(self) -> list[IntArray]:
        """Return the columns of each view; an empty list without views."""
        if self.views is None:
            return []
        return columns_of(self.views, self.n_features_in_, getattr(self, "feature_names_in_", None))

    def _check_size(self, n_samples: int) -> None:
        if not isinstance(self.n_clusters, str) and n_samples < self.n_clusters:
            raise ValueError(
                f"n_clusters={self.n_clusters} is more than n_samples={n_samples}; use fewer clusters."
            )

    def _count_clusters(self, sample: FloatArray, random: np.random.RandomState) -> int:
        if not isinstance(self.n_clusters, str):
            return int(self.n_clusters)
        estimate = estimate_n_clusters(sample, random_state=random)
        self.n_clusters_estimate_ = estimate
        if estimate.confidence < _MIN_CONFIDENCE:
            record_problems([f"The number of clusters is uncertain: {estimate}."])
        return estimate.best

    def _read_data(self, X: Any, *, reset: bool) -> Numbers:
        if self._has_default_members:
            return super()._read_data(X, reset=reset)
        return Numbers(read_in_memory(self, X, reset=reset), False)

    def _check_parameters(self) -> None:
        check_real("outlier_rate", self.outlier_rate, 0, 0.5)
        check_integer("n_clusters", self.n_clusters, 1, or_auto=True)
        check_parameters(self.rule, None, self.n_landmarks, self.n_init, self.tol, self.max_iter)
        if self._has_default_members:
            return
        if self.views is not None:
            raise ValueError("views is only for clusterers='auto'; remove it, or select columns in pipelines.")
        is_list = isinstance(self.clusterers, Sequence) and not isinstance(self.clusterers, str)
        members = self.clusterers if is_list else [self.clusterers]
        if not members or isinstance(self.clusterers, str):
            raise ValueError(
                f"clusterers must be 'auto', an estimator or a list of at least one estimator, got "
                f"{self.clusterers!r}."
            )
        invalid = [member for member in members if not hasattr(member, "fit") or isinstance(member, type)]
        if invalid:
            raise ValueError(f"clusterers must be estimators such as ECM(3), without names, got {invalid[0]!r}.")
        check_integer("n_estimators", self.n_estimators, 1)
        if isinstance(self.max_samples, numbers.Integral):
            check_integer("max_samples", self.max_samples, 1)
        else:
            check_real("max_samples", self.max_samples, 0, 1, open_low=True)

    def _fit_members(self, data: FloatArray, random: np.random.RandomState) -> None:
        """Fit the members, and compute their partitions of all samples."""
        is_single = hasattr(self.clusterers, "fit")
        members = [self.clusterers] * self.n_estimators if is_single else self.clusterers
        ordinary = np.flatnonzero(self._mask_ordinary_rows(data, members))
        # Random numbers are drawn in sequence, so that they do not depend on the workers.
        tasks = [
            (
                with_seed(without_files(clone(member)), random),
                ordinary[self._draw_indices(len(ordinary), random)]
                if is_single
                else _select_rows(member, ordinary, len(data)),
            )
            for member in members
        ]
        expect_tasks(len(tasks) + 1)
        results = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_clusterer)(member, data, rows) for member, rows in tasks
        )
        self.clusterers_, self.partitions_ = (
            [member for member, _ in results],
            [partition for _, partition in results],
        )

    def _mask_ordinary_rows(self, data: FloatArray, members: Sequence[Any]) -> BoolArray:
        """Return True for rows that are not gross errors; for all rows without a number of clusters."""
        numbers_of_clusters: list[Any] = [self.n_clusters]
        if isinstance(self.n_clusters, str):
            parameters = [split_pipeline(member)[1].get_params(deep=False) for member in members]
            numbers_of_clusters = [member.get("n_clusters", member.get("n_components")) for member in parameters]
        largest = max((int(n) for n in numbers_of_clusters if isinstance(n, numbers.Integral)), default=0)
        return rows_to_fit(data, largest) if largest > 0 else np.ones(len(data), dtype=bool)

    def _draw_indices(self, n_samples: int, random: np.random.RandomState) -> IntArray:
        """Draw the indices of the samples of a clone."""
        is_count = isinstance(self.max_samples, numbers.Integral)
        size = int(self.max_samples) if is_count else round(self.max_samples * n_samples)
        return np.sort(random.permutation(n_samples)[: max(size, 2)])

    def _after_loading(self) -> None:
        """Set the members, and raise unless the attributes from a file are consistent."""
        super()._after_loading()
        model = self._model
        if isinstance(model, ConsensusModel):
            fields.check_features(self, model.means.shape[1])
            fields.check_count(self, "n_clusters_", len(model.means))
            return
        if isinstance(model, ViewsModel):
            fields.check_count(self, "n_clusters_", model.focal_sets.frame_size)
            if max(view.columns.max() for view in model.views) >= self.n_features_in_:
                raise ValueError("the columns of a view must be features")
            return
        landmarks = model.landmarks
        check_masses(landmarks.masses, landmarks.focal_sets)
        fields.check_count(self, "n_clusters_", landmarks.focal_sets.frame_size)
        if len(landmarks.partitions) != len(model.clusterers):
            raise ValueError("its landmarks must have a partition of each member")
        check_shape("center", model.center, (self.n_features_in_,))
        origin = np.zeros((1, self.n_features_in_))
        for member, partition in zip(model.clusterers, landmarks.partitions, strict=True):
            fields.check_features(member, self.n_features_in_)
            if len(partition) != len(landmarks.masses):
                raise ValueError(
                    f"a partition of the landmarks has {len(partition)} samples, "
                    f"but there are {len(landmarks.masses)}"
                )
            if predicted_partition(member, origin).focal_sets != partition.focal_sets:
                raise ValueError("the focal sets of a member differ from those of its landmarks")
        self.clusterers_ = list(model.clusterers)


@fields.stored
@dataclass(frozen=True)
class EnsembleModel:
    """Fitted clusterers and landmarks, which determine the masses of rows.

    Attributes
    ----------
    clusterers : sequence of estimator
        Fitted clusterers.
    landmarks : Landmarks
        Samples with known masses.
    center : ndarray of shape (n_features,)
        Mean of the training set.
    reach : float
        Distance from the center, in any feature, beyond which a row is an outlier.
    """

    clusterers: Annotated[Sequence[Any], fields.list_of(fields.predictor, min_length=1), fields.NESTED]
    landmarks: Landmarks
    center: fields.Vector
    reach: fields.PositiveExtendedNumber

    @property
    def focal_sets(self) -> FocalSets:
        """Sets that carry mass."""
        return self.landmarks.focal_sets

    def assign(self, rows: Any, weights: Any = None) -> FloatArray:
        """Return the masses of rows."""
        out = np.empty((len(rows), len(self.focal_sets)), dtype=rows.dtype)
        for block in row_blocks(len(rows)):
            with np.errstate(over="ignore"):
                is_far = (np.abs(rows[block] - self.center) > self.reach).any(axis=1)
            replaced = np.where(is_far[:, None], self.center.astype(rows.dtype), rows[block])
            partitions = [predicted_partition(clusterer, replaced) for clusterer in self.clusterers]
            out[block] = self.landmarks.masses_of(partitions)
            out[block][is_far] = np.arange(out.shape[1]) == 0  # all mass on the empty set
        return out


def _measure_extent(data: FloatArray) -> tuple[FloatArray, float]:
    """Return the mean and the reach of a training set, without extreme rows."""
    ordinary = np.asarray(data[distance_ratios(data) <= EXTREME_RATIO], dtype=np.float64)
    center = np.nanmean(ordinary, axis=0)
    return center, _RELATIVE_REACH * (float(np.nanmax(np.abs(ordinary - center))) or 1.0)


def _select_rows(clusterer: Any, ordinary: IntArray, n_samples: int) -> IntArray | None:
    """Return the rows that a clusterer of a list is fitted to; None for all, also if it cannot predict."""
    last = split_pipeline(clusterer)[1]
    can_predict = hasattr(last, "predict") or hasattr(last, "predict_mass")
    return ordinary if can_predict and len(ordinary) < n_samples else None


def _fit_clusterer(clusterer: Any, data: FloatArray, rows: IntArray | None) -> tuple[Any, CredalPartition]:
    """Fit a clusterer to all or some rows, and compute its partition of all rows."""
    if rows is None:
        fitted = clusterer.fit(data)
        return fitted, fitted_partition(fitted, data)
    fitted = clusterer.fit(data[rows])
    return fitted, predicted_partition(fitted, data)
