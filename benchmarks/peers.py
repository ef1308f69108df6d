"""What the benchmarks run in processes of their own: packages that have no command, and calls in one process.

Usage: python peers.py {pytrec_eval,ir_measures,ranx,parquet_ranx} QRELS RUN
       python peers.py compare_ranx QRELS RUN RUN
       python peers.py fuse_ranx RUN RUN OUT
       python peers.py frame {pandas,polars} ROWS QRELS RUN [PACKAGE]
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


def ir_measures(qrels_file: str, run_file: str) -> dict[str, Any]:
    """Read and evaluate with ir_measures."""
    import ir_measures as package
    from ir_measures import AP, RR, nDCG

    qrels, run = package.read_trec_qrels(qrels_file), package.read_trec_run(run_file)
    return {"values": {str(name): value for name, value in package.calc_aggregate([AP, nDCG, RR], qrels, run).items()}}


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


def parquet_ranx(qrels_file: str, run_file: str) -> dict[str, Any]:
    """Read a run in Parquet and evaluate it with ranx."""
    import pandas
    from ranx import Qrels, Run, evaluate

    table = pandas.read_parquet(run_file, columns=["qid", "docid", "score"])
    run = Run.from_df(_with_objects(table), q_id_col="qid", doc_id_col="docid", score_col="score")
    values = evaluate(Qrels.from_file(qrels_file, kind="trec"), run, ["map", "ndcg", "mrr"], make_comparable=True)
    return {"values": {name: float(value) for name, value in values.items()}}


def _with_objects(table: Any) -> Any:
    """Return a frame whose ids are objects, as ranx wants them, and not the texts of pandas 3."""
    return table.astype({"qid": object, "docid": object})


def compare_ranx(qrels_file: str, *run_files: str) -> dict[str, Any]:
    """Read and compare runs with ranx, by t-tests."""
    from ranx import Qrels, Run, compare

    runs = [Run.from_file(file, kind="trec", name=file) for file in run_files]
    compared = compare(Qrels.from_file(qrels_file, kind="trec"), runs, ["map", "ndcg@10", "mrr", "precision@10"])
    return {"values": compared.to_dict()}


def fuse_ranx(one: str, other: str, out: str) -> dict[str, Any]:
    """Read two runs, fuse them by reciprocal ranks and write what comes out with ranx."""
    from ranx import Run, fuse

    fuse([Run.from_file(file, kind="trec") for file in (one, other)], method="rrf").save(out, kind="trec")
    return {}


def frame(library: str, rows: str, qrels_file: str, run_file: str, package: str = "") -> dict[str, Any]:
    """Evaluate a frame; return seconds of processor time, and the peak of memory above that of the frame, in MB."""
    import pandas

    import treceval_py as te

    columns = ["qid", "docid", "score"]
    table = pandas.read_csv(
        run_file,
        sep=" ",
        header=None,
        nrows=int(rows),
        usecols=[0, 2, 4],
        names=columns,
        dtype={"qid": str, "docid": str},
    )
    qrels = te.read_qrels(qrels_file).to_dict()
    if library == "polars":
        import polars

        table = polars.from_pandas(table)
    evaluate = {"": lambda: te.evaluate(qrels, table, sorted(MEASURES)), **_of_frames(table, qrels)}[package]
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")
    before, start = _peak(), time.process_time()
    values = evaluate()
    return {"seconds": time.process_time() - start, "peak": _peak() - before, "values": str(values)[:200]}


def _of_frames(table: Any, qrels: dict[str, dict[str, int]]) -> dict[str, Callable[[], object]]:
    """Return how packages evaluate a frame of pandas."""

    def pytrec_eval() -> object:
        import pytrec_eval as package

        run = {qid: dict(zip(rows.docid, rows.score, strict=True)) for qid, rows in table.groupby("qid")}
        return package.RelevanceEvaluator(qrels, MEASURES).evaluate(run)

    def ir_measures() -> object:
        import ir_measures as package
        from ir_measures import AP, RR, nDCG

        names = {"qid": "query_id", "docid": "doc_id"}
        return package.calc_aggregate([AP, nDCG, RR], qrels, table.rename(columns=names))

    def ranx() -> object:
        from ranx import Qrels, Run, evaluate

        run = Run.from_df(_with_objects(table), q_id_col="qid", doc_id_col="docid", score_col="score")
        return evaluate(Qrels(qrels), run, ["map", "ndcg", "mrr"], make_comparable=True)

    return {"pytrec_eval": pytrec_eval, "ir_measures": ir_measures, "ranx": ranx}


def _peak() -> float:
    """Return the peak of memory since it was last reset, in MB."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) / 1000 for line in file if line.startswith("VmHWM:"))


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
        "ir_measures": ir_measures,
        "ranx": ranx,
        "parquet_ranx": parquet_ranx,
        "compare_ranx": compare_ranx,
        "fuse_ranx": fuse_ranx,
        "frame": frame,
        "dictionaries": dictionaries,
    }
    print(json.dumps(functions[sys.argv[1]](*sys.argv[2:])))


if __name__ == "__main__":
    main()
