"""Base class of clusterers that predict each row separately, for data of any kind and size."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, overload

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from evlearn.belief import FocalSets
from evlearn.blocks import ArrayDataset, RowDataset, open_dataset
from evlearn.blocks.dask_dataset import DaskDataset
from evlearn.blocks.open import needs_blocks, open_once
from evlearn.blocks.sparse import SparseBlock, SparseDataset, with_length
from evlearn.blocks.targets import check_key_names, check_out, make_target
from evlearn.cluster.base import EvidentialClusterer
from evlearn.cluster.fit_warnings import without_evidence
from evlearn.cluster.focal_families import refuse_too_many_sets
from evlearn.cluster.missing_values import GapModel
from evlearn.mixture.missing_values import Gaps
from evlearn.partition import SURE_LEVEL, CredalPartition, Verdict
from evlearn.partition.credal_partition import with_problems
from evlearn.partition.estimators import with_names_of
from evlearn.storage import fields
from evlearn.utils.chunks import row_blocks
from evlearn.utils.files import name_file_in_errors, same_file
from evlearn.utils.parallel import one_blas_thread, reuse_workers
from evlearn.utils.reading import Numbers, check_fitted, read_numbers
from evlearn.utils.sparse_rows import BLOCK_ENTRIES, MIN_COLUMNS, SparseRows, without_negligible
from evlearn.utils.typing import BoolArray, DaskLike, DataLike, FloatArray, IntArray, PathLike

# Number of rows per block that are compared with reference samples.
_BLOCK_ROWS = 256
#: Pattern of labels of focal sets, which are column names of masses in Parquet files.
_LABEL = re.compile(r"∅|Ω|\{.*\}", re.DOTALL)
#: Columns of `predict_frame` in Parquet files.
_FRAME_COLUMNS = [("cluster", "i4"), ("second_cluster", "i4"), ("doubt", "f4"), ("outlier_score", "f4")]
#: Attributes that describe the training samples only.
OF_TRAINING_SAMPLES = ("credal_partition_", "masses_", "labels_")


class RowModel(Protocol):
    """Model that assigns masses to each row independently; it is sent to workers, so it should be small."""

    @property
    def focal_sets(self) -> FocalSets:
        """Sets that may carry mass."""

    def assign(self, rows: Any, weights: Any = None) -> FloatArray:
        """Return the masses of rows."""


@dataclass(frozen=True, kw_only=True)
class BlockModel:
    """Row model that compares blocks of rows with reference samples.

    Attributes
    ----------
    masses : ndarray of shape (n_reference, n_focal_sets)
        Masses of the reference samples.
    focal_sets : FocalSets
        Sets of the columns of the masses.
    """

    masses: fields.Masses
    focal_sets: FocalSets

    def assign(self, rows: Any, weights: Any = None) -> FloatArray:
        """Return the masses of rows."""
        out = np.empty((len(rows), len(self.focal_sets)), dtype=rows.dtype)
        for block in row_blocks(len(rows), _BLOCK_ROWS):
            out[block] = self.masses_of(rows[block])
        return out

    def masses_of(self, rows: FloatArray) -> FloatArray:
        """Return the masses of a block of rows."""
        raise NotImplementedError


class RowwiseClusterer(EvidentialClusterer):
    """Base class of clusterers whose `_model` assigns masses to rows."""

    n_clusters: Any
    n_jobs: int | None
    store_masses: bool | PathLike = True
    _model: Any

    #: Label of outliers; None assigns them to their most plausible cluster.
    _outlier_label: int | None = None

    _has_lazy_masses = True

    #: Family whose number of focal sets grows only linearly with the number of clusters.
    _fewer_sets = "auto"

    @overload
    def predict_mass(self, X: DaskLike, *, out: PathLike | None = None) -> Any: ...
    @overload
    def predict_mass(self, X: DataLike, *, out: None = None) -> CredalPartition: ...
    @overload
    def predict_mass(self, X: DataLike, *, out: PathLike) -> CredalPartition | Path: ...
    def predict_mass(self, X: DataLike, *, out: PathLike | None = None) -> Any:
        """Predict the mass functions of training samples or new samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, dask collection or iterable of arrays
            Samples, in any form that `fit` accepts.
        out : str, path or None, default=None
            Destination of the masses. None: memory; a name that ends in ``.npy``: a memory map; a name that ends
            in ``.parquet``: a folder of Parquet files. An existing file is not replaced.

        Returns
        -------
        CredalPartition, Path or dask array
            Mass function of each sample, with the row names of a pandas frame; the folder if `out` is a folder of
            Parquet files; a Dask array of masses, not computed yet, if X is a Dask collection on a cluster and
            `out` is None.
        """
        check_fitted(self)
        check_out(out)
        with one_blas_thread(), self._open_rows(X, reset=False) as rows:
            masses = self._masses(rows, out)
        has_names = isinstance(masses, CredalPartition) and not needs_blocks(X)
        return with_names_of(X, masses) if has_names else masses

    @overload
    def predict(self, X: DaskLike, *, out: PathLike | None = None) -> Any: ...
    @overload
    def predict(self, X: DataLike, *, out: None = None) -> IntArray: ...
    @overload
    def predict(self, X: DataLike, *, out: PathLike) -> IntArray | Path: ...
    def predict(self, X: DataLike, *, out: PathLike | None = None) -> Any:
        """Predict the most plausible cluster of each sample, also of outliers, which `predict_mass` identifies.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, dask collection or iterable of arrays
            Samples, in any form that `fit` accepts.
        out : str, path or None, default=None
            Destination of the cluster numbers. None: memory; a name that ends in ``.npy``: a memory map; a name
            that ends in ``.parquet``: a folder of Parquet files. An existing file is not replaced.

        Returns
        -------
        ndarray of int of shape (n_samples,), Path or dask collection
            Cluster numbers; the folder if `out` is a folder of Parquet files; if X is a Dask collection on a
            cluster and `out` is None, a Dask array or a Series with its index, not computed yet.
        """
        return self._view(X, "to_hard", np.intp if out is None else np.int32, out=out)

    @overload
    def predict_proba(self, X: DaskLike) -> Any: ...
    @overload
    def predict_proba(self, X: DataLike) -> FloatArray: ...
    def predict_proba(self, X: DataLike) -> Any:
        """Predict probabilities of the clusters, proportional to their plausibilities; nearly equal for outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, dask collection or iterable of arrays
            Samples, in any form that `fit` accepts.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            Probabilities; a Dask array, not computed yet, if X is a Dask collection on a cluster.
        """
        return self._view(X, "to_fuzzy", None)

    @overload
    def predict_set(self, X: DaskLike, *, level: float = SURE_LEVEL) -> Any: ...
    @overload
    def predict_set(self, X: DataLike, *, level: float = SURE_LEVEL) -> BoolArray: ...
    def predict_set(self, X: DataLike, *, level: float = SURE_LEVEL) -> Any:
        """Predict the set of clusters that each sample may belong to, see `evlearn.CredalPartition.verdict`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, dask collection or iterable of arrays
            Samples, in any form that `fit` accepts.
        level : float, default=0.6
            Belief that the candidates of a sample must have together.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_clusters)
            True for candidates: 1 for sure samples, several for torn ones, none for outliers. A Dask array, not
            computed yet, if X is a Dask collection on a cluster.
        """
        return self._view(X, "verdict", np.bool_, level)

    def predict_frame(
        self,
        X: DataLike,
        *,
        library: Literal["pandas", "polars"] | None = None,
        level: float = SURE_LEVEL,
        out: PathLike | None = None,
    ) -> Any:
        """Predict clusters with verdicts, as a data frame whose columns do not depend on the number of clusters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, dask collection or iterable of arrays
            Samples, in any form that `fit` accepts; in memory if `out` is None.
        library : {"pandas", "polars"} or None, default=None
            Library of the frame; None means polars if X is a polars frame, and pandas otherwise.
        level : float, default=0.6
            Belief in one cluster from which a sample is sure, see `evlearn.CredalPartition.verdict`.
        out : str, path or None, default=None
            Destination of the columns. None: a frame in memory; a name that ends in ``.parquet``: a folder of
            Parquet files, with cluster numbers and without verdicts, 16 bytes for each sample. An existing file is
            not replaced.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or Path
            Columns ``cluster``, ``second_cluster``, ``verdict``, ``doubt`` and ``outlier_score``, with one row per
            sample, see `evlearn.predict_frame`, which is for pipelines; the folder if `out` is a folder.
        """
        if out is None:
            return super().predict_frame(X, library=library, level=level)  # type: ignore[arg-type]
        if not os.fspath(out).endswith(".parquet"):
            raise ValueError(f"out must be None or a path that ends in .parquet, got {out!r}.")
        check_fitted(self)
        check_out(out)
        with one_blas_thread(), self._open_rows(X, reset=False) as rows:
            columns = [name for name, _ in _FRAME_COLUMNS]
            return self._map_rows(rows, _FrameColumns(self._model_for(rows)), columns, rows.dtype, out)

    def fit_predict(self, X: DataLike, y: object = None, **kwargs: object) -> Any:
        """Find the clusters, and predict the most plausible cluster of each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, dask collection or iterable of arrays
            Samples, in any form that `fit` accepts. If `fit` does not store labels, X is read again.
        y : None, default=None
            Not used; present for API consistency.
        kwargs : dict
            Other arguments of `fit`.

        Returns
        -------
        ndarray of int of shape (n_samples,)
            Cluster numbers; a Dask array, not computed yet, if X is a Dask collection on a cluster.
        """
        estimator: Any = self
        fitted = estimator.fit(X, **kwargs)
        return fitted.labels_ if "labels_" in fitted.__dict__ else fitted.predict(X)

    if not TYPE_CHECKING:  # for type checkers, a misspelled name is an error

        def __getattr__(self, name: str) -> Any:
            if name == "masses_" and "credal_partition_" in self.__dict__:
                return self.__dict__["credal_partition_"].masses
            if name in OF_TRAINING_SAMPLES and "_model" in self.__dict__:
                # A model file contains neither masses nor `_no_masses`.
                reason = self.__dict__.get("_no_masses", "it is not in the model file that this was loaded from")
                raise AttributeError(
                    f"there is no {name}: {reason}. "
                    "Use predict(X), or predict_mass(X, out=...), which writes to a file."
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # The data

    @property
    def _folder_of_copies(self) -> str | None:
        """Folder for copies of files during a fit; None leaves them to the workers of a cluster, if any."""
        return None

    @property
    def _takes_sparse(self) -> bool:
        """True if features may be sparse."""
        return False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        return tags

    def _read_data(self, X: Any, *, reset: bool) -> Numbers:
        """Read and check an array in memory or sparse rows."""
        options = {"dtype": [np.float64, np.float32], "accept_sparse": "csr" if self._takes_sparse else False}
        return with_length(read_numbers(self, X, reset=reset, takes_gaps=self._takes_gaps, **options))

    @contextmanager
    def _open_rows(self, X: Any, *, reset: bool) -> Iterator[RowDataset]:
        """Open the rows of X, with temporary files until the end of the context."""
        has_blocks = needs_blocks(X)
        if has_blocks and reset:
            rows = open_dataset(X, folder=self._folder_of_copies, n_jobs=self.n_jobs)
        elif has_blocks:
            rows = open_once(X, self.n_jobs)
        else:
            data: Any
            data, has_gaps = self._read_data(X, reset=reset)
            rows = SparseDataset(data) if isinstance(data, SparseBlock) else ArrayDataset(data, has_gaps=has_gaps)
        try:
            if has_blocks:
                _check_features(self, rows, reset)
            with reuse_workers():
                yield rows
        finally:
            if rows is not X:
                rows.close()

    def _without_gaps(self, rows: RowDataset, n_components: int) -> RowDataset:
        """Return complete rows for a fit, and store the model of missing values if there are any."""
        self._gaps = None
        if not isinstance(rows, ArrayDataset) or not rows.has_gaps:
            return rows
        return ArrayDataset(self._fill_missing(Numbers(rows.read_rows(0, len(rows)), True), n_components))

    def _complete_rows(
        self, rows: RowDataset, n_components: int, weights: FloatArray | None
    ) -> tuple[RowDataset, FloatArray | None]:
        """Return complete rows for a fit and their weights, and store the model of missing values."""
        if weights is None or not isinstance(rows, ArrayDataset) or not rows.has_gaps:
            return self._without_gaps(rows, n_components), weights
        data = rows.read_rows(0, len(rows))
        self._gaps = Gaps.learn(data, n_components, weights=weights)
        filled = self._gaps.fill_weighted(data, weights)
        return ArrayDataset(filled.data), filled.weights

    def _learn_gaps_of(self, rows: RowDataset, n_components: int, weights: FloatArray | None = None) -> None:
        """Learn the model of missing values after a fit to complete samples in memory, for predictions."""
        if not self._takes_gaps or not isinstance(rows, ArrayDataset) or isinstance(rows, SparseDataset):
            return
        if rows.in_memory:
            self._learn_gaps(rows.read_rows(0, len(rows)), n_components, weights)

    # The result

    @property
    def _masses_file(self) -> PathLike | None:
        """File of `store_masses`, or None."""
        return None if isinstance(self.store_masses, (bool, np.bool_)) else self.store_masses

    def _check_masses(self) -> None:
        """Check the destination of the masses, which must not be the file of the checkpoint."""
        if not isinstance(self.store_masses, (bool, np.bool_, str, os.PathLike)):
            raise ValueError(f"store_masses must be True, False or the name of a file, got {self.store_masses!r}.")
        check_out(self._masses_file, "store_masses")
        checkpoint = self.get_params(deep=False).get("checkpoint")
        if (
            self._masses_file is not None
            and isinstance(checkpoint, (str, os.PathLike))
            and same_file(checkpoint, self._masses_file)
        ):
            raise ValueError(
                f"checkpoint={os.fspath(checkpoint)!r} is also store_masses, which would be deleted with the "
                "checkpoint at the end of the fit; choose another name for one of them."
            )

    def _refuse_masses(self, rows: RowDataset, focal_sets: Any, row_bytes: float | None = None) -> None:
        """Raise an error if the masses of the fit would exceed the memory."""
        n_clusters = focal_sets.frame_size if isinstance(focal_sets, FocalSets) else self.n_clusters
        if isinstance(n_clusters, str) or not (self.store_masses and self._masses_file is None and rows.in_memory):
            return
        instead = f"focal_sets={self._fewer_sets!r}, which has only pairs of neighboring clusters"
        if "store_masses" in self.get_params(deep=False):
            instead = f"store_masses=False, store_masses='....npy', or {instead}"
        shape = (len(rows), rows.n_features)
        options: dict[str, Any] = {"instead": instead, "row_bytes": row_bytes}
        refuse_too_many_sets(focal_sets, n_clusters, shape, rows.dtype.itemsize, **options)

    def _publish_masses(self, rows: RowDataset) -> None:
        for name in (*OF_TRAINING_SAMPLES, "_no_masses"):
            self.__dict__.pop(name, None)
        if not self.store_masses:
            self._no_masses = "store_masses is False"
            return
        if isinstance(rows, DaskDataset) and self._masses_file is None:
            self.masses_ = self._masses(rows, None)
            self.labels_ = self._map_view(rows, "to_hard", np.intp)
            return
        if self._masses_file is None and not rows.in_memory:
            self._no_masses = "it is stored only for data in memory, or with store_masses='....npy'"
            return
        partition = self._masses(rows, self._masses_file)
        if isinstance(partition, CredalPartition):
            self._publish(partition)
        else:
            self._no_masses = f"the masses are in {os.fspath(partition)}"

    def _masses(self, rows: RowDataset, out: PathLike | None) -> Any:
        model = self._model_for(rows)
        is_sparse = has_many_sets(model) and _may_be_sparse(rows, out)
        assign = SparseAssignment(model) if is_sparse else model.assign
        masses = self._map_rows(rows, assign, model.focal_sets.labels, rows.dtype, out, is_sparse=is_sparse)
        if not isinstance(masses, (np.ndarray, SparseRows)):  # a folder, or a Dask array that is not computed yet
            return masses
        names = rows.keys.names() if out is None and rows.keys is not None else None
        return with_problems(CredalPartition(masses, model.focal_sets, names, validate=False), self._problems)

    def _model_for(self, rows: RowDataset | Numbers) -> Any:
        """Return the model, extended for rows with missing values and for a fit without evidence."""
        model = GapModel(self._model, self._known_gaps()) if rows.has_gaps else self._model
        return _DoubtModel(model) if self._lacks_evidence else model

    def _view(
        self, X: Any, method: str, dtype: Any, rule: Any = "plausibility", out: PathLike | None = None
    ) -> Any:
        check_fitted(self)
        check_out(out)
        with one_blas_thread(), self._open_rows(X, reset=False) as rows:
            return self._map_view(rows, method, dtype, rule, out)

    def _map_view(
        self, rows: RowDataset, method: str, dtype: Any, rule: Any = "plausibility", out: PathLike | None = None
    ) -> Any:
        view = _View(self._model_for(rows), method, rule, self._outlier_label)
        columns = None if method == "to_hard" else self.focal_sets_.frame
        return self._map_rows(rows, view, columns, rows.dtype if dtype is None else dtype, out)

    def _map_rows(
        self,
        rows: RowDataset,
        function: Any,
        columns: Any,
        dtype: Any,
        out: PathLike | None = None,
        *,
        is_sparse: bool = False,
    ) -> Any:
        """Apply a function to all rows; its results have named columns, or are a number for each row."""
        if isinstance(rows, DaskDataset) and out is None:
            return rows.lazy(function, columns, dtype)
        with nullcontext() if out is None else name_file_in_errors(out):
            target = make_target(out, len(rows), columns, dtype, rows.key_names, is_sparse=is_sparse)
            try:
                rows.write(function, target, n_jobs=self.n_jobs)
                return target.finish()
            except BaseException:
                target.abandon()
                raise


@dataclass(frozen=True)
class _DoubtModel:
    """Row model for a fit without evidence, whose masses express doubt."""

    model: RowModel

    @property
    def focal_sets(self) -> FocalSets:
        """Sets that may carry mass."""
        return self.model.focal_sets

    def assign(self, rows: Any, weights: Any = None) -> FloatArray:
        """Return the masses of rows."""
        return without_evidence(self.model.assign(rows), self.focal_sets)


@dataclass(frozen=True)
class SparseAssignment:
    """Function from a block of rows to masses without those that are negligible.

    The masses that are omitted from a row are less than 1e-13 of the others together, see
    `without_negligible`. Rows are processed in smaller blocks, so that an array with
    the masses of all sets is never in memory.
    """

    model: RowModel

    def __call__(self, rows: Any, weights: Any = None) -> SparseRows:
        """Return the masses of rows."""
        n_sets = len(self.model.focal_sets)
        if hasattr(self.model, "assign_sparse") and not isinstance(rows, SparseBlock):
            masses: SparseRows = self.model.assign_sparse(rows)
            return masses
        parts = []
        for block in row_blocks(max(len(rows), 1), max(1, BLOCK_ENTRIES // n_sets)):
            dense = self.model.assign(rows[block])
            parts.append(without_negligible(dense))
        return SparseRows.concatenate(parts)


@dataclass(frozen=True)
class _FrameColumns:
    """Function from a block of rows to the numeric columns of a frame."""

    model: RowModel

    def __call__(self, rows: Any, weights: Any = None) -> Any:
        """Return a structured array."""
        values = np.empty(len(rows), dtype=_FRAME_COLUMNS)
        if len(rows):
            masses: Any = _masses_of(self.model, rows)
            partition = CredalPartition(masses, self.model.focal_sets, validate=False)
            values["cluster"], values["second_cluster"] = partition.to_hard(), partition.second_clusters()
            values["doubt"], values["outlier_score"] = partition.doubt(), partition.mass_table[:, 0]
        return values


def _masses_of(model: RowModel, rows: Any) -> FloatArray | SparseRows:
    """Return masses as lists if there are many sets."""
    return SparseAssignment(model)(rows) if has_many_sets(model) else model.assign(rows)


def has_many_sets(model: RowModel) -> bool:
    """Return True if masses are computed as lists."""
    return len(model.focal_sets) >= MIN_COLUMNS


def _may_be_sparse(rows: RowDataset, out: PathLike | None) -> bool:
    """Return True if the destination of masses can contain lists."""
    if out is None:
        return not isinstance(rows, DaskDataset)
    return os.fspath(out).endswith(".parquet")


@dataclass(frozen=True)
class _View:
    """Function from a block of rows to a view of its credal partition."""

    model: RowModel
    method: str
    rule: Any
    outlier_label: int | None = None

    @property
    def __name__(self) -> str:
        return self.method

    def __call__(self, rows: FloatArray, weights: Any = None) -> Any:
        masses: Any = _masses_of(self.model, rows)
        if len(rows) == 0:  # a chunk of Dask may be empty, but a partition may not
            shape = (0,) if self.method == "to_hard" else (0, self.model.focal_sets.frame_size)
            return np.empty(shape, dtype=masses.dtype)
        partition = CredalPartition(masses, self.model.focal_sets, validate=False)
        options = {"outlier_label": self.outlier_label} if self.method == "to_hard" else {}
        values = getattr(partition, self.method)(self.rule, **options)
        return values.candidates if isinstance(values, Verdict) else values


def _check_features(estimator: Any, rows: RowDataset, reset: bool) -> None:
    """Set or check the number and the names of features, as scikit-learn does for arrays and frames."""
    if reset:
        if rows.weights is not None and not has_fit_parameter(estimator, "sample_weight"):
            raise ValueError(
                f"X was opened with weight=..., but {type(estimator).__name__} does not support weights; open X "
                "without weights."
            )
        masses_file = estimator._masses_file
        if masses_file is not None and os.fspath(masses_file).endswith(".parquet"):
            # Any label of a focal set is rejected, because the focal sets may be unknown before the fit.
            check_key_names([name for name in rows.key_names if _LABEL.fullmatch(name)])
        estimator.__dict__.pop("feature_names_in_", None)
        estimator.n_features_in_ = rows.n_features
        if rows.feature_names is not None:
            estimator.feature_names_in_ = rows.feature_names
        return
    if rows.n_features != estimator.n_features_in_:
        raise ValueError(
            f"X has {rows.n_features} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and rows.feature_names is not None and list(names) != list(rows.feature_names):
        raise ValueError(
            f"X has the columns {list(rows.feature_names)}, and the model was fitted to {list(names)}; use the "
            "same columns."
        )
