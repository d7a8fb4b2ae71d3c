r"""Networks of prototypes: outputs, and losses with analytic gradients.

Both networks have radial basis functions. In the evidential network each prototype supports classes; in the
network with weights of evidence it may also contradict them. The optimizer receives all parameters as a vector.
"""

from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import TypeVar

import numpy as np
from scipy.special import expit, log_softmax, logsumexp

from evlearn.storage import fields
from evlearn.utils.chunks import row_blocks
from evlearn.utils.typing import FloatArray

#: Maximum total mass of a prototype on classes; below 1, to avoid full conflict.
MAX_STRENGTH = 0.99
_TINY = np.finfo(np.float64).tiny  # avoids division by 0
_BLOCK_ROWS = 4096
_MAX_DIFFERENCES = 4096  # maximum size of an array of differences
_Parameters = TypeVar("_Parameters", "ENNParameters", "RBFParameters")


@fields.stored
@dataclass(frozen=True)
class ENNParameters:
    r"""Parameters of an evidential neural network.

    Attributes
    ----------
    prototypes : ndarray of shape (n_prototypes, n_features)
        Positions of the prototypes.
    eta : ndarray of shape (n_prototypes,)
        Scales: support decreases as :math:`e^{-\eta^2d^2}`.
    beta : ndarray of shape (n_prototypes, n_classes)
        Unnormalized square roots of the shares of the classes in a prototype.
    xi : ndarray of shape (n_prototypes,)
        Logits of the strengths of the prototypes.
    """

    prototypes: fields.Matrix
    eta: fields.Vector
    beta: fields.Matrix
    xi: fields.Vector

    @property
    def scales(self) -> FloatArray:
        """Square roots of the decay rates with the squared distance."""
        return np.abs(self.eta)

    @property
    def memberships(self) -> FloatArray:
        """Shares of the classes in each prototype."""
        squares = self.beta**2
        return np.asarray(squares / np.maximum(squares.sum(axis=1, keepdims=True), _TINY))

    @property
    def strengths(self) -> FloatArray:
        """Total mass of each prototype on classes, at distance 0."""
        return np.asarray(MAX_STRENGTH * expit(self.xi))

    def supports(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the support of rows by prototypes, and squared distances."""
        squares = squared_distances(rows, self.prototypes)
        return self.strengths * np.exp(-(self.eta**2) * squares), squares

    def masses(self, rows: FloatArray) -> FloatArray:
        """Return the masses of the classes and of the frame, of shape (n_rows, n_classes + 1)."""
        supports, _ = self.supports(rows)
        logs, frame = self._combine(supports)
        highest = logs.max(axis=1, keepdims=True)
        masses = np.column_stack(
            [np.exp(logs - highest) * np.abs(np.expm1(frame - logs)), np.exp(frame - highest)]
        )
        return np.asarray(masses / masses.sum(axis=1, keepdims=True))

    def _combine(self, supports: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return unnormalized logarithms of the plausibilities of classes and of the mass of the frame."""
        others = 1 - self.memberships
        logs = np.stack([np.log1p(-supports * column).sum(axis=1) for column in others.T], axis=1)
        return logs, np.log1p(-supports).sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class ENNLoss:
    """Mean of half the squared errors, with a penalty on the strengths of prototypes.

    Attributes
    ----------
    data : ndarray of shape (n_samples, n_features)
        Samples.
    targets : ndarray of shape (n_samples, n_classes)
        Targets.
    share : float
        Share of the mass on the frame that counts for each class.
    mu : float
        Penalty on the sum of all strengths.
    fixed_prototypes : bool
        Whether the positions of prototypes are fixed.
    shares : ndarray of shape (n_samples,) or None
        Weights of samples, with the sum 1; None means equal weights.
    """

    data: FloatArray
    targets: FloatArray
    share: float
    mu: float
    fixed_prototypes: bool
    shares: FloatArray | None = None

    def evaluate(self, parameters: ENNParameters) -> tuple[float, ENNParameters]:
        """Return the loss and its derivatives.

        Returns
        -------
        loss : float
            Loss.
        gradient : ENNParameters
            Derivatives with respect to the parameters.
        """
        value, slopes = _sum_blocks(self._block, parameters, len(self.data))
        by_place, by_scale, by_member, by_strength = slopes
        members, strengths = parameters.memberships, parameters.strengths
        norms = np.maximum((parameters.beta**2).sum(axis=1, keepdims=True), _TINY)
        by_beta = 2 * parameters.beta / norms * (by_member - (by_member * members).sum(axis=1, keepdims=True))
        by_xi = (by_strength + self.mu) * strengths * (1 - strengths / MAX_STRENGTH)
        value += self.mu * float(strengths.sum())
        if self.fixed_prototypes:
            by_place = np.zeros_like(by_place)
        return value, ENNParameters(by_place, by_scale, by_beta, by_xi)

    def _block(self, parameters: ENNParameters, rows: slice) -> tuple[float, list[FloatArray]]:
        data, n_classes = self.data[rows], self.targets.shape[1]
        supports, squares = parameters.supports(data)
        members = parameters.memberships
        logs, frame = parameters._combine(supports)
        highest = logs.max(axis=1, keepdims=True)
        powers, rest = np.exp(logs - highest), np.exp(frame - highest)
        total = powers.sum(axis=1, keepdims=True) - (n_classes - 1) * rest
        powers, rest = powers / total, rest / total
        outputs = powers - (1 - self.share) * rest
        errors = outputs - self.targets[rows]
        shares = _shares_of(self, rows)
        value = 0.5 * float((shares * errors**2).sum())
        errors *= shares
        products = (errors * outputs).sum(axis=1, keepdims=True)
        by_log = powers * (errors - products)
        by_frame = rest * ((self.share - 1) * errors.sum(axis=1, keepdims=True) + (n_classes - 1) * products)
        by_support = -by_frame / (1 - supports)
        by_member = np.empty_like(members)
        for k in range(n_classes):
            slopes = by_log[:, [k]] / (1 - supports * (1 - members[:, k]))
            by_support -= slopes * (1 - members[:, k])
            by_member[:, k] = (slopes * supports).sum(axis=0)
        weighted = by_support * supports
        by_strength = weighted.sum(axis=0) / np.maximum(parameters.strengths, _TINY)
        by_scale = -2 * parameters.eta * (weighted * squares).sum(axis=0)
        by_place = 2 * (parameters.eta**2)[:, None] * _weighted_differences(weighted, data, parameters.prototypes)
        return value, [by_place, by_scale, by_member, by_strength]


@fields.stored
@dataclass(frozen=True)
class RBFParameters:
    r"""Parameters of a network with weights of evidence.

    Attributes
    ----------
    prototypes : ndarray of shape (n_prototypes, n_features)
        Positions of the prototypes.
    gamma : ndarray of shape (n_prototypes,)
        Scales: the activation of a prototype is :math:`e^{-\gamma^2d^2/2}`.
    weights : ndarray of shape (n_prototypes, n_classes)
        Evidence of each prototype for or against each class.
    """

    prototypes: fields.Matrix
    gamma: fields.Vector
    weights: fields.Matrix

    @property
    def scales(self) -> FloatArray:
        """Square roots of the decay rates with the squared distance."""
        return np.asarray(np.abs(self.gamma) / np.sqrt(2))

    def activations(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the activations of prototypes, and squared distances."""
        squares = squared_distances(rows, self.prototypes)
        return np.exp(-(self.gamma**2) * squares / 2), squares


@dataclass(frozen=True)
class RBFLoss:
    """Mean negative log-likelihood of the labels, with a penalty on squared weights.

    Attributes
    ----------
    data : ndarray of shape (n_samples, n_features)
        Samples.
    plausibilities : ndarray of shape (n_samples, n_classes)
        Plausibilities of the labels; a sample with all plausibilities 1 does not contribute.
    l2 : float
        Penalty on the sum of squared weights.
    shares : ndarray of shape (n_samples,) or None
        Weights of samples, with the sum 1; None means equal weights.
    """

    data: FloatArray
    plausibilities: FloatArray
    l2: float
    shares: FloatArray | None = None

    def evaluate(self, parameters: RBFParameters) -> tuple[float, RBFParameters]:
        """Return the loss and its derivatives.

        Returns
        -------
        loss : float
            Loss.
        gradient : RBFParameters
            Derivatives with respect to the parameters.
        """
        value, (by_place, by_scale, by_weight) = _sum_blocks(self._block, parameters, len(self.data))
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
        by_place = (parameters.gamma**2)[:, None] * _weighted_differences(weighted, data, parameters.prototypes)
        return -float((shares * likelihood).sum()), [by_place, by_scale, active.T @ by_score]


def _shares_of(loss: ENNLoss | RBFLoss, rows: slice) -> FloatArray | float:
    return 1 / len(loss.data) if loss.shares is None else loss.shares[rows, None]


def squared_distances(rows: FloatArray, prototypes: FloatArray) -> FloatArray:
    """Compute squared distances by direct differences."""
    if rows.size * len(prototypes) <= _MAX_DIFFERENCES:
        return np.asarray(((rows[:, None, :] - prototypes) ** 2).sum(axis=2))
    columns = [((rows - prototype) ** 2).sum(axis=1) for prototype in prototypes]
    return np.stack(columns, axis=1)


def _sum_blocks(
    block: Callable[[_Parameters, slice], tuple[float, list[FloatArray]]], parameters: _Parameters, n_rows: int
) -> tuple[float, list[FloatArray]]:
    """Return the sum of a function of blocks of rows."""
    value, slopes = block(parameters, slice(0, min(_BLOCK_ROWS, n_rows)))
    for rows in list(row_blocks(n_rows, _BLOCK_ROWS))[1:]:
        block_value, block_slopes = block(parameters, rows)
        value += block_value
        slopes = [total + term for total, term in zip(slopes, block_slopes, strict=True)]
    return value, slopes


def _weighted_differences(weights: FloatArray, rows: FloatArray, prototypes: FloatArray) -> FloatArray:
    """Return the weighted sums of differences of rows from each prototype."""
    return np.asarray(weights.T @ rows - weights.sum(axis=0)[:, None] * prototypes)


def pack(parameters: _Parameters) -> FloatArray:
    """Concatenate all parameters, or derivatives, to a vector."""
    return np.concatenate([np.ravel(part) for part in astuple(parameters)])


def unpack(values: FloatArray, template: _Parameters) -> _Parameters:
    """Split a vector into parameters, with the shapes of a template."""
    shapes = [np.shape(part) for part in astuple(template)]
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
    parts = [part.reshape(shape) for part, shape in zip(np.split(values, ends), shapes, strict=True)]
    return type(template)(*parts)
