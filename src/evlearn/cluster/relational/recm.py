"""RECM: evidential c-means for dissimilarities."""

from collections.abc import Iterator
from dataclasses import replace
from threading import Event
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from evlearn.cluster.centroids.kmeans import kmeans_solutions, squared_distances
from evlearn.cluster.centroids.scales import ResolvedParameters, Scales, ecm_costs, is_one_cloud, number_or_none
from evlearn.cluster.dissimilarities import (
    DissimilarityClusterer,
    distances_between,
    typical_value,
)
from evlearn.cluster.fit_warnings import warn_if_collapsed, warn_of_one_cloud
from evlearn.cluster.focal_families import (
    SelectedSetsLike,
    choose_focal_sets,
    given_masses,
    has_two_steps,
    pairs_after_fit,
    random_masses,
)
from evlearn.cluster.isolation import BEYOND_REACH, crisp_clusters
from evlearn.cluster.relational.weighted_means import (
    RelationalModel,
    RelationalState,
    Squares,
    coordinates_of,
    relational_step,
    start_at,
)
from evlearn.partition import CredalPartition
from evlearn.storage import fields
from evlearn.utils.convergence import Trace, atomic_fit, best_descent, descend, publish_trace, warn_caller
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.progress import Steps
from evlearn.utils.typing import FloatArray, IntArray, Metric, NumbersLike, RandomSeed
from evlearn.utils.validation import (
    check_choice,
    check_flag,
    check_integer,
    check_no_extreme_rows,
    check_real,
    check_shape,
)

#: Maximum number of samples for k-means, and maximum number of its solutions that are starts.
_MAX_SAMPLES, _MAX_STARTS = 1000, 3


@fields.stored
class RECM(DissimilarityClusterer):
    r"""Relational evidential c-means: prototypes that are computed from dissimilarities.

    RECM is evidential c-means without coordinates. Each cluster has a prototype, a weighted mean of samples, and
    each set of clusters has the barycenter of their prototypes. Distances to both follow from the dissimilarities.
    The closer a sample is to a barycenter, the more mass it gives to that set. A sample far from all barycenters
    gives mass to the empty set. The method is fast, exact for Euclidean distances, and accepts other
    dissimilarities too.

    Data with a few samples a million times farther away than the others raise an error, because the differences
    between the others would be lost.

    Missing values (NaN) of features increase doubt: the masses of a sample with missing values are averages over
    its completions, with additional mass on the set of all clusters. Dissimilarities must not be missing.

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
        Penalty on large sets, from 0 to 100: the squared distance to a set of k clusters is multiplied by
        ``k**alpha``. With "auto", a pair wins near the middle of the 2 closest clusters; the paper uses 1.
    beta : float or "auto", default="auto"
        Exponent of the masses, above 1; with smaller values, fewer samples are torn. "auto" derives it from the
        widths and distances of clusters, so that masses decrease as fast as they would for Gaussian clusters; the
        R package uses 1.5.
    delta : float or "auto", default="auto"
        Distance to the empty set: samples farther than this from all clusters are outliers. "auto" uses the 95 %
        quantile of the dissimilarities, and at most 1.25 times the distance at which samples are far from a
        cluster compared with its width, about 6 standard deviations in the plane. Samples beyond that distance
        from all clusters do not affect the selection of parameters and starts.
    metric : str or callable, default="euclidean"
        "precomputed" for a square matrix of dissimilarities, or any metric of
        `sklearn.metrics.pairwise_distances`.
    squared_input : bool, default=False
        Whether a precomputed matrix contains squared dissimilarities. Use it for cosine, Jaccard, Hamming and
        Manhattan dissimilarities, because their square roots are Euclidean distances.
    nonmetric : {"clip", "shift"}, default="clip"
        Treatment of dissimilarities that are not Euclidean distances. "clip": negative squared distances to
        prototypes are replaced by a value close to 0, with a warning. "shift": the smallest number that makes the
        dissimilarities Euclidean is added to all nonzero squares.
    init : {"kmeans", "k-means++", "random"} or array-like of shape (n_samples, n_focal_sets), default="kmeans"
        Initialization: the solution of k-means, samples selected by k-means++, random masses, or given masses.
    n_init : int, default=10
        Number of starts; the best result is kept. With "kmeans", number of runs of k-means. Given masses are a
        single start.
    max_iter : int, default=1000
        Maximum number of iterations.
    tol : float, default=1e-5
        Change of all masses in an iteration up to which the fit has converged.
    random_state : int, RandomState instance or None, default=None
        Seed, for reproducible results.
    n_jobs : int or None, default=None
        Number of threads for starts. The result does not depend on it.
    verbose : int, default=0
        Whether to report the progress of each iteration.

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
    prototype_weights_ : ndarray of shape (n_clusters, n_samples)
        Weights of the samples in the prototype of each cluster, with sum 1.
    delta_ : float
        Distance to the empty set.
    alpha_ : float
        The `alpha` that was used.
    beta_ : float
        The `beta` that was used.
    shift_ : float
        Number that was added to squared dissimilarities; 0 unless `nonmetric` is "shift".
    objective_ : float
        Objective at the prototypes and masses.
    objective_history_ : ndarray of shape (n_iterations + 1,)
        Objective before the first and after each iteration.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the last iteration changed all masses by at most `tol`.
    n_features_in_ : int
        Number of features, or of samples if `metric` is "precomputed".
    feature_names_in_ : ndarray of str
        Names of the features, if X has any.

    See Also
    --------
    EVCLUS : For dissimilarities of any kind, and for clusters that are not round.

    References
    ----------
    Masson and Denœux (2009), RECM: relational evidential c-means algorithm, Pattern
    Recognition Letters 30, doi:10.1016/j.patrec.2009.04.008.

    Examples
    --------
    >>> from evlearn.cluster import RECM
    >>> from evlearn.datasets import load_butterfly
    >>> butterfly = load_butterfly()
    >>> model = RECM(n_clusters=2, random_state=0).fit(butterfly.data)
    >>> model.credal_partition_.summary()
    12 samples, 2 clusters
      sure            10   (83.3 %)   0: 5, 1: 5
      torn             1    (8.3 %)   Ω (any cluster): 1
      outliers         1    (8.3 %)
      sure: a belief of 0.60 or more in one cluster
    """

    _model: fields.Stored[RelationalModel]
    _unit: fields.Stored[Squares]
    _training: fields.Stored[fields.Matrix | None]
    prototype_weights_: fields.StoredIfSet[fields.Matrix]
    alpha_: fields.StoredIfSet[fields.NonnegativeNumber]
    beta_: fields.StoredIfSet[Annotated[float, fields.number(1)]]
    delta_: fields.StoredIfSet[fields.NonnegativeExtendedNumber]
    shift_: fields.StoredIfSet[fields.NonnegativeExtendedNumber]

    _takes_gaps = True

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        focal_sets: SelectedSetsLike = "auto",
        alpha: float | Literal["auto"] = "auto",
        beta: float | Literal["auto"] = "auto",
        delta: float | Literal["auto"] = "auto",
        metric: Metric = "euclidean",
        squared_input: bool = False,
        nonmetric: Literal["clip", "shift"] = "clip",
        init: Literal["kmeans", "k-means++", "random"] | NumbersLike = "kmeans",
        n_init: int = 10,
        max_iter: int = 1000,
        tol: float = 1e-5,
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.focal_sets = focal_sets
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.metric = metric
        self.squared_input = squared_input
        self.nonmetric = nonmetric
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @atomic_fit
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Find the prototypes and the mass functions of the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Features, or dissimilarities if `metric` is "precomputed".
        y : None, default=None
            Not used; present for API consistency.

        Returns
        -------
        Self
            Fitted estimator.
        """
        self._check_parameters()
        numbers = self._read_data(X, reset=True)
        data = self._fill_missing(numbers, self.n_clusters)
        # All squares are in the same unit, in which extreme rows would make the squares of other rows vanish.
        check_no_extreme_rows("X", data)
        self._check_evidence(len(data), self.n_clusters)
        random = check_random_state(self.random_state)
        unit, squares = self._square(data)
        # Isolated samples would determine scales and starts; they get masses at the end like all others.
        crisp = crisp_clusters(np.sqrt(squares), int(self.n_clusters), "precomputed")
        ordinary = crisp.ordinary
        if isinstance(self.delta, str):
            distance = float(np.sqrt(typical_value(squares[np.ix_(ordinary, ordinary)]))) or 1.0
            delta = min(distance, BEYOND_REACH * crisp.reach)
        else:
            delta = float(self.delta) * unit.scale
        seeds = random.randint(np.iinfo(np.int32).max, size=self.n_init)
        with one_blas_thread():
            kmeans_starts, parameters = self._select_starts(squares, np.flatnonzero(ordinary), delta, random)
        trace = self._run(squares, unit, kmeans_starts, parameters, seeds)
        state = trace.state
        self._warn(state, parameters)
        self._unit, self._model = unit, state.model
        self._training = None if self._precomputed else np.array(data)
        partition = CredalPartition(state.masses, state.model.costs.focal_sets, validate=False)
        self._publish(self._add_doubt(numbers, partition, self._assign))
        if not self._precomputed:
            self._learn_gaps(data, self.n_clusters)
        self._name_samples(X)
        self.prototype_weights_ = state.model.weights
        self.delta_ = unit.distance(delta * delta) if isinstance(self.delta, str) else float(self.delta)
        self.alpha_, self.beta_ = parameters.alpha, parameters.beta
        self.shift_ = unit.total(unit.shift)
        trace = replace(trace, history=[unit.total(value) for value in trace.history])
        publish_trace(self, trace, "the masses", max_iter=self.max_iter)
        return self

    def _masses_of(self, dissimilarities: FloatArray) -> FloatArray:
        return np.asarray(self._model.assign(self._unit(_check_finite(dissimilarities))))

    # The data and the problem

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("n_clusters", self.n_clusters, 1)
        check_flag("squared_input", self.squared_input)
        check_real("alpha", self.alpha, 0, 100, or_auto=True)
        check_choice("nonmetric", self.nonmetric, ("clip", "shift"))
        if isinstance(self.init, str):
            check_choice("init", self.init, ("kmeans", "k-means++", "random"))
        if self.squared_input and not self._precomputed:
            raise ValueError(
                f"squared_input=True needs metric='precomputed', got metric={self.metric!r}; leave it out, "
                "because distances of features are always squared."
            )

    def _square(self, data: FloatArray) -> tuple[Squares, FloatArray]:
        """Return the squared dissimilarities of all pairs of samples, and their unit."""
        dissimilarities = data if self._precomputed else _check_finite(distances_between(data, data, self.metric))
        return Squares.of(dissimilarities, squared=bool(self.squared_input), shifted=self.nonmetric == "shift")

    def _select_starts(
        self, squares: FloatArray, ordinary: IntArray, delta: float, random: np.random.RandomState
    ) -> tuple[list[Trace[RelationalState]], ResolvedParameters]:
        """Return solutions of k-means for coordinates of ordinary samples, and the parameters of the fit."""
        chosen = np.sort(ordinary[random.permutation(len(ordinary))[:_MAX_SAMPLES]])
        rows, weights = coordinates_of(squares[np.ix_(chosen, chosen)]), np.ones(len(chosen))
        n_init = self.n_init if isinstance(self.init, str) and self.init == "kmeans" else 1
        solutions = kmeans_solutions(self.n_clusters, rows, weights, random, n_init=n_init)[:_MAX_STARTS]
        parameters = self._resolve(Scales.of(rows, weights, solutions[0]), rows, delta, random)
        family = choose_focal_sets(self.focal_sets, squared_distances(rows, solutions[0]), None)
        focal_sets = self._allow_ignorance(family)
        model = RelationalModel.at_mean(ecm_costs(focal_sets, parameters), squares)
        return [
            _start_at(model, squares, chosen, squared_distances(rows, prototypes)) for prototypes in solutions
        ], parameters

    def _resolve(
        self, scales: Scales, rows: FloatArray, delta: float, random: np.random.RandomState
    ) -> ResolvedParameters:
        """Return the parameters, with values that follow from the data for "auto"."""
        beta = number_or_none(self.beta)
        cloud = beta is None and is_one_cloud(rows, np.ones(len(rows)), self.n_clusters, random)
        return scales.choose(delta, beta, number_or_none(self.alpha), cloud=cloud)

    # The descent

    def _run(
        self,
        squares: FloatArray,
        unit: Squares,
        kmeans_starts: list[Trace[RelationalState]],
        parameters: ResolvedParameters,
        seeds: IntArray,
    ) -> Trace[RelationalState]:
        """Return the best of all starts, or its continuation with the pairs of neighboring clusters."""
        stop = Event()
        steps = Steps(self.max_iter, self.n_init + has_two_steps(self.focal_sets))

        def report(number: int, value: float) -> None:
            steps(number, unit.total(value))

        def fit(start: Trace[RelationalState]) -> Trace[RelationalState]:
            step = relational_step(squares, self.tol)
            return descend(step, start, max_iter=self.max_iter, stop=stop, report=report)

        def fit_with_pairs(best: Trace[RelationalState]) -> Trace[RelationalState]:
            state = best.state
            neighbors = pairs_after_fit(self.focal_sets, state.masses, state.model.focal_sets)
            model = replace(state.model, costs=ecm_costs(neighbors.focal_sets, parameters))
            # The objective does not change, because new sets have no mass yet.
            return fit(Trace(RelationalState(model, neighbors.masses), [best.objective]))

        return best_descent(
            fit,
            self._starts(squares, kmeans_starts, seeds),
            refine=fit_with_pairs if has_two_steps(self.focal_sets) else None,
            start_is_result=False,
            n_jobs=self.n_jobs,
            stop=stop,
        )

    def _starts(
        self, squares: FloatArray, kmeans_starts: list[Trace[RelationalState]], seeds: IntArray
    ) -> Iterator[Trace[RelationalState]]:
        """Yield the traces of all starts."""
        if isinstance(self.init, str) and self.init == "kmeans":
            yield from kmeans_starts
            return
        costs = kmeans_starts[0].state.model.costs
        focal_sets = costs.focal_sets
        model = RelationalModel.at_mean(costs, squares)  # for prototypes of clusters without mass
        means = np.tile(squares.mean(axis=1, keepdims=True), self.n_clusters)
        if not isinstance(self.init, str):
            masses = given_masses(self.init, len(squares), focal_sets)
            yield start_at(model, means, masses.astype(np.float64, copy=False))
            return
        for seed in seeds:
            seeded = np.random.RandomState(seed)
            if self.init == "k-means++":
                yield start_at(model, means, model.spread(squares, seeded).assign(squares))
            else:
                nonempty = random_masses(len(squares), len(focal_sets) - 1, seeded)
                yield start_at(model, means, np.hstack([np.zeros((len(squares), 1)), nonempty]))

    def _warn(self, state: RelationalState, parameters: ResolvedParameters) -> None:
        if state.clipped:
            message = (
                "squared distances to prototypes were negative, because the dissimilarities are not Euclidean "
                "distances; they are replaced by a value close to 0. If X contains squared distances, use "
                "squared_input=True; nonmetric='shift' makes any dissimilarities Euclidean."
            )
            warn_caller(message)
        if parameters.cloud:
            warn_of_one_cloud(self.n_clusters)
            return
        separations = np.sqrt(state.model.separations()[np.triu_indices(self.n_clusters, k=1)])
        remedy = "Use fewer clusters." if isinstance(self.beta, str) else "Use beta='auto'."
        labels = CredalPartition(state.masses, state.model.focal_sets, validate=False).to_hard()
        warn_if_collapsed(separations, labels, self.n_clusters, parameters.width, remedy)

    def _after_loading(self) -> None:
        """Raise unless the attributes from a file are consistent."""
        super()._after_loading()
        model, training = self._model, self._training
        n_clusters, n_samples = model.weights.shape
        self._check_reach(self._metric, training, np.array([n_samples - 1]))
        if training is None:
            fields.check_features(self, n_samples)
        else:
            check_shape("_training", training, (n_samples, self.n_features_in_))
        check_shape("prototype_weights_", self.__dict__.get("prototype_weights_"), (n_clusters, n_samples))


def _start_at(
    model: RelationalModel, squares: FloatArray, chosen: IntArray, distances: FloatArray
) -> Trace[RelationalState]:
    """Return a start whose prototypes are means of the chosen samples nearest to each point.

    The squared distances are those of the chosen samples to the points.
    """
    weights = np.zeros((distances.shape[1], len(squares)))
    weights[distances.argmin(axis=1), chosen] = 1
    # The prototype of a cluster without members is the sample nearest to its point.
    empty = np.flatnonzero(~weights.any(axis=1))
    weights[empty, chosen[distances[:, empty].argmin(axis=0)]] = 1
    return start_at(*model.move(weights / weights.sum(axis=1, keepdims=True), squares))


def _check_finite(distances: FloatArray) -> FloatArray:
    if not np.isfinite(distances).all():
        raise ValueError(
            "X has distances that are not finite numbers; rescale its features, or use another metric."
        )
    return distances
