"""Time the evaluation of an epoch: judgments prepared once, then the same measures of one ranking after the other.

Usage: python training_loop.py [--repeat 15] [--calls 100000] [--markdown]

Each turn evaluates and averages six measures for every query. The judgments are prepared before, for pytrec_eval too,
and so are its dictionaries: what it takes to make them of arrays is not counted. All sides take turns in one process
and have to agree before a time counts. Times are processor time; the ratio is that of the best turns.

`--calls N` also measures how much the process grows over N calls of each form.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from make_runs import Collection
from taking_turns import Table, duration

NAMES = {
    "map": "map",
    "ndcg": "ndcg",
    "ndcg_cut_10": "ndcg_cut.10",
    "recip_rank": "recip_rank",
    "P_10": "P.10",
    "recall_100": "recall.100",
}
"""Measures of a usual loop: our name (and that of pytrec_eval's result), and what pytrec_eval is asked for."""

SHAPES = ((50, 100), (500, 100))

Means = Mapping[str, float]


def ways(queries: int, documents: int) -> list[dict[str, Callable[[], Means]]]:
    """Return what takes turns, pytrec_eval first: rankings judged in part, and score matrices judged in full."""
    collection = Collection(4, queries, documents, graded=True)
    rng = np.random.default_rng(5)
    ids = np.array([collection.docids(query) for query in range(queries)])
    scores = np.sort(rng.normal(0.6, 0.07, ids.shape).astype(np.float32))[:, ::-1].copy()
    qids = [str(qid) for qid in collection.qids()]
    judged = [collection.judgments(query) for query in range(queries)]
    qrels = {qid: {str(docid): rel for docid, rel in of.items()} for qid, of in zip(qids, judged, strict=True)}
    run = _run(qids, ids, scores)
    mixed = {qid: dict(_shuffled(rng, list(of.items()))) for qid, of in run.items()}
    labels = rng.choice(4, ids.shape, p=[0.6, 0.2, 0.12, 0.08])
    matrix = rng.permuted(scores, axis=1)
    columns = np.broadcast_to(np.arange(documents), ids.shape)
    rows = [str(row) for row in range(queries)]
    all_judged = {row: {str(at): int(rel) for at, rel in enumerate(of)} for row, of in zip(rows, labels, strict=True)}
    as_dictionaries = _run(rows, columns, matrix)
    return [
        {
            "pytrec_eval, dictionaries": _theirs(qrels, run),
            "Evaluator, dictionaries": _ours(qrels, run),
            "Evaluator, dictionaries in no order": _ours(qrels, mixed),
            "Evaluator, arrays of scores and ids": _ours(qrels, (scores, ids, qids)),
        },
        {
            "pytrec_eval, dictionaries, all judged": _theirs(all_judged, as_dictionaries),
            "Evaluator, dictionaries, all judged": _ours(all_judged, as_dictionaries),
            "Evaluator, arrays of scores and labels": _ours(labels, matrix),
        },
    ]


def _run(qids: list[str], ids: Any, scores: Any) -> dict[str, dict[str, float]]:
    rows = zip(qids, ids.tolist(), scores.tolist(), strict=True)
    return {qid: dict(zip(map(str, docids), values, strict=True)) for qid, docids, values in rows}


def _shuffled(rng: np.random.Generator, items: list[Any]) -> list[Any]:
    return [items[at] for at in rng.permutation(len(items))]


def _theirs(qrels: Any, run: Any) -> Callable[[], Means]:
    import pytrec_eval

    evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(NAMES.values()))

    def epoch() -> Means:
        values = evaluator.evaluate(run).values()
        return {name: sum([row[name] for row in values]) / len(values) for name in NAMES}

    return epoch


def _ours(qrels: Any, run: Any) -> Callable[[], Means]:
    import treceval_py as te

    evaluator = te.Evaluator(qrels, te.Scoring(NAMES))
    return lambda: evaluator.score(run).mean


def table(shape: tuple[int, int], repeat: int) -> Table:
    """Let all sides take turns."""
    rows = []
    for group in ways(*shape):
        found = {name: epoch() for name, epoch in group.items()}
        first = next(iter(group))
        for name, means in found.items():
            if any(abs(means[measure] - found[first][measure]) > 1e-6 for measure in NAMES):
                sys.exit(f"{name} and {first} do not agree: {means}, {found[first]}")
        seconds: dict[str, list[float]] = {name: [] for name in group}
        calls = max(1, 10_000 // shape[0])
        for _ in range(repeat):
            for name, epoch in group.items():
                start = time.process_time()
                for _ in range(calls):
                    epoch()
                seconds[name].append((time.process_time() - start) / calls)
        for name, taken in seconds.items():
            ratio = min(seconds[first]) / min(taken)
            rows.append((name, duration(min(taken)), duration(statistics.median(taken)), f"{ratio:.1f}"))
    title = f"{shape[0]} queries × {shape[1]} documents, an epoch"
    return Table(title, ("evaluator", "best", "median", "times as fast"), rows)


def growth(calls: int) -> Table:
    """Measure how the process grows over many calls; the first tenth is not counted."""
    rows = []
    for group in ways(*SHAPES[0]):
        for name, epoch in list(group.items())[1:]:
            for _ in range(calls // 10):
                epoch()
            before = _resident()
            for _ in range(calls):
                epoch()
            rows.append((name, f"{(_resident() - before) / 1e6:.2f} MB"))
    return Table(f"growth over {calls:,} calls", ("evaluator", "memory"), rows)


def _resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    """Read the command line, compare, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=15, help="turns of each side")
    parser.add_argument("--calls", type=int, default=0, help="also measure memory over so many calls (Linux)")
    parser.add_argument("--markdown", action="store_true", help="print tables for GitHub")
    options = parser.parse_args()
    tables = [table(shape, options.repeat) for shape in SHAPES]
    if options.calls:
        tables.append(growth(options.calls))
    for found in tables:
        print(found.markdown() if options.markdown else found.plain(), flush=True)


if __name__ == "__main__":
    main()
