"""What all evidential clusterers share: predictions as views of one credal partition."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin

from evlearn.belief import FocalSets
from evlearn.blocks.open import is_elsewhere
from evlearn.cluster.collapse import lacks_evidence, warn_of_few_samples, without_evidence
from evlearn.cluster.gaps import Assign, masses_with_gaps
from evlearn.exceptions import ScaleWarning
from evlearn.mixture.gaps import Gaps, gaps_of
from evlearn.partition import SURE_LEVEL, CredalPartition
from evlearn.partition.credal_partition import with_problems
from evlearn.partition.estimators import digest_of_data, with_names_of
from evlearn.preprocessing.description import plain
from evlearn.utils.callbacks import CallbackSupportMixin
from evlearn.utils.convergence import warn_caller
from evlearn.utils.reading import Numbers, read_numbers
from evlearn.utils.typing import BoolArray, FloatArray, IntArray
from evlearn.utils.validation import check_range, refuse_remote

#: Metrics in which a column counts by its unit.
_OF_DIFFERENCES = ("euclidean", "sqeuclidean", "manhattan", "cityblock", "minkowski", "chebyshev", "l1", "l2")
#: A column that varies so many times less than another might as well not be there.
_NOTHING_BESIDE = 500.0


class EvidentialClusterer(ClusterMixin, CallbackSupportMixin, BaseEstimator):
    """Base class: an estimator says `predict_mass`, and the other predictions follow from it."""

    credal_partition_: CredalPartition
    focal_sets_: FocalSets
    masses_: FloatArray
    labels_: IntArray

    #: Whether missing values are doubt, and not refused.
    _takes_gaps = False
    _gaps: Gaps | None

    #: True after a fit to at most as many samples as clusters: no sample is sure then.
    _lacks_evidence = False

    #: Sentences on what is wrong with the fit, for the summaries of its results.
    _problems: tuple[str, ...] = ()

    #: Whether `predict_mass` says of training samples what `fit` said: then nobody need know them again.
    _predicts_its_fit = False

    def predict_mass(self, X: ArrayLike) -> CredalPartition:
        """The mass functions of samples, new or old.

        Parameters
        ----------
        X : array-like
            The samples.

        Returns
        -------
        CredalPartition
            A mass function for each sample.
        """
        raise NotImplementedError

    def predict(self, X: ArrayLike) -> IntArray:
        """The most plausible cluster of each sample, also of outliers: ask `predict_mass` who they are.

        Parameters
        ----------
        X : array-like
            The samples, as for `predict_mass`.

        Returns
        -------
        ndarray of int of shape (n_samples,)
            Cluster numbers.
        """
        return self.predict_mass(X).to_hard()

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probabilities of the clusters, proportional to their plausibilities; nearly equal ones for outliers.

        Parameters
        ----------
        X : array-like
            The samples, as for `predict_mass`.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            Probabilities.
        """
        return self.predict_mass(X).to_fuzzy()

    def predict_set(self, X: ArrayLike, *, level: float = SURE_LEVEL) -> BoolArray:
        """The clusters that each sample may belong to, see `evlearn.CredalPartition.verdict`.

        Parameters
        ----------
        X : array-like
            The samples, as for `predict_mass`.
        level : float, default=0.6
            The belief that the candidates of a sample must have together.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_clusters)
            Whether the cluster is a candidate: one for sure samples, several for torn ones, none for outliers.
        """
        return self.predict_mass(X).verdict(level).candidates

    @property
    def _metric(self) -> str | None:
        """The name of the metric, where there is one."""
        metric = getattr(self, "metric", None)
        return metric if isinstance(metric, str) else None

    @property
    def _precomputed(self) -> bool:
        """Whether the data are dissimilarities."""
        return self._metric == "precomputed"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.allow_nan = self._takes_gaps and not self._precomputed
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        # Not n_features_in_, which is set before anything is learned.
        return "focal_sets_" in self.__dict__

    # Missing values

    def _filled(self, numbers: Numbers, n_components: int) -> FloatArray:
        """Samples to learn from; where cells are missing, what is learned about these is kept."""
        self._gaps = Gaps.learn(numbers.data, n_components) if numbers.has_gaps else None
        return numbers.data if self._gaps is None else self._gaps.fill(numbers.data)

    def _room_for_ignorance(self, family: FocalSets) -> FocalSets:
        """Return the focal sets of a fit, with the set of all clusters if cells are missing or evidence lacks."""
        needed = self._lacks_evidence or self.__dict__.get("_gaps") is not None
        return family.with_omega() if needed else family

    def _doubted(self, numbers: Numbers, partition: CredalPartition, assign: Assign) -> CredalPartition:
        """The partition of a fit, in which samples with gaps have the masses that these leave them."""
        if self._gaps is None:
            return partition
        rows, masses = np.isnan(numbers.data).any(axis=1), np.array(partition.masses)
        masses[rows] = masses_with_gaps(self._gaps, numbers.data[rows], assign, partition.focal_sets)
        return CredalPartition(masses, partition.focal_sets, validate=False)

    def _learn_gaps(self, data: FloatArray, n_components: int, weights: FloatArray | None = None) -> None:
        """After a fit to complete samples: what new samples with gaps may look like."""
        if self._gaps is None:
            self._gaps = Gaps.learn(data, n_components, self.__dict__.get("labels_"), weights)

    def _known_gaps(self) -> Gaps:
        return gaps_of(self, "by partial_fit, to data that are not in memory, or by an older release")

    # The result

    def _check_evidence(self, n_samples: float, n_clusters: int) -> None:
        """Warn if there are few samples for the number of clusters; call it before anything is published."""
        self._note_evidence(n_samples, n_clusters)
        warn_of_few_samples(n_samples, n_clusters)

    def _note_evidence(self, n_samples: float, n_clusters: int) -> None:
        """Set `_lacks_evidence` for predictions; an ordinary fit has no such attribute of its own."""
        self.__dict__.pop("_lacks_evidence", None)
        if lacks_evidence(n_samples, n_clusters):
            self._lacks_evidence = True

    def _note_problems(self, problems: tuple[str, ...]) -> None:
        """Keep the problems of a fit for its results; an ordinary fit has no such attribute of its own."""
        self.__dict__.pop("_problems", None)
        if problems:
            self._problems = problems
        if "credal_partition_" in self.__dict__:
            self.credal_partition_ = with_problems(self.credal_partition_, problems)

    def _supported(self, partition: CredalPartition) -> CredalPartition:
        """Return the partition, or one of doubt if the fit lacks evidence; with the problems of the fit."""
        if self._lacks_evidence:
            masses = without_evidence(partition.masses, partition.focal_sets)
            partition = CredalPartition(masses, partition.focal_sets, partition.sample_names, validate=False)
        return with_problems(partition, self._problems)

    def _publish(self, partition: CredalPartition) -> None:
        partition = self._supported(partition)
        self.credal_partition_ = partition
        self.focal_sets_ = partition.focal_sets
        self.masses_ = partition.masses
        self.labels_ = partition.to_hard().astype(np.intp, copy=False)
        self._fitted_to: str | None = None  # until `_name_samples` says it

    def _name_samples(self, X: Any) -> None:
        """Say whose masses `credal_partition_` holds: their names, and how to know them again."""
        if is_elsewhere(X):
            return
        if hasattr(self, "feature_names_in_") and self._metric in _OF_DIFFERENCES:
            _warn_of_scales(X, self.feature_names_in_, type(self).__name__)
        if "credal_partition_" in self.__dict__:  # or else the masses are in Parquet files
            self.credal_partition_ = with_names_of(X, self.credal_partition_)
            if not self._predicts_its_fit:
                self._fitted_to = digest_of_data(X)


def read_in_memory(estimator: Any, X: Any, *, reset: bool) -> FloatArray:
    """Rows for an estimator that hands them to clusterers of any kind."""
    if is_elsewhere(X):
        name = type(estimator).__name__
        raise ValueError(f"{name} needs data in memory, and X is {type(X).__name__}; give an array or a frame.")
    # In double precision: some clusterers predict only for rows in the precision they were fitted to.
    data = read_numbers(estimator, X, reset=reset, dtype=np.float64, ensure_min_samples=2 if reset else 1).data
    check_range("X", data, fitting=reset)
    if reset:
        refuse_remote("X", data)  # most clusterers know no outliers
    return data


def _warn_of_scales(X: Any, names: Any, who: str) -> None:
    """Name columns that hardly count, because another one varies so much more."""
    try:
        columns = np.asarray(X, dtype=np.float64).T
    except (TypeError, ValueError):  # gaps of a kind that NumPy does not know
        return
    spreads = np.array([_spread(column) for column in columns])
    lost = np.flatnonzero((spreads > 0) & (spreads * _NOTHING_BESIDE < spreads.max()))
    if not len(lost):
        return
    largest = int(spreads.argmax())
    named = ", ".join(repr(str(names[k])) for k in lost[:5]) + (
        f" and {len(lost) - 5} more" if len(lost) > 5 else ""
    )
    warn_caller(
        f"the columns of X are in units that differ too much: {str(names[largest])!r} has a standard deviation of "
        f"{plain(spreads[largest])}, beside which {named} with {plain(spreads[lost].max())} or less hardly count. "
        f"Put an evlearn.preprocessing.TableEncoder or a sklearn.preprocessing.StandardScaler before {who}.",
        ScaleWarning,
    )


def _spread(column: FloatArray) -> float:
    there = column[np.isfinite(column)]
    return float(there.std()) if len(there) else 0.0


def add_problems(estimator: Any, problems: Iterable[str]) -> None:
    """Put sentences before the problems that a fitted clusterer has recorded."""
    estimator._note_problems((*problems, *estimator._problems))


def without_files(estimator: Any) -> Any:
    """Remove the files of the user from the parameters of an estimator, or of the steps of a pipeline.

    A clone that is fitted inside another estimator must not write to them, or read a checkpoint of another fit.
    """
    steps = estimator.named_steps if hasattr(estimator, "named_steps") else {}
    for step in steps.values():
        if hasattr(step, "set_params"):  # and is not "passthrough"
            without_files(step)
    files = {"masses_file", "checkpoint"} & estimator.get_params(deep=False).keys()
    return estimator.set_params(**dict.fromkeys(files))


def with_seed(estimator: Any, random: np.random.RandomState) -> Any:
    """Give an estimator, or the steps of a pipeline, a seed where it takes one and has none."""
    steps = estimator.named_steps if hasattr(estimator, "named_steps") else {}
    for one in steps.values():
        if hasattr(one, "set_params"):  # and is not "passthrough"
            with_seed(one, random)
    if estimator.get_params(deep=False).get("random_state", 0) is None:
        estimator.set_params(random_state=random.randint(np.iinfo(np.int32).max))
    return estimator
