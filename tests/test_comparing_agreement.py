"""Kendall's tau, AP correlation and rank-biased overlap, held to scipy, to papers' formulas in plain Python and to counts."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from refused import refusal
from syrupy.assertion import SnapshotAssertion

from treceval_py.comparing.agreement import (
    kendall_tau,
    overlap_of_runs,
    rbo,
    system_orders,
    tau_ap,
    tau_ap_b,
)
from treceval_py.comparing.comparison import Comparison
from treceval_py.comparing.outcome import Compared, Settings
from treceval_py.data.ranking import Ranking
from treceval_py.data.run import Run

stats = pytest.importorskip("scipy.stats")


def values_of(ranking: str, items: str = "ABCDEF") -> np.ndarray:
    """Return values that rank the items as the text does."""
    return np.array([-ranking.index(item) for item in items], dtype=float)


def plain_tau_ap(truth: list[str], tested: list[str]) -> Fraction:
    """Return AP correlation by its definition: equation 5 of Yilmaz, Aslam and Robertson, SIGIR 2008."""
    total = Fraction(0)
    for i in range(2, len(tested) + 1):
        item = tested[i - 1]
        correct = sum(truth.index(above) < truth.index(item) for above in tested[: i - 1])
        total += Fraction(correct, i - 1)
    return 2 * total / (len(tested) - 1) - 1


def orders_of(values: list[float]) -> list[list[int]]:
    """Return all orders of things by falling value, in which ties stand in any order."""
    groups = [[i for i, value in enumerate(values) if value == level] for level in sorted(set(values), reverse=True)]
    choices = itertools.product(*(itertools.permutations(group) for group in groups))
    return [[item for group in choice for item in group] for choice in choices]


def plain_rbo(a: list[str], b: list[str], p: float) -> float:
    """Return RBO_ext by equation 32 of Webber, Moffat and Zobel, TOIS 2010."""
    short, long = sorted((len(a), len(b)))
    shared = {d: len(set(a[:d]) & set(b[:d])) for d in range(long + 1)}
    total = sum(shared[d] / d * p**d for d in range(1, long + 1))
    total += sum(shared[short] * (d - short) / (short * d) * p**d for d in range(short + 1, long + 1))
    return (1 - p) / p * total + ((shared[long] - shared[short]) / long + shared[short] / short) * p**long


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ([0.1, 0.4, 0.2, 0.3], [1, 4, 2, 3], 1),
        ([0.1, 0.4, 0.2, 0.3], [-1, -4, -2, -3], -1),
        # Of 15 pairs AB and EF are turned round: (13 - 2) / 15.
        (values_of("ABCDEF"), values_of("BACDFE"), 11 / 15),
        # Pairs of (1, 2, 2, 3) and (1, 2, 3, 3): four agree, one is tied in each list only: 4 / sqrt(5 · 5).
        ([1, 2, 2, 3], [1, 2, 3, 3], 4 / 5),
    ],
)
def test_tau_counts_pairs_in_the_same_and_in_the_other_order(
    one: Sequence[float], other: Sequence[float], expected: float
) -> None:
    assert kendall_tau(np.array(one, dtype=float), np.array(other, dtype=float)) == pytest.approx(expected)


@pytest.mark.parametrize("size", [2, 3, 40])
def test_tau_is_that_of_scipy(size: int) -> None:
    generator = np.random.default_rng(size)
    one, other = generator.permutation(size) // 2 + np.arange(size) / 3, generator.random(size)
    assert kendall_tau(one, other) == stats.kendalltau(one, other).statistic


@pytest.mark.parametrize("function", [kendall_tau, tau_ap, tau_ap_b])
@pytest.mark.parametrize(("one", "other"), [([1, 1, 1], [1, 2, 3]), ([1, 2, 3], [1, 1, 1]), ([1], [2]), ([], [])])
def test_lists_without_an_order_have_no_coefficient(function, one: list[float], other: list[float]) -> None:
    assert math.isnan(function(np.array(one, dtype=float), np.array(other, dtype=float)))


@pytest.mark.parametrize(
    ("tested", "expected"),
    [
        ("ABCDEF", 1.0),
        ("FEDCBA", -1.0),
        ("BACDFE", 0.52),  # 2 / 5 · (0 + 1 + 1 + 1 + 4 / 5) - 1; trectools' tauap agrees on these three
        ("ABCDFE", 0.92),  # 2 / 5 · (1 + 1 + 1 + 1 + 4 / 5) - 1
        ("BACDEF", 0.60),  # 2 / 5 · (0 + 1 + 1 + 1 + 1) - 1
    ],
)
def test_ap_correlation_counts_what_is_rightly_above(tested: str, expected: float) -> None:
    assert tau_ap(values_of("ABCDEF"), values_of(tested)) == pytest.approx(expected, abs=1e-12)


def test_ap_correlation_is_not_symmetric_but_that_of_systems_is() -> None:
    # CAB of ABC: 2 / 2 · (0 / 1 + 1 / 2) - 1; ABC of CAB: 2 / 2 · (1 / 1 + 0 / 2) - 1.
    one, other = values_of("ABC", "ABC"), values_of("CAB", "ABC")
    assert (tau_ap(one, other), tau_ap(other, one)) == pytest.approx((-0.5, 0))
    found = system_orders(comparison(compared("map", [3.0, 2.0, 1.0]), compared("P.10", [2.0, 1.0, 3.0])))
    assert found.tau_ap[0, 1] == found.tau_ap[1, 0] == -0.25


@pytest.mark.parametrize("seed", range(20))
def test_ap_correlation_is_that_of_its_definition(seed: int) -> None:
    chance = random.Random(seed)
    items = "ABCDEFGHIJKL"[: chance.randint(2, 12)]
    tested = "".join(chance.sample(items, len(items)))
    expected = plain_tau_ap(list(items), list(tested))
    assert tau_ap(values_of(items, items), values_of(tested, items)) == pytest.approx(float(expected), abs=1e-12)


@pytest.mark.parametrize("seed", range(40))
def test_ap_correlation_of_ties_is_the_mean_over_their_orders(seed: int) -> None:
    chance = random.Random(seed)
    count = chance.randint(3, 6)
    truth = [float(chance.randint(0, 3)) for _ in range(count)]
    tested = [float(chance.randint(0, 2)) for _ in range(count)]
    if len(set(truth)) == 1 or len(set(tested)) == 1:
        truth[0], tested[0] = -1.0, -1.0
    every = [plain_tau_ap(one, other) for one in orders_of(truth) for other in orders_of(tested)]
    expected = sum(every, Fraction(0)) / len(every)
    assert tau_ap(np.array(truth), np.array(tested)) == pytest.approx(float(expected), abs=1e-12)


@pytest.mark.parametrize(
    ("one", "other", "p", "expected"),
    [
        *(("abcde", "abcde", p, 1) for p in (0.1, 0.5, 0.9, 0.98)),
        # p = 1/2, shared 1, 2, 2: 1/2 + 1/4 + 2/3/8 + (2 · 1) / (2 · 3) / 8 + (0 / 3 + 2 / 2) / 8
        ("abc", "ab", 0.5, 1),
        ("abc", "de", 0.9, 0),
        # shared 1, 1, 2: 1/2 + 1/2/4 + 2/3/8, and 2/3/8 for what follows
        ("abc", "adb", 0.5, 19 / 24),
        # lengths 2 and 3, shared 1, 1, 2: 1/2 + 1/2/4 + 2/3/8 + 1/(2 · 3)/8 + (1/3 + 1/2) / 8
        ("ac", "abc", 0.5, 1 / 2 + 1 / 8 + 1 / 12 + 1 / 48 + 5 / 48),
        ("", "", 0.9, math.nan),
    ],
)
def test_the_estimate_is_that_of_hand(one: str, other: str, p: float, expected: float) -> None:
    found = rbo(one, other, p)
    assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_the_estimate_is_that_of_the_package_rbo() -> None:
    # `rbo_ext` of the package rbo 0.1.3
    for p, expected in ((0.8, 0.724322), (0.9, 0.791275), (0.98, 0.843735)):
        assert rbo("abcdefg", "bacdgxe", p) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_the_estimate_of_uneven_lists_is_that_of_the_formula(seed: int) -> None:
    chance = random.Random(seed)
    one = chance.sample("abcdefghij", chance.randint(1, 10))
    other = chance.sample("abcdefghij", chance.randint(1, 10))
    expected = plain_rbo(one, other, 0.8)
    assert rbo(one, other, 0.8) == pytest.approx(expected, abs=1e-12)
    assert rbo(other, one, 0.8) == pytest.approx(expected, abs=1e-12)


def compared(measure: str, means: list[float]) -> Compared:
    values = np.array(means)
    return Compared(
        measure, None, ("1",), values[:, None], values, values, values, (0,), ("a",) * len(means), None, None, (), ()
    )


def comparison(*measures: Compared) -> Comparison:
    runs = tuple(f"run{number}" for number in range(len(measures[0].means)))
    return Comparison(runs, None, measures, Settings(), 1, runs)


def test_measures_are_compared_by_how_they_order_the_systems() -> None:
    # P orders the first two of six the other way round: tau 1 - 2 / 15; of MAP it is 0.60, and of P again 0.60.
    first = compared("map", [0.6, 0.5, 0.4, 0.3, 0.2, 0.1])
    second = compared("P.10", [0.5, 0.6, 0.4, 0.3, 0.2, 0.1])
    found = system_orders(comparison(first, second))
    assert found.names == ("map", "P.10")
    np.testing.assert_allclose(found.tau, [[1, 13 / 15], [13 / 15, 1]])
    np.testing.assert_allclose(found.tau_ap, [[1, 0.6], [0.6, 1]])


def run_of(**queries: str) -> Run:
    """Return a run that ranks documents of one letter as the text does."""
    return Run({qid: {docid: float(-rank) for rank, docid in enumerate(text)} for qid, text in queries.items()})


def overlap(*runs: Run, **options: Any) -> Any:
    return overlap_of_runs(runs, names=["one", "other", "third"][: len(runs)], **options)


def test_a_run_agrees_with_itself() -> None:
    found = overlap(run_of(q1="abc"), run_of(q1="abc"))
    assert found.names == ("one", "other")
    for matrix in (found.rbo, found.tau, found.shared):
        np.testing.assert_allclose(matrix, np.ones((2, 2)), atol=1e-12)


@pytest.mark.parametrize(
    ("one", "other", "options", "tau", "shared"),
    [
        # Both have a, b, d: in the orders a b d and b a d, one of three pairs is turned round: 1 - 2 / 3.
        ("abcd", "bxad", {}, 1 / 3, 3 / 4),
        ("abcd", "ab", {}, 1, 1 / 2),  # of the longer list
        ("abcd", "axcd", {}, 1, 3 / 4),
        ("abcd", "axcd", {"depth": 2}, math.nan, 1 / 2),
        ("abcd", "axcd", {"ranking": Ranking(depth=2)}, math.nan, 1 / 2),
        ("ab", "ac", {"depth": 1}, math.nan, 1),
    ],
)
def test_lists_are_compared_to_a_depth(
    one: str, other: str, options: dict[str, Any], tau: float, shared: float
) -> None:
    found = overlap(run_of(q1=one), run_of(q1=other), **options)
    assert found.tau[0, 1] == pytest.approx(tau, nan_ok=True)
    assert found.shared[0, 1] == found.shared[1, 0] == pytest.approx(shared)


def test_queries_with_fewer_than_two_documents_in_both_lists_have_no_tau_and_those_of_one_run_do_not_count() -> None:
    runs = run_of(q1="ab", q2="ab"), run_of(q1="ba", q2="ax")
    found = overlap(*runs)
    assert found.tau[0, 1] == -1
    assert found.shared[0, 1] == pytest.approx((1 + 1 / 2) / 2)
    assert math.isnan(overlap(*runs, qids=["q2"]).tau[0, 1])
    found = overlap(run_of(q1="ab", q2="ab"), run_of(q1="ab", q2="ba", q3="a"), run_of(q1="ab", q4="ab"))
    assert found.queries == 1
    np.testing.assert_allclose(found.tau, np.ones((3, 3)))


def test_ties_are_ordered_by_the_rules() -> None:
    runs = Run({"q1": {"a": 1.0, "b": 1.0}}), run_of(q1="ab")
    assert overlap(*runs).tau[0, 1] == -1  # the larger id first
    assert overlap(*runs, ranking=Ranking(ties="docid-asc")).tau[0, 1] == 1


REFUSED: dict[str, Callable[[], object]] = {
    "two systems": lambda: system_orders(comparison(compared("map", [0.2, 0.1]))),
    "no query in common": lambda: overlap(run_of(q1="ab"), run_of(q2="ab")),
    "depth 0": lambda: overlap(run_of(q1="ab"), run_of(q1="ab"), depth=0),
}


def test_what_does_not_agree_or_disagree_is_refused(snapshot: SnapshotAssertion) -> None:
    assert {case: refusal(call) for case, call in REFUSED.items()} == snapshot


@pytest.mark.parametrize("depth", [3, 7, None])
def test_the_overlap_of_runs_is_the_mean_of_its_queries(
    depth: int | None,
) -> None:
    chance = random.Random(7)
    lists = [
        {f"q{query}": chance.sample("abcdefghijkl", chance.randint(1, 12)) for query in range(15)} for _ in range(4)
    ]
    runs = [
        Run({qid: {docid: 1 / rank for rank, docid in enumerate(found, 1)} for qid, found in run.items()})
        for run in lists
    ]
    found = overlap_of_runs(runs, names="wxyz", depth=depth, p=0.8)
    assert found.queries == 15
    for first, second in itertools.combinations(range(4), 2):
        overlaps, taus, shares = [], [], []
        for qid in lists[0]:
            one, other = lists[first][qid][:depth], lists[second][qid][:depth]
            both = [docid for docid in one if docid in other]
            overlaps.append(plain_rbo(one, other, 0.8))
            shares.append(len(both) / max(len(one), len(other)))
            if len(both) > 1:
                tau = stats.kendalltau([one.index(docid) for docid in both], [other.index(docid) for docid in both])
                taus.append(tau.statistic)
        for matrix, expected in ((found.rbo, overlaps), (found.tau, taus), (found.shared, shares)):
            assert matrix[first, second] == pytest.approx(np.mean(expected), abs=1e-12)
            assert matrix[second, first] == matrix[first, second]


# The example of R's package ircor (its README): ten values, as they are and rounded to fifths, which makes ties.
X = np.array([0.06, 0.2, 0.27, 0.37, 0.57, 0.63, 0.66, 0.9, 0.91, 0.94])
Y = np.array([0.37, 0.06, 0.2, 0.27, 0.57, 0.66, 0.63, 0.91, 0.9, 0.94])


def test_coefficients_are_those_of_ircor() -> None:
    assert kendall_tau(X, Y) == pytest.approx(0.7777778, abs=5e-8)
    assert tau_ap(X, Y) == pytest.approx(0.7491182, abs=5e-8)
    assert tau_ap(X, np.round(5 * Y) / 5) == pytest.approx(0.6074515, abs=5e-8)  # tauAP_a
    assert kendall_tau(np.round(5 * X) / 5, np.round(5 * Y) / 5) == pytest.approx(0.75, abs=5e-8)
    assert tau_ap_b(np.round(5 * X) / 5, np.round(5 * Y) / 5) == pytest.approx(0.6269841, abs=5e-8)  # tauAP_b


def test_tau_ap_b_is_symmetric_and_one_for_equal_orders_with_ties() -> None:
    tied = np.array([3.0, 3.0, 2.0, 1.0, 1.0])
    assert tau_ap_b(tied, tied) == 1
    assert tau_ap_b(tied, -tied) == -1
    assert tau_ap_b(X, Y) == tau_ap_b(Y, X) == pytest.approx((tau_ap(X, Y) + tau_ap(Y, X)) / 2)


def test_lists_have_the_ap_correlation_of_the_documents_in_both() -> None:
    chance = random.Random(4)
    one: dict[str, dict[str, float]] = {}
    two: dict[str, dict[str, float]] = {}
    expected = []
    for qid in ("1", "2", "3"):
        lists = [chance.sample("abcdefghijklmnop", 10) for _ in range(2)]
        one[qid], two[qid] = ({docid: -float(place) for place, docid in enumerate(docids)} for docids in lists)
        first, second = ([docid for docid in lists[at] if docid in lists[1 - at]] for at in (0, 1))
        expected.append((plain_tau_ap(first, second) + plain_tau_ap(second, first)) / 2)
    found = overlap_of_runs([Run(one), Run(two)], names=["one", "two"])
    assert found.tau_ap[0, 1] == found.tau_ap[1, 0] == pytest.approx(float(sum(expected) / 3))


def test_orders_of_systems_have_a_rank_biased_overlap() -> None:
    first = compared("map", [0.3, 0.2, 0.1])
    second = compared("P.10", [0.2, 0.3, 0.1])
    # run0 run1 run2 against run1 run0 run2: shares 0, 1, 1 at depths 1 to 3, and 1 from there on
    found = system_orders(comparison(first, second))
    assert found.rbo[0, 1] == pytest.approx((1 - 0.9) / 0.9 * (0 + 2 * 0.9**2 / 2 + 3 * 0.9**3 / 3) + 0.9**3)
