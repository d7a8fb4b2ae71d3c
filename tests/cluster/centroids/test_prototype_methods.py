"""Common properties of ECM, CCM and BPEC: kinds of data, parallel computation, and results."""

import inspect
import pickle
import re
import signal
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_matrix
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from evlearn import papers
from evlearn.belief import FocalSets
from evlearn.cluster import BPEC, CCM, ECM
from evlearn.cluster.centroids.fit import Alternation
from evlearn.datasets import load_butterfly
from strategies import checks_of_classifiers

METHODS = {
    "ECM": (papers.ecm, {}),
    "ECM adaptive": (papers.ecm, {"metric": "adaptive"}),
    "CCM": (papers.ccm, {}),
    "BPEC": (papers.bpec, {}),
    "BPEC euclidean": (papers.bpec, {"metric": "euclidean"}),
}
cut_off = pytest.mark.filterwarnings("ignore:the objective still changed:sklearn.exceptions.ConvergenceWarning")
all_methods = pytest.mark.parametrize("method", METHODS)
means = pytest.mark.parametrize("method", ["ECM", "ECM adaptive", "CCM"])
ecm_distances = pytest.mark.parametrize("method", ["ECM", "ECM adaptive", "BPEC", "BPEC euclidean"])


def make(method, n_clusters=3, **settings):
    kind, method_settings = METHODS[method]
    return kind(n_clusters, **({"random_state": 0} | method_settings | settings))


def three_blobs(n_samples=300, seed=0, n_features=3):
    """Return 3 clusters of different shapes in random order, one of them between the others."""
    random = np.random.default_rng(seed)
    y = random.integers(3, size=n_samples)
    places = np.array([[0.0, 0, 0], [6, 2, 0], [1, 6, 3]])[:, :n_features]
    widths = np.array([[1.0, 1, 1], [2, 0.7, 1], [0.8, 1, 2]])[:, :n_features]
    return places[y] + widths[y] * random.standard_normal((n_samples, n_features)), y


@pytest.fixture(scope="module")
def blobs():
    return three_blobs()


def assert_valid(masses, atol=1e-10):
    assert np.isfinite(masses).all()
    assert (masses >= 0).all()
    np.testing.assert_allclose(masses.sum(axis=1, dtype=np.float64), 1, rtol=0, atol=atol)


# scikit-learn


@cut_off  # 5 samples in 3 clusters of any shape
@parametrize_with_checks(
    [ECM(), ECM(metric="adaptive"), CCM(), BPEC()], expected_failed_checks=checks_of_classifiers
)
@pytest.mark.slow_cells(
    "check_estimators_dtypes", "check_fit_score_takes_y", "check_transformer_data_not_an_array"
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@all_methods
def test_it_works_in_a_pipeline(blobs, method):
    X, y = blobs
    labels = make_pipeline(StandardScaler(), make(method)).fit_predict(X * [1, 100, 0.01])
    assert adjusted_rand_score(y, labels) > 0.8


# The result


@pytest.mark.parametrize("focal_sets", ["full", "pairs", "simple", "neighbor_pairs"])
@all_methods
def test_a_fit_finds_the_clusters_and_sets_its_attributes(blobs, method, focal_sets):
    X, y = blobs
    model = make(method, focal_sets=focal_sets).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.85
    assert model.credal_partition_.n_clusters == 3
    assert_valid(model.masses_)
    assert model.converged_
    assert len(model.objective_history_) == model.n_iter_ + 1
    assert model.objective_ == model.objective_history_[-1]
    assert model.cluster_centers_.shape == (3, 3)
    assert model.masses_.shape == (300, len(model.focal_sets_))
    with pytest.raises(ValueError, match="read-only"):
        model.masses_[0, 0] = 1


@all_methods
def test_all_documented_attributes_exist_after_a_fit(blobs, method):
    frame = pd.DataFrame(blobs[0], columns=["a", "b", "c"])
    model = make(method).fit(frame)
    section = inspect.getdoc(type(model)).split("Attributes\n")[1].split("See Also")[0]
    documented = set(re.findall(r"^(\w+_) : ", section, flags=re.MULTILINE))
    assert len(documented) >= 12
    if getattr(model, "metric", "euclidean") == "euclidean":
        documented.discard("metrics_")
    published = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    assert published == documented


@all_methods
def test_features_are_the_distances_to_the_prototypes(blobs, method):
    frame = pd.DataFrame(blobs[0], columns=["a", "b", "c"]).set_index(np.arange(300) + 7)
    model = make(method).fit(frame)
    metrics = getattr(model, "metrics_", [np.eye(3)] * 3)
    expected = np.column_stack(
        [
            cdist(frame, [center], "mahalanobis", VI=metric)
            for center, metric in zip(model.cluster_centers_, metrics, strict=True)
        ]
    )
    np.testing.assert_allclose(model.transform(frame), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(make(method).fit_transform(frame), model.transform(frame))
    # In NumPy 2.0, the rounding of matrix products depends on the order of an array in memory.
    rtol = 1e-14 if np.__version__.startswith("2.0.") else 0
    chunks = iter(np.array_split(blobs[0], 4))
    np.testing.assert_allclose(model.transform(chunks), model.transform(frame), rtol=rtol)
    of_array = make(method).fit(blobs[0])
    chunks = iter(np.array_split(blobs[0], 4))
    np.testing.assert_array_equal(of_array.transform(chunks), of_array.transform(blobs[0]))
    single = model.transform(frame.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, rtol=1e-4, atol=1e-5)
    features = model.set_output(transform="pandas").transform(frame)
    assert features.index.equals(frame.index)
    word = type(model).__name__.lower()
    assert list(features) == model.get_feature_names_out().tolist() == [f"{word}{k}" for k in range(3)]


def test_features_of_sparse_samples_and_of_samples_with_missing_values(blobs):
    X = np.array(blobs[0])
    X[np.abs(X) < 0.5] = 0
    model = make("ECM").fit(csr_matrix(X))
    np.testing.assert_allclose(model.transform(csr_matrix(X)), cdist(X, model.cluster_centers_), atol=1e-6)
    X_missing = np.array(X)
    X_missing[::3, 1] = np.nan
    model = make("ECM").fit(X_missing)
    features = model.transform(X_missing)
    complete = ~np.isnan(X_missing).any(axis=1)
    np.testing.assert_allclose(features[complete], cdist(X[complete], model.cluster_centers_))
    # Missing values can only increase a distance, regardless of the position of the sample in the data.
    observed_distances = cdist(X_missing[~complete][:, [0, 2]], model.cluster_centers_[:, [0, 2]])
    assert (features[~complete] > observed_distances).all()
    np.testing.assert_allclose(model.transform(X_missing[::-1])[::-1], features)


@all_methods
def test_prediction_of_training_samples_is_the_fit(blobs, method):
    X = np.vstack([blobs[0], blobs[0][:5], [[100, 100, 100]]])
    model = make(method).fit(X)
    np.testing.assert_array_equal(model.predict_mass(X).masses, model.masses_)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.credal_partition_.to_hard(), model.labels_)
    np.testing.assert_array_equal(model.predict_proba(X), model.credal_partition_.to_fuzzy())
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, rtol=0, atol=1e-12)
    verdict = model.credal_partition_.verdict()
    np.testing.assert_array_equal(model.predict_set(X), verdict.candidates)
    np.testing.assert_array_equal(model.predict_set(X, level=0.9), model.credal_partition_.verdict(0.9).candidates)
    np.testing.assert_array_equal(verdict.outlier, model.credal_partition_.outliers())
    np.testing.assert_allclose(model.predict_mass(X[7:8]).masses, model.masses_[7:8], rtol=0, atol=1e-12)


@all_methods
def test_masses_of_new_samples_are_plausible(method):
    settings = {"n_neighbors": 4} if "BPEC" in method else {}
    model = make(method, 2, delta=5, **settings).fit(load_butterfly().data[:11])
    new = model.predict_mass([[-3.5, 0.1], [0, 0], [3.5, -0.1], [40, 40]])
    rough = new.to_rough()
    assert rough[0].sum() == rough[2].sum() == 1
    assert (rough[0] != rough[2]).all()
    assert rough[1].all() or method == "CCM"  # CCM requires samples close to both prototypes
    assert new.to_fuzzy()[1] == pytest.approx([0.5, 0.5], abs=0.02)
    assert new.outliers().tolist() == [False, False, False, True]


@all_methods
def test_a_fit_does_not_depend_on_an_earlier_fit(blobs, method):
    X = blobs[0]
    fresh = make(method).fit(X)
    model = make(method, 2, focal_sets="neighbor_pairs", delta=3)
    if "metric" in model.get_params():
        model.set_params(metric="adaptive")
    model.fit(pd.DataFrame(X[:50, :2], columns=["a", "b"], index=[f"row {k}" for k in range(50)]))
    model.set_params(**fresh.get_params()).fit(X)
    assert set(vars(model)) == set(vars(fresh))
    np.testing.assert_array_equal(model.masses_, fresh.masses_)
    np.testing.assert_array_equal(model.objective_history_, fresh.objective_history_)
    assert model.credal_partition_.sample_names is None
    assert model.n_features_in_ == 3


@all_methods
def test_copies_predict_like_the_original(blobs, method):
    X = blobs[0]
    model = make(method).fit(X)
    thawed = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(thawed.masses_, model.masses_)
    np.testing.assert_array_equal(thawed.predict_mass(X[:9]).masses, model.predict_mass(X[:9]).masses)
    copy_of_model = clone(model)
    with pytest.raises(NotFittedError):
        copy_of_model.predict(X)
    np.testing.assert_array_equal(copy_of_model.fit(X).masses_, model.masses_)


# Threads and processes


@pytest.mark.slow
@all_methods
def test_the_result_does_not_depend_on_threads_and_processes(method):
    X, _ = three_blobs(50_000, n_features=2)  # four tasks
    settings = {"focal_sets": "neighbor_pairs", "tol": 1e-3} | ({"n_neighbors": 10} if "BPEC" in method else {})
    first = make(method, n_jobs=1, **settings).fit(X)
    threads = make(method, n_jobs=2, **settings).fit(X)
    with joblib.parallel_config("loky", n_jobs=2):
        processes = make(method, **settings).fit(X)
    for other in (threads, processes):
        np.testing.assert_array_equal(other.masses_, first.masses_)
        np.testing.assert_array_equal(other.objective_history_, first.objective_history_)
        np.testing.assert_array_equal(other.cluster_centers_, first.cluster_centers_)
    np.testing.assert_array_equal(threads.predict_mass(X).masses, first.masses_)


# Progress and interruptions


@all_methods
def test_progress_is_reported_when_asked_for(blobs, method, capsys):
    model = make(method, verbose=1, focal_sets="simple").fit(blobs[0])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    assert lines[0].startswith(f"{type(model).__name__} iteration    1   objective ")
    objectives = [float(line.split()[-1]) for line in lines]
    np.testing.assert_allclose(objectives, model.objective_history_[1:], rtol=1e-8)
    make(method).fit(blobs[0])
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("method", ["ECM", "ECM adaptive", "CCM", "BPEC"])
def test_too_few_iterations_are_reported(blobs, method):
    with pytest.warns(ConvergenceWarning, match="after max_iter=2 iterations; raise max_iter or tol"):
        model = make(method, max_iter=2).fit(blobs[0])
    assert not model.converged_
    assert model.n_iter_ == 2
    assert len(model.objective_history_) == 3


def interrupt_at(monkeypatch, number):
    """Simulate Ctrl-C in the pass over the data with this number, counted over all starts."""
    calls = iter(range(1, 10_000))
    plain = Alternation.collect

    def collect(*arguments):
        if next(calls) == number:
            raise KeyboardInterrupt
        return plain(*arguments)

    monkeypatch.setattr(Alternation, "collect", collect)


@pytest.mark.filterwarnings("ignore:the objective still changed")
@pytest.mark.parametrize("method", ["ECM", "ECM adaptive", "CCM", "BPEC"])
def test_an_interrupted_fit_has_the_result_of_its_complete_iterations(blobs, method, monkeypatch):
    X = blobs[0]
    short = make(method, max_iter=2).fit(X)
    interrupt_at(monkeypatch, 4)
    with pytest.warns(ConvergenceWarning, match="interrupted after 2 iterations"):
        model = make(method).fit(X)
    assert not model.converged_
    assert model.n_iter_ == 2
    np.testing.assert_array_equal(model.objective_history_, short.objective_history_)
    np.testing.assert_array_equal(model.masses_, short.masses_)
    np.testing.assert_array_equal(model.predict_mass(X).masses, model.masses_)


@means
@pytest.mark.parametrize("n_passes", [1, 2])
def test_an_interrupt_ends_all_starts_and_keeps_the_best(blobs, method, n_passes, monkeypatch):
    first = make(method).fit(blobs[0])
    interrupt_at(monkeypatch, first.n_iter_ + 1 + n_passes)
    with pytest.warns(ConvergenceWarning, match=f"interrupted after {first.n_iter_} iterations"):
        model = make(method, n_init=100).fit(blobs[0])
    np.testing.assert_array_equal(model.objective_history_, first.objective_history_)


@all_methods
def test_an_interrupt_before_the_first_result_is_passed_on(blobs, method, monkeypatch):
    interrupt_at(monkeypatch, 1)
    with pytest.raises(KeyboardInterrupt):
        make(method).fit(blobs[0])


@all_methods
def test_an_interrupt_before_the_pairs_keeps_the_simple_fit(blobs, method, monkeypatch):
    simple = make(method, focal_sets="simple").fit(blobs[0])
    interrupt_at(monkeypatch, simple.n_iter_ + 2)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = make(method, focal_sets="neighbor_pairs").fit(blobs[0])
    np.testing.assert_array_equal(model.masses_, simple.masses_)
    assert model.objective_ == simple.objective_


def test_an_interrupt_in_the_selection_of_pairs_keeps_the_simple_fit(blobs, monkeypatch):
    def impatient(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("evlearn.cluster.focal_families.cluster_similarity", impatient)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = make("ECM", focal_sets="neighbor_pairs").fit(blobs[0])
    np.testing.assert_array_equal(model.masses_, make("ECM", focal_sets="simple").fit(blobs[0]).masses_)


@pytest.mark.slow
def test_a_real_interrupt_keeps_the_best_state_so_far():
    code = (
        "import numpy as np\n"
        "from evlearn.cluster import ECM\n"
        "X = np.random.default_rng(0).standard_normal((20000, 3))\n"
        "model = ECM(3, tol=0, max_iter=1000000, n_init=3, n_jobs=2, verbose=1).fit(X)\n"
        "same = np.array_equal(model.predict_mass(X).masses, model.masses_)\n"
        "print('kept', np.isfinite(model.objective_), len(model.labels_), same)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/"
    )
    for line in process.stdout:
        if "iteration    5" in line:
            process.send_signal(signal.SIGINT)
            break
    out, err = process.communicate(timeout=60)
    assert out.splitlines()[-1] == "kept True 20000 True"
    assert "interrupted after" in err


# Kinds of data


@all_methods
@pytest.mark.slow_cells("BPEC", "ECM adaptive")
def test_any_kind_of_array_gives_the_same_result(blobs, method, tmp_path):
    X = np.round(blobs[0] * 8)
    plain = make(method).fit(X)
    locked = X.copy()
    locked.setflags(write=False)
    np.save(tmp_path / "X.npy", X)
    kinds = {
        "read-only": locked,
        "columns first": np.asfortranarray(X),
        "every other row": np.repeat(X, 2, axis=0)[::2],
        "whole numbers": X.astype(np.int32),
        "lists": X.tolist(),
        "memory map": np.load(tmp_path / "X.npy", mmap_mode="r"),
        "other bytes": X.astype(">f8"),
        "single": X.astype(np.float32),
        "pandas": pd.DataFrame(X, columns=["a", "b", "c"]),
        "polars": pl.DataFrame(X, schema=["a", "b", "c"]),
    }
    for kind, data in kinds.items():
        model = make(method).fit(data)
        close = 2e-3 if kind == "single" else 1e-9
        np.testing.assert_allclose(model.masses_, plain.masses_, rtol=0, atol=close, err_msg=kind)
        np.testing.assert_array_equal(model.predict(data), model.labels_, err_msg=kind)
        assert model.masses_.dtype == (np.float32 if kind == "single" else np.float64)
        if kind in ("pandas", "polars"):
            assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(X, np.round(blobs[0] * 8))  # the data were not changed


@all_methods
def test_masses_have_the_row_names_of_the_frame(blobs, method):
    names = [f"row {k}" for k in range(300)]
    model = make(method).fit(pd.DataFrame(blobs[0], index=names))
    assert list(model.credal_partition_.sample_names) == names
    assert model.predict_mass(pd.DataFrame(blobs[0][:2], index=["a", "b"])).sample_names == ("a", "b")
    assert make(method).fit(pd.DataFrame(blobs[0])).credal_partition_.sample_names is None


def test_masses_of_named_rows_can_be_stored_in_parquet_files(blobs, tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(blobs[0], index=[f"row {k}" for k in range(300)])
    model = make("ECM", store_masses=tmp_path / "masses.parquet").fit(frame)
    assert model.converged_
    assert not hasattr(model, "credal_partition_")
    assert len(pd.read_parquet(tmp_path / "masses.parquet")) == 300


@all_methods
def test_a_masses_file_that_cannot_be_written_is_refused_before_the_fit(blobs, tmp_path, method, capsys):
    (tmp_path / "old.parquet").mkdir()
    (tmp_path / "old.npy").mkdir()
    for path, error, message in (
        (tmp_path / "nowhere" / "masses.npy", FileNotFoundError, "store_masses: the folder of .* does not exist"),
        (tmp_path / "nowhere" / "m.parquet", FileNotFoundError, "store_masses: the folder of .* does not exist"),
        (tmp_path / "old.parquet", FileExistsError, "store_masses: .*old.parquet exists already"),
        (tmp_path / "old.npy", FileExistsError, "store_masses: .*old.npy exists already"),
    ):
        with pytest.raises(error, match=message):
            make(method, store_masses=path, verbose=1).fit(blobs[0])
    assert capsys.readouterr().out == ""  # of iterations


@all_methods
def test_masses_are_not_stored_without_store_masses(blobs, method):
    X = blobs[0]
    stored, model = make(method).fit(X), make(method, store_masses=False).fit(X)
    for name in ("masses_", "labels_", "credal_partition_"):
        with pytest.raises(AttributeError, match=f"there is no {name}: store_masses is False. Use predict"):
            getattr(model, name)
    np.testing.assert_array_equal(model.cluster_centers_, stored.cluster_centers_)
    np.testing.assert_array_equal(model.predict_mass(X).masses, stored.masses_)
    np.testing.assert_array_equal(model.fit_predict(X), stored.labels_)
    assert len(pickle.dumps(model)) < len(pickle.dumps(stored)) - stored.masses_.nbytes
    assert len(model.set_params(store_masses=True).fit(X).masses_) == len(X)


def test_labels_that_are_not_stored_are_predicted(blobs, tmp_path):
    X = blobs[0]
    pl.DataFrame(X).write_parquet(tmp_path / "x.parquet")
    labels = make("ECM").fit_predict(X)
    np.testing.assert_array_equal(make("ECM").fit_predict(tmp_path / "x.parquet"), labels)
    np.testing.assert_array_equal(make("ECM", store_masses=tmp_path / "m.parquet").fit_predict(X), labels)
    weighted = make("ECM", store_masses=False).fit_predict(X, sample_weight=np.arange(len(X)))
    np.testing.assert_array_equal(weighted, make("ECM").fit(X, sample_weight=np.arange(len(X))).labels_)


@all_methods
def test_the_destination_of_masses_is_checked(blobs, method):
    with pytest.raises(ValueError, match=r"store_masses must be None or a path .* got 'no'"):
        make(method, store_masses="no").fit(blobs[0])
    with pytest.raises(ValueError, match="store_masses must be True, False or the name of a file, got 3"):
        make(method, store_masses=3).fit(blobs[0])


@pytest.mark.parametrize("settings", [{"focal_sets": "full"}, {"focal_sets": "auto"}, {"n_clusters": 1}])
def test_masses_that_exceed_memory_are_refused_before_the_fit(blobs, tmp_path, monkeypatch, capsys, settings):
    X = blobs[0]
    n_sets = len(ECM(random_state=0).set_params(**settings).fit(X).focal_sets_)
    n_bytes = 8 * n_sets * len(X)
    monkeypatch.setattr("evlearn.cluster.focal_families._NEGLIGIBLE_BYTES", 0)
    monkeypatch.setattr("evlearn.cluster.focal_families.available_memory", lambda: n_bytes - 1)
    model = ECM(random_state=0, verbose=1).set_params(**settings)
    expected = rf"300 samples x {n_sets} focal sets \(.*take {n_bytes:,} bytes, and {n_bytes - 1:,} are available"
    with pytest.raises(
        ValueError, match=expected + r"\. Use store_masses=False, store_masses='.*', or focal_sets='auto'"
    ):
        model.fit(X)
    assert capsys.readouterr().out == ""  # of iterations
    assert model.set_params(verbose=0, store_masses=False).fit(X).n_iter_
    assert model.set_params(store_masses=True).partial_fit(X).n_samples_seen_  # which stores none
    assert model.set_params(store_masses=tmp_path / "m.npy").fit(X).masses_.shape == (300, n_sets)
    monkeypatch.setattr("evlearn.cluster.focal_families.available_memory", lambda: n_bytes)
    assert model.set_params(store_masses=True).fit(X).masses_.shape == (300, n_sets)


def test_a_million_samples_in_all_sets_of_twelve_clusters_are_refused_at_once(monkeypatch):
    X = np.zeros((1_000_000, 2), dtype=np.float32)
    monkeypatch.setattr("evlearn.cluster.centroids.fit.first_state", None)  # the fit must not start
    with pytest.raises(ValueError, match=r"1,000,000 samples x 4,096 focal sets .* take 16,384,000,000 bytes"):
        ECM(12, focal_sets="full").fit(X)


@pytest.mark.parametrize("method", ["ECM", "ECM adaptive", "CCM", "BPEC"])
@pytest.mark.slow
def test_single_precision_agrees_on_all_samples_that_are_not_torn(method):
    X, _ = three_blobs(20_000)
    settings = {"n_neighbors": 10} if method == "BPEC" else {}
    double = make(method, **settings).fit(X)
    single = make(method, **settings).fit(X.astype(np.float32))
    assert single.masses_.dtype == np.float32
    assert_valid(single.masses_, atol=1e-5)
    torn = double.credal_partition_.to_rough("max_mass").sum(axis=1) > 1
    assert np.mean(single.labels_[~torn] == double.labels_[~torn]) >= 0.999
    assert single.objective_ == pytest.approx(double.objective_, rel=1e-5)


# Locations and units of the data


@cut_off
@all_methods
def test_data_far_from_the_origin_have_the_same_result(blobs, method):
    X = blobs[0]
    plain = make(method).fit(X)
    shifted = make(method).fit(X + 1e6 * X.std(axis=0))
    np.testing.assert_allclose(shifted.masses_, plain.masses_, rtol=0, atol=1e-6)
    assert shifted.delta_ == pytest.approx(plain.delta_, rel=1e-8)


@pytest.mark.parametrize("factor", [1e-100, 1e100])
@pytest.mark.parametrize("delta", ["auto", 4.0])
@all_methods
def test_extreme_units_have_the_same_result(blobs, method, delta, factor):
    X = blobs[0]
    plain = make(method, delta=delta).fit(X)
    scaled = make(method, delta=delta if delta == "auto" else factor * delta).fit(factor * X)
    np.testing.assert_allclose(scaled.masses_, plain.masses_, rtol=0, atol=1e-9)
    assert scaled.delta_ == pytest.approx(factor * plain.delta_, rel=1e-9)
    assert scaled.objective_ == pytest.approx(factor**2 * plain.objective_, rel=1e-9)


@pytest.mark.parametrize("factor", [1e-200, 1e200, 1e307])
@all_methods
def test_units_whose_squares_overflow_are_refused(blobs, method, factor):
    with pytest.raises(ValueError, match=r"X has values .* square"):
        make(method).fit(factor * blobs[0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("metric", ["euclidean", "adaptive"])
@pytest.mark.parametrize("place", [0, 1000])
def test_samples_on_prototypes_and_barycenters_have_all_mass_on_their_sets(metric, place, dtype):
    # Prototypes of BPEC are fixed: the third is the barycenter of the other 2, and of all 3.
    prototypes = place + np.array([[-1.0, 0], [1, 0], [0, 0]])
    on_prototype, on_barycenter, on_both = [-1, 0], [0.5, 0], [0, 0]
    X = place + np.array([on_prototype, on_barycenter, on_both, [0, 2], [1, -1], [-2, 1], [2, 1], [0, -2]])
    model = papers.bpec(init=prototypes, metric=metric, delta=2).fit(X.astype(dtype))
    expected = np.zeros((3, 8))
    for row, sets in enumerate([[(0,)], [(1, 2)], [(2,), (0, 1), (0, 1, 2)]]):
        for focal_set in sets:
            expected[row, list(model.focal_sets_).index(focal_set)] = 1 / len(sets)
    np.testing.assert_allclose(model.masses_[:3], expected, rtol=0, atol=1e-7 if dtype == np.float32 else 1e-14)
    assert (model.masses_[3:].max(axis=1) < 1).all()


@cut_off
@all_methods
@pytest.mark.parametrize(
    ("X", "n_clusters"),
    [
        (np.zeros((10, 2)), 3),
        (np.full((10, 2), 1e9 / 3), 1),
        (np.repeat([[0.0, 0.0], [5.0, 5.0]], 10, axis=0), 3),
        (np.column_stack([np.arange(12.0), np.ones(12)]), 3),
        (np.random.default_rng(0).standard_normal((40, 3)) * [1, 1, 1e8], 3),
        (np.array([[0.0], [1.0]]), 2),
        (np.random.default_rng(0).standard_normal((5, 2)), 5),
        (np.random.default_rng(0).standard_normal((40, 2)), 1),
        (np.vstack([np.random.default_rng(0).standard_normal((40, 2)), [[1e6, 0]]]), 3),
        (np.vstack([np.zeros((99, 2)), [[1.0, 0]]]), 2),
        (np.random.default_rng(0).standard_normal((6, 20)), 2),
    ],
    ids=[
        "one place",
        "a cluster in a single point",
        "two places",
        "a constant column",
        "a column of another size",
        "two samples",
        "all alone",
        "one cluster",
        "far out",
        "nearly a single point",
        "more features than samples",
    ],
)
def test_degenerate_data_give_valid_masses(X, n_clusters, method):
    for dtype in (np.float64, np.float32):
        model = make(method, n_clusters).fit(X.astype(dtype))
        assert_valid(model.masses_, atol=1e-10 if dtype == np.float64 else 1e-5)
        assert np.isfinite(model.objective_history_).all()
        assert np.isfinite(model.cluster_centers_).all()
        assert model.delta_ > 0
        np.testing.assert_array_equal(model.predict_mass(X.astype(dtype)).masses, model.masses_)


@cut_off
@settings(max_examples=40)
@given(
    hnp.arrays(np.int64, st.tuples(st.integers(2, 20), st.integers(1, 3)), elements=st.integers(0, 3)),
    st.integers(1, 4),
    st.sampled_from(list(METHODS)),
    st.sampled_from([1.1, 1.5, 2.0, 3.0]),
)
@pytest.mark.slow
def test_with_ties_and_duplicates_identical_samples_have_the_same_valid_masses(X, c, method, beta):
    model = make(method, min(c, len(X)), beta=beta, max_iter=30).fit(X)
    assert_valid(model.masses_)
    _, group = np.unique(X, axis=0, return_inverse=True)
    first = np.array([np.flatnonzero(group.ravel() == index)[0] for index in group.ravel()])
    close = 1e-12 if model._model.__class__.__name__ == "AdaptiveModel" else 0
    np.testing.assert_allclose(model.masses_, model.masses_[first], rtol=0, atol=close)


@means
def test_a_single_sample_is_a_cluster(method):
    model = make(method, 1).fit([[3.0, 4.0]])
    np.testing.assert_allclose(model.masses_, [[0, 1]], rtol=0, atol=1e-100)
    np.testing.assert_array_equal(model.cluster_centers_, [[3, 4]])
    assert model.objective_ == pytest.approx(0, abs=1e-100)


@means
def test_with_as_many_clusters_as_samples_each_sample_is_a_cluster(method):
    X = np.random.default_rng(0).standard_normal((6, 2))
    model = make(method, 6, focal_sets="simple").fit(X)
    assert sorted(model.labels_) == list(range(6))
    assert model.objective_ == pytest.approx(0, abs=1e-12)


@all_methods
def test_with_an_infinite_delta_no_sample_is_an_outlier(method):
    model = make(method, 2, delta=np.inf).fit(load_butterfly().data)
    assert (model.masses_[:, 0] == 0).all()
    assert np.isfinite(model.objective_)
    assert model.converged_


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@all_methods
def test_with_a_tiny_delta_all_samples_are_outliers(blobs, method, dtype):
    X = blobs[0].astype(dtype)
    model = make(method, delta=1e-200, focal_sets="simple").fit(X)
    assert_valid(model.masses_, atol=1e-5)
    on_prototypes = np.isclose(X[:, None, :], model.cluster_centers_).all(axis=2).any(axis=1)
    assert (model.masses_[~on_prototypes, 0] > 0.999).all()
    assert on_prototypes.sum() <= 3


# Invalid arguments


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be .*a whole number of at least 1, got 0"),
        ({"n_clusters": 2.5}, "n_clusters must be .*a whole number of at least 1, got 2.5"),
        ({"n_clusters": 13}, "n_clusters=13 is more than n_samples=12"),
        ({"beta": 1}, "beta must be 'auto' or a number above 1, got 1"),
        ({"beta": "2"}, "beta must be 'auto' or a number above 1, got '2'"),
        ({"delta": -1}, "delta must be 'auto' or a number above 0, got -1"),
        ({"delta": 0}, "delta must be 'auto' or a number above 0, got 0"),
        ({"delta": np.nan}, "delta must be 'auto' or a number above 0, got nan"),
        ({"delta": "x"}, r"delta must be 'auto' or a number above 0, got 'x'"),
        ({"focal_sets": "half"}, "focal_sets must be one of .* got 'half'"),
        ({"focal_sets": 3}, "focal_sets must be one of .* got 3"),
        ({"focal_sets": [(0,), (0, 1)]}, r"focal_sets lacks the single cluster 1; .* add \(1,\)"),
        ({"focal_sets": FocalSets.full(3)}, "focal_sets is on 3 clusters but n_clusters is 2"),
        ({"init": "guess"}, "init must be one of .* got 'guess'"),
        ({"init": np.eye(3)}, r"init must have shape \(2, 2\), .* got shape \(3, 3\)"),
        ({"init": [[0, 1], [2, np.nan]]}, r"init must have shape \(2, 2\), .* finite numbers"),
        ({"init": [["a", "b"]]}, "init must be one of .* or an array of numbers"),
        ({"init": 5}, r"init must have shape \(., 2\), .* got shape \(\)"),
        ({"tol": -1}, "tol must be a number at least 0, got -1"),
        ({"max_iter": 0}, "max_iter must be a whole number of at least 1, got 0"),
    ],
)
@all_methods
def test_invalid_parameters_are_reported_with_allowed_values(settings, message, method):
    with pytest.raises(ValueError, match=message):
        make(method, **({"n_clusters": 2} | settings)).fit(load_butterfly().data)


@ecm_distances
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": -1}, "alpha must be 'auto' or a number at least 0, got -1"),
        ({"metric": "cosine"}, r"metric must be one of .*, got 'cosine'"),
    ],
)
def test_invalid_parameters_of_distances_to_barycenters_are_reported(settings, message, method):
    with pytest.raises(ValueError, match=message):
        make(method, 2, **settings).fit(load_butterfly().data)


@all_methods
def test_invalid_data_are_refused_with_the_reason(blobs, method):
    X = blobs[0]
    model = make(method)
    if not get_tags(model).input_tags.allow_nan:
        with pytest.raises(ValueError, match=r"contains NaN\. .* put an imputer"):
            model.fit(np.where(X > 5, np.nan, X))
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.where(X > 5, np.inf, X))
    if not get_tags(model).input_tags.sparse:
        with pytest.raises(TypeError, match=r"[Ss]parse"):
            model.fit(csr_matrix(X))
    with pytest.raises(ValueError, match="2D array"):
        model.fit(X[:, 0])
    with pytest.raises(ValueError, match="0 sample"):
        model.fit(X[:0])
    with pytest.raises(NotFittedError):
        model.predict_mass(X)
    model.fit(X)
    with pytest.raises(ValueError, match=r"2 features, .* expecting 3 features"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match="infinity"):
        model.predict(np.full((2, 3), np.inf))


@means
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.full(300, -1.0), "sample_weight must be finite numbers that are not negative"),
        (np.zeros(300), "not all zero"),
        (np.full(300, np.nan), "sample_weight must be finite"),
        (np.ones(299), r"sample_weight must be 1D with shape \(300,\), got \(299,\)"),
        (["a"] * 300, "sample_weight must be numbers"),
    ],
    ids=["negative", "none", "missing", "too few", "words"],
)
def test_invalid_weights_are_refused_with_the_reason(blobs, method, weights, message):
    with pytest.raises(ValueError, match=message):
        make(method).fit(blobs[0], sample_weight=weights)
