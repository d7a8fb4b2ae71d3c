"""SECM: spatial evidential c-means."""

from copy import copy
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from evlearn.belief import FocalSets
from evlearn.belief.focal_sets import FocalSetsLike
from evlearn.blocks import ArrayRows, Rows
from evlearn.blocks.open import is_elsewhere
from evlearn.blocks.targets import check_out
from evlearn.cluster.centroids.clusterer import PrototypeClusterer
from evlearn.cluster.centroids.fit import PrototypeFit, look_at
from evlearn.cluster.centroids.model import FARTHEST
from evlearn.cluster.centroids.neighborhoods import Neighborhoods
from evlearn.cluster.centroids.scales import Chosen
from evlearn.cluster.centroids.weights import check_weights
from evlearn.cluster.outlier_rule import OUTLIER_RATE
from evlearn.cluster.set_costs import SetCosts
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import with_names_of
from evlearn.utils.convergence import whole_or_nothing
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.typing import DataLike, FloatArray, GraphLike, NumbersLike, PathLike, RandomSeed
from evlearn.utils.validation import check_choice, check_integer, check_real


class SECM(PrototypeClusterer):
    r"""Spatial evidential c-means: samples have neighbours, such as the pixels of an image, and learn from them.

    The distance of a sample to a set of clusters is averaged with those of its neighbours. Noise of single pixels
    goes, and what remains in doubt is where something ends: an edge, or a voxel that holds two tissues. An
    iteration costs as much as one of ECM, whatever the graph is. For images and volumes there is
    `evlearn.cluster.segment_image`, which makes the graph.

    Clusters are numbered by the first feature of where they start: those of an image go from dark to bright.
    Predictions for new samples, which have no neighbours, are made with plain distances, unless `predict_mass` is
    given their graph.

    Parameters
    ----------
    n_clusters : int, default=3
        The number of clusters.
    connectivity : sparse matrix, array-like of shape (n_samples, n_samples), callable or None, default=None
        Which samples are neighbours, as in scikit-learn: weights of neighbours, zero for all other pairs, for
        instance by ``sklearn.feature_extraction.image.grid_to_graph`` or ``sklearn.neighbors.kneighbors_graph``;
        or a function that makes such a graph of X. The diagonal does not count. None: no sample has neighbours, as
        in ECM.
    neighbor_share : float or "auto", default="auto"
        The share of the neighbours, together, in an averaged distance, from 0 (none, as in ECM) to 1 (the sample
        itself does not count). "auto" uses more of them the more noise there is beside edges; without edges, each
        neighbour as much as the sample itself.
    cost : {"ecm", "ccm"}, default="ecm"
        The distance of a sample to a set of clusters: that to its barycentre, as in ECM, or a mean of those to
        barycentre and prototypes, as in CCM.
    focal_sets : {"auto", "full", "pairs", "simple", "neighbor_pairs"}, FocalSets or list of sets, default="auto"
        The sets of clusters that may carry mass, besides the empty set. "auto": single clusters, and pairs of
        clusters that are the nearest two of some sample, at most two pairs for each cluster; "full": all sets;
        "pairs": single clusters, and all pairs; "simple": no pairs; "neighbor_pairs": a simple fit first, then
        again with the pairs of clusters that turn out to be neighbours.
    include_omega : bool, default=False
        Whether the set of all clusters belongs to "auto", "simple", "pairs" and "neighbor_pairs".
    n_pair_neighbors : int, default=1
        For "neighbor_pairs": how many of its most similar clusters count as a cluster's neighbours.
    alpha : float or "auto", default="auto"
        How much large sets are discouraged: the squared distance to a set of k clusters counts ``k**alpha``
        times. "auto" lets a pair win near the middle of the two closest clusters, whatever the number of features;
        the papers use 1.
    gamma : float, default=1.0
        The weight of the distance to the barycentre of a set, beside those to its prototypes. 0 leaves it out; the
        larger it is, the more samples in the middle of a set give mass to it.
    beta : float or "auto", default="auto"
        The exponent of the masses, above 1: nearer to 1, samples are more decided. "auto" chooses it by the width
        of clusters and the gaps between them, so that masses fall as fast as they would for Gaussian clusters; the
        papers use 2, which fails beyond about ten features.
    delta : float or "auto", default="auto"
        The distance to the empty set: samples that are farther than this from all clusters are outliers, as in
        the papers. With "auto", `outlier_rate` decides which samples are outliers, and samples that are farther
        away than 95 % of the pairs of samples are from each other do not move prototypes.
    outlier_rate : float, default=0.003
        The expected share of ordinary samples that are outliers, at most 0.5. Outliers are samples beyond a
        distance from every cluster that so few of its own samples exceed.
    init : str or array-like of shape (n_clusters, n_features), default="kmeans"
        Where prototypes start: "kmeans", at the solution of k-means; "k-means++", at samples spread by k-means++;
        "random", at random samples; "peaks", at peaks of belief; or at given points.
    n_init : int, default=10
        How many times to start; the best result is kept. With "kmeans", k-means has that many starts, on
        a sample; with more than 50 clusters once, from three times as many prototypes.
    max_iter : int, default=300
        The largest number of iterations.
    tol : float, default=1e-6
        An iteration that lowers the objective by less than this share of it is the last.
    random_state : int, RandomState instance or None, default=None
        The seed, for results that can be repeated.
    n_jobs : int or None, default=None
        How many workers share the blocks of rows: threads, or what ``joblib.parallel_config`` says. The result
        does not depend on it.
    verbose : int, default=0
        Whether to report progress, iteration by iteration.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The prototypes.
    credal_partition_ : CredalPartition
        The result, for data in memory.
    labels_ : ndarray of int of shape (n_samples,)
        The most plausible cluster of each sample; a Dask array for Dask collections.
    masses_ : ndarray of shape (n_samples, n_focal_sets)
        The masses, read-only; a Dask array, not computed yet, for Dask collections.
    focal_sets_ : FocalSets
        What the columns of the masses stand for.
    neighbor_share_ : float
        The `neighbor_share` that was used.
    delta_ : float
        The distance to the empty set.
    alpha_ : float
        The `alpha` that was used.
    beta_ : float
        The `beta` that was used.
    objective_ : float
        The objective at the prototypes and masses.
    objective_history_ : ndarray of shape (n_iterations + 1,)
        The objective before the first and after each iteration.
    n_iter_ : int
        The number of iterations.
    converged_ : bool
        Whether the last iteration changed the objective by less than `tol`.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str
        The names of the features, where X has any.

    See Also
    --------
    segment_image : The same for an image or a volume, in one call.
    ECM : For samples that have no neighbours.

    References
    ----------
    Distances averaged over neighbours: Lelandais et al. (2014), Makni et al. (2014), Lian et al. (2018).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.feature_extraction.image import grid_to_graph
    >>> from evlearn.cluster import SECM
    >>> truth = np.repeat([[0] * 10 + [1] * 10], 20, axis=0)
    >>> image = truth + np.random.default_rng(0).normal(scale=0.4, size=truth.shape)
    >>> X = image.reshape(-1, 1)
    >>> model = SECM(2, connectivity=grid_to_graph(20, 20), random_state=0).fit(X)
    >>> errors = model.labels_ != truth.ravel()
    >>> errors_without_neighbors = model.predict(X) != truth.ravel()
    >>> int(errors.sum()), int(errors_without_neighbors.sum())
    (5, 45)
    """

    masses_file = None
    checkpoint = None
    _predicts_its_fit = False

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        connectivity: GraphLike | None = None,
        neighbor_share: float | Literal["auto"] = "auto",
        cost: Literal["ecm", "ccm"] = "ecm",
        focal_sets: Literal["auto", "full", "pairs", "simple", "neighbor_pairs"] | FocalSetsLike = "auto",
        include_omega: bool = False,
        n_pair_neighbors: int = 1,
        alpha: float | Literal["auto"] = "auto",
        gamma: float = 1.0,
        beta: float | Literal["auto"] = "auto",
        delta: float | Literal["auto"] = "auto",
        outlier_rate: float = OUTLIER_RATE,
        init: Literal["kmeans", "k-means++", "random", "peaks"] | NumbersLike = "kmeans",
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-6,
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.connectivity = connectivity
        self.neighbor_share = neighbor_share
        self.cost = cost
        self.focal_sets = focal_sets
        self.include_omega = include_omega
        self.n_pair_neighbors = n_pair_neighbors
        self.alpha = alpha
        self.gamma = gamma
        self.beta = beta
        self.delta = delta
        self.outlier_rate = outlier_rate
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @whole_or_nothing
    def fit(self, X: DataLike, y: object = None, *, sample_weight: ArrayLike | None = None) -> Self:
        """Find the prototypes, and the mass functions of the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, dask collection or iterable of arrays
            The samples; with `connectivity`, in memory.
        y : None, default=None
            Not used; present for scikit-learn's conventions.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of each sample, also as a neighbor: a sample of weight 2 counts like 2 samples with the same
            neighbors, and one of weight 0 does not count.

        Returns
        -------
        Self
            The fitted estimator.
        """
        self._check_parameters()
        self._refuse_elsewhere(X, self.connectivity)
        with one_blas_thread(), self._opened(X, reset=True) as rows:
            fit = self._begin(rows, sample_weight)
            self._publish_fit(fit, fit.run(), fit.rows)
        self._name_samples(X)
        return self

    def predict_mass(
        self, X: DataLike, *, connectivity: GraphLike | None = None, out: PathLike | None = None
    ) -> Any:
        """The mass functions of samples, new or old.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, dask collection or iterable of arrays
            The samples; any kind of data that `fit` accepts.
        connectivity : sparse matrix, array-like of shape (n_samples, n_samples), callable or None, default=None
            Who of these samples is beside whom, if their distances are to be averaged as those of the fit.
        out : str, path or None, default=None
            Where the masses go: None for memory, or a name that ends in ``.npy`` for a memory map, or in
            ``.parquet`` for a folder of Parquet files. An existing file is not replaced.

        Returns
        -------
        CredalPartition, Path or dask array
            A mass function for each sample, with the row names of a pandas frame; the folder if `out` is one of
            Parquet files; a Dask array of masses, not computed yet, if X is a Dask collection on a cluster and
            `out` is None.
        """
        given: Any = X
        if connectivity is None:
            return super().predict_mass(given, out=out)
        check_is_fitted(self)
        check_out(out)
        self._refuse_elsewhere(X, connectivity)
        with one_blas_thread(), self._opened(X, reset=False) as rows:
            numbers = _all_of(rows)
            averaged = Neighborhoods.of(connectivity, numbers).average(numbers, self.neighbor_share_)
            found = self._masses(ArrayRows(averaged), out)
        return with_names_of(X, found) if isinstance(found, CredalPartition) else found

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("n_clusters", self.n_clusters, 1)
        check_integer("n_init", self.n_init, 1)
        check_real("neighbor_share", self.neighbor_share, 0, 1, or_auto=True)
        check_choice("cost", self.cost, ("ecm", "ccm"))
        check_real("alpha", self.alpha, 0, or_auto=True)
        check_real("gamma", self.gamma, 0, 1e100)

    def _refuse_elsewhere(self, X: Any, connectivity: Any) -> None:
        if connectivity is not None and is_elsewhere(X):
            raise ValueError(
                f"connectivity needs data in memory, and X is {type(X).__name__}; give an array or a frame."
            )

    def _begin(self, rows: Rows, sample_weight: Any) -> PrototypeFit:
        """A fit to the rows, or to the means and spreads of their neighbourhoods."""
        self.neighbor_share_ = 0.0
        if self.connectivity is not None:
            numbers = _all_of(rows)
            beside = Neighborhoods.of(self.connectivity, numbers, check_weights(sample_weight, rows))
            given = self.neighbor_share
            self.neighbor_share_ = beside.best_share(numbers) if isinstance(given, str) else float(given)
        if self.neighbor_share_ == 0:
            return PrototypeFit.begin(self, rows, sample_weight)
        averaged = beside.average(numbers, self.neighbor_share_)
        method = copy(self)
        method._beyond = _mean_square(averaged[:, -1], sample_weight)
        if isinstance(self.delta, str):  # of the samples themselves: their means are nearer to each other
            random = check_random_state(self.random_state)
            method.delta = look_at(rows, check_weights(sample_weight, rows), self.delta, random).delta
        # Starts, and what is "auto", by the means; the spreads are a column that prototypes do not move in.
        fit = PrototypeFit.begin(method, ArrayRows(np.ascontiguousarray(averaged[:, :-1])), sample_weight)
        return replace(fit, rows=ArrayRows(averaged))

    def _starts(
        self, rows: Rows, sample: FloatArray, counts: FloatArray, random: np.random.RandomState
    ) -> list[FloatArray]:
        starts = super()._starts(rows, sample, counts, random)
        return [one[np.lexsort(one.T[::-1])] for one in starts] if isinstance(self.init, str) else starts

    @property
    def _metric(self) -> str:
        return "euclidean"

    def _costs(self, focal_sets: FocalSets, chosen: Chosen) -> SetCosts:
        if self.cost == "ecm":
            return SetCosts.ecm(focal_sets, alpha=chosen.alpha, beta=chosen.beta, delta=chosen.delta)
        return SetCosts.ccm(focal_sets, gamma=float(self.gamma), beta=chosen.beta, delta=chosen.delta)


def _all_of(rows: Rows) -> FloatArray:
    assert isinstance(rows, ArrayRows)
    return np.asarray(rows.read(0, len(rows)))


def _mean_square(spreads: FloatArray, sample_weight: Any) -> float:
    """The mean of squared spreads, but for those too large for squares."""
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    squares = np.minimum(spreads.astype(np.float64), FARTHEST) ** 2
    return float(np.average(squares, weights=weights))


__all__ = ["SECM"]
