import builtins

import numpy as np
import pytest

from evlearn.active import PairOracle, StopQuerying, TerminalPairOracle


@pytest.mark.parametrize(
    ("y", "answers"),
    [([0, 0, 1, -1], (True, False, None)), (["a", "a", "b", None], (True, False, None))],
)
def test_answers_follow_from_labels_and_are_unknown_for_missing_labels(y, answers):
    oracle = PairOracle(y)
    assert (oracle(0, 1), oracle(1, 2), oracle(2, 3)) == answers


def type_lines(monkeypatch, *lines):
    remaining = iter(lines)
    monkeypatch.setattr(builtins, "input", lambda prompt: next(remaining))


def test_replies_may_be_words_or_letters(monkeypatch):
    type_lines(monkeypatch, "y", " YES ", "n", "No", "?", "quit")
    oracle = TerminalPairOracle()
    assert [oracle(0, 1) for _ in range(5)] == [True, True, False, False, None]
    with pytest.raises(StopQuerying):
        oracle(0, 1)


def test_the_prompt_is_repeated_after_an_empty_reply(monkeypatch, capsys):
    type_lines(monkeypatch, "", "y")
    assert TerminalPairOracle()(0, 1) is True
    assert "is not one of y (same)" in capsys.readouterr().out


def test_samples_are_shown_side_by_side_and_long_rows_are_cut(monkeypatch, capsys):
    type_lines(monkeypatch, "y")
    TerminalPairOracle(np.arange(60).reshape(2, 30) / 7)(0, 1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["sample", "0", "sample", "1"]
    assert lines[3].split() == ["feature", "1", "0.142857", "4.42857"]
    assert lines[-1] == "and 10 more features"


def test_samples_can_be_shown_by_a_function(monkeypatch):
    type_lines(monkeypatch, "n")
    displayed = []
    TerminalPairOracle(show=lambda first, second: displayed.append((first, second)))(4, 2)
    assert displayed == [(4, 2)]
