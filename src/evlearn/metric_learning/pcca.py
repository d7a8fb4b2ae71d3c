"""PCCA: linear or kernel features in which must-links are short and cannot-links long, and its loss."""

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh
from scipy.sparse import csr_array, dia_array
from scipy.special import expit
from sklearn.utils import check_random_state

from evlearn.constraints import NamedConstraints, PairwiseConstraints
from evlearn.constraints.named import resolve_constraints
from evlearn.metric_learning.directions import kernel_coordinates, span
from evlearn.metric_learning.features import LinearOrKernelFeatures, training_pairs
from evlearn.storage import fields
from evlearn.utils.convergence import Report, Trace, atomic_fit, best_of, minimize_lbfgs, publish_trace
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.progress import Steps
from evlearn.utils.typing import FloatArray, IntArray, Metric, RandomSeed
from evlearn.utils.validation import check_integer, check_real

#: Root mean square of the lengths of pairs at a start.
_START_LENGTH = 1e-3
#: Share of a random start in the first start.
_NOISE = 1e-2
#: Tolerance of the gradient per pair.
_GRADIENT_TOL = 1e-10
#: Relative bound of rounding errors.
_ROUNDING = 64 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class PairLoss:
    """Loss of a linear map of samples with pairwise constraints."""

    coordinates: FloatArray
    differences: csr_array
    signs: FloatArray
    beta: float

    @classmethod
    def of(cls, coordinates: FloatArray, constraints: PairwiseConstraints, beta: float) -> "PairLoss":
        """Create the loss of samples with these coordinates."""
        pairs = np.vstack([constraints.must_link, constraints.cannot_link])
        rows = np.repeat(np.arange(len(pairs)), 2)
        values = np.tile([1.0, -1.0], len(pairs))
        differences = csr_array((values, (rows, pairs.ravel())), shape=(len(pairs), len(coordinates)))
        signs = np.repeat([1.0, -1.0], [constraints.n_must_link, constraints.n_cannot_link])
        return cls(coordinates, differences, signs, beta)

    def evaluate(self, components: FloatArray) -> tuple[float, FloatArray]:
        """Compute the loss and its gradient.

        Returns
        -------
        loss : float
            Value of the loss.
        gradient : ndarray of shape (n_components, n_coordinates)
            Partial derivatives.
        """
        gaps = self.differences @ (self.coordinates @ components.T)
        excess = self.beta * self.signs * ((gaps**2).sum(axis=1) - 1)
        loss = np.logaddexp(0, excess).sum() / self.beta
        pulls = (self.signs * expit(excess))[:, None] * gaps
        return float(loss), 2 * (self.differences.T @ pulls).T @ self.coordinates

    def random_start(self, n_components: int, random: np.random.RandomState) -> FloatArray:
        """Return a small random map, because zero is a stationary point."""
        mixture = random.standard_normal((n_components, len(self.signs)))
        return self._shrink((self.differences.T @ mixture.T).T @ self.coordinates)

    def steepest_start(self, n_components: int) -> FloatArray:
        """Return a small map in the directions in which the loss decreases fastest from zero.

        A descent in tiny steps from a tiny random map would first turn into these directions.
        """
        pulls = self.signs * expit(-self.beta * self.signs)
        weights = self.differences.T @ (dia_array((pulls[None], [0]), shape=2 * pulls.shape) @ self.differences)
        n_coordinates = self.coordinates.shape[1]
        n_directions = min(n_components, n_coordinates)
        start = np.zeros((n_components, n_coordinates))
        if n_directions > 0:
            slopes = self.coordinates.T @ (weights @ self.coordinates)
            start[:n_directions] = eigh(slopes, subset_by_index=[0, n_directions - 1])[1].T
        return self._shrink(start)

    def _shrink(self, components: FloatArray) -> FloatArray:
        lengths = np.sqrt(((self.differences @ (self.coordinates @ components.T)) ** 2).mean(axis=0))
        # Lengths below this bound are rounding errors in a direction in which no pair differs, and not scaled up.
        noise = _ROUNDING * np.abs(self.coordinates).max(initial=0) * np.linalg.norm(components, axis=1)
        is_significant = lengths > noise
        return np.asarray(
            _START_LENGTH * components * (is_significant / np.where(is_significant, lengths, 1))[:, None]
        )


def lower_pair_loss(
    loss: PairLoss,
    start: FloatArray,
    *,
    tol: float,
    max_iter: int,
    report: Report | None = None,
) -> Trace[FloatArray]:
    """Minimize the loss by L-BFGS."""

    def evaluate(values: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = loss.evaluate(values.reshape(start.shape))
        return value, gradient.ravel()

    gradient_tol = _GRADIENT_TOL * len(loss.signs)
    trace = minimize_lbfgs(
        evaluate, start.ravel(), tol=tol, max_iter=max_iter, gradient_tol=gradient_tol, report=report
    )
    return trace.with_state(trace.state.reshape(start.shape))


def fit_coordinates(
    coordinates: FloatArray,
    constraints: PairwiseConstraints,
    random: np.random.RandomState,
    *,
    beta: float,
    n_components: int,
    n_init: int,
    tol: float,
    max_iter: int,
    report: Report | None = None,
) -> Trace[FloatArray]:
    """Return the best of several descents from different starts."""
    centered, basis = span(coordinates)
    # Equal samples may differ by rounding errors after centering, which must not separate them.
    largest = np.abs(coordinates).max() if basis is not None else np.abs(coordinates).max(axis=0)
    centered = np.where(np.abs(centered) > _ROUNDING * largest, centered, 0.0)
    # In units of the typical length of a pair, the first step of L-BFGS is neither tiny nor huge.
    unit = float(np.abs(centered).max(initial=0)) or 1.0
    unit *= _typical_length(PairLoss.of(centered / unit, constraints, beta)) or 1.0
    loss = PairLoss.of(centered / unit, constraints, beta)
    traces: list[Trace[FloatArray]] = []
    for _ in range(n_init):
        start = loss.random_start(n_components, random)
        if not traces:
            start = loss.steepest_start(n_components) + _NOISE * start
        traces.append(lower_pair_loss(loss, start, tol=tol, max_iter=max_iter, report=report))
        if traces[-1].interrupted:
            break
    best = best_of(traces)
    return best.with_state(best.state / unit if basis is None else best.state / unit @ basis.T)


def constrained_samples(constraints: PairwiseConstraints) -> tuple[IntArray, PairwiseConstraints]:
    """Return the samples that have constraints, and the constraints with these samples numbered from 0.

    Returns
    -------
    samples : ndarray of int of shape (n_constrained,)
        Indices of the samples, in increasing order.
    constraints : PairwiseConstraints
        The same constraints on positions in `samples`.
    """
    pairs = np.vstack([constraints.must_link, constraints.cannot_link])
    samples, positions = np.unique(pairs, return_inverse=True)
    positions = positions.reshape(-1, 2)
    n_must = constraints.n_must_link
    return samples, PairwiseConstraints(positions[:n_must], positions[n_must:])


def _typical_length(loss: PairLoss) -> float:
    """Return the root mean square of the lengths of pairs, without an array of all their differences."""
    squares = loss.coordinates * (loss.differences.T @ loss.differences @ loss.coordinates)
    return float(np.sqrt(max(squares.sum(), 0) / len(loss.signs)))


@fields.stored
class PCCA(LinearOrKernelFeatures):
    r"""Pairwise constrained component analysis: features learned from must-links and cannot-links.

    Samples of a must-link get features at a distance below 1, and samples of a cannot-link at a distance above 1.
    Without a kernel, the features are weighted sums of the original ones; few constraints are enough, because
    there are few weights. With a kernel, they are sums of kernels around the constrained samples, which separate
    a ring from a core inside it. Put PCCA before a clusterer, which then works with the learned distances.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Number of features. "auto" means 2, or 1 with a kernel.
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
    beta : float, default=1.0
        Sharpness of the threshold 1 between distances of must-links and cannot-links.
    n_init : int, default=1
        Number of starts, of which the best result is kept. The first start is in the directions in which the loss
        decreases fastest, and the others are random. If all constraints can be met, as often with a kernel, the
        first is usually the best for other samples.
    max_iter : int, default=1000
        Maximum number of iterations.
    tol : float or "auto", default="auto"
        Relative tolerance: a descent ends if 10 iterations together lower the loss by less than this share of it.
        "auto" means 1e-5, or 1e-3 with a kernel; if all constraints can be met, a smaller number does not improve
        the features of other samples.
    random_state : int, RandomState instance or None, default=None
        Seed, for reproducible results.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Weights of the original features in each new one, without a kernel.
    dual_coef_ : ndarray of shape (n_components, n_support)
        Weights of the kernels in each feature, with a kernel.
    support_ : ndarray of int of shape (n_support,)
        Indices of the constrained samples, around which the kernels are, with a kernel.
    objective_ : float
        Value of the loss.
    objective_history_ : ndarray of shape (n_iterations + 1,)
        Values of the loss before the first and after each iteration.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the loss converged.
    n_features_in_ : int
        Number of features of X, or of samples if the kernel is precomputed.
    feature_names_in_ : ndarray of str
        Names of the features, if X has names.

    See Also
    --------
    FDA : Features from labels.
    evlearn.constraints.PairwiseConstraints : Must-link and cannot-link constraints.

    References
    ----------
    Mignon and Jurie (2012), PCCA: a new approach for distance learning from sparse
    pairwise constraints, IEEE Conference on Computer Vision and Pattern Recognition,
    doi:10.1109/CVPR.2012.6247987.

    Examples
    --------
    >>> from evlearn.constraints import PairwiseConstraints
    >>> from evlearn.metric_learning import PCCA
    >>> X = [[0.0, 0.0], [0.1, 9.0], [1.0, 0.1], [1.1, 9.1]]
    >>> pairs = PairwiseConstraints(
    ...     must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2), (1, 2)]
    ... )
    >>> z = PCCA(n_components=1, random_state=0).fit_transform(X, constraints=pairs)
    >>> abs(z[0] - z[1]) < 1 < abs(z[0] - z[2])
    array([ True])

    A kernel feature from 50 constraints separates a ring from a core inside it:

    >>> from evlearn.datasets import make_core_and_ring
    >>> X, y = make_core_and_ring(500, random_state=0)
    >>> pairs = PairwiseConstraints.sample(y, 50, random_state=0)
    >>> model = PCCA(kernel="rbf", gamma=0.3, random_state=0)
    >>> z = model.fit_transform(X, constraints=pairs)[:, 0]
    >>> bool(z[y == 0].min() > z[y == 1].max() or z[y == 0].max() < z[y == 1].min())
    True
    """

    def __init__(
        self,
        n_components: int | Literal["auto"] = "auto",
        *,
        kernel: Metric | None = None,
        gamma: float | None = None,
        kernel_params: dict[str, float] | None = None,
        beta: float = 1.0,
        n_init: int = 1,
        max_iter: int = 1000,
        tol: float | Literal["auto"] = "auto",
        random_state: RandomSeed = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.beta = beta
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @atomic_fit
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        constraints: PairwiseConstraints | NamedConstraints | None = None,
    ) -> Self:
        """Learn the features from constraints or labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            The samples, or the values of the kernel between them if `kernel` is "precomputed".
        y : array-like of shape (n_samples,), default=None
            Labels, if there are no constraints. Samples with the label -1, NaN or None are unlabeled. All pairs
            of labeled samples become constraints, or a random sample of 20,000 pairs if there are more.
        constraints : PairwiseConstraints or NamedConstraints, default=None
            Pairs of samples that must, or cannot, be in the same cluster. With constraints, `y` is not used.

        Returns
        -------
        PCCA
            The fitted transformer. With a kernel, time grows with the cube of the number of constrained samples.
        """
        self._check_parameters()
        data = self._read_data(X)
        random = check_random_state(self.random_state)
        samples, pairs = constrained_samples(
            training_pairs(resolve_constraints(constraints, X, len(data)), y, data, random, type(self).__name__)
        )
        with one_blas_thread():
            if self.kernel is None:
                coordinates, to_dual = data[samples], None
            else:
                # Coordinates in which kernels are plain products: in these, L-BFGS is well scaled.
                kernel = self._kernel_among(data, samples)
                coordinates, to_dual = kernel_coordinates(kernel, float(np.abs(kernel).max()))
            trace = fit_coordinates(coordinates, pairs, random, **self._descent_settings())
        if to_dual is None:
            self._set_linear(trace.state)
        else:
            self._set_kernel(data, samples, np.asarray(trace.state @ to_dual.T))
        publish_trace(self, trace, "the loss", max_iter=self.max_iter)
        return self

    def _check_parameters(self) -> None:
        check_integer("n_components", self.n_components, 1, or_auto=True)
        check_real("beta", self.beta, 0, open_low=True)
        check_integer("n_init", self.n_init, 1)
        check_integer("max_iter", self.max_iter, 1)
        check_real("tol", self.tol, 0, or_auto=True)
        self._check_kernel()

    def _descent_settings(self) -> dict[str, Any]:
        n_components, tol = (2, 1e-5) if self.kernel is None else (1, 1e-3)
        return {
            "beta": float(self.beta),
            "n_components": n_components if self.n_components == "auto" else self.n_components,
            "n_init": self.n_init,
            "tol": tol if self.tol == "auto" else self.tol,
            "max_iter": self.max_iter,
            "report": Steps(self.max_iter, self.n_init),
        }
