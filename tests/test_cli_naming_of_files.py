"""What is passed on names files by base names and hashes, and shows no folder of the machine that made it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from command import treceval

import treceval_py as te
from treceval_py.io.digests import without_folders
from treceval_py.rendering import FORMATS

QRELS = "1 0 a 1\n1 0 b 0\n2 0 a 1\n3 0 c 1\n"
GOOD = "1 Q0 a 1 2 x\n1 Q0 b 2 1 x\n2 Q0 a 1 2 x\n3 Q0 c 1 1 x\n"
POOR = "1 Q0 b 1 2 x\n1 Q0 a 2 1 x\n2 Q0 z 1 2 x\n3 Q0 c 1 1 x\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with judgments, and runs of one name in two folders of it."""
    for name, text in (("qrels.txt", QRELS), ("old/run.txt", POOR), ("new/run.txt", GOOD)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("command", ["compare", "compare --agreement", "compare --per-query", "board --no-cache"])
def test_no_format_shows_a_folder(folder: Path, command: str) -> None:
    files = [f"{folder}/{file}" for file in ("qrels.txt", "old/run.txt", "new/run.txt")]
    first, *options = command.split()
    for name in FORMATS:
        done = treceval([first, *files, "-m", "map", "--format", name, *options])
        assert done.status == 0, done.err
        assert str(folder).encode() not in done.out, name
        assert b"/run" not in done.out, name
        assert f"run ({hashed(GOOD)[:8]})".encode() in done.out, name


def test_judgments_are_named_with_their_hash(folder: Path) -> None:
    done = treceval(["compare", "qrels.txt", "old/run.txt", "new/run.txt"], folder=folder)
    assert f"judged by qrels.txt (sha256:{hashed(QRELS)[:8]})." in done.out.decode()


def test_json_has_the_whole_hashes(folder: Path) -> None:
    for command in (["compare"], ["board", "--no-cache"]):
        done = treceval([*command, "qrels.txt", "new/run.txt", "old/run.txt", "--format", "json"], folder=folder)
        found = json.loads(done.out)
        assert found["judgments"] == "qrels.txt"
        assert found["judgments_sha256"] == hashed(QRELS)
        assert [(each["file"], each["sha256"]) for each in found["runs"]] == [
            ("run.txt", hashed(GOOD)),
            ("run.txt", hashed(POOR)),
        ]


def test_what_is_no_file_has_no_hash(folder: Path) -> None:
    qrels = te.read_qrels(folder / "qrels.txt")
    found = te.compare(qrels, {"good": te.read_run(folder / "new/run.txt"), "poor": folder / "old/run.txt"}, "map")
    assert found.files == ("run.txt", "run.txt")
    assert found.hashes == ("", hashed(POOR)[:8])
    assert (found.judgments_name, found.judgments_digest) == ("qrels.txt", "")


def test_a_baseline_can_be_named_by_its_path(folder: Path) -> None:
    files = ["qrels.txt", "old/run.txt", "new/run.txt"]
    done = treceval(["compare", *files, "--baseline", "new/run.txt", "--format", "json"], folder=folder)
    assert json.loads(done.out)["baseline"] == f"run ({hashed(GOOD)[:8]})"


def test_words_of_a_command_line_lose_their_folders(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    words = (
        f"report ./qrels.txt old/*.txt {folder}/new/ -m nDCG@10 metric/dcg --svg bars=old/b.svg -o{folder}/run.txt "
        f"datasets:{folder}/set datasets:some/set -mP@5/x"
    )
    assert [*map(without_folders, words.split())] == [
        "report", "qrels.txt", "*.txt", "new", "-m", "nDCG@10", "metric/dcg", "--svg", "bars=b.svg",
        "-orun.txt", "datasets:set", "datasets:some/set", "-mP@5/x",
    ]  # fmt: skip
