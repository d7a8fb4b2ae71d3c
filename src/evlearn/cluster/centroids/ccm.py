"""CCM: credal c-means."""

import os
from typing import Literal, Self

from numpy.typing import ArrayLike

from evlearn.belief import FocalSets
from evlearn.belief.focal_sets import FocalSetsLike
from evlearn.cluster.centroids.online import OnlineClusterer
from evlearn.cluster.centroids.scales import Chosen
from evlearn.cluster.outlier_rule import OUTLIER_RATE
from evlearn.cluster.set_costs import SetCosts
from evlearn.utils.convergence import whole_or_nothing
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.typing import DataLike, NumbersLike, RandomSeed
from evlearn.utils.validation import check_integer, check_real


class CCM(OnlineClusterer):
    r"""Credal c-means: like ECM, for clusters of which one may lie between two others.

    A sample gives mass to a set of clusters if it is near to all of their prototypes, and not only near to the
    barycentre: the middle cluster of three in a row keeps its samples, which ECM shares with the set of the two
    outer ones.

    Samples far from all others, up to the largest numbers, are outliers and leave the clusters where they are.
    With ``delta=inf``, where there are no outliers, data with such samples are refused.

    Missing values (NaN) of data in memory become doubt: the masses of a sample with gaps are those that it would
    have on average, and what remains open is mass on the set of all clusters.

    Parameters
    ----------
    n_clusters : int, default=3
        The number of clusters.
    focal_sets : {"auto", "full", "pairs", "simple", "neighbor_pairs"}, FocalSets or list of sets, default="auto"
        The sets of clusters that may carry mass, besides the empty set. "auto": single clusters, and pairs of
        clusters that are the nearest two of some sample, at most two pairs for each cluster; "full": all sets;
        "pairs": single clusters, and all pairs; "simple": no pairs; "neighbor_pairs": a simple fit first, then
        again with the pairs of clusters that turn out to be neighbours.
    include_omega : bool, default=False
        Whether the set of all clusters belongs to "auto", "simple", "pairs" and "neighbor_pairs".
    n_pair_neighbors : int, default=1
        For "neighbor_pairs": how many of its most similar clusters count as a cluster's neighbours.
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
    half_life : float or None, default=None
        For `partial_fit`: after how many more samples earlier ones count half; with infinity all samples count
        alike. None: the t-th of equal portions has a share of ``t**-0.7``, so that clusters settle.
    random_state : int, RandomState instance or None, default=None
        The seed, for results that can be repeated.
    n_jobs : int or None, default=None
        How many workers share the blocks of rows: threads, or what ``joblib.parallel_config`` says. The result
        does not depend on it.
    masses_file : str, path or None, default=None
        Where the masses go: None for memory (and nowhere for data that are not in memory), or a name that ends in
        ``.npy`` for a memory map, or in ``.parquet`` for a folder of Parquet files. An existing file is not
        replaced.
    store_masses : bool, default=True
        False: a fit keeps no masses and no labels; ask `predict` or `predict_mass`.
    checkpoint : str, path or None, default=None
        A file, or a URL, for the state of a long fit. If the fit is killed, the same call goes on from there; when
        it ends, the file is removed.
    verbose : int, default=0
        Whether to report progress, iteration by iteration.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The prototypes.
    credal_partition_ : CredalPartition
        The result, for data in memory or with `masses_file`.
    labels_ : ndarray of int of shape (n_samples,)
        The most plausible cluster of each sample; a Dask array for Dask collections.
    masses_ : ndarray of shape (n_samples, n_focal_sets)
        The masses, read-only; a Dask array, not computed yet, for Dask collections.
    focal_sets_ : FocalSets
        What the columns of the masses stand for.
    delta_ : float
        The distance to the empty set.
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
    n_samples_seen_ : int
        How many samples `fit` and `partial_fit` have seen.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str
        The names of the features, where X has any.

    See Also
    --------
    ECM : The distance to the barycentre alone; the faster choice where no cluster lies between others.

    References
    ----------
    Liu et al. (2015).

    Examples
    --------
    >>> from evlearn.cluster import CCM
    >>> from evlearn.datasets import load_butterfly
    >>> butterfly = load_butterfly()
    >>> model = CCM(n_clusters=2, random_state=0).fit(butterfly.data)
    >>> model.credal_partition_.summary()
    12 samples, 2 clusters
      sure            10   (83.3 %)   0: 5, 1: 5
      torn             1    (8.3 %)   Ω (any cluster): 1
      outliers         1    (8.3 %)
      sure: a belief of 0.60 or more in one cluster
    """

    _takes_gaps = True

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        focal_sets: Literal["auto", "full", "pairs", "simple", "neighbor_pairs"] | FocalSetsLike = "auto",
        include_omega: bool = False,
        n_pair_neighbors: int = 1,
        gamma: float = 1.0,
        beta: float | Literal["auto"] = "auto",
        delta: float | Literal["auto"] = "auto",
        outlier_rate: float = OUTLIER_RATE,
        init: Literal["kmeans", "k-means++", "random", "peaks"] | NumbersLike = "kmeans",
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-6,
        half_life: float | None = None,
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
        masses_file: str | os.PathLike[str] | None = None,
        store_masses: bool = True,
        checkpoint: str | os.PathLike[str] | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.focal_sets = focal_sets
        self.include_omega = include_omega
        self.n_pair_neighbors = n_pair_neighbors
        self.gamma = gamma
        self.beta = beta
        self.delta = delta
        self.outlier_rate = outlier_rate
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.half_life = half_life
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.masses_file = masses_file
        self.store_masses = store_masses
        self.checkpoint = checkpoint
        self.verbose = verbose

    @whole_or_nothing
    def fit(self, X: DataLike, y: object = None, *, sample_weight: ArrayLike | None = None) -> Self:
        """Find the prototypes, and the mass functions of the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, dask collection or iterable of arrays
            The samples: an array, a memory map, a pandas or polars frame; the path of a Parquet file or of a
            folder of them; a Dask array or DataFrame; or something that gives array after array, each with some
            of the rows.
        y : None, default=None
            Not used; present for scikit-learn's conventions.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts: 2 is as if it were there twice.

        Returns
        -------
        Self
            The fitted estimator.
        """
        self._check_parameters()
        self._check_masses()
        with one_blas_thread(), self._opened(X, reset=True) as rows:
            fit = self._begin(rows, sample_weight)
            self._publish_fit(fit, fit.run(), rows)
        self._name_samples(X)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("n_clusters", self.n_clusters, 1)
        check_integer("n_init", self.n_init, 1)
        check_real("gamma", self.gamma, 0, 1e100)

    @property
    def _metric(self) -> str:
        return "euclidean"

    def _costs(self, focal_sets: FocalSets, chosen: Chosen) -> SetCosts:
        return SetCosts.ccm(focal_sets, gamma=float(self.gamma), beta=chosen.beta, delta=chosen.delta)


__all__ = ["CCM"]
