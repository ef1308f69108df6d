"""Checks of the scores of a run: constant, tied, made from document ids, or distances (smaller is better)."""

from __future__ import annotations

import numpy as np

from treceval_py._types import BoolArray
from treceval_py.checking.findings import Collector
from treceval_py.checking.lists import Place, PlacedLists, Tally
from treceval_py.data.ranking import FLOAT32, narrowed
from treceval_py.diagnosis.signs import (
    DISTANCES_FROM,
    DISTANCES_FROM_LINES,
    FOLLOWS_FROM,
    WAYS,
    Seen,
    look,
    merged,
    of_queries,
    share_of,
)

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
        self._distances.take(lists, lists.growing, lambda number: _grows(lists, number))
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
        self._tell_constant()
        self._tell_following()
        self._tell_distances()
        self._tell_ties()
        self._tell_close()

    def _tell_constant(self) -> None:
        tally = self._constant
        if tally.count:
            where = of_queries(tally.count, self.seen.queries)
            same = f"all scores of a query are the same {where}: {tally.first.words}"
            todo = "The order of these documents depends only on their ids. Write the scores of the ranking."
            tally.tell(self._collector, "R127", same, todo)

    def _tell_following(self) -> None:
        count = self._following.count
        if self.seen.follows_ids:
            those = "the only query" if count == 1 else f"each of the {count:,} queries"
            suspicion = (
                f"scores follow document ids: in {those} with {FOLLOWS_FROM} or more documents, ids are "
                f"{WAYS[self.seen.ways[0]]} from the highest score on"
            )
            todo = "Write the scores of the ranking, not ids or row numbers."
            self._following.tell(self._collector, "R128", suspicion, todo)

    def _tell_distances(self) -> None:
        tally, seen = self._distances, self.seen
        if not seen.distances:
            return
        enough = f"{DISTANCES_FROM if seen.ranked else DISTANCES_FROM_LINES} or more documents"
        if seen.ranked and seen.lined:
            enough += f", or of {DISTANCES_FROM_LINES} if ranks are unusable"
        suspicion = (
            f"scores look like distances, for which smaller is better: {tally.first.words}, as "
            f"{of_queries(tally.count, seen.ranked + seen.lined)} of {enough}"
        )
        todo = "Scoring puts the highest score first. If these are distances, write them with the opposite sign."
        tally.tell(self._collector, "R129", suspicion, todo)

    def _tell_ties(self) -> None:
        if self.seen.many_ties:
            todo = "Their order depends on ids; treceval --ties shows how much values depend on it."
            self._ties.tell(self._collector, "R130", f"{self.seen.ties}: {self._ties.first.words}", todo)

    def _tell_close(self) -> None:
        count = self._close_pairs
        if not count or count < MANY_CLOSE * self._neighbours:
            return
        nearness = (
            f"{count:,} of {self._neighbours:,} neighbours ({share_of(count, self._neighbours)}) have scores that "
            f"differ, but not in single precision: {self._close.first.words}"
        )
        todo = "trec_eval 9 and pytrec_eval treat them as ties, ordered by id; this program does not."
        self._close.tell(self._collector, "R131", nearness, todo)


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
    score, other = (lists.written(each, lists.kind.score) for each in (row, before))
    words = (
        f"in query {lists.name(number)} document {lists.document(row)} has score {score}, and "
        f"{lists.document(before)} on line {lists.line(before)} has {other}"
    )
    return lists.place(row, lists.kind.score, words)


def _grows(lists: PlacedLists, number: int) -> Place:
    usable, start = bool(lists.usable[number]), int(lists.offsets[number])
    words = f"in query {lists.name(number)} they grow {'with the rank' if usable else 'from line to line'}"
    return lists.place(int(lists.by_rank[start]) if usable else start, lists.kind.score, words)


def _best(lists: PlacedLists, number: int) -> Place:
    return lists.place(int(lists.by_score[int(lists.offsets[number])]), lists.kind.score, "")
