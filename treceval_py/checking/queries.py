"""Checks of a run, query by query: repeated documents, lines that are not together, ranks, scores, depth."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from treceval_py._types import FloatArray, IntArray
from treceval_py.checking.findings import Collector
from treceval_py.checking.lists import QID, PlacedLists
from treceval_py.checking.ranks import RankChecks
from treceval_py.checking.repetitions import repeated_rows
from treceval_py.checking.rows import QueryLines
from treceval_py.checking.scores import ScoreChecks
from treceval_py.data.ids import quoted
from treceval_py.diagnosis.columns import Kind
from treceval_py.diagnosis.noting import one_ranking
from treceval_py.diagnosis.signs import SAME_FROM, documents_of

SAME_DEPTH = 0.8
"""If at least this share of queries has the same number of documents, the others are reported. The share is lower, and
rightly so, if a lexical ranking finds fewer documents than requested."""

SHOWN = 5
"""Most queries that a message names."""


class Shape(NamedTuple):
    """The queries and documents of a file.

    Attributes
    ----------
    first_line : dict of bytes to int
        The first line of each query, in the order of the file.
    counts : dict of bytes to int
        Number of rows of each query, in the same order.
    documents : int
        Number of rows.
    tied : int
        Number of documents that share their score with another document of their query.
    contradicted : int
        Number of queries in which ranks contradict scores.
    scattered : bool
        Whether the lines of a query are not together. If so, only the findings about queries are complete, and the rows
        must be checked again as `scattered.grouped` returns them.
    distances : bool
        Whether scores look like distances.
    """

    first_line: dict[bytes, int]
    counts: dict[bytes, int]
    documents: int
    tied: int
    contradicted: int
    scattered: bool
    distances: bool = False


class QueryChecks:
    """Checks the queries of a run, chunk by chunk.

    Parameters
    ----------
    kind : Kind
        Kind of the file.
    collector : Collector
        Takes the findings.
    """

    def __init__(self, kind: Kind, collector: Collector) -> None:
        self._kind = kind
        self._collector = collector
        self._ranks = RankChecks(collector)
        self._scores = ScoreChecks(collector)
        self._same = _SameDocuments()
        self._first_line: dict[bytes, int] = {}
        self._counts: Counter[bytes] = Counter()
        self._scattered = False
        self._interleaved: dict[bytes, None] = {}
        self._again = (0, 0)  # line and column where a query first appears again
        self._last = b""

    def take(self, rows: QueryLines) -> None:
        """Check some rows; the shape becomes scattered if a query appears in two calls or in two places."""
        lists = PlacedLists(rows, self._kind)
        together = self._take_queries(lists)
        # Rows after the first scattered query are checked in a second, complete pass.
        if together and not self._scattered:
            again = self._take_duplicates(lists)
            self._ranks.take(lists)
            self._same.take(lists)
            # A repeated line of the same document is not a tie.
            self._scores.take(PlacedLists(_without(rows, again), self._kind) if again else lists)

    def _take_queries(self, lists: PlacedLists) -> bool:
        """Count queries and rows; return whether each query's rows are together and new."""
        qids, starts = lists.rows.qids, lists.offsets.tolist()
        if len(set(qids)) == len(qids) and self._first_line.keys().isdisjoint(qids):
            lines = lists.rows.lines
            self._first_line.update((qid, int(lines[start])) for qid, start in zip(qids, starts, strict=False))
            self._counts.update(dict(zip(qids, lists.sizes.tolist(), strict=True)))
            self._last = qids[-1] if qids else self._last
            return True
        self._scattered = True
        for qid, (start, stop) in zip(qids, pairwise(starts), strict=True):
            if qid not in self._first_line:
                self._first_line[qid] = lists.line(start)
            elif qid != self._last:
                if not self._interleaved:
                    self._again = (lists.line(start), lists.column(start, QID))
                self._interleaved[qid] = None
            self._counts[qid] += stop - start
            self._last = qid
        return False

    def _take_duplicates(self, lists: PlacedLists) -> list[int]:
        """Report repeated documents; return the rows that repeat both a document and its score."""
        scores, again = lists.scores, list[int]()
        scored: set[tuple[int, float]] = set()  # the first row of a document, and a score that it was listed with
        for number, first, row in repeated_rows(lists.rows):
            self._tell_duplicate(lists, number, first, row)
            if scores is not None:
                scored.add((first, float(scores[first])))
                if (first, float(scores[row])) in scored:
                    again.append(row)
                scored.add((first, float(scores[row])))
        return again

    def _tell_duplicate(self, lists: PlacedLists, number: int, first: int, row: int) -> None:
        values: FloatArray | IntArray | None = lists.scores
        field, name = self._kind.score, "score"
        if values is None:
            values, field, name = lists.ranks, self._kind.rank, "rank"
        same = values is None or bool(values[first] == values[row])
        code = "R120" if same else "R121"
        if not self._collector.room(code):
            return
        again = f"document {lists.document(row)} is listed again in query {lists.name(number)}"
        before = f"first on line {lists.line(first)}"
        if field is None or values is None:
            again, todo = f"{again} ({before})", "Delete one of the two lines."
        elif same:
            again, todo = f"{again} with the same {name} ({before})", "Delete one of the two lines."
        else:
            again = f"{again} with {name} {lists.written(row, field)} ({before}, with {lists.written(first, field)})"
            todo = "Find out which of the two lines is right, and delete the other."
        column = lists.column(row, self._kind.docid)
        self._collector.add(code, again, todo, line=lists.line(row), column=column)

    def finish(self) -> Shape:
        """Report findings about the whole file, and return its shape."""
        order = sorted(self._first_line, key=self._first_line.__getitem__)
        counts = {qid: self._counts[qid] for qid in order}
        first_line = {qid: self._first_line[qid] for qid in order}
        self._tell_interleaved()
        if not self._scattered:
            self._ranks.finish()
            self._scores.finish()
            self._same.tell(self._collector)
        self._tell_depth(first_line, counts)
        documents, seen = sum(counts.values()), self._scores.seen
        contradicted = self._ranks.contradicted
        return Shape(first_line, counts, documents, seen.tied, contradicted, self._scattered, seen.distances)

    def _tell_interleaved(self) -> None:
        if not self._interleaved:
            return
        qid, (line, column) = next(iter(self._interleaved)), self._again
        again = f"query {quoted(qid)} appears again here (first on line {self._first_line[qid]})"
        number, every = len(self._interleaved), len(self._counts)
        interleaving = f"the lines of {number:,} of {every:,} queries are not together: {again}"
        todo = "Values here do not depend on it, but some programs need all lines of a query together."
        self._collector.add("R122", interleaving, todo, line=line, column=column)

    def _tell_depth(self, first_line: dict[bytes, int], counts: dict[bytes, int]) -> None:
        """Report the queries whose number of documents differs from that of nearly all queries."""
        if not counts:
            return
        depth, usual = Counter(counts.values()).most_common(1)[0]
        others = [qid for qid, count in counts.items() if count != depth]
        if not others or usual < SAME_DEPTH * len(counts):
            return
        named = ", ".join(f"{quoted(qid)} has {counts[qid]:,}" for qid in others[:SHOWN])
        more = ", …" if len(others) > SHOWN else ""
        depths = f"{usual:,} of {len(counts):,} queries have {documents_of(depth)}, but query {named}{more}"
        todo = "Find out whether lines were lost or added, or whether fewer documents were found."
        self._collector.add("R132", depths, todo, line=first_line[others[0]])


class _SameDocuments:
    """Whether all queries have the same documents, and in the same order; stops at the first query that differs."""

    def __init__(self) -> None:
        self._queries = 0
        self._first: list[bytes] = []
        self._same = self._same_order = True

    def take(self, lists: PlacedLists) -> None:
        """Check some queries."""
        for number, (start, stop) in enumerate(pairwise(lists.offsets.tolist())):
            if not self._same or (self._queries and stop - start != len(self._first)):
                self._same = False
                return
            ranked = lists.best(number, stop - start)
            if not self._queries:
                self._first = ranked
            self._queries += 1
            if ranked != self._first:
                self._same_order = False
                self._same = set(ranked) == set(self._first)

    def tell(self, collector: Collector) -> None:
        """Add a finding if all queries have the same documents."""
        if not self._same or self._queries < SAME_FROM or len(self._first) < SAME_FROM:
            return
        sameness = f"all {self._queries:,} queries have the same {len(self._first):,} documents"
        if self._same_order:
            collector.add(*one_ranking(self._queries, len(self._first)))
        else:
            collector.add("R136", f"{sameness}, in different orders", "Does the collection have no other documents?")


def _without(rows: QueryLines, left_out: list[int]) -> QueryLines:
    """Return rows without some of them; the first row of a query is never among these."""
    kept = np.ones(len(rows.docids), dtype=bool)
    kept[left_out] = False
    chosen = np.flatnonzero(kept)
    return rows.take(chosen, rows.qids, np.searchsorted(chosen, rows.starts))
