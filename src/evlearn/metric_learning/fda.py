"""FDA, linear or kernel features in which classes are far apart, and LocalFDA, for classes of several groups."""

from functools import partial
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

from evlearn.metric_learning.directions import (
    best_directions,
    class_scatter,
    kernel_coordinates,
    linear_features,
    number_of_features,
    with_signs,
)
from evlearn.metric_learning.features import LinearFeatures, LinearOrKernelFeatures, labeled_classes
from evlearn.storage import fields
from evlearn.utils.convergence import atomic_fit
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.typing import FloatArray, IntArray, Metric
from evlearn.utils.validation import check_integer, check_real


@fields.stored
class FDA(LinearOrKernelFeatures):
    r"""Fisher discriminant analysis: features in which labeled classes are compact and far apart.

    Without a kernel, these are the features of linear discriminant analysis, for labels of some or all samples.
    With one, they are sums of kernels around the labeled samples, which separate a ring from a core inside it.
    There is at most one feature fewer than classes. Distances between linear features are in units of the spread
    within classes.

    Parameters
    ----------
    n_components : int, default=None
        Number of features. None means one fewer than there are classes, but not more than original features.
    kernel : str or callable, default=None
        None for linear features; or "linear", "poly", "rbf", "laplacian", "sigmoid" or "cosine" of
        ``sklearn.metrics.pairwise.pairwise_kernels``, a function of 2 samples, or "precomputed" if X contains
        the values of the kernel. The scale of the kernel matters: scale the data, and try some values of `gamma`.
    gamma : float, default=None
        Inverse width of the kernel, for "rbf", ``exp(-gamma * |x - x'|**2)``, "laplacian", "poly" and "sigmoid".
        None means 1 divided by the number of original features.
    kernel_params : dict, default=None
        Other parameters of the kernel: "degree" for "poly", by default 3, and the constant term "coef0" for
        "poly" and "sigmoid", by default 1.
    reg : float or "auto", default="auto"
        Regularization, added to the variance within classes in all directions, as a share of the mean variance.
        "auto" means 1e-6, or 1e-3 with a kernel. Increase it if there are few labels and many features. With a
        kernel and values near 0, the features fit the labeled samples perfectly and other samples badly.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Weights of the original features in each new one, without a kernel.
    dual_coef_ : ndarray of shape (n_components, n_support)
        Weights of the kernels in each feature, with a kernel.
    intercept_ : ndarray of shape (n_components,)
        Constant term of each feature, with a kernel: the mean of the labeled samples is 0.
    support_ : ndarray of int of shape (n_support,)
        Indices of the labeled samples, around which the kernels are, with a kernel.
    ratios_ : ndarray of shape (n_components,)
        Variance between classes divided by that within, for each feature.
    n_features_in_ : int
        Number of features of X, or of samples if the kernel is precomputed.
    feature_names_in_ : ndarray of str
        Names of the features, if X has names.

    See Also
    --------
    LocalFDA : For classes that consist of several groups.
    PCCA : Features from constraints.

    References
    ----------
    - Fisher (1936), The use of multiple measurements in taxonomic problems, Annals of
      Eugenics 7, doi:10.1111/j.1469-1809.1936.tb02137.x.
    - Yang et al. (2004), Essence of kernel Fisher discriminant: KPCA plus LDA, Pattern
      Recognition 37, doi:10.1016/j.patcog.2003.10.015.

    Examples
    --------
    >>> from evlearn.metric_learning import FDA
    >>> X = [[0.0, 0.0], [0.1, 9.0], [1.0, 0.1], [1.1, 9.1], [0.9, 4.0]]
    >>> z = FDA().fit_transform(X, [0, 0, 1, 1, -1])
    >>> z.shape
    (5, 1)
    >>> bool(abs(z[4] - z[2]) < abs(z[4] - z[0]))
    True

    A kernel feature from 50 labels separates a ring from a core inside it:

    >>> import numpy as np
    >>> from evlearn.datasets import make_core_and_ring
    >>> X, y = make_core_and_ring(500, random_state=0)
    >>> labels = np.full(500, -1)
    >>> labels[::10] = y[::10]
    >>> z = FDA(kernel="rbf", gamma=0.3).fit_transform(X, labels)[:, 0]
    >>> bool(z[y == 0].min() > z[y == 1].max() or z[y == 0].max() < z[y == 1].min())
    True
    """

    intercept_: fields.StoredIfSet[fields.Vector]

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Metric | None = None,
        gamma: float | None = None,
        kernel_params: dict[str, float] | None = None,
        reg: float | Literal["auto"] = "auto",
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.reg = reg

    @atomic_fit
    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Learn the features from labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            The samples, or the values of the kernel between them if `kernel` is "precomputed".
        y : array-like of shape (n_samples,), default=None
            Their labels, which are required. Samples with the label -1, NaN or None are unlabeled and not used.

        Returns
        -------
        FDA
            The fitted transformer. With a kernel, time grows with the cube of the number of labeled samples.
        """
        check_real("reg", self.reg, 0, or_auto=True)
        self._check_kernel()
        data = self._read_data(X)
        labeled, classes = labeled_classes(y, data, type(self).__name__)
        if self.kernel is None:
            self._fit_linear(data[labeled], classes)
        else:
            self._fit_kernel(data, labeled, classes)
        return self

    def _fit_linear(self, data: FloatArray, classes: IntArray) -> None:
        n_components = number_of_features(self.n_components, classes, data.shape[1])
        reg = 1e-6 if self.reg == "auto" else float(self.reg)
        with one_blas_thread():
            components, self.ratios_ = linear_features(data, classes, class_scatter, n_components, reg)
        self._set_linear(components)

    def _fit_kernel(self, data: FloatArray, labeled: IntArray, classes: IntArray) -> None:
        reg = 1e-3 if self.reg == "auto" else float(self.reg)
        with one_blas_thread():
            kernel = self._kernel_among(data, labeled)
            means = kernel.mean(axis=0)
            # Kernel PCA: coordinates of the centered kernel.
            centered = kernel - means - means[:, None] + means.mean()
            coordinates, to_dual = kernel_coordinates(centered, float(np.abs(kernel).max()))
            n_components = number_of_features(self.n_components, classes, max(coordinates.shape[1], 1))
            scatter = class_scatter(coordinates, classes)
            directions, self.ratios_ = best_directions(*scatter, n_components, reg)
        weights = directions @ to_dual.T
        dual_coef = with_signs(weights - weights.mean(axis=1, keepdims=True))
        self.intercept_ = -dual_coef @ means
        self._set_kernel(data, labeled, dual_coef, self.intercept_)


@fields.stored
class LocalFDA(LinearFeatures):
    r"""Local Fisher discriminant analysis, for classes that consist of several groups.

    Samples of different classes should be far apart, and neighbors of the same class close to each other. Other
    samples of the same class need not be close, so a class may consist of groups in different places. The number
    of features is limited by the number of original features, not by the number of classes.

    Parameters
    ----------
    n_components : int, default=None
        Number of features. None means one fewer than there are classes, but not more than original features.
    n_neighbors : int, default=7
        Number of the neighbor, among all distinct labeled samples, whose distance is the scale of nearness.
    reg : float, default=1e-6
        Regularization, added to the variance within classes in all directions, as a share of the mean variance of
        the original features. Increase it if there are few labels and many features.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Weights of the original features in each new one.
    ratios_ : ndarray of shape (n_components,)
        Variance between classes divided by that within, for each feature. Features are scaled by its square root.
    n_features_in_ : int
        Number of features of X.
    feature_names_in_ : ndarray of str
        Names of the features, if X has names.

    See Also
    --------
    FDA : For classes of a single group, and with a kernel for classes that no linear feature separates.

    References
    ----------
    Sugiyama (2006), Local Fisher discriminant analysis for supervised dimensionality
    reduction, Proceedings of the 23rd International Conference on Machine Learning,
    doi:10.1145/1143844.1143958.

    Examples
    --------
    >>> from evlearn.metric_learning import LocalFDA
    >>> X = [[0.0, 0.0], [0.0, 0.1], [4.0, 0.0], [4.0, 0.1], [2.0, 0.0], [2.0, 0.1]]
    >>> y = [0, 0, 0, 0, 1, 1]
    >>> LocalFDA(n_neighbors=2).fit(X, y).transform(X).shape
    (6, 1)
    """

    components_: fields.Stored[fields.Matrix]

    def __init__(self, n_components: int | None = None, *, n_neighbors: int = 7, reg: float = 1e-6) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.reg = reg

    @atomic_fit
    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Learn the features from labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,), default=None
            Their labels, which are required. Samples with the label -1, NaN or None are unlabeled and not used.

        Returns
        -------
        LocalFDA
            The fitted transformer. Memory grows with the square of the number of samples in a class.
        """
        check_integer("n_neighbors", self.n_neighbors, 1)
        check_real("reg", self.reg, 0)
        data = self._read_data(X)
        labeled, classes = labeled_classes(y, data, type(self).__name__)
        n_components = number_of_features(self.n_components, classes, data.shape[1], allow_more=True)
        with one_blas_thread():
            scatter = partial(local_scatter, n_neighbors=self.n_neighbors)
            directions, self.ratios_ = linear_features(
                data[labeled], classes, scatter, n_components, float(self.reg)
            )
        self.components_ = directions * np.sqrt(self.ratios_)[:, None]
        return self


def local_scatter(X: FloatArray, classes: IntArray, n_neighbors: int) -> tuple[FloatArray, FloatArray]:
    """Compute scatter matrices between and within classes in which pairs of a class are weighted by nearness.

    Returns
    -------
    between, within : ndarray of shape (n_features, n_features)
        Matrices, divided by the number of samples.
    """
    X = X - X.mean(axis=0)
    n, scales = len(X), _neighbor_distances(X, n_neighbors)
    # Pairs have weight 1/n in the scatter between classes, except that pairs of a class are weighted by nearness.
    between_scatter, within_scatter = X.T @ X, np.zeros((X.shape[1], X.shape[1]))
    for label in range(int(classes.max()) + 1):
        (members,) = np.nonzero(classes == label)
        data, count = X[members], len(members)
        nearness = _nearness(data, scales[members])
        local = data.T @ (nearness.sum(axis=1)[:, None] * data - nearness @ data)
        centered = data - data.mean(axis=0)
        within_scatter += local / count
        between_scatter += (1 / n - 1 / count) * local - count / n * (centered.T @ centered)
    return between_scatter / n, within_scatter / n


def _neighbor_distances(X: FloatArray, n_neighbors: int) -> FloatArray:
    """Return the distance of each row to its n-th neighbor among the distinct rows.

    Repeated rows count once: otherwise the distances of rows with many duplicates would be 0.
    """
    distinct, places = np.unique(X, axis=0, return_inverse=True)
    if len(distinct) == 1:
        return np.zeros(len(X))
    search = NearestNeighbors(n_neighbors=min(n_neighbors, len(distinct) - 1)).fit(distinct)
    return np.asarray(search.kneighbors()[0][:, -1])[places.reshape(-1)]


def _nearness(X: FloatArray, scales: FloatArray) -> FloatArray:
    """Return values from 1 for equal rows to 0 for distant ones, in units of the distances to neighbors."""
    distances = pairwise_distances(X)
    units = np.sqrt(scales)[:, None] * np.sqrt(scales)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        nearness = np.exp(-((distances / units) ** 2))
    # Without distinct rows there is no scale: only equal rows are near.
    return np.asarray(np.where(units > 0, nearness, distances == 0), dtype=np.float64)
