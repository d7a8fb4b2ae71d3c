"""Output on a terminal during a fit: a single line that changes."""

import os
import re
import struct
import subprocess
import sys
import threading
import warnings
from contextlib import contextmanager

import pytest
from sklearn.exceptions import ConvergenceWarning

from evlearn import Progress, watching
from evlearn.cluster import ECM, EVCLUS, RECM, BootClus, EKNNClus
from evlearn.datasets import make_fourclass
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.model_selection import select_n_clusters
from evlearn.neural import NNEVCLUS
from evlearn.utils.progress import live_text

fcntl, pty, termios = (
    pytest.importorskip(name, reason="this system has no pseudo-terminals") for name in ("fcntl", "pty", "termios")
)

X, _ = make_fourclass(120, random_state=0)


class Screen:
    """Text that was sent to a terminal, and its visible lines."""

    text = ""

    @property
    def frames(self):
        """Successive contents of the line."""
        return [line.strip() for line in re.split(r"[\r\n]+", self.text) if line.strip()]

    @property
    def lines(self):
        """Remaining lines."""
        return [self._visible(line) for line in self.text.replace("\r\n", "\n").split("\n")]

    @staticmethod
    def _visible(line):
        cells = ""
        for piece in line.split("\r"):
            cells = piece + cells[len(piece) :]
        return cells.rstrip()


@contextmanager
def terminal(monkeypatch, *, columns=120, seconds=0.0):
    """Replace stdout by a terminal whose lines may change at any rate."""
    screen, received = Screen(), []
    reader, writer = pty.openpty()
    fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def read_output():
        try:
            while piece := os.read(reader, 4096):
                received.append(piece)
        except OSError:  # it was closed
            pass

    thread = threading.Thread(target=read_output)
    thread.start()
    with monkeypatch.context() as patch, os.fdopen(writer, "w", encoding="utf-8") as stdout:
        patch.setattr("evlearn.utils.progress._LINE_SECONDS", seconds)
        patch.setattr(sys, "stdout", stdout)
        yield screen
    thread.join()
    os.close(reader)
    screen.text = b"".join(received).decode()


@pytest.mark.parametrize(
    "model",
    [ECM(4), EVCLUS(4), EKNNClus(n_init=2), RECM(4, n_init=3), NNEVCLUS(4, max_iter=20, init="random")],
    ids=lambda estimator: type(estimator).__name__,
)
def test_a_fit_has_one_line_which_ends_with_its_objective(monkeypatch, model):
    with terminal(monkeypatch) as screen, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.set_params(verbose=1, random_state=0).fit(X)
    name, steps = (
        type(model).__name__,
        {"EVCLUS": "sweep", "EKNNClus": "pass"}.get(type(model).__name__, "iteration"),
    )
    lines = [line for line in screen.lines if line]
    assert len(lines) == 1
    pattern = rf"{name} {model.n_iter_} {steps}(e?s)?   objective "
    assert re.fullmatch(pattern + rf"{re.escape(f'{model.objective_:.9g}')}   [\d.e-]+ m?s", lines[0])
    frame = screen.frames[-2]
    assert re.fullmatch(
        rf"{name} {steps} \d+ of at most {model.max_iter:,}, objective \S+, \S+ (per second|s each), "
        r"at most \S+ (s|min|h|days) left",
        frame,
    )


def test_every_stage_uses_the_same_line(monkeypatch):
    with terminal(monkeypatch) as screen, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = BootClus(4, covariance_models="EII", n_bootstrap=60, verbose=1, random_state=0).fit(X)
    assert next(line for line in screen.lines if line) == "BootClus mixture EII"
    assert f"BootClus {model.n_iter_} sweeps   objective {model.objective_:.9g}" in screen.lines[1]
    assert any(
        re.match(r"BootClus resample \d+ of 60, [\d,.]+ per second, about \S+ s left", frame)
        for frame in screen.frames
    )


def test_work_without_an_objective_ends_with_what_was_counted(monkeypatch):
    with terminal(monkeypatch) as screen:
        ParsimoniousGaussianMixture([1, 2], covariance_models=["EII"], verbose=1, random_state=0).fit(X)
    assert "ParsimoniousGaussianMixture model    2 of 2" in screen.lines
    with terminal(monkeypatch) as screen:
        select_n_clusters(ECM(), X, criterion="peaks", n_repeats=2, verbose=1)
    assert [line for line in screen.lines if line] == ["select n_clusters task    2 of 2"]


def test_lines_are_as_wide_as_the_terminal_at_most(monkeypatch):
    with terminal(monkeypatch, columns=30) as screen:
        ECM(4, verbose=1, random_state=0).fit(X)
    assert max(map(len, screen.frames[:-1])) == 29


def test_a_line_changes_at_most_ten_times_per_second(monkeypatch):
    with terminal(monkeypatch, seconds=1000.0) as screen:
        ECM(4, verbose=1, random_state=0).fit(X)
    assert len(screen.frames) == 2


def test_warnings_have_separate_lines(monkeypatch):
    with terminal(monkeypatch) as screen, warnings.catch_warnings():
        warnings.showwarning = lambda message, *rest: print(message)
        warnings.simplefilter("always")
        ECM(4, tol=0, max_iter=2, verbose=1, random_state=0).fit(X)
    assert next(line for line in screen.lines if line).startswith("the objective still changed after max_iter=2")


def test_a_failed_fit_leaves_its_last_line(monkeypatch):
    def fail(progress):
        if progress.n_done == 2:
            raise RuntimeError("no room for metrics")

    with terminal(monkeypatch) as screen, watching(fail), pytest.raises(RuntimeError, match="no room"):
        ECM(4, verbose=1, random_state=0).fit(X)
    assert screen.lines[0].startswith("ECM iteration    2   objective")


def test_an_interrupted_fit_ends_its_line_with_the_best_state(monkeypatch):
    def stop(progress):
        if progress.n_done == 2:
            raise KeyboardInterrupt

    with terminal(monkeypatch) as screen, watching(stop), pytest.warns(ConvergenceWarning, match="interrupted"):
        model = ECM(4, tol=0, verbose=1, random_state=0).fit(X)
    assert f"ECM 2 iterations   objective {model.objective_:.9g}" in screen.lines[0]


def test_without_a_terminal_every_iteration_has_a_line(capsys):
    model = ECM(4, verbose=1, random_state=0).fit(X)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("   objective")[0] for line in lines] == [
        f"ECM iteration {number:>4}" for number in range(1, model.n_iter_ + 1)
    ]


@pytest.mark.parametrize(
    ("progress", "text"),
    [
        (
            Progress("ECM", "fit", "iteration", 12, 300, 12.3456789, 3.0, 0.25, 72.04),
            "ECM iteration 12 of at most 300, objective 12.3457, 4.0 per second, at most 72 s left",
        ),
        (
            Progress("ECM", "copy", "rows", 120_000, 1_000_000, None, 3.0, 1e-5, 8.8),
            "ECM copy 120,000 of 1,000,000 rows, 100,000 per second, about 8.8 s left",
        ),
        (
            Progress("", "copy", "rows", 120_000, None, None, 3.0, 1e-5, None),
            "copy 120,000 rows, 100,000 per second",
        ),
        (
            Progress("NNEVCLUS", "fit", "iteration", 1, 1000, 2.0, 3.0, 12.0, 12_000.0),
            "NNEVCLUS iteration 1 of at most 1,000, objective 2, 12 s each, at most 3.3 h left",
        ),
        (Progress("BootClus", "fit", "", message="mixture EII"), "BootClus mixture EII"),
    ],
)
def test_a_line_shows_count_speed_and_remaining_time(progress, text):
    assert live_text(progress) == text


def test_fits_work_without_a_console(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert ECM(4, verbose=1, random_state=0).fit(X).n_iter_ > 0


@pytest.mark.slow
def test_control_c_on_a_terminal_keeps_the_line_and_the_result():
    reader, writer = pty.openpty()
    code = (
        "import os, signal, evlearn\n"
        "from evlearn.cluster import ECM\n"
        "from evlearn.datasets import make_fourclass\n"
        "X, _ = make_fourclass(400, random_state=0)\n"
        "stop = lambda progress: progress.n_done == 3 and os.kill(os.getpid(), signal.SIGINT)\n"
        "with evlearn.watching(stop):\n"
        "    model = ECM(4, tol=0, max_iter=10_000, verbose=1, random_state=0).fit(X)\n"
        "print('and', model.n_iter_)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=writer, stderr=subprocess.PIPE) as process:
        os.close(writer)
        screen = Screen()
        try:
            while piece := os.read(reader, 4096):
                screen.text += piece.decode()
        except OSError:
            pass
        errors = process.stderr.read().decode()
    os.close(reader)
    assert "interrupted after" in errors
    lines = [line for line in screen.lines if line]
    assert re.match(r"ECM \d+ iterations   objective", lines[0])
    assert lines[1].startswith("and ")
