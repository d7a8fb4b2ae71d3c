"""ONNX models in onnxruntime return the results of the estimators."""

import json
import subprocess
import sys
import warnings

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import OneClassSVM

import evlearn
from evlearn import CredalPartition, to_onnx
from evlearn.belief import FocalSets
from evlearn.classify import EvidentialKNNClassifier, EvidentialNeuralClassifier, EvidentialRBFClassifier
from evlearn.cluster import BPEC, CCM, ECM, EVCLUS, MergedMixture
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.utils.parameters import with_switches

X, Y = make_blobs(200, n_features=3, centers=3, cluster_std=2.5, random_state=0)
TEXT = np.array(["oak", "élm", "the ash"])[Y]
SOFT = 0.6 * np.eye(3)[Y] + 0.4
WEIGHTS = np.random.default_rng(0).choice([0.25, 1, 3], size=200)

CLUSTERERS = {
    "ECM": ECM(3, random_state=0),
    "full": ECM(3, alpha=1, beta=2, focal_sets="full", random_state=0),
    "sharp": ECM(3, beta=1.02, random_state=0),
    "fuzzy": ECM(3, beta=5, random_state=0),
    "no outliers": ECM(3, delta=np.inf, beta=2, random_state=0),
    "all outliers": ECM(3, delta=1e-3, beta=2, random_state=0),
    "adaptive": ECM(3, metric="adaptive", random_state=0),
    "adaptive and fuzzy": ECM(3, metric="adaptive", focal_sets="full", beta=4, delta=np.inf, random_state=0),
    "CCM": CCM(3, random_state=0),
    "BPEC": BPEC(3, metric="euclidean", n_neighbors=20),
    "BPEC, adaptive": BPEC(3, n_neighbors=20),
    "some sets": ECM(3, focal_sets=FocalSets([[0], [1], [2], [0, 2]], 3), random_state=0),
    "one cluster": ECM(1, random_state=0),
    "mixture": ParsimoniousGaussianMixture(3, random_state=0),
    "one component": ParsimoniousGaussianMixture(1, random_state=0),
    "merged mixture": MergedMixture(3, component_numbers=4, random_state=0),
    "merged into one": MergedMixture(1, component_numbers=2, random_state=0),
    "scaled": make_pipeline(StandardScaler(), ECM(3, random_state=0)),
    "not centered": make_pipeline(StandardScaler(with_mean=False), "passthrough", CCM(3, random_state=0)),
    "scaled mixture": make_pipeline(StandardScaler(), MergedMixture(3, component_numbers=3, random_state=0)),
}
CLASSIFIERS = {
    "neighbors": (EvidentialKNNClassifier(), Y),
    "more neighbors than samples": (EvidentialKNNClassifier(500, alpha=0.1), Y),
    "neighbors with soft labels": (EvidentialKNNClassifier(7, alpha=0.9), SOFT),
    "neighbors with text": (make_pipeline(StandardScaler(), EvidentialKNNClassifier(5)), TEXT),
    "prototypes": (EvidentialNeuralClassifier(random_state=0), Y - 1),
    "prototypes, not standardized": (
        with_switches(EvidentialNeuralClassifier(12, random_state=0), standardize=False),
        TEXT,
    ),
    "for and against": (EvidentialRBFClassifier(random_state=0), TEXT),
    "for and against, two classes": (EvidentialRBFClassifier(3, random_state=0), (Y > 0)),
    "for and against, many classes": (
        EvidentialRBFClassifier(9, max_iter=20, random_state=0),
        np.arange(200) % 14,
    ),
    "classes are numbers with a point": (EvidentialNeuralClassifier(random_state=0), 1.0 * Y),
}


def fitted(model, *labels, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, *labels, **options)


def session_of(model, **options):
    return onnxruntime.InferenceSession(to_onnx(model, **options), providers=["CPUExecutionProvider"])


def rows_to_ask(model):
    """Return rows of the data, centers, points between them, and increasingly distant points."""
    last = model[-1] if hasattr(model, "steps") else model
    random = np.random.default_rng(0)
    centers = getattr(last, "cluster_centers_", X[:4])
    midpoints = (centers[:, None] + centers[None]).reshape(-1, 3) / 2
    away = X[:150] + random.normal(size=(150, 3)) * 10.0 ** random.uniform(-3, 12, size=(150, 1))
    extreme = random.normal(size=(50, 3)) * 10.0 ** random.integers(10, 145, size=(50, 1))
    return np.vstack([X, centers, midpoints, away, extreme])


def check(model, rows, *, level=0.6, atol=1e-12):
    masses, label, verdict = session_of(model, level=level).run(None, {"X": rows})
    partition = evlearn.predict_mass(model, rows)
    np.testing.assert_allclose(masses, partition.masses, rtol=0, atol=atol)
    plausibilities = np.sort(partition.to_possibilistic(), axis=1)
    clear = np.ones(len(rows), dtype=bool)
    if plausibilities.shape[1] > 1:  # nearly equal clusters may be exchanged
        clear = plausibilities[:, -1] > plausibilities[:, -2] * (1 + 1e-5)
    assert clear.any()
    np.testing.assert_array_equal(label[clear], model.predict(rows)[clear])
    assignment = partition.verdict(level)
    words = np.select([assignment.sure, assignment.torn], ["sure", "torn"], "outlier")
    np.testing.assert_array_equal(verdict[clear], words[clear])
    return partition


@pytest.mark.parametrize("name", CLUSTERERS)
def test_onnxruntime_returns_the_results_of_a_clusterer(name):
    model = fitted(CLUSTERERS[name])
    # Probabilities of merged components are kept in single precision.
    atol = 1e-7 if "merged" in name or name == "scaled mixture" else 1e-12
    check(model, rows_to_ask(model), atol=atol)
    check(model, X, level=1.0, atol=atol)
    check(model, X, level=0.3, atol=atol)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_onnxruntime_returns_the_results_of_a_classifier(name):
    model, labels = CLASSIFIERS[name]
    check(fitted(model, labels), rows_to_ask(model))


@pytest.mark.parametrize("labels", [Y, SOFT], ids=["crisp", "soft"])
def test_neighbors_count_by_their_weights(labels):
    model = fitted(EvidentialKNNClassifier(6, alpha=0.8), labels, sample_weight=WEIGHTS)
    check(model, rows_to_ask(model))
    check(fitted(EvidentialKNNClassifier(2000, alpha=0.1), labels, sample_weight=WEIGHTS), X)


def test_labels_may_be_mass_functions_on_some_sets():
    masses = np.zeros((200, 4))
    masses[np.arange(200), 1 + (Y > 0)] = 0.7
    masses[:, 3] = 0.3
    partition = CredalPartition(masses, FocalSets([[], [0], [1, 2], [0, 1, 2]], 3))
    check(fitted(EvidentialKNNClassifier(9, alpha=0.9), partition), rows_to_ask(None))


def test_of_equally_distant_neighbors_the_first_are_taken():
    grid = np.array([[i, j] for i in range(8) for j in range(8)], dtype=float)
    labels = np.random.default_rng(0).integers(3, size=64)
    model = EvidentialKNNClassifier(3, alpha=0.9).fit(grid, labels)
    check(model, np.vstack([grid, grid + 0.5]))


@given(
    st.integers(1, 5),
    st.integers(1, 6),
    st.sampled_from(["auto", "full", "pairs", "simple"]),
    st.sampled_from(["euclidean", "adaptive"]),
    st.floats(1.1, 4),
    st.integers(-8, 8),
    st.integers(0, 2**31 - 1),
)
@settings(max_examples=8, deadline=None)
@pytest.mark.slow
def test_prototypes_of_any_kind_and_unit_are_supported(
    n_clusters, n_features, focal_sets, metric, beta, unit, seed
):
    random = np.random.default_rng(seed)
    rows = (random.normal(size=(60, n_features)) + 5 * random.integers(0, 3, size=(60, 1))) * 10.0**unit
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ECM(n_clusters, focal_sets=focal_sets, metric=metric, beta=beta, random_state=0).fit(rows)
    check(model, np.vstack([rows, 100 * rows]), atol=1e-9)


@given(
    st.integers(2, 5),
    st.integers(1, 6),
    st.sampled_from([EvidentialKNNClassifier(5), EvidentialNeuralClassifier(9), EvidentialRBFClassifier(4)]),
    st.integers(-8, 8),
    st.integers(0, 2**31 - 1),
)
@settings(max_examples=8, deadline=None)
@pytest.mark.slow
def test_classifiers_in_any_unit_are_supported(n_classes, n_features, model, unit, seed):
    random = np.random.default_rng(seed)
    labels = np.arange(60) % n_classes
    rows = (random.normal(size=(60, n_features)) + labels[:, None]) * 10.0**unit
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(rows, labels)
    check(model, np.vstack([rows, 100 * rows]))


# Rows of every kind


MODELS = {
    "ECM": fitted(ECM(3, random_state=0)),
    "no outliers": fitted(ECM(3, delta=np.inf, random_state=0)),
    "mixture": fitted(MergedMixture(3, component_numbers=3, random_state=0)),
    "neighbors": fitted(EvidentialKNNClassifier(5), Y),
    "prototypes": fitted(EvidentialNeuralClassifier(9, random_state=0), TEXT),
    "scaled": fitted(make_pipeline(StandardScaler(), EvidentialRBFClassifier(3, random_state=0)), Y - 2),
}
NOWHERE = {"prototypes": "", "scaled": -3}


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", MODELS)
def test_missing_and_invalid_values_have_no_result(name, value):
    session = session_of(MODELS[name])
    rows = np.tile(X[:1], (5, 1))
    rows[[1, 2, 3], [0, 1, 2]] = value
    masses, label, verdict = session.run(None, {"X": rows})
    np.testing.assert_array_equal(np.isnan(masses).all(axis=1), [False, True, True, True, False])
    assert not np.isnan(masses[[0, 4]]).any()
    assert set(label[1:4]) == {NOWHERE.get(name, -1)}
    assert set(verdict[1:4]) == {""}
    others = session.run(None, {"X": rows[[0, 4]]})
    np.testing.assert_allclose(masses[[0, 4]], others[0], rtol=1e-12)
    assert [label[[0, 4]].tolist(), verdict[[0, 4]].tolist()] == [values.tolist() for values in others[1:]]


@pytest.mark.parametrize("name", MODELS)
def test_numbers_that_an_estimator_refuses_have_no_result(name):
    rows = np.full((1, 3), 1e200)
    masses, _, verdict = session_of(MODELS[name]).run(None, {"X": rows})
    try:
        expected = evlearn.predict_mass(MODELS[name], rows).masses
    except ValueError:
        assert np.isnan(masses).all()
        assert verdict[0] == ""
    else:
        np.testing.assert_allclose(masses, expected, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_there_may_be_one_row_none_or_many(name):
    session = session_of(MODELS[name])
    results = session.run(None, {"X": X})
    n_sets = results[0].shape[1]
    empty = session.run(None, {"X": X[:0]})
    assert [values.shape for values in empty] == [(0, n_sets), (0,), (0,)]
    for i in (0, 77):
        for all_rows, single in zip(results, session.run(None, {"X": X[i : i + 1]}), strict=True):
            if single.dtype == np.float64:
                np.testing.assert_allclose(single[0], all_rows[i], rtol=1e-12, atol=1e-15)
            else:
                assert single[0] == all_rows[i]


@pytest.mark.parametrize("name", MODELS)
def test_rows_and_masses_may_be_in_single_precision(name):
    session = session_of(MODELS[name], dtype="float32")
    rows = X.astype(np.float32)
    masses, label, _ = session.run(None, {"X": rows})
    assert masses.dtype == np.float32
    expected = evlearn.predict_mass(MODELS[name], rows.astype(np.float64)).masses
    np.testing.assert_allclose(masses, expected, rtol=0, atol=1e-6)
    assert (label == MODELS[name].predict(rows.astype(np.float64))).mean() > 0.99


# Networks


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


@pytest.mark.parametrize(
    "options",
    [{}, {"outlier_model": "svm"}, {"standardize": False}],
    ids=["plain", "outliers", "not standardized"],
)
@pytest.mark.slow
def test_onnxruntime_returns_the_results_of_a_network(torch, options):
    from evlearn.neural import NNEVCLUS

    model = fitted(NNEVCLUS(3, max_iter=30, random_state=0, **options))
    check(model, rows_to_ask(model), atol=1e-11)  # exponents of large weights
    check(fitted(make_pipeline(StandardScaler(), NNEVCLUS(3, max_iter=5, random_state=0))), X)


@pytest.mark.slow
def test_onnxruntime_returns_the_results_of_a_network_with_outliers_as_in_the_paper(torch):
    from evlearn.neural import NNEVCLUS

    model = NNEVCLUS(3, max_iter=30, outlier_model="svm", random_state=0)
    model = fitted(with_switches(model, outlier_link="paper"))
    check(model, rows_to_ask(model), atol=1e-11)


def test_networks_in_single_precision_are_computed_in_double(torch):
    from evlearn.neural import NNEVCLUS

    model = fitted(NNEVCLUS(3, solver="rmsprop", max_iter=5, random_state=0))
    rows = np.vstack([X, X + 1])
    masses = session_of(model).run(None, {"X": rows})[0]
    np.testing.assert_allclose(masses, model.predict_mass(rows).masses, rtol=0, atol=1e-6)
    model.network_.double()
    np.testing.assert_allclose(masses, model.predict_mass(rows).masses, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_networks_of_the_user_are_written_if_their_layers_are_known(torch):
    from evlearn.neural import NNEVCLUS

    nn = torch.nn
    body = nn.Sequential(
        nn.Flatten(), nn.Linear(3, 6), nn.Tanh(), nn.Dropout(0.1), nn.Linear(6, 6, bias=False), nn.LeakyReLU(),
        nn.Sequential(nn.Linear(6, 6), nn.Sigmoid(), nn.Identity()), nn.Linear(6, 5),
    )  # fmt: skip
    check(fitted(NNEVCLUS(3, network=body, dtype="float64", max_iter=5, random_state=0)), X)
    unknown = nn.Sequential(nn.Linear(3, 5), nn.GELU())
    model = fitted(NNEVCLUS(3, network=unknown, max_iter=2, random_state=0))
    with pytest.raises(
        ValueError, match=r"networks of Linear, ReLU, .* got GELU; export network_ with torch.onnx"
    ):
        to_onnx(model)


@pytest.mark.parametrize(
    "outlier_model", [IsolationForest(n_estimators=5), OneClassSVM(), OneClassSVM(kernel="linear")]
)
def test_other_outlier_models_are_refused(torch, outlier_model):
    from evlearn.neural import NNEVCLUS

    model = fitted(NNEVCLUS(3, outlier_model=outlier_model, max_iter=2, random_state=0))
    with pytest.raises(ValueError, match="a OneClassSVM whose kernel is 'rbf' and whose gamma is a number, got"):
        to_onnx(model)


# The model


def test_the_model_describes_its_columns():
    frame = pd.DataFrame(X, columns=["a", "b", "ç"])
    model = make_pipeline(StandardScaler(), EvidentialKNNClassifier(5)).fit(frame, TEXT)
    session = session_of(model)
    facts = {name: json.loads(text) for name, text in session.get_modelmeta().custom_metadata_map.items()}
    assert facts == {
        "estimator": "EvidentialKNNClassifier",
        "evlearn": evlearn.__version__,
        "features": ["a", "b", "ç"],
        "frame": ["oak", "the ash", "élm"],
        "focal_sets": [[], ["oak"], ["the ash"], ["élm"], ["oak", "the ash", "élm"]],
    }
    (entry,) = session.get_inputs()
    assert (entry.name, entry.type, entry.shape) == ("X", "tensor(double)", ["n_samples", 3])
    assert [(output.name, output.type) for output in session.get_outputs()] == [
        ("masses", "tensor(double)"),
        ("label", "tensor(string)"),
        ("verdict", "tensor(string)"),
    ]


def test_standard_operators_are_enough_and_files_are_small():
    exported = to_onnx(MODELS["ECM"])
    assert len(exported) < 10_000
    model = onnx.load_from_string(exported)
    assert [(opset.domain, opset.version) for opset in model.opset_import] == [("", 17)]
    assert model.producer_name == "evidential-learn"
    n_numbers = 200 * 3 + 200  # the training samples and their classes
    assert 8 * n_numbers < len(to_onnx(MODELS["neighbors"])) < 8 * n_numbers + 10_000


def test_a_loaded_model_is_written_as_the_fitted_one(tmp_path):
    for name, model in MODELS.items():
        evlearn.save_model(model, tmp_path / "model.json")
        assert to_onnx(evlearn.load_model(tmp_path / "model.json")) == to_onnx(model), name


@pytest.mark.slow
def test_the_best_of_a_search_is_written():
    search = GridSearchCV(ECM(random_state=0), {"n_clusters": [3]}, cv=2, scoring=lambda *_: 0).fit(X)
    check(search, X)


# Unsupported models


@pytest.mark.parametrize(
    ("model", "labels", "options", "message"),
    [
        (
            EVCLUS(3),
            [],
            {},
            r"to_onnx supports ECM, CCM, BPEC, .*, got EVCLUS with metric='euclidean'; score with",
        ),
        (make_pipeline(PCA(2), ECM(3)), [], {}, "only a StandardScaler before the last step, got PCA"),
        (make_pipeline(MinMaxScaler(), ECM(3)), [], {}, "before the last step, got MinMaxScaler"),
        (
            EvidentialKNNClassifier(5, metric="manhattan"),
            [Y],
            {},
            "EvidentialKNNClassifier with metric='manhattan'",
        ),
        (ECM(3), [], {"level": 0}, "level must be"),
        (ECM(3), [], {"dtype": "float16"}, "dtype must be"),
        (
            EvidentialNeuralClassifier(9),
            [np.array([(0,), (1,)], dtype="M8[D]").ravel()[Y % 2]],
            {},
            "text or numb",
        ),
    ],
)
def test_unsupported_models_are_refused_with_a_reason(model, labels, options, message):
    with pytest.raises(ValueError, match=message):
        to_onnx(fitted(model, *labels), **options)


def test_an_estimator_must_be_fitted_and_of_a_class_that_is_known():
    with pytest.raises(NotFittedError):
        to_onnx(ECM(3))

    class Mine(ECM):
        pass

    with pytest.raises(ValueError, match="got Mine with metric='euclidean'"):
        to_onnx(fitted(Mine(3)))


@pytest.mark.slow
def test_missing_onnx_is_named():
    code = (
        "import sys; sys.modules['onnx'] = None\n"
        "import evlearn; from evlearn.cluster import ECM\n"
        "try:\n    evlearn.to_onnx(ECM())\nexcept ImportError as error:\n    print(error)"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output == "to_onnx needs the package onnx; install it with `pip install 'evidential-learn[onnx]'`.\n"
