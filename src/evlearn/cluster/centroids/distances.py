"""Distances to prototypes as features, as with `sklearn.cluster.KMeans`."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from evlearn.cluster.centroids.adaptive import AdaptiveModel
from evlearn.cluster.centroids.model import EuclideanModel
from evlearn.cluster.gaps import mean_with_gaps
from evlearn.mixture.gaps import Gaps
from evlearn.storage import fields
from evlearn.utils.typing import DataLike, FloatArray
from evlearn.utils.validation import check_shape


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
