"""EvidentialForestClassifier: trees are witnesses, who have seen much of the same."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from sklearn.base import is_classifier
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from evlearn.belief import FocalSets, commonality, contour, expand, pignistic
from evlearn.classify.base import EvidentialClassifier
from evlearn.classify.box_tree import BoxTree
from evlearn.classify.commonalities import masses_of_logs
from evlearn.classify.labels import Labels, singletons_and_frame
from evlearn.classify.leaves import Leaves
from evlearn.classify.sample_weights import read_weights
from evlearn.classify.units import in_units, usual_values
from evlearn.partition import CredalPartition
from evlearn.partition.credal_partition import of_classes
from evlearn.partition.estimators import split_pipeline, with_names_of
from evlearn.utils.convergence import whole_or_nothing
from evlearn.utils.typing import ClassifierLike, FloatArray
from evlearn.utils.validation import check_choice, check_integer, check_real

#: Sizes of nodes that "auto" chooses from, and numbers of witnesses.
_SIZES = (2, 4, 8, 16, 32)
_WITNESSES = (0.2, 50.0)
_NEIGHBORS = 5
#: The unit of masses among what trees predict.
_SMALL = 1e-3
_LEAST = 1e-300


class EvidentialForestClassifier(EvidentialClassifier):
    r"""A forest of trees whose leaves say how little they have seen.

    Each leaf is a mass function: the classes of its training samples, and a part that stays open because the
    samples are few. The trees of a forest have seen much of the same, so that they are worth few independent
    witnesses; how many is learned from samples that trees were not grown with. Samples that are far from all
    training samples lose their mass to the set of all classes, which a forest alone would not notice. Labels may
    be given with doubt: then leaves hold the masses of their samples.

    Parameters
    ----------
    n_estimators : int, default=200
        The number of trees.
    prior_strength : float, default=0.5
        How many samples of any class a leaf leaves open, beside those that it has.
    n_witnesses : "auto" or float, default="auto"
        How many independent witnesses the trees are worth together. "auto": the number for which samples out of
        bag have the smallest log-loss.
    reach : float or None, default=0.95
        The share of training samples that are near to others. New samples that are farther away than that lose
        mass to the set of all classes. None: no sample does.
    min_samples_split : "auto" or int, default="auto"
        Nodes with fewer samples are not divided. "auto": 2, 4, 8, 16 or 32, by the same log-loss.
    max_features : {"auto", "sqrt", "log2"} or float, default="auto"
        How many features a node looks at: the root or the logarithm of their number, or a share of them. "auto":
        the root; where labels are given with doubt, the root or all of them, by the same log-loss.
    class_weight : "balanced", dict or None, default=None
        How much samples of each class count. "balanced": all classes alike. Labels must be crisp for that.
    n_jobs : int or None, default=None
        How many trees are grown at the same time. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        The seed of the trees.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    focal_sets_ : FocalSets
        The sets that carry mass: single classes and all of them, or, with soft labels, the sets of the labels and
        their intersections.
    n_witnesses_ : float
        How many independent witnesses the trees are worth.
    min_samples_split_ : int
        The size of nodes that are divided.
    oob_partition_ : CredalPartition
        The mass functions of the training samples, by the trees that were grown without them: where they
        contradict a label, it may be wrong.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str
        The names of the features, where X has any.

    See Also
    --------
    masses_from_forest : The masses of a forest that you have already.
    EvidentialKNNClassifier : Neighbours instead of leaves.

    Notes
    -----
    Trees are extremely randomised and grown with bootstrap samples. Missing values (NaN) become doubt: the masses
    of a sample with gaps are those that it would have on average, and what remains open is mass on the set of all
    classes.

    References
    ----------
    Geurts et al. (2006) for the trees; Walley (1996) for the leaves.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from evlearn.classify import EvidentialForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = EvidentialForestClassifier(random_state=0).fit(X, y)
    >>> model.predict(X[[0, 60, 120]])
    array([0, 1, 2])

    An iris with petals of one metre is none of these:

    >>> model.predict_mass([[5, 3, 100, 100]]).masses.round(2)
    array([[0., 0., 0., 0., 1.]])
    """

    _takes_gaps = True

    def __init__(
        self,
        n_estimators: int = 200,
        *,
        prior_strength: float = 0.5,
        n_witnesses: float | Literal["auto"] = "auto",
        reach: float | None = 0.95,
        min_samples_split: int | Literal["auto"] = "auto",
        max_features: float | Literal["auto", "sqrt", "log2"] = "auto",
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.prior_strength = prior_strength
        self.n_witnesses = n_witnesses
        self.reach = reach
        self.min_samples_split = min_samples_split
        self.max_features = max_features
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state

    @whole_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike | CredalPartition, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the trees, and count the witnesses.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training samples.
        y : array-like of shape (n_samples,) or (n_samples, n_classes), or CredalPartition
            Their classes, of any type; or plausibilities of the classes; or mass functions, if classes are known
            with doubt.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts.

        Returns
        -------
        EvidentialForestClassifier
            The fitted estimator.
        """
        self._check_parameters()
        data, labels = self._read_training(X, y)
        self._centre, self._unit = usual_values(data)
        rows = self._enter(data)
        focal_sets, masses = _masses_of(labels)
        probabilities = pignistic(masses, focal_sets)
        crisp = bool((probabilities.max(axis=1) == 1).all())
        # With squared errors trees are those of Gini's index where labels are crisp. Others tell probabilities
        # apart, and not how sure people were; masses are small beside them, and only come along into the leaves.
        targets = masses[:, 1:] if crisp else np.hstack([probabilities, _SMALL * masses[:, 1:]])
        weights = read_weights(sample_weight, self.class_weight, labels, rows)
        total = None if weights is None else weights.total
        tried = (self.max_features,) if self.max_features != "auto" else ("sqrt",) if crisp else ("sqrt", 1.0)
        forests = (self._forest(max_features).fit(rows, targets, total) for max_features in tried)
        best = min(
            (self._choose(forest, rows, probabilities, focal_sets) for forest in forests), key=lambda one: one.loss
        )
        self._leaves, self.n_witnesses_, self.min_samples_split_ = best.leaves, best.n_witnesses, best.size
        self._surroundings, self._n_neighbors = BoxTree.of(rows), min(_NEIGHBORS, len(rows) - 1)
        self._reach = self._usual_distance()
        self.focal_sets_ = focal_sets
        told = witnessed(best.said, focal_sets, best.n_witnesses)
        self.oob_partition_ = with_names_of(X, of_classes(CredalPartition(told, focal_sets, validate=False)))
        return self

    def _check_parameters(self) -> None:
        check_integer("n_estimators", self.n_estimators, 1)
        check_real("prior_strength", self.prior_strength, 0, open_low=True)
        check_real("n_witnesses", self.n_witnesses, 0, open_low=True, or_auto=True)
        if isinstance(self.min_samples_split, str):
            check_choice("min_samples_split", self.min_samples_split, ("auto",))
        else:
            check_integer("min_samples_split", self.min_samples_split, 2)
        if isinstance(self.max_features, str):
            check_choice("max_features", self.max_features, ("auto", "sqrt", "log2"))
        else:
            check_real("max_features", self.max_features, 0, 1, open_low=True)
        if self.reach is not None:
            check_real("reach", self.reach, 0, 1, open_low=True)

    def _enter(self, data: FloatArray) -> FloatArray:
        return in_units(data, self._centre, self._unit)

    def _forest(self, max_features: Any) -> ExtraTreesRegressor:
        return ExtraTreesRegressor(
            self.n_estimators,
            bootstrap=True,
            max_features=max_features,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )

    def _choose(self, forest: Any, rows: FloatArray, targets: FloatArray, focal_sets: FocalSets) -> "_Choice":
        """The size of nodes and the number of witnesses with the smallest log-loss out of bag."""
        out_of_bag = np.ones((len(rows), len(forest.estimators_)), dtype=bool)
        for tree, drawn in enumerate(forest.estimators_samples_):
            out_of_bag[drawn, tree] = False
        found = []
        for size in _SIZES if self.min_samples_split == "auto" else (self.min_samples_split,):
            leaves = Leaves.of(forest.estimators_, len(focal_sets) - 1, self.prior_strength, size)
            said = leaves.said(rows, out_of_bag)
            found.append(
                _Choice(*_count_witnesses(said, targets, focal_sets, self.n_witnesses), size, leaves, said)
            )
        return min(found, key=lambda one: one.loss)

    def _usual_distance(self) -> float:
        """The square of the distance to others that the training samples within reach do not exceed."""
        if self.reach is None or not self._n_neighbors:
            return np.inf
        squares = self._surroundings.nearest_others(self._n_neighbors, n_jobs=None)[1][:, -1]
        return float(np.quantile(squares, self.reach)) or _LEAST

    def _masses(self, rows: FloatArray) -> FloatArray:
        inside = self._enter(rows)
        masses = witnessed(self._leaves.said(inside), self.focal_sets_, self.n_witnesses_)
        if np.isinf(self._reach):
            return masses
        squares = self._surroundings.nearest_of(inside, self._n_neighbors, n_jobs=None)[1][:, -1]
        with np.errstate(over="ignore"):  # in the quotient of what is without end far away
            kept = np.exp(np.minimum(1 - squares / self._reach, 0))[:, None]
        masses *= kept
        masses[:, -1] += 1 - kept[:, 0]
        return masses


class _Choice(NamedTuple):
    """What was chosen, how well it did, and what was said out of bag."""

    n_witnesses: float
    loss: float
    size: int
    leaves: Leaves
    said: FloatArray


def masses_from_forest(
    forest: ClassifierLike, X: ArrayLike, *, prior_strength: float = 0.5, n_witnesses: float = 1.0
) -> CredalPartition:
    """The mass functions behind the probabilities of a scikit-learn forest.

    Each leaf says the shares of classes among its training samples, and leaves a part open because these are few.
    The trees say the mean of that.

    Parameters
    ----------
    forest : fitted scikit-learn classifier
        A `~sklearn.ensemble.RandomForestClassifier` or `~sklearn.ensemble.ExtraTreesClassifier`, alone or at the
        end of a pipeline.
    X : array-like of shape (n_samples, n_features)
        The samples.
    prior_strength : float, default=0.5
        How many samples of any class a leaf leaves open, beside those that it has.
    n_witnesses : float, default=1.0
        How many independent witnesses the trees are worth together; `EvidentialForestClassifier` learns it.

    Returns
    -------
    CredalPartition
        A mass function for each sample, on single classes and on all of them.

    See Also
    --------
    EvidentialForestClassifier : A forest that knows what it is worth, and what is far from its samples.

    References
    ----------
    Walley (1996).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from evlearn.classify import masses_from_forest
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(min_samples_leaf=5, random_state=0).fit(X, y)
    >>> masses_from_forest(forest, X[[0, 70]]).masses.round(2)
    array([[0.  , 0.99, 0.  , 0.  , 0.01],
           [0.  , 0.01, 0.26, 0.68, 0.04]])
    """
    before, last = split_pipeline(forest)
    check_is_fitted(last)
    if not (is_classifier(last) and hasattr(last, "estimators_") and hasattr(last.estimators_[0], "tree_")):
        raise ValueError(f"forest must be a fitted forest of classification trees, got {last!r}.")
    check_real("prior_strength", prior_strength, 0, open_low=True)
    check_real("n_witnesses", n_witnesses, 0, open_low=True)
    rows: FloatArray = check_array(X if before is None else before.transform(X), dtype=np.float64, input_name="X")
    sets = FocalSets.simple([str(one) for one in last.classes_])
    leaves = Leaves.of(last.estimators_, len(sets) - 1, prior_strength)
    masses = witnessed(leaves.said(rows), sets, n_witnesses)
    return with_names_of(X, of_classes(CredalPartition(masses, sets, validate=False)))


def _masses_of(labels: Labels) -> tuple[FocalSets, FloatArray]:
    """The sets that carry mass, closed under intersection, and the masses of the labels."""
    if labels.codes is not None:
        focal_sets = singletons_and_frame(labels)
        masses: FloatArray = np.zeros((len(labels.codes), len(focal_sets)))
        masses[np.arange(len(masses)), 1 + labels.codes] = 1
        return focal_sets, masses
    assert labels.partition is not None
    family = labels.partition.focal_sets.closure("intersection").with_names(labels.names)
    return family, expand(labels.partition.masses, labels.partition.focal_sets, family)


def witnessed(said: FloatArray, focal_sets: FocalSets, number: float) -> FloatArray:
    """The masses of so many independent witnesses who say the same, by Dempster's rule.

    Commonalities are raised to their number. The empty set has no part in it, so that conflict is given up.
    """
    masses = np.zeros((len(said), len(focal_sets)))
    masses[:, 1:] = said
    logs = number * np.log(np.maximum(commonality(masses, focal_sets)[:, 1:], _LEAST))
    return masses_of_logs(logs, focal_sets)


def _count_witnesses(
    said: FloatArray, targets: FloatArray, focal_sets: FocalSets, given: Any
) -> tuple[float, float]:
    """The number of witnesses with the smallest log-loss of relative plausibilities, and this loss."""
    masses = np.zeros((len(said), len(focal_sets)))
    masses[:, 1:] = said
    logs = np.log(np.maximum(contour(masses, focal_sets), _LEAST))

    def loss(log_number: float) -> float:
        scaled = np.exp(log_number) * logs
        scaled -= scaled.max(axis=1, keepdims=True)
        scaled -= np.log(np.exp(scaled).sum(axis=1, keepdims=True))
        return float(-(targets * scaled).sum(axis=1).mean())

    if given != "auto":
        return float(given), loss(np.log(given))
    found = minimize_scalar(loss, bounds=np.log(_WITNESSES), method="bounded")
    return float(np.exp(found.x)), float(found.fun)


__all__ = ["EvidentialForestClassifier", "masses_from_forest"]
