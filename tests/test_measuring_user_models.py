"""Measures that are models of a reader, Compatibility and Accuracy: published values, other programs, and twins."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import ir_measures
import pytest
import twins_user_models as slow
from random_runs import random_pair
from refused import refusal
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py import Qrels, Run
from treceval_py.errors import EvaluationError
from treceval_py.judging import JudgedRun, judge
from treceval_py.judging.judged import ranked_labels
from treceval_py.measuring import FAMILIES, agreement, parse_measures, user_models

A = ranked_labels("0 2 0 1 3 - 0 2", missed="1")
"""A ranking of eight documents graded up to 3, one of them not judged; one graded 1 was not retrieved."""

GAINS = [Fraction(grade, 3) for grade in (0, 2, 0, 1, 3, 0, 0, 2)]
"""Its gains."""


def value(name: str, judged: JudgedRun = A, max_rel: int = 3) -> float:
    (found,) = parse_measures(name)[0].with_defaults({"max_rel": max_rel})(judged)
    return float(found)


KNOWN = {
    # cwl_eval 1.0.12 on these gains, padded to 1000
    "INST(T=1.0,max_rel=3)": 0.204821,
    "INST(T=2.0,max_rel=3)": 0.217831,
    "INSQ(T=1.0,max_rel=3)": 0.191658,
    "INSQ(T=2.0,max_rel=3)": 0.193066,
    "SDCG(max_rel=3)@5": 0.322552,
    "NERR8(max_rel=3)@5": 0.346154,
    "NERR9(max_rel=3)@5": 0.233227,
    "NERR10(p=0.9,max_rel=3)": 0.323120,
    "NERR11(T=1.0,max_rel=3)": 0.210963,
    "BPM(T=1.0,max_rel=3)@5": 0.25,
    "BPM(T=2.0,max_rel=3)@8": 0.40,
    # cwl_eval 1.0.12, padded to 100,000
    "INST(T=1.0,max_rel=3,D=100000)": 0.204719,
    # compatibility.py of the authors, with p and without its last division
    "Compat(p=0.95,normalised=no)": 0.273027,
    "Compat(p=0.95)": 0.573225,
    "Compat(p=0.9,normalised=no)": 0.340366,
    "Compat(p=0.9)": 0.506505,
    # ir_measures 0.4.3, whose depth is the 8 documents retrieved
    "Compat(p=0.95,D=8)": 0.447634,
}


def test_values_are_those_of_the_programs_they_are_from() -> None:
    assert {name: value(name) for name in KNOWN} == pytest.approx(KNOWN, abs=5e-7)


def stopping_reader(gains: list[Fraction], goes_on: Callable[[int], Fraction]) -> Fraction:
    """Return the gain expected of a visit over the documents expected of it, from where each visit ends.

    This is the L of C/W/L: a visit ends at rank i with the probability C(1)·…·C(i-1)·(1 - C(i)), having brought the
    gains down to there. The measures are computed from W.
    """
    gained = seen = Fraction(0)
    here = Fraction(1)
    for rank in range(1, len(gains) + 1):
        stops = here * (1 - goes_on(rank)) if rank < len(gains) else here
        gained += stops * sum(gains[:rank])
        seen += stops * rank
        here -= stops
    return gained / seen


@pytest.mark.parametrize(
    ("name", "goes_on"),
    [
        ("NERR8(max_rel=3)@5", lambda rank: 1 - GAINS[rank - 1]),
        ("NERR9(max_rel=3)@5", lambda rank: Fraction(rank, rank + 1) * (1 - GAINS[rank - 1])),
        # Nobody goes on behind the document of gain 1 at rank 5, so the depth is no matter.
        ("NERR10(p=0.9,max_rel=3)", lambda rank: Fraction(9, 10) * (1 - GAINS[rank - 1])),
        ("NERR11(T=1.0,max_rel=3)", lambda rank: Fraction(rank + 1, rank + 2) ** 2 * (1 - GAINS[rank - 1])),
        ("INST(T=1.0,max_rel=3,D=8)", lambda rank: ((k := rank + 2 - sum(GAINS[:rank])) - 1) ** 2 / k**2),
        ("INSQ(T=1.0,max_rel=3,D=8)", lambda rank: Fraction(rank + 1, rank + 2) ** 2),
        ("BPM(T=1.0,max_rel=3)@5", lambda rank: Fraction(sum(GAINS[:rank]) < 1 and rank < 5)),
        ("BPM(T=2.0,max_rel=3)@8", lambda rank: Fraction(sum(GAINS[:rank]) < 2 and rank < 8)),
    ],
)
def test_a_value_is_that_of_a_reader_who_stops_somewhere(name: str, goes_on: Callable[[int], Fraction]) -> None:
    last = 5 if name.endswith("@5") else 8
    assert value(name) == pytest.approx(float(stopping_reader(GAINS[:last], goes_on)), rel=1e-14)


def test_the_ideal_ranking_has_equal_judgments_in_the_order_of_the_run_and_missed_ones_behind() -> None:
    assert value("Compat", ranked_labels("2 1 1", missed="")) == 1.0
    # Had the missed document stood first in the ideal ranking, nothing would be in common at depth 1: here 1, 1 of 1, 2.
    assert value("Compat(p=0.5,D=2)", ranked_labels("1", missed="1")) == pytest.approx((1 + 0.25) / (1 + 0.5))


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_the_ends_of_the_range_of_p_have_a_value(p: float) -> None:
    judged = ranked_labels("2 - 1", missed="1")
    codes, labels = [2, -1, 1], [2, 1, 1]
    assert value(f"NERR10(p={p},D=50)", judged) == pytest.approx(slow.nerr10(codes, labels, p=p, max_rel=3, deepest=50))
    assert value(f"Compat(p={p},D=50)", judged) == pytest.approx(slow.compat(codes, labels, p=p, deepest=50))


def test_a_target_of_any_size_has_a_value() -> None:
    # A reader who wants all there is sees all 1000 documents; one who wants next to nothing sees the first.
    judged = ranked_labels("3 0 3")
    expected = {"INST(T=1e300)": 2 / 1000, "INSQ(T=1e300)": 2 / 1000, "INSQ(T=1e-300)": 1.0, "NERR11(T=1e300)": 1.0}
    assert {name: value(name, judged) for name in expected} == pytest.approx(expected, rel=1e-12)


def test_a_query_without_judged_documents_has_the_value_0() -> None:
    for name in slow.USER_MODELS:
        for measure in FAMILIES[name].measures():
            assert list(measure.with_defaults({"max_rel": 1})(ranked_labels("- -"))) == [0.0]
            assert list(measure.with_defaults({"max_rel": 1})(ranked_labels(""))) == [0.0]


def test_a_ranking_of_relevant_documents_only_is_in_order() -> None:
    assert value("Accuracy", ranked_labels("1 2")) == value("Accuracy@1", ranked_labels("1 0")) == 1.0


def test_ranks_with_gaps_are_those_of_documents_that_are_not_relevant(tmp_path: Path) -> None:
    (tmp_path / "run.txt").write_text("q Q0 a 1 2.0 t\nq Q0 b 4 1.0 t\n", "utf-8")
    judged = judge(Qrels({"q": {"a": 1, "b": 1}}), te.read_run(tmp_path / "run.txt"), order="rank")
    assert value("Accuracy", judged) == slow.accuracy([1, -1, -1, 1], [1, 1]) == 0.5


GRADED = [name for name in slow.USER_MODELS if FAMILIES[name].takes("max_rel")]


def test_a_scale_that_begins_at_its_end_is_refused(snapshot: SnapshotAssertion) -> None:
    said = set()
    for name in GRADED:
        measure = FAMILIES[name].measures()[0]
        said.add(refusal(measure.with_defaults({"max_rel": 2, "min_rel": 2}), ranked_labels("1 0")))
        assert list(measure.with_defaults({"max_rel": 2, "min_rel": 1})(ranked_labels("1 0"))) == [0.0]
    assert list(said) == snapshot


def test_a_target_below_one_half_and_a_depth_that_no_memory_holds_are_refused(
    snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert value("INST(T=0.5)") > 0
    assert value("INSQ(T=0.49)") > 0
    names = ["INST(T=0.49)", *("INST(D={})", "INSQ(D={})", "NERR8@{}", "SDCG@{}", "Compat(D={})")]
    assert [refusal(value, name.format(10_000_001)) for name in names] == snapshot
    # The depth itself is accepted; a lower one is tried, as 10,000,000 ranks take seconds.
    monkeypatch.setattr(user_models, "MOST_DEPTH", 20)
    monkeypatch.setattr(agreement, "MOST_DEPTH", 20)
    for name in names[1:]:
        assert value(name.format(20)) > 0
        assert refusal(value, name.format(21))


def test_queries_in_several_portions_are_as_those_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = judged_in_order_of_lines(*random_pair(random.Random(5)))
    names = ["inst", "nerr10", "nerr11", "nerr8_cut", "nerr9_cut"]
    measures = [FAMILIES[name].measures()[0].with_defaults({"max_rel": 4}) for name in names]
    together = [list(measure(judged)) for measure in measures]
    monkeypatch.setattr(user_models, "CELLS", 1)
    assert [list(measure(judged)) for measure in measures] == together


def test_a_parameter_that_changes_a_value_shows_in_its_name() -> None:
    results = te.evaluate({"1": {"a": 2, "b": 1}}, {"1": {"b": 1.0}}, ["INST(D=10)", "Compat(D=10)", "BPM(T=2)@5"])
    assert list(results.mean) == ["INST(D=10)", "Compat(D=10)", "BPM(T=2)@5"]
    assert results.mean["BPM(T=2)@5"] == pytest.approx(0.1)  # the scale goes up to 2: 1/2 at rank 1, over 5


# ir_measures 0.4.3, with cwl_eval 1.0.12 ----------------------------------------------------------


def judged_in_order_of_lines(qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]]) -> JudgedRun:
    """Rank as ir_measures does for cwl_eval and for Accuracy: by score, equal ones in the order of lines."""
    return judge(Qrels(qrels), Run(run), ties="line")


def theirs(names: list[str], qrels: Any, run: Any) -> dict[tuple[str, str], float]:
    measures = {ir_measures.parse_measure(name): name for name in names}
    found = ir_measures.iter_calc(list(measures), qrels, run)
    return {(metric.query_id, measures[metric.measure]): float(metric.value) for metric in found}


def ours(names: list[str], judged: JudgedRun) -> dict[tuple[str, str], float]:
    return {
        (qid, name): float(each)
        for name in names
        for qid, each in zip(judged.qids, parse_measures(name)[0](judged), strict=True)
    }


OF_CWL_EVAL = [
    "INST(max_rel=4)", "INST(T=2.5,max_rel=4)", "INST(T=0.5,max_rel=4)", "INST(T=1.0,min_rel=1,max_rel=4)",
    "INSQ(max_rel=4)", "INSQ(T=2.5,max_rel=5)", "INSQ(T=0.5,max_rel=4)", "INSQ(min_rel=2,max_rel=4)",
    "SDCG(max_rel=4)@5", "SDCG(max_rel=5)@1", "SDCG(min_rel=1,max_rel=4)@100", "SDCG(max_rel=4)@1000",
    "NERR8(max_rel=4)@5", "NERR8(max_rel=5)@1", "NERR8(min_rel=1,max_rel=4)@1000",
    "NERR9(max_rel=4)@5", "NERR9(max_rel=5)@1", "NERR9(min_rel=1,max_rel=4)@1000",
    "NERR10(max_rel=4)", "NERR10(p=0.5,max_rel=5)", "NERR10(p=0.99,min_rel=1,max_rel=4)",
    "NERR11(max_rel=4)", "NERR11(T=2.5,max_rel=5)", "NERR11(T=0.5,min_rel=1,max_rel=4)",
    # on this scale sums of gains are exact
    "BPM(max_rel=4)@5", "BPM(T=2.5,max_rel=4)@10", "BPM(T=0.5,max_rel=4)@1000", "BPM(T=1.25,min_rel=2,max_rel=4)@8",
]  # fmt: skip


def no_cwl_eval() -> bool:
    from importlib.util import find_spec

    return find_spec("cwl") is None


@pytest.mark.slow
@pytest.mark.skipif(no_cwl_eval(), reason="cwl-eval is not installed")
@pytest.mark.parametrize("part", range(4))
def test_measures_of_a_reader_have_the_values_of_ir_measures_on_500_random_runs(part: int) -> None:
    for seed in range(part * 125, (part + 1) * 125):
        rng = random.Random(seed)
        qrels, run = random_pair(rng)
        names = rng.sample(OF_CWL_EVAL, 6)  # there each takes a millisecond a query
        expected = theirs(names, qrels, run)
        found = ours(names, judged_in_order_of_lines(qrels, run))
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9), seed


@pytest.mark.slow
@pytest.mark.skipif(no_cwl_eval(), reason="cwl-eval is not installed")
def test_a_run_deeper_than_1000_is_cut_there_as_in_ir_measures() -> None:
    rng = random.Random(0)
    run = {"q": {f"d{number}": 1.0 + rng.random() for number in range(1500)}}
    qrels = {"q": {docid: rng.randint(0, 4) for docid in run["q"]}}
    names = ["INST(max_rel=4)", "INST(T=400.0,max_rel=4)", "INSQ(T=400.0,max_rel=4)", "NERR10(p=1.0,max_rel=400)",
             "NERR11(T=90.0,max_rel=400)", "SDCG(max_rel=4)@1000", "NERR8(max_rel=400)@1000"]  # fmt: skip
    judged = judged_in_order_of_lines(qrels, run)
    assert ours(names, judged) == pytest.approx(theirs(names, qrels, run), rel=1e-9)
    # Cutoffs are not cut: there SDCG@1500 is SDCG@1000, and BPM@1500 stops at rank 1000.
    deep = theirs(["SDCG(max_rel=4)@1500", "BPM(T=1000.0,max_rel=4)@1500"], qrels, run)
    assert deep["q", "SDCG(max_rel=4)@1500"] == pytest.approx(value("SDCG@1000", judged, 4), rel=1e-9)
    assert deep["q", "BPM(T=1000.0,max_rel=4)@1500"] == pytest.approx(value("BPM(T=1000)@1000", judged, 4), rel=1e-9)
    assert value("SDCG@1500", judged, 4) != pytest.approx(value("SDCG@1000", judged, 4), rel=1e-6)


@pytest.mark.slow
@pytest.mark.skipif(no_cwl_eval(), reason="cwl-eval is not installed")
def test_sums_of_rounded_gains_miss_the_target_in_ir_measures_and_not_here() -> None:
    # 1 + 1/3 + 1/3 + 1/3 is 1.9999999999999998 in float64: there the reader goes on to rank 10, 2 over 10.
    qrels = {"q": {"a": 3, "b": 1, "c": 1, "d": 1}}
    run = {"q": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}}
    name = "BPM(T=2.0,max_rel=3)@10"
    assert theirs([name], qrels, run) == pytest.approx({("q", name): 2 / 10})
    assert ours([name], judged_in_order_of_lines(qrels, run)) == {("q", name): 2 / 4}


@pytest.mark.slow
@pytest.mark.skipif(no_cwl_eval(), reason="cwl-eval is not installed")
def test_a_grade_above_the_scale_is_its_top_in_ir_measures_and_refused_here() -> None:
    qrels, run = {"q": {"a": 5}}, {"q": {"a": 1.0}}
    assert theirs(["SDCG(max_rel=4)@1"], qrels, run) == {("q", "SDCG(max_rel=4)@1"): 1.0}
    with pytest.raises(EvaluationError, match="above max_rel=4"):
        ours(["SDCG(max_rel=4)@1"], judged_in_order_of_lines(qrels, run))


def made_comparable(qrels: Any, run: Any) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Take away what orders the ideal ranking of ir_measures otherwise: judgments stand by id, scores are above 0."""
    by_id = {qid: dict(sorted(row.items())) for qid, row in qrels.items()}
    return by_id, {qid: {docid: score + 2.0 for docid, score in row.items()} for qid, row in run.items()}


@pytest.mark.slow
@pytest.mark.parametrize("p", [0.95, 0.8])
@pytest.mark.parametrize("normalised", ["yes", "no"])
def test_compatibility_has_the_value_of_ir_measures_at_the_depth_it_has_there(p: float, normalised: str) -> None:
    name = f"Compat(p={p},normalize={normalised == 'yes'})"
    for seed in range(500):
        qrels, run = made_comparable(*random_pair(random.Random(seed)))
        judged = judge(Qrels(qrels), Run(run), ties="docid-asc")
        for row, qid in enumerate(judged.qids):
            relevant = sum(label > 0 for label in qrels[qid].values())
            depth = max(len(run.get(qid, {})), relevant, 1)
            found = agreement.compatibility(judged, p=p, deepest=depth, normalised=normalised)[row]
            expected = theirs([name], {qid: qrels[qid]}, {qid: run[qid]} if qid in run else {})[qid, name]
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-12), (seed, qid)


@pytest.mark.slow
def test_compatibility_is_that_of_ir_measures_where_1000_documents_were_retrieved() -> None:
    rng = random.Random(1)
    run = {qid: {f"d{number:04}": float(rng.randint(1, 300)) for number in range(1000)} for qid in ("1", "2", "3")}
    qrels = {qid: {docid: rng.randint(0, 3) for docid in sorted(rng.sample(sorted(row), 50))}
             for qid, row in run.items()}  # fmt: skip
    judged = judge(Qrels(qrels), Run(run), ties="docid-asc")
    assert ours(["Compat"], judged) == pytest.approx(theirs(["Compat"], qrels, run), rel=1e-9)


@pytest.mark.slow
def test_the_ideal_ranking_of_ir_measures_is_not_in_the_order_of_the_run() -> None:
    # Two tied documents of one grade: the run is a b, the ideal ranking there b a, as the judgments stand.
    tied = theirs(["Compat"], {"q": {"b": 1, "a": 1}}, {"q": {"a": 1.0, "b": 1.0}})
    # A document that was not retrieved, with the score 0, stands before one retrieved with a score below 0.
    missed = theirs(["Compat"], {"q": {"a": 1, "z": 1}}, {"q": {"a": -1.0}})
    assert tied["q", "Compat"] == pytest.approx((0 + 0.95) / (1 + 0.95))
    assert missed["q", "Compat"] == pytest.approx((0 + 0.95 / 2) / (1 + 0.95))
    judged = judge(Qrels({"q": {"b": 1, "a": 1}}), Run({"q": {"a": 1.0, "b": 1.0}}), ties="docid-asc")
    assert value("Compat(D=2)", judged) == 1.0
    judged = judge(Qrels({"q": {"a": 1, "z": 1}}), Run({"q": {"a": -1.0}}))
    assert value("Compat(D=2)", judged) == pytest.approx((1 + 0.95 / 2) / (1 + 0.95))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Accuracy", "Accuracy(rel=2)", "Accuracy@1", "Accuracy@3", "Accuracy(rel=2)@1000"])
def test_accuracy_has_the_value_of_ir_measures_on_500_random_runs(name: str) -> None:
    failed = without = 0
    for seed in range(500):
        qrels, run = random_pair(random.Random(seed))
        for (qid, _), found in ours([name], judged_in_order_of_lines(qrels, run)).items():
            try:
                expected = theirs([name], {qid: qrels[qid]}, {qid: run.get(qid, {})})
            except ZeroDivisionError:  # all documents that count are relevant
                failed += 1
                assert found == 1.0
                continue
            without += not expected  # there is no value where there is no relevant document
            assert found == pytest.approx(expected.get((qid, name), 0.0), rel=1e-9, abs=1e-12), (seed, qid)
    assert failed > 0
    assert without > 0


@pytest.mark.slow
def test_unjudged_documents_are_relevant_at_level_0_in_ir_measures_and_not_here() -> None:
    qrels, run = {"q": {"a": 0, "b": -1}}, {"q": {"b": 3.0, "x": 2.0, "a": 1.0}}
    name = "Accuracy(rel=0)"
    assert theirs([name], qrels, run) == {("q", name): 0.0}  # b is the other document, x and a are relevant
    assert ours([name], judged_in_order_of_lines(qrels, run)) == {("q", name): 0.0}  # b and x are, a is relevant
    above = {"q": {"x": 2.0, "b": 1.0, "a": 0.5}}
    assert theirs([name], qrels, above) == {("q", name): 0.5}
    assert ours([name], judged_in_order_of_lines(qrels, above)) == {("q", name): 0.0}


@pytest.mark.slow
def test_the_mean_of_accuracy_leaves_queries_out_in_ir_measures_and_not_here() -> None:
    qrels, run = {"1": {"a": 1}, "2": {"a": 1}}, {"1": {"a": 2.0, "x": 1.0}, "2": {"x": 1.0}}
    accuracy = ir_measures.parse_measure("Accuracy")
    assert ir_measures.calc_aggregate([accuracy], qrels, run) == {accuracy: 1.0}
    assert te.evaluate(qrels, run, "Accuracy").mean["Accuracy"] == 0.5


@pytest.mark.slow
@pytest.mark.skipif(no_cwl_eval(), reason="cwl-eval is not installed")
def test_means_are_over_all_judged_queries_as_in_ir_measures() -> None:
    qrels, run = {"1": {"a": 1, "b": 0}, "2": {"a": 1}}, {"1": {"b": 2.0, "a": 1.0}, "3": {"a": 1.0}}
    names = ["INST(max_rel=1)", "NERR10(max_rel=1)", "BPM(max_rel=1)@5"]
    measures = [ir_measures.parse_measure(name) for name in names]
    expected = ir_measures.calc_aggregate(measures, qrels, run)
    found = te.evaluate(qrels, run, names, complete=True).mean
    assert [found[name] for name in names] == pytest.approx([expected[each] for each in measures], rel=1e-9)


# Twins --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(slow.USER_MODELS))
def test_a_measure_equals_its_twin_on_a_long_ranking(name: str) -> None:
    rng = random.Random(name)
    judged = ranked_labels(
        " ".join(rng.choice(["-", "-", "0", "0", "1", "2", "3", "-1"]) for _ in range(1200)), missed="3 2 1 0 -1"
    )
    codes = [-1] * 1200
    for rank, rel in zip(judged.hits.rank.tolist(), judged.hits.rel.tolist(), strict=True):
        codes[rank - 1] = rel
    labels = judged.ideal.rel.tolist()
    parameters: dict[str, Any] = {"max_rel": 3} if FAMILIES[name].takes("max_rel") else {}
    if FAMILIES[name].at is not None:
        parameters["cutoff"] = 1100
    if name == "compat":
        parameters["deepest"] = 300  # the twin writes out each depth
    (found,) = FAMILIES[name].function(judged, **parameters)
    assert math.isclose(float(found), slow.USER_MODELS[name](codes, labels, **parameters), rel_tol=1e-12)
