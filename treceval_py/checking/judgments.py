"""Checks of judgments as a whole: repeated and contradictory lines, labels, and query ids.

Documents are compared chunk by chunk; if a query is in several chunks, in a second pass, which brings its lines
together.
"""

from __future__ import annotations

from itertools import pairwise
from typing import cast

import numpy as np

from treceval_py._types import BoolArray, IntArray
from treceval_py.checking.findings import Collector
from treceval_py.checking.queries import Shape
from treceval_py.checking.repetitions import Repetitions
from treceval_py.checking.rows import QueryLines
from treceval_py.data.ids import encode, quoted
from treceval_py.data.qrels import Qrels
from treceval_py.diagnosis.columns import Kind
from treceval_py.diagnosis.lookalikes import difference, key

LEAST_LABEL = -2
"""The lowest label that any track has used, for junk pages in the Web Track."""

LARGE_LABEL = 10
"""Labels from here may be typing errors (22 for 2) if they are outliers; most scales end below."""

RARE_LABEL = 0.01
"""Outliers are typing errors, not the top of a scale, if they are less than this share of the positive labels."""

MOST_LARGE = 200
"""Most different large labels that are kept; a file with more has another scale, not typing errors."""

SEPARATE = "If they are one query, write its id in one way; if they are two, ignore this."


class JudgmentChecks:
    """Checks all judgments of a file, chunk by chunk, and adds its findings to a collector.

    Parameters
    ----------
    kind : Kind
        Judgments, or a judged ranking.
    collector : Collector
        Takes the findings. If the resulting shape is scattered, the findings of `Repetitions` are left out.
    scale : (int, int), optional
        Lowest and highest label; -1 and -2, which mark documents that were not judged, are always allowed.
    """

    def __init__(self, kind: Kind, collector: Collector, *, scale: tuple[int, int] | None = None) -> None:
        self._kind = kind
        self._rel_field = cast("int", kind.rel)
        self._collector = collector
        self._scale = scale
        self._first_line: dict[bytes, int] = {}
        self._counts: dict[bytes, int] = {}
        self._highest: dict[bytes, int] = {}
        self._spellings: dict[str, bytes] = {}
        self._repeated = collector.empty()
        self._repetitions = Repetitions(kind, self._repeated)
        self._last: bytes | None = None
        self._apart: dict[bytes, int] = {}  # queries whose lines are not together, and the line that shows it
        self._scattered = False  # also where a query only continues in the next chunk
        self._negative = 0
        self._first_negative = 0  # its line
        self._lowest = 0
        self._by_label: dict[int, int] = {}
        self._large: dict[int, tuple[int, int]] = {}  # the first place of each
        self._documents = 0

    def take(self, rows: QueryLines) -> None:
        """Check the judgments of a chunk."""
        rels = cast("IntArray", rows.rels)
        if not len(rels):
            return
        self._documents += len(rels)
        self._look_at_queries(rows, rels)
        if not self._scattered:
            self._repetitions.take(rows)
        self._look_at_labels(rows, rels)

    def finish(self) -> Shape:
        """Add the findings about the whole file, and return its queries and documents."""
        self._tell_outstanding_labels()
        self._tell_negative_labels()
        self._tell_queries_without_relevant()
        self._tell_interleaved()
        if not self._scattered:
            self._repetitions.finish()
            self._collector.take(self._repeated)
        return Shape(self._first_line, self._counts, self._documents, 0, 0, self._scattered)

    def _look_at_queries(self, rows: QueryLines, rels: IntArray) -> None:
        """Record the queries of a chunk, and those whose lines are not together."""
        highest = np.maximum.reduceat(rels, rows.starts[:-1]).tolist()
        for stretch, (qid, (start, stop)) in enumerate(zip(rows.qids, pairwise(rows.starts.tolist()), strict=True)):
            if qid not in self._counts:
                self._first_line[qid] = int(rows.lines[start])
                self._counts[qid], self._highest[qid] = stop - start, highest[stretch]
                self._look_at_spelling(rows, start, qid)
            else:
                self._counts[qid] += stop - start
                self._highest[qid] = max(self._highest[qid], highest[stretch])
                self._scattered = True
                if qid != self._last:
                    self._apart.setdefault(qid, int(rows.lines[start]))
            self._last = qid

    def _look_at_spelling(self, rows: QueryLines, row: int, qid: bytes) -> None:
        if not self._collector.wants("Q316"):
            return
        other = self._spellings.setdefault(key(qid), qid)
        if other == qid or not self._collector.room("Q316"):
            return
        likeness = f"query {quoted(qid)} looks like query {quoted(other)} of line {self._first_line[other]}"
        likeness += f": they differ only in {difference(qid, other)}"
        self._collector.add("Q316", likeness, SEPARATE, line=int(rows.lines[row]), column=rows.column(row, 0))

    def _look_at_labels(self, rows: QueryLines, rels: IntArray) -> None:
        negative = np.flatnonzero(rels < 0)
        if len(negative):
            self._negative += len(negative)
            self._first_negative = self._first_negative or int(rows.lines[int(negative[0])])
            self._lowest = min(self._lowest, int(rels.min()))
        for row in np.flatnonzero(_outside(rels, self._scale)).tolist():
            self._tell_outside(rows, row, int(rels[row]))
        if self._scale is None and len(self._large) <= MOST_LARGE:
            self._keep_large(rows, rels)

    def _tell_outside(self, rows: QueryLines, row: int, rel: int) -> None:
        if not self._collector.room("Q312"):
            return
        where, todo = _about_scale(self._scale)
        line, column = int(rows.lines[row]), rows.column(row, self._rel_field)
        self._collector.add("Q312", f"label {rel} is {where}", todo, line=line, column=column)

    def _keep_large(self, rows: QueryLines, rels: IntArray) -> None:
        """Count positive labels, and keep the first place of each large one."""
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
                self._large[label] = int(rows.lines[place]), rows.column(place, self._rel_field)

    def _tell_outstanding_labels(self) -> None:
        """Report rare labels that are far above all others."""
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
                number, (line, column) = self._by_label[label], self._large[label]
                times = "once" if number == 1 else f"{number:,} times, first here"
                outlier = f"label {label} occurs {times}, while nearly all labels are at most {usual}"
                todo = "Correct it; if it is intended, give --scale."
                self._collector.add("Q312", outlier, todo, line=line, column=column)

    def _tell_negative_labels(self) -> None:
        if self._negative:
            of = _share(self._negative, self._documents, "label", "labels")
            are = "is" if self._negative == 1 else "are"
            negatives = f"{of} {are} negative, the lowest {self._lowest}; the first is here"
            todo = "trec_eval treats such documents as not judged; if they are not relevant, write 0."
            self._collector.add("Q313", negatives, todo, line=self._first_negative)

    def _tell_queries_without_relevant(self) -> None:
        # In a judged ranking this is normal: the system found nothing relevant.
        without = [qid for qid, highest in self._highest.items() if highest <= 0] if self._kind.name == "qrels" else []
        if without:
            have = "has" if len(without) == 1 else "have"
            of = _share(len(without), len(self._counts), "query", "queries")
            absence = f"{of} {have} no relevant document; the first is {quoted(without[0])}"
            todo = "trec_eval counts 0 for such a query; some programs leave it out of the mean."
            self._collector.add("Q314", absence, todo, line=self._first_line[without[0]])

    def _tell_interleaved(self) -> None:
        if self._apart:
            qid, line = next(iter(self._apart.items()))
            of = _share(len(self._apart), len(self._counts), "query", "queries")
            where = f"query {quoted(qid)}, which began on line {self._first_line[qid]}, continues here"
            todo = "Sort the lines by query, with a stable sort; some programs lose lines otherwise."
            self._collector.add("Q315", f"the lines of {of} are not together; {where}", todo, line=line)


def tell_labels(qrels: Qrels, collector: Collector, scale: tuple[int, int] | None) -> None:
    """Report once the labels outside the scale, for judgments that are not made of lines.

    Parameters
    ----------
    qrels : Qrels
        The judgments.
    collector : Collector
        Takes the finding.
    scale : (int, int) or None
        See `JudgmentChecks`.
    """
    rows = np.flatnonzero(_outside(qrels.rels, scale))
    if not len(rows):
        return
    row = int(rows[0])
    qid = qrels.qids[int(np.searchsorted(qrels.offsets, row, side="right")) - 1]
    where, todo = _about_scale(scale)
    of = _share(len(rows), len(qrels.rels), "label", "labels")
    document = f"document {quoted(qrels.docids.raw(row, row + 1)[0])} of query {quoted(encode(qid))}"
    which = f"{int(qrels.rels[row])} of {document}"
    wrong = f"{of} {'is' if len(rows) == 1 else 'are'} {where}: {'' if len(rows) == 1 else 'the first is '}{which}"
    collector.add("Q312", wrong, todo)


def _outside(rels: IntArray, scale: tuple[int, int] | None) -> BoolArray:
    """Return which labels are outside the scale; without a scale, which are below all labels in use."""
    lowest, highest = (LEAST_LABEL, None) if scale is None else scale
    outside: BoolArray = rels < min(lowest, LEAST_LABEL)
    if highest is not None:
        outside |= (rels > highest) | ((rels < lowest) & (rels >= 0))
    return outside


def _about_scale(scale: tuple[int, int] | None) -> tuple[str, str]:
    """Say how such labels miss the scale, and what to do about them."""
    if scale is None:
        return f"below {LEAST_LABEL}, the lowest label in use", "If it is intended, give --scale."
    return f"outside the scale from {scale[0]} to {scale[1]}", "Correct the label, or the scale."


def _share(number: int, total: int, one: str, several: str) -> str:
    return f"{number:,} of {total:,} {one if total == 1 else several}"
