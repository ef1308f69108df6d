"""What a check finds in a file as bytes. Lines and columns are counted by hand in the data in sight."""

import bz2
import gzip
import io
import lzma
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from findings import brief, briefs, words
from syrupy.assertion import SnapshotAssertion

from treceval_py.checking.findings import Collector, Finding
from treceval_py.checking.reading import Chunk, chunks, without_data
from treceval_py.io import source as source_module

LINE = b"1 Q0 a 1 2.5 t\n"

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


def read(data: Any, **options: Any) -> tuple[bytes, list[Finding]]:
    """Return the text that is read, and the findings."""
    collector = Collector("run.txt", **options)
    source = io.BytesIO(data) if isinstance(data, bytes) else data
    text = b"".join(chunk.text for chunk in chunks(source, collector))
    return text, collector.sorted()


class Dripping:
    """A pipe whose writer is slow: a byte at a time, and no way back."""

    def __init__(self, data: bytes) -> None:
        self.rest = data

    def read(self, size: int = -1) -> bytes:
        byte, self.rest = self.rest[:1], self.rest[1:]
        return byte


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_a_clean_file_gives_its_text_and_nothing_else(pack: Callable[[bytes], bytes]) -> None:
    assert read(pack(LINE * 3)) == read(Dripping(pack(LINE * 3))) == (LINE * 3, [])
    text, findings = read(pack(b"1 Q0 a 1 2.5 t\r" * 3))
    assert (text, brief(findings)) == (LINE * 3, "F008")


def test_a_path_is_read(tmp_path: Path) -> None:
    (tmp_path / "run.gz").write_bytes(gzip.compress(LINE))
    assert read(str(tmp_path / "run.gz")) == (LINE, [])
    (tmp_path / "run").write_text("1 Q0 a 1 2.5 t\n", encoding="utf-16")
    text, findings = read(tmp_path / "run")
    assert (text, brief(findings)) == (LINE, "F004")


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    receives, sends = os.pipe()
    os.write(sends, LINE)
    os.close(sends)
    with open(receives, encoding="utf-8") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert read("-") == (LINE, [])


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read 50 bytes at a time."""
    monkeypatch.setattr(source_module, "BLOCK_SIZE", 50)
    monkeypatch.setattr(source_module, "SMALL_BLOCK_SIZE", 50)


@pytest.mark.usefixtures("small_blocks")
def test_chunks_have_whole_queries_and_the_numbers_of_their_first_lines() -> None:
    one, two = b"1 Q0 a 1 2.5 t\n" * 2, b"2 Q0 a 1 2.5 t\n" * 2
    assert list(chunks(io.BytesIO(one + two), Collector(""))) == [Chunk(1, one), Chunk(3, two)]


@pytest.mark.usefixtures("small_blocks")
def test_places_are_counted_over_chunks() -> None:
    chunk = b"1 Q0 a 1 2.5 t\r\n1 Q0 b\rc 1 2 t\n#2 0 a 1\n\n# c\n1 Q0 \xe9\x1b 1 2 t\n"
    text, findings = read(chunk + chunk.replace(b"1 Q0", b"2 Q0").replace(b"\x1b", "\u00a0".encode()))
    assert text.count(b"\n") == 12
    once = "1 F009, 2:7 F008, 3 F019, 4 F014, 5 F015, 6:6 F011, 6:7 F012"
    assert brief(findings) == once + ", 8:7 F008, 12:6 F011, 12:7 F013"
    assert [each.what.split()[0] for each in findings if each.code in ("F009", "F014", "F015", "F019")] == ["2"] * 4


@pytest.mark.usefixtures("small_blocks")
def test_a_line_that_is_too_long_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "LONGEST_LINE", 100)
    text, findings = read(LINE * 20 + b"x" * 1000)
    assert text == LINE * 20
    assert str(findings[0]) == "run.txt:21: error F010: a line has more than 100 bytes. Is this a text file?"


def test_a_missing_file_and_a_folder_are_found(tmp_path: Path) -> None:
    assert str(read(tmp_path / "none")[1][0]) == "run.txt: error F002: no such file. Check the name."
    assert str(read(tmp_path)[1][0]) == "run.txt: error F002: is a folder. Give a file."


BINARY = {
    "zip": b"PK\x03\x04....",
    "Excel": b"PK\x03\x04....xl/workbook.xml",
    "PDF": b"%PDF-1.7",
    "NumPy": b"\x93NUMPY",
    "SQLite": b"SQLite format 3\0",
    "PNG": b"\x89PNG\r\n",
    "tar": b"x" * 257 + b"ustar",
    "gzip twice": gzip.compress(gzip.compress(LINE)),
    "all bytes": bytes(range(1, 256)),
    "numbers": bytes(3) + bytes([1, 2, 3, 4]) + bytes(13),
    "9 of 179 bytes are control characters": b"\1" * 9 + b"x" * 170,  # more than a twentieth
    "9 of 35 bytes are NUL": b"x" * 26 + bytes(9),  # more than a quarter
}
TEXTS = {
    "8 of 20 bytes are control characters": b"\1" * 8 + b"x" * 12,
    "9 of 180 bytes are control characters": b"\1" * 9 + b"x" * 171,
    "8 of 20 bytes are NUL": b"x\n" * 6 + bytes(8),
    "9 of 36 bytes are NUL": b"x\n" * 13 + b"x" + bytes(9),
}
NAMED = {
    "json": b'{"1": {"d": 2.0}}',
    "jsonl": b'{"qid": "1", "docid": "d", "score": 2.0}\n' * 2,
    "Parquet": b"PAR1....",
}


def test_a_file_without_lines_of_fields_is_named(snapshot: SnapshotAssertion) -> None:
    read_all = {name: read(data) for name, data in {**BINARY, **NAMED}.items()}
    assert {name for name, (text, _) in read_all.items() if text} == set()
    found = {name: findings for name, (_, findings) in read_all.items()}
    assert briefs(found) == {**dict.fromkeys(BINARY, "F006"), **dict.fromkeys(NAMED, "F018")}
    assert words(found) == snapshot
    assert {name for name, data in TEXTS.items() if "F006" in brief(read(data)[1])} == set()


UTF_16 = "1 Q0 dé 1 2.5 t\n" * 9
MAC = b"1 Q0 a 1 2.5 t\r"
DECODED: dict[str, tuple[bytes | Dripping, bytes, str]] = {
    "no newline at the end": (LINE[:-1], LINE, ""),
    "a byte-order mark": (b"\xef\xbb\xbf" + LINE, LINE, "1:1 F003"),
    **{name: (UTF_16.encode(name), UTF_16.encode(), "F004") for name in ("utf-16", "utf-16-le", "utf-16-be", "utf-32")},
    "UTF-16 from a pipe": (Dripping(UTF_16.encode("utf-16")), UTF_16.encode(), "F004"),
    "compressed UTF-16": (gzip.compress(UTF_16.encode("utf-16")), UTF_16.encode(), "F004"),
    "UTF-16 of four characters": ("1 a\n".encode("utf-16-le"), b"1 a\n", "F004"),
    "UTF-16 of three characters": ("1 a".encode("utf-16-le"), b"", "1:2 F005"),
    "an empty file": (b"", b"", "F001"),
    "a NUL byte at the beginning": (b"1\0Q0 a 1 2.5 t\n", b"", "1:2 F005"),
    "damaged gzip": (gzip.compress(LINE * 100)[:-9], b"", "101 F007"),
    "the end of a line is missing": (LINE + LINE[:-4], LINE, "2 F021"),
    "carriage returns, then a newline": (MAC * 2 + LINE, LINE * 3, "F008"),
    "carriage returns after a blank line": (b"\n" + MAC * 2, b"\n" + LINE * 2, "1 F014, F008"),
    # Beyond the first 65,536 bytes, by which the file is judged, so that the two come one after the other.
    "CR LF after many carriage returns": (
        Dripping(MAC * 4370 + b"1 Q0 a 1 2.5 xx" + b"\r\n" + LINE),
        LINE * 4370 + b"1 Q0 a 1 2.5 xx\n" + LINE,
        "F008",
    ),
}


def test_text_is_decoded_and_its_lines_end_with_newlines(snapshot: SnapshotAssertion) -> None:
    read_all = {name: read(data) for name, (data, _, _) in DECODED.items()}
    assert {name: text for name, (text, _) in read_all.items()} == {
        name: text for name, (_, text, _) in DECODED.items()
    }
    found = {name: findings for name, (_, findings) in read_all.items()}
    assert briefs(found) == {name: expected for name, (_, _, expected) in DECODED.items()}
    assert words(found) == snapshot


def after(line: bytes | str) -> bytes:
    return LINE + (line.encode() if isinstance(line, str) else line) + b"\n"


KEPT: dict[str, tuple[bytes, str]] = {
    "other scripts": (after("1 Q0 文書ä 1 2 t"), ""),
    "two NUL bytes": (after(b"1 Q0 b\0b\0 2 1 t") + LINE, "2:7 F005"),
    # In the only line a carriage return may separate fields.
    "a carriage return in the only line": (b"1 Q0 a\r1 2.5 t\n", "1:7 F008"),
    "a carriage return in the only line of MS MARCO": (b"1\ra 1\n", "1:2 F008"),
    "a carriage return in the only judgment": (b"1 0 a\r1\n", "1:6 F008"),
    "a carriage return in the second line": (after("1 Q0 ä 2 1 t\r1 Q0 c 3 0 t") + LINE, "2:13 F008"),
    "two carriage returns in a line, one in the next": (after(b"1\rQ0\ra 1 2 t\n1 Q0\rb 1 2 t"), "2:2 F008, 3:5 F008"),
    "a carriage return before the fields": (after(b"\r1 Q0 b 2 1 t"), ""),
    "CR LF": (after(b"1 Q0 a 1 2.5 t\r\n1 Q0 a 1 2.5 t\r"), "2 F009"),
    # Looked at from each of them to the next data, this would be 10**12 steps.
    "a million carriage returns": (b"x\n" + b"\r" * 1_000_000 + b"\n", "2 F009, 2 F014"),
    "bytes that are no UTF-8": (after("1 Q0 ä".encode() + b"\xe9\xe9 1 2 t\n\xff 1 2 t"), "2:7 F011, 3:1 F011"),
    **{f"U+{c:04X}": (after(f"1 Q0 é{chr(c)} 1 2 t"), "2:7 F012") for c in (1, 8, 0x0E, 0x1B, 0x1F, 0x7F, 0x80, 0x9F)},
    **{
        f"U+{c:04X}": (after(f"1{chr(c)}Q0 a 1 2 t"), "2:2 F013")
        for c in (0xA0, 0x1680, 0x2000, 0x2007, 0x200B, 0x2028, 0x2029, 0x202F, 0x205F, 0x2060, 0x3000, 0xFEFF)
    },
    **{f"U+{c:04X}": (after(f"1 Q0 a{chr(c)} 1 2 t"), "2:7 F013") for c in (0xAD, 0x200C, 0x200F, 0x202A, 0x202E)},
    **{f"U+{c:04X}": (after(f"1 Q0 a{chr(c)} 1 2 t"), "") for c in (0x20, 0x7E, 0xA1, 0xAE, 0x2010, 0x2030, 0x3001)},
    "two blank lines": (LINE + b"\n" + LINE + b" \t\n", "2 F014"),
    "a comment": (after(b"  # c"), "2 F015"),
    "two comments": (after(b"# c\n# d"), "2 F015"),
    "a comment like a run": (after(b"#301 Q0 a 1 9 t"), "2 F019"),
    "a comment like a run with tabs": (after(b"\t#301\tQ0\ta\t-1\t.5e3\tmy tag"), "2 F019"),
    "a comment like judgments": (after(b"#301 0 a 1"), "2 F019"),
    "a comment like judgments with Q0": (after(b"##x q0 a +2\r"), "2 F009, 2 F019"),
    "comments like data beside others": (after(b"#301 Q0 a 1 9 t\n# c\n#302 Q0 a 1 9 t"), "2 F019, 3 F015"),
    "a comment that is indented data": (after(b"# 301 Q0 a 1 9 t"), "2 F015"),
    "a comment of words": (after(b"#Written on May 5"), "2 F015"),
    "a comment with a number": (after(b"#one of its 5 runs t"), "2 F015"),
    "a comment without score": (after(b"#301 Q0 a 1 x t"), "2 F015"),
    "only comments like data": (b"#301 Q0 a 1 9 t\n", "1 F019, F017"),
    "no data": (b"\n# c\n", "1 F014, 2 F015, F017"),
}


def test_odd_bytes_are_found_where_they_are(snapshot: SnapshotAssertion) -> None:
    read_all = {name: read(data) for name, (data, _) in KEPT.items()}
    assert [name for name, (text, _) in read_all.items() if text != KEPT[name][0]] == []
    found = {name: findings for name, (_, findings) in read_all.items()}
    assert briefs(found) == {name: expected for name, (_, expected) in KEPT.items()}
    assert words(found) == snapshot


def test_what_was_counted_is_reported_when_reading_ends_early() -> None:
    collector = Collector("run.txt")
    found = chunks(io.BytesIO(b"\n" + LINE), collector)
    next(found)
    found.close()  # type: ignore[attr-defined]
    assert brief(collector.sorted()) == "1 F014"


def test_findings_beyond_the_most_are_counted() -> None:
    collector = Collector("run.txt", most=2)
    list(chunks(io.BytesIO(b"\x1b\n" + LINE * 9 + b"\x1b\n" * 4), collector))
    assert (len(collector.sorted()), collector.counts["F012"]) == (2, 5)


def test_lines_without_data_may_begin_with_white_space() -> None:
    blank, comments, lines = without_data(b" 1 a\n\n \r\n#\n\t#\n2 #\n\v\n\x0e\n\x08\n")
    assert (blank.tolist(), comments.tolist(), lines) == ([1, 2, 6], [3, 4], 9)
