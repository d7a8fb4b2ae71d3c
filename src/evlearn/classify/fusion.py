"""Fusion of classifiers or sensors by Dempster's rule, with learned reliabilities and foreign views."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from evlearn.belief import (
    FocalSets,
    commonality,
    contextual_discount,
    contour,
    discount,
    expand_masses,
    masses_from,
    normalize,
    reorder_masses,
)
from evlearn.classify.base import EvidentialClassifier
from evlearn.classify.conflict import ForeignViews, class_shares, evidence_of
from evlearn.classify.labels import Labels, check_same_samples, read_labels
from evlearn.partition import CredalPartition
from evlearn.partition.credal_partition import of_classes
from evlearn.partition.estimators import predicted_partition, predicts_masses, split_pipeline, with_names_of
from evlearn.storage import fields
from evlearn.utils.chunks import row_blocks
from evlearn.utils.convergence import atomic_fit
from evlearn.utils.reading import read_table, select_rows
from evlearn.utils.typing import BoolArray, ClassifierLike, FloatArray, IntArray
from evlearn.utils.validation import (
    check_choice,
    check_integer,
    check_shape,
)

#: Maximum number of classes for masses on all sets.
_MAX_CLASSES = 12
_BLOCK = 1 << 20  # maximum number of masses per block
_START, _TINY = 0.9, 1e-6
#: Penalty on squared doubt in a member, so that a redundant member keeps its influence if the others fail.
_PENALTY = 0.02


def _member(location: str, value: object) -> None:
    if not (predicts_masses(value) and hasattr(split_pipeline(value)[1], "classes_")):
        raise ValueError(f"{location} must be an evidential classifier")


@fields.stored
class FusionClassifier(EvidentialClassifier):
    """Several classifiers or sensors combined by Dempster's rule, each discounted by its reliability.

    Members may use different features: start the pipeline of each member with a transformer that selects its
    columns. The reliability of a member, for each class, is learned out of fold. Far from their training data,
    evidential classifiers have mass on all classes, and so have no influence. A member that cannot handle missing
    values is ignored for samples that contain them. If members contradict each other, those that disagree with
    the others have less influence: this is learned from training samples in which the outputs of some members are
    taken from another sample. `conflict` and `discord` return the samples and members concerned.

    Parameters
    ----------
    estimators : list of (str, estimator)
        Members, with their names: evidential classifiers, scikit-learn classifiers with ``predict_proba``, or
        pipelines that end in one. Clones of them are fitted.
    discounting : {"contextual", "plain"} or None, default="contextual"
        Type of reliabilities: one for each class, one for all classes, or None for no discounting. "contextual"
        is limited to 12 classes. Without discounting, conflict is not modeled.
    cv : int, default=5
        Number of folds to learn reliabilities.

    Attributes
    ----------
    reliabilities_ : ndarray of shape (n_estimators, n_classes)
        Reliabilities from 0, if evidence of the member against the class is ignored, to 1, if it is fully used.
    estimators_ : list of estimators
        Fitted members.
    classes_ : ndarray of shape (n_classes,)
        Classes.
    focal_sets_ : FocalSets
        Focal sets.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X has names.

    See Also
    --------
    evlearn.belief.contextual_discount : Discounting of the masses of a member.

    Notes
    -----
    If b is the reliability of a member for a class, the plausibility p of the class becomes 1 - b(1 - p). The
    reliabilities of all members jointly minimize the log-loss of the combined output out of fold, with a small
    penalty on low reliabilities. The paper minimizes the squared error of each source; this assigns too low
    reliabilities to all but the best of several similar members.

    Masses are a mixture of 2 combinations: one with these reliabilities, and one in which each view may be
    *foreign*, that is, may belong to another sample. In the latter, the probability of a class, divided by the
    share of the class, is calibrated and discounted by a rate for each member. These rates, and the weights of the
    combinations, which depend on the agreement of the members, minimize the log-loss if from none to half of
    the views of a sample are exchanged within the folds.

    References
    ----------
    Mercier et al. (2008) for contextual discounting.

    - Mercier et al. (2008), Refined modeling of sensor reliability in the belief
      function framework using contextual discounting, Information Fusion 9,
      doi:10.1016/j.inffus.2006.08.001.

    Examples
    --------
    >>> from sklearn.compose import make_column_transformer
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from evlearn.classify import EvidentialKNNClassifier, FusionClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> def sensor(columns):
    ...     return make_pipeline(
    ...         make_column_transformer((StandardScaler(), columns)),
    ...         EvidentialKNNClassifier(),
    ...     )
    >>> members = [("acids", sensor([1, 2, 3])), ("color", sensor([9, 10, 11]))]
    >>> model = FusionClassifier(members).fit(X, y)
    >>> model.reliabilities_.shape
    (2, 3)
    >>> bool(model.score(X, y) > max(member.score(X, y) for member in model.estimators_))
    True
    """

    estimators_: fields.Stored[Annotated[list[Any], fields.list_of(_member, min_length=1), fields.NESTED]]
    reliabilities_: fields.Stored[Annotated[FloatArray, fields.array(2, low=0, high=1)]]
    _foreign: fields.StoredIfSet[ForeignViews | None]

    _takes_gaps = True

    def __init__(
        self,
        estimators: Sequence[tuple[str, ClassifierLike]],
        *,
        discounting: Literal["contextual", "plain"] | None = "contextual",
        cv: int = 5,
    ) -> None:
        self.estimators = estimators
        self.discounting = discounting
        self.cv = cv

    @atomic_fit
    def fit(self, X: ArrayLike, y: ArrayLike | CredalPartition) -> Self:
        """Fit the members, and learn their reliabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples; a frame is passed to the members unchanged.
        y : array-like of shape (n_samples,) or (n_samples, n_classes), or CredalPartition
            Their classes, of any type; plausibilities of the classes; or mass functions, for soft labels, if all
            members accept them.

        Returns
        -------
        FusionClassifier
            The fitted estimator.
        """
        members = self._check_members()
        data = read_table(self, X, reset=True)
        check_same_samples(y, X)
        labels = read_labels(y, data, type(self).__name__)
        if labels.codes is None and not all(predicts_masses(member) for member in members):
            raise ValueError(
                "y contains soft labels, which only evidential classifiers accept; use evidential members."
            )
        self.classes_ = labels.classes
        if self.discounting == "contextual" and len(self.classes_) > _MAX_CLASSES:
            raise ValueError(
                f"discounting='contextual' is limited to {_MAX_CLASSES} classes, got "
                f"{len(self.classes_)}; use discounting='plain'."
            )
        targets = labels.classes[labels.codes] if labels.codes is not None else labels.partition
        self.reliabilities_, self._foreign = self._learn(members, data, targets, labels)
        self.estimators_ = [clone(member).fit(data, targets) for member in members]
        self.focal_sets_ = self._family(data)
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, and with ``deep`` the members by name and their parameters.

        Parameters
        ----------
        deep : bool, default=True
            If True, include the members, and their parameters as ``name__parameter``.

        Returns
        -------
        dict
            Parameters by name.
        """
        parameters: dict[str, Any] = super().get_params(deep=False)
        for name, member in _named_members(self.estimators) if deep else ():
            parameters[name] = member
            parameters |= {f"{name}__{key}": value for key, value in member.get_params().items()}
        return parameters

    def set_params(self, **params: Any) -> Self:
        """Set parameters, replace members by name, or set parameters of members.

        Parameters
        ----------
        **params : dict
            Parameters, members by name, and ``name__parameter`` for parameters of members.

        Returns
        -------
        FusionClassifier
            The estimator.
        """
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        members = dict(_named_members(self.estimators))
        replaced = {name: params.pop(name) for name in members if name in params}
        if replaced:
            self.estimators = [(name, replaced.get(name, member)) for name, member in self.estimators]
        super().set_params(**params)
        return self

    def predict_mass(self, X: ArrayLike) -> CredalPartition:
        """Predict the combined mass functions of samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        CredalPartition
            Mass function of each sample. Mass on a single class supports it, mass on several classes means that
            one of them is right, and mass on all classes means ignorance.
        """
        partitions = self._predict_members(X)
        blocks = row_blocks(len(partitions[0]), max(1, _BLOCK // len(self.focal_sets_)))
        masses = np.concatenate([self._combine([partition[rows] for partition in partitions]) for rows in blocks])
        return with_names_of(X, of_classes(CredalPartition(masses, self.focal_sets_, validate=False)))

    def conflict(self, X: ArrayLike) -> FloatArray:
        """Return the conflict between members, for each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Probability that the view of at least one member is foreign, from 0 to 1, if foreign views are as
            frequent as in the exchanged training samples.
        """
        return self._foreign_views().conflict(self._evidence(X))

    def discord(self, X: ArrayLike) -> FloatArray:
        """Return the discord of each member with the other members, for each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_estimators)
            Probability that the view of the member is foreign, from 0 to 1. A member without evidence, for example
            because of missing values, has its rate of foreign views in the exchanged training samples.
        """
        return self._foreign_views().discord(self._evidence(X))

    def _foreign_views(self) -> ForeignViews:
        check_is_fitted(self)
        if self._foreign is None:
            raise ValueError(
                "discounting=None does not model conflict; use discounting='contextual' or 'plain', and fit again."
            )
        return self._foreign

    def _evidence(self, X: ArrayLike) -> FloatArray:
        return evidence_of(self._predict_members(X), self._foreign_views().shares)

    def _check_members(self) -> list[Any]:
        if self.discounting is not None:
            check_choice("discounting", self.discounting, ("contextual", "plain"))
        check_integer("cv", self.cv, 2)
        estimators: Any = self.estimators
        pairs = isinstance(estimators, (list, tuple)) and all(
            isinstance(pair, (list, tuple)) for pair in estimators
        )
        if not (pairs and all(len(pair) == 2 for pair in estimators)):
            raise ValueError(f"estimators must be pairs of a name and a classifier, got {self.estimators!r}.")
        names = [name for name, _ in self.estimators]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"estimators must have members with different names, got {names}.")
        parameters = self.get_params(deep=False)
        reserved = [name for name in names if "__" in str(name) or name in parameters]
        if reserved:
            raise ValueError(
                f"estimators must have names without '__' that are not parameters, got {reserved}; rename them."
            )
        for name, member in self.estimators:
            if not (predicts_masses(member) or hasattr(split_pipeline(member)[1], "predict_proba")):
                raise TypeError(f"the member {name!r} must have predict_mass or predict_proba, got {member!r}.")
        return [member for _, member in self.estimators]

    # Reliabilities

    def _learn(
        self, members: list[Any], X: Any, known_labels: Any, labels: Labels
    ) -> tuple[FloatArray, ForeignViews | None]:
        """Return reliabilities, and the model of foreign views."""
        shape = (len(members), len(self.classes_))
        if self.discounting is None:
            return np.ones(shape), None
        targets = labels.plausibilities()
        probabilities = targets / targets.sum(axis=1, keepdims=True)
        shares = class_shares(probabilities)
        plausibilities: FloatArray = np.ones((len(members), *targets.shape))
        evidence = np.ones_like(plausibilities)
        folds: IntArray = np.zeros(len(targets), dtype=np.intp)
        for fold, (train, test) in enumerate(self._folds(targets)):
            folds[test] = fold
            for number, member in enumerate(members):
                fitted = clone(member).fit(select_rows(X, train), known_labels[train])
                partition = self._predict_member(fitted, select_rows(X, test))
                plausibilities[number, test] = contour(partition.masses, partition.focal_sets)
                evidence[number, test] = evidence_of([partition], shares)[0]
        n_each = shape[1] if self.discounting == "contextual" else 1
        reliabilities = _fit_reliabilities(plausibilities, targets, n_each)
        discounted = np.maximum(1 - reliabilities[:, None] * (1 - plausibilities), _TINY)
        return reliabilities, ForeignViews.fit(evidence, discounted, probabilities, folds)

    def _folds(self, targets: FloatArray) -> Iterator[tuple[Any, Any]]:
        best = targets.argmax(axis=1)
        smallest = np.bincount(best)[np.unique(best)].min()
        splitter, max_splits = (KFold, len(best)) if smallest < 2 else (StratifiedKFold, int(smallest))
        yield from splitter(min(self.cv, max_splits), shuffle=True, random_state=0).split(best[:, None], best)

    # Predictions

    def _predict_members(self, X: ArrayLike) -> list[CredalPartition]:
        check_is_fitted(self)
        data = read_table(self, X, reset=False)
        return [self._predict_member(member, data) for member in self.estimators_]

    def _predict_member(self, member: Any, X: Any) -> CredalPartition:
        """Return the masses of a member on all classes; vacuous for samples with missing values it rejects."""
        gaps = _gaps(X)
        if gaps is None or not gaps.any():
            return self._extend(member, predicted_partition(member, X))
        patterns, numbers = np.unique(gaps, axis=0, return_inverse=True)
        parts: list[tuple[Any, CredalPartition]] = []
        for number, pattern in enumerate(patterns):
            rows = np.flatnonzero(numbers.ravel() == number)
            try:
                parts.append((rows, self._extend(member, predicted_partition(member, select_rows(X, rows)))))
            except ValueError:
                if not pattern.any():
                    raise
        sets = parts[0][1].focal_sets if parts else FocalSets.simple([str(name) for name in self.classes_])
        masses: FloatArray = np.zeros((len(gaps), len(sets)))
        masses[:, -1] = 1
        for rows, partition in parts:
            masses[rows] = partition.masses
        return CredalPartition(masses, sets, validate=False)

    def _extend(self, member: Any, partition: CredalPartition) -> CredalPartition:
        """Extend masses to all classes, if a member was fitted to only some of them."""
        classes = split_pipeline(member)[1].classes_
        table: BoolArray = np.zeros((len(partition.focal_sets), len(self.classes_)), dtype=bool)
        table[:, np.searchsorted(self.classes_, classes)] = partition.focal_sets.membership
        table[partition.focal_sets.sizes == len(classes)] = True
        masses, sets = reorder_masses(partition.masses, table, [str(name) for name in self.classes_])
        family = sets.with_omega()
        return CredalPartition(expand_masses(masses, sets, family), family, validate=False)

    def _family(self, X: Any) -> FocalSets:
        names = [str(name) for name in self.classes_]
        if self.discounting == "contextual":
            return FocalSets.full(names)
        first = select_rows(X, [0])
        tables = [self._predict_member(member, first).focal_sets.membership for member in self.estimators_]
        table = np.vstack([np.eye(len(names), dtype=bool), *tables])
        return FocalSets.from_membership(table, names).closure("intersection")

    def _combine(self, partitions: list[CredalPartition]) -> FloatArray:
        """Combine the discounted masses of samples by Dempster's rule, and mix them if views may be foreign."""
        product: FloatArray = np.ones((len(partitions[0]), len(self.focal_sets_)))
        for partition, reliability in zip(partitions, self.reliabilities_, strict=True):
            masses = expand_masses(partition.masses, partition.focal_sets, self.focal_sets_)
            if self.discounting == "contextual":
                masses = contextual_discount(masses, self.focal_sets_, 1 - reliability)
            elif self.discounting == "plain":
                masses = discount(masses, self.focal_sets_, 1 - reliability[0])
            product *= commonality(masses, self.focal_sets_)
        consensus = normalize(
            np.maximum(masses_from("commonality", product, self.focal_sets_), 0), self.focal_sets_
        )
        if self._foreign is None:
            return consensus
        return self._foreign.masses(evidence_of(partitions, self._foreign.shares), consensus, self.focal_sets_)

    def _after_loading(self) -> None:
        """Raise unless the attributes from a file are consistent."""
        super()._after_loading()
        classes, members = self.classes_, self.estimators_
        self._check_members()
        check_shape("reliabilities_", self.reliabilities_, (len(members), len(classes)))
        if len(self.estimators) != len(members) or self.focal_sets_.frame_size != len(classes):
            raise ValueError("its members, sets and classes_ are not consistent")
        if self.discounting == "contextual" and not self.focal_sets_.is_full:
            raise ValueError("its sets must be all subsets of the classes")
        for member in members:
            fields.check_features(member, self.n_features_in_)
            if not np.isin(split_pipeline(member)[1].classes_, classes).all():
                raise ValueError("a member has classes that are not in classes_")
        if self._foreign is not None:
            check_shape("shares", self._foreign.shares, (len(classes),))
            check_shape("exponents", self._foreign.exponents, (len(members),))
            check_shape("rates", self._foreign.rates, (len(members),))
            check_shape("mixing", self._foreign.mixing, (2,))
        if self._family(np.zeros((1, self.n_features_in_))) != self.focal_sets_:
            raise ValueError("its members have other focal sets")


def _named_members(estimators: Any) -> list[tuple[str, Any]]:
    """Return the members with names and parameters; invalid ones are reported by fit."""
    pairs = estimators if isinstance(estimators, (list, tuple)) else []
    return [
        (pair[0], pair[1])
        for pair in pairs
        if isinstance(pair, (list, tuple)) and len(pair) == 2 and hasattr(pair[1], "get_params")
    ]


def _gaps(X: Any) -> BoolArray | None:
    """Return True for missing cells; None if this cannot be determined."""
    if hasattr(X, "isna"):
        return np.asarray(X.isna())
    values = np.asarray(X)
    return np.isnan(values) if values.dtype.kind == "f" else None


def _fit_reliabilities(plausibilities: FloatArray, targets: FloatArray, n_each: int) -> FloatArray:
    """Return the reliabilities of members with the smallest log-loss of the combined output.

    `plausibilities` are of shape (n_estimators, n_samples, n_classes), and each member has `n_each` reliabilities.
    """
    against, shape = 1 - plausibilities, (len(plausibilities), n_each)
    shares = targets / targets.sum(axis=1, keepdims=True)

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        factors = np.maximum(1 - flat.reshape(shape)[:, None, :] * against, _TINY)
        logs = np.log(factors).sum(axis=0)
        logs -= logsumexp(logs, axis=1, keepdims=True)
        slopes = ((shares - np.exp(logs)) * against / factors).mean(axis=1)
        if n_each == 1:
            slopes = slopes.sum(axis=1)
        doubt = 1 - flat
        value = -(shares * logs).sum(axis=1).mean() + _PENALTY / 2 * (doubt @ doubt)
        return float(value), slopes.ravel() - _PENALTY * doubt

    start = np.full(shape[0] * n_each, _START)
    result = minimize(loss, start, jac=True, bounds=[(0, 1)] * len(start)).x
    return np.asarray(np.broadcast_to(result.reshape(shape), (len(against), against.shape[2])).copy())
