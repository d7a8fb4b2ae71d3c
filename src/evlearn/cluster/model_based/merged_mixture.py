"""MergedMixture: clusters of any shape, each consisting of components of a Gaussian mixture."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from evlearn.belief import FocalSets
from evlearn.blocks.open import needs_blocks
from evlearn.cluster.centroids.kmeans import rows_to_fit
from evlearn.cluster.outlier_rule import OUTLIER_RATE, OutlierRule, Segments
from evlearn.cluster.row_clusterer import RowwiseClusterer
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.mixture.bootstrap import GaussianReplicates
from evlearn.mixture.em import Mixture, Units
from evlearn.partition import CredalPartition
from evlearn.storage import fields
from evlearn.utils.convergence import atomic_fit, ignoring_collapse, warn_of_collapse
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.progress import expect_tasks
from evlearn.utils.typing import FloatArray, IntArray, RandomSeed
from evlearn.utils.validation import check_integer, check_real, check_shape

# Maximum number of components in addition to the number of clusters, and minimum number of samples per component.
_EXTRA_COMPONENTS = 8
_SAMPLES_EACH = 10
_MIXTURE_PARAMS = {"variance_floor": 0.1, "n_init": 3, "tol": 1e-5, "max_iter": 500}
#: Share of samples at an infinite distance to components without them above which there is no rule for outliers.
_MAX_INFINITE_SHARE = 0.1


@fields.stored
class MergedMixture(RowwiseClusterer):
    r"""Clustering by merging overlapping components of a Gaussian mixture, for clusters of any shape.

    A single ellipsoid cannot represent a curved cluster, but several ellipsoids can. A Gaussian mixture is fitted
    whose number of components minimizes BIC, with at least 1 component for each cluster. Then the 2 clusters with
    the largest overlap are merged repeatedly, until their number is `n_clusters`. Clusters overlap if many samples
    of each are assigned to the other. The masses are the probabilities of the merged clusters.

    A few samples very far from all clusters are treated as gross errors: the mixture is fitted without them, and
    they get masses like new samples. Samples far from all components, compared with the samples of each, are
    outliers; see `outlier_rate`.

    Missing values (NaN) increase doubt: the masses of a sample with missing values are averages over its
    completions, with additional mass on the set of all clusters.

    The method is often sure of wrong labels, so its doubt is not suitable for the selection of samples to review;
    `evlearn.ensemble.CredalEnsemble` combines it with others.

    Parameters
    ----------
    n_clusters : int, default=3
        Number of clusters.
    component_numbers : "auto", int or list of int, default="auto"
        Number of components of the mixture, or numbers among which the Bayesian information criterion selects one.
        "auto": from `n_clusters` to `n_clusters` + 8, with at least 10 samples for each component.
    covariance_models : "auto", str or list of str, default="VVV"
        Covariance models among which the criterion selects one; see `ParsimoniousGaussianMixture`.
    mixture_params : dict or None, default=None
        Further parameters of the `ParsimoniousGaussianMixture`. By default ``variance_floor=0.1``, because merged
        components may be rounder than entire clusters, ``n_init=3``, ``tol=1e-5`` and
        ``max_iter=500``.
    outlier_rate : float, default=0.003
        Expected share of ordinary samples that are outliers, at most 0.5. Outliers are samples beyond a distance
        from every cluster that only this share of its own samples exceeds.
    random_state : int, RandomState instance or None, default=None
        Seed, for reproducible results.
    n_jobs : int or None, default=None
        Number of mixtures that are fitted in parallel, and number of threads for predictions. The result does not
        depend on it.
    verbose : int, default=0
        Whether to print the criterion of each mixture.

    Attributes
    ----------
    credal_partition_ : CredalPartition
        Credal partition, with mass on single clusters, and on the empty set for outliers. With
        ``outlier_rate=0``, samples that are a million standard deviations from all components have all mass on the
        set of all clusters.
    labels_ : ndarray of int of shape (n_samples,)
        Most plausible cluster of each sample.
    masses_ : ndarray of shape (n_samples, n_clusters + 2)
        Masses, read-only.
    focal_sets_ : FocalSets
        Sets of the columns of the masses.
    mixture_ : ParsimoniousGaussianMixture
        Mixture before components are merged.
    components_ : ndarray of int of shape (n_components,)
        Cluster of each component.
    n_iter_ : int
        Number of EM iterations.
    converged_ : bool
        Whether the likelihood converged.
    overlaps_ : ndarray of shape (n_components - n_clusters,)
        Overlap of the 2 clusters of each merger, in order. If the last value is much smaller than the others, more
        clusters may be appropriate.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X has any.

    See Also
    --------
    evlearn.cluster.BootClus : Uncertainty of a mixture in which every component is a cluster.
    evlearn.cluster.EVCLUS : Clustering of dissimilarities, also with constraints.

    References
    ----------
    Hennig (2010), Methods for merging Gaussian mixture components, Advances in Data
    Analysis and Classification 4, doi:10.1007/s11634-010-0058-3.

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

    _model: "fields.Stored[MergedModel]"
    components_: fields.StoredIfSet[fields.Indices]
    overlaps_: fields.StoredIfSet[fields.Vector]

    _takes_gaps = True

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        component_numbers: Literal["auto"] | int | Sequence[int] = "auto",
        covariance_models: str | Sequence[str] = "VVV",
        mixture_params: Mapping[str, Any] | None = None,
        outlier_rate: float = OUTLIER_RATE,
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.component_numbers: Any = component_numbers
        self.covariance_models = covariance_models
        self.mixture_params = mixture_params
        self.outlier_rate = outlier_rate
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @atomic_fit
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Fit the mixture, and merge its components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : None, default=None
            Not used; present for API consistency.

        Returns
        -------
        Self
            Fitted estimator.
        """
        check_integer("n_clusters", self.n_clusters, 1)
        check_real("outlier_rate", self.outlier_rate, 0, 0.5)
        if needs_blocks(X):
            raise ValueError(
                f"MergedMixture needs data in memory, but X is {type(X).__name__}; use an array or a frame."
            )
        numbers = self._read_data(X, reset=True)
        data = self._fill_missing(numbers, self.n_clusters)
        expect_tasks(1)
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
            random_state=check_random_state(self.random_state).randint(np.iinfo(np.int32).max),
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            **{**_MIXTURE_PARAMS, **(self.mixture_params or {})},
        )
        with ignoring_collapse("components .* have one sample at most"):  # a component need not be a cluster
            return mixture.fit(data)

    def _outlier_rule(self, squares: FloatArray, shares: FloatArray) -> OutlierRule | None:
        """Return the rule from leave-one-out distances; None if components have too few samples for it."""
        if self.outlier_rate == 0:
            return None
        counts = (
            shares.sum(axis=0) if self.mixture_.model_.endswith("V") else np.full(shares.shape[1], len(shares))
        )
        distances = np.sqrt(leave_one_out_squares(squares, shares, counts))
        if np.isinf(distances.min(axis=1)).mean() > _MAX_INFINITE_SHARE:
            return None
        return OutlierRule.learn(distances, np.ones(len(distances)), self.outlier_rate, Segments.empty())

    def _component_numbers(self, n_samples: int) -> list[int]:
        if self.n_clusters > n_samples:
            raise ValueError(
                f"n_clusters={self.n_clusters} is more than n_samples={n_samples}; use fewer clusters."
            )
        if isinstance(self.component_numbers, str) and self.component_numbers == "auto":
            largest = min(self.n_clusters + _EXTRA_COMPONENTS, n_samples // _SAMPLES_EACH)
            return list(range(self.n_clusters, max(largest, self.n_clusters) + 1))
        is_list = isinstance(self.component_numbers, Iterable) and not isinstance(self.component_numbers, str)
        numbers = list(self.component_numbers) if is_list else [self.component_numbers]
        for number in numbers:
            check_integer("component_numbers", number, self.n_clusters, or_auto=True)
        if not numbers or max(numbers) > n_samples:
            raise ValueError(
                f"component_numbers must contain numbers of at most n_samples={n_samples}, got "
                f"{self.component_numbers!r}."
            )
        return numbers

    def _after_loading(self) -> None:
        """Raise unless the attributes from a file are consistent."""
        super()._after_loading()
        model = self._model
        mixture = model.mixture
        _, n_components, n_features = mixture.mixtures.means.shape
        fields.check_features(self, n_features)
        mixture.posterior(mixture.units.center[None])  # raises if a covariance matrix is singular
        check_shape("components_", self.__dict__.get("components_"), (n_components,))
        if not np.array_equal(
            model.focal_sets.membership, FocalSets.simple(model.focal_sets.frame_size).membership
        ):
            raise ValueError("its sets must be the single clusters and the set of all clusters")


@fields.stored
@dataclass(frozen=True, kw_only=True)
class MergedModel:
    """Model that assigns masses to rows, by a mixture whose components belong to clusters.

    Attributes
    ----------
    mixture : GaussianReplicates
        A single mixture.
    components : ndarray of int of shape (n_components,)
        Cluster of each component.
    focal_sets : FocalSets
        The empty set, single clusters, and the set of all clusters.
    outliers : OutlierRule or None, default=None
        Rule with reaches of the components, in standard deviations; None if there are no outliers.
    """

    mixture: GaussianReplicates
    components: fields.Indices
    focal_sets: FocalSets
    outliers: OutlierRule | None = None

    def __post_init__(self) -> None:
        # Compiled code reads these arrays without bounds checks.
        check_shape("components", self.components, (self.mixture.mixtures.means.shape[1],))
        if self.outliers is not None:
            check_shape("reaches", self.outliers.reaches, self.components.shape)
        if len(self.mixture) != 1:
            raise ValueError(f"mixture must contain a single mixture, got {len(self.mixture)}.")
        if set(self.components.tolist()) != set(range(self.focal_sets.frame_size)):
            raise ValueError(
                f"components must contain all numbers from 0 to {self.focal_sets.frame_size - 1} and no others."
            )

    def assign(self, rows: Any, weights: Any = None) -> FloatArray:
        """Return the masses of rows."""
        n_clusters = self.focal_sets.frame_size
        shares = self.mixture.posterior(np.asarray(rows, dtype=np.float64))[:, :, 0]
        sums = shares @ np.eye(n_clusters)[self.components]
        totals = sums.sum(axis=1)
        remote = totals == 0
        masses = np.zeros((len(rows), len(self.focal_sets)), dtype=rows.dtype)
        masses[:, self.focal_sets.singleton_positions] = sums / np.where(remote, 1, totals)[:, None]
        masses[remote, -1] = 1
        if self.outliers is None:
            return masses
        squares = self.mixture.squared_distances(np.asarray(rows, dtype=np.float64))
        return self.outliers.apply(masses, squares, Segments.empty())


def merge(shares: FloatArray, n_clusters: int) -> tuple[IntArray, FloatArray]:
    r"""Merge the 2 clusters of components with the largest overlap, until their number is `n_clusters`.

    The overlap of j and k is the smaller of the 2 probabilities that a sample of one is assigned to the other,
    :math:`\sum_ip_{ij}[k=\arg\max_lp_{il}]/\sum_ip_{ij}`. With the larger probability, as in Hennig (2010), a
    small component near a large cluster would be sufficient to connect it to another.

    Returns
    -------
    clusters : ndarray of int of shape (n_components,)
        Cluster of each component, in the order of first components.
    overlaps : ndarray of shape (n_components - n_clusters,)
        Overlap of the merged clusters, for each merger.
    """
    shares, clusters, overlaps = shares.copy(), np.arange(shares.shape[1]), []
    while shares.shape[1] > n_clusters:
        assignments = np.eye(shares.shape[1])[shares.argmax(axis=1)]
        errors = shares.T @ assignments / np.maximum(shares.sum(axis=0), np.finfo(float).tiny)[:, None]
        np.fill_diagonal(errors, -1.0)
        overlap = np.minimum(errors, errors.T)
        first, second = sorted(int(position) for position in np.unravel_index(overlap.argmax(), overlap.shape))
        overlaps.append(overlap[first, second])
        shares[:, first] += shares[:, second]
        shares = np.delete(shares, second, axis=1)
        clusters[clusters == second] = first
        clusters[clusters > second] -= 1
    return clusters, np.array(overlaps)


def leave_one_out_squares(squares: FloatArray, shares: FloatArray, counts: FloatArray) -> FloatArray:
    """Return squared Mahalanobis distances of samples to components that are estimated without the sample.

    A covariance matrix of few samples in many dimensions overfits them, so new samples are farther away. Distances
    are infinite if the components without the sample have no variance in a direction.
    """
    rest = counts - shares
    with np.errstate(divide="ignore", invalid="ignore"):
        leverage = 1 - shares * squares / rest
        return np.where((leverage > 0) & (rest > 0), squares * counts / rest / leverage, np.inf)


def _stacked(mixture: ParsimoniousGaussianMixture) -> Mixture:
    return Mixture(*(array[None] for array in (mixture.weights_, mixture.means_, mixture.covariances_)))
