"""RECM: evidential c-means of dissimilarities."""

from collections.abc import Iterator
from dataclasses import replace
from threading import Event
from typing import Any, Literal, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from scipy.spatial.distance import squareform
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from evlearn import belief
from evlearn.belief import FocalSets
from evlearn.belief.focal_sets import FocalSetsLike
from evlearn.cluster.base import EvidentialClusterer
from evlearn.cluster.centroids.kmeans import squared_distances
from evlearn.cluster.centroids.robust_kmeans import kmeans_solutions
from evlearn.cluster.centroids.scales import Chosen, Scales, is_one_cloud
from evlearn.cluster.collapse import warn_if_collapsed, warn_of_one_cloud
from evlearn.cluster.dissimilarities import check_dissimilarities, distances_between, symmetric_dissimilarities
from evlearn.cluster.focal_families import (
    choose_focal_sets,
    in_two_steps,
    neighbor_pairs,
    random_masses,
)
from evlearn.cluster.gaps import partition_with_gaps
from evlearn.cluster.isolation import BEYOND_REACH, crisp_clusters
from evlearn.cluster.relational.squared_dissimilarities import Squares, coordinates_of
from evlearn.cluster.relational.weighted_means import RelationalModel, RelationalState, relational_step, start_at
from evlearn.cluster.set_costs import SetCosts
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import with_names_of
from evlearn.utils.chunks import row_blocks
from evlearn.utils.convergence import Trace, best_of, descend, publish_trace, warn_caller, whole_or_nothing
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.progress import Steps
from evlearn.utils.reading import Numbers, read_numbers
from evlearn.utils.typing import FloatArray, IntArray, Metric, NumbersLike, RandomSeed
from evlearn.utils.validation import (
    check_choice,
    check_flag,
    check_integer,
    check_range,
    check_real,
    refuse_remote,
)

_NEAR_AND_FAR = 0.95
# Of so many samples points are made, and so many solutions of k-means are starts.
_ROWS, _MOST_STARTS = 1000, 3
_BLOCK_NUMBERS = 1 << 22  # of dissimilarities of new samples that are in memory at a time


class RECM(EvidentialClusterer):
    r"""Relational evidential c-means: prototypes for samples of which only dissimilarities are known.

    RECM is evidential c-means without coordinates. Each cluster has a prototype, a weighted mean of samples, and
    each set of clusters has the barycentre of their prototypes; distances to both follow from the dissimilarities
    alone. The nearer a sample is to a barycentre, the more mass it gives to that set; a sample far from all gives
    mass to the empty set. It is fast, exact for Euclidean distances, and accepts other dissimilarities too.

    Data in which a few samples are a million times farther away than the others are refused: beside them, the
    others could not be told apart.

    Missing values (NaN) of features become doubt: the masses of a sample with gaps are those that it would have on
    average, and what remains open is mass on the set of all clusters. Dissimilarities must all be known.

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
        How much large sets are discouraged, from 0 to 100: the squared distance to a set of k clusters counts
        ``k**alpha`` times. "auto" lets a pair win near the middle of the two closest clusters; the paper uses 1.
    beta : float or "auto", default="auto"
        The exponent of the masses, above 1: nearer to 1, samples are more decided. "auto" chooses it by the width
        of clusters and the gaps between them, so that masses fall as fast as they would for Gaussian clusters; R's
        package uses 1.5.
    delta : float or "auto", default="auto"
        The distance to the empty set: samples that are farther than this from all clusters are outliers. "auto"
        uses the dissimilarity that 95 of 100 pairs of samples do not exceed, and at most 1.25 times the distance
        at which samples are far from a cluster compared with its width, about 6 standard deviations in the plane.
        Samples beyond that distance from all clusters do not count in the selection of parameters and starts.
    metric : str or callable, default="euclidean"
        "precomputed" for a square matrix of dissimilarities, or any metric of
        `sklearn.metrics.pairwise_distances`.
    squared_input : bool, default=False
        For "precomputed": whether the matrix holds squared dissimilarities. Cosine, Jaccard, Hamming and Manhattan
        dissimilarities are best taken as squares, because their roots are Euclidean distances.
    nonmetric : {"clip", "shift"}, default="clip"
        What to do with dissimilarities that are no Euclidean distances. "clip": squared distances to prototypes
        that come out negative count as almost nothing, with a warning. "shift": the least number that makes the
        dissimilarities Euclidean is added to the squares of all that are not zero.
    init : {"kmeans", "k-means++", "random"} or array-like of shape (n_samples, n_focal_sets), default="kmeans"
        Where to start: from the solution of k-means, from samples far apart as k-means++ draws them, from random
        masses, or from given masses.
    n_init : int, default=10
        How many times to start; the best result is kept. With "kmeans", k-means has that many starts.
        Given masses are one start.
    max_iter : int, default=1000
        The largest number of iterations.
    tol : float, default=1e-5
        An iteration that changes no mass by more than this is the last.
    random_state : int, RandomState instance or None, default=None
        The seed, for results that can be repeated.
    n_jobs : int or None, default=None
        Threads for starts. The result does not depend on it.
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
    prototype_weights_ : ndarray of shape (n_clusters, n_samples)
        How much each sample counts in the prototype of each cluster; each row sums to one.
    delta_ : float
        The distance to the empty set.
    alpha_ : float
        The `alpha` that was used.
    beta_ : float
        The `beta` that was used.
    shift_ : float
        What was added to squared dissimilarities; 0 unless `nonmetric` is "shift".
    objective_ : float
        The objective at the prototypes and masses.
    objective_history_ : ndarray of shape (n_iterations + 1,)
        The objective before the first iteration, and after each.
    n_iter_ : int
        The number of iterations.
    converged_ : bool
        Whether the last iteration changed the masses by no more than `tol`.
    n_features_in_ : int
        The number of features, or of samples if `metric` is "precomputed".
    feature_names_in_ : ndarray of str
        The names of the features, where X has any.

    See Also
    --------
    EVCLUS : For dissimilarities of any kind, and for clusters that are not round.

    References
    ----------
    Masson and Denœux (2009).

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

    _takes_gaps = True

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        focal_sets: Literal["auto", "full", "pairs", "simple", "neighbor_pairs"] | FocalSetsLike = "auto",
        include_omega: bool = True,
        n_pair_neighbors: int = 1,
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
        self.include_omega = include_omega
        self.n_pair_neighbors = n_pair_neighbors
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

    @whole_or_nothing
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Find the prototypes, and the mass functions of the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Features, or dissimilarities if `metric` is "precomputed".
        y : None, default=None
            Not used; present for scikit-learn's conventions.

        Returns
        -------
        RECM
            The fitted estimator.
        """
        self._check_parameters()
        numbers = self._read(X, reset=True)
        data = self._filled(numbers, self.n_clusters)
        # All squares are sums in one unit, in which nothing would be left of the others.
        refuse_remote("X", data)
        self._check_evidence(len(data), self.n_clusters)
        random = check_random_state(self.random_state)
        unit, squares = self._square(data)
        # Isolated rows would decide scales and starts; they get masses at the end like all others.
        crisp = crisp_clusters(np.sqrt(squares), int(self.n_clusters), "precomputed")
        ordinary = crisp.ordinary
        if isinstance(self.delta, str):
            among = squares[np.ix_(ordinary, ordinary)]
            delta = min(self._typical_distance(among), BEYOND_REACH * crisp.reach)
        else:
            delta = float(self.delta) * unit.scale
        seeds = random.randint(np.iinfo(np.int32).max, size=self.n_init)
        with one_blas_thread():
            first, chosen = self._begin(squares, np.flatnonzero(ordinary), delta, random)
        trace = self._run(squares, unit, first, chosen, seeds)
        state = trace.state
        self._warn(state, chosen)
        self._unit, self._model = unit, state.model
        self._training = None if self._precomputed else np.array(data)
        partition = CredalPartition(state.masses, state.model.costs.focal_sets, validate=False)
        self._publish(self._doubted(numbers, partition, self._assign))
        if not self._precomputed:
            self._learn_gaps(data, self.n_clusters)
        self._name_samples(X)
        self.prototype_weights_ = state.model.weights
        self.delta_ = unit.distance(delta * delta) if isinstance(self.delta, str) else float(self.delta)
        self.alpha_, self.beta_ = chosen.alpha, chosen.beta
        self.shift_ = unit.total(unit.shift)
        trace = replace(trace, history=[unit.total(one) for one in trace.history])
        publish_trace(self, trace, "the masses", max_iter=self.max_iter)
        return self

    def predict_mass(self, X: ArrayLike) -> CredalPartition:
        """The mass functions of samples, new or old; for those of the training set the same as `masses_`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_training_samples)
            Features, or dissimilarities to the samples of the training set if `metric` is "precomputed"; squared
            ones if `squared_input`.

        Returns
        -------
        CredalPartition
            A mass function for each sample.
        """
        check_is_fitted(self)
        numbers = self._read(X, reset=False)
        found = partition_with_gaps(numbers, self._assign, self.focal_sets_, self._known_gaps)
        return with_names_of(X, self._supported(found))

    def _assign(self, rows: FloatArray) -> FloatArray:
        """The masses of complete rows."""
        masses = np.empty((len(rows), len(self._model.focal_sets)))
        for block in row_blocks(len(rows), max(1, _BLOCK_NUMBERS // self._model.weights.shape[1])):
            apart = rows[block]
            if self._training is not None:
                apart = _finite(distances_between(apart, self._training, self.metric))
            masses[block] = self._model.assign(self._unit(apart))
        return masses

    # The data and the problem

    def _check_parameters(self) -> None:
        check_integer("n_clusters", self.n_clusters, 1)
        check_flag("include_omega", self.include_omega)
        check_flag("squared_input", self.squared_input)
        check_integer("n_pair_neighbors", self.n_pair_neighbors, 1)
        check_integer("n_init", self.n_init, 1)
        check_integer("max_iter", self.max_iter, 1)
        check_real("tol", self.tol, 0)
        check_real("alpha", self.alpha, 0, 100, or_auto=True)
        check_real("beta", self.beta, 1, open_low=True, or_auto=True)
        check_choice("nonmetric", self.nonmetric, ("clip", "shift"))
        check_real("delta", self.delta, 0, open_low=True, or_auto=True, or_infinity=True)
        if isinstance(self.init, str):
            check_choice("init", self.init, ("kmeans", "k-means++", "random"))
        if self.squared_input and not self._precomputed:
            raise ValueError(
                f"squared_input=True needs metric='precomputed', got metric={self.metric!r}; distances of "
                "features are squared anyway."
            )

    def _read(self, X: Any, *, reset: bool) -> Numbers:
        numbers = read_numbers(
            self,
            X,
            reset=reset,
            takes_gaps=not self._precomputed,
            dtype=[np.float64, np.float32],
            ensure_min_samples=2 if reset else 1,
        )
        data = numbers.data
        if reset and len(data) < self.n_clusters:
            raise ValueError(
                f"n_clusters={self.n_clusters} needs at least as many samples, and there are "
                f"n_samples={len(data)}."
            )
        if not self._precomputed:
            return numbers
        check_range("X", data.astype(np.float64, copy=False), fitting=reset)
        check_dissimilarities(data, square=reset)
        return Numbers(symmetric_dissimilarities(data) if reset else data, False)

    def _square(self, data: FloatArray) -> tuple[Squares, FloatArray]:
        """The squared dissimilarities of all pairs of samples, and their unit."""
        apart = data if self._precomputed else _finite(distances_between(data, data, self.metric))
        return Squares.of(apart, squared=bool(self.squared_input), shifted=self.nonmetric == "shift")

    def _typical_distance(self, squares: FloatArray) -> float:
        pairs = squareform(squares, checks=False)
        quantile = float(np.quantile(pairs, _NEAR_AND_FAR))
        # More than 95 of 100 pairs are duplicates: any positive scale tells them from the rest.
        return float(np.sqrt(quantile if quantile > 0 else pairs.max())) or 1.0

    def _begin(
        self, squares: FloatArray, ordinary: IntArray, delta: float, random: np.random.RandomState
    ) -> tuple[list[Trace[RelationalState]], Chosen]:
        """Return solutions of k-means for ordinary samples taken as points of a space, and parameters."""
        some = np.sort(ordinary[random.permutation(len(ordinary))[:_ROWS]])
        rows, each = coordinates_of(squares[np.ix_(some, some)]), np.ones(len(some))
        n_init = self.n_init if isinstance(self.init, str) and self.init == "kmeans" else 1
        solutions = kmeans_solutions(self.n_clusters, rows, each, random, n_init=n_init)[:_MOST_STARTS]
        chosen = self._choose(Scales.of(rows, each, solutions[0]), rows, delta, random)
        apart = squared_distances(rows, solutions[0])
        family = choose_focal_sets(self.focal_sets, apart, None, include_omega=self.include_omega)
        focal_sets = self._room_for_ignorance(family)
        model = RelationalModel.undecided(self._costs(focal_sets, chosen), squares)
        return [_at(model, squares, some, squared_distances(rows, one)) for one in solutions], chosen

    def _choose(self, scales: Scales, rows: FloatArray, delta: float, random: np.random.RandomState) -> Chosen:
        """The parameters as they are given, or as the data decide."""
        cloud = isinstance(self.beta, str) and is_one_cloud(rows, np.ones(len(rows)), self.n_clusters, random)
        return scales.choose(delta, self.beta, self.alpha, cloud=cloud)

    def _costs(self, focal_sets: FocalSets, chosen: Chosen) -> SetCosts:
        return SetCosts.ecm(focal_sets, alpha=chosen.alpha, beta=chosen.beta, delta=chosen.delta)

    # The descent

    def _run(
        self,
        squares: FloatArray,
        unit: Squares,
        first: list[Trace[RelationalState]],
        chosen: Chosen,
        seeds: IntArray,
    ) -> Trace[RelationalState]:
        """All starts, and then, if asked for, once more with the pairs of neighbouring clusters."""
        focal_sets = first[0].state.model.focal_sets
        stop = Event()
        starts = self._starts(squares, first, seeds)
        tell = Steps(self.max_iter, self.n_init + in_two_steps(self.focal_sets))

        def report(number: int, value: float) -> None:
            tell(number, unit.total(value))

        def go(start: Trace[RelationalState]) -> Trace[RelationalState]:
            step = relational_step(squares, self.tol)
            return descend(step, start, max_iter=self.max_iter, stop=stop, report=report)

        run = Parallel(n_jobs=self.n_jobs, prefer="threads")
        trace = best_of(run(delayed(go)(start) for start in starts))
        if not in_two_steps(self.focal_sets) or trace.interrupted:
            return trace
        partition = CredalPartition(trace.state.masses, focal_sets, validate=False)
        near = neighbor_pairs(partition, n_neighbors=self.n_pair_neighbors)
        model = replace(trace.state.model, costs=self._costs(near.focal_sets, chosen))
        # Sets without mass cost nothing.
        refined = go(Trace(RelationalState(model, near.masses), [trace.objective]))
        return refined if refined.n_iter else replace(trace, interrupted=True)

    def _starts(
        self, squares: FloatArray, first: list[Trace[RelationalState]], seeds: IntArray
    ) -> Iterator[Trace[RelationalState]]:
        """Masses to start from, and models for prototypes that get none of them."""
        if isinstance(self.init, str) and self.init == "kmeans":
            yield from first
            return
        costs = first[0].state.model.costs
        focal_sets = costs.focal_sets
        shape = (len(squares), len(focal_sets))
        model = RelationalModel.undecided(costs, squares)
        means = np.tile(squares.mean(axis=1, keepdims=True), self.n_clusters)
        if not isinstance(self.init, str):
            masses = belief.check_masses(self.init, focal_sets, name="init")
            if masses.shape != shape:
                raise ValueError(f"init must have shape {shape}, got {masses.shape}.")
            yield start_at(model, means, masses.astype(np.float64, copy=False))
            return
        for seed in seeds:
            draw = np.random.RandomState(seed)
            if self.init == "k-means++":
                yield start_at(model, means, model.spread(squares, draw).assign(squares))
            else:
                drawn = random_masses(len(squares), len(focal_sets) - 1, draw)
                yield start_at(model, means, np.hstack([np.zeros((len(squares), 1)), drawn]))

    def _warn(self, state: RelationalState, chosen: Chosen) -> None:
        if state.clipped:
            message = (
                "squared distances to prototypes came out negative, because the dissimilarities are no Euclidean "
                "distances; they count as almost nothing. If X may be read as squares, try squared_input=True; "
                "nonmetric='shift' makes any dissimilarities Euclidean."
            )
            warn_caller(message)
        if chosen.cloud:
            warn_of_one_cloud(self.n_clusters)
            return
        apart = np.sqrt(state.model.gaps()[np.triu_indices(self.n_clusters, k=1)])
        remedy = "Use fewer clusters." if isinstance(self.beta, str) else "Give beta='auto'."
        labels = CredalPartition(state.masses, state.model.focal_sets, validate=False).to_hard()
        warn_if_collapsed(apart, labels, self.n_clusters, chosen.width, remedy)


def _at(model: RelationalModel, squares: FloatArray, some: IntArray, apart: FloatArray) -> Trace[RelationalState]:
    """A start with prototypes that are means of the samples that are nearest to each of some points."""
    weights = np.zeros((apart.shape[1], len(squares)))
    weights[apart.argmin(axis=1), some] = 1
    # A cluster without members begins at the sample that is nearest to its point.
    empty = np.flatnonzero(~weights.any(axis=1))
    weights[empty, some[apart[:, empty].argmin(axis=0)]] = 1
    return start_at(*model.move(weights / weights.sum(axis=1, keepdims=True), squares))


def _finite(distances: FloatArray) -> FloatArray:
    if not np.isfinite(distances).all():
        raise ValueError(
            "the distances of X are not finite numbers; rescale its features, or choose another metric."
        )
    return distances


__all__ = ["RECM"]
