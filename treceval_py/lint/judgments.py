"""Checks of judgments as a whole: lines that say the same or contradict each other, labels, and the ids of queries.

Documents and labels are kept as columns, as scoring keeps them, so that a query whose lines do not stand together is
checked like any other. A dictionary of documents is made only for queries in which something is repeated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from treceval_py._types import IntArray
from treceval_py.lint.findings import Collector
from treceval_py.lint.lookalikes import difference, key
from treceval_py.lint.queries import Shape
from treceval_py.lint.rows import Kind, Rows
from treceval_py.tables import Ids, quoted, repeated

__all__ = ["JudgmentChecks"]

LEAST_LABEL = -2
"""The lowest label that tracks have used: junk pages of the Web Track."""

LARGE_LABEL = 10
"""From here on a label may be a slip of the finger (22 for 2), if it stands out; most scales end before."""

RARE_LABEL = 0.01
"""The share of positive labels up to which those that stand out are a slip rather than the top of a scale."""

MOST_LARGE = 200
"""Different large labels that are kept; a file with more has no slips of the finger, but another scale."""

SEPARATE = "If they are one query, write its id in one way; if they are two, this is fine."


class _Judged(NamedTuple):
    """The first line of a document in a query: its label, the number of the line, and its second column."""

    rel: int
    line: int
    group: bytes


class _Stretch(NamedTuple):
    """Rows of a query that stand together: columns of a chunk, and the part of them."""

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


class _Place(NamedTuple):
    """Where something stands first."""

    line: int
    column: int


class _Same(Sequence[bytes]):
    """A column that has the same field in each row."""

    def __init__(self, field: bytes, count: int) -> None:
        self._field = field
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        rows = range(self._count)[index]
        return [self._field] * len(rows) if isinstance(rows, range) else self._field


class JudgmentChecks:
    """Looks at all judgments of a file, chunk by chunk, and adds what it finds to a collector.

    Parameters
    ----------
    kind : Kind
        Judgments, or a judged ranking.
    collector : Collector
        Takes the findings.
    scale : (int, int), optional
        The least and the highest label; -1 and -2, which mark what was not judged, are always fine.
    """

    def __init__(self, kind: Kind, collector: Collector, *, scale: tuple[int, int] | None = None) -> None:
        if kind.rel is None:
            raise ValueError(f"{kind.what} has no labels")
        self._kind = kind
        self._rel_field = kind.rel
        self._collector = collector
        self._scale = scale
        self._first_line: dict[bytes, int] = {}
        self._counts: dict[bytes, int] = {}
        self._highest: dict[bytes, int] = {}
        self._spellings: dict[str, bytes] = {}
        # The documents of each query: as columns, or as a dictionary from when one was needed.
        self._stretches: dict[bytes, list[_Stretch]] = {}
        self._labels: dict[bytes, dict[bytes, _Judged]] = {}
        self._last: bytes | None = None
        self._apart: dict[bytes, int] = {}  # the queries whose lines do not stand together, and where that shows
        self._negative = 0
        self._first_negative = 0  # its line
        self._lowest = 0
        self._by_label: dict[int, int] = {}
        self._large: dict[int, _Place] = {}
        self._documents = 0
        self._groups = 0  # judgments of documents that the query has from another group
        self._first_group: tuple[_Place, str] | None = None

    def take(self, rows: Rows) -> None:
        """Look at the judgments of a chunk."""
        rels = rows.rels
        if rels is None:
            raise ValueError("rows without labels")
        if not len(rels):
            return
        self._documents += len(rels)
        again = self._look_at_queries(rows, rels)
        self._look_at_documents(rows, rels, again)
        self._look_at_labels(rows, rels)

    def finish(self) -> Shape:
        """Add what can be said of the whole file, and return its queries and documents."""
        self._tell_outstanding_labels()
        self._tell_negative_labels()
        self._tell_queries_without_relevant()
        self._tell_interleaved()
        self._tell_groups()
        return Shape(
            first_line=self._first_line,
            counts=self._counts,
            documents=self._documents,
            tied=0,
            contradicted=0,
            scattered=bool(self._apart),
        )

    def _look_at_queries(self, rows: Rows, rels: IntArray) -> set[bytes]:
        """Take note of the queries of a chunk; return those of which lines were seen before."""
        again = set()
        highest = np.maximum.reduceat(rels, rows.starts[:-1]).tolist()
        for stretch, (qid, (start, stop)) in enumerate(zip(rows.qids, pairwise(rows.starts.tolist()), strict=True)):
            if qid not in self._counts:
                self._first_line[qid] = int(rows.lines[start])
                self._counts[qid], self._highest[qid] = stop - start, highest[stretch]
                self._look_at_spelling(rows, start, qid)
            else:
                again.add(qid)
                self._counts[qid] += stop - start
                self._highest[qid] = max(self._highest[qid], highest[stretch])
                if qid != self._last:
                    self._apart.setdefault(qid, int(rows.lines[start]))
            self._last = qid
        return again

    def _look_at_spelling(self, rows: Rows, row: int, qid: bytes) -> None:
        if not self._collector.wants("Q316"):
            return
        other = self._spellings.setdefault(key(qid), qid)
        if other == qid:
            return
        if not self._collector.room("Q316"):
            self._collector.count("Q316")
            return
        what = f"query {quoted(qid)} looks like query {quoted(other)} of line {self._first_line[other]}"
        self._collector.add(
            "Q316",
            f"{what}: they differ only in {difference(qid, other)}",
            SEPARATE,
            line=int(rows.lines[row]),
            column=rows.column(row, 0),
        )

    def _look_at_documents(self, rows: Rows, rels: IntArray, again: set[bytes]) -> None:
        """Look for documents that a query has twice, in this chunk or in one before."""
        lines, groups = np.asarray(rows.lines, dtype=np.int64), _second_column(rows)
        twice = repeated(rows.docids, rows.starts) is not None
        for qid, (start, stop) in zip(rows.qids, pairwise(rows.starts.tolist()), strict=True):
            stretch = _Stretch(rows.docids, rels, lines, groups, start, stop)
            known = self._labels.get(qid)
            if known is None and not self._needs_labels(qid, stretch, twice, again):
                self._stretches.setdefault(qid, []).append(stretch)
                continue
            if known is None:
                # What was read of the query until now: no document came twice in it.
                parts = self._stretches.pop(qid, ())
                known = self._labels[qid] = {docid: judged for part in parts for docid, judged in part.rows()}
            self._compare(rows, stretch, qid, known)

    def _needs_labels(self, qid: bytes, stretch: _Stretch, twice: bool, again: set[bytes]) -> bool:
        if qid in again and qid in self._stretches:
            return True
        if not twice:
            return False
        raw = stretch.docids.raw(stretch.start, stretch.stop)
        return len(set(raw)) < len(raw)

    def _compare(self, rows: Rows, stretch: _Stretch, qid: bytes, known: dict[bytes, _Judged]) -> None:
        for row, (docid, judged) in enumerate(stretch.rows(), stretch.start):
            first = known.setdefault(docid, judged)
            if first.group != judged.group:
                if self._first_group is None:
                    what = f"document {quoted(docid)} of query {quoted(qid)} has a judgment of group"
                    what += f" {quoted(judged.group)} here, and one of {quoted(first.group)} on line {first.line}"
                    self._first_group = _Place(judged.line, rows.column(row, 1)), what
                self._groups += 1
                # No id has a space.
                first = known.setdefault(docid + b" " + judged.group, judged)
            if first.line != judged.line:
                self._tell_twice(rows, row, f"document {quoted(docid)} of query {quoted(qid)}", first, judged)

    def _tell_twice(self, rows: Rows, row: int, what: str, first: _Judged, judged: _Judged) -> None:
        code = "Q310" if first.rel == judged.rel else "Q311"
        if not self._collector.room(code):
            self._collector.count(code)
            return
        if first.rel == judged.rel:
            column = rows.column(row, self._kind.docid)
            what += f" comes twice with label {judged.rel} (first on line {first.line})"
            todo = "Delete one of the two lines."
        else:
            column = rows.column(row, self._rel_field)
            what += f" has label {judged.rel} here and {first.rel} on line {first.line}"
            todo = "Find out which is meant, and delete the other line."
        self._collector.add(code, what, todo, line=judged.line, column=column)

    def _look_at_labels(self, rows: Rows, rels: IntArray) -> None:
        negative = np.flatnonzero(rels < 0)
        if len(negative):
            self._negative += len(negative)
            self._first_negative = self._first_negative or int(rows.lines[int(negative[0])])
            self._lowest = min(self._lowest, int(rels.min()))
        lowest, highest = (LEAST_LABEL, None) if self._scale is None else self._scale
        outside = rels < min(lowest, LEAST_LABEL)
        if highest is not None:
            outside |= (rels > highest) | ((rels < lowest) & (rels >= 0))
        for row in np.flatnonzero(outside).tolist():
            self._tell_outside(rows, row, int(rels[row]))
        if self._scale is None and len(self._large) <= MOST_LARGE:
            self._keep_large(rows, rels)

    def _tell_outside(self, rows: Rows, row: int, rel: int) -> None:
        if not self._collector.room("Q312"):
            self._collector.count("Q312")
            return
        what, todo = f"label {rel} is below {LEAST_LABEL}, the lowest in use", "Give --scale if it is meant."
        if self._scale is not None:
            what = f"label {rel} is outside the scale from {self._scale[0]} to {self._scale[1]}"
            todo = "Correct the label, or the scale."
        column = rows.column(row, self._rel_field)
        self._collector.add("Q312", what, todo, line=int(rows.lines[row]), column=column)

    def _keep_large(self, rows: Rows, rels: IntArray) -> None:
        """Count positive labels, and keep where each large one stands first."""
        if int(rels.max()) < LARGE_LABEL:
            numbers = np.bincount(np.maximum(rels, 0))
            labels = np.flatnonzero(numbers)
            numbers, places = numbers[labels], labels
        else:
            labels, places, numbers = np.unique(rels, return_index=True, return_counts=True)
        for label, place, number in zip(labels.tolist(), places.tolist(), numbers.tolist(), strict=True):
            if label <= 0:
                continue
            self._by_label[label] = self._by_label.get(label, 0) + number
            if label >= LARGE_LABEL and label not in self._large and len(self._large) <= MOST_LARGE:
                self._large[label] = _Place(int(rows.lines[place]), rows.column(place, self._rel_field))

    def _tell_outstanding_labels(self) -> None:
        """Tell large labels far above all others that hardly any document has."""
        if not self._large or len(self._large) > MOST_LARGE:
            return
        labels = sorted(self._by_label)
        total, above, usual = sum(self._by_label.values()), 0, None
        for lower, label in reversed(list(pairwise(labels))):
            above += self._by_label[label]
            if label < LARGE_LABEL or above >= RARE_LABEL * total:
                break
            usual = lower if label > 2 * lower else usual
        if usual is not None:
            for label in labels[labels.index(usual) + 1 :]:
                self._tell_outstanding(label, usual)

    def _tell_outstanding(self, label: int, lower: int) -> None:
        number, first = self._by_label[label], self._large[label]
        times = "once" if number == 1 else f"{number:,} times, first here"
        self._collector.add(
            "Q312",
            f"label {label} comes {times}, while nearly all labels are at most {lower}",
            "Correct it, or give --scale if it is meant.",
            line=first.line,
            column=first.column,
        )

    def _tell_negative_labels(self) -> None:
        if self._negative:
            of = _share(self._negative, self._documents, "label", "labels")
            what = (
                f"{of} {'is' if self._negative == 1 else 'are'} negative, the lowest {self._lowest}; the first is here"
            )
            todo = "trec_eval takes such documents as not judged; if they are not relevant, write 0."
            self._collector.add("Q313", what, todo, line=self._first_negative)

    def _tell_queries_without_relevant(self) -> None:
        # In a ranking it is what happens to a run that finds nothing.
        without = [qid for qid, highest in self._highest.items() if highest <= 0] if self._kind.name == "qrels" else []
        if without:
            have = "has" if len(without) == 1 else "have"
            of = _share(len(without), len(self._counts), "query", "queries")
            self._collector.add(
                "Q314",
                f"{of} {have} no relevant document; the first is {quoted(without[0])}",
                "trec_eval counts 0 for such a query; some programs leave it out of the mean.",
                line=self._first_line[without[0]],
            )

    def _tell_interleaved(self) -> None:
        if self._apart:
            qid, line = next(iter(self._apart.items()))
            of = _share(len(self._apart), len(self._counts), "query", "queries")
            self._collector.add(
                "Q315",
                f"the lines of {of} do not stand together; "
                f"query {quoted(qid)}, which began on line {self._first_line[qid]}, goes on here",
                "Some programs then lose lines; sort them by query, with a stable sort.",
                line=line,
            )

    def _tell_groups(self) -> None:
        if self._first_group is not None:
            place, what = self._first_group
            also = "" if self._groups == 1 else f"; so it is of {self._groups:,} lines"
            todo = "As judgments of groups or subtopics give it with -R qrels_jg; otherwise keep one group."
            self._collector.add("Q317", what + also, todo, line=place.line, column=place.column)


def _second_column(rows: Rows) -> Sequence[bytes]:
    """Return the second column, which says nothing in judgments of one group: mostly it is 0 in all lines."""
    line = rows.line_text(0)
    field = line.split(None, 2)[1]
    at = line.index(field, len(line) - len(line.lstrip()) + len(rows.qids[0]))
    if rows.text.count(line[at - 1 : at + len(field) + 1]) == len(rows.docids):
        return _Same(field, len(rows.docids))
    lines = rows.text.split(b"\n")
    return [lines[row].split(None, 2)[1] for row in rows.at]


def _share(number: int, total: int, one: str, several: str) -> str:
    return f"{number:,} of {total:,} {one if total == 1 else several}"
