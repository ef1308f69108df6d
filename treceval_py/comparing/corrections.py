"""Corrections of p-values for the number of them; each takes (N,) p-values and returns (N,) adjusted ones.

An adjusted p-value is compared with the level of significance as it is. NaN stands for a test that could not be made:
it stays NaN, and does not count.
"""

from __future__ import annotations

from collections.abc import Callable

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
    return _counted(p, _step_down)


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
    return _counted(p, lambda values: np.minimum(1.0, values * len(values)))


def benjamini_hochberg(p: FloatArray) -> FloatArray:
    """Correct p-values by Benjamini and Hochberg's method: the share of false findings stays below the level.

    Parameters
    ----------
    p : (N,) float array
        The p-values; NaN does not count.

    Returns
    -------
    (N,) float array
        As `scipy.stats.false_discovery_control` has them.

    Notes
    -----
    Controls the false discovery rate: on average, at most that share of the findings is false. This is a weaker
    guarantee than Holm's, with more findings. Assumes tests that are independent, or positively dependent in a certain
    way.

    References
    ----------
    Yoav Benjamini and Yosef Hochberg. Controlling the false discovery rate: a practical and powerful approach to
    multiple testing. Journal of the Royal Statistical Society, Series B 57(1), 289-300, 1995.

    Examples
    --------
    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03])).round(4).tolist()  # 0.01 × 3 / 1; 0.03 × 3 / 2 > 0.04 × 3 / 3
    [0.03, 0.04, 0.04]
    """
    return _counted(p, _false_discovery)


def uncorrected(p: FloatArray) -> FloatArray:
    """Return p-values as they are; for one test that was chosen beforehand.

    Parameters
    ----------
    p : (N,) float array
        The p-values.

    Returns
    -------
    (N,) float array
        A copy.
    """
    return np.array(p, dtype=np.float64)


def _counted(p: FloatArray, correct: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Correct those p-values that are numbers."""
    adjusted = np.array(p, dtype=np.float64)
    known = ~np.isnan(adjusted)
    if known.any():
        adjusted[known] = correct(adjusted[known])
    return adjusted


def _step_down(p: FloatArray) -> FloatArray:
    order = np.argsort(p, kind="stable")
    factors = np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * factors))
    return adjusted


def _false_discovery(p: FloatArray) -> FloatArray:
    from scipy import stats  # type: ignore[import-untyped,import-not-found,unused-ignore]

    return np.asarray(stats.false_discovery_control(p), dtype=np.float64)


CORRECTIONS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "holm": holm,
    "bonferroni": bonferroni,
    "benjamini-hochberg": benjamini_hochberg,
    "none": uncorrected,
}
"""How p-values can be corrected, by the names that users write."""
