"""Support of scikit-learn's callbacks (scikit-learn 1.9 and later).

A fit is a task. Its subtasks are its descents, its counted jobs and the fits of other estimators; those of a
descent are its iterations. `Steps` and `Count` (`progress.py`) report when they are done.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import wraps
from inspect import signature
from threading import RLock, get_ident
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from evlearn.utils.progress import current_work, reporting_as, without_callbacks

_Self = TypeVar("_Self")
_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

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


def reports_progress(
    fit: Callable[Concatenate[_Self, _Arguments], _Result],
) -> Callable[Concatenate[_Self, _Arguments], _Result]:
    """Report progress under the name of the class, and run callbacks if the method is `fit`."""
    names = [name for name in signature(fit).parameters if name != "self"]
    is_fit = fit.__name__ == "fit"

    def run(self: _Self, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        tasks = None
        if is_fit and has_callbacks(self):
            tasks = Tasks(self, {**dict(zip(names, args, strict=False)), **kwargs})
        try:
            with reporting_as(type(self).__name__, getattr(self, "verbose", 0), estimator=self, tasks=tasks):
                result = fit(self, *args, **kwargs)
                if tasks is not None:
                    tasks.end()
                return result
        finally:
            if tasks is not None:
                _tear_down(self)

    @wraps(fit)
    def wrapper(self: _Self, /, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        work = current_work()
        outer = None if work is None or not is_fit else work.tasks
        with nullcontext() if outer is None else outer.inner_fit(self):
            return run(self, *args, **kwargs)

    return wrapper


@with_callbacks
def _tear_down(estimator: Any) -> None:
    """Tear down the callbacks of a fit; `with_callbacks` around `fit` would hide the calling line."""


def has_callbacks(estimator: Any) -> bool:
    """Return True if the estimator has callbacks; scikit-learn uses the same check."""
    return hasattr(estimator, "_skl_callbacks")


class Tasks:
    """Tasks of a fit, for scikit-learn's callbacks.

    Parameters
    ----------
    estimator : object
        Estimator to fit.
    arguments : dict
        Arguments of its `fit`, by name.
    """

    def __init__(self, estimator: Any, arguments: dict[str, Any]) -> None:
        weights = arguments.get("sample_weight")
        metadata = None if weights is None else {"sample_weight": weights}
        self._arguments = {
            "estimator": estimator,
            "X": arguments.get("X"),
            "y": arguments.get("y"),
            "metadata": metadata,
        }
        self._estimator = estimator
        self._root: Any = None
        self._n_tasks = 0
        self._open: dict[int, Task] = {}  # by thread
        self._lock = RLock()

    def expect_tasks(self, n_tasks: int | None) -> None:
        """Begin the fit with at most `n_tasks` tasks (None if unknown), unless it has begun."""
        if self._root is None:
            self._root = self._estimator._init_callback_context(max_subtasks=n_tasks)
            with without_callbacks():
                self._root.call_on_fit_task_begin(**self._arguments)

    def begin(self, name: str, n_steps: int | None, *, counts: bool = False) -> "Task":
        """Begin a task of at most `n_steps` steps, after the end of the previous task of this thread."""
        with self._lock:
            self._end(get_ident())
            task = Task(self._subcontext(name, n_steps), self._estimator, counts=counts)
            self._open[get_ident()] = task
            return task

    @contextmanager
    def inner_fit(self, estimator: Any) -> Iterator[None]:
        """Run the fit of another estimator as a task, unless it is one of several counted jobs."""
        task = self._open.get(get_ident())
        if task is not None and task.counts:
            yield
            return
        with self._lock:
            self._end(get_ident())
            context = self._subcontext("inner-fit", 0)
        with context.propagate_callback_context(estimator):
            with without_callbacks():
                context.call_on_fit_task_begin(estimator=self._estimator)
            yield
            with without_callbacks():
                context.call_on_fit_task_end(estimator=self._estimator)

    def end(self) -> None:
        """End the fit."""
        self.expect_tasks(0)
        for thread in list(self._open):
            self._end(thread)
        with without_callbacks():
            self._root.call_on_fit_task_end(**self._arguments, reconstruction_attributes={})

    def _subcontext(self, name: str, n_steps: int | None) -> Any:
        self.expect_tasks(None)
        self._n_tasks += 1
        limit = self._root.max_subtasks
        if limit is not None and self._n_tasks > limit:  # a low estimate must not end the fit
            self._root.max_subtasks = self._n_tasks
        return self._root.subcontext(task_name=name, max_subtasks=n_steps)

    def _end(self, thread: int) -> None:
        task = self._open.pop(thread, None)
        if task is not None:
            task.end()


class Task:
    """Descent with its iterations, or counted jobs.

    Parameters
    ----------
    context : CallbackContext
        Context of the task, before its begin.
    estimator : object
        Estimator to fit.
    counts : bool
        Whether the task counts jobs.
    """

    def __init__(self, context: Any, estimator: Any, *, counts: bool) -> None:
        self._context, self._estimator, self.counts = context, estimator, counts
        self._n_steps = 0
        with without_callbacks():
            context.call_on_fit_task_begin(estimator=estimator)

    def set_done(self, number: int, name: str) -> None:
        """Record that `number` steps are done; end the fit as Ctrl-C does if a callback requests it."""
        limit = self._context.max_subtasks
        while self._n_steps < (number if limit is None else min(number, limit)):
            self._n_steps += 1
            step = self._context.subcontext(task_name=name)
            with without_callbacks():
                step.call_on_fit_task_begin(estimator=self._estimator)
                is_stopped = step.call_on_fit_task_end(estimator=self._estimator)
            if is_stopped:
                raise KeyboardInterrupt

    def end(self) -> None:
        """End the task."""
        with without_callbacks():
            self._context.call_on_fit_task_end(estimator=self._estimator)
