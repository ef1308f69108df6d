"""Runs reduced to the documents that decide the ranks of the judged ones, under whatever ranking.

A judged document changes places only with documents that have its score, at least in single precision. These are kept,
and documents that a ranking removes, such as the query's own; all others are counted. So a run of millions of lines
becomes a table of its judged documents, on which any number of rankings can be tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from treceval_py._types import ByteArray, IntArray
from treceval_py.data.qrels import Qrels
from treceval_py.data.ranking import (
    FLOAT32,
    ORDERS,
    SORTED_BY_INSERTION,
    Ranking,
    arrange,
    limit_of,
    narrowed,
    own_rows,
    rows_by_rank,
)
from treceval_py.data.run import Run, joined
from treceval_py.judging.judged import Hits, JudgedRun, Tied
from treceval_py.judging.locating import Located, assemble, judge_by, rows_of_judged

UNJUDGED = np.iinfo(np.int64).min
"""Stands for the label of a document without a judgment."""

LONGEST_NUMBER = 15
"""Digits up to which whole numbers have a float of their own."""


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
    whole : bool
        Whether all documents were kept.
    """

    run: Run
    sizes: IntArray
    labels: IntArray
    hidden: IntArray
    ties: bool
    whole: bool

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
        ties, whole = any(part.ties for part in parts), all(part.whole for part in parts)
        return cls(joined([part.run for part in parts]), sizes, labels, hidden, ties, whole)

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

    def judged(self, qrels: Qrels, ranking: Ranking, *, complete: bool) -> JudgedRun:
        """Find the judged documents under a ranking, as `judging.locating.judge_by` does for the run itself."""
        if ranking.pooled or ranking.confidence or ranking.documents:
            if not self.whole:
                raise AssertionError("all documents are needed, and only those near judged ones were kept")
            return judge_by(qrels, self.run, ranking, complete=complete)
        located = self._located(qrels.rows_of(self.run.qids), ranking)
        return assemble(qrels, [located], complete=complete, tag=self.run.tag, known=ranking.known)

    def _located(self, rows: IntArray, ranking: Ranking) -> Located:
        """Find ranks as `judging.locating.locate` does; ``rows`` (Q,) are the queries in the judgments."""
        part, limit = self, limit_of(ranking.depth)
        if ranking.self_hits == "drop":
            part = self._without(own_rows(self.run))
        by_column = ranking.order == "rank" and not ranking.judged_only
        if ranking.judged_only and (ranking.tied or ranking.not_positive == "miss"):
            # The possible ranks of tied documents, and the highest scores, depend on which documents remain.
            order, _, ranks, _ = part._ordered(ranking._replace(tied=False))
            judged = order[(ranks <= limit) & (part.labels[order] >= 0)]
            part = part._without(np.setdiff1d(np.arange(len(part.labels)), judged))
            lengths = np.diff(part.run.offsets)
            part, limit = part._replace(sizes=lengths, hidden=np.zeros_like(part.hidden)), limit_of(None)
        order, query, ranks, tied = part._ordered(ranking)
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
        labels = part.labels[order]
        lowest = 0 if ranking.judged_only else UNJUDGED + 1
        at = np.flatnonzero((labels >= lowest) & (ranks <= limit) & (rows[query] >= 0))
        ranks, query, tied = ranks[at], query[at], None if tied is None else tied.where(at)
        if ranking.judged_only:
            ranks = np.arange(len(at)) - np.searchsorted(query, query) + 1
            num_ret = np.bincount(query, minlength=len(rows))
            tied = tied if tied is None or ranking.order != "rank" else Tied(ranks, ranks)
        hits, known = Hits(rows[query], ranks, labels[at]), None
        if ranking.not_positive == "miss":
            above = narrowed(part.run.scores[order[at]], ranking.score_type) > 0
            hits, known, tied = hits.where(above), hits, None if tied is None else tied.where(above)
        return Located(rows, hits, np.where(rows >= 0, num_ret, 0), None, tied, None, known)

    def _without(self, gone: IntArray) -> Reduced:
        """Return the run without some of its documents (G,), whose places others take."""
        if not len(gone):
            return self
        keep = np.ones(len(self.labels), dtype=bool)
        keep[gone] = False
        run = self.run.where(keep)
        sizes = self.sizes - np.diff(self.run.offsets) + np.diff(run.offsets)
        return self._replace(run=run, sizes=sizes, labels=self.labels[keep], hidden=self.hidden[:, keep])

    def _ordered(self, ranking: Ranking) -> tuple[IntArray, IntArray, IntArray, Tied | None]:
        """Return rows in the order of queries and ranks, their queries and ranks, and the ranks of ties."""
        run, tied = self.run, None
        query = np.repeat(np.arange(len(run.qids)), np.diff(run.offsets))
        hidden = self.hidden[ORDERS.index(ranking.order)]
        if ranking.order == "rank":
            order = rows_by_rank(run, query, ranking)
        else:
            labels = np.where(self.labels == UNJUDGED, 0, self.labels) if ranking.ties == "worst" else None
            arranged = arrange(run, ranking._replace(self_hits="keep"), labels)
            order = arranged.order
            if arranged.first is not None and arranged.last is not None:
                tied = Tied(arranged.first + hidden[order], arranged.last + hidden[order])
        query = query[order]
        return order, query, np.arange(len(order)) - np.searchsorted(query, query) + 1 + hidden[order], tied


def reduced(qrels: Qrels, run: Run, *, whole: bool = False) -> Reduced:
    """Keep the documents of a run that decide the ranks of judged ones; all of them if `whole`."""
    sizes, count = np.diff(run.offsets), len(run.docids)
    query, by_line = np.repeat(np.arange(len(sizes)), sizes), np.arange(count)
    judged, rels = rows_of_judged(qrels, run)
    labels = np.full(count, UNJUDGED)
    labels[judged] = rels
    within = query[1:] == query[:-1]
    by_score = by_rank = by_line
    if (within & (run.scores[1:] > run.scores[:-1])).any():  # most runs are already in order
        by_score = np.lexsort((-run.scores, query))
    scores = run.scores[by_score]
    ties = bool((within & (scores[1:] == scores[:-1])).any())
    if whole:
        return Reduced(run, sizes, labels, np.zeros((3, count), dtype=np.int64), ties, whole)
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
    hidden = np.empty((3, count), dtype=np.int64)
    for above, order in zip(hidden, (by_score, by_rank, by_line), strict=True):
        gone = np.append(0, np.cumsum(~keep[order]))
        above[order] = gone[:-1] - gone[run.offsets[query]]
    return Reduced(run.where(keep), sizes, labels[keep], hidden[:, keep], ties, whole)


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
