"""Time the report's page: its command beside a board of the same runs, its size, and what it does in a browser.

Usage: python benchmarks/report.py FOLDER [--qrels FILE --runs FOLDER] [--count 200] [--repeat 3] [--no-browser]

Without --runs, 200 runs of 100 queries × 300 documents are made in FOLDER from random numbers with a fixed seed. The
board is a cold one, without the values of earlier boards, of the same measures; both commands are whole processes, in
turn, and what counts is the CPU time of all their threads. Pages are those of all runs, of the first 17 with documents,
and of the first two. With playwright and a Chromium on the path each page is opened: until it is drawn, until all of it
is, and until it has answered the choice of another measure.
"""

from __future__ import annotations

import argparse
import random
import resource
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

MEASURES = ("map", "ndcg_cut.10", "recip_rank", "P.10")
LIMITS = {200: 5_000_000, 17: 3_000_000, 2: 3_000_000}


def main() -> None:
    """Make the files, take turns, print ratios, sizes and times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=Path)
    parser.add_argument("--qrels", type=Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--no-browser", action="store_true")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.runs is None:
        qrels, runs = made(options.folder / f"made-{options.count}", options.count)
    else:
        qrels, runs = options.qrels, sorted(path for path in options.runs.iterdir() if not path.name.startswith("."))
    pages = {len(some): (options.folder / f"page-{len(some)}.html", some) for some in (runs, runs[:17], runs[:2])}
    asked = [part for measure in MEASURES for part in ("-m", measure)]
    board = ["board", qrels, *runs, *asked, "--no-cache"]
    page, _ = pages[len(runs)]
    times: dict[str, list[float]] = {"board": [], "report": []}
    for _ in range(options.repeat):
        times["board"].append(cpu(board))
        times["report"].append(cpu(["report", qrels, *runs, *asked, "-o", page]))
    of_board, of_report = (statistics.median(times[name]) for name in times)
    print(f"{len(runs)} runs: board {of_board:.2f} s, report {of_report:.2f} s of CPU: {of_report / of_board:.2f} ×")
    for count, (path, some) in pages.items():
        if count != len(runs):
            cpu(["report", qrels, *some, *asked, "-o", path])
        limit = f" of {LIMITS[count]:,}" if count in LIMITS else ""
        print(f"{count} runs: page of {path.stat().st_size:,}{limit} bytes")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is not None and not options.no_browser:
        opened([path for path, _ in pages.values()], chromium)


def made(folder: Path, count: int) -> tuple[Path, list[Path]]:
    """Write judgments and runs, unless they are there: grade, luck and skill rank documents."""
    qrels, runs = folder / "qrels.txt", [folder / "runs" / f"run{number:03}.txt" for number in range(count)]
    if qrels.exists() and all(run.exists() for run in runs):
        return qrels, runs
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    source = random.Random(7)
    queries = [str(number) for number in range(301, 401)]
    pools = {qid: [f"FT{source.randrange(10**3)}-{source.randrange(10**5)}" for _ in range(1200)] for qid in queries}
    pools = {qid: list(dict.fromkeys(pool)) for qid, pool in pools.items()}
    grades = {qid: [source.choice((0,) * 20 + (1, 2)) for _ in pool] for qid, pool in pools.items()}
    luck = {qid: [source.gauss(0, 1) for _ in pool] for qid, pool in pools.items()}
    with open(qrels, "w", encoding="ascii") as file:
        for qid in queries:
            judged = zip(pools[qid][:1000], grades[qid], strict=False)
            file.writelines(f"{qid} 0 {docid} {grade}\n" for docid, grade in judged)
    for number, run in enumerate(runs):
        skill = 0.5 + number / count
        with open(run, "w", encoding="ascii") as file:
            for qid in queries:
                rows = zip(pools[qid], grades[qid], luck[qid], strict=True)
                found = sorted(((skill * grade + each + source.gauss(0, 1), docid) for docid, grade, each in rows))
                file.writelines(
                    f"{qid} Q0 {docid} {rank} {score:.6f} run{number:03}\n"
                    for rank, (score, docid) in enumerate(found[:-301:-1], 1)
                )
    return qrels, runs


def cpu(arguments: Sequence[object]) -> float:
    """Run a command of treceval; return the seconds of CPU that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [Path(sys.executable).with_name("treceval"), *map(str, arguments)], capture_output=True, check=False
    )
    if done.returncode:
        sys.exit(done.stderr.decode())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


ANSWER = """async () => {
  const busy = () => document.documentElement.hasAttribute("data-busy");
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const start = performance.now();
  document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "m", bubbles: true}));
  await frame();
  const first = performance.now() - start;
  while (busy()) await frame();
  return [first, performance.now() - start];
}"""
"""Choose another measure; when the page can paint, and when nothing is left to draw."""


def opened(pages: Sequence[Path], chromium: str) -> None:
    """Open pages, and print how long they take."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for path in pages:
            times = [of_page(browser, path) for _ in range(3)]
            drawn, whole, answered, settled = (statistics.median(column) for column in zip(*times, strict=True))
            print(
                f"{path.name}: {drawn:.0f} ms until it is drawn, {whole:.0f} until all of it is; "
                f"another measure {answered:.0f} ms, all of it {settled:.0f}"
            )
        browser.close()


def of_page(browser: Any, path: Path) -> tuple[float, float, float, float]:
    """Return how long a page takes to be drawn, in part and whole, and to answer, in ms."""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto(path.resolve().as_uri())
    page.wait_for_selector("table svg", state="attached")
    drawn = page.evaluate("() => performance.now()")
    page.wait_for_selector("html:not([data-busy])", state="attached")
    whole = page.evaluate("() => performance.now()")
    answered, settled = page.evaluate(ANSWER)
    page.close()
    return drawn, whole, answered, settled


if __name__ == "__main__":
    main()
