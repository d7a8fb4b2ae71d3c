"""How a descent ended, told to the user."""

import warnings
from typing import Protocol

from sklearn.exceptions import ConvergenceWarning


class Finished(Protocol):
    """The end of a descent."""

    @property
    def converged(self) -> bool:
        """Whether it settled."""

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped it."""


def warn_if_unfinished(
    state: Finished, n_done: int, max_iter: int, what: str, *, steps: str = "iterations"
) -> None:
    """Say so when a descent ended before it converged.

    Parameters
    ----------
    state : object
        Where it ended: it says whether it `converged` and whether it was `interrupted`.
    n_done : int
        The number of iterations that were made.
    max_iter : int
        The largest number that was allowed.
    what : str
        What should have settled.
    steps : str, default="iterations"
        What iterations are called.
    """
    if state.interrupted:
        message = f"interrupted after {n_done} {steps}; the result is the best state so far."
    elif not state.converged:
        message = f"{what} still changed after max_iter={max_iter} {steps}; raise max_iter or tol."
    else:
        return
    # The caller of the function that fits, as a rule: what matters is the message.
    warnings.warn(message, ConvergenceWarning, stacklevel=4)
