"""Time grading of a class and checking of a large run; kill grading half-way, go on, and compare what is written.

Usage: python benchmarks/grading.py FOLDER [--students N] [--lines N] [--check-lines N] [--no-kill]
       python benchmarks/grading.py FOLDER --beside TREE [--turns N] [--students N] [--lines N]

Each submission has 100 queries and its own order of their documents; a report in Markdown, Word, PDF or HTML, in turn,
with the numbers in a table; and a claims.csv that declares them. Three of four students declare the right numbers, one
of four a number that no convention gives, so that all ways of explaining it are tried. Some submissions are damaged,
and the teacher has adjusted the points of one. Beside the time and the CPU time, the sum of the memory of all processes
at its highest is printed, as Linux counts it in /proc. The packages fpdf2 and python-docx write the reports.

With --beside, the package in another folder, such as a worktree of an earlier commit, grades the same class in turn
with the one here, and the ratio of the medians of their CPU time is printed, that of all processes together.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import docx
import fpdf
from taking_turns import Tool, take_turns

HERE = Path(__file__).resolve().parent.parent
PROSE = """We index the collection without stop words and rank it with BM25, whose parameters we leave as they are. The
first thousand documents are ranked again by a model that reads the query and the passage together. We tried 3 learning
rates and 2 epochs; what we report is the run of the last checkpoint, over all queries that are judged."""
PARAGRAPHS = [PROSE] * 24
CREATED = datetime(2026, 1, 1, tzinfo=UTC)
QUERIES = 100
JUDGED = 100
TREC = [sys.executable, "-m", "treceval_py"]


def main() -> None:
    """Make the class, grade it, kill it, compare, check; or grade it in turn with another version."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--students", type=int, default=300)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--check-lines", type=int, default=7_000_000)
    parser.add_argument("--no-kill", action="store_true")
    parser.add_argument("--beside", type=Path)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    folder = options.folder / f"class-{options.students}-{options.lines}"
    if not folder.exists():
        make_class(folder, options.students, options.lines)
    if options.beside:
        beside(folder, options.beside.resolve(), options.turns)
        return
    seconds, cpu, peak = graded(folder, "whole")
    print(f"{options.students} submissions of {options.lines:,} lines: {seconds:.0f} s, {cpu:.0f} s CPU, {peak:.0f} MB")
    if not options.no_kill:
        again = killed_and_continued(folder, options.students // 2)
        print(f"killed half-way: {again} submissions kept; afterwards {same(folder / 'whole', folder / 'killed')}")
    if options.check_lines:
        check(options.folder, options.check_lines)


def make_class(folder: Path, students: int, lines: int) -> None:
    """Write judgments, submissions and a baseline."""
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
        write_numbers(student, number)


def ranking(pools: list[list[str]], depth: int, rng: random.Random, tag: str) -> str:
    """Return a run of a random order of each pool."""
    parts = []
    for qid, pool in enumerate(pools, 1):
        chosen = rng.sample(pool, depth)
        parts += [
            f"{qid} Q0 {docid} {rank} {1 - rank / (depth + 7):.6f} {tag}\n" for rank, docid in enumerate(chosen, 1)
        ]
    return "".join(parts)


def write_numbers(student: Path, number: int) -> None:
    """Write what a student declares, right or what nothing gives, and a report with a table of it."""
    files = [str(student.parent.parent / "qrels.txt"), str(student / "run.txt")]
    command = [*TREC, "-c", "-m", "map", "-m", "ndcg_cut.10", "-m", "recip_rank", *files]
    printed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    values = {name: value for name, _, value in map(str.split, printed.splitlines())}
    if number % 4 == 3 and values:
        values["map"] = "0.912345"
    rows = [("measure", "value"), *values.items()]
    (student / "claims.csv").write_text("".join(f"{name},{value}\n" for name, value in rows))
    (markdown, word, pdf, web)[number // 4 % 4](student, rows)


def markdown(student: Path, rows: Sequence[tuple[str, str]]) -> None:
    """Write a report in Markdown."""
    lines = [f"| {name} | {value} |" for name, value in rows]
    (student / "report.md").write_text(
        "\n\n".join([*PARAGRAPHS, "\n".join([lines[0], "|---|---|", *lines[1:]])]) + "\n"
    )


def word(student: Path, rows: Sequence[tuple[str, str]]) -> None:
    """Write a report with Word's format."""
    report = docx.Document()
    for text in PARAGRAPHS:
        report.add_paragraph(text)
    table = report.add_table(rows=0, cols=2)
    for row in rows:
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text
    report.save(str(student / "report.docx"))


def pdf(student: Path, rows: Sequence[tuple[str, str]]) -> None:
    """Write a report in PDF."""
    report = fpdf.FPDF()
    report.set_creation_date(CREATED)
    report.set_font("helvetica", size=11)
    report.add_page()
    report.multi_cell(0, 5, "\n".join(PARAGRAPHS))
    with report.table() as table:
        for cells in rows:
            row = table.row()
            for text in cells:
                row.cell(text)
    report.output(str(student / "report.pdf"))


def web(student: Path, rows: Sequence[tuple[str, str]]) -> None:
    """Write a report in HTML."""
    table = "".join(f"<tr><td>{name}</td><td>{value}</td></tr>\n" for name, value in rows)
    text = "".join(f"<p>{text}</p>\n" for text in PARAGRAPHS)
    (student / "report.html").write_text(f"<!doctype html><title>Report</title>{text}<table>{table}</table>\n")


def beside(folder: Path, tree: Path, turns: int) -> None:
    """Grade the class with the package here and with another one, in turn, and print the ratio of their CPU times."""

    def tool(home: Path, name: str) -> Tool:
        new = ["rm", "-rf", str(folder / name)]
        return Tool(name, [new, command(folder, name)], env={"PYTHONPATH": str(home)})

    taken = take_turns([tool(HERE, "here"), tool(tree, "beside")], turns, lambda *_: None)
    cpu = {name: statistics.median(turn.cpu for turn in taken[name]) for name in taken}
    for name, seconds in cpu.items():
        print(f"{name}: {seconds:.1f} s CPU ({', '.join(f'{turn.cpu:.1f}' for turn in taken[name])})")
    print(f"here / beside: {cpu['here'] / cpu['beside']:.2f}")


def command(folder: Path, out: str) -> list[str]:
    """Return the command that grades the class."""
    files = [str(folder / name) for name in ("qrels.txt", "submissions")]
    return [*TREC, "grade", *files, "-o", str(folder / out), "--baseline", str(folder / "baseline.txt")]


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
