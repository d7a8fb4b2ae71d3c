import builtins

import numpy as np
import pytest

from evlearn.active import LabelOracle, StopAsking, TerminalOracle


@pytest.mark.parametrize(
    ("y", "answers"),
    [([0, 0, 1, -1], (True, False, None)), (["a", "a", "b", None], (True, False, None))],
)
def test_labels_answer_and_missing_ones_do_not(y, answers):
    oracle = LabelOracle(y)
    assert (oracle(0, 1), oracle(1, 2), oracle(2, 3)) == answers


def typed(monkeypatch, *lines):
    left = iter(lines)
    monkeypatch.setattr(builtins, "input", lambda prompt: next(left))


def test_replies_are_read_in_words_and_letters(monkeypatch):
    typed(monkeypatch, "y", " YES ", "n", "No", "?", "quit")
    oracle = TerminalOracle()
    assert [oracle(0, 1) for _ in range(5)] == [True, True, False, False, None]
    with pytest.raises(StopAsking):
        oracle(0, 1)


def test_an_empty_reply_is_asked_again(monkeypatch, capsys):
    typed(monkeypatch, "", "y")
    assert TerminalOracle()(0, 1) is True
    assert "is not one of y (same)" in capsys.readouterr().out


def test_objects_are_shown_side_by_side_and_long_rows_are_cut(monkeypatch, capsys):
    typed(monkeypatch, "y")
    TerminalOracle(np.arange(60).reshape(2, 30) / 7)(0, 1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["sample", "0", "sample", "1"]
    assert lines[3].split() == ["feature", "1", "0.142857", "4.42857"]
    assert lines[-1] == "and 10 more features"


def test_objects_can_be_shown_in_another_way(monkeypatch):
    typed(monkeypatch, "n")
    shown = []
    TerminalOracle(show=lambda first, second: shown.append((first, second)))(4, 2)
    assert shown == [(4, 2)]
