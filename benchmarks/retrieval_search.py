"""Compare the speed of exact search with plain faiss, as ratios.

Usage: python retrieval_search.py FOLDER [--rows 1000000] [--dimensions 768] [--queries 1024] [-k 1000] [--shards 10]
[--repeat 3] [--markdown]

Random unit vectors are written to FOLDER as shards and removed at the end (3 GB with the defaults; as much memory).
All sides search them in one process, in turn, with the same threads. What they find is compared first.

The bars: in memory at least 0.95 times as fast as `faiss.knn` at its best batch size, and 5 times as fast as batches of
32 queries with faiss's own threshold; streamed from shards in at most 1.3 times the time of an index in memory.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import faiss  # type: ignore[import-untyped,import-not-found,unused-ignore]
import numpy as np
from taking_turns import DisagreementError, Table, Turn, table

from treceval_py._types import FloatArray32
from treceval_py.retrieval.exact import BLAS_FROM, Found, search
from treceval_py.retrieval.vectors import FileVectors, StreamedVectors, chained

OURS = "search, vectors in memory"
SHARDS = "search, streamed from shards"
INDEX = "IndexFlatIP.search, 1024 queries at a time"
SLOW = "faiss.knn, 32 queries at a time, its own threshold"
RAW = ("faiss.knn, 256 queries at a time", "faiss.knn, 512 queries at a time", "faiss.knn, 1024 queries at a time")

NEAR = 1e-5
"""Scores of unit vectors may differ by that much: sums of 768 float32 products in another order."""

Side = Callable[[], Found]


class Options(argparse.Namespace):
    """What the command line said."""

    folder: Path
    rows: int
    dimensions: int
    queries: int
    k: int
    shards: int
    slow_queries: int
    repeat: int
    markdown: bool


def unit_vectors(rows: int, dimensions: int, seed: int) -> FloatArray32:
    """Return random vectors of length 1."""
    vectors = np.random.default_rng(seed).standard_normal((rows, dimensions), dtype=np.float32)
    faiss.normalize_L2(vectors)
    return vectors


@contextmanager
def shards(vectors: FloatArray32, count: int, folder: Path) -> Iterator[StreamedVectors]:
    """Write vectors as shards, and remove them in the end."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        parts = np.array_split(vectors, count)
        paths = [os.path.join(place, f"{number}.npy") for number in range(count)]
        for path, part in zip(paths, parts, strict=True):
            np.save(path, part)
        yield chained([FileVectors(path, "") for path in paths], vectors.shape[1])


def in_memory(array: FloatArray32) -> StreamedVectors:
    """Return the vectors of an array."""
    return StreamedVectors(*array.shape, lambda: iter([array]))


@contextmanager
def fast_batches() -> Iterator[None]:
    """Let faiss multiply matrices for small batches too, and set back what was set."""
    before = faiss.cvar.distance_compute_blas_threshold
    faiss.cvar.distance_compute_blas_threshold = BLAS_FROM
    yield
    faiss.cvar.distance_compute_blas_threshold = before


def in_batches(
    find: Callable[[FloatArray32], tuple[FloatArray32, FloatArray32]], queries: FloatArray32, size: int
) -> Found:
    """Search a few queries at a time."""
    found = [find(queries[start : start + size]) for start in range(0, len(queries), size)]
    return Found(np.concatenate([scores for scores, _ in found]), np.concatenate([ids for _, ids in found]))


def sides(
    options: Options, index: faiss.IndexFlatIP, stored: StreamedVectors, queries: FloatArray32
) -> dict[str, Side]:
    """Return what is compared, by name."""
    vectors: FloatArray32 = faiss.rev_swig_ptr(index.get_xb(), index.ntotal * index.d).reshape(-1, index.d)

    def knn(some: FloatArray32) -> tuple[FloatArray32, FloatArray32]:
        scores, ids = faiss.knn(some, vectors, options.k, metric=faiss.METRIC_INNER_PRODUCT)
        return scores, ids

    def raw(size: int) -> Found:
        with fast_batches():
            return in_batches(knn, queries, size)

    def indexed() -> Found:
        with fast_batches():
            return in_batches(lambda some: index.search(some, options.k), queries, 1024)

    return {
        OURS: lambda: search(in_memory(vectors), queries, options.k, "inner-product"),
        RAW[0]: lambda: raw(256),
        RAW[1]: lambda: raw(512),
        RAW[2]: lambda: raw(1024),
        INDEX: indexed,
        SHARDS: lambda: search(stored, queries, options.k, "inner-product"),
        SLOW: lambda: in_batches(knn, queries[: options.slow_queries], 32),
    }


def check(name: str, found: Found, expected: Found) -> None:
    """Check that a side found what we find, but for the last digits of scores."""
    if not np.allclose(found.scores, expected.scores[: len(found.scores)], rtol=0, atol=NEAR):
        raise DisagreementError(f"{name} found other scores")
    same = np.mean([len(np.intersect1d(a, b)) for a, b in zip(found.positions, expected.positions, strict=False)])
    if same < 0.99 * found.positions.shape[1]:
        raise DisagreementError(f"{name} found other vectors")


def take_turns(compared: dict[str, Side], repeat: int, scale: dict[str, float]) -> dict[str, list[Turn]]:
    """Let the sides search in turn; the times of those that search a part of the queries are scaled up, taken once."""
    turns: dict[str, list[Turn]] = {name: [] for name in compared}
    expected = compared[OURS]()
    for number in range(repeat):
        for name, side in compared.items():
            if number and name in scale:
                continue
            start = time.perf_counter()
            found = side()
            seconds = (time.perf_counter() - start) * scale.get(name, 1.0)
            if not number:
                check(name, found, expected)
            turns[name].append(Turn(seconds, 0.0, 0.0, ""))
    return turns


def bars(turns: dict[str, list[Turn]]) -> Table:
    """Return the ratios that are promised, of the best times: on a machine that others use too, medians are theirs."""
    taken = {name: min(turn.seconds for turn in some) for name, some in turns.items()}
    best = min(taken[name] for name in RAW)
    rows = [
        ("speed of faiss.knn at its best batch size", f"{best / taken[OURS]:.2f}", "at least 0.95"),
        ("speed of batches of 32 with faiss's threshold", f"{taken[SLOW] / taken[OURS]:.1f}", "at least 5"),
        ("time of an index in memory, streamed from shards", f"{taken[SHARDS] / taken[INDEX]:.2f}", "at most 1.3"),
    ]
    return Table("search, as multiples", ("of", "ours", "bar"), rows)


def _arguments() -> Options:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where shards are written for the time of the search")
    parser.add_argument("--rows", type=int, default=1_000_000, help="vectors to search in")
    parser.add_argument("--dimensions", type=int, default=768, help="of a vector")
    parser.add_argument("--queries", type=int, default=1024, help="queries to search for")
    parser.add_argument("-k", type=int, default=1000, help="vectors to find for each")
    parser.add_argument("--shards", type=int, default=10, help="files that the vectors are divided into")
    parser.add_argument("--slow-queries", type=int, default=64, help="queries for the slow side, scaled up")
    parser.add_argument("--repeat", type=int, default=3, help="turns of each side")
    parser.add_argument("--markdown", action="store_true", help="print tables for GitHub")
    return parser.parse_args(namespace=Options())


def main() -> None:
    """Read the command line, compare, print."""
    options = _arguments()
    index = faiss.IndexFlatIP(options.dimensions)
    vectors = unit_vectors(options.rows, options.dimensions, 0)
    queries = unit_vectors(options.queries, options.dimensions, 1)
    with shards(vectors, options.shards, options.folder) as stored:
        index.add(vectors)
        del vectors
        compared = sides(options, index, stored, queries)
        slow = min(options.slow_queries, options.queries)
        try:
            turns = take_turns(compared, options.repeat, {SLOW: options.queries / slow})
        except DisagreementError as error:
            sys.exit(str(error))
    print(f"faiss {faiss.__version__}, {faiss.omp_get_max_threads()} threads; {platform.machine()}", end="\n\n")
    size = f"{options.queries:,} queries, {options.rows:,} × {options.dimensions}, k = {options.k:,}"
    note = f"The time of batches of 32 is that of {slow} queries, scaled up."
    for found in (table(f"search: {size}", turns, OURS, note=note), bars(turns)):
        print(found.markdown() if options.markdown else found.plain(), flush=True)


if __name__ == "__main__":
    main()
