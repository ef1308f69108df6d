"""Damage small files at random, score them, and see that the program always ends well.

    python tests/damage.py --count 200000 --seed 1 --jobs 2
    python tests/damage.py --seed 1 --only 4711

Every case ends in one of two ways: status 0 with results on standard output and nothing but notes on standard error,
or status 1 or 2 with nothing on standard output and exactly one printable line on standard error that is a sentence.
Never an exception, a warning or a hang; and the compiled scanner and the Python reader come to the same. What a plain
text file must come to, accepted or refused, is decided again here, by a reader of a few lines. Case number N of a seed
is always the same case.
"""

from __future__ import annotations

import argparse
import base64
import bz2
import contextlib
import faulthandler
import gzip
import importlib.util
import io
import lzma
import os
import random
import re
import signal
import sys
import tempfile
import tomllib
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from treceval_py.cli.commands import run
from treceval_py.scan import reader_name, scanner

SECONDS = 10
"""A case that takes longer hangs."""

MEMORY = 4 << 30
"""Address space of a worker: a case that asks for more fails instead of taking the machine down."""

DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

SHAPES: dict[str, tuple[str, bytes, bytes]] = {
    name: (kind, *(text.encode().replace(b"\xef\xbf\xbd", b"\xff\xfe") for text in texts))
    for name, (kind, *texts) in DATA["shapes"].items()
}
"""The files before they are damaged: how the judgments are written, the judgments, and the run."""

MEASURES: dict[str, list[str]] = DATA["measures"]

OPTIONS = [each.split() for each in DATA["options"]]


def _zstd(data: bytes) -> bytes:
    import zstandard  # not there where wheels are tried

    return zstandard.ZstdCompressor(level=1).compress(data)


PACKERS: tuple[Callable[[bytes], bytes], ...] = (
    lambda data: gzip.compress(data, 1, mtime=0),
    lambda data: bz2.compress(data, 1),
    lambda data: lzma.compress(data, preset=0),
    _zstd,
)

MAGIC = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd")
OTHER = (b"PK\x03\x04", b"PAR1", b"%PDF", b"\x93NUMPY", b"\xff\xfe", b"\xfe\xff")

GARBLED = (
    *(text.encode() for text in DATA["garbled"]),
    *(b"1" * 400, b"1" * 5000, b"-" + b"9" * 30, b"9" * 310, b"1" * 511, b"1" * 512, b"0." + b"3" * 509),
    *(b"0." + b"3" * 510, b"0" * 600, b"." + b"0" * 700 + b"1", b"1e" + b"9" * 30, b"1e-" + b"9" * 30),
    b"0.1" + b"0" * 30 + b"1",
)


@dataclass(frozen=True)
class Case:
    """A command line and the files that it reads."""

    index: int
    arguments: tuple[str, ...]
    files: dict[str, bytes]

    def __str__(self) -> str:
        shown = [f"case {self.index}: treceval {' '.join(self.arguments)}"]
        for name, data in self.files.items():
            shown.append(f"  {name} = {data[:1500]!r}" + (f" … {len(data)} bytes" if len(data) > 1500 else ""))
        return "\n".join(shown)


def make_case(seed: int, index: int) -> Case:
    """Return case number ``index`` of a seed."""
    rng = random.Random(f"{seed}:{index}")
    kind, qrels, ranked = SHAPES[rng.choice(list(SHAPES))]
    files = {"qrels": qrels, "run": ranked}
    if rng.random() < 0.04:
        files = {"qrels": ranked, "run": qrels}
    for name in files:
        others = [data for each in SHAPES.values() for data in each[1:]]
        packer = rng.choice(PACKERS) if rng.random() < 0.25 else None
        packed_first = rng.random() < 0.5
        data = files[name]
        if packer and packed_first:
            data = packer(data)
        for _ in range(rng.choice((0, 0, 1, 1, 1, 2, 3))):
            data = rng.choice(MUTATIONS)(data, rng, others)
        if packer and not packed_first:
            data = packer(data)
        files[name] = data
    return Case(index, tuple(_arguments(kind, rng)), files)


def _arguments(format: str, rng: random.Random) -> Iterator[str]:
    if format != "qrels" or rng.random() < 0.03:
        yield from ("-R", format if rng.random() < 0.95 else rng.choice(list(MEASURES)))
    kind = format if rng.random() < 0.95 else rng.choice(list(MEASURES))
    if format != "qrels" or rng.random() < 0.85:
        for _ in range(rng.choice((1, 1, 2))):
            yield from ("-m", rng.choice(MEASURES[kind]))
    chosen = [rng.choice(OPTIONS) for _ in range(rng.choice((0, 0, 1, 1, 2, 3)))]
    # Each once: "-M3" and "-M 0" are one option, and a second value would be refused.
    yield from chain(*{words[0].partition("=")[0].rstrip("0123456789"): words for words in chosen}.values())
    yield from ("qrels", "run")
    if rng.random() < 0.02:
        yield "run"


# --- what is done to files ---

Mutation = Callable[[bytes, random.Random, list[bytes]], bytes]


def flip_bit(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


def change_byte(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    byte = rng.choice((0, 9, 10, 11, 13, 27, 32, 35, 43, 44, 45, 46, 48, 57, 69, 95, 0x85, 255, rng.randrange(256)))
    return data[:at] + bytes([byte]) + data[at + 1 :]


def insert_bytes(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    pieces = (b"\n", b" ", b"#", b"\xef\xbb\xbf", b"\x1b[31m", b"\r", b"\0", b"-", b".", b"e", b"9" * 20)
    piece = rng.choice((rng.randbytes(rng.randrange(1, 6)), *pieces))
    return data[:at] + piece + data[at:]


def delete_bytes(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + data[at + rng.choice((1, 1, 1, 2, 5, 20)) :]


def truncate(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] if rng.random() < 0.7 else data[at:]


def double_everything(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    return data + data


def concatenate(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    other = rng.choice(others)
    return data + other if rng.random() < 0.5 else other + data


def replace(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    pages = (b"<!DOCTYPE html>\n", b'{"1": {"a": 1}\n', b"qid,docid,rel\n1,a,1\n", b"%PDF-1.4\n", b"PK\x03\x04\x14\0")
    return rng.choice((*others, *pages, "1 0 a 1\n".encode("utf-16"), "1 0 a 1\n".encode("utf-16-le"), b"\n", b"# 1\n"))


def of_lines(change: Callable[[list[bytes], int, random.Random], None]) -> Mutation:
    """Make a mutation of one that changes the list of lines at a position."""

    def mutation(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
        lines = data.split(b"\n")
        change(lines, rng.randrange(len(lines)), rng)
        return b"\n".join(lines)

    mutation.__name__ = change.__name__
    return mutation


def of_fields(change: Callable[[list[bytes], int, random.Random], None]) -> Mutation:
    """Make a mutation of one that changes the list of fields of a line at a position."""

    def of_line(lines: list[bytes], at: int, rng: random.Random) -> None:
        fields = lines[at].split()
        if fields:
            change(fields, rng.randrange(len(fields)), rng)
            lines[at] = b" ".join(fields)

    of_line.__name__ = change.__name__
    return of_lines(of_line)


@of_lines
def cut_line(lines: list[bytes], at: int, rng: random.Random) -> None:
    lines[at] = lines[at][: rng.randrange(len(lines[at]) + 1)]


@of_lines
def drop_line(lines: list[bytes], at: int, rng: random.Random) -> None:
    del lines[at]


@of_lines
def double_line(lines: list[bytes], at: int, rng: random.Random) -> None:
    lines.insert(rng.randrange(len(lines) + 1), lines[at])


@of_lines
def swap_lines(lines: list[bytes], at: int, rng: random.Random) -> None:
    other = rng.randrange(len(lines))
    lines[at], lines[other] = lines[other], lines[at]


@of_lines
def join_lines(lines: list[bytes], at: int, rng: random.Random) -> None:
    lines[at : at + 2] = [rng.choice((b"", b" ", b"\r")).join(lines[at : at + 2])]


@of_lines
def add_header(lines: list[bytes], at: int, rng: random.Random) -> None:
    heads = (b"qid Q0 docid rank score tag", b"qid iteration docid rel", b"query-id corpus-id score", b"#h")
    lines.insert(0, rng.choice(heads))


@of_fields
def drop_field(fields: list[bytes], at: int, rng: random.Random) -> None:
    del fields[at]


@of_fields
def double_field(fields: list[bytes], at: int, rng: random.Random) -> None:
    fields.insert(at, fields[at])


@of_fields
def swap_fields(fields: list[bytes], at: int, rng: random.Random) -> None:
    other = rng.randrange(len(fields))
    fields[at], fields[other] = fields[other], fields[at]


@of_fields
def lengthen_field(fields: list[bytes], at: int, rng: random.Random) -> None:
    fields[at] *= rng.choice((2, 5, 17, 100))


@of_fields
def garble_field(fields: list[bytes], at: int, rng: random.Random) -> None:
    fields[at] = rng.choice(GARBLED)


@of_fields
def garble_number(fields: list[bytes], at: int, rng: random.Random) -> None:
    fields[4 if len(fields) > 5 else -1] = rng.choice(GARBLED)


@of_fields
def change_query(fields: list[bytes], at: int, rng: random.Random) -> None:
    fields[0] = rng.choice((b"1", b"2", b"5", b"#", b"0", b"01", b"\x1b[2J", b"\xc2\x9b", b"q\xff", "\u202e".encode()))


def csv_line(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    return data.replace(b" ", b",")


def old_newlines(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    return data.replace(b"\n", b"\r")


MUTATIONS: tuple[Mutation, ...] = (
    flip_bit, flip_bit, change_byte, change_byte, insert_bytes, insert_bytes, delete_bytes, delete_bytes, truncate,
    cut_line, drop_line, double_line, double_line, swap_lines, join_lines, add_header, drop_field, double_field,
    swap_fields, swap_fields, lengthen_field, garble_field, garble_number, garble_number, garble_number, change_query, change_query,
    concatenate, double_everything, replace, csv_line, old_newlines,
)  # fmt: skip


# --- what must come of it ---


class Hang(BaseException):
    """A case takes too long; not an Exception, so that nothing on the way takes it for an error of its own."""


def check(case: Case, folder: str) -> str | None:
    """Run a case, with its files in a folder; return what is wrong with the outcome, None when nothing is."""
    for name, data in case.files.items():
        Path(folder, name).write_bytes(data)
    status, out, err = _outcome(case, folder)
    other = _with_other_reader(case, folder)
    if other is not None and other != (status, out, err):
        return f"the readers differ\n    {(status, out, err)!r}\n    the other one: {other!r}"
    text = err.decode("utf-8", "surrogateescape")
    if status is None:
        return text
    # With -n there may be nothing to print: 9.0.8 does not list queries that the run lacks.
    wrong = _wrong_streams(status, out, text, may_be_empty="-n" in case.arguments)
    if wrong is not None:
        return f"{wrong}\n    status {status}, {len(out)} bytes on stdout, stderr {err!r}"
    expected = _expected(case)
    if expected is not None and expected != (status == 0):
        return f"the files are {'right' if expected else 'damaged'}, but the status is {status}\n    stderr {err!r}"
    return None


def _with_other_reader(case: Case, folder: str) -> tuple[int | None, bytes, bytes] | None:
    """Return the outcome under the reader that is not in use; None without a compiled one."""
    if importlib.util.find_spec("treceval_py.scan._scan") is None:
        return None
    before = os.environ.get("TRECEVAL_READER")
    os.environ["TRECEVAL_READER"] = "compiled" if reader_name() == "Python" else "python"
    scanner.cache_clear()
    try:
        return _outcome(case, folder)
    finally:
        del os.environ["TRECEVAL_READER"]
        if before is not None:
            os.environ["TRECEVAL_READER"] = before
        scanner.cache_clear()


def _outcome(case: Case, folder: str) -> tuple[int | None, bytes, bytes]:
    """Return the status, standard output and standard error; status None and a traceback if it did not end well."""
    raw = io.BytesIO(), io.BytesIO()
    out, err = (io.TextIOWrapper(each, "utf-8") for each in raw)
    streams, here = (sys.stdout, sys.stderr), os.getcwd()
    before = signal.signal(signal.SIGALRM, _hang)
    os.chdir(folder)
    sys.stdout, sys.stderr = out, err
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            try:
                status = run(case.arguments)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return None, b"", "".join(traceback.format_exception(error)).encode("utf-8", "backslashreplace")
    finally:
        sys.stdout, sys.stderr = streams
        os.chdir(here)
        signal.signal(signal.SIGALRM, before)
    out.flush()
    err.flush()
    return status, raw[0].getvalue(), raw[1].getvalue()


def _hang(number: int, frame: object) -> None:
    raise Hang(f"no end after {SECONDS} seconds")


def _wrong_streams(status: int, out: bytes, err: str, *, may_be_empty: bool) -> str | None:
    lines = err.removesuffix("\n").split("\n") if err else []
    notes = [line for line in lines if line.startswith("note: ")]
    if not all(line.isprintable() and line.endswith((".", "?")) for line in lines) or (err and err[-1] != "\n"):
        return "a line on stderr that is not a clean sentence"
    if status == 0:
        if len(notes) < len(lines):
            return "an error line, but status 0"
        return None if out.endswith(b"\n") or (may_be_empty and not out) else "status 0, but no results"
    if status not in (1, 2):
        return "a status that has no meaning"
    if out:
        return "an error, but something on stdout"
    return None if len(lines) == 1 and not notes else "not exactly one line on stderr"


def _expected(case: Case) -> bool | None:
    """Decide whether a case must be accepted; None where that takes more than a reader of a few lines."""
    arguments = case.arguments
    kind = arguments[arguments.index("-R") + 1] if "-R" in arguments else "qrels"
    judged, ranked = _queries(case.files["qrels"], kind), _queries(case.files["run"], "run")
    if judged == set() or ranked == set():
        return False
    others = kind != "qrels" or any("jg" in each or "prefs" in each for each in arguments)
    if judged is None or ranked is None or others:
        return None
    return bool(judged & ranked) or "-c" in arguments


WHOLE = re.compile(rb"[+-]?[0-9]+")
NUMBER = re.compile(rb"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf(inity)?)", re.IGNORECASE)
_WIDTH = {"qrels": 4, "qrels_jg": 4, "prefs": 5, "qrels_prefs": 4, "run": 6}
_KEY = {"qrels": (0, 2), "qrels_jg": (0, 1, 2), "run": (0, 2)}


def _queries(data: bytes, kind: str) -> set[bytes] | None:
    """Return the queries of a plain text file, none when it must be refused; None when it is no plain text."""
    if data.startswith(MAGIC):
        return None
    if data.startswith(OTHER) or b"\0" in data:
        return set()
    rows = [line.split() for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n")]
    rows = [row for row in rows if row and not row[0].startswith(b"#")]
    if kind == "run" and b"\r" in data and any(len(row) > 6 for row in rows):
        return None  # columns after the tag, or lines that end in the way of old Macs
    fewer = {"run": (3, 4), "qrels": (3, 5)}.get(kind, ())
    if rows and (rows[0][0].count(b",") > 1 or len(rows[0]) in fewer):
        return None  # what is left may be of a format with other columns, such as a run of MS MARCO, or CSV
    long = [row for row in rows if len(row) > _WIDTH[kind]]
    if any(re.search(rb"[0-9]", field) for row in long for field in row[5:]) or (long and b"\t" in data):
        return None  # a tag with a number, or two lines in one, or an id with spaces
    right = all(_row_is_right(row, kind) for row in rows)
    keys = [tuple(row[at] for at in _KEY[kind]) for row in rows] if kind in _KEY and right else []
    if not rows or not right or len(set(keys)) < len(keys):
        return set()
    return {row[0] for row in rows}


def _row_is_right(row: list[bytes], kind: str) -> bool:
    if len(row) != _WIDTH[kind] and not (kind == "run" and len(row) > 6):
        return False
    if kind in ("qrels", "qrels_jg"):
        return bool(WHOLE.fullmatch(row[3])) and len(row[3]) < 4000 and -(2**63) <= int(row[3]) < 2**63
    value = row[4] if kind == "run" else row[-1]
    return bool(NUMBER.fullmatch(value)) and (b"i" in value.lower() or abs(float(value)) < float("inf"))


# --- many cases ---


@dataclass(frozen=True)
class Failure:
    """A case that did not end well."""

    case: Case
    wrong: str

    @property
    def kind(self) -> str:
        """What failures of the same cause have in common."""
        lines = [line for line in self.wrong.splitlines() if line.strip()]
        places = re.findall(r'File ".*?(treceval_py/.*?)", line (\d+)', self.wrong)
        where = [":".join(place) for place in places if "cli/" not in place[0]][-1:]
        return " ".join([lines[-1 if places else 0].strip()[:90], *where])


def failures_of(seed: int, indices: Iterable[int]) -> Iterator[Failure]:
    """Run cases one after the other in a folder of their own."""
    with tempfile.TemporaryDirectory() as folder:
        for index in indices:
            case = make_case(seed, index)
            wrong = check(case, folder)
            if wrong is not None:
                yield Failure(case, wrong)


def _chunk(seed: int, start: int, stop: int) -> list[Failure]:
    # Code outside the reach of Python's signals, or memory without end, must not stop the others.
    faulthandler.dump_traceback_later(SECONDS * 4 + (stop - start), exit=True)
    try:
        return list(failures_of(seed, range(start, stop)))
    finally:
        faulthandler.cancel_dump_traceback_later()


def _limit_memory() -> None:
    with contextlib.suppress(ImportError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def main() -> int:
    """Run the cases that the command line asks for; return 1 when one does not end well."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=20_000, help="how many cases [20000]")
    parser.add_argument("--seed", type=int, default=1, help="which cases [1]")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes [1]")
    parser.add_argument("--only", type=int, metavar="INDEX", help="run one case and show it")
    parser.add_argument("--show", type=int, default=2, help="how many failures of a kind to show [2]")
    options = parser.parse_args()
    if options.only is not None:
        return _main_only(options.seed, options.only)
    size = max(1, min(250, options.count // options.jobs))
    chunks = [(start, min(start + size, options.count)) for start in range(0, options.count, size)]
    kinds: Counter[str] = Counter()
    with ProcessPoolExecutor(options.jobs, initializer=_limit_memory) as pool:
        tasks = [pool.submit(_chunk, options.seed, *chunk) for chunk in chunks]
        for (start, stop), task in zip(chunks, tasks, strict=True):
            try:
                found = task.result()
            except BrokenProcessPool:
                print(f"seed {options.seed}: a worker died; cases {start} to {stop} or of a neighbour did it")
                return 1
            for failure in found:
                kinds[failure.kind] += 1
                if kinds[failure.kind] <= options.show:
                    print(f"seed {options.seed}, {failure.case}\n{failure.wrong}\n", flush=True)
            if stop % 10_000 < size and sys.stderr.isatty():
                print(f"{stop:,} cases", file=sys.stderr)
    for kind, times in kinds.most_common():
        print(f"{times:7,}  {kind}")
    print(f"{options.count:,} cases of seed {options.seed}: {sum(kinds.values()):,} did not end well")
    return 1 if kinds else 0


def _main_only(seed: int, index: int) -> int:
    case = make_case(seed, index)
    print(case)
    for name, data in case.files.items():
        print(f"  echo {base64.b64encode(data).decode()} | base64 -d > {name}")
    with tempfile.TemporaryDirectory() as folder:
        wrong = check(case, folder)
        status, out, err = _outcome(case, folder)
    print(f"status {status}\n{out.decode('utf-8', 'replace')}{err.decode('utf-8', 'backslashreplace')}")
    print("ends well" if wrong is None else f"DOES NOT END WELL: {wrong}")
    return 0 if wrong is None else 1


if __name__ == "__main__":
    sys.exit(main())
