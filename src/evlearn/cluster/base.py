"""Base class of evidential clusterers, whose predictions are views of a credal partition."""

import os
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin

from evlearn.belief import FocalSets
from evlearn.blocks.open import needs_blocks
from evlearn.cluster.fit_warnings import lacks_evidence, warn_of_few_samples, without_evidence
from evlearn.cluster.missing_values import Assign, masses_with_gaps
from evlearn.exceptions import ScaleWarning
from evlearn.mixture.missing_values import Gaps, gaps_of
from evlearn.partition import SURE_LEVEL, CredalPartition
from evlearn.partition.credal_partition import with_problems
from evlearn.partition.estimators import digest_of_data, verdict_frame, with_names_of
from evlearn.storage import fields
from evlearn.utils.convergence import CallbackSupportMixin, warn_caller
from evlearn.utils.formatting import format_number
from evlearn.utils.parameters import Switchable
from evlearn.utils.reading import Numbers, read_numbers
from evlearn.utils.sparse_rows import SparseRows
from evlearn.utils.typing import BoolArray, FloatArray, IntArray
from evlearn.utils.validation import check_integer, check_no_extreme_rows, check_range, check_real

#: Checks of the parameters of these names.
_CHECKS: dict[str, Callable[[str, Any], None]] = {
    "n_init": partial(check_integer, minimum=1),
    "max_iter": partial(check_integer, minimum=1),
    "tol": partial(check_real, low=0),
    "beta": partial(check_real, low=1, open_low=True, or_auto=True),
    "delta": partial(check_real, low=0, open_low=True, or_auto=True, or_infinity=True),
}
#: Metrics that depend on the units of the columns.
_UNIT_METRICS = ("euclidean", "sqeuclidean", "manhattan", "cityblock", "minkowski", "chebyshev", "l1", "l2")
#: Ratio of standard deviations beyond which the less variable column hardly influences distances.
_MAX_SCALE_RATIO = 500.0


class EvidentialClusterer(Switchable, ClusterMixin, CallbackSupportMixin, BaseEstimator):
    """Base class: an estimator implements `predict_mass`, from which the other predictions are derived."""

    n_features_in_: fields.Stored[fields.PositiveCount]
    feature_names_in_: fields.StoredIfSet[fields.FeatureNames]
    objective_: fields.StoredIfSet[fields.ExtendedNumber]
    objective_history_: fields.StoredIfSet[fields.ExtendedVector]
    n_iter_: fields.StoredIfSet[int]
    converged_: fields.StoredIfSet[bool]

    credal_partition_: CredalPartition
    focal_sets_: fields.Stored[FocalSets]
    masses_: FloatArray
    labels_: IntArray

    #: Whether missing values are accepted and increase doubt.
    _takes_gaps = False
    _gaps: fields.StoredIfSet[Gaps | None]

    #: Whether the fit had at most as many samples as clusters, so that no sample is sure.
    _lacks_evidence: fields.StoredIfSet[bool] = False

    #: Whether sparse masses are converted to an array at each access of `masses_`.
    _has_lazy_masses = False

    #: Sentences about problems of the fit, for the summaries of its results.
    _problems: fields.StoredIfSet[fields.Sentences] = ()

    #: Whether `predict_mass` returns the masses of the fit for training samples, so that no digest is needed.
    _predicts_its_fit = False

    def predict_mass(self, X: ArrayLike) -> CredalPartition:
        """Predict the mass functions of training samples or new samples.

        Parameters
        ----------
        X : array-like
            Samples.

        Returns
        -------
        CredalPartition
            Mass function of each sample.
        """
        raise NotImplementedError

    def predict(self, X: ArrayLike) -> IntArray:
        """Predict the most plausible cluster of each sample, also of outliers, which `predict_mass` identifies.

        Parameters
        ----------
        X : array-like
            Samples, as for `predict_mass`.

        Returns
        -------
        ndarray of int of shape (n_samples,)
            Cluster numbers.
        """
        return self.predict_mass(X).to_hard()

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Predict probabilities of the clusters, proportional to their plausibilities; nearly equal for outliers.

        Parameters
        ----------
        X : array-like
            Samples, as for `predict_mass`.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            Probabilities.
        """
        return self.predict_mass(X).to_fuzzy()

    def predict_set(self, X: ArrayLike, *, level: float = SURE_LEVEL) -> BoolArray:
        """Predict the set of clusters that each sample may belong to, see `evlearn.CredalPartition.verdict`.

        Parameters
        ----------
        X : array-like
            Samples, as for `predict_mass`.
        level : float, default=0.6
            Belief that the candidates of a sample must have together.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_clusters)
            True for candidates: 1 for sure samples, several for torn ones, none for outliers.
        """
        return self.predict_mass(X).verdict(level).candidates

    def predict_frame(
        self,
        X: ArrayLike,
        *,
        library: Literal["pandas", "polars"] | None = None,
        level: float = SURE_LEVEL,
    ) -> Any:
        """Predict clusters with verdicts, as a data frame whose columns do not depend on the number of clusters.

        Parameters
        ----------
        X : array-like
            Samples in memory, as for `predict_mass`.
        library : {"pandas", "polars"} or None, default=None
            Library of the frame; None means polars if X is a polars frame, and pandas otherwise.
        level : float, default=0.6
            Belief in one cluster from which a sample is sure, see `evlearn.CredalPartition.verdict`.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            Columns ``cluster``, ``second_cluster``, ``verdict``, ``doubt`` and ``outlier_score``, with one row per
            sample, see `evlearn.predict_frame`, which is for pipelines.
        """
        return verdict_frame(self.predict_mass(X), X, library, level)

    @property
    def _metric(self) -> str | None:
        """Name of the metric, or None."""
        metric = getattr(self, "metric", None)
        return metric if isinstance(metric, str) else None

    @property
    def _precomputed(self) -> bool:
        """True if the data are dissimilarities."""
        return self._metric == "precomputed"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.allow_nan = self._takes_gaps and not self._precomputed
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        # n_features_in_ is no evidence of a fit, because it is set before anything is learned.
        return "focal_sets_" in self.__dict__

    def _check_parameters(self) -> None:
        """Check the parameters that have the same meaning in several clusterers."""
        for name, value in self.get_params(deep=False).items():
            if name in _CHECKS:
                _CHECKS[name](name, value)

    # Missing values

    def _fill_missing(self, numbers: Numbers, n_components: int) -> FloatArray:
        """Return complete samples to learn from, and store the model of missing values if there are any."""
        self._gaps = Gaps.learn(numbers.data, n_components) if numbers.has_gaps else None
        return numbers.data if self._gaps is None else self._gaps.fill(numbers.data)

    def _allow_ignorance(self, family: FocalSets) -> FocalSets:
        """Return the focal sets of a fit, with the set of all clusters if values or evidence are missing."""
        return family.with_omega() if self._needs_omega else family

    @property
    def probabilities_(self) -> FloatArray:
        """Probabilities of the clusters for the training samples, as from `predict_proba`."""
        return self.credal_partition_.to_fuzzy()

    @property
    def _needs_omega(self) -> bool:
        """True if values or evidence are missing, so that the set of all clusters must be a focal set."""
        return self._lacks_evidence or self.__dict__.get("_gaps") is not None

    def _add_doubt(self, numbers: Numbers, partition: CredalPartition, assign: Assign) -> CredalPartition:
        """Return the partition of a fit with the doubt of samples that have missing values."""
        if self._gaps is None:
            return partition
        rows, masses = np.isnan(numbers.data).any(axis=1), np.array(partition.masses)
        masses[rows] = masses_with_gaps(self._gaps, numbers.data[rows], assign, partition.focal_sets)
        return CredalPartition(masses, partition.focal_sets, validate=False)

    def _learn_gaps(self, data: FloatArray, n_components: int, weights: FloatArray | None = None) -> None:
        """Learn the model of missing values after a fit to complete samples, for predictions."""
        if self._gaps is None:
            self._gaps = Gaps.learn(data, n_components, self.__dict__.get("labels_"), weights)

    def _known_gaps(self) -> Gaps:
        return gaps_of(self, "by partial_fit, to data that are not in memory, or by an older release")

    # The result

    def _check_evidence(self, n_samples: float, n_clusters: int) -> None:
        """Warn if there are few samples for the number of clusters; to be called before results are published."""
        self._note_evidence(n_samples, n_clusters)
        warn_of_few_samples(n_samples, n_clusters)

    def _note_evidence(self, n_samples: float, n_clusters: int) -> None:
        """Set `_lacks_evidence` for predictions; the instance has this attribute only if it is True."""
        self.__dict__.pop("_lacks_evidence", None)
        if lacks_evidence(n_samples, n_clusters):
            self._lacks_evidence = True

    def _note_problems(self, problems: tuple[str, ...]) -> None:
        """Store the problems of a fit for its results; the instance has this attribute only if there are any."""
        self.__dict__.pop("_problems", None)
        if problems:
            self._problems = problems
        if "credal_partition_" in self.__dict__:
            self.credal_partition_ = with_problems(self.credal_partition_, problems)

    def _finalize_partition(self, partition: CredalPartition) -> CredalPartition:
        """Return the partition with the problems of the fit, and with doubt if the fit lacks evidence."""
        if self._lacks_evidence:
            masses = without_evidence(partition.masses, partition.focal_sets)
            partition = CredalPartition(masses, partition.focal_sets, partition.sample_names, validate=False)
        return with_problems(partition, self._problems)

    def _publish(self, partition: CredalPartition) -> None:
        partition = self._finalize_partition(partition)
        self.credal_partition_ = partition
        self.focal_sets_ = partition.focal_sets
        self.__dict__.pop("masses_", None)
        if not (self._has_lazy_masses and isinstance(partition.mass_table, SparseRows)):
            self.masses_ = partition.masses
        self.labels_ = partition.to_hard().astype(np.intp, copy=False)
        self._fitted_to: str | None = None  # until `_name_samples` sets it

    def _name_samples(self, X: Any) -> None:
        """Store the names of the training samples, and a digest that identifies them."""
        if needs_blocks(X):
            return
        if hasattr(self, "feature_names_in_") and self._metric in _UNIT_METRICS:
            _warn_of_scales(X, self.feature_names_in_, type(self).__name__)
        if "credal_partition_" in self.__dict__:  # otherwise, the masses are in Parquet files
            self.credal_partition_ = with_names_of(X, self.credal_partition_)
            if not self._predicts_its_fit:
                self._fitted_to = digest_of_data(X)

    # Files

    def _after_loading(self) -> None:
        """Raise unless the attributes from a file are consistent."""
        model, gaps = self.__dict__.get("_model"), self.__dict__.get("_gaps")
        if model is not None and model.focal_sets != self.focal_sets_:
            raise ValueError("its model and focal_sets_ have different sets")
        if gaps is not None:
            fields.check_features(self, len(gaps.center))

    def _check_reach(self, metric: Any, training: Any, indices: Any) -> None:
        """Raise unless rows have a value for each training sample, or for each feature."""
        if self._metric != metric or metric is None:
            raise ValueError(
                f"its metric is {fields.shortened(self._metric)}, but its model has {fields.shortened(metric)}"
            )
        if (metric == "precomputed") != (training is None):
            raise ValueError(
                f"with metric={fields.shortened(metric)}, its training samples are missing or not allowed"
            )
        if training is not None:
            fields.check_features(self, training.shape[1])
        elif indices.max(initial=0) >= self.n_features_in_:
            raise ValueError(f"it refers to a sample beyond the {self.n_features_in_} columns of a row")


def read_in_memory(estimator: Any, X: Any, *, reset: bool) -> FloatArray:
    """Read the data of an estimator that passes them to clusterers of any kind."""
    if needs_blocks(X):
        name = type(estimator).__name__
        raise ValueError(f"{name} needs data in memory, but X is {type(X).__name__}; use an array or a frame.")
    # Some clusterers predict only for data in the precision of the fit, so it is always double precision.
    data = read_numbers(estimator, X, reset=reset, dtype=np.float64, ensure_min_samples=2 if reset else 1).data
    check_range("X", data, fitting=reset)
    if reset:
        check_no_extreme_rows("X", data)  # most clusterers have no outliers
    return data


def _warn_of_scales(X: Any, names: Any, estimator_name: str) -> None:
    """Warn of columns that hardly influence distances, because another column varies much more."""
    try:
        columns = np.asarray(X, dtype=np.float64).T
    except (TypeError, ValueError):  # missing values of a type that NumPy does not support
        return
    spreads = np.array([_spread(column) for column in columns])
    small = np.flatnonzero((spreads > 0) & (spreads * _MAX_SCALE_RATIO < spreads.max()))
    if not len(small):
        return
    largest = int(spreads.argmax())
    listing = ", ".join(repr(str(names[k])) for k in small[:5]) + (
        f" and {len(small) - 5} more" if len(small) > 5 else ""
    )
    warn_caller(
        f"the units of the columns of X differ too much: {str(names[largest])!r} has a standard deviation of "
        f"{format_number(spreads[largest])}, and {listing} with {format_number(spreads[small].max())} or less "
        "hardly count. "
        "Put an evlearn.preprocessing.TableEncoder or a sklearn.preprocessing.StandardScaler before "
        f"{estimator_name}.",
        ScaleWarning,
    )


def _spread(column: FloatArray) -> float:
    finite = column[np.isfinite(column)]
    return float(finite.std()) if len(finite) else 0.0


def add_problems(estimator: Any, problems: Iterable[str]) -> None:
    """Prepend sentences to the problems that a fitted clusterer has recorded."""
    estimator._note_problems((*problems, *estimator._problems))


def without_files(estimator: Any) -> Any:
    """Remove the user's files from the parameters of an estimator, or of the steps of a pipeline.

    A clone inside another estimator must neither write to them nor read the checkpoint of another fit.
    """
    steps = estimator.named_steps if hasattr(estimator, "named_steps") else {}
    for step in steps.values():
        if hasattr(step, "set_params"):  # a step may be "passthrough"
            without_files(step)
    parameters = estimator.get_params(deep=False)
    changes: dict[str, Any] = {"checkpoint": None} if "checkpoint" in parameters else {}
    if isinstance(parameters.get("store_masses"), (str, os.PathLike)):
        changes["store_masses"] = True
    return estimator.set_params(**changes)


def with_seed(estimator: Any, random: np.random.RandomState) -> Any:
    """Set `random_state` of an estimator, or of the steps of a pipeline, if it is None."""
    steps = estimator.named_steps if hasattr(estimator, "named_steps") else {}
    for step in steps.values():
        if hasattr(step, "set_params"):  # a step may be "passthrough"
            with_seed(step, random)
    if estimator.get_params(deep=False).get("random_state", 0) is None:
        estimator.set_params(random_state=random.randint(np.iinfo(np.int32).max))
    return estimator
