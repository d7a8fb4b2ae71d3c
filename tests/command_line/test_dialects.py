"""CSV files in all formats that people have: each is read as it was written, or rejected with a useful message."""

import csv
import io
import re
from dataclasses import dataclass, field

import numpy as np

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
    needed: dict = field(default_factory=dict)
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


def needed_options(columns, delimiter, decimal, thousands, header):
    """Return the options for files that no reader can read without them."""
    cells = [cell for cells in columns for cell in cells if re.match("-?[0-9]", cell) and "-" not in cell[1:]]
    # There is no number with a point but such as "1.091", and no decimal comma.
    is_proven = any("," in cell or ("." in cell and not re.fullmatch(r"\d{1,3}\.\d{3}", cell)) for cell in cells)
    if thousands == "." and not is_proven and delimiter != ";":
        return {"thousands": "."}
    # The only column, without a name, holds numbers such as "7,25", which may be 2 columns of whole numbers.
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
    made = [make_column(rng, kind, n_rows, style, delimiter, plain_text) for kind in kinds]
    if not header:  # an empty last cell is the same as a trailing delimiter
        made[-1][0][:] = [cell or "NA" for cell in made[-1][0]]
    names = [f"{WORDS[rng.integers(len(WORDS))]}_{k}" for k in range(n_columns)]
    rows = [list(row) for row in zip(*(cells for cells, _ in made), strict=True)]
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
    needed = needed_options([cells for cells, _ in made], delimiter, decimal, thousands, header)
    return File(content, names, None if damage else [values for _, values in made], options, needed, damage)


MENTIONED = {
    "delimiter": "--delimiter",
    "decimal": "--decimal",
    "thousands": "--thousands",
    "encoding": "--encoding",
    "header": "--(no-)?header",
}


def read(path, **options):
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
    options, messages = dict(file.needed), []
    while True:
        try:
            names, columns = read(path, **options)
        except ValueError as error:
            messages.append(str(error))
            named = {name for name, pattern in MENTIONED.items() if re.search(pattern, str(error))}
            if not named - options.keys():
                return "rejected", messages
            options.update({name: file.options[name] for name in named})
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
