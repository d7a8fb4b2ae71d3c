"""LocalFDA: linear features in which classes are far apart, and neighbours of one class near."""

from functools import partial
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

from evlearn.metric_learning.directions import linear_features, number_of_features
from evlearn.metric_learning.features import LinearFeatures
from evlearn.metric_learning.supervision import known_classes
from evlearn.utils.convergence import whole_or_nothing
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.typing import FloatArray, IntArray
from evlearn.utils.validation import check_integer, check_real


class LocalFDA(LinearFeatures):
    r"""Local Fisher discriminant analysis: as FDA, for classes that consist of several groups.

    Samples of different classes should be far apart, and neighbours of the same class near each other. Samples of
    one class that are not neighbours need not be near, so a class may consist of groups in different places. There
    may be as many new features as there are original ones.

    Parameters
    ----------
    n_components : int, default=None
        The number of features. None means one less than there are classes, or as many as there are original
        features.
    n_neighbors : int, default=7
        The distance to this neighbor, among all different rows with a label, is the scale of nearness.
    reg : float, default=1e-6
        How much is added to the variance within classes in all directions, as a share of the mean variance of the
        original features. Raise it when there are few labels and many features.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The weights of the original features in each new one.
    ratios_ : ndarray of shape (n_components,)
        The variance between classes over that within, for each feature; features are scaled by their roots.
    n_features_in_ : int
        The number of features of X.
    feature_names_in_ : ndarray of str
        The names of the features, where X has any.

    See Also
    --------
    FDA : For classes of one group each.
    KernelFDA : For classes that no linear feature separates.

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

    def __init__(self, n_components: int | None = None, *, n_neighbors: int = 7, reg: float = 1e-6) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.reg = reg

    @whole_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Learn the features from labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,), default=None
            Their labels; -1, NaN and None mean that a sample has none, and it is not used. Labels are needed.

        Returns
        -------
        LocalFDA
            The fitted transformer. Memory grows with the square of the number of samples in a class.
        """
        check_integer("n_neighbors", self.n_neighbors, 1)
        check_real("reg", self.reg, 0)
        data = self._read(X)
        labelled, classes = known_classes(y, data, type(self).__name__)
        n_components = number_of_features(self.n_components, classes, data.shape[1], several=True)
        with one_blas_thread():
            scatter = partial(local_scatter, n_neighbors=self.n_neighbors)
            directions, self.ratios_ = linear_features(
                data[labelled], classes, scatter, n_components, float(self.reg)
            )
        self.components_ = directions * np.sqrt(self.ratios_)[:, None]
        return self


def local_scatter(X: FloatArray, classes: IntArray, n_neighbors: int) -> tuple[FloatArray, FloatArray]:
    """Scatter matrices between and within classes, where only neighbours of one class count as such.

    Returns
    -------
    between, within : ndarray of shape (n_features, n_features)
        The matrices, divided by the number of samples.
    """
    X = X - X.mean(axis=0)
    n, scales = len(X), _neighbour_distances(X, n_neighbors)
    # All pairs count 1/n in the scatter between, but those of one class as much as they are near.
    between, within = X.T @ X, np.zeros((X.shape[1], X.shape[1]))
    for one in range(int(classes.max()) + 1):
        (members,) = np.nonzero(classes == one)
        own, count = X[members], len(members)
        nearness = _nearness(own, scales[members])
        near = own.T @ (nearness.sum(axis=1)[:, None] * own - nearness @ own)
        centred = own - own.mean(axis=0)
        within += near / count
        between += (1 / n - 1 / count) * near - count / n * (centred.T @ centred)
    return between / n, within / n


def _neighbour_distances(X: FloatArray, n_neighbors: int) -> FloatArray:
    """Return the distance of each row to its n-th neighbor among the different rows.

    Repeated rows count once: otherwise the distances of rows with many duplicates would be 0.
    """
    different, places = np.unique(X, axis=0, return_inverse=True)
    if len(different) == 1:
        return np.zeros(len(X))
    search = NearestNeighbors(n_neighbors=min(n_neighbors, len(different) - 1)).fit(different)
    return np.asarray(search.kneighbors()[0][:, -1])[places.reshape(-1)]


def _nearness(X: FloatArray, scales: FloatArray) -> FloatArray:
    """From 1 for the same place to 0 for far away, in units of the distances to neighbours."""
    distances = pairwise_distances(X)
    units = np.sqrt(scales)[:, None] * np.sqrt(scales)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        nearness = np.exp(-((distances / units) ** 2))
    # Without different rows there is no scale: only what is at the same place is near.
    return np.asarray(np.where(units > 0, nearness, distances == 0), dtype=np.float64)


__all__ = ["LocalFDA"]
