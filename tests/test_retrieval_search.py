"""Exact search, Faiss indexes and the vectors that both read.

What is expected comes from NumPy in float64, or from vectors whose products are whole numbers, which every order of
adding gives to the bit.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from treceval_py.errors import OutputError, RunnerError
from treceval_py.retrieval import exact
from treceval_py.retrieval.vectors import ArrayVectors, ShardVectors, block_rows

faiss = pytest.importorskip("faiss", reason="search is done by faiss, which the extra retrieve installs")

from treceval_py.retrieval import indexing  # noqa: E402
from treceval_py.retrieval.exact import Found, search  # noqa: E402
from treceval_py.retrieval.indexing import IndexSettings, check, load, search_index  # noqa: E402

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


@contextmanager
def threads(count: int) -> Iterator[None]:
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(count)
    yield
    faiss.omp_set_num_threads(before)


@contextmanager
def blocks_of(monkeypatch: pytest.MonkeyPatch, rows: int) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setattr(exact, "block_rows", lambda _: rows)
        yield


def shards(folder: Path, array: Any, sizes: list[int]) -> list[str]:
    """Write the rows of an array to files of these sizes."""
    ends = np.cumsum(sizes)
    paths = [str(folder / f"{number}.npy") for number in range(len(sizes))]
    for path, end, size in zip(paths, ends, sizes, strict=True):
        np.save(path, array[end - size : end])
    return paths


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
    found = copied(ArrayVectors(array), 2)
    assert [first for first, _ in found] == [0, 2, 4]
    assert np.array_equal(np.concatenate([block for _, block in found]), array)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_an_array_of_another_float_is_converted(dtype: str) -> None:
    array = whole_numbers(4, 3).astype(dtype)
    ((_, block),) = ArrayVectors(array).blocks(10)
    assert block.dtype == np.float32
    assert np.array_equal(block, array)


@pytest.mark.parametrize("array", [np.zeros(3, dtype=np.float32), np.zeros((3, 2), dtype=np.int64)])
def test_what_is_no_table_of_floats_is_refused(array: Any) -> None:
    with pytest.raises(RunnerError, match="vectors are a table of floating-point numbers, this is an array of shape"):
        ArrayVectors(array)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_blocks_end_where_they_do_whatever_the_shards_are(tmp_path: Path, dtype: str) -> None:
    array = real_numbers(23, 5).astype(dtype)
    paths = shards(tmp_path, array, [3, 0, 9, 1, 10])
    found = copied(ShardVectors(paths, [3, 0, 9, 1, 10], 5, dtype), 4)
    assert [(first, len(block)) for first, block in found] == [(0, 4), (4, 4), (8, 4), (12, 4), (16, 4), (20, 3)]
    assert np.array_equal(np.concatenate([block for _, block in found]), array.astype(np.float32))


def test_shards_can_be_read_again(tmp_path: Path) -> None:
    vectors = ShardVectors(shards(tmp_path, real_numbers(9, 2), [4, 5]), [4, 5], 2)
    first, second = copied(vectors, 2), copied(vectors, 2)
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(first, second, strict=True))


def test_float16_shards_larger_than_a_portion_are_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treceval_py.retrieval.vectors.PORTION_BYTES", 12)
    array = real_numbers(11, 2).astype(np.float16)
    ((_, block),) = copied(ShardVectors(shards(tmp_path, array, [11]), [11], 2, "float16"), 100)
    assert np.array_equal(block, array.astype(np.float32))


def test_no_shards_are_no_vectors() -> None:
    vectors = ShardVectors([], [], 3)
    assert (vectors.count, list(vectors.blocks(1024))) == (0, [])


def refused_shard(path: Path, rows: int = 4, dtype: str = "float32") -> str:
    with pytest.raises(RunnerError) as caught:
        ShardVectors([str(path)], [rows], 3, dtype)
    return str(caught.value).removeprefix(f"{path}: ")


def test_a_shard_of_another_shape_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "0.npy", real_numbers(5, 3))
    assert refused_shard(tmp_path / "0.npy") == (
        "expected an array of shape (4, 3) and type float32, found shape (5, 3) and type float32. "
        "Remove it to encode that shard again."
    )


def test_a_shard_of_another_type_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "0.npy", real_numbers(4, 3).astype(np.float16))
    assert refused_shard(tmp_path / "0.npy") == (
        "expected an array of shape (4, 3) and type float32, found shape (4, 3) and type float16. "
        "Remove it to encode that shard again."
    )


NO_TABLE = (
    "expected a whole .npy file with a table of numbers, row by row, found something else. Remove it to encode that "
    "shard again."
)


def test_a_shard_whose_columns_come_first_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "0.npy", np.asfortranarray(real_numbers(4, 3)))
    assert refused_shard(tmp_path / "0.npy") == NO_TABLE


def test_a_shard_that_was_cut_short_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "0.npy", real_numbers(4, 3))  # 128 bytes of header and 48 of numbers
    os.truncate(tmp_path / "0.npy", 170)
    assert refused_shard(tmp_path / "0.npy") == NO_TABLE


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"\x93NUMPY\x01\x00\x10\x00{'descr': '<f4'}", b"hello" * 99])
def test_a_shard_that_is_something_else_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "0.npy").write_bytes(content)
    assert refused_shard(tmp_path / "0.npy") == NO_TABLE


def test_a_shard_that_is_not_there_is_refused(tmp_path: Path) -> None:
    expected = "cannot be read: No such file or directory. Remove it to encode that shard again."
    assert refused_shard(tmp_path / "0.npy") == expected


def test_a_shard_that_is_cut_short_later_is_refused(tmp_path: Path) -> None:
    paths = shards(tmp_path, real_numbers(4, 3), [4])
    vectors = ShardVectors(paths, [4], 3)
    os.truncate(paths[0], 170)
    with pytest.raises(
        RunnerError, match=r"0\.npy: became shorter while it was read\. Remove it to encode that shard again\.$"
    ):
        list(vectors.blocks(1024))


# Exact search


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_what_is_found_is_what_numpy_sorts_first(similarity: str) -> None:
    vectors, queries = real_numbers(3000, 20), real_numbers(30, 20, seed=1)
    found = search(ArrayVectors(vectors), queries, 50, similarity)
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
        found = search(ArrayVectors(vectors), queries, 70, similarity)
    scores, positions = best_of(scores_of(queries, vectors, similarity), 70)
    assert np.array_equal(found.scores, scores)
    assert np.array_equal(found.positions, positions)


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_copies_of_a_vector_have_one_score_wherever_they_stand(similarity: str) -> None:
    # OpenBLAS adds up a product in different orders, depending on the place in the matrix.
    vectors = np.repeat(real_numbers(1, 768), 2000, axis=0)
    found = search(ArrayVectors(vectors), real_numbers(3, 768, seed=1), 1000, similarity)
    assert np.array_equal(found.scores, np.repeat(found.scores[:, :1], 1000, axis=1))
    assert np.array_equal(found.positions, np.tile(np.arange(1000), (3, 1)))


@pytest.mark.slow
@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_what_is_found_for_a_query_does_not_depend_on_the_others(similarity: str) -> None:
    vectors, queries = ArrayVectors(real_numbers(2500, 96)), real_numbers(100, 96, seed=1)
    together = search(vectors, queries, 40, similarity)
    for size in (1, 7, 19, 64):
        parts = [search(vectors, queries[start : start + size], 40, similarity) for start in range(0, 100, size)]
        assert equal(Found(*map(np.concatenate, zip(*parts, strict=True))), together)


def test_what_is_found_does_not_depend_on_the_number_of_threads() -> None:
    vectors, queries = ArrayVectors(real_numbers(2500, 96)), real_numbers(100, 96, seed=1)
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
    whole = search(ArrayVectors(array), queries, 40, "cosine")
    for rows in (37, 1024):
        with blocks_of(monkeypatch, rows):
            assert equal(search(ArrayVectors(array), queries, 40, "cosine"), whole)


def test_shards_are_searched_as_the_array_that_they_hold(tmp_path: Path) -> None:
    array, queries = real_numbers(2000, 24), real_numbers(5, 24, seed=1)
    stored = ShardVectors(shards(tmp_path, array, [300, 1500, 200]), [300, 1500, 200], 24)
    expected = search(ArrayVectors(array), queries, 30, "inner-product")
    assert equal(search(stored, queries, 30, "inner-product"), expected)


def test_more_queries_than_a_batch_are_all_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "BATCH", 8)
    vectors, queries = whole_numbers(500, 8), whole_numbers(30, 8, seed=1)
    found = search(ArrayVectors(vectors), queries, 9, "inner-product")
    assert np.array_equal(found.positions, best_of(scores_of(queries, vectors, "inner-product"), 9)[1])


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_what_is_missing_is_minus_one_and_minus_infinity(similarity: str) -> None:
    found = search(ArrayVectors(real_numbers(3, 4)), real_numbers(2, 4, seed=1), 5, similarity)
    assert np.array_equal(np.sort(found.positions[:, :3], axis=1), [[0, 1, 2]] * 2)
    assert np.array_equal(found.positions[:, 3:], [[-1, -1]] * 2)
    assert np.array_equal(found.scores[:, 3:], [[-np.inf, -np.inf]] * 2)


def test_no_vectors_give_nothing() -> None:
    found = search(ArrayVectors(np.empty((0, 4), dtype=np.float32)), real_numbers(2, 4), 1, "l2")
    assert found.positions.tolist() == [[-1], [-1]]


def test_no_queries_give_nothing() -> None:
    found = search(ArrayVectors(real_numbers(5, 4)), np.empty((0, 4), dtype=np.float32), 3, "cosine")
    assert (found.scores.shape, found.positions.shape) == ((0, 3), (0, 3))


def test_the_distance_of_equal_vectors_is_zero_and_never_above() -> None:
    # Squared lengths are near 50 million, where float32 knows only every fourth number.
    vectors = 1000 + real_numbers(100, 50)
    found = search(ArrayVectors(vectors), vectors, 3, "l2")
    assert np.array_equal(found.positions[:, 0], np.arange(100))
    assert not found.scores[:, 0].any()
    assert not np.signbit(found.scores[:, 0]).any()


def test_distances_far_from_the_origin_are_those_of_numpy() -> None:
    vectors, queries = 1000 + whole_numbers(2000, 10), 1000 + whole_numbers(20, 10, seed=1)
    found = search(ArrayVectors(vectors), queries, 30, "l2")
    scores, positions = best_of(scores_of(queries, vectors, "l2"), 30)
    assert np.array_equal(found.scores, scores)
    assert np.array_equal(found.positions, positions)


def test_vectors_of_zeros_have_the_cosine_zero() -> None:
    vectors = np.array([[0, 0], [3, 4], [-3, -4]], dtype=np.float32)
    found = search(ArrayVectors(vectors), np.array([[6, 8], [0, 0]], dtype=np.float32), 3, "cosine")
    # (6, 8) points where (3, 4) does; a query of zeros has the cosine 0 with everything
    assert found.positions.tolist() == [[1, 0, 2], [0, 1, 2]]
    assert np.allclose(found.scores, [[1, 0, -1], [0, 0, 0]], rtol=0, atol=1e-6)


def test_queries_and_vectors_are_not_changed() -> None:
    vectors, queries = real_numbers(50, 4), real_numbers(3, 4, seed=1)
    kept = vectors.copy(), queries.copy()
    search(ArrayVectors(vectors), queries, 2, "cosine")
    assert np.array_equal(vectors, kept[0])
    assert np.array_equal(queries, kept[1])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_a_vector_with_what_is_no_number_is_refused(
    value: float, similarity: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = real_numbers(30, 4)
    vectors[23, 1] = value
    with (
        blocks_of(monkeypatch, 10),
        pytest.raises(RunnerError, match=r"^the vector at position 23 \(from 0\) holds a value that is not finite\."),
    ):
        search(ArrayVectors(vectors), real_numbers(2, 4), 3, similarity)


def test_a_query_with_what_is_no_number_is_refused() -> None:
    queries = real_numbers(5, 4)
    queries[3, 0] = np.nan
    with pytest.raises(RunnerError) as caught:
        search(ArrayVectors(real_numbers(9, 4)), queries, 3, "cosine")
    expected = "the query at position 3 (from 0) holds a value that is not finite. Encode it again."
    assert str(caught.value) == expected


def test_a_vector_that_is_too_long_for_float32_is_refused() -> None:
    with pytest.raises(RunnerError) as caught:
        search(ArrayVectors(np.full((2, 4), 1e18, dtype=np.float32)), real_numbers(2, 4), 3, "l2")
    expected = "the vector at position 0 (from 0) is longer than 1e18. Normalise the vectors."
    assert str(caught.value) == expected


def test_another_similarity_is_refused() -> None:
    with pytest.raises(RunnerError) as caught:
        search(ArrayVectors(real_numbers(2, 4)), real_numbers(2, 4), 3, "dot")
    assert str(caught.value) == "'dot' is not a similarity. There are inner-product, cosine, l2."


def test_finding_no_documents_is_refused() -> None:
    with pytest.raises(RunnerError, match=r"^0 documents cannot be found\. Ask for 1 or more\.$"):
        search(ArrayVectors(real_numbers(2, 4)), real_numbers(2, 4), 0, "l2")


def test_queries_of_other_dimensions_are_refused() -> None:
    with pytest.raises(RunnerError) as caught:
        search(ArrayVectors(real_numbers(2, 4)), real_numbers(2, 5), 1, "l2")
    assert str(caught.value) == (
        "expected queries of shape (queries, 4), as the vectors have 4 dimensions, found shape (2, 5). "
        "Encode both with one model and the same settings."
    )


def test_without_faiss_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(RunnerError) as caught:
        search(ArrayVectors(real_numbers(2, 4)), real_numbers(2, 4), 1, "l2")
    expected = "searching needs the package faiss, which is not installed. pip install 'treceval-py[retrieve]'"
    assert str(caught.value) == expected


def test_advance_is_told_the_vectors_of_each_block(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    with blocks_of(monkeypatch, 1024):
        search(ArrayVectors(real_numbers(2500, 4)), real_numbers(2, 4), 3, "l2", told.append)
    assert told == [1024, 1024, 452]


@pytest.mark.parametrize("value", [20, 128_000])
def test_the_setting_of_faiss_is_set_back(value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faiss.cvar, "distance_compute_blas_threshold", value)
    seen: list[int] = []
    advance = lambda _: seen.append(faiss.cvar.distance_compute_blas_threshold)  # noqa: E731
    search(ArrayVectors(real_numbers(9, 4)), real_numbers(2, 4), 3, "l2", advance)
    assert seen == [value]
    with pytest.raises(RunnerError, match="not finite"):
        search(ArrayVectors(np.full((9, 4), np.nan, dtype=np.float32)), real_numbers(2, 4), 3, "l2")
    assert faiss.cvar.distance_compute_blas_threshold == value


def test_the_setting_of_faiss_is_ours_while_it_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    knn = faiss.knn

    def watched(*arguments: Any, metric: int) -> Any:
        seen.append(faiss.cvar.distance_compute_blas_threshold)
        return knn(*arguments, metric=metric)

    monkeypatch.setattr(faiss, "knn", watched)
    search(ArrayVectors(real_numbers(900, 4)), real_numbers(2, 4), 3, "l2")
    assert seen == [20]


def test_parts_are_merged_into_what_one_search_finds() -> None:
    vectors, queries = whole_numbers(300, 6), whole_numbers(8, 6, seed=1)
    first = search(ArrayVectors(vectors[:130]), queries, 20, "inner-product")
    second = search(ArrayVectors(vectors[130:]), queries, 20, "inner-product")
    second = Found(second.scores, second.positions + 130)
    merged = exact.merge([second, first], 20)
    assert np.array_equal(merged.positions, best_of(scores_of(queries, vectors, "inner-product"), 20)[1])


def test_what_parts_lack_is_last_when_they_are_merged() -> None:
    part = Found(np.array([[2.0, -np.inf]], dtype=np.float32), np.array([[4, -1]]))
    merged = exact.merge([part, part._replace(positions=np.array([[3, -1]]))], 3)
    assert merged.positions.tolist() == [[3, 4, -1]]
    assert merged.scores.tolist() == [[2.0, 2.0, -np.inf]]


# Indexes


def clusters(rows: int = 3000, dimensions: int = 16) -> Any:
    """Return vectors around 40 centres."""
    centres = real_numbers(40, dimensions, seed=5)
    return centres[np.arange(rows) % 40] + real_numbers(rows, dimensions, seed=6) / 4


def built(folder: Path, factory: str, similarity: str = "inner-product", vectors: Any = None, training: int = 0) -> str:
    path = str(folder / "index.faiss")
    array = clusters() if vectors is None else vectors
    indexing.build(IndexSettings(factory, similarity, "", training), ArrayVectors(array), path)
    return path


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_a_flat_index_finds_what_exact_search_finds(tmp_path: Path, similarity: str) -> None:
    vectors, queries = clusters(), real_numbers(30, 16, seed=1)
    found = search_index(load(built(tmp_path, "Flat", similarity)), queries, 20, similarity)
    assert equal(found, search(ArrayVectors(vectors), queries, 20, similarity))


def share_of_the_best(found: Found, queries: Any, vectors: Any, similarity: str) -> float:
    """Return which part of the best that NumPy finds was found."""
    k = found.positions.shape[1]
    positions = best_of(scores_of(queries, vectors, similarity), k)[1]
    return float(np.mean([len(np.intersect1d(a, b)) / k for a, b in zip(found.positions, positions, strict=True)]))


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize(
    ("factory", "parameters"),
    [
        ("IVF40,Flat", "nprobe=40"),
        ("IVF40_HNSW8,Flat", "nprobe=40,quantizer_efSearch=80"),
    ],
)
def test_an_index_that_looks_at_all_numbers_finds_the_best(
    tmp_path: Path, factory: str, parameters: str, similarity: str
) -> None:
    vectors, queries = clusters(), real_numbers(40, 16, seed=1)
    found = search_index(load(built(tmp_path, factory, similarity)), queries, 10, similarity, parameters)
    scores, positions = best_of(scores_of(queries, vectors, similarity), 10)
    assert np.array_equal(found.positions, positions)
    assert np.allclose(found.scores, scores, rtol=0, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("factory", "similarity", "least"),
    [("SQfp16", "inner-product", 0.95), ("SQ8", "cosine", 0.8), ("HNSW16", "l2", 0.95), ("HNSW16", "cosine", 0.95),
     ("IVF40,SQ8", "l2", 0.8), ("PCAR16,SQfp16", "l2", 0.95), ("HNSW8_SQ8", "l2", 0.5), ("IVF8,PQ8x4", "l2", 0.3),
     ("OPQ1_2,Flat", "l2", 0.01)],
)  # fmt: skip
def test_an_index_finds_most_of_the_best(tmp_path: Path, factory: str, similarity: str, least: float) -> None:
    # By chance it would be 10 of 3,000.
    queries = clusters()[:40]
    parameters = "nprobe=40" if factory.startswith("IVF") else "efSearch=300" if factory.startswith("HNSW") else ""
    found = search_index(load(built(tmp_path, factory, similarity)), queries, 10, similarity, parameters)
    assert share_of_the_best(found, queries, clusters(), similarity) > least


def test_what_an_index_does_not_find_is_minus_one(tmp_path: Path) -> None:
    # A fortieth of the vectors is looked at: about 75 of 3,000.
    found = search_index(load(built(tmp_path, "IVF40,Flat")), clusters()[:5], 500, "inner-product", "nprobe=1")
    missing = found.positions < 0
    assert missing.any(axis=1).all()
    assert np.isneginf(found.scores[missing]).all()
    assert np.isfinite(found.scores[~missing]).all()
    assert (np.diff(missing.astype(int), axis=1) >= 0).all()


@pytest.mark.parametrize("factory", ["Flat", "IVF4,Flat", "HNSW8"])
def test_equal_scores_of_an_index_are_in_the_order_of_positions(tmp_path: Path, factory: str) -> None:
    # Two vectors, a hundred times each, in turn: the order of the hits is known.
    index = load(built(tmp_path, factory, "l2", np.tile(np.eye(2, 8, dtype=np.float32), (100, 1))))
    parameters = "nprobe=4" if factory.startswith("IVF") else ""
    found = search_index(index, np.eye(2, 8, dtype=np.float32), 7, "l2", parameters)
    assert not found.scores.any()
    assert (np.diff(found.positions, axis=1) > 0).all()
    assert (found.positions % 2 == [[0], [1]]).all()


@pytest.mark.slow
@pytest.mark.parametrize("factory", ["Flat", "SQ8", "IVF40,Flat", "IVF40,SQ8", "HNSW16", "PCA8,SQ8"])
def test_the_same_vectors_give_the_same_file(tmp_path: Path, factory: str) -> None:
    settings = IndexSettings(factory, "cosine")
    vectors = ArrayVectors(clusters())
    first = indexing.build(settings, vectors, str(tmp_path / "first"))
    with threads(1):
        second = indexing.build(settings, vectors, str(tmp_path / "second"))
    assert first == second
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def test_building_returns_the_hash_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "index.faiss"
    digest = indexing.build(IndexSettings("IVF4,Flat", "l2", "", 100), ArrayVectors(clusters()), str(path))
    assert digest == hashlib.sha256(path.read_bytes()).hexdigest()
    assert load(str(path)).ntotal == 3000


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


def test_building_tells_of_training_and_adding(tmp_path: Path) -> None:
    told = Told()
    indexing.build(IndexSettings("IVF4,Flat", "l2"), ArrayVectors(clusters()), str(tmp_path / "index"), told)
    assert told.lines == [
        ("begin", "train the index", 3000, "passages"), ("advance", 3000), ("end",),
        ("begin", "build the index", 3000, "passages"), ("advance", 3000), ("end",),
    ]  # fmt: skip


def test_an_index_is_built_from_several_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = indexing.build(IndexSettings("SQ8", "cosine"), ArrayVectors(clusters()), str(tmp_path / "whole"))
    with blocks_of(monkeypatch, 700):
        parts = indexing.build(IndexSettings("SQ8", "cosine"), ArrayVectors(clusters()), str(tmp_path / "parts"))
    assert parts == whole


def test_no_queries_find_nothing_in_an_index(tmp_path: Path) -> None:
    found = search_index(load(built(tmp_path, "SQ8")), np.empty((0, 16), dtype=np.float32), 3, "inner-product")
    assert (found.scores.shape, found.positions.shape) == ((0, 3), (0, 3))


@pytest.mark.parametrize("factory", ["Flat", "IVF4,SQ8"])
@pytest.mark.parametrize("kept", [0.0, 0.001, 0.5, 0.999])
def test_an_index_that_was_cut_short_is_refused(tmp_path: Path, factory: str, kept: float) -> None:
    path = built(tmp_path, factory)
    os.truncate(path, int(kept * os.path.getsize(path)))
    with pytest.raises(RunnerError) as caught:
        load(path)
    expected = f"{path}: this is not an index of Faiss, or it is cut short. Remove it to build it again."
    assert str(caught.value) == expected


@pytest.mark.parametrize("content", [b"hello", b"\0" * 500, bytes(range(256)) * 10])
def test_a_file_that_is_no_index_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "index").write_bytes(content)
    with pytest.raises(RunnerError, match="index: this is not an index of Faiss, or it is cut short"):
        load(str(tmp_path / "index"))


def test_an_index_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunnerError, match=r"nothing: this is not an index of Faiss, or it is cut short\."):
        load(str(tmp_path / "nothing"))


def test_an_index_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = built(tmp_path, "Flat")
    before = Path(path).read_bytes()

    def full(index: Any, writer: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(faiss, "write_index", full)
    with pytest.raises(OutputError) as caught:
        built(tmp_path, "SQ8")
    expected = f"{path}: cannot be written: No space left on device. Check the folder and the space left."
    assert str(caught.value) == expected
    assert Path(path).read_bytes() == before
    assert os.listdir(tmp_path) == ["index.faiss"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no device that is full")
def test_what_a_full_disk_says_comes_through_faiss() -> None:
    index = faiss.IndexFlatIP(64)
    index.add(real_numbers(100_000, 64))
    with open("/dev/full", "wb", buffering=0) as stream, pytest.raises(OSError, match="No space left"):
        faiss.write_index(index, faiss.PyCallbackIOWriter(stream.write))


def test_an_index_in_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"cannot be written: No such file or directory\. Check the folder"):
        built(tmp_path / "nowhere", "Flat")


def refused_factory(factory: str, dimensions: int = 16, similarity: str = "inner-product", count: int = 1000) -> str:
    with pytest.raises(RunnerError) as caught:
        check(IndexSettings(factory, similarity), dimensions, count)
    assert "\n" not in str(caught.value)
    return str(caught.value)


ANOTHER = "Choose another one, such as Flat, SQ8, HNSW32 or IVF4096,SQ8."


@pytest.mark.parametrize("factory", ["", "Nope", "IVF64", "SQ9", "Flat,Flat", "IVF-3,Flat"])
def test_a_factory_that_faiss_does_not_know_is_refused(factory: str) -> None:
    reason = f"could not parse index string {factory}".rstrip()
    assert refused_factory(factory) == f"Faiss cannot make index {factory!r}: {reason}. {ANOTHER}"


@pytest.mark.parametrize(
    ("factory", "reason"),
    [("PQ5", "The dimension of the vector (d) should be a multiple of the number of subquantizers (M)"),
     ("IMI2x4,Flat", "MultiIndex not implemented for inner prod search"), ("LSH", "Error: 'metric == METRIC_L2' failed")],
)  # fmt: skip
def test_what_faiss_cannot_make_is_refused_in_its_words(factory: str, reason: str) -> None:
    message = refused_factory(factory)
    assert message == f"Faiss cannot make index {factory!r}: {reason}. {ANOTHER}"


def test_a_factory_that_faiss_makes_for_another_similarity_is_refused() -> None:
    assert refused_factory("HNSW16_PQ8", similarity="cosine") == (
        "Faiss cannot make index 'HNSW16_PQ8' for the similarity 'cosine'. Choose another one."
    )


@pytest.mark.parametrize(
    ("factory", "least"),
    [("IVF64,Flat", 64), ("IVF1k,SQ8", 1024), ("PQ8", 256), ("PQ8x4fs", 16), ("IVF300,PQ8", 300), ("IVF16,PQ8", 256),
     ("OPQ8,SQ8", 256), ("IVF64_HNSW8,SQ8", 64), ("HNSW16_PQ8", 256), ("PCA8,IVF10,Flat", 10), ("PCA8,SQ8", 8)],
)  # fmt: skip
def test_fewer_vectors_than_centroids_are_refused(factory: str, least: int) -> None:
    assert check(IndexSettings(factory, "l2"), 16, least).least == least
    assert refused_factory(factory, similarity="l2", count=least - 1) == (
        f"index {factory!r} needs at least {least} vectors to train it, there are {least - 1}. "
        "Use fewer centroids, or search without an index."
    )


@pytest.mark.slow
@pytest.mark.parametrize("factory", ["PQ8x4fs", "OPQ8,SQ8", "HNSW16_PQ8", "PCA8,IVF10,Flat"])
def test_as_many_vectors_as_are_needed_at_least_are_enough(tmp_path: Path, factory: str) -> None:
    least = check(IndexSettings(factory, "l2"), 16, 1000).least
    built(tmp_path, factory, "l2", real_numbers(max(least, 16), 16))


def test_an_index_of_other_parts_is_left_to_faiss(tmp_path: Path) -> None:
    settings = IndexSettings("IVF64,PQ8x4,RFlat", "l2")
    assert check(settings, 16, 10) == (True, 1, 10_000, None)
    with pytest.raises(RunnerError, match=r"^Faiss cannot make index 'IVF64,PQ8x4,RFlat': Number of training points"):
        built(tmp_path, "IVF64,PQ8x4,RFlat", "l2", clusters(10))
    queries = clusters()[:40]
    found = search_index(load(built(tmp_path, "IVF8,PQ8x4,RFlat", "l2")), queries, 10, "l2", "nprobe=8")
    assert share_of_the_best(found, queries, clusters(), "l2") > 0.3  # by chance 10 of 3,000


def test_fewer_training_vectors_than_centroids_are_refused() -> None:
    with pytest.raises(RunnerError) as caught:
        check(IndexSettings("IVF64,Flat", "l2", training=63), 16, 1000)
    assert str(caught.value) == (
        "index 'IVF64,Flat' needs at least 64 vectors to train it, not 63. Train it with more, or use fewer centroids."
    )


def test_parameters_are_checked_before_building() -> None:
    with pytest.raises(RunnerError, match=r"^the index has no parameter 'efSearch'\."):
        check(IndexSettings("IVF4,Flat", "l2", "efSearch=3"), 16, 1000)


@pytest.mark.parametrize(
    ("factory", "what"),
    [
        # With so few links faiss 1.15.1 kills the process.
        ("HNSW0", "has too few links. Give HNSW 2 or more."),
        ("HNSW1", "has too few links. Give HNSW 2 or more."),
        ("HNSW1,SQ8", "has too few links. Give HNSW 2 or more."),
        ("IVF4_HNSW1,Flat", "has too few links. Give HNSW 2 or more."),
        ("IVF0,Flat", "has no lists. Give their number after IVF."),
        ("PCA32,Flat", "would make 32 dimensions of 16. Give PCA a number from 1 to 16."),
        ("PCAR32,Flat", "would make 32 dimensions of 16. Give PCA a number from 1 to 16."),
        ("PCAW32,Flat", "would make 32 dimensions of 16. Give PCA a number from 1 to 16."),
        ("PCA0,Flat", "would make 0 dimensions of 16. Give PCA a number from 1 to 16."),
        ("OPQ5,Flat", "would divide 16 dimensions into 5 equal parts. Give OPQ a divisor of 16."),
        ("OPQ4_10,Flat", "would divide 10 dimensions into 4 equal parts. Give OPQ a divisor of 10."),
    ],
)
def test_a_factory_that_faiss_makes_and_cannot_build_is_refused(factory: str, what: str) -> None:
    assert refused_factory(factory) == f"index {factory!r} {what}"


def test_an_index_for_which_memory_is_too_small_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunnerError) as caught:
        built(tmp_path, "HNSW99999999")
    assert str(caught.value) == "there is not enough memory for index 'HNSW99999999'. Choose a smaller one."


@pytest.mark.parametrize(
    ("factory", "trained"),
    [("Flat", False), ("HNSW16", False), ("SQfp16", False), ("SQ8", True), ("IVF4,Flat", True), ("PCA4,Flat", True)],
)
def test_whether_training_is_needed_is_known(factory: str, trained: bool) -> None:
    assert check(IndexSettings(factory, "l2"), 16, 1000).trained is trained


@pytest.mark.slow
@pytest.mark.parametrize(
    "factory",
    [
        "Flat",
        "SQ4",
        "SQ6",
        "SQ8",
        "SQfp16",
        "IVF16,Flat",
        "IVF16,SQ8",
        "IVF16,PQ8",
        "HNSW16",
        "HNSW16,SQ8",
        "PCA8,SQbf16",
    ],
)
def test_the_size_of_an_index_is_estimated_within_a_tenth(tmp_path: Path, factory: str) -> None:
    size = os.path.getsize(built(tmp_path, factory, "l2"))
    estimated = check(IndexSettings(factory, "l2"), 16, 3000).bytes
    assert estimated is not None
    assert abs(estimated - size) < 0.1 * size


@pytest.mark.parametrize(("factory", "size"), [("Flat", 3_075_072), ("SQ8", 771_072), ("IVF4,SQfp16", 1_556_288)])
def test_the_size_is_that_of_the_numbers_the_ids_and_the_centroids(factory: str, size: int) -> None:
    # 1,000 times 768 numbers of 4, 1 and 2 bytes; in lists 8 more for each id; and one vector of float32, or four
    assert check(IndexSettings(factory, "inner-product"), 768, 1000).bytes == size


@pytest.mark.slow
@pytest.mark.parametrize("factory", ["IVF40,PQ4x4", "OPQ1_2,Flat"])
def test_training_does_not_print_the_warnings_of_faiss(
    tmp_path: Path, factory: str, capfd: pytest.CaptureFixture[str]
) -> None:
    # Fewer than 39 vectors for each of 40 lists, of 16 centroids of codes and of 256 of a rotation.
    built(tmp_path, factory, "l2", clusters(300))
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


def refused_parameters(folder: Path, factory: str, parameters: str) -> str:
    index = load(built(folder, factory))
    with pytest.raises(RunnerError) as caught:
        search_index(index, real_numbers(2, 16), 3, "inner-product", parameters)
    return str(caught.value)


@pytest.mark.parametrize("parameters", ["efSearch=3", "verbose=1", "nprobe=4,efSearch=3", "nprob=3"])
def test_a_parameter_that_the_index_lacks_is_refused(tmp_path: Path, parameters: str) -> None:
    name = parameters.split(",")[-1].split("=")[0]
    expected = f"the index has no parameter {name!r}. It has nprobe."
    assert refused_parameters(tmp_path, "IVF4,Flat", parameters) == expected


def test_a_parameter_of_an_index_without_any_is_refused(tmp_path: Path) -> None:
    assert refused_parameters(tmp_path, "Flat", "nprobe=4") == "the index has no parameter 'nprobe'. It has none."


@pytest.mark.parametrize("value", ["", "0", "-1", "2.5", "x", "1e3", "99999999999"])
def test_a_parameter_that_is_no_whole_number_is_refused(tmp_path: Path, value: str) -> None:
    assert refused_parameters(tmp_path, "IVF4,Flat", f"nprobe={value}") == (
        f"parameter 'nprobe' is a whole number from 1, not {value!r}. Write it as nprobe=16, for example."
    )


def test_parameters_may_have_spaces_between_them(tmp_path: Path) -> None:
    index = load(built(tmp_path, "IVF40_HNSW8,Flat"))
    search_index(index, real_numbers(2, 16), 3, "inner-product", " nprobe=7 , quantizer_efSearch=50,")
    assert faiss.extract_index_ivf(index).nprobe == 7


def test_an_index_is_not_searched_with_another_similarity(tmp_path: Path) -> None:
    index = load(built(tmp_path, "Flat", "l2"))
    with pytest.raises(RunnerError, match=r"^the index was not built for the similarity 'cosine'\. Search it with its"):
        search_index(index, real_numbers(2, 16), 3, "cosine")


def test_an_index_refuses_queries_that_hold_no_numbers(tmp_path: Path) -> None:
    index = load(built(tmp_path, "Flat"))
    with pytest.raises(RunnerError, match=r"^the query at position 1 \(from 0\) holds a value that is not finite"):
        search_index(index, np.array([[0] * 16, [np.nan] * 16], dtype=np.float32), 3, "inner-product")


def test_an_index_refuses_vectors_that_hold_no_numbers(tmp_path: Path) -> None:
    vectors = clusters()
    vectors[2222, 3] = np.nan
    with pytest.raises(RunnerError, match=r"^the vector at position 2222 \(from 0\) holds a value"):
        built(tmp_path, "Flat", vectors=vectors)
    assert os.listdir(tmp_path) == []
