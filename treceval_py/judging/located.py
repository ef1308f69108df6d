"""Find the ranks of the judged documents of a run, and reduce a run to the documents that decide them.

Under the usual ranking, the ranks of judged documents are found without sorting the others. For any other one, a run
is a table with labels. A judged document changes places only with documents that have its score, at least in single
precision. These can be kept, and documents that a ranking removes, such as the query's own; all others are counted. So
a run of millions of lines becomes a table of its judged documents, on which any number of rankings can be tried.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from treceval_py._types import BoolArray, ByteArray, FloatArray, IntArray
from treceval_py.data.qrels import Qrels
from treceval_py.data.ranking import (
    FLOAT32,
    ORDERS,
    PLAIN,
    SORTED_BY_INSERTION,
    Arranged,
    Ranking,
    arrange,
    documents,
    limit_of,
    narrowed,
    own_rows,
    rows_by_rank,
    without_self,
)
from treceval_py.data.run import Run, joined
from treceval_py.judging.judged import Hits, RankedQuery, Tied, nth_of
from treceval_py.scan import scanner

UNJUDGED = np.iinfo(np.int64).min
"""Stands for the label of a document without a judgment."""

LONGEST_NUMBER = 15
"""Digits up to which whole numbers have a float of their own."""


class Located(NamedTuple):
    """Ranks of the judged documents of a run, or of some of its queries.

    Attributes
    ----------
    rows : (Q,) int array
        The row in the judgments of each of the run's queries; negative for a query without judgments.
    hits : Hits
        The judged documents; ``query`` is a row of the judgments. Sorted by rank within a query.
    num_ret : (Q,) int array
        The number of documents of each query that count.
    twice : int or None
        A row of the run whose document already occurred in the query, if repetitions were checked and found.
    tied : Tied or None
        The ranks that hits could have, if the ranking requests them.
    confidence : (Q, 3) float array or None
        As in `JudgedRun`, by query of the run, if the ranking requests it.
    known : Hits or None
        All judged documents that were retrieved, if some are not among the hits.
    documents : dict of int to RankedQuery, or None
        All documents by the query's row in the judgments, if the ranking requests them.
    """

    rows: IntArray
    hits: Hits
    num_ret: IntArray
    twice: int | None = None
    tied: Tied | None = None
    confidence: FloatArray | None = None
    known: Hits | None = None
    documents: dict[int, RankedQuery] | None = None


@lru_cache(maxsize=64)
def limit_if_plain(ranking: Ranking) -> int | None:
    """Return the number of documents of a query that count; None if the ranking needs a table of all documents."""
    return limit_of(ranking.depth) if ranking.plain else None


def located_plainly(qrels: Qrels, run: Run, ranking: Ranking) -> Located:
    """Find ranks by score, ties by descending id."""
    rows, limit, compiled = qrels.rows_of(run.qids), limit_of(ranking.depth), scanner()
    if compiled is not None:
        of_run = run.docids.buffer, run.docids.offsets, run.scores, run.offsets, rows
        of_judgments = qrels.docids.buffer, qrels.docids.offsets, qrels.offsets, qrels.rels
        narrow = ranking.score_type == FLOAT32
        *hits, num_ret, twice = compiled.judge(*of_run, *of_judgments, narrow, limit, ranking.judged_only)
        return Located(rows, Hits(*hits), num_ret, twice if twice >= 0 else None)
    tables: list[Hits] = []
    num_ret = np.zeros(len(rows), dtype=np.int64)
    for query, row in enumerate(rows.tolist()):
        if row < 0:
            continue
        docids, scores = documents(run, query, ranking.score_type)
        rank, rel, num_ret[query] = _judge_documents(docids, scores, qrels.judgments(row), limit, ranking.judged_only)
        tables.append(Hits(np.full(len(rank), row, dtype=np.int64), rank, rel))
    return Located(rows, Hits.concatenate(tables), num_ret)


def rows_of_judged(qrels: Qrels, run: Run) -> tuple[IntArray, IntArray]:
    """Return the rows of a run's judged documents, and their judgments. (H,) each."""
    by_line = run.having(run.docids, -np.arange(len(run.docids), dtype=np.float64))
    rows, hits, *_ = located_plainly(qrels, by_line, PLAIN)
    query = np.full(len(qrels), -1, dtype=np.int64)
    query[rows[rows >= 0]] = np.flatnonzero(rows >= 0)
    return run.offsets[query[hits.query]] + hits.rank - 1, hits.rel


def _judge_documents(
    docids: Sequence[bytes],
    scores: FloatArray,
    judgments: dict[bytes, int],
    limit: int,
    judged_only: bool,
) -> tuple[IntArray, IntArray, int]:
    """Return rank and rel of the judged documents in rank order, and the number of documents retrieved."""
    pairs = [(row, rel) for row, rel in enumerate(map(judgments.get, docids)) if rel is not None]
    rows, rels = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    ranks = _ranks(docids, scores, rows)
    order = np.argsort(ranks)
    ranks, rels = ranks[order], rels[order]
    within = ranks <= limit
    ranks, rels = ranks[within], rels[within]
    if not judged_only:
        return ranks, rels, min(limit, len(docids))
    rels = rels[rels >= 0]
    return np.arange(1, len(rels) + 1), rels, len(rels)


def _ranks(docids: Sequence[bytes], scores: FloatArray, rows: IntArray) -> IntArray:
    """Return the ranks of some documents: 1 + the number of documents above, found without sorting these."""
    sought = scores[rows]
    ascending = np.sort(scores)
    after = np.searchsorted(ascending, sought, side="right")
    ranks: IntArray = len(scores) - after + 1
    tied = after - np.searchsorted(ascending, sought, side="left") > 1
    for score in np.unique(sought[tied]):
        ids = sorted([docids[row] for row in np.flatnonzero(scores == score).tolist()])
        for at in np.flatnonzero(sought == score).tolist():
            ranks[at] += len(ids) - bisect_right(ids, docids[rows[at]])
    return ranks


class Reduced(NamedTuple):
    """A run with the documents that decide the ranks of judged ones; the others are counted.

    Attributes
    ----------
    run : Run
        The documents kept, C of them, in line order within a query. All Q queries are listed.
    sizes : (Q,) int array
        Number of documents of each query, kept or not.
    labels : (C,) int array
        The judgments; `UNJUDGED` without one.
    hidden : (3, C) int array
        Number of documents of the query that were not kept and come first: by score, by the rank column, by line.
    ties : bool
        Whether documents of a query have equal scores.
    """

    run: Run
    sizes: IntArray
    labels: IntArray
    hidden: IntArray
    ties: bool

    @property
    def has_ranks(self) -> bool:
        """Whether there is a rank column from 1 on."""
        ranks = self.run.ranks
        return ranks is not None and int(self.sizes.sum()) > 0 and int(ranks.min(initial=1)) >= 1

    @classmethod
    def concatenate(cls, parts: Sequence[Reduced]) -> Reduced:
        """Join runs of different queries."""
        if len(parts) == 1:
            return parts[0]
        sizes, labels, hidden = (
            np.concatenate([getattr(part, name) for part in parts], axis=-1) for name in ("sizes", "labels", "hidden")
        )
        return cls(joined([part.run for part in parts]), sizes, labels, hidden, any(part.ties for part in parts))

    def negated(self, *, reverse: bool) -> Reduced:
        """Return the run with negative scores, and with its lines in reverse order if that is requested."""
        run = self.run
        lengths = np.diff(run.offsets)
        left_out = np.repeat(self.sizes - lengths, lengths)
        rows = np.arange(len(left_out))
        by_score, by_rank, by_line = self.hidden
        if reverse:
            rows = np.repeat(run.offsets[:-1] + run.offsets[1:] - 1, lengths) - rows
            by_line = left_out - by_line
        hidden = np.stack([left_out - by_score, by_rank, by_line])[:, rows]
        negative = run.having(run.docids.take(rows), -run.scores[rows])
        return self._replace(run=negative, labels=self.labels[rows], hidden=hidden)

    def located(self, qrels: Qrels, ranking: Ranking) -> Located:
        """Find the ranks of the judged documents under a ranking, but not its documents."""
        rows = qrels.rows_of(self.run.qids)
        part, limit = self, limit_of(ranking.depth)
        if ranking.self_hits == "drop":
            part = self._without(own_rows(self.run))
        by_column = ranking.order == "rank" and not ranking.judged_only
        if ranking.judged_only and (ranking.tied or ranking.confidence or ranking.not_positive == "miss"):
            # The possible ranks of tied documents, and the highest scores, depend on which documents remain.
            order, _, ranks, _ = part._ordered(ranking._replace(tied=False), part.labels >= 0)
            part = part._without(np.setdiff1d(np.arange(len(part.labels)), order[ranks <= limit]))
            lengths = np.diff(part.run.offsets)
            part, limit = part._replace(sizes=lengths, hidden=np.zeros_like(part.hidden)), limit_of(None)
        labels, lowest = part.labels, 0 if ranking.judged_only else UNJUDGED + 1
        if ranking.pooled and not ranking.judged_only:
            pooled = np.array([docid in qrels.pool for docid in part.run.docids.raw()], dtype=bool)
            labels = np.where(pooled & (labels == UNJUDGED), -1, labels)
        order, query, ranks, tied = part._ordered(ranking, (labels >= lowest) | by_column)
        num_ret = np.minimum(part.sizes, limit)
        if by_column and part.run.ranks is not None and self.run.ranks is not None:
            ranks = part.run.ranks[order]
            num_ret = np.bincount(query[ranks <= limit], minlength=len(rows))
            # Unless all documents were kept, ranks run from 1 to the number of documents.
            lengths = np.diff(self.run.offsets)
            near = np.bincount(np.repeat(np.arange(len(rows)), lengths)[self.run.ranks <= limit], minlength=len(rows))
            num_ret += np.where(self.sizes > lengths, np.minimum(self.sizes, limit) - near, 0)
        if ranking.tied and tied is None:
            tied = Tied(ranks, ranks)  # no two documents have the same rank, so each can only have its own
        sure = None
        if ranking.confidence:
            scores = part.run.scores
            scores = scores if ranking.order == "rank" else scores[part.arranged(ranking).order]
            sure = _confidences(scores, part.run.offsets, limit)
        within = (labels[order] >= lowest) & (ranks <= limit) & (rows[query] >= 0)
        order, ranks, query, tied = order[within], ranks[within], query[within], tied and tied.where(within)
        if ranking.judged_only:
            ranks = nth_of(query)
            num_ret = np.bincount(query, minlength=len(rows))
            tied = tied if tied is None or ranking.order != "rank" else Tied(ranks, ranks)
        hits, known = Hits(rows[query], ranks, labels[order]), None
        if ranking.not_positive == "miss":
            above = narrowed(part.run.scores[order], ranking.score_type) > 0
            hits, known, tied = hits.where(above), hits, tied and tied.where(above)
        return Located(rows, hits, np.where(rows >= 0, num_ret, 0), None, tied, sure, known)

    def arranged(self, ranking: Ranking) -> Arranged:
        """Rank the documents kept, the query's own included."""
        labels = np.where(self.labels == UNJUDGED, 0, self.labels) if ranking.ties == "worst" else None
        return arrange(self.run, ranking._replace(self_hits="keep"), labels)

    def _without(self, gone: IntArray) -> Reduced:
        """Return the run without some of its documents (G,), whose places others take."""
        if not len(gone):
            return self
        keep = np.ones(len(self.labels), dtype=bool)
        keep[gone] = False
        run = self.run.where(keep)
        sizes = self.sizes - np.diff(self.run.offsets) + np.diff(run.offsets)
        return self._replace(run=run, sizes=sizes, labels=self.labels[keep], hidden=self.hidden[:, keep])

    def _ordered(self, ranking: Ranking, mask: BoolArray) -> tuple[IntArray, IntArray, IntArray, Tied | None]:
        """Return the rows of a mask (C,) by query and rank, their queries and ranks, and the ranks of ties."""
        run, first, last = self.run, None, None
        query = np.repeat(np.arange(len(run.qids)), np.diff(run.offsets))
        if ranking.order == "rank":
            order = rows_by_rank(run, query, ranking)
            query = query[order]
        else:
            _, order, _, first, last = self.arranged(ranking)
        starts = np.searchsorted(query, np.arange(len(run.qids)))
        at = np.flatnonzero(mask[order])
        order, query = order[at], query[at]
        above = self.hidden[ORDERS.index(ranking.order)][order]
        tied = None if first is None or last is None else Tied(first[at] + above, last[at] + above)
        return order, query, at - starts[query] + 1 + above, tied


def _confidences(scores: FloatArray, offsets: IntArray, limit: int) -> FloatArray:
    """Return each query's highest score, standard deviation of scores, and difference of the two highest. (Q, 3)."""
    sure = np.zeros((len(offsets) - 1, 3))
    for query, (start, stop) in enumerate(pairwise(offsets.tolist())):
        best = np.sort(scores[start : min(stop, start + limit)])[::-1]
        if len(best):
            sure[query] = best[0], best.std(), best[0] - best[1] if len(best) > 1 else 0.0
    return sure


def labelled(qrels: Qrels, run: Run) -> Reduced:
    """Keep all documents of a run; whether some have equal scores is left open."""
    count = len(run.docids)
    judged, rels = rows_of_judged(qrels, run)
    labels = np.full(count, UNJUDGED)
    labels[judged] = rels
    return Reduced(run, np.diff(run.offsets), labels, np.broadcast_to(np.int64(0), (3, count)), ties=False)


def locate(qrels: Qrels, run: Run, ranking: Ranking = PLAIN) -> Located:
    """Find the ranks of the judged documents of a run."""
    if ranking.documents:
        from treceval_py.judging.documents import ranked_documents

        located = locate(qrels, run, ranking._replace(documents=False))
        whole = without_self(run) if ranking.self_hits == "drop" else run
        ordered = labelled(qrels, whole).arranged(ranking._replace(tied=False))
        return located._replace(documents=ranked_documents(qrels, whole, located.rows, ranking, ordered))
    if limit_if_plain(ranking) is not None:
        return located_plainly(qrels, run, ranking)
    return labelled(qrels, run).located(qrels, ranking)


def reduced(qrels: Qrels, run: Run, *, whole: bool = False) -> Reduced:
    """Keep the documents of a run that decide the ranks of judged ones; all of them if `whole`."""
    _, sizes, labels, hidden, _ = everything = labelled(qrels, run)
    count = len(labels)
    query, by_line = np.repeat(np.arange(len(sizes)), sizes), np.arange(count)
    within = query[1:] == query[:-1]
    by_score = by_rank = by_line
    if (within & (run.scores[1:] > run.scores[:-1])).any():  # most runs are already in order
        by_score = np.lexsort((-run.scores, query))
    scores = run.scores[by_score]
    ties = bool((within & (scores[1:] == scores[:-1])).any())
    if whole:
        return everything._replace(ties=ties)
    scores = narrowed(scores, FLOAT32)
    group = np.append(0, np.cumsum(~within | (scores[1:] != scores[:-1])))[:count]
    widths = np.bincount(group)
    near = np.zeros(len(widths), dtype=bool)
    near[group[labels[by_score] != UNJUDGED]] = True
    keep = near[group]
    # All documents decide where ranx's sort leaves equal ones, and what irregular ranks mean.
    entire = np.zeros(len(sizes), dtype=bool)
    entire[query[keep & (widths > 1)[group] & (sizes > SORTED_BY_INSERTION)[query]]] = True
    keep[by_score] = keep.copy()
    own = own_rows(run)
    if run.ranks is not None and count:
        least = int(run.ranks.argmin())
        if run.ranks[least] < 1:
            keep[np.setdiff1d(np.flatnonzero(run.ranks < 1), own)[:1]] = True  # a refusal names it
        elif (run.ranks != by_line - run.offsets[query] + 1).any():
            by_rank = np.lexsort((run.ranks, query))
            entire[query[run.ranks[by_rank] != by_line - run.offsets[query] + 1]] = True
    keep |= entire[query]
    keep[own] = True
    hidden = hidden.copy()
    for above, order in zip(hidden, (by_score, by_rank, by_line), strict=True):
        gone = np.append(0, np.cumsum(~keep[order]))
        above[order] = gone[:-1] - gone[run.offsets[query]]
    return Reduced(run.where(keep), sizes, labels[keep], hidden[:, keep], ties)


def numbered(run: Run) -> Run | None:
    """Return a run with its document ids as scores; None unless all are whole numbers that a float can hold."""
    lengths = np.diff(run.docids.offsets)
    digits: ByteArray = np.frombuffer(run.docids.buffer, dtype=np.uint8) - ord("0")  # others become large
    longest = int(lengths.max(initial=0))
    if int(digits.max(initial=0)) > 9 or int(lengths.min(initial=1)) < 1 or longest > LONGEST_NUMBER:
        return None
    numbers, at = np.zeros(len(lengths)), run.docids.offsets[:-1].copy()
    for place in range(longest):
        more = lengths > place
        numbers[more] = 10 * numbers[more] + digits[at[more] + place]
    return run.having(run.docids, numbers)
