"""Common tests of evidential classifiers: scikit-learn's API, decisions, remote samples, invalid data."""

import copy
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from evlearn import CredalPartition
from evlearn.belief import FocalSets, decide, loss_matrix
from evlearn.classify import (
    EvidentialForestClassifier,
    EvidentialKNNClassifier,
    EvidentialNeuralClassifier,
    EvidentialRBFClassifier,
)
from evlearn.exceptions import CollapseWarning
from evlearn.utils.parameters import with_switches

MODELS = [
    EvidentialForestClassifier(20, random_state=0),
    EvidentialKNNClassifier(),
    EvidentialNeuralClassifier(max_iter=50, random_state=0),
    EvidentialRBFClassifier(max_iter=50, random_state=0),
]
all_models = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
pytestmark = pytest.mark.filterwarnings("ignore:the loss still changed:sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def expected_failures(estimator):
    name = "check_sample_weight_equivalence_on_dense_data"
    if isinstance(estimator, EvidentialKNNClassifier):
        return {name: "the precision of scales depends on tol; test_weights.py checks a small tol"}
    return {}


@pytest.mark.filterwarnings("ignore:n_prototypes=6 exceeds half")
@parametrize_with_checks(
    [*MODELS, with_switches(EvidentialNeuralClassifier(6, max_iter=50, random_state=0), per_class=False)],
    expected_failed_checks=expected_failures,
)
@pytest.mark.slow_cells(
    "check_class_weight_classifiers", "check_estimator_sparse_array", "check_estimator_sparse_matrix"
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@all_models
@pytest.mark.slow
def test_pipelines_searches_and_calibration_work(iris, model):
    X, y = iris
    pipeline = make_pipeline(StandardScaler(), clone(model))
    assert cross_val_score(pipeline, X, y).mean() > 0.9
    name = next(key for key in ("n_neighbors", "n_prototypes", "n_estimators") if key in model.get_params())
    search = GridSearchCV(clone(model), {name: [3, 6]}, scoring="neg_log_loss", cv=3).fit(X, y)
    assert search.best_params_[name] in (3, 6)
    calibrated = CalibratedClassifierCV(clone(model), cv=3).fit(X, y)
    assert calibrated.score(X, y) > 0.9


@all_models
@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_frames_and_labels_of_any_type(iris, model, frame):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    if frame == "pandas":
        data, labels = pd.DataFrame(X, columns=list("abcd"), index=[f"f{k}" for k in range(150)]), pd.Series(names)
    else:
        data, labels = pl.DataFrame(X, schema=list("abcd")), pl.Series(names)
    fitted = clone(model).fit(data, labels)
    assert list(fitted.feature_names_in_) == list("abcd")
    assert (fitted.predict(data) == names).mean() > 0.95
    partition = fitted.predict_mass(data)
    assert partition.focal_sets.names == ("setosa", "versicolor", "virginica")
    assert (partition.sample_names or ("f0",))[0] == "f0"
    plain = clone(model).fit(X, y)
    np.testing.assert_array_equal(plain.predict_mass(X).masses, partition.masses)


@all_models
def test_predictions_follow_from_the_masses(iris, model):
    X, y = iris
    fitted = clone(model).fit(X, y)
    partition = fitted.predict_mass(X)
    np.testing.assert_allclose(partition.masses.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert (partition.masses >= 0).all()
    np.testing.assert_array_equal(fitted.predict(X), partition.to_hard())
    np.testing.assert_allclose(fitted.predict_proba(X), partition.to_fuzzy(), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(fitted.predict_set(X), partition.verdict().candidates)
    np.testing.assert_array_equal(fitted.predict_set(X, level=0.9), partition.verdict(0.9).candidates)
    rough = partition.to_rough("interval_dominance")
    np.testing.assert_array_equal(fitted.predict_set(X, rule="interval_dominance"), rough)
    for rule in ("verdict", "interval_dominance", "maximality", "u65", "u80"):
        sets = fitted.predict_set(X, rule=rule)
        assert sets.any(axis=1).all()
        assert sets[np.arange(150), y].mean() > 0.9
    with pytest.raises(ValueError, match="rule must be one of"):
        fitted.predict_set(X, rule="best")


@all_models
def test_remote_samples_have_all_mass_on_all_classes(iris, model):
    X, y = iris
    fitted = clone(model).fit(X, y)
    direction = np.array([1, -1, 1, -1]) / 2
    ignorance = [
        fitted.predict_mass(X.mean(axis=0)[None] + r * direction).masses[0, -1] for r in (1e2, 1e3, 1e100)
    ]
    np.testing.assert_allclose(ignorance, 1, rtol=0, atol=1e-9)
    remote = X.mean(axis=0)[None] + 1e3 * direction
    np.testing.assert_allclose(fitted.predict_proba(remote), 1 / 3)
    assert fitted.predict_set(remote).all()
    assert fitted.decide(remote, rejection_cost=0.3, criterion="pessimistic") == ["refused"]
    acts = {"rejection_cost": 0.3, "unknown_cost": 0.25, "criterion": "pessimistic"}
    assert fitted.decide(remote, **acts) == ["unknown"]


def test_decisions_follow_from_the_masses(iris):
    X, y = iris
    model = EvidentialKNNClassifier().fit(X, y)
    partition = model.predict_mass(X)
    for criterion in ("pessimistic", "optimistic", "hurwicz", "pignistic", "plausibility"):
        acts = decide(
            partition.masses, partition.focal_sets, loss_matrix(3, unknown_cost=0.1), criterion=criterion, rho=0.3
        )
        decisions = model.decide(X, unknown_cost=0.1, criterion=criterion, rho=0.3, unknown_label=-2)
        np.testing.assert_array_equal(decisions, np.where(acts == 3, -2, acts))
    assert set(model.decide(X)) == {0, 1, 2}


@pytest.mark.parametrize(
    ("classes", "labels", "kind"),
    [
        ([4, 7], {}, "O"),
        ([4, 7], {"rejected_label": -1, "unknown_label": -2}, "i"),
        (["a", "b"], {}, "U"),
        (["a", "b"], {"rejected_label": "much longer than a class"}, "U"),
        ([False, True], {}, "O"),
        (["a", "b"], {"rejected_label": -1}, "O"),
        ([1.0, 2.0], {"rejected_label": None}, "O"),
    ],
)
def test_decisions_have_the_names_and_types_of_the_labels(classes, labels, kind):
    X = np.array([[0.0], [0.1], [1.0], [1.1]])
    model = EvidentialKNNClassifier(2, alpha=0.9).fit(X, np.array(classes)[[0, 0, 1, 1]])
    costs = {"rejection_cost": 0.4, "unknown_cost": 0.45, "criterion": "pessimistic"}
    decisions = model.decide([[0.0], [1.1], [1e6]], **costs, **labels)
    assert decisions.tolist() == [*classes, labels.get("rejected_label", "refused")]
    assert decisions.dtype.kind == kind
    assert model.decide([[1e6]], unknown_cost=0.3, criterion="pessimistic", **labels).tolist() == [
        labels.get("unknown_label", "unknown")
    ]
    assert model.decide(X).dtype == model.classes_.dtype  # only classes are possible


def test_a_class_named_refused_is_not_confused_with_rejections():
    X, y = [[0.0], [1.0]], np.array(["refused", "granted"])
    model = EvidentialKNNClassifier(1).fit(X, y)
    assert model.decide(X).tolist() == ["refused", "granted"]
    with pytest.raises(ValueError, match="rejected_label must not be the name of a class, got 'refused'"):
        model.decide(X, rejection_cost=0.1)
    with pytest.raises(ValueError, match="rejected_label and unknown_label must differ, but both are 'x'"):
        model.decide(X, rejection_cost=0.1, unknown_cost=0.1, rejected_label="x", unknown_label="x")
    assert model.decide([[99.0]], rejection_cost=0.1, rejected_label="ask").tolist() == ["ask"]


def test_decisions_are_those_of_r(reference):
    arrays = reference("decision").arrays
    sets = FocalSets.simple(3)
    masses = np.column_stack([np.zeros(40), arrays["m"]])
    rules = {"upper": "pessimistic", "lower": "optimistic", "pignistic": "pignistic", "hurwicz": "hurwicz"}
    for rule, criterion in rules.items():
        for name, losses in {"01": None, "reject": arrays["L_reject"], "unknown": arrays["L_unknown"]}.items():
            decisions = decide(masses, sets, losses, criterion=criterion)
            np.testing.assert_array_equal(decisions + 1, arrays[f"dec_{name}_{rule}_1b"], err_msg=f"{rule} {name}")
    decisions = decide(masses, sets, criterion="hurwicz", rho=0.2)
    np.testing.assert_array_equal(decisions + 1, arrays["dec_01_hurwicz_rho0.2_1b"])


# Labels


@all_models
@pytest.mark.slow_cells("EvidentialKNNClassifier")
def test_soft_labels_may_be_masses_plausibilities_or_sets(model):
    X, y = make_blobs(120, centers=3, random_state=0)
    doubt = FocalSets.full(["a", "b", "c"])
    masses = np.zeros((120, 8))
    masses[np.arange(120), 1 + y], masses[:, -1] = 0.8, 0.2
    fitted = clone(model).fit(X, CredalPartition(masses, doubt))
    assert list(fitted.classes_) == ["a", "b", "c"]
    assert (fitted.predict(X) == np.array(["a", "b", "c"])[y]).mean() > 0.9
    candidates = np.eye(3, dtype=bool)[y]
    candidates[::3] = True  # every third sample is unlabeled
    for labels in (candidates, np.maximum(np.eye(3)[y], 0.3), pd.DataFrame(candidates)):
        assert (clone(model).fit(X, labels).predict(X) == y).mean() > 0.9


@all_models
def test_crisp_labels_and_equivalent_plausibilities_give_the_same_predictions(model):
    X, y = make_blobs(90, centers=3, random_state=1)
    crisp, soft = clone(model).fit(X, y), clone(model).fit(X, np.eye(3)[y])
    if not isinstance(model, EvidentialKNNClassifier):  # with soft labels it has a single scale
        np.testing.assert_array_equal(crisp.predict_mass(X).masses, soft.predict_mass(X).masses)
    assert (crisp.predict(X) == soft.predict(X)).mean() > 0.95


@all_models
@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (None, "requires y to be passed"),
        (np.ones(10), "at least 2 classes, but y has 1 class"),
        (np.full((10, 2), 0.5), "with a 1 in every row"),
        (-np.eye(2)[np.arange(10) % 2], "between 0 and 1"),
        (np.linspace(0, 1, 10), "Unknown label type"),
        (np.arange(9) % 2, "inconsistent numbers of samples"),
        (np.eye(2), "y has labels of 2 samples, but X has 10 rows"),
        (CredalPartition([[0, 1.0]] * 10, FocalSets.full(1)), "at least 2 classes"),
    ],
)
def test_invalid_labels_are_rejected(model, labels, message):
    with pytest.raises(ValueError, match=message):
        clone(model).fit(np.arange(20.0).reshape(10, 2), labels)


# Degenerate data


@pytest.mark.filterwarnings("ignore:after 5 more starts")
@all_models
@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize(
    "X",
    [
        np.zeros((12, 2)),
        np.repeat([[0.0, 1], [2, 3]], 6, axis=0),
        np.column_stack([np.arange(12.0), np.ones(12)]),
        1e140 * np.arange(24.0).reshape(12, 2),
        1e-160 * np.arange(24.0).reshape(12, 2),
        1e-300 * np.arange(24.0).reshape(12, 2),
        1e12 + np.arange(24.0).reshape(12, 2),
        np.arange(4.0).reshape(2, 2),
    ],
    ids=["coincident", "duplicates", "constant", "huge", "tiny", "tinier", "offset", "two"],
)
def test_masses_are_valid_on_degenerate_data(model, soft, X):
    y = np.arange(len(X)) % 2
    fitted = clone(model).fit(X, np.eye(2)[y] if soft else y)
    masses = fitted.predict_mass(np.vstack([X, X[:1] + 1, 3 * X])).masses
    assert np.isfinite(masses).all()
    assert (masses >= 0).all()
    np.testing.assert_allclose(masses.sum(axis=1), 1, rtol=0, atol=1e-10)


@all_models
def test_values_whose_squares_overflow_are_rejected(model):
    with pytest.raises(ValueError, match="X has values beyond 1e"):
        clone(model).fit([[0.0], [1e200]], [0, 1])


@all_models
def test_the_same_seed_gives_the_same_masses(iris, model):
    X, y = iris
    first, second = clone(model).fit(X, y), clone(model).fit(X, y)
    np.testing.assert_array_equal(first.predict_mass(X).masses, second.predict_mass(X).masses)


def test_a_class_of_a_single_sample_is_learned():
    X, y = make_blobs(40, centers=2, random_state=0)
    X, y = np.vstack([X, [[30.0, 30.0]]]), np.append(y, 2)
    for model in MODELS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = clone(model).fit(X, y)
        assert np.isfinite(fitted.predict_mass(X).masses).all()
    assert EvidentialKNNClassifier().fit(X, y).predict([[30.0, 30.0]]) == [2]


@pytest.mark.parametrize("classes", [["b,1", "a 2"], [" Ω", "Ω"], ["", "∅"], [2.0, 1.0], [7, -3], [False, True]])
@all_models
def test_classes_of_any_type_and_with_any_characters_are_predicted(model, classes):
    X = np.vstack([np.zeros((10, 2)), np.ones((10, 2))]) + np.random.RandomState(0).normal(size=(20, 2)) / 10
    y = np.repeat(np.array(classes), 10)
    fitted = clone(model).fit(X, y)
    assert fitted.predict(X).tolist() == y.tolist()
    assert fitted.classes_.tolist() == sorted(classes)
    partition = fitted.predict_mass(X)
    assert list(partition.cluster_names) == [str(name) for name in fitted.classes_]
    names = [str(name) for name in y.tolist()]
    assert fitted.fit(X, CredalPartition.from_hard(names)).predict(X).tolist() == names


def independent_data():
    """Return features that are independent of the classes."""
    random = np.random.default_rng(0)
    return random.normal(size=(3000, 2)), np.arange(3000) % 2


@pytest.mark.parametrize("kind", [EvidentialNeuralClassifier, EvidentialRBFClassifier])
def test_a_network_without_predictive_power_warns(kind):
    with pytest.warns(
        CollapseWarning, match="after 5 more starts.*hardly predicts .* better than the shares of the classes"
    ):
        kind(2, random_state=0).fit(*independent_data())


@pytest.mark.parametrize("kind", [EvidentialNeuralClassifier, EvidentialRBFClassifier])
def test_a_network_without_predictive_power_is_restarted(kind, monkeypatch):
    X, y = make_blobs(60, centers=[[0, 0], [5, 5]], random_state=0)
    results = iter([False, False, True])
    monkeypatch.setattr(kind, "_beats_baseline", lambda *_: next(results))
    model = kind(2, random_state=0).fit(X, y)
    assert next(results, "all starts were made") == "all starts were made"
    assert model.score(X, y) == 1


def test_defaults_are_more_accurate_and_cautious_with_noisy_labels_than_those_of_the_papers():
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 2))
    y = np.where(random.uniform(size=600) < 0.4, random.integers(2, size=600), X[:, 0] > 0).astype(int)
    default, published = (
        model.fit(X[:300], y[:300])
        for model in (EvidentialKNNClassifier(), EvidentialKNNClassifier(5, alpha=0.95))
    )
    assert default.score(X[300:], y[300:]) > published.score(X[300:], y[300:]) + 0.05
    n_sure = [
        (model.predict_mass(X[300:]).masses[:, 1:3].max(axis=1) > 0.9).sum() for model in (default, published)
    ]
    assert n_sure[0] < 0.8 * n_sure[1]


def test_the_summary_of_a_classifier_mentions_classes_also_for_subsets_and_copies():
    X, y = load_iris(return_X_y=True)
    result = EvidentialKNNClassifier().fit(X, y).predict_mass(X)
    assert "3 classes" in repr(result)
    for partition in (
        result,
        result[:100],
        result.normalize(),
        result.rename(sample_names=range(150)),
        copy.copy(result),
    ):
        text = str(partition.summary())
        assert "3 classes\n" in text
        assert text.endswith("or more in one class")
        assert "cluster" not in text
    assert "3 classes" in str(result[:75].summary() + result[75:].summary())
