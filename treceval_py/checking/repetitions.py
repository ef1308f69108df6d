"""Documents that a query lists more than once: repeated and contradictory lines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import cast

from treceval_py._types import IntArray
from treceval_py.checking.findings import Collector
from treceval_py.checking.rows import QueryLines
from treceval_py.data.ids import encode, quoted, repeated
from treceval_py.diagnosis.columns import Kind
from treceval_py.io.trec import OF_GROUPS


def repeated_rows(rows: QueryLines) -> Iterator[tuple[int, int, int]]:
    """Yield the number of its query, its first row and its own for each row whose document the query listed before."""
    if repeated(rows.docids, rows.starts) is None:
        return
    for number, (start, stop) in enumerate(pairwise(rows.starts.tolist())):
        raw = rows.docids.raw(start, stop)
        if len(set(raw)) < len(raw):
            first_rows: dict[bytes, int] = {}
            for row, docid in enumerate(raw, start):
                if first_rows.setdefault(docid, row) != row:
                    yield number, first_rows[docid], row


class Repetitions:
    """Finds judgments of a document that the query judged before; rows must be those of whole queries.

    Parameters
    ----------
    kind : Kind
        Judgments, or a judged ranking.
    collector : Collector
        Takes the findings.
    """

    def __init__(self, kind: Kind, collector: Collector) -> None:
        self._kind = kind
        self._collector = collector
        self._groups = 0  # judgments of a document that the query also has from another group
        self._first_group = (0, 0, "")

    def take(self, rows: QueryLines) -> None:
        """Check the judgments of whole queries."""
        lines: list[bytes] = []
        judged: dict[tuple[int, bytes], int] = {}  # the first row of a document in a group, by its first row of all
        for number, first, row in repeated_rows(rows):
            lines = lines or rows.text.split(b"\n")
            # The second column has no meaning in judgments of one group: it is 0 on all lines.
            before, group = (lines[rows.at[one]].split(None, 2)[1] for one in (first, row))
            document = f"document {quoted(encode(rows.docids[row]))} of query {quoted(rows.qids[number])}"
            judged.setdefault((first, before), first)
            if group != before:
                self._groups += 1
                line = int(rows.lines[row])
                if not self._first_group[0] or line < self._first_group[0]:
                    grouping = f"{document} has a judgment of group {quoted(group)} here, and one of {quoted(before)}"
                    self._first_group = line, rows.column(row, 1), f"{grouping} on line {rows.lines[first]}"
            same = judged.setdefault((first, group), row)
            if same != row:
                self._tell_twice(rows, document, same, row)

    def finish(self) -> None:
        """Add the finding about the whole file."""
        if self._groups:
            line, column, grouping = self._first_group
            also = "" if self._groups == 1 else f"; {self._groups:,} lines are like this"
            self._collector.add("Q317", grouping + also, OF_GROUPS, line=line, column=column)

    def _tell_twice(self, rows: QueryLines, document: str, first: int, row: int) -> None:
        rels, line = cast("IntArray", rows.rels), rows.lines[first]
        label, other = int(rels[row]), int(rels[first])
        code, field = ("Q310", self._kind.docid) if label == other else ("Q311", cast("int", self._kind.rel))
        if not self._collector.room(code):
            return
        if label == other:
            repetition = f"{document} is listed twice with label {label} (first on line {line})"
            todo = "Delete one of the two lines."
        else:
            repetition = f"{document} has label {label} here and {other} on line {line}"
            todo = "Find out which label is right, and delete the other line."
        column = rows.column(row, field)
        self._collector.add(code, repetition, todo, line=int(rows.lines[row]), column=column)
