"""KernelFDA: features of any shape in which classes are far apart."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from evlearn.metric_learning.directions import (
    best_directions,
    class_scatter,
    kernel_coordinates,
    number_of_features,
    with_signs,
)
from evlearn.metric_learning.features import KernelFeatures
from evlearn.metric_learning.supervision import known_classes
from evlearn.utils.convergence import whole_or_nothing
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.typing import Metric
from evlearn.utils.validation import check_real


class KernelFDA(KernelFeatures):
    r"""Kernel Fisher discriminant analysis: curved features in which labelled classes are far apart.

    As `FDA`, but the features are sums of kernels around the labelled samples, so that a ring can be told from
    what is inside it. The scale of the kernel matters; scale the data, and try some values of `gamma`.

    Parameters
    ----------
    n_components : int, default=None
        The number of features. None means one less than there are classes.
    kernel : str or callable, default="rbf"
        "linear", "poly", "rbf", "laplacian", "sigmoid" or "cosine" of
        ``sklearn.metrics.pairwise.pairwise_kernels``, a function of two samples, or "precomputed" if X holds
        the values of the kernel.
    gamma : float, default=None
        How narrow the kernel is, for "rbf", ``exp(-gamma * |x - x'|**2)``, "laplacian", "poly" and "sigmoid". None
        means one divided by the number of original features.
    degree : float, default=3
        For "poly": the degree.
    coef0 : float, default=1
        For "poly" and "sigmoid": the constant term.
    reg : float, default=1e-3
        How much is added to the variance within classes in all directions, as a share of the mean variance. Near
        zero the features fit the labelled samples perfectly and others badly.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_components, n_support)
        The weights of the kernels in each feature.
    intercept_ : ndarray of shape (n_components,)
        What is added to each feature: the mean of the labelled samples is zero.
    support_ : ndarray of int of shape (n_support,)
        The samples that have labels: the kernels are around these.
    ratios_ : ndarray of shape (n_components,)
        The variance between classes over that within, for each feature.
    n_features_in_ : int
        The number of features of X, or of samples if the kernel is precomputed.
    feature_names_in_ : ndarray of str
        The names of the features, where X has any.

    See Also
    --------
    FDA : Linear features.
    KernelPCCA : Curved features from constraints.

    References
    ----------
    Yang et al. (2004).

    Examples
    --------
    >>> import numpy as np
    >>> from evlearn.datasets import make_circles
    >>> from evlearn.metric_learning import KernelFDA
    >>> X, y = make_circles(500, random_state=0)
    >>> known = np.full(500, -1)
    >>> known[::10] = y[::10]
    >>> z = KernelFDA(gamma=0.3).fit_transform(X, known)[:, 0]
    >>> bool(z[y == 0].min() > z[y == 1].max() or z[y == 0].max() < z[y == 1].min())
    True
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Metric = "rbf",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        reg: float = 1e-3,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.reg = reg

    @whole_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Learn the features from labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            The samples, or the values of the kernel between them if `kernel` is "precomputed".
        y : array-like of shape (n_samples,), default=None
            Their labels; -1, NaN and None mean that a sample has none, and it is not used. Labels are needed.

        Returns
        -------
        KernelFDA
            The fitted transformer. Time grows with the cube of the number of labelled samples.
        """
        check_real("reg", self.reg, 0)
        self._check_kernel()
        data = self._read(X)
        labelled, classes = known_classes(y, data, type(self).__name__)
        with one_blas_thread():
            kernel = self._kernel_among(data, labelled)
            means = kernel.mean(axis=0)
            # Kernel PCA: coordinates of the centred kernel.
            centred = kernel - means - means[:, None] + means.mean()
            coordinates, to_dual = kernel_coordinates(centred, float(np.abs(kernel).max()))
            n_components = number_of_features(self.n_components, classes, max(coordinates.shape[1], 1))
            scatter = class_scatter(coordinates, classes)
            directions, self.ratios_ = best_directions(*scatter, n_components, float(self.reg))
        weights = directions @ to_dual.T
        dual_coef = with_signs(weights - weights.mean(axis=1, keepdims=True))
        self.intercept_ = -dual_coef @ means
        self._publish(data, labelled, dual_coef, self.intercept_)
        return self


__all__ = ["KernelFDA"]
