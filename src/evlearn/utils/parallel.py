"""Parallel work: joblib's jobs, of which an interruption loses only what has not ended; BLAS held to one thread.

Our matrix products are small and many: threads of BLAS would wait for each other.
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

# Groups of tasks that are sent at a time where an engine gives lists of results.
_IN_A_LIST = 64
# Engines take milliseconds for all they send. So tasks travel in groups: few, but so many for each worker that a
# slow one does not keep the others waiting, and so small that progress is seen and little is lost with a worker.
_GROUPS_PER_WORKER = 2
_LARGEST_GROUP = 8


def run_jobs(
    jobs: Sequence[Any], n_jobs: int | None, report: Callable[[int], None] | None = None
) -> tuple[list[Any], bool]:
    """Do jobs, and keep what is ready when the user interrupts.

    Returns
    -------
    results : list
        What the jobs gave, in their order: fewer than there are jobs after an interruption.
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
    """Workers that stay for all passes over the data of a fit: engines take seconds to hire them."""

    def __init__(self) -> None:
        self.stack = ExitStack()
        self._idle: dict[int | None, Parallel] = {}

    def run(self, tasks: list[Any], n_jobs: int | None) -> Iterator[Any]:
        """The results of tasks, in their order."""
        # Taken out, so that nobody else gives it work before this is done.
        pool = self._idle.pop(n_jobs, None) or self.stack.enter_context(_parallel(n_jobs))
        yield from _results(pool, _groups(tasks, n_jobs))
        self._idle[n_jobs] = pool


_WORKERS: ContextVar[_Workers | None] = ContextVar("workers", default=None)


@contextmanager
def keeping_workers() -> Iterator[None]:
    """Let all `run_tasks` of this thread, for a while, use the same workers."""
    workers = _Workers()
    token = _WORKERS.set(workers)
    try:
        with workers.stack:
            yield
    finally:
        _WORKERS.reset(token)


def run_tasks(tasks: list[Any], n_jobs: int | None) -> Iterator[Any]:
    """Run tasks by joblib's active backend, or by threads; their results, in order, as they come."""
    if len(tasks) == 1:  # of small data, and of samples: nobody is waiting for a second one
        function, arguments, named = tasks[0]
        yield function(*arguments, **named)
        return
    workers = _WORKERS.get()
    if workers is None:
        yield from _results(_parallel(n_jobs), _groups(tasks, n_jobs))
    else:
        yield from workers.run(tasks, n_jobs)


def _groups(tasks: list[Any], n_jobs: int | None) -> list[Any]:
    """As many tasks of joblib as there are groups; each does its tasks one after the other."""
    n_workers = effective_n_jobs(n_jobs)
    size = min(len(tasks) // (_GROUPS_PER_WORKER * n_workers), _LARGEST_GROUP) if n_workers > 1 else 1
    return [delayed(_each)(tasks[some]) for some in row_blocks(len(tasks), max(size, 1))]


def _each(tasks: list[Any]) -> list[Any]:
    return [function(*arguments, **named) for function, arguments, named in tasks]


def _parallel(n_jobs: int | None) -> Parallel:
    # Groups are few and large: one by one and all at once, or an engine would leave workers without work.
    options: dict[str, Any] = {"prefer": "threads", "batch_size": 1, "pre_dispatch": "all"}
    try:
        return Parallel(n_jobs=n_jobs, return_as="generator", **options)
    except ValueError:  # Ray's backend gives lists only
        return Parallel(n_jobs=n_jobs, **options)


def _results(pool: Parallel, groups: list[Any]) -> Iterator[Any]:
    if pool.return_generator:
        yield from chain.from_iterable(pool(groups))
        return
    for some in row_blocks(len(groups), _IN_A_LIST):
        yield from chain.from_iterable(pool(groups[some]))


def one_blas_thread() -> AbstractContextManager[None]:
    """Hold BLAS to one thread for a while; what a user has set comes back afterwards."""
    return _BLAS.held()


class SharedLimit:
    """A limit of the whole process, which ends when the last of those that want it has left.

    Two overlapping fits must not both put back what they found: the second found the limit of the first.
    """

    def __init__(self, set_limit: Callable[[], Callable[[], Any]]) -> None:
        self._set_limit = set_limit
        self._n_inside = 0
        self._put_back: Callable[[], Any] = _nothing
        self._renew_lock()
        if hasattr(os, "register_at_fork"):  # a thread that holds the lock is not there in a child
            os.register_at_fork(after_in_child=self._renew_lock)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the limit for a while."""
        if getattr(self._own, "holds", False):  # this thread holds it already, and longer
            yield
            return
        self._own.holds = True
        try:
            with self._held():
                yield
        finally:
            self._own.holds = False

    @contextmanager
    def _held(self) -> Iterator[None]:
        with self._lock:
            put_back = self._set_limit()  # by everyone: some libraries keep a number for each thread
            if self._n_inside == 0:
                self._put_back = put_back
            self._n_inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._n_inside -= 1
                if self._n_inside == 0:
                    self._put_back()

    def _renew_lock(self) -> None:
        self._lock, self._own = Lock(), local()


def _nothing() -> None:
    pass


def _limit_blas() -> Callable[[], None]:
    if all(library.num_threads == 1 for library in _controller().lib_controllers if library.user_api == "blas"):
        return _nothing
    _take_control()
    limit = _controller().limit(limits=1, user_api="blas")

    def put_back() -> None:
        _take_control()
        limit.restore_original_limits()
        _take_control()  # and leave it to whoever comes next

    return put_back


def _take_control() -> None:
    # Since 3.8 threadpoolctl listens to the thread that set a number first, and another may be the last to leave.
    for library in _controller().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


@cache
def _controller() -> ThreadpoolController:
    # It looks through all loaded libraries, which takes as long as a small fit.
    return ThreadpoolController()


_BLAS = SharedLimit(_limit_blas)
