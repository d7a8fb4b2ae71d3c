"""Clusterers whose prediction is a map over rows: data of any kind and size in, results where they are wanted."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, overload

import numpy as np
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from evlearn.belief import FocalSets
from evlearn.blocks import ArrayRows, Rows, open_rows
from evlearn.blocks.dask_rows import DaskRows
from evlearn.blocks.open import is_elsewhere, open_once
from evlearn.blocks.sparse import SparseBlock, SparseRows, with_length
from evlearn.blocks.targets import check_out, make_target, refuse_key_names
from evlearn.cluster.base import EvidentialClusterer
from evlearn.cluster.collapse import without_evidence
from evlearn.cluster.focal_families import refuse_too_many_sets
from evlearn.cluster.gaps import GapModel
from evlearn.partition import SURE_LEVEL, CredalPartition, Verdict
from evlearn.partition.credal_partition import with_problems
from evlearn.partition.estimators import with_names_of
from evlearn.utils.chunks import row_blocks
from evlearn.utils.files import naming, same_file
from evlearn.utils.parallel import keeping_workers, one_blas_thread
from evlearn.utils.reading import Numbers, read_numbers
from evlearn.utils.typing import BoolArray, DaskLike, DataLike, FloatArray, IntArray, PathLike
from evlearn.utils.validation import check_flag

# Rows that are compared with known samples at a time.
_BLOCK_ROWS = 256
#: Labels of focal sets, which are the columns of masses in Parquet files.
_LABEL = re.compile(r"∅|Ω|\{.*\}", re.DOTALL)
_OF_TRAINING_SAMPLES = ("credal_partition_", "masses_", "labels_")


class RowModel(Protocol):
    """What gives a row its masses, whatever other rows there are. It travels to workers, so it should be small."""

    @property
    def focal_sets(self) -> FocalSets:
        """The sets that carry mass."""

    def assign(self, rows: Any, weights: Any = None) -> FloatArray:
        """The masses of rows."""


@dataclass(frozen=True, kw_only=True)
class BlockModel:
    """A row model that compares rows, some at a time, with samples whose masses are known.

    Attributes
    ----------
    masses : ndarray of shape (n_known, n_focal_sets)
        The masses of the known samples.
    focal_sets : FocalSets
        What their columns stand for.
    """

    masses: FloatArray
    focal_sets: FocalSets

    def assign(self, rows: Any, weights: Any = None) -> FloatArray:
        """The masses of rows."""
        out = np.empty((len(rows), len(self.focal_sets)), dtype=rows.dtype)
        for block in row_blocks(len(rows), _BLOCK_ROWS):
            out[block] = self.masses_of(rows[block])
        return out

    def masses_of(self, rows: FloatArray) -> FloatArray:
        """The masses of a few rows as the user knows them."""
        raise NotImplementedError


class RowwiseClusterer(EvidentialClusterer):
    """Base class: `_model` gives masses to rows, and everything else is a map."""

    n_clusters: Any
    n_jobs: int | None
    masses_file: PathLike | None
    store_masses: bool = True
    _model: Any

    #: Focal sets that are few however many clusters there are.
    _fewer_sets = "auto"

    @overload
    def predict_mass(self, X: DaskLike, *, out: PathLike | None = None) -> Any: ...
    @overload
    def predict_mass(self, X: DataLike, *, out: None = None) -> CredalPartition: ...
    @overload
    def predict_mass(self, X: DataLike, *, out: PathLike) -> CredalPartition | Path: ...
    def predict_mass(self, X: DataLike, *, out: PathLike | None = None) -> Any:
        """The mass functions of samples, new or old.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, dask collection or iterable of arrays
            The samples; any kind of data that `fit` accepts.
        out : str, path or None, default=None
            Where the masses go: None for memory, or a name that ends in ``.npy`` for a memory map, or in
            ``.parquet`` for a folder of Parquet files. An existing file is not replaced.

        Returns
        -------
        CredalPartition, Path or dask array
            A mass function for each sample, with the row names of a pandas frame; the folder if `out` is one of
            Parquet files; a Dask array of masses, not computed yet, if X is a Dask collection on a cluster and
            `out` is None.
        """
        check_is_fitted(self)
        check_out(out)
        with one_blas_thread(), self._opened(X, reset=False) as rows:
            found = self._masses(rows, out)
        return with_names_of(X, found) if isinstance(found, CredalPartition) and not is_elsewhere(X) else found

    @overload
    def predict(self, X: DaskLike, *, out: PathLike | None = None) -> Any: ...
    @overload
    def predict(self, X: DataLike, *, out: None = None) -> IntArray: ...
    @overload
    def predict(self, X: DataLike, *, out: PathLike) -> IntArray | Path: ...
    def predict(self, X: DataLike, *, out: PathLike | None = None) -> Any:
        """The most plausible cluster of each sample, also of outliers: ask `predict_mass` who they are.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, dask collection or iterable of arrays
            The samples; any kind of data that `fit` accepts.
        out : str, path or None, default=None
            Where the cluster numbers go: None for memory, or a name that ends in ``.npy`` for a memory map, or in
            ``.parquet`` for a folder of Parquet files. An existing file is not replaced.

        Returns
        -------
        ndarray of int of shape (n_samples,), Path or dask collection
            Cluster numbers; the folder if `out` is one of Parquet files; if X is a Dask collection on a cluster
            and `out` is None, a Dask array or a Series with its index, not computed yet.
        """
        return self._view(X, "to_hard", np.intp if out is None else np.int32, out=out)

    @overload
    def predict_proba(self, X: DaskLike) -> Any: ...
    @overload
    def predict_proba(self, X: DataLike) -> FloatArray: ...
    def predict_proba(self, X: DataLike) -> Any:
        """Probabilities of the clusters, proportional to their plausibilities; nearly equal ones for outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, dask collection or iterable of arrays
            The samples; any kind of data that `fit` accepts.

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
        """The clusters that each sample may belong to, see `evlearn.CredalPartition.verdict`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, dask collection or iterable of arrays
            The samples; any kind of data that `fit` accepts.
        level : float, default=0.6
            The belief that the candidates of a sample must have together.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_clusters)
            Whether the cluster is a candidate: one for sure samples, several for torn ones, none for outliers. A
            Dask array, not computed yet, if X is a Dask collection on a cluster.
        """
        return self._view(X, "verdict", np.bool_, level)

    def fit_predict(self, X: DataLike, y: object = None, **kwargs: object) -> Any:
        """Find the clusters, and the most plausible one of each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, dask collection or iterable of arrays
            The samples; any kind of data that `fit` accepts. Where it keeps no labels, they are read once more.
        y : None, default=None
            Not used; present for scikit-learn's conventions.
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

    if not TYPE_CHECKING:  # or else every misspelt name would be one that it might answer

        def __getattr__(self, name: str) -> Any:
            if name in _OF_TRAINING_SAMPLES and "_model" in self.__dict__:
                # A model file holds neither of the two.
                reason = self.__dict__.get("_no_masses", "it is not in the model file that this was loaded from")
                raise AttributeError(
                    f"there is no {name}: {reason}. "
                    "Ask predict(X), or predict_mass(X, out=...), which writes to a file."
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # The data

    @property
    def _folder_of_copies(self) -> str | None:
        """Where files are copied to for a fit; None leaves them with the workers of a cluster, if there is one."""
        return None

    @property
    def _takes_sparse(self) -> bool:
        """Whether features may be sparse."""
        return False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        return tags

    def _read(self, X: Any, *, reset: bool) -> Numbers:
        """An array in memory, or sparse rows, checked."""
        options = {"dtype": [np.float64, np.float32], "accept_sparse": "csr" if self._takes_sparse else False}
        return with_length(read_numbers(self, X, reset=reset, takes_gaps=self._takes_gaps, **options))

    @contextmanager
    def _opened(self, X: Any, *, reset: bool) -> Iterator[Rows]:
        """Rows of X, with temporary files for as long as they are needed."""
        elsewhere = is_elsewhere(X)
        if elsewhere and reset:
            rows = open_rows(X, folder=self._folder_of_copies, n_jobs=self.n_jobs)
        elif elsewhere:
            rows = open_once(X, self.n_jobs)
        else:
            rows = _rows_of(self._read(X, reset=reset))
        try:
            if elsewhere:
                _check_features(self, rows, reset)
            with keeping_workers():
                yield rows
        finally:
            if rows is not X:
                rows.close()

    def _without_gaps(self, rows: Rows, n_components: int) -> Rows:
        """The rows to fit to."""
        self._gaps = None
        if not isinstance(rows, ArrayRows) or not rows.has_gaps:
            return rows
        return ArrayRows(self._filled(Numbers(rows.read(0, len(rows)), True), n_components))

    def _learn_gaps_of(self, rows: Rows, n_components: int, weights: FloatArray | None = None) -> None:
        """After a fit to complete samples in memory: what new samples with gaps may look like."""
        if not self._takes_gaps or not isinstance(rows, ArrayRows) or isinstance(rows, SparseRows):
            return
        if rows.in_memory:
            self._learn_gaps(rows.read(0, len(rows)), n_components, weights)

    # The result

    def _check_masses(self) -> None:
        """Raise unless it is clear where masses go, and that no other file is lost."""
        check_flag("store_masses", self.store_masses)
        check_out(self.masses_file, "masses_file")
        checkpoint = self.get_params(deep=False).get("checkpoint")
        if (
            self.masses_file is not None
            and isinstance(checkpoint, (str, os.PathLike))
            and same_file(checkpoint, self.masses_file)
        ):
            raise ValueError(
                f"checkpoint={os.fspath(checkpoint)!r} is also the masses_file, which would be deleted with the "
                "checkpoint at the end of the fit; choose another name for one of them."
            )
        if not self.store_masses and self.masses_file is not None:
            raise ValueError(f"give masses_file={os.fspath(self.masses_file)!r} or store_masses=False, not both.")

    def _refuse_masses(self, rows: Rows, focal_sets: Any) -> None:
        """Raise if a fit would end with masses that have no room in memory."""
        n_clusters = focal_sets.frame_size if isinstance(focal_sets, FocalSets) else self.n_clusters
        if isinstance(n_clusters, str) or not (self.store_masses and self.masses_file is None and rows.in_memory):
            return
        instead = f"focal_sets={self._fewer_sets!r}, which has only pairs of neighbouring clusters"
        if "store_masses" in self.get_params(deep=False):
            instead = f"store_masses=False, masses_file='....npy', or {instead}"
        shape = (len(rows), rows.n_features)
        refuse_too_many_sets(focal_sets, n_clusters, shape, rows.dtype.itemsize, instead=instead)

    def _publish_masses(self, rows: Rows) -> None:
        for name in (*_OF_TRAINING_SAMPLES, "_no_masses"):
            self.__dict__.pop(name, None)
        if not self.store_masses:
            self._no_masses = "store_masses is False"
            return
        if isinstance(rows, DaskRows) and self.masses_file is None:
            self.masses_ = self._masses(rows, None)
            self.labels_ = self._viewed(rows, "to_hard", np.intp)
            return
        if self.masses_file is None and not rows.in_memory:
            self._no_masses = "it is kept only of data in memory, or with masses_file='....npy'"
            return
        partition = self._masses(rows, self.masses_file)
        if isinstance(partition, CredalPartition):
            self._publish(partition)
        else:
            self._no_masses = f"the masses are in {os.fspath(partition)}"

    def _masses(self, rows: Rows, out: PathLike | None) -> Any:
        model = self._model_for(rows)
        masses = self._mapped(rows, model.assign, model.focal_sets.labels, rows.dtype, out)
        if not isinstance(masses, np.ndarray):  # a folder, or what Dask has not computed yet
            return masses
        names = rows.keys.names() if out is None and rows.keys is not None else None
        return with_problems(CredalPartition(masses, model.focal_sets, names, validate=False), self._problems)

    def _model_for(self, rows: Rows | Numbers) -> Any:
        """The model; for rows with gaps the one that knows what to make of these."""
        model = GapModel(self._model, self._known_gaps()) if rows.has_gaps else self._model
        return _DoubtModel(model) if self._lacks_evidence else model

    def _view(
        self, X: Any, method: str, dtype: Any, rule: Any = "plausibility", out: PathLike | None = None
    ) -> Any:
        check_is_fitted(self)
        check_out(out)
        with one_blas_thread(), self._opened(X, reset=False) as rows:
            return self._viewed(rows, method, dtype, rule, out)

    def _viewed(
        self, rows: Rows, method: str, dtype: Any, rule: Any = "plausibility", out: PathLike | None = None
    ) -> Any:
        view = _View(self._model_for(rows), method, rule)
        columns = None if method == "to_hard" else self.focal_sets_.frame
        return self._mapped(rows, view, columns, rows.dtype if dtype is None else dtype, out)

    def _mapped(self, rows: Rows, function: Any, columns: Any, dtype: Any, out: PathLike | None = None) -> Any:
        """What a function makes of all rows: columns of these names, or one number for each row."""
        if isinstance(rows, DaskRows) and out is None:
            return rows.lazy(function, columns, dtype)
        with nullcontext() if out is None else naming(out):
            target = make_target(out, len(rows), columns, dtype, rows.key_names)
            try:
                rows.write(function, target, n_jobs=self.n_jobs)
                return target.finish()
            except BaseException:
                target.abandon()
                raise


@dataclass(frozen=True)
class _DoubtModel:
    """A row model for a fit without evidence: its masses are doubt."""

    model: RowModel

    @property
    def focal_sets(self) -> FocalSets:
        """The sets that carry mass."""
        return self.model.focal_sets

    def assign(self, rows: Any, weights: Any = None) -> FloatArray:
        """Return the masses of rows."""
        return without_evidence(self.model.assign(rows), self.focal_sets)


@dataclass(frozen=True)
class _View:
    """From a block of rows to a view of its credal partition."""

    model: RowModel
    method: str
    rule: Any

    @property
    def __name__(self) -> str:
        return self.method

    def __call__(self, rows: FloatArray, weights: Any = None) -> Any:
        masses = self.model.assign(rows)
        if len(rows) == 0:  # a chunk of Dask may have none, and a partition may not
            shape = (0,) if self.method == "to_hard" else (0, self.model.focal_sets.frame_size)
            return np.empty(shape, dtype=masses.dtype)
        found = getattr(CredalPartition(masses, self.model.focal_sets, validate=False), self.method)(self.rule)
        return found.candidates if isinstance(found, Verdict) else found


def _rows_of(numbers: Numbers) -> ArrayRows:
    data: Any = numbers.data
    return SparseRows(data) if isinstance(data, SparseBlock) else ArrayRows(data, has_gaps=numbers.has_gaps)


def _check_features(estimator: Any, rows: Rows, reset: bool) -> None:
    """As scikit-learn does for arrays and frames: the number and the names of the columns stay what they are."""
    if reset:
        if rows.weights is not None and not has_fit_parameter(estimator, "sample_weight"):
            raise ValueError(
                f"X was opened with weight=..., and {type(estimator).__name__} does not support weights."
            )
        masses_file = estimator.masses_file
        if masses_file is not None and os.fspath(masses_file).endswith(".parquet"):
            # Before the fit, when the focal sets may not be known yet.
            refuse_key_names([name for name in rows.key_names if _LABEL.fullmatch(name)])
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
    known = getattr(estimator, "feature_names_in_", None)
    if known is not None and rows.feature_names is not None and list(known) != list(rows.feature_names):
        raise ValueError(
            f"X has the columns {list(rows.feature_names)}, and the model was fitted to {list(known)}."
        )
