"""What all evidential classifiers share: predictions as views of mass functions, and decisions from them."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from evlearn import belief
from evlearn.belief import FocalSets
from evlearn.blocks.sparse import SparseBlock, with_length
from evlearn.classify.labels import Labels, check_same_samples, read_labels
from evlearn.cluster.centroids.weights import check_weights
from evlearn.cluster.gaps import partition_with_gaps
from evlearn.mixture.gaps import Gaps, gaps_of
from evlearn.partition import SURE_LEVEL, CredalPartition
from evlearn.partition.credal_partition import of_classes
from evlearn.partition.estimators import with_names_of
from evlearn.partition.predictions import decide
from evlearn.utils.callbacks import CallbackSupportMixin
from evlearn.utils.chunks import row_blocks
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.reading import Numbers, read_numbers
from evlearn.utils.typing import BoolArray, FloatArray, IntArray
from evlearn.utils.validation import check_choice

#: The square of a number beyond this overflows.
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
        The samples, with missing values filled in: one with a weight of 2 has 2 completions.
    labels : Labels
        Their labels.
    weights : ndarray of shape (n_rows,) or None
        Their weights; None if all of them are 1.
    places : ndarray of int of shape (n_rows,) or None
        The numbers of the samples in X, in ascending order; None if the rows are all samples, each of them once.
    """

    data: Any
    labels: Labels
    weights: FloatArray | None
    places: IntArray | None


class EvidentialClassifier(ClassifierMixin, CallbackSupportMixin, BaseEstimator):
    """Base class: an estimator says `_masses` of rows, and all predictions follow from them."""

    _gaps: Gaps | None

    classes_: npt.NDArray[Any]
    focal_sets_: FocalSets

    def predict_mass(self, X: ArrayLike) -> CredalPartition:
        """The mass functions of samples: what is known about their classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        CredalPartition
            A mass function for each sample. Mass on one class supports it, mass on several says that one of them
            is right, and mass on all classes says nothing: it is large for samples unlike all training samples.
        """
        check_is_fitted(self)
        numbers = self._read(X, reset=False)
        with one_blas_thread():
            found = partition_with_gaps(numbers, self._assign, self.focal_sets_, self._known_gaps)
        return with_names_of(X, of_classes(found))

    def predict(self, X: ArrayLike) -> npt.NDArray[Any]:
        """The most plausible class of each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Classes, as they were called in the labels.
        """
        probabilities = self.predict_proba(X)  # it says so if there was no fit
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probabilities of the classes, proportional to their plausibilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`; equal ones where nothing is known.
        """
        return self.predict_mass(X).to_fuzzy()

    def predict_set(
        self,
        X: ArrayLike,
        *,
        rule: Literal["verdict", "interval_dominance", "maximality", "u65", "u80"] = "verdict",
        level: float = SURE_LEVEL,
    ) -> BoolArray:
        """The classes that each sample may belong to.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        rule : {"verdict", "interval_dominance", "maximality", "u65", "u80"}, default="verdict"
            Use the verdict that summaries and tables show, see `evlearn.CredalPartition.verdict`; keep the
            classes that no other dominates, in either sense; or choose the set with the largest expected utility,
            where a right set of two classes is worth 0.65 or 0.8 of a right class.
        level : float, default=0.6
            For "verdict": the belief that the candidates of a sample must have together.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_classes)
            Whether the class is a candidate.
        """
        check_choice("rule", rule, ("verdict", *_SET_RULES))
        partition = self.predict_mass(X)
        if rule == "verdict":
            return partition.verdict(level).candidates
        return _SET_RULES[rule](partition.masses, partition.focal_sets)

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of samples whose most plausible class is right.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts.

        Returns
        -------
        float
            The accuracy.
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
        """The decision with the smallest expected loss, where a wrong class costs 1.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        rejection_cost : float, default=None
            The loss of refusing to decide; None does not allow it.
        unknown_cost : float, default=None
            The loss of saying "a class that is not among the known ones" of a sample of a known class; None does
            not allow it.
        criterion : {"pessimistic", "optimistic", "hurwicz", "pignistic", "plausibility"}, default="pignistic"
            How mass on several classes is weighed, see `evlearn.belief.expected_loss`.
        rho : float, default=0.5
            The optimism of "hurwicz", between 0 and 1.

        rejected_label : object, default="refused"
            What is answered where the decision is refused. No class may be called so.
        unknown_label : object, default="unknown"
            What is answered for a class that is not among the known ones. No class may be called so.

        Returns
        -------
        ndarray of shape (n_samples,)
            Classes, as they were called in the labels, and `rejected_label` and `unknown_label` where they are
            allowed; an array of objects, if these are of different types, such as numbers and text.
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
        """Whether features may be sparse."""
        return False

    @property
    def _takes_gaps(self) -> bool:
        """Whether missing values are doubt, and not refused."""
        return False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        tags.input_tags.allow_nan = self._takes_gaps
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        # Not n_features_in_, which is set before anything is learned.
        return "focal_sets_" in self.__dict__

    def _assign(self, data: Any) -> FloatArray:
        """The masses of complete samples, some at a time."""
        return np.concatenate([self._masses(data[rows]) for rows in row_blocks(len(data))])

    def _masses(self, rows: FloatArray) -> FloatArray:
        """The masses of some rows, on `focal_sets_`."""
        raise NotImplementedError

    def _read(self, X: Any, *, reset: bool) -> Numbers:
        accept = "csr" if self._takes_sparse else False
        options = {"dtype": np.float64, "order": "C", "accept_sparse": accept}
        numbers = with_length(read_numbers(self, X, reset=reset, takes_gaps=self._takes_gaps, **options))
        data: Any = numbers.data
        values = data.matrix.data if isinstance(data, SparseBlock) else data
        if np.fmax.reduce(np.abs(values), axis=None, initial=0) > LARGEST:
            raise ValueError(f"X has values beyond {LARGEST:g}, whose squares overflow; divide it by a constant.")
        return numbers

    def _read_training(self, X: Any, y: Any, sample_weight: Any = None) -> "Training":
        """Return the training samples of positive weight, complete, with their labels and weights."""
        name = type(self).__name__
        numbers = self._read(X, reset=True)
        data: Any = numbers.data
        check_same_samples(y, X)
        labels = read_labels(y, data, name)
        self.classes_ = labels.classes
        weights = check_weights(sample_weight, data)
        is_square = get_tags(self).input_tags.pairwise  # columns are samples too
        places = None if weights is None or is_square or weights.all() else np.flatnonzero(weights)
        if places is not None:
            assert weights is not None
            data, labels, weights = data[places], labels.take(places), weights[places]
            numbers = Numbers(data, numbers.has_gaps)
        training = Training(data, labels, weights, places)
        if self._takes_gaps and not isinstance(data, SparseBlock):
            return self._without_gaps(numbers, training)
        return training

    # Missing values

    def _without_gaps(self, numbers: Numbers, training: Training) -> Training:
        """Return complete samples, and keep what is learned about missing values."""
        data, labels, weights, places = training
        classes = labels.plausibilities()
        # With classes as features that are there, completions of training samples are like others of their class.
        known, n_features = np.hstack([data, classes]), data.shape[1]
        gaps = Gaps.learn(known, classes.shape[1], classes.argmax(axis=1), weights)
        self._gaps = gaps.of_features(slice(n_features))
        if not numbers.has_gaps:
            return training
        if weights is None:
            return training._replace(data=np.ascontiguousarray(gaps.fill(known)[:, :n_features]))
        filled = gaps.fill_weighted(known, weights)
        rows = filled.places if places is None else places[filled.places]
        complete = np.ascontiguousarray(filled.data[:, :n_features])
        return Training(complete, labels.take(filled.places), filled.weights, rows)

    def _known_gaps(self) -> Gaps:
        return gaps_of(self, "to sparse features, or by an older release")
