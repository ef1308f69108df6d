"""How many judgments put runs in their final order: methods of `treceval pool`, simulated on judgments that exist.

    python benchmarks/pooling.py FOLDER

FOLDER has the judgments, qrels.txt.gz, and runs, input.*.gz. Each method starts without judgments; the documents that
it asks for get the label that they have, or 0. Printed are Kendall's tau with the order by all judgments, over all
queries and as the mean over random halves of the queries, and the number of judgments from which tau stays at a level.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import treceval_py as te
from treceval_py.comparing.agreement import kendall_tau
from treceval_py.pooling import pool

METHODS = ("depth", "mtf", "maxmean", "order")
SHOWN = (250, 500, 1000, 2000, 4000, 8000)
ROUNDS = [*range(250, 4001, 250), *range(5000, 12_001, 1000), *range(16_000, 40_001, 8000), 60_000, 100_000]
LEVELS = (0.9, 0.95)
HALVES = 100


def values_of(judgments: dict[str, dict[str, int]], runs: list[te.Run], measure: str, qids: list[str]) -> Any:
    """Return the values of each run, (S, Q); 0 for a query without judgments."""
    results = [te.evaluate(judgments, run, [measure], complete=True) for run in runs]
    return np.array([[each[qid][measure] if qid in each else 0.0 for qid in qids] for each in results])


def main(folder: Path) -> None:
    """Print a table for each measure."""
    warnings.simplefilter("ignore", te.errors.TrecevalWarning)
    truth = te.read_qrels(folder / "qrels.txt.gz").to_dict()
    runs = [te.read_run(path) for path in sorted(folder.glob("input.*.gz"))]
    qids = [*truth]
    rng = np.random.default_rng(1)
    halves = [rng.permutation(len(qids))[: len(qids) // 2] for _ in range(HALVES)]
    for measure in ("map", "nDCG@10"):
        final = values_of(truth, runs, measure, qids)
        print(f"\n{measure}: method, tau (mean tau of halves) after {SHOWN}, judgments until tau stays >= {LEVELS}")
        for method in METHODS:
            judgments: dict[str, dict[str, int]] = {}
            taus, cells, done = [], [], 0
            for total in ROUNDS:
                chosen = pool(judgments or None, runs, measure, budget=total - done, method=method).documents
                for each in chosen:
                    judgments.setdefault(each.qid, {})[each.docid] = truth[each.qid].get(each.docid, 0)
                done += len(chosen)
                values = values_of(judgments, runs, measure, qids)
                taus.append((done, kendall_tau(values.mean(axis=1), final.mean(axis=1))))
                if total in SHOWN:
                    of_halves = [
                        kendall_tau(*(table[:, half].mean(axis=1) for table in (values, final))) for half in halves
                    ]
                    cells.append(f"{taus[-1][1]:.2f} ({np.mean(of_halves):.2f})")
                if done < total:
                    break
            print(method, *cells, *(f"{stays(taus, level)}" for level in LEVELS), sep=" | ", flush=True)


def stays(taus: list[tuple[int, float]], level: float) -> int | None:
    """Return the number of judgments from which tau stays at a level; None if it does not."""
    below = [number for number, (_, tau) in enumerate(taus) if not tau >= level]
    return next((done for done, _ in taus[below[-1] + 1 if below else 0 :]), None)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
