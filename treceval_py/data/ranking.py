"""How documents are ranked: by which column, in which precision, and in which order if scores are equal.

Within a query, documents are sorted by descending score, and documents with equal scores by descending bytes of their
ids, which is trec_eval's rule. Every other rule is reduced to this one: a run gets new scores, all different within a
query, that rank its documents as the rule does. Where the ranks of a few documents are wanted, the rule is applied
without sorting: by `judging.located`, and by the scanner (``above``, ``later``, ``written_later`` in ``_scan.pyx``).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from treceval_py._types import BoolArray, FloatArray, IntArray
from treceval_py.data.ids import encode
from treceval_py.data.run import Run
from treceval_py.errors import DataError

FLOAT32 = "float32"
FLOAT64 = "float64"

WIDTHS = (FLOAT64, FLOAT32)
"""Precisions in which scores are compared."""


ORDERS = ("score", "rank", "line")
"""How documents are ranked: by score, by the rank column, or by line order (of a dictionary: the order of items)."""

TIES = ("docid-desc", "docid-asc", "line", "ranx", "worst")
"""Which of two documents with equal scores is ranked first: the one with the larger id, the smaller id or the earlier
line; the one that ranx's sort puts first; or the one with the lower label. Ids are compared byte by byte."""


class Ranking(NamedTuple):
    """How the documents of a query are ranked and judged: the conventions that decide it, and what else is kept.

    Attributes
    ----------
    order, score_type, ties, self_hits, judged_only, depth, known, not_positive
        As in `treceval_py.scoring.conventions.Conventions`.
    tied : bool
        Keep the ranks that documents could have if ties were broken differently.
    pooled : bool
        Keep documents that are judged only for other queries, as if they were judged negative.
    confidence : bool
        Keep the system's confidence in each query, computed from the scores.
    documents : bool
        Keep all documents with their ids and scores, not only the ranks of judged ones.
    sample : bool
        Keep how the documents of a sample were drawn.
    """

    order: str = "score"
    score_type: str = FLOAT64
    ties: str = "docid-desc"
    self_hits: str = "keep"
    judged_only: bool = False
    depth: int | None = None
    known: str = "all"
    not_positive: str = "keep"
    tied: bool = False
    pooled: bool = False
    confidence: bool = False
    documents: bool = False
    sample: bool = False

    @property
    def plain(self) -> bool:
        """Whether documents are ranked by score, ties by descending id, and nothing else is required."""
        return self._replace(score_type=FLOAT64, judged_only=False, depth=None, known="all") == PLAIN


PLAIN = Ranking()
"""trec_eval's ranking: by score, ties by descending id, all documents."""


MOST_DOCUMENTS = 2**62
"""More documents than any run has; the scanner can hold this number."""


@lru_cache(maxsize=256)
def limit_of(depth: int | None) -> int:
    """Return the number of documents of a query that count."""
    if depth is None:
        return MOST_DOCUMENTS
    if operator.index(depth) < 0:
        raise DataError(f"depth must be 0 or more, not {depth}", "Leave it out to use all documents.")
    return min(operator.index(depth), MOST_DOCUMENTS)


def order_of(docids: Sequence[bytes], scores: FloatArray, *, later_first: bool = True) -> IntArray:
    """Order documents by descending score.

    Parameters
    ----------
    docids : sequence of bytes, length N
        The documents.
    scores : (N,) float array
        Their scores, without NaN.
    later_first : bool
        Of documents with equal scores, the one with the larger id (compared as bytes) comes first.

    Returns
    -------
    (N,) int array
        Positions in ``docids``, best first.
    """
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    tie = np.append(False, ordered[1:] == ordered[:-1])
    order_ties(order, tie, lambda rows: [docids[row] for row in rows.tolist()], later_first=later_first)
    return order


def documents(run: Run, row: int, score_type: str) -> tuple[list[bytes], FloatArray]:
    """Return the documents of a query of a run, and their scores (float64) rounded to the given precision."""
    start, stop = run.span(row)
    return run.docids.raw(start, stop), narrowed(run.scores[start:stop], score_type)


class Arranged(NamedTuple):
    """A run with scores that rank it as a ranking does; no two documents of a query have equal scores.

    Attributes
    ----------
    run : Run
        The run.
    order : (D,) int array
        Its rows, by query and rank.
    ranks : (D,) int array or None
        The rank at each position of `order`, if ranks come from the rank column and may have gaps.
    first, last : (D,) int arrays or None
        The first and last rank of the documents tied with the one at each position of `order`.
    """

    run: Run
    order: IntArray
    ranks: IntArray | None = None
    first: IntArray | None = None
    last: IntArray | None = None


def arrange(run: Run, ranking: Ranking, labels: IntArray | None = None) -> Arranged:
    """Rank all documents of a run, ignoring the ranking's depth.

    Parameters
    ----------
    run : Run
        The run.
    ranking : Ranking
        How the run is ranked.
    labels : (D,) int array, optional
        The labels of its rows, for ties by label. Default: all 0, with the earlier line first.

    Raises
    ------
    DataError
        The ranking needs ranks that the run lacks, or uses ranks although scores determine what can be relevant.
    """
    if ranking.self_hits == "drop":
        run = without_self(run)
    query = np.repeat(np.arange(len(run.qids)), np.diff(run.offsets))
    if ranking.order == "rank":
        return _arranged_by_rank(run, query, ranking)
    order = np.arange(len(query))
    tie = np.zeros(len(query), dtype=bool)  # whether the document at a position has the same score as the previous one
    if ranking.order == "score":
        scores = narrowed(run.scores, ranking.score_type)
        within = query[1:] == query[:-1]
        if (within & (scores[1:] > scores[:-1])).any():  # most runs are already in order
            order = np.lexsort((-scores, query))  # stable: among equal scores, the earlier line stays first
        ordered = scores[order]
        tie[1:] = (ordered[1:] == ordered[:-1]) & within
        if ranking.ties == "ranx":
            _order_as_ranx(run, scores, order, tie)
        elif ranking.ties == "worst" and labels is not None:
            order = np.lexsort((labels, -scores, query))
        elif ranking.ties.startswith("docid"):
            order_ties(order, tie, lambda rows: run.docids.take(rows).raw(), later_first=ranking.ties == "docid-desc")
    scores = np.empty(len(order))
    scores[order] = -np.arange(len(order))
    arranged = run.having(run.docids, scores)
    if not ranking.tied:
        return Arranged(arranged, order)
    group = np.cumsum(~tie) - 1
    begins = np.flatnonzero(~tie)
    ends = np.append(begins[1:], len(order))
    start = run.offsets[query]
    return Arranged(arranged, order, None, begins[group] - start + 1, ends[group] - start)


def order_ties(
    order: IntArray, tie: BoolArray, ids_of: Callable[[IntArray], list[bytes]], *, later_first: bool
) -> None:
    """Sort rows by id where scores are equal; ``tie`` (D,) is whether a row has the same score as the previous one."""
    if not tie.any():
        return
    places = np.flatnonzero(tie | np.append(tie[1:], False))
    rows, starts = order[places], np.flatnonzero(~tie[places]).tolist()
    # All at once, because a run can have tens of thousands of pairs with equal scores.
    ids = ids_of(rows)
    moved: list[int] = []
    for start, stop in pairwise([*starts, len(places)]):
        moved += sorted(range(start, stop), key=ids.__getitem__, reverse=later_first)
    order[places] = rows[moved]


SORTED_BY_INSERTION = 15
"""Number of documents up to which ranx's sort is stable."""


def _order_as_ranx(run: Run, scores: FloatArray, order: IntArray, tie: BoolArray) -> None:
    """Reorder the rows of queries with equal scores as ranx does."""
    ties = np.concatenate([[0], np.cumsum(tie)])
    for number in np.flatnonzero(np.diff(run.offsets) > SORTED_BY_INSERTION).tolist():
        start, stop = run.span(number)
        if ties[stop] > ties[start]:
            keys = (-scores[start:stop]).tolist()
            once = _quicksorted(keys)  # when the run is created
            twice = _quicksorted([keys[at] for at in once])  # in make_comparable
            order[start:stop] = [start + once[at] for at in twice]


def _quicksorted(keys: list[float]) -> list[int]:
    """Return the positions of keys in ascending order; equal keys are ordered as in Numba's quicksort.

    The pivot is the median of the first, middle and last key. Keys equal to the pivot stop the search from either side
    and are exchanged. Remaining parts of at most 15 keys are sorted stably.
    """
    keys, order = list(keys), list(range(len(keys)))

    def exchange(one: int, other: int) -> None:
        keys[one], keys[other] = keys[other], keys[one]
        order[one], order[other] = order[other], order[one]

    ranges = [(0, len(keys) - 1)]
    while ranges:
        low, high = ranges.pop()
        if high - low < SORTED_BY_INSERTION:
            order[low : high + 1] = [order[at] for at in sorted(range(low, high + 1), key=keys.__getitem__)]
            continue
        middle = (low + high) // 2
        for below, above in ((low, middle), (middle, high), (low, middle)):
            if keys[above] < keys[below]:
                exchange(below, above)
        pivot = keys[middle]
        exchange(middle, high)
        left, right = low, high - 1
        while True:
            while left < high and keys[left] < pivot:
                left += 1
            while right >= low and pivot < keys[right]:
                right -= 1
            if left >= right:
                break
            exchange(left, right)
            left, right = left + 1, right - 1
        exchange(left, high)
        ranges += [(low, left - 1), (left + 1, high)]
    return order


def own_rows(run: Run) -> IntArray:
    """Return the rows of documents whose id is the query's id."""
    names = [encode(qid) for qid in run.qids]
    query = np.repeat(np.arange(len(names)), np.diff(run.offsets))
    long = np.fromiter(map(len, names), dtype=np.int64, count=len(names))
    alike = np.flatnonzero(np.diff(run.docids.offsets) == long[query])  # only ids of the same length can be equal
    text, of_names = (np.frombuffer(joined or b" ", dtype=np.uint8) for joined in (run.docids.buffer, b"".join(names)))
    begins = np.cumsum(long) - long
    for part in range(4):  # of these, few have the same bytes in four places
        at = long[query[alike]] * part // 4
        places = run.docids.offsets[alike] + at, begins[query[alike]] + at
        same = text.take(places[0], mode="clip") == of_names.take(places[1], mode="clip")
        alike = alike[same | (long[query[alike]] == 0)]
    ids = zip(run.docids.take(alike).raw(), query[alike].tolist(), strict=True)
    rows: IntArray = alike[np.array([docid == names[at] for docid, at in ids], dtype=bool)]
    return rows


def without_self(run: Run) -> Run:
    """Remove documents whose id is the query's id."""
    keep = np.ones(len(run.docids), dtype=bool)
    keep[own_rows(run)] = False
    return run if keep.all() else run.where(keep)


def rows_by_rank(run: Run, query: IntArray, ranking: Ranking) -> IntArray:
    """Return the rows of a run by query and rank column; of several with the same rank, the last, as MS MARCO's script.

    Raises
    ------
    DataError
        The run lacks such ranks, or the ranking also needs scores.
    """
    if ranking.not_positive == "miss":
        raise DataError("a ranking by the rank column has no scores above 0", "Use another profile.")
    if run.ranks is None:
        raise DataError(f"{run.name} has no rank column of whole numbers to rank it by", "Use another profile.")
    if len(run.ranks) and int(run.ranks.min()) < 1:
        row = int(np.flatnonzero(run.ranks < 1)[0])
        fault = f"document {run.docids[row]!r} of query {run.qids[int(query[row])]!r} has the rank {run.ranks[row]}"
        raise DataError(f"{run.name}: {fault}", "Ranks begin at 1; use another profile to rank by scores.")
    order = np.lexsort((run.ranks, query))
    last = np.ones(len(order), dtype=bool)
    last[:-1] = (np.diff(run.ranks[order]) != 0) | (query[1:] != query[:-1])
    return order[last]


def _arranged_by_rank(run: Run, query: IntArray, ranking: Ranking) -> Arranged:
    """Rank a run by its rank column."""
    kept = rows_by_rank(run, query, ranking)
    offsets = np.searchsorted(query[kept], np.arange(len(run.qids) + 1)).astype(np.int64)
    # Where all are kept and already in order, the ids need not be moved.
    docids = run.docids if np.array_equal(kept, np.arange(len(query))) else run.docids.take(kept)
    scores = -np.arange(len(kept), dtype=np.float64)
    ranks = None if run.ranks is None else run.ranks[kept]
    return Arranged(run.having(docids, scores, offsets), np.arange(len(kept)), ranks)


def narrowed(scores: FloatArray, score_type: str) -> FloatArray:
    """Return scores rounded to a precision, as float64."""
    if score_type != FLOAT32:
        return scores
    with np.errstate(over="ignore"):  # as in C, too large values become infinite
        return scores.astype(np.float32).astype(np.float64)


def arranged(run: Run, ranking: Ranking) -> Run:
    """Return a run whose scores, all different within a query, rank it as the ranking does, ignoring depth.

    Raises
    ------
    DataError
        The ranking needs ranks that the run lacks.
    """
    return arrange(run, ranking._replace(tied=False)).run


def by_rank(query: IntArray, ranks: IntArray, scores: FloatArray | None) -> IntArray:
    """Sort rows by query and rank, and equal ranks by descending score, if there are scores."""
    least, most = int(ranks.min()), int(ranks.max())
    if (int(query[-1]) + 1) * (most - least + 1) < 2**62:
        keys = query * (most - least + 1) + (ranks - least)
        order = np.argsort(keys)
        ordered = keys[order]
        if (ordered[1:] > ordered[:-1]).all():  # much faster, and the same if no rank occurs twice in a query
            return order
    return np.lexsort((ranks, query) if scores is None else (-scores, ranks, query))
