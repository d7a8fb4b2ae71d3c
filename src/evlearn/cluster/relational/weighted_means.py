r"""Prototypes that are weighted means of samples, computed from dissimilarities.

A prototype is a vector of weights with sum 1. With :math:`\Delta` the matrix of squared dissimilarities, the
squared distance of sample :math:`i` to the weighted mean :math:`a` is

.. math:: d_i^2=(\Delta a)_i-\tfrac12a^T\Delta a ,

which equals the distance of coordinates if dissimilarities are Euclidean distances, and may be negative otherwise.
The weights of a barycenter are the means of those of its clusters, so that an iteration takes one product of
:math:`\Delta` and the weights of the clusters.
"""

from dataclasses import dataclass, replace

import numpy as np

from evlearn.belief import FocalSets
from evlearn.cluster.set_costs import SetCosts, masses_of_costs, solve_positive, total_cost
from evlearn.storage import fields
from evlearn.utils.convergence import Step, Trace
from evlearn.utils.typing import FloatArray
from evlearn.utils.validation import check_shape

#: Difference of 2 sums, relative to these sums, below which it is a rounding error.
_ROUNDING = 1e-13
#: Value that replaces negative squared distances, relative to the mean squared dissimilarity.
_FLOOR = 1e-12
#: Number of draws of seeds, of which the best is used.
_SEED_DRAWS = 10


@fields.stored
@dataclass(frozen=True)
class RelationalModel:
    """Prototypes as weighted means of the samples of a training set.

    Attributes
    ----------
    costs : SetCosts
        Costs of the sets of clusters.
    weights : ndarray of shape (n_clusters, n_training_samples)
        Weights of the samples in each prototype, with sum 1.
    gram : ndarray of shape (n_clusters, n_clusters)
        Product of the weights, the squares and the transposed weights.
    mean : float
        Mean of the squares.
    """

    costs: SetCosts
    weights: fields.Matrix
    gram: fields.Matrix
    mean: fields.NonnegativeNumber

    def __post_init__(self) -> None:
        n_clusters = self.costs.focal_sets.frame_size
        check_shape("weights", self.weights, (n_clusters, max(self.weights.shape[-1], 1)))
        check_shape("gram", self.gram, (n_clusters, n_clusters))

    @property
    def focal_sets(self) -> FocalSets:
        """Sets that may carry mass."""
        return self.costs.focal_sets

    @classmethod
    def at_mean(cls, costs: SetCosts, squares: FloatArray) -> "RelationalModel":
        """Return the model with all prototypes at the mean of all samples."""
        n_samples, n_clusters = len(squares), costs.focal_sets.frame_size
        mean, weights = float(squares.mean()), np.full((n_clusters, n_samples), 1 / n_samples)
        return cls(costs, weights, np.full((n_clusters, n_clusters), mean), mean)

    def move(self, weights: FloatArray, squares: FloatArray) -> tuple["RelationalModel", FloatArray]:
        """Return the model with other weights, and the means for the costs of the training set.

        Returns
        -------
        model : RelationalModel
            Model.
        means : ndarray of shape (n, n_clusters)
            Weighted means of the squares of each sample.
        """
        means = squares @ weights.T
        return replace(self, weights=weights, gram=weights @ means), means

    def solve(self, masses: FloatArray, squares: FloatArray) -> tuple["RelationalModel", FloatArray]:
        """Return the model with optimal prototypes for the masses of the training set.

        Returns
        -------
        model : RelationalModel
            Model.
        means : ndarray of shape (n, n_clusters)
            Weighted means of the squares of each sample.
        """
        costs, F = self.costs, self.costs.membership
        powers = masses[:, 1:] ** costs.beta
        matrix = F.T @ (F * (powers.sum(axis=0) * costs.gain / costs.size**2)[:, None])
        shares = (F * costs.spread[:, None]).T @ powers.T
        # The system is solved for a change of the weights, so that a cluster without mass does not move.
        return self.move(self.weights + solve_positive(matrix, shares - matrix @ self.weights), squares)

    def costs_at(self, means: FloatArray) -> tuple[FloatArray, bool]:
        """Return the costs of all sets for new or training samples.

        Returns
        -------
        costs : ndarray of shape (n, n_focal_sets)
            Nonnegative costs.
        clipped : bool
            Whether squared distances were negative.
        """
        costs = self.costs
        shares = costs.membership / costs.size[:, None]
        half = 0.5 * ((shares @ self.gram) * shares).sum(axis=1)
        distances = means @ shares.T
        # If weights have both signs, terms cancel in these sums, and rounding errors exceed those of the sums.
        excess = np.maximum((shares @ np.abs(self.weights).sum(axis=1)) ** 2 - 1, 0)
        rounding = _ROUNDING * (np.abs(distances) + np.abs(half)) + _ROUNDING * self.mean * excess
        distances -= half
        negative = distances < -rounding
        distances[np.abs(distances) <= rounding] = 0  # the sample coincides with the barycenter
        distances[negative] = _FLOOR * self.mean
        distances *= costs.gain
        return np.hstack([np.full((len(distances), 1), costs.empty), distances]), bool(negative.any())

    def assign(self, squares: FloatArray) -> FloatArray:
        """Return the masses of new or training samples."""
        return masses_of_costs(self.costs_at(squares @ self.weights.T)[0], self.costs.beta)

    def separations(self) -> FloatArray:
        """Return the squared distances between prototypes."""
        half = np.diag(self.gram) / 2
        return np.maximum(self.gram - half[:, None] - half, 0)

    def spread(self, squares: FloatArray, random: np.random.RandomState) -> "RelationalModel":
        """Return the model with prototypes at samples that are selected by k-means++."""
        draws = [_draw_seeds(squares, len(self.weights), random) for _ in range(_SEED_DRAWS)]
        seeds = min(draws, key=lambda draw: float(squares[draw].min(axis=0).sum()))
        weights = np.zeros(self.weights.shape)
        weights[np.arange(len(seeds)), seeds] = 1
        return self.move(weights, squares)[0]


@dataclass(frozen=True)
class RelationalState:
    """Prototypes and masses, and True if squared distances were negative in any iteration."""

    model: RelationalModel
    masses: FloatArray
    clipped: bool = False


def start_at(
    model: RelationalModel, means: FloatArray, masses: FloatArray | None = None
) -> Trace[RelationalState]:
    """Return a trace that starts with given prototypes, and with given masses or the optimal ones."""
    costs, _ = model.costs_at(means)
    masses = masses_of_costs(costs, model.costs.beta) if masses is None else masses
    return Trace(RelationalState(model, masses), [total_cost(masses**model.costs.beta, costs)])


def relational_step(squares: FloatArray, tol: float) -> Step[RelationalState]:
    """Return the step of alternating optimization, which converges if masses change by at most `tol`."""

    def step(state: RelationalState) -> tuple[RelationalState, float, bool]:
        model, means = state.model.solve(state.masses, squares)
        costs, clipped = model.costs_at(means)
        beta = model.costs.beta
        masses = masses_of_costs(costs, beta)
        # With optimal masses, the sum of m^beta s over a row is its smallest s times its largest m^(beta - 1).
        objective = float((costs.min(axis=1) * masses.max(axis=1) ** (beta - 1)).sum())
        has_converged = float(np.abs(masses - state.masses).max()) <= tol
        return RelationalState(model, masses, clipped or state.clipped), objective, has_converged

    return step


def _draw_seeds(squares: FloatArray, n_seeds: int, random: np.random.RandomState) -> list[int]:
    seeds = [int(random.randint(len(squares)))]
    nearest = squares[seeds[0]].copy()
    for _ in range(1, n_seeds):
        ends = np.cumsum(nearest)
        seed = int(np.searchsorted(ends, random.uniform() * ends[-1], side="right"))
        # If all samples coincide with seeds, any sample is a seed.
        seeds.append(seed if seed < len(squares) else int(random.randint(len(squares))))
        np.minimum(nearest, squares[seeds[-1]], out=nearest)
    return seeds
