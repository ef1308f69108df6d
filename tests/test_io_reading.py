"""Reading and writing: what is a line, what is an id, which files are seen through, and what a table is."""

from __future__ import annotations

import bz2
import copy
import functools
import gzip
import io
import lzma
import math
import os
import pickle
import re
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import zstandard
from command import table
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from treceval_py.data.ids import Ids, decode, encode
from treceval_py.data.preferences import Preference
from treceval_py.data.qrels import Qrels
from treceval_py.data.run import Run
from treceval_py.errors import DataError, EvaluationError, InputError, MeasureError, OutputError, TrecevalError
from treceval_py.io import source
from treceval_py.io.source import blocks
from treceval_py.io.trec import read_judgment_groups, read_preferences
from treceval_py.io.trec import read_trec_qrels as read_qrels
from treceval_py.io.trec import read_trec_run as read_run
from treceval_py.io.writing import write_qrels, write_run
from treceval_py.scoring.evaluation import evaluate

QRELS = b"1 0 a 1\n1 0 b 0\n2 0 c 2\n"
RUN = b"1 Q0 b 1 3.5 tag\n1 Q0 a 2 2.5 tag\n2 Q0 c 1 0.25 tag\n"

QRELS_DICT = {"1": {"a": 1, "b": 0}, "2": {"c": 2}}
RUN_DICT = {"1": {"b": 3.5, "a": 2.5}, "2": {"c": 0.25}}


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstd,
}

packers = pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)


def qrels_of(data: bytes) -> dict[str, dict[str, int]]:
    return read_qrels(io.BytesIO(data)).to_dict()


def run_of(data: bytes) -> dict[str, dict[str, float]]:
    return read_run(io.BytesIO(data)).to_dict()


def refusal(read: Callable[[Any], object], data: Any) -> str:
    with pytest.raises(InputError) as caught:
        read(io.BytesIO(data) if isinstance(data, bytes) else data)
    return str(caught.value)


class Dripping:
    """A stream that gives a byte at a time, as a pipe may whose writer is slow."""

    def __init__(self, data: bytes) -> None:
        self.rest = data

    def read(self, size: int = -1) -> bytes:
        byte, self.rest = self.rest[:1], self.rest[1:]
        return byte


# --- lines ---


WHITE = [b" ", b"\t", b"  \t ", b"\v", b"\f", b"\r", b" \v\f\r\t"]
SCORES = "1 -1.5 +.5 5. 1e-3 1E3 1e-999 inf -inf Infinity"
VALUES = [1.0, -1.5, 0.5, 5.0, 0.001, 1000.0, 0.0, math.inf, -math.inf, math.inf]
NAMES = '0007 7 7.0 NA nan None 1e3 1_000 +1 true a,b "a" é'
MARK = b"\xef\xbb\xbf"

JUDGED: dict[str, tuple[bytes, Any]] = {
    **{f"white space {white!r}": (white.join([b"1", b"0", b"a", b"1"]), {"1": {"a": 1}}) for white in WHITE},
    **{
        f"{mark!a} belongs to an id": (f"1 0 a{mark}b 1\n".encode(), {"1": {f"a{mark}b": 1}})
        for mark in "\u00a0\u2003\u0085\u3000\x1c\x1d\x1e\x1f"
    },
    "no newline at the end": (QRELS.removesuffix(b"\n"), QRELS_DICT),
    "blank lines": (b"\n \t\r\n" + QRELS.replace(b"\n", b"\n\n") + b"\n\n", QRELS_DICT),
    "comments": (b"# judged by hand\n#1 0 z 1\n  # 1 0 z\n" + QRELS + b"#", QRELS_DICT),
    "a hash elsewhere is data": (b"1#2 0 #a 1\n", {"1#2": {"#a": 1}}),
    "a byte-order mark": (MARK + QRELS, QRELS_DICT),
    "a byte-order mark before a comment": (MARK + b"# head\n" + QRELS, QRELS_DICT),
    "a byte-order mark inside a compressed file": (gzip.compress(MARK + QRELS), QRELS_DICT),
    "a byte-order mark further on": (b"1 0 \xef\xbb\xbfa 1\n", {"1": {"\ufeffa": 1}}),
    "scattered lines": (
        b"1 0 a 1\n2 0 c 2\n1 0 b 0\n3 0 a 0\n2 0 a 1\n",
        {"1": {"a": 1, "b": 0}, "2": {"c": 2, "a": 1}, "3": {"a": 0}},
    ),
    **{f"judgment {rel}": (f"1 0 a {rel}".encode(), {"1": {"a": rel}}) for rel in (-(2**63), -1, 0, 7, 2**63 - 1)},
    **{f"id {name}": (f"{name} 0 {name} 1\n".encode(), {name: {name: 1}}) for name in NAMES.split()},
    "ids that are equal as numbers": (
        b"7 0 1 1\n007 0 1 2\n7.0 0 1.0 3\n7 0 01 4\n",
        {"7": {"1": 1, "01": 4}, "007": {"1": 2}, "7.0": {"1.0": 3}},
    ),
    "ids that Unicode takes for equal": (
        "1 0 \u00e9 1\n1 0 e\u0301 2\n".encode(),
        {"1": {"\u00e9": 1, "e\u0301": 2}},
    ),
    "zeros after gzip data": (gzip.compress(QRELS) + b"\0" * 512, QRELS_DICT),
}
RETRIEVED: dict[str, tuple[bytes, Any, str]] = {
    "white space around a line": (b" \t1 Q0 a 1 2.5 tag \t \n", {"1": {"a": 2.5}}, "tag"),
    "Windows line ends": (RUN.replace(b"\n", b"\r\n"), RUN_DICT, "tag"),
    "columns after the tag": (
        b"1 Q0 a 1 2.5 my run of may\n1 Q0 b 2 1.5 my\n",
        {"1": {"a": 2.5, "b": 1.5}},
        "my",
    ),
    "the tag of the last line": (b"1 Q0 a 1 2 first\n1 Q0 b 2 1 last\n", {"1": {"a": 2.0, "b": 1.0}}, "last"),
    "anything for Q0 and the rank": (b"1 x a - 2.5 t\n", {"1": {"a": 2.5}}, "t"),
    "scattered lines": (
        b"1 Q0 a 1 1 t\n2 Q0 a 1 2 t\n1 Q0 b 1 3 t\n2 Q0 b 1 4 t\n",
        {"1": {"a": 1.0, "b": 3.0}, "2": {"a": 2.0, "b": 4.0}},
        "t",
    ),
    **{
        f"score {text}": (f"1 Q0 a 1 {text} t\n".encode(), {"1": {"a": score}}, "t")
        for text, score in zip(SCORES.split(), VALUES, strict=True)
    },
}


def test_lines_are_read_as_they_are_meant() -> None:
    found = {name: (data, qrels_of(data)) for name, (data, _) in JUDGED.items()}
    assert {name: each for name, each in found.items() if each != JUDGED[name]} == {}
    assert [list(each[1]) for each in found.values()] == [list(each) for _, each in JUDGED.values()]
    runs = {name: read_run(io.BytesIO(data)) for name, (data, *_) in RETRIEVED.items()}
    kept = {name: (RETRIEVED[name][0], run.to_dict(), run.tag) for name, run in runs.items()}
    assert {name: each for name, each in kept.items() if each != RETRIEVED[name]} == {}


def test_queries_keep_the_order_of_their_first_lines() -> None:
    assert list(qrels_of(b"9 0 a 1\n10 0 a 1\n9 0 b 1\n1 0 a 1\n")) == ["9", "10", "1"]


# --- identifiers ---


def test_bytes_that_are_not_utf_8_survive_a_round_trip(tmp_path: Path) -> None:
    data = b"q\xff\xfe 0 d\x80\xe9 1\n"
    write_qrels(read_qrels(io.BytesIO(data)), tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == data


@given(st.binary())
def test_decoding_and_encoding_an_id_gives_its_bytes_again(raw: bytes) -> None:
    assert encode(decode(raw)) == raw


def test_text_that_no_bytes_stand_for_is_no_id() -> None:
    with pytest.raises(DataError) as caught:
        encode("\ud800")
    assert str(caught.value) == "identifier '\\ud800' cannot be written as UTF-8. Use valid Unicode text."


def test_queries_are_matched_by_their_bytes() -> None:
    results = evaluate(io.BytesIO(b"q\xff 0 d\xfe 1\n"), io.BytesIO(b"q\xff Q0 d\xfe 1 1 t\n"), ["map"])
    assert results.mean["map"] == 1.0


# --- blocks ---


def lines_of(data: bytes, size: int) -> list[tuple[int, bytes]]:
    """Return numbered lines as they come out of blocks of about that size."""
    found = []
    for block in blocks(io.BytesIO(data), size):
        text = bytes(block)
        assert text.endswith(b"\n")
        found += list(enumerate(text[:-1].split(b"\n"), len(found) + 1))
    return found


def cut_into_blocks_of(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "blocks", functools.partial(blocks, size=size))


@pytest.mark.parametrize("size", range(1, 8))
def test_lines_are_the_same_whatever_the_size_of_blocks(size: int) -> None:
    text = b"\xef\xbb\xbf# head\n\n" + QRELS + b"\r\n1 0 long-document-name 1"
    lines = [b"# head", b"", b"1 0 a 1", b"1 0 b 0", b"2 0 c 2", b"\r", b"1 0 long-document-name 1"]
    assert lines_of(text, size) == list(enumerate(lines, 1))


@settings(max_examples=200)
@given(
    lines=st.lists(st.binary(max_size=9).map(lambda raw: raw.replace(b"\n", b"").replace(b"\0", b"")), max_size=9),
    size=st.integers(1, 7),
    newline=st.booleans(),
)
def test_any_lines_are_the_same_whatever_the_size_of_blocks(lines: list[bytes], size: int, newline: bool) -> None:
    text = b"# no other kind of file begins like this\n" + b"\n".join(lines) + (b"\n" if newline and lines else b"")
    expected = text.removesuffix(b"\n").split(b"\n")
    assert lines_of(text, size) == list(enumerate(expected, 1))


@pytest.mark.parametrize("size", [*range(1, 8), 11, 64])
def test_a_table_and_its_faults_are_the_same_whatever_the_size_of_blocks(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_into_blocks_of(size, monkeypatch)
    table = read_run(io.BytesIO(b"# head\n2 Q0 z 1 9 t\n" + RUN))
    assert table.to_dict() == {"2": {"z": 9.0, "c": 0.25}, "1": {"b": 3.5, "a": 2.5}}
    assert refusal(read_qrels, b"# head\n\n1 0 a 1\n2 0 a 1\n\n1 0 a 0\n") == (
        "<file>:6: document 'a' occurs twice in query '1' (first on line 3). Keep one of the two lines."
    )
    assert refusal(read_qrels, b"1 0 a 1\n1 0 b 1\n1 0 c\0 1\n").startswith("<file>:3: a NUL byte")


def test_a_line_may_be_longer_than_a_block() -> None:
    long = b"d" * 1000
    assert lines_of(b"1 0 " + long + b" 1\n1 0 a 1\n", 16) == [(1, b"1 0 " + long + b" 1"), (2, b"1 0 a 1")]


def test_a_line_without_end_is_refused_before_it_fills_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    cut_into_blocks_of(100, monkeypatch)
    data = b"1 0 a 1\n1 0 " + b"x" * 740 + b" 1\n"
    monkeypatch.setattr(source, "LONGEST_LINE", 736)  # 100 - 8 bytes of it, three times doubled
    assert qrels_of(data) == {"1": {"a": 1, "x" * 740: 1}}
    monkeypatch.setattr(source, "LONGEST_LINE", 735)
    assert refusal(read_qrels, data) == "<file>:2: a line has more than 735 bytes. Is this a text file?"


def test_a_table_has_a_value_for_each_line_of_many_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    cut_into_blocks_of(1000, monkeypatch)
    text = b"".join(b"%d Q0 d%d 1 %d t\n" % (row % 7, row, row) for row in range(2000))
    assert run_of(text) == {str(query): {f"d{row}": float(row) for row in range(query, 2000, 7)} for query in range(7)}


# --- compression ---


@packers
def test_compressed_files_are_read_by_what_is_in_them(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_bytes(pack(QRELS))
    assert read_qrels(tmp_path / "qrels.txt").to_dict() == QRELS_DICT
    assert qrels_of(pack(QRELS[:13]) + pack(QRELS[13:])) == QRELS_DICT  # members cut in the middle of a line
    assert read_qrels(Dripping(pack(QRELS))).to_dict() == QRELS_DICT  # type: ignore[arg-type]
    assert read_judgment_groups(io.BytesIO(pack(b"1 g a 2\n"))).qids == ("1",)
    assert read_preferences(io.BytesIO(pack(b"1 g s a 2\n"))).qids == ("1",)
    assert refusal(read_qrels, pack(b"# head\n\n1 0 a x\n")).startswith("<file>:3: judgment 'x' ")
    assert refusal(read_qrels, pack(b"")) == "<file>: the file is empty. Is it the right file?"


@pytest.mark.parametrize("name", ["qrels.gz", "qrels.bz2", "qrels.xz", "qrels.zst"])
def test_a_plain_file_is_plain_whatever_its_name(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(QRELS)
    assert read_qrels(tmp_path / name).to_dict() == QRELS_DICT


def test_plain_streams_may_come_a_byte_at_a_time() -> None:
    assert read_qrels(Dripping(b"\xef\xbb\xbf" + QRELS)).to_dict() == QRELS_DICT  # type: ignore[arg-type]


def many_lines() -> bytes:
    """Return judgments that are no better known after half of the compressed bytes."""
    rng = np.random.default_rng(1)
    return b"".join(b"%d 0 d%d 1\n" % (row // 100, number) for row, number in enumerate(rng.permutation(5000)))


@packers
def test_compressed_data_that_is_damaged_is_refused(pack: Callable[[bytes], bytes]) -> None:
    packed = pack(many_lines())
    middle = len(packed) // 2
    changed = packed[:middle] + bytes(byte ^ 0xFF for byte in packed[middle:][:8]) + packed[middle + 8 :]
    every = [packed[: int(share * len(packed))] for share in (0.2, 0.5, 0.9, 0.999)]
    every += [pack(QRELS)[:length] for length in (6, 7, 8, 9)]
    # Cut where a line ends: the text so far is in order, so only the compression can show it.
    every += [changed, pack(QRELS) + pack(QRELS.replace(b" a ", b" x "))[:-1], gzip.compress(QRELS) + b"1 0 z 1\n"]
    for data in every:
        assert "the compressed data is damaged or cut off" in refusal(read_qrels, data)


@pytest.mark.parametrize("module", ["zstd", "zstandard", "_zstd", "backports.zstd"])
def test_errors_of_every_zstd_package_mean_damage(module: str) -> None:
    """In zstandard 0.21 to 0.23 ``ZstdError.__module__`` is ``zstd``."""
    error = type("ZstdError", (Exception,), {"__module__": module})

    class Damaged(io.BytesIO):
        def readinto(self, buffer: Any) -> int:
            raise error("checksum")

    assert refusal(read_qrels, Damaged(b"x")) == (
        "<file>:1: the compressed data is damaged or cut off (checksum). Copy or download the file again."
    )


def test_a_damaged_checksum_of_gzip_is_refused() -> None:
    packed = bytearray(gzip.compress(QRELS))
    packed[-5] ^= 1
    assert "the compressed data is damaged or cut off (CRC check failed" in refusal(read_qrels, bytes(packed))


# --- pipes and standard input ---


@pytest.fixture
def fifo(tmp_path: Path) -> Iterator[Callable[[bytes], str]]:
    threads: list[threading.Thread] = []

    def make(data: bytes) -> str:
        path = tmp_path / f"fifo{len(threads)}"
        os.mkfifo(path)
        threads.append(threading.Thread(target=path.write_bytes, args=(data,)))
        threads[-1].start()
        return str(path)

    yield make
    for thread in threads:
        thread.join()


def test_a_named_pipe_is_read(fifo: Callable[[bytes], str]) -> None:
    for pack in (bytes, *PACKERS.values()):
        assert read_run(fifo(pack(RUN))).to_dict() == RUN_DICT


def test_both_arguments_may_be_pipes(fifo: Callable[[bytes], str]) -> None:
    assert evaluate(fifo(QRELS), fifo(RUN), ["map"]).mean["map"] == (1 / 2 + 1) / 2


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="the system has no /dev/fd")
def test_a_descriptor_of_the_shell_is_read() -> None:
    reading, writing = os.pipe()
    os.write(writing, QRELS)
    os.close(writing)
    try:
        assert read_qrels(f"/dev/fd/{reading}").to_dict() == QRELS_DICT
    finally:
        os.close(reading)


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="the system has no /dev/fd")
def test_process_substitution_is_read(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_bytes(QRELS)
    (tmp_path / "run").write_bytes(RUN)
    command = f"'{sys.executable}' -m treceval_py -m map <(cat qrels) <(gzip -c run)"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"map                   \tall\t0.7500\n", b"")


@pytest.mark.parametrize("pack", [bytes, *PACKERS.values()], ids=["plain", *PACKERS])
def test_a_dash_is_standard_input(pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(pack(QRELS))))
    assert read_qrels("-").to_dict() == QRELS_DICT


def test_messages_call_standard_input_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1 0 a 0.5\n")))
    assert refusal(read_qrels, "-") == (
        "<stdin>:1: judgment '0.5' is not a whole number, and trec_eval reads 0. "
        "Write labels as whole numbers, such as 0, 1, 2."
    )


def test_a_file_called_dash_is_read_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("-").write_bytes(QRELS)
    assert read_qrels("./-").to_dict() == QRELS_DICT


def test_a_stream_that_was_given_open_stays_open() -> None:
    stream = io.BytesIO(QRELS)
    read_qrels(stream)
    assert not stream.closed


def test_a_file_that_was_given_open_is_called_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "qrels"
    path.write_bytes(b"1 0 a\n")
    with open(path, "rb") as stream:
        assert refusal(read_qrels, stream).startswith(f"{path}:1: 3 fields, but a judgment has 4")


def test_a_file_that_was_opened_as_text_is_refused() -> None:
    assert refusal(read_qrels, io.StringIO("1 0 a 1\n")) == (
        "<file>: is open as text. Open the file with mode 'rb', or give its path."
    )


def test_a_path_may_be_a_path_object(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_bytes(QRELS)
    assert read_qrels(tmp_path / "qrels").name == str(tmp_path / "qrels")


# --- other kinds of judgments ---


def test_preferences_are_read_with_groups_and_sub_groups() -> None:
    table = read_preferences(io.BytesIO(b"# head\n1 g s a 2.5\n2 g s b 1\n1 h s a 0\n"))
    assert table.qids == ("1", "2")
    assert table.rows["1"] == [Preference(b"g", b"s", b"a", 2.5, 2), Preference(b"h", b"s", b"a", 0.0, 4)]


def test_graded_preferences_have_one_sub_group() -> None:
    table = read_preferences(io.BytesIO(b"1 g a 2\n1 g b 1\n"), subgroups=False)
    assert table.rows == {"1": [Preference(b"g", b"", b"a", 2.0, 1), Preference(b"g", b"", b"b", 1.0, 2)]}


def test_judgments_by_groups_are_kept_apart() -> None:
    table = read_judgment_groups(io.BytesIO(b"1 y a 1\n1 x a 0\n1 y b 2\n2 x a 1\n"))
    assert table.groups == {"1": {b"x": {b"a": 0}, b"y": {b"a": 1, b"b": 2}}, "2": {b"x": {b"a": 1}}}
    assert list(table.groups["1"]) == [b"x", b"y"]


@packers
def test_judgments_by_groups_may_be_compressed(pack: Callable[[bytes], bytes]) -> None:
    assert read_judgment_groups(io.BytesIO(pack(b"1 g a 2\n"))).qids == ("1",)


# --- tables ---


def test_a_table_reads_as_a_dictionary_of_dictionaries() -> None:
    table = read_qrels(io.BytesIO(QRELS))
    assert (table["1"], list(table), len(table), "2" in table, "3" in table) == (
        {"a": 1, "b": 0},
        ["1", "2"],
        2,
        True,
        False,
    )


def test_a_table_equals_the_dictionary_that_it_reads_as() -> None:
    assert read_run(io.BytesIO(RUN)) == RUN_DICT


def test_a_query_that_is_not_there_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="3"):
        read_qrels(io.BytesIO(QRELS))["3"]


def test_values_are_python_numbers() -> None:
    assert (type(qrels_of(QRELS)["1"]["a"]), type(run_of(RUN)["1"]["a"])) == (int, float)


def test_a_table_shows_what_it_is() -> None:
    assert repr(read_qrels(io.BytesIO(QRELS))) == "<Qrels '<file>': 2 queries, 3 documents>"


def test_a_table_made_of_a_dictionary_gives_it_back() -> None:
    assert (Qrels(QRELS_DICT).to_dict(), Run(RUN_DICT).to_dict()) == (QRELS_DICT, RUN_DICT)


def test_a_dictionary_is_not_changed() -> None:
    given = copy.deepcopy(RUN_DICT)
    evaluate(QRELS_DICT, given, ["map"])
    assert given == RUN_DICT


def test_an_empty_table_has_no_queries() -> None:
    assert (Qrels().to_dict(), Run({}).to_dict()) == ({}, {})


def test_a_query_without_documents_is_set_apart() -> None:
    for made in (Run({"1": {}, "2": {"a": 1}}), Qrels({"1": {}, "2": {"a": 1}}), Qrels({"1": [], "2": ["a"]})):
        for one in (made, pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
            assert (one.qids, one.bare, "1" in one, len(one)) == (("2",), ("1",), False, 1)
            assert one.to_dict() == {"2": {"a": 1}, "1": {}}


def test_numpy_numbers_are_numbers() -> None:
    table = Run({"1": {"a": np.float32(0.5), "b": np.int64(2)}})
    assert table.to_dict() == {"1": {"a": 0.5, "b": 2.0}}


def test_a_column_of_ids_reads_as_a_sequence() -> None:
    ids = Ids.from_bytes([b"a", b"", b"ccc"])
    assert (list(ids), ids[-1], list(ids[1:]), len(ids)) == (["a", "", "ccc"], "ccc", ["", "ccc"], 3)


# --- frames and arrays ---


def test_a_table_as_a_frame_has_a_row_a_document() -> None:
    frame = read_qrels(io.BytesIO(b"0007 0 a 1\n0007 0 b 0\n2 0 NA 2\n")).to_frame()
    assert list(frame.columns) == ["qid", "docid", "rel"]
    assert frame.to_numpy().tolist() == [["0007", "a", 1], ["0007", "b", 0], ["2", "NA", 2]]


def test_a_frame_gives_the_table_again() -> None:
    table = read_run(io.BytesIO(RUN))
    assert Run.from_frame(table.to_frame()).to_dict() == table.to_dict()


def test_rows_of_a_frame_may_stand_in_any_order() -> None:
    frame = pd.DataFrame({"qid": ["2", "1", "2"], "docid": ["a", "a", "b"], "rel": [1, 0, 2]})
    assert Qrels.from_frame(frame).to_dict() == {"2": {"a": 1, "b": 2}, "1": {"a": 0}}


def test_columns_of_a_frame_may_have_other_names() -> None:
    frame = pd.DataFrame({"query": ["1"], "doc": ["a"], "grade": [2]})
    assert Qrels.from_frame(frame, qid="query", docid="doc", rel="grade").to_dict() == {"1": {"a": 2}}


def test_positions_of_an_index_become_docids() -> None:
    table = Run.from_arrays(["q"], np.array([[2, 0]]), np.array([[0.5, 0.25]]), docids=["a", "b", "c"])
    assert table.to_dict() == {"q": {"c": 0.5, "a": 0.25}}


def test_positions_without_docids_are_written_in_decimal() -> None:
    assert Run.from_arrays(["q"], np.array([[10, 9]]), np.array([[2, 1]])).to_dict() == {"q": {"10": 2.0, "9": 1.0}}


def test_the_minus_one_of_faiss_is_no_document() -> None:
    ids, scores = np.array([[1, -1, -1], [-1, -1, -1]]), np.array([[0.5, -3e38, -3e38], [-3e38, -3e38, -3e38]])
    assert Run.from_arrays(["q", "r"], ids, scores, docids=["a", "b"]).to_dict() == {"q": {"b": 0.5}, "r": {}}


def test_arrays_may_hold_the_docids_themselves() -> None:
    table = Run.from_arrays(["q"], np.array([["d2", "d1"]]), np.array([[2.0, 1.0]]))
    assert table.to_dict() == {"q": {"d2": 2.0, "d1": 1.0}}


def test_scores_of_32_bits_keep_their_values() -> None:
    table = Run.from_arrays(["q"], np.array([["a"]]), np.array([[0.1]], dtype=np.float32))
    assert table["q"]["a"] == float(np.float32(0.1))


def test_a_run_of_arrays_can_be_scored() -> None:
    run = Run.from_arrays(["1"], np.array([[1, 0]]), np.array([[0.9, 0.1]]), docids=["a", "b"], tag="dense")
    results = evaluate({"1": {"a": 1}}, run, ["recip_rank"])
    assert (results.mean["recip_rank"], results.tag) == (0.5, "dense")


def frame(dtype: Any = None, **columns: list[Any]) -> pd.DataFrame:
    return pd.DataFrame({"qid": ["7", "7"], "docid": ["a", "b"], "score": [1.0, 2.0], **columns}, dtype=dtype)


def arrays(qids: Any, ids: Any, scores: Any, **options: Any) -> Callable[[], object]:
    return lambda: Run.from_arrays(qids, np.array(ids), np.array(scores), **options)


NO_TABLES: dict[str, Callable[[], object]] = {
    "query ids of two types": lambda: Qrels({1: {"a": 1}, "2": {"a": 1}}),
    "document ids of two types": lambda: Run({"1": {7: 1.0, "8": 2.0}}),
    "half a grade": lambda: Qrels({"1": {"a": 1.5}}),
    "a grade beyond 64 bits": lambda: Qrels({"1": {"a": 2**63}}),
    "a negative grade beyond 64 bits": lambda: Qrels({"1": {"a": -(2**63) - 1}}),
    "text for documents": lambda: Qrels({"1": "a"}),
    "rows of two": lambda: Qrels([("1", "a")]),
    "text for a score": lambda: Run({"1": {"a": 1.0}, "2": {"b": "0.5"}}),
    "NaN": lambda: Run({"1": {"a": math.nan}}),
    "a score beyond float64": lambda: Run({"1": {"a": 10**400}}),
    "an id of 80 characters": lambda: Run({"1": {"a" * 80: "x"}}),
    "an id of 81 characters": lambda: Run({"1": {"a" * 81: "x"}}),
    "eight columns": lambda: Run(pd.DataFrame({name: [1] for name in "abcdefgh"})),
    "nine columns": lambda: Run(pd.DataFrame({name: [1] for name in "abcdefghi"})),
    "frame: qid float": lambda: Run.from_frame(frame(qid=[7.0, 8.0])),
    "frame: docids mixed": lambda: Run.from_frame(frame(dtype=object, docid=["a", 12])),
    "frame: no column": lambda: Run.from_frame(frame().drop(columns="docid")),
    "frame: duplicate": lambda: Run.from_frame(frame(docid=["a", "a"])),
    "frame: NaN": lambda: Run.from_frame(frame(score=[1.0, math.nan])),
    "frame: text": lambda: Run.from_frame(frame(score=["1.0", "2.0"])),
    "frame: None": lambda: Run.from_frame(frame(dtype=object, qid=["7", None])),
    "frame: half a grade": lambda: Qrels.from_frame(frame(rel=[0.5, 1.0])),
    "arrays: widths": arrays(["q"], [[0, 0, 0]], [[0.0, 0.0]]),
    "arrays: queries": arrays(["q", "r"], [[0, 0, 0]], [[0.0, 0.0, 0.0]]),
    "arrays: one dimension": arrays(["q"], [0, 0, 0], [0.0, 0.0, 0.0]),
    "arrays: position": arrays(["q"], [[3]], [[1.0]], docids=["a", "b", "c"]),
    "arrays: duplicate": arrays(["q"], [[1, 1]], [[2.0, 1.0]]),
    "arrays: NaN": arrays(["q"], [[1]], [[math.nan]]),
    "arrays: qid": arrays([None], [[1]], [[1.0]]),
    "arrays: a query twice, with the same document": arrays(["q", "q"], [[5], [5]], [[1.0], [2.0]]),
}


def test_what_is_no_table_is_refused(snapshot: SnapshotAssertion) -> None:
    found = {}
    for name, make in NO_TABLES.items():
        with pytest.raises(DataError) as caught:
            make()
        found[name] = str(caught.value)
    assert table(found) == snapshot


def test_what_is_just_a_table_is_one() -> None:
    ends = {"1": {"a": 2**63 - 1, "b": -(2**63)}}
    assert Qrels(ends).to_dict() == ends
    assert Run({"1": {"a": 1.7976931348623157e308}})["1"]["a"] == 1.7976931348623157e308
    assert Run.from_arrays(["q"], np.array([[2]]), np.array([[1.0]]), docids=["a", "b", "c"])["q"] == {"c": 1.0}
    assert Run.from_arrays(["q", "q"], np.array([[5], [6]]), np.array([[1.0], [2.0]]))["q"] == {"5": 1.0, "6": 2.0}


# --- writing ---


def test_a_run_is_written_in_the_order_in_which_it_is_scored(tmp_path: Path) -> None:
    write_run({"1": {"a": 0.5, "b": 0.5, "c": 2}}, tmp_path / "run", tag="mine")
    assert (tmp_path / "run").read_text() == "1 Q0 c 1 2.0 mine\n1 Q0 b 2 0.5 mine\n1 Q0 a 3 0.5 mine\n"


def test_judgments_are_written_in_their_order(tmp_path: Path) -> None:
    write_qrels({"2": {"b": -1, "a": 3}, "1": {"a": 0}}, tmp_path / "qrels")
    assert (tmp_path / "qrels").read_text() == "2 0 b -1\n2 0 a 3\n1 0 a 0\n"


SUFFIXES = {"run": b"", "run.gz": b"\x1f\x8b", "run.bz2": b"BZh", "run.xz": b"\xfd7zXZ", "run.zst": b"\x28\xb5\x2f\xfd"}


@pytest.mark.parametrize(("name", "magic"), SUFFIXES.items())
def test_a_run_is_compressed_as_its_name_says_and_read_again(name: str, magic: bytes, tmp_path: Path) -> None:
    write_run(RUN_DICT, tmp_path / name, tag="mine")
    again = read_run(tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(magic)
    assert (again.to_dict(), again.tag) == (RUN_DICT, "mine")


@pytest.mark.parametrize("name", SUFFIXES)
def test_writing_the_same_twice_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    write_run(RUN_DICT, tmp_path / name)
    first = (tmp_path / name).read_bytes()
    write_run(RUN_DICT, tmp_path / name)
    assert (tmp_path / name).read_bytes() == first


@given(st.floats(allow_nan=False))
def test_a_score_is_read_as_it_was_before_it_was_written(score: float) -> None:
    stream = io.BytesIO(f"1 Q0 a 1 {score!r} t\n".encode())
    assert read_run(stream)["1"]["a"] == score


@pytest.mark.parametrize("score", [0.1, 1 / 3, -1e-300, 5e-324, 1.7976931348623157e308, math.inf, -math.inf, -0.0])
def test_a_score_is_written_with_all_its_digits(score: float, tmp_path: Path) -> None:
    write_run({"1": {"a": score}}, tmp_path / "run")
    assert read_run(tmp_path / "run")["1"]["a"] == score


@pytest.mark.parametrize(
    ("run", "tag", "shown"),
    [
        ({"1": {"a b": 1.0}}, "t", "docid 'a b'"),
        ({"1": {"": 1.0}}, "t", "docid ''"),
        ({"q\n1": {"a": 1.0}}, "t", "query id 'q\\n1'"),
        ({"1": {"a": 1.0}}, "my run", "tag 'my run'"),
    ],
)
def test_ids_that_cannot_stand_in_a_file_are_refused(
    run: dict[str, dict[str, float]], tag: str, shown: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=re.escape(f"{shown} is empty or contains white space, so it cannot be")):
        write_run(run, tmp_path / "run", tag=tag)
    assert os.listdir(tmp_path) == []


def test_a_first_query_that_would_lose_a_byte_order_mark_is_refused(tmp_path: Path) -> None:
    """Read again, the mark would be taken for that of the file, and the query for another one."""
    with pytest.raises(DataError):
        write_qrels({"\ufeff1": {"a": 1}}, tmp_path / "qrels")


def test_a_file_stays_as_it_was_when_writing_fails(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text("as before")
    with pytest.raises(DataError):
        write_run({"1": {"a": 1.0}, "2": {"b c": 1.0}}, path)
    assert (path.read_text(), os.listdir(tmp_path)) == ("as before", ["run"])


def test_a_file_stays_as_it_was_when_writing_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "qrels"
    path.write_text("as before")
    monkeypatch.setattr("treceval_py.io.target.os.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_qrels(QRELS_DICT, path)
    assert (path.read_text(), os.listdir(tmp_path)) == ("as before", ["qrels"])


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "qrels"
    path.write_text("before")
    path.chmod(0o640)
    write_qrels(QRELS_DICT, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_new_file_has_the_permissions_of_any_other(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("")
    write_qrels(QRELS_DICT, tmp_path / "qrels")
    assert (tmp_path / "qrels").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_link_stays_a_link_to_the_file_that_is_written(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("before")
    (tmp_path / "link").symlink_to("real")
    write_qrels(QRELS_DICT, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert read_qrels(tmp_path / "real").to_dict() == QRELS_DICT


def test_a_file_may_be_written_over_the_one_that_was_read(tmp_path: Path) -> None:
    path = tmp_path / "qrels"
    path.write_bytes(QRELS)
    write_qrels(read_qrels(path), path)
    assert path.read_bytes() == QRELS


def test_a_named_pipe_is_written_as_it_is(tmp_path: Path) -> None:
    path, found = tmp_path / "pipe", []
    os.mkfifo(path)
    thread = threading.Thread(target=lambda: found.append(path.read_bytes()))
    thread.start()
    write_qrels(QRELS_DICT, path)
    thread.join()
    assert (found, stat.S_ISFIFO(path.stat().st_mode)) == ([QRELS], True)


# --- pickling ---


def test_tables_can_be_pickled() -> None:
    qrels, run = read_qrels(io.BytesIO(QRELS)), read_run(io.BytesIO(RUN))
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(qrels, protocol))
        assert (type(again), again.to_dict(), again.name) == (Qrels, QRELS_DICT, "<file>")
        again = pickle.loads(pickle.dumps(run, protocol))
        assert (type(again), again.to_dict(), again.name, again.tag) == (Run, RUN_DICT, "<file>", "tag")
    preferences = read_preferences(io.BytesIO(b"1 g s a 2\n"))
    again = pickle.loads(pickle.dumps(preferences))
    assert (again.rows, again.qids, again.name) == (preferences.rows, preferences.qids, preferences.name)
    groups = read_judgment_groups(io.BytesIO(b"1 g a 2\n"))
    again = pickle.loads(pickle.dumps(groups))
    assert (again.groups, again.qids, again.name) == (groups.groups, groups.qids, groups.name)


def test_a_table_can_be_copied() -> None:
    assert copy.deepcopy(read_run(io.BytesIO(RUN))).to_dict() == RUN_DICT


@pytest.mark.parametrize("kind", [TrecevalError, InputError, DataError, EvaluationError, MeasureError, OutputError])
def test_errors_can_be_pickled_with_all_that_they_say(kind: type[TrecevalError]) -> None:
    error = kind("what", "What to do.", file="file", line=3)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.file, again.line) == (kind, "file:3: what. What to do.", "file", 3)
