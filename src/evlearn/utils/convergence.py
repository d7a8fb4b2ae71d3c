"""How a fit ends: whole or not at all, and what the user is told."""

import sys
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from sklearn.exceptions import ConvergenceWarning

from evlearn.exceptions import CollapseWarning

_Self = TypeVar("_Self")
_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def whole_or_nothing(
    fit: Callable[Concatenate[_Self, _Arguments], _Result],
) -> Callable[Concatenate[_Self, _Arguments], _Result]:
    """Let a method that learns leave its object as it was if it raises, whatever it has set by then.

    An interruption that the method answers with a result is none that it raises. Values that were learned before
    are put back, not copied: the method makes new ones and changes none of them in place.

    Parameters
    ----------
    fit : callable
        A method, such as ``fit``.

    Returns
    -------
    callable
        The method.
    """

    @wraps(fit)
    def whole(self: _Self, /, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        before = dict(self.__dict__)
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            self.__dict__.update(before)
            for name in self.__dict__.keys() - before.keys():
                del self.__dict__[name]
            raise

    return whole


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
        warn_caller(
            f"interrupted after {n_done} {steps}; the result is the best state so far.", ConvergenceWarning
        )
    elif not state.converged:
        message = f"{what} still changed after max_iter={max_iter} {steps}; raise max_iter or tol."
        warn_caller(message, ConvergenceWarning)


def warn_of_collapse(what: str, remedy: str) -> None:
    """Say that a fit has found less than it was asked for.

    Parameters
    ----------
    what : str
        What happened, as a clause without a full stop.
    remedy : str
        What to do about it, as a sentence.
    """
    warn_caller(f"{what}. {remedy}", CollapseWarning)


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called the library, however deep inside it the reason was found.

    Parameters
    ----------
    message : str
        What to say.
    category : type, default=UserWarning
        The kind of warning.
    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "evlearn":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
