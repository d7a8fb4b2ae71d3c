"""Model files: loaded estimators predict the same bits, and no file can do harm."""

import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

import joblib
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.metrics import pairwise_distances
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

import evlearn
from estimator_cases import TRAINING_SAMPLE_ATTRIBUTES
from evlearn.belief import FocalSets
from evlearn.cluster import (
    BPEC,
    CCM,
    CECM,
    ECM,
    EVCLUS,
    RECM,
    AdaptiveMetric,
    BootClus,
    ECMdd,
    EKNNClus,
    FocalFamily,
    MedoidKind,
    Quantile,
)
from evlearn.constraints import PairwiseConstraints
from evlearn.datasets import make_fourclass
from evlearn.export.models import find_schema
from evlearn.metric_learning import FDA, PCCA, LocalFDA
from evlearn.neural import NNEVCLUS, Solver

X, y = make_fourclass(120, random_state=0)
NEW = make_fourclass(50, random_state=1)[0]
MODELS = {
    "ECM": ECM(4, random_state=0),
    "ECM, adaptive": ECM(4, metric="adaptive", focal_sets="simple", random_state=0),
    "ECM, chosen sets": ECM(3, focal_sets=FocalSets([[0], [1], [2], [0, 2]], 3), init=X[:3], random_state=0),
    "ECM, sets as tuples": ECM(3, focal_sets=[(0,), {1}, (2,), (0, 1)], delta=np.float64(9), random_state=0),
    "ECM, no outliers": ECM(4, delta=float("inf"), random_state=0),
    "CCM": CCM(4, random_state=np.random.RandomState(3)),
    "BPEC": BPEC(n_neighbors=30),
    "EVCLUS": EVCLUS(4, random_state=0),
    "EVCLUS, ranks": EVCLUS(4, dissimilarity_transform="rank", metric="cityblock", random_state=0),
    "EVCLUS, landmarks": EVCLUS(4, solver="landmark", n_landmarks=40, random_state=0),
    "RECM": RECM(4, init="kmeans", random_state=0),
    "ECMdd": ECMdd(4, n_init=3, random_state=0),
    "ECMdd, median": ECMdd(4, medoids="median", random_state=0),
    "ECMdd, weighted": ECMdd(4, medoids="weighted", focal_sets="simple", random_state=0),
    "BootClus": BootClus(4, covariance_models=["EEE", "VVV"], n_bootstrap=30, random_state=0),
    "EKNNClus": EKNNClus(30, q=0.9, random_state=0),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.json"


def reloaded(model, path):
    evlearn.save_model(model, path)
    return evlearn.load_model(path)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_loaded_model_predicts_the_same_bits(name, dtype, path):
    model = MODELS[name].fit(X.astype(dtype))
    loaded = reloaded(model, path)
    assert type(loaded) is type(model)
    for rows in (NEW, NEW.astype(np.float32)):
        assert np.array_equal(loaded.predict_mass(rows).masses, model.predict_mass(rows).masses)
        assert loaded.predict_mass(rows).focal_sets == model.focal_sets_
        assert np.array_equal(loaded.predict(rows), model.predict(rows))
    assert np.array_equal(loaded.objective_history_, model.objective_history_)
    assert loaded.get_params().keys() == model.get_params().keys()


OLDER_MODELS = sorted((Path(__file__).resolve().parents[1] / "reference" / "models").glob("*.json"))


@pytest.mark.parametrize("older", OLDER_MODELS, ids=lambda older: older.stem)
def test_models_of_older_versions_are_rejected_with_an_explanation(older):
    with pytest.raises(ValueError, match=r"schema version 1, .* version 2; fit the estimator again"):
        evlearn.load_model(older)


@pytest.mark.slow
def test_specifications_of_parameters_are_saved(path):
    family, metric = FocalFamily("pairs", include_omega=False), AdaptiveMetric(0.1)
    fits = (
        ECM(4, focal_sets=family, metric=metric, random_state=0).fit(X),
        EVCLUS(4, d0=Quantile(0.9), random_state=0).fit(X),
        ECMdd(4, medoids=MedoidKind("median", gamma=0.3), random_state=0).fit(X),
        NNEVCLUS(4, solver=Solver("rmsprop", patience=3), tol=1.0, random_state=0).fit(X),
    )
    for model in fits:
        loaded = reloaded(model, path)
        for name in ("focal_sets", "metric", "d0", "medoids", "solver"):
            assert loaded.get_params().get(name) == model.get_params().get(name)
        assert np.array_equal(loaded.predict_mass(NEW).masses, model.predict_mass(NEW).masses)


def test_a_model_with_constraints_is_saved(path):
    model = CECM(4, random_state=0).fit(X, constraints=PairwiseConstraints.sample(y, 20, random_state=0))
    assert np.array_equal(reloaded(model, path).predict_mass(NEW).masses, model.predict_mass(NEW).masses)


@pytest.fixture(scope="module")
def bootclus():
    return BootClus(2, covariance_models="EEE", n_bootstrap=20, random_state=0).fit(X)


def test_a_calibrated_mixture_of_another_kind_is_left_to_pickle(path):
    model = BootClus(mixture=GaussianMixture(2), n_bootstrap=20, random_state=0).fit(X)
    with pytest.raises(TypeError, match=r"BootClus.mixture is GaussianMixture.*use joblib.dump"):
        evlearn.save_model(model, path)
    joblib.dump(model, path.with_suffix(".pkl"))
    loaded = joblib.load(path.with_suffix(".pkl"))
    assert np.array_equal(loaded.predict_mass(NEW).masses, model.predict_mass(NEW).masses)
    assert np.array_equal(loaded.intervals_.lower, model.intervals_.lower)


@pytest.mark.parametrize("part", ["weights", "means", "covariances", "center", "probabilities", "masses"])
def test_an_inconsistent_calibrated_mixture_is_refused(part, bootclus, path):
    evlearn.save_model(bootclus, path)
    document = json.loads(path.read_text())
    array = next(find(document, part))["array"]
    array["shape"][-1] -= 1
    array["values"] = array["values"][: int(np.prod(array["shape"]))]
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=r"must have shape"):
        evlearn.load_model(path).predict_mass(NEW)


def find(document, name):
    """Return the values with a name, at any depth."""
    for key, value in document.items() if isinstance(document, dict) else enumerate(document):
        if key == name:
            yield value
        elif isinstance(value, (dict, list)):
            yield from find(value, name)


@pytest.mark.parametrize("method", [EVCLUS, RECM])
def test_a_model_of_dissimilarities_is_saved(method, path):
    model = method(4, metric="precomputed", random_state=0).fit(pairwise_distances(X))
    distances = pairwise_distances(NEW, X)
    assert np.array_equal(
        reloaded(model, path).predict_mass(distances).masses, model.predict_mass(distances).masses
    )


def test_training_results_are_not_in_the_file(path):
    loaded = reloaded(ECM(4, random_state=0).fit(X), path)
    with pytest.raises(AttributeError, match="no masses_: it is not in the model file that this was loaded from"):
        _ = loaded.masses_
    reloaded(ECM(4, random_state=0).fit(np.repeat(X, 20, axis=0)), path)
    assert path.stat().st_size < 20_000


@pytest.mark.slow
def test_learning_goes_on_after_loading(path):
    model = ECM(4, random_state=0).partial_fit(X[:60])
    loaded = reloaded(model, path).partial_fit(X[60:])
    model.partial_fit(X[60:])
    assert np.array_equal(loaded.cluster_centers_, model.cluster_centers_)
    assert loaded.n_samples_seen_ == 120


@pytest.mark.parametrize(
    "first",
    [
        *(StandardScaler(), MinMaxScaler(), RobustScaler()),
        *(PCCA(2, random_state=0), PCCA(1, kernel="rbf", random_state=0), FDA(), LocalFDA(), FDA(kernel="rbf")),
        PCCA(kernel="poly", kernel_params={"degree": 2}, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_a_pipeline_is_saved(first, path):
    pipeline = make_pipeline(first, ECM(4, random_state=0)).fit(X, y)
    loaded = reloaded(pipeline, path)
    assert list(loaded.named_steps) == list(pipeline.named_steps)
    assert np.array_equal(loaded.predict(NEW), pipeline.predict(NEW))
    assert np.array_equal(loaded[:-1].transform(NEW), pipeline[:-1].transform(NEW))


def test_names_of_columns_are_saved(path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["größe", "weight"])
    loaded = reloaded(ECM(4, random_state=0).fit(frame), path)
    assert list(loaded.feature_names_in_) == ["größe", "weight"]
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame.rename(columns={"weight": "mass"}))


def test_the_file_is_json_that_others_can_read(path):
    model = ECM(2, random_state=0).fit(X)
    evlearn.save_model(model, path)

    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    document = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
    centers = document["steps"][0]["learned"]["cluster_centers_"]["array"]
    assert np.array_equal(np.reshape(centers["values"], centers["shape"]), model.cluster_centers_)


def test_values_that_json_cannot_represent_are_refused_with_a_remedy(path):
    model = EVCLUS(2, metric=lambda a, b: float(np.abs(a - b).sum()), random_state=0).fit(X[:20])
    with pytest.raises(TypeError, match=r"EVCLUS.metric is <function .* use joblib.dump"):
        evlearn.save_model(model, path)
    with pytest.raises(TypeError, match=r"must be one of .*ECM.*, got Ridge"):
        evlearn.save_model(Ridge().fit(X, y), path)
    assert not path.exists()


def test_only_fitted_models_and_json_names_are_taken(path):
    with pytest.raises(NotFittedError):
        evlearn.save_model(ECM(), path)
    with pytest.raises(ValueError, match=r"path must end in \.json, got 'model.pkl'"):
        evlearn.save_model(ECM(2).fit(X), "model.pkl")
    with pytest.raises(FileNotFoundError):
        evlearn.load_model(path)


BROKEN = {
    "no JSON": lambda d: "{",
    "another document": lambda d: {"schema": "evlearn.CredalPartition"},
    "a list": lambda d: [1, 2],
    "a later version": lambda d: d | {"version": 99},
    "no steps": lambda d: d | {"steps": []},
    "two steps and no pipeline": lambda d: d | {"steps": d["steps"] * 2},
    "another class": lambda d: step(d, {"class": "Popen"}),
    "a parameter that is none": lambda d: step(d, {"parameters": {"nonsense": 1}}),
    "a method": lambda d: with_fitted_values(d, {"predict": 1}),
    "a class inside": lambda d: with_fitted_values(d, {"_model": {"Popen": {"args": "ls"}}}),
    "an array of samples": lambda d: with_fitted_values(
        d, {"x_": {"array": {"type": "O", "shape": [1], "values": [1]}}}
    ),
    "a wrong shape": lambda d: with_fitted_values(
        d, {"x_": {"array": {"type": "int64", "shape": [9], "values": [1]}}}
    ),
    "prototypes cut": lambda d: inner(d, "prototypes", [2, 1], [1.0, 2.0]),
    "other prototypes": lambda d: inner(d, "prototypes", [3, 2], [1.0] * 6),
    "fewer features": lambda d: with_fitted_values(d, {"n_features_in_": 3}),
    "other sets": lambda d: with_fitted_values(
        d, {"focal_sets_": {"focal sets": {"frame": 2, "sets": [[], [0]]}}}
    ),
    "a giant frame": lambda d: with_fitted_values(
        d, {"focal_sets_": {"focal sets": {"frame": 10**12, "sets": [[], [0]]}}}
    ),
    "nothing learned": lambda d: step(d, {"learned": {}}),
    "no word on pipelines": lambda d: {key: value for key, value in d.items() if key != "pipeline"},
    "a missing number": lambda d: inner(d, "prototypes", [2, 2], [1.0, None, 2.0, 3.0]),
    "too many features": lambda d: with_fitted_values(d, {"n_features_in_": 10**15}),
    "no model": lambda d: with_fitted_values(d, {"_model": None}),
}


def step(document, change):
    return document | {"steps": [document["steps"][0] | change]}


def with_fitted_values(document, change):
    return step(document, {"learned": document["steps"][0]["learned"] | change})


def inner(document, field, shape, values):
    model = document["steps"][0]["learned"]["_model"]["EuclideanModel"]
    array = {"array": {"type": "float64", "shape": shape, "values": values}}
    return with_fitted_values(document, {"_model": {"EuclideanModel": model | {field: array}}})


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused_with_a_reason(name, path):
    evlearn.save_model(ECM(2, random_state=0).fit(X), path)
    broken = BROKEN[name](json.loads(path.read_text()))
    path.write_text(broken if isinstance(broken, str) else json.dumps(broken))
    with pytest.raises(ValueError, match=r"^model.json is not a model that can be read: .*evlearn.save_model.$"):
        evlearn.load_model(path)


def changed(path, change):
    """Change the file."""
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def part(document, name):
    return next(find(document, name))


@pytest.mark.parametrize("label", [10**9, 40, -1, -2_000_000])
def test_labels_beyond_the_clusters_are_refused_before_compiled_code_sees_them(label, path):
    evlearn.save_model(EKNNClus(30, q=0.9, random_state=0).fit(X), path)
    changed(path, lambda document: part(document, "labels")["array"].update(values=[label] * len(X)))
    with pytest.raises(ValueError, match=r"labels must"):
        evlearn.load_model(path)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda d: part(d, "labels")["array"].update(shape=[119], values=[0] * 119), "training must have shape"),
        (lambda d: part(d, "labels")["array"].update(type="int64"), "labels must be a nonempty array of int32"),
        (lambda d: part(d, "labels")["array"].update(shape=[0], values=[]), "nonempty"),
        (lambda d: part(d, "NeighborModel").update(n_neighbors=-3), "n_neighbors must be a whole number"),
        (lambda d: part(d, "NeighborModel").update(metric="precomputed"), "metric"),
        (lambda d: part(d, "Support").update(scale=0), "scale must be a number above 0"),
        (
            lambda d: [field.update(sets=[[], [0]], frame=2) for field in find(d, "focal sets")],
            "labels must|single clusters",
        ),
    ],
)
def test_inconsistent_neighbors_are_refused(change, reason, path):
    evlearn.save_model(EKNNClus(30, q=0.9, random_state=0).fit(X), path)
    changed(path, change)
    with pytest.raises(ValueError, match=reason):
        evlearn.load_model(path)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda d: cut_rows(part(d, "probabilities")["array"], 7), "probabilities must have shape"),
        (lambda d: part(d, "probabilities")["array"].update(type="float64"), "array of float32"),
        (lambda d: part(d, "BootstrapModel").update(confidence=3), "confidence must be a number"),
        (lambda d: cut_rows(part(d, "masses")["array"], 3), "probabilities must have shape"),
    ],
)
def test_inconsistent_training_samples_are_refused(change, reason, bootclus, path):
    evlearn.save_model(bootclus, path)
    changed(path, change)
    with pytest.raises(ValueError, match=reason):
        evlearn.load_model(path)


@pytest.mark.parametrize(
    ("kernel", "change", "reason"),
    [
        (None, {"parameters": {"kernel": "rbf"}}, "lacks '_intercept'"),
        ("rbf", {"parameters": {"kernel": None}}, "lacks 'components_'"),
        ("rbf", {"parameters": {"kernel": "round"}}, "kernel must be one of"),
        ("rbf", {"parameters": {"gamma": -1.0}}, "gamma must be a number above 0"),
        ("rbf", {"parameters": {"n_components": "many"}}, r"n_components must be one of \['auto'\]"),
        ("poly", {"parameters": {"kernel_params": [2, 1]}}, "kernel_params must be an object"),
        ("poly", {"parameters": {"kernel_params": {"fields": {"degree": 0}}}}, "degree must be a number above 0"),
        ("poly", {"parameters": {"kernel_params": {"fields": {"coef0": "1"}}}}, "coef0 must be a number"),
        (
            "poly",
            {"parameters": {"kernel_params": {"fields": {"gamma": 1}}}},
            "kernel_params must not have 'gamma'",
        ),
        ("rbf", {"learned": {"intercept_": 0.0}}, "PCCA must not have 'intercept_'"),
        (None, {"learned": {"_intercept": 0.0}}, "kernel=None it must not have '_intercept'"),
    ],
)
def test_features_and_kernels_that_do_not_fit_together_are_refused(kernel, change, reason, path):
    evlearn.save_model(PCCA(1, kernel=kernel, random_state=0).fit(X, y), path)
    ((section, values),) = change.items()
    changed(path, lambda document: document["steps"][0][section].update(values))
    with pytest.raises(ValueError, match=reason):
        evlearn.load_model(path)


def cut_rows(array, n_rows):
    array["shape"][0] = n_rows
    array["values"] = array["values"][: int(np.prod(array["shape"]))]


def test_a_mixture_that_is_singular_is_refused_and_never_predicts(bootclus, path):
    evlearn.save_model(bootclus, path)
    changed(
        path, lambda d: part(d, "covariances")["array"]["values"].__setitem__(slice(0, 4), [1.0, 1.0, 1.0, 1.0])
    )
    with pytest.raises(ValueError, match="covariance matrix of the mixture is singular"):
        evlearn.load_model(path)


RUN_TIME = {"n_jobs": 20_000, "verbose": 5, "store_masses": "precious.npy", "checkpoint": "precious"}


def test_run_time_parameters_are_never_read_from_a_file(path):
    model = ECM(2, random_state=0, n_jobs=2, verbose=0, store_masses=path.with_name("m.npy"))
    evlearn.save_model(model.fit(X), path)
    changed(path, lambda d: d["steps"][0]["parameters"].update(RUN_TIME))
    reloaded = evlearn.load_model(path)
    assert {name: reloaded.get_params()[name] for name in RUN_TIME} == {
        name: ECM().get_params()[name] for name in RUN_TIME
    }


def test_run_time_parameters_are_not_written(path):
    evlearn.save_model(ECM(2, random_state=0, n_jobs=2).fit(X), path)
    assert not RUN_TIME.keys() & json.loads(path.read_text())["steps"][0]["parameters"].keys()


def test_a_loaded_scaler_does_not_write_into_data(path):
    evlearn.save_model(make_pipeline(StandardScaler(copy=False), ECM(2, random_state=0)).fit(X.copy()), path)
    changed(path, lambda d: d["steps"][0]["parameters"].update(copy=False))
    new = NEW.copy()
    evlearn.load_model(path).predict(new)
    assert np.array_equal(new, NEW)


@pytest.mark.parametrize(
    "change",
    [
        {"max_iter": "many"},
        {"max_iter": 2.5},
        {"tol": None},
        {"tol": True},
        {"metric": ["euclidean"]},
        {"init": {"Units": {"center": None, "scale": 1.0}}},
    ],
)
def test_a_parameter_of_another_kind_is_refused(change, path):
    evlearn.save_model(ECM(2, random_state=0).fit(X), path)
    changed(path, lambda d: d["steps"][0]["parameters"].update(change))
    with pytest.raises(ValueError, match=f"ECM.{next(iter(change))} "):
        evlearn.load_model(path)


def test_an_unknown_parameter_of_scikit_learn_is_accepted_if_it_is_off(path):
    evlearn.save_model(make_pipeline(StandardScaler(), ECM(2, random_state=0)).fit(X), path)
    whole = path.read_text()
    changed(path, lambda d: d["steps"][0]["parameters"].update(novelty=False))
    assert np.array_equal(evlearn.load_model(path)[0].transform(X), StandardScaler().fit_transform(X))
    path.write_text(whole)
    changed(path, lambda d: d["steps"][0]["parameters"].pop("with_std"))
    assert evlearn.load_model(path)[0].with_std
    changed(path, lambda d: d["steps"][0]["parameters"].update(novelty=True))
    with pytest.raises(ValueError, match=r"StandardScaler.novelty is not a parameter in the installed"):
        evlearn.load_model(path)


@pytest.mark.parametrize("size", [2**20, 2**28, 10**400])
def test_a_false_frame_size_takes_no_memory(size, path):
    evlearn.save_model(ECM(2, random_state=0).fit(X), path)
    changed(path, lambda d: [field.update(frame=size, sets=[[]]) for field in find(d, "focal sets")])
    tracemalloc.start()
    with pytest.raises(ValueError, match="too large"):
        evlearn.load_model(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


@pytest.mark.parametrize("name", [*MODELS, "CECM"])
def test_all_that_a_fit_learns_is_written_or_about_the_training_set(name):
    model = (MODELS | {"CECM": CECM(4, random_state=0)})[name].fit(X)
    fields = find_schema(type(model).__name__).fields
    names = {*fields, *TRAINING_SAMPLE_ATTRIBUTES, *model.get_params()}
    assert vars(model).keys() <= names


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_damaged_file_is_refused_or_predicts_without_a_crash(data, path):
    evlearn.save_model(ECM(2, random_state=0).fit(X), path)
    text = path.read_text()
    start = data.draw(st.integers(0, len(text) - 1))
    stop = data.draw(st.integers(start, min(start + 40, len(text))))
    path.write_text(
        text[:start] + data.draw(st.sampled_from(["", "0", "null", "[]", "1e400", "-1"])) + text[stop:]
    )
    try:
        model = evlearn.load_model(path)
    except ValueError:
        return
    with np.errstate(all="ignore"):
        try:
            model.predict_mass(NEW)
        except (ValueError, TypeError, AttributeError, IndexError):
            return


@pytest.mark.slow
def test_importing_evlearn_does_not_load_estimators():
    code = "import evlearn, sys; print('sklearn' in sys.modules, 'evlearn.export.models' in sys.modules)"
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert outcome.stdout.split() == ["False", "False"]
