r"""Samples that stand for clusters: the prototypes of evidential c-medoids, and their descent.

With :math:`\tau` the dissimilarities, the distance of a sample to a set of clusters is a weighted sum of its
dissimilarities to samples of the training set, :math:`d_{ij}=\sum_la_{jl}\tau_{il}`. Single medoids have one such
sample for each set, and count those of its clusters too; weighted medoids have all samples. In median evidential
c-means sets have no medoids, and their distances follow from those to the medoids of their clusters (`Between`).
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from evlearn.belief import FocalSets
from evlearn.cluster.set_costs import masses_of_costs, total_cost
from evlearn.utils.convergence import Step, Trace
from evlearn.utils.typing import FloatArray, IntArray
from evlearn.utils.validation import check_shape

_EPS = 1e-12
_MOST_ROUNDS = 50
_DRIFT = 1.05
# Of the exponent that is chosen: by how much the nearest cluster should outweigh the next, and the bounds. Nearer
# to 1, a cloud without clusters would be sure of them.
_TIMES_AS_MUCH = 20.0
_SMALLEST_BETA, _LARGEST_BETA = 1.1, 2.0


@dataclass(frozen=True)
class MedoidRule:
    """How masses choose the samples that stand for clusters and sets of these.

    Attributes
    ----------
    focal_sets : FocalSets
        The sets that may carry mass.
    beta : float
        The exponent of the masses.
    eta, gamma : float
        Of single medoids: the weight of the mean dissimilarity beside its variance when one is chosen for a set,
        and the weight of the medoids of its clusters in the distance to it. For the median: as in `Between`.
    xi, psi : float
        Of weighted medoids: the exponents of the least weight in a set, and of weights in distances.
    unit : float
        What dissimilarities were divided by.
    """

    focal_sets: FocalSets
    beta: float
    eta: float
    gamma: float
    xi: float
    psi: float
    unit: float

    @property
    def table(self) -> FloatArray:
        """The nonempty sets as rows of zeros and ones."""
        return self.focal_sets.membership[1:].astype(np.float64)

    def scores(self, masses: FloatArray, apart: FloatArray) -> FloatArray:
        """How far every sample is from the samples of each cluster, as the masses tell."""
        return np.asarray((masses[:, self.focal_sets.singleton_positions] ** self.beta).T @ apart)

    def single(self, medoids: IntArray, apart: FloatArray) -> "Medoids":
        """Single medoids: those of clusters as given, those of larger sets among all samples."""
        shares = self.table / self.table.sum(axis=1, keepdims=True)
        near = apart[medoids]
        means = shares @ near
        chosen = np.empty(len(shares), dtype=np.intp)
        weights = np.zeros((len(shares), len(apart)))
        for j, members in enumerate(self.table > 0):
            if members.sum() == 1:
                chosen[j] = medoids[members][0]
                weights[j, chosen[j]] = 1
                continue
            variance = np.square(near[members] - means[j]).mean(axis=0)
            chosen[j] = np.argmin(self.unit * variance + self.eta * means[j])
            np.add.at(weights[j], medoids[members], self.gamma / members.sum() / (1 + self.gamma))
            weights[j, chosen[j]] += 1 / (1 + self.gamma)
        return Medoids.of(chosen, weights)

    def median(self, medoids: IntArray, apart: FloatArray) -> "Medoids":
        """Medoids of clusters alone; larger sets have those of their clusters, and are named by the first."""
        weights = np.zeros((len(self.table), len(apart)))
        for j, members in enumerate(self.table > 0):
            np.add.at(weights[j], medoids[members], 1 / members.sum())
        return Medoids.of(medoids[self.table.argmax(axis=1)], weights)

    def at(self, model: "MedoidModel", kind: str, medoids: IntArray, apart: FloatArray) -> "MedoidModel":
        """A model at the medoids of clusters."""
        if kind == "median":
            between = Between(apart[np.ix_(medoids, medoids)], self.eta, self.gamma)
            return replace(model, medoids=self.median(medoids, apart), between=between)
        return replace(model, medoids=self.single(medoids, apart))

    def weighted(self, scores: FloatArray) -> "Medoids":
        """Weighted medoids: samples count the more, the nearer they are to those of a cluster."""
        of_clusters = masses_of_costs(scores, self.psi)
        weights = np.empty((len(self.table), scores.shape[1]))
        for j, members in enumerate(self.table > 0):
            some = of_clusters[members]
            if len(some) == 1:
                weights[j] = some[0]
                continue
            with np.errstate(divide="ignore"):  # a sample that counts nothing in one cluster counts nothing here
                least = self.xi * np.log(some.min(axis=0)) if self.xi else 0.0
                logs = least - np.log(some.var(axis=0) + _EPS)
            powers = np.exp(logs - logs.max()) if np.isfinite(logs.max()) else some.mean(axis=0)
            weights[j] = powers / powers.sum()
        return Medoids.of(weights.argmax(axis=1), weights**self.psi, weights)


@dataclass(frozen=True)
class Medoids:
    """Samples that stand for the nonempty sets.

    Attributes
    ----------
    chosen : ndarray of int of shape (n_focal_sets - 1,)
        The sample that stands for each set, or that counts most.
    samples : ndarray of int of shape (n_used,)
        All samples that count in any distance.
    factors : ndarray of shape (n_focal_sets - 1, n_used)
        How much their dissimilarities count in the distance to each set.
    weights : ndarray of shape (n_focal_sets - 1, n) or None
        The weights of weighted medoids, each row of which sums to one.
    """

    chosen: IntArray
    objects: IntArray
    factors: FloatArray
    weights: FloatArray | None = None

    def __post_init__(self) -> None:
        check_shape("objects", self.objects, (max(len(self.objects), 1),))
        check_shape("factors", self.factors, (len(self.chosen), len(self.objects)))

    @classmethod
    def of(cls, chosen: npt.NDArray[np.intp], factors: FloatArray, weights: FloatArray | None = None) -> "Medoids":
        """Medoids with the samples that count."""
        objects = np.flatnonzero(factors.any(axis=0))
        return cls(chosen, objects, np.ascontiguousarray(factors[:, objects]), weights)


@dataclass(frozen=True)
class Between:
    r"""Distances to sets of clusters in median evidential c-means, from those to the medoids of clusters.

    .. math::

        \bar d_{ij}^2=\frac{\gamma\,\mathrm{mean}_{k\in A_j}d_{ik}^2+\rho_{ij}\min_{k\in A_j}d_{ik}}{\gamma+1},
        \quad\rho_{ij}=\frac{\sum_{k,l\in A_j}|d_{ik}-d_{il}|}{\eta\sum_{k,l\in A_j}\tau(v_k,v_l)} .

    Attributes
    ----------
    apart : ndarray of shape (n_clusters, n_clusters)
        The dissimilarities of the medoids to each other.
    eta : float
        The larger, the less it counts that a sample is nearer to some clusters of a set than to others.
    gamma : float
        The weight of the mean of squares.
    """

    apart: FloatArray
    eta: float
    gamma: float

    def squares(self, near: FloatArray, table: FloatArray, unit: float) -> FloatArray:
        """Squared distances to sets, the rows of a table, from those to medoids, all divided by the unit."""
        squares = np.empty((len(near), len(table)))
        for j, members in enumerate(table > 0):
            some = near[:, members]
            if some.shape[1] == 1:
                squares[:, j] = some[:, 0] ** 2
                continue
            unlike = np.abs(some[:, :, None] - some[:, None, :]).sum(axis=(1, 2))
            whole = float(self.eta * self.apart[np.ix_(members, members)].sum())
            ratio = unlike / whole if whole > 0 else 0.0  # of medoids that coincide
            squares[:, j] = self.gamma * (some**2).mean(axis=1) + ratio * some.min(axis=1) / unit
            squares[:, j] /= 1 + self.gamma
        return squares


@dataclass(frozen=True)
class MedoidModel:
    """Medoids that give masses to samples.

    Attributes
    ----------
    focal_sets : FocalSets
        The sets that may carry mass.
    medoids : Medoids
        What stands for them.
    factors : ndarray of shape (n_focal_sets - 1,)
        The factor of the distance to each set.
    empty : float
        The cost of the empty set, in the unit of dissimilarities.
    beta : float
        The exponent of the masses.
    unit : float
        What dissimilarities are divided by.
    between : Between or None, default=None
        Of median evidential c-means: distances to sets.
    """

    focal_sets: FocalSets
    medoids: Medoids
    factors: FloatArray
    empty: float
    beta: float
    unit: float
    between: Between | None = None

    def __post_init__(self) -> None:
        check_shape("factors", self.factors, (len(self.focal_sets) - 1,))
        check_shape("medoids", self.medoids.chosen, (len(self.focal_sets) - 1,))
        if self.between is not None:
            check_shape("between", self.between.apart, (self.focal_sets.frame_size,) * 2)

    def costs(self, apart: FloatArray) -> FloatArray:
        """The cost of every set at samples."""
        if self.between is None:
            costs = apart @ (self.medoids.factors * self.factors[:, None]).T
        else:
            near = apart @ self.medoids.factors[self.focal_sets.singleton_positions - 1].T
            table = self.focal_sets.membership[1:].astype(np.float64)
            costs = self.between.squares(near, table, self.unit) * self.factors
        return np.hstack([np.full((len(costs), 1), self.empty), costs])

    def assign(self, apart: FloatArray) -> FloatArray:
        """The masses of samples, new or old."""
        return masses_of_costs(self.costs(apart / self.unit), self.beta)


@dataclass(frozen=True)
class MedoidState:
    """Medoids, their masses and objective, and the best of those found so far: the objective may go up."""

    model: MedoidModel
    masses: FloatArray
    objective: float
    best: "MedoidState | None" = None

    @classmethod
    def at(cls, model: MedoidModel, apart: FloatArray) -> "MedoidState":
        """The state at some medoids; dissimilarities are in the unit of the model."""
        costs = model.costs(apart[:, model.medoids.objects])
        masses = masses_of_costs(costs, model.beta)
        return cls(model, masses, total_cost(masses**model.beta, costs))


def medoid_step(apart: FloatArray, rule: MedoidRule, *, kind: str, tol: float) -> Step[MedoidState]:
    """New medoids for the masses, and new masses; it settles with the objective, or when single medoids stay."""
    weighted, compared = kind == "weighted", apart**2 if kind == "median" else apart

    def step(state: MedoidState) -> tuple[MedoidState, float, bool]:
        scores = rule.scores(state.masses, compared)
        if weighted:
            model = replace(state.model, medoids=rule.weighted(scores))
        else:
            model = rule.at(state.model, kind, scores.argmin(axis=1), apart)
        found, best = MedoidState.at(model, apart), state.best
        if best is None:  # the start is none of the results, and says nothing about changes
            return replace(found, best=found), found.objective, False
        same = not weighted and np.array_equal(model.medoids.chosen, state.model.medoids.chosen)
        settled = abs(state.objective - found.objective) <= tol * abs(state.objective)
        if found.objective <= best.objective:
            best = found
        return replace(found, best=best), found.objective, bool(same or settled)

    return step


def best_medoids(trace: Trace[MedoidState]) -> MedoidState:
    """The best state that a search has come through."""
    return trace.state.best or trace.state


def spread_medoids(apart: FloatArray, n_clusters: int) -> IntArray:
    """Samples far apart: first the one nearest to all, then always the one farthest from those chosen."""
    chosen = [int(apart.sum(axis=1).argmin())]
    for _ in range(1, n_clusters):
        nearest = apart[chosen].min(axis=0)
        nearest[chosen] = -1
        chosen.append(int(nearest.argmax()))
    return np.array(chosen)


def hard_medoids(apart: FloatArray, n_clusters: int, random: np.random.RandomState, *, n_init: int) -> IntArray:
    """Medoids of crisp clusters: the best of several starts, one of samples far apart and others drawn so."""
    starts = [spread_medoids(apart, n_clusters)]
    starts += [_drawn_medoids(apart, n_clusters, random) for _ in range(1, n_init)]
    ends = [settle_medoids(apart, start) for start in starts]
    return min(ends, key=lambda medoids: float(apart[medoids].min(axis=0).sum()))


def settle_medoids(apart: FloatArray, medoids: IntArray) -> IntArray:
    """Crisp clusters around medoids, and the medoids of these, in turn until nothing changes."""
    for _ in range(_MOST_ROUNDS):
        labels = apart[medoids].argmin(axis=0)
        labels[medoids] = np.arange(len(medoids))  # also where medoids coincide
        found = medoids_of(apart, labels)
        if np.array_equal(found, medoids):
            break
        medoids = found
    return medoids


def medoids_of(apart: FloatArray, labels: IntArray) -> IntArray:
    """Return the medoid of each crisp cluster: the sample with the least sum of dissimilarities to the others."""
    members = [np.flatnonzero(labels == k) for k in range(labels.max() + 1)]
    return np.array([some[apart[np.ix_(some, some)].sum(axis=0).argmin()] for some in members])


def has_drifted(apart: FloatArray, first: IntArray, last: IntArray) -> bool:
    """Return True if the sum of squared dissimilarities to the nearest medoid is much larger than at the start."""
    before, after = (float(np.square(apart[:, medoids].min(axis=1)).sum()) for medoids in (first, last))
    return after > _DRIFT * before


def exponent_of(apart: FloatArray, medoids: IntArray) -> float:
    """The exponent of masses with which half of the samples count their cluster twenty times as much as the next.

    Masses fall as a power of dissimilarities. In many dimensions all of these are alike, and only a high power
    tells them apart.
    """
    if len(medoids) < 2:
        return _LARGEST_BETA
    nearest = np.partition(apart[medoids], 1, axis=0)[:2]
    inside = nearest[:, nearest[0] > 0]
    if not inside.size:
        return _LARGEST_BETA
    ratio = float(np.median(inside[1] / inside[0]))
    return float(np.clip(1 + np.log(ratio) / np.log(_TIMES_AS_MUCH), _SMALLEST_BETA, _LARGEST_BETA))


def _drawn_medoids(apart: FloatArray, n_clusters: int, random: np.random.RandomState) -> IntArray:
    chosen = [int(random.randint(len(apart)))]
    for _ in range(1, n_clusters):
        weights = np.square(apart[chosen].min(axis=0))
        weights[chosen] = 0
        if not weights.any():  # all others coincide with those chosen
            weights = np.ones(len(apart))
            weights[chosen] = 0
        chosen.append(int(random.choice(len(apart), p=weights / weights.sum())))
    return np.array(chosen)
