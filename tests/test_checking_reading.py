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

from treceval_py.checking.catalogue import files
from treceval_py.checking.catalogue import lines as line_codes
from treceval_py.checking.findings import Collector
from treceval_py.checking.reading import Chunk, chunks, without_data
from treceval_py.io import source as source_module

CODES = {code.code: code for part in (files, line_codes) for code in part.CODES}
LINE = b"1 Q0 a 1 2.5 t\n"

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


def read(data: Any, **options: Any) -> tuple[bytes, list[str]]:
    """Return the text that is read, and the findings."""
    collector = Collector("run.txt", CODES, **options)
    source = io.BytesIO(data) if isinstance(data, bytes) else data
    text = b"".join(chunk.text for chunk in chunks(source, collector))
    return text, [str(finding) for finding in collector.sorted()]


class Dripping:
    """A pipe whose writer is slow: a byte at a time, and no way back."""

    def __init__(self, data: bytes) -> None:
        self.rest = data

    def read(self, size: int = -1) -> bytes:
        byte, self.rest = self.rest[:1], self.rest[1:]
        return byte


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_a_clean_file_gives_its_text_and_nothing_else(pack: Callable[[bytes], bytes]) -> None:
    assert read(pack(LINE * 3)) == (LINE * 3, [])


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_a_pipe_is_read_like_a_file(pack: Callable[[bytes], bytes]) -> None:
    assert read(Dripping(pack(LINE * 3))) == (LINE * 3, [])


def test_a_path_is_read(tmp_path: Path) -> None:
    (tmp_path / "run.gz").write_bytes(gzip.compress(LINE))
    assert read(str(tmp_path / "run.gz")) == (LINE, [])


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    receives, sends = os.pipe()
    os.write(sends, LINE)
    os.close(sends)
    with open(receives, encoding="utf-8") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert read("-") == (LINE, [])


def test_chunks_have_whole_queries_and_the_numbers_of_their_first_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "BLOCK_SIZE", 50)
    monkeypatch.setattr(source_module, "SMALL_BLOCK_SIZE", 50)
    one, two = b"1 Q0 a 1 2.5 t\n" * 2, b"2 Q0 a 1 2.5 t\n" * 2
    assert list(chunks(io.BytesIO(one + two), Collector("", CODES))) == [Chunk(1, one), Chunk(3, two)]


def test_a_missing_newline_at_the_end_is_written() -> None:
    assert read(LINE[:-1]) == (LINE, [])


def test_an_empty_file_is_found() -> None:
    assert read(b"") == (b"", ["run.txt: error F001: the file is empty. Is it the right file?"])


def test_a_missing_file_is_found(tmp_path: Path) -> None:
    assert read(tmp_path / "none")[1] == ["run.txt: error F002: no such file. Check the name."]


def test_a_directory_is_found(tmp_path: Path) -> None:
    assert read(tmp_path)[1] == ["run.txt: error F002: is a directory. Give a file."]


def test_a_byte_order_mark_is_found_and_left_out() -> None:
    assert read(b"\xef\xbb\xbf" + LINE) == (
        LINE,
        [
            (
                "run.txt:1:1: warning F003: a byte-order mark, which trec_eval reads as part of the first "
                "query's id. Save the file as UTF-8 without it."
            )
        ],
    )


UTF_16 = "run.txt: error F004: this is UTF-16 text, which trec_eval cannot read. Save it as UTF-8."


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_found_and_decoded_with_its_mark_or_without(encoding: str) -> None:
    text = "1 Q0 dé 1 2.5 t\n" * 9
    assert read(text.encode(encoding)) == (text.encode("utf-8"), [UTF_16])


def test_utf_16_from_a_pipe_is_decoded() -> None:
    assert read(Dripping("1 Q0 a 1 2.5 t\n".encode("utf-16"))) == (LINE, [UTF_16])


def test_a_file_of_utf_16_is_decoded(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("1 Q0 a 1 2.5 t\n", encoding="utf-16")
    assert read(tmp_path / "run") == (LINE, [UTF_16])


def test_compressed_utf_16_is_found_and_not_read() -> None:
    assert read(gzip.compress("1 Q0 a 1 2.5 t\n".encode("utf-16"))) == (
        b"",
        [UTF_16.replace("Save it as UTF-8.", "Unpack it and save it as UTF-8; none of it was read.")],
    )


NUL = "Write the file again: NUL bytes come from a crash or from binary data."


def test_nul_bytes_are_found_at_the_first_one() -> None:
    text = LINE + b"1 Q0 b\0b\0 2 1 t\n" + LINE
    assert read(text) == (text, [f"run.txt:2:7: error F005: 2 NUL bytes, of which this is the first. {NUL}"])


def test_a_nul_byte_at_the_beginning_is_found() -> None:
    assert read(b"1\0Q0 a 1 2.5 t\n") == (b"", [f"run.txt:1:2: error F005: a NUL byte. {NUL}"])


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"PK\x03\x04....", "a zip archive, not text. Unpack it first."),
        (
            b"PK\x03\x04....xl/workbook.xml",
            "an Excel workbook, not text. Save the sheet as text, separated by tabs.",
        ),
        (b"%PDF-1.7", "a PDF document, not text. Is it the right file?"),
        (b"\x93NUMPY", "a NumPy array, not text. Load it with numpy and use Run.from_arrays."),
        (b"SQLite format 3\0", "an SQLite database, not text. Is it the right file?"),
        (b"\x89PNG\r\n", "a PNG image, not text. Is it the right file?"),
        (b"x" * 257 + b"ustar", "a tar archive, not text. Unpack it first."),
        (gzip.compress(gzip.compress(LINE)), "gzip within a compressed file, not text. Unpack it once."),
        (bytes(range(1, 256)), "binary data, not text. Is it the right file?"),
        (bytes(3) + bytes([1, 2, 3, 4]) + bytes(13), "binary data, not text. Is it the right file?"),
    ],
)
def test_what_is_no_text_is_named(data: bytes, what: str) -> None:
    assert read(data) == (b"", [f"run.txt: error F006: this is {what}"])


def test_damaged_compression_is_found_on_the_line_after_the_last_one() -> None:
    found = read(gzip.compress(LINE * 100)[:-9])[1]
    assert found == [
        (
            "run.txt:101: error F007: the compressed data is damaged or cut off "
            "(Compressed file ended before the end-of-stream marker was reached). Copy or download the file again."
        )
    ]


MACINTOSH = "run.txt: error F008: lines end with carriage returns alone. Save the file with newlines."


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_carriage_returns_alone_are_found_and_become_newlines(pack: Callable[[bytes], bytes]) -> None:
    assert read(pack(b"1 Q0 a 1 2.5 t\r" * 3)) == (LINE * 3, [MACINTOSH])


def test_carriage_returns_alone_are_found_where_a_newline_ends_the_file() -> None:
    assert read(b"1 Q0 a 1 2.5 t\r" * 2 + LINE) == (LINE * 3, [MACINTOSH])


def test_carriage_returns_alone_are_found_after_a_blank_line() -> None:
    assert read(b"\n" + b"1 Q0 a 1 2.5 t\r" * 2) == (
        b"\n" + LINE * 2,
        ["run.txt:1: note F014: a blank line. Delete it.", MACINTOSH],
    )


@pytest.mark.parametrize("end", [b"", b"\n"], ids=["no newline", "newline"])
@pytest.mark.parametrize("line", [b"1 Q0 a\r1 2.5 t", b"1\ra 1", b"1 0 a\r1"], ids=["run", "msmarco", "judgments"])
def test_a_carriage_return_between_the_fields_of_the_only_line_ends_none(line: bytes, end: bytes) -> None:
    text, found = read(line + end)
    assert text == line + b"\n"
    assert found == [
        f"run.txt:1:{line.index(13) + 1}: error F008: a carriage return in the middle of the line. End lines with newlines."
    ]


def test_carriage_returns_before_newlines_further_on_do_not_make_blank_lines() -> None:
    # Beyond the first 65,536 bytes, by which the file is judged, so that the two come one after the other.
    start = b"1 Q0 a 1 2.5 t\r" * 4370 + b"1 Q0 a 1 2.5 xx"
    assert len(start) == 65565
    data = Dripping(start + b"\r\n" + LINE)
    assert read(data) == (start.replace(b"\r", b"\n") + b"\n" + LINE, [MACINTOSH])


def test_a_carriage_return_within_a_line_is_found_where_it_is() -> None:
    text = LINE + "1 Q0 ä 2 1 t\r1 Q0 c 3 0 t\n".encode() + LINE
    assert read(text) == (
        text,
        ["run.txt:2:13: error F008: a carriage return in the middle of the line. End lines with newlines."],
    )


def test_lines_that_end_with_cr_lf_are_counted() -> None:
    text = LINE + b"1 Q0 a 1 2.5 t\r\n" * 2
    assert read(text) == (
        text,
        ["run.txt:2: note F009: 2 lines that end with CR LF, of which this is the first. Use newlines alone."],
    )


def test_a_line_that_is_too_long_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "LONGEST_LINE", 100)
    monkeypatch.setattr(source_module, "BLOCK_SIZE", 64)
    monkeypatch.setattr(source_module, "SMALL_BLOCK_SIZE", 64)
    text, found = read(LINE * 20 + b"x" * 1000)
    assert text == LINE * 20
    assert found == ["run.txt:21: error F010: a line has more than 100 bytes. Is this a text file?"]


def test_the_first_byte_of_each_line_that_is_no_utf_8_is_found() -> None:
    text = LINE + "1 Q0 ä".encode() + b"\xe9\xe9 1 2 t\n" + b"\xff 1 2 t\n"
    todo = "Save the file as UTF-8."
    assert read(text)[1] == [
        f"run.txt:2:7: warning F011: byte E9 is not valid UTF-8. {todo}",
        f"run.txt:3:1: warning F011: byte FF is not valid UTF-8. {todo}",
    ]


@pytest.mark.parametrize(
    ("character", "what"),
    [
        ("\x1b", "an escape character (U+001B)"),
        ("\x7f", "a delete character (U+007F)"),
        ("\x01", "a control character (U+0001)"),
        ("\x85", "a control character (U+0085)"),
    ],
)
def test_control_characters_are_found(character: str, what: str) -> None:
    text = LINE + f"1 Q0 é{character} 1 2 t\n".encode()
    assert read(text) == (text, [f"run.txt:2:7: warning F012: {what}. Delete it."])


@pytest.mark.parametrize(
    ("character", "what"),
    [
        ("\u00a0", "no-break space (U+00A0)"),
        ("\u2007", "figure space (U+2007)"),
        ("\u202f", "narrow no-break space (U+202F)"),
        ("\u3000", "ideographic space (U+3000)"),
        ("\u200b", "zero width space (U+200B)"),
        ("\ufeff", "zero width no-break space (U+FEFF)"),
    ],
)
def test_odd_spaces_are_found(character: str, what: str) -> None:
    text = LINE + f"1{character}Q0 a 1 2 t\n".encode()
    assert read(text)[1] == [
        f"run.txt:2:2: warning F013: {what}, which does not separate fields. Write a plain space, or delete it."
    ]


@pytest.mark.parametrize(
    ("character", "what"),
    [
        ("\u00ad", "soft hyphen (U+00AD)"),
        ("\u200c", "zero width non-joiner (U+200C)"),
        ("\u200f", "right-to-left mark (U+200F)"),
        ("\u202a", "left-to-right embedding (U+202A)"),
        ("\u202e", "right-to-left override (U+202E)"),
    ],
)
def test_invisible_characters_are_found(character: str, what: str) -> None:
    text = LINE + f"1 Q0 a{character} 1 2 t\n".encode()
    assert read(text)[1] == [
        f"run.txt:2:7: warning F013: {what}, which is invisible. Delete it, unless the same id has it elsewhere."
    ]


def test_text_in_other_scripts_gives_nothing() -> None:
    assert read("1 Q0 文書ä 1 2 t\n".encode())[1] == []


def test_blank_lines_are_counted() -> None:
    assert read(LINE + b"\n" + LINE + b" \t\n")[1] == [
        "run.txt:2: note F014: 2 blank lines, of which this is the first. Delete them."
    ]


def test_comments_are_found() -> None:
    assert read(LINE + b"  # c\n")[1] == ["run.txt:2: note F015: a comment. Delete it."]


ABOUT_DATA = "Lines that begin with # are skipped: if they are data, give their queries other ids."


@pytest.mark.parametrize(
    "line", [b"#301 Q0 a 1 9 t", b"\t#301\tQ0\ta\t-1\t.5e3\tmy tag", b"#301 0 a 1", b"##x q0 a +2\r"]
)
def test_a_comment_that_looks_like_data_is_found(line: bytes) -> None:
    assert read(LINE + line + b"\n")[1][-1:] == [
        f"run.txt:2: warning F019: a comment that looks like data. {ABOUT_DATA}"
    ]


def test_comments_that_look_like_data_are_counted_apart_from_others() -> None:
    assert read(LINE + b"#301 Q0 a 1 9 t\n# c\n#302 Q0 a 1 9 t\n")[1] == [
        f"run.txt:2: warning F019: 2 comments that look like data, of which this is the first. {ABOUT_DATA}",
        "run.txt:3: note F015: a comment. Delete it.",
    ]


@pytest.mark.parametrize(
    "line", [b"# 301 Q0 a 1 9 t", b"#Written on May 5", b"#one of its 5 runs t", b"#301 Q0 a 1 x t"]
)
def test_a_comment_of_words_is_a_comment(line: bytes) -> None:
    assert read(LINE + line + b"\n")[1] == ["run.txt:2: note F015: a comment. Delete it."]


def test_a_file_of_comments_that_look_like_data_has_no_data() -> None:
    assert read(b"#301 Q0 a 1 9 t\n")[1] == [
        f"run.txt:1: warning F019: a comment that looks like data. {ABOUT_DATA}",
        "run.txt: error F017: no line with data, only blank lines or comments. Is it the right file?",
    ]


def test_a_file_without_data_is_found() -> None:
    assert read(b"\n# c\n")[1] == [
        "run.txt:1: note F014: a blank line. Delete it.",
        "run.txt:2: note F015: a comment. Delete it.",
        "run.txt: error F017: no line with data, only blank lines or comments. Is it the right file?",
    ]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b'{"1": {"d": 2.0}}', "JSON"),
        (b'{"qid": "1", "docid": "d", "score": 2.0}\n' * 2, "JSON Lines"),
        (b"PAR1....", "a Parquet file"),
    ],
)
def test_files_without_lines_of_fields_are_named(data: bytes, what: str) -> None:
    assert read(data) == (
        b"",
        [
            (
                f"run.txt: note F018: this is {what}, whose lines cannot be checked one by one. "
                "Score it to see whether all of it can be used."
            )
        ],
    )


def test_what_was_counted_is_told_when_reading_ends_early() -> None:
    collector = Collector("run.txt", CODES)
    found = chunks(io.BytesIO(b"\n" + LINE), collector)
    next(found)
    found.close()  # type: ignore[attr-defined]
    assert [finding.code for finding in collector.sorted()] == ["F014"]


def test_findings_beyond_the_most_are_counted() -> None:
    collector = Collector("run.txt", CODES, most=2)
    list(chunks(io.BytesIO(b"\x1b\n" + LINE * 9 + b"\x1b\n" * 4), collector))
    assert (len(collector.sorted()), collector.counts["F012"]) == (2, 5)


def test_lines_without_data_are_told_from_lines_that_begin_with_white_space() -> None:
    blank, comments, lines = without_data(b" 1 a\n\n \r\n#\n\t#\n2 #\n")
    assert (blank.tolist(), comments.tolist(), lines) == ([1, 2], [3, 4], 6)


def test_many_carriage_returns_and_nothing_else_are_read_in_one_go() -> None:
    # Looked at from each of them to the next data, this would be 10**12 steps.
    assert read(b"x\n" + b"\r" * 1_000_000 + b"\n")[1] == [
        "run.txt:2: note F009: a line that ends with CR LF. Use newlines alone.",
        "run.txt:2: note F014: a blank line. Delete it.",
    ]
