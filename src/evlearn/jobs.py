"""Work shared by joblib, of which an interruption loses only what has not ended."""

from collections.abc import Callable, Sequence
from typing import Any

from joblib import Parallel


def run_jobs(
    jobs: Sequence[Any], n_jobs: int | None, report: Callable[[int], None] | None = None
) -> tuple[list[Any], bool]:
    """Do jobs, and keep what is ready when the user interrupts.

    Parameters
    ----------
    jobs : sequence of delayed calls
        From ``joblib.delayed``.
    n_jobs : int or None
        How many workers; see joblib.
    report : callable or None, default=None
        Called after each job with the number of those that are done.

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


__all__ = ["run_jobs"]
