"""The provider for ir_measures gives ir_measures' own values, wherever its functions are called."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

import ir_measures
import pandas as pd
import pytest
from ir_measures import (
    AP,
    ERR,
    RR,
    Accuracy,
    Judged,
    Metric,
    NumQ,
    NumRel,
    NumRet,
    P,
    Qrel,
    ScoredDoc,
    StRecall,
    alpha_nDCG,
    nDCG,
)
from random_runs import random_pair

import treceval_py as te
from treceval_py.integrations.ir_measures import TrecevalProvider, measure, provide, withdraw

QRELS = {"q1": {"a": 1, "b": 0, "c": 2}, "q2": {"a": 1}, "lost": {"a": 1}}
RUN = {"q1": {"b": 3.0, "a": 2.0, "x": 1.0}, "q2": {"y": 2.0, "a": 1.0}, "unjudged": {"a": 1.0}}


@pytest.fixture(autouse=True)
def _withdrawn() -> Iterator[None]:
    yield
    withdraw()


def names_of_providers() -> list[str]:
    return [each.NAME for each in ir_measures.DefaultPipeline.providers]


def test_one_line_lets_every_function_of_ir_measures_compute_with_this_package() -> None:
    before = names_of_providers()
    theirs = ir_measures.calc_aggregate([AP, P @ 2], QRELS, RUN)
    assert names_of_providers() == before
    provider = provide()
    assert names_of_providers() == ["treceval_py", *before]
    assert ir_measures.providers.registry["treceval_py"] is provider
    provide()  # a second time is not twice
    assert names_of_providers() == ["treceval_py", *before]
    assert ir_measures.calc_aggregate([AP, P @ 2], QRELS, RUN) == theirs
    assert type(ir_measures.evaluator([AP], QRELS)).__module__ == "treceval_py.integrations.ir_measures"
    assert AP.calc_aggregate(QRELS, RUN) == theirs[AP]
    withdraw()
    assert names_of_providers() == before
    assert "treceval_py" not in ir_measures.providers.registry


def test_a_judged_query_that_the_run_lacks_is_there_with_its_value() -> None:
    """As ir_measures says it: each judged query has a value, 0 where nothing was retrieved."""
    provider = TrecevalProvider()
    assert set(provider.iter_calc([P @ 2], QRELS, RUN)) == {
        Metric("q1", P @ 2, 0.5), Metric("q2", P @ 2, 0.5), Metric("lost", P @ 2, 0.0)
    }  # fmt: skip
    assert provider.calc_aggregate([P @ 2, NumRet], QRELS, RUN) == {P @ 2: 1 / 3, NumRet: 5.0}


def test_the_profile_decides_what_is_counted() -> None:
    """Under trec_eval's a query that the run lacks is left out: (0.5 + 0.5) / 2."""
    provider = provide("trec_eval-10")
    assert provider.profile.name == "trec_eval-10"
    with pytest.warns(te.errors.TrecevalWarning, match=r"1 judged query is missing \(lost\)"):
        assert ir_measures.calc_aggregate([P @ 2], QRELS, RUN) == {P @ 2: 0.5}
    with pytest.warns(te.errors.TrecevalWarning):
        assert [value.query_id for value in ir_measures.iter_calc([P @ 2], QRELS, RUN)] == ["q1", "q2"]
    with pytest.raises(te.errors.MeasureError, match="unknown profile 'trec'"):
        provide("trec")


def flat_qrels() -> Iterator[Qrel]:
    return (Qrel(qid, docid, label) for qid, row in QRELS.items() for docid, label in row.items())


def flat_run() -> Iterator[ScoredDoc]:
    return (ScoredDoc(qid, docid, score) for qid, row in RUN.items() for docid, score in row.items())


@pytest.mark.parametrize(
    ("qrels", "run"),
    [
        (flat_qrels, flat_run),
        (lambda: pd.DataFrame(flat_qrels()), lambda: pd.DataFrame(flat_run())),
        (lambda: list(flat_qrels()), lambda: pd.DataFrame(flat_run())),
    ],
    ids=["named tuples", "frames", "both"],
)
def test_all_forms_of_ir_measures_are_taken(qrels: Any, run: Any) -> None:
    measures = [AP, nDCG @ 3, RR @ 2]
    expected = TrecevalProvider().calc_aggregate(measures, QRELS, RUN)
    assert TrecevalProvider().calc_aggregate(measures, qrels(), run()) == expected
    provide()
    assert ir_measures.calc_aggregate(measures, qrels(), run()) == expected


def test_one_evaluator_scores_many_runs() -> None:
    evaluator = TrecevalProvider().evaluator([RR], QRELS)
    assert [evaluator.calc_aggregate({"q1": {"a": score, "x": 0.5}})[RR] for score in (0.4, 0.6)] == [0.5 / 3, 1 / 3]
    values = evaluator.calc(RUN)
    assert values.aggregated == {RR: (0.5 + 0.5 + 0) / 3}
    assert len(values.per_query) == 3


def test_nothing_judged_or_nothing_retrieved() -> None:
    provider = TrecevalProvider()
    assert list(provider.iter_calc([P @ 5], [], flat_run())) == []
    assert math.isnan(provider.calc_aggregate([P @ 5], [], RUN)[P @ 5])
    assert provider.calc_aggregate([P @ 5], QRELS, []) == {P @ 5: 0.0}
    assert list(provider.iter_calc([P @ 5], {}, {})) == []


def test_measures_of_subtopics_take_the_iteration_of_judgments() -> None:
    """Two of two subtopics are found at rank 2: 1; ranks 1 and 2 are ideal, each with a subtopic of its own."""
    judged = [Qrel("q", "a", 1, "1"), Qrel("q", "b", 1, "2"), Qrel("q", "c", 0, "2")]
    provider = TrecevalProvider()
    assert provider.qrel_inputs([StRecall @ 2, P @ 2]) == ["query_id", "doc_id", "relevance", "iteration"]
    assert provider.qrel_inputs([P @ 2]) == ["query_id", "doc_id", "relevance"]
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    expected = {StRecall @ 1: 0.5, StRecall @ 2: 1.0, alpha_nDCG @ 2: 1.0, P @ 2: 1.0}
    assert provider.calc_aggregate(list(expected), judged, run) == expected


def test_counts_of_judgments_are_0_for_a_query_that_the_run_lacks() -> None:
    """q1 has two relevant documents, q2 one, and lost one."""
    provide()
    assert ir_measures.calc_aggregate([NumQ, NumRel], QRELS, RUN) == {NumQ: 2.0, NumRel: 3.0}
    assert Metric("lost", NumRel, 0.0) in set(ir_measures.iter_calc([NumRel], QRELS, RUN))


def test_measures_with_other_values_here_are_left_to_ir_measures() -> None:
    """Accuracy: a is above one of the two other documents of q1, and above none of q2; lost has no value."""
    provider = provide()
    assert not provider.supports(Accuracy)
    assert not provider.supports(ir_measures.Compat)
    assert ir_measures.calc_aggregate([Accuracy], QRELS, RUN) == {Accuracy: 0.25}


def test_a_measure_of_this_package_is_an_object_of_ir_measures() -> None:
    """R_cap@1: one of min(1, 2) relevant documents is at rank 1, by hand; num_ret adds up."""
    provide()
    ours = [measure("R_cap@1"), measure("q_measure"), measure("num_ret"), AP]
    run = {"q1": {"c": 2.0, "a": 1.0}, "q2": {"x": 1.0}, "lost": {"a": 1.0}}
    found = ir_measures.calc_aggregate(ours, QRELS, run)
    assert {str(each): value for each, value in found.items()} == {
        "R_cap@1": pytest.approx(2 / 3), "q_measure": pytest.approx(2 / 3), "num_ret": 4.0, "AP": pytest.approx(2 / 3)
    }  # fmt: skip
    assert measure("R_cap@1") == measure("R_cap@1")
    assert measure("R_cap@1") != measure("R_cap@2")
    assert not ir_measures.pytrec_eval.supports(measure("R_cap@1"))
    for wrong, message in {"P": "'P' stands for 9 measures", "gm_map": "no per-query values"}.items():
        with pytest.raises(te.errors.MeasureError, match=message):
            measure(wrong)
    with pytest.raises(te.errors.MeasureError, match="unknown measure 'R_cup@1'"):
        measure("R_cup@1")


def test_what_it_lacks_goes_to_ir_measures_as_before() -> None:
    defined = ir_measures.define_byquery(lambda qrels, run: float(len(run)), name="AP")
    provider = provide()
    assert not provider.supports(defined)  # called AP, but computed by its author
    assert ir_measures.calc_aggregate([defined, P @ 1], QRELS, {"q1": {"a": 1.0, "x": 0.5}}) == {
        AP: 2 / 3,
        P @ 1: 1 / 3,
    }  # 2, 0, 0
    assert not provider.supports(ir_measures.RBP(p=0.8))  # graded there
    assert provider.supports(ir_measures.RBP(p=0.8, rel=1))
    with pytest.raises(ValueError, match="unsupported measure RBP"):
        provider.calc_aggregate([ir_measures.RBP(p=0.8)], QRELS, RUN)
    with pytest.raises(AssertionError, match="cutoff"):
        provider.supports(P)


def test_data_that_ir_measures_cannot_read_are_refused() -> None:
    with pytest.raises(te.errors.DataError, match="relevant"):
        TrecevalProvider().calc_aggregate([AP], {"q1": {"a": "relevant"}}, RUN)
    with pytest.raises(te.errors.DataError, match="NaN"):
        TrecevalProvider().calc_aggregate([AP], QRELS, {"q1": {"a": math.nan}})


MEASURES = [
    "AP", "AP@3", "AP(rel=2)@3", "BPM(max_rel=4)@5", "Bpref", "Bpref(rel=2)", "ERR@3", "INSQ(max_rel=4)", "INST(max_rel=4)", "IPrec@0.2", "Judged", "Judged@3", "NERR10(max_rel=4)",
    "NERR11(max_rel=4)", "NERR8(max_rel=4)@5", "NERR9(max_rel=4)@5", "NumQ", "NumRel", "NumRelRet", "NumRet", "P@3", "P(rel=2)@3",
    "R@3", "RBP(rel=1)", "RBP(p=0.5,rel=2)", "RR", "RR@2", "Rprec", "SDCG(max_rel=4)@5", "SetAP", "SetF", "SetF(beta=2.0)", "SetP",
    "SetP(relative=True)", "SetR", "Success@2", "infAP", "nDCG", "nDCG@3", "nDCG(dcg='exp-log2')@3", "nDCG(gains={1:3,2:9})@3",
    "AP(judged_only=True)", "P(judged_only=True)@3", "nDCG(judged_only=True)@3", "RR(judged_only=True)",
]  # fmt: skip

OF_SUBTOPICS = [
    "AP_IA", "ERR_IA@3", "NRBP", "P_IA@3", "StRecall@3", "alpha_DCG@3", "alpha_nDCG@3", "nERR_IA@3", "nNRBP",
]  # fmt: skip


def close(name: str, ours: float, theirs: float) -> bool:
    # gdeval prints five decimals
    return math.isclose(ours, theirs, abs_tol=6e-6 if name.startswith(("ERR@", "nDCG(dcg")) else 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", MEASURES)
def test_values_by_query_and_means_are_those_of_ir_measures(name: str) -> None:
    asked, provider = ir_measures.parse_measure(name), TrecevalProvider()
    assert provider.supports(asked)
    for seed in range(4 if "dcg=" in name or name[:3] == "ERR" else 25):  # Perl
        # gdeval.pl refuses a query whose id is not a number
        qrels, run = (
            {qid.strip("q"): row for qid, row in table.items()}
            for table in random_pair(random.Random(seed), negatives=False)
        )
        theirs = ir_measures.calc([asked], qrels, run)
        ours = provider.calc([asked], qrels, run)
        assert {(each.query_id, each.measure) for each in ours.per_query} == {
            (each.query_id, each.measure) for each in theirs.per_query
        }
        expected = {each.query_id: each.value for each in theirs.per_query}
        assert all(close(name, each.value, expected[each.query_id]) for each in ours.per_query), seed
        mean, their_mean = ours.aggregated[asked], theirs.aggregated[asked]
        assert close(name, mean, their_mean) or (math.isnan(mean) and math.isnan(their_mean))


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_SUBTOPICS)
def test_values_of_subtopics_are_those_of_ir_measures(name: str) -> None:
    asked = ir_measures.parse_measure(name)
    for seed in range(10):
        rng = random.Random(seed)
        ids = [f"d{number}" for number in range(12)]
        qrels = [
            Qrel(qid, each, rng.randint(0, 2), topic) for qid in "ab" for topic in "123" for each in rng.sample(ids, 4)
        ]
        run = {qid: {each: float(place) for place, each in enumerate(rng.sample(ids, 8))} for qid in "ab"}
        theirs = {(each.query_id, each.value) for each in ir_measures.iter_calc([asked], qrels, run)}
        for each in TrecevalProvider().iter_calc([asked], qrels, run):
            assert any(qid == each.query_id and math.isclose(value, each.value, abs_tol=1e-9) for qid, value in theirs)


def test_every_measure_of_ir_measures_is_supported_or_named_here() -> None:
    parameters = {"cutoff": 5, "recall": 0.5, "max_rel": 4}
    provider, lacking = TrecevalProvider(), []
    for name, known in ir_measures.measures.registry.items():
        given = {
            key: parameters[key]
            for key, info in known.SUPPORTED_PARAMS.items()
            if info.required and key not in known.params
        }
        if not provider.supports(known(**given)):
            lacking.append(name)
    need_a_cutoff = {"ERR_IA", "nERR_IA", "P_IA", "StRecall", "alpha_DCG", "alpha_nDCG", "α_DCG", "α_nDCG"}
    assert set(lacking) == {"RBP", "Accuracy", "Compat", *need_a_cutoff}  # RBP without rel is graded
    assert provider.supports(alpha_nDCG @ 5)
    assert not provider.supports(Accuracy)  # has other values there
    assert provider.supports(Judged @ 5)
    assert provider.supports(ERR @ 5)
    assert provider.supports(NumQ)
