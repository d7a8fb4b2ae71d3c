"""What methods with prototypes share: how models are made, where they start, and what a fit publishes."""

from typing import Any, Literal, Self

import numpy as np
from scipy.spatial.distance import pdist

from evlearn.belief import FocalSets
from evlearn.belief.focal_sets import FocalSetsLike
from evlearn.blocks import Rows
from evlearn.cluster.centroids.adaptive import AdaptiveModel
from evlearn.cluster.centroids.alternation import Model, Point
from evlearn.cluster.centroids.distances import DistanceFeatures, Distances
from evlearn.cluster.centroids.fit import PrototypeFit, from_kmeans
from evlearn.cluster.centroids.model import Coordinates, EuclideanModel
from evlearn.cluster.centroids.robust_kmeans import kmeans_solutions
from evlearn.cluster.centroids.scales import Chosen
from evlearn.cluster.centroids.starts import make_prototypes
from evlearn.cluster.collapse import are_coincident, warn_if_collapsed, warn_of_drift, warn_of_one_cloud
from evlearn.cluster.rowwise import RowwiseClusterer
from evlearn.cluster.set_costs import SetCosts
from evlearn.utils.convergence import Trace, publish_trace
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.typing import FloatArray, NumbersLike, PathLike, RandomSeed
from evlearn.utils.validation import check_flag, check_integer, check_real


class PrototypeClusterer(DistanceFeatures, RowwiseClusterer):
    """Base class: a method says what sets of clusters cost (`_costs`), and its `fit` is a `PrototypeFit`."""

    n_clusters: Any  # a number; BPEC takes a word too
    focal_sets: Literal["auto", "full", "pairs", "simple", "neighbor_pairs"] | FocalSetsLike
    include_omega: bool
    n_pair_neighbors: int
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
    #: The mean squared distance that samples have to all prototypes, besides.
    _beyond = 0.0

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

    def _starts(
        self, rows: Rows, sample: FloatArray, counts: FloatArray, random: np.random.RandomState
    ) -> list[FloatArray]:
        """The prototypes of each start, of the same number of clusters."""
        if from_kmeans(self):
            return kmeans_solutions(self.n_clusters, sample, counts, random, n_init=self.n_init)
        n_init = self.n_init if isinstance(self.init, str) and self.init != "peaks" else 1
        return [make_prototypes(self.init, self.n_clusters, sample, counts, random) for _ in range(n_init)]

    def _check_parameters(self) -> None:
        check_integer("n_pair_neighbors", self.n_pair_neighbors, 1)
        check_integer("max_iter", self.max_iter, 1)
        check_flag("include_omega", self.include_omega)
        check_real("tol", self.tol, 0)
        check_real("beta", self.beta, 1, open_low=True, or_auto=True)
        check_real("delta", self.delta, 0, open_low=True, or_auto=True, or_infinity=True)
        check_real("outlier_rate", self.outlier_rate, 0, 0.5, open_low=True)

    def _distances(self, X: Any) -> FloatArray:
        with one_blas_thread(), self._opened(X, reset=False) as rows:
            distances = Distances(self._model, self._known_gaps() if rows.has_gaps else None)
            found: FloatArray = self._mapped(rows, distances, range(self._n_features_out), rows.dtype)
            return found

    def _publish_fit(self, fit: PrototypeFit, trace: Trace[Point], rows: Rows) -> Self:
        """Everything that a fit has learned, and what the user should know about it."""
        self._check_evidence(fit.n_samples, len(trace.state.model.prototypes))
        self._publish_model(self._with_outlier_rule(fit, trace.state.model), fit.state.chosen)
        publish_trace(self, trace, "the objective", max_iter=self.max_iter, unit=fit.unit)
        self._publish_masses(rows)
        fit.end(trace)
        self._learn_gaps_of(rows, self.n_clusters, fit.sample_weight)
        self._warn_of_collapse(fit.state.chosen)
        self._warn_of_drift(fit)
        return self

    def _with_outlier_rule(self, fit: PrototypeFit, model: Model) -> Model:
        """Return the model with the rule for outliers, unless `delta` decides who is one."""
        return fit.with_outlier_rule(model, self.outlier_rate) if isinstance(self.delta, str) else model

    def _publish_model(self, model: Model, chosen: Chosen) -> None:
        self._model = model
        self.focal_sets_ = model.costs.focal_sets
        self.cluster_centers_ = model.centers
        self.__dict__.pop("metrics_", None)  # of an earlier fit
        if isinstance(model, AdaptiveModel):
            self.metrics_ = model.metrics
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

    def _warn_of_drift(self, fit: PrototypeFit) -> None:
        chosen = fit.state.chosen
        if chosen.cloud or are_coincident(pdist(self.cluster_centers_), chosen.width):
            return  # for which there are warnings already
        if "metrics_" not in self.__dict__:
            warn_of_drift(fit.drift(self.cluster_centers_), isinstance(self.beta, str))

    @property
    def _remedy(self) -> str:
        return "Give beta='auto'." if not isinstance(self.beta, str) else "Use fewer clusters."
