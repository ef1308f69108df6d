"""Similarities of two texts or two vectors: Jaccard, Euclidean distance, cosine and inner product.

For vectors of length 1, as BGE makes them, cosine and inner product are the same number, and the squared Euclidean
distance is 2 - 2 × that number: all three rank documents alike, the distance from the smallest up.

Functions of vectors take a vector (E,) or rows of vectors (N, E) on either side, all of the same E dimensions, and
calculate in float64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treceval_py._types import FloatArray

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def jaccard(a: str, b: str) -> float:
    """Return the share of words that two texts have in common, of all words of either.

    Words are separated by white space and compared as written; repetitions do not matter.

    Parameters
    ----------
    a, b : str
        The texts.

    Returns
    -------
    float
        From 0 (no word in common) to 1 (the same words). Two texts without any word have nothing in common: 0.

    References
    ----------
    P. Jaccard. Étude comparative de la distribution florale dans une portion des Alpes et des Jura. Bulletin de la
    Société Vaudoise des Sciences Naturelles 37 (1901), 547-579.

    Examples
    --------
    Two words in common (the, cat) of five (the, cat, sat, a, ran): 2/5.

    >>> jaccard("the cat sat", "the cat a ran")
    0.4
    """
    first, second = set(a.split()), set(b.split())
    return len(first & second) / max(len(first | second), 1)


def inner_product(a: ArrayLike, b: ArrayLike) -> Any:
    """Return the sum of the products of the components of two vectors, or of each pair of rows.

    Parameters
    ----------
    a : (E,) or (N, E) array
        A vector, or rows of vectors.
    b : (E,) or (M, E) array
        A vector, or rows of vectors.

    Returns
    -------
    float or float64 array
        A number for two vectors; (N, M) for rows and rows; (N,) or (M,) for rows and a vector.

    Raises
    ------
    ValueError
        An argument is not a vector, or dimensions differ.

    Examples
    --------
    1 × 3 + 2 × 4 = 11; and with the rows (1, 0) and (0, 1), which pick a component each:

    >>> float(inner_product([1, 2], [3, 4]))
    11.0
    >>> inner_product([[1, 2], [3, 4]], [[1, 0], [0, 1]])
    array([[1., 2.],
           [3., 4.]])
    """
    return np.inner(_array(a), _array(b))


def cosine(a: ArrayLike, b: ArrayLike) -> Any:
    """Return the cosine of the angle between two vectors, or between each pair of rows.

    It is the inner product divided by both lengths. A vector of length 0 has no direction; its cosine is 0 here, so
    that it is like nothing and no NaN gets into a ranking.

    Parameters
    ----------
    a : (E,) or (N, E) array
        A vector, or rows of vectors.
    b : (E,) or (M, E) array
        A vector, or rows of vectors.

    Returns
    -------
    float or float64 array
        From -1 to 1, up to rounding: a number for two vectors; (N, M) for rows and rows; (N,) or (M,) for rows and a
        vector.

    Raises
    ------
    ValueError
        An argument is not a vector, or dimensions differ.

    Examples
    --------
    (3, 4) and (4, 3) have length 5: (3 × 4 + 4 × 3) / (5 × 5) = 24/25.

    >>> float(cosine([3, 4], [4, 3]))
    0.96
    >>> float(cosine([3, 4], [0, 0]))
    0.0
    """
    first, second = _array(a), _array(b)
    lengths = np.multiply.outer(np.linalg.norm(first, axis=-1), np.linalg.norm(second, axis=-1))
    product = np.asarray(np.inner(first, second))
    return np.divide(product, lengths, out=np.zeros(product.shape), where=lengths > 0)[()]


def euclidean_distance(a: ArrayLike, b: ArrayLike) -> Any:
    """Return the length of the difference of two vectors, or of each pair of rows; smaller is more alike.

    Parameters
    ----------
    a : (E,) or (N, E) array
        A vector, or rows of vectors.
    b : (E,) or (M, E) array
        A vector, or rows of vectors.

    Returns
    -------
    float or float64 array
        From 0 up: a number for two vectors; (N, M) for rows and rows; (N,) or (M,) for rows and a vector.

    Raises
    ------
    ValueError
        An argument is not a vector, or dimensions differ.

    Examples
    --------
    From (1, 2) to (4, 6) it is 3 in one direction and 4 in the other: the square root of 9 + 16.

    >>> float(euclidean_distance([1, 2], [4, 6]))
    5.0
    """
    from scipy.spatial.distance import cdist  # type: ignore[import-untyped,unused-ignore]

    first, second = _array(a), _array(b)
    # Of the differences themselves: lengths and inner product would cancel where vectors are near each other.
    table: FloatArray = cdist(np.atleast_2d(first), np.atleast_2d(second))
    return table.reshape(first.shape[:-1] + second.shape[:-1])[()]


def _array(vectors: ArrayLike) -> FloatArray:
    array: FloatArray = np.asarray(vectors, dtype=np.float64)
    return array
