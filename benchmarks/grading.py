"""Time grading of a class and checking of a large run; kill grading half-way, go on, and compare what is written.

Usage: python benchmarks/grading.py FOLDER [--students N] [--lines N] [--check-lines N] [--no-kill]

Each submission has 100 queries and its own order of their documents, a notebook with a plot and a report of four pages
in PDF, both with the numbers; three of four students claim the right numbers, one of four a number that no convention
gives, so that all ways of explaining it are tried. Some submissions are damaged, and the teacher has adjusted the
points of one. Beside the time and the CPU time, the sum of the memory of all processes at its highest is printed, as
Linux counts it in /proc. The package fpdf2 writes the reports.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import fpdf

PROSE = """We index the collection without stop words and rank it with BM25, whose parameters we leave as they are. The
first thousand documents are ranked again by a model that reads the query and the passage together. We tried 3 learning
rates and 2 epochs; what we report is the run of the last checkpoint, over all queries that are judged."""
CREATED = datetime(2026, 1, 1, tzinfo=UTC)
QUERIES = 100
JUDGED = 100
TREC = [sys.executable, "-m", "treceval_py"]


def main() -> None:
    """Make the class, grade it, kill it, compare, check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--students", type=int, default=300)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--check-lines", type=int, default=7_000_000)
    parser.add_argument("--no-kill", action="store_true")
    options = parser.parse_args()
    folder = options.folder / f"class-{options.students}-{options.lines}"
    if not folder.exists():
        make_class(folder, options.students, options.lines)
    seconds, cpu, peak = graded(folder, "whole")
    print(f"{options.students} submissions of {options.lines:,} lines: {seconds:.0f} s, {cpu:.0f} s CPU, {peak:.0f} MB")
    if not options.no_kill:
        again = killed_and_continued(folder, options.students // 2)
        print(f"killed half-way: {again} submissions kept; afterwards {same(folder / 'whole', folder / 'killed')}")
    if options.check_lines:
        check(options.folder, options.check_lines)


def make_class(folder: Path, students: int, lines: int) -> None:
    """Write judgments, submissions, a baseline and claims."""
    (folder / "submissions").mkdir(parents=True)
    rng = random.Random(7)
    depth = lines // QUERIES
    pools = [[f"D{number:07d}" for number in rng.sample(range(10_000_000), 2 * depth)] for _ in range(QUERIES)]
    with (folder / "qrels.txt").open("w") as qrels:
        for qid, pool in enumerate(pools, 1):
            for docid in rng.sample(pool, JUDGED):
                qrels.write(f"{qid} 0 {docid} {rng.choice([0, 0, 0, 1, 2])}\n")
    (folder / "baseline.txt").write_text(ranking(pools, depth, rng, "baseline"))
    for number in range(students):
        student = folder / "submissions" / f"student{number:03d}"
        student.mkdir()
        text = ranking(pools, depth, rng, student.name)
        if number % 50 == 17:
            text = text.replace(" 0.5", " 0,5")
        (student / "run.txt").write_text(text)
    write_claims(folder, students)


def ranking(pools: list[list[str]], depth: int, rng: random.Random, tag: str) -> str:
    """Return a run of a random order of each pool."""
    parts = []
    for qid, pool in enumerate(pools, 1):
        chosen = rng.sample(pool, depth)
        parts += [
            f"{qid} Q0 {docid} {rank} {1 - rank / (depth + 7):.6f} {tag}\n" for rank, docid in enumerate(chosen, 1)
        ]
    return "".join(parts)


def write_claims(folder: Path, students: int) -> None:
    """Write what students claim: what is right, as the command prints it, or what nothing gives."""
    runs = [str(folder / "submissions" / f"student{number:03d}" / "run.txt") for number in range(students)]
    rows = ["student,measure,value"]
    noise = random.Random(11)
    for number, run in enumerate(runs):
        command = [*TREC, "-c", "-m", "map", "-m", "ndcg_cut.10", "-m", "recip_rank", str(folder / "qrels.txt"), run]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        write_documents(Path(run).parent, done.stdout, noise)
        for line in done.stdout.splitlines():
            name, _, value = line.split()
            wrong = number % 4 == 3 and name == "map"
            rows.append(f"student{number:03d},{name},{'0.912345' if wrong else value}")
    (folder / "claims.csv").write_text("\n".join(rows) + "\n")


def write_documents(folder: Path, printed: str, noise: random.Random) -> None:
    """Write a notebook with the output of a command and a plot, and a report in PDF with the same numbers."""
    plot = {"image/png": base64.b64encode(noise.randbytes(100_000)).decode(), "text/plain": ["<Figure size 640x480>"]}
    code = {"cell_type": "code", "execution_count": 1, "metadata": {}, "source": ["from ir import run\n"] * 20}
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": [PROSE]},
        {**code, "outputs": [{"output_type": "stream", "name": "stdout", "text": printed.splitlines(keepends=True)}]},
        {**code, "outputs": [{"output_type": "display_data", "data": plot, "metadata": {}}]},
    ]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "work.ipynb").write_text(json.dumps(notebook))
    report = fpdf.FPDF()
    report.set_creation_date(CREATED)
    report.set_font("helvetica", size=11)
    for _ in range(4):
        report.add_page()
        report.multi_cell(0, 5, f"{PROSE}\n" * 6)
    with report.table() as table:
        for line in [("measure", "value"), *((name, value) for name, _, value in map(str.split, printed.splitlines()))]:
            row = table.row()
            row.cell(line[0])
            row.cell(line[1])
    report.output(str(folder / "report.pdf"))


def command(folder: Path, out: str) -> list[str]:
    """Return the command that grades the class."""
    files = [str(folder / name) for name in ("qrels.txt", "submissions")]
    options = ["--claims", str(folder / "claims.csv"), "--baseline", str(folder / "baseline.txt")]
    return [*TREC, "grade", *files, "-o", str(folder / out), *options]


def adjusted(folder: Path) -> None:
    """Make a folder for the output anew, with what the teacher has written there."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "adjustments.toml").write_text('[student001]\npoints = "+2"\ncomment = "A good report."\n')


def graded(folder: Path, out: str) -> tuple[float, float, float]:
    """Grade; return seconds, seconds of CPU, and megabytes at the highest."""
    adjusted(folder / out)
    begun, peak, before = time.perf_counter(), 0.0, cpu_of_children()
    process = subprocess.Popen(command(folder, out), stdout=subprocess.DEVNULL)
    while process.poll() is None:
        peak = max(peak, memory_of_all(process.pid))
        time.sleep(0.05)
    return time.perf_counter() - begun, cpu_of_children() - before, peak


def cpu_of_children() -> float:
    """Return the seconds of CPU that ended processes have taken."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def memory_of_all(pid: int) -> float:
    """Return the memory of a process and its children in MB, shared pages counted by share."""
    return sum(memory(number) for number in [pid, *children(pid)]) / 1024


def memory(pid: int) -> int:
    """Return the memory of a process in KB; 0 when it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
        texts = [Path(f"/proc/{pid}/task/{task}/children").read_text() for task in tasks]
    except OSError:
        return []
    return [int(number) for text in texts for number in text.split()]


def killed_and_continued(folder: Path, students: int) -> int:
    """Kill grading when some submissions are graded, and do it again; return how many were kept."""
    adjusted(folder / "killed")
    process = subprocess.Popen(command(folder, "killed"), stdout=subprocess.DEVNULL)
    kept = folder / "killed" / ".grades"
    while process.poll() is None and len(list(kept.glob("*.json.gz"))) < students:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    number = len(list(kept.glob("*.json.gz")))
    subprocess.run(command(folder, "killed"), stdout=subprocess.DEVNULL, check=True)
    return number


def same(one: Path, other: Path) -> str:
    """Say whether two folders hold the same files."""
    files = [
        sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file()) for folder in (one, other)
    ]
    if files[0] != files[1]:
        return "there are other files"
    differing = [str(path) for path in files[0] if (one / path).read_bytes() != (other / path).read_bytes()]
    return f"{len(differing)} of {len(files[0])} files differ" + (f": {differing[0]}" if differing else "")


def check(folder: Path, lines: int) -> None:
    """Check a large run."""
    run = folder / f"run-{lines}.txt"
    if not run.exists():
        with run.open("w") as stream:
            for qid in range(1, lines // 1000 + 1):
                stream.write(
                    "".join(
                        f"{qid} Q0 {qid * 31 + rank * 7919 % 1000003} {rank} {9 - rank / 1e3:.4f} t\n"
                        for rank in range(1, 1001)
                    )
                )
    begun, peak = time.perf_counter(), 0.0
    process = subprocess.Popen([*TREC, "check", str(run)], stdout=subprocess.DEVNULL)
    while process.poll() is None:
        peak = max(peak, memory_of_all(process.pid))
        time.sleep(0.02)
    print(f"checked {lines:,} lines: {time.perf_counter() - begun:.1f} s, {peak:.0f} MB")


if __name__ == "__main__":
    main()
