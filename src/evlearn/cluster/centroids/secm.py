r"""Spatial evidential c-means (SECM), and segmentation of images and volumes.

With shares :math:`w_{it}` that sum to 1 over a sample and its neighbors, their mean
:math:`\tilde x_i=\sum_tw_{it}x_t` and their spread :math:`u_i^2=\sum_tw_{it}\|x_t-\tilde x_i\|^2`,

.. math:: \sum_tw_{it}\|x_t-v\|^2=\|\tilde x_i-v\|^2+u_i^2\quad\text{for every point }v .

So the averaged cost of every set of clusters is its cost for a row :math:`(\tilde x_i,u_i)` whose last column is 0
in all prototypes. This requires one product with the graph before a fit, and no additional work in its iterations.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from evlearn.belief import FocalSets
from evlearn.blocks import ArrayDataset, RowDataset
from evlearn.blocks.dataset import check_weights
from evlearn.blocks.open import needs_blocks
from evlearn.blocks.targets import check_out
from evlearn.cluster.centroids.clusterer import PrototypeClusterer
from evlearn.cluster.centroids.fit import FittedPrototypes, PrototypeFit
from evlearn.cluster.centroids.model import FARTHEST
from evlearn.cluster.centroids.scales import ResolvedParameters, ccm_costs, ecm_costs
from evlearn.cluster.centroids.starts import Starts, summarize_data
from evlearn.cluster.focal_families import SelectedSetsLike
from evlearn.cluster.outlier_rule import OUTLIER_RATE
from evlearn.cluster.set_costs import SetCosts
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import with_names_of
from evlearn.storage import fields
from evlearn.utils.chunks import row_blocks
from evlearn.utils.convergence import atomic_fit
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.quantiles import weighted_quantile
from evlearn.utils.typing import (
    BoolArray,
    DataLike,
    FloatArray,
    GraphLike,
    IntArray,
    NumbersLike,
    PathLike,
    RandomSeed,
)
from evlearn.utils.validation import check_choice, check_integer, check_real, check_sparse

_BLOCK_ROWS = 1 << 16
#: Median absolute value of a standard normal distribution.
_NORMAL_MEDIAN = 0.6744897501960817


@fields.stored
class SECM(PrototypeClusterer):
    """Spatial evidential c-means: ECM for samples with neighbors, such as the pixels of an image.

    The distance of a sample to a set of clusters is averaged with those of its neighbors. This removes noise of
    single pixels, and doubt remains at boundaries: at an edge, or in a voxel that contains 2 tissues. An iteration
    costs as much as one of ECM, whatever the graph is. For images and volumes, `evlearn.cluster.segment_image`
    creates the graph.

    Clusters are sorted by the first feature of their initial prototypes: those of an image go from dark to bright.
    Predictions for new samples use plain distances, unless `predict_mass` gets a graph of their neighbors.

    Parameters
    ----------
    n_clusters : int, default=3
        Number of clusters.
    connectivity : sparse matrix, array-like of shape (n_samples, n_samples), callable or None, default=None
        Graph of neighbors, as in scikit-learn: weights of neighbors, and 0 for all other pairs, for example from
        ``sklearn.feature_extraction.image.grid_to_graph`` or ``sklearn.neighbors.kneighbors_graph``; or a function
        that returns such a graph of X. The diagonal is ignored. None: samples have no neighbors, as in ECM.
    neighbor_share : float or "auto", default="auto"
        Share of the neighbors, together, in an averaged distance, from 0 (none, as in ECM) to 1 (the sample itself
        is ignored). "auto" uses a larger share the more noise there is beside edges; without edges, each neighbor
        counts as much as the sample itself.
    cost : {"ecm", "ccm"}, default="ecm"
        Distance of a sample to a set of clusters: the distance to its barycenter, as in ECM, or a mean of the
        distances to barycenter and prototypes, as in CCM.
    focal_sets : str, FocalFamily, FocalSets or list of sets, default="auto"
        Sets of clusters that may carry mass, besides the empty set. "auto": single clusters, and pairs of clusters
        that are the nearest 2 of some sample, at most 2 pairs for each cluster; "full": all sets; "pairs": single
        clusters and all pairs; "simple": no pairs; "neighbor_pairs": a simple fit first, then a second one with
        the pairs of neighboring clusters.
    alpha : float or "auto", default="auto"
        Penalty on large sets: the squared distance to a set of k clusters is multiplied by ``k**alpha``. With
        "auto", a pair wins near the middle of the 2 closest clusters, whatever the number of features; the papers
        use 1.
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
    random_state : int, RandomState instance or None, default=None
        Seed, for reproducible results.
    n_jobs : int or None, default=None
        Number of workers that share the blocks of rows: threads, or the backend of ``joblib.parallel_config``. The
        result does not depend on it.
    verbose : int, default=0
        Whether to report progress.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Prototypes.
    credal_partition_ : CredalPartition
        Credal partition, for data in memory.
    labels_ : ndarray of int of shape (n_samples,)
        Most plausible cluster of each sample; a Dask array for Dask collections.
    masses_ : ndarray of shape (n_samples, n_focal_sets)
        Masses, read-only; a Dask array, not computed yet, for Dask collections.
    focal_sets_ : FocalSets
        Sets of the columns of the masses.
    neighbor_share_ : float
        The `neighbor_share` that was used.
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
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X has any.

    See Also
    --------
    segment_image : Segmentation of an image or a volume in a single call.
    ECM : Method for samples without neighbors.

    References
    ----------
    Distances averaged over neighbors: Lelandais et al. (2014), Makni et al. (2014),
    Lian et al. (2018).

    - Lelandais et al. (2014), Fusion of multi-tracer PET images for dose painting,
      Medical Image Analysis 18, doi:10.1016/j.media.2014.06.014.
    - Makni et al. (2014), Introducing spatial neighbourhood in evidential c-means for
      segmentation of multi-source images: application to prostate multi-parametric MRI,
      Information Fusion 19, doi:10.1016/j.inffus.2012.04.002.
    - Lian et al. (2018), Spatial evidential clustering with adaptive distance metric
      for tumor segmentation in FDG-PET images, IEEE Transactions on Biomedical
      Engineering 65, doi:10.1109/TBME.2017.2688453.

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

    checkpoint = None
    _predicts_its_fit = False

    _include_omega = False

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        connectivity: GraphLike | None = None,
        neighbor_share: float | Literal["auto"] = "auto",
        cost: Literal["ecm", "ccm"] = "ecm",
        focal_sets: SelectedSetsLike = "auto",
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

    @atomic_fit
    def fit(self, X: DataLike, y: object = None, *, sample_weight: ArrayLike | None = None) -> Self:
        """Find the prototypes and the mass functions of the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, dask collection or iterable of arrays
            Samples; with `connectivity`, in memory.
        y : None, default=None
            Not used; present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each sample, also as a neighbor: a weight of 2 is equivalent to 2 equal samples with the same
            neighbors, and a weight of 0 to none.

        Returns
        -------
        Self
            Fitted estimator.
        """
        self._check_parameters()
        self._check_in_memory(X, self.connectivity)
        return self._fit(X, sample_weight)

    def predict_mass(
        self, X: DataLike, *, connectivity: GraphLike | None = None, out: PathLike | None = None
    ) -> Any:
        """Compute the mass functions of samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, dask collection or iterable of arrays
            Samples; any kind of data that `fit` accepts.
        connectivity : sparse matrix, array-like of shape (n_samples, n_samples), callable or None, default=None
            Graph of neighbors of these samples, if their distances are to be averaged as in the fit.
        out : str, path or None, default=None
            Destination of the masses: None for memory, a name that ends in ``.npy`` for a memory map, or a name
            that ends in ``.parquet`` for a folder of Parquet files. An existing file is not replaced.

        Returns
        -------
        CredalPartition, Path or dask array
            Mass function of each sample, with the row names of a pandas frame; the folder if `out` is a folder of
            Parquet files; a Dask array, not computed yet, if X is a Dask collection on a cluster and `out` is
            None.
        """
        data: Any = X
        if connectivity is None:
            return super().predict_mass(data, out=out)
        check_is_fitted(self)
        check_out(out)
        self._check_in_memory(X, connectivity)
        with one_blas_thread(), self._open_rows(X, reset=False) as rows:
            values = _read_all(rows)
            averaged = Neighborhoods.of(connectivity, values).average(values, self.neighbor_share_)
            masses = self._masses(ArrayDataset(averaged), out)
        return with_names_of(X, masses) if isinstance(masses, CredalPartition) else masses

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("n_clusters", self.n_clusters, 1)
        check_real("neighbor_share", self.neighbor_share, 0, 1, or_auto=True)
        check_choice("cost", self.cost, ("ecm", "ccm"))
        check_real("alpha", self.alpha, 0, or_auto=True)
        check_real("gamma", self.gamma, 0, 1e100)

    def _check_in_memory(self, X: Any, connectivity: Any) -> None:
        if connectivity is not None and needs_blocks(X):
            raise ValueError(
                f"connectivity needs data in memory, but X is {type(X).__name__}; use an array or a frame."
            )

    def _begin(self, rows: RowDataset, sample_weight: Any, **changes: Any) -> PrototypeFit:
        """Return a fit to the rows, or to the means and spreads of their neighborhoods."""
        self.neighbor_share_ = 0.0
        if self.connectivity is not None:
            data = _read_all(rows)
            neighborhoods = Neighborhoods.of(self.connectivity, data, check_weights(sample_weight, rows))
            share = self.neighbor_share
            self.neighbor_share_ = neighborhoods.best_share(data) if isinstance(share, str) else float(share)
        if self.neighbor_share_ == 0:
            return super()._begin(rows, sample_weight, **changes)
        averaged = neighborhoods.average(data, self.neighbor_share_)
        changes["mean_squared_offset"] = _mean_square(averaged[:, -1], sample_weight)
        if isinstance(self.delta, str):  # for the samples themselves, because their means are closer to each other
            random = check_random_state(self.random_state)
            changes["delta"] = summarize_data(rows, check_weights(sample_weight, rows), None, random).delta
        # Starts and parameters are derived from the means; the spreads are a column in which prototypes do not
        # move.
        means = ArrayDataset(np.ascontiguousarray(averaged[:, :-1]))
        return replace(super()._begin(means, sample_weight, **changes), rows=ArrayDataset(averaged))

    def _publish_fit(self, fitted: FittedPrototypes, rows: RowDataset) -> None:
        super()._publish_fit(fitted, fitted.rows)

    @property
    def _starts(self) -> Starts:
        return _SortedStarts(self.init, self.n_clusters, self.n_init)

    @property
    def _metric(self) -> str:
        return "euclidean"

    @property
    def _costs(self) -> Callable[[FocalSets, ResolvedParameters], SetCosts]:
        return ecm_costs if self.cost == "ecm" else partial(ccm_costs, gamma=float(self.gamma))


@dataclass(frozen=True)
class _SortedStarts(Starts):
    """Starts whose prototypes are sorted by their first feature, unless they are given."""

    def draw(
        self, rows: RowDataset, sample: FloatArray, counts: FloatArray, random: np.random.RandomState
    ) -> list[FloatArray]:
        """Return the initial prototypes of each start."""
        starts = super().draw(rows, sample, counts, random)
        return [start[np.lexsort(start.T[::-1])] for start in starts] if isinstance(self.init, str) else starts


def _read_all(rows: RowDataset) -> FloatArray:
    assert isinstance(rows, ArrayDataset)
    return np.asarray(rows.read_rows(0, len(rows)))


def _mean_square(spreads: FloatArray, sample_weight: Any) -> float:
    """Return the mean of squared spreads, clipped so that squares are finite."""
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    squares = np.minimum(spreads.astype(np.float64), FARTHEST) ** 2
    return float(np.average(squares, weights=weights))


@dataclass(frozen=True)
class Neighborhoods:
    """Neighbors of samples, and their shares.

    Attributes
    ----------
    weights : csr_array of shape (n_samples, n_samples)
        Shares of the neighbors of each sample, without the sample itself. They sum to 1, or to 0 if there are
        none.
    counts : ndarray of shape (n_samples,)
        Weight of each sample.
    """

    weights: Any
    counts: FloatArray

    @classmethod
    def of(cls, connectivity: GraphLike, rows: FloatArray, sample_weight: Any = None) -> "Neighborhoods":
        """Return the neighborhoods of a graph, or of a function that returns a graph of the rows.

        A neighbor of weight 2 counts like 2 neighbors, and a neighbor of weight 0 does not count.
        """
        matrix: Any = connectivity(rows) if callable(connectivity) else connectivity
        check_sparse("connectivity", matrix)
        matrix = matrix if sparse.issparse(matrix) else np.asarray(matrix)
        shape = (len(rows), len(rows))
        if matrix.shape != shape:
            raise ValueError(
                f"connectivity must be a graph of the {len(rows)} samples of X, of shape {shape}, "
                f"got {matrix.shape}."
            )
        graph = sparse.csr_array(matrix, dtype=np.float64, copy=True)
        if not np.isfinite(graph.data).all() or (graph.data < 0).any():
            raise ValueError("connectivity must contain finite weights that are not negative.")
        graph.sum_duplicates()
        source = _sources(graph)
        graph.data[source == graph.indices] = 0  # grid_to_graph connects every pixel with itself
        counts = np.ones(len(rows)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        graph.data *= counts[graph.indices]
        graph.eliminate_zeros()
        total = np.asarray(graph.sum(axis=1)).ravel()
        graph.data /= total[_sources(graph)]
        return cls(graph, counts)

    def best_share(self, rows: FloatArray) -> float:
        """Return the share of the neighbors for which averages are, in expectation, nearest to rows without noise.

        With noise of variance :math:`s^2` and a mean squared distance :math:`R` of rows to the mean of their
        neighbors, the expected error for a share r is :math:`r^2R+2s^2(1-r)` up to a constant (Stein's unbiased
        risk estimate). The noise is estimated from the smaller half of the differences, because differences at
        edges are not only noise.
        """
        source, n_rows = _sources(self.weights), len(rows)
        is_used = self._have_neighbors & (self.counts > 0)
        if not is_used.any():
            return 0.0
        counts = self.counts[is_used]
        rows = np.asarray(rows, dtype=np.float64)
        differences = (rows - self.weights @ rows)[is_used]
        # The mean of the neighbors is noisy, too; a neighbor of weight 2 has the noise of 2 neighbors.
        squares = self.weights.data**2 / self.counts[self.weights.indices]
        mean_variances = np.bincount(source, squares, n_rows)[is_used]
        steps = np.abs(differences) / np.sqrt(1 + mean_variances)[:, None]
        if (counts == 1).all():
            middle = np.median(steps, axis=0)
        else:
            times = counts / min(1.0, counts.min())
            middle = np.array([weighted_quantile(column, times, 0.5) for column in steps.T])
        with np.errstate(over="ignore"):
            noise = float(((middle / _NORMAL_MEDIAN) ** 2).sum())
            total = float(np.average(differences**2, axis=0, weights=counts).sum())
        return (
            min(noise / total, 1 / (1 + float(np.average(mean_variances, weights=counts)))) if total > 0 else 0.0
        )

    def average(self, rows: FloatArray, share: float) -> FloatArray:
        """Return rows of neighborhood means with a last column of spreads, in the precision of the rows."""
        shares = np.where(self._have_neighbors, share, 0.0)
        out = np.empty((len(rows), rows.shape[1] + 1), dtype=rows.dtype)
        for block in row_blocks(len(rows), _BLOCK_ROWS):
            with np.errstate(over="ignore", invalid="ignore"):
                out[block] = _average(self.weights[block], rows, rows[block], shares[block])
            has_overflow = ~np.isfinite(out[block]).all(axis=1)
            out[block][has_overflow, :-1], out[block][has_overflow, -1] = (
                rows[block][has_overflow],
                np.finfo(rows.dtype).max,
            )
        return out

    @property
    def _have_neighbors(self) -> BoolArray:
        return np.asarray(np.diff(self.weights.indptr) > 0)


def _average(graph: Any, rows: FloatArray, centers: FloatArray, shares: FloatArray) -> FloatArray:
    """Return means and spreads of rows, computed from differences so that no digits are lost."""
    source = _sources(graph)
    steps = np.asarray(rows[graph.indices], dtype=np.float64) - centers[source]
    shift = (
        np.column_stack([np.bincount(source, graph.data * column, len(centers)) for column in steps.T])
        * shares[:, None]
    )
    squares = graph.data * ((steps - shift[source]) ** 2).sum(axis=1)
    spread = shares * np.bincount(source, squares, len(centers)) + (1 - shares) * (shift**2).sum(axis=1)
    return np.column_stack([centers + shift, np.sqrt(spread)])


def _sources(graph: Any) -> Any:
    """Return the row of each stored value."""
    return np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))


@dataclass(frozen=True)
class ImageSegmentation:
    """Result of `segment_image`.

    Attributes
    ----------
    labels : ndarray of int, of the shape of the image
        Most plausible cluster of each pixel, from dark to bright; -1 outside the mask.
    doubt : ndarray of float, of the shape of the image
        One minus the belief in that cluster, see `evlearn.CredalPartition.doubt`; NaN outside the mask.
    mask : ndarray of bool, of the shape of the image
        Whether a pixel is used.
    model : SECM
        Fitted estimator. Its samples are the pixels within the mask, row by row.
    """

    labels: IntArray
    doubt: FloatArray
    mask: BoolArray
    model: SECM

    @property
    def partition(self) -> CredalPartition:
        """Mass functions of the pixels within the mask, row by row."""
        return self.model.credal_partition_

    def to_image(self, values: ArrayLike, *, outside: float = 0) -> FloatArray:
        """Arrange values of the pixels within the mask, such as a column of the masses, as an image.

        Parameters
        ----------
        values : array-like of shape (n_pixels,)
            Value of each pixel within the mask, row by row.
        outside : float, default=0
            Value outside the mask.

        Returns
        -------
        ndarray, of the shape of the image
            Image.
        """
        pixel_values = np.asarray(values)
        n_pixels = int(self.mask.sum())
        if pixel_values.shape != (n_pixels,):
            raise ValueError(
                f"values must have shape ({n_pixels},), one value for each pixel within the mask, "
                f"got {pixel_values.shape}."
            )
        image = np.full(self.mask.shape, outside, dtype=np.result_type(pixel_values, type(outside)))
        image[self.mask] = pixel_values
        return image


def segment_image(
    image: ArrayLike,
    n_clusters: int = 3,
    *,
    mask: ArrayLike | None = None,
    channel_axis: int | None = None,
    estimator: SECM | None = None,
    random_state: RandomSeed = None,
) -> ImageSegmentation:
    """Segment an image or a volume into clusters, with the doubt of each pixel or voxel.

    Pixels that share a side, or voxels that share a face, are neighbors, and distances are averaged over neighbors
    with `SECM`. A volume with 2 million voxels takes some seconds.

    Parameters
    ----------
    image : array-like of shape (height, width) or (depth, height, width), and one more axis for channels
        Image or volume. Values must be finite within the mask.
    n_clusters : int, default=3
        Number of clusters.
    mask : array-like of bool, of the shape of the image without channels, or None, default=None
        Pixels to use; None uses all.
    channel_axis : int or None, default=None
        Axis of the channels, such as -1 for colors in the last axis; None if there is a single value for each
        pixel.
    estimator : SECM or None, default=None
        Estimator with other parameters; its `n_clusters` and `random_state` are not used. Its `connectivity`, if
        any, replaces the grid of pixels. None uses the default parameters.
    random_state : int, RandomState instance or None, default=None
        Seed, for reproducible results.

    Returns
    -------
    ImageSegmentation
        Labels and doubt as images, and the fitted estimator with the masses.

    See Also
    --------
    SECM : The estimator, for any graph of neighbors.

    Examples
    --------
    >>> import numpy as np
    >>> from evlearn.cluster import segment_image
    >>> image = np.zeros((20, 20))
    >>> image[5:15, 5:15] = 1
    >>> image += np.random.default_rng(0).normal(scale=0.3, size=image.shape)
    >>> segmentation = segment_image(image, 2, random_state=0)
    >>> int(segmentation.labels[10, 10]), int(segmentation.labels[0, 0])
    (1, 0)
    >>> segmentation.doubt.shape
    (20, 20)
    """
    pixels = np.asarray(image)
    if channel_axis is None:
        pixels = pixels[..., None]
    else:
        if not -pixels.ndim <= channel_axis < pixels.ndim:
            raise ValueError(f"channel_axis={channel_axis} is not an axis of an image of shape {pixels.shape}.")
        pixels = np.moveaxis(pixels, channel_axis, -1)
    shape = pixels.shape[:-1]
    if len(shape) not in (2, 3):
        raise ValueError(
            f"image must have 2 or 3 axes in addition to that of channels, got {len(shape)} in the shape "
            f"{np.shape(image)}; set channel_axis to the axis of the channels."
        )
    in_mask = np.ones(shape, dtype=bool) if mask is None else _check_mask(mask, shape)
    model: SECM = clone(SECM() if estimator is None else estimator)
    model.set_params(n_clusters=n_clusters, random_state=random_state)
    if model.connectivity is None:
        from sklearn.feature_extraction.image import grid_to_graph  # loads modules for texts

        model.connectivity = grid_to_graph(*shape, mask=None if mask is None else in_mask, dtype=np.float32)
    model.fit(pixels[in_mask])
    model.connectivity = None  # it depends on this image
    labels, doubt = np.full(shape, -1), np.full(shape, np.nan)
    labels[in_mask], doubt[in_mask] = model.labels_, model.credal_partition_.doubt()
    return ImageSegmentation(labels, doubt, in_mask, model)


def _check_mask(mask: Any, shape: tuple[int, ...]) -> BoolArray:
    values = np.asarray(mask)
    if values.shape != shape or not np.isin(values, (0, 1)).all():
        received = f"an array of {values.dtype} and of shape {values.shape}"
        raise ValueError(f"mask must be a boolean array of shape {shape}, got {received}.")
    if not values.any():
        raise ValueError("mask must be True for at least one pixel.")
    return values.astype(bool)
