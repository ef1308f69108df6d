"""The signs of a mistake in a run in words, each with what to do: the most serious ones, from what was counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from treceval_py.data.ids import encode, first_of, quoted
from treceval_py.data.qrels import Qrels
from treceval_py.data.ranking import Ranking
from treceval_py.diagnosis.lookalikes import SEGMENT, Known, but_known, difference, documents, like_document
from treceval_py.diagnosis.sign import Sign
from treceval_py.diagnosis.signs import (
    DEPTH,
    DISTANCES_FROM,
    FEW_JUDGED,
    NEARLY_ALL,
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
"""Fewest documents for which a share is meaningful; that none is judged for any query needs no more than one."""

POOLED = 20
"""Judgments per query, on average, from which they count as a pool, which covers the top of a good run."""

SPARSE_FROM, FEWER_JUDGED = 3, 0.05
"""Fewest judgments per query, other than a pool, that a run must find, and the share of them that is too small."""


def signs_of(
    seen: Seen, qrels: Qrels | None, judged: Any, ranking: Ranking, missing: Sequence[str], unjudged: Sequence[str]
) -> tuple[Sign, ...]:
    """Return the most serious signs of a mistake in a run, at most `MOST`.

    Parameters
    ----------
    seen : Seen
        What its columns show.
    qrels : Qrels or None
        The judgments; None if they are not relevance judgments.
    judged : JudgedRun, JudgedGroups or JudgedPreferences
        The judged run.
    ranking : Ranking
        How documents are ranked.
    missing, unjudged : sequence of str
        The judged queries that the run lacks, and its queries without judgments.
    """
    signs: list[Sign | None] = []
    if qrels is not None and judged.num_ret.any():
        signs.append(_about_documents(seen, qrels, judged, ranking))
    if unjudged and missing:
        signs.append(_about_queries(seen, missing, unjudged))
    if ranking.order == "score":
        signs += _about_scores(seen, qrels, judged)
    elif ranking.order == "rank" and seen.contradicting:
        signs.append(_contradiction(seen, "ranks"))
    # Judgments may be the labels of one ranking.
    if seen.same_ranking and (qrels is None or not len(judged.hits.rank) == seen.documents == len(qrels.docids)):
        signs.append(one_ranking(seen.queries, len(seen.ranking or ())))
    if seen.cut:
        depth = f"the last query has {documents_of(seen.last)}, and each other query {seen.usual:,}"
        signs.append(Sign("R132", f"{depth}: the run may be cut off", "Write it again, or copy it again."))
    return tuple(sorted(filter(None, signs), key=lambda sign: _SERIOUS.index(sign.code))[:MOST])


_SERIOUS = ("R119", "X201", "X205", "R129", "R127", "R135", "R128", "X204", "X206", "R123", "R132", "R130")


def _about_scores(seen: Seen, qrels: Qrels | None, judged: Any) -> list[Sign | None]:
    if seen.counting >= DISTANCES_FROM:
        swap = "rank and score are swapped: the score column counts 1, 2, 3, …, and the rank column does not"
        return [Sign("R119", swap, "Write qid Q0 docid rank score tag; otherwise every list is scored upside down.")]
    if seen.constant and seen.constant >= NEARLY_ALL * seen.queries and seen.in_constant >= ENOUGH_CONSTANT:
        return [constant(seen)]
    signs: list[Sign | None] = []
    turned = 0.0
    if seen.distances and qrels is not None:
        plain, other = ap_both_ways(judged)
        turned = other - plain
    if seen.distances and (turned > 0 or (turned == 0 and seen.growing)) and (seen.growing or seen.doubt >= UNLIKELY):
        signs.append(growing(seen))
    elif seen.contradicting and turned >= 0:
        signs.append(_contradiction(seen, "scores"))
    if seen.follows_ids:
        signs.append(following_ids(seen))
    # Many rankings by words have many ties; a mistake is what makes them.
    elif (seen.half or seen.rounded) and seen.fractions and seen.many_ties and seen.documents >= TIES_FROM:
        coarse, todo = "have two decimals or fewer", "Write scores with more digits"
        if seen.half:
            coarse, todo = "are half-precision numbers (float16)", "Compute or convert scores in single precision"
        signs.append(Sign("R130", f"{seen.ties}, as all scores {coarse}", f"{todo}: ties are ordered by id."))
    return signs


def constant(seen: Seen) -> Sign:
    """Return the sign that scores are constant."""
    same = f"all scores of a query are the same {of_queries(seen.constant, seen.queries)}"
    todo = "The order of these documents depends only on their ids. Write the scores of the ranking."
    return Sign("R127", same, todo)


def growing(seen: Seen) -> Sign:
    """Return the sign that scores look like distances."""
    count, of = seen.growing + seen.growing_lined, seen.ranked + seen.lined
    where = "with the rank" if seen.growing else "from line to line"
    todo = "If they are distances or ranks, write them with the opposite sign: the highest score ranks first."
    return Sign("R129", f"scores grow {where} {of_queries(count, of)}, as distances and ranks do", todo)


def following_ids(seen: Seen) -> Sign:
    """Return the sign that scores follow ids."""
    follow = f"scores follow document ids: from the highest score on, ids are {WAYS[seen.ways[0]]} in each query"
    return Sign("R128", follow, "Write the scores of the ranking, not ids or row numbers.")


def one_ranking(queries: int, documents: int) -> Sign:
    """Return the sign that all queries have one ranking."""
    same = f"all {queries:,} queries have the same {documents:,} documents in the same order"
    return Sign("R135", same, "The ranking does not depend on the query: find out why.")


def _contradiction(seen: Seen, used: str) -> Sign:
    where = of_queries(len(seen.contradicting), seen.queries)
    contradiction = f"ranks contradict scores {where} ({first_of(seen.contradicting)}), and the {used} are used"
    return Sign("R123", contradiction, "Find out which of the two is right.")


def _about_queries(seen: Seen, missing: Sequence[str], unjudged: Sequence[str]) -> Sign | None:
    """Return the sign that no query is judged, or that some are judged under similar ids."""
    alone = len(unjudged) == seen.queries
    alike = like_queries(unjudged, missing)
    if not alike:
        none = "no query of the run is judged"
        return Sign("X201", none, "Are these the judgments for this run?") if alone else None
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


def _about_documents(seen: Seen, qrels: Qrels, judged: Any, ranking: Ranking) -> Sign | None:
    """Return the sign that no document is judged for its query, or hardly any."""
    if not len(judged.hits.rank):
        number = int(judged.num_ret.sum())
        # One may be judged that was left out of the ranking.
        rows = [(qrels.row_of(qid), docids) for qid, docids in seen.first]
        if any(row is not None and not qrels.judgments(row).keys().isdisjoint(docids) for row, docids in rows):
            return None
        alike = like_document(qrels, seen.first)
        sampled = [docid for _, docids in seen.first for docid in docids]
        enough = alike is not None or number >= LEAST_SAMPLED or not judged_elsewhere(qrels, sampled)
        return unlike(qrels, sampled, number, alike) if sampled and enough else None
    first = np.minimum(judged.num_ret, DEPTH)
    few = Sampled(
        int(np.count_nonzero(first)),
        int(first.sum()),
        int(np.count_nonzero(judged.hits.rank <= DEPTH)),
        int(np.minimum(first, judged.count(judged.ideal.query)).sum()),
    )
    if not ranking.plain or ranking.judged_only or not few.too_few(qrels):
        return None
    todo = "Is it the version of the corpus that was judged, and are the query ids the same?"
    return Sign("X206", f"{few.documents} only {few.words} judged for their query", todo)


class Sampled(NamedTuple):
    """The first documents of judged queries: their number, how many of them are judged, and how many could be."""

    queries: int
    number: int
    judged: int
    possible: int

    def too_few(self, qrels: Qrels) -> bool:
        """Tell whether so few are judged that something must be wrong."""
        if self.number < LEAST_SAMPLED:
            return False
        if is_pooled(qrels):
            return self.judged < FEW_JUDGED * self.number
        enough = self.possible >= max(LEAST_SAMPLED, SPARSE_FROM * self.queries)
        return enough and self.judged < FEWER_JUDGED * self.possible

    @property
    def documents(self) -> str:
        """Which documents these are, such as ``of 100 documents (the first 10 of each of 10 judged queries)``."""
        most = "" if self.number == DEPTH * self.queries else ", or fewer,"
        of = f"{self.queries:,} judged {'query' if self.queries == 1 else 'queries'}"
        return f"of {documents_of(self.number)} (the first {DEPTH}{most} of each of {of})"

    @property
    def words(self) -> str:
        """How many are judged, such as ``3 are``."""
        return f"{self.judged:,} {'is' if self.judged == 1 else 'are'}"


def is_pooled(qrels: Qrels) -> bool:
    """Tell whether judgments cover the top of a good run."""
    return len(qrels.docids) >= POOLED * len(qrels) and bool((qrels.rels <= 0).any())


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
    todo = "Is the run for another collection?"
    if alike is not None:
        docid, judged, qid = alike
        unjudged += f"; {but_known(docid, judged)} (query {quoted(encode(qid))})"
        todo = "Write document ids as in the judgments."
        if SEGMENT in difference(docid, judged):
            todo = "Score segments as documents with --max-passage, or write document ids as in the judgments."
    elif elsewhere := judged_elsewhere(qrels, strays):
        unjudged += f"; of the first {len(strays):,} the judgments have {elsewhere:,} for other queries"
        todo = "Do the query ids match the judgments?"
    return Sign("X205", unjudged, todo)


def undrawn(qrels: Qrels) -> str:
    """Say how many documents judgments of a sample lack; empty if they lack none, or are of no sample."""
    if qrels.sample is None:
        return ""
    known, number = qrels.sample.probabilities, len(qrels.docids)
    if known is None:
        count, documents, how = int((qrels.rels < 0).sum()), "pooled documents", "not judged"
    else:
        count, documents, how = int((known < 1).sum()), "judged documents", "drawn with a probability below 1"
    return f"{count:,} of {number:,} {documents} {'was' if count == 1 else 'were'} {how}" if count else ""


def judged_elsewhere(qrels: Qrels, docids: Sequence[bytes]) -> int:
    """Count the documents that are judged for any query."""
    judged = set(docids).intersection(documents(qrels))
    return sum(docid in judged for docid in docids)


def ap_both_ways(judged: Any) -> tuple[float, float]:
    """Return the mean AP of a judged run, and what it would be in reverse order."""
    query, rank, rel = judged.hits
    query, rank = query[rel >= 1], rank[rel >= 1]
    means = []
    for ranks in (rank, judged.num_ret[query] + 1 - rank):
        order = np.lexsort((ranks, query))
        nth = np.arange(1, len(order) + 1) - np.searchsorted(query, query)  # hits are sorted by query
        means.append(float((nth / ranks[order] / judged.num_rel(1)[query]).sum()) / max(judged.num_queries, 1))
    return means[0], means[1]
