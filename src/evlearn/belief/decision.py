r"""Decisions from mass functions: single acts, or sets of acts that cannot be ruled out.

A loss matrix has a row for each state of nature (the elements of the frame) and a column for each act. An act has
a smallest, a largest and a mean loss in a set of states, and a mass function weights these sets. Therefore,
expected losses of any number of mass functions are one matrix product.

Mass functions are normalized first; those with all mass on the empty set count as vacuous.

A loss matrix may have one row more than the frame has elements, for the state "unknown class", which is possible
only in the whole frame.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt

from evlearn.belief.focal_sets import FocalSets
from evlearn.belief.revision import is_contradictory
from evlearn.belief.validation import as_mass_array
from evlearn.utils.typing import BoolArray, FloatArray, IntArray

#: Criteria of the expected loss.
CRITERIA = ("pessimistic", "optimistic", "hurwicz", "pignistic", "plausibility")
_MAX_FRAME_SIZE_OF_ACTS = 10


def loss_matrix(
    n_states: int, *, rejection_cost: float | None = None, unknown_cost: float | None = None
) -> FloatArray:
    """Return the matrix of the 0-1 loss, optionally with acts for rejection and for an unknown class.

    Parameters
    ----------
    n_states : int
        Number of elements of the frame.
    rejection_cost : float, default=None
        Loss of rejection in all states; None omits the act.
    unknown_cost : float, default=None
        Loss of the act "unknown class" for known classes; it is 0 for an unknown class. None omits the act and the
        unknown state.

    Returns
    -------
    ndarray of shape (n_states or n_states + 1, n_acts)
        Losses: rows are states; columns are acts, first the known classes, then rejection, then "unknown class".

    Examples
    --------
    >>> from evlearn.belief import loss_matrix
    >>> loss_matrix(2, rejection_cost=0.2, unknown_cost=0.25)
    array([[0.  , 1.  , 0.2 , 0.25],
           [1.  , 0.  , 0.2 , 0.25],
           [1.  , 1.  , 0.2 , 0.  ]])
    """
    n_rows = n_states + (unknown_cost is not None)
    losses = 1 - np.eye(n_rows, n_states)
    if rejection_cost is not None:
        losses = np.column_stack([losses, np.full(n_rows, rejection_cost)])
    if unknown_cost is not None:
        unknown = np.full(n_rows, unknown_cost)
        unknown[-1] = 0
        losses = np.column_stack([losses, unknown])
    return losses


def expected_loss(
    masses: npt.ArrayLike,
    focal_sets: FocalSets,
    loss: npt.ArrayLike | None = None,
    *,
    criterion: Literal["pessimistic", "optimistic", "hurwicz", "pignistic", "plausibility"] = "pignistic",
    rho: float = 0.5,
) -> FloatArray:
    """Compute the expected loss of each act.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        Mass functions.
    focal_sets : FocalSets
        Sets of the columns.
    loss : array-like of shape (n_states, n_acts), default=None
        Losses; None means the 0-1 loss, where the acts are the elements of the frame.
    criterion : {"pessimistic", "optimistic", "hurwicz", "pignistic", "plausibility"}, default="pignistic"
        Loss of a set of states: the largest (upper expectation), the smallest (lower expectation), `rho` times the
        smallest plus ``1 - rho`` times the largest, or the mean; "plausibility" uses the probabilities of
        `plausibility_transform`.
    rho : float, default=0.5
        Optimism of "hurwicz", between 0 and 1.

    Returns
    -------
    ndarray of shape (..., n_acts)
        Expected losses.
    """
    values, membership, losses = _read_problem(masses, focal_sets, loss)
    return _expected_loss(values, membership, losses, criterion, rho)


def decide(
    masses: npt.ArrayLike,
    focal_sets: FocalSets,
    loss: npt.ArrayLike | None = None,
    *,
    criterion: Literal["pessimistic", "optimistic", "hurwicz", "pignistic", "plausibility"] = "pignistic",
    rho: float = 0.5,
) -> IntArray:
    """Return the act with the smallest expected loss.

    With the 0-1 loss, "optimistic" chooses the most plausible element and "pessimistic" the most believed one.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        Mass functions.
    focal_sets : FocalSets
        Sets of the columns.
    loss : array-like of shape (n_states, n_acts), default=None
        Losses; None means the 0-1 loss, where the acts are the elements of the frame.
    criterion : {"pessimistic", "optimistic", "hurwicz", "pignistic", "plausibility"}, default="pignistic"
        Loss of a set of states, see `expected_loss`.
    rho : float, default=0.5
        Optimism of "hurwicz", between 0 and 1.

    Returns
    -------
    ndarray of int of shape (...)
        Columns of `loss` with the smallest expected loss; the first of ties.

    Examples
    --------
    >>> from evlearn.belief import FocalSets, decide, loss_matrix
    >>> losses = loss_matrix(2, rejection_cost=0.2)
    >>> decide(
    ...     [[0, 0.9, 0.1, 0], [0, 0.1, 0.1, 0.8]],
    ...     FocalSets.full(2),
    ...     losses,
    ...     criterion="pessimistic",
    ... )
    array([0, 2])
    """
    expected = expected_loss(masses, focal_sets, loss, criterion=criterion, rho=rho)
    return np.asarray(expected.argmin(axis=-1))


def interval_dominance(
    masses: npt.ArrayLike, focal_sets: FocalSets, loss: npt.ArrayLike | None = None
) -> BoolArray:
    """Select acts whose smallest expected loss is at most the largest expected loss of each other act.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        Mass functions.
    focal_sets : FocalSets
        Sets of the columns.
    loss : array-like of shape (n_states, n_acts), default=None
        Losses; None means the 0-1 loss, where the acts are the elements of the frame.

    Returns
    -------
    ndarray of bool of shape (..., n_acts)
        True for the acts that remain, at least one.
    """
    values, membership, losses = _read_problem(masses, focal_sets, loss)
    losses = _rescale_losses(losses)
    lower = _expected_loss(values, membership, losses, "optimistic", 0.5)
    upper = _expected_loss(values, membership, losses, "pessimistic", 0.5)
    return np.asarray(lower <= upper.min(axis=-1, keepdims=True) + _rounding_tolerance(values))


def maximality(masses: npt.ArrayLike, focal_sets: FocalSets, loss: npt.ArrayLike | None = None) -> BoolArray:
    """Select acts to which no other act is preferred for all compatible probabilities.

    They are a subset of the acts of `interval_dominance`.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        Mass functions.
    focal_sets : FocalSets
        Sets of the columns.
    loss : array-like of shape (n_states, n_acts), default=None
        Losses; None means the 0-1 loss, where the acts are the elements of the frame.

    Returns
    -------
    ndarray of bool of shape (..., n_acts)
        True for the acts that remain, at least one.
    """
    values, membership, losses = _read_problem(masses, focal_sets, loss)
    losses = _rescale_losses(losses)
    remaining = np.ones((*values.shape[:-1], losses.shape[1]), dtype=bool)
    for act in range(losses.shape[1]):
        regret = losses[:, [act]] - losses
        smallest_regret = _expected_loss(values, membership, regret, "optimistic", 0.5)
        remaining[..., act] = (smallest_regret <= _rounding_tolerance(values)).all(axis=-1)
    return remaining


def partial_assignment(
    masses: npt.ArrayLike,
    focal_sets: FocalSets,
    *,
    utility: Literal["u65", "u80", "inverse"] | Callable[[IntArray], FloatArray] = "u65",
    criterion: Literal["pessimistic", "optimistic", "hurwicz", "pignistic", "plausibility"] = "pignistic",
    rho: float = 0.5,
    acts: FocalSets | None = None,
) -> BoolArray:
    """Choose a set of elements, with a larger utility for smaller correct sets.

    The utility of a set B is ``u(|B|)`` if it contains the truth, and 0 otherwise.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        Mass functions.
    focal_sets : FocalSets
        Sets of the columns.
    utility : {"u65", "u80", "inverse"} or callable, default="u65"
        Utility of a correct set of size r: 1.6/r - 0.6/r^2, 2.2/r - 1.2/r^2, 1/r, or a function of sizes.
    criterion : {"pessimistic", "optimistic", "hurwicz", "pignistic", "plausibility"}, default="pignistic"
        Loss of a set of states, see `expected_loss`.
    rho : float, default=0.5
        Optimism of "hurwicz", between 0 and 1.
    acts : FocalSets, default=None
        Sets to choose from, except the empty set; None means all subsets of a frame of at most 10 elements.

    Returns
    -------
    ndarray of bool of shape (..., frame_size)
        True for the elements of the chosen set.
    """
    size = focal_sets.frame_size
    if acts is None:
        if size > _MAX_FRAME_SIZE_OF_ACTS:
            raise ValueError(
                f"the frame has {size} elements, too many to try all sets; pass the sets to choose from as "
                "acts, for example FocalSets.pairs(...)."
            )
        acts = FocalSets.full(size)
    worth = make_utility(utility)(acts.sizes[1:])
    losses = 1 - acts.membership[1:].T * worth
    chosen = decide(masses, focal_sets, losses, criterion=criterion, rho=rho)
    return acts.membership[1:][chosen]


def make_utility(utility: str | Callable[[IntArray], FloatArray]) -> Callable[[IntArray], FloatArray]:
    """Return the function from sizes of correct sets to utilities."""
    if callable(utility):
        return utility
    utilities: dict[str, Callable[[IntArray], FloatArray]] = {
        "u65": lambda r: 1.6 / r - 0.6 / r**2,
        "u80": lambda r: 2.2 / r - 1.2 / r**2,
        "inverse": lambda r: 1 / r,
    }
    if utility not in utilities:
        raise ValueError(f"utility must be a function or one of {sorted(utilities)}, got {utility!r}.")
    return utilities[utility]


def _read_problem(
    masses: npt.ArrayLike, focal_sets: FocalSets, loss: npt.ArrayLike | None
) -> tuple[FloatArray, BoolArray, FloatArray]:
    """Return the masses, the sets of states without the empty set, and the losses."""
    values = as_mass_array(masses, focal_sets)
    size = focal_sets.frame_size
    losses = loss_matrix(size) if loss is None else np.asarray(loss, dtype=float)
    if losses.ndim != 2 or losses.shape[0] not in (size, size + 1) or not np.isfinite(losses).all():
        raise ValueError(
            f"loss must be a finite matrix with {size} rows, one for each element of the frame (or {size + 1}, "
            f"the last for an unknown class), and a column for each act; got shape {losses.shape}."
        )
    membership = focal_sets.membership[1:]
    if losses.shape[0] == size + 1:
        membership = np.column_stack([membership, membership.all(axis=1)])
    if not focal_sets.has_omega and is_contradictory(values).any():
        raise ValueError(
            "a mass function has all mass on the empty set and counts as vacuous, but focal_sets lacks the whole "
            "frame; use expand_masses onto focal_sets.with_omega()."
        )
    return values, membership, losses


def _expected_loss(
    values: FloatArray, membership: BoolArray, losses: FloatArray, criterion: str, rho: float
) -> FloatArray:
    if criterion not in CRITERIA:
        raise ValueError(f"criterion must be one of {list(CRITERIA)}, got {criterion!r}.")
    if not 0 <= rho <= 1:
        raise ValueError(f"rho must lie between 0 and 1, got {rho!r}.")
    weights, losses_of_sets = values[..., 1:], losses
    if criterion == "plausibility":
        weights = weights @ membership.astype(values.dtype)
    else:
        losses_of_sets = _losses_of_sets(membership, losses, criterion, rho)
    totals = weights.sum(axis=-1, keepdims=True)
    expected = weights @ losses_of_sets.astype(values.dtype)
    expected /= np.where(totals > 0, totals, 1)
    is_vacuous = totals[..., 0] <= 0
    if is_vacuous.any():
        # The frame is the last set, and all its states are equally plausible.
        expected[is_vacuous] = losses.mean(axis=0) if criterion == "plausibility" else losses_of_sets[-1]
    return expected


def _losses_of_sets(membership: BoolArray, losses: FloatArray, criterion: str, rho: float) -> FloatArray:
    """Return the loss of each set of states, with a row per set and a column per act."""
    if criterion == "pignistic":
        return np.asarray((membership @ losses) / membership.sum(axis=1, keepdims=True))
    table = np.empty((len(membership), losses.shape[1]))
    for act, column in enumerate(losses.T):
        smallest = np.where(membership, column, np.inf).min(axis=1)
        largest = np.where(membership, column, -np.inf).max(axis=1)
        weight = {"optimistic": 1.0, "pessimistic": 0.0, "hurwicz": rho}[criterion]
        table[:, act] = weight * smallest + (1 - weight) * largest
    return table


def _rescale_losses(losses: FloatArray) -> FloatArray:
    """Rescale losses from 0 to between 1 and 2, because dominance depends on neither unit nor origin."""
    halves = losses / 2  # the difference of two large losses may overflow
    shifted = halves - halves.min()
    return np.asarray(np.ldexp(shifted, 1 - np.frexp(shifted.max())[1]))  # a power of 2, so nothing is rounded


def _rounding_tolerance(values: FloatArray) -> float:
    """Return the difference of rescaled expected losses below which they count as equal."""
    return 64 * float(np.finfo(values.dtype).eps)
