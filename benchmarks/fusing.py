"""Fuse two runs of MS MARCO's size with treceval and with ranx: seconds of the processor, memory, and the same scores.

Usage: python benchmarks/fusing.py FOLDER [--queries 6980 --documents 1000] [--methods rrf combsum] [--ranx PYTHON]

The runs are made of random numbers with a fixed seed in FOLDER, unless they are there: bm25 as `make_runs.py` makes it,
and other, which has half of its documents in another order, and as many others. ``treceval fuse`` is a process of its
own, from its start to its end. ranx runs once in a process of its own, in a Python that has it (--ranx, by default this
one); its functions are compiled before the clock starts; reading, fusing and writing are timed one by one. Scores of
up to 100 queries without ties are compared.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path

from make_runs import LARGEST_DOCID, Collection, bm25, dense, query_text, run_texts, write

RANX = """
import json, resource, sys, time
from ranx import Run, fuse
one, other, method, out = sys.argv[1:]
norm, name = {"rrf": (None, "rrf"), "combsum": ("min-max", "sum"), "combmnz": ("min-max", "mnz")}[method]
small = [Run({"q": {"1234567": 2.0, "7654321": 1.0}}), Run({"q": {"1234567": 2.0, "7654322": 1.0}})]
fuse(small, norm=norm, method=name)
def clock():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
at = [clock()]
runs = [Run.from_file(path, kind="trec") for path in (one, other)]
at.append(clock())
fused = fuse(runs, norm=norm, method=name)
at.append(clock())
fused.name = "ranx"
fused.save(out, kind="trec")
at.append(clock())
plain = (qid for qid in fused.keys() if all(len(set(run[qid].values())) == len(run[qid]) for run in runs))
some = {qid: fused[qid] for qid, _ in zip(plain, range(100))}
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"seconds": [b - a for a, b in zip(at, at[1:])], "peak": peak, "scores": some}))
"""


def other_texts(collection: Collection) -> Iterator[str]:
    """Yield the lines of the second run."""
    half = collection.num_documents // 2
    for query, qid in enumerate(collection.qids()):
        rng, first = collection.rng(query, 4), collection.docids(query)
        new = [docid for docid in rng.choice(LARGEST_DOCID, 2 * half, replace=False).tolist() if docid not in first]
        docids = rng.permutation(first[::2][:half] + new[: collection.num_documents - half]).tolist()
        yield query_text(qid, docids, dense(rng, len(docids)), "other")


def treceval(runs: list[Path], method: str, out: Path) -> tuple[float, float, float]:
    """Fuse with treceval; return seconds of the clock and of the processor, and the largest memory in MB."""
    command = [Path(sysconfig.get_path("scripts")) / "treceval", "fuse", *runs, "-o", out, "--method", method]
    begun = time.perf_counter()
    process = subprocess.Popen(list(map(str, command)), stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"treceval fuse ended with status {status}")
    return time.perf_counter() - begun, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def compared(path: Path, scores: dict[str, dict[str, float]]) -> int:
    """Return how many scores of a fused run are those of ranx; stop where one is not."""
    count = 0
    with open(path, encoding="ascii") as file:
        for line in file:
            qid, _, docid, _, score, _ = line.split()
            if qid in scores:
                if not math.isclose(float(score), scores[qid][docid], rel_tol=1e-9, abs_tol=1e-12):
                    raise SystemExit(f"query {qid}, document {docid}: {score}, ranx {scores[qid][docid]}")
                count += 1
    return count


def main() -> None:
    """Make the runs, fuse them, print what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--queries", type=int, default=6980)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--methods", nargs="+", default=["rrf", "combsum"])
    parser.add_argument("--ranx", default=sys.executable, metavar="PYTHON", help="a Python that has ranx; 'no' without")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    collection = Collection(1, given.queries, given.documents, graded=False)
    runs = [given.folder / f"{name}-{given.queries}x{given.documents}.txt" for name in ("bm25", "other")]
    for path, texts in zip(runs, (run_texts(collection, bm25, "bm25"), other_texts(collection)), strict=True):
        if not path.exists():
            write(path, texts)
    for method in given.methods:
        out = given.folder / "fused.txt"
        clock, processor, peak = treceval(runs, method, out)
        print(f"{method}: treceval {processor:.1f} s of the processor ({clock:.1f} s), {peak:.0f} MB", flush=True)
        if given.ranx != "no":
            command = [given.ranx, "-c", RANX, *map(str, runs), method, str(given.folder / "ranx.txt")]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            theirs = json.loads(done.stdout.splitlines()[-1])
            read, fused, written = theirs["seconds"]
            times = f"{read + fused + written:.1f} s (read {read:.1f}, fuse {fused:.1f}, write {written:.1f})"
            print(f"{method}: ranx {times}, {theirs['peak']:.0f} MB: {sum(theirs['seconds']) / processor:.1f} times")
            scores = theirs["scores"]
            print(f"{method}: {compared(out, scores):,} scores of {len(scores)} queries are equal", flush=True)


if __name__ == "__main__":
    main()
