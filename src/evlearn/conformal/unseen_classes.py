"""UnseenClassDetector: is a new sample of a class that nobody has seen? With a rate of false alarms to choose."""

from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from scipy.stats import mannwhitneyu
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from evlearn.classify import EvidentialForestClassifier
from evlearn.classify.base import EvidentialClassifier
from evlearn.classify.distinct_rows import distinct_rows
from evlearn.cluster.base import with_seed
from evlearn.conformal.strangeness import QUESTIONS, Strangeness, surprise, too_far, weigh_questions
from evlearn.partition.estimators import predicted_partition
from evlearn.utils.chunks import row_blocks
from evlearn.utils.convergence import whole_or_nothing
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.typing import BoolArray, ClassifierLike, FloatArray, IntArray, RandomSeed
from evlearn.utils.validation import check_integer, check_real

#: At most so many classes play the unseen one, those with at least so many samples.
_MOST_REHEARSALS, _FEWEST = 10, 5
#: Trees that say what they have seen, undivided in what they mean: the detector itself asks what is far away.
_FOREST = EvidentialForestClassifier(min_samples_split=2, n_witnesses=1, reach=None)


class UnseenClassDetector(EvidentialClassifier):
    """A classifier that notices samples of classes it was never shown.

    A sample is compared with the training samples: how far it is from them, how much they say about it, and how
    much doubt the classifier has. Which of these questions count is rehearsed: each class plays the unseen one
    in turn, and the others are learned without it. The answer is a p-value. If all training samples and the new
    one come from the same source, a p-value of 0.05 or less happens in about 5 % of all cases, whatever the data
    are.

    Parameters
    ----------
    estimator : classifier or None, default=None
        A classifier with probabilities, ours or scikit-learn's, or a pipeline that ends in one. Clones of it
        are fitted. None: an `EvidentialForestClassifier` with whole trees, without witnesses and reach.
    false_alarm_rate : float, default=0.05
        The share of samples of known classes that may be taken for unseen ones.
    cv : int, default=10
        The number of parts that the training samples are divided into. The samples of each are judged by what is
        learned from the others. Equal samples are in the same part.
    n_jobs : int or None, default=None
        How many fits are made at the same time. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        The seed of the parts, and of classifiers that have none of their own.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    focal_sets_ : FocalSets
        The sets that carry mass.
    estimator_ : classifier
        The classifier, fitted to all samples.
    weights_ : dict of str to float
        How much each question counts, with the sum 1.
    n_rehearsals_ : int
        How many classes have played the unseen one. With fewer than three classes of five samples there is no
        rehearsal, and all questions count alike.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str
        The names of the features, where X has any.

    See Also
    --------
    EvidentialForestClassifier : Samples far from all others have mass on all classes, without a rate of alarms.
    ConformalClusterer : The same promise about clusters.

    Notes
    -----
    The p-value is the share of training samples that are at least as strange as the new sample, each judged by
    what was learned without its part. What is more than twice as far from all training samples as any of them is
    the strangest, whatever else is said. The questions are the distance to the nearest training sample; to the
    nearest three, in units of the covariance within classes; the latter beside distances that are usual in that
    place; the mass that five neighbours leave to all classes; the doubt of the classifier, one minus its largest
    probability; and the entropy of its probabilities. Each answer becomes a share in the same way. Minus their
    logarithms are added with the weights.

    Copies of training samples, for example of an oversampled class, are learned from by the classifier, but
    p-values and distances count each distinct sample once. In data with few distinct samples, such as answers to a
    few questions, the rate of false alarms may be well below `false_alarm_rate`.

    References
    ----------
    Vovk (2015) for p-values across parts; Denœux (1995) for what neighbours say.

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

    @whole_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn the classes, rehearse, and see how strange samples of known classes may be.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training samples.
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
            raise ValueError("y must be one class for each sample here; labels with doubt cannot be rehearsed.")
        codes, random = labels.codes, check_random_state(self.random_state)
        classifier = with_seed(clone(_FOREST if self.estimator is None else self.estimator), random)
        first, places = distinct_rows(data)
        self._check_size(len(first), len(data))
        part = _parts(codes[first], self.cv, random)[places]
        strangers = _rehearsed(codes[first], random)
        learned = [(codes != k) & (part != at % self.cv) for at, k in enumerate(strangers)]
        learned += [part != at for at in range(self.cv)]
        _check_classes(codes, learned)
        once = np.zeros(len(data), dtype=bool)
        once[first] = True
        found = Parallel(self.n_jobs)(
            delayed(_left_out)(classifier, data, codes, known, once & ~known) for known in learned
        )
        rehearsals = [
            _rehearsal(others, codes[once & ~known] == k)
            for others, known, k in zip(found, learned, strangers, strict=False)
        ]
        self._weights = weigh_questions(rehearsals)
        self.n_rehearsals_ = len(rehearsals)
        self._strangeness = Strangeness.learn(classifier, data, codes)
        left_out = np.vstack(found[len(strangers) :])
        self._usual = np.sort(left_out, axis=0)
        self._scores = np.sort(surprise(left_out, self._usual, among=True) @ self._weights)
        self.focal_sets_ = predicted_partition(self.estimator_, data[:1]).focal_sets.with_names(labels.names)
        return self

    @property
    def estimator_(self) -> ClassifierLike:
        """The classifier, fitted to all samples."""
        found: ClassifierLike = self._strangeness.classifier
        return found

    @property
    def weights_(self) -> dict[str, float]:
        """How much each question counts, with the sum 1."""
        return dict(zip(QUESTIONS, self._weights.tolist(), strict=True))

    def p_values(self, X: ArrayLike) -> FloatArray:
        """The shares of samples of known classes that are at least as strange.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            From 1 / (n + 1) for n distinct training samples to 1. Small ones speak for a class never seen.
        """
        check_is_fitted(self)
        numbers = self._read(X, reset=False)
        with one_blas_thread():
            return np.concatenate([self._compare(numbers.data[rows]) for rows in row_blocks(len(numbers.data))])

    def is_unseen(self, X: ArrayLike) -> BoolArray:
        """Whether samples are too strange to be of a known class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of bool of shape (n_samples,)
            True for about the share `false_alarm_rate` of samples of known classes, and for as many others as can
            be found. The verdicts of `predict_mass` call the same samples outliers.
        """
        return np.asarray(self.p_values(X) <= self.false_alarm_rate)

    def shift_p_value(self, X: ArrayLike) -> float:
        """Has something changed? Whether samples are stranger, on the whole, than the training samples were.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples, of one day or one machine, say. They should not depend on each other.

        Returns
        -------
        float
            The p-value of the test of Mann and Whitney on `p_values`: small if samples are stranger than before.
        """
        found = self.p_values(X)
        n_samples = len(self._scores)
        usual = np.arange(1, n_samples + 1) / (n_samples + 1)
        return float(mannwhitneyu(found, usual, alternative="less").pvalue)

    def _check_parameters(self) -> None:
        check_real("false_alarm_rate", self.false_alarm_rate, 0, 0.5, open_low=True)
        check_integer("cv", self.cv, 2)

    def _check_size(self, n_distinct: int, n_samples: int) -> None:
        if n_distinct < self.cv:
            raise ValueError(
                f"cv={self.cv} needs at least {self.cv} distinct samples, got {n_distinct} among n_samples = "
                f"{n_samples}: give more samples or a smaller cv."
            )

    def _compare(self, rows: FloatArray) -> FloatArray:
        strange = self._strangeness.of(rows)
        scores = surprise(strange, self._usual) @ self._weights
        scores[too_far(strange, self._usual)] = np.inf
        # Sums of the same numbers may differ in the last digit.
        stranger = len(self._scores) - np.searchsorted(self._scores, scores * (1 - 1e-12))
        return np.asarray((1 + stranger) / (1 + len(self._scores)))

    def _masses(self, rows: FloatArray) -> FloatArray:
        known = np.minimum(self._compare(rows) / (2 * self.false_alarm_rate), 1)[:, None]
        masses = predicted_partition(self.estimator_, rows).masses * known
        masses[:, 0] += 1 - known[:, 0]  # half of it, at the rate of false alarms
        return np.asarray(masses)


def _parts(codes: IntArray, n_parts: int, random: np.random.RandomState) -> IntArray:
    """The part of each sample: equal ones, in each of which all classes have their share."""
    order = random.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    part = np.empty(len(codes), dtype=np.intp)
    part[order] = np.arange(len(codes)) % n_parts
    return part


def _rehearsed(codes: IntArray, random: np.random.RandomState) -> IntArray:
    """The classes that play the unseen one: not too many, of some samples each, and two others are left."""
    large = np.flatnonzero(np.bincount(codes) >= _FEWEST)
    return random.permutation(large)[:_MOST_REHEARSALS] if len(large) > 2 else large[:0]


def _check_classes(codes: IntArray, learned: list[BoolArray]) -> None:
    """Raise if a part of the training samples is to be judged by samples of a single class."""
    if any(len(np.unique(codes[known])) < 2 for known in learned):
        raise ValueError(
            "y must have at least 2 classes with 2 or more distinct samples each: some samples would be judged by "
            "samples of a single class. Add samples, or leave out classes with 1 sample."
        )


def _left_out(
    classifier: Any, data: FloatArray, codes: IntArray, known: BoolArray, asked: BoolArray
) -> FloatArray:
    """Return how strange some samples are if only others are known."""
    return Strangeness.learn(classifier, data[known], codes[known]).of(data[asked])


def _rehearsal(others: FloatArray, strangers: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Surprise at the strangers among the others, and at the rest of them."""
    usual = np.sort(others[~strangers], axis=0)
    return surprise(others[strangers], usual), surprise(others[~strangers], usual, among=True)


__all__ = ["UnseenClassDetector"]
