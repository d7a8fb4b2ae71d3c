"""Subsamples of the data, and fits of an estimator to them."""

import math
import os
import shutil
import tempfile
import warnings
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from evlearn.blocks.open import needs_blocks
from evlearn.cluster.base import without_files
from evlearn.exceptions import CollapseWarning
from evlearn.neighbors import EUCLIDEAN, Neighbors, count_neighbors_of_all, find_neighbors, is_metric
from evlearn.utils.typing import FloatArray, IntArray
from evlearn.utils.urls import is_url
from evlearn.utils.validation import check_integer, check_real

_AUTO_SHARE = 0.8
_AUTO_MAX = 5000
#: Minimum number of neighbors in a search that subsamples share, and maximum number of neighbors of all samples.
_MANY_NEIGHBORS, _MAX_SHARED = 100, 1 << 23
#: Largest value whose square does not overflow, with a safety margin.
_LARGEST = 1e150


@dataclass(frozen=True)
class Subsample:
    """A subsample, drawn without replacement, and the estimator that is fitted to it.

    Attributes
    ----------
    estimator : estimator
        Estimator to fit.
    X : object
        All samples.
    n_drawn : int or None
        Number of samples; None for all, in their order.
    seed : int
        Seed of the draw.
    reseed : bool
        Whether the estimator also gets this seed.
    fit_params : mapping
        Additional arguments of ``fit``.
    neighbors : Neighbors or None, default=None
        Neighbors of all samples, from which those in subsamples are selected; None if subsamples are searched.
    """

    estimator: Any
    X: Any
    n_drawn: int | None
    seed: int
    reseed: bool
    fit_params: Mapping[str, Any]
    neighbors: Neighbors | None = None

    @cached_property
    def _order(self) -> IntArray:
        return np.random.RandomState(self.seed).permutation(n_samples(self.X)).astype(np.intp)

    @property
    def rows(self) -> IntArray:
        """Indices of the drawn samples, in ascending order."""
        return np.sort(self._order[: self.n_drawn])

    @property
    def excluded(self) -> IntArray:
        """Indices of the other samples, in random order."""
        return self._order[self.n_drawn :] if self.n_drawn else self._order[:0]

    @property
    def data(self) -> Any:
        """Data of the subsample, or dissimilarities between its samples."""
        return self.X if self.n_drawn is None else self.take(self.rows)

    @cached_property
    def pairwise(self) -> bool:
        """True if the data are dissimilarities."""
        return is_pairwise(self.estimator)

    @property
    def metric(self) -> Any:
        """Metric of the estimator."""
        if self.pairwise:
            return "precomputed"
        metric = self.estimator.get_params(deep=False).get("metric", "euclidean")
        return "euclidean" if isinstance(metric, str) and metric == "adaptive" else metric

    def twin(self) -> "Subsample":
        """Return another subsample of the same size."""
        seed = int(np.random.RandomState(self.seed).randint(2**31 - 1))
        return Subsample(self.estimator, self.X, self.n_drawn, seed, self.reseed, self.fit_params)

    def take(self, rows: IntArray, columns: IntArray | None = None) -> Any:
        """Return the data of some samples."""
        if not self.pairwise:
            return self.X.iloc[rows] if hasattr(self.X, "iloc") else np.asarray(self.X)[rows]
        matrix = self.X if hasattr(self.X, "tocsr") else np.asarray(self.X)
        return matrix[np.ix_(rows, rows if columns is None else columns)]

    def fit(self, **parameters: Any) -> Any:
        """Fit a clone of the estimator with these parameters to the subsample."""
        model = clone(self.estimator).set_params(**parameters)
        if self.reseed and "random_state" in model.get_params(deep=False):
            model.set_params(random_state=self.seed)
        store_masses = model.get_params(deep=False).get("store_masses")
        without_files(model)
        if isinstance(store_masses, (str, os.PathLike)) and needs_blocks(self.X):
            _set_temporary_file(model, store_masses)
        try:
            with warnings.catch_warnings():
                # Candidate numbers can be too large. The criterion takes missing clusters into account.
                warnings.simplefilter("ignore", CollapseWarning)
                return model.fit(self.data, **self.fit_params)
        except ValueError as error:
            text = ", ".join(f"{name}={value!r}" for name, value in parameters.items())
            raise ValueError(
                f"estimator could not be fitted with {text}: {error} "
                f"Change the estimator, or remove this number from {', '.join(parameters)}."
            ) from error


def _set_temporary_file(model: Any, masses_file: str | os.PathLike[str]) -> None:
    """Set a temporary file for the masses of a model, on the disk of `masses_file`.

    The file is deleted with the model. Data that are not in memory have no masses without a file, and the file of
    the user must not be overwritten.
    """
    disk = None if is_url(masses_file) else os.path.dirname(os.path.abspath(masses_file))
    folder = tempfile.mkdtemp(prefix=".evlearn-", dir=disk)
    weakref.finalize(model, shutil.rmtree, folder, ignore_errors=True)
    model.set_params(store_masses=os.path.join(folder, "masses.npy"))


def draw_subsamples(
    estimator: Any,
    X: Any,
    *,
    n_repeats: int,
    sample_size: Any,
    fit_params: Mapping[str, Any],
    random: np.random.RandomState,
    reseed: bool,
) -> list[Subsample]:
    """Draw subsamples."""
    if isinstance(X, Iterator):
        raise ValueError(f"X is an iterator, {X!r}, which can be read only once; pass an array or a frame.")
    n_drawn = _n_drawn(X, sample_size)
    if n_drawn is not None and fit_params:
        raise ValueError(
            f"fit_params={sorted(fit_params)} are for all samples, not for subsamples; set sample_size=1.0, too."
        )
    seeds = random.randint(2**31 - 1, size=n_repeats)
    return [Subsample(estimator, X, n_drawn, int(seed), reseed, fit_params) for seed in seeds]


def share_neighbors(samples: list[Subsample], n_jobs: int | None) -> list[Subsample]:
    """Return subsamples with the neighbors of all samples, if a single search costs less than one for each."""
    first = samples[0]
    data = None if first.pairwise or not is_metric(first.metric, *EUCLIDEAN) else _numbers(first.X)
    if data is None:
        return samples
    n_drawn = first.n_drawn or len(data)
    n_neighbors = min(max(_MANY_NEIGHBORS, math.ceil(3 * math.sqrt(n_drawn))), n_drawn - 1)
    width = min(count_neighbors_of_all(n_neighbors, n_drawn / len(data)), len(data) - 1)
    if width * len(data) >= min(n_neighbors * n_drawn * len(samples), _MAX_SHARED):
        return samples
    neighbors = find_neighbors(data, width, metric=first.metric, n_jobs=n_jobs, keep=True).sort()
    return [replace(sample, neighbors=neighbors) for sample in samples]


def _numbers(X: Any) -> FloatArray | None:
    """Return data in memory as an array; None if it is not a table of numbers whose squares do not overflow."""
    if not (isinstance(X, np.ndarray) or hasattr(X, "iloc")):
        return None
    data = np.asarray(X)
    if data.ndim != 2 or data.dtype.kind not in "fiu" or len(data) < 3 or not data.shape[1]:
        return None
    data = np.ascontiguousarray(data, dtype=np.float64)
    return data if np.abs(data).max() < _LARGEST else None  # False for missing values


def n_samples(X: Any) -> int:
    """Return the number of samples."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def is_pairwise(estimator: Any) -> bool:
    """Return True if an estimator expects dissimilarities."""
    metric = estimator.get_params(deep=False).get("metric")
    return bool(get_tags(estimator).input_tags.pairwise or (isinstance(metric, str) and metric == "precomputed"))


def _n_drawn(X: Any, sample_size: Any) -> int | None:
    if isinstance(sample_size, float) and sample_size == 1.0:
        return None
    if isinstance(X, str) or not (hasattr(X, "shape") or hasattr(X, "__len__")):
        raise ValueError(f"X is {type(X).__name__}, from which no subsample can be drawn; set sample_size=1.0.")
    total = n_samples(X)
    if isinstance(sample_size, str) and sample_size == "auto":
        return min(round(_AUTO_SHARE * total), _AUTO_MAX)
    if isinstance(sample_size, float):
        check_real("sample_size", sample_size, 0, 1, open_low=True)
        return max(round(sample_size * total), 2)
    check_integer("sample_size", sample_size, 2, or_auto=True)
    return None if sample_size >= total else int(sample_size)
