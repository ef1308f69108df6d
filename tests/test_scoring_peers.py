"""Agreement with the packages that people use today: pytrec_eval-terrier and ir_measures."""

from __future__ import annotations

import math
import random
from typing import Any

import ir_measures
import pytest
import pytrec_eval
from random_runs import random_pair

import treceval_py as te

pytestmark = [
    pytest.mark.slow,
    # Random runs lack queries now and then, and look wrong.
    pytest.mark.filterwarnings("ignore::treceval_py.errors.MissingQueriesWarning"),
    pytest.mark.filterwarnings("ignore::treceval_py.errors.SuspectRunWarning"),
    pytest.mark.filterwarnings("ignore:.* can differ from:treceval_py.errors.TrecevalWarning"),
]

MEASURES = sorted(pytrec_eval.supported_measures - {"runid", "relstring"})
"""runid and relstring are texts, which pytrec_eval gives as whatever stands in memory."""


def same(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12)


@pytest.mark.parametrize("part", range(4))
def test_all_measures_of_pytrec_eval_have_its_values_on_2000_random_runs(part: int) -> None:
    for seed in range(part * 500, (part + 1) * 500):
        rng = random.Random(seed)
        qrels, run = random_pair(rng)
        # pytrec_eval reads past its table of levels where a query has no judgment of 0 or more (trec_eval 9's error).
        qrels = {qid: row for qid, row in qrels.items() if max(row.values()) >= 0}
        level, judged_only = rng.choice([1, 1, 2]), rng.random() < 0.3
        theirs = pytrec_eval.RelevanceEvaluator(qrels, set(MEASURES), level, judged_only).evaluate(run)
        ours = te.RelevanceEvaluator(qrels, set(MEASURES), level, judged_only).evaluate(run)
        assert list(ours) == list(theirs)
        for qid, values in theirs.items():
            assert set(ours[qid]) == set(values)
            # Where it divides 0 by 0 (nothing is left of a ranking) our value is that of the empty case, 0.
            expected = {name: 0.0 if math.isnan(value) else value for name, value in values.items()}
            wrong = {name: (ours[qid][name], value) for name, value in expected.items()
                     if not same(ours[qid][name], value)}  # fmt: skip
            assert wrong == {}, (seed, qid)
            assert all(type(value) is float for value in ours[qid].values())


@pytest.mark.parametrize(
    "names",
    [
        {"map", "ndcg"},
        {"ndcg_cut.10"},
        {"ndcg_cut_10", "ndcg_cut.5"},
        {"P.5,7"},
        {"P", "P.7"},
        {"official"},
        {"set"},
        {"set_F.0.5"},
        {"11pt_avg.0.5,1"},
        {"iprec_at_recall_0.50"},
        {"Rprec_mult.0.5"},
    ],
    ids=lambda names: "+".join(sorted(names)),
)
def test_the_keys_are_those_of_pytrec_eval(names: set[str]) -> None:
    qrels, run = {"q": {"a": 1, "b": 2}}, {"q": {"a": 1.0, "c": 0.5}}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)["q"]
    ours = te.RelevanceEvaluator(qrels, names).evaluate(run)["q"]
    assert set(ours) == set(theirs)
    assert {name: value for name, value in ours.items() if name != "runid"} == pytest.approx(
        {name: value for name, value in theirs.items() if name != "runid"}
    )


NOTATION = [
    "AP", "AP@3", "AP(rel=2)", "AP(rel=2)@100", "MAP", "nDCG", "nDCG@3", "NDCG@5", "P@1", "P@5", "P(rel=2)@3", "Precision@2",
    "R@2", "R@1000", "Recall@3", "R(rel=2)@4", "RR", "MRR", "RR(rel=2)", "Rprec", "RPrec", "Rprec(rel=2)", "Bpref",
    "BPref", "Bpref(rel=2)", "infAP", "infAP(rel=2)", "Judged@2", "Judged@10", "IPrec@0.1", "IPrec@0.75",
    "IPrec(rel=2)@0.5", "SetP", "SetP(rel=2)", "SetR", "SetRelP", "SetAP", "SetF", "SetF(beta=0.5)", "SetF(beta=2.0)",
    "Success@1", "Success@5", "Success(rel=2)@1", "NumRet", "NumRel", "NumRet(rel=1)",
    "nDCG(gains={1:3,2:9})@3", "nDCG(gains={1:3,2:9,0:1})",
]  # fmt: skip


@pytest.mark.parametrize("notation", NOTATION)
def test_the_notation_of_ir_measures_gives_its_values(notation: str) -> None:
    measure = ir_measures.parse_measure(notation)
    for seed in range(60):
        qrels, run = random_pair(random.Random(seed), negatives=False)
        # One score is one document here: ir_measures orders ties in several ways, and in float32 or float64.
        run = {qid: {docid: float(place) for place, docid in enumerate(sorted(row, key=row.__getitem__))}
               for qid, row in run.items()}  # fmt: skip
        results = te.evaluate(qrels, run, [notation], profile="trec_eval-9")
        theirs = {value.query_id: value.value for value in ir_measures.iter_calc([measure], qrels, run)}
        for qid in results:
            assert results[qid][notation] == pytest.approx(theirs[qid], rel=1e-12, abs=1e-12), (seed, qid)


def test_reciprocal_rank_with_a_cutoff_is_that_of_ir_measures_without_ties() -> None:
    qrels = {"1": {"a": 1}, "2": {"b": 2}}
    run = {"1": {"x": 3.0, "a": 2.0}, "2": {"x": 3.0, "y": 2.0, "b": 1.0}}
    theirs = ir_measures.calc_aggregate([ir_measures.RR @ 2], qrels, run)
    assert te.evaluate(qrels, run, "RR@2").mean["RR@2"] == theirs[ir_measures.RR @ 2] == 0.25


def with_bare(rng: random.Random) -> tuple[Any, Any]:
    """Return judgments and a run without equal scores, in which some queries have empty dictionaries."""
    qrels, run = random_pair(rng, negatives=False)
    for side in (qrels, run):
        for qid in ("q0", "q1", "q5"):
            if rng.random() < 0.4 and len(side) > 1:
                side[qid] = {}
    places = {qid: sorted(row, key=row.__getitem__) for qid, row in run.items()}
    return qrels, {qid: {docid: float(place) for place, docid in enumerate(row)} for qid, row in places.items()}


def test_pytrec_eval_counts_the_same_bare_queries() -> None:
    compared = 0
    for seed in range(400):
        qrels, run = with_bare(random.Random(seed))
        theirs = pytrec_eval.RelevanceEvaluator(qrels, {"map", "P"}).evaluate(run)
        assert set(te.RelevanceEvaluator(qrels, {"map", "P"}).evaluate(run)) == set(theirs), seed
        if theirs:
            ours = te.evaluate(qrels, run, ["map"], profile="pytrec_eval")
            assert {qid: row["map"] for qid, row in theirs.items()} == pytest.approx(
                {qid: ours[qid]["map"] for qid in ours}
            )
            compared += any(not row for side in (qrels, run) for row in side.values())
    assert compared > 200


OF_BARE = ["AP", "nDCG@10", "RR", "RR@10", "P@5", "R@5", "SetP", "SetF", "Rprec", "Bpref", "Success@5", "IPrec@0.5", "infAP",
           "Judged@10", "NumQ", "NumRel", "NumRet", "NumRet(rel=1)", "SDCG(max_rel=4)@10"]  # fmt: skip


@pytest.mark.parametrize("notation", OF_BARE)
def test_ir_measures_counts_the_same_bare_queries(notation: str) -> None:
    measure, compared = ir_measures.parse_measure(notation), 0
    for seed in range(120):
        qrels, run = with_bare(random.Random(seed))
        if not any(qrels.get(qid) and row for qid, row in run.items()):
            continue
        try:
            theirs = ir_measures.calc_aggregate([measure], qrels, run)[measure]
        except ZeroDivisionError:  # its Judged divides by the length of a list
            continue
        if not math.isnan(theirs):  # IPrec of a query without documents
            ours = te.evaluate(qrels, run, [notation], profile="ir_measures").mean[notation]
            assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-9), seed
            compared += any(not row for side in (qrels, run) for row in side.values())
    assert compared > 25


def test_flagembedding_counts_the_same_bare_queries() -> None:
    peer = pytest.importorskip("FlagEmbedding.abc.evaluation.utils")
    compared = 0
    for seed in range(200):
        qrels, run = with_bare(random.Random(seed))
        run = {qid: row for qid, row in run.items() if qid in qrels}  # it stops at others
        if not any(qrels[qid] and row for qid, row in run.items()):
            continue
        ours = te.evaluate(qrels, run, ["RR@10", "nDCG@10"], profile="flagembedding").mean
        assert ours["RR@10"] == pytest.approx(peer.evaluate_mrr(qrels, run, [10])["MRR@10"], abs=1e-5), seed
        assert ours["nDCG@10"] == pytest.approx(peer.evaluate_metrics(qrels, run, [10])[0]["NDCG@10"], abs=1e-5), seed
        compared += 1
    assert compared > 100
