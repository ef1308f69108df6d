"""How often tests of all pairs of runs find a difference where there is none, on values of real runs.

Usage: python benchmarks/familywise.py FOLDER [--nulls N] [--resamples B] [--runs 2,8,17] [--queries 30,100]

FOLDER has ``qrels.txt.gz`` and runs ``input.*.gz`` as TREC's archive names them. More runs than there are made by
reciprocal rank fusion of two to four of them, with a fixed seed: they are alike, so that pairs differ in variance.
The values of each run are centred, so that no run is better than another, and queries are drawn with replacement. A
procedure errs where it finds any pair different at 0.05. The standard error of 0.05 in 2,000 trials is 0.005; that of
the randomised Tukey test, which is made in one trial of ten, 0.015.
"""

from __future__ import annotations

import argparse
import functools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import stats

import treceval_py as te
from treceval_py.comparing.simultaneous import simultaneous

MEASURES = ("map", "ndcg_cut.10", "recip_rank", "P.10")
ALPHA = 0.05
RANDOMISED = "randomised Tukey"
SELDOM = 10
"""The randomised Tukey test is made in one trial of so many."""

DEPTH = 300
"""Documents of each run that are fused."""


def main() -> None:
    """Print a Markdown table: a row for each measure, number of runs and number of queries."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nulls", type=int, default=2000)
    parser.add_argument("--resamples", type=int, default=499)
    parser.add_argument("--runs", default="2,8,17")
    parser.add_argument("--queries", default="30,100")
    options = parser.parse_args()
    sizes = [int(size) for size in options.runs.split(",")]
    values = values_of(options.folder, max(sizes))
    titles: list[str] = []
    for runs in sizes:
        for queries in map(int, options.queries.split(",")):
            for measure, table in values.items():
                generator = np.random.default_rng([runs, queries, MEASURES.index(measure)])
                found: Counter[str] = Counter()
                for trial in range(options.nulls):
                    drawn = table[:runs, generator.integers(0, table.shape[1], queries)]
                    found.update({name: int(err) for name, err in errors(drawn, options.resamples, generator)})
                    if trial % SELDOM == 0:  # it takes longer than all others
                        found.update({RANDOMISED: SELDOM * randomised_tukey(drawn, options.resamples, generator)})
                if not titles:
                    titles = list(found)
                    print("| runs | queries | measure |", " | ".join(titles), "|")
                    print("|--:|--:|---|" + "--:|" * len(titles))
                shares = " | ".join(f"{found[name] / options.nulls:.3f}" for name in titles)
                print(f"| {runs} | {queries} | {measure} | {shares} |", flush=True)


def values_of(folder: Path, count: int) -> dict[str, np.ndarray]:
    """Return the centred values of runs and, where there are too few, of fusions of them, by measure: (S, Q)."""
    qrels = te.read_qrels(folder / "qrels.txt.gz")
    runs = [te.read_run(file) for file in sorted(folder.glob("input.*.gz"))]
    generator = np.random.default_rng(5)
    ranks = [{qid: {docid: at for at, docid in enumerate(first(run[qid]), 1)} for qid in run.qids} for run in runs]
    fused = []
    for _ in range(count - len(runs)):
        some = generator.choice(len(runs), size=int(generator.integers(2, 5)), replace=False)
        scores: dict[str, dict[str, float]] = {qid: {} for qid in runs[0].qids}
        for number in some.tolist():
            for qid, documents in ranks[number].items():
                for docid, rank in documents.items():
                    scores[qid][docid] = scores[qid].get(docid, 0.0) + 1 / (60 + rank)
        fused.append(scores)
    found = te.compare(qrels, [*runs, *fused], MEASURES, test="t")
    return {name: each.values - each.means[:, None] for name, each in zip(MEASURES, found.measures, strict=True)}


def first(scores: dict[str, float]) -> list[str]:
    """Return the documents with the highest scores, best first."""
    return sorted(scores, key=lambda docid: -scores[docid])[:DEPTH]


def errors(values: np.ndarray, resamples: int, generator: np.random.Generator) -> Iterator[tuple[str, bool]]:
    """Yield what each procedure finds in values of runs of which none is better."""
    runs, queries = values.shape
    one, other = np.triu_indices(runs, 1)
    differences = (values[one] - values[other]).T
    differences = differences[:, np.ptp(differences, axis=0) > 1e-12]
    mean = differences.mean(axis=0)
    centred = differences - mean
    squares = np.square(centred)
    variance = squares.mean(axis=0)
    largest = (np.abs(mean) / np.sqrt(variance / (queries - 1))).max(initial=0.0)

    def exceeds(weights: np.ndarray, weights_of_squares: np.ndarray | None) -> bool:
        means = np.abs(weights @ centred) / queries
        spread = variance if weights_of_squares is None else weights_of_squares @ squares / queries - means**2
        with np.errstate(all="ignore"):
            t = np.where(spread > 1e-12 * variance, means / np.sqrt(spread / (queries - 1)), 0.0)
        return bool(largest > critical(t.max(axis=1)))

    ours = simultaneous(values, resamples=resamples, seed=int(generator.integers(2**32)), threads=1)
    yield "simultaneous", bool(largest > ours.critical(ALPHA))
    drawn = generator.multinomial(queries, np.full(queries, 1 / queries), size=resamples).astype(float)
    yield "studentised bootstrap", exceeds(drawn, drawn)
    yield "bootstrap", exceeds(drawn, None)
    signs = np.where(generator.random((resamples, queries)) < 0.5, -1.0, 1.0)
    yield "sign flips", exceeds(signs, np.ones_like(signs))
    golden = (1 + 5**0.5) / 2
    skewed = np.where(generator.random((resamples, queries)) < golden / 5**0.5, 1 - golden, golden)
    yield "wild (Mammen)", exceeds(skewed, skewed**2)
    yield "t, Holm", bool(largest > stats.t.isf(ALPHA / 2 / max(1, len(one)), queries - 1))
    error = values - values.mean(axis=0) - values.mean(axis=1, keepdims=True) + values.mean()
    df = (runs - 1) * (queries - 1)
    span = np.ptp(values.mean(axis=1))
    q = span / np.sqrt(np.square(error).sum() / df / queries)
    yield "Tukey", bool(q > critical_range(runs, df))


@functools.cache
def critical_range(runs: int, df: int) -> float:
    """Return the critical value of the studentised range."""
    if runs == 2:
        return float(2**0.5 * stats.t.isf(ALPHA / 2, df))
    return float(stats.studentized_range.isf(ALPHA, runs, df))


def randomised_tukey(values: np.ndarray, resamples: int, generator: np.random.Generator) -> bool:
    """Tell whether the randomised Tukey test finds any pair different."""
    sums = np.zeros((resamples, len(values)))
    for column in values.T:
        sums += generator.permuted(np.broadcast_to(column, sums.shape), axis=1)
    return bool(np.ptp(values.sum(axis=1)) > critical(np.ptp(sums, axis=1)) + 1e-12)


def critical(drawn: np.ndarray) -> float:
    """Return the value that a share alpha of those drawn, and of the observed one, reaches."""
    return float(np.sort(drawn)[-int(ALPHA * (len(drawn) + 1))])


if __name__ == "__main__":
    main()
