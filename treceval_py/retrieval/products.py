"""Exact search by sparse products: the best passages for queries that are weights of words, or of a vocabulary.

The score of a pair is the sum of the products of common weights, added in the order of the query. It depends on the
pair alone: blocks, threads and other queries change nothing. Passages without a common word are not hits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from treceval_py._types import AnyArray, IntArray
from treceval_py.retrieval.vectors import SparseVectors

BLOCK = 1 << 16
"""Passages searched at a time."""

BATCH = 64
"""Queries multiplied at a time: each may share a word with every passage of the block."""


class Best:
    """Queries and their best passages so far.

    Parameters
    ----------
    queries : (Q, V) sparse matrix
        The weights of the queries' words, as SciPy's CSR.
    k : int
        How many passages to keep for each.
    kind : type
        The type of the scores: float32 or float64.

    Attributes
    ----------
    positions : (Q, k) int64 array
        Positions of passages, best first; of equal scores, the earlier passage first. -1 for none.
    scores : (Q, k) float array
        Their scores, all above 0; 0 for none.
    """

    def __init__(self, queries: Any, k: int, kind: type[np.floating[Any]] = np.float32) -> None:
        self._queries = queries
        self.positions: IntArray = np.full((queries.shape[0], k), -1, dtype=np.int64)
        self.scores: AnyArray = np.zeros((queries.shape[0], k), dtype=kind)

    def look(
        self, columns: Any, first: int, score: Callable[[AnyArray, IntArray, IntArray], AnyArray] | None = None
    ) -> None:
        """Add the next passages.

        Parameters
        ----------
        columns : (V, n) sparse matrix
            The weights of their words by word, as CSR; the table of the passages, transposed.
        first : int
            The place of the first of them.
        score : callable, optional
            Turns products into scores; called with the products, their queries (from 0) and passages (from 0 in this
            block).
        """
        for start in range(0, len(self.scores), BATCH):
            products = self._queries[start : start + BATCH] @ columns
            rows = np.repeat(np.arange(start, start + products.shape[0]), np.diff(products.indptr))
            scores = products.data if score is None else score(products.data, rows, products.indices)
            # Who only equals the last one kept comes too late.
            better = np.flatnonzero(scores > self.scores[rows, -1])
            met, starts = np.unique(rows[better], return_index=True)
            for row, some in zip(met.tolist(), np.split(better, starts[1:]), strict=False):
                self._keep(row, products.indices[some] + np.int64(first), scores[some])

    def _keep(self, row: int, positions: IntArray, scores: AnyArray) -> None:
        """Insert passages among the best of a query."""
        k = self.scores.shape[1]
        if len(scores) > k:
            good = scores >= np.partition(scores, -k)[-k]
            positions, scores = positions[good], scores[good]
        scores = np.concatenate([self.scores[row], scores])
        positions = np.concatenate([self.positions[row], positions])
        order = np.lexsort((positions, -scores))[:k]
        self.scores[row], self.positions[row] = scores[order], positions[order]


def search(vectors: SparseVectors, queries: Any, k: int, advance: Callable[[int], None]) -> Best:
    """Find the k best vectors for each query.

    Parameters
    ----------
    vectors : SparseVectors
        The vectors to search; they are read once, a block at a time.
    queries : (Q, V) sparse matrix
        The vectors of the queries, as CSR.
    k : int
        Number to find for each query.
    advance : callable
        Called after each block with the number of vectors searched.

    Returns
    -------
    Best
        The best vectors.
    """
    best = Best(queries, k)
    for first, block in vectors.blocks(BLOCK):
        best.look(block.T.tocsr(), first)
        advance(block.shape[0])
    return best
