"""The evidential forest: leaves as mass functions, trees as witnesses, samples out of reach, doubtful labels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, make_blobs
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evlearn import CredalPartition
from evlearn.belief import FocalSets, dempster
from evlearn.classify import EvidentialForestClassifier, masses_from_forest
from evlearn.classify.forest import witnessed
from evlearn.classify.leaves import Leaves


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def model(iris):
    return EvidentialForestClassifier(50, random_state=0).fit(*iris)


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_leaves_without_a_prior_say_the_probabilities_of_the_forest(iris, kind):
    X, y = iris
    forest = make_pipeline(StandardScaler(), kind(20, random_state=0)).fit(X, y)
    partition = masses_from_forest(forest, X, prior_strength=1e-12)
    np.testing.assert_allclose(partition.masses[:, 1:-1], forest.predict_proba(X), atol=1e-9)


def test_samples_reach_the_leaves_that_scikit_learn_says(iris):
    X, y = iris
    forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    ours, theirs = Leaves.of(forest.estimators_, 4, 1.0).reached(X), forest.apply(X)
    for one, other in zip(ours.T, theirs.T, strict=True):
        pairs = set(zip(one.tolist(), other.tolist(), strict=True))
        assert len(pairs) == len(set(one.tolist())) == len(set(other.tolist()))


def test_small_nodes_are_not_divided(iris):
    X, y = iris
    trees = RandomForestClassifier(5, random_state=0).fit(X, y).estimators_
    leaves = Leaves.of(trees, 4, 1.0, smallest=40)
    assert len(leaves.features) < len(Leaves.of(trees, 4, 1.0).features)
    # A leaf of n samples leaves 1 / (n + 1) open, and none of those that would have been divided has 40.
    divided = np.flatnonzero(leaves.features >= 0)
    assert (leaves.children[divided] > divided[:, None]).all()


simple_masses = st.lists(st.floats(0.01, 1), min_size=4, max_size=4).map(lambda one: np.array([one]) / sum(one))


@given(said=simple_masses)
@settings(deadline=None, max_examples=30)
def test_two_witnesses_are_combined_by_dempsters_rule(said):
    sets = FocalSets.simple(3)
    masses = np.pad(said, ((0, 0), (1, 0)))
    np.testing.assert_allclose(witnessed(said, sets, 1.0), masses, atol=1e-12)
    np.testing.assert_allclose(witnessed(said, sets, 2.0), dempster([masses, masses], sets), atol=1e-12)


@given(said=simple_masses, number=st.floats(1, 20))
@settings(deadline=None, max_examples=30)
def test_more_witnesses_leave_less_open(said, number):
    sets = FocalSets.simple(3)
    assert witnessed(said, sets, number)[0, -1] <= said[0, -1] + 1e-12


def test_a_stronger_prior_leaves_more_open(iris):
    X, y = iris
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    weak, strong = (masses_from_forest(forest, X, prior_strength=s).masses[:, -1] for s in (0.5, 2))
    assert (weak < strong).all()


def test_samples_out_of_reach_are_of_no_known_class(model, iris):
    far = np.array([[5, 3, 100, 100], [1e6, 0, 0, 0]])
    np.testing.assert_allclose(model.predict_mass(far).masses[:, -1], 1, atol=1e-6)
    blind = EvidentialForestClassifier(50, reach=None, random_state=0).fit(*iris)
    assert blind.predict_mass(far).masses[:, -1].max() < 0.5


def test_what_is_out_of_bag_finds_wrong_labels():
    X, y = make_blobs(300, centers=[[0, 0], [6, 0], [0, 6]], random_state=0)
    wrong = np.arange(0, 300, 20)
    given_labels = y.copy()
    given_labels[wrong] = (y[wrong] + 1) % 3
    model = EvidentialForestClassifier(100, random_state=0).fit(X, given_labels)
    contradicted = model.oob_partition_.to_hard() != given_labels
    assert contradicted[wrong].mean() > 0.9
    assert contradicted.mean() < 0.08


def test_the_bits_do_not_depend_on_the_number_of_workers(iris):
    X, y = iris
    one, two = (EvidentialForestClassifier(20, n_jobs=n, random_state=1).fit(X, y) for n in (1, 2))
    assert one.predict_mass(X) == two.predict_mass(X)
    assert one.oob_partition_ == two.oob_partition_


def test_vacuous_labels_teach_nothing(iris):
    X, _ = iris
    masses = np.zeros((150, 5))
    masses[:, -1] = 1
    model = EvidentialForestClassifier(20, random_state=0).fit(X, CredalPartition(masses, FocalSets.simple(3)))
    np.testing.assert_allclose(model.predict_mass(X).masses[:, -1], 1, atol=1e-9)


def test_sets_as_labels_are_learned_from(iris):
    X, y = iris
    sets = FocalSets([(), (0,), (1,), (2,), (1, 2), (0, 1, 2)], 3)
    masses = np.zeros((150, len(sets)))
    places = np.where(np.arange(150) % 2, sets.positions(np.eye(3, dtype=bool)[y]), 0)
    torn = sets.positions(np.array([[False, True, True], [True, True, True]]))
    places = np.where(np.arange(150) % 2 == 0, np.where(y == 0, torn[1], torn[0]), places)
    masses[np.arange(150), places] = 1
    model = EvidentialForestClassifier(100, random_state=0).fit(X, CredalPartition(masses, sets))
    assert model.score(X, y) > 0.93


def test_weights_of_classes_are_weights_of_their_samples(iris):
    X, y = iris
    weights = {0: 1.0, 1: 1.0, 2: 5.0}
    one = EvidentialForestClassifier(20, class_weight=weights, random_state=0).fit(X, y)
    other = EvidentialForestClassifier(20, random_state=0).fit(X, y, sample_weight=np.where(y == 2, 5.0, 1.0))
    assert one.predict_mass(X) == other.predict_mass(X)
    soft = np.eye(3)[y]
    with pytest.raises(ValueError, match="class_weight='balanced' needs crisp labels"):
        EvidentialForestClassifier(5, class_weight="balanced").fit(X, soft)


def test_a_forest_is_needed(iris):
    X, _ = iris
    with pytest.raises(ValueError, match="forest must be a fitted forest of classification trees"):
        masses_from_forest(StandardScaler().fit(X), X)


def test_doubtful_labels_teach_more_than_best_guesses():
    random = np.random.default_rng(0)
    y = random.integers(3, size=600)
    X = random.normal(size=(600, 12))
    X[:, :3] += 1.5 * np.eye(3)[y]
    # Who doubts is wrong more often, and says so.
    doubt = random.random(600)
    guess = np.where(random.random(600) < doubt, random.integers(3, size=600), y)
    plausibilities = np.where(np.eye(3)[guess] == 1, 1, doubt[:, None])
    right = [
        (
            EvidentialForestClassifier(50, random_state=0).fit(X[:300], said[:300]).predict(X[300:]) == y[300:]
        ).mean()
        for said in (plausibilities, guess)
    ]
    assert right[0] > right[1] + 0.02
