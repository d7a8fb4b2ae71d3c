"""Credal c-means (CCM)."""

import os
from collections.abc import Callable
from functools import partial
from typing import Literal

from evlearn.belief import FocalSets
from evlearn.cluster.centroids.online import OnlineClusterer
from evlearn.cluster.centroids.scales import ResolvedParameters, ccm_costs
from evlearn.cluster.focal_families import SelectedSetsLike
from evlearn.cluster.outlier_rule import OUTLIER_RATE
from evlearn.cluster.set_costs import SetCosts
from evlearn.storage import fields
from evlearn.utils.typing import NumbersLike, RandomSeed
from evlearn.utils.validation import check_integer, check_real


@fields.stored
class CCM(OnlineClusterer):
    """k-means that marks uncertain samples and outliers. Start here.

    Credal c-means represents each cluster by a prototype, like k-means. The result shows which samples are sure,
    which are torn between clusters, and which are outliers: ``model.credal_partition_.summary()``. Scale the
    features first, as for k-means.

    A sample gives mass to a set of clusters if it is close to all of their prototypes, not only to their
    barycenter as in `ECM`.

    Extreme values become outliers and do not move the clusters. With ``delta=inf`` there are no outliers, and such
    samples raise an error.

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
    gamma : float, default=1.0
        Weight of the distance to the barycenter of a set, relative to the distances to its prototypes. With larger
        values, more samples in the middle of a set give mass to it; with 0, the barycenter is ignored.
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
    evlearn.ensemble.CredalEnsemble : Several methods combined, for clusters of unknown shape.
    evlearn.model_selection.estimate_n_clusters : Estimation of the number of clusters.
    CredalClusterer : Doubt for `sklearn.cluster.KMeans`, `sklearn.mixture.GaussianMixture` and other clusterers.
    ECM : The distance to the barycenter alone, also with a metric for each cluster.
    EVCLUS : A method for dissimilarities.

    References
    ----------
    Liu et al. (2015), Credal c-means clustering method based on belief functions,
    Knowledge-Based Systems 74, doi:10.1016/j.knosys.2014.11.013.

    Examples
    --------
    >>> from evlearn.cluster import CCM
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> X = scale(load_wine().data)
    >>> model = CCM(n_clusters=3, random_state=0).fit(X)
    >>> model.credal_partition_.summary()
    178 samples, 3 clusters
      sure           164   (92.1 %)   0: 58, 1: 49, 2: 57
      torn            13    (7.3 %)   {0,2}: 9, {1,2}: 4
      outliers         1    (0.6 %)
      sure: a belief of 0.60 or more in one cluster
    >>> model.credal_partition_.verdict().labels()[58:62].tolist()
    ['{0}', '{2}', '{2}', '{1,2}']
    """

    _takes_gaps = True

    _include_omega = False

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        focal_sets: SelectedSetsLike = "auto",
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
        store_masses: bool | str | os.PathLike[str] = True,
        checkpoint: str | os.PathLike[str] | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.focal_sets = focal_sets
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
        self.store_masses = store_masses
        self.checkpoint = checkpoint
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("n_clusters", self.n_clusters, 1)
        check_real("gamma", self.gamma, 0, 1e100)

    @property
    def _metric(self) -> str:
        return "euclidean"

    @property
    def _costs(self) -> Callable[[FocalSets, ResolvedParameters], SetCosts]:
        return partial(ccm_costs, gamma=float(self.gamma))
