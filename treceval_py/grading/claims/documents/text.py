"""Plain text, Markdown, and tables of values separated by commas, semicolons or tabs."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from treceval_py.errors import InputError
from treceval_py.grading.claims.documents.document import LONGEST, MOST_COLUMNS, Blocks, Row, Unread

_BYTE_ORDERS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


def decoded(data: bytes) -> str:
    """Return the text of a file: in UTF-8 or UTF-16, otherwise in Windows' encoding for Western Europe."""
    for mark, encoding in _BYTE_ORDERS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        # A file that was cut off may end within a letter.
        if error.start > len(data) - 4 and error.reason == "unexpected end of data":
            return data[: error.start].decode("utf-8")
        return data.decode("cp1252", "replace")


def lines_of(text: str) -> list[str]:
    """Split a text into lines, each with its newline, only at the line ends of a file."""
    return list(io.StringIO(text, newline=None))


def read_text(text: str, blocks: Blocks) -> None:
    """Read lines, and the tables among them."""
    read_lines(((f":{number}", line) for number, line in enumerate(lines_of(text), 1)), blocks)


# --- tables among lines ---

Placed = tuple[str, str]
"""A place and its line."""

_SEPARATORS = "\t;,|"
_NUMBER = r"[+\-\u2212]?(?:\d{1,20}(?:[.,]\d{0,20})?|[.,]\d{1,20})(?:[eE][+-]?\d{1,4})?"
_MARKS = r"[*_`$†‡\u00b9\u00b2\u00b3\u2070-\u209c\u02b0-\u02b8\u1d43-\u1dbf\s]*"  # also small letters and digits above
_NUMERIC = re.compile(rf"{_MARKS}{_NUMBER}\s?%?{_MARKS}(?:(?:±|\+/-|\\pm)\s*{_NUMBER}.*|\(.*\){_MARKS})?", re.ASCII)
_RULE = re.compile(r"[\s|+:=\-_\u2500-\u257f]+")
"""A drawn line, such as that below the header of a Markdown table."""

_DEVIATION = re.compile(r"\s?(±|\+/-)\s?")
_GAP = re.compile(r"\t|\s{2,}")
_MOST_WORDS = 4
"""Most words of a column's name, in a line that may also be prose with commas."""


def is_numeric(cell: str) -> bool:
    """Tell whether a cell holds a number, with or without a deviation after it."""
    return len(cell) < LONGEST and _NUMERIC.fullmatch(cell) is not None


def _of_pipes(line: str) -> list[str]:
    text = line.strip().replace("\u2502", "|").replace("\u2503", "|")
    return [cell.strip() for cell in text.removeprefix("|").removesuffix("|").split("|")] if "|" in text else []


def _separated(separator: str) -> Callable[[str], list[str]]:
    def split(line: str) -> list[str]:
        if separator not in line:
            return []
        try:
            return next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])
        except csv.Error:
            return []

    return split


def _of_gaps(line: str) -> list[str]:
    return _GAP.split(line.strip())


def _of_words(line: str) -> list[str]:
    """Split a line between words: column names, or a name and at least two numbers."""
    words = _DEVIATION.sub(r"\1", line).split()
    numbers = next((at for at, word in enumerate(reversed(words)) if not is_numeric(word)), len(words))
    if not numbers:
        return words if len(words) > 2 else []
    return [" ".join(words[:-numbers]), *words[-numbers:]] if 1 < numbers < len(words) else []


_WAYS = (_of_pipes, *map(_separated, "\t;,"), _of_gaps, _of_words)
"""Ways of splitting a line into cells, the most reliable first."""


def read_lines(lines: Iterable[Placed], blocks: Blocks, *, apart: bool = False) -> None:
    """Read lines; rows of a table, below a line with column names, become a table.

    Parameters
    ----------
    lines : iterable of (str, str)
        Pairs of a place and its line.
    blocks : Blocks
        Takes lines and tables.
    apart : bool
        Whether each line is a separate paragraph.
    """
    every = list(lines)
    at = 0
    while at < len(every):
        rows, end = _table(every, at)
        if rows:
            blocks.grid(rows)
        else:
            blocks.line(*every[at])
            if apart:
                blocks.line("", "")
        at = end


def _table(lines: Sequence[Placed], at: int) -> tuple[list[Row], int]:
    """Return the rows of the table that begins at a line, and where it ends; no rows if there is no table."""
    first = lines[at][1]
    for way in _WAYS:
        names = _header(first, way)
        if not names:
            continue
        drawn = way is _of_pipes and first.lstrip().startswith(("|", "\u2502", "\u2503"))
        rows, end = [Row(lines[at][0], tuple(names))], at + 1
        while end < len(lines) and lines[end][1].strip():
            place, line = lines[end]
            if len(rows) > 1 and _of_trec_eval(line) and not _of_trec_eval(lines[end - 1][1]):
                break
            if not _RULE.fullmatch(line):
                cells = way(line)
                if way is _of_gaps and len(rows) == 1 and len(cells) == len(names) + 1:
                    names = ["", *names]  # pandas leaves the name of the index out
                    rows = [Row(lines[at][0], tuple(names))]
                if len(cells) != len(names) or not (drawn or any(map(is_numeric, cells))):
                    break
                rows.append(Row(place, tuple(cells)))
            end += 1
        if len(rows) > 1:
            return rows, end
    return [], at + 1


def _of_trec_eval(line: str) -> bool:
    """Tell whether a line is trec_eval's output for all queries."""
    words = line.split(None, 3)
    return len(words) == 3 and words[1] == "all"


def _header(line: str, way: Callable[[str], list[str]]) -> list[str]:
    """Return the column names in a line; empty if it is something else."""
    if len(line) > 10 * LONGEST or _RULE.fullmatch(line):
        return []
    names = way(line)
    drawn = way is _of_pipes and line.lstrip().startswith(("|", "\u2502", "\u2503"))
    least = 1 if drawn or (way is _of_gaps and line[:1].isspace()) else 2
    if not least <= len(names) <= MOST_COLUMNS or _of_trec_eval(line):
        return []
    if drawn:
        return names
    sure = all(len(name.split()) <= _MOST_WORDS and "=" not in name and not name.endswith(":") for name in names)
    return names if sure and all(names[1:]) and not any(map(is_numeric, names)) else []


# --- tables in files of their own ---


def read_delimited(text: str, blocks: Blocks) -> None:
    """Read a table of separated values; several tables in a file are separated by blank lines."""
    lines = lines_of(text)
    first = 1 if lines and SEPARATED.fullmatch(lines[0]) else 0
    beginning = lines[first : first + 100]
    separator = max(_SEPARATORS, key=lambda mark: sum(mark in line for line in beginning))
    if not any(separator in line for line in beginning):
        read_text(text, blocks)
        return
    rows: list[Row] = []
    for line, cells in records(lines, first, separator):
        place = f":{line}"
        if any("=" in cell for cell in cells) or len(cells) < 2:
            blocks.grid(rows)
            rows = []
            blocks.line(place, f"{separator} ".join(cells))
        else:
            rows.append(Row(place, tuple(cells)))
    blocks.grid(rows)


SEPARATED = re.compile(r'(?i)"?sep=.?"?\s*')
"""The line in which Excel declares the separator."""


def content_of(file: str) -> bytes:
    """Return the content of a teacher's table."""
    try:
        with open(file, "rb") as opened:
            return opened.read()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=file) from None


def records(lines: Sequence[str], first: int, separator: str, file: str = "") -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a table, each with the line of the file on which it begins.

    Parameters
    ----------
    lines : sequence of str
        The lines of the file.
    first : int
        Number of lines to skip before the table.
    separator : str
        The character between cells.
    file : str
        The file, if it is a teacher's: then it is read strictly, and empty rows are left out.

    Raises
    ------
    InputError, Unread
        A row cannot be read: InputError for a teacher's file, Unread for a document.
    """
    reader = csv.reader(lines[first:], delimiter=separator, skipinitialspace=True, strict=bool(file))
    while True:
        line = first + reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            if not file:
                raise Unread(f"it is not a table: line {line}: {error}") from None
            fault, todo = (
                f"this is not a row of a table: {error}",
                "Put quotes around a field, and double those within it.",
            )
            raise InputError(fault, todo, file=file, line=line) from None
        if cells is None:
            return
        if not file or any(cell.strip() for cell in cells):
            yield line, cells
