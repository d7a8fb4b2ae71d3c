"""What long work says while it goes on: to the log, to whoever watches, and on stdout where it is asked to."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import RLock, get_ident
from typing import TYPE_CHECKING, Any

from evlearn.utils.terminal import TerminalLine

if TYPE_CHECKING:
    from evlearn.utils.callbacks import Task, Tasks

LOG = logging.getLogger("evlearn")
#: Rows are counted aloud at most once in so many seconds.
_SECONDS = 1.0
_LINE = TerminalLine("stdout")
_PLURALS = {"pass": "passes"}


@dataclass(frozen=True)
class Progress:
    """How far a fit is, as `watching` tells it.

    Attributes
    ----------
    estimator : str
        The name of its class, or of the function; empty for `open_rows` by itself.
    stage : str
        What it does: ``"copy"``, ``"fit"``, ``"bootstrap"`` or ``"search"``; and ``"pass"`` or ``"write"`` for
        rows of a single pass, if that takes seconds.
    unit : str
        What is counted: ``"rows"``, ``"iteration"``, ``"sweep"``, ``"pass"``, ``"resample"``, ``"model"``,
        ``"setting"`` or ``"task"``; empty if there is only something to say.
    done : int, default=0
        How many are done. Starts count their iterations each by itself. An iteration 0 is the first look at all
        rows, with the objective of the start.
    total : int or None, default=None
        How many there can be at most, if that is known.
    objective : float or None, default=None
        The objective, if there is one.
    seconds : float, default=0.0
        The seconds since the fit began.
    seconds_each : float or None, default=None
        The seconds that one of them has taken on average.
    seconds_left : float or None, default=None
        The longest that this stage can still last at this pace, with all iterations of all starts. Most fits
        settle long before.
    message : str, default=""
        What else there is to say.

    See Also
    --------
    watching : Where it comes from.
    """

    estimator: str
    stage: str
    unit: str
    done: int = 0
    total: int | None = None
    objective: float | None = None
    seconds: float = 0.0
    seconds_each: float | None = None
    seconds_left: float | None = None
    message: str = ""

    def __str__(self) -> str:
        if self.unit == "rows":
            of = "" if self.total is None else f" of {self.total:,}"
            counted = f"{self.stage} {self.done:,}{of} rows"
        elif self.unit:
            counted = f"{self.unit} {self.done:>4}"
            counted += f" of {self.total}" if self.objective is None else f"   objective {self.objective:.9g}"
        else:
            counted = self.message
        return f"{self.estimator} {counted}".strip()


#: What is called with each event.
Callback = Callable[[Progress], Any]
_WATCHERS: ContextVar[tuple[Callback, ...]] = ContextVar("evlearn_watchers", default=())


@contextmanager
def watching(callback: Callable[[Progress], Any]) -> Iterator[None]:
    """Hear how far fits are: after each iteration, while files are copied, and how long it can last.

    Every fit inside the block calls `callback`, also a fit that another one needs, which has its own name. Fits
    that run in other threads or processes than the one that entered the block are not heard. The same is told to
    the logger ``"evlearn"``, at level INFO, which is silent unless logging is configured.

    Parameters
    ----------
    callback : callable
        Called with a `Progress`, one call at a time. If it raises KeyboardInterrupt, the fit ends like one that
        Ctrl-C interrupts: with a warning, and with the best state so far. Any other exception leaves the fit as it
        was raised, and the estimator as it was before.

    Yields
    ------
    None
        Nothing; the block runs.

    See Also
    --------
    Progress : What is told.

    Examples
    --------
    >>> import evlearn
    >>> from evlearn.cluster import ECM
    >>> from evlearn.datasets import make_fourclass
    >>> X, _ = make_fourclass(400, random_state=0)
    >>> heard = []
    >>> with evlearn.watching(heard.append):
    ...     model = ECM(4, focal_sets="simple", random_state=0).fit(X)
    >>> heard[-1].estimator, heard[-1].unit, heard[-1].done == model.n_iter_
    ('ECM', 'iteration', True)
    >>> heard[-1].objective == model.objective_
    True
    """
    token = _WATCHERS.set((*_WATCHERS.get(), callback))
    try:
        yield
    finally:
        _WATCHERS.reset(token)


class Work:
    """Something under way: who does it, since when, and who listens.

    Parameters
    ----------
    name : str
        Who does it.
    verbose : int, default=0
        Whether to print it: in one line that changes if stdout is a terminal, and else line by line.
    estimator : object, default=None
        The estimator that does it.
    tasks : Tasks or None, default=None
        What scikit-learn's callbacks hear of it.
    """

    def __init__(
        self, name: str, verbose: int = 0, *, estimator: Any = None, tasks: "Tasks | None" = None
    ) -> None:
        self._name, self._verbose, self._estimator, self.tasks = name, verbose, estimator, tasks
        self._watchers = _WATCHERS.get()  # here: threads that help do not know them
        self._begun = time.monotonic()
        self._last: Progress | None = None
        self._lock = RLock()

    def tell(self, stage: str, unit: str, **known: Any) -> None:
        """Tell everybody."""
        progress = Progress(self._name, stage, unit, seconds=time.monotonic() - self._begun, **known)
        with self._lock:
            if LOG.isEnabledFor(logging.INFO):
                LOG.info("%s   (%s)", progress, _times(progress))
            if self._verbose:
                self._print(progress)
            with unwatched():
                for watch in self._watchers:
                    watch(progress)

    def end(self, *, whole: bool) -> None:
        """Leave the line on the terminal, with what came out of the work if it was not broken off."""
        if self._last is not None:
            _LINE.end(self._outcome(self._last) if whole else str(self._last))
            self._last = None

    def _print(self, progress: Progress) -> None:
        if not _LINE.is_live:
            if progress.done or not progress.unit:
                print(progress, flush=True)
        elif progress.unit:
            self._last = progress
            _LINE.show(live_text(progress))
        else:
            _LINE.end(str(progress))

    def _outcome(self, last: Progress) -> str:
        """The last thing that was told, or what the best of all starts has come to."""
        objective, number = (getattr(self._estimator, name, None) for name in ("objective_", "n_iter_"))
        if last.objective is None or objective is None or number is None:
            return str(last)
        steps = last.unit if number == 1 else _plural(last.unit)
        return f"{self._name} {number} {steps}   objective {objective:.9g}   {_duration(last.seconds)}"


_WORK: ContextVar[Work | None] = ContextVar("evlearn_work", default=None)


@contextmanager
def at_work(name: str, verbose: int = 0, *, estimator: Any = None, tasks: "Tasks | None" = None) -> Iterator[None]:
    """Let what is told for a while be told of this estimator."""
    work = Work(name, verbose, estimator=estimator, tasks=tasks)
    token = _WORK.set(work)
    whole = False
    try:
        yield
        whole = True
    finally:
        _WORK.reset(token)
        work.end(whole=whole)


def current_work() -> Work | None:
    """What is under way in this thread."""
    return _WORK.get()


@contextmanager
def unwatched() -> Iterator[None]:
    """Let what callbacks do be their own affair."""
    tokens = _WATCHERS.set(()), _WORK.set(None)
    try:
        yield
    finally:
        _WATCHERS.reset(tokens[0])
        _WORK.reset(tokens[1])


def clear_line() -> None:
    """Make room on the terminal for something else, such as a warning."""
    _LINE.clear()


def expect(n_parts: int) -> None:
    """Say how many descents, counts and inner fits there will be at most, for callbacks that show a share."""
    work = _WORK.get()
    if work is not None and work.tasks is not None:
        work.tasks.expect(n_parts)


def say(message: str) -> None:
    """Tell something that is no number."""
    (_WORK.get() or Work("")).tell("fit", "", message=message)


class Steps:
    """Told the steps of descents, it says how long they take, and can take at most.

    Parameters
    ----------
    max_iter : int
        The most steps of a descent.
    n_descents : int, default=1
        The most descents, one after the other or side by side.
    unit : str, default="iteration"
        What a step is called.
    """

    def __init__(self, max_iter: int, n_descents: int = 1, unit: str = "iteration") -> None:
        self._work = _WORK.get() or Work("")
        self._max_iter, self._n_left, self._unit = max_iter, n_descents, unit
        self._at: dict[int, int] = {}  # where the descent of each thread is
        self._tasks: dict[int, Task] = {}
        self._n_taken = 0
        self._begun = time.monotonic()
        self._lock = RLock()
        if self._work.tasks is not None:
            self._work.tasks.expect(n_descents)

    def __call__(self, number: int, objective: float) -> None:
        """A descent has taken a step."""
        with self._lock:
            before = self._at.get(get_ident(), number)
            self._n_taken += max(number - before, 1)
            if number <= before:
                self._n_left -= 1
                if self._work.tasks is not None:
                    self._tasks[get_ident()] = self._work.tasks.begin(_plural(self._unit), self._max_iter)
            self._at[get_ident()] = number
            each = (time.monotonic() - self._begun) / self._n_taken
            n_steps = max(self._n_left, 0) * self._max_iter + sum(self._max_iter - at for at in self._at.values())
            self._work.tell(
                "fit",
                self._unit,
                done=number,
                total=self._max_iter,
                objective=float(objective),
                seconds_each=each,
                seconds_left=each * n_steps,
            )
            if get_ident() in self._tasks:
                self._tasks[get_ident()].reach(number, self._unit)


class Count:
    """Told how many are done, it says how many there are; of rows at most once a second, and all at the end.

    Parameters
    ----------
    stage : str
        What is done.
    unit : str
        What is counted.
    total : int or None, default=None
        How many there are, if that is known.
    ending : bool, default=True
        Whether the end is told too.
    """

    def __init__(self, stage: str, unit: str, total: int | None = None, *, ending: bool = True) -> None:
        self._work = _WORK.get() or Work("")
        self._stage, self._unit, self._total, self._ending = stage, unit, total, ending
        self._begun = self._told = time.monotonic()
        self._done = 0
        self._task: Task | None = None
        if self._work.tasks is not None and unit != "rows":
            self._work.tasks.expect(1)
            self._task = self._work.tasks.begin(stage, total, counts=True)

    def add(self, number: int) -> None:
        """So many more are done."""
        self.reach(self._done + number)

    def end(self) -> None:
        """These were all."""
        self._total = self._done
        self.reach(self._done)

    def reach(self, done: int) -> None:
        """So many are done."""
        self._done, now = done, time.monotonic()
        if done == self._total:
            if not self._ending:
                return
        elif self._unit == "rows" and now - self._told < _SECONDS:
            return
        self._told, each = now, (now - self._begun) / max(done, 1)
        left = None if self._total is None else each * (self._total - done)
        self._work.tell(
            self._stage, self._unit, done=done, total=self._total, seconds_each=each, seconds_left=left
        )
        if self._task is not None:
            self._task.reach(done, self._unit)


def live_text(progress: Progress) -> str:
    """What a line on a terminal says: what is counted, how fast, and for how long at most."""
    if not progress.unit:
        return str(progress)
    counted = progress.stage if progress.unit == "rows" else progress.unit
    parts = [f"{progress.estimator} {counted} {progress.done:,}".strip()]
    at_most = "at most" if progress.objective is not None else "about"
    if progress.total is not None:
        parts[0] += f" of {'at most ' if progress.objective is not None else ''}{progress.total:,}"
    if progress.unit == "rows":
        parts[0] += " rows"
    if progress.objective is not None:
        parts.append(f"objective {progress.objective:.6g}")
    if progress.seconds_each:
        parts.append(_rate(progress.seconds_each))
    if progress.seconds_left is not None:
        parts.append(f"{at_most} {_duration(float(f'{progress.seconds_left:.2g}'))} left")
    return ", ".join(parts)


def _rate(seconds_each: float) -> str:
    if seconds_each > 1:
        return f"{_duration(seconds_each)} each"
    number = 1 / seconds_each
    return f"{number:,.0f} per second" if number >= 10 else f"{number:.1f} per second"


def _plural(unit: str) -> str:
    return _PLURALS.get(unit, f"{unit}s")


def _times(progress: Progress) -> str:
    parts = [_duration(progress.seconds)]
    if progress.seconds_each is not None and progress.unit != "rows":
        parts.append(f"about {_duration(progress.seconds_each)} each")
    if progress.seconds_left is not None:
        parts.append(f"{_duration(progress.seconds_left)} more at most")
    return ", ".join(parts)


def _duration(seconds: float) -> str:
    for size, name in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {name}"
    return f"{seconds:.3g} s"


__all__ = [
    "Callback",
    "Count",
    "Progress",
    "Steps",
    "at_work",
    "clear_line",
    "current_work",
    "expect",
    "live_text",
    "say",
    "unwatched",
    "watching",
]
