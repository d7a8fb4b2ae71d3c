r"""Prototypes that are weighted means of samples of which nothing but dissimilarities is known.

A prototype is a row of weights that sum to one. With :math:`\Delta` the matrix of squared dissimilarities, the
squared distance of sample :math:`i` to the weighted mean :math:`a` is

.. math:: d_i^2=(\Delta a)_i-\tfrac12a^T\Delta a ,

which is that of coordinates where dissimilarities are Euclidean distances, and may be negative elsewhere. The
barycentre of a set of clusters is the mean of their weights, so that an iteration needs one product of
:math:`\Delta` with the weights of the clusters.
"""

from dataclasses import dataclass, replace

import numpy as np

from evlearn.belief import FocalSets
from evlearn.cluster.set_costs import SetCosts, masses_of_costs, solve_positive, total_cost
from evlearn.utils.convergence import Step, Trace
from evlearn.utils.typing import FloatArray
from evlearn.utils.validation import check_shape

#: A difference of two sums that is smaller than this share of them is rounding.
_LOST = 1e-13
#: A negative squared distance counts as this share of the mean squared dissimilarity.
_FLOOR = 1e-12
_SEED_DRAWS = 10


@dataclass(frozen=True)
class RelationalModel:
    """Prototypes as weighted means of the samples of a training set.

    Attributes
    ----------
    costs : SetCosts
        What the sets of clusters cost.
    weights : ndarray of shape (n_clusters, n_training_samples)
        The weights of the samples in each prototype, which sum to one.
    gram : ndarray of shape (n_clusters, n_clusters)
        The weights times the squares times the weights.
    mean : float
        The mean of the squares.
    """

    costs: SetCosts
    weights: FloatArray
    gram: FloatArray
    mean: float

    def __post_init__(self) -> None:
        n_clusters = self.costs.focal_sets.frame_size
        check_shape("weights", self.weights, (n_clusters, max(self.weights.shape[-1], 1)))
        check_shape("gram", self.gram, (n_clusters, n_clusters))

    @property
    def focal_sets(self) -> FocalSets:
        """The sets that carry mass."""
        return self.costs.focal_sets

    @classmethod
    def undecided(cls, costs: SetCosts, squares: FloatArray) -> "RelationalModel":
        """The model whose prototypes are all the mean of all samples."""
        n_samples, n_clusters = len(squares), costs.focal_sets.frame_size
        mean, everybody = float(squares.mean()), np.full((n_clusters, n_samples), 1 / n_samples)
        return cls(costs, everybody, np.full((n_clusters, n_clusters), mean), mean)

    def move(self, weights: FloatArray, squares: FloatArray) -> tuple["RelationalModel", FloatArray]:
        """The model with other weights, and what it takes to know the costs of the training set.

        Returns
        -------
        model : RelationalModel
            The model.
        means : ndarray of shape (n, n_clusters)
            Weighted means of the squares of each sample.
        """
        means = squares @ weights.T
        return replace(self, weights=weights, gram=weights @ means), means

    def solve(self, masses: FloatArray, squares: FloatArray) -> tuple["RelationalModel", FloatArray]:
        """The model with the prototypes that are best for the masses of the training set.

        Returns
        -------
        model : RelationalModel
            The model.
        means : ndarray of shape (n, n_clusters)
            Weighted means of the squares of each sample.
        """
        costs, F = self.costs, self.costs.membership
        powers = masses[:, 1:] ** costs.beta
        matrix = F.T @ (F * (powers.sum(axis=0) * costs.gain / costs.size**2)[:, None])
        shares = (F * costs.spread[:, None]).T @ powers.T
        # A step, and not the weights themselves: a cluster that nobody gives mass to stays where it is.
        return self.move(self.weights + solve_positive(matrix, shares - matrix @ self.weights), squares)

    def costs_at(self, means: FloatArray) -> tuple[FloatArray, bool]:
        """The cost of every set at samples, new or old.

        Returns
        -------
        costs : ndarray of shape (n, n_focal_sets)
            The costs, none of them negative.
        clipped : bool
            Whether squared distances came out negative.
        """
        costs = self.costs
        shares = costs.membership / costs.size[:, None]
        half = 0.5 * ((shares @ self.gram) * shares).sum(axis=1)
        apart = means @ shares.T
        # Where weights are of both signs, terms cancel in these sums, and round by more than the sums tell.
        larger = (shares @ np.abs(self.weights).sum(axis=1)) ** 2
        lost = _LOST * (np.abs(apart) + np.abs(half)) + _LOST * self.mean * np.maximum(larger - 1, 0)
        apart -= half
        negative = apart < -lost
        apart[np.abs(apart) <= lost] = 0  # a sample that is where the prototype is
        apart[negative] = _FLOOR * self.mean
        apart *= costs.gain
        return np.hstack([np.full((len(apart), 1), costs.empty), apart]), bool(negative.any())

    def assign(self, squares: FloatArray) -> FloatArray:
        """The masses of samples, new or old."""
        return masses_of_costs(self.costs_at(squares @ self.weights.T)[0], self.costs.beta)

    def gaps(self) -> FloatArray:
        """The squared distances between prototypes."""
        half = np.diag(self.gram) / 2
        return np.maximum(self.gram - half[:, None] - half, 0)

    def spread(self, squares: FloatArray, random: np.random.RandomState) -> "RelationalModel":
        """The model whose prototypes are samples far apart, as k-means++ draws them."""
        draws = [_draw_seeds(squares, len(self.weights), random) for _ in range(_SEED_DRAWS)]
        seeds = min(draws, key=lambda one: float(squares[one].min(axis=0).sum()))
        weights = np.zeros(self.weights.shape)
        weights[np.arange(len(seeds)), seeds] = 1
        return self.move(weights, squares)[0]


@dataclass(frozen=True)
class RelationalState:
    """Prototypes and masses, and whether squared distances came out negative on the way."""

    model: RelationalModel
    masses: FloatArray
    clipped: bool = False


def start_at(
    model: RelationalModel, means: FloatArray, masses: FloatArray | None = None
) -> Trace[RelationalState]:
    """A descent that begins with some prototypes, and with the masses that are best for them or with others."""
    costs, _ = model.costs_at(means)
    masses = masses_of_costs(costs, model.costs.beta) if masses is None else masses
    return Trace(RelationalState(model, masses), [total_cost(masses**model.costs.beta, costs)])


def relational_step(squares: FloatArray, tol: float) -> Step[RelationalState]:
    """The best prototypes for the masses, then the best masses; it settles when masses change by at most tol."""

    def step(state: RelationalState) -> tuple[RelationalState, float, bool]:
        model, means = state.model.solve(state.masses, squares)
        costs, clipped = model.costs_at(means)
        beta = model.costs.beta
        masses = masses_of_costs(costs, beta)
        # With the best masses, the sum of m^beta s over a row is its least s times its largest m^(beta - 1).
        objective = float((costs.min(axis=1) * masses.max(axis=1) ** (beta - 1)).sum())
        settled = float(np.abs(masses - state.masses).max()) <= tol
        return RelationalState(model, masses, clipped or state.clipped), objective, settled

    return step


def _draw_seeds(squares: FloatArray, n_seeds: int, random: np.random.RandomState) -> list[int]:
    seeds = [int(random.randint(len(squares)))]
    nearest = squares[seeds[0]].copy()
    for _ in range(1, n_seeds):
        ends = np.cumsum(nearest)
        drawn = int(np.searchsorted(ends, random.uniform() * ends[-1], side="right"))
        # All samples are where a seed is: any will do.
        seeds.append(drawn if drawn < len(squares) else int(random.randint(len(squares))))
        np.minimum(nearest, squares[seeds[-1]], out=nearest)
    return seeds
