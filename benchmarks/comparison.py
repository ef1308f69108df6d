"""Time the comparison of runs beside ranx, and a board of many runs, in turn.

Usage: python benchmarks/comparison.py FOLDER [--qrels FILE --runs FOLDER] [--resamples N] [--repeat N] [--no-ranx]

Without --runs, eight runs of 100 queries × 1,000 documents are made in FOLDER from random numbers with a fixed seed;
with it, the runs are its files input.*, as TREC's archive names them. ``compare`` is timed as a whole command: start,
reading, scoring, each two runs, letters. ranx's ``compare`` with its ``fisher`` test, at the same number of resamples,
has its files read and its functions compiled before its clock starts. The board is timed over 200 runs of 100 queries
× 1,000 documents: the first time, again, and with one run changed.
"""

from __future__ import annotations

import argparse
import gzip
import random
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

MEASURES = {
    "map": "map",
    "ndcg_cut.10": "ndcg@10",
    "recip_rank": "mrr",
    "P.10": "precision@10",
    "recall.100": "recall@100",
}


def main() -> None:
    """Make the files, take turns, print ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=Path)
    parser.add_argument("--qrels", type=Path)
    parser.add_argument("--resamples", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--no-ranx", action="store_true")
    parser.add_argument("--no-board", action="store_true")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.runs is None:
        qrels, runs = made(options.folder / "eight", 8)
    else:
        qrels, runs = unpacked(options.qrels, sorted(options.runs.glob("input.*")), options.folder / "unpacked")
    compared(qrels, runs, options.resamples, options.repeat, ranx=not options.no_ranx)
    if not options.no_board:
        boards(options.folder, options.repeat)


def unpacked(qrels: Path, runs: Sequence[Path], folder: Path) -> tuple[Path, list[Path]]:
    """Unpack judgments and runs, as ranx reads judgments that are not compressed."""
    folder.mkdir(exist_ok=True)
    for file in (qrels, *runs):
        raw = file.read_bytes()
        (folder / file.name.removesuffix(".gz")).write_bytes(gzip.decompress(raw) if file.suffix == ".gz" else raw)
    return folder / qrels.name.removesuffix(".gz"), [folder / run.name.removesuffix(".gz") for run in runs]


def made(folder: Path, count: int) -> tuple[Path, list[Path]]:
    """Write judgments and runs, unless they are there."""
    qrels, runs = folder / "qrels.txt", [folder / "runs" / f"run{number:03}.txt" for number in range(count)]
    if qrels.exists() and all(run.exists() for run in runs):
        return qrels, runs
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    source = random.Random(7)
    queries = [str(number) for number in range(301, 401)]
    relevant = {qid: [f"D{source.randrange(10**6):06}" for _ in range(40)] for qid in queries}
    with open(qrels, "w", encoding="ascii") as file:
        for qid in queries:
            file.writelines(f"{qid} 0 {docid} {source.choice((1, 1, 2))}\n" for docid in dict.fromkeys(relevant[qid]))
    for number, run in enumerate(runs):
        with open(run, "w", encoding="ascii") as file:
            for qid in queries:
                found = source.sample(relevant[qid], 25)
                docids = list(dict.fromkeys([*found, *(f"D{source.randrange(10**6):06}" for _ in range(1000))]))[:1000]
                places = {docid: source.random() ** (2 + number / count) for docid in found}
                docids.sort(key=lambda docid: places.get(docid, 0.2 + 0.8 * source.random()))
                lines = (f"{qid} Q0 {d} {rank} {1000 - rank}.5 run{number}\n" for rank, d in enumerate(docids, 1))
                file.writelines(lines)
    return qrels, runs


def seconds_of(action: Callable[[], object]) -> float:
    """Return how long an action takes."""
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def treceval(*arguments: object) -> None:
    """Run a command, whose output is not looked at."""
    command = [str(Path(sys.executable).parent / "treceval"), *map(str, arguments)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def compared(qrels: Path, runs: Sequence[Path], resamples: int, repeat: int, *, ranx: bool) -> None:
    """Compare runs with randomisation tests: each two runs, all measures."""
    measures = [part for name in MEASURES for part in ("-m", name)]
    pairs = ["--pairs", "--test", "randomisation", "--resamples", resamples]
    actions: dict[str, Callable[[], object]] = {
        "treceval compare --pairs --test randomisation": lambda: treceval("compare", qrels, *runs, *measures, *pairs),
        "the same with one thread": lambda: treceval("compare", qrels, *runs, *measures, *pairs, "--threads", 1),
    }
    if ranx:
        actions["ranx compare, stat_test='fisher'"] = ranx_action(qrels, runs, resamples)
    times: dict[str, list[float]] = {name: [] for name in actions}
    for turn in range(repeat):
        for name, action in actions.items():
            if turn == 0 or not name.startswith("ranx"):
                times[name].append(seconds_of(action))
    print(f"{len(runs)} runs, {len(MEASURES)} measures, {resamples:,} resamples")
    shown(times)


def ranx_action(qrels: Path, runs: Sequence[Path], resamples: int) -> Callable[[], object]:
    """Return ranx's comparison, with its files read and its functions compiled."""
    from ranx import Qrels, Run, compare

    judgments = Qrels.from_file(str(qrels), kind="trec")
    read = [Run.from_file(str(run), kind="trec", name=str(run)) for run in runs]

    def action(n: int = resamples) -> object:
        return compare(
            judgments,
            read,
            list(MEASURES.values()),
            stat_test="fisher",
            n_permutations=n,
            make_comparable=True,
        )

    action(10)
    return action


def boards(folder: Path, repeat: int) -> None:
    """Make a board of 200 runs: the first time, again, and with one run changed."""
    qrels, runs = made(folder / "many", 200)
    place = runs[0].parent
    times: dict[str, list[float]] = {"first time": [], "again": [], "one run changed": []}
    for turn in range(repeat):
        for cache in place.glob(".treceval*"):
            cache.unlink()
        times["first time"].append(seconds_of(lambda: treceval("board", qrels, place)))
        times["again"].append(seconds_of(lambda: treceval("board", qrels, place)))
        shutil.copy(runs[turn + 1], runs[0])
        times["one run changed"].append(seconds_of(lambda: treceval("board", qrels, place)))
    print(f"\nboard of {len(runs)} runs of 100 queries × 1,000 documents")
    shown(times)


def shown(times: dict[str, list[float]]) -> None:
    """Print medians, and multiples of the first row."""
    first = statistics.median(next(iter(times.values())))
    for name, found in times.items():
        median = statistics.median(found)
        print(f"  {name:50} {median:7.2f} s  {median / first:7.2f} ×")


if __name__ == "__main__":
    main()
