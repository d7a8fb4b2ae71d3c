"""A fit of prototypes, from data of any size to where the best descent ended."""

from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement

from evlearn.belief import FocalSets
from evlearn.blocks import ArrayRows, Rows
from evlearn.blocks.sparse import Features, SparseBlock, SparseRows
from evlearn.cluster.centroids.adaptive import AdaptiveModel
from evlearn.cluster.centroids.alternation import Alternation, Model, Point
from evlearn.cluster.centroids.fit_state import Ended, FitState
from evlearn.cluster.centroids.kmeans import squared_distances
from evlearn.cluster.centroids.model import Coordinates
from evlearn.cluster.centroids.robust_kmeans import ordinary_rows
from evlearn.cluster.centroids.scales import Chosen, Scales, is_one_cloud
from evlearn.cluster.centroids.sparse_starts import Isometry, distinct_rows
from evlearn.cluster.centroids.starts import draw, given_prototypes, typical_distance
from evlearn.cluster.centroids.trials import Trial
from evlearn.cluster.centroids.weights import check_weights, weight_unit
from evlearn.cluster.collapse import count_samples
from evlearn.cluster.focal_families import (
    SimilarityOfRows,
    choose_focal_sets,
    in_two_steps,
    mutual_neighbors,
)
from evlearn.utils.checkpoints import Checkpoint, identity_of
from evlearn.utils.convergence import Report, Trace, descend
from evlearn.utils.progress import Steps
from evlearn.utils.typing import FloatArray
from evlearn.utils.validation import REMOTE

#: Sparse rows that starts are looked for with; their products take so many squared numbers.
_SPARSE_ROWS = 1500


@dataclass(frozen=True)
class PrototypeFit:
    """A fit under way: what it is given, and what it has done so far.

    Attributes
    ----------
    method : PrototypeClusterer
        The estimator: its parameters, what sets cost, and how models are made.
    rows : Rows
        The data.
    weights : object or None
        The weights of the rows, aligned with them and divided by `unit`.
    unit : float
        What objectives are multiplied with to be those of the user's weights.
    weight : float
        The sum of the weights, divided by `unit`.
    sample_weight : ndarray of shape (n_rows,) or None
        The weights of the user.
    state : FitState
        What has been done.
    checkpoint : Checkpoint or None
        Where that is kept.
    """

    method: Any
    rows: Rows
    weights: Any
    unit: float
    weight: float
    sample_weight: FloatArray | None
    state: FitState
    checkpoint: Checkpoint | None

    @classmethod
    def begin(cls, method: Any, rows: Rows, sample_weight: Any) -> "PrototypeFit":
        """Starts, and all that is "auto"; or, if a checkpoint is there, what had been done when it was written."""
        if not isinstance(method.n_clusters, str) and len(rows) < method.n_clusters:
            raise ValueError(f"n_clusters={method.n_clusters} is more than n_samples={len(rows)}.")
        method._refuse_masses(rows, method.focal_sets)
        weights = check_weights(sample_weight, rows)
        unit = weight_unit(weights)
        if not isinstance(method.n_clusters, str):
            method._note_evidence(count_samples(len(rows), weights), method.n_clusters)
        checkpoint = None
        if method.checkpoint is not None and isinstance(rows, SparseRows):
            raise ValueError(f"checkpoint={method.checkpoint!r} needs dense features, and X is sparse; give None.")
        if method.checkpoint is not None:
            checkpoint = Checkpoint(method.checkpoint, identity_of(method, rows, sample_weight=weights))
        state = _stored_state(method, rows, checkpoint) or first_state(method, rows, weights)
        method._refuse_masses(rows, state.focal_sets)  # which are known now, also if they are "auto"
        refuse_endless(rows, state.coordinates, state.chosen.delta, method.n_jobs)
        aligned = None if weights is None else rows.align(weights / unit)
        weight = float(len(rows) if weights is None else (weights / unit).sum())
        return cls(method, rows, aligned, unit, weight, weights, state, checkpoint)

    @property
    def n_samples(self) -> float:
        """The number of samples, counted with their weights."""
        return count_samples(len(self.rows), self.sample_weight)

    @property
    def alternation(self) -> Alternation:
        """One iteration over the rows."""
        return Alternation(self.rows, self.weights, self.method.tol, self.method.n_jobs)

    def run(self) -> Trace[Point]:
        """All starts, and then, if asked for, once more with the pairs of neighbouring clusters."""
        n_left = len(self.state.starts) + in_two_steps(self.method.focal_sets) - self.state.stage
        best = None if self.state.best is None else self._resumed(self.state.best)
        # A descent of descents, so that there is one place where Ctrl-C ends both.
        stage = partial(self._next_stage, Steps(self.method.max_iter, n_left))
        found = descend(stage, Trace(best, [np.inf]), max_iter=n_left)
        if found.state is None:
            raise KeyboardInterrupt  # before anything was known
        return replace(found.state, interrupted=found.interrupted or found.converged)

    def with_outlier_rule(self, model: Model, rate: float) -> Model:
        """Return the model with the rule for outliers, learned from a sample of the rows."""
        return model.learn_outliers(*sample_of(self.rows, self.sample_weight, self.state, self.method), rate)

    def drift(self, prototypes: FloatArray) -> float:
        """Return the sum of squared distances to the nearest prototype, relative to that of k-means.

        Gross errors do not count. It is 1 if prototypes did not start at k-means, or if the fit was resumed.
        """
        sight, reference = self.state.sight, self.state.reference
        if sight is None or reference is None:
            return 1.0
        ordinary = ordinary_rows(sight.sample, sight.counts, reference)
        rows, counts = sight.sample[ordinary], sight.counts[ordinary]
        total, smallest = (
            float(counts @ squared_distances(rows, places).min(axis=1)) for places in (prototypes, reference)
        )
        return total / smallest if smallest > 0 else 1.0

    def end(self, trace: Trace[Point]) -> None:
        """Forget the checkpoint, once everything that was asked for is there."""
        if self.checkpoint is not None and not trace.interrupted:
            self.checkpoint.remove()

    def _next_stage(self, tell: Report, best: Trace[Point] | None) -> tuple[Trace[Point], float, bool]:
        """The descent whose turn it is, and whether the user stopped it."""
        state, method, alternation = self.state, self.method, self.alternation
        pairs = state.stage == len(state.starts)
        if state.current is not None:
            begun = self._resumed(state.current)
        elif pairs:
            assert best is not None
            begun = alternation.trace(self._with_pairs(best.state.model))
        else:
            begun = alternation.trace(first_model(method, state))
        history = list(begun.history)

        def step(point: Point) -> tuple[Point, float, bool]:
            after, objective, settled = alternation.step(point)
            history.append(objective)
            if self.checkpoint is not None and not settled:
                state.current = Ended(after.model, history)
                self.checkpoint.save(state.to_arrays())
            return after, objective, settled

        def report(number: int, objective: float) -> None:
            tell(number, objective * self.unit)

        report(begun.n_iter, begun.objective)
        end = descend(step, begun, max_iter=method.max_iter, report=report)
        if best is None or pairs or end.objective < best.objective:
            best = end
        state.best = Ended(best.state.model, best.history, best.converged)
        state.current, state.stage = None, state.stage + 1
        return best, best.objective, end.interrupted

    def _resumed(self, ended: Ended) -> Trace[Point]:
        return replace(self.alternation.trace(ended.model, ended.history), converged=ended.converged)

    def _with_pairs(self, model: Model) -> Model:
        """The best model so far, with the pairs of clusters that share samples."""
        shares = self.rows.add(SimilarityOfRows(model), self.weights, n_jobs=self.method.n_jobs)
        pairs = mutual_neighbors(shares, self.method.n_pair_neighbors)
        larger = model.costs.focal_sets.with_sets(pairs)
        metrics = model.metrics if isinstance(model, AdaptiveModel) else None
        state = self.state
        made: Model = self.method._make_model(larger, state.coordinates, state.chosen, model.prototypes, metrics)
        return made


class Sight(NamedTuple):
    """What a first look at the data gives: a sample, how much its rows count, coordinates and `delta`."""

    sample: FloatArray
    counts: FloatArray
    coordinates: Coordinates
    delta: float

    def without_errors(self, prototypes: FloatArray, delta: Any, random: np.random.RandomState) -> "Sight":
        """Return the same without rows that are far from all prototypes, which would decide on scales."""
        ordinary = ordinary_rows(self.sample, self.counts, prototypes)
        if ordinary.all():
            return self
        return _sight_of(self.sample[ordinary], self.counts[ordinary], delta, random)


def look_at(rows: Rows, weights: Any, delta: Any, random: np.random.RandomState, n_clusters: int = 1) -> Sight:
    """A first look at the data, at the more of them the more clusters there are."""
    return _sight_of(*draw(rows, weights, random, n_clusters), delta, random)


def _sight_of(sample: FloatArray, counts: FloatArray, delta: Any, random: np.random.RandomState) -> Sight:
    distance = typical_distance(sample, counts, random) if isinstance(delta, str) else float(delta)
    return Sight(sample, counts, Coordinates.of(sample), distance)


def first_state(method: Any, rows: Rows, weights: FloatArray | None) -> FitState:
    """Starts, and all that is "auto"."""
    random = check_random_state(method.random_state)
    if isinstance(rows, SparseRows):
        return _state_of_sparse(method, rows, weights, random)
    n_clusters = 1 if isinstance(method.n_clusters, str) else method.n_clusters
    whole = seen = look_at(rows, weights, method.delta, random, n_clusters)
    starts = method._starts(rows, seen.sample, seen.counts, random)
    seen = seen.without_errors(starts[0], method.delta, random)
    inside = seen.coordinates.enter(seen.sample)
    chosen = _choose(method, seen, inside, seen.coordinates.enter(starts[0]), random)
    trial = Trial(inside, seen.counts, seen.coordinates, method._make_model, partial(_sets_of, method))
    reference = None
    if from_kmeans(method):
        reference = starts[0]
        lower_beta = isinstance(method.beta, str) and not chosen.cloud
        best, chosen = trial.best(starts, chosen, lower_beta=lower_beta)
        starts = [best]
    sets = trial.sets(starts[0])
    return FitState(seen.coordinates, chosen, sets, np.stack(starts), sight=whole, reference=reference)


def sample_of(rows: Rows, weights: FloatArray | None, state: FitState, method: Any) -> tuple[Features, FloatArray]:
    """Return some rows and their weights: those of the first look at the data, or the same drawn again."""
    random = check_random_state(method.random_state)
    if isinstance(rows, SparseRows):
        chosen = np.arange(len(rows))
        if len(rows) > _SPARSE_ROWS:
            chosen = np.sort(sample_without_replacement(len(rows), _SPARSE_ROWS, random_state=random))
        return rows.take(chosen), np.ones(len(chosen)) if weights is None else weights[chosen]
    sight: Sight | None = state.sight
    if sight is not None and sight.sample.shape[1] == rows.n_features:
        return sight.sample, sight.counts
    return draw(rows, weights, random, state.starts.shape[1])


def _state_of_sparse(
    method: Any, rows: SparseRows, weights: FloatArray | None, random: np.random.RandomState
) -> FitState:
    """The same, of some rows in a space of few dimensions."""
    chosen = np.arange(len(rows))
    if len(rows) > _SPARSE_ROWS:
        chosen = np.sort(sample_without_replacement(len(rows), _SPARSE_ROWS, random_state=random))
    counts = np.ones(len(chosen)) if weights is None else np.asarray(weights, dtype=np.float64)[chosen]
    sample, times = distinct_rows(rows.take(chosen), counts)
    space = Isometry.of(sample)
    inner = copy(method)
    inner.random_state = random
    if not isinstance(method.init, str):
        given = given_prototypes(method.init, method.n_clusters, rows.n_features)
        inner.init = space.enter(given)
    found = first_state(inner, ArrayRows(space.coordinates), times)
    starts = np.stack([space.leave(one) for one in found.starts]) if isinstance(method.init, str) else given[None]
    origin = Coordinates(np.zeros(rows.n_features), found.coordinates.scale)
    return FitState(origin, found.chosen, found.focal_sets, starts)


def first_model(method: Any, state: FitState) -> Model:
    """The prototypes of the start whose turn it is."""
    prototypes = state.coordinates.enter(state.starts[state.stage])
    made: Model = method._make_model(state.focal_sets, state.coordinates, state.chosen, prototypes)
    return made


def from_kmeans(method: Any) -> bool:
    """Whether prototypes start at solutions of k-means."""
    return isinstance(method.init, str) and method.init == "kmeans"


def refuse_endless(rows: Rows, coordinates: Coordinates, delta: float, n_jobs: int | None) -> None:
    """Raise if there are remote rows and no empty set to take them: they would drag all prototypes along."""
    if np.isfinite(delta):
        return
    farthest = max(rows.map(_Farthest(coordinates), n_jobs=n_jobs))
    if farthest > REMOTE:
        raise ValueError(
            f"X has values that are up to {farthest / coordinates.scale:.3g} away from the mean of the others, "
            "and delta=inf leaves no room for outliers, which would drag all clusters along: give delta='auto', "
            "or remove these samples."
        )


def _stored_state(method: Any, rows: Rows, checkpoint: Checkpoint | None) -> FitState | None:
    if checkpoint is None:
        return None
    n_clusters = None if isinstance(method.n_clusters, str) else method.n_clusters
    return checkpoint.load(partial(FitState.from_arrays, method._make_model, n_clusters, rows.n_features))


def _choose(
    method: Any, seen: Sight, inside: FloatArray, prototypes: FloatArray, random: np.random.RandomState
) -> Chosen:
    """The parameters as they are given, or as the data decide."""
    beyond = method._beyond * seen.coordinates.scale**2
    scales = Scales.of(inside, seen.counts, prototypes, beyond=beyond)
    cloud = isinstance(method.beta, str) and is_one_cloud(inside, seen.counts, len(prototypes), random)
    chosen = scales.choose(seen.delta, method.beta, getattr(method, "alpha", 1.0), cloud=cloud)
    return chosen._replace(width=chosen.width / seen.coordinates.scale)


def _sets_of(method: Any, prototypes: FloatArray, sample: FloatArray, counts: FloatArray) -> FocalSets:
    squares = squared_distances(sample, prototypes)
    family = choose_focal_sets(method.focal_sets, squares, counts, include_omega=method.include_omega)
    room: FocalSets = method._room_for_ignorance(family)
    return room


@dataclass(frozen=True)
class _Farthest:
    """From a block of rows to the largest of its coordinates."""

    coordinates: Coordinates

    def __call__(self, rows: Features, weights: Any = None) -> float:
        if isinstance(rows, SparseBlock):
            return float(abs(rows.matrix).max() * self.coordinates.scale) if len(rows) else 0.0
        return float(np.abs(self.coordinates.enter(rows)).max(initial=0))
