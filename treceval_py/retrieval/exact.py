"""Exact search: the k best of all vectors for each query, the same ones whatever the threads, blocks and batches.

Faiss finds candidates with matrix products. Their last digits depend on the position of a vector in a product, on the
number of other vectors and on the number of threads. So the same text twice would get two scores, and one more query
would change the scores of the others. Therefore candidates are scored again, each pair of vectors by itself, and for
each query a bound proves that no vector outside the candidates can be among the best. The result is then a property of
the vectors alone: by descending score, equal scores by ascending position. This takes a few per cent of the time.

Sparse vectors are multiplied by SciPy, which adds the products of a pair in the order of the query's words: such a
score is a property of the pair.

Hits are kept as keys, whole numbers in the order of hits: by descending score, equal scores by ascending position. The
upper half of a key is the score, the lower half the position, which is less than 2 ** 32 - 1.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from treceval_py._types import AnyArray, FloatArray, FloatArray32, IntArray
from treceval_py.errors import RunnerError
from treceval_py.retrieval.hub import check_packages
from treceval_py.retrieval.pool import Actors, Advance, Places, Task
from treceval_py.retrieval.vectors import SparseVectors, StreamedVectors, block_rows

BATCH = 1024
"""Queries searched at a time. Half of this is slower by a twentieth, more is hardly faster."""

SPARSE_BATCH = 64
"""Sparse queries multiplied at a time: each may share a word with every passage of the block."""

BLAS_FROM = 20
"""Number of queries from which on Faiss multiplies matrices.

Since faiss 1.14.2 it waits for 128,000 divided by the dimensions, and takes up to fifteen times as long until then.
"""

SPARE = 64
"""Number of candidates beyond k, because the last ones are not in their final order."""

PAIRS = 2 << 20
"""Most candidates scored again at a time."""

LONGEST_SQUARE = 1e36
"""Largest squared length of a vector; above it, scores could be infinite."""

LOW = (1 << 32) - 1
"""The lower half of a key; all of it is set where there is nothing."""

NOTHING = 0x7F800000 << 32 | LOW
"""The key of no hit: a score of minus infinity, and the position -1."""

GPU_MOST = 2048
"""Most neighbours that Faiss finds on a GPU."""


class Found(NamedTuple):
    """The best vectors of each query, best first.

    Attributes
    ----------
    scores : (Q, k) float32 array
        Larger is better; ``-inf`` where there is nothing.
    positions : (Q, k) int64 array
        Positions of vectors from 0; -1 where there is nothing.
    """

    scores: FloatArray32
    positions: IntArray


def search(
    vectors: StreamedVectors, queries: FloatArray32, k: int, similarity: str, advance: Advance = lambda _: None
) -> Found:
    """Find the k best vectors for each query, looking at all of them.

    Parameters
    ----------
    vectors : StreamedVectors
        The D vectors to search in; they are read once, a block at a time.
    queries : (Q, E) float32 array
        The vectors of the queries.
    k : int
        Number to find for each query, at least 1. If there are fewer vectors, the rest is -1 and ``-inf``.
    similarity : str
        ``inner-product``; ``cosine``, the inner product of both divided by their lengths, where a vector of zeros has
        the score 0; or ``l2``, the squared Euclidean distance below zero (0 for equal vectors, never above).
    advance : callable, optional
        Called after each block with the number of vectors searched.

    Returns
    -------
    Found
        Of equal scores, those with the lowest positions. The result does not depend on the number of threads, on what
        other queries there are, or on how the vectors are divided. The score of a pair is a sum in float32, added by
        one routine for all pairs, so equal vectors have equal scores.

    Raises
    ------
    RunnerError
        The similarity is unknown, or a vector or query holds a value that is not finite, or is longer than 1e18. Or
        faiss is not installed.
    """
    return _searched(Best(queries, k, similarity), vectors.blocks(block_rows(vectors.dimensions)), advance)


def search_with_ray(
    vectors: StreamedVectors, queries: FloatArray32, k: int, similarity: str, advance: Advance = lambda _: None
) -> Found:
    """Find the k best vectors for each query on the cores of the Ray cluster that is connected, block by block.

    Parameters
    ----------
    vectors : StreamedVectors
        The D vectors to search in; this process reads them, a few blocks ahead.
    queries : (Q, E) float32 array
        The vectors of the queries.
    k : int
        Number to find for each query.
    similarity : str
        As of `search`.
    advance : callable, optional
        Called after each block with the number of vectors that were searched.

    Returns
    -------
    Found
        To the bit what `search` finds here.

    Raises
    ------
    RunnerError
        As of `search`; or there is no cluster, or no node of it is left.
    """
    keys, searched = np.full((len(queries), k), NOTHING), 0
    # Copies, as the next block overwrites it.
    blocks = ((first, block.copy()) for first, block in vectors.blocks(block_rows(vectors.dimensions)))
    tasks = (Task(number, content, len(content[1])) for number, content in enumerate(blocks))
    with closing(Places(partial(_Searcher, queries, k, similarity), Actors(gpus=False))) as pool:
        for task, more, _ in pool.run(tasks, advance):
            keys, searched = best_of(keys, more), searched + task.size
    if searched != vectors.count:
        raise RunnerError(f"{searched:,} of {vectors.count:,} vectors were searched", "Repeat the command.")
    return hits_of(keys)


class _Searcher:
    """Searches blocks, on a node; see `pool.Worker`.

    What is returned for a block are its hits that can still be among the k best of all after the blocks that this
    worker has searched before. So less and less is returned, and no hit that counts is lost with a worker.
    """

    notes: tuple[str, ...] = ()

    def __init__(self, queries: FloatArray32, k: int, similarity: str, _: str) -> None:
        self.by: dict[str, object] = {}
        self._best = Best(queries, k, similarity)

    def prepare(self, content: tuple[int, FloatArray32]) -> tuple[int, FloatArray32]:
        return content

    def work(self, prepared: tuple[int, FloatArray32], _: Advance) -> IntArray:
        first, block = prepared
        self._best.add(first, block)
        positions = self._best.keys & LOW
        keys = np.where((first <= positions) & (positions < first + len(block)), self._best.keys, NOTHING)
        return np.sort(keys)[:, : (keys != NOTHING).sum(axis=1).max(initial=0)]


def search_sparse(vectors: SparseVectors, queries: Any, k: int, advance: Advance = lambda _: None) -> Found:
    """Find the k best vectors for each query.

    Parameters
    ----------
    vectors : SparseVectors
        The vectors to search; they are read once, a block at a time.
    queries : (Q, V) sparse matrix
        The vectors of the queries, as CSR.
    k : int
        Number to find for each query.
    advance : callable, optional
        Called after each block with the number of vectors searched.

    Returns
    -------
    Found
        Hits have scores above 0; of equal scores, those with the lowest positions.
    """
    return _searched(SparseBest(queries, k), vectors.blocks(), advance)


def _searched(best: Best | SparseBest, blocks: Iterable[tuple[int, Any]], advance: Advance) -> Found:
    for first, block in blocks:
        best.add(first, block)
        advance(block.shape[0])
    return hits_of(best.keys)


def keys_of(scores: FloatArray32, positions: IntArray) -> IntArray:
    """Return the keys of hits; -1 as a position and ``-inf`` as a score are those of nothing."""
    bits = (scores + np.float32(0.0)).view(np.int32)  # zero has one sign
    keys: IntArray = ~_ordered(bits).astype(np.int64) << 32 | positions & LOW
    return keys


def hits_of(keys: IntArray) -> Found:
    """Return the hits of sorted keys."""
    positions = keys & LOW
    scores = _ordered(~(keys >> 32).astype(np.int32)).view(np.float32)
    return Found(scores, np.where(positions == LOW, -1, positions))


def best_of(keys: IntArray, more: IntArray) -> IntArray:
    """Return the best of two tables of keys, as many in a row as the first one has."""
    count, both = keys.shape[-1], np.concatenate([keys, more], axis=-1)
    return np.sort(np.partition(both, count - 1)[..., :count])


def _ordered(bits: Any) -> Any:
    """Return whole numbers in the order of the float32 numbers that have these bits, or the bits of such numbers."""
    return bits ^ (bits >> 31 & 0x7FFFFFFF)


def load_faiss() -> Any:
    """Return the package faiss.

    Raises
    ------
    RunnerError
        It is not installed.
    """
    check_packages("faiss")
    import faiss  # type: ignore[import-untyped,import-not-found,unused-ignore]

    return faiss


def metric_of(similarity: str) -> int:
    """Return the number of a similarity in Faiss; for the cosine, vectors are normalised before.

    Raises
    ------
    RunnerError
        There is no such similarity, or faiss is not installed.
    """
    faiss = load_faiss()
    product = faiss.METRIC_INNER_PRODUCT
    metrics: dict[str, int] = {"inner-product": product, "cosine": product, "l2": faiss.METRIC_L2}
    if similarity not in metrics:
        raise RunnerError(f"{similarity!r} is not a similarity", f"There are {', '.join(metrics)}.")
    return metrics[similarity]


def prepared(vectors: AnyArray, similarity: str, kind: str, first: int = 0) -> tuple[FloatArray32, FloatArray]:
    """Check vectors, and return them ready for the search: normalised for the cosine.

    Parameters
    ----------
    vectors : (n, E) float array
        The vectors; they are not changed.
    similarity : str
        As of `search`.
    kind : str
        ``vector`` or ``query``, for messages.
    first : int
        The position of the first one, for messages.

    Returns
    -------
    vectors : (n, E) float32 array, C-contiguous
        The vectors.
    lengths : (n,) float64 array
        Their lengths, or somewhat more.

    Raises
    ------
    RunnerError
        A vector holds a value that is not finite, of which Faiss would never return it, or is longer than 1e18.
    """
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    squares = np.einsum("ij,ij->i", vectors, vectors)
    for row in np.flatnonzero(~(squares <= LONGEST_SQUARE)):
        fault = f"the {kind} at position {first + row} (from 0) is longer than 1e18, or has a value that is not finite"
        raise RunnerError(fault, "Normalise it, or encode it again.")
    if similarity == "cosine":
        vectors = vectors.copy()
        load_faiss().normalize_L2(vectors)
        return vectors, np.full(len(vectors), 1.001)
    return vectors, np.sqrt(squares.astype(np.float64))


class Best:
    """Queries and their best vectors so far. Blocks of vectors may be added in any order, each of them once.

    Parameters
    ----------
    queries : (Q, E) float array
        The vectors of the queries.
    k : int
        Number of vectors to keep for each.
    similarity : str
        As of `search`.

    Attributes
    ----------
    keys : (Q, k) int64 array
        The best, best first.

    Raises
    ------
    RunnerError
        As of `search`.
    """

    def __init__(self, queries: FloatArray32, k: int, similarity: str) -> None:
        self._metric, self._faiss = metric_of(similarity), load_faiss()
        self._similarity, self._l2 = similarity, similarity == "l2"
        self._queries, self._lengths = prepared(queries, similarity, "query")
        self.keys = np.full((len(queries), k), NOTHING)
        self._seen = 0
        self._gpu: Any = None
        if hasattr(self._faiss, "StandardGpuResources") and self._faiss.get_num_gpus():
            if torch := sys.modules.get("torch"):  # which keeps the memory of a model that encoded before
                torch.cuda.empty_cache()
            # It keeps the resources, which reserve memory when they are made.
            resources = self._faiss.StandardGpuResources()
            self._gpu = self._faiss.GpuIndexFlat(resources, self._queries.shape[1], self._metric)

    def add(self, first: int, block: FloatArray32) -> None:
        """Search a block (n, E) whose first vector has position ``first``."""
        block, lengths = prepared(block, self._similarity, "vector", first)
        error = self._error(lengths.max(initial=0.0))
        if self._gpu is not None:  # the block is copied there once
            self._gpu.reset()
            self._gpu.add(block)
        rows, k = np.arange(len(self.keys)), self.keys.shape[1]
        enough = min(len(block), k + SPARE)
        # As if the best were spread evenly over the blocks, and half as many again.
        narrow = min(enough, SPARE + 3 * k * len(block) // (2 * (self._seen + len(block))))
        for start in range(0, len(rows), BATCH):
            pending, width = rows[start : start + BATCH], narrow
            while len(pending):
                parts = np.array_split(pending, -(-len(pending) * width // PAIRS))
                # There are more than their share in this block; or too many vectors are nearly as good as the last one
                # that counts, many copies of a text for instance.
                pending = np.concatenate([self._add_candidates(part, first, block, width, error) for part in parts])
                width = enough if width < enough else 8 * width if 16 * width < len(block) else len(block)
        self._seen += len(block)

    def _error(self, longest: float) -> FloatArray:
        """Return the largest error (Q,) of a matrix product relative to the score of the same pair.

        A sum of E products in float32, in any order, is off by at most gamma = E u / (1 - E u) times the product of the
        lengths, u = 2 ** -24 [1]_; a difference of two of them by twice that. Of a distance, taken as a sum of two
        squared lengths and a product, by that times the square of the sum of both lengths. Tensor cores may round the
        factors to 11 bits.

        References
        ----------
        .. [1] N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., SIAM, 2002, section 3.1.
        """
        roundings = (self._queries.shape[1] + 8) * 2.0**-24
        gamma = roundings / (1 - roundings) + (2.0**-10 if self._gpu is not None else 0.0)
        scale = (self._lengths + longest) ** 2 if self._l2 else self._lengths * longest
        error: FloatArray = 2 * gamma * scale
        return error

    def _add_candidates(
        self, rows: IntArray, first: int, block: FloatArray32, width: int, error: FloatArray
    ) -> IntArray:
        """Add the best of the ``width`` candidates of the queries ``rows``; return those that may have more."""
        if self._gpu is not None and width <= GPU_MOST:
            rough, columns = self._gpu.search(self._queries[rows], width)
        else:
            rough, columns = self._knn(self._queries[rows], block, width)
        rough = -rough if self._l2 else rough
        worst = hits_of(self.keys[rows, -1]).scores - error[rows]  # in float64
        row, column = np.nonzero(rough >= worst[:, None])
        position = columns[row, column]
        candidates = np.full(columns.shape, NOTHING)
        candidates[row, column] = keys_of(self._scores(rows[row], position, block), first + position)
        best = best_of(self.keys[rows], candidates)
        proved = (rough[:, -1] + error[rows] < hits_of(best[:, -1]).scores) | (width == len(block))
        self.keys[rows[proved]] = best[proved]
        unproved: IntArray = rows[~proved]
        return unproved

    def _knn(self, queries: FloatArray32, block: FloatArray32, width: int) -> tuple[FloatArray32, IntArray]:
        """Return what Faiss finds by matrix products, and set back what was set."""
        settings = self._faiss.cvar
        before, settings.distance_compute_blas_threshold = settings.distance_compute_blas_threshold, BLAS_FROM
        try:
            rough, columns = self._faiss.knn(queries, block, width, metric=self._metric)
        finally:
            settings.distance_compute_blas_threshold = before
        return rough, columns

    def _scores(self, query: IntArray, position: IntArray, block: FloatArray32) -> FloatArray32:
        """Return the scores (n,) of pairs, each computed by itself."""
        faiss, scores = self._faiss, np.empty(len(query), dtype=np.float32)
        routine = faiss.pairwise_indexed_L2sqr if self._l2 else faiss.pairwise_indexed_inner_product
        routine(block.shape[1], len(query), *map(faiss.swig_ptr, (self._queries, query, block, position, scores)))
        return -scores if self._l2 else scores


class SparseBest:
    """Queries that are weights of words, and their best passages so far.

    Parameters
    ----------
    queries : (Q, V) sparse matrix
        The weights of the queries' words, as SciPy's CSR.
    k : int
        How many passages to keep for each.

    Attributes
    ----------
    keys : (Q, k) int64 array
        The best, best first; all have scores above 0.
    """

    def __init__(self, queries: Any, k: int) -> None:
        self._queries = queries
        self.keys = np.full((queries.shape[0], k), NOTHING)

    def add(
        self, first: int, table: Any, score: Callable[[AnyArray, IntArray, IntArray], AnyArray] | None = None
    ) -> None:
        """Add the next passages, in the order of their positions.

        Parameters
        ----------
        first : int
            The position of the first of them.
        table : (n, V) sparse matrix
            The weights of their words, as CSR.
        score : callable, optional
            Turns products into float32 scores; called with the products, their queries (from 0) and passages (from 0
            in this block).
        """
        columns = table.T.tocsr()
        for start in range(0, len(self.keys), SPARSE_BATCH):
            products = self._queries[start : start + SPARSE_BATCH] @ columns
            rows = start + np.repeat(np.arange(products.shape[0]), np.diff(products.indptr))
            scores = products.data if score is None else score(products.data, rows, products.indices)
            # Who only equals the last one kept comes too late.
            better = np.flatnonzero(scores > np.maximum(hits_of(self.keys[:, -1]).scores, 0)[rows])
            keys = keys_of(scores[better], products.indices[better] + np.int64(first))
            met, starts = np.unique(rows[better], return_index=True)
            for row, some in zip(met, np.split(keys, starts[1:]), strict=False):
                self.keys[row] = best_of(self.keys[row], some)
