"""Constrained evidential c-means (CECM)."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import pdist
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from evlearn.belief import FocalSets
from evlearn.blocks.dataset import ArrayDataset
from evlearn.cluster.base import EvidentialClusterer
from evlearn.cluster.centroids.adaptive import AdaptiveMetric, AdaptiveModel, check_metric, make_model
from evlearn.cluster.centroids.clusterer import DistanceFeatures
from evlearn.cluster.centroids.constrained_descent import PENALTIES, Problem, State, descend_constrained
from evlearn.cluster.centroids.fit import Alternation, check_no_remote_rows
from evlearn.cluster.centroids.kmeans import squared_distances
from evlearn.cluster.centroids.model import EuclideanModel
from evlearn.cluster.centroids.scales import Scales, number_or_none
from evlearn.cluster.centroids.starts import (
    STARTS,
    DataSummary,
    is_kmeans,
    make_prototypes,
    n_different_starts,
    summarize_data,
)
from evlearn.cluster.fit_warnings import warn_if_collapsed
from evlearn.cluster.focal_families import (
    SelectedSetsLike,
    choose_focal_sets,
    has_two_steps,
    kind_of,
    n_pair_neighbors,
    neighbor_pairs,
)
from evlearn.cluster.set_costs import SetCosts
from evlearn.constraints import NamedConstraints, PairwiseConstraints
from evlearn.constraints.named import resolve_constraints
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import with_names_of
from evlearn.storage import fields
from evlearn.utils.convergence import Report, Trace, atomic_fit, best_descent, descend, publish_trace
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.progress import Steps
from evlearn.utils.reading import read_numbers
from evlearn.utils.typing import FloatArray, NumbersLike, RandomSeed
from evlearn.utils.validation import check_choice, check_integer, check_real

_START_TOL = 1e-4
_REMEDY = (
    "CECM uses the exponent 2 for masses, which fails with more than about 10 features: reduce them first, for "
    "example with PCA, or use EVCLUS with the constraints."
)


@fields.stored
class CECM(DistanceFeatures, EvidentialClusterer):
    """Constrained evidential c-means: ECM with must-link and cannot-link constraints.

    As in evidential c-means, each cluster has a prototype, a sample between prototypes gives mass to sets of
    clusters, and a sample far from all of them gives mass to the empty set. The constraints are a parameter of
    `fit`. They change the masses of their samples, and thereby the prototypes, so that more constraints are
    satisfied.

    Parameters
    ----------
    n_clusters : int, default=3
        Number of clusters.
    focal_sets : str, FocalFamily, FocalSets or list of sets, default="auto"
        Sets of clusters that may carry mass, besides the empty set. "auto": single clusters, and pairs of clusters
        that are the nearest 2 of some sample, at most 2 pairs for each cluster; "full": all sets; "pairs": single
        clusters and all pairs; "simple": no pairs; "neighbor_pairs": a simple fit first, then a second one with
        the pairs of neighboring clusters.
    alpha : float or "auto", default="auto"
        Penalty on large sets: the squared distance to a set of k clusters is multiplied by ``k**alpha``. With
        "auto", a pair wins near the middle of the 2 closest clusters; the paper uses 1.
    delta : float or "auto", default="auto"
        Distance to the empty set: samples farther than this from all clusters are outliers. "auto" uses the
        distance that 95 % of the pairs of samples do not exceed.
    constraint_weight : float, default=0.5
        Weight of the constraints, at least 0 and below 1; the weight of the distances is ``1 -
        constraint_weight``. Distances are squared and have the unit of the data, so scale the data, or choose the
        weight for their unit.
    metric : {"euclidean", "adaptive"} or AdaptiveMetric, default="euclidean"
        Metric of the clusters. With "adaptive", each cluster has a separate metric of determinant 1, for clusters
        of different shapes. Use ``AdaptiveMetric(reg_covar=...)`` for many features and few samples.
    penalty : {"plausibility", "symmetric"}, default="plausibility"
        Cost of a must-link: the plausibility that the 2 samples are in different clusters, or the mean of that and
        of 1 minus the plausibility that they are in the same cluster. The cost of a cannot-link is defined
        analogously. With "symmetric", samples cannot avoid their must-links by mass on the empty set.
    init : str or array-like of shape (n_clusters, n_features), default="kmeans"
        Initial prototypes: "kmeans", the solution of k-means; "k-means++", samples selected by k-means++;
        "random", random samples; "peaks", belief peaks; or an array with the prototypes.
    n_init : int, default=1
        Number of starts; the best result is kept. Only the first start uses the solution of k-means, or a fit of
        ECM without constraints, so that the others can reach different results.
    max_iter : int, default=300
        Maximum number of iterations.
    tol : float, default=1e-3
        Largest move of a prototype in an iteration, relative to the spread of the data, below which the fit has
        converged.
    random_state : int, RandomState instance or None, default=None
        Seed, for reproducible results.
    verbose : int, default=0
        Whether to report progress.

    Attributes
    ----------
    credal_partition_ : CredalPartition
        Credal partition.
    labels_ : ndarray of int of shape (n_samples,)
        Most plausible cluster of each sample.
    masses_ : ndarray of shape (n_samples, n_focal_sets)
        Masses, read-only.
    focal_sets_ : FocalSets
        Sets of the columns of the masses.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Prototypes.
    metrics_ : ndarray of shape (n_clusters, n_features, n_features)
        Metrics of the clusters, if `metric` is "adaptive", each with determinant 1.
    delta_ : float
        Distance to the empty set, from `delta`.
    alpha_ : float
        The `alpha` that was used.
    objective_ : float
        Objective, with the penalty.
    penalty_ : float
        Part of the objective that is due to constraints.
    objective_history_ : ndarray of shape (n_iterations + 1,)
        Objective before the first and after each iteration.
    n_iter_ : int
        Number of iterations, without those of the start.
    converged_ : bool
        Whether the last iteration moved all prototypes by less than `tol` allows.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X has any.

    See Also
    --------
    EVCLUS : Method for dissimilarities, and for constraints on clusters that are not compact.
    evlearn.constraints.PairwiseConstraints : Must-link and cannot-link constraints.

    References
    ----------
    Antoine et al. (2012), CECM: constrained evidential c-means algorithm, Computational
    Statistics and Data Analysis 56, doi:10.1016/j.csda.2010.09.021.

    Examples
    --------
    >>> from evlearn.cluster import CECM
    >>> from evlearn.constraints import PairwiseConstraints
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [6.0]]
    >>> constraints = PairwiseConstraints(must_link=[(3, 6)], cannot_link=[(2, 3)])
    >>> CECM(n_clusters=2, random_state=0).fit(X, constraints=constraints).labels_
    array([0, 0, 0, 1, 1, 1, 1])
    """

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        focal_sets: SelectedSetsLike = "auto",
        alpha: float | Literal["auto"] = "auto",
        delta: float | Literal["auto"] = "auto",
        constraint_weight: float = 0.5,
        metric: Literal["euclidean", "adaptive"] | AdaptiveMetric = "euclidean",
        penalty: Literal["plausibility", "symmetric"] = "plausibility",
        init: Literal["kmeans", "k-means++", "random", "peaks"] | NumbersLike = "kmeans",
        n_init: int = 1,
        max_iter: int = 300,
        tol: float = 1e-3,
        random_state: RandomSeed = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.focal_sets = focal_sets
        self.alpha = alpha
        self.delta = delta
        self.constraint_weight = constraint_weight
        self.metric = metric
        self.penalty = penalty
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    @atomic_fit
    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        constraints: PairwiseConstraints | NamedConstraints | None = None,
    ) -> Self:
        """Find the prototypes and the mass functions of the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : None, default=None
            Not used; present for API consistency.
        constraints : PairwiseConstraints or NamedConstraints, default=None
            Pairs of samples that must, or cannot, be in the same cluster.

        Returns
        -------
        Self
            Fitted estimator.
        """
        self._check_parameters()
        data = read_numbers(self, X, reset=True, dtype=[np.float64, np.float32]).data
        pair_constraints = resolve_constraints(constraints, X, len(data)) or PairwiseConstraints()
        if len(data) < self.n_clusters:
            raise ValueError(
                f"n_clusters={self.n_clusters} is more than n_samples={len(data)}; use fewer clusters."
            )
        random = check_random_state(self.random_state)
        summary = summarize_data(ArrayDataset(data), None, number_or_none(self.delta), random)
        if np.isinf(summary.delta):
            check_no_remote_rows(ArrayDataset(data), summary.coordinates, None)
        first_prototypes = make_prototypes(self.init, self.n_clusters, summary.sample, summary.counts, random)
        points, centers = (summary.coordinates.transform(values) for values in (summary.sample, first_prototypes))
        scales = Scales.of(points, summary.counts, centers)
        costs = self._costs(scales, summary, first_prototypes)
        make_problem = partial(
            Problem.of,
            data,
            pair_constraints,
            coordinates=summary.coordinates,
            constraint_weight=float(self.constraint_weight),
            kind=self.penalty,
        )
        starts = self._starts(first_prototypes, summary, random)
        with one_blas_thread():
            trace = self._run(data, make_problem, costs, summary, starts)
        self._check_evidence(len(data), self.n_clusters)
        self._finish(_partition(data, trace.state), trace)
        self._name_samples(X)
        width = float(np.sqrt(scales.variance)) / summary.coordinates.scale
        warn_if_collapsed(pdist(self.cluster_centers_), self.labels_, self.n_clusters, width, _REMEDY)
        return self

    def predict_mass(self, X: ArrayLike) -> CredalPartition:
        """Compute the mass functions of samples from their distances to the prototypes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples. Constraints are not used, so training samples with constraints can have other masses than in
            the fit.

        Returns
        -------
        CredalPartition
            Mass function of each sample.
        """
        check_is_fitted(self)
        data = read_numbers(self, X, reset=False, dtype=[np.float64, np.float32]).data
        partition = CredalPartition(self._model.assign(data), self.focal_sets_, validate=False)
        return with_names_of(X, self._finalize_partition(partition))

    def _distances(self, X: Any) -> FloatArray:
        data = read_numbers(self, X, reset=False, dtype=[np.float64, np.float32]).data
        return np.asarray(self._model.distances(data))

    @property
    def _n_starts(self) -> int:
        return n_different_starts(self.init, self.n_init)

    def _starts(
        self, first_prototypes: FloatArray, summary: DataSummary, random: np.random.RandomState
    ) -> Iterator[tuple[FloatArray, bool]]:
        """Yield the initial prototypes of each start, and whether ECM without constraints improves them first."""
        # ECM would lead all starts to similar prototypes, and the solution of k-means does not need it.
        yield first_prototypes, isinstance(self.init, str) and not is_kmeans(self.init)
        # The best solution of k-means, and then seeds that can lead to other results.
        init = "k-means++" if is_kmeans(self.init) else self.init
        for _ in range(1, self._n_starts):
            yield make_prototypes(init, self.n_clusters, summary.sample, summary.counts, random), False

    def _costs(self, scales: Scales, summary: DataSummary, prototypes: FloatArray) -> SetCosts:
        self.alpha_ = scales.alpha() if isinstance(self.alpha, str) else float(self.alpha)
        squares = squared_distances(summary.sample, prototypes)
        focal_sets = choose_focal_sets(self.focal_sets, squares, summary.counts)
        return self._costs_of(focal_sets, summary)

    def _costs_of(self, focal_sets: FocalSets, summary: DataSummary) -> SetCosts:
        return SetCosts.ecm(focal_sets, alpha=self.alpha_, beta=2.0, delta=summary.delta)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("n_clusters", self.n_clusters, 1)
        check_real("alpha", self.alpha, 0, or_auto=True)
        check_real("constraint_weight", self.constraint_weight, 0, 1)
        if self.constraint_weight == 1:
            raise ValueError(
                "constraint_weight must be below 1, got 1: with a weight of 0, distances form no clusters."
            )
        check_metric(self.metric)
        check_choice("penalty", self.penalty, PENALTIES)
        if (kind := kind_of(self.focal_sets)) is not None:
            check_choice("focal_sets", kind, ("auto", "full", "pairs", "simple", "neighbor_pairs"))
        if isinstance(self.init, str):
            check_choice("init", self.init, STARTS)

    def _run(
        self,
        data: FloatArray,
        make_problem: Callable[[SetCosts], Problem],
        costs: SetCosts,
        summary: DataSummary,
        starts: Iterable[tuple[FloatArray, bool]],
    ) -> Trace[State]:
        """Return the best of the descents from all starts, or its continuation with the pairs of neighbors."""
        problem, has_pairs = make_problem(costs), has_two_steps(self.focal_sets)
        steps = Steps(self.max_iter, self._n_starts + has_pairs)

        def descend_from(start: tuple[FloatArray, bool]) -> Trace[State]:
            prototypes, runs_ecm = start
            model = EuclideanModel(costs, summary.coordinates, summary.coordinates.transform(prototypes))
            return self._descend(problem, model, data if runs_ecm else None, steps)

        def descend_with_pairs(best: Trace[State]) -> Trace[State]:
            partition, n_neighbors = _partition(data, best.state), n_pair_neighbors(self.focal_sets)
            neighbors = neighbor_pairs(partition, n_neighbors=n_neighbors)
            second_costs = self._costs_of(neighbors.focal_sets, summary)
            return descend_constrained(
                make_problem(second_costs),
                replace(best.state.model, costs=second_costs),
                neighbors.masses[problem.rows.samples],
                tol=self.tol,
                max_iter=self.max_iter,
                report=steps,
            )

        return best_descent(descend_from, starts, refine=descend_with_pairs if has_pairs else None)

    def _descend(
        self, problem: Problem, model: EuclideanModel, data: FloatArray | None, report: Report
    ) -> Trace[State]:
        """Run ECM from a model if `data` is given, and then the descent with constraints."""
        start, interrupted = model.prototypes, False
        if data is not None:
            alternation = Alternation(ArrayDataset(data), None, _START_TOL)
            unconstrained = descend(alternation.step, alternation.trace(model), max_iter=self.max_iter)
            start, interrupted = unconstrained.state.model.prototypes, unconstrained.interrupted
        first_model = make_model(self.metric, model.costs, model.coordinates, start)
        if interrupted:
            return replace(problem.trace(first_model, first_model.assign(problem.constrained)), interrupted=True)
        return descend_constrained(problem, first_model, tol=self.tol, max_iter=self.max_iter, report=report)

    def _finish(self, partition: CredalPartition, trace: Trace[State]) -> None:
        state, model = trace.state, trace.state.model
        self._publish(partition)
        self._model = model
        self.cluster_centers_ = model.centers
        self.__dict__.pop("metrics_", None)  # of an earlier fit
        if isinstance(model, AdaptiveModel):
            self.metrics_ = model.metrics
        self.delta_ = float(np.sqrt(model.costs.empty))
        self.penalty_ = state.penalty
        publish_trace(self, trace, "the prototypes", max_iter=self.max_iter)


def _partition(data: FloatArray, state: State) -> CredalPartition:
    """Return the masses of all samples; those of samples with constraints come from the state."""
    masses = state.model.assign(data)
    masses[state.samples] = state.masses
    return CredalPartition(masses, state.model.focal_sets, validate=False)
