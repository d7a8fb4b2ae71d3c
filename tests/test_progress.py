"""What a fit says while it works."""

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
from evlearn import Progress, watching
from evlearn.blocks import open_rows
from evlearn.cluster import CCM, CECM, ECM, EVCLUS, RECM, BootClus, ECMdd, EKNNClus
from evlearn.constraints import PairwiseConstraints
from evlearn.datasets import make_fourclass
from evlearn.ensemble import CredalEnsemble
from evlearn.metric_learning import PCCA
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.model_selection import select_n_clusters
from evlearn.utils.progress import Count, Steps, at_work

X, Y = make_fourclass(120, random_state=0)
PAIRS = PairwiseConstraints([[0, 1]], [[0, 100]])


def heard_of(work):
    heard = []
    with watching(heard.append), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        work()
    return heard


# What is told


@pytest.mark.parametrize(
    "method",
    [ECM(4), CCM(4), CECM(4), RECM(4, n_init=2), ECMdd(4, n_init=2), EVCLUS(4), EKNNClus(n_init=2), PCCA()],
    ids=lambda one: type(one).__name__,
)
def test_every_iteration_of_a_fit_is_told_with_its_objective(method):
    given = {"constraints": PAIRS} if isinstance(method, (CECM, PCCA)) else {}
    heard = heard_of(lambda: method.set_params(random_state=0).fit(X, **given))
    steps = [one for one in heard if one.estimator == type(method).__name__]
    assert {one.stage for one in steps} == {"fit"}
    assert max(one.done for one in steps) >= method.n_iter_
    assert any(one.objective == pytest.approx(method.objective_, rel=1e-9) for one in steps)
    assert all(one.total == method.max_iter and one.seconds_left >= 0 for one in steps)
    assert [one.seconds for one in steps] == sorted(one.seconds for one in steps)


def test_methods_that_count_other_things_say_which():
    heard = heard_of(lambda: BootClus(4, covariance_models="EII", n_bootstrap=60, random_state=0).fit(X))
    kinds = {(one.estimator, one.stage, one.unit) for one in heard}
    assert ("ParsimoniousGaussianMixture", "search", "model") in kinds
    assert {("BootClus", "bootstrap", "resample"), ("BootClus", "fit", "sweep")} <= kinds
    assert "BootClus mixture EII" in map(str, heard)
    heard = heard_of(lambda: ParsimoniousGaussianMixture([1, 2], covariance_models=["EII"]).fit(X))
    assert [(one.done, one.total) for one in heard if one.unit] == [(1, 2), (2, 2)]
    heard = heard_of(lambda: select_n_clusters(ECM(), X, criterion="peaks", n_repeats=2))
    assert [(one.done, one.total) for one in heard if one.unit == "task"] == [(1, 2), (2, 2)]


def test_the_fits_of_members_have_their_own_names():
    names = {one.estimator for one in heard_of(lambda: CredalEnsemble([ECM(4), CCM(4)], tol=1e-9).fit(X))}
    assert names >= {"ECM", "CCM", "CredalEnsemble"}


def test_all_that_is_told_can_be_written_as_json():
    for progress in heard_of(lambda: ECM(4, random_state=0).fit(X)):
        assert json.loads(json.dumps(vars(progress))) == vars(progress)


# How long it can last


def clock(monkeypatch, *times):
    left = list(times)
    monkeypatch.setattr("evlearn.utils.progress.time.monotonic", lambda: left.pop(0) if len(left) > 1 else left[0])


def test_the_first_look_at_all_rows_tells_how_long_the_fit_can_last():
    first = heard_of(lambda: ECM(4, focal_sets="neighbor_pairs", max_iter=30, random_state=0).fit(X))[0]
    assert (first.unit, first.done, first.total) == ("iteration", 0, 30)
    # Two descents of thirty iterations: without pairs of neighbours and with them.
    assert first.seconds_left == pytest.approx(60 * first.seconds_each)
    assert 0 < first.seconds_each <= first.seconds
    starts = {"init": "random", "n_init": 5, "focal_sets": "simple"}
    first = heard_of(lambda: ECM(4, max_iter=30, random_state=0, **starts).fit(X))[0]
    assert first.seconds_left == pytest.approx(150 * first.seconds_each)


def test_a_start_that_settles_early_leaves_less_to_do():
    heard = []
    with watching(heard.append), at_work("X"):
        steps = Steps(10, n_descents=3)
        for number in (1, 2, 1, 2, 3, 1):
            steps(number, 0.0)
    n_steps = [round(one.seconds_left / one.seconds_each) for one in heard]
    assert n_steps == [29, 28, 19, 18, 17, 9]


def test_several_iterations_told_at_once_are_as_many(monkeypatch):
    heard = []
    clock(monkeypatch, 0.0, 0.0, 1.0, 1.0, 21.0)
    with watching(heard.append), at_work("X"):
        steps = Steps(100)
        steps(0, 2.0)
        steps(20, 1.0)
    assert heard[1].seconds_each == pytest.approx(1)
    assert heard[1].seconds_left == pytest.approx(80)


def test_starts_side_by_side_are_counted_together():
    heard = []
    with watching(heard.append), at_work("X"):
        steps = Steps(10, n_descents=3)
        steps(1, 0.0)
        thread = threading.Thread(target=steps, args=(1, 0.0))
        thread.start()
        thread.join()
        steps(2, 0.0)
    assert [round(one.seconds_left / one.seconds_each) for one in heard] == [29, 28, 27]


def test_the_log_says_times_as_people_do(caplog, monkeypatch):
    clock(monkeypatch, 0.0, 0.0, 5000.0)
    with caplog.at_level(logging.INFO, logger="evlearn"), at_work("ECM"):
        Steps(100)(0, 12.5)
    text = "ECM iteration    0   objective 12.5   (83.3 min, about 83.3 min each, 5.8 days more at most)"
    assert caplog.messages == [text]


# Rows


def test_rows_are_told_once_a_second_and_at_the_end(monkeypatch):
    heard = []
    clock(monkeypatch, 0.0, 0.0, 0.5, 1.5, 1.5, 1.6, 3.0)
    with watching(heard.append), at_work("ECM"):
        count = Count("copy", "rows", 4000)
        for _ in range(4):
            count.add(1000)
    assert [one.done for one in heard] == [2000, 4000]
    assert heard[0].seconds_left == pytest.approx(1.5)
    assert str(heard[1]) == "ECM copy 4,000 of 4,000 rows"
    monkeypatch.undo()
    with watching(heard.append):
        count = Count("copy", "rows")
        count.reach(7)
        assert len(heard) == 2  # nobody knows yet whether these were all
        count.end()
    assert str(heard[2]) == "copy 7 of 7 rows"


@pytest.mark.parametrize("way", ["files", "stream", "chunks"])
def test_the_copy_of_data_from_elsewhere_is_told_before_the_fit(tmp_path, way):
    table = pyarrow.table({"a": X[:, 0], "b": X[:, 1]})
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet", row_group_size=50)
    data = {
        "files": lambda: tmp_path / "x.parquet",
        "stream": lambda: table.to_reader(max_chunksize=50),
        "chunks": lambda: iter(np.array_split(X, 3)),
    }
    heard = heard_of(lambda: ECM(4, random_state=0).fit(data[way]()))
    assert (heard[0].estimator, str(heard[0])) == ("ECM", "ECM copy 120 of 120 rows")
    assert {one.unit for one in heard[1:]} == {"iteration"}


def test_rows_of_a_pass_that_takes_long_are_told_too(monkeypatch):
    monkeypatch.setattr("evlearn.utils.progress._SECONDS", 0.0)
    heard = []
    with open_rows(X, block_rows=50) as rows, watching(heard.append), at_work("ECM"):
        assert list(rows.map(lambda block, weights: len(block))) == [50, 50, 20]
    assert [str(one) for one in heard] == ["ECM pass 50 of 120 rows", "ECM pass 100 of 120 rows"]
    model = ECM(4, random_state=0).fit(X)
    with open_rows(X, block_rows=50) as rows:
        heard = heard_of(lambda: model.predict_mass(rows))
    assert [(one.stage, one.done) for one in heard] == [("write", 50), ("write", 100)]


# Where it is told


def test_nothing_is_said_unless_somebody_asks(capsys):
    ECM(4, random_state=0).fit(X)
    assert capsys.readouterr() == ("", "")


def test_the_logger_of_the_package_hears_what_callbacks_hear(caplog):
    with caplog.at_level(logging.INFO, logger="evlearn"):
        heard = heard_of(lambda: ECM(4, random_state=0).fit(X))
    assert {record.name for record in caplog.records} == {"evlearn"}
    assert [text.split("   (")[0] for text in caplog.messages] == [str(one) for one in heard]


def test_several_may_watch_and_each_for_its_own_while():
    one, other = [], []
    with watching(one.append):
        with watching(other.append):
            ECM(4, random_state=0).fit(X)
        n_heard = len(one)
        CCM(4, random_state=0).fit(X)
    ECM(4, random_state=0).fit(X)
    assert len(other) == n_heard < len(one)
    assert {progress.estimator for progress in other} == {"ECM"}
    assert {progress.estimator for progress in one} == {"ECM", "CCM"}


def test_threads_hear_their_own_fits_only():
    heard = {name: [] for name in ("ECM", "CCM")}

    def work(method):
        with watching(heard[type(method).__name__].append):
            method.fit(X)

    threads = [threading.Thread(target=work, args=(method,)) for method in (ECM(4), CCM(4))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all({one.estimator for one in heard[name]} == {name} for name in heard)


def test_starts_in_threads_are_heard_one_at_a_time():
    inside, most = 0, 0

    def watch(progress):
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        inside -= 1

    with watching(watch):
        RECM(4, init="random", n_init=6, n_jobs=3, random_state=0).fit(X)
    assert most == 1


def test_what_a_callback_fits_is_not_watched():
    heard = []

    def watch(progress):
        heard.append(progress.estimator)
        CCM(4, random_state=0).fit(X)

    with watching(watch):
        ECM(4, max_iter=2, tol=0.5, focal_sets="simple", random_state=0).fit(X)
    assert set(heard) == {"ECM"}


# A callback that has seen enough


@pytest.mark.parametrize("method", [ECM, CCM, RECM, EVCLUS], ids=lambda one: one.__name__)
def test_a_callback_may_end_a_fit_like_control_c(method):
    def stop(progress):
        if progress.done == 2:
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
    heard = heard_of(lambda: model.fit(X))  # and nobody is left watching
    assert all(isinstance(one, Progress) for one in heard)


def test_a_fit_that_is_watched_gives_the_same_bits():
    plain = ECM(4, random_state=0).fit(X)
    model = ECM(4, random_state=0)
    heard_of(lambda: model.fit(X))
    np.testing.assert_array_equal(model.masses_, plain.masses_)


def test_the_names_are_at_the_door():
    assert evlearn.watching is watching
    assert {"watching", "Progress"} <= set(dir(evlearn))
