"""Compare with ranx on random runs, in an environment that has it: ``python tests/peers/ranx_comparison.py``.

Exit status 0: every comparable metric has our value on every query; 1: one has not; 2: ranx is not installed.

First its metrics, on judgments and runs of the same queries without equal scores. Then its order of equal scores, after
``make_comparable``: messy runs of up to 2,000 documents a query, under the profile ranx. Metrics that are left out, and
why, are in `LEFT_OUT`.
"""

from __future__ import annotations

import math
import random
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from random_runs import random_pair

import treceval_py as te

CUTOFFS = (1, 3, 5, 10, 100)

SAME = {
    "hits": "NumRelRet",
    "precision": "SetP",
    "recall": "SetR",
    "f1": "SetF",
    "r-precision": "Rprec",
    "mrr": "RR",
    "map": "AP",
    "map-l2": "AP(rel=2)",
    "mrr-l2": "RR(rel=2)",
    "dcg": "DCG",
    "dcg_burges": "DCG(gain=exp)",
    "ndcg": "nDCG",
    "ndcg_burges": "nDCG(gain=exp)",
    "ndcg-l2": "nDCG(gains={1:0})",
    **{f"hit_rate@{k}": f"Success@{k}" for k in CUTOFFS},
    **{f"precision@{k}": f"P@{k}" for k in CUTOFFS},
    **{f"recall@{k}": f"R@{k}" for k in CUTOFFS},
    **{f"mrr@{k}": f"RR@{k}" for k in CUTOFFS},
    **{f"hits@{k}": f"Hits@{k}" for k in CUTOFFS},
    **{f"f1@{k}": f"F1@{k}" for k in CUTOFFS},
    **{f"dcg@{k}": f"DCG@{k}" for k in CUTOFFS},
    **{f"dcg_burges@{k}": f"DCG(gain=exp)@{k}" for k in CUTOFFS},
    **{f"map@{k}": f"AP@{k}" for k in CUTOFFS},
    **{f"ndcg@{k}": f"nDCG@{k}" for k in CUTOFFS},
    **{f"ndcg_burges@{k}": f"nDCG(gain=exp)@{k}" for k in CUTOFFS},
    **{f"ndcg@{k}-l2": f"nDCG(gains={{1:0}})@{k}" for k in CUTOFFS},
}
"""ranx's metrics and our measures of the same value."""

OF_SOME_QUERIES = {"bpref": "Bpref"}
"""A metric that ranx computes only where each query has documents judged relevant and not relevant."""

TIMES_THE_SCALE = {"rbp.8": "gRBP(p=0.8)", "rbp.5": "gRBP(p=0.5)", "rbp.95": "gRBP(p=0.95)"}
"""ranx's RBP adds up grades as they are, so that it is above 1: ours times the top of the scale."""

LEFT_OUT = {
    "rbp": "gains are the grades, not their share of the scale, so that values exceed 1; compared with ours times the "
    "scale's top instead",
    "bpref": "a query without documents judged not relevant is 0/0, and one without relevant documents makes all queries "
    "after it 0: compared on runs without such queries",
}
"""What is not compared as it is, and why."""


def random_runs(number: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Return the judgments and runs of many random pairs, of the same queries and without equal scores."""
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for seed in range(number):
        rng = random.Random(seed)
        judgments, ranked = random_pair(rng, negatives=False)
        for qid in sorted(set(judgments) & set(ranked)):
            name, docids = f"{seed}-{qid}", list(ranked[qid])
            places = rng.sample(range(len(docids)), len(docids))
            qrels[name] = judgments[qid]
            run[name] = {docid: place / 8 for docid, place in zip(docids, places, strict=True)}
    return qrels, run


Values = dict[str, dict[str, float]]


def theirs(ranx: Any, qrels: dict[str, dict[str, int]], run: Values, metrics: list[str]) -> Values:
    """Return ranx's values by metric and query."""
    judged, ranked = ranx.Qrels(qrels), ranx.Run(run)
    ranx.evaluate(judged, ranked, metrics)
    return {metric: dict(ranked.scores[metric]) for metric in metrics}


def differences(number: int = 500) -> tuple[int, list[str]]:
    """Return how many values were compared, and a line for each that differs."""
    import ranx

    qrels, run = random_runs(number)
    top = max(max(row.values()) for row in qrels.values())
    both = {qid: row for qid, row in qrels.items() if 0 < sum(grade > 0 for grade in row.values()) < len(row)}
    expected = theirs(ranx, qrels, run, [*SAME, *TIMES_THE_SCALE])
    expected |= theirs(ranx, both, {qid: run[qid] for qid in both}, list(OF_SOME_QUERIES))
    names = {**SAME, **TIMES_THE_SCALE, **OF_SOME_QUERIES}
    results = te.evaluate(qrels, run, list(dict.fromkeys(names.values())))
    compared, found = 0, []
    for metric, measure in names.items():
        for qid, value in expected[metric].items():
            ours = results[qid][measure] * (top if metric in TIMES_THE_SCALE else 1)
            compared += 1
            if not math.isclose(value, ours, rel_tol=1e-9, abs_tol=1e-9):
                found.append(f"{metric} of query {qid}: ranx {float(value)!r}, {measure} {ours!r}")
    return compared, found


IN_ORDER = {
    metric: SAME[metric] for metric in ("map", "mrr", "ndcg", "r-precision", "precision@3", "map@100", "ndcg@10")
}
"""Metrics that differ where two documents change places."""


def messy_pair(rng: random.Random) -> tuple[dict[str, dict[str, int]], Values]:
    """Return judgments and a run with many equal scores, queries of one of them alone, and documents not judged."""
    qrels: dict[str, dict[str, int]] = {}
    run: Values = {}
    for query in range(rng.randint(1, 5)):
        size = int(2000 ** rng.random())
        ranked = rng.sample(range(2 * size), size)
        step = rng.choice([0.5, 0.25, 1 / size, 1e-9])
        scores = [rng.choice([round(rng.random() / step) * step, -0.0]) for _ in ranked]
        if rng.random() < 0.3:
            scores.sort(reverse=rng.random() < 0.5)
        judged = rng.sample(range(2 * size), rng.randint(1, size + 1))
        if rng.random() < 0.9:
            qrels[f"q{query}"] = {f"d{number}": rng.choice([0, 0, 1, 2]) for number in judged}
        if rng.random() < 0.9:
            run[f"q{query}"] = {f"d{number}": score for number, score in zip(ranked, scores, strict=True)}
        for side in (qrels, run):
            if rng.random() < 0.1:
                side[f"q{query}"] = {}
    if not any(qrels.get(qid) and row for qid, row in run.items()):
        return messy_pair(rng)
    return qrels, run


def order_differences(number: int = 300) -> tuple[int, list[str]]:
    """Return how many values of messy runs were compared, and a line for each that differs."""
    import ranx

    compared, found = 0, []
    for seed in range(number):
        qrels, run = messy_pair(random.Random(seed))
        ranked = ranx.Run(run)
        ranx.evaluate(ranx.Qrels(qrels), ranked, list(IN_ORDER), make_comparable=True)
        results = te.evaluate(qrels, run, list(IN_ORDER.values()), profile="ranx")
        for metric, measure in IN_ORDER.items():
            for qid, value in ranked.scores[metric].items():
                compared += 1
                if not math.isclose(value, results[qid][measure], rel_tol=1e-9, abs_tol=1e-9):
                    found.append(f"run {seed}: {metric} of {qid}: ranx {float(value)!r}, {results[qid][measure]!r}")
    return compared, found


def main() -> int:
    """Compare, print what was found, and return the exit status."""
    try:
        import ranx  # noqa: F401 - only whether it is there
    except ImportError:
        print("ranx is not installed: pip install ranx")
        return 2
    compared, found = differences()
    for line in found[:50]:
        print(line)
    print(
        f"{compared:,} values of {len({**SAME, **TIMES_THE_SCALE, **OF_SOME_QUERIES})} metrics compared, {len(found):,} differ"
    )
    for metric, reason in LEFT_OUT.items():
        print(f"not compared as it is: {metric}: {reason}")
    in_order, moved = order_differences()
    for line in moved[:50]:
        print(line)
    print(f"{in_order:,} values of messy runs compared, {len(moved):,} differ")
    return 1 if found or moved or not compared or not in_order else 0


if __name__ == "__main__":
    sys.exit(main())
