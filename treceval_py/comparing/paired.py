"""Paired tests, intervals and effect sizes of differences between runs, many pairs at once.

Every function takes differences of shape (Q, P): a row for each query, a column for each pair of runs, the value of one
run minus that of the other, none of them NaN. Shape letters: S runs, Q queries, P pairs, B resamples.

Values up to 1e100 cause no warnings and are never refused. A difference of at most `SAME` counts as 0, because a
measure is a sum, and the same sum in another order differs in its last bits. If all differences of a column are 0, p =
1, the interval is (0, 0) and the effect is 0. If all are equal but not 0, nothing varies: p = 0 in a t-test, the
interval is that one number, and the effect is infinite. A single query gives neither a p-value nor an interval; they
are NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from treceval_py._types import BoolArray, FloatArray, IntArray

SAME = 1e-12
"""Values that differ by no more than this are equal: sums in other orders differ in their last bits."""

DECIMALS = 12
"""Decimals to which differences are rounded before they are ranked, for the same reason."""

UNBOUNDED = (-math.inf, math.inf)
"""The range of a measure whose range is unknown."""

FEW = 13
"""Queries up to which `scipy.stats.wilcoxon` goes through all signs where there are ties."""

MOST_QUERIES = 1e8
"""Numbers of queries above this are approximate, because their last digits mean nothing."""


class _Special:
    """`scipy.special`, imported when it is first used, as it takes longer than many commands."""

    def __getattr__(self, name: str) -> Any:
        from scipy import special  # type: ignore[import-untyped,import-not-found,unused-ignore]

        return getattr(special, name)


special = _Special()


class Outcome(NamedTuple):
    """The result of a test for each pair.

    Attributes
    ----------
    statistic : (P,) float array
        The statistic of the test.
    p : (P,) float array
        The two-sided p-value; NaN of one query.
    """

    statistic: FloatArray
    p: FloatArray


class Effect(NamedTuple):
    """Standardised effect sizes with their confidence intervals.

    Attributes
    ----------
    d : (P,) float array
        Mean of the differences divided by their standard deviation, d_z.
    low, high : (P,) float arrays
        The limits of the interval.
    """

    d: FloatArray
    low: FloatArray
    high: FloatArray


def settled(differences: FloatArray) -> FloatArray:
    """Return the differences with rounding errors set to 0.

    Parameters
    ----------
    differences : (Q, P) float array
        The differences.

    Returns
    -------
    (Q, P) float array
        The same, with 0 where the absolute value is at most `SAME`.
    """
    return np.where(np.abs(differences) <= SAME, 0.0, differences)


def student(differences: FloatArray, around: float = 0.0) -> tuple[FloatArray, FloatArray]:
    """Return Student's t of the mean differences, and their standard errors.

    Parameters
    ----------
    differences : (Q, P) float array
        The differences, two queries or more.
    around : float
        The mean that t is about.

    Returns
    -------
    t, error : (P,) float arrays
        Mean minus `around` divided by the error; of a column that does not vary, whose error is 0, t is infinite, or 0.
    """
    means = differences.mean(axis=0) - around
    error = np.where(constant(differences), 0.0, np.sqrt(differences.var(axis=0, ddof=1) / len(differences)))
    t = np.where(np.abs(means) <= SAME, 0.0, np.copysign(np.inf, means))
    np.divide(means, error, out=t, where=error > 0)
    return t, error


def paired_t(differences: FloatArray) -> Outcome:
    """Test with Student's paired t-test whether the mean difference is 0.

    Parameters
    ----------
    differences : (Q, P) float array
        The differences.

    Returns
    -------
    Outcome
        t with Q - 1 degrees of freedom, and its p-value.

    Notes
    -----
    Assumes that the mean of the differences is about normally distributed: fair from some 25 queries on, as long as a
    few differences do not outweigh all others. Computed by `scipy.stats.ttest_1samp`. On simulated values of retrieval
    measures it keeps its level of significance, and is about as powerful as the randomisation test (Urbano et al.).

    References
    ----------
    Student. The probable error of a mean. Biometrika 6(1), 1-25, 1908.

    Julián Urbano, Harlley Lima and Alan Hanjalic. Statistical significance testing in information retrieval: an
    empirical analysis of type I, type II and type III errors. In Proceedings of the 42nd International ACM SIGIR
    Conference, 505-514, 2019.

    Examples
    --------
    >>> paired_t(np.array([[0.1], [0.3], [0.2]])).statistic.round(4).tolist()  # 0.2 / (0.1 / sqrt(3))
    [3.4641]
    """
    differences = settled(differences)
    if len(differences) < 2:
        return Outcome(_unknown(differences), _unknown(differences))
    t, _ = student(differences)
    return Outcome(t, 2 * special.stdtr(len(differences) - 1, -np.abs(t)))


def wilcoxon(differences: FloatArray) -> Outcome:
    """Test with Wilcoxon's signed ranks whether the differences lie symmetrically around 0.

    Parameters
    ----------
    differences : (Q, P) float array
        The differences.

    Returns
    -------
    Outcome
        The smaller of the two sums of ranks, and the p-value. p = 1 where all differences are 0.

    Notes
    -----
    This is `scipy.stats.wilcoxon` with its defaults, of each pair by itself: differences of 0 are left out
    (``zero_method="wilcox"``); the distribution is exact for up to 50 queries without ties and zeros, and for up to 13
    with them; otherwise it is the normal one, corrected for ties but not for continuity. Before they are ranked the
    differences are rounded to 12 decimals, as the documentation of scipy advises: 0.3 - 0.2 and 0.2 - 0.1 are a tie,
    though their last bits differ.

    Assumes that the differences are distributed symmetrically. Where they are not, as is common with retrieval
    measures, it can find a difference that the means do not have, the more so the more queries there are (Urbano et
    al.).

    References
    ----------
    Frank Wilcoxon. Individual comparisons by ranking methods. Biometrics Bulletin 1(6), 80-83, 1945.

    Julián Urbano, Harlley Lima and Alan Hanjalic. Statistical significance testing in information retrieval: an
    empirical analysis of type I, type II and type III errors. In Proceedings of the 42nd International ACM SIGIR
    Conference, 505-514, 2019.

    Examples
    --------
    >>> wilcoxon(np.array([[1.0], [2.0], [-3.0], [4.0], [5.0]])).statistic.tolist()  # the rank of -3
    [3.0]
    """
    from scipy import stats  # type: ignore[import-untyped,import-not-found,unused-ignore]

    differences = np.round(differences, DECIMALS)
    statistic, p = _unknown(differences), _unknown(differences)
    if len(differences) > 1:
        for number, column in enumerate(differences.T):
            if not column.any():
                statistic[number], p[number] = 0.0, 1.0
                continue
            # One call for all pairs would be approximate for all of them as soon as one of them has ties.
            statistic[number], p[number] = _of_all_signs(column) if len(column) <= FEW else stats.wilcoxon(column)
    return Outcome(statistic, p)


def signed_ranks(differences: FloatArray) -> IntArray:
    """Return 1 if the ranks of positive differences outweigh those of negative ones, -1 if the reverse.

    Parameters
    ----------
    differences : (Q, P) float array
        The differences.

    Returns
    -------
    (P,) int array
        1, 0 or -1: the run that Wilcoxon's test favours.
    """
    from scipy.stats import rankdata  # type: ignore[import-untyped,import-not-found,unused-ignore]

    rounded = np.round(differences, DECIMALS)
    # The test leaves out differences of 0, which have the lowest ranks, so that all others are that much lower.
    ranks = rankdata(np.abs(rounded), axis=0) - (rounded == 0).sum(axis=0)
    balance: IntArray = np.sign((np.sign(rounded) * ranks).sum(axis=0)).astype(np.int64)
    return balance


def wins_ties_losses(differences: FloatArray) -> IntArray:
    """Count the queries in which a run is better than the other, equal, and worse.

    Parameters
    ----------
    differences : (Q, P) float array
        The differences; those of at most 1e-12 are ties, because sums in other orders differ in their last bits.

    Returns
    -------
    (P, 3) int array
        Wins, ties, losses; together Q.

    Examples
    --------
    >>> wins_ties_losses(np.array([[0.1], [0.3 - 0.2 - 0.1], [0.5], [-0.1]])).tolist()
    [[2, 1, 1]]
    """
    differences = settled(differences)
    counts = [np.count_nonzero(each, axis=0) for each in (differences > 0, differences == 0, differences < 0)]
    return np.stack(counts, axis=1).astype(np.int64)


def t_interval(differences: FloatArray, confidence: float) -> tuple[FloatArray, FloatArray]:
    """Return Student's confidence interval of the mean difference.

    Parameters
    ----------
    differences : (Q, P) float array
        The differences.
    confidence : float
        Between 0 and 1.

    Returns
    -------
    low, high : (P,) float arrays
        Mean ± t · standard deviation / √Q, where t is the quantile with Q - 1 degrees of freedom.

    Notes
    -----
    Assumes what `paired_t` assumes: it leaves out 0 exactly where that test rejects at 1 - `confidence`.

    References
    ----------
    Student. The probable error of a mean. Biometrika 6(1), 1-25, 1908.
    """
    differences = settled(differences)
    if len(differences) < 2:
        return _unknown(differences), _unknown(differences)
    means, reach = differences.mean(axis=0), student(differences)[1]
    reach *= -special.stdtrit(len(differences) - 1, (1 - confidence) / 2)
    return means - reach, means + reach


def of_differences(bounds: tuple[float, float]) -> tuple[float, float]:
    """Return the range of the difference of two values, given that of the values."""
    low, high = bounds
    return low - high, high - low


def two_sided_t(t: float, queries: int) -> float:
    """Return the probability that chance makes the t of a paired t-test larger, either way.

    Parameters
    ----------
    t : float
        At least 0.
    queries : int
        Q, at least 2.
    """
    return float(2 * special.stdtr(queries - 1, -t))


def mean_interval(
    values: FloatArray, confidence: float, bounds: tuple[float, float] = UNBOUNDED
) -> tuple[FloatArray, FloatArray]:
    """Return Student's confidence interval of each run's mean.

    Parameters
    ----------
    values : (S, Q) float array
        The values, a row for each run.
    confidence : float
        Between 0 and 1.
    bounds : (float, float)
        The measure's range, at which intervals are cut. Default: they are not.

    Returns
    -------
    low, high : (S,) float arrays
        The limits; NaN for a single query.

    Notes
    -----
    It shows how far the mean may be from the mean over all queries of this kind. It does not compare two runs: most of
    its width is the variation between queries, which both share. `t_interval` of their differences compares them.
    """
    low, high = t_interval(values.T, confidence)
    return np.clip(low, *bounds), np.clip(high, *bounds)


def effect_size(differences: FloatArray, confidence: float) -> Effect:
    """Return the standardised effect size d_z of each pair, with its exact interval.

    Parameters
    ----------
    differences : (Q, P) float array
        The differences.
    confidence : float
        Between 0 and 1.

    Returns
    -------
    Effect
        Mean difference divided by the standard deviation of the differences (with Q - 1), and its limits.

    Notes
    -----
    d·√Q is the t of `paired_t`. If the true effect is δ, it follows the noncentral t distribution with Q - 1 degrees of
    freedom and noncentrality δ·√Q; the limits are those δ of which an effect as high as d, or as low, has the
    probability (1 - confidence) / 2. Assumes normally distributed differences.

    References
    ----------
    Jacob Cohen. Statistical Power Analysis for the Behavioral Sciences. 2nd edition, Erlbaum, 1988, section 2.3.5.

    Geoff Cumming and Sue Finch. A primer on the understanding, use, and calculation of confidence intervals that are
    based on central and noncentral distributions. Educational and Psychological Measurement 61(4), 532-574, 2001.
    """
    differences = settled(differences)
    if len(differences) < 2:
        return Effect(*(_unknown(differences) for _ in range(3)))
    t, error = student(differences)
    varied, low, high = error > 0, t.copy(), t.copy()
    low[varied], high[varied] = _noncentralities(t[varied], len(differences) - 1, confidence)
    root = np.sqrt(len(differences))
    d = np.divide(differences.mean(axis=0), differences.std(axis=0, ddof=1), out=t / root, where=varied)
    return Effect(d, low / root, high / root)


def equivalence(differences: FloatArray, margin: float) -> FloatArray:
    """Test whether the mean difference is smaller than a margin: two one-sided t-tests (TOST).

    Parameters
    ----------
    differences : (Q, P) float array
        The differences.
    margin : float
        Above 0, in units of the measure: a difference below it does not matter.

    Returns
    -------
    (P,) float array
        The larger p-value of the two. If it is small, the runs are equivalent within the margin. NaN of one query.

    Notes
    -----
    A test that finds no difference does not show that there is none; this test can show it. Choose the margin before
    you see the values. It has the assumptions of `paired_t`. If all differences are equal, p is 0 if they are smaller
    than the margin, and 1 if not; so p is 0 for runs with the same values.

    References
    ----------
    Donald J. Schuirmann. A comparison of the two one-sided tests procedure and the power approach for assessing the
    equivalence of average bioavailability. Journal of Pharmacokinetics and Biopharmaceutics 15(6), 657-680, 1987.
    """
    differences = settled(differences)
    if len(differences) < 2:
        return _unknown(differences)
    above, below = -student(differences, -margin)[0], student(differences, margin)[0]
    p: FloatArray = special.stdtr(len(differences) - 1, np.maximum(above, below))
    return np.where((p == 0.5) & constant(differences), 1.0, p)  # a difference as large as the margin


def queries_needed(effect: FloatArray, *, alpha: float, power: float, sides: int = 2) -> FloatArray:
    """Return how many queries a paired t-test needs to find an effect.

    Parameters
    ----------
    effect : (P,) float array
        Standardised effect sizes d_z.
    alpha : float
        The level of significance of the test, between 0 and 1.
    power : float
        The probability of finding the effect, between 0 and 1.
    sides : {2, 1}
        Whether the test is two-sided, or one-sided towards the effect.

    Returns
    -------
    (P,) float array
        The smallest whole number of queries, at least 2, with which the power is reached; infinite where the effect is
        0, NaN where it is NaN. Numbers above 10^8 are approximate.

    Notes
    -----
    The power comes from the noncentral t distribution, with all tails of the test. Assumes that the effect is the true
    one. An observed effect is an estimate, and one chosen because it is significant is too large. So the number is for
    planning the next experiment; it does not show whether this one had enough queries.

    References
    ----------
    Jacob Cohen. Statistical Power Analysis for the Behavioral Sciences. 2nd edition, Erlbaum, 1988, section 2.3.5.

    Tetsuya Sakai. Topic set size design. Information Retrieval Journal 19(3), 256-283, 2016.

    William C. Guenther. Sample size formulas for normal theory t tests. The American Statistician 35(4), 243-244, 1981:
    the approximation.
    """
    sizes = np.abs(effect)
    needed = np.where(sizes == 0, np.inf, np.where(np.isinf(sizes), 2.0, np.nan))
    searched = (sizes > 0) & np.isfinite(sizes)
    tail = float(-special.ndtri(alpha / sides))
    with np.errstate(over="ignore"):  # an effect of 1e-200 needs an infinite number
        guess = ((tail + float(special.ndtri(power))) / sizes[searched]) ** 2 + tail**2 / 2
    few = guess <= MOST_QUERIES
    counts = np.ceil(guess)
    counts[few] = _fewest(sizes[searched][few], np.maximum(2.0, counts[few]), alpha / sides, power, sides)
    needed[searched] = counts
    return needed


def one_sided_power(effect: FloatArray, queries: FloatArray, *, alpha: float) -> FloatArray:
    """Return the probability with which a one-sided paired t-test finds that a mean is above 0.

    Parameters
    ----------
    effect : (P,) float array
        The true means divided by the standard deviations; finite.
    queries : (P,) float array
        The numbers of queries, 2 or more.
    alpha : float
        The level of significance of the test, between 0 and 1/2.

    Returns
    -------
    (P,) float array
        That of the noncentral t distribution.

    References
    ----------
    Jacob Cohen. Statistical Power Analysis for the Behavioral Sciences. 2nd edition, Erlbaum, 1988, section 2.3.5.
    """
    return _above(-special.stdtrit(queries - 1, alpha), queries - 1, effect * np.sqrt(queries))


def _unknown(differences: FloatArray) -> FloatArray:
    return np.full(differences.shape[1], np.nan)


def _of_all_signs(column: FloatArray) -> tuple[float, float]:
    """Return Wilcoxon's statistic and its exact p-value, by enumerating all signs.

    `scipy.stats.wilcoxon` does the same if there are ties, but ranks again each time, and takes 100 times as long.
    """
    from scipy import stats

    signed = np.zeros_like(column)
    moved = column != 0
    signed[moved] = np.sign(column[moved]) * stats.rankdata(np.abs(column[moved]))
    tested = stats.permutation_test((signed,), np.sum, permutation_type="samples", vectorized=True, n_resamples=np.inf)
    return min(signed[signed > 0].sum(), -signed[signed < 0].sum()), float(tested.pvalue)


def constant(differences: FloatArray) -> BoolArray:
    """Return which columns have only one value, apart from rounding errors."""
    room = SAME * np.maximum(1.0, np.abs(differences).max(axis=0))
    same: BoolArray = np.ptp(differences, axis=0) <= room
    return same


def _fewest(effect: FloatArray, guess: FloatArray, tail: float, power: float, sides: int) -> FloatArray:
    """Return the smallest numbers of queries with the power, searched from a guess."""
    high: FloatArray = guess.copy()
    while (short := _power(effect, high, tail, sides) < power).any():
        high[short] *= 2
    low = np.maximum(1.0, guess - 4)  # the guess is rarely wrong by more than a query or two
    low[_power(effect, np.maximum(2.0, low), tail, sides) >= power] = 1.0
    while (apart := high - low > 1).any():
        middle = np.floor((low + high) / 2)
        enough = _power(effect, np.maximum(2.0, middle), tail, sides) >= power
        high[apart & enough] = middle[apart & enough]
        low[apart & ~enough] = middle[apart & ~enough]
    return high


def _power(effect: FloatArray, queries: FloatArray, tail: float, sides: int) -> FloatArray:
    """Return the power of a paired t-test with one or two tails of a size."""
    power = one_sided_power(effect, queries, alpha=tail)
    return power if sides == 1 else power + one_sided_power(-effect, queries, alpha=tail)


def _noncentralities(t: FloatArray, df: int, confidence: float) -> list[FloatArray]:
    """Return the confidence limits of the noncentrality of observed t, low and high."""
    size, sign, tail = np.abs(t), np.sign(t), (1 - confidence) / 2
    low, high = noncentrality(size, df, tail), noncentrality(size, df, 1 - tail)
    return [np.where(sign < 0, -high, low), np.where(sign < 0, -low, high)]


def noncentrality(t: FloatArray, df: int, p: float) -> FloatArray:
    """Return the noncentrality at which a noncentral t exceeds a value with a probability.

    Parameters
    ----------
    t : (P,) float array
        The values, at least 0.
    df : int
        Degrees of freedom.
    p : float
        The probability, between 0 and 1.

    Notes
    -----
    The probability of exceeding t grows with the noncentrality, from 0 to 1. It is the probability that t·S + Z is
    below the noncentrality, where Z is normal and S² is χ² / df. So the noncentrality is a quantile of t·S + Z. It is
    enclosed by sums of quantiles of t·S and of Z that leave out half as much each.
    """
    low = t * _chi(p / 2, df) + special.ndtri(p / 2)
    high = t * _chi((1 + p) / 2, df) + special.ndtri((1 + p) / 2)
    root = _root(lambda shift, t: _above(t, df, shift) - p, t, low, high)
    # Of a very large t, of which scipy has no probabilities, Z is a negligible part.
    return np.where(np.isfinite(root), root, t * _chi(p, df))


def _root(
    function: Callable[[FloatArray, FloatArray], FloatArray], t: FloatArray, a: FloatArray, b: FloatArray
) -> FloatArray:
    """Return where a function of x and t is 0 for each t, with x between a and b; NaN where its signs there are equal.

    This is Chandrupatla's method, as in `scipy.optimize.elementwise.find_root`, whose import would take longer than
    most comparisons: inverse quadratic interpolation where it is safe, otherwise bisection.
    """
    eps, tiny = np.finfo(np.float64).eps, np.finfo(np.float64).smallest_normal
    root, rows, share = np.full_like(a, np.nan), np.arange(len(a)), np.full_like(a, 0.5)
    of_a, of_b = function(a, t), function(b, t)
    apart = np.sign(of_a) != np.sign(of_b)
    while apart.any():
        rows, t, a, of_a, b, of_b, share = (column[apart] for column in (rows, t, a, of_a, b, of_b, share))
        x = a + share * (b - a)
        of_x = function(x, t)
        same = np.sign(of_x) == np.sign(of_a)
        c, of_c = np.where(same, (a, of_a), (b, of_b))
        b, of_b = np.where(same, (b, of_b), (a, of_a))
        a, of_a = x, of_x
        root[rows] = nearest = np.where(np.abs(of_a) < np.abs(of_b), a, b)
        width, room = np.abs(b - a), np.abs(nearest) * 4 * eps + 4 * tiny
        apart = (np.minimum(np.abs(of_a), np.abs(of_b)) > tiny) & (width >= room)
        with np.errstate(divide="ignore", invalid="ignore"):  # of roots that are reached
            along, up = (a - b) / (c - b), (of_a - of_b) / (of_c - of_b)
            safe = (1 - np.sqrt(1 - along) < up) & (up < np.sqrt(along))
            share = of_a / (of_a - of_b) * of_c / (of_c - of_b)
            share -= (c - a) / (b - a) * of_a / (of_c - of_a) * of_b / (of_b - of_c)
            share = np.clip(np.where(safe, share, 0.5), 0.5 * room / width, 1 - 0.5 * room / width)
    return root


def _chi(p: float, df: int) -> float:
    """Return the quantile of S, the square root of χ² / df."""
    return float(np.sqrt(2 * special.gammaincinv(df / 2, p) / df))


def _above(t: FloatArray, df: FloatArray | int, shift: FloatArray) -> FloatArray:
    """Return the probability that a noncentral t with noncentrality ``shift`` exceeds t, for t >= 0."""
    below = special.nctdtr(df, shift, t)
    # Where one of the two is too small for a float, scipy may have no number: below t if the shift is far above it.
    return np.where(np.isnan(below), shift > 10 * t, 1 - below)
