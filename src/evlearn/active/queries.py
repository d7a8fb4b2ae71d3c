"""Common parts of active learners: scores of uncertain samples, the query loop, and files of answers."""

import csv
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evlearn.partition import CredalPartition
from evlearn.utils.files import atomic_write, check_folder
from evlearn.utils.typing import FloatArray, IntArray
from evlearn.utils.validation import check_integer


class StopQuerying(Exception):  # noqa: N818  (not an error, like StopIteration)
    """Exception raised by an oracle to stop the questions; previous answers are kept.

    Parameters
    ----------
    reason : str, default=""
        Reason, for the code that catches the exception.
    """

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)


def run_queries(learner: Any, oracle: Callable[[Any], Any], n_queries: int, verbose: bool) -> None:
    """Ask until there are no more questions, or the oracle stops."""
    check_integer("n_queries", n_queries, 0)
    for _ in range(n_queries):
        query = learner.ask()
        if query is None:
            break
        if verbose:
            print(query.reason)
        try:
            reply = oracle(query)
        except (StopQuerying, KeyboardInterrupt):
            break
        learner.answer(query, reply)


def write_lines(path: str | os.PathLike[str], header: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """Write a table of text, atomically."""
    with atomic_write(path) as file:
        file.write("".join(",".join(map(_quoted, line)) + "\n" for line in [header, *lines]).encode())


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if any(mark in cell for mark in ',"\r\n') else cell


def read_lines(path: str | os.PathLike[str], header: Sequence[str]) -> tuple[Path, list[list[str]]]:
    """Read a file of `write_lines`; return no lines if it does not exist."""
    path = check_folder(path)
    if not path.exists():
        return path, []
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            first, *lines = list(csv.reader(file)) or [[]]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(
            f"{path} is not a file of answers, which contains short lines of text: {error}."
        ) from error
    if first != list(header):
        raise ValueError(f"{path} is not a file of answers: its first line must be {','.join(header)}.")
    return path, lines


def doubt(partition: CredalPartition) -> FloatArray:
    """Return 1 minus the belief in the most plausible cluster, as in reports and tables."""
    return partition.doubt()


def nonspecificity(partition: CredalPartition) -> FloatArray:
    """Return the nonspecificity of each mass function."""
    return partition.nonspecificity(per_sample=True)


def entropy(partition: CredalPartition) -> FloatArray:
    """Return the entropy of the probabilities that are proportional to plausibilities, in bits."""
    probabilities = partition.to_fuzzy()
    return np.asarray(-(probabilities * np.log2(np.where(probabilities > 0, probabilities, 1))).sum(axis=1))


def margin(partition: CredalPartition) -> FloatArray:
    """Return minus the difference between the 2 largest plausibilities."""
    ordered = np.sort(partition.to_possibilistic(), axis=1)
    return np.asarray(ordered[:, -2] - ordered[:, -1]) if ordered.shape[1] > 1 else np.zeros(len(ordered))


#: Scores by name; "random" is constant.
STRATEGIES: dict[str, Callable[[CredalPartition], FloatArray]] = {
    "doubt": doubt,
    "nonspecificity": nonspecificity,
    "entropy": entropy,
    "margin": margin,
    "random": lambda partition: np.zeros(len(partition)),
}


def most_doubtful_first(strategy: str, partition: CredalPartition, random: np.random.RandomState) -> IntArray:
    """Return all samples, sorted by decreasing score; ties are sorted by entropy, then at random."""
    by_chance = random.permutation(len(partition))
    if strategy == "random":
        return by_chance
    return np.lexsort([by_chance, -entropy(partition), -STRATEGIES[strategy](partition)])
