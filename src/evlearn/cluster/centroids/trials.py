"""Short descents on a sample: which start is the best, and whether its clusters stay apart."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import pdist

from evlearn.belief import FocalSets
from evlearn.blocks import ArrayRows
from evlearn.cluster.centroids.alternation import Alternation, Model, Point
from evlearn.cluster.centroids.kmeans import squared_distances
from evlearn.cluster.centroids.model import Coordinates
from evlearn.cluster.centroids.scales import Chosen
from evlearn.cluster.collapse import are_coincident
from evlearn.utils.convergence import Trace, descend
from evlearn.utils.typing import FloatArray

_MOST_STARTS, _MOST_ROWS, _ROWS_EACH = 3, 5_000, 20
_TOL, _ITERATIONS = 1e-4, 100
_MOST_LOWERINGS = 5
#: Prototypes have drifted if their sum of squares exceeds that of k-means by this many variances in one direction
#: for each sample; a cluster that is split in the middle gains 0.64.
_DRIFTED = 0.1


@dataclass(frozen=True)
class Trial:
    """A sample on which starts are tried.

    Attributes
    ----------
    sample : ndarray of shape (n, n_features)
        Some rows, in the coordinates of models.
    weights : ndarray of shape (n,)
        Their weights.
    coordinates : Coordinates
        Where models live.
    make_model : callable
        From focal sets, coordinates, chosen parameters and prototypes to a model.
    sets_of : callable
        From prototypes, rows and their weights to focal sets.
    """

    sample: FloatArray
    weights: FloatArray
    coordinates: Coordinates
    make_model: Callable[..., Model]
    sets_of: Callable[[FloatArray, FloatArray, FloatArray], FocalSets]

    def sets(self, start: FloatArray) -> FocalSets:
        """The focal sets of a start."""
        rows, weights = self._some(len(start))
        return self.sets_of(self.coordinates.enter(start), rows, weights)

    def best(self, starts: list[FloatArray], chosen: Chosen, *, lower_beta: bool) -> tuple[FloatArray, Chosen]:
        """Where the descent from the best of some starts ends.

        Returns
        -------
        prototypes : ndarray of shape (n_clusters, n_features)
            The prototypes, as the user knows them.
        chosen : Chosen
            The parameters.
        """
        first = None
        for _ in range(_MOST_LOWERINGS + 1):
            ends = [self._descend(start, chosen) for start in starts[:_MOST_STARTS]]
            best = self.coordinates.leave(min(ends, key=lambda end: end.objective).state.model.prototypes)
            coincident = are_coincident(pdist(best), chosen.width)
            if not lower_beta or not (coincident or self._has_drifted(best, starts, chosen.width)):
                return best, chosen
            if first is None and not coincident:
                first = best, chosen
            last = best, chosen
            chosen = chosen._replace(beta=1 + (chosen.beta - 1) / 2)
        # If clusters overlap, prototypes are elsewhere than those of k-means for any beta.
        return first or last

    def _has_drifted(self, prototypes: FloatArray, starts: list[FloatArray], width: float) -> bool:
        """Return True if the sum of squares about prototypes is much larger than that of k-means."""
        rows, weights = self._some(len(prototypes))

        def total(places: FloatArray) -> float:
            return float(weights @ squared_distances(rows, self.coordinates.enter(places)).min(axis=1))

        allowed = _DRIFTED * (width * self.coordinates.scale) ** 2 * float(weights.sum())
        return total(prototypes) > total(starts[0]) + allowed

    def _descend(self, start: FloatArray, chosen: Chosen) -> Trace[Point]:
        rows, weights = self._some(len(start))
        # The model takes rows as the user has them, and these are in its own coordinates already.
        here = Coordinates(np.zeros(rows.shape[1]), 1.0)
        sized = chosen._replace(delta=chosen.delta * self.coordinates.scale)
        model = self.make_model(self.sets(start), here, sized, self.coordinates.enter(start))
        inner = ArrayRows(rows)
        alternation = Alternation(inner, inner.align(weights), _TOL)
        end = descend(alternation.step, alternation.trace(model), max_iter=_ITERATIONS)
        if end.interrupted:
            raise KeyboardInterrupt
        return end

    def _some(self, n_clusters: int) -> tuple[FloatArray, FloatArray]:
        step = -(-len(self.sample) // max(_MOST_ROWS, _ROWS_EACH * n_clusters))
        return np.ascontiguousarray(self.sample[::step]), self.weights[::step]
