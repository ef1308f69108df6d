"""Compare the speed and memory of treceval with the programs that people use today.

Usage: python run.py FOLDER [--repeat 5] [--only NAME …] [--no-ranx] [--huge] [--markdown]

Every file that is missing in FOLDER is written first (make_runs.py; about 1 GB, with --huge 2.6 GB more). The script
runs in an environment that has this package and the others; from the root of the repository:

    python -m venv /tmp/bench
    /tmp/bench/bin/pip install . -r benchmarks/requirements.txt

and then /tmp/bench/bin/python benchmarks/run.py /tmp/runs. TREC_EVAL=/path/to/trec_eval adds that program.

Tools run in turn, and each time is that of a whole process unless the row says otherwise. Before a time counts, the
values have to agree: where they do not, the script stops.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from taking_turns import (
    EXACT,
    PRINTED,
    DisagreementError,
    Table,
    Tool,
    Turn,
    Values,
    check_values,
    table,
    take,
    take_turns,
    values_of_json,
    values_of_lines,
    with_seconds,
)

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent
TREC_EVAL = os.environ.get("TREC_EVAL", "")
PACKAGES = ("treceval-py", "pytrec_eval-terrier", "ir_measures", "ranx", "numpy")

MEASURES = ("map", "ndcg", "recip_rank")
OF_TREC = values_of_lines({name: name for name in MEASURES})
OF_IR_MEASURES = values_of_lines({"AP": "map", "nDCG": "ndcg", "RR": "recip_rank"})

OURS = "treceval"
PYTREC = "pytrec_eval"

# ranx leaves documents with equal scores in whatever order its sort gives them, everyone else orders them by id. Of the
# scores in bm25.txt a few in a query are equal, which moves the fourth decimal of a mean.
RANX_TOLERANCE = 5e-4

# trec_eval 9, and with it pytrec_eval and ir_measures, keeps scores as 32-bit floats: two scores that differ after the
# seventh digit are equal there, and the documents are ordered by id. So their values are compared with ours under the
# profile that does the same; the times are those of the default profile, which keeps all digits.
OLD = "trec_eval-9"


class Files:
    """The files of a folder, by what they are."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __getitem__(self, name: str) -> str:
        return str(self._folder / name)

    def many(self) -> list[str]:
        """Return the runs of the folder ``many``."""
        return sorted(str(path) for path in (self._folder / "many").glob("run*.txt"))


class Options(argparse.Namespace):
    """What the command line said."""

    folder: Path
    repeat: int
    only: list[str]
    ranx: bool
    huge: bool
    markdown: bool


def ours(qrels: str, *runs: str, name: str = OURS, options: Sequence[str] = (), reader: str = "") -> Tool:
    """Return our command with its default measures and all its checks."""
    env = {"TRECEVAL_READER": reader} if reader else {}
    return Tool(name, [[str(BIN / "treceval"), *options, qrels, *runs]], env, values=OF_TREC)


def ir_measures(qrels: str, run: str) -> Tool:
    """Return the command of ir_measures."""
    command = [str(BIN / "ir_measures"), qrels, run, "AP", "nDCG", "RR"]
    return Tool("ir_measures", [command], values=OF_IR_MEASURES, profile=OLD)


def package(name: str, qrels: str, run: str, *, once: bool = False, tolerance: float = EXACT) -> Tool:
    """Return a package without a command; see peers.py."""
    command = [sys.executable, str(HERE / "peers.py"), name, qrels, run]
    return Tool(name, [command], once=once, values=values_of_json, tolerance=tolerance, profile=OLD)


def trec_eval(qrels: str, run: str) -> list[Tool]:
    """Return trec_eval with the measures that we print by default, if the environment says where it is."""
    if not TREC_EVAL:
        return []
    command = [TREC_EVAL, "-m", "official", "-m", "ndcg", "-m", "ndcg_cut.10", qrels, run]
    return [Tool(f"trec_eval {_trec_eval_version()}", [command], values=OF_TREC, profile=OLD)]


def compare(tools: Sequence[Tool], repeat: int, qrels: str, run: str) -> dict[str, list[Turn]]:
    """Run tools in turn, and check the values that each prints first against ours with all digits."""

    @cache
    def expected(profile: str) -> Values:
        options = ["--profile", profile, "--format", "json", *(part for name in MEASURES for part in ("-m", name))]
        output = take(ours(qrels, run, options=options)).output
        means: Values = json.loads(output)["runs"][0]["mean"]
        return means

    def check(tool: Tool, turn: Turn) -> None:
        if tool.values is not None:
            check_values(tool, tool.values(turn.output), expected(tool.profile))

    # This also reads the files once, so that all tools find them in the page cache.
    expected(OLD)
    return take_turns(tools, repeat, check)


def _of_seven_million(files: Files, options: Options, run: str, *, all_peers: bool) -> dict[str, list[Turn]]:
    qrels, run = files["qrels.txt"], files[run]
    tools = [
        ours(qrels, run),
        ours(qrels, run, name=f"{OURS} --threads 1", options=["--threads", "1"]),
        ours(qrels, run, name=f"{OURS}, Python reader", reader="python"),
        package(PYTREC, qrels, run),
        *trec_eval(qrels, run),
    ]
    if all_peers:
        tools.append(ir_measures(qrels, run))
        if options.ranx and _version("ranx"):
            _compile_ranx(files)
            tools.append(package("ranx", qrels, run, once=True, tolerance=RANX_TOLERANCE))
    turns = compare(tools, options.repeat, qrels, run)
    if all_peers and options.ranx and not _version("ranx"):
        turns["ranx: not installed"] = []
    turns[f"{PYTREC}, parse and evaluate only"] = with_seconds(turns[PYTREC])
    return turns


def _compile_ranx(files: Files) -> None:
    """Let ranx compile its functions, which it does the first time it is used on a machine."""
    take(package("ranx", files["small.qrels.txt"], files["small.txt"]))


def big(files: Files, options: Options) -> list[Table]:
    """Score a run of 7 million lines with six decimals."""
    turns = _of_seven_million(files, options, "bm25.txt", all_peers=True)
    return [table("big: 7 million lines, BM25", turns, OURS, note="ranx ran once." if turns.get("ranx") else "")]


def dense(files: Files, options: Options) -> list[Table]:
    """Score a run of 7 million lines with scores of 16 to 18 digits."""
    turns = _of_seven_million(files, options, "dense.txt", all_peers=False)
    return [table("dense: 7 million lines, scores with all digits", turns, OURS)]


def ties(files: Files, options: Options) -> list[Table]:
    """Score a run of 7 million lines with many equal scores."""
    turns = _of_seven_million(files, options, "ties.txt", all_peers=False)
    return [table("ties: 7 million lines, many equal scores", turns, OURS)]


def gzip(files: Files, options: Options) -> list[Table]:
    """Score a compressed run, beside its decompression alone."""
    name, qrels, run = "treceval bm25.txt.gz", files["qrels.txt"], files["bm25.txt.gz"]
    tools = [ours(qrels, run, name=name), ours(qrels, files["bm25.txt"], name="treceval bm25.txt")]
    if shutil.which("gzip"):
        command = ["sh", "-c", 'gzip -dc "$1" > /dev/null', "sh", run]
        tools.append(Tool("gzip -dc bm25.txt.gz > /dev/null", [command]))
    turns = compare(tools, options.repeat, qrels, run)
    return [table("gzip: the run of big, compressed", turns, name)]


def huge(files: Files, options: Options) -> list[Table]:
    """Score a run of 70 million lines, beside the one that is a tenth of it."""
    if not os.path.exists(files["huge.txt"]):
        return []
    # Ten equal copies have the mean of one, so that both are checked against the same values.
    name, run = "treceval, 7 million lines", files["bm25.txt"]
    tools = [
        ours(files["qrels.txt"], run, name=name),
        ours(files["huge.qrels.txt"], files["huge.txt"], name="treceval, 70 million lines"),
    ]
    turns = compare(tools, options.repeat, files["qrels.txt"], run)
    return [table("huge: ten times the run of big", turns, name)]


def dictionaries(_: Files, options: Options) -> list[Table]:
    """Evaluate dictionaries in one process."""
    command = [sys.executable, str(HERE / "peers.py"), "dictionaries", str(options.repeat)]
    found = json.loads(take(Tool("dictionaries", [command])).output)
    tables = []
    for shape, tools in found.items():
        turns = {name: [Turn(seconds, 0.0, 0.0, "") for seconds in taken] for name, taken in tools.items()}
        tables.append(table(f"dictionaries: {shape}", turns, "treceval_py.RelevanceEvaluator"))
    return tables


def small(files: Files, options: Options) -> list[Table]:
    """Score small runs, which is mostly starting."""
    qrels, run = files["small.qrels.txt"], files["small.txt"]
    tools = [
        ours(qrels, run),
        ir_measures(qrels, run),
        *trec_eval(qrels, run),
        Tool("python -c 'import numpy, click'", [[sys.executable, "-c", "import numpy, click"]]),
        Tool("python -c pass", [[sys.executable, "-c", "pass"]]),
    ]
    turns = compare(tools, 5 * options.repeat, qrels, run)
    tables = [table("small: 1,500 lines", turns, OURS)]
    qrels, run = files["medium.qrels.txt"], files["medium.txt"]
    tools = [ours(qrels, run), ir_measures(qrels, run), package(PYTREC, qrels, run), *trec_eval(qrels, run)]
    turns = compare(tools, 5 * options.repeat, qrels, run)
    return [*tables, table("small: 100,000 lines", turns, OURS)]


def many(files: Files, options: Options) -> list[Table]:
    """Score 50 runs with one command, and with 50."""
    qrels, runs = files["medium.qrels.txt"], files.many()
    one, each = f"one command, {len(runs)} runs", f"{len(runs)} commands, a run each"
    lines = ["--format", "tsv"]
    tools = [
        ours(qrels, *runs, name=one, options=lines),
        Tool(each, [command for run in runs for command in ours(qrels, run, options=lines).commands]),
    ]
    theirs = [tool for run in runs for tool in trec_eval(qrels, run)]
    if theirs:
        name = f"{len(runs)} commands of {theirs[0].name}"
        tools.append(Tool(name, [command for tool in theirs for command in tool.commands]))
    turns = take_turns(tools, options.repeat, lambda _tool, _turn: None)
    together, apart, *others = (_means(turns[tool.name][0].output) for tool in tools)
    if together != apart or any(not _agree(together, means) for means in others):
        raise DisagreementError(f"the values of {', '.join(turns)} are not the same")
    return [table("many: 50 runs of 100,000 lines", turns, one)]


def _means(output: str) -> dict[tuple[str, str], float]:
    """Return averages by run and measure, from our TSV or from lines of trec_eval, also of several runs in a row."""
    means: dict[tuple[str, str], float] = {}
    tags = [""]
    for line in output.splitlines():
        first, *cells = line.split("\t")
        if first.strip() in ("query", "runid"):
            tags = cells[1:]
        elif first == "all" and cells[0] != "runid":
            means.update({(tag, cells[0]): float(cell) for tag, cell in zip(tags, cells[1:], strict=True)})
        elif first.strip() in MEASURES:
            means[tags[0], first.strip()] = float(cells[1])
    return means


def _agree(ours: dict[tuple[str, str], float], theirs: dict[tuple[str, str], float]) -> bool:
    """Whether printed averages are near ours with all digits."""
    expected = {key: value for key, value in ours.items() if key[1] in MEASURES}
    return expected.keys() == theirs.keys() and all(abs(theirs[key] - expected[key]) <= PRINTED for key in expected)


SECTIONS: dict[str, Callable[[Files, Options], list[Table]]] = {
    section.__name__: section for section in (big, dense, ties, gzip, huge, dictionaries, small, many)
}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


@cache
def _trec_eval_version() -> str:
    done = subprocess.run([TREC_EVAL, "-v"], capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip().rpartition(" ")[2] or "(unknown version)"


def machine() -> str:
    """Say what was compared on what."""
    tools = [f"{name} {_version(name) or 'not installed'}" for name in PACKAGES]
    if TREC_EVAL:
        tools.append(f"trec_eval {_trec_eval_version()}")
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{', '.join(tools)}; {python}, {platform.machine()}, {os.cpu_count()} CPUs"


def make_files(options: Options) -> None:
    """Write what is missing, in a process of its own: see taking_turns."""
    wanted = ["--many", "--gzip", *(["--huge"] if options.huge else [])]
    done = subprocess.run([sys.executable, str(HERE / "make_runs.py"), str(options.folder), *wanted], check=False)
    if done.returncode:
        sys.exit(done.returncode)


def _arguments() -> Options:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where the runs are, or will be written")
    parser.add_argument("--repeat", type=int, default=5, help="turns of each tool (five times as many for small)")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS), metavar="NAME", help="sections")
    parser.add_argument("--no-ranx", dest="ranx", action="store_false", help="leave out ranx, which is slow")
    parser.add_argument("--huge", action="store_true", help="write the run of 70 million lines, if it is not there")
    parser.add_argument("--markdown", action="store_true", help="print tables for GitHub")
    return parser.parse_args(namespace=Options())


def main() -> None:
    """Read the command line, compare, print."""
    options = _arguments()
    make_files(options)
    print(machine(), end="\n\n", flush=True)
    for name in options.only:
        try:
            tables = SECTIONS[name](Files(options.folder), options)
        except (DisagreementError, RuntimeError) as error:
            sys.exit(f"{name}: {error}")
        for found in tables:
            print(found.markdown() if options.markdown else found.plain(), flush=True)


if __name__ == "__main__":
    main()
