"""BootClus: model-based evidential clustering, calibrated by the bootstrap."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from evlearn.belief import FocalSets
from evlearn.belief.focal_sets import FocalSetsLike
from evlearn.blocks.open import is_elsewhere
from evlearn.cluster.centroids.robust_kmeans import rows_to_fit
from evlearn.cluster.focal_families import in_two_steps, make_focal_sets, mutual_neighbors
from evlearn.cluster.model_based.intervals import PairIntervals, percentile_intervals, replicated
from evlearn.cluster.pairwise.irqp import STOPPING, Swept, rows_against, stratified, sweep_masses
from evlearn.cluster.pairwise.pair_graph import pairs_with_targets
from evlearn.cluster.pairwise.partners import check_partners, choose_pairs
from evlearn.cluster.rowwise import BlockModel, RowwiseClusterer
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.mixture.bootstrap import Replicates, bootstrap
from evlearn.partition import CredalPartition
from evlearn.partition.relational import check_pairs
from evlearn.utils.convergence import Report, Trace, publish_trace, warn_caller, whole_or_nothing
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.progress import Count, Steps, expect, say
from evlearn.utils.typing import BoolArray, EstimatorLike, FloatArray, IntArray, RandomSeed
from evlearn.utils.validation import (
    check_choice,
    check_flag,
    check_integer,
    check_real,
    check_shape,
    refuse_remote,
)

_REFERENCE_OBJECTS = 200
_NUMBERS_OF_CLUSTERS = range(1, 10)
# Percentiles of fewer replicates mean nothing.
_FEWEST_REPLICATES = 20
_COMPONENTS_FOR_GAPS = 5


class BootClus(RowwiseClusterer):
    r"""Calibrated evidential clustering: how sure a mixture model can be, from bootstrap confidence intervals.

    A mixture model gives each pair of samples a probability of belonging to the same cluster, but not how reliable
    that probability is. BootClus fits the model again to many resamples of the data, takes a confidence interval
    for each pair, and finds mass functions whose degrees of belief and plausibility of "same cluster" are the
    bounds of these intervals, as nearly as can be. If clusters are Gaussian, belief and plausibility enclose the
    true probability about as often as `confidence` says, on the average over data sets. If the covariance model is
    chosen, each resample chooses again, among models that were nearly as good: the choice is uncertain too.

    A few samples very far from all clusters are treated as gross errors: the mixtures are fitted without them, and
    they are given masses as new samples are. Samples that are a million standard deviations from all components
    may be in any cluster: their mass is on the largest sets.

    Missing values (NaN) become doubt: mixtures are fitted to samples that were completed at random, the masses of
    a sample with gaps are those that it would have on average, and what remains open is mass on the set of all
    clusters.

    Parameters
    ----------
    n_clusters : int or None, default=None
        The number of clusters; None chooses it, between 1 and 9, by the Bayesian information criterion.
    covariance_models : "auto", str or list of str, default="auto"
        Covariance models among which that criterion chooses; see `ParsimoniousGaussianMixture`.
    mixture : estimator or None, default=None
        Another mixture instead of these two: a `ParsimoniousGaussianMixture` with other settings, a
        scikit-learn mixture, or any estimator with `fit` and `predict_proba`. Its number of components is the
        number of clusters.
    confidence : float, default=0.9
        The share of pairs whose probability the intervals should contain.
    n_bootstrap : int, default=100
        How many resamples. Bounds waver less with more: five hundred for figures in print.
    focal_sets : {"pairs", "simple", "full", "neighbor_pairs"}, FocalSets or list of sets, default="pairs"
        The sets of clusters that may carry mass. "pairs": single clusters and all pairs; "simple": single clusters
        only, unless `include_omega`; "full": all sets; "neighbor_pairs": single clusters, and pairs of clusters
        that share samples, for many clusters.
    include_omega : bool, default=False
        Whether the set of all clusters belongs to "simple", "pairs" and "neighbor_pairs".
    n_pair_neighbors : int, default=1
        For "neighbor_pairs": how many of its most similar clusters count as a cluster's neighbours.
    n_partners : int, "auto" or "all", default="auto"
        How many other samples each sample is compared with. "auto" means all of up to 2000 samples, and 200 drawn
        at random beyond.
    tol : float, default=1e-4
        A sweep that lowers the objective by less than this share of it is the last.
    stopping : {"last", "average"}, default="last"
        Which change `tol` judges: that of the last sweep, or the running average of the papers, which is 1 at
        first, and then the mean of itself and of the last change.
    max_iter : int, default=100
        The largest number of sweeps.
    n_init : int, default=4
        How many starts the mixture models have.
    variance_floor : float, default=0.01
        The smallest variance of a component, as a share of the variances of the features within clusters; see
        `ParsimoniousGaussianMixture`. 0 is none, as in R.
    random_state : int, RandomState instance or None, default=None
        The seed, for results that can be repeated.
    n_jobs : int or None, default=None
        How many mixtures are fitted at the same time, by processes or what ``joblib.parallel_config`` says, and
        how many threads compare samples. The result does not depend on it.
    verbose : int, default=0
        Whether to report progress.

    Attributes
    ----------
    credal_partition_ : CredalPartition
        The result. Its clusters are the components of `mixture_`, in the same order.
    labels_ : ndarray of int of shape (n_samples,)
        The most plausible cluster of each sample.
    masses_ : ndarray of shape (n_samples, n_focal_sets)
        The masses, read-only. The empty set has none: mixtures know no outliers.
    focal_sets_ : FocalSets
        What the columns of the masses stand for.
    mixture_ : estimator
        The mixture fitted to all samples.
    n_clusters_ : int
        The number of clusters.
    intervals_ : PairIntervals
        The pairs that were looked at, the bounds of their confidence intervals, and the degrees of belief and
        plausibility that approximate them.
    n_bootstrap_ : int
        How many resamples there were: fewer than `n_bootstrap` after an interruption.
    objective_ : float
        The squared difference of both bounds to belief and plausibility, together, as a mean over the pairs.
    objective_history_ : ndarray of shape (n_iterations + 1,)
        The objective before the first sweep, and after each.
    n_iter_ : int
        The number of sweeps.
    converged_ : bool
        Whether the last sweep changed the objective by less than `tol`.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str
        The names of the features, where X has any.

    See Also
    --------
    evlearn.mixture.ParsimoniousGaussianMixture : The mixture models behind it.

    References
    ----------
    Denœux (2020).

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

    _takes_gaps = True

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        covariance_models: str | Sequence[str] = "auto",
        mixture: EstimatorLike | None = None,
        confidence: float = 0.9,
        n_bootstrap: int = 100,
        focal_sets: Literal["pairs", "simple", "full", "neighbor_pairs"] | FocalSetsLike = "pairs",
        include_omega: bool = False,
        n_pair_neighbors: int = 1,
        n_partners: int | Literal["auto", "all"] = "auto",
        tol: float = 1e-4,
        stopping: Literal["last", "average"] = "last",
        max_iter: int = 100,
        n_init: int = 4,
        variance_floor: float = 0.01,
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.covariance_models = covariance_models
        self.mixture: Any = mixture
        self.confidence = confidence
        self.n_bootstrap = n_bootstrap
        self.focal_sets = focal_sets
        self.include_omega = include_omega
        self.n_pair_neighbors = n_pair_neighbors
        self.n_partners = n_partners
        self.tol = tol
        self.stopping = stopping
        self.max_iter = max_iter
        self.n_init = n_init
        self.variance_floor = variance_floor
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @whole_or_nothing
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Fit the mixture, resample it, and find the mass functions of the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : None, default=None
            Not used; present for scikit-learn's conventions.

        Returns
        -------
        BootClus
            The fitted estimator.
        """
        self._check_parameters()
        if is_elsewhere(X):
            raise ValueError(
                f"BootClus needs data in memory, and X is {type(X).__name__}; give an array or a frame."
            )
        numbers = self._read(X, reset=True)
        filled = self._filled(numbers, self._n_components)
        ordinary = self._rows_to_fit(filled)
        data = filled[ordinary]
        refuse_remote("X", data)
        random = check_random_state(self.random_state)
        expect(3)
        mixture = self._fit_mixture(data, random)
        shares = mixture.predict_proba(data)
        self._check_evidence(len(data), shares.shape[1])
        focal_sets = self._make_focal_sets(shares)
        replicates, probabilities = self._bootstrap(mixture, data, random)
        pairs = choose_pairs(len(data), self.n_partners, random)
        lower, upper = percentile_intervals(
            probabilities, probabilities, pairs, self.confidence, n_jobs=self.n_jobs
        )
        with one_blas_thread():
            trace = masses_from_intervals(
                pairs,
                lower,
                upper,
                on_single_clusters(shares, focal_sets),
                focal_sets,
                tol=self.tol,
                stopping=self.stopping,
                max_iter=self.max_iter,
                report=Steps(self.max_iter, unit="sweep"),
            )
        self.mixture_, self.n_clusters_, self.n_bootstrap_ = mixture, focal_sets.frame_size, len(replicates)
        partition = CredalPartition(trace.state.masses, focal_sets, validate=False)
        same = partition.relational(pairs)
        samples = np.flatnonzero(ordinary)[pairs]
        self.intervals_ = PairIntervals(samples, lower, upper, same.same, same.plausibility_same)
        chosen = stratified(partition.to_hard(), _REFERENCE_OBJECTS, random)
        self._model = BootstrapModel(
            replicates=replicates,
            probabilities=probabilities[chosen],
            masses=np.ascontiguousarray(partition.masses[chosen]),
            focal_sets=focal_sets,
            confidence=self.confidence,
        )
        with one_blas_thread():
            if not ordinary.all():
                masses = np.empty((len(filled), len(focal_sets)))
                masses[ordinary], masses[~ordinary] = partition.masses, self._model.assign(filled[~ordinary])
                partition = CredalPartition(masses, focal_sets, validate=False)
            self._publish(self._doubted(numbers, partition, self._model.assign))
        self._learn_gaps(data, self.n_clusters_)
        self._name_samples(X)
        publish_trace(self, trace, "the objective", max_iter=self.max_iter, steps="sweeps")
        return self

    def pair_probabilities(self, X: ArrayLike, pairs: ArrayLike) -> FloatArray:
        """The probability that two samples belong to the same cluster, under each resampled mixture.

        These are the numbers of which the confidence intervals are percentiles. They are computed when they are
        asked for, and take four bytes for each pair and each resample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, new or old, without missing values.
        pairs : array-like of int of shape (n_pairs, 2)
            Pairs of them, by their numbers.

        Returns
        -------
        ndarray of float32 of shape (n_pairs, n_resamples)
            The probabilities.
        """
        check_is_fitted(self)
        numbers = self._read(X, reset=False)
        if numbers.has_gaps:
            raise ValueError("X has missing values, and probabilities of pairs need complete samples.")
        chosen = check_pairs(pairs, len(numbers.data))
        used, places = np.unique(chosen, return_inverse=True)
        shares = self._model.replicates.posterior(numbers.data[used].astype(np.float64, copy=False))
        first, second = np.ascontiguousarray(places.reshape(chosen.shape).T, dtype=np.intp)
        return replicated(shares, shares, first, second)

    def _check_parameters(self) -> None:
        if self.n_clusters is not None:
            check_integer("n_clusters", self.n_clusters, 1)
        if self.mixture is not None and not (self.n_clusters is None and self.covariance_models == "auto"):
            raise ValueError(
                f"mixture={self.mixture!r} has its own number of components and model; leave n_clusters=None and "
                f"covariance_models='auto', got {self.n_clusters!r} and {self.covariance_models!r}."
            )
        check_real("confidence", self.confidence, 0, 1)
        check_flag("include_omega", self.include_omega)
        check_integer("n_bootstrap", self.n_bootstrap, 2)
        check_integer("n_pair_neighbors", self.n_pair_neighbors, 1)
        check_partners(self.n_partners)
        check_real("tol", self.tol, 0)
        check_choice("stopping", self.stopping, STOPPING)
        check_integer("max_iter", self.max_iter, 1)

    # The mixture and its resamples

    @property
    def _n_components(self) -> int:
        """How many components complete samples with gaps, before it is known how many clusters there are."""
        return _COMPONENTS_FOR_GAPS if self.n_clusters is None else self.n_clusters

    def _rows_to_fit(self, data: FloatArray) -> BoolArray:
        """Return True for rows that are no gross errors; for all if the number of clusters is not known at all."""
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
            raise ValueError(f"n_clusters={self.n_clusters} is more than the {len(data)} samples; give fewer.")
        seed = random.randint(np.iinfo(np.int32).max)
        if self.mixture is None:
            mixture = ParsimoniousGaussianMixture(
                _NUMBERS_OF_CLUSTERS if self.n_clusters is None else self.n_clusters,
                covariance_models=self.covariance_models,
                n_init=self.n_init,
                variance_floor=self.variance_floor,
                random_state=seed,
                n_jobs=self.n_jobs,
            )
        else:
            mixture = clone(self.mixture)
            if mixture.get_params().get("random_state", seed) is None:
                mixture.set_params(random_state=seed)
        try:
            with warnings.catch_warnings():
                # Without resamples a mixture is nothing that could be kept.
                warnings.filterwarnings("ignore", "interrupted after", ConvergenceWarning)
                mixture.fit(data)
        except ValueError as error:
            if self.mixture is not None:
                raise
            raise ValueError(str(error).replace("n_components", "n_clusters")) from error  # as it is called here
        if getattr(mixture, "_interrupted", False):
            raise KeyboardInterrupt("interrupted while the mixture was chosen, before the first resample")
        say(f"mixture {getattr(mixture, 'model_', mixture)}")
        return mixture

    def _make_focal_sets(self, shares: FloatArray) -> FocalSets:
        n_clusters = shares.shape[1]
        if n_clusters == 1 and self.n_clusters is None:
            warn_caller(
                "the mixture has one component only, so all samples belong to one cluster for sure; give "
                "n_clusters to have more."
            )
        family = make_focal_sets(self.focal_sets, n_clusters, include_omega=self.include_omega)
        if in_two_steps(self.focal_sets):
            family = family.with_sets(mutual_neighbors(shares.T @ shares, self.n_pair_neighbors))
        return self._room_for_ignorance(family)

    def _bootstrap(
        self, mixture: Any, data: FloatArray, random: np.random.RandomState
    ) -> tuple[Replicates, FloatArray]:
        report = Count("bootstrap", "resample", self.n_bootstrap).reach
        found = bootstrap(mixture, data, self.n_bootstrap, random, n_jobs=self.n_jobs, report=report)
        number = len(found[0])
        if number < min(_FEWEST_REPLICATES, self.n_bootstrap):
            raise KeyboardInterrupt
        if number < self.n_bootstrap:
            message = (
                f"interrupted after {number} of n_bootstrap={self.n_bootstrap} resamples; the result uses these."
            )
            warn_caller(message, ConvergenceWarning)
        return found

    # From intervals to masses


@dataclass(frozen=True, kw_only=True)
class BootstrapModel(BlockModel):
    """Resampled mixtures, and some samples with known masses: what gives a row its masses.

    Attributes
    ----------
    replicates : Replicates
        The mixtures.
    probabilities : ndarray of float32 of shape (n_known, n_clusters, n_replicates)
        The probabilities of the clusters of the known samples.
    confidence : float
        That of the intervals.
    """

    replicates: Replicates
    probabilities: FloatArray
    confidence: float

    def __post_init__(self) -> None:
        # Compiled code reads these without looking.
        check_shape("masses", self.masses, (len(self.masses), len(self.focal_sets)))
        known = (len(self.masses), self.focal_sets.frame_size, len(self.replicates))
        check_shape("probabilities", self.probabilities, known)
        if not all(known) or self.probabilities.dtype != np.float32:
            raise ValueError(f"probabilities must be an array of float32, and not empty, got shape {known}.")

    def masses_of(self, rows: FloatArray) -> FloatArray:
        """The masses of a few rows; see `BlockModel`."""
        shares, known = self.replicates.posterior(rows), len(self.masses)
        pairs = np.indices((len(shares), known)).reshape(2, -1).T
        lower, upper = percentile_intervals(shares, self.probabilities, pairs, self.confidence)
        targets = np.hstack([lower.reshape(-1, known), 1 - upper.reshape(-1, known)]).astype(np.float64)
        # Samples that no mixture says anything about may be with anyone, or with nobody.
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
) -> Trace[Swept]:
    """The masses for which belief and plausibility of "same cluster" are nearest to the bounds of intervals."""
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
    return trace.at(replace(trace.state, masses=_with_empty_set(trace.state.masses)))


def same_cluster_forms(focal_sets: FocalSets) -> FloatArray:
    """The forms of two mass functions without the empty set that give belief, and one minus plausibility."""
    return np.stack([focal_sets.same_singleton_matrix, focal_sets.conflict_matrix])[:, 1:, 1:]


def on_single_clusters(shares: FloatArray, focal_sets: FocalSets) -> FloatArray:
    """Probabilities of the clusters as masses."""
    masses = np.zeros((len(shares), len(focal_sets)))
    masses[:, focal_sets.singleton_positions] = shares
    return masses


def _with_empty_set(masses: FloatArray) -> FloatArray:
    return np.hstack([np.zeros((len(masses), 1)), masses])


__all__ = ["BootClus", "masses_from_intervals"]
