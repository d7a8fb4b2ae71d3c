"""Types that signatures share: arrays, data in all forms that are taken, seeds, metrics, files, estimators."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray: TypeAlias = NDArray[np.floating[Any]]
BoolArray: TypeAlias = NDArray[np.bool_]
IntArray: TypeAlias = NDArray[np.intp]

PathLike: TypeAlias = str | os.PathLike[str]
RandomSeed: TypeAlias = int | np.random.RandomState | None
#: The name of a metric, or a function of two samples.
Metric: TypeAlias = str | Callable[[Any, Any], float]


class ArrayObject(Protocol):
    """A sample that is an array when asked, such as a frame."""

    def __array__(self) -> NDArray[Any]: ...
    def __len__(self) -> int: ...


#: Numbers where words are taken too: `ArrayLike` takes any word for an array.
NumbersLike: TypeAlias = NDArray[Any] | ArrayObject | Sequence[float | Sequence[float]]


class SparseLike(Protocol):
    """A sparse matrix or array of SciPy."""

    shape: tuple[int, ...]

    def tocsr(self) -> Any:
        """The same, in rows."""


#: A graph of samples: weights of pairs, zero for those that are no neighbours; or a function from samples to it.
GraphLike: TypeAlias = NumbersLike | SparseLike | Callable[[FloatArray], NumbersLike | SparseLike]


class DaskLike(Protocol):
    """A collection of Dask, whose results are not computed yet."""

    def __dask_graph__(self) -> Any: ...


class RowsLike(Protocol):
    """Rows that were opened by `evlearn.blocks.open_rows`."""

    n_rows: int
    n_features: int

    def take(self, indices: Any) -> Any:
        """Some rows, in memory."""


class StreamLike(Protocol):
    """A stream of Arrow, such as a reader of pyarrow or a relation of DuckDB."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


#: What methods take that read rows in blocks: arrays, frames, files, chunks, streams, opened rows, Dask.
DataLike: TypeAlias = (
    ArrayLike
    | os.PathLike[str]
    | Sequence[os.PathLike[str]]
    | Iterable[ArrayLike]
    | RowsLike
    | DaskLike
    | StreamLike
)
#: A table with columns of any kind: frames of pandas, polars and pyarrow are arrays when asked.
TableLike: TypeAlias = ArrayLike | Mapping[str, ArrayLike]


class EstimatorLike(Protocol):
    """An estimator, ours or scikit-learn's."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, by name."""


class ClassifierLike(EstimatorLike, Protocol):
    """An estimator that gives probabilities to classes."""

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes."""


class ClustererLike(EstimatorLike, Protocol):
    """An estimator that learns from samples alone."""

    def fit(self, X: Any, y: Any = None) -> Any:
        """Learn, and return the estimator."""
