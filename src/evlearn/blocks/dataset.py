"""Datasets of rows in blocks, over which functions are mapped; results are in the order of the blocks.

Rows can be transformed block by block, and a scaler is fitted in a single pass.
"""

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
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
from evlearn.utils.typing import EstimatorLike, FloatArray, IntArray

Function = Callable[..., Any]
# Maximum number of rows whose results are in memory at a time during writing.
_WRITTEN_ROWS = 1 << 20
_LOCK = threading.Lock()
# Range of the largest weight for which sums are safe in single precision, too.
_MIN_WEIGHT, _MAX_WEIGHT = 1e-6, 1e6


class RowDataset(ABC):
    """A matrix that is read block by block.

    Attributes
    ----------
    n_rows, n_features : int
        Shape of the matrix.
    dtype : dtype
        Single or double precision.
    feature_names : ndarray of str or None
        Names of the columns, if there are any.
    in_memory : bool
        Whether the rows are an array in memory, or a memory map that the user passed.
    has_gaps : bool
        Whether there are missing values, which only rows in memory may have.
    keys : Keys or None
        Columns that identify the samples, if there are any.
    weights : ArrayDataset, dask array or None
        Sample weights, if a column contains them.
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
        """Names of the columns that identify the samples."""
        return () if self.keys is None else self.keys.column_names

    @abstractmethod
    def align(self, weights: ArrayLike) -> Any:
        """Bring weights to the location of the rows.

        Parameters
        ----------
        weights : array-like of shape (n_rows,)
            Weight of each row.

        Returns
        -------
        object
            Weights in the form that `map` accepts.
        """

    @abstractmethod
    def map(self, function: Function, weights: Any = None, *, n_jobs: int | None = None) -> Iterator[Any]:
        """Call ``function(block, weights of the block)`` for all blocks.

        Parameters
        ----------
        function : callable
            Function to call. It may run in another process.
        weights : object or None, default=None
            Result of `align`.
        n_jobs : int or None, default=None
            Number of workers; see joblib. Not used for Dask collections.

        Yields
        ------
        object
            Results in the order of the blocks, each as soon as the previous ones are available. The computation
            starts with the first request.
        """

    def add(self, function: Function, weights: Any = None, *, n_jobs: int | None = None) -> Any:
        """Call ``function(block, weights of the block)`` for all blocks, and return the sum of the results.

        The order of the summands, and therefore the last bits of the sum, depend only on the blocks. Results are
        added as they arrive, and not stored.

        Parameters
        ----------
        function : callable
            Function to call. It may run in another process.
        weights : object or None, default=None
            Result of `align`.
        n_jobs : int or None, default=None
            Number of workers; see joblib. Not used for Dask collections.

        Returns
        -------
        object
            Sum of the results.
        """
        return reduce(add, self.map(function, weights, n_jobs=n_jobs))

    @abstractmethod
    def write(self, function: Function, target: Target, *, n_jobs: int | None = None) -> None:
        """Call ``function(block)`` for all blocks, and write the results to the same rows of a target.

        Parameters
        ----------
        function : callable
            Function to call; its result has as many rows as the block. It may run in another process.
        target : Target
            Target of the results.
        n_jobs : int or None, default=None
            Number of workers.
        """

    @abstractmethod
    def take(self, indices: IntArray) -> Any:
        """Return selected rows, in memory.

        Parameters
        ----------
        indices : ndarray of int
            Indices of the rows, in increasing order.

        Returns
        -------
        ndarray of shape (len(indices), n_features)
            Selected rows.
        """

    @abstractmethod
    def close(self) -> None:
        """Remove temporary files."""

    def transform(self, transformer: EstimatorLike) -> "RowDataset":
        """Apply a fitted scikit-learn transformer, block by block.

        Parameters
        ----------
        transformer : scikit-learn transformer
            A fitted transformer that treats each sample separately, such as a scaler, or a pipeline of several.

        Returns
        -------
        RowDataset
            The transformed rows. Nothing is copied; they can be read until this dataset is closed.
        """
        return TransformedDataset(self, transformer)

    def fit_scaler(self, *, n_jobs: int | None = None) -> Any:
        """Fit a scikit-learn scaler in one pass over blocks.

        The scaler brings all features to mean 0 and standard deviation 1. Use it for these rows with `transform`,
        and for new samples in a pipeline of the scaler and the fitted model.

        Parameters
        ----------
        n_jobs : int or None, default=None
            Number of workers; see joblib. Not used for Dask collections.

        Returns
        -------
        StandardScaler
            The fitted scaler.

        Examples
        --------
        >>> import numpy as np
        >>> from evlearn import open_dataset
        >>> from evlearn.cluster import ECM
        >>> from evlearn.datasets import load_butterfly
        >>> X = load_butterfly().data * [1, 1000]
        >>> with open_dataset(iter(np.array_split(X, 3))) as rows:
        ...     scaler = rows.fit_scaler()
        ...     model = ECM(2, random_state=0).fit(rows.transform(scaler))
        >>> np.allclose(scaler.mean_, X.mean(axis=0))
        True
        """
        return _fit_scaler(self, n_jobs)

    def __len__(self) -> int:
        return self.n_rows

    def __enter__(self) -> "RowDataset":
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()


class ArrayDataset(RowDataset):
    """Rows of an array in memory, of a memory map, or of a file that other processes read directly.

    Threads share the array. When a task is sent to another process, the array is written to a temporary file, and
    only the name of the file is sent.

    Parameters
    ----------
    source : ndarray or MappedFile
        Array or file that contains the rows.
    feature_names : ndarray of str or None, default=None
        Names of the columns.
    scratch : Scratch or None, default=None
        Temporary file of the rows, which is removed with them.
    folder : str, path or None, default=None
        Folder of temporary files.
    has_gaps : bool, default=False
        Whether there are missing values.
    keys : Keys or None, default=None
        Columns that identify the samples.
    weights : ArrayDataset or None, default=None
        Sample weights, as a column.
    block_rows : int or None, default=None
        Number of rows per block; if None, it depends on the size of the data.
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
        weights: "ArrayDataset | None" = None,
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

    def read_rows(self, start: int, stop: int) -> Any:
        """Return the rows from `start` to `stop`.

        Parameters
        ----------
        start, stop : int
            First row, and end of the range.

        Returns
        -------
        ndarray of shape (stop - start, n_features)
            Rows; not a copy.
        """
        if isinstance(self._source, MappedFile):
            return self._source.read_rows(start, stop)
        return self._source[start:stop]

    def align(self, weights: ArrayLike) -> "ArrayDataset":
        """Return weights as a column that is read along with the rows.

        Parameters
        ----------
        weights : array-like of shape (n_rows,)
            Weight of each row.

        Returns
        -------
        ArrayDataset
            Column of weights.
        """
        return ArrayDataset(np.ascontiguousarray(weights, dtype=self.dtype)[:, None], folder=self._folder)

    def map(self, function: Function, weights: Any = None, *, n_jobs: int | None = None) -> Iterator[Any]:
        """Call ``function(block, weights of the block)`` for all blocks, by joblib's active backend or threads.

        Parameters
        ----------
        function : callable
            Function to call. It may run in another process.
        weights : object or None, default=None
            Result of `align`.
        n_jobs : int or None, default=None
            Number of workers; see joblib.

        Yields
        ------
        object
            Results in the order of the blocks, each as soon as the previous ones are available.
        """
        blocks = self._tasks()
        tasks = [delayed(_apply)(function, self, weights, block) for block in blocks]
        yield from self._report_progress("pass", blocks, run_tasks(tasks, n_jobs))

    def write(self, function: Function, target: Target, *, n_jobs: int | None = None) -> None:
        """Call ``function(block)`` for all blocks, and write the results to the same rows of a target.

        Parameters
        ----------
        function : callable
            Function to call; its result has as many rows as the block. It may run in another process.
        target : Target
            Target of the results.
        n_jobs : int or None, default=None
            Number of workers.
        """
        blocks = self._tasks()
        if len(blocks) == 1:  # no parallel work, and no progress
            _write_block(function, self, target, blocks[0])
            return
        tasks = [delayed(_write_block)(function, self, target, block) for block in blocks]
        for _ in self._report_progress("write", blocks, run_tasks(tasks, n_jobs)):
            pass

    def take(self, indices: IntArray) -> Any:
        """Return selected rows, in memory.

        Parameters
        ----------
        indices : ndarray of int
            Indices of the rows, in increasing order.

        Returns
        -------
        ndarray of shape (len(indices), n_features)
            Selected rows.
        """
        if isinstance(self._source, MappedFile):
            rows = self._source.read_rows(0, self.n_rows)
            return np.array(rows[indices])
        return np.asarray(self._source[indices])

    def close(self) -> None:
        """Remove the temporary files, if there are any."""
        for resource in (self._scratch, self.keys, self.weights):
            if resource is not None:
                resource.close()

    def __getstate__(self) -> dict[str, Any]:
        # Called when the rows are sent to another process: send the name of a file instead.
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

    def _report_progress(self, stage: str, blocks: list[slice], results: Iterator[Any]) -> Iterator[Any]:
        """Yield the results, and report the number of finished rows."""
        count = Count(stage, "rows", self.n_rows, ending=False)
        for block, result in zip(blocks, results, strict=True):
            count.set_done(block.stop)
            yield result

    def _to_file(self) -> MappedFile:
        self._scratch, file = spill(self._source, self._folder)
        return file


def as_numbers(X: Any) -> Any:
    """Return X as an array of real numbers, or raise an error that names its type."""
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
    """Raise if a value is missing or infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = block.sum(dtype=np.float64)
    if not np.isfinite(total) and not np.isfinite(block).all():
        raise ValueError(
            "Input X contains NaN or infinity. Fill or drop these rows first; missing values are accepted only in "
            "an array or a frame that is passed to the estimator itself, without open_dataset."
        )


def cut(values: Any, starts: IntArray) -> list[Any]:
    """Return the values of each block; `starts` contains the first row of each block, and the number of rows."""
    return [values[start:stop] for start, stop in pairwise(starts)]


def by_block(indices: IntArray, starts: IntArray) -> tuple[list[int], list[Any]]:
    """Return the indices of blocks with selected rows, and the positions of the selected rows in each of them."""
    selections = cut(indices, np.searchsorted(indices, starts))
    positions = [selection - start for selection, start in zip(selections, starts[:-1], strict=True)]
    blocks = [k for k, selection in enumerate(positions) if len(selection)]
    return blocks, [positions[k] for k in blocks]


def _apply(function: Function, rows: ArrayDataset, weights: ArrayDataset | None, block: slice) -> Any:
    block_weights = None if weights is None else weights.read_rows(block.start, block.stop)[:, 0]
    return function(rows.read_rows(block.start, block.stop), block_weights)


def write_results(function: Function, rows: Any, keys: Any, start: int, target: Target) -> None:
    """Write the results of a function of rows, in batches, with their keys (an Arrow table or None)."""
    for batch in row_blocks(len(rows), _WRITTEN_ROWS):
        batch_keys = None if keys is None else keys.slice(batch.start, batch.stop - batch.start)
        target.write_rows(start + batch.start, function(rows[batch]), batch_keys)


def _write_block(function: Function, rows: ArrayDataset, target: Target, block: slice) -> None:
    keys = None if rows.keys is None else rows.keys.read_rows(block.start, block.stop)
    write_results(function, rows.read_rows(block.start, block.stop), keys, block.start, target)


class TransformedDataset(RowDataset):
    """Rows of another dataset after a transformation.

    Parameters
    ----------
    rows : RowDataset
        Rows to transform.
    transformer : scikit-learn transformer
        A fitted transformer that treats each sample separately.
    """

    def __init__(self, rows: RowDataset, transformer: Any) -> None:
        self._rows = rows
        # The columns are in order, but arrays have no names: without this, each block would cause a warning.
        self._transformer = copy(transformer)
        self._transformer.__dict__.pop("feature_names_in_", None)
        first = self.take(np.zeros(1, dtype=np.intp))
        self.n_features, self.dtype = first.shape[1], first.dtype
        self.feature_names = None
        self.in_memory = rows.in_memory
        self.keys, self.weights = rows.keys, rows.weights

    @property
    def key_names(self) -> tuple[str, ...]:
        """Names of the columns that identify the samples."""
        return self._rows.key_names

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        """Number of rows."""
        return len(self._rows)

    def align(self, weights: Any) -> Any:
        """Bring weights to the location of the rows."""
        return self._rows.align(weights)

    def map(self, function: Function, weights: Any = None, *, n_jobs: int | None = None) -> Iterator[Any]:
        """Call ``function(block, weights of the block)`` for all transformed blocks."""
        yield from self._rows.map(_TransformedFunction(function, self._transformer), weights, n_jobs=n_jobs)

    def add(self, function: Function, weights: Any = None, *, n_jobs: int | None = None) -> Any:
        """Call ``function(block, weights of the block)`` for all transformed blocks, and return the sum."""
        return self._rows.add(_TransformedFunction(function, self._transformer), weights, n_jobs=n_jobs)

    def write(self, function: Function, target: Target, *, n_jobs: int | None = None) -> None:
        """Call ``function(block)`` for all transformed blocks, and write the results to the target."""
        self._rows.write(_TransformedFunction(function, self._transformer), target, n_jobs=n_jobs)

    def take(self, indices: IntArray) -> Any:
        """Return selected rows, transformed, in memory."""
        return _as_rows(self._transformer, self._rows.take(indices))

    def close(self) -> None:
        """Remove temporary files."""
        self._rows.close()


def _fit_scaler(rows: RowDataset, n_jobs: int | None) -> Any:
    """Fit a scaler to mean 0 and standard deviation 1 in one pass over blocks."""
    from sklearn.preprocessing import StandardScaler

    if not len(rows):
        raise ValueError("X has no rows.")
    # The reference point is a row of the data, so that squares of large numbers do not lose digits.
    point = np.asarray(rows.take(np.zeros(1, dtype=np.intp))[0], dtype=np.float64)
    moments: Moments = rows.add(MomentsFrom(point), n_jobs=n_jobs)
    scaler = StandardScaler()
    scaler.mean_ = moments.mean + point
    scaler.var_ = moments.variance
    # A feature that is constant up to rounding is not scaled.
    constant = scaler.var_ <= 10 * np.finfo(np.float64).eps * moments.squares / moments.count
    scaler.scale_ = np.where(constant, 1.0, np.sqrt(scaler.var_))
    scaler.n_samples_seen_ = moments.count
    scaler.n_features_in_ = rows.n_features
    if rows.feature_names is not None:
        scaler.feature_names_in_ = rows.feature_names
    return scaler


class _TransformedFunction:
    """Function of rows that is applied after a transformer."""

    def __init__(self, function: Function, transformer: Any) -> None:
        self._function, self._transformer = function, transformer

    def __call__(self, rows: Any, weights: Any = None) -> Any:
        return self._function(_as_rows(self._transformer, rows), weights)


def _as_rows(transformer: Any, rows: Any) -> Any:
    values = np.asarray(transformer.transform(rows))
    return np.ascontiguousarray(values if values.dtype in (np.float32, np.float64) else values.astype(np.float64))


@dataclass(frozen=True)
class Moments:
    """Number of rows, and sums over them. Moments of two blocks can be added.

    Attributes
    ----------
    count : int
        Number of rows.
    sums, squares : ndarray of shape (n_features,)
        Sums of differences from a reference point, and of their squares.
    """

    count: int
    sums: FloatArray
    squares: FloatArray

    def __add__(self, other: "Moments") -> "Moments":
        return Moments(self.count + other.count, self.sums + other.sums, self.squares + other.squares)

    @property
    def mean(self) -> FloatArray:
        """Mean, relative to the reference point."""
        return self.sums / self.count

    @property
    def variance(self) -> FloatArray:
        """Variance."""
        return np.maximum(self.squares / self.count - self.mean**2, 0)


class MomentsFrom:
    """Function that returns the moments of a block of rows.

    Parameters
    ----------
    point : ndarray of shape (n_features,)
        Reference point near the data, so that squares of large numbers do not lose digits.
    limit : float, default=inf
        Rows that are farther from the point than this in a feature are ignored.
    """

    def __init__(self, point: FloatArray, limit: float = np.inf) -> None:
        self._point, self._limit = point, limit

    def __call__(self, rows: Any, weights: Any = None) -> Moments:
        """Return the moments of a block."""
        with np.errstate(over="ignore"):
            differences = np.asarray(rows, dtype=np.float64) - self._point
            is_close = np.abs(differences).max(axis=1) <= self._limit
        differences = differences if is_close.all() else differences[is_close]
        return Moments(len(differences), differences.sum(axis=0), (differences**2).sum(axis=0))


def check_weights(weights: Any, rows: RowDataset) -> FloatArray | None:
    """Return sample weights as an array, and raise ValueError if they are invalid."""
    stored_weights = getattr(rows, "weights", None)
    if weights is None and stored_weights is None:
        return None
    if stored_weights is not None:
        if weights is not None:
            raise ValueError("sample_weight is given, and X was opened with weight=...; give one of them.")
        weights = (
            stored_weights.read_rows(0, len(rows))[:, 0]
            if hasattr(stored_weights, "read_rows")
            else stored_weights
        )
    if hasattr(weights, "__dask_graph__"):
        weights = weights.compute()
    try:
        array = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must be numbers, got {weights!r}.") from error
    if array.ndim == 0:
        array = np.full(len(rows), float(array))
    if array.shape != (len(rows),):
        raise ValueError(f"sample_weight must be 1D with shape {(len(rows),)}, got {array.shape}.")
    if not np.isfinite(array).all() or (array < 0).any() or not array.any():
        raise ValueError("sample_weight must be finite numbers that are not negative and not all zero.")
    return array


def weight_unit(weights: FloatArray | None) -> float:
    """Return the divisor of the weights: 1, or a power of 2 for weights too small or too large for sums."""
    largest = 1.0 if weights is None else float(weights.max())
    return 1.0 if _MIN_WEIGHT < largest < _MAX_WEIGHT else float(2.0 ** np.floor(np.log2(largest)))
