"""The board of a class: whom it names and how, what it ranks, and what it keeps to itself."""

from __future__ import annotations

import csv
import hashlib
import hmac
import io
import re

import numpy as np
import pytest
from grading_samples import GRADES
from syrupy.assertion import SnapshotAssertion

from treceval_py.grading.grades import Entry, Grades, Person
from treceval_py.grading.marking.points import Marks
from treceval_py.grading.outputs.board import class_board, with_pseudonyms
from treceval_py.grading.outputs.feedback import feedback
from treceval_py.grading.records import Graded
from treceval_py.grading.rules import read_rules

RULES = read_rules(text='title = "Homework"\n[scoring]\nmeasures = ["AP"]\n[board]\nkey = "blue whale"\n')


def entry(student: str, value: float, *, status: str = "scored", source: str = "", **more: object) -> Entry:
    """Return an entry whose four queries all have the same value, so that its rank is sure."""
    graded = Graded(
        student, source or f"class.zip/{student}", status, run="secret-name.txt", measures={"AP": value},
        values=np.full(4, value),
    )  # fmt: skip
    return Entry(graded, Marks((), 0.0, 0.0, None), student, **more)  # type: ignore[arg-type]


def of(*entries: Entry, **more: object) -> Grades:
    book = GRADES._replace(entries=entries, pairs=(), rules=RULES, measures=("AP",), baseline_measures={"AP": 0.3})
    return with_pseudonyms(book._replace(**more))  # type: ignore[arg-type]


def rows(book: Grades) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(class_board(book)["board.csv"].decode())))


def test_without_a_key_there_is_neither_pseudonym_nor_board() -> None:
    book = of(entry("Ada", 0.5), rules=RULES._replace(board_key=""))
    assert [each.pseudonym for each in book.entries] == [""]
    assert class_board(book) == {}


def proquint(number: int) -> str:
    """Write 16 bits as the proposal of proquints does: consonant, vowel, consonant, vowel, consonant."""
    consonants, vowels = "bdfghjklmnprstvz", "aiou"
    bits = f"{number:016b}"
    parts = (consonants, bits[:4]), (vowels, bits[4:6]), (consonants, bits[6:10]), (vowels, bits[10:12])
    return "".join(letters[int(part, 2)] for letters, part in (*parts, (consonants, bits[12:])))


def test_words_are_as_the_proposal_of_proquints_has_them() -> None:
    # Wilkerson (2009): 127.0.0.1 is lusab-babad
    assert (proquint(127 << 8), proquint(1)) == ("lusab", "babad")


def test_a_pseudonym_is_made_of_the_key_and_the_student_alone() -> None:
    (ada,) = of(entry("Ada", 0.5)).entries
    digest = hmac.new(b"blue whale", b"ada", hashlib.sha256).digest()
    words = proquint(int.from_bytes(digest[:2], "big")), proquint(int.from_bytes(digest[2:4], "big"))
    assert ada.pseudonym == "-".join(words)


def test_a_student_with_a_number_has_the_same_pseudonym_however_the_name_is_written() -> None:
    first, second = (
        of(entry(name, 0.5, person=Person(name, number="17"))).entries[0] for name in ("Ada", "A. Lovelace")
    )
    assert first.pseudonym == second.pseudonym
    assert of(entry("Ada", 0.5), rules=RULES._replace(board_key="red")).entries[0].pseudonym != first.pseudonym


def test_those_who_handed_in_nothing_share_no_pseudonym() -> None:
    missing = [Entry(Graded(name, "", "missing"), Marks((), 0.0, 0.0, None), name) for name in ("Ada", "Bob")]
    assert len({each.pseudonym for each in of(*missing).entries}) == 2


def test_runs_are_ranked_with_intervals_and_equal_ones_share_a_rank() -> None:
    book = of(entry("Ada", 0.5), entry("Bob", 0.7), entry("Eve", 0.5))
    found = {row["run"]: (row["rank"], row["rank_low"], row["rank_high"]) for row in rows(book)}
    names = {each.graded.student: each.pseudonym for each in book.entries}
    # All queries have the same value, so drawing others changes nothing: 0.7 is first, and the two others tie.
    assert found[names["Bob"]] == ("1", "1", "1")
    assert found[names["Ada"]] == found[names["Eve"]] == ("2", "2", "3")


OWN = {"kind": "judged-ranking"}


def apart(student: str, value: float, **more: object) -> Entry:
    made = entry(student, value)
    return made._replace(graded=made.graded._replace(**more))  # type: ignore[arg-type]


BOARDS = {
    "a class": (of(entry("Ada", 0.5), entry("Bob", 0.7), entry("Eve", 0.5)), ["0.7", "0.5", "0.5"]),
    "one run": (of(entry("Ada", 0.5), rules=RULES._replace(title=""), baseline_measures={}), ["0.5"]),
    "a group": (
        of(entry("Ada", 0.5, source="group-1"), entry("Bob", 0.5, source="group-1"), entry("Eve", 0.4)),
        ["0.5", "0.4"],
    ),
    "no run": (of(entry("Ada", 0.5), entry("Bob", 0.0, status="refused"), entry("Eve", float("nan"))), ["0.5"]),
    "without values of queries": (of(entry("Ada", 0.5), apart("Bob", 0.7, values=None)), ["0.7", "0.5"]),
    # scored by judgments of their own
    "a run of its own": (
        of(entry("Ada", 0.5), apart("Bob", 0.7, **OWN), rules=RULES._replace(own_labels=True)),
        ["0.5"],
    ),
    "judged, as others are": (of(entry("Ada", 0.5), apart("Bob", 0.7, **OWN)), ["0.7", "0.5"]),
    # scored under other conventions than most
    "two of other conventions": (
        of(
            *(entry(name, value) for name, value in (("Ada", 0.5), ("Bob", 0.7), ("Cid", 0.6))),
            *(apart(name, 0.9, profile="coursework") for name in ("Eve", "Joe")),
        ),
        ["0.7", "0.6", "0.5"],
    ),
}


def test_a_board_ranks_the_runs_that_can_be_compared_and_says_which_are_left_out(snapshot: SnapshotAssertion) -> None:
    assert {case: [row["AP"] for row in rows(book)] for case, (book, _) in BOARDS.items()} == {
        case: values for case, (_, values) in BOARDS.items()
    }
    (own, other) = (BOARDS[case][0] for case in ("a run of its own", "two of other conventions"))
    assert [bool(each.pseudonym) for each in (*own.entries, *other.entries)] == [
        True,
        False,
        True,
        True,
        True,
        False,
        False,
    ]
    pages = {case: class_board(book)["board.html"].decode() for case, (book, _) in BOARDS.items()}
    assert {case: re.sub(r"(?s)<style.*?</style>\n?", "", page) for case, page in pages.items()} == snapshot


@pytest.mark.parametrize("file", ["board.html", "board.csv"])
def test_nobody_is_named_on_the_board(file: str) -> None:
    book = of(entry("Ada Lovelace", 0.5, person=Person("Ada Lovelace", number="4711", email="ada@uni.org")))
    assert not re.search(r"(?i)ada|lovelace|4711|secret|whale|class\.zip", class_board(book)[file].decode())


def test_the_page_loads_nothing() -> None:
    page = class_board(of(entry("Ada", 0.5)))["board.html"].decode()
    assert page.startswith("<!doctype html>")
    assert "default-src 'none'" in page
    assert not re.search(r"https?:|src=|@import|<script|<link", page)


def test_feedback_names_the_pseudonym_of_its_student_alone() -> None:
    book = of(entry("Ada", 0.5), entry("Bob", 0.7))
    ada, bob = book.entries
    assert f"On the board of the class you are listed as {ada.pseudonym}." in " ".join(feedback(ada, book).split())
    assert bob.pseudonym not in feedback(ada, book)
