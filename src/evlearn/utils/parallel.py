"""Parallel jobs by joblib whose finished results survive an interruption, and a limit of BLAS to one thread.

The matrix products are small and frequent, so that BLAS threads would wait for each other.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import chain
from threading import Lock, local
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import ThreadpoolController

from evlearn.utils.chunks import row_blocks

# Number of groups of tasks that are sent at once if an engine returns lists of results.
_GROUPS_PER_LIST = 64
# Engines take milliseconds to send a task. Therefore tasks are sent in groups: enough groups for each worker that
# a slow one does not delay the others, and small enough that progress is visible and a lost worker loses little.
_GROUPS_PER_WORKER = 2
_LARGEST_GROUP = 8


def run_jobs(
    jobs: Sequence[Any], n_jobs: int | None, report: Callable[[int], None] | None = None
) -> tuple[list[Any], bool]:
    """Run jobs, and keep finished results when the user interrupts.

    Returns
    -------
    results : list
        Results of the jobs, in their order; fewer than there are jobs after an interruption.
    interrupted : bool
        Whether the user interrupted.
    """
    results: list[Any] = []
    try:
        for result in Parallel(n_jobs=n_jobs, return_as="generator")(jobs):
            results.append(result)
            if report:
                report(len(results))
    except KeyboardInterrupt:
        return results, True
    return results, False


class _Workers:
    """Workers for all passes over the data of a fit, because engines take seconds to start them."""

    def __init__(self) -> None:
        self.stack = ExitStack()
        self._idle: dict[int | None, Parallel] = {}

    def run(self, tasks: list[Any], n_jobs: int | None) -> Iterator[Any]:
        """Yield the results of tasks, in their order."""
        # Removed from the pool, so that no other call uses them in the meantime.
        pool = self._idle.pop(n_jobs, None) or self.stack.enter_context(_parallel(n_jobs))
        yield from _results(pool, _groups(tasks, n_jobs))
        self._idle[n_jobs] = pool


_WORKERS: ContextVar[_Workers | None] = ContextVar("workers", default=None)


@contextmanager
def reuse_workers() -> Iterator[None]:
    """Use the same workers for all `run_tasks` of this thread while the context is open."""
    workers = _Workers()
    token = _WORKERS.set(workers)
    try:
        with workers.stack:
            yield
    finally:
        _WORKERS.reset(token)


def run_tasks(tasks: list[Any], n_jobs: int | None) -> Iterator[Any]:
    """Run tasks by joblib's active backend, or by threads, and yield their results in order."""
    if len(tasks) == 1:  # small data, or samples of data: no parallel work
        function, arguments, options = tasks[0]
        yield function(*arguments, **options)
        return
    workers = _WORKERS.get()
    if workers is None:
        yield from _results(_parallel(n_jobs), _groups(tasks, n_jobs))
    else:
        yield from workers.run(tasks, n_jobs)


def _groups(tasks: list[Any], n_jobs: int | None) -> list[Any]:
    """Return the tasks of joblib; each runs a group of tasks sequentially."""
    n_workers = effective_n_jobs(n_jobs)
    size = min(len(tasks) // (_GROUPS_PER_WORKER * n_workers), _LARGEST_GROUP) if n_workers > 1 else 1
    return [delayed(_run_group)(tasks[group]) for group in row_blocks(len(tasks), max(size, 1))]


def _run_group(tasks: list[Any]) -> list[Any]:
    return [function(*arguments, **options) for function, arguments, options in tasks]


def _parallel(n_jobs: int | None) -> Parallel:
    # Groups are few and large: without batches and sent at once, or an engine would leave workers idle.
    options: dict[str, Any] = {"prefer": "threads", "batch_size": 1, "pre_dispatch": "all"}
    try:
        return Parallel(n_jobs=n_jobs, return_as="generator", **options)
    except ValueError:  # Ray's backend returns lists only
        return Parallel(n_jobs=n_jobs, **options)


def _results(pool: Parallel, groups: list[Any]) -> Iterator[Any]:
    if pool.return_generator:
        yield from chain.from_iterable(pool(groups))
        return
    for slots in row_blocks(len(groups), _GROUPS_PER_LIST):
        yield from chain.from_iterable(pool(groups[slots]))


def one_blas_thread() -> AbstractContextManager[None]:
    """Limit BLAS to one thread while the context is open, and restore the user's setting afterwards."""
    return _BLAS.limited()


class SharedLimit:
    """Limit of the whole process, which ends when the last concurrent user has left.

    Without it, the second of two overlapping fits would restore the limit of the first one.
    """

    def __init__(self, set_limit: Callable[[], Callable[[], Any]]) -> None:
        self._set_limit = set_limit
        self._n_users = 0
        self._restore: Callable[[], Any] = _do_nothing
        self._renew_lock()
        if hasattr(os, "register_at_fork"):  # the thread that holds the lock does not exist in a child
            os.register_at_fork(after_in_child=self._renew_lock)

    @contextmanager
    def limited(self) -> Iterator[None]:
        """Hold the limit while the context is open."""
        if getattr(self._thread, "holds", False):  # this thread holds it already
            yield
            return
        with self._lock:
            restore = self._set_limit()  # in each thread: some libraries store a limit per thread
            if self._n_users == 0:
                self._restore = restore
            self._n_users += 1
        self._thread.holds = True
        try:
            yield
        finally:
            self._thread.holds = False
            with self._lock:
                self._n_users -= 1
                if self._n_users == 0:
                    self._restore()

    def _renew_lock(self) -> None:
        self._lock, self._thread = Lock(), local()


def _do_nothing() -> None:
    pass


def _limit_blas() -> Callable[[], None]:
    if all(library.num_threads == 1 for library in _controller().lib_controllers if library.user_api == "blas"):
        return _do_nothing
    _take_control()
    limit = _controller().limit(limits=1, user_api="blas")

    def restore() -> None:
        _take_control()
        limit.restore_original_limits()
        _take_control()  # for the next thread that sets a limit

    return restore


def _take_control() -> None:
    # threadpoolctl >= 3.8 obeys only the first thread that set a limit, but another one may be the last to leave.
    for library in _controller().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


@cache
def _controller() -> ThreadpoolController:
    # Cached, because the scan of all loaded libraries takes as long as a small fit.
    return ThreadpoolController()


_BLAS = SharedLimit(_limit_blas)
