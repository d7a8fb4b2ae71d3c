r"""Decisions from mass functions: one act, or the set of acts that cannot be ruled out.

A loss matrix has a row for each state of nature (the elements of the frame) and a column for each act. A set of
states gives each act a smallest, a largest and a mean loss, and a mass function weighs the sets; so every expected
loss is one matrix product and works on any number of mass functions.

Mass on the empty set is given up first, in proportion; a mass function with nothing else counts as vacuous.

A loss matrix may have one row more than the frame has elements: the state "none of the known classes", which only
the whole frame allows for.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt

from evlearn.belief.focal_sets import FocalSets
from evlearn.belief.revision import is_contradictory
from evlearn.belief.validation import as_mass_array
from evlearn.utils.typing import BoolArray, FloatArray, IntArray

#: The rules that weigh a set by its best, worst, mean ... loss.
CRITERIA = ("pessimistic", "optimistic", "hurwicz", "pignistic", "plausibility")
_LARGEST_ACT_FRAME = 10


def loss_matrix(
    n_states: int, *, rejection_cost: float | None = None, unknown_cost: float | None = None
) -> FloatArray:
    """The 0-1 loss, with an act of rejection and an act "unknown class" if wanted.

    Parameters
    ----------
    n_states : int
        The number of elements of the frame.
    rejection_cost : float, default=None
        The loss of refusing to decide, whatever the truth; None leaves the act out.
    unknown_cost : float, default=None
        The loss of saying "unknown class" when the class is a known one; it is 0 when the class is indeed unknown.
        None leaves the act, and the unknown state, out.

    Returns
    -------
    ndarray of shape (n_states or n_states + 1, n_acts)
        Rows are states and columns acts: the known classes, then rejection, then "unknown class".

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
    """The expected loss of each act.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        The mass functions.
    focal_sets : FocalSets
        What the columns stand for.
    loss : array-like of shape (n_states, n_acts), default=None
        The losses; None means the 0-1 loss, where the acts are the elements of the frame.
    criterion : {"pessimistic", "optimistic", "hurwicz", "pignistic", "plausibility"}, default="pignistic"
        Count each set's largest loss (upper expectation), its smallest (lower expectation), `rho` times the
        smallest plus ``1 - rho`` times the largest, its mean, or use the probabilities of
        `plausibility_transform`.
    rho : float, default=0.5
        The optimism of "hurwicz", between 0 and 1.

    Returns
    -------
    ndarray of shape (..., n_acts)
        The expected losses.
    """
    values, membership, losses = _read_problem(masses, focal_sets, loss)
    return _expect(values, membership, losses, criterion, rho)


def decide(
    masses: npt.ArrayLike,
    focal_sets: FocalSets,
    loss: npt.ArrayLike | None = None,
    *,
    criterion: Literal["pessimistic", "optimistic", "hurwicz", "pignistic", "plausibility"] = "pignistic",
    rho: float = 0.5,
) -> IntArray:
    """The act with the smallest expected loss.

    With the 0-1 loss, "optimistic" chooses the most plausible element and "pessimistic" the most believed one.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        The mass functions.
    focal_sets : FocalSets
        What the columns stand for.
    loss : array-like of shape (n_states, n_acts), default=None
        The losses; None means the 0-1 loss, where the acts are the elements of the frame.
    criterion : {"pessimistic", "optimistic", "hurwicz", "pignistic", "plausibility"}, default="pignistic"
        How sets of states are weighed, see `expected_loss`.
    rho : float, default=0.5
        The optimism of "hurwicz", between 0 and 1.

    Returns
    -------
    ndarray of int of shape (...)
        The column of `loss` to choose; the lowest of equals.

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
    """The acts whose smallest expected loss is not above another act's largest one.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        The mass functions.
    focal_sets : FocalSets
        What the columns stand for.
    loss : array-like of shape (n_states, n_acts), default=None
        The losses; None means the 0-1 loss, where the acts are the elements of the frame.

    Returns
    -------
    ndarray of bool of shape (..., n_acts)
        Which acts remain; always at least one.
    """
    values, membership, losses = _read_problem(masses, focal_sets, loss)
    losses = _in_units(losses)
    lower = _expect(values, membership, losses, "optimistic", 0.5)
    upper = _expect(values, membership, losses, "pessimistic", 0.5)
    return np.asarray(lower <= upper.min(axis=-1, keepdims=True) + _rounding(values))


def maximality(masses: npt.ArrayLike, focal_sets: FocalSets, loss: npt.ArrayLike | None = None) -> BoolArray:
    """The acts that no other act is certain to beat: fewer than, or the same as, by interval dominance.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        The mass functions.
    focal_sets : FocalSets
        What the columns stand for.
    loss : array-like of shape (n_states, n_acts), default=None
        The losses; None means the 0-1 loss, where the acts are the elements of the frame.

    Returns
    -------
    ndarray of bool of shape (..., n_acts)
        Which acts remain; always at least one.
    """
    values, membership, losses = _read_problem(masses, focal_sets, loss)
    losses = _in_units(losses)
    remaining = np.ones((*values.shape[:-1], losses.shape[1]), dtype=bool)
    for act in range(losses.shape[1]):
        regret = losses[:, [act]] - losses
        certain = _expect(values, membership, regret, "optimistic", 0.5)
        remaining[..., act] = (certain <= _rounding(values)).all(axis=-1)
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
    """Choose a set of elements, where a small right set is worth more than a large one.

    A set B is worth ``u(|B|)`` if it holds the truth and nothing otherwise.

    Parameters
    ----------
    masses : array-like of shape (..., n_focal_sets)
        The mass functions.
    focal_sets : FocalSets
        What the columns stand for.
    utility : {"u65", "u80", "inverse"} or callable, default="u65"
        The worth of a right set of size r: 1.6/r - 0.6/r^2, 2.2/r - 1.2/r^2, 1/r, or a function of sizes.
    criterion : {"pessimistic", "optimistic", "hurwicz", "pignistic", "plausibility"}, default="pignistic"
        How sets of states are weighed, see `expected_loss`.
    rho : float, default=0.5
        The optimism of "hurwicz", between 0 and 1.
    acts : FocalSets, default=None
        The sets to choose from (the empty set is not); None means all subsets of a frame of at most 10 elements.

    Returns
    -------
    ndarray of bool of shape (..., frame_size)
        Which elements belong to the chosen set.
    """
    size = focal_sets.frame_size
    if acts is None:
        if size > _LARGEST_ACT_FRAME:
            raise ValueError(
                f"the frame has {size} elements, too many to try all sets; give the sets to choose from as "
                "acts, for example FocalSets.pairs(...)."
            )
        acts = FocalSets.full(size)
    worth = utility_of_sizes(utility)(acts.sizes[1:])
    losses = 1 - acts.membership[1:].T * worth
    chosen = decide(masses, focal_sets, losses, criterion=criterion, rho=rho)
    return acts.membership[1:][chosen]


def utility_of_sizes(utility: str | Callable[[IntArray], FloatArray]) -> Callable[[IntArray], FloatArray]:
    """The worth of right sets by their sizes."""
    if callable(utility):
        return utility
    known: dict[str, Callable[[IntArray], FloatArray]] = {
        "u65": lambda r: 1.6 / r - 0.6 / r**2,
        "u80": lambda r: 2.2 / r - 1.2 / r**2,
        "inverse": lambda r: 1 / r,
    }
    if utility not in known:
        raise ValueError(f"utility must be a function or one of {sorted(known)}, got {utility!r}.")
    return known[utility]


def _read_problem(
    masses: npt.ArrayLike, focal_sets: FocalSets, loss: npt.ArrayLike | None
) -> tuple[FloatArray, BoolArray, FloatArray]:
    """The nonempty columns' masses, their sets of states, and the losses."""
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
            "a mass function is all on the empty set and counts as vacuous, but focal_sets lacks the whole "
            "frame; expand the masses onto focal_sets.with_omega()."
        )
    return values, membership, losses


def _expect(
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
    nothing = totals[..., 0] <= 0
    if nothing.any():
        # Vacuous: the frame is the last set, and all its states are equally plausible.
        expected[nothing] = losses.mean(axis=0) if criterion == "plausibility" else losses_of_sets[-1]
    return expected


def _losses_of_sets(membership: BoolArray, losses: FloatArray, criterion: str, rho: float) -> FloatArray:
    """The loss that each set of states stands for, a row per set and a column per act."""
    if criterion == "pignistic":
        return np.asarray((membership @ losses) / membership.sum(axis=1, keepdims=True))
    table = np.empty((len(membership), losses.shape[1]))
    for act, column in enumerate(losses.T):
        smallest = np.where(membership, column, np.inf).min(axis=1)
        largest = np.where(membership, column, -np.inf).max(axis=1)
        weight = {"optimistic": 1.0, "pessimistic": 0.0, "hurwicz": rho}[criterion]
        table[:, act] = weight * smallest + (1 - weight) * largest
    return table


def _in_units(losses: FloatArray) -> FloatArray:
    """Losses from 0 to a number between 1 and 2: what dominates what depends on neither unit nor origin."""
    halves = losses / 2  # the difference of two large losses may overflow
    above = halves - halves.min()
    return np.asarray(np.ldexp(above, 1 - np.frexp(above.max())[1]))  # by a power of two, which rounds nothing


def _rounding(values: FloatArray) -> float:
    """Differences of expected losses, in their units, that are below this are rounding, not preference."""
    return 64 * float(np.finfo(values.dtype).eps)
