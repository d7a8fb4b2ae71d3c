"""CECM: evidential c-means that listens to must-link and cannot-link constraints."""

from dataclasses import replace
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import pdist
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from evlearn.belief import FocalSets
from evlearn.belief.focal_sets import FocalSetsLike
from evlearn.blocks import ArrayRows
from evlearn.cluster.base import EvidentialClusterer
from evlearn.cluster.centroids.adaptive import AdaptiveModel, make_model
from evlearn.cluster.centroids.alternation import Alternation, Model
from evlearn.cluster.centroids.constrained_descent import Problem, State, descend_constrained
from evlearn.cluster.centroids.constrained_rows import PENALTIES
from evlearn.cluster.centroids.distances import DistanceFeatures
from evlearn.cluster.centroids.fit import Sight, from_kmeans, look_at, refuse_endless
from evlearn.cluster.centroids.kmeans import squared_distances
from evlearn.cluster.centroids.model import EuclideanModel
from evlearn.cluster.centroids.scales import Scales
from evlearn.cluster.centroids.starts import STARTS, make_prototypes
from evlearn.cluster.collapse import warn_if_collapsed
from evlearn.cluster.focal_families import choose_focal_sets, in_two_steps, neighbor_pairs
from evlearn.cluster.set_costs import SetCosts
from evlearn.constraints import NamedConstraints, PairwiseConstraints
from evlearn.constraints.named import numbered
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import with_names_of
from evlearn.utils.convergence import Report, Trace, descend, publish_trace, whole_or_nothing
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.progress import Steps
from evlearn.utils.reading import read_numbers
from evlearn.utils.typing import FloatArray, NumbersLike, RandomSeed
from evlearn.utils.validation import check_choice, check_flag, check_integer, check_real

_START_TOL = 1e-4
_REMEDY = (
    "CECM has the exponent 2 for masses, which fails beyond about ten features: reduce them first, as with PCA, "
    "or give the constraints to EVCLUS."
)


class CECM(DistanceFeatures, EvidentialClusterer):
    r"""Constrained evidential c-means: clusters around prototypes that respect what is known about pairs.

    As in evidential c-means, each cluster has a prototype, a sample between prototypes gives mass to sets of
    clusters, and a sample far from all of them to the empty set. Must-link and cannot-link constraints, given to
    `fit`, pull the masses of their samples, and with them the prototypes, to where the constraints are met.

    Parameters
    ----------
    n_clusters : int, default=3
        The number of clusters.
    focal_sets : {"auto", "full", "pairs", "simple", "neighbor_pairs"}, FocalSets or list of sets, default="auto"
        The sets of clusters that may carry mass, besides the empty set. "auto": single clusters, and pairs of
        clusters that are the nearest two of some sample, at most two pairs for each cluster; "full": all sets;
        "pairs": single clusters, and all pairs; "simple": no pairs; "neighbor_pairs": a simple fit first, then
        again with the pairs of clusters that turn out to be neighbours.
    include_omega : bool, default=True
        Whether the set of all clusters belongs to "auto", "simple", "pairs" and "neighbor_pairs".
    n_pair_neighbors : int, default=1
        For "neighbor_pairs": how many of its most similar clusters count as a cluster's neighbours.
    alpha : float or "auto", default="auto"
        How much large sets are discouraged: the squared distance to a set of k clusters counts ``k**alpha`` times.
        "auto" lets a pair win near the middle of the two closest clusters; the paper uses 1.
    delta : float or "auto", default="auto"
        The distance to the empty set: samples that are farther than this from all clusters are outliers. "auto"
        uses the distance that 95 of 100 pairs of samples do not exceed.
    xi : float, default=0.5
        The weight of the constraints, at least 0 and below 1; that of the distances is ``1 - xi``. Distances are
        squared and have the unit of the data, so scale the data, or choose the weight for their unit.
    metric : {"euclidean", "adaptive"}, default="euclidean"
        "adaptive": every cluster has its own metric, of determinant one, for clusters of different shapes.
    reg_covar : float, default=1e-6
        For "adaptive": how much of a round metric is mixed into each. Raise it when there are many features
        and few samples.
    penalty : {"plausibility", "symmetric"}, default="plausibility"
        What a must-link costs: the plausibility that the two samples are in different clusters, or the mean of
        that and of one minus the plausibility that they are in the same. For a cannot-link it is the other way
        round. "symmetric" does not let samples escape from their must-links to the empty set.
    init : str or array-like of shape (n_clusters, n_features), default="kmeans"
        Where prototypes start: "kmeans", at the solution of k-means; "k-means++", at samples spread by k-means++;
        "random", at random samples; "peaks", at peaks of belief; or at given points.
    n_init : int, default=1
        How many times to start; the best result is kept. Only the first start has been at the solution of k-means,
        or goes through evidential c-means without constraints, so that the others can end elsewhere.
    max_iter : int, default=300
        The largest number of iterations.
    tol : float, default=1e-3
        An iteration that moves no prototype by more than this share of the spread of the data is the last.
    random_state : int, RandomState instance or None, default=None
        The seed, for results that can be repeated.
    verbose : int, default=0
        Whether to report progress, iteration by iteration.

    Attributes
    ----------
    credal_partition_ : CredalPartition
        The result.
    labels_ : ndarray of int of shape (n_samples,)
        The most plausible cluster of each sample.
    masses_ : ndarray of shape (n_samples, n_focal_sets)
        The masses, read-only.
    focal_sets_ : FocalSets
        What the columns of the masses stand for.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The prototypes.
    metrics_ : ndarray of shape (n_clusters, n_features, n_features)
        The metrics of the clusters, if `metric` is "adaptive"; each has determinant one.
    delta_ : float
        The distance used for `delta`.
    alpha_ : float
        The `alpha` that was used.
    objective_ : float
        The objective.
    penalty_ : float
        The part of the objective that is due to constraints.
    objective_history_ : ndarray of shape (n_iterations + 1,)
        The objective before the first and after each iteration.
    n_iter_ : int
        The number of iterations, not counting those of the start.
    converged_ : bool
        Whether the last iteration moved the prototypes by less than `tol` allows.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str
        The names of the features, where X has any.

    See Also
    --------
    EVCLUS : For dissimilarities, and for constraints on clusters that are not compact.
    evlearn.constraints.PairwiseConstraints : Must-link and cannot-link constraints.

    References
    ----------
    Antoine et al. (2012).

    Examples
    --------
    >>> from evlearn.cluster import CECM
    >>> from evlearn.constraints import PairwiseConstraints
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [6.0]]
    >>> known = PairwiseConstraints(must_link=[(3, 6)], cannot_link=[(2, 3)])
    >>> CECM(n_clusters=2, random_state=0).fit(X, constraints=known).labels_
    array([0, 0, 0, 1, 1, 1, 1])
    """

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        focal_sets: Literal["auto", "full", "pairs", "simple", "neighbor_pairs"] | FocalSetsLike = "auto",
        include_omega: bool = True,
        n_pair_neighbors: int = 1,
        alpha: float | Literal["auto"] = "auto",
        delta: float | Literal["auto"] = "auto",
        xi: float = 0.5,
        metric: Literal["euclidean", "adaptive"] = "euclidean",
        reg_covar: float = 1e-6,
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
        self.include_omega = include_omega
        self.n_pair_neighbors = n_pair_neighbors
        self.alpha = alpha
        self.delta = delta
        self.xi = xi
        self.metric = metric
        self.reg_covar = reg_covar
        self.penalty = penalty
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    @whole_or_nothing
    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        constraints: PairwiseConstraints | NamedConstraints | None = None,
    ) -> Self:
        """Find prototypes and the mass functions of the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : None, default=None
            Not used; present for scikit-learn's conventions.
        constraints : PairwiseConstraints or NamedConstraints, default=None
            Pairs of samples that must, or cannot, be in the same cluster.

        Returns
        -------
        Self
            The fitted estimator.
        """
        self._check_parameters()
        data = read_numbers(self, X, reset=True, dtype=[np.float64, np.float32]).data
        known = numbered(constraints, X, len(data)) or PairwiseConstraints()
        if len(data) < self.n_clusters:
            raise ValueError(
                f"n_clusters={self.n_clusters} is more than n_samples={len(data)}; use fewer clusters."
            )
        random = check_random_state(self.random_state)
        seen = look_at(ArrayRows(data), None, self.delta, random)
        refuse_endless(ArrayRows(data), seen.coordinates, seen.delta, None)
        first_places = make_prototypes(self.init, self.n_clusters, seen.sample, seen.counts, random)
        scales = Scales.of(seen.coordinates.enter(seen.sample), seen.counts, seen.coordinates.enter(first_places))
        costs = self._costs(scales, seen, first_places)
        pose = partial(Problem.of, data, known, coordinates=seen.coordinates, xi=float(self.xi), kind=self.penalty)
        problem = pose(costs)
        ends: list[Trace[State]] = []
        several = isinstance(self.init, str) and self.init != "peaks"
        n_starts = self.n_init if several else 1
        report = Steps(self.max_iter, n_starts + in_two_steps(self.focal_sets))
        for number in range(n_starts):
            # The best of k-means, and then seeds that can end elsewhere.
            init = "k-means++" if from_kmeans(self) else self.init
            drawn = (init, self.n_clusters, seen.sample, seen.counts, random)
            places = make_prototypes(*drawn) if number else first_places
            start = EuclideanModel(costs, seen.coordinates, seen.coordinates.enter(places))
            # Once through ECM: from there, all starts would go the same way. k-means has been through all that.
            first = isinstance(self.init, str) and number == 0 and not from_kmeans(self)
            with one_blas_thread():
                ends.append(self._descend(problem, start, data if first else None, report))
            if ends[-1].interrupted:
                break
        best = min(ends, key=lambda one: one.objective)
        if in_two_steps(self.focal_sets) and not ends[-1].interrupted:
            near = neighbor_pairs(_partition(data, problem, best.state), n_neighbors=self.n_pair_neighbors)
            costs = self._costs_of(near.focal_sets, seen)
            problem = pose(costs)
            with one_blas_thread():
                best = self._with_pairs(problem, near.masses, best.state.model, costs, report)
        self._check_evidence(len(data), self.n_clusters)
        self._finish(_partition(data, problem, best.state), best)
        self._name_samples(X)
        width = float(np.sqrt(scales.variance)) / seen.coordinates.scale
        warn_if_collapsed(pdist(self.cluster_centers_), self.labels_, self.n_clusters, width, _REMEDY)
        return self

    def predict_mass(self, X: ArrayLike) -> CredalPartition:
        """The mass functions of samples, new or old, from their distances to the prototypes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples. Constraints play no role any more, so that samples of the training set that were in
            constraints can have other masses than in the fit.

        Returns
        -------
        CredalPartition
            A mass function for each sample.
        """
        check_is_fitted(self)
        data = read_numbers(self, X, reset=False, dtype=[np.float64, np.float32]).data
        partition = CredalPartition(self._model.assign(data), self.focal_sets_, validate=False)
        return with_names_of(X, self._supported(partition))

    def _distances(self, X: Any) -> FloatArray:
        data = read_numbers(self, X, reset=False, dtype=[np.float64, np.float32]).data
        return np.asarray(self._model.distances(data))

    def _costs(self, scales: Scales, seen: Sight, places: FloatArray) -> SetCosts:
        self.alpha_ = scales.alpha() if isinstance(self.alpha, str) else float(self.alpha)
        squares = squared_distances(seen.sample, places)
        focal_sets = choose_focal_sets(self.focal_sets, squares, seen.counts, include_omega=self.include_omega)
        return self._costs_of(focal_sets, seen)

    def _costs_of(self, focal_sets: FocalSets, seen: Sight) -> SetCosts:
        return SetCosts.ecm(focal_sets, alpha=self.alpha_, beta=2.0, delta=seen.delta)

    def _check_parameters(self) -> None:
        check_integer("n_clusters", self.n_clusters, 1)
        check_flag("include_omega", self.include_omega)
        check_integer("n_pair_neighbors", self.n_pair_neighbors, 1)
        check_integer("n_init", self.n_init, 1)
        check_integer("max_iter", self.max_iter, 1)
        check_real("alpha", self.alpha, 0, or_auto=True)
        check_real("xi", self.xi, 0, 1)
        if self.xi == 1:
            raise ValueError("xi must be below 1, got 1; with no weight on distances there are no clusters.")
        check_real("reg_covar", self.reg_covar, 0, 1)
        check_real("tol", self.tol, 0)
        check_choice("metric", self.metric, ("euclidean", "adaptive"))
        check_choice("penalty", self.penalty, PENALTIES)
        if isinstance(self.focal_sets, str):
            check_choice("focal_sets", self.focal_sets, ("auto", "full", "pairs", "simple", "neighbor_pairs"))
        if isinstance(self.init, str):
            check_choice("init", self.init, STARTS)
        check_real("delta", self.delta, 0, open_low=True, or_auto=True, or_infinity=True)

    def _descend(
        self, problem: Problem, model: EuclideanModel, data: FloatArray | None, report: Report
    ) -> Trace[State]:
        """From prototypes, through ECM if data for it are given, to those that respect the constraints."""
        start, interrupted = model.prototypes, False
        if data is not None:
            alternation = Alternation(ArrayRows(data), None, _START_TOL)
            free = descend(alternation.step, alternation.trace(model), max_iter=self.max_iter)
            start, interrupted = free.state.model.prototypes, free.interrupted
        ready = make_model(self.metric, model.costs, model.coordinates, start, reg_covar=self.reg_covar)
        if interrupted:
            return replace(problem.trace(ready, ready.assign(problem.bound)), interrupted=True)
        return descend_constrained(problem, ready, tol=self.tol, max_iter=self.max_iter, report=report)

    def _with_pairs(
        self, problem: Problem, masses: FloatArray, model: Model, costs: SetCosts, report: Report
    ) -> Trace[State]:
        """Once more with the pairs of neighbouring clusters, from where the best start ended."""
        return descend_constrained(
            problem,
            replace(model, costs=costs),
            masses[problem.rows.objects],
            tol=self.tol,
            max_iter=self.max_iter,
            report=report,
        )

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


def _partition(data: FloatArray, problem: Problem, state: State) -> CredalPartition:
    """The masses of all samples; those in constraints have their own."""
    masses = state.model.assign(data)
    masses[problem.rows.objects] = state.masses
    return CredalPartition(masses, state.model.focal_sets, validate=False)


__all__ = ["CECM"]
