"""Progress reports for logging, `watching`, stdout, and scikit-learn's callbacks.

For scikit-learn's callbacks (scikit-learn 1.9 and later), a fit is a task. Its subtasks are its descents, its
counted jobs and the fits of other estimators; those of a descent are its iterations.
"""

import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import RLock, get_ident
from typing import Any, Literal, TextIO

from evlearn.utils.formatting import format_duration, format_rate, pluralize

LOG = logging.getLogger("evlearn")
#: Minimum number of seconds between 2 reports of counted rows.
_SECONDS = 1.0
#: Minimum number of seconds between 2 replacements of a line on a terminal.
_LINE_SECONDS = 0.1
#: Width of terminals that do not report their size.
_COLUMNS = 80


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
        Unit of `n_done`: ``"rows"``, ``"iteration"``, ``"sweep"``, ``"pass"``, ``"resample"``, ``"model"``,
        ``"setting"`` or ``"task"``; empty if there is only a message.
    n_done : int, default=0
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


class TerminalLine:
    """Changing line of stdout or stderr.

    Parameters
    ----------
    stream : {"stdout", "stderr"}
        Name of the stream. The stream is looked up before each output, because programs replace it.
    """

    def __init__(self, stream: Literal["stdout", "stderr"]) -> None:
        self._name = stream
        self._width = 0
        self._shown = float("-inf")

    @property
    def is_live(self) -> bool:
        """True if the stream is a terminal, on which a line can change."""
        return self._stream is not None and self._stream.isatty()

    def show(self, text: str) -> None:
        """Replace the line, unless it was replaced just before."""
        current = time.monotonic()
        if current - self._shown >= _LINE_SECONDS:
            self._shown = current
            text = text[: self._columns - 1]  # some terminals break the line after the last column
            self._write("\r" + text.ljust(self._width))
            self._width = len(text)

    def clear(self) -> None:
        """Remove the line."""
        if self._width:
            self._write("\r" + " " * self._width + "\r")
            self._width, self._shown = 0, float("-inf")

    def end(self, text: str) -> None:
        """End the line with this text, which remains."""
        self.clear()
        self._write(text + "\n")

    @property
    def _stream(self) -> TextIO | None:
        stream: TextIO | None = getattr(sys, self._name)  # None where there is no console
        return stream

    @property
    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or _COLUMNS if self._stream else _COLUMNS
        except (OSError, ValueError):
            return _COLUMNS

    def _write(self, text: str) -> None:
        if self._stream is not None:
            self._stream.write(text)
            self._stream.flush()


#: Line on stdout of all fits.
_LINE = TerminalLine("stdout")


class Work:
    """Fit or function that reports its progress.

    Parameters
    ----------
    name : str
        Name of the estimator or function.
    verbose : int, default=0
        Whether to print reports: in one changing line if stdout is a terminal, and otherwise line by line.
    estimator : object, default=None
        Estimator to fit.
    arguments : dict or None, default=None
        Arguments of its `fit` by name, if it has scikit-learn's callbacks.
    """

    def __init__(
        self, name: str, verbose: int = 0, *, estimator: Any = None, arguments: dict[str, Any] | None = None
    ) -> None:
        self._name, self._verbose, self._estimator, self._arguments = name, verbose, estimator, arguments
        self._watchers = _WATCHERS.get()  # now, because other threads have other context variables
        self._start = time.monotonic()
        self._last: Progress | None = None
        self._root: Any = None
        self._n_tasks = 0
        self._tasks: dict[int, Task] = {}  # open tasks by thread
        self._lock = RLock()

    def report(self, stage: str, unit: str, **values: Any) -> None:
        """Send a report to the logger, to stdout if verbose, and to all functions that watch."""
        progress = Progress(self._name, stage, unit, seconds=time.monotonic() - self._start, **values)
        with self._lock:
            if LOG.isEnabledFor(logging.INFO):
                LOG.info("%s   (%s)", progress, _times(progress))
            if self._verbose:
                self._print(progress)
            for callback in self._watchers:
                call_unreported(callback, progress)

    def expect_tasks(self, n_tasks: int | None) -> None:
        """Begin the fit with at most `n_tasks` tasks (None if unknown), unless it has begun."""
        if self._arguments is not None and self._root is None:
            self._root = self._estimator._init_callback_context(max_subtasks=n_tasks)
            call_unreported(self._root.call_on_fit_task_begin, **self._callback_arguments())

    def begin_task(self, name: str, n_steps: int | None, *, counts_jobs: bool = False) -> "Task":
        """Begin a task of at most `n_steps` steps, after the end of the previous task of this thread.

        The name is that of the counted jobs, or of a step.
        """
        if self._arguments is None:
            return Task(None)
        with self._lock:
            self._end_task(get_ident())
            task = Task(
                self._subcontext(name if counts_jobs else pluralize(name), n_steps),
                self._estimator,
                counts_jobs=counts_jobs,
            )
            self._tasks[get_ident()] = task
            return task

    @contextmanager
    def inner_fit(self, estimator: Any) -> Iterator[None]:
        """Run the fit of another estimator as a task, unless it is one of several counted jobs."""
        task = self._tasks.get(get_ident())
        if self._arguments is None or (task is not None and task.counts_jobs):
            yield
            return
        with self._lock:
            self._end_task(get_ident())
            context = self._subcontext("inner-fit", 0)
        with context.propagate_callback_context(estimator):
            call_unreported(context.call_on_fit_task_begin, estimator=self._estimator)
            yield
            call_unreported(context.call_on_fit_task_end, estimator=self._estimator)

    def end_fit(self) -> None:
        """End the tasks of a fit that succeeded."""
        if self._arguments is None:
            return
        self.expect_tasks(0)
        for thread in list(self._tasks):
            self._end_task(thread)
        call_unreported(
            self._root.call_on_fit_task_end, **self._callback_arguments(), reconstruction_attributes={}
        )

    def end_line(self, *, complete: bool) -> None:
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

    def _callback_arguments(self) -> dict[str, Any]:
        arguments = self._arguments or {}
        weights = arguments.get("sample_weight")
        metadata = None if weights is None else {"sample_weight": weights}
        return {
            "estimator": self._estimator,
            "X": arguments.get("X"),
            "y": arguments.get("y"),
            "metadata": metadata,
        }

    def _subcontext(self, name: str, n_steps: int | None) -> Any:
        self.expect_tasks(None)
        self._n_tasks += 1
        limit = self._root.max_subtasks
        if limit is not None and self._n_tasks > limit:  # a low estimate must not end the fit
            self._root.max_subtasks = self._n_tasks
        return self._root.subcontext(task_name=name, max_subtasks=n_steps)

    def _end_task(self, thread: int) -> None:
        task = self._tasks.pop(thread, None)
        if task is not None:
            task.end()


_WORK: ContextVar[Work | None] = ContextVar("evlearn_work", default=None)


@contextmanager
def reporting_as(
    name: str, verbose: int = 0, *, estimator: Any = None, arguments: dict[str, Any] | None = None
) -> Iterator[None]:
    """Report progress under this name while the context is open; the parameters are those of `Work`."""
    work = Work(name, verbose, estimator=estimator, arguments=arguments)
    token = _WORK.set(work)
    complete = False
    try:
        yield
        work.end_fit()
        complete = True
    finally:
        _WORK.reset(token)
        work.end_line(complete=complete)


def current_work() -> Work:
    """Return the current work of this thread; outside of fits, work without a name."""
    return _WORK.get() or Work("")


def call_unreported(callback: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function whose own fits are neither reported nor watched."""
    tokens = _WATCHERS.set(()), _WORK.set(None)
    try:
        return callback(*args, **kwargs)
    finally:
        _WATCHERS.reset(tokens[0])
        _WORK.reset(tokens[1])


def clear_line() -> None:
    """Clear the line on the terminal before other output, such as a warning."""
    _LINE.clear()


def expect_tasks(n_parts: int) -> None:
    """Set the maximum number of descents, counts and inner fits, for callbacks that show a percentage."""
    current_work().expect_tasks(n_parts)


def report_message(message: str) -> None:
    """Report a message without numbers."""
    current_work().report("fit", "", message=message)


class Task:
    """Descent with its iterations, or counted jobs, for scikit-learn's callbacks.

    Parameters
    ----------
    context : CallbackContext or None
        Context of the task, before its begin; None without callbacks.
    estimator : object, default=None
        Estimator to fit.
    counts_jobs : bool, default=False
        Whether the task counts jobs.
    """

    def __init__(self, context: Any, estimator: Any = None, *, counts_jobs: bool = False) -> None:
        self._context, self._estimator, self.counts_jobs = context, estimator, counts_jobs
        self._n_steps = 0
        if context is not None:
            call_unreported(context.call_on_fit_task_begin, estimator=estimator)

    def set_done(self, number: int, name: str) -> None:
        """Record that `number` steps are done; end the fit as Ctrl-C does if a callback requests it."""
        if self._context is None:
            return
        limit = self._context.max_subtasks
        while self._n_steps < (number if limit is None else min(number, limit)):
            self._n_steps += 1
            step = self._context.subcontext(task_name=name)
            call_unreported(step.call_on_fit_task_begin, estimator=self._estimator)
            if call_unreported(step.call_on_fit_task_end, estimator=self._estimator):
                raise KeyboardInterrupt

    def end(self) -> None:
        """End the task."""
        call_unreported(self._context.call_on_fit_task_end, estimator=self._estimator)


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
        self._work = current_work()
        self._max_iter, self._n_left, self._unit = max_iter, n_descents, unit
        self._positions: dict[int, int] = {}  # step of each thread's descent
        self._tasks: dict[int, Task] = {}
        self._n_steps = 0
        self._start = time.monotonic()
        self._lock = RLock()
        self._work.expect_tasks(n_descents)

    def __call__(self, number: int, objective: float) -> None:
        """Report a step of a descent."""
        with self._lock:
            previous = self._positions.get(get_ident(), number)
            self._n_steps += max(number - previous, 1)
            if number <= previous:
                self._n_left -= 1
                self._tasks[get_ident()] = self._work.begin_task(self._unit, self._max_iter)
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
        self._work = current_work()
        self._stage, self._unit, self._total, self._ending = stage, unit, total, ending
        self._start = self._reported = time.monotonic()
        self._done = 0
        self._task = Task(None)
        if unit != "rows":
            self._work.expect_tasks(1)
            self._task = self._work.begin_task(stage, total, counts_jobs=True)

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
