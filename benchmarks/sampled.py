"""How biased estimates from sampled judgments are: means over many samples beside the values with all judgments.

    python benchmarks/sampled.py QRELS RUN… [--samples N] [--seed S] [--designs SULP]

The judged documents, from which samples are drawn, are the pool. Designs:

S  all with a rank of at most 10 in any run, 20 % of those to rank 50, 10 % of the others
U  30 % of all
L  10 % of all
P  each with a probability of its own, 6 / its best rank, at least 0.02 and at most 1

It prints the mean estimate over samples, its difference from the truth in standard errors, and the root mean square of
the differences of single samples. Samples are scored as queries of their own, by the functions that score a run.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import treceval_py as te
from treceval_py._types import BoolArray, FloatArray, IntArray
from treceval_py.judging.judged import Hits
from treceval_py.judging.sampled import JudgedSample, Pool, Strata
from treceval_py.measuring.estimates import estimated_average_precision, estimated_ndcg
from treceval_py.measuring.sampled import extended_inferred_average_precision, inferred_ndcg, stat_average_precision

DEPTH = 1000
RATES = {"S": (1.0, 0.2, 0.1), "U": (0.3,), "L": (0.1,)}

Measure = Callable[[JudgedSample], FloatArray]
OF_STRATA: dict[str, tuple[Measure, ...]] = {
    "AP": (extended_inferred_average_precision, estimated_average_precision),
    "nDCG": (inferred_ndcg, estimated_ndcg),
}
OF_PROBABILITIES: dict[str, tuple[Measure, ...]] = {
    "AP": (stat_average_precision, estimated_average_precision),
    "nDCG": (estimated_ndcg,),
}


class Pooled(NamedTuple):
    """The pool of a query: the judgment (D,) of each document, and its rank in each run, (R, D); 0 if it has none."""

    rels: IntArray
    ranks: IntArray


class Drawn(NamedTuple):
    """Samples of a pool: who is judged (N, D), in which stratum (D,), with which probability (D,)."""

    judged: BoolArray
    stratum: IntArray
    probability: FloatArray


def pool_of(judged: dict[str, int], rankings: list[dict[str, float]]) -> Pooled:
    """Return the pool of a query."""
    ranks = np.zeros((len(rankings), len(judged)), dtype=np.int64)
    place = {docid: at for at, docid in enumerate(judged)}
    for scores, row in zip(rankings, ranks, strict=True):
        best = sorted(((score, docid) for docid, score in scores.items()), reverse=True)[:DEPTH]
        for rank, (_, docid) in enumerate(best, 1):
            if docid in place:
                row[place[docid]] = rank
    return Pooled(np.array(list(judged.values())), ranks)


def draw(random: np.random.Generator, pool: Pooled, design: str, samples: int) -> Drawn:
    """Draw samples of a pool."""
    best = np.where(pool.ranks > 0, pool.ranks, 10**6).min(axis=0)
    if design == "P":
        chance = np.clip(6 / best, 0.02, 1.0)
        return Drawn(random.random((samples, len(best))) < chance, np.zeros_like(best), chance)
    stratum = np.searchsorted((10, 50), best) if design == "S" else np.zeros_like(best)
    judged, chance = np.ones((samples, len(best)), dtype=bool), np.ones(len(best))
    for at, rate in enumerate(RATES[design]):
        rows = np.flatnonzero(stratum == at)
        size = min(len(rows), max(1, round(rate * len(rows))))
        judged[:, rows] = random.random((samples, len(rows))).argsort(axis=1).argsort(axis=1) < size
        chance[rows] = size / max(1, len(rows))
    return Drawn(judged, np.unique(stratum, return_inverse=True)[1], chance)


def judge(
    pool: Pooled, ranks: IntArray, drawn: Drawn, known: dict[object, object], *, with_strata: bool
) -> JudgedSample:
    """Judge a run's ranking of a query by each sample, as if these were queries; `known` is shared by runs."""
    samples, size = drawn.judged.shape
    sample = np.arange(samples)
    order = np.argsort(ranks)[(ranks == 0).sum() :]
    pooled, strata = np.bincount(drawn.stratum), None
    if with_strata:
        counted = np.bincount(drawn.stratum[drawn.judged[0]], minlength=len(pooled))
        strata = Strata(sample.repeat(len(pooled)), np.tile(pooled, samples), np.tile(counted, samples))
    filled = Pool(
        sample.repeat(size),
        np.where(drawn.judged, pool.rels, -1).ravel(),
        (drawn.stratum + len(pooled) * sample[:, None]).ravel(),
        np.tile(drawn.probability, samples),
    )
    row = (order + size * sample[:, None]).ravel()
    hits = Hits(sample.repeat(len(order)), np.tile(ranks[order], samples), filled.rel[row])
    if not with_strata:  # the documents that were not drawn are not in the file
        there = filled.rel >= 0
        row, hits = (np.cumsum(there) - 1)[row[hits.rel >= 0]], hits.where(hits.rel >= 0)
        filled = Pool(filled.query[there], filled.rel[there], filled.stratum[there], filled.probability[there])
    shown = tuple(map(str, range(samples))), hits, hits.where(hits.rank < 0), np.full(samples, DEPTH)
    certain = np.ones(samples, dtype=bool)
    return JudgedSample(*shown, _known=known, row=row, pool=filled, strata=strata, drawn=certain, depth=DEPTH)


def simulate(pools: list[Pooled], design: str, samples: int, seed: int) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Return, by measure, the true means (R,), and those of samples (F, R, N) by the function that estimates them."""
    random = np.random.default_rng([seed, ord(design)])
    measures = OF_PROBABILITIES if design == "P" else OF_STRATA
    runs = len(pools[0].ranks)
    means = {name: (np.zeros(runs), np.zeros((len(of), runs, samples))) for name, of in measures.items()}
    for pool in pools:
        drawn = draw(random, pool, design, samples)
        everything = Drawn(np.ones((1, len(pool.rels)), dtype=bool), np.zeros_like(pool.rels), np.ones(len(pool.rels)))
        known: tuple[dict[object, object], dict[object, object]] = ({}, {})
        for at, ranks in enumerate(pool.ranks):
            full = judge(pool, ranks, everything, known[0], with_strata=True)
            sampled = judge(pool, ranks, drawn, known[1], with_strata=design != "P")
            for name, functions in measures.items():
                means[name][0][at] += functions[-1](full)[0] / len(pools)
                for number, function in enumerate(functions):
                    means[name][1][number, at] += function(sampled) / len(pools)
    return means


def main() -> None:
    """Simulate, and print a table for each design and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qrels")
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--samples", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--designs", default="SULP")
    chosen = parser.parse_args()
    runs, qrels = [te.read_run(path) for path in chosen.runs], te.read_qrels(chosen.qrels)
    pools = [pool_of(dict(qrels[qid]), [dict(run.get(qid, {})) for run in runs]) for qid in sorted(qrels)]
    for design in chosen.designs:
        for name, (truth, means) in simulate(pools, design, chosen.samples, chosen.seed).items():
            functions = (OF_PROBABILITIES if design == "P" else OF_STRATA)[name]
            titles = [f"{function.__name__} | in errors | of one sample" for function in functions]
            print(f"\n| {design} | {name} | {' | '.join(titles)} |", flush=True)
            print("| :-- | --: |" + " --: | --: | --: |" * len(functions))
            error = means.std(axis=2, ddof=1) / math.sqrt(chosen.samples)
            bias, spread = means.mean(axis=2) - truth, np.sqrt(((means - truth[:, None]) ** 2).mean(axis=2))
            for at, run in enumerate(runs):
                cells = [f"{run.tag} | {truth[at]:.4f}"]
                for mean, off, one in zip(bias[:, at], bias[:, at] / error[:, at], spread[:, at], strict=True):
                    cells.append(f"{truth[at] + mean:.4f} | {off:+.1f} | {one:.4f}")
                print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
