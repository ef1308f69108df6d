"""Feed damaged text to a build of the scanner that watches its memory, and see that it reads what the Python reader reads.

    python tests/sanitizer.py --bytes 10000000 --seed 1
    python tests/sanitizer.py --seed 1 --only 4711

The scanner is built with gcc's AddressSanitizer and UndefinedBehaviorSanitizer in a temporary folder, and takes the
place of the normal one in a process of its own. Every case is a small valid run or judgments file, damaged at random.
It is scanned; what the scanner takes must become the columns that the Python reader makes, and what is judged from it
must be what the Python reader judges. Buffers are exactly as long as what is in them, so that a byte too many is seen.
Then whole commands are run on damaged files, the cases of tests/damage.py, which also has the ways of damage. Any report
of a sanitizer, and any difference, ends with status 1 and the case that shows it. Case number N of a seed is always the
same case.
"""

from __future__ import annotations

import argparse
import importlib.machinery
import importlib.util
import os
import random
import shutil
import struct
import subprocess
import sys
import sysconfig
import tempfile
import traceback
from pathlib import Path
from typing import Any

import numpy as np
from damage import GARBLED, MUTATIONS, failures_of

SOURCE = Path(__file__).resolve().parent.parent / "treceval_py" / "scan" / "_scan.pyx"

SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-O1", "-g")

LIBRARIES = ("libasan.so", "libubsan.so", "libstdc++.so.6")
"""What must be in the process before anything else; the last one only because numpy throws C++ exceptions."""

FOUND = 99
"""The status of a process that a sanitizer ended."""


# --- cases ---

WHITE = (b" ", b" ", b" ", b" ", b"\t", b"  ", b" \t ", b"\v", b"\f", b"\r")


def _number(rng: random.Random) -> bytes:
    kind = rng.randrange(8)
    if kind == 0:
        return rng.choice(GARBLED)
    if kind == 1:
        return repr(struct.unpack("<d", rng.randbytes(8))[0]).encode()
    if kind == 2:
        digits = "".join(rng.choices("0123456789", k=rng.randint(1, 40)))
        at = rng.randrange(len(digits) + 1)
        return f"{digits[:at]}.{digits[at:]}e{rng.randint(-340, 320)}".encode()
    if kind == 3:
        return b"%d" % rng.randrange(4)
    return f"{rng.uniform(-20, 20):.{rng.randint(0, 18)}f}".encode()


def _whole(rng: random.Random) -> bytes:
    return rng.choice(GARBLED) if rng.random() < 0.02 else b"%d" % rng.randint(-2, 5)


def _name(rng: random.Random, number: int, style: int) -> bytes:
    if style == 0:
        return b"d%d" % number
    if style == 1:
        return b"clueweb12-%04dwb-%02d-%05d" % (number, number % 100, number * 7)
    if style == 2:
        return ("é" * (number % 9) + str(number)).encode()
    if style == 3:
        return b"x" * (number % 40) + b"%d" % number
    return bytes([rng.choice((1, 28, 33, 35, 95, 127, 128, 133, 160, 255))]) + b"%d" % number


def make_text(rng: random.Random, run: bool) -> bytes:
    """Return the valid lines of a run or of judgments."""
    style, white, end = rng.randrange(5), rng.choice(WHITE[:7]), rng.choice((b"\n", b"\n", b"\n", b"\r\n", b" \n"))
    odd_white, odd_numbers = rng.random() < 0.2, rng.random() < 0.3
    more = rng.choice((0, 0, 0, 1, 3))
    ties = rng.random() < 0.3
    tag = _name(rng, rng.randrange(99), style)
    lines = []
    for query in range(rng.choice((1, 1, 2, 4))):
        qid = _name(rng, query, style)
        count = rng.choice((1, 2, 3, 5, 12, 50))
        for rank, number in enumerate(rng.sample(range(count * 2), count), 1):
            # Mostly numbers that the scanner takes, so that not every block is left to Python.
            score = b"%d" % rng.randrange(3) if ties else f"{20 - rank / 7:.{3 + number % 15}f}".encode()
            whole = b"%d" % (rank if run else rng.randint(-1, 3))
            if odd_numbers and rng.random() < 0.1:
                score = repr(rng.uniform(-1, 1) * 10.0 ** rng.randint(-320, 300)).encode()
            fields = [qid, b"Q0", _name(rng, number, style), whole]
            if run:
                fields += [score, tag, *[b"more"] * more]
            if odd_white:
                lines.append(rng.choice((b"", b" ")) + b"".join(each + rng.choice(WHITE[:9]) for each in fields) + end)
            else:
                lines.append(white.join(fields) + end)
        if rng.random() < 0.2:
            lines.append(rng.choice((b"\n", b"# a comment\n", b" \t\n", b"#\n", b"  #1 Q0\n")))
    if rng.random() < 0.2:
        rng.shuffle(lines)
    return b"".join(lines)


class Case:
    """Damaged text and how it is read; case number ``index`` of a seed."""

    def __init__(self, seed: int, index: int) -> None:
        self.index = index
        self.rng = random.Random(f"{seed}:{index}")
        self.run = self.rng.random() < 0.7
        text = make_text(self.rng, self.run)
        if self.rng.random() < 0.1:  # one line, all of which is odd
            fields = [b"1", b"0", b"a", _number(self.rng), *([_number(self.rng), b"t"] if self.run else [])]
            text = b" ".join(fields) + b"\n"
        for _ in range(self.rng.choice((0, 1, 1, 1, 2, 3, 6))):
            text = self.rng.choice(MUTATIONS)(text or b"\n", self.rng, [text, b"1 Q0 a 1 1 t\n1 0 a 1\n"])
        self.text = text if text.endswith(b"\n") else text + b"\n"

    def __str__(self) -> str:
        kind = "run" if self.run else "judgments"
        return f"case {self.index}: {kind} of {len(self.text)} bytes\n{self.text[:3000]!r}"


# --- what must come of it ---


class Difference(Exception):
    """The scanner and the Python reader do not agree."""


def exact(data: bytes) -> memoryview:
    """Return bytes in memory of exactly their length; a bytes object has one more."""
    array = np.empty(len(data), dtype=np.uint8)
    array[:] = np.frombuffer(data, dtype=np.uint8)
    array.flags.writeable = False
    return array.data


def same(what: str, found: object, expected: object) -> None:
    """Compare two values, arrays by type and bits."""

    def bits(value: Any) -> object:
        if isinstance(value, np.ndarray):
            return value.dtype.str, value.tobytes()
        return tuple(map(bits, value)) if isinstance(value, (tuple, list)) else value

    if bits(found) != bits(expected):
        raise Difference(f"{what}\n  the scanner: {found!r:.1500}\n  the Python reader: {expected!r:.1500}")


def feed(case: Case, scanner: Any) -> bool:
    """Scan and judge a case; return whether the scanner took the block."""
    from treceval_py.data.columns import QRELS, RUN
    from treceval_py.errors import InputError
    from treceval_py.io.rows import Rows, read_part, scanned

    rng = case.rng
    found = scanner.scan(exact(case.text), case.run)
    parts = rng.randrange(1, 5)
    chosen = [scanner.select(exact(case.text), parts, part) for part in range(parts)]
    same("lines in parts", sorted(b"".join(chosen)), sorted(case.text))
    if rng.random() < 0.2:  # as the other kind of file
        scanner.scan(exact(case.text), not case.run)
    layout = RUN if case.run else QRELS
    if found is None:
        return False
    try:
        expected, error = read_part(case.text, 1, layout, "file")
    except InputError as refused:
        expected, error = None, refused
    if error is not None:
        raise Difference(f"the scanner takes a block that the Python reader refuses: {error}")
    part = scanned(exact(case.text), 1, layout)
    if part is None:
        raise Difference("the scanner leaves a block that it took before")
    same("lines", part.num_lines, case.text.count(b"\n"))
    if expected is None:
        same("rows", (len(part.docids), part.qids, part.starts.tolist()), (0, [], [0]))
        return True
    for name in ("qids", "starts", "rels", "scores", "ranks", "tag"):
        same(name, getattr(part, name), getattr(expected, name))
    same("documents", (part.docids.buffer, part.docids.offsets), (expected.docids.buffer, expected.docids.offsets))
    same("lines", [part.lines[row] for row in range(len(part.lines))], list(expected.lines))
    rows = Rows("file")
    rows.add(expected)
    _under("python")
    try:
        table: Any = rows.run() if case.run else rows.qrels()
    except InputError:
        table = None
    kept: Any = rows.run(duplicates="last") if case.run else rows.qrels(duplicates="last")
    _under("compiled")
    whole = rows._grouped()
    documents = whole.docids
    columns = (exact(documents.buffer), documents.offsets.copy(), whole.offsets.copy())
    same("a document comes twice", scanner.repeated(*columns) >= 0, table is None)
    places, values, first = scanner.last_lines(*columns)
    same("documents of queries that count", first, kept.offsets)
    same("documents that count", scanner.take(*columns[:2], places), (kept.docids.buffer, kept.docids.offsets))
    numbers = _grouped_numbers(rows, whole.order, case.run)
    same("their numbers", numbers[values], kept.scores if case.run else kept.rels)
    if table is None and case.run:  # judged all the same, as the program does with a piece of a file
        with_it = rows.run(checked=False)
        _call_judge(scanner, _judgments(rng, with_it), with_it, rng)
    elif table is not None and case.run:
        _judge(scanner, _judgments(rng, table), table, rng)
    elif table is not None:
        _judge(scanner, table, _retrieved(rng, table), rng)
    if rng.random() < 0.2:
        _judge(scanner, *_smallest(rng), rng)
    return True


def _grouped_numbers(rows: Any, order: Any, run: bool) -> Any:
    """Return scores or judgments in the order of queries."""
    (part,) = rows._parts
    numbers = part.scores if run else part.rels
    return numbers if order is None else numbers[order]


def _under(reader: str) -> None:
    from treceval_py.scan import scanner

    os.environ["TRECEVAL_READER"] = reader
    scanner.cache_clear()


def _judgments(rng: random.Random, run: Any) -> Any:
    """Return judgments of some of a run's queries and documents, and of others."""
    from treceval_py.data.qrels import Qrels

    judgments: dict[str, dict[str, int]] = {}
    for qid, documents in run.to_dict().items():
        if rng.random() < 0.8:
            some = rng.sample(list(documents), rng.randint(0, len(documents)))
            others = [
                rng.choice(("", "d1", "other", "é", "x" * 20, "\udcff")) for _ in range(rng.choice((0, 1, 4, 100)))
            ]
            judgments[qid] = {docid: rng.choice((-(2**63), -1, 0, 1, 2, 2**63 - 1)) for docid in (*some, *others)}
    if rng.random() < 0.3:
        judgments["other"] = {"a": 1}
    items = list(judgments.items())
    rng.shuffle(items)
    return Qrels(dict(items))


SCORES = (0.0, -0.0, 1.0, 1.0, 1.0 + 1e-9, 2.5, float("inf"), float("-inf"), 1e39, -1e39, 5e-324)


def _retrieved(rng: random.Random, qrels: Any) -> Any:
    """Return a run over some of the judged documents, and others."""
    from treceval_py.data.run import Run

    run: dict[str, dict[str, float]] = {}
    for qid, documents in qrels.to_dict().items():
        if rng.random() < 0.8:
            some = [*rng.sample(list(documents), rng.randint(0, len(documents))), "", "other", *map(str, range(9))]
            rng.shuffle(some)
            run[qid] = {docid: rng.choice(SCORES) for docid in some[: rng.randint(0, len(some))]}
    run["another"] = {"a": 1.0}
    return Run(run)


def _smallest(rng: random.Random) -> tuple[Any, Any]:
    """Return judgments and a run of hardly any queries and documents, some without a name."""
    from treceval_py.data.qrels import Qrels
    from treceval_py.data.run import Run

    def documents(values: tuple[Any, ...]) -> dict[str, Any]:
        return {rng.choice(("", "", "a", "b")): rng.choice(values) for _ in range(rng.randrange(3))}

    qrels = {qid: documents((-1, 0, 1)) for qid in rng.sample(("", "1"), rng.randrange(3))}
    return Qrels(qrels), Run({qid: documents(SCORES) for qid in rng.sample(("", "1"), rng.randrange(3))})


def _call_judge(scanner: Any, qrels: Any, run: Any, rng: random.Random) -> tuple[dict[str, Any], Any]:
    """Call ``judge`` with buffers of exactly the right length; return with which options, and what it returned."""
    options = {
        "depth": rng.choice((None, None, 0, 1, 5, 1000)),
        "judged_only": rng.random() < 0.3,
        "score_type": rng.choice(("float64", "float32")),
    }
    rows = np.array([-1 if (row := qrels.row_of(qid)) is None else row for qid in run.qids], dtype=np.int64)
    depth = options["depth"]
    return options, scanner.judge(
        *(exact(run.docids.buffer), run.docids.offsets.copy(), run.scores.copy(), run.offsets.copy(), rows),
        *(exact(qrels.docids.buffer), qrels.docids.offsets.copy(), qrels.offsets.copy(), qrels.rels.copy()),
        *(options["score_type"] == "float32", -1 if depth is None else depth, options["judged_only"]),
    )


def _judge(scanner: Any, qrels: Any, run: Any, rng: random.Random) -> None:
    """Judge a run in all ways, and compare."""
    from treceval_py.data.ranking import Ranking
    from treceval_py.judging.located import locate
    from treceval_py.judging.locating import judge

    options, found = _call_judge(scanner, qrels, run, rng)
    _under("python")
    expected = locate(qrels, run, Ranking(**options))
    judged = judge(qrels, run, **options)
    _under("compiled")
    same(f"judged with {options}: hits", found[:3], tuple(expected.hits))
    same(f"judged with {options}: num_ret", found[3][expected.rows >= 0], expected.num_ret[expected.rows >= 0])
    same("twice", found[4], -1)
    for given in (run, _as_dict(run, rng)):
        again = judge(qrels, given, **options)
        same(
            f"judged run with {options}",
            (again.qids, *again.hits, again.num_ret),
            (judged.qids, *judged.hits, judged.num_ret),
        )


def _as_dict(run: Any, rng: random.Random) -> dict[str, dict[str, float]]:
    """Return a run as dictionaries, now and then with whole numbers as int, or numpy's types."""
    kinds: tuple[Any, ...] = (float, float, np.float64, np.longdouble) if rng.random() < 0.2 else (float,)

    def value(score: float) -> Any:
        return int(score) if rng.random() < 0.3 and score in (0, 1, 2, 20) else rng.choice(kinds)(score)

    return {
        qid: {docid: value(score) for docid, score in documents.items()} for qid, documents in run.to_dict().items()
    }


# --- the process that is watched ---


def load(path: str) -> Any:
    """Put a build of the scanner in the place of the package's."""
    from treceval_py import scan

    loader = importlib.machinery.ExtensionFileLoader("treceval_py.scan._scan", path)
    spec = importlib.util.spec_from_file_location("treceval_py.scan._scan", path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    sys.modules["treceval_py.scan._scan"] = module
    scan._scan = module  # type: ignore[attr-defined]
    return module


def child(options: argparse.Namespace) -> int:
    """Feed cases, and keep the number of the present one in a file for whoever started this."""
    _under("compiled")
    module = load(options.library)
    from treceval_py.scan import scanner

    assert scanner() is module
    fed = taken = index = 0
    with open(options.state, "wb", buffering=0) as state:
        while fed < options.bytes or options.only is not None:
            number = index if options.only is None else options.only
            os.pwrite(state.fileno(), b"%20d" % number, 0)
            case = Case(options.seed, number)
            try:
                taken += feed(case, module)
            except Exception:  # noqa: BLE001 - it is shown
                print(f"{case}\n{traceback.format_exc()}", file=sys.stderr)
                return 1
            fed += len(case.text)
            index += 1
            if options.only is not None:
                print(case)
                break
    print(f"{fed:,} bytes in {index:,} cases, {taken:,} blocks taken by the scanner", flush=True)
    if options.only is None and options.commands:
        for failure in failures_of(options.seed, range(options.commands)):
            print(f"{failure.case}\n{failure.wrong}", file=sys.stderr)
            return 1
        print(f"{options.commands:,} commands on damaged files")
    return 0


# --- the process that starts it ---


def build(source: Path, folder: str) -> str:
    """Compile the scanner with the sanitizers; return the path of the extension."""
    code, library = os.path.join(folder, "_scan.c"), os.path.join(folder, "_scan.so")
    subprocess.run(
        [sys.executable, "-m", "cython", "-3", "--module-name", "treceval_py.scan._scan", str(source), "-o", code],
        check=True,
    )
    include = sysconfig.get_paths()["include"]
    subprocess.run(["gcc", *SANITIZE, "-fPIC", "-shared", "-I", include, code, "-o", library], check=True)
    return library


def preloaded() -> str:
    """Return the sanitizers' libraries, which must be in a process from its start."""
    found = []
    for name in LIBRARIES:
        path = subprocess.run(
            ["gcc", f"-print-file-name={name}"], check=True, capture_output=True, text=True
        ).stdout.strip()
        if os.path.isabs(path):
            found.append(path)
    return " ".join(found)


def main() -> int:
    """Build, start, and show what was found; return 1 where something was."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bytes", type=int, default=10_000_000, help="how many bytes to feed [10000000]")
    parser.add_argument("--seed", type=int, default=1, help="which cases [1]")
    parser.add_argument("--only", type=int, metavar="INDEX", help="feed one case and show it")
    parser.add_argument("--commands", type=int, default=2000, help="how many whole commands to run after that [2000]")
    parser.add_argument("--source", type=Path, default=SOURCE, help="what to build, to see that errors are found")
    parser.add_argument("--library", help=argparse.SUPPRESS)
    parser.add_argument("--state", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.library is not None:
        return child(options)
    if shutil.which("gcc") is None:
        print("gcc is needed, and is not here")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        library, state = build(options.source, folder), os.path.join(folder, "state")
        environment = {
            **os.environ,
            "LD_PRELOAD": preloaded(),
            "ASAN_OPTIONS": f"detect_leaks=0:exitcode={FOUND}:detect_stack_use_after_return=1",
            "UBSAN_OPTIONS": f"print_stacktrace=1:halt_on_error=1:exitcode={FOUND}",
            "PYTHONMALLOC": "malloc",
        }
        command = [sys.executable, __file__, "--library", library, "--state", state]
        command += ["--bytes", str(options.bytes), "--seed", str(options.seed)]
        command += ["--commands", str(options.commands)]
        command += [] if options.only is None else ["--only", str(options.only)]
        ended = subprocess.run(command, env=environment, check=False)
        number = Path(state).read_bytes().decode().strip() if Path(state).exists() else "none"
    if ended.returncode:
        kind = "a sanitizer ended it" if ended.returncode == FOUND else f"status {ended.returncode}"
        print(
            f"seed {options.seed}, case {number}: {kind}; python tests/sanitizer.py --seed {options.seed} --only {number}"
        )
        return 1
    print("no finding")
    return 0


if __name__ == "__main__":
    sys.exit(main())
