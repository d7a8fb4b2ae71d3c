"""Prototypes that learn from samples as they come."""

from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from evlearn.belief import FocalSets
from evlearn.blocks import ArrayRows, Rows
from evlearn.blocks.open import is_elsewhere
from evlearn.blocks.sparse import Features, SparseRows
from evlearn.cluster.centroids.alternation import Alternation, Model, Point
from evlearn.cluster.centroids.clusterer import PrototypeClusterer
from evlearn.cluster.centroids.fit import PrototypeFit, first_model, first_state, refuse_endless, sample_of
from evlearn.cluster.centroids.fit_state import FitState
from evlearn.cluster.centroids.kmeans import squared_distances
from evlearn.cluster.centroids.model import Statistics
from evlearn.cluster.centroids.scales import Chosen
from evlearn.cluster.centroids.weights import check_weights, weight_unit
from evlearn.cluster.centroids.young_stream import Memory, YoungStream
from evlearn.cluster.focal_families import in_two_steps
from evlearn.mixture.gaps import Gaps
from evlearn.utils.convergence import Trace, whole_or_nothing
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.typing import DataLike, FloatArray
from evlearn.utils.validation import check_real

_OF_A_FIT = (
    *("credal_partition_", "masses_", "labels_"),
    *("objective_", "objective_history_", "n_iter_", "converged_"),
    "_fitted_to",
)
_FORGETTING = 0.7  # 1 keeps all portions alike, less forgets the first of them; above 0.5 the sums still settle


class OnlineClusterer(PrototypeClusterer):
    """Base class of ECM and CCM, which also learn portion by portion."""

    half_life: float | None
    n_samples_seen_: int
    _statistics: Statistics
    _seen_weight: float
    _young: YoungStream | None

    @property
    def _takes_sparse(self) -> bool:
        return self._metric == "euclidean"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.half_life is not None:
            check_real("half_life", self.half_life, 0, open_low=True, or_infinity=True)

    def _begin(self, rows: Rows, sample_weight: Any) -> PrototypeFit:
        """Return a fit to complete samples."""
        weights = check_weights(sample_weight, rows) if rows.has_gaps else None
        if weights is None or not isinstance(rows, ArrayRows):
            return PrototypeFit.begin(self, self._without_gaps(rows, self.n_clusters), sample_weight)
        numbers = rows.read(0, len(rows))
        self._gaps = Gaps.learn(numbers, self.n_clusters, weights=weights)
        filled = self._gaps.fill_weighted(numbers, weights)
        return PrototypeFit.begin(self, ArrayRows(filled.data), filled.weights)

    def _publish_fit(self, fit: PrototypeFit, trace: Trace[Point], rows: Rows) -> Self:
        super()._publish_fit(fit, trace, rows)
        # For `partial_fit`, which goes on from here.
        self._statistics = trace.state.statistics * (1 / fit.weight)
        self._seen_weight = fit.weight * fit.unit * self._remembered(len(rows))
        self._young = None  # all samples have been looked at, with all care
        self.n_samples_seen_ = len(rows)
        return self

    @whole_or_nothing
    def partial_fit(self, X: DataLike, y: object = None, *, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from some more samples. What they say about the clusters is kept, and some of the first ones.

        It goes on from `fit`, or from earlier portions. If there were none, these samples decide where the
        prototypes start, and on what is "auto". A sample of the rows is kept and compared with the prototypes
        whenever the number of rows has doubled, until there are 100 times as many as in the sample. If it shows
        other clusters or distances, everything is chosen again, and kept if the prototypes are nearer to the rows
        of the sample; a cluster keeps the number of the nearest earlier one. The 5 % of the sample that are
        farthest from their neighbors are left out of all this, because they may be outliers. With a finite
        `half_life`, the sample consists mainly of the newest rows and is compared about every ``half_life`` rows,
        without an end. There are no masses afterwards: call `predict_mass`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples; any kind of data that `fit` accepts. An empty array or frame changes nothing.
        y : None, default=None
            Not used; present for scikit-learn's conventions.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts.

        Returns
        -------
        Self
            The estimator.
        """
        first = "_statistics" not in self.__dict__
        self._check_parameters()
        if first and in_two_steps(self.focal_sets):
            raise ValueError("focal_sets='neighbor_pairs' needs all samples at once: use fit, or list the pairs.")
        if _is_empty(X):
            return self
        with one_blas_thread(), self._opened(X, reset=first) as opened:
            rows, weights = self._complete(opened, check_weights(sample_weight, opened), first)
            if first:
                self._begin_stream(rows, weights)
            else:
                self._look_again(rows, weights)
            refuse_endless(rows, self._model.coordinates, self.delta_, self.n_jobs)
            self._learn(rows, weights)
            self.n_samples_seen_ += len(opened) - len(rows)  # of which some have several completions
        for name in _OF_A_FIT:
            self.__dict__.pop(name, None)
        self._no_masses = "partial_fit keeps what samples told, and not their masses"
        return self

    def _complete(self, rows: Rows, weights: FloatArray | None, first: bool) -> tuple[Rows, FloatArray | None]:
        """Return the rows of a portion, completed, and their weights."""
        if not rows.has_gaps:
            return rows, weights
        if first or self._gaps is None or not isinstance(rows, ArrayRows):
            raise ValueError(
                "Input X contains NaN, and partial_fit needs complete samples, unless it goes on from a "
                "fit: use fit, or fill the gaps with an imputer such as sklearn.impute.SimpleImputer."
            )
        numbers = rows.read(0, len(rows))
        if weights is None:
            return ArrayRows(self._gaps.fill(numbers)), None
        filled = self._gaps.fill_weighted(numbers, weights)
        return ArrayRows(filled.data), filled.weights

    def _begin_stream(self, rows: Rows, weights: FloatArray | None) -> None:
        self._gaps = None
        self._seen_weight, self.n_samples_seen_ = 0.0, 0
        self._young = None if isinstance(rows, SparseRows) else YoungStream.of(rows, weights, self._memory)
        state = first_state(self, rows, weights)
        model = self._with_outliers_of(*sample_of(rows, weights, state, self), first_model(self, state))
        self._publish_model(model, state.chosen)

    def _look_again(self, rows: Rows, weights: FloatArray | None) -> None:
        """Begin again if the portions so far, with this one, are not what the first of them promised."""
        young: YoungStream | None = self.__dict__.get("_young")  # older model files have none
        if young is None:
            return
        n_seen = self.n_samples_seen_ + len(rows)
        self._young = young = young.with_rows(rows, weights, self.n_samples_seen_, self._memory)
        if young is None or not young.is_due(n_seen, self.n_clusters, self._memory):
            return
        self._young = young.seen_at(n_seen)
        ordinary = young.without_isolated_rows(self.n_clusters)
        if ordinary.surprises(self, self.cluster_centers_, self.delta_):
            inner = copy(self)
            inner.checkpoint, inner.store_masses, inner.verbose = None, False, 0
            if not isinstance(self.init, str) and np.isfinite(self._memory.n_rows):
                inner.init = self.cluster_centers_  # the clusters may have moved away from the first prototypes
            fit = PrototypeFit.begin(inner, ArrayRows(ordinary.rows), ordinary.weights)
            if isinstance(self.init, str):
                _keep_numbers(fit.state, self.cluster_centers_, fixed_sets=not isinstance(self.focal_sets, str))
            end = fit.run().state
            centers = end.model.centers
            if ordinary.sum_of_squares(centers) < ordinary.sum_of_squares(self.cluster_centers_):
                self._statistics = end.statistics * (1 / fit.weight)
                self._publish_model(end.model, fit.state.chosen)
        counted = young.weights > 0
        self._model = self._with_outliers_of(young.rows[counted], young.weights[counted], self._model)

    def _with_outliers_of(self, sample: Features, weights: FloatArray, model: Model) -> Model:
        """Return the model with the rule for outliers that follows from a sample, unless `delta` is a number."""
        return model.learn_outliers(sample, weights, self.outlier_rate) if isinstance(self.delta, str) else model

    def _learn(self, rows: Rows, weights: FloatArray | None) -> None:
        """Better prototypes, from what all portions told."""
        model: Model = self._model
        unit = weight_unit(weights)
        aligned = None if weights is None else rows.align(weights / unit)
        told = Alternation(rows, aligned, self.tol, self.n_jobs).collect(model)
        total = float(len(rows) if weights is None else (weights / unit).sum())
        # In the user's unit, which is that of other calls too.
        weight = total * unit
        if self.half_life is None:
            self._seen_weight += weight
            # What was told long ago was told to prototypes that were not good yet: it counts less and less.
            share = (weight / self._seen_weight) ** _FORGETTING
        else:
            weight *= self._remembered(len(rows))
            self._seen_weight = self._seen_weight * 2 ** (-len(rows) / self.half_life) + weight
            share = weight / self._seen_weight
        told = told * (share / total)
        self._statistics = told if self.n_samples_seen_ == 0 else self._statistics * (1 - share) + told
        self._publish_model(model.solve(self._statistics), Chosen(self.delta_, self.beta_, self._alpha))
        self.n_samples_seen_ += len(rows)
        # Without a warning: more portions may come.
        self._note_evidence(max(self.n_samples_seen_, self._seen_weight), len(self.cluster_centers_))

    def _remembered(self, n_rows: int) -> float:
        """How much rows count, on average, when the last of them has come."""
        ages = 0.0 if self.half_life is None else n_rows / self.half_life
        return float(-np.expm1(-ages * np.log(2)) / (ages * np.log(2))) if ages > 0 else 1.0

    @property
    def _memory(self) -> Memory:
        return Memory.of(self.half_life, self.n_clusters)

    @property
    def _alpha(self) -> float:
        return getattr(self, "alpha_", 1.0)


def _keep_numbers(state: FitState, centers: FloatArray, *, fixed_sets: bool) -> None:
    """Renumber the starts of a fit such that each has the number of the nearest earlier prototype."""
    orders = [linear_sum_assignment(squared_distances(centers, start))[1] for start in state.starts]
    if not fixed_sets:
        state.focal_sets = FocalSets.from_membership(state.focal_sets.membership[:, orders[0]])
    state.starts = np.stack([start[order] for start, order in zip(state.starts, orders, strict=True)])


def _is_empty(X: Any) -> bool:
    if is_elsewhere(X):
        return False
    return bool(X.shape[0] == 0) if getattr(X, "shape", ()) else hasattr(X, "__len__") and len(X) == 0
