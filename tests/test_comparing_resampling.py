"""Randomisation tests: against scipy's exact tests, all permutations, and their own level of significance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from test_comparing_paired import tenths

from treceval_py.comparing.resampling import randomisation


def differences(seed: int, queries: int, pairs: int = 4, shift: float = 0.1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(shift, 0.3, (queries, pairs))


def exact(column: np.ndarray) -> float:
    """Return the p-value of scipy, which goes through all signs."""
    found = stats.permutation_test((column,), np.mean, permutation_type="samples", vectorized=True, n_resamples=np.inf)
    return float(found.pvalue)


def standard_error(p: np.ndarray, resamples: int) -> np.ndarray:
    return np.sqrt(p * (1 - p) / resamples)


# The test of a pair


@pytest.mark.slow
@pytest.mark.parametrize("queries", [2, 5, 11, 16])
def test_with_few_queries_the_p_value_is_scipys_exact_one(queries: int) -> None:
    found = differences(1, queries)
    p = randomisation(found, resamples=100_000, seed=1).p
    np.testing.assert_allclose(p, [exact(each) for each in found.T], rtol=1e-9)


@pytest.mark.slow
def test_p_values_of_more_queries_come_within_their_error_of_scipys_exact_one() -> None:
    found = differences(2, 18)
    p = np.array([exact(each) for each in found.T])
    drawn = randomisation(found, resamples=100_000, seed=1).p
    assert (drawn != p).all()
    assert (np.abs(drawn - p) <= 4 * standard_error(p, 100_000)).all()


def test_with_100_queries_the_p_value_is_close_to_that_of_the_t_test() -> None:
    found = differences(3, 100, 8, shift=0.05)
    p = stats.ttest_1samp(found, 0).pvalue
    assert np.abs(randomisation(found, resamples=100_000, seed=1).p - p).max() < 0.01


@pytest.mark.parametrize(
    ("column", "resamples", "p"),
    [
        pytest.param([0.3, *[0] * 11] * 5, 32, 2 / 32, id="5 of one sign among 60: 2 of 2 ** 5, ties do not count"),
        # 2 of 2 ** 100 combinations are as far from 0, and none of 999 comes to that: (0 + 1) / (999 + 1)
        pytest.param([0.3] * 100, 999, 0.001, id="drawn signs never have 0"),
        pytest.param([0.1] * 20, 2**20, 2 / 2**20, id="more signs than are held at once are all gone through"),
    ],
)
def test_p_values_count_the_combinations_of_signs(column: list[float], resamples: int, p: float) -> None:
    found = randomisation(np.array(column)[:, None], resamples=resamples, seed=1)
    assert (found.p.tolist(), found.statistic.tolist()) == ([p], [pytest.approx(np.mean(column))])


def test_signs_are_drawn_where_they_have_more_combinations_than_there_are_resamples() -> None:
    found = np.full((5, 1), 0.3)
    (p,) = randomisation(found, resamples=30, seed=1).p.tolist()
    assert p * 31 == pytest.approx(round(p * 31))  # (count + 1) / (30 + 1), and not 2 / 2 ** 5


@pytest.mark.parametrize(("queries", "resamples"), [(4, 100), (12, 5000), (18, 2**18), (18, 3000), (60, 3000)])
def test_rounding_of_differences_does_not_change_a_count(queries: int, resamples: int) -> None:
    found, whole = tenths(4, queries, 5)
    assert not np.array_equal(found * 10, whole)
    p, expected = (randomisation(each, resamples=resamples, seed=1).p.tolist() for each in (found, whole))
    assert p == expected


def test_what_is_equal_or_a_single_query_or_nothing_has_no_p_value_below_1() -> None:
    found = np.zeros((30, 2))
    found[0, 1] = 0.1 + 0.2 - 0.3
    assert randomisation(found, resamples=100, seed=1).p.tolist() == [1.0, 1.0]
    one = randomisation(np.array([[0.5]]), resamples=100, seed=1)
    assert (one.statistic.tolist(), np.isnan(one.p).all()) == ([0.5], True)
    assert randomisation(np.empty((30, 0)), resamples=100, seed=1).p.tolist() == []


@pytest.mark.parametrize("resamples", [1, 1000, 5000, 20_001])
def test_p_values_are_the_same_with_any_number_of_threads(resamples: int) -> None:
    found = differences(5, 100, 8)
    p = [randomisation(found, resamples=resamples, seed=3, threads=threads).p.tolist() for threads in (1, 3, None)]
    assert p[0] == p[1] == p[2]


def test_p_values_of_the_same_seed_are_the_same_and_of_another_differ() -> None:
    found = differences(6, 50, 3, shift=0.02)
    first, again, other = (randomisation(found, resamples=10_000, seed=seed).p.tolist() for seed in (1, 1, 2))
    assert first == again
    assert all(one != another for one, another in zip(first, other, strict=True))


@pytest.mark.slow
def test_every_block_of_resamples_has_signs_of_its_own() -> None:
    # One block repeated ten times would leave an error of √10 of what it is to be; p here is near 1/2.
    found = differences(7, 100, 200, shift=0.0)
    few, many = (randomisation(found, resamples=resamples, seed=1).p for resamples in (5000, 200_000))
    apart = np.abs(few - many) / standard_error(many, 5000)
    assert 0.5 < np.sqrt(np.square(apart).mean()) < 1.5


def test_the_p_value_of_a_pair_does_not_depend_on_the_others() -> None:
    found = differences(8, 64, 700)
    p = randomisation(found, resamples=2000, seed=1).p
    assert p[650:652].tolist() == randomisation(found[:, 650:652], resamples=2000, seed=1).p.tolist()


def test_the_other_direction_has_the_same_p_value_and_differences_stay_as_they_are() -> None:
    found = differences(9, 40)
    before = found.copy()
    there, back = (randomisation(sign * found, resamples=5000, seed=1) for sign in (1, -1))
    assert (there.p.tolist(), there.statistic.tolist()) == (back.p.tolist(), (-back.statistic).tolist())
    assert np.array_equal(found, before)


def test_the_randomisation_test_rejects_five_of_a_hundred_true_null_hypotheses() -> None:
    rng = np.random.default_rng(11)
    shapes = rng.uniform(0.5, 3, (50, 1))
    one, other = rng.beta(shapes, 3, (2, 50, 2000))
    assert 0.035 <= (randomisation(one - other, resamples=999, seed=1).p <= 0.05).mean() <= 0.065


@pytest.mark.slow
def test_drawn_signs_of_tied_differences_come_near_the_exact_value() -> None:
    # Tenths, of which many sums are equal to the observed one; scipy counts all 2^18 of whole numbers.
    tenths = np.array([3, -1, 2, 0, 1, 1, -2, 4, 1, -1, 2, 1, 0, 3, -3, 1, 2, -1, 1, 2], dtype=float)
    p = exact(tenths[tenths != 0])
    drawn = randomisation((tenths / 10)[:, None], resamples=100_000, seed=5).p[0]
    assert abs(drawn - p) < 4 * standard_error(np.array(p), 100_000)
