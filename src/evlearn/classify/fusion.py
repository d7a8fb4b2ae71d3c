"""FusionClassifier: several classifiers or sensors, each believed as far as it deserves."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils.validation import check_is_fitted, validate_data

from evlearn.belief import (
    FocalSets,
    arrange,
    commonality,
    contextual_discount,
    contour,
    discount,
    expand,
    mass_from_commonality,
    normalize,
)
from evlearn.classify.base import EvidentialClassifier
from evlearn.classify.labels import Labels, check_same_samples, read_labels
from evlearn.partition import CredalPartition
from evlearn.partition.credal_partition import of_classes
from evlearn.partition.estimators import predicted_partition, predicts_masses, split_pipeline, with_names_of
from evlearn.utils.chunks import row_blocks
from evlearn.utils.convergence import whole_or_nothing
from evlearn.utils.reading import rows_of
from evlearn.utils.typing import BoolArray, ClassifierLike, FloatArray
from evlearn.utils.validation import check_choice, check_integer, refuse_containers, refuse_equal_names

#: Classes for which masses of all sets are computed.
_MOST_CLASSES = 12
_BLOCK = 1 << 20
_START, _LEAST = 0.9, 1e-6
#: Of doubt in a member, squared: so that one whom the others outshine is still believed when they fail.
_PRICE = 0.02


class FusionClassifier(EvidentialClassifier):
    """Several classifiers or sensors combined by Dempster's rule, each discounted by how reliable it is.

    Members may look at different features: let a pipeline of each begin with a transformer that selects its
    columns. How far a member can be believed, and about which classes, is learned from samples that it was not
    fitted to. Far from what they have seen, evidential classifiers put their mass on all classes, and so leave the
    word to others. A member that cannot take a missing value says nothing about that sample.

    Parameters
    ----------
    estimators : list of (str, estimator)
        The members, with a name for each: evidential classifiers, scikit-learn classifiers with
        ``predict_proba``, or pipelines that end in one. Clones of them are fitted.
    discounting : {"contextual", "plain"} or None, default="contextual"
        Whether members have a reliability for each class, one for all classes, or are believed wholly.
        "contextual" is for at most 12 classes.
    cv : int, default=5
        The number of folds in which reliabilities are learned.

    Attributes
    ----------
    reliabilities_ : ndarray of shape (n_members, n_classes)
        From 0, what the member says against the class counts for nothing, to 1, it counts wholly.
    estimators_ : list of estimators
        The fitted members.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    focal_sets_ : FocalSets
        The sets that carry mass.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str
        The names of the features, where X has any.

    See Also
    --------
    evlearn.belief.contextual_discount : What is made of the masses of a member.

    Notes
    -----
    If a member is reliable with the probability b where a class is the right one, the plausibility p that it gives
    to the class becomes 1 - b(1 - p). The reliabilities of all members together have the smallest log-loss of what
    they say together out of fold, with a small price on doubt in a member. The paper has the smallest squared
    error of a source; for several that agree it trusts all but the best too little.

    References
    ----------
    Mercier et al. (2008) for contextual discounting.

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
    >>> members = [("acids", sensor([1, 2, 3])), ("colour", sensor([9, 10, 11]))]
    >>> model = FusionClassifier(members).fit(X, y)
    >>> model.reliabilities_.shape
    (2, 3)
    >>> bool(model.score(X, y) > max(one.score(X, y) for one in model.estimators_))
    True
    """

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

    @whole_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike | CredalPartition) -> Self:
        """Fit the members, and learn how reliable they are.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training samples; a frame is given to members as it is.
        y : array-like of shape (n_samples,) or (n_samples, n_classes), or CredalPartition
            Their classes, of any type; or plausibilities of the classes; or mass functions, if classes are known
            with doubt and all members can learn from that.

        Returns
        -------
        FusionClassifier
            The fitted estimator.
        """
        members = self._check_members()
        given = self._see(X, reset=True)
        check_same_samples(y, X)
        labels = read_labels(y, given, type(self).__name__)
        if labels.codes is None and not all(predicts_masses(one) for one in members):
            raise ValueError("y has labels with doubt, from which only evidential classifiers can learn.")
        self.classes_ = labels.classes
        if self.discounting == "contextual" and len(self.classes_) > _MOST_CLASSES:
            raise ValueError(
                f"discounting='contextual' is for at most {_MOST_CLASSES} classes, and there are "
                f"{len(self.classes_)}; use discounting='plain'."
            )
        known = labels.classes[labels.codes] if labels.codes is not None else labels.partition
        self.reliabilities_ = self._learn_reliabilities(members, given, known, labels)
        self.estimators_ = [clone(one).fit(given, known) for one in members]
        self.focal_sets_ = self._family(given)
        return self

    def predict_mass(self, X: ArrayLike) -> CredalPartition:
        """The mass functions of samples: what all members say together.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        CredalPartition
            A mass function for each sample. Mass on one class supports it, mass on several says that one of them
            is right, and mass on all classes says nothing.
        """
        check_is_fitted(self)
        given = self._see(X, reset=False)
        said = [self._said(one, given) for one in self.estimators_]
        blocks = row_blocks(len(given), max(1, _BLOCK // len(self.focal_sets_)))
        masses = np.concatenate([self._combined([one[rows] for one in said]) for rows in blocks])
        return with_names_of(X, of_classes(CredalPartition(masses, self.focal_sets_, validate=False)))

    def _check_members(self) -> list[Any]:
        if self.discounting is not None:
            check_choice("discounting", self.discounting, ("contextual", "plain"))
        check_integer("cv", self.cv, 2)
        given: Any = self.estimators
        pairs = isinstance(given, (list, tuple)) and all(isinstance(one, (list, tuple)) for one in given)
        if not (pairs and all(len(one) == 2 for one in given)):
            raise ValueError(f"estimators must be pairs of a name and a classifier, got {self.estimators!r}.")
        names = [name for name, _ in self.estimators]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"estimators must have members, each with a name of its own, got {names}.")
        for name, one in self.estimators:
            if not (predicts_masses(one) or hasattr(split_pipeline(one)[1], "predict_proba")):
                raise TypeError(f"the member {name!r} has neither predict_mass nor predict_proba, got {one!r}.")
        return [one for _, one in self.estimators]

    def _see(self, X: Any, *, reset: bool) -> Any:
        """Samples as members see them: a frame as it is."""
        refuse_containers(X)
        refuse_equal_names(X)
        if hasattr(X, "columns"):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        return validate_data(self, X, reset=reset, ensure_all_finite="allow-nan")

    # Reliabilities

    def _learn_reliabilities(self, members: list[Any], X: Any, known: Any, labels: Labels) -> FloatArray:
        shape = (len(members), len(self.classes_))
        if self.discounting is None:
            return np.ones(shape)
        targets = labels.plausibilities()
        found: FloatArray = np.ones((len(members), *targets.shape))
        for train, test in self._folds(targets):
            for place, one in enumerate(members):
                fitted = clone(one).fit(rows_of(X, train), known[train])
                partition = self._said(fitted, rows_of(X, test))
                found[place, test] = contour(partition.masses, partition.focal_sets)
        return _reliable(found, targets, shape[1] if self.discounting == "contextual" else 1)

    def _folds(self, targets: FloatArray) -> Iterator[tuple[Any, Any]]:
        best = targets.argmax(axis=1)
        fewest = np.bincount(best)[np.unique(best)].min()
        kind, most = (KFold, len(best)) if fewest < 2 else (StratifiedKFold, int(fewest))
        yield from kind(min(self.cv, most), shuffle=True, random_state=0).split(best[:, None], best)

    # What members say

    def _said(self, member: Any, X: Any) -> CredalPartition:
        """What a fitted member says about all classes; nothing where it cannot take a missing value."""
        gaps = _gaps(X)
        if gaps is None or not gaps.any():
            return self._translated(member, predicted_partition(member, X))
        patterns, numbers = np.unique(gaps, axis=0, return_inverse=True)
        heard: list[tuple[Any, CredalPartition]] = []
        for number, pattern in enumerate(patterns):
            rows = np.flatnonzero(numbers.ravel() == number)
            try:
                heard.append((rows, self._translated(member, predicted_partition(member, rows_of(X, rows)))))
            except ValueError:
                if not pattern.any():
                    raise
        sets = heard[0][1].focal_sets if heard else FocalSets.simple([str(one) for one in self.classes_])
        masses: FloatArray = np.zeros((len(gaps), len(sets)))
        masses[:, -1] = 1
        for rows, partition in heard:
            masses[rows] = partition.masses
        return CredalPartition(masses, sets, validate=False)

    def _translated(self, member: Any, partition: CredalPartition) -> CredalPartition:
        """The same in terms of all classes, of which a member may have seen only some."""
        own = split_pipeline(member)[1].classes_
        table: BoolArray = np.zeros((len(partition.focal_sets), len(self.classes_)), dtype=bool)
        table[:, np.searchsorted(self.classes_, own)] = partition.focal_sets.membership
        table[partition.focal_sets.sizes == len(own)] = True
        masses, sets = arrange(partition.masses, table, [str(one) for one in self.classes_])
        onto = sets.with_omega()
        return CredalPartition(expand(masses, sets, onto), onto, validate=False)

    def _family(self, X: Any) -> FocalSets:
        names = [str(one) for one in self.classes_]
        if self.discounting == "contextual":
            return FocalSets.full(names)
        first = rows_of(X, [0])
        tables = [self._said(one, first).focal_sets.membership for one in self.estimators_]
        return FocalSets.from_membership(np.vstack(tables), names).closure("intersection")

    def _combined(self, said: list[CredalPartition]) -> FloatArray:
        """By Dempster's rule, of the discounted masses of some samples."""
        product: FloatArray = np.ones((len(said[0]), len(self.focal_sets_)))
        for partition, reliability in zip(said, self.reliabilities_, strict=True):
            masses = expand(partition.masses, partition.focal_sets, self.focal_sets_)
            if self.discounting == "contextual":
                masses = contextual_discount(masses, self.focal_sets_, 1 - reliability)
            elif self.discounting == "plain":
                masses = discount(masses, self.focal_sets_, 1 - reliability[0])
            product *= commonality(masses, self.focal_sets_)
        return normalize(np.maximum(mass_from_commonality(product, self.focal_sets_), 0), self.focal_sets_)


def _gaps(X: Any) -> BoolArray | None:
    """Where cells are missing; None if that cannot be seen."""
    if hasattr(X, "isna"):
        return np.asarray(X.isna())
    values = np.asarray(X)
    return np.isnan(values) if values.dtype.kind == "f" else None


def _reliable(plausibilities: FloatArray, targets: FloatArray, n_each: int) -> FloatArray:
    """The reliabilities of members with the smallest log-loss of what they say together.

    `plausibilities` are of shape (n_members, n_samples, n_classes), and each member has `n_each` reliabilities.
    """
    against, shape = 1 - plausibilities, (len(plausibilities), n_each)
    wanted = targets / targets.sum(axis=1, keepdims=True)

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        factors = np.maximum(1 - flat.reshape(shape)[:, None, :] * against, _LEAST)
        logs = np.log(factors).sum(axis=0)
        logs -= logsumexp(logs, axis=1, keepdims=True)
        slopes = ((wanted - np.exp(logs)) * against / factors).mean(axis=1)
        if n_each == 1:
            slopes = slopes.sum(axis=1)
        doubted = 1 - flat
        value = -(wanted * logs).sum(axis=1).mean() + _PRICE / 2 * (doubted @ doubted)
        return float(value), slopes.ravel() - _PRICE * doubted

    start = np.full(shape[0] * n_each, _START)
    found = minimize(loss, start, jac=True, bounds=[(0, 1)] * len(start)).x
    return np.asarray(np.broadcast_to(found.reshape(shape), (len(against), against.shape[2])).copy())


__all__ = ["FusionClassifier"]
