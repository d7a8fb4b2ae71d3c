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
from scipy.linalg import eigh

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
#: Eigenvalue, relative to the largest possible one, below which it is a rounding error.
_EIGENVALUE_ROUNDING = 1e-13
#: Square, relative to the mean of the squares, below which it is that of a sample and itself.
_ZERO = 1e-14


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


@fields.stored
@dataclass(frozen=True)
class Squares:
    """Transform of dissimilarities to squares in another unit.

    Attributes
    ----------
    scale : float
        Factor of dissimilarities; a power of 2, so that scaling has no rounding errors.
    squared : bool
        Whether the input is already squared.
    mean : float
        Mean of the squares of the training set, before the shift.
    shift : float
        Number that is added to all squares except those of a sample and itself.
    """

    scale: fields.PositiveNumber
    squared: bool
    mean: fields.NonnegativeNumber
    shift: fields.NonnegativeNumber = 0.0

    @classmethod
    def of(cls, dissimilarities: FloatArray, *, squared: bool, shifted: bool) -> tuple["Squares", FloatArray]:
        """Return the transform for a training set, and the squares of the training set.

        Returns
        -------
        unit : Squares
            Transform.
        squares : ndarray of shape (n, n)
            Squares.
        """
        largest = float(dissimilarities.max(initial=0))
        exponent = np.log2(largest) / (2 if squared else 1) if largest > 0 else 0.0
        plain = cls(float(2.0 ** -np.clip(np.round(exponent), -1000, 1000)), squared, 0.0)
        squares = plain(dissimilarities)
        unit = replace(plain, mean=float(squares.mean()))
        if shifted:
            unit = replace(unit, shift=euclidean_shift(squares))
            unit._add(squares)
        return unit, squares

    def __call__(self, dissimilarities: FloatArray) -> FloatArray:
        """Return the squares of dissimilarities, as a new array."""
        squares = dissimilarities.astype(np.float64)
        # The square of the factor may overflow, so the squares are multiplied by the factor 2 times.
        squares *= self.scale
        squares *= self.scale if self.squared else squares
        self._add(squares)
        return squares

    def _add(self, squares: FloatArray) -> None:
        if self.shift > 0:
            squares[squares > _ZERO * self.mean] += self.shift

    def distance(self, square: float) -> float:
        """Convert a square to a distance in the unit of the input."""
        return float(np.sqrt(square)) / self.scale

    def total(self, squares: float) -> float:
        """Convert a sum of squares to squared units of the input."""
        with np.errstate(over="ignore"):
            return float(np.float64(squares) / self.scale / self.scale)


def euclidean_shift(squares: FloatArray) -> float:
    r"""Return the smallest number that, added to all nonzero squares, makes them squared Euclidean distances."""
    products = -0.5 * (squares - squares.mean(axis=0))
    products -= products.mean(axis=1, keepdims=True)
    bound = float(np.abs(products).sum(axis=1).max(initial=0))  # of all eigenvalues
    smallest = float(eigh(products, eigvals_only=True, subset_by_index=[0, 0], overwrite_a=True)[0])
    return -2 * smallest if smallest < -_EIGENVALUE_ROUNDING * bound else 0.0


def coordinates_of(squares: FloatArray) -> FloatArray:
    """Return points whose squared distances approximate given squares, by classical multidimensional scaling."""
    centered = squares - squares.mean(axis=0)
    centered = -(centered - centered.mean(axis=1, keepdims=True)) / 2
    variances, directions = eigh((centered + centered.T) / 2)
    is_positive = variances > max(variances[-1], 0) * _EIGENVALUE_ROUNDING * len(squares)
    if not is_positive.any():
        return np.zeros((len(squares), 1))
    return np.asarray(directions[:, is_positive] * np.sqrt(variances[is_positive]))
