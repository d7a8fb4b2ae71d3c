"""One descent for all methods, the trace that it leaves, and how a fit ends: whole or not at all."""

import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import wraps
from threading import Event
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from evlearn.exceptions import CollapseWarning
from evlearn.utils.callbacks import followed
from evlearn.utils.progress import clear_line

_Self = TypeVar("_Self")
_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
State = TypeVar("State")
#: The problems of the innermost fit that keeps them.
_PROBLEMS: ContextVar[list[str] | None] = ContextVar("problems", default=None)


def whole_or_nothing(
    fit: Callable[Concatenate[_Self, _Arguments], _Result],
) -> Callable[Concatenate[_Self, _Arguments], _Result]:
    """Let a method that learns leave its object as it was if it raises, whatever it has set by then.

    An interruption that the method answers with a result is none that it raises. Values that were learned before
    are put back, not copied: the method makes new ones and changes none of them in place. Progress
    meanwhile is reported in the name of its class. If the object has a method `_note_problems`, it gets the
    warnings of `warn_of_collapse` as sentences at the end; else these belong to the fit around it.
    """
    reported = followed(fit)

    @wraps(fit)
    def whole(self: _Self, /, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        before = dict(self.__dict__)
        try:
            note = getattr(self, "_note_problems", None)
            if note is None:
                return reported(self, *args, **kwargs)
            with recording_problems() as problems:
                result = reported(self, *args, **kwargs)
            note(tuple(problems))
            return result
        except BaseException:
            self.__dict__.update(before)
            for name in self.__dict__.keys() - before.keys():
                del self.__dict__[name]
            raise

    return whole


@dataclass(frozen=True)
class Trace(Generic[State]):
    """Where a descent is, and how it came there.

    Attributes
    ----------
    state : object
        What the method is looking for.
    history : list of float
        The objective before the first iteration and after each.
    converged : bool, default=False
        Whether it settled.
    interrupted : bool, default=False
        Whether the user stopped it.
    """

    state: State
    history: list[float]
    converged: bool = False
    interrupted: bool = False

    @property
    def objective(self) -> float:
        """The objective of the state."""
        return self.history[-1]

    @property
    def n_iter(self) -> int:
        """The number of iterations."""
        return len(self.history) - 1

    def at(self, state: _Result) -> "Trace[_Result]":
        """The same way to the same place, which is seen as another state."""
        return Trace(state, self.history, self.converged, self.interrupted)


#: From a state to the next one, its objective, and whether nothing much has changed.
Step = Callable[[State], tuple[State, float, bool]]
Report = Callable[[int, float], None]


def descend(
    step: Step[State],
    start: Trace[State],
    *,
    max_iter: int,
    report: Report | None = None,
    stop: Event | None = None,
) -> Trace[State]:
    """Take steps until one says that it settled; the one place where Ctrl-C ends a descent and keeps its state."""
    trace = start
    try:
        while trace.n_iter < max_iter and not trace.converged and not (stop and stop.is_set()):
            state, objective, settled = step(trace.state)
            # At once: an interruption must not find the state of one iteration and the history of another.
            trace = Trace(state, [*trace.history, objective], settled)
            if report is not None:
                report(trace.n_iter, objective)
    except KeyboardInterrupt:
        if stop is None:
            return replace(trace, interrupted=True)
        stop.set()
    return replace(trace, interrupted=stop is not None and stop.is_set() and not trace.converged)


def best_of(
    traces: Iterable[Trace[State]], key: Callable[[Trace[State]], float] = lambda one: one.objective
) -> Trace[State]:
    """The best of several descents that the user interrupts together."""
    ends = list(traces)
    begun = [one for one in ends if one.n_iter or not one.interrupted]
    if not begun:
        raise KeyboardInterrupt  # before there was anything to keep
    return replace(min(begun, key=key), interrupted=any(one.interrupted for one in ends))


def publish_trace(
    estimator: Any,
    trace: Trace[Any],
    what: str | None,
    *,
    max_iter: int,
    steps: str = "iterations",
    unit: float = 1.0,
) -> None:
    """Set what every iterative estimator tells about its descent, and warn if that did not settle."""
    with np.errstate(over="ignore"):
        estimator.objective_history_ = np.array(trace.history) * unit
    estimator.objective_ = float(estimator.objective_history_[-1])
    estimator.n_iter_ = trace.n_iter
    estimator.converged_ = trace.converged
    if what is not None:
        warn_if_unfinished(trace, what, max_iter=max_iter, steps=steps)


def warn_if_unfinished(trace: Trace[Any], what: str, *, max_iter: int, steps: str = "iterations") -> None:
    """Say so when a descent ended before it settled; see `publish_trace`."""
    if trace.interrupted:
        warn_caller(
            f"interrupted after {trace.n_iter} {steps}; the result is the best state so far.", ConvergenceWarning
        )
    elif not trace.converged:
        message = f"{what} still changed after max_iter={max_iter} {steps}; raise max_iter or tol."
        warn_caller(message, ConvergenceWarning)


@contextmanager
def recording_problems() -> Iterator[list[str]]:
    """Yield a list to which `warn_of_collapse` adds its messages, as sentences, while the context is open."""
    problems: list[str] = []
    token = _PROBLEMS.set(problems)
    try:
        yield problems
    finally:
        _PROBLEMS.reset(token)


@contextmanager
def ignoring_collapse(pattern: str) -> Iterator[None]:
    """Ignore messages of `warn_of_collapse` that match a pattern: neither warn of them nor record them."""
    with recording_problems() as problems, warnings.catch_warnings():
        warnings.filterwarnings("ignore", pattern, CollapseWarning)
        yield
    record_problems(problem for problem in problems if not re.match(pattern, problem, re.IGNORECASE))


def record_problems(sentences: Iterable[str]) -> None:
    """Add sentences to the problems of the fit under way, if it keeps any."""
    problems = _PROBLEMS.get()
    if problems is not None:
        problems.extend(sentences)


def warn_of_collapse(what: str, remedy: str) -> None:
    """Warn that a fit has found less than it was asked for, and record the warning as a problem of the fit."""
    message = f"{what}. {remedy}"
    is_word = what.split(" ", 1)[0].isalpha()  # and not the name of a parameter
    sentence = "".join(letter if letter.isprintable() else " " for letter in message)
    record_problems([sentence[0].upper() + sentence[1:] if is_word else sentence])
    warn_caller(message, CollapseWarning)


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called the library, however deep inside it the reason was found."""
    clear_line()
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "evlearn":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
