"""EVCLUS: mass functions whose conflicts match the dissimilarities."""

import os
from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.validation import check_is_fitted, validate_data

from evlearn import belief
from evlearn.belief import FocalSets
from evlearn.belief.focal_sets import FocalSetsLike
from evlearn.blocks.open import is_elsewhere
from evlearn.blocks.targets import check_out
from evlearn.cluster.collapse import warn_of_small_clusters
from evlearn.cluster.dissimilarities import check_dissimilarities, distances_between, symmetric_dissimilarities
from evlearn.cluster.focal_families import cluster_similarity, make_focal_sets, neighbor_pairs, random_masses
from evlearn.cluster.pairwise.irqp import Descent, Pairs, best_start, descend, normalisation, stratified
from evlearn.cluster.pairwise.landmarks import LandmarkModel
from evlearn.cluster.pairwise.pair_graph import (
    TRANSFORMS,
    AllPairs,
    Transform,
    TransformKind,
    regular_graph,
    symmetrize,
)
from evlearn.cluster.pairwise.partners import (
    ALL_PAIRS_UP_TO,
    MANY_OBJECTS_PARTNERS,
    draw_partners,
    partner_distances,
    read_partners,
    ring_distances,
    sample_rings,
)
from evlearn.cluster.pairwise.stochastic import descend_stochastic
from evlearn.cluster.rowwise import RowwiseClusterer
from evlearn.constraints import PairwiseConstraints
from evlearn.constraints.pairwise import check_constraints
from evlearn.constraints.penalty import Penalty
from evlearn.partition import CredalPartition
from evlearn.partition.verdict import OUTLIER_MASS
from evlearn.utils.chunks import row_blocks
from evlearn.utils.convergence import warn_if_unfinished, whole_or_nothing
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.typing import DataLike, FloatArray, IntArray, Metric, NumbersLike, RandomSeed
from evlearn.utils.validation import check_choice, check_flag, check_integer, check_range, check_real

_START_OBJECTS = 150
_START_CANDIDATES = 10
_REFERENCE_OBJECTS = 500
_SHOWN_PAIRS = 50_000
# Other starts where clusters are missing: those with less than a twentieth of their share of the objects.
_RESTARTS = 3
_NEXT_TO_NONE = 0.05
_PAPERS_QUANTILE = 0.9
# Of d0_quantile="auto": starts for each quantile, the share of a quantile below which there is no conflict (unless
# distances are the same there), the share of outliers that is no flaw, and what each share beyond it counts.
_SCAN_CANDIDATES = 4
_NEAR, _APART = 1 / 8, 1 - 1e-9
_FEW_OUTLIERS, _OUTLIER_COST = 0.02, 5.0
_QUANTILE_SAMPLE = 5_000_000
# Fresh draws never stop moving: the stochastic solver ends earlier, and at a change that stands out of the noise.
_STOCHASTIC_SWEEPS = 50
_STOCHASTIC_TOL = 1e-3


class EVCLUS(RowwiseClusterer):
    r"""Evidential clustering of objects or dissimilarities: the more alike two objects, the less they conflict.

    EVCLUS looks for one mass function per object such that the degree of conflict of two objects matches their
    dissimilarity. Objects between clusters get mass on sets of clusters, and objects far from all clusters get
    mass on the empty set. It needs dissimilarities only, metric or not, takes must-link and cannot-link
    constraints, and predicts for new objects.

    Parameters
    ----------
    n_clusters : int, default=3
        The number of clusters.
    focal_sets : {"simple", "pairs", "full", "neighbor_pairs"}, FocalSets or list of sets, default="simple"
        The sets of clusters that may carry mass, besides the empty set. "simple": single clusters and all clusters
        together; "pairs": also all pairs; "full": all sets, for up to five clusters or so; "neighbor_pairs": a
        simple fit first, then again with the pairs of clusters that turn out to be neighbours.
    include_omega : bool, default=True
        Whether the set of all clusters belongs to "simple", "pairs" and "neighbor_pairs".
    n_pair_neighbors : int, default=1
        For "neighbor_pairs": how many of its most similar clusters count as a cluster's neighbours.
    metric : str or callable, default="euclidean"
        "precomputed" for a square matrix of dissimilarities, or any metric of
        `sklearn.metrics.pairwise_distances`.
    dissimilarity_transform : {"exponential", "linear", "rank"} or callable, default="exponential"
        How dissimilarities become target conflicts: ``1 - exp(-gamma * d**2)`` with conflict 0.95 at `d0`,
        ``min(1, d / d0)``, the share of pairs that are not farther apart, or a function onto [0, 1].
    d0 : float or None, default=None
        The dissimilarity from which objects are almost surely in different clusters. None takes a quantile.
    d0_quantile : float or "auto", default="auto"
        The quantile of the dissimilarities that None takes; the papers have 0.9. "auto" tries ten quantiles on a
        sample, and takes the one with the surest partition that has all clusters and few outliers. Then
        "exponential" counts squares from a lower quantile on, so that distances that are all alike, as they are
        in many dimensions, make no outliers.
    n_partners : int, "auto", "all" or array-like of int of shape (n_samples, k), default="auto"
        How many other objects each object is compared with, or which ones. "auto" means all of up to 2000 objects,
        and 200 beyond.
    solver : {"exact", "stochastic", "landmark"}, default="exact"
        "exact": sweeps over stored pairs, to a minimum. "stochastic": fresh partners in every sweep, no stored
        distances. "landmark": an exact fit of some objects, and one pass over all others; for millions of objects.
    n_landmarks : int, default=500
        The number of landmarks of the landmark solver.
    loss : {"stress", "mse"}, default="stress"
        Divide the sum of squared differences by that of the squared targets, or by the number of pairs.
    xi : float, default=0.5
        The weight of constraints, between 0 and 1 as a rule.
    xi_schedule : sequence of float or None, default=None
        The weights of constraints to fit with, one after the other, each from where the last ended. None means 0,
        0.05 and `xi`.
    init : "auto", "random" or array-like of shape (n_samples, n_focal_sets), default="auto"
        Where to start: from the best of several short fits of a sample, from random masses, or from given masses.
    n_init : int, default=1
        How many times to start; the best result is kept.
    max_iter : int, default=1000
        The largest number of sweeps; the stochastic solver makes at most 50.
    tol : float, default=1e-5
        A sweep that lowers the objective by less than this share of it is the last. The stochastic solver compares
        averages of five sweeps, with at least 1e-3.
    shuffle : bool, default=True
        Whether sweeps visit the objects in a new random order.
    pair_update : {"symmetric", "own"}, default="symmetric"
        "own" draws partners for each object and ignores in its update who else has drawn it, as R's package does;
        no descent is guaranteed then.
    random_state : int, RandomState instance or None, default=None
        The seed, for results that can be repeated.
    n_jobs : int or None, default=None
        Threads for starts, for landmark passes and for prediction. The result does not depend on it.
    masses_file : str, path or None, default=None
        Where the masses of the landmark solver go: None for memory (and nowhere for data that are not in
        memory), or a name that ends in ``.npy`` for a memory map, or in ``.parquet`` for a folder of Parquet
        files.
    verbose : int, default=0
        Whether to report progress, sweep by sweep.

    Attributes
    ----------
    credal_partition_ : CredalPartition
        The result.
    labels_ : ndarray of int of shape (n_samples,)
        The most plausible cluster of each object.
    masses_ : ndarray of shape (n_samples, n_focal_sets)
        The masses, read-only.
    focal_sets_ : FocalSets
        What the columns of the masses stand for.
    objective_ : float
        The objective: stress or mean squared difference, with the penalty of constraints. For the landmark solver
        that of the landmarks, for the stochastic solver that of the last sweep.
    stress_ : float
        The objective without the penalty of constraints.
    objective_history_ : ndarray of shape (n_sweeps,)
        The objective after each sweep.
    n_iter_ : int
        The number of sweeps.
    converged_ : bool
        Whether the last sweep changed the objective by less than `tol`. False, without a warning, where the
        stochastic solver ended with its 50 sweeps.
    d0_ : float
        The dissimilarity used for `d0`.
    d1_ : float
        The dissimilarity up to which two objects do not conflict at all; 0 unless `d0_quantile` has chosen it.
    conflict_, transformed_dissimilarities_ : ndarray
        Conflicts and targets of at most 50,000 pairs, for a Shepard diagram.
    n_features_in_ : int
        The number of attributes, or of objects if `metric` is "precomputed".
    feature_names_in_ : ndarray of str
        The names of the attributes, where X has any.

    See Also
    --------
    evlearn.constraints.PairwiseConstraints : Must-link and cannot-link constraints.

    References
    ----------
    The method, its version for many objects, and the one with constraints: Denœux and Masson (2004),
    Denœux et al. (2016), Li et al. (2018).

    Examples
    --------
    >>> from evlearn.cluster import EVCLUS
    >>> from evlearn.datasets import load_butterfly
    >>> butterfly = load_butterfly()
    >>> model = EVCLUS(n_clusters=2, d0=11, random_state=0).fit(butterfly.data)
    >>> model.credal_partition_.summary()
    12 objects, 2 clusters
      sure             8   (66.7 %)   0: 4, 1: 4
      torn             3   (25.0 %)   Ω (any cluster): 3
      outliers         1    (8.3 %)
      sure: a belief of 0.60 or more in one cluster
    """

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        focal_sets: Literal["simple", "pairs", "full", "neighbor_pairs"] | FocalSetsLike = "simple",
        include_omega: bool = True,
        n_pair_neighbors: int = 1,
        metric: Metric = "euclidean",
        dissimilarity_transform: TransformKind = "exponential",
        d0: float | None = None,
        d0_quantile: float | Literal["auto"] = "auto",
        n_partners: int | Literal["auto", "all"] | NumbersLike = "auto",
        solver: Literal["exact", "stochastic", "landmark"] = "exact",
        n_landmarks: int = 500,
        loss: Literal["stress", "mse"] = "stress",
        xi: float = 0.5,
        xi_schedule: Sequence[float] | None = None,
        init: Literal["auto", "random"] | NumbersLike = "auto",
        n_init: int = 1,
        max_iter: int = 1000,
        tol: float = 1e-5,
        shuffle: bool = True,
        pair_update: Literal["symmetric", "own"] = "symmetric",
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
        masses_file: str | os.PathLike[str] | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.focal_sets = focal_sets
        self.include_omega = include_omega
        self.n_pair_neighbors = n_pair_neighbors
        self.metric = metric
        self.dissimilarity_transform = dissimilarity_transform
        self.d0 = d0
        self.d0_quantile = d0_quantile
        self.n_partners: Any = n_partners
        self.solver = solver
        self.n_landmarks = n_landmarks
        self.loss = loss
        self.xi = xi
        self.xi_schedule = xi_schedule
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.pair_update = pair_update
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.masses_file = masses_file
        self.verbose = verbose

    @whole_or_nothing
    def fit(self, X: DataLike, y: object = None, *, constraints: PairwiseConstraints | None = None) -> Self:
        """Find the mass functions of the objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Attributes, or dissimilarities if `metric` is "precomputed". The landmark solver also takes data that
            are not in memory: the path of Parquet files, a Dask collection, or an iterable of arrays, as
            `ECM.fit` does.
        y : None, default=None
            Not used; present for scikit-learn's conventions.
        constraints : PairwiseConstraints, default=None
            Pairs of objects that must, or cannot, be in the same cluster.

        Returns
        -------
        EVCLUS
            The fitted estimator.
        """
        self._check_parameters()
        with one_blas_thread():
            self._fit(X, constraints)
        return self

    def _fit(self, X: Any, constraints: PairwiseConstraints | None) -> None:
        if self.solver == "landmark":
            self._fit_landmark(X, constraints)
            return
        if is_elsewhere(X):
            raise ValueError(
                f"solver={self.solver!r} needs data in memory, and X is {type(X).__name__}; use solver='landmark'."
            )
        data = self._read(X, reset=True)
        check_constraints(constraints, len(data))
        focal_sets = make_focal_sets(self.focal_sets, self.n_clusters, include_omega=self.include_omega)
        fit = self._fit_exact if self.solver == "exact" else self._fit_stochastic
        fit(data, focal_sets, constraints, check_random_state(self.random_state))
        self._name_objects(X)

    def stress(self, X: ArrayLike, *, n_pairs: int = 100_000, random_state: RandomSeed = None) -> float:
        """The stress of the fitted partition on pairs drawn anew: how well it fits pairs that it has not seen.

        Parameters
        ----------
        X : array-like
            The objects of the training set, in the same order.
        n_pairs : int, default=100000
            About how many pairs to draw.
        random_state : int, RandomState instance or None, default=None
            The seed, for results that can be repeated.

        Returns
        -------
        float
            The sum of squared differences of conflicts and targets, divided by that of the squared targets.
        """
        check_is_fitted(self)
        data = self._read(X, reset=False)
        if len(data) != len(self.masses_):
            raise ValueError(f"X has {len(data)} objects but the model was fitted to {len(self.masses_)}.")
        # Its own stream: with the seed of the fit, the rings of the fit would come back.
        random = np.random.RandomState(check_random_state(random_state).randint(2**31, size=4))
        residuals = squares = 0.0
        drawn = 0
        while drawn < n_pairs:
            ring = random.permutation(len(data))[: max(n_pairs - drawn, 2)]
            conflicts, delta = self._along(data, ring)
            residuals += float(((conflicts - delta) ** 2).sum())
            squares += float((delta**2).sum())
            drawn += len(ring)
        return residuals / squares if squares > 0 else 0.0

    # The data and the problem

    @property
    def _in_two_steps(self) -> bool:
        return isinstance(self.focal_sets, str) and self.focal_sets == "neighbor_pairs"

    def _check_parameters(self) -> None:
        check_integer("n_clusters", self.n_clusters, 1)
        check_flag("include_omega", self.include_omega)
        check_flag("shuffle", self.shuffle)
        check_integer("n_pair_neighbors", self.n_pair_neighbors, 1)
        check_integer("n_landmarks", self.n_landmarks, 2)
        check_integer("n_init", self.n_init, 1)
        check_integer("max_iter", self.max_iter, 1)
        check_real("tol", self.tol, 0)
        check_real("xi", self.xi, 0)
        check_real("d0_quantile", self.d0_quantile, 0, 1, open_low=True, or_auto=True)
        check_choice("solver", self.solver, ("exact", "stochastic", "landmark"))
        check_choice("loss", self.loss, ("stress", "mse"))
        check_out(self.masses_file, "masses_file")
        check_choice("pair_update", self.pair_update, ("symmetric", "own"))
        if not callable(self.dissimilarity_transform):
            check_choice("dissimilarity_transform", self.dissimilarity_transform, TRANSFORMS)
        if self.d0 is not None:
            check_real("d0", self.d0, 0, open_low=True)
        if isinstance(self.n_partners, str):
            check_choice("n_partners", self.n_partners, ("auto", "all"))
        elif np.ndim(self.n_partners) != 2:
            check_integer("n_partners", self.n_partners, 1)

    def _read(self, X: Any, *, reset: bool) -> FloatArray:
        data: FloatArray = validate_data(
            self, X, reset=reset, dtype=[np.float64, np.float32], ensure_min_samples=2 if reset else 1
        )
        if not self._precomputed:
            check_range("X", data, fitting=reset)
            return data
        check_range("X", data.astype(np.float64, copy=False), fitting=reset)
        check_dissimilarities(data, square=reset)
        return symmetric_dissimilarities(data) if reset else data

    def _partners(self, n_objects: int) -> int | None:
        """The number of partners of each object, or None for all."""
        if np.ndim(self.n_partners) == 2:
            return int(np.shape(self.n_partners)[1])
        if isinstance(self.n_partners, str):
            everything = self.n_partners == "all" or n_objects <= ALL_PAIRS_UP_TO
            return None if everything else MANY_OBJECTS_PARTNERS
        return None if self.n_partners >= n_objects - 1 else int(self.n_partners)

    def _pose(self, data: FloatArray, random: np.random.RandomState) -> tuple[Pairs, Transform]:
        """The pairs with their targets, and the transform that made them."""
        given = np.ndim(self.n_partners) == 2
        n_partners = self._partners(len(data))
        if n_partners is None:
            distances = self._square(data, np.arange(len(data)))
            used = distances[~np.eye(len(data), dtype=bool)]
            transform = self._make_transform(data, used, random)
            return AllPairs(_targets(distances, transform)), transform
        own = self.pair_update == "own"
        if given:
            partners = read_partners(self.n_partners, len(data))
            distances = partner_distances(data, partners, self.metric)
        elif own:
            partners = draw_partners(len(data), n_partners, random)
            distances = partner_distances(data, partners, self.metric)
        else:
            partners, distances = sample_rings(data, n_partners, self.metric, random)
        transform = self._make_transform(data, distances.reshape(-1), random)
        for block in row_blocks(len(distances)):
            distances[block] = transform(distances[block])
        if given and not own:
            return symmetrize(partners, distances), transform
        return regular_graph(partners, distances, symmetric=not own), transform

    def _square(self, data: FloatArray, chosen: IntArray) -> FloatArray:
        """The dissimilarities of some objects with each other, in double precision."""
        if self._precomputed:
            return np.asarray(data[np.ix_(chosen, chosen)], dtype=np.float64)
        return distances_between(data[chosen], data[chosen], self.metric)

    def _make_transform(self, data: FloatArray, used: FloatArray, random: np.random.RandomState) -> Transform:
        used = used[:: len(used) // _QUANTILE_SAMPLE + 1]
        kind = self.dissimilarity_transform
        ranks = np.sort(used) if isinstance(kind, str) and kind == "rank" else None
        if self.d0 is not None:
            return Transform(kind, float(self.d0), ranks)
        if not isinstance(self.d0_quantile, str):
            return Transform(kind, _quantile(used, self.d0_quantile), ranks)
        if kind == "exponential" or kind == "linear":
            return self._scan_d0(data, used, random)
        return Transform(kind, _quantile(used, _PAPERS_QUANTILE), ranks)  # which does not count

    def _scan_d0(self, data: FloatArray, used: FloatArray, random: np.random.RandomState) -> Transform:
        """The quantile, of ten, whose partition of a sample is the surest, with all clusters and few outliers."""
        chosen = random.permutation(len(data))[: self._start_size]
        distances = self._square(data, chosen)
        focal_sets = FocalSets.simple(self.n_clusters)
        # Of c clusters of one size, a share 1/c of the pairs is within clusters; these must be below d0.
        quantiles = np.append(np.geomspace(min(1 / self.n_clusters, 0.5), 0.9, 8), [0.95, 0.99])
        best = (np.inf, Transform("exponential", 1.0))
        for quantile in quantiles:
            d0, near = _quantile(used, quantile), _quantile(used, _NEAR * quantile)
            near = near if self.dissimilarity_transform == "exponential" and near < _APART * d0 else 0.0
            transform = Transform(self.dissimilarity_transform, d0, near=near)
            masses = best_start(_targets(distances, transform), focal_sets, random, n_candidates=_SCAN_CANDIDATES)
            best = min(best, (_flaws(masses, focal_sets), transform), key=lambda one: one[0])
        return best[1]

    @property
    def _start_size(self) -> int:
        return max(_START_OBJECTS, 20 * self.n_clusters)

    # The solvers

    def _fit_exact(
        self,
        data: FloatArray,
        focal_sets: FocalSets,
        constraints: PairwiseConstraints | None,
        random: np.random.RandomState,
    ) -> None:
        pairs, transform = self._pose(data, random)
        seeds = random.randint(np.iinfo(np.int32).max, size=self.n_init)
        states = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(self._descend)(data, pairs, transform, focal_sets, constraints, np.random.RandomState(seed))
            for seed in seeds
        )
        state = min(states, key=lambda one: one.objective)
        for _ in range(_RESTARTS):
            if state.interrupted or not isinstance(self.init, str) or not _count_missing(state.masses, focal_sets):
                break
            again = np.random.RandomState(random.randint(np.iinfo(np.int32).max))
            other = self._descend(data, pairs, transform, focal_sets, constraints, again)
            state = _better(state, other, focal_sets)
        if self._in_two_steps:
            state, focal_sets = self._refine_pairs(pairs, focal_sets, state, constraints, random)
        self._warn(state)
        Y = state.masses @ focal_sets.conflict_matrix
        self._finish(data, state.masses, focal_sets, state, transform, random)
        self.conflict_, self.transformed_dissimilarities_ = pairs.conflicts(state.masses, Y, _SHOWN_PAIRS)

    def _descend(
        self,
        data: FloatArray,
        pairs: Pairs,
        transform: Transform,
        focal_sets: FocalSets,
        constraints: PairwiseConstraints | None,
        random: np.random.RandomState,
    ) -> Descent:
        """One start and its descent, through the schedule of the constraints' weight."""
        state = Descent(self._start(data, transform, focal_sets, random), np.inf)
        for xi in self._schedule(constraints):
            if not state.interrupted:
                state = self._sweep(pairs, state.masses, focal_sets, constraints, xi, random)
        return state

    def _schedule(self, constraints: PairwiseConstraints | None) -> Sequence[float]:
        if constraints is None or len(constraints) == 0:
            return [0.0]
        return sorted({0.0, min(0.05, self.xi), self.xi}) if self.xi_schedule is None else self.xi_schedule

    def _sweep(
        self,
        pairs: Pairs,
        masses: FloatArray,
        focal_sets: FocalSets,
        constraints: PairwiseConstraints | None,
        xi: float,
        random: np.random.RandomState,
    ) -> Descent:
        return descend(
            pairs,
            masses,
            focal_sets,
            eta=normalisation(pairs, self.loss),
            tol=self.tol,
            max_iter=self.max_iter,
            penalty=Penalty.of(constraints, xi, focal_sets) if constraints is not None and xi > 0 else None,
            random=random if self.shuffle else None,
            report=self._report if self.verbose else None,
        )

    def _refine_pairs(
        self,
        pairs: Pairs,
        focal_sets: FocalSets,
        state: Descent,
        constraints: PairwiseConstraints | None,
        random: np.random.RandomState,
    ) -> tuple[Descent, FocalSets]:
        """Add the pairs of neighbouring clusters, and descend from where the first fit ended."""
        partition = CredalPartition(state.masses, focal_sets, validate=False)
        larger = focal_sets.with_sets(neighbor_pairs(cluster_similarity(partition), self.n_pair_neighbors))
        masses = belief.expand(state.masses, focal_sets, larger)
        xi = 0.0 if constraints is None else self.xi
        return self._sweep(pairs, masses, larger, constraints, xi, random), larger

    def _start(
        self, data: FloatArray, transform: Transform, focal_sets: FocalSets, random: np.random.RandomState
    ) -> FloatArray:
        """Masses to start from."""
        if not isinstance(self.init, str):
            masses = belief.check_masses(self.init, focal_sets, name="init")
            if masses.shape != (len(data), len(focal_sets)):
                raise ValueError(f"init must have shape {(len(data), len(focal_sets))}, got {masses.shape}.")
            return masses
        check_choice("init", self.init, ("auto", "random"))
        if self.init == "random":
            return random_masses(len(data), len(focal_sets), random)
        everyone = len(data) <= self._start_size
        chosen = np.arange(len(data)) if everyone else np.sort(random.permutation(len(data))[: self._start_size])
        delta = _targets(self._square(data, chosen), transform)
        known = best_start(delta, focal_sets, random, n_candidates=_START_CANDIDATES)
        if everyone:
            return known
        model = self._make_model(data, chosen, known, focal_sets, transform)
        return model.assign(data).astype(np.float64, copy=False)

    def _fit_landmark(self, X: Any, constraints: PairwiseConstraints | None) -> None:
        _refuse_constraints(constraints, "landmark")
        if self._precomputed and is_elsewhere(X):
            raise ValueError("metric='precomputed' needs a matrix in memory; give attributes, or an array.")
        random = check_random_state(self.random_state)
        focal_sets = make_focal_sets(self.focal_sets, self.n_clusters, include_omega=self.include_omega)
        with self._opened(X, reset=True) as rows:
            size = min(self.n_landmarks, len(rows))
            chosen = np.sort(sample_without_replacement(len(rows), size, random_state=random))
            known = np.array(rows.take(chosen))
            if is_elsewhere(X):  # arrays have been checked as a whole
                check_range("X", known, fitting=True)
            data = known[:, chosen] if self._precomputed else known
            distances = self._square(data, np.arange(size))
            transform = self._make_transform(data, distances[~np.eye(size, dtype=bool)], random)
            pairs = AllPairs(_targets(distances, transform))
            state = self._fit_landmarks(pairs, focal_sets, random)
            if self._in_two_steps:
                state, focal_sets = self._refine_pairs(pairs, focal_sets, state, None, random)
            self._warn(state)
            landmarks = None if self._precomputed else known
            self._model = LandmarkModel(chosen, landmarks, state.masses, focal_sets, transform, self.metric)
            self.focal_sets_ = focal_sets
            self._publish_masses(rows)
        self._publish_descent(state, transform)
        warn_of_small_clusters(_labels(state.masses, focal_sets), self.n_clusters)
        Y = state.masses @ focal_sets.conflict_matrix
        self.conflict_, self.transformed_dissimilarities_ = pairs.conflicts(state.masses, Y, _SHOWN_PAIRS)
        if "credal_partition_" in self.__dict__:
            self._name_objects(X)

    def _fit_landmarks(self, pairs: AllPairs, focal_sets: FocalSets, random: np.random.RandomState) -> Descent:
        def descend_once() -> Descent:
            start = best_start(pairs.delta, focal_sets, random, n_candidates=_START_CANDIDATES * self.n_init)
            return self._sweep(pairs, start, focal_sets, None, 0.0, random)

        state = descend_once()
        for _ in range(_RESTARTS):
            if state.interrupted or not _count_missing(state.masses, focal_sets):
                break
            state = _better(state, descend_once(), focal_sets)
        return state

    def _fit_stochastic(
        self,
        data: FloatArray,
        focal_sets: FocalSets,
        constraints: PairwiseConstraints | None,
        random: np.random.RandomState,
    ) -> None:
        _refuse_constraints(constraints, "stochastic")
        if self._in_two_steps:
            raise ValueError("focal_sets='neighbor_pairs' needs solver 'exact' or 'landmark', got 'stochastic'.")
        n_rings = min(20, 100_000 // len(data) + 1)
        rings = [
            ring_distances(data, random.permutation(len(data))[:100_000], self.metric) for _ in range(n_rings)
        ]
        transform = self._make_transform(data, np.concatenate(rings), random)
        state = descend_stochastic(
            data,
            self._start(data, transform, focal_sets, random),
            focal_sets,
            transform,
            self.metric,
            n_partners=self._partners(len(data)) or min(MANY_OBJECTS_PARTNERS, len(data)),
            block_size=min(256, max(1, len(data) // 4)),
            tol=max(self.tol, _STOCHASTIC_TOL),
            max_iter=min(self.max_iter, _STOCHASTIC_SWEEPS),
            random=random,
            report=self._report if self.verbose else None,
        )
        if len(state.history) < _STOCHASTIC_SWEEPS:  # the last of them is an end by design, not a failure
            self._warn(state)
        self._finish(data, state.masses, focal_sets, state, transform, random)
        shown = random.permutation(len(data))[:_SHOWN_PAIRS]
        self.conflict_, self.transformed_dissimilarities_ = self._along(data, shown)

    # The result

    def _along(self, data: FloatArray, ring: IntArray) -> tuple[FloatArray, FloatArray]:
        """The conflict and the target of every object on a ring with the next one."""
        M = self.masses_[ring].astype(np.float64, copy=False)
        conflicts = np.einsum("ij,ij->i", M @ self.focal_sets_.conflict_matrix, np.roll(M, -1, axis=0))
        return conflicts, self._model.transform(ring_distances(data, ring, self.metric))

    def _make_model(
        self, data: FloatArray, chosen: IntArray, masses: FloatArray, focal_sets: FocalSets, transform: Transform
    ) -> LandmarkModel:
        landmarks = None if self._precomputed else data[chosen]
        return LandmarkModel(chosen, landmarks, masses, focal_sets, transform, self.metric)

    def _finish(
        self,
        data: FloatArray,
        masses: FloatArray,
        focal_sets: FocalSets,
        state: Descent,
        transform: Transform,
        random: np.random.RandomState,
    ) -> None:
        self._publish(CredalPartition(masses, focal_sets, validate=False))
        chosen = stratified(self.labels_, _REFERENCE_OBJECTS, random)
        self._model = self._make_model(data, chosen, np.ascontiguousarray(masses[chosen]), focal_sets, transform)
        self._publish_descent(state, transform)
        warn_of_small_clusters(self.labels_, self.n_clusters)

    def _warn(self, state: Descent) -> None:
        warn_if_unfinished(state, len(state.history), self.max_iter, "the objective", steps="sweeps")

    def _publish_descent(self, state: Descent, transform: Transform) -> None:
        self.d0_, self.d1_ = transform.d0, transform.near
        self.objective_ = state.objective
        self.stress_ = state.stress
        self.objective_history_ = np.array(state.history)
        self.n_iter_ = len(state.history)
        self.converged_ = state.converged

    def _report(self, sweep: int, objective: float) -> None:
        print(f"EVCLUS sweep {sweep:>4}   objective {objective:.9f}", flush=True)


def _quantile(distances: FloatArray, quantile: float) -> float:
    # More than this share of the pairs are duplicates: any positive scale tells them from the rest.
    return float(np.quantile(distances, quantile)) or float(distances.max(initial=0)) or 1.0


def _flaws(masses: FloatArray, focal_sets: FocalSets) -> float:
    """What a partition of a sample lacks: belief in single clusters, clusters, and places for all but a few."""
    n_clusters = focal_sets.frame_size
    unsure = 1 - float(masses[:, focal_sets.singleton_positions].max(axis=1).mean())
    missing = n_clusters - len(np.unique(_labels(masses, focal_sets)))
    outliers = float((masses[:, 0] >= OUTLIER_MASS).mean())
    return unsure + missing / n_clusters + _OUTLIER_COST * max(outliers - _FEW_OUTLIERS, 0)


def _better(state: Descent, other: Descent, focal_sets: FocalSets) -> Descent:
    """Another end, if it has more clusters and fits no worse: where there are no more, nothing should change."""
    more = _count_missing(other.masses, focal_sets) < _count_missing(state.masses, focal_sets)
    return other if more and other.objective <= state.objective else state


def _count_missing(masses: FloatArray, focal_sets: FocalSets) -> int:
    """How many clusters have next to no objects."""
    sizes = np.bincount(_labels(masses, focal_sets), minlength=focal_sets.frame_size)
    return int((sizes < _NEXT_TO_NONE * len(masses) / focal_sets.frame_size).sum())


def _labels(masses: FloatArray, focal_sets: FocalSets) -> IntArray:
    return np.asarray(masses[:, focal_sets.singleton_positions].argmax(axis=1))


def _targets(distances: FloatArray, transform: Transform) -> FloatArray:
    delta = np.array(transform(distances), dtype=np.float64, order="C")
    np.fill_diagonal(delta, 0)
    return delta


def _refuse_constraints(constraints: PairwiseConstraints | None, solver: str) -> None:
    if constraints is not None and len(constraints):
        raise ValueError(f"constraints need solver='exact', got solver={solver!r}.")


__all__ = ["EVCLUS"]
