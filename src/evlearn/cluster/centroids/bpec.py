"""Belief-peak evidential clustering (BPEC)."""

import os
from collections.abc import Sized
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from evlearn.blocks import RowDataset
from evlearn.cluster.centroids.adaptive import AdaptiveMetric, Model, check_metric
from evlearn.cluster.centroids.clusterer import PrototypeClusterer
from evlearn.cluster.centroids.scales import ResolvedParameters
from evlearn.cluster.centroids.starts import Starts, draw_rows, make_prototypes
from evlearn.cluster.focal_families import SelectedSetsLike
from evlearn.cluster.neighbors.belief_peaks import belief_peaks
from evlearn.cluster.outlier_rule import OUTLIER_RATE
from evlearn.storage import fields
from evlearn.utils.convergence import atomic_fit, warn_of_collapse
from evlearn.utils.typing import DataLike, FloatArray, NumbersLike, RandomSeed
from evlearn.utils.validation import check_choice, check_integer, check_real


@fields.stored
class BPEC(PrototypeClusterer):
    """Belief-peak evidential clustering: prototypes are samples that their neighbors support as centers.

    The samples that stand out in the graph of `belief_peaks` are the prototypes, and their number is the default
    number of clusters. Prototypes do not move. Masses are those of ECM, by default with a metric for each cluster.
    There are no restarts, and the result is not random, except for subsamples of large data.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        Number of clusters; "auto" uses the number of peaks that stand out.
    n_neighbors : int or "auto", default="auto"
        Number of neighbors that determine whether a sample is a center. "auto" is 10 % of the samples, but at
        least 10 and at most 100.
    q : float or None, default=0.9
        Quantile of a sample's distances to its neighbors that is its scale; None means a scale of 1 for all
        samples.
    min_bel, min_delta : float or None, default=None
        Thresholds of the graph of `belief_peaks` above which samples are centers, if `n_clusters` is "auto".
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
    metric : {"adaptive", "euclidean"} or AdaptiveMetric, default="adaptive"
        Metric of the clusters. With "adaptive", each cluster has a separate metric of determinant 1, for clusters
        of different shapes. Use ``AdaptiveMetric(reg_covar=...)`` for many features and few samples.
    init : "peaks" or array-like of shape (n_clusters, n_features), default="peaks"
        Prototypes: belief peaks, or an array.
    max_iter : int, default=300
        Maximum number of iterations.
    tol : float, default=1e-6
        Relative decrease of the objective in an iteration below which the fit has converged.
    random_state : int, RandomState instance or None, default=None
        Seed, for subsets of more than 20,000 samples.
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
        Prototypes: samples up to rounding, the clearest peak first.
    n_clusters_ : int
        Number of clusters.
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
        Objective at the metrics and masses.
    objective_history_ : ndarray of shape (n_iterations + 1,)
        Objective before the first and after each iteration.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the last iteration changed the objective by less than `tol`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X has any.

    See Also
    --------
    belief_peaks : Graph from which the peaks are selected.
    ECM : Prototypes that move; with ``init="peaks"``, they start at the peaks.

    References
    ----------
    Su and Denœux (2019), BPEC: belief-peaks evidential clustering, IEEE Transactions on
    Fuzzy Systems 27, doi:10.1109/TFUZZ.2018.2869125.

    Examples
    --------
    >>> from evlearn.cluster import BPEC
    >>> from evlearn.datasets import make_fourclass
    >>> X, y = make_fourclass(400, random_state=0)
    >>> BPEC(n_neighbors=50).fit(X).n_clusters_
    4
    """

    _has_fixed_prototypes = True

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = "auto",
        *,
        n_neighbors: int | Literal["auto"] = "auto",
        q: float | None = 0.9,
        min_bel: float | None = None,
        min_delta: float | None = None,
        focal_sets: SelectedSetsLike = "auto",
        alpha: float | Literal["auto"] = "auto",
        beta: float | Literal["auto"] = "auto",
        delta: float | Literal["auto"] = "auto",
        outlier_rate: float = OUTLIER_RATE,
        metric: Literal["adaptive", "euclidean"] | AdaptiveMetric = "adaptive",
        init: Literal["peaks"] | NumbersLike = "peaks",
        max_iter: int = 300,
        tol: float = 1e-6,
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
        store_masses: bool | str | os.PathLike[str] = True,
        checkpoint: str | os.PathLike[str] | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.q = q
        self.min_bel = min_bel
        self.min_delta = min_delta
        self.focal_sets = focal_sets
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.outlier_rate = outlier_rate
        self.metric = metric
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.store_masses = store_masses
        self.checkpoint = checkpoint
        self.verbose = verbose

    @atomic_fit
    def fit(self, X: DataLike, y: object = None) -> Self:
        """Find the peaks, the metrics of their clusters, and the mass functions of the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, dask collection or iterable of arrays
            Samples; any kind of data that `ECM.fit` accepts.
        y : None, default=None
            Not used; present for API consistency.

        Returns
        -------
        Self
            Fitted estimator.
        """
        self._check_parameters()
        return self._fit(X, None)

    def _check_parameters(self) -> None:
        check_integer("n_clusters", self.n_clusters, 1, or_auto=True)
        if not isinstance(self.n_clusters, str) and (self.min_bel is not None or self.min_delta is not None):
            raise ValueError(
                f"give n_clusters or thresholds, not both; got n_clusters={self.n_clusters} with "
                f"min_bel={self.min_bel} and min_delta={self.min_delta}."
            )
        check_real("alpha", self.alpha, 0, or_auto=True)
        check_metric(self.metric)
        if isinstance(self.init, str):
            check_choice("init", self.init, ("peaks",))
        super()._check_parameters()

    @property
    def _starts(self) -> Starts:
        n_clusters = None if isinstance(self.n_clusters, str) else self.n_clusters
        return _PeakStarts(
            self.init,
            n_clusters,
            n_neighbors=self.n_neighbors,
            q=self.q,
            min_bel=self.min_bel,
            min_delta=self.min_delta,
            n_jobs=self.n_jobs,
        )

    def _warn_of_collapse(self, parameters: ResolvedParameters) -> None:
        if isinstance(self.n_clusters, str) and self.n_clusters_ == 1:
            warn_of_collapse(
                "only one peak of belief stands out, so all samples are in one cluster",
                "Inspect belief_peaks(X), set n_clusters or n_neighbors, or use CCM.",
            )
        else:
            super()._warn_of_collapse(parameters)

    def _publish_model(self, model: Model, parameters: ResolvedParameters) -> None:
        super()._publish_model(model, parameters)
        self.n_clusters_ = len(self.cluster_centers_)


@dataclass(frozen=True, kw_only=True)
class _PeakStarts(Starts):
    """Prototypes at belief peaks, or as given."""

    n_neighbors: int | Literal["auto"]
    q: float | None
    min_bel: float | None
    min_delta: float | None
    n_jobs: int | None

    def draw(
        self, rows: RowDataset, sample: FloatArray, counts: FloatArray, random: np.random.RandomState
    ) -> list[FloatArray]:
        """Return the initial prototypes of the only start."""
        if not isinstance(self.init, str):
            n_given = len(self.init) if isinstance(self.init, Sized) else 1
            return [make_prototypes(self.init, self.n_clusters or n_given, sample, counts, random)]
        points = draw_rows(rows, random)
        if self.n_clusters is not None and len(points) < self.n_clusters:
            raise ValueError(f"n_clusters={self.n_clusters} is more than n_samples={len(points)}.")
        graph = belief_peaks(points, n_neighbors=self.n_neighbors, q=self.q, n_jobs=self.n_jobs)
        n_peaks: int | Literal["auto"] = "auto" if self.n_clusters is None else self.n_clusters
        return [points[graph.peaks(n_peaks=n_peaks, min_bel=self.min_bel, min_delta=self.min_delta)]]
