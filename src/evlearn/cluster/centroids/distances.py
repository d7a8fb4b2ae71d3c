"""Distances to prototypes as features, as with `sklearn.cluster.KMeans`."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from evlearn.cluster.gaps import mean_with_gaps
from evlearn.mixture.missing_values import Gaps
from evlearn.utils.typing import DataLike, FloatArray


class DistanceFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Mixin of clusterers with prototypes; `_distances` returns the distances of samples to them."""

    cluster_centers_: FloatArray

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
