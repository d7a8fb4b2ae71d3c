"""EvidentialForestClassifier: trees are witnesses, who have seen much of the same."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import ExtraTreeRegressor
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from evlearn.belief import FocalSets, commonality, contour, expand, pignistic
from evlearn.classify.base import EvidentialClassifier
from evlearn.classify.box_tree import BoxTree
from evlearn.classify.commonalities import masses_of_logs
from evlearn.classify.distinct_rows import distinct_rows
from evlearn.classify.labels import Labels, singletons_and_frame
from evlearn.classify.leaves import Leaves
from evlearn.classify.sample_weights import read_weights
from evlearn.classify.units import in_units, usual_values
from evlearn.partition import CredalPartition
from evlearn.partition.credal_partition import of_classes
from evlearn.partition.estimators import split_pipeline, with_names_of
from evlearn.utils.convergence import whole_or_nothing
from evlearn.utils.typing import BoolArray, ClassifierLike, FloatArray, IntArray
from evlearn.utils.validation import check_choice, check_integer, check_real

#: Sizes of nodes that "auto" chooses from, and numbers of witnesses.
_SIZES = (2, 4, 8, 16, 32)
_WITNESSES = (0.2, 50.0)
_NEIGHBORS = 5
_MOST_DRAWS = 2**31 - 1
#: The unit of masses among what trees predict.
_SMALL = 1e-3
_LEAST = 1e-300
#: The share of their mass that leaves keep at any distance, so that the most plausible class is still theirs.
_FAINT = 1e-9


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
        The share of distinct training samples that are near to others. New samples that are farther away than
        that lose mass to the set of all classes. None: no sample does.
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
    Trees are extremely randomised and grown with bootstrap samples. Results do not depend on the order of the
    training samples. Equal samples count as often as they occur; only distances to training samples, and so
    `reach`, are measured between distinct ones. Where a sample is out of reach, its most plausible class is still
    that of the leaves, by a small margin. Missing values (NaN) become doubt: the masses
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
            How much each sample counts: a sample of weight 2 as 2 equal samples, and one of weight 0 not at all.
            Weights with a mean below 1 are scaled to a mean of 1.

        Returns
        -------
        EvidentialForestClassifier
            The fitted estimator.
        """
        self._check_parameters()
        data, labels, counts, places = self._read_training(X, y, sample_weight)
        weights = read_weights(counts, self.class_weight, labels, data)
        total = None if weights is None else weights.total
        if total is not None and not total.all():  # class_weight may be 0
            positive = total > 0
            data, labels, total = data[positive], labels.take(positive), total[positive]
            places = np.flatnonzero(positive) if places is None else places[positive]
        sample = _Sample.of(data, labels, total)
        self._centre, self._unit = usual_values(sample.rows, sample.weights)
        rows = self._enter(sample.rows)
        focal_sets, masses = sample.focal_sets, sample.masses
        probabilities = pignistic(masses, focal_sets)
        crisp = bool((probabilities.max(axis=1) == 1).all())
        # With squared errors trees are those of Gini's index where labels are crisp. Others tell probabilities
        # apart, and not how sure people were; masses are small beside them, and only come along into the leaves.
        targets = masses[:, 1:] if crisp else np.hstack([probabilities, _SMALL * masses[:, 1:]])
        tried = (self.max_features,) if self.max_features != "auto" else ("sqrt",) if crisp else ("sqrt", 1.0)
        random = check_random_state(self.random_state)
        seeds = random.randint(np.iinfo(np.int32).max, size=self.n_estimators)
        choices = [
            self._choose(
                self._grow(rows, targets, sample.weights, max_features, seeds), rows, probabilities, sample
            )
            for max_features in tried
        ]
        best = min(choices, key=lambda choice: choice.loss)
        self._leaves, self.n_witnesses_, self.min_samples_split_ = best.leaves, best.n_witnesses, best.size
        self._surround(rows)
        self.focal_sets_ = focal_sets
        self.oob_partition_ = self._out_of_bag(X, best, sample, places)
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

    def _grow(
        self, rows: FloatArray, targets: FloatArray, weights: FloatArray, max_features: Any, seeds: IntArray
    ) -> "_Forest":
        """Return one tree for each seed, grown with a bootstrap sample, and the shares of rows out of bag."""
        values, targets = rows.astype(np.float32), np.ascontiguousarray(targets)

        def grow(seed: int) -> tuple[ExtraTreeRegressor, FloatArray | BoolArray]:
            drawn = bootstrap_counts(weights, np.random.default_rng(seed))
            tree = ExtraTreeRegressor(max_features=max_features, random_state=seed)
            tree.fit(values, targets, sample_weight=drawn, check_input=False)
            return tree, shares_out_of_bag(weights, drawn)

        trees, out_of_bag = zip(
            *Parallel(self.n_jobs, prefer="threads")(delayed(grow)(int(seed)) for seed in seeds), strict=True
        )
        return _Forest(list(trees), np.column_stack(out_of_bag))

    def _choose(self, forest: "_Forest", rows: FloatArray, targets: FloatArray, sample: "_Sample") -> "_Choice":
        """Return the size of nodes and the number of witnesses with the smallest log-loss out of bag."""
        focal_sets, choices = sample.focal_sets, []
        for size in _SIZES if self.min_samples_split == "auto" else (self.min_samples_split,):
            leaves = Leaves.of(forest.trees, len(focal_sets) - 1, self.prior_strength, size)
            said = leaves.said(rows, forest.out_of_bag)
            number, loss = _count_witnesses(said, targets, focal_sets, self.n_witnesses, sample.weights)
            choices.append(_Choice(number, loss, size, leaves, said))
        return min(choices, key=lambda choice: choice.loss)

    def _out_of_bag(self, X: Any, best: "_Choice", sample: "_Sample", places: IntArray | None) -> CredalPartition:
        """Return the masses of the training samples by the trees grown without them."""
        said = best.said[sample.places]
        if places is not None:  # no tree was grown with samples of weight 0
            data = self._read(X, reset=False).data
            kept, first = np.unique(places, return_index=True)  # of several completions, the first
            removed = np.setdiff1d(np.arange(len(data)), kept)
            every = np.empty((len(data), said.shape[1]))
            every[kept] = said[first]
            if len(removed):
                others = data[removed]
                others = self._known_gaps().fill(others) if np.isnan(others).any() else others
                every[removed] = best.leaves.said(self._enter(others))
            said = every
        masses = witnessed(said, self.focal_sets_, best.n_witnesses)
        return with_names_of(X, of_classes(CredalPartition(masses, self.focal_sets_, validate=False)))

    def _surround(self, rows: FloatArray) -> None:
        """Learn how far training samples are from others, each distinct row counted once."""
        rows = rows[distinct_rows(rows).first]
        self._surroundings, self._n_neighbors = BoxTree.of(rows), min(_NEIGHBORS, len(rows) - 1)
        self._reach = np.inf
        if self.reach is not None and self._n_neighbors:
            squares = self._surroundings.nearest_others(self._n_neighbors, n_jobs=None)[1][:, -1]
            self._reach = float(np.quantile(squares, self.reach)) or _LEAST

    def _masses(self, rows: FloatArray) -> FloatArray:
        inside = self._enter(rows)
        masses = witnessed(self._leaves.said(inside), self.focal_sets_, self.n_witnesses_)
        if np.isinf(self._reach):
            return masses
        squares = self._surroundings.nearest_of(inside, self._n_neighbors, n_jobs=None)[1][:, -1]
        with np.errstate(over="ignore"):  # in the quotient of what is without end far away
            kept = np.exp(np.minimum(1 - squares / self._reach, 0))[:, None]
        kept = np.maximum(kept, _FAINT)
        masses *= kept
        masses[:, -1] += 1 - kept[:, 0]
        return masses


class _Sample(NamedTuple):
    """The distinct training samples, sorted: repeated rows are the same as larger weights, in any order of rows.

    Attributes
    ----------
    rows : ndarray of shape (n_distinct, n_features)
        The samples that differ in features or labels.
    masses : ndarray of shape (n_distinct, n_focal_sets)
        Their labels as masses.
    focal_sets : FocalSets
        The sets that carry mass.
    weights : ndarray of shape (n_distinct,)
        The sums of the weights of equal samples, with a mean of at least 1.
    places : ndarray of int of shape (n_samples,)
        The distinct sample that each training sample equals.
    """

    rows: FloatArray
    masses: FloatArray
    focal_sets: FocalSets
    weights: FloatArray
    places: IntArray

    @classmethod
    def of(cls, data: FloatArray, labels: Labels, weights: FloatArray | None) -> "_Sample":
        """Return the distinct samples of positive weight among the training samples."""
        focal_sets, masses = _masses_of(labels)
        first, places = distinct_rows(np.hstack([data, masses]))
        sums = np.bincount(places, weights, minlength=len(first)).astype(np.float64)
        # Weights may have been normalized: their mean is at least 1, so that they are still numbers of samples.
        sums *= max(1.0, len(sums) / sums.sum())
        return cls(data[first], masses[first], focal_sets, sums, places)


class _Forest(NamedTuple):
    """Trees, and the share of each distinct sample that is out of bag for each tree."""

    trees: list[ExtraTreeRegressor]
    out_of_bag: FloatArray | BoolArray


class _Choice(NamedTuple):
    """What was chosen, how well it did, and what was said out of bag."""

    n_witnesses: float
    loss: float
    size: int
    leaves: Leaves
    said: FloatArray


def bootstrap_counts(weights: FloatArray, random: np.random.Generator) -> FloatArray:
    """Return how much each distinct sample counts in a bootstrap sample of all of them.

    There are as many draws as samples, so that weights that are whole numbers count as repeated samples.
    """
    total = float(weights.sum())
    n_draws = int(min(round(total), _MOST_DRAWS))
    return np.asarray(random.multinomial(n_draws, weights / total) * (total / n_draws))


def shares_out_of_bag(weights: FloatArray, counts: FloatArray) -> FloatArray | BoolArray:
    """Return the expected shares of equal samples that were not drawn, given how many of them were."""
    if (weights <= 1).all():
        return np.asarray(counts == 0)
    return np.power(np.maximum(1 - 1 / weights, 0), counts, dtype=np.float32)


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
    _check_forest(last)
    check_real("prior_strength", prior_strength, 0, open_low=True)
    check_real("n_witnesses", n_witnesses, 0, open_low=True)
    rows: FloatArray = check_array(X if before is None else before.transform(X), dtype=np.float64, input_name="X")
    if rows.shape[1] != last.n_features_in_:
        raise ValueError(f"X must have the {last.n_features_in_} features of the forest, got {rows.shape[1]}.")
    sets = FocalSets.simple([str(one) for one in last.classes_])
    leaves = Leaves.of(last.estimators_, len(sets) - 1, prior_strength)
    masses = witnessed(leaves.said(rows), sets, n_witnesses)
    return with_names_of(X, of_classes(CredalPartition(masses, sets, validate=False)))


def _check_forest(forest: Any) -> None:
    """Raise unless all trees of a forest vote on all its classes, by all its features, with equal weights."""
    name = type(forest).__name__
    if not isinstance(forest, RandomForestClassifier | ExtraTreesClassifier):
        raise ValueError(
            "forest must be a fitted forest of classification trees: a RandomForestClassifier or an "
            f"ExtraTreesClassifier, got {name}, whose members may see other features or classes, or have weights. "
            "Fit one of these forests, or an EvidentialForestClassifier."
        )
    if forest.n_outputs_ > 1:
        raise ValueError(
            f"forest must have one target, got a {name} with {forest.n_outputs_}: fit one forest for each target."
        )
    n_classes, n_features = len(forest.classes_), forest.n_features_in_
    for tree in forest.estimators_:
        if getattr(tree, "n_features_in_", None) != n_features or len(getattr(tree, "classes_", ())) != n_classes:
            raise ValueError(
                f"forest must have trees that see all {n_features} features and all {n_classes} classes, got a "
                f"{name} in which a tree does not: use a RandomForestClassifier or an ExtraTreesClassifier."
            )


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
    said: FloatArray, targets: FloatArray, focal_sets: FocalSets, given: Any, weights: FloatArray
) -> tuple[float, float]:
    """The number of witnesses with the smallest log-loss of relative plausibilities, and this loss."""
    masses = np.zeros((len(said), len(focal_sets)))
    masses[:, 1:] = said
    logs = np.log(np.maximum(contour(masses, focal_sets), _LEAST))
    shares = weights / weights.sum()

    def loss(log_number: float) -> float:
        scaled = np.exp(log_number) * logs
        scaled -= scaled.max(axis=1, keepdims=True)
        scaled -= np.log(np.exp(scaled).sum(axis=1, keepdims=True))
        return float(-shares @ (targets * scaled).sum(axis=1))

    if given != "auto":
        return float(given), loss(np.log(given))
    found = minimize_scalar(loss, bounds=np.log(_WITNESSES), method="bounded")
    return float(np.exp(found.x)), float(found.fun)


__all__ = ["EvidentialForestClassifier", "masses_from_forest"]
