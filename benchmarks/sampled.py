"""How biased estimates from sampled judgments are: means over many samples beside the values with all judgments.

    python benchmarks/sampled.py QRELS RUN… [--samples N] [--seed S] [--design S U P]

S: documents with a rank of at most 10 in any run are judged, and 20 % of those to rank 50, and 10 % of the others.
U: 30 % of the pool. P: each document with its own probability, 6 / its best rank, at least 0.02 and at most 1.

The samples of a query are judged as queries of their own, by the functions that score a run.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import treceval_py as te
from treceval_py._types import FloatArray, IntArray
from treceval_py.judging.judged import Hits
from treceval_py.judging.sampled import JudgedSample, Pool, Strata
from treceval_py.measuring.estimates import estimated_average_precision, estimated_ndcg
from treceval_py.measuring.sampled import (
    extended_inferred_average_precision,
    inferred_ndcg,
    stat_average_precision,
)

DEPTH = 1000
RATES = {"S": (1.0, 0.2, 0.1), "U": (0.3,)}


class Pooled(NamedTuple):
    """The pool of a query: the judgment (D,) of each document, and its rank in each run, (R, D); 0 if it has none."""

    rels: IntArray
    ranks: IntArray


def pools(qrels: te.Qrels, runs: list[te.Run]) -> list[Pooled]:
    """Return the pools of the judged queries."""
    made = []
    for qid in sorted(qrels):
        judged = dict(qrels[qid])
        ranks = np.zeros((len(runs), len(judged)), dtype=np.int64)
        place = {docid: at for at, docid in enumerate(judged)}
        for run, row in zip(runs, ranks, strict=True):
            scored = sorted(((score, docid) for docid, score in run.get(qid, {}).items()), reverse=True)
            for rank, (_, docid) in enumerate(scored[:DEPTH], 1):
                if docid in place:
                    row[place[docid]] = rank
        made.append(Pooled(np.array(list(judged.values())), ranks))
    return made


def drawn(random: np.random.Generator, pool: Pooled, design: str, samples: int) -> tuple[FloatArray, IntArray, FloatArray]:
    """Draw samples: which documents are judged (N, D), their strata (D,) from 0, and their probabilities (D,)."""
    best = np.where(pool.ranks > 0, pool.ranks, 10**6).min(axis=0)
    if design == "P":
        chance = np.clip(6 / best, 0.02, 1.0)
        return random.random((samples, len(best))) < chance, np.zeros(len(best), dtype=np.int64), chance
    stratum = np.zeros(len(best), dtype=np.int64) if design == "U" else np.searchsorted((10, 50), best)
    judged, chance = np.ones((samples, len(best)), dtype=bool), np.ones(len(best))
    for at, rate in enumerate(RATES[design]):
        rows = np.flatnonzero(stratum == at)
        size = min(len(rows), max(1, round(rate * len(rows))))
        order = random.random((samples, len(rows))).argsort(axis=1).argsort(axis=1)
        judged[:, rows], chance[rows] = order < size, size / max(1, len(rows))
    return judged, np.unique(stratum, return_inverse=True)[1], chance


def judged_samples(pool: Pooled, ranks: IntArray, design: str, chosen: tuple[FloatArray, IntArray, FloatArray]) -> JudgedSample:
    """Return a run's documents of one query, judged by each sample as if these were queries."""
    judged, stratum, chance = chosen
    samples, size = judged.shape
    rels = np.where(judged, pool.rels, -1)
    order = np.flatnonzero(ranks > 0)
    order = order[np.argsort(ranks[order])]
    query = np.repeat(np.arange(samples), len(order))
    row = (order + size * np.arange(samples)[:, None]).ravel()
    hits = Hits(query, np.tile(ranks[order], samples), rels[:, order].ravel())
    of_pool, strata = np.repeat(np.arange(samples), size), None
    if design != "P":
        pooled = np.bincount(stratum)
        counted = np.bincount(stratum[judged[0]], minlength=len(pooled))
        every = np.arange(samples).repeat(len(pooled))
        strata = Strata(every, np.tile(pooled, samples), np.tile(counted, samples))
        stratum = (stratum + len(pooled) * np.arange(samples)[:, None]).ravel()
    else:
        stratum = np.tile(stratum, samples)
    filled = Pool(of_pool, rels.ravel(), stratum, np.tile(chance, samples))
    if design == "P":  # documents that were not drawn are not in the file
        there = filled.rel >= 0
        row, hits = (np.cumsum(there) - 1)[row[hits.rel >= 0]], hits.where(hits.rel >= 0)
        filled = Pool(*(column[there] for column in filled))
    return JudgedSample(
        tuple(map(str, range(samples))), hits, hits.where(hits.rank < 0), np.full(samples, DEPTH), row=row, pool=filled,
        strata=strata, drawn=np.ones(samples, dtype=bool), depth=DEPTH,
    )  # fmt: skip


Measure = Callable[[JudgedSample], FloatArray]
MEASURES: dict[str, tuple[tuple[str, tuple[Measure, ...]], ...]] = {
    "strata": (
        ("AP", (extended_inferred_average_precision, estimated_average_precision)),
        ("nDCG", (inferred_ndcg, estimated_ndcg)),
    ),
    "probabilities": (("AP", (stat_average_precision, estimated_average_precision)),),
}


def main() -> None:
    """Simulate, and print a table for each design and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qrels")
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--samples", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--designs", default="SUP")
    chosen = parser.parse_args()
    runs = [te.read_run(path) for path in chosen.runs]
    pooled = pools(te.read_qrels(chosen.qrels), runs)
    for design in chosen.designs:
        random = np.random.default_rng([chosen.seed, ord(design)])
        measures = MEASURES["probabilities" if design == "P" else "strata"]
        truth, means = np.zeros((len(measures), len(runs))), np.zeros((len(measures), 2, len(runs), chosen.samples))
        for pool in pooled:
            sample = drawn(random, pool, design, chosen.samples)
            every = np.ones((1, len(pool.rels)), dtype=bool), np.zeros(len(pool.rels), dtype=np.int64), np.ones(len(pool.rels))
            for at, ranks in enumerate(pool.ranks):
                judged, full = judged_samples(pool, ranks, design, sample), judged_samples(pool, ranks, "U", every)
                for number, (_, functions) in enumerate(measures):
                    truth[number, at] += functions[-1](full)[0] / len(pooled)
                    for which, function in enumerate(functions):
                        means[number, which, at] += function(judged) / len(pooled)
        for number, (name, functions) in enumerate(measures):
            print(f"\n{design}, {name}: {', '.join(function.__name__ for function in functions)}")
            for at, run in enumerate(runs):
                cells = [f"{run.tag:14} {truth[number, at]:.4f}"]
                for values in means[number, :, at]:
                    error = values.std(ddof=1) / math.sqrt(chosen.samples)
                    bias, rms = values.mean() - truth[number, at], math.sqrt(((values - truth[number, at]) ** 2).mean())
                    cells.append(f"{values.mean():.4f} ± {error:.4f} ({bias / max(error, 1e-12):+.1f}; {rms:.4f})")
                print("  ".join(cells))


if __name__ == "__main__":
    main()
