"""A Dask cluster that runs tasks: results as they come, sums made by the workers, and no silence."""

import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from operator import add
from typing import Any

from evlearn.utils.chunks import row_blocks

# Results that are on their way to the client at a time, and summands that a worker adds up.
_AT_A_TIME = 16
_GROUP = 32
# Seconds without a result: after these the workers are looked at, and after those a cluster that stands still is
# given up.
_LOOK, _PATIENCE = 30, 120


class Cluster:
    """The workers behind a client of Dask.

    Parameters
    ----------
    client : distributed.Client
        The client.
    """

    def __init__(self, client: Any) -> None:
        self.client = client

    @classmethod
    def active(cls) -> "Cluster | None":
        """The cluster that the user has connected to, or is a worker of; None if there is none."""
        # Where distributed has not been imported, nobody has made a client.
        distributed = sys.modules.get("distributed")
        if distributed is None:
            return None
        try:
            return cls(distributed.get_client())
        except ValueError:
            return None

    def start(self, task: Callable[..., Any], *lists: Any, homes: Any = None) -> list[Any]:
        """Begin ``task(a, b, ...)`` for all a, b, ... of the lists, each on the worker that is its home."""
        if homes is None:
            return list(self.client.map(task, *lists, pure=False))
        by_home: dict[str, list[int]] = {}
        for k, home in enumerate(homes):
            by_home.setdefault(home, []).append(k)
        found: list[Any] = [None] * len(lists[0])
        for home, which in by_home.items():
            own = [[one[k] for k in which] for one in lists]
            begun = self.client.map(task, *own, pure=False, workers=[home], allow_other_workers=True)
            for k, future in zip(which, begun, strict=True):
                found[k] = future
        return found

    def shared(self, value: Any, times: int) -> list[Any]:
        """A value for many tasks. Each worker asks for it once; it is made again if its holder is lost."""
        return [self.client.submit(itself, value, pure=False)] * times

    def results(self, futures: list[Any]) -> Iterator[Any]:
        """Results, in order; each is forgotten once it is given."""
        for some in row_blocks(len(futures), _AT_A_TIME):
            few = futures[some]
            futures[some] = [None] * len(few)
            self.wait(few)
            yield from self.client.gather(few)

    def total(self, futures: list[Any]) -> Any:
        """The sum of all results. Workers add up groups, in an order that the number of results decides."""
        groups = [futures[some] for some in row_blocks(len(futures), _GROUP)]
        if len(groups) > 1:
            futures[:] = []
            groups = [[self.client.submit(_sum, group, pure=False)] for group in groups]
        return reduce(add, self.results([future for group in groups for future in group]))

    def wait(self, futures: list[Any]) -> None:
        """Wait for results. A cluster that stands still is an error, and one that is slow is reported."""
        wait = sys.modules["distributed"].wait
        idle, done = 0, -1
        while True:
            try:
                wait(futures, timeout=_LOOK)
                return
            except TimeoutError:
                before, done = done, sum(future.done() for future in futures)
                idle = _LOOK if done > before else idle + _LOOK
                workers = self._states()
            standing = workers.keys() <= {"paused"}
            if idle >= _PATIENCE and standing:
                reason = "it has no workers. Start workers, or close the client to compute without the cluster."
                if workers:
                    reason = (
                        f"its workers are {_listed(workers)}. A paused worker has used up its memory: give the "
                        "workers more memory, or the data in smaller parts."
                    )
                raise RuntimeError(
                    f"the Dask cluster has done nothing for {idle} seconds: {reason} With checkpoint=... a fit is "
                    "resumed where it was."
                )
            # A pass over large blocks may well take longer than a look.
            logging.getLogger("evlearn").log(
                logging.WARNING if standing or idle >= _PATIENCE else logging.INFO,
                "Waiting for the Dask cluster: no result for %d seconds; workers: %s.",
                idle,
                _listed(workers),
            )

    def homes(self, parts: Iterable[int]) -> list[str] | None:
        """A worker for each part, the same one in every pass for as long as there are the same workers."""
        workers = sorted(self._workers())
        return [workers[k % len(workers)] for k in parts] if workers else None

    def _workers(self) -> dict[str, Any]:
        found: dict[str, Any] = self.client.scheduler_info(n_workers=-1)["workers"]
        return found

    def _states(self) -> dict[str, int]:
        states = [one.get("status", "running") for one in self._workers().values()]
        return {state: states.count(state) for state in states}


def _listed(states: dict[str, int]) -> str:
    return ", ".join(f"{count} {state}" for state, count in states.items()) or "none"


def itself(value: Any) -> Any:
    """The task that gives what it is given: its result is kept by a worker, and made again if it is lost."""
    return value


def _sum(values: list[Any]) -> Any:
    return reduce(add, values)
