"""What the benchmarks run in processes of their own: packages that have no command, and calls in one process.

Usage: python peers.py {pytrec_eval,ranx} QRELS RUN
       python peers.py dictionaries REPEAT

Everything is printed as one line of JSON. Each package reads the files with its own functions.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

MEASURES = {"map", "ndcg", "recip_rank"}


def pytrec_eval(qrels_file: str, run_file: str) -> dict[str, Any]:
    """Read and evaluate with pytrec_eval, as its README does; also return the seconds without the start of Python."""
    import pytrec_eval as package

    start = time.perf_counter()
    with open(qrels_file, encoding="utf-8") as file:
        qrels = package.parse_qrel(file)
    with open(run_file, encoding="utf-8") as file:
        run = package.parse_run(file)
    values = package.RelevanceEvaluator(qrels, MEASURES).evaluate(run)
    seconds = time.perf_counter() - start
    means = {name: sum(row[name] for row in values.values()) / len(values) for name in sorted(MEASURES)}
    return {"values": means, "seconds": seconds}


def ranx(qrels_file: str, run_file: str) -> dict[str, Any]:
    """Read and evaluate with ranx, whose mrr is recip_rank."""
    from ranx import Qrels, Run, evaluate

    start = time.perf_counter()
    qrels = Qrels.from_file(qrels_file, kind="trec")
    run = Run.from_file(run_file, kind="trec")
    values = evaluate(qrels, run, ["map", "ndcg", "mrr"])
    seconds = time.perf_counter() - start
    means = {name: float(values[theirs]) for name, theirs in (("map", "map"), ("ndcg", "ndcg"), ("recip_rank", "mrr"))}
    return {"values": means, "seconds": seconds}


def dictionaries(repeat: str) -> dict[str, Any]:
    """Evaluate dictionaries with pytrec_eval and with ourselves: many small ones first, then a big one."""
    from make_runs import Collection

    few = Collection(4, 50, 100, graded=True)
    many = Collection(1, 6980, 1000, graded=False)
    return {
        "50 × 100, a call": _turns(few, int(repeat), calls=200),
        "6,980 × 1,000": _turns(many, int(repeat), calls=1),
    }


def _turns(collection: Any, repeat: int, calls: int) -> dict[str, list[float]]:
    """Return the seconds of a call for each way to evaluate, taken in turn."""
    qrels, run = _as_dictionaries(collection)
    ways = _ways(qrels, run)
    _check_equal(ways)
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeat):
        for name, call in ways.items():
            start = time.perf_counter()
            for _ in range(calls):
                call()
            seconds[name].append((time.perf_counter() - start) / calls)
    return seconds


def _ways(qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]]) -> dict[str, Callable[[], Any]]:
    import pytrec_eval as package

    import treceval_py as te

    theirs = package.RelevanceEvaluator(qrels, MEASURES)
    ours = te.RelevanceEvaluator(qrels, MEASURES)
    prepared, evaluator = te.Qrels(qrels), te.Evaluator(qrels, te.Scoring(MEASURES))
    return {
        "treceval_py.RelevanceEvaluator": lambda: ours.evaluate(run),
        "treceval_py.Evaluator": lambda: evaluator.score(run),
        "treceval_py.evaluate": lambda: te.evaluate(prepared, run, MEASURES),
        "treceval_py.evaluate, dictionaries": lambda: te.evaluate(qrels, run, MEASURES),
        "pytrec_eval.RelevanceEvaluator": lambda: theirs.evaluate(run),
    }


def _as_dictionaries(collection: Any) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    from make_runs import bm25

    qrels, run = {}, {}
    for query, qid in enumerate(collection.qids()):
        docids = [str(docid) for docid in collection.docids(query)]
        scores = [float(score) for score in bm25(collection.rng(query, 2), len(docids))]
        run[str(qid)] = dict(zip(docids, scores, strict=True))
        qrels[str(qid)] = {str(docid): level for docid, level in collection.judgments(query).items()}
    return qrels, run


def _check_equal(ways: dict[str, Callable[[], Any]]) -> None:
    """Check each value of each query; scores with four decimals are as different in 32 bits as in 64."""
    found = {name: call() for name, call in ways.items()}
    expected = found.pop("pytrec_eval.RelevanceEvaluator")
    for name, values in found.items():
        if set(values) != set(expected):
            sys.exit(f"{name} and pytrec_eval evaluate different queries")
        for qid, row in expected.items():
            for measure, value in row.items():
                if abs(values[qid][measure] - value) > 1e-6:
                    sys.exit(f"{name}: {measure} of query {qid} is {values[qid][measure]}, pytrec_eval has {value}")


def main() -> None:
    """Run the function that the command line names."""
    functions: dict[str, Callable[..., dict[str, Any]]] = {
        "pytrec_eval": pytrec_eval,
        "ranx": ranx,
        "dictionaries": dictionaries,
    }
    print(json.dumps(functions[sys.argv[1]](*sys.argv[2:])))


if __name__ == "__main__":
    main()
