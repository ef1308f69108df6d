"""Judged runs: the small table from which measures are computed.

Only judged documents have a row. Unjudged documents take up ranks and are counted. So the cost of a measure grows with
the number of judged documents retrieved, not with the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any, NamedTuple, TypeVar

import numpy as np

from treceval_py._types import BoolArray, FloatArray, IntArray
from treceval_py.errors import brief

T = TypeVar("T")


class Hits(NamedTuple):
    """Judged documents at their ranks, sorted by query and rank.

    Attributes
    ----------
    query : (H,) int array
        The row of the query in `JudgedRun.qids`.
    rank : (H,) int array
        The rank, from 1.
    rel : (H,) int array
        The judgment; negative means in the pool but not judged.
    """

    query: IntArray
    rank: IntArray
    rel: IntArray

    def __repr__(self) -> str:
        return f"<Hits: {len(self.rank):,} judged documents>"

    def where(self, mask: BoolArray) -> Hits:
        """Return the rows for which ``mask`` (H,) is true."""
        return Hits(self.query[mask], self.rank[mask], self.rel[mask])

    @classmethod
    def concatenate(cls, parts: Sequence[Hits]) -> Hits:
        """Concatenate the tables `parts`."""
        if not parts:
            return cls(*(np.zeros(0, dtype=np.int64) for _ in range(3)))
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("query", "rank", "rel")))


class Tied(NamedTuple):
    """First and last rank each judged document could have if ties were broken differently.

    Attributes
    ----------
    first, last : (H,) int arrays
        The first and the last rank of the documents with the same score as this row of `JudgedRun.hits`.
    """

    first: IntArray
    last: IntArray

    def where(self, mask: BoolArray | IntArray) -> Tied:
        """Return the rows selected by a mask or an order."""
        return Tied(self.first[mask], self.last[mask])


class Found(NamedTuple):
    """The retrieved documents that are relevant at some level, sorted by query and rank.

    Attributes
    ----------
    query, rank : (F,) int arrays
        As in `Hits`.
    nth : (F,) int array
        The number of relevant documents of the query at this rank or above.
    nonrelevant : (F,) int array
        The number of higher-ranked documents of the query that are judged not relevant.
    unjudged : (F,) int array
        The number of higher-ranked documents of the query that have a negative judgment.
    """

    query: IntArray
    rank: IntArray
    nth: IntArray
    nonrelevant: IntArray
    unjudged: IntArray


@dataclass(frozen=True, eq=False, repr=False)
class JudgedRun:
    """A run matched with judgments, from which every measure is computed.

    Attributes
    ----------
    qids : tuple of str, length Q
        The queries in byte order, which is the order of all output.
    hits : Hits
        The judged documents that were retrieved.
    ideal : Hits
        All judged documents in the order of the best possible ranking: by descending judgment.
    num_ret : (Q,) int array
        The number of documents retrieved.
    tag : str
        The run's tag.
    tied : Tied or None
        The ranks that hits could have, if requested.
    confidence : (Q, 3) float array or None
        The system's confidence in each query, if requested: the highest score, the standard deviation of the scores,
        and the difference between the two highest; 0 if there are no such documents.
    documents : tuple of RankedQuery, length Q, or None
        All documents of each query, if requested.
    """

    qids: tuple[str, ...]
    hits: Hits
    ideal: Hits
    num_ret: IntArray
    tag: str = ""
    tied: Tied | None = None
    confidence: FloatArray | None = None
    documents: tuple[RankedQuery, ...] | None = None
    _made: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)
    _known: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def num_queries(self) -> int:
        """The number of queries, Q."""
        return len(self.qids)

    def __repr__(self) -> str:
        counts = f"{self.num_queries:,} queries, {int(self.num_ret.sum()):,} documents, {len(self.hits.rank):,} judged"
        return f"<JudgedRun {brief(self.tag)!r}: {counts}>"

    def once(self, key: object, make: Callable[[], T]) -> T:
        """Return what `make` returns, called only the first time that `key` is given."""
        if key not in self._made:
            self._made[key] = make()
        made: T = self._made[key]
        return made

    def known(self, key: object, make: Callable[[], T]) -> T:
        """Return what `make` returns, called once for each `key`; judgments decide it, so runs share it."""
        if key not in self._known:
            self._known[key] = make()
        found: T = self._known[key]
        return found

    def count(self, hits_query: IntArray) -> IntArray:
        """Count rows by query; ``hits_query`` (N,) holds query rows. Returns (Q,)."""
        counts: IntArray = np.bincount(hits_query, minlength=len(self.qids)).astype(np.int64, copy=False)
        return counts

    def sum(self, hits_query: IntArray, values: FloatArray) -> FloatArray:
        """Add `values` (N,) by query, `hits_query` (N,), sequentially as a C loop does. Returns (Q,)."""
        # np.add.reduceat and np.sum add pairwise and differ in the last bits; reduceat is wrong for empty queries.
        totals: FloatArray = np.bincount(hits_query, weights=values, minlength=len(self.qids)).astype(
            np.float64, copy=False
        )
        return totals

    def num_rel(self, level: int) -> IntArray:
        """Count the documents judged `level` or more per query, retrieved or not. Returns (Q,)."""
        known, key = self._known, ("num_rel", level)
        if key not in known:
            queries = self.ideal.query[self.ideal.rel >= max(level, 0)]
            known[key] = np.bincount(queries, minlength=len(self.qids)).astype(np.int64, copy=False)
        found: IntArray = known[key]
        return found

    def num_nonrel(self, level: int) -> IntArray:
        """Count the documents judged below `level` per query, retrieved or not. Returns (Q,)."""
        rel = self.ideal.rel
        return self.known(("num_nonrel", level), lambda: self.count(self.ideal.query[(rel >= 0) & (rel < level)]))

    def num_rel_ret(self, level: int) -> IntArray:
        """Count the documents judged `level` or more that were retrieved per query. Returns (Q,)."""
        return self.once(("num_rel_ret", level), lambda: self.count(self.found(level).query))

    def found(self, level: int) -> Found:
        """Return the retrieved documents that are judged ``level`` or higher."""
        made, key, hits = self._made, ("found", level), self.hits
        if key in made:
            kept: Found = made[key]
            return kept
        relevant = hits.rel >= max(level, 0)
        unjudged = hits.rel < 0
        at = np.flatnonzero(relevant)
        query = hits.query[at]
        first = np.searchsorted(hits.query, np.arange(len(self.qids)))[query]
        # For each kind of document: the number above each row, minus the number above the first row of its query.
        nth, nonrelevant, negative = [
            (before := np.append(0, np.cumsum(kind)))[at] - before[first]
            for kind in (relevant, ~relevant & ~unjudged, unjudged)
        ]
        made[key] = relevant_hits = Found(query, hits.rank[at], nth + 1, nonrelevant, negative)
        return relevant_hits

    def starts(self, hits: Hits) -> IntArray:
        """Return the first row of each query in `hits`, a table sorted by query: (Q + 1,)."""
        starts: IntArray = np.searchsorted(hits.query, np.arange(len(self.qids) + 1)).astype(np.int64)
        return starts

    def select(self, keep: BoolArray) -> JudgedRun:
        """Return the judged run of the queries selected by ``keep`` (Q,)."""
        if keep.all():
            return self
        renumbered = np.cumsum(keep) - 1

        def of(hits: Hits) -> Hits:
            kept = hits.where(keep[hits.query])
            return Hits(renumbered[kept.query], kept.rank, kept.rel)

        qids = tuple(qid for qid, kept in zip(self.qids, keep.tolist(), strict=True) if kept)
        tied = None if self.tied is None else self.tied.where(keep[self.hits.query])
        documents = None if self.documents is None else tuple(compress(self.documents, keep.tolist()))
        sure = None if self.confidence is None else self.confidence[keep]
        return JudgedRun(qids, of(self.hits), of(self.ideal), self.num_ret[keep], self.tag, tied, sure, documents)


class RankedQuery(NamedTuple):
    """One query as ranked by a run, with all its documents: the input of user-defined measures by query.

    Attributes
    ----------
    qid : str
        The query.
    docids : tuple of str, length N
        The retrieved documents, best first; empty for a query that the run lacks.
    scores : (N,) float array
        Their scores.
    ranks : (N,) int array
        Their ranks, from 1.
    labels : tuple of int or None, length N
        Their judgments; None for an unjudged document.
    judgments : dict of str to int
        All judgments of the query by document, as given.
    """

    qid: str
    docids: tuple[str, ...]
    scores: FloatArray
    ranks: IntArray
    labels: tuple[int | None, ...]
    judgments: dict[str, int]

    def __repr__(self) -> str:
        return f"<RankedQuery {brief(self.qid)!r}: {len(self.docids):,} documents, {len(self.judgments):,} judgments>"

    def first(self, cutoff: int) -> RankedQuery:
        """Return the query with only the documents down to rank `cutoff`."""
        size = int((self.ranks <= cutoff).sum())
        return self._replace(
            docids=self.docids[:size], scores=self.scores[:size], ranks=self.ranks[:size], labels=self.labels[:size]
        )


class GroupJudgments(NamedTuple):
    """The judgments of all groups, one row per judgment, sorted by query, document and group.

    Attributes
    ----------
    query : (J,) int array
        The row of the query in `JudgedGroups.qids`.
    group : (J,) int array
        The judged ranking of the group, a row of `JudgedGroups.run`.
    document : (J,) int array
        The document's number in the query, from 0, in byte order of ids.
    rank : (J,) int array
        The document's rank; 0 if it was not retrieved.
    rel : (J,) int array
        The judgment.
    """

    query: IntArray
    group: IntArray
    document: IntArray
    rank: IntArray
    rel: IntArray


class JudgedGroups(NamedTuple):
    """A run matched with the judgments of several groups: one judged ranking per query and group.

    Attributes
    ----------
    qids : tuple of str, length Q
        The queries in byte order.
    query : (G,) int array
        The query of each judged ranking; the groups of a query are in byte order.
    run : JudgedRun
        The G judged rankings, each treated as a separate query.
    judgments : GroupJudgments
        All judgments, retrieved or not, by document.
    """

    qids: tuple[str, ...]
    query: IntArray
    run: JudgedRun
    judgments: GroupJudgments

    @property
    def tag(self) -> str:
        """The run's tag."""
        return self.run.tag

    @property
    def num_queries(self) -> int:
        """The number of queries, Q."""
        return len(self.qids)

    def select(self, keep: BoolArray) -> JudgedGroups:
        """Return the judged groups of the queries selected by ``keep`` (Q,)."""
        rankings = keep[self.query]
        judgments = GroupJudgments(*(column[keep[self.judgments.query]] for column in self.judgments))
        row, group = np.cumsum(keep) - 1, np.cumsum(rankings) - 1
        return JudgedGroups(
            tuple(compress(self.qids, keep.tolist())),
            row[self.query[rankings]],
            self.run.select(rankings),
            judgments._replace(query=row[judgments.query], group=group[judgments.group]),
        )

    def mean(self, values: FloatArray) -> FloatArray:
        """Average a value per judged ranking (G,) over the groups of each query. Returns (Q,)."""
        totals = np.bincount(self.query, weights=values, minlength=len(self.qids))
        return ratio(totals, np.bincount(self.query, minlength=len(self.qids)))


def ratio(numerator: FloatArray | IntArray, denominator: FloatArray | IntArray) -> FloatArray:
    """Divide elementwise; the result is 0 if the denominator is 0, as in every measure's empty case."""
    result = np.zeros(np.broadcast(numerator, denominator).shape)
    np.divide(numerator, denominator, out=result, where=np.asarray(denominator) != 0)
    return result


def nth_of(query: IntArray) -> IntArray:
    """Return the position of each row in its query, from 1; rows are sorted by query. (N,)."""
    begins = np.flatnonzero(np.diff(query, prepend=-1))
    return np.arange(1, len(query) + 1) - np.repeat(begins, np.diff(begins, append=len(query)))


def ranked_labels(labels: str, missed: str = "") -> JudgedRun:
    """Return the judged run of one query from its labels in rank order, for worked examples and tests.

    Parameters
    ----------
    labels : str
        One label per rank, separated by blanks: a judgment, or ``-`` for an unjudged document.
    missed : str
        The judgments of documents that were not retrieved.

    Examples
    --------
    >>> hits = ranked_labels("1 - 0", missed="2").hits
    >>> hits.rank.tolist(), hits.rel.tolist()
    ([1, 3], [1, 0])
    """
    rank, rel = [], []
    for position, label in enumerate(labels.split(), 1):
        if label != "-":
            rank.append(position)
            rel.append(int(label))
    best = sorted([*rel, *map(int, missed.split())], reverse=True)

    def table(ranks: Sequence[int], rels: Sequence[int]) -> Hits:
        zeros = np.zeros(len(rels), dtype=np.int64)
        return Hits(zeros, np.array(ranks, dtype=np.int64), np.array(rels, dtype=np.int64))

    num_ret = np.array([len(labels.split())], dtype=np.int64)
    return JudgedRun(("q",), table(rank, rel), table(range(1, len(best) + 1), best), num_ret, "example")
