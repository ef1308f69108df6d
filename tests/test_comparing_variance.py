"""Analysis of variance, Tukey's test and letters, held to statsmodels, scipy, R and textbooks.

Two of the tests need the eight runs of the TREC 2003 robust track, which are not part of this project: they run where the
folder ``../shared/data`` is. Tukey's test in statsmodels is that of independent samples; it is given the mean square and
the degrees of freedom of statsmodels' two-way analysis of variance, which makes it that of the same queries.
"""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
from shared import ROBUST, skip_without_shared
from test_comparing_paired import ONE, OTHER

import treceval_py as te
from treceval_py.comparing.variance import (
    Anova,
    _integrated,
    letters,
    tukey,
    two_way_anova,
)

pandas = pytest.importorskip("pandas")
stats = pytest.importorskip("scipy.stats")


SOYBEANS = np.array(
    [[8, 10, 12, 13, 11], [2, 6, 7, 11, 5], [4, 10, 9, 8, 10], [3, 5, 9, 10, 6], [9, 7, 5, 5, 3]], dtype=float
)
"""Seeds of 100 that failed after five treatments (check, Arasan, Spergon, Semesan Jr., Fermate) in five replications: the
example of two-way analysis in G. W. Snedecor and W. G. Cochran, Statistical Methods, seventh edition, 1980."""


def simulated(runs: int, queries: int, *, seed: int, spread: float = 0.05) -> np.ndarray:
    generator = np.random.default_rng(seed)
    effects = generator.normal(0.4, 0.2, queries) + generator.normal(0, spread, (runs, 1))
    return effects + generator.normal(0, 0.1, (runs, queries))


def table_of(values: np.ndarray):
    """Return statsmodels' analysis of variance."""
    pytest.importorskip("statsmodels")
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    run, query = np.indices(values.shape)
    frame = pandas.DataFrame({"value": values.ravel(), "run": run.ravel(), "query": query.ravel()})
    return anova_lm(ols("value ~ C(query) + C(run)", frame).fit())


def analysis(values: np.ndarray) -> Anova:
    found = two_way_anova(values)
    assert found is not None
    return found


def check(values: np.ndarray) -> None:
    """Assert that the analysis and Tukey's p-values are those of statsmodels."""
    pytest.importorskip("statsmodels")
    from statsmodels.sandbox.stats.multicomp import tukeyhsd

    table, anova = table_of(values), analysis(values)
    systems, queries, error = table.loc["C(run)"], table.loc["C(query)"], table.loc["Residual"]
    assert (anova.systems_df, anova.queries_df, anova.error_df) == (systems["df"], queries["df"], error["df"])
    found = [anova.systems_ss, anova.queries_ss, anova.error_ss, anova.error_ms]
    assert found == pytest.approx([systems.sum_sq, queries.sum_sq, error.sum_sq, error.mean_sq], rel=1e-9)
    assert [anova.systems_f, anova.queries_f] == pytest.approx([systems["F"], queries["F"]], rel=1e-9)
    assert [anova.systems_p, anova.queries_p] == pytest.approx([systems["PR(>F)"], queries["PR(>F)"]], abs=1e-9)
    # It multiplies the degrees of freedom by the number of samples.
    (first, second), *_, p = tukeyhsd(
        values.mean(axis=1), values.shape[1], error["mean_sq"], df=error["df"] / len(values), q_crit=1.0
    )
    np.testing.assert_allclose(tukey(values)[first, second], p, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(tukey(values), tukey(values).T)


@pytest.mark.slow
@pytest.mark.parametrize(("runs", "queries"), [(2, 12), (3, 5), (4, 25), (8, 60)])
def test_the_analysis_of_variance_and_tukeys_test_are_those_of_statsmodels(runs: int, queries: int) -> None:
    check(simulated(runs, queries, seed=runs))


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["map", "ndcg_cut.10"])
def test_the_analysis_of_the_robust_runs_is_that_of_statsmodels(measure: str) -> None:
    skip_without_shared()
    qrels = te.read_qrels(ROBUST / "qrels.txt.gz")
    found = [te.evaluate(qrels, path, [measure]) for path in sorted(ROBUST.glob("input.*.gz"))]
    assert len(found) == 8
    check(np.array([[results[qid][measure] for qid in results] for results in found]))


def test_the_analysis_of_soybeans_is_that_of_the_textbook() -> None:
    anova = analysis(SOYBEANS)
    # Totals 54, 31, 41, 33, 29 and 26, 38, 42, 47, 35; squares 1634; correction 188² / 25 = 1413.76.
    # Treatments 7488 / 5 - 1413.76, replications 7318 / 5 - 1413.76, total 220.24.
    assert [anova.systems_ss, anova.queries_ss, anova.error_ss] == pytest.approx([83.84, 49.84, 86.56])
    assert (anova.systems_df, anova.queries_df, anova.error_df) == (4, 4, 16)
    assert anova.error_ms == pytest.approx(5.41)
    assert anova.systems_f == pytest.approx(20.96 / 5.41)
    values = simulated(5, 17, seed=2)
    whole = ((values - values.mean()) ** 2).sum()
    assert sum(getattr(analysis(values), name) for name in ("systems_ss", "queries_ss", "error_ss")) == pytest.approx(
        whole
    )


def test_one_run_or_one_query_has_no_analysis() -> None:
    for shape in ((1, 5), (5, 1), (1, 1)):
        assert two_way_anova(np.full(shape, 0.5)) is None
    assert np.array_equal(tukey(np.array([[0.5], [0.25]])), [[1, np.nan], [np.nan, 1]], equal_nan=True)


@pytest.mark.slow
def test_many_p_values_are_within_a_billionth_of_integrated_ones() -> None:
    values = simulated(24, 9, seed=5, spread=0.08)  # 276 pairs
    p = tukey(values)
    residual = table_of(values).loc["Residual"]
    means = values.mean(axis=1)
    for first, second in [(0, 1), (3, 20), (7, 11), (2, 23), (14, 15), (5, 6), (8, 22)]:
        q = abs(means[first] - means[second]) / np.sqrt(residual["mean_sq"] / 9)
        assert p[first, second] == pytest.approx(stats.studentized_range.sf(q, 24, 184), abs=1e-9)
    order = np.argsort(np.abs(means[:, None] - means), axis=None)
    assert (np.diff(p.ravel()[order]) <= 1e-9).all()
    assert p.min() >= 0
    assert p.max() == 1


def test_what_the_integration_has_to_say_of_itself_is_not_passed_on() -> None:
    # Here scipy 1.17 warns that its integral is probably divergent.
    assert 0 < _integrated(np.array([2.4]), 100, 9900)[0] <= 1


def test_means_that_are_far_apart_have_p_values_of_0() -> None:
    values = simulated(3, 20, seed=1) + np.array([[0.0], [1e3], [1e9]])
    p = tukey(values)
    assert p[~np.eye(3, dtype=bool)].tolist() == [0.0] * 6


@pytest.mark.slow
def test_far_means_of_many_runs_have_p_values_of_0() -> None:
    values = simulated(20, 20, seed=1, spread=0.0) + np.where(np.arange(20) < 10, 0.0, 1e6)[:, None]
    p = tukey(values)
    assert p[:10, 10:].max() == 0
    assert p[:10, :10].min() > 1e-6


def test_two_runs_have_the_p_value_of_the_paired_t_test() -> None:
    values = simulated(2, 30, seed=4)
    expected = stats.ttest_rel(values[0], values[1]).pvalue
    assert tukey(values)[0, 1] == pytest.approx(expected, rel=1e-9)
    # R 4: t.test(Pair(extra1, extra2) ~ 1): t = -4.0621, df = 9, p-value = 0.002833
    assert tukey(np.array([ONE, OTHER]))[0, 1] == pytest.approx(0.002833, abs=5e-7)
    assert analysis(np.array([ONE, OTHER])).systems_f == pytest.approx(4.0621**2, abs=1e-3)


@pytest.mark.parametrize(
    ("runs", "df", "alpha", "critical"),
    [(3, 10, 0.05, 3.88), (4, 20, 0.05, 3.96), (5, 16, 0.05, 4.33), (8, 60, 0.05, 4.44), (3, 10, 0.01, 5.27)],
)
def test_critical_values_are_those_of_the_tables(runs: int, df: int, alpha: float, critical: float) -> None:
    # Upper points of the studentised range: E. S. Pearson and H. O. Hartley, Biometrika Tables for Statisticians, 29.
    low, high = _integrated(np.array([critical + 0.005, critical - 0.005]), runs, df)
    assert low < alpha < high  # as tables round them


def test_runs_that_are_equal_do_not_differ_and_those_apart_by_constants_do_for_certain() -> None:
    values = np.tile([0.1, 0.7, 0.3], (4, 1))
    anova = analysis(values)
    assert (anova.error_ms, anova.systems_f, anova.systems_p) == (0.0, 0.0, 1.0)
    assert (anova.queries_f, anova.queries_p) == (float("inf"), 0.0)
    assert tukey(values).tolist() == np.ones((4, 4)).tolist()
    query = np.array([0.1, 0.7, 0.3, 0.123])
    values = np.array([query, query + 0.2, query])  # 0.1 + 0.2 is not 0.3: the residuals are not quite 0
    anova = analysis(values)
    assert (anova.error_ms, anova.systems_f, anova.systems_p) == (0.0, float("inf"), 0.0)
    assert tukey(values).tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]
    again = (query + 0.2) - 0.2
    assert again.mean() != query.mean()
    assert tukey(np.array([query, again])).tolist() == [[1, 1], [1, 1]]
    assert tukey(np.zeros((3, 4))).tolist() == np.ones((3, 3)).tolist()


def test_tukey_is_calibrated() -> None:
    generator = np.random.default_rng(12)
    critical = stats.studentized_range.isf(0.05, 4, 87)
    rejected = 0
    for _ in range(1000):
        values = generator.normal(0.4, 0.2, 30) + generator.normal(0, 0.1, (4, 30))
        rejected += bool(np.ptp(values.mean(axis=1)) > critical * np.sqrt(analysis(values).error_ms / 30))
    assert 0.033 < rejected / 1000 < 0.067


def differing(count: int, pairs: list[tuple[int, int]]) -> np.ndarray:
    matrix = np.zeros((count, count), dtype=bool)
    for first, second in pairs:
        matrix[first, second] = matrix[second, first] = True
    return matrix


def test_letters_go_on_behind_z_with_numbers() -> None:
    means = -np.arange(28.0)
    found = letters(means, np.abs(means[:, None] - means) > 1)  # groups of two neighbours: 27
    assert found[:2] == ("a", "ab")
    assert found[-3:] == ("yz", "za1", "a1")


@pytest.mark.parametrize(
    ("means", "pairs", "expected"),
    [
        ([0.2, 0.4, 0.3], [(0, 1)], ("b", "a", "ab")),
        ([0.2, 0.2, 0.2], [], ("a", "a", "a")),
        ([3.0, 2.0, 1.0], [(0, 1), (0, 2), (1, 2)], ("a", "b", "c")),
        # The first differs from the second, and from nothing that is further away.
        ([3.0, 2.0, 1.0], [(0, 1)], ("a", "b", "ab")),
        ([0.5], [], ("a",)),
        ([2.0, 1.0], [(0, 0), (1, 1)], ("a", "a")),  # a run does not differ from itself
    ],
)
def test_letters_begin_with_the_highest_mean(
    means: list[float], pairs: list[tuple[int, int]], expected: tuple[str]
) -> None:
    assert letters(np.array(means), differing(len(means), pairs)) == expected


def groups_of(text: str) -> set[str]:
    return set(re.findall("[a-z][0-9]*", text))


@pytest.mark.parametrize("seed", range(20))
def test_runs_share_a_letter_exactly_when_they_do_not_differ(seed: int) -> None:
    chance = random.Random(seed)
    count = chance.randint(1, 9)
    density = chance.random()
    pairs = [(a, b) for a in range(count) for b in range(a) if chance.random() < density]
    means = np.array([chance.choice([0.1, 0.2, 0.3, 0.4, 0.5]) for _ in range(count)])
    different = differing(count, pairs)
    found = [groups_of(text) for text in letters(means, different)]
    for first in range(count):
        for second in range(count):
            assert bool(found[first] & found[second]) == (first == second or not different[first, second])
    assert "a" in found[int(np.argmax(means))]


def test_no_group_of_two_hundred_runs_is_lost() -> None:
    means = np.random.default_rng(3).random(200)
    different = np.abs(means[:, None] - means) > 0.3
    found = [groups_of(text) for text in letters(means, different)]
    share = np.array([[bool(one & other) for other in found] for one in found])
    assert np.array_equal(share, ~different)


def test_runs_apart_by_rounding_have_one_letter() -> None:
    values = np.linspace(0.1, 0.9, 60) + np.array([[0.0], [3e-13], [8e-13]])
    assert letters(values.mean(axis=1), tukey(values) <= 0.05) == ("a", "a", "a")
