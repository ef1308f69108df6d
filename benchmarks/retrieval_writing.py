"""Time the writing of a run file against a plain Python loop, in turns in one process.

Usage: python benchmarks/retrieval_writing.py [--queries 7000] [--depth 1000] [--rounds 3] [--documents 8800000]

Each writer gets what a search hands over, arrays of positions in a corpus and of scores, and makes a file of lines
``qid Q0 docid rank score tag``. The loops are the usual ones, an f-string a line: one writes six decimals, which is
faster but makes ties, the other all digits. Of float64 scores that one writes the same bytes as treceval_py, which is
checked; float32 scores, which a dense search has, are shorter in treceval_py's file.
"""

from __future__ import annotations

import argparse
import filecmp
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from treceval_py.data.ids import Ids
from treceval_py.runs.writing import SearchResults, write_search_results

GROUP = 256
TAG = "bench"


def groups(queries: int, depth: int, documents: int) -> Iterator[SearchResults]:
    """Make up what a search finds: best first, every document once in a query, scores from 0.25 to 0.75."""
    for start in range(0, queries, GROUP):
        random = np.random.default_rng(start)
        count = min(GROUP, queries - start)
        scores = 0.75 - np.sort(random.random((count, depth)), axis=1) / 2
        # Steps around the corpus never meet, and are then put in an order that has nothing to do with places.
        steps = random.integers(1, max(2, documents // depth), (count, depth))
        positions = random.permuted(np.cumsum(steps, axis=1) % documents, axis=1)
        yield SearchResults([str(100_000 + start + row) for row in range(count)], positions, scores)


def all_digits(path: Path, found: list[SearchResults], docids: list[str]) -> None:
    """Write scores as Python does."""
    with path.open("w", encoding="utf-8") as stream:
        for group in found:
            rows = zip(group.qids, group.positions.tolist(), group.scores.tolist(), strict=True)
            for qid, places, scores in rows:
                stream.writelines(
                    f"{qid} Q0 {docids[place]} {rank} {score} {TAG}\n"
                    for rank, (place, score) in enumerate(zip(places, scores, strict=True), 1)
                )


def six_decimals(path: Path, found: list[SearchResults], docids: list[str]) -> None:
    """Write scores with six decimals."""
    with path.open("w", encoding="utf-8") as stream:
        for group in found:
            rows = zip(group.qids, group.positions.tolist(), group.scores.tolist(), strict=True)
            for qid, places, scores in rows:
                stream.writelines(
                    f"{qid} Q0 {docids[place]} {rank} {score:.6f} {TAG}\n"
                    for rank, (place, score) in enumerate(zip(places, scores, strict=True), 1)
                )


def main() -> None:
    """Take turns, compare what was written, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=7000)
    parser.add_argument("--depth", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--documents", type=int, default=8_800_000)
    given = parser.parse_args()
    docids = [str(number) for number in range(given.documents)]
    ids = Ids.from_bytes([docid.encode() for docid in docids])
    for width in (np.float32, np.float64):
        found = [
            group._replace(scores=group.scores.astype(width))
            for group in groups(given.queries, given.depth, given.documents)
        ]
        compare(found, ids, docids, given.depth, given.rounds)


def compare(found: list[SearchResults], ids: Ids, docids: list[str], depth: int, rounds: int) -> None:
    """Time each writer on the same scores."""
    writers: dict[str, Callable[[Path], object]] = {
        "treceval_py": lambda path: write_search_results(path, found, ids, TAG, k=depth),
        "loop, six decimals": lambda path: six_decimals(path, found, docids),
        "loop, all digits": lambda path: all_digits(path, found, docids),
    }
    width = found[0].scores.dtype
    taken: dict[str, list[float]] = {name: [] for name in writers}
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder) / f"{number}.txt" for number, name in enumerate(writers)}
        for _ in range(rounds):
            for name, write in writers.items():
                # To remove the file of the last turn takes time as well.
                paths[name].unlink(missing_ok=True)
                begun = time.perf_counter()
                write(paths[name])
                taken[name].append(time.perf_counter() - begun)
        report(taken, sum(group.positions.size for group in found), f"{width} scores")
        if width == np.float64:
            same = filecmp.cmp(paths["treceval_py"], paths["loop, all digits"], shallow=False)
            print("the same bytes as the loop with all digits:", "yes" if same else "NO")


def report(taken: dict[str, list[float]], lines: int, title: str) -> None:
    """Print lines a second of each writer, by the median round, and how many times faster treceval_py is."""
    medians = {name: statistics.median(seconds) for name, seconds in taken.items()}
    print(f"{lines:,} lines, {title}")
    for name, seconds in medians.items():
        rate, times = lines / seconds / 1e6, seconds / medians["treceval_py"]
        print(f"{name:20} {seconds:6.2f} s {rate:6.2f} M lines/s {times:6.2f} ×")


if __name__ == "__main__":
    main()
