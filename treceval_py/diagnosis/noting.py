"""The signs of a mistake in a run in words, each with what to do: the most serious ones, from what was counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from treceval_py._types import IntArray
from treceval_py.data.ids import encode, first_of, quoted
from treceval_py.data.qrels import Qrels
from treceval_py.diagnosis.lookalikes import SEGMENT, Known, but_known, difference, like_document
from treceval_py.diagnosis.sign import Sign
from treceval_py.diagnosis.signs import (
    CUT_FROM,
    DEPTH,
    DISTANCES_FROM,
    FEW_JUDGED,
    NEARLY_ALL,
    SAME_DOCUMENTS,
    SAME_FROM,
    UNLIKELY,
    WAYS,
    Seen,
    documents_of,
    of_queries,
)

MOST = 3
"""Most signs of a run that are noted."""

ENOUGH_CONSTANT = 10
"""Fewest documents with constant scores that are noted: a short example may have them."""

TIES_FROM = 200
"""Fewest documents whose ties are noted."""

LEAST_SAMPLED = 50
"""Fewest documents for which a share is meaningful."""

POOLED = 20
"""Judgments per query, on average, from which they count as a pool, which covers the top of a good run."""


class Beside:
    """A run beside its judgments, as it was judged.

    Attributes
    ----------
    qrels : Qrels or None
        The judgments; None if they are not relevance judgments.
    query, rank, rel : (H,) int arrays
        The judged documents that were retrieved, as in ``Hits``.
    num_ret : (Q,) int array
        The number of documents retrieved, by query.
    num_rel : callable
        Returns the number of documents judged at a level or higher, by query, retrieved or not.
    by_score, by_rank : bool
        Whether documents are ranked by score, or by the rank column.
    whole : bool
        Whether no document was left out of the ranking.
    missing, unjudged : sequence of str
        The judged queries that the run lacks, and its queries without judgments.
    """

    def __init__(
        self,
        qrels: Qrels | None,
        hits: tuple[IntArray, IntArray, IntArray],
        num_ret: IntArray,
        num_rel: Callable[[int], IntArray],
        how: tuple[bool, bool, bool],
        missing: Sequence[str],
        unjudged: Sequence[str],
    ) -> None:
        self.qrels, self.num_ret, self.num_rel = qrels, num_ret, num_rel
        self.query, self.rank, self.rel = hits
        self.by_score, self.by_rank, self.whole = how
        self.missing, self.unjudged = missing, unjudged


def signs_of(seen: Seen, beside: Beside) -> tuple[Sign, ...]:
    """Return the most serious signs of a mistake in a run, at most `MOST`."""
    signs = [_about_documents(seen, beside)]
    if beside.unjudged and beside.missing:
        signs.append(_about_queries(seen, beside))
    if beside.by_score:
        signs += _about_scores(seen, beside)
    elif not beside.by_score and beside.by_rank and seen.contradicting:
        signs.append(_contradiction(seen, "ranks"))
    if seen.ranking is not None and seen.queries >= SAME_FROM and len(seen.ranking) >= SAME_DOCUMENTS:
        signs.append(_about_ranking(seen, len(seen.ranking), beside))
    if seen.queries >= CUT_FROM and seen.usual >= CUT_FROM and 2 * seen.last <= seen.usual:
        depth = f"the last query has {documents_of(seen.last)}, and each other query {seen.usual:,}"
        signs.append(Sign("R132", f"{depth}: the run may be cut off", "Write it again, or copy it again."))
    there = [sign for sign in signs if sign is not None]
    return tuple(sorted(there, key=lambda sign: _SERIOUS.index(sign.code))[:MOST])


_SERIOUS = ("R119", "X201", "X205", "R129", "R127", "R135", "R128", "X204", "X206", "R123", "R132", "R130")


def _about_scores(seen: Seen, beside: Beside) -> list[Sign | None]:
    if seen.counting >= DISTANCES_FROM:
        swap = "rank and score are swapped: the score column counts 1, 2, 3, …, and the rank column does not"
        return [Sign("R119", swap, "Write qid Q0 docid rank score tag; otherwise every list is scored upside down.")]
    if seen.constant and seen.constant >= NEARLY_ALL * seen.queries and seen.in_constant >= ENOUGH_CONSTANT:
        same = f"all scores of a query are the same {of_queries(seen.constant, seen.queries)}"
        todo = "The order of these documents depends only on their ids. Write the scores of the ranking."
        return [Sign("R127", same, todo)]
    signs: list[Sign | None] = []
    turned = 0.0
    if seen.distances:
        plain, other = ap_both_ways(beside.query, beside.rank, beside.rel, beside.num_ret, beside.num_rel(1))
        turned = other - plain
    if seen.distances and (turned > 0 or (turned == 0 and seen.growing)) and (seen.growing or seen.doubt >= UNLIKELY):
        count, of = seen.growing + seen.growing_lined, seen.ranked + seen.lined
        where = "with the rank" if seen.growing else "from line to line"
        todo = "If they are distances, write them with the opposite sign: the highest score ranks first."
        signs.append(Sign("R129", f"scores grow {where} {of_queries(count, of)}, as distances do", todo))
    elif seen.contradicting and turned >= 0:
        signs.append(_contradiction(seen, "scores"))
    if seen.follows_ids:
        todo = "Write the scores of the ranking, not ids or row numbers."
        signs.append(Sign("R128", f"scores follow document ids: these are {WAYS[seen.ways[0]]} in each query", todo))
    # Many rankings by words have many ties; a mistake is what makes them.
    elif (seen.half or seen.rounded) and seen.fractions and seen.many_ties and seen.documents >= TIES_FROM:
        coarse, todo = "have two decimals or fewer", "Write scores with more digits"
        if seen.half:
            coarse, todo = "are half-precision numbers (float16)", "Compute or convert scores in single precision"
        signs.append(Sign("R130", f"{seen.ties}, as all scores {coarse}", f"{todo}: ties are ordered by id."))
    return signs


def _contradiction(seen: Seen, used: str) -> Sign:
    where = of_queries(len(seen.contradicting), seen.queries)
    contradiction = f"ranks contradict scores {where} ({first_of(seen.contradicting)}), and the {used} are used"
    return Sign("R123", contradiction, "Find out which of the two is right.")


def _about_ranking(seen: Seen, documents: int, beside: Beside) -> Sign | None:
    """Return the sign that all queries have one ranking, unless judgments are a ranking's own labels."""
    if beside.qrels is not None and len(beside.rank) == seen.documents == len(beside.qrels.docids):
        return None
    same = f"all {seen.queries:,} queries have the same {documents:,} documents in the same order"
    return Sign("R135", same, "The ranking does not depend on the query: find out why.")


def _about_queries(seen: Seen, beside: Beside) -> Sign | None:
    """Return the sign that no query is judged, or that some are judged under similar ids."""
    alone = len(beside.unjudged) == seen.queries
    alike = like_queries(beside.unjudged, beside.missing)
    if not alike:
        none = "no query of the run is judged"
        return Sign("X201", none, "Are the judgments those of this run?") if alone else None
    more = f", and so are {len(alike) - 1:,} more" if len(alike) > 1 else ""
    said = f"query {but_known(*alike[0])}{more}"
    return Sign("X201" if alone else "X204", said, "Write query ids as in the judgments.")


MOST_SPELLED = 10_000
"""Most queries whose spelling is compared with that of others; if more are not judged, spelling is not the cause."""


def like_queries(unjudged: Sequence[str], missing: Sequence[str]) -> list[tuple[bytes, bytes]]:
    """Return pairs of an unjudged query and a similar judged one that the run lacks."""
    known = Known(map(encode, missing[:MOST_SPELLED]))
    pairs = [(raw, known.like(raw)) for raw in map(encode, unjudged[:MOST_SPELLED])]
    return [(raw, like) for raw, like in pairs if like is not None]


def _about_documents(seen: Seen, beside: Beside) -> Sign | None:
    """Return the sign that no document is judged for its query, or hardly any."""
    qrels, queries = beside.qrels, int(np.count_nonzero(beside.num_ret))
    if qrels is None or not queries:
        return None
    if not len(beside.rank):
        return _about_unjudged(qrels, seen.first, int(beside.num_ret.sum()))
    sampled = int(np.minimum(beside.num_ret, DEPTH).sum())
    judged = int(np.count_nonzero(beside.rank <= DEPTH))
    if judged >= FEW_JUDGED * sampled or not beside.whole or sampled < LEAST_SAMPLED or not is_pooled(qrels):
        return None
    of, few = few_judged(judged, sampled, queries)
    return Sign(
        "X206",
        f"{of} only {few} judged for their query",
        "Is it the version of the corpus that was judged, and are the query ids the same?",
    )


def few_judged(judged: int, sampled: int, queries: int) -> tuple[str, str]:
    """Return ``of 100 documents (the first 10 of each of 10 judged queries)`` and ``3 are``."""
    most = "" if sampled == DEPTH * queries else ", or fewer,"
    of = f"{queries:,} judged {'query' if queries == 1 else 'queries'}"
    are = "is" if judged == 1 else "are"
    return f"of {documents_of(sampled)} (the first {DEPTH}{most} of each of {of})", f"{judged:,} {are}"


def is_pooled(qrels: Qrels) -> bool:
    """Tell whether judgments cover the top of a good run."""
    return len(qrels.docids) >= POOLED * len(qrels) and bool((qrels.rels <= 0).any())


def _about_unjudged(qrels: Qrels, first: Sequence[tuple[str, list[bytes]]], documents: int) -> Sign | None:
    """Return the sign that no document is judged for its query, given the first ones of some queries."""
    for qid, docids in first:
        row = qrels.row_of(qid)
        # One may be judged that was left out of the ranking.
        if row is not None and not qrels.judgments(row).keys().isdisjoint(docids):
            return None
    alike = like_document(qrels, first)
    enough = first and documents >= LEAST_SAMPLED
    sampled = [docid for _, docids in first for docid in docids]
    return unlike(qrels, sampled, documents, alike) if alike is not None or enough else None


def unlike(qrels: Qrels, strays: Sequence[bytes], documents: int, alike: tuple[bytes, bytes, str] | None) -> Sign:
    """Return the sign that no document of a run is judged for its query.

    Parameters
    ----------
    qrels : Qrels
        The judgments.
    strays : sequence of bytes
        Some of the documents.
    documents : int
        The number of documents of judged queries.
    alike : tuple or None
        A document that is judged under a similar id, as `like_document` returns it.
    """
    unjudged = f"none of {documents:,} documents is judged for its query"
    if documents == 1:
        unjudged = "the only document is not judged for its query"
    todo = "Is the run on another collection than these judgments?"
    if alike is not None:
        docid, judged, qid = alike
        unjudged += f"; {but_known(docid, judged)} (query {quoted(encode(qid))})"
        todo = "Write document ids as in the judgments."
        if SEGMENT in difference(docid, judged):
            todo = "Score segments as documents with --max-passage, or write document ids as in the judgments."
    elif elsewhere := judged_elsewhere(qrels, strays):
        unjudged += f"; of the first {len(strays):,} the judgments have {elsewhere:,} for other queries"
        todo = "Are the query ids those of the judgments?"
    return Sign("X205", unjudged, todo)


def judged_elsewhere(qrels: Qrels, docids: Sequence[bytes]) -> int:
    """Count the documents that are judged for any query."""
    wanted, judged, portion = set(docids), set[bytes](), 1 << 17
    for start in range(0, len(qrels.docids), portion):
        judged |= wanted.intersection(qrels.docids.raw(start, min(start + portion, len(qrels.docids))))
    return sum(docid in judged for docid in docids)


def ap_both_ways(
    query: IntArray, rank: IntArray, rel: IntArray, num_ret: IntArray, num_rel: IntArray
) -> tuple[float, float]:
    """Return the mean AP of a run, and what it would be in reverse order, of judged documents as in `Beside`."""
    relevant = rel >= 1
    query, rank = query[relevant], rank[relevant]
    means = []
    for ranks in (rank, num_ret[query] + 1 - rank):
        order = np.lexsort((ranks, query))
        nth = np.arange(1, len(order) + 1) - np.searchsorted(query, query)  # hits are sorted by query
        means.append(float((nth / ranks[order] / num_rel[query]).sum()) / max(len(num_ret), 1))
    return means[0], means[1]
