"""Conformal sets of classes around any classifier, with rejection at a given risk."""

import inspect
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from evlearn.belief import pignistic
from evlearn.classify.base import EvidentialClassifier
from evlearn.classify.labels import Labels, check_same_samples, read_labels
from evlearn.cluster.base import with_seed
from evlearn.conformal.class_scores import ClassScores, aps_scores, beliefs, lac_scores, row_order, row_uniforms
from evlearn.conformal.nested_sets import columns_of, project_masses, shorten_contour
from evlearn.conformal.selective_risk import SelectiveRisk
from evlearn.partition import CredalPartition
from evlearn.partition.credal_partition import REJECTED, of_classes
from evlearn.partition.estimators import predicted_partition, predicts_masses, split_pipeline, with_names_of
from evlearn.partition.predictions import decisions_as_classes
from evlearn.storage import fields
from evlearn.utils.convergence import atomic_fit
from evlearn.utils.parallel import one_blas_thread
from evlearn.utils.reading import read_table, select_rows
from evlearn.utils.typing import BoolArray, ClassifierLike, FloatArray, IntArray, RandomSeed
from evlearn.utils.validation import check_choice, check_flag, check_integer, check_real


class _Calibration(NamedTuple):
    """Samples that a model was not fitted to, and its support of their classes."""

    samples: IntArray
    support: FloatArray


@fields.stored
class ConformalClassifier(EvidentialClassifier):
    """Conformal sets of classes, around any classifier.

    Each set contains the class of a new sample with a probability of `confidence_level`, for any classifier and
    any distribution of the data. Scores of calibration samples, which the classifier was not fitted to, determine
    how much support a class needs to be in a set. A sample with one class in its set is sure, one with several
    classes is torn between them, and one without classes is unlike the samples of all classes.

    Parameters
    ----------
    estimator : classifier
        Classifier of evlearn or scikit-learn with probabilities, or a pipeline that ends in one. Clones of it are
        fitted. A fitted classifier in `sklearn.frozen.FrozenEstimator` is not fitted again, and all samples are
        used for calibration.
    confidence_level : float, default=0.9
        Probability that a set contains the class of a sample, at least 0.5 and below 1.
    conformity_score : {"lac", "aps"}, default="lac"
        "lac" includes all classes with at least a certain support, which leads to the smallest sets on average.
        "aps" includes the best classes until they have a certain total support, so that samples in doubt have
        larger sets. It is randomized by numbers that depend only on the sample and `random_state`.
    per_class : bool, default=False
        Whether the confidence level holds for the samples of each class, and not only for all samples together.
    cv : int or float, default=10
        Calibration samples. An int is the number of folds: each sample is compared by a classifier fitted to the
        other folds, and the final classifier is fitted to all samples. A float is the share of samples that are
        used for calibration only. It is not used with a `FrozenEstimator`.
    n_jobs : int or None, default=None
        Number of parallel jobs. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds and of "aps". It is also passed to classifiers without a seed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes.
    estimator_ : classifier
        Fitted classifier, which determines `predict` and `predict_proba`.
    focal_sets_ : FocalSets
        Focal sets of the masses. They are all sets for up to 6 classes. For more, they are the empty set, the
        single classes, the set of all classes, and the sets that occur among the calibration samples.
    n_calibration_ : int
        Number of calibration samples.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X has names.

    See Also
    --------
    UnseenClassDetector : Classifier that detects unseen classes; conformal sets around it are empty for these.
    ConformalClusterer : Conformal sets of clusters.

    Notes
    -----
    The p-value of a class is the share of calibration samples whose label has at least the score of the class.
    With a `FrozenEstimator` or a share of calibration samples, the set of a new sample contains its class with a
    probability of at least `confidence_level`, and of at most 1 / (n + 1) more if no scores are equal, for any
    number n of exchangeable calibration samples. With ``per_class=True`` this holds for the samples of each class.
    With folds there is no such proof, because the final classifier is fitted to more samples; the coverage was
    measured. The probability is an average over samples and fits.

    Soft labels: sets of classes count with their largest score. If they contain the true class, so do conformal
    sets with the same guarantee. A mass function counts as such sets with the probabilities of their masses; the
    guarantee is then proven for 1 - 2a instead of a level of 1 - a, and the coverage was close to 1 - a or above
    it in simulations. If a share e of crisp labels is wrong, true classes are in the sets with a probability of
    at least 1 - a - e. A classifier without soft labels is fitted to the most probable class of each sample.

    Missing values are passed to the classifier, which must accept them, like pipelines with an imputer. The
    guarantee is for all samples together. Samples with many missing values may be covered less often than others.

    References
    ----------
    Vovk et al. (2022), Sadinle et al. (2019) for "lac", Romano et al. (2020) for "aps",
    and Angelopoulos et al. (2025) for `decide_at_risk`.

    - Vovk et al. (2022), Algorithmic learning in a random world, Springer,
      doi:10.1007/978-3-031-06649-8.
    - Sadinle et al. (2019), Least ambiguous set-valued classifiers with bounded error
      levels, Journal of the American Statistical Association 114,
      doi:10.1080/01621459.2017.1395341.
    - Romano et al. (2020), Classification with valid and adaptive coverage, Advances in
      Neural Information Processing Systems, doi:10.48550/arXiv.2006.02544.
    - Angelopoulos et al. (2025), Learn then test: calibrating predictive algorithms to
      achieve risk control, The Annals of Applied Statistics 19,
      doi:10.1214/24-AOAS1998.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from evlearn.conformal import ConformalClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> regression = make_pipeline(StandardScaler(), LogisticRegression())
    >>> model = ConformalClassifier(regression, random_state=0).fit(X[::2], y[::2])
    >>> sets = model.predict_set(X[1::2], confidence_level=0.95)
    >>> bool(sets[range(89), y[1::2]].mean() > 0.9)
    True
    """

    estimator_: fields.Stored[Annotated[Any, fields.predictor, fields.NESTED]]
    _references: fields.Stored[ClassScores]
    _selective_risk: fields.Stored[SelectiveRisk]
    _hash_seed: fields.Stored[Annotated[int, fields.whole()]]
    n_calibration_: fields.Stored[fields.PositiveCount]

    def __init__(
        self,
        estimator: ClassifierLike,
        confidence_level: float = 0.9,
        *,
        conformity_score: Literal["lac", "aps"] = "lac",
        per_class: bool = False,
        cv: float = 10,
        n_jobs: int | None = None,
        random_state: RandomSeed = None,
    ) -> None:
        self.estimator: Any = estimator
        self.confidence_level = confidence_level
        self.conformity_score = conformity_score
        self.per_class = per_class
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def _takes_gaps(self) -> bool:
        return bool(get_tags(self.estimator).input_tags.allow_nan)

    @atomic_fit
    def fit(self, X: ArrayLike, y: ArrayLike | CredalPartition) -> Self:
        """Fit the classifier, and calibrate its sets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples; a frame is passed to the classifier unchanged.
        y : array-like of shape (n_samples,) or (n_samples, n_classes), or CredalPartition
            Their classes, of any type; plausibilities of the classes, such as sets of classes as rows of 0 and 1;
            or mass functions, for soft labels.

        Returns
        -------
        ConformalClassifier
            The fitted estimator.
        """
        self._check_parameters()
        data = read_table(self, X, reset=True)
        check_same_samples(y, X)
        labels = read_labels(y, data, type(self).__name__)
        random = check_random_state(self.random_state)
        self._hash_seed = int(random.randint(np.iinfo(np.int32).max))
        estimator: Any = self.estimator
        if isinstance(estimator, FrozenEstimator):
            self.estimator_ = estimator.estimator
            labels = _with_classes(labels, split_pipeline(self.estimator_)[1].classes_)
            self.classes_ = labels.classes
            support = self._support(self.estimator_, data)
            calibration = _Calibration(np.arange(len(support)), support)
        else:
            self.classes_ = labels.classes
            calibration = self._fit_and_calibrate(data, labels, random)
        self._publish(
            select_rows(data, calibration.samples), labels.take(calibration.samples), calibration.support
        )
        return self

    def predict_p_values(self, X: ArrayLike) -> FloatArray:
        """Predict the p-values of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Share of calibration samples, including the new sample, whose labels have at least the conformity score
            of the class. If the samples come from the distribution of the training samples, the p-value of the
            true class is at most a with a probability of at most a.
        """
        data = self._read_fitted(X)
        return self._p_values(data, self._support(self.estimator_, data))

    def predict_set(  # type: ignore[override]
        self, X: ArrayLike, *, confidence_level: float | None = None
    ) -> BoolArray:
        """Predict the set of classes that each sample may belong to.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        confidence_level : float or None, default=None
            Confidence level of the sets, above 0 and below 1. None means `confidence_level` of the estimator.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_classes)
            True for the classes in the set, whose p-values are above 1 - `confidence_level`. A set without classes
            means that the sample is unlike the samples of all classes. If the classifier is right more often than
            `confidence_level`, these are the samples with the least support.
        """
        level = self.confidence_level if confidence_level is None else confidence_level
        _check_confidence_level(level, 0)
        return np.asarray(self.predict_p_values(X) > _significance(level))

    def predict_mass(self, X: ArrayLike) -> CredalPartition:
        """Predict the mass functions of samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        CredalPartition
            Consonant masses. The plausibility of a class is its p-value, except that the class with the largest
            p-value has a plausibility of 1. Samples with an empty set at the `confidence_level` of the estimator
            have at least half of their mass on the empty set. The verdict at this level is `predict_set`, except
            for more than 6 classes: the mass of a set that did not occur in `fit` goes to a larger set.
        """
        partition = CredalPartition.from_possibilistic(shorten_contour(self._contour(self.predict_p_values(X))))
        masses = project_masses(self.focal_sets_, partition).masses
        return with_names_of(X, of_classes(CredalPartition(masses, self.focal_sets_, validate=False)))

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Predict probabilities of the classes by `estimator_`, without calibration.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`.
        """
        data = self._read_fitted(X)
        with one_blas_thread():
            probabilities = predicted_partition(self.estimator_, data).to_fuzzy()
        return _extend(probabilities, self.estimator_, self.classes_)

    def decide_at_risk(
        self,
        X: ArrayLike,
        risk: float = 0.05,
        *,
        confidence_level: float | None = None,
        rejected_label: object = "refused",
    ) -> npt.NDArray[Any]:
        """Return the classes of samples, and reject as many that few of the other samples have a wrong class.

        With a probability of at least `confidence_level` over the calibration samples, at most the share `risk` of
        all accepted samples of the same distribution has another class. This is proven if `cv` is a share or the
        estimator is frozen, and if samples with less support are not right more often than others; with folds it
        was measured. If so few errors cannot be shown, for example with too few samples, all samples are rejected.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        risk : float, default=0.05
            Largest share of errors among the accepted samples, above 0 and at most 1.
        confidence_level : float or None, default=None
            Probability that the share of errors is at most `risk`. None means `confidence_level` of the estimator.
        rejected_label : object, default="refused"
            Label of rejections; it must differ from all classes.

        Returns
        -------
        ndarray of shape (n_samples,)
            Classes with the largest support, and `rejected_label`; an array of objects if these have different
            types, such as numbers and text.
        """
        level = self.confidence_level if confidence_level is None else confidence_level
        _check_confidence_level(level, 0)
        check_real("risk", risk, 0, 1, open_low=True)
        support = self._support(self.estimator_, self._read_fitted(X))
        is_accepted = support.max(axis=1) > self._selective_risk.threshold(risk, level)
        decisions = np.where(is_accepted, support.argmax(axis=1), REJECTED)
        return decisions_as_classes(decisions, self.classes_, rejected_labels=[rejected_label], unknown_labels=[])

    # Fit

    def _check_parameters(self) -> None:
        classifier = split_pipeline(self.estimator)[1]
        is_classifier = hasattr(classifier, "predict_proba") or predicts_masses(self.estimator)
        if inspect.isclass(self.estimator) or not is_classifier:
            raise TypeError(
                f"estimator must have predict_proba or predict_mass, got {self.estimator!r}; for classifiers "
                "without probabilities, use sklearn.calibration.CalibratedClassifierCV."
            )
        _check_confidence_level(self.confidence_level, 0.5)
        check_choice("conformity_score", self.conformity_score, ("lac", "aps"))
        check_flag("per_class", self.per_class)
        if _is_share(self.cv):
            check_real("cv", self.cv, 0, 1, open_low=True)
        else:
            check_integer("cv", self.cv, 2)

    def _fit_and_calibrate(self, data: Any, labels: Labels, random: np.random.RandomState) -> _Calibration:
        codes = labels.plausibilities().argmax(axis=1) if labels.codes is None else labels.codes
        estimator = with_seed(clone(self.estimator), random)
        targets = _targets(estimator, labels)
        order, is_split = row_order(data, codes), _is_share(self.cv)
        if is_split:
            parts = [order[random.permutation(len(codes))][: round(self.cv * len(codes))]]
        else:
            parts = [order[part] for part in _folds(codes[order], int(self.cv), random)]
        trainings = [np.setdiff1d(np.arange(len(codes)), part) for part in parts]
        if not all(map(len, parts)) or any(len(np.unique(codes[rows])) < 2 for rows in trainings):
            raise ValueError(
                f"y must have at least 2 classes with 2 or more samples for cv={self.cv!r}, got n_samples = "
                f"{len(codes)} in {len(np.unique(codes))} classes: all parts of the training samples must have "
                "several classes, and at least 1 calibration sample. Add samples, or change cv."
            )
        models = Parallel(self.n_jobs)(delayed(_fitted)(estimator, data, targets, rows) for rows in trainings)
        support = [
            self._support(model, select_rows(data, part)) for model, part in zip(models, parts, strict=True)
        ]
        self.estimator_ = models[0] if is_split else clone(estimator).fit(data, targets)
        return _Calibration(np.concatenate(parts), np.vstack(support))

    def _publish(self, data: Any, labels: Labels, support: FloatArray) -> None:
        scores = self._scores(data, support)
        self._references = ClassScores.of(scores, labels, per_class=self.per_class)
        best = support.argmax(axis=1)
        self._selective_risk = SelectiveRisk.of(support.max(axis=1), _possible_errors(labels, best))
        self.n_calibration_ = len(support)
        partition = CredalPartition.from_possibilistic(
            shorten_contour(self._contour(self._references.p_values(scores)))
        )
        self.focal_sets_ = columns_of(partition).with_names(labels.names)

    # Predictions

    def _read_fitted(self, X: Any) -> Any:
        check_is_fitted(self)
        return read_table(self, X, reset=False)

    def _support(self, model: Any, X: Any) -> FloatArray:
        """Return the pignistic probabilities of classes, times 1 minus the mass on the empty set."""
        with one_blas_thread():
            partition = predicted_partition(model, X)
        masses = np.asarray(partition.masses, dtype=np.float64)
        support = pignistic(masses, partition.focal_sets) * (1 - masses[:, :1])
        return _extend(support, model, self.classes_)

    def _scores(self, X: Any, support: FloatArray) -> FloatArray:
        if self.conformity_score == "lac":
            return lac_scores(support)
        return aps_scores(support, row_uniforms(X, self._hash_seed))

    def _p_values(self, X: Any, support: FloatArray) -> FloatArray:
        return self._references.p_values(self._scores(X, support))

    def _contour(self, p_values: FloatArray) -> FloatArray:
        """Return plausibilities: p-values, with 1 for the largest, and at most 0.5 if all are too small."""
        significance = _significance(self.confidence_level)
        largest = p_values.max(axis=1, keepdims=True)
        return np.where(
            largest > significance,
            np.where(p_values == largest, 1, p_values),
            p_values / (2 * significance),
        )

    def _after_loading(self) -> None:
        """Raise unless the attributes from a file are consistent."""
        super()._after_loading()
        self._check_parameters()
        fields.check_features(self.estimator_, self.n_features_in_)
        n_classes = len(self.classes_)
        if self.focal_sets_.frame_size != n_classes or not len(self.focal_sets_.with_omega()) == len(
            self.focal_sets_
        ):
            raise ValueError("its sets must include the set of all classes_")
        if self._references.n_groups != (n_classes if self.per_class else 1):
            raise ValueError("its scores must have a group for each class if per_class is true, or else 1 group")
        if len(self._selective_risk.doubts) != len(self._selective_risk.errors) or not self.n_calibration_:
            raise ValueError("its calibration samples must have a confidence and an error each")
        if not np.isin(split_pipeline(self.estimator_)[1].classes_, self.classes_).all():
            raise ValueError("its classifier has classes that are not in classes_")


def _check_confidence_level(value: Any, low: float) -> None:
    check_real("confidence_level", value, low, 1, open_low=low == 0)
    if value == 1:
        raise ValueError("confidence_level must be below 1, because only sets of all classes are always right.")


def _significance(confidence_level: float) -> float:
    """Return 1 - `confidence_level`, with a margin for rounding errors."""
    return 1 - confidence_level + 1e-12


def _is_share(cv: Any) -> bool:
    return isinstance(cv, (float, np.floating))


def _fitted(estimator: Any, data: Any, targets: Any, rows: IntArray) -> Any:
    return clone(estimator).fit(select_rows(data, rows), targets[rows])


def _folds(codes: IntArray, n_folds: int, random: np.random.RandomState) -> list[IntArray]:
    """Return the samples of each fold; folds are stratified and of equal size."""
    order = random.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    return [order[k::n_folds] for k in range(n_folds)]


def _targets(estimator: Any, labels: Labels) -> Any:
    """Return the labels that a classifier is fitted to: soft ones only if it is evidential."""
    if labels.codes is not None:
        return labels.classes[labels.codes]
    if predicts_masses(estimator):
        return labels.partition
    return labels.classes[labels.targets(1 / len(labels.classes)).argmax(axis=1)]


def _with_classes(labels: Labels, classes: npt.NDArray[Any]) -> Labels:
    """Return labels in terms of the classes of a fitted classifier."""
    if labels.codes is not None:
        positions = {label: k for k, label in enumerate(classes.tolist())}
        unknown = [label for label in labels.classes.tolist() if label not in positions]
        if unknown:
            raise ValueError(f"y has classes that estimator was not fitted to: {unknown}; remove their samples.")
        codes = np.array([positions[label] for label in labels.classes.tolist()], dtype=np.intp)
        return Labels(classes, codes[labels.codes])
    assert labels.partition is not None
    names = labels.partition.focal_sets.names
    if len(classes) != len(labels.classes) or (names is not None and list(names) != [str(k) for k in classes]):
        raise ValueError(
            f"y must have the classes of estimator in the same order, {list(classes)}, got {list(labels.classes)}."
        )
    return Labels(classes, None, labels.partition)


def _extend(values: FloatArray, model: Any, classes: npt.NDArray[Any]) -> FloatArray:
    """Add columns of 0 for classes that a model was not fitted to."""
    columns = split_pipeline(model)[1].classes_
    if len(columns) == len(classes):
        return values
    results = np.zeros((len(values), len(classes)))
    results[:, np.searchsorted(classes, columns)] = values
    return results


def _possible_errors(labels: Labels, best: IntArray) -> FloatArray:
    """Return the plausibility that each label is not the best class."""
    if labels.codes is not None:
        return np.asarray(labels.codes != best, dtype=np.float64)
    certain = beliefs(labels)[np.arange(len(best)), best]
    return np.asarray(np.clip(1 - certain, 0, 1))
