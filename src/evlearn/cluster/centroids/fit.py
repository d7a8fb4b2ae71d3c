"""Fits of prototypes to data of any size."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement

from evlearn.belief import FocalSets
from evlearn.blocks.dataset import ArrayDataset, RowDataset, check_weights, weight_unit
from evlearn.blocks.sparse import Features, SparseBlock, SparseDataset
from evlearn.cluster.centroids.adaptive import AdaptiveModel, Model
from evlearn.cluster.centroids.fit_state import Descent, FitState
from evlearn.cluster.centroids.kmeans import ordinary_rows, squared_distances
from evlearn.cluster.centroids.model import Coordinates, Statistics
from evlearn.cluster.centroids.scales import ResolvedParameters, Scales, is_one_cloud
from evlearn.cluster.centroids.starts import (
    DataSummary,
    Isometry,
    check_prototypes,
    distinct_rows,
    draw,
    summarize_data,
)
from evlearn.cluster.fit_warnings import are_coincident, count_samples
from evlearn.cluster.focal_families import (
    SimilarityOfRows,
    choose_focal_sets,
    has_two_steps,
    mutual_neighbors,
    n_pair_neighbors,
)
from evlearn.storage.checkpoints import Checkpoint, identity_of
from evlearn.utils.convergence import Report, Trace, descend
from evlearn.utils.progress import Steps
from evlearn.utils.typing import FloatArray
from evlearn.utils.validation import EXTREME_RATIO

#: Maximum number of sparse rows for starts; their products require the square of this number of values.
_SPARSE_ROWS = 1500
_MAX_STARTS, _MAX_ROWS, _ROWS_EACH = 3, 5_000, 20
_TOL, _MAX_ITER = 1e-4, 100
_MAX_REDUCTIONS = 5
#: Variances in one direction, per sample, by which the sum of squares of prototypes that have drifted exceeds that
#: of k-means. Splitting a cluster in the middle gains 0.64.
_DRIFT = 0.1


class Iterate(NamedTuple):
    """Model and the statistics of all rows for it."""

    model: Model
    statistics: Statistics


@dataclass(frozen=True)
class Alternation:
    """Iterations over a dataset, for `evlearn.utils.convergence.descend`.

    Attributes
    ----------
    rows : RowDataset
        Data.
    weights : object or None
        Weights of the rows, aligned with them.
    tol : float
        Relative decrease of the objective at or below which the descent has converged.
    n_jobs : int or None, default=None
        Number of workers.
    """

    rows: RowDataset
    weights: Any
    tol: float
    n_jobs: int | None = None

    def trace(self, model: Model, history: list[float] | None = None) -> Trace[Iterate]:
        """Return the initial trace of a descent, or the trace after the iterations of a history."""
        statistics = self.collect(model)
        return Trace(Iterate(model, statistics), history or [statistics.cost])

    def step(self, iterate: Iterate) -> tuple[Iterate, float, bool]:
        """Return the best prototypes for the masses, with the statistics of the best masses for these."""
        before = iterate.statistics.cost
        model = iterate.model.solve(iterate.statistics)
        statistics = self.collect(model)
        if statistics.cost > before:  # rounding errors or a regularized metric: the step is rejected
            return iterate, before, True
        return Iterate(model, statistics), statistics.cost, before - statistics.cost <= self.tol * before

    def collect(self, model: Model) -> Statistics:
        """Return the statistics of all rows, summed in the order of the blocks."""
        statistics: Statistics = self.rows.add(model.collect, self.weights, n_jobs=self.n_jobs)
        return statistics


@dataclass(frozen=True)
class Trial:
    """Sample for comparing starts.

    Attributes
    ----------
    sample : ndarray of shape (n, n_features)
        Rows in the coordinates of models.
    weights : ndarray of shape (n,)
        Weights of the rows.
    coordinates : Coordinates
        Coordinates of models.
    make_model : callable
        Function from focal sets, coordinates, parameters and prototypes to a model.
    find_sets : callable
        Function from prototypes, rows and weights to focal sets.
    """

    sample: FloatArray
    weights: FloatArray
    coordinates: Coordinates
    make_model: Callable[..., Model]
    find_sets: Callable[[FloatArray, FloatArray, FloatArray], FocalSets]

    def sets(self, start: FloatArray) -> FocalSets:
        """Return the focal sets for a start."""
        rows, weights = self._subsample(len(start))
        return self.find_sets(self.coordinates.transform(start), rows, weights)

    def best(
        self, starts: list[FloatArray], parameters: ResolvedParameters, *, lower_beta: bool
    ) -> tuple[FloatArray, ResolvedParameters]:
        """Return the end of the descent from the best start.

        Returns
        -------
        prototypes : ndarray of shape (n_clusters, n_features)
            Prototypes in the coordinates of the data.
        parameters : ResolvedParameters
            Parameters, with a reduced beta if that is necessary to keep the prototypes distinct.
        """
        first = None
        for _ in range(_MAX_REDUCTIONS + 1):
            ends = [self._descend(start, parameters) for start in starts[:_MAX_STARTS]]
            best = self.coordinates.inverse_transform(
                min(ends, key=lambda end: end.objective).state.model.prototypes
            )
            coincident = are_coincident(pdist(best), parameters.width)
            if not lower_beta or not (coincident or self._has_drifted(best, starts, parameters.width)):
                return best, parameters
            if first is None and not coincident:
                first = best, parameters
            last = best, parameters
            parameters = parameters._replace(beta=1 + (parameters.beta - 1) / 2)
        # If clusters overlap, prototypes differ from those of k-means for any beta.
        return first or last

    def _has_drifted(self, prototypes: FloatArray, starts: list[FloatArray], width: float) -> bool:
        """Return True if the sum of squares about prototypes is much larger than that of k-means."""
        rows, weights = self._subsample(len(prototypes))

        def total(centers: FloatArray) -> float:
            return float(weights @ squared_distances(rows, self.coordinates.transform(centers)).min(axis=1))

        tolerance = _DRIFT * (width * self.coordinates.scale) ** 2 * float(weights.sum())
        return total(prototypes) > total(starts[0]) + tolerance

    def _descend(self, start: FloatArray, parameters: ResolvedParameters) -> Trace[Iterate]:
        rows, weights = self._subsample(len(start))
        # The rows are already in the coordinates of the model.
        identity = Coordinates(np.zeros(rows.shape[1]), 1.0)
        scaled_parameters = parameters._replace(delta=parameters.delta * self.coordinates.scale)
        model = self.make_model(self.sets(start), identity, scaled_parameters, self.coordinates.transform(start))
        dataset = ArrayDataset(rows)
        alternation = Alternation(dataset, dataset.align(weights), _TOL)
        end = descend(alternation.step, alternation.trace(model), max_iter=_MAX_ITER)
        if end.interrupted:
            raise KeyboardInterrupt
        return end

    def _subsample(self, n_clusters: int) -> tuple[FloatArray, FloatArray]:
        step = -(-len(self.sample) // max(_MAX_ROWS, _ROWS_EACH * n_clusters))
        return np.ascontiguousarray(self.sample[::step]), self.weights[::step]


@dataclass(frozen=True)
class PrototypeFit:
    """Inputs and state of a fit in progress.

    Attributes
    ----------
    method : PrototypeClusterer
        Estimator, with its parameters, costs of sets, and model.
    rows : RowDataset
        Data.
    weights : object or None
        Weights of the rows, aligned with them and divided by `unit`.
    unit : float
        Factor from objectives with these weights to objectives with the weights of the user.
    weight : float
        Sum of the weights, divided by `unit`.
    sample_weight : ndarray of shape (n_rows,) or None
        Weights of the user.
    state : FitState
        State of the fit.
    checkpoint : Checkpoint or None
        Destination of the state.
    """

    method: Any
    rows: RowDataset
    weights: Any
    unit: float
    weight: float
    sample_weight: FloatArray | None
    state: FitState
    checkpoint: Checkpoint | None

    @classmethod
    def begin(cls, method: Any, rows: RowDataset, sample_weight: Any) -> "PrototypeFit":
        """Return a fit with starts and resolved parameters, or the state of its checkpoint, if there is one."""
        if not isinstance(method.n_clusters, str) and len(rows) < method.n_clusters:
            raise ValueError(f"n_clusters={method.n_clusters} is more than n_samples={len(rows)}.")
        method._refuse_masses(rows, method.focal_sets)
        weights = check_weights(sample_weight, rows)
        unit = weight_unit(weights)
        if not isinstance(method.n_clusters, str):
            method._note_evidence(count_samples(len(rows), weights), method.n_clusters)
        checkpoint = None
        if method.checkpoint is not None and isinstance(rows, SparseDataset):
            raise ValueError(f"checkpoint={method.checkpoint!r} needs dense features, but X is sparse; use None.")
        if method.checkpoint is not None:
            checkpoint = Checkpoint(method.checkpoint, identity_of(method, rows, sample_weight=weights))
        state = _load_state(method, rows, checkpoint) or first_state(method, rows, weights)
        method._refuse_masses(rows, state.focal_sets)  # they are resolved now, also if they are "auto"
        check_infinite_delta(rows, state.coordinates, state.parameters.delta, method.n_jobs)
        aligned = None if weights is None else rows.align(weights / unit)
        weight = float(len(rows) if weights is None else (weights / unit).sum())
        return cls(method, rows, aligned, unit, weight, weights, state, checkpoint)

    @property
    def n_samples(self) -> float:
        """Number of samples, counted with their weights."""
        return count_samples(len(self.rows), self.sample_weight)

    @property
    def alternation(self) -> Alternation:
        """Alternation over the rows."""
        return Alternation(self.rows, self.weights, self.method.tol, self.method.n_jobs)

    def run(self) -> Trace[Iterate]:
        """Run the descents from all starts and, with "neighbor_pairs", a last one with the pairs of neighbors."""
        n_left = len(self.state.starts) + has_two_steps(self.method.focal_sets) - self.state.stage
        best = None if self.state.best is None else self._resume(self.state.best)
        # A descent over descents, so that a single Ctrl-C ends both.
        stage = partial(self._next_stage, Steps(self.method.max_iter, n_left))
        trace = descend(stage, Trace(best, [np.inf]), max_iter=n_left)
        if trace.state is None:
            raise KeyboardInterrupt  # there is no result yet
        return replace(trace.state, interrupted=trace.interrupted or trace.converged)

    def with_outlier_rule(self, model: Model, rate: float) -> Model:
        """Return the model with a rule for outliers that is learned from a sample of the rows."""
        return model.learn_outliers(*sample_of(self.rows, self.sample_weight, self.state, self.method), rate)

    def drift(self, prototypes: FloatArray) -> float:
        """Return the sum of squared distances to the nearest prototype, relative to that of k-means.

        Gross errors are ignored. The result is 1 if prototypes did not start at k-means, or if the fit was
        resumed.
        """
        summary, reference = self.state.summary, self.state.reference
        if summary is None or reference is None:
            return 1.0
        is_ordinary = ordinary_rows(summary.sample, summary.counts, reference)
        rows, counts = summary.sample[is_ordinary], summary.counts[is_ordinary]
        total, smallest = (
            float(counts @ squared_distances(rows, centers).min(axis=1)) for centers in (prototypes, reference)
        )
        return total / smallest if smallest > 0 else 1.0

    def finish(self, trace: Trace[Iterate]) -> None:
        """Remove the checkpoint, unless the fit was interrupted."""
        if self.checkpoint is not None and not trace.interrupted:
            self.checkpoint.remove()

    def _next_stage(self, report: Report, best: Trace[Iterate] | None) -> tuple[Trace[Iterate], float, bool]:
        """Run the next descent; return the best trace, its objective, and True if the user interrupted it."""
        state, method, alternation = self.state, self.method, self.alternation
        is_pair_stage = state.stage == len(state.starts)
        if state.current is not None:
            start = self._resume(state.current)
        elif is_pair_stage:
            assert best is not None
            start = alternation.trace(self._with_pairs(best.state.model))
        else:
            start = alternation.trace(first_model(method, state))
        history = list(start.history)

        def step(iterate: Iterate) -> tuple[Iterate, float, bool]:
            successor, objective, converged = alternation.step(iterate)
            history.append(objective)
            if self.checkpoint is not None and not converged:
                state.current = Descent(successor.model, history)
                self.checkpoint.save(state.to_arrays())
            return successor, objective, converged

        def report_in_unit(number: int, objective: float) -> None:
            report(number, objective * self.unit)

        report_in_unit(start.n_iter, start.objective)
        end = descend(step, start, max_iter=method.max_iter, report=report_in_unit)
        if best is None or is_pair_stage or end.objective < best.objective:
            best = end
        state.best = Descent(best.state.model, best.history, best.converged)
        state.current, state.stage = None, state.stage + 1
        return best, best.objective, end.interrupted

    def _resume(self, descent: Descent) -> Trace[Iterate]:
        return replace(self.alternation.trace(descent.model, descent.history), converged=descent.converged)

    def _with_pairs(self, model: Model) -> Model:
        """Return the best model so far with the pairs of clusters that share samples."""
        shares = self.rows.add(SimilarityOfRows(model), self.weights, n_jobs=self.method.n_jobs)
        pairs = mutual_neighbors(shares, n_pair_neighbors(self.method.focal_sets))
        focal_sets = model.costs.focal_sets.with_sets(pairs)
        metrics = model.metrics if isinstance(model, AdaptiveModel) else None
        state = self.state
        model_with_pairs: Model = self.method._make_model(
            focal_sets, state.coordinates, state.parameters, model.prototypes, metrics
        )
        return model_with_pairs


def first_state(method: Any, rows: RowDataset, weights: FloatArray | None) -> FitState:
    """Return a state with starts and resolved parameters."""
    random = check_random_state(method.random_state)
    if isinstance(rows, SparseDataset):
        return _first_state_of_sparse(method, rows, weights, random)
    n_clusters = 1 if isinstance(method.n_clusters, str) else method.n_clusters
    full_summary = summary = summarize_data(rows, weights, method.delta, random, n_clusters)
    starts = method._starts(rows, summary.sample, summary.counts, random)
    summary = summary.without_gross_errors(starts[0], method.delta, random)
    points = summary.coordinates.transform(summary.sample)
    parameters = _resolve_parameters(method, summary, points, summary.coordinates.transform(starts[0]), random)
    trial = Trial(points, summary.counts, summary.coordinates, method._make_model, partial(_sets_of, method))
    reference = None
    if starts_at_kmeans(method):
        reference = starts[0]
        lower_beta = isinstance(method.beta, str) and not parameters.cloud
        best, parameters = trial.best(starts, parameters, lower_beta=lower_beta)
        starts = [best]
    focal_sets = trial.sets(starts[0])
    return FitState(
        summary.coordinates, parameters, focal_sets, np.stack(starts), summary=full_summary, reference=reference
    )


def sample_of(
    rows: RowDataset, weights: FloatArray | None, state: FitState, method: Any
) -> tuple[Features, FloatArray]:
    """Return a sample of the rows with weights: that of the summary, or the same rows drawn again."""
    random = check_random_state(method.random_state)
    if isinstance(rows, SparseDataset):
        indices = np.arange(len(rows))
        if len(rows) > _SPARSE_ROWS:
            indices = np.sort(sample_without_replacement(len(rows), _SPARSE_ROWS, random_state=random))
        return rows.take(indices), np.ones(len(indices)) if weights is None else weights[indices]
    summary: DataSummary | None = state.summary
    if summary is not None and summary.sample.shape[1] == rows.n_features:
        return summary.sample, summary.counts
    return draw(rows, weights, random, state.starts.shape[1])


def _first_state_of_sparse(
    method: Any, rows: SparseDataset, weights: FloatArray | None, random: np.random.RandomState
) -> FitState:
    """Return such a state for sparse rows, from a sample in a space with few dimensions."""
    indices = np.arange(len(rows))
    if len(rows) > _SPARSE_ROWS:
        indices = np.sort(sample_without_replacement(len(rows), _SPARSE_ROWS, random_state=random))
    counts = np.ones(len(indices)) if weights is None else np.asarray(weights, dtype=np.float64)[indices]
    sample, distinct_counts = distinct_rows(rows.take(indices), counts)
    space = Isometry.of(sample)
    inner = copy(method)
    inner.random_state = random
    if not isinstance(method.init, str):
        prototypes = check_prototypes(method.init, method.n_clusters, rows.n_features)
        inner.init = space.transform(prototypes)
    state = first_state(inner, ArrayDataset(space.coordinates), distinct_counts)
    starts = (
        np.stack([space.inverse_transform(start) for start in state.starts])
        if isinstance(method.init, str)
        else prototypes[None]
    )
    origin = Coordinates(np.zeros(rows.n_features), state.coordinates.scale)
    return FitState(origin, state.parameters, state.focal_sets, starts)


def first_model(method: Any, state: FitState) -> Model:
    """Return the initial model of the current descent."""
    prototypes = state.coordinates.transform(state.starts[state.stage])
    model: Model = method._make_model(state.focal_sets, state.coordinates, state.parameters, prototypes)
    return model


def starts_at_kmeans(method: Any) -> bool:
    """Return True if prototypes start at solutions of k-means."""
    return isinstance(method.init, str) and method.init == "kmeans"


def check_infinite_delta(rows: RowDataset, coordinates: Coordinates, delta: float, n_jobs: int | None) -> None:
    """Raise ValueError if delta is infinite and extreme rows would move all prototypes."""
    if np.isfinite(delta):
        return
    largest = max(rows.map(_LargestCoordinate(coordinates), n_jobs=n_jobs))
    if largest > EXTREME_RATIO:
        raise ValueError(
            f"X has values up to {largest / coordinates.scale:.3g} away from the mean of the others. "
            "With delta=inf there are no outliers, and such samples move all clusters: use delta='auto', or "
            "remove these samples."
        )


def _load_state(method: Any, rows: RowDataset, checkpoint: Checkpoint | None) -> FitState | None:
    if checkpoint is None:
        return None
    n_clusters = None if isinstance(method.n_clusters, str) else method.n_clusters
    return checkpoint.load(partial(FitState.from_arrays, method._make_model, n_clusters, rows.n_features))


def _resolve_parameters(
    method: Any, summary: DataSummary, points: FloatArray, prototypes: FloatArray, random: np.random.RandomState
) -> ResolvedParameters:
    """Return the parameters of a fit; "auto" is replaced by values that follow from the data."""
    offset = method._mean_squared_offset * summary.coordinates.scale**2
    scales = Scales.of(points, summary.counts, prototypes, offset=offset)
    cloud = isinstance(method.beta, str) and is_one_cloud(points, summary.counts, len(prototypes), random)
    parameters = scales.choose(summary.delta, method.beta, getattr(method, "alpha", 1.0), cloud=cloud)
    return parameters._replace(width=parameters.width / summary.coordinates.scale)


def _sets_of(method: Any, prototypes: FloatArray, sample: FloatArray, counts: FloatArray) -> FocalSets:
    squares = squared_distances(sample, prototypes)
    family = choose_focal_sets(method.focal_sets, squares, counts, include_omega=method._include_omega)
    focal_sets: FocalSets = method._allow_ignorance(family)
    return focal_sets


@dataclass(frozen=True)
class _LargestCoordinate:
    """Function from a block of rows to the largest absolute coordinate."""

    coordinates: Coordinates

    def __call__(self, rows: Features, weights: Any = None) -> float:
        if isinstance(rows, SparseBlock):
            return float(abs(rows.matrix).max() * self.coordinates.scale) if len(rows) else 0.0
        return float(np.abs(self.coordinates.transform(rows)).max(initial=0))
