"""Progress reports during a fit."""

import json
import logging
import threading
import warnings

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from sklearn.exceptions import ConvergenceWarning

import evlearn
from evlearn import Progress, open_dataset, watching
from evlearn.cluster import CCM, CECM, ECM, EVCLUS, RECM, BootClus, ECMdd, EKNNClus
from evlearn.constraints import PairwiseConstraints
from evlearn.datasets import make_fourclass
from evlearn.ensemble import CredalEnsemble
from evlearn.metric_learning import PCCA
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.model_selection import select_n_clusters
from evlearn.utils.progress import Count, Steps, reporting_as

X, Y = make_fourclass(120, random_state=0)
PAIRS = PairwiseConstraints([[0, 1]], [[0, 100]])


def heard_of(work):
    reports = []
    with watching(reports.append), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        work()
    return reports


# Content of reports


@pytest.mark.parametrize(
    "method",
    [ECM(4), CCM(4), CECM(4), RECM(4, n_init=2), ECMdd(4, n_init=2), EVCLUS(4), EKNNClus(n_init=2), PCCA()],
    ids=lambda estimator: type(estimator).__name__,
)
def test_every_iteration_of_a_fit_is_reported_with_its_objective(method):
    arguments = {"constraints": PAIRS} if isinstance(method, (CECM, PCCA)) else {}
    reports = heard_of(lambda: method.set_params(random_state=0).fit(X, **arguments))
    steps = [report for report in reports if report.estimator == type(method).__name__]
    assert {report.stage for report in steps} == {"fit"}
    assert max(report.n_done for report in steps) >= method.n_iter_
    assert any(report.objective == pytest.approx(method.objective_, rel=1e-9) for report in steps)
    assert all(report.total == method.max_iter and report.seconds_left >= 0 for report in steps)
    assert [report.seconds for report in steps] == sorted(report.seconds for report in steps)


def test_methods_that_count_other_units_report_them():
    reports = heard_of(lambda: BootClus(4, covariance_models="EII", n_bootstrap=60, random_state=0).fit(X))
    kinds = {(report.estimator, report.stage, report.unit) for report in reports}
    assert ("ParsimoniousGaussianMixture", "search", "model") in kinds
    assert {("BootClus", "bootstrap", "resample"), ("BootClus", "fit", "sweep")} <= kinds
    assert "BootClus mixture EII" in map(str, reports)
    reports = heard_of(lambda: ParsimoniousGaussianMixture([1, 2], covariance_models=["EII"]).fit(X))
    assert [(report.n_done, report.total) for report in reports if report.unit] == [(1, 2), (2, 2)]
    reports = heard_of(lambda: select_n_clusters(ECM(), X, criterion="peaks", n_repeats=2))
    assert [(report.n_done, report.total) for report in reports if report.unit == "task"] == [(1, 2), (2, 2)]


def test_the_fits_of_members_have_their_own_names():
    names = {report.estimator for report in heard_of(lambda: CredalEnsemble([ECM(4), CCM(4)], tol=1e-9).fit(X))}
    assert names >= {"ECM", "CCM", "CredalEnsemble"}


def test_reports_can_be_written_as_json():
    for progress in heard_of(lambda: ECM(4, random_state=0).fit(X)):
        assert json.loads(json.dumps(vars(progress))) == vars(progress)


# Remaining time


def clock(monkeypatch, *times):
    left = list(times)
    monkeypatch.setattr("evlearn.utils.progress.time.monotonic", lambda: left.pop(0) if len(left) > 1 else left[0])


def test_the_first_pass_over_all_rows_limits_the_duration_of_the_fit():
    first = heard_of(lambda: ECM(4, focal_sets="neighbor_pairs", max_iter=30, random_state=0).fit(X))[0]
    assert (first.unit, first.n_done, first.total) == ("iteration", 0, 30)
    # 2 descents of 30 iterations: without pairs of neighbors and with them.
    assert first.seconds_left == pytest.approx(60 * first.seconds_each)
    assert 0 < first.seconds_each <= first.seconds
    starts = {"init": "random", "n_init": 5, "focal_sets": "simple"}
    first = heard_of(lambda: ECM(4, max_iter=30, random_state=0, **starts).fit(X))[0]
    assert first.seconds_left == pytest.approx(150 * first.seconds_each)


def test_a_start_that_converges_early_reduces_the_remaining_time():
    reports = []
    with watching(reports.append), reporting_as("X"):
        steps = Steps(10, n_descents=3)
        for number in (1, 2, 1, 2, 3, 1):
            steps(number, 0.0)
    n_steps = [round(report.seconds_left / report.seconds_each) for report in reports]
    assert n_steps == [29, 28, 19, 18, 17, 9]


def test_several_iterations_in_one_report_are_all_counted(monkeypatch):
    reports = []
    clock(monkeypatch, 0.0, 0.0, 1.0, 1.0, 21.0)
    with watching(reports.append), reporting_as("X"):
        steps = Steps(100)
        steps(0, 2.0)
        steps(20, 1.0)
    assert reports[1].seconds_each == pytest.approx(1)
    assert reports[1].seconds_left == pytest.approx(80)


def test_parallel_starts_are_counted_together():
    reports = []
    with watching(reports.append), reporting_as("X"):
        steps = Steps(10, n_descents=3)
        steps(1, 0.0)
        thread = threading.Thread(target=steps, args=(1, 0.0))
        thread.start()
        thread.join()
        steps(2, 0.0)
    assert [round(report.seconds_left / report.seconds_each) for report in reports] == [29, 28, 27]


def test_the_log_has_readable_durations(caplog, monkeypatch):
    clock(monkeypatch, 0.0, 0.0, 5000.0)
    with caplog.at_level(logging.INFO, logger="evlearn"), reporting_as("ECM"):
        Steps(100)(0, 12.5)
    text = "ECM iteration    0   objective 12.5   (83.3 min, about 83.3 min each, 5.8 days more at most)"
    assert caplog.messages == [text]


# Rows


def test_rows_are_reported_once_per_second_and_at_the_end(monkeypatch):
    reports = []
    clock(monkeypatch, 0.0, 0.0, 0.5, 1.5, 1.5, 1.6, 3.0)
    with watching(reports.append), reporting_as("ECM"):
        count = Count("copy", "rows", 4000)
        for _ in range(4):
            count.add(1000)
    assert [report.n_done for report in reports] == [2000, 4000]
    assert reports[0].seconds_left == pytest.approx(1.5)
    assert str(reports[1]) == "ECM copy 4,000 of 4,000 rows"
    monkeypatch.undo()
    with watching(reports.append):
        count = Count("copy", "rows")
        count.set_done(7)
        assert len(reports) == 2  # the total is not known yet
        count.end()
    assert str(reports[2]) == "copy 7 of 7 rows"


@pytest.mark.parametrize("way", ["files", "stream", "chunks"])
def test_the_copy_of_external_data_is_reported_before_the_fit(tmp_path, way):
    table = pyarrow.table({"a": X[:, 0], "b": X[:, 1]})
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet", row_group_size=50)
    data = {
        "files": lambda: tmp_path / "x.parquet",
        "stream": lambda: table.to_reader(max_chunksize=50),
        "chunks": lambda: iter(np.array_split(X, 3)),
    }
    reports = heard_of(lambda: ECM(4, random_state=0).fit(data[way]()))
    assert (reports[0].estimator, str(reports[0])) == ("ECM", "ECM copy 120 of 120 rows")
    assert {report.unit for report in reports[1:]} == {"iteration"}


def test_rows_of_a_long_pass_are_reported(monkeypatch):
    monkeypatch.setattr("evlearn.utils.progress._SECONDS", 0.0)
    reports = []
    with open_dataset(X, block_rows=50) as rows, watching(reports.append), reporting_as("ECM"):
        assert list(rows.map(lambda block, weights: len(block))) == [50, 50, 20]
    assert [str(report) for report in reports] == ["ECM pass 50 of 120 rows", "ECM pass 100 of 120 rows"]
    model = ECM(4, random_state=0).fit(X)
    with open_dataset(X, block_rows=50) as rows:
        reports = heard_of(lambda: model.predict_mass(rows))
    assert [(report.stage, report.n_done) for report in reports] == [("write", 50), ("write", 100)]


# Recipients of reports


def test_fits_are_silent_by_default(capsys):
    ECM(4, random_state=0).fit(X)
    assert capsys.readouterr() == ("", "")


def test_the_logger_of_the_package_gets_the_reports_of_callbacks(caplog):
    with caplog.at_level(logging.INFO, logger="evlearn"):
        reports = heard_of(lambda: ECM(4, random_state=0).fit(X))
    assert {record.name for record in caplog.records} == {"evlearn"}
    assert [text.split("   (")[0] for text in caplog.messages] == [str(report) for report in reports]


def test_several_callbacks_have_independent_scopes():
    first, second = [], []
    with watching(first.append):
        with watching(second.append):
            ECM(4, random_state=0).fit(X)
        n_heard = len(first)
        CCM(4, random_state=0).fit(X)
    ECM(4, random_state=0).fit(X)
    assert len(second) == n_heard < len(first)
    assert {progress.estimator for progress in second} == {"ECM"}
    assert {progress.estimator for progress in first} == {"ECM", "CCM"}


def test_threads_get_reports_of_their_fits_only():
    reports = {name: [] for name in ("ECM", "CCM")}

    def work(method):
        with watching(reports[type(method).__name__].append):
            method.fit(X)

    threads = [threading.Thread(target=work, args=(method,)) for method in (ECM(4), CCM(4))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all({report.estimator for report in reports[name]} == {name} for name in reports)


def test_reports_of_starts_in_threads_are_serialized():
    n_active, n_most = 0, 0

    def watch(progress):
        nonlocal n_active, n_most
        n_active += 1
        n_most = max(n_most, n_active)
        n_active -= 1

    with watching(watch):
        RECM(4, init="random", n_init=6, n_jobs=3, random_state=0).fit(X)
    assert n_most == 1


def test_a_fit_in_a_callback_is_not_reported():
    reports = []

    def watch(progress):
        reports.append(progress.estimator)
        CCM(4, random_state=0).fit(X)

    with watching(watch):
        ECM(4, max_iter=2, tol=0.5, focal_sets="simple", random_state=0).fit(X)
    assert set(reports) == {"ECM"}


# Callbacks that stop a fit


@pytest.mark.parametrize("method", [ECM, CCM, RECM, EVCLUS], ids=lambda estimator: estimator.__name__)
def test_a_callback_may_end_a_fit_like_control_c(method):
    def stop(progress):
        if progress.n_done == 2:
            raise KeyboardInterrupt

    model = method(4, random_state=0, tol=0)
    with watching(stop), pytest.warns(ConvergenceWarning, match="interrupted after 2 "):
        model.fit(X)
    assert model.n_iter_ == 2
    np.testing.assert_allclose(model.masses_.sum(axis=1), 1)


def test_any_other_exception_leaves_the_estimator_as_it_was():
    model = ECM(4, random_state=0).fit(X)
    before = model.masses_

    def fail(progress):
        raise RuntimeError("no room for metrics")

    with watching(fail), pytest.raises(RuntimeError, match="no room for metrics"):
        model.fit(X + 1)
    assert model.masses_ is before
    reports = heard_of(lambda: model.fit(X))  # and no callback is left
    assert all(isinstance(report, Progress) for report in reports)


def test_a_fit_with_a_callback_gives_the_same_bits():
    plain = ECM(4, random_state=0).fit(X)
    model = ECM(4, random_state=0)
    heard_of(lambda: model.fit(X))
    np.testing.assert_array_equal(model.masses_, plain.masses_)


def test_the_names_are_public():
    assert evlearn.watching is watching
    assert {"watching", "Progress"} <= set(dir(evlearn))
