"""LocalFDA: linear features in which classes are far apart, and neighbors of the same class are close."""

from functools import partial
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

from evlearn.metric_learning.directions import linear_features, number_of_features
from evlearn.metric_learning.features import LinearFeatures
from evlearn.metric_learning.supervision import labeled_classes
from evlearn.storage import fields
from evlearn.utils.convergence import atomic_fit
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.typing import FloatArray, IntArray
from evlearn.utils.validation import check_integer, check_real


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
    Sugiyama (2006).

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


__all__ = ["LocalFDA"]
