"""Dask cluster as a task runner: ordered results, sums on the workers, and errors of a stalled cluster."""

import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from operator import add
from typing import Any

from evlearn.utils.chunks import row_blocks

# Maximum number of results on their way to the client, and number of summands that a worker adds.
_MAX_PENDING = 16
_GROUP = 32
# Interval of checks of the workers while there is no result, and maximum time without progress, in seconds.
_CHECK_INTERVAL, _MAX_IDLE = 30, 120


class Cluster:
    """Workers of a Dask client.

    Parameters
    ----------
    client : distributed.Client
        Dask client.
    """

    def __init__(self, client: Any) -> None:
        self.client = client

    @classmethod
    def active(cls) -> "Cluster | None":
        """Return the cluster that the user has connected to, or that runs this process; None if there is none."""
        # Without an import of distributed, there is no client.
        distributed = sys.modules.get("distributed")
        if distributed is None:
            return None
        try:
            return cls(distributed.get_client())
        except ValueError:
            return None

    def start(self, task: Callable[..., Any], *lists: Any, homes: Any = None) -> list[Any]:
        """Start ``task(a, b, ...)`` for all a, b, ... of the lists, each on its home worker."""
        if homes is None:
            return list(self.client.map(task, *lists, pure=False))
        by_home: dict[str, list[int]] = {}
        for k, home in enumerate(homes):
            by_home.setdefault(home, []).append(k)
        futures: list[Any] = [None] * len(lists[0])
        for home, numbers in by_home.items():
            arguments = [[values[k] for k in numbers] for values in lists]
            task_futures = self.client.map(task, *arguments, pure=False, workers=[home], allow_other_workers=True)
            for k, future in zip(numbers, task_futures, strict=True):
                futures[k] = future
        return futures

    def shared(self, value: object, times: int) -> list[Any]:
        """Return a value for many tasks. Each worker requests it once; it is recomputed if its holder is lost."""
        return [self.client.submit(identity, value, pure=False)] * times

    def results(self, futures: list[Any]) -> Iterator[Any]:
        """Yield results in order; each is released afterwards."""
        for batch in row_blocks(len(futures), _MAX_PENDING):
            pending = futures[batch]
            futures[batch] = [None] * len(pending)
            self.wait(pending)
            yield from self.client.gather(pending)

    def total(self, futures: list[Any]) -> Any:
        """Return the sum of all results. Workers add groups; the order depends only on the number of results."""
        groups = [futures[group] for group in row_blocks(len(futures), _GROUP)]
        if len(groups) > 1:
            futures[:] = []
            groups = [[self.client.submit(_sum, summands, pure=False)] for summands in groups]
        return reduce(add, self.results([future for summands in groups for future in summands]))

    def wait(self, futures: list[Any]) -> None:
        """Wait for results; raise an error if the cluster is stalled, and report if it is slow."""
        wait = sys.modules["distributed"].wait
        idle, n_done = 0, -1
        while True:
            try:
                wait(futures, timeout=_CHECK_INTERVAL)
                return
            except TimeoutError:
                n_before, n_done = n_done, sum(future.done() for future in futures)
                idle = _CHECK_INTERVAL if n_done > n_before else idle + _CHECK_INTERVAL
                workers = self._states()
            is_stalled = workers.keys() <= {"paused"}
            if idle >= _MAX_IDLE and is_stalled:
                reason = "it has no workers. Start workers, or close the client to compute without the cluster."
                if workers:
                    reason = (
                        f"its workers are {_join_counts(workers)}. A paused worker has used up its memory: give "
                        "workers more memory, or pass smaller parts of the data."
                    )
                raise RuntimeError(
                    f"the Dask cluster has done nothing for {idle} seconds: {reason} With checkpoint=... a fit is "
                    "resumed where it was."
                )
            # A pass over large blocks may take longer than the interval.
            logging.getLogger("evlearn").log(
                logging.WARNING if is_stalled or idle >= _MAX_IDLE else logging.INFO,
                "Waiting for the Dask cluster: no result for %d seconds; workers: %s.",
                idle,
                _join_counts(workers),
            )

    def homes(self, parts: Iterable[int]) -> list[str] | None:
        """Return a worker for each part, the same one in every pass while the workers remain the same."""
        workers = sorted(self._workers())
        return [workers[k % len(workers)] for k in parts] if workers else None

    def _workers(self) -> dict[str, Any]:
        workers: dict[str, Any] = self.client.scheduler_info(n_workers=-1)["workers"]
        return workers

    def _states(self) -> dict[str, int]:
        states = [worker.get("status", "running") for worker in self._workers().values()]
        return {state: states.count(state) for state in states}


def _join_counts(states: dict[str, int]) -> str:
    return ", ".join(f"{count} {state}" for state, count in states.items()) or "none"


def identity(value: object) -> Any:
    """Return the value; as a task, so that a worker stores it and recomputes it if it is lost."""
    return value


def _sum(values: list[Any]) -> Any:
    return reduce(add, values)
