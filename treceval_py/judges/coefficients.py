"""Coefficients of agreement from tables of counts: Cohen's kappa and Krippendorff's alpha.

Shape letters: G grades, B tables (such as resamples). Both coefficients are 1 - observed / expected disagreement; they
are 1 if all labels agree, 0 if they agree as often as by chance, and NaN if no disagreement is possible, because
everybody gave the same grade throughout.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from treceval_py._types import FloatArray

Weights: TypeAlias = Literal["nominal", "linear", "quadratic"]
Level: TypeAlias = Literal["nominal", "ordinal", "interval"]

WEIGHTS: tuple[Weights, ...] = ("nominal", "linear", "quadratic")
"""The weight of a disagreement in kappa: 1, the distance of the grades, or its square."""

LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")
"""How alpha treats grades: as names, as an order, or as numbers."""


def weighted_kappa(confusion: FloatArray, grades: FloatArray, weights: Weights = "nominal") -> FloatArray:
    """Return Cohen's kappa of two judges, optionally weighted.

    Parameters
    ----------
    confusion : (B, G, G) float array
        Number of documents to which the first judge gave the grade of the row and the second that of the column.
    grades : (G,) float array
        The grades as numbers. A grade that nobody gave still lies between its neighbours: 0 and 2 are 2 apart.
    weights : {"nominal", "linear", "quadratic"}
        The weight of a disagreement: 1 (Cohen's kappa), the distance of the grades, or its square.

    Returns
    -------
    (B,) float array
        At most 1; NaN if both judges gave the same grade throughout, or nothing was judged.

    References
    ----------
    Jacob Cohen. A coefficient of agreement for nominal scales. Educational and Psychological Measurement 20(1), 37-46,
    1960. Jacob Cohen. Weighted kappa. Psychological Bulletin 70(4), 213-220, 1968.

    Examples
    --------
    The judges agree on 35 of 50 documents, and by chance on 25 (25 · 30 / 50 + 25 · 20 / 50):
    (35 - 25) / (50 - 25).

    >>> import numpy as np
    >>> weighted_kappa(np.array([[[20.0, 5.0], [10.0, 15.0]]]), np.array([0.0, 1.0])).round(4).tolist()
    [0.4]
    """
    apart = np.abs(grades[:, None] - grades[None, :])
    weight = {"nominal": (apart > 0).astype(float), "linear": apart, "quadratic": apart**2}[weights]
    total = confusion.sum(axis=(1, 2))
    first, second = confusion.sum(axis=2), confusion.sum(axis=1)
    observed = (confusion * weight).sum(axis=(1, 2)) * total
    expected = np.einsum("bi,ij,bj->b", first, weight, second)
    return _one_minus(observed, expected)


def krippendorff_alpha(coincidences: FloatArray, grades: FloatArray, level: Level = "nominal") -> FloatArray:
    """Return Krippendorff's alpha of any number of judges, who need not all have judged everything.

    Parameters
    ----------
    coincidences : (B, G, G) float array
        Coincidences of two labels, of the row and of the column, for the same document; a document with m labels adds
        1 / (m - 1) for each ordered pair of them.
    grades : (G,) float array
        The grades as numbers, ascending.
    level : {"nominal", "ordinal", "interval"}
        The distance of two grades: whether they differ, the number of labels between them, or their difference.

    Returns
    -------
    (B,) float array
        At most 1; NaN if all labels are of one grade, or no document has two.

    References
    ----------
    Klaus Krippendorff. Computing Krippendorff's alpha-reliability. University of Pennsylvania, 2011.

    Examples
    --------
    Two judges label ten documents 0 or 1, and differ on four: 1 - 19 · 8 / (2 · 14 · 6).

    >>> import numpy as np
    >>> krippendorff_alpha(np.array([[[10.0, 4.0], [4.0, 2.0]]]), np.array([0.0, 1.0])).round(3).tolist()
    [0.095]
    """
    count = coincidences.sum(axis=2)
    total = count.sum(axis=1)
    if level == "ordinal":
        # The middle position of each grade in the order of labels.
        place = np.cumsum(count, axis=1) - count / 2
        apart = (place[:, :, None] - place[:, None, :]) ** 2
    else:
        distance = np.abs(grades[:, None] - grades[None, :])
        apart = ((distance > 0).astype(float) if level == "nominal" else distance**2)[None, :, :]
    observed = (coincidences * apart).sum(axis=(1, 2)) * (total - 1)
    expected = (count[:, :, None] * count[:, None, :] * apart).sum(axis=(1, 2))
    return _one_minus(observed, expected)


def _one_minus(observed: FloatArray, expected: FloatArray) -> FloatArray:
    agreement = np.full(len(observed), np.nan)
    some = expected > 0
    agreement[some] = 1 - observed[some] / expected[some]
    return agreement
