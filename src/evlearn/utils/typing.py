"""Types for signatures: arrays, supported forms of data, seeds, metrics, files, estimators."""

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
#: Name of a metric, or a function of two samples.
Metric: TypeAlias = str | Callable[[Any, Any], float]


class ArrayObject(Protocol):
    """Object that NumPy converts to an array, such as a frame."""

    def __array__(self) -> NDArray[Any]: ...
    def __len__(self) -> int: ...


#: Numeric data where strings have another meaning, because `ArrayLike` includes strings.
NumbersLike: TypeAlias = NDArray[Any] | ArrayObject | Sequence[float | Sequence[float]]


class SparseLike(Protocol):
    """A sparse matrix or array of SciPy."""

    shape: tuple[int, ...]

    def tocsr(self) -> Any:
        """Return the matrix in CSR format."""


#: Weights of pairs of samples, 0 for pairs that are not neighbors; or a function from samples to these weights.
GraphLike: TypeAlias = NumbersLike | SparseLike | Callable[[FloatArray], NumbersLike | SparseLike]


class DaskLike(Protocol):
    """Dask collection, not computed yet."""

    def __dask_graph__(self) -> Any: ...


class RowsLike(Protocol):
    """Rows opened by `evlearn.open_dataset`."""

    n_rows: int
    n_features: int

    def take(self, indices: Any) -> Any:
        """Return the selected rows, in memory."""


class StreamLike(Protocol):
    """Arrow stream, such as a pyarrow reader or a DuckDB relation."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


class AnnDataLike(Protocol):
    """`AnnData` object: coordinates and annotations of cells."""

    X: Any
    obs: Any
    obsm: Any
    uns: Any


#: Data of methods that read rows in blocks: arrays, frames, files, chunks, streams, opened rows, Dask.
DataLike: TypeAlias = (
    ArrayLike
    | os.PathLike[str]
    | Sequence[os.PathLike[str]]
    | Iterable[ArrayLike]
    | RowsLike
    | DaskLike
    | StreamLike
)
#: Table with columns of any type: pandas, polars and pyarrow tables can be converted to arrays.
TableLike: TypeAlias = ArrayLike | Mapping[str, ArrayLike]


class EstimatorLike(Protocol):
    """Estimator of evidential-learn or scikit-learn."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""


class ClassifierLike(EstimatorLike, Protocol):
    """Estimator that predicts class probabilities."""

    def predict_proba(self, X: Any) -> Any:
        """Return class probabilities."""


class ClustererLike(EstimatorLike, Protocol):
    """Estimator that learns from samples alone."""

    def fit(self, X: Any, y: Any = None) -> Any:
        """Fit and return the estimator."""
