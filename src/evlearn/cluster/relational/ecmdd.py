"""ECMdd: evidential c-medoids, whose prototypes are samples."""

from dataclasses import replace
from threading import Event
from typing import Any, Literal, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from scipy.spatial.distance import squareform
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from evlearn.belief import FocalSets
from evlearn.belief.focal_sets import FocalSetsLike
from evlearn.cluster.base import EvidentialClusterer
from evlearn.cluster.collapse import warn_of_small_clusters
from evlearn.cluster.dissimilarities import check_dissimilarities, distances_between, symmetric_dissimilarities
from evlearn.cluster.focal_families import in_two_steps, make_focal_sets, neighbor_pairs, refuse_too_many_sets
from evlearn.cluster.isolation import BEYOND_REACH, crisp_clusters
from evlearn.cluster.neighbors.search import check_finite
from evlearn.cluster.relational.medoids import (
    MedoidModel,
    MedoidRule,
    MedoidState,
    best_medoids,
    exponent_of,
    hard_medoids,
    has_drifted,
    medoid_step,
    medoids_of,
    settle_medoids,
    spread_medoids,
)
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import with_names_of
from evlearn.utils.chunks import row_blocks
from evlearn.utils.convergence import Trace, best_of, descend, publish_trace, warn_of_collapse, whole_or_nothing
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.progress import Steps
from evlearn.utils.reading import read_numbers
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
_LEAST_BETA = 1.01
_HARD_STARTS = 10
_BLOCK_NUMBERS = 1 << 22  # of dissimilarities of new samples that are in memory at a time


class ECMdd(EvidentialClusterer):
    r"""Evidential c-medoids: each cluster, and each set of clusters, is represented by samples.

    A medoid is a sample in the middle of a cluster. Nothing but dissimilarities of any kind is needed to find it,
    and one can look at it: a typical customer, protein or word. Sets of clusters have medoids of their own,
    samples that are about as far from all clusters of the set. The nearer a sample is to the medoids of a set, the
    more mass it gives to that set; a sample far from all gives mass to the empty set.

    With ``medoids="median"`` it is median evidential c-means (MECM): clusters alone have medoids, and a sample
    gives mass to a set of clusters if it is about as far from all of them.

    Data in which a few samples are a million times farther away than the others are refused: beside them, the
    others could not be told apart.

    Parameters
    ----------
    n_clusters : int, default=3
        The number of clusters.
    medoids : {"single", "weighted", "median"}, default="single"
        One sample for each set, all samples with weights, or one sample for each cluster (MECM).
    focal_sets : {"full", "pairs", "simple", "neighbor_pairs"}, FocalSets or list of sets, default="full"
        The sets of clusters that may carry mass, besides the empty set. "full": all sets, for up to eight clusters
        or so; "pairs": single clusters, all pairs, and all clusters together; "simple": no pairs;
        "neighbor_pairs": a simple fit first, then again with the pairs of clusters that turn out to be
        neighbours.
    include_omega : bool, default=True
        Whether the set of all clusters belongs to "simple", "pairs" and "neighbor_pairs".
    n_pair_neighbors : int, default=1
        For "neighbor_pairs": how many of its most similar clusters count as a cluster's neighbours.
    alpha : float, default=2.0
        How much large sets are discouraged, from 0 to 100: the distance to a set of k clusters counts
        ``k**alpha`` times.
    beta : float or "auto", default="auto"
        The exponent of the masses, above 1: nearer to 1, samples are more decided. "auto" chooses it, from 1.1 to
        2, so that half of the samples count their cluster at least twenty times as much as the next; the paper
        has 2.
    eta : float, default=1.0
        Of single medoids: how much the medoid of a set should be near to its clusters, beside being as far from
        each of them. For the median: the larger, the less it counts that a sample is nearer to some clusters of a
        set than to others; above 0. As in the papers, both weigh squared distances against distances, so that
        masses of sets depend on the unit of the dissimilarities: scale these, or choose `eta` in their unit.
    gamma : float, default=1.0
        Of single medoids: how much the medoids of its clusters count in the distance to a set, beside its own. For
        the median: how much the mean distance to clusters of a set counts, beside the differences; the paper has
        0 to 1.
    xi : float, default=5.0
        Of weighted medoids: how much a sample must count in all clusters of a set to count in the set.
    psi : float, default=1.05
        Of weighted medoids: the exponent of the weights, above 1; nearer to 1, fewer samples count. The paper has
        2, with which nearly all samples count in all clusters.
    delta : float or "auto", default="auto"
        Samples farther than ``delta**2`` from all clusters are outliers; a square, although dissimilarities
        are not squared. "auto": ``delta**2`` is the dissimilarity that 95 of 100 pairs do not exceed, and at most
        1.25 times the distance at which samples are far from a cluster compared with its width. For the median,
        which squares dissimilarities: farther than `delta`.
    metric : str or callable, default="euclidean"
        "precomputed" for a square matrix of dissimilarities, or any metric of
        `sklearn.metrics.pairwise_distances`.
    init : {"hard", "spread", "random"} or array-like of int of shape (n_clusters,), default="hard"
        The first medoids: those of the best of ten crisp partitions, samples far apart, random ones, or given
        ones. With several starts, the first is as said, and the others are random. Samples that are far from every
        cluster are no medoids at first unless they are given.
    n_init : int, default=1
        How many times to start; the best result is kept. Given medoids are one start.
    max_iter : int, default=100
        The largest number of iterations.
    tol : float, default=1e-06
        An iteration that changes the objective by less than this share of it is the last; so is one that changes
        no medoid.
    random_state : int, RandomState instance or None, default=None
        The seed, for random starts.
    n_jobs : int or None, default=None
        Threads for starts. The result does not depend on it.
    verbose : int, default=0
        Whether to report progress, iteration by iteration.

    Attributes
    ----------
    medoid_indices_ : ndarray of int of shape (n_focal_sets - 1,) or (n_clusters,)
        The sample that stands for each nonempty set, or that counts most in it; those of single clusters first,
        and of these alone for the median.
    prototype_weights_ : ndarray of shape (n_focal_sets - 1, n_samples)
        Of weighted medoids: how much each sample counts in each nonempty set; each row sums to one.
    credal_partition_ : CredalPartition
        The result.
    labels_ : ndarray of int of shape (n_samples,)
        The most plausible cluster of each sample.
    masses_ : ndarray of shape (n_samples, n_focal_sets)
        The masses, read-only.
    focal_sets_ : FocalSets
        What the columns of the masses stand for.
    beta_ : float
        The exponent of the masses that was used.
    delta_ : float
        The root of the distance to the empty set.
    objective_ : float
        The objective at the medoids and masses, the smallest of all iterations.
    objective_history_ : ndarray of shape (n_iterations + 1,)
        The objective before the first iteration, and after each; it may go up.
    n_iter_ : int
        The number of iterations.
    converged_ : bool
        Whether medoids or objective settled.
    n_features_in_ : int
        The number of features, or of samples if `metric` is "precomputed".
    feature_names_in_ : ndarray of str
        The names of the features, where X has any.

    See Also
    --------
    RECM : Prototypes that are means of samples; faster, for dissimilarities that are near to distances.
    EVCLUS : For dissimilarities of any kind, and for clusters that are not round.

    References
    ----------
    Zhou et al. (2016); the median: Zhou et al. (2015).

    Examples
    --------
    >>> from evlearn.cluster import ECMdd
    >>> from evlearn.datasets import load_butterfly
    >>> butterfly = load_butterfly()
    >>> model = ECMdd(n_clusters=2, random_state=0).fit(butterfly.data)
    >>> sorted(model.medoid_indices_[:2].tolist())
    [2, 8]
    >>> model.credal_partition_.summary()
    12 samples, 2 clusters
      sure            10   (83.3 %)   0: 5, 1: 5
      torn             1    (8.3 %)   Ω (any cluster): 1
      outliers         1    (8.3 %)
      sure: a belief of 0.60 or more in one cluster
    """

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        medoids: Literal["single", "weighted", "median"] = "single",
        focal_sets: Literal["full", "pairs", "simple", "neighbor_pairs"] | FocalSetsLike = "full",
        include_omega: bool = True,
        n_pair_neighbors: int = 1,
        alpha: float = 2.0,
        beta: float | Literal["auto"] = "auto",
        eta: float = 1.0,
        gamma: float = 1.0,
        xi: float = 5.0,
        psi: float = 1.05,
        delta: float | Literal["auto"] = "auto",
        metric: Metric = "euclidean",
        init: Literal["hard", "spread", "random"] | NumbersLike = "hard",
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-6,
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.medoids = medoids
        self.focal_sets = focal_sets
        self.include_omega = include_omega
        self.n_pair_neighbors = n_pair_neighbors
        self.alpha = alpha
        self.beta = beta
        self.eta = eta
        self.gamma = gamma
        self.xi = xi
        self.psi = psi
        self.delta = delta
        self.metric = metric
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @whole_or_nothing
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Find the medoids, and the mass functions of the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Features, or dissimilarities if `metric` is "precomputed".
        y : None, default=None
            Not used; present for scikit-learn's conventions.

        Returns
        -------
        ECMdd
            The fitted estimator.
        """
        self._check_parameters()
        data = self._read(X, reset=True)
        refuse_too_many_sets(self.focal_sets, self.n_clusters, (len(data), 1), instead="focal_sets='simple'")
        focal_sets = make_focal_sets(self.focal_sets, self.n_clusters, include_omega=self.include_omega)
        apart = data if self._precomputed else distances_between(data, data, self.metric)
        check_finite(apart, self.metric)
        if self._squared:
            check_range("X", apart, fitting=True)
        unit = float(apart.max()) or 1.0
        apart = apart / unit
        with one_blas_thread():
            trace = self._run(apart, unit, focal_sets)
        state = best_medoids(trace)
        of_costs = self._unit_of_costs(unit)
        publish_trace(self, trace, "the medoids", max_iter=self.max_iter, unit=of_costs)
        self.objective_ = state.objective * of_costs
        self._check_evidence(len(data), self.n_clusters)
        self._publish(CredalPartition(state.masses, state.model.focal_sets, validate=False))
        self._name_samples(X)
        medoids = state.model.medoids
        self._model = replace(state.model, medoids=replace(medoids, weights=None))
        self._training = None if self._precomputed else np.array(data[medoids.objects])
        self.medoid_indices_ = medoids.chosen[: self.n_clusters] if self._squared else medoids.chosen
        self.__dict__.pop("prototype_weights_", None)
        if medoids.weights is not None:
            self.prototype_weights_ = medoids.weights
        self.beta_ = state.model.beta
        self._warn_of_collapse()
        self.delta_ = float(np.sqrt(state.model.empty * of_costs))
        return self

    def predict_mass(self, X: ArrayLike) -> CredalPartition:
        """The mass functions of samples, new or old; for those of the training set the same as `masses_`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_training_samples)
            Features, or dissimilarities to the samples of the training set if `metric` is "precomputed".

        Returns
        -------
        CredalPartition
            A mass function for each sample.
        """
        check_is_fitted(self)
        data = self._read(X, reset=False)
        masses = np.empty((len(data), len(self.focal_sets_)))
        objects = self._model.medoids.objects
        apart: FloatArray
        for block in row_blocks(len(data), max(1, _BLOCK_NUMBERS // len(objects))):
            if self._training is None:
                apart = data[block][:, objects].astype(np.float64)
            else:
                apart = distances_between(data[block], self._training, self.metric)
            check_finite(apart, self.metric)
            masses[block] = self._model.assign(apart)
        return with_names_of(X, self._supported(CredalPartition(masses, self.focal_sets_, validate=False)))

    def _warn_of_collapse(self) -> None:
        medoids = self.medoid_indices_[: self.n_clusters]
        shared = len(medoids) - len(np.unique(medoids))
        if shared and self.medoids != "weighted":
            warn_of_collapse(
                f"n_clusters={self.n_clusters} were asked for, and only {len(medoids) - shared} different medoids "
                "were found",
                "Give beta='auto' and init='hard', or use fewer clusters.",
            )
        else:
            warn_of_small_clusters(self.labels_, self.n_clusters)

    # The data and the problem

    def _check_parameters(self) -> None:
        check_integer("n_clusters", self.n_clusters, 1)
        check_flag("include_omega", self.include_omega)
        check_integer("n_pair_neighbors", self.n_pair_neighbors, 1)
        check_choice("medoids", self.medoids, ("single", "weighted", "median"))
        if isinstance(self.focal_sets, str):
            check_choice("focal_sets", self.focal_sets, ("full", "pairs", "simple", "neighbor_pairs"))
        check_real("alpha", self.alpha, 0, 100)
        check_real("beta", self.beta, 1, open_low=True, or_auto=True)
        check_real("eta", self.eta, 0, open_low=self._squared)
        check_real("gamma", self.gamma, 0)
        check_real("xi", self.xi, 0)
        check_real("psi", self.psi, 1, open_low=True)
        check_real("delta", self.delta, 0, open_low=True, or_auto=True, or_infinity=True)
        check_integer("n_init", self.n_init, 1)
        check_integer("max_iter", self.max_iter, 1)
        check_real("tol", self.tol, 0)
        if isinstance(self.init, str):
            check_choice("init", self.init, ("hard", "spread", "random"))

    def _read(self, X: Any, *, reset: bool) -> FloatArray:
        kinds, least = [np.float64, np.float32], 2 if reset else 1
        data = read_numbers(self, X, reset=reset, dtype=kinds, ensure_min_samples=least).data
        if reset and len(data) < self.n_clusters:
            raise ValueError(
                f"n_clusters={self.n_clusters} needs at least as many samples, and there are "
                f"n_samples={len(data)}."
            )
        if reset:
            refuse_remote("X", data)  # which would be a medoid: they are chosen far apart
        if not self._precomputed:
            return data
        check_dissimilarities(data, square=reset)
        return symmetric_dissimilarities(data) if reset else data

    def _empty(self, apart: FloatArray, unit: float, reach: float) -> float:
        """Return the cost of the empty set."""
        if not isinstance(self.delta, str):
            return float(self.delta) / self._unit_of_costs(unit) * float(self.delta)
        # More than 95 of 100 pairs are duplicates: any positive distance tells them from the rest.
        far = float(np.quantile(squareform(apart, checks=False), _NEAR_AND_FAR)) or float(apart.max()) or 1.0
        far = min(far, BEYOND_REACH * reach)
        return far**2 if self._squared else far

    @property
    def _squared(self) -> bool:
        """Whether costs are squared dissimilarities."""
        return bool(self.medoids == "median")

    def _unit_of_costs(self, unit: float) -> float:
        return unit**2 if self._squared else unit

    # The search

    def _run(self, apart: FloatArray, unit: float, focal_sets: FocalSets) -> Trace[MedoidState]:
        """The best of all starts, and then, if asked for, once more with the pairs of neighbouring clusters."""
        # Isolated rows would decide scales and starts; they get masses at the end like all others.
        crisp = crisp_clusters(apart, int(self.n_clusters), "precomputed")
        ordinary = np.flatnonzero(crisp.ordinary)
        among = apart[np.ix_(ordinary, ordinary)]
        starts = self._starts(len(apart), ordinary, among)
        small = isinstance(self.init, str) and self.init == "hard" and crisp.unbalanced
        if small:
            # The sum of dissimilarities is lower without small clusters.
            starts[0] = ordinary[medoids_of(among, crisp.labels[ordinary])]
        beta = self._exponent(apart, ordinary, starts[0]) if isinstance(self.beta, str) else float(self.beta)
        eta, gamma, xi, psi = (float(one) for one in (self.eta, self.gamma, self.xi, self.psi))
        empty, stop = self._empty(among, unit, crisp.reach), Event()
        tell = Steps(self.max_iter, len(starts) + in_two_steps(self.focal_sets))

        def report(number: int, value: float) -> None:
            tell(number, value * self._unit_of_costs(unit))

        def go(start: IntArray, sets: FocalSets, beta: float) -> Trace[MedoidState]:
            rule = MedoidRule(sets, beta, eta, gamma, xi, psi, unit)
            factors = rule.table.sum(axis=1) ** float(self.alpha)
            model = MedoidModel(sets, rule.single(start, apart), factors, empty, beta, unit)
            first = MedoidState.at(rule.at(model, self.medoids, start, apart), apart)
            step = medoid_step(apart, rule, kind=self.medoids, tol=self.tol)
            trace = Trace(first, [first.objective])
            return descend(step, trace, max_iter=self.max_iter, stop=stop, report=report)

        run = Parallel(n_jobs=self.n_jobs, prefer="threads")
        traces = run(delayed(go)(start, focal_sets, beta) for start in starts)
        found = best_of(traces, lambda one: best_medoids(one).objective)
        # A vague fit may leave small clusters for parts of a large one.
        while small and isinstance(self.beta, str) and not found.interrupted and beta > _LEAST_BETA:
            ends = best_medoids(found).model.medoids.chosen[: self.n_clusters]
            if not has_drifted(apart[ordinary], starts[0], ends):
                break
            beta = (1 + beta) / 2
            found = go(starts[0], focal_sets, beta)
        if not in_two_steps(self.focal_sets) or found.interrupted:
            return found
        best = best_medoids(found)
        partition = CredalPartition(best.masses, focal_sets, validate=False)
        near = neighbor_pairs(partition, n_neighbors=self.n_pair_neighbors)
        refined = go(best.model.medoids.chosen[: self.n_clusters], near.focal_sets, beta)
        return refined if refined.n_iter else replace(found, interrupted=True)

    def _starts(self, n_samples: int, ordinary: IntArray, among: FloatArray) -> list[IntArray]:
        """Return medoids to start from, which are ordinary samples unless they are given."""
        random = check_random_state(self.random_state)
        if not isinstance(self.init, str):
            return [_read_medoids(self.init, self.n_clusters, n_samples)]
        starts = [random.permutation(len(among))[: self.n_clusters] for _ in range(self.n_init)]
        if self.init == "hard":
            starts[0] = hard_medoids(among, self.n_clusters, random, n_init=_HARD_STARTS)
        if self.init == "spread":
            starts[0] = spread_medoids(among, self.n_clusters)
        return [ordinary[start] for start in starts]

    def _exponent(self, apart: FloatArray, ordinary: IntArray, medoids: IntArray) -> float:
        """Return the exponent of the masses that suits ordinary samples."""
        rows = np.union1d(ordinary, medoids)  # given medoids may be isolated
        among = apart[np.ix_(rows, rows)]
        settled = settle_medoids(among, np.searchsorted(rows, medoids))
        return exponent_of(among**2 if self._squared else among, settled)


def _read_medoids(init: Any, n_clusters: int, n_samples: int) -> IntArray:
    medoids = np.asarray(init)
    if medoids.shape != (n_clusters,) or medoids.dtype.kind not in "iu":
        raise ValueError(
            f"init must be 'hard', 'spread', 'random' or {n_clusters} numbers of samples, got an array of "
            f"{medoids.dtype} of shape {medoids.shape}."
        )
    if medoids.min() < 0 or medoids.max() >= n_samples or len(np.unique(medoids)) < n_clusters:
        raise ValueError(f"init must name different samples from 0 to {n_samples - 1}, got {medoids.tolist()}.")
    return medoids.astype(np.intp)


__all__ = ["ECMdd"]
