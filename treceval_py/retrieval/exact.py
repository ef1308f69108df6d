"""Exact search: the k best of all vectors for each query, the same ones whatever the threads, blocks and batches.

Faiss finds candidates with matrix products. Their last digits depend on the position of a vector in a product, on the
number of other vectors and on the number of threads. So the same text twice would get two scores, and one more query
would change the scores of the others. Therefore candidates are scored again, each pair of vectors by itself, and for
each query a bound proves that no vector outside the candidates can be among the best. The result is then a property of
the vectors alone: by descending score, equal scores by ascending position. This takes a few per cent of the time.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from treceval_py._types import FloatArray, FloatArray32, IntArray
from treceval_py.errors import RunnerError
from treceval_py.retrieval.hub import INSTALL
from treceval_py.retrieval.pool import Actors, Advance, Places, Task
from treceval_py.retrieval.vectors import ArrayVectors, Vectors, block_rows

SIMILARITIES = ("inner-product", "cosine", "l2")
"""The similarities of two vectors."""

BATCH = 1024
"""Queries searched at a time. Half of this is slower by a twentieth, more is hardly faster."""

BLAS_FROM = 20
"""Number of queries from which on Faiss multiplies matrices.

Since faiss 1.14.2 it waits for 128,000 divided by the dimensions, and takes up to fifteen times as long until then.
"""

SPARE = 64
"""Number of candidates beyond k, because the last ones are not in their final order."""

PAIRS = 1 << 20
"""Candidates scored again at a time."""

LONGEST_SQUARE = 1e36
"""Largest squared length of a vector; above it, scores could be infinite."""

LOW = (1 << 32) - 1
"""The lower half of a key."""

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
    vectors: Vectors, queries: FloatArray32, k: int, similarity: str, advance: Advance = lambda _: None
) -> Found:
    """Find the k best vectors for each query, looking at all of them.

    Parameters
    ----------
    vectors : Vectors
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
        The similarity is unknown, k is below 1, the dimensions differ, or a vector or query holds a value that is not
        finite, or is longer than 1e18. Or faiss is not installed.
    """
    queries = prepared_queries(queries, vectors.dimensions, k, similarity)
    finder = _Finder(vectors.dimensions, similarity == "l2")
    starts = range(0, max(len(queries), 1), BATCH)
    batches = [_Batch(finder, queries[start : start + BATCH], k) for start in starts]
    for first, block, longest in prepared_blocks(vectors, similarity):
        with fast_batches():
            finder.take(block)
            for batch in batches:
                batch.add(first, block, longest)
        advance(len(block))
    return _hits(np.concatenate([batch.best for batch in batches]))


def merge(parts: Sequence[Found], k: int) -> Found:
    """Return the k best of the hits found in parts of the vectors.

    Parameters
    ----------
    parts : sequence of Found
        What `search` found for the same queries in each part, with positions among all vectors; in any order, and with
        at least k columns together.
    k : int
        Number to keep.

    Returns
    -------
    Found
        The same as one search over all parts.
    """
    scores, positions = (np.concatenate(column, axis=1) for column in zip(*parts, strict=True))
    return best_first(scores, positions, k)


def best_first(scores: FloatArray32, positions: IntArray, k: int) -> Found:
    """Return the first k columns of hits (Q, n) in order: best first, equal scores by ascending position.

    Parameters
    ----------
    scores : (Q, n) float32 array
        Scores of hits in any order; ``-inf`` where there is nothing.
    positions : (Q, n) int array
        Their positions; -1 where there is nothing.
    k : int
        Number to keep.

    Returns
    -------
    Found
        The best.
    """
    return _hits(np.sort(_keys(scores, positions))[:, :k])


def _keys(scores: FloatArray32, positions: IntArray) -> IntArray:
    """Return whole numbers that are in the order of hits: by descending score, equal scores by ascending position.

    The upper half is the score, the lower half the position, which is less than 2 ** 32 - 1; all of it is set where
    there is nothing.
    """
    bits = (scores + np.float32(0.0)).view(np.int32)  # zero has one sign
    keys: IntArray = ~_ordered(bits).astype(np.int64) << 32 | positions & LOW
    return keys


def _hits(keys: IntArray) -> Found:
    """Return the hits of sorted keys."""
    positions = keys & LOW
    scores = _ordered(~(keys >> 32).astype(np.int32)).view(np.float32)
    return Found(scores, np.where(positions == LOW, -1, positions))


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
    try:
        import faiss  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        raise RunnerError("searching needs the package faiss, which is not installed", INSTALL) from None
    return faiss


def has_gpus(faiss: Any) -> bool:
    """Return whether faiss has GPUs; they get back the memory that torch keeps of a model that encoded before."""
    if faiss.get_num_gpus() < 1 or not hasattr(faiss, "StandardGpuResources"):
        return False
    if torch := sys.modules.get("torch"):
        torch.cuda.empty_cache()
    return True


def check_similarity(similarity: str) -> None:
    """Refuse a similarity that is not one of `SIMILARITIES`.

    Raises
    ------
    RunnerError
        It is not.
    """
    if similarity not in SIMILARITIES:
        raise RunnerError(f"{similarity!r} is not a similarity", f"There are {', '.join(SIMILARITIES)}.")


@contextmanager
def fast_batches() -> Iterator[None]:
    """Let faiss multiply matrices for small batches too, and set back what was set."""
    settings = load_faiss().cvar
    before = settings.distance_compute_blas_threshold
    settings.distance_compute_blas_threshold = BLAS_FROM
    try:
        yield
    finally:
        settings.distance_compute_blas_threshold = before


def prepared_queries(queries: FloatArray32, dimensions: int, k: int, similarity: str) -> FloatArray32:
    """Check queries and return them ready for the search: normalised for the cosine.

    Parameters
    ----------
    queries : (Q, E) float array
        The vectors of the queries; they are not changed.
    dimensions : int
        Dimensions of the vectors.
    k : int
        Number of vectors to find.
    similarity : str
        One of `SIMILARITIES`.

    Returns
    -------
    (Q, E) float32 array, C-contiguous
        The queries.

    Raises
    ------
    RunnerError
        As of `search`.
    """
    check_similarity(similarity)
    if k < 1:
        raise RunnerError(f"{k} documents cannot be found", "Ask for 1 or more.")
    if queries.ndim != 2 or queries.shape[1] != dimensions:
        raise RunnerError(
            f"expected queries of shape (queries, {dimensions}), as the vectors have {dimensions} dimensions, found "
            f"shape {queries.shape}",
            "Encode both with one model and the same settings.",
        )
    faiss = load_faiss()
    prepared = np.ascontiguousarray(queries, dtype=np.float32)
    _lengths(faiss, prepared, "query", 0)
    return _normalised(faiss, prepared) if similarity == "cosine" else prepared


def _normalised(faiss: Any, vectors: FloatArray32) -> FloatArray32:
    """Return vectors (n, E) divided by their lengths; vectors of zeros stay as they are."""
    result = vectors.copy()
    faiss.fvec_renorm_L2(result.shape[1], len(result), faiss.swig_ptr(result))
    return result


def prepared_blocks(vectors: Vectors, similarity: str) -> Iterator[tuple[int, FloatArray32, float]]:
    """Check vectors and yield them in blocks ready for the search: normalised for the cosine.

    Parameters
    ----------
    vectors : Vectors
        The vectors.
    similarity : str
        One of `SIMILARITIES`.

    Yields
    ------
    first : int
        The position of the block's first vector.
    block : (n, E) float32 array, C-contiguous
        The vectors; the next block may overwrite them.
    longest : float
        The length of the longest of them, or somewhat more.

    Raises
    ------
    RunnerError
        A vector holds a value that is not finite, or is longer than 1e18; or faiss is not installed.
    """
    faiss = load_faiss()
    for first, block in vectors.blocks(block_rows(vectors.dimensions)):
        longest = float(_lengths(faiss, block, "vector", first).max(initial=0.0))
        yield (first, _normalised(faiss, block), 1.001) if similarity == "cosine" else (first, block, longest)


def _lengths(faiss: Any, vectors: FloatArray32, kind: str, first: int) -> FloatArray:
    """Return the lengths (n,) of vectors, and refuse those without a length.

    Faiss would silently never return a vector with a value that is not a number.
    """
    squares = np.empty(len(vectors), dtype=np.float32)
    faiss.fvec_norms_L2sqr(faiss.swig_ptr(squares), faiss.swig_ptr(vectors), vectors.shape[1], len(vectors))
    bad = np.flatnonzero(~(squares <= LONGEST_SQUARE))
    if len(bad):
        name = f"the {kind} at position {first + bad[0]} (from 0)"
        if np.isfinite(vectors[bad[0]]).all():
            raise RunnerError(f"{name} is longer than 1e18", "Normalise the vectors.")
        raise RunnerError(f"{name} holds a value that is not finite", "Encode it again.")
    return np.sqrt(squares.astype(np.float64))


class _Finder:
    """Finds candidates in a block with matrix products: on a GPU, where a block is copied once, if Faiss has one."""

    def __init__(self, dimensions: int, l2: bool) -> None:
        self.faiss = load_faiss()
        self.l2 = l2
        self.gpu: Any = None
        self._block: Any = None
        self._metric = self.faiss.METRIC_L2 if l2 else self.faiss.METRIC_INNER_PRODUCT
        if has_gpus(self.faiss):
            # It keeps the resources, which reserve memory when they are made.
            self.gpu = self.faiss.GpuIndexFlat(self.faiss.StandardGpuResources(), dimensions, self._metric)

    def take(self, block: FloatArray32) -> None:
        """Take a block (n, E) in place of the one before."""
        self._block = block
        if self.gpu is not None:
            self.gpu.reset()
            self.gpu.add(block)

    def nearest(self, queries: FloatArray32, width: int) -> tuple[FloatArray32, IntArray]:
        """Return rough scores and rows of the block (b, width) that are best by them, best first."""
        if self.gpu is not None and width <= GPU_MOST:
            scores, rows = self.gpu.search(queries, width)
        else:
            scores, rows = self.faiss.knn(queries, self._block, width, metric=self._metric)
        return -scores if self.l2 else scores, rows


class _Batch:
    """Some queries and their best vectors so far: keys (b, k), best first."""

    def __init__(self, finder: _Finder, queries: FloatArray32, k: int) -> None:
        self._finder = finder
        self._queries = queries
        self._lengths = _lengths(finder.faiss, queries, "query", 0)
        self.best = np.full((len(queries), k), NOTHING)
        self._seen = 0

    def add(self, first: int, block: FloatArray32, longest: float) -> None:
        """Search a block (n, E) whose first vector has position ``first`` and whose longest one is ``longest`` long."""
        error = self._error(longest, block.shape[1])
        pending, k = np.arange(len(self._queries)), self.best.shape[1]
        enough = min(len(block), k + SPARE)
        # As if the best were spread evenly over the blocks, and half as many again.
        width = min(enough, SPARE + 3 * k * len(block) // (2 * (self._seen + len(block))))
        while len(pending):
            parts = np.array_split(pending, -(-len(pending) * width // (2 * PAIRS)))
            # There are more than their share in this block; or too many vectors are nearly as good as the last one that
            # counts, many copies of a text for instance.
            pending = np.concatenate([self._add_candidates(part, first, block, width, error) for part in parts])
            width = enough if width < enough else 8 * width if 16 * width < len(block) else len(block)
        self._seen += len(block)

    def _error(self, longest: float, dimensions: int) -> FloatArray:
        """Return the largest error (Q,) of a matrix product relative to the score of the same pair.

        A sum of E products in float32, in any order, is off by at most gamma = E u / (1 - E u) times the product of the
        lengths, u = 2 ** -24 [1]_; a difference of two of them by twice that. Of a distance, taken as a sum of two
        squared lengths and a product, by that times the square of the sum of both lengths. Tensor cores may round the
        factors to 11 bits.

        References
        ----------
        .. [1] N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., SIAM, 2002, section 3.1.
        """
        roundings = (dimensions + 8) * 2.0**-24
        gamma = roundings / (1 - roundings) + (2.0**-10 if self._finder.gpu is not None else 0.0)
        scale = (self._lengths + longest) ** 2 if self._finder.l2 else self._lengths * longest
        error: FloatArray = 2 * gamma * scale
        return error

    def _add_candidates(
        self, rows: IntArray, first: int, block: FloatArray32, width: int, error: FloatArray
    ) -> IntArray:
        """Add the best of the ``width`` candidates of the queries ``rows``; return those that may have more."""
        rough, columns = self._finder.nearest(self._queries[rows], width)
        worst = _hits(self.best[rows, -1]).scores - error[rows]  # in float64
        row, column = np.nonzero(rough >= worst[:, None])
        position = columns[row, column]
        candidates = np.full(columns.shape, NOTHING)
        candidates[row, column] = _keys(self._scores(rows[row], position, block), first + position)
        best = np.sort(np.concatenate([self.best[rows], candidates], axis=1))[:, : self.best.shape[1]]
        last = _hits(best[:, -1]).scores
        proved = (rough[:, -1] + error[rows] < last) | (width == len(block))
        self.best[rows[proved]] = best[proved]
        unproved: IntArray = rows[~proved]
        return unproved

    def _scores(self, query: IntArray, position: IntArray, block: FloatArray32) -> FloatArray32:
        """Return the scores (n,) of pairs, each computed by itself."""
        faiss, l2 = self._finder.faiss, self._finder.l2
        scores = np.empty(len(query), dtype=np.float32)
        routine = faiss.pairwise_indexed_L2sqr if l2 else faiss.pairwise_indexed_inner_product
        query, position = (np.ascontiguousarray(column, dtype=np.int64) for column in (query, position))
        pointers = (faiss.swig_ptr(array) for array in (self._queries, query, block, position, scores))
        routine(block.shape[1], len(query), *pointers)
        return -scores if l2 else scores


def search_with_ray(
    vectors: Vectors, queries: FloatArray32, k: int, similarity: str, advance: Advance = lambda _: None
) -> Found:
    """Find the k best vectors for each query on the cores of the Ray cluster that is connected, block by block.

    Parameters
    ----------
    vectors : Vectors
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
    prepared_queries(queries, vectors.dimensions, k, similarity)
    best, searched = _hits(np.full((len(queries), k), NOTHING)), 0
    # Copies, as the next block overwrites it.
    blocks = enumerate((first, block.copy()) for first, block in vectors.blocks(block_rows(vectors.dimensions)))
    tasks = (Task(number, content, len(content[1])) for number, content in blocks)
    with closing(Places(partial(_Searcher, queries, k, similarity), Actors(gpus=False))) as pool:
        for task, hits, _ in pool.run(tasks, advance):
            # Hits are best first, so few columns are left to merge when many blocks have been searched.
            width = int((hits.scores >= best.scores[:, -1:]).sum(axis=1).max(initial=0))
            best = merge([best, Found(hits.scores[:, :width], hits.positions[:, :width])], k)
            searched += task.size
    if searched != vectors.count:
        raise RunnerError(f"{searched:,} of {vectors.count:,} vectors were searched", "Repeat the command.")
    return best


class _Searcher:
    """Searches blocks, on a node: see `pool.Worker`."""

    notes: tuple[str, ...] = ()

    def __init__(self, queries: FloatArray32, k: int, similarity: str, _: str) -> None:
        self.by: dict[str, object] = {}
        self._search = partial(search, queries=queries, k=k, similarity=similarity)

    def prepare(self, content: tuple[int, FloatArray32]) -> ArrayVectors:
        first, block = content
        return ArrayVectors(block, first)

    def work(self, prepared: ArrayVectors, _: Advance) -> Found:
        return self._search(prepared)
