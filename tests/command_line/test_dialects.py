"""CSV files in all formats that people have: each is read as it was written, or rejected with a useful message."""

import csv
import io
import os
import re
import zipfile
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pytest

from evlearn.command_line import main
from evlearn.command_line.tables import open_table
from evlearn.utils.cells import MISSING_TOKENS

N_FILES = 500
WORDS = [
    "red",
    "Grün",
    "blue sky",
    "A1",
    "x-9",
    "naïve",
    "Straße",
    "no idea",
    "B 12",
    "über",
    "Zoë",
    "left",
    "5 mm",
]
STYLES = {  # decimal mark, thousands mark, frequency
    "1234.5": (".", None, 0.4),
    "1234,5": (",", None, 0.25),
    "1,234.5": (".", ",", 0.1),
    "1.234,5": (",", ".", 0.1),
    "1 234,5": (",", " ", 0.05),
    "1'234.5": (".", "'", 0.05),
    "1\u202f234,5": (",", "\u202f", 0.05),
}
DELIMITERS = {",": 0.35, ";": 0.3, "\t": 0.15, "|": 0.1, " ": 0.1}
ENCODINGS = {"utf-8": 0.6, "utf-8-sig": 0.12, "utf-16": 0.08, "cp1252": 0.14, "utf-16-le": 0.06}
ENDINGS = {"\n": 0.5, "\r\n": 0.35, "\r": 0.05, "mixed": 0.1}
DAMAGES = ["ragged", "nul", "open quote", "duplicate", "bytes", "text in numbers"]


@dataclass
class File:
    """A generated file and the table that was written to it; `columns` is None if the file is damaged."""

    content: bytes
    names: list[str]
    columns: list[list] | None
    options: dict = field(default_factory=dict)
    required: dict = field(default_factory=dict)
    damage: str | None = None


def choice(rng, weights):
    names = list(weights)
    shares = np.array([weights[name] for name in names])
    return names[rng.choice(len(names), p=shares / shares.sum())]


def number_cell(rng, kind, decimal, thousands):
    """Return a number as text and as float."""
    if kind == "int":
        value, digits = int(rng.integers(-50, 1000)), 0
    elif kind == "large":
        value, digits = round(float(np.exp(rng.uniform(0, 14))), 2), 2
    elif kind == "count":
        value, digits = int(np.exp(rng.uniform(0, 14))), 0
    elif kind == "three":
        value, digits = round(float(rng.uniform(0, 20)), 3), 3
    else:
        digits = int(rng.integers(1, 6))
        value = round(float(rng.normal(0, 10)), digits)
    text = f"{abs(value):,.{digits}f}".replace(",", "T").replace(".", "D")
    text = text.replace("T", thousands or "").replace("D", decimal)
    return ("-" if value < 0 else "") + text, float(value)


def make_column(rng, kind, n_rows, style, delimiter, plain_text):
    """Return the cells of a column and its values: numbers, text, or None for missing cells."""
    decimal, thousands, _ = STYLES[style]
    missing_share = rng.choice([0, 0, 0.1, 0.3])
    tokens = sorted(MISSING_TOKENS) if delimiter != " " else sorted(MISSING_TOKENS - {""})
    cells, values = [], []
    for _ in range(n_rows):
        if rng.random() < missing_share:
            token = tokens[rng.integers(len(tokens))]
            cells.append(token.upper() if rng.random() < 0.5 else token)
            values.append(None)
        elif kind == "text":
            word = WORDS[rng.integers(len(WORDS))]
            if not plain_text:
                word = rng.choice(
                    [
                        word,
                        f"{word}{delimiter}{word}",
                        f'{word} "{word}"',
                        f"{word}\n{word}",
                        f"{word}, {word}; {word}",
                    ]
                )
            cells.append(str(word))
            values.append(str(word))
        elif kind == "date":
            day = np.datetime64("2020-01-01") + int(rng.integers(2000))
            cells.append(str(day))
            values.append(str(day))
        else:
            cell, value = number_cell(rng, kind, decimal, thousands)
            cells.append(cell)
            values.append(value)
    return cells, values


def write_line(cells, delimiter, quoting):
    """Return a line without its end."""
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=delimiter, quoting=int(quoting)).writerow(cells)
    return buffer.getvalue().removesuffix("\r\n")


def required_options(columns, delimiter, decimal, thousands, header):
    """Return the options for files that no reader can read without them."""
    cells = [cell for cells in columns for cell in cells if re.match("-?[0-9]", cell) and "-" not in cell[1:]]
    # There are no decimal commas, and all numbers with a point look like "1.091".
    is_proven = any("," in cell or ("." in cell and not re.fullmatch(r"\d{1,3}\.\d{3}", cell)) for cell in cells)
    if thousands == "." and not is_proven and delimiter != ";":
        return {"thousands": "."}
    # The only column, without a name, holds numbers such as "7,25", which may be 2 columns of integers.
    if len(columns) == 1 and decimal == "," and not header:
        return {"decimal": ",", "thousands": thousands}
    return {}


def make_file(number, seed=37):
    """Return a file in a random format."""
    rng = np.random.default_rng([seed, number])
    delimiter, style = choice(rng, DELIMITERS), choice(rng, {name: share for name, (*_, share) in STYLES.items()})
    encoding, ending = choice(rng, ENCODINGS), choice(rng, ENDINGS)
    decimal, thousands, _ = STYLES[style]
    if thousands == "\u202f" and encoding == "cp1252":
        encoding = "utf-8"
    n_rows, n_columns = int(rng.choice([1, 2, 3, 8, 25, 60])), int(rng.integers(1, 7))
    header = bool(rng.random() < 0.75)
    kinds = [str(rng.choice(["int", "float", "float", "large", "count", "three"]))]
    kinds += [str(kind) for kind in rng.choice(["int", "float", "large", "count", "text", "date"], n_columns - 1)]
    rng.shuffle(kinds)
    plain_text = bool(rng.random() < 0.5)
    generated = [make_column(rng, kind, n_rows, style, delimiter, plain_text) for kind in kinds]
    if not header:  # an empty last cell is the same as a trailing delimiter
        generated[-1][0][:] = [cell or "NA" for cell in generated[-1][0]]
    names = [f"{WORDS[rng.integers(len(WORDS))]}_{k}" for k in range(n_columns)]
    rows = [list(row) for row in zip(*(cells for cells, _ in generated), strict=True)]
    quoting = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    lines = [write_line(row, delimiter, quoting) for row in ([names] if header else []) + rows]
    damage = str(rng.choice(DAMAGES)) if rng.random() < 0.12 else None
    first = 1 if header else 0
    if damage == "ragged" and n_rows > 2 and n_columns > 1:
        victim = int(rng.integers(first + 1, len(lines)))
        lines[victim] = lines[victim] + f"{delimiter}7{delimiter}8" if rng.random() < 0.5 else "7"
    elif damage == "nul":
        lines[-1] += "\0"
    elif damage == "open quote":
        lines[-1] += f'{delimiter}"abc'
    elif damage == "duplicate" and header and n_columns > 1:
        lines[0] = delimiter.join(["same"] * n_columns)
    elif damage == "text in numbers" and n_rows > 5:
        place = next(k for k, kind in enumerate(kinds) if kind not in ("text", "date"))
        rows[4][place] = "oops"
        lines[first + 4] = write_line(rows[4], delimiter, quoting)
    elif damage != "bytes":
        damage = None
    if delimiter != " " and rng.random() < 0.15 and damage is None:
        lines = (
            [line + delimiter for line in lines]
            if rng.random() < 0.5
            else [lines[0], *(x + delimiter for x in lines[1:])]
        )
    for _ in range(int(rng.choice([0, 0, 1, 3]))):
        lines.insert(int(rng.integers(0, len(lines) + 1)), str(rng.choice(["", "   ", " \t"])))
    if header and n_columns > 1 and rng.random() < 0.08 and delimiter != " ":
        lines[:0] = ["# made by a program"] if rng.random() < 0.5 else ["Sales report", ""]
    if rng.random() < 0.03 and delimiter != " ":
        lines.insert(0, f"sep={delimiter}")
    ends = [str(rng.choice(["\n", "\r\n"])) if ending == "mixed" else ending for _ in lines]
    if rng.random() < 0.2:
        ends[-1] = ""
    text = "".join(line + end for line, end in zip(lines, ends, strict=True))
    content = text.encode(encoding)
    if damage == "bytes":
        encoding = "utf-8"
        content = text.encode("utf-8") + b"\xff\xfe\xff\n"
    names = names if header else [f"x{k}" for k in range(n_columns)]
    options = {
        "delimiter": delimiter,
        "decimal": decimal if any(decimal in cell for row in rows for cell in row) else None,
        "thousands": thousands,
        "encoding": encoding,
        "header": header,
    }
    required = required_options([cells for cells, _ in generated], delimiter, decimal, thousands, header)
    return File(content, names, None if damage else [values for _, values in generated], options, required, damage)


MENTIONED = {
    "delimiter": "--delimiter",
    "decimal": "--decimal",
    "thousands": "--thousands",
    "encoding": "--encoding",
    "header": "--(no-)?header",
}


def read_table(path, **options):
    """Return the names and the columns of a table as the command line reads it."""
    table = open_table(path, **options)
    chunks = list(table.chunks(table.columns))
    columns = [np.concatenate([chunk.columns[name] for chunk in chunks]) for name in table.columns]
    return table.columns, columns


def is_equal(names, columns, file):
    """Return True if a table has the names, types and cells that were written."""
    if list(names) != file.names:
        return False
    for column, values in zip(columns, file.columns, strict=True):
        if len(column) != len(values):
            return False
        if all(value is None for value in values):
            continue
        is_text = any(isinstance(value, str) for value in values)
        if is_text == (np.asarray(column).dtype.kind == "f"):
            return False
        for cell, value in zip(column, values, strict=True):
            if value is None:
                if not (cell is None or cell != cell):
                    return False
            elif cell != value:
                return False
    return True


def follow(path, file):
    """Read a file without options, then with those that the message names, until no other option is named."""
    options, messages = dict(file.required), []
    while True:
        try:
            names, columns = read_table(path, **options)
        except ValueError as error:
            messages.append(str(error))
            options_in_message = {name for name, pattern in MENTIONED.items() if re.search(pattern, str(error))}
            if not options_in_message - options.keys():
                return "rejected", messages
            options.update({name: file.options[name] for name in options_in_message})
        else:
            return ("read" if file.columns is not None and is_equal(names, columns, file) else "wrong"), messages


def test_generated_files_are_read_as_written_or_rejected_with_a_useful_message(tmp_path):
    path = tmp_path / "data.csv"
    outcomes = []
    for number in range(N_FILES):
        file = make_file(number)
        path.write_bytes(file.content)
        outcome, messages = follow(path, file)
        assert outcome != "wrong", (number, file.options, messages, file.content)
        assert (outcome == "rejected") == (file.columns is None), (number, file.options, messages, file.content)
        for message in messages:
            assert "data.csv" in message
            assert re.search(r"line \d+|--[a-z]", message), message
            assert "\n" not in message
        outcomes.append((outcome, len(messages)))
    # Most intact files are read without any option, and the others with those of the message.
    n_good = sum(outcome == "read" for outcome, _ in outcomes)
    assert n_good >= 0.85 * N_FILES
    assert outcomes.count(("read", 0)) >= 0.6 * n_good


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def message(path, content, **options):
    """Return the message of a file that is rejected."""
    with pytest.raises(ValueError, match="data") as error:
        read_table(write(path, content), **options)
    return str(error.value)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data.csv"


GERMAN = "price;q\n879;0,40\n1.091;0,40\n7.164;0,06\n"


def test_a_point_is_not_a_decimal_mark_if_commas_are(path):
    for options in ({"decimal": ","}, {}):
        message_text = message(path, GERMAN, **options)
        assert (
            "data.csv, line 3: '1.091' in column 'price' is not a number with the decimal mark ','" in message_text
        )
        assert "If it is 1091, use `--decimal , --thousands .`" in message_text
        assert "--without" in message_text
        table = open_table(path, **options)
        assert next(table.chunks(["q"])).values.tolist() == [[0.4], [0.4], [0.06]]  # without the column
    _, columns = read_table(path, decimal=",", thousands=".")
    assert [column.tolist() for column in columns] == [[879, 1091, 7164], [0.4, 0.4, 0.06]]


def test_a_decimal_mark_is_not_taken_for_the_delimiter(path):
    write(path, "1,76;0,40;0,98\n1,00;2,40;0,08\n")
    for options in ({"decimal": ","}, {}):
        names, columns = read_table(path, **options)
        assert names == ["x0", "x1", "x2"]
        assert [column.tolist() for column in columns] == [[1.76, 1], [0.4, 2.4], [0.98, 0.08]]
    assert "',' is the decimal mark, so '1,76' in line 1 is 1.76" in open_table(path).remark
    assert "decimal mark" not in open_table(path, decimal=",").remark


@pytest.mark.parametrize(
    ("text", "cell", "advice"),
    [
        ('a,b\n"1,234.5",2\n"2,000",3\n', "1,234.5", ["If it is 1234.5, use `--decimal . --thousands ,`"]),
        (
            'a,b\n"1,234",2\n"2,000",3\n',
            "1,234",
            ["1.234, use `--decimal ,`", "1234, use `--decimal . --thousands ,`"],
        ),
        ("a;b\n1 234,5;2\n9;3\n", "1 234,5", ["use `--decimal , --thousands ' '`"]),
        ("a;b\n1'234.5;2\n9;3\n", "1'234.5", ['use `--decimal . --thousands "\'"`']),
        (
            "a\tb\n879\t1\n1.091\t2\n",
            "1.091",
            ["1.091, use `--decimal .`", "1091, use `--decimal , --thousands .`"],
        ),
        (
            "a;b\n1.091;1\n2.222;2\n",
            "1.091",
            ["1.091, use `--decimal .`", "1091, use `--decimal , --thousands .`"],
        ),
        ("a;b\n1.5;1,5\n2.5;2,5\n", "1,5", ["Write all numbers of the file in one format"]),
        ("a;b\n1.5;x\n2,5;y\n", "2,5", ["Write all numbers of the file in one format"]),
    ],
)
def test_thousands_marks_and_mixed_formats_are_rejected_with_the_options_to_use(path, text, cell, advice):
    message_text = message(path, text)
    assert repr(cell) in message_text
    for part in advice:
        assert part in message_text


def test_a_point_is_a_decimal_mark_without_evidence_against_it(path):
    for text in ("a,b\n1.091,2\n2.222,3\n", "a\tb\n1.091\t879\n0.5\t3\n", "a;b\n1.091;879\n0.123;3\n"):
        assert read_table(write(path, text))[1][0].tolist()[0] == 1.091
    assert read_table(write(path, "a;b\n1.091;1\n2.222;2\n"), decimal=".")[1][0].tolist() == [1.091, 2.222]


@pytest.mark.slow
def test_a_number_in_another_format_far_below_is_rejected_too(path):
    rows = "".join(f"{number % 1000};{number % 7}\n" for number in range(3000))
    assert "line 3002: '1.091' in column 'a' is ambiguous" in message(path, f"a;b\n{rows}1.091;5\n")
    message_text = message(path, f"a;b\n{rows}1.091;5\n", decimal=",")
    assert "line 3002: '1.091' in column 'a' is not a number with the decimal mark ','" in message_text
    assert "--thousands ." in message_text
    assert "line 3002, has 3 cells instead of 2" in message(path, f"a;b\n{rows}1;5;6\n")
    assert "line 3002: byte 0xff" in message(path, f"a;b\n{rows}".encode() + b"\xff;1\n")
    assert "line 3002: a double quote opens a cell" in message(path, f'a;b\n{rows}"1;5\n')
    assert "line 3002: there is a NUL byte" in message(path, f"a;b\n{rows}1;\0005\n")


DETECTED = {
    "a single column": ("a\n1\n2\n", ["a"], [[1, 2]]),
    "a single column with decimal commas": ("a\n1,5\n2,5\n", ["a"], [[1.5, 2.5]]),
    "runs of spaces": ("  a   b\n 1.5   2\n 2.5  3  \n", ["a", "b"], [[1.5, 2.5], [2, 3]]),
    "decimal commas between spaces": ("a b\n1,5 2\n2,5 3\n", ["a", "b"], [[1.5, 2.5], [2, 3]]),
    "a title": ("My report\n\na,b\n1,2\n3,4\n", ["a", "b"], [[1, 3], [2, 4]]),
    "a padded title": ("Report;;\n;;\nn;x;y\nu;1;2\nv;2;3\n", ["n", "x", "y"], [["u", "v"], [1, 2], [2, 3]]),
    "comments": ("# x\n# y, z\na,b\n1,2\n3,4\n", ["a", "b"], [[1, 3], [2, 4]]),
    "a header of NumPy": ("# a,b\n1,2\n3,4\n", ["# a", "b"], [[1, 3], [2, 4]]),
    "the delimiter of Excel": ("sep=;\na;b\n1;2\n", ["a", "b"], [[1], [2]]),
    "trailing delimiters": ("a,b,\n1,2,\n3,4,\n", ["a", "b"], [[1, 3], [2, 4]]),
    "trailing delimiters below": ("a,b\n1,2,\n3,4,\n", ["a", "b"], [[1, 3], [2, 4]]),
    "spaces before quotes": ('a, b\n1, "x, y"\n2, "z"\n', ["a", "b"], [[1, 2], ["x, y", "z"]]),
    "quotes inside": ('a,b\n5" pipe,3\n"6"" pipe",4\n', ["a", "b"], [['5" pipe', '6" pipe'], [3, 4]]),
    "line breaks in a cell": ('a,b\n"x\n\n y",1\n  \nz,2\n', ["a", "b"], [["x\n\n y", "z"], [1, 2]]),
    "mixed line breaks": ("a,b\r\n1,2\n3,4\r5,6", ["a", "b"], [[1, 3, 5], [2, 4, 6]]),
    "times": ("t,v\n2024-01-01 10:00,5\n2024-01-02 11:00,6\n", ["t", "v"], [None, [5, 6]]),
    "percentages": ("a;b\n5,5%;1\n6,5%;2\n", ["a", "b"], [["5,5%", "6,5%"], [1, 2]]),
    "German dates": (
        "d;x\n01.02.2024;1,5\n03.04.2024;2,5\n",
        ["d", "x"],
        [["01.02.2024", "03.04.2024"], [1.5, 2.5]],
    ),
    "names with commas": ("n, v;x\nLee, Ann;1\nRay, Bob;2\n", ["n, v", "x"], [["Lee, Ann", "Ray, Bob"], [1, 2]]),
    "an empty cell in quotes": ('a\n1\n""\n3\n', ["a"], [[1, None, 3]]),
    "text below text": ("red,x\nblue,y\nred,x\n", ["x0", "x1"], [["red", "blue", "red"], ["x", "y", "x"]]),
    "UTF-16": ("name;x\nMüller;1\n".encode("utf-16"), ["name", "x"], [["Müller"], [1]]),
    "UTF-8 with a mark": ("name;x\nMüller;1\n".encode("utf-8-sig"), ["name", "x"], [["Müller"], [1]]),
}


@pytest.mark.parametrize("kind", DETECTED)
def test_a_format_is_detected(path, kind):
    content, expected, values = DETECTED[kind]
    names, columns = read_table(write(path, content))
    assert names == expected
    for column, cells in zip(columns, values, strict=True):
        if cells is not None:
            assert [None if cell is None or cell != cell else cell for cell in column] == cells


REJECTED = {
    "a comma for two things": ("1,2,3\n3,4,5\n", {"decimal": ","}, "',' is set as a mark in numbers"),
    "a comma for both": (
        "1,2\n3,4\n",
        {"decimal": ",", "delimiter": ","},
        "--delimiter , is also the decimal mark",
    ),
    "a delimiter that is not there": (
        "a,b\n1,2\n",
        {"delimiter": ";"},
        "does not occur in data.csv, but ',' does",
    ),
    "decimals or cells": ("1,76\n0,40\n0,06\n", {}, "line 3: in '0,06' a comma may separate cells or be a mark"),
    "thousands or cells": ("1,234\n5,678\n", {}, "line 1: in '1,234' a comma may separate cells"),
    "spaces in numbers": ("a\n1 234\n5 678\n", {}, "`--delimiter space` or `--thousands ' '`"),
    "spaces beside text": ("name value\nanna 5.1\nben 6.2\n", {}, "use `--delimiter space`"),
    "two delimiters": ("a,b;c,d\ne,f;g,h\n", {}, "both ';' and ',' split all lines"),
    "a short first line": ("5\n1,2\n3,4\n", {}, "data.csv, line 1, has 1 cell instead of 2"),
    "a missing name": ("a,b\nr1,1,2\nr2,3,4\n", {}, "line 1, has 2 names, and the lines below it have 3 cells"),
    "a title and no header": ("Report\n1,2,3\n3,4,5\n", {}, "data.csv, line 1, has 1 cell instead of 3"),
    "a comma in a column of text": ("name\nfoo, x\nbar\nbaz\n", {}, "line 2, has 2 cells instead of 1"),
    "text behind quotes": ('a,b\n"5" pipe",3\n"6",4\n', {}, "line 2: text follows a closing quote"),
    "an open quote": ('a,b\n1,2\n"x,3\n6,4\n', {}, "line 3: a double quote opens a cell and is not closed"),
    "names that are equal": (
        "a,a\n1,2\n",
        {},
        "several columns with the name 'a'; rename them. The names are in line 1",
    ),
    "columns without names": ("a,,\n1,2,3\n4,5,6\n", {}, "several columns without a name"),
    "only a header": ("a,b\n", {}, "a header and no rows. If that line is a sample, use --no-header"),
    "NUL": (b"a,b\n1,2\n3,\x004\n", {}, "line 3: there is a NUL byte at position 10"),
    "Latin-1": ("name;x\nMüller;1\n".encode("latin-1"), {}, "line 2: byte 0xfc at position 8 is not UTF-8"),
    "UTF-16 without a mark": ("name;x\nMüller;1\n".encode("utf-16-le"), {}, "use --encoding utf-16-le"),
    "a wrong encoding": (
        b"name;x\nM\x81ller;1\n",
        {"encoding": "cp1252"},
        "byte 0x81 at position 8 is not CP1252",
    ),
    "another mark": ("a\n1\n".encode("utf-8-sig"), {"encoding": "cp1252"}, "--encoding cp1252 does not fit"),
    "no UTF-16": (b"a;b\n1;22\n", {"encoding": "utf-16"}, "use another --encoding"),
    "JSON": ('[{"a": 1}, {"a": 2}]', {}, "is a JSON file"),
    "a model": ('{\n "schema": "evlearn-model"}', {}, "evlearn predict model.json data.csv"),
    "gzip": (b"\x1f\x8b\x08abc", {}, "is compressed; unpack it first"),
    "zip": (b"PK\x03\x04abc", {}, "is compressed; unpack it first"),
    "old Excel": (b"\xd0\xcf\x11\xe0\xa1\xb1", {}, "is a spreadsheet; save the sheet as CSV"),
    "HTML": ("<html><table>", {}, "is HTML or XML"),
    "Parquet": (b"PAR1abc", {}, "rename it so that its name ends in .parquet"),
    "blank lines": ("\n \n", {}, "has no rows"),
}


def test_a_delimiter_may_be_a_mark_in_numbers_if_a_header_or_quotes_prove_it(path):
    write(path, "a,b\n1,2\n3,4\n")
    for options in ({"decimal": ","}, {"thousands": ","}, {"thousands": ",", "delimiter": ","}):
        names, columns = read_table(path, **options)
        assert names == ["a", "b"]
        assert [column.tolist() for column in columns] == [[1, 3], [2, 4]]
    write(path, '1,"2,5"\n3,"4,5"\n')
    assert [column.tolist() for column in read_table(path, decimal=",")[1]] == [[1, 3], [2.5, 4.5]]
    write(path, "1,234\n5,678\n")
    assert [column.tolist() for column in read_table(path, decimal=",")[1]] == [[1.234, 5.678]]
    assert [column.tolist() for column in read_table(path, thousands=",")[1]] == [[1234, 5678]]
    assert [column.tolist() for column in read_table(path, delimiter=",")[1]] == [[1, 5], [234, 678]]


@pytest.mark.parametrize("kind", REJECTED)
def test_a_broken_or_ambiguous_file_is_rejected_with_a_remedy(path, kind):
    content, options, expected = REJECTED[kind]
    assert expected in message(path, content, **options)


def test_the_advice_contains_the_word_in_cp1252(path):
    message_text = message(path, "name;x\nMüller;1\n".encode("cp1252"))
    assert "use --encoding cp1252 if the word there is 'Müller'" in message_text
    assert read_table(path, encoding="cp1252")[1][0].tolist() == ["Müller"]


@pytest.mark.parametrize(("ending", "member"), [("xlsx", "xl/workbook.xml"), ("ods", "content.xml")])
def test_spreadsheets_are_recognized(tmp_path, ending, member):
    path = tmp_path / f"data.{ending}"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, "<x/>")
    with pytest.raises(ValueError, match=rf"data.{ending} is a spreadsheet; save the sheet as CSV"):
        open_table(path)


def test_a_pipe_is_rejected_because_tables_are_read_twice(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(ValueError, match="is not a regular file"):
        open_table(tmp_path / "pipe.csv")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--decimal", ".", "--thousands", "."], "--thousands . is also the decimal mark"),
        (["--thousands", ",", "--decimal", ","], "--thousands , is also the decimal mark"),
        (["--thousands", "ab"], "must be a single mark, such as a comma or a point, got 'ab'"),
        (["--thousands", "5"], "must be a single mark"),
        (["--decimal", "-"], "must be a single mark"),
        (["--delimiter", "ab"], "must be a single character such as ;, or the word tab or space, got 'ab'"),
        (["--delimiter", "x"], "must be a single character"),
        (["--encoding", "nonsense"], "'nonsense' is not an encoding; examples are utf-8, utf-16, cp1252"),
        (["--encoding", "base64"], "'base64' is not an encoding"),
    ],
)
def test_invalid_options_are_rejected(options, expected, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["cluster", "data.csv", "-k", "2", *options])
    assert expected in capsys.readouterr().err


def test_options_are_passed_to_the_reader(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [("Müller", "1.091,5", "1"), ("Groß", "2,5", "2"), ("Zoë", "7.164", "9"), ("Ann", "3", "8")]
    text = "\n".join("\t".join(row) for row in [("name", "a", "b"), *rows]) + "\n"
    write(tmp_path / "data.csv", text.encode("cp1252"))
    options = ["--encoding", "cp1252", "--delimiter", "tab", "--decimal", ",", "--thousands", "."]
    command = ["cluster", "data.csv", "-k", "2", "--as-is", "--names", "name", *options, "--out", "result.csv"]
    assert main([*command, "--model", "model.json"]) == 0
    assert pd.read_csv("result.csv")["sample"].tolist() == ["Müller", "Groß", "Zoë", "Ann"]
    assert main(["predict", "model.json", "data.csv", "--names", "name", *options, "--out", "again.csv"]) == 0
    assert main(["cluster", "data.csv", "-k", "2", "--as-is", "--out", "other.csv"]) == 1
    assert "--encoding cp1252" in capsys.readouterr().err


def test_a_decimal_comma_that_is_detected_is_reported(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "data.csv", "My data\na;b\n1,5;2\n2,5;3\n9,5;9\n8,5;8\n")
    assert main(["cluster", "data.csv", "-k", "2", "--as-is"]) == 0
    message_text = capsys.readouterr().err
    assert "evlearn: data.csv: lines above the table are skipped: 'My data'." in message_text
    assert "evlearn: data.csv: ',' is the decimal mark, so '1,5' in line 3 is 1.5" in message_text


def column_of(cells_by_row, n_rows=2000):
    """Return the text of a CSV file with 2 columns, most of whose numbers have 1 digit."""
    return "a,b\n" + "".join(f"{cells_by_row.get(row, row % 10)},{row % 7}\n" for row in range(n_rows))


@pytest.mark.parametrize("n_rows", [1, 10, 700, 1999, 50_000])
@pytest.mark.parametrize(
    ("cells_by_row", "line"),
    [
        ({5: "12345", 1500: "879", 1501: "1.091"}, None),
        ({1500: "879", 1501: "1.091", 1900: "1.5"}, None),
        ({1500: "879", 1501: "1.091", 1900: "12345"}, None),
        ({1500: "1.091", 1900: "879"}, 1502),
        ({1500: "879", 1900: "1.091"}, 1902),
        ({5: "879", 1900: "1.091"}, 1902),
    ],
)
def test_ambiguity_of_numbers_does_not_depend_on_the_size_of_chunks(
    cells_by_row, line, n_rows, tmp_path, monkeypatch
):
    monkeypatch.setattr("evlearn.command_line.tables._CHUNK_ROWS", n_rows)
    write(tmp_path / "data.csv", column_of(cells_by_row))
    table = open_table(tmp_path / "data.csv")
    if line is None:
        values = np.concatenate([chunk.columns["a"] for chunk in table.chunks(["a", "b"])])
        assert all(values[row] == float(cell) for row, cell in cells_by_row.items())
    else:
        with pytest.raises(ValueError, match=rf"line {line}: '1\.091' in column 'a' is ambiguous"):
            list(table.chunks(["a", "b"]))


def test_a_header_of_numbers_does_not_affect_the_format_of_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr("evlearn.command_line.tables._CHUNK_ROWS", 100)
    write(tmp_path / "data.csv", column_of({1500: "879", 1900: "1.091"}).replace("a,b", "2001,2002"))
    table = open_table(tmp_path / "data.csv", header=True)
    with pytest.raises(ValueError, match=r"line 1902: '1.091' in column '2001' is ambiguous"):
        list(table.chunks(["2001"]))
