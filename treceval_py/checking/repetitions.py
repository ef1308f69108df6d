"""Documents that a query of judgments lists more than once: repeated and contradictory lines.

Only the documents of one query are held, as columns. A dictionary is made only for queries with a repeated document.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from treceval_py._types import IntArray
from treceval_py.checking.findings import Collector
from treceval_py.checking.rows import QueryLines
from treceval_py.data.ids import Ids, quoted, repeated
from treceval_py.diagnosis.columns import Kind
from treceval_py.io.trec import OF_GROUPS


class _Judged(NamedTuple):
    """The first line of a document in a query: its label, line number and second column."""

    rel: int
    line: int
    group: bytes


class _Stretch(NamedTuple):
    """Consecutive rows of a query: the columns of a chunk, and the part with these rows."""

    docids: Ids
    rels: IntArray
    lines: IntArray
    groups: Sequence[bytes]
    start: int
    stop: int

    def rows(self) -> Iterator[tuple[bytes, _Judged]]:
        """Yield each document with its judgment."""
        part = slice(self.start, self.stop)
        columns = self.rels[part].tolist(), self.lines[part].tolist(), self.groups[part]
        return zip(self.docids.raw(self.start, self.stop), map(_Judged, *columns), strict=True)

    def repeats(self) -> bool:
        """Tell whether a document is listed more than once."""
        raw = self.docids.raw(self.start, self.stop)
        return len(set(raw)) < len(raw)


class _Same(Sequence[bytes]):
    """A column with the same field in each row."""

    def __init__(self, field: bytes, count: int) -> None:
        self._field = field
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        rows = range(self._count)[index]
        return [self._field] * len(rows) if isinstance(rows, range) else self._field


class Repetitions:
    """Finds documents that a query lists more than once.

    Parameters
    ----------
    kind : Kind
        Judgments, or a judged ranking.
    collector : Collector
        Takes the findings.
    """

    def __init__(self, kind: Kind, collector: Collector) -> None:
        if kind.rel is None:
            raise ValueError(f"{kind.what} has no labels")
        self._kind = kind
        self._rel_field = kind.rel
        self._collector = collector
        # The documents of the last query: as columns, or as a dictionary once one is needed.
        self._last: bytes | None = None
        self._stretches: list[_Stretch] = []
        self._known: dict[bytes, _Judged] | None = None
        self._groups = 0  # judgments of a document that the query also has from another group
        self._first_group: tuple[int, int, str] | None = None

    def take(self, rows: QueryLines) -> None:
        """Check the judgments of a chunk; a query may continue in the next chunk, but must be in one piece."""
        rels = rows.rels
        if rels is None or not len(rels):
            return
        lines, groups = np.asarray(rows.lines, dtype=np.int64), _second_column(rows)
        twice = repeated(rows.docids, rows.starts) is not None
        for qid, (start, stop) in zip(rows.qids, pairwise(rows.starts.tolist()), strict=True):
            stretch = _Stretch(rows.docids, rels, lines, groups, start, stop)
            begins = qid != self._last
            if begins:
                self._last, self._stretches, self._known = qid, [], None
                if not (twice and stretch.repeats()):
                    self._stretches = [stretch]
                    continue
            if self._known is None:
                # No document was repeated in the part of the query read so far.
                self._known = {docid: judged for part in self._stretches for docid, judged in part.rows()}
                self._stretches = []
            self._compare(rows, stretch, qid, self._known)

    def finish(self) -> None:
        """Add the findings about the whole file."""
        if self._first_group is not None:
            line, column, grouping = self._first_group
            also = "" if self._groups == 1 else f"; {self._groups:,} lines are like this"
            self._collector.add("Q317", grouping + also, OF_GROUPS, line=line, column=column)

    def _compare(self, rows: QueryLines, stretch: _Stretch, qid: bytes, known: dict[bytes, _Judged]) -> None:
        for row, (docid, judged) in enumerate(stretch.rows(), stretch.start):
            first = known.setdefault(docid, judged)
            if first.group != judged.group:
                if self._first_group is None or judged.line < self._first_group[0]:
                    grouping = f"document {quoted(docid)} of query {quoted(qid)} has a judgment of group"
                    grouping += f" {quoted(judged.group)} here, and one of {quoted(first.group)} on line {first.line}"
                    self._first_group = judged.line, rows.column(row, 1), grouping
                self._groups += 1
                # An id never contains a space.
                first = known.setdefault(docid + b" " + judged.group, judged)
            if first.line != judged.line:
                self._tell_twice(rows, row, f"document {quoted(docid)} of query {quoted(qid)}", first, judged)

    def _tell_twice(self, rows: QueryLines, row: int, sentence: str, first: _Judged, judged: _Judged) -> None:
        code = "Q310" if first.rel == judged.rel else "Q311"
        if not self._collector.room(code):
            self._collector.count(code)
            return
        if first.rel == judged.rel:
            column = rows.column(row, self._kind.docid)
            sentence += f" is listed twice with label {judged.rel} (first on line {first.line})"
            todo = "Delete one of the two lines."
        else:
            column = rows.column(row, self._rel_field)
            sentence += f" has label {judged.rel} here and {first.rel} on line {first.line}"
            todo = "Find out which label is right, and delete the other line."
        self._collector.add(code, sentence, todo, line=judged.line, column=column)


def _second_column(rows: QueryLines) -> Sequence[bytes]:
    """Return the second column, which has no meaning in judgments of one group: usually it is 0 on all lines."""
    line = rows.line_text(0)
    field = line.split(None, 2)[1]
    at = line.index(field, len(line) - len(line.lstrip()) + len(rows.qids[0]))
    if rows.text.count(line[at - 1 : at + len(field) + 1]) == len(rows.docids):
        return _Same(field, len(rows.docids))
    lines = rows.text.split(b"\n")
    return [lines[row].split(None, 2)[1] for row in rows.at]
