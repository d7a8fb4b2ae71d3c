"""Fits that scikit-learn's callbacks follow, where scikit-learn has them (1.9 and later).

A fit is a task. Its subtasks are its descents, what it counts, and the fits of other estimators that it needs; and
those of a descent are its iterations. `Steps` and `Count` (`progress.py`) tell when these are done.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import wraps
from inspect import signature
from threading import RLock, get_ident
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from evlearn.utils.progress import at_work, current_work, unwatched

_Self = TypeVar("_Self")
_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

if TYPE_CHECKING:

    class CallbackSupportMixin:
        """What scikit-learn has since version 1.9."""

        def set_callbacks(self, *callbacks: Any) -> Self:
            """Set callbacks for the estimator."""

    def with_callbacks(method: Any) -> Any:
        """Tear callbacks down when the method ends."""

else:
    try:
        from sklearn.callback import CallbackSupportMixin, with_callbacks
    except ImportError:

        class CallbackSupportMixin:
            """Nothing: this scikit-learn has no callbacks."""

        def with_callbacks(method):
            """The method as it is."""
            return method


def followed(
    fit: Callable[Concatenate[_Self, _Arguments], _Result],
) -> Callable[Concatenate[_Self, _Arguments], _Result]:
    """Let a method report in the name of its class, and let callbacks follow it if it is `fit`."""
    names = [name for name in signature(fit).parameters if name != "self"]
    is_fit = fit.__name__ == "fit"

    def run(self: _Self, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        tasks = None
        if is_fit and has_callbacks(self):
            tasks = Tasks(self, {**dict(zip(names, args, strict=False)), **kwargs})
        try:
            with at_work(type(self).__name__, getattr(self, "verbose", 0), estimator=self, tasks=tasks):
                result = fit(self, *args, **kwargs)
                if tasks is not None:
                    tasks.end()
                return result
        finally:
            if tasks is not None:
                _tear_down(self)

    @wraps(fit)
    def told(self: _Self, /, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        work = current_work()
        outer = None if work is None or not is_fit else work.tasks
        with nullcontext() if outer is None else outer.inner_fit(self):
            return run(self, *args, **kwargs)

    return told


@with_callbacks
def _tear_down(estimator: Any) -> None:
    """Tear down the callbacks of a fit, which the decorator does; around a fit it would hide who called it."""


def has_callbacks(estimator: Any) -> bool:
    """Whether somebody follows its fits: the question that LogisticRegression asks too."""
    return hasattr(estimator, "_skl_callbacks")


class Tasks:
    """The tasks of a fit, for scikit-learn's callbacks.

    Parameters
    ----------
    estimator : object
        What is fitted.
    given : dict
        The arguments of its `fit`, by name.
    """

    def __init__(self, estimator: Any, given: dict[str, Any]) -> None:
        weights = given.get("sample_weight")
        metadata = None if weights is None else {"sample_weight": weights}
        self._known = {"estimator": estimator, "X": given.get("X"), "y": given.get("y"), "metadata": metadata}
        self._estimator = estimator
        self._root: Any = None
        self._n_begun = 0
        self._open: dict[int, Task] = {}  # of each thread
        self._lock = RLock()

    def expect(self, n_tasks: int | None) -> None:
        """Begin the fit, with so many tasks at most, unless that is known already; None for nobody knows."""
        if self._root is None:
            self._root = self._estimator._init_callback_context(max_subtasks=n_tasks)
            with unwatched():
                self._root.call_on_fit_task_begin(**self._known)

    def begin(self, name: str, n_steps: int | None, *, counts: bool = False) -> "Task":
        """Begin a task of so many steps at most; the one of this thread before it is done."""
        with self._lock:
            self._end(get_ident())
            task = Task(self._subcontext(name, n_steps), self._estimator, counts=counts)
            self._open[get_ident()] = task
            return task

    @contextmanager
    def inner_fit(self, estimator: Any) -> Iterator[None]:
        """Fit another estimator as a task; not if it is one of many that are counted."""
        task = self._open.get(get_ident())
        if task is not None and task.counts:
            yield
            return
        with self._lock:
            self._end(get_ident())
            context = self._subcontext("inner-fit", 0)
        with context.propagate_callback_context(estimator):
            with unwatched():
                context.call_on_fit_task_begin(estimator=self._estimator)
            yield
            with unwatched():
                context.call_on_fit_task_end(estimator=self._estimator)

    def end(self) -> None:
        """All is done, and the estimator is fitted."""
        self.expect(0)
        for thread in list(self._open):
            self._end(thread)
        with unwatched():
            self._root.call_on_fit_task_end(**self._known, reconstruction_attributes={})

    def _subcontext(self, name: str, n_steps: int | None) -> Any:
        self.expect(None)
        self._n_begun += 1
        most = self._root.max_subtasks
        if most is not None and self._n_begun > most:  # an estimate that was too low must not end the fit
            self._root.max_subtasks = self._n_begun
        return self._root.subcontext(task_name=name, max_subtasks=n_steps)

    def _end(self, thread: int) -> None:
        task = self._open.pop(thread, None)
        if task is not None:
            task.end()


class Task:
    """A descent with its iterations, or something that is counted.

    Parameters
    ----------
    context : CallbackContext
        Its context, which has not begun.
    estimator : object
        What is fitted.
    counts : bool
        Whether it counts jobs, whatever these do.
    """

    def __init__(self, context: Any, estimator: Any, *, counts: bool) -> None:
        self._context, self._estimator, self.counts = context, estimator, counts
        self._n_steps = 0
        with unwatched():
            context.call_on_fit_task_begin(estimator=estimator)

    def reach(self, number: int, name: str) -> None:
        """So many steps are done. If a callback says that this is enough, the fit ends as at Ctrl-C."""
        most = self._context.max_subtasks
        while self._n_steps < (number if most is None else min(number, most)):
            self._n_steps += 1
            step = self._context.subcontext(task_name=name)
            with unwatched():
                step.call_on_fit_task_begin(estimator=self._estimator)
                enough = step.call_on_fit_task_end(estimator=self._estimator)
            if enough:
                raise KeyboardInterrupt

    def end(self) -> None:
        """No more steps."""
        with unwatched():
            self._context.call_on_fit_task_end(estimator=self._estimator)
