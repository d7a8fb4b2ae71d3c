"""Fits of prototypes to data of any size."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement

from evlearn.belief import FocalSets
from evlearn.blocks.dataset import ArrayDataset, RowDataset, weight_unit
from evlearn.blocks.sparse import Features, SparseBlock, SparseDataset
from evlearn.cluster.centroids.adaptive import AdaptiveMetric, AdaptiveModel, Model, make_model
from evlearn.cluster.centroids.fit_state import Descent, FitState
from evlearn.cluster.centroids.kmeans import squared_distances
from evlearn.cluster.centroids.model import Coordinates, Statistics
from evlearn.cluster.centroids.scales import ResolvedParameters, Scales, is_one_cloud
from evlearn.cluster.centroids.starts import (
    DataSummary,
    Isometry,
    Starts,
    check_prototypes,
    distinct_rows,
    draw,
    is_kmeans,
    summarize_data,
)
from evlearn.cluster.fit_warnings import are_coincident
from evlearn.cluster.focal_families import (
    SelectedSetsLike,
    SimilarityOfRows,
    choose_focal_sets,
    has_two_steps,
    mutual_neighbors,
    n_pair_neighbors,
)
from evlearn.cluster.set_costs import SetCosts
from evlearn.storage.checkpoints import Checkpoint
from evlearn.utils.convergence import Report, Trace, best_descent, descend
from evlearn.utils.progress import Steps
from evlearn.utils.typing import FloatArray, RandomSeed
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
class PrototypeSettings:
    """Settings of a fit of prototypes; None stands for a value that follows from the data.

    Attributes
    ----------
    n_clusters : int or None
        Number of clusters.
    focal_sets : str, FocalFamily, FocalSets or list of sets
        Sets that may carry mass, or a rule for their selection.
    include_omega : bool
        Whether the set of all clusters is a focal set unless `focal_sets` excludes it.
    add_omega : bool
        Whether it is added in any case, because values or evidence are missing.
    alpha, beta, delta : float or None
        Exponents of sizes and of masses, and the distance to the empty set.
    outlier_rate : float or None
        Expected share of outliers; None if no rule for outliers is learned.
    starts : Starts
        Initial prototypes.
    costs : callable
        Function from focal sets and resolved parameters to the costs of the sets.
    metric : str or AdaptiveMetric
        Metric of the clusters.
    max_iter : int
        Maximum number of iterations.
    tol : float
        Relative decrease of the objective at or below which a descent has converged.
    random_state : int, RandomState or None
        Seed.
    n_jobs : int or None
        Number of workers.
    fixed : bool, default=False
        Whether prototypes do not move.
    mean_squared_offset : float, default=0.0
        Mean squared distance of samples to all prototypes in an additional dimension.
    """

    n_clusters: int | None
    focal_sets: SelectedSetsLike
    include_omega: bool
    add_omega: bool
    alpha: float | None
    beta: float | None
    delta: float | None
    outlier_rate: float | None
    starts: Starts
    costs: Callable[[FocalSets, ResolvedParameters], SetCosts]
    metric: str | AdaptiveMetric
    max_iter: int
    tol: float
    random_state: RandomSeed
    n_jobs: int | None
    fixed: bool = False
    mean_squared_offset: float = 0.0

    def make_model(
        self,
        focal_sets: FocalSets,
        coordinates: Coordinates,
        parameters: ResolvedParameters,
        prototypes: FloatArray,
        metrics: FloatArray | None = None,
    ) -> Model:
        """Return a model with given prototypes."""
        costs = self.costs(focal_sets, parameters)
        return make_model(self.metric, costs, coordinates, prototypes, metrics=metrics, fixed=self.fixed)

    def choose_sets(self, prototypes: FloatArray, sample: FloatArray, counts: FloatArray) -> FocalSets:
        """Return the focal sets for given prototypes."""
        squares = squared_distances(sample, prototypes)
        family = choose_focal_sets(self.focal_sets, squares, counts, include_omega=self.include_omega)
        return family.with_omega() if self.add_omega else family

    def resolve(
        self, summary: DataSummary, points: FloatArray, prototypes: FloatArray, random: np.random.RandomState
    ) -> ResolvedParameters:
        """Return the parameters of a fit, with values that follow from a sample of the data for None."""
        offset = self.mean_squared_offset * summary.coordinates.scale**2
        scales = Scales.of(points, summary.counts, prototypes, offset=offset)
        cloud = self.beta is None and is_one_cloud(points, summary.counts, len(prototypes), random)
        parameters = scales.choose(summary.delta, self.beta, self.alpha, cloud=cloud)
        return parameters._replace(width=parameters.width / summary.coordinates.scale)


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
    settings : PrototypeSettings
        Settings of the fit.
    """

    sample: FloatArray
    weights: FloatArray
    coordinates: Coordinates
    settings: PrototypeSettings

    def sets(self, start: FloatArray) -> FocalSets:
        """Return the focal sets for a start."""
        rows, weights = self._subsample(len(start))
        return self.settings.choose_sets(self.coordinates.transform(start), rows, weights)

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
        first, families = None, [(start, self.sets(start)) for start in starts[:_MAX_STARTS]]
        for _ in range(_MAX_REDUCTIONS + 1):
            ends = [self._descend(start, focal_sets, parameters) for start, focal_sets in families]
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

    def _descend(self, start: FloatArray, focal_sets: FocalSets, parameters: ResolvedParameters) -> Trace[Iterate]:
        rows, weights = self._subsample(len(start))
        # The rows are already in the coordinates of the model.
        identity = Coordinates(np.zeros(rows.shape[1]), 1.0)
        scaled_parameters = parameters._replace(delta=parameters.delta * self.coordinates.scale)
        model = self.settings.make_model(
            focal_sets, identity, scaled_parameters, self.coordinates.transform(start)
        )
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
class FittedPrototypes:
    """Result of a fit.

    Attributes
    ----------
    model : EuclideanModel or AdaptiveModel
        Model, with its rule for outliers.
    trace : Trace
        Best descent.
    parameters : ResolvedParameters
        Parameters.
    rows : RowDataset
        Data.
    sample_weight : ndarray of shape (n_rows,) or None
        Weights of the user.
    unit : float
        Factor from objectives of the trace to objectives with the weights of the user.
    weight : float
        Sum of the weights, divided by `unit`.
    summary : DataSummary or None
        Sample of the rows, without gross errors.
    reference : ndarray of shape (n_clusters, n_features) or None
        Solution of k-means at which prototypes started.
    """

    model: Model
    trace: Trace[Iterate]
    parameters: ResolvedParameters
    rows: RowDataset
    sample_weight: FloatArray | None
    unit: float
    weight: float
    summary: DataSummary | None
    reference: FloatArray | None

    def drift(self) -> float:
        """Return the sum of squared distances to the nearest prototype, relative to that of k-means.

        The result is 1 if prototypes did not start at k-means, or if the fit was resumed.
        """
        if self.summary is None or self.reference is None:
            return 1.0
        rows, counts = self.summary.sample, self.summary.counts
        total, smallest = (
            float(counts @ squared_distances(rows, centers).min(axis=1))
            for centers in (self.model.centers, self.reference)
        )
        return total / smallest if smallest > 0 else 1.0


@dataclass(frozen=True)
class PrototypeFit:
    """Inputs and state of a fit in progress.

    Attributes
    ----------
    settings : PrototypeSettings
        Settings.
    rows : RowDataset
        Data.
    sample_weight : ndarray of shape (n_rows,) or None
        Weights of the user.
    state : FitState
        State of the fit.
    checkpoint : Checkpoint or None, default=None
        Destination of the state.
    """

    settings: PrototypeSettings
    rows: RowDataset
    sample_weight: FloatArray | None
    state: FitState
    checkpoint: Checkpoint | None = None

    @classmethod
    def begin(
        cls,
        settings: PrototypeSettings,
        rows: RowDataset,
        sample_weight: FloatArray | None,
        checkpoint: Checkpoint | None = None,
    ) -> "PrototypeFit":
        """Return a fit with starts and resolved parameters, or the state of its checkpoint, if there is one."""
        state = None
        if checkpoint is not None:
            restore = partial(FitState.from_arrays, settings.make_model, settings.n_clusters, rows.n_features)
            state = checkpoint.load(restore)
        state = state or first_state(settings, rows, sample_weight)
        if np.isinf(state.parameters.delta):
            check_no_remote_rows(rows, state.coordinates, settings.n_jobs)
        return cls(settings, rows, sample_weight, state, checkpoint)

    @cached_property
    def unit(self) -> float:
        """Divisor of the weights."""
        return weight_unit(self.sample_weight)

    @cached_property
    def alternation(self) -> Alternation:
        """Alternation over the rows."""
        weights = None if self.sample_weight is None else self.rows.align(self.sample_weight / self.unit)
        return Alternation(self.rows, weights, self.settings.tol, self.settings.n_jobs)

    def run(self) -> FittedPrototypes:
        """Run the descents from all starts and, with "neighbor_pairs", a last one with the pairs of neighbors."""
        state, settings, weights = self.state, self.settings, self.sample_weight
        n_starts, has_pairs = len(state.starts), has_two_steps(settings.focal_sets)
        steps = Steps(settings.max_iter, n_starts + has_pairs - state.stage)
        trace = best_descent(
            partial(self._descend, steps),
            range(state.stage, n_starts),
            refine=partial(self._descend_with_pairs, steps) if has_pairs else None,
            previous=None if state.best is None else self._resume(state.best),
        )
        model = trace.state.model
        if settings.outlier_rate is not None:
            sample = sample_of(self.rows, weights, state, settings.random_state)
            model = model.learn_outliers(*sample, settings.outlier_rate)
        weight = float(len(self.rows) if weights is None else (weights / self.unit).sum())
        return FittedPrototypes(
            model, trace, state.parameters, self.rows, weights, self.unit, weight, state.ordinary, state.reference
        )

    def _descend(self, steps: Report, number: int) -> Trace[Iterate]:
        """Return the descent from a start, or from the state of the checkpoint."""
        state = self.state
        if state.current is None:
            prototypes = state.coordinates.transform(state.starts[number])
            model = self.settings.make_model(state.focal_sets, state.coordinates, state.parameters, prototypes)
            end = self._run_descent(steps, self.alternation.trace(model))
        else:
            end = self._run_descent(steps, self._resume(state.current))
        if state.best is None or end.objective < state.best.history[-1]:
            state.best = Descent(end.state.model, end.history, end.converged)
        return end

    def _descend_with_pairs(self, steps: Report, best: Trace[Iterate]) -> Trace[Iterate]:
        """Return the descent from the best result, with the pairs of clusters that share samples."""
        state, model = self.state, best.state.model
        if state.current is not None:
            return self._run_descent(steps, self._resume(state.current))
        alternation = self.alternation
        shares = self.rows.add(SimilarityOfRows(model), alternation.weights, n_jobs=alternation.n_jobs)
        pairs = mutual_neighbors(shares, n_pair_neighbors(self.settings.focal_sets))
        focal_sets = model.costs.focal_sets.with_sets(pairs)
        metrics = model.metrics if isinstance(model, AdaptiveModel) else None
        model_with_pairs = self.settings.make_model(
            focal_sets, state.coordinates, state.parameters, model.prototypes, metrics
        )
        return self._run_descent(steps, alternation.trace(model_with_pairs))

    def _run_descent(self, steps: Report, start: Trace[Iterate]) -> Trace[Iterate]:
        """Descend, and save the state of the fit after each iteration."""
        state, alternation, history = self.state, self.alternation, list(start.history)

        def step(iterate: Iterate) -> tuple[Iterate, float, bool]:
            successor, objective, converged = alternation.step(iterate)
            history.append(objective)
            if self.checkpoint is not None and not converged:
                state.current = Descent(successor.model, history)
                self.checkpoint.save(state.to_arrays())
            return successor, objective, converged

        def report(number: int, objective: float) -> None:
            steps(number, objective * self.unit)

        report(start.n_iter, start.objective)
        end = descend(step, start, max_iter=self.settings.max_iter, report=report)
        state.current, state.stage = None, state.stage + 1
        return end

    def _resume(self, descent: Descent) -> Trace[Iterate]:
        return replace(self.alternation.trace(descent.model, descent.history), converged=descent.converged)


def first_state(settings: PrototypeSettings, rows: RowDataset, weights: FloatArray | None) -> FitState:
    """Return a state with starts and resolved parameters."""
    random = check_random_state(settings.random_state)
    if isinstance(rows, SparseDataset):
        return _first_state_of_sparse(settings, rows, weights, random)
    full_summary = summary = summarize_data(rows, weights, settings.delta, random, settings.n_clusters or 1)
    starts = settings.starts.draw(rows, summary.sample, summary.counts, random)
    summary = summary.without_gross_errors(starts[0], settings.delta, random)
    points = summary.coordinates.transform(summary.sample)
    parameters = settings.resolve(summary, points, summary.coordinates.transform(starts[0]), random)
    trial = Trial(points, summary.counts, summary.coordinates, settings)
    reference = None
    if is_kmeans(settings.starts.init):
        reference = starts[0]
        lower_beta = settings.beta is None and not parameters.cloud
        best, parameters = trial.best(starts, parameters, lower_beta=lower_beta)
        starts = [best]
    focal_sets = trial.sets(starts[0])
    return FitState(
        summary.coordinates,
        parameters,
        focal_sets,
        np.stack(starts),
        summary=full_summary,
        ordinary=summary,
        reference=reference,
    )


def sample_of(
    rows: RowDataset, weights: FloatArray | None, state: FitState, random_state: RandomSeed
) -> tuple[Features, FloatArray]:
    """Return a sample of the rows with weights: that of the summary, or the same rows drawn again."""
    random = check_random_state(random_state)
    if isinstance(rows, SparseDataset):
        return _sample_of_sparse(rows, weights, random)
    summary: DataSummary | None = state.summary
    if summary is not None and summary.sample.shape[1] == rows.n_features:
        return summary.sample, summary.counts
    return draw(rows, weights, random, state.starts.shape[1])


def _first_state_of_sparse(
    settings: PrototypeSettings, rows: SparseDataset, weights: FloatArray | None, random: np.random.RandomState
) -> FitState:
    """Return such a state for sparse rows, from a sample in a space with few dimensions."""
    sample, counts = distinct_rows(*_sample_of_sparse(rows, weights, random))
    space, starts = Isometry.of(sample), settings.starts
    prototypes = None
    if not isinstance(starts.init, str):
        assert starts.n_clusters is not None
        prototypes = check_prototypes(starts.init, starts.n_clusters, rows.n_features)
        starts = replace(starts, init=space.transform(prototypes))
    inner = replace(settings, starts=starts, random_state=random)
    state = first_state(inner, ArrayDataset(space.coordinates), counts)
    all_starts = [space.inverse_transform(start) for start in state.starts] if prototypes is None else [prototypes]
    origin = Coordinates(np.zeros(rows.n_features), state.coordinates.scale)
    return FitState(origin, state.parameters, state.focal_sets, np.stack(all_starts))


def _sample_of_sparse(
    rows: SparseDataset, weights: FloatArray | None, random: np.random.RandomState
) -> tuple[SparseBlock, FloatArray]:
    indices = np.arange(len(rows))
    if len(rows) > _SPARSE_ROWS:
        indices = np.sort(sample_without_replacement(len(rows), _SPARSE_ROWS, random_state=random))
    counts = np.ones(len(indices)) if weights is None else np.asarray(weights, dtype=np.float64)[indices]
    return rows.take(indices), counts


def check_no_remote_rows(rows: RowDataset, coordinates: Coordinates, n_jobs: int | None) -> None:
    """Raise ValueError if extreme rows would move all prototypes, because delta is infinite."""
    largest = max(rows.map(_LargestCoordinate(coordinates), n_jobs=n_jobs))
    if largest > EXTREME_RATIO:
        raise ValueError(
            f"X has values up to {largest / coordinates.scale:.3g} away from the mean of the others. "
            "With delta=inf there are no outliers, and such samples move all clusters: use delta='auto', or "
            "remove these samples."
        )


@dataclass(frozen=True)
class _LargestCoordinate:
    """Function from a block of rows to the largest absolute coordinate."""

    coordinates: Coordinates

    def __call__(self, rows: Features, weights: Any = None) -> float:
        if isinstance(rows, SparseBlock):
            return float(abs(rows.matrix).max() * self.coordinates.scale) if len(rows) else 0.0
        return float(np.abs(self.coordinates.transform(rows)).max(initial=0))
