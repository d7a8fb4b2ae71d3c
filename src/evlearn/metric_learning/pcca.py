"""PCCA: linear features in which must-links are short and cannot-links long."""

from typing import Self

from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from evlearn.constraints import NamedConstraints, PairwiseConstraints
from evlearn.constraints.named import numbered
from evlearn.metric_learning.features import LearnsFromPairs, LinearFeatures
from evlearn.metric_learning.pair_loss import best_descent, only_constrained
from evlearn.metric_learning.supervision import known_pairs
from evlearn.utils.convergence import publish_trace, whole_or_nothing
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.typing import RandomSeed


class PCCA(LearnsFromPairs, LinearFeatures):
    r"""Pairwise constrained component analysis: linear features learned from must-links and cannot-links.

    The new features are weighted sums of the original ones, so that samples of a must-link are nearer than one to
    each other and samples of a cannot-link farther than one. Few constraints are enough, because there are few
    weights. Put it before a clusterer, which then sees the distances that are meant.

    Parameters
    ----------
    n_components : int, default=2
        The number of features.
    beta : float, default=1.0
        How sharply a pair that is on the right side of one is told from a pair that is not.
    n_init : int, default=1
        How many times to start; the best result is kept. The first start goes where the loss falls fastest, and
        the others are random.
    max_iter : int, default=1000
        The largest number of iterations.
    tol : float, default=1e-5
        Ten iterations that together lower the loss by less than this share of it are the last.
    random_state : int, RandomState instance or None, default=None
        The seed, for results that can be repeated.
    verbose : int, default=0
        Whether to report progress, iteration by iteration.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The weights of the original features in each new one.
    objective_ : float
        The loss.
    objective_history_ : ndarray of shape (n_iterations + 1,)
        The loss before the first and after each iteration.
    n_iter_ : int
        The number of iterations.
    converged_ : bool
        Whether the loss settled.
    n_features_in_ : int
        The number of features of X.
    feature_names_in_ : ndarray of str
        The names of the features, where X has any.

    See Also
    --------
    KernelPCCA : For clusters that no linear feature separates.
    FDA : Linear features from labels.
    evlearn.constraints.PairwiseConstraints : Must-link and cannot-link constraints.

    References
    ----------
    Mignon and Jurie (2012).

    Examples
    --------
    >>> from evlearn.constraints import PairwiseConstraints
    >>> from evlearn.metric_learning import PCCA
    >>> X = [[0.0, 0.0], [0.1, 9.0], [1.0, 0.1], [1.1, 9.1]]
    >>> known = PairwiseConstraints(
    ...     must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2), (1, 2)]
    ... )
    >>> z = PCCA(n_components=1, random_state=0).fit_transform(X, constraints=known)
    >>> abs(z[0] - z[1]) < 1 < abs(z[0] - z[2])
    array([ True])
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        beta: float = 1.0,
        n_init: int = 1,
        max_iter: int = 1000,
        tol: float = 1e-5,
        random_state: RandomSeed = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
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
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,), default=None
            Labels, if there are no constraints; -1, NaN and None mean that a sample has none. All pairs of
            labelled samples become constraints, or 20,000 of them drawn at random if there are more.
        constraints : PairwiseConstraints or NamedConstraints, default=None
            Pairs of samples that must, or cannot, be in the same cluster. If they are given, `y` is not used.

        Returns
        -------
        PCCA
            The fitted transformer.
        """
        self._check_pair_parameters()
        data = self._read(X)
        random = check_random_state(self.random_state)
        objects, pairs = only_constrained(
            known_pairs(numbered(constraints, X, len(data)), y, data, random, type(self).__name__)
        )
        with one_blas_thread():
            trace = best_descent(data[objects], pairs, random, **self._settings())
        self.components_ = trace.state
        publish_trace(self, trace, "the loss", max_iter=self.max_iter)
        return self


__all__ = ["PCCA"]
