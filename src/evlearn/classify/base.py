"""Base class of evidential classifiers: predictions and decisions from mass functions."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import get_tags

from evlearn import belief
from evlearn.belief import FocalSets
from evlearn.blocks.dataset import check_weights
from evlearn.blocks.sparse import SparseBlock, with_length
from evlearn.classify.labels import Labels, check_same_samples, read_labels
from evlearn.cluster.missing_values import partition_with_gaps
from evlearn.mixture.missing_values import Gaps, gaps_of
from evlearn.partition import SURE_LEVEL, CredalPartition
from evlearn.partition.credal_partition import of_classes
from evlearn.partition.estimators import with_names_of
from evlearn.partition.predictions import decide
from evlearn.storage import fields
from evlearn.utils.chunks import row_blocks
from evlearn.utils.convergence import CallbackSupportMixin
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.parameters import Switchable
from evlearn.utils.reading import Numbers, check_fitted, read_numbers
from evlearn.utils.typing import BoolArray, FloatArray, IntArray
from evlearn.utils.validation import check_choice

#: Largest absolute value of features; squares of larger values would overflow.
LARGEST = 1e150
_SET_RULES: dict[str, Callable[[FloatArray, FocalSets], BoolArray]] = {
    "interval_dominance": belief.interval_dominance,
    "maximality": belief.maximality,
    "u65": lambda masses, focal_sets: belief.partial_assignment(masses, focal_sets, utility="u65"),
    "u80": lambda masses, focal_sets: belief.partial_assignment(masses, focal_sets, utility="u80"),
}


class Training(NamedTuple):
    """Training samples of positive weight.

    Attributes
    ----------
    data : ndarray of shape (n_rows, n_features) or SparseBlock
        Samples, with imputed missing values: a sample with weight 2 has 2 completions.
    labels : Labels
        Labels of the rows.
    weights : ndarray of shape (n_rows,) or None
        Weights of the rows; None if all of them are 1.
    places : ndarray of int of shape (n_rows,) or None
        Numbers of the samples in X, in ascending order; None if the rows are all samples, each of them once.
    """

    data: Any
    labels: Labels
    weights: FloatArray | None
    places: IntArray | None


class EvidentialClassifier(Switchable, ClassifierMixin, CallbackSupportMixin, BaseEstimator):
    """Base class with predictions from the mass functions that an estimator computes by `_masses`."""

    n_features_in_: fields.Stored[fields.PositiveCount]
    feature_names_in_: fields.StoredIfSet[fields.FeatureNames]
    objective_: fields.StoredIfSet[fields.ExtendedNumber]
    objective_history_: fields.StoredIfSet[fields.ExtendedVector]
    n_iter_: fields.StoredIfSet[int]
    converged_: fields.StoredIfSet[bool]

    _gaps: fields.StoredIfSet[Gaps | None]

    classes_: fields.Stored[fields.ClassLabels]
    focal_sets_: fields.Stored[FocalSets]

    def predict_mass(self, X: ArrayLike) -> CredalPartition:
        """Predict the mass functions of samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        CredalPartition
            Mass function of each sample. Mass on a single class supports it, mass on several classes means that
            one of them is right, and mass on all classes means ignorance: it is large far from all training
            samples.
        """
        check_fitted(self)
        numbers = self._read_features(X, reset=False)
        with one_blas_thread():
            partition = partition_with_gaps(numbers, self._assign, self.focal_sets_, self._known_gaps)
        return with_names_of(X, of_classes(partition))

    def predict(self, X: ArrayLike) -> npt.NDArray[Any]:
        """Predict the most plausible class of each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Classes, with the names of the labels.
        """
        probabilities = self.predict_proba(X)  # raises an error before fit
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Predict probabilities of the classes, proportional to their plausibilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`; equal without any evidence.
        """
        return self.predict_mass(X).to_fuzzy()

    def predict_set(
        self,
        X: ArrayLike,
        *,
        rule: Literal["verdict", "interval_dominance", "maximality", "u65", "u80"] = "verdict",
        level: float = SURE_LEVEL,
    ) -> BoolArray:
        """Predict the set of classes that each sample may belong to.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        rule : {"verdict", "interval_dominance", "maximality", "u65", "u80"}, default="verdict"
            Verdict of summaries and tables, see `evlearn.CredalPartition.verdict`; classes that no other class
            dominates, in either sense; or the set with the largest expected utility, where a right set of 2
            classes has a utility of 0.65 or 0.8, relative to a right class.
        level : float, default=0.6
            For "verdict": minimum belief in the set of candidates.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_classes)
            True for candidate classes.
        """
        check_choice("rule", rule, ("verdict", *_SET_RULES))
        partition = self.predict_mass(X)
        if rule == "verdict":
            return partition.verdict(level).candidates
        return _SET_RULES[rule](partition.masses, partition.focal_sets)

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy of the most plausible classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each sample.

        Returns
        -------
        float
            Accuracy.
        """
        return float(super().score(X, y, sample_weight))

    def decide(
        self,
        X: ArrayLike,
        *,
        rejection_cost: float | None = None,
        unknown_cost: float | None = None,
        criterion: Literal["pessimistic", "optimistic", "hurwicz", "pignistic", "plausibility"] = "pignistic",
        rho: float = 0.5,
        rejected_label: object = "refused",
        unknown_label: object = "unknown",
    ) -> npt.NDArray[Any]:
        """Return the decisions with the smallest expected loss, where a wrong class costs 1.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        rejection_cost : float, default=None
            Loss of a rejection; None excludes rejections.
        unknown_cost : float, default=None
            Loss of the decision "unknown class" for a sample of a known class; None excludes this decision.
        criterion : {"pessimistic", "optimistic", "hurwicz", "pignistic", "plausibility"}, default="pignistic"
            Treatment of mass on several classes, see `evlearn.belief.expected_loss`.
        rho : float, default=0.5
            Optimism of "hurwicz", between 0 and 1.

        rejected_label : object, default="refused"
            Label of rejections; it must differ from all classes.
        unknown_label : object, default="unknown"
            Label of unknown classes; it must differ from all classes.

        Returns
        -------
        ndarray of shape (n_samples,)
            Classes, with the names of the labels, and `rejected_label` and `unknown_label`, if permitted; an array
            of objects if these have different types, such as numbers and text.
        """
        return decide(
            self,
            X,
            rejection_cost=rejection_cost,
            unknown_cost=unknown_cost,
            criterion=criterion,
            rho=rho,
            rejected_label=rejected_label,
            unknown_label=unknown_label,
        )

    @property
    def _takes_sparse(self) -> bool:
        """True if features may be sparse."""
        return False

    @property
    def _takes_gaps(self) -> bool:
        """True if missing values are accepted."""
        return False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        tags.input_tags.allow_nan = self._takes_gaps
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        # n_features_in_ is set before the fit is complete.
        return "focal_sets_" in self.__dict__

    def _assign(self, data: Any) -> FloatArray:
        """Return the masses of complete samples, computed in blocks."""
        blocks = [self._masses(data[rows]) for rows in row_blocks(len(data))]
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)

    def _masses(self, rows: FloatArray) -> FloatArray:
        """Return the masses of rows, on `focal_sets_`."""
        raise NotImplementedError

    def _read_features(self, X: Any, *, reset: bool) -> Numbers:
        accept = "csr" if self._takes_sparse else False
        options = {"dtype": np.float64, "order": "C", "accept_sparse": accept}
        numbers = with_length(read_numbers(self, X, reset=reset, takes_gaps=self._takes_gaps, **options))
        data: Any = numbers.data
        values = data.matrix.data if isinstance(data, SparseBlock) else data
        if np.fmax.reduce(np.abs(values), axis=None, initial=0) > LARGEST:
            raise ValueError(f"X has values beyond {LARGEST:g}, whose squares overflow; divide X by a constant.")
        return numbers

    def _read_training(self, X: Any, y: Any, sample_weight: Any = None) -> "Training":
        """Return the training samples of positive weight, complete, with their labels and weights."""
        name = type(self).__name__
        numbers = self._read_features(X, reset=True)
        data: Any = numbers.data
        check_same_samples(y, X)
        labels = read_labels(y, data, name)
        self.classes_ = labels.classes
        weights = check_weights(sample_weight, data)
        is_square = get_tags(self).input_tags.pairwise  # columns are samples, too
        places = None if weights is None or is_square or weights.all() else np.flatnonzero(weights)
        if places is not None:
            assert weights is not None
            data, labels, weights = data[places], labels.take(places), weights[places]
            numbers = Numbers(data, numbers.has_gaps)
        training = Training(data, labels, weights, places)
        if self._takes_gaps and not isinstance(data, SparseBlock):
            return self._fill_gaps(numbers, training)
        return training

    # Missing values

    def _fill_gaps(self, numbers: Numbers, training: Training) -> Training:
        """Return complete samples, and store the model of missing values."""
        data, labels, weights, places = training
        classes = labels.plausibilities()
        # Classes are included as observed features, so that completions of samples are typical of their class.
        features, n_features = np.hstack([data, classes]), data.shape[1]
        gaps = Gaps.learn(features, classes.shape[1], classes.argmax(axis=1), weights)
        self._gaps = gaps.of_features(slice(n_features))
        if not numbers.has_gaps:
            return training
        if weights is None:
            return training._replace(data=np.ascontiguousarray(gaps.fill(features)[:, :n_features]))
        filled = gaps.fill_weighted(features, weights)
        rows = filled.places if places is None else places[filled.places]
        complete = np.ascontiguousarray(filled.data[:, :n_features])
        return Training(complete, labels.take(filled.places), filled.weights, rows)

    def _known_gaps(self) -> Gaps:
        return gaps_of(self, "to sparse features, or by an older release")

    def _after_loading(self) -> None:
        """Raise unless the attributes from a file are consistent."""
        gaps = self.__dict__.get("_gaps")
        if gaps is not None:
            fields.check_features(self, len(gaps.center))


def check_simple(sets: FocalSets) -> None:
    """Raise unless sets are the single classes and the set of all classes."""
    if not np.array_equal(sets.membership, FocalSets.simple(sets.frame_size).membership):
        raise ValueError("its sets must be the single classes and the set of all classes")
