"""What methods with prototypes share: data of any size in, prototypes out, and masses where they are wanted."""

from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.utils import check_random_state

from evlearn.belief import FocalSets
from evlearn.blocks import Rows
from evlearn.blocks.open import is_elsewhere
from evlearn.blocks.targets import check_out
from evlearn.cluster.centroids.adaptive import AdaptiveModel
from evlearn.cluster.centroids.alternation import Descent, Model, descend
from evlearn.cluster.centroids.fit_state import Progress
from evlearn.cluster.centroids.model import Coordinates, EuclideanModel
from evlearn.cluster.centroids.scales import Chosen, Scales, is_one_cloud
from evlearn.cluster.centroids.starts import draw, squared_distances, typical_distance
from evlearn.cluster.centroids.trials import Trial
from evlearn.cluster.collapse import warn_if_collapsed, warn_of_one_cloud
from evlearn.cluster.focal_families import (
    choose_focal_sets,
    cluster_similarity,
    neighbor_pairs,
    refuse_too_many_sets,
)
from evlearn.cluster.rowwise import RowwiseClusterer
from evlearn.cluster.set_costs import SetCosts
from evlearn.partition import CredalPartition
from evlearn.utils.checkpoints import Checkpoint, identity_of
from evlearn.utils.convergence import warn_if_unfinished
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.typing import FloatArray
from evlearn.utils.validation import REMOTE, check_flag, check_integer, check_real

# Between these, sums of weights are safe in single precision too.
_LIGHT, _HEAVY = 1e-6, 1e6


class PrototypeClusterer(RowwiseClusterer):
    """Base class: a method says what sets of clusters cost (`_costs`), and all else follows."""

    _predicts_its_fit = True

    # The fit

    def _fit(self, X: Any, sample_weight: Any) -> None:
        self._check_parameters()
        check_out(self.masses_file, "masses_file")
        with one_blas_thread(), self._opened(X, reset=True) as rows:
            weights = check_weights(sample_weight, rows)
            checkpoint = self._open_checkpoint(rows, weights)
            unit = weight_unit(weights)
            aligned = None if weights is None else rows.align(weights / unit)
            progress = self._begin(rows, weights, checkpoint)
            refuse_endless(rows, progress.coordinates, progress.chosen.delta, self.n_jobs)
            state = self._run(rows, aligned, progress, checkpoint, unit)
            self._finish(state, progress.chosen, unit)
            self._publish_masses(rows)
            self._warn_of_collapse(progress.chosen)
            if checkpoint is not None and not state.interrupted:
                checkpoint.remove()
        if not is_elsewhere(X):
            self._name_objects(X)

    # The problem

    def _costs(self, focal_sets: FocalSets, chosen: Chosen) -> SetCosts:
        """What sets of clusters cost."""
        raise NotImplementedError

    def _make_model(
        self,
        focal_sets: FocalSets,
        coordinates: Coordinates,
        chosen: Chosen,
        prototypes: FloatArray,
        metrics: Any = None,
    ) -> Model:
        return EuclideanModel(self._costs(focal_sets, chosen), coordinates, prototypes)

    @property
    def _in_two_steps(self) -> bool:
        return isinstance(self.focal_sets, str) and self.focal_sets == "neighbor_pairs"

    def _check_parameters(self) -> None:
        check_integer("n_pair_neighbors", self.n_pair_neighbors, 1)
        check_integer("max_iter", self.max_iter, 1)
        check_flag("include_omega", self.include_omega)
        check_real("tol", self.tol, 0)
        check_real("beta", self.beta, 1, open_low=True, or_auto=True)
        check_real("delta", self.delta, 0, open_low=True, or_auto=True, or_infinity=True)

    def _begin(self, rows: Rows, weights: FloatArray | None, checkpoint: Checkpoint | None) -> Progress:
        """Scales and starts; or, after an end that was not one, what had been done."""
        if checkpoint is not None:
            n_clusters = None if isinstance(self.n_clusters, str) else self.n_clusters
            read = partial(Progress.from_arrays, self._make_model, n_clusters, rows.n_features)
            stored = checkpoint.load(read)
            if stored is not None:
                return stored
        random = check_random_state(self.random_state)
        sample, counts = draw(rows, weights, random)
        coordinates = Coordinates.of(sample)
        delta = typical_distance(sample, counts, random) if isinstance(self.delta, str) else float(self.delta)
        starts = self._starts(rows, sample, counts, random)
        if self.masses_file is None and rows.in_memory:
            refuse_too_many_sets(self.focal_sets, len(starts[0]), rows)
        inside = coordinates.enter(sample)
        chosen = self._choose(inside, counts, coordinates, coordinates.enter(starts[0]), delta, random)
        trial = Trial(inside, counts, coordinates, self._make_model, self._sets_of)
        if self._from_kmeans:
            best, chosen = trial.best(starts, chosen, lower_beta=isinstance(self.beta, str) and not chosen.cloud)
            starts = [best]
        return Progress(coordinates, chosen, trial.sets(starts[0]), np.stack(starts))

    def _choose(
        self,
        sample: FloatArray,
        counts: FloatArray,
        coordinates: Coordinates,
        prototypes: FloatArray,
        delta: float,
        random: np.random.RandomState,
    ) -> Chosen:
        """The parameters as they are given, or as the data decide."""
        scales = Scales.of(sample, counts, prototypes)
        cloud = isinstance(self.beta, str) and is_one_cloud(sample, counts, len(prototypes), random)
        chosen = scales.choose(delta, self.beta, getattr(self, "alpha", 1.0), cloud=cloud)
        return chosen._replace(width=chosen.width / coordinates.scale)

    @property
    def _from_kmeans(self) -> bool:
        return isinstance(self.init, str) and self.init == "kmeans"

    def _sets_of(self, prototypes: FloatArray, sample: FloatArray, counts: FloatArray) -> FocalSets:
        squares = squared_distances(sample, prototypes)
        return choose_focal_sets(self.focal_sets, squares, counts, include_omega=self.include_omega)

    def _starts(
        self, rows: Rows, sample: FloatArray, counts: FloatArray, random: np.random.RandomState
    ) -> list[FloatArray]:
        """The prototypes of each start, of the same number of clusters."""
        raise NotImplementedError

    def _first_model(self, progress: Progress) -> Model:
        prototypes = progress.coordinates.enter(progress.starts[progress.stage])
        return self._make_model(progress.focal_sets, progress.coordinates, progress.chosen, prototypes)

    def _open_checkpoint(self, rows: Rows, weights: FloatArray | None) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        return Checkpoint(self.checkpoint, identity_of(self, rows, sample_weight=weights))

    # The descent

    def _run(
        self, rows: Rows, weights: Any, progress: Progress, checkpoint: Checkpoint | None, unit: float
    ) -> Descent:
        """All starts, and then, if asked for, once more with the pairs of neighbouring clusters."""

        def watch(state: Descent) -> None:
            progress.current = state
            if self.verbose:
                self._report(len(state.history) - 1, state.objective * unit)
            if checkpoint is not None:
                checkpoint.save(progress.to_arrays())

        n_stages = len(progress.starts) + self._in_two_steps
        while progress.stage < n_stages:
            try:
                if progress.current is None:
                    two = progress.stage == len(progress.starts)
                    progress.current = Descent(
                        self._with_pairs(rows, weights, progress) if two else self._first_model(progress)
                    )
                state = descend(
                    rows,
                    progress.current,
                    weights,
                    tol=self.tol,
                    max_iter=self.max_iter,
                    n_jobs=self.n_jobs,
                    watch=watch,
                )
                if not state.history:
                    raise KeyboardInterrupt
            except KeyboardInterrupt:  # before anything was known of this descent
                if progress.best is None:
                    raise
                return replace(progress.best, interrupted=True)
            two = progress.stage == len(progress.starts)
            if progress.best is None or two or state.objective < progress.best.objective:
                progress.best = state
            progress.current, progress.stage = None, progress.stage + 1
            if state.interrupted:
                return replace(progress.best, interrupted=True)
        assert progress.best is not None
        return progress.best

    def _with_pairs(self, rows: Rows, weights: Any, progress: Progress) -> Model:
        """The best model so far, with the pairs of clusters that share objects."""
        assert progress.best is not None
        model = progress.best.model
        shares = rows.map(_Similarity(model), weights, n_jobs=self.n_jobs)
        larger = model.costs.focal_sets.with_sets(neighbor_pairs(reduce(add, shares), self.n_pair_neighbors))
        metrics = model.metrics if isinstance(model, AdaptiveModel) else None
        return self._make_model(larger, progress.coordinates, progress.chosen, model.prototypes, metrics)

    # The result

    def _finish(self, state: Descent, chosen: Chosen, unit: float) -> None:
        self._model = state.model
        for name in ("_statistics", "_seen_weight", "n_samples_seen_"):
            self.__dict__.pop(name, None)
        self.focal_sets_ = state.model.costs.focal_sets
        self._publish_prototypes()
        self._publish_chosen(chosen)
        self.objective_ = state.objective * unit
        with np.errstate(over="ignore"):
            self.objective_history_ = np.array(state.history) * unit
        self.n_iter_ = len(state.history) - 1
        self.converged_ = state.converged
        warn_if_unfinished(state, self.n_iter_, self.max_iter, "the objective")

    def _publish_prototypes(self) -> None:
        self.cluster_centers_ = self._model.centers
        self.__dict__.pop("metrics_", None)  # of an earlier fit
        if isinstance(self._model, AdaptiveModel):
            self.metrics_ = self._model.metrics

    def _publish_chosen(self, chosen: Chosen) -> None:
        self.delta_, self.beta_ = chosen.delta, chosen.beta
        if hasattr(self, "alpha"):
            self.alpha_ = chosen.alpha

    def _warn_of_collapse(self, chosen: Chosen) -> None:
        n_clusters = len(self.cluster_centers_)
        if chosen.cloud:
            warn_of_one_cloud(n_clusters)
            return
        labels = self.__dict__.get("labels_")
        known = labels if isinstance(labels, np.ndarray) else None
        warn_if_collapsed(pdist(self.cluster_centers_), known, n_clusters, chosen.width, self._remedy)

    @property
    def _remedy(self) -> str:
        return "Give beta='auto'." if not isinstance(self.beta, str) else "Take fewer clusters."

    def _report(self, iteration: int, objective: float) -> None:
        print(f"{type(self).__name__} iteration {iteration:>4}   objective {objective:.9g}", flush=True)


@dataclass(frozen=True)
class _Similarity:
    """From a block of rows to how much clusters share its objects."""

    model: Model

    def __call__(self, rows: FloatArray, weights: Any = None) -> FloatArray:
        partition = CredalPartition(self.model.assign(rows), self.model.costs.focal_sets, validate=False)
        return cluster_similarity(partition, weights)


@dataclass(frozen=True)
class _Farthest:
    """From a block of rows to the largest of its coordinates."""

    coordinates: Coordinates

    def __call__(self, rows: FloatArray, weights: Any = None) -> float:
        return float(np.abs(self.coordinates.enter(rows)).max(initial=0))


def refuse_endless(rows: Rows, coordinates: Coordinates, delta: float, n_jobs: int | None) -> None:
    """Raise if there are remote rows and no empty set to take them: they would drag all prototypes along.

    Parameters
    ----------
    rows : Rows
        The data.
    coordinates : Coordinates
        Where models live.
    delta : float
        The distance to the empty set.
    n_jobs : int or None
        How many workers.
    """
    if np.isfinite(delta):
        return
    farthest = max(rows.map(_Farthest(coordinates), n_jobs=n_jobs))
    if farthest > REMOTE:
        raise ValueError(
            f"X has values that are up to {farthest / coordinates.scale:.3g} away from the mean of the others, "
            "and delta=inf leaves no room for outliers, which would drag all clusters along: give delta='auto', "
            "or remove these samples."
        )


def check_weights(weights: Any, rows: Rows) -> Any:
    """Weights of rows as an array, or an error that says what is wrong with them.

    Parameters
    ----------
    weights : array-like of shape (n_rows,), float or None
        What the user gave.
    rows : Rows
        The rows.

    Returns
    -------
    ndarray of shape (n_rows,) or None
        The weights.
    """
    if weights is None:
        return None
    if hasattr(weights, "__dask_graph__"):
        weights = weights.compute()
    try:
        array = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must be numbers, got {weights!r}.") from error
    if array.ndim == 0:
        array = np.full(len(rows), float(array))
    if array.shape != (len(rows),):
        raise ValueError(f"sample_weight must be 1D with shape {(len(rows),)}, got {array.shape}.")
    if not np.isfinite(array).all() or (array < 0).any() or not array.any():
        raise ValueError("sample_weight must be finite numbers that are not negative and not all zero.")
    return array


def weight_unit(weights: FloatArray | None) -> float:
    """What weights are divided by before anything is summed: 1, unless they are too small or large for that.

    Parameters
    ----------
    weights : ndarray of shape (n_rows,) or None
        The weights.

    Returns
    -------
    float
        A power of two, so that dividing rounds nothing.
    """
    heaviest = 1.0 if weights is None else float(weights.max())
    return 1.0 if _LIGHT < heaviest < _HEAVY else float(2.0 ** np.floor(np.log2(heaviest)))
