"""Time the whole command on a compressed run and on one with repeated lines: before and now, with each gzip library.

Usage: python benchmarks/daily.py FOLDER [--before CHECKOUT] [--repeat N] [--only gzip repeated]

FOLDER is that of make_runs.py (bm25.txt, bm25.txt.gz, qrels.txt); what is missing is written. CHECKOUT is another
checkout of this repository with its compiled scanner, such as `git worktree add CHECKOUT COMMIT`. Programs take turns,
and the seconds are those of all their threads: on a busy machine the minimum says most. All must print the same.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from make_runs import Collection, Maker, bm25, run_texts, write
from taking_turns import DisagreementError, Table, Tool, Turn, duration, take_turns

HERE = Path(__file__).resolve().parent.parent
BIG = Collection(1, 6980, 1000, graded=False)
EVERY = 100
"""One line of so many is repeated."""


def with_repeated(texts: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a run, some of them twice, the second time after the other lines of their query."""
    for text in texts:
        yield text + "".join(text.splitlines(keepends=True)[EVERY // 2 :: EVERY])


def treceval(name: str, checkout: Path, arguments: list[str], *first: Path, reader: str = "") -> Tool:
    """Return the command of a checkout."""
    env = {"PYTHONPATH": ":".join(map(str, (*first, checkout)))} | ({"TRECEVAL_READER": reader} if reader else {})
    return Tool(name, [[sys.executable, "-P", "-m", "treceval_py", *arguments]], env)


def timed(title: str, tools: list[Tool], repeat: int) -> Table:
    """Let tools take turns, and see that they print the same."""
    printed: set[str] = set()

    def same(tool: Tool, turn: Turn) -> None:
        printed.add(turn.output)
        if len(printed) > 1:
            raise DisagreementError(f"{tool.name} prints something else")

    turns = take_turns(tools, repeat, same)
    seconds = {name: [turn.cpu for turn in taken] for name, taken in turns.items()}
    unit = seconds[tools[0].name]
    rows = [
        (
            name,
            duration(min(each)),
            f"{min(each) / min(unit):.2f}",
            duration(statistics.median(each)),
            f"{statistics.median(each) / statistics.median(unit):.2f}",
            f"{max(turn.peak for turn in turns[name]):.0f} MB",
        )
        for name, each in seconds.items()
    ]
    return Table(title, ("CPU", "least", "ratio", "median", "ratio", "peak"), rows)


def main() -> None:
    """Read the command line, write what is missing, and print tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--before", type=Path, help="another checkout, to compare with")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--only", nargs="+", choices=["gzip", "repeated"], default=["gzip", "repeated"])
    given = parser.parse_args()
    folder: Path = given.folder
    if not (folder / "bm25.txt.gz").exists() or not (folder / "qrels.txt").exists():
        maker = Maker(folder, BIG, again=False)
        maker.usual()
        maker.gzip()
    with tempfile.TemporaryDirectory() as hidden:
        without = Path(hidden)
        (without / "zlib_ng.py").write_text("raise ImportError\n", encoding="ascii")
        files = [str(folder / "qrels.txt"), str(folder / "bm25.txt.gz")]
        if "gzip" in given.only:
            tools = [treceval("before", given.before, files)] if given.before else []
            tools += [
                treceval("standard library", HERE, files, without),
                treceval("zlib-ng", HERE, files),
                treceval("plain file", HERE, [files[0], str(folder / "bm25.txt")]),
            ]
            print(timed("bm25.txt.gz", tools, given.repeat).plain())
        if "repeated" in given.only:
            run = folder / "repeated.txt"
            if not run.exists():
                write(run, with_repeated(run_texts(BIG, bm25, "repeated")))
            arguments = ["--profile", "mteb", files[0], str(run)]
            tools = [treceval("before", given.before, arguments)] if given.before else []
            tools += [treceval("compiled reader", HERE, arguments)]
            if not given.before:
                tools += [treceval("Python reader", HERE, arguments, reader="python")]
            print(timed("1 % of the lines repeated", tools, given.repeat).plain())


if __name__ == "__main__":
    main()
