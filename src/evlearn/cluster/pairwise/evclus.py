"""EVCLUS: mass functions whose conflicts match the dissimilarities."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.validation import check_is_fitted

from evlearn.belief.focal_sets import FocalSetsLike
from evlearn.blocks.open import is_elsewhere
from evlearn.blocks.sparse import Features, SparseBlock, with_length
from evlearn.blocks.targets import check_out
from evlearn.cluster.collapse import warn_of_small_clusters
from evlearn.cluster.dissimilarities import SPARSE_METRICS, check_dissimilarities, symmetric_dissimilarities
from evlearn.cluster.focal_families import make_focal_sets
from evlearn.cluster.pairwise import by_landmarks, exact, stochastic
from evlearn.cluster.pairwise.irqp import STOPPING, labels_of, stratified
from evlearn.cluster.pairwise.landmarks import LandmarkModel
from evlearn.cluster.pairwise.pair_graph import (
    TRANSFORMS,
    TransformKind,
)
from evlearn.cluster.pairwise.partners import (
    ring_distances,
)
from evlearn.cluster.pairwise.problem import Problem, Solution
from evlearn.cluster.pairwise.stochastic import MOST_SWEEPS
from evlearn.cluster.rowwise import RowwiseClusterer
from evlearn.constraints import NamedConstraints, PairwiseConstraints
from evlearn.constraints.named import numbered
from evlearn.partition import CredalPartition
from evlearn.utils.convergence import publish_trace, whole_or_nothing
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.progress import Steps
from evlearn.utils.reading import Numbers, read_numbers
from evlearn.utils.typing import DataLike, FloatArray, IntArray, Metric, NumbersLike, RandomSeed
from evlearn.utils.validation import check_choice, check_flag, check_integer, check_range, check_real

_REFERENCE_OBJECTS = 500
_SHOWN_PAIRS = 50_000


class EVCLUS(RowwiseClusterer):
    r"""Evidential clustering of samples or dissimilarities: the more alike two samples, the less they conflict.

    EVCLUS looks for one mass function per sample such that the degree of conflict of two samples matches their
    dissimilarity. Samples between clusters get mass on sets of clusters, and samples far from all clusters get
    mass on the empty set. It needs dissimilarities only, metric or not, accepts must-link and cannot-link
    constraints, and predicts for new samples.

    Missing values (NaN) of features in memory become doubt: the masses of a sample with gaps are those that it
    would have on average, and what remains open is mass on the set of all clusters. Dissimilarities must all be
    known.

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
        The dissimilarity from which samples are almost surely in different clusters. None means a quantile.
    d0_quantile : float or "auto", default="auto"
        The quantile of the dissimilarities that None means; the papers have 0.9. "auto" tries ten quantiles on a
        sample, and takes the one with the surest partition that has all clusters and few outliers. Rows that are
        far from every cluster, such as gross errors, do not count. If clusters have very different sizes,
        multiples of the distance between the nearest two are tried as well. Then "exponential" counts squares from
        a lower quantile on, so that distances that are all alike, as in many dimensions, make no outliers.
    n_partners : int, "auto", "all" or array-like of int of shape (n_samples, k), default="auto"
        How many other samples each sample is compared with, or which ones. "auto" means all of up to 2000 samples,
        and 200 beyond.
    solver : {"exact", "stochastic", "landmark"}, default="exact"
        "exact": sweeps over stored pairs, to a minimum. "stochastic": fresh partners in every sweep, no stored
        distances. "landmark": an exact fit of some samples, and one pass over all others; for millions of samples.
    n_landmarks : int, default=500
        The number of landmarks of the landmark solver.
    loss : {"stress", "mse"}, default="stress"
        Divide the sum of squared differences by that of the squared targets, or by the number of pairs.
    xi : float, default=0.5
        The weight of constraints, usually between 0 and 1.
    xi_schedule : sequence of float or None, default=None
        The weights of constraints to fit with, one after the other, each from where the last ended. None means 0,
        0.05 and `xi`.
    init : "auto", "random" or array-like of shape (n_samples, n_focal_sets), default="auto"
        Where to start: from the best of several short fits of a sample without rows that are far from every
        cluster, from random masses, or from given masses.
    n_init : int, default=1
        How many times to start; the best result is kept.
    max_iter : int, default=1000
        The largest number of sweeps; the stochastic solver makes at most 50.
    tol : float, default=1e-5
        A sweep that lowers the objective by less than this share of it is the last. The stochastic solver compares
        averages of five sweeps, with at least 1e-3.
    stopping : {"last", "average"}, default="last"
        Which change `tol` judges: that of the last sweep, or the running average of the papers, which is 1 at
        first, and then the mean of itself and of the last change.
    shuffle : bool, default=True
        Whether sweeps visit the samples in a new random order.
    pair_update : {"symmetric", "own"}, default="symmetric"
        "own" draws partners for each sample and ignores in its update who else has drawn it, as R's package does;
        no descent is guaranteed then.
    random_state : int, RandomState instance or None, default=None
        The seed, for results that can be repeated.
    n_jobs : int or None, default=None
        Threads for starts, for landmark passes and for prediction. The result does not depend on it.
    masses_file : str, path or None, default=None
        Where the masses of the landmark solver go: None for memory (and nowhere for data that are not in
        memory), or a name that ends in ``.npy`` for a memory map, or in ``.parquet`` for a folder of Parquet
        files. An existing file is not replaced.
    verbose : int, default=0
        Whether to report progress, sweep by sweep.

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
    objective_ : float
        The objective: stress or mean squared difference, with the penalty of constraints. For the landmark solver
        that of the landmarks, for the stochastic solver that of the last sweep.
    stress_ : float
        The objective without the penalty of constraints.
    objective_history_ : ndarray of shape (n_iterations + 1,)
        The objective before the first sweep, and after each.
    n_iter_ : int
        The number of sweeps.
    converged_ : bool
        Whether the last sweep changed the objective by less than `tol`. False, without a warning, where the
        stochastic solver ended with its 50 sweeps.
    d0_ : float
        The dissimilarity used for `d0`.
    d1_ : float
        The dissimilarity up to which two samples do not conflict at all; 0 unless `d0_quantile` has chosen it.
    conflict_, transformed_dissimilarities_ : ndarray
        Conflicts and targets of at most 50,000 pairs, for a Shepard diagram.
    n_features_in_ : int
        The number of features, or of samples if `metric` is "precomputed".
    feature_names_in_ : ndarray of str
        The names of the features, where X has any.

    See Also
    --------
    evlearn.constraints.PairwiseConstraints : Must-link and cannot-link constraints.

    References
    ----------
    The method, its version for many samples, and the one with constraints: Denœux and Masson (2004),
    Denœux et al. (2016), Li et al. (2018).

    Examples
    --------
    >>> from evlearn.cluster import EVCLUS
    >>> from evlearn.datasets import load_butterfly
    >>> butterfly = load_butterfly()
    >>> model = EVCLUS(n_clusters=2, random_state=0).fit(butterfly.data)
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
        stopping: Literal["last", "average"] = "last",
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
        self.stopping = stopping
        self.shuffle = shuffle
        self.pair_update = pair_update
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.masses_file = masses_file
        self.verbose = verbose

    @whole_or_nothing
    def fit(
        self,
        X: DataLike,
        y: object = None,
        *,
        constraints: PairwiseConstraints | NamedConstraints | None = None,
    ) -> Self:
        """Find the mass functions of the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Features, or dissimilarities if `metric` is "precomputed". The landmark solver also accepts data that
            are not in memory: the path of Parquet files, a Dask collection, or an iterable of arrays, as `ECM.fit`
            does.
        y : None, default=None
            Not used; present for scikit-learn's conventions.
        constraints : PairwiseConstraints or NamedConstraints, default=None
            Pairs of samples that must, or cannot, be in the same cluster.

        Returns
        -------
        EVCLUS
            The fitted estimator.
        """
        self._check_parameters()
        with one_blas_thread():
            self._fit(X, constraints)
        return self

    def _fit(self, X: Any, constraints: Any) -> None:
        if self.solver == "landmark":
            self._fit_landmark(X, constraints)
            return
        if is_elsewhere(X):
            raise ValueError(
                f"solver={self.solver!r} needs data in memory, and X is {type(X).__name__}; use solver='landmark'."
            )
        numbers = self._read(X, reset=True)
        data: Any = self._filled(numbers, self.n_clusters)
        self._check_evidence(len(data), self.n_clusters)
        problem = self._problem(data, numbered(constraints, X, len(data)), check_random_state(self.random_state))
        found = exact.solve(problem) if self.solver == "exact" else stochastic.solve(problem)
        partition = CredalPartition(found.masses, found.focal_sets, validate=False)
        chosen = stratified(partition.to_hard(), _REFERENCE_OBJECTS, problem.random)
        self._model = self._make_model(chosen, data[chosen], np.ascontiguousarray(found.masses[chosen]), found)
        self._publish(self._doubted(numbers, partition, self._model.assign))
        if not isinstance(data, SparseBlock) and not self._precomputed:
            self._learn_gaps(data, self.n_clusters)
        self._publish_solution(found)
        warn_of_small_clusters(self.labels_, self.n_clusters)
        if found.pairs is None:
            shown = problem.random.permutation(len(data))[:_SHOWN_PAIRS]
            self.conflict_, self.transformed_dissimilarities_ = self._along(data, shown)
        self._name_samples(X)

    def _fit_landmark(self, X: Any, constraints: Any) -> None:
        if self._precomputed and is_elsewhere(X):
            raise ValueError("metric='precomputed' needs a matrix in memory; give features, or an array.")
        random = check_random_state(self.random_state)
        with self._opened(X, reset=True) as rows:
            self._check_evidence(len(rows), self.n_clusters)
            size = min(self.n_landmarks, len(rows))
            chosen = np.sort(sample_without_replacement(len(rows), size, random_state=random))
            taken = self._without_gaps(rows, self.n_clusters).take(chosen)
            known = taken if isinstance(taken, SparseBlock) else np.array(taken)
            if is_elsewhere(X):  # arrays have been checked as a whole
                check_range("X", known, fitting=True)
            data: Features = taken[:, chosen] if self._precomputed else known
            found = by_landmarks.solve(self._problem(data, constraints, random))
            self._model = self._make_model(chosen, known, found.masses, found)
            self.focal_sets_ = found.focal_sets
            self._publish_masses(rows)
            if not self._precomputed:
                self._learn_gaps_of(rows, self.n_clusters)
        self._publish_solution(found)
        warn_of_small_clusters(labels_of(found.masses, found.focal_sets), self.n_clusters)
        if "credal_partition_" in self.__dict__:
            self._name_samples(X)

    def _problem(
        self, data: Features, constraints: PairwiseConstraints | None, random: np.random.RandomState
    ) -> Problem:
        family = make_focal_sets(self.focal_sets, self.n_clusters, include_omega=self.include_omega)
        focal_sets = self._room_for_ignorance(family)
        problem = Problem(self, data, focal_sets, random, constraints)
        n_descents = self.n_init * len(problem.schedule) + problem.in_two_steps
        return replace(problem, report=Steps(self.max_iter, n_descents, unit="sweep"))

    def _make_model(self, chosen: IntArray, rows: Features, masses: FloatArray, found: Solution) -> LandmarkModel:
        landmarks = None if self._precomputed else rows
        return LandmarkModel(chosen, landmarks, masses, found.focal_sets, found.transform, self.metric)

    def stress(self, X: ArrayLike, *, n_pairs: int = 100_000, random_state: RandomSeed = None) -> float:
        """The stress of the fitted partition on new pairs: how well it fits pairs that it has not seen.

        Parameters
        ----------
        X : array-like
            The samples of the training set, in the same order.
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
        numbers = self._read(X, reset=False)
        data = self._known_gaps().fill(numbers.data) if numbers.has_gaps else numbers.data
        if len(data) != len(self.masses_):
            raise ValueError(f"X has {len(data)} samples but the model was fitted to {len(self.masses_)}.")
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

    def _check_parameters(self) -> None:
        check_integer("n_clusters", self.n_clusters, 1)
        check_flag("include_omega", self.include_omega)
        check_flag("shuffle", self.shuffle)
        check_integer("n_pair_neighbors", self.n_pair_neighbors, 1)
        check_integer("n_landmarks", self.n_landmarks, 2)
        check_integer("n_init", self.n_init, 1)
        check_integer("max_iter", self.max_iter, 1)
        check_real("tol", self.tol, 0)
        check_choice("stopping", self.stopping, STOPPING)
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

    @property
    def _takes_sparse(self) -> bool:
        return self._metric in SPARSE_METRICS

    def _read(self, X: Any, *, reset: bool) -> Numbers:
        numbers = with_length(
            read_numbers(
                self,
                X,
                reset=reset,
                takes_gaps=self._takes_gaps and not self._precomputed,
                dtype=[np.float64, np.float32],
                ensure_min_samples=2 if reset else 1,
                accept_sparse="csr" if self._takes_sparse else False,
            )
        )
        data: Any = numbers.data
        if not self._precomputed:
            values = data.matrix.data if isinstance(data, SparseBlock) else data
            check_range("X", np.nan_to_num(values) if numbers.has_gaps else values, fitting=reset)
            return numbers
        check_range("X", data.astype(np.float64, copy=False), fitting=reset)
        check_dissimilarities(data, square=reset)
        return Numbers(symmetric_dissimilarities(data) if reset else data, False)

    # The result

    def _along(self, data: FloatArray, ring: IntArray) -> tuple[FloatArray, FloatArray]:
        """The conflict and the target of every sample on a ring with the next one."""
        M = self.masses_[ring].astype(np.float64, copy=False)
        conflicts = np.einsum("ij,ij->i", M @ self.focal_sets_.conflict_matrix, np.roll(M, -1, axis=0))
        return conflicts, self._model.transform(ring_distances(data, ring, self.metric))

    def _publish_solution(self, found: Solution) -> None:
        self.d0_, self.d1_ = found.transform.d0, found.transform.near
        self.stress_ = found.trace.state.stress
        # The last sweep of the stochastic solver is an end by design, not a failure.
        by_design = self.solver == "stochastic" and found.trace.n_iter == MOST_SWEEPS
        what = None if by_design else "the objective"
        publish_trace(self, found.trace, what, max_iter=self.max_iter, steps="sweeps")
        if found.pairs is not None:
            Y = found.masses @ found.focal_sets.conflict_matrix
            self.conflict_, self.transformed_dissimilarities_ = found.pairs.conflicts(
                found.masses, Y, _SHOWN_PAIRS
            )


__all__ = ["EVCLUS"]
