"""Progress reports for logging, callbacks and stdout."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import RLock, get_ident
from typing import TYPE_CHECKING, Any

from evlearn.utils.formatting import format_duration, format_rate, pluralize
from evlearn.utils.terminal import TerminalLine

if TYPE_CHECKING:
    from evlearn.utils.callbacks import Task, Tasks

LOG = logging.getLogger("evlearn")
#: Minimum number of seconds between 2 reports of counted rows.
_SECONDS = 1.0
_LINE = TerminalLine("stdout")


@dataclass(frozen=True)
class Progress:
    """State of a fit, as passed to the callback of `watching`.

    Attributes
    ----------
    estimator : str
        Name of its class, or of the function; empty for `open_dataset`.
    stage : str
        Current stage: ``"copy"``, ``"fit"``, ``"bootstrap"`` or ``"search"``; and ``"pass"`` or ``"write"`` for
        rows of a single pass that takes seconds.
    unit : str
        Unit of `done`: ``"rows"``, ``"iteration"``, ``"sweep"``, ``"pass"``, ``"resample"``, ``"model"``,
        ``"setting"`` or ``"task"``; empty if there is only a message.
    done : int, default=0
        Number of finished units. Each initialization counts its own iterations. Iteration 0 is the first pass over
        all rows, with the objective of the initialization.
    total : int or None, default=None
        Maximum number of units, if it is known.
    objective : float or None, default=None
        Objective, if there is one.
    seconds : float, default=0.0
        Seconds since the fit began.
    seconds_each : float or None, default=None
        Average number of seconds per unit.
    seconds_left : float or None, default=None
        Upper bound of the remaining seconds of this stage at this pace, with all iterations of all
        initializations. Most fits converge long before.
    message : str, default=""
        Further information.

    See Also
    --------
    watching : Call a function with the progress of fits.
    """

    estimator: str
    stage: str
    unit: str
    n_done: int = 0
    total: int | None = None
    objective: float | None = None
    seconds: float = 0.0
    seconds_each: float | None = None
    seconds_left: float | None = None
    message: str = ""

    def __str__(self) -> str:
        if self.unit == "rows":
            of = "" if self.total is None else f" of {self.total:,}"
            text = f"{self.stage} {self.n_done:,}{of} rows"
        elif self.unit:
            text = f"{self.unit} {self.n_done:>4}"
            text += f" of {self.total}" if self.objective is None else f"   objective {self.objective:.9g}"
        else:
            text = self.message
        return f"{self.estimator} {text}".strip()


#: Type of functions that are called with each report.
Callback = Callable[[Progress], Any]
_WATCHERS: ContextVar[tuple[Callback, ...]] = ContextVar("evlearn_watchers", default=())


@contextmanager
def watching(callback: Callable[[Progress], Any]) -> Iterator[None]:
    """Call a function with the progress of all fits inside the block.

    Every fit inside the block calls `callback`, also a fit that is part of another one, under its own name. Fits
    in other threads or processes than the one that entered the block are not reported. The logger ``"evlearn"``
    gets the same reports at level INFO; it is silent unless logging is configured.

    Parameters
    ----------
    callback : callable
        Called with a `Progress`, one call at a time. If it raises KeyboardInterrupt, the fit ends like one that
        Ctrl-C interrupts: with a warning, and with the best state so far. Any other exception is passed to the
        caller of the fit, and leaves the estimator as it was before.

    Yields
    ------
    None
        Nothing; the block runs.

    See Also
    --------
    Progress : State of a fit.

    Examples
    --------
    >>> import evlearn
    >>> from evlearn.cluster import ECM
    >>> from evlearn.datasets import make_fourclass
    >>> X, _ = make_fourclass(400, random_state=0)
    >>> reports = []
    >>> with evlearn.watching(reports.append):
    ...     model = ECM(4, focal_sets="simple", random_state=0).fit(X)
    >>> reports[-1].estimator, reports[-1].unit, reports[-1].n_done == model.n_iter_
    ('ECM', 'iteration', True)
    >>> reports[-1].objective == model.objective_
    True
    """
    token = _WATCHERS.set((*_WATCHERS.get(), callback))
    try:
        yield
    finally:
        _WATCHERS.reset(token)


class Work:
    """A task that reports its progress.

    Parameters
    ----------
    name : str
        Name of the estimator or function.
    verbose : int, default=0
        Whether to print reports: in one changing line if stdout is a terminal, and otherwise line by line.
    estimator : object, default=None
        Estimator that runs the task.
    tasks : Tasks or None, default=None
        Tasks for scikit-learn's callbacks.
    """

    def __init__(
        self, name: str, verbose: int = 0, *, estimator: Any = None, tasks: "Tasks | None" = None
    ) -> None:
        self._name, self._verbose, self._estimator, self.tasks = name, verbose, estimator, tasks
        self._watchers = _WATCHERS.get()  # now, because other threads have other context variables
        self._start = time.monotonic()
        self._last: Progress | None = None
        self._lock = RLock()

    def report(self, stage: str, unit: str, **values: Any) -> None:
        """Send a report to the logger, to stdout if verbose, and to all callbacks."""
        progress = Progress(self._name, stage, unit, seconds=time.monotonic() - self._start, **values)
        with self._lock:
            if LOG.isEnabledFor(logging.INFO):
                LOG.info("%s   (%s)", progress, _times(progress))
            if self._verbose:
                self._print(progress)
            with without_callbacks():
                for callback in self._watchers:
                    callback(progress)

    def end(self, *, complete: bool) -> None:
        """End the line on the terminal, with the result of the task if it is complete."""
        if self._last is not None:
            _LINE.end(self._outcome(self._last) if complete else str(self._last))
            self._last = None

    def _print(self, progress: Progress) -> None:
        if not _LINE.is_live:
            if progress.n_done or not progress.unit:
                print(progress, flush=True)
        elif progress.unit:
            self._last = progress
            _LINE.show(live_text(progress))
        else:
            _LINE.end(str(progress))

    def _outcome(self, last: Progress) -> str:
        """Return the last report, or the result of the best initialization."""
        objective, number = (getattr(self._estimator, name, None) for name in ("objective_", "n_iter_"))
        if last.objective is None or objective is None or number is None:
            return str(last)
        steps = last.unit if number == 1 else pluralize(last.unit)
        return f"{self._name} {number} {steps}   objective {objective:.9g}   {format_duration(last.seconds)}"


_WORK: ContextVar[Work | None] = ContextVar("evlearn_work", default=None)


@contextmanager
def reporting_as(
    name: str, verbose: int = 0, *, estimator: Any = None, tasks: "Tasks | None" = None
) -> Iterator[None]:
    """Report progress under this name while the context is open."""
    work = Work(name, verbose, estimator=estimator, tasks=tasks)
    token = _WORK.set(work)
    complete = False
    try:
        yield
        complete = True
    finally:
        _WORK.reset(token)
        work.end(complete=complete)


def current_work() -> Work | None:
    """Return the current task of this thread."""
    return _WORK.get()


@contextmanager
def without_callbacks() -> Iterator[None]:
    """Neither report nor watch while the context is open, because callbacks may run other fits."""
    tokens = _WATCHERS.set(()), _WORK.set(None)
    try:
        yield
    finally:
        _WATCHERS.reset(tokens[0])
        _WORK.reset(tokens[1])


def clear_line() -> None:
    """Clear the line on the terminal before other output, such as a warning."""
    _LINE.clear()


def expect_tasks(n_parts: int) -> None:
    """Set the maximum number of descents, counts and inner fits, for callbacks that show a percentage."""
    work = _WORK.get()
    if work is not None and work.tasks is not None:
        work.tasks.expect_tasks(n_parts)


def report_message(message: str) -> None:
    """Report a message without numbers."""
    (_WORK.get() or Work("")).report("fit", "", message=message)


class Steps:
    """Report of descents: iterations, average duration, and maximum remaining time.

    Parameters
    ----------
    max_iter : int
        Maximum number of steps of a descent.
    n_descents : int, default=1
        Maximum number of descents, sequential or parallel.
    unit : str, default="iteration"
        Name of a step.
    """

    def __init__(self, max_iter: int, n_descents: int = 1, unit: str = "iteration") -> None:
        self._work = _WORK.get() or Work("")
        self._max_iter, self._n_left, self._unit = max_iter, n_descents, unit
        self._positions: dict[int, int] = {}  # step of each thread's descent
        self._tasks: dict[int, Task] = {}
        self._n_steps = 0
        self._start = time.monotonic()
        self._lock = RLock()
        if self._work.tasks is not None:
            self._work.tasks.expect_tasks(n_descents)

    def __call__(self, number: int, objective: float) -> None:
        """Report a step of a descent."""
        with self._lock:
            previous = self._positions.get(get_ident(), number)
            self._n_steps += max(number - previous, 1)
            if number <= previous:
                self._n_left -= 1
                if self._work.tasks is not None:
                    self._tasks[get_ident()] = self._work.tasks.begin(pluralize(self._unit), self._max_iter)
            self._positions[get_ident()] = number
            duration = (time.monotonic() - self._start) / self._n_steps
            n_steps = max(self._n_left, 0) * self._max_iter + sum(
                self._max_iter - position for position in self._positions.values()
            )
            self._work.report(
                "fit",
                self._unit,
                n_done=number,
                total=self._max_iter,
                objective=float(objective),
                seconds_each=duration,
                seconds_left=duration * n_steps,
            )
            if get_ident() in self._tasks:
                self._tasks[get_ident()].set_done(number, self._unit)


class Count:
    """Report of a count; rows are reported at most once per second, and at the end.

    Parameters
    ----------
    stage : str
        Name of the stage.
    unit : str
        Name of the counted units.
    total : int or None, default=None
        Number of units, if it is known.
    ending : bool, default=True
        Whether to report the end too.
    """

    def __init__(self, stage: str, unit: str, total: int | None = None, *, ending: bool = True) -> None:
        self._work = _WORK.get() or Work("")
        self._stage, self._unit, self._total, self._ending = stage, unit, total, ending
        self._start = self._reported = time.monotonic()
        self._done = 0
        self._task: Task | None = None
        if self._work.tasks is not None and unit != "rows":
            self._work.tasks.expect_tasks(1)
            self._task = self._work.tasks.begin(stage, total, counts=True)

    def add(self, number: int) -> None:
        """Report that `number` further units are done."""
        self.set_done(self._done + number)

    def end(self) -> None:
        """Report that all units are done."""
        self._total = self._done
        self.set_done(self._done)

    def set_done(self, n_done: int) -> None:
        """Report that `n_done` units are done in total."""
        self._done, current = n_done, time.monotonic()
        if n_done == self._total:
            if not self._ending:
                return
        elif self._unit == "rows" and current - self._reported < _SECONDS:
            return
        self._reported, duration = current, (current - self._start) / max(n_done, 1)
        left = None if self._total is None else duration * (self._total - n_done)
        self._work.report(
            self._stage, self._unit, n_done=n_done, total=self._total, seconds_each=duration, seconds_left=left
        )
        if self._task is not None:
            self._task.set_done(n_done, self._unit)


def live_text(progress: Progress) -> str:
    """Return a report as a line for a terminal: count, objective, speed and remaining time."""
    if not progress.unit:
        return str(progress)
    label = progress.stage if progress.unit == "rows" else progress.unit
    parts = [f"{progress.estimator} {label} {progress.n_done:,}".strip()]
    at_most = "at most" if progress.objective is not None else "about"
    if progress.total is not None:
        parts[0] += f" of {'at most ' if progress.objective is not None else ''}{progress.total:,}"
    if progress.unit == "rows":
        parts[0] += " rows"
    if progress.objective is not None:
        parts.append(f"objective {progress.objective:.6g}")
    if progress.seconds_each:
        parts.append(format_rate(progress.seconds_each))
    if progress.seconds_left is not None:
        parts.append(f"{at_most} {format_duration(float(f'{progress.seconds_left:.2g}'))} left")
    return ", ".join(parts)


def _times(progress: Progress) -> str:
    parts = [format_duration(progress.seconds)]
    if progress.seconds_each is not None and progress.unit != "rows":
        parts.append(f"about {format_duration(progress.seconds_each)} each")
    if progress.seconds_left is not None:
        parts.append(f"{format_duration(progress.seconds_left)} more at most")
    return ", ".join(parts)


__all__ = [
    "Callback",
    "Count",
    "Progress",
    "Steps",
    "clear_line",
    "current_work",
    "expect_tasks",
    "live_text",
    "report_message",
    "reporting_as",
    "watching",
    "without_callbacks",
]
