"""Base class of clusterers with prototypes."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from evlearn.belief import FocalSets
from evlearn.blocks import RowDataset
from evlearn.cluster.centroids.adaptive import AdaptiveModel, Model
from evlearn.cluster.centroids.fit import Iterate, PrototypeFit, starts_at_kmeans
from evlearn.cluster.centroids.kmeans import kmeans_solutions
from evlearn.cluster.centroids.model import Coordinates, EuclideanModel
from evlearn.cluster.centroids.scales import ResolvedParameters
from evlearn.cluster.centroids.starts import make_prototypes
from evlearn.cluster.fit_warnings import are_coincident, warn_if_collapsed, warn_of_drift, warn_of_one_cloud
from evlearn.cluster.focal_families import SelectedSetsLike
from evlearn.cluster.missing_values import mean_with_gaps
from evlearn.cluster.row_clusterer import RowwiseClusterer
from evlearn.cluster.set_costs import SetCosts
from evlearn.mixture.missing_values import Gaps
from evlearn.storage import fields
from evlearn.utils.convergence import Trace, publish_trace
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.typing import DataLike, FloatArray, NumbersLike, PathLike, RandomSeed
from evlearn.utils.validation import check_integer, check_real, check_shape


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
    """Base class: a method defines the costs of sets (`_costs`), and its `fit` runs a `PrototypeFit`."""

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
    #: Mean squared distance of samples to all prototypes in an additional dimension.
    _mean_squared_offset = 0.0

    def _costs(self, focal_sets: FocalSets, parameters: ResolvedParameters) -> SetCosts:
        """Return the costs of sets of clusters."""
        raise NotImplementedError

    def _make_model(
        self,
        focal_sets: FocalSets,
        coordinates: Coordinates,
        parameters: ResolvedParameters,
        prototypes: FloatArray,
        metrics: Any = None,
    ) -> Model:
        return EuclideanModel(self._costs(focal_sets, parameters), coordinates, prototypes)

    def _starts(
        self, rows: RowDataset, sample: FloatArray, counts: FloatArray, random: np.random.RandomState
    ) -> list[FloatArray]:
        """Return the initial prototypes of each start, with the same number of clusters."""
        if starts_at_kmeans(self):
            return kmeans_solutions(self.n_clusters, sample, counts, random, n_init=self.n_init)
        n_init = self.n_init if isinstance(self.init, str) and self.init != "peaks" else 1
        return [make_prototypes(self.init, self.n_clusters, sample, counts, random) for _ in range(n_init)]

    def _check_parameters(self) -> None:
        check_integer("max_iter", self.max_iter, 1)
        check_real("tol", self.tol, 0)
        check_real("beta", self.beta, 1, open_low=True, or_auto=True)
        check_real("delta", self.delta, 0, open_low=True, or_auto=True, or_infinity=True)
        check_real("outlier_rate", self.outlier_rate, 0, 0.5, open_low=True)

    def _distances(self, X: Any) -> FloatArray:
        with one_blas_thread(), self._open_rows(X, reset=False) as rows:
            distances = Distances(self._model, self._known_gaps() if rows.has_gaps else None)
            values: FloatArray = self._map_rows(rows, distances, range(self._n_features_out), rows.dtype)
            return values

    def _publish_fit(self, fit: PrototypeFit, trace: Trace[Iterate], rows: RowDataset) -> Self:
        """Set the attributes of a fit, and warn of problems."""
        self._check_evidence(fit.n_samples, len(trace.state.model.prototypes))
        self._publish_model(self._with_outlier_rule(fit, trace.state.model), fit.state.parameters)
        publish_trace(self, trace, "the objective", max_iter=self.max_iter, unit=fit.unit)
        self._publish_masses(rows)
        fit.finish(trace)
        self._learn_gaps_of(rows, self.n_clusters, fit.sample_weight)
        self._warn_of_collapse(fit.state.parameters)
        self._warn_of_drift(fit)
        return self

    def _with_outlier_rule(self, fit: PrototypeFit, model: Model) -> Model:
        """Return the model with a rule for outliers, unless `delta` is a number."""
        return fit.with_outlier_rule(model, self.outlier_rate) if isinstance(self.delta, str) else model

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

    def _warn_of_collapse(self, parameters: ResolvedParameters) -> None:
        n_clusters = len(self.cluster_centers_)
        if parameters.cloud:
            warn_of_one_cloud(n_clusters)
            return
        attribute = self.__dict__.get("labels_")
        labels = attribute if isinstance(attribute, np.ndarray) else None
        warn_if_collapsed(pdist(self.cluster_centers_), labels, n_clusters, parameters.width, self._remedy)

    def _warn_of_drift(self, fit: PrototypeFit) -> None:
        parameters = fit.state.parameters
        if parameters.cloud or are_coincident(pdist(self.cluster_centers_), parameters.width):
            return  # there is another warning
        if "metrics_" not in self.__dict__:
            warn_of_drift(fit.drift(self.cluster_centers_), isinstance(self.beta, str))

    @property
    def _remedy(self) -> str:
        return "Use beta='auto'." if not isinstance(self.beta, str) else "Use fewer clusters."
