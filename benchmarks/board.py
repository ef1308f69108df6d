"""Time a board over many collections, from values by query.

Usage: python benchmarks/board.py [--runs N] [--collections N] [--repeat N]

Values are made from random numbers with a fixed seed: by default 181 runs over 41 collections of 50 to 600 queries, as
large as MTEB's English leaderboard. What is timed is `board_over`: values to arrays, means, 1,000 draws of queries and
collections, intervals of ranks, all pairs. The bar is 5 seconds.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

import treceval_py as te

BAR = 5.0
"""Seconds."""


def main() -> None:
    """Make values, make boards, print the median time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=181)
    parser.add_argument("--collections", type=int, default=41)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    values = made(options.runs, options.collections)
    times = []
    for _ in range(options.repeat):
        begun = time.perf_counter()
        found = te.boards.board_over(values, "nDCG@10")
        times.append(time.perf_counter() - begun)
    alike = sum(run.like_next is True for run in found.runs)
    print(f"{options.runs} runs, {options.collections} collections: {statistics.median(times):.1f} s (bar: {BAR:g} s)")
    print(f"{alike} of {len(found.runs) - 1} pairs of neighbours cannot be told apart")


def made(runs: int, collections: int) -> dict[str, dict[str, dict[str, float]]]:
    """Return values by collection, run and query: of the run's skill, the query's difficulty, and noise."""
    rng = np.random.default_rng(1)
    skill = 0.05 * rng.standard_normal(runs)
    found = {}
    for number, queries in enumerate(rng.integers(50, 601, size=collections).tolist()):
        there = skill + 0.05 * rng.standard_normal(runs)
        rows = 0.5 + there[:, None] + 0.2 * rng.standard_normal(queries) + 0.2 * rng.standard_normal((runs, queries))
        qids = [f"q{query}" for query in range(queries)]
        found[f"collection{number}"] = {
            f"run{run}": dict(zip(qids, row, strict=True)) for run, row in enumerate(np.clip(rows, 0, 1).tolist())
        }
    return found


if __name__ == "__main__":
    main()
