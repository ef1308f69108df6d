"""The content of a document after reading: lines of text and tables, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

MOST_LINES, MOST_CELLS, MOST_COLUMNS, LONGEST = 20_000, 100_000, 100, 400
"""Limits of a document: its lines, its cells, columns of a table, and characters of a line."""

MOST_CHARACTERS = 1_000_000
"""Most characters of a document that are read, in lines and cells."""


class Line(NamedTuple):
    """A line of text.

    Attributes
    ----------
    place : str
        Its place, as it follows the name of the file: ``:12``, ``, page 2, line 7``.
    text : str
        The text, without surrounding white space; empty between paragraphs.
    """

    place: str
    text: str


class Row(NamedTuple):
    """A row of a table.

    Attributes
    ----------
    place : str
        Its place, as it follows the name of the file: ``:12``, ``, table 1, row 2``.
    cells : tuple of str
        The text of its cells, each on one line. A cell that spans several rows or columns is repeated.
    """

    place: str
    cells: tuple[str, ...]


class Grid(NamedTuple):
    """A table.

    Attributes
    ----------
    rows : tuple of Row
        Its rows, including the header, all with the same number of cells.
    caption : str
        Its title; for objects in JSON, the keys that lead to them, separated by `` / ``.
    """

    rows: tuple[Row, ...]
    caption: str = ""


class Document(NamedTuple):
    """A document that was handed in.

    Attributes
    ----------
    kind : str
        One of `reading.KINDS`.
    blocks : tuple of Line or Grid
        Its text, in reading order.
    fault : str
        Why it was not read, or which part of it; a sentence without a full stop. Empty if all was read.
    """

    kind: str
    blocks: tuple[Line | Grid, ...]
    fault: str = ""


class Unread(Exception):  # noqa: N818 - a reason, which becomes a fault
    """A document, or the rest of one, cannot be read; the message completes "FILE was not read because …"."""


class Full(Exception):  # noqa: N818 - what was read counts
    """The limit of a document was reached."""


class Blocks:
    """Collects the lines and tables of a document, up to the limits."""

    def __init__(self) -> None:
        self.found: list[Line | Grid] = []
        self._lines = 0
        self._cells = 0
        self._characters = 0

    def line(self, place: str, text: str) -> None:
        """Add a line; a long line is split, between sentences if possible."""
        for part in _parts(" ".join(text.split())):
            if not part and (not self.found or self.found[-1][1:] == ("",)):
                continue
            self._lines += 1
            if self._lines > MOST_LINES:
                raise Full(f"only its first {MOST_LINES:,} lines were read")
            self.found.append(Line(place, part))
            self._count(len(part))

    def grid(self, rows: Sequence[Row], caption: str = "") -> None:
        """Add a table; its rows are padded to the same width."""
        width = min(max((len(row.cells) for row in rows), default=0), MOST_COLUMNS)
        taken = rows[: (MOST_CELLS - self._cells) // max(width, 1)]
        self._cells += len(taken) * width
        if taken and width:
            filled = tuple(Row(row.place, _filled(row.cells, width)) for row in taken)
            self.found.append(Grid(filled, _cell(caption)))
            self._count(sum(len(cell) for row in filled for cell in row.cells))
        if len(taken) < len(rows):
            raise Full(f"only the first {MOST_CELLS:,} cells of its tables were read")

    def _count(self, characters: int) -> None:
        self._characters += characters
        if self._characters > MOST_CHARACTERS:
            raise Full(f"only its first {MOST_CHARACTERS:,} characters were read")


def _filled(cells: Sequence[str], width: int) -> tuple[str, ...]:
    return (*map(_cell, cells[:width]), *[""] * (width - len(cells)))


def _cell(text: str) -> str:
    return " ".join(text.split())[:LONGEST]


_SENTENCE = re.compile(r"(?<=[.!?;:,])\s|(?<=[。！？；，])")
"""Between sentences, or parts of them."""


def _parts(text: str) -> Iterable[str]:
    """Split a long line between sentences, or else between words."""
    at = 0
    while len(text) - at > LONGEST:
        piece = text[at : at + LONGEST]
        ends = [sentence.end() for sentence in _SENTENCE.finditer(piece)]
        whole = [end for end in ends if piece[end - 2 : end - 1] in ".!?" or piece[end - 1] in "。！？"]
        end = max(whole, default=0) or max(ends, default=0) or piece.rfind(" ") + 1
        if not end:  # no words: data
            return
        yield piece[:end].strip()
        at += end
    yield text[at:].strip()
