"""BPEC: belief-peak evidential clustering."""

import os
from typing import Any, Literal, Self

import numpy as np

from evlearn.belief import FocalSets
from evlearn.belief.focal_sets import FocalSetsLike
from evlearn.blocks import Rows
from evlearn.cluster.centroids.adaptive import make_model
from evlearn.cluster.centroids.alternation import Model
from evlearn.cluster.centroids.clusterer import PrototypeClusterer
from evlearn.cluster.centroids.fit import PrototypeFit
from evlearn.cluster.centroids.model import Coordinates
from evlearn.cluster.centroids.scales import Chosen
from evlearn.cluster.centroids.starts import draw_plain, make_prototypes
from evlearn.cluster.neighbors.belief_peaks import delta_bel
from evlearn.cluster.outlier_rule import OUTLIER_RATE
from evlearn.cluster.set_costs import SetCosts
from evlearn.utils.convergence import warn_of_collapse, whole_or_nothing
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.typing import DataLike, FloatArray, NumbersLike, RandomSeed
from evlearn.utils.validation import check_choice, check_integer, check_real


class BPEC(PrototypeClusterer):
    r"""Belief-peak evidential clustering: centres are samples that their neighbours support as centres.

    First the samples that stand out in the δ-Bel graph are found, and with them, if wanted, the
    number of clusters. These samples are the prototypes and stay where they are; masses follow as in ECM, by
    default with a metric for each cluster. There are no starts to try and no randomness, but for samples of
    large data.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        The number of clusters; "auto" uses as many as there are peaks that stand out.
    n_neighbors : int or "auto", default="auto"
        How many neighbours say whether a sample is a centre. "auto" is a tenth of the samples, but at least 10
        and at most 100.
    q : float or None, default=0.9
        The quantile of a sample's distances to its neighbours that is its scale; None means the scale 1 for all.
    min_bel, min_delta : float or None, default=None
        With `n_clusters` "auto": use the samples above these thresholds of the δ-Bel graph as
        centres.
    focal_sets : {"auto", "full", "pairs", "simple", "neighbor_pairs"}, FocalSets or list of sets, default="auto"
        The sets of clusters that may carry mass, besides the empty set. "auto": single clusters, and pairs of
        clusters that are the nearest two of some sample, at most two pairs for each cluster; "full": all sets;
        "pairs": single clusters, and all pairs; "simple": no pairs; "neighbor_pairs": a simple fit first, then
        again with the pairs of clusters that turn out to be neighbours.
    include_omega : bool, default=True
        Whether the set of all clusters belongs to "auto", "simple", "pairs" and "neighbor_pairs".
    n_pair_neighbors : int, default=1
        For "neighbor_pairs": how many of its most similar clusters count as a cluster's neighbours.
    alpha : float or "auto", default="auto"
        How much large sets are discouraged: the squared distance to a set of k clusters counts ``k**alpha``
        times. "auto" lets a pair win near the middle of the two closest clusters, whatever the number of features;
        the papers use 1.
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
    metric : {"adaptive", "euclidean"}, default="adaptive"
        "adaptive": every cluster has its own metric, of determinant one, for clusters of different shapes.
    reg_covar : float, default=1e-6
        For "adaptive": how much of a round metric is mixed into each. Raise it when there are many features
        and few samples.
    init : "peaks" or array-like of shape (n_clusters, n_features), default="peaks"
        The prototypes, if they are known.
    max_iter : int, default=300
        The largest number of iterations.
    tol : float, default=1e-6
        An iteration that lowers the objective by less than this share of it is the last.
    random_state : int, RandomState instance or None, default=None
        The seed, for subsets of more than 20,000 samples.
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
        The prototypes: samples, up to rounding, the clearest peak first.
    n_clusters_ : int
        The number of clusters.
    metrics_ : ndarray of shape (n_clusters, n_features, n_features)
        The metrics of the clusters, if `metric` is "adaptive".
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
    alpha_ : float
        The `alpha` that was used.
    beta_ : float
        The `beta` that was used.
    objective_ : float
        The objective at the metrics and masses.
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
    delta_bel : The graph that the peaks are chosen from.
    ECM : Prototypes that move; takes peaks as a start with ``init="peaks"``.

    References
    ----------
    Su and Denœux (2019).

    Examples
    --------
    >>> from evlearn.cluster import BPEC
    >>> from evlearn.datasets import make_fourclass
    >>> X, y = make_fourclass(400, random_state=0)
    >>> BPEC(n_neighbors=50).fit(X).n_clusters_
    4
    """

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = "auto",
        *,
        n_neighbors: int | Literal["auto"] = "auto",
        q: float | None = 0.9,
        min_bel: float | None = None,
        min_delta: float | None = None,
        focal_sets: Literal["auto", "full", "pairs", "simple", "neighbor_pairs"] | FocalSetsLike = "auto",
        include_omega: bool = True,
        n_pair_neighbors: int = 1,
        alpha: float | Literal["auto"] = "auto",
        beta: float | Literal["auto"] = "auto",
        delta: float | Literal["auto"] = "auto",
        outlier_rate: float = OUTLIER_RATE,
        metric: Literal["adaptive", "euclidean"] = "adaptive",
        reg_covar: float = 1e-6,
        init: Literal["peaks"] | NumbersLike = "peaks",
        max_iter: int = 300,
        tol: float = 1e-6,
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
        masses_file: str | os.PathLike[str] | None = None,
        store_masses: bool = True,
        checkpoint: str | os.PathLike[str] | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.q = q
        self.min_bel = min_bel
        self.min_delta = min_delta
        self.focal_sets = focal_sets
        self.include_omega = include_omega
        self.n_pair_neighbors = n_pair_neighbors
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.outlier_rate = outlier_rate
        self.metric = metric
        self.reg_covar = reg_covar
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.masses_file = masses_file
        self.store_masses = store_masses
        self.checkpoint = checkpoint
        self.verbose = verbose

    @whole_or_nothing
    def fit(self, X: DataLike, y: object = None) -> Self:
        """Find the peaks, the metrics of their clusters, and the mass functions of the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, dask collection or iterable of arrays
            The samples; any kind of data that `ECM.fit` accepts.
        y : None, default=None
            Not used; present for scikit-learn's conventions.

        Returns
        -------
        Self
            The fitted estimator.
        """
        self._check_parameters()
        self._check_masses()
        with one_blas_thread(), self._opened(X, reset=True) as rows:
            fit = PrototypeFit.begin(self, rows, None)
            self._publish_fit(fit, fit.run(), rows)
        self._name_samples(X)
        return self

    def _check_parameters(self) -> None:
        check_integer("n_clusters", self.n_clusters, 1, or_auto=True)
        if not isinstance(self.n_clusters, str) and (self.min_bel is not None or self.min_delta is not None):
            raise ValueError(
                f"give n_clusters or thresholds, not both; got n_clusters={self.n_clusters} with "
                f"min_bel={self.min_bel} and min_delta={self.min_delta}."
            )
        check_real("alpha", self.alpha, 0, or_auto=True)
        check_real("reg_covar", self.reg_covar, 0, 1)
        check_choice("metric", self.metric, ("adaptive", "euclidean"))
        if isinstance(self.init, str):
            check_choice("init", self.init, ("peaks",))
        super()._check_parameters()

    def _starts(
        self, rows: Rows, sample: FloatArray, counts: FloatArray, random: np.random.RandomState
    ) -> list[FloatArray]:
        if not isinstance(self.init, str):
            n_given = len(self.init) if hasattr(self.init, "__len__") else 1
            n_clusters = n_given if isinstance(self.n_clusters, str) else self.n_clusters
            return [make_prototypes(self.init, n_clusters, sample, counts, random)]
        some = draw_plain(rows, random)
        if not isinstance(self.n_clusters, str) and len(some) < self.n_clusters:
            raise ValueError(f"n_clusters={self.n_clusters} is more than n_samples={len(some)}.")
        graph = delta_bel(some, n_neighbors=self.n_neighbors, q=self.q, n_jobs=self.n_jobs)
        return [some[graph.peaks(n_peaks=self.n_clusters, min_bel=self.min_bel, min_delta=self.min_delta)]]

    def _costs(self, focal_sets: FocalSets, chosen: Chosen) -> SetCosts:
        return SetCosts.ecm(focal_sets, alpha=chosen.alpha, beta=chosen.beta, delta=chosen.delta)

    def _make_model(
        self,
        focal_sets: FocalSets,
        coordinates: Coordinates,
        chosen: Chosen,
        prototypes: FloatArray,
        metrics: Any = None,
    ) -> Model:
        costs = self._costs(focal_sets, chosen)
        return make_model(
            self.metric, costs, coordinates, prototypes, metrics=metrics, reg_covar=self.reg_covar, fixed=True
        )

    def _warn_of_collapse(self, chosen: Chosen) -> None:
        if isinstance(self.n_clusters, str) and self.n_clusters_ == 1:
            warn_of_collapse(
                "only one peak of belief stands out, so that all samples are one cluster",
                "Look at delta_bel(X), give n_clusters or n_neighbors, or try CCM.",
            )
        else:
            super()._warn_of_collapse(chosen)

    def _publish_model(self, model: Model, chosen: Chosen) -> None:
        super()._publish_model(model, chosen)
        self.n_clusters_ = len(self.cluster_centers_)


__all__ = ["BPEC"]
