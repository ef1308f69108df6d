"""Similarity of two texts or vectors, against arithmetic in sight, SciPy's definition and scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from treceval_py.retrieval.similarity import cosine, euclidean_distance, inner_product, jaccard

A = np.random.default_rng(0).normal(size=(4, 5))
B = np.random.default_rng(1).normal(size=(3, 5))
FUNCTIONS = [inner_product, cosine, euclidean_distance]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("a b c", "b c d e", 2 / 5),
        ("a a a b", "a b b", 1.0),
        ("A b", "a b", 1 / 3),  # words as they are written
        (" a  b\n", "b\ta", 1.0),
        ("a b", "c", 0.0),
        ("a", "", 0.0),
        ("", "  ", 0.0),
    ],
)
def test_jaccard_is_common_words_by_all_words(a: str, b: str, expected: float) -> None:
    assert jaccard(a, b) == expected


@pytest.mark.parametrize(
    ("function", "expected"),
    [(inner_product, 1 * 3 - 2 * 4), (cosine, -5 / (5**0.5 * 5)), (euclidean_distance, (2**2 + 6**2) ** 0.5)],
)
def test_two_vectors_give_a_number(function: Callable[..., Any], expected: float) -> None:
    value = function([1, -2], [3, 4])
    assert isinstance(value, float)
    assert value == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("function", "name"),
    [(inner_product, "linear_kernel"), (cosine, "cosine_similarity"), (euclidean_distance, "euclidean_distances")],
)
def test_rows_give_what_scikit_learn_gives(function: Callable[..., Any], name: str) -> None:
    pairwise = pytest.importorskip("sklearn.metrics.pairwise")
    np.testing.assert_allclose(function(A, B), getattr(pairwise, name)(A, B), rtol=1e-12)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_vector_is_a_row_without_its_axis(function: Callable[..., Any]) -> None:
    table = function(A, B)
    assert table.shape == (4, 3)
    np.testing.assert_allclose(function(A, B[2]), table[:, 2])
    np.testing.assert_allclose(function(A[1], B), table[1])


def test_a_vector_of_zeros_is_like_nothing() -> None:
    assert cosine([[0, 0], [1, 0]], [[2, 0], [0, 0]]).tolist() == [[0, 0], [1, 0]]


def test_the_distance_of_near_vectors_does_not_cancel() -> None:
    # 1 + 2**-40 is a float64, so that the difference is exact; its square is lost beside 1.
    assert euclidean_distance([1 + 2**-40, 1], [1, 1]) == 2**-40


def test_all_three_rank_vectors_of_length_one_alike() -> None:
    query, documents = A[0] / np.linalg.norm(A[0]), A[1:] / np.linalg.norm(A[1:], axis=1)[:, None]
    order = np.argsort(-inner_product(query, documents)).tolist()
    assert np.argsort(-cosine(query, documents)).tolist() == order
    assert np.argsort(euclidean_distance(query, documents)).tolist() == order


def test_float32_vectors_are_compared_in_float64() -> None:
    a, b = A.astype(np.float32), B.astype(np.float32)
    assert inner_product(a, b).tolist() == np.inner(a.astype(np.float64), b.astype(np.float64)).tolist()


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(("a", "b"), [([1, 2, 3], [1, 2]), ("a b", [1]), ([[1], [1, 2]], [1])])
def test_what_is_no_pair_of_vectors_is_refused(function: Callable[..., Any], a: Any, b: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        function(a, b)
