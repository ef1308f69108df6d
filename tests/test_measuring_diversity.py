"""Measures over subtopics: against their twins, values of ndeval and of arithmetic, and ndeval itself."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
import twins
from command import treceval
from rankings import CHOICES, random_parameters
from refused import refusal
from syrupy.assertion import SnapshotAssertion
from twins_diversity import DIVERSITY, gains_of

import treceval_py as te
from treceval_py.data.ranking import PLAIN, Ranking
from treceval_py.judging.judged import JudgedGroups
from treceval_py.judging.locating import judge_groups
from treceval_py.measuring import FAMILIES, parse_measures

Nested = dict[str, dict[str, dict[str, int]]]
Scores = dict[str, dict[str, float]]

NDEVALS_TIES = Ranking(ties="docid-asc")
"""pyndeval ranks documents with equal scores by ascending docid."""


def random_groups(rng: random.Random, *, negatives: bool = True) -> tuple[Nested, Scores]:
    """Return judgments of subtopics and a run: shared documents, labels 0, ties, missing and extra queries."""
    documents = [f"d{number}" for number in range(rng.randint(2, 30))]
    labels = [*([-1] if negatives else []), 0, 1, 1, 2]
    judgments: Nested = {}
    run: Scores = {}
    for number in range(rng.randint(1, 3)):
        qid = f"q{number}"
        pool = rng.sample(documents, rng.randint(1, len(documents)))
        subtopics = rng.sample("123456789", rng.randint(1, 6))
        judgments[qid] = {
            subtopic: {docid: rng.choice(labels) for docid in rng.sample(pool, rng.randint(1, len(pool)))}
            for subtopic in subtopics
        }
        if rng.random() < 0.9:
            ranked = rng.sample(documents, rng.randint(1, len(documents)))
            run[qid] = {docid: rng.choice([rng.random(), float(rng.randint(0, 3))]) for docid in ranked}
    run.setdefault("q0", {"d0": 1.0})
    run["qx"] = {"d0": 1.0}
    return judgments, run


def judged_of(judgments: Nested, run: Scores, ranking: Ranking = PLAIN) -> JudgedGroups:
    return judge_groups(te.data.JudgmentGroups.from_dict(judgments), te.Run(run), ranking=ranking)


def values_of(name: str, judged: JudgedGroups, **parameters: Any) -> list[float]:
    found = FAMILIES[name].function(judged, **parameters)
    return [float(value) for value in found]


def ours(measure: str, judgments: Nested, run: Scores, ranking: Ranking = PLAIN) -> float:
    """Return the value of a measure, named in notation, for the only query."""
    (value,) = parse_measures(measure)[0](judged_of(judgments, run, ranking))
    return float(value)


def test_measures_of_subtopics_equal_their_twins() -> None:
    rng, wrong = random.Random("subtopics"), {}
    for _ in range(80):
        judgments, run = random_groups(rng)
        judged = judged_of(judgments, run)
        for name, twin in DIVERSITY.items():
            given = random_parameters(FAMILIES[name], rng, CHOICES | {"level": [-1, 0, 1, 2]})
            expected = [twin(twins.order(run.get(qid, {})), judgments[qid], **given) for qid in judged.qids]
            if values_of(name, judged, **given) != pytest.approx(expected, rel=1e-12, abs=1e-12):
                wrong[name] = (judgments, run, given)
    assert wrong == {}


def test_a_selection_of_queries_has_the_values_of_these() -> None:
    rng = random.Random("selected")
    for _ in range(20):
        judged = judged_of(*random_groups(rng))
        keep = np.array([rng.random() < 0.6 for _ in judged.qids])
        for name in DIVERSITY:
            parameters = random_parameters(FAMILIES[name], rng)
            of_all = np.array(values_of(name, judged, **parameters))
            assert values_of(name, judged.select(keep), **parameters) == of_all[keep].tolist(), (name, parameters)


def test_measures_of_one_plan_leave_out_different_queries() -> None:
    # ir_measures counts q2, which the run lacks, in StRecall (1 of 2 queries has its subtopic), but not in NumQ.
    judgments = te.data.JudgmentGroups.from_dict({"q2": {"1": {"d2": 1}}, "q1": {"1": {"d1": 1}}})
    run = {"q1": {"d1": 1.0}}
    with pytest.warns(te.errors.MissingQueriesWarning, match=r"\(q2\), and left out of num_q; complete=True"):
        means = te.evaluate(judgments, run, ["num_q", "StRecall@10"], profile="ir_measures").mean
    assert means == {"num_q": 1.0, "StRecall@10": 0.5}
    # The one preference of q1, a before b, is met; q2's is not.
    rows = [te.data.Preference(b"g", b"s", b"a", 2.0), te.data.Preference(b"g", b"s", b"b", 1.0)]
    preferences = te.data.Preferences({"q1": rows, "q2": rows})
    with pytest.warns(te.errors.MissingQueriesWarning, match=r"\(q2\), and left out of num_q; complete=True"):
        means = te.evaluate(
            preferences, {"q1": {"a": 2.0, "b": 1.0}}, ["num_q", "prefs_num_prefs_ful"], profile="ir_measures"
        ).mean
    assert means == {"num_q": 1.0, "prefs_num_prefs_ful": 1.0}


# A worked example ---------------------------------------------------------------------------------

TOY: Nested = {"q": {"1": {"b": 1, "a": 1, "d": 0}, "2": {"a": 1}, "3": {"c": 1}}}
TOY_RUN: Scores = {"q": {"b": 4.0, "a": 3.0, "x": 2.0, "c": 1.0}}


def test_the_example_has_the_values_of_ndeval() -> None:
    # pyndeval 0.0.8 and, for the first four, the formulas by hand.
    values = {
        "ERR_IA@5": 0.484115, "alpha_DCG@5": 0.521810, "alpha_nDCG@5": 0.825106, "NRBP": 0.46875, "nERR_IA@5": 0.75,
        "nNRBP": 0.714286, "AP_IA": 0.583333, "P_IA@5": 0.266667, "StRecall@5": 1.0,
    }  # fmt: skip
    assert {measure: ours(measure, TOY, TOY_RUN) for measure in values} == pytest.approx(values, abs=5e-7)


def test_the_example_has_the_values_of_exact_arithmetic() -> None:
    half = Fraction(1, 2)
    # b has subtopic 1; a has 1 again, and 2; x has none; c has 3.
    gains = [Fraction(1), half + 1, Fraction(0), Fraction(1)]
    # The best first document is a, with two subtopics; then c, whose subtopic is new; then b.
    ideal = [Fraction(2), Fraction(1), half]
    ideal_by_rank = sum((gain / rank for rank, gain in enumerate(ideal, 1)), Fraction())
    by_rank = sum((gain / rank for rank, gain in enumerate(gains, 1)), Fraction())
    by_patience = sum((gain * half**above for above, gain in enumerate(gains)), Fraction())
    ideal_by_patience = sum((gain * half**above for above, gain in enumerate(ideal)), Fraction())
    three_at_each_rank = sum((3 * half**above / (above + 1) for above in range(5)), Fraction())
    expected = {
        "ERR_IA@5": by_rank / three_at_each_rank,
        "nERR_IA@5": by_rank / ideal_by_rank,
        "NRBP": (1 - half * half) / 3 * by_patience,
        "nNRBP": by_patience / ideal_by_patience,
        # Subtopic 1: ranks 1 and 2; subtopic 2: rank 2; subtopic 3: rank 4.
        "AP_IA": ((Fraction(1) + Fraction(2, 2)) / 2 + half + Fraction(1, 4)) / 3,
        "P_IA@5": (Fraction(2, 5) + Fraction(1, 5) + Fraction(1, 5)) / 3,
        "StRecall@1": Fraction(1, 3),
        "StRecall@3": Fraction(2, 3),
        "StRecall@5": Fraction(3, 3),
    }
    assert (by_rank, ideal_by_rank, expected["nERR_IA@5"]) == (2, Fraction(8, 3), Fraction(3, 4))
    assert (by_patience, ideal_by_patience, expected["nNRBP"]) == (Fraction(15, 8), Fraction(21, 8), Fraction(5, 7))
    for measure, value in expected.items():
        assert ours(measure, TOY, TOY_RUN) == pytest.approx(float(value), rel=1e-14), measure


def test_alpha_dcg_is_the_bare_sum_divided_by_its_bound() -> None:
    bare = 1 / math.log2(2) + 1.5 / math.log2(3) + 1 / math.log2(5)
    assert bare == pytest.approx(2.377071, abs=5e-7)  # the formula by hand
    bound = 3 * sum(0.5**above / math.log2(above + 2) for above in range(5))
    assert ours("alpha_DCG@5", TOY, TOY_RUN) == pytest.approx(bare / bound, rel=1e-14)
    ideal = 2 / math.log2(2) + 1 / math.log2(3) + 0.5 / math.log2(4)
    assert ours("alpha_nDCG@5", TOY, TOY_RUN) == pytest.approx(bare / ideal, rel=1e-14)


def test_the_example_of_pyndevals_readme_has_its_values() -> None:
    # README of pyndeval 0.0.8, which cuts values after the fourth decimal or rounds them.
    judgments = {"0": {"a": {"A": 1}, "b": {"B": 1, "D": 1}, "c": {"C": 1}}}
    run = {"0": {"A": 9.3, "D": 8.4, "E": 8.1, "B": 7.6}}
    stated = {
        "ERR_IA@5": 0.3933, "ERR_IA@10": 0.3907, "ERR_IA@20": 0.3907, "nERR_IA@5": 0.8297, "nERR_IA@20": 0.8297,
        "alpha_DCG@5": 0.4052, "alpha_DCG@10": 0.3998, "alpha_DCG@20": 0.3997, "alpha_nDCG@5": 0.7868, "NRBP": 0.3906,
        "nNRBP": 0.8620, "AP_IA": 0.5, "P_IA@5": 0.2, "P_IA@10": 0.1, "StRecall@5": 0.6666,
    }  # fmt: skip
    for measure, value in stated.items():
        assert ours(measure, judgments, run) == pytest.approx(value, abs=1.01e-4), measure


# What counts --------------------------------------------------------------------------------------

ALL = ("alpha_DCG@5", "alpha_nDCG@5", "ERR_IA@5", "nERR_IA@5", "NRBP", "nNRBP", "AP_IA", "P_IA@5", "StRecall@5")


def test_a_query_without_relevant_documents_is_0() -> None:
    judgments = {"q": {"1": {"a": 0, "b": -1}, "2": {"a": 0}}}
    assert [ours(measure, judgments, {"q": {"a": 1.0, "b": 0.5}}) for measure in ALL] == [0.0] * len(ALL)


def test_a_query_for_which_nothing_was_retrieved_is_0() -> None:
    judged = judged_of(TOY, {"other": {"a": 1.0}})
    assert judged.qids == ("q",)
    assert [parse_measures(measure)[0](judged).tolist() for measure in ALL] == [[0.0]] * len(ALL)


def test_no_queries_have_no_values() -> None:
    judged = judge_groups(te.data.JudgmentGroups.from_dict({}), te.Run({}))
    assert [parse_measures(measure)[0](judged).tolist() for measure in ALL] == [[]] * len(ALL)


def test_subtopics_without_a_relevant_document_do_not_count() -> None:
    more = {"q": {**TOY["q"], "0": {"a": 0}, "4": {"b": -2, "c": 0}}}
    for measure in ALL:
        assert ours(measure, more, TOY_RUN) == ours(measure, TOY, TOY_RUN), measure


def test_only_whether_a_grade_reaches_the_level_counts() -> None:
    grades = {"q": {"1": {"b": 3, "a": 1, "d": 0}, "2": {"a": 4}, "3": {"c": 1}}}
    for measure in ALL:
        name, _, at = measure.partition("@")
        tail = f"@{at}" if at else ""
        assert ours(measure, grades, TOY_RUN) == ours(measure, TOY, TOY_RUN), measure
        higher = {"q": {"1": {"b": 3}, "2": {"a": 4}}}
        assert ours(f"{name}(rel=2){tail}", grades, TOY_RUN) == ours(measure, higher, TOY_RUN), measure
    # From level 0 on d is relevant too, and no negative judgment ever is.
    assert ours("AP_IA(rel=0)", {"q": {"1": {"a": 0, "b": -1}}}, {"q": {"b": 2.0, "a": 1.0}}) == 0.5


def test_a_document_counts_once_for_each_of_its_subtopics() -> None:
    both = {"q": {"1": {"a": 1}, "2": {"a": 1}}}
    assert [ours(measure, both, {"q": {"a": 1.0}}) for measure in ("P_IA@1", "StRecall@1", "AP_IA")] == [1.0] * 3
    assert ours("alpha_DCG@1", both, {"q": {"a": 1.0}}) == ours("ERR_IA@1", both, {"q": {"a": 1.0}}) == 1.0


def test_with_alpha_0_repetition_costs_nothing_and_with_alpha_1_it_brings_nothing() -> None:
    judgments = {"q": {"1": {"a": 1, "b": 1}}}
    run = {"q": {"a": 2.0, "b": 1.0}}
    assert ours("ERR_IA(alpha=0)@2", judgments, run) == 1.0
    assert ours("nERR_IA(alpha=1)@2", judgments, run) == 1.0
    assert ours("NRBP(alpha=1,beta=1)", judgments, run) == 1.0
    assert ours("NRBP(alpha=0,beta=1)", judgments, run) == 0.0  # divided by an infinite bound
    assert ours("nNRBP(alpha=0,beta=1)", judgments, {"q": {"a": 1.0}}) == 0.5


# A chain: each document shares a subtopic with the next one.
CHAIN = {"q": {"1": {"x": 1}, "2": {"x": 1, "y": 1}, "3": {"y": 1, "z": 1}, "4": {"z": 1}}}
# The same, with the larger id in the middle.
MIDDLE = {"q": {"1": {"x": 1}, "2": {"x": 1, "zz": 1}, "3": {"zz": 1, "z": 1}, "4": {"z": 1}}}


def test_the_ideal_ranking_takes_the_larger_id_of_two_equal_documents() -> None:
    # All three have the gain 2 at rank 1. z leaves x its gain of 2 for rank 2; zz leaves each of the others 1 + 1/2.
    assert ours("nERR_IA@2", CHAIN, {"q": {"x": 1.0}}) == pytest.approx(2 / (2 + 2 / 2), rel=1e-14)
    assert ours("nERR_IA@2", MIDDLE, {"q": {"x": 1.0}}) == pytest.approx(2 / (2 + 1.5 / 2), rel=1e-14)


@pytest.mark.slow
def test_a_ranking_can_be_better_than_the_greedy_one() -> None:
    run = {"q": {"x": 2.0, "z": 1.0}}
    best = max(
        sum(gain / rank for rank, gain in enumerate(gains_of(list(order), MIDDLE["q"], 1, 0.5), 1))
        for order in permutations(["x", "z", "zz"], 2)
    )
    assert best == 2 + 2 / 2
    assert ours("nERR_IA@2", MIDDLE, run) == pytest.approx(best / (2 + 1.5 / 2), rel=1e-14)
    theirs = ndevals(MIDDLE, run, ["nERR-IA@2"])["q"]["nERR-IA@2"]
    assert theirs == pytest.approx(best / (2 + 1.5 / 2), rel=1e-14)


def test_deep_cutoffs_are_as_good_as_shallow_ones() -> None:
    # The gains of the bound are halved at each rank, so that those beyond a thousand are 0.
    assert ours("ERR_IA@5000", TOY, TOY_RUN) == ours("ERR_IA@100000", TOY, TOY_RUN)
    assert ours("ERR_IA@999999999999999999", TOY, TOY_RUN) == ours("ERR_IA@5000", TOY, TOY_RUN)
    assert ours("ERR_IA@5000", TOY, TOY_RUN) == pytest.approx(2 / (3 * 2 * math.log(2)), rel=1e-12)
    # Where they stay, the bound goes on: with alpha = 0 it has 3/i at rank i.
    for cutoff in (3999, 4000, 4001, 8000, 8001):  # it is added up in blocks of 4000 ranks
        harmonic = math.fsum(1 / rank for rank in range(1, cutoff + 1))
        found = ours(f"ERR_IA(alpha=0)@{cutoff}", TOY, TOY_RUN)
        assert found == pytest.approx((1 + 2 / 2 + 1 / 4) / (3 * harmonic), rel=1e-12)
    slowly = math.fsum((1 - 0.0001) ** (rank - 1) / rank for rank in range(1, 9001))
    assert ours("nERR_IA(alpha=0.0001)@9000", TOY, TOY_RUN) == pytest.approx(
        (1 + 1.9999 / 2 + 1 / 4) / (2 + 1 / 2 + 0.9999 / 3), rel=1e-12
    )
    assert ours("ERR_IA(alpha=0.0001)@9000", TOY, TOY_RUN) == pytest.approx(
        (1 + 1.9999 / 2 + 1 / 4) / (3 * slowly), rel=1e-12
    )
    assert ours("P_IA@999999999999999999", TOY, TOY_RUN) == pytest.approx(4 / 3 * 1e-18)


def test_many_documents_alike_are_ranked_in_time() -> None:
    judgments = {"q": {f"{number}": {f"d{at}": 1 for at in range(3000) if at % (number + 2)} for number in range(6)}}
    run = {"q": {f"d{at}": -float(at) for at in range(3000)}}
    assert 0 < ours("nNRBP(beta=1)", judgments, run) <= 1


# What holds for all of them -----------------------------------------------------------------------


def everything(judgments: Nested, run: Scores, ranking: Ranking = PLAIN) -> dict[str, list[float]]:
    judged = judged_of(judgments, run, ranking)
    return {str(measure): list(measure(judged)) for name in DIVERSITY for measure in FAMILIES[name].measures()}


def shuffled(table: Any, rng: random.Random) -> Any:
    if not isinstance(table, dict):
        return table
    items = [(key, shuffled(value, rng)) for key, value in table.items()]
    rng.shuffle(items)
    return dict(items)


def renamed(table: Any) -> Any:
    """Put an x before the ids of documents, which are the innermost keys."""
    return {
        key: renamed(value) if isinstance(next(iter(value.values()), None), dict)
        else {f"x{docid}": number for docid, number in value.items()}
        for key, value in table.items()
    }  # fmt: skip


PAIRS = [random_groups(random.Random(seed)) for seed in range(40)]


def test_lines_names_of_documents_and_unjudged_ones_at_the_end_change_nothing() -> None:
    for seed, (judgments, run) in enumerate(PAIRS):
        rng, values = random.Random(seed), everything(judgments, run)
        assert everything(shuffled(judgments, rng), shuffled(run, rng)) == values, seed
        assert everything(renamed(judgments), renamed(run)) == values, seed
        longer = {qid: {**scores, "y1": -8.0, "y2": -9.0} for qid, scores in run.items()}
        assert everything(judgments, longer) == values, seed
        for name, each in values.items():
            # Not divided by the greedy ranking, which can be beaten, they are between 0 and 1.
            most = 1.5 if name.startswith(("alpha_ndcg", "nerr", "nnrbp")) else 1 + 1e-12
            assert all(0 <= value <= most for value in each), (seed, name)


def test_all_queries_at_once_are_as_one_at_a_time() -> None:
    for seed, (judgments, run) in enumerate(PAIRS[:15]):
        alone = [everything({qid: judgments[qid]}, {qid: run.get(qid, {})}) for qid in sorted(judgments)]
        together = everything(judgments, run)
        assert {name: [value for each in alone for value in each[name]] for name in together} == together, seed


def test_what_was_computed_before_does_not_matter() -> None:
    names = ("alpha_nDCG({})@3", "nERR_IA({})@3", "nERR_IA({})@20", "ERR_IA({})@3", "nNRBP({})")
    for seed, (judgments, run) in enumerate(PAIRS[:15]):
        judged = judged_of(judgments, run)
        for parameters, name in product(("alpha=0.5", "alpha=0.9", "rel=2", "alpha=0.9,rel=2"), names):
            (measure,) = parse_measures(name.format(parameters))
            assert list(measure(judged)) == list(measure(judged_of(judgments, run))), (seed, measure)


def test_documents_that_no_subtopic_judges_can_be_taken_out() -> None:
    for seed in range(15):
        judgments, run = random_groups(random.Random(seed), negatives=False)
        kept = {
            qid: {docid: score for docid, score in scores.items()
                  if any(docid in labels for labels in judgments.get(qid, {}).values())}
            for qid, scores in run.items()
        }  # fmt: skip
        assert everything(judgments, run, Ranking(judged_only=True)) == everything(judgments, kept), seed


# Against ndeval -----------------------------------------------------------------------------------

CUT = {
    "alpha_DCG": "alpha-DCG",
    "alpha_nDCG": "alpha-nDCG",
    "ERR_IA": "ERR-IA",
    "nERR_IA": "nERR-IA",
    "P_IA": "P-IA",
    "StRecall": "strec",
}
UNCUT = {"NRBP": "NRBP", "nNRBP": "nNRBP", "AP_IA": "MAP-IA"}


def ndevals(
    judgments: Nested,
    run: Scores,
    measures: list[str],
    *,
    level: int = 1,
    alpha: float = 0.5,
    beta: float = 0.5,
    backwards: bool = False,
) -> dict[str, dict[str, float]]:
    pyndeval = pytest.importorskip("pyndeval")
    # It numbers subtopics as they come, and adds up their gains in this order; ours is that of their names.
    lines = sorted(
        (
            (subtopic, qid, docid, rel)
            for qid, groups in judgments.items()
            for subtopic, labels in groups.items()
            for docid, rel in labels.items()
        ),
        reverse=backwards,
    )
    qrels = [(qid, subtopic, docid, rel) for subtopic, qid, docid, rel in lines]
    scored = [(qid, docid, score) for qid, scores in run.items() for docid, score in scores.items()]
    evaluator = pyndeval.RelevanceEvaluator(qrels, measures, relevance_level=level, alpha=alpha, beta=beta)
    found: dict[str, dict[str, float]] = evaluator.evaluate(scored)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("part", range(5))
def test_500_random_runs_have_ndevals_values(part: int) -> None:
    for seed in range(part * 100, (part + 1) * 100):
        rng = random.Random(seed)
        judgments, run = random_groups(rng)
        level = rng.choice([0, 1, 1, 2])
        alpha = rng.choice([0.5, 0.5, rng.choice([0.0, 0.1, 0.25, 0.3, 0.7, 1.0])])
        beta = rng.choice([0.5, rng.choice([0.0, 0.25, 0.8, 1.0])])
        # Not 1, where it forgets to divide (below).
        names = {f"{name}@{k}": f"{theirs}@{k}" for name, theirs in CUT.items() for k in (2, 3, 5, 10, 19, 20)}
        names |= UNCUT
        theirs = ndevals(judgments, run, list(names.values()), level=level, alpha=alpha, beta=beta)
        judged = judged_of(judgments, run, NDEVALS_TIES)
        assert set(theirs) == {qid for qid in judgments if qid in run}
        given = {"level": level, "alpha": alpha, "patience": beta}
        for name, their_name in names.items():
            for qid, value in zip(judged.qids, parse_measures(name)[0].with_defaults(given)(judged), strict=True):
                expected = theirs[qid][their_name] if qid in theirs else 0.0
                if math.isnan(expected):
                    # nNRBP is 0/0 there: without a relevant document, where ours is 0, and for alpha = 0, beta = 1,
                    # where the factor that is 0 stands on both sides and ours is the ratio without it.
                    assert name == "nNRBP"
                    assert value == 0.0 or (alpha, beta) == (0.0, 1.0)
                    continue
                assert value == pytest.approx(expected, rel=1e-12, abs=1e-12), (seed, qid, name, level, alpha, beta)


@pytest.mark.slow
def test_ndeval_does_not_divide_by_the_bound_at_cutoff_1() -> None:
    judgments = {"q": {"1": {"a": 1}, "2": {"a": 1}, "3": {"b": 1}}}
    run = {"q": {"a": 2.0, "b": 1.0}}
    theirs = ndevals(judgments, run, ["ERR-IA@1", "alpha-DCG@1", "nERR-IA@1", "alpha-nDCG@1"])["q"]
    assert theirs == {"ERR-IA@1": 2.0, "alpha-DCG@1": 2.0, "nERR-IA@1": 1.0, "alpha-nDCG@1": 1.0}
    for measure, value in {"ERR_IA@1": 2 / 3, "alpha_DCG@1": 2 / 3, "nERR_IA@1": 1.0, "alpha_nDCG@1": 1.0}.items():
        assert ours(measure, judgments, run) == pytest.approx(value, rel=1e-14)


@pytest.mark.slow
def test_ndevals_ideal_ranking_depends_on_the_order_of_lines() -> None:
    # For alpha = 0.3 equal gains differ in the last bit when they are added up in another order, and then another
    # document comes first. Ours are added up in the order of the subtopics' names, whatever the order of lines.
    rng = random.Random(60)
    covered = [[f"d{number}" for number in range(9) if rng.random() < 0.5] for _ in range(5)]
    judgments = {"q": {str(name): dict.fromkeys(docids, 1) for name, docids in enumerate(covered)}}
    run = {"q": {"d0": 1.0}}
    theirs = [
        ndevals(judgments, run, ["nERR-IA@20"], alpha=0.3, backwards=backwards)["q"]["nERR-IA@20"]
        for backwards in (False, True)
    ]
    assert abs(theirs[0] - theirs[1]) > 1e-5
    for groups in (judgments["q"], dict(reversed(judgments["q"].items()))):
        assert ours("nERR_IA(alpha=0.3)@20", {"q": groups}, run) == pytest.approx(theirs[0], rel=1e-14)


# From Python and from the command line --------------------------------------------------------------


def test_names_and_notations_are_the_same_measures(snapshot: SnapshotAssertion) -> None:
    pairs = {
        "alpha_dcg_cut_10": "alpha_DCG@10",
        "alpha_ndcg_cut.10": "α_nDCG@10",
        "err_ia_cut.20": "ERR_IA@20",
        "nerr_ia_cut_20": "nERR_IA@20",
        "nrbp": "NRBP",
        "nnrbp": "nNRBP",
        "ap_ia": "MAP_IA",
        "p_ia_cut_5": "P_IA@5",
        "strec_cut_5": "StRecall@5",
    }
    for name, notation in pairs.items():
        assert parse_measures(name) == parse_measures(notation)
    assert parse_measures("NRBP(alpha=0.25,beta=0.75)")[0].notation == "NRBP(alpha=0.25,beta=0.75)"
    assert [str(measure) for measure in parse_measures("alpha_ndcg_cut")] == [
        "alpha_nDCG@5", "alpha_nDCG@10", "alpha_nDCG@20",
    ]  # fmt: skip
    assert [refusal(parse_measures, name) for name in ("NRBP(beta=2)", "NRBP(alpha=-0.1)", "alpha_nDCG")] == snapshot


def test_judgments_of_subtopics_can_be_evaluated_from_dictionaries() -> None:
    judgments = te.data.JudgmentGroups.from_dict(TOY)
    results = te.evaluate(judgments, TOY_RUN, ["alpha_nDCG@5", "NRBP", "AP_IA(rel=2)"])
    assert results.mean["alpha_nDCG@5"] == pytest.approx(0.825106, abs=5e-7)  # pyndeval 0.0.8
    assert (results["q"]["NRBP"], results["q"]["AP_IA(rel=2)"]) == (0.46875, 0.0)
    assert te.evaluate(judgments, TOY_RUN, "ap_ia", level=2).mean["ap_ia"] == 0.0


def test_judgments_of_subtopics_can_be_evaluated_from_files(tmp_path: Any) -> None:
    (tmp_path / "qrels").write_text("q 1 b 1\nq 1 a 1\nq 2 a 1\nq 3 c 1\nq 1 d 0\n")
    (tmp_path / "run").write_text("".join(f"q Q0 {docid} 1 {score} r\n" for docid, score in TOY_RUN["q"].items()))
    done = treceval(
        ["-R", "qrels_jg", "-m", "alpha_nDCG@5", "-m", "ERR_IA@5", "-m", "strec_cut.1,5", "qrels", "run"],
        folder=tmp_path,
    )
    # 0.825106, 0.484115 and 1 are pyndeval 0.0.8's; one of three subtopics is covered at rank 1.
    assert (done.status, done.err) == (0, b"")
    printed = dict(line.split(b"\tall\t") for line in done.out.splitlines())
    assert {name.strip(): value for name, value in printed.items()} == {
        b"alpha_nDCG@5": b"0.8251", b"ERR_IA@5": b"0.4841", b"strec_cut_1": b"0.3333", b"strec_cut_5": b"1.0000",
    }  # fmt: skip


def test_groups_from_a_dictionary_are_those_of_bytes() -> None:
    made = te.data.JudgmentGroups.from_dict({"q": {"é": {"b": np.int64(2)}, "B": {"ü": 0, "a": -1}}})
    assert made.groups == {"q": {b"B": {"ü".encode(): 0, b"a": -1}, "é".encode(): {b"b": 2}}}
    assert list(made.groups["q"]) == [b"B", "é".encode()]
    assert (made.qids, made.max_rel) == (("q",), 2)


WRONG: list[Any] = [
    [],
    {None: {}},
    {"q": ["a"]},
    {"q": {1: {"a": 1}, "2": {"a": 1}}},
    {"q": {"a": 1}},
    {"q": {"1": {b"a": 1}}},
    {"q": {"1": {"a": 0.5}}},
    {"q": {"1": {"é": 1, "\udcc3\udca9": 1}}},
    {"q": {"é": {"a": 1}, "\udcc3\udca9": {"a": 0}}},
    {"q": {"\ud800": {"a": 1}}},
]


def test_a_dictionary_that_holds_no_judgments_of_groups_is_refused(snapshot: SnapshotAssertion) -> None:
    assert {ascii(wrong): refusal(te.data.JudgmentGroups.from_dict, wrong) for wrong in WRONG} == snapshot


@pytest.mark.slow
def test_under_the_profile_of_ir_measures_ties_are_those_of_pyndeval() -> None:
    ir_measures = pytest.importorskip("ir_measures")
    pytest.importorskip("pyndeval")
    # b, which is relevant, and a have one score: the smaller id stands first there, the larger one in trec_eval.
    groups = te.data.JudgmentGroups.from_dict({"1": {"1": {"b": 1}, "2": {"c": 1}}})
    run = {"1": {"a": 2.0, "b": 2.0, "c": 1.0}}
    rows = [ir_measures.Qrel("1", "b", 1, "1"), ir_measures.Qrel("1", "c", 1, "2")]
    for name in ("alpha_nDCG@5", "ERR_IA@5", "NRBP", "AP_IA", "StRecall@1"):
        theirs = ir_measures.calc_aggregate([ir_measures.parse_measure(name)], rows, run)
        (expected,) = theirs.values()
        assert te.evaluate(groups, run, name, profile="ir_measures").mean[name] == pytest.approx(expected, abs=1e-12)
        assert name == "StRecall@1" or te.evaluate(groups, run, name).mean[name] > expected
