r"""Networks of prototypes: what they say about rows, and their losses with analytic gradients.

Both are bumps around prototypes. In the evidential network each prototype supports classes; in the one with
weights of evidence it also speaks against them. Parameters travel through the optimiser as one vector.
"""

from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import TypeVar

import numpy as np
from scipy.special import expit, log_softmax, logsumexp

from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import FloatArray

#: The most that a prototype can say: less than everything, so that two of them never contradict each other fully.
MOST = 0.99
_TINY = np.finfo(np.float64).tiny  # for what may vanish
_BLOCK_ROWS = 4096
_AT_ONCE = 4096  # differences of a few rows, in one step
_Parameters = TypeVar("_Parameters", "ENNParameters", "RBFParameters")


@dataclass(frozen=True)
class ENNParameters:
    r"""The parameters of an evidential neural network.

    Attributes
    ----------
    prototypes : ndarray of shape (n_prototypes, n_features)
        Where the prototypes are.
    eta : ndarray of shape (n_prototypes,)
        Scales: support falls as :math:`e^{-\eta^2d^2}`.
    beta : ndarray of shape (n_prototypes, n_classes)
        Roots of the shares of the classes in a prototype, not normalised.
    xi : ndarray of shape (n_prototypes,)
        Logits of the most that each prototype says.
    """

    prototypes: FloatArray
    eta: FloatArray
    beta: FloatArray
    xi: FloatArray

    @property
    def scales(self) -> FloatArray:
        """Roots of how fast what each prototype says falls with the squared distance."""
        return np.abs(self.eta)

    @property
    def memberships(self) -> FloatArray:
        """The shares of the classes in each prototype."""
        squares = self.beta**2
        return np.asarray(squares / np.maximum(squares.sum(axis=1, keepdims=True), _TINY))

    @property
    def strengths(self) -> FloatArray:
        """What each prototype says at its place."""
        return np.asarray(MOST * expit(self.xi))

    def supports(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What the prototypes say of rows, and their squared distances."""
        squares = squared_distances(rows, self.prototypes)
        return self.strengths * np.exp(-(self.eta**2) * squares), squares

    def masses(self, rows: FloatArray) -> FloatArray:
        """The masses of the classes and of the frame, of shape (n_rows, n_classes + 1)."""
        supports, _ = self.supports(rows)
        logs, frame = self._combined(supports)
        highest = logs.max(axis=1, keepdims=True)
        masses = np.column_stack(
            [np.exp(logs - highest) * np.abs(np.expm1(frame - logs)), np.exp(frame - highest)]
        )
        return np.asarray(masses / masses.sum(axis=1, keepdims=True))

    def _combined(self, supports: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Logarithms of the plausibilities of the classes and of the mass of the frame, before normalisation."""
        others = 1 - self.memberships
        logs = np.stack([np.log1p(-supports * column).sum(axis=1) for column in others.T], axis=1)
        return logs, np.log1p(-supports).sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class ENNLoss:
    """Half the squared error of a sample, on average, and the weight of what prototypes say at the most.

    Attributes
    ----------
    data : ndarray of shape (n_samples, n_features)
        The samples.
    targets : ndarray of shape (n_samples, n_classes)
        What should be said of them.
    share : float
        The share of the mass on the frame that counts for each class.
    mu : float
        The weight of the sum of all strengths.
    fixed_prototypes : bool
        Whether prototypes stay where they are.
    shares : ndarray of shape (n_samples,) or None
        How much each sample counts, with sum one; None is the same for all.
    """

    data: FloatArray
    targets: FloatArray
    share: float
    mu: float
    fixed_prototypes: bool
    shares: FloatArray | None = None

    def evaluate(self, parameters: ENNParameters) -> tuple[float, ENNParameters]:
        """The loss and its derivatives.

        Returns
        -------
        loss : float
            The loss.
        gradient : ENNParameters
            Its derivatives by each parameter.
        """
        value, slopes = _in_blocks(self._block, parameters, len(self.data))
        by_place, by_scale, by_member, by_strength = slopes
        members, strengths = parameters.memberships, parameters.strengths
        norms = np.maximum((parameters.beta**2).sum(axis=1, keepdims=True), _TINY)
        by_beta = 2 * parameters.beta / norms * (by_member - (by_member * members).sum(axis=1, keepdims=True))
        by_xi = (by_strength + self.mu) * strengths * (1 - strengths / MOST)
        value += self.mu * float(strengths.sum())
        if self.fixed_prototypes:
            by_place = np.zeros_like(by_place)
        return value, ENNParameters(by_place, by_scale, by_beta, by_xi)

    def _block(self, parameters: ENNParameters, rows: slice) -> tuple[float, list[FloatArray]]:
        data, n_classes = self.data[rows], self.targets.shape[1]
        supports, squares = parameters.supports(data)
        members = parameters.memberships
        logs, frame = parameters._combined(supports)
        highest = logs.max(axis=1, keepdims=True)
        powers, rest = np.exp(logs - highest), np.exp(frame - highest)
        total = powers.sum(axis=1, keepdims=True) - (n_classes - 1) * rest
        powers, rest = powers / total, rest / total
        said = powers - (1 - self.share) * rest
        errors = said - self.targets[rows]
        shares = _shares_of(self, rows)
        value = 0.5 * float((shares * errors**2).sum())
        errors *= shares
        along = (errors * said).sum(axis=1, keepdims=True)
        by_log = powers * (errors - along)
        by_frame = rest * ((self.share - 1) * errors.sum(axis=1, keepdims=True) + (n_classes - 1) * along)
        by_support = -by_frame / (1 - supports)
        by_member = np.empty_like(members)
        for k in range(n_classes):
            pulls = by_log[:, [k]] / (1 - supports * (1 - members[:, k]))
            by_support -= pulls * (1 - members[:, k])
            by_member[:, k] = (pulls * supports).sum(axis=0)
        weighted = by_support * supports
        by_strength = weighted.sum(axis=0) / np.maximum(parameters.strengths, _TINY)
        by_scale = -2 * parameters.eta * (weighted * squares).sum(axis=0)
        by_place = 2 * (parameters.eta**2)[:, None] * _pulls(weighted, data, parameters.prototypes)
        return value, [by_place, by_scale, by_member, by_strength]


@dataclass(frozen=True)
class RBFParameters:
    r"""The parameters of a network with weights of evidence.

    Attributes
    ----------
    prototypes : ndarray of shape (n_prototypes, n_features)
        Where the prototypes are.
    gamma : ndarray of shape (n_prototypes,)
        Scales: a prototype is active by :math:`e^{-\gamma^2d^2/2}`.
    weights : ndarray of shape (n_prototypes, n_classes)
        What each prototype says for or against each class.
    """

    prototypes: FloatArray
    gamma: FloatArray
    weights: FloatArray

    @property
    def scales(self) -> FloatArray:
        """Roots of how fast what each prototype says falls with the squared distance."""
        return np.asarray(np.abs(self.gamma) / np.sqrt(2))

    def activations(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """How active the prototypes are, and their squared distances."""
        squares = squared_distances(rows, self.prototypes)
        return np.exp(-(self.gamma**2) * squares / 2), squares


@dataclass(frozen=True)
class RBFLoss:
    """The mean negative log-likelihood of the labels, and the weight of squared weights.

    Attributes
    ----------
    data : ndarray of shape (n_samples, n_features)
        The samples.
    plausibilities : ndarray of shape (n_samples, n_classes)
        Those of the labels; a sample that may be anything says nothing.
    l2 : float
        The weight of the sum of squared weights.
    shares : ndarray of shape (n_samples,) or None
        How much each sample counts, with sum one; None is the same for all.
    """

    data: FloatArray
    plausibilities: FloatArray
    l2: float
    shares: FloatArray | None = None

    def evaluate(self, parameters: RBFParameters) -> tuple[float, RBFParameters]:
        """The loss and its derivatives.

        Returns
        -------
        loss : float
            The loss.
        gradient : RBFParameters
            Its derivatives by each parameter.
        """
        value, (by_place, by_scale, by_weight) = _in_blocks(self._block, parameters, len(self.data))
        value += self.l2 * float((parameters.weights**2).sum())
        return value, RBFParameters(by_place, by_scale, by_weight + 2 * self.l2 * parameters.weights)

    def _block(self, parameters: RBFParameters, rows: slice) -> tuple[float, list[FloatArray]]:
        data = self.data[rows]
        active, squares = parameters.activations(data)
        logs = log_softmax(active @ parameters.weights, axis=1)
        likelihood = logsumexp(logs, b=self.plausibilities[rows], axis=1, keepdims=True)
        plausible = self.plausibilities[rows]
        posterior = plausible * np.exp(np.where(plausible > 0, logs - likelihood, -np.inf))
        shares = _shares_of(self, rows)
        by_score = (np.exp(logs) - posterior) * shares
        weighted = active * (by_score @ parameters.weights.T)
        by_scale = -parameters.gamma * (weighted * squares).sum(axis=0)
        by_place = (parameters.gamma**2)[:, None] * _pulls(weighted, data, parameters.prototypes)
        return -float((shares * likelihood).sum()), [by_place, by_scale, active.T @ by_score]


def _shares_of(loss: ENNLoss | RBFLoss, rows: slice) -> FloatArray | float:
    return 1 / len(loss.data) if loss.shares is None else loss.shares[rows, None]


def squared_distances(rows: FloatArray, prototypes: FloatArray) -> FloatArray:
    """Squared distances by direct differences."""
    if rows.size * len(prototypes) <= _AT_ONCE:
        return np.asarray(((rows[:, None, :] - prototypes) ** 2).sum(axis=2))
    apart = [((rows - one) ** 2).sum(axis=1) for one in prototypes]
    return np.stack(apart, axis=1)


def _in_blocks(
    block: Callable[[_Parameters, slice], tuple[float, list[FloatArray]]], parameters: _Parameters, n_rows: int
) -> tuple[float, list[FloatArray]]:
    """The sum of what a function says of blocks of rows."""
    value, slopes = block(parameters, slice(0, min(_BLOCK_ROWS, n_rows)))
    for rows in list(row_blocks(n_rows, _BLOCK_ROWS))[1:]:
        more, others = block(parameters, rows)
        value += more
        slopes = [one + other for one, other in zip(slopes, others, strict=True)]
    return value, slopes


def _pulls(weights: FloatArray, rows: FloatArray, prototypes: FloatArray) -> FloatArray:
    """For each prototype, the sum of differences of rows from it with these weights."""
    return np.asarray(weights.T @ rows - weights.sum(axis=0)[:, None] * prototypes)


def pack(parameters: _Parameters) -> FloatArray:
    """All parameters, or derivatives, as one vector."""
    return np.concatenate([np.ravel(part) for part in astuple(parameters)])


def unpack(values: FloatArray, like: _Parameters) -> _Parameters:
    """The parameters that a vector stands for."""
    shapes = [np.shape(part) for part in astuple(like)]
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
    parts = [part.reshape(shape) for part, shape in zip(np.split(values, ends), shapes, strict=True)]
    return type(like)(*parts)
