"""A fit that is killed goes on where it was."""

import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from evlearn.cluster import CCM, ECM


@pytest.fixture(scope="module", name="X")
def objects():
    random = np.random.default_rng(0)
    data = random.normal(size=(60_000, 3)) + 5 * random.integers(3, size=60_000)[:, None]
    data[::100] *= 6
    return data


SCRIPT = """
    import sys, warnings
    import numpy as np
    from evlearn.cluster import ECM
    warnings.simplefilter("ignore")
    import evlearn.cluster.checkpoints
    evlearn.cluster.checkpoints._SECONDS = 0.0  # a checkpoint after every iteration
    data, checkpoint, result, options = sys.argv[1:]
    model = ECM(3, init="random", tol=0, max_iter=60, checkpoint=checkpoint, **eval(options)).fit(np.load(data))
    np.savez(result, centers=model.cluster_centers_, history=model.objective_history_, masses=model.masses_)
"""


@pytest.mark.parametrize(
    "options",
    ['{"random_state": 1}', '{"n_init": 2, "metric": "adaptive"}', '{"focal_sets": "neighbor_pairs"}'],
)
def test_a_fit_that_is_killed_goes_on_to_the_same_bits(options, tmp_path):
    random = np.random.default_rng(0)
    np.save(tmp_path / "x.npy", random.normal(size=(40_000, 3)) + 4 * random.integers(3, size=40_000)[:, None])
    (tmp_path / "fit.py").write_text(textwrap.dedent(SCRIPT))
    checkpoint = tmp_path / "fit.checkpoint"

    def start(result):
        arguments = [tmp_path / "x.npy", checkpoint, tmp_path / result, options]
        return subprocess.Popen([sys.executable, tmp_path / "fit.py", *map(str, arguments)])

    first = start("never.npz")
    while not checkpoint.exists() and first.poll() is None:
        time.sleep(0.01)
    assert first.poll() is None, "the fit was over before its first checkpoint"
    first.send_signal(signal.SIGKILL)
    first.wait()
    # Whatever it did after the last checkpoint is lost; the state in the file is enough for the rest.
    saved = checkpoint.read_bytes()
    assert start("one.npz").wait() == 0
    assert not checkpoint.exists()
    checkpoint.write_bytes(saved)
    process = start("two.npz")  # killed again, later
    while checkpoint.exists() and checkpoint.read_bytes() == saved:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert start("two.npz").wait() == 0
    with np.load(tmp_path / "one.npz") as one, np.load(tmp_path / "two.npz") as two:
        for name in one.files:
            np.testing.assert_array_equal(one[name], two[name])
    if "random_state" in options:  # the start is known, so a fit without any interruption can be compared
        model = ECM(3, init="random", tol=0, max_iter=60, random_state=1)
        with pytest.warns(ConvergenceWarning):
            model.fit(np.load(tmp_path / "x.npy"))
        with np.load(tmp_path / "one.npz") as one:
            np.testing.assert_array_equal(one["masses"], model.masses_)
            np.testing.assert_array_equal(one["history"], model.objective_history_)


@pytest.fixture
def stopped(tmp_path, monkeypatch, X):
    """A checkpoint of a fit that stopped after some iterations."""
    path = tmp_path / "fit.checkpoint"
    monkeypatch.setattr("evlearn.cluster.checkpoints._SECONDS", 0.0)
    model = ECM(3, random_state=0, checkpoint=path, verbose=1)
    with monkeypatch.context() as patch:
        calls = []

        def report(self, iteration, objective):
            calls.append(iteration)
            if len(calls) > 4:
                raise RuntimeError("stopped")

        patch.setattr(ECM, "_report", report)
        with pytest.raises(RuntimeError, match="stopped"):
            model.fit(X)
    return path


def test_a_stopped_fit_goes_on_and_its_checkpoint_goes_away(stopped, X):
    model = ECM(3, random_state=0, checkpoint=stopped).fit(X)
    np.testing.assert_array_equal(model.masses_, ECM(3, random_state=0).fit(X).masses_)
    assert not stopped.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 4}, "n_clusters was 3 and is 4"),
        ({"alpha": 2.0}, "alpha was 1.0 and is 2.0"),
        ({"focal_sets": "simple"}, "focal_sets was 'full' and is 'simple'"),
        ({"random_state": 7}, "random_state was 0 and is 7"),
    ],
)
def test_a_checkpoint_of_another_fit_is_refused(stopped, X, options, message):
    with pytest.raises(ValueError, match=f"belongs to another fit: {message}"):
        ECM(**{"n_clusters": 3, "random_state": 0, "checkpoint": stopped, **options}).fit(X)


def test_a_checkpoint_of_other_data_or_weights_is_refused(stopped, X):
    model = ECM(3, random_state=0, checkpoint=stopped)
    for data, name in ((X[:-1], "data"), (X + 1, "data"), (X[:, :2], "data"), (X.astype(np.float32), "data")):
        with pytest.raises(ValueError, match=f"belongs to another fit: {name}"):
            model.fit(data)
    with pytest.raises(ValueError, match="belongs to another fit: sample_weight"):
        model.fit(X, sample_weight=np.ones(len(X)))
    with pytest.raises(ValueError, match="belongs to another fit"):
        CCM(3, random_state=0, checkpoint=stopped).fit(X)


def test_a_checkpoint_that_is_cut_off_or_foreign_or_damaged_is_refused(stopped, X):
    model = ECM(3, random_state=0, checkpoint=stopped)
    whole = stopped.read_bytes()
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 1
    foreign = stopped.with_name("foreign.npz")
    np.savez(foreign, a=np.arange(3))
    texts = [whole[:-1], whole[: len(whole) // 2], b"", b"hello", foreign.read_bytes(), bytes(damaged)]
    for text in texts:
        stopped.write_bytes(text)
        with pytest.raises(ValueError, match="Remove it to start anew"):
            model.fit(X)
        assert stopped.read_bytes() == text


def test_a_checkpoint_in_a_folder_that_is_not_there_is_an_error_at_once(tmp_path, X):
    with pytest.raises(FileNotFoundError, match="make it first"):
        ECM(3, checkpoint=tmp_path / "nothing" / "fit").fit(X)
