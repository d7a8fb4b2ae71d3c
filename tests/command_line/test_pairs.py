"""Files with constraints: encodings, quotes, delimiters, headers and messages."""

import re

import pandas as pd
import pytest
from sklearn.datasets import load_iris

from evlearn.command_line import main
from evlearn.command_line.tables import read_constraints

NAMES = ["Müller", "a,b", "two\nlines", "one\u2028name", "plain"]


def pairs_of(constraints):
    return constraints.must_link.tolist(), constraints.cannot_link.tolist()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
@pytest.mark.parametrize("header", ["", "first,second,kind\n", "# pairs\nfirst,second,kind\n"])
@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
def test_encodings_headers_and_line_breaks(tmp_path, encoding, header, line_break):
    path = tmp_path / "pairs.csv"
    text = header + 'Müller,plain,must\n"a,b",Müller,cannot\n'
    path.write_bytes(text.replace("\n", line_break).encode(encoding))
    assert pairs_of(read_constraints(path, NAMES, encoding=encoding)) == ([[0, 4]], [[0, 1]])


def test_a_byte_order_mark_overrides_the_encoding_of_the_data(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("Müller,plain,must\n", encoding="utf-8-sig")
    assert pairs_of(read_constraints(path, NAMES, encoding="cp1252")) == ([[0, 4]], [])


def test_names_in_quotes_may_have_line_breaks_and_delimiters(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text('"two\nlines","a,b",must\none\u2028name,plain,cannot\n', encoding="utf-8")
    assert pairs_of(read_constraints(path, NAMES)) == ([[1, 2]], [[3, 4]])


def test_the_delimiter_is_detected_from_all_lines(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("a,b;a,b c,d;must\nplain;a,b;cannot\n", encoding="utf-8")
    assert pairs_of(read_constraints(path, ["a,b", "a,b c,d", "plain"])) == ([[0, 1]], [[0, 2]])


def test_spaces_around_names_are_ignored(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("a , b,must\n", encoding="utf-8")
    assert pairs_of(read_constraints(path, ["a ", "b"])) == ([[0, 1]], [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"plain,a,must\nplain,M\xfcller,must\n", "line 2: byte 0xfc"),
        (b"plain,a,must\n\nplain,a\n", "line 3, has 2 cells instead of 3"),
        (b'plain,a,must\n"plain,a,must\n', "line 2: a double quote opens a cell and is not closed"),
        (b'plain,"a\nb",must\nplain,a,perhaps\n', "line 1: 'a\\nb' is not the name of a row"),
        (b'"a\nb",plain,must\nplain,a,perhaps\n', "line 3: must have 2 rows and the word must or cannot"),
        (b"plain\nplain,a,must\na,plain,must\n", "line 1, has 1 cell instead of 3"),
        (b"", "has no rows"),
    ],
)
def test_messages_name_the_line(tmp_path, text, message):
    path = tmp_path / "pairs.csv"
    path.write_bytes(text)
    names = ["plain", "a", "a\nb"] if "line 3: must" in message else ["plain", "a"]
    with pytest.raises(ValueError, match=re.escape(message)):
        read_constraints(path, names)


def test_a_folder_is_rejected(tmp_path):
    with pytest.raises(ValueError, match=r"--constraints: .* is not a regular file"):
        read_constraints(tmp_path, ["a", "b"])


def test_the_encoding_option_applies_to_constraints(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame(load_iris().data, columns=list("abcd"))
    table.insert(0, "name", [f"Blüte {k}" for k in range(150)])
    table.to_csv("iris.csv", index=False, encoding="cp1252")
    (tmp_path / "pairs.csv").write_bytes("Blüte 0;Blüte 1;must\n".encode("cp1252"))
    command = ["cluster", "iris.csv", "-k", "3", "-m", "cecm", "--names", "name", "--constraints", "pairs.csv"]
    assert main([*command, "--out", "result.csv", "--encoding", "cp1252"]) == 0
