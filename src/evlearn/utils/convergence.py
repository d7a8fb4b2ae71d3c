"""The decorator of all fits, their iteration loop, its trace, and their warnings."""

import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial, wraps
from inspect import signature
from operator import attrgetter
from threading import Event
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import OptimizeResult, minimize
from sklearn.exceptions import ConvergenceWarning

from evlearn.exceptions import CollapseWarning
from evlearn.utils.progress import clear_line, current_work, reporting_as
from evlearn.utils.typing import FloatArray

_Self = TypeVar("_Self")


_Arguments = ParamSpec("_Arguments")


_Result = TypeVar("_Result")


State = TypeVar("State")


#: Number of iterations over which L-BFGS must reduce the objective.
_LBFGS_WINDOW = 10


Start = TypeVar("Start")


#: Problems of the innermost fit that records them.
_PROBLEMS: ContextVar[list[str] | None] = ContextVar("problems", default=None)


if TYPE_CHECKING:

    class CallbackSupportMixin:
        """Mixin of scikit-learn 1.9 and later."""

        def set_callbacks(self, *callbacks: Any) -> Self:
            """Set callbacks for the estimator."""

    def with_callbacks(method: Any) -> Any:
        """Tear callbacks down when the method ends."""

else:
    try:
        from sklearn.callback import CallbackSupportMixin, with_callbacks
    except ImportError:

        class CallbackSupportMixin:
            """Empty mixin for scikit-learn < 1.9, which has no callbacks."""

        def with_callbacks(method):
            """Return the method unchanged."""
            return method


@with_callbacks
def _tear_down(estimator: Any) -> None:
    """Tear down the callbacks of a fit; `with_callbacks` around `fit` would hide the calling line."""


def atomic_fit(
    fit: Callable[Concatenate[_Self, _Arguments], _Result],
) -> Callable[Concatenate[_Self, _Arguments], _Result]:
    """Restore the attributes of the estimator if the method raises, and report progress under its class name.

    Old values are restored by reference, so the method must replace values instead of changing them in place. An
    interruption that ends with a result is not an error. If the estimator has a method `_note_problems`, it gets
    the messages of `warn_of_collapse` at the end; otherwise they go to the enclosing fit. Only `fit`
    runs the callbacks of the estimator.
    """
    names = [name for name in signature(fit).parameters if name != "self"]
    is_fit = fit.__name__ == "fit"

    @wraps(fit)
    def wrapper(self: _Self, /, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        attributes = dict(self.__dict__)
        save_problems = getattr(self, "_note_problems", None)
        try:
            with ExitStack() as stack:
                problems = [] if save_problems is None else stack.enter_context(recording_problems())
                arguments = None
                if is_fit:
                    stack.enter_context(current_work().inner_fit(self))
                if is_fit and hasattr(self, "_skl_callbacks"):  # the same check as in scikit-learn
                    arguments = {**dict(zip(names, args, strict=False)), **kwargs}
                    stack.callback(_tear_down, self)
                verbose = getattr(self, "verbose", 0)
                stack.enter_context(
                    reporting_as(type(self).__name__, verbose, estimator=self, arguments=arguments)
                )
                result = fit(self, *args, **kwargs)
            if save_problems is not None:
                save_problems(tuple(problems))
            return result
        except BaseException:
            self.__dict__.update(attributes)
            for name in self.__dict__.keys() - attributes.keys():
                del self.__dict__[name]
            raise

    return wrapper


@dataclass(frozen=True)
class Trace(Generic[State]):
    """State and history of a descent.

    Attributes
    ----------
    state : object
        Solution at the current iteration.
    history : list of float
        Objective before the first iteration and after each iteration.
    converged : bool, default=False
        Whether the stopping criterion is met.
    interrupted : bool, default=False
        Whether the user stopped it.
    """

    state: State
    history: list[float]
    converged: bool = False
    interrupted: bool = False

    @property
    def objective(self) -> float:
        """Objective of the state."""
        return self.history[-1]

    @property
    def n_iter(self) -> int:
        """Number of iterations."""
        return len(self.history) - 1

    def with_state(self, state: _Result) -> "Trace[_Result]":
        """Return the trace with another representation of its state."""
        return Trace(state, self.history, self.converged, self.interrupted)


#: Function from a state to the next state, its objective, and True if the descent has converged.
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
    """Iterate until convergence or `max_iter`; Ctrl-C ends the descent and keeps its last state."""
    trace = start
    try:
        while trace.n_iter < max_iter and not trace.converged and not (stop and stop.is_set()):
            state, objective, converged = step(trace.state)
            # One assignment, so that an interruption finds the state and the history of the same iteration.
            trace = Trace(state, [*trace.history, objective], converged)
            if report is not None:
                report(trace.n_iter, objective)
    except KeyboardInterrupt:
        if stop is None:
            return replace(trace, interrupted=True)
        stop.set()
    return replace(trace, interrupted=stop is not None and stop.is_set() and not trace.converged)


def best_of(
    traces: Iterable[Trace[State]],
    key: Callable[[Trace[State]], float] = attrgetter("objective"),
    *,
    start_is_result: bool = False,
) -> Trace[State]:
    """Return the best of several descents that the user interrupts together.

    A descent that was interrupted before its first iteration counts only if `start_is_result` is True.
    """
    ends = list(traces)
    candidates = [trace for trace in ends if start_is_result or trace.n_iter or not trace.interrupted]
    if not candidates:
        raise KeyboardInterrupt  # no descent has a result yet
    return replace(min(candidates, key=key), interrupted=any(trace.interrupted for trace in ends))


def minimize_lbfgs(
    evaluate: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    *,
    tol: float,
    max_iter: int,
    gradient_tol: float,
    lower: FloatArray | None = None,
    report: Report | None = None,
) -> Trace[FloatArray]:
    """Minimize a function by L-BFGS of SciPy; Ctrl-C ends it with the last iteration."""
    trace = Trace(start, [evaluate(start)[0]])
    if not len(start):  # older versions of SciPy raise an error
        return replace(trace, converged=True)

    def callback(intermediate_result: OptimizeResult) -> None:
        nonlocal trace
        history = [*trace.history, float(intermediate_result.fun)]
        previous, objective = history[-1 - _LBFGS_WINDOW :][0], history[-1]
        trace = Trace(
            intermediate_result.x.copy(),
            history,
            len(history) > _LBFGS_WINDOW and previous - objective <= tol * objective,
        )
        if report is not None:
            report(trace.n_iter, objective)
        if trace.converged:
            raise StopIteration

    bounds = None if lower is None else [(bound, None) for bound in lower]
    options = {"maxiter": max_iter, "maxfun": 50 * max_iter, "ftol": 0, "gtol": gradient_tol}
    try:
        result = minimize(
            evaluate, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options, callback=callback
        )
    except KeyboardInterrupt:
        return replace(trace, interrupted=True)
    # If the line search finds no lower value, the limit of precision is reached.
    return replace(trace, converged=trace.converged or result.nit < max_iter)


def best_descent(
    run: Callable[[Start], Trace[State]],
    starts: Iterable[Start],
    *,
    previous: Trace[State] | None = None,
    refine: Callable[[Trace[State]], Trace[State]] | None = None,
    key: Callable[[Trace[State]], float] = attrgetter("objective"),
    start_is_result: bool = True,
    n_jobs: int | None = 1,
    stop: Event | None = None,
) -> Trace[State]:
    """Return the best of the descents from several starts, or its refinement; Ctrl-C ends all of them.

    Parameters
    ----------
    run : callable
        Function from a start to the trace of its descent.
    starts : iterable
        Starts.
    previous : Trace or None, default=None
        Best of earlier descents.
    refine : callable or None, default=None
        Function from the best trace to that of a further descent, which replaces it.
    key : callable, default=objective
        Function from a trace to the value that the best trace minimizes.
    start_is_result : bool, default=True
        Whether a descent that was interrupted before its first iteration has a result.
    n_jobs : int or None, default=1
        Number of threads.
    stop : Event or None, default=None
        Event that ends all descents, if several threads share it.

    Returns
    -------
    Trace
        Best trace; its attribute `interrupted` tells whether the user interrupted any descent.
    """
    stop = stop or Event()

    def attempt(descent: Callable[[], Trace[State]]) -> Trace[State] | None:
        if stop.is_set():
            return None
        try:
            trace = descent()
        except KeyboardInterrupt:  # outside the iterations
            stop.set()
            return None
        if trace.interrupted:
            stop.set()
        return trace

    descents = (partial(run, start) for start in starts)
    if n_jobs == 1:
        ends = list(map(attempt, descents))
    else:
        ends = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(attempt)(descent) for descent in descents)
    traces = [trace for trace in (previous, *ends) if trace is not None]
    best = best_of(traces, key, start_is_result=start_is_result)
    if refine is not None and not stop.is_set():
        refined = attempt(partial(refine, best))
        if refined is not None and (refined.n_iter or not refined.interrupted):
            best = refined
    return replace(best, interrupted=stop.is_set())


def publish_trace(
    estimator: Any,
    trace: Trace[Any],
    subject: str | None,
    *,
    max_iter: int,
    steps: str = "iterations",
    unit: float = 1.0,
) -> None:
    """Set the attributes of a descent that all iterative estimators have, and warn if it did not converge."""
    with np.errstate(over="ignore"):
        estimator.objective_history_ = np.array(trace.history) * unit
    estimator.objective_ = float(estimator.objective_history_[-1])
    estimator.n_iter_ = trace.n_iter
    estimator.converged_ = trace.converged
    if subject is not None:
        warn_if_unfinished(trace, subject, max_iter=max_iter, steps=steps)


def warn_if_unfinished(trace: Trace[Any], subject: str, *, max_iter: int, steps: str = "iterations") -> None:
    """Warn if a descent ended before it converged."""
    if trace.interrupted:
        warn_caller(
            f"interrupted after {trace.n_iter} {steps}; the result is the best state so far.", ConvergenceWarning
        )
    elif not trace.converged:
        message = f"{subject} still changed after max_iter={max_iter} {steps}; raise max_iter or tol."
        warn_caller(message, ConvergenceWarning)


@contextmanager
def recording_problems() -> Iterator[list[str]]:
    """Yield a list that collects the messages of `warn_of_collapse` while the context is open."""
    problems: list[str] = []
    token = _PROBLEMS.set(problems)
    try:
        yield problems
    finally:
        _PROBLEMS.reset(token)


@contextmanager
def ignoring_collapse(pattern: str) -> Iterator[None]:
    """Neither show nor record messages of `warn_of_collapse` that match a pattern."""
    with recording_problems() as problems, warnings.catch_warnings():
        warnings.filterwarnings("ignore", pattern, CollapseWarning)
        yield
    record_problems(problem for problem in problems if not re.match(pattern, problem, re.IGNORECASE))


def record_problems(sentences: Iterable[str]) -> None:
    """Add messages to the problems of the current fit, if it records them."""
    problems = _PROBLEMS.get()
    if problems is not None:
        problems.extend(sentences)


def warn_of_collapse(subject: str, remedy: str) -> None:
    """Warn that a fit found less than requested, and record the warning as a problem of the fit."""
    message = f"{subject}. {remedy}"
    is_word = subject.split(" ", 1)[0].isalpha()  # not the name of a parameter
    sentence = "".join(letter if letter.isprintable() else " " for letter in message)
    record_problems([sentence[0].upper() + sentence[1:] if is_word else sentence])
    warn_caller(message, CollapseWarning)


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called the library."""
    clear_line()
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "evlearn":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
