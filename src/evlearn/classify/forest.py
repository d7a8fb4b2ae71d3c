"""Evidential forests."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import ExtraTreeRegressor
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from evlearn.belief import FocalSets, check_masses, commonality, contour, expand_masses, pignistic
from evlearn.classify.base import EvidentialClassifier
from evlearn.classify.labels import Labels, singletons_and_frame
from evlearn.classify.leaves import GrownTrees, Leaves, mean_masses, reached_nodes
from evlearn.classify.samples import distinct_rows, in_units, read_weights, usual_values
from evlearn.classify.weights_of_evidence import masses_of_logs
from evlearn.neighbors import BoxTree
from evlearn.partition import CredalPartition
from evlearn.partition.credal_partition import of_classes
from evlearn.partition.estimators import split_pipeline, with_names_of
from evlearn.storage import fields
from evlearn.utils.convergence import atomic_fit
from evlearn.utils.typing import BoolArray, ClassifierLike, FloatArray, IntArray
from evlearn.utils.validation import check_choice, check_integer, check_real, check_shape

#: Candidates of "auto" for min_samples_split, and range of the effective number of trees.
_SIZES = (2, 4, 8, 16, 32)
_EFFECTIVE_RANGE = (0.2, 50.0)
_NEIGHBORS = 5  # for distances to training samples
_MAX_DRAWS = 2**31 - 1
#: Weight of masses in the targets of trees, beside probabilities.
_MASS_WEIGHT = 1e-3
_TINY = 1e-300
#: Minimum factor of masses at any distance, so that the most plausible class remains that of the leaves.
_MIN_FACTOR = 1e-9


@fields.stored
class EvidentialForestClassifier(EvidentialClassifier):
    r"""Evidential forest: trees whose leaves are mass functions.

    Each leaf has mass on the classes of its training samples and, depending on their number, on the set of all
    classes. The trees are combined by Dempster's rule. As they are fitted to similar samples, they count as a
    smaller number of independent trees, which is learned from out-of-bag samples. Samples far from all training
    samples have mass on the set of all classes. Labels may be soft: then leaves contain the masses of their
    samples.

    Parameters
    ----------
    n_estimators : int, default=200
        Number of trees.
    prior_strength : float, default=0.5
        Number of prior samples of unknown class in each leaf, as in the imprecise Dirichlet model.
    effective_n_estimators : "auto" or float, default="auto"
        Effective number of independent trees. "auto" is the number with the smallest log-loss of out-of-bag
        samples.
    reach : float or None, default=0.95
        Share of distinct training samples whose distance to their neighbors is normal. New samples with larger
        distances have more mass on the set of all classes. None means no discount by distance.
    min_samples_split : "auto" or int, default="auto"
        Minimum number of samples of nodes that are split. "auto": 2, 4, 8, 16 or 32, by the same log-loss.
    max_features : {"auto", "sqrt", "log2"} or float, default="auto"
        Number of features to consider at each node: the square root or logarithm of their number, or a share of
        them. "auto": the square root; for soft labels, the square root or all features, by the same log-loss.
    class_weight : "balanced", dict or None, default=None
        Weights of the classes. "balanced" gives all classes the same total weight. It requires crisp labels.
    n_jobs : int or None, default=None
        Number of parallel jobs. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the trees.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes.
    focal_sets_ : FocalSets
        Focal sets: single classes and the set of all classes or, with soft labels, the sets of the labels and
        their intersections.
    effective_n_estimators_ : float
        Effective number of independent trees.
    min_samples_split_ : int
        Minimum number of samples of nodes that are split.
    oob_partition_ : CredalPartition
        Out-of-bag mass functions of the training samples. If they contradict a label, it may be wrong.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X has names.

    See Also
    --------
    masses_from_forest : Masses of a fitted scikit-learn forest.
    EvidentialKNNClassifier : Evidence of neighbors instead of leaves.

    Notes
    -----
    Trees are extremely randomized and fitted to bootstrap samples. Results do not depend on the order of the
    training samples. Equal samples count separately, except for distances to training samples, and thus for
    `reach`. The most plausible class of a sample out of reach is still that of the leaves, by a small margin. The
    masses of a sample with missing values (NaN) are averages over its completions, with additional mass on the set
    of all classes.

    References
    ----------
    Geurts et al. (2006) for the trees; Walley (1996) for the leaves.

    - Geurts et al. (2006), Extremely randomized trees, Machine Learning 63,
      doi:10.1007/s10994-006-6226-1.
    - Walley (1996), Inferences from multinomial data: learning about a bag of marbles,
      Journal of the Royal Statistical Society: Series B 58,
      doi:10.1111/j.2517-6161.1996.tb02065.x.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from evlearn.classify import EvidentialForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = EvidentialForestClassifier(random_state=0).fit(X, y)
    >>> model.predict(X[[0, 60, 120]])
    array([0, 1, 2])

    An iris with petals of 1 m belongs to none of these classes:

    >>> model.predict_mass([[5, 3, 100, 100]]).masses.round(2)
    array([[0., 0., 0., 0., 1.]])
    """

    _leaves: fields.Stored[Leaves]
    _surroundings: fields.Stored[BoxTree]
    _n_neighbors: fields.Stored[int]
    _reach: fields.Stored[fields.NonnegativeExtendedNumber]
    _center: fields.Stored[fields.Vector]
    _unit: fields.Stored[fields.ScaleVector]
    effective_n_estimators_: fields.Stored[fields.NonnegativeNumber]
    min_samples_split_: fields.Stored[Annotated[int, fields.whole(2)]]
    oob_partition_: fields.StoredIfSet[CredalPartition]

    _takes_gaps = True

    def __init__(
        self,
        n_estimators: int = 200,
        *,
        prior_strength: float = 0.5,
        effective_n_estimators: float | Literal["auto"] = "auto",
        reach: float | None = 0.95,
        min_samples_split: int | Literal["auto"] = "auto",
        max_features: float | Literal["auto", "sqrt", "log2"] = "auto",
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.prior_strength = prior_strength
        self.effective_n_estimators = effective_n_estimators
        self.reach = reach
        self.min_samples_split = min_samples_split
        self.max_features = max_features
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state

    @atomic_fit
    def fit(self, X: ArrayLike, y: ArrayLike | CredalPartition, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the trees, and learn their effective number.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,) or (n_samples, n_classes), or CredalPartition
            Their classes, of any type; plausibilities of the classes; or mass functions, for soft labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each sample: a weight of 2 is equivalent to 2 equal samples, and a weight of 0 to none.
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
        self._center, self._unit = usual_values(sample.rows, sample.weights)
        rows = self._scale(sample.rows)
        focal_sets, masses = sample.focal_sets, sample.masses
        probabilities = pignistic(masses, focal_sets)
        crisp = bool((probabilities.max(axis=1) == 1).all())
        # For crisp labels, squared errors are equivalent to the Gini index. For soft labels, splits depend on
        # probabilities, not on confidence; the masses have a small weight, and are only needed in the leaves.
        targets = masses[:, 1:] if crisp else np.hstack([probabilities, _MASS_WEIGHT * masses[:, 1:]])
        candidates = (self.max_features,) if self.max_features != "auto" else ("sqrt",) if crisp else ("sqrt", 1.0)
        random = check_random_state(self.random_state)
        seeds = random.randint(np.iinfo(np.int32).max, size=self.n_estimators)
        choices = [
            self._choose(
                self._grow(rows, targets, sample.weights, max_features, seeds), rows, probabilities, sample
            )
            for max_features in candidates
        ]
        best = min(choices, key=lambda choice: choice.loss)
        self._leaves, self.effective_n_estimators_, self.min_samples_split_ = (
            best.trees.leaves(best.size),
            best.effective_n_estimators,
            best.size,
        )
        self._fit_reach(rows)
        self.focal_sets_ = focal_sets
        self.oob_partition_ = self._out_of_bag(X, best, sample, places)
        return self

    def _check_parameters(self) -> None:
        check_integer("n_estimators", self.n_estimators, 1)
        check_real("prior_strength", self.prior_strength, 0, open_low=True)
        check_real("effective_n_estimators", self.effective_n_estimators, 0, open_low=True, or_auto=True)
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

    def _scale(self, data: FloatArray) -> FloatArray:
        return in_units(data, self._center, self._unit)

    def _grow(
        self, rows: FloatArray, targets: FloatArray, weights: FloatArray, max_features: Any, seeds: IntArray
    ) -> "_Forest":
        """Fit a tree to a bootstrap sample for each seed, and compute the out-of-bag shares of rows."""
        values, targets = rows.astype(np.float32), np.ascontiguousarray(targets)

        def grow(seed: int) -> tuple[ExtraTreeRegressor, FloatArray | BoolArray]:
            counts = bootstrap_counts(weights, np.random.default_rng(seed))
            tree = ExtraTreeRegressor(max_features=max_features, random_state=seed)
            tree.fit(values, targets, sample_weight=counts, check_input=False)
            return tree, shares_out_of_bag(weights, counts)

        trees, out_of_bag = zip(
            *Parallel(self.n_jobs, prefer="threads")(delayed(grow)(int(seed)) for seed in seeds), strict=True
        )
        return _Forest(list(trees), np.column_stack(out_of_bag))

    def _choose(self, forest: "_Forest", rows: FloatArray, targets: FloatArray, sample: "_Sample") -> "_Choice":
        """Return the node size and the effective number of trees with the smallest out-of-bag log-loss."""
        focal_sets, choices = sample.focal_sets, []
        trees = GrownTrees.of(forest.trees, len(focal_sets) - 1, self.prior_strength)
        nodes = reached_nodes(trees, rows)
        for size in _SIZES if self.min_samples_split == "auto" else (self.min_samples_split,):
            predictions = mean_masses(nodes, trees.pruned_masses(size), forest.out_of_bag)
            number, loss = _fit_effective_number(
                predictions, targets, focal_sets, self.effective_n_estimators, sample.weights
            )
            choices.append(_Choice(number, loss, size, trees, predictions))
        return min(choices, key=lambda choice: choice.loss)

    def _out_of_bag(self, X: Any, best: "_Choice", sample: "_Sample", places: IntArray | None) -> CredalPartition:
        """Return the out-of-bag masses of the training samples."""
        predictions = best.predictions[sample.places]
        if places is not None:  # no tree was fitted to samples of weight 0
            data = self._read_features(X, reset=False).data
            positive, first = np.unique(places, return_index=True)  # the first completion of each sample
            removed = np.setdiff1d(np.arange(len(data)), positive)
            complete = np.empty((len(data), predictions.shape[1]))
            complete[positive] = predictions[first]
            if len(removed):
                others = data[removed]
                others = self._known_gaps().fill(others) if np.isnan(others).any() else others
                complete[removed] = self._leaves.predict(self._scale(others))
            predictions = complete
        masses = combine_copies(predictions, self.focal_sets_, best.effective_n_estimators)
        return with_names_of(X, of_classes(CredalPartition(masses, self.focal_sets_, validate=False)))

    def _fit_reach(self, rows: FloatArray) -> None:
        """Compute the distances of distinct training samples to their neighbors, and the reach."""
        rows = rows[distinct_rows(rows).first]
        self._surroundings, self._n_neighbors = BoxTree.of(rows), min(_NEIGHBORS, len(rows) - 1)
        self._reach = np.inf
        if self.reach is not None and self._n_neighbors:
            squares = self._surroundings.nearest_others(self._n_neighbors, n_jobs=None)[1][:, -1]
            self._reach = float(np.quantile(squares, self.reach)) or _TINY

    def _masses(self, rows: FloatArray) -> FloatArray:
        scaled = self._scale(rows)
        masses = combine_copies(self._leaves.predict(scaled), self.focal_sets_, self.effective_n_estimators_)
        if np.isinf(self._reach):
            return masses
        squares = self._surroundings.nearest_of(scaled, self._n_neighbors, n_jobs=None)[1][:, -1]
        with np.errstate(over="ignore"):  # for infinitely remote samples
            factors = np.exp(np.minimum(1 - squares / self._reach, 0))[:, None]
        factors = np.maximum(factors, _MIN_FACTOR)
        masses *= factors
        masses[:, -1] += 1 - factors[:, 0]
        return masses

    def _after_loading(self) -> None:
        """Raise unless the attributes from a file are consistent."""
        super()._after_loading()
        self._check_parameters()
        sets, leaves = self.focal_sets_, self._leaves
        n_features = self.n_features_in_
        rows = self._surroundings.samples
        check_shape("rows", rows, (len(rows), n_features))
        for name in ("_center", "_unit"):
            check_shape(name, getattr(self, name), (n_features,))
        if self._n_neighbors > len(rows):
            raise ValueError("it needs more neighbors than there are samples")
        if sets.frame_size != len(self.classes_) or sets.intersection_gap is not None:
            raise ValueError("its sets do not match classes_")
        n_nodes, n_leaves = len(leaves.features), len(leaves.masses)
        check_shape("thresholds", leaves.thresholds, (n_nodes,))
        check_shape("children", leaves.children, (n_nodes, 2))
        check_shape("masses", leaves.masses, (n_leaves, len(sets) - 1))
        leaf = leaves.features < 0
        # Children follow their parents, so each path ends at a leaf.
        follows = (leaves.children > np.arange(n_nodes)[:, None]) & (leaves.children < n_nodes)
        if not (follows | leaf[:, None]).all() or (leaves.children[leaf] >= n_leaves).any():
            raise ValueError("a node of its trees has a child that does not exist")
        roots = leaves.roots
        if leaves.features.max(initial=-1) >= n_features or not len(roots) or roots.max() >= n_nodes:
            raise ValueError("its trees refer to features or nodes that do not exist")
        check_masses(np.pad(leaves.masses, ((0, 0), (1, 0))), sets)


class _Sample(NamedTuple):
    """Distinct training samples, sorted, so that repeated rows are equivalent to larger weights.

    Attributes
    ----------
    rows : ndarray of shape (n_distinct, n_features)
        Samples that differ in features or labels.
    masses : ndarray of shape (n_distinct, n_focal_sets)
        Masses of their labels.
    focal_sets : FocalSets
        Focal sets.
    weights : ndarray of shape (n_distinct,)
        Sums of the weights of equal samples, with a mean of at least 1.
    places : ndarray of int of shape (n_samples,)
        Distinct sample that each training sample equals.
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
        # The mean is at least 1, so that normalized weights are interpreted as numbers of samples.
        sums *= max(1.0, len(sums) / sums.sum())
        return cls(data[first], masses[first], focal_sets, sums, places)


class _Forest(NamedTuple):
    """Trees, and the out-of-bag share of each distinct sample for each tree."""

    trees: list[ExtraTreeRegressor]
    out_of_bag: FloatArray | BoolArray


class _Choice(NamedTuple):
    """Chosen parameters, with their loss, trees and out-of-bag predictions."""

    effective_n_estimators: float
    loss: float
    size: int
    trees: GrownTrees
    predictions: FloatArray


def bootstrap_counts(weights: FloatArray, random: np.random.Generator) -> FloatArray:
    """Return the weights of distinct samples in a bootstrap sample.

    The number of draws is the total weight, so that integer weights are equivalent to repeated samples.
    """
    total = float(weights.sum())
    n_draws = int(min(round(total), _MAX_DRAWS))
    return np.asarray(random.multinomial(n_draws, weights / total) * (total / n_draws))


def shares_out_of_bag(weights: FloatArray, counts: FloatArray) -> FloatArray | BoolArray:
    """Return the expected out-of-bag shares of equal samples, given the number of draws."""
    if (weights <= 1).all():
        return np.asarray(counts == 0)
    return np.power(np.maximum(1 - 1 / weights, 0), counts, dtype=np.float32)


def masses_from_forest(
    forest: ClassifierLike, X: ArrayLike, *, prior_strength: float = 0.5, effective_n_estimators: float = 1.0
) -> CredalPartition:
    """Compute mass functions from a fitted scikit-learn forest.

    Each leaf has mass on the classes of its training samples and, depending on their number, on the set of all
    classes. The masses are averaged over the trees.

    Parameters
    ----------
    forest : fitted scikit-learn classifier
        Fitted `~sklearn.ensemble.RandomForestClassifier` or `~sklearn.ensemble.ExtraTreesClassifier`, alone or at
        the end of a pipeline.
    X : array-like of shape (n_samples, n_features)
        Samples.
    prior_strength : float, default=0.5
        Number of prior samples of unknown class in each leaf, as in the imprecise Dirichlet model.
    effective_n_estimators : float, default=1.0
        Effective number of independent trees; `EvidentialForestClassifier` learns it.

    Returns
    -------
    CredalPartition
        Mass functions on single classes and the set of all classes.

    See Also
    --------
    EvidentialForestClassifier : Evidential forest with a learned effective number of trees and a reach.

    References
    ----------
    Walley (1996), Inferences from multinomial data: learning about a bag of marbles,
    Journal of the Royal Statistical Society: Series B 58,
    doi:10.1111/j.2517-6161.1996.tb02065.x.

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
    check_real("effective_n_estimators", effective_n_estimators, 0, open_low=True)
    rows: FloatArray = check_array(X if before is None else before.transform(X), dtype=np.float64, input_name="X")
    if rows.shape[1] != last.n_features_in_:
        raise ValueError(f"X must have the {last.n_features_in_} features of the forest, got {rows.shape[1]}.")
    sets = FocalSets.simple([str(name) for name in last.classes_])
    leaves = GrownTrees.of(last.estimators_, len(sets) - 1, prior_strength).leaves()
    masses = combine_copies(leaves.predict(rows), sets, effective_n_estimators)
    return with_names_of(X, of_classes(CredalPartition(masses, sets, validate=False)))


def _check_forest(forest: Any) -> None:
    """Check that all trees of a forest have all features and classes, and equal weights."""
    name = type(forest).__name__
    if not isinstance(forest, RandomForestClassifier | ExtraTreesClassifier):
        raise ValueError(
            "forest must be a fitted forest of classification trees: a RandomForestClassifier or an "
            f"ExtraTreesClassifier, got {name}, whose members may have different features, classes or weights. "
            "Fit one of these forests, or an EvidentialForestClassifier."
        )
    if forest.n_outputs_ > 1:
        raise ValueError(
            f"forest must have a single target, got a {name} with {forest.n_outputs_}; fit a forest per target."
        )
    n_classes, n_features = len(forest.classes_), forest.n_features_in_
    for tree in forest.estimators_:
        if getattr(tree, "n_features_in_", None) != n_features or len(getattr(tree, "classes_", ())) != n_classes:
            raise ValueError(
                f"forest must have trees with all {n_features} features and all {n_classes} classes, got a "
                f"{name} in which a tree does not: use a RandomForestClassifier or an ExtraTreesClassifier."
            )


def _masses_of(labels: Labels) -> tuple[FocalSets, FloatArray]:
    """Return the focal sets, closed under intersection, and the masses of the labels."""
    if labels.codes is not None:
        focal_sets = singletons_and_frame(labels)
        masses: FloatArray = np.zeros((len(labels.codes), len(focal_sets)))
        masses[np.arange(len(masses)), 1 + labels.codes] = 1
        return focal_sets, masses
    assert labels.partition is not None
    family = labels.partition.focal_sets.closure("intersection").with_names(labels.names)
    return family, expand_masses(labels.partition.masses, labels.partition.focal_sets, family)


def combine_copies(masses: FloatArray, focal_sets: FocalSets, number: float) -> FloatArray:
    """Combine a number of equal independent mass functions by Dempster's rule.

    Commonalities of nonempty sets are raised to the power of `number`, which may be fractional.
    """
    full_masses = np.zeros((len(masses), len(focal_sets)))
    full_masses[:, 1:] = masses
    logs = number * np.log(np.maximum(commonality(full_masses, focal_sets)[:, 1:], _TINY))
    return masses_of_logs(logs, focal_sets)


def _fit_effective_number(
    predictions: FloatArray,
    targets: FloatArray,
    focal_sets: FocalSets,
    effective_n_estimators: Any,
    weights: FloatArray,
) -> tuple[float, float]:
    """Return the effective number of trees with the smallest log-loss of plausibilities, and the loss."""
    masses = np.zeros((len(predictions), len(focal_sets)))
    masses[:, 1:] = predictions
    logs = np.log(np.maximum(contour(masses, focal_sets), _TINY))
    shares = weights / weights.sum()

    def loss(log_number: float) -> float:
        scaled = np.exp(log_number) * logs
        scaled -= scaled.max(axis=1, keepdims=True)
        scaled -= np.log(np.exp(scaled).sum(axis=1, keepdims=True))
        return float(-shares @ (targets * scaled).sum(axis=1))

    if effective_n_estimators != "auto":
        return float(effective_n_estimators), loss(np.log(effective_n_estimators))
    result = minimize_scalar(loss, bounds=np.log(_EFFECTIVE_RANGE), method="bounded")
    return float(np.exp(result.x)), float(result.fun)
