"""Rows and the lines they stand on: the text of a line, and at which character a field begins."""

from __future__ import annotations

import numpy as np
import pytest

from treceval_py.checking.rows import QueryLines, column_of, is_plain, span_of
from treceval_py.data.columns import RUN
from treceval_py.data.ids import Ids
from treceval_py.diagnosis.columns import KINDS

FIRST, COMMENT, MIDDLE, LAST = b"1 Q0 a 1 3 t", b"# a comment", "1 Q0 bé\f2 2 t".encode(), b"1 Q0 c 3 1 t\r"
TEXT = b"".join(line + b"\n" for line in (FIRST, COMMENT, MIDDLE, LAST))


def rows(text: bytes = TEXT, at: tuple[int, ...] = (0, 2, 3)) -> QueryLines:
    """Return rows that stand on some lines of a text, which begins on line 101 of the file."""
    count = len(at)
    return QueryLines(
        qids=[b"1"],
        starts=np.array([0, count], dtype=np.int64),
        docids=Ids.from_bytes([b"%d" % number for number in range(count)]),
        scores=np.arange(count, 0, -1, dtype=np.float64),
        ranks=np.arange(1, count + 1, dtype=np.int64),
        rels=None,
        lines=[101 + line for line in at],
        text=text,
        at=at,
    )


# --- lines ---


@pytest.mark.parametrize(("row", "line"), [(0, FIRST), (1, MIDDLE), (2, LAST)], ids=["first", "middle", "last"])
def test_a_row_has_the_text_of_its_line_without_the_newline(row: int, line: bytes) -> None:
    assert rows().line_text(row) == line


def test_the_only_line_is_first_and_last() -> None:
    assert rows(b"1 Q0 a 1 3 t\n", (0,)).line_text(0) == b"1 Q0 a 1 3 t"


def test_rows_that_are_not_in_the_order_of_the_text_have_their_own_lines() -> None:
    found = rows(at=(3, 0, 2))
    assert [found.line_text(row) for row in range(3)] == [LAST, FIRST, MIDDLE]


def test_lines_are_found_anew_in_each_text() -> None:
    one, two, three = (rows(text, (1,)) for text in (b"a\nbc\n", b"abc\nd\n", b"\nabcd\n"))
    assert [each.line_text(0) for each in (one, two, three, one)] == [b"bc", b"d", b"abcd", b"bc"]


def test_the_column_of_a_field_is_that_of_the_row_s_own_line() -> None:
    # "1 Q0 a " has 7 characters, "1 Q0 bé" and a form feed 8.
    assert [rows().column(row, 3) for row in range(3)] == [8, 9, 8]


# --- columns ---


@pytest.mark.parametrize(("field", "column"), [(0, 1), (1, 3), (2, 6), (3, 8), (4, 10), (5, 14)])
def test_a_column_is_the_character_from_1_at_which_a_field_begins(field: int, column: int) -> None:
    assert column_of(b"1 Q0 a 1 2.5 t", field) == column


@pytest.mark.parametrize("white", [b" ", b"\t", b"\v", b"\f", b"\r"])
def test_all_white_characters_separate_fields(white: bytes) -> None:
    line = white.join([b"1", b"Q0", b"a"])
    assert [column_of(line, field) for field in range(3)] == [1, 3, 6]


def test_several_white_characters_separate_fields_once() -> None:
    assert column_of(b"1\v\f \tQ0 a", 2) == len("1\v\f \tQ0 ") + 1


@pytest.mark.parametrize("white", [b" ", b"\v", b"\f", b"\t "])
def test_white_characters_before_the_first_field_count(white: bytes) -> None:
    assert column_of(white + b"1 Q0", 0) == len(white) + 1
    assert column_of(white + b"1 Q0", 1) == len(white) + 3


@pytest.mark.parametrize("other", ["\u00a0", "\u2003", "\u0085", "\x1c", "\x1f"])
def test_what_is_white_only_in_unicode_separates_no_fields(other: str) -> None:
    # The first field has three characters, then comes a space.
    assert column_of(f"1{other}2 Q0".encode(), 1) == 5


@pytest.mark.parametrize("character", ["é", "€", "𝄞"], ids=["2 bytes", "3 bytes", "4 bytes"])
def test_a_character_of_several_bytes_counts_once(character: str) -> None:
    assert column_of(f"1 Q0 a{character}b 1".encode(), 3) == len("1 Q0 axb ") + 1


def test_a_field_that_begins_with_a_character_of_several_bytes_begins_where_it_does() -> None:
    assert column_of("é €".encode(), 1) == 3


@pytest.mark.parametrize(
    ("field", "characters"),
    [(b"\xff", 1), (b"\xff\xfe", 2), (b"\xe2\x82", 2), (b"a\xe9b", 3), (b"\xc3\xa9\xc3", 2)],
    ids=["one byte", "two bytes", "a character that is cut off", "Latin-1", "one that is whole before one that is not"],
)
def test_a_byte_that_belongs_to_no_character_counts_as_one(field: bytes, characters: int) -> None:
    assert column_of(field + b" Q0", 1) == characters + 2


@pytest.mark.parametrize("field", [3, 4, 99])
def test_of_more_fields_than_there_are_the_last_one_is_meant(field: int) -> None:
    assert column_of(b"1 Q0 abc  ", field) == 6


@pytest.mark.parametrize("line", [b"", b"  \t"])
def test_without_fields_the_column_is_1(line: bytes) -> None:
    assert column_of(line, 0) == 1


# --- spans, and lines in one ---


@pytest.mark.parametrize(("field", "span"), [(0, (1, 2)), (1, (3, 5)), (2, (7, 10))])
def test_a_span_is_the_bytes_of_a_field(field: int, span: tuple[int, int]) -> None:
    assert span_of(b"\v1 Q0\f a\xc3\xa9 \r", field) == span


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        (b"1 Q0 a 1 3 t\r1 Q0 b 2 2 t", False),  # two lines
        (b"1 Q0 a 1 3 t u\r", True),  # a tag with a space, and a line that ends with CR LF
        (b"\r1 Q0 a 1 3 t u", True),
        (b"1 Q0 a 1 3 t u", True),
        (b"1 Q0 a 1 3\rt", True),  # no more fields than a line has
        (b"1 Q0 a b 1 3.5 t", False),  # a document's id with a space,
        (b"1\tQ0\ta b\t1\t3.5\tt", False),  # even if tabs separate the fields
        (b"1 Q0 a 1 3", False),
    ],
)
def test_a_line_is_plain_if_white_space_separates_its_fields(line: bytes, plain: bool) -> None:
    assert is_plain(line, line.split(), RUN) is plain


# --- kinds ---


@pytest.mark.parametrize(
    ("name", "line", "fields"),
    [
        ("run", b"1 Q0 d 7 2.5 t", {"docid": b"d", "rank": b"7", "score": b"2.5"}),
        ("msmarco", b"1 d 7", {"docid": b"d", "rank": b"7"}),
        ("qrels", b"1 0 d 2", {"docid": b"d", "rel": b"2"}),
        ("judged-ranking", b"1 Q0 d 2", {"docid": b"d", "rel": b"2"}),
    ],
)
def test_a_kind_knows_where_its_fields_stand(name: str, line: bytes, fields: dict[str, bytes]) -> None:
    kind = KINDS[name]
    places = {"docid": kind.docid, "rank": kind.rank, "score": kind.score, "rel": kind.rel}
    assert {field: line.split()[at] for field, at in places.items() if at is not None} == fields
