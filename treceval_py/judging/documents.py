"""All documents of each query with ids, scores and judgments, for measures that need more than the judged ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from treceval_py._types import IntArray
from treceval_py.data.qrels import Qrels
from treceval_py.data.ranking import Arranged, Ranking, limit_of
from treceval_py.data.run import Run
from treceval_py.judging.judged import RankedQuery


def ranked_documents(
    qrels: Qrels, run: Run, rows: IntArray, ranking: Ranking, ordered: Arranged
) -> dict[int, RankedQuery]:
    """Return the documents of each judged query of a run, ranked, by the query's row in the judgments.

    Parameters
    ----------
    qrels : Qrels
        The judgments.
    run : Run
        The run.
    rows : (Q,) int array
        The row in the judgments of each of the run's queries; negative for a query without judgments.
    ranking : Ranking
        How documents are ranked, and which of them count.
    ordered : Arranged
        The run in the order of that ranking.
    """
    limit, queries = limit_of(ranking.depth), {}
    for number, row in enumerate(rows.tolist()):
        if row < 0:
            continue
        start, stop = ordered.run.span(number)
        names = ordered.run.docids.text(start, stop)
        docids = [names[at] for at in (ordered.order[start:stop] - start).tolist()]
        by_column = ordered.ranks is not None and not ranking.judged_only
        ranks = np.arange(1, stop - start + 1) if not by_column else ordered.ranks[start:stop]  # type: ignore[index]
        size = int(np.searchsorted(ranks, limit, side="right"))
        docids, ranks = docids[:size], ranks[:size]
        judgments = qrels[qrels.qids[row]]
        labels = [None if (label := judgments.get(docid, -1)) < 0 else label for docid in docids]
        if ranking.judged_only:
            docids = [docid for docid, label in zip(docids, labels, strict=True) if label is not None]
            labels = [label for label in labels if label is not None]
            ranks = np.arange(1, len(docids) + 1)
        known = run[run.qids[number]]
        scores = np.array([known[docid] for docid in docids], dtype=np.float64)
        queries[row] = RankedQuery(qrels.qids[row], tuple(docids), scores, ranks, tuple(labels), judgments)
    return queries


def of_queries(
    qrels: Qrels, rows: Sequence[int], parts: Sequence[Mapping[int, RankedQuery]]
) -> tuple[RankedQuery, ...]:
    """Return the documents of the judged queries in `rows`; some may be in no part."""
    ranked = {row: query for part in parts for row, query in part.items()}
    none = np.zeros(0, dtype=np.int64)
    for row in rows:
        if row not in ranked:
            qid = qrels.qids[row]
            ranked[row] = RankedQuery(qid, (), none.astype(np.float64), none, (), qrels[qid])
    return tuple([ranked[row] for row in rows])
