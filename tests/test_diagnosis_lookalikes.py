"""Ids that look alike: which do, and in what they differ."""

from __future__ import annotations

import pytest

from treceval_py.diagnosis.lookalikes import LONGEST, Known, but_known, difference, key


@pytest.mark.parametrize(
    ("one", "other", "what"),
    [
        (b"37.1", b"37_1", "punctuation"),
        (b"37.1", b"37-1", "punctuation"),
        (b"#37", b"37", "punctuation"),
        (b"007", b"7", "leading zeros"),
        (b"MB001", b"MB1", "leading zeros"),
        (b"FT911-3", b"ft911-3", "the case of letters"),
        ("ﬁle".encode(), b"file", "the way letters are encoded"),
        (b"301.0", b"301", "a decimal point"),
        (b"q37", b"37", "the text before the number"),
        (b"topic-37", b"37", "the text before the number"),
        (b"d1.txt", b"d1", "the ending"),
        (b"page.html.gz", b"page", "the ending"),
        (b".x.gz", b".x", "the ending"),
        (b".gz", b".txt", ""),
        (b"corpus/FT911-3", b"FT911-3", "the folder"),
        (b"C:\\docs\\FT911-3", b"FT911-3", "the folder"),
        (b"Q_037", b"q-37", "the case of letters, punctuation and leading zeros"),
        (b"FT911-3", b"FT911-4", ""),
        (b"100", b"10", ""),
    ],
)
def test_the_fewest_things_in_which_two_ids_differ_are_named(one: bytes, other: bytes, what: str) -> None:
    assert difference(one, other) == what
    assert difference(other, one) == what


def test_precomposed_and_combined_letters_look_alike() -> None:
    # ä as one character, and as a with a combining diaeresis.
    assert difference("ä1".encode(), "a\u03081".encode()) == "the way letters are encoded"


@pytest.mark.parametrize("raw", [b"37", b"2024-127266", b"1_10", b"\xff\xfe", b"__", b"0", b"q1"])
def test_an_id_that_is_written_plainly_looks_like_itself_alone(raw: bytes) -> None:
    others = [b"3", b"370", b"2024-12726", b"1_1", b"1_100", b"\xff", b"_a", b"00x", b"q10", b"q11"]
    assert Known(others).like(raw) is None


@pytest.mark.parametrize("raw", [b"37_1", b"37-1", b"037.1", b"37.01", b"#37.1"])
def test_a_known_id_is_found_by_another_spelling(raw: bytes) -> None:
    assert Known([b"36.1", b"37.1", b"37.2"]).like(raw) == b"37.1"


def test_a_number_is_found_by_its_number_with_letters_before_it() -> None:
    assert Known([b"36", b"37"]).like(b"MB037") == b"37"


def test_a_number_with_letters_before_it_is_found_by_the_number_alone() -> None:
    assert Known([b"doc36", b"doc37"]).like(b"37") == b"doc37"


def test_two_numbers_with_different_letters_before_them_do_not_look_alike() -> None:
    assert Known([b"FT-37"]).like(b"LA-37") is None


def test_endings_are_left_out_of_names_of_files_only() -> None:
    # 37.a and 37.b may be two turns of a conversation.
    assert Known([b"37"]).like(b"37.b") is None
    assert Known([b"d37"], files=True).like(b"docs/D37.txt") == b"d37"


def test_spelling_goes_before_what_stands_around_a_number() -> None:
    assert Known([b"7", b"Q7"]).like(b"q7") == b"Q7"


def test_bytes_that_are_no_utf8_are_ids_like_any() -> None:
    assert Known([b"A\xff1"]).like(b"a\xff01") == b"A\xff1"


def test_an_id_longer_than_any_collection_has_looks_like_none_and_costs_nothing() -> None:
    long = b"A" * (LONGEST + 1)
    assert Known([long, long.lower()]).like(long) is None
    assert Known([long[1:].lower()]).like(long[1:]) == long[1:].lower()
    assert key(long[1:]) == long[1:].decode().lower()
    assert key(long) == long.decode()


def test_the_key_of_a_plain_number_is_the_number() -> None:
    assert key(b"301") == "301"
    assert key(b"0301") == "301"


def test_a_message_says_what_is_not_judged_and_what_is() -> None:
    assert but_known(b"37_1", b"37.1") == "'37_1' is not judged, but '37.1' is: they differ only in punctuation"
