"""Intervals of ranks: how often they cover the true rank, and which runs differ significantly."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import pytest
from shared import ROBUST, skip_without_shared

import treceval_py as te
from treceval_py.boards.intervals import (
    _without_noise,
    drawn_errors,
    ranges_of,
    rank_intervals,
    ranks_of,
    rounded,
    separated,
    shared_ranks,
)

Draw = Callable[[int], tuple[np.ndarray, np.ndarray, np.ndarray]]
"""Returns measured means, drawn errors and true ranks of a sample, by its number."""


def coverage(draw: Draw, samples: int = 1000, confidence: float = 0.95) -> np.ndarray:
    """Return the share of samples in which each run's interval holds its true rank."""
    covered = []
    for number in range(samples):
        means, errors, truth = draw(number)
        low, high = rank_intervals(means, errors, confidence)
        covered.append((low <= truth) & (truth <= high))
    return np.mean(covered, axis=0)


def of_population(population: np.ndarray, queries: int) -> Draw:
    """Draw queries from those of a population (S, Q), whose means have the true ranks."""
    truth = ranks_of(population.mean(axis=1))

    def draw(number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rng = np.random.default_rng(1000 + number)
        values = population[:, rng.integers(population.shape[1], size=queries)]
        return values.mean(axis=1), drawn_errors([values], draws=400, seed=number), truth

    return draw


@pytest.fixture(scope="module")
def robust() -> np.ndarray:
    """AP of the runs of TREC 2003 Robust, (8, 100)."""
    skip_without_shared()
    files = sorted(ROBUST.glob("input.*.gz"))
    return np.array([te.evaluate(ROBUST / "qrels.txt.gz", file, "map", complete=True).matrix[:, 0] for file in files])


def fused(values: np.ndarray, runs: int, spread: float) -> np.ndarray:
    """Return weighted means of the runs' values, with a share of the spread that their means have."""
    weights = np.random.default_rng(0).dirichlet(np.full(len(values), 0.5), size=runs)
    found = weights @ values
    means = found.mean(axis=1, keepdims=True)
    return found - means + means.mean() + spread * (means - means.mean())


@pytest.mark.slow
@pytest.mark.parametrize(("spread", "queries"), [(1.0, 100), (0.3, 100)])
def test_intervals_cover_the_true_ranks_of_real_values(robust: np.ndarray, spread: float, queries: int) -> None:
    found = coverage(of_population(fused(robust, 30, spread), queries))
    assert 0.93 <= found.mean() <= 0.97
    assert found.min() >= 0.85


@pytest.mark.slow
def test_intervals_of_few_runs_that_lie_apart_cover_more_but_not_less(robust: np.ndarray) -> None:
    found = coverage(of_population(robust, 100))
    assert found.min() >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("resampled", ["both", "queries"])
def test_intervals_cover_the_true_ranks_over_collections(resampled: str) -> None:
    rng = np.random.default_rng(0)
    skill = 0.02 * rng.standard_normal(20)
    world = skill + 0.03 * rng.standard_normal((300, 20))
    world += skill - world.mean(axis=0)  # so that the mean over all collections is the skill

    def draw(number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rng = np.random.default_rng(1000 + number)
        chosen = np.arange(10) if resampled == "queries" else rng.integers(300, size=10)
        values = [world[each][:, None] + 0.2 * rng.standard_normal((20, 30)) for each in chosen]
        means = np.mean([each.mean(axis=1) for each in values], axis=0)
        truth = ranks_of(world[:10].mean(axis=0) if resampled == "queries" else skill)
        return means, drawn_errors(values, resampled=resampled, draws=400, seed=number), truth  # type: ignore[arg-type]

    assert 0.93 <= coverage(draw).mean() <= 0.97


@pytest.mark.slow
def test_the_percentiles_of_resampled_ranks_would_cover_too_little() -> None:
    # Forty runs that are all but equal: the best one's rank is drawn to the middle twice.
    rng = np.random.default_rng(1)
    truth = np.arange(1, 41)
    kept, naive = [], []
    for number in range(60):
        values = rng.standard_normal((40, 25)) - 1e-6 * truth[:, None]
        means, errors = values.mean(axis=1), drawn_errors([values], draws=300, seed=number)
        low, high = rank_intervals(means, errors)
        kept.append((low <= truth) & (truth <= high))
        ranks = ranks_of(means + errors)
        least, most = np.quantile(ranks, [0.025, 0.975], axis=0, method="inverted_cdf")
        naive.append((least <= truth) & (truth <= most))
    assert np.mean(kept) >= 0.93
    assert np.mean(naive) < 0.9


def test_two_runs_change_places_where_a_z_test_says_so() -> None:
    # The difference of two runs: both ranks are in the intervals unless |z| is above the quantile at 97.5 %.
    rng = np.random.default_rng(2)
    errors = rng.standard_normal((20_000, 2)) * 0.1 / math.sqrt(2)
    for z, both in ((1.8, True), (2.1, False)):
        low, high = rank_intervals(np.array([0.5 + 0.1 * z, 0.5]), errors, 0.95)
        assert (low.tolist(), high.tolist()) == (([1, 1], [2, 2]) if both else ([1, 2], [1, 2]))
        assert both is (z < NormalDist().inv_cdf(0.975))


def test_runs_with_the_same_values_may_have_each_others_rank_and_do_not_differ() -> None:
    values = np.random.default_rng(3).random((1, 50))
    rows = np.concatenate([values, values, values - 1])
    low, high = rank_intervals(rows.mean(axis=1), drawn_errors([rows]))
    assert (low.tolist(), high.tolist()) == ([1, 1, 3], [2, 2, 3])
    assert not separated(rows[:2].mean(axis=1), drawn_errors([rows[:2]])).apart.any()


def test_one_run_has_the_first_rank_and_one_query_no_interval() -> None:
    low, high = rank_intervals(np.array([0.5]), np.zeros((100, 1)))
    assert (low.tolist(), high.tolist()) == ([1], [1])
    assert ranges_of(np.array([[0.5], [0.2]])) == [None, None]
    assert ranges_of(np.array([[0.5, 0.6], [0.2, 0.1]])) == [(1, 1), (2, 2)]
    assert drawn_errors([np.array([[0.5], [0.2]])], draws=3).tolist() == [[0, 0]] * 3


def test_means_that_differ_by_rounding_are_equal_in_ranks_and_tests() -> None:
    # 1e-12, or that part of the largest mean
    errors = np.zeros((100, 2))
    for size, apart, equal in ((0.5, 1.2e-12, 0.8e-12), (-8.0, 9e-12, 7e-12), (8.0, 9e-12, 7e-12)):
        low, high = rank_intervals(np.array([size + apart, size]), errors)
        assert (low.tolist(), high.tolist()) == ([1, 2], [1, 2])
        low, high = rank_intervals(np.array([size + equal, size]), errors)
        assert (low.tolist(), high.tolist()) == ([1, 1], [2, 2])
        for difference, expected in ((apart, True), (equal, False)):
            assert separated(np.array([size + difference, size]), errors).apart.any() == expected
    assert rounded(0.12345678901249) == rounded(0.12345678901151) == 0.123456789012
    assert shared_ranks([0.5, 0.5 - 2e-13, 0.5 - 2e-12, 0.1]) == [1, 1, 3, 4]


def test_the_tail_of_the_errors_decides_on_which_side_a_rank_is_uncertain() -> None:
    # In 10 % of the draws the first run's error is +0.3, else a little below 0: the second run may rank first, where the
    # difference of the errors reaches the measured one. With the opposite errors it never does.
    errors = np.zeros((100, 2))
    errors[:, 0] = [0.3] * 10 + [-1 / 30] * 90
    for sign, expected in ((1, ([1, 1], [2, 2])), (-1, ([1, 2], [1, 2]))):
        low, high = rank_intervals(np.array([0.2, 0.0]), sign * errors)
        assert (low.tolist(), high.tolist()) == expected


def test_means_are_drawn_together_by_the_variance_of_their_errors() -> None:
    # The means vary by 2 · 0.1² about theirs, the errors by 2 · e²: √(1 - e² / 0.1²) of each deviation stays.
    for error, kept in ((0.0, 1.0), (0.05, math.sqrt(0.75)), (0.1, 0.0), (0.3, 0.0)):
        found = _without_noise(np.array([0.6, 0.4]), np.array([[error, -error], [-error, error]]))
        assert found == pytest.approx([0.5 + 0.1 * kept, 0.5 - 0.1 * kept])
    assert _without_noise(np.array([0.6, 0.6]), np.array([[0.1, -0.1]])).tolist() == [0.6, 0.6]


def test_the_defaults_are_1000_draws_seed_1_95_percent_and_5_percent() -> None:
    values = np.random.default_rng(9).random((6, 12))
    errors, means = drawn_errors([values], draws=1000, seed=1), values.mean(axis=1)
    assert np.array_equal(drawn_errors([values]), errors)
    assert not np.array_equal(drawn_errors([values], seed=2), errors)
    intervals = [each.tolist() for each in rank_intervals(means, errors, 0.95)]
    assert ranges_of(values) == list(zip(*intervals, strict=True))
    assert [each.tolist() for each in rank_intervals(means, errors)] == intervals
    assert separated(means, errors).critical == separated(means, errors, 0.05).critical


@pytest.mark.parametrize("queries", [2, 40])
def test_the_errors_of_a_mean_have_the_variance_of_its_mean(queries: int) -> None:
    values = np.random.default_rng(4).random((3, queries))
    errors = drawn_errors([values], draws=20_000)
    assert errors.T @ errors / len(errors) == pytest.approx(np.cov(values) / queries, rel=0.05, abs=3e-3 / queries)


def test_over_collections_the_variance_is_that_of_the_collections_means() -> None:
    # Queries hardly vary, so the variance is that of the four means over four, as of any sample.
    means = np.array([0.1, 0.4, 0.5, 0.9])
    collections = [np.array([[mean, mean + 1e-9], [0.5, 0.5]]) for mean in means]
    for resampled in ("both", "collections"):
        errors = drawn_errors(collections, resampled=resampled, draws=40_000)  # type: ignore[arg-type]
        assert errors[:, 0].var() == pytest.approx(means.var(ddof=1) / 4, rel=0.03)
        assert errors[:, 1].var() == pytest.approx(0, abs=1e-15)


@pytest.mark.slow
def test_both_levels_do_not_count_the_noise_of_queries_twice() -> None:
    # The collections differ by nothing but their queries: the variance of the mean is 1 / (20 * 30).
    found = []
    for number in range(60):
        rng = np.random.default_rng(number)
        collections = [rng.standard_normal((2, 30)) for _ in range(20)]
        found.append(drawn_errors(collections, resampled="both", draws=200, seed=number).var(axis=0).mean())
    assert 600 * np.mean(found) == pytest.approx(1, abs=0.25)


def test_weights_weigh_the_errors() -> None:
    rng = np.random.default_rng(5)
    collections = [rng.random((2, 30)), rng.random((2, 60))]
    errors = drawn_errors(collections, np.array([3.0, 1.0]), resampled="queries", draws=10_000)
    variances = [np.var(each, axis=1, ddof=1) / each.shape[1] for each in collections]
    assert errors.var(axis=0) == pytest.approx(0.75**2 * variances[0] + 0.25**2 * variances[1], rel=0.06)


def test_two_runs_differ_significantly_where_a_z_test_says_so() -> None:
    rng = np.random.default_rng(7)
    # what both runs have in common does not count
    errors = rng.standard_normal((20_000, 2)) * 0.1 / math.sqrt(2) + rng.standard_normal((20_000, 1))
    for z in (1.9, 2.02):
        found = separated(np.array([0.5 + 0.1 * z, 0.5]), errors, 0.05)
        assert found.critical == pytest.approx(NormalDist().inv_cdf(0.975), rel=0.02)
        assert found.apart.tolist() == [[False, z > 1.96], [z > 1.96, False]]


@pytest.mark.slow
def test_the_test_of_all_pairs_holds_its_level() -> None:
    # Ten runs of the same means, 400 times: in about 5 % of them some two differ.
    wrong = 0
    for number in range(400):
        values = np.random.default_rng(number).standard_normal((10, 100))
        wrong += separated(values.mean(axis=1), drawn_errors([values], draws=400, seed=number)).apart.any()
    assert wrong / 400 == pytest.approx(0.05, abs=0.033)  # three standard errors
