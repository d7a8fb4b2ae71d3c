"""Detection of samples of classes that are absent from the training data."""

from typing import Annotated, Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from scipy.stats import norm
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from evlearn.classify import EvidentialForestClassifier
from evlearn.classify.base import EvidentialClassifier
from evlearn.classify.samples import distinct_rows
from evlearn.cluster.base import with_seed
from evlearn.conformal.nonconformity import CRITERIA, Strangeness, exceed_distances, fit_weights, surprisal
from evlearn.conformal.two_sample import rank_deviation
from evlearn.partition.estimators import predicted_partition
from evlearn.storage import fields
from evlearn.utils.chunks import row_blocks
from evlearn.utils.convergence import atomic_fit
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.typing import BoolArray, ClassifierLike, FloatArray, IntArray, RandomSeed
from evlearn.utils.validation import check_integer, check_real, check_shape

#: Maximum number of rehearsals, and minimum number of samples of a class that plays the unseen class.
_MAX_REHEARSALS, _MIN_SAMPLES = 10, 5
#: Default classifier: a forest without discounts for disagreement and distance; the detector measures distances.
_FOREST = EvidentialForestClassifier(min_samples_split=2, effective_n_estimators=1, reach=None)


@fields.stored
class UnseenClassDetector(EvidentialClassifier):
    """Classifier that detects samples of classes that are absent from the training data.

    A sample is compared with the training samples by several criteria: its distance from them, the evidence that
    they provide about it, and the doubt of the classifier. The weights of the criteria are learned in rehearsals:
    each class in turn plays the unseen class, and the models are fitted without it. The result is a p-value. If
    the training samples and the new sample come from the same distribution, the p-value is at most 0.05 in about 5
    % of all cases, for any data.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Classifier of evlearn or scikit-learn with probabilities, or a pipeline that ends in one. Clones of it are
        fitted. None means an `EvidentialForestClassifier` with full trees,
        ``effective_n_estimators=1`` and ``reach=None``.
    false_alarm_rate : float, default=0.05
        Share of samples of known classes that may be labeled unseen.
    cv : int, default=10
        Number of parts of the training samples. The samples of each part are compared with models fitted to the
        other parts. Equal samples are in the same part.
    n_jobs : int or None, default=None
        Number of parallel jobs. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the parts. It is also passed to classifiers without a seed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes.
    focal_sets_ : FocalSets
        Focal sets.
    estimator_ : classifier
        Classifier fitted to all samples.
    weights_ : dict of str to float
        Weight of each criterion, with the sum 1.
    n_rehearsals_ : int
        Number of classes that played the unseen class. With fewer than 3 classes of at least 5 samples, there is
        no rehearsal, and all criteria have the same weight.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X has names.

    See Also
    --------
    EvidentialForestClassifier : Mass on all classes for remote samples, without a false alarm rate.
    ConformalClassifier : Sets of classes with a confidence level, empty for unseen classes around a detector.
    ConformalClusterer : Sets of clusters with a confidence level.

    Notes
    -----
    The p-value is the share of training samples that are at least as strange as the new sample; the models for
    each of them are fitted without its part. A sample that is more than twice as far from all training samples as
    any of them is from the others has the smallest p-value. The criteria are the distance to the nearest training
    sample; the mean distance to the nearest 3, after whitening within classes; the latter relative to local
    distances of training samples; the mass of 5 neighbors on the set of all classes; the doubt of the classifier,
    1 minus its largest probability; and the entropy of its probabilities. Each criterion is converted to the share
    of training samples with at least the same value. The strangeness is the weighted sum of minus the logarithms
    of these shares.

    Copies of training samples, for example of an oversampled class, count in the fit of the classifier, but
    p-values and distances count each distinct sample once. For data with few distinct samples, such as short
    questionnaires, the rate of false alarms may be well below `false_alarm_rate`.

    References
    ----------
    Vovk (2015) for p-values across parts; Denœux (1995) for the evidence of neighbors.

    - Vovk (2015), Cross-conformal predictors, Annals of Mathematics and Artificial
      Intelligence 74, doi:10.1007/s10472-013-9368-4.
    - Denœux (1995), A k-nearest neighbor classification rule based on Dempster-Shafer
      theory, IEEE Transactions on Systems, Man, and Cybernetics 25,
      doi:10.1109/21.376493.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from evlearn.conformal import UnseenClassDetector
    >>> X, y = load_iris(return_X_y=True)
    >>> known = y != 2
    >>> model = UnseenClassDetector(random_state=0).fit(X[known], y[known])
    >>> model.is_unseen([[5.0, 3.4, 1.5, 0.2], [7.7, 3.0, 6.1, 2.3]])
    array([False,  True])
    """

    _strangeness: fields.Stored[Strangeness]
    _references: fields.Stored[fields.Matrix]
    _weights: fields.Stored[Annotated[FloatArray, fields.array(1, low=0, high=fields.LARGEST_MASS)]]
    _scores: fields.Stored[Annotated[FloatArray, fields.ascending]]
    n_rehearsals_: fields.Stored[int]

    def __init__(
        self,
        estimator: ClassifierLike | None = None,
        *,
        false_alarm_rate: float = 0.05,
        cv: int = 10,
        n_jobs: int | None = None,
        random_state: RandomSeed = None,
    ) -> None:
        self.estimator = estimator
        self.false_alarm_rate = false_alarm_rate
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    @atomic_fit
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the classifier, the weights of the criteria, and the distribution of the strangeness.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Their classes, of any type.

        Returns
        -------
        UnseenClassDetector
            The fitted estimator.
        """
        self._check_parameters()
        data, labels, _, _ = self._read_training(X, y)
        if labels.codes is None:
            raise ValueError("y must contain a single class for each sample; soft labels are not supported.")
        codes, random = labels.codes, check_random_state(self.random_state)
        classifier = with_seed(clone(_FOREST if self.estimator is None else self.estimator), random)
        first, positions = distinct_rows(data)
        self._check_size(len(first), len(data))
        parts = _split_parts(codes[first], self.cv, random)[positions]
        rehearsal_classes = _choose_rehearsals(codes[first], random)
        training_masks = [(codes != k) & (parts != number % self.cv) for number, k in enumerate(rehearsal_classes)]
        training_masks += [parts != number for number in range(self.cv)]
        _check_classes(codes, training_masks)
        is_first = np.zeros(len(data), dtype=bool)
        is_first[first] = True
        results = Parallel(self.n_jobs)(
            delayed(_score_held_out)(classifier, data, codes, mask, is_first & ~mask) for mask in training_masks
        )
        rehearsals = [
            _rehearsal(others, codes[is_first & ~mask] == k)
            for others, mask, k in zip(results, training_masks, rehearsal_classes, strict=False)
        ]
        self._weights = fit_weights(rehearsals)
        self.n_rehearsals_ = len(rehearsals)
        self._strangeness = Strangeness.fit(classifier, data, codes)
        held_out = np.vstack(results[len(rehearsal_classes) :])
        self._references = np.sort(held_out, axis=0)
        self._scores = np.sort(surprisal(held_out, self._references, are_included=True) @ self._weights)
        self.focal_sets_ = predicted_partition(self.estimator_, data[:1]).focal_sets.with_names(labels.names)
        return self

    @property
    def estimator_(self) -> ClassifierLike:
        """Classifier fitted to all samples."""
        classifier: ClassifierLike = self._strangeness.classifier
        return classifier

    @property
    def weights_(self) -> dict[str, float]:
        """Weight of each criterion, with the sum 1."""
        return dict(zip(CRITERIA, self._weights.tolist(), strict=True))

    def p_values(self, X: ArrayLike) -> FloatArray:
        """Return the shares of training samples that are at least as strange.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            P-values from 1 / (n + 1), for n distinct training samples, to 1. Small values indicate an unseen
            class.
        """
        check_is_fitted(self)
        numbers = self._read_features(X, reset=False)
        with one_blas_thread():
            return np.concatenate([self._compare(numbers.data[rows]) for rows in row_blocks(len(numbers.data))])

    def is_unseen(self, X: ArrayLike) -> BoolArray:
        """Return True for samples that are too strange to belong to a known class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of bool of shape (n_samples,)
            True for about the share `false_alarm_rate` of samples of known classes, and for detected samples of
            other classes. These samples are the outliers of `predict_mass`.
        """
        return np.asarray(self.p_values(X) <= self.false_alarm_rate)

    def shift_p_value(self, X: ArrayLike) -> float:
        """Test whether samples are, on the whole, stranger than the training samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Independent samples, for example of one day or one machine.

        Returns
        -------
        float
            P-value of the Mann-Whitney test on `p_values`; small if the samples are stranger.

        See Also
        --------
        DriftMonitor : Test of a batch for changes of any kind.
        """
        n_samples = len(self._scores)
        references = np.arange(1, n_samples + 1) / (n_samples + 1)
        return float(norm.cdf(rank_deviation(self.p_values(X), references)))

    def _check_parameters(self) -> None:
        check_real("false_alarm_rate", self.false_alarm_rate, 0, 0.5, open_low=True)
        check_integer("cv", self.cv, 2)

    def _check_size(self, n_distinct: int, n_samples: int) -> None:
        if n_distinct < self.cv:
            raise ValueError(
                f"cv={self.cv} needs at least {self.cv} distinct samples, got {n_distinct} among n_samples = "
                f"{n_samples}: add samples or decrease cv."
            )

    def _compare(self, rows: FloatArray) -> FloatArray:
        scores = self._strangeness.score(rows)
        totals = surprisal(scores, self._references) @ self._weights
        totals[exceed_distances(scores, self._references)] = np.inf
        # Sums of the same numbers may differ by rounding errors.
        n_larger = len(self._scores) - np.searchsorted(self._scores, totals * (1 - 1e-12))
        return np.asarray((1 + n_larger) / (1 + len(self._scores)))

    def _masses(self, rows: FloatArray) -> FloatArray:
        weights = np.minimum(self._compare(rows) / (2 * self.false_alarm_rate), 1)[:, None]
        masses = predicted_partition(self.estimator_, rows).masses * weights
        masses[:, 0] += 1 - weights[:, 0]  # 0.5 at a p-value of false_alarm_rate
        return np.asarray(masses)

    def _after_loading(self) -> None:
        """Raise unless the attributes from a file are consistent."""
        super()._after_loading()
        self._check_parameters()
        strangeness, n_features = self._strangeness, self.n_features_in_
        for model in (strangeness.classifier, strangeness.evidence):
            fields.check_features(model, n_features)
        for name in ("center", "unit"):
            check_shape(name, getattr(strangeness, name), (n_features,))
        check_shape("whitening", strangeness.whitening, (n_features, n_features))
        check_shape("references", self._references, (len(self._scores), len(CRITERIA)))
        check_shape("weights", self._weights, (len(CRITERIA),))
        n_samples = len(strangeness.spacing)
        for tree in (strangeness.samples, strangeness.whitened):
            check_shape("rows", tree.samples, (n_samples, n_features))
        if not n_samples or not len(self._scores) or (np.diff(self._references, axis=0) < 0).any():
            raise ValueError("its usual scores must exist, in ascending order")
        sets = predicted_partition(strangeness.classifier, np.zeros((1, n_features))).focal_sets
        names = [str(label) for label in self.classes_]
        if sets.frame_size != len(names) or sets.with_names(names) != self.focal_sets_:
            raise ValueError("its classifier does not match classes_")


def _split_parts(codes: IntArray, n_parts: int, random: np.random.RandomState) -> IntArray:
    """Return the part of each sample; parts are stratified and of equal size."""
    order = random.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    parts = np.empty(len(codes), dtype=np.intp)
    parts[order] = np.arange(len(codes)) % n_parts
    return parts


def _choose_rehearsals(codes: IntArray, random: np.random.RandomState) -> IntArray:
    """Return the classes that play the unseen class: at most 10, with enough samples, if 2 others remain."""
    large = np.flatnonzero(np.bincount(codes) >= _MIN_SAMPLES)
    return random.permutation(large)[:_MAX_REHEARSALS] if len(large) > 2 else large[:0]


def _check_classes(codes: IntArray, training_masks: list[BoolArray]) -> None:
    """Raise if a part of the training samples would be compared with a single class."""
    if any(len(np.unique(codes[mask])) < 2 for mask in training_masks):
        raise ValueError(
            "y must have at least 2 classes with 2 or more distinct samples each: some samples would be "
            "compared with a single class. Add samples, or remove classes with 1 sample."
        )


def _score_held_out(
    classifier: Any, data: FloatArray, codes: IntArray, train: BoolArray, test: BoolArray
) -> FloatArray:
    """Fit to some samples, and return the strangeness of others."""
    return Strangeness.fit(classifier, data[train], codes[train]).score(data[test])


def _rehearsal(scores: FloatArray, is_unseen: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return the surprisal of samples of the unseen class and of the others."""
    references = np.sort(scores[~is_unseen], axis=0)
    return surprisal(scores[is_unseen], references), surprisal(scores[~is_unseen], references, are_included=True)
