"""Evidential c-means (ECM)."""

import os
from typing import Literal

from evlearn.cluster.centroids.adaptive import AdaptiveMetric, check_metric
from evlearn.cluster.centroids.online import OnlineClusterer
from evlearn.cluster.focal_families import SelectedSetsLike
from evlearn.cluster.outlier_rule import OUTLIER_RATE
from evlearn.storage import fields
from evlearn.utils.typing import NumbersLike, RandomSeed
from evlearn.utils.validation import check_integer, check_real


@fields.stored
class ECM(OnlineClusterer):
    """Evidential c-means: k-means with samples that are torn between clusters, and outliers.

    Each cluster has a prototype, and each set of clusters has the barycenter of their prototypes. The closer a
    sample is to a barycenter, the more mass it gives to that set. A sample far from all barycenters gives mass to
    the empty set. An iteration costs 1 to 4 times as much as an iteration of k-means. Data can be larger than
    memory: Parquet files and Dask collections are processed block by block, by threads, processes or a cluster.

    Euclidean distances, the default, suit data with few features. With many features, distances become similar and
    clusters harder to separate, so reduce the number of features first, for example to principal components. If
    prototypes coincide, the fit warns.

    Extreme samples, up to the largest numbers, are outliers and do not move the clusters. With ``delta=inf`` there
    are no outliers, and such samples raise an error.

    Missing values (NaN) of data in memory increase doubt: the masses of a sample with missing values are averages
    over its completions, with additional mass on the set of all clusters.

    Parameters
    ----------
    n_clusters : int, default=3
        Number of clusters.
    focal_sets : str, FocalFamily, FocalSets or list of sets, default="auto"
        Sets of clusters that may carry mass, besides the empty set. "auto": single clusters, and pairs of clusters
        that are the nearest 2 of some sample, at most 2 pairs for each cluster; "full": all sets; "pairs": single
        clusters and all pairs; "simple": no pairs; "neighbor_pairs": a simple fit first, then a second one with
        the pairs of neighboring clusters.
    alpha : float or "auto", default="auto"
        Penalty on large sets: the squared distance to a set of k clusters is multiplied by ``k**alpha``. With
        "auto", a pair wins near the middle of the 2 closest clusters, whatever the number of features; the papers
        use 1.
    beta : float or "auto", default="auto"
        Exponent of the masses, above 1; with smaller values, fewer samples are torn. "auto" derives it from the
        widths and distances of clusters, so that masses decrease as fast as they would for Gaussian clusters; the
        papers use 2, which fails with more than about 10 features.
    delta : float or "auto", default="auto"
        Distance to the empty set: samples farther than this from all clusters are outliers, as in the papers. With
        "auto", `outlier_rate` determines which samples are outliers, and samples farther away than 95 % of the
        distances between samples do not move prototypes.
    outlier_rate : float, default=0.003
        Expected share of ordinary samples that are outliers, at most 0.5. Outliers are samples beyond a distance
        from every cluster that only this share of its own samples exceeds.
    metric : {"euclidean", "adaptive"} or AdaptiveMetric, default="euclidean"
        Metric of the clusters. With "adaptive", each cluster has a separate metric of determinant 1, for clusters
        of different shapes. Use ``AdaptiveMetric(reg_covar=...)`` for many features and few samples.
    init : str or array-like of shape (n_clusters, n_features), default="kmeans"
        Initial prototypes: "kmeans", the solution of k-means; "k-means++", samples selected by k-means++;
        "random", random samples; "peaks", belief peaks; or an array with the prototypes.
    n_init : int, default=10
        Number of starts; the best result is kept. With "kmeans", number of runs of k-means on a sample; with more
        than 50 clusters, a single run from 3 times as many prototypes.
    max_iter : int, default=300
        Maximum number of iterations.
    tol : float, default=1e-6
        Relative decrease of the objective in an iteration below which the fit has converged.
    half_life : float or None, default=None
        Number of further samples after which the weight of earlier samples in `partial_fit` is halved; with
        infinity, all samples have equal weight. None: the t-th of equal batches has a share of ``t**-0.7``, so
        that clusters converge.
    random_state : int, RandomState instance or None, default=None
        Seed, for reproducible results.
    n_jobs : int or None, default=None
        Number of workers that share the blocks of rows: threads, or the backend of ``joblib.parallel_config``. The
        result does not depend on it.
    store_masses : bool, str or path, default=True
        Destination of the masses. True: memory, for data in memory; a name that ends in ``.npy``: a memory map; a
        name that ends in ``.parquet``: a folder of Parquet files; an existing file is not replaced. False: masses
        and labels are not stored; use `predict` or `predict_mass`.
    checkpoint : str, path or None, default=None
        File or URL for the state of a long fit. If the fit is killed, the same call continues from this state; at
        the end, the file is removed.
    verbose : int, default=0
        Whether to report progress.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Prototypes.
    metrics_ : ndarray of shape (n_clusters, n_features, n_features)
        Metrics of the clusters, if `metric` is "adaptive".
    credal_partition_ : CredalPartition
        Credal partition, for data in memory or in a file of `store_masses`.
    labels_ : ndarray of int of shape (n_samples,)
        Most plausible cluster of each sample; a Dask array for Dask collections.
    masses_ : ndarray of shape (n_samples, n_focal_sets)
        Masses, read-only; a Dask array, not computed yet, for Dask collections.
    focal_sets_ : FocalSets
        Sets of the columns of the masses.
    delta_ : float
        Distance to the empty set.
    alpha_ : float
        The `alpha` that was used.
    beta_ : float
        The `beta` that was used.
    objective_ : float
        Objective at the prototypes and masses.
    objective_history_ : ndarray of shape (n_iterations + 1,)
        Objective before the first and after each iteration.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the last iteration changed the objective by less than `tol`.
    n_samples_seen_ : int
        Number of samples in calls of `fit` and `partial_fit`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X has any.

    See Also
    --------
    CCM : Recommended method, with another distance to sets, also for a cluster between 2 others.
    evlearn.open_dataset : Large data that are opened once for several fits.

    References
    ----------
    Method, adaptive metrics, and selection of pairs: Masson and Denœux (2008), Antoine
    et al. (2012), Denœux et al. (2016).

    - Masson and Denœux (2008), ECM: an evidential version of the fuzzy c-means
      algorithm, Pattern Recognition 41, doi:10.1016/j.patcog.2007.08.014.
    - Antoine et al. (2012), CECM: constrained evidential c-means algorithm,
      Computational Statistics and Data Analysis 56, doi:10.1016/j.csda.2010.09.021.
    - Denœux et al. (2016), Evidential clustering of large dissimilarity data,
      Knowledge-Based Systems 106, doi:10.1016/j.knosys.2016.05.043.

    Examples
    --------
    >>> from evlearn.cluster import ECM
    >>> from evlearn.datasets import load_butterfly
    >>> butterfly = load_butterfly()
    >>> model = ECM(n_clusters=2, random_state=0).fit(butterfly.data)
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
        focal_sets: SelectedSetsLike = "auto",
        alpha: float | Literal["auto"] = "auto",
        beta: float | Literal["auto"] = "auto",
        delta: float | Literal["auto"] = "auto",
        outlier_rate: float = OUTLIER_RATE,
        metric: Literal["euclidean", "adaptive"] | AdaptiveMetric = "euclidean",
        init: Literal["kmeans", "k-means++", "random", "peaks"] | NumbersLike = "kmeans",
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-6,
        half_life: float | None = None,
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
        store_masses: bool | str | os.PathLike[str] = True,
        checkpoint: str | os.PathLike[str] | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.focal_sets = focal_sets
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.outlier_rate = outlier_rate
        self.metric = metric
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.half_life = half_life
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.store_masses = store_masses
        self.checkpoint = checkpoint
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("n_clusters", self.n_clusters, 1)
        check_real("alpha", self.alpha, 0, or_auto=True)
        check_metric(self.metric)
