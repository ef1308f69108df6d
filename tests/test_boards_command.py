"""The command ``treceval board``: which files it takes, what it keeps and what it writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import Done, treceval
from syrupy.assertion import SnapshotAssertion

from treceval_py.boards.cache import CACHE_NAME

QRELS = "1 0 a 1\n2 0 c 1\n"
FIRST = "1 Q0 a 1 2 first\n2 Q0 c 1 2 first\n"
SECOND = "1 Q0 x 1 2 second\n1 Q0 a 2 1 second\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with judgments, and runs in a folder of their own."""
    (tmp_path / "runs").mkdir()
    for name, text in (("qrels.txt", QRELS), ("runs/a.txt", FIRST), ("runs/b.txt", SECOND)):
        (tmp_path / name).write_text(text)
    return tmp_path


def board(folder: Path, *arguments: str) -> Done:
    return treceval(["board", *arguments, "-m", "map"], folder=folder)


def test_without_any_run_nothing_is_printed_and_a_file_stays(home: Path) -> None:
    (home / "board.html").write_text("a good board\n")
    (home / "runs" / "a.txt").write_text("what?\n")
    for options in ([], ["-o", "board.html", "--format", "html"]):
        done = board(home, "qrels.txt", "runs/a.txt", *options)
        assert (done.status, done.out, len(done.err.splitlines())) == (1, b"", 1)
        assert done.err.startswith(b"runs/a.txt:1: ")
    assert (home / "board.html").read_text() == "a good board\n"
    done = board(home, "qrels.txt", "runs", "-o", "board.json", "--format", "json")
    assert done.status == 1
    assert [run["name"] for run in json.loads((home / "board.json").read_text())["runs"]] == ["second"]


def test_what_is_written_and_judgments_and_links_in_the_folder_of_the_runs_are_none_of_them(home: Path) -> None:
    (home / "runs" / "latest.txt").symlink_to("b.txt")
    for _ in range(2):
        done = board(home, "qrels.txt", "runs", "--format", "json", "-o", "runs/board.json")
        assert (done.status, done.err) == (0, b"written: runs/board.json\n")
    found = json.loads((home / "runs" / "board.json").read_text())["runs"]
    assert [run["file"] for run in found] == ["a.txt", "b.txt"]
    (home / "runs" / "board.json").unlink()
    (home / "qrels.txt").rename(home / "runs" / "qrels.txt")
    for _ in range(2):
        done = board(home, "runs/qrels.txt", "runs/*", "--cache", "runs/cache.json.gz", "--format", "csv")
        assert done.status == 0, done.err
        assert [line.split(",")[1] for line in done.out.decode().splitlines()[1:]] == ["first", "second"]


def test_messages_name_the_remedy(home: Path, snapshot: SnapshotAssertion) -> None:
    common = board(home, "qrels.txt", "runs", "--common", "--format", "csv")
    stdin = board(home, "qrels.txt", "-")
    (home / "runs" / "a.txt").write_text("map\t1\t0.5000\n")
    saved = board(home, "qrels.txt", "runs", "--format", "csv")
    assert (common.status, stdin.status, stdin.out, saved.status) == (0, 2, b"", 1)
    assert [done.err.decode() for done in (common, stdin, saved)] == snapshot


def test_runs_of_one_folder_are_kept_in_it_and_not_of_two_or_where_that_is_not_wanted(home: Path) -> None:
    (home / "c.txt").write_text(SECOND.replace("second", "third"))
    assert board(home, "qrels.txt", "runs/a.txt", "c.txt").status == 0
    assert board(home, "qrels.txt", "runs", "--no-cache").status == 0
    assert [path for path in home.rglob("*") if path.name == CACHE_NAME] == []
    for runs in ("runs", "runs/*.txt", "runs/a.txt ./runs/b.txt", "runs/a.txt runs/../runs/b*"):
        assert board(home, "qrels.txt", *runs.split()).status == 0
        (home / "runs" / CACHE_NAME).unlink()
    assert board(home / "runs", "../qrels.txt", "a.txt", "b.txt").status == 0
    assert (home / "runs" / CACHE_NAME).exists()
