"""What ECM and CCM share: prototypes that move, from all objects at once or as they come."""

from typing import Any

import numpy as np

from evlearn.blocks import Rows
from evlearn.cluster.centroids.alternation import Model, collect
from evlearn.cluster.centroids.clusterer import PrototypeClusterer, check_weights, refuse_endless, weight_unit
from evlearn.cluster.centroids.model import Statistics
from evlearn.cluster.centroids.starts import kmeans_solutions, make_prototypes
from evlearn.utils.convergence import whole_or_nothing
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.typing import FloatArray
from evlearn.utils.validation import check_integer

_OF_A_FIT = (
    *("credal_partition_", "masses_", "labels_"),
    *("objective_", "objective_history_", "n_iter_", "converged_"),
    "_fitted_to",
)
_FORGETTING = 0.7  # 1 keeps all portions alike, less forgets the first of them; above 0.5 the sums still settle


class MeansClusterer(PrototypeClusterer):
    """Base class of the evidential relatives of k-means."""

    @whole_or_nothing
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Any:
        """Find the prototypes, and the mass functions of the objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, dask collection or iterable of arrays
            The objects: an array, a memory map, a pandas or polars frame; the path of a Parquet file or of a
            folder of them; a Dask array or DataFrame; or something that gives array after array, each with some
            of the rows.
        y : None, default=None
            Not used; present for scikit-learn's conventions.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each object counts: 2 is as if it were there twice.

        Returns
        -------
        object
            The fitted estimator.
        """
        self._fit(X, sample_weight)
        return self

    @whole_or_nothing
    def partial_fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Any:
        """Learn from some more objects, as they come; what they told is kept, and they are not.

        The first objects decide where the prototypes start, and on what is "auto". There are no masses
        afterwards: ask `predict_mass`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The objects; any kind of data that `fit` takes.
        y : None, default=None
            Not used; present for scikit-learn's conventions.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each object counts.

        Returns
        -------
        object
            The estimator.
        """
        first = "_statistics" not in self.__dict__
        if first:
            self._check_parameters()
            if self._in_two_steps:
                raise ValueError(
                    "focal_sets='neighbor_pairs' needs all objects at once: use fit, or list the pairs."
                )
        with one_blas_thread(), self._opened(X, reset=first) as rows:
            weights = check_weights(sample_weight, rows)
            if first:
                progress = self._begin(rows, weights, None)
                refuse_endless(rows, progress.coordinates, progress.chosen.delta, self.n_jobs)
                for name in _OF_A_FIT:
                    self.__dict__.pop(name, None)
                self._model: Model = self._first_model(progress)
                self._publish_chosen(progress.chosen)
            else:
                refuse_endless(rows, self._model.coordinates, self.delta_, self.n_jobs)
            unit = weight_unit(weights)
            aligned = None if weights is None else rows.align(weights / unit)
            some = collect(rows, self._model, aligned, self.n_jobs)
        total = float(len(rows) if weights is None else (weights / unit).sum())
        # In the user's unit, which is that of other calls too.
        weight = total * unit
        self._seen_weight: float = weight + (0.0 if first else self._seen_weight)
        # What was told long ago was told to prototypes that were not good yet: it counts less and less.
        share = (weight / self._seen_weight) ** _FORGETTING
        some = some * (share / total)
        self._statistics: Statistics = some if first else self._statistics * (1 - share) + some
        self._model = self._model.solve(self._statistics)
        self.focal_sets_ = self._model.costs.focal_sets
        self._publish_prototypes()
        self.n_samples_seen_: int = len(rows) + (0 if first else self.n_samples_seen_)
        return self

    def _check_parameters(self) -> None:
        check_integer("n_clusters", self.n_clusters, 1)
        check_integer("n_init", self.n_init, 1)
        super()._check_parameters()

    def _starts(
        self, rows: Rows, sample: FloatArray, counts: FloatArray, random: np.random.RandomState
    ) -> list[FloatArray]:
        if len(rows) < self.n_clusters:
            raise ValueError(f"n_clusters={self.n_clusters} is more than n_samples={len(rows)}.")
        if self._from_kmeans:
            return kmeans_solutions(self.n_clusters, sample, counts, random, n_init=self.n_init)
        n_init = self.n_init if isinstance(self.init, str) and self.init != "peaks" else 1
        return [make_prototypes(self.init, self.n_clusters, sample, counts, random) for _ in range(n_init)]
