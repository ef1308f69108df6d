"""The content of a document after reading: lines of text and tables, each with its place."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

MOST_LINES, MOST_CELLS, MOST_COLUMNS, LONGEST = 20_000, 100_000, 100, 400
"""Limits of a document: its lines, its cells, columns of a table, and characters of a cell."""

MOST_CHARACTERS = 1_000_000
"""Most characters of a document that are read, in lines and cells."""


class Line(NamedTuple):
    """A line of text; an empty one is between paragraphs.

    Attributes
    ----------
    place : str
        Its place, as it follows the name of the file: ``:12``, ``, page 2, line 7``.
    text : str
        The text, with single blanks between its words.
    """

    place: str
    text: str


class Row(NamedTuple):
    """A row of a table, with its place and the text of its cells; a cell that spans columns is repeated."""

    place: str
    cells: tuple[str, ...]


class Grid(NamedTuple):
    """A table.

    Attributes
    ----------
    rows : tuple of Row
        Its rows, including the header, all with the same number of cells.
    caption : str
        For objects in JSON, the keys that lead to them, separated by `` / ``.
    """

    rows: tuple[Row, ...]
    caption: str = ""


class Document(NamedTuple):
    """A document that was handed in.

    Attributes
    ----------
    blocks : tuple of Line or Grid
        Its text, in reading order.
    fault : str
        Why it was not read, or which part of it; a sentence without a full stop. Empty if all was read.
    """

    blocks: tuple[Line | Grid, ...]
    fault: str = ""


class Unread(Exception):  # noqa: N818 - a reason, which becomes a fault
    """A document, or the rest of one, cannot be read; the message completes "FILE was not read because …"."""


class Full(Exception):  # noqa: N818 - what was read counts
    """The limit of a document was reached."""


class Blocks:
    """Collects the lines and tables of a document up to the limits, and finds the tables among its lines.

    Attributes
    ----------
    taken : list of Line or Grid
        The lines and tables before the last call of `grid` or `end`.
    apart : bool
        Whether each line is a separate paragraph.
    """

    def __init__(self) -> None:
        self.taken: list[Line | Grid] = []
        self.apart = False
        self._waiting: list[Line] = []
        self._lines = self._cells = self._characters = 0

    def line(self, place: str, text: str) -> None:
        """Add a line, as written."""
        self._waiting.append(Line(place, text))

    def grid(self, rows: Sequence[Row], caption: str = "") -> None:
        """Add a table; its rows are padded to the same width."""
        self.end()
        self._add_grid(rows, caption)

    def end(self) -> None:
        """Take the lines before a table, or before the end of the document."""
        lines, self._waiting = self._waiting, []
        for block in _with_tables(lines):
            if isinstance(block, Line):
                self._add_line(block)
                if self.apart:
                    self._add_line(Line("", ""))
            else:
                self._add_grid(block)

    def _add_line(self, line: Line) -> None:
        text = " ".join(_DATA.sub(" ", line.text).split())
        if text or (self.taken and self.taken[-1][1:] != ("",)):
            self._lines += 1
            if self._lines > MOST_LINES:
                raise Full(f"only its first {MOST_LINES:,} lines were read")
            self.taken.append(Line(line.place, text[: MOST_CHARACTERS - self._characters]))
            self._count(len(text))

    def _add_grid(self, rows: Sequence[Row], caption: str = "") -> None:
        width = min(max((len(row.cells) for row in rows), default=0), MOST_COLUMNS)
        taken = rows[: (MOST_CELLS - self._cells) // max(width, 1)]
        self._cells += len(taken) * width
        if taken and width:
            filled = ((row.place, [*row.cells[:width], *[""] * (width - len(row.cells))]) for row in taken)
            padded = tuple(Row(place, tuple(map(_cell, cells))) for place, cells in filled)
            self.taken.append(Grid(padded, _cell(caption)))
            self._count(sum(len(cell) for row in padded for cell in row.cells))
        if len(taken) < len(rows):
            raise Full(f"only the first {MOST_CELLS:,} cells of its tables were read")

    def _count(self, characters: int) -> None:
        self._characters += characters
        if self._characters > MOST_CHARACTERS:
            raise Full(f"only its first {MOST_CHARACTERS:,} characters were read")


_DATA = re.compile(r"[!-~]{401,}")
"""Such as a picture within a page; Chinese has no blanks either."""


def _cell(text: str) -> str:
    return " ".join(text.split())[:LONGEST]


class Page:
    """Takes a marked-up document: text, and tags that begin or end a table, row, cell or block of text."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._words: list[str] = []
        self._place = ""
        self._columns = 0  # of the open cell; 0 if none is open
        self._row: list[str] = []
        self._rows: list[Row] = []
        self._row_place = ""
        self._cells = 0

    def add(self, text: str, place: str) -> None:
        """Add text, which begins at a place."""
        if text.strip():
            self._place = self._place or place
            self._row_place = self._row_place or (place if self._columns else "")
        if text.strip() or self._words:
            self._words.append(text)

    def tag(self, kind: str) -> None:
        """End what a tag cannot be within: ``table``, ``row``, ``cell`` or ``block``; other tags are within text."""
        if kind == "block" and self._columns:
            self._words.append(" ")
        elif kind:
            self._end_text()
        if kind in ("row", "table"):
            self._cells += len(self._row)
            if any(map(str.strip, self._row)):
                self._rows.append(Row(self._row_place, tuple(self._row)))
            self._row, self._row_place = [], ""
            if kind == "table" or self._cells > MOST_CELLS:
                # A row lacks the cells that reach into it from rows above. These are its names, which come first.
                width = max((len(row.cells) for row in self._rows), default=0)
                self._blocks.grid([Row(place, ("",) * (width - len(cells)) + cells) for place, cells in self._rows])
                self._rows = []

    def open_cell(self, columns: str = "") -> None:
        """Begin a cell."""
        self._columns = 1
        self.span(columns)

    def span(self, columns: str) -> None:
        """Let the open cell span several columns."""
        if self._columns and re.fullmatch("[1-9][0-9]{0,3}", columns):
            self._columns = int(columns)

    def _end_text(self) -> None:
        text, place = "".join(self._words), self._place
        self._words, self._place = [], ""
        if self._columns:
            self._row += [text] * min(self._columns, MOST_COLUMNS - len(self._row))
            self._columns = 0
        elif text.strip():
            self._blocks.line(place, text)


# --- tables among lines ---

_NUMBER = r"[+\-\u2212]?(?:\d{1,20}(?:[.,]\d{0,20})?|[.,]\d{1,20})(?:[eE][+-]?\d{1,4})?"
_MARKS = r"[*_`$†‡\u00b9\u00b2\u00b3\u2070-\u209c\u02b0-\u02b8\u1d43-\u1dbf\s]*"  # also small letters and digits above
_NUMERIC = re.compile(rf"{_MARKS}{_NUMBER}\s?%?{_MARKS}(?:(?:±|\+/-|\\pm)\s*{_NUMBER}.*|\(.*\){_MARKS})?", re.ASCII)
_RULE = re.compile(r"[\s|+:=\-_\u2500-\u257f]+")
"""A drawn line, such as that below the header of a Markdown table."""

_DEVIATION = re.compile(r"\s?(±|\+/-)\s?")
_GAP = re.compile(r"\t|\s{2,}")
_DRAWN = ("|", "\u2502", "\u2503")
_MOST_WORDS = 4
"""Most words of a column's name, in a line that may also be prose with commas."""


def _is_numeric(cell: str) -> bool:
    """Tell whether a cell holds a number, with or without a deviation after it."""
    return len(cell) < LONGEST and _NUMERIC.fullmatch(cell) is not None


def _of_pipes(line: str) -> list[str]:
    text = line.strip().replace("\u2502", "|").replace("\u2503", "|")
    return [cell.strip() for cell in text.removeprefix("|").removesuffix("|").split("|")] if "|" in text else []


def _separated(separator: str) -> Callable[[str], list[str]]:
    def split(line: str) -> list[str]:
        try:
            return next(csv.reader([line], delimiter=separator, skipinitialspace=True)) if separator in line else []
        except csv.Error:
            return []

    return split


def _of_gaps(line: str) -> list[str]:
    return _GAP.split(line.strip())


def _of_words(line: str) -> list[str]:
    """Split a line between words: column names, or a name and at least two numbers."""
    words = _DEVIATION.sub(r"\1", line).split()
    numbers = next((at for at, word in enumerate(reversed(words)) if not _is_numeric(word)), len(words))
    if not numbers:
        return words if len(words) > 2 else []
    return [" ".join(words[:-numbers]), *words[-numbers:]] if 1 < numbers < len(words) else []


_WAYS = (_of_pipes, *map(_separated, "\t;,"), _of_gaps, _of_words)
"""Ways of splitting a line into cells, the most reliable first."""


def _with_tables(lines: Sequence[Line]) -> Iterator[Line | list[Row]]:
    """Yield lines, and the tables among them: rows below a line with column names."""
    at = 0
    while at < len(lines):
        tables = (_table(lines, at, way) for way in _WAYS)
        rows, at = next((table for table in tables if table[0]), ([], at + 1))
        yield rows or lines[at - 1]


def _table(lines: Sequence[Line], at: int, way: Callable[[str], list[str]]) -> tuple[list[Row], int]:
    """Return the rows of the table that begins at a line, and where it ends; no rows if there is no table."""
    place, first = lines[at]
    drawn = way is _of_pipes and first.lstrip().startswith(_DRAWN)
    names = _header(first, way, drawn=drawn)
    rows, end = [Row(place, tuple(names))], at + 1
    for number in range(end, len(lines) if names else 0):
        place, line = lines[number]
        if not line.strip():
            if len(rows) == 1:
                break
            continue  # lines between groups of rows
        if len(rows) > 1 and _of_trec_eval(line) and not _of_trec_eval(lines[number - 1].text):
            break
        if not _RULE.fullmatch(line):
            cells = way(line)
            if way is _of_gaps and len(rows) == 1 and len(cells) == len(names) + 1:
                names = ["", *names]  # pandas leaves the name of the index out
                rows = [Row(lines[at].place, tuple(names))]
            if len(cells) != len(names) or not (drawn or any(map(_is_numeric, cells))):
                break
            rows.append(Row(place, tuple(cells)))
        end = number + 1
    return (rows, end) if len(rows) > 1 else ([], at + 1)


def _of_trec_eval(line: str) -> bool:
    """Tell whether a line is trec_eval's output for all queries."""
    words = line.split(None, 3)
    return len(words) == 3 and words[1] == "all"


def _header(line: str, way: Callable[[str], list[str]], *, drawn: bool) -> list[str]:
    """Return the column names in a line; empty if it is something else."""
    if len(line) > 10 * LONGEST or _RULE.fullmatch(line) or _of_trec_eval(line):
        return []
    names = way(line)
    least = 1 if drawn or (way is _of_gaps and line[:1].isspace()) else 2
    if not least <= len(names) <= MOST_COLUMNS:
        return []
    sure = all(len(name.split()) <= _MOST_WORDS and "=" not in name and not name.endswith(":") for name in names)
    return names if drawn or (sure and all(names[1:]) and not any(map(_is_numeric, names))) else []
