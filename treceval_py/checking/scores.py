"""Checks of the scores of a run: constant, tied, made from document ids, or distances (smaller is better)."""

from __future__ import annotations

import numpy as np

from treceval_py._types import BoolArray
from treceval_py.checking.findings import Collector
from treceval_py.checking.lists import Place, PlacedLists, Tally
from treceval_py.data.ranking import FLOAT32, narrowed
from treceval_py.diagnosis.noting import constant, following_ids, growing
from treceval_py.diagnosis.signs import Seen, look, merged, share_of

MANY_CLOSE = 0.01
"""Share of neighbours that is reported if they are tied in single precision only."""


class ScoreChecks:
    """Checks scores query by query, and reports each kind of finding once per file.

    Parameters
    ----------
    collector : Collector
        Takes the findings.

    Attributes
    ----------
    seen : Seen
        What the columns show.
    """

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self.seen = Seen()
        self._neighbours = self._close_pairs = 0
        self._constant, self._ties, self._close, self._distances = Tally(), Tally(), Tally(), Tally()
        self._following = Tally()

    def take(self, lists: PlacedLists) -> None:
        """Check some queries."""
        if lists.scores is None:
            return
        self.seen = merged([self.seen, look(lists)])
        self._constant.take(lists, lists.constant, lambda number: _constant(lists, number))
        ties = lists.marked(lists.equal) & ~lists.constant
        self._ties.take(lists, ties, lambda number: _pair(lists, number, lists.equal))
        self._take_close(lists)
        first = np.where(lists.usable, lists.by_rank[lists.offsets[:-1]], lists.offsets[:-1])
        self._distances.take(lists, lists.growing, lambda number: lists.place(int(first[number]), lists.kind.score, ""))
        self._following.take(lists, lists.followable, lambda number: _best(lists, number))

    def _take_close(self, lists: PlacedLists) -> None:
        self._neighbours += int(np.count_nonzero(lists.within))
        if self._collector.wants("R131"):
            narrow = narrowed(lists.descending, FLOAT32)
            close = lists.within & ~lists.equal & (narrow[1:] == narrow[:-1])
            self._close_pairs += int(np.count_nonzero(close))
            self._close.take(lists, lists.marked(close), lambda number: _pair(lists, number, close))

    def finish(self) -> None:
        """Report what was found."""
        seen, collector = self.seen, self._collector
        if seen.constant:
            code, same, todo = constant(seen)
            self._constant.tell(collector, code, f"{same}: {self._constant.first.words}", todo)
        if seen.follows_ids:
            self._following.tell(collector, *following_ids(seen))
        if seen.distances:
            self._distances.tell(collector, *growing(seen))
        if seen.many_ties:
            todo = "Their order depends on ids; treceval --ties shows how much values depend on it."
            self._ties.tell(collector, "R130", f"{seen.ties}: {self._ties.first.words}", todo)
        count = self._close_pairs
        if count and count >= MANY_CLOSE * self._neighbours:
            of = f"{count:,} of {self._neighbours:,} neighbours ({share_of(count, self._neighbours)})"
            nearness = f"{of} have scores that differ, but not in single precision: {self._close.first.words}"
            todo = "trec_eval 9 and pytrec_eval treat them as ties, ordered by id; this program does not."
            self._close.tell(collector, "R131", nearness, todo)


def _constant(lists: PlacedLists, number: int) -> Place:
    row, size = int(lists.offsets[number]), int(lists.sizes[number])
    score = lists.written(row, lists.kind.score)
    words = f"the {size:,} documents of query {lists.name(number)} have score {score}"
    return lists.place(row, lists.kind.score, words)


def _pair(lists: PlacedLists, number: int, pairs: BoolArray) -> Place:
    """Describe the first marked pair of neighbours of a query, in the order by score."""
    start, stop = int(lists.offsets[number]), int(lists.offsets[number + 1])
    at = start + int(np.flatnonzero(pairs[start : stop - 1])[0])
    before, row = sorted((int(lists.by_score[at]), int(lists.by_score[at + 1])))
    score, other = (lists.written(place, lists.kind.score) for place in (row, before))
    where = f"{lists.document(before)} on line {lists.line(before)}"
    words = f"in query {lists.name(number)} document {lists.document(row)} has score {score}, and {where} has {other}"
    return lists.place(row, lists.kind.score, words)


def _best(lists: PlacedLists, number: int) -> Place:
    return lists.place(int(lists.by_score[int(lists.offsets[number])]), lists.kind.score, "")
