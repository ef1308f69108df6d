"""Checks of the rank column of a run: does it agree with the scores, and is it 1, 2, 3, … in each query."""

from __future__ import annotations

from typing import cast

import numpy as np

from treceval_py._types import FloatArray, IntArray
from treceval_py.checking.findings import Collector
from treceval_py.checking.lists import Place, PlacedLists, Tally
from treceval_py.diagnosis.signs import of_queries

_SCORES_DECIDE = "Scoring uses scores and ignores ranks, as trec_eval does"
_FIX = "--fix numbers documents from 1 in the order of their scores"


class RankChecks:
    """Checks ranks query by query, and reports each kind of finding once per file.

    Parameters
    ----------
    collector : Collector
        Takes the findings.
    """

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._scored = True
        self._queries = 0  # with ranks that are all whole numbers
        self._contradicting, self._constant, self._repeated = Tally(), Tally(), Tally()
        self._low, self._low_alone = Tally(), Tally()

    @property
    def contradicted(self) -> int:
        """Number of queries in which ranks contradict scores."""
        return self._contradicting.count

    def take(self, lists: PlacedLists) -> None:
        """Check some queries."""
        if lists.ranks is None:
            return
        self._scored, ranked = lists.scores is not None, lists.ranked
        self._queries += int(ranked.sum())
        self._contradicting.take(lists, lists.contradicting, lambda number: _contradiction(lists, number))
        ranks = lists.ranks[lists.by_rank]
        least, constant, single = ranks[lists.offsets[:-1]], ranked & ~lists.usable, lists.sizes == 1
        # An MS MARCO run has only ranks, so constant ranks count as repeated ranks there.
        special = constant if self._scored else np.zeros_like(constant)
        self._constant.take(lists, special, lambda number: _constant(lists, number))
        low = ranked & (least < 1)
        self._low.take(lists, low & ~special & ~single, lambda number: _begins(lists, number))
        self._low_alone.take(lists, low & single, lambda number: _begins(lists, number))
        odd = lists.marked(ranks[1:] - ranks[:-1] != 1) | (least > 1)
        self._repeated.take(lists, ranked & ~special & odd, lambda number: _odd(lists, number))

    def finish(self) -> None:
        """Report what was found."""
        fix = f"{_SCORES_DECIDE}; {_FIX}."
        low, alone, count = self._low, self._low_alone, self._low.count
        if not (self._scored and self._constant.count):  # else a single document with rank 0 is one more of these
            count += alone.count
            if alone.count and (not low.count or alone.first.line < low.first.line):
                low = alone
        if self._scored:
            todo = f"{_SCORES_DECIDE}; MS MARCO's script uses the ranks. Find out which of the two is right."
            self._tell(self._contradicting, "R123", "ranks contradict scores", todo)
            self._tell(self._constant, "R125", "all ranks of a query are the same", fix)
            self._tell(low, "R124", "ranks begin below 1", f"Ranks begin at 1. {fix}", count)
            self._tell(self._repeated, "R126", "ranks are not 1, 2, 3, …", fix)
        else:
            self._tell(low, "R133", "ranks begin below 1", "Ranks begin at 1: add 1 to each.", count)
            todo = "Number the documents of each query from 1, without gaps: of two with the same rank only the last"
            self._tell(self._repeated, "R134", "ranks are not 1, 2, 3, …", f"{todo} line counts.")

    def _tell(self, tally: Tally, code: str, problem: str, todo: str, count: int | None = None) -> None:
        count = tally.count if count is None else count
        if count:
            where = f"{problem} {of_queries(count, self._queries)}: {tally.first.words}"
            tally.tell(self._collector, code, where, todo)


def _contradiction(lists: PlacedLists, number: int) -> Place:
    """Describe the first document by rank that has a higher score than the one before."""
    start, stop = lists.offsets[number : number + 2].tolist()
    order = lists.by_rank[start:stop]
    ordered = cast("FloatArray", lists.scores)[order]
    at = int(np.flatnonzero(ordered[1:] > ordered[:-1])[0])
    upper, lower = rows = order[at : at + 2].tolist()
    other, this = (f"rank {_rank(lists, row)} and score {lists.written(row, lists.kind.score)}" for row in rows)
    before = f"{lists.document(upper)} on line {lists.line(upper)} has {other}"
    words = f"in query {lists.name(number)} document {lists.document(lower)} has {this}, but {before}"
    return lists.place(lower, lists.kind.rank, words)


def _constant(lists: PlacedLists, number: int) -> Place:
    row, size = int(lists.offsets[number]), int(lists.sizes[number])
    words = f"the {size:,} documents of query {lists.name(number)} have rank {_rank(lists, row)}"
    return lists.place(row, lists.kind.rank, words)


def _begins(lists: PlacedLists, number: int) -> Place:
    row = int(lists.by_rank[int(lists.offsets[number])])
    words = f"in query {lists.name(number)} document {lists.document(row)} has rank {_rank(lists, row)}"
    return lists.place(row, lists.kind.rank, words)


def _odd(lists: PlacedLists, number: int) -> Place:
    """Describe the first rank, in rising order, that leaves a gap or repeats; or the lowest, if it is above 1."""
    start, stop = lists.offsets[number : number + 2].tolist()
    order = lists.by_rank[start:stop]
    ranks, query = cast("IntArray", lists.ranks)[order], lists.name(number)
    if int(ranks[0]) > 1:
        row = int(order[0])
        return lists.place(row, lists.kind.rank, f"in query {query} they begin at {_rank(lists, row)}")
    at = int(np.flatnonzero(ranks[1:] - ranks[:-1] != 1)[0])
    before, row = order[at : at + 2].tolist()
    if ranks[at] == ranks[at + 1]:
        before, row = sorted((before, row))
        words = f"in query {query} rank {_rank(lists, row)} appears again (first on line {lists.line(before)})"
    else:
        words = f"in query {query} the next rank after {_rank(lists, before)} is {_rank(lists, row)}"
    return lists.place(row, lists.kind.rank, words)


def _rank(lists: PlacedLists, row: int) -> str:
    return "" if lists.ranks is None else str(int(lists.ranks[row]))
