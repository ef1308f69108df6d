"""The gate: its tests, its power and its levels against scipy, statsmodels and simulation, and what the command says."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import Done, treceval
from scipy import stats
from shared import ROBUST, skip_without_shared
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py.comparing.scores import Aligned
from treceval_py.gating.gating import CANNOT_TELL, PASS, STATUS, WORSE, Decision, GateSettings, Margin, Verdict, decide
from treceval_py.gating.show import finding

RNG = np.random.default_rng(4)
OLD = RNG.uniform(0.2, 0.8, 40)
NEW = OLD + RNG.normal(-0.02, 0.08, 40)
NOTHING = math.nan
CENT = Margin(0.01)


def column(baseline: Any, candidate: Any, name: str = "map") -> Aligned:
    values = np.array([baseline, candidate], dtype=np.float64)
    return Aligned(name, tuple(map(str, range(values.shape[1]))), values, None, ())


def decided(
    baseline: Any = OLD,
    candidate: Any = NEW,
    margin: Margin | None = CENT,
    floor: float = NOTHING,
    **settings: Any,
) -> Decision:
    (found,) = decide([column(baseline, candidate)], [margin], [floor], GateSettings(**settings))
    return found


# Tests, limits and power --------------------------------------------------------------------------


@pytest.mark.parametrize("margin", [0.0, 0.01, 0.05])
def test_p_values_are_those_of_one_sided_t_tests(margin: float) -> None:
    found = decided(margin=Margin(margin))
    passing = stats.ttest_1samp(NEW - OLD, -margin, alternative="greater")
    assert found.p == pytest.approx(passing.pvalue, rel=1e-12)
    assert found.p_worse == pytest.approx(stats.ttest_1samp(NEW - OLD, -margin, alternative="less").pvalue, rel=1e-12)
    assert found.low == pytest.approx(passing.confidence_interval(0.95).low, rel=1e-12)


def test_a_relative_margin_does_not_take_the_mean_of_the_baseline_for_exact() -> None:
    found = decided(margin=Margin(0.05, relative=True))
    passing = stats.ttest_1samp(NEW - 0.95 * OLD, 0, alternative="greater")
    assert found.p == pytest.approx(passing.pvalue, rel=1e-12)
    assert found.allowed == pytest.approx(0.05 * OLD.mean())
    assert (found.low > -found.allowed) == (found.p < 0.05)


@pytest.mark.parametrize("margin", [0.01, 0.05])
def test_power_is_that_of_statsmodels(margin: float) -> None:
    power = pytest.importorskip("statsmodels.stats.power").TTestPower()
    found, deviation = decided(margin=Margin(margin)), (NEW - OLD).std(ddof=1)
    expected = power.power(margin / deviation, 40, 0.05, alternative="larger")
    assert found.power == pytest.approx(expected, rel=1e-9)
    needed = power.solve_power(margin / deviation, None, 0.05, 0.8, alternative="larger")
    assert found.needed == math.ceil(needed)
    drop = power.power((found.drop - margin) / deviation, 40, 0.05, alternative="larger")
    assert drop == pytest.approx(0.8, rel=1e-9)


def test_a_drop_is_found_with_its_power_among_thousands_of_queries() -> None:
    old = RNG.uniform(0.2, 0.8, 7000)
    new = old + RNG.normal(-0.02, 0.08, 7000)
    found = decided(old, new, alpha=0.01, power=0.95)
    # of so many queries the normal distribution's quantiles
    reach = (stats.norm.isf(0.01) + stats.norm.ppf(0.95)) / 7000**0.5
    assert (found.drop - 0.01) / (new - old).std(ddof=1) == pytest.approx(reach, rel=1e-3)


def test_a_drop_is_found_with_its_power_after_the_correction() -> None:
    power = pytest.importorskip("statsmodels.stats.power").TTestPower()
    columns = [column(OLD, NEW, name) for name in ("map", "P_10", "recip_rank")]
    found = decide(columns, [Margin(0.01)] * 3, [NOTHING] * 3, GateSettings(power=0.9))
    effect = (found[0].drop - 0.01) / (NEW - OLD).std(ddof=1)
    assert power.power(effect, 40, 0.05 / 3, alternative="larger") == pytest.approx(0.9, rel=1e-9)


def test_of_p_values_for_worse_those_of_several_measures_are_corrected() -> None:
    multipletests = pytest.importorskip("statsmodels.stats.multitest").multipletests
    shifts = (0.0, -0.01, -0.03, -0.05)
    columns = [column(OLD, NEW + shift, str(shift)) for shift in shifts]
    found = decide(columns, [Margin(0.01)] * 4, [NOTHING] * 4, GateSettings())
    raw = [stats.ttest_1samp(NEW + shift - OLD, -0.01, alternative="less").pvalue for shift in shifts]
    assert [each.p_worse for each in found] == pytest.approx(multipletests(raw, method="holm")[1], rel=1e-10)
    assert [each.p for each in found] == pytest.approx([1 - p for p in raw], rel=1e-9)  # not corrected: all must pass


def test_the_outcome_is_worse_if_any_measure_is_and_pass_if_all_do() -> None:
    same, lower, unclear = (OLD, OLD), (OLD, OLD - 0.3 + 0.01 * RNG.normal(size=40)), (OLD, NEW)
    qids = [str(number) for number in range(40)]
    for pairs, outcome in (
        ((same, same), PASS),
        ((same, unclear), CANNOT_TELL),
        ((same, unclear, lower), WORSE),
    ):
        found = decide(
            [Aligned(str(n), tuple(qids), np.array(pair), None, ()) for n, pair in enumerate(pairs)],
            [Margin(0.01)] * len(pairs),
            [NOTHING] * len(pairs),
            GateSettings(),
        )
        assert found[len(pairs) - 1].outcome == outcome


@pytest.mark.parametrize("margin", [0.0, 0.01])
def test_a_candidate_with_the_same_values_passes_whatever_the_margin(margin: float) -> None:
    found = decided(OLD, OLD + 1e-15, Margin(margin))
    assert (found.outcome, found.p, found.p_worse) == (PASS, 0.0, 1.0)


def test_a_candidate_that_is_lower_by_the_same_everywhere_is_worse() -> None:
    assert decided(OLD, OLD - 0.011).outcome == WORSE
    assert decided(OLD, OLD - 0.009).outcome == PASS


def test_with_a_margin_of_0_only_what_is_shown_to_be_better_passes() -> None:
    assert decided(OLD, OLD + abs(NEW - OLD), Margin(0.0)).outcome == PASS
    found = decided(OLD, NEW, Margin(0.0))
    assert (found.outcome, found.needed) == (CANNOT_TELL, math.inf)
    assert found.power == pytest.approx(0.05)


def test_one_query_tells_nothing() -> None:
    found = decided([0.5], [0.1])
    assert found.outcome == CANNOT_TELL
    assert math.isnan(found.p)
    two = stats.ttest_1samp([-0.1, -0.05], -0.01, alternative="greater")
    assert decided([0.5, 0.6], [0.4, 0.55]).p == pytest.approx(two.pvalue, rel=1e-9)


def test_a_floor_is_compared_without_a_test() -> None:
    mean = NEW.mean()
    assert decided(margin=None, floor=mean - 0.001).outcome == PASS
    assert decided(margin=None, floor=mean).outcome == PASS
    assert decided(margin=None, floor=mean + 0.001).outcome == WORSE
    assert decided(OLD, OLD, floor=1.0).outcome == WORSE  # which the margin would let pass


# Levels and power by simulation, on real values ------------------------------------------------------


@pytest.fixture(scope="module")
def robust() -> np.ndarray:
    """Values of 8 runs, 4 measures and 100 queries of TREC's Robust track of 2003."""
    skip_without_shared()
    scoring = te.Scoring(["map", "ndcg_cut.10", "recip_rank", "P.10"], complete=True)
    evaluator = te.Evaluator(te.read_qrels(ROBUST / "qrels.txt.gz"), scoring)
    return np.array([evaluator.scored(file).matrix.T for file in sorted(ROBUST.glob("input.*.gz"))])


def verdicts(pairs: list[np.ndarray], margin: float) -> list[tuple[Decision, ...]]:
    """Decide about pairs (2, M, Q)."""
    return [
        decide(
            [column(*pair[:, measure], str(measure)) for measure in range(pair.shape[1])],
            [Margin(margin)] * pair.shape[1],
            [NOTHING] * pair.shape[1],
            GateSettings(),
        )
        for pair in pairs
    ]


DRAWS = 1000

MOST = stats.binom.ppf(0.999, DRAWS, 0.05) / DRAWS
"""What a share of 5 % of the draws exceeds by chance in one of 1,000 cases: 7.2 %."""


def resampled(robust: np.ndarray, queries: int, rng: np.random.Generator) -> np.ndarray:
    """Return two runs (2, M, Q) over queries that are drawn with replacement."""
    first, second = rng.choice(len(robust), 2, replace=False)
    return robust[[first, second]][:, :, rng.integers(robust.shape[2], size=queries)]


@pytest.mark.slow
@pytest.mark.parametrize("queries", [30, 100])
def test_of_equal_pairs_few_are_called_worse(robust: np.ndarray, queries: int) -> None:
    # Each value of both is that of one of two runs, by the toss of a coin: neither can be better. With a margin of 0
    # this is the hardest case.
    rng = np.random.default_rng(queries)
    pairs = []
    for _ in range(DRAWS):
        pair = resampled(robust, queries, rng)
        mixed = [np.where(rng.random(queries) < 0.5, pair[0], pair[1]) for _ in range(2)]
        pairs.append(np.array(mixed))
    alarms = sum(any(each.outcome == WORSE for each in found) for found in verdicts(pairs, 0.0))
    assert 0 < alarms / DRAWS <= MOST


@pytest.mark.slow
@pytest.mark.parametrize("queries", [30])
def test_of_pairs_that_differ_by_the_margin_few_pass_and_few_are_called_worse(robust: np.ndarray, queries: int) -> None:
    rng = np.random.default_rng(queries)
    pairs = []
    for _ in range(DRAWS):
        first, second = rng.choice(len(robust), 2, replace=False)
        differences = robust[second] - robust[first]
        differences = differences - differences.mean(axis=1, keepdims=True) - 0.02
        drawn = rng.integers(robust.shape[2], size=queries)
        pairs.append(np.array([robust[first][:, drawn], (robust[first] + differences)[:, drawn]]))
    found = verdicts(pairs, 0.02)
    for measure in range(4):
        assert sum(each[measure].outcome == PASS for each in found) / DRAWS <= MOST
    assert sum(any(each.outcome == WORSE for each in every) for every in found) / DRAWS <= MOST
    assert sum(all(each.outcome == PASS for each in every) for every in found) / DRAWS < 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("queries", "margin"), [(50, 0.03), (100, 0.03)])
def test_equal_runs_pass_as_often_as_the_power_says(robust: np.ndarray, queries: int, margin: float) -> None:
    rng = np.random.default_rng(queries)
    pairs = []
    for _ in range(DRAWS):
        first, second = rng.choice(len(robust), 2, replace=False)
        differences = robust[second, :1] - robust[first, :1]  # of AP
        drawn = rng.integers(robust.shape[2], size=queries)
        centred = (differences - differences.mean())[:, drawn]
        pairs.append(np.array([robust[first, :1][:, drawn], robust[first, :1][:, drawn] + centred]))
    found = [each for (each,) in verdicts(pairs, margin)]
    passed = np.mean([each.outcome == PASS for each in found])
    assert np.mean([each.power for each in found]) == pytest.approx(passed, abs=3 * math.sqrt(0.25 / DRAWS))


@pytest.mark.slow
def test_a_drop_is_found_as_often_as_is_said() -> None:
    rng = np.random.default_rng(9)
    (typical,) = verdicts([np.array([np.zeros((1, 50)), rng.normal(0, 0.1, (1, 50))])], 0.01)[0]
    deviation = 0.1
    drop = 0.01 + (typical.drop - 0.01) * deviation / typical_deviation(typical)
    pairs = [np.array([np.zeros((1, 50)), rng.normal(-drop, deviation, (1, 50))]) for _ in range(DRAWS)]
    found = np.mean([each.outcome == WORSE for (each,) in verdicts(pairs, 0.01)])
    assert found == pytest.approx(0.8, abs=3 * math.sqrt(0.16 / DRAWS))


def typical_deviation(found: Decision) -> float:
    """Return the standard deviation of the differences, from the lower limit."""
    return (found.difference - found.low) / stats.t.ppf(0.95, found.queries - 1) * math.sqrt(found.queries)


# From Python -----------------------------------------------------------------------------------------

QRELS = {str(query): {"a": 1} for query in range(20)}


def ranks(*order: int) -> dict[str, dict[str, float]]:
    """Return a run with the relevant document at these ranks, over and over."""
    return {
        qid: {**{f"x{rank}": -float(rank) for rank in range(1, order[int(qid) % len(order)])}, "a": -99.0}
        for qid in QRELS
    }


def test_a_verdict_is_looked_up_by_measure_and_prints() -> None:
    found = te.gating.gate(QRELS, ranks(1, 2), ranks(1, 2), ["RR", "P@5"])
    assert (found.outcome, found.status, found.passed) == (PASS, 0, True)
    assert found["recip_rank"].baseline == found["RR"].candidate == 0.75
    assert str(found).startswith("Pass: run 2 is not lower than run 1 by more than 0.01 in MRR and P@5 ")


@pytest.mark.parametrize(("candidate", "outcome"), [((3, 4), WORSE), ((2, 1), CANNOT_TELL), ((1, 2), PASS)])
def test_one_measure_is_enough_to_be_worse_and_all_must_pass(candidate: tuple[int, int], outcome: str) -> None:
    found = te.gating.gate(QRELS, ranks(1, 2), ranks(*candidate), ["P@5", "RR", "Success@5"])
    assert [each.outcome for each in found.decisions] == [PASS, outcome, PASS]
    assert found.outcome == outcome


def test_margins_and_floors_name_the_measures_that_are_compared() -> None:
    found = te.gating.gate(QRELS, ranks(1), ranks(1), margin={"RR": 0.1, "P@5": "5%"}, floors={"nDCG@10": 0.9})
    assert [(each.measure, str(each.margin)) for each in found.decisions] == [
        ("RR", "0.1"), ("P@5", "5 %"), ("nDCG@10", "None"),
    ]  # fmt: skip
    assert math.isnan(found["RR"].floor)
    assert found["nDCG@10"].floor == 0.9
    both = te.gating.gate(QRELS, ranks(1), ranks(1), "recip_rank", margin=0.2, floors={"RR": 0.5})["RR"]
    assert (both.margin, both.floor) == (Margin(0.2), 0.5)


def test_a_query_that_the_candidate_lacks_is_an_empty_ranking_and_is_said() -> None:
    lacking = {qid: row for qid, row in ranks(1).items() if qid not in ("3", "7")}
    found = te.gating.gate(QRELS, ranks(1), lacking, "RR")
    assert (found["RR"].queries, found["RR"].candidate) == (20, 0.9)
    assert found.notes == ("the candidate lacks 2 judged queries (3, 7), which count as empty rankings.",)


@pytest.mark.filterwarnings("ignore::treceval_py.errors.MissingQueriesWarning")
def test_saved_results_of_other_queries_are_refused() -> None:
    lacking = {qid: row for qid, row in ranks(1).items() if qid not in ("3", "7")}
    results = [te.evaluate(QRELS, run, "RR") for run in (ranks(1), lacking)]
    with pytest.raises(te.errors.EvaluationError, match="2 queries have a value of RR in run 1 or in run 2 only"):
        te.gating.gate(QRELS, ranks(1), lacking, "RR", complete=False)
    with pytest.raises(te.errors.EvaluationError) as caught:
        te.gating.gate(None, *results)
    assert str(caught.value) == (
        "2 queries have a value of RR in run 1 or in run 2 only (3, 7). Score both over all judged queries (-c), or "
        "choose another measure."
    )


LIMITS: dict[str, tuple[str, object, object]] = {
    "below 0": ("margin", -0.1, 0),
    "all of the mean": ("margin", "100%", "99.9%"),
    "a share below 0": ("margin", "-1%", "0%"),
    "a word": ("margin", "much", " 5 % "),
    "not a number": ("margin", math.nan, Margin(0.5)),
    "true": ("margin", True, 1),
    "a huge number": ("margin", 10**400, 10**100),
    "a word for a floor": ("floors", {"RR": "high"}, {"RR": "0.5"}),
    "a list of floors": ("floors", [0.2], {}),
    "a level of 1/2": ("alpha", 0.5, 0.499),
    "a level of 0": ("alpha", 0, 0.001),
    "a power of 1": ("power", 1, 0.999),
    "a power of 0": ("power", 0, 0.001),
}
"""Options with a value that is refused, and one that is just taken."""


def test_options_out_of_range_are_refused(snapshot: SnapshotAssertion) -> None:
    said = {}
    for name, (option, refused, taken) in LIMITS.items():
        with pytest.raises(te.errors.MeasureError) as caught:
            te.gating.gate(QRELS, ranks(1), ranks(1), "RR", **{option: refused})  # type: ignore[arg-type]
        said[name] = str(caught.value)
        assert te.gating.gate(QRELS, ranks(1), ranks(1), "RR", **{option: taken}).passed  # type: ignore[arg-type]
    assert said == snapshot


# What is said ----------------------------------------------------------------------------------------


def test_a_margin_of_a_measure_with_large_values_is_questioned() -> None:
    found = te.gating.gate(QRELS, ranks(1), ranks(1), ["num_ret", "RR"])
    assert found.notes == ("num_ret may be above 1: is a margin of 0.01 meant?",) or found["num_ret"].candidate <= 1
    found = te.gating.gate(QRELS, ranks(3), ranks(3), ["num_ret", "RR"])
    assert found.notes == ("num_ret may be above 1: is a margin of 0.01 meant?",)
    assert te.gating.gate(QRELS, ranks(3), ranks(3), "num_ret", margin=1).notes == ()
    assert te.gating.gate(QRELS, ranks(1), ranks(1), "RR").notes == ()  # whose values are 1


def test_a_margin_that_lets_a_candidate_without_any_result_pass_is_questioned() -> None:
    (note,) = te.gating.gate(QRELS, ranks(1, 2), ranks(1, 2), "RR", margin=5).notes
    assert re.fullmatch(r"the baseline's mean of RR, 0\.\d{4}, is not above the margin of 5, so that .* meant\?", note)
    assert [
        len(te.gating.gate(QRELS, ranks(1, 2), ranks(1, 2), "RR", margin=m).notes) for m in ("90%", 0.74, 0.75)
    ] == [
        0,
        0,
        1,
    ]
    assert te.gating.gate(QRELS, ranks(3), ranks(3), "P_1").notes == ()  # a mean of 0, below which nothing is


def test_what_cannot_be_told_comes_with_the_queries_that_would_do() -> None:
    pytest.importorskip("statsmodels")
    from statsmodels.stats.power import TTestPower

    old, new = ranks(1, 2, 3, 2), ranks(2, 1, 2, 3)
    differences = np.tile([-0.5, 0.5, 1 / 6, -1 / 6], 5)
    needed = TTestPower().solve_power(0.01 / differences.std(ddof=1), None, 0.05, 0.8, alternative="larger")
    power = TTestPower().power(0.01 / differences.std(ddof=1), 20, 0.05, alternative="larger")
    found = te.gating.gate(QRELS, old, new, "RR")
    assert needed > 8000
    assert finding(found) == (
        "Cannot tell: run 2 may or may not be lower than run 1 by more than 0.01 in MRR; an equal run passes with a "
        f"probability of {power:.2f} over 20 queries; {math.ceil(needed)} queries would do, for a power of 0.8."
    )


def test_where_an_equal_run_would_have_passed_the_difference_that_was_seen_says_how_many_queries_would_do() -> None:
    power = pytest.importorskip("statsmodels.stats.power").TTestPower()
    new = OLD - 0.05 + 0.05 * np.tile([1, -1], 20)
    for margin, tail in ((0.06, "pass"), (0.04, "worse")):
        found = decided(OLD, new, Margin(margin))
        assert found.outcome == CANNOT_TELL
        effect = 0.01 / (new - OLD).std(ddof=1)
        needed = math.ceil(power.solve_power(effect, None, 0.05, 0.8, alternative="larger"))
        assert (found.needed < 40, found.needed_as_seen, tail) == (True, needed, tail)
        verdict = Verdict(CANNOT_TELL, (found,), ("old", "new"), GateSettings(), ("old", "new"), ("", ""))
        assert finding(verdict).endswith(
            f"; if the true difference is the one seen, {needed} queries would do, for a power of 0.8."
        )
        fewer = found._replace(measure="P_5", needed_as_seen=needed - 1.0)
        assert f" {needed} queries would do, " in finding(replace(verdict, decisions=(fewer, found)))


# The command -----------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path) -> Path:
    lines = {"qrels": [f"{qid} 0 a 1\n" for qid in QRELS]}
    for name, run in (("old", ranks(1, 2)), ("new", ranks(1, 2)), ("poor", ranks(3, 4)), ("other", ranks(2, 1))):
        lines[name] = [
            f"{qid} Q0 {docid} 1 {score} {name}\n" for qid, row in run.items() for docid, score in row.items()
        ]
    for name, text in lines.items():
        (tmp_path / name).write_text("".join(text))
    return tmp_path


def gate(home: Path, *arguments: str) -> Done:
    return treceval(["gate", *arguments], folder=home)


@pytest.mark.parametrize(
    ("candidate", "outcome"), [("new", PASS), ("poor", WORSE), ("other", CANNOT_TELL)], ids=["same", "poor", "unclear"]
)
def test_the_exit_status_is_the_verdict(home: Path, candidate: str, outcome: str) -> None:
    done = gate(home, "qrels", "old", candidate, "-m", "RR", "--format", "json")
    found = json.loads(done.out)
    assert done.status == STATUS[outcome] == found["status"]
    assert found["outcome"] == outcome
    assert done.err.decode() == f"{found['finding']}\n"
    assert found["finding"].startswith(outcome.capitalize())
    assert [run["role"] for run in found["runs"]] == ["baseline", "candidate"]


def test_one_line_says_what_decided(home: Path) -> None:
    # Differences of -2/3 and -1/4 in ten queries each.
    done = gate(home, "qrels", "old", "poor", "-m", "RR", "--floor", "P.1=0.3")
    assert done.out.decode().splitlines()[0] == (
        "Worse: poor is lower than old by more than 0.01 in MRR (-0.4583, p < 0.0001), "
        "and is below its floor (P_1 0.0000 < 0.3)."
    )


def test_a_saved_baseline_decides_how_the_candidate_is_scored(home: Path) -> None:
    saving = ["-q", "-c", "--format", "json", "-o", "old.json", "-m", "RR", "-l", "1", "qrels", "old"]
    assert treceval(saving, folder=home).status == 0
    done = gate(home, "qrels", "old.json", "poor", "--format", "csv")
    assert done.status == 3
    assert done.out.decode().splitlines()[1].startswith("RR,0.75,0.2916")
    assert treceval([*saving[:4], "-o", "new.json", "-m", "RR", "qrels", "new"], folder=home).status == 0
    assert gate(home, "old.json", "new.json").status == 0


UNDECIDED = {
    "qrels old": 2, "qrels old new poor": 2, "qrels old gone.txt": 1, "qrels old new --floor 0.3": 2,
    "qrels old new --margin =1": 2, "qrels old new --margin 1 --margin 2": 2, "qrels old new --margin map=x": 2,
}  # fmt: skip
"""Command lines, and the exit status."""


def test_what_cannot_be_decided_is_refused(home: Path, snapshot: SnapshotAssertion) -> None:
    done = {line: gate(home, *line.split()) for line in UNDECIDED}
    assert {line: (each.status, each.out) for line, each in done.items()} == {k: (v, b"") for k, v in UNDECIDED.items()}
    assert {line: each.err.decode() for line, each in done.items()} == snapshot


def test_github_gets_an_annotation_and_a_summary(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = home / "summary.md"
    summary.write_text("# Before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    (home / "50%:a,b").write_bytes((home / "poor").read_bytes().replace(b" poor\n", b" 50%\n"))
    done = gate(home, "qrels", "old", "50%:a,b", "-m", "RR", "--format", "github")
    (line,) = done.out.decode().splitlines()
    assert line.startswith(
        "::error file=50%25%3Aa%2Cb,title=treceval gate::Worse: 50%25 is lower than old by more than 0.01 in MRR (-0.4583, "
    )
    assert done.status == 3
    text = summary.read_text()
    assert text.startswith("# Before\nWorse: 50% is lower than old by more than 0.01 in MRR")
    assert "\n| MRR | worse | 0.7500 | 0.2917 |" in text
    for candidate, command in (("new", "notice"), ("other", "warning")):
        done = gate(home, "qrels", "old", candidate, "-m", "RR", "--format", "github")
        assert done.out.decode().startswith(f"::{command} file={candidate},title=treceval gate::")


def test_a_summary_that_cannot_be_written_is_an_error(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(home))
    done = gate(home, "qrels", "old", "new", "--format", "github")
    assert done.status == 1
    assert done.err.decode().endswith("cannot be written: Is a directory. Is GITHUB_STEP_SUMMARY right?\n")


def test_without_a_summary_github_gets_the_annotation_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    done = gate(home, "qrels", "old", "new", "-m", "RR", "--format", "github", "-o", "lines")
    assert (done.status, done.out) == (0, b"")
    assert (home / "lines").read_text().startswith("::notice file=new,")


def test_a_missing_query_is_said_by_the_command(home: Path) -> None:
    text = (home / "new").read_text()
    (home / "new").write_text("".join(line for line in text.splitlines(True) if not line.startswith("3 ")))
    done = gate(home, "qrels", "old", "new", "-m", "RR", "--format", "csv")
    assert b"note: the candidate lacks 1 judged query (3), which count as empty rankings." in done.err
