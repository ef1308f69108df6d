"""The queries of some rows of a run as ranked lists, with the places of their fields, for checks of queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from treceval_py._types import BoolArray
from treceval_py.checking.findings import Collector
from treceval_py.checking.rows import QueryLines
from treceval_py.data.ids import beginning_of, encode, quoted
from treceval_py.diagnosis.columns import Kind
from treceval_py.diagnosis.signs import Lists

QID = 0
"""Position of the query on a line of any kind."""


class Place(NamedTuple):
    """A place in the file, and what was seen there, in words.

    Attributes
    ----------
    line, column : int
        Line of the file and character of the line, from 1.
    words : str
        What was seen there.
    """

    line: int
    column: int
    words: str


class PlacedLists(Lists):
    """Rows in which the rows of each query are together, as ranked lists with the places of their fields.

    Parameters
    ----------
    rows : QueryLines
        The rows.
    kind : Kind
        Kind of the file.
    """

    def __init__(self, rows: QueryLines, kind: Kind) -> None:
        columns = rows.docids, rows.scores, rows.ranks
        super().__init__(rows.qids, rows.starts, *columns, ordered=rows.ordered, unranked=rows.unranked)
        self.rows = rows
        self.kind = kind

    def line(self, row: int) -> int:
        """Return the line of the file of a row."""
        return int(self.rows.lines[row])

    def column(self, row: int, field: int | None) -> int:
        """Return the character of its line at which a field of a row begins; 0 without a field."""
        return 0 if field is None else self.rows.column(row, field)

    def place(self, row: int, field: int | None, words: str) -> Place:
        """Return words about a field of a row, with its place."""
        return Place(self.line(row), self.column(row, field), words)

    def written(self, row: int, field: int | None) -> str:
        """Return a field of a row as it is in the file, shortened for a message; empty without a field."""
        return "" if field is None else beginning_of(self.rows.line_text(row).split()[field])

    def document(self, row: int) -> str:
        """Return the document of a row in quotes."""
        return quoted(encode(self.docids[row]))

    def name(self, number: int) -> str:
        """Return a query in quotes."""
        return quoted(self.rows.qids[number])


class Tally:
    """Number of queries for which something is true, and the first place where that is seen."""

    def __init__(self) -> None:
        self.count = 0
        self.first = Place(0, 0, "")
        self._begins = 0  # the line on which the first of these queries begins

    def take(self, lists: PlacedLists, queries: BoolArray, place: Callable[[int], Place]) -> None:
        """Count the marked queries, and look at the first one if it comes before those seen so far."""
        numbers = np.flatnonzero(queries)
        self.count += len(numbers)
        if len(numbers):
            number = int(numbers[0])
            begins = lists.line(int(lists.offsets[number]))
            if not self._begins or begins < self._begins:
                self._begins, self.first = begins, place(number)

    def tell(self, collector: Collector, code: str, problem: str, todo: str) -> None:
        """Add a finding at the first place that was seen."""
        collector.add(code, problem, todo, line=self.first.line, column=self.first.column)
