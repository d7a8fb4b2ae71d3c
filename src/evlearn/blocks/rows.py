"""Rows in blocks: a function is mapped over them, wherever they are, and its results come back in order."""

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any

import numpy as np
from joblib import delayed
from numpy.typing import ArrayLike, NDArray

from evlearn.blocks.scratch import MappedFile, Scratch, spill
from evlearn.blocks.tables import Keys
from evlearn.blocks.targets import Target
from evlearn.utils.chunks import row_blocks, task_slices
from evlearn.utils.parallel import run_tasks
from evlearn.utils.progress import Count
from evlearn.utils.typing import EstimatorLike, IntArray

Function = Callable[..., Any]
# Rows whose results are in memory at a time, when they are written.
_WRITTEN_ROWS = 1 << 20
_LOCK = threading.Lock()


class Rows(ABC):
    """A matrix that is read block by block.

    Attributes
    ----------
    n_rows, n_features : int
        Its shape.
    dtype : dtype
        Single or double precision.
    feature_names : ndarray of str or None
        The names of the columns, where there are any.
    in_memory : bool
        Whether the rows are an array in memory, or a memory map, as the user gave it.
    has_gaps : bool
        Whether some cells are missing, which they may be only in memory.
    keys : Keys or None
        The columns that say who the samples are, where there are any.
    weights : ArrayRows, dask array or None
        How much each sample counts, where a column says it.
    """

    n_rows: int
    n_features: int
    dtype: np.dtype[Any]
    feature_names: Any
    in_memory: bool
    has_gaps: bool = False
    keys: Any = None
    weights: Any = None

    @property
    def key_names(self) -> tuple[str, ...]:
        """The names of the columns that identify the samples."""
        return () if self.keys is None else self.keys.column_names

    @abstractmethod
    def align(self, weights: ArrayLike) -> Any:
        """Bring weights to where the rows are.

        Parameters
        ----------
        weights : array-like of shape (n_rows,)
            A weight for each row.

        Returns
        -------
        object
            The weights in the form that `map` takes.
        """

    @abstractmethod
    def map(self, function: Function, weights: Any = None, *, n_jobs: int | None = None) -> Iterator[Any]:
        """Call ``function(block, weights of the block)`` for all blocks.

        Parameters
        ----------
        function : callable
            What to call. It may run in another process.
        weights : object or None, default=None
            What `align` returned.
        n_jobs : int or None, default=None
            How many workers; see joblib. Not used where Dask holds the rows.

        Yields
        ------
        object
            The results, in the order of the blocks, each when those before it are there too. Nothing is called
            before the first is asked for.
        """

    def add(self, function: Function, weights: Any = None, *, n_jobs: int | None = None) -> Any:
        """Call ``function(block, weights of the block)`` for all blocks, and add up the results.

        The order of the sum depends on the blocks alone, so that its last bits do too. A result is added when it
        is there, and not kept.

        Parameters
        ----------
        function : callable
            What to call. It may run in another process.
        weights : object or None, default=None
            What `align` returned.
        n_jobs : int or None, default=None
            How many workers; see joblib. Not used where Dask holds the rows.

        Returns
        -------
        object
            The sum.
        """
        return reduce(add, self.map(function, weights, n_jobs=n_jobs))

    @abstractmethod
    def write(self, function: Function, target: Target, *, n_jobs: int | None = None) -> None:
        """Call ``function(block)`` for all blocks and put the results, which have as many rows, where they belong.

        Parameters
        ----------
        function : callable
            What to call. It may run in another process.
        target : Target
            Where the results go.
        n_jobs : int or None, default=None
            How many workers.
        """

    @abstractmethod
    def take(self, indices: IntArray) -> Any:
        """Some rows, in memory.

        Parameters
        ----------
        indices : ndarray of int
            Which rows, in increasing order.

        Returns
        -------
        ndarray of shape (len(indices), n_features)
            The rows.
        """

    @abstractmethod
    def close(self) -> None:
        """Remove temporary files."""

    def through(self, transformer: EstimatorLike) -> "Rows":
        """These rows as a scikit-learn transformer makes them, block by block.

        Parameters
        ----------
        transformer : scikit-learn transformer
            A fitted transformer that treats each sample by itself, such as a scaler, or a pipeline of several.

        Returns
        -------
        Rows
            The transformed rows. Nothing is copied; they are there as long as these are.
        """
        from evlearn.blocks.through import ThroughRows

        return ThroughRows(self, transformer)

    def __len__(self) -> int:
        return self.n_rows

    def __enter__(self) -> "Rows":
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()


class ArrayRows(Rows):
    """Rows of an array in memory, of a memory map, or of a file that other processes read by themselves.

    The array is shared by threads. It is written to a temporary file when a task goes to another process, so
    that what travels is a name.

    Parameters
    ----------
    source : ndarray or MappedFile
        The rows.
    feature_names : ndarray of str or None, default=None
        The names of the columns.
    scratch : Scratch or None, default=None
        The temporary file that holds the rows, to be removed with them.
    folder : str, path or None, default=None
        Where temporary files are made.
    has_gaps : bool, default=False
        Whether some cells are missing.
    keys : Keys or None, default=None
        The columns that say who the samples are.
    weights : ArrayRows or None, default=None
        How much each sample counts, as a column.
    block_rows : int or None, default=None
        How many rows a block has; None leaves it to the size of the data.
    """

    def __init__(
        self,
        source: NDArray[Any] | MappedFile,
        *,
        feature_names: NDArray[Any] | None = None,
        scratch: Scratch | None = None,
        folder: str | os.PathLike[str] | None = None,
        has_gaps: bool = False,
        keys: Keys | None = None,
        weights: "ArrayRows | None" = None,
        block_rows: int | None = None,
    ) -> None:
        self.has_gaps = has_gaps
        self.keys = keys
        self.weights = weights
        self.n_rows, self.n_features = source.shape
        self.dtype = np.dtype(source.dtype)
        self.feature_names = feature_names
        self.in_memory = not isinstance(source, MappedFile)
        self._source = source
        self._scratch = scratch
        self._folder = folder
        self._block_rows = block_rows

    def read(self, start: int, stop: int) -> Any:
        """Rows from `start` to `stop`.

        Parameters
        ----------
        start, stop : int
            Which rows.

        Returns
        -------
        ndarray of shape (stop - start, n_features)
            The rows; not a copy.
        """
        if isinstance(self._source, MappedFile):
            return self._source.read(start, stop)
        return self._source[start:stop]

    def align(self, weights: ArrayLike) -> "ArrayRows":
        """Weights as a column that is read along with the rows.

        Parameters
        ----------
        weights : array-like of shape (n_rows,)
            A weight for each row.

        Returns
        -------
        ArrayRows
            The column.
        """
        return ArrayRows(np.ascontiguousarray(weights, dtype=self.dtype)[:, None], folder=self._folder)

    def map(self, function: Function, weights: Any = None, *, n_jobs: int | None = None) -> Iterator[Any]:
        """Call ``function(block, weights of the block)`` for all blocks, by joblib's active backend or threads.

        Parameters
        ----------
        function : callable
            What to call. It may run in another process.
        weights : object or None, default=None
            What `align` returned.
        n_jobs : int or None, default=None
            How many workers; see joblib.

        Yields
        ------
        object
            The results, in the order of the blocks, each when those before it are there too.
        """
        blocks = self._tasks()
        tasks = [delayed(_apply)(function, self, weights, block) for block in blocks]
        yield from self._counted("pass", blocks, run_tasks(tasks, n_jobs))

    def write(self, function: Function, target: Target, *, n_jobs: int | None = None) -> None:
        """Call ``function(block)`` for all blocks and put the results, which have as many rows, where they belong.

        Parameters
        ----------
        function : callable
            What to call. It may run in another process.
        target : Target
            Where the results go.
        n_jobs : int or None, default=None
            How many workers.
        """
        blocks = self._tasks()
        tasks = [delayed(_put)(function, self, target, block) for block in blocks]
        for _ in self._counted("write", blocks, run_tasks(tasks, n_jobs)):
            pass

    def take(self, indices: IntArray) -> Any:
        """Some rows, in memory.

        Parameters
        ----------
        indices : ndarray of int
            Which rows, in increasing order.

        Returns
        -------
        ndarray of shape (len(indices), n_features)
            The rows.
        """
        if isinstance(self._source, MappedFile):
            whole = self._source.read(0, self.n_rows)
            return np.array(whole[indices])
        return np.asarray(self._source[indices])

    def close(self) -> None:
        """Remove the temporary files, where there are any."""
        for one in (self._scratch, self.keys, self.weights):
            if one is not None:
                one.close()

    def __getstate__(self) -> dict[str, Any]:
        # Somebody sends the rows to another process: send the name of a file instead.
        with _LOCK:
            if not isinstance(self._source, MappedFile):
                self._source = self._to_file()
        state = self.__dict__.copy()
        state.update(_scratch=None)
        return state

    def _tasks(self) -> list[slice]:
        if self._block_rows is not None:
            return list(row_blocks(self.n_rows, self._block_rows))
        return task_slices(self.n_rows, self.n_features * self.dtype.itemsize)

    def _counted(self, stage: str, blocks: list[slice], results: Iterator[Any]) -> Iterator[Any]:
        """The same, and whoever listens hears how many rows are done."""
        count = Count(stage, "rows", self.n_rows, ending=False)
        for block, result in zip(blocks, results, strict=True):
            count.reach(block.stop)
            yield result

    def _to_file(self) -> MappedFile:
        self._scratch, file = spill(self._source, self._folder)
        return file


def as_numbers(X: Any) -> Any:
    """An array of real numbers, or an error that says what it is instead."""
    array = X if isinstance(X, np.ndarray) else np.asarray(X)
    if array.dtype.kind in "fiub":
        return array
    try:
        if array.dtype.kind in "OUS":
            return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X holds values that are not numbers: {error}.") from error
    raise ValueError(f"X holds {array.dtype} and not numbers.")


def check_finite(block: Any, weights: Any = None) -> None:
    """Raise if a number is missing or infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = block.sum(dtype=np.float64)
    if not np.isfinite(total) and not np.isfinite(block).all():
        raise ValueError(
            "Input X contains NaN or infinity. Fill or drop these rows first; missing values count as doubt only "
            "in an array or a frame that is given to the estimator itself, without open_rows."
        )


def cut(values: Any, starts: IntArray) -> list[Any]:
    """The values of each block; `starts` are where blocks begin, and where the last one ends."""
    return [values[a:b] for a, b in pairwise(starts)]


def by_block(indices: IntArray, starts: IntArray) -> tuple[list[int], list[Any]]:
    """The numbers of the blocks that hold some rows, and which of its own rows each has to give."""
    own = cut(indices, np.searchsorted(indices, starts))
    wanted = [some - start for some, start in zip(own, starts[:-1], strict=True)]
    asked = [k for k, some in enumerate(wanted) if len(some)]
    return asked, [wanted[k] for k in asked]


def _apply(function: Function, rows: ArrayRows, weights: ArrayRows | None, block: slice) -> Any:
    own = None if weights is None else weights.read(block.start, block.stop)[:, 0]
    return function(rows.read(block.start, block.stop), own)


def put_rows(function: Function, rows: Any, keys: Any, start: int, target: Target) -> None:
    """Write what a function makes of rows, some at a time, with their keys, which are a table of Arrow or None."""
    for some in row_blocks(len(rows), _WRITTEN_ROWS):
        own = None if keys is None else keys.slice(some.start, some.stop - some.start)
        target.put(start + some.start, function(rows[some]), own)


def _put(function: Function, rows: ArrayRows, target: Target, block: slice) -> None:
    keys = None if rows.keys is None else rows.keys.read(block.start, block.stop)
    put_rows(function, rows.read(block.start, block.stop), keys, block.start, target)
