"""Measure what looking for signs of mistakes costs: the CPU time of scoring a run with it, beside that without.

Usage: python signs.py QRELS RUN [TURNS]

The two take turns in one process, with one thread; the least time of each counts.
"""

from __future__ import annotations

import sys
import time

import treceval_py as te
from treceval_py.diagnosis.signs import Seen
from treceval_py.judging import streaming

look = streaming.look


def unseen(*_: object) -> Seen:
    """Look at nothing."""
    return Seen(half=False, rounded=False)


def main() -> None:
    """Read the command line, score, print."""
    qrels, run, *turns = sys.argv[1:]
    judgments = te.read_qrels(qrels)
    times: dict[str, list[float]] = {"without": [], "with": []}
    for _ in range(int(turns[0]) if turns else 7):
        for name, way in (("without", unseen), ("with", look)):
            streaming.look = way  # type: ignore[attr-defined]
            begun = time.process_time()
            te.evaluate(judgments, run, "map", threads=1)
            times[name].append(time.process_time() - begun)
    least = {name: min(every) for name, every in times.items()}
    for name, seconds in least.items():
        print(f"{name:8} {seconds:.3f} s")
    print(f"ratio    {least['with'] / least['without']:.3f}")


if __name__ == "__main__":
    main()
