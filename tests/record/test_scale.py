"""The scale study: what was measured keeps its promises, and a short version still gives the same."""

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
from benchmarks.common.watching import Watch, cpu_seconds, now
from benchmarks.studies.scale import ensemble, forecast, one_row, row_costs, service, small_data
from benchmarks.studies.scale import study as scale
from benchmarks.studies.scale.engine import compare
from evlearn.blocks import open_rows

SIX_GIGABYTES = 6e9


@pytest.fixture(scope="module")
def sizes():
    return record.read("scale_sizes")["runs"]


def find(sizes, method, way, n_rows):
    return next(one for one in sizes if (one["method"], one["way"], one["rows"]) == (method, way, n_rows))


def one_pass(run):
    """CPU of reading, of one iteration and of writing masses."""
    laps = run["laps"]
    return laps["read"]["cpu"] + laps["fit"]["cpu"] / run["iterations"] + laps["masses"]["cpu"]


@pytest.mark.parametrize(("method", "way"), [*product(("ecm", "evclus"), scale.WAYS), ("nn_evclus", "files")])
def test_a_hundred_million_rows_went_through_two_processes_in_six_gigabytes(sizes, method, way):
    run = find(sizes, method, way, 10**8)
    assert run["peak_bytes"] < SIX_GIGABYTES
    assert run["held_to_bytes"] in (None, int(SIX_GIGABYTES))
    assert run["largest_error_of_masses"] < 1e-5
    assert run["ari"] > 0.99
    assert method == "nn_evclus" or run["outliers_found"] > 0.99  # a network alone knows none


@pytest.mark.parametrize("method", ["ecm", "evclus"])
def test_cpu_grows_little_faster_than_rows(sizes, method):
    small, large = (one_pass(find(sizes, method, "files", n_rows)) for n_rows in (10**7, 10**8))
    assert math.log10(large / small) < 1.25


def test_the_forecast_follows_from_the_other_files():
    committed, now = record.read("scale_forecast"), forecast.measure()
    assert {name: committed[name] for name in now} == now


def test_the_model_of_costs_foretells_a_hundred_million_rows():
    for one in record.read("scale_forecast")["check"]:
        assert 0.6 < one["ratio"] < 1.5, one


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("name", "passes", "terms"),
    [
        ("ecm", row_costs.ecm_passes, row_costs.ecm_terms),
        ("evclus", row_costs.landmark_passes, row_costs.landmark_terms),
        ("nn_evclus", row_costs.epochs, row_costs.epoch_terms),
    ],
)
def test_what_a_row_costs_can_be_measured(name, passes, terms):
    one = next(passes(2000))
    assert one["nanoseconds"] > 0
    assert len(terms(one)) == len(record.read("scale_costs")[name]["coefficients"])


def test_what_a_number_in_a_file_costs_can_be_measured():
    assert min(row_costs.parquet(4000, 2).values()) > 0


def test_kills_made_no_result_wrong():
    kills = record.read("scale_kills")
    assert kills["wrong"] == 0
    assert not kills["failed"]
    assert {one["killed"] for one in kills["runs"]} == {"worker", "client"}


def test_the_cost_of_embeddings_grows_no_faster_than_their_number():
    few, many = record.read("scale_many_embeddings")["runs"]
    assert (few["rows"], many["rows"]) == (10**6, 10**7)
    each = [
        (run["laps"]["fit"]["cpu"] / run["iterations"] + run["laps"]["labels"]["cpu"]) / run["rows"]
        for run in (few, many)
    ]
    assert each[1] < 1.2 * each[0]
    assert many["peak_bytes"] < 1.2 * many["rows"] * 300 * 4


def test_one_row_of_many_clusters_takes_little_time_and_memory():
    for one in record.read("scale_embeddings")["rows"]:
        assert one["wrong"] == 0
        assert one["bytes"] < 10e6
        assert one["bytes_of_the_process"] < 0.5e9


@pytest.mark.long
@pytest.mark.parametrize(("method", "way"), [("ecm", "files"), ("evclus", "collection")])
def test_a_hundred_thousand_rows_end_as_they_did(sizes, tmp_path, method, way):
    settings = SimpleNamespace(folder=tmp_path, limit=0)
    now, committed = scale.in_a_process(settings, method, way, 10**5), find(sizes, method, way, 10**5)
    assert "failed" not in now
    assert now["iterations"] == committed["iterations"]
    assert now["objective"] == pytest.approx(committed["objective"], rel=1e-4)
    assert (now["ari"], now["outliers_found"]) == (committed["ari"], committed["outliers_found"])
    assert now["peak_bytes"] < 1.5 * committed["peak_bytes"]
    assert list(tmp_path.iterdir()) == [tmp_path / "gauss_100000x8"]  # neither masses nor temporary files are left


@pytest.mark.timing
def test_an_iteration_on_dask_costs_little_more_than_the_bare_loop(tmp_path):
    with open_rows(generate(tmp_path, 4_000_000, 8), folder=tmp_path) as rows, pytest.warns(ConvergenceWarning):
        ratio = compare("dask", rows, iterations=5, rounds=3)["ratio"]
    # Of small data the engine takes a larger share: its tasks cost milliseconds, whatever their size.
    assert ratio < 6


@pytest.mark.timing
def test_importing_costs_little_and_loads_no_extra():
    imported, numpy = (small_data.run(f"import {name}") for name in ("evlearn", "numpy"))
    assert imported["extras"] == []
    assert imported["cpu_seconds"] < numpy["cpu_seconds"] + 0.2


def test_memory_and_a_pass_grow_no_faster_than_the_number_of_clusters():
    runs = {one["clusters"]: one for one in record.read("scale_clusters")["runs"]}
    for name in ("bytes", "pass_seconds"):
        for more in (20, 30, 40, 50):
            assert runs[more][name] <= 1.2 * more / 10 * runs[10][name], (name, more)


def test_an_epoch_from_a_file_has_the_loss_of_one_from_memory_and_no_more_memory_for_more_rows():
    memory, small, large = record.read("scale_epochs")["runs"]
    assert small["loss"] == memory["loss"]
    assert small["epoch_seconds"] < 1.5 * memory["epoch_seconds"]
    assert large["epoch_seconds"] < 1.5 * large["rows"] / small["rows"] * small["epoch_seconds"]
    assert large["peak_mb"] < 1.3 * small["peak_mb"]


def test_starts_of_many_clusters_miss_few_in_less_time_than_runs_of_k_means():
    for run in record.read("scale_starts")["runs"]:
        assert run["missed"] <= 0.3 * run["missed_by_best_of_ten"], run["sizes"]
        assert run["seconds"] <= run["seconds_of_best_of_ten"], run["sizes"]


# Ensembles


def test_the_doubt_of_an_ensemble_finds_errors_of_digits_in_little_time():
    committed = record.read("scale_ensemble")
    found, peer = committed["means"]["15 Gaussians, 10 halves"], committed["means"]["k-means"]
    assert found["worst_aurc"] <= 0.02 < 0.06 < peer["aurc"]
    assert found["least_cpu_seconds"] <= 1.5
    assert ensemble.means(committed["digits"]) == committed["means"]


def test_the_record_says_where_an_ensemble_is_no_better_than_k_means():
    means = record.read("scale_ensemble")["means_of_others"]
    pieces, single, peer = (means[name] for name in ("mixture of 1.5 c, 10 halves", "mixture", "k-means"))
    assert pieces["aurc"] < single["aurc"] - 0.02
    assert pieces["ari"] > max(single["ari"], peer["ari"]) + 0.02
    assert abs(pieces["aurc"] - peer["aurc"]) < 0.02


def test_ensembles_of_a_hundred_thousand_and_a_million_samples_keep_their_promises():
    small, middle, large = record.read("scale_ensemble")["sizes"]
    assert (middle["n_samples"], large["n_samples"]) == (10**5, 10**6)
    assert middle["cpu_seconds"] < 60
    assert middle["peak_megabytes"] < 2000
    assert large["cpu_seconds"] < 60
    for one in (small, middle, large):
        assert one["error_of_torn"] > 20 * one["error_of_sure"]


def test_a_small_ensemble_still_finds_what_was_recorded():
    committed, now = record.read("scale_ensemble")["sizes"][0], ensemble.size(10_000, 0.5)
    assert now["ari"] == pytest.approx(committed["ari"], abs=0.01)
    assert now["error_of_sure"] == pytest.approx(committed["error_of_sure"], abs=0.002)


@pytest.mark.slow
def test_a_service_answers_as_the_model_does():
    found = service.serve(20, 30, 400)
    assert found["busy"]["equal"] == 400
    assert found["alone"]["equal"] == 40
    assert found["blas_threads"][0] == found["blas_threads"][1]


@pytest.mark.slow
def test_a_service_says_what_is_wrong_with_a_request_and_goes_on(tmp_path):
    model, X = service.fitted(3, 2, np.random.default_rng(0))
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
                _, said = service.ask(connection, X[:3])
            assert said["masses"] == model.predict_mass(X[:3]).masses.tolist()
        finally:
            process.terminate()


@pytest.mark.slow
def test_one_row_of_a_loaded_model_is_scored_alike_by_python_onnxruntime_and_a_service(tmp_path):
    found = one_row.measure("ECM", tmp_path, 200)
    assert found["difference"] < 1e-12
    assert found["http"]["equal"] == 200


def test_the_recorded_rows_took_less_than_a_millisecond_and_no_memory():
    recorded = record.read("scale_one_row")
    assert recorded["requests"] == 10_000
    assert [run["model"] for run in recorded["runs"]] == list(one_row.MODELS)
    for run in recorded["runs"]:
        # A scaler of scikit-learn takes as long to look at a row as our estimators to predict it.
        assert run["evlearn"]["clock"]["p99_ms"] < (2 if run["model"] == "StandardScaler and ECM" else 1)
        assert run.get("onnxruntime", run["evlearn"])["clock"]["p99_ms"] < 1
        assert ("onnxruntime" in run) == (run["model"] not in one_row.PYTHON_ONLY)
        assert run.get("difference", 0) < 1e-6
        for memory in (run[name]["resident_bytes"] for name in ("evlearn", "onnxruntime", "http") if name in run):
            assert memory[1] < memory[0] + 2e6
        assert run.get("http", {"equal": 10_000})["equal"] == 10_000


def test_the_recorded_service_was_right_and_kept_its_size():
    for run in record.read("scale_service")["runs"]:
        assert run["busy"]["requests"] == run["busy"]["equal"] == 10_000
        before, after = run["resident_bytes"]
        assert after < before + 5e6
        assert run["blas_threads"][0] == run["blas_threads"][1]
        assert set(run["blas_threads"][0]) == {2}


def test_a_second_watch_does_not_count_what_was_done_before_it():
    cpu_seconds()
    with Watch() as watch:
        work(0.3)
        watch.lap("work")
    assert watch.laps["work"]["cpu"] >= 0.25
    with Watch() as watch:
        watch.lap("start")
    assert watch.laps["start"]["cpu"] < 0.1
    since = now()
    work(0.3)
    with Watch(since=since) as watch:
        watch.lap("start")
    assert 0.25 <= watch.laps["start"]["cpu"] < 1


def work(seconds):
    start = time.process_time()
    while time.process_time() - start < seconds:
        pass
