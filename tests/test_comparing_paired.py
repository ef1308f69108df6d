"""Paired tests, intervals, effect sizes and corrections, against scipy, statsmodels and what R prints."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import elementwise
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower
from statsmodels.stats.weightstats import ttost_paired

from treceval_py.comparing.corrections import bonferroni, holm
from treceval_py.comparing.paired import (
    effect_size,
    equivalence,
    mean_interval,
    noncentrality,
    one_sided_power,
    paired_t,
    queries_needed,
    signed_ranks,
    t_interval,
    wilcoxon,
    wins_ties_losses,
)

# R's data set `sleep`: hours of sleep gained with each of two drugs, by the same ten people (Student 1908).
ONE = np.array([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0])
OTHER = np.array([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4])
SLEEP = (ONE - OTHER)[:, None]


def column(*differences: float) -> np.ndarray:
    return np.array(differences)[:, None]


def values(seed: int, queries: int, runs: int = 5) -> np.ndarray:
    """Values like those of average precision: many near 0, some high, queries hard or easy for all runs."""
    rng = np.random.default_rng(seed)
    return rng.beta(rng.uniform(0.5, 3, queries), 3, (runs, queries))


def differences(seed: int, queries: int, pairs: int = 4) -> np.ndarray:
    found = values(seed, queries, pairs + 1)
    return (found[1:] - found[0]).T


def tenths(seed: int, queries: int, pairs: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Differences of precision at 10 as they come, with rounding in their last bits, and ten times as whole numbers."""
    rng = np.random.default_rng(seed)
    one, other = rng.integers(0, 11, (2, queries, pairs))
    return one / 10 - other / 10, (one - other).astype(float)


# The t-test, its interval and its effect size


def test_the_t_test_of_students_sleep_data_is_what_r_prints() -> None:
    # t.test(extra ~ group, paired = TRUE): t = -4.0621, df = 9, p-value = 0.002833
    # 95 percent confidence interval: -2.4598858 -0.7001142; effectsize::cohens_d: d = -1.28, 95% CI [-2.12, -0.41]
    found = paired_t(SLEEP)
    assert [round(float(found.statistic[0]), 4), round(float(found.p[0]), 6)] == [-4.0621, 0.002833]
    assert [round(float(each[0]), 7) for each in t_interval(SLEEP, 0.95)] == [-2.4598858, -0.7001142]
    assert [round(float(each[0]), 2) for each in effect_size(SLEEP, 0.95)] == [-1.28, -2.12, -0.41]


@pytest.mark.parametrize("queries", [2, 3, 25, 250])
def test_paired_t_is_that_of_scipy(queries: int) -> None:
    runs = values(1, queries)
    found = paired_t((runs[1:] - runs[0]).T)
    expected = [stats.ttest_rel(run, runs[0]) for run in runs[1:]]
    np.testing.assert_allclose(found.statistic, [each.statistic for each in expected], rtol=1e-9)
    np.testing.assert_allclose(found.p, [each.pvalue for each in expected], rtol=1e-9)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_t_interval_is_that_of_scipy(confidence: float) -> None:
    runs = values(2, 30)
    low, high = t_interval((runs[1:] - runs[0]).T, confidence)
    expected = [stats.ttest_rel(run, runs[0]).confidence_interval(confidence) for run in runs[1:]]
    np.testing.assert_allclose(low, [each.low for each in expected], rtol=1e-9)
    np.testing.assert_allclose(high, [each.high for each in expected], rtol=1e-9)


def test_interval_of_a_mean_is_mean_and_standard_error_times_the_quantile() -> None:
    runs = values(3, 40)
    low, high = mean_interval(runs, 0.9)
    reach = stats.sem(runs, axis=1) * stats.t.ppf(0.95, 39)
    np.testing.assert_allclose(low, runs.mean(axis=1) - reach, rtol=1e-9)
    np.testing.assert_allclose(high, runs.mean(axis=1) + reach, rtol=1e-9)


def test_t_test_rejects_five_of_a_hundred_true_null_hypotheses() -> None:
    rng = np.random.default_rng(4)
    shapes = rng.uniform(0.5, 3, (50, 1))
    one, other = rng.beta(shapes, 3, (2, 50, 2000))
    assert 0.035 <= (paired_t(one - other).p <= 0.05).mean() <= 0.065


def test_effect_size_is_the_mean_divided_by_the_standard_deviation() -> None:
    # 1, 2, 3: mean 2, standard deviation 1
    assert effect_size(column(1, 2, 3), 0.95).d.tolist() == [2.0]


@pytest.mark.parametrize("queries", [2, 3, 10, 100])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_limits_of_an_effect_size_leave_the_observed_t_equally_improbable(queries: int, confidence: float) -> None:
    found = differences(5, queries)
    effect = effect_size(found, confidence)
    t, root, tail = stats.ttest_1samp(found, 0).statistic, np.sqrt(queries), (1 - confidence) / 2
    np.testing.assert_allclose(stats.nct.sf(t, queries - 1, effect.low * root), tail, rtol=0, atol=1e-9)
    np.testing.assert_allclose(stats.nct.cdf(t, queries - 1, effect.high * root), tail, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("t", "df", "low", "high"),
    [
        # limits of the noncentrality, by root finding in mpmath 1.3 with 25 digits on the integral of the definition
        (0.5, 2, -1.565245955528489, 2.45854037252588),
        (3, 9, 0.556840105107272, 5.333716853036921),
        (500, 1, 15.66902234866398, 1120.703605202959),
        (500, 7000, 491.487236738504, 508.5090853664313),
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_limits_of_an_effect_size_are_exact(sign: int, t: float, df: int, low: float, high: float) -> None:
    queries = df + 1
    spread = np.linspace(-1, 1, queries)
    found = spread / spread.std(ddof=1) + t / np.sqrt(queries)  # their t is the one that is wanted
    effect = effect_size(sign * found[:, None], 0.95)
    limits = np.array([effect.low[0], effect.high[0]]) * np.sqrt(queries)
    np.testing.assert_allclose(limits, [low, high] if sign == 1 else [-high, -low], rtol=1e-9)


def test_effect_sizes_are_finite_for_all_t_and_numbers_of_queries() -> None:
    for queries in (2, 3, 8, 51, 7001):
        spread = np.linspace(-1, 1, queries)
        shifts = np.array([0, 1e-9, 0.01, 0.3, 1, 3, 30, 900, 1e6])
        effect = effect_size(spread[:, None] + shifts, 0.95)
        assert np.isfinite(effect).all()
        assert ((effect.low < effect.d) & (effect.d < effect.high)).all()


@pytest.mark.parametrize("df", [1, 3, 29, 6999])
@pytest.mark.parametrize("p", [0.0005, 0.2, 0.975])
def test_the_noncentrality_is_the_root_that_scipy_finds(df: int, p: float) -> None:
    t = np.array([0, 1e-9, 0.3, 2.5, 7, 60])
    found = elementwise.find_root(lambda shift, t: stats.nct.sf(t, df, shift) - p, (0 * t - 10, 10 * t + 10), args=(t,))
    np.testing.assert_allclose(noncentrality(t, df, p), found.x, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("t", [1e5, 1e20])
def test_the_noncentrality_of_a_very_large_t_is_its_part_of_chi(t: float) -> None:
    # of which scipy has no probabilities: t·S with S² = χ² / df
    assert noncentrality(np.array([t]), 29, 0.3) == pytest.approx(t * stats.chi(29, scale=29**-0.5).ppf(0.3), rel=1e-4)


@pytest.mark.parametrize("shift", [-38.9, 1.0, 35.0, 38.9, 40.0])
def test_power_is_1_where_the_chance_of_missing_the_effect_is_too_small_for_a_float(shift: float) -> None:
    # About the normal distribution's; scipy.stats.nct has NaN at ±38.9.
    power = one_sided_power(np.array([shift / 1000**0.5]), np.array([1000.0]), alpha=0.01)
    assert power == pytest.approx(stats.norm.cdf(shift - stats.norm.isf(0.01)), abs=0.002)


# Wilcoxon, wins


def test_wilcoxon_of_the_depression_data_is_what_r_prints() -> None:
    # R's example of wilcox.test, Hollander and Wolfe (1973): V = 40, p-value = 0.01953 of one side; 45 - 40 = 5
    before = np.array([1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30])
    after = np.array([0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29])
    found = wilcoxon((before - after)[:, None])
    assert [float(found.statistic[0]), round(float(found.p[0]) / 2, 5)] == [5.0, 0.01953]


@pytest.mark.parametrize("queries", [2, 9, 50, 51, 300])
def test_wilcoxon_is_that_of_scipy(queries: int) -> None:
    runs = values(6, queries)
    found = wilcoxon((runs[1:] - runs[0]).T)
    expected = [stats.wilcoxon(run, runs[0]) for run in runs[1:]]
    np.testing.assert_allclose(found.statistic, [each.statistic for each in expected], rtol=1e-9)
    np.testing.assert_allclose(found.p, [each.pvalue for each in expected], rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("queries", [5, 12, 40, 200])
def test_wilcoxon_takes_differences_for_ties_that_differ_in_their_last_bits(queries: int) -> None:
    found, whole = tenths(7, queries)
    expected = [stats.wilcoxon(each) for each in whole.T]
    np.testing.assert_allclose(wilcoxon(found).p, [each.pvalue for each in expected], rtol=1e-9)


def test_ties_in_one_pair_do_not_make_wilcoxon_approximate_in_another() -> None:
    tied, free = column(1, 1, 1, 1, 1, 1, -1, 0, 2, 3, 4, 5, 6, 7, 8), differences(8, 15, 1)
    assert wilcoxon(np.hstack([tied, free])).p[1] == stats.wilcoxon(free[:, 0], method="exact").pvalue


def test_differences_that_are_rounding_are_ties_and_no_wins() -> None:
    assert 0.1 + 0.2 - 0.3 != 0
    assert wins_ties_losses(column(0.1 + 0.2 - 0.3, 0.5, 0.0, -0.2, 1e-11)).tolist() == [[2, 2, 1]]
    # At 1e-12 it is one, beyond it is not.
    assert wins_ties_losses(column(1e-12, -1e-12, 1.001e-12, -1.001e-12)).tolist() == [[1, 2, 1]]


# Equivalence and queries needed


@pytest.mark.slow
@pytest.mark.parametrize("margin", [0.01, 0.05, 0.2])
def test_equivalence_is_that_of_statsmodels(margin: float) -> None:
    runs = values(15, 30)
    found = equivalence((runs[1:] - runs[0]).T, margin)
    expected = [ttost_paired(run, runs[0], -margin, margin) for run in runs[1:]]
    np.testing.assert_allclose(found, [each[0] for each in expected], rtol=1e-9)


def test_runs_without_variation_are_equivalent_where_they_differ_by_less_than_the_margin() -> None:
    found = np.column_stack([np.full(5, each) for each in (0.0, 0.0499, -0.0499, 0.05, -0.05, 0.0501, -0.06)])
    assert equivalence(found, 0.05).tolist() == [0, 0, 0, 1, 1, 1, 1]


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "power"), [(0.05, 0.8), (0.01, 0.9), (0.1, 0.5)])
@pytest.mark.parametrize("effect", [0.03, 0.2, -0.5, 0.8, 1.5])
def test_queries_needed_are_those_of_statsmodels_rounded_up(effect: float, alpha: float, power: float) -> None:
    expected = np.ceil(TTestPower().solve_power(effect_size=abs(effect), alpha=alpha, power=power))
    assert queries_needed(np.array([effect]), alpha=alpha, power=power).tolist() == [expected]
    less, needed = (TTestPower().power(abs(effect), count, alpha) for count in (expected - 1, expected))
    assert less < power <= needed


def test_queries_needed_of_no_effect_are_infinite_and_of_an_infinite_one_two() -> None:
    found = queries_needed(np.array([0.0, np.inf, -np.inf, 1e6, np.nan]), alpha=0.05, power=0.8)
    np.testing.assert_array_equal(found, [np.inf, 2, 2, 2, np.nan])
    # Of a tiny one they are those of the normal distribution: ((1.959964 + 0.841621) / d) ** 2
    found = queries_needed(np.array([1e-6, 1e-9, 1e-200]), alpha=0.05, power=0.8)
    np.testing.assert_allclose(found, [7.848879734e12, 7.848879734e18, np.inf], rtol=1e-9)


# Columns from which little can be had


def test_runs_with_the_same_values_have_a_p_value_of_1_and_an_interval_and_an_effect_of_0() -> None:
    rounding = column(0.1 + 0.2 - 0.3, 0.0, 0.3 - 0.2 - 0.1)
    for test in (paired_t, wilcoxon):
        assert [test(np.zeros((queries, 2))).p.tolist() for queries in (2, 3, 50)] == [[1.0, 1.0]] * 3
        assert test(rounding).p.tolist() == [1.0]
    found = np.zeros((5, 1))
    intervals = [t_interval(found, 0.95), effect_size(found, 0.95)]
    assert not np.concatenate(intervals).any()


@pytest.mark.parametrize("sign", [1, -1])
def test_differences_that_are_all_alike_are_certain(sign: int) -> None:
    found = sign * column(0.3 - 0.2, 0.2 - 0.1, 0.1)
    assert (paired_t(found).p.tolist(), paired_t(found).statistic.tolist()) == ([0.0], [sign * np.inf])
    intervals = [t_interval(found, 0.95)]
    np.testing.assert_allclose(np.ravel(intervals), sign * 0.1, rtol=1e-12)
    assert np.ravel(effect_size(found, 0.95)).tolist() == [sign * np.inf] * 3


@pytest.mark.parametrize("difference", [0.0, 0.2])
def test_of_one_query_there_is_no_p_value_and_no_interval(difference: float) -> None:
    found = column(difference)
    tests = [paired_t(found).p, wilcoxon(found).p, equivalence(found, 0.1)]
    intervals = [t_interval(found, 0.95)]
    assert np.isnan(tests).all()
    assert np.isnan(intervals).all()
    assert np.isnan(effect_size(found, 0.95)).all()


def test_a_pair_without_variation_leaves_the_others_as_they_are() -> None:
    found = differences(16, 20, 2)
    mixed = np.column_stack([np.zeros(20), found[:, 0], np.full(20, 0.1), found[:, 1]])
    assert paired_t(mixed).p[[1, 3]] == pytest.approx(paired_t(found).p, rel=1e-12)
    assert effect_size(mixed, 0.95).low[[1, 3]] == pytest.approx(effect_size(found, 0.95).low, rel=1e-12)


def test_no_pairs_have_no_p_values() -> None:
    found = np.empty((5, 0))
    assert [len(test(found).p) for test in (paired_t, wilcoxon)] == [0, 0]
    assert [len(each) for each in effect_size(found, 0.95)] == [0, 0, 0]


# Corrections


def test_corrections_are_those_of_statsmodels() -> None:
    for correct in (holm, bonferroni):
        for count in (1, 2, 7, 140):
            p = np.random.default_rng(count).beta(0.3, 2, count)
            p[: count // 3] = p[0]
            expected = multipletests(p, method=correct.__name__)[1]
            np.testing.assert_allclose(correct(p), expected, rtol=1e-12)


@pytest.mark.parametrize("correct", [holm, bonferroni])
def test_a_p_value_that_is_not_known_does_not_count(correct: Callable[[np.ndarray], np.ndarray]) -> None:
    p = np.array([0.01, np.nan, 0.04, 0.03, np.nan])
    before, known = p.copy(), ~np.isnan(p)
    adjusted = correct(p)
    np.testing.assert_array_equal(p, before)
    assert np.isnan(adjusted).tolist() == np.isnan(p).tolist()
    assert adjusted[known].tolist() == correct(p[known]).tolist()
    for nothing in ([], [np.nan, np.nan]):
        np.testing.assert_array_equal(correct(np.array(nothing)), nothing)


def test_corrections_by_hand() -> None:
    # 0.01, 0.03 and 0.04 of three: times 3; times 3, 2 and 1, not falling. 1/3 of three is 1, and what is more is 1 too.
    p = np.array([0.03, 0.01, 0.04])
    assert bonferroni(p) == pytest.approx([0.09, 0.03, 0.12])
    assert holm(p) == pytest.approx([0.06, 0.03, 0.06])
    assert bonferroni(np.array([0.33, 1 / 3, 0.34])) == pytest.approx([0.99, 1.0, 1.0])


def test_equal_queries_do_not_decide_for_which_run_ranks_speak() -> None:
    # Three small gains have the ranks 1, 2 and 3, two losses 4 and 5: 6 against 9, however many queries are equal.
    d = np.array([0.1, 0.2, 0.3, -0.4, -0.5])
    for zeros in (0, 1, 5, 50):
        column = np.r_[d, np.zeros(zeros)][:, None]
        assert signed_ranks(np.hstack([column, -column])).tolist() == [-1, 1]
        greater = stats.wilcoxon(np.r_[d, np.zeros(zeros)], alternative="greater", method="asymptotic")
        assert greater.statistic == 6  # scipy's sum of the ranks of gains
