"""FDA: linear features in which classes are far apart."""

from typing import Self

from numpy.typing import ArrayLike

from evlearn.metric_learning.directions import class_scatter, linear_features, number_of_features
from evlearn.metric_learning.features import LinearFeatures
from evlearn.metric_learning.supervision import known_classes
from evlearn.utils.convergence import whole_or_nothing
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.validation import check_real


class FDA(LinearFeatures):
    r"""Fisher discriminant analysis: linear features in which labelled classes are compact and far apart.

    The features of linear discriminant analysis, for labels of some or all samples. There is at most one feature
    less than there are classes. Distances between features count in units of the spread within classes.

    Parameters
    ----------
    n_components : int, default=None
        The number of features. None means one less than there are classes, or as many as there are original
        features.
    reg : float, default=1e-6
        How much is added to the variance within classes in all directions, as a share of the mean variance of the
        original features. Raise it when there are few labels and many features.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The weights of the original features in each new one.
    ratios_ : ndarray of shape (n_components,)
        The variance between classes over that within, for each feature.
    n_features_in_ : int
        The number of features of X.
    feature_names_in_ : ndarray of str
        The names of the features, where X has any.

    See Also
    --------
    LocalFDA : For classes that consist of several groups.
    KernelFDA : For classes that no linear feature separates.
    PCCA : Linear features from constraints.

    References
    ----------
    Fisher (1936).

    Examples
    --------
    >>> from evlearn.metric_learning import FDA
    >>> X = [[0.0, 0.0], [0.1, 9.0], [1.0, 0.1], [1.1, 9.1], [0.9, 4.0]]
    >>> z = FDA().fit_transform(X, [0, 0, 1, 1, -1])
    >>> z.shape
    (5, 1)
    >>> bool(abs(z[4] - z[2]) < abs(z[4] - z[0]))
    True
    """

    def __init__(self, n_components: int | None = None, *, reg: float = 1e-6) -> None:
        self.n_components = n_components
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
        FDA
            The fitted transformer.
        """
        check_real("reg", self.reg, 0)
        data = self._read(X)
        labelled, classes = known_classes(y, data, type(self).__name__)
        n_components = number_of_features(self.n_components, classes, data.shape[1])
        with one_blas_thread():
            self.components_, self.ratios_ = linear_features(
                data[labelled], classes, class_scatter, n_components, float(self.reg)
            )
        return self


__all__ = ["FDA"]
