"""The cache of a board: what is not believed, where it is not written, and how a board that was killed goes on."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from treceval_py.boards import board as board_module
from treceval_py.boards import cache as cache_module
from treceval_py.boards.board import Board, board
from treceval_py.boards.cache import CACHE_NAME
from treceval_py.boards.over import board_over
from treceval_py.io.gzipped import Gzip
from treceval_py.rendering import text_of
from treceval_py.rendering.style import Style

QRELS = {str(query): {"a": 1, "b": 1} for query in range(4)}
NAMES = [f"{letter}.txt" for letter in "abcdefghij"]


def run_of(number: int) -> str:
    """Return a run that ranks a relevant document at a rank of its own."""
    lines = []
    for query in QRELS:
        ranked = [*(f"x{rank}" for rank in range((number + int(query)) % 5)), "a"]
        lines += [f"{query} Q0 {docid} {rank} {-rank} tag{number}\n" for rank, docid in enumerate(ranked, 1)]
    return "".join(lines)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, which is the current one, with ten runs in a folder of their own."""
    (tmp_path / "runs").mkdir()
    for number, name in enumerate(NAMES):
        (tmp_path / "runs" / name).write_text(run_of(number))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made(**options: Any) -> Board:
    return board(QRELS, "runs", ["map", "num_rel_ret"], cache=f"runs/{CACHE_NAME}", threads=1, **options)


def printed(found: Board) -> str:
    """Return everything of a board but what was said of its cache."""
    return text_of(found._replace(notes=()), "json", Style())


# what is not believed


def sealed(text: bytes) -> bytes:
    """Return a cache of a text, with the hash that it should have."""
    head = f'{{"treceval board":4,"sha256":"{hashlib.sha256(text).hexdigest()}"}}\n'
    return gzip.compress(head.encode() + text)


def changed(change: Callable[[dict], object]) -> Callable[[bytes], bytes]:
    """Return what changes the first run of a cache, and gives it a hash that fits."""

    def poison(raw: bytes) -> bytes:
        document = json.loads(gzip.decompress(raw).split(b"\n")[1])
        change(next(iter(document["runs"].values())))
        return sealed(json.dumps(document).encode() + b"\n")

    return poison


def replaced(before: bytes, after: bytes) -> Callable[[bytes], bytes]:
    """Return what replaces a part of the text, and gives it a hash that fits."""

    def poison(raw: bytes) -> bytes:
        text = gzip.decompress(raw).split(b"\n", 1)[1]
        assert before in text
        return sealed(text.replace(before, after, 1))

    return poison


def values_of(*values: float) -> Callable[[dict], None]:
    """Return what gives a run these values in each query, one for each measure."""
    packed = base64.b64encode(np.array(values * len(QRELS), dtype="<f8").tobytes()).decode()
    return lambda run: run.update(values=packed)


def edited(raw: bytes) -> bytes:
    """Give a run other values, as somebody would who knows nothing of the hash."""
    head, text = gzip.decompress(raw).split(b"\n", 1)
    document = json.loads(text)
    values_of(1.0, 2.0)(next(iter(document["runs"].values())))
    return gzip.compress(head + b"\n" + json.dumps(document, separators=(",", ":")).encode() + b"\n")


POISONS: dict[str, Callable[[bytes], bytes]] = {
    "values of 5 for AP": changed(values_of(5.0, 2.0)),
    "negative values of AP": changed(values_of(-0.1, 2.0)),
    "a negative count": changed(values_of(0.5, -1.0)),
    "an infinite value": changed(values_of(0.5, np.inf)),
    "a value beyond statistics": changed(values_of(0.5, 1e300)),
    "values edited by hand": edited,
    "one byte changed": lambda raw: gzip.compress(gzip.decompress(raw).replace(b'"tag0"', b'"tag9"')),
    "too few values": changed(lambda run: run.update(values=run["values"][:-12])),
    "an infinite share": replaced(b'"judged":', b'"judged":Infinity,"x":'),
    "a share that is not a number": replaced(b'"judged":', b'"judged":NaN,"x":'),
    "a share above 1": changed(lambda run: run.update(judged=1.5)),
    "a count of 400 digits": replaced(b'"tied":', b'"x":0,"tied":1' + b"0" * 400 + b',"y":'),
    "a number of 5000 digits": replaced(b'"tied":', b'"x":0,"tied":1' + b"0" * 5000 + b',"y":'),
    "a share of 400 digits": replaced(b'"judged":', b'"x":0,"judged":1' + b"0" * 400 + b',"y":'),
    "a count that is a truth value": changed(lambda run: run.update(tied=True)),
    "a sign without words": changed(lambda run: run.update(signs=[["R129"]])),
    "more tied queries than queries": changed(lambda run: run.update(tied=5)),
    "another list of queries, from the end": changed(lambda run: run.update(queries=-1)),
    "half a character in a tag": changed(lambda run: run.update(tag="\ud800")),
    "half a character in a file": changed(lambda run: run.update(file="\udfff")),
    "a query twice": replaced(b'["0","1","2","3"]', b'["0","0","2","3"]'),
    "a key twice": replaced(b'"tag":', b'"tag":"other","tag":'),
    "lists in lists": lambda raw: sealed(b"[" * 100_000 + b"]" * 100_000 + b"\n"),
    "no text": lambda raw: sealed(b""),
    "an empty file": lambda raw: b"",
    "a list": lambda raw: gzip.compress(b"[]\n"),
    "another file": lambda raw: gzip.compress(b"something else\n"),
    "cut off": lambda raw: raw[: len(raw) // 2],
}


@pytest.mark.parametrize("poison", list(POISONS))
def test_a_poisoned_cache_is_ignored_with_a_note(home: Path, poison: str, snapshot: SnapshotAssertion) -> None:
    first = made()
    path = home / "runs" / CACHE_NAME
    whole = path.read_bytes()
    path.write_bytes(POISONS[poison](whole))
    found = made()
    assert found.scored == 10
    assert found.notes[0] == snapshot
    assert printed(found) == printed(first)
    assert path.read_bytes() == whole


def test_the_forged_hash_of_these_tests_is_believed_and_an_earlier_version_replaced(home: Path) -> None:
    made()
    path = home / "runs" / CACHE_NAME
    path.write_bytes(changed(values_of(0.75, 2.0))(path.read_bytes()))
    assert {run.means for run in made().runs} >= {(0.75, 8.0)}
    path.write_bytes(gzip.compress(b'{"treceval board":2,"key":[],"queries":[],"runs":{}}\n'))
    found = made()
    assert (found.scored, found.notes) == (10, ())
    assert made().scored == 0


def test_a_bomb_is_not_unpacked_and_a_file_that_is_too_large_not_read(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "LONGEST", 1 << 20)
    read: list[int] = []
    read_more = Gzip.readinto
    monkeypatch.setattr(Gzip, "readinto", lambda *given: read.append(read_more(*given)) or read[-1])
    bomb = gzip.compress(b'{"treceval board":4' + b" " * (1 << 24), 1)
    assert len(bomb) < 1 << 20
    path = home / "runs" / CACHE_NAME
    path.write_bytes(bomb)
    found = made()
    assert found.notes[0] == (
        f"the cache {CACHE_NAME} cannot be used (the file has more than 1,048,576 bytes) and is made again."
    )
    assert 0 < sum(read) < 1 << 23  # half of it
    assert made().scored == 0
    size = path.stat().st_size
    monkeypatch.setattr(cache_module, "LONGEST", size - 1)
    found = made()
    assert f"(the file has more than {size - 1:,} bytes)" in found.notes[0]
    assert found.notes[1].startswith(f"results are not cached: {CACHE_NAME} would have more than ")


def test_values_beyond_the_range_of_their_measure_are_not_kept(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_module.Scorer, "bounds", [(0.0, 0.3), (0.0, np.inf)])
    few = made()
    assert (few.scored, few.notes) == (10, ())
    text = gzip.decompress((home / "runs" / CACHE_NAME).read_bytes()).split(b"\n")[1]
    # a is at rank 1 in at least one query of these runs, so that its AP is 1/2 there, as of two relevant documents
    assert len(json.loads(text)["runs"]) == sum(max((n + q) % 5 == 0 for q in range(4)) == 0 for n in range(10))


# where it is not written


@pytest.mark.parametrize("target", ["thesis.txt", "nothing", "cache"])
def test_a_link_is_neither_followed_nor_believed(home: Path, target: str) -> None:
    made()
    place = home / "runs" / CACHE_NAME
    (home / "cache").write_bytes(changed(values_of(0.75, 2.0))(place.read_bytes()))
    (home / "thesis.txt").write_text("mine\n")
    before = {path.name: path.read_bytes() for path in (home / "cache", home / "thesis.txt")}
    place.unlink()
    place.symlink_to(home / target)
    found = made()
    assert (found.scored, found.notes) == (10, (f"{CACHE_NAME} is a link, so results are not cached in it.",))
    assert {path.name: path.read_bytes() for path in home.iterdir() if path.is_file()} == before
    assert place.is_symlink()


def test_a_link_that_comes_while_runs_are_scored_is_not_followed_and_of_a_hard_one_only_the_name_is_replaced(
    home: Path,
) -> None:
    (home / "thesis.txt").write_text("mine\n")
    link = home / "runs" / CACHE_NAME
    link.hardlink_to(home / "thesis.txt")
    assert len(made().notes) == 1
    assert made().scored == 0
    assert (home / "thesis.txt").read_text() == "mine\n"
    link.unlink()
    found = made(after=lambda: link.is_symlink() or link.symlink_to(home / "thesis.txt"))
    assert found.notes == (f"results are not cached: {CACHE_NAME}: this is a link or not a regular file. Remove it.",)
    assert (home / "thesis.txt").read_text() == "mine\n"
    # A folder of runs that is a link has its cache where the runs are.
    link.unlink()
    (home / "latest").symlink_to("runs")
    board(QRELS, "latest", "map", cache=f"latest/{CACHE_NAME}")
    assert link.is_file()


def test_a_link_in_a_folder_of_collections_leads_to_no_cache_outside_of_it(home: Path) -> None:
    qrels = "".join(f"{qid} 0 {docid} {rel}\n" for qid, row in QRELS.items() for docid, rel in row.items())
    (home / "runs" / "qrels.txt").write_text(qrels)
    shutil.copytree(home / "runs", home / "all" / "here")
    (home / "all" / "there").symlink_to(home / "runs")
    found = board_over("all", "map", cache=True)
    assert (home / "all" / "here" / CACHE_NAME).is_file()
    assert not (home / "runs" / CACHE_NAME).exists()
    assert "there: its runs are outside of all, so their results are not cached." in found.notes
    (home / "all" / "here" / CACHE_NAME).write_bytes(b"damaged")
    again = board_over("all", "map", cache=True)
    assert any("cannot be used" in note for note in again.notes)
    assert again.runs == found.runs


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_not_waited_for(home: Path) -> None:
    os.mkfifo(home / "runs" / CACHE_NAME)
    assert made().notes == (f"{CACHE_NAME} is not a regular file, so results are not cached in it.",)


# going on


@pytest.mark.parametrize(
    ("cost", "failure", "expected"), [(0.0, "", [3, 6, 9]), (0.25, "", [3, 8.25, 10.5]), (0.25, "no space left", [3])]
)
def test_results_are_kept_every_three_seconds_or_in_a_twentieth_of_the_time(
    home: Path, monkeypatch: pytest.MonkeyPatch, cost: float, failure: str, expected: list[float]
) -> None:
    # Ten runs of a second each. A writing of 0.25 s is followed by 5 s without one, from 3.25 to 8.25; the last one is
    # at the end, unless nothing is new.
    clock, written = [0.0], list[tuple[float, int]]()

    def write(path: str, key: list[str], entries: dict[str, Any], files: dict[str, str]) -> str:
        written.append((clock[0], len(entries)))
        clock[0] += cost
        return failure

    monkeypatch.setattr(board_module, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(board_module, "write_cache", write)
    notes = made(after=lambda: clock.append(clock.pop() + 1.0)).notes
    assert [at for at, _ in written] == expected
    assert [count for _, count in written][:1] == [4]
    assert notes == ((failure,) if failure else ())


def test_what_a_killed_board_left_half_written_is_removed(home: Path) -> None:
    for name in (f".{CACHE_NAME}.treceval0", ".other.treceval0"):
        (home / "runs" / name).write_text("half")
    made()
    hidden = {path.name for path in (home / "runs").iterdir() if path.name.startswith(".")}
    assert hidden == {CACHE_NAME, ".other.treceval0"}


KILLED = """\
import os, signal, sys
folder, points = sys.argv[1], [int(each) for each in sys.argv[2:]]
sys.path.insert(0, {tests!r})
import test_boards_cache as tests
from treceval_py.boards import board as board_module

board_module.EVERY, board_module.SHARE = 0.0, 1e9

def board_until(point, place):
    reached = [0]

    def reach():
        reached[0] += 1
        if reached[0] == point:
            os.kill(os.getpid(), signal.SIGKILL)

    def audit(event, given):
        opens = event == "open" and given[1] is None and (given[2] or 0) & os.O_EXCL  # not again for Python's file
        changes = opens or event in ("os.chmod", "os.rename")
        if changes and tests.CACHE_NAME in str(given[0]):
            reach()

    os.chdir(place)
    sys.addaudithook(audit)
    tests.made(after=reach)
    os.write(1, b"%d\\n" % reached[0])
    os._exit(0)

os.chdir(os.path.join(folder, str(points[0])))
tests.made()  # which imports what is needed, once
os.unlink(os.path.join("runs", tests.CACHE_NAME))
for point in points:
    child = os.fork()
    if not child:
        board_until(point, os.path.join(folder, str(point)))
    _, status = os.waitpid(child, 0)
    os.write(1, b"killed\\n" if os.waitstatus_to_exitcode(status) == -signal.SIGKILL else b"ended\\n")
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked, and killed")
def test_a_board_that_was_killed_goes_on_and_equals_one_that_was_not(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Four moments for each run: a part is opened, it is written and gets the rights of the file before it, it takes its
    # name, the run is done. Before the first part there is no file, and three moments.
    points = [1, 2, 3, 6, 10, 14, 17, 24, 35, 39]
    places = home / "killed"
    for point in points:
        shutil.copytree(home / "runs", places / str(point) / "runs")
    script = KILLED.format(tests=str(Path(__file__).parent))
    command = [sys.executable, "-c", script, str(places), *map(str, points)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (done.stdout.split(), done.stderr) == (["killed"] * 10, "")
    undisturbed = made()
    cache = (home / "runs" / CACHE_NAME).read_bytes()
    for point in points:
        monkeypatch.chdir(places / str(point))
        found = made()
        moment = point + (point > 1)
        assert found.scored == 10 - (moment + 1) // 4 + (moment % 4 == 3)  # a part that is not renamed is lost
        assert found.notes == ()
        assert printed(found) == printed(undisturbed)
        assert Path("runs", CACHE_NAME).read_bytes() == cache
