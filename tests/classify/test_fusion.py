"""Several classifiers together: reliabilities that are learned, members that fail, and the theory behind it."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_wine, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import evlearn
from evlearn import CredalPartition, belief
from evlearn.belief import FocalSets
from evlearn.classify import EvidentialForestClassifier, EvidentialKNNClassifier, FusionClassifier

X, Y = load_wine(return_X_y=True)
FRAME = load_wine(as_frame=True).data
ACIDS, COLOUR = [1, 2, 3], [9, 10, 11]


def sensor(columns, model=None):
    return make_pipeline(make_column_transformer((StandardScaler(), columns)), model or EvidentialKNNClassifier(5))


def two(**parameters):
    return FusionClassifier([("acids", sensor(ACIDS)), ("colour", sensor(COLOUR))], **parameters)


@parametrize_with_checks(
    [
        FusionClassifier(
            [("near", EvidentialKNNClassifier(3)), ("trees", EvidentialForestClassifier(5, random_state=0))], cv=2
        )
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 4), st.integers(0, 1000))
def test_contextual_discounting_weakens_what_is_said_against_a_class(n_classes, seed):
    random = np.random.default_rng(seed)
    sets = FocalSets.full(n_classes)
    masses, rates = random.dirichlet(np.full(len(sets), 0.3), size=3), random.random(n_classes)
    found = belief.contextual_discount(masses, sets, rates)
    belief.check_masses(found, sets)
    expected = 1 - (1 - rates) * (1 - belief.contour(masses, sets))
    np.testing.assert_allclose(belief.contour(found, sets), expected, atol=1e-9)
    np.testing.assert_allclose(belief.contextual_discount(masses, sets, np.zeros(n_classes)), masses, atol=1e-12)


def test_contextual_discounting_of_a_sensor_that_takes_airplanes_for_rockets():
    sets = FocalSets.full(["a", "h", "r"])
    masses = np.zeros(8)
    masses[[sets.index(["a"]), sets.index(["r"])]] = 0.5
    found = belief.contextual_discount(masses, sets, [0.4, 0, 0])
    assert found[sets.index(["a"])] == pytest.approx(0.5)
    assert found[sets.index(["r"])] == pytest.approx(0.3)
    assert found[sets.index(["a", "r"])] == pytest.approx(0.2)


def test_what_cannot_be_discounted_is_refused():
    with pytest.raises(ValueError, match="rates must hold 2 numbers"):
        belief.contextual_discount([0, 1, 0, 0], FocalSets.full(2), [0.1])
    with pytest.raises(ValueError, match="all subsets"):
        belief.contextual_discount([0, 1, 0, 0, 0], FocalSets.simple(3), [0.1, 0, 0])


@pytest.mark.parametrize("discounting", ["contextual", "plain", None])
def test_together_they_are_better_than_each(discounting):
    model = two(discounting=discounting).fit(X[::2], Y[::2])
    belief.check_masses(model.predict_mass(X).masses, model.focal_sets_)
    alone = [one.score(X[1::2], Y[1::2]) for one in model.estimators_]
    assert model.score(X[1::2], Y[1::2]) > max(alone)
    if discounting is None:
        assert (model.reliabilities_ == 1).all()


@pytest.mark.parametrize("discounting", ["contextual", "plain"])
def test_plausibilities_are_products_of_discounted_ones(discounting):
    model = two(discounting=discounting).fit(X, Y)
    said = [one[:-1].transform(X) for one in model.estimators_]
    contours = [
        one[-1].predict_mass(rows).to_possibilistic() for one, rows in zip(model.estimators_, said, strict=True)
    ]
    product = np.prod(
        [1 - one * (1 - contour) for one, contour in zip(model.reliabilities_, contours, strict=True)], axis=0
    )
    np.testing.assert_allclose(
        model.predict_proba(X), product / product.sum(axis=1, keepdims=True), rtol=1e-6, atol=1e-9
    )


def test_who_guesses_is_not_believed_and_who_knows_one_class_is_believed_about_it():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=400)
    data = rng.normal(size=(400, 3))
    data[:, 0] += 4 * (y == 0)  # the first tells class 0 from the others
    data[:, 1] += 4 * y  # the second knows all, the third nothing
    # Voices as loud as these are too sure of themselves; with defaults, who knows nothing says nothing.
    members = [(str(k), sensor([k], EvidentialKNNClassifier(5, alpha=0.95))) for k in range(3)]
    found = FusionClassifier(members).fit(data, y).reliabilities_
    assert found[1].min() > found[2].max() + 0.1
    assert found[0, 0] > found[0, 1:].max()


def test_a_sensor_that_is_far_off_or_missing_loses_its_say():
    model = two().fit(X, Y)
    broken = X.copy()
    broken[:, ACIDS] = 1e6
    colour = model.estimators_[1]
    assert (model.predict(broken) == colour.predict(X)).mean() > 0.97
    missing = X.copy()
    missing[:, ACIDS] = np.nan
    lines = FusionClassifier([("acids", sensor(ACIDS, LogisticRegression())), ("colour", sensor(COLOUR))]).fit(
        X, Y
    )
    assert (lines.predict(missing) == lines.estimators_[1].predict(X)).all()
    some = X.copy()
    some[::2, ACIDS] = np.nan
    expected = np.where(np.arange(len(X)) % 2, lines.predict(X), lines.predict(missing))
    assert (lines.predict(some) == expected).all()
    nothing = lines.predict_mass(np.full_like(X[:3], np.nan)).doubt()
    assert nothing.min() > 0.3


def test_frames_are_given_to_members_as_they_are():
    by_name = [("acids", sensor(list(FRAME.columns[ACIDS]))), ("colour", sensor(list(FRAME.columns[COLOUR])))]
    frame = FRAME.set_axis([f"wine {k}" for k in range(len(FRAME))])
    model = FusionClassifier(by_name).fit(frame, Y)
    np.testing.assert_allclose(model.predict_proba(frame), two().fit(X, Y).predict_proba(X))
    assert model.predict_mass(frame[:2]).sample_names == ("wine 0", "wine 1")
    assert list(model.feature_names_in_) == list(FRAME.columns)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[frame.columns[::-1]])


def test_names_of_classes_and_classes_that_a_fold_has_not_seen():
    names = np.array(["Barolo", "Grignolino", "Barbera"])[Y]
    names[0] = "Marsala"
    model = two(cv=3).fit(X, names)
    assert list(model.classes_) == ["Barbera", "Barolo", "Grignolino", "Marsala"]
    assert model.reliabilities_.shape == (2, 4)
    assert (model.predict(X) == names).mean() > 0.9


def test_labels_with_doubt():
    labels = CredalPartition.from_rough(np.eye(3, dtype=bool)[Y] | (np.arange(len(Y)) % 3 == 0)[:, None])
    model = two().fit(X, labels)
    assert (model.predict(X) == Y).mean() > 0.9
    with pytest.raises(ValueError, match="only evidential classifiers"):
        FusionClassifier([("line", LogisticRegression())]).fit(X, labels)


def test_a_model_file(tmp_path):
    members = [("acids", sensor(ACIDS)), ("forest", EvidentialForestClassifier(10, random_state=0))]
    model = FusionClassifier(members).fit(X, Y)
    evlearn.save_model(model, tmp_path / "model.json")
    again = evlearn.load_model(tmp_path / "model.json")
    assert again.predict_mass(X) == model.predict_mass(X)
    np.testing.assert_array_equal(again.reliabilities_, model.reliabilities_)


def test_wrong_use_is_told():
    with pytest.raises(TypeError, match="'svm' has neither predict_mass nor predict_proba"):
        FusionClassifier([("svm", LinearSVC())]).fit(X, Y)
    with pytest.raises(ValueError, match="a name of its own"):
        FusionClassifier([("a", sensor(ACIDS)), ("a", sensor(ACIDS))]).fit(X, Y)
    with pytest.raises(ValueError, match="pairs of a name and a classifier"):
        FusionClassifier([("a", sensor(ACIDS), ["columns"])]).fit(X, Y)
    with pytest.raises(ValueError, match="discounting must be"):
        two(discounting="some").fit(X, Y)
    many, y = make_classification(200, 10, n_informative=8, n_classes=14, random_state=0)
    with pytest.raises(ValueError, match="at most 12 classes"):
        two().fit(many, y)
    assert len(clone(two(discounting="plain")).fit(np.tile(many, 2), y).classes_) == 14
    assert isinstance(two().fit(pd.DataFrame(X), Y).predict_mass(pd.DataFrame(X)), CredalPartition)
