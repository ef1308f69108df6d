"""The documents of several runs side by side: their ranks in each run, and their judgments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from treceval_py._types import IntArray
from treceval_py.data.ids import Ids, firsts_of
from treceval_py.data.qrels import Qrels
from treceval_py.data.ranking import Ranking, arrange, limit_of
from treceval_py.data.run import Run

UNRANKED = np.iinfo(np.int32).max
"""The best rank of a document that no run retrieved."""


class QueryLists(NamedTuple):
    """The lists of all runs for one query, and its judgments.

    Attributes
    ----------
    number : int
        The number of the query.
    docids : Ids, length N
        The documents that are retrieved or judged.
    ranks : (S, N) int array
        Their ranks in each run; 0 where a run lacks one.
    labels : (N,) int array
        Their judgments; negative for unjudged ones.
    """

    number: int
    docids: Ids
    ranks: IntArray
    labels: IntArray

    @property
    def best(self) -> IntArray:
        """The best rank of each document in any run. (N,)."""
        best: IntArray = np.where(self.ranks > 0, self.ranks, UNRANKED).min(axis=0)
        return best

    @property
    def judged(self) -> int:
        """Number of judged documents."""
        return int(np.count_nonzero(self.labels >= 0))


def side_by_side(qrels: Qrels, runs: Sequence[Run], ranking: Ranking) -> Iterator[QueryLists]:
    """Yield the lists of each query of `qrels`, which has all queries of the runs, in its order."""
    ids, queries, numbers, ranks = [], [], [], []
    for number, run in enumerate(runs):
        arranged = arrange(run, ranking._replace(tied=False))
        offsets = arranged.run.offsets
        rows = np.repeat(np.arange(len(run.qids)), np.diff(offsets))
        rank = arranged.ranks if arranged.ranks is not None else np.arange(1, len(rows) + 1) - offsets[rows]
        kept = rank <= limit_of(ranking.depth)
        ids.append(arranged.run.docids.take(arranged.order[kept]))
        queries.append(qrels.rows_of(run.qids)[rows][kept])
        numbers.append(np.full(int(kept.sum()), number))
        ranks.append(np.minimum(rank[kept], UNRANKED - 1))
    judged = np.repeat(np.arange(len(qrels.qids)), np.diff(qrels.offsets))
    every, query = Ids.concatenate([*ids, qrels.docids]), np.concatenate([*queries, judged])
    keys, document = np.unique(query * len(every) + firsts_of(every), return_inverse=True)
    labels = np.full(len(keys), -1)
    labels[document[len(document) - len(judged) :]] = qrels.rels
    document, by_run, rank = document[: len(document) - len(judged)], np.concatenate(numbers), np.concatenate(ranks)
    order = np.argsort(document, kind="stable")
    document, by_run, rank = document[order], by_run[order], rank[order]
    docids = every.take(keys % max(len(every), 1))
    starts = np.searchsorted(keys, np.arange(len(qrels.qids) + 1) * len(every))
    hits = np.searchsorted(document, starts)
    for number in range(len(qrels.qids)):
        start, stop = starts[number], starts[number + 1]
        of_query = slice(hits[number], hits[number + 1])
        table = np.zeros((len(runs), stop - start), dtype=np.int32)
        table[by_run[of_query], document[of_query] - start] = rank[of_query]
        yield QueryLists(number, docids[start:stop], table, labels[start:stop])
