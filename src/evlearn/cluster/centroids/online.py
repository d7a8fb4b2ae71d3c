"""Clusterers with prototypes that learn from batches (`partial_fit`), and the buffer of their first batches."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from sklearn.utils import check_random_state

from evlearn.belief import FocalSets
from evlearn.blocks import ArrayDataset, RowDataset
from evlearn.blocks.dataset import check_weights, weight_unit
from evlearn.blocks.open import needs_blocks
from evlearn.blocks.sparse import SparseDataset
from evlearn.cluster.centroids.adaptive import AdaptiveModel, Model
from evlearn.cluster.centroids.clusterer import PrototypeClusterer
from evlearn.cluster.centroids.fit import (
    Alternation,
    FittedPrototypes,
    PrototypeFit,
    PrototypeSettings,
    check_no_remote_rows,
    first_state,
    sample_of,
)
from evlearn.cluster.centroids.fit_state import FitState
from evlearn.cluster.centroids.kmeans import kmeans_solutions, squared_distances
from evlearn.cluster.centroids.model import Coordinates, Statistics
from evlearn.cluster.centroids.scales import ResolvedParameters
from evlearn.cluster.centroids.starts import summarize_data
from evlearn.cluster.fit_warnings import count_samples, lacks_evidence
from evlearn.cluster.focal_families import has_two_steps, kind_of
from evlearn.neighbors import find_neighbors
from evlearn.storage import fields
from evlearn.utils.convergence import atomic_fit
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.typing import DataLike, FloatArray
from evlearn.utils.validation import check_real, check_shape

_FIT_ATTRIBUTES = (
    *("credal_partition_", "masses_", "labels_"),
    *("objective_", "objective_history_", "n_iter_", "converged_"),
    "_fitted_to",
)
_FORGETTING_EXPONENT = (
    0.7  # with 1 all batches have equal weight; smaller values forget the first ones; sums converge above 0.5
)
#: Size of the buffer, or size per cluster if that is larger.
_SIZE, _SIZE_EACH = 1000, 20
#: Number of rows during which a stream without forgetting is checked, as a multiple of the size of the buffer.
_WARMUP_FACTOR = 100
#: Factor between distances, or between squared distances to prototypes, beyond which a stream is refitted.
_REFIT_FACTOR = 1.5
#: Share of rows that are ignored as possible outliers, and the number of neighbors that determines their
#: isolation.
_ISOLATED_SHARE, _N_NEIGHBORS = 0.05, 5


class BufferLimits(NamedTuple):
    """Size and duration of the buffer of a stream.

    Attributes
    ----------
    size : int
        Number of rows in the buffer.
    n_represented : float
        Number of rows that the buffer represents; infinity if it represents all rows.
    n_warmup : float
        Number of rows after which no buffer is kept; infinity if the stream forgets.
    """

    size: int
    n_represented: float
    n_warmup: float

    @classmethod
    def of(cls, half_life: float | None, n_clusters: int) -> "BufferLimits":
        """Return the limits for a half-life and a number of clusters."""
        size = max(_SIZE, _SIZE_EACH * n_clusters)
        if half_life is None or half_life == np.inf:
            return cls(size, np.inf, _WARMUP_FACTOR * size)
        # The sum of 2 ** (-age / (half_life / 2)) over all rows.
        n_represented = half_life / 2 / np.log(2)
        size = int(np.clip(n_represented, _SIZE_EACH * n_clusters, size))
        return cls(size, max(n_represented, size), np.inf)


@fields.stored
@dataclass(frozen=True)
class WarmupBuffer:
    """Random sample of the rows of a stream, against which its prototypes are checked.

    Without forgetting, all rows so far are equally likely to be in the buffer. With a finite `half_life`, the
    probability that a row is still in the buffer halves with every ``half_life / 2`` further rows. The buffer
    forgets faster than the statistics, so that it reveals prototypes that lag behind a drift.

    Attributes
    ----------
    rows : ndarray of shape (n, n_features)
        Sample.
    weights : ndarray of shape (n,)
        Weights of the rows.
    n_seen_at_check : int, default=0
        Number of rows seen at the last check.
    """

    rows: fields.Matrix
    weights: fields.NonnegativeVector
    n_seen_at_check: int = 0

    @classmethod
    def of(cls, rows: RowDataset, weights: FloatArray | None, limits: "BufferLimits") -> "WarmupBuffer | None":
        """Return the buffer of a new stream, or None if its first batch is large enough."""
        empty = cls(np.empty((0, rows.n_features), dtype=rows.dtype), np.empty(0), len(rows))
        return empty.with_rows(rows, weights, 0, limits)

    def with_rows(
        self, rows: RowDataset, weights: FloatArray | None, n_seen: int, limits: "BufferLimits"
    ) -> "WarmupBuffer | None":
        """Return the buffer after further rows, or None if the warm-up is over."""
        if n_seen + len(rows) >= limits.n_warmup:
            return None
        # The parameters of the stream may have changed since the last call.
        before = min(len(self.rows), limits.size)
        n_rows = min(limits.size, before + len(rows))
        positions = np.arange(len(rows))
        # Random numbers depend on the position in the stream alone, so that model files contain the whole state.
        uniforms = np.random.RandomState(n_seen % 2**32).random_sample(len(rows))
        slots = (uniforms * np.clip(n_seen + positions + 1, limits.size, limits.n_represented)).astype(np.intp)
        slots = np.where(before + positions < limits.size, before + positions, slots)
        inserted = np.flatnonzero(slots < limits.size)
        sample = np.empty((n_rows, rows.n_features), dtype=np.result_type(self.rows, rows.dtype))
        counts = np.ones(n_rows)
        sample[:before], counts[:before] = self.rows[:before], self.weights[:before]
        sample[slots[inserted]] = rows.take(inserted)
        counts[slots[inserted]] = 1.0 if weights is None else weights[inserted]
        return replace(self, rows=sample, weights=counts)

    def is_due(self, n_seen: int, n_clusters: int, limits: "BufferLimits") -> bool:
        """Return True if the rows since the last check are as many as before it, or as the buffer represents."""
        n_new = n_seen - self.n_seen_at_check
        return (
            n_new >= min(self.n_seen_at_check, limits.n_represented)
            and int((self.weights > 0).sum()) >= n_clusters
        )

    def without_isolated_rows(self, n_clusters: int) -> Self:
        """Return the buffer without the 5 % of its rows that are farthest from their neighbors."""
        indices = np.flatnonzero(self.weights > 0)
        n_isolated = min(int(_ISOLATED_SHARE * len(indices)), len(indices) - n_clusters)
        if n_isolated <= 0:
            return self
        rows = self.rows[indices]
        points = Coordinates.of(rows).transform(rows)
        n_neighbors = min(_N_NEIGHBORS, len(rows) - 1)
        neighbors = find_neighbors(points, n_neighbors, metric="euclidean", n_jobs=None, keep=True)
        isolation = np.asarray(neighbors.distances).max(axis=1)
        remaining = indices[np.sort(np.argsort(isolation, kind="stable")[:-n_isolated])]
        return replace(self, rows=self.rows[remaining], weights=self.weights[remaining])

    def needs_refit(self, settings: PrototypeSettings, centers: FloatArray, delta: float) -> bool:
        """Return True if k-means finds much better centers, or if the scale of distances differs."""
        random = check_random_state(settings.random_state)
        summary = summarize_data(ArrayDataset(self.rows), self.weights, settings.delta, random)
        if not 1 / _REFIT_FACTOR <= summary.delta / delta <= _REFIT_FACTOR and settings.delta is None:
            return True
        if not isinstance(settings.starts.init, str):
            return False
        best = kmeans_solutions(len(centers), summary.sample, summary.counts, random, n_init=1)[0]
        return self.sum_of_squares(centers) > _REFIT_FACTOR * self.sum_of_squares(best)

    def sum_of_squares(self, centers: FloatArray) -> float:
        """Return the weighted sum of the squared distances of the rows to the nearest centers."""
        coordinates = Coordinates.of(self.rows)
        squares = squared_distances(coordinates.transform(self.rows), coordinates.transform(centers))
        return float(self.weights @ squares.min(axis=1))


class OnlineClusterer(PrototypeClusterer):
    """Base class of ECM and CCM, which also learn from batches."""

    half_life: float | None
    n_samples_seen_: fields.StoredIfSet[int]
    _statistics: fields.StoredIfSet[Statistics]
    _seen_weight: fields.StoredIfSet[fields.PositiveNumber]
    _warmup_buffer: fields.StoredIfSet[WarmupBuffer | None]

    @property
    def _takes_sparse(self) -> bool:
        return self._metric == "euclidean"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.half_life is not None:
            check_real("half_life", self.half_life, 0, open_low=True, or_infinity=True)

    def _begin(self, rows: RowDataset, sample_weight: Any, **changes: Any) -> PrototypeFit:
        """Return a fit to complete samples."""
        weights = check_weights(sample_weight, rows) if rows.has_gaps else None
        if weights is None:
            return super()._begin(self._without_gaps(rows, self.n_clusters), sample_weight, **changes)
        return super()._begin(*self._complete_rows(rows, self.n_clusters, weights), **changes)

    def _publish_fit(self, fitted: FittedPrototypes, rows: RowDataset) -> None:
        super()._publish_fit(fitted, rows)
        # State for `partial_fit`, which continues the fit.
        self._statistics = fitted.trace.state.statistics * (1 / fitted.weight)
        self._seen_weight = fitted.weight * fitted.unit * self._mean_memory(len(rows))
        self._warmup_buffer = None  # the fit has used all samples
        self.n_samples_seen_ = len(rows)

    @atomic_fit
    def fit(self, X: DataLike, y: object = None, *, sample_weight: ArrayLike | None = None) -> Self:
        """Find the prototypes and the mass functions of the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, dask collection or iterable of arrays
            Samples: an array, a memory map, a pandas or polars frame; the path of a Parquet file or of a folder of
            them; a Dask array or DataFrame; or an iterable of arrays, each with some of the rows.
        y : None, default=None
            Not used; present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each sample: a weight of 2 is equivalent to 2 equal samples.

        Returns
        -------
        Self
            Fitted estimator.
        """
        self._check_parameters()
        return self._fit(X, sample_weight)

    @atomic_fit
    def partial_fit(self, X: DataLike, y: object = None, *, sample_weight: ArrayLike | None = None) -> Self:
        """Update the clusters with a batch of samples, after `fit` or earlier batches.

        The estimator stores sums over all samples and a sample of the rows. If there were no earlier samples, this
        batch determines the initial prototypes and the values of "auto".

        The sample of the rows is compared with the prototypes whenever the number of rows has doubled, until there
        are 100 times as many rows as in the sample. If other clusters or distances fit it better, all choices are
        made again. The result is used if its prototypes are closer to the rows of the sample. Clusters keep the
        number of the nearest earlier cluster. The 5 % of the sample that are farthest from their neighbors are
        ignored, because they may be outliers.

        With a finite `half_life`, the sample consists mainly of the newest rows and is compared about every
        ``half_life`` rows, without an end. The masses of samples are not stored; use `predict_mass`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples; any kind of data that `fit` accepts. An empty array or frame changes nothing.
        y : None, default=None
            Not used; present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each sample.

        Returns
        -------
        Self
            Fitted estimator.
        """
        first = "_statistics" not in self.__dict__
        self._check_parameters()
        if first and has_two_steps(self.focal_sets):
            raise ValueError("focal_sets='neighbor_pairs' needs all samples at once: use fit, or list the pairs.")
        if _is_empty(X):
            return self
        with one_blas_thread(), self._open_rows(X, reset=first) as opened:
            rows, weights = self._complete(opened, check_weights(sample_weight, opened), first)
            if first:
                self._begin_stream(rows, weights)
            else:
                self._check_warmup_buffer(rows, weights)
            if np.isinf(self.delta_):
                check_no_remote_rows(rows, self._model.coordinates, self.n_jobs)
            self._update_prototypes(rows, weights)
            self.n_samples_seen_ += len(opened) - len(
                rows
            )  # a sample with missing values can have several completions
        for name in _FIT_ATTRIBUTES:
            self.__dict__.pop(name, None)
        self._no_masses = "partial_fit stores sums over samples, but not their masses"
        return self

    def _complete(
        self, rows: RowDataset, weights: FloatArray | None, first: bool
    ) -> tuple[RowDataset, FloatArray | None]:
        """Return the completed rows of a batch, and their weights."""
        if not rows.has_gaps:
            return rows, weights
        if first or self._gaps is None or not isinstance(rows, ArrayDataset):
            raise ValueError(
                "Input X contains NaN, and partial_fit needs complete samples unless it continues a fit: use fit, "
                "or impute missing values, for example with sklearn.impute.SimpleImputer."
            )
        data = rows.read_rows(0, len(rows))
        if weights is None:
            return ArrayDataset(self._gaps.fill(data)), None
        filled = self._gaps.fill_weighted(data, weights)
        return ArrayDataset(filled.data), filled.weights

    def _begin_stream(self, rows: RowDataset, weights: FloatArray | None) -> None:
        self._gaps = None
        self._seen_weight, self.n_samples_seen_ = 0.0, 0
        self._warmup_buffer = (
            None if isinstance(rows, SparseDataset) else WarmupBuffer.of(rows, weights, self._buffer_limits)
        )
        settings = self._settings()
        state = first_state(settings, rows, weights)
        prototypes = state.coordinates.transform(state.starts[0])
        model = settings.make_model(state.focal_sets, state.coordinates, state.parameters, prototypes)
        if settings.outlier_rate is not None:
            sample = sample_of(rows, weights, state, self.random_state)
            model = model.learn_outliers(*sample, settings.outlier_rate)
        self._publish_model(model, state.parameters)

    def _check_warmup_buffer(self, rows: RowDataset, weights: FloatArray | None) -> None:
        """Fit again if the batches so far, including this one, do not match the first of them."""
        buffer: WarmupBuffer | None = self.__dict__.get("_warmup_buffer")
        if buffer is None:
            return
        n_seen = self.n_samples_seen_ + len(rows)
        self._warmup_buffer = buffer = buffer.with_rows(rows, weights, self.n_samples_seen_, self._buffer_limits)
        if buffer is None or not buffer.is_due(n_seen, self.n_clusters, self._buffer_limits):
            return
        self._warmup_buffer = replace(buffer, n_seen_at_check=n_seen)
        ordinary, settings = buffer.without_isolated_rows(self.n_clusters), self._settings()
        if ordinary.needs_refit(settings, self.cluster_centers_, self.delta_):
            fitted = self._refit(ordinary, settings)
            centers = fitted.model.centers
            if ordinary.sum_of_squares(centers) < ordinary.sum_of_squares(self.cluster_centers_):
                self._statistics = fitted.trace.state.statistics * (1 / fitted.weight)
                self._publish_model(fitted.model, fitted.parameters)
        if settings.outlier_rate is not None:
            is_used = buffer.weights > 0
            self._model = self._model.learn_outliers(
                buffer.rows[is_used], buffer.weights[is_used], settings.outlier_rate
            )

    def _refit(self, buffer: WarmupBuffer, settings: PrototypeSettings) -> FittedPrototypes:
        """Return a fit to the buffer, whose clusters have the numbers of the nearest earlier clusters."""
        starts = settings.starts
        if not isinstance(self.init, str) and np.isfinite(self._buffer_limits.n_represented):
            # The clusters may have drifted away from the initial prototypes.
            starts = replace(starts, init=self.cluster_centers_)
        is_small = lacks_evidence(count_samples(len(buffer.rows), buffer.weights), self.n_clusters)
        settings = replace(
            settings,
            starts=starts,
            add_omega=is_small or self.__dict__.get("_gaps") is not None,
            outlier_rate=None,
        )
        fit = PrototypeFit.begin(settings, ArrayDataset(buffer.rows), buffer.weights)
        if isinstance(self.init, str):
            _renumber_starts(fit.state, self.cluster_centers_, fixed_sets=kind_of(self.focal_sets) is None)
        return fit.run()

    def _update_prototypes(self, rows: RowDataset, weights: FloatArray | None) -> None:
        """Update the prototypes with the statistics of a batch."""
        model: Model = self._model
        unit = weight_unit(weights)
        aligned = None if weights is None else rows.align(weights / unit)
        statistics = Alternation(rows, aligned, self.tol, self.n_jobs).collect(model)
        total = float(len(rows) if weights is None else (weights / unit).sum())
        # In the unit of the user, which is the same for all calls.
        weight = total * unit
        if self.half_life is None:
            self._seen_weight += weight
            # Old statistics were computed with worse prototypes, so their share decreases.
            share = (weight / self._seen_weight) ** _FORGETTING_EXPONENT
        else:
            weight *= self._mean_memory(len(rows))
            self._seen_weight = self._seen_weight * 2 ** (-len(rows) / self.half_life) + weight
            share = weight / self._seen_weight
        statistics = statistics * (share / total)
        self._statistics = statistics if self.n_samples_seen_ == 0 else self._statistics * (1 - share) + statistics
        parameters = ResolvedParameters(self.delta_, self.beta_, getattr(self, "alpha_", 1.0))
        self._publish_model(model.solve(self._statistics), parameters)
        self.n_samples_seen_ += len(rows)
        # No warning, because further batches may follow.
        self._note_evidence(max(self.n_samples_seen_, self._seen_weight), len(self.cluster_centers_))

    def _mean_memory(self, n_rows: int) -> float:
        """Return the mean weight of rows at the end of their batch."""
        ages = 0.0 if self.half_life is None else n_rows / self.half_life
        return float(-np.expm1(-ages * np.log(2)) / (ages * np.log(2))) if ages > 0 else 1.0

    @property
    def _buffer_limits(self) -> BufferLimits:
        return BufferLimits.of(self.half_life, self.n_clusters)

    def _after_loading(self) -> None:
        """Raise unless the attributes from a file are consistent."""
        super()._after_loading()
        model = self._model
        n_clusters, n_features = model.prototypes.shape
        statistics: Statistics | None = self.__dict__.get("_statistics")
        if statistics is None:
            return
        adaptive = isinstance(model, AdaptiveModel)
        n_sets = len(model.focal_sets)
        check_shape("_statistics.powers", statistics.powers, (n_sets,))
        check_shape("_statistics.sums", statistics.sums, (n_sets - 1 if adaptive else n_clusters, n_features))
        check_shape("_statistics.scatter", statistics.scatter, (n_clusters, n_features, n_features))
        has_counts = {"_seen_weight", "n_samples_seen_"} <= self.__dict__.keys()
        if (statistics.scatter is not None) != adaptive or not has_counts:
            raise ValueError("the state of partial_fit is incomplete")
        young: WarmupBuffer | None = self.__dict__.get("_warmup_buffer")
        if young is not None:
            largest = BufferLimits.of(None, n_clusters).size  # fewer rows with a half-life
            n_rows = min(len(young.rows), largest, self.n_samples_seen_)
            check_shape("_warmup_buffer.rows", young.rows, (n_rows, n_features))
            check_shape("_warmup_buffer.weights", young.weights, (n_rows,))


def _renumber_starts(state: FitState, centers: FloatArray, *, fixed_sets: bool) -> None:
    """Renumber the starts of a fit so that each prototype has the number of the nearest earlier one."""
    orders = [linear_sum_assignment(squared_distances(centers, start))[1] for start in state.starts]
    if not fixed_sets:
        state.focal_sets = FocalSets.from_membership(state.focal_sets.membership[:, orders[0]])
    state.starts = np.stack([start[order] for start, order in zip(state.starts, orders, strict=True)])


def _is_empty(X: Any) -> bool:
    if needs_blocks(X):
        return False
    return bool(X.shape[0] == 0) if getattr(X, "shape", ()) else hasattr(X, "__len__") and len(X) == 0
