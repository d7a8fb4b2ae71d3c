"""FDA: linear or kernel features in which classes are far apart."""

from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from evlearn.metric_learning.directions import (
    best_directions,
    class_scatter,
    kernel_coordinates,
    linear_features,
    number_of_features,
    with_signs,
)
from evlearn.metric_learning.features import LinearOrKernelFeatures
from evlearn.metric_learning.supervision import labeled_classes
from evlearn.storage import fields
from evlearn.utils.convergence import atomic_fit
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.typing import FloatArray, IntArray, Metric
from evlearn.utils.validation import check_real


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
    Fisher (1936); Yang et al. (2004).

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


__all__ = ["FDA"]
