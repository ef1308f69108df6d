"""The queries of some rows of a run as ranked lists, with the places of their fields, for checks of queries."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from treceval_py._types import BoolArray, FloatArray, IntArray
from treceval_py.checking.findings import Collector
from treceval_py.checking.rows import QueryLines, column_of
from treceval_py.data.ids import beginning_of, quoted
from treceval_py.diagnosis.columns import Kind

QID = 0
"""Position of the query on a line of any kind."""


class Seen(NamedTuple):
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


class Lists:
    """Rows in which the rows of each query are together, as ranked lists; Q queries, D documents.

    Parameters
    ----------
    rows : QueryLines
        The rows.
    kind : Kind
        Kind of the file.

    Attributes
    ----------
    qids : list of bytes, length Q
        The queries.
    offsets : (Q + 1,) int array
        Where the documents of each query begin, then D.
    sizes : (Q,) int array
        Number of documents of each query.
    query : (D,) int array
        Number of each document's query.
    within : (D - 1,) bool array
        Whether each document and the next one belong to the same query.
    scores, ranks : (D,) arrays or None
        Scores and ranks of the rows.
    ranked : (Q,) bool array
        Whether all ranks of each query are whole numbers.
    """

    def __init__(self, rows: QueryLines, kind: Kind) -> None:
        self.rows = rows
        self.kind = kind
        self.qids = rows.qids
        self.offsets = rows.starts
        self.sizes: IntArray = np.diff(self.offsets)
        self.query: IntArray = np.repeat(np.arange(len(self.sizes)), self.sizes)
        self.within: BoolArray = self.query[1:] == self.query[:-1]
        self.scores = rows.scores
        self.ranks = rows.ranks
        self.ranked: BoolArray = np.full(len(self.sizes), rows.ranks is not None)
        if rows.unranked is not None:
            self.ranked[self.query[rows.unranked]] = False

    @cached_property
    def by_score(self) -> IntArray:
        """The rows by query and descending score, equal scores in file order."""
        if self.scores is None:
            raise AssertionError("a kind of file without scores cannot be ordered by score")
        if (self.within & (self.scores[1:] > self.scores[:-1])).any():
            return np.lexsort((-self.scores, self.query))
        return np.arange(len(self.query))

    @cached_property
    def by_rank(self) -> IntArray:
        """The rows by query and rank, equal ranks by descending score and then in file order."""
        if self.ranks is None:
            raise AssertionError("a kind of file without ranks cannot be ordered by rank")
        if not (self.within & (self.ranks[1:] <= self.ranks[:-1])).any():
            return np.arange(len(self.query))
        keys = (self.ranks, self.query) if self.scores is None else (-self.scores, self.ranks, self.query)
        return np.lexsort(keys)

    @cached_property
    def same_rank(self) -> BoolArray:
        """Whether ranks cannot order a query, because all are the same or some are not whole numbers; (Q,)."""
        if self.ranks is None:
            return np.zeros(len(self.sizes), dtype=bool)
        return self._same(self.ranks[self.by_rank]) | ~self.ranked

    @cached_property
    def same_score(self) -> BoolArray:
        """Whether all documents of a query, two or more, have the same score; (Q,)."""
        if self.scores is None:
            return np.zeros(len(self.sizes), dtype=bool)
        return self._same(self.scores[self.by_score])

    def _same(self, ordered: FloatArray | IntArray) -> BoolArray:
        same: BoolArray = (ordered[self.offsets[:-1]] == ordered[self.offsets[1:] - 1]) & (self.sizes > 1)
        return same

    def line(self, row: int) -> int:
        """Return the line of the file of a row."""
        return int(self.rows.lines[row])

    def column(self, row: int, field: int | None) -> int:
        """Return the character of its line at which a field of a row begins; 0 without a field."""
        return 0 if field is None else column_of(self._text(row), field)

    def seen(self, row: int, field: int | None, words: str) -> Seen:
        """Return words about a field of a row, with its place."""
        return Seen(self.line(row), self.column(row, field), words)

    def written(self, row: int, field: int) -> str:
        """Return a field of a row as it is in the file, shortened for a message."""
        return beginning_of(self._text(row).split()[field])

    def document(self, row: int) -> str:
        """Return the document of a row in quotes."""
        cuts = self.rows.docids.offsets
        return quoted(self.rows.docids.buffer[int(cuts[row]) : int(cuts[row + 1])])

    def name(self, number: int) -> str:
        """Return a query in quotes."""
        return quoted(self.qids[number])

    def _text(self, row: int) -> bytes:
        # `QueryLines.line_text` searches for the ends of lines each time, which is slow for thousands of findings.
        at = int(self.rows.at[row])
        return self.rows.text[int(self._line_starts[at]) : int(self._line_starts[at + 1]) - 1]

    @cached_property
    def _line_starts(self) -> IntArray:
        ends = np.flatnonzero(np.frombuffer(self.rows.text, dtype=np.uint8) == ord("\n"))
        return np.concatenate([[0], ends + 1])


class Tally:
    """Number of queries for which something is true, and the first place where that is seen."""

    def __init__(self) -> None:
        self.count = 0
        self.first = Seen(0, 0, "")
        self._begins = 0  # the line on which the first of these queries begins

    def take(self, lists: Lists, queries: BoolArray, seen: Callable[[int], Seen]) -> None:
        """Count the marked queries, and look at the first one if it comes before those seen so far."""
        numbers = np.flatnonzero(queries)
        self.count += len(numbers)
        if len(numbers):
            number = int(numbers[0])
            begins = lists.line(int(lists.offsets[number]))
            if not self._begins or begins < self._begins:
                self._begins, self.first = begins, seen(number)

    def tell(self, collector: Collector, code: str, problem: str, todo: str) -> None:
        """Add a finding at the first place that was seen."""
        collector.add(code, problem, todo, line=self.first.line, column=self.first.column)


def marked(lists: Lists, pairs: BoolArray) -> BoolArray:
    """Return which queries, (Q,), have a marked pair of neighbours; pairs (D - 1,) follow any order within queries."""
    with_pair = np.zeros(len(lists.sizes), dtype=bool)
    with_pair[lists.query[1:][lists.within & pairs]] = True
    return with_pair


def of_queries(count: int, number: int) -> str:
    """Return ``in 2 of 3 queries``."""
    return f"in {count:,} of {number:,} {'query' if number == 1 else 'queries'}"
