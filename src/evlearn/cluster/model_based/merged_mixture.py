"""MergedMixture: clusters of any shape, each several components of a Gaussian mixture."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from evlearn.belief import FocalSets
from evlearn.blocks.open import is_elsewhere
from evlearn.cluster.centroids.robust_kmeans import rows_to_fit
from evlearn.cluster.outlier_rule import OUTLIER_RATE, OutlierRule, Segments
from evlearn.cluster.rowwise import RowwiseClusterer
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.mixture.bootstrap import GaussianReplicates
from evlearn.mixture.em import Mixture
from evlearn.mixture.units import Units
from evlearn.partition import CredalPartition
from evlearn.utils.convergence import ignoring_collapse, warn_of_collapse, whole_or_nothing
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.progress import expect
from evlearn.utils.typing import FloatArray, IntArray, RandomSeed
from evlearn.utils.validation import check_integer, check_real, check_shape

# How many components are tried beyond the number of clusters, and how many samples each should have.
_MORE_COMPONENTS = 8
_OBJECTS_EACH = 10
#: There are no outliers if more than this share of the samples is infinitely far from components without them.
_MOST_BEYOND = 0.1


class MergedMixture(RowwiseClusterer):
    r"""Clusters that are bent, or of any shape: components of a Gaussian mixture, merged where they overlap.

    A single ellipsoid cannot follow a bent cluster, but a few of them can. A Gaussian mixture is fitted with as
    many components as the data call for (by BIC, at least one for each cluster). Then the two that overlap most
    are merged, again and again, until there are as many clusters as asked for. Two overlap if samples of each are
    often given to the other. The masses are the probabilities of the merged clusters.

    A few samples very far from all clusters are treated as gross errors: the mixture is fitted without them, and
    they are given masses as new samples are. Samples far from all components, compared with the samples of each,
    are outliers; see `outlier_rate`.

    Missing values (NaN) become doubt: the masses of a sample with gaps are those that it would have on average,
    and what remains open is mass on the set of all clusters.

    Parameters
    ----------
    n_clusters : int, default=3
        The number of clusters.
    component_numbers : "auto", int or list of int, default="auto"
        The number of components of the mixture, or numbers among which the Bayesian information criterion chooses.
        "auto" tries from `n_clusters` to eight more, as long as there are ten samples for each.
    covariance_models : "auto", str or list of str, default="VVV"
        Covariance models among which the criterion chooses; see `ParsimoniousGaussianMixture`.
    variance_floor : float, default=0.1
        The smallest variance of a component, as a share of the variances of the features within the clusters of
        its starts. Components that are merged may be rounder than those that have to be clusters themselves.
    outlier_rate : float, default=0.003
        The expected share of ordinary samples that are outliers, at most 0.5. Outliers are samples beyond a
        distance from every cluster that so few of its own samples exceed.
    n_init : int, default=3
        How many starts each mixture has.
    tol : float, default=1e-5
        An iteration of EM that raises the mean log-likelihood of a sample by less than this is the last.
    max_iter : int, default=500
        The largest number of iterations of EM.
    random_state : int, RandomState instance or None, default=None
        The seed, for results that can be repeated.
    n_jobs : int or None, default=None
        How many mixtures are fitted at the same time, and how many threads predict. The result does not depend on
        it.
    verbose : int, default=0
        Whether to print the criterion of each mixture.

    Attributes
    ----------
    credal_partition_ : CredalPartition
        The result: mass on single clusters, and on the empty set for outliers. With ``outlier_rate=0``, samples a
        million standard deviations from all components have all mass on the set of all clusters.
    labels_ : ndarray of int of shape (n_samples,)
        The most plausible cluster of each sample.
    masses_ : ndarray of shape (n_samples, n_clusters + 2)
        The masses, read-only.
    focal_sets_ : FocalSets
        What the columns of the masses stand for.
    mixture_ : ParsimoniousGaussianMixture
        The mixture before components were merged.
    components_ : ndarray of int of shape (n_components,)
        The cluster of each component.
    n_iter_ : int
        The number of iterations of EM.
    converged_ : bool
        Whether the likelihood settled.
    overlaps_ : ndarray of shape (n_components - n_clusters,)
        The overlap of the two clusters of each merger, in their order: a last one that is far smaller than those
        before says that fewer mergers, so more clusters, would do.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str
        The names of the features, where X has any.

    See Also
    --------
    evlearn.cluster.BootClus : How sure a mixture can be, where every component is a cluster.
    evlearn.cluster.EVCLUS : Clusters from dissimilarities, also with constraints.

    References
    ----------
    Hennig (2010).

    Examples
    --------
    >>> from evlearn.cluster import MergedMixture
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.05, random_state=0)
    >>> model = MergedMixture(2, random_state=0).fit(X)
    >>> model.mixture_.n_components_ > 2
    True
    >>> int(min((model.labels_ != y).sum(), (model.labels_ == y).sum()))
    0
    """

    _takes_gaps = True

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        component_numbers: Literal["auto"] | int | Sequence[int] = "auto",
        covariance_models: str | Sequence[str] = "VVV",
        variance_floor: float = 0.1,
        outlier_rate: float = OUTLIER_RATE,
        n_init: int = 3,
        tol: float = 1e-5,
        max_iter: int = 500,
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.component_numbers: Any = component_numbers
        self.covariance_models = covariance_models
        self.variance_floor = variance_floor
        self.outlier_rate = outlier_rate
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @whole_or_nothing
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Fit the mixture, and merge its components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : None, default=None
            Not used; present for scikit-learn's conventions.

        Returns
        -------
        MergedMixture
            The fitted estimator.
        """
        check_integer("n_clusters", self.n_clusters, 1)
        check_real("outlier_rate", self.outlier_rate, 0, 0.5)
        if is_elsewhere(X):
            raise ValueError(
                f"MergedMixture needs data in memory, and X is {type(X).__name__}; give an array or a frame."
            )
        numbers = self._read(X, reset=True)
        data = self._filled(numbers, self.n_clusters)
        expect(1)
        ordinary = data[rows_to_fit(data, self.n_clusters)]
        self.mixture_ = self._fit_mixture(ordinary)
        shares = self.mixture_.predict_proba(ordinary)
        self.components_, self.overlaps_ = merge(shares, self.n_clusters)
        self.n_iter_, self.converged_ = self.mixture_.n_iter_, self.mixture_.converged_
        self.focal_sets_ = FocalSets.simple(self.n_clusters)
        units = Units.of(ordinary)
        mixture = GaussianReplicates(units.mixture_to(_stacked(self.mixture_)), units)
        self._model = MergedModel(
            mixture=mixture,
            outliers=self._outlier_rule(mixture.squared_distances(ordinary), shares),
            components=self.components_,
            focal_sets=self.focal_sets_,
        )
        self._check_evidence(len(data), self.n_clusters)
        with one_blas_thread():
            masses = self._model_for(numbers).assign(numbers.data)
        self._publish(CredalPartition(masses, self.focal_sets_, validate=False))
        self._learn_gaps(ordinary, self.n_clusters)
        self._name_samples(X)
        small = np.flatnonzero(np.bincount(self.labels_, minlength=self.n_clusters) < 2)
        if 0 < len(small) < self.n_clusters:
            warn_of_collapse(
                f"clusters {small.tolist()} of {self.n_clusters} have one sample at most",
                "Try fewer clusters or fewer components, or remove outliers first.",
            )
        return self

    def _fit_mixture(self, data: FloatArray) -> ParsimoniousGaussianMixture:
        mixture = ParsimoniousGaussianMixture(
            self._component_numbers(len(data)),
            covariance_models=self.covariance_models,
            variance_floor=self.variance_floor,
            n_init=self.n_init,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=check_random_state(self.random_state).randint(np.iinfo(np.int32).max),
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        with ignoring_collapse("components .* have one sample at most"):  # a component is no cluster yet
            return mixture.fit(data)

    def _outlier_rule(self, squares: FloatArray, shares: FloatArray) -> OutlierRule | None:
        """Return the rule from distances of samples left out; None if components have too few samples for it."""
        if self.outlier_rate == 0:
            return None
        counts = (
            shares.sum(axis=0) if self.mixture_.model_.endswith("V") else np.full(shares.shape[1], len(shares))
        )
        distances = np.sqrt(left_out(squares, shares, counts))
        if np.isinf(distances.min(axis=1)).mean() > _MOST_BEYOND:
            return None
        return OutlierRule.learn(distances, np.ones(len(distances)), self.outlier_rate, Segments.none())

    def _component_numbers(self, n_samples: int) -> list[int]:
        if self.n_clusters > n_samples:
            raise ValueError(f"n_clusters={self.n_clusters} is more than the {n_samples} samples; give fewer.")
        if isinstance(self.component_numbers, str) and self.component_numbers == "auto":
            most = min(self.n_clusters + _MORE_COMPONENTS, n_samples // _OBJECTS_EACH)
            return list(range(self.n_clusters, max(most, self.n_clusters) + 1))
        given = self.component_numbers
        several = isinstance(given, Iterable) and not isinstance(given, str)
        numbers = list(given) if several else [given]
        for number in numbers:
            check_integer("component_numbers", number, self.n_clusters, or_auto=True)
        if not numbers or max(numbers) > n_samples:
            raise ValueError(
                f"component_numbers must hold at least one number, none of them above n_samples={n_samples}; got "
                f"{given!r}."
            )
        return numbers


@dataclass(frozen=True, kw_only=True)
class MergedModel:
    """A mixture whose components belong to clusters: what gives a row its masses.

    Attributes
    ----------
    mixture : GaussianReplicates
        The mixture, as the only one of its kind.
    components : ndarray of int of shape (n_components,)
        The cluster of each component.
    focal_sets : FocalSets
        The empty set, single clusters, and all of them.
    outliers : OutlierRule or None, default=None
        The reaches of the components, in standard deviations; None if there are no outliers.
    """

    mixture: GaussianReplicates
    components: IntArray
    focal_sets: FocalSets
    outliers: OutlierRule | None = None

    def __post_init__(self) -> None:
        # Compiled code reads these without looking.
        check_shape("components", self.components, (self.mixture.mixtures.means.shape[1],))
        if self.outliers is not None:
            check_shape("reaches", self.outliers.reaches, self.components.shape)
        if len(self.mixture) != 1:
            raise ValueError(f"mixture must hold one mixture, got {len(self.mixture)}.")
        if set(self.components.tolist()) != set(range(self.focal_sets.frame_size)):
            raise ValueError("components must name each cluster of focal_sets, and no other.")

    def assign(self, rows: Any, weights: Any = None) -> FloatArray:
        """Return the masses of rows."""
        n_clusters = self.focal_sets.frame_size
        shares = self.mixture.posterior(np.asarray(rows, dtype=np.float64))[:, :, 0]
        sums = shares @ np.eye(n_clusters)[self.components]
        totals = sums.sum(axis=1)
        nowhere = totals == 0
        masses = np.zeros((len(rows), len(self.focal_sets)), dtype=rows.dtype)
        masses[:, self.focal_sets.singleton_positions] = sums / np.where(nowhere, 1, totals)[:, None]
        masses[nowhere, -1] = 1
        if self.outliers is None:
            return masses
        squares = self.mixture.squared_distances(np.asarray(rows, dtype=np.float64))
        return self.outliers.apply(masses, squares, Segments.none())


def merge(shares: FloatArray, n_clusters: int) -> tuple[IntArray, FloatArray]:
    r"""Merge components of a mixture until few enough are left, always the two that overlap most.

    The overlap of j and k is the smaller of both probabilities that a sample of one is given to the other,
    :math:`\sum_ip_{ij}[k=\arg\max_lp_{il}]/\sum_ip_{ij}`. With the larger one, as in Hennig (2010), a small
    component beside a large cluster is enough to join it to another.

    Returns
    -------
    clusters : ndarray of int of shape (n_components,)
        The cluster of each component, numbered by their first components.
    overlaps : ndarray of shape (n_components - n_clusters,)
        The overlap of the two that were merged.
    """
    shares, clusters, overlaps = shares.copy(), np.arange(shares.shape[1]), []
    while shares.shape[1] > n_clusters:
        given = np.eye(shares.shape[1])[shares.argmax(axis=1)]
        errors = shares.T @ given / np.maximum(shares.sum(axis=0), np.finfo(float).tiny)[:, None]
        np.fill_diagonal(errors, -1.0)
        overlap = np.minimum(errors, errors.T)
        first, second = sorted(int(place) for place in np.unravel_index(overlap.argmax(), overlap.shape))
        overlaps.append(overlap[first, second])
        shares[:, first] += shares[:, second]
        shares = np.delete(shares, second, axis=1)
        clusters[clusters == second] = first
        clusters[clusters > second] -= 1
    return clusters, np.array(overlaps)


def left_out(squares: FloatArray, shares: FloatArray, counts: FloatArray) -> FloatArray:
    """Return squared Mahalanobis distances to components from whose mean and covariance a sample is left out.

    A covariance matrix of few samples in many dimensions fits them too closely: new samples are farther away.
    Distances are infinite if nothing in a direction is left without the sample.
    """
    rest = counts - shares
    with np.errstate(divide="ignore", invalid="ignore"):
        lever = 1 - shares * squares / rest
        return np.where((lever > 0) & (rest > 0), squares * counts / rest / lever, np.inf)


def _stacked(mixture: ParsimoniousGaussianMixture) -> Mixture:
    return Mixture(*(array[None] for array in (mixture.weights_, mixture.means_, mixture.covariances_)))


__all__ = ["MergedMixture", "MergedModel", "merge"]
