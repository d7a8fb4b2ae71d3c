"""Fusion of classifiers: learned reliabilities, members that fail, and contextual discounting."""

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
ACIDS, COLOR = [1, 2, 3], [9, 10, 11]


def sensor(columns, model=None):
    return make_pipeline(make_column_transformer((StandardScaler(), columns)), model or EvidentialKNNClassifier(5))


def two_sensors(**parameters):
    return FusionClassifier([("acids", sensor(ACIDS)), ("color", sensor(COLOR))], **parameters)


@parametrize_with_checks(
    [
        FusionClassifier(
            [("neighbors", EvidentialKNNClassifier(3)), ("trees", EvidentialForestClassifier(5, random_state=0))],
            cv=2,
        )
    ]
)
@pytest.mark.slow_cells(
    "FusionClassifier(cv=2,estimators=[('neighbors',EvidentialKNNClassifier(n_neighbors=3)),('trees',EvidentialForestClassifier(n_estimators=5,random_state=0))])-check_classifiers_classes",
    "FusionClassifier(cv=2,estimators=[('neighbors',EvidentialKNNClassifier(n_neighbors=3)),('trees',EvidentialForestClassifier(n_estimators=5,random_state=0))])-check_classifiers_train",
    "FusionClassifier(cv=2,estimators=[('neighbors',EvidentialKNNClassifier(n_neighbors=3)),('trees',EvidentialForestClassifier(n_estimators=5,random_state=0))])-check_classifiers_train(readonly_memmap=True)",
    "FusionClassifier(cv=2,estimators=[('neighbors',EvidentialKNNClassifier(n_neighbors=3)),('trees',EvidentialForestClassifier(n_estimators=5,random_state=0))])-check_classifiers_train(readonly_memmap=True,X_dtype=float32)",
    "FusionClassifier(cv=2,estimators=[('neighbors',EvidentialKNNClassifier(n_neighbors=3)),('trees',EvidentialForestClassifier(n_estimators=5,random_state=0))])-check_estimators_dtypes",
)
@pytest.mark.slow_cells(
    "check_classifiers_classes",
    "check_classifiers_train",
    "check_classifiers_train(readonly_memmap=True)",
    "check_classifiers_train(readonly_memmap=True,X_dtype=float32)",
    "check_estimators_dtypes",
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 4), st.integers(0, 1000))
def test_contextual_discounting_reduces_evidence_against_a_class(n_classes, seed):
    random = np.random.default_rng(seed)
    sets = FocalSets.full(n_classes)
    masses, rates = random.dirichlet(np.full(len(sets), 0.3), size=3), random.random(n_classes)
    discounted = belief.contextual_discount(masses, sets, rates)
    belief.check_masses(discounted, sets)
    expected = 1 - (1 - rates) * (1 - belief.contour(masses, sets))
    np.testing.assert_allclose(belief.contour(discounted, sets), expected, atol=1e-9)
    np.testing.assert_allclose(belief.contextual_discount(masses, sets, np.zeros(n_classes)), masses, atol=1e-12)


def test_contextual_discounting_of_a_sensor_that_confuses_airplanes_with_rockets():
    sets = FocalSets.full(["a", "h", "r"])
    masses = np.zeros(8)
    masses[[sets.index(["a"]), sets.index(["r"])]] = 0.5
    discounted = belief.contextual_discount(masses, sets, [0.4, 0, 0])
    assert discounted[sets.index(["a"])] == pytest.approx(0.5)
    assert discounted[sets.index(["r"])] == pytest.approx(0.3)
    assert discounted[sets.index(["a", "r"])] == pytest.approx(0.2)


def test_invalid_discounting_is_rejected():
    with pytest.raises(ValueError, match="rates must be 2 numbers"):
        belief.contextual_discount([0, 1, 0, 0], FocalSets.full(2), [0.1])
    with pytest.raises(ValueError, match="all subsets"):
        belief.contextual_discount([0, 1, 0, 0, 0], FocalSets.simple(3), [0.1, 0, 0])


@pytest.mark.parametrize("discounting", ["contextual", "plain", None])
def test_the_combination_is_more_accurate_than_each_member(discounting):
    model = two_sensors(discounting=discounting).fit(X[::2], Y[::2])
    belief.check_masses(model.predict_mass(X).masses, model.focal_sets_)
    scores = [member.score(X[1::2], Y[1::2]) for member in model.estimators_]
    assert model.score(X[1::2], Y[1::2]) > max(scores)
    if discounting is None:
        assert (model.reliabilities_ == 1).all()


def test_without_discounting_plausibilities_are_products():
    model = two_sensors(discounting=None).fit(X, Y)
    inputs = [member[:-1].transform(X) for member in model.estimators_]
    product = np.prod(
        [
            member[-1].predict_mass(rows).to_possibilistic()
            for member, rows in zip(model.estimators_, inputs, strict=True)
        ],
        axis=0,
    )
    np.testing.assert_allclose(
        model.predict_proba(X), product / product.sum(axis=1, keepdims=True), rtol=1e-6, atol=1e-9
    )


def several_views(n_samples, seed=0):
    """Return samples of 3 classes of different sizes in 4 views of 2 columns."""
    random = np.random.default_rng(seed)
    y = random.choice(3, n_samples, p=[0.5, 0.3, 0.2])
    means = np.random.default_rng(1).normal(size=(3, 8)) * 2
    return means[y] + random.normal(size=(n_samples, 8)), y


def fusion_of_views(**parameters):
    members = [(f"view {k}", sensor([2 * k, 2 * k + 1], LogisticRegression())) for k in range(4)]
    return FusionClassifier(members, **parameters)


def with_foreign_view(data, seed=2):
    """Return samples in which a view is that of another sample, and the number of this view."""
    random = np.random.default_rng(seed)
    changed, view = data.copy(), random.integers(4, size=len(data))
    for k in range(4):
        rows = np.flatnonzero(view == k)
        changed[np.ix_(rows, [2 * k, 2 * k + 1])] = data[np.ix_(rows - len(data) // 2, [2 * k, 2 * k + 1])]
    return changed, view


@pytest.mark.parametrize("discounting", ["contextual", "plain"])
def test_foreign_views_are_recognized_and_have_little_influence(discounting):
    model, plain = (
        fusion_of_views(discounting=name, cv=3).fit(*several_views(300)) for name in (discounting, None)
    )
    data, y = several_views(600, seed=3)
    changed, view = with_foreign_view(data)
    assert model.score(changed, y) > plain.score(changed, y) + 0.02
    assert model.score(data, y) > plain.score(data, y) - 0.01
    belief.check_masses(model.predict_mass(changed).masses, model.focal_sets_)
    conflict, discord = model.conflict(changed), model.discord(changed)
    contradictory = y != y[np.arange(600) - 300]
    assert np.median(conflict[contradictory]) > np.median(model.conflict(data)) + 0.2
    assert discord.shape == (600, 4)
    assert 0 <= discord.min() <= discord.max() <= 1
    assert 0 <= conflict.min() <= conflict.max() <= 1
    assert (discord.argmax(axis=1) == view)[contradictory].mean() > 0.55
    assert (conflict >= discord.max(axis=1) - 1e-9).all()


def test_missing_views_neither_agree_nor_disagree():
    model = fusion_of_views().fit(*several_views(200))
    data, y = several_views(300, seed=3)
    data[:, 2:4] = np.nan
    discord = model.discord(data)
    np.testing.assert_allclose(discord[:, 1], discord[0, 1])
    assert model.score(data, y) > 0.85


def test_ignorance_of_all_members_remains_ignorance():
    model = fusion_of_views().fit(*several_views(200))
    partition = model.predict_mass(np.full((1, 8), np.nan))
    assert partition.masses[0, -1] > 0.3


def test_parameters_and_members_are_set_by_name():
    model = two_sensors()
    assert model.get_params()["acids__evidentialknnclassifier__n_neighbors"] == 5
    assert set(model.get_params(deep=False)) == {"estimators", "discounting", "cv"}
    model.set_params(acids__evidentialknnclassifier__n_neighbors=7, cv=3, color=LogisticRegression(C=2))
    assert model.estimators[0][1][-1].n_neighbors == 7
    assert (model.cv, model.get_params()["color__C"]) == (3, 2)
    copy = clone(model).set_params(color__C=1)
    assert (model.get_params()["color__C"], copy.get_params()["color__C"]) == (2, 1)
    model.set_params(estimators=[("line", LogisticRegression())], line__C=3)
    assert model.get_params()["line__C"] == 3
    with pytest.raises(ValueError, match="Invalid parameter 'other'"):
        model.set_params(other=1)


def test_reliabilities_reflect_the_information_of_each_member():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=400)
    data = rng.normal(size=(400, 3))
    data[:, 0] += 4 * (y == 0)  # the first feature separates class 0 from the others
    data[:, 1] += 4 * y  # the second separates all classes, the third none
    # This alpha results in overconfident members; with defaults, uninformative members have vacuous masses.
    members = [(str(k), sensor([k], EvidentialKNNClassifier(5, alpha=0.95))) for k in range(3)]
    reliabilities = FusionClassifier(members).fit(data, y).reliabilities_
    assert reliabilities[1].min() > reliabilities[2].max() + 0.1
    assert reliabilities[0, 0] > reliabilities[0, 1:].max()


@pytest.mark.slow
def test_a_sensor_with_extreme_or_missing_values_has_no_influence():
    model = two_sensors().fit(X, Y)
    broken = X.copy()
    broken[:, ACIDS] = 1e6
    color = model.estimators_[1]
    assert (model.predict(broken) == color.predict(X)).mean() > 0.97
    missing = X.copy()
    missing[:, ACIDS] = np.nan
    fusion = FusionClassifier([("acids", sensor(ACIDS, LogisticRegression())), ("color", sensor(COLOR))]).fit(X, Y)
    assert (fusion.predict(missing) == fusion.estimators_[1].predict(X)).all()
    partial = X.copy()
    partial[::2, ACIDS] = np.nan
    expected = np.where(np.arange(len(X)) % 2, fusion.predict(X), fusion.predict(missing))
    assert (fusion.predict(partial) == expected).all()
    doubt = fusion.predict_mass(np.full_like(X[:3], np.nan)).doubt()
    assert doubt.min() > 0.3


@pytest.mark.slow
def test_frames_are_passed_to_members_unchanged():
    members = [("acids", sensor(list(FRAME.columns[ACIDS]))), ("color", sensor(list(FRAME.columns[COLOR])))]
    frame = FRAME.set_axis([f"wine {k}" for k in range(len(FRAME))])
    model = FusionClassifier(members).fit(frame, Y)
    np.testing.assert_allclose(model.predict_proba(frame), two_sensors().fit(X, Y).predict_proba(X), rtol=1e-4)
    assert model.predict_mass(frame[:2]).sample_names == ("wine 0", "wine 1")
    assert list(model.feature_names_in_) == list(FRAME.columns)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[frame.columns[::-1]])


def test_names_of_classes_and_classes_missing_in_a_fold():
    names = np.array(["Barolo", "Grignolino", "Barbera"])[Y]
    names[0] = "Marsala"
    model = two_sensors(cv=3).fit(X, names)
    assert list(model.classes_) == ["Barbera", "Barolo", "Grignolino", "Marsala"]
    assert model.reliabilities_.shape == (2, 4)
    assert (model.predict(X) == names).mean() > 0.9


def test_soft_labels():
    labels = CredalPartition.from_rough(np.eye(3, dtype=bool)[Y] | (np.arange(len(Y)) % 3 == 0)[:, None])
    model = two_sensors().fit(X, labels)
    assert (model.predict(X) == Y).mean() > 0.9
    with pytest.raises(ValueError, match="only evidential classifiers"):
        FusionClassifier([("line", LogisticRegression())]).fit(X, labels)


def test_a_model_file_restores_the_predictions(tmp_path):
    members = [("acids", sensor(ACIDS)), ("forest", EvidentialForestClassifier(10, random_state=0))]
    model = FusionClassifier(members).fit(X, Y)
    evlearn.save_model(model, tmp_path / "model.json")
    loaded = evlearn.load_model(tmp_path / "model.json")
    assert loaded.predict_mass(X) == model.predict_mass(X)
    np.testing.assert_array_equal(loaded.reliabilities_, model.reliabilities_)
    np.testing.assert_array_equal(loaded.discord(X), model.discord(X))


@pytest.mark.slow
def test_errors_explain_wrong_use():
    with pytest.raises(TypeError, match="'svm' must have predict_mass or predict_proba"):
        FusionClassifier([("svm", LinearSVC())]).fit(X, Y)
    with pytest.raises(ValueError, match="different names"):
        FusionClassifier([("a", sensor(ACIDS)), ("a", sensor(ACIDS))]).fit(X, Y)
    with pytest.raises(ValueError, match="pairs of a name and a classifier"):
        FusionClassifier([("a", sensor(ACIDS), ["columns"])]).fit(X, Y)
    for name in ("cv", "a__b"):
        with pytest.raises(ValueError, match="names without '__' that are not parameters"):
            FusionClassifier([(name, sensor(ACIDS))]).fit(X, Y)
    for method in ("conflict", "discord"):
        with pytest.raises(ValueError, match="discounting=None does not model conflict"):
            getattr(two_sensors(discounting=None).fit(X, Y), method)(X)
    with pytest.raises(ValueError, match="discounting must be"):
        two_sensors(discounting="some").fit(X, Y)
    rows, y = make_classification(200, 10, n_informative=8, n_classes=14, random_state=0)
    with pytest.raises(ValueError, match="limited to 12 classes"):
        two_sensors().fit(rows, y)
    assert len(clone(two_sensors(discounting="plain")).fit(np.tile(rows, 2), y).classes_) == 14
    assert isinstance(two_sensors().fit(pd.DataFrame(X), Y).predict_mass(pd.DataFrame(X)), CredalPartition)
