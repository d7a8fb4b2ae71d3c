"""KernelPCCA: features of any shape in which must-links are short and cannot-links long."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from evlearn.constraints import NamedConstraints, PairwiseConstraints
from evlearn.constraints.named import numbered
from evlearn.metric_learning.directions import kernel_coordinates
from evlearn.metric_learning.features import KernelFeatures, LearnsFromPairs
from evlearn.metric_learning.pair_loss import best_descent, only_constrained
from evlearn.metric_learning.supervision import known_pairs
from evlearn.utils.convergence import publish_trace, whole_or_nothing
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.typing import Metric, RandomSeed


class KernelPCCA(LearnsFromPairs, KernelFeatures):
    r"""Kernel PCCA: curved features learned from must-links and cannot-links.

    As `PCCA`, but the features are sums of kernels around the samples that have constraints, so that a ring can be
    told from what is inside it. The scale of the kernel matters; scale the data, and try some values of `gamma`.

    Parameters
    ----------
    n_components : int, default=1
        The number of features.
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
    beta : float, default=1.0
        How sharply a pair that is on the right side of one is told from a pair that is not.
    n_init : int, default=1
        How many times to start; the best result is kept. The first start goes where the loss falls fastest, and
        the others are random. Where all constraints can be met, the first is usually the best for other samples.
    max_iter : int, default=1000
        The largest number of iterations.
    tol : float, default=1e-3
        Ten iterations that together lower the loss by less than this share of it are the last. Constraints can
        often be met in full; then a smaller number does not make features better for other samples.
    random_state : int, RandomState instance or None, default=None
        The seed, for results that can be repeated.
    verbose : int, default=0
        Whether to report progress, iteration by iteration.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_components, n_support)
        The weights of the kernels in each feature.
    support_ : ndarray of int of shape (n_support,)
        The samples that have constraints: the kernels are around these.
    objective_ : float
        The loss.
    objective_history_ : ndarray of shape (n_iterations + 1,)
        The loss before the first and after each iteration.
    n_iter_ : int
        The number of iterations.
    converged_ : bool
        Whether the loss settled.
    n_features_in_ : int
        The number of features of X, or of samples if the kernel is precomputed.
    feature_names_in_ : ndarray of str
        The names of the features, where X has any.

    See Also
    --------
    PCCA : Linear features.
    KernelFDA : Curved features from labels.

    References
    ----------
    Mignon and Jurie (2012).

    Examples
    --------
    >>> from evlearn.constraints import PairwiseConstraints
    >>> from evlearn.datasets import make_circles
    >>> from evlearn.metric_learning import KernelPCCA
    >>> X, y = make_circles(500, random_state=0)
    >>> known = PairwiseConstraints.sample(y, 50, random_state=0)
    >>> z = KernelPCCA(gamma=0.3, random_state=0).fit_transform(X, constraints=known)[:, 0]
    >>> bool(z[y == 0].min() > z[y == 1].max() or z[y == 0].max() < z[y == 1].min())
    True
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        kernel: Metric = "rbf",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        beta: float = 1.0,
        n_init: int = 1,
        max_iter: int = 1000,
        tol: float = 1e-3,
        random_state: RandomSeed = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.beta = beta
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    @whole_or_nothing
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        constraints: PairwiseConstraints | NamedConstraints | None = None,
    ) -> Self:
        """Learn the features from constraints, or from labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            The samples, or the values of the kernel between them if `kernel` is "precomputed".
        y : array-like of shape (n_samples,), default=None
            Labels, if there are no constraints; -1, NaN and None mean that a sample has none. All pairs of
            labelled samples become constraints, or 20,000 of them drawn at random if there are more.
        constraints : PairwiseConstraints or NamedConstraints, default=None
            Pairs of samples that must, or cannot, be in the same cluster. If they are given, `y` is not used.

        Returns
        -------
        KernelPCCA
            The fitted transformer. Time grows with the cube of the number of samples that have constraints.
        """
        self._check_pair_parameters()
        self._check_kernel()
        data = self._read(X)
        random = check_random_state(self.random_state)
        objects, pairs = only_constrained(
            known_pairs(numbered(constraints, X, len(data)), y, data, random, type(self).__name__)
        )
        with one_blas_thread():
            # Coordinates in which kernels are plain products: in these, L-BFGS is well scaled.
            kernel = self._kernel_among(data, objects)
            coordinates, to_dual = kernel_coordinates(kernel, float(np.abs(kernel).max()))
            trace = best_descent(coordinates, pairs, random, **self._settings())
        self._publish(data, objects, np.asarray(trace.state @ to_dual.T))
        publish_trace(self, trace, "the loss", max_iter=self.max_iter)
        return self


__all__ = ["KernelPCCA"]
