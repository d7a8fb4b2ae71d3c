"""EVCLUS: mass functions whose conflicts match the dissimilarities."""

import os
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.validation import check_is_fitted

from evlearn.belief import check_masses
from evlearn.blocks.open import needs_blocks
from evlearn.blocks.sparse import Features, SparseBlock, with_length
from evlearn.cluster.dissimilarities import SPARSE_METRICS, read_precomputed
from evlearn.cluster.fit_warnings import warn_of_small_clusters
from evlearn.cluster.focal_families import FamilyLike, has_two_steps, make_focal_sets
from evlearn.cluster.pairwise.irqp import labels_of, stratified_indices
from evlearn.cluster.pairwise.landmarks import LandmarkModel
from evlearn.cluster.pairwise.pair_graph import TRANSFORMS, TransformKind, ring_distances
from evlearn.cluster.pairwise.problem import Problem, Solution
from evlearn.cluster.pairwise.scales import Quantile, check_d0
from evlearn.cluster.pairwise.solvers import MAX_SWEEPS, solve_by_landmarks, solve_exactly, solve_stochastically
from evlearn.cluster.row_clusterer import RowwiseClusterer
from evlearn.constraints import NamedConstraints, PairwiseConstraints
from evlearn.constraints.named import resolve_constraints
from evlearn.partition import CredalPartition
from evlearn.storage import fields
from evlearn.utils.convergence import atomic_fit, publish_trace
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.progress import Steps
from evlearn.utils.reading import Numbers, read_numbers
from evlearn.utils.typing import DataLike, FloatArray, IntArray, Metric, NumbersLike, RandomSeed
from evlearn.utils.validation import check_choice, check_integer, check_range, check_real

#: Maximum number of training samples that are landmarks for predictions.
_MAX_LANDMARKS = 500
#: Maximum number of pairs of a Shepard diagram.
_MAX_SHEPARD_PAIRS = 50_000


@fields.stored
class EVCLUS(RowwiseClusterer):
    r"""Evidential clustering of samples or dissimilarities, in which similar samples have little conflict.

    EVCLUS determines mass functions such that the degree of conflict between any 2 samples matches their
    dissimilarity. Samples between clusters get mass on sets of clusters, and samples far from all clusters get
    mass on the empty set. It only needs dissimilarities, metric or not, accepts must-link and cannot-link
    constraints, and predicts for new samples.

    Missing values (NaN) of features in memory increase doubt: the masses of a sample with missing values are
    averages over its completions, with additional mass on the set of all clusters. Dissimilarities must not be
    missing.

    Parameters
    ----------
    n_clusters : int, default=3
        Number of clusters.
    focal_sets : str, FocalFamily, FocalSets or list of sets, default="simple"
        Sets of clusters that may carry mass, besides the empty set. "simple": single clusters, and the set of all
        clusters; "pairs": also all pairs; "full": all sets, for up to about 5 clusters; "neighbor_pairs": a simple
        fit first, then a second one with the pairs of neighboring clusters.
    metric : str or callable, default="euclidean"
        "precomputed" for a square matrix of dissimilarities, or any metric of
        `sklearn.metrics.pairwise_distances`.
    dissimilarity_transform : {"exponential", "linear", "rank"} or callable, default="exponential"
        Transform of dissimilarities to target conflicts: ``1 - exp(-gamma * d**2)`` with conflict 0.95 at `d0`,
        ``min(1, d / d0)``, the share of pairs with a dissimilarity of at most d, or a function onto [0, 1].
    d0 : float, Quantile or "auto", default="auto"
        Dissimilarity beyond which samples are almost surely in different clusters: a number, or a quantile of the
        dissimilarities; the papers use ``Quantile(0.9)``. "auto" tries 10 quantiles on a sample, and selects the
        one with the surest partition that has all clusters and few outliers, and violates few constraints. Samples
        that are far from every cluster, such as gross errors, are ignored. If clusters have very different sizes,
        multiples of the distance between the nearest 2 clusters are tried as well. With "exponential", a lower
        quantile of the squares is then subtracted, so that similar distances, as in many dimensions, do not
        produce outliers.
    n_partners : int, "auto", "all" or array-like of int of shape (n_samples, k), default="auto"
        Number of samples that each sample is compared with, or their indices. "auto" means all for up to 2000
        samples, and 200 for more.
    solver : {"exact", "stochastic", "landmark"}, default="exact"
        "exact": sweeps over stored pairs until convergence. "stochastic": new partners in every sweep, without
        stored distances. "landmark": an exact fit of a subset, and one pass over all samples; for millions of
        samples.
    n_landmarks : int, default=500
        Number of landmarks of the landmark solver.
    loss : {"stress", "mse"}, default="stress"
        Divisor of the sum of squared differences: the sum of the squared targets, or the number of pairs.
    constraint_weight : float, default=0.5
        Weight of constraints, usually between 0 and 1. The fit has 3 stages, each of which starts from the result
        of the previous one: without constraints, with a weight of 0.05, and with this weight.
    init : "auto", "random" or array-like of shape (n_samples, n_focal_sets), default="auto"
        Initial masses: those of the best of several short fits to a sample, without samples that are far from
        every cluster; random masses; or given masses.
    n_init : int, default=1
        Number of starts; the best result is kept.
    max_iter : int, default=1000
        Maximum number of sweeps; the stochastic solver makes at most 50.
    tol : float, default=1e-5
        Relative decrease of the objective in a sweep below which the fit has converged. The stochastic solver
        compares averages of 5 sweeps, with a tolerance of at least 1e-3.
    random_state : int, RandomState instance or None, default=None
        Seed, for reproducible results.
    n_jobs : int or None, default=None
        Number of threads for starts, passes over landmarks and predictions. The result does not depend on it.
    store_masses : bool, str or path, default=True
        Destination of the masses. True: memory, for data in memory; a name that ends in ``.npy``: a memory map; a
        name that ends in ``.parquet``: a folder of Parquet files; an existing file is not replaced. False: masses
        and labels are not stored; use `predict` or `predict_mass`.
    verbose : int, default=0
        Whether to report the progress of each sweep.

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
    objective_ : float
        Objective: stress or mean squared difference, with the penalty of constraints. For the landmark solver, the
        objective of the landmarks; for the stochastic solver, the objective of the last sweep.
    stress_ : float
        Objective without the penalty of constraints.
    objective_history_ : ndarray of shape (n_iterations + 1,)
        Objective before the first and after each sweep.
    n_iter_ : int
        Number of sweeps.
    converged_ : bool
        Whether the last sweep changed the objective by less than `tol`. False, without a warning, if the
        stochastic solver ended after its 50 sweeps.
    d0_ : float
        The `d0` that was used.
    d1_ : float
        Dissimilarity up to which samples do not conflict; 0 unless `d0` is "auto".
    conflict_, transformed_dissimilarities_ : ndarray
        Conflicts and targets of at most 50,000 pairs, for a Shepard diagram.
    n_features_in_ : int
        Number of features, or of samples if `metric` is "precomputed".
    feature_names_in_ : ndarray of str
        Names of the features, if X has any.

    See Also
    --------
    evlearn.constraints.PairwiseConstraints : Must-link and cannot-link constraints.

    References
    ----------
    Method, extension to many samples, and constraints: Denœux and Masson (2004), Denœux
    et al. (2016), Li et al. (2018).

    - Denœux and Masson (2004), EVCLUS: evidential clustering of proximity data, IEEE
      Transactions on Systems, Man, and Cybernetics, Part B 34,
      doi:10.1109/TSMCB.2002.806496.
    - Denœux et al. (2016), Evidential clustering of large dissimilarity data,
      Knowledge-Based Systems 106, doi:10.1016/j.knosys.2016.05.043.
    - Li et al. (2018), k-CEVCLUS: constrained evidential clustering of large
      dissimilarity data, Knowledge-Based Systems 142, doi:10.1016/j.knosys.2017.11.023.

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

    _model: fields.Stored[LandmarkModel]
    d0_: fields.StoredIfSet[fields.NonnegativeNumber]
    d1_: fields.StoredIfSet[fields.NonnegativeNumber]
    stress_: fields.StoredIfSet[fields.ExtendedNumber]

    _takes_gaps = True

    # Switches for the reproduction of R and of the papers: "stopping" is "last" or "average" (the running average
    # of the papers), "shuffle" updates samples in random order, "pair_update" is "symmetric" or "own" (only the
    # sample that drew a partner is updated, as in R), and "constraint_schedule" lists the weights of the stages.
    _switches = MappingProxyType(
        {"stopping": "last", "shuffle": True, "pair_update": "symmetric", "constraint_schedule": None}
    )

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        focal_sets: FamilyLike = "simple",
        metric: Metric = "euclidean",
        dissimilarity_transform: TransformKind = "exponential",
        d0: float | Quantile | Literal["auto"] = "auto",
        n_partners: int | Literal["auto", "all"] | NumbersLike = "auto",
        solver: Literal["exact", "stochastic", "landmark"] = "exact",
        n_landmarks: int = 500,
        loss: Literal["stress", "mse"] = "stress",
        constraint_weight: float = 0.5,
        init: Literal["auto", "random"] | NumbersLike = "auto",
        n_init: int = 1,
        max_iter: int = 1000,
        tol: float = 1e-5,
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
        store_masses: bool | str | os.PathLike[str] = True,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.focal_sets = focal_sets
        self.metric = metric
        self.dissimilarity_transform = dissimilarity_transform
        self.d0 = d0
        self.n_partners: Any = n_partners
        self.solver = solver
        self.n_landmarks = n_landmarks
        self.loss = loss
        self.constraint_weight = constraint_weight
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.store_masses = store_masses
        self.verbose = verbose

    @atomic_fit
    def fit(
        self,
        X: DataLike,
        y: object = None,
        *,
        constraints: PairwiseConstraints | NamedConstraints | None = None,
    ) -> Self:
        """Compute the mass functions of the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Features, or dissimilarities if `metric` is "precomputed". The landmark solver also accepts data that
            are not in memory: the path of Parquet files, a Dask collection, or an iterable of arrays, as `ECM.fit`
            does.
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
        with one_blas_thread():
            self._fit(X, constraints)
        return self

    def _fit(self, X: Any, constraints: Any) -> None:
        if self.solver == "landmark":
            self._fit_landmark(X, constraints)
            return
        if needs_blocks(X):
            raise ValueError(
                f"solver={self.solver!r} needs data in memory, but X is {type(X).__name__}; use solver='landmark'."
            )
        numbers = self._read_data(X, reset=True)
        data: Any = self._fill_missing(numbers, self.n_clusters)
        self._check_evidence(len(data), self.n_clusters)
        problem = self._problem(
            data, resolve_constraints(constraints, X, len(data)), check_random_state(self.random_state)
        )
        solve = solve_exactly if self.solver == "exact" else solve_stochastically
        solution = solve(problem)
        partition = CredalPartition(solution.masses, solution.focal_sets, validate=False)
        chosen = stratified_indices(partition.to_hard(), _MAX_LANDMARKS, problem.random)
        masses = np.ascontiguousarray(solution.masses[chosen])
        self._model = self._make_model(chosen, data[chosen], masses, solution)
        self._publish(self._add_doubt(numbers, partition, self._model.assign))
        if not isinstance(data, SparseBlock) and not self._precomputed:
            self._learn_gaps(data, self.n_clusters)
        self._publish_solution(solution)
        warn_of_small_clusters(self.labels_, self.n_clusters)
        if solution.pairs is None:
            ring = problem.random.permutation(len(data))[:_MAX_SHEPARD_PAIRS]
            self.conflict_, self.transformed_dissimilarities_ = self._compare_ring(data, ring)
        self._name_samples(X)

    def _fit_landmark(self, X: Any, constraints: Any) -> None:
        if self._precomputed and needs_blocks(X):
            raise ValueError(
                f"metric='precomputed' needs a matrix in memory, but X is {type(X).__name__}; use an array, or "
                "features with another metric."
            )
        random = check_random_state(self.random_state)
        with self._open_rows(X, reset=True) as rows:
            self._check_evidence(len(rows), self.n_clusters)
            size = min(self.n_landmarks, len(rows))
            chosen = np.sort(sample_without_replacement(len(rows), size, random_state=random))
            sample = self._without_gaps(rows, self.n_clusters).take(chosen)
            landmarks = sample if isinstance(sample, SparseBlock) else np.array(sample)
            if needs_blocks(X):  # arrays in memory are already checked
                check_range("X", landmarks, fitting=True)
            data: Features = sample[:, chosen] if self._precomputed else landmarks
            solution = solve_by_landmarks(self._problem(data, constraints, random))
            self._model = self._make_model(chosen, landmarks, solution.masses, solution)
            self.focal_sets_ = solution.focal_sets
            self._publish_masses(rows)
            if not self._precomputed:
                self._learn_gaps_of(rows, self.n_clusters)
        self._publish_solution(solution)
        warn_of_small_clusters(labels_of(solution.masses, solution.focal_sets), self.n_clusters)
        if "credal_partition_" in self.__dict__:
            self._name_samples(X)

    def _problem(
        self, data: Features, constraints: PairwiseConstraints | None, random: np.random.RandomState
    ) -> Problem:
        family = make_focal_sets(self.focal_sets, self.n_clusters)
        focal_sets = self._allow_ignorance(family)
        problem = Problem(self, data, focal_sets, random, constraints)
        n_descents = self.n_init * len(problem.schedule) + has_two_steps(self.focal_sets)
        return replace(problem, report=Steps(self.max_iter, n_descents, unit="sweep"))

    def _make_model(
        self, indices: IntArray, rows: Features, masses: FloatArray, solution: Solution
    ) -> LandmarkModel:
        landmarks = None if self._precomputed else rows
        return LandmarkModel(indices, landmarks, masses, solution.focal_sets, solution.transform, self.metric)

    def stress(self, X: ArrayLike, *, n_pairs: int = 100_000, random_state: RandomSeed = None) -> float:
        """Compute the stress of the fitted partition on random pairs, including pairs not used by the fit.

        Parameters
        ----------
        X : array-like
            Samples of the training set, in the same order.
        n_pairs : int, default=100000
            Approximate number of random pairs.
        random_state : int, RandomState instance or None, default=None
            Seed, for reproducible results.

        Returns
        -------
        float
            Sum of squared differences between conflicts and targets, divided by the sum of the squared targets.
        """
        check_is_fitted(self)
        numbers = self._read_data(X, reset=False)
        data = self._known_gaps().fill(numbers.data) if numbers.has_gaps else numbers.data
        if len(data) != len(self.masses_):
            raise ValueError(
                f"X has {len(data)} samples but the model was fitted to {len(self.masses_)}; use the training set."
            )
        # A separate generator, because the seed of the fit would yield the rings of the fit.
        random = np.random.RandomState(check_random_state(random_state).randint(2**31, size=4))
        residuals = squares = 0.0
        count = 0
        while count < n_pairs:
            ring = random.permutation(len(data))[: max(n_pairs - count, 2)]
            conflicts, delta = self._compare_ring(data, ring)
            residuals += float(((conflicts - delta) ** 2).sum())
            squares += float((delta**2).sum())
            count += len(ring)
        return residuals / squares if squares > 0 else 0.0

    # The data and the problem

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("n_clusters", self.n_clusters, 1)
        check_integer("n_landmarks", self.n_landmarks, 2)
        check_real("constraint_weight", self.constraint_weight, 0)
        check_choice("solver", self.solver, ("exact", "stochastic", "landmark"))
        check_choice("loss", self.loss, ("stress", "mse"))
        self._check_masses()
        if self._masses_file is None and not self.store_masses and self.solver != "landmark":
            raise ValueError(f"store_masses=False needs solver='landmark', got solver={self.solver!r}.")
        if not callable(self.dissimilarity_transform):
            check_choice("dissimilarity_transform", self.dissimilarity_transform, TRANSFORMS)
        check_d0(self.d0)
        if isinstance(self.n_partners, str):
            check_choice("n_partners", self.n_partners, ("auto", "all"))
        elif np.ndim(self.n_partners) != 2:
            check_integer("n_partners", self.n_partners, 1)

    @property
    def _takes_sparse(self) -> bool:
        return self._metric in SPARSE_METRICS

    def _read_data(self, X: Any, *, reset: bool) -> Numbers:
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
        return read_precomputed(data, reset=reset)

    # The result

    def _compare_ring(self, data: FloatArray, ring: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the conflict and the target of every sample on a ring and the next sample."""
        M = self.masses_[ring].astype(np.float64, copy=False)
        conflicts = np.einsum("ij,ij->i", M @ self.focal_sets_.conflict_matrix, np.roll(M, -1, axis=0))
        return conflicts, self._model.transform(ring_distances(data, ring, self.metric))

    def _publish_solution(self, solution: Solution) -> None:
        self.d0_, self.d1_ = solution.transform.d0, solution.transform.d1
        self.stress_ = solution.trace.state.stress
        # The stochastic solver is designed to end after its maximum number of sweeps, without a warning.
        is_complete = self.solver == "stochastic" and solution.trace.n_iter == MAX_SWEEPS
        subject = None if is_complete else "the objective"
        publish_trace(self, solution.trace, subject, max_iter=self.max_iter, steps="sweeps")
        if solution.pairs is not None:
            Y = solution.masses @ solution.focal_sets.conflict_matrix
            self.conflict_, self.transformed_dissimilarities_ = solution.pairs.conflicts(
                solution.masses, Y, _MAX_SHEPARD_PAIRS
            )

    def _after_loading(self) -> None:
        """Raise unless the attributes from a file are consistent."""
        super()._after_loading()
        model = self._model
        check_masses(model.masses, model.focal_sets)
        self._check_reach(model.metric, model.landmarks, model.indices)
