"""Evidential forests: masses of leaves, effective number of trees, remote samples, soft labels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_blobs
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from evlearn import CredalPartition
from evlearn.belief import FocalSets, combine, pignistic
from evlearn.classify import EvidentialForestClassifier, masses_from_forest
from evlearn.classify.forest import bootstrap_counts, combine_copies, shares_out_of_bag
from evlearn.classify.leaves import GrownTrees, mean_masses, reached_nodes
from evlearn.classify.samples import usual_values


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def model(iris):
    return EvidentialForestClassifier(50, random_state=0).fit(*iris)


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_leaves_without_a_prior_have_the_probabilities_of_the_forest(iris, kind):
    X, y = iris
    forest = make_pipeline(StandardScaler(), kind(20, random_state=0)).fit(X, y)
    partition = masses_from_forest(forest, X, prior_strength=1e-12)
    np.testing.assert_allclose(partition.masses[:, 1:-1], forest.predict_proba(X), atol=1e-9)


def test_samples_have_the_same_leaves_as_in_scikit_learn(iris):
    X, y = iris
    forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    leaves, expected = GrownTrees.of(forest.estimators_, 4, 1.0).leaves().apply(X), forest.apply(X)
    for column, expected_column in zip(leaves.T, expected.T, strict=True):
        pairs = set(zip(column.tolist(), expected_column.tolist(), strict=True))
        assert len(pairs) == len(set(column.tolist())) == len(set(expected_column.tolist()))


def test_small_nodes_are_not_split(iris):
    X, y = iris
    trees = RandomForestClassifier(5, random_state=0).fit(X, y).estimators_
    grown = GrownTrees.of(trees, 4, 1.0)
    leaves = grown.leaves(40)
    assert len(leaves.features) < len(grown.features)
    # Children have larger numbers than their parents.
    split_nodes = np.flatnonzero(leaves.features >= 0)
    assert (leaves.children[split_nodes] > split_nodes[:, None]).all()


simple_masses = st.lists(st.floats(0.01, 1), min_size=4, max_size=4).map(
    lambda masses: np.array([masses]) / sum(masses)
)


@given(nonempty=simple_masses)
@settings(deadline=None, max_examples=30)
def test_two_copies_are_combined_by_dempsters_rule(nonempty):
    sets = FocalSets.simple(3)
    masses = np.pad(nonempty, ((0, 0), (1, 0)))
    np.testing.assert_allclose(combine_copies(nonempty, sets, 1.0), masses, atol=1e-12)
    np.testing.assert_allclose(combine_copies(nonempty, sets, 2.0), combine([masses, masses], sets), atol=1e-12)


@given(masses=simple_masses, number=st.floats(1, 20))
@settings(deadline=None, max_examples=30)
def test_more_copies_have_less_mass_on_all_classes(masses, number):
    sets = FocalSets.simple(3)
    assert combine_copies(masses, sets, number)[0, -1] <= masses[0, -1] + 1e-12


def test_a_stronger_prior_increases_the_mass_on_all_classes(iris):
    X, y = iris
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    weak, strong = (masses_from_forest(forest, X, prior_strength=s).masses[:, -1] for s in (0.5, 2))
    assert (weak < strong).all()


def test_samples_out_of_reach_have_all_mass_on_all_classes(model, iris):
    remote = np.array([[5, 3, 100, 100], [1e6, 0, 0, 0]])
    np.testing.assert_allclose(model.predict_mass(remote).masses[:, -1], 1, atol=1e-6)
    unlimited = EvidentialForestClassifier(50, reach=None, random_state=0).fit(*iris)
    assert unlimited.predict_mass(remote).masses[:, -1].max() < 0.5


def test_out_of_bag_masses_detect_wrong_labels():
    X, y = make_blobs(300, centers=[[0, 0], [6, 0], [0, 6]], random_state=0)
    mislabeled = np.arange(0, 300, 20)
    given_labels = y.copy()
    given_labels[mislabeled] = (y[mislabeled] + 1) % 3
    model = EvidentialForestClassifier(100, random_state=0).fit(X, given_labels)
    contradicted = model.oob_partition_.to_hard() != given_labels
    assert contradicted[mislabeled].mean() > 0.9
    assert contradicted.mean() < 0.08


def test_the_result_does_not_depend_on_the_number_of_workers(iris):
    X, y = iris
    serial, parallel = (EvidentialForestClassifier(20, n_jobs=n, random_state=1).fit(X, y) for n in (1, 2))
    assert serial.predict_mass(X) == parallel.predict_mass(X)
    assert serial.oob_partition_ == parallel.oob_partition_


def test_vacuous_labels_give_vacuous_masses(iris):
    X, _ = iris
    masses = np.zeros((150, 5))
    masses[:, -1] = 1
    model = EvidentialForestClassifier(20, random_state=0).fit(X, CredalPartition(masses, FocalSets.simple(3)))
    np.testing.assert_allclose(model.predict_mass(X).masses[:, -1], 1, atol=1e-9)


def test_labels_may_be_sets(iris):
    X, y = iris
    sets = FocalSets([(), (0,), (1,), (2,), (1, 2), (0, 1, 2)], 3)
    masses = np.zeros((150, len(sets)))
    positions = np.where(np.arange(150) % 2, sets.positions(np.eye(3, dtype=bool)[y]), 0)
    torn = sets.positions(np.array([[False, True, True], [True, True, True]]))
    positions = np.where(np.arange(150) % 2 == 0, np.where(y == 0, torn[1], torn[0]), positions)
    masses[np.arange(150), positions] = 1
    model = EvidentialForestClassifier(100, random_state=0).fit(X, CredalPartition(masses, sets))
    assert model.score(X, y) > 0.93


def test_weights_of_classes_are_weights_of_their_samples(iris):
    X, y = iris
    weights = {0: 1.0, 1: 1.0, 2: 5.0}
    by_class = EvidentialForestClassifier(20, class_weight=weights, random_state=0).fit(X, y)
    by_sample = EvidentialForestClassifier(20, random_state=0).fit(X, y, sample_weight=np.where(y == 2, 5.0, 1.0))
    assert by_class.predict_mass(X) == by_sample.predict_mass(X)
    soft = np.eye(3)[y]
    with pytest.raises(ValueError, match="class_weight='balanced' requires crisp labels"):
        EvidentialForestClassifier(5, class_weight="balanced").fit(X, soft)


class OtherFeatures(RandomForestClassifier):
    """Forest with a tree that was fitted to other features."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.estimators_[-1] = DecisionTreeClassifier().fit(np.asarray(X)[:, 1:], y)
        return self


class OtherClasses(ExtraTreesClassifier):
    """Forest with a tree that was fitted to some of the classes."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.estimators_[-1] = DecisionTreeClassifier().fit(X[y < 2], y[y < 2])
        return self


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (BaggingClassifier(DecisionTreeClassifier(), max_features=0.5, n_estimators=5), "got BaggingClassifier"),
        (OneVsRestClassifier(DecisionTreeClassifier()), "got OneVsRestClassifier"),
        (AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=3), "got AdaBoostClassifier"),
        (GradientBoostingClassifier(n_estimators=3), "got GradientBoostingClassifier"),
        (RandomForestRegressor(5), "got RandomForestRegressor"),
        (DecisionTreeClassifier(), "got DecisionTreeClassifier"),
        (StandardScaler(), "forest must be a fitted forest of classification trees"),
        (make_pipeline(StandardScaler(), BaggingClassifier(n_estimators=3)), "Fit one of these forests"),
        (OtherFeatures(5), "all 4 features and all 3 classes, got a OtherFeatures"),
        (OtherClasses(5), "all 4 features and all 3 classes, got a OtherClasses"),
    ],
)
def test_other_models_are_rejected(iris, model, message):
    X, y = iris
    with pytest.raises(ValueError, match=message):
        masses_from_forest(model.fit(X, y), X)


def test_a_forest_has_one_target_and_samples_have_its_features(iris):
    X, y = iris
    multi_output = RandomForestClassifier(5).fit(X, np.column_stack([y, y > 0]))
    with pytest.raises(ValueError, match="single target, got a RandomForestClassifier with 2; fit a forest"):
        masses_from_forest(multi_output, X)
    forest = RandomForestClassifier(5).fit(X, y)
    for rows in (X[:, :3], np.hstack([X, X])):
        with pytest.raises(ValueError, match="X must have the 4 features of the forest, got"):
            masses_from_forest(forest, rows)


def test_subclasses_of_forests_are_accepted(iris):
    class Derived(RandomForestClassifier):
        pass

    X, y = iris
    derived, plain = (kind(10, random_state=0).fit(X, y) for kind in (Derived, RandomForestClassifier))
    assert masses_from_forest(derived, X) == masses_from_forest(plain, X)


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.slow
def test_copies_of_all_samples_change_neither_reach_nor_accuracy(load):
    X, y = load(return_X_y=True)
    splits = [train_test_split(X, y, stratify=y, test_size=0.5, random_state=seed) for seed in range(3)]
    accuracies, open_masses, reaches = {}, {}, {}
    for copies in (1, 2, 6, 10):
        models = [
            EvidentialForestClassifier(50, random_state=0).fit(
                np.tile(train, (copies, 1)), np.tile(labels, copies)
            )
            for train, _, labels, _ in splits
        ]
        pairs = list(zip(models, splits, strict=True))
        accuracies[copies] = np.mean([model.score(new, truth) for model, (_, new, _, truth) in pairs])
        open_masses[copies] = np.mean([model.predict_mass(new).masses[:, -1] for model, (_, new, _, _) in pairs])
        reaches[copies] = np.mean([model._reach for model in models])
    assert max(accuracies.values()) - min(accuracies.values()) < 0.02
    assert max(open_masses.values()) - min(open_masses.values()) < 0.02
    # Nearly equal: units of features depend on quantiles, which copies change a little.
    assert max(reaches.values()) < 1.1 * min(reaches.values())


def test_samples_between_discrete_values_are_within_reach():
    random = np.random.default_rng(0)
    X = random.integers(1, 6, size=(3000, 3)).astype(float)
    new = random.integers(2, 10, size=(1000, 3)) / 2  # for example, 3.5
    score = X @ [1, 0.7, -0.5]
    y = score + random.normal(scale=0.5, size=3000) > score.mean()
    truth = new @ [1, 0.7, -0.5] > score.mean()
    model = EvidentialForestClassifier(50, random_state=0).fit(X, y)
    assert model.score(new, truth) > RandomForestClassifier(50, random_state=0).fit(X, y).score(new, truth)
    assert model.predict_mass(new).masses[:, -1].max() < 0.5
    unseen = ~(X == [5, 5, 1]).all(axis=1)
    model = EvidentialForestClassifier(50, random_state=0).fit(X[unseen], y[unseen])
    assert model.predict_mass([[5, 5, 1]]).masses[0, -1] < 0.7


def test_the_class_of_samples_out_of_reach_is_that_of_the_leaves(iris):
    X, y = iris
    remote = X + [0, 0, 0, 1e4] * np.linspace(1, 1e3, 150)[:, None]
    limited, unlimited = (
        EvidentialForestClassifier(50, reach=reach, random_state=0).fit(X, y) for reach in (0.95, None)
    )
    np.testing.assert_allclose(limited.predict_mass(remote).masses[:, -1], 1, atol=1e-8)
    np.testing.assert_array_equal(limited.predict(remote), unlimited.predict(remote))
    assert set(limited.predict(remote)) != {0}


def test_the_result_does_not_depend_on_the_order_of_samples(iris):
    X, y = iris
    order = np.random.default_rng(0).permutation(150)
    original, shuffled = (
        EvidentialForestClassifier(20, random_state=0).fit(X[k], y[k]) for k in (slice(None), order)
    )
    assert original.predict_mass(X) == shuffled.predict_mass(X)
    np.testing.assert_array_equal(original.oob_partition_.masses[order], shuffled.oob_partition_.masses)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=30), st.integers(0, 1000))
def test_bootstrap_samples_have_the_size_of_the_data(weights, seed):
    counts = bootstrap_counts(np.array(weights, dtype=float), np.random.default_rng(seed))
    assert counts.sum() == sum(weights)
    assert (counts == counts.round()).all()


def test_leaves_with_copies_of_samples_leave_less_open(iris):
    X, y = iris
    settings = {"effective_n_estimators": 1, "min_samples_split": 2, "reach": None, "random_state": 0}
    original, tripled, weighted = (
        EvidentialForestClassifier(20, **settings).fit(rows, labels, sample_weight=weights).predict_mass(X)
        for rows, labels, weights in (
            (X, y, None),
            (np.repeat(X, 3, axis=0), np.repeat(y, 3), None),
            (X, y, np.full(150, 3.0)),
        )
    )
    assert tripled == weighted
    assert weighted.masses[:, -1].mean() < 0.6 * original.masses[:, -1].mean()


def test_out_of_bag_samples_are_those_not_drawn():
    weights = np.ones(4)
    np.testing.assert_array_equal(shares_out_of_bag(weights, np.array([0.0, 1, 2, 0])), [True, False, False, True])
    # Of 3 equal samples, a draw leaves 2 out of bag, and a second draw leaves 2/3 of these.
    shares = shares_out_of_bag(np.array([3.0, 3, 1, 0.5]), np.array([1.0, 2, 1, 0]))
    np.testing.assert_allclose(shares, [2 / 3, 4 / 9, 0, 1], rtol=1e-6)


@given(st.lists(st.integers(1, 4), min_size=4, max_size=40), st.integers(0, 1000))
def test_units_of_weighted_samples_are_those_of_repeated_ones(counts, seed):
    data = np.random.default_rng(seed).normal(size=(len(counts), 3)).round(1) ** 3
    data[:, 2] = 0.1  # a constant has no unit
    weighted = usual_values(data, np.array(counts, dtype=float))
    repeated = usual_values(np.repeat(data, counts, axis=0))
    np.testing.assert_allclose(weighted, repeated, rtol=1e-12, atol=1e-14)
    assert weighted[1][2] == 1


def test_units_are_robust_to_outliers():
    data = np.arange(1000.0)[:, None]
    outliers = np.vstack([data, [[1e9]] * 5])
    np.testing.assert_allclose(usual_values(outliers), usual_values(data), rtol=0.02)
    inner = np.clip(data, np.quantile(data, 0.01, method="higher"), np.quantile(data, 0.99, method="lower"))
    np.testing.assert_allclose(np.ravel(usual_values(data)), [inner.mean(), inner.std()])


@pytest.mark.slow
def test_soft_labels_are_better_than_best_guesses():
    gains = []
    for seed in range(3):
        random = np.random.default_rng(seed)
        y = random.integers(3, size=600)
        X = random.normal(size=(600, 12))
        X[:, :3] += 1.5 * np.eye(3)[y]
        # Guesses with a larger doubt are wrong more often.
        doubt = random.random(600)
        guess = np.where(random.random(600) < doubt, random.integers(3, size=600), y)
        plausibilities = np.where(np.eye(3)[guess] == 1, 1, doubt[:, None])
        soft, crisp = (
            EvidentialForestClassifier(50, random_state=0).fit(X[:300], labels[:300]).predict(X[300:])
            for labels in (plausibilities, guess)
        )
        gains.append((soft == y[300:]).mean() - (crisp == y[300:]).mean())
    assert np.mean(gains) > 0.02


@pytest.mark.parametrize(("reach", "square"), [(0.5, 9.0), (0.95, 9.0), (0.98, 16.18), (1.0, 25.0)])
def test_mass_decreases_beyond_the_chosen_quantile_of_distances(reach, square):
    # The 5th neighbor is 3 steps away from 96 of these samples, 4 from 2 and 5 from the 2 at the ends.
    X, y = np.arange(100.0)[:, None], np.arange(100) // 50
    limited, unlimited = (EvidentialForestClassifier(10, reach=r, random_state=0).fit(X, y) for r in (reach, None))
    steps = np.linspace(0, 8, 17)
    new = 99 + steps[:, None]
    factors = np.minimum(np.exp(1 - (4 + steps) ** 2 / square), 1)[:, None]
    expected = factors * unlimited.predict_mass(new).masses
    expected[:, -1] += 1 - factors[:, 0]
    np.testing.assert_allclose(limited.predict_mass(new).masses, expected, atol=1e-8)


def test_nodes_consider_as_many_features_as_they_should():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 16))
    y = (X[:, 0] > 0).astype(int)

    def loss(max_features, labels):
        model = EvidentialForestClassifier(10, max_features=max_features, min_samples_split=2, random_state=0)
        probabilities = pignistic(model.fit(X, labels).oob_partition_.masses, model.focal_sets_)
        return -np.log(probabilities[np.arange(200), y]).mean()

    for labels in (y, np.where(np.eye(2)[y] == 1, 1.0, 0.1)):
        losses = {value: loss(value, labels) for value in (0.05, 0.25, "sqrt", "log2", 1.0)}
        assert losses["sqrt"] == losses["log2"] == losses[0.25]  # 4 features of 16
        # Only 1 feature is informative: nodes that consider more features find it more often.
        assert losses[1.0] < 0.8 * losses[0.25] < 0.8 * 0.9 * losses[0.05]


@pytest.mark.parametrize("size", [*range(2, 15), 37, 50, 54, 150, 151])
def test_nodes_with_fewer_samples_than_asked_for_are_leaves_and_others_are_not(iris, size):
    X, y = iris
    trees = [DecisionTreeClassifier(splitter="random", random_state=seed).fit(X, y) for seed in range(5)]
    leaves = GrownTrees.of(trees, 4, 1.0).leaves(size)
    for tree, numbers in zip(trees, leaves.apply(X).T, strict=True):
        counts, is_leaf = tree.tree_.n_node_samples, tree.tree_.children_left < 0
        paths = tree.decision_path(X).toarray() > 0
        # Parents come before their children.
        expected = (paths & (is_leaf | (counts < size))).argmax(axis=1)
        np.testing.assert_allclose(leaves.masses[numbers, -1], 1 / (counts[expected] + 1))


def test_a_node_of_min_samples_split_samples_is_split(iris):
    X, y = iris
    n_samples = len(X)
    for size, is_split in ((n_samples, True), (n_samples + 1, False)):
        model = EvidentialForestClassifier(5, min_samples_split=size, reach=None, random_state=0).fit(X, y)
        assert model.min_samples_split_ == size
        assert bool(np.ptp(model.predict_mass(X).masses, axis=0).max() > 0.1) == is_split


def test_samples_in_every_bag_have_the_masses_of_all_trees(iris):
    X, y = iris
    model = EvidentialForestClassifier(1, reach=None, random_state=0).fit(X, y)
    oob, all_trees = model.oob_partition_.masses, model.predict_mass(X).masses
    np.testing.assert_allclose(oob.sum(axis=1), 1)
    np.testing.assert_allclose(oob, all_trees)  # of a single tree
    forest = EvidentialForestClassifier(3, reach=None, random_state=0).fit(X, y)
    is_equal = np.isclose(forest.oob_partition_.masses, forest.predict_mass(X).masses).all(axis=1)
    assert 0.1 < is_equal.mean() < 0.6  # (1 - 1/e)^3 of the samples are in all 3 bags


def test_mean_masses_are_weighted_means_over_trees():
    random = np.random.default_rng(0)
    nodes, masses = random.integers(20, size=(30, 7)), random.uniform(size=(20, 4))
    weights = random.uniform(0.1, 1, size=(30, 7)) * (random.uniform(size=(30, 7)) < 0.7)
    weights[3] = 0  # all trees
    shares = np.where(weights.any(axis=1, keepdims=True), weights, 1)
    expected = np.einsum("it,itj->ij", shares / shares.sum(axis=1, keepdims=True), masses[nodes])
    np.testing.assert_allclose(mean_masses(nodes, masses, weights), expected)
    np.testing.assert_allclose(mean_masses(nodes, masses), masses[nodes].mean(axis=1))


@pytest.mark.parametrize("size", [0, 5, 20, 1000])
def test_masses_of_pruned_nodes_are_those_of_the_leaves(iris, size):
    X, y = iris
    trees = RandomForestClassifier(10, random_state=0).fit(X, y).estimators_
    grown = GrownTrees.of(trees, 4, 1.0)
    expected = grown.leaves(size).predict(X)
    np.testing.assert_array_equal(mean_masses(reached_nodes(grown, X), grown.pruned_masses(size)), expected)
