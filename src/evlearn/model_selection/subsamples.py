"""Some of the samples, and an estimator fitted to it."""

import os
import shutil
import tempfile
import warnings
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from evlearn.blocks.open import is_elsewhere
from evlearn.cluster.base import without_files
from evlearn.exceptions import CollapseWarning
from evlearn.utils.places import is_url
from evlearn.utils.typing import IntArray
from evlearn.utils.validation import check_integer, check_real

_AUTO_SHARE = 0.8
_AUTO_MOST = 5000


@dataclass(frozen=True)
class Subsample:
    """Some of the samples, drawn without replacement, and what is fitted to them.

    Attributes
    ----------
    estimator : estimator
        What is fitted.
    X : object
        All samples.
    n_drawn : int or None
        How many samples are drawn; None for all, as they are.
    seed : int
        For the draw.
    reseed : bool
        Whether the estimator gets this seed too.
    fit_params : mapping
        More arguments of ``fit``.
    """

    estimator: Any
    X: Any
    n_drawn: int | None
    seed: int
    reseed: bool
    fit_params: Mapping[str, Any]

    @cached_property
    def _order(self) -> IntArray:
        return np.random.RandomState(self.seed).permutation(n_samples(self.X)).astype(np.intp)

    @property
    def rows(self) -> IntArray:
        """The samples that are drawn, in ascending order."""
        return np.sort(self._order[: self.n_drawn])

    @property
    def left_out(self) -> IntArray:
        """The others, in random order."""
        return self._order[self.n_drawn :] if self.n_drawn else self._order[:0]

    @property
    def data(self) -> Any:
        """The data of the subsample; dissimilarities between its samples."""
        return self.X if self.n_drawn is None else self.take(self.rows)

    @cached_property
    def pairwise(self) -> bool:
        """Whether the data are dissimilarities."""
        return is_pairwise(self.estimator)

    @property
    def metric(self) -> Any:
        """What the estimator calls a distance."""
        if self.pairwise:
            return "precomputed"
        metric = self.estimator.get_params(deep=False).get("metric", "euclidean")
        return "euclidean" if isinstance(metric, str) and metric == "adaptive" else metric

    def twin(self) -> "Subsample":
        """Another subsample of the same size."""
        seed = int(np.random.RandomState(self.seed).randint(2**31 - 1))
        return Subsample(self.estimator, self.X, self.n_drawn, seed, self.reseed, self.fit_params)

    def take(self, rows: IntArray, columns: IntArray | None = None) -> Any:
        """The data of some samples."""
        if not self.pairwise:
            return self.X.iloc[rows] if hasattr(self.X, "iloc") else np.asarray(self.X)[rows]
        matrix = self.X if hasattr(self.X, "tocsr") else np.asarray(self.X)
        return matrix[np.ix_(rows, rows if columns is None else columns)]

    def fit(self, **parameters: Any) -> Any:
        """A clone of the estimator with these parameters, fitted to the subsample."""
        model = clone(self.estimator).set_params(**parameters)
        if self.reseed and "random_state" in model.get_params(deep=False):
            model.set_params(random_state=self.seed)
        masses_file = model.get_params(deep=False).get("masses_file")
        without_files(model)
        if masses_file is not None and is_elsewhere(self.X):
            _write_elsewhere(model, masses_file)
        try:
            with warnings.catch_warnings():
                # Numbers are tried that are too large; that their clusters are missing is what a criterion sees.
                warnings.simplefilter("ignore", CollapseWarning)
                return model.fit(self.data, **self.fit_params)
        except ValueError as error:
            said = ", ".join(f"{name}={value!r}" for name, value in parameters.items())
            raise ValueError(
                f"estimator could not be fitted with {said}: {error} "
                f"Change the estimator, or leave this number out of {', '.join(parameters)}."
            ) from error


def _write_elsewhere(model: Any, masses_file: str | os.PathLike[str]) -> None:
    """Let a model write its masses to a temporary file on the disk of `masses_file`, for as long as it exists.

    Data that are not in memory have no masses without a file, and the file of the user is not for trials.
    """
    disk = None if is_url(masses_file) else os.path.dirname(os.path.abspath(masses_file))
    folder = tempfile.mkdtemp(prefix=".evlearn-", dir=disk)
    weakref.finalize(model, shutil.rmtree, folder, ignore_errors=True)
    model.set_params(masses_file=os.path.join(folder, "masses.npy"))


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
    """Subsamples, as many as are asked for."""
    if isinstance(X, Iterator):
        raise ValueError(f"X is an iterator, {X!r}, which can be read only once; give data that stay.")
    n_drawn = _n_drawn(X, sample_size)
    if n_drawn is not None and fit_params:
        raise ValueError(
            f"fit_params={sorted(fit_params)} are for all samples, not for subsamples; give sample_size=1.0 too."
        )
    seeds = random.randint(2**31 - 1, size=n_repeats)
    return [Subsample(estimator, X, n_drawn, int(seed), reseed, fit_params) for seed in seeds]


def n_samples(X: Any) -> int:
    """How many samples there are."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def is_pairwise(estimator: Any) -> bool:
    """Whether an estimator takes dissimilarities."""
    metric = estimator.get_params(deep=False).get("metric")
    return bool(get_tags(estimator).input_tags.pairwise or (isinstance(metric, str) and metric == "precomputed"))


def _n_drawn(X: Any, sample_size: Any) -> int | None:
    if isinstance(sample_size, float) and sample_size == 1.0:
        return None
    if isinstance(X, str) or not (hasattr(X, "shape") or hasattr(X, "__len__")):
        raise ValueError(f"X is {type(X).__name__}, of which no subsample can be drawn; give sample_size=1.0.")
    total = n_samples(X)
    if isinstance(sample_size, str) and sample_size == "auto":
        return min(round(_AUTO_SHARE * total), _AUTO_MOST)
    if isinstance(sample_size, float):
        check_real("sample_size", sample_size, 0, 1, open_low=True)
        return max(round(sample_size * total), 2)
    check_integer("sample_size", sample_size, 2, or_auto=True)
    return None if sample_size >= total else int(sample_size)
