"""Short descents on a sample, which select the best start and check that clusters do not coincide."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import pdist

from evlearn.belief import FocalSets
from evlearn.blocks.dataset import ArrayDataset
from evlearn.cluster.centroids.alternation import Alternation, Iterate, Model
from evlearn.cluster.centroids.kmeans import squared_distances
from evlearn.cluster.centroids.model import Coordinates
from evlearn.cluster.centroids.scales import ResolvedParameters
from evlearn.cluster.collapse import are_coincident
from evlearn.utils.convergence import Trace, descend
from evlearn.utils.typing import FloatArray

_MAX_STARTS, _MAX_ROWS, _ROWS_EACH = 3, 5_000, 20
_TOL, _MAX_ITER = 1e-4, 100
_MAX_REDUCTIONS = 5
#: Variances in one direction, per sample, by which the sum of squares of prototypes that have drifted exceeds that
#: of k-means. Splitting a cluster in the middle gains 0.64.
_DRIFT = 0.1


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
