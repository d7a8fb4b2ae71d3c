"""Detection of the format of a CSV file: encoding, delimiter, lines above the header, and number format.

Detection is cautious. A file whose format is ambiguous is rejected with a message that names the line and the
options to use, because a wrong guess would give wrong numbers without a warning.
"""

import codecs
import csv
import os
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path

from evlearn.utils.cells import NumberFormat, is_missing_text

Record = tuple[int, list[str]]  # number of a line, from 1, and its cells

_DELIMITERS = "\t;,|"
_NO_DELIMITER = "\x1f"  # for a file with a single column
_SAMPLE_LINES, _SAMPLE_CHARACTERS, _SAMPLE_CELLS = 1000, 1 << 22, 200_000
_HEAD_BYTES = 1 << 16
_MAX_TITLES = 20
_GROUPED_DIGITS = 3
_MAX_NUMBER_LENGTH = 40
_THOUSANDS = (".", ",", " ", "\u00a0", "\u202f", "'", "\u2019")
_PLAIN, _COMMA = NumberFormat("."), NumberFormat(",")
_FORMATS = (
    _PLAIN,
    _COMMA,
    *(NumberFormat(decimal, mark) for mark in _THOUSANDS for decimal in ".," if mark != decimal),
)


@dataclass(frozen=True)
class Dialect:
    """Format of a CSV file.

    Attributes
    ----------
    path : Path
        Path of the file.
    encoding : str
        Encoding.
    delimiter : str
        Character between cells.
    n_columns : int
        Number of cells per line.
    titles : list of (int, list of str)
        Lines above the header, which are skipped.
    numbers : NumberFormat
        Number format.
    certain : bool
        True if the decimal mark was set by the user or is proven by a cell.
    rejections : dict of int to str
        Error messages of the columns, by position, whose numbers are in another format or ambiguous.
    remarks : list of str
        Decisions that are reported to the user.
    """

    path: Path
    encoding: str
    delimiter: str
    n_columns: int
    titles: list[Record]
    numbers: NumberFormat
    certain: bool
    rejections: dict[int, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    _clear: set[int] = field(default_factory=set, init=False, repr=False)  # columns that are not ambiguous

    @cached_property
    def n_skipped(self) -> int:
        """Number of lines above the header or the first row."""
        return self.titles[-1][0] if self.titles else 0

    def records(self) -> Iterator[Record]:
        """Yield the number and the cells of each line that is not blank; raise if lines are ragged."""
        width = self.n_columns
        for line, cells in _records(self.path, self.encoding, self.delimiter, self.n_skipped):
            if len(cells) == width:
                yield line, cells
            elif len(cells) == width + 1 and not cells[-1].strip():  # a trailing delimiter
                yield line, cells[:width]
            else:
                raise ValueError(_ragged(self.path, self.delimiter, line, len(cells), width))

    def is_number(self, cell: str) -> bool:
        """Return True if a cell is a number, in the format of the file or in another one."""
        return self.numbers.parse(cell) is not None or bool(_formats_of(cell))

    def check_titles(self, *, header: bool) -> None:
        """Raise a ValueError if there are lines above the table, but no header."""
        if not header and self._titles:
            line, cells = self._titles[0]
            raise ValueError(_ragged(self.path, self.delimiter, line, len(cells), self.n_columns))

    def check_numbers(self, position: int, name: str, cells: Sequence[str], *, header: bool) -> None:
        """Raise a ValueError if the numbers of a column are in another format than `numbers`, or ambiguous.

        Parameters
        ----------
        position : int
            Position of the column.
        name : str
            Name of the column.
        cells : sequence of str
            Cells of the column. If one of them has a point and the decimal mark is uncertain, the whole column is
            read once, so that the result does not depend on chunks.
        header : bool
            True if the first record is a header.
        """
        if position in self.rejections:
            raise ValueError(self.rejections[position].format(column=repr(name)))
        if self.certain or position in self._clear or not any("." in cell for cell in cells):
            return
        rows = islice(self.records(), 1 if header else 0, None)
        column = ((line, row[position]) for line, row in rows)
        if (place := _ambiguous(column, self.numbers, self.delimiter)) is not None:
            raise ValueError(_ambiguity(self.path, *place).format(column=repr(name)))
        self._clear.add(position)

    def check_cell(self, name: str, cell: str, line: int) -> None:
        """Raise a ValueError if a cell of a column of numbers is a number in another format."""
        formats = _formats_of(cell)
        if formats:
            raise ValueError(_foreign(self.path, line, cell, formats, self.numbers).format(column=repr(name)))

    @property
    def _titles(self) -> list[Record]:
        """Lines above the header that are not comments."""
        return [(line, cells) for line, cells in self.titles if not _is_comment(cells)]


def detect(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    encoding: str | None = None,
) -> Dialect:
    """Return the format of a CSV file; raise if the file cannot be read or its format is ambiguous.

    Parameters
    ----------
    path : str or path
        Path of the file.
    delimiter, decimal, thousands, encoding : str or None, default=None
        Parts of the format that the user has set; None means detection. A thousands mark is never guessed: a file
        with such marks is rejected with a message that names the options to read it.
    """
    path = Path(path)
    encoding = find_encoding(path, encoding)
    lines, whole = _first_lines(path, encoding)
    if not any(line.strip() for line in lines):
        raise ValueError(f"{path.name} has no rows.")
    marks = [mark for mark in (decimal, thousands) if mark is not None]
    announced, lines = _announced_delimiter(lines)
    sample = _Sample(path, lines, whole, 1 if announced else 0)
    if delimiter is None:
        delimiter = announced if announced is not None else _find_delimiter(sample, marks)
    else:
        _check_delimiter(sample, delimiter, decimal, thousands)
    layout = sample.layout(delimiter)
    if layout.error is not None:
        raise ValueError(layout.error)
    titles = ([(1, [f"#sep={announced}"])] if announced else []) + layout.titles
    body = [(line, cells[: layout.width]) for line, cells in layout.body]
    remarks = []
    if layout.titles:
        preview = ", ".join(repr(delimiter.join(cells)[:40]) for _, cells in layout.titles[:2])
        ending = ", ..." if len(layout.titles) > 2 else ""
        remarks.append(f"{path.name}: lines above the table are skipped: {preview}{ending}.")
    numbers, certain = _find_numbers(body, decimal, thousands)
    if decimal is None and numbers == _COMMA:
        remarks += _remark_on_commas(path, body)
    rejections = _find_rejections(path, body, delimiter, numbers, certain)
    return Dialect(
        path, encoding, delimiter, layout.width, titles, numbers, certain, rejections=rejections, remarks=remarks
    )


# Encoding and kind of file

_MARKS = (  # UTF-32 before UTF-16, whose marks are prefixes of those of UTF-32
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SPREADSHEET = "is a spreadsheet; save the sheet as CSV (in Excel: File, Save As, CSV UTF-8) and use that file."
_PACKED = "is compressed; unpack it first."
_SIGNATURES = {
    b"\xd0\xcf\x11\xe0": _SPREADSHEET,
    b"\x1f\x8b": _PACKED,
    b"BZh": _PACKED,
    b"\xfd7zXZ": _PACKED,
    b"7z\xbc\xaf": _PACKED,
    b"\x28\xb5\x2f\xfd": _PACKED,
    b"Rar!": _PACKED,
    b"PAR1": "is a Parquet file; rename it so that its name ends in .parquet.",
    b"ARROW1": "is an Arrow file; convert it, for example with pandas.read_feather(...).to_parquet(...).",
    b"SQLite format 3": "is a database; export the table as CSV.",
    b"\x89HDF": "is an HDF5 file; export the table as CSV or Parquet.",
    b"\x93NUMPY": "is a NumPy array; write it as text with numpy.savetxt(..., delimiter=',').",
    b"%PDF": "is a PDF file; export the table as CSV.",
}
_MODEL = 'is a model; the order of arguments is "evlearn predict model.json data.csv".'
_JSON = "is a JSON file, not CSV; convert it, for example with pandas.read_json(...).to_csv(..., index=False)."


def find_encoding(path: Path, encoding: str | None = None) -> str:
    """Return the encoding of a text file: `encoding`, or that of its byte order mark, or UTF-8.

    Raise if the file is not text, with a message that depends on its kind.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    _check_kind(path, head)
    marked = _marked_encoding(head)
    if encoding is None:
        encoding = marked or "utf-8"
    elif marked is not None:
        if _family(encoding) != _family(marked):
            raise ValueError(
                f"{path.name} starts with the byte order mark of {marked.upper().removesuffix('-SIG')}, so "
                f"--encoding {encoding} does not fit; leave the option out."
            )
        encoding = marked
    if b"\0" in head and _family(encoding) not in ("utf16", "utf32"):
        position = head.index(b"\0")
        even, odd = head[::2].count(0), head[1::2].count(0)
        if max(even, odd) > len(head) / 8 and min(even, odd) < max(even, odd) / 8:
            order = "utf-16-le" if odd > even else "utf-16-be"
            raise ValueError(f"{path.name} looks like UTF-16 without a byte order mark; use --encoding {order}.")
        raise ValueError(_nul(path, position, head.count(b"\n", 0, position) + 1))
    return encoding


def has_byte_order_mark(path: Path) -> bool:
    """Return True if a file starts with a byte order mark."""
    with path.open("rb") as file:
        return _marked_encoding(file.read(4)) is not None


def _marked_encoding(head: bytes) -> str | None:
    """Return the encoding that a byte order mark sets; None if there is no mark."""
    return next((name for mark, name in _MARKS if head.startswith(mark)), None)


def _check_kind(path: Path, head: bytes) -> None:
    """Raise a ValueError if the first bytes of a file are those of another kind of file."""
    if head.startswith(b"PK\x03\x04"):
        try:
            with zipfile.ZipFile(path) as archive:
                members = archive.namelist()
        except (zipfile.BadZipFile, OSError):
            members = []
        is_sheet = any(name.startswith("xl/") or name == "content.xml" for name in members)
        raise ValueError(f"{path.name} {_SPREADSHEET if is_sheet or _is_sheet_name(path) else _PACKED}")
    for signature, message in _SIGNATURES.items():
        if head.lstrip().startswith(signature):
            raise ValueError(f"{path.name} {message}")
    text = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if re.match(rb"<(!doctype|\?xml|html|table|svg)\b", text, flags=re.IGNORECASE):
        raise ValueError(f"{path.name} is HTML or XML, not a CSV file; export the table as CSV.")
    if re.match(rb'\{\s*["}]|\[\s*[{\["]', text):
        raise ValueError(f"{path.name} {_MODEL if b'evlearn' in text[:200] else _JSON}")


def _is_sheet_name(path: Path) -> bool:
    return path.suffix.lower() in (".xlsx", ".xlsm", ".xlsb", ".ods")


def _family(encoding: str) -> str:
    """Return the name of an encoding without its byte order."""
    name = codecs.lookup(encoding).name.replace("-", "").replace("_", "")
    return next((family for family in ("utf8", "utf16", "utf32") if name.startswith(family)), name)


def _nul(path: Path, position: int, line: int) -> str:
    return (
        f"{path.name}, line {line}: there is a NUL byte at position {position}, so the file is damaged or not "
        "text; export it again, or use --encoding."
    )


def _undecodable(path: Path, encoding: str, error: UnicodeDecodeError) -> str:
    """Return the message for bytes that are not in an encoding."""
    name = encoding.upper().removesuffix("-SIG")
    if _family(encoding) in ("utf16", "utf32"):
        return f"{path.name} cannot be decoded as {name}: {error.reason}; use --encoding."
    offset, line = 0, 1
    with path.open("rb") as file:
        for raw in file:
            try:
                raw.decode(encoding)
            except UnicodeDecodeError as place:
                line += len(re.findall(rb"\r(?!\n)", raw[: place.start]))
                location = (
                    f"{path.name}, line {line}: byte 0x{raw[place.start]:02x} at position {offset + place.start}"
                )
                word = _surrounding(raw, place.start)
                if _family(encoding) != "utf8":
                    return f"{location} is not {name}; use another --encoding."
                return (
                    f"{location} is not {name}. For files from Excel or Windows, use --encoding cp1252"
                    + (f" if the word there is {word!r}" if word else "")
                    + "; otherwise name the encoding of the program that wrote the file."
                )
            offset += len(raw)
            line += 1 + len(re.findall(rb"\r(?!\n)", raw))
    return f"{path.name} is not {name}; use --encoding."


def _surrounding(raw: bytes, position: int) -> str:
    """Return the word around a byte in the encoding cp1252, or an empty string."""
    try:
        before = raw[max(0, position - 20) : position].decode("ascii", "replace")
        after = raw[position : position + 20].decode("cp1252")
    except UnicodeDecodeError:
        return ""
    start = re.search(r"\w*$", before)
    end = re.match(r"\w*", after)
    return (start[0] if start else "") + (end[0] if end else "")


# Lines and records


def _open(path: Path, encoding: str) -> Iterator[str]:
    """Yield the lines of a file with their line breaks."""
    try:
        with path.open(newline="", encoding="utf-8-sig" if _family(encoding) == "utf8" else encoding) as file:
            for number, line in enumerate(file, 1):
                if "\0" in line:
                    position = len(line[: line.index("\0")].encode("utf-8"))
                    raise ValueError(_nul(path, position, number).replace("position", "byte of the line"))
                yield line.removeprefix("\ufeff") if number == 1 else line
    except UnicodeDecodeError as error:
        raise ValueError(_undecodable(path, encoding, error)) from error
    except UnicodeError as error:  # such as UTF-16 without a byte order mark
        raise ValueError(
            f"{path.name} cannot be decoded as {encoding}: {error}; use another --encoding."
        ) from error


def _first_lines(path: Path, encoding: str) -> tuple[list[str], bool]:
    """Return the first lines of a file, and True if the file has no other lines."""
    lines: list[str] = []
    size = 0
    source = _open(path, encoding)
    for line in source:
        if len(lines) >= _SAMPLE_LINES or size > _SAMPLE_CHARACTERS:
            return lines, False
        lines.append(line)
        size += len(line)
    return lines, True


def _records(path: Path, encoding: str, delimiter: str, n_skipped: int = 0) -> Iterator[Record]:
    """Yield the cells of each line that is not blank, with the number of the line."""
    lines = islice(_open(path, encoding), n_skipped, None)
    yield from _parse(path, lines, delimiter, n_skipped)


def _parse(path: Path, lines: Iterable[str], delimiter: str, n_before: int = 0) -> Iterator[Record]:
    """Split lines into cells. A record has several lines if a cell in quotes contains line breaks."""
    number, start = n_before, 0

    def feed() -> Iterator[str]:
        nonlocal number, start
        for line in lines:
            number += 1
            if start == 0:  # the first line of a record
                if not line.strip(" \t\r\n") or (delimiter != "\t" and not line.strip()):
                    continue
                start = number
            yield line.rstrip(" \r\n") + "\n" if delimiter == " " else line

    reader = csv.reader(feed(), delimiter=delimiter, strict=True, skipinitialspace=True)
    while True:
        start = 0
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            unclosed = "expected after" not in str(error)
            problem = (
                "a double quote opens a cell and is not closed" if unclosed else "text follows a closing quote"
            )
            raise _QuoteError(
                f"{path.name}, line {start}: {problem}. Double the quotes that belong to the text of a cell, as "
                'in "5"" pipe", or set the delimiter with --delimiter.',
                at_end=unclosed,
            ) from error
        yield start, cells


class _QuoteError(ValueError):
    """Quotes of a record that cannot be read."""

    def __init__(self, message: str, *, at_end: bool) -> None:
        super().__init__(message)
        self.at_end = at_end


def _ragged(path: Path, delimiter: str, line: int, n_cells: int, width: int) -> str:
    count = f"{n_cells} cell" + ("s" if n_cells != 1 else "")
    if delimiter == _NO_DELIMITER:
        return f"{path.name}, line {line}, has {count} instead of {width}; put the cell in double quotes."
    return (
        f"{path.name}, line {line}, has {count} instead of {width}, with the delimiter {delimiter!r}. Correct the "
        "line, put cells that contain the delimiter in double quotes, or use --delimiter if it is another one."
    )


# Delimiter and layout


@dataclass
class _Layout:
    """Records of a sample for a delimiter."""

    delimiter: str
    width: int
    titles: list[Record]
    body: list[Record]
    error: str | None

    @property
    def has_trailing(self) -> bool:
        """True if there is a single column with trailing delimiters."""
        return self.width == 1 and any(len(cells) > 1 for _, cells in self.body)

    @property
    def cells(self) -> list[str]:
        """Cells without a line that may be a header."""
        return [cell for _, row in (self.body[1:] or self.body) for cell in row[: self.width]]

    @property
    def number_share(self) -> float:
        """Share of cells that are numbers or missing."""
        cells = self.cells
        return sum(is_missing_text(cell) or bool(_formats_of(cell)) for cell in cells) / max(len(cells), 1)


class _Sample:
    """First lines of a file."""

    def __init__(self, path: Path, lines: list[str], whole: bool, n_before: int) -> None:
        self.path = path
        self._lines = lines
        self._whole = whole
        self._n_before = n_before

    @cached_property
    def text(self) -> str:
        """Text of all lines."""
        return "".join(self._lines)

    def layout(self, delimiter: str) -> _Layout:
        """Return the records for a delimiter, with an error if the lines do not fit each other."""
        records: list[Record] = []
        try:
            for record in _parse(self.path, self._lines, delimiter, self._n_before):
                records.append(record)
        except _QuoteError as error:
            if self._whole or not error.at_end or not records:
                return _Layout(delimiter, _width([cells for _, cells in records]), [], records, str(error))
        if not self._whole and len(records) > 1:
            records.pop()  # the last record may be incomplete
        width = _width([cells for _, cells in records])
        first = next((k for k, (_, cells) in enumerate(records) if _fits(cells, width)), 0)
        first += _n_titles([cells for _, cells in records[first : first + _MAX_TITLES + 2]], width)
        titles, body = records[:first], records[first:]
        message = None
        ragged = next(((line, cells) for line, cells in body if not _fits(cells, width)), None)
        if len(titles) > _MAX_TITLES or not all(_is_title(cells, width) for _, cells in titles):
            ragged = titles[0]
        if ragged is not None:
            line, cells = ragged
            message = _ragged(self.path, delimiter, line, len(cells), width)
            if len(titles) == 1 and len(cells) == width - 1 and all(map(has_letter, cells)):
                message = (
                    f"{self.path.name}, line {line}, has {width - 1} names, and the lines below it have {width} "
                    "cells; add the missing name."
                )
        return _Layout(delimiter, width, titles, body, message)

    def clean_share(self, layout: _Layout, marks: Sequence[str]) -> float:
        """Return the share of cells in which a mark does not seem to separate cells."""
        cells = layout.cells
        n_clean = sum(
            all(_is_prose(cell, mark) for mark in marks if mark in cell) or self.explains(cell) for cell in cells
        )
        return n_clean / max(len(cells), 1)

    def explains(self, cell: str) -> bool:
        """Return True if a cell with a delimiter is a number or in double quotes."""
        return bool(_formats_of(cell)) or '"' + cell.replace('"', '""') + '"' in self.text

    def allows(self, mark: str) -> bool:
        """Return True if a mark in numbers can also be the delimiter: because of double quotes, or a header."""
        layout = self.layout(mark)
        is_even = layout.error is None and layout.width > 1 and not layout.titles and len(layout.body) > 1
        return self.quoted(mark) or (is_even and _is_header(layout.body[0][1][: layout.width]))

    def quoted(self, mark: str) -> bool:
        """Return True if a mark occurs inside a cell in double quotes."""
        return any(mark in cell for cell in re.findall(r'"((?:[^"\n]|"")*)"', self.text))


def _width(rows: list[list[str]]) -> int:
    """Return the most frequent number of cells, without a column that trailing delimiters add."""
    if not rows:
        return 0
    counts = Counter(len(cells) for cells in rows)
    width = max(counts, key=lambda n_cells: (counts[n_cells], n_cells))
    trailing = all(not cells[-1].strip() for cells in rows if len(cells) == width)
    return width - 1 if trailing and width > 1 else width


def _fits(cells: list[str], width: int) -> bool:
    return len(cells) == width or (len(cells) == width + 1 and not cells[-1].strip())


def _n_titles(rows: list[list[str]], width: int) -> int:
    """Return the number of rows above the header that have as many cells as the table.

    Such rows are comments, or titles that a spreadsheet has padded with delimiters. They count only if a header
    follows; otherwise the last comment may be the header, as NumPy writes it.
    """
    n_titles = next((k for k, cells in enumerate(rows) if not _is_padded(cells, width)), 0)
    if n_titles + 1 < len(rows) and all(map(has_letter, rows[n_titles][:width])):
        return n_titles
    return max(n_titles - 1, 0) if all(map(_is_comment, rows[:n_titles])) else 0


def _is_padded(cells: list[str], width: int) -> bool:
    texts = [cell for cell in cells if cell.strip()]
    return _is_comment(cells) or (width > 2 and len(texts) <= 1 and all(map(has_letter, texts)))


def _is_title(cells: list[str], width: int) -> bool:
    """Return True if a line above the header is a title or a comment, and not a row with missing cells."""
    return _is_padded(cells, width) or (len(cells) == 1 and has_letter(cells[0]) and not _formats_of(cells[0]))


def _is_prose(cell: str, mark: str) -> bool:
    """Return True if a mark in a cell is followed by a space everywhere, or is a comma between digits."""
    end = r"(?= |(?<=\d.)\d)" if mark == "," else "(?= )"
    return len(re.findall(re.escape(mark) + end, cell)) == cell.count(mark)


def _is_comment(cells: list[str]) -> bool:
    return cells[0].lstrip().startswith("#")


def has_letter(text: str) -> bool:
    """Return True if a text contains a letter."""
    return any(character.isalpha() for character in text)


def _announced_delimiter(lines: list[str]) -> tuple[str | None, list[str]]:
    """Return the delimiter that a first line such as ``sep=;`` sets, as Excel writes it, and the other lines."""
    match = re.fullmatch(r"sep=(.)[\r\n]*", lines[0], flags=re.IGNORECASE)
    return (match[1], lines[1:]) if match else (None, lines)


def _find_delimiter(sample: _Sample, marks: Sequence[str]) -> str:
    """Return the delimiter that splits all lines into equally many cells."""
    present = [mark for mark in _DELIMITERS if mark in sample.text]
    possible = [mark for mark in present if mark not in marks or sample.allows(mark)]
    layouts = {mark: sample.layout(mark) for mark in possible}
    scores: dict[str, tuple[float, float, int]] = {}
    for mark, layout in layouts.items():
        if layout.error is None and layout.width > 1 and _has_header(layout):
            clean = sample.clean_share(layout, [other for other in present if other != mark])
            scores[mark] = round(clean, 6), round(layout.number_share, 6), -len(layout.titles)
    if len(scores) == 1 and min(scores.values())[0] <= 0.5:
        scores = {}  # another delimiter is in most cells, and some lines are broken
    single, spaced = sample.layout(_NO_DELIMITER), sample.layout(" ")
    # Spaces are frequent in text, so they separate cells only if the cells are numbers.
    min_number_share = max([0.5, *(score[1] for score in scores.values())])
    is_even = spaced.error is None and spaced.width > 1 and (" " not in marks or sample.quoted(" "))
    if is_even and spaced.number_share > min_number_share:
        _check_groups(sample, single)
        return " "
    if scores:
        best = max(scores.values())
        rivals = [mark for mark, score in scores.items() if score == best or best[0] < 1]
        mark = _by_spaces(sample, rivals)
        _check_pairs(sample, layouts[mark])
        return mark
    trailing = [mark for mark, layout in layouts.items() if layout.error is None and layout.has_trailing]
    if trailing:
        return trailing[0]
    if is_even and any(_common(cells) for cells in zip(*(cells for _, cells in spaced.body[1:]), strict=False)):
        raise ValueError(
            f"{sample.path.name}: spaces split all lines into {spaced.width} cells. If they separate cells, use "
            "`--delimiter space`; if the file has a single column, use `--delimiter ,`."
        )
    return _find_single_column(sample, layouts, single, spaced, present)


def _find_single_column(
    sample: _Sample, layouts: dict[str, _Layout], single: _Layout, spaced: _Layout, present: list[str]
) -> str:
    """Return the delimiter of a single column, or raise if marks in its cells are not explained."""
    cells = [cells[0] for _, cells in single.body]
    unexplained = [mark for mark in present if any(mark in cell and not sample.explains(cell) for cell in cells)]
    if single.error is not None:
        unexplained = list(layouts)
    if not unexplained:
        splits = [layout for layout in layouts.values() if cells and not has_letter(cells[0])]
        if spaced.number_share > 0.5 and not all(is_missing_text(cell) or _formats_of(cell) for cell in cells[1:]):
            splits.append(spaced)
        errors = [layout.error for layout in splits if layout.error is not None and layout.width > 1]
        if errors or single.error is not None:
            raise ValueError(errors[0] if errors else single.error)
        return _NO_DELIMITER
    blocked = [mark for mark in unexplained if mark not in layouts]
    if blocked:
        mark = blocked[0]
        raise ValueError(
            f"{sample.path.name}: {mark!r} is set as a mark in numbers (--decimal, --thousands) and also seems to "
            "separate cells. If it does, leave that option out; otherwise name the delimiter with --delimiter."
        )
    broken = max((layouts[mark] for mark in unexplained), key=lambda layout: (layout.width > 1, _share(layout)))
    first = [*broken.titles, *broken.body, (1, [""])][0]
    raise ValueError(broken.error or _ragged(sample.path, broken.delimiter, first[0], len(first[1]), broken.width))


def _share(layout: _Layout) -> float:
    """Return the share of records with as many cells as most."""
    return sum(len(cells) == layout.width for _, cells in layout.body) / max(len(layout.body), 1)


def _has_header(layout: _Layout) -> bool:
    """Return True unless there are lines above the table and no header between the two."""
    if all(_is_comment(cells) for _, cells in layout.titles):
        return True
    return len(layout.body) > 1 and _is_header(layout.body[0][1][: layout.width])


def _is_header(cells: list[str]) -> bool:
    return all(has_letter(cell) and not _formats_of(cell) for cell in cells)


def _by_spaces(sample: _Sample, marks: list[str]) -> str:
    """Return the only delimiter, or the delimiter that is never followed by a space; raise if it is not unique."""
    tight = [mark for mark in marks if mark + " " not in sample.text] if len(marks) > 1 else marks
    if len(tight) == 1:
        return tight[0]
    raise ValueError(
        f"{sample.path.name}: both {marks[0]!r} and {marks[1]!r} split all lines into equally many cells; choose "
        "one with --delimiter."
    )


def _check_pairs(sample: _Sample, layout: _Layout) -> None:
    """Raise a ValueError if commas between integers may be marks, as in ``1,76`` and ``0,06``, or ``1,234``."""
    if layout.delimiter != "," or layout.width % 2 or sample.quoted(","):
        return
    grouped = all(NumberFormat(".", ",").parse(",".join(cells)) is not None for _, cells in layout.body)
    whole = all(cell.strip().isdigit() for _, cells in layout.body for cell in cells)
    for line, cells in layout.body:
        padded = any(len(cell) > 1 and cell.startswith("0") for cell in cells[1::2])
        if grouped or (whole and padded):
            raise ValueError(
                f"{sample.path.name}, line {line}: in {','.join(cells)!r} a comma may separate cells or be a mark "
                "in numbers; use `--delimiter ,`, `--decimal ,` or `--thousands ,`."
            )


def _check_groups(sample: _Sample, single: _Layout) -> None:
    """Raise a ValueError if spaces may be thousands marks: ``1 234``."""
    for line, (cell,) in single.body:
        if " " in cell.strip() and _formats_of(cell):
            raise ValueError(
                f"{sample.path.name}, line {line}: in {cell!r} a space may separate cells or be a thousands "
                "mark; use `--delimiter space` or `--thousands ' '`."
            )


def _check_delimiter(sample: _Sample, delimiter: str, decimal: str | None, thousands: str | None) -> None:
    """Raise a ValueError if a delimiter that the user has set cannot be right."""
    if delimiter == decimal and delimiter in sample.text and not sample.allows(delimiter):
        raise ValueError(
            f"--delimiter {delimiter} is also the decimal mark, and no cell of {sample.path.name} with it is in "
            "double quotes; set only one of them."
        )
    if delimiter in sample.text:
        return
    for mark in _DELIMITERS:
        if mark in sample.text and mark not in (decimal, thousands):
            layout = sample.layout(mark)
            if layout.error is None and layout.width > 1:
                raise ValueError(
                    f"--delimiter {delimiter!r} does not occur in {sample.path.name}, but {mark!r} does; use "
                    f"--delimiter {mark!r}, or leave the option out."
                )


# Numbers

_DIGITS = str.maketrans("0123456789", "1111111111")


def _formats_of(cell: str) -> frozenset[NumberFormat]:
    """Return all number formats in which a cell is a number; none for text and missing values."""
    cell = cell.strip()
    if len(cell) > _MAX_NUMBER_LENGTH or is_missing_text(cell):
        return frozenset()
    shape = cell.translate(_DIGITS)
    unsigned = cell.lstrip("+-")
    if unsigned.startswith("0") and len(unsigned) > 1:  # the first group of thousands does not start with 0
        return _formats_of_shape(shape, True)
    return _formats_of_shape(shape, False)


@lru_cache(maxsize=1 << 14)
def _formats_of_shape(shape: str, zero: bool) -> frozenset[NumberFormat]:
    return frozenset(
        numbers
        for numbers in _FORMATS
        if numbers.parse(shape) is not None
        and not (zero and numbers.thousands is not None and numbers.thousands in shape)
    )


def _only(cell: str, decimal: str) -> bool:
    """Return True if a cell is a number in formats with this decimal mark only."""
    formats = _formats_of(cell)
    return bool(formats) and all(numbers.decimal == decimal for numbers in formats)


def _common(cells: Iterable[str]) -> frozenset[NumberFormat] | None:
    """Return the formats in which all numbers of a column are written; None if most cells are not numbers."""
    common: frozenset[NumberFormat] = frozenset(_FORMATS)
    n_cells = n_numbers = 0
    for cell in cells:
        if is_missing_text(cell):
            continue
        n_cells += 1
        formats = _formats_of(cell)
        if formats:
            n_numbers += 1
            common &= formats
    return common if 2 * n_numbers > n_cells else None


def _columns(body: list[Record]) -> list[frozenset[NumberFormat] | None]:
    """Return the formats of each column, without a line that may be a header."""
    rows = [cells for _, cells in (body[1:] or body)]
    rows = rows[: max(20, _SAMPLE_CELLS // max(len(rows[0]), 1))]
    return [_common(cells) for cells in zip(*rows, strict=True)]


def _find_numbers(body: list[Record], decimal: str | None, thousands: str | None) -> tuple[NumberFormat, bool]:
    """Return the number format, and True if the decimal mark is certain."""
    if decimal is not None:
        return NumberFormat(decimal, thousands), True
    if thousands is not None:
        return NumberFormat("," if thousands == "." else ".", thousands), True
    columns = [formats for formats in _columns(body) if formats]
    points = any(all(numbers.decimal == "." for numbers in formats) for formats in columns)
    commas = any(all(numbers.decimal == "," for numbers in formats) for formats in columns)
    return (_COMMA if commas and not points else _PLAIN), commas or points


def _remark_on_commas(path: Path, body: list[Record]) -> list[str]:
    """Return the remark about a decimal comma that was detected, with an example."""
    for line, cells in body:
        for cell in cells:
            value = _COMMA.parse(cell)
            if value is not None and _only(cell, ","):
                example = f"{cell!r} in line {line} is {value:g}"
                return [f"{path.name}: ',' is the decimal mark, so {example}; if not, use `--decimal .`"]
    return []


def _find_rejections(
    path: Path, body: list[Record], delimiter: str, numbers: NumberFormat, certain: bool
) -> dict[int, str]:
    """Return the messages about columns with numbers in another format, by position."""
    rejections = {}
    columns = _columns(body)
    shared = frozenset(_FORMATS).intersection(*(formats for formats in columns if formats))
    rows = body[1:] or body
    for k, formats in enumerate(columns):
        if formats is None:
            continue
        foreign = next(
            (
                (line, cells[k])
                for line, cells in rows
                if _formats_of(cells[k]) and numbers.parse(cells[k]) is None
            ),
            None,
        )
        if foreign is not None:
            rejections[k] = _foreign(path, *foreign, formats & shared, numbers)
        elif not certain:
            column = ((line, cells[k]) for line, cells in rows)
            if (place := _ambiguous(column, numbers, delimiter)) is not None:
                rejections[k] = _ambiguity(path, *place)
    return rejections


def _foreign(path: Path, line: int, cell: str, formats: frozenset[NumberFormat], numbers: NumberFormat) -> str:
    """Return the message about a number in another format than that of the file."""
    location = (
        f"{path.name}, line {line}: {_escaped(cell)} in column {{column}} is not a number with the decimal mark "
    )
    marks = f"{numbers.decimal!r}" + (
        f" and the thousands mark {numbers.thousands!r}" if numbers.thousands else ""
    )
    if not formats:
        return (
            f"{location}{marks}, and other cells have another number format. Write all numbers of the file in "
            "one format, or leave the column out with --without."
        )
    return (
        f"{location}{marks}. {_escaped_braces(_advice(cell, formats))} Otherwise exclude the column with "
        "--without."
    )


def _ambiguity(path: Path, line: int, cell: str) -> str:
    formats = [_PLAIN, NumberFormat(",", ".")]
    return (
        f"{path.name}, line {line}: {_escaped(cell)} in column {{column}} is ambiguous: the point may be a "
        f"decimal mark or a thousands mark. {_escaped_braces(_advice(cell, formats))}"
    )


def _escaped(cell: str) -> str:
    return _escaped_braces(repr(cell))


def _escaped_braces(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _ambiguous(column: Iterable[tuple[int, str]], numbers: NumberFormat, delimiter: str) -> tuple[int, str] | None:
    """Return the line and the text of a cell such as "1.091" whose point may be a thousands mark, or None.

    All numbers of the column with a point have groups of 3 digits. Besides, there are whole numbers from 100 to
    999 and none above, as in 879, 1.091, 7.164; or the delimiter is ";", as where "," is the decimal mark.
    """
    if numbers != _PLAIN:
        return None
    grouped, place, hundreds = NumberFormat(",", "."), None, False
    for line, cell in column:
        formats = _formats_of(cell)
        if not formats:
            continue
        digits = cell.strip().lstrip("+-")
        if ("." in cell and grouped not in formats) or ("." not in cell and len(digits) > _GROUPED_DIGITS):
            return None
        if "." in cell:
            place = (line, cell) if place is None else place
        else:
            hundreds = hundreds or (len(digits) == _GROUPED_DIGITS and digits[0] != "0")
    return place if hundreds or delimiter == ";" else None


def _advice(cell: str, formats: Iterable[NumberFormat]) -> str:
    """Return the options for each number that a cell may denote."""
    choices: dict[float, NumberFormat] = {}
    for numbers in sorted(formats, key=_FORMATS.index):
        value = numbers.parse(cell)
        if value is not None:
            choices.setdefault(value, numbers)
    return " ".join(f"If it is {value:.15g}, use `{_options(numbers)}`." for value, numbers in choices.items())


def _options(numbers: NumberFormat) -> str:
    options = f"--decimal {numbers.decimal}"
    if numbers.thousands is None:
        return options
    mark = numbers.thousands
    quoted = {" ": "' '", "'": '"\'"', "\u00a0": r"$'\u00a0'", "\u202f": r"$'\u202f'"}.get(mark, mark)
    return f"{options} --thousands {quoted}"
