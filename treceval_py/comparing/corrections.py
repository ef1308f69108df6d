"""Corrections of p-values for the number of them; each takes (N,) p-values and returns (N,) adjusted ones.

An adjusted p-value is compared with the level of significance as it is. NaN stands for a test that could not be made:
it stays NaN, and does not count.
"""

from __future__ import annotations

import numpy as np

from treceval_py._types import FloatArray


def holm(p: FloatArray) -> FloatArray:
    """Correct p-values by Holm's method: the chance of one false finding or more stays below the level.

    Parameters
    ----------
    p : (N,) float array
        The p-values; NaN does not count.

    Returns
    -------
    (N,) float array
        In ascending order: p times the number of p-values that are at least as large, not below the previous one, at
        most 1.

    Notes
    -----
    Holds whatever the dependence among tests, and is never less powerful than Bonferroni's.

    References
    ----------
    Sture Holm. A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6(2), 65-70,
    1979.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03])).round(4).tolist()  # 3 × 0.01, 2 × 0.03, no less for 0.04
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")  # NaN last
    factors = np.count_nonzero(~np.isnan(p)) - np.arange(len(p))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * factors))
    return adjusted


def bonferroni(p: FloatArray) -> FloatArray:
    """Correct p-values by Bonferroni's method: each times the number of them.

    Parameters
    ----------
    p : (N,) float array
        The p-values; NaN does not count.

    Returns
    -------
    (N,) float array
        The products, at most 1.

    Notes
    -----
    Keeps the chance of one false finding or more below the level, whatever the dependence among tests; Holm's method
    does so too, with more power.

    References
    ----------
    Olive Jean Dunn. Multiple comparisons among means. Journal of the American Statistical Association 56(293), 52-64,
    1961.

    Examples
    --------
    >>> bonferroni(np.array([0.01, 0.4, 0.03])).round(4).tolist()
    [0.03, 1.0, 0.09]
    """
    adjusted: FloatArray = np.minimum(1.0, p * np.count_nonzero(~np.isnan(p)))
    return adjusted
