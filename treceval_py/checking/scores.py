"""Checks of the scores of a run: constant, tied, made from document ids, or distances (smaller is better)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from treceval_py._types import BoolArray, FloatArray
from treceval_py.checking.findings import Collector
from treceval_py.checking.lists import Lists, Seen, Tally, marked, of_queries
from treceval_py.data.ranking import FLOAT32, narrowed

CONSTANT_FROM = 3
"""Fewest documents that count as constant: two with the same score are only a tie."""

MANY_TIES = 0.2
"""Share of tied documents that is reported."""

MANY_CLOSE = 0.01
"""Share of neighbours that is reported if they are tied in single precision only."""

FOLLOWS_FROM = 5
"""Fewest documents of a query whose order is compared with that of ids."""

UNLIKELY = math.log(10_000)
"""Logarithm of the odds against chance from which it is reported that scores follow ids."""

DISTANCES_FROM, DISTANCES_FROM_LINES = 3, 5
"""Fewest documents of a query that can look like distances: judged by ranks, or only by the order of lines."""

DISTANCES_SHARE = 0.9
"""Share of such queries that is reported."""

FIRST_LOOK = 1000
"""Rows of a query that are compared with ids first; in most runs they suffice to rule out that scores follow ids."""

_Key = Callable[[bytes], object]


class ScoreChecks:
    """Checks scores query by query, and reports each kind of finding once per file.

    Parameters
    ----------
    collector : Collector
        Takes the findings.

    Attributes
    ----------
    tied : int
        Number of documents that share their score with another document of their query.
    distances : bool
        Whether scores look like distances; known after `finish`.
    """

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._following = _Following()
        self._queries = self._documents = self._neighbours = 0
        self.tied = 0
        self.distances = False
        self._constant, self._ties, self._close, self._distances = Tally(), Tally(), Tally(), Tally()
        self._in_constant = self._close_pairs = self._ranked = self._in_line = 0

    def take(self, lists: Lists) -> None:
        """Check some queries."""
        if lists.scores is None:
            return
        self._queries += len(lists.qids)
        self._documents += len(lists.scores)
        ordered = lists.scores[lists.by_score]
        constant = lists.same_score & (lists.sizes >= CONSTANT_FROM)
        self._constant.take(lists, constant, lambda number: _constant(lists, number))
        self._in_constant += int(lists.sizes[constant].sum())
        equal = ordered[1:] == ordered[:-1]
        self._take_ties(lists, equal & lists.within, constant)
        self._take_close(lists, ordered, equal)
        self._take_distances(lists)
        self._following.take(lists)

    def _take_ties(self, lists: Lists, equal: BoolArray, constant: BoolArray) -> None:
        tied = np.zeros(len(lists.query), dtype=bool)
        tied[1:] |= equal
        tied[:-1] |= equal
        self.tied += int(tied.sum())
        self._ties.take(lists, marked(lists, equal) & ~constant, lambda number: _pair(lists, number, equal))

    def _take_close(self, lists: Lists, ordered: FloatArray, equal: BoolArray) -> None:
        self._neighbours += int(lists.within.sum())
        if not self._collector.wants("R131"):
            return
        narrow = narrowed(ordered, FLOAT32)
        close = lists.within & ~equal & (narrow[1:] == narrow[:-1])
        self._close_pairs += int(close.sum())
        self._close.take(lists, marked(lists, close), lambda number: _pair(lists, number, close))

    def _take_distances(self, lists: Lists) -> None:
        """Count queries whose scores only grow with the rank or, if ranks cannot order them, from line to line."""
        if lists.scores is None:
            return
        ranked = np.zeros(len(lists.sizes), dtype=bool) if lists.ranks is None else ~lists.same_rank
        enough = np.where(ranked, DISTANCES_FROM, DISTANCES_FROM_LINES)
        eligible = ~lists.same_score & (lists.sizes >= enough)
        self._ranked += int((eligible & ranked).sum())
        self._in_line += int((eligible & ~ranked).sum())
        if lists.rows.ordered:
            return
        order = np.arange(len(lists.query))
        if ranked.any():
            # By rank if the ranks can order the query; otherwise lines keep their order.
            rows = np.repeat(ranked, lists.sizes)
            order[rows] = lists.by_rank[rows]
        ordered = lists.scores[order]
        grows = eligible & ~marked(lists, ordered[1:] < ordered[:-1])
        self._distances.take(lists, grows, lambda number: _grows(lists, number, int(order[lists.offsets[number]])))

    def finish(self) -> None:
        """Report what was found."""
        self._tell_constant()
        self._following.tell(self._collector)
        self._tell_distances()
        self._tell_ties()
        self._tell_close()

    def _tell_constant(self) -> None:
        tally = self._constant
        if tally.count:
            same = f"all scores of a query are the same {of_queries(tally.count, self._queries)}: {tally.first.words}"
            todo = "The order of these documents depends only on their ids. Write the scores of the ranking."
            tally.tell(self._collector, "R127", same, todo)

    def _tell_distances(self) -> None:
        tally, eligible = self._distances, self._ranked + self._in_line
        self.distances = tally.count > 0 and tally.count >= DISTANCES_SHARE * eligible
        if not self.distances:
            return
        enough = f"{DISTANCES_FROM if self._ranked else DISTANCES_FROM_LINES} or more documents"
        if self._ranked and self._in_line:
            enough += f", or of {DISTANCES_FROM_LINES} if ranks are unusable"
        suspicion = (
            f"scores look like distances, for which smaller is better: {tally.first.words}, as "
            f"{of_queries(tally.count, eligible)} of {enough}"
        )
        todo = "Scoring puts the highest score first. If these are distances, write them with the opposite sign."
        tally.tell(self._collector, "R129", suspicion, todo)

    def _tell_ties(self) -> None:
        # Queries with constant scores were already reported.
        tied, documents = self.tied - self._in_constant, self._documents - self._in_constant
        if not tied or tied < MANY_TIES * documents:
            return
        ties = (
            f"{tied:,} of {documents:,} documents ({_share(tied, documents)}) share their score with another document "
            f"of their query: {self._ties.first.words}"
        )
        todo = "Their order depends on ids; treceval --ties shows how much values depend on it."
        self._ties.tell(self._collector, "R130", ties, todo)

    def _tell_close(self) -> None:
        count = self._close_pairs
        if not count or count < MANY_CLOSE * self._neighbours:
            return
        nearness = (
            f"{count:,} of {self._neighbours:,} neighbours ({_share(count, self._neighbours)}) have scores that "
            f"differ, but not in single precision: {self._close.first.words}"
        )
        todo = "trec_eval 9 and pytrec_eval treat them as ties, ordered by id; this program does not."
        self._close.tell(self._collector, "R131", nearness, todo)


def _share(count: int, number: int) -> str:
    """Return a share in per cent, rounded down so that only the whole is 100 %."""
    return f"{math.floor(1000 * count / number) / 10:.1f} %"


def _constant(lists: Lists, number: int) -> Seen:
    row, size = int(lists.offsets[number]), int(lists.sizes[number])
    words = f"the {size:,} documents of query {lists.name(number)} have score {_score(lists, row)}"
    return lists.seen(row, lists.kind.score, words)


def _pair(lists: Lists, number: int, pairs: BoolArray) -> Seen:
    """Describe the first marked pair of neighbours of a query, in the order by score."""
    start, stop = int(lists.offsets[number]), int(lists.offsets[number + 1])
    at = start + int(np.flatnonzero(pairs[start : stop - 1])[0])
    before, row = sorted((int(lists.by_score[at]), int(lists.by_score[at + 1])))
    words = (
        f"in query {lists.name(number)} document {lists.document(row)} has score {_score(lists, row)}, and "
        f"{lists.document(before)} on line {lists.line(before)} has {_score(lists, before)}"
    )
    return lists.seen(row, lists.kind.score, words)


def _grows(lists: Lists, number: int, row: int) -> Seen:
    by_rank = lists.ranks is not None and not lists.same_rank[number]
    words = f"in query {lists.name(number)} they grow {'with the rank' if by_rank else 'from line to line'}"
    return lists.seen(row, lists.kind.score, words)


def _score(lists: Lists, row: int) -> str:
    return "" if lists.kind.score is None else lists.written(row, lists.kind.score)


def _by_number(docid: bytes) -> tuple[bytes, int, bytes]:
    """Return a sort key that orders ids by the number at their end if the rest is equal."""
    before = docid.rstrip(b"0123456789")
    digits = docid[len(before) :].lstrip(b"0")  # not as an integer: there may be a million of them
    return before, len(digits), digits


def _by_text(docid: bytes) -> bytes:
    return docid


class _Way(NamedTuple):
    """A way in which scores can follow ids: from the best document on, ids rise or fall."""

    words: str
    key: _Key
    rising: bool


_WAYS: tuple[_Way, ...] = (
    _Way("rising", _by_text, True),
    _Way("falling", _by_text, False),
    _Way("rising by their numbers", _by_number, True),
    _Way("falling by their numbers", _by_number, False),
)


class _Following:
    """Whether in every query of a run the order by score is the order of document ids."""

    def __init__(self) -> None:
        self._ways = _WAYS
        self._queries = Tally()
        self._evidence = 0.0  # minus the logarithm of the probability that ids are in one given order by chance

    def take(self, lists: Lists) -> None:
        """Check queries until one shows that scores do not follow ids."""
        if not self._ways or lists.scores is None:
            return
        looked_at = (lists.sizes >= FOLLOWS_FROM) & ~lists.same_score
        for number in np.flatnonzero(looked_at).tolist():
            start, stop = int(lists.offsets[number]), int(lists.offsets[number + 1])
            for end in sorted({min(start + FIRST_LOOK, stop), stop}):
                docids, scores = lists.rows.docids.raw(start, end), lists.scores[start:end]
                self._ways = tuple(way for way in self._ways if _follows(docids, scores, way))
                if not self._ways:
                    return
            groups = np.unique(lists.scores[start:stop], return_counts=True)[1].tolist()
            self._evidence += math.lgamma(stop - start + 1) - sum(math.lgamma(size + 1) for size in groups)
        self._queries.take(lists, looked_at, lambda number: _best(lists, number))

    def tell(self, collector: Collector) -> None:
        """Add a finding if chance is an unlikely explanation."""
        if not self._ways or not self._queries.count or self._evidence < UNLIKELY:
            return
        count = self._queries.count
        those = "the only query" if count == 1 else f"each of the {count:,} queries"
        suspicion = (
            f"scores follow document ids: in {those} with {FOLLOWS_FROM} or more documents, ids are "
            f"{self._ways[0].words} from the highest score on"
        )
        self._queries.tell(collector, "R128", suspicion, "Write the scores of the ranking, not ids or row numbers.")


def _follows(docids: list[bytes], scores: FloatArray, way: _Way) -> bool:
    order = sorted(range(len(docids)), key=lambda at: way.key(docids[at]), reverse=not way.rising)  # type: ignore[arg-type, return-value]
    ordered = scores[order]
    return bool((ordered[1:] <= ordered[:-1]).all())


def _best(lists: Lists, number: int) -> Seen:
    return lists.seen(int(lists.by_score[int(lists.offsets[number])]), lists.kind.score, "")
