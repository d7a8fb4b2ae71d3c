"""ECMdd: evidential c-medoids, whose prototypes are samples."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from threading import Event
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from evlearn.belief import FocalSets
from evlearn.cluster.dissimilarities import (
    DissimilarityClusterer,
    distances_between,
    typical_value,
)
from evlearn.cluster.fit_warnings import warn_of_small_clusters
from evlearn.cluster.focal_families import (
    FamilyLike,
    has_two_steps,
    kind_of,
    make_focal_sets,
    pairs_after_fit,
    refuse_too_many_sets,
)
from evlearn.cluster.isolation import BEYOND_REACH, crisp_clusters
from evlearn.cluster.relational.medoids import (
    KINDS_OF_MEDOIDS,
    MedoidKind,
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
from evlearn.neighbors import check_finite
from evlearn.partition import CredalPartition
from evlearn.storage import fields
from evlearn.utils.convergence import (
    Trace,
    atomic_fit,
    best_descent,
    descend,
    publish_trace,
    warn_of_collapse,
)
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.progress import Steps
from evlearn.utils.typing import FloatArray, IntArray, Metric, NumbersLike, RandomSeed
from evlearn.utils.validation import (
    check_choice,
    check_integer,
    check_no_extreme_rows,
    check_range,
    check_real,
    check_shape,
)

#: Exponent of the masses below which it is not reduced.
_MIN_BETA = 1.01
#: Number of starts of crisp c-medoids.
_HARD_STARTS = 10


@fields.stored
class ECMdd(DissimilarityClusterer):
    r"""Evidential c-medoids: each cluster, and each set of clusters, is represented by samples.

    A medoid is a sample in the middle of a cluster. It only requires dissimilarities, of any kind, and it can be
    inspected: a typical customer, protein or word. Sets of clusters have separate medoids: samples that are about
    equally far from all clusters of the set. The closer a sample is to the medoids of a set, the more mass it
    gives to that set. A sample far from all medoids gives mass to the empty set.

    ``medoids="median"`` is median evidential c-means (MECM): only clusters have medoids, and a sample gives mass
    to a set of clusters if it is about equally far from all of them.

    Data with a few samples a million times farther away than the others raise an error, because the differences
    between the others would be lost.

    Parameters
    ----------
    n_clusters : int, default=3
        Number of clusters.
    medoids : {"single", "weighted", "median"} or MedoidKind, default="single"
        Medoids: one sample for each set, all samples with weights, or one sample for each cluster (MECM). A
        `MedoidKind` has further parameters.
    focal_sets : str, FocalFamily, FocalSets or list of sets, default="full"
        Sets of clusters that may carry mass, besides the empty set. "full": all sets, for up to about 8 clusters;
        "pairs": single clusters, all pairs, and the set of all clusters; "simple": no pairs; "neighbor_pairs": a
        simple fit first, then a second one with the pairs of neighboring clusters.
    alpha : float, default=2.0
        Penalty on large sets, from 0 to 100: the distance to a set of k clusters is multiplied by ``k**alpha``.
    beta : float or "auto", default="auto"
        Exponent of the masses, above 1; with smaller values, fewer samples are torn. "auto" selects a value from
        1.1 to 2, for which the nearest cluster has at least 20 times the weight of the next in half of the
        samples; the paper uses 2.
    delta : float or "auto", default="auto"
        Square root of the distance to the empty set: samples farther than ``delta**2`` from all clusters are
        outliers. With "auto", ``delta**2`` is the 95 % quantile of the dissimilarities, and at most 1.25 times the
        distance at which samples are far from a cluster compared with its width. For the median, which squares
        dissimilarities, `delta` is the distance itself.
    metric : str or callable, default="euclidean"
        "precomputed" for a square matrix of dissimilarities, or any metric of
        `sklearn.metrics.pairwise_distances`.
    init : {"hard", "spread", "random"} or array-like of int of shape (n_clusters,), default="hard"
        Initial medoids: those of the best of 10 crisp partitions, distant samples, random samples, or given
        indices. This determines the first start; all others are random. Samples that are far from every cluster
        are initial medoids only if they are given.
    n_init : int, default=1
        Number of starts; the best result is kept. Given medoids are a single start.
    max_iter : int, default=100
        Maximum number of iterations.
    tol : float, default=1e-06
        Relative change of the objective in an iteration below which the fit has converged. It has also converged
        if no medoid changes.
    random_state : int, RandomState instance or None, default=None
        Seed, for reproducible random starts.
    n_jobs : int or None, default=None
        Number of threads for starts. The result does not depend on it.
    verbose : int, default=0
        Whether to report the progress of each iteration.

    Attributes
    ----------
    medoid_indices_ : ndarray of int of shape (n_focal_sets - 1,) or (n_clusters,)
        Index of the sample that represents each nonempty set, or has the largest weight; those of single clusters
        come first. For the median, only those of single clusters.
    prototype_weights_ : ndarray of shape (n_focal_sets - 1, n_samples)
        Weights of the samples in each nonempty set, with sum 1, if `medoids` is "weighted".
    credal_partition_ : CredalPartition
        Credal partition.
    labels_ : ndarray of int of shape (n_samples,)
        Most plausible cluster of each sample.
    masses_ : ndarray of shape (n_samples, n_focal_sets)
        Masses, read-only.
    focal_sets_ : FocalSets
        Sets of the columns of the masses.
    beta_ : float
        The `beta` that was used.
    delta_ : float
        The `delta` that was used.
    objective_ : float
        Objective at the medoids and masses, the smallest of all iterations.
    objective_history_ : ndarray of shape (n_iterations + 1,)
        Objective before the first and after each iteration; it may increase.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the medoids or the objective converged.
    n_features_in_ : int
        Number of features, or of samples if `metric` is "precomputed".
    feature_names_in_ : ndarray of str
        Names of the features, if X has any.

    See Also
    --------
    RECM : Prototypes that are means of samples; faster, for dissimilarities that are similar to distances.
    EVCLUS : For dissimilarities of any kind, and for clusters that are not round.

    References
    ----------
    Method and median: Zhou et al. (2016), Zhou et al. (2015).

    - Zhou et al. (2016), ECMdd: evidential c-medoids clustering with multiple
      prototypes, Pattern Recognition 60.
    - Zhou et al. (2015), Median evidential c-means algorithm and its application to
      community detection, Knowledge-Based Systems 74, doi:10.1016/j.knosys.2014.11.010.

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

    _model: fields.Stored[MedoidModel]
    _training: fields.Stored[fields.Matrix | None]
    beta_: fields.StoredIfSet[Annotated[float, fields.number(1)]]
    medoid_indices_: fields.StoredIfSet[fields.Indices]
    prototype_weights_: fields.StoredIfSet[fields.NonnegativeMatrix]
    delta_: fields.StoredIfSet[fields.NonnegativeExtendedNumber]

    _takes_squares = False  # a fit checks its range where it uses squares

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        medoids: Literal["single", "weighted", "median"] | MedoidKind = "single",
        focal_sets: FamilyLike = "full",
        alpha: float = 2.0,
        beta: float | Literal["auto"] = "auto",
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
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.metric = metric
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @atomic_fit
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Find the medoids and the mass functions of the samples.

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
        data = self._read_data(X, reset=True).data
        check_no_extreme_rows("X", data)  # which would be medoids, because initial medoids are distant
        refuse_too_many_sets(self.focal_sets, self.n_clusters, (len(data), 1), instead="focal_sets='simple'")
        focal_sets = make_focal_sets(self.focal_sets, self.n_clusters)
        dissimilarities = data if self._precomputed else distances_between(data, data, self.metric)
        check_finite(dissimilarities, self.metric)
        if self._squared:
            check_range("X", dissimilarities, fitting=True)
        unit = float(dissimilarities.max()) or 1.0
        dissimilarities = dissimilarities / unit
        with one_blas_thread():
            trace = self._run(dissimilarities, unit, focal_sets)
        state = best_medoids(trace)
        cost_unit = self._cost_unit(unit)
        publish_trace(self, trace, "the medoids", max_iter=self.max_iter, unit=cost_unit)
        self.objective_ = state.objective * cost_unit
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
        self.delta_ = float(np.sqrt(state.model.empty * cost_unit))
        return self

    @property
    def _columns(self) -> IntArray:
        objects: IntArray = self._model.medoids.objects
        return objects

    def _masses_of(self, dissimilarities: FloatArray) -> FloatArray:
        check_finite(dissimilarities, self.metric)
        return np.asarray(self._model.assign(dissimilarities.astype(np.float64, copy=False)))

    def _warn_of_collapse(self) -> None:
        medoids = self.medoid_indices_[: self.n_clusters]
        n_medoids = len(np.unique(medoids))
        if n_medoids < len(medoids) and self._kind.name != "weighted":
            warn_of_collapse(
                f"the fit found only {n_medoids} different medoids for n_clusters={self.n_clusters}",
                "Use beta='auto' and init='hard', or fewer clusters.",
            )
        else:
            warn_of_small_clusters(self.labels_, self.n_clusters)

    # The data and the problem

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("n_clusters", self.n_clusters, 1)
        if not isinstance(self.medoids, MedoidKind):
            check_choice("medoids", self.medoids, KINDS_OF_MEDOIDS)
        if (kind := kind_of(self.focal_sets)) is not None:
            check_choice("focal_sets", kind, ("full", "pairs", "simple", "neighbor_pairs"))
        check_real("alpha", self.alpha, 0, 100)
        if isinstance(self.init, str):
            check_choice("init", self.init, ("hard", "spread", "random"))

    def _empty_cost(self, dissimilarities: FloatArray, unit: float, reach: float) -> float:
        """Return the cost of the empty set."""
        if not isinstance(self.delta, str):
            return float(self.delta) / self._cost_unit(unit) * float(self.delta)
        distance = min(typical_value(dissimilarities) or 1.0, BEYOND_REACH * reach)
        return distance**2 if self._squared else distance

    @property
    def _squared(self) -> bool:
        """True if costs are squared dissimilarities."""
        return self._kind.name == "median"

    @property
    def _kind(self) -> MedoidKind:
        return self.medoids if isinstance(self.medoids, MedoidKind) else MedoidKind(self.medoids)

    def _cost_unit(self, unit: float) -> float:
        return unit**2 if self._squared else unit

    # The search

    def _run(self, dissimilarities: FloatArray, unit: float, focal_sets: FocalSets) -> Trace[MedoidState]:
        """Return the best of all starts, or its continuation with the pairs of neighboring clusters."""
        # Isolated samples would determine scales and starts; they get masses at the end like all others.
        crisp = crisp_clusters(dissimilarities, int(self.n_clusters), "precomputed")
        ordinary = np.flatnonzero(crisp.ordinary)
        ordinary_dissimilarities = dissimilarities[np.ix_(ordinary, ordinary)]
        starts = self._starts(len(dissimilarities), ordinary, ordinary_dissimilarities)
        has_small_clusters = isinstance(self.init, str) and self.init == "hard" and crisp.unbalanced
        if has_small_clusters:
            # Crisp c-medoids would miss small clusters, which hardly lower the sum of dissimilarities.
            starts[0] = ordinary[medoids_of(ordinary_dissimilarities, crisp.labels[ordinary])]
        is_automatic = isinstance(self.beta, str)
        beta = self._exponent(dissimilarities, ordinary, starts[0]) if is_automatic else float(self.beta)
        kind = self._kind
        empty, stop = self._empty_cost(ordinary_dissimilarities, unit, crisp.reach), Event()
        steps = Steps(self.max_iter, len(starts) + has_two_steps(self.focal_sets))

        def report(number: int, value: float) -> None:
            steps(number, value * self._cost_unit(unit))

        def fit(start: IntArray, sets: FocalSets = focal_sets, exponent: float = beta) -> Trace[MedoidState]:
            rule = MedoidRule(sets, exponent, kind, unit)
            factors = rule.table.sum(axis=1) ** float(self.alpha)
            model = MedoidModel(sets, rule.single(start, dissimilarities), factors, empty, exponent, unit)
            first = MedoidState.at(rule.at(model, kind.name, start, dissimilarities), dissimilarities)
            step = medoid_step(dissimilarities, rule, kind=kind.name, tol=self.tol)
            trace = Trace(first, [first.objective])
            return descend(step, trace, max_iter=self.max_iter, stop=stop, report=report)

        crisp_medoids = starts[0] if has_small_clusters and is_automatic else None
        return best_descent(
            fit,
            starts,
            refine=partial(self._refine, fit, focal_sets, beta, crisp_medoids, dissimilarities[ordinary]),
            key=lambda trace: best_medoids(trace).objective,
            start_is_result=False,
            n_jobs=self.n_jobs,
            stop=stop,
        )

    def _refine(
        self,
        fit: Callable[[IntArray, FocalSets, float], Trace[MedoidState]],
        focal_sets: FocalSets,
        beta: float,
        crisp_medoids: IntArray | None,
        dissimilarities: FloatArray,
        trace: Trace[MedoidState],
    ) -> Trace[MedoidState]:
        """Return a descent whose medoids do not move far from crisp ones, or one with the pairs of neighbors.

        The dissimilarities are those of ordinary samples to all samples.
        """
        # With vague masses, medoids may move from small clusters to parts of a large cluster.
        while crisp_medoids is not None and not trace.interrupted and beta > _MIN_BETA:
            ends = best_medoids(trace).model.medoids.chosen[: self.n_clusters]
            if not has_drifted(dissimilarities, crisp_medoids, ends):
                break
            beta = (1 + beta) / 2
            trace = fit(crisp_medoids, focal_sets, beta)
        if not has_two_steps(self.focal_sets) or trace.interrupted:
            return trace
        best = best_medoids(trace)
        neighbors = pairs_after_fit(self.focal_sets, best.masses, focal_sets)
        return fit(best.model.medoids.chosen[: self.n_clusters], neighbors.focal_sets, beta)

    def _starts(self, n_samples: int, ordinary: IntArray, dissimilarities: FloatArray) -> list[IntArray]:
        """Return initial medoids, which are ordinary samples unless they are given.

        The dissimilarities are those of ordinary samples.
        """
        random = check_random_state(self.random_state)
        if not isinstance(self.init, str):
            return [_read_medoids(self.init, self.n_clusters, n_samples)]
        starts = [random.permutation(len(dissimilarities))[: self.n_clusters] for _ in range(self.n_init)]
        if self.init == "hard":
            starts[0] = hard_medoids(dissimilarities, self.n_clusters, random, n_init=_HARD_STARTS)
        if self.init == "spread":
            starts[0] = spread_medoids(dissimilarities, self.n_clusters)
        return [ordinary[start] for start in starts]

    def _exponent(self, dissimilarities: FloatArray, ordinary: IntArray, medoids: IntArray) -> float:
        """Return the exponent of the masses that suits ordinary samples."""
        indices = np.union1d(ordinary, medoids)  # given medoids may be isolated
        block = dissimilarities[np.ix_(indices, indices)]
        crisp_medoids = settle_medoids(block, np.searchsorted(indices, medoids))
        return exponent_of(block**2 if self._squared else block, crisp_medoids)

    def _after_loading(self) -> None:
        """Raise unless the attributes from a file are consistent."""
        super()._after_loading()
        model, training = self._model, self._training
        if training is not None:
            check_shape("_training", training, (len(model.medoids.objects), self.n_features_in_))
        self._check_reach(self._metric, training, model.medoids.objects)
        median = model.medoid_dissimilarities is not None
        if median != (self._kind.name == "median"):
            raise ValueError(
                f"its parameter medoids is {fields.shortened(self.medoids)}, which does not match its model"
            )
        shape = (model.focal_sets.frame_size,) if median else model.medoids.chosen.shape
        check_shape("medoid_indices_", self.__dict__.get("medoid_indices_"), shape)


def _read_medoids(init: Any, n_clusters: int, n_samples: int) -> IntArray:
    medoids = np.asarray(init)
    if medoids.shape != (n_clusters,) or medoids.dtype.kind not in "iu":
        raise ValueError(
            f"init must be 'hard', 'spread', 'random' or {n_clusters} sample indices, got an array of "
            f"{medoids.dtype} of shape {medoids.shape}."
        )
    if medoids.min() < 0 or medoids.max() >= n_samples or len(np.unique(medoids)) < n_clusters:
        raise ValueError(
            f"init must contain different sample indices from 0 to {n_samples - 1}, got {medoids.tolist()}."
        )
    return medoids.astype(np.intp)
