"""The test of all pairs of runs: held to a bootstrap written out, to scipy's t statistics, and to simulated nulls.

Tests of real values need the eight runs of the TREC 2003 robust track, which are not part of this project: they run where
the folder ``../shared/data`` is.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from shared import ROBUST, skip_without_shared
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py.comparing.show.sentences import finding
from treceval_py.comparing.show.tables import mark_of
from treceval_py.comparing.simultaneous import simultaneous, simultaneous_each
from treceval_py.comparing.variance import letters

stats = pytest.importorskip("scipy.stats")

MEASURES = ["map", "ndcg_cut.10", "recip_rank", "P.10"]
DATA = Path(__file__).parent.parent / "data"


@pytest.fixture(scope="module")
def robust() -> list[te.Results]:
    skip_without_shared()
    qrels = te.read_qrels(ROBUST / "qrels.txt.gz")
    return [te.evaluate(qrels, path, MEASURES) for path in sorted(ROBUST.glob("input.*.gz"))]


def simulated(runs: int, queries: int, *, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    skewed = generator.exponential(1.0, (runs, queries)) ** 1.5 * 0.1
    return generator.normal(0.4, 0.2, queries) + skewed + 0.05 * np.arange(runs)[:, None]


def test_t_and_standard_errors_are_those_of_scipy() -> None:
    values = simulated(4, 30, seed=1)
    found = simultaneous(values, resamples=99, seed=1)
    for one, other in itertools.permutations(range(4), 2):
        expected = stats.ttest_rel(values[one], values[other])
        assert found.t[one, other] == pytest.approx(expected.statistic, rel=1e-12)
        assert found.error[one, other] == pytest.approx(stats.sem(values[one] - values[other]), rel=1e-12)


def test_the_largest_t_are_those_of_a_bootstrap_written_out() -> None:
    values = simulated(4, 40, seed=2)
    found = simultaneous(values, resamples=50, seed=7)
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy=7, spawn_key=(0,))))
    expected = []
    for queries in generator.integers(0, 40, size=(50, 40)):
        sizes = []
        for one, other in itertools.combinations(range(4), 2):
            d = values[one] - values[other]
            whole = np.var(d, ddof=1)
            variance = max((1 - 2 / 40) * np.var(d[queries], ddof=1) + 2 / 40 * whole, whole / 4)
            sizes.append(abs(d[queries].mean() - d.mean()) / math.sqrt(variance / 40))
        expected.append(max(sizes))
    np.testing.assert_allclose(found.largest, sorted(expected), rtol=1e-9)


def test_measures_tested_together_have_the_values_that_each_has_alone() -> None:
    columns = [simulated(3, 40, seed=1), simulated(3, 7, seed=2), simulated(3, 40, seed=3), simulated(3, 1, seed=4)]
    together = simultaneous_each(columns, resamples=99, seed=5)
    for values, tested in zip(columns, together, strict=True):
        alone = simultaneous(values, resamples=99, seed=5)
        np.testing.assert_array_equal(tested.largest, alone.largest)
        np.testing.assert_array_equal(tested.p, alone.p)


def test_p_values_count_the_resamples_that_reach_t() -> None:
    values = simulated(4, 40, seed=1)
    found = simultaneous(values, resamples=199, seed=1)
    for one, other in itertools.combinations(range(4), 2):
        reach = sum(largest >= abs(found.t[one, other]) for largest in found.largest.tolist())
        assert found.p[one, other] == found.p[other, one] == (reach + 1) / 200
    few = found._replace(largest=np.array([1.0, 2.0, 3.0, 4.0]))
    assert [few.critical(alpha) for alpha in (0.1, 0.2, 0.4, 0.79, 0.8, 0.99, 1.0)] == [np.inf, 4, 3, 2, 1, 1, 0]


@hypothesis.settings(deadline=None, max_examples=30)
@hypothesis.given(
    values=arrays(
        np.float64,
        st.tuples(st.integers(2, 5), st.integers(2, 30)),
        elements=st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 0.5, 1.0]),
    ),
    alpha=st.sampled_from([0.01, 0.05, 0.1, 0.32]),
)
def test_p_values_intervals_marks_and_letters_agree_in_each_pair(values: np.ndarray, alpha: float) -> None:
    found = simultaneous(values, resamples=199, seed=1)
    names = letters(values.mean(axis=1), found.p <= alpha)
    critical = found.critical(alpha)
    for one, other in itertools.combinations(range(len(values)), 2):
        apart = bool(found.p[one, other] <= alpha)
        assert apart == (abs(found.t[one, other]) > critical)
        assert apart == (not set(names[one]) & set(names[other]))
        assert found.p[one, other] == found.p[other, one]
        reach = critical * found.error[one, other] if found.error[one, other] else 0.0
        mean = (values[one] - values[other]).mean()
        if abs(abs(mean) - reach) > 1e-12:
            assert apart == (abs(mean) > reach)


def test_no_p_value_is_below_that_of_bonferroni_where_queries_are_few() -> None:
    values = simulated(5, 12, seed=4)
    found = simultaneous(values, resamples=9999, seed=1)
    for one, other in itertools.combinations(range(5), 2):
        assert found.p[one, other] > min(1.0, 10 * stats.ttest_rel(values[one], values[other]).pvalue) - 2e-4


@pytest.mark.parametrize(
    ("values", "t", "p"),
    [
        ([[0.1, 0.2, 0.3], [0.1, 0.2, 0.3]], 0.0, 1.0),
        ([[0.1, 0.2, 0.3], [0.2, 0.3, 0.4]], -np.inf, 0.0),
        ([[0.1], [0.2]], np.nan, np.nan),
    ],
)
def test_differences_that_do_not_vary(values: list[list[float]], t: float, p: float) -> None:
    found = simultaneous(np.array(values), resamples=99, seed=1)
    np.testing.assert_equal((found.t[0, 1], found.p[0, 1]), (t, p))
    np.testing.assert_equal(found.error[0, 1], np.nan if np.isnan(t) else 0.0)


def test_a_copy_that_differs_in_few_queries_does_not_widen_all_intervals() -> None:
    values = simulated(6, 100, seed=5)
    copy = values[0].copy()
    copy[:3] += [0.3, 0.2, 0.25]
    alone = simultaneous(values, resamples=2000, seed=1).critical(0.05)
    beside = simultaneous(np.vstack([values, copy]), resamples=2000, seed=1).critical(0.05)
    assert alone < beside < 1.5 * alone


def test_the_same_with_any_number_of_threads_and_another_seed_is_another_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treceval_py.comparing.simultaneous.NUMBERS", 40 * 100)  # 100 resamples in a block
    values = simulated(5, 40, seed=6)
    one = simultaneous(values, resamples=950, seed=1, threads=1)
    assert len(set(one.largest.tolist())) == 950
    assert np.array_equal(one.largest, simultaneous(values, resamples=950, seed=1, threads=3).largest)
    assert not np.array_equal(one.largest, simultaneous(values, resamples=950, seed=2).largest)


def compared(ranks: dict[str, list[int]]) -> te.comparing.Comparison:
    qrels = {str(number): {"a": 1} for number in range(len(next(iter(ranks.values()))))}
    runs = {
        name: {str(number): {"x" * (at + 1): 9.0 - at for at in range(int(rank) - 1)} | {"a": 0.0}
               for number, rank in enumerate(places)}
        for name, places in ranks.items()
    }  # fmt: skip
    return te.compare(qrels, runs, "RR")


def test_the_finding_names_the_best_and_which_runs_do_not_differ(snapshot: SnapshotAssertion) -> None:
    generator = np.random.default_rng(1)
    good, fair = (np.where(generator.random(40) < share, 1, 2).tolist() for share in (0.9, 0.85))
    ranks, bad = [1, 2] * 15, [9] * 29 + [8]
    cases = {
        "one and a similar one": {"good": good, "fair": fair, "poor": [5] * 39 + [4], "bad": [9] * 39 + [8]},
        "ties for the best": {"one": ranks, "two": ranks, "bad": bad},
        "two runs": {"one": ranks, "bad": bad},
        "three equal runs": {"one": ranks, "two": ranks, "three": ranks},
        "two equal runs": {"one": ranks, "two": ranks},
    }
    said = {
        case: finding(found, found["RR"]) for case, found in ((case, compared(runs)) for case, runs in cases.items())
    }
    assert said == snapshot
    assert f"good has the highest MRR, {np.mean(1 / np.array(good)):.4f}." in said["one and a similar one"]
    assert "0.7500 against 0.1116" in said["two runs"][0]  # (1 + 1/2) / 2 and (29/9 + 1/8) / 30


BOTH_APART = "It is significantly better than the other two"


@pytest.mark.parametrize(
    ("test", "baseline", "said"),
    [
        ("simultaneous", "bm25", "It is significantly better than jaccard, but not than bm25"),
        ("t", "bm25", "It is significantly better than bm25"),
        ("wilcoxon", "bm25", "It is not significantly better than bm25"),
        ("t", "jaccard", "It is significantly better than jaccard"),
        ("t", "minilm", BOTH_APART),
        ("wilcoxon", None, "It is significantly better than jaccard, but not than bm25"),
    ],
)
def test_the_finding_follows_the_test_that_marks(test: str, baseline: str | None, said: str) -> None:
    runs = [str(DATA / "runs" / f"{name}.txt") for name in ("bm25", "jaccard", "minilm")]
    how = {"pairs": True} if baseline is None else {"baseline": baseline}
    found = te.compare(str(DATA / "qrels.tsv"), runs, "R@50", test=test, **how)
    assert found.runs[2] == "minilm"
    assert finding(found, found["R@50"])[1].partition(" (")[0] == said
    better = said.partition(", but")[0] if " not significantly" not in said else ""
    for pair in found["R@50"].differences:
        if 2 in (pair.run, pair.other):
            name = found.runs[pair.run + pair.other - 2]
            assert bool(mark_of(found, pair)) == (better == BOTH_APART or name in better)


@pytest.mark.slow
def test_no_mark_contradicts_the_letters_nor_an_interval_whatever_the_baseline(robust: list[te.Results]) -> None:
    everything = te.compare(robust, pairs=True)
    seen = 0
    for baseline in range(len(robust)):
        found = te.compare(robust, baseline=baseline)
        for compared_, all_pairs in zip(found.measures, everything.measures, strict=True):
            assert compared_.letters == all_pairs.letters
            for each in compared_.differences:
                marked = each.tests["simultaneous"].adjusted <= 0.05
                share = set(compared_.letters[each.run]) & set(compared_.letters[each.other])
                assert marked == (not share) == (each.low > 0 or each.high < 0)
                seen += marked
    assert seen == 2 * sum(
        each.tests["simultaneous"].p <= 0.05 for measure in everything.measures for each in measure.differences
    )


@pytest.mark.slow
@pytest.mark.parametrize("queries", [30, 100])
def test_the_level_is_kept_on_centred_values_of_real_runs(robust: list[te.Results], queries: int) -> None:
    shares = []
    for measure in te.compare(robust, test="t").measures:
        centred = measure.values - measure.means[:, None]
        generator = np.random.default_rng(queries)
        errors = 0
        for seed in range(500):
            values = centred[:, generator.integers(0, 100, queries)]
            found = simultaneous(values, resamples=399, seed=seed, threads=1)
            errors += bool((found.p <= 0.05)[np.triu_indices(8, 1)].any())
        shares.append(errors / 500)
    # 2,000 families in all: the standard error of 0.05 is 0.005.
    assert 0.035 < np.mean(shares) < 0.065
