"""Boards with pseudonyms: how these are made, and that no output says whose a run is."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import unicodedata
from pathlib import Path

import pytest
from command import treceval

import treceval_py as te
from treceval_py.boards import pseudonyms as module
from treceval_py.boards.board import board
from treceval_py.boards.pseudonyms import pseudonyms_of
from treceval_py.errors import EvaluationError
from treceval_py.rendering import FORMATS, text_of

KEY = "blue whale"


def proquint(number: int) -> str:
    """Write 16 bits as the proposal of proquints does: consonant, vowel, consonant, vowel, consonant."""
    consonants, vowels = "bdfghjklmnprstvz", "aiou"
    bits = f"{number:016b}"
    parts = (consonants, bits[:4]), (vowels, bits[4:6]), (consonants, bits[6:10]), (vowels, bits[10:12])
    return "".join(letters[int(part, 2)] for letters, part in (*parts, (consonants, bits[12:])))


def words(name: str, key: str = KEY, number: int = 2) -> str:
    digest = hmac.new(key.encode(), name.encode(), hashlib.sha256).digest()
    return "-".join(proquint(int.from_bytes(digest[2 * at : 2 * at + 2], "big")) for at in range(number))


def test_words_are_as_the_proposal_of_proquints_has_them() -> None:
    # Wilkerson (2009): 127.0.0.1 is lusab-babad
    assert (proquint(127 << 8), proquint(1)) == ("lusab", "babad")


def test_a_pseudonym_is_made_of_the_key_and_the_name_of_the_run() -> None:
    name = unicodedata.normalize("NFC", "Zoë")
    made = pseudonyms_of(KEY, ["t", "t"], ["in/ada.txt.gz", f"in/{unicodedata.normalize('NFD', name)}.txt"])
    assert {(said, place) for said, _, place in made} == {(words("ada"), 0), (words(name), 1)}
    assert [said for said, *_ in made] == sorted(said for said, *_ in made)
    assert pseudonyms_of("red", ["t"], ["ada.txt"]) == [(words("ada", "red"), "ada", 0)]
    assert pseudonyms_of(KEY, ["t"], ["ada.txt"], "tag") == [(words("t"), "t", 0)]


def test_files_of_one_name_are_named_with_their_folders() -> None:
    made = pseudonyms_of(KEY, ["t"] * 3, ["in/ada/run.txt", "in/bob/run.txt", "in/bob/other.txt"])
    assert {name for _, name, _ in made} == {"ada/run", "bob/run", "other"}
    with pytest.raises(EvaluationError, match="both named 'run'"):
        pseudonyms_of(KEY, ["t"] * 2, ["a/ada/run.txt", "b/ada/run.txt"])


def test_a_pseudonym_that_is_taken_has_one_word_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_word", lambda bits: "x")
    made = pseudonyms_of(KEY, ["t"] * 3, ["c.txt", "a.txt", "b.txt"])
    # in the order of their names
    assert made == [("x-x", "a", 1), ("x-x-x", "b", 2), ("x-x-x-x", "c", 0)]


@pytest.mark.parametrize("key", ["", "  "])
def test_an_empty_key_is_refused(key: str) -> None:
    with pytest.raises(EvaluationError, match="a key that is not empty"):
        pseudonyms_of(key, ["t"], ["a.txt"])


QRELS = "".join(f"{qid} 0 d{qid} 1\n" for qid in range(1, 7))
RUNS = {
    "Lovelace": range(1, 7),
    "Turing": range(1, 7),  # the same file as Lovelace's, and equal to that of Zuse
    "Zuse": range(1, 7),
    "Hopper": range(1, 4),  # lacks queries
    "Aardvark": range(1, 2),
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "runs").mkdir()
    (tmp_path / "qrels.txt").write_text(QRELS)
    for name, qids in RUNS.items():
        tag = "Lovelace" if name == "Turing" else name
        lines = [f"{qid} Q0 {docid} 1 {1 + (docid[0] == 'd')} tag{tag}\n" for qid in qids for docid in (f"d{qid}", "e")]
        (tmp_path / "runs" / f"{name}.txt").write_text("".join(lines))
    (tmp_path / "runs" / "Broken.txt").write_text("1 Q0 d1 1 nan tagBroken\n")
    (tmp_path / "runs" / "Jottings").mkdir()
    return tmp_path


HINTS = re.compile(r"(?i)lovelace|turing|zuse|hopper|aardvark|broken|jottings|tag\w|\.txt|the same file|blue|whale")


@pytest.mark.parametrize("form", FORMATS)
def test_no_output_has_a_name_a_file_a_tag_or_the_key(home: Path, form: str) -> None:
    groups = home / "groups.tsv"
    groups.write_text("query\thalf\n" + "".join(f"{qid}\t{qid % 2}\n" for qid in range(1, 7)))
    made = board(home / "qrels.txt", home / "runs", ["AP"], pseudonyms=KEY, groups=groups)
    assert len(made.runs) == 5
    assert len(made.errors) == 1
    text = re.sub(
        r"(?s)<style>.*?</style>|qrels\.txt|\"(file|tag)\": \"\"|^rank,.*$|,tag,|,file", "", text_of(made, form)
    )
    assert HINTS.findall(text) == []
    assert HINTS.findall(repr(made)) == []
    # What is looked for would be there.
    assert HINTS.search(text_of(board(home / "qrels.txt", home / "runs", ["AP"]), form))


def test_equal_runs_are_in_the_order_of_their_pseudonyms(home: Path) -> None:
    for key in ("blue whale", "red", "green", "yellow"):
        made = board(home / "qrels.txt", home / "runs", ["AP"], pseudonyms=key)
        # Runs with all queries have AP 1, the others 3/6 and 1/6.
        assert [run.rank for run in made.runs] == [1, 1, 1, 4, 5]
        assert [run.means[0] for run in made.runs] == pytest.approx([1, 1, 1, 0.5, 1 / 6])
        names = [run.name for run in made.runs]
        assert names == [*sorted(words(name, key) for name in ("Lovelace", "Turing", "Zuse")), *names[3:]]
        assert made.pseudonyms == {words(name, key): name for name in RUNS}


def test_the_terminal_alone_says_who_is_who(home: Path) -> None:
    arguments = ["board", "qrels.txt", "runs", "-m", "AP", "--pseudonyms", KEY, "--format", "html", "-o", "board.html"]
    done = treceval(arguments, folder=home)
    assert (done.status, done.out) == (1, b"")  # one file cannot be scored
    said = done.err.decode().splitlines()
    assert {line for line in said if " is " in line and "treceval" not in line} >= {f"{words('Zuse')} is Zuse"}
    assert any("Broken.txt" in line for line in said)
    page = (home / "board.html").read_text()
    assert words("Zuse") in page
    assert "1 file could not be scored" in page
    assert HINTS.findall(page.replace("qrels.txt", "")) == []


def test_a_board_of_named_runs_has_no_pseudonyms_and_collections_take_none(home: Path) -> None:
    assert te.board(home / "qrels.txt", home / "runs" / "Zuse.txt").pseudonyms is None
    done = treceval(["board", ".", "--pseudonyms", "x"], folder=home)
    assert (done.status, b"--pseudonyms" in done.err) == (2, True)


def test_a_board_without_runs_says_nothing_of_the_files(home: Path) -> None:
    made = board(home / "qrels.txt", home / "runs" / "Broken.txt", ["AP"], pseudonyms=KEY)
    assert (made.runs, made.pseudonyms) == ((), {})
    assert "Broken" not in json.dumps(json.loads(text_of(made, "json")))
