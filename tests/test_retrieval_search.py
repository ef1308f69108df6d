"""Exact search, Faiss indexes and the vectors that both read.

What is expected comes from NumPy in float64, or from vectors whose products are whole numbers, which every order of
adding gives to the bit.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import threadpoolctl
from syrupy.assertion import SnapshotAssertion

from treceval_py.errors import RunnerError, TrecevalError
from treceval_py.retrieval import exact
from treceval_py.retrieval.vectors import FileVectors, SparseVectors, StreamedVectors, block_rows, chained

faiss = pytest.importorskip("faiss", reason="search is done by faiss, which the extra retrieve installs")

from treceval_py.retrieval import indexing  # noqa: E402
from treceval_py.retrieval.exact import Found, hits_of, keys_of, search  # noqa: E402
from treceval_py.retrieval.indexing import Index, IndexSettings, check  # noqa: E402

SIMILARITIES = ("inner-product", "cosine", "l2")


def whole_numbers(rows: int, dimensions: int, seed: int = 0) -> Any:
    """Return vectors of small whole numbers, with many equal scores, whose products are exact."""
    return np.random.default_rng(seed).integers(-2, 3, (rows, dimensions)).astype(np.float32)


def real_numbers(rows: int, dimensions: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal((rows, dimensions), dtype=np.float32)


def scores_of(queries: Any, vectors: Any, similarity: str) -> Any:
    """Return all scores (Q, D) in float64."""
    queries, vectors = queries.astype(np.float64), vectors.astype(np.float64)
    if similarity == "l2":
        return -((queries[:, None, :] - vectors[None, :, :]) ** 2).sum(axis=2)
    if similarity == "cosine":
        queries = queries / np.linalg.norm(queries, axis=1, keepdims=True)
        vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return queries @ vectors.T


def best_of(scores: Any, k: int) -> tuple[Any, Any]:
    """Return the k best: by descending score, equal ones by ascending position."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(scores, order, axis=1), order


def equal(found: Found, expected: Found) -> bool:
    return np.array_equal(found.scores, expected.scores) and np.array_equal(found.positions, expected.positions)


def in_memory(array: Any) -> StreamedVectors:
    """Return the vectors of an array."""
    return StreamedVectors(*array.shape, lambda: iter([array]))


@contextmanager
def threads(count: int) -> Iterator[None]:
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(count)
    yield
    faiss.omp_set_num_threads(before)


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """Let Faiss and its linear algebra use one thread: several wait for each other where the machine is busy."""
    with threadpoolctl.threadpool_limits(1):
        yield


@contextmanager
def blocks_of(monkeypatch: pytest.MonkeyPatch, rows: int) -> Iterator[None]:
    with monkeypatch.context() as patch:
        for module in (exact, indexing):
            patch.setattr(module, "block_rows", lambda _: rows)
        yield


def shards(folder: Path, array: Any, sizes: list[int]) -> list[str]:
    """Write the rows of an array to files of these sizes."""
    ends = np.cumsum(sizes)
    paths = [str(folder / f"{number}.npy") for number in range(len(sizes))]
    for path, end, size in zip(paths, ends, sizes, strict=True):
        np.save(path, array[end - size : end])
    return paths


def stored(folder: Path, array: Any, sizes: list[int]) -> StreamedVectors:
    """Return the rows of an array from files of these sizes."""
    return chained([FileVectors(path, "Encode it again.") for path in shards(folder, array, sizes)], array.shape[1])


def refusal(call: Callable[..., Any], *given: Any, **named: Any) -> str:
    """Return what is refused, on one line."""
    with pytest.raises(TrecevalError) as caught:
        call(*given, **named)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def copied(vectors: Any, rows: int) -> list[tuple[int, Any]]:
    return [(first, block.copy()) for first, block in vectors.blocks(rows)]


# Vectors


def test_a_block_is_a_multiple_of_1024_rows_of_about_256_mb() -> None:
    # 256 MiB / (4 bytes * 768) = 87,381.3 rows = 85.3 times 1,024
    assert block_rows(768) == 85 * 1024


def test_a_block_of_very_long_vectors_has_1024_rows() -> None:
    assert block_rows(1_000_000) == 1024


def test_an_array_is_read_in_blocks() -> None:
    array = real_numbers(5, 3)
    found = copied(in_memory(array), 2)
    assert [first for first, _ in found] == [0, 2, 4]
    assert np.array_equal(np.concatenate([block for _, block in found]), array)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_an_array_of_another_float_is_converted(dtype: str) -> None:
    array = whole_numbers(4, 3).astype(dtype)
    ((_, block),) = in_memory(array).blocks(10)
    assert block.dtype == np.float32
    assert np.array_equal(block, array)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_blocks_end_where_they_do_whatever_the_shards_are(tmp_path: Path, dtype: str) -> None:
    array = real_numbers(23, 5).astype(dtype)
    found = copied(stored(tmp_path, array, [3, 9, 1, 10]), 4)
    assert [(first, len(block)) for first, block in found] == [(0, 4), (4, 4), (8, 4), (12, 4), (16, 4), (20, 3)]
    assert np.array_equal(np.concatenate([block for _, block in found]), array.astype(np.float32))


def test_shards_can_be_read_again(tmp_path: Path) -> None:
    vectors = stored(tmp_path, real_numbers(9, 2), [4, 5])
    first, second = copied(vectors, 2), copied(vectors, 2)
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(first, second, strict=True))


def test_float16_shards_larger_than_a_portion_are_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treceval_py.retrieval.vectors.PORTION_BYTES", 12)
    array = real_numbers(11, 2).astype(np.float16)
    ((_, block),) = copied(stored(tmp_path, array, [11]), 100)
    assert np.array_equal(block, array.astype(np.float32))


def test_no_shards_are_no_vectors() -> None:
    vectors = chained([], 3)
    assert (vectors.count, list(vectors.blocks(1024))) == (0, [])


SHARDS: dict[str, Any] = {
    "columns first": np.asfortranarray(real_numbers(4, 3)),
    "one axis": np.zeros(3, dtype=np.float32),
    "whole numbers": np.zeros((3, 2), dtype=np.int64),
    "nothing": b"",
    "a magic number": b"\x93NUMPY",
    "half a header": b"\x93NUMPY\x01\x00\x10\x00{'descr': '<f4'}",
    "another file": b"hello" * 99,
    "a zip archive": b"PK\x03\x04" + b"hello" * 99,
    "not there": None,
}
"""What is in place of vectors."""


def test_a_shard_that_is_another_or_damaged_is_refused(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    told = {}
    for case, content in SHARDS.items():
        path = tmp_path / f"{case}.npy"
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif content is not None:
            np.save(path, content)
        told[case] = refusal(FileVectors, str(path), "Encode it again.").removeprefix(f"{path}: ")
    assert told == snapshot


def test_a_shard_that_is_cut_short_is_refused_before_or_while_it_is_read(tmp_path: Path) -> None:
    (path,) = shards(tmp_path, real_numbers(4, 3), [4])  # 128 bytes of header and 48 of numbers
    vectors = FileVectors(path, "Encode it again.")
    os.truncate(path, 175)
    told = f"{path}: expected a whole .npy file with a table of floating-point numbers, a row for each vector. "
    assert refusal(FileVectors, path, "Encode it again.") == f"{told}Encode it again."
    assert refusal(list, vectors.blocks(1024)) == f"{told}Encode it again."


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 9, 100])
def test_sparse_blocks_have_as_many_rows_as_are_asked_for(tmp_path: Path, rows: int) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    array, paths = whole_numbers(9, 4), []
    for number, part in enumerate(np.split(array, [3, 8])):
        paths.append(str(tmp_path / f"{number}.npz"))
        sparse.save_npz(paths[-1], sparse.csr_matrix(part))
    found = list(SparseVectors(paths, 9).blocks(rows))
    assert [first for first, _ in found] == list(range(0, 9, rows))
    assert np.array_equal(np.concatenate([block.toarray() for _, block in found]), array)


# Exact search


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_what_is_found_is_what_numpy_sorts_first(similarity: str) -> None:
    vectors, queries = real_numbers(3000, 20), real_numbers(30, 20, seed=1)
    found = search(in_memory(vectors), queries, 50, similarity)
    scores, positions = best_of(scores_of(queries, vectors, similarity), 50)
    assert np.array_equal(found.positions, positions)
    assert np.allclose(found.scores, scores, rtol=0, atol=1e-4)


@pytest.mark.parametrize("similarity", ["inner-product", "l2"])
@pytest.mark.parametrize("rows", [1024, 4096])
def test_of_equal_scores_the_first_positions_are_found(
    similarity: str, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Products of 6 numbers from -2 to 2: a few dozen different scores for 3,000 vectors.
    vectors, queries = whole_numbers(3000, 6), whole_numbers(30, 6, seed=1)
    with blocks_of(monkeypatch, rows):
        found = search(in_memory(vectors), queries, 70, similarity)
    scores, positions = best_of(scores_of(queries, vectors, similarity), 70)
    assert np.array_equal(found.scores, scores)
    assert np.array_equal(found.positions, positions)


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_copies_of_a_vector_have_one_score_wherever_they_stand(similarity: str) -> None:
    # OpenBLAS adds up a product in different orders, depending on the place in the matrix.
    vectors = np.repeat(real_numbers(1, 768), 2000, axis=0)
    found = search(in_memory(vectors), real_numbers(3, 768, seed=1), 1000, similarity)
    assert np.array_equal(found.scores, np.repeat(found.scores[:, :1], 1000, axis=1))
    assert np.array_equal(found.positions, np.tile(np.arange(1000), (3, 1)))


@pytest.mark.slow
@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_what_is_found_for_a_query_does_not_depend_on_the_others(similarity: str) -> None:
    vectors, queries = in_memory(real_numbers(2500, 96)), real_numbers(100, 96, seed=1)
    together = search(vectors, queries, 40, similarity)
    for size in (1, 7, 19, 64):
        parts = [search(vectors, queries[start : start + size], 40, similarity) for start in range(0, 100, size)]
        assert equal(Found(*map(np.concatenate, zip(*parts, strict=True))), together)


def test_what_is_found_does_not_depend_on_the_number_of_threads() -> None:
    vectors, queries = in_memory(real_numbers(2500, 96)), real_numbers(100, 96, seed=1)
    found = []
    for count in (1, 2, 5):
        with threads(count):
            found.append(search(vectors, queries, 40, "inner-product"))
    assert equal(found[1], found[0])
    assert equal(found[2], found[0])


def test_what_is_found_does_not_depend_on_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    array = real_numbers(3000, 96)
    array[1000:1900] = array[17]
    queries = array[:20]
    whole = search(in_memory(array), queries, 40, "cosine")
    for rows in (37, 1024):
        with blocks_of(monkeypatch, rows):
            assert equal(search(in_memory(array), queries, 40, "cosine"), whole)


def test_shards_are_searched_as_the_array_that_they_hold(tmp_path: Path) -> None:
    array, queries = real_numbers(2000, 24), real_numbers(5, 24, seed=1)
    files = stored(tmp_path, array, [300, 1500, 200])
    expected = search(in_memory(array), queries, 30, "inner-product")
    assert equal(search(files, queries, 30, "inner-product"), expected)


def test_more_queries_than_a_batch_are_all_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "BATCH", 8)
    vectors, queries = whole_numbers(500, 8), whole_numbers(30, 8, seed=1)
    found = search(in_memory(vectors), queries, 9, "inner-product")
    assert np.array_equal(found.positions, best_of(scores_of(queries, vectors, "inner-product"), 9)[1])


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_what_is_missing_is_minus_one_and_minus_infinity(similarity: str) -> None:
    found = search(in_memory(real_numbers(3, 4)), real_numbers(2, 4, seed=1), 5, similarity)
    assert np.array_equal(np.sort(found.positions[:, :3], axis=1), [[0, 1, 2]] * 2)
    assert np.array_equal(found.positions[:, 3:], [[-1, -1]] * 2)
    assert np.array_equal(found.scores[:, 3:], [[-np.inf, -np.inf]] * 2)


def test_no_vectors_give_nothing() -> None:
    found = search(in_memory(np.empty((0, 4), dtype=np.float32)), real_numbers(2, 4), 1, "l2")
    assert found.positions.tolist() == [[-1], [-1]]


def test_no_queries_give_nothing() -> None:
    found = search(in_memory(real_numbers(5, 4)), np.empty((0, 4), dtype=np.float32), 3, "cosine")
    assert (found.scores.shape, found.positions.shape) == ((0, 3), (0, 3))


def test_the_distance_of_equal_vectors_is_zero_and_never_above() -> None:
    # Squared lengths are near 50 million, where float32 knows only every fourth number.
    vectors = 1000 + real_numbers(100, 50)
    found = search(in_memory(vectors), vectors, 3, "l2")
    assert np.array_equal(found.positions[:, 0], np.arange(100))
    assert not found.scores[:, 0].any()
    assert not np.signbit(found.scores[:, 0]).any()


def test_distances_far_from_the_origin_are_those_of_numpy() -> None:
    vectors, queries = 1000 + whole_numbers(2000, 10), 1000 + whole_numbers(20, 10, seed=1)
    found = search(in_memory(vectors), queries, 30, "l2")
    scores, positions = best_of(scores_of(queries, vectors, "l2"), 30)
    assert np.array_equal(found.scores, scores)
    assert np.array_equal(found.positions, positions)


def test_vectors_of_zeros_have_the_cosine_zero() -> None:
    vectors = np.array([[0, 0], [3, 4], [-3, -4]], dtype=np.float32)
    found = search(in_memory(vectors), np.array([[6, 8], [0, 0]], dtype=np.float32), 3, "cosine")
    # (6, 8) points where (3, 4) does; a query of zeros has the cosine 0 with everything
    assert found.positions.tolist() == [[1, 0, 2], [0, 1, 2]]
    assert np.allclose(found.scores, [[1, 0, -1], [0, 0, 0]], rtol=0, atol=1e-6)


def test_queries_and_vectors_are_not_changed() -> None:
    vectors, queries = real_numbers(50, 4), real_numbers(3, 4, seed=1)
    kept = vectors.copy(), queries.copy()
    search(in_memory(vectors), queries, 2, "cosine")
    assert np.array_equal(vectors, kept[0])
    assert np.array_equal(queries, kept[1])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_a_vector_with_what_is_no_number_is_refused(
    value: float, similarity: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors, queries = real_numbers(30, 4), real_numbers(5, 4)
    vectors[23, 1] = queries[3, 0] = value
    told = (
        "position {} (from 0) is longer than 1e18, or has a value that is not finite. Normalise it, or encode it again."
    )
    with blocks_of(monkeypatch, 10):
        found = refusal(search, in_memory(vectors), real_numbers(2, 4), 3, similarity)
    assert found == f"the vector at {told.format(23)}"
    assert refusal(search, in_memory(real_numbers(9, 4)), queries, 3, similarity) == f"the query at {told.format(3)}"


def test_searches_that_cannot_be_done_are_refused(snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, queries = in_memory(real_numbers(2, 4)), real_numbers(2, 4)
    told = [
        refusal(search, vectors, queries, 3, "dot"),
        # a length of 1.001e18; one of 1e18 is searched
        refusal(search, in_memory(np.array([[0, 1.001e18]], dtype=np.float32)), queries[:, :2], 3, "l2"),
    ]
    assert search(in_memory(np.array([[0, 1e18]], dtype=np.float32)), queries[:, :2], 1, "l2").positions.any() == 0
    monkeypatch.setitem(sys.modules, "faiss", None)
    assert [*told, refusal(search, vectors, queries, 1, "l2")] == snapshot


def test_advance_is_told_the_vectors_of_each_block(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    with blocks_of(monkeypatch, 1024):
        search(in_memory(real_numbers(2500, 4)), real_numbers(2, 4), 3, "l2", told.append)
    assert told == [1024, 1024, 452]


@pytest.mark.parametrize("value", [20, 128_000])
def test_the_setting_of_faiss_is_set_back(value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faiss.cvar, "distance_compute_blas_threshold", value)
    search(in_memory(real_numbers(9, 4)), real_numbers(2, 4), 3, "l2")
    assert faiss.cvar.distance_compute_blas_threshold == value
    with pytest.raises(RunnerError, match="not finite"):
        search(in_memory(np.full((9, 4), np.nan, dtype=np.float32)), real_numbers(2, 4), 3, "l2")
    assert faiss.cvar.distance_compute_blas_threshold == value


def test_the_setting_of_faiss_is_ours_while_it_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    knn = faiss.knn

    def watched(*arguments: Any, metric: int) -> Any:
        seen.append(faiss.cvar.distance_compute_blas_threshold)
        return knn(*arguments, metric=metric)

    monkeypatch.setattr(faiss, "knn", watched)
    search(in_memory(real_numbers(900, 4)), real_numbers(2, 4), 3, "l2")
    assert seen == [20]


def test_keys_are_in_the_order_of_scores_and_then_of_positions() -> None:
    # Zeros of both signs are equal, the smallest and the largest numbers that there are differ from their neighbours.
    tiny, huge = np.finfo(np.float32).smallest_subnormal, np.finfo(np.float32).max
    special = np.array([0, -0.0, tiny, -tiny, huge, -huge, 1, np.nextafter(np.float32(1), 2), -1], dtype=np.float32)
    random = np.random.default_rng(0)
    scores = random.choice(special, (5, 200))
    positions = np.stack([random.permutation(2**32 - 1 - 200 + np.arange(200)) for _ in range(5)])
    order = np.lexsort((positions, -scores), axis=1)
    best = hits_of(np.sort(keys_of(scores, positions)))
    assert np.array_equal(best.scores, np.take_along_axis(scores, order, axis=1))
    assert np.array_equal(best.positions, np.take_along_axis(positions, order, axis=1))


def test_the_key_of_no_hit_comes_after_those_of_all_hits() -> None:
    lowest = keys_of(np.array([-np.finfo(np.float32).max], dtype=np.float32), np.array([2**32 - 2]))
    assert lowest < exact.NOTHING == keys_of(np.array([-np.inf], dtype=np.float32), np.array([-1]))
    assert [column.tolist() for column in hits_of(np.array([exact.NOTHING]))] == [[-np.inf], [-1]]


# Search in parts


class Workers:
    """Stands in for a pool on a cluster: workers that get blocks in turn, some of which die with what they hold."""

    count = 2
    dies: tuple[int, ...] = ()
    """Blocks whose worker dies at them, once; what it has returned is kept, and it starts again with nothing."""

    def __init__(self, maker: Callable[[str], Any], transport: Any) -> None:
        self.maker = maker
        self.widths: list[int] = []

    def run(self, tasks: Iterable[Any], advance: Callable[[int], None]) -> Iterator[tuple[Any, Any, Any]]:
        workers = [self.maker("cpu") for _ in range(self.count)]
        queue, dies = list(tasks), set(self.dies)
        while queue:
            task = queue.pop(0)
            place = task.number % self.count
            hits = workers[place].work(workers[place].prepare(task.content), advance)
            if task.number in dies:
                dies.remove(task.number)
                workers[place] = self.maker("cpu")
                queue.append(task)
            else:
                self.widths.append(hits.shape[1])
                advance(task.size)
                yield task, hits, {}

    def close(self) -> None:
        self.count = 0


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> type[Workers]:
    class Own(Workers):
        pass

    monkeypatch.setattr(exact, "Actors", lambda gpus: None)
    monkeypatch.setattr(exact, "Places", Own)
    return Own


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize(("rows", "k"), [(37, 20), (37, 50), (37, 1000), (1024, 5), (1, 3)])
def test_workers_find_what_one_search_finds(
    pool: type[Workers], similarity: str, rows: int, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # k is less than a block, more than a block, more than all vectors; many scores are equal.
    vectors, queries = in_memory(whole_numbers(150, 4)), whole_numbers(9, 4, seed=1)
    told: list[int] = []
    expected = search(vectors, queries, k, similarity)
    assert similarity == "cosine" or equal(expected, wanted(queries, whole_numbers(150, 4), k, similarity))
    with blocks_of(monkeypatch, rows):
        for pool.count in (1, 2, 3):
            assert equal(exact.search_with_ray(vectors, queries, k, similarity, told.append), expected)
    assert sum(told) == 3 * 150


def wanted(queries: Any, vectors: Any, k: int, similarity: str) -> Found:
    """Return the best by NumPy, and nothing where there are fewer vectors than k."""
    scores, positions = best_of(scores_of(queries, vectors, similarity), k)
    more = ((0, 0), (0, k - positions.shape[1]))
    return Found(np.pad(scores, more, constant_values=-np.inf), np.pad(positions, more, constant_values=-1))


def test_blocks_of_workers_that_die_are_searched_again(pool: type[Workers], monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, queries = in_memory(whole_numbers(150, 4)), whole_numbers(9, 4, seed=1)
    expected = search(vectors, queries, 20, "inner-product")
    with blocks_of(monkeypatch, 16):
        for pool.count in (1, 2, 3):
            for first in range(10):
                for pool.dies in ((first,), (first, 4), (first, 9)):
                    assert equal(exact.search_with_ray(vectors, queries, 20, "inner-product"), expected)


def test_less_and_less_is_returned_and_no_block_may_be_left_out(
    pool: type[Workers], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Workers] = []
    monkeypatch.setattr(exact, "Places", lambda *given: made.append(pool(*given)) or made[-1])
    vectors, queries = in_memory(real_numbers(5000, 8)), real_numbers(3, 8, seed=1)
    with blocks_of(monkeypatch, 500):
        exact.search_with_ray(vectors, queries, 100, "l2")
        assert made[0].widths[:2] == [100, 100]
        assert max(made[0].widths[-2:]) < 50  # a fifth of 100 by chance
        run = pool.run
        monkeypatch.setattr(pool, "run", lambda self, tasks, advance: run(self, list(tasks)[1:], advance))
        refused = refusal(exact.search_with_ray, vectors, queries, 100, "l2")
    assert refused == "4,500 of 5,000 vectors were searched. Repeat the command."


class Gpu:
    """Stands in for a GPU of Faiss: factors of products are rounded to 11 bits, as tensor cores may."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[str] = []
        calls = self.calls

        class Resources:
            def __init__(self) -> None:
                calls.append("resources")

        class Index:
            def __init__(self, resources: Resources, dimensions: int, metric: int) -> None:
                self.index = faiss.IndexFlat(dimensions, metric)

            def reset(self) -> None:
                self.index.reset()

            def add(self, block: Any) -> None:
                calls.append(f"add {len(block)}")
                self.index.add(rounded(block))

            def search(self, queries: Any, width: int) -> Any:
                assert width <= 2048  # what Faiss accepts there
                return self.index.search(rounded(queries), width)

        monkeypatch.setattr(faiss, "get_num_gpus", lambda: 1)
        monkeypatch.setattr(faiss, "StandardGpuResources", Resources, raising=False)
        monkeypatch.setattr(faiss, "GpuIndexFlat", Index, raising=False)
        cuda = SimpleNamespace(empty_cache=lambda: calls.append("empty cache"))
        monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))


def rounded(vectors: Any) -> Any:
    """Round to the 11 bits of TF32: 10 of the fraction, and the one before it."""
    fraction, exponent = np.frexp(vectors)
    return np.ldexp(np.round(fraction * 2048) / 2048, exponent).astype(np.float32)


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_a_gpu_finds_the_same_and_gets_each_block_once(similarity: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "BATCH", 8)
    array, queries = real_numbers(2500, 24), real_numbers(20, 24, seed=1)
    array[::2] = array[0] + array[::2] / 10_000  # a GPU's rounding puts these in another order
    queries[::2] += array[0]
    vectors = in_memory(array)
    expected = search(vectors, queries, 30, similarity)
    gpu = Gpu(monkeypatch)
    with blocks_of(monkeypatch, 1024):
        assert equal(search(vectors, queries, 30, similarity), expected)
    assert gpu.calls == ["empty cache", "resources", "add 1024", "add 1024", "add 452"]


def test_more_neighbours_than_a_gpu_finds_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, queries = in_memory(real_numbers(2500, 4)), real_numbers(2, 4, seed=1)
    expected = search(vectors, queries, 2100, "l2")
    Gpu(monkeypatch)
    assert equal(search(vectors, queries, 2100, "l2"), expected)


# Indexes


def clusters(rows: int = 1000, dimensions: int = 16) -> Any:
    """Return vectors around 40 centres."""
    centres = real_numbers(40, dimensions, seed=5)
    return centres[np.arange(rows) % 40] + real_numbers(rows, dimensions, seed=6) / 4


def built(folder: Path, index: str, similarity: str = "inner-product", vectors: Any = None) -> str:
    path = str(folder / "index.faiss")
    array = clusters() if vectors is None else vectors
    indexing.build(IndexSettings(index, similarity), in_memory(array), path)
    return path


def opened(path: str, index: str, similarity: str = "inner-product") -> Index:
    return Index(path, IndexSettings(index, similarity))


@pytest.fixture(scope="module")
def ivf(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return an index of 1,000 vectors in four lists."""
    return built(tmp_path_factory.mktemp("ivf"), "IVF4,Flat")


@pytest.fixture(scope="module")
def flat(tmp_path_factory: pytest.TempPathFactory) -> str:
    return built(tmp_path_factory.mktemp("flat"), "Flat")


def share_of_the_best(found: Found, queries: Any, vectors: Any, similarity: str) -> float:
    """Return which part of the best that NumPy finds was found."""
    k = found.positions.shape[1]
    positions = best_of(scores_of(queries, vectors, similarity), k)[1]
    return float(np.mean([len(np.intersect1d(a, b)) / k for a, b in zip(found.positions, positions, strict=True)]))


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("index", ["Flat", "IVF40,Flat:nprobe=40", "IVF40_HNSW8,Flat:nprobe=40,quantizer_efSearch=80"])
def test_an_index_that_looks_at_all_numbers_finds_the_best(tmp_path: Path, index: str, similarity: str) -> None:
    vectors, queries = clusters(), real_numbers(40, 16, seed=1)
    found = opened(built(tmp_path, index, similarity), index, similarity).search(queries, 10)
    scores, positions = best_of(scores_of(queries, vectors, similarity), 10)
    assert np.array_equal(found.positions, positions)
    assert np.allclose(found.scores, scores, rtol=0, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("index", "similarity", "least"),
    [("SQfp16", "inner-product", 0.95), ("SQ8", "cosine", 0.8), ("HNSW16:efSearch=300", "l2", 0.95),
     ("HNSW16:efSearch=300", "cosine", 0.95), ("IVF40,SQ8:nprobe=40", "l2", 0.8), ("PCAR16,SQfp16", "l2", 0.95),
     ("HNSW8_SQ8:efSearch=300", "l2", 0.5), ("IVF8,PQ8x4:nprobe=8", "l2", 0.3), ("OPQ1_2,Flat", "l2", 0.01),
     ("IVF8,PQ8x4,RFlat:nprobe=8", "l2", 0.3)],
)  # fmt: skip
def test_an_index_finds_most_of_the_best(tmp_path: Path, index: str, similarity: str, least: float) -> None:
    # By chance it would be 10 of 3,000.
    vectors = clusters(3000)
    found = opened(built(tmp_path, index, similarity, vectors), index, similarity).search(vectors[:40], 10)
    assert share_of_the_best(found, vectors[:40], vectors, similarity) > least


def test_what_an_index_does_not_find_is_minus_one(ivf: str) -> None:
    # A fourth of the vectors is looked at: about 250 of 1,000.
    found = opened(ivf, "IVF4,Flat:nprobe=1").search(clusters()[:5], 900)
    missing = found.positions < 0
    assert missing.any(axis=1).all()
    assert np.isneginf(found.scores[missing]).all()
    assert np.isfinite(found.scores[~missing]).all()
    assert (np.diff(missing.astype(int), axis=1) >= 0).all()


@pytest.mark.parametrize("index", ["Flat", "IVF4,Flat:nprobe=4", "HNSW8"])
def test_equal_scores_of_an_index_are_in_the_order_of_positions(tmp_path: Path, index: str) -> None:
    # Two vectors, a hundred times each, in turn: the order of the hits is known.
    path = built(tmp_path, index, "l2", np.tile(np.eye(2, 8, dtype=np.float32), (100, 1)))
    found = opened(path, index, "l2").search(np.eye(2, 8, dtype=np.float32), 7)
    assert not found.scores.any()
    assert (np.diff(found.positions, axis=1) > 0).all()
    assert (found.positions % 2 == [[0], [1]]).all()


@pytest.mark.slow
@pytest.mark.parametrize("factory", ["Flat", "SQ8", "IVF40,Flat", "IVF40,SQ8", "HNSW16", "PCA8,SQ8"])
def test_the_same_vectors_give_the_same_file(tmp_path: Path, factory: str) -> None:
    settings, vectors = IndexSettings(factory, "cosine"), in_memory(clusters(3000))
    first = indexing.build(settings, vectors, str(tmp_path / "first"))
    with threads(1):
        second = indexing.build(settings, vectors, str(tmp_path / "second"))
    assert first == second
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


class Told:
    """A reporter that remembers."""

    def __init__(self) -> None:
        self.lines: list[tuple[object, ...]] = []

    def begin(self, stage: str, total: int | None, unit: str, done: int = 0) -> None:
        self.lines.append(("begin", stage, total, unit))

    def advance(self, count: int) -> None:
        self.lines.append(("advance", count))

    def end(self) -> None:
        self.lines.append(("end",))

    def note(self, text: str) -> None:
        self.lines.append(("note", text))


def test_building_tells_of_training_and_adding_and_returns_the_hash_of_the_file(tmp_path: Path) -> None:
    told, path = Told(), tmp_path / "index"
    digest = indexing.build(IndexSettings("IVF4,Flat", "l2"), in_memory(clusters()), str(path), told)
    assert told.lines == [
        ("begin", "train the index", 1000, "passages"), ("advance", 1000), ("end",),
        ("begin", "build the index", 1000, "passages"), ("advance", 1000), ("end",),
    ]  # fmt: skip
    assert digest == hashlib.sha256(path.read_bytes()).hexdigest()
    assert faiss.read_index(str(path)).ntotal == 1000


@pytest.mark.parametrize(("advised", "rows"), [(9, range(9)), (20, range(9)), (3, (0, 3, 6)), (2, (0, 4, 8))])
def test_vectors_that_train_are_spaced_evenly_over_all_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, advised: int, rows: Iterable[int]
) -> None:
    # The one centroid is their mean.
    monkeypatch.setattr(indexing, "ADVISED", advised)
    monkeypatch.setattr(indexing, "SAMPLE_LEAST", 1)
    vectors = whole_numbers(9, 4)
    with blocks_of(monkeypatch, 4):
        index = faiss.read_index(built(tmp_path, "IVF1,Flat", "l2", vectors))
    centroid = faiss.extract_index_ivf(index).quantizer.reconstruct(0)
    assert centroid == pytest.approx(vectors[list(rows)].mean(axis=0), abs=1e-6)


@pytest.mark.parametrize(("index", "rows"), [("IVF20,Flat", 1000), ("IVF10,Flat", 500), ("PCA8,SQ8", 500)])
def test_as_many_vectors_train_as_faiss_advises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, index: str, rows: int
) -> None:
    # Faiss warns of fewer than 39 for each list: of 1,000, all are 39 * 20 or more, and half of them 39 * 10 or more.
    monkeypatch.setattr(indexing, "SAMPLE_LEAST", 390)
    trained: list[int] = []
    made = indexing._made

    def watched(*given: Any) -> Any:
        index = made(*given)
        train = index.train
        monkeypatch.setattr(index, "train", lambda sample: trained.append(len(sample)) or train(sample), raising=False)
        return index

    monkeypatch.setattr(indexing, "_made", watched)
    built(tmp_path, index)
    assert trained == [rows]


def test_an_index_is_built_from_several_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = indexing.build(IndexSettings("SQ8", "cosine"), in_memory(clusters()), str(tmp_path / "whole"))
    with blocks_of(monkeypatch, 300):
        parts = indexing.build(IndexSettings("SQ8", "cosine"), in_memory(clusters()), str(tmp_path / "parts"))
    assert parts == whole


def test_no_queries_find_nothing_in_an_index(ivf: str) -> None:
    found = opened(ivf, "IVF4,Flat").search(np.empty((0, 16), dtype=np.float32), 3)
    assert (found.scores.shape, found.positions.shape) == ((0, 3), (0, 3))


def test_a_file_that_is_no_index_or_is_cut_short_is_refused(tmp_path: Path, ivf: str, flat: str) -> None:
    cut = [Path(path).read_bytes() for path in (ivf, flat)]
    contents = [content[: int(kept * len(content))] for content in cut for kept in (0.0, 0.001, 0.5, 0.999)]
    path = tmp_path / "index"
    for content in (*contents, b"hello", b"\0" * 500, bytes(range(256)) * 10):
        path.write_bytes(content)
        assert refusal(opened, str(path), "Flat").startswith("Faiss cannot make index 'Flat': ")


def test_an_index_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    path = built(tmp_path, "Flat")
    before = Path(path).read_bytes()

    def full(index: Any, writer: Any) -> None:
        raise OSError(28, "No space left on device")

    told = [refusal(built, tmp_path / "nowhere", "Flat")]
    monkeypatch.setattr(faiss, "write_index", full)
    told.append(refusal(built, tmp_path, "SQ8"))
    assert [each.replace(str(tmp_path), "…") for each in told] == snapshot
    assert Path(path).read_bytes() == before
    assert os.listdir(tmp_path) == ["index.faiss"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no device that is full")
def test_what_a_full_disk_says_comes_through_faiss() -> None:
    index = faiss.IndexFlatIP(64)
    index.add(real_numbers(10_000, 64))
    with open("/dev/full", "wb", buffering=0) as stream, pytest.raises(OSError, match="No space left"):
        faiss.write_index(index, faiss.PyCallbackIOWriter(stream.write))


REFUSED = [
    # what Faiss does not know
    ("", "l2"), ("Nope", "l2"), ("IVF64", "l2"), ("SQ9", "l2"), ("Flat,Flat", "l2"), ("IVF-3,Flat", "l2"),
    # what it cannot make
    ("PQ5", "l2"), ("IMI2x4,Flat", "inner-product"), ("LSH", "inner-product"), ("HNSW16_PQ8", "cosine"),
    # what it makes: with so few links, or a rotation to no dimensions, Faiss 1.15.1 kills the process
    ("HNSW0", "l2"), ("HNSW1", "l2"), ("HNSW1,SQ8", "l2"), ("HNSW1_SQ8", "l2"), ("IVF4_HNSW1,Flat", "l2"),
    ("OPQ4_0,Flat", "l2"), ("IVF0,Flat", "l2"), ("PCA0,Flat", "l2"), ("PCAR0,Flat", "l2"), ("PCAWR0,Flat", "l2"),
    ("Flat", "dot"),
]  # fmt: skip
ACCEPTED = [
    "HNSW",
    "HNSW2",
    "HNSW10",
    "HNSW2,SQ8",
    "IVF4_HNSW2,Flat",
    "IVF1,Flat",
    "IVF10,Flat",
    "PCA1,Flat",
    "OPQ5_10,Flat",
]


def test_a_factory_that_cannot_be_built_is_refused_before_it_is(snapshot: SnapshotAssertion) -> None:
    told = [refusal(check, IndexSettings(*each), 16, 1000) for each in REFUSED]
    assert told == snapshot
    for factory in ACCEPTED:
        check(IndexSettings(factory, "l2"), 16, 1000)


@pytest.mark.parametrize("factory", ["IVF300,Flat", "PQ8", "OPQ8,SQ8", "PCA8,IVF300,Flat", "IDMap,Flat", "PCA17,Flat"])
def test_what_faiss_cannot_train_or_add_to_is_refused_in_one_line(tmp_path: Path, factory: str) -> None:
    # 100 vectors are fewer than 300 lists or 256 centroids of codes.
    told = refusal(built, tmp_path, factory, "l2", real_numbers(100, 16))
    assert told.startswith(f"Faiss cannot make index {factory!r}: ")
    assert "/" not in told


def test_an_index_of_other_parts_is_left_to_faiss(tmp_path: Path) -> None:
    told = refusal(built, tmp_path, "ITQ8,LSHt", "l2", clusters(3))
    assert told.startswith("Faiss cannot make index 'ITQ8,LSHt': ")
    assert refusal(built, tmp_path, "HNSW99999999").startswith("Faiss cannot make index 'HNSW99999999': ")


def test_the_size_is_known_before_an_index_is_built() -> None:
    # 1,000 times 768 numbers of 4, 1 and 2 bytes, or 8 codes of a byte or half of one; in 4 lists one byte more for the
    # list, 8 for the id, and 4 vectors; of HNSW 16 links each way, and 16 bytes for those that have more.
    expected = {
        "Flat": 1000 * 4 * 768, "SQ8": 1000 * 768, "SQ4": 1000 * 384, "SQfp16": 1000 * 2 * 768, "PQ8": 8000,
        "IVF4,SQfp16": 1000 * (2 * 768 + 9) + 4 * 4 * 768, "PQ8x4": 4000, "PCA96,Flat": 1000 * 4 * 96,
        "HNSW16": 1000 * (4 * 768 + 4 * 32 + 16), "HNSW": 1000 * (4 * 768 + 4 * 64 + 16), "PCA96,HNSW8": None,
    }  # fmt: skip
    assert {factory: check(IndexSettings(factory, "l2"), 768, 1000) for factory in expected} == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "factory",
    ["Flat", "SQ4", "SQ6", "SQ8", "SQfp16", "IVF16,Flat", "IVF16,SQ8", "IVF16,PQ8x4", "HNSW16", "HNSW16,SQ8", "PCA8,SQbf16"],
)  # fmt: skip
def test_the_size_of_an_index_is_estimated_within_a_tenth(tmp_path: Path, factory: str) -> None:
    size = os.path.getsize(built(tmp_path, factory, "l2", clusters(3000)))
    estimated = check(IndexSettings(factory, "l2"), 16, 3000)
    assert estimated is not None
    assert abs(estimated - size) < 0.1 * size


@pytest.mark.slow
@pytest.mark.parametrize("factory", ["IVF40,SQ8", "PCA8,IVF40,Flat"])
def test_training_does_not_print_the_warnings_of_faiss(
    tmp_path: Path, factory: str, capfd: pytest.CaptureFixture[str]
) -> None:
    # Fewer than 39 vectors for each of 40 lists.
    built(tmp_path, factory, "l2", clusters(300))
    assert capfd.readouterr() == ("", "")


def test_parameters_are_those_of_the_index_and_whole_numbers(ivf: str, snapshot: SnapshotAssertion) -> None:
    values = ["", "0", "-1", "2.5", "x", "1e3", "01", "9999999999"]
    refused = ["efSearch=3", "nprobe=4,efSearch=3", "nprob=3", "nprobe", *(f"nprobe={value}" for value in values)]
    of_ivf = [refusal(check, IndexSettings(f"IVF4,Flat:{each}", "l2"), 16, 1000) for each in refused]
    of_flat = refusal(check, IndexSettings("Flat:nprobe=4", "l2"), 16, 1000)
    assert [*of_ivf, of_flat] == snapshot
    for accepted, number in (("", 1), ("nprobe=1", 1), ("nprobe=7,", 7), ("nprobe=3,nprobe=999999999", 999_999_999)):
        assert faiss.extract_index_ivf(opened(ivf, f"IVF4,Flat:{accepted}").faiss_index).nprobe == number


def test_parameters_change_nothing_of_what_is_built(tmp_path: Path, ivf: str) -> None:
    assert Path(built(tmp_path, "IVF4,Flat:nprobe=3")).read_bytes() == Path(ivf).read_bytes()


def test_an_index_refuses_what_exact_search_refuses(tmp_path: Path, flat: str) -> None:
    queries, vectors = np.array([[0] * 16, [np.nan] * 16], dtype=np.float32), clusters()
    told = (
        "position {} (from 0) is longer than 1e18, or has a value that is not finite. Normalise it, or encode it again."
    )
    assert refusal(opened(flat, "Flat").search, queries, 3) == f"the query at {told.format(1)}"
    vectors[222, 3] = np.nan
    assert refusal(built, tmp_path, "Flat", vectors=vectors) == f"the vector at {told.format(222)}"
    assert os.listdir(tmp_path) == []
