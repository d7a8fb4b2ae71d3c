"""Base class of clusterers with prototypes."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Self

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from evlearn.belief import FocalSets
from evlearn.blocks import RowDataset
from evlearn.blocks.dataset import check_weights
from evlearn.blocks.sparse import SparseDataset
from evlearn.cluster.centroids.adaptive import AdaptiveModel, Model
from evlearn.cluster.centroids.fit import (
    FittedPrototypes,
    PrototypeFit,
    PrototypeSettings,
)
from evlearn.cluster.centroids.model import EuclideanModel
from evlearn.cluster.centroids.scales import ResolvedParameters, ecm_costs, number_or_none
from evlearn.cluster.centroids.starts import Starts
from evlearn.cluster.fit_warnings import (
    are_coincident,
    count_samples,
    warn_if_collapsed,
    warn_of_drift,
    warn_of_one_cloud,
)
from evlearn.cluster.focal_families import SelectedSetsLike, kind_of
from evlearn.cluster.missing_values import mean_with_gaps
from evlearn.cluster.row_clusterer import OF_TRAINING_SAMPLES, RowwiseClusterer, SparseAssignment
from evlearn.cluster.set_costs import SetCosts
from evlearn.mixture.missing_values import Gaps
from evlearn.partition import CredalPartition
from evlearn.storage import fields
from evlearn.storage.checkpoints import Checkpoint, identity_of
from evlearn.utils.convergence import publish_trace
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.sparse_rows import MIN_COLUMNS
from evlearn.utils.typing import DataLike, FloatArray, IntArray, NumbersLike, PathLike, RandomSeed
from evlearn.utils.validation import check_real, check_shape

#: Number of rows from which the memory of sparse masses is estimated.
_SAMPLE_ROWS = 256


class DistanceFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Mixin of clusterers with prototypes; `_distances` returns the distances of samples to them."""

    _model: fields.Stored[EuclideanModel | AdaptiveModel]
    delta_: fields.Stored[fields.NonnegativeExtendedNumber]
    metrics_: fields.StoredIfSet[Annotated[FloatArray, fields.array(3)]]
    alpha_: fields.StoredIfSet[fields.NonnegativeNumber]
    beta_: fields.StoredIfSet[Annotated[float, fields.number(1)]]
    neighbor_share_: fields.StoredIfSet[fields.Fraction]
    penalty_: fields.StoredIfSet[fields.ExtendedNumber]
    n_clusters_: fields.StoredIfSet[fields.PositiveCount]

    cluster_centers_: fields.Stored[fields.Matrix]

    def transform(self, X: DataLike) -> FloatArray:
        """Compute the distances of samples to the prototypes, as features for other estimators.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples; any kind of data that `fit` accepts.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            Distance to each cluster; with ``metric="adaptive"``, in the metric of that cluster. For samples with
            missing values, mean distance over their completions.
        """
        check_is_fitted(self)
        return self._distances(X)

    def _distances(self, X: Any) -> FloatArray:
        raise NotImplementedError

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def _after_loading(self) -> None:
        """Raise unless the attributes from a file are consistent."""
        super()._after_loading()  # type: ignore[misc]
        model = self._model
        fields.check_features(self, model.n_features)
        n_clusters, n_features = model.prototypes.shape
        check_shape("cluster_centers_", self.__dict__.get("cluster_centers_"), (n_clusters, n_features))
        check_shape("metrics_", self.__dict__.get("metrics_"), (n_clusters, n_features, n_features))
        fields.check_count(self, "n_clusters_", n_clusters)


@dataclass(frozen=True)
class Distances:
    """Function from a block of rows to distances to the prototypes; missing values require `gaps`."""

    model: Any
    gaps: Gaps | None

    def __call__(self, rows: Any, weights: Any = None) -> FloatArray:
        """Return the distances of rows."""
        if self.gaps is None:
            return np.asarray(self.model.distances(rows))
        return mean_with_gaps(self.gaps, rows, self.model.distances)


class PrototypeClusterer(DistanceFeatures, RowwiseClusterer):
    """Base class: a method defines the costs of sets (`_costs`), and its `fit` calls `_fit`."""

    n_clusters: Any  # int, or "auto" for BPEC
    focal_sets: SelectedSetsLike
    beta: float | Literal["auto"]
    delta: float | Literal["auto"]
    outlier_rate: float
    init: str | NumbersLike
    n_init: int
    max_iter: int
    tol: float
    random_state: RandomSeed
    checkpoint: PathLike | None
    verbose: int

    _predicts_its_fit = True
    #: Whether the set of all clusters is a focal set by default.
    _include_omega = True
    #: Whether prototypes do not move.
    _has_fixed_prototypes = False

    @property
    def _costs(self) -> Callable[[FocalSets, ResolvedParameters], SetCosts]:
        """Function from focal sets and parameters to the costs of the sets."""
        return ecm_costs

    @property
    def _starts(self) -> Starts:
        """Initial prototypes."""
        return Starts(self.init, self.n_clusters, self.n_init)

    def _settings(self) -> PrototypeSettings:
        """Return the settings of a fit, with None for "auto"."""
        return PrototypeSettings(
            n_clusters=None if isinstance(self.n_clusters, str) else self.n_clusters,
            focal_sets=self.focal_sets,
            include_omega=self._include_omega,
            add_omega=self._needs_omega,
            alpha=number_or_none(getattr(self, "alpha", 1.0)),
            beta=number_or_none(self.beta),
            delta=number_or_none(self.delta),
            outlier_rate=self.outlier_rate if isinstance(self.delta, str) else None,
            starts=self._starts,
            costs=self._costs,
            metric=getattr(self, "metric", "euclidean"),
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            fixed=self._has_fixed_prototypes,
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_real("outlier_rate", self.outlier_rate, 0, 0.5, open_low=True)

    def _distances(self, X: Any) -> FloatArray:
        with one_blas_thread(), self._open_rows(X, reset=False) as rows:
            distances = Distances(self._model, self._known_gaps() if rows.has_gaps else None)
            values: FloatArray = self._map_rows(rows, distances, range(self._n_features_out), rows.dtype)
            return values

    def _fit(self, X: Any, sample_weight: Any) -> Self:
        """Fit the estimator, after its parameters were checked."""
        self._check_masses()
        with one_blas_thread(), self._open_rows(X, reset=True) as rows:
            fit = self._begin(rows, sample_weight)
            fitted = fit.run()
            self._publish_fit(fitted, rows)
            if fit.checkpoint is not None and not fitted.trace.interrupted:
                fit.checkpoint.remove()
            self._warn_of_collapse(fitted.parameters)
            self._warn_of_drift(fitted)
        self._name_samples(X)
        return self

    def _begin(self, rows: RowDataset, sample_weight: Any, **changes: Any) -> PrototypeFit:
        """Return a fit to complete rows, with changes of its settings."""
        has_number = not isinstance(self.n_clusters, str)
        if has_number and len(rows) < self.n_clusters:
            raise ValueError(f"n_clusters={self.n_clusters} is more than n_samples={len(rows)}.")
        if kind_of(self.focal_sets) not in ("auto", "neighbor_pairs"):
            self._refuse_masses(rows, self.focal_sets)
        weights = check_weights(sample_weight, rows)
        if has_number:
            self._note_evidence(count_samples(len(rows), weights), self.n_clusters)
        checkpoint = None if self.checkpoint is None else self._open_checkpoint(rows, weights)
        fit = PrototypeFit.begin(replace(self._settings(), **changes), rows, weights, checkpoint)
        focal_sets = fit.state.focal_sets  # they are resolved now, also if they are "auto"
        self._refuse_masses(rows, focal_sets, None if len(focal_sets) < MIN_COLUMNS else _row_bytes(fit))
        return fit

    def _open_checkpoint(self, rows: RowDataset, weights: FloatArray | None) -> Checkpoint:
        assert self.checkpoint is not None
        if isinstance(rows, SparseDataset):
            raise ValueError(f"checkpoint={self.checkpoint!r} needs dense features, but X is sparse; use None.")
        return Checkpoint(self.checkpoint, identity_of(self, rows, sample_weight=weights))

    def _publish_fit(self, fitted: FittedPrototypes, rows: RowDataset) -> None:
        """Set the attributes of a fit."""
        n_samples = count_samples(len(rows), fitted.sample_weight)
        self._check_evidence(n_samples, len(fitted.model.prototypes))
        self._publish_model(fitted.model, fitted.parameters)
        publish_trace(self, fitted.trace, "the objective", max_iter=self.max_iter, unit=fitted.unit)
        self._publish_masses(rows)
        self._learn_gaps_of(rows, self.n_clusters, fitted.sample_weight)

    def _publish_model(self, model: Model, parameters: ResolvedParameters) -> None:
        self._model = model
        self.focal_sets_ = model.costs.focal_sets
        self.cluster_centers_ = model.centers
        self.__dict__.pop("metrics_", None)  # of an earlier fit
        if isinstance(model, AdaptiveModel):
            self.metrics_ = model.metrics
        self.delta_, self.beta_ = parameters.delta, parameters.beta
        if hasattr(self, "alpha"):
            self.alpha_ = parameters.alpha

    def _renumber(self, numbers: IntArray, frame: int | Sequence[str]) -> Self:
        """Return a copy on a frame in which cluster k has the number ``numbers[k]``, see `ClusterTracking`."""
        check_is_fitted(self)
        model: Model = self._model
        copied = copy.copy(self)
        copied._model = renumbered = model.renumber(numbers, frame)
        copied.focal_sets_, copied.cluster_centers_ = renumbered.focal_sets, renumbered.centers
        if isinstance(renumbered, AdaptiveModel):
            copied.metrics_ = renumbered.metrics
        if "n_clusters_" in self.__dict__:
            copied.n_clusters_ = len(renumbered.prototypes)
        statistics = self.__dict__.get("_statistics")
        if statistics is not None:
            copied.__dict__["_statistics"] = statistics.renumber(model.focal_sets, renumbered.focal_sets, numbers)
            if len(renumbered.prototypes) > (numbers >= 0).sum():
                copied.__dict__["_warmup_buffer"] = None  # another fit would not have the missing numbers
        for name in OF_TRAINING_SAMPLES:
            copied.__dict__.pop(name, None)
        copied._no_masses = "the model was renumbered"
        return copied

    def _warn_of_collapse(self, parameters: ResolvedParameters) -> None:
        n_clusters = len(self.cluster_centers_)
        if parameters.cloud:
            warn_of_one_cloud(n_clusters)
            return
        attribute = self.__dict__.get("labels_")
        labels = attribute if isinstance(attribute, np.ndarray) else None
        remedy = "Use fewer clusters." if isinstance(self.beta, str) else "Use beta='auto'."
        warn_if_collapsed(pdist(self.cluster_centers_), labels, n_clusters, parameters.width, remedy)

    def _warn_of_drift(self, fitted: FittedPrototypes) -> None:
        parameters = fitted.parameters
        if parameters.cloud or are_coincident(pdist(self.cluster_centers_), parameters.width):
            return  # there is another warning
        if "metrics_" not in self.__dict__:
            warn_of_drift(fitted.drift(), isinstance(self.beta, str))


def _row_bytes(fit: PrototypeFit) -> float:
    """Return the mean number of bytes of the masses of a row, from a sample at the first prototypes."""
    state, n_rows = fit.state, min(len(fit.rows), _SAMPLE_ROWS)
    prototypes = state.coordinates.transform(state.starts[0])
    model = fit.settings.make_model(state.focal_sets, state.coordinates, state.parameters, prototypes)
    sample = fit.rows.take(np.linspace(0, len(fit.rows) - 1, n_rows).astype(np.intp))
    n_bytes = CredalPartition(SparseAssignment(model)(sample), state.focal_sets, validate=False).mass_table.nbytes
    return float(n_bytes / n_rows)
