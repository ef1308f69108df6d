"""Compare every measure of each profile with its program, live: ``profiles_comparison.py [-n CASES] [-s SEED] PROGRAM …``.

Cases are random, and hard: ties, ties in 32 bits only, negative scores and labels, high grades, queries without documents,
judgments or relevant documents, missing and extra queries, the query's own id. Each value of each measure that a program
offers is compared with ours under its profile. A value may differ only if our results say so (`Results.differs`), by what
the profile declares; and a declared difference must occur. A program that refuses a case has no value to compare with.

Exit status 0: so it is; 1: not; 2: a program that was named is not installed. Without names, those that are installed.
The environment variable TRECEVAL_PEER_CASES sets the number of cases for the tests too.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import importlib.util
import io
import itertools
import math
import os
import random
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

import treceval_py as te
from treceval_py.scoring.results import place_of

CASES = int(os.environ.get("TRECEVAL_PEER_CASES", "100"))
"""So many cases are tried of each program, and in so many every declared difference must occur."""

CUTOFFS = (1, 3, 10, 100)

Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]
ByQuery = Mapping[str, float]


class Case(NamedTuple):
    """Judgments, a run, and what is special about them."""

    qrels: Qrels
    run: Run
    kinds: frozenset[str] = frozenset()

    @property
    def binary(self) -> Case:
        """The case with the label 1 in place of every other one above 0."""
        return self._replace(
            qrels={qid: {docid: int(label > 0) for docid, label in row.items()} for qid, row in self.qrels.items()}
        )

    @property
    def lists(self) -> tuple[list[int], list[float], list[int]]:
        """Labels and scores of the documents of all queries of the run, and how many documents each has."""
        rows = [row for row in self.run.items() if row[1]]
        labels = [self.qrels.get(qid, {}).get(docid, 0) for qid, scores in rows for docid in scores]
        return labels, [score for _, row in rows for score in row.values()], [len(row) for _, row in rows]


KINDS = (
    "ties", "narrow ties", "negative scores", "negative labels", "grades", "high grades", "nothing relevant",
    "empty ranking", "empty judgments", "missing query", "extra query", "own id", "long lists",
)  # fmt: skip


def random_case(rng: random.Random, kinds: Iterable[str] | None = None) -> Case:
    """Return a case in which about a third of the kinds occur."""
    kinds = {kind for kind in KINDS if rng.random() < 0.3} if kinds is None else set(kinds)
    size = 20 + int(1500 ** rng.random()) if "long lists" in kinds else rng.randint(3, 12)
    documents = [f"d{number}" for number in range(size)]
    labels = [0, 0, 1]
    labels += [1, 2, 3] if "grades" in kinds else []
    labels += [4, 7, 12] if "high grades" in kinds else []
    labels += [-1, -2] if "negative labels" in kinds else []
    steps = [1 / 64]
    steps += [0.5] if "ties" in kinds else []
    steps += [2.0**-30] if "narrow ties" in kinds else []
    lowest = -1.0 if "negative scores" in kinds else 1 / 64
    qrels: Qrels = {}
    run: Run = {}
    numbers = [str(number) for number in range(1, rng.randint(1, 4) + 1)]
    for qid in numbers:
        step = rng.choice(steps)
        places = rng.sample(range(max(200, size)), size)
        if step == 0.5:
            places = [place % 4 for place in places]
        base = 1.0 if step < 1e-6 else lowest
        judged, ranked = (rng.sample(documents, rng.randint(1, len(documents))) for _ in range(2))
        qrels[qid] = {docid: rng.choice(labels) for docid in judged}
        qrels[qid][judged[0]] = max(qrels[qid][judged[0]], 0)  # pytrec_eval can crash if all labels are negative
        run[qid] = {docid: base + place * step for docid, place in zip(ranked, places, strict=False)}
        if "own id" in kinds:
            run[qid][qid] = rng.choice([*run[qid].values()])
            qrels[qid][qid] = rng.choice(labels)
    for kind, change in (
        ("nothing relevant", lambda qid: qrels[qid].update({docid: min(label, 0) for docid, label in qrels[qid].items()})),
        ("empty ranking", lambda qid: run[qid].clear()),
        ("empty judgments", lambda qid: qrels[qid].clear()),
        ("missing query", lambda qid: run.pop(qid)),
        ("extra query", lambda qid: qrels.pop(qid)),
    ):  # fmt: skip
        both = sorted(set(qrels) & set(run))
        if kind in kinds and len(both) > 1:
            change(rng.choice(both))
    return Case(qrels, run, frozenset(kinds))


class Asked(NamedTuple):
    """A measure of a program, and its value; None where the program refuses."""

    metric: str
    measure: str
    mean: float | None = None
    by_query: ByQuery = MappingProxyType({})
    """Values of queries, if the program gives them."""
    within: float = 1e-9


class Answer(NamedTuple):
    """Values of a program, and with what they have to be compared."""

    profile: str
    qrels: Any
    run: Run
    asked: list[Asked]
    options: Mapping[str, Any] = MappingProxyType({})


Answers = Iterator[Answer]


def files_of(case: Case, rng: random.Random, folder: str) -> tuple[str, str]:
    """Write a case as files, in which some documents occur twice with other values, and return their paths."""
    for name, form, values in (("qrels", "{} 0 {} {}", case.qrels), ("run", "{} Q0 {} 1 {!r} t", case.run)):
        lines = [form.format(qid, docid, value) for qid, row in values.items() for docid, value in row.items()]
        lines += [
            form.format(qid, docid, rng.choice([*row.values()]))
            for qid, row in values.items()
            for docid in rng.sample([*row], len(row) // 2)
        ]
        Path(folder, name).write_text("".join(f"{line}\n" for line in lines))
    return f"{folder}/qrels", f"{folder}/run"


def tried(call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Return what a program gives; None if it raises an exception."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return call(*arguments, **named)
    except Exception:  # noqa: BLE001 - whatever a program raises, it has no value
        return None


def mean_of(metric: str, measure: str, by_query: Mapping[str, float] | None, within: float = 1e-9) -> Asked:
    """Return a measure whose values the caller averages."""
    values = {qid: float(value) for qid, value in (by_query or {}).items()}
    mean = sum(values.values()) / len(values) if values else None
    return Asked(metric, measure, mean, values, within)


# Programs that take dictionaries ------------------------------------------------------------------

TREC_EVAL = """
    num_q num_ret num_rel num_rel_ret map Rprec bpref recip_rank 11pt_avg infAP binG G ndcg ndcg_rel Rndcg set_P
    set_recall set_F set_map set_relative_P num_nonrel_judged_ret gm_map gm_bpref iprec_at_recall P recall ndcg_cut
    map_cut relative_P success Rprec_mult utility P.1,3,100 recall.1,3,100 ndcg_cut.1,3,100 map_cut.1,3,100
    relative_P.1,3 success.2,3 iprec_at_recall.0.05,0.33,0.95 Rprec_mult.0.3,3 set_F.0.5 11pt_avg.0.1,0.5
"""


def pytrec_eval(case: Case, rng: random.Random) -> Answers:
    import pytrec_eval

    level, judged_only = rng.choice([1, 2]), rng.random() < 0.3
    asked = []
    for name in TREC_EVAL.split():
        evaluator = pytrec_eval.RelevanceEvaluator(case.qrels, {name}, level, judged_only)
        found = evaluator.evaluate(case.run)
        keys = sorted({key for row in found.values() for key in row})
        ours = te.evaluate({"1": {"a": 1}}, {"1": {"a": 1.0}}, name, profile="pytrec_eval").names
        for key in keys:
            measure = key if len(ours) > 1 else ours[0]
            values = {qid: row[key] for qid, row in found.items()}
            mean = pytrec_eval.compute_aggregated_measure(key, [*values.values()])
            asked.append(Asked(name, measure, mean, {} if key.startswith("gm_") else values))
    options = {"level": level, "judged_only": judged_only}
    yield Answer("pytrec_eval", case.qrels, case.run, asked, options)
    if all(case.qrels.values()) and all(
        case.run.values()
    ):  # it is trec_eval 9's code, whose files have no other queries
        yield Answer("trec_eval-9", case.qrels, case.run, asked, options)


IR_MEASURES = """
    AP AP@1 AP@3 AP@100 AP(rel=2) AP(rel=2)@3 AP(judged_only=True) AP(judged_only=True)@3
    nDCG nDCG@1 nDCG@3 nDCG@100 nDCG(judged_only=True)@3 nDCG(gains={1:5,2:1})@3 nDCG(gains={0:1,1:2})
    nDCG(dcg='exp-log2')@3 nDCG(dcg='exp-log2')@10 ERR@3 ERR@20
    P@1 P@3 P@100 P(rel=2)@3 P(judged_only=True)@3 R@1 R@3 R@100 R(rel=2)@3 R(judged_only=True)@3
    RR RR@1 RR@3 RR@10 RR(rel=2) RR(rel=2)@3 RR(judged_only=True) RR(judged_only=True)@3
    Rprec Rprec(rel=2) Rprec(judged_only=True) Bpref Bpref(rel=2) infAP infAP(rel=2)
    IPrec@0.0 IPrec@0.33 IPrec@0.5 IPrec@1.0 IPrec(judged_only=True)@0.5 Judged Judged@1 Judged@3 Judged@100
    NumQ NumRel NumRet NumRet(rel=1) NumRet(rel=2) NumRelRet
    SetP SetP(rel=2) SetP(relative=True) SetP(judged_only=True) SetR SetR(rel=2) SetF SetF(beta=2.0) SetF(rel=2)
    SetAP SetAP(rel=2) SetAP(judged_only=True) SetRelP Success@1 Success@3 Success@100 Success(rel=2)@3
    Success(judged_only=True)@3 RBP(rel=1) RBP(p=0.5,rel=1) RBP(p=0.95,rel=2)
    BPM(max_rel=4)@3 BPM(T=0.5,max_rel=4)@10 SDCG(max_rel=4)@3 SDCG(max_rel=2)@100 SDCG(min_rel=1,max_rel=4)@3
    NERR8(max_rel=4)@3 NERR8(max_rel=4)@100 NERR9(max_rel=4)@3 NERR9(max_rel=4)@100 NERR10(max_rel=4)
    NERR10(p=0.5,max_rel=4) NERR11(max_rel=4) NERR11(T=2.0,max_rel=4) INST(max_rel=4) INST(T=2.0,max_rel=4)
    INST(min_rel=1,max_rel=4) INSQ(max_rel=4) INSQ(T=2.0,max_rel=4) INSQ(min_rel=1,max_rel=4)
    Compat Compat(p=0.5) Compat(normalize=False) Accuracy Accuracy@3 Accuracy(rel=2) Accuracy(rel=2)@3
"""

BY_PERL = "ERR@", "nDCG(dcg"
"""What gdeval.pl computes for ir_measures, with five decimals."""


def ir_measures(case: Case, rng: random.Random) -> Answers:
    import ir_measures

    names = IR_MEASURES.split()
    if rng.random() < 0.5:
        yield Answer("ir_measures", case.qrels, case.run, _of_ir_measures(names, case.qrels, case.run))
        return
    with tempfile.TemporaryDirectory() as folder:
        qrels, run = files_of(case, rng, folder)
        qrels_rows, run_rows = [*ir_measures.read_trec_qrels(qrels)], [*ir_measures.read_trec_run(run)]
        yield Answer("ir_measures", qrels, run, _of_ir_measures(names, qrels_rows, run_rows))


def _of_ir_measures(names: Iterable[str], qrels: Any, run: Any) -> list[Asked]:
    import ir_measures

    asked = []
    for name in names:
        measure = ir_measures.parse_measure(name)
        found = tried(ir_measures.calc, [measure], qrels, run)
        if found is None or not found.per_query:
            asked.append(Asked(name, name))
        else:
            values = {each.query_id: each.value for each in found.per_query}
            asked.append(
                Asked(name, name, found.aggregated[measure], values, 6e-6 if name.startswith(BY_PERL) else 1e-9)
            )
    return asked


SUBTOPICS = """
    ERR_IA@3 ERR_IA@20 ERR_IA(rel=2)@3 nERR_IA@3 nERR_IA@20 nERR_IA(rel=2)@20 alpha_DCG@3 alpha_DCG(alpha=0.2)@5
    alpha_DCG(rel=2)@3 alpha_nDCG@3 alpha_nDCG(alpha=0.2)@20 alpha_nDCG(rel=2)@3 NRBP NRBP(alpha=0.2,beta=0.8)
    NRBP(rel=2) nNRBP nNRBP(alpha=0.2,beta=0.8) AP_IA AP_IA(rel=2) P_IA@3 P_IA(rel=2)@10 StRecall@1 StRecall@5
    StRecall(rel=2)@5
"""


def pyndeval(case: Case, rng: random.Random) -> Answers:
    """Subtopic measures of ir_measures."""
    import ir_measures

    nested: dict[str, dict[str, dict[str, int]]] = {}
    for qid, row in case.qrels.items():
        for docid, label in row.items():
            for subtopic in sorted(rng.sample(range(1, 5), rng.randint(1, 3))):
                nested.setdefault(qid, {}).setdefault(str(subtopic), {})[docid] = label
    qrels = [
        ir_measures.Qrel(qid, docid, label, subtopic)
        for qid, groups in nested.items()
        for subtopic, row in groups.items()
        for docid, label in row.items()
    ]
    groups = te.data.JudgmentGroups.from_dict(nested)
    with tempfile.TemporaryDirectory() as folder:
        twice = rng.random() < 0.5
        run = files_of(case, rng, folder)[1] if twice else case.run
        rows = [*ir_measures.read_trec_run(run)] if twice else run
        yield Answer("ir_measures", groups, run, _of_ir_measures(SUBTOPICS.split(), qrels, rows))


def gdeval(case: Case, rng: random.Random) -> Answers:
    """The script as ir_measures brings it, called as TREC does."""
    import ir_measures

    script = Path(ir_measures.__file__).parent / "bin" / "gdeval.pl"
    with tempfile.TemporaryDirectory() as folder:
        qrels, run = f"{folder}/qrels", f"{folder}/run"
        te.io.write_qrels(te.Qrels(case.qrels), qrels)
        te.write_run(te.Run(case.run), run)
        asked = []
        for k in (1, 3, 20):
            done = subprocess.run(["perl", script, qrels, run, str(k)], capture_output=True, text=True, check=False)
            lines = [line.split(",")[1:] for line in done.stdout.splitlines()[1:]]
            for column, name in enumerate(("nDCG", "ERR"), 1):
                values = {line[0]: float(line[column]) for line in lines}
                asked.append(mean_of(f"{name.lower()}@{k}", f"{name}@{k}", values, 6e-6))
    yield Answer("gdeval", case.qrels, case.run, asked)


def msmarco(case: Case, rng: random.Random) -> Answers:
    """The script as ir_measures brings it; its ids are whole numbers."""
    from ir_measures.bin import msmarco_eval

    ids: dict[str, int] = {}
    ranked, lines = {}, []
    for qid, row in case.run.items():
        ranks = rng.sample(range(1, min(2 * len(row), 1000) + 1), min(len(row), 1000))
        ranked[qid] = list(zip(row, ranks, strict=False))
        lines += [f"{qid}\t{ids.setdefault(docid, len(ids) + 1)}\t{rank}" for docid, rank in ranked[qid]]
    reference = [
        f"{qid}\t0\t{ids.setdefault(docid, len(ids) + 1)}\t1"
        for qid, row in case.qrels.items()
        for docid, label in row.items()
        if label >= 0
    ]
    relevant = msmarco_eval.load_reference_from_stream(reference)
    candidates = msmarco_eval.load_candidate_from_stream(lines)
    asked = []
    for k in (1, 3, 10, 1000):
        found = msmarco_eval.compute_metrics(relevant, candidates, k)[f"MRR @{k} by query"]
        mean = sum(found.values()) / len(relevant) if relevant else None
        asked.append(Asked(f"MRR @{k}", f"MRR@{k}", mean, {str(qid): value for qid, value in found.items()}))
    text = "".join(f"{qid}\t{docid}\t{rank}\n" for qid, row in ranked.items() for docid, rank in row)
    run = te.read_run(text=text, format="msmarco") if text else te.Run({})
    yield Answer("msmarco", case.qrels, run, asked)


def sklearn(case: Case, rng: random.Random) -> Answers:
    from sklearn import metrics

    def values(score: Callable[..., float], row: Callable[[str], list[int]], **options: Any) -> ByQuery | None:
        found = {}
        for qid, scores in case.run.items():
            if case.qrels.get(qid):
                found[qid] = tried(score, [row(qid)], [[*scores.values()]], **options)
        return None if None in found.values() else found

    def labels(qid: str) -> list[int]:
        return [case.qrels[qid].get(docid, 0) for docid in case.run[qid]]

    def ones(qid: str) -> list[int]:
        return [int(label > 0) for label in labels(qid)]

    def precision(row: list[list[int]], scores: list[list[float]]) -> float:
        return float(metrics.average_precision_score(np.array(row[0]), np.array(scores[0])))

    asked = [mean_of("average_precision_score", "AP", values(precision, ones))]
    for k in (None, *CUTOFFS):
        at = "" if k is None else f"@{k}"
        asked.append(mean_of(f"ndcg_score{at}", f"nDCG{at}", values(metrics.ndcg_score, labels, k=k)))
        asked.append(mean_of(f"dcg_score{at}", f"DCG{at}", values(metrics.dcg_score, labels, k=k)))
    yield Answer("sklearn", case.qrels, case.run, asked)
    judged = {qid: row for qid, row in case.run.items() if qid in case.qrels}
    if set(judged) == set(case.qrels):  # the tutorials score the queries that they retrieved for
        asked = [mean_of(f"ndcg_score@{k}", f"nDCG@{k}", values(metrics.ndcg_score, ones, k=k)) for k in CUTOFFS]
        yield Answer("flagembedding-tutorial", case.qrels, case.run, asked)


def beir(case: Case, rng: random.Random) -> Answers:
    from beir.retrieval.evaluation import EvaluateRetrieval

    asked = _five_decimals(tried(EvaluateRetrieval.evaluate, case.qrels, copy.deepcopy(case.run), [*CUTOFFS]))
    # evaluate() has taken the query's own document out of the results.
    run = {qid: {docid: score for docid, score in row.items() if docid != qid} for qid, row in case.run.items()}
    for metric, name, key in (
        ("mrr", "RR", "MRR"),
        ("recall_cap", "R_cap", "R_cap"),
        ("hole", "Hole", "Hole"),
        ("top_k_accuracy", "Success", "Accuracy"),
    ):
        found = tried(EvaluateRetrieval.evaluate_custom, case.qrels, run, [*CUTOFFS], metric)
        asked += [Asked(f"{key}@{k}", f"{name}@{k}", found and found[f"{key}@{k}"], {}, 6e-6) for k in CUTOFFS]
    yield Answer("beir", case.qrels, case.run, asked)


def _five_decimals(found: Iterable[dict[str, float]] | None) -> list[Asked]:
    """Return the measures that BEIR, and who copied it, leave to pytrec_eval."""
    means = {key: value for each in found or () for key, value in each.items()}
    names = {"NDCG": "nDCG", "MAP": "AP", "Recall": "R", "P": "P"}
    return [
        Asked(f"{key}@{k}", f"{name}@{k}", means.get(f"{key}@{k}"), {}, 6e-6)
        for key, name in names.items()
        for k in CUTOFFS
    ]


def flagembedding(case: Case, rng: random.Random) -> Answers:
    from FlagEmbedding.abc.evaluation import utils

    asked = _five_decimals(tried(utils.evaluate_metrics, case.qrels, case.run, [*CUTOFFS]))
    for function, name, key in ((utils.evaluate_mrr, "RR", "MRR"), (utils.evaluate_recall_cap, "R_cap", "R_cap")):
        found = tried(function, case.qrels, case.run, [*CUTOFFS])
        asked += [Asked(f"{key}@{k}", f"{name}@{k}", found and found[f"{key}@{k}"], {}, 6e-6) for k in CUTOFFS]
    yield Answer("flagembedding", case.qrels, case.run, asked)


def mteb(case: Case, rng: random.Random) -> Answers:
    from mteb._evaluators.retrieval_metrics import calculate_retrieval_scores

    found = tried(calculate_retrieval_scores, copy.deepcopy(case.run), case.qrels, [*CUTOFFS])
    asked = []
    for key, name, part in (
        ("NDCG", "nDCG", "ndcg"),
        ("MAP", "AP", "map"),
        ("Recall", "R", "recall"),
        ("P", "P", "precision"),
        ("MRR", "RR", "mrr"),
        ("HitRate", "Success", "hit_rate"),
    ):
        values = getattr(found, part, {})
        asked += [Asked(f"{key}@{k}", f"{name}@{k}", values.get(f"{key}@{k}"), {}, 6e-6) for k in CUTOFFS]
    for key, name, part in (("NDCG", "ndcg", "naucs"), ("Recall", "recall", "naucs"), ("MRR", "mrr", "naucs_mrr")):
        for k, by in itertools.product(CUTOFFS, ("max", "std", "diff1")):
            value = getattr(found, part, {}).get(f"nAUC_{key}@{k}_{by}")
            asked.append(Asked(f"nAUC_{key}@{k}_{by}", f"nauc_{name}_at_{k}_{by}", value))
    yield Answer("mteb", case.qrels, case.run, asked)


def sentence_transformers(case: Case, rng: random.Random) -> Answers:
    from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

    relevant = {qid: {docid for docid, label in row.items() if label > 0} for qid, row in case.qrels.items()}
    options = {f"{name}_at_k": [*CUTOFFS] for name in ("mrr", "ndcg", "accuracy", "precision_recall", "map")}

    def said() -> Any:
        evaluator = InformationRetrievalEvaluator(dict.fromkeys(relevant, ""), {"": ""}, relevant, **options)
        ranked = [case.run.get(qid, {}).items() for qid in evaluator.queries_ids]
        return evaluator.compute_metrics(
            [[{"corpus_id": docid, "score": score} for docid, score in each] for each in ranked]
        )

    found = tried(said)
    names = {"accuracy": "Success", "precision": "P", "recall": "R", "ndcg": "nDCG", "mrr": "RR", "map": "AP"}
    asked = [
        Asked(f"{name}@{k}", f"{measure}@{k}", found and float(found[f"{name}@k"][k]))
        for name, measure in names.items()
        for k in CUTOFFS
    ]
    yield Answer("sentence-transformers", case.qrels, case.run, asked)


RANX = {
    "hits": "Hits", "precision": "SetP", "recall": "SetR", "f1": "SetF", "r-precision": "Rprec", "mrr": "RR", "map": "AP",
    "bpref": "Bpref", "hit_rate": "Success", "dcg": "DCG", "dcg_burges": "DCG(gain=exp)", "ndcg": "nDCG",
    "ndcg_burges": "nDCG(gain=exp)", "rbp.8": "rbp.8", "rbp.5": "rbp.5",
    **{
        f"{metric}@{k}": f"{measure}@{k}"
        for k in CUTOFFS
        for metric, measure in {
            "hits": "Hits", "hit_rate": "Success", "precision": "P", "recall": "R", "f1": "F1", "mrr": "RR", "map": "AP",
            "dcg": "DCG", "dcg_burges": "DCG(gain=exp)", "ndcg": "nDCG", "ndcg_burges": "nDCG(gain=exp)",
        }.items()
    },
    **{
        f"{metric}-l2": measure
        for metric, measure in {
            "hits": "Hits(rel=2)", "precision": "SetP(rel=2)", "recall": "SetR(rel=2)", "f1": "SetF(rel=2)",
            "r-precision": "Rprec(rel=2)", "mrr": "RR(rel=2)", "map": "AP(rel=2)", "bpref": "Bpref(rel=2)",
            "mrr@3": "RR(rel=2)@3", "map@3": "AP(rel=2)@3", "precision@3": "P(rel=2)@3", "recall@3": "R(rel=2)@3",
            "hit_rate@3": "Success(rel=2)@3", "ndcg": "nDCG(gains={1:0})", "ndcg@3": "nDCG(gains={1:0})@3",
            "dcg@3": "DCG(gains={1:0})@3",
        }.items()
    },
}  # fmt: skip


def ranx(case: Case, rng: random.Random) -> Answers:
    import ranx

    def asked(judged: Any, ranked: Any) -> list[Asked]:
        means = tried(ranx.evaluate, judged, ranked, [*RANX], make_comparable=True)
        if means is None:
            return [Asked(metric, measure) for metric, measure in RANX.items()]
        values = {metric: {qid: float(value) for qid, value in ranked.scores[metric].items()} for metric in RANX}
        return [Asked(metric, measure, means[metric], values[metric]) for metric, measure in RANX.items()]

    if rng.random() < 0.5:
        yield Answer("ranx", case.qrels, case.run, asked(tried(ranx.Qrels, case.qrels), tried(ranx.Run, case.run)))
        return
    with tempfile.TemporaryDirectory() as folder:
        qrels, run = files_of(case, rng, folder)
        read = tried(ranx.Qrels.from_file, qrels, kind="trec"), tried(ranx.Run.from_file, run, kind="trec")
        yield Answer("ranx", qrels, run, asked(*read))


# Programs that take lists of labels ---------------------------------------------------------------


def lightgbm(case: Case, rng: random.Random) -> Answers:
    import lightgbm

    labels, scores, sizes = case.lists
    options = {"objective": "lambdarank", "metric": ["ndcg", "map"], "eval_at": list(CUTOFFS), "num_threads": 1}
    options |= {"verbose": -1, "feature_pre_filter": False}

    def said() -> dict[str, list[float]]:
        data = lightgbm.Dataset(np.zeros((len(labels), 1)), labels, group=sizes, init_score=scores, params=options)
        found: dict[str, dict[str, list[float]]] = {}
        # There is nothing to split by, so that scores stay what they are.
        lightgbm.train(options, data, 1, [data], ["x"], callbacks=[lightgbm.record_evaluation(found)])
        return found["x"]

    found = tried(said)
    asked = [
        Asked(f"{name}@{k}", f"{measure}@{k}", found and found[f"{name}@{k}"][0])
        for name, measure in (("ndcg", "nDCG"), ("map", "AP"))
        for k in CUTOFFS
    ]
    yield Answer("lightgbm", case.qrels, case.run, asked)


def xgboost(case: Case, rng: random.Random) -> Answers:
    import xgboost

    def values(case: Case, names: Mapping[str, str], minus: str, **options: Any) -> Answer:
        labels, scores, sizes = case.lists
        metrics = [f"{name}@{k}{minus}" for name in names for k in CUTOFFS] + [f"{name}{minus}" for name in names]

        def said() -> str:
            data = xgboost.DMatrix(np.zeros((len(labels), 1)), labels, base_margin=scores, nthread=1)
            data.set_group(sizes)
            settings = {"objective": "rank:ndcg", "eval_metric": metrics, "nthread": 1, "verbosity": 0, **options}
            return xgboost.Booster(settings, [data]).eval(data, "x")

        said_of = dict(each.rsplit(":", 1) for each in (tried(said) or "").split("\t")[1:])
        asked = []
        for metric in metrics:
            name, _, cutoff = metric.removesuffix("-").partition("@")
            measure = f"{names[name]}@{cutoff}" if cutoff else _whole(names[name])
            asked.append(Asked(metric, measure, said_of and float(said_of[f"x-{metric}"]) if said_of else None))
        return Answer("xgboost-minus" if minus else "xgboost", case.qrels, case.run, asked)

    for minus in ("", "-"):
        yield values(case, {"ndcg": "nDCG"}, minus)
        yield values(case, {"ndcg": "nDCG(gain=linear)"}, minus, ndcg_exp_gain=False)
        yield values(case.binary, {"map": "AP", "pre": "P"}, minus)


def _whole(measure: str) -> str:
    """Return the measure of XGBoost without a cutoff: names without parameters have theirs from the profile."""
    return {"P": "SetP"}.get(measure, f"{measure}@32" if "(" in measure else measure)


_CATBOOST = """
    NDCG NDCG:type=Base NDCG:type=Exp DCG:type=Base DCG:type=Exp MAP MRR PrecisionAt RecallAt ERR PFound PFound:decay=0.5
    PFound:top=3 QueryAUC QueryAUC:type=Ranking
"""
CATBOOST = [
    *(f"NDCG:top={k};type={kind}" for k in CUTOFFS for kind in ("Base", "Exp", "Base;denominator=Position")),
    *(f"DCG:top={k};type={kind}" for k in CUTOFFS for kind in ("Base", "Exp")),
    *(f"{name}:top={k}" for k in CUTOFFS for name in ("MAP", "MRR", "PrecisionAt", "RecallAt", "ERR", "AverageGain")),
    *(f"{name}:top=3;border=1.5" for name in ("MAP", "MRR", "PrecisionAt", "RecallAt")),
    *_CATBOOST.split(),
]
OF_SHARES = ("ERR", "PFound", "QueryAUC")
"""Metrics of CatBoost for labels from 0 to 1."""


def catboost(case: Case, rng: random.Random) -> Answers:
    from catboost.utils import eval_metric

    for given in (case, case.binary):
        labels, scores, sizes = given.lists
        if not labels:  # it would crash
            continue
        groups = np.repeat(np.arange(len(sizes)), sizes)
        asked = []
        for name in CATBOOST:
            if given is case and name.startswith(OF_SHARES):
                continue
            found = tried(eval_metric, labels, scores, name, group_id=groups, thread_count=1)
            asked.append(Asked(name, name, found and float(found[0])))
        yield Answer("catboost", given.qrels, given.run, asked)


TORCH: list[tuple[str, dict[str, Any], str, str]] = [
    ("NormalizedDCG", {}, "nDCG", "nDCG"),
    ("MAP", {}, "AP", "AP"),
    ("MRR", {}, "RR", "RR"),
    ("Precision", {}, "SetP", "P"),
    ("Precision", {"adaptive_k": True}, "SetP", "P(norm=retrieved)"),
    ("Recall", {}, "SetR", "R"),
    ("HitRate", {}, "set_success", "Success"),
    ("FallOut", {}, "Fallout", "Fallout"),
    ("AUROC", {}, "AUC", "AUC"),
    ("AUROC", {"max_fpr": 0.5}, "AUC(max_fpr=0.5)", "AUC(max_fpr=0.5)"),
    ("RPrecision", {}, "Rprec", ""),
]
"""Metrics of torchmetrics, their options, and ours without and with a cutoff."""

TORCH_PROFILES = {"neg": "torchmetrics", "pos": "torchmetrics-pos", "skip": "torchmetrics-skip"}


def torchmetrics(case: Case, rng: random.Random) -> Answers:
    import torch
    from torchmetrics import retrieval

    def value(case: Case, name: str, options: Mapping[str, Any]) -> float:
        labels, scores, sizes = case.lists
        indexes = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
        metric = getattr(retrieval, f"Retrieval{name}")(**options)
        metric.update(torch.tensor(scores), torch.tensor(labels), indexes=indexes)
        return float(metric.compute())

    shares = max(case.lists[1], default=0) <= 1  # AUROC puts others through a sigmoid, after which many are equal
    for action, profile in TORCH_PROFILES.items():
        for given, metrics in ((case, TORCH[:1]), (case.binary, TORCH[1:])):
            if given is not case and tied(case):
                continue  # their order is undefined there
            asked = []
            for name, chosen, whole, cut in metrics:
                for k in (None, *CUTOFFS) if cut else (None,):
                    options = {"empty_target_action": action, **chosen} | ({"top_k": k} if cut else {})
                    if (name, action) == ("FallOut", "neg"):
                        del options["empty_target_action"]  # its own default
                    found = tried(value, given, name, options) if shares or name != "AUROC" else None
                    asked.append(Asked(f"{name} {chosen} {k}", f"{cut}@{k}" if k else whole, found, {}, 2e-6))
            yield Answer(profile, given.qrels, given.run, asked)


def tied(case: Case) -> bool:
    """Whether two documents of a query have scores that are equal as 32-bit floats."""
    return any(len(set(map(np.float32, row.values()))) < len(row) for row in case.run.values())


def ignite(case: Case, rng: random.Random) -> Answers:
    """Its batches are rectangular: a query at a time, as the metrics average over queries."""
    import torch
    from ignite import metrics

    def values(name: str, **options: Any) -> list[float]:
        metric = getattr(metrics, name)(top_k=[*CUTOFFS] if name != "HitRate" else [1, 3], **options)
        rows = [row for row in case.run.items() if row[1]]
        for qid, row in rows:
            labels = [case.qrels.get(qid, {}).get(docid, 0) for docid in row]
            metric.update((torch.tensor([[*row.values()]]), torch.tensor([labels])))
        return [float(each) for each in metric.compute()]

    found = {"nDCG": tried(values, "NDCG"), "nDCG(gain=linear)": tried(values, "NDCG", gain_function="linear_rank")}
    found |= {} if tied(case) else {"Success": tried(values, "HitRate")}
    asked = [
        Asked(f"{measure} {k}", f"{measure}@{k}", given and given[place], {}, 2e-6)
        for measure, given in found.items()
        for place, k in enumerate([1, 3] if measure == "Success" else CUTOFFS)
    ]
    yield Answer("pytorch-ignite", case.qrels, case.run, asked)


def recbole(case: Case, rng: random.Random) -> Answers:
    """Its metrics, given which of the first documents are relevant, and how many are."""
    import torch
    from recbole.evaluator import metrics
    from recbole.evaluator.collector import DataStruct

    if tied(case):
        return  # its order is undefined there
    rows = []
    for qid, row in case.qrels.items():
        relevant = {docid for docid, label in row.items() if label > 0}
        scores = case.run.get(qid, {})
        ranked = sorted(scores, key=lambda docid: -scores[docid])[: CUTOFFS[-1]]
        hits = [int(docid in relevant) for docid in ranked]
        if relevant:
            rows.append([*hits, *[0] * (CUTOFFS[-1] - len(hits)), len(relevant)])
    np.float = float  # type: ignore[attr-defined]  # as in the numpy that RecBole 1.2 was written for
    data = DataStruct()
    data.set("rec.topk", torch.tensor(rows))
    config = {"topk": [*CUTOFFS], "metric_decimal_place": 12}
    names = {"Hit": "Success", "MRR": "RR", "MAP": "AP", "Recall": "R", "NDCG": "nDCG", "Precision": "P"}
    asked = []
    for name, measure in names.items():
        found = tried(getattr(metrics, name)(config).calculate_metric, data) if rows else None
        asked += [
            Asked(f"{name}@{k}", f"{measure}@{k}", found and float(found[f"{name.lower()}@{k}"])) for k in CUTOFFS
        ]
    yield Answer("recbole", case.qrels, case.run, asked)


# The comparison -----------------------------------------------------------------------------------

PROGRAMS: dict[str, tuple[str, Callable[[Case, random.Random], Answers]]] = {
    "pytrec_eval": ("pytrec_eval", pytrec_eval),
    "ir_measures": ("ir_measures", ir_measures),
    "pyndeval": ("pyndeval", pyndeval),
    "gdeval": ("ir_measures", gdeval),
    "msmarco": ("ir_measures", msmarco),
    "sklearn": ("sklearn", sklearn),
    "flagembedding": ("FlagEmbedding", flagembedding),
    "beir": ("beir", beir),
    "mteb": ("mteb", mteb),
    "sentence-transformers": ("sentence_transformers", sentence_transformers),
    "ranx": ("ranx", ranx),
    "lightgbm": ("lightgbm", lightgbm),
    "xgboost": ("xgboost", xgboost),
    "catboost": ("catboost", catboost),
    "torchmetrics": ("torchmetrics", torchmetrics),
    "pytorch-ignite": ("ignite", ignite),
    "recbole": ("recbole", recbole),
}
"""Programs, the module that must be there, and what asks them."""


def there(program: str) -> bool:
    """Tell whether a program is installed."""
    return importlib.util.find_spec(PROGRAMS[program][0]) is not None


class Outcome(NamedTuple):
    """What came of a profile, by measures and values."""

    measures: set[str]
    cases: Counter[str]
    """How many values were compared (``values``), what they were, and how many were refused."""
    tried: set[str]
    noted: set[str]
    """Keys of `Profile.differs` of which values were compared, and of which some differed."""
    silent: list[str]
    """A line for each value that differed without a note."""


def compare(programs: Iterable[str], number: int, seed: int) -> dict[str, Outcome]:
    """Return what comes of all profiles of these programs on `number` cases from `seed` on."""
    outcomes: dict[str, Outcome] = {}
    for program in programs:
        for each in range(seed, seed + number):
            rng = random.Random(each)
            case = random_case(rng)
            for answer in PROGRAMS[program][1](case, rng):
                outcome = outcomes.setdefault(answer.profile, Outcome(set(), Counter(), set(), set(), []))
                outcome.cases["cases"] += 1
                compare_answer(answer, outcome, f"{program} {each}, {', '.join(sorted(case.kinds))}")
    return outcomes


def compare_answer(answer: Answer, outcome: Outcome, where: str) -> None:
    """Compare the values of an answer with ours, and add what comes of it."""
    valued = [each for each in answer.asked if each.mean is not None and not math.isnan(each.mean)]
    outcome.cases["refused"] += len(answer.asked) - len(valued)
    results = ours(answer, valued)
    for each in valued:
        found = results.get(each.measure)
        if found is None:
            outcome.cases["refused here"] += 1
            continue
        task = found.tasks[place_of(found.names, each.measure)]
        outcome.measures.add(each.metric)
        keys = declared(answer.profile, task.resolved)
        outcome.tried.update(keys)
        outcome.cases["values"] += 1 + len(each.by_query)
        pairs = [("mean", each.mean, found.mean[each.measure])]
        if task.asked.family.per_query:
            counts = task.asked.family.kind == "count"  # a count of 0 may be listed or not
            rows = [(qid, value, found.get(qid, {}).get(each.measure)) for qid, value in each.by_query.items()]
            pairs += [row for row in rows if not (counts and row[1:] == (0.0, None))]
        wrong = [pair for pair in pairs if pair[2] is None or not close(pair[1], pair[2], each.within)]
        if wrong and task.asked.name in found.differences:
            outcome.noted.update(keys)
            outcome.cases["noted"] += 1
        elif wrong:
            said = ", ".join(f"{what} {theirs!r} and here {value!r}" for what, theirs, value in wrong[:3])
            outcome.silent.append(f"{answer.profile}: {each.metric} = {each.measure}: {said} ({where})")


def declared(profile: str, measure: te.measuring.Measure) -> list[str]:
    """Return the keys of a profile's `differs` that are of a measure."""
    given = {f":{name}={value}" for name, value in measure.parameters}
    keys = [key.partition(":") for key in te.scoring.PROFILES[profile].differs]
    return ["".join(key) for key in keys if key[0] == measure.family.name and (not key[2] or "".join(key[1:]) in given)]


def ours(answer: Answer, asked: Iterable[Asked]) -> dict[str, te.Results]:
    """Return our results by measure; without those that we refuse."""
    measures = list(dict.fromkeys(each.measure for each in asked))

    def scored(names: list[str]) -> te.Results | None:
        try:
            return te.evaluate(answer.qrels, answer.run, names, profile=answer.profile, **answer.options)
        except te.errors.TrecevalError:
            return None

    together = scored(measures) if measures else None
    if together is not None:
        return dict.fromkeys(measures, together)
    alone = {measure: scored([measure]) for measure in measures}
    return {measure: results for measure, results in alone.items() if results is not None}


def close(theirs: float, value: float, within: float) -> bool:
    """Tell whether two values are equal, as far as a program computes or rounds them."""
    return math.isclose(theirs, value, rel_tol=within if within < 1e-8 else 0, abs_tol=within)


def faults(outcomes: Mapping[str, Outcome], number: int) -> list[str]:
    """Return a line for each silent difference, and for each declared one that never occurred in many cases."""
    found = [line for outcome in outcomes.values() for line in outcome.silent]
    for name, outcome in outcomes.items():
        never = set() if number < CASES else outcome.tried - outcome.noted
        found += [f"{name}: {key} is declared to differ, but never did" for key in sorted(never)]
        found += [] if outcome.cases["values"] else [f"{name}: nothing was compared"]
    return found


def table(outcomes: Mapping[str, Outcome]) -> str:
    """Return a line for each profile."""
    lines = [f"{'profile':24}{'measures':>9}{'cases':>7}{'values':>10}{'refused':>9}{'differ':>8}{'noted':>7}"]
    for name, outcome in outcomes.items():
        cases = outcome.cases
        lines.append(
            f"{name:24}{len(outcome.measures):9,}{cases['cases']:7,}{cases['values']:10,}{cases['refused']:9,}"
            f"{len(outcome.silent) + cases['noted']:8,}{cases['noted']:7,}"
        )
    return "\n".join(lines)


def main() -> int:
    """Compare, print a table and what is wrong, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=", ".join(PROGRAMS))
    parser.add_argument("-n", "--cases", type=int, default=CASES)
    parser.add_argument("-s", "--seed", type=int, default=0)
    options = parser.parse_args()
    programs = options.programs or [*filter(there, PROGRAMS)]
    if lacking := [program for program in programs if not there(program)]:
        print(f"not installed: {', '.join(lacking)}")
        return 2
    warnings.simplefilter("ignore")
    outcomes = compare(programs, options.cases, options.seed)
    wrong = faults(outcomes, options.cases)
    print(table(outcomes))
    print("\n".join([*wrong[:50], f"{len(wrong):,} faults"]))
    return 1 if wrong or not outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
