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
from syrupy.assertion import SnapshotAssertion

from treceval_py.corpora import texts as module
from treceval_py.corpora.reporting import Silent
from treceval_py.corpora.texts import JsonTexts, Kind, Listed, PlacedTexts, TabbedTexts, chunks, survey
from treceval_py.errors import InputError, RunnerError


def tabbed(folder: Path, content: bytes, kind: Kind = "document") -> TabbedTexts:
    (folder / "t.tsv").write_bytes(content)
    return TabbedTexts(str(folder / "t.tsv"), kind)


def in_json(folder: Path, content: bytes, kind: Kind = "document") -> JsonTexts:
    (folder / "t.jsonl").write_bytes(content)
    return JsonTexts(str(folder / "t.jsonl"), kind)


def listed(*pairs: tuple[str, str], kind: Kind = "document") -> Listed:
    return Listed("here", kind, pairs)


def refused(texts: PlacedTexts) -> str:
    """Return what a survey says of texts, without their folder."""
    with pytest.raises(InputError) as caught:
        survey(texts, 2)
    return str(caught.value).replace(str(Path(texts.name).parent) + os.sep, "")


# Reading.

READ: dict[str, tuple[str, bytes, list[tuple[str, str]]]] = {
    "an id, a tab and a text": ("tsv", b"7\tone two\n8\tthree\n", [("7", "one two"), ("8", "three")]),
    "white space at the ends of a text": ("tsv", b"7\t  one \n", [("7", "  one ")]),
    "tabs in a text": ("tsv", b"7\tone\ttwo\n", [("7", "one\ttwo")]),
    "Windows with a byte order mark": ("tsv", b"\xef\xbb\xbf7\tone\r\n8\ttwo\r\n", [("7", "one"), ("8", "two")]),
    "a last line without its end": ("tsv", b"7\tone\n8\ttwo", [("7", "one"), ("8", "two")]),
    "separators of Unicode": ("tsv", "7\ta\u2028b\x85c\x0bd\re\n".encode(), [("7", "a\u2028b\x85c\x0bd\re")]),
    "blank lines": ("tsv", b"7\tone\n\n  \r\n8\ttwo\n", [("7", "one"), ("8", "two")]),
    "gzip": ("tsv.gz", gzip.compress(b"7\tone\n"), [("7", "one")]),
    "bzip2": ("tsv.bz2", bz2.compress(b"7\tone\n"), [("7", "one")]),
    "xz": ("tsv.xz", lzma.compress(b"7\tone\n"), [("7", "one")]),
    # As beir's sentence_bert.py does: (doc["title"] + " " + doc["text"]).strip()
    "a title": ("jsonl", b'{"_id": "a", "title": "T", "text": "x"}\n', [("a", "T x")]),
    "an empty title": ("jsonl", b'{"_id": "b", "title": "", "text": "y"}\n', [("b", "y")]),
    "no title": ("jsonl", b'{"_id": "c", "title": null, "text": "z", "metadata": {}}\n', [("c", "z")]),
    "a title alone": ("jsonl", b'{"_id": "d", "title": "T", "text": ""}\n', [("d", "T")]),
    "FlagEmbedding": ("jsonl", b'{"id": "a", "text": "x"}\r\n\r\n{"id": "b", "text": "y"}', [("a", "x"), ("b", "y")]),
}  # fmt: skip


def test_texts_are_read_as_they_are_written_and_afresh_each_time(tmp_path: Path) -> None:
    wrong = {}
    for case, (ending, content, expected) in READ.items():
        (tmp_path / f"t.{ending}").write_bytes(content)
        texts = (JsonTexts if ending == "jsonl" else TabbedTexts)(str(tmp_path / f"t.{ending}"), "document")
        if not list(texts) == list(texts) == expected:
            wrong[case] = list(texts)
    assert wrong == {}


def test_blank_lines_are_counted(tmp_path: Path) -> None:
    texts = tabbed(tmp_path, b"7\tone\n\n  \r\n8\ttwo\n")
    assert [texts.line_of(0), texts.line_of(1)] == [1, 4]


def test_queries_have_no_title(tmp_path: Path) -> None:
    # As beir's data_loader.py reads them: line.get("text")
    assert list(in_json(tmp_path, b'{"_id": "a", "title": "T", "text": "x"}\n', "query")) == [("a", "x")]


def test_a_file_of_many_blocks_is_read_whole(tmp_path: Path) -> None:
    pairs = [(str(number), f"text {number} " + "é" * 500) for number in range(10_000)]
    content = "".join(f"{identifier}\t{text}\n" for identifier, text in pairs)
    assert len(content.encode()) > 2 * (1 << 22)
    assert list(tabbed(tmp_path, content.encode())) == pairs
    assert refused(tabbed(tmp_path, content.encode() + b"no tab\n")).startswith("t.tsv:10001: expected an id")


REFUSED: dict[str, tuple[str, bytes]] = {
    "no tab": ("tsv", b"7\tone\n8 two\n9\tthree\tfour\n"),
    "no UTF-8": ("tsv", b"7\tone\n\n8\tx\xe9\n"),
    "nothing": ("tsv", b""),
    "blank lines": ("tsv", b"\n\n"),
    "half an object": ("jsonl", b"{"),
    "a list": ("jsonl", b"[1]"),
    "no id": ("jsonl", b'{"text": "x"}'),
    "no text": ("jsonl", b'{"_id": "a"}'),
    "no field": ("jsonl", b"{}"),
    "a number for an id": ("jsonl", b'{"_id": 7, "text": "x"}'),
    "null for a text": ("jsonl", b'{"_id": "a", "text": null}'),
    "a number for a title": ("jsonl", b'{"_id": "a", "title": 7, "text": "x"}'),
    "no UTF-8 in JSON": ("jsonl", b'{"_id": "a\xe9"}'),
    "half a surrogate pair": ("jsonl", b'{"_id": "a", "text": "\\ud83d"}'),
    "half a surrogate pair in an id": ("jsonl", b'{"_id": "\\udc00", "text": "x"}'),
    "an empty id": ("tsv", b"1\tone\n\tfour\n"),
    "an id with a space": ("tsv", b"1\tone\na b\tfour\n"),
    "an id with a hard space": ("tsv", "1\tone\na\xa0b\tfour\n".encode()),
    "an id that begins with a space": ("tsv", b"1\tone\n a\tfour\n"),
    "an id with a NUL": ("tsv", b"1\tone\na\0\tfour\n"),
    "an id twice": ("tsv", b"7\tone\n8\ttwo\n\n9\tthree\n7\tfour\n"),
}


def test_texts_that_cannot_be_ranked_are_refused_with_their_line(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    good = b'{"_id": "x", "text": "x"}\n\n'
    told = {
        case: refused(in_json(tmp_path, good + content + b"\n") if form == "jsonl" else tabbed(tmp_path, content))
        for case, (form, content) in REFUSED.items()
    }
    told["a query that begins as a comment"] = refused(tabbed(tmp_path, b"#1\tone\n", "query"))
    assert told == snapshot
    assert survey(tabbed(tmp_path, b"#1\tone\n"), 2).count == 1  # as documents may
    # as deep as a well; what Python says of it depends on its version
    assert refused(in_json(tmp_path, b"[" * 100_000)).startswith("t.jsonl:1: not JSON: ")


def test_what_is_no_file_of_texts_is_refused_when_it_is_named(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    os.mkfifo(tmp_path / "pipe")
    told = []
    for path in ("missing.tsv", str(tmp_path), "-", str(tmp_path / "pipe")):
        with pytest.raises(InputError) as caught:
            TabbedTexts(path, "document")
        told.append(str(caught.value).replace(str(tmp_path), "…"))
    assert told == snapshot


# Ids.


def test_an_empty_id_beside_one_with_a_space_is_still_seen() -> None:
    assert refused(listed(("a b", "x"), ("", "y"))).startswith("here: the id 'a b' contains white space (row 1).")


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


def test_a_survey_counts_and_has_the_hash_of_each_chunk() -> None:
    seen = survey(listed(*THREE), 2)
    # 3 + 2 + 0 characters; the second and the third text are nothing but white space.
    assert (seen.name, seen.count, seen.shard_size) == ("here", 3, 2)
    assert (seen.characters, seen.longest, seen.empty) == (5, 3, 2)
    first, second = chunk_hash(*THREE[:2]), chunk_hash(THREE[2])
    assert seen.hashes == (first, second)
    assert seen.sha256 == hashlib.sha256((first + second).encode("ascii")).hexdigest()
    assert tuple(chunk.sha256 for chunk in chunks(listed(*THREE), 2)) == seen.hashes


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
    found = [(chunk.number, chunk.ids, chunk.texts) for chunk in chunks(listed(*THREE), 2)]
    assert found == [(0, ["a", "b"], ["één", " \t"]), (1, ["c"], [""])]
    assert [len(chunk.ids) for chunk in chunks(listed(*THREE), 3)] == [3]  # as many as a chunk holds


def test_a_text_that_is_no_unicode_is_refused_in_a_later_chunk_too(tmp_path: Path) -> None:
    texts = in_json(tmp_path, b'{"id": "a", "text": "x"}\n{"id": "b", "text": "\\ud83d"}\n')
    with pytest.raises(InputError) as caught:
        list(chunks(texts, 1))
    assert caught.value.line == 2


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

    class Ear(Silent):
        begin = end = None  # type: ignore[assignment]  # the caller's business

        def advance(self, count: int) -> None:
            told.append(count)

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
