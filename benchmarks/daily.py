"""Time what people do with runs every day: processor time and peak memory of whole commands, beside other programs.

Usage: python benchmarks/daily.py FOLDER [--before CHECKOUT] [--repeat N] [--only WORD …] [--peers] [--markdown]

FOLDER is that of make_runs.py (bm25.txt, dense.txt and qrels.txt of 7 million lines, and many/); what is missing is
written. CHECKOUT is another checkout of this repository with its compiled scanner, such as `git worktree add CHECKOUT
COMMIT`. Programs take turns, and the seconds are those of all their threads: on a busy machine the minimum says most.
What two checkouts print must be the same.

--peers adds the programs that do the same task: trec_eval, where the environment says TREC_EVAL=PATH or PATHS with
colons (built with -O2 and with -O3, say), and those of pytrec_eval, ir_measures and ranx that are installed, which run
once. Frames are made before the clock starts. That the values agree is seen by run.py.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

from make_runs import Collection, Maker, bm25, query_text, run_texts, write
from taking_turns import DisagreementError, Table, Tool, Turn, duration, memory, take, take_turns

HERE = Path(__file__).resolve().parent
BIG = Collection(1, 6980, 1000, graded=False)
QUERIES = Collection(5, 1_000_000, 10, graded=False)
EVERY = 100
"""One line of so many is repeated."""

CLAIM = "nDCG@10=0.4321"
ROWS = 1_000_000
"""The rows of a frame."""


def with_repeated(texts: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a run, some of them twice, the second time after the other lines of their query."""
    for text in texts:
        yield text + "".join(text.splitlines(keepends=True)[EVERY // 2 :: EVERY])


def short_texts(collection: Collection, *, judged: bool) -> Iterator[str]:
    """Yield the lines of many queries, or of their judgments; a generator for each query would take minutes."""
    rng = collection.rng(0)
    docids = rng.integers(0, 8_841_823, collection.num_queries)
    steps = 1 + rng.integers(0, 10_000, collection.num_queries)
    scores = bm25(rng, collection.num_documents)
    for query in range(collection.num_queries):
        # Ids in no order, or each query would be looked at for a sign of a mistake.
        ranked = [int(docids[query] + steps[query] * (rank * 7 % 11)) for rank in range(collection.num_documents + 1)]
        qid = 100_000 + query
        yield f"{qid} 0 {ranked[query % 11]} 1\n" if judged else query_text(qid, ranked[:-1], scores, "short")


class Task:
    """A task, and the tools that do it: this checkout first."""

    def __init__(self, name: str, *words: str, before: Path | None) -> None:
        self.name = name
        self.words = words
        self.tools = [_treceval("treceval", HERE.parent, words)]
        if before:
            self.tools.insert(0, _treceval("before", before, words))

    def beside(self, *tools: Tool) -> Task:
        """Add other programs."""
        self.tools.extend(tools)
        return self


def _treceval(name: str, checkout: Path, words: Iterable[str]) -> Tool:
    env = {"PYTHONPATH": str(checkout)}
    first, *rest = words
    program = [str(HERE / "peers.py")] if first == "peers.py" else ["-m", "treceval_py", first]
    return Tool(name, [[sys.executable, "-P", *program, *rest]], env)


def _trec_evals(qrels: str, run: str) -> list[Tool]:
    paths = list(filter(None, os.environ.get("TREC_EVAL", "").split(os.pathsep)))
    measures = ["-m", "official", "-m", "ndcg", "-m", "ndcg_cut.10"]
    return [Tool(Path(path).name, [[path, *measures, qrels, run]]) for path in paths]


def _peers(*words: str, of: Iterable[str] = ("pytrec_eval", "ir_measures", "ranx")) -> list[Tool]:
    """Return the packages that are installed, by functions of peers.py."""
    program = [sys.executable, str(HERE / "peers.py")]
    names = filter(find_spec, of)
    env = {"PYTHONPATH": str(HERE.parent)}
    return [Tool(name, [[*program, *[word.format(name) for word in words]]], env, once=True) for name in names]


def make(folder: Path) -> None:
    """Write what is missing."""
    maker = Maker(folder, BIG, again=False)
    if not all((folder / name).exists() for name in ("qrels.txt", "bm25.txt", "dense.txt", "many/run02.txt")):
        maker.usual()
        maker.many()
    if not (folder / "bm25.txt.gz").exists():
        maker.gzip()
    if not (folder / "repeated.txt").exists():
        write(folder / "repeated.txt", with_repeated(run_texts(BIG, bm25, "repeated")))
    for name, judged in ("short.qrels.txt", True), ("short.txt", False):
        if not (folder / name).exists():
            write(folder / name, short_texts(QUERIES, judged=judged))
    if not (folder / "bm25.parquet").exists():
        take(_treceval("made", HERE.parent, ["convert", str(folder / "bm25.txt"), str(folder / "bm25.parquet")]))
    (folder / "written").mkdir(exist_ok=True)


def tasks(folder: Path, before: Path | None, peers: bool) -> Iterator[Task]:
    """Yield the tasks."""
    qrels, run, dense = (str(folder / f"{name}.txt") for name in ("qrels", "bm25", "dense"))
    small = [str(folder / name) for name in ("medium.qrels.txt", "many/run01.txt", "many/run02.txt")]
    short = [str(folder / name) for name in ("short.qrels.txt", "short.txt")]
    parquet, repeated, out = (str(folder / name) for name in ("bm25.parquet", "repeated.txt", "written"))

    def task(name: str, *words: str) -> Task:
        return Task(name, *words, before=before)

    def scored(qrels: str, run: str) -> list[Tool]:
        return [*_trec_evals(qrels, run), *_peers("{}", qrels, run)] if peers else []

    def by(*words: str, of: Iterable[str] = ("ranx",)) -> list[Tool]:
        return _peers(*words, of=of) if peers else []

    yield task("score, text", "score", qrels, run).beside(*scored(qrels, run))
    yield task("score, gzip", "score", qrels, f"{run}.gz")
    yield task("score, 1 % of the lines repeated", "score", "--profile", "mteb", qrels, repeated)
    yield task("score, Parquet", "score", qrels, parquet).beside(*by("parquet_{}", qrels, parquet))
    for library in filter(find_spec, ("pandas", "polars")):
        words = ("frame", library, str(ROWS), qrels, run)
        packages = ("pytrec_eval", "ir_measures", "ranx") if library == "pandas" else ()
        yield task(f"evaluate, {library}, {ROWS:,} rows", "peers.py", *words).beside(*by(*words, "{}", of=packages))
    yield task("convert to JSON Lines", "convert", run, f"{out}/run.jsonl")
    yield task("convert to Parquet", "convert", run, f"{out}/run.parquet")
    yield task("convert Parquet to TREC", "convert", parquet, f"{out}/run.txt")
    yield task("explain --claim", "explain", qrels, run, "--claim", CLAIM)
    yield task("score --unjudged", "score", "--unjudged", "-m", "ndcg_cut.10", qrels, run)
    fused = by("fuse_{}", run, dense, f"{out}/ranx.txt")
    yield task("fuse 2", "fuse", run, dense, "-o", f"{out}/fused.txt").beside(*fused)
    yield task("compare 2", "compare", qrels, run, dense).beside(*by("compare_{}", qrels, run, dense))
    # Without trec_eval, which looks for the judgments of each query from the first one on: hours.
    yield task("score, 1,000,000 queries", "score", *short).beside(*by("{}", *short, of=("pytrec_eval", "ir_measures")))
    yield task("compare 2, small", "compare", *small).beside(*by("compare_{}", *small))
    yield task("gate 2, small", "gate", *small, "--margin", "0.5")
    yield task("board 2, small", "board", *small, "--no-cache")


def main() -> None:
    """Read the command line, write what is missing, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--before", type=Path, help="another checkout, to compare with")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=[""], metavar="WORD", help="tasks with one of these words")
    parser.add_argument("--peers", action="store_true", help="time other programs too")
    parser.add_argument("--markdown", action="store_true", help="print a table for GitHub")
    given = parser.parse_args()
    make(given.folder)
    if given.peers:  # ranx compiles its functions the first time it is used on a machine
        for tool in _peers("{}", *(str(given.folder / name) for name in ("small.qrels.txt", "small.txt")), of=["ranx"]):
            take(tool)
    rows = []
    for task in tasks(given.folder, given.before, given.peers):
        if not any(word in task.name for word in given.only):
            continue
        printed: dict[str, str] = {}

        def look(tool: Tool, turn: Turn, printed: dict[str, str] = printed, task: Task = task) -> None:
            printed[tool.name] = turn.output
            same = tool.name != "treceval" or printed.get("before", turn.output) == turn.output
            if not same and "peers.py" not in task.words:
                raise DisagreementError(f"{task.name}: {given.before} prints something else")

        turns = take_turns(task.tools, given.repeat, look)
        if "peers.py" in task.words:  # the clock of the script, which does not run while the frame is made
            turns = {name: [_of_frame(turn) for turn in taken] for name, taken in turns.items()}
        unit = min(turn.cpu for turn in turns["treceval"])
        for name, taken in turns.items():
            cpu, peak = min(turn.cpu for turn in taken), max(turn.peak for turn in taken)
            rows.append((task.name, name, duration(cpu), f"{cpu / unit:.2f}", memory(peak)))
    table = Table("CPU of all threads, least of the turns", ("task", "program", "CPU", "ratio", "peak"), rows)
    print(table.markdown() if given.markdown else table.plain())


def _of_frame(turn: Turn) -> Turn:
    reply = json.loads(turn.output)
    return Turn(reply["seconds"], reply["seconds"], reply["peak"], turn.output)


if __name__ == "__main__":
    main()
