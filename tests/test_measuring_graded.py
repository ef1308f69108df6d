"""Graded and user-model measures: published values, exact arithmetic, ties, refusals, and the packages in use today."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import twins_graded
from random_runs import random_pair
from refused import refusal
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py import Qrels, Run
from treceval_py.judging import JudgedRun, judge
from treceval_py.judging.judged import ranked_labels
from treceval_py.measuring import FAMILIES, parse_measures

TOY = ranked_labels("0 2 0 1 3 - 0 2", missed="1")
"""Eight documents retrieved, one of them not judged; R = 5, on a scale up to 3."""


def value(notation: str, judged: JudgedRun = TOY, *, max_rel: int = 3) -> float:
    """Return a measure of the first query."""
    (measure,) = parse_measures(notation)
    return float(measure.with_defaults({"max_rel": max_rel})(judged)[0])  # type: ignore[arg-type]


# Values of other programs, each to the digits that it prints or that were noted of it.
KNOWN = [
    ("AP", 0.4200, 4, "ir_measures 0.4.3, trec_eval 10.0"),
    ("AP(rel=2)", 0.4250, 4, "ir_measures 0.4.3, trec_eval 10.0"),
    ("nDCG@5", 0.469306, 6, "ir_measures 0.4.3"),
    ("nDCG@8", 0.573088, 6, "ir_measures 0.4.3"),
    ("nDCG", 0.573088, 6, "ir_measures 0.4.3: nDCG@8, nothing stands below"),
    ("nDCG(gain=exp)@5", 0.44882, 5, "gdeval.pl 1.2"),
    ("nDCG(gain=exp)@8", 0.533244, 6, "trec_eval 10.0 with ndcg.1=1,2=3,3=7: 0.5332"),
    ("ERR(max_rel=4)@5", 0.17310, 5, "gdeval.pl 1.2"),
    ("ERR(max_rel=4)@8", 0.18314, 5, "gdeval.pl 1.2"),
    ("ERR(max_rel=4)@5", 0.173096, 6, "gdeval.pl 1.2, without rounding"),
    ("ERR(max_rel=4)@8", 0.183138, 6, "gdeval.pl 1.2, without rounding"),
    ("RBP(p=0.8,rel=1)", 0.386263, 6, "cwl-eval 1.0.12 by ir_measures 0.4.3"),
    ("RBP(p=0.5,rel=1)", 0.347656, 6, "cwl-eval 1.0.12 by ir_measures 0.4.3"),
    ("RBP(p=0.8,max_rel=3)", 0.2507, 4, "trec_eval 10.0, measure rbp: the query has a document judged 3"),
    ("RBP(p=0.8,max_rel=3)", 0.250682, 6, "trec_eval 10.0, measure rbp, without rounding"),
    ("RBPResidual(p=0.8)", 0.233308, 6, "trec_eval 10.0, measure rbp_resid: a document is not judged"),
    ("RBPResidual(p=0.9)", 0.489516, 6, "trec_eval 10.0, measure rbp_resid"),
    ("GAP", 0.397222, 6, "the paper's form over pairs and that over thresholds"),
    ("GAP(weights=1,2,4)", 0.363333, 6, "the paper's form over pairs and that over thresholds"),
    ("Q(beta=0)", 0.42, 6, "AP: ir_measures 0.4.3"),
]


def test_known_values_come_out() -> None:
    found = [(notation, round(value(notation), digits)) for notation, _, digits, _ in KNOWN]
    assert found == [(notation, expected) for notation, expected, _, _ in KNOWN]


def test_gap_of_the_list_in_the_tests_of_infer_net() -> None:
    # Infer.NET's test of graded average precision: grades 3 1 2 2, equal thresholds.
    assert value("GAP", ranked_labels("3 1 2 2")) == pytest.approx(0.9270833, abs=5e-8)


class TestByHand:
    """What only one program computed, from the definition: the ranking is 0 2 0 1 3 - 0 2, the ideal 3 2 2 1 1."""

    def test_ndcg_with_exponential_gains(self) -> None:
        found = 3 / math.log2(3) + 1 / math.log2(5) + 7 / math.log2(6)
        ideal = 7 / math.log2(2) + 3 / math.log2(3) + 3 / math.log2(4) + 1 / math.log2(5) + 1 / math.log2(6)
        assert value("nDCG(gain=exp)@5") == pytest.approx(found / ideal, rel=1e-14)
        assert value("nDCG(gain=exp)") == pytest.approx((found + 3 / math.log2(9)) / ideal, rel=1e-14)

    def test_ndcg_of_jarvelin_and_kekalainen(self) -> None:
        # Base 2: ranks 1 and 2 count whole, rank i from there on 1/log2 i; log2 4 = 2, log2 8 = 3.
        found = 2 + 1 / 2 + 3 / math.log2(5)
        ideal = 3 + 2 + 2 / math.log2(3) + 1 / 2 + 1 / math.log2(5)
        assert value("nDCG(discount=jk)@5") == pytest.approx(found / ideal, rel=1e-14)
        assert value("nDCG(discount=jk)@8") == pytest.approx((found + 2 / 3) / ideal, rel=1e-14)

    def test_ndcg_of_jarvelin_and_kekalainen_to_base_3(self) -> None:
        # Ranks 1 and 2 come before the base, and log3 3 = 1.
        found = 2 + 1 / math.log(4, 3) + 3 / math.log(5, 3)
        ideal = 3 + 2 + 2 + 1 / math.log(4, 3) + 1 / math.log(5, 3)
        assert value("nDCG(discount=jk,base=3)@5") == pytest.approx(found / ideal, rel=1e-14)
        assert value("nDCG(discount=jk,base=3)") == pytest.approx((found + 2 / math.log(8, 3)) / ideal, rel=1e-14)

    @pytest.mark.parametrize("top", [3, 4])
    def test_expected_reciprocal_rank(self, top: int) -> None:
        one, two, three = (Fraction(2**grade - 1, 2**top) for grade in (1, 2, 3))
        at_5 = two / 2 + (1 - two) * one / 4 + (1 - two) * (1 - one) * three / 5
        at_8 = at_5 + (1 - two) * (1 - one) * (1 - three) * two / 8
        left = 1 - three
        ideal = three + left * two / 2 + left * (1 - two) * two / 3 + left * (1 - two) ** 2 * one / 4
        ideal += left * (1 - two) ** 2 * (1 - one) * one / 5
        assert value(f"ERR(max_rel={top})@5") == pytest.approx(float(at_5), rel=1e-15)
        assert value(f"ERR(max_rel={top})") == pytest.approx(float(at_8), rel=1e-15)
        assert value(f"nERR(max_rel={top})@8") == pytest.approx(float(at_8 / ideal), rel=1e-15)
        assert value(f"nERR(max_rel={top})") == pytest.approx(float(at_8 / ideal), rel=1e-15)

    def test_q_measure(self) -> None:
        # Ranks 2, 4, 5, 8 hold the 1st to 4th relevant document, with gains of 2, 3, 6, 8 so far; the ideal's gains add
        # up to 3, 5, 7, 8, 9 and stay there.
        blended = [Fraction(1 + 2, 2 + 5), Fraction(2 + 3, 4 + 8), Fraction(3 + 6, 5 + 9), Fraction(4 + 8, 8 + 9)]
        assert value("Q") == pytest.approx(float(sum(blended, Fraction(0)) / 5), rel=1e-15)

    def test_q_measure_of_a_level(self) -> None:
        # Relevant from 2 on: ranks 2, 5, 8 with 2, 5, 7 gained; the ideal 3 2 2; R = 3.
        blended = [Fraction(1 + 2, 2 + 5), Fraction(2 + 5, 5 + 7), Fraction(3 + 7, 8 + 7)]
        assert value("Q(rel=2)") == pytest.approx(float(sum(blended, Fraction(0)) / 3), rel=1e-15)

    def test_q_measure_of_gains(self) -> None:
        # Gains 1 3 7: 3, 4, 11, 14 so far; the ideal's 7, 10, 13, 14, 15.
        blended = [Fraction(1 + 3, 2 + 10), Fraction(2 + 4, 4 + 14), Fraction(3 + 11, 5 + 15), Fraction(4 + 14, 8 + 15)]
        assert value("Q(gains={1:1,2:3,3:7})") == pytest.approx(float(sum(blended, Fraction(0)) / 5), rel=1e-15)

    def test_graded_average_precision(self) -> None:
        # Sums of precisions from grade 1, 2, 3 on, and R there.
        sums = [Fraction(1, 2) + Fraction(2, 4) + Fraction(3, 5) + Fraction(4, 8),
                Fraction(1, 2) + Fraction(2, 5) + Fraction(3, 8), Fraction(1, 5)]  # fmt: skip
        for weights, notation in (((1, 1, 1), "GAP"), ((1, 2, 4), "GAP(weights=1,2,4)")):
            total = sum((w * s for w, s in zip(weights, sums, strict=True)), Fraction(0))
            assert value(notation) == pytest.approx(
                float(total / sum(w * r for w, r in zip(weights, (5, 3, 1), strict=True))), rel=1e-15
            )

    def test_rank_biased_precision_cut(self) -> None:
        # 1/5 · (4/5)^(i-1) at ranks 2, 4, 5: relevant; judged 2, 1, 3 of 3.
        weights = [Fraction(1, 5) * Fraction(4, 5) ** (rank - 1) for rank in (2, 4, 5)]
        graded = sum((w * g / 3 for w, g in zip(weights, (2, 1, 3), strict=True)), Fraction(0))
        assert value("RBP@5") == pytest.approx(float(sum(weights, Fraction(0))), rel=1e-14)
        assert value("gRBP@5") == pytest.approx(float(graded), rel=1e-14)
        assert value("RBP(max_rel=3)@5") == value("gRBP@5")


# Ties -----------------------------------------------------------------------------------------------------------------


def tied_groups(rng: random.Random) -> list[list[int]]:
    """Return codes of few documents in groups of equal scores, best score first."""
    return [
        [rng.choice([-1, 0, 0, 1, 2, 3]) for _ in range(rng.choice([1, 1, 2, 3]))] for _ in range(rng.randint(1, 3))
    ]


def judged_groups(groups: list[list[int]], missed: list[int], *, depth: int | None = None) -> JudgedRun:
    """Rank documents of which those of a group have one score."""
    codes = [(code, -float(at)) for at, group in enumerate(groups) for code in group]
    run = {f"d{number:02}": score for number, (_, score) in enumerate(codes)}
    judgments = {f"d{number:02}": code for number, (code, _) in enumerate(codes) if code >= 0}
    qrels = {"q": {**judgments, **{f"m{number}": level for number, level in enumerate([0, *missed])}}}
    return judge(Qrels(qrels), Run({"q": run}), tied=True, depth=depth)


@pytest.mark.slow
@pytest.mark.parametrize("parameters", ["", "gain=exp,", "discount=jk,", "discount=jk,base=3,", "gains={1:2,3:0.5},"])
def test_an_average_over_ties_is_the_mean_over_all_orders_of_tied_documents(parameters: str) -> None:
    rng = random.Random(parameters)
    for _ in range(60):
        groups, missed = tied_groups(rng), [rng.randint(0, 3) for _ in range(rng.randint(0, 2))]
        judged = judged_groups(groups, missed)
        for cut in ("", "@1", "@2", "@4"):
            for ideal in ("judged", "retrieved"):
                name = f"nDCG({parameters}ideal={ideal},ties=TIES){cut}"

                def ordered(codes: list[int], name: str = name, missed: list[int] = missed) -> float:
                    labels = " ".join("-" if code < 0 else str(code) for code in codes)
                    return value(name.replace("TIES", "ordered"), ranked_labels(labels, " ".join(map(str, missed))))

                expected = twins_graded.mean_over_tie_orders(groups, ordered)
                assert value(name.replace("TIES", "average"), judged) == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_without_ties_the_average_over_them_is_the_value_to_the_last_bit() -> None:
    run = Run({"q": {f"d{number}": -float(number) for number in range(300)}})
    qrels = Qrels({"q": {f"d{number}": number % 4 for number in range(0, 300, 3)}})
    judged = judge(qrels, run, tied=True)
    for name in ("nDCG", "nDCG@7", "DCG", "nDCG@100"):
        head, at, cutoff = name.partition("@")
        assert value(f"{head}(ties=average){at}{cutoff}", judged) == value(name, judged)


def test_dcg_averages_over_ties() -> None:
    # Ranks 1 and 2 are tied: (1/log2(2) + 1/log2(3)) / 2.
    judged = judged_groups([[1, 0]], [])
    assert value("DCG(ties=average)", judged) == pytest.approx((1 + 1 / math.log2(3)) / 2, rel=1e-15)


def test_a_ranking_that_is_cut_has_its_last_ties_in_the_ranks_that_are_left() -> None:
    # Three documents are tied; the first two by id are kept and share ranks 1 and 2.
    judged = judged_groups([[1, 1, 1]], [], depth=2)
    assert value("DCG(ties=average)", judged) == pytest.approx(1 + 1 / math.log2(3), rel=1e-15)


def test_ties_far_down_are_averaged_too() -> None:
    run = {f"x{number:06}": -float(number) for number in range(9000)} | {"a": -9000.0, "b": -9000.0}
    judged = judge(Qrels({"q": {"a": 1}}), Run({"q": run}), tied=True)
    expected = (1 / math.log2(9002) + 1 / math.log2(9003)) / 2
    assert value("DCG(ties=average)", judged) == pytest.approx(expected, rel=1e-9)


def test_nothing_retrieved_has_no_ties() -> None:
    assert value("nDCG(ties=average)", judge(Qrels({"q": {"a": 1}}), Run({}))) == 0


# Parameters -----------------------------------------------------------------------------------------------------------


def test_a_grade_above_the_scale_is_refused_and_its_top_is_not() -> None:
    said = set()
    for family in [each for each in FAMILIES.values() if each.takes("max_rel")]:
        for judged in (ranked_labels("5 1"), ranked_labels("1", missed="5")):
            measure = family.measures()[0]
            said.add(refusal(measure.with_defaults({"max_rel": 4}), judged))
            assert np.isfinite(np.asarray(measure.with_defaults({"max_rel": 5})(judged))).all(), family.name
    assert said == {
        "EvaluationError: a document is judged 5, above max_rel=4. Give the top of the scale, such as max_rel=5."
    }


def test_the_scale_goes_up_to_the_highest_judgment_unless_it_is_given() -> None:
    qrels, run = {"1": {"a": 2, "b": 1}, "2": {"a": 3}}, {"1": {"b": 2.0, "a": 1.0}, "2": {"a": 1.0}}
    for name in ("ERR{}", "ERR{}@20", "nERR{}", "gRBP{}", "GAP{}"):
        results = te.evaluate(qrels, run, [name.format(""), name.format("(max_rel=3)")])
        assert results["1"][name.format("")] == results["1"][name.format("(max_rel=3)")] > 0, name


def test_the_value_of_a_query_does_not_depend_on_a_scale_without_bounds() -> None:
    # 2^5000 is no float64, the shares of it are: (1 - 2^-5000)·1 and nothing to speak of for a grade of 1.
    judged = ranked_labels("1 5000")
    assert value("ERR", judged, max_rel=5000) == 0.5
    assert value("nERR", judged, max_rel=5000) == 0.5


def test_weights_of_all_documents_can_be_0() -> None:
    assert value("GAP(weights=0,0,1)", ranked_labels("1 2")) == 0


def test_one_grade_makes_gap_ap_to_the_last_bit() -> None:
    judged = ranked_labels("0 1 - 1 0 0 1", missed="1 1")
    assert value("GAP", judged, max_rel=1) == value("AP", judged)


def test_what_cannot_be_computed_is_refused(snapshot: SnapshotAssertion) -> None:
    said = {}
    for notation, labels, accepted in [
        ("nDCG(ties=average)", "1", "nDCG"),
        ("AP(ties=together)", "1", "AP"),
        ("GAP(weights=1,2)", "3", "GAP(weights=1,2,3)"),
        ("nDCG(gains={1:2},gain=exp)", "1", "nDCG(gains={1:2},gain=linear)"),
        ("nDCG(gains={1:2},gain=exp)@3", "1", "nDCG(gain=exp)@3"),
        ("DCG(gains={1:2},gain=binary)", "1", "DCG(gain=binary)"),
        ("nDCG(base=3)", "1", "nDCG(base=2)"),
        ("nDCG(base=3)@3", "1", "nDCG(base=3,discount=jk)@3"),
        ("DCG(base=3,discount=position)", "1", "DCG(discount=position)"),
        ("IDCG(base=3)", "1", "IDCG(discount=jk,base=3)"),
        ("nDCG(gain=exp)", "1001", "nDCG(gain=linear)"),
    ]:
        said[notation] = refusal(value, notation, ranked_labels(labels))
        assert math.isfinite(value(accepted, ranked_labels(labels))), accepted
    assert said == snapshot
    assert value("nDCG(gain=exp)", ranked_labels("1000 1")) == 1  # the highest judgment with an exponential gain


def test_the_parameters_of_ndcg_do_not_get_mixed_up_in_one_run() -> None:
    names = [f"nDCG({gain}{discount}ideal={ideal}){at}" for gain in ("", "gain=exp,", "gains={1:5},")
             for discount in ("", "discount=jk,", "discount=jk,base=3,") for ideal in ("judged", "retrieved")
             for at in ("", "@3")]  # fmt: skip
    labels, missed = "1 2 3 - 1 2 0 3", "4 2"
    one = ranked_labels(labels, missed)
    together = [value(name, one) for name in names]
    assert together == [value(name, ranked_labels(labels, missed)) for name in names]
    assert len({round(each, 12) for each in together}) == len(names)


def test_rbp_takes_the_form_that_its_parameters_ask_for() -> None:
    names = {
        "RBP": "rbp_binary",
        "RBP(rel=2)": "rbp_binary",
        "RBP(p=0.8,max_rel=3)": "rbp_graded",
        "gRBP": "rbp_graded",
        "RBP@5": "rbp_binary_cut",
        "RBP(max_rel=3)@5": "rbp_graded_cut",
        "rbp": "rbp",
    }
    assert {name: parse_measures(name)[0].family.name for name in names} == names


def test_the_residual_is_all_that_the_judged_documents_leave() -> None:
    rng = random.Random(7)
    for _ in range(100):
        labels = " ".join(rng.choice(["-", "0", "1", "3"]) for _ in range(rng.randint(0, 30)))
        judged, p = ranked_labels(labels), rng.choice([0.0, 0.5, 0.8, 0.95, 1.0])
        assert value(f"RBPResidual(p={p})", judged) + value(f"RBP(p={p},rel=0)", judged) == pytest.approx(1, rel=1e-12)


# Packages in use today ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_ap_with_ties_together_is_that_of_scikit_learn() -> None:
    average_precision_score = pytest.importorskip("sklearn.metrics").average_precision_score
    (measure,) = parse_measures("AP(norm=retrieved,ties=together)")
    for seed in range(500):
        qrels, run = random_pair(random.Random(seed), negatives=False)
        judged = judge(Qrels(qrels), Run(run), tied=True)
        for row, qid in enumerate(judged.qids):
            scores = run.get(qid, {})
            relevant = [qrels[qid].get(docid, 0) > 0 for docid in scores]
            # Where nothing is relevant it is 0 and warns.
            expected = average_precision_score(relevant, list(scores.values())) if any(relevant) else 0.0
            assert float(measure(judged)[row]) == pytest.approx(expected, rel=1e-9, abs=1e-9), (seed, qid)


def test_ties_together_by_hand() -> None:
    # a alone: 1/1; b, c and d together: 3 relevant of 4 for b and for d; e is not retrieved.
    qrels, run = {"q": {"a": 1, "b": 1, "d": 1, "e": 1}}, {"q": {"a": 2.0, "b": 1.0, "c": 1.0, "d": 1.0}}
    assert te.evaluate(qrels, run, "AP(ties=together)").mean["AP(ties=together)"] == (1 + 3 / 4 + 3 / 4) / 4
    assert te.evaluate(qrels, run, "AP", profile="sklearn").mean["AP"] == (1 + 3 / 4 + 3 / 4) / 3


def many_pairs(number: int, **options: Any) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Return the judgments and runs of many random pairs under query ids of digits only."""
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for seed in range(number):
        of_seed = random_pair(random.Random(seed), **options)
        for table, merged in zip(of_seed, (qrels, run), strict=True):
            merged.update({f"{seed}{qid[1:]:0>2}": row for qid, row in table.items()})  # type: ignore[attr-defined]
    return qrels, run


@pytest.mark.slow
@pytest.mark.parametrize("p", [0.5, 0.8, 0.95, 0.999])
@pytest.mark.parametrize("level", [1, 2, 4])
def test_rbp_is_that_of_ir_measures(p: float, level: int) -> None:
    ir_measures = pytest.importorskip("ir_measures")
    pytest.importorskip("cwl")
    qrels, run = many_pairs(500)
    notation = f"RBP(p={p},rel={level})"
    # Equal scores stand in the order in which they come.
    judged = judge(Qrels(qrels), Run(run), ties="line")
    (measure,) = parse_measures(notation)
    # Its weights add up to 1 over the first 1,000 ranks, ours over all: they are greater by this.
    ours = dict(zip(judged.qids, (measure(judged) / (1 - p**1000)).tolist(), strict=True))  # type: ignore[operator]
    theirs = ir_measures.iter_calc([ir_measures.parse_measure(notation)], qrels, run)
    assert ours == pytest.approx({each.query_id: each.value for each in theirs}, rel=1e-9, abs=1e-12)


@pytest.mark.filterwarnings("ignore::treceval_py.errors.MissingQueriesWarning")
@pytest.mark.slow
@pytest.mark.parametrize("k", [5, 20])
def test_normalized_err_of_relevant_and_other_documents_is_that_of_ndeval_with_one_subtopic(k: int) -> None:
    ndeval = pytest.importorskip("pyndeval")
    # On a scale of 1 a relevant document contents with probability 1/2, which is ndeval's 1 - alpha.
    qrels, run = many_pairs(100, highest=1, negatives=False)
    results = te.evaluate(qrels, {qid: dict(row) for qid, row in run.items()}, [f"nERR(max_rel=1)@{k}"])
    judgments = [ndeval.SubtopicQrel(qid, "1", docid, rel) for qid, row in qrels.items() for docid, rel in row.items()]
    # Its order of equal scores is another one: each document gets its place in ours for a score.
    places = [
        ndeval.ScoredDoc(qid, docid, -float(at))
        for qid, row in run.items()
        for at, docid in enumerate(sorted(sorted(row, reverse=True), key=lambda docid: -row[docid]))
    ]
    theirs = ndeval.ndeval(judgments, places, measures=[f"nERR-IA@{k}"])
    relevant = [qid for qid in results if max(qrels[qid].values()) > 0]
    assert len(relevant) > 100
    for qid in relevant:
        assert results[qid][f"nERR(max_rel=1)@{k}"] == pytest.approx(theirs[qid][f"nERR-IA@{k}"], abs=5.001e-6)
