r"""Medoids: samples that are the prototypes of evidential c-medoids, and their optimization.

With :math:`\tau` the dissimilarities, the distance of a sample to a set of clusters is a weighted sum of its
dissimilarities to samples of the training set, :math:`d_{ij}=\sum_la_{jl}\tau_{il}`. With single medoids, the sum
contains one sample for each set and the medoids of its clusters; with weighted medoids, it contains all samples.
In median evidential c-means, sets have no medoids, and their distances follow from those to the medoids of their
clusters (`MedoidDissimilarities`).
"""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt

from evlearn.belief import FocalSets
from evlearn.cluster.set_costs import masses_of_costs, total_cost
from evlearn.storage import fields
from evlearn.utils.convergence import Step, Trace
from evlearn.utils.parameters import Specification
from evlearn.utils.typing import FloatArray, IntArray
from evlearn.utils.validation import check_choice, check_real, check_shape

#: Number that is added to variances, which may be 0.
_EPS = 1e-12
#: Maximum number of iterations of crisp c-medoids.
_MAX_ROUNDS = 50
#: Increase of the sum of squares above which medoids have drifted.
_DRIFT = 1.05
#: Weight of the nearest cluster relative to the second nearest, from which the exponent of the masses follows.
_WEIGHT_RATIO = 20.0
#: Bounds of this exponent. With smaller values, masses would suggest clusters in a cloud without clusters.
_MIN_BETA, _MAX_BETA = 1.1, 2.0

KINDS_OF_MEDOIDS = ("single", "weighted", "median")


@fields.stored
@dataclass
class MedoidKind(Specification):
    """Kind of medoids of `ECMdd`, with its parameters.

    Parameters
    ----------
    name : {"single", "weighted", "median"}, default="single"
        Kind; see the parameter `medoids` of `ECMdd`.
    eta : float, default=1.0
        For "single": weight of the distance from the medoid of a set to its clusters, relative to the differences
        between these distances. For "median": larger values reduce the effect of different distances to the
        clusters of a set; above 0. As in the papers, both compare squared distances with distances, so that masses
        of sets depend on the unit of the dissimilarities: rescale these, or choose `eta` in their unit.
    gamma : float, default=1.0
        For "single": weight of the medoids of the clusters in the distance to a set, relative to the medoid of the
        set. For "median": weight of the mean distance to the clusters of a set, relative to the differences; the
        paper uses 0 to 1.
    joint_weight_exponent : float, default=5.0
        For "weighted": exponent of the smallest weight of a sample in the clusters of a set, in its weight in the
        set.
    weight_exponent : float, default=1.05
        For "weighted": exponent of the weights, above 1; with smaller values, fewer samples have weight. The paper
        uses 2, with which nearly all samples have weight in all clusters.

    Examples
    --------
    >>> from evlearn.cluster import ECMdd, MedoidKind
    >>> from evlearn.datasets import load_butterfly
    >>> medoids = MedoidKind("median", gamma=0.3)
    >>> model = ECMdd(2, medoids=medoids, random_state=0).fit(load_butterfly().data)
    >>> model.labels_.shape
    (12,)
    """

    name: Literal["single", "weighted", "median"] = "single"
    eta: float = 1.0
    gamma: float = 1.0
    joint_weight_exponent: float = 5.0
    weight_exponent: float = 1.05

    def __post_init__(self) -> None:
        check_choice("name", self.name, KINDS_OF_MEDOIDS)
        check_real("eta", self.eta, 0, open_low=self.name == "median")
        check_real("gamma", self.gamma, 0)
        check_real("joint_weight_exponent", self.joint_weight_exponent, 0)
        check_real("weight_exponent", self.weight_exponent, 1, open_low=True)


@dataclass(frozen=True)
class MedoidRule:
    """Rule that derives the medoids of clusters and of sets of clusters from masses.

    Attributes
    ----------
    focal_sets : FocalSets
        Sets that may carry mass.
    beta : float
        Exponent of the masses.
    kind : MedoidKind
        Kind of medoids, with its parameters.
    unit : float
        Divisor of the dissimilarities.
    """

    focal_sets: FocalSets
    beta: float
    kind: MedoidKind
    unit: float

    @property
    def table(self) -> FloatArray:
        """Nonempty sets as rows of zeros and ones."""
        return self.focal_sets.membership[1:].astype(np.float64)

    def scores(self, masses: FloatArray, dissimilarities: FloatArray) -> FloatArray:
        """Return the sums of dissimilarities of all samples to each cluster, weighted by powers of the masses."""
        return np.asarray((masses[:, self.focal_sets.singleton_positions] ** self.beta).T @ dissimilarities)

    def single(self, medoids: IntArray, dissimilarities: FloatArray) -> "Medoids":
        """Return single medoids: those of clusters as given, and those of larger sets from all samples."""
        shares = self.table / self.table.sum(axis=1, keepdims=True)
        to_medoids = dissimilarities[medoids]
        means = shares @ to_medoids
        chosen = np.empty(len(shares), dtype=np.intp)
        weights = np.zeros((len(shares), len(dissimilarities)))
        for j, members in enumerate(self.table > 0):
            if members.sum() == 1:
                chosen[j] = medoids[members][0]
                weights[j, chosen[j]] = 1
                continue
            variance = np.square(to_medoids[members] - means[j]).mean(axis=0)
            chosen[j] = np.argmin(self.unit * variance + self.kind.eta * means[j])
            np.add.at(weights[j], medoids[members], self.kind.gamma / members.sum() / (1 + self.kind.gamma))
            weights[j, chosen[j]] += 1 / (1 + self.kind.gamma)
        return Medoids.of(chosen, weights)

    def median(self, medoids: IntArray, dissimilarities: FloatArray) -> "Medoids":
        """Return medoids of clusters; larger sets have those of their clusters, and the first represents them."""
        weights = np.zeros((len(self.table), len(dissimilarities)))
        for j, members in enumerate(self.table > 0):
            np.add.at(weights[j], medoids[members], 1 / members.sum())
        return Medoids.of(medoids[self.table.argmax(axis=1)], weights)

    def at(self, model: "MedoidModel", kind: str, medoids: IntArray, dissimilarities: FloatArray) -> "MedoidModel":
        """Return a model with given medoids of clusters."""
        if kind == "median":
            distances = MedoidDissimilarities(
                dissimilarities[np.ix_(medoids, medoids)], self.kind.eta, self.kind.gamma
            )
            return replace(model, medoids=self.median(medoids, dissimilarities), medoid_dissimilarities=distances)
        return replace(model, medoids=self.single(medoids, dissimilarities))

    def weighted(self, scores: FloatArray) -> "Medoids":
        """Return weighted medoids: samples near the samples of a cluster have large weights in it."""
        cluster_weights = masses_of_costs(scores, self.kind.weight_exponent)
        weights = np.empty((len(self.table), scores.shape[1]))
        for j, members in enumerate(self.table > 0):
            member_weights = cluster_weights[members]
            if len(member_weights) == 1:
                weights[j] = member_weights[0]
                continue
            with np.errstate(divide="ignore"):  # a sample without weight in a cluster has none in the set
                exponent = self.kind.joint_weight_exponent
                joint = exponent * np.log(member_weights.min(axis=0)) if exponent else 0.0
                logs = joint - np.log(member_weights.var(axis=0) + _EPS)
            powers = np.exp(logs - logs.max()) if np.isfinite(logs.max()) else member_weights.mean(axis=0)
            weights[j] = powers / powers.sum()
        return Medoids.of(weights.argmax(axis=1), weights**self.kind.weight_exponent, weights)


@fields.stored
@dataclass(frozen=True)
class Medoids:
    """Samples that represent the nonempty sets.

    Attributes
    ----------
    chosen : ndarray of int of shape (n_focal_sets - 1,)
        Sample that represents each set, or has the largest weight.
    objects : ndarray of int of shape (n_used,)
        All samples with a factor in some distance.
    factors : ndarray of shape (n_focal_sets - 1, n_used)
        Factors of their dissimilarities in the distance to each set.
    weights : ndarray of shape (n_focal_sets - 1, n) or None
        Weights of weighted medoids; each row has sum 1.
    """

    chosen: fields.Indices
    objects: fields.Indices
    factors: fields.NonnegativeMatrix
    weights: fields.NonnegativeMatrix | None = None

    def __post_init__(self) -> None:
        check_shape("objects", self.objects, (max(len(self.objects), 1),))
        check_shape("factors", self.factors, (len(self.chosen), len(self.objects)))

    @classmethod
    def of(cls, chosen: npt.NDArray[np.intp], factors: FloatArray, weights: FloatArray | None = None) -> "Medoids":
        """Return medoids with the samples that have factors."""
        objects = np.flatnonzero(factors.any(axis=0))
        return cls(chosen, objects, np.ascontiguousarray(factors[:, objects]), weights)


@fields.stored
@dataclass(frozen=True)
class MedoidDissimilarities:
    r"""Distances to sets of clusters in median evidential c-means, as functions of those to the medoids.

    .. math::

        \bar d_{ij}^2=\frac{\gamma\,\mathrm{mean}_{k\in A_j}d_{ik}^2+\rho_{ij}\min_{k\in A_j}d_{ik}}{\gamma+1},
        \quad\rho_{ij}=\frac{\sum_{k,l\in A_j}|d_{ik}-d_{il}|}{\eta\sum_{k,l\in A_j}\tau(v_k,v_l)} .

    Attributes
    ----------
    dissimilarities : ndarray of shape (n_clusters, n_clusters)
        Dissimilarities between the medoids.
    eta : float
        Divisor of the differences between the distances to the clusters of a set.
    gamma : float
        Weight of the mean of squares.
    """

    dissimilarities: fields.NonnegativeMatrix
    eta: fields.PositiveNumber
    gamma: fields.NonnegativeNumber

    def squares(self, to_medoids: FloatArray, table: FloatArray, unit: float) -> FloatArray:
        """Return squared distances to sets, the rows of a table, from distances to medoids, in the same unit."""
        squares = np.empty((len(to_medoids), len(table)))
        for j, members in enumerate(table > 0):
            distances = to_medoids[:, members]
            if distances.shape[1] == 1:
                squares[:, j] = distances[:, 0] ** 2
                continue
            differences = np.abs(distances[:, :, None] - distances[:, None, :]).sum(axis=(1, 2))
            total = float(self.eta * self.dissimilarities[np.ix_(members, members)].sum())
            ratio = differences / total if total > 0 else 0.0  # the total is 0 if medoids coincide
            squares[:, j] = self.gamma * (distances**2).mean(axis=1) + ratio * distances.min(axis=1) / unit
            squares[:, j] /= 1 + self.gamma
        return squares


@fields.stored
@dataclass(frozen=True)
class MedoidModel:
    """Model that assigns masses to samples by their dissimilarities to medoids.

    Attributes
    ----------
    focal_sets : FocalSets
        Sets that may carry mass.
    medoids : Medoids
        Medoids of the nonempty sets.
    factors : ndarray of shape (n_focal_sets - 1,)
        Factor of the distance to each set.
    empty : float
        Cost of the empty set, in the unit of dissimilarities.
    beta : float
        Exponent of the masses.
    unit : float
        Divisor of the dissimilarities.
    medoid_dissimilarities : MedoidDissimilarities or None, default=None
        Distances to sets in median evidential c-means.
    """

    focal_sets: FocalSets
    medoids: Medoids
    factors: fields.NonnegativeVector
    empty: fields.NonnegativeExtendedNumber
    beta: Annotated[float, fields.number(1, above=True)]
    unit: fields.PositiveNumber
    medoid_dissimilarities: MedoidDissimilarities | None = None

    def __post_init__(self) -> None:
        check_shape("factors", self.factors, (len(self.focal_sets) - 1,))
        check_shape("medoids", self.medoids.chosen, (len(self.focal_sets) - 1,))
        if self.medoid_dissimilarities is not None:
            check_shape(
                "medoid_dissimilarities",
                self.medoid_dissimilarities.dissimilarities,
                (self.focal_sets.frame_size,) * 2,
            )

    def costs(self, dissimilarities: FloatArray) -> FloatArray:
        """Return the costs of all sets for samples."""
        if self.medoid_dissimilarities is None:
            costs = dissimilarities @ (self.medoids.factors * self.factors[:, None]).T
        else:
            to_medoids = dissimilarities @ self.medoids.factors[self.focal_sets.singleton_positions - 1].T
            table = self.focal_sets.membership[1:].astype(np.float64)
            costs = self.medoid_dissimilarities.squares(to_medoids, table, self.unit) * self.factors
        return np.hstack([np.full((len(costs), 1), self.empty), costs])

    def assign(self, dissimilarities: FloatArray) -> FloatArray:
        """Return the masses of new or training samples."""
        return masses_of_costs(self.costs(dissimilarities / self.unit), self.beta)


@dataclass(frozen=True)
class MedoidState:
    """Medoids, their masses and objective, and the best state so far, because the objective may increase."""

    model: MedoidModel
    masses: FloatArray
    objective: float
    best: "MedoidState | None" = None

    @classmethod
    def at(cls, model: MedoidModel, dissimilarities: FloatArray) -> "MedoidState":
        """Return the state of a model, for dissimilarities in the unit of the model."""
        costs = model.costs(dissimilarities[:, model.medoids.objects])
        masses = masses_of_costs(costs, model.beta)
        return cls(model, masses, total_cost(masses**model.beta, costs))


def medoid_step(dissimilarities: FloatArray, rule: MedoidRule, *, kind: str, tol: float) -> Step[MedoidState]:
    """Return the step that updates medoids, then masses.

    It converges if the objective does not change, or if the medoids do not change and are not weighted.
    """
    is_weighted, terms = kind == "weighted", dissimilarities**2 if kind == "median" else dissimilarities

    def step(state: MedoidState) -> tuple[MedoidState, float, bool]:
        scores = rule.scores(state.masses, terms)
        if is_weighted:
            model = replace(state.model, medoids=rule.weighted(scores))
        else:
            model = rule.at(state.model, kind, scores.argmin(axis=1), dissimilarities)
        successor, best = MedoidState.at(model, dissimilarities), state.best
        if best is None:  # the start is not a result, and its objective is not comparable
            return replace(successor, best=successor), successor.objective, False
        is_unchanged = not is_weighted and np.array_equal(model.medoids.chosen, state.model.medoids.chosen)
        has_converged = abs(state.objective - successor.objective) <= tol * abs(state.objective)
        if successor.objective <= best.objective:
            best = successor
        return replace(successor, best=best), successor.objective, bool(is_unchanged or has_converged)

    return step


def best_medoids(trace: Trace[MedoidState]) -> MedoidState:
    """Return the best state of a descent."""
    return trace.state.best or trace.state


def spread_medoids(dissimilarities: FloatArray, n_clusters: int) -> IntArray:
    """Return distant samples: the most central sample, then always the sample farthest from the previous ones."""
    chosen = [int(dissimilarities.sum(axis=1).argmin())]
    for _ in range(1, n_clusters):
        nearest = dissimilarities[chosen].min(axis=0)
        nearest[chosen] = -1
        chosen.append(int(nearest.argmax()))
    return np.array(chosen)


def hard_medoids(
    dissimilarities: FloatArray, n_clusters: int, random: np.random.RandomState, *, n_init: int
) -> IntArray:
    """Return the best medoids of crisp clusters from several starts: distant samples, and random draws of such."""
    starts = [spread_medoids(dissimilarities, n_clusters)]
    starts += [_draw_medoids(dissimilarities, n_clusters, random) for _ in range(1, n_init)]
    ends = [settle_medoids(dissimilarities, start) for start in starts]
    return min(ends, key=lambda medoids: float(dissimilarities[medoids].min(axis=0).sum()))


def settle_medoids(dissimilarities: FloatArray, medoids: IntArray) -> IntArray:
    """Alternate between crisp clusters around medoids and medoids of these clusters, until convergence."""
    for _ in range(_MAX_ROUNDS):
        labels = dissimilarities[medoids].argmin(axis=0)
        labels[medoids] = np.arange(len(medoids))  # also if medoids coincide
        updates = medoids_of(dissimilarities, labels)
        if np.array_equal(updates, medoids):
            break
        medoids = updates
    return medoids


def medoids_of(dissimilarities: FloatArray, labels: IntArray) -> IntArray:
    """Return the medoid of each crisp cluster: the member with the smallest sum of dissimilarities to others."""
    clusters = [np.flatnonzero(labels == k) for k in range(labels.max() + 1)]
    return np.array(
        [members[dissimilarities[np.ix_(members, members)].sum(axis=0).argmin()] for members in clusters]
    )


def has_drifted(dissimilarities: FloatArray, first: IntArray, last: IntArray) -> bool:
    """Return True if the sum of squared dissimilarities to the nearest medoid is much larger than at the start."""
    before, after = (float(np.square(dissimilarities[:, medoids].min(axis=1)).sum()) for medoids in (first, last))
    return after > _DRIFT * before


def exponent_of(dissimilarities: FloatArray, medoids: IntArray) -> float:
    """Return the exponent of the masses.

    In half of the samples, the nearest cluster has at least 20 times the weight of the second nearest. Masses
    decrease as a power of dissimilarities. In many dimensions dissimilarities are similar, and only a high power
    separates them.
    """
    if len(medoids) < 2:
        return _MAX_BETA
    nearest = np.partition(dissimilarities[medoids], 1, axis=0)[:2]
    positive = nearest[:, nearest[0] > 0]
    if not positive.size:
        return _MAX_BETA
    ratio = float(np.median(positive[1] / positive[0]))
    return float(np.clip(1 + np.log(ratio) / np.log(_WEIGHT_RATIO), _MIN_BETA, _MAX_BETA))


def _draw_medoids(dissimilarities: FloatArray, n_clusters: int, random: np.random.RandomState) -> IntArray:
    chosen = [int(random.randint(len(dissimilarities)))]
    for _ in range(1, n_clusters):
        weights = np.square(dissimilarities[chosen].min(axis=0))
        weights[chosen] = 0
        if not weights.any():  # all other samples coincide with the chosen ones
            weights = np.ones(len(dissimilarities))
            weights[chosen] = 0
        chosen.append(int(random.choice(len(dissimilarities), p=weights / weights.sum())))
    return np.array(chosen)
