"""The compiled scanner and the Python reader: the same columns, the same results, the same messages, bit for bit."""

from __future__ import annotations

import ast
import gzip
import io
import math
import os
import random
import re
import struct
import subprocess
import sys
import threading
import time
import tomllib
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from decimal import Context, Decimal
from fractions import Fraction
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from damage import NUMBER, WHOLE
from hypothesis import given, settings
from hypothesis import strategies as st
from random_runs import random_pair
from readers import use_reader
from sanitizer import Case

from treceval_py.data.columns import QRELS, RUN, Layout
from treceval_py.data.ids import Ids, decode, firsts_of
from treceval_py.data.qrels import Qrels
from treceval_py.data.ranking import Ranking
from treceval_py.data.run import Run
from treceval_py.data.table import MANY
from treceval_py.diagnosis.signs import Lists, Seen, look
from treceval_py.errors import DataError, InputError
from treceval_py.io import source
from treceval_py.io.rows import Rows, parts_of, read_part, scanned
from treceval_py.io.source import blocks
from treceval_py.io.trec import read_trec_qrels as read_qrels
from treceval_py.io.trec import read_trec_run as read_run
from treceval_py.judging import streaming
from treceval_py.judging.judged import JudgedRun
from treceval_py.judging.locating import judge
from treceval_py.judging.streaming import judge_file
from treceval_py.scoring.evaluation import evaluate
from treceval_py.scoring.results import Results
from treceval_py.threads import available_threads, in_order

_scan = pytest.importorskip("treceval_py.scan._scan", reason="the scanner was not built", exc_type=ImportError)

READERS = ("python", "compiled")

few = settings(max_examples=60, deadline=None, derandomize=True, database=None)
many = settings(max_examples=700, deadline=None, derandomize=True, database=None)

pytestmark = pytest.mark.both_readers

MEASURES = ["map", "P.1,5", "ndcg", "bpref", "num_ret"]

TEXTS: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("scan_texts.toml").read_text("utf-8"))
"""Scores, whole numbers and blocks, and which of them the scanner takes."""


@contextmanager
def under(reader: str, block: int | None = None) -> Iterator[None]:
    """Read with one of the readers, and in blocks of some size."""
    with pytest.MonkeyPatch.context() as patch:
        use_reader(patch, reader)
        if block is not None:
            patch.setattr(source, "BLOCK_SIZE", block)
            patch.setattr(source, "SMALL_BLOCK_SIZE", block)
        yield


def bits(value: Any) -> Any:
    """Return something that is equal only for values whose bits are equal: -0.0 is not 0.0, int64 is not int32."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, float):
        return struct.pack("<d", value)
    if isinstance(value, Ids):
        return value.buffer, bits(value.offsets)
    if isinstance(value, Qrels):
        return value.qids, bits(value.offsets), bits(value.docids), bits(value.rels), value.name
    if isinstance(value, Run):
        columns = (value.offsets, value.docids, value.scores, value.ranks)
        return value.qids, tuple(map(bits, columns)), value.tag, value.name
    if isinstance(value, JudgedRun):
        return value.qids, bits(value.hits), bits(value.ideal), bits(value.num_ret), value.tag
    if isinstance(value, Results):
        numbers = (value.matrix, value.averages, value.listed)
        words = (value.qids, value.texts, value.missing, value.unjudged, value.signs)
        return tuple(map(bits, numbers)), words, value.run_name, value.tag
    if isinstance(value, Seen):
        return tuple([bits(getattr(value, name)) for name in Seen.__annotations__])
    if isinstance(value, (tuple, list)):
        return tuple(map(bits, value))
    return value


def outcome(function: Callable[[], object]) -> Any:
    """Return the bits of a result, or the type and the message of an exception."""
    try:
        return bits(function())
    except Exception as error:  # noqa: BLE001 - whatever it is, it must be the same
        return type(error), str(error)


def check_same(function: Callable[[], object], block: int | None = None, given: Any = None) -> Any:
    """See that a function comes to the same under both readers; return what."""
    with under("python", block):
        expected = outcome(function)
    with under("compiled", block):
        found = outcome(function)
    assert found == expected, given
    return expected


# --- scores ---


def score_line(text: bytes) -> bytes:
    return b"q Q0 d 1 " + text + b" t\n"


def check_score(text: str | bytes) -> bool:
    """See that a score is read as `float` reads it, or left to Python; tell which."""
    raw = text.encode() if isinstance(text, str) else text
    found = _scan.scan(score_line(raw), True)
    if found is None:
        return False
    (score,) = found[8].tolist()
    assert struct.pack("<d", score) == struct.pack("<d", float(raw)), raw
    return True


def is_taken(text: str) -> bool:
    """Tell whether a score is one that the scanner reads by itself: a plain number, short and finite."""
    return len(text) < 512 and (math.isfinite(float(text)) or "i" in text.lower())


def check_taken(texts: Iterable[str]) -> None:
    for text in texts:
        assert check_score(text) is is_taken(text), text


def random_double(rng: random.Random) -> float:
    """Return a finite double of random bits: any exponent is as likely as any other."""
    while True:
        (value,) = struct.unpack("<d", rng.randbytes(8))
        if math.isfinite(value):
            return float(value)


def halfway(value: float) -> Decimal:
    """Return the number in the middle between a double and the next larger one, exactly."""
    middle = (Fraction(value) + Fraction(math.nextafter(value, math.inf))) / 2
    twos = middle.denominator.bit_length() - 1
    return Decimal(middle.numerator * 5**twos).scaleb(-twos, Context(prec=5000, Emin=-9999, Emax=9999))


def written(value: Decimal, rng: random.Random) -> str:
    """Write a number in one of the ways that say exactly the same."""
    sign, digits, exponent = value.as_tuple()
    text = "".join(map(str, digits))
    assert isinstance(exponent, int)
    point = rng.randrange(len(text) + 1)
    shown = f"{text[:point]}.{text[point:]}e{exponent + len(text) - point}"
    plain = f"{value:f}"
    return "-" * sign + rng.choice((shown, shown.upper().replace("E", "e+") if "e-" not in shown else shown, plain))


def test_digits_with_a_point_anywhere_are_read_as_float_reads_them() -> None:
    rng = random.Random(0)
    for length in range(1, 41):
        for _ in range(4):
            digits = "".join(rng.choices("0123456789", k=length))
            points = [digits, *(f"{digits[:at]}.{digits[at:]}" for at in range(length + 1))]
            check_taken(points)
            check_taken(rng.choice("+-") + text for text in points)


def test_exponents_are_read_as_float_reads_them() -> None:
    rng = random.Random(0)
    for exponent in range(-400, 401):
        for _ in range(10):
            digits = "".join(rng.choices("0123456789", k=rng.choice((1, 2, 5, 15, 16, 17, 18, 19, 20, 21, 30))))
            at = rng.randrange(len(digits) + 1)
            letter = rng.choice(("e", "E", "e+", "E+0")) if exponent >= 0 else rng.choice(("e-", "E-", "e-00"))
            check_taken([f"{digits[:at]}.{digits[at:]}{letter}{abs(exponent)}"])


def test_what_repr_writes_is_read_back() -> None:
    rng = random.Random(1)
    for _ in range(4000):
        value = random_double(rng)
        assert check_score(repr(value))
        assert check_score(f"{value:.{rng.randrange(0, 25)}e}")
        assert check_score(f"{rng.uniform(-1000, 1000):.{rng.randrange(0, 25)}f}")
        (value,) = struct.unpack("<f", rng.randbytes(4))
        if math.isfinite(value):
            assert check_score(str(np.float32(value)))
            assert check_score(repr(value))


@pytest.mark.parametrize("seed", range(8))
def test_numbers_in_the_middle_between_two_doubles_are_read_as_float_reads_them(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(250):
        value = abs(random_double(rng)) if seed == 0 else rng.random() * 2.0 ** rng.randint(-120 * seed // 8, 16 * seed)
        middle = halfway(value)
        _, digits, exponent = middle.as_tuple()
        assert isinstance(exponent, int)
        number = int("".join(map(str, digits)))
        around = [number - 1, number, number + 1, number * 10 - 1, number * 10 + 1]
        places = [exponent, exponent, exponent, exponent - 1, exponent - 1]
        for each, place in zip(around, places, strict=True):
            if len(str(each)) < 450:
                check_taken([f"{each}e{place}"])
        for length in range(15, min(30, len(digits))):
            cut, place = number // 10 ** (len(digits) - length), exponent + len(digits) - length
            check_taken([f"{cut}e{place}", f"{cut + 1}e{place}", f"-{cut}.e{place}"])
        text = written(middle, rng)
        assert check_score(text) is is_taken(text)


def test_whole_numbers_in_the_middle_between_two_doubles_are_read_as_float_reads_them() -> None:
    rng = random.Random(3)
    for _ in range(2500):
        bit_count = rng.randint(54, 64)
        free = bit_count - 54
        number = ((1 << 53) | (rng.getrandbits(52) << 1) | 1) << free
        check_taken(map(str, (number - 1, number, number + 1)))
        check_taken(f"{each / Decimal(1000)}" for each in (number - 1, number, number + 1))


def test_every_power_of_ten_and_its_neighbours_are_read_as_float_reads_them() -> None:
    for power in range(-345, 312):
        check_taken([f"1e{power}", f"9007199254740993e{power}", f"9999999999999999999e{power}", f"-5e{power}"])
        check_taken([f"10000000000000000000{'0' * 5}1e{power}", f"9007199254740992.5e{power}"])
        check_taken(
            [f"18446744073709551615e{power}", f"18446744073709551616e{power}", f"9999999999999999999.9e{power}"]
        )


def test_scores_are_read_without_python_or_left_to_it() -> None:
    long = ["0" * 511, "1" + "0" * 300, "0." + "0" * 300 + "1", "." + "9" * 510, "1" * 308, "1e" + "0" * 200 + "5"]
    assert [text for text in TEXTS["taken"] + long if not check_score(text)] == []
    left = [*TEXTS["left"], "1" * 310, "9" * 5000]
    assert [text for text in left if check_score(text) or check_score(text.encode() + b"\xff")] == []
    assert _scan.scan(b"q Q0 d 1  t\n", True) is None
    assert _scan.scan(b"q Q0 d 1\n", True) is None


def test_numbers_of_hundreds_of_digits_are_read_or_left_to_python() -> None:
    rng = random.Random(0)
    starts = ("0.", "0.00000000000000000000", "12345678901234567890.", "-9.", "9007199254740993.")
    for length, start in product((510, 511, 512, 513, 1000), starts):
        text = start + "".join(rng.choices("0123456789", k=length - len(start)))
        assert len(text) == length
        assert check_score(text) or length >= 512
    for length in (511, 512):  # numbers that have to be copied, which is done up to there
        for start in ("0.", "9007199254740993."):
            assert check_score(start + "0" * (length - 1 - len(start)) + "1") is (length < 512)


@pytest.mark.slow
@many
@given(st.text("0123456789.eE+-_infaINFTY x", min_size=1, max_size=24).filter(lambda text: " " not in text))
def test_anything_that_looks_like_a_number_is_read_as_float_reads_it(text: str) -> None:
    plain = re.fullmatch(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?)", text, re.IGNORECASE)
    assert check_score(text) is (plain is not None and is_taken(text))


def test_every_byte_ends_a_number_in_the_same_way() -> None:
    for code in set(range(256)) - {0, 10}:
        for before in (b"", b"+", b"1", b"1.", b"1.5", b"1e", b"1e5", b"in", b"inf", b"0", b"1" * 19, b"1" * 25):
            line = b"q Q0 d 1 " + before + bytes([code]) + b" t\n"
            check_block(line, RUN)
            check_block(b"q 0 d " + before + bytes([code]) + b"\n", QRELS)
            check_block(b"q Q0 d " + before + bytes([code]) + b" 1 t\n", RUN)


WITHOUT_MEMORY = """
import _testcapi
from treceval_py.scan import _scan
# Long numbers need memory, which Python keeps for the next ones. These leave some for short numbers only.
for exponent in range(0, 100, 4):
    for sign in (-1, 1):
        float(f"{'9007199254740993' * 3}e{sign * exponent}"), repr(3.3 * 10.0 ** (sign * exponent))
found = set()
for allocation in range(1, 100):
    _testcapi.set_nomemory(allocation, allocation + 1)
    try:
        columns = _scan.scan(b"1 Q0 a 1 1.7976931348623157e308 t\\n", True)
    except MemoryError:
        continue
    finally:
        _testcapi.remove_mem_hooks()
    found.add("left to the Python reader" if columns is None else columns[8].tolist()[0])
print(found)
"""


def test_a_number_for_which_memory_is_missing_is_left_to_the_python_reader() -> None:
    pytest.importorskip("_testcapi", reason="this Python cannot fail to allocate on demand", exc_type=ImportError)
    done = subprocess.run([sys.executable, "-c", WITHOUT_MEMORY], capture_output=True, text=True, check=False)
    # Python 3.13 reports memory that its own import of NumPy lacked, and goes on: the error output is not ours.
    assert done.returncode == 0, done.stderr
    if (found := ast.literal_eval(done.stdout)) == {1.7976931348623157e308}:
        pytest.skip("this Python converts the number without allocating")
    assert found == {1.7976931348623157e308, "left to the Python reader"}


# --- whole numbers ---


def judgment_of(text: str) -> int | None:
    found = _scan.scan(b"q 0 d " + text.encode() + b"\n", False)
    return None if found is None else int(found[9][0])


def rank_of(text: str) -> int | str | None:
    found = _scan.scan(b"q Q0 d " + text.encode() + b" 1 t\n", True)
    if found is None:
        return None
    return "none" if found[9] is None else int(found[9][0])


def test_whole_numbers_of_up_to_18_digits_are_read_and_longer_ones_left_to_python() -> None:
    rng = random.Random(0)
    for length, sign in product(range(1, 26), ("", "+", "-")):
        texts = ["".join(rng.choices("0123456789", k=length)) for _ in range(20)]
        for digits in [*texts, "0" * length, "9" * length, "0" * (length - 1) + "7", "1" + "0" * (length - 1)]:
            expected = int(sign + digits) if length <= 18 else None
            assert judgment_of(sign + digits) == expected
            assert rank_of(sign + digits) == expected


def check_whole(text: str) -> None:
    check_same(lambda: read_run(io.BytesIO(f"q Q0 d {text} 1 t\nq Q0 e 1 1 t\n".encode())), given=text)
    check_same(lambda: read_qrels(io.BytesIO(f"q 0 d 1\nq 0 e {text}\n".encode())), given=text)


def test_what_is_no_whole_number_is_no_judgment_and_no_rank() -> None:
    for text in [*TEXTS["no_whole"], "1" * 30 + "x"]:
        assert (judgment_of(text), rank_of(text)) == (None, "none"), text
        check_whole(text)


def test_numbers_at_the_end_of_64_bits_are_read_by_python() -> None:
    for size in (2**63 - 1, -(2**63), 2**63, -(2**63) - 1):
        check_whole(str(size))
    check_whole("9" * 5000)


# --- lines ---


def is_plain(text: bytes, layout: Layout) -> bool | None:
    """Decide again, in a few lines, whether a block is one that the scanner takes; None if it may or may not."""
    if b"\0" in text:
        return False
    plain: bool | None = True
    for line in text.split(b"\n")[:-1]:
        row, width = line.split(), len(layout.fields)
        if not row or row[0].startswith(b"#"):
            continue
        if len(row) < width or (len(row) > width and (layout is QRELS or b"\r" in line.strip())):
            return False
        if len(row) > width and any(re.fullmatch(rb"[-+.,eE]*[0-9][-+.,eE0-9]*", field) for field in row[5:]):
            return False  # two lines may be joined, or an id may have spaces
        whole = bool(WHOLE.fullmatch(row[3]))
        if (whole and len(row[3].lstrip(b"+-")) > 18) or (layout is QRELS and not whole):
            return False
        if layout is RUN and NUMBER.fullmatch(row[4]) and len(row[4]) >= 512:
            plain = None
        elif layout is RUN and not (NUMBER.fullmatch(row[4]) and is_taken(row[4].decode())):
            return False
    return plain


def check_block(text: bytes, layout: Layout, first: int = 7) -> bool:
    """See that the scanner makes the columns of a block that the Python reader makes, or leaves it; tell which."""
    # The buffer is longer than the block, as in the program.
    buffer = memoryview(text + b"9 Q0 9 9 9 9\n")[: len(text)]
    with under("compiled"):
        part = scanned(buffer, first, layout)
    plain = is_plain(text, layout)
    assert plain is None or (part is not None) is plain, text
    if part is None:
        return False
    expected, error = read_part(text, first, layout, "file")
    assert error is None
    assert part.num_lines == text.count(b"\n")
    if expected is None:
        assert (part.qids, len(part.docids), len(part.lines), part.starts.tolist()) == ([], 0, 0, [0])
        return True
    assert part.qids == expected.qids
    assert len(part.lines) == len(expected.lines)
    assert [part.lines[row] for row in range(len(part.lines))] == list(expected.lines)
    assert part.tag == expected.tag
    for name in ("starts", "docids", "rels", "scores", "ranks"):
        assert bits(getattr(part, name)) == bits(getattr(expected, name)), (name, text)
    if expected.ranks is not None and expected.scores is not None:
        within = np.ones(max(len(expected.lines) - 1, 0), dtype=bool)
        within[expected.starts[1:-1] - 1] = False
        fine = (np.diff(expected.ranks) > 0) & (expected.scores[1:] <= expected.scores[:-1])
        assert part.ordered is bool(fine[within].all())
    return True


some = pytest.mark.parametrize("cases", [range(300), pytest.param(range(300, 9000), marks=pytest.mark.slow)], ids=len)


@some
def test_damaged_text_becomes_the_columns_that_python_makes_or_is_left_to_it(cases: range) -> None:
    every = [Case(1, index) for index in cases]
    taken = sum(check_block(case.text, RUN if case.run else QRELS) for case in every)
    assert 0.4 < taken / len(every) < 0.8
    for case in every[::3]:
        check_block(case.text, QRELS if case.run else RUN)


@some
def test_damaged_files_come_to_the_same_results_or_the_same_refusal(cases: range) -> None:
    for case in [Case(2, index) for index in cases][::4]:
        data, qrels = case.text, judgments_of(case)
        check_same(lambda data=data: read_run(io.BytesIO(data)), given=data)
        check_same(lambda data=data: read_qrels(io.BytesIO(data)), given=data)
        check_same(lambda data=data, qrels=qrels: judge_file(qrels, io.BytesIO(data)), given=data)
        check_same(lambda data=data, qrels=qrels: evaluate(qrels, io.BytesIO(data), MEASURES), given=data)


def judgments_of(case: Case) -> Qrels:
    """Return judgments of some of the documents of a case."""
    found: dict[str, dict[str, int]] = {}
    for line in case.text.split(b"\n"):
        if len(fields := line.split()) > 2 and case.rng.random() < 0.5:
            found.setdefault(decode(fields[0]), {})[decode(fields[2])] = case.rng.randint(-1, 3)
    return Qrels(found)


def test_blocks_become_the_columns_that_python_makes() -> None:
    long = [" ".join(letter * 400 if letter.isalpha() else letter for letter in "qQd11t") + "\n"]
    long.append("".join(f"{qid} Q0 a 1 1 t\n" for qid in ("q" * 400, "q" * 399 + "p", "q" * 401)))
    for text in [each.encode("latin-1") for each in TEXTS["blocks"] + long]:
        check_block(text, RUN)
        check_block(text.replace(b" 1 t", b""), QRELS)


@pytest.mark.parametrize("text", [b"", b"1 Q0 a 1 1 t"])
def test_a_block_without_a_newline_at_its_end_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match="newline"):
        _scan.scan(text, True)


@pytest.mark.parametrize("block", [None, 16, 64, 1000])
def test_files_read_as_the_same_table_or_the_same_refusal(block: int | None) -> None:
    rng = random.Random(block)
    for _ in range(20 if block == 16 else 40):
        data = random_file(rng, damage=rng.choice((0, 0, 1)))
        check_same(lambda data=data: read_run(io.BytesIO(data)), block)
        lines = [b" ".join(line.split()[:4]) for line in data.split(b"\n")]
        check_same(lambda lines=lines: read_qrels(io.BytesIO(b"\n".join(lines))), block)


def test_a_block_of_comments_at_the_end_leaves_the_tag_as_it_is() -> None:
    together = b"1 Q0 a 1 1 tag\n" + b"# the end\n" * 10
    scattered = b"1 Q0 a 1 1 tag\n2 Q0 a 1 1 tag\n1 Q0 b 2 0 tag\n" + b"\n" * 200
    for data in (together, scattered):
        assert check_same(lambda data=data: read_run(io.BytesIO(data)), 16)[2] == "tag"


def test_the_first_bad_score_of_a_file_is_named_whatever_the_blocks_are() -> None:
    data = b"1 Q0 a 1 nan t\n" + b"# a comment\n" * 20 + b"2 Q0 a 1 x t\n" + b"# a comment\n" * 20
    messages = {check_same(lambda: read_run(io.BytesIO(data)), block)[1] for block in (16, 100, 1 << 20)}
    assert len(messages) == 1


def test_the_lines_of_rows_are_a_sequence() -> None:
    with under("compiled"):
        part = scanned(memoryview(b"1 0 a 1\n\n1 0 b 1\n"), 1, QRELS)
    assert part is not None
    assert (len(part.lines), part.lines[1]) == (2, 3)
    with pytest.raises(IndexError):
        part.lines[2]


# --- judging ---

SCORES = [0.0, -0.0, 1.0, 1.0, 2.0, 1.0 + 1e-9, 1.0 - 1e-9, 1e39, 2e39, -1e39, 5e-324, 1e-50, 16777217.0]
SCORES += [math.inf, -math.inf]


def check_judged(qrels: Any, run: Any, **options: Any) -> None:
    """See that a dictionary is judged as its table is, by both readers."""
    from_table = check_same(lambda: judge(Qrels(qrels), Run(run), **options), given=(qrels, run, options))
    assert check_same(lambda: judge(Qrels(qrels), run, **options), given=(qrels, run, options)) == from_table


@pytest.mark.parametrize("count", [30, pytest.param(400, marks=pytest.mark.slow)])
def test_random_runs_are_judged_alike(count: int) -> None:
    rng = random.Random(count)
    for _ in range(count):
        qrels, run = random_pair(rng)
        for depth, judged_only, kind in product((None, rng.randint(0, 10)), (False, True), ("float64", "float32")):
            check_judged(qrels, run, depth=depth, judged_only=judged_only, score_type=kind)
        check_same(lambda qrels=qrels, run=run: evaluate(qrels, run, MEASURES))
        complete: dict[str, Any] = {"profile": "trec_eval-9", "complete": True}
        check_same(lambda qrels=qrels, run=run, complete=complete: evaluate(qrels, Run(run), MEASURES, **complete))


IDS = ["a", "b", "c", "d", "e", "aa", "ab", "é", "ÿ", "日本", "\U0001f600", "\udcff", "", "z" * 20]
RELS = [-(2**63), -2, -1, 0, 0, 1, 1, 2, 2**63 - 1]


@pytest.mark.parametrize("count", [60, pytest.param(2000, marks=pytest.mark.slow)])
def test_small_runs_of_odd_ids_and_scores_are_judged_alike(count: int) -> None:
    rng = random.Random(count)

    def nested(values: Any, most: int) -> dict[str, Any]:
        return {
            qid: {docid: rng.choice(values) for docid in rng.sample(IDS, rng.randint(0, most))}
            for qid in rng.sample(["1", "2", "3", "é", "\udc80"], rng.randint(0, 4))
        }

    for _ in range(count):
        options: dict[str, Any] = {
            "depth": rng.choice([None, None, 0, 1, 2, 5, 100]),
            "judged_only": rng.random() < 0.5,
            "score_type": rng.choice(["float64", "float32"]),
            "complete": rng.random() < 0.5,
        }
        check_judged(nested(RELS, 8), nested(SCORES, 12), **options)


@pytest.mark.parametrize("different", [1, 3, 50, 2000])
def test_long_lists_with_many_ties_are_judged_alike(different: int) -> None:
    rng = random.Random(different)
    documents = [f"{rng.choice('abcé')}{number}" for number in range(2000)]
    run = {str(qid): {docid: float(rng.randrange(different)) for docid in documents} for qid in range(3)}
    qrels = {str(qid): {docid: rng.randint(-1, 3) for docid in rng.sample(documents, 400)} for qid in range(1, 4)}
    for depth in (None, 700):
        check_judged(qrels, run, depth=depth)


def test_many_queries_of_different_lengths_share_one_table_of_slots() -> None:
    rng = random.Random(5)
    documents = [str(number) for number in range(300)]
    qrels, run = {}, {}
    for number in range(400):
        qrels[f"q{number}"] = {each: rng.randint(-1, 2) for each in rng.sample(documents, rng.choice((0, 1, 9, 150)))}
        run[f"q{number}"] = {each: rng.random() for each in rng.sample(documents, rng.choice((0, 1, 5, 40, 300)))}
    check_judged(qrels, run)


def test_ids_that_differ_in_one_byte_are_different() -> None:
    for length in (0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 25, 40):
        ids = ["x" * at + letter + "x" * (length - at - 1) for at in range(length) for letter in "ayz"]
        ids.append("x" * length)
        qrels = {"1": {docid: number for number, docid in enumerate(ids) if number % 2}}
        check_judged(qrels, {"1": dict.fromkeys(reversed(ids), 1.0)})
        data = "".join(f"1 Q0 {docid} 0 1 t\n" for docid in ids if docid).encode()
        if data:
            twice = data + data.splitlines(keepends=True)[-1]
            check_same(lambda qrels=qrels, data=data: judge_file(Qrels(qrels), io.BytesIO(data)))
            check_same(lambda twice=twice: read_run(io.BytesIO(twice)))


class Text(str):
    """A str of another type."""


class Number(float):
    """A float of another type."""


QRELS_DICT = {"1": {"a": 1, "b": 0, "c": 2, "é": 1, "\U0001f600": 1, "\udcff": 1}, "2": {"a": -1, "d": 1}}


VALUES: list[list[Any]] = [
    *([each] for each in (10**400, "1.0", None, b"1", 1 + 0j, Decimal(1), Fraction(1), np.array(1.0))),
    *([each] for each in (np.float64("nan"), np.float32("nan"))),
    [1, 2, 3],
    [2**53, 2**53 + 1, float(2**53)],
    [-(2**53) - 1, -(2**53)],
    [2**63, 2**64, 10**30, -(10**300)],
    [True, False, 0.5],
    [np.float64(1), np.float32(0.1), np.float16(3), np.int64(-2)],
    [np.uint8(200), np.longdouble(1.5), np.int32(7)],
    [np.float64(0.1), np.float64(0.2)],
    [Number(1.5), 1.25],
    [math.nan, 1.0],
    [math.inf, math.inf, -math.inf],
    [1e39, 2e39, 3.4028235677973366e38],
]
"""Scores of a, b and so on, in query 1."""

NAMES: list[list[Any]] = [
    *([each] for each in ("\ud800", 1, b"a", None)),
    ["é", "a", "ÿ", "z"],
    ["\U0001f600", "\uffff", "a", "日"],
    ["\udcff", "a", "é"],
]
"""Documents of query 1 that tie."""

DICTIONARIES: list[Any] = [
    *({"1": dict(zip("abcd", values, strict=False))} for values in VALUES),
    *({"1": dict.fromkeys(ids, 1.0)} for ids in NAMES),
    *({"1": every} for every in ({}, [("a", 1.0)], None, OrderedDict(a=1.0, b=2.0), Counter("abca"))),
    {"1": MappingProxyType({"a": 1.0, "b": 2.0})},
    *(kind({"1": {"a": 1.0}, "2": {"d": 1.0}}) for kind in (OrderedDict, MappingProxyType)),
    {},
    {"1": {}, "2": {"a": 1.0}},
    {"9": {"a": 1.0}},
    {"9": {}, "8": {"a": math.nan}},
    {"1": {Text("a"): 1.0, "b": 0.5}, Text("2"): {"d": 1.0, Text("a"): 2.0}},
    {"1": {"\udcc3\udca9": 1.0, "a": 0.5}},
    {"\ud800": {"a": 1.0}, "1": {"a": 1.0}},
    {"1": {"": 1.0, "a": 1.0}, "": {"a": 1.0}},
    {"1": {"b": 1.0}, "2": {"a": 0.0, "x": -math.nan}},
    {1: {"a": 1.0}},
    {None: {}},
    {"1": {"a": 1.0}, "2": "ad"},
    {"2": {"d": 1.0}, "1": {"a": "x"}, "3": {3: 1.0}},
    {"2": {"d": "x"}, "1": {"a": math.nan}},
    {"2": {"d": True}, "1": {"a": 1.0}, "3": {"x": 1.0}},
    [("1", {"a": 1.0})],
    None,
    "run",
]


def test_dictionaries_of_all_kinds_are_judged_or_refused_alike() -> None:
    every: list[dict[str, Any]] = [
        {},
        {"depth": 1},
        {"judged_only": True, "score_type": "float32"},
        {"complete": False},
    ]
    for run in DICTIONARIES:
        for options in every:
            check_same(lambda run=run, options=options: judge(Qrels(QRELS_DICT), run, **options), given=run)
        check_same(lambda run=run: evaluate(QRELS_DICT, run, MEASURES), given=run)


@pytest.mark.parametrize("docid", ["a", "\U0001f600"], ids=["plain", "not plain"])
def test_the_order_of_wrong_queries_does_not_matter(docid: str) -> None:
    wrong: list[Any] = [{"a": math.nan}, {"a": "x"}, {1: 1.0}, [1], {"\ud800": 1.0}, {docid: 1.0}, {"a": 10**400}]
    rng = random.Random(1)
    for _ in range(60):
        documents = rng.sample(wrong, 3)
        check_same(lambda documents=documents: judge(Qrels(QRELS_DICT), dict(zip("123", documents, strict=True))))


@pytest.mark.parametrize("count", [1000, 1001])
def test_so_many_hits_that_they_are_sorted_are_judged_alike(count: int) -> None:
    rng = random.Random(count)
    documents = [f"d{number}" for number in range(count)]
    run = {"1": {docid: float(rng.randrange(100)) for docid in documents}, "2": {"a": 1.0}}
    qrels = Qrels({"1": {docid: rng.randint(-1, 3) for docid in documents}, "2": {"a": 1}})
    left = _scan.judge_nested(qrels.by_text(), run, False, -1, False)[-1]
    assert left == (["1"] if count * count > 1_000_000 else [])
    check_judged(qrels, run)


@pytest.mark.parametrize("depth", [-1, 2**63, 10**20, 1.5], ids=str)
def test_odd_depths_mean_the_same(depth: Any) -> None:
    run = {"1": {"a": 1.0, "b": 0.5}}
    check_same(lambda: judge(Qrels(QRELS_DICT), run, depth=depth))
    check_same(lambda: judge(Qrels(QRELS_DICT), Run(run), depth=depth))


@pytest.mark.parametrize("reader", READERS)
def test_ids_that_are_written_with_the_same_bytes_are_refused(reader: str) -> None:
    twice = {"1": {"é": 1, "\udcc3\udca9": 2, "a": 0}}
    message = "two documents of query '1' are encoded as the same bytes"
    with under(reader):
        with pytest.raises(DataError, match=message):
            Qrels(twice)
        with pytest.raises(DataError, match=message):
            judge(Qrels({"1": {"é": 1}}), {"1": dict.fromkeys(twice["1"], 1.0)})


def test_rows_are_taken_in_any_order_and_no_others() -> None:
    docids = ["", "é", "abc", "", "d" * 300]
    ids = Ids.from_bytes([docid.encode() for docid in docids])
    for order in ([], [4, 0, 2, 2, 1], [3]):
        check_same(lambda order=order: ids.take(np.array(order, dtype=np.int64)).raw())
        assert ids.take(np.array(order, dtype=np.int64)).text() == [docids[row] for row in order]
    for row in (-1, 5, 2**40):
        with pytest.raises(IndexError):
            _scan.take(ids.buffer, ids.offsets, np.array([0, row]))


def test_the_first_repeated_row_is_found() -> None:
    def repeated(*queries: str) -> int:
        ids = Ids.from_bytes([docid.encode() for query in queries for docid in query.split()])
        starts = np.cumsum([0, *(len(query.split()) for query in queries)], dtype=np.int64)
        return int(_scan.repeated(ids.buffer, ids.offsets, starts))

    assert repeated("a b c") == -1
    assert repeated("a b c", "a b c") == -1
    assert repeated("a b a") == 2
    assert repeated("a b", "c c", "d d") == 3
    assert repeated("", "", "a", "b b") == 2
    assert repeated("a aa aaa aaaa", "b" * 300 + " " + "b" * 301 + " " + "b" * 300) == 6
    assert repeated() == -1
    many_ids = [str(number) for number in range(5000)]
    assert repeated(" ".join(many_ids)) == -1
    assert repeated(" ".join([*many_ids, "4999"])) == 5000


# --- a run that is judged while it is read ---

SETTINGS = [
    *(("compiled", threads, size) for threads in (1, 2, 5) for size in (1, 37, 150, 600, 1 << 20)),
    *(("python", 1, size) for size in (1, 37, 150, 600, 1 << 20)),
]

STREAM_QRELS = {
    f"q{query}": {f"d{number}": (number + query) % 4 - 1 for number in range(0, 12, 1 + query % 3)}
    for query in range(12)
}


def lines_of(counts: dict[str, int], *, ties: bool = False) -> list[str]:
    """Return the lines of a run with so many documents of each query, ranks in order."""
    return [
        f"{qid} Q0 d{(number * 7) % count} {number + 1} {count - (number // 3 if ties else number)} tag"
        for qid, count in counts.items()
        for number in range(count)
    ]


def random_file(rng: random.Random, damage: int = 0) -> bytes:
    """Return a run file: queries together or scattered, comments, ties, duplicates, and so many damaged lines."""
    counts = {f"q{number}": rng.choice((1, 2, 5, 20)) for number in rng.sample(range(12), rng.randint(1, 8))}
    counts[f"q{rng.randrange(12)}"] = rng.choice((1, 60))
    lines = lines_of(counts, ties=rng.random() < 0.5)
    kind = rng.randrange(5)
    if kind == 0:
        rng.shuffle(lines)
    elif kind == 1:
        lines.append(f"{rng.choice(lines).split()[0]} Q0 late 1 5 tag")
    elif kind == 2:
        lines.insert(rng.randrange(len(lines)), rng.choice(lines))
    for _ in range(rng.choice((0, 0, 1, 5))):
        lines.insert(rng.randrange(len(lines)), rng.choice(("", "# comment", "  ", "#q1 Q0 a 1 1 t")))
    if rng.random() < 0.2:
        at = rng.randrange(len(lines))
        rank = rng.choice((" -1 ", " x ", " 99999999999999999999 "))
        lines[at] = lines[at].replace(" 1 ", " 9 ").replace(" 2 ", rank)
    for _ in range(damage):
        damaged = ("q1 Q0 a 1", "q1 Q0 a 1 x t", "q1 Q0 a 1 nan t", "q1 Q0 a\0 1 1 t", "q1,Q0", "q1 Q0 a 1 1e999 t")
        lines.insert(rng.randrange(len(lines)), rng.choice(damaged))
    end = rng.choice(("\n", "\n", "\r\n"))
    return (end.join(lines) + rng.choice(("", end))).encode()


def definition(data: bytes, qrels: Qrels, duplicates: str = "refuse", **ranking: Any) -> Any:
    """Return what a run comes to when the Python reader reads it whole."""

    def judged() -> object:
        rows = Rows("<file>", parts_of(io.BytesIO(data), RUN))
        run = rows.run(duplicates=duplicates)
        replaced = rows.count - len(run.docids)
        return judge(qrels, run, **ranking), run.qids, run.name, run.tag, look(Lists.of(run)).contradicting, replaced

    with under("python"):
        return outcome(judged)


def streamed(data: Any, qrels: Qrels, **options: Any) -> Any:
    ranking = Ranking(**{name: options.pop(name) for name in Ranking._fields if name in options})

    def judged() -> object:
        source = io.BytesIO(data) if isinstance(data, bytes) else data
        return_value, retrieved = judge_file(qrels, source, ranking=ranking, **options)
        assert retrieved.seen is not None
        return return_value, *retrieved[:3], retrieved.seen.contradicting, retrieved.replaced

    return outcome(judged)


def check_streams(data: bytes, name: str = "", **ranking: Any) -> Any:
    """See that a run comes to the same however it is read; return what."""
    qrels = Qrels(STREAM_QRELS)
    expected = definition(data, qrels, **ranking)
    for reader, threads, size in SETTINGS:
        with under(reader, size):
            found = streamed(data, qrels, threads=threads, **ranking)
        assert found == expected, (name or data, reader, threads, size)
    return expected


TOGETHER = lines_of({"q1": 5, "q10": 20, "q2": 1, "q3": 8, "x": 4, "q4": 3})
SCATTERED = [*TOGETHER[::2], *TOGETHER[1::2]]
TWICE = [*TOGETHER[:9], TOGETHER[6], *TOGETHER[9:]]
LONG = lines_of({"q1": 3, "q2": 90, "q3": 3}, ties=True)


def text_lines(lines: Iterable[str], end: str = "\n") -> bytes:
    return "".join(line + end for line in lines).encode()


LINES: dict[str, Iterable[str]] = {
    "together": TOGETHER,
    "scattered": SCATTERED,
    "one line of a query far away": [*TOGETHER, "q1 Q0 far 6 0.5 other"],
    "scattered within a piece": [*TOGETHER[:3], *TOGETHER[5:7], *TOGETHER[3:5], *TOGETHER[7:]],
    "a query longer than a piece": LONG,
    "one query": LONG[3:93],
    "comments and blank lines": (each for line in TOGETHER for each in ("", line, "# comment", "  ", "#q1 Q0 a 1 1 t")),
    "comments at the end": [*TOGETHER, *["# the end"] * 100, "", ""],
    "comments at the beginning": [*["# head"] * 100, "", *TOGETHER],
    "only comments": ["# nothing", "", "  "] * 30,
    "empty": [],
    "further fields": [line + " and more" for line in TOGETHER],
    "tags differ": [f"{line}{number}" for number, line in enumerate(TOGETHER)],
    "a score that Python reads": [*TOGETHER, "q5 Q0 d1 1 1" + "0" * 600 + "e-599 tag", "q6 Q0 d1 1 1 tag"],
    "a rank that Python reads": [*TOGETHER, "q5 Q0 d1 9999999999999999999 1 tag", "q6 Q0 d1 1 1 tag"],
    "a duplicate": TWICE,
    "a duplicate in the last piece": [*TOGETHER, TOGETHER[-1]],
    "a duplicate across pieces": [*LONG[:93], LONG[3], *LONG[93:]],
    "a duplicate in a scattered query": [*SCATTERED, SCATTERED[0]],
    "a duplicate in a query that comes again": [*TOGETHER, TOGETHER[0]],
    "several duplicates": [*TWICE, TOGETHER[-1], TOGETHER[-2]],
    "a duplicate, then a query that comes again with one": [*TWICE, TOGETHER[0]],
    "a duplicate after comments": ["#", "", *TOGETHER[:9], "# here", TOGETHER[6], "", *TOGETHER[9:]],
    "a duplicate without judgments": [*TOGETHER, "y Q0 a 1 2 t", "y Q0 a 2 1 t", "z Q0 a 1 1 t"],
    "a malformed line": [*TOGETHER[:30], "q4 Q0 d9 1", *TOGETHER[30:]],
    "a bad score": [*TOGETHER[:30], "x Q0 d9 1 1.2.3 tag", *TOGETHER[30:]],
    "a bad score in the first line": ["x Q0 d9 1 score tag", *TOGETHER],
    "a bad score in the last line": [*TOGETHER, "x Q0 d9 1 nan tag"],
    "a bad score after comments": ["#", "", *TOGETHER[:30], "", "#", "x Q0 d9 1 1_0 tag", *TOGETHER[30:]],
    "a NUL byte": [*TOGETHER[:30], "x Q0 d\0 1 1 tag", *TOGETHER[30:]],
    "a malformed line after a duplicate": [*TWICE, "q9 Q0 d9 1"],
    "a malformed line in the piece of a duplicate": [*TOGETHER[:9], TOGETHER[6], "q10", *TOGETHER[9:]],
    "a malformed line after scattered queries": [*SCATTERED, "q9 Q0 d9 1 x tag"],
    "a malformed line before scattered queries": ["q9 Q0 d9 1 x tag", *SCATTERED],
    "ranks run backwards": [f"q{query} Q0 d{at} {20 - at} {20 - at} t" for query in (1, 2, 3) for at in range(20)],
    "one query runs backwards": [*TOGETHER, *(f"z Q0 d{number} {number} {number} t" for number in range(9))],
    "equal ranks": [f"{qid} Q0 d{number} 0 {number} t" for qid in ("q1", "q2") for number in range(20)],
}

PLAIN, CONTRADICTING = text_lines(TOGETHER), text_lines(TOGETHER).replace(b" 2 ", b" 77 ")
RUNS: dict[str, bytes] = {
    **{name: text_lines(lines) for name, lines in LINES.items()},
    "no newline at the end": PLAIN.removesuffix(b"\n"),
    "CRLF": text_lines(TOGETHER, "\r\n"),
    "byte-order mark": b"\xef\xbb\xbf" + PLAIN,
    "ids that are no UTF-8": PLAIN.replace(b"q2 ", b"\xff\xfe ").replace(b" d3 ", b" \xc3 "),
    "long ids": PLAIN.replace(b"q3 ", b"q" * 300 + b" ").replace(b"q4 ", b"q" * 299 + b"p "),
    "ranks contradict": CONTRADICTING,
    "ranks contradict in scattered queries": text_lines(SCATTERED).replace(b" 2 ", b" 77 "),
    "ranks are no numbers in one place": CONTRADICTING.replace(b"q1 Q0 d0 1 ", b"q1 Q0 d0 x "),
    "ranks are no numbers at the end": CONTRADICTING + b"z Q0 a x 1 t\n",
}


# Two seconds: each run is read whole, in pieces of every size, by each reader. A fault here is a wrong number without a word.
def test_a_run_comes_to_the_same_whatever_reads_it_in_whatever_pieces() -> None:
    for name, data in RUNS.items():
        check_streams(data, name)


def test_the_cases_of_runs_are_what_their_names_say() -> None:
    twice = "RepeatedDocumentError <file>:10: document 'd7' occurs twice in query 'q10' (first on line 7). Keep one of the two lines."
    expected = {
        "a duplicate": twice,
        "several duplicates": twice,
        "a duplicate across pieces": "RepeatedDocumentError <file>:94: document 'd0' occurs twice in query 'q2' (first on line 4). "
        "Keep one of the two lines.",
        "a malformed line after a duplicate": "InputError <file>:43: 4 fields, but a run's line has at least 6 (qid Q0 docid "
        "rank score tag). Write qid Q0 docid rank score tag, or name its format: colbert (qid docid rank score).",
    }
    for name, message in expected.items():
        kind, text = check_streams(RUNS[name])
        assert f"{kind.__name__} {text}" == message
    assert check_streams(RUNS["ranks contradict"])[-2] == ("q1", "q10", "q3", "x", "q4")
    assert check_streams(RUNS["one query runs backwards"])[-2] == ("z",)
    assert check_streams(RUNS["ranks are no numbers in one place"])[-2] == ()


def test_pieces_are_judged_by_the_same_rules() -> None:
    every: list[dict[str, Any]] = [{"depth": 0}, {"judged_only": True}, {"depth": 4, "judged_only": True}]
    every += [{"depth": 1, "complete": False}, {"score_type": "float32", "complete": False}]
    for name in ("together", "scattered", "a query longer than a piece", "a rank that Python reads"):
        for ranking in every:
            check_streams(RUNS[name], name, **ranking)


@pytest.mark.parametrize("seed", range(4))
def test_random_runs_come_to_the_same_in_whatever_pieces(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(8):
        check_streams(random_file(rng, damage=rng.choice((0, 0, 0, 1))))


@pytest.mark.parametrize("ranking", [{}, {"ties": "line"}, {"order": "line", "depth": 3}], ids=str)
def test_last_lines_count_whatever_reads_them_in_whatever_pieces(ranking: dict[str, Any]) -> None:
    for name in RUNS:
        if "duplicate" in name:
            check_streams(RUNS[name], name, duplicates="last", **ranking)


@pytest.mark.parametrize("seed", range(4))
def test_last_lines_of_random_runs_are_those_of_a_dictionary(seed: int) -> None:
    """A dictionary that is filled line by line keeps the place of the first line and the score of the last."""
    rng = random.Random(seed)
    for _ in range(4):
        lines = [line for line in random_file(rng).decode().splitlines() if line.strip() and line[0] != "#"]
        lines = [line.replace(" x ", " 2 ") for line in lines]
        lines += [line.replace("Q0", "Q1").rsplit(" ", 2)[0] + f" {rng.randrange(9)} t" for line in lines[::3]]
        if rng.random() < 0.5:  # queries together
            lines.sort(key=lambda line: line.split()[0])
        run: dict[str, dict[str, float]] = {}
        for line in lines:
            qid, _, docid, _, score, _ = line.split()
            run.setdefault(qid, {})[docid] = float(score)
        found = check_streams(text_lines(lines), duplicates="last")
        expected = replace(judge(Qrels(STREAM_QRELS), run), tag=lines[-1].split()[-1])
        assert found[0] == outcome(lambda expected=expected: expected)
        assert found[-1] == len(lines) - sum(map(len, run.values())) > 0


def test_repeated_documents_do_not_need_the_python_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "read_part", None)
    monkeypatch.setattr(source, "BLOCK_SIZE", 100)
    for name in ("several duplicates", "a duplicate in a scattered query", "a duplicate after comments"):
        _, retrieved = judge_file(Qrels(STREAM_QRELS), io.BytesIO(RUNS[name]), duplicates="last")
        assert retrieved.replaced == {"several duplicates": 3}.get(name, 1)
    with pytest.raises(InputError, match=r"^<file>:13: document 'd7' .*first on line 9"):
        judge_file(Qrels(STREAM_QRELS), io.BytesIO(RUNS["a duplicate after comments"]))


def test_evaluate_gives_the_same_results_with_any_number_of_threads() -> None:
    for name, data in RUNS.items():
        expected = check_same(lambda data=data: evaluate(STREAM_QRELS, io.BytesIO(data), MEASURES, complete=True))
        for threads in (1, 2, 5):
            options: dict[str, Any] = {"complete": True, "threads": threads}
            with under("compiled", 100):
                found = outcome(lambda: evaluate(STREAM_QRELS, io.BytesIO(data), MEASURES, **options))  # noqa: B023
            assert found == expected, name


def test_damage_is_reported_at_the_line_that_it_follows() -> None:
    plain = text_lines(f"q{query} Q0 d{number} {number} 1.5 tag" for query in range(150) for number in range(60, 0, -1))
    qrels, size = Qrels(STREAM_QRELS), len(plain) * 2 // 3
    for data in (plain, plain.replace(b"1.5", b"1,5", 1)):
        damaged = gzip.compress(data)[:-200]
        with under("python", size):
            expected = streamed(damaged, qrels)
        for threads in (1, 2, 5):
            with under("compiled", size):
                assert streamed(damaged, qrels, threads=threads) == expected


# --- sources ---


@contextmanager
def given_as(way: str, data: bytes, path: Path) -> Iterator[Any]:
    """Give data as one of the ``WAYS`` to give a run."""
    if way == "path":
        path.write_bytes(data)
        yield str(path)
    elif way == "bytes":
        yield io.BytesIO(data)
    elif way == "a stream in its middle":
        stream = io.BytesIO(b"q1 Q0 before 1 1 t\nq1" + data)
        stream.seek(21)
        yield stream
    elif way == "an open file in its middle":
        path.write_bytes(b"something else\n" + data)
        with open(path, "rb") as file:
            file.readline()
            yield file
    else:
        reading, writing = os.pipe() if way == "a pipe" else (None, path)
        if reading is None:
            os.mkfifo(path)

        def write() -> None:
            with suppress(BrokenPipeError), open(writing, "wb", buffering=0) as stream:
                for start in range(0, len(data), 100):
                    stream.write(data[start : start + 100])

        thread = threading.Thread(target=write)
        thread.start()
        with nullcontext(path) if reading is None else open(reading, "rb") as source:
            yield source
        thread.join()


WAYS = ("path", "bytes", "a stream in its middle", "an open file in its middle", "a pipe", "a FIFO")


def without_name(found: Any) -> Any:
    """Take the name of the source out of a result or a message."""
    if isinstance(found[0], type):
        return found[0], re.sub(r"^[^:]*", "", found[1])
    return found[:2] + found[3:]


FROM_ANYWHERE = [
    "together",
    "scattered",
    "comments and blank lines",
    "a duplicate in a scattered query",
    "a malformed line",
]
FROM_ANYWHERE += ["a malformed line after scattered queries", "ranks contradict in scattered queries", "empty"]


@pytest.mark.parametrize("way", WAYS)
def test_a_run_comes_to_the_same_from_wherever_it_is_read(way: str, tmp_path: Path) -> None:
    qrels = Qrels(STREAM_QRELS)
    how = [("python", 1, 100), ("compiled", 1, 100), ("compiled", 3, 64)]
    for number, (name, pack, each) in enumerate(product(FROM_ANYWHERE, (bytes, gzip.compress), how)):
        reader, threads, size = each
        with under(reader, size), given_as(way, pack(RUNS[name]), tmp_path / str(number)) as given_source:
            found = streamed(given_source, qrels, threads=threads)
        assert without_name(found) == without_name(definition(RUNS[name], qrels)), (name, pack, each)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("change", ["grows", "shrinks", "becomes empty", "is rewritten", "is turned round"])
def test_a_file_that_changes_while_it_is_read_is_refused(
    change: str, threads: int, reader: str, tmp_path: Path
) -> None:
    path = tmp_path / "run"
    data = text_lines(lines_of({f"q{number}": 10 for number in range(50)}))
    path.write_bytes(data)
    os.utime(path, (1e9, 1e9))
    changed = {
        "grows": data + b"z Q0 d1 1 1 tag\n" * 3,
        "shrinks": data[: len(data) // 2],
        "becomes empty": b"",
        "is rewritten": data.replace(b" d", b" e"),
        "is turned round": b"".join(reversed(data.splitlines(keepends=True))),
    }
    calls = []

    def watch(read: int, size: int | None) -> None:
        assert size == len(data)
        calls.append(read)
        if len(calls) == 5:
            path.write_bytes(changed[change])

    message = f"{path}: the file changed while it was read. Run again when nothing writes to it."
    with under(reader, 200), pytest.raises(InputError) as caught:
        judge_file(Qrels(STREAM_QRELS), path, threads=threads, watch=watch)
    assert str(caught.value) == message
    assert len(calls) >= 5


@pytest.mark.parametrize("reader", READERS)
def test_a_file_that_is_replaced_by_another_is_read_to_its_end(reader: str, tmp_path: Path) -> None:
    path, other = tmp_path / "run", tmp_path / "other"
    path.write_bytes(RUNS["together"])
    other.write_bytes(b"q1 Q0 a 1 1 t\n")

    def watch(read: int, size: int | None) -> None:
        if other.exists():
            os.replace(other, path)

    with under(reader, 50):
        found = streamed(path, Qrels(STREAM_QRELS), watch=watch)
    assert without_name(found) == without_name(definition(RUNS["together"], Qrels(STREAM_QRELS)))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("threads", [1, 3])
def test_reading_is_watched_from_the_beginning_to_the_end(threads: int, reader: str, tmp_path: Path) -> None:
    data = RUNS["together"]
    (tmp_path / "run").write_bytes(data)
    seen: list[tuple[int, int | None]] = []
    with under(reader, 100):
        watch = lambda *told: seen.append(told)  # noqa: E731
        judge_file(Qrels(STREAM_QRELS), tmp_path / "run", threads=threads, watch=watch)
    assert [read for read, _ in seen] == sorted(read for read, _ in seen)
    assert seen[-1] == (len(data), len(data))


# --- blocks ---


@st.composite
def files_of_queries(draw: st.DrawFn) -> tuple[bytes, bool]:
    """Return a file, and whether the lines of each query stand together, nothing between them."""
    ids = draw(st.lists(st.sampled_from(["1", "2", "12", "q", "é", "x" * 30, "y" * 200, "z" * 201, "#"]), max_size=9))
    together = draw(st.booleans())
    if together:
        ids = list(dict.fromkeys(ids))
    lines = []
    for qid in ids:
        for number in range(draw(st.integers(1, 12))):
            white = draw(st.sampled_from(["", "", "", " ", "\t"]))
            lines.append(f"{white}{qid} Q0 d{number} {number} 1{'0' * draw(st.integers(0, 40))} t")
        if draw(st.integers(0, 4)) == 0:
            lines += ["", "  ", "# comment"]
    data = "\n".join(lines).encode()
    return data + draw(st.sampled_from([b"\n", b"\n", b""])), together


@settings(few, max_examples=80)
@given(files_of_queries(), st.integers(1, 3000))
def test_blocks_are_the_file_and_keep_queries_whole(file: tuple[bytes, bool], size: int) -> None:
    data, together = file
    if not data.strip(b"\n"):
        data = b"1 Q0 a 1 1 t\n" + data
    for whole_queries in (True, False):
        found = [bytes(block) for block in blocks(io.BytesIO(data), size, whole_queries=whole_queries)]
        assert b"".join(found) == data + b"\n" * (not data.endswith(b"\n"))
        assert all(block.endswith(b"\n") for block in found)
    if together:
        with_blocks = [
            {line.split()[0] for line in block.split(b"\n") if line.strip() and not line.startswith(b"#")}
            for block in map(bytes, blocks(io.BytesIO(data), size, whole_queries=True))
        ]
        counts = Counter(qid for each in with_blocks for qid in each if not qid.startswith(b"#"))
        assert all(count == 1 for count in counts.values())


def test_blocks_are_about_as_long_as_asked() -> None:
    data = text_lines(lines_of({f"q{number:02}": 5 for number in range(40)}))
    query = len(data) // 40 + 20
    for size in (1, 16, 100, 333, 1000, 5000):
        found = [bytes(block) for block in blocks(io.BytesIO(data), size, whole_queries=True)]
        assert max(len(block) for block in found) <= max(size, 4 * query)
        assert len(found) >= min(len(data) // max(size, 4 * query), 10)


@pytest.mark.parametrize(("comments", "kept"), [(63, True), (64, False)])
def test_a_query_is_looked_for_before_64_lines_without_data(comments: int, kept: bool) -> None:
    """The block ends before the last query, which may go on, or where its lines end if none is in sight."""
    head, tail = b"1 Q0 a 1 1 t\n2 Q0 a 1 1 t\n" + b"#\n" * comments, b"2 Q0 b 1 1 t\n"
    first = bytes(next(iter(blocks(io.BytesIO(head + tail), len(head), whole_queries=True))))
    assert first == (b"1 Q0 a 1 1 t\n" if kept else head)


def test_ids_of_queries_are_compared_by_their_first_256_bytes() -> None:
    def cut_after(length: int) -> bytes:
        lines = [b"q" * length + end + b" Q0 a 1 1 t\n" for end in (b"1", b"2")]
        data = b"".join(lines)
        return bytes(next(iter(blocks(io.BytesIO(data + lines[1]), len(data), whole_queries=True))))

    assert len(cut_after(255)) == 255 + 13
    assert len(cut_after(256)) > 256 + 13  # taken for one query, whose lines stay together


# --- threads ---


@pytest.mark.parametrize(("cores", "threads"), [(1, 1), (255, 255), (256, 256), (257, 256)])
def test_there_is_a_thread_for_each_core_up_to_256(cores: int, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)), raising=False)
    assert available_threads() == threads
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert available_threads() == threads
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert available_threads() == 1


def settled(function: Callable[[], bool]) -> bool:
    """Wait until something is so, but not for ever."""
    end = time.monotonic() + 5
    while not function():
        if time.monotonic() > end:
            return False
        time.sleep(0.001)
    return True


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_the_order_of_items_that_one_thread_at_a_time_takes(threads: int) -> None:
    before, inside, rng = threading.active_count(), threading.Lock(), random.Random(0)

    def items(count: int) -> Iterator[int]:
        for item in range(count):
            assert inside.acquire(blocking=False)
            time.sleep(0.0005)
            inside.release()
            yield item

    def work(item: int) -> int:
        time.sleep(rng.choice((0.0, 0.0, 0.001, 0.004)))
        return item * item

    for count in (0, 1, 2, 3, 60):
        assert list(in_order(items(count), work, threads)) == [item * item for item in range(count)]
    assert settled(lambda: threading.active_count() <= before)


@pytest.mark.parametrize("threads", [2, 5])
def test_few_items_are_taken_before_their_turn(threads: int) -> None:
    taken = []

    def items() -> Iterator[int]:
        for item in range(100):
            taken.append(item)
            yield item

    for turn, result in enumerate(in_order(items(), lambda item: item, threads)):
        assert result == turn
        if turn % 10 == 0:
            time.sleep(0.01)  # time enough to take more than is allowed
        assert len(taken) <= turn + 2 * threads


def test_items_are_worked_on_at_the_same_time() -> None:
    barrier = threading.Barrier(3, timeout=5)
    assert list(in_order(iter(range(9)), lambda item: barrier.wait() * 0 + item, 3)) == list(range(9))


class Failed(Exception):
    """What a test raises."""


@pytest.mark.parametrize("by", ["work", "items"])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_an_exception_comes_when_its_turn_comes(threads: int, by: str) -> None:
    before = threading.active_count()
    for bad in (0, 1, 2, 7, 19):

        def items(bad: int = bad) -> Iterator[int]:
            for item in range(20):
                if by == "items" and item == bad:
                    raise Failed
                yield item

        def work(item: int, bad: int = bad) -> int:
            if by == "work" and item == bad:
                raise Failed
            time.sleep(0.001 * (item % 3))
            return item

        results = []
        with pytest.raises(Failed):  # noqa: PT012 - the results before it count
            for result in in_order(items(), work, threads):
                results.append(result)
        assert results == list(range(bad))
    assert settled(lambda: threading.active_count() <= before)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_whoever_stops_early_leaves_no_threads_behind(threads: int) -> None:
    before = threading.active_count()
    results = in_order(iter(range(10**9)), lambda item: item, threads)
    assert [next(results) for _ in range(5)] == list(range(5))
    results.close()
    assert settled(lambda: threading.active_count() <= before)


def test_where_no_thread_can_be_started_any_more_the_calling_one_does_all(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ending:
        def __init__(self, _: int) -> None:
            raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    monkeypatch.setattr("concurrent.futures.ThreadPoolExecutor", Ending)
    caller = threading.get_ident()
    assert list(in_order(iter(range(5)), lambda item: (item, threading.get_ident()), 4)) == [
        (item, caller) for item in range(5)
    ]


def test_offsets_that_several_threads_ask_for_at_once_are_there_for_all() -> None:
    for _ in range(20):
        ids = Ids.from_text([f"d{number}" for number in range(20_000)])
        with ThreadPoolExecutor(8) as pool:
            ends = [int(offsets[-1]) for offsets in pool.map(lambda each: each.offsets, [ids] * 8)]
        assert set(ends) == {len(ids.buffer)}


def test_a_run_is_scanned_by_several_threads_and_read_by_the_calling_one(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, scanning, judge_piece = set(), set(), streaming._Reading.piece

    def piece(*given: Any) -> Any:
        scanning.add(threading.get_ident())
        time.sleep(0.002)
        return judge_piece(*given)

    monkeypatch.setattr(streaming._Reading, "piece", piece)
    data = text_lines(lines_of({f"q{number}": 10 for number in range(60)}))
    with under("compiled", 300):
        watch = lambda read, size: reading.add(threading.get_ident())  # noqa: E731
        judge_file(Qrels(STREAM_QRELS), io.BytesIO(data), threads=4, watch=watch)
    assert len(scanning - {threading.get_ident()}) > 1
    assert reading == {threading.get_ident()}


@pytest.mark.parametrize("reader", READERS)
def test_columns_in_another_layout_and_width_are_judged_like_others(reader: str) -> None:
    ids = Ids.from_bytes([b"a", b"b", b"c"])
    offsets = np.array([0, 3])
    scores = np.array([1.0, 9.0, 3.0, 9.0, 2.0, 9.0], dtype=np.float32)[::2]
    rels = np.array([1, 9, 0, 9, 2, 9], dtype=np.int32)[::2]
    with under(reader):
        judged = judge(Qrels.from_columns(["1"], offsets, ids, rels), Run.from_columns(["1"], offsets, ids, scores))
    assert (judged.hits.rank.tolist(), judged.hits.rel.tolist()) == ([1, 2, 3], [0, 2, 1])


# --- dictionaries that change while they are looked at ---

CHANGING = {
    "before all": """
from treceval_py.scan import _scan
more = dict.fromkeys(map(str, range(900, 100_000)), 1.0)
class Changing(str):
    __hash__ = str.__hash__
    def __eq__(self, other):
        documents.update(more)
        return str.__eq__(self, other)
""",
    "by the look-up of a query": """
documents = {"a": 1.0, "b": 1.0}
_scan.judge_nested({"1": {"a": 1}}, {Changing("1"): documents}, False, -1, False)
""",
    "by the look-up of a document": """
documents = {Changing("a"): 1.0, "b": 1.0}
_scan.judge_nested({"1": {"a": 1, "b": 1}}, {"1": documents}, False, -1, False)
""",
    # Up to Python 3.11 any allocation may run them.
    "by a finalizer": """
class Cycle:
    def __init__(self):
        self.cycle = self
    def __del__(self):
        documents.update(more)
import gc
judgments = dict.fromkeys(map(str, range(900)), 1)
gc.disable()
for allocations in range(0, 900, 100):
    documents = dict.fromkeys(judgments, 1.0)
    gc.collect()
    Cycle()
    gc.set_threshold(allocations + 1)
    gc.enable()
    _scan.judge_nested({"1": judgments}, {"1": documents}, False, -1, False)
    gc.disable()
""",
}


def test_nothing_is_read_or_written_outside_of_a_dictionary_that_changes() -> None:
    code = "".join(f"print({changed!r}, flush=True){script}" for changed, script in CHANGING.items())
    # Python's debugging allocator overwrites memory that is freed.
    environment = {**os.environ, "PYTHONMALLOC": "debug"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr, done.stdout.splitlines()) == (0, "", list(CHANGING))


def test_ids_with_a_comparison_of_their_own_count_by_their_text() -> None:
    class Folded(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            return str.__eq__(self, other)

    # a and c tie, and c, the larger id, comes first; b is third: (1/2 + 2/3) / 2
    run = {Folded("1"): {Folded("a"): 1.0, "b": 0.5, Folded("c"): 1.0}}
    for reader in READERS:
        with under(reader):
            assert evaluate({"1": {"a": 1, "b": 1}}, run, ["map"]).mean["map"] == (1 / 2 + 2 / 3) / 2


def test_numpys_ids_are_plain() -> None:
    run = {np.str_("1"): {np.str_("a"): 1.0}}
    assert _scan.judge_nested({"1": {"a": 1}}, run, False, -1, False)[-1] == []


@pytest.mark.parametrize("many", [MANY - 1, MANY])
def test_rows_of_queries_are_those_of_a_dictionary(many: int) -> None:
    qids = [f"{'é' * (number % 3)}{number}" for number in range(many)]
    table = Qrels.from_columns(qids, np.arange(many + 1), Ids.from_text(["d"] * many), np.ones(many, dtype=np.int64))
    sought = [*qids[5:9], "", "x", qids[-1], qids[0], "1\udcff", *reversed(qids)]
    assert table.rows_of(sought).tolist() == [{qid: row for row, qid in enumerate(qids)}.get(qid, -1) for qid in sought]


@given(st.lists(st.sampled_from(["", "a", "aa", "b", "é", "\udcff"])))
def test_firsts_are_where_an_id_first_occurs(ids: list[str]) -> None:
    assert firsts_of(ids).tolist() == list(map(ids.index, ids))
