"""Tests of the scale study: recorded measurements, and a short version."""

import http.client
import json
import math
import subprocess
import sys
import time
from contextlib import closing
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import evlearn
from benchmarks.common import record
from benchmarks.common.big_data import generate
from benchmarks.common.watching import Watch, clock_times, cpu_seconds
from benchmarks.studies.scale import ensemble, forecast, one_row, row_costs, service, service_example, small_data
from benchmarks.studies.scale import study as scale
from benchmarks.studies.scale.engine import compare
from evlearn import open_dataset

MAX_BYTES = 6e9


@pytest.fixture(scope="module")
def sizes():
    return record.load("scale_sizes")["runs"]


def find(sizes, method, way, n_rows):
    return next(
        entry for entry in sizes if (entry["method"], entry["way"], entry["rows"]) == (method, way, n_rows)
    )


def pass_seconds(run):
    """Return the CPU seconds for reading, one iteration and writing masses."""
    laps = run["laps"]
    return laps["read"]["cpu"] + laps["fit"]["cpu"] / run["iterations"] + laps["masses"]["cpu"]


@pytest.mark.parametrize(("method", "way"), [*product(("ecm", "evclus"), scale.WAYS), ("nn_evclus", "files")])
def test_a_hundred_million_rows_were_processed_by_two_processes_in_6_gigabytes(sizes, method, way):
    run = find(sizes, method, way, 10**8)
    assert run["peak_bytes"] < MAX_BYTES
    assert run["held_to_bytes"] in (None, int(MAX_BYTES))
    assert run["largest_error_of_masses"] < 1e-5
    assert run["ari"] > 0.99
    assert method == "nn_evclus" or run["outliers_found"] > 0.99  # a network alone does not detect outliers


@pytest.mark.parametrize("method", ["ecm", "evclus"])
def test_cpu_grows_little_faster_than_rows(sizes, method):
    small, large = (pass_seconds(find(sizes, method, "files", n_rows)) for n_rows in (10**7, 10**8))
    assert math.log10(large / small) < 1.25


def test_the_forecast_follows_from_the_other_files():
    committed, result = record.load("scale_forecast"), forecast.measure()
    assert {name: committed[name] for name in result} == result


def test_the_cost_model_predicts_a_hundred_million_rows():
    for entry in record.load("scale_forecast")["check"]:
        assert 0.6 < entry["ratio"] < 1.5, entry


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("name", "passes", "terms"),
    [
        ("ecm", row_costs.ecm_passes, row_costs.ecm_terms),
        ("evclus", row_costs.landmark_passes, row_costs.landmark_terms),
        ("nn_evclus", row_costs.epochs, row_costs.epoch_terms),
    ],
)
@pytest.mark.slow_cells("nn_evclus-epochs-epoch_terms")
def test_the_cost_of_a_row_can_be_measured(name, passes, terms):
    entry = next(passes(2000))
    assert entry["nanoseconds"] > 0
    assert len(terms(entry)) == len(record.load("scale_costs")[name]["coefficients"])


def test_the_cost_of_a_number_in_a_file_can_be_measured():
    assert min(row_costs.parquet(4000, 2).values()) > 0


def test_kills_did_not_affect_results():
    kills = record.load("scale_kills")
    assert kills["wrong"] == 0
    assert not kills["failed"]
    assert {entry["killed"] for entry in kills["runs"]} == {"worker", "client"}


def test_the_cost_of_embeddings_is_at_most_linear():
    small, large = record.load("scale_many_embeddings")["runs"]
    assert (small["rows"], large["rows"]) == (10**6, 10**7)
    costs = [
        (run["laps"]["fit"]["cpu"] / run["iterations"] + run["laps"]["labels"]["cpu"]) / run["rows"]
        for run in (small, large)
    ]
    assert costs[1] < 1.2 * costs[0]
    assert large["peak_bytes"] < 1.2 * large["rows"] * 300 * 4


def test_ten_thousand_clusters_take_little_memory():
    recorded = record.load("scale_very_many_clusters")
    result, faiss = recorded["ours"], recorded["faiss"]
    assert recorded["clusters"] == 10_000
    assert result["bytes_per_row"] <= 64
    assert result["largest_difference_from_arrays"] < 1e-6  # single precision
    assert result["accuracy"] >= faiss["accuracy"] - 0.001
    assert result["peak_of_iteration"] < 1e9
    assert recorded["fitted"]["float32"]["bytes_per_row"] <= 64


@pytest.mark.xfail(strict=True, reason="in double precision, outliers have small masses on hundreds of sets")
def test_400_clusters_take_little_memory_in_double_precision():
    assert record.load("scale_very_many_clusters")["fitted"]["float64"]["bytes_per_row"] <= 64


def test_one_row_of_many_clusters_takes_little_time_and_memory():
    for entry in record.load("scale_embeddings")["rows"]:
        assert entry["wrong"] == 0
        assert entry["bytes"] < 10e6
        assert entry["bytes_of_the_process"] < 0.5e9


@pytest.mark.long
@pytest.mark.parametrize(("method", "way"), [("ecm", "files"), ("evclus", "collection")])
def test_a_hundred_thousand_rows_are_reproduced_as_recorded(sizes, tmp_path, method, way):
    settings = SimpleNamespace(folder=tmp_path, limit=0)
    result, committed = scale.run_in_process(settings, method, way, 10**5), find(sizes, method, way, 10**5)
    assert "failed" not in result
    assert result["iterations"] == committed["iterations"]
    assert result["objective"] == pytest.approx(committed["objective"], rel=1e-4)
    assert (result["ari"], result["outliers_found"]) == (committed["ari"], committed["outliers_found"])
    assert result["peak_bytes"] < 1.5 * committed["peak_bytes"]
    assert list(tmp_path.iterdir()) == [tmp_path / "gauss_100000x8"]  # neither masses nor temporary files are left


@pytest.mark.timing
def test_an_iteration_on_dask_costs_little_more_than_the_bare_loop(tmp_path):
    with open_dataset(generate(tmp_path, 4_000_000, 8), folder=tmp_path) as rows, pytest.warns(ConvergenceWarning):
        ratio = compare("dask", rows, iterations=5, rounds=3)["ratio"]
    # The overhead of the engine is larger for small data, because each task costs milliseconds.
    assert ratio < 6


@pytest.mark.timing
def test_the_import_is_fast_and_loads_no_extra():
    imported, numpy = (small_data.run(f"import {name}") for name in ("evlearn", "numpy"))
    assert imported["extras"] == []
    assert imported["cpu_seconds"] < numpy["cpu_seconds"] + 0.2


def test_memory_and_a_pass_grow_no_faster_than_the_number_of_clusters():
    runs = {entry["clusters"]: entry for entry in record.load("scale_clusters")["runs"]}
    for name in ("bytes", "pass_seconds"):
        for n_clusters in (20, 30, 40, 50):
            assert runs[n_clusters][name] <= 1.2 * n_clusters / 10 * runs[10][name], (name, n_clusters)


def test_an_epoch_from_a_file_has_the_same_loss_as_from_memory_and_bounded_memory():
    memory, small, large = record.load("scale_epochs")["runs"]
    assert small["loss"] == memory["loss"]
    assert small["epoch_seconds"] < 1.5 * memory["epoch_seconds"]
    assert large["epoch_seconds"] < 1.5 * large["rows"] / small["rows"] * small["epoch_seconds"]
    assert large["peak_mb"] < 1.3 * small["peak_mb"]


def test_starts_of_many_clusters_miss_few_clusters_and_are_faster_than_k_means():
    for run in record.load("scale_starts")["runs"]:
        assert run["missed"] <= 0.3 * run["missed_by_best_of_ten"], run["sizes"]
        assert run["seconds"] <= run["seconds_of_best_of_ten"], run["sizes"]


# Ensembles


def test_the_doubt_of_an_ensemble_finds_errors_of_digits_in_little_time():
    committed = record.load("scale_ensemble")
    result, peer = committed["means"]["15 Gaussians, 10 halves"], committed["means"]["k-means"]
    assert result["worst_aurc"] <= 0.02 < 0.06 < peer["aurc"]
    assert result["least_cpu_seconds"] <= 1.5
    assert ensemble.means(committed["digits"]) == committed["means"]


def test_an_ensemble_is_not_better_than_k_means_on_other_data_as_recorded():
    means = record.load("scale_ensemble")["means_of_others"]
    pieces, single, peer = (means[name] for name in ("mixture of 1.5 c, 10 halves", "mixture", "k-means"))
    assert pieces["aurc"] < single["aurc"] - 0.02
    assert pieces["ari"] > max(single["ari"], peer["ari"]) + 0.02
    assert abs(pieces["aurc"] - peer["aurc"]) < 0.02


def test_ensembles_of_a_hundred_thousand_and_a_million_samples_satisfy_the_targets():
    small, middle, large = record.load("scale_ensemble")["sizes"]
    assert (middle["n_samples"], large["n_samples"]) == (10**5, 10**6)
    assert middle["cpu_seconds"] < 60
    assert middle["peak_megabytes"] < 2000
    assert large["cpu_seconds"] < 60
    for entry in (small, middle, large):
        assert entry["error_of_torn"] > 20 * entry["error_of_sure"]


@pytest.mark.slow
def test_a_small_ensemble_is_reproduced_as_recorded():
    committed, result = record.load("scale_ensemble")["sizes"][0], ensemble.size(10_000, 0.5)
    assert result["ari"] == pytest.approx(committed["ari"], abs=0.01)
    assert result["error_of_sure"] == pytest.approx(committed["error_of_sure"], abs=0.002)


@pytest.mark.slow
def test_a_service_returns_the_predictions_of_the_model():
    result = service.serve(20, 30, 400)
    assert result["busy"]["equal"] == 400
    assert result["alone"]["equal"] == 40
    assert result["blas_threads"][0] == result["blas_threads"][1]


@pytest.mark.slow
def test_a_service_explains_invalid_requests_and_continues(tmp_path):
    model, X = service.fit_model(3, 2, np.random.default_rng(0))
    evlearn.save_model(model, tmp_path / "model.json")
    command = [sys.executable, service.SERVER, tmp_path / "model.json", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            port = int(process.stdout.readline())
            with closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
                for rows in ("", "[]", '[["a"]]', "[[1]]", "[[1, 1e999]]", "null"):
                    connection.request("POST", "/", f'{{"rows": {rows}}}')
                    response = connection.getresponse()
                    assert (response.status, set(json.loads(response.read()))) == (400, {"error"})
                _, answer = service.send_request(connection, X[:3])
            assert answer["masses"] == model.predict_mass(X[:3]).masses.tolist()
        finally:
            process.terminate()


@pytest.mark.slow
def test_one_row_of_a_loaded_model_has_equal_masses_from_python_onnxruntime_and_a_service(tmp_path):
    result = one_row.measure("ECM", tmp_path, 200)
    assert result["difference"] < 1e-12
    assert result["http"]["equal"] == 200


def test_the_recorded_rows_took_less_than_a_millisecond_without_memory_growth():
    recorded = record.load("scale_one_row")
    assert recorded["requests"] == 10_000
    assert [run["model"] for run in recorded["runs"]] == list(one_row.MODELS)
    for run in recorded["runs"]:
        # A StandardScaler takes as long for one row as our estimators.
        assert run["evlearn"]["clock"]["p99_ms"] < (2 if run["model"] == "StandardScaler and ECM" else 1)
        assert run.get("onnxruntime", run["evlearn"])["clock"]["p99_ms"] < 1
        assert ("onnxruntime" in run) == (run["model"] not in one_row.PYTHON_ONLY)
        assert run.get("difference", 0) < 1e-6
        for memory in (run[name]["resident_bytes"] for name in ("evlearn", "onnxruntime", "http") if name in run):
            assert memory[1] < memory[0] + 2e6
        assert run.get("http", {"equal": 10_000})["equal"] == 10_000


def test_the_service_example_answers_a_request_as_text(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    assert service_example.measure(20, 1)["requests"] == 20


def test_the_recorded_requests_of_the_example_took_less_than_a_millisecond():
    recorded = record.load("scale_service_example")
    assert recorded["requests"] == 10_000
    assert recorded["cpu"]["p99_ms"] < 1


def test_the_recorded_service_was_correct_without_memory_growth():
    for run in record.load("scale_service")["runs"]:
        assert run["busy"]["requests"] == run["busy"]["equal"] == 10_000
        before, after = run["resident_bytes"]
        assert after < before + 5e6
        assert run["blas_threads"][0] == run["blas_threads"][1]
        assert set(run["blas_threads"][0]) == {2}


@pytest.mark.slow
def test_a_second_watch_excludes_earlier_work():
    cpu_seconds()
    with Watch() as watch:
        use_cpu(0.3)
        watch.lap("work")
    assert watch.laps["work"]["cpu"] >= 0.25
    with Watch() as watch:
        watch.lap("start")
    assert watch.laps["start"]["cpu"] < 0.1
    since = clock_times()
    use_cpu(0.3)
    with Watch(since=since) as watch:
        watch.lap("start")
    assert 0.25 <= watch.laps["start"]["cpu"] < 1


def use_cpu(seconds):
    start = time.process_time()
    while time.process_time() - start < seconds:
        pass


# Ratios to scikit-learn

#: Targets that are missed: a fit of CCM starts with 2 sets of 10 runs of k-means if there are outliers; the
#: selection searches the neighbors of all samples, and runs EK-NNclus for 20 subsamples; EKNNClus has 3 sqrt(n)
#: neighbors for each sample, so a graph of n samples has n^1.5 entries.
MISSED_RATIOS = (
    "CCM / KMeans(n_init=10), 1,000",
    "CCM / KMeans(n_init=10), 10,000",
    "select_n_clusters",
    "EKNNClus",
)


@pytest.mark.parametrize("name", record.load("scale_ratios")["figures"])
def test_ratios_to_scikit_learn_reach_their_targets(request, name):
    if name.startswith(MISSED_RATIOS):
        request.applymarker(pytest.mark.xfail(strict=True, reason="the limiting factors are given above"))
    figure = record.load("scale_ratios")["figures"][name]
    assert figure["now"] <= figure["target"]
