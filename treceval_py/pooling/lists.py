"""The documents of several runs side by side: their ranks in each run, and their judgments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
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
    ids, queries, ranks = [], [], []
    for run in runs:
        arranged = arrange(run, ranking._replace(tied=False))
        offsets = arranged.run.offsets
        rows = np.repeat(np.arange(len(run.qids)), np.diff(offsets))
        rank = arranged.ranks if arranged.ranks is not None else np.arange(1, len(rows) + 1) - offsets[rows]
        kept = rank <= limit_of(ranking.depth)
        ids.append(arranged.run.docids.take(arranged.order[kept]))
        queries.append(qrels.rows_of(run.qids)[rows][kept])
        ranks.append(np.minimum(rank[kept], UNRANKED - 1))
    queries.append(np.repeat(np.arange(len(qrels.qids)), np.diff(qrels.offsets)))
    every = Ids.concatenate([*ids, qrels.docids])
    keys, document = np.unique(np.concatenate(queries) * len(every) + firsts_of(every), return_inverse=True)
    *retrieved, judged = np.split(document, np.cumsum([len(rank) for rank in ranks]))
    table: IntArray = np.zeros((len(runs), len(keys)), dtype=np.int32)
    labels = np.full(len(keys), -1)
    for of_run, documents, rank in zip(table, retrieved, ranks, strict=True):
        of_run[documents] = rank
    labels[judged] = qrels.rels
    docids = every.take(keys % max(len(every), 1))
    starts = np.searchsorted(keys, np.arange(len(qrels.qids) + 1) * len(every)).tolist()
    for number, (start, stop) in enumerate(pairwise(starts)):
        yield QueryLists(number, docids[start:stop], table[:, start:stop], labels[start:stop])
