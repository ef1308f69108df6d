"""Measures of learning to rank, recommendation and MTEB: twins, and arithmetic in sight.

What those programs print is in tests/test_scoring_ml_stack.py.
"""

from __future__ import annotations

import io
import math
import random
from pathlib import Path

import numpy as np
import pytest
import twins_lists
from random_runs import random_pair
from rankings import random_parameters
from refused import refusal
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py.judging.judged import ranked_labels
from treceval_py.judging.locating import judge
from treceval_py.measuring import FAMILIES, parse_measures

# Some inputs lack judged queries on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::treceval_py.errors.MissingQueriesWarning")

Labels = dict[str, dict[str, int]]
Scores = dict[str, dict[str, float]]


# Values of CatBoost 1.2.10, utils.eval_metric(labels, scores, metric, group_id=[0] * n), scores falling.
CATBOOST = {
    "PFound": ([0, 1, 0, 1, 1, 0], 0.85),
    "PFound:decay=0.5": ([0, 1, 0, 1, 1, 0], 0.5),
    "PFound:decay=0.85": ([0, 2, 1, 3, 0, 1], 0.9775),
    "PFound:top=3;decay=0.5": ([0, 2, 1, 3, 0, 1], 0.75),
    "QueryAUC": ([0, 1, 0, 1, 1, 0], 0.4444444444444444),
    "QueryAUC:type=Ranking": ([0, 2, 1, 3, 0, 1], 0.46153846153846156),
    "AverageGain:top=3": ([0, 2, 1, 3, 0, 1], 1.0),
    "QueryAverage:top=10": ([0, 2, 1, 3, 0, 1], 1.1666666666666667),
}


def test_catboosts_other_metrics() -> None:
    found = {}
    for name, (labels, _) in CATBOOST.items():
        qrels = {"1": {f"d{rank}": label for rank, label in enumerate(labels)}}
        run = {"1": {f"d{rank}": -float(rank) for rank in range(len(labels))}}
        found[name] = te.evaluate(qrels, run, name).mean[name]
    assert found == pytest.approx({name: value for name, (_, value) in CATBOOST.items()}, abs=1e-9)
    # Labels 1 0 1 0 1 with scores 3 1 2 2 1.
    tied = {"1": {"a": 3.0, "b": 1.0, "c": 2.0, "d": 2.0, "e": 1.0}}
    results = te.evaluate({"1": {"a": 1, "b": 0, "c": 1, "d": 0, "e": 1}}, tied, "QueryAUC")
    assert results.mean["QueryAUC"] == pytest.approx(0.6666666666666666)


def test_cornac_calls_ndcg_of_reciprocal_ranks_ncrr() -> None:
    # Relevant at ranks 2 and 4 of three: (1/2 + 1/4) / (1 + 1/2 + 1/3)
    run = {"1": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}}
    found = te.evaluate({"1": {"b": 2, "d": 1, "x": 1}}, run, "NCRR@10")
    assert found.mean["nDCG(discount=position,gain=binary)@10"] == pytest.approx(0.75 / (11 / 6))


# Pairs of documents, with ties -----------------------------------------------------------------------


def lists_of(rng: random.Random) -> tuple[Labels, Scores]:
    qrels, run = random_pair(rng)
    return qrels, {qid: {docid: round(score) for docid, score in scores.items()} for qid, scores in run.items()}


def of_scores(labels: dict[str, int], scores: dict[str, float]) -> tuple[list[int], list[float]]:
    order = sorted(scores, key=lambda docid: (scores[docid], docid.encode()), reverse=True)
    return [max(labels.get(docid, -1), -1) for docid in order], [scores[docid] for docid in order]


@pytest.mark.parametrize("name", list(twins_lists.SCORED))
def test_a_measure_of_pairs_equals_its_twin(name: str) -> None:
    rng, family = random.Random(name), FAMILIES[name]
    for _ in range(200):
        qrels, run = lists_of(rng)
        judged = judge(te.Qrels(qrels), te.Run(run), tied=True)
        given = random_parameters(family, rng)
        wanted = [twins_lists.SCORED[name](*of_scores(qrels[qid], run.get(qid, {})), **given) for qid in judged.qids]
        assert family.function(judged, **given).tolist() == pytest.approx(wanted, abs=1e-12), (given, qrels, run)


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore::treceval_py.errors.SuspectRunWarning"
)  # some made runs have only unjudged documents
def test_auc_is_that_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng, count = random.Random(1), 0
    for _ in range(100):
        qrels, run = lists_of(rng)
        for most in (1.0, 0.25):
            name = f"AUC(max_fpr={most})"
            found = te.evaluate(qrels, run, name)
            for qid in found:
                codes, scores = of_scores(qrels[qid], run[qid])
                relevant = [code >= 1 for code in codes]
                if len(set(relevant)) == 2:
                    wanted = metrics.roc_auc_score(relevant, scores, max_fpr=most if most < 1 else None)
                    assert found[qid][name] == pytest.approx(wanted, abs=1e-12)
                    count += 1
    assert count > 100


def test_of_documents_with_equal_scores_half_the_pairs_are_right_whatever_the_ids() -> None:
    for first, second in (("a", "b"), ("b", "a")):
        found = te.evaluate({"1": {first: 1}}, {"1": {first: 1.0, second: 1.0}}, ["AUC", "AUC(ties=wrong)", "OPA"])
        assert dict(found.mean) == {"AUC": 0.5, "AUC(ties=wrong)": 0.0, "OPA": 0.0}


# Fall-out --------------------------------------------------------------------------------------------

FALLOUT_QRELS: Labels = {"1": {"a": 1, "b": 0, "m": 0, "n": 1}}
FALLOUT_RUN: Scores = {"1": {"a": 3.0, "b": 2.0, "x": 1.0}}


def test_fall_out_knows_what_is_judged_and_what_was_retrieved_or_the_size_of_the_collection() -> None:
    # Non-relevant are b, m and x; of a collection of 102 documents, all but two.
    found = te.evaluate(FALLOUT_QRELS, FALLOUT_RUN, ["Fallout", "Fallout@2"])
    assert dict(found.mean) == {"Fallout": 2 / 3, "Fallout@2": 1 / 3}
    found = te.evaluate(FALLOUT_QRELS, FALLOUT_RUN, ["Fallout", "Fallout@2", "Fallout(docs=12)"], collection_size=102)
    assert dict(found.mean) == {"Fallout": 0.02, "Fallout@2": 0.01, "Fallout(docs=12)": 0.2}


def test_fall_out_has_ranges() -> None:
    found = te.ranges.assess(FALLOUT_QRELS, {"1": {"a": 3.0, "b": 2.0, "x": 2.0}}, ["Fallout"], depth=2)
    # At depth 2 b or x: (b) / (b, m) or (x) / (b, m, x).
    assert (found.ties["Fallout"].lowest[0], found.ties["Fallout"].highest[0]) == pytest.approx((1 / 3, 1 / 2))
    found = te.ranges.assess(FALLOUT_QRELS, FALLOUT_RUN, ["Fallout@2", "Fallout"], ties=False)
    # If x is relevant, b is one of b and m.
    assert (found.unjudged["Fallout"].lowest[0], found.unjudged["Fallout"].highest[0]) == (0.5, 2 / 3)
    assert (found.unjudged["Fallout@2"].lowest[0], found.unjudged["Fallout@2"].highest[0]) == (1 / 3, 0.5)


# Holes -----------------------------------------------------------------------------------------------


def hole_by_hand(qrels: Labels, run: Scores, cutoff: int) -> dict[str, float]:
    pool = {docid for labels in qrels.values() for docid in labels}
    values = {}
    for qid in sorted(set(qrels) & set(run)):
        order = sorted(run[qid], key=lambda docid: (run[qid][docid], docid.encode()), reverse=True)
        values[qid] = sum(docid not in pool for docid in order[:cutoff]) / cutoff
    return values


def as_file(run: Scores) -> bytes:
    rows = ((qid, docid, repr(score)) for qid, scores in run.items() for docid, score in scores.items())
    return "".join(f"{qid} Q0 {docid} 1 {score} t\n" for qid, docid, score in rows).encode()


@pytest.mark.filterwarnings("ignore::treceval_py.errors.SuspectRunWarning")  # in some, nothing is judged
def test_holes_are_the_same_for_dictionaries_tables_and_files(tmp_path: Path) -> None:
    rng = random.Random(3)
    for number in range(40):
        qrels, run = random_pair(rng)
        # Few documents are judged, so that some are judged for other queries only and some for none.
        qrels = {qid: dict(list(labels.items())[:3]) for qid, labels in qrels.items()}
        if not set(qrels) & set(run):
            continue
        (tmp_path / f"{number}").write_bytes(as_file(run))
        wanted = hole_by_hand(qrels, run, 5)
        for given in (run, te.Run(run), tmp_path / f"{number}", io.BytesIO(as_file(run))):
            found = te.evaluate(qrels, given, ["Hole@5", "map"])
            assert {qid: found[qid]["Hole@5"] for qid in found} == pytest.approx(wanted)


def test_holes_under_a_rank_column_a_depth_and_judged_documents_only(tmp_path: Path) -> None:
    qrels = {"1": {"a": 1}, "2": {"b": 0}}
    path = tmp_path / "run"
    path.write_text("1 Q0 x 1 9 t\n1 Q0 b 2 8 t\n1 Q0 a 3 7 t\n1 Q0 y 4 6 t\n2 Q0 y 1 1 t\n")
    for options, value in (({"profile": "msmarco"}, 2 / 4), ({"depth": 1}, 1 / 4), ({"judged_only": True}, 0.0)):
        assert te.evaluate(qrels, path, "Hole@4", **options)["1"]["Hole@4"] == value
    assert te.evaluate(qrels, path, "Hole@4").mean["Hole@4"] == (2 / 4 + 1 / 4) / 2


def test_other_measures_do_not_see_what_other_queries_judge() -> None:
    qrels, run = {"1": {"a": 1}, "2": {"b": 0}}, {"1": {"b": 2.0, "a": 1.0}}
    both = te.evaluate(qrels, run, ["Hole@2", "bpref", "num_nonrel_judged_ret", "judged.2", "relstring"])
    assert list(both["1"].values()) == [0.0, 1.0, 0.0, 0.5]
    assert both.text("relstring") == {"1": "-1"}


def test_holes_have_a_range_over_ties_and_an_arithmetic() -> None:
    qrels = {"1": {"a": 1}, "2": {"b": 0}}
    found = te.ranges.assess(qrels, {"1": {"a": 1.0, "b": 1.0, "x": 1.0}}, ["Hole@2"], unjudged=False).ties["Hole@2"]
    # x is among the first two in two of three orders.
    assert (found.lowest[0], found.expected[0], found.highest[0]) == pytest.approx((0, 1 / 3, 1 / 2))
    assert te.explaining.arithmetic(qrels, {"1": {"x": 2.0, "b": 1.0}}, "Hole@2", "1").value == 0.5


# nAUC ------------------------------------------------------------------------------------------------


def confidences(scores: dict[str, float]) -> dict[str, float]:
    down = sorted(scores.values(), reverse=True)
    if not down:
        return {"max": 0.0, "std": 0.0, "diff1": 0.0}
    return {"max": down[0], "std": float(np.std(down)), "diff1": down[0] - down[1] if len(down) > 1 else 0.0}


@pytest.mark.parametrize("by", ["max", "std", "diff1"])
def test_nauc_equals_its_twin(by: str, tmp_path: Path) -> None:
    rng = random.Random(by)
    for number in range(10):
        pairs = [random_pair(rng) for _ in range(6)]
        qrels = {f"{at}-{qid}": labels for at, (table, _) in enumerate(pairs) for qid, labels in table.items()}
        run = {f"{at}-{qid}": row for at, (_, table) in enumerate(pairs) for qid, row in table.items()}
        name = f"nAUC(of=AP,by={by})"
        values = te.evaluate(qrels, run, "AP", complete=True)
        sure = [confidences(run.get(qid, {}))[by] for qid in values]
        wanted = twins_lists.nauc([values[qid]["AP"] for qid in values], sure)
        (tmp_path / f"{number}").write_bytes(as_file(run))
        for given in (run, te.Run(run), tmp_path / f"{number}"):
            found = te.evaluate(qrels, given, [name, "P_5"], complete=True).mean[name]
            assert found == pytest.approx(wanted, abs=1e-9, nan_ok=True)


NAUC_QRELS: Labels = {"1": {"a": 1}, "2": {"a": 1}, "3": {"a": 1}}
NAUC_RUN: Scores = {"1": {"a": 0.9, "b": 0.5}, "2": {"b": 0.8, "a": 0.1}, "3": {"b": 0.7}}


def test_a_system_that_knows_what_it_answers_well_has_a_nauc_of_1() -> None:
    # RR is 1, 1/2 and 0, and so fall the highest scores; the differences of the first two are 0.4, 0.7 and 0.
    found = te.evaluate(NAUC_QRELS, NAUC_RUN, ["nAUC(of=RR,by=max)", "nAUC(of=RR,by=diff1)"])
    assert found.mean["nAUC(of=RR,by=max)"] == pytest.approx(1)
    # Of three queries none is dropped up to 0.1, one from 0.2 to 0.4 and at 0.5 two: round(1.5) is 2, as from 0.6 on.
    area = 0.1 * (0.5 + 0.625 + 0.75 + 0.75 + 0.625 + 0.5 * 4)
    best = 0.1 * (0.5 + 0.625 + 0.75 + 0.75 + 0.875 + 1 * 4)
    assert found.mean["nAUC(of=RR,by=diff1)"] == pytest.approx((area - 0.45) / (best - 0.45))


def test_nauc_is_that_of_the_queries_that_count() -> None:
    # gdeval leaves out a query without relevant documents, here the one of most confidence.
    qrels, run = NAUC_QRELS | {"0": {"a": 0}}, NAUC_RUN | {"0": {"a": 5.0}}
    found = te.evaluate(qrels, run, "nAUC(of=nDCG@10,by=diff1)", profile="gdeval")
    assert (
        found.averages[0]
        == te.evaluate(NAUC_QRELS, NAUC_RUN, "nAUC(of=nDCG@10,by=diff1)", profile="gdeval").averages[0]
    )


def test_nauc_has_no_value_of_a_query(snapshot: SnapshotAssertion) -> None:
    found = te.evaluate(NAUC_QRELS, NAUC_RUN, ["nAUC(of=RR,by=max)", "RR"])
    assert list(found["1"]) == ["RR"]
    assert list(found.to_pandas().columns) == ["RR"]
    assert [
        refusal(te.explaining.arithmetic, NAUC_QRELS, NAUC_RUN, "nAUC", "1"),
        refusal(te.ranges.assess, NAUC_QRELS, NAUC_RUN, "nAUC", unjudged=False),
        refusal(te.compare, NAUC_QRELS, [NAUC_RUN, NAUC_RUN], measures="nAUC"),
    ] == snapshot


def test_nauc_alone_is_that_of_ndcg_at_10_and_takes_the_level_and_the_conventions_of_its_measure() -> None:
    alone = te.evaluate(NAUC_QRELS, NAUC_RUN, ["nAUC", "nauc_ndcg_cut_10_max"])
    assert alone.mean["nAUC"] == alone.mean["nauc_ndcg_cut_10_max"]
    assert alone.signatures["nAUC"].short.startswith("nAUC(of=nDCG@10)|p:trec_eval-10|#:3|")
    graded = {"1": {"a": 1}, "2": {"a": 2}, "3": {"a": 2}}
    two = te.evaluate(graded, NAUC_RUN, ["nAUC(of=AP)", "nAUC(of=AP(rel=1))", "nAUC(of=AP(rel=2))"], level=2)
    values = [*two.mean.values()]
    assert values[0] == values[2] != values[1]
    judged_only = te.evaluate(NAUC_QRELS, NAUC_RUN, ["nAUC(of=RR(judged_only=True),by=max)"])
    assert judged_only.conventions[0].judged_only
    # Without b, RR is 1, 1 and 0, with the highest scores 0.9, 0.1 and none, 0.
    assert judged_only.mean["nAUC(of=RR(judged_only=True),by=max)"] == pytest.approx(1)


def test_a_nauc_of_equal_values_is_not_a_number_in_any_format() -> None:
    qrels, run = {"1": {"a": 1}, "2": {"a": 1}}, {"1": {"a": 1.0}, "2": {"a": 2.0}}
    assert math.isnan(te.evaluate(qrels, run, "nAUC").mean["nAUC"])


def test_what_cannot_be_computed_is_refused(snapshot: SnapshotAssertion) -> None:
    names = ["nAUC(of=runid)", "nAUC(of=P)", "nAUC(of=nAUC)", "nAUC(of=RR,by=mean)"]
    said = [refusal(parse_measures, name) for name in names]
    # Labels as probabilities have no ranges, and pairs need to know ties.
    for options in ({"unjudged": False}, {"ties": False}):
        said.append(refusal(te.ranges.assess, {"1": {"a": 2}}, {"1": {"a": 1.0}}, "ERR(stop=label)", **options))
    said.append(refusal(FAMILIES["auc"].function, ranked_labels("1 0")))
    assert said == snapshot


# One parameter more ----------------------------------------------------------------------------------

WORKED = [
    # (2^1 - 1) / (2^2 - 1) at rank 1 and 1 at rank 2, discounted, of two best documents.
    ("SDCG(gain=exp,max_rel=2)@2", "1 2", (1 / 3 + 1 / math.log2(3)) / (1 + 1 / math.log2(3))),
    ("P(norm=retrieved)@10", "1 0 1 -", 2 / 4),
    ("DCG(discount=position,gain=exp)@3", "2 0 1", 3 / 1 + 1 / 3),
    ("nDCG(discount=position)@2", "0 2 1", (2 / 2) / (2 / 1 + 1 / 2)),
    ("ERR(stop=label)", "0 1 1", 1 / 2),
    ("Bpref(negative=nonrelevant)", "-1 1 0 1", ((1 - 1 / 2) + (1 - 2 / 2)) / 2),
    ("gRBP(p=0.5,scale=none)", "2 0 1", 0.5 * (2 + 0.25)),
    ("MeanP@3", "0 1 1", (0 + 1 / 2 + 2 / 3) / 3),
    ("ARP", "0 1 2", (2 * 1 + 3 * 2) / 3),
    ("PFound(decay=0.5,gains={1:0.5})", "1 1", 0.5 + 0.5 * 0.5 * 0.5),
]


def test_arithmetic_in_sight() -> None:
    for name, labels, value in WORKED:
        (measure,) = parse_measures(name)
        found = float(measure.with_defaults({"max_rel": 2})(ranked_labels(labels))[0])
        assert found == pytest.approx(value), name


def test_a_hit_rate_without_a_cutoff_is_that_of_the_whole_list() -> None:
    qrels, run = {"1": {"a": 1}, "2": {"a": 1}}, {"1": {"b": 2.0, "a": 1.0}, "2": {"b": 1.0}}
    wanted = {"Success": 0.5, "Success@1000": 0.5, "hit_rate": 0.5, "Success@2": 0.5, "Success@1": 0.0}
    found = te.evaluate(qrels, run, list(wanted))
    assert {name: found.mean[name] for name in wanted} == wanted
