"""BootClus: model-based evidential clustering, calibrated by the bootstrap."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from evlearn.belief import FocalSets, check_masses
from evlearn.blocks.open import needs_blocks
from evlearn.cluster.centroids.kmeans import rows_to_fit
from evlearn.cluster.focal_families import (
    FamilyLike,
    has_two_steps,
    make_focal_sets,
    mutual_neighbors,
    n_pair_neighbors,
)
from evlearn.cluster.model_based.intervals import PairIntervals, percentile_intervals, replicate_probabilities
from evlearn.cluster.pairwise.irqp import SweepResult, rows_against, stratified_indices, sweep_masses
from evlearn.cluster.pairwise.pair_graph import check_partners, choose_pairs, pairs_with_targets
from evlearn.cluster.row_clusterer import BlockModel, RowwiseClusterer
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.mixture.bootstrap import GaussianReplicates, Replicates, bootstrap
from evlearn.partition import CredalPartition
from evlearn.partition.relational import check_pairs
from evlearn.storage import fields
from evlearn.utils.convergence import Report, Trace, atomic_fit, publish_trace, warn_caller
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.progress import Count, Steps, expect_tasks, report_message
from evlearn.utils.reading import Numbers
from evlearn.utils.typing import BoolArray, EstimatorLike, FloatArray, IntArray, RandomSeed
from evlearn.utils.validation import (
    check_integer,
    check_no_extreme_rows,
    check_real,
    check_shape,
)

# Number of reference samples for predictions.
_REFERENCE_SAMPLES = 200
_NUMBERS_OF_CLUSTERS = range(1, 10)
# Minimum number of replicates for percentiles.
_MIN_REPLICATES = 20
# Number of components of the model of missing values if the number of clusters is unknown.
_GAP_COMPONENTS = 5


@fields.stored
class BootClus(RowwiseClusterer):
    r"""Calibrated evidential clustering with a mixture model and bootstrap confidence intervals.

    A mixture model provides a probability that 2 samples belong to the same cluster, but no measure of its
    reliability. BootClus also fits the model to many resamples of the data, computes a confidence interval for
    each pair of samples, and finds mass functions whose degrees of belief and plausibility of "same cluster" are
    as close as possible to the bounds of these intervals. If clusters are Gaussian, belief and plausibility
    enclose the true probability with a frequency of about `confidence_level`, on average over data sets. If the
    covariance model is selected by the criterion, each resample repeats the selection among models that were
    nearly as good, because the selection is uncertain, too.

    A few samples very far from all clusters are treated as gross errors: the mixtures are fitted without them, and
    they get masses like new samples. Samples that are a million standard deviations from all components may be in
    any cluster: their mass is on the largest sets.

    Missing values (NaN) increase doubt: mixtures are fitted to samples that are completed at random, and the
    masses of a sample with missing values are averages over its completions, with additional mass on the set of
    all clusters.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters. None: the number between 1 and 9 with the best Bayesian information criterion.
    covariance_models : "auto", str or list of str, default="auto"
        Covariance models among which that criterion selects one; see `ParsimoniousGaussianMixture`. The minimum
        variance of components is 10 times that of a mixture alone, because a thin component is rarely a cluster.
    mixture : estimator or None, default=None
        Alternative to the 2 parameters above: a `ParsimoniousGaussianMixture` with other settings, a scikit-learn
        mixture, or any estimator with `fit` and `predict_proba`. Its number of components is the number of
        clusters.
    confidence_level : float, default=0.9
        Share of pairs whose probability the intervals should contain.
    n_bootstrap : int, default=100
        Number of resamples. The variance of the bounds decreases with the number; use 500 for publications.
    focal_sets : str, FocalFamily, FocalSets or list of sets, default="pairs"
        Sets of clusters that may carry mass. "pairs": single clusters and all pairs; "simple": single clusters
        only; "full": all sets; "neighbor_pairs": single clusters, and pairs of clusters that share samples, for
        many clusters.
    n_partners : int, "auto" or "all", default="auto"
        Number of other samples with which each sample is compared. "auto": all for up to 2000 samples, and 200
        random samples for more.
    tol : float, default=1e-4
        Relative decrease of the objective in a sweep below which the fit has converged.
    max_iter : int, default=100
        Maximum number of sweeps.
    random_state : int, RandomState instance or None, default=None
        Seed, for reproducible results.
    n_jobs : int or None, default=None
        Number of mixtures that are fitted in parallel, by processes or the backend of ``joblib.parallel_config``,
        and number of threads that compare samples. The result does not depend on it.
    verbose : int, default=0
        Whether to report progress.

    Attributes
    ----------
    credal_partition_ : CredalPartition
        Credal partition, whose clusters are the components of `mixture_`, in the same order.
    labels_ : ndarray of int of shape (n_samples,)
        Most plausible cluster of each sample.
    masses_ : ndarray of shape (n_samples, n_focal_sets)
        Masses, read-only. The mass of the empty set is 0, because mixtures have no outliers.
    focal_sets_ : FocalSets
        Sets of the columns of the masses.
    mixture_ : estimator
        Mixture fitted to all samples.
    n_clusters_ : int
        Number of clusters.
    intervals_ : PairIntervals
        Pairs of samples, the bounds of their confidence intervals, and the degrees of belief and plausibility
        that approximate the bounds.
    n_bootstrap_ : int
        Number of resamples, which is less than `n_bootstrap` after an interruption.
    objective_ : float
        Mean over the pairs of the squared differences of belief and plausibility from the 2 bounds.
    objective_history_ : ndarray of shape (n_iterations + 1,)
        Objective before the first and after each sweep.
    n_iter_ : int
        Number of sweeps.
    converged_ : bool
        Whether the last sweep changed the objective by less than `tol`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X has any.

    See Also
    --------
    evlearn.mixture.ParsimoniousGaussianMixture : Mixture models that BootClus uses.

    References
    ----------
    Denœux (2020), Calibrated model-based evidential clustering using bootstrapping,
    Information Sciences 528, doi:10.1016/j.ins.2020.04.014.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from evlearn.cluster import BootClus
    >>> X = load_iris().data
    >>> model = BootClus(n_clusters=3, n_bootstrap=200, random_state=0).fit(X)
    >>> model.mixture_.model_
    'VEV'
    >>> intervals = model.intervals_
    >>> bool((intervals.belief <= intervals.plausibility).all())
    True
    """

    _model: "fields.Stored[BootstrapModel]"
    n_clusters_: fields.StoredIfSet[fields.PositiveCount]
    n_bootstrap_: fields.StoredIfSet[fields.PositiveCount]

    _takes_gaps = True
    # "stopping" is "last" or "average" (the running average of the papers). "selection" is "each" or "once" (all
    # resamples have the covariance model of the original data, as in the paper). "n_init" and "variance_floor" are
    # parameters of the mixture models if `mixture` is None.
    _switches = MappingProxyType({"stopping": "last", "selection": "each", "n_init": 4, "variance_floor": 0.1})

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        covariance_models: str | Sequence[str] = "auto",
        mixture: EstimatorLike | None = None,
        confidence_level: float = 0.9,
        n_bootstrap: int = 100,
        focal_sets: FamilyLike = "pairs",
        n_partners: int | Literal["auto", "all"] = "auto",
        tol: float = 1e-4,
        max_iter: int = 100,
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.covariance_models = covariance_models
        self.mixture: Any = mixture
        self.confidence_level = confidence_level
        self.n_bootstrap = n_bootstrap
        self.focal_sets = focal_sets
        self.n_partners = n_partners
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @atomic_fit
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Fit the mixture, resample it, and find the mass functions of the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : None, default=None
            Not used; present for API consistency.

        Returns
        -------
        Self
            Fitted estimator.
        """
        numbers = self._read_samples(X)
        # The number of clusters may not be known yet.
        complete = self._fill_missing(numbers, self.n_clusters or _GAP_COMPONENTS)
        ordinary = self._rows_to_fit(complete)
        data = complete[ordinary]
        check_no_extreme_rows("X", data)
        random = check_random_state(self.random_state)
        expect_tasks(3)
        mixture = self._fit_mixture(data, random)
        shares = mixture.predict_proba(data)
        self._check_evidence(len(data), shares.shape[1])
        focal_sets = self._make_focal_sets(shares)
        replicates, probabilities = self._bootstrap(mixture, data, random)
        pairs = choose_pairs(len(data), self.n_partners, random)
        pair = probabilities, probabilities
        lower, upper = percentile_intervals(*pair, pairs, self.confidence_level, n_jobs=self.n_jobs)
        self.mixture_, self.n_clusters_, self.n_bootstrap_ = mixture, focal_sets.frame_size, len(replicates)
        with one_blas_thread():
            trace = masses_from_intervals(
                pairs,
                lower,
                upper,
                masses_of_probabilities(shares, focal_sets),
                focal_sets,
                tol=self.tol,
                stopping=self._switches["stopping"],
                max_iter=self.max_iter,
                report=Steps(self.max_iter, unit="sweep"),
            )
            partition = CredalPartition(trace.state.masses, focal_sets, validate=False)
            relation = partition.relational(pairs)
            bounds = lower, upper, relation.same_cluster, relation.plausibility_same
            self.intervals_ = PairIntervals(np.flatnonzero(ordinary)[pairs], *bounds)
            self._model = self._make_model(replicates, probabilities, partition, random)
            partition = self._partition_of_all(partition, complete, ordinary)
            self._publish(self._add_doubt(numbers, partition, self._model.assign))
        self._learn_gaps(data, self.n_clusters_)
        self._name_samples(X)
        publish_trace(self, trace, "the objective", max_iter=self.max_iter, steps="sweeps")
        return self

    def pair_probabilities(self, X: ArrayLike, pairs: ArrayLike) -> FloatArray:
        """Compute the probabilities that samples belong to the same cluster, under each resampled mixture.

        The bounds of the confidence intervals are percentiles of these numbers, which take 4 bytes for each pair
        and each resample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples or new samples, without missing values.
        pairs : array-like of int of shape (n_pairs, 2)
            Pairs of sample numbers.

        Returns
        -------
        ndarray of float32 of shape (n_pairs, n_resamples)
            Probabilities.
        """
        check_is_fitted(self)
        numbers = self._read_data(X, reset=False)
        if numbers.has_gaps:
            raise ValueError(
                "X has missing values, but probabilities of pairs need complete samples; impute X first."
            )
        samples = check_pairs(pairs, len(numbers.data))
        rows, positions = np.unique(samples, return_inverse=True)
        shares = self._model.replicates.posterior(numbers.data[rows].astype(np.float64, copy=False))
        first, second = np.ascontiguousarray(positions.reshape(samples.shape).T, dtype=np.intp)
        return replicate_probabilities(shares, shares, first, second)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.n_clusters is not None:
            check_integer("n_clusters", self.n_clusters, 1)
        if self.mixture is not None and not (self.n_clusters is None and self.covariance_models == "auto"):
            raise ValueError(
                f"mixture={self.mixture!r} has its own number of components and model; leave n_clusters=None and "
                f"covariance_models='auto', got {self.n_clusters!r} and {self.covariance_models!r}."
            )
        check_real("confidence_level", self.confidence_level, 0, 1)
        check_integer("n_bootstrap", self.n_bootstrap, 2)
        check_partners(self.n_partners)

    def _read_samples(self, X: ArrayLike) -> Numbers:
        self._check_parameters()
        if needs_blocks(X):
            raise ValueError(
                f"BootClus needs data in memory, but X is {type(X).__name__}; use an array or a frame."
            )
        return self._read_data(X, reset=True)

    # The mixture and its resamples

    def _rows_to_fit(self, data: FloatArray) -> BoolArray:
        """Return True for rows that are not gross errors; for all rows if the number of clusters is unknown."""
        numbers = _NUMBERS_OF_CLUSTERS if self.n_clusters is None else self.n_clusters
        if self.mixture is not None:
            numbers = getattr(self.mixture, "n_components", None)
        try:
            largest = int(np.max(numbers))
        except (TypeError, ValueError):
            return np.ones(len(data), dtype=bool)
        return rows_to_fit(data, largest)

    def _fit_mixture(self, data: FloatArray, random: np.random.RandomState) -> Any:
        if self.n_clusters is not None and self.n_clusters > len(data):
            raise ValueError(
                f"n_clusters={self.n_clusters} is more than n_samples={len(data)}; use fewer clusters."
            )
        seed = random.randint(np.iinfo(np.int32).max)
        if self.mixture is None:
            mixture = ParsimoniousGaussianMixture(
                _NUMBERS_OF_CLUSTERS if self.n_clusters is None else self.n_clusters,
                covariance_models=self.covariance_models,
                n_init=self._switches["n_init"],
                variance_floor=self._switches["variance_floor"],
                random_state=seed,
                n_jobs=self.n_jobs,
            )
        else:
            mixture = clone(self.mixture)
            if mixture.get_params().get("random_state", seed) is None:
                mixture.set_params(random_state=seed)
        try:
            with warnings.catch_warnings():
                # An interruption is an error here, because there is no result without resamples.
                warnings.filterwarnings("ignore", "interrupted after", ConvergenceWarning)
                mixture.fit(data)
        except ValueError as error:
            if self.mixture is not None:
                raise
            raise ValueError(
                str(error).replace("n_components", "n_clusters")
            ) from error  # the name of the parameter of BootClus
        if getattr(mixture, "_interrupted", False):
            raise KeyboardInterrupt("interrupted while the mixture was selected, before the first resample")
        report_message(f"mixture {getattr(mixture, 'model_', mixture)}")
        return mixture

    def _make_focal_sets(self, shares: FloatArray) -> FocalSets:
        n_clusters = shares.shape[1]
        if n_clusters == 1 and self.n_clusters is None:
            warn_caller(
                "the mixture has a single component, so all samples are in one cluster; use a number for "
                "n_clusters to find more."
            )
        family = make_focal_sets(self.focal_sets, n_clusters, include_omega=False)
        if has_two_steps(self.focal_sets):
            family = family.with_sets(mutual_neighbors(shares.T @ shares, n_pair_neighbors(self.focal_sets)))
        return self._allow_ignorance(family)

    def _bootstrap(
        self, mixture: Any, data: FloatArray, random: np.random.RandomState
    ) -> tuple[Replicates, FloatArray]:
        report = Count("bootstrap", "resample", self.n_bootstrap).set_done
        is_repeated = self._switches["selection"] == "each"
        result = bootstrap(
            mixture, data, self.n_bootstrap, random, reselect=is_repeated, n_jobs=self.n_jobs, report=report
        )
        number = len(result[0])
        if number < min(_MIN_REPLICATES, self.n_bootstrap):
            raise KeyboardInterrupt
        if number < self.n_bootstrap:
            message = (
                f"interrupted after {number} of n_bootstrap={self.n_bootstrap} resamples; the result uses these."
            )
            warn_caller(message, ConvergenceWarning)
        return result

    def _make_model(
        self,
        replicates: Replicates,
        probabilities: FloatArray,
        partition: CredalPartition,
        random: np.random.RandomState,
    ) -> "BootstrapModel":
        references = stratified_indices(partition.to_hard(), _REFERENCE_SAMPLES, random)
        return BootstrapModel(
            replicates=replicates,
            probabilities=probabilities[references],
            masses=np.ascontiguousarray(partition.mass_table[references]),
            focal_sets=partition.focal_sets,
            confidence=self.confidence_level,
        )

    def _partition_of_all(
        self, partition: CredalPartition, data: FloatArray, ordinary: BoolArray
    ) -> CredalPartition:
        """Return the partition of all rows, by that of the ordinary rows and the model."""
        if ordinary.all():
            return partition
        masses = np.empty((len(data), len(partition.focal_sets)))
        masses[ordinary], masses[~ordinary] = partition.masses, self._model.assign(data[~ordinary])
        return CredalPartition(masses, partition.focal_sets, validate=False)

    def _after_loading(self) -> None:
        """Raise unless the attributes from a file are consistent."""
        super()._after_loading()
        model = self._model
        check_masses(model.masses, model.focal_sets)
        replicates: Any = model.replicates
        _, n_components, n_features = replicates.mixtures.means.shape
        fields.check_features(self, n_features)
        if n_components != model.focal_sets.frame_size:
            raise ValueError(f"its mixtures have {n_components} components, which is not the number of clusters")
        replicates.posterior(replicates.units.center[None])  # raises if a covariance matrix is singular
        fields.check_count(self, "n_clusters_", n_components)
        fields.check_count(self, "n_bootstrap_", len(replicates))


@fields.stored
@dataclass(frozen=True, kw_only=True)
class BootstrapModel(BlockModel):
    """Model that assigns masses to rows, by resampled mixtures and reference samples.

    Attributes
    ----------
    replicates : Replicates
        Resampled mixtures.
    probabilities : ndarray of float32 of shape (n_reference, n_clusters, n_replicates)
        Probabilities of the clusters for the reference samples.
    confidence : float
        Confidence level of the intervals.
    """

    replicates: Annotated[Replicates, fields.instance(GaussianReplicates)]
    probabilities: Annotated[FloatArray, fields.array(3, low=0, high=fields.LARGEST_MASS)]
    confidence: fields.Fraction

    def __post_init__(self) -> None:
        # Compiled code reads these arrays without bounds checks.
        check_shape("masses", self.masses, (len(self.masses), len(self.focal_sets)))
        shape = (len(self.masses), self.focal_sets.frame_size, len(self.replicates))
        check_shape("probabilities", self.probabilities, shape)
        if not all(shape) or self.probabilities.dtype != np.float32:
            raise ValueError(
                f"probabilities must be a nonempty array of float32, got shape {shape} and type "
                f"{self.probabilities.dtype}."
            )

    def masses_of(self, rows: FloatArray) -> FloatArray:
        """Return the masses of a block of rows; see `BlockModel`."""
        shares, n_reference = self.replicates.posterior(rows), len(self.masses)
        pairs = np.indices((len(shares), n_reference)).reshape(2, -1).T
        lower, upper = percentile_intervals(shares, self.probabilities, pairs, self.confidence)
        targets = np.hstack([lower.reshape(-1, n_reference), 1 - upper.reshape(-1, n_reference)])
        targets = targets.astype(np.float64)
        # Without any density, a row may be in the cluster of any reference sample, or in none of these.
        targets[(shares.max(axis=1) == 0).any(axis=1)] = 0
        return _with_empty_set(rows_against(targets, self.masses[:, 1:], same_cluster_forms(self.focal_sets)))


def masses_from_intervals(
    pairs: IntArray,
    lower: FloatArray,
    upper: FloatArray,
    start: FloatArray,
    focal_sets: FocalSets,
    *,
    tol: float = 1e-4,
    stopping: str = "last",
    max_iter: int = 100,
    report: Report | None = None,
) -> Trace[SweepResult]:
    """Find the masses whose belief and plausibility of "same cluster" are closest to the bounds of intervals."""
    trace = sweep_masses(
        pairs_with_targets(pairs, np.stack([lower, 1 - upper]), len(start)),
        start[:, 1:],
        focal_sets,
        eta=1 / len(pairs),
        tol=tol,
        stopping=stopping,
        max_iter=max_iter,
        forms=same_cluster_forms(focal_sets),
        report=report,
    )
    return trace.with_state(replace(trace.state, masses=_with_empty_set(trace.state.masses)))


def same_cluster_forms(focal_sets: FocalSets) -> FloatArray:
    """Return the bilinear forms of 2 mass functions for the belief, and for 1 minus the plausibility."""
    return np.stack([focal_sets.same_singleton_matrix, focal_sets.conflict_matrix])[:, 1:, 1:]


def masses_of_probabilities(shares: FloatArray, focal_sets: FocalSets) -> FloatArray:
    """Convert probabilities of the clusters to masses."""
    masses = np.zeros((len(shares), len(focal_sets)))
    masses[:, focal_sets.singleton_positions] = shares
    return masses


def _with_empty_set(masses: FloatArray) -> FloatArray:
    return np.hstack([np.zeros((len(masses), 1)), masses])
