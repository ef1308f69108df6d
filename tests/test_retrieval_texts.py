"""Streams of passages and queries: what is read, what is refused, and what a survey says."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from treceval_py.errors import InputError, RunnerError
from treceval_py.io import texts as module
from treceval_py.io.texts import JsonTexts, Kind, Listed, Rows, TabbedTexts, chunks, survey


def tabbed(folder: Path, content: bytes, kind: Kind = "document") -> TabbedTexts:
    (folder / "t.tsv").write_bytes(content)
    return TabbedTexts(str(folder / "t.tsv"), kind)


def in_json(folder: Path, content: bytes, kind: Kind = "document") -> JsonTexts:
    (folder / "t.jsonl").write_bytes(content)
    return JsonTexts(str(folder / "t.jsonl"), kind)


def listed(*pairs: tuple[str, str], kind: Kind = "document") -> Listed:
    return Listed("here", kind, pairs)


def refused(texts: Rows) -> str:
    """Return what a survey says of texts, without their folder."""
    with pytest.raises(InputError) as caught:
        survey(texts, 2)
    return str(caught.value).replace(str(Path(texts.name).parent) + os.sep, "")


# Lines with tabs.


def test_a_line_is_an_id_a_tab_and_a_text(tmp_path: Path) -> None:
    assert list(tabbed(tmp_path, b"7\tone two\n8\tthree\n")) == [("7", "one two"), ("8", "three")]


def test_texts_are_read_afresh_each_time(tmp_path: Path) -> None:
    texts = tabbed(tmp_path, b"7\tone\n")
    assert list(texts) == list(texts) == [("7", "one")]


def test_white_space_at_the_ends_of_a_text_stays(tmp_path: Path) -> None:
    assert list(tabbed(tmp_path, b"7\t  one \n")) == [("7", "  one ")]


def test_a_text_may_have_tabs(tmp_path: Path) -> None:
    assert list(tabbed(tmp_path, b"7\tone\ttwo\n")) == [("7", "one\ttwo")]


def test_lines_of_windows_with_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    assert list(tabbed(tmp_path, b"\xef\xbb\xbf7\tone\r\n8\ttwo\r\n")) == [("7", "one"), ("8", "two")]


def test_a_last_line_without_its_end_is_read(tmp_path: Path) -> None:
    assert list(tabbed(tmp_path, b"7\tone\n8\ttwo")) == [("7", "one"), ("8", "two")]


def test_separators_of_unicode_end_no_line(tmp_path: Path) -> None:
    text = "a\u2028b\x85c\x0bd\re"
    assert list(tabbed(tmp_path, f"7\t{text}\n".encode())) == [("7", text)]


def test_blank_lines_are_passed_over_and_counted(tmp_path: Path) -> None:
    texts = tabbed(tmp_path, b"7\tone\n\n  \r\n8\ttwo\n")
    assert list(texts) == [("7", "one"), ("8", "two")]
    assert texts.line_of(1) == 4


@pytest.mark.parametrize(("ending", "packed"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)])
def test_compressed_files_are_read(tmp_path: Path, ending: str, packed: object) -> None:
    path = tmp_path / f"t.tsv.{ending}"
    path.write_bytes(packed(b"7\tone\n"))  # type: ignore[operator]
    assert list(TabbedTexts(str(path), "document")) == [("7", "one")]


def test_a_file_of_many_blocks_is_read_whole(tmp_path: Path) -> None:
    pairs = [(str(number), f"text {number} " + "é" * 500) for number in range(10_000)]
    content = "".join(f"{identifier}\t{text}\n" for identifier, text in pairs)
    assert len(content.encode()) > 2 * (1 << 22)
    assert list(tabbed(tmp_path, content.encode())) == pairs


def test_a_line_without_a_tab_is_refused(tmp_path: Path) -> None:
    message = (
        "t.tsv:2: expected an id, a tab and a text, but found no tab in '8 two'. Put a tab between the id and its text."
    )
    assert refused(tabbed(tmp_path, b"7\tone\n8 two\n9\tthree\tfour\n")) == message


def test_bytes_that_are_no_utf_8_are_refused_with_their_line(tmp_path: Path) -> None:
    message = "t.tsv:3: byte 4 of the line (0xe9) is not UTF-8. Save the file as UTF-8."
    assert refused(tabbed(tmp_path, b"7\tone\n\n8\tx\xe9\n")) == message


def test_a_line_late_in_a_large_file_has_its_number(tmp_path: Path) -> None:
    content = b"".join(b"%d\t%s\n" % (number, b"x" * 1000) for number in range(9_999)) + b"no tab\n"
    assert refused(tabbed(tmp_path, content)).startswith("t.tsv:10000: expected an id")


def test_a_missing_file_is_refused_when_it_is_named() -> None:
    with pytest.raises(InputError, match=r"^missing\.tsv: no such file\. Check the name\.$"):
        TabbedTexts("missing.tsv", "document")


def test_a_folder_is_no_file_of_texts(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r": is a directory\. Give a file\.$"):
        TabbedTexts(str(tmp_path), "document")


@pytest.mark.parametrize("source", ["-", "pipe"])
def test_what_can_be_read_only_once_is_refused(tmp_path: Path, source: str) -> None:
    path = source
    if source == "pipe":
        path = str(tmp_path / "pipe")
        os.mkfifo(path)
    with pytest.raises(InputError) as caught:
        TabbedTexts(path, "document")
    name = "<stdin>" if source == "-" else path
    message = f"{name}: texts are read more than once, but a pipe cannot be. Write them to a file first."
    assert str(caught.value) == message


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    assert refused(tabbed(tmp_path, b"")) == "t.tsv: the file is empty. Is it the right file?"


def test_a_file_of_blank_lines_has_no_text(tmp_path: Path) -> None:
    assert refused(tabbed(tmp_path, b"\n\n")) == "t.tsv: it has no texts. Is it the right one?"


# JSON.


def test_beirs_title_and_text_are_joined_by_a_space(tmp_path: Path) -> None:
    # As beir's sentence_bert.py does: (doc["title"] + " " + doc["text"]).strip()
    content = b'{"_id": "a", "title": "T", "text": "x"}\n{"_id": "b", "title": "", "text": "y"}\n'
    content += b'{"_id": "c", "title": null, "text": "z", "metadata": {}}\n{"_id": "d", "title": "T", "text": ""}\n'
    assert list(in_json(tmp_path, content)) == [("a", "T x"), ("b", "y"), ("c", "z"), ("d", "T")]


def test_queries_have_no_title(tmp_path: Path) -> None:
    # As beir's data_loader.py reads them: line.get("text")
    assert list(in_json(tmp_path, b'{"_id": "a", "title": "T", "text": "x"}\n', "query")) == [("a", "x")]


def test_the_id_of_flagembedding_is_taken(tmp_path: Path) -> None:
    assert list(in_json(tmp_path, b'{"id": "a", "text": "x"}\r\n\r\n{"id": "b", "text": "y"}')) == [
        ("a", "x"),
        ("b", "y"),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "not JSON: Expecting property name enclosed in double quotes at column 2. Write one object per line."),
        (b"[1]", "expected a JSON object, but found another value. Write one object per line."),
        (b'{"text": "x"}', "the object has no field '_id' (it has 'text'). Name the fields as BEIR does."),
        (b'{"_id": "a"}', "the object has no field 'text' (it has '_id'). Name the fields as BEIR does."),
        (b"{}", "the object has no field '_id' (it has none). Name the fields as BEIR does."),
        (b'{"_id": 7, "text": "x"}', "the field '_id' is '7', which is not text. Write ids and texts in quotes: \"7\"."),
        (
            b'{"_id": "a", "text": null}',
            "the field 'text' is 'null', which is not text. Write ids and texts in quotes: \"7\".",
        ),
        (
            b'{"_id": "a", "title": 7, "text": "x"}',
            "the field 'title' is '7', which is not text. Write ids and texts in quotes: \"7\".",
        ),
        (b'{"_id": "a\xe9"}', "byte 11 of the line (0xe9) is not UTF-8. Save the file as UTF-8."),
        (
            b'{"_id": "a", "text": "\\ud83d"}',
            "the text is not valid Unicode: it has half a surrogate pair (U+D83D). Write the character whole.",
        ),
        (
            b'{"_id": "\\udc00", "text": "x"}',
            "the id is not valid Unicode: it has half a surrogate pair (U+DC00). Write the character whole.",
        ),
    ],
)  # fmt: skip
def test_a_line_that_is_no_text_of_beir_is_refused(tmp_path: Path, line: bytes, message: str) -> None:
    good = b'{"_id": "x", "text": "x"}\n\n'
    assert refused(in_json(tmp_path, good + line + b"\n")) == f"t.jsonl:3: {message}"


def test_json_as_deep_as_a_well_is_refused(tmp_path: Path) -> None:
    assert refused(in_json(tmp_path, b"[" * 100_000)).startswith("t.jsonl:1: not JSON: ")


# Ids.


@pytest.mark.parametrize(
    ("identifier", "message"),
    [
        ("", "the id is empty. Give every text an id."),
        ("a b", "the id 'a b' contains white space. White space separates the fields of a run: use other ids."),
        ("a\xa0b", "the id 'a\\xa0b' contains white space. White space separates the fields of a run: use other ids."),
        (" a", "the id ' a' contains white space. White space separates the fields of a run: use other ids."),
        ("a\0", "the id 'a\\x00' contains a NUL. White space separates the fields of a run: use other ids."),
    ],
)
def test_an_id_that_cannot_stand_in_a_run_is_refused(tmp_path: Path, identifier: str, message: str) -> None:
    texts = tabbed(tmp_path, f"1\tone\n2\ttwo\n3\tthree\n{identifier}\tfour\n".encode())
    assert refused(texts) == f"t.tsv:4: {message}"


def test_an_empty_id_beside_one_with_a_space_is_still_seen() -> None:
    assert refused(listed(("a b", "x"), ("", "y"))).startswith("here: the id 'a b' contains white space (row 1).")


def test_the_id_of_a_query_must_not_begin_as_a_comment(tmp_path: Path) -> None:
    message = (
        "t.tsv:1: the query id '#1' begins with '#'. Readers of runs skip such a line or character: use other ids."
    )
    assert refused(tabbed(tmp_path, b"#1\tone\n", "query")) == message


def test_the_id_of_a_document_may_begin_with_a_hash(tmp_path: Path) -> None:
    assert survey(tabbed(tmp_path, b"#1\tone\n"), 2).count == 1


def test_an_id_that_comes_twice_is_refused_with_both_lines(tmp_path: Path) -> None:
    message = "t.tsv:5: the id '7' occurs twice (first on line 1). Keep one of the two."
    assert refused(tabbed(tmp_path, b"7\tone\n8\ttwo\n\n9\tthree\n7\tfour\n")) == message


def test_an_id_that_comes_twice_in_a_table_is_refused_with_both_rows() -> None:
    message = "here: the id '7' occurs twice (rows 1 and 3). Keep one of the two."
    assert refused(listed(("7", "one"), ("8", "two"), ("7", "one"))) == message


def test_ids_that_differ_only_as_numbers_would_be_the_same_are_two() -> None:
    assert survey(listed(("7", "one"), ("07", "two")), 10).count == 2


def test_ids_of_which_only_the_hashes_are_equal_are_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "hash", lambda identifier: len(identifier), raising=False)
    assert survey(listed(("a", "one"), ("b", "two")), 10).count == 2


def test_an_id_that_comes_twice_is_found_among_more_suspects_than_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SUSPECTS", 1)
    monkeypatch.setattr(module, "hash", len, raising=False)
    texts = listed(("a", "x"), ("b", "x"), ("aa", "x"), ("bb", "x"), ("bbb", "x"), ("bbb", "x"))
    assert refused(texts) == "here: the id 'bbb' occurs twice (rows 5 and 6). Keep one of the two."


# Surveys and chunks.


def chunk_hash(*pairs: tuple[str, str]) -> str:
    """Return the hash that the documentation of `Chunk` describes, by struct and hashlib."""
    ids, texts = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    numbers = [len(pairs), *[len(each) for each in ids], *[len(each) for each in texts]]
    packed = struct.pack(f"<{len(numbers)}q", *numbers)
    return hashlib.sha256(packed + "".join(ids).encode("utf-8") + "".join(texts).encode("utf-8")).hexdigest()


THREE = (("a", "één"), ("b", " \t"), ("c", ""))


def test_a_survey_counts() -> None:
    seen = survey(listed(*THREE), 2)
    # 3 + 2 + 0 characters; the second and the third text are nothing but white space.
    assert (seen.name, seen.count, seen.shard_size, seen.characters, seen.longest, seen.empty) == (
        "here",
        3,
        2,
        5,
        3,
        2,
    )


def test_a_survey_has_the_hash_of_each_chunk() -> None:
    seen = survey(listed(*THREE), 2)
    assert seen.hashes == (chunk_hash(*THREE[:2]), chunk_hash(THREE[2]))
    assert seen.chunk_count == 2


def test_the_hash_of_a_survey_is_that_of_its_hashes() -> None:
    first, second = chunk_hash(*THREE[:2]), chunk_hash(THREE[2])
    assert survey(listed(*THREE), 2).sha256 == hashlib.sha256((first + second).encode("ascii")).hexdigest()


@pytest.mark.parametrize(
    "other",
    [
        (("b", "x"), ("a", "y")),
        (("a", "y"), ("b", "x")),
        (("ab", "x"), ("", "y")),
        (("a", "xy"), ("b", "")),
        (("a", "x"),),
        (("a", "x"), ("b", "Y")),
    ],
)  # fmt: skip
def test_other_texts_have_another_hash(other: tuple[tuple[str, str], ...]) -> None:
    (chunk,) = chunks(listed(("a", "x"), ("b", "y")), 10)
    (changed,) = chunks(listed(*other), 10)
    assert chunk.sha256 != changed.sha256


def test_chunks_have_the_texts_in_order() -> None:
    found = list(chunks(listed(*THREE), 2))
    assert [(chunk.number, chunk.ids, chunk.texts) for chunk in found] == [
        (0, ["a", "b"], ["één", " \t"]),
        (1, ["c"], [""]),
    ]


def test_chunks_have_the_hashes_of_the_survey() -> None:
    assert tuple(chunk.sha256 for chunk in chunks(listed(*THREE), 2)) == survey(listed(*THREE), 2).hashes


def test_a_text_that_is_no_unicode_is_refused_in_a_later_chunk_too(tmp_path: Path) -> None:
    texts = in_json(tmp_path, b'{"id": "a", "text": "x"}\n{"id": "b", "text": "\\ud83d"}\n')
    with pytest.raises(InputError) as caught:
        list(chunks(texts, 1))
    assert caught.value.line == 2


def test_as_many_texts_as_a_chunk_holds_are_one_chunk() -> None:
    assert [len(chunk.ids) for chunk in chunks(listed(*THREE), 3)] == [3]


def test_a_chunk_ends_after_the_lowest_hash_that_may_end_it() -> None:
    """By the CRC-32 of ids, as zlib computes it: of each four texts, the first to the fourth may be a chunk's last."""
    ids = [f"d{number}" for number in range(60)]
    left, expected = ids, list[list[str]]()
    while len(left) > 4:
        lowest = min(left[:4], key=lambda docid: zlib.crc32(docid.encode()))
        expected.append(left[: left.index(lowest) + 1])
        left = left[left.index(lowest) + 1 :]
    assert [chunk.ids for chunk in chunks(listed(*((docid, "x") for docid in ids)), 4)] == [*expected, left]


def test_a_chunk_has_at_least_a_quarter_of_its_size_and_an_insertion_changes_few() -> None:
    pairs = [(str(number), "x") for number in range(3000)]
    before, after = (survey(listed(*each), 100) for each in (pairs, [*pairs[:1000], ("new", "x"), *pairs[1000:]]))
    assert all(25 <= size <= 100 for size in before.sizes[:-1])
    assert sum(before.sizes) == 3000
    assert len(set(after.hashes) - set(before.hashes)) <= 3


def test_a_survey_tells_how_far_it_is() -> None:
    told = list[int]()

    class Ear:
        def begin(self, stage: str, total: int | None, unit: str, done: int = 0) -> None:
            raise AssertionError("the caller's business")

        def advance(self, count: int) -> None:
            told.append(count)

        def end(self) -> None:
            raise AssertionError("the caller's business")

        def note(self, text: str) -> None:
            raise AssertionError("the caller's business")

    survey(listed(*THREE), 2, Ear())
    assert told == [2, 1]


@pytest.mark.parametrize("function", [survey, lambda texts, size: list(chunks(texts, size))])
def test_chunks_of_nothing_are_refused(function: object) -> None:
    with pytest.raises(RunnerError, match=r"^0 texts do not make a chunk\. Ask for 1 or more\.$"):
        function(listed(*THREE), 0)  # type: ignore[operator]


def test_any_texts_that_can_be_read_again_can_be_surveyed() -> None:
    class Own:
        name = "own"

        def __iter__(self) -> Iterator[tuple[str, str]]:
            return iter([("a", "x"), ("a", "y")])

        def known_count(self) -> int | None:
            return None

    with pytest.raises(InputError) as caught:
        survey(Own(), 1)
    assert str(caught.value) == "own: the id 'a' occurs twice (rows 1 and 2). Keep one of the two."


# Selections.


def test_chosen_texts_come_in_the_order_of_their_source_and_know_their_lines(tmp_path: Path) -> None:
    chosen = Listed.chosen(tabbed(tmp_path, b"7\tone\n\n8\ttwo\n9\tthree\n"), {"9", "8"})
    assert list(chosen) == [("8", "two"), ("9", "three")]
    assert [chosen.line_of(0), chosen.line_of(1)] == [3, 4]
    assert chosen.known_count() == 2


def test_the_first_texts_of_few_are_all_of_them(tmp_path: Path) -> None:
    texts = tabbed(tmp_path, b"7\tone\n8\ttwo\n")
    assert list(Listed.first(texts, 1)) == [("7", "one")]
    assert list(Listed.first(texts, 5)) == [("7", "one"), ("8", "two")]


def test_rows_of_a_selection_are_those_of_its_source() -> None:
    chosen = Listed.chosen(listed(("a", "x"), ("b b", "y")), {"b b"})
    assert refused(chosen).startswith("here: the id 'b b' contains white space (row 2).")
